"""Orders of loops worth trying first, from how memories are built.

Knows: steps of loops on either side, distances at which another DMN begins.
Does not know: costs; which order wins.
Law: every order given is a permutation of the loops; the list is short and its order fixed. Nothing is left out for
good: the
search goes through the others when none of these meets the floor.

Source: "DMA Engine", Examples 2 and 4; "Memory Performance", Optimizing DMA Performance and Bank Conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from dmaverify.synth.atoms import Atom
from dmaverify.synth.space import Nested, SynthMachine


def preferred(items: Sequence[Nested], machine: SynthMachine, prefix: Sequence[str] = ()) -> Iterator[tuple[Atom, ...]]:
    """A few orders, the most promising first; with a prefix, all of them begin with it."""
    longest = max(items, key=lambda item: len(item.loops))
    loops = longest.loops
    first = [a for text in prefix for a in loops if a.label == text.replace(" ", "")]
    if len(first) < len(prefix):
        return
    rest = [a for a in loops if a not in first]
    seen = set()
    for order in _orders(rest, machine):
        whole = (*first, *order)
        if whole not in seen:
            seen.add(whole)
            yield whole


def _orders(loops: Sequence[Atom], machine: SynthMachine) -> Iterator[list[Atom]]:
    side = "write" if "slice" not in machine.spaces[1].places else "read"
    far = max(machine.cuts, default=0)
    by_hbm = sorted(loops, key=lambda a: -abs(getattr(a, side)))
    across = [a for a in by_hbm if far and any(step and step % far == 0 for step in (a.read, a.write))]
    plain = [a for a in by_hbm if a not in across]
    yield plain + across
    for inner in (1, 2):
        if 0 < inner < len(plain) and across:
            yield plain[:-inner] + across + plain[-inner:]
    yield by_hbm
    yield sorted(loops, key=lambda a: -abs(a.write))
    yield sorted(loops, key=lambda a: -abs(a.read))
    yield sorted(plain, key=lambda a: -abs(a.write)) + across


def neighbours(order: Sequence[Atom]) -> Iterator[tuple[Atom, ...]]:
    """Every order with one loop moved elsewhere, each once."""
    seen = {tuple(order)}
    for index, atom in enumerate(order):
        rest = (*order[:index], *order[index + 1 :])
        for at in range(len(order)):
            other = (*rest[:at], atom, *rest[at:])
            if other not in seen:
                seen.add(other)
                yield other


def arranged(item: Nested, order: Sequence[Atom]) -> list[Atom]:
    """The loops of a part in the order of another part's: by piece of axis, then by axis, then as they are."""
    exact = {(a.axis, a.weight): i for i, a in reversed(list(enumerate(order)))}
    axis = {a.axis: i for i, a in reversed(list(enumerate(order)))}
    place = {id(a): exact.get((a.axis, a.weight), axis.get(a.axis, -1)) for a in item.loops}
    return sorted(item.loops, key=lambda a: place[id(a)])


def fits(order: Sequence[Atom], prefix: Sequence[str]) -> bool:
    """Whether the order starts with the loops named."""
    return [a.label for a in islice(order, len(prefix))] == [text.replace(" ", "") for text in prefix]
