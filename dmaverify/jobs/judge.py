"""Plan files as jobs: which files are meant, each of them judged, in one process or in several.

Knows: paths, `PATH::NAME`, folders, the unit of parallel work.
Does not know: formats, exit codes, the terminal.
Law: results come in the order of the jobs, whatever the number of processes; a file that cannot be read is a verdict
too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

from dmaverify.errors import InputError, did_you_mean, typed
from dmaverify.jobs.walk import IGNORED, is_copy_text, walked
from dmaverify.language.asked import AskedLog, asking
from dmaverify.language.files import is_text, named
from dmaverify.report.write import FORMATS as WRITTEN
from dmaverify.verdict import Verdict

FORMATS: tuple[str, ...] = ("full", "concise", *WRITTEN, "html")

OF_LISTS = ("engine", "dims", "defines")
"""Settings of a machine's own files, which no plan reads."""

Job = tuple[str, str | None, str | None, dict[str, Any]]
"""Path, name of a transfer or None for all, target or None for the file's own, settings of `Options`."""


def readings_of(pairs: Sequence[str]) -> dict[str, str]:
    out: dict[str, str] = {}
    for pair in pairs:
        rule, equals, name = pair.partition("=")
        if not equals or not rule or not name:
            raise InputError(
                f"`--reading {pair}` is not RULE=NAME", None, "for example core/same-element=broadcast-missing"
            )
        out[rule.strip()] = name.strip()
    return out


def plan_files(
    paths: Sequence[str], left: list[str] | None = None, *, lists: bool = False
) -> list[tuple[str, str | None]]:
    """Files with the transfer asked for, sorted: folders are searched for plan files, with `lists` also for a machine's
    job files and lists; `PATH::NAME` names one transfer. `left` receives what .gitignore hides.
    """
    out: list[tuple[str, str | None]] = []
    for path in paths:
        file, name = named(_at_line(path))
        if not file.strip():
            raise InputError(f"`{path}` names no file", None, "write PATH or PATH::NAME")
        if Path(file).is_dir():
            if name:
                raise InputError(f"{file} is a folder, so `::{name}` names nothing", None, "name a plan file")
            seen = walked(file, lists=lists)
            found = [one.path for one in seen if one.taken]
            hidden = [one.path for one in seen if one.why == IGNORED]
            if left is not None:
                left += hidden
            if not found:
                but = f", but for {len(hidden)} that .gitignore hides" if hidden else ""
                left_out = "; --show-files says why each was left" if seen else ""
                hint = f"write one (`dmaverify new tile`), or name a file{left_out}"
                raise InputError(f"{file} holds no {WANTED}{but}", None, hint)
            out += [(f, None) for f in found]
        elif is_text(file):
            raise InputError(f"{file} does not exist", None, "a plan as text goes to `check --stdin`")
        else:
            out.append((file, name or None))
    return list(dict.fromkeys(out))


_LINE = re.compile(r"(.+\.toml):([0-9]{1,7})(?::[0-9]*)?")
_TABLE = re.compile(r"[ \t]*\[{1,2}[ \t]*(?:transfer|access|program|gather|scatter|kernel)\.[\"']?([A-Za-z0-9_-]+)")


def _at_line(path: str) -> str:
    """`PATH:LINE` as `PATH::NAME` of the table that the line stands in. Raises InputError for a line above them all."""
    found = _LINE.fullmatch(path)
    if found is None or Path(path).exists() or not Path(found[1]).is_file():
        return path
    from dmaverify.language.toml_spans import read_source

    lines = read_source(found[1]).text.rstrip("\n").split("\n")
    if int(found[2]) > len(lines):
        raise InputError(f"{found[1]} has {len(lines)} lines, no line {found[2]}", None, "name one: PATH::NAME")
    lines = lines[: int(found[2])]
    name = next((table[1] for line in reversed(lines) if (table := _TABLE.match(line))), None)
    if name is None:
        raise InputError(f"line {found[2]} of {found[1]} stands in no transfer", None, "name one: PATH::NAME")
    return f"{found[1]}::{name}"


def options_of(settings: Mapping[str, Any]) -> Any:
    """The `Options` of a job's settings: those that are not of a machine's own files alone."""
    from dmaverify.prove.options import Options

    return Options(**{key: value for key, value in settings.items() if key not in OF_LISTS})


Result = tuple[list[Any], dict[str, Any]]
"""Verdicts of a file, and the questions asked, by name."""

Work = Callable[[Job], tuple[list[Any], Any]]
"""What is done for each job."""


def check_job(job: Job) -> Result:
    """Verdicts of one file, whatever is wrong with it, and the questions asked."""
    from dmaverify.language.files import allowing
    from dmaverify.prove.boundary import guarded

    path, name, target, settings = job
    keep: dict[str, Any] = {}
    options = options_of(settings)

    def judge() -> list[Verdict]:
        from dmaverify.jobs.load import file_verdicts

        with allowing(options.allow):
            return file_verdicts(path, name, settings, target, options.running, keep)

    return guarded(judge, options.limits, name=Path(path).stem, path=path), keep


def listened_job(job: Job) -> tuple[list[Any], AskedLog]:
    """Verdicts of one file, and all that was asked of the disk for them."""
    with asking() as asked:
        verdicts, _ = check_job(job)
    return verdicts, asked


WANTED = (
    "plan file (*.toml with `schema = 1`), no kernel (*.rs with a transfer, *.pto, *.mlir) and "
    "no driver (*.c that launches transfers)"
)


def run_jobs(
    jobs: Sequence[Job], workers: int, tick: Callable[[int], None], work: Work | None = None
) -> Iterator[Result]:
    """What `check_job`, or other `work`, gives for each job, in order. `tick` is told how many are done.

    A process that is ended from outside spoils the verdict that it was at, and no other.
    """
    if workers <= 1 or len(jobs) < 2:
        with _beside(jobs):
            for number, job in enumerate(jobs, 1):
                yield (work or check_job)(job)
                tick(number)
        return
    size = max(1, len(jobs) // (4 * workers))
    chunks = [list(jobs[at : at + size]) for at in range(0, len(jobs), size)]
    done = 0
    for results in _in_processes(chunks, min(workers, len(jobs)), work):
        yield from results
        done += len(results)
        tick(done)


def _beside(jobs: Sequence[Job]) -> AbstractContextManager[None]:
    """While it lasts, a process that executes may start, where anything is executed."""
    if not any(settings.get("cross_check") and not is_copy_text(path) for path, _, _, settings in jobs):
        return nullcontext()
    from dmaverify.execute.beside import beside_wanted

    return beside_wanted()


def _in_processes(chunks: Sequence[Sequence[Job]], workers: int, work: Work | None) -> Iterator[list[Result]]:
    from concurrent.futures.process import BrokenProcessPool

    context = _context()
    at = 0
    while at < len(chunks):
        with processes(workers, context) as shared:
            try:
                futures = [shared.submit(_check_chunk, chunk, work) for chunk in chunks[at:]]
                for future in futures:
                    yield future.result()
                    at += 1
            except BrokenProcessPool:
                if len(chunks[at]) > 1:
                    chunks = [*chunks[:at], *([job] for job in chunks[at]), *chunks[at + 1 :]]
                    workers = 1  # which one it was shows when they are judged one by one
                else:
                    yield [_ended(chunks[at][0])]
                    at += 1


@contextmanager
def processes(number: int, context: Any) -> Iterator[Any]:
    """Processes to give work to, ended with whatever they are at when this ends."""
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(number, mp_context=context, initializer=_without_interrupts)
    try:
        yield pool
    finally:
        started = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in started:
            process.terminate()


def _context() -> Any:
    """How processes are started: as copies of this one with all that judges loaded once, where the system can and no
    thread is running that a copy would lack; else anew, each loading for itself.
    """
    import sys
    import threading
    from multiprocessing import get_context

    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return get_context("spawn")
    import dmaverify.execute
    import dmaverify.jobs.load
    import dmaverify.jobs.verdicts
    import dmaverify.plan.read
    import dmaverify.prove.move.check  # noqa: F401 (loaded here once, for all)

    return get_context("fork")


def _check_chunk(jobs: Sequence[Job], work: Work | None = None) -> list[Result]:
    return [(work or check_job)(job) for job in jobs]


def _without_interrupts() -> None:
    """Ctrl-C is for the process that started this one, which ends it."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _ended(job: Job) -> Result:
    """A job at which its process ended, by the system or by a library."""
    from dmaverify.prove.boundary import LIMIT
    from dmaverify.verdict import Obligation, Status

    why = "the process that judged it was ended, most likely for its memory; nothing was decided"
    path = job[0]
    open_ = Obligation(LIMIT, "unknown", "", why)
    return [Verdict(Path(path).stem, "", Status.UNKNOWN, (), (open_,), path=path)], {}


def nothing_judged(paths: Sequence[str]) -> str:
    """Why a run over these paths has no verdict, and what to write."""
    named = ", ".join(paths[:3]) + (", ..." if len(paths) > 3 else "")
    return (
        f"nothing was judged: {named} {'have' if len(paths) > 1 else 'has'} no transfer, access, program or kernel; "
        "`dmaverify new tile` writes a plan to start from, a Rust kernel moves by `.to_dm(...)` or `.to_hbm(...)`"
    )


def what_next() -> str:
    """What to type where nothing was named: a file of this folder, as far as one is found quickly."""
    here = [seen.path for seen in walked(".") if seen.taken][:1]
    return f"dmaverify check {typed(here[0])}" if here else "name a plan file or a folder: dmaverify check PATH[::NAME]"


def output_of(text: str) -> tuple[str, str]:
    """Format and file of `--output FORMAT=FILE`. Raises InputError."""
    name, equals, file = text.partition("=")
    formats = f"formats: {', '.join(FORMATS)}"
    if not equals or not file:
        raise InputError(f"`--output {text}` is not FORMAT=FILE", None, formats)
    if name not in FORMATS:
        raise InputError(f"`--output {text}`: no format `{name}`", None, did_you_mean(name, FORMATS) or formats)
    if file == "-":
        raise InputError(f"`--output {text}` names no file", None, f"--format {name} prints it")
    return name, file


def rendered(
    format_: str, verdicts: Sequence[Verdict], code: int | None, *, width: int, colour: bool, timings: bool,
    verbose: bool,
) -> str:  # fmt: skip
    """Verdicts in one of FORMATS."""
    if format_ in ("full", "concise"):
        from dmaverify.report.several import render_report

        style: Literal["full", "concise"] = "full" if format_ == "full" else "concise"
        return render_report(verdicts, style, code=code, width=width, colour=colour, timings=timings, verbose=verbose)
    from dmaverify import __version__
    from dmaverify.report.snippet import escaped

    if format_ == "html":
        from dmaverify.jobs.page import run_page

        return escaped(run_page(verdicts, __version__, code))
    from dmaverify.report.write import write

    return escaped(write(format_, verdicts, __version__, code))
