"""`sweep` and `merge`: one check over many processes and machines.

Knows: options, files, the variables in which schedulers count the tasks of an array.
Does not know: how jobs are judged, how shards are made whole.
Law: `merge` of all shards prints and exits as `check` of everything does; a shard's file is written whole or not at
all, so that a task that was stopped is seen to be missing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from dmaverify.cli.check import finished
from dmaverify.cli.options import JUDGING, TELLING, options
from dmaverify.cli.request import request_of
from dmaverify.errors import InputError
from dmaverify.language.files import read_bytes

TASKS = (
    ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"),
    ("LSB_JOBINDEX", "LSB_JOBINDEX_END", ""),
)
"""Number, count and first number of an array's tasks, as SLURM and LSF say them."""


def shard_of_array() -> str:
    """K/N of the task of a job array that this process is. Raises InputError outside of one."""
    for number, count, first in TASKS:
        if os.environ.get(number, "").isdecimal() and os.environ.get(count, "").isdecimal():
            start = int(os.environ.get(first, "1") or 1) if first else 1
            return f"{int(os.environ[number]) - start + 1}/{os.environ[count]}"
    raise InputError("`--shard array` outside of a job array", None, "write --shard K/N")


@click.command()
@options(*JUDGING)
@click.option(
    "--shard", default="1/1", show_default=True, metavar="K/N", help="Part K of N; `array`: by the job array."
)
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Where the shard goes.")
@click.option("--executor", default="local", show_default=True, help="local, or dask://HOST:8786.")
def sweep(shard: str, out: str | None, executor: str, **given: Any) -> None:
    """Check one shard of many plans; `merge` puts the shards together."""
    from dmaverify.cli.app import Stop, progress, say
    from dmaverify.jobs.sweep import executor_of, shard_of, sweep_lines

    request = request_of(given)
    if not request.paths:
        raise InputError("nothing to sweep", None, "dmaverify sweep PATH... --shard K/N --out FILE")
    if out is None:
        raise InputError("`--out FILE` is missing", None, "for example --out part-1.jsonl")
    part = shard_of(shard_of_array() if shard == "array" else shard)
    jobs = request.jobs
    execute = executor_of(executor, request.workers, progress(len(jobs)))
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    beside = Path(out).with_name(f".{Path(out).name[:80]}.{os.getpid()}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # O_EXCL follows no link
    count = -2
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            for line in sweep_lines(jobs, part, execute):
                file.write(line + "\n")
                count += 1
        beside.replace(out)
    finally:
        beside.unlink(missing_ok=True)
    say(f"wrote {out}: shard {part.number} of {part.total}, {count} of {len(jobs)} files", error=True)
    raise Stop(0)


@click.command()
@click.argument("shards", nargs=-1, metavar="FILE...")
@options(*TELLING)
def merge(shards: tuple[str, ...], **given: Any) -> None:
    """Put the shards of a sweep together and report them as `check` would have."""
    from dmaverify.cli.app import Stop, show, terminal
    from dmaverify.jobs.sweep import merge_lines

    merged = merge_lines((name, read_bytes(name, 1 << 30).decode("utf-8", "replace")) for name in shards)
    raise Stop(show(finished(request_of(given), terminal(), merged.verdicts, merged.troubles)))
