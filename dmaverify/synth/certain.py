"""A small space as one question: has it a legal member below the claimed cycles, by the machine's own predicates?

Knows: every member of a space (shares, packets, orders of loops), rules as SMT-LIB 2.
Does not know: how a search prunes, solvers, files.
Law: all members are in the question, none left out by a floor; legality is asked of the solver, with the predicates of
`rules.smt2` at the numbers of each command. What a member costs is its closed form, or a floor that holds for it. The
answer is `unsat` exactly where no legal member is cheaper. A larger space has no question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice, permutations, product
from math import factorial, lcm

from dmaverify.cost.constants import CostData
from dmaverify.cost.model import cost
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.synth.bound import Shapes, priced_floor
from dmaverify.synth.legal import Law
from dmaverify.synth.orders import arranged
from dmaverify.synth.regions import Covers
from dmaverify.synth.shares import crowded, lanes_of, layerings
from dmaverify.synth.space import Nested, SynthMachine, command, nested
from dmaverify.synth.synthesize import covers_of, machine_of
from dmaverify.targets.target import Target

MOST_MEMBERS = 160
"""Members of a space that is small."""
HAIR = Fraction(1, 1000)
"""Cycles: what rounding may make of equal sums."""


def space_question(
    move: Transfer, target: Target, data: CostData, readings: Mapping[str, str], engines: int | None, claimed: float
) -> tuple[str, str, str] | None:
    """Whether a legal member takes fewer cycles than claimed: (name, SMT-LIB 2, `unsat`). None for a larger space."""
    machine = machine_of(move, target, engines)
    covers = covers_of(move, target, machine)
    if covers.crowded or covers.mixed or any(crowded(lanes_of(cover, machine.cuts)) for cover in covers.each):
        return None
    choices = list(islice(_choices(covers, machine), MOST_MEMBERS + 1))
    orders = [factorial(max(len(item.loops) for item in items)) for items in choices]
    if not choices or sum(orders) > MOST_MEMBERS:
        return None
    law, shapes = Law(move, target, target.limits_with(move.limits), readings), Shapes(data)
    rules: dict[str, str] = {}
    members: dict[tuple[str, ...], Fraction] = {}
    for program in _programs(choices, machine):
        asked = {text: rule for one in program for text, rule in law.asked(one).items()}
        rules |= {rule.id: rule.function.text for rule in asked.values()}
        price = cost(program, data)
        cycles = Fraction(max(price.cycles, priced_floor(price, data), shapes.part_floor(program)))
        key = tuple(sorted(asked))
        members[key] = min(members.get(key, cycles), cycles)
    return f"space: no legal member of {sum(orders)} below the cycles claimed", _text(rules, members, claimed), "unsat"


def _text(rules: Mapping[str, str], members: Mapping[tuple[str, ...], Fraction], claimed: float) -> str:
    """The question: members whose rules are asked alike are one, at the cycles of the cheapest."""
    prices = [price.limit_denominator(30_000) for price in members.values()]
    limit = Fraction(claimed).limit_denominator(30_000) - HAIR
    unit = lcm(limit.denominator, *(price.denominator for price in prices))
    lines = [*rules.values(), f"; in units of 1/{unit} cycle", "(declare-const member Int)", "(assert (or false"]
    for index, (asked, price) in enumerate(zip(members, prices, strict=True)):
        lines.append(f"  (and (= member {index}) (< {int(price * unit)} {int(limit * unit)}) {' '.join(asked)})")
    return "\n".join([*lines, "))"])


def _choices(covers: Covers, machine: SynthMachine) -> Iterator[tuple[Nested, ...]]:
    """Every share with every choice of packets."""
    for cover in covers.each:
        for layering in layerings(cover, machine):
            runs = list(dict.fromkeys(work.box.chain[0] for work in layering.works))
            sizes = [machine.packets(run) for run in runs]
            for chosen in product(*sizes):
                own = dict(zip(runs, chosen, strict=True))
                items = [nested(w, own[w.box.chain[0]], machine.iterations) for w in layering.works]
                known = tuple(item for item in items if item is not None)
                if len(known) == len(items):
                    yield known


def _programs(choices: list[tuple[Nested, ...]], machine: SynthMachine) -> Iterator[list[Command]]:
    """Every order of the loops of every choice."""
    for items in choices:
        for order in permutations(max(items, key=lambda item: len(item.loops)).loops):
            yield [command(item, arranged(item, order), machine) for item in items]
