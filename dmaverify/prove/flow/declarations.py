"""Whether steps of a program agree what lies in the bytes that one writes and another reads.

Knows: the tensors that steps declare, what they touch, who comes before whom.
Does not know: moves, tiles, findings.
Law: nothing is said only of declarations that put the same elements on the same places, of bytes that no two steps
share, and of a write that another one surely replaces before the read. All else is named as a condition: the tensors
of a program have no names, so that another declaration of written bytes may be a reshape or a mistake.

Source: docs/machines/rngd.md 7.4 (a program's steps are related by the memory that they touch).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from dmaverify.language.expr import Expr
from dmaverify.layout.digits import NotDigits, digits_of
from dmaverify.program.indirect import Indirect
from dmaverify.program.schedule import Order, Step
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.flow.tile_outputs import cutting, dtypes_of, plain, sides_of
from dmaverify.prove.flow.touches import INDEX, StepWork, Touch, in_one_unit
from dmaverify.prove.meet import decided, difference
from dmaverify.targets.target import Target
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class DeclaredSide:
    """One side of a step: the tensor that it declares there, the bits of an element. `whole`: no view cuts it."""

    step: int
    tensor: Tensor
    bits: int
    whole: bool
    access: str = ""  # "fetch f0", of an operation; INDEX of a list


def read_otherwise(
    steps: Sequence[Step], works: Sequence[StepWork], order: Order, may_meet: Callable[[Sequence[Touch]], bool],
    target: Target,
) -> list[str]:  # fmt: skip
    """The conditions under which reads find what they declare: one for each pair of declarations that share bytes."""
    written, read = _sides(steps, target)
    out = []
    alike: dict[tuple[Tensor, int], list[DeclaredSide]] = {}
    for reads in read:
        key = reads.tensor, reads.bits
        if key not in alike:
            alike[key] = [one for one in written if same_places(one, reads)]
        same = {id(one) for one in alike[key]}
        for writes in written:
            if id(writes) in same or not _may_follow(order, writes.step, reads.step):
                continue
            replaced = any(_replaces(one, writes, reads, order) for one in alike[key])
            if not replaced and _share(writes, reads, works, may_meet):
                out.append(_condition(reads, writes, steps))
    return list(dict.fromkeys(out))


def _condition(reads: DeclaredSide, writes: DeclaredSide, steps: Sequence[Step]) -> str:
    names = [steps[one.step].name for one in (reads, writes)]
    return f"`{names[0]}` reads as {_said(reads)} what `{names[1]}` writes as {_said(writes)}"


def _may_follow(order: Order, writes: int, reads: int) -> bool:
    """Whether a read may come after a write: not where it always comes first, and no loop brings it again."""
    if order.steps_of_one_body(reads, writes):
        return True
    return writes != reads and not order.step_precedes(reads, writes)


def _sides(steps: Sequence[Step], target: Target) -> tuple[list[DeclaredSide], list[DeclaredSide]]:
    """What is written and what is read, in the order of the steps."""
    both: tuple[list[DeclaredSide], list[DeclaredSide]] = [], []
    for index, step in enumerate(steps):
        sides = zip(sides_of(step), dtypes_of(step), side_names(step), strict=True)
        for (tensor, _, view, writes), dtype, name in sides:
            whole = step.indirect is None and (view is None or not cutting(view))
            own = plain(tensor if view is None else view.base)
            both[not writes].append(DeclaredSide(index, own, target.dtypes[dtype], whole, name))
        if step.indirect is not None:
            both[1].append(list_of(index, step.indirect, target))
    return both


def list_of(step: int, move: Indirect, target: Target) -> DeclaredSide:
    """The list of a gather or scatter, as it is read."""
    return DeclaredSide(step, plain(move.index.tensor), target.dtypes[move.index.dtype], False, INDEX)


def side_names(step: Step) -> list[str]:
    """Each side as touches name it; a transfer's have no name."""
    return ["", ""] if step.transfer is not None else [f"{one.engine} {one.name}" for one in step.accesses]


def same_places(one: DeclaredSide, other: DeclaredSide) -> bool:
    """Whether both put the same elements on the same places."""
    a, b = one.tensor, other.tensor
    if (a.tier, a.base, one.bits) != (b.tier, b.base, other.bits):
        return False
    if any(getattr(a, f"at_{place}") != getattr(b, f"at_{place}") for place in PLACES[:-1]):
        return False
    return all(_alike(a.field(place), b.field(place)) for place in PLACES)


def _alike(one: Expr, other: Expr) -> bool:
    if one == other:
        return True
    try:
        return one.size == other.size and digits_of(one) == digits_of(other)
    except NotDigits:
        return False


def may_share(pair: Sequence[Touch]) -> bool:
    """Whether two touches of one memory may share a byte; yes may be wrong."""
    walks = in_one_unit(pair)
    return decided(difference(walks[0], walks[1])) != "unsat"


def _share(
    writes: DeclaredSide, reads: DeclaredSide, works: Sequence[StepWork], may_meet: Callable[[Sequence[Touch]], bool]
) -> bool:
    pairs = product(_touches(writes, works, writes=True), _touches(reads, works, writes=False))
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
