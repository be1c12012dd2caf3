"""The bytes that one access reaches: its numbers, where counters put it, its first byte and the one behind.

Knows: rows of a touch, ranges of symbols. Does not know: order, what is read or written there, machines.
Law: the ends are exact for rows that go one way, else they reach no less than the rows do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dmaverify.language.affine import Lin, World
from dmaverify.program.instructions import CopyTouch, Place


def terms_of(touch: CopyTouch) -> Iterable[Lin]:
    """All numbers that say what a touch has."""
    yield from (touch.place.address, touch.offset, touch.length)
    for step in touch.steps:
        yield from step


def placed(touch: CopyTouch, world: World, counters: Mapping[str, Lin]) -> CopyTouch:
    """The touch with values of some counters."""
    if not counters:
        return touch
    put = world.put
    at = touch.place
    place = Place(at.space, at.root, put(at.address, counters), at.item_bytes, at.dtype)
    steps = tuple((put(c, counters), put(s, counters)) for c, s in touch.steps)
    offset, length = put(touch.offset, counters), put(touch.length, counters)
    return CopyTouch(touch.kind, place, offset, length, steps, touch.pattern, touch.open, touch.why)


def reach_of(touch: CopyTouch, world: World) -> tuple[Lin, Lin]:
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


def solid(touch: CopyTouch) -> bool:
    """Whether a touch leaves no byte out between its first and its last."""
    extent = touch.length
    for count, stride in touch.steps:
        if not (count.is_const and stride.is_const and extent.is_const) or (
            count.const > 1 and not 0 <= stride.const <= extent.const
        ):
            return False
        extent = extent + stride * (count.const - 1)
    return True
