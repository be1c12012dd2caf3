"""Work on tiles that a text gives to both cores of a block: what the two may do to each other.

Knows: sections of the cube core, which accesses and orders stand in them and which do not.
Does not know: how anything is proved, what flags between the cores order.
Law: the two run beside each other, and the text is judged as one order: bytes that both touch, where one writes, and
flags or barriers beside the work of the other, are a remark. What a called function does for both is of both.

Source: PTO IR manual (core-specific sections).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.machines.pto.ops import PARTS, Block, Stmt, deep
from dmaverify.program.instructions import BufferToken, Copy, CopyTouch, Event, Fence, Remark, Signal, Use
from dmaverify.program.rewrite import every

SECTION = "pto.section.cube"


def beside_each_other(body: Sequence[Stmt], events: Sequence[Event]) -> Iterator[Remark]:
    """A remark where the sections of the cube core, and what stands outside of them, are no two kernels."""
    sections = [s for s in deep(body) if isinstance(s, Block) and s.what == SECTION]
    if not sections:
        return
    inside = {s.span.start for section in sections for s in deep(section.body)}
    outside = {s.span.start for s in _outside(body)}
    sides = [[e for e in every(events) if e.span.start in starts] for starts in (inside, outside)]
    touched = [[t for e in side for t in _touches(e)] for side in sides]
    if not all(touched):
        return
    both = next((one for one in touched[0] for two in touched[1] if _may_meet(one, two)), None)
    ordered = any(isinstance(e, (Signal, Fence, BufferToken)) for side in sides for e in side)
    if both is not None:
        name = both.place.root or both.place.space.upper()
        said = f"it runs beside the rest, on the other core, and both touch `{name}`: what orders them is not followed"
        yield Remark("unresolved", f"{SECTION}: {said}", sections[0].span, "make each side a function of its own")
    elif ordered:
        said = "it runs beside the rest, on the other core: which flags and barriers are whose is not followed"
        yield Remark("unresolved", f"{SECTION}: {said}", sections[0].span, "make each side a function of its own")


def _outside(body: Sequence[Stmt]) -> Iterator[Stmt]:
    for stmt in body:
        if not (isinstance(stmt, Block) and stmt.what == SECTION):
            yield stmt
            for part in PARTS:
                yield from _outside(getattr(stmt, part, ()))


def _touches(event: Event) -> Sequence[CopyTouch]:
    """The bytes that it touches; the cells of boxes stand for some of them once more."""
    if not isinstance(event, Copy) and not (isinstance(event, Use) and event.pipe):
        return ()
    return [touch for touch in event.touches if not touch.place.space.startswith("cells of ")]


def _may_meet(one: CopyTouch, two: CopyTouch) -> bool:
    """Whether two accesses are of one memory, and one writes. Tiles without an address lie apart."""
    if one.place.memory != two.place.memory or not (one.writes or two.writes):
        return False
    ends = (one.place.address, two.place.address)
    return bool(one.place.root) or one.place.space != "tiles" or ends[0] == ends[1]
