"""How much of a tile is valid: as it was made, or as a statement has set it since, in branches and loops.

Knows: tiles as places, the conditions and loops around a statement. Does not know: text, what an operation does.
Law: what rounds of a loop set is any region of the tile at the beginning of a round, and behind the loop.

Source: PTO IR manual (tile buffers).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dmaverify.language.affine import Lin, both
from dmaverify.machines.pto.ops import Stmt, deep
from dmaverify.machines.pto.tile_places import TilePlaces
from dmaverify.machines.pto.tiles import ValidShape
from dmaverify.machines.pto.values import TileValue
from dmaverify.program.instructions import Use
from dmaverify.values import replace


class ValidShapes(TilePlaces):
    """Valid regions of tiles that change."""

    shaped: Mapping[int, tuple[str, ...]] = MappingProxyType({})  # tiles by what makes them, and the loops that set it

    def shaped_in(self, body: Sequence[Stmt]) -> dict[int, TileValue]:
        """Tiles made before a loop of which its rounds set how much is valid: in each that is any region at first."""
        named = {stmt.tile.name for stmt in deep(body) if isinstance(stmt, ValidShape)}
        tiles = [tile for name in sorted(named) if isinstance(tile := self.values.get(name), TileValue)]
        found = {id(tile.made): tile for tile in tiles}
        self.shaped = {**self.shaped, **dict.fromkeys(found, tuple(self.around))}
        self.any_shape(found)
        return found

    def any_shape(self, tiles: Mapping[int, TileValue]) -> None:
        """How much of these tiles is valid is what some round, or nobody, has set."""
        for tile in tiles.values():
            rows, cols = (
                self.world.free(f"valid_{what}", 0, most, stated=False, shown=f"valid {what} of {tile.name}",
                                varies=tuple(self.around))
                for what, most in (("rows", tile.kind.rows), ("columns", tile.kind.cols))
            )  # fmt: skip
            for name in (*self.world.roots(rows), *self.world.roots(cols)):
                self.world.symbols[name] = replace(self.world.symbols[name], lost=True)
            self._now_valid(tile, rows, cols)

    def _now_valid(self, tile: TileValue, rows: Lin, cols: Lin) -> None:
        for name, known in self.values.items():
            if isinstance(known, TileValue) and known.made is tile.made:  # under whichever name
                self.values[name] = replace(known, rows=rows, cols=cols)

    def _validshape(self, stmt: ValidShape) -> list[Use] | None:
        tile = self.value(stmt.tile)
        rows, cols = (self.number_of(o, "the valid shape") for o in stmt.valid)
        if not isinstance(tile, TileValue) or rows is None or cols is None:
            said = f"pto.set_validshape: the tile `{stmt.tile.name}`, or how much of it is valid, is not known"
            self.remark("unresolved", said, stmt.span, "give it a tile of pto.alloc_tile and numbers that are known")
            return None
        around = tuple(self.around)
        if tile.inside != around and self.shaped.get(id(tile.made)) != around:  # nor behind the loop, or next time
            said = "pto.set_validshape in a loop: which region is valid is not followed"
            hint = "allocate a tile with these numbers there: pto.alloc_tile valid_row = %r valid_col = %c"
            self.remark("unresolved", said, stmt.span, hint)
            return None
        for value, most, what in ((rows, tile.kind.rows, "rows"), (cols, tile.kind.cols, "columns")):
            self._sized(value, most, what, stmt)
        if self.when:
            here = both(self.when)
            rows, cols = (self.world.choose(here, *pair) for pair in ((rows, tile.rows), (cols, tile.cols)))
        self._now_valid(tile, rows, cols)
        moves = tile.kind.packed and (rows, cols) != (tile.rows, tile.cols)
        return self._forgotten(tile, stmt, "pto.set_validshape") if moves else None
