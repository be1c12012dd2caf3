"""Hazards of a kernel's pipes from definitions: of two accesses of a byte one is done before the other is issued.

Knows: the bytes that accesses touch as terms, loops as a few iterations in a row.
Does not know: how the order was followed (`pipes`), what pipes wait for (`pipe_clock`), machines.
Law: two accesses, one writing, are fine if one is done before the other is issued, or if they have no byte in common.
Of a loop any `REACH` + 1 iterations in a row stand for all: what is ordered over `REACH` iterations is so over more,
as issue is in order; else no two iterations that far apart may have a byte in common. Accesses before or behind a loop
are held against its first iteration, which is issued before the others, or against its last ones, which are done behind
the others; else against any.

Source: docs/machines/pto.md (pipes).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from dmaverify.language.affine import Lin, World
from dmaverify.program.instructions import Copy, CopyTouch, Event, Signal, Use, accumulate
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.order.flag_questions import FLAGS, FlagQuestions
from dmaverify.prove.flow.order.pipe_clock import PipeClock
from dmaverify.prove.flow.order.pipe_state import HAZARDS
from dmaverify.prove.flow.order.stretches import Instant, Instants, Stretch, script_of, stretches_of
from dmaverify.prove.move.defined import NotCovered
from dmaverify.prove.move.full import definitions
from dmaverify.prove.move.script import Script, ScriptWriter, conjunction
from dmaverify.prove.smt import answers_to
from dmaverify.values import dataclass

REACH = 4  # iterations between two of which the order is asked one by one
MOST_QUESTIONS = 1_500


def order_scripts(events: Sequence[Event], ordered: Sequence[str], asker: Asker, rlimit: int) -> list[Script]:
    """The scripts of all hazards and flags. Raises NotCovered."""
    stretches = stretches_of(events, asker.world, frozenset(ordered))
    flagged = any(isinstance(event, Signal) for part in stretches for event in part.events)
    instants = Instants(asker)
    found = [FlagQuestions(instants, stretches).script()] if flagged else []
    return [*found, *_Hazards(instants, frozenset(ordered), rlimit, stretches).scripts()]


@dataclass
class _Hazards:
    """One kernel on its way to scripts."""

    instants: Instants
    ordered: frozenset[str]
    rlimit: int
    parts: list[Stretch]
    claims: int = 0

    @property
    def world(self) -> World:
        return self.instants.world

    def scripts(self) -> list[Script]:
        found: list[Script] = []
        for index, part in enumerate(self.parts):
            found.append(self._within(part, f"part {index}"))
            for later in range(index + 1, len(self.parts)):
                found += self._between(index, later)
        return [script for script in found if script.obligations]

    # ------------------------------------------------------------ hazards

    def _within(self, part: Stretch, name: str) -> Script:
        """Accesses of one part against each other, of a loop over `REACH` iterations and over more."""
        writer = ScriptWriter(name, definitions())
        if part.loop is None:
            nodes = [Instant(event) for event in part.events]
            clock = self._clock(writer, nodes)
            for later in range(len(nodes)):
                for earlier in range(later):
                    self._pair(writer, clock, earlier, later)
            return script_of(writer)
        size, reach = len(part.events), range(REACH + 1)
        start = self.world.free("turn", 0, None)
        nodes = [self.instants.at(part, event, start + i) for i in reach for event in part.events]
        clock = self._clock(writer, nodes)
        for later, gap in product(range(size), reach):
            for earlier in range(size if gap else later):
                self._pair(writer, clock, earlier, gap * size + later)
        far = [(a, b) for a in range(size) for b in range(size) if self._kinds(nodes[a], nodes[b])]
        apart = self.world.free("turns", REACH + 1, None)
        for (a, b), waited in zip(far, self._waited(clock, [(a, REACH * size + b) for a, b in far]), strict=True):
            said = f"{REACH} iterations later"
            if waited:
                self._waits(writer, clock, a, REACH * size + b, said)
            else:
                self._apart(writer, nodes[a], self.instants.at(part, part.events[b], start + apart), "far apart")
        return script_of(writer)

    def _between(self, first: int, second: int) -> list[Script]:
        """Accesses of one part against those of a later one, whatever iterations they are of. An iteration of which the
        one `REACH` later waits is done before the last ones are.
        """
        writer = ScriptWriter(f"parts {first} and {second}", definitions())
        nodes: list[Instant] = []
        part, other = self.parts[first], self.parts[second]
        reach = range(REACH if part.loop is not None else 1)
        last = self.world.free("last", 0, None)
        for back in reversed(reach):
            nodes += [self.instants.at(part, event, last + -back) for event in part.events]
        size, ahead = len(part.events), len(nodes)
        for between in self.parts[first + 1 : second]:
            nodes += [Instant(event) for event in between.events if between.loop is None]
        head = len(nodes)
        nodes += [self.instants.at(other, event, Lin(0)) for event in other.events]
        clock = self._clock(writer, nodes)
        mine = [self.instants.generic(part, "one", event) for event in part.events]
        yours = [self.instants.generic(other, "other", event) for event in other.events]
        pairs = [(a, b) for a in range(size) for b in range(len(yours)) if self._kinds(mine[a], yours[b])]
        every = [[(ahead - size * (back + 1) + a, head + b) for back in reach] for a, b in pairs]
        own, ends_of_loop = self._loop_clock(part)
        rounds = self._waited(own, ends_of_loop) if part.loop is not None else [True] * size
        answers = iter(self._waited(clock, [one for ends in every for one in ends]))
        used: set[int] = set()
        for (a, b), ends in zip(pairs, every, strict=True):
            waited = [next(answers) for _ in ends]
            if all(waited) and rounds[a]:
                used.add(a)
                for end in ends:
                    self._waits(writer, clock, *end, "the last iterations" if part.loop is not None else "")
            else:
                self._apart(writer, mine[a], yours[b], "")
        rest = ScriptWriter(f"iterations of part {first} before part {second}", definitions())
        own.written(rest)
        for a in sorted(used) if part.loop is not None else ():
            kinds = {kind for (x, b) in pairs if x == a for kind, _, _ in self._kinds(mine[a], yours[b])}
            for kind in sorted(kinds):
                self._claim(rest, f"line {part.events[a].span.line}", kind, [f"(< i{ends_of_loop[a][1]} d{a})"])
        return [script_of(writer), script_of(rest)]

    def _clock(self, writer: ScriptWriter, nodes: Sequence[Instant]) -> PipeClock:
        made = PipeClock(self.instants, self.ordered, nodes)
        made.written(writer)
        return made

    def _loop_clock(self, part: Stretch) -> tuple[PipeClock, list[tuple[int, int]]]:
        """The clock of `REACH` + 1 iterations, and each event in the first and the last of them."""
        start = self.world.free("turn", 0, None)
        nodes = [self.instants.at(part, event, start + i) for i in range(REACH + 1) for event in part.events]
        size = len(part.events)
        clock = PipeClock(self.instants, self.ordered, nodes)
        return clock, [(a, REACH * size + a) for a in range(size)]

    # ------------------------------------------------------------ pairs

    def _kinds(self, one: Instant, other: Instant) -> list[tuple[str, CopyTouch, CopyTouch]]:
        """Touches of two accesses, one of them writing, in one memory; the obligation of each pair."""
        first, second = one.event, other.event
        if not isinstance(first, (Copy, Use)) or not isinstance(second, (Copy, Use)):
            return []
        if first.pipe == second.pipe and first.pipe in self.ordered:
            return []
        found = []
        for a, b in product(first.touches, second.touches):
            read = {"surplus"} & {a.kind, b.kind}
            if not read and a.place.memory == b.place.memory and (a.writes or b.writes):
                kind = HAZARDS[2] if a.writes and b.writes else HAZARDS[0] if a.writes else HAZARDS[1]
                if kind != HAZARDS[2] or not accumulate(first, second):
                    found.append((kind, a, b))
        return found

    def _pair(self, writer: ScriptWriter, clock: PipeClock, earlier: int, later: int) -> None:
        """Two events of one clock: no byte in common, or the earlier one is done before the later one is issued."""
        one, other = clock.nodes[earlier], clock.nodes[later]
        for kind, a, b in self._kinds(one, other):
            parts = [f"(< i{later} d{earlier})", *self._one_byte(writer, one, a, other, b)]
            self._claim(writer, _named(one, other), kind, parts)

    def _waits(self, writer: ScriptWriter, clock: PipeClock, earlier: int, later: int, said: str) -> None:
        one, other = clock.nodes[earlier], clock.nodes[later]
        for kind in dict.fromkeys(kind for kind, _, _ in self._kinds(one, other)):
            self._claim(writer, f"{_named(one, other)}, {said}", kind, [f"(< i{later} d{earlier})"])

    def _apart(self, writer: ScriptWriter, one: Instant, other: Instant, said: str) -> None:
        for kind, a, b in self._kinds(one, other):
            self._claim(writer, f"{_named(one, other)}, {said}", kind, self._one_byte(writer, one, a, other, b))

    def _claim(self, writer: ScriptWriter, name: str, kind: str, parts: Sequence[str]) -> None:
        self.claims += 1
        if self.claims > MOST_QUESTIONS:
            raise NotCovered(f"more than {MOST_QUESTIONS:,} pairs of accesses")
        writer.claim(name, kind, conjunction(parts))

    def _one_byte(
        self, writer: ScriptWriter, one: Instant, first: CopyTouch, other: Instant, second: CopyTouch
    ) -> list[str]:
        """That two touches share a byte: an address of each by its own counters, and what holds where they are."""
        here, parts = self.instants.byte(writer.lines, one, first, "a")
        there, more = self.instants.byte(writer.lines, other, second, "b")
        return [f"(= {here} {there})", *dict.fromkeys((*parts, *more))]

    def _waited(self, clock: PipeClock, pairs: Sequence[tuple[int, int]]) -> list[bool]:
        """Whether the first is done before the second is issued, wherever they are: a guess at what to claim."""
        if not pairs:
            return []
        probe = ScriptWriter("", definitions())
        probe.lines = list(clock.lines)
        for a, b in pairs:
            probe.claim("", FLAGS, f"(< i{b} d{a})")
        (answers,) = answers_to([script_of(probe).text], self.rlimit)
        return [answer == "unsat" for answer in answers]


def _named(one: Instant, other: Instant) -> str:
    first, second = one.event, other.event
    assert isinstance(first, (Copy, Use))
    assert isinstance(second, (Copy, Use))
    return f"lines {first.span.line} and {second.span.line}"
