"""Synthesis for machines whose cost is data: the fewest commands in the largest packets, in the first legal order; one
for each turn of a loop where no single one is legal.

Knows: boxes of a move, packets, orders of loops, the machine's rules, the simple cost.
Does not know: memory systems, sharing of a move among engines (one engine does it all).
Law: what is returned was proved; its cost does not depend on the order of loops, so that the first legal order of a
packet is as good as any. OPTIMAL is said where the cost meets one start-up and every live byte in whole beats.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, permutations
from math import isqrt

from dmaverify.cost.simple import SimpleCost, price
from dmaverify.language.expr import axes_of
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.prove.move.check import Options, check_transfer
from dmaverify.synth.atoms import Atom
from dmaverify.synth.legal import Law
from dmaverify.synth.regions import MOST_BOXES, AtomNest, Covers, NoPlan
from dmaverify.synth.result import Synthesis
from dmaverify.synth.space import SynthMachine, Work, command, nested
from dmaverify.synth.synthesize import DEFAULTS, covers_of, machine_of, plan_of, refused
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Severity, Status

ORDERS, INNER_ORDERS = 5040, 120
"""Orders of the loops of one packet that are tried before the next packet; fewer of what is in loops of commands."""
UNROLLED = 2
"""Loops of a box that may become commands, one for each turn, where a single command is not legal."""
SPLITS, SPLIT_ORDERS = 96, 24
"""Lengths that divide a loop at which loops are split where no order of the whole ones is legal, the longest first, and
orders that are tried of each.
"""
PACKETS = 24
"""Packets of a cover that are tried, the largest first."""


def synthesize_plain(
    transfer: Transfer,
    target: Target,
    data: SimpleCost,
    *,
    axes: Mapping[str, int] | None = None,
    options: Options = DEFAULTS,
    accept: Callable[[Synthesis], bool] | None = None,
) -> Synthesis:
    """The cheapest legal plan of a move on one engine, proved."""
    started = time.perf_counter()
    move = transfer.with_given()
    named = dict(axes or {}) or {**axes_of(move.source.mapping), **axes_of(move.dest.mapping)}
    law = Law(move, target, target.limits_with(move.limits), options.readings)
    broken = law.of_move()
    if broken:
        return refused(move, target, named, "simple", [(f.rule, f.message, f.hint) for f in broken], started)
    try:
        machine = machine_of(move, target, 1)
        covers = covers_of(move, machine)
    except NoPlan as error:
        return refused(move, target, named, "simple", [(error.rule, error.message, error.hint)], started)
    for unrolled in (0, UNROLLED):
        found = sorted(_members(covers, machine, law, target, data, unrolled), key=lambda pair: pair[0])
        for _, plan in found:
            verdict = check_transfer(plan.transfer, axes=named, target=target, options=options)
            made = replace(plan, axes=named, verdict=verdict, seconds=time.perf_counter() - started)
            if verdict.status is Status.PROVED and (accept is None or accept(made)):
                return made
    tried = f"none of the packets and orders tried is legal, with up to {UNROLLED} loops unrolled; for example: "
    told = [(f.rule, tried + f.message, f.hint) for f in law.refused.values() if f.severity is Severity.ERROR]
    nothing = [("core/well-formed", "none of the packets and orders of loops that were tried is legal and proved", "")]
    return refused(move, target, named, "simple", told or nothing, started)


def _members(
    covers: Covers, machine: SynthMachine, law: Law, target: Target, data: SimpleCost, unrolled: int
) -> Iterator[tuple[float, Synthesis]]:
    """The first legal order of every packet of every cover, with its cost; up to so many loops `unrolled`."""
    live = covers.live * machine.unit_bits // 8
    least = data.startup + max(-(-live // data.beat(tier)) for tier in machine.tiers)
    for cover in covers.each:
        each = max((len(machine.packets(box.chain[0])) for box in cover.boxes), default=0)
        for rank in range(1 if unrolled else min(each, PACKETS)):  # the largest of each run, where loops are commands
            orders = INNER_ORDERS if unrolled else ORDERS
            parts = [_commands(box, rank, machine, law, unrolled, orders) for box in cover.boxes]
            commands = [one for part in parts for one in part]
            if not all(parts) or len(commands) > MOST_BOXES:
                continue
            cost = price(commands, data)
            lines = (
                f"no plan on one engine can beat {least:,.1f} cycles: one start-up, and every live byte in whole beats",
                f"commands: {len(commands)}; the order of loops does not change the cost",
            )
            plan = plan_of(law.transfer, commands, target)
            meets = cost.cycles <= least
            yield cost.cycles, Synthesis(
                plan, target, {}, "simple", tuple(commands), cost, cost.cycles, min(least, cost.cycles), meets, lines,
                split="one engine", not_covered=("engines side by side", "what the machine's data states no cost of"),
            )  # fmt: skip


def _most_iterations(box: AtomNest, machine: SynthMachine) -> Iterator[int]:
    """How far loops may count: as the machine says, then less, so that longer ones become two."""
    yield machine.iterations
    counts = {atom.count for atom in box.atoms}
    low = {n for count in counts for n in range(2, isqrt(count) + 1) if count % n == 0}
    less = low | {count // n for count in counts for n in low if count % n == 0}
    yield from sorted((n for n in less if n < machine.iterations), reverse=True)[:SPLITS]


def _orders(loops: tuple[Atom, ...]) -> Iterator[tuple[Atom, ...]]:
    """Orders of loops: as one memory lies, as the other does, then all."""
    yield from (tuple(sorted(loops, key=step)) for step in (lambda a: -abs(a.write), lambda a: -abs(a.read)))
    yield from permutations(loops)


def _commands(box: AtomNest, rank: int, machine: SynthMachine, law: Law, unrolled: int, orders: int) -> list[Command]:
    """The commands of a box: one in its first legal order, loops in two where no whole ones are legal, or one for each
    turn of loops that no command has room for; nothing where none is legal.
    """
    packets = machine.packets(box.chain[0])
    packet = packets[min(rank, len(packets) - 1)]
    for most in _most_iterations(box, machine):
        own = replace(machine, iterations=most)
        item = nested(Work(own.engines[0], box), packet, most)
        if item is not None:
            tried = islice(_orders(item.loops), orders if own == machine else SPLIT_ORDERS)
            fitting = (command(item, order, own) for order in tried)
            first = next((one for one in fitting if law.allows((one,))), None)
            if first is not None:
                return [first]
    for atom in box.atoms if unrolled else ():
        inner = AtomNest(box.read, box.write, tuple(a for a in box.atoms if a is not atom))
        if (
            atom not in box.chain[1]
            and 1 < atom.count <= MOST_BOXES
            and _commands(inner, rank, machine, law, unrolled - 1, orders)
        ):
            turns = [inner.moved(n * atom.read, n * atom.write) for n in range(atom.count)]
            every = [_commands(turn, rank, machine, law, unrolled - 1, orders) for turn in turns]
            return [one for turn in every for one in turn] if all(every) else []
    return []
