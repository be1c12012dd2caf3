"""Running gathers and scatters: every row is copied as the machine would, then compared with what the index says.

Knows: rows as copies at shifted addresses, the meaning of both mappings cell by cell.
Does not know: digits, solvers, rules, how an index was judged.
Law: complete and exact. `out[.., k, ..] = table[.., row(k), ..]` is asked of every cell by its coordinates, from
`meaning` alone; addresses come from the numbers of the index as they stand.

Source: docs/machines/rngd.md 5 (meaning of gather and scatter).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dmaverify.execute.address import TooLarge, batches, mapping_of, region_of
from dmaverify.language.distinct import distinct
from dmaverify.language.expr import Expr, axes_of
from dmaverify.language.meaning import INDEX, cells_array, finalize_array
from dmaverify.program.command import Command
from dmaverify.program.indirect import Indirect
from dmaverify.program.space import Space, unit_bits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CELLS = 1 << 18

Coordinates = tuple[tuple[str, int], ...]


@dataclass
class RowsRun:
    """Which promises were broken, how many units were moved, how many cells have what they should."""

    broken: set[str] = field(default_factory=set)
    moved: int = 0
    right: int = 0
    asked: int = 0
    first_wrong: str = ""


def run_rows(
    move: Indirect, dtype_bits: int, spaces: tuple[Space, Space], commands: Sequence[Command],
    read_shifts: Sequence[int], write_shifts: Sequence[int],
) -> RowsRun:  # fmt: skip
    """Copies every row, `commands` being those of row 0. Raises TooLarge (Aliased) beyond what can be run."""
    source = region_of(move.source, spaces[0], dtype_bits)
    dest = region_of(move.dest, spaces[1], dtype_bits)
    if max(source.units, dest.units) > MOST_CELLS:
        raise TooLarge(max(source.units, dest.units))
    done = RowsRun()
    holds = np.full(dest.units, -1, np.int64)
    for read, write in zip(read_shifts, write_shifts, strict=True):
        moved = [c.moved_to(c.read.base + read, c.write.base + write) for c in commands]
        for batch in batches(moved):
            have, _ = source.locate(batch.read, *batch.read_bounds)
            want, _ = dest.locate(batch.write, *batch.write_bounds)
            if (have < 0).any() or (want < 0).any():
                done.broken.add("core/in-bounds")
            inside = want[want >= 0]
            if len(distinct(inside)) < len(inside) or (holds[inside] != -1).any():
                done.broken.add("core/writes-once")
            holds[inside] = np.where(have >= 0, have, -2)[want >= 0]
            done.moved += len(want)
    _compare(move, mapping_of(move.source, spaces[0]), mapping_of(move.dest, spaces[1]), dtype_bits, holds, done)
    return done


def _compare(
    move: Indirect, source: Expr, dest: Expr, dtype_bits: int, holds: NDArray[np.int64], done: RowsRun
) -> None:
    width = dtype_bits // unit_bits_of(dtype_bits)
    names = _Names(move, dtype_bits)
    where: dict[Coordinates, set[int]] = {}
    for position, found in _cells(source):
        where.setdefault(found, set()).add(position)
    wanted = {row: spots for found, spots in where.items() if (row := names.renamed(found)) is not None}
    written = set(np.flatnonzero(holds != -1).tolist())
    for position, found in _cells(dest):
        asked = names.renamed(found)
        ask = wanted.get(found) if move.scatter else where.get(asked, set()) if asked is not None else set()
        for unit in range(width):
            at = position * width + unit
            written.discard(at)
            held = int(holds[at])
            if ask is None:  # a row that no key names keeps what it held
                if held != -1:
                    _wrong(done, "core/same-element", found)
                continue
            done.asked += 1
            if held == -1:
                _wrong(done, "core/covers", found)
            elif held < 0 or held % width != unit or held // width not in ask:
                _wrong(done, "core/same-element", found)
            else:
                done.right += 1
    if written:
        done.broken.add("core/padding")


def _wrong(done: RowsRun, rule: str, where: Coordinates) -> None:
    done.broken.add(rule)
    done.first_wrong = done.first_wrong or f"{rule} at {', '.join(f'{a} = {v}' for a, v in where)}"


def _cells(expr: Expr) -> list[tuple[int, Coordinates]]:
    """Live positions with their coordinates, zero ones left out."""
    found = finalize_array(cells_array(expr, np.arange(expr.size)), axes_of(expr))
    live = np.flatnonzero(found.kind == INDEX).tolist()
    columns = [(axis, found.coords[axis].tolist()) for axis in sorted(found.coords)]
    return [(at, tuple((axis, values[at]) for axis, values in columns if values[at])) for at in live]


class _Names:
    """Coordinates of the side with the key, as coordinates of the table: the key's value becomes the row it names."""

    def __init__(self, move: Indirect, dtype_bits: int) -> None:
        self.move = move
        steps = [position for position, found in _cells(move.table.element) if found == ((move.axis, 1),)]
        self.step = steps[0] * dtype_bits // 8 if steps else 0
        self.shared = set(axes_of(move.source.mapping)) & set(axes_of(move.dest.mapping)) - {move.axis}

    def renamed(self, found: Coordinates) -> Coordinates | None:
        """None where the key names no row."""
        coords = dict(found)
        key, values = coords.get(self.move.key, 0), self.move.index.values
        if values is None or key >= len(values):
            return None
        row = values[key]
        if self.move.index.scaled:
            if not self.step or row % self.step:
                return None
            row //= self.step
        kept = {a: v for a, v in coords.items() if a in self.shared}
        return tuple(sorted({**kept, **({self.move.axis: row} if row else {})}.items()))
