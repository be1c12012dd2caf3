"""Plan files as jobs: which files are meant, each of them judged, in one process or in several.

Knows: paths, `PATH::NAME`, folders, the unit of parallel work.
Does not know: formats, exit codes, the terminal.
Law: results come in the order of the jobs, whatever the number of processes; a file that cannot be read is a verdict
too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from dmaverify.errors import InputError
from dmaverify.verdict import Verdict

FORMATS = ("full", "concise", "json", "json-lines", "sarif", "junit", "github", "gitlab", "summary", "html")

Job = tuple[str, str | None, str | None, dict[str, Any]]
"""Path, name of a transfer or None for all, target or None for the file's own, settings of `Options`."""


def errors_of(error: Exception) -> list[InputError]:
    """The input errors that an exception stands for; at least one."""
    return list(getattr(error, "errors", [])) or [error if isinstance(error, InputError) else InputError(str(error))]


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


def plan_files(paths: Sequence[str]) -> list[tuple[str, str | None]]:
    """Files with the transfer asked for, sorted: folders are searched for plan files, `PATH::NAME` names one
    transfer.
    """
    out: list[tuple[str, str | None]] = []
    for path in paths:
        file, _, name = path.partition("::")
        if not file:
            raise InputError(f"`{path}` names no file", None, "write PATH or PATH::NAME")
        if Path(file).is_dir():
            if name:
                raise InputError(f"{file} is a folder, so `::{name}` names nothing", None, "name a plan file")
            found = sorted(str(p) for p in Path(file).rglob("*.toml") if not _hidden(p, file) and is_plan(p))
            texts = [str(p) for p in Path(file).rglob("*") if not _hidden(p, file) and is_copy_text(str(p))]
            found = sorted([*found, *kernel_files(Path(file)), *texts])
            if not found:
                raise InputError(
                    f"{file} holds no plan file (*.toml with `schema = 1`) and no kernel (*.rs with a transfer, *.pto, "
                    "*.mlir)",
                    None,
                    "write one, or name a file",
                )
            out += [(f, None) for f in found]
        else:
            out.append((file, name or None))
    return list(dict.fromkeys(out))


def _hidden(path: Path, folder: str) -> bool:
    """Whether it lies in a folder like `.venv`, which belongs to a tool."""
    return any(part.startswith(".") for part in path.relative_to(folder).parts[:-1])


def is_plan(path: Path) -> bool:
    """A TOML file that says `schema =` at the start of a line; a machine's own target.toml is none."""
    if path.name == "target.toml":
        return False
    try:
        with path.open("rb") as file:
            return any(line.lstrip().startswith(b"schema") and b"=" in line for line in file.read(1 << 16).splitlines())
    except OSError:
        return False


def kernel_files(folder: Path) -> list[str]:
    """Rust files of a folder that hold a transfer, without Cargo's build output."""
    from dmaverify.machines.rngd.rust.moves import TRANSFERS

    marks = [f"{sign}{name}".encode() for name in TRANSFERS for sign in (".", "::")]
    found = []
    for path in folder.rglob("*.rs"):
        if "target" in path.relative_to(folder).parts[:-1]:
            continue
        try:
            data = path.read_bytes()
        except OSError:
            continue
        if any(mark in data for mark in marks):
            found.append(str(path))
    return found


def is_copy_text(path: str) -> bool:
    """PTO text, by its suffix."""
    return path.endswith((".pto", ".mlir"))


def check_job(job: Job) -> tuple[list[Any], str, dict[str, Any]]:
    """Verdicts of one file, or of an unreadable one; an internal disagreement as text; the questions asked."""
    if is_copy_text(job[0]):
        from dmaverify.machines.pto.check import check_job as check_kernels

        return check_kernels(job)
    from dmaverify.jobs.load import check, unreadable
    from dmaverify.plan.read import InputErrors
    from dmaverify.prove.move.check import Options
    from dmaverify.prove.move.witness import Disagreement

    path, name, target, settings = job
    keep: dict[str, Any] = {}
    try:
        listed = listed_verdict(path, settings.get("readings", {}))
        if listed is not None:
            return [listed], "", keep
        return check(path, name, target=target, options=Options(**settings), keep=keep), "", keep
    except (InputErrors, InputError) as error:
        return [unreadable(errors_of(error), path)], "", keep
    except Disagreement as error:
        return [], f"{path}: {error}", keep


def listed_verdict(path: str, readings: Mapping[str, str]) -> Verdict | None:
    """The verdict on a file of a machine's own (burst lists, job files, images); None for all others. Raises
    InputError.
    """
    if path.endswith(".toml"):
        return None
    from dmaverify.machines.idma.check import verdict_of_file

    return verdict_of_file(path, readings)


def run_jobs(jobs: Sequence[Job], workers: int, tick: Callable[[int], None]) -> Iterator[Any]:
    """What `check_job` gives for each job, in order. `tick` is told how many are done, when one process does them
    all.
    """
    if workers <= 1 or len(jobs) < 2:
        for number, job in enumerate(jobs, 1):
            yield check_job(job)
            tick(number)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=get_context("spawn")) as pool:
        yield from pool.map(check_job, jobs, chunksize=max(1, len(jobs) // (4 * workers)))


def what_next() -> str:
    here = sorted(str(p) for p in Path().rglob("*.toml") if is_plan(p))[:1] or sorted(kernel_files(Path()))[:1]
    return f"dmaverify check {here[0]}" if here else "name a plan file or a folder: dmaverify check PATH[::NAME]"


def output_of(text: str) -> tuple[str, str]:
    """Format and file of `--output FORMAT=FILE`. Raises InputError."""
    name, equals, file = text.partition("=")
    if not equals or name not in FORMATS or not file:
        raise InputError(f"`--output {text}` is not FORMAT=FILE", None, f"formats: {', '.join(FORMATS)}")
    return name, file


def rendered(
    format_: str, verdicts: Sequence[Verdict], code: int, *, width: int, colour: bool, timings: bool, verbose: bool
) -> str:
    """Verdicts in one of FORMATS."""
    if format_ in ("full", "concise"):
        from dmaverify.report.text import render_report

        style: Literal["full", "concise"] = "full" if format_ == "full" else "concise"
        return render_report(verdicts, style, code=code, width=width, colour=colour, timings=timings, verbose=verbose)
    from dmaverify import __version__

    if format_ == "html":
        from dmaverify.jobs.page import run_page

        return run_page(verdicts, __version__, code)
    from dmaverify.report.machine import write

    return write(format_, verdicts, __version__)
