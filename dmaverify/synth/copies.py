"""From a slice of one memory and a tile of another to the fewest copy instructions.

Knows: how two layouts become nests of rows, every choice of levels for the hardware, what padding can fill.
Does not know: text, readings, prices, proofs (the caller prices and proves what it made).
Law: a plan moves every live element of the destination from where the source has it, and nothing else. The space: each
nest of the canonical form by itself, rows as long as both sides run on, every choice of levels for the loops that an
instruction has, in every order, the others in software; a level of more iterations than a field holds is divided, or
cut into as many whole fields as it has and the rest; besides, covers by digits that walk padding alike, or take
elements that stand at several places where another choice of digits finds them (`copy_covers`). Of mixes of places
nothing is claimed. `fewest` walks all of it. What no copy may do is refused with its reason.

The canonical form joins neighbouring levels that continue each other on both sides, so no level can be saved by
joining. One instruction of the space makes at most as many rows as its largest levels have together, as far as fields
hold their iterations, so a nest needs its rows by that product, rounded up; where the fields do not allow those levels,
all choices were tried, and are all where no level is longer than a field. Two layouts that are several nests need two
instructions at least; whether more are needed is not proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from math import prod
from typing import Any

from dmaverify.errors import InputError
from dmaverify.language.distinct import distinct
from dmaverify.language.expr import Expr, axes_of
from dmaverify.language.meaning import TOP
from dmaverify.program.command import Loop
from dmaverify.program.move import Transfer
from dmaverify.synth.copy_covers import covers_by_digits, is_right
from dmaverify.synth.copy_fields import SIDES, CopyLimits, copy_limits, cut, divided, fits, most_rows, needed, packed
from dmaverify.synth.nests import MOST_ROWS, RowNest, covers
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

MOST = 1 << 24


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """One instruction: where it starts, its row, its loops inner to outer, what it pads, and software loops around."""

    read: int
    write: int
    row: int
    hardware: tuple[Loop, ...]
    software: tuple[Loop, ...]
    right: int | None
    item: int

    @property
    def issues(self) -> int:
        return prod(level.count for level in self.software)


@dataclass(frozen=True)
class Fewest:
    """The plans with the fewest instructions, and why there are none with fewer in the space."""

    kind: str
    limits: CopyLimits
    nests: tuple[RowNest, ...]
    plans: tuple[tuple[CopyPlan, ...], ...]
    bound: int
    searched: int
    evidence: tuple[str, ...]
    covers: tuple[tuple[RowNest, ...], ...] = ()  # all that were searched

    @property
    def issues(self) -> int:
        return sum(plan.issues for plan in self.plans[0])

    @property
    def optimal(self) -> bool:
        return self.issues == self.bound


def plan_copies(transfer: Transfer, target: Target) -> Fewest:
    """The fewest copies of a move on that machine. Raises InputError where there are none that are allowed."""
    import numpy as np

    bits = target.dtypes[transfer.dtype]
    item = bits // 8
    if bits % 8:
        raise InputError("elements that are no whole bytes have no copies", transfer.span)
    source, dest = transfer.source, transfer.dest
    route = target.copies_of(source.tier, dest.tier)
    if route is None:
        raise InputError(
            f"no copy goes from {source.tier} to {dest.tier}", transfer.span, "gm to ub, ub to gm, or ub to ub"
        )
    kind = route.engine
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
    if kind == "local" and (kinds == 2).any():
        raise InputError("a copy inside UB pads nothing", dest.span, "clear the tile with another instruction")
    limits = copy_limits(kind, target.limits_with(transfer.limits, transfer.span))

    def tried(every: Iterable[Sequence[RowNest]]) -> list[Fewest]:
        made: list[Fewest] = []
        for nests in every:
            try:
                made += _made(nests, kinds, item, kind, limits, transfer)
            except InputError as error:
                refused.append(error)
        return made

    refused: list[InputError] = []
    made = tried(covers(live * item, order[at] * item, item))
    mixed = len(distinct(read_keys[held])) < len(held)
    padded = len(held) < len(source_kinds) and bool((kinds == TOP).any())
    more: list[Fewest] | None = []
    if (mixed or padded) and min((f.issues for f in made), default=2) > 1:
        cells = kinds, write_keys, source_kinds, read_keys
        known = covers_by_digits(transfer, target, bits, mixed=mixed)
        more = None if known is None else tried(n for n in known if is_right(n, cells, item))
    if not made and not more:
        if refused:
            raise refused[0]
        raise InputError(
            f"the two layouts walk together in no fewer than {MOST_ROWS:,} rows", transfer.span, "take a smaller tile"
        )
    return _best(made, more, mixed=mixed)


def _best(made: Sequence[Fewest], more: Sequence[Fewest] | None, *, mixed: bool) -> Fewest:
    """The one with the fewest instructions, with a bound that holds for all. `more`: those that move padding with rows,
    or take elements at other places; None where they are not known.
    """
    found = min((*made, *(more or ())), key=lambda f: f.issues)
    bounds = [found.bound, *(f.bound for f in more or ()), *([1] if mixed or more is None else [])]
    found = replace(found, bound=min(bounds), covers=tuple(f.nests for f in (*made, *(more or ()))))
    if found.optimal:
        return found
    why = "rows may be moved with padding that lies alike on both sides"
    if mixed:
        why = "the source holds elements at several places, and a plan may mix them"
    return replace(found, evidence=(*found.evidence, f"{why}: {found.bound:,} at least"))


def _made(
    nests: Sequence[RowNest], kinds: Any, item: int, kind: str, limits: CopyLimits, transfer: Transfer
) -> list[Fewest]:
    """The plans of a cover, and those of it cut where fields end. Raises InputError where none is allowed."""
    rights = _paddings(nests, kinds, item, limits, transfer) if kind == "load" else [None] * len(nests)
    placed = [replace(n, read=n.read + transfer.source.base, write=n.write + transfer.dest.base) for n in nests]
    for nest in placed:
        _allowed(nest, kind, limits, transfer)
    made = [fewest(placed, kind, rights, item, limits)]
    whole = placed[0] if len(placed) == 1 else None
    parts = [(part, r) for nest, r in zip(placed, rights, strict=True) for part in cut(nest, limits)]
    if len(parts) > len(placed):
        for part, _ in parts:
            _allowed(part, kind, limits, transfer)
        made.append(fewest([n for n, _ in parts], kind, [r for _, r in parts], item, limits, whole))
    return made


def _keys(expr: Expr, axes: dict[str, int]) -> tuple[Any, Any]:
    """Kind and element number of every position; axes that the source does not name take no part."""
    import numpy as np

    from dmaverify.language.meaning import cells_array, finalize_array

    found = finalize_array(cells_array(expr, np.arange(expr.size, dtype=np.int64)), axes_of(expr))
    keys = np.zeros(expr.size, np.int64)
    for axis, size in axes.items():
        keys = keys * size + found.coords.get(axis, 0)
    return found.kind, keys


# ------------------------------------------------------------------------------------------ what is allowed


def _allowed(nest: RowNest, kind: str, limits: CopyLimits, transfer: Transfer) -> None:
    """What no choice of levels could mend. Raises InputError with the reason."""
    for side in SIDES[kind]:
        tensor = transfer.dest if side == "write" else transfer.source
        start = getattr(nest, side)
        if start % limits.block:
            where = tensor.base_span if start == tensor.base else tensor.span
            raise InputError(
                f"rows of the tile begin at {start:,} of UB",
                where or transfer.span,
                f"begin them at a multiple of {limits.block}",
            )
        for level in nest.levels:
            stride = getattr(level, side)
            if stride % limits.block and not (stride == nest.row and kind != "local"):  # rows without a gap, innermost
                raise InputError(
                    f"rows of the tile start {stride} bytes apart, which is no multiple of {limits.block}",
                    tensor.span or transfer.span,
                    f"pad the rows of the tile to {limits.block} bytes",
                )
    if nest.row % limits.row_unit:
        raise InputError(
            f"rows of {nest.row:,} bytes: a copy inside UB moves blocks of {limits.block}",
            transfer.span,
            "take rows that are whole blocks on both sides",
        )
    if nest.row > limits.row:
        raise InputError(f"rows of {nest.row:,} bytes; an instruction moves {limits.row:,}", transfer.span)


def _paddings(
    nests: Sequence[RowNest], kinds: Any, item: int, limits: CopyLimits, transfer: Transfer
) -> list[int | None]:
    """Of each nest the right count: elements behind a row that must be zero, or None where none must.

    A row is filled up to whole blocks, so the largest count may fill more than it says.
    """
    import numpy as np

    block, padded = limits.block, limits.padded
    zero = np.append(kinds == 2, False)
    if not zero.any():
        return [None] * len(nests)
    open_ends = np.flatnonzero(~zero)
    total, out = 0, []
    for nest in nests:
        behind = np.array([nest.write + nest.row], np.int64)
        for level in nest.levels:
            behind = (behind[None, :] + (np.arange(level.count) * level.write)[:, None]).ravel()
        at = behind // item
        lengths = open_ends[np.searchsorted(open_ends, at)] - at
        if len(distinct(lengths)) != 1:
            raise InputError(
                "rows with zero padding of different lengths behind them",
                transfer.dest.span,
                "clear the tile with another instruction, and load without padding",
            )
        wanted = int(lengths[0])
        total += wanted * len(at)
        filled = -(-(nest.row + wanted * item) // block) * block - block - nest.row
        count = wanted if wanted <= padded else min(wanted, max(0, filled // item + 1))
        if count > padded:
            reach = (-(-(nest.row + padded * item) // block) * block - nest.row) // item
            raise InputError(
                f"{wanted} elements of padding behind a row; a copy asks for {padded} at most, which fill {reach}",
                transfer.dest.span,
                "clear the tile first, and load without padding",
            )
        out.append(count)
    if total != int(np.count_nonzero(zero)):
        raise InputError(
            "zero padding that does not stand right behind rows",
            transfer.dest.span,
            "clear it with another instruction",
        )
    return list(out)


# ------------------------------------------------------------------------------------------ the search


def fewest(
    nests: Sequence[RowNest], kind: str, rights: Sequence[int | None], item: int, limits: CopyLimits,
    whole: RowNest | None = None,
) -> Fewest:  # fmt: skip
    """Every choice of levels for the hardware; those with the fewest instructions, and the bound. `whole`: the nest of
    which the nests are parts.
    """
    kept: list[tuple[CopyPlan, ...]] = [()]
    total = searched = 0
    evidence = []
    for number, (nest, right) in enumerate(zip(nests, rights, strict=True), 1):
        plans = list(_plans(divided(nest, limits), kind, right, item, limits))
        if not plans:
            raise InputError(f"no choice of levels of {_shape_text(nest)} is one that an instruction can hold")
        searched += len(plans)
        least = min(plan.issues for plan in plans)
        best = [plan for plan in plans if plan.issues == least]
        total += least
        evidence.append((f"nest {number}: " if len(nests) > 1 else "") + _argument(nest, kind, limits, least))
        kept = [(*plan, choice) for plan in kept[:4] for choice in best]
    bound = min(total, 2)
    if whole is not None:
        bound = needed(whole, kind, limits)
        most = f"one instruction makes {most_rows(whole, kind, limits):,} of them at most, so {bound:,} are needed"
        evidence.insert(0, f"{_shape_text(whole)}, cut where a field ends; {most}")
    elif len(nests) > 1:
        evidence.append(f"{len(nests)} nests, since no single one holds these rows: 2 instructions at least")
    else:
        long = any(level.count > limits.count for level in nests[0].levels)
        bound = min(total, needed(nests[0], kind, limits)) if long else total
    evidence.append(f"{searched:,} choices of levels tried, all of the space")
    return Fewest(kind, limits, tuple(nests), tuple(kept), bound, searched, tuple(evidence))


def _shape_text(nest: RowNest) -> str:
    shape = " x ".join(f"{level.count:,}" for level in reversed(nest.levels)) or "1"
    return f"{nest.rows:,} row{'s' if nest.rows != 1 else ''} of {nest.row:,} bytes in levels {shape}"


def _argument(nest: RowNest, kind: str, limits: CopyLimits, least: int) -> str:
    """Why one nest needs as many instructions as it does."""
    most, own = most_rows(nest, kind, limits), needed(nest, kind, limits)
    verb = "is" if own == 1 else "are"
    said = f"{_shape_text(nest)}; one instruction makes {most:,} of them at most, so {own:,} {verb} "
    if own == least:
        return said + "needed, and enough"
    return said + f"needed; no choice of levels leaves fewer than {least:,}"


def _plans(nest: RowNest, kind: str, right: int | None, item: int, limits: CopyLimits) -> Iterator[CopyPlan]:
    """Every choice of levels, in every order, that the fields can hold."""
    for count in range(min(limits.levels, len(nest.levels)), -1, -1):
        for chosen in permutations(range(len(nest.levels)), count):
            levels = [nest.levels[i] for i in chosen]
            if not all(fits(v, nest, kind, limits, innermost=n == 0) for n, v in enumerate(levels)):
                continue
            software = tuple(v for i, v in enumerate(nest.levels) if i not in chosen)
            if any(packed(v, kind, limits) for v in software):
                continue
            whole = -(-nest.row // limits.block) * limits.block
            read, write = (whole if side in SIDES[kind] else nest.row for side in ("read", "write"))
            inside = tuple(levels) or (Loop(1, read, write),)
            yield CopyPlan(nest.read, nest.write, nest.row, inside, software, right, item)
