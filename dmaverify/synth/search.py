"""The search: shares, packets and orders by their floors, the cheapest first, until nothing left can be cheaper.

Knows: the space, floors, the cost model and the simulator as functions, a budget of evaluations.
Does not know: plan files, proofs, why a cost is what it is.
Law: deterministic for the same arguments (a limit in seconds excepted, which says so). `bound` is at most the cost
of every member of
the space: the floor of the covers, or the least floor among members that were neither priced nor in all orders;
`complete` tells
whether every member was priced or pruned by a floor that is at least the winner's cost.

Source: DESIGN section 8; the search follows best-first branch and bound with admissible floors.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, permutations, product
from math import factorial

from dmaverify.cost.constants import TICKS, CostData
from dmaverify.cost.model import Cost, cost
from dmaverify.synth.bound import ISSUES, Floor, Shapes, floor_of, priced_floor
from dmaverify.synth.legal import Law
from dmaverify.synth.orders import preferred
from dmaverify.synth.packets import chain_of, packets_of
from dmaverify.synth.regions import Atom, Cover
from dmaverify.synth.space import Layering, Machine, Nested, Work, command, home, lanes_of, layerings, nested
from dmaverify.transfer.command import Command, Engine

EVALUATIONS = 300
"""Commands priced before the search stops with a gap."""
TIES = 6
"""Members of least cost that the simulator compares."""
MOST_PACKETS = 512
"""Combinations of packets of one sharing: beyond it (runs of many lengths) the rest is left out of the space."""
MOST_BARREN = 600
"""Illegal choices in a row, before any legal one, after which the rules are taken to refuse all."""
TIE_EVALUATIONS = 64
"""Commands priced beyond the first winner, to find others as cheap for the simulator to compare."""


@dataclass(frozen=True)
class Member:
    """One plan of the space with its price."""

    commands: tuple[Command, ...]
    cycles: float
    cost: Cost
    layering: Layering
    order: tuple[Atom, ...]
    packets: tuple[int, ...]

    @property
    def rank(self) -> tuple[float, int, int]:
        """Cheaper, then fewer commands, then fewer loops."""
        return self.cycles, len(self.commands), sum(len(c.loops) for c in self.commands)


@dataclass
class Found:
    """What the search knows at its end."""

    winners: list[Member] = field(default_factory=list)
    floor: Floor | None = None
    bound: float = 0.0
    complete: bool = False
    evaluations: int = 0
    shares: int = 0
    pruned: int = 0
    open_floors: list[float] = field(default_factory=list)
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A sharing with packets by length of run; `floor` is what no order of it beats."""

    layering: Layering
    sizes: Mapping[int, int]
    floor: float

    @property
    def items(self) -> tuple[Nested, ...]:
        """The parts with their packets."""
        found = [nested(work, self.sizes[chain_of(work.box)[0]]) for work in self.layering.works]
        return tuple(item for item in found if item is not None)


@dataclass(frozen=True, slots=True)
class Limits:
    """Budget and fixed parts. Packets in units; `prefix` names the first loops, outer to inner, by their labels."""

    evaluations: int = EVALUATIONS
    seconds: float | None = None
    packet: int | None = None
    prefix: tuple[str, ...] = ()
    commands: int | None = None


class Search:
    """One search over the covers of a move."""

    def __init__(self, covers: Sequence[Cover], machine: Machine, data: CostData, law: Law, limits: Limits) -> None:
        self.covers, self.machine, self.data, self.law, self.limits = covers, machine, data, law, limits
        self.shapes = Shapes(data)
        self.found = Found()
        self.started = time.monotonic()
        self.floors: list[Floor] = []
        self.barren = 0
        self.refined: dict[int, float] = {}
        self.alive: list[Choice] = []  # so that no identity is used twice
        self.startup = min(data.ticks("startup"), data.ticks("startup_store"))
        self.issue = min(data.ticks(name) for name in ISSUES)

    # ------------------------------------------------------------ the whole

    def run(self) -> Found:
        """Prices members until the floor is met, the space is exhausted, or the budget ends."""
        self.floors = [self._floor(cover) for cover in self.covers]
        found = self.found
        least = min(self.floors, key=lambda floor: floor.cycles)
        found.floor = least
        choices = self._choices()
        waiting: list[Choice] = []
        for choice in choices:
            waiting.append(choice)
            if self._over():
                break
            if self._try(choice, heuristics_only=True) and found.winners[0].cycles <= least.cycles:
                self._ties(choices)
                found.ended = "the floor of the resources is met"
                return self._ended(least.cycles, True)
        complete = not self._over()
        exhausted = self._exhaust(sorted(waiting, key=self._floor_of))
        rest = list(found.open_floors)
        bound = max(least.cycles, min([*rest, self._best()]) if complete and exhausted is not None else least.cycles)
        found.ended = "every member was priced or pruned" if complete and not rest else "the budget ended"
        return self._ended(min(bound, self._best()), complete and not rest)

    def _ended(self, bound: float, complete: bool) -> Found:
        self.found.bound, self.found.complete = bound, complete
        self.found.evaluations += self.shapes.asked
        return self.found

    def _best(self) -> float:
        return self.found.winners[0].cycles if self.found.winners else float("inf")

    def _over(self) -> bool:
        spent = self.found.evaluations + self.shapes.asked
        late = self.limits.seconds is not None and time.monotonic() - self.started > self.limits.seconds
        return spent >= self.limits.evaluations or late

    def _floor(self, cover: Cover) -> Floor:
        ideal: list[Command] = []
        for lane in lanes_of(cover, self.machine.cuts):
            run, _ = chain_of(lane)
            item = nested(Work(Engine(home(lane)[0]), lane), run)
            assert item is not None
            ideal.append(command(item, item.loops, self.machine))
        return floor_of(ideal, self.machine.per_chip, self.data)

    # ------------------------------------------------------------ choices

    def _choices(self) -> Iterator[Choice]:
        """Sharings with packets, legal by rules that no order changes, with their floors; what cannot win is left
        out.
        """
        for index, cover in enumerate(self.covers):
            for layering in layerings(cover, self.machine):
                if self.limits.commands is not None and layering.commands > self.limits.commands:
                    continue
                self.found.shares += 1
                profiles = profiles_of(layering)
                for quick, sizes in self._packets(layering, profiles):
                    if quick >= self._best():
                        self.found.pruned += 1
                        continue
                    plain = self._samples(layering, sizes)
                    if not plain or not self._packet_legal(plain):
                        self.barren += 1
                        if not self.found.winners and self.barren > MOST_BARREN:
                            return
                        continue
                    yield Choice(layering, sizes, max(self.floors[index].cycles, quick, self.shapes.part_floor(plain)))

    def _packets(self, layering: Layering, profiles: Profiles) -> list[tuple[float, dict[int, int]]]:
        """Packets by length of run, one for each length, with the least that the fullest engine then needs."""
        lengths = list(dict.fromkeys(chain_of(work.box)[0] for work in layering.works))
        fixed = self.limits.packet
        machine = self.machine
        width = machine.dtype_bits // machine.unit_bits
        legal = [packets_of(run, machine.unit_bits, machine.packet_max, width) for run in lengths]
        options = [[p for p in own if fixed is None or p == fixed] for own in legal]
        found = [dict(zip(lengths, chosen, strict=True)) for chosen in islice(product(*options), MOST_PACKETS)]
        return sorted(((self._quick(profiles, sizes), sizes) for sizes in found), key=lambda item: item[0])

    def _quick(self, profiles: Profiles, sizes: Mapping[int, int]) -> float:
        """Start-ups and requests of the fullest engine, a packet of n bytes being at least n / 256 requests on
        either side.
        """
        same = self.machine.tiers[0] == self.machine.tiers[1] and "slice" not in self.machine.spaces[0].places
        cost_of = {
            run: -(-packet * self.machine.unit_bits // 2048) * self.issue * (1 + same) for run, packet in sizes.items()
        }
        most = max(sum(self.startup + n // sizes[run] * cost_of[run] for run, n in profile) for profile in profiles)
        return most / TICKS

    def _samples(self, layering: Layering, sizes: Mapping[int, int]) -> list[Command]:
        """A few commands of a choice: of the largest and the smallest part, the first and the last."""
        works = layering.works
        ranked = sorted(range(len(works)), key=lambda i: (-works[i].box.amount, i))
        out = []
        for index in dict.fromkeys((ranked[0], ranked[-1], 0, len(works) - 1)):
            item = nested(works[index], sizes[chain_of(works[index].box)[0]])
            if item is None:
                return []
            out.append(command(item, item.loops, self.machine))
        return out

    def _packet_legal(self, plain: Sequence[Command]) -> bool:
        """Rules about packets and addresses; entries, which an order may still change, are left to `_price`."""
        law = self.law
        before, law.lenient = law.lenient, True
        good = law.allows(plain)
        law.lenient = before
        return good

    # ------------------------------------------------------------ pricing

    def _try(self, choice: Choice, *, heuristics_only: bool) -> bool:
        """Prices preferred orders of a choice; whether it is now the winner."""
        if choice.floor >= self._best():
            self.found.pruned += 1
            return False
        before, items = self._best(), choice.items
        for order in preferred(items, self.machine, self.limits.prefix):
            member = self._price(choice, items, order)
            if member is not None and member.cycles <= self._floor_of(choice):
                break
            if self._over():
                break
        return self._best() < before

    def _floor_of(self, choice: Choice) -> float:
        """The floor of a choice, with what pricing one order of it has shown."""
        return self.refined.get(id(choice), choice.floor)

    def _price(self, choice: Choice, items: Sequence[Nested], order: Sequence[Atom]) -> Member | None:
        """The member with this order of loops, if it is legal; kept if it is among the best."""
        commands = tuple(command(item, arranged(item, order), self.machine) for item in items)
        if not self.law.allows(commands):
            return None
        self.found.evaluations += len(commands)
        price = cost(commands, self.data)
        member = Member(
            commands,
            price.cycles,
            price,
            choice.layering,
            tuple(order),
            tuple(item.packet for item in items),
        )
        self.alive.append(choice)
        self.refined[id(choice)] = max(choice.floor, priced_floor(price))
        winners = self.found.winners
        if all(old.commands != member.commands for old in winners):
            winners.append(member)
            winners.sort(key=lambda m: m.rank)
            best = winners[0].cycles
            del winners[TIES:]
            self.found.winners = [m for m in winners if m.cycles <= best] or winners[:1]
        return member

    def _ties(self, choices: Iterator[Choice]) -> None:
        """More members as cheap as the winner, for the simulator to tell apart."""
        end = min(self.found.evaluations + TIE_EVALUATIONS, self.limits.evaluations)
        best = self._best()
        tries = 0
        while self.found.evaluations < end and len(self.found.winners) < TIES and tries < 24:
            choice = next(choices, None)
            if choice is None:
                return
            tries += 1
            if choice.floor > best:
                continue
            items = choice.items
            for order in preferred(items, self.machine, self.limits.prefix):
                if self.found.evaluations >= end:
                    return
                self._price(choice, items, order)

    # ------------------------------------------------------------ all orders

    def _exhaust(self, waiting: Sequence[Choice]) -> bool:
        """Every order of every choice whose floor is below the best; the floors of those left are kept open."""
        for choice in waiting:
            if self._floor_of(choice) >= self._best():
                continue
            items = choice.items
            longest = max(items, key=lambda item: len(item.loops))
            left = self.limits.evaluations - self.found.evaluations - self.shapes.asked
            if factorial(len(longest.loops)) * len(items) > left or self._over():
                self.found.open_floors.append(self._floor_of(choice))
                continue
            for order in permutations(longest.loops):
                if fits(order, self.limits.prefix):
                    self._price(choice, items, order)
                if self._best() <= self._floor_of(choice):
                    break
        self.found.open_floors = [floor for floor in self.found.open_floors if floor < self._best()]
        return not self.found.open_floors


Profiles = frozenset[tuple[tuple[int, int], ...]]
"""Per engine, without repetition: (length of run, units) of each of its commands."""


def profiles_of(layering: Layering) -> Profiles:
    """What the engines of a sharing have to move."""
    parts: dict[Engine, list[tuple[int, int]]] = defaultdict(list)
    for work in layering.works:
        parts[work.engine].append((chain_of(work.box)[0], work.box.amount))
    return frozenset(tuple(sorted(own)) for own in parts.values())


def arranged(item: Nested, order: Sequence[Atom]) -> list[Atom]:
    """The loops of a part in the order of another part's: by piece of axis, then by axis, then as they are."""
    exact = {(a.axis, a.weight): i for i, a in reversed(list(enumerate(order)))}
    axis = {a.axis: i for i, a in reversed(list(enumerate(order)))}
    place = {id(a): exact.get((a.axis, a.weight), axis.get(a.axis, -1)) for a in item.loops}
    return sorted(item.loops, key=lambda a: place[id(a)])


def fits(order: Sequence[Atom], prefix: Sequence[str]) -> bool:
    """Whether the order starts with the loops named."""
    return [a.label for a in islice(order, len(prefix))] == [text.replace(" ", "") for text in prefix]
