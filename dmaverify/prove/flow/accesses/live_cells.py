"""What a move without commands surely touches: live cells of its two sides, as one nest.

Knows: layouts of tensors, which padding may be written, which cells a destination asks for.
Does not know: steps, lanes, loops around a move, commands.
Law: errs to the side of "not sure": where live cells are no box of digits, nothing is. Every legal command writes the
live cells of the destination and its Zero padding, and reads what the destination asks for where it lies at one place.

Source: the plan file format, What is judged; docs/machines/rngd.md 7.1.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

from dmaverify.language.expr import Kind
from dmaverify.language.numbers import Symbolic, moves, same
from dmaverify.layout.addresses import Layout
from dmaverify.layout.digits import Gap
from dmaverify.layout.held import TooMany, first_absent
from dmaverify.lower.adapters import slice_move
from dmaverify.lower.programs import space_of
from dmaverify.program.access import Access
from dmaverify.program.indirect import Indirect
from dmaverify.program.move import Transfer
from dmaverify.program.space import LOCAL_LIMIT, layout_of, local_address
from dmaverify.program.tensor import Tensor
from dmaverify.prove.meet import Walk, among
from dmaverify.targets.target import Target


def live_walk(
    tensor: Tensor, bits: int, target: Target, writes: bool, at_zero: Collection[str] = ()
) -> tuple[Walk | None, bool]:
    """The live cells of a tensor in one memory, those that must end as zero with them where all its padding must; None
    where they are no nest. And whether anything else may be touched: Bottom padding is not written. Of axes `at_zero`
    the first cell alone.
    """
    space = space_of(target, tensor.tier)
    layout, opaque = layout_of(tensor, space, bits)
    digits = [d for i, d in enumerate(layout.digits) if i not in layout.beyond_index]
    if any(axis in at_zero and offset for axis, offset in layout.offsets):
        return None, True
    kinds = {guard.kind for guard in layout.guards}
    if opaque or any(len(guard.terms) != 1 for guard in layout.guards):
        return None, True
    if any(d.step >= LOCAL_LIMIT and (d.axis in at_zero or not same(d.live, d.slots)) for d in digits):
        return None, True  # other cells in one memory than in another
    zeros = writes and kinds == {Kind.ZERO}
    inside = [(d.slots if zeros else d.live, d.step) for d in digits if d.step < LOCAL_LIMIT and d.axis not in at_zero]
    walk = Walk(local_address(space, layout.origin), tuple(loop for loop in inside if moves(loop[0])))
    return walk, not (writes and kinds <= {Kind.BOTTOM, Gap.OUT})


def read_whole(transfer: Transfer, move: Indirect | None, target: Target) -> frozenset[str] | None:
    """The axes of the source of which the destination asks for the first element alone, since it does not name them;
    None where it does not ask for all of the others, or where an element may lie at two places. Of a table, for some
    list that is admitted: where nothing is promised of it.
    """
    if move is not None and not move.scatter and (move.index.known or move.index.low is not None):
        return None
    source, dest = _layouts(transfer, target)
    if source is None or dest is None or any(len(guard.terms) != 1 for guard in dest.guards):
        return None
    rows = {move.axis} if move is not None else set()
    axes = {d.axis for d in source.digits if d.axis is not None} - rows
    at_zero = axes - {axis for axis, _ in dest.sizes}
    return frozenset(at_zero) if _asks(source, dest, axes - at_zero) else None


def reads_all(work: Transfer | Access, target: Target) -> bool:
    """Whether each live element of what a move or a Fetch reads is asked for; one that asks for a part leaves others
    unread.
    """
    if isinstance(work, Access):
        work = Transfer(work.name, work.target, work.dtype, *slice_move(work))
    source, dest = _layouts(work, target)
    if source is None or dest is None or any(len(guard.terms) != 1 for guard in dest.guards):
        return False
    return _asks(source, dest, {d.axis for d in source.digits if d.axis is not None and moves(d.live)})


def _layouts(transfer: Transfer, target: Target) -> tuple[Layout | None, Layout | None]:
    """Those of what an iteration shows; None for a source with elements at two places, and without digits."""
    bits = target.dtypes[transfer.dtype]
    (source, opaque), (dest, other) = (
        layout_of(t, space_of(target, t.tier), bits) for t in (_shown(transfer, "source"), _shown(transfer, "dest"))
    )
    copied = any(d.axis is None and moves(d.live) for d in source.digits)  # beyond digits are one
    return None if opaque or copied or source.repeats_an_axis else source, None if other else dest


def _asks(source: Layout, dest: Layout, axes: Collection[str]) -> bool:
    """Whether the destination asks for all that the source holds of some axes."""
    starts = [dict(layout.offsets) for layout in (source, dest)]
    for axis in axes:
        if not same(starts[0].get(axis, 0), starts[1].get(axis, 0)):
            return False
        held, asked = ([(d.weight, d.live) for d in layout.digits if d.axis == axis] for layout in (source, dest))
        if among(*([(live, weight) for weight, live in side] for side in (held, asked))):
            continue
        try:
            if any(isinstance(n, Symbolic) for n in (*chain(*held), *chain(*asked))):
                return False
            if first_absent(held, asked) is not None:
                return False
        except TooMany:
            return False
    return True


def written_whole(move: Indirect | None) -> frozenset[str] | None:
    """No axis where every live cell of the destination is written, else None: of a table, for some list that is
    admitted.
    """
    whole = move is None or not move.scatter or not (move.index.known or move.index.low is not None)
    return frozenset() if whole else None


def _shown(transfer: Transfer, side: str) -> Tensor:
    """What an iteration moves of a side (`source` or `dest`)."""
    view = None if transfer.views is None else transfer.views.on(side)
    return (transfer.source if side == "source" else transfer.dest) if view is None else view.shown
