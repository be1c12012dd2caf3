"""Covers of a copy by the digits of its layouts: those that walk padding, or take elements at other places.

Knows: digits of both sides, rows of bytes, cells of a destination. Does not know: instructions, prices.
Law: a cover is right only where every cell was looked at: each live element once, and else padding that may hold
anything, from bytes of the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmaverify.language.distinct import distinct
from dmaverify.language.meaning import INDEX, TOP
from dmaverify.lower.programs import space_of
from dmaverify.program.command import Loop, fewest
from dmaverify.program.move import Transfer
from dmaverify.program.space import layout_of
from dmaverify.synth import regions
from dmaverify.synth.nests import RowNest
from dmaverify.targets.target import Target


def covers_by_digits(transfer: Transfer, target: Target, bits: int, *, mixed: bool) -> list[list[RowNest]] | None:
    """Covers by the digits of both layouts, those that walk padding, or with `mixed` all; None where there are no
    digits.
    """
    layouts = [layout_of(t, space_of(target, t.tier), bits) for t in (transfer.source, transfer.dest)]
    if any(opaque for _, opaque in layouts):
        return None
    try:
        every = regions.covers(layouts[0][0], layouts[1][0]).each
    except regions.NoPlan:
        return None
    bases = transfer.source.base, transfer.dest.base
    return [[_rows_of(box, *bases) for box in cover.boxes] for cover in every if mixed or regions.WALKED in cover.how]


def _rows_of(box: regions.AtomNest, source: int, dest: int) -> RowNest:
    """A box as rows, from the first byte of either side; levels that continue each other are one."""
    row, chain = box.chain
    left = sorted((a for a in box.atoms if a not in chain), key=lambda a: (-a.write, -a.read))
    levels = fewest([Loop(atom.count, atom.read, atom.write) for atom in left])
    return RowNest(box.read - source, box.write - dest, row, tuple(reversed(levels)))


def is_right(nests: Sequence[RowNest], cells: tuple[Any, Any, Any, Any], item: int) -> bool:
    """Whether rows write every live element once, with what the source has of it, and else padding that may hold
    anything, from bytes of the source.
    """
    import numpy as np

    kinds, write_keys, source_kinds, read_keys = cells
    if sum(nest.rows * nest.row for nest in nests) > kinds.size * item:
        return False
    at = []
    for nest in nests:
        both = np.array([[nest.read, nest.write]]) // item + np.arange(nest.row // item)[:, None]
        for level in nest.levels:
            steps = np.arange(level.count)[:, None, None] * (np.array([level.read, level.write]) // item)
            both = (both[None, :, :] + steps).reshape(-1, 2)
        at.append(both)
    reads, writes = np.concatenate(at).T
    if min(reads.min(), writes.min()) < 0 or reads.max() >= source_kinds.size or writes.max() >= kinds.size:
        return False
    live = kinds[writes] == INDEX
    right = (source_kinds[reads[live]] == INDEX) & (read_keys[reads[live]] == write_keys[writes[live]])
    once = len(distinct(writes)) == len(writes) and live.sum() == (kinds == INDEX).sum()
    return bool(right.all() and once and (kinds[writes[~live]] == TOP).all())
