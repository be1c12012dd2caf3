"""Which tiles an operation takes: the memories it works between, the shapes of a product, tiles of the other core.

Knows: tiles as places with a valid region, what the target's data says of memories.
Does not know: which cells an operation touches, text, how anything is proved.
Law: operands of which no document says what becomes of them are a remark at the operation, never passed over. What is
given to the other core is read; of a slot that is given back nothing is known any more.

Source: PTO IR manual (tile buffers, matrix compute, frontend pipe communication); encodings/pto/target.toml, [tile].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.errors import Span
from dmaverify.language.affine import ONE, TRUE, ZERO, Cond, Lin, both, compare
from dmaverify.machines.pto.signatures import seen_of
from dmaverify.machines.pto.tiles import HandedTile, TileElement, TileOp, TileWork
from dmaverify.machines.pto.typed import SCALAR, TILE, TypedOperand, TypedUse
from dmaverify.machines.pto.valid_shapes import ValidShapes
from dmaverify.machines.pto.values import TensorPart, TileValue, Value
from dmaverify.program.instructions import CopyTouch, OperationFact, Use
from dmaverify.values import replace

PRODUCTS = ("pto.tmatmul", "pto.tgemv")
LAYOUTS = {"left": (True, "row_major"), "right": (False, "col_major"), "acc": (True, "row_major")}
"""How tiles of products lie, by their memory: whether in columns of boxes, and the order within boxes."""

IN_PLACE = {"each", "own", "window"}
"""How an operation reads an operand that its result may replace, cell by cell."""


EVERYWHERE = ("whole", "turned", "window", "beside", "pairs", "merged")
"""What an operation writes beside the valid region of its result."""


class TileOperands(ValidShapes):
    """Operands of operations on tiles and registers."""

    def typed(self, use: TypedUse | None, span: Span) -> None:
        """What rules look at of an operation, and types that no document gives it."""
        for seen in () if use is None or self.dry else seen_of(use, self.target):
            if seen.unlisted:
                self.remark("unresolved", seen.what, span, "convert it, or use an operation that takes it")
                continue
            self._fact(seen.ports, seen.what, span)

    def _fact(self, numbers: Mapping[str, int | Lin], what: str, span: Span) -> None:
        runs = tuple(one for name in self.around for one in self.world.symbols[name].side)
        ports = {port: Lin(number) if isinstance(number, int) else number for port, number in numbers.items()}
        self.kernel.facts.append(OperationFact(ports, what, span, (*self.when, *runs)))

    def _typed_tiles(self, stmt: TileOp, given: Mapping[str, Value]) -> None:
        """An operation on tiles, with the types that its tiles were made with."""
        sides = []
        for side in (stmt.ins, stmt.outs):
            found = []
            for one in side:
                tile = given[one.name]
                called = tile.place.dtype if isinstance(tile, TensorPart) else stmt.scalars.get(one.name, "")
                called = tile.kind.dtype if isinstance(tile, TileValue) else called
                found.append(TypedOperand(SCALAR if one.name in stmt.scalars else TILE, one.name, called))
            sides.append(tuple(found))
        memories = "+".join(sorted({tile.kind.loc for tile in given.values() if isinstance(tile, TileValue)}))
        self.typed(TypedUse(stmt.name, sides[0], sides[1], memories), stmt.span)

    def _works(self, stmt: TileOp, work: TileWork, sources: Sequence[str], dest: str) -> bool:
        """Whether an operation works from these memories to that one."""
        wrong = next((one for one in sources or (dest,) if (one, dest) not in work.between), None)
        if stmt.name.startswith(PRODUCTS) or wrong is None:
            return True
        known = ", ".join(sorted(f"{one} to {other}" for one, other in work.between))
        said = f"{stmt.name} from `{wrong}` to `{dest}`: what it does there is not documented"
        self.remark("unresolved", said, stmt.name_span, f"it works from {known}")
        return False

    def _multiplies(self, stmt: TileOp, tiles: Sequence[TileValue], out: TileValue) -> bool:
        """Whether the tiles of a product are one left and one right of one inner length, and what is added is as large
        as the result.
        """
        mine = {loc: [t for t in tiles if t.kind.loc == loc] for loc in ("left", "right", "acc", "bias")}
        parts = stmt.name.split(".")
        wanted = {"acc": "acc" in parts, "left": True, "right": True, "bias": "bias" in parts}
        needed = [loc for loc, count in wanted.items() if count]
        if [t.kind.loc for t in tiles if t.kind.loc in wanted] != needed or out.kind.loc != "acc":
            needs = " and ".join(f"`{loc}`" for loc in needed)
            said = f"{stmt.name} takes one tile each of {needs}, in this order, and makes one of `acc`"
            self.remark("unresolved", said, stmt.name_span, "loc=.. in the types of its tiles")
            return False
        left, right = mine["left"][0], mine["right"][0]
        for tile in (left, right, *mine["acc"], out) if "mx" not in parts else ():
            self._lies_as_products_do(stmt, tile)
        if left.kind.values > 1 or right.kind.values > 1:
            said = f"{stmt.name}: along which dimension pairs lie in `{left.name}` and `{right.name}` is not documented"
            self.remark("unresolved", said, stmt.name_span, "factors of 8 bits")
            return False
        if not self.dry and "mx" not in parts:  # with scales the valid regions alone have to fit
            sides = {"left": left.kind, "right": right.kind, "result": out.kind}
            ports = {f"{name}_rows": one.rows for name, one in sides.items()}
            self._fact(ports | {f"{name}_columns": one.cols for name, one in sides.items()}, stmt.name, stmt.span)
        rows, cols = self._made_of(stmt, tiles)
        most = self.target.limits["product_max"]
        for size, what in ((rows, "m"), (left.cols, "k"), (cols, "n")):
            claim = both([compare("le", ONE - size), compare("le", size - most)])
            self._need(claim, stmt, f"{stmt.name}: {what} is 1 to {most:,}", size, enough=True)
        for tile in (out, *mine["acc"]):
            for takes, has, what in ((rows, tile.kind.rows, "rows"), (cols, tile.kind.cols, "columns")):
                self._need(compare("le", takes - has), stmt, f"{stmt.name}: `{tile.name}` has {has:,} {what}", takes)
        taken: list[tuple[TileValue, Lin | None, Lin]]
        taken = [(left, rows, right.rows), (right, left.cols, cols)]
        taken += [(one, None, cols) for one in mine["bias"]]
        return not any(self._short(stmt, tile, rows, cols) for tile, rows, cols in taken)

    def _lies_as_products_do(self, stmt: TileOp, tile: TileValue) -> None:
        """That a tile of a product has the layout that is documented of its memory, where its type says one."""
        kind, (column, box) = tile.kind, LAYOUTS[tile.kind.loc]
        lies = (kind.column_major, *kind.box.split()[:1])
        if lies == (column, box) or len(lies) == 1:
            return
        wanted = f"blayout={'col_major' if column else 'row_major'}, slayout={box}"
        if lies[1] == box and kind.loc == "left":  # as texts for A2 and A3 have it
            self.suppose(f"`{tile.name}` lies as left factors of A5 do, {wanted}")
            return
        said = f"{stmt.name}: `{tile.name}` of `{kind.loc}` does not lie as those of products do"
        self.remark("ill", said, stmt.name_span, f"{wanted} in its type")

    def _made_of(self, stmt: TileOp, tiles: Sequence[TileValue]) -> tuple[Lin, Lin]:
        """How many rows and columns a product makes: the valid rows of the left, one of a vector, and the valid columns
        of the right, whatever of the result is valid.
        """
        rows = next((ONE if "gemv" in stmt.name else tile.rows for tile in tiles if tile.kind.loc == "left"), ZERO)
        return rows, next((tile.cols for tile in tiles if tile.kind.loc == "right"), ZERO)

    def _meets(self, stmt: TileOp, work: TileWork, tiles: Sequence[TileValue], out: TileValue) -> bool:
        """Whether tiles of an operation share bytes so that what it makes is not documented: a result that begins
        where an operand does is made in place, where the operation may be; nothing else that it writes lies on one.
        """
        ways = {at: work.way(at) for at in range(len(tiles))}
        reads = [(tile, ways[at] == "window") for at, tile in enumerate(tiles) if ways[at] != "scratch"]
        scratch = [] if work.idle else [(tile, True) for at, tile in enumerate(tiles) if ways[at] == "scratch"]
        made = (out, work.writes in EVERYWHERE)
        alone = IN_PLACE | ({"row", "column"} if len(reads) == 1 else set())  # they are written as they were
        may = not work.tiles and work.writes != "window"
        places = [may and ways[at] in alone and _along(tiles[at], out) for at in ways if ways[at] != "scratch"]
        pairs = [(one, made, in_place) for one, in_place in zip(reads, places, strict=True)]
        pairs += [(one, other, False) for one in scratch for other in (*reads, made)]
        for (one, every), (other, all_of_it), in_place in pairs:
            begins, claim = self._shared(self._used(one, every), self._used(other, all_of_it))
            claim = both([claim, compare("eq", begins)], "or") if in_place else claim
            said = f"{stmt.name}: `{one.name}` and `{other.name}` share bytes"
            if self.world.decide(claim) is False:
                said = f"{said}: what it makes of them is not documented"
                self.remark("unresolved", said, stmt.name_span, "give each a tile of its own")
                return True
            if self.world.decide(claim) is None:
                self._need(claim, stmt, said, begins, enough=True)
        return False

    def _shared(self, one: TileValue, other: TileValue) -> tuple[Lin, Cond]:
        """How far apart two tiles begin, and that they share no byte: parts of one tile lie beside each other, too."""
        one, other = (t.whole if t.whole is not None and t.kind.boxed else t for t in (one, other))
        items = (one.kind.bits // 8, other.kind.bits // 8)
        begins = [t.place.address + t.first * item for t, item in zip((one, other), items, strict=True)]
        apart = begins[1] - begins[0]
        if one.place.space != other.place.space:
            return apart, TRUE
        sizes = [
            t.kind.bytes if t.whole is None else ((t.kind.rows - 1) * t.pitch + t.kind.cols) * t.kind.bits // 8
            for t in (one, other)
        ]
        clear = self._clear(begins[0], sizes[0], begins[1], sizes[1])
        pitch = one.pitch * items[0]
        if one.whole is None or other.whole is None or pitch != other.pitch * items[1]:
            return apart, clear
        across = self.world.modulo(apart, pitch)
        ends = (Lin(one.kind.cols * items[0]) - across, across + other.kind.cols * items[1] - pitch)
        return apart, both([clear, both([compare("le", end) for end in ends])], "or")

    def _used(self, tile: TileValue, every: bool) -> TileValue:
        """As many rows and columns as are valid, where those alone are used and it is known how they lie."""
        kind, sizes = tile.kind, (tile.rows, tile.cols)
        if every or kind.boxed or kind.column_major or not all(n.is_const and n.const > 0 for n in sizes):
            return tile
        rows, cols = (n.const for n in sizes)
        return replace(tile, kind=replace(kind, rows=rows, cols=cols), whole=tile.whole or tile)

    def _short(self, stmt: TileOp, tile: TileValue, rows: Lin | None, cols: Lin | None) -> bool:
        """Whether fewer rows or columns of an operand are valid than an operation takes of it: what it makes of the
        others is not documented.
        """
        for has, takes, what in ((tile.rows, rows, "rows"), (tile.cols, cols, "columns")):
            said = f"`{tile.name}` has {self.said(has)} valid {what}"
            if takes is None or takes == has:
                continue
            if not takes.is_const or not has.is_const:
                self._need(compare("le", takes - has), stmt, f"{stmt.name}: {said}", takes, enough=True)
            elif takes.const > has.const:
                hint = "give operands and result the same valid region"
                self.remark("unresolved", f"{stmt.name} takes {takes.const:,} {what}: {said}", stmt.name_span, hint)
                return True
        return False

    # ------------------------------------------------------------ the scalar unit

    def _tileelement(self, stmt: TileElement) -> list[Use] | None:
        tile, offset = self.value(stmt.tile), self.number_of(stmt.offset, "the number of an element")
        if not isinstance(tile, TileValue) or tile.kind.boxed or tile.pitch != tile.kind.cols or offset is None:
            said = f"{stmt.name}: the tile, or which element of it, is not known"
            self.remark("unresolved", said, stmt.tile.span)
            return None
        count = tile.kind.rows * tile.kind.cols
        said = f"{stmt.name}: `{tile.name}` has {count:,} elements"
        self._need(compare("le", -offset), stmt, f"{said}, the first of them 0", offset)
        self._need(compare("le", offset - count + 1), stmt, said, offset)
        touch = self._element(tile, offset, "data" if stmt.writes else "read")
        made = self._use(stmt.name, "S", [touch], stmt)
        return [replace(one, inferred=one.inferred or "order") for one in made]

    # ------------------------------------------------------------ the other core

    def _handedtile(self, stmt: HandedTile) -> list[Use] | None:
        if "push" not in stmt.name:
            return self._given_back(stmt)
        tile = None if stmt.tile is None else self.value(stmt.tile)
        if not isinstance(tile, TileValue):
            span = stmt.span if stmt.tile is None else stmt.tile.span
            why = "" if stmt.tile is None else self.because(stmt.tile)
            self.remark("unresolved", f"{stmt.name}: the tile that it gives is not known{why}", span)
            return None
        pipe = "FIX" if stmt.name.endswith("aiv") else "MTE3"
        return self._use(stmt.name, pipe, [self._cells(tile, self._valid(tile), "read")], stmt, "stored")

    def _given_back(self, stmt: HandedTile) -> list[Use] | None:
        """The slot of the first tile that is not given back yet; of all of them where loops or branches lie between."""
        if self.dry:
            return None
        here: tuple[tuple[str, ...], tuple[Cond, ...]] = (tuple(self.around), self.when)
        mine = [one for one in self.popped if one[0] == stmt.name[-3:]]
        known = bool(mine) and mine[0][2] == here
        gone = mine[:1] if known else mine
        self.kernel.lost += [] if known or not mine else [stmt.span]  # which one, nobody follows
        self.popped = [one for one in self.popped if one not in gone]
        why = f"{stmt.name} at line {stmt.span.line} gives its slot back to the other core"
        lost = [CopyTouch("unknown", t.place, ZERO, Lin(t.kind.bytes), (), why=why) for _, t, _ in gone]
        self.uses += 1
        return [Use(-self.uses, "", tuple(lost), stmt.span, stmt.name, self.when)] if lost else None


def _along(tile: TileValue, out: TileValue) -> bool:
    """Whether a result that is written in place, from the first cell on, reaches no cell before that was read."""
    if tile.kind.boxed or out.kind.boxed:
        return tile.kind.lying == out.kind.lying
    reads, writes = ([step * one.kind.bits for step in one.kind.steps(one.pitch)] for one in (tile, out))
    runs = [n > 1 and v != ONE for n, v in ((out.kind.rows, out.rows), (out.kind.cols, out.cols))]
    return all(not run or new <= old for run, old, new in zip(runs, reads, writes, strict=True))
