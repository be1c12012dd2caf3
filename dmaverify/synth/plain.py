"""Synthesis for machines whose cost is data: the fewest commands in the largest packets, in the first legal order; one
for each turn of a loop where no single one is legal.

Knows: boxes of a move, packets, orders of loops, the machine's rules, the simple cost.
Does not know: memory systems, sharing of a move among engines (one engine does it all).
Law: what is returned was proved; its cost does not depend on the order of loops, so that the first legal order of a
packet is as good as any. OPTIMAL is said where the cost meets one start-up and every live byte in whole beats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations
from math import isqrt

from dmaverify.cost.simple import SimpleCost, price
from dmaverify.language.expr import axes_of
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.prove.move.check import Options
from dmaverify.synth.atoms import Atom
from dmaverify.synth.legal import Law, no_plan
from dmaverify.synth.proved import DEFAULTS, Accept, answered, first_proved
from dmaverify.synth.regions import MOST_BOXES, AtomNest, Covers, NoPlan
from dmaverify.synth.result import Synthesis
from dmaverify.synth.shares import ShareCut
from dmaverify.synth.space import SynthMachine, Work, command, nested
from dmaverify.synth.synthesize import covers_of, machine_of, plan_of
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Severity

ORDERS, INNER_ORDERS = 5040, 120
"""Orders of the loops of one packet that are tried before the next packet; fewer of what is in loops of commands."""
UNROLLED = 2
"""Loops of a box that may become commands, one for each turn, where a single command is not legal."""
SPLITS, SPLIT_ORDERS = 96, 24
"""Lengths that divide a loop at which loops are split where no order of the whole ones is legal, the longest first, and
orders that are tried of each.
"""
MOST_IDLE, IDLE_AMONG = 2, 3
"""Loops of one turn that are put between others, and among how many."""
PACKETS = 24
"""Packets of a cover that are tried, the largest first; where loops are commands, the largest and the smallest."""


def synthesize_plain(
    transfer: Transfer,
    target: Target,
    data: SimpleCost,
    *,
    axes: Mapping[str, int] | None = None,
    options: Options = DEFAULTS,
    accept: Accept | None = None,
) -> Synthesis:
    """The cheapest legal plan of a move on one engine, proved."""
    move = transfer.with_given()
    named = dict(axes or {}) or {**axes_of(move.source.mapping), **axes_of(move.dest.mapping)}
    law = Law(move, target, target.limits_with(move.limits), options.readings)

    def search() -> Synthesis:
        law.of_move()
        machine = machine_of(move, target, 1)
        covers = covers_of(move, target, machine)
        ranked = (
            one
            for unrolled in (0, UNROLLED)
            for one in sorted(_members(covers, machine, law, named, data, unrolled), key=lambda one: one.cycles)
        )
        try:
            return first_proved(ranked, options, accept)
        except NoPlan as error:
            tried = f"none of the packets and orders tried is legal, with up to {UNROLLED} loops unrolled"
            tried += f", in at most {MOST_BOXES} commands"
            broken = [f for f in law.refused.values() if f.severity is Severity.ERROR]
            raise (no_plan(broken, f"{tried}; for example: ") if broken else error) from None

    return answered(move, target, named, "simple", search)


def _members(
    covers: Covers, machine: SynthMachine, law: Law, axes: Mapping[str, int], data: SimpleCost, unrolled: int
) -> Iterator[Synthesis]:
    """The first legal order of every packet of every cover; up to so many loops `unrolled`."""
    live = covers.live * machine.unit_bits // 8
    least = data.startup + max(-(-live // data.beat(tier)) for tier in machine.tiers)
    for cover in covers.each:
        each = max((len(machine.packets(box.chain[0])) for box in cover.boxes), default=0)
        ranks, most = range(min(each, PACKETS)), MOST_BOXES
        for rank in dict.fromkeys((*ranks[:1], *ranks[-1:])) if unrolled else ranks:
            orders = INNER_ORDERS if unrolled else ORDERS
            parts = [_commands(box, rank, machine, law, unrolled, orders, most) for box in cover.boxes]
            commands = [one for part in parts for one in part]
            if not all(parts) or len(commands) > MOST_BOXES:
                continue
            most = len(commands) - 1  # smaller packets are worth it where they make fewer
            cost = price(commands, data)
            lines = (
                f"no plan on one engine can beat {least:,.1f} cycles: one start-up, and every live byte in whole beats",
                f"commands: {len(commands)}; the order of loops does not change the cost",
            )
            plan = plan_of(law.transfer, commands, law.target)
            yield Synthesis(
                plan, law.target, axes, "simple", tuple(commands), cost, cost.cycles, min(least, cost.cycles),
                cost.cycles <= least, lines, split="one engine",
                not_covered=("engines side by side", "what the machine's data states no cost of"),
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


def _commands(
    box: AtomNest, rank: int, machine: SynthMachine, law: Law, unrolled: int, orders: int, most: int = MOST_BOXES
) -> list[Command]:
    """The commands of a box, at `most` so many: one in its first legal order, loops in two where no whole ones are
    legal, or beside a loop of one turn, or one for each turn or block of a loop; nothing where none is legal.
    """
    packets = machine.packets(box.chain[0])
    packet = packets[min(rank, len(packets) - 1)]
    for iterations in _most_iterations(box, machine):
        own = replace(machine, iterations=iterations)
        item = nested(Work(own.engines[0], box), packet, iterations)
        if item is not None:
            tried = islice(_orders(item.loops), orders if own == machine else SPLIT_ORDERS)
            fitting = (command(item, order, own) for order in tried)
            first = next((one for one in fitting if law.allows((one,))), None)
            if first is None and own == machine and law.by_dimension and len(item.loops) <= IDLE_AMONG:
                fitting = (command(item, order, own) for order in _idle(item.loops))
                first = next((one for one in fitting if law.allows((one,))), None)
            if first is not None:
                return [first]
    every = _in_blocks(box, rank, machine, law, unrolled, orders, most) if unrolled else ()
    return min(every, key=len, default=[])


IDLE = Atom(None, 0, 1, 0, 0)
"""A loop of one turn: a machine that counts dimensions may take further out what it refuses further in."""


def _idle(loops: tuple[Atom, ...]) -> Iterator[tuple[Atom, ...]]:
    """The two orders as memories lie, with loops of one turn at one place."""
    for order in islice(_orders(loops), 2):
        for many in range(1, MOST_IDLE + 1):
            yield from ((*order[:at], *(IDLE,) * many, *order[at:]) for at in range(len(order), -1, -1))


def _in_blocks(
    box: AtomNest, rank: int, machine: SynthMachine, law: Law, unrolled: int, orders: int, most: int
) -> Iterator[list[Command]]:
    """The commands of a box of which one loop is cut in as few blocks as are legal, or turn by turn where a turn is no
    command but several.
    """

    def made(blocks: Sequence[AtomNest], inside: int = 0) -> list[Command]:
        found: list[Command] = []
        for block in blocks:
            its = _commands(block, rank, machine, law, inside, orders)
            if not its:
                return []
            found += its
        return found

    for index, atom in enumerate(box.atoms):
        if atom in box.chain[1] or atom.count == 1:
            continue
        few, blocks = 1, _blocks(box, index, atom.count)
        inside = unrolled - 1 if 2 * len(blocks) <= most else 0
        turn = made(blocks[:1], inside)
        while len(turn) == 1 and len(blocks) - few > 1:
            middle = (few + len(blocks)) // 2
            fewer = _blocks(box, index, middle)
            few, blocks = (few, fewer) if made((fewer[0], fewer[-1])) else (middle, blocks)
        if turn and len(blocks) <= most and (found := made(blocks, inside if len(turn) > 1 else 0)):
            most = min(most, len(found) - 1)
            yield found


def _blocks(box: AtomNest, index: int, parts: int) -> list[AtomNest]:
    """The box with a loop cut in so many blocks."""
    return ShareCut(((index, parts, True),), "").parts(box)
