"""Moves of a plan, searched: every answer is printed, read again and judged as it prints before it is handed out.

Knows: the settings of a search, machines with a search of their own, plan files.
Does not know: the terminal, exit codes, how a search works.
Law: the command line, `--json`, `--stdin` and the Python API ask here, and get the same answer for the same question. A
candidate whose text `check` does not prove, under the readings that were asked for, is dropped by the search; it is
never handed out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.program.move import Transfer
    from dmaverify.synth.result import Synthesis
    from dmaverify.targets.target import Target


@dataclass(frozen=True, slots=True)
class SynthSettings:
    """Options of `synth`, by the names that `--stdin` uses. `packet` in bytes, `prefix` labels of the outermost
    loops.
    """

    profile: str = "book"
    packet: int | None = None
    engines: int | None = None
    entries: int | None = None
    commands: int | None = None
    prefix: tuple[str, ...] = ()
    budget: float | None = None
    evaluations: int | None = None
    simulate: bool = True
    routes: bool = True
    reading: Mapping[str, str] | None = None


def settings_of(request: Mapping[str, Any], base: SynthSettings) -> SynthSettings:
    """The settings with a request's own. Raises InputError for values of a wrong type."""
    own: dict[str, Any] = {}
    for field in fields(SynthSettings):
        if field.name not in request:
            continue
        value = request[field.name]
        if field.name == "prefix":
            value = tuple(value.split(",")) if isinstance(value, str) else tuple(value)
        elif field.name in ("packet", "engines", "entries", "commands", "evaluations") and not _whole(value):
            raise InputError(f"`{field.name}` is a whole number above 0, not {value!r}")
        elif field.name == "budget" and not (isinstance(value, (int, float)) and value > 0):
            raise InputError(f"`budget` is a number of seconds, not {value!r}")
        own[field.name] = value
    return replace(base, **own)


def _whole(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0)


def synthesize_plan(plan: Plan, settings: SynthSettings) -> list[Synthesis]:
    """The best plan of every transfer. Raises InputError for what cannot be read."""
    return [synthesize_named(plan, name, settings) for name in (t.name for t in plan.transfers)]


def synthesize_named(plan: Plan, name: str, settings: SynthSettings) -> Synthesis:
    """The best plan of one transfer of a plan. Raises InputError for what cannot be read."""
    item = next(t for t in plan.transfers if t.name == name)
    fatal = [p for p in item.problems if p.fatal]
    if fatal:
        raise InputError(fatal[0].message, fatal[0].span, fatal[0].hint)
    return synthesize_move(item.transfer, plan.targets[item.transfer.target], plan.axes, settings)


def synthesize_move(
    move: Transfer, target: Target, axes: Mapping[str, int], settings: SynthSettings | None = None
) -> Synthesis:
    """The best plan of a move; what it prints was read again and proved. Raises InputError for a move without meaning,
    a reading that the target has not, a fixed part that makes no sense.
    """
    from dmaverify.cost.simple import simple_cost
    from dmaverify.prove.move.preconditions import require
    from dmaverify.targets.modules import part_of

    chosen = settings or SynthSettings()
    require(replace(move, stream=None, streams=()), axes, target)
    readings = dict(chosen.reading or {})
    target.check_readings(readings)
    own = part_of(target, "search")
    if own is not None:
        own.check_settings({n: getattr(chosen, n) for n in ("packet", "engines", "entries", "prefix", "budget")})
        made: Synthesis = own.synthesize(move, target, axes=axes, commands=chosen.commands, readings=readings)
        if made.found and not holds_as_printed(made, readings):
            raise AssertionError(f"the plan of {move.name} does not pass as printed")
        return made
    simple = simple_cost(target)
    if simple is not None:
        from dmaverify.prove.move.check import Options
        from dmaverify.synth.plain import synthesize_plain

        return synthesize_plain(
            move,
            target,
            simple,
            axes=axes,
            options=Options(readings=readings, cross_check=1 << 16),
            accept=lambda found: holds_as_printed(found, readings),
        )
    _has_prices(move, target)
    direct = _direct(move, target, axes, chosen, readings)
    fixed = (chosen.packet, chosen.commands, chosen.entries, *chosen.prefix)
    if not chosen.routes or any(one is not None for one in fixed):
        return direct
    return _route(move, target, axes, chosen, readings, direct) or direct


QUICK = 120
"""Commands priced for a hop while routes are ranked."""


def _direct(
    move: Transfer,
    target: Target,
    axes: Mapping[str, int],
    chosen: SynthSettings,
    readings: Mapping[str, str],
    *,
    advise: bool = True,
) -> Synthesis:
    from dmaverify.prove.move.check import Options
    from dmaverify.synth.members import EVALUATIONS
    from dmaverify.synth.synthesize import CROSS_CHECK, synthesize

    return synthesize(
        move,
        target,
        axes=axes,
        profile=chosen.profile,
        packet=chosen.packet,
        engines=chosen.engines,
        order_prefix=chosen.prefix,
        entries=chosen.entries,
        commands=chosen.commands,
        evaluations=chosen.evaluations or EVALUATIONS,
        budget_seconds=chosen.budget,
        simulate=chosen.simulate,
        options=Options(readings=readings, cross_check=CROSS_CHECK),
        advise=advise,
        accept=lambda found: holds_as_printed(found, readings),
    )


def _route(
    move: Transfer,
    target: Target,
    axes: Mapping[str, int],
    chosen: SynthSettings,
    readings: Mapping[str, str],
    direct: Synthesis,
) -> Synthesis | None:
    """A route through another memory that is cheaper than the direct plan, proved as it prints; else None."""
    from dmaverify.cost.constants import cost_data
    from dmaverify.synth.routes import best_route
    from dmaverify.synth.synthesize import plainest_cover, synthesize

    def search(hop: Transfer, quick: bool) -> Synthesis | None:
        try:
            if quick:
                few: dict[str, Any] = {"engines": chosen.engines, "evaluations": QUICK, "ties": 0, "advise": False}
                found = synthesize(hop, target, axes=axes, profile=chosen.profile, **few)
            else:
                found = _direct(hop, target, axes, chosen, readings, advise=False)
        except InputError:
            return None
        return found if found.found else None

    cover = plainest_cover(move, target, chosen.engines)
    found = best_route(move, target, cover, direct, cost_data(chosen.profile), search)
    return found if found is not None and holds_as_printed(found, readings) else None


def holds_as_printed(found: Synthesis, readings: Mapping[str, str]) -> bool:
    """Whether the printed text, read again, is proved, under the readings given."""
    from dmaverify.errors import InputErrors
    from dmaverify.jobs.verdicts import verdicts_of
    from dmaverify.plan.read import read_plan_text
    from dmaverify.prove.move.check import Options
    from dmaverify.verdict import Status

    try:
        plan = read_plan_text(found.plan, target=str(found.target.folder))
        verdicts = verdicts_of(plan, Options(readings=readings, cross_check=0))
    except (InputErrors, InputError):
        return False
    return bool(verdicts) and all(v.status is Status.PROVED for v in verdicts)


def _has_prices(move: Transfer, target: Target) -> None:
    """Raises InputError for a memory that no cost model has: the search of this function compares cycles."""
    from dmaverify.cost.sides import SERVICES

    strange = sorted({move.source.tier, move.dest.tier} - set(SERVICES))
    if strange:
        said = f"the cost model has no memory `{strange[0]}`, and this search compares cycles"
        raise InputError(said, move.span, f"`dmaverify synth PATH::NAME`, where {target.name} has a search of its own")


def synth_job(job: tuple[str, str, SynthSettings]) -> Synthesis:
    """One transfer of a file, for a process pool."""
    from dmaverify.jobs.load import load

    path, name, settings = job
    return synthesize_named(load(path, name), name, settings)


def synth_paths(paths: Sequence[str], settings: SynthSettings, workers: int) -> tuple[list[Synthesis], str]:
    """The results of all transfers of files, folders and `PATH::NAME`, in order; what ended the work before its end."""
    from dmaverify.jobs.judge import plan_files
    from dmaverify.jobs.load import load
    from dmaverify.prove.boundary import until_stopped

    jobs = []
    for path, name in plan_files(paths):
        jobs += [(path, item.name, settings) for item in load(path, name).transfers]
    if not jobs:
        raise InputError("no transfer to synthesize", None, "name a plan file with a [transfer.NAME]")
    alone = workers <= 1 or len(jobs) < 2
    done, stopped = until_stopped(map(synth_job, jobs) if alone else _in_processes(jobs, min(workers, len(jobs))))
    return done, f"{stopped}; {len(done)} of {len(jobs)} transfers were done" if stopped else ""


def _in_processes(jobs: Sequence[tuple[str, str, SynthSettings]], workers: int) -> Iterator[Synthesis]:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from dmaverify.jobs.judge import without_interrupts

    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=without_interrupts)
    try:
        yield from pool.map(synth_job, jobs)
    finally:
        processes = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
