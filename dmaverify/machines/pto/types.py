"""Tokens of an operation walked once, and the types that PTO kernels write.

Knows: operands, pointer types with their spaces, number types, aliases, raw bits of constants.
Does not know: operations.
Law: a type that is not known is `other`, never taken for a number; what is missing raises InputError at its place.

Source: MLIR builtin types; PTO pointer types.
"""

from __future__ import annotations

import struct
from collections import Counter
from math import prod

from dmaverify.errors import InputError
from dmaverify.language.notation import Token
from dmaverify.machines.pto.mlir import MlirFile, Op
from dmaverify.machines.pto.ops import OTHER, Operand, ValueType
from dmaverify.targets.target import Target

CUBE_SPACES = ("l1", "l0a", "l0b", "l0c", "fb", "mat", "left", "right", "acc", "bias", "scaling")
SPACES = {"gm": "gm", "ub": "ub", "vec": "ub", **{name: name for name in CUBE_SPACES}}
_WIDTH = {"index": 64, "bf16": 16}
_WIDTH |= dict.fromkeys(("hif8", "f8E4M3", "f8E4M3FN", "f8E5M2", "f8E8M0", "f4E1M2x2", "f4E2M1x2"), 8)
"""Of names that do not say it; packed types are counted in pairs, each a byte."""
MOST_BITS = 1024
"""Bits of a number's type; a wider one is a type that is not known."""
MOST_TYPES = 4096
GROUPS = ("nburst", "loop", "loop1", "loop2", "pad", "l2_cache_ctl")


class TokenCursor:
    """Walks the tokens of one operation."""

    def __init__(self, op: Op, tokens: tuple[Token, ...] | None = None) -> None:
        self.op = op
        self.tokens = tuple(t for t in (op.tokens if tokens is None else tokens) if t.kind != "region")
        self.at = 0

    def peek(self, ahead: int = 0) -> Token | None:
        index = self.at + ahead
        return self.tokens[index] if index < len(self.tokens) else None

    def take(self, text: str) -> bool:
        token = self.peek()
        if token is not None and token.text == text and token.kind != "string":
            self.at += 1
            return True
        return False

    def need(self, text: str) -> None:
        if not self.take(text):
            self.refuse(f"`{text}` is missing")

    def refuse(self, message: str, hint: str = "") -> None:
        token = self.peek() or (self.tokens[-1] if self.tokens else None)
        span = self.op.name_span if token is None else self.op.at(token)
        raise InputError(f"{self.op.name}: {message}", span, hint or None)

    def braces(self) -> None:
        """Passes over an attribute dictionary, also in the form `<{...}>`."""
        while self.peek() is not None and (
            self.peek().text == "{" or (self.peek().text == "<" and self.peek(1) and self.peek(1).text == "{")  # type: ignore[union-attr]
        ):
            depth = 0
            while (token := self.peek()) is not None:
                depth += (token.text in "{<(") - (token.text in "}>)")
                self.at += 1
                if depth == 0:
                    break

    def to_end(self) -> None:
        """Refuses what stands between the operands and the types, but for attributes."""
        self.braces()
        token = self.peek()
        if token is not None and token.text != ":":
            self.refuse(f"`{token.text}` stands behind all operands that it has", "leave it out")

    def to_types(self) -> bool:
        """Goes behind the colon in front of the types, past everything in brackets; False where there is none."""
        depth = 0
        while (token := self.peek()) is not None:
            mark = token.text if token.kind == "mark" else ""
            self.at += 1
            if mark == ":" and depth <= 0:
                return True
            depth += (mark in ("(", "[", "{", "<")) - (mark in (")", "]", "}", ">"))
        return False

    def operand(self) -> Operand:
        token = self.peek()
        if (
            token is None
            or token.kind not in ("value", "number", "word")
            or (token.kind == "word" and token.text not in ("true", "false"))
        ):
            self.refuse("an operand is missing", "write an SSA value such as %c32_i64")
        assert token is not None
        self.at += 1
        span = self.op.at(token)
        if token.kind == "value":
            return Operand(token.text, span)
        return Operand("", span, integer_of(token.text))

    def operands(self) -> list[Operand]:
        """Values with commas between them; a trailing comma is accepted."""
        found: list[Operand] = []
        while (token := self.peek()) is not None and token.kind in ("value", "number"):
            found.append(self.operand())
            if not self.take(","):
                break
        return found

    def grouped(self) -> list[Operand]:
        self.need("(")
        found = self.operands()
        self.need(")")
        return found


def integer_of(text: str) -> int:
    if text in ("true", "false"):
        return int(text == "true")
    try:
        return int(text, 0)
    except ValueError:
        raise InputError(f"`{text[:40]}` is no integer, which this operand or type asks for") from None


class TypeReader:
    """Types of one text. `types` holds the type of every value so far."""

    def __init__(self, text: MlirFile, target: Target) -> None:
        self.text, self.target = text, target
        self.types: dict[str, ValueType] = {}
        self.roles: dict[str, str] = {}  # the memory that a pointer without a type is used for
        self.moved: set[str] = set()  # views that begin behind the start of their buffer
        self.passed: Counter[str] = Counter()

    # ------------------------------------------------------------ types

    def _type(self, cursor: TokenCursor) -> ValueType:
        """The type at the cursor, aliases followed; what stands behind its name in angle brackets is taken with it."""
        token = cursor.peek()
        if token is None:
            return OTHER
        if token.text == "<":
            return self._pointer(cursor)
        cursor.at += 1
        if token.kind == "type" and token.text in self.text.aliases:
            return self._type(TokenCursor(cursor.op, self.text.aliases[token.text]))
        if token.text.endswith(".ptr") and token.kind == "type":
            return self._pointer(cursor)
        if token.text == "memref" and token.kind == "word":
            return self._buffer_type(cursor)
        tail = cursor.peek()
        if tail is not None and tail.text == "<":
            words = self._angle(cursor)
            number = next((int(w.text) for w in words if w.kind == "number" and w.text.isdecimal()), 0)
            element = next((w.text.lstrip("x!") for w in words if w.kind in ("word", "type")), "")
            return ValueType("other", token.text, number * bits_of(element.split(".")[-1]))
        name = token.text.removeprefix("!pto.")
        return number_type(name)

    def _buffer_type(self, cursor: TokenCursor) -> ValueType:
        """`memref<shape x element, layout, space>` as a pointer, with strides where they are numbers."""
        tail = cursor.peek()
        words = self._angle(cursor) if tail is not None and tail.text == "<" else []
        cut = next((i for i, w in enumerate(words) if w.text == ","), len(words))
        *shape, element = "".join(w.text for w in words[:cut]).split("x") if cut else [""]
        element = element.removeprefix("!pto.")
        sizes = [int(n) if n.isdecimal() else None for n in shape]
        space = next((SPACES[w.text] for w in reversed(words[cut:]) if w.text in SPACES), "")
        strides: tuple[int, ...] | None = None
        at = next((i for i, w in enumerate(words) if w.text == "strided"), None)
        dense = at is None and not any(w.text.startswith(("affine_map", "#map")) for w in words)
        if at is not None:
            inside = words[at : next((i for i in range(at, len(words)) if words[i].text == "]"), len(words))]
            numbers = [w.text for w in inside if w.kind == "number" or w.text == "?"]
            whole = len(numbers) == len(sizes) and all(n.isdecimal() for n in numbers)
            strides = tuple(map(int, numbers)) if whole else None
        elif dense and None not in sizes[1:]:
            steps = [1]
            for size in reversed(sizes[1:]):
                steps.append(steps[-1] * (size or 0))
            strides = tuple(reversed(steps[: len(sizes)])) if sizes else ()
        total = prod((size or 0 for size in sizes), start=bits_of(element) // 8)
        return ValueType("pointer", element, bits_of(element), space, total if dense else 0, strides)

    def _angle(self, cursor: TokenCursor) -> list[Token]:
        depth, words = 0, []
        while (token := cursor.peek()) is not None:
            depth += (token.text == "<") - (token.text == ">")
            words.append(token)
            cursor.at += 1
            if depth == 0:
                break
        return words[1:-1]

    def _pointer(self, cursor: TokenCursor) -> ValueType:
        tail = cursor.peek()
        if tail is None or tail.text != "<":
            return ValueType("pointer", "")
        words = [w for w in self._angle(cursor) if w.kind in ("word", "type")]
        element = words[0].text.removeprefix("!pto.") if words else ""
        space = SPACES.get(words[-1].text, "") if len(words) > 1 else ""
        return ValueType("pointer", element, bits_of(element), space)

    def _typed_tail(self, cursor: TokenCursor) -> list[ValueType]:
        """Types behind the colon; words such as `loop` and `pad` between them are passed, `i64 x5` counts five."""
        found: list[ValueType] = []
        if not cursor.to_types():
            return found
        cursor.take("(")
        while (token := cursor.peek()) is not None and token.text not in ("->", ")"):
            if token.text == "," or token.text in GROUPS:
                cursor.at += 1
            else:
                found.append(self._type(cursor))
                after = cursor.peek()
                if after is not None and after.kind == "word" and after.text[0] == "x" and after.text[1:].isdecimal():
                    times = int(after.text[1:]) if len(after.text) < 6 else MOST_TYPES
                    if times >= MOST_TYPES:
                        cursor.refuse(f"a type {times:,} times or more", "a list of types is at most that long")
                    found += found[-1:] * (times - 1)
                    cursor.at += 1
        return found

    def _of(self, operand: Operand) -> ValueType:
        return self.types.get(operand.name, OTHER)


def bits_of(name: str) -> int:
    name = name.removeprefix("!pto.")
    if name in _WIDTH:
        return _WIDTH[name]
    digits = name.lstrip("uisbf")
    return int(digits) if digits.isdecimal() and len(digits) <= 4 and int(digits) <= MOST_BITS else 0


def number_type(name: str) -> ValueType:
    bits = bits_of(name)
    if name == "index" or (bits and name.rstrip("0123456789") in ("i", "si", "ui")):
        return ValueType("int", name, bits)
    return ValueType("float", name, bits) if bits else ValueType("other", name)


def float_bits(text: str, name: str, bits: int) -> int:
    """Raw bits of a float constant; hexadecimal ones are the bits already."""
    if text.lower().startswith(("0x", "-0x")):
        return int(text, 16)
    try:
        return _packed(float(text), name, bits)
    except (OverflowError, ValueError, struct.error):
        raise InputError(f"`{text[:40]}` does not fit {name}") from None


def _packed(value: float, name: str, bits: int) -> int:
    if name == "bf16":
        (raw,) = struct.unpack("<I", struct.pack("<f", value))
        return int((raw + 0x7FFF + ((raw >> 16) & 1)) >> 16) & 0xFFFF
    form = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}.get(bits)
    if form is None:
        return 0 if value == 0 else 1 << (bits - 1) if bits else 0
    try:
        (raw,) = struct.unpack(form[1], struct.pack(form[0], value))
    except OverflowError:
        raw = {16: 0x7C00, 32: 0x7F800000}[bits] | (1 << (bits - 1) if value < 0 else 0)
    return int(raw)
