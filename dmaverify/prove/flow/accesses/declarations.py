"""Whether steps of a program agree what lies in the bytes that one writes and another reads, or writes over.

Knows: the tensors that steps declare, what they touch, who comes before whom.
Does not know: moves, what tiles of one declaration make together, findings.
Law: nothing is said only of declarations that put the same elements on the same places, of bytes that no two steps
share, of a write that another one surely replaces before the read, and of bytes that are written over after a step
read all that was written. All else is named as a condition: the tensors of a program have no names, so that another
declaration of written bytes may be a reshape, memory used again, or a mistake.

Source: docs/machines/rngd.md 7.4 (a program's steps are related by the memory that they touch).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import product

from dmaverify.program.indirect import Indirect
from dmaverify.program.schedule import Order, Step
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.program.turns import Turn
from dmaverify.program.views import TileWindow
from dmaverify.prove.flow.accesses.overwritten import read_before
from dmaverify.prove.flow.accesses.sides import cutting, dtypes_of, places_of, plain, sides_of, whole_readers
from dmaverify.prove.flow.accesses.touches import INDEX, Memory, StepWork, Touch, in_one_unit
from dmaverify.prove.meet import decided, difference
from dmaverify.targets.target import Target
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class DeclaredSide:
    """One side of a step: the tensor that it declares there, the bits of an element. `whole`: no view cuts it. `all_`:
    it reads all that its view shows.
    """

    step: int
    tensor: Tensor
    bits: int
    whole: bool
    access: str = ""  # "fetch f0", of an operation; INDEX of a list
    all_: bool = False
    windows: tuple[TileWindow, ...] = ()
    turns: tuple[Turn, ...] = ()
    partial: bool = False  # says that it leaves a part on purpose

    def reads(self, write: DeclaredSide, steps: Collection[int], every: Collection[int] = ()) -> bool:
        """Of one that reads all that it shows of what another one writes: whether that is all of it, at the iteration
        of the write in some steps, in every iteration in others.
        """
        if not self.windows:
            return self.step in steps or self.step in every
        return self.step in steps and (self.windows, self.turns) == (write.windows, write.turns)


def read_otherwise(
    steps: Sequence[Step], works: Sequence[StepWork], order: Order, may_meet: Callable[[Sequence[Touch]], bool],
    target: Target,
) -> list[str]:  # fmt: skip
    """The conditions under which reads find what they declare: one for each pair of declarations that share bytes."""
    written, read = declared_sides(steps, target)
    spans = [_spans(_touches(one, works, writes=True)) for one in written]
    out = []
    alike: dict[tuple[Tensor, int], list[DeclaredSide]] = {}
    for reads in read:
        key = reads.tensor, reads.bits
        if key not in alike:
            alike[key] = [one for one in written if same_places(one, reads)]
        same = {id(one) for one in alike[key]}
        span = _spans(_touches(reads, works, writes=False))
        for writes, other in zip(written, spans, strict=True):
            if id(writes) in same or not _near(span, other) or not _may_follow(order, writes.step, reads.step):
                continue
            replaced = any(_replaces(one, writes, reads, order) for one in alike[key])
            if not replaced and _share((writes, reads), works, may_meet):
                out.append(_condition(reads, writes, steps))
    return list(dict.fromkeys(out))


def written_over(
    steps: Sequence[Step], works: Sequence[StepWork], order: Order, may_meet: Callable[[Sequence[Touch]], bool],
    target: Target,
) -> list[str]:  # fmt: skip
    """The conditions under which nobody needs what a step writes over: one for each pair of declarations that share
    bytes. Of one declaration the tiles of a program are judged (`tiles`).
    """
    written, read = declared_sides(steps, target)
    kinds: dict[tuple[Tensor, int], int] = {}
    kind = [kinds.setdefault((one.tensor, one.bits), len(kinds)) for one in written]
    spans = [_spans(_touches(one, works, writes=True)) for one in written]
    takers: dict[int, list[DeclaredSide]] = {}
    out = []
    for i, j in product(range(len(written)), repeat=2):
        first, second = written[i], written[j]
        if kind[i] == kind[j] or not _near(spans[i], spans[j]) or not _may_follow(order, first.step, second.step):
            continue
        if not _share((first, second), works, may_meet, writes=True):
            continue
        if kind[i] not in takers:
            takers[kind[i]] = [one for one in read if one.all_ and same_places(one, first)]

        def has_all(write: DeclaredSide, steps: Sequence[int], every: Sequence[int], i: int = i) -> bool:
            return write is written[i] and any(one.reads(write, steps, every) for one in takers[kind[i]])

        if not read_before(first, second, {one.step: None for one in takers[kind[i]]}, order, has_all):
            names = [steps[one.step].name for one in (second, first)]
            what = f"what `{names[1]}` wrote as {_said(first)}"
            out.append(f"`{names[0]}` writes as {_said(second)} over {what}, not all of it read before")
    return list(dict.fromkeys(out))


def _spans(touches: Sequence[Touch]) -> dict[Memory, tuple[int, int]] | None:
    """The ends of what is touched in each memory, in half bytes; None where one of them is a symbol."""
    out: dict[Memory, tuple[int, int]] = {}
    for touch in touches:
        low, high = touch.walk.low, touch.walk.high
        if not (isinstance(low, int) and isinstance(high, int)):
            return None
        width = touch.unit_bits // 4
        before = out.get(touch.memory, (low * width, high * width))
        out[touch.memory] = min(before[0], low * width), max(before[1], (high + 1) * width - 1)
    return out


def _near(one: dict[Memory, tuple[int, int]] | None, other: dict[Memory, tuple[int, int]] | None) -> bool:
    """Whether two sides may share a byte, by their ends."""
    if one is None or other is None:
        return True
    return any(m in other and low <= other[m][1] and other[m][0] <= high for m, (low, high) in one.items())


def _condition(reads: DeclaredSide, writes: DeclaredSide, steps: Sequence[Step]) -> str:
    names = [steps[one.step].name for one in (reads, writes)]
    return f"`{names[0]}` reads as {_said(reads)} what `{names[1]}` writes as {_said(writes)}"


def _may_follow(order: Order, writes: int, reads: int) -> bool:
    """Whether a read may come after a write: not where it always comes first, and no loop brings it again."""
    if order.steps_of_one_body(reads, writes):
        return True
    return writes != reads and not order.step_precedes(reads, writes)


def declared_sides(steps: Sequence[Step], target: Target) -> tuple[list[DeclaredSide], list[DeclaredSide]]:
    """What is written and what is read, in the order of the steps."""
    both: tuple[list[DeclaredSide], list[DeclaredSide]] = [], []
    for index, step in enumerate(steps):
        sides = zip(sides_of(step), dtypes_of(step), side_names(step), whole_readers(step, target), strict=True)
        for (tensor, views, view, writes), dtype, name, all_ in sides:
            windows = () if view is None else tuple(cutting(view))
            own = plain(tensor if view is None else view.base)
            turns = () if views is None else views.turns
            whole, partial = step.indirect is None and not windows, view is not None and view.partial
            one = DeclaredSide(index, own, target.dtypes[dtype], whole, name, all_, windows, turns, partial)
            both[not writes].append(one)
        if step.indirect is not None:
            both[1].append(list_of(index, step.indirect, target))
    return both


def list_of(step: int, move: Indirect, target: Target) -> DeclaredSide:
    """The list of a gather or scatter, as it is read."""
    return DeclaredSide(step, plain(move.index.tensor), target.dtypes[move.index.dtype], False, INDEX, all_=True)


def side_names(step: Step) -> list[str]:
    """Each side as touches name it; a transfer's have no name."""
    return ["", ""] if step.transfer is not None else [f"{one.engine} {one.name}" for one in step.accesses]


def same_places(one: DeclaredSide, other: DeclaredSide) -> bool:
    """Whether both put the same elements on the same places."""
    a, b = one.tensor, other.tensor
    return one.bits == other.bits and (a == b or places_of(a) == places_of(b))


def may_share(pair: Sequence[Touch]) -> bool:
    """Whether two touches of one memory may share a byte; yes may be wrong."""
    walks = in_one_unit(pair)
    return decided(difference(walks[0], walks[1])) != "unsat"


def _share(
    both: tuple[DeclaredSide, DeclaredSide], works: Sequence[StepWork], may_meet: Callable[[Sequence[Touch]], bool],
    *, writes: bool = False,
) -> bool:  # fmt: skip
    """Whether a write and a read, or with `writes` two writes, may share a byte."""
    pairs = product(_touches(both[0], works, writes=True), _touches(both[1], works, writes=writes))
    return any(one.memory == other.memory and may_meet((one, other)) for one, other in pairs)


def _touches(side: DeclaredSide, works: Sequence[StepWork], *, writes: bool) -> list[Touch]:
    own = (touch for touch in works[side.step].touches if touch.writes == writes)
    return [touch for touch in own if touch.what == side.access or (not side.access and touch.what != INDEX)]


def _replaces(one: DeclaredSide, writes: DeclaredSide, reads: DeclaredSide, order: Order) -> bool:
    """Whether a step, which declares as it is read what it writes, writes all of it after the other write and before
    the read.
    """
    if one.step in (writes.step, reads.step) or not one.whole:
        return False
    around = order.steps_of_one_body(reads.step, writes.step)
    if around and not order.steps_of_one_body(one.step, writes.step):
        return False  # the other write comes again, between two reads
    between = order.step_precedes(one.step, writes.step) and order.step_precedes(writes.step, reads.step)
    return order.step_precedes(one.step, reads.step) and not between


def _said(one: DeclaredSide) -> str:
    shown = (p for p in PLACES if p == "element" or one.tensor.field(p).size > 1)
    fields = [f"{place} `{one.tensor.field(place)}`" for place in shown]
    return f"{one.tensor.tier} {', '.join(fields)} at {one.tensor.base:,}"
