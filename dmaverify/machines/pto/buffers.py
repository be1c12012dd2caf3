"""Buffers that kernels name by a shape or a tile: where they begin, as pointers.

Knows: pointer casts, memref views with offsets, tiles with an address, values that are loaded, pointers without a type.
Does not know: copies, control flow.
Law: a buffer begins where its text says; where that cannot be told its pointer is unknown and says why.

Source: MLIR memref dialect; PTO castptr, addptr, pointer_cast, alloc_tile, load_scalar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dmaverify.errors import InputError
from dmaverify.language.notation import Token
from dmaverify.machines.pto.copies import CopyReader
from dmaverify.machines.pto.mlir import Op, walk
from dmaverify.machines.pto.ops import (
    INDEX,
    LOCAL,
    OTHER,
    STORE,
    AddPtr,
    Arith,
    CastPtr,
    OpaqueOp,
    Operand,
    Stmt,
    ValueType,
)
from dmaverify.machines.pto.roles import COPY_ROLES, INLINE_ROLES
from dmaverify.machines.pto.types import SPACES, TokenCursor, bits_of, number_type
from dmaverify.values import replace

LOADS = re.compile(
    r"pto\.(load|load_scalar|ldg\w*|lds|tile_get\w*|t?getval\w*|local_array_get)|memref\.load|affine\.load|llvm\.load"
)
_BLOCKS = ("pto.get_block_", "pto.get_subblock_")
_SAME = ("memref.cast", "memref.memory_space_cast", "memref.collapse_shape", "memref.expand_shape", "pto.bind_tile")


class BufferReader(CopyReader):
    """Operations whose result is an address, or a value at one."""

    # ------------------------------------------------------------ pointers

    def _typed_cast(self, cursor: TokenCursor) -> list[ValueType]:
        found: list[ValueType] = []
        if cursor.to_types():
            while (token := cursor.peek()) is not None:
                if token.text in (",", "to", "into", "->", "(", ")"):
                    cursor.at += 1
                else:
                    found.append(self._type(cursor))
        return found

    def _cast_pointer(self, op: Op) -> Stmt:
        cursor = TokenCursor(op)
        cursor.take("(")
        source = cursor.operand()
        types = self._typed_cast(cursor)
        if not types or types[-1].kind != "pointer":
            return self._results_of(op)
        return self._pointer_at(op, source, types[-1])

    def _pointer_at(self, op: Op, source: Operand, kind: ValueType) -> Stmt:
        (result,) = op.results
        known = self._of(source)
        kind = kind if kind.space else replace(kind, space=known.space or self.roles.get(result, ""))
        self.types[result] = kind
        return CastPtr(op.span, result, source, kind)

    def _add_pointer(self, op: Op) -> Stmt:
        cursor = TokenCursor(op)
        cursor.take("(")
        args = cursor.operands()
        if len(args) != 2:
            raise InputError(f"{op.name} takes a pointer and an offset in elements", op.name_span)
        kind = self._of(args[0])
        if kind.kind != "pointer":
            types = self._typed_cast(cursor)
            kind = next((t for t in types if t.kind == "pointer"), OTHER)
        self.types[op.results[0]] = kind
        return AddPtr(op.span, op.results[0], args[0], args[1], kind)

    def roles_in(self, ops: Sequence[Op]) -> None:
        """The memory that every pointer without a type is used for: told from the copies that it reaches."""
        for op in reversed(list(walk(ops))):
            values = [t.text for t in op.tokens if t.kind == "value"]
            kind = (COPY_ROLES.get(op.name) or INLINE_ROLES.get(op.name) or ("",))[0]
            if kind and len(values) > 1:
                for name, space in zip(values[:2], _sides(kind), strict=True):
                    self.roles.setdefault(name, space)
            elif op.name in ("pto.castptr", "pto.addptr") and op.results and values and op.results[0] in self.roles:
                self.roles.setdefault(values[0], self.roles[op.results[0]])

    # ------------------------------------------------------------ buffers with a shape

    def _buffer_at(self, op: Op) -> Stmt:
        """`pto.pointer_cast(%address) %rows, %columns {config} : memref<...>`: a byte address; several are a choice."""
        cursor = TokenCursor(op)
        addresses = cursor.grouped()
        types = self._typed_cast(cursor)
        kind = types[-1] if types else OTHER
        if kind.kind != "pointer" or len(op.results) != 1:
            raise InputError(f"{op.name} gives one memref", op.name_span, "pto.pointer_cast(%c0_i64) : memref<...>")
        if len(addresses) != 1:
            said = f"{op.name} names {len(addresses)} addresses, and which one is meant is decided elsewhere"
            return self._unknown_pointer(op, kind, said)
        return self._pointer_at(op, addresses[0], replace(kind, space=kind.space or "ub"))

    def _unknown_pointer(self, op: Op, kind: ValueType, why: str) -> Stmt:
        self.types[op.results[0]] = kind
        return OpaqueOp(op.span, op.results[:1], (kind,), None, op.name, why=why)

    def _view(self, op: Op) -> Stmt | list[Stmt]:
        cursor = TokenCursor(op)
        cursor.take("(")
        source = cursor.operand()
        behind = cursor.at
        types = self._typed_cast(cursor)
        known = self._of(source)
        kind = types[-1] if types and types[-1].kind == "pointer" else known
        if kind.kind != "pointer" or len(op.results) != 1:
            return self._results_of(op)
        kind = kind if kind.space else replace(kind, space=known.space)
        if op.name in _SAME:
            return self._pointer_at(op, source, kind)
        if cursor.tokens[0].text == "(":
            return self._unknown_pointer(op, kind, f"{op.name} in the generic form is not read")
        lists = lists_in(op, cursor.tokens[behind:])
        if op.name == "memref.reinterpret_cast":
            if source.name in self.moved:
                return self._unknown_pointer(op, kind, f"{op.name} counts from the start of a buffer that was moved")
            offsets, strides = lists.get("offset", [])[:1], [1]
        else:
            offsets, strides = lists.get("", []), list(known.strides or ())
        if all(o.value == 0 for o in offsets):
            return self._pointer_at(op, source, kind)
        if len(strides) != len(offsets):
            return self._unknown_pointer(op, kind, f"{op.name} moves by strides that are no numbers")
        return self._moved_by(op, source, kind, offsets, strides)

    def _moved_by(
        self, op: Op, source: Operand, kind: ValueType, offsets: Sequence[Operand], strides: Sequence[int]
    ) -> list[Stmt]:
        """The sum of offsets times strides as statements, then the pointer."""
        (result,) = op.results
        self.moved.add(result)
        self.types[result] = kind
        out: list[Stmt] = []
        total = Operand("", op.name_span, 0)
        for index, (offset, stride) in enumerate(zip(offsets, strides, strict=True)):
            product, new = f"{result}.step{index}", f"{result}.sum{index}"
            out.append(Arith(op.span, product, "muli", (offset, Operand("", offset.span, stride)), "", INDEX))
            out.append(Arith(op.span, new, "addi", (total, Operand(product, offset.span)), "", INDEX))
            total = Operand(new, op.name_span)
        return [*out, AddPtr(op.span, result, source, total, kind)]

    def _tile(self, op: Op) -> Stmt | list[Stmt] | None:
        """`pto.alloc_tile addr = %a : !pto.tile_buf<...>`: a buffer of UB, or of the memory that its type names."""
        cursor = TokenCursor(op)
        while (token := cursor.peek()) is not None and token.text not in ("addr", ":"):
            cursor.at += 1
        if not cursor.take("addr") or len(op.results) != 1:
            self.passed[op.name] += 1
            return self._results_of(op)
        cursor.need("=")
        address = cursor.operand()
        words = [t for t in op.tokens if t.kind in ("word", "type")]
        space = next((SPACES[w.text] for w in words if w.text in SPACES), "ub")
        kinds = (w.text.rsplit("x", 1)[-1] if w.text[:1] in "x0123456789" else w.text for w in words)
        element = next((k for k in kinds if bits_of(k)), "")
        return self._pointer_at(op, address, ValueType("pointer", element, bits_of(element), space))

    # ------------------------------------------------------------ values that memory gives

    def _loaded(self, op: Op) -> Stmt | list[Stmt]:
        types = self._typed_cast(TokenCursor(op))
        kinds = tuple(types[-len(op.results) :]) if types and op.results else (OTHER,) * len(op.results)
        kinds = tuple(number_type(k.name) if k.kind == "pointer" else k for k in kinds)
        kinds = (*kinds, *(OTHER,) * (len(op.results) - len(kinds)))
        self.types |= dict(zip(op.results, kinds, strict=True))
        made = OpaqueOp(op.span, op.results, kinds, None, op.name, loaded=True)
        return [*self._read_of(op), made]

    def _read_of(self, op: Op) -> list[Stmt]:
        """The access of memory that a load makes; the whole reader knows accesses."""
        raise AssertionError(f"{op.name} without a reader")

    # ------------------------------------------------------------ what nothing here defines

    def _results_of(self, op: Op) -> Stmt:
        types = self._typed_cast(TokenCursor(op))
        kinds = tuple(types[-len(op.results) :]) if len(types) >= len(op.results) > 0 else (OTHER,) * len(op.results)
        self.types |= dict(zip(op.results, kinds, strict=True))
        least = {"idx": 0, "num": 1}.get(op.name[-3:]) if op.name.startswith(_BLOCKS) else None
        return OpaqueOp(op.span, op.results, kinds, least, op.name)


def _sides(kind: str) -> tuple[str, str]:
    return ("ub", "gm") if kind == STORE else ("ub", "ub") if kind == LOCAL else ("gm", "ub")


def lists_in(op: Op, tokens: Sequence[Token]) -> dict[str, list[Operand]]:
    """Operands in brackets by the word in front of them (`offset: [...]`); the first without a word under ``."""
    out: dict[str, list[Operand]] = {}
    name, found = "", None
    for index, token in enumerate(tokens):
        if token.text == ":" and (index == 0 or tokens[index - 1].kind != "word"):
            break
        if token.text == "[":
            found = out.setdefault(name, []) if name not in out else []
        elif token.text == "]":
            found = None
        elif found is None and token.kind == "word":
            name = token.text
        elif found is not None and token.kind in ("value", "number"):
            value = None if token.kind == "value" else int(token.text) if token.text.lstrip("-").isdecimal() else None
            found.append(Operand(token.text if token.kind == "value" else "", op.at(token), value))
    return out
