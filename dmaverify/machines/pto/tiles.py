"""Tiles and views of PTO kernels that the assembler lowers, as statements: buffers with a shape, parts of tensors.

Knows: types of tiles, what each statement names.
Does not know: texts (`tile_reader`), values, what an operation does to a tile (that is the target's data), order.
Law: of an operation on tiles every tile and number is kept, in the order of the text.

Source: PTO IR manual (tile buffers, destination-passing style); encodings/pto/target.toml, [tile].
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from dmaverify.errors import Span
from dmaverify.language.notation import Token
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.mlir import Op
from dmaverify.machines.pto.ops import Operand, Stmt
from dmaverify.machines.pto.types import bits_of
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field

_KEYS = {"loc", "dtype", "rows", "cols", "v_row", "v_col", "valid", "blayout", "slayout", "fractal", "pad", "compact"}
_SHAPED = re.compile(r"((?:(?:\d+|\?)x)+)((?:!pto\.)?\w+)")
_MEMREF = re.compile(r"memref<((?:\d+x)+)(\w+)(?:,#pto\.address_space<(\w+)>)?>")


@dataclass(frozen=True, slots=True)
class TileType:
    """A tile: memory, rows and columns, those that are valid (None: given at run time), bits of an element, layout."""

    loc: str
    rows: int
    cols: int
    v_row: int | None
    v_col: int | None
    bits: int
    column_major: bool = False
    boxed: bool = False
    pads: bool = False  # its type says what padding holds
    dtype: str = ""
    box: str = ""  # the order within boxes, as it is written
    pads_zero: bool = False  # its type says that padding is 0

    @property
    def bytes(self) -> int:
        return -(-self.rows * self.cols * self.bits // 8)

    @property
    def run(self) -> int:
        """Bytes of a row, or of a column of one that lies in columns."""
        return (self.rows if self.column_major else self.cols) * self.bits // 8

    @property
    def boxes(self) -> tuple[int, int]:
        """Rows and columns of a box: 16 rows of as many bytes as the fractal says; none where it says another one."""
        fractal = next((int(word) for word in self.box.split() if word.isdigit()), 512)
        return (16, fractal // 2 // self.bits) if fractal in (512, 1024) else (0, 0)

    @property
    def values(self) -> int:
        """How many numbers a cell holds: those of half a byte lie in pairs, which rows and columns count."""
        return 2 if self.dtype.endswith("x2") else 1

    @property
    def packed(self) -> bool:
        """Whether where its cells lie depends on how many of them are valid."""
        return self.box.endswith(" compact")

    @property
    def turned(self) -> bool:
        """Whether its elements lie as those of its transpose, boxes of rows in columns: boxes of columns in rows."""
        return self.boxed and not self.column_major and self.box.split()[:1] == ["col_major"]

    def steps(self, pitch: int) -> tuple[int, int]:
        """How many cells rows and columns are apart, rows by `pitch` where they lie in rows. Cells in boxes are
        numbered so: tiles that lie alike are numbered alike.
        """
        by_columns = self.turned if self.boxed else self.column_major
        return (1, self.rows) if by_columns else (pitch, 1)

    @property
    def lying(self) -> tuple[object, ...]:
        """What decides where its cells lie: without boxes a row of n elements is a column, and n rows of one."""
        if not self.boxed:
            return (self.bits, self.rows * self.cols)
        if self.turned and not self.packed:
            return (self.bits, self.cols, self.rows, self.box.replace("col_major", "row_major"), True)
        return (self.bits, self.rows, self.cols, self.box, self.column_major)


@dataclass(frozen=True, slots=True, eq=False)
class AllocTile(Stmt):
    """A tile, at an address where the text gives one; `given` says that its content is another core's, whole."""

    result: str = ""
    type: TileType | None = None
    address: Operand | None = None
    valid: tuple[Operand | None, Operand | None] = (None, None)
    given: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class TensorView(Stmt):
    """A tensor behind a pointer: sizes and strides of its dimensions, in elements."""

    result: str = ""
    base: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    shape: tuple[Operand, ...] = ()
    strides: tuple[Operand, ...] = ()
    dtype: str = ""

    @property
    def bits(self) -> int:
        """Of an element."""
        return bits_of(self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class PartView(Stmt):
    """A part of a view."""

    result: str = ""
    base: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    offsets: tuple[Operand, ...] = ()
    sizes: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ValidShape(Stmt):
    """New numbers of valid rows and columns for a tile."""

    tile: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    valid: tuple[Operand, Operand] = (None, None)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class ReshapedTile(Stmt):
    """The bytes of a tile as a tile of another type."""

    result: str = ""
    source: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    type: TileType | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TilePart(Stmt):
    """Cells of a tile as a tile: at which row and column they begin, how many of each, and how many of them are valid
    where the type does not say it. `infers`: the type is that of the tile, the part has as many valid as lie in it.
    """

    result: str = ""
    source: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    offsets: tuple[Operand, ...] = ()
    sizes: tuple[int, ...] = ()
    valid: tuple[Operand, ...] = ()
    type: TileType | None = None
    infers: bool = False


def is_whole(part: TileType, whole: TileType) -> bool:
    """Whether a part of a tile that begins where it does is all of it, in whatever order its cells lie."""
    return (
        not whole.packed
        and len({(one.loc, one.rows, one.cols, one.bits, one.column_major, one.box) for one in (part, whole)}) == 1
    )


def keeps_rows(part: TileType, whole: TileType) -> bool:
    """Whether a part of a tile lies in rows of that tile, each as long as there."""
    alike = (part.loc, part.bits, part.boxed) == (whole.loc, whole.bits, False) and not whole.boxed
    return alike and (whole.cols == part.cols == 1 or not (part.column_major or whole.column_major))


def keeps_boxes(part: TileType, whole: TileType) -> bool:
    """Whether a part of a tile in boxes is boxes of that tile, each as it lies there."""
    same = len({(one.loc, one.bits, one.column_major, one.box) for one in (part, whole)}) == 1
    cut = not part.boxes[1] or part.rows % part.boxes[0] or part.cols % part.boxes[1]
    return same and part.boxed and whole.boxed and not (cut or whole.packed or whole.turned or part.loc == "vec")


@dataclass(frozen=True, slots=True, eq=False)
class TileElement(Stmt):
    """One element of a tile, by its number in memory, that the scalar unit reads or writes."""

    name: str = ""
    tile: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    offset: Operand = field(default=None, compare=False)  # type: ignore[assignment]
    writes: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Reserved(Stmt):
    """Bytes of a memory in which the other core puts its tiles."""

    space: str = ""
    base: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class HandedTile(Stmt):
    """A tile given to the other core, or the slot of the first one popped given back (no tile)."""

    name: str = ""
    tile: Operand | None = None


@dataclass(frozen=True, slots=True)
class TileWork:
    """What an operation does: how it reads each tile (the last stands for all further ones), how it writes, from which
    memory to which.
    """

    reads: tuple[str, ...]
    writes: str
    between: frozenset[tuple[str, str]]
    scratch: int | None = None  # which of the tiles that it names first is no input
    idle: bool = False  # the machine leaves its scratch alone
    tiles: tuple[int, ...] = ()  # how many it takes, least and most, in the form that the data speaks of
    numbers: tuple[int, ...] = (0,)  # and how many scalars
    onto: bool = False  # its result is its last operand, too: it adds to what is there

    @property
    def windows(self) -> bool:
        """Whether it works from a row and a column on that it names."""
        return "window" in (*self.reads, self.writes)

    def way(self, index: int) -> str:
        """How it reads the tile that it names at this place."""
        return self.reads[min(index, len(self.reads) - 1)] if self.reads and index != self.scratch else "scratch"


@dataclass(frozen=True, slots=True, eq=False)
class TileOp(Stmt):
    """An operation on tiles: operands that it reads, operands that it writes, whether it adds to what is there; what
    the data of its machine says of it.
    """

    name: str = ""
    ins: tuple[Operand, ...] = ()
    outs: tuple[Operand, ...] = ()
    scalars: Mapping[str, str] = field(default_factory=dict)  # operands that are no tiles, with their types
    shapes: Mapping[str, tuple[tuple[int, ...], int, str]] = field(default_factory=dict)  # of memrefs
    adds: bool = False
    modes: frozenset[str] = frozenset()  # what it says of how it goes by indices
    name_span: Span = field(default=None, compare=False, repr=False)  # type: ignore[assignment]
    work: TileWork = field(default=None, compare=False, repr=False)  # type: ignore[assignment]


QUIET = (
    *(ops.Const, ops.Arith, ops.CastPtr, ops.AddPtr, ops.Bind, ops.OpaqueOp, ops.Yield, ops.Assumed),
    *(ops.Mask, ops.VectorOp, ops.For, ops.While, ops.If, ops.Block, TensorView, PartView),
)
"""Statements that do the same however often they run, but for those inside of them."""


@lru_cache(maxsize=4)
def tile_work(target: Target) -> Mapping[str, TileWork]:
    """What the target's data says of operations on tiles."""
    out = {}
    for entry in target.raw["tile"].values():
        ways = frozenset((one, other) for one, other in entry.get("between", [("vec", "vec")]))
        form = (tuple(entry.get("tiles", ())), tuple(entry.get("numbers", (0,))))
        rest = (entry.get("scratch"), entry.get("idle", False), *form, entry.get("onto", False))
        work = TileWork(tuple(entry["reads"]), entry["writes"], ways, *rest)
        out.update(dict.fromkeys((f"pto.{op}" for op in entry["names"]), work))
    return out


INDEXED = ("pto.mgather", "pto.mscatter")
"""Operations on tiles and tensors that name rows or elements by a tile of indices."""


def in_form(work: TileWork, tiles: int, scalars: int) -> bool:
    """Whether an operation has as many operands as in a form that the data speaks of."""
    return not work.tiles or (work.tiles[0] <= tiles <= work.tiles[-1] and scalars in work.numbers)


def is_tile_op(op: Op) -> bool:
    """Whether an operation is one on tiles, by its form."""
    words = [t.text for t in op.tokens]
    return op.name.startswith(("pto.t", *INDEXED)) and "outs" in words


def tile_type(tokens: Sequence[Token]) -> TileType | None:
    """The type behind the last `!pto.tile_buf`; None for anything else, and for what is not known."""
    found = _tile_type(tokens)
    return found if isinstance(found, TileType) else None


def untold(tokens: Sequence[Token]) -> str:
    """What of the type of a tile is not known, in words; empty where all is."""
    found = _tile_type(tokens)
    return found if isinstance(found, str) else ""


def _tile_type(tokens: Sequence[Token]) -> TileType | str:
    """The type of a tile, or what of it is not known."""
    start = next((i for i in reversed(range(len(tokens))) if tokens[i].text == "!pto.tile_buf"), None)
    text = "".join(t.text for t in (tokens if start is None else tokens[start + 1 :]))
    inside = text[text.find("<") + 1 : text.rfind(">")]
    parts = inside.split(",")
    if start is None or len(parts) < 2:
        return "its type is not told"
    named = dict(p.split("=", 1) for p in parts if "=" in p)
    plain = [p for p in parts if "=" not in p]
    if not named.keys() <= _KEYS:
        return f"what `{next(key for key in named if key not in _KEYS)}` says of its type is not known"
    if plain:
        shaped = _SHAPED.fullmatch(plain[1]) if len(plain) > 1 else None
        if shaped is None:
            return "its type has no shape of numbers"
        sizes = shaped[1].rstrip("x").split("x")
        valid = named.get("valid", "x".join(sizes)).split("x")
        loc, kind = plain[0], shaped[2]
    else:
        if not {"loc", "dtype", "rows", "cols"} <= named.keys():
            return "its type does not say memory, type of elements, rows and columns"
        loc, kind, sizes = named["loc"], named["dtype"], [named["rows"], named["cols"]]
        valid = [named.get("v_row", sizes[0]), named.get("v_col", sizes[1])]
    kind = kind.removeprefix("!pto.")
    bits = bits_of(kind)
    if len(sizes) != 2 or len(valid) != 2 or not all(s.isdigit() for s in sizes):
        return "its type has no rows and columns of numbers"
    if not bits or bits % 8:
        return f"how elements of `{kind}` lie in bytes is not known"
    rows, cols = (int(s) for s in sizes)
    v_row, v_col = (int(v) if v.isdigit() else None for v in valid)
    column = "col_major" in named.get("blayout", "row_major")
    boxed = named.get("slayout", "none_box") != "none_box" or loc not in ("vec", "bias")
    pads = named.get("pad", "0") not in ("0", "null")
    box, compact = named.get("slayout", ""), named.get("compact", "null")
    box += f" {named['fractal']}" if boxed and named.get("fractal", "512") != "512" else ""
    if compact not in ("0", "null"):
        if compact not in ("1", "normal") or not boxed or loc == "vec":
            return f"which bytes its rows have with `compact={compact}` is not told"
        box += " compact"  # boxes of the valid rows alone, one behind another: fewer bytes, in another order
    zero = named.get("pad") in ("1", "zero")
    return TileType(loc, rows, cols, v_row, v_col, bits, column, boxed, pads, kind, box, zero)


def shaped_memref(text: str) -> tuple[tuple[int, ...], int, str] | None:
    """Sizes, bits of an element and memory of a memref of a static contiguous shape; None for any other type."""
    found = _MEMREF.fullmatch(text)
    if found is None or not bits_of(found[2]) or bits_of(found[2]) % 8:
        return None
    return tuple(int(n) for n in found[1].rstrip("x").split("x")), bits_of(found[2]), found[3]
