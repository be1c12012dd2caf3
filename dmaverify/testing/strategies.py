"""Hypothesis strategies for mappings, moves, streams, plans and faults; and the same from a seed.

Knows: how Hypothesis draws. Does not know: what is drawn (`random_mappings`, `random_plans`, `fault_kinds`).
Law: a strategy and its seeded twin draw from one generator, so whatever Hypothesis finds can be drawn by hand as well.

    from dmaverify.testing import plans, with_fault

    @given(plans("rngd", valid=True))
    def test_my_checker_accepts(plan): ...

    with_fault(plan, "stride").broke        # 'write stride of entry 1 of command 0: 2048 instead of 1024'
    plan.text("rngd")                       # the plan file, to look at or to keep
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from dmaverify.language.expr import Expr
from dmaverify.program.move import Stream
from dmaverify.program.tensor import Tensor
from dmaverify.targets.target import Target
from dmaverify.testing import random_mappings as mapping_room
from dmaverify.testing import random_moves as move_room
from dmaverify.testing import random_plans as plan_room
from dmaverify.testing.draw import Draw, known, machine_of
from dmaverify.testing.drawn_plan import DrawnPlan
from dmaverify.testing.fault_kinds import FAULTS, NotApplicable, with_fault
from dmaverify.testing.random_moves import DrawnMove

T = TypeVar("T")


class _Drawn(Draw):
    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))


def drawn(make: Callable[[Draw], T]) -> SearchStrategy[T]:
    """The strategy of what `make` builds from a source of choices; smaller choices first when Hypothesis shrinks."""

    @st.composite
    def strategy(draw: DrawFn) -> T:
        return make(_Drawn(draw))

    return strategy()


def axes(most: int = 3, size: int = 6) -> SearchStrategy[dict[str, int]]:
    """One to `most` axes, named from `A`, of 1 to `size` elements each."""
    return drawn(lambda draw: mapping_room.axes(draw, most, size))


def mappings(
    sizes: Mapping[str, int] | None = None,
    *,
    depth: int = 3,
    most: int = 64,
    illegal: bool = False,
    windows: bool = False,
) -> SearchStrategy[Expr]:
    """Mappings of at most `most` positions, of every constructor (`windows`: also `$(e:n, ...)`).

    `sizes` are the axes to use, random ones without. `illegal`: mappings with exactly one node that breaks a
    precondition (see `mapping_room.ILLEGAL` for which); `wellformed.problems` finds it, and nothing may crash on it.
    """

    def make(draw: Draw) -> Expr:
        known = dict(sizes) if sizes is not None else mapping_room.axes(draw)
        if illegal:
            return mapping_room.illegal_mapping(draw, known, depth)[0]
        return mapping_room.mapping(draw, known, depth, most=most, windows=windows)

    return drawn(make)


def tensors(target: Target | str | None = None, tier: str = "hbm") -> SearchStrategy[Tensor]:
    """Tensors on one tier of `target` (RNGD): places within the tier's sizes, a base, elements of 8 bits."""
    machine = machine_of(target)
    known([tier], machine.tiers, "tier")
    dtype = next(name for name, bits in machine.dtypes.items() if bits == 8)

    def make(draw: Draw) -> Tensor:
        sizes = mapping_room.axes(draw)
        terms: list[Expr] = [mapping_room.mapping(draw, {name: size}, 2, most=8) for name, size in sizes.items()]
        return move_room.tensor(draw, machine, tier, dtype, terms) or Tensor(tier, terms[0])

    return drawn(make)


def moves(
    target: Target | str | None = None, *, valid: bool | None = None, tiers: Sequence[str] = ()
) -> SearchStrategy[DrawnMove]:
    """Moves between two tiers (those of `target`, or some of them): source, destination, dtype, and a stream where
    one fits.

    `valid=True`: compatible cuts, paddings that agree. Otherwise also incompatible cuts, any padding, any mapping.
    """
    machine = machine_of(target)
    known(tiers, machine.tiers, "tier")
    return drawn(lambda draw: move_room.move(draw, machine, valid=valid, tiers=tiers))


def streams(target: Target | str | None = None) -> SearchStrategy[tuple[DrawnMove, Stream]]:
    """A move with a stream that walks it rightly: the pieces of every axis in some order, the last in the packet."""
    machine = machine_of(target)

    def make(draw: Draw) -> tuple[DrawnMove, Stream]:
        found = plan_room.valid_move(draw, machine)
        assert found.stream is not None
        return found, found.stream

    return drawn(make)


def plans(
    target: Target | str | None = None, *, valid: bool | None = None, tiers: Sequence[str] = (), legal: bool = False
) -> SearchStrategy[DrawnPlan]:
    """Plans of one transfer with printed commands, often several, and often a stream.

    `valid=True`: every core obligation holds (`core/consumes` apart). `valid=False`: with one fault, named by
    `plan.fault`; some faults are harmless. None: either, and mappings of any shape. `legal`: the target's own rules
    hold as well, so that `check` proves the plan; with `valid=False` the fault is one that `check` refutes.
    """
    machine = machine_of(target)
    known(tiers, machine.tiers, "tier")
    if legal:
        return drawn(lambda draw: _legal(draw, machine, valid is False, tiers))
    return drawn(lambda draw: plan_room.plan(draw, machine, valid=valid, tiers=tiers))


def _legal(draw: Draw, target: Target, broken: bool, tiers: Sequence[str]) -> DrawnPlan:
    try:
        return plan_room.legal_plan(draw, target, broken=broken, tiers=tiers)
    except LookupError:  # of these choices; Hypothesis tries others, and says where it finds none
        reject()


def faults(
    target: Target | str | None = None, *, names: Sequence[str] = FAULTS
) -> SearchStrategy[tuple[DrawnPlan, DrawnPlan]]:
    """A valid plan and the same plan with one fault of a kind among `names` (kinds that a plan cannot have are passed
    over).
    """
    machine = machine_of(target)
    known(names, FAULTS, "fault")

    def make(draw: Draw) -> tuple[DrawnPlan, DrawnPlan]:
        base = plan_room.plan(draw, machine, valid=True)
        for name in draw.shuffled(names):
            try:
                return base, with_fault(base, name, draw=draw, target=machine)
            except NotApplicable:
                continue
        return base, base

    return drawn(make)
