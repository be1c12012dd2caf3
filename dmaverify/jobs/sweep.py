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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from dmaverify.errors import InputError
from dmaverify.jobs.judge import Job, Result, check_job
from dmaverify.jobs.many_moves import Told, pooled, told_batch, told_job
from dmaverify.jobs.record import BadRecord, Unrecordable, record_of, verdicts_of
from dmaverify.language.files import read_bytes
from dmaverify.values import dataclass
from dmaverify.verdict import Verdict

VERSION = 1
MOST_SHARDS = 1_000_000
MOST_JOBS = 10_000_000
MOST_TEXT = 1 << 30
BATCH = 16
_HINT = "each shard is written by `dmaverify sweep PATH... --shard K/N --out FILE`"


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

    def __call__(self, jobs: Sequence[Job]) -> Iterator[Any]: ...


@dataclass(frozen=True)
class SweepKind:
    """What a sweep does with a job: the batch function that a cluster runs, the jobs of a batch, a result as a row."""

    name: str
    work: Callable[[Sequence[Job]], list[Any]]
    batch: int
    row: Callable[[Any], dict[str, Any]]


def batches(jobs: Sequence[Job], size: int = BATCH) -> list[list[Job]]:
    return [list(jobs[at : at + size]) for at in range(0, len(jobs), size)]


def check_batch(jobs: Sequence[Job]) -> list[Result]:
    """The results of several jobs, without the solver's questions: one message to a cluster and back."""
    return [(verdicts, {}) for verdicts, _ in map(check_job, jobs)]


def _check_row(result: Result) -> dict[str, Any]:
    return {"verdicts": record_of(result[0])}


def _synth_row(answer: Told) -> dict[str, Any]:
    return {"answer": answer.data, "text": answer.text, "code": answer.code}


CHECKS = SweepKind("check", check_batch, BATCH, _check_row)
SEARCHES = SweepKind("synth", told_batch, 1, _synth_row)


def on_dask(address: str, jobs: Sequence[Job], kind: SweepKind) -> Iterator[Any]:
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
        futures = client.map(kind.work, batches(jobs, kind.batch), pure=False)
        for future in futures:
            yield from future.result()


def executor_of(text: str, workers: int, tick: Callable[[int], None], kind: SweepKind = CHECKS) -> Executor:
    """`local`, or `dask://HOST:PORT`. Raises InputError."""
    if text == "local" and kind is SEARCHES:
        return lambda jobs: pooled(told_job, jobs, workers, tick)
    if text == "local":
        from dmaverify.jobs.judge import run_jobs

        return lambda jobs: run_jobs(jobs, workers, tick)
    scheme, _, address = text.partition("://")
    if scheme != "dask" or not address:
        raise InputError(f"`--executor {text}` is not known", None, "local, or dask://HOST:8786")
    return lambda jobs: on_dask(address, jobs, kind)


# ---------------------------------------------------------------- lines of a shard


def sweep_id(jobs: Sequence[Job]) -> str:
    """What shards of one sweep share: all jobs, their settings, the texts that they read, and the code that judges."""
    from dmaverify.jobs.cache import code_version

    crates: dict[Path, bytes] = {}
    asked = [code_version(), [[*job, _texts(job, crates)] for job in jobs]]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def _texts(job: Job, crates: dict[Path, bytes]) -> str:
    """A digest of what a job reads: a plan with the files and machines that it names, a kernel with its crate; of what
    cannot be read so the file alone, or nothing.
    """
    from dmaverify.jobs.reach import texts_digest

    if (key := texts_digest(job, crates)) is not None:
        return key
    try:
        return hashlib.sha256(read_bytes(job[0], MOST_TEXT)).hexdigest()
    except (OSError, ValueError):
        return ""


def sweep_lines(
    jobs: Sequence[Job], shard: Shard, execute: Executor, kind: SweepKind = CHECKS, done: Iterable[str] = ()
) -> Iterator[str]:
    """The lines of one shard's file: a head, one line a job with its result, and an end that counts them. `done` are
    the lines of a file that was stopped: its results are taken as they are, if it is of this sweep and shard.
    """
    own = [(index, job) for index, job in enumerate(jobs) if shard.holds(job)]
    head: dict[str, Any] = {"sweep": VERSION, "id": sweep_id(jobs), "shard": [shard.number, shard.total]}
    head |= {"jobs": len(jobs)} | ({} if kind is CHECKS else {"kind": kind.name})
    yield json.dumps(head)
    known = _rows_done(done, json.dumps(head))
    results = execute([job for index, job in own if index not in known])
    for index, job in own:
        if index in known:
            yield known[index]
            continue
        try:
            yield json.dumps({"job": index, "path": job[0], **kind.row(next(results))})
        except Unrecordable as error:
            raise InputError(f"{job[0]} has a verdict that cannot be written: {error}") from None
    yield json.dumps({"end": len(own)})


def _rows_done(lines: Iterable[str], head: str) -> dict[int, str]:
    """The whole rows of a file with that head, by the number of the job."""
    first, *rows = [line for line in lines if line.strip()] or [""]
    found: dict[int, str] = {}
    for line in rows if first == head else ():
        try:
            found[int(json.loads(line)["job"])] = line
        except (ValueError, KeyError, TypeError):
            break  # the line at which it was stopped
    return found


@dataclass(frozen=True)
class MergedSweep:
    """What all shards of a sweep found, in the order of a single run; `answers` are those of a sweep of searches."""

    verdicts: list[Verdict]
    answers: list[Told] | None = None


def merge_lines(files: Iterable[tuple[str, str]]) -> MergedSweep:
    """The shards (name, text) of one sweep. Raises InputError for whatever is not one whole sweep."""
    found: dict[int, Any] = {}
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
    if "kind" in first:
        return MergedSweep([], whole)
    return MergedSweep([verdict for verdicts in whole for verdict in verdicts])


def _found(row: Mapping[str, Any], kind: object) -> Any:
    """The result of a row."""
    if kind is None:
        return verdicts_of(row["verdicts"])
    if kind != SEARCHES.name or not isinstance(row["answer"], dict) or row["code"] not in (0, 1, 2):
        raise ValueError("kind")
    return Told(row["answer"], str(row["text"]), row["code"])


def _shard(name: str, text: str) -> tuple[dict[str, Any], dict[int, Any]]:
    try:
        head, *rows, end = [json.loads(line) for line in text.splitlines()]
        if head["sweep"] != VERSION:
            raise InputError(f"{name} was written by another version", None, _HINT)
        number, total = head["shard"]
        if not (isinstance(head["id"], str) and type(head["jobs"]) is type(number) is type(total) is int):
            raise ValueError("head")
        if not (1 <= number <= total <= MOST_SHARDS and 0 <= head["jobs"] <= MOST_JOBS):
            raise ValueError("numbers")
        found = {int(row["job"]): _found(row, head.get("kind")) for row in rows}
        if end["end"] != len(found) or len(found) != len(rows):
            raise ValueError("end")
    except (ValueError, KeyError, TypeError, BadRecord, RecursionError):
        raise InputError(f"{name} is not a whole shard: its job may still run, or was stopped", None, _HINT) from None
    return head, found
