"""The two command syntaxes of the "DMA Engine" document: for each engine a descriptor, or a stream shape.

Knows: both grammars, read and printed.
Does not know: whether the commands are right, what a transfer of the plan says beside them.
Law: `parse_command(print_...(x)) == x`, spans aside; numbers are in units, texts in bytes.

    heterogeneous := "HashMap" "(" { place ":" descriptor "," } ")"
    descriptor    := "(" { "(" limit "," read ")" of three numbers "," } "(" read_base "," write_base ")" ","
                     stride0 "," medium "," medium ")"
    medium        := "HBM" "(" chip ")" | ("DM" | "SPM") "(" place ")"
    homogeneous   := "(" tensor "," tensor "," "HashMap" "(" { place ":" mapping "," } ")" ")"
    tensor        := "(" "[" axes "]" "," "[" { class ":" "[" mapping "]" "," } "]" "," TIER "," addr "," dtype ")"
    place         := "(" chip "," cluster "," index ")"
    class         := Chip | Cluster | Slice or Partitioning | Element, InSlice or Dram

`=>` may stand for the colon after a place. A mapping may name the place as i, j and k.

Source: "DMA Engine" (DMA Command Syntax; Example of heterogeneous mapping).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.expr import ONE, Expr
from dmaverify.language.parse import parse
from dmaverify.program.command import Engine, Entry, GivenCommand, Sequencer
from dmaverify.program.tensor import Tensor
from dmaverify.values import dataclass

CLASSES: Mapping[str, str] = {
    "chip": "chip", "cluster": "cluster", "slice": "slice", "partitioning": "slice", "element": "element",
    "inslice": "element", "dram": "element",
}  # fmt: skip
_TIERS = ("HBM", "DM", "SPM")
_TOKEN = re.compile(r"\s*(=>|[A-Za-z_][A-Za-z0-9_']*|-?[0-9][0-9_]*|\S)")


@dataclass(frozen=True, slots=True)
class Homogeneous:
    """One move and a stream shape for each engine."""

    source: Tensor
    dest: Tensor
    dtype: str
    shapes: tuple[tuple[Engine, Expr], ...]


class _Reader:
    """A text and the place reached in it."""

    def __init__(
        self, text: str, axes: Mapping[str, int], lets: Mapping[str, Expr], source: Source, offset: int
    ) -> None:
        self.text, self.axes, self.lets = text, axes, lets
        self.source, self.offset, self.at = source, offset, 0

    def peek(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        return found[1] if found else ""

    def take(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            raise self.error("the text ends too early", "close every parenthesis")
        self.at = found.end()
        return found[1]

    def skip(self, *tokens: str) -> bool:
        if self.peek() in tokens:
            self.take()
            return True
        return False

    def want(self, *tokens: str) -> str:
        if self.peek() not in tokens:
            shown = self.peek() or "the end"
            raise self.error(f"`{shown}` where {' or '.join(f'`{t}`' for t in tokens)} should be", "")
        return self.take()

    def error(self, message: str, hint: str) -> InputError:
        found = _TOKEN.match(self.text, self.at)
        start = found.start(1) if found else len(self.text)
        end = found.end(1) if found else len(self.text)
        span = Span(self.source, self.offset + start, self.offset + end)
        return InputError(message, span, hint or "see DMA Command Syntax")

    def span_from(self, start: int) -> Span:
        return Span(self.source, self.offset + start, self.offset + self.at)

    def number(self) -> int:
        token = self.peek()
        if not re.fullmatch(r"-?[0-9][0-9_]*", token) or len(token) > 24:
            raise self.error(f"`{token or 'the end'}` where a number should be", "write decimal digits")
        self.take()
        return int(token.replace("_", ""))

    def numbers(self) -> list[int]:
        """`(a, b, ...)`"""
        self.want("(")
        out = [self.number()]
        while self.skip(","):
            if self.peek() == ")":
                break
            out.append(self.number())
        self.want(")")
        return out

    def place(self) -> Engine:
        at = self.at
        found = self.numbers()
        if len(found) != 3 or min(found) < 0:
            self.at = at
            raise self.error("an engine is (chip, cluster, index)", "for example (0, 1, 3)")
        return Engine(*found)

    def mapping_text(self) -> str:
        """The text up to a comma, a bracket or the end outside of brackets: one mapping, its own `[...]` included."""
        start, depth = self.at, 0
        while self.at < len(self.text):
            char = self.text[self.at]
            if depth == 0 and char in ",)]":
                break
            depth += (char in "([{") - (char in ")]}")
            self.at += 1
        return self.text[start : self.at]

    def mapping(self, params: Mapping[str, int] | None = None) -> Expr:
        start = self.at
        text = self.mapping_text()
        bare = re.sub(
            r"\((?:DMN|Slice|DMNs)\)", lambda m: " " * len(m[0]), text
        )  # the document's remark inside a shape
        return parse(bare, self.axes, lets=self.lets, params=params, source=self.source, offset=self.offset + start)


def parse_command(
    text: str,
    axes: Mapping[str, int],
    *,
    lets: Mapping[str, Expr] | None = None,
    unit_bits: int = 8,
    source: Source | None = None,
    offset: int = 0,
) -> tuple[GivenCommand, ...] | Homogeneous:
    """Either syntax. Raises InputError at the place to blame.

    Descriptors count in bytes; `unit_bits` 4 makes half bytes of them.
    """
    reader = _Reader(text, axes, lets or {}, source or Source("<command>", text), offset)
    found = _heterogeneous(reader, 8 // unit_bits) if reader.peek() == "HashMap" else _homogeneous(reader)
    if reader.peek():
        raise reader.error(f"`{reader.peek()}` behind the command", "one command each")
    return found


# ---------------------------------------------------------------- a descriptor for each engine


def _heterogeneous(reader: _Reader, scale: int) -> tuple[GivenCommand, ...]:
    reader.want("HashMap")
    close = {"(": ")", "{": "}"}[reader.want("(", "{")]
    out: list[GivenCommand] = []
    while reader.peek() != close:
        start = reader.at
        engine = reader.place()
        if any(one.engine == engine for one in out):
            reader.at = start
            raise reader.error(f"engine {engine} has two descriptors", "a map has one for each engine")
        reader.want(":", "=>", ",")
        out.append(_descriptor(reader, engine, start, scale))
        if not reader.skip(","):
            break
    reader.want(close)
    return tuple(out)


def _descriptor(reader: _Reader, engine: Engine, start: int, scale: int) -> GivenCommand:
    reader.want("(")
    inner = reader.peek() == "(" and _opens_twice(reader)
    if inner:
        reader.want("(")
    entries: list[list[int]] = []
    while True:
        at = reader.at
        found = reader.numbers()
        reader.want(",")
        if len(found) == 2:
            break
        if len(found) != 3:
            reader.at = at
            raise reader.error("an entry is (limit, source stride, dest stride), bases are (source, dest)", "")
        entries.append(found)
    bases, packet = found, reader.number()
    if inner:
        reader.want(")")
    reader.want(",")
    media = [_medium(reader)]
    reader.want(",")
    media.append(_medium(reader))
    reader.want(")")
    span = reader.span_from(start)
    sides = [
        Sequencer(
            tuple(Entry(limit * scale if last else limit, stride if last and stride == 1 else stride * scale)
                  for limit, stride, last in _column(entries, side)),
            packet * scale, media[side][0], bases[side] * scale, media[side][1], span,
        )
        for side in (0, 1)
    ]  # fmt: skip
    return GivenCommand(engine, sides[0], sides[1], span)


def _column(entries: Sequence[Sequence[int]], side: int) -> list[tuple[int, int, bool]]:
    return [(e[0], e[1 + side], index == len(entries) - 1) for index, e in enumerate(entries)]


def _opens_twice(reader: _Reader) -> bool:
    return bool(re.match(r"\s*\(\s*\(", reader.text[reader.at :]))


def _medium(reader: _Reader) -> tuple[str, tuple[int, ...]]:
    name = reader.want(*_TIERS)
    start = reader.at
    doubled = _opens_twice(reader)
    if doubled:
        reader.want("(")
    found = reader.numbers()
    if doubled:
        reader.want(")")
    if len(found) != (1 if name == "HBM" else 3):
        reader.at = start
        raise reader.error(f"{name} is at {'a chip' if name == 'HBM' else '(chip, cluster, index)'}", "")
    return name.lower(), tuple(found)


# ---------------------------------------------------------------- a stream shape for each engine


def _homogeneous(reader: _Reader) -> Homogeneous:
    reader.want("(")
    source, first = _tensor(reader)
    reader.want(",")
    start = reader.at
    dest, second = _tensor(reader)
    if first != second:
        reader.at = start
        raise reader.error(f"the source holds {first}, the destination {second}", "a move does not convert")
    reader.want(",")
    reader.want("HashMap")
    close = {"(": ")", "{": "}"}[reader.want("(", "{")]
    shapes: list[tuple[Engine, Expr]] = []
    while reader.peek() != close:
        engine = reader.place()
        reader.want(":", "=>")
        shapes.append((engine, reader.mapping({"i": engine.chip, "j": engine.cluster, "k": engine.dmn})))
        if not reader.skip(","):
            break
    reader.want(close)
    reader.want(")")
    return Homogeneous(source, dest, first, tuple(shapes))


def _tensor(reader: _Reader) -> tuple[Tensor, str]:
    reader.want("(")
    start = reader.at
    _shape(reader)
    reader.want(",")
    fields = _classes(reader)
    reader.want(",")
    tier = reader.want(*_TIERS).lower()
    reader.want(",")
    base = reader.number()
    reader.want(",")
    dtype = reader.take()
    reader.want(")")
    element, chip, cluster, slice_ = (fields.get(name, ONE) for name in ("element", "chip", "cluster", "slice"))
    return Tensor(tier, element, chip, cluster, slice_, base, span=reader.span_from(start)), dtype


def _shape(reader: _Reader) -> None:
    """`[A = 4, B = 8]`: sizes must be those of the axes in force."""
    reader.want("[")
    while reader.peek() != "]":
        start = reader.at
        name = reader.take()
        reader.want("=")
        size = reader.number()
        if reader.axes.get(name) != size:
            reader.at = start
            known = reader.axes.get(name)
            message = f"axis `{name}` has size {known}, not {size}" if known else f"`{name}` is no axis"
            raise reader.error(message, "the sizes of [axes] hold")
        if not reader.skip(","):
            break
    reader.want("]")


def _classes(reader: _Reader) -> dict[str, Expr]:
    """`[Chip: [A], Element: [B, C]]`"""
    reader.want("[")
    out: dict[str, Expr] = {}
    while reader.peek() != "]":
        token = reader.peek()
        name = CLASSES.get(token.lower())
        if name is None or name in out:
            raise reader.error(f"`{token}` is no class of place here", "Chip, Cluster, Slice, Element, each once")
        reader.take()
        reader.want(":")
        out[name] = reader.mapping()
        if not reader.skip(","):
            break
    reader.want("]")
    return out
