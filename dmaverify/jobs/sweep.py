"""Many plans over many machines: shards of the work, and the whole put together again from them.

Knows: which job belongs to which shard, the lines that a shard writes, what makes a set of shards whole.
Does not know: schedulers, formats, exit codes, the terminal.
Law: every job belongs to exactly one shard, by a hash of its path and name alone, so that a new plan moves no other;
merged shards give the verdicts of a single run, in its order; a shard that is missing, double or of another sweep is
refused, never passed over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from dmaverify.errors import InputError
from dmaverify.jobs.judge import Job, check_job
from dmaverify.jobs.record import BadRecord, Unrecordable, record_of, verdicts_of
from dmaverify.verdict import Verdict

VERSION = 1
MOST_SHARDS = 1_000_000
MOST_JOBS = 10_000_000
BATCH = 16
_HINT = "each shard is written by `dmaverify sweep PATH... --shard K/N --out FILE`"

Result = tuple[list[Any], str, dict[str, Any]]


@dataclass(frozen=True)
class Shard:
    """Part `number` of `total`, counted from 1."""

    number: int = 1
    total: int = 1

    def holds(self, job: Job) -> bool:
        path, name, _, _ = job
        mark = hashlib.sha256(f"{path}\0{name or ''}".encode("utf-8", "surrogateescape")).digest()
        return int.from_bytes(mark[:8], "big") % self.total == self.number - 1


def shard_of(text: str) -> Shard:
    """`K/N`. Raises InputError."""
    number, slash, total = text.partition("/")
    whole = bool(slash) and number.isdecimal() and total.isdecimal() and max(len(number), len(total)) < 9
    if not (whole and 1 <= int(number) <= int(total) <= MOST_SHARDS):
        raise InputError(f"`--shard {text}` is not K/N", None, "K counts from 1: --shard 1/8 ... --shard 8/8")
    return Shard(int(number), int(total))


# ---------------------------------------------------------------- executors


class Executor(Protocol):
    """Where jobs run. Results come in the order of the jobs."""

    def __call__(self, jobs: Sequence[Job]) -> Iterator[Result]: ...


def batches(jobs: Sequence[Job], size: int = BATCH) -> list[list[Job]]:
    return [list(jobs[at : at + size]) for at in range(0, len(jobs), size)]


def check_batch(jobs: Sequence[Job]) -> list[Result]:
    """The results of several jobs, without the solver's questions: one message to a cluster and back."""
    return [(verdicts, trouble, {}) for verdicts, trouble, _ in map(check_job, jobs)]


def on_dask(address: str, jobs: Sequence[Job]) -> Iterator[Result]:
    """The jobs on the Dask cluster at `address` (`host:8786`, or a scheduler file). Raises InputError."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise InputError("Dask is not installed", None, "pip install 'dmaverify[cluster]'") from None
    try:
        where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
        client = distributed.Client(**where, timeout="10s")
    except (OSError, TimeoutError) as error:
        raise InputError(
            f"no Dask cluster answers at {address}: {error}", None, "--executor dask://HOST:8786"
        ) from None
    with client:
        futures = client.map(check_batch, batches(jobs), pure=False)
        for future in futures:
            yield from future.result()


def executor_of(text: str, workers: int, tick: Callable[[int], None]) -> Executor:
    """`local`, or `dask://HOST:PORT`. Raises InputError."""
    if text == "local":
        from dmaverify.jobs.judge import run_jobs

        return lambda jobs: run_jobs(jobs, workers, tick)
    kind, _, address = text.partition("://")
    if kind != "dask" or not address:
        raise InputError(f"`--executor {text}` is not known", None, "local, or dask://HOST:8786")
    return lambda jobs: on_dask(address, jobs)


# ---------------------------------------------------------------- lines of a shard


def sweep_id(jobs: Sequence[Job]) -> str:
    """What shards of one sweep share: all jobs, their settings, and the code that judges."""
    from dmaverify.jobs.cache import code_version

    return hashlib.sha256(json.dumps([code_version(), list(jobs)], sort_keys=True).encode()).hexdigest()[:16]


def sweep_lines(jobs: Sequence[Job], shard: Shard, execute: Executor) -> Iterator[str]:
    """The lines of one shard's file: a head, one line a job with its verdicts, and an end that counts them."""
    own = [(index, job) for index, job in enumerate(jobs) if shard.holds(job)]
    head = {"sweep": VERSION, "id": sweep_id(jobs), "shard": [shard.number, shard.total], "jobs": len(jobs)}
    yield json.dumps(head)
    for (index, job), (verdicts, trouble, _) in zip(own, execute([job for _, job in own]), strict=True):
        try:
            record = record_of(verdicts)
        except Unrecordable as error:
            raise InputError(f"{job[0]} has a verdict that cannot be written: {error}") from None
        yield json.dumps({"job": index, "path": job[0], "trouble": trouble, "verdicts": record})
    yield json.dumps({"end": len(own)})


@dataclass(frozen=True)
class MergedSweep:
    """What all shards of a sweep found, in the order of a single run; `troubles` are internal disagreements."""

    verdicts: list[Verdict]
    troubles: list[str]


def merge_lines(files: Iterable[tuple[str, str]]) -> MergedSweep:
    """The shards (name, text) of one sweep. Raises InputError for whatever is not one whole sweep."""
    found: dict[int, tuple[list[Verdict], str]] = {}
    seen: dict[int, str] = {}
    first: dict[str, Any] = {}
    for name, text in files:
        head, rows = _shard(name, text)
        first = first or head
        if (head["id"], head["shard"][1], head["jobs"]) != (first["id"], first["shard"][1], first["jobs"]):
            raise InputError(f"{name} is a shard of another sweep", None, "same plans, options and version everywhere")
        if (number := head["shard"][0]) in seen:
            raise InputError(f"{name} and {seen[number]} are both shard {number}", None, _HINT)
        seen[number] = name
        found |= rows
    if not first:
        raise InputError("nothing to merge", None, "dmaverify merge part-*.jsonl")
    missing = [number for number in range(1, first["shard"][1] + 1) if number not in seen]
    if missing or sorted(found) != list(range(first["jobs"])):
        said = f"shard {', '.join(map(str, missing[:10]))} of {first['shard'][1]}" if missing else "a job"
        raise InputError(f"the sweep is not whole: {said} is missing", None, _HINT)
    whole = [found[index] for index in range(first["jobs"])]
    return MergedSweep([v for verdicts, _ in whole for v in verdicts], [trouble for _, trouble in whole if trouble])


def _shard(name: str, text: str) -> tuple[dict[str, Any], dict[int, tuple[list[Verdict], str]]]:
    try:
        head, *rows, end = [json.loads(line) for line in text.splitlines()]
        if head["sweep"] != VERSION:
            raise InputError(f"{name} was written by another version", None, _HINT)
        number, total = head["shard"]
        if not (isinstance(head["id"], str) and type(head["jobs"]) is type(number) is type(total) is int):
            raise ValueError("head")
        if not (1 <= number <= total <= MOST_SHARDS and 0 <= head["jobs"] <= MOST_JOBS):
            raise ValueError("numbers")
        found = {int(row["job"]): (verdicts_of(row["verdicts"]), str(row["trouble"])) for row in rows}
        if end["end"] != len(found) or len(found) != len(rows):
            raise ValueError("end")
    except (ValueError, KeyError, TypeError, BadRecord, RecursionError):
        raise InputError(f"{name} is not a whole shard: its job may still run, or was stopped", None, _HINT) from None
    return head, found
