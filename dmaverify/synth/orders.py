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

from dmaverify.synth.regions import Atom
from dmaverify.synth.space import Machine, Nested


def preferred(items: Sequence[Nested], machine: Machine, prefix: Sequence[str] = ()) -> Iterator[tuple[Atom, ...]]:
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


def _orders(loops: Sequence[Atom], machine: Machine) -> Iterator[list[Atom]]:
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
