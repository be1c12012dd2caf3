"""From a move to the cheapest legal program: covers, search, proof, simulation, reasons, in that order.

Knows: which part does what, what the caller fixed, what to do when nothing is legal.
Does not know: plan files, command lines.
Law: a returned plan was proved by `check_transfer` on its commands as they print (and executed where small); a plan
that cannot be proved is never returned. Without a legal plan the rule or obligation that refuses is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from dmaverify.cost.constants import CostData, cost_data
from dmaverify.cost.model import cost
from dmaverify.errors import InputError
from dmaverify.language.expr import axes_of
from dmaverify.layout.fuse import fuse
from dmaverify.lower.plan_text import given_command
from dmaverify.lower.programs import program_of_transfer, space_of
from dmaverify.program.command import Command, Engine
from dmaverify.program.move import Transfer
from dmaverify.program.space import unit_bits_of
from dmaverify.prove.move.check import Options
from dmaverify.prove.move.in_place import lie_apart
from dmaverify.synth.evidence import artefact, evidence_of
from dmaverify.synth.legal import Judged, Law
from dmaverify.synth.members import EVALUATIONS, SIMULATED_TIES, TIE_EVALUATIONS, Member, SearchFound, SearchLimits
from dmaverify.synth.packets import segmented
from dmaverify.synth.playing import WHOLE, contest, expected, played
from dmaverify.synth.priced_orders import HAIR
from dmaverify.synth.proved import DEFAULTS, Accept, answered, first_proved
from dmaverify.synth.regions import Covers, NoPlan, both_layouts, covers
from dmaverify.synth.result import Before, Synthesis
from dmaverify.synth.search import Search
from dmaverify.synth.shares import home, lanes_of
from dmaverify.synth.space import SynthMachine
from dmaverify.synth.streams import stream_for
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Severity

WHOLE_RUN = 1 << 30
"""Bytes of a packet where the target states no limit: a run of any length."""


def clusters_served(move: Transfer, target: Target, data: CostData) -> frozenset[int]:
    """The clusters whose engines alone may work, because the profile was fitted to rows in which each serves its own;
    empty where any may.
    """
    tiers = (move.source.tier, move.dest.tier)
    if not data.bands or sum("cluster" in target.tiers[tier].places for tier in tiers) != 1:
        return frozenset()
    machine = machine_of(move, target, None)
    lanes = lanes_of(covers_of(move, target, machine).each[0], machine.cuts)
    return frozenset(home(lane)[1] for lane in lanes)


def machine_of(move: Transfer, target: Target, engines: int | None, data: CostData | None = None) -> SynthMachine:
    """The space's view of a target. `engines` limits how many of a chip work, clusters in turn; a profile, which."""
    bits = target.dtypes[move.dtype]
    unit = unit_bits_of(bits)
    steps = {step for tier in target.tiers.values() for step in tier.strides.values()}
    cuts = tuple(size * 8 // unit for size in target.constants.values() if size not in steps)
    kind = target.engines
    own = clusters_served(move, target, data) if data is not None else frozenset()
    clusters = [cluster for cluster in range(kind.clusters) if not own or cluster in own]
    pool = [Engine(0, cluster, dmn) for dmn in range(kind.per_cluster) for cluster in clusters]
    chosen = sorted(pool[: engines or len(pool)], key=lambda e: (e.cluster, e.dmn))
    spaces = (space_of(target, move.source.tier), space_of(target, move.dest.tier))
    packet_max = target.limits.get("packet_max", WHOLE_RUN)
    turns = target.limits.get("iterations_max", WHOLE_RUN)
    tiers = (move.source.tier, move.dest.tier)
    window = target.raw.get("memory", {}).get("hbm", {}).get("window", WHOLE_RUN) * 8 // unit
    apart = data.dm.slice_stride * 8 // unit if data is not None and data.bands and tiers == ("hbm", "dm") else 0
    return SynthMachine(tuple(chosen), packet_max, cuts, unit, bits, spaces, tiers, turns, window, apart)


def synthesize(
    transfer: Transfer,
    target: Target,
    *,
    axes: Mapping[str, int] | None = None,
    profile: str = "book",
    packet: int | None = None,
    engines: int | None = None,
    order_prefix: Sequence[str] = (),
    entries: int | None = None,
    commands: int | None = None,
    evaluations: int = EVALUATIONS,
    ties: int | None = None,
    budget_seconds: float | None = None,
    options: Options = DEFAULTS,
    simulate: bool = False,
    advise: bool = True,
    accept: Accept | None = None,
) -> Synthesis:
    """The cheapest legal plan of a move, proved, with a bound and its evidence.

    `packet` in bytes, `engines` of a chip, `order_prefix` labels of the outermost loops (`A/4%32`), `entries` a hard
    limit of loop entries a side, `commands` at most. `evaluations` is the deterministic budget, and `ties` what may be
    spent beyond it on plans as cheap as the winner; with `budget_seconds` results may differ from run to run, and say
    so. `accept` is asked of every plan before it is handed out; a plan that it refuses, because its printed text does
    not hold, is dropped, and the search goes on with the next. Raises InputError where a tier has no cost model or a
    fixed part makes no sense.
    """
    move = replace(transfer, limits=_limits(transfer, entries))
    if not 1 <= (engines or 1) <= target.engines.clusters * target.engines.per_cluster:
        raise InputError(f"a chip has {target.engines.clusters * target.engines.per_cluster} engines, not {engines}")
    named = dict(axes or {}) or {**axes_of(move.source.mapping), **axes_of(move.dest.mapping)}
    data = cost_data(profile, options.readings, target)
    machine = machine_of(move, target, engines, data)
    units = None if packet is None else _units(packet, machine.unit_bits)
    more = (SIMULATED_TIES if simulate else TIE_EVALUATIONS) if ties is None else ties
    limits = SearchLimits(evaluations, budget_seconds, units, tuple(order_prefix), commands, more)

    def law() -> Law:
        return Law(move, target, target.limits_with(move.limits), options.readings)

    def search() -> Synthesis:
        law().of_move()
        refusals: list[NoPlan] = []
        bound = 0.0
        ways = ((True, False), (False, False), (False, True)) if _meet(move, target, machine) else ((True, False),)
        for all_engines, falling in ways:
            own = machine if all_engines else replace(machine, engines=machine.engines[:1])
            try:
                found = _search(move, own, data, law(), limits, entries is not None, falling=falling)
                bound = found.bound = found.bound if all_engines else min(bound, found.bound)  # of one, of all holds
                return _best(move, target, named, found, own, data, options, simulate, advise, accept)
            except NoPlan as error:
                refusals.append(error)
        tried = "tried on all engines, and on one from either end; on all: " if len(ways) > 1 else ""
        raise replace(refusals[0], message=tried + refusals[0].message)

    return answered(move, target, named, profile, search)


def _meet(move: Transfer, target: Target, machine: SynthMachine) -> bool:
    """Whether the regions may share bytes, so that a plan may have to be one engine's, and to begin at their ends."""
    memories = {target.memory_of(tier) for tier in machine.tiers}
    return len(memories) == 1 and not lie_apart(move.source, move.dest, machine.spaces[0], machine.dtype_bits)


class QuickSearch(Search):
    """A short search whose plans are not proved: what layouts and routes are ranked by."""

    @cached_property
    def least(self) -> float:
        """What no plan of the move beats."""
        first = next(self._open(self.options), None)
        return min(self.unseen, first.least) if first is not None else float("inf")

    def below(self, cycles: float) -> float | None:
        """Cycles of the best plan found that takes fewer than these."""
        self.limits = replace(self.limits, above=min(cycles, self.limits.above))
        found = self.run()
        return found.winners[0].cycles if found.winners else None


def quick_search(
    move: Transfer, target: Target, data: CostData, readings: Mapping[str, str], limits: SearchLimits,
    engines: int | None = None, known: Judged | None = None,
) -> QuickSearch | None:  # fmt: skip
    """A short search, ready; None where no plan can be legal. `known`: what rules said in searches of the same type."""
    law = Law(move, target, target.limits_with(move.limits), readings, known={} if known is None else known)
    try:
        machine = machine_of(move, target, engines, data)
        law.of_move()
        return QuickSearch(covers_of(move, target, machine), machine, data, law, limits)
    except NoPlan:
        return None


def price_of(
    move: Transfer, target: Target, data: CostData, readings: Mapping[str, str], limits: SearchLimits
) -> float | None:
    """Cycles of the best plan that a short search finds, not proved."""
    search = quick_search(move, target, data, readings, limits)
    return search.below(limits.above) if search is not None else None


def _limits(transfer: Transfer, entries: int | None) -> tuple[tuple[str, int], ...]:
    if entries is None:
        return transfer.limits
    return (*((n, v) for n, v in transfer.limits if n not in ("entries", "entries_max")), ("entries", entries))


def _units(size: int, unit_bits: int) -> int:
    if size < 1 or size * 8 % unit_bits:
        raise InputError(f"a packet of {size} bytes is not possible")
    return size * 8 // unit_bits


# ---------------------------------------------------------------- search


def _search(
    move: Transfer, machine: SynthMachine, data: CostData, law: Law, limits: SearchLimits, strict: bool, *,
    falling: bool,
) -> SearchFound:  # fmt: skip
    """The search over all covers; once more with limits as warnings, where no plan keeps them and the caller did not
    insist. `falling`: from the last run to the first.
    """
    tried = covers_of(move, law.target, machine)
    tried = tried.from_the_end if falling else tried
    found = Search(tried, machine, data, law, limits).run()
    softer = any(finding.severity is not Severity.ERROR for finding in law.refused.values())
    if not found.winners and softer and not strict:
        law.lenient = True
        found = Search(tried, machine, data, law, limits).run()
    if found.winners:
        return found
    lost = [label for label in limits.prefix if label.replace(" ", "") not in found.loops]
    if lost and found.loops:
        said = f"no plan that was tried has a loop `{lost[0]}`"
        whole = sorted(one for one in found.loops if not set("#=") & set(one)) or sorted(found.loops)
        raise NoPlan("core/well-formed", said, f"loops are {', '.join(f'`{one}`' for one in whole)}")
    if law.refused:
        first = next(iter(law.refused.values()))
        others = [rule for rule in law.refused if rule != first.rule]
        more = f"; also {', '.join(others)}" if others else ""
        which = "every plan" if found.complete else f"every plan that was tried ({found.ended})"
        raise NoPlan(first.rule, f"{which} breaks it, for example: {first.message}{more}", first.hint)
    raise NoPlan(
        "core/well-formed",
        "no plan has the fixed parts that were asked for" if found.complete else f"no plan was found ({found.ended})",
        "fix fewer of packet, engines, order, commands",
    )


def covers_of(move: Transfer, target: Target, machine: SynthMachine) -> Covers:
    """Every treatment of a move, with the runs of each cut into whole packets and a rest besides."""
    layouts = both_layouts(move, target)
    plain = covers(*(fuse(*layouts) or layouts))
    width = machine.dtype_bits // machine.unit_bits
    cut = (segmented(cover, machine.packet_max, machine.unit_bits, width, machine.window) for cover in plain.each)
    return replace(plain, each=(*plain.each, *(more for more in cut if more is not None)))


def known_covers(move: Transfer, target: Target, engines: int | None = None) -> Covers | None:
    """Every treatment of a move, the one with the fewest boxes first; None where it has none."""
    try:
        return covers_of(move, target, machine_of(move, target, engines))
    except NoPlan:
        return None


# ---------------------------------------------------------------- proof


def _best(
    move: Transfer, target: Target, axes: Mapping[str, int], found: SearchFound, machine: SynthMachine, data: CostData,
    options: Options, simulate: bool, advise: bool, accept: Accept | None,
) -> Synthesis:  # fmt: skip
    """The best of the members and the plan's own program that is proved. Raises NoPlan."""
    result = first_proved(_proposals(move, target, axes, found, machine, data, options, simulate), options, accept)
    assert result.verdict is not None
    proof = f"proved: {len(result.verdict.obligations)} obligations, {result.verdict.claim or 'all units'}"
    result = replace(result, evidence=(*result.evidence, proof))
    if advise:
        from dmaverify.synth.advice import why_not_better

        result = replace(result, why=why_not_better(result, data, synthesize, price_of, options.readings))
    return result


def _proposals(
    move: Transfer, target: Target, axes: Mapping[str, int], found: SearchFound, machine: SynthMachine, data: CostData,
    options: Options, simulate: bool,
) -> Iterator[Synthesis]:  # fmt: skip
    """The members that a search kept, the best by both the closed form and the simulator first, and the plan's own
    program before the first that it beats.
    """
    table, before = contest(found, data, simulate), before_of(move, target, data, simulate)
    both = list(zip(table.ranked, table.plays, strict=True))
    own = before
    for member, seen in both:
        made = Synthesis(
            with_commands(move, member, machine, target), target, axes, data.profile, member.commands, member.cost,
            member.cycles, found.bound, member.cycles <= found.bound + HAIR,
            (*evidence_of(found, member, seen), *artefact(table, member)), found.floor, before=before, played=seen,
            runners_up=tuple((m.layering.split, m.cycles, play) for m, play in both if m is not member),
            split=member.layering.split, evaluations=found.evaluations, readings=options.readings,
        )  # fmt: skip
        if own is not None and (given := _as_given(made, move, own, found)) is not None:
            own = None
            yield given
        yield made


def _as_given(made: Synthesis, move: Transfer, before: Before, found: SearchFound) -> Synthesis | None:
    """The plan's own program in the place of a member, where it is cheaper, or as cheap and faster in the simulator;
    None where it is not. One that is cheaper than the bound is none of the space: then nothing is optimal.
    """
    cheaper, outside = before.cycles < made.cycles - HAIR, before.cycles < found.bound - HAIR
    as_cheap = before.cycles <= made.cycles + HAIR and before.played is not None and made.played is not None
    if not cheaper and not (as_cheap and expected(before.played) < expected(made.played)):  # type: ignore[arg-type]
        return None
    line = "the plan's own program is cheaper than what the budget found, and is kept"
    if outside:
        least = f"{found.bound:,.1f} cycles or more"
        line = f"the plan's own program is none of the space, whose plans take {least}: it is kept"
    elif not cheaper:
        line = "the plan's own program costs no more and the simulator ranks it first: it is kept"
    return replace(
        made,
        transfer=replace(move, expect=None, streams=()),
        commands=before.program,
        cost=before.cost,
        cycles=before.cycles,
        bound=0.0 if outside else min(made.bound, before.cycles),
        optimal=not outside and before.cycles <= found.bound + HAIR,
        evidence=(*made.evidence, line),
        played=before.played,
        split="as given",
        runners_up=((made.split, made.cycles, made.played), *made.runners_up),
    )


def with_commands(move: Transfer, member: Member, machine: SynthMachine, target: Target) -> Transfer:
    """The move with the member's commands as given, and their stream where one stream says it all."""
    bare = plan_of(move, member.commands, target)
    return replace(
        bare, stream=stream_for(bare, member.commands, member.layering, member.order, member.packets[0], machine)
    )


def plan_of(move: Transfer, commands: Sequence[Command], target: Target) -> Transfer:
    """The move with these commands as given."""
    return move.with_given(*(given_command(one, target) for one in commands))


def before_of(move: Transfer, target: Target, data: CostData, simulate: bool) -> Before | None:
    """What the plan's own program costs; None where it has none that can be read."""
    bits = target.dtypes[move.dtype]
    program = program_of_transfer(move, bits, target)
    if not isinstance(program, tuple):
        return None
    price = cost(program, data)
    packet = max(c.packet * c.unit_bits // 8 for c in program)
    before = Before(price.cycles, price, program, packet)
    try:
        return replace(before, played=played(program, data, WHOLE)) if simulate else before
    except InputError:  # no simulation takes it
        return before
