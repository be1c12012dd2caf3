"""Programs on symbolic numbers: steps that are ordered or touch other bytes, and outputs in tiles that are a ladder.

Knows: which pairs of steps nothing orders, how tiles of one step add up to an output, which hulls lie in regions.
Does not know: how a step is judged by itself, what hazards of steps that meet are.
Law: where this returns, no two steps race, every output in tiles is written once and to its end, regions hold what
lives in them, and no access runs beside DMA in slices, at every size at which the recorded facts hold. It errs to the
side of not proving: touches are taken as their bounding boxes over all iterations, and an output has one step that
writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, combinations_with_replacement
from typing import Any

from dmaverify.language.numbers import Poly, floor_quotient, moves, same
from dmaverify.lower.programs import space_of
from dmaverify.program.schedule import Order, Program
from dmaverify.prove.flow.accesses.declarations import DeclaredSide, declared_sides, read_otherwise, written_over
from dmaverify.prove.flow.accesses.overwritten import read_before
from dmaverify.prove.flow.accesses.touches import StepWork, Touch
from dmaverify.prove.flow.initialization.begun import there_at_sizes
from dmaverify.prove.flow.order.hazards import KINDS, unordered
from dmaverify.prove.flow.order.hazards_told import CONTEXTS_IN_ORDER, ONE_ENGINE, contexts_apart, engines_apart
from dmaverify.prove.flow.order.regions import regions_open
from dmaverify.prove.flow.starvation.concurrency import SECTION
from dmaverify.prove.meet import Walk
from dmaverify.prove.sizes.facts import SizeFact
from dmaverify.prove.sizes.judge import ladder, need
from dmaverify.prove.sizes.trace import Trace, plainly
from dmaverify.targets.target import Target


def judge_together(
    program: Program, works: Sequence[StepWork], order: Order, target: Target, trace: Trace
) -> tuple[str, ...]:
    """What steps make together, each of them right by itself: what that rests on. Raises Unproved."""
    need(not (why := regions_open(program, order, target)), "core/regions", why)
    unit = min((touch.unit_bits for work in works for touch in work.touches), default=8)
    launched = target.engines.launched
    pairs = unordered(program, works, order, launched=launched)
    need(pairs is not None, "core/hazard-raw", "the order of the steps could not be followed")
    for pair in pairs or ():
        first, second = (program.steps[touch.step].name for touch in pair)
        rule = KINDS[pair[0].writes, pair[1].writes]
        need(
            not _may_meet(target, unit, pair),
            rule,
            f"nothing orders `{first}` and `{second}`, and what they touch may meet",
        )
    if SECTION in target.raw:
        sliced = [b for b, work in enumerate(works) if any(target.tiers[t.memory[0]].is_sliced for t in work.touches)]
        for a, one in enumerate(program.steps):
            beside = any(program.steps[b].transfer is not None and order.concurrent(a, b) for b in sliced)
            why = f"`{one.name}` may run beside DMA: accesses in a row to a bank are counted at single sizes only"
            need(not (one.accesses and beside), f"{target.name}/bank-starvation", why)
    written, read = declared_sides(program.steps, target)
    _outputs(written, read, order)
    meets = partial(_may_meet_somewhere, trace, target, unit)
    rests = [
        *_written_again(program, written, read, order),
        *read_otherwise(program.steps, works, order, meets, target),
        *written_over(program.steps, works, order, meets, target),
    ]
    found = there_at_sizes(program, works, order, target)
    need(not found.denied, "core/definite", "".join(found.denied[:1]))
    rests += found.supposed
    many = len(pairs or ())
    for loose, said in (
        (engines_apart(program, works), ONE_ENGINE),
        (contexts_apart(program, works), CONTEXTS_IN_ORDER),
    ):
        more = unordered(program, *loose, launched=launched) if loose else None
        apart = loose and (more is None or len(more) > many or regions_open(program, loose[1], target))
        rests += [said] if apart else []
        many = len(more or ()) if loose else many
    return tuple(rests)


def _may_meet(target: Target, unit: int, pair: Sequence[Touch]) -> bool:
    """Whether two touches of one memory are not shown to be apart: by their ends, or by those within every slice."""
    return not any(apart() for apart in _ways_apart(target, unit, pair))


def _ways_apart(target: Target, unit: int, pair: Sequence[Touch]) -> Iterator[Callable[[], bool]]:
    one, other = (touch.walk.scaled(touch.unit_bits // unit) for touch in pair)
    yield lambda: bool(one.high < other.low or other.high < one.low)
    space = space_of(target, pair[0].memory[0])
    if "slice" in space.places:
        yield partial(_apart, one, other, space.stride("slice", unit))


def _may_meet_somewhere(trace: Trace, target: Target, unit: int, pair: Sequence[Touch]) -> bool:
    """As `_may_meet`, at any of the sizes that are known so far: a condition splits no region."""
    for apart in _ways_apart(target, unit, pair):
        known = dict(trace.facts)
        shown = apart()
        new, trace.facts = [fact for fact in trace.facts if fact not in known], known
        if shown and all(_holds_always(fact, trace) for fact in new):
            return False
    return True


def _holds_always(fact: SizeFact, trace: Trace) -> bool:
    """Whether a fact says nothing of the sizes: by the ends of their ranges, or because it grows from the least on."""
    said = trace.region([fact])
    if not said.floors and all(plainly(one, trace.ends) or one in trace.region().facts for one in said.facts):
        return True
    least = {name: Poly.symbol(name) + Poly.of(trace.ends.get(name, (0, None))[0]) for name in fact.poly.symbols}
    return fact.op == "ge" and all(n >= 0 for n in fact.poly.put(least).terms.values())


def _apart(a: Walk, b: Walk, room: int) -> bool:
    """Whether two walks touch other bytes of every slice: what steps by no whole slices stays within one of them."""
    inside = []
    for walk in (a, b):
        loops = tuple(x for x in walk.loops if not (isinstance(x[1], int) and x[1] % room == 0))
        inside.append(Walk(walk.base - room * floor_quotient(walk.base, room), loops))
        if not (inside[-1].low >= 0 and inside[-1].high < room):
            return False
    return bool(inside[0].high < inside[1].low or inside[1].high < inside[0].low)


Sides = Sequence[DeclaredSide]


def _read_before(first: DeclaredSide, second: DeclaredSide, read: Sides, order: Order) -> bool:
    """Whether what one side writes is read, as both declare it, before another one, or it again, writes it."""
    kinds = [(side.tensor, side.bits) for side in (first, second)]
    own = [one for one in read if one.all_ and all((one.tensor, one.bits) == kind for kind in kinds)]

    def has_all(write: DeclaredSide, steps: Sequence[int], every: Sequence[int]) -> bool:
        return any(one.reads(write, steps, every) for one in own)

    readers = {one.step: None for one in own if one.step not in (first.step, second.step)}
    return read_before(first, second, readers, order, has_all, in_place=first is second)


def _written_again(program: Program, written: Sides, read: Sides, order: Order) -> Iterator[str]:
    """Conditions: a tensor that is written whole is read whole before it is written again, in a later iteration too."""
    for one, other in combinations_with_replacement([side for side in written if not side.windows], 2):
        if one.tensor != other.tensor:
            continue
        if one is other:
            kept = _read_before(one, one, read, order) or not any(turn.count > 1 for turn in one.turns)
        else:
            first, second = (other, one) if order.step_precedes(other.step, one.step) else (one, other)
            kept = _read_before(first, second, read, order)
            if order.steps_of_one_body(one.step, other.step):  # the first comes around behind the second
                kept = kept and _read_before(second, first, read, order)
        if not kept:
            names = [program.steps[side.step].name for side in (one, other)]
            what = f"{one.tensor.tier} {one.tensor.element}"
            yield f"`{names[1]}` may write {what} again before all that `{names[0]}` wrote is read"


def _outputs(written: Sides, read: Sides, order: Order) -> None:
    tiled = [side for side in written if side.windows]
    for one, other in combinations(written, 2):
        shared = bool(tiled) and one.tensor == other.tensor
        need(not shared, "core/tiles-once", "several steps write an output that one of them writes in tiles")
    for side in tiled:
        _tiles(side)
        still = [turn for i, turn in enumerate(side.turns) if all(same(w.start.steps[i], 0) for w in side.windows)]
        anew = not _read_before(side, side, read, order) and any(turn.count > 1 for turn in still)
        need(not anew, "core/tiles-once", "a loop writes a tile again that no step of its body reads")


def _tiles(side: DeclaredSide) -> None:
    """The windows stand on digits apart, each loop moves one of them, and the starts of each are a ladder."""
    windows, moved = side.windows, set[int]()
    for one, two in combinations(windows, 2):
        apart = one.place != two.place or one.stride * one.room <= two.stride or two.stride * two.room <= one.stride
        need(apart, "core/tiles-once", "two tiles of one digit")
    for window in windows:
        turning = [i for i, turn in enumerate(side.turns) if moves(turn.count) and not same(window.start.steps[i], 0)]
        need(moved.isdisjoint(turning), "core/tiles-once", "a loop moves tiles of two digits")
        moved.update(turning)
        steps: Mapping[int, Any] = {i: abs(window.start.steps[i]) for i in turning}
        counts = [turn.count for turn in side.turns]
        reach = ladder(steps, counts, window.length, "core/tiles-once", "tiles leave gaps or meet")
        # every tile lies on its digit, each step by itself showed: so many values are all of them
        need(side.partial or reach >= window.size, "core/tiles-cover", "tiles do not reach the end of their digit")
