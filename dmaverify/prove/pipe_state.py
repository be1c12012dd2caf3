"""The state of a kernel's pipes between two events, and the bytes that one access reaches.

Knows: flags and what they carry, accesses and who knows them, first and last bytes of touches.
Does not know: events, loops, how a state comes about, machines.
Law: states with the same key behave alike from there on; where two accesses become one, it is known only to those who
knew both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dmaverify.transfer.affine import Cond, Lin, World
from dmaverify.transfer.instructions import Branch, Copy, Event, Loop, Touch, Use

Ages = tuple[tuple[str, str, int], ...]  # (loop, "now" | "end", age); an age of OLD means OLD or more
Instance = tuple[int, Ages]
Flagged = tuple[str, str, int]


@dataclass(frozen=True)
class State:
    """What is outstanding and known; `pending` maps an access to the pipes that know it, `facts` hold on this path."""

    flags: Mapping[Flagged, tuple[frozenset[Instance], int]]
    pending: Mapping[Instance, frozenset[str]]
    tokens: Mapping[int, frozenset[Instance]]
    facts: tuple[Cond, ...] = ()

    def key(self) -> Any:
        return (
            frozenset((k, v[0]) for k, v in self.flags.items()),
            frozenset(self.pending.items()),
            frozenset(self.tokens.items()),
            self.facts,
        )


EMPTY = State({}, {}, {})


def renamed(state: State, change: Any) -> State:
    """Instances under new names. Where several become one, a pipe or flag knows the one only if it knew them all."""
    groups: dict[Instance, list[Instance]] = {}
    for instance in state.pending:
        groups.setdefault(change(instance), []).append(instance)

    def known(done: frozenset[Instance]) -> frozenset[Instance]:
        return frozenset(new for new, old in groups.items() if all(i in done for i in old))

    pending = {new: frozenset.intersection(*(state.pending[i] for i in old)) for new, old in groups.items()}
    flags = {k: (known(v[0]), v[1]) for k, v in state.flags.items()}
    return State(flags, pending, {k: known(v) for k, v in state.tokens.items()}, state.facts)


def placed(touch: Touch, world: World, counters: Mapping[str, Lin]) -> Touch:
    if not counters:
        return touch
    place = replace(touch.place, address=world.put(touch.place.address, counters))
    steps = tuple((world.put(c, counters), world.put(s, counters)) for c, s in touch.steps)
    return replace(
        touch,
        place=place,
        offset=world.put(touch.offset, counters),
        length=world.put(touch.length, counters),
        steps=steps,
    )


def reach_of(touch: Touch, world: World) -> tuple[Lin, Lin]:
    """First byte and first byte behind, counted from where the first row starts."""
    low, high = Lin(0), touch.length
    for count, stride in touch.steps:
        reach = world.times(count - 1, stride)
        ends = world.interval(reach)
        if ends[0] is None or ends[0] < 0:
            low = low + world.least(reach, Lin(0))
        if ends[1] is None or ends[1] > 0:
            high = high + world.least(reach, Lin(0), most=True)
    return low, high


def numbers_of(touch: Touch) -> tuple[int | None, int]:
    """First byte and first byte behind; None where a number is a symbol or the extent is not known."""
    terms = [touch.place.address, touch.offset, touch.length, *(x for step in touch.steps for x in step)]
    if any(term.terms for term in terms) or touch.open:
        return None, 0
    low = high = touch.place.address.const + touch.offset.const
    for count, stride in touch.steps:
        reach = (count.const - 1) * stride.const
        low, high = low + min(0, reach), high + max(0, reach)
    return low, high + touch.length.const


def solid(touch: Touch) -> bool:
    """Whether a touch leaves no byte out between its first and its last."""
    extent = touch.length
    for count, stride in touch.steps:
        if not (count.is_const and stride.is_const and extent.is_const) or (
            count.const > 1 and not 0 <= stride.const <= extent.const
        ):
            return False
        extent = extent + stride * (count.const - 1)
    return True


def pipes_of(events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, (Copy, Use)):
            yield event.pipe
        elif isinstance(event, Loop):
            yield from pipes_of(event.body)
        elif isinstance(event, Branch):
            yield from pipes_of(event.then)
            yield from pipes_of(event.other)


def shown_flag(flag: Flagged) -> str:
    return f"[{flag[0]}, {flag[1]}, {flag[2]}]"
