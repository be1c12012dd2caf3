"""Many moves searched: those of files and folders, in one process or in several, as answers that can be sent.

Knows: which moves a path has, answers as text, data and exit code.
Does not know: how a move is searched (`jobs.synthesis`), schedulers, the terminal.
Law: answers come in the order of the jobs and are the same whatever the number of processes; a move that cannot be
read is an answer that says so, and the others are searched all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from dmaverify.errors import InputError
from dmaverify.jobs.judge import Job, plan_files, processes
from dmaverify.jobs.load import load
from dmaverify.jobs.synthesis import SynthSettings, answer_of
from dmaverify.jobs.walk import is_copy_text
from dmaverify.values import asdict, dataclass, field

_Job = TypeVar("_Job")
_Answer = TypeVar("_Answer")
TIMINGS = "timings"
"""A setting of the text alone."""


@dataclass(frozen=True)
class Told:
    """An answer: its JSON, its text, and the exit code that it alone gives. `whole` is the answer itself, where it was
    made in this process.
    """

    data: dict[str, Any]
    text: str
    code: int
    whole: Any = field(default=None, compare=False, repr=False)


def move_jobs(paths: Sequence[str], settings: SynthSettings, *, timings: bool = False) -> list[Job]:
    """One job for each transfer, gather and scatter of files, folders and `PATH::NAME`, in order. Raises InputError for
    a file that is named and cannot be read; one of a folder is a job that says so.
    """
    chosen = {**asdict(settings), TIMINGS: timings}
    jobs: list[Job] = []
    named = {path.partition("::")[0] for path in paths}
    for path, name in plan_files(paths):
        if is_copy_text(path) and path not in named:
            continue  # kernels of copies: a plan file claims what they move
        try:
            jobs += [(path, one, None, chosen) for one in load(path, name).move_names]
        except InputError:
            if path in named:
                raise
            jobs.append((path, None, None, chosen))
    if not jobs:
        raise InputError("no transfer to synthesize", None, "name a plan file with a [transfer.NAME]")
    return jobs


def told_move(job: Job) -> Told:
    """One move of a file. Raises InputError for a move that cannot be read."""
    from dmaverify.report.synth import synth_text

    path, name, _, chosen = job
    settings = SynthSettings(**{key: value for key, value in chosen.items() if key != TIMINGS})
    found = answer_of(load(path, name), str(name), settings)
    return Told(found.as_data(), synth_text(found, timings=chosen[TIMINGS]), 0 if found.found else 1, found)


def told_job(job: Job) -> Told:
    """As `told_move`, of many: what cannot be read is told, and nothing but text and data is sent."""
    path, name, _, _ = job
    try:
        found = told_move(job)
    except InputError as error:
        where = path if name is None else f"{path}::{name}"
        data = {"name": name, "path": path, "error": error.message, "hint": error.hint}
        help_ = f"\n  help: {error.hint}" if error.hint else ""
        return Told(data, f"{where}   not searched: {error.message}{help_}", 2)
    return Told({**found.data, "path": path}, found.text, found.code)


def told_batch(jobs: Sequence[Job]) -> list[Told]:
    """The answers of several jobs: one message to a cluster and back."""
    return [told_job(job) for job in jobs]


def told_jobs(jobs: Sequence[Job], workers: int, *, whole: bool = False) -> tuple[list[Told], str]:
    """The answers of all jobs, and what ended the work before its end; "" where all was done. Raises InputError for
    the one move that is asked for, or any where `whole` is.
    """
    from dmaverify.prove.boundary import until_stopped

    alone = whole or len(jobs) == 1
    done, stopped = until_stopped(map(told_move, jobs) if alone else pooled(told_job, jobs, workers))
    return done, f"{stopped}; {len(done)} of {len(jobs)} transfers were done" if stopped else ""


def code_of(answers: Sequence[Told]) -> int:
    """The exit code of all: 2 where a move could not be read, 1 where one has no plan."""
    return max((one.code for one in answers), default=0)


def pooled(
    work: Callable[[_Job], _Answer], jobs: Sequence[_Job], workers: int, tick: Callable[[int], None] = lambda done: None
) -> Iterator[_Answer]:
    """The answers of jobs in order, in processes of their own where several are wanted. `tick` counts them."""
    if workers <= 1 or len(jobs) < 2:
        for number, job in enumerate(jobs, 1):
            yield work(job)
            tick(number)
        return
    from multiprocessing import get_context

    with processes(min(workers, len(jobs)), get_context("spawn")) as pool:
        for number, answer in enumerate(pool.map(work, jobs), 1):
            yield answer
            tick(number)
