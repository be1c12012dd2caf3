"""`check` as the command line runs it: options with the settings of the project, and everything around the judging.

Knows: which setting wins, the order of what happens to verdicts, files to write.
Does not know: how anything is decided, how a format is written, the terminal (it returns texts and prints nothing).
Law: an option of the command line wins over a settings file; verdicts do not depend on the cache, on the number of
processes or on the format; every file that is asked for is written in one run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dmaverify.cli.options import NOTHING
from dmaverify.errors import InputError
from dmaverify.jobs.judge import FORMATS, Job, output_of, plan_files, readings_of, rendered, run_jobs, what_next
from dmaverify.language.files import write_text
from dmaverify.prove.limits import MEMORY, TIMEOUT

Tick = Callable[[int], None]

MOST_MISTAKES = 3  # of our own, told with a reduced input each
LAST_LINE_ASIDE = {"json", "json-lines", "gitlab", "rdjson"}  # no place for the exit code: it stands on stderr
SHOW_FIXES = {"full", "json", "json-lines", "sarif", "rdjson", "html"}


@dataclass(frozen=True)
class Terminal:
    """What the output is written to: columns, colours, and whether a person reads it."""

    width: int = 100
    colour: bool = False
    person: bool = False


@dataclass(frozen=True)
class CommandOutcome:
    """Texts for standard output and for standard error, and the exit code."""

    out: tuple[str, ...]
    err: tuple[str, ...] = ()
    code: int = 0


@dataclass(frozen=True)
class CheckRequest:
    """One call of `check`, options and settings together."""

    paths: tuple[str, ...]
    show: str
    chosen: bool
    reports: tuple[tuple[str, str], ...]
    target: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    options: Mapping[str, Any]
    workers: int
    settings: Any
    given: Mapping[str, Any]

    @property
    def files(self) -> list[tuple[str, str | None]]:
        """The files to check, without those that the settings exclude."""
        return self.chosen_files()[0]

    def chosen_files(self) -> tuple[list[tuple[str, str | None]], list[str]]:
        """The files to check, and what of the folders a file of the project hides: settings, or .gitignore."""
        from dmaverify.plan.settings import matching

        hidden: list[str] = []
        found = plan_files(self.paths, hidden, lists="engine" in self.options)
        asked = {path.partition("::")[0] for path in self.paths}
        left = self.settings.exclude
        out = {(f, n) for f, n in found if f not in asked and left and matching(f, left, self.settings.folder)}
        return [pair for pair in found if pair not in out], [*hidden, *(file for file, _ in sorted(out, key=str))]

    @property
    def jobs(self) -> list[Job]:
        return self.jobs_of(self.files)

    def jobs_of(self, files: Sequence[tuple[str, str | None]]) -> list[Job]:
        return [(path, name, self.target, dict(self.options)) for path, name in files]


# ---------------------------------------------------------------- options and settings


def options_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """How transfers are judged, by the options of the command line alone (as `--stdin` has it)."""
    return {
        "readings": readings_of(given["reading"]),
        "rlimit": given["rlimit"] or 20_000_000,
        "timeout": TIMEOUT if given["timeout"] is None else given["timeout"] or None,
        "memory": MEMORY if given["memory"] is None else given["memory"] or None,
        "cross_check": 0 if given["no_execute"] else 1 << 16,
        "allow": tuple(given["allow_path"]),
        "prove": "full" if given.get("certify") else given["prove"] or "fast",
    }


def request_of(asked: Mapping[str, Any]) -> CheckRequest:
    """Options and the settings of the project as one request. Raises InputError."""
    given = {**NOTHING, **asked}
    if given["features"]:
        os.environ["DMAVERIFY_FEATURES"] = given["features"]  # for the processes of `-j` as well
    from dmaverify.plan.settings import Settings, find_settings, read_settings

    if given["config"] and given["isolated"]:
        raise InputError("--config and --isolated contradict each other", None, "give one of them")
    if given["config"]:
        settings = read_settings(given["config"])
    else:
        settings = Settings() if given["isolated"] else find_settings(Path())
    own = options_of(given)
    own["readings"] = {**settings.reading, **own["readings"]}
    own["rlimit"] = given["rlimit"] or settings.rlimit
    for key in ("timeout", "memory"):
        own[key] = (getattr(settings, key) or None) if given[key] is None else own[key]
    own["prove"] = "full" if given["certify"] else given["prove"] or settings.prove
    own["cross_check"] = own["cross_check"] if settings.execute else 0
    if given["engine"] or given["dims"] is not None:
        own |= {"engine": tuple(given["engine"] or ()), "dims": given["dims"]}
    if given["define"]:
        own["defines"] = tuple(given["define"])
    said = given["format_"] or settings.format
    if said not in (None, *FORMATS):
        from dmaverify.targets.table import suggestion

        hint = suggestion(said, FORMATS) or f"formats: {', '.join(FORMATS)}"
        raise InputError(f"no format `{said}`", settings.span("format"), hint)
    reports = [output_of(text) for text in given["output"]]
    if not given["output"]:
        reports = [(name, str(settings.folder / file)) for name, file in map(output_of, settings.output)]
    return CheckRequest(
        paths=tuple(given["paths"]) or tuple(str(settings.folder / path) for path in settings.paths),
        show="json" if given["as_json"] else said or "full",
        chosen=bool(given["as_json"] or said),
        reports=tuple(reports),
        target=given["target"] or settings.target,
        select=tuple(given["select"]) or settings.select,
        ignore=tuple(given["ignore"]) or settings.ignore,
        options=own,
        workers=given["workers"] or settings.jobs,
        settings=settings,
        given=given,
    )


def check_rules(request: CheckRequest) -> None:
    """Raises InputError for a rule that is selected or ignored, here or in the settings, and that nothing has."""
    given, settings = request.given, request.settings
    asked = [("--select", given["select"]), ("--ignore", given["ignore"])]
    asked += [("select", settings.select), ("ignore", settings.ignore)]
    asked += [("per-path-ignore", rules) for rules in settings.per_path_ignore.values()]
    if any(rules for _, rules in asked):
        from dmaverify.report.rules import check_patterns

        own = list(own_targets(request))
        for said, rules in asked:
            check_patterns(rules, said, own, partial(settings.span, said))


def check_names(request: CheckRequest) -> None:
    """Raises InputError for a machine or a reading, of the command line or the settings, that there is not."""
    if request.target is not None:
        from dmaverify.targets.target import load_target

        try:
            load_target(request.target)
        except InputError as error:
            if error.span is not None:
                raise
            said, span = ("--target: ", None) if request.given["target"] else ("", request.settings.span("target"))
            raise InputError(f"{said}{error.message}", span, error.hint) from None
    asked: dict[str, str] = request.options["readings"]
    if asked:
        own = list(own_targets(request))
        given = readings_of(request.given["reading"])
        for rule, name in asked.items():
            said, span = ("--reading: ", None) if rule in given else ("", request.settings.span("reading", rule))
            _check_reading(rule, name, own, said, span)


def _check_reading(rule: str, name: str, own: Sequence[Any], said: str, span: Any) -> None:
    from dmaverify.report.rules import names_of
    from dmaverify.targets.table import suggestion

    known = [*names_of("reading"), *(f"{key}={one}" for target in own for key, names in target.readings.items()
                                     for one in names)]  # fmt: skip
    if f"{rule}={name}" in known:
        return
    names = [pair.partition("=")[2] for pair in known if pair.partition("=")[0] == rule]
    if names:
        hint = suggestion(name, names) or f"it has {', '.join(dict.fromkeys(names))}"
        raise InputError(f"{said}{rule} has no reading {name!r}", span, hint)
    hint = suggestion(rule, {pair.partition("=")[0] for pair in known}) or "`dmaverify targets` lists the readings"
    raise InputError(f"{said}{rule!r} has no readings", span, hint)


def own_targets(request: CheckRequest) -> Iterator[Any]:
    """The machines of the request that do not ship: its `--target`, and those that its plans name by a path."""
    from dmaverify.plan.read import target_names
    from dmaverify.targets.target import available_targets, load_target

    shipped = available_targets()
    if request.target is not None and request.target not in shipped:
        yield load_target(request.target)
    for file in {file for file, _ in request.files if file.endswith(".toml")}:
        for name in target_names(Path(file)):
            if name not in shipped:
                with suppress(InputError):  # said where the plan is read
                    yield load_target(name, Path(file).parent)


def shown_settings(request: CheckRequest) -> dict[str, Any]:
    """The settings in force as data: the file's, with those of the command line over them, and the origin of each."""
    data: dict[str, Any] = request.settings.as_data()
    data |= {
        "paths": list(request.paths),
        "format": request.show,
        "output": [f"{name}={file}" for name, file in request.reports],
        "target": request.target,
        "select": list(request.select),
        "ignore": list(request.ignore),
        "reading": dict(sorted(request.options["readings"].items())),
        "jobs": request.workers,
        "rlimit": request.options["rlimit"],
        "timeout": request.options["timeout"],
        "memory": request.options["memory"],
        "prove": request.options["prove"],
        "execute": bool(request.options["cross_check"]),
        "cache": request.settings.cache and not (request.given["no_cache"] or request.given["locked"]),
        "baseline": _baseline(request),
    }
    return data | {"from": {key: _origin(request, key) for key in data if key != "settings"}}


_OPTION_OF = {"format": "format_", "jobs": "workers", "execute": "no_execute", "cache": "no_cache"}


def _origin(request: CheckRequest, key: str) -> str:
    """Where a setting comes from: `command line`, `FILE:LINE` or `default`."""
    given, settings = request.given, request.settings
    asked = [given.get(_OPTION_OF.get(key, key))]
    asked += {"cache": [given["locked"]], "format": [given["as_json"]], "prove": [given["certify"]]}.get(key, [])
    if any(value not in (None, (), False) for value in asked):
        return "command line"
    return f"{settings.origin}:{settings.lines[key]}" if key in settings.lines else "default"


def shown_files(request: CheckRequest) -> str:
    """Every file that is checked, and every one that is left, with the reason."""
    from dmaverify.jobs.walk import walked

    taken = dict.fromkeys(file for file, _ in request.files)
    seen = {one.path: one for path in request.paths if Path(path).is_dir() for one in walked(path)}
    lines = [f"{file}  ({seen[file].why})" if file in seen else file for file in taken]
    for path, one in sorted(seen.items()):
        if path not in taken:
            lines.append(f"left out: {path}  ({'is excluded by the settings' if one.taken else one.why})")
    return "\n".join(lines)


def _baseline(request: CheckRequest) -> str | None:
    if request.given["baseline"]:
        return str(request.given["baseline"])
    own = request.settings.baseline
    return str(request.settings.folder / own) if own else None


# ---------------------------------------------------------------- judging


def judged(
    jobs: Sequence[Job], workers: int, cache: Any, tick: Tick
) -> Iterator[tuple[list[Any], str, dict[str, Any]]]:
    """What `run_jobs` gives, in order; what the cache knows is not asked again."""
    if cache is None:
        yield from run_jobs(jobs, workers, tick)
        return
    from dmaverify.jobs.cache import key_of

    crates: dict[Path, bytes] = {}
    keys = [key_of(job, crates) for job in jobs]
    known = {key: found for key in keys if key is not None and (found := cache.get(key)) is not None}
    fresh = run_jobs([job for job, key in zip(jobs, keys, strict=True) if key not in known], workers, tick)
    for key in keys:
        if key in known:
            yield list(known[key]), "", {}
            continue
        result = next(fresh)
        if key is not None and not result[1]:
            cache.put(key, result[0])
        yield result


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
    internal: list[str] = []
    asked: dict[str, Any] = {}
    files, hidden = request.chosen_files()
    jobs, since = request.jobs_of(files), _since(request)
    if since is not None:
        jobs = [job for job in jobs if any(file == str(Path(job[0]).resolve()) for file, _ in since)]
        if not jobs:
            return CommandOutcome((f"no transfer changed since {request.given['since']}",))
    note: tuple[str, ...] = ()
    if hidden:
        note = (f"left out by .gitignore or the settings: {_many(len(hidden), 'path')} (--show-files)",)
    verdicts: list[Any] = []
    cache = _cache(request)
    results: Any = judged(jobs, request.workers, cache, ticks(len(jobs)))
    done = 0
    try:
        for job, (found, trouble, keep) in zip(jobs, results, strict=True):
            verdicts += [v for v in found if since is None or (str(Path(job[0]).resolve()), v.name) in since]
            internal += [trouble] if trouble else []
            asked |= {f"{Path(job[0]).with_suffix('')}.{name}": questions for name, questions in keep.items()}
            done += 1
    except KeyboardInterrupt:
        results.close()
        outcome = finished(request, terminal, verdicts, internal, asked, interrupted=True)
        said = f"interrupted: {done} of {_many(len(jobs), 'file')} judged; the others have no verdict"
        return CommandOutcome(outcome.out, (*outcome.err, *note, said), outcome.code or 3)
    if request.given["trace"]:
        from dmaverify.cli.idma import traced

        verdicts += [traced(request.paths, request.given["trace"], request.given["engine"], request.given["dims"])]
    if cache is not None and cache.dropped:
        note += (f"cache: {_many(cache.dropped, 'entry')} dropped: damaged, or not written by this user",)
    outcome = finished(request, terminal, verdicts, internal, asked)
    return CommandOutcome(outcome.out, (*outcome.err, *note), outcome.code)


def _since(request: CheckRequest) -> set[tuple[str, str]] | None:
    if not request.given["since"]:
        return None
    from dmaverify.jobs.revisions import changed_since

    return changed_since(request.given["since"], request)


def finished(
    request: CheckRequest,
    terminal: Terminal,
    verdicts: Sequence[Any],
    internal: Sequence[str],
    asked: Mapping[str, Any] = MappingProxyType({}),
    interrupted: bool = False,
) -> CommandOutcome:
    """What is done with verdicts once they are there, and the end of the command."""
    from dmaverify.verdict import Status, exit_code

    out, err = list[str](), list[str]()
    verdicts = _chosen(request, verdicts)
    told = request.given["fix"] or SHOW_FIXES & {request.show, *(name for name, _ in request.reports)}
    if told and any(verdict.status is Status.REFUTED for verdict in verdicts):
        from dmaverify.jobs.fix import with_fixes

        verdicts = with_fixes(verdicts, request.options, request.target)
    if request.given["fix"]:
        from dmaverify.jobs.fix import with_kernel_fixes

        verdicts = with_kernel_fixes(verdicts, request.options, request.target)
        verdicts, fixed = _fixed(request, verdicts)
        err += fixed
    if request.given["write_baseline"]:
        return _written_baseline(request, verdicts)
    code = exit_code(verdicts, internal=bool(internal))
    if request.given["strict"] and code in (0, 3) and any(verdict.strictly_fails for verdict in verdicts):
        code = 1
    if code == 3 and request.given["unknown"] == "warn":
        code = 0
        err.append(f"warning: {_many(_undecided(verdicts), 'verdict')} UNKNOWN, which --unknown=warn lets pass")
    sealed: tuple[str, ...] = ()
    if request.given["certify"] is not None:
        code, said, wrong = _certified(request.given["certify"], request.jobs, code)
        sealed, err = (said,), [*err, *wrong]
    code = 0 if request.given["exit_zero"] and code in (1, 3) else code
    code = max(code if verdicts else 3, 3, key=(0, 3, 1, 2, 4).index) if interrupted else code
    out += _told(request, verdicts, code, terminal)
    if request.given["statistics"]:
        from dmaverify.report.summary import statistics

        (out if request.show in ("full", "concise") else err).append(statistics(verdicts))
    if request.given["explain"] and request.show in ("full", "concise"):
        from dmaverify.cli.rust import explained

        out.append(explained(request.jobs, request.options["readings"]))
    err += [f"internal error: {x}\nPlease report this: a proof and an execution disagree." for x in internal]
    err += own_mistakes(verdicts)
    out += sealed
    if request.given["playback"] is not None:
        out.append(_playback(request.given["playback"], verdicts))
    if request.show in LAST_LINE_ASIDE:
        from dmaverify.report.text import leaving

        err.append(leaving(verdicts, code))
    return CommandOutcome(tuple(out), tuple(err), code)


def own_mistakes(verdicts: Sequence[Any]) -> list[str]:
    """What to say of each verdict that tells of a mistake of dmaverify: on which input, and how to report it."""
    from dmaverify.jobs.reduce import saved
    from dmaverify.verdict import OURS

    said = []
    for verdict in verdicts:
        for finding in verdict.findings:
            if finding.rule in OURS:
                name = f"{verdict.path}::{verdict.name}"
                said.append(f"internal error: {name}: {finding.message}\n{saved(verdict)}")
    return said[:MOST_MISTAKES] + ([f"and {len(said) - MOST_MISTAKES} more"] if len(said) > MOST_MISTAKES else [])


def _undecided(verdicts: Sequence[Any]) -> int:
    from dmaverify.verdict import Status

    return sum(verdict.status is Status.UNKNOWN for verdict in verdicts)


def _chosen(request: CheckRequest, verdicts: Sequence[Any]) -> list[Any]:
    """Less what is ignored, and with what the baseline knows excused."""
    from dmaverify.jobs.scope import only
    from dmaverify.plan.settings import matching

    settings = request.settings
    found = only(verdicts, request.select, request.ignore)
    for pattern, rules in settings.per_path_ignore.items():
        found = [
            only([verdict], (), rules)[0] if matching(verdict.path, (pattern,), settings.folder) else verdict
            for verdict in found
        ]
    file = _baseline(request)
    if file is None or request.given["write_baseline"]:
        return found
    from dmaverify.plan.toml_spans import read_source
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
    kept = (f"{left} unknown are in no baseline: only findings are",) if left else ()
    return CommandOutcome((said,), kept)


def _fixed(request: CheckRequest, verdicts: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """The verdicts after their fixes were written: the changed files are judged again."""
    from dmaverify.jobs.fix import fixes_by_file, with_fixes, write_fixes
    from dmaverify.jobs.judge import check_job

    edits = fixes_by_file(verdicts)
    if not edits:
        shown = any(f.fix for v in verdicts if v.path.endswith(".rs") for f in v.findings)
        why = "fixes of kernels are shown, not written" if shown else "no change was proved to mend a plan"
        return list(verdicts), [f"fixed nothing: {why}"]
    said = [f"fixed {path}: {_many(write_fixes(path, own), 'place')}" for path, own in edits.items()]
    again = [verdict for verdict in verdicts if verdict.path not in edits]
    for path, name, target, options in request.jobs:
        if path in edits:
            again += check_job((path, name, target, options))[0]
    return with_fixes(_chosen(request, again), request.options, request.target), said


def _many(number: int, what: str) -> str:
    many = f"{what[:-1]}ie" if what.endswith("y") else what
    return f"{number} {what if number == 1 else many + 's'}"


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


def _certified(folder: str, jobs: Sequence[Job], code: int) -> tuple[int, str, list[str]]:
    """Writes the certificate and lets cvc5 answer it again; 4 where it contradicts z3, 3 where it cannot answer."""
    from dmaverify.jobs.sealed import write_certificate
    from dmaverify.prove.certify.certificate import recheck

    files = write_certificate(Path(folder), jobs)
    results = recheck(files)
    bad = [r for r in results if r.contradicts]
    open_ = [r for r in results if not r.contradicts and not r.agrees]
    agreed = len(results) - len(bad) - len(open_)
    total = sum(len(q.status.split()) for q in files)
    said = f"certificate: {total} questions in {len(files)} files in {folder}, cvc5 agrees on {agreed} files"
    said += f"\n             dmaverify certificate check {folder}"
    wrong = [f"internal error: {r.path}: z3 says {r.expected}, cvc5 says {r.answer}" for r in bad]
    wrong += [f"not confirmed: {r.path}: {r.answer}" for r in open_]
    return max(code, 4 if bad else 3 if open_ else 0, key=(0, 3, 1, 2, 4).index), said, wrong


def _playback(file: str, verdicts: Sequence[Any]) -> str:
    from dmaverify.testing.playback import playback_text

    write_text(file, playback_text(verdicts))
    return f"wrote {file}: run it with pytest"


# ---------------------------------------------------------------- watching


def stamps(request: CheckRequest) -> dict[str, tuple[int, int]]:
    """When each file of the request changed last, and how long it is."""
    found = {}
    for file in {name for name, _ in _present(request)}:
        try:
            stat = os.stat(file)
        except OSError:
            continue
        found[file] = (stat.st_mtime_ns, stat.st_size)
    return found


def _present(request: CheckRequest) -> list[tuple[str, str | None]]:
    try:
        return request.files
    except InputError:
        return []


def watched(
    request: CheckRequest, terminal: Terminal, ticks: Callable[[int], Tick], wait: Callable[[], None]
) -> Iterator[CommandOutcome]:
    """One outcome now and one after every change of a file; what cannot be read is an outcome too. Ends never."""
    from dmaverify.report.text import render_error

    while True:
        before = stamps(request)
        try:
            yield check_once(request, terminal, ticks)
        except InputError as error:
            yield CommandOutcome((), (render_error(error, width=terminal.width),), 2)
        if request.given["fix"]:
            before = stamps(request)
        while stamps(request) == before:
            wait()
