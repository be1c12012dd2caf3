"""What the fields of one copy instruction hold of a nest of rows: how many levels, rows, bytes, and how they are cut.

Knows: limits of an instruction, nests of rows. Does not know: mappings, padding, which plan is the shortest.
Law: what is cut or divided walks the same rows, each once.

Source: docs/machines/pto.md (DMA Copy, parameter tables).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt, prod

from dmaverify.language.numbers import largest_divisor
from dmaverify.program.command import Loop
from dmaverify.synth.nests import RowNest
from dmaverify.values import dataclass, replace

MOST_FACTORS = 1 << 12  # of a number of iterations, tried as levels of one instruction
SIDES: Mapping[str, tuple[str, ...]] = {"load": ("write",), "store": ("read",), "local": ("read", "write")}
"""Which sides of a copy lie in UB."""


@dataclass(frozen=True, slots=True)
class CopyLimits:
    """What one instruction can say: levels, counts, strides of either side in bytes, and their unit in UB (`block`);
    elements of padding on one side; the unit of a row, and the largest gap behind one where gaps are written.
    """

    levels: int
    count: int
    row: int
    gm_stride: int
    ub_stride: int
    block: int
    padded: int
    row_unit: int = 1
    gap: int | None = None


def copy_limits(kind: str, limits: Mapping[str, int]) -> CopyLimits:
    """Those of a kind of copy, from the limits of its machine."""
    block, local = limits["ub_line_bytes"], limits["local_max"]
    many = CopyLimits(
        3, limits["count_max"], limits["count_max"], limits["gm_stride_max"], limits["ub_stride_max"], block,
        limits["pad_count_max"],
    )  # fmt: skip
    if kind != "local":
        return many
    return replace(many, levels=1, count=local, row=local * block, row_unit=block, gap=local * block)


def needed(nest: RowNest, kind: str, limits: CopyLimits) -> int:
    """Instructions that the rows of a nest need at least."""
    return -(-nest.rows // most_rows(nest, kind, limits))


def cut(nest: RowNest, limits: CopyLimits) -> list[RowNest]:
    """The nest in parts whose levels of more iterations than a field holds are whole fields, or less than one."""
    parts: list[tuple[int, int, tuple[Loop, ...]]] = [(nest.read, nest.write, ())]
    for level in nest.levels:
        rest = level.count % limits.count if level.count > limits.count else 0
        ends = [(0, level.count - rest), *([(level.count - rest, rest)] if rest else [])]
        parts = [
            (read + first * level.read, write + first * level.write, (*own, replace(level, count=count)))
            for read, write, own in parts
            for first, count in ends
        ]
    return [RowNest(read, write, nest.row, tuple(v for v in own if v.count > 1)) for read, write, own in parts]


def divided(nest: RowNest, limits: CopyLimits) -> RowNest:
    """A level of more iterations than a field holds, as two."""
    levels: list[Loop] = []
    for level in nest.levels:
        own = largest_divisor(level.count, limits.count)
        levels.append(replace(level, count=own))
        if own != level.count:
            levels.append(Loop(level.count // own, level.read * own, level.write * own))
    return replace(nest, levels=tuple(levels))


def fits(level: Loop, nest: RowNest, kind: str, limits: CopyLimits, *, innermost: bool) -> bool:
    """Whether a level can be one of an instruction's."""
    if level.count > limits.count or min(level.read, level.write) < 0:
        return False
    for side in ("read", "write"):
        stride = getattr(level, side)
        inside = side in SIDES[kind]
        if stride > (limits.ub_stride if inside else limits.gm_stride):
            return False
        if inside and stride % limits.block and not (innermost and stride == nest.row):
            return False
        if limits.gap is not None and not nest.row <= stride <= nest.row + limits.gap:
            return False
    return True


def packed(level: Loop, kind: str, limits: CopyLimits) -> bool:
    """Whether rows of a level do not start on blocks of UB: only an instruction's innermost level may do that."""
    return any(getattr(level, side) % limits.block for side in SIDES[kind])


def reach_of(count: int, most: int, loops: int) -> int:
    """The most iterations of a level that so many loops take, each up to `most`; or what no product can pass."""
    end = min(count, prod([most] * loops))
    if count <= most or loops == 1 or (least := isqrt(count)) > MOST_FACTORS:
        return end
    best = 0
    for n in range(min(most, least), 0, -1):  # the smallest of the factors
        best = max(best, n * reach_of(count // n, most, loops - 1)) if best < end else end
    return best


def most_rows(nest: RowNest, kind: str, limits: CopyLimits) -> int:
    """The most rows of one instruction: of levels that its fields can hold at all as many iterations as they count. A
    level may take several of its loops.
    """
    made = {0: 1}
    for level in nest.levels:
        one = replace(level, count=min(level.count, limits.count))
        ways = range(1, limits.levels + 1) if fits(one, nest, kind, limits, innermost=True) else ()
        more = [(used + n, rows * reach_of(level.count, limits.count, n)) for used, rows in made.items() for n in ways]
        for used, rows in more:
            if used <= limits.levels:
                made[used] = max(made.get(used, 1), rows)
    return max(made.values())
