"""Kernels as stretches of events, for questions about their order: events in a row, and bodies of loops.

Knows: which loops are one access with a level more, an event in an iteration, what is known of the symbols around it.
Does not know: what is asked of the order, machines.
Law: what the questions do not state (branches and loops in loops that order something, other cores, open extents)
raises NotCovered. Accesses of a branch are given to their pipes one behind the other, each with its condition: what is
not done orders nothing that would not be in order without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dmaverify.language.affine import Cond, Lin, World, compare
from dmaverify.program.instructions import (
    Arrival,
    Branch,
    BufferToken,
    Copy,
    CopyTouch,
    Event,
    Fence,
    KernelLoop,
    Release,
    Signal,
    Use,
)
from dmaverify.program.rewrite import every
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.lifted import flattened
from dmaverify.prove.flow.accesses.reached import placed, terms_of
from dmaverify.prove.move.defined import NotCovered
from dmaverify.prove.move.script import Script, ScriptWriter
from dmaverify.values import dataclass, field, replace

ORDERING = (Signal, Fence, BufferToken, Arrival, Release)
MOST_EVENTS = 60  # of one kernel, in the text


@dataclass(frozen=True)
class Stretch:
    """Events in a row, or the body of a loop that orders something. Accesses of one loop without order share a number
    other than 0 in `group`: what they do in turns is shown as all of one, then all of the next.
    """

    events: tuple[Event, ...]
    group: tuple[int, ...]
    loop: KernelLoop | None = None


@dataclass(frozen=True)
class Instant:
    """An event in one iteration: the values of counters, and what holds there."""

    event: Event
    counters: Mapping[str, Lin] = field(default_factory=dict)
    when: tuple[Cond, ...] = ()


def stretches_of(events: Sequence[Event], world: World, ordered: frozenset[str]) -> list[Stretch]:
    """The kernel as parts one behind the other. Raises NotCovered."""
    parts: list[Stretch] = []
    plain: list[tuple[Event, int]] = []
    for event in events:
        if isinstance(event, KernelLoop) and flattened(event, world) is None:
            parts += [_stretch(plain), _stretch(_plain(event.body, world, ordered), event)]
            _same_in_each_iteration([event.trip], world)
            plain = []
        else:
            plain += _plain([event], world, ordered)
    parts = [part for part in (*parts, _stretch(plain)) if part.events]
    if sum(len(part.events) for part in parts) > MOST_EVENTS:
        raise NotCovered(f"more than {MOST_EVENTS} events")
    return parts


def _stretch(events: Iterable[tuple[Event, int]], loop: KernelLoop | None = None) -> Stretch:
    found = list(events)
    return Stretch(tuple(event for event, _ in found), tuple(group for _, group in found), loop)


def _plain(events: Iterable[Event], world: World, ordered: frozenset[str]) -> Iterator[tuple[Event, int]]:
    """Events without loops, and their groups: a loop of accesses alone is each of them with one level more."""
    for event in events:
        if isinstance(event, KernelLoop):
            found = flattened(event, world)
            if found is None or any(one.pipe not in ordered for one in found):
                raise NotCovered("a loop within a loop, or of one access that nothing orders")
            yield from ((one, event.span.start + 1) for one, _ in _plain(found, world, ordered))
        elif isinstance(event, (Copy, Use)):
            if any(touch.open for touch in event.touches) or (isinstance(event, Use) and _doubtful(event)):
                raise NotCovered("an access whose extent, place or order is not known")
            _same_in_each_iteration([*(n for t in event.touches for n in terms_of(t)), *event.when], world)
            if not isinstance(event, Use) or event.pipe:
                yield event, 0
        elif isinstance(event, Fence) or (isinstance(event, (Signal, BufferToken)) and not event.when):
            if isinstance(event, BufferToken) and event.mode != Lin(0):
                raise NotCovered("a token of another mode than 0")
            if not isinstance(event, Fence):
                _same_in_each_iteration([event.event if isinstance(event, Signal) else event.token], world)
            yield event, 0
        elif isinstance(event, Branch) and not any(isinstance(one, ORDERING) for one in every((event,))):
            yield from _plain((*event.then, *event.other), world, ordered)  # each has the condition on which it is done
        else:
            raise NotCovered("branches that order something, or another core")


def _same_in_each_iteration(values: Iterable[Lin | Cond], world: World) -> None:
    """Raises NotCovered for values that memory gives anew in each iteration: one name stands for all of them."""
    if any(world.symbols[name].varies for value in values for name in world.roots(value)):
        raise NotCovered("values that memory gives in each iteration")


def _doubtful(event: Use) -> bool:
    return bool(event.inferred or event.foreign or event.at_once or event.step >= 0)


@dataclass(frozen=True)
class Instants:
    """Events in iterations of loops, and what is known there, as text."""

    asker: Asker

    @property
    def world(self) -> World:
        return self.asker.world

    def facts(
        self, lines: list[str], terms: Iterable[Lin], nodes: Sequence[Instant], when: Sequence[Cond] = (),
        named: Sequence[Cond] = (),
    ) -> list[str]:  # fmt: skip
        """What is known of the symbols of terms and of where nodes are; the symbols are declared in `lines`. `when`
        holds, of the conditions `named` nothing is said.
        """
        held = [one for one in (*when, *(c for node in nodes for c in node.when)) if one.known is not True]
        names = {n for term in terms for n, _ in term.terms} | {n for one in (*held, *named) for n in one.symbols()}
        needs = self.asker.needed(names) if names else []
        names |= {n for one in needs for n in one.symbols()}
        variables, facts = self.world.context(names)
        out = [*facts, *(self.world.cond_text(c) for c in (*held, *needs))]
        for name, low, end in variables:
            declared = f"(declare-const {name} Int)"
            if declared not in lines:
                lines.append(declared)
            out += [f"(<= {self.world.text(Lin(low))} {name})"] if low is not None else []
            out += [f"(< {name} {self.world.text(Lin(end))})"] if end is not None else []
        return out

    def byte(self, lines: list[str], node: Instant, touch: CopyTouch, side: str) -> tuple[str, list[str]]:
        """The address of any byte of a touch, by counters that begin with `side`, and what holds. Raises NotCovered."""
        here, parts = placed(touch, self.world, node.counters), []
        if not all(stride.is_const for _, stride in here.steps):
            raise NotCovered("rows at a distance that is no number")
        terms = [self.world.text(here.place.address + here.offset)]
        for index, (count, stride) in enumerate(here.steps):
            parts.append(_bounded(lines, f"{side}{index}", self.world.text(count)))
            terms.append(f"(* {self.world.text(stride)} {side}{index})")
        parts.append(_bounded(lines, f"{side}.byte", self.world.text(here.length)))
        when = [self.world.put_cond(c, node.counters) for c in getattr(node.event, "when", ())]
        numbers = [here.place.address, here.offset, here.length, *(count for count, _ in here.steps)]
        return f"(+ {' '.join(terms)} {side}.byte)", [*parts, *self.facts(lines, numbers, [node], when)]

    def at(self, part: Stretch, event: Event, turn: Lin) -> Instant:
        """An event in one iteration of its part, which is one that the loop has."""
        if part.loop is None:
            return Instant(event)
        counters = {part.loop.counter: turn}
        trip = self.world.put(part.loop.trip, counters)
        return Instant(event, counters, (compare("le", turn * -1), compare("lt", turn - trip)))

    def generic(self, part: Stretch, name: str, event: Event | None = None) -> Instant:
        return self.at(part, event or part.events[0], self.world.free(name, 0, None))


def _bounded(lines: list[str], name: str, count: str) -> str:
    if f"(declare-const {name} Int)" not in lines:
        lines.append(f"(declare-const {name} Int)")
    return f"(core/in-range {name} {count})"


def script_of(writer: ScriptWriter, *, stronger: bool = True) -> Script:
    """Products of sizes and remainders may stand in what is known."""
    script = writer.script()
    steps = tuple(replace(step, stronger=stronger) for step in script.steps)
    return replace(script, text=script.text.replace("(set-logic QF_LIA)", "(set-logic ALL)", 1), steps=steps)
