"""Tiles and views of PTO kernels that the assembler lowers, as statements: buffers with a shape, parts of tensors.

Knows: types of tiles, `alloc_tile`, `make_tensor_view`, `partition_view`, operations with `ins(..) outs(..)`.
Does not know: values, what an operation does to a tile (that is the target's data), order.
Law: an operation on tiles is read whole, its tiles and numbers in the order of the text, or raises InputError.

Source: PTO IR manual (tile buffers, destination-passing style); encodings/pto/target.toml, [tile].
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod

from dmaverify.errors import InputError, Span
from dmaverify.language.notation import Token
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.buffers import lists_in
from dmaverify.machines.pto.generic import attributes
from dmaverify.machines.pto.mlir import Op
from dmaverify.machines.pto.ops import OTHER, Const, OpaqueOp, Operand, Stmt, ValueType
from dmaverify.machines.pto.types import SPACES, TokenCursor, bits_of, number_type
from dmaverify.targets.target import load_target
from dmaverify.values import dataclass, field

_KEYS = {"loc", "dtype", "rows", "cols", "v_row", "v_col", "valid", "blayout", "slayout", "fractal", "pad", "compact"}
_SHAPED = re.compile(r"((?:(?:\d+|\?)x)+)(\w+)")
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

    @property
    def bytes(self) -> int:
        return -(-self.rows * self.cols * self.bits // 8)


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


@dataclass(frozen=True, slots=True, eq=False)
class TileOp(Stmt):
    """An operation on tiles: operands that it reads, operands that it writes, whether it adds to what is there."""

    name: str = ""
    ins: tuple[Operand, ...] = ()
    outs: tuple[Operand, ...] = ()
    scalars: Mapping[str, str] = field(default_factory=dict)  # operands that are no tiles, with their types
    shapes: Mapping[str, tuple[tuple[int, ...], int, str]] = field(default_factory=dict)  # of memrefs
    adds: bool = False
    name_span: Span = field(default=None, compare=False, repr=False)  # type: ignore[assignment]


QUIET = (
    *(ops.Const, ops.Arith, ops.CastPtr, ops.AddPtr, ops.Bind, ops.OpaqueOp, ops.Yield, ops.Assumed),
    *(ops.Mask, ops.VectorOp, ops.For, ops.While, ops.If, ops.Block, TensorView, PartView),
)
"""Statements that do the same however often they run, but for those inside of them."""


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


@lru_cache(maxsize=1)
def tile_work() -> Mapping[str, TileWork]:
    """What the target's data says of operations on tiles."""
    out = {}
    for entry in load_target("pto").raw["tile"].values():
        ways = frozenset((one, other) for one, other in entry.get("between", [("vec", "vec")]))
        scratch = (entry.get("scratch"), entry.get("idle", False))
        work = TileWork(tuple(entry["reads"]), entry["writes"], ways, *scratch)
        out.update(dict.fromkeys((f"pto.{op}" for op in entry["names"]), work))
    return out


def is_tile_op(op: Op) -> bool:
    """Whether an operation is one on tiles, by its form."""
    words = [t.text for t in op.tokens]
    return op.name.startswith("pto.t") and "outs" in words


def tile_type(tokens: Sequence[Token]) -> TileType | None:
    """The type behind the last `!pto.tile_buf`, or of a memref in a memory of the core; None for anything else."""
    start = next((i for i in reversed(range(len(tokens))) if tokens[i].text == "!pto.tile_buf"), None)
    text = "".join(t.text for t in (tokens if start is None else tokens[start + 1 :]))
    inside = text[text.find("<") + 1 : text.rfind(">")]
    parts = inside.split(",")
    if start is None or len(parts) < 2:
        return None
    named = dict(p.split("=", 1) for p in parts if "=" in p)
    plain = [p for p in parts if "=" not in p]
    if not named.keys() <= _KEYS or named.get("compact", "0") not in ("0", "null"):
        return None  # which bytes its rows have is not told
    if plain:
        shaped = _SHAPED.fullmatch(plain[1]) if len(plain) > 1 else None
        if shaped is None:
            return None
        sizes = shaped[1].rstrip("x").split("x")
        valid = named.get("valid", "x".join(sizes)).split("x")
        loc, kind = plain[0], shaped[2]
    else:
        if not {"loc", "dtype", "rows", "cols"} <= named.keys():
            return None
        loc, kind, sizes = named["loc"], named["dtype"], [named["rows"], named["cols"]]
        valid = [named.get("v_row", sizes[0]), named.get("v_col", sizes[1])]
    bits = bits_of(kind)
    if len(sizes) != 2 or len(valid) != 2 or not all(s.isdigit() for s in sizes) or not bits or bits % 8:
        return None  # half bytes: which two share one is not told
    rows, cols = (int(s) for s in sizes)
    v_row, v_col = (int(v) if v.isdigit() else None for v in valid)
    column = "col_major" in named.get("blayout", "row_major")
    boxed = named.get("slayout", "none_box") != "none_box" or loc not in ("vec", "bias")
    pads = named.get("pad", "0") not in ("0", "null")
    box = named.get("slayout", "")
    return TileType(loc, rows, cols, v_row, v_col, bits, column, boxed, pads, kind, box)


class TileReader:
    """Operations on tiles and views."""

    types: dict[str, ValueType]

    def alloc(self, op: Op) -> AllocTile | None:
        """A tile; None where its type is not understood."""
        kind = tile_type(op.tokens)
        if kind is None or len(op.results) != 1:
            return None
        given: dict[str, Operand] = {}
        tokens = op.tokens
        for index, token in enumerate(tokens[:-2]):
            if token.text in ("addr", "valid_row", "valid_col") and tokens[index + 1].text == "=":
                value = tokens[index + 2]
                number = int(value.text) if value.kind == "number" and value.text.isdigit() else None
                given[token.text] = Operand(value.text if value.kind == "value" else "", op.at(value), number)
        valid = (given.get("valid_row"), given.get("valid_col"))
        return AllocTile(op.span, op.results[0], kind, given.get("addr"), valid)

    def alloc_memref(self, op: Op) -> AllocTile | None:
        """`memref.alloc() : memref<16x16xf16, #pto.address_space<vec>>`: a tile of its last dimension's columns."""
        text = "".join(t.text for t in op.tokens)
        found = shaped_memref(text[text.find("memref<") :])
        if found is None or len(op.results) != 1 or found[2] in ("", "gm"):
            return None
        *rows, cols = found[0]
        count = prod(rows)
        loc = "vec" if found[2] == "ub" else found[2]
        kind = TileType(loc, count, cols, count, cols, found[1], boxed=loc != "vec")
        return AllocTile(op.span, op.results[0], kind)

    def handed(self, op: Op) -> Stmt | None:
        """`%t = pto.tpop_from_aic {..} -> !pto.tile_buf<..>`: a tile that another core has filled; or one for it, or
        the slot of one.
        """
        kind = tile_type(op.tokens)
        values = [Operand(t.text, op.at(t)) for t in op.tokens if t.kind == "value"]
        if not op.results:
            return HandedTile(op.span, op.name, values[0] if "push" in op.name and values else None)
        if kind is None or len(op.results) != 1:
            return None
        valid = (values[0], values[1]) if len(values) == 2 else (None, None)
        return AllocTile(op.span, op.results[0], kind, None, valid, op.name)

    def element(self, op: Op) -> list[Stmt]:
        """`%v = pto.tgetval ins(%tile, %at : ..) outs : f32`, `pto.tsetval ins(%at, %v : ..) outs(%tile : ..)`."""
        (ins, _), (outs, _) = (_group(op, word) for word in ("ins", "outs"))
        if op.results and "tile_buf" not in "".join(t.text for t in op.tokens):
            found = self._loaded(op)
            return found if isinstance(found, list) else [found]
        if len(ins) != 2 or len(outs) + len(op.results) != 1:
            raise InputError(f"{op.name} takes a tile and the number of an element", op.name_span)
        if outs:
            return [TileElement(op.span, op.name, outs[0], ins[0], writes=True)]
        kind = number_type(op.tokens[-1].text)
        self.types[op.results[0]] = kind
        read = TileElement(op.span, op.name, ins[0], ins[1])
        return [read, OpaqueOp(op.span, op.results, (kind,), None, op.name, loaded=True)]

    def _loaded(self, op: Op) -> Stmt | list[Stmt]:
        """A value that memory gives; the whole reader knows accesses."""
        raise AssertionError(f"{op.name} without a reader")

    def reshaped(self, op: Op) -> Stmt:
        """`%b = pto.treshape %a : !pto.tile_buf<..> -> !pto.tile_buf<..>`."""
        kind, args = tile_type(op.tokens), TokenCursor(op).operands()
        if kind is None or len(op.results) != 1 or len(args) != 1 or not any(t.kind == "arrow" for t in op.tokens):
            raise InputError(f"{op.name} makes one tile of another", op.name_span, "%b = pto.treshape %a : A -> B")
        self.types[op.results[0]] = self.types.get(args[0].name, OTHER)
        return ReshapedTile(op.span, op.results[0], args[0], kind)

    def reserved(self, op: Op) -> list[Stmt]:
        """`%b = pto.reserve_buffer {name = .., size = 8192, location = #pto.address_space<vec>, base = 0} -> i32`."""
        named = attributes(op)
        base, size = (next((t.text for t in named.get(one, ()) if t.kind == "number"), "") for one in ("base", "size"))
        kind = ValueType("int", "i32", 32)
        self.types |= dict.fromkeys(op.results, kind)
        if not (base.isdigit() and size.isdigit() and len(op.results) == 1):
            return [OpaqueOp(op.span, op.results, (kind,) * len(op.results))]
        space = next((SPACES[t.text] for t in named.get("location", ()) if t.text in SPACES), "ub")
        made = Const(op.span, op.results[0], int(base), kind)
        return [made, Reserved(op.name_span, space, int(base), int(size))]

    def tensor_view(self, op: Op) -> Stmt:
        cursor = TokenCursor(op)
        base = cursor.operand()
        lists = lists_in(op, op.tokens)
        shape, strides = lists.get("shape", []), lists.get("strides", [])
        if len(op.results) != 1 or not shape or len(shape) != len(strides):
            raise InputError(f"{op.name} takes as many strides as sizes", op.name_span, "shape = [..], strides = [..]")
        self.types[op.results[0]] = OTHER
        return TensorView(op.span, op.results[0], base, tuple(shape), tuple(strides), _element(op))

    def part_view(self, op: Op) -> Stmt:
        cursor = TokenCursor(op)
        base = cursor.operand()
        lists = lists_in(op, op.tokens)
        offsets, sizes = lists.get("offsets", []), lists.get("sizes", [])
        if len(op.results) != 1 or not sizes or len(sizes) != len(offsets):
            raise InputError(f"{op.name} takes as many offsets as sizes", op.name_span, "offsets = [..], sizes = [..]")
        self.types[op.results[0]] = OTHER
        return PartView(op.span, op.results[0], base, tuple(offsets), tuple(sizes))

    def valid_shape(self, op: Op) -> Stmt:
        args = TokenCursor(op).operands()
        if len(args) != 3:
            raise InputError(f"{op.name} takes a tile, its valid rows and its valid columns", op.name_span)
        return ValidShape(op.span, args[0], (args[1], args[2]))

    def tile_op(self, op: Op) -> Stmt:
        """`pto.tadd ins(%a, %b : ..) outs(%c : ..)`."""
        if op.name not in tile_work():
            said = f"{op.name}: which elements of its tiles it reads and writes is not known"
            raise InputError(said, op.name_span, "write it in operations that are known, or check the lowered kernel")
        (ins, kinds), (outs, made) = (_group(op, word) for word in ("ins", "outs"))
        if not outs:
            raise InputError(f"{op.name} names no tile that it writes", op.name_span, "ins(..) outs(..)")
        beside = [t for t in op.tokens if t.kind == "value" and t.text not in {o.name for o in (*ins, *outs)}]
        if beside:
            said = f"{op.name}: what it does with `{beside[0].text}`, outside of ins(..) and outs(..), is not known"
            raise InputError(said, op.at(beside[0]))
        plain = {name: kind for name, kind in kinds.items() if _is_number(kind)}
        shapes = {name: shape for name, kind in (kinds | made).items() if (shape := shaped_memref(kind))}
        adds = any(t.text == "atomic_add" for t in op.tokens)
        return TileOp(op.span, op.name, ins, outs, plain, shapes, adds, op.name_span)


def _group(op: Op, word: str) -> tuple[tuple[Operand, ...], dict[str, str]]:
    """The values of `ins(..)` or `outs(..)`, before their types, and the type of each as it is written."""
    at = next((i for i, t in enumerate(op.tokens) if t.text == word and t.kind == "word"), None)
    if at is None:
        return (), {}
    out: list[Operand] = []
    kinds = [""]
    depth, typed = 0, False
    for token in op.tokens[at + 1 :]:
        mark = token.text if token.kind == "mark" else ""
        depth += (mark in ("(", "[", "{", "<")) - (mark in (")", "]", "}", ">"))
        if depth == 0:
            break
        typed = typed or (mark == ":" and depth == 1)
        if token.kind == "value" and (not typed or depth == 1):  # types stand behind all operands, or behind each
            out.append(Operand(token.text, op.at(token)))
        elif typed and depth == 1 and mark == ",":
            kinds.append("")
        elif typed and not (mark == ":" and depth == 1):
            kinds[-1] += token.text
    named = {o.name: kind for o, kind in zip(out, kinds, strict=False)}
    return tuple(out), named


def _is_number(kind: str) -> bool:
    return bool(bits_of(kind)) or kind in ("index", "i1")


def shaped_memref(text: str) -> tuple[tuple[int, ...], int, str] | None:
    """Sizes, bits of an element and memory of a memref of a static contiguous shape; None for any other type."""
    found = _MEMREF.fullmatch(text)
    if found is None or not bits_of(found[2]) or bits_of(found[2]) % 8:
        return None
    return tuple(int(n) for n in found[1].rstrip("x").split("x")), bits_of(found[2]), found[3]


def _element(op: Op) -> str:
    """The element that the result's type names."""
    words = [t.text for t in op.tokens if t.kind == "word"]
    return words[-1].rsplit("x", 1)[-1] if words else ""
