"""Moves of a plan, searched: every answer is printed, read again and judged as it prints before it is handed out.

Knows: the settings of a search, machines with a search of their own, plan files.
Does not know: the terminal, exit codes, how a search works.
Law: the command line, `--json`, `--stdin` and the Python API ask here, and get the same answer for the same question. A
candidate whose text `check` does not prove, under the readings that were asked for, is dropped by the search; it is
never handed out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError
from dmaverify.language.notation import MAX_NUMBER
from dmaverify.values import asdict, dataclass, fields, replace

if TYPE_CHECKING:
    from dmaverify.errors import Span
    from dmaverify.plan.plan import Plan
    from dmaverify.program.move import Transfer
    from dmaverify.synth.result import Synthesis
    from dmaverify.synth.synthesize import QuickSearch
    from dmaverify.targets.target import Target


FIXED = ("packet", "engines", "entries", "commands", "prefix", "budget", "evaluations")
"""Settings that fix a part of a plan, or end a search."""
NOT_GIVEN = (None, (), "book")
"""What settings are that were not asked for: nothing, no labels, the profile that is taken without one."""


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
    from dmaverify.jobs.requests import readings_asked

    own: dict[str, Any] = {}
    for field in fields(SynthSettings):
        if field.name not in request:
            continue
        value = request[field.name]
        if field.name == "prefix":
            value = _labels(value)
        elif field.name in ("packet", "engines", "entries", "commands", "evaluations") and not _whole(value):
            raise InputError(f"`{field.name}` is a whole number from 1 to 10^18, not {value!r}")
        elif field.name == "budget" and not (value is None or (type(value) in (int, float) and value > 0)):
            raise InputError(f"`budget` is a number of seconds above 0, not {value!r}")
        elif field.name in ("simulate", "routes") and not isinstance(value, bool):
            raise InputError(f"`{field.name}` is true or false, not {value!r}")
        elif field.name == "profile" and not isinstance(value, str):
            raise InputError(f"`profile` is a text, not {value!r}")
        elif field.name == "reading":
            value = readings_asked({} if value is None else value)
        own[field.name] = value
    return replace(base, **own)


def _labels(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise InputError(f"`prefix` is labels of loops, with commas between, not {value!r}")
    return tuple(part.strip() for part in parts if part.strip())


def _whole(value: Any) -> bool:
    return value is None or (type(value) is int and 0 < value <= MAX_NUMBER)


def refuse_settings(given: Mapping[str, Any], names: Iterable[str], whom: str, span: Span | None = None) -> None:
    """Raises InputError for the first of the settings of these names that was given."""
    for name in names:
        if given.get(name) not in NOT_GIVEN and given.get(name) != {}:
            raise InputError(f"`{name}` means nothing for {whom}", span, f"leave out {name}")


def answer_of(plan: Plan, name: str, settings: SynthSettings) -> Synthesis:
    """The best plan of one transfer, gather or scatter of a plan. Raises InputError for what cannot be read."""
    item = next((t for t in plan.transfers if t.name == name), None)
    if item is None:
        return _by_index(plan, name, settings)
    fatal = [p for p in item.problems if p.fatal]
    if fatal:
        raise InputError(fatal[0].message, fatal[0].span, fatal[0].hint)
    if plan.is_kernel:
        from dmaverify.machines.rngd.rust.plans import by_index

        if kind := by_index(plan, name):
            return _unsearched(item.transfer, plan.targets[item.transfer.target], plan.axes, settings, kind)
    return synthesize_move(item.transfer, plan.targets[item.transfer.target], plan.axes, settings, kernel=plan)


NOT_SEARCHED = "synth/not-searched"
"""What stands in the place of a rule where nothing was searched."""


def _by_index(plan: Plan, name: str, settings: SynthSettings) -> Synthesis:
    """The answer for a gather or scatter: it is not searched, and why."""
    from dmaverify.program.move import Transfer as Move

    one = next(one for one in plan.indirects if one.name == name)
    move = Move(one.name, one.target, one.dtype, one.source, one.dest, span=one.span)
    return _unsearched(move, plan.targets[one.target], plan.axes, settings, "scatter" if one.scatter else "gather")


def _unsearched(
    move: Transfer, target: Target, axes: Mapping[str, int], settings: SynthSettings, kind: str
) -> Synthesis:
    from dmaverify.synth.proved import refused
    from dmaverify.synth.regions import NoPlan

    said = f"a {kind} is not searched: which rows it moves is in its index list, and no floor holds for every list"
    hint = "write its stream or its commands; `dmaverify check` proves them for every index, `cost` prices them"
    return refused(move, target, dict(axes), settings.profile, NoPlan(NOT_SEARCHED, said, hint))


def synthesize_move(
    move: Transfer, target: Target, axes: Mapping[str, int], settings: SynthSettings | None = None, *,
    advise: bool = True, kernel: Plan | None = None,
) -> Synthesis:  # fmt: skip
    """The best plan of a move; what it prints was read again and proved. `advise`: with other layouts for it; a route
    in a `kernel` is written into its text as well. Raises InputError for a move without meaning, a reading that the
    target has not, a fixed part that makes no sense.
    """
    found = _search_of(move, target, axes, settings, advise, kernel)
    return replace(found, restricted=_restrictions(move, target, settings or SynthSettings()))


def _restrictions(move: Transfer, target: Target, chosen: SynthSettings) -> tuple[str, ...]:
    """What was fixed of the plans that are searched, in words: by settings, and by the move's own limits."""
    from dmaverify.cost.simple import simple_cost
    from dmaverify.jobs.fewest_copies import is_copied
    from dmaverify.targets.modules import part_of

    said = {
        "packets of {:,} bytes": chosen.packet,
        "at most {:,} engines of a chip": chosen.engines,
        "at most {:,} loop entries a side": chosen.entries,
        "at most {:,} commands": chosen.commands,
        "{} outermost": ", ".join(chosen.prefix) or None,
    }
    found = [text.format(value) for text, value in said.items() if value is not None]
    found += [f"the move's own limit {name} = {value:,}" for name, value in move.limits]
    found += [f"the reading {rule}={name}" for rule, name in sorted((chosen.reading or {}).items())]
    searched = not is_copied(move, target) and part_of(target, "search") is None and simple_cost(target) is None
    found += _kept_to_rows(move, target, chosen) if searched else []
    return (*found, "no route through another memory") if searched and not _tries_routes(move, chosen) else tuple(found)


def _kept_to_rows(move: Transfer, target: Target, chosen: SynthSettings) -> list[str]:
    """What the profile leaves out, since no row that it is fitted to has it."""
    from dmaverify.cost.constants import cost_data
    from dmaverify.synth.regions import NoPlan
    from dmaverify.synth.shares import within_shared
    from dmaverify.synth.synthesize import clusters_served, covers_of, machine_of

    try:
        data = cost_data(chosen.profile, chosen.reading or {}, target)
        served = clusters_served(move, target, data)
        apart = machine_of(move, target, None, data).apart
        boxes = covers_of(move, target, machine_of(move, target, None)).each[0].boxes
    except (InputError, NoPlan):
        return []
    found = ["engines that serve their own cluster"] if 0 < len(served) < target.engines.clusters else []
    return (
        [*found, "one engine for each slice of a shared region"]
        if any(within_shared(b, apart) for b in boxes)
        else found
    )


def _tries_routes(move: Transfer, chosen: SynthSettings) -> bool:
    """Whether hops are tried: not of a move in a loop, whose iterations they would have to share a tensor between."""
    fixed = (chosen.packet, chosen.commands, chosen.entries, *chosen.prefix)
    return chosen.routes and move.iterations == 1 and all(one is None for one in fixed)


def _search_of(
    move: Transfer, target: Target, axes: Mapping[str, int], settings: SynthSettings | None, advise: bool,
    kernel: Plan | None,
) -> Synthesis:  # fmt: skip
    """What the search of the machine finds: one for copy instructions, one of its own, that of rates, or that of HBM,
    DM and engines.
    """
    from dmaverify.cost.simple import simple_cost
    from dmaverify.jobs.fewest_copies import fewest_copies, is_copied
    from dmaverify.prove.move.preconditions import require
    from dmaverify.synth.plain import synthesize_plain
    from dmaverify.synth.proved import DEFAULTS
    from dmaverify.targets.modules import part_of

    chosen, axes = settings or SynthSettings(), dict(axes)
    readings, given = dict(chosen.reading or {}), asdict(chosen)
    if is_copied(move, target):
        refuse_settings(given, (*FIXED, "profile", "reading"), "copies between gm and ub", move.span)
        return fewest_copies(move, target, axes)
    require(replace(move, stream=None, streams=()), axes, target)
    target.check_readings(readings)
    options = replace(DEFAULTS, readings=readings)

    def accept(found: Synthesis) -> bool:
        return holds_as_printed(found, readings)

    own = part_of(target, "search")
    if own is not None:
        names = ("profile", *(name for name in FIXED if name != "commands"))
        refuse_settings(given, names, f"the search for {target.name}, which has a cost of its own", move.span)
        made: Synthesis = own.synthesize(
            move, target, axes=axes, commands=chosen.commands, options=options, accept=accept
        )
        return made
    simple = simple_cost(target)
    if simple is not None:
        own_cost = f"the search for {target.name}, whose costs are [cost.simple]"
        refuse_settings(given | _named(chosen, "simple"), (*FIXED, "profile"), own_cost, move.span)
        return synthesize_plain(move, target, simple, axes=axes, options=options, accept=accept)
    _has_prices(move, target)
    began = time.monotonic()
    direct = _direct(move, target, axes, chosen, readings, advise=advise)
    if not _tries_routes(move, chosen):
        return direct
    found = _route(move, target, axes, chosen, readings, direct, began) or direct
    if found.route is None or kernel is None or not kernel.is_kernel:
        return found
    from dmaverify.jobs.route_kernels import is_writable, route_diff

    written: Synthesis | None = found
    if not is_writable(found.route.hops[0].transfer):
        written = _route(move, target, axes, chosen, readings, direct, began, is_writable)
    return replace(found, written=route_diff(kernel, move.name, written))


def _named(chosen: SynthSettings, profile: str) -> dict[str, None]:
    """The profile as not given where it is asked for by the name that prices have anyway."""
    return {"profile": None} if chosen.profile == profile else {}


QUICK = (120, 60)
"""Commands priced for a hop while routes are ranked, and illegal choices in a row that end it."""


def _direct(
    move: Transfer,
    target: Target,
    axes: Mapping[str, int],
    chosen: SynthSettings,
    readings: Mapping[str, str],
    *,
    advise: bool = True,
) -> Synthesis:
    from dmaverify.synth.members import EVALUATIONS
    from dmaverify.synth.proved import DEFAULTS
    from dmaverify.synth.synthesize import synthesize

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
        options=replace(DEFAULTS, readings=readings),
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
    began: float,
    allowed: Callable[[Transfer], bool] = lambda hop: True,
) -> Synthesis | None:
    """A route through another memory that is cheaper than the direct plan, proved as it prints; else None. `allowed`:
    which hops it may have.
    """
    from dmaverify.cost.constants import cost_data
    from dmaverify.synth.members import SearchLimits
    from dmaverify.synth.routes import best_route
    from dmaverify.synth.synthesize import known_covers, quick_search

    data = cost_data(chosen.profile, readings, target)

    limits, known = SearchLimits(QUICK[0], ties=0, barren=QUICK[1]), dict[Any, Any]()

    def prepare(hop: Transfer) -> QuickSearch | None:
        return None if not allowed(hop) else quick_search(hop, target, data, readings, limits, chosen.engines, known)

    def search(hop: Transfer) -> Synthesis | None:
        try:
            found = _direct(hop, target, axes, chosen, readings, advise=False)
        except InputError:
            return None
        return found if found.found else None

    def over() -> bool:
        return chosen.budget is not None and time.monotonic() - began > chosen.budget

    covers = known_covers(move, target, chosen.engines)
    found, left = best_route(move, target, covers, direct, data, prepare, search, over)
    if found is not None and holds_as_printed(found, readings):
        return found
    return replace(direct, evidence=(*direct.evidence, left)) if left else None


def holds_as_printed(found: Synthesis, readings: Mapping[str, str]) -> bool:
    """Whether the printed text, read again, is proved, under the readings given."""
    from dmaverify.jobs.verdicts import verdicts_of
    from dmaverify.plan.read import read_plan_text
    from dmaverify.prove.options import Options
    from dmaverify.verdict import Status

    try:
        plan = read_plan_text(found.plan, target=str(found.target.folder))
        verdicts = verdicts_of(plan, Options(readings=readings, cross_check=0))
    except InputError:
        return False
    return bool(verdicts) and all(v.status is Status.PROVED for v in verdicts)


def _has_prices(move: Transfer, target: Target) -> None:
    """Raises InputError for a memory that no cost model has: the search compares cycles."""
    from dmaverify.cost.sides import SERVICES

    strange = sorted({move.source.tier, move.dest.tier} - set(SERVICES))
    if strange:
        said = f"{target.name} states no cost of `{strange[0]}`, so that plans cannot be compared"
        raise InputError(said, move.span, "its data may state [cost.simple]")
