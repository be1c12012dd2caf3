"""The search: packets, shares and orders by their floors, the cheapest first, until nothing left can be cheaper.

Knows: the space, floors, the cost model as a function, a budget of evaluations.
Does not know: plan files, proofs, why a cost is what it is, the simulator.
Law: deterministic for the same arguments (a limit in seconds excepted, which says so). `bound` is at most the price of
every member of the space: the least floor among what was neither priced in all orders nor pruned, nor made, for there
were too many (covers of more than `MOST_BOXES` boxes, choices of more than `MOST_PACKETS` packets). A price is the
closed form, but never less than a floor that holds for it (the closed form leaves out what it cannot count).
`complete` tells whether every member was priced or pruned by a floor that is at least the price of the winner. What is
priced beyond it, for plans as cheap, changes none of this.

Source: docs/design.md; the search follows best-first branch and bound with admissible floors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import count, islice, product
from math import prod

from dmaverify.cost.constants import TICKS, CostData
from dmaverify.program.command import Command, Engine
from dmaverify.synth.bound import (
    Floor,
    floor_of,
    least_issue,
    least_rate,
    startup_of,
    windows_floor,
)
from dmaverify.synth.legal import Law
from dmaverify.synth.members import TIE_EVALUATIONS, Choice, Option, SearchFound, SearchLimits
from dmaverify.synth.orders import fits, neighbours, preferred
from dmaverify.synth.priced_orders import HAIR, OrderSearch
from dmaverify.synth.regions import MOST_BOXES, Covers
from dmaverify.synth.shares import Layering, Profiles, crowded, home, lanes_of, layerings, profiles_of
from dmaverify.synth.space import Nested, SynthMachine, Work, command, nested

MOST_PACKETS = 512
"""Combinations of packets of one cover: beyond it (runs of many lengths) the rest is left out of the space."""
ODD = 2
"""How much more of the budget a command takes whose loops are no powers of two: its channels are counted bit by bit."""
AT_A_TIME = 16
"""Shares that cut runs, whose packets are compared before the next are made."""
QUOTAS = (3, 12, 1 << 30)
"""Shares of engines that are tried of every choice of packets, in turns: a few of each before many of one."""


MIXED = "plans that take elements now at one of their places in the source, now at another,"
"""What may be left out of the space."""


class Search(OrderSearch):
    """One search over the covers of a move."""

    def __init__(self, covers: Covers, machine: SynthMachine, data: CostData, law: Law, limits: SearchLimits) -> None:
        super().__init__(machine, data, law, limits)
        self.covers = covers.each
        self.lanes = [lanes_of(cover, machine.cuts) for cover in covers.each]
        self.known: dict[tuple[int, bool | None], tuple[list[Layering], Iterator[Layering]]] = {}
        odd = any(a.count & (a.count - 1) for lanes in self.lanes for lane in lanes for a in lane.atoms)
        self.weight = ODD if odd else 1
        self.rates: list[tuple[Fraction, int]] = []
        self.facts: dict[int, tuple[tuple[int, ...], Profiles]] = {}
        self.barren = 0
        self.broken: set[tuple[int, int]] = set()  # (box, packet) that a rule refuses; shares keep their boxes alive
        self.startup = data.ticks("startup_store" if machine.tiers[1] == "hbm" else "startup")
        self.issue = least_issue(machine.tiers[1] == "hbm", data)
        self.window = data.hbm.window * 8 // machine.unit_bits
        self.chips = max(len({home(lane)[0] for lane in lanes}) for lanes in self.lanes)
        self.unseen, self.outside = float("inf"), ""
        """What plans that no option stands for take at least, and which plans those are."""
        if covers.crowded:
            self._left_out(self._started(MOST_BOXES + 1))
        if covers.mixed:
            engines = machine.per_chip * self.chips
            least = self.startup + self._packet(-(-covers.live // engines)) if covers.live else self.startup
            self._left_out(least / TICKS, MIXED)

    # ------------------------------------------------------------ the whole

    def run(self) -> SearchFound:
        """Prices members until the least floor is met, the space is exhausted, or the budget ends."""
        options, waiting = self.options, list[Choice]()
        for quota in QUOTAS:
            for option in self._open(options):
                waiting += self._some(option, quota)
                if self._met(options, waiting) or self._over():
                    break
            if self._met(options, waiting) or self._over():
                break
        if self.found.winners and not self._met(options, waiting):
            self._exhaust(waiting)
        return self._ended(options, waiting)

    def _ended(self, options: Sequence[Option], waiting: Sequence[Choice]) -> SearchFound:
        found, best = self.found, self._best()
        left = self._left(options, waiting)
        gave_up = not found.winners and self.barren > self.limits.barren
        found.complete = left >= best and not gave_up
        found.bound = self.found.winners[0].cycles if found.complete and found.winners else left
        floors = [o.floor for o in options if o.floor is not None]
        found.floor = min(floors, key=lambda floor: floor.cycles, default=None)
        if found.complete and found.floor is not None and found.floor.cycles >= best:
            found.ended = "the floor of the resources is met"
        elif found.complete:
            found.ended = "every member was priced or pruned by a floor"
        elif left >= self.unseen and not self._over():
            found.ended = f"{self.outside} are left"
        else:
            found.ended = "the time ended" if found.late else "the budget ended"
            found.ended = f"{self.barren:,} choices were not legal" if gave_up else found.ended
        if found.winners and self.limits.ties:
            self._tied(options)
        found.evaluations += self.shapes.asked
        return found

    def _left(self, options: Sequence[Option], waiting: Sequence[Choice]) -> float:
        """The least that something not gone through may still cost."""
        return min([self.unseen, *(o.least for o in options if not o.done), *(c.floor for c in waiting)])

    def _met(self, options: Sequence[Option], waiting: Sequence[Choice]) -> bool:
        return self._best() <= self._left(options, waiting)

    # ------------------------------------------------------------ packets

    @cached_property
    def options(self) -> list[Option]:
        """Every cover with every choice of packets, by what their requests need at least; and, each by itself, the
        shares that cut runs. What no packets of the cover can beat holds for each.
        """
        out = []
        for index, lanes in enumerate(self.lanes):
            cut = Option(index, None, 0.0, counted=True)
            cut.floor = self._floor(cut)
            self.rates.append(least_rate(self._program(cut), self.data))
            lengths = list(dict.fromkeys(lane.chain[0] for lane in lanes))
            out += [
                Option(index, sizes, max(cut.floor.cycles, self._quick_total(index, sizes)))
                for sizes in self._packets(lengths, cut)
                if all(nested(Work(Engine(), lane), sizes[lane.chain[0]]) is not None for lane in lanes)
            ]
            out.append(cut)
            if crowded(lanes):
                self._left_out(max(cut.least, self._started(len(lanes))))
        self.found.packets = len(out)
        return out

    def _left_out(self, least: float, what: str = "") -> None:
        """Notes that something is left out that takes as many cycles at least."""
        if least < self.unseen:
            many = f"covers of more than {MOST_BOXES} boxes or choices of more than {MOST_PACKETS} packets"
            self.unseen, self.outside = least, what or many

    def _started(self, commands: int) -> float:
        """Cycles in which the fullest of all engines of the package has started its share of so many commands."""
        engines = self.machine.per_chip * self.chips
        return -(-commands // engines) * self.startup / TICKS

    def _packets(self, lengths: Sequence[int], option: Option) -> list[dict[int, int]]:
        """Packets for each length of run; what is left out takes what all packets of the option take."""
        fixed = self.limits.packet
        legal = [self.machine.packets(run) for run in lengths]
        own = [[p for p in sizes if fixed is None or p == fixed] for sizes in legal]
        if prod(map(len, own)) > MOST_PACKETS:
            self._left_out(option.least)
        return [dict(zip(lengths, chosen, strict=True)) for chosen in islice(product(*own), MOST_PACKETS)]

    def _open(self, options: list[Option]) -> Iterator[Option]:
        """Options that may still win, the least floor first; floors are counted as they come up."""
        given: set[int] = set()
        while True:
            rest = [o for o in options if not o.done and id(o) not in given and o.least < self._best()]
            if not rest:
                return
            first = min(rest, key=lambda o: (o.least, o.sizes is None, not o.counted, o.floor is None))
            if not first.counted:
                first.counted, first.quick = True, max(first.quick, windows_floor(self._program(first), self.data))
            elif first.floor is None:
                first.floor = self._floor(first)
            else:
                given.add(id(first))
                yield first

    def _program(self, option: Option) -> list[Command]:
        """One command a box, with the option's packets or the whole runs."""
        program: list[Command] = []
        for lane in self.lanes[option.cover]:
            run, _ = lane.chain
            item = nested(Work(Engine(home(lane)[0]), lane), option.sizes[run] if option.sizes else run)
            assert item is not None
            program.append(command(item, item.loops, self.machine))
        return program

    def _floor(self, option: Option) -> Floor:
        program = self._program(option)
        self.shapes.asked += len(program)
        return floor_of(program, self.machine.per_chip, self.data, chosen=option.sizes is not None)

    def _quick_total(self, index: int, sizes: Mapping[int, int]) -> float:
        """What the fullest engine of n needs at least: a packet is at least as many requests a side as windows."""
        runs = [(lane.chain[0], lane.amount) for lane in self.lanes[index]]
        chips = max(1, len({home(lane)[0] for lane in self.lanes[index]}))
        total = sum(self.startup + n // sizes[run] * self._packet(sizes[run]) for run, n in runs)
        return max(self.startup, total / (chips * self.machine.per_chip)) / TICKS

    def _packet(self, packet: int) -> int:
        same = self.machine.tiers[0] == self.machine.tiers[1] and "slice" not in self.machine.spaces[0].places
        return -(-packet // self.window) * self.issue * (1 + same)

    # ------------------------------------------------------------ shares

    def _some(self, option: Option, quota: int) -> list[Choice]:
        """Up to `quota` more shares of an option, each priced in its preferred orders; those that stay open."""
        if option.shares is None:
            option.shares = self._shares(option)
        out: list[Choice] = []
        for _ in range(quota):
            share = next(option.shares, None)
            if share is None or (not self.found.winners and self.barren > self.limits.barren):
                option.done = True
                break
            choice = self._choice(option, *share)
            if choice is None:
                continue
            out.append(choice)
            self._try(choice)
            if self._best() <= option.least or self._over():
                break
        return out

    def _shares(self, option: Option) -> Iterator[tuple[Layering, Mapping[int, int]]]:
        """The shares of an option with their packets; of those that cut runs, some at a time, the quickest first."""
        whole = {lane.chain[0] for lane in self.lanes[option.cover]}
        if option.sizes is not None:
            for layering in self._layerings(option.cover, False):
                if set(self._facts(layering)[0]) <= whole:
                    yield layering, option.sizes
            return
        if whole == {1}:  # no run to cut
            return
        cutting = (one for one in self._layerings(option.cover, True) if not set(self._facts(one)[0]) <= whole)
        while some := list(islice(cutting, AT_A_TIME)):
            found = [
                (self._quick(option.cover, one, sizes), number, one, sizes)
                for one in some
                for number, sizes in enumerate(self._packets(self._facts(one)[0], option))
            ]
            for quick, _, one, sizes in sorted(found, key=lambda item: item[:2]):
                if quick < self._best():
                    yield one, sizes
                else:
                    self._too_dear()
            if not self.found.winners and self.barren > self.limits.barren:
                return

    def _facts(self, layering: Layering) -> tuple[tuple[int, ...], Profiles]:
        """Lengths of runs and what the engines have to move, counted once."""
        if id(layering) not in self.facts:
            lengths = tuple(dict.fromkeys(work.box.chain[0] for work in layering.works))
            self.facts[id(layering)] = lengths, profiles_of(layering)
        return self.facts[id(layering)]

    def _layerings(self, cover: int, cutting: bool) -> Iterator[Layering]:
        """The shares of a cover; each is made once, when it is first asked for. Of runs of one length, those alone that
        cut them or do not; a part of a run may be as long as another run.
        """
        only = cutting if len({lane.chain[0] for lane in self.lanes[cover]}) == 1 else None
        if (cover, only) not in self.known:
            self.known[cover, only] = [], layerings(self.covers[cover], self.machine, only)
        known, more = self.known[cover, only]
        most = self.limits.commands
        for index in count():
            if index == len(known):
                one = next(more, None)
                if one is None:
                    return
                known.append(one)
                self.found.shares += 1
            if most is None or known[index].commands <= most:
                yield known[index]

    def _choice(self, option: Option, layering: Layering, sizes: Mapping[int, int]) -> Choice | None:
        """The share with these packets, legal by rules that no order changes; None where it is not or cannot win."""
        quick = max(option.least, self._quick(option.cover, layering, sizes))
        if quick >= self._best():
            self._too_dear()
            return None
        if any((id(work.box), sizes[work.box.chain[0]]) in self.broken for work in layering.works):
            self.barren += 1
            return None
        items = self._nested(layering, sizes)
        if option.floor is not None and items:
            quick = max(quick, option.floor.shared + startup_of(items, self.machine, self.data))
        if quick >= self._best():
            self._too_dear()
            return None
        if not self._legal(items):
            self.barren += 1
            return None
        floor = max(quick, self._part_floor(items))
        if floor >= self._best():
            self._too_dear()
            return None
        return Choice(option, layering, items, floor)

    def _too_dear(self) -> None:
        """Counts a choice that cannot win; before any winner it is as barren as an illegal one."""
        self.found.pruned += 1
        self.barren += not self.found.winners

    def _nested(self, layering: Layering, sizes: Mapping[int, int]) -> tuple[Nested, ...]:
        """The parts with their packets; nothing where a part cannot have its packet."""
        most = self.machine.iterations
        items = [nested(work, sizes[work.box.chain[0]], most) for work in layering.works]
        known = tuple(item for item in items if item is not None)
        return known if len(known) == len(items) else ()

    def _legal(self, items: Sequence[Nested]) -> bool:
        """Whether no rule about packets and addresses refuses the parts; entries, which an order may still change,
        are left to `_price`.
        """
        if not items:
            return False
        law = self.law
        before, law.lenient = law.lenient, True
        refused = next((one for one in self._samples(items) if not law.allows([self._as_is(one)])), None)
        law.lenient = before
        if refused is not None:
            self.broken.add((id(refused.work.box), refused.packet))
        return refused is None

    def _samples(self, items: Sequence[Nested]) -> list[Nested]:
        """A few parts of a choice: the largest and the smallest, the first and the last."""
        ranked = sorted(range(len(items)), key=lambda i: (-items[i].work.box.amount, i))
        return [items[i] for i in dict.fromkeys((ranked[0], ranked[-1], 0, len(items) - 1))]

    def _as_is(self, item: Nested) -> Command:
        return command(item, item.loops, self.machine)

    def _part_floor(self, items: Sequence[Nested]) -> float:
        return self.shapes.part_floor([self._as_is(item) for item in self._samples(items)])

    def _quick(self, cover: int, layering: Layering, sizes: Mapping[int, int]) -> float:
        """Start-ups and requests of the fullest engine; requests of all, over all servers of the slowest memory."""
        _, profiles = self._facts(layering)
        most = max(sum(self.startup + n // sizes[r] * self._packet(sizes[r]) for r, n in own) for own in profiles)
        rate, each = self.rates[cover]
        parts = sum(
            work.box.amount // sizes[run] * -(-sizes[run] // self.window)
            for work in layering.works
            for run in (work.box.chain[0],)
        )
        return max(most, self.startup + int(parts * rate) - each) / TICKS

    # ------------------------------------------------------------ ties

    def _tied(self, options: Sequence[Option]) -> None:
        """More members as cheap as the winner, for the simulator to tell apart: other orders, other shares."""
        best, end = self.found.winners[0].cycles + HAIR, self.found.evaluations + self.limits.ties
        for mine, choice in islice(self._as_cheap(options, best), 1 + self.limits.ties // 8):
            for order in preferred(choice.items, self.machine, self.limits.prefix):
                if self.found.evaluations >= end or (self.limits.seconds is not None and self._over()):
                    return
                self._price(choice, order)
            if mine and self.limits.ties > TIE_EVALUATIONS:
                self._around(choice, end)

    def _around(self, choice: Choice, end: int) -> None:
        """Orders of the winner's share with one loop moved."""
        for order in list(neighbours(self.found.winners[0].order)):
            if self.found.evaluations >= end or (self.limits.seconds is not None and self._over()):
                return
            if fits(order, self.limits.prefix):
                self._price(choice, order)

    def _as_cheap(self, options: Sequence[Option], best: float) -> Iterator[tuple[bool, Choice]]:
        """Shares whose floors are no higher than the winner, a few of each option, and whether it is the winner's."""
        winner = self.found.winners[0]
        for option in sorted(options, key=lambda o: o.least):
            if option.floor is None or option.least > best:
                continue
            for layering, sizes in islice(self._shares(option), 1 + self.limits.ties // 8):
                items = self._nested(layering, sizes)
                if not self._legal(items):
                    continue
                mine = layering is winner.layering and tuple(i.packet for i in items) == winner.packets
                if mine or self._part_floor(items) <= best:
                    yield mine, Choice(option, layering, items, option.least)
