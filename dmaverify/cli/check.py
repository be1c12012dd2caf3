"""`check` as the command line runs it: everything around the judging.

Knows: the order of what happens to verdicts, files to write.
Does not know: how anything is decided, how a format is written, the terminal (it returns texts and prints nothing).
Law: verdicts do not depend on the cache, on the number of processes or on the format; every file that is asked for is
written in one run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from dmaverify.cli.request import (
    CheckRequest,
    CommandOutcome,
    Terminal,
    baseline_of,
    check_names,
    check_rules,
    own_targets,
)
from dmaverify.errors import InputError, many, typed
from dmaverify.jobs.judge import Job, listened_job, nothing_judged, rendered, run_jobs, what_next
from dmaverify.language.files import must_spare, must_take, write_text
from dmaverify.report.write import WITH_FIXES, WITHOUT_CODE
from dmaverify.verdict import OURS, Status, exit_code, worst_code

Tick = Callable[[int], None]

MOST_MISTAKES = 3  # of our own, told with a reduced input each
SHOW_FIXES = {"full", "html", *WITH_FIXES}


# ---------------------------------------------------------------- judging


def judged(jobs: Sequence[Job], workers: int, cache: Any, tick: Tick) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """What `run_jobs` gives, in order; what the cache knows is not asked again."""
    if cache is None:
        yield from run_jobs(jobs, workers, tick)
        return
    answers: dict[Any, str] = {}
    known = [cache.find(job, answers) for job in jobs]
    left = [job for job, found in zip(jobs, known, strict=True) if found is None]
    fresh = run_jobs(left, workers, tick, listened_job)
    for job, found in zip(jobs, known, strict=True):
        if found is None:
            found, asked = next(fresh)
            cache.keep(job, found, asked)
        yield found, {}


def _cache(request: CheckRequest) -> Any:
    off = any(request.given[key] for key in ("no_cache", "locked", "certify"))
    if off or os.environ.get("DMAVERIFY_NO_CACHE") or not request.settings.cache:
        return None
    from dmaverify.jobs.cache import cache_of

    own = request.settings.cache_dir
    return cache_of(request.settings.folder / own if own else None)


def check_once(request: CheckRequest, terminal: Terminal, ticks: Callable[[int], Tick]) -> CommandOutcome:
    """Judges, excuses, fixes, writes and tells, once. Raises InputError."""
    if not request.paths:
        raise InputError("nothing to check", None, what_next())
    check_rules(request)
    check_names(request)
    for file in request.written:
        must_take(file)
    if request.given["certify"] is not None:
        from dmaverify.jobs.sealed import must_be_own

        must_be_own(Path(request.given["certify"]))
    files, hidden = request.chosen_files()
    must_spare(request.written, [*request.beside, *(file for file, _ in files)])
    must_have_use(request, files)
    own = with_own_engine(request, files)
    jobs, since = request.jobs_of(files), _since(request)
    if since is not None:
        jobs = [job for job in jobs if any(file == str(Path(job[0]).resolve()) for file, _ in since)]
        if not jobs and not request.given["trace"]:
            return _unchanged(request, terminal)
    note: tuple[str, ...] = ()
    if hidden:
        note = (f"left out by .gitignore or the settings: {many(len(hidden), 'path')} (--show-files)",)
    note += own
    verdicts: list[Any] = []
    cache = _cache(request)
    results: Any = judged(jobs, request.workers, cache, ticks(len(jobs)))
    done = 0
    try:
        for job, (found, _) in zip(jobs, results, strict=True):
            verdicts += [v for v in found if since is None or (str(Path(job[0]).resolve()), v.name) in since]
            done += 1
    except KeyboardInterrupt:
        results.close()
        outcome = finished(request, terminal, verdicts, interrupted=True)
        said = f"interrupted: {done} of {many(len(jobs), 'file')} judged; the others have no verdict"
        return CommandOutcome(outcome.out, (*outcome.err, *note, said), outcome.code or 3)
    if request.given["trace"]:
        from dmaverify.cli.bus_trace import traced

        verdicts += [traced(request.paths, request.given["trace"], request.given["engine"], request.given["dims"])]
    if cache is not None and cache.dropped:
        note += (f"cache: {many(cache.dropped, 'entry')} dropped: damaged, or not written by this user",)
    outcome = finished(request, terminal, verdicts)
    return CommandOutcome(outcome.out, (*outcome.err, *note), outcome.code)


def _unchanged(request: CheckRequest, terminal: Terminal) -> CommandOutcome:
    """The end of a check of which nothing was asked: reports without a verdict. Raises InputError for a certificate."""
    said = f"no transfer changed since {request.given['since']}"
    if request.given["certify"] is not None:
        raise InputError(f"{said}: there is nothing to certify", None, "certify without --since")
    out = _told(request, [], 0, terminal)
    return CommandOutcome((said,)) if request.show in ("full", "concise") else CommandOutcome(tuple(out), (said,))


_PLANS = (".toml", ".rs", ".mlir", ".pto")
_READ_BY = {
    "dims": ("job files and images", (".job", ".jobs", ".txt", ".idma")),
    "define": ("C drivers", (".c", ".h")),
    "features": ("Rust kernels", (".rs",)),
    "explain": ("Rust kernels", (".rs",)),
}
"""Options that only some files have a use for, and the names of these."""


def must_have_use(request: CheckRequest, files: Sequence[tuple[str, str | None]]) -> None:
    """Raises InputError for an option that no file has a use for, so that none is passed over."""
    if request.given["explain"] and request.show not in ("full", "concise"):
        raise InputError(
            f"--explain is told as text, not as {request.show}", None, "leave it out, or --output FORMAT=FILE"
        )
    for name, (readers, suffixes) in _READ_BY.items():
        useless = files and not any(file.endswith(suffixes) for file, _ in files) and not request.given["trace"]
        if useless and request.given[name] not in (None, False, ()):
            raise InputError(f"--{name} is for {readers}, and none of these files is one", None, "leave it out")


def with_own_engine(request: CheckRequest, files: Sequence[tuple[str, str | None]]) -> tuple[str, ...]:
    """What is said of plans and kernels beside `--engine`, which is not for them. Raises InputError."""
    if not request.options.get("engine"):
        return ()
    others = [file for file, _ in files if file.endswith(_PLANS)]
    if files and len(others) == len(files):
        raise InputError(
            "--engine says whose job files, burst lists and drivers are meant: plans and kernels name their own engine",
            None, "write it into the plan: options = { data_width = 64 }",
        )  # fmt: skip
    return (
        (f"--engine is not for {many(len(others), 'file')} of plans and kernels, which name their own",)
        if others
        else ()
    )


def _since(request: CheckRequest) -> set[tuple[str, str]] | None:
    if not request.given["since"]:
        return None
    from dmaverify.jobs.revisions import changed_since

    files = (request.settings.origin, baseline_of(request))
    return changed_since(request.given["since"], request, [file for file in files if file])


def finished(
    request: CheckRequest,
    terminal: Terminal,
    verdicts: Sequence[Any],
    interrupted: bool = False,
) -> CommandOutcome:
    """What is done with verdicts once they are there, and the end of the command."""
    out, err = list[str](), list[str]()
    verdicts = _chosen(request, verdicts)
    told = request.given["fix"] or SHOW_FIXES & {request.show, *(name for name, _ in request.reports)}
    if told and any(verdict.status is Status.REFUTED for verdict in verdicts):
        from dmaverify.jobs.fix import MOST_SHOWN, with_fixes

        most = None if request.given["fix"] else MOST_SHOWN
        verdicts = with_fixes(verdicts, request.options, request.target, most)
    if request.given["fix"]:
        from dmaverify.jobs.fix import with_kernel_fixes

        verdicts = with_kernel_fixes(verdicts, request.options, request.target)
        verdicts, fixed = _fixed(request, verdicts)
        err += fixed
    if request.given["write_baseline"]:
        return _written_baseline(request, verdicts)
    code = exit_code(verdicts)
    if request.given["strict"] and code in (0, 3) and any(verdict.strictly_fails for verdict in verdicts):
        code = 1
    if code == 3 and request.given["unknown"] == "warn":
        code = 0
        err.append(f"warning: {many(_undecided(verdicts), 'verdict')} UNKNOWN, which --unknown=warn lets pass")
    sealed: tuple[str, ...] = ()
    if request.given["certify"] is not None:
        code, said, wrong = _certified(request.given["certify"], request.jobs, code, verdicts)
        sealed, err = (said,), [*err, *wrong]
    code = 0 if request.given["exit_zero"] and code in (1, 3) else code
    code = worst_code((code if verdicts else 3, 3)) if interrupted else code
    out += _told(request, verdicts, code, terminal)
    if request.given["statistics"]:
        from dmaverify.report.summary import statistics

        (out if request.show in ("full", "concise") else err).append(statistics(verdicts))
    if request.given["explain"]:
        from dmaverify.cli.rust import explained

        out.append(explained(request.jobs, request.options["readings"]))
    err += own_mistakes(verdicts)
    out += sealed
    if request.given["playback"] is not None:
        out.append(_playback(request.given["playback"], verdicts))
    if not verdicts and not interrupted:
        from dmaverify.report.snippet import visible

        err.append(visible(nothing_judged(request.paths)))
    if request.show in WITHOUT_CODE:  # it stands on stderr
        from dmaverify.report.several import leaving

        err.append(leaving(verdicts, code))
    return CommandOutcome(tuple(out), tuple(err), code)


def own_mistakes(verdicts: Sequence[Any]) -> list[str]:
    """What to say of each verdict that tells of a mistake of dmaverify: on which input, and how to report it."""
    ours = [(verdict, finding) for verdict in verdicts for finding in verdict.findings if finding.rule in OURS]
    if not ours:
        return []
    from dmaverify.jobs.reduce import saved

    said = [f"internal error: {one.path}::{one.name}: {found.message}\n{saved(one)}" for one, found in ours]
    return said[:MOST_MISTAKES] + ([f"and {len(said) - MOST_MISTAKES} more"] if len(said) > MOST_MISTAKES else [])


def _undecided(verdicts: Sequence[Any]) -> int:
    return sum(verdict.status is Status.UNKNOWN for verdict in verdicts)


def _chosen(request: CheckRequest, verdicts: Sequence[Any]) -> list[Any]:
    """Less what is ignored, with what settings expect of files that do not say, and what the baseline knows excused."""
    from dmaverify.jobs.scope import only, with_expected
    from dmaverify.plan.settings import matching

    settings, machines = request.settings, list[Any]()
    with suppress(InputError):  # of shards, whose files may lie elsewhere
        machines = list(own_targets(request)) if request.select else []
    found = only(verdicts, request.select, request.ignore, machines)
    for pattern, rules in settings.per_path_ignore.items():
        found = [
            only([verdict], (), rules)[0] if matching(verdict.path, (pattern,), settings.folder) else verdict
            for verdict in found
        ]
    found = with_expected(found, settings)
    file = baseline_of(request)
    if file is None or request.given["write_baseline"]:
        return found
    from dmaverify.language.toml_spans import read_source
    from dmaverify.report.fingerprint import read_baseline, with_baseline

    if not Path(file).exists():
        span = None if request.given["baseline"] else request.settings.span("baseline")
        raise InputError(f"{file} does not exist", span, f"write it with --write-baseline {file}")

    known = read_baseline(read_source(file).text, file)
    return with_baseline(found, known, Path(file).name, partial(_placed, Path(file).parent))


def _placed(folder: Path, path: str) -> str:
    """A path from the folder of the baseline, so that it is the same from wherever the check is started."""
    return Path(os.path.relpath(path, folder)).as_posix() if path else path


def _written_baseline(request: CheckRequest, verdicts: Sequence[Any]) -> CommandOutcome:
    from dmaverify.report.fingerprint import baseline_text, read_baseline
    from dmaverify.report.order import remarks

    file = request.given["write_baseline"]
    text = baseline_text(verdicts, partial(_placed, Path(file).parent))
    write_text(file, text)
    number = read_baseline(text, file).total()
    left = sum(1 for verdict in verdicts if remarks(verdict) and not (verdict.errors or verdict.conditional))
    said = f"wrote {file}: {number} findings; from now on: --baseline {file}"
    kept: tuple[str, ...] = (f"{left} unknown are in no baseline: only findings are",) if left else ()
    unread = [verdict for verdict in verdicts if verdict.status is Status.ERROR]
    if unread:
        kept += (f"{many(len(unread), 'entry')} could not be judged: no baseline knows them", *own_mistakes(unread))
    return CommandOutcome((said,), kept, exit_code(unread) if unread else 0)


def _fixed(request: CheckRequest, verdicts: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """The verdicts after their fixes were written: the changed files are judged again."""
    from dmaverify.jobs.fix import fixes_by_file, with_fixes, write_fixes, wrong
    from dmaverify.jobs.judge import check_job

    edits = fixes_by_file(verdicts)
    if not edits:
        shown = any(f.fix for v in verdicts if v.path.endswith(".rs") for f in v.findings)
        why = "no change was proved to mend a plan" if any(map(wrong, verdicts)) else "no plan is refuted"
        why = "fixes of kernels are shown, not written" if shown else why
        return list(verdicts), [f"fixed nothing: {why}"]
    said = [f"fixed {path}: {many(write_fixes(path, own), 'place')}" for path, own in edits.items()]
    again = [verdict for verdict in verdicts if verdict.path not in edits]
    for path, name, target, options in request.jobs:
        if path in edits:
            again += check_job((path, name, target, options))[0]
    return with_fixes(_chosen(request, again), request.options, request.target), said


# ---------------------------------------------------------------- telling


def _told(request: CheckRequest, verdicts: Sequence[Any], code: int, terminal: Terminal) -> list[str]:
    """The report on the screen; the other reports into their files."""
    style: dict[str, Any] = {
        "width": terminal.width,
        "timings": request.given["timings"],
        "verbose": request.given["verbose"],
    }
    out = [rendered(request.show, verdicts, code, colour=terminal.colour, **style)]
    for name, file in request.reports:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        write_text(file, rendered(name, verdicts, code, colour=False, **style))
    if os.environ.get("GITHUB_ACTIONS") == "true" and not request.chosen and not terminal.person:
        out += [text] if (text := rendered("github", verdicts, None, colour=False, **style)) else []
        if page := os.environ.get("GITHUB_STEP_SUMMARY"):
            with Path(page).open("a", encoding="utf-8") as added:
                added.write(rendered("summary", verdicts, code, colour=False, **style))
    return out


def _certified(folder: str, jobs: Sequence[Job], code: int, verdicts: Sequence[Any]) -> tuple[int, str, list[str]]:
    """Writes the certificate and lets cvc5 answer it again; 4 where it contradicts z3, 3 where it cannot answer."""
    from dmaverify.jobs.sealed import held_to, write_certificate
    from dmaverify.prove.certify.certificate import recheck

    files = write_certificate(Path(folder), jobs)
    left = held_to(Path(folder), verdicts)
    results = recheck(files)
    bad = [r for r in results if r.contradicts]
    open_ = [r for r in results if not r.contradicts and not r.agrees]
    agreed = len(results) - len(bad) - len(open_)
    total = sum(len(q.status.split()) for q in files)
    said = f"certificate: {total} questions in {len(files)} files in {folder}, cvc5 agrees on {agreed} files"
    said += f"\n             dmaverify certificate check {typed(folder)}"
    wrong = [f"internal error: {r.path}: z3 says {r.expected}, cvc5 says {r.answer}" for r in bad]
    wrong += [*(f"not confirmed: {r.path}: {r.answer}" for r in open_), *left]
    return worst_code((code, 4 if bad else 3 if open_ else 0)), said, wrong


def _playback(file: str, verdicts: Sequence[Any]) -> str:
    from dmaverify.testing.playback import playback_text

    write_text(file, playback_text(verdicts))
    return f"wrote {file}: run it with pytest"
