"""Lines of a form with their places: what every iDMA form is read with, and what it becomes.

Knows: comments, numbers, spans of words; an `Image`: descriptors with what only the form can say of them.
Does not know: any form.
Law: every word that is read has a span; a word that nobody reads is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NoReturn

from dmaverify.errors import InputError, Source, Span
from dmaverify.machines.idma.nd import Descriptor
from dmaverify.program.form import Word
from dmaverify.targets.modules import Derived
from dmaverify.values import dataclass, field


@dataclass(frozen=True, slots=True)
class PlantedError:
    """A bus error that is sure to come: on which side, what the engine is told to do then, and at which address."""

    side: str
    action: str
    address: int
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ToldDescriptor:
    """One descriptor as a form gives it: strides relative, options of `Setup` by name, where it stands."""

    descriptor: Descriptor
    options: Mapping[str, int | str] = field(default_factory=dict)
    span: Span | None = field(default=None, compare=False, repr=False)
    words: tuple[Word, ...] = field(default=(), compare=False, repr=False)
    channel: int = 0  # launches of different channels run side by side; below 0: who knows when
    errors: tuple[PlantedError, ...] = ()
    facts: tuple[Derived, ...] = ()  # beside those of its descriptor

    def word(self, part: str) -> Word | None:
        """The lowest word of a part, where the form has one."""
        return min((w for w in self.words if w.part == part), key=lambda w: w.shift, default=None)


@dataclass(frozen=True, slots=True)
class Image:
    """All that a text tells the engine, in order; `facts` are instances of the scopes of `chain` and the like, and
    `problems` say what makes no sense and where: (what, place, what to write). `waits` are numbers of descriptors in
    front of which all earlier ones are complete, `partly` (number, channel) where those of one channel are, `until`
    (number, launch) where those of its channel up to a launch are; where not
    `ordered`, each is a test of its own. `fetch` is the width
    of the bus for which descriptors in memory are laid out.

    `periods` are cycles between launches, by number of the descriptor; `bypass` is how many cycles a transfer takes
    that may come before any of them.
    """

    told: tuple[ToldDescriptor, ...]
    facts: tuple[Derived, ...] = ()
    periods: tuple[tuple[int, int], ...] = ()
    bypass: int = 0
    problems: tuple[tuple[str, Span | None, str], ...] = ()
    waits: tuple[int, ...] = ()
    partly: tuple[tuple[int, int], ...] = ()
    until: tuple[tuple[int, int], ...] = ()
    loose: bool = False  # of some it is not known when they are launched
    ordered: bool = True
    fetch: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its comment, as words with their places."""

    words: tuple[tuple[str, Span], ...]
    span: Span

    def just(self, count: int, says: str) -> None:
        """Refuses words behind the first `count`."""
        if len(self.words) > count:
            self.refuse(f"`{self.words[count][0]}` is one word too many", says, count)

    def part(self, word: int, part: str, name: str, bits: int, offset: int, shift: int = 0) -> Word:
        """A word of the line as part of a command; `offset` is where the text of the form begins in its source."""
        text, span = self.words[word]
        value = int(text, 0 if "x" in text.lower() else 10) & ((1 << bits) - 1)
        return Word(part, name, value, bits, span.start - offset, span.end - offset, shift, span)

    def refuse(self, message: str, hint: str, word: int | None = None) -> NoReturn:
        span = self.span if word is None or word >= len(self.words) else self.words[word][1]
        raise InputError(message, span, hint)

    def number(self, word: int, what: str) -> int:
        """The number of a word, decimal or 0x, maybe with a sign. Raises InputError at the word."""
        if word >= len(self.words):
            self.refuse(f"{what} is missing", "write a decimal number, or 0x and hexadecimal digits")
        text = self.words[word][0]
        if not _NUMBER.fullmatch(text):
            self.refuse(
                f"{what} is `{text}`, not a number", "write a decimal number, or 0x and hexadecimal digits", word
            )
        return int(text, 0 if "x" in text.lower() else 10)


_WORD = re.compile(r"[^\s,=:]+")
_COMMENT = re.compile(r"#|//")
_NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]{1,32}|[0-9]{1,40})")


def lines_of(source: Source, offset: int, text: str) -> Iterator[Line]:
    """The lines that hold words. `#` and `//` begin a comment; blanks, `,`, `=` and `:` end words."""
    at = offset
    for raw in text.split("\n"):
        bare = _COMMENT.split(raw, maxsplit=1)[0] if "#" in raw or "//" in raw else raw
        if bare.isalnum() and bare.isascii():  # one word: most lines of long files
            span = Span(source, at, at + len(bare))
            yield Line(((bare, span),), span)
            at += len(raw) + 1
            continue
        words = tuple((m[0], Span(source, at + m.start(), at + m.end())) for m in _WORD.finditer(bare))
        if words:
            yield Line(words, Span(source, words[0][1].start, words[-1][1].end))
        at += len(raw) + 1


def bits(value: int, high: int, low: int) -> int:
    """Bits `high` to `low` of a number."""
    return (value >> low) & ((1 << (high - low + 1)) - 1)


def reserved(value: int, known: int, place: str, span: Span) -> Derived:
    """The instance of scope `word` for a word in which only the bits of `known` mean anything."""
    return Derived("word", {"reserved": value & ~known}, place, "", (("reserved", span),))


def stride_of(value: int, width: int, what: str) -> int:
    """A stride as a word of `width` bits. Raises InputError where it does not fit."""
    half = 1 << (width - 1)
    if not -half <= value < half:
        raise InputError(
            f"{what} is {value}, which {width} bits do not hold", None, f"{-half} to {half - 1}; reg64_2d has 64 bits"
        )
    return value & ((1 << width) - 1)


def field_of(value: int, low: int, width: int, what: str) -> int:
    """`value` at its place in a register. Raises InputError where it does not fit."""
    if not 0 <= value < (1 << width):
        raise InputError(f"{what} is {value}, which {width} bits do not hold", None, f"0 to {(1 << width) - 1}")
    return value << low
