"""Where text stands, and what is wrong with it.

Knows: sources, spans, the exceptions for input that cannot be read and for a contradiction of our own.
Does not know: mappings, machines, solvers, how anything is printed.
Law: a span is a half-open range of characters of one source; it never takes part in equality of what carries it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate

from dmaverify.values import dataclass


@dataclass(frozen=True, eq=False)
class Source:
    """A text with a name (a path, or `<...>` for text that has none)."""

    name: str
    text: str

    @cached_property
    def line_starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n")[:-1])]

    def line_of(self, offset: int) -> int:
        """The 1-based line that holds the character at `offset`."""
        return bisect_right(self.line_starts, offset)

    def line_text(self, line: int) -> str:
        """The 1-based `line` without its line break; empty beyond the last line."""
        if not 1 <= line <= len(self.line_starts):
            return ""
        start = self.line_starts[line - 1]
        end = self.text.find("\n", start)
        return (self.text[start:] if end < 0 else self.text[start:end]).rstrip("\r")


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """Characters `start` to `end` (exclusive) of `source`."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.line_of(self.start)

    @property
    def column(self) -> int:
        """1-based, counted in characters."""
        return self.start - self.source.line_starts[self.line - 1] + 1

    @property
    def length(self) -> int:
        return max(1, self.end - self.start)

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of `other`."""
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"


class InputError(Exception):
    """Input that cannot be read: what is wrong, where, and what to write instead.

    Never the answer to a question about a plan: a wrong plan is a finding, not an exception.
    """

    def __init__(self, message: str, span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.span is None else f"{self.span}: {self.message}"


class NoValue(InputError):
    """A number in a text that has no value where it must have one: a quotient that is not whole, a negative base.

    At some sizes of a plan with symbols this is no mistake of the text but the answer for those sizes.
    """


class InputErrors(InputError):
    """Everything in a text that cannot be read, in its order, each once; never empty."""

    def __init__(self, errors: Iterable[InputError]) -> None:
        once = {str(one): one for error in errors for one in errors_of(error)}
        self.errors = tuple(sorted(once.values(), key=lambda error: error.span.start if error.span else -1))
        first = self.errors[0]
        super().__init__(first.message, first.span, first.hint)

    def __str__(self) -> str:
        return "; ".join(map(str, self.errors))

    def __reduce__(self) -> tuple[type[InputErrors], tuple[tuple[InputError, ...]]]:
        return type(self), (self.errors,)


class Disagreement(Exception):
    """Two opinions that share no code contradict each other on one unit: a mistake of dmaverify."""


def too_long(error: Exception) -> InputError | None:
    """The input error behind Python's refusal to read or write a number of more than 4,300 digits."""
    if isinstance(error, ValueError) and "integer string conversion" in str(error):
        return InputError("a number of more than 4,300 digits", None, "no memory and no loop is that large")
    return None


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word that was most likely meant; None where none is near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), 1, cutoff)), None)


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The hint that names the known word that was most likely meant; None where none is near."""
    near = nearest(word, known, cutoff)
    return f"did you mean `{near}`?" if near else None


def typed(path: object) -> str:
    """A path as it is typed in a shell: in quotes where it has blanks or signs that a shell reads."""
    from shlex import quote

    return quote(str(path))


def many(number: int, name: str) -> str:
    """`1 file`, `2 files`, `1,024 entries`."""
    plural = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return f"{number:,} {name if number == 1 else plural}"


def errors_of(error: Exception) -> list[InputError]:
    """The input errors that an exception stands for; at least one."""
    return list(getattr(error, "errors", [])) or [error if isinstance(error, InputError) else InputError(str(error))]
