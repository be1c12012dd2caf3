"""Texts of operations on tiles and views, as statements.

Knows: the form in which each is written, types of tiles.
Does not know: where tiles lie, which cells an operation touches (`tile_places`, `tile_events`).
Law: what a text leaves out is left open, and a form that is not understood is an input error at its place.

Source: PTO IR manual (tile buffers, views).
"""

from __future__ import annotations

import re
from math import prod

from dmaverify.errors import InputError
from dmaverify.machines.pto.buffers import lists_in
from dmaverify.machines.pto.generic import attributes
from dmaverify.machines.pto.mlir import Op
from dmaverify.machines.pto.ops import OTHER, Const, OpaqueOp, Operand, Stmt, ValueType
from dmaverify.machines.pto.tiles import (
    INDEXED,
    AllocTile,
    HandedTile,
    PartView,
    Reserved,
    ReshapedTile,
    TensorView,
    TileElement,
    TileOp,
    TilePart,
    TileType,
    TileWork,
    ValidShape,
    shaped_memref,
    tile_type,
    tile_work,
)
from dmaverify.machines.pto.types import SPACES, TokenCursor, bits_of, number_type
from dmaverify.targets.target import Target
from dmaverify.values import replace

_ELEMENT = re.compile(r"tensor_view<(?:(?:\d+|\?)x)*(?:!pto\.)?(\w+)")


class TileReader:
    """Operations on tiles and views."""

    types: dict[str, ValueType]
    target: Target

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

    def tile_part(self, op: Op) -> Stmt:
        """`%b = pto.subview %a[%i, %j] sizes [4, 64] valid [%v, %w] : A -> B`, or `pto.subset` with the type of `%a`
        alone.
        """
        kind, source, lists = tile_type(op.tokens), TokenCursor(op).operand(), lists_in(op, op.tokens)
        sizes = tuple(one.value for one in lists.get("sizes", []))
        offsets, valid = tuple(lists.get("", ())), tuple(lists.get("valid", ()))
        shaped = len(sizes) == len(offsets) == 2 and len(valid) in (0, 2) and None not in sizes
        infers = op.name == "pto.subset"
        if len(op.results) != 1 or not shaped or not (infers or any(t.kind == "arrow" for t in op.tokens)):
            hint = "%b = pto.subview %a[%row, %col] sizes [4, 64] : A -> B"
            raise InputError(f"{op.name} makes a part of a tile, by two offsets and two sizes", op.name_span, hint)
        self.types[op.results[0]] = self.types.get(source.name, OTHER)
        numbers = tuple(n for n in sizes if n is not None)
        return TilePart(op.span, op.results[0], source, offsets, numbers, valid, kind, infers)

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
        return TensorView(op.span, *self._dimensions(op, "shape", "strides", "as many strides as sizes"), _element(op))

    def part_view(self, op: Op) -> Stmt:
        return PartView(op.span, *self._dimensions(op, "offsets", "sizes", "as many offsets as sizes"))

    def _dimensions(
        self, op: Op, one: str, other: str, takes: str
    ) -> tuple[str, Operand, tuple[Operand, ...], tuple[Operand, ...]]:
        """A view by its name, what it is of, and two lists of a number for each dimension."""
        base, lists = TokenCursor(op).operand(), lists_in(op, op.tokens)
        first, second = lists.get(one, []), lists.get(other, [])
        if len(op.results) != 1 or not first or len(first) != len(second):
            raise InputError(f"{op.name} takes {takes}", op.name_span, f"{one} = [..], {other} = [..]")
        self.types[op.results[0]] = OTHER
        return op.results[0], base, tuple(first), tuple(second)

    def valid_shape(self, op: Op) -> Stmt:
        args = TokenCursor(op).operands()
        if len(args) != 3:
            raise InputError(f"{op.name} takes a tile, its valid rows and its valid columns", op.name_span)
        return ValidShape(op.span, args[0], (args[1], args[2]))

    def tile_op(self, op: Op) -> Stmt:
        """`pto.tadd ins(%a, %b : ..) outs(%c : ..)`."""
        work = tile_work(self.target).get(op.name)
        if work is None:
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
        if work.writes == "merged" and not plain:
            outs, work = outs[:1], _of_lists(op, work, len(ins))
        shapes = {name: shape for name, kind in (kinds | made).items() if (shape := shaped_memref(kind))}
        adds = any(t.text == "atomic_add" for t in op.tokens)
        modes = frozenset(t.text for t in op.tokens if t.kind == "word") if op.name in INDEXED else frozenset()
        return TileOp(op.span, op.name, ins, outs, plain, shapes, adds, modes, op.name_span, work)


def _of_lists(op: Op, work: TileWork, count: int) -> TileWork:
    """What a merge of several lists does, the last tile of which is scratch; it also counts what it took of each."""
    words = " ".join(t.text for t in op.tokens)
    if "exhausted = false" not in words or "no_tmp" in words:
        said = f"{op.name} of several lists: what is left where one is exhausted, or without a third tile, is not known"
        raise InputError(said, op.name_span, "ins(%list, %list, %scratch {exhausted = false} : ..)")
    return replace(work, scratch=count - 1)


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
    if 1 < len(kinds) != len(out):
        said = f"{op.name} names {len(out)} values in {word}(..), and {len(kinds)} types"
        raise InputError(said, op.name_span, "a type for each value; a number is named by arith.constant")
    named = {o.name: kind for o, kind in zip(out, kinds, strict=False)}
    return tuple(out), named


def _is_number(kind: str) -> bool:
    return bool(bits_of(kind)) or kind in ("index", "i1")


def _element(op: Op) -> str:
    """The element that the result's type names."""
    found = _ELEMENT.search("".join(t.text for t in op.tokens))
    return "" if found is None else found[1]
