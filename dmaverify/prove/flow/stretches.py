"""Kernels as stretches of events, for questions about their order: events in a row, and bodies of loops.

Knows: which loops are one access with a level more, an event in an iteration, what is known of the symbols around it.
Does not know: what is asked of the order, machines.
Law: what the questions do not state (branches, loops in loops that order something, other cores, open extents) raises
NotCovered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dmaverify.language.affine import Cond, Lin, World, compare
from dmaverify.program.instructions import BufferToken, Copy, Event, Fence, KernelLoop, Signal, Use
from dmaverify.prove.flow.ask import Asker
from dmaverify.prove.flow.lifted import flattened
from dmaverify.prove.move.defined import NotCovered
from dmaverify.prove.move.script import Script, ScriptWriter
from dmaverify.values import dataclass, field, replace

MOST_EVENTS = 60  # of one kernel, in the text


@dataclass(frozen=True)
class Stretch:
    """Events in a row, or the body of a loop that orders something."""

    events: tuple[Event, ...]
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
    plain: list[Event] = []
    for event in events:
        if isinstance(event, KernelLoop) and flattened(event, world) is None:
            parts += [Stretch(tuple(plain)), Stretch(tuple(_plain(event.body, world, ordered)), event)]
            plain = []
        else:
            plain += _plain([event], world, ordered)
    parts = [part for part in (*parts, Stretch(tuple(plain))) if part.events]
    if sum(len(part.events) for part in parts) > MOST_EVENTS:
        raise NotCovered(f"more than {MOST_EVENTS} events")
    return parts


def _plain(events: Iterable[Event], world: World, ordered: frozenset[str]) -> Iterator[Event]:
    """Events without loops: a loop of accesses alone is each of them with one level more."""
    for event in events:
        if isinstance(event, KernelLoop):
            found = flattened(event, world)
            if found is None or any(one.pipe not in ordered for one in found):
                raise NotCovered("a loop within a loop, or of one access that nothing orders")
            yield from _plain(found, world, ordered)
        elif isinstance(event, (Copy, Use)):
            if any(touch.open for touch in event.touches) or (isinstance(event, Use) and _doubtful(event)):
                raise NotCovered("an access whose extent, place or order is not known")
            if not isinstance(event, Use) or event.pipe:
                yield event
        elif isinstance(event, Fence) or (isinstance(event, (Signal, BufferToken)) and not event.when):
            if isinstance(event, BufferToken) and event.mode != Lin(0):
                raise NotCovered("a token of another mode than 0")
            yield event
        else:
            raise NotCovered("branches, or another core")


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
        self, lines: list[str], terms: Iterable[Lin], nodes: Sequence[Instant], when: Sequence[Cond] = ()
    ) -> list[str]:
        """What is known of the symbols of terms and of where nodes are; the symbols are declared in `lines`."""
        held = [one for one in (*when, *(c for node in nodes for c in node.when)) if one.known is not True]
        names = {n for term in terms for n, _ in term.terms} | {n for one in held for n in one.symbols()}
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

    def at(self, part: Stretch, event: Event, turn: Lin) -> Instant:
        """An event in one iteration of its part, which is one that the loop has."""
        if part.loop is None:
            return Instant(event)
        counters = {part.loop.counter: turn}
        trip = self.world.put(part.loop.trip, counters)
        return Instant(event, counters, (compare("le", turn * -1), compare("lt", turn - trip)))

    def generic(self, part: Stretch, name: str, event: Event | None = None) -> Instant:
        return self.at(part, event or part.events[0], self.world.free(name, 0, None))


def script_of(writer: ScriptWriter, *, stronger: bool = True) -> Script:
    """Products of sizes and remainders may stand in what is known."""
    script = writer.script()
    steps = tuple(replace(step, stronger=stronger) for step in script.steps)
    return replace(script, text=script.text.replace("(set-logic QF_LIA)", "(set-logic ALL)", 1), steps=steps)
