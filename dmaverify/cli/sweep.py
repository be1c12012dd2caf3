"""`sweep` and `merge`: one check over many processes and machines.

Knows: options, files, the variables in which schedulers count the tasks of an array.
Does not know: how jobs are judged, how shards are made whole.
Law: `merge` of all shards prints and exits as `check` of everything does; a shard's file is written whole or not at
all, so that a task that was stopped is seen to be missing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from dmaverify.cli.check import finished
from dmaverify.cli.options import JUDGING, TELLING, options
from dmaverify.cli.request import NOTHING, request_of
from dmaverify.errors import InputError
from dmaverify.language.files import must_spare, read_bytes

NOT_A_LINK = os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
"""How a file is opened that a stopped sweep of searches left; any other is made anew (O_EXCL), and follows no link."""
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


def _given(asked: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """The first of the options that was given, as it is written."""
    written = {"format_": "format", "as_json": "json"}
    found = (name for name in names if asked.get(name) not in (NOTHING.get(name), None, False, ()))
    return next((f"--{written.get(name, name).replace('_', '-')}" for name in found), None)


def _of_the_other(given: Mapping[str, Any], synth: bool, searched: Mapping[str, bool]) -> None:
    """Raises InputError for an option of checks where moves are searched, and for one of searches elsewhere."""
    checks = _given(given, CHECKS_ALONE)
    if synth and checks:
        raise InputError(
            f"`{checks}` is of checks: a search has no such option", None, f"leave out {checks}, or --synth"
        )
    own = next((name for name, asked in searched.items() if asked), None)
    if own and not synth:
        said = f"--{own}" if own == "profile" else f"--no-{own}"
        raise InputError(f"`{said}` is of searches", None, f"add --synth, or leave out {said}")


CHECKS_ALONE = ("target", "rlimit", "timeout", "memory", "prove", "no_execute", "allow_path")
"""Options of a sweep that a search of moves does not look at."""
SEARCHES_TOLD = ("as_json", "config", "isolated")
"""Options of `merge` that the answers of a search have: as text or as JSON."""


@click.command()
@options(*JUDGING)
@click.option(
    "--shard", default="1/1", show_default=True, metavar="K/N", help="Part K of N; `array`: by the job array."
)
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Where the shard goes.")
@click.option("--executor", default="local", show_default=True, help="local, or dask://HOST:8786.")
@click.option("--synth", is_flag=True, help="Search the moves as `synth` does, instead of checking them.")
@click.option("--profile", default="book", show_default=True, help="With --synth: constants of the cost model.")
@click.option("--simulate/--no-simulate", default=True, help="With --synth: play winner and runners-up: the default.")
@click.option("--routes/--no-routes", default=True, help="With --synth: hops through other memories: the default.")
def sweep(
    shard: str, out: str | None, executor: str, synth: bool, profile: str, simulate: bool, routes: bool, **given: Any
) -> None:
    """Check one shard of many plans, or search their moves.

    `merge` puts the shards together. A sweep of searches that was stopped goes on where it was: run it again with the
    same --out.
    """
    from dmaverify.cli.screen import Stop, progress, say
    from dmaverify.jobs.many_moves import move_jobs
    from dmaverify.jobs.sweep import CHECKS, SEARCHES, executor_of, shard_of, sweep_lines
    from dmaverify.jobs.synthesis import SynthSettings

    _of_the_other(given, synth, {"profile": profile != "book", "simulate": not simulate, "routes": not routes})
    request = request_of(given)
    if not request.paths:
        raise InputError("nothing to sweep", None, "dmaverify sweep PATH... --shard K/N --out FILE")
    if not out:
        raise InputError("`--out FILE` is missing", None, "for example --out part-1.jsonl")
    must_spare([out], [file for file, _ in request.files])
    part = shard_of(shard_of_array() if shard == "array" else shard)
    settings = SynthSettings(profile, simulate=simulate, routes=routes, reading=request.options.get("readings"))
    jobs = move_jobs(request.paths, settings) if synth else request.jobs
    kind = SEARCHES if synth else CHECKS
    execute = executor_of(executor, request.workers, progress(len(jobs)), kind)
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    beside = Path(out).with_name(f".{Path(out).name[:80]}.{'part' if synth else os.getpid()}")
    done = read_bytes(str(beside), 1 << 30).decode("utf-8", "replace").split("\n") if beside.is_file() else []
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | (NOT_A_LINK if synth else os.O_EXCL), 0o666)
    count = -2
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            for line in sweep_lines(jobs, part, execute, kind, done):
                file.write(line + "\n")
                file.flush()
                count += 1
        beside.replace(out)
    finally:
        if not synth:
            beside.unlink(missing_ok=True)
    what = "moves" if synth else "files"
    say(f"wrote {out}: shard {part.number} of {part.total}, {count} of {len(jobs)} {what}", error=True)
    raise Stop(0)


@click.command()
@click.argument("shards", nargs=-1, metavar="FILE...")
@options(*TELLING)
def merge(shards: tuple[str, ...], **given: Any) -> None:
    """Put the shards of a sweep together and report them.

    As `check`, or `synth`, would have.
    """
    from dmaverify.cli.screen import Stop, say, show, terminal
    from dmaverify.jobs.sweep import merge_lines

    request = request_of(given)
    must_spare(request.written, [*request.beside, *shards])
    merged = merge_lines((name, read_bytes(name, 1 << 30).decode("utf-8", "replace")) for name in shards)
    if merged.answers is not None:
        from dmaverify.cli.synth import synth_shown
        from dmaverify.jobs.many_moves import code_of

        left = {**given, "format_": None} if given["format_"] == "json" else given
        if other := _given(left, [name for name in TELLING if name not in SEARCHES_TOLD]):
            hint = f"leave out {other}; --json gives them as data"
            raise InputError(f"`{other}` is of checks, and these are answers of searches", None, hint)
        say(synth_shown(merged.answers, request.show == "json"))
        raise Stop(code_of(merged.answers))
    raise Stop(show(finished(request, terminal(), merged.verdicts)))
