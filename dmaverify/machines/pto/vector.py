"""Vector and scalar accesses, masks, and operations on registers: their text becomes statements.

Knows: which operand is pointer, index, register or mask, distributions as written, shapes of registers and memrefs.
Does not know: which bytes a distribution touches, values, proofs.
Law: an operation that names a pointer and is not known here is an access whose extent is open, never nothing; every use
of a register is in some statement.

Source: PTO v0.6 (vlds, vsts and their kin, predicates, scalar accesses); MLIR memref (strided layouts).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dmaverify.errors import InputError
from dmaverify.machines.pto.copies import CopyReader
from dmaverify.machines.pto.distributions import vector_unit
from dmaverify.machines.pto.mlir import MlirFile, Op
from dmaverify.machines.pto.operand_shapes import OperandShape, OperationParts, before_comma, named_in, number_in
from dmaverify.machines.pto.ops import (
    OTHER,
    AccessOp,
    AddPtr,
    CastPtr,
    Mask,
    OpaqueOp,
    Operand,
    Stmt,
    UnreadOp,
    ValueType,
    VectorOp,
)
from dmaverify.machines.pto.scopes import MemoryBarrier
from dmaverify.machines.pto.typed import MASK, SCALAR, TILE, TypedOperand, TypedUse
from dmaverify.machines.pto.types import TokenCursor, bits_of
from dmaverify.targets.target import Target

_FORMS = {
    "r": {
        "vector": ["vlds"],
        "pair": ["vldsx2", "vldx2"],
        "blocks": ["vsldb"],
        "predicate": ["plds", "pld", "pldi"],
        "scalar": ["load_scalar", "load", "ldg"],
        "whole": ["vmi.vload", "vmi.load", "vmi.masked_load"],
        "open": ["vgather2", "vgatherb", "vgather2_bc", "vldas", "vldus", "vldu", "vsld"],
    },
    "w": {
        "vector": ["vsts"],
        "pair": ["vstsx2", "vstx2"],
        "blocks": ["vsstb"],
        "predicate": ["psts", "pst", "psti"],
        "scalar": ["store_scalar", "store", "stg"],
        "whole": ["vmi.vstore", "vmi.store", "vmi.masked_store"],
        "open": ["vsst", "vscatter", "vstus", "vstur", "vstas", "vstar", "vstu", "vsta", "pstu"],
    },
}
ACCESSES = {name: (way, form) for way, forms in _FORMS.items() for form, names in forms.items() for name in names}
_MASK = re.compile(r"(pset|pge|plt)_b(8|16|32)")
_MEMORIES = ("!pto.tile_buf", "tensor_view", "memref", "!pto.ptr", "!llvm.ptr")
_INDEXED = ("vector", "pair", "predicate", "scalar")
UNTYPED = "untyped"  # a register, as far as the text tells
_LANES = re.compile(r"(\d+)x(.+)")


class VectorReader(CopyReader):
    """Accesses that are no copies, and what happens to registers."""

    def __init__(self, text: MlirFile, target: Target) -> None:
        super().__init__(text, target)
        self.lane_widths: dict[str, tuple[int, int]] = {}
        self.elements: dict[str, str] = {}  # of registers, the type of their elements

    def _memory_barrier(self, op: Op) -> Stmt:
        return MemoryBarrier(op.span, next((t.text.strip('"<>') for t in op.tokens if "_" in t.text[1:]), ""))

    def vector(self, op: Op) -> list[Stmt] | None:
        """The statements of an operation on registers, masks or scalars in memory; None where it is none of these."""
        if not op.name.startswith("pto.") or op.regions:
            return None
        short = op.name.removeprefix("pto.")
        parts = self._parts(op)
        self._typed(op, parts)
        if short in ACCESSES:
            return self._known_access(op, parts, *ACCESSES[short])
        out: list[Stmt] = []
        kinds = [self._kind(o, parts, i) for i, o in enumerate(parts.operands)]
        masks = [r for r, shape in zip(op.results, parts.made, strict=False) if shape.what == "mask"]
        registers = [r for r, shape in zip(op.results, parts.made, strict=False) if shape.what == "vreg"]
        if found := _MASK.fullmatch(short):
            if not op.results:
                raise InputError(f"{op.name} gives a mask", op.name_span, "write `%mask = ...`")
            return self._mask(op, parts, found[1], int(found[2]))
        if not masks and not registers and "vreg" not in kinds:
            return None  # nothing of it is known to be a register
        if "vreg" in kinds or registers or UNTYPED in kinds:
            args = tuple(o for o, kind in zip(parts.operands, kinds, strict=True) if kind in ("vreg", UNTYPED))
            mask = next((o for o, kind in zip(parts.operands, kinds, strict=True) if kind == "mask"), None)
            several = tuple(o for o, kind in zip(parts.operands, kinds, strict=True) if kind == "mask")
            if len(several) > 1:
                mask = None
            widths = [self.lane_widths.get(o.name, (0, 0))[1] for o in args]
            widths += [shape.lane_bytes for shape in parts.made if shape.what == "vreg"]
            part = parts.named.get("part") or parts.named.get("position") or ""
            if mask is None and "mask" in kinds:
                short = f"{short} with several masks"
            typed = self._typed_use(op, parts, kinds)
            out.append(VectorOp(op.name_span, short, tuple(registers), args, mask, part, tuple(widths), several, typed))
        touched = self.open_accesses(op)
        if touched or self.names_memory(op):
            where = " of UB" if touched else ""
            said = f"{op.name} is not known: which bytes{where} it reads and writes is open"
            out.append(UnreadOp(op.name_span, said, "what it may touch begins at the pointers that it names"))
        out = [*touched, *out]
        rest = [r for r in op.results if r not in masks and r not in registers]
        if masks:
            args = tuple(o for o, kind in zip(parts.operands, kinds, strict=True) if kind == "mask")
            out += [Mask(op.name_span, m, short, self._bits_of_mask(parts, m, op), args=args) for m in masks]
        return [*out, *self._opaque(op, rest)]

    def _typed_use(self, op: Op, parts: OperationParts, kinds: Sequence[str]) -> TypedUse | None:
        """Operands and results with their types; None where the text does not say what each of them is."""
        if UNTYPED in kinds or not {*kinds} <= {"vreg", "mask", "int", "float"}:
            return None
        ins, known = [], {"vreg": TILE, "mask": MASK}
        shapes = parts.given if len(parts.given) == len(parts.operands) else [None] * len(parts.operands)
        for one, kind, shape in zip(parts.operands, kinds, shapes, strict=True):
            element = shape.element if shape else self.elements.get(one.name, "")
            number = self._of(one)
            named = element if kind == "vreg" else number.name if kind != "mask" else ""
            ins.append(TypedOperand(known.get(kind, SCALAR), one.name, named, number.bits if kind == "mask" else 0))
        made = zip(op.results, parts.made, strict=False)
        outs = [TypedOperand(known[s.what], r, s.element, s.type.bits) for r, s in made if s.what in known]
        return TypedUse(op.name, tuple(ins), tuple(outs))

    def scalar_read(self, op: Op) -> list[Stmt]:
        """A load of one element, whatever its name."""
        parts = self._parts(op)
        return self._known_access(op, parts, "r", "scalar")

    def uses(self, op: Op) -> list[Stmt]:
        """Registers that an operation names which is nothing but a passer-by."""
        kinds = {t.text: self.types.get(t.text, OTHER).name for t in op.tokens if t.kind == "value"}
        args = [Operand(t.text, op.at(t)) for t in op.tokens if kinds.get(t.text, "").endswith(".vreg")]
        return [VectorOp(op.name_span, op.name, (), tuple(args))] if args else []

    def open_accesses(self, op: Op) -> list[Stmt]:
        """Every pointer that an operation names, as an access of unknown extent."""
        way = "r" if op.name.startswith("pto.vld") else "w" if op.name.startswith("pto.vst") else "rw"
        named = (one for one in self._pointers(op) if self.types[one.name].space == "ub")
        return [AccessOp(op.name_span, one, (), way, op.name) for one in named]

    def names_memory(self, op: Op) -> bool:
        """Whether an operation names any pointer, tile or view, by the type of its value or in its own text."""
        kinds = [self.types.get(t.text, OTHER).name if t.kind == "value" else t.text for t in op.tokens]
        return any(self._pointers(op)) or any(word in kind for kind in kinds for word in _MEMORIES)

    def _pointers(self, op: Op) -> Iterator[Operand]:
        for token in op.tokens:
            if token.kind == "value" and self.types.get(token.text, OTHER).kind == "pointer":
                yield Operand(token.text, op.at(token))

    # ------------------------------------------------------------ accesses

    def _known_access(self, op: Op, parts: OperationParts, way: str, form: str) -> list[Stmt]:
        if not parts.given:
            raise InputError(f"{op.name} has no types", op.name_span, "write ` : ` and a type for each operand")
        kinds = [self._kind(o, parts, i) for i, o in enumerate(parts.operands)]
        at = next((i for i, kind in enumerate(kinds) if kind in ("pointer", "memref")), None)
        if at is None:
            loads, stores = way == "r", way == "w"
            known = list(parts.indices) or ([0] if loads else [1] if stores else [])
            at = next((i for i in known if i < len(parts.operands)), None)
        if at is None:
            raise InputError(f"{op.name} names no pointer", op.name_span, "write `%pointer[%offset]`")
        pointer = parts.operands[at]
        tail = [shape for shape in parts.given if shape.what in ("pointer", "memref")]
        shape = tail[0] if tail else None
        space = self._of(pointer).space or (shape.type.space or shape.space if shape else "")
        if space and space not in ("ub", "gm"):
            return self._opaque(op, list(op.results))
        if pointer.name not in self.types and shape is not None and shape.type.kind == "pointer":
            self.types[pointer.name] = shape.type
        offsets, form = self._offsets(parts, at, kinds, shape, form)
        registers = [s for s in (*parts.given, *parts.made) if s.what == "vreg"]
        values = tuple(o for o, kind in zip(parts.operands, kinds, strict=True) if kind in ("vreg", UNTYPED))
        lanes, lane_bytes = (registers[0].lanes, registers[0].lane_bytes) if registers else (0, 0)
        if not lanes and values:
            lanes, lane_bytes = self.lane_widths.get(values[0].name, (0, 0))
        masks = [o for o, kind in zip(parts.operands, kinds, strict=True) if kind == "mask"]
        numbers = [o for o, kind in list(zip(parts.operands, kinds, strict=True))[at + 1 :] if kind == "int"]
        if form == "whole" and (numbers or "group" in parts.words or "group" in parts.named or not lanes):
            form = "open"
        moved = [r for r, s in zip(op.results, parts.made, strict=False) if s.what == "pointer"]
        loaded = tuple(r for r, s in zip(op.results, parts.made, strict=False) if s.what == "vreg")
        if way == "r" and form in ("vector", "pair") and not loaded:
            loaded = op.results[: 2 if form == "pair" else 1]
        access = AccessOp(
            op.name_span,
            pointer,
            tuple(offsets),
            way,
            op.name,
            form,
            parts.named.get("dist") or next(iter(parts.strings), ""),
            lanes,
            lane_bytes,
            (shape.type.bits or shape.lane_bytes * 8) // 8 if shape is not None else 0,
            masks[0] if masks and form not in ("predicate", "open") else None,
            values,
            loaded,
            numbers[0] if form == "blocks" and numbers else None,
            bool(moved) and form != "open",
            tuple(masks),
        )
        out: list[Stmt] = [access]
        kind = self._of(pointer)
        for name in moved:
            self.types[name] = kind
            if form == "open" or len(offsets) != 1:
                out.append(CastPtr(op.name_span, name, pointer, kind))
            else:
                out.append(AddPtr(op.name_span, name, pointer, offsets[0][0], kind))
        masks_made = [r for r, s in zip(op.results, parts.made, strict=False) if s.what == "mask"]
        out += [Mask(op.name_span, m, "plds", self._bits_of_mask(parts, m, op)) for m in masks_made]
        return [*out, *self._opaque(op, [r for r in op.results if r not in (*moved, *loaded, *masks_made)])]

    def _offsets(
        self, parts: OperationParts, at: int, kinds: Sequence[str], shape: OperandShape | None, form: str
    ) -> tuple[list[tuple[Operand, int]], str]:
        """Indices with the elements that each counts; the extent is open where a layout is not known."""
        found = parts.indices.get(at)
        memref = shape if shape is not None and shape.what == "memref" else None
        if found is None:
            behind = list(zip(parts.operands, kinds, strict=True))[at + 1 :]
            plain = [o for o, kind in behind if kind == "int"] if form in _INDEXED else []
            if not plain or memref is None:
                return ([(behind[0][0], 1)] if plain and behind[0][1] == "int" else []), form
            found = plain
        strides = (1,) if memref is None else memref.strides
        if len(found) == 1 and memref is None:
            return [(found[0], 1)], form
        if strides is None or len(strides) != len(found):
            return [(parts.operands[at], 1)], "open"  # a pointer is no number of elements: the index has no value
        return list(zip(found, strides, strict=True)), form

    def _mask(self, op: Op, parts: OperationParts, what: str, bits: int) -> list[Stmt]:
        pattern = parts.named.get("pattern") or next(iter(parts.strings), "")
        pattern = pattern if pattern.startswith("PAT_") or not pattern else f"PAT_{pattern}"
        count = parts.operands[0] if parts.operands else None
        self.types[op.results[0]] = ValueType("other", "!pto.mask", bits)
        rest = op.results[1] if len(op.results) > 1 else ""
        if rest:
            self.types[rest] = parts.made[1].type if len(parts.made) > 1 else ValueType("int", "i32", 32)
        return [Mask(op.name_span, op.results[0], what, bits, pattern, count, rest)]

    def _opaque(self, op: Op, results: Sequence[str]) -> list[Stmt]:
        if not results:
            return []
        return [OpaqueOp(op.span, tuple(results), tuple(self._of(Operand(r, op.span)) for r in results), None, op.name)]

    def _bits_of_mask(self, parts: OperationParts, result: str, op: Op) -> int:
        return parts.made[op.results.index(result)].type.bits

    # ------------------------------------------------------------ parts of an operation

    def _kind(self, operand: Operand, parts: OperationParts, index: int) -> str:
        known = self.types.get(operand.name, OTHER)
        if known == OTHER and len(parts.given) == len(parts.operands):
            known = parts.given[index].type
        if operand.value is not None:
            return "int"
        return UNTYPED if known == OTHER else OperandShape(known).what

    def _parts(self, op: Op) -> OperationParts:
        parts = OperationParts()
        cursor = TokenCursor(op)
        while (token := cursor.peek()) is not None and token.text != ":":
            if token.text == "[" and parts.operands:
                cursor.at += 1
                parts.indices[len(parts.operands) - 1] = found = cursor.operands()
                if not cursor.take("]"):  # an expression, as of `affine.load`: its value is not known here
                    found.clear()
                    while (token := cursor.peek()) is not None and not cursor.take("]"):
                        cursor.at += 1
            elif token.text == "{":
                start = cursor.at
                cursor.braces()
                parts.named |= named_in(cursor.tokens[start : cursor.at])
            elif token.kind in ("value", "number"):
                value = None if token.kind == "value" else number_in(token.text)
                parts.operands.append(Operand(token.text if value is None else "", op.at(token), value))
                cursor.at += 1
            else:
                if token.kind == "string":
                    parts.strings.append(token.text.strip('"'))
                elif token.kind == "word":
                    parts.words.append(token.text)
                cursor.at += 1
        into = parts.given
        while (token := cursor.peek()) is not None:
            if token.text in (":", ",", "(", ")", "->"):
                into = parts.made if token.text == "->" else into
                cursor.at += 1
            else:
                into.append(self._shape(cursor))
        if op.results and not parts.made and len(parts.given) == 1 and parts.given[0].what in ("vreg", "mask"):
            parts.made = parts.given * len(op.results)  # `%w = pto.vabs %v : type` gives the type of both
        elif op.results and not parts.made:
            parts.made = parts.given[-len(op.results) :]
        return parts

    def _typed(self, op: Op, parts: OperationParts) -> None:
        arrow = any(token.kind == "arrow" for token in op.tokens)
        named = len(parts.operands) + sum(map(len, parts.indices.values())) + (0 if arrow else len(op.results))
        if len(parts.given) > named and any(shape.what == "vreg" for shape in parts.given):
            said = f"{op.name} has {len(parts.given)} types for {len(parts.operands)} operands"
            raise InputError(said, op.name_span, "write every operand, and one type for each")
        if len(parts.given) == len(parts.operands):
            for operand, shape in zip(parts.operands, parts.given, strict=True):
                made = self.lane_widths.get(operand.name, (0, 0))
                if shape.what == "vreg" and made[0] and made != (shape.lanes, shape.lane_bytes):
                    said = f"{operand.name} is made with {made[0]} lanes of {made[1] * 8} bits"
                    raise InputError(f"{said}, and used as another type", operand.span, "write the type of its making")
        for result, shape in zip(op.results, parts.made, strict=False):
            self.types[result] = shape.type
            if shape.what == "vreg":
                self.lane_widths[result] = (shape.lanes, shape.lane_bytes)
                self.elements[result] = shape.element
        for result in op.results[len(parts.made) :]:
            self.types[result] = OTHER

    def _shape(self, cursor: TokenCursor) -> OperandShape:
        token = cursor.peek()
        if token is not None and token.kind == "type" and token.text in self.text.aliases:
            cursor.at += 1
            return self._shape(TokenCursor(cursor.op, self.text.aliases[token.text]))
        start = cursor.at
        kind = self._type(cursor)
        cursor.at += cursor.at == start
        words = cursor.tokens[start : cursor.at]
        name = words[0].text
        if name.endswith(".mask"):
            bits = next((int(w.text[1:]) for w in words if w.kind == "word" and re.fullmatch(r"b\d+", w.text)), 0)
            return OperandShape(ValueType("other", name, bits))
        inside = before_comma(words[2:-1])
        if name == "memref":
            return OperandShape(kind, 0, kind.item_bytes, kind.strides, kind.space, indexed=True)
        if name.endswith(".vreg") and (found := _LANES.fullmatch(inside)):
            bits = bits_of(found[2].rsplit(".", 1)[-1].lstrip("!"))
            whole = vector_unit(self.target).register_bytes * 8
            if bits and name.endswith("pto.vreg") and (len(found[1]) > 9 or int(found[1]) * bits != whole):
                said = f"a register holds {whole:,} bits, and {found[1][:20]} lanes of {bits} bits are not as many"
                raise InputError(said, cursor.op.at(words[0]), f"write `{whole // bits}x{found[2]}`")
            if not bits:
                return OperandShape(kind)
            return OperandShape(kind, int(found[1]), max(1, bits // 8), element=found[2])
        if name == "!pto.vreg":
            raise InputError("a register's type tells its lanes", cursor.op.at(words[0]), "write `!pto.vreg<64xf32>`")
        return OperandShape(kind)
