"""Loop summaries: loops that only read and write, as single accesses with one more level of rows.

Knows: constant distances between iterations, first and last bytes, which accesses may share a byte by those.
Does not know: machines, flags, what an access is compared with.
Law: the lifted accesses touch exactly the bytes that the iterations touch. What a loop does not say so plainly, or what
values decide that another iteration may change, stays a loop. Accesses that are not `near` share no byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf

from dmaverify.language.affine import ONE, ZERO, Cond, Lin, World, compare
from dmaverify.program.instructions import Copy, CopyTouch, KernelLoop, Use
from dmaverify.prove.meet import Walk
from dmaverify.values import replace

MOST_ACCESSES = 64


def flattened(loop: KernelLoop, world: World) -> list[Copy | Use] | None:
    """The accesses of a loop without order, each with all its iterations as levels more; None for any other loop."""
    out: list[Copy | Use] = []
    if world.loaded(loop.trip) or any(world.symbols[n].varies for n in world.roots(loop.trip)):
        return None  # how often it runs is another number each time
    for event in loop.body:
        own = [event] if isinstance(event, Copy) or (isinstance(event, Use) and not event.at_once) else None
        inner = flattened(event, world) if isinstance(event, KernelLoop) else own
        if inner is None or len(out) > MOST_ACCESSES:
            return None
        out += inner
    kept: list[Copy | Use] = []
    runs = compare("lt", -loop.trip)
    own_runs = () if world.decide(runs) else (runs,)
    for event in out:
        touches = [_whole(touch, loop, world) for touch in event.touches]
        if None in touches or any(_moves(c, loop.counter, world) for c in event.when):
            return None
        whole = tuple(t for t in touches if t is not None)
        kept.append(replace(event, touches=whole, when=(*event.when, *own_runs)))
    return kept


def _whole(touch: CopyTouch, loop: KernelLoop, world: World) -> CopyTouch | None:
    """All iterations of a touch, also of one that stays in its place."""
    made = _lifted(touch, loop, world)
    if made is None or made is not touch:
        return made
    return replace(touch, steps=(*touch.steps, (loop.trip, ZERO)))


def _moves(value: Lin | Cond, counter: str, world: World) -> bool:
    return counter in world.roots(value) or world.changes(value, (counter,))


def _lifted(touch: CopyTouch, loop: KernelLoop, world: World) -> CopyTouch | None:
    address = touch.place.address
    factor = dict(address.terms).get(loop.counter, 0)
    rest = address - Lin(0, ((loop.counter, factor),)) if factor else address
    others = (rest, touch.offset, touch.length, *(x for step in touch.steps for x in step))
    if any(_moves(x, loop.counter, world) for x in others) or touch.open:
        return None
    if not factor:
        return touch
    return replace(touch, place=replace(touch.place, address=rest), steps=(*touch.steps, (loop.trip, Lin(factor))))


def near(events: Sequence[Copy | Use], world: World, ordered: Collection[str]) -> dict[int, frozenset[int]]:
    """Of every access, by its number, those that may share a byte with it, one of them writing: by their first and last
    bytes. What one of the pipes `ordered` does with itself is left out.
    """
    by_memory: dict[tuple[str, str], dict[tuple[float, float, bool, str], set[int]]] = {}
    own: dict[int, set[tuple[tuple[str, str], tuple[float, float, bool, str]]]] = {}
    for event in events:
        for touch in event.touches:
            low, end = ends_of(touch, world)
            alike = -inf if low is None else low, inf if end is None else end, touch.writes, event.pipe
            by_memory.setdefault(touch.place.memory, {}).setdefault(alike, set()).add(event.number)
            own.setdefault(event.number, set()).add((touch.place.memory, alike))
    meets: dict[tuple[tuple[str, str], tuple[float, float, bool, str]], list[set[int]]] = {}
    for memory, members in by_memory.items():
        open_: list[tuple[float, float, bool, str]] = []
        for this in sorted(members):
            open_ = [other for other in open_ if other[1] > this[0]]
            for other in (*open_, this):
                if (this[2] or other[2]) and not (this[3] == other[3] and this[3] in ordered):
                    for one, its in ((this, other), (other, this)):
                        meets.setdefault((memory, one), []).append(members[its])
            open_.append(this)
    together: dict[frozenset[object], frozenset[int]] = {}  # those of accesses that lie alike are one set
    found: dict[int, frozenset[int]] = {}
    for number, keys in own.items():
        key = frozenset(keys)
        if key not in together:
            together[key] = frozenset().union(*(others for one in keys for others in meets.get(one, ())))
        if together[key]:
            found[number] = together[key]
    for event in events:
        if _at_once(event) and any(touch.writes for touch in event.touches):
            found[event.number] = found.get(event.number, frozenset()) | {event.number}
    return found


def _at_once(event: Copy | Use) -> bool:
    return isinstance(event, Use) and event.at_once


def rows_apart(
    levels: Sequence[tuple[Lin, Lin]], extent: Lin, world: World, at_most: Callable[[Lin, Lin], bool] | None = None
) -> bool:
    """Whether no two rows of a nest (count, stride) share a byte: in some order each level steps over all that lies
    within it. Without `at_most`, ranges alone say what is at most what.
    """
    if at_most is None:
        return rows_apart(levels, extent, world, lambda a, b: world.decide(compare("le", a - b)) is True)
    left = [level for level in levels if level[0] != ONE]
    return not left or any(
        at_most(extent, stride)
        and rows_apart([*left[:i], *left[i + 1 :]], world.times(count - ONE, stride) + extent, world, at_most)
        for i, (count, stride) in enumerate(left)
    )


def ends_of(touch: CopyTouch, world: World) -> tuple[int | None, int | None]:
    """First byte and first byte behind all that a touch can reach, whatever the symbols are; None where it is open.
    One of no rows reaches nothing: a stride that is never negative reaches no byte before the first row.
    """
    if touch.open:
        return None, None
    first = touch.place.address + touch.offset
    low, high = world.interval(first)[0], world.interval(first + touch.length)[1]
    for count, stride in touch.steps:
        (least, most), others = world.interval(stride), world.interval(count - 1)[1]
        if least is None or least < 0:
            low = None if low is None or least is None or others is None else low + min(0, least * others)
        if most is None or most > 0:
            high = None if high is None or most is None or others is None else high + max(0, most * others)
    return low, high


def walk_of(touch: CopyTouch, base: int) -> Walk | None:
    """The bytes of a touch whose lengths and strides are numbers, its first row at `base`; None for another one."""
    if not touch.length.is_const or not all(c.is_const and s.is_const for c, s in touch.steps):
        return None
    if any(count.const < 1 for count, _ in touch.steps):
        return None
    loops = tuple((count.const, stride.const) for count, stride in reversed(touch.steps) if count.const > 1)
    return Walk(base, (*loops, (touch.length.const, 1)))
