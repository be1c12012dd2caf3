"""From a slice of global memory and a tile of the buffer to the fewest copy instructions.

Knows: how two layouts become one nest of rows, which levels go to the hardware, what padding can fill.
Does not know: text, readings, proofs (the caller proves what it made).
Law: the nest moves every live element of the destination from where the source has it, and nothing else; what no nest
can do, or no copy may do, is refused with its reason.

The levels with the largest counts go to the three loops of the hardware: the instructions issued are the product of
the counts that are left, which no other choice of levels of this nest makes smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import Any

from dmaverify.errors import InputError
from dmaverify.language.expr import Expr, axes_of
from dmaverify.transfer.move import Transfer

MOST = 1 << 24
BLOCK = 32


@dataclass(frozen=True, slots=True)
class Level:
    """A loop: count and the bytes both sides go."""

    count: int
    read: int
    write: int


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """One instruction: where it starts, its row, its loops inner to outer, what it pads, and software loops around."""

    read: int
    write: int
    row: int
    hardware: tuple[Level, ...]
    software: tuple[Level, ...]
    right: int | None
    item: int

    @property
    def issues(self) -> int:
        return prod(level.count for level in self.software)


def plan_copies(transfer: Transfer, bits: int) -> CopyPlan:
    """The copies of a move. Raises InputError where there is no nest, or none that is allowed."""
    import numpy as np

    item = bits // 8
    if bits % 8:
        raise InputError("elements that are no whole bytes have no copies", transfer.span)
    source, dest = transfer.source, transfer.dest
    if max(source.element.size, dest.element.size) > MOST:
        raise InputError(f"a side has more than {MOST:,} positions", transfer.span, "take a smaller tile")
    axes = dict(axes_of(source.element))
    kinds, write_keys = _keys(dest.element, axes)
    source_kinds, read_keys = _keys(source.element, axes)
    live = np.flatnonzero(kinds == 0)
    held = np.flatnonzero(source_kinds == 0)
    order = held[np.argsort(read_keys[held], kind="stable")]
    at = np.searchsorted(read_keys[order], write_keys[live])
    if not len(live) or at.max() >= len(order) or (read_keys[order[at]] != write_keys[live]).any():
        raise InputError("the destination holds elements that the source does not have", dest.span)
    writes, reads = live * item, order[at] * item
    levels, row = _nest(writes, reads, item)
    gm, ub = ("read", "write") if source.tier == "gm" else ("write", "read")
    _allowed(levels, row, ub, dest if ub == "write" else source, transfer)
    right = _padding(kinds, live, row // item, levels, item, transfer) if ub == "write" else None
    hardware, software = _assigned(levels, row, ub)
    del gm
    return CopyPlan(source.base + int(reads[0]), dest.base + int(writes[0]), row, hardware, software, right, item)


def _keys(expr: Expr, axes: dict[str, int]) -> tuple[Any, Any]:
    """Kind and element number of every position; axes that the source does not name take no part."""
    import numpy as np

    from dmaverify.language.meaning import cells_array, finalize_array

    found = finalize_array(cells_array(expr, np.arange(expr.size, dtype=np.int64)), axes_of(expr))
    keys = np.zeros(expr.size, np.int64)
    for axis, size in axes.items():
        keys = keys * size + found.coords.get(axis, 0)
    return found.kind, keys


def _nest(writes: Any, reads: Any, item: int) -> tuple[list[Level], int]:
    """Rows and levels, inner to outer, of two address lists that walk together."""
    import numpy as np

    row = _run(writes, reads, item, item) * item
    writes, reads = writes[:: row // item], reads[:: row // item]
    levels = []
    while len(writes) > 1:
        dw, dr = int(writes[1] - writes[0]), int(reads[1] - reads[0])
        count = _run(writes, reads, dw, dr)
        if count == 1:
            raise InputError(
                "the two layouts do not walk together in loops", None, "take a tile of which every axis is whole"
            )
        levels.append(Level(count, dr, dw))
        writes, reads = writes[::count], reads[::count]
    del np
    return levels, row


def _run(writes: Any, reads: Any, dw: int, dr: int) -> int:
    """The largest length of which the whole is made that steps by these distances."""
    import numpy as np

    breaks = np.flatnonzero((np.diff(writes) != dw) | (np.diff(reads) != dr)) + 1
    return gcd(len(writes), *(int(b) for b in np.unique(breaks)[:4096]))


def _allowed(levels: list[Level], row: int, ub: str, tensor: Any, transfer: Transfer) -> None:
    if tensor.base % BLOCK:
        raise InputError(
            f"the tile starts at {tensor.base} of UB", tensor.base_span or transfer.span, "start it at a multiple of 32"
        )
    for number, level in enumerate(levels):
        stride = getattr(level, ub)
        compact = number == 0 and stride == row
        if stride % BLOCK and not compact:
            raise InputError(
                f"rows of the tile start {stride} bytes apart, which is no multiple of 32",
                tensor.span or transfer.span,
                "pad the rows of the tile to 32 bytes",
            )
        if min(level.read, level.write) < 0:
            raise InputError("a loop goes backwards, which no stride can say", transfer.span)


def _padding(kinds: Any, live: Any, columns: int, levels: list[Level], item: int, transfer: Transfer) -> int | None:
    """The right count: elements behind each row that must be zero; None where none must."""
    import numpy as np

    starts = live[::columns]
    zero = np.append(kinds == 2, False)
    if not zero.any():
        return None
    count = 0
    while len(starts) and zero[np.minimum(starts + columns + count, len(kinds))].all():
        count += 1
    if count * len(starts) != int(np.count_nonzero(zero)):
        raise InputError(
            "zero padding that does not stand behind every row alike",
            transfer.dest.span,
            "clear it with another instruction",
        )
    if count > 63:
        raise InputError(
            f"{count} elements of padding behind a row; a copy pads 63 at most",
            transfer.dest.span,
            "clear the tile first",
        )
    del levels, item
    return count


def _assigned(levels: list[Level], row: int, ub: str) -> tuple[tuple[Level, ...], tuple[Level, ...]]:
    """The three levels with the largest counts, in their order, and the others. Compact rows stay innermost."""
    forced = [0] if levels and getattr(levels[0], ub) == row and row % BLOCK else []
    rest = sorted((i for i in range(len(levels)) if i not in forced), key=lambda i: (-levels[i].count, i))
    chosen = sorted([*forced, *rest[: 3 - len(forced)]])
    hardware = tuple(levels[i] for i in chosen) or (Level(1, row, -(-row // BLOCK) * BLOCK),)
    return hardware, tuple(levels[i] for i in range(len(levels)) if i not in chosen)
