"""The texts in a plan file: named mappings, mappings and configurations, read where they stand.

Knows: which names are in force, how a string of the file maps to its characters, how a dtype counts.
Does not know: tables, transfers, accesses.
Law: whatever is read from a string has its spans in the file, also where the string has escapes; a name of `[let]` uses
only axes and names above it.

Source: the plan file format, `schema = 1`; docs/machines/rngd.md 1.6 for the texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypedDict, TypeVar

from dmaverify.errors import InputError, NoValue, Source, Span, did_you_mean
from dmaverify.language.expr import Expr, Symbol, axes_of, walk
from dmaverify.language.parse import parse
from dmaverify.language.toml_spans import Document, Path, StringSpan
from dmaverify.plan.arithmetic import Cursor
from dmaverify.plan.commands import Homogeneous, parse_command
from dmaverify.plan.config import parse_config, parse_paired
from dmaverify.plan.machine_forms import Formed, formed_commands
from dmaverify.plan.media import Medium
from dmaverify.program.command import GivenCommand, Sequencer
from dmaverify.program.space import unit_bits_of
from dmaverify.targets.target import Target
from dmaverify.values import fields, is_dataclass, replace

T = TypeVar("T")

_NAME = re.compile(r"[A-Z][A-Za-z0-9_']*")
_WHOLE = re.compile(r"0[xX][0-9a-fA-F]+|0|[1-9][0-9]*")


class Units(TypedDict):
    """How the numbers of a configuration text are read."""

    element_units: int
    byte_units: int
    constants: Mapping[str, int]
    unit_is_elements: bool
    media: Mapping[str, Medium]


def units_of(target: Target, dtype: str) -> tuple[int, int]:
    """How many units an element and a byte of `dtype` are."""
    bits = target.dtypes[dtype]
    unit_bits = unit_bits_of(bits)
    return max(1, bits // unit_bits), 8 // unit_bits


def media_of(target: Target) -> dict[str, Medium]:
    """The memories that configuration text may name on this target."""
    return {(tier.text or name).upper(): Medium(name, tuple(tier.base_parts)) for name, tier in target.tiers.items()}


def units(target: Target, dtype: str, unit: str) -> Units:
    element_units, byte_units = units_of(target, dtype)
    return {
        "element_units": element_units,
        "byte_units": byte_units,
        "constants": {name: size * byte_units for name, size in target.constants.items()},
        "unit_is_elements": unit == "elements",
        "media": media_of(target),
    }


class Texts:
    """Reads the strings of one document; `lets` grows as names are defined."""

    def __init__(
        self, doc: Document, axes: Mapping[str, int], let: Mapping[str, str], sizes: Mapping[str, int] | None = None
    ) -> None:
        self.doc = doc
        self.axes = axes
        self.let = let
        self.sizes = sizes or {}
        self.lets: dict[str, Expr] = {}
        self.used: set[str] = set()  # axes of the mappings that were read since this was emptied

    def define(self, name: str) -> None:
        path = ("let", name)
        if name in self.axes:
            raise InputError(f"`{name}` is an axis already", self.doc.key_span(path), "give the mapping another name")
        expr = self.mapping(path, self.let[name])
        for used in axes_of(expr):
            if used not in self.axes:
                raise InputError(*self._unknown_in_let(name, used, expr))
        self.lets[name] = expr

    def _unknown_in_let(self, name: str, used: str, expr: Expr) -> tuple[str, Span, str]:
        spans = [node.span for node in walk(expr) if isinstance(node, Symbol) and node.name == used and node.span]
        where = spans[0] if spans else self.doc.span(("let", name))
        if used == name or (used in self.let and self._reaches(used, name)):
            return f"`{name}` is defined by itself", where, "a name can only use axes and names above it"
        if used in self.let:
            return f"`{used}` is defined below", where, f"move `{used}` above `{name}`"
        known = [*self.axes, *self.lets]
        return f"`{used}` is no axis and no name", where, did_you_mean(used, known) or f"known: {', '.join(known)}"

    def _reaches(self, start: str, goal: str) -> bool:
        """Whether the text of `start` uses `goal`, directly or through other names."""
        seen, waiting = {start}, [start]
        while waiting:
            for used in _NAME.findall(self.let[waiting.pop()]):
                if used == goal:
                    return True
                if used in self.let and used not in seen:
                    seen.add(used)
                    waiting.append(used)
        return False

    def mapping(self, path: Path, text: str, params: Mapping[str, int] | None = None) -> Expr:
        lets, axes = self.lets, self.axes

        def read(source: Source, offset: int) -> Expr:
            def evaluate(part: str, start: int) -> int:
                return evaluated(part, self.sizes, source, offset + start)

            own = evaluate if self.sizes else None
            return parse(text, axes, lets=lets, params=params, source=source, offset=offset, evaluate=own)

        expr = self.in_place(path, text, read)
        self.used |= axes_of(expr).keys()
        return expr

    def natural(self, path: Path, value: int | str) -> int:
        """A number of the file, or the value of its text; NoValue where that is negative."""
        if not isinstance(value, str):
            return value
        if _WHOLE.fullmatch(value):
            return int(value, 0)
        if not self.sizes:
            message = f'`{path[-1]}` must be an integer, not "{value}"'
            hint = 'a number, or its text ("0x80000000"); arithmetic is for plans with symbols'
            raise InputError(message, self.doc.span(path), hint)

        found = self.in_place(path, value, partial(evaluated, value, self.sizes))
        if found < 0:
            raise NoValue(f"`{value}` is {found}", self.doc.span(path), "this number is never negative")
        return found

    def positive(self, path: Path, value: int | str) -> int:
        """As `natural`; NoValue where it is 0."""
        found = self.natural(path, value)
        if found < 1:
            raise NoValue(f"`{value}` is {found}", self.doc.span(path), "this number is at least 1")
        return found

    def in_place(self, path: Path, text: str, read: Callable[..., T]) -> T:
        """Read the text at `path`; where it has escapes, spans and errors are moved to the characters of the file."""
        content = self.doc.content(path, text)
        if content.exact:
            return read(source=content.source, offset=content.start)
        loose = Source(self.doc.source.name, text)
        try:
            return _moved(read(source=loose, offset=0), loose, content)
        except InputError as error:
            span = content.part(error.span.start, error.span.end) if error.span else content.span
            raise type(error)(error.message, span, error.hint) from None

    def commands(self, path: Path, text: str, unit_bits: int) -> tuple[GivenCommand, ...] | Homogeneous:
        return self.in_place(path, text, partial(parse_command, text, self.axes, lets=self.lets, unit_bits=unit_bits))

    def formed(
        self, path: Path, text: str, target: Target, unit_bits: int, options: Mapping[str, int | str]
    ) -> Formed | None:
        return self.in_place(path, text, partial(formed_commands, text, target, unit_bits, written=options))

    def config(self, path: Path, text: str, units: Units) -> Sequencer:
        return self.in_place(path, text, partial(parse_config, text, sizes=self.sizes, **units))

    def paired(self, path: Path, text: str, units: Units) -> tuple[Sequencer, Sequencer]:
        return self.in_place(path, text, partial(parse_paired, text, sizes=self.sizes, **units))


def evaluated(text: str, sizes: Mapping[str, int], source: Source, offset: int) -> int:
    """The value of arithmetic over sizes, all of `text`."""
    cursor = Cursor(text, source, offset, {}, sizes)
    value = cursor.count("number")
    token = cursor.peek()
    if token is not None:
        cursor.fail(f"`{token.shown}` after the number", token.start, token.end, "is an operator missing?")
    return value.plain


def _moved(value: T, loose: Source, content: StringSpan) -> T:
    """The value with every span of `loose` moved to the file; parts that come from elsewhere (names) stay."""
    if isinstance(value, Span):
        return content.part(value.start, value.end) if value.source is loose else value  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(_moved(item, loose, content) for item in value)  # type: ignore[return-value]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    span = getattr(value, "span", None)
    if isinstance(span, Span) and span.source is not loose:
        return value
    return replace(value, **{f.name: _moved(getattr(value, f.name), loose, content) for f in fields(value)})
