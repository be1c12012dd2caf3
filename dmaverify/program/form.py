"""A text in a machine's own form, as words: which number of it is which part of which command.

Knows: words with their names, values and places. Does not know: any form, any machine, how a word is read.
Law: a word is one number of the text; writing another number at `start` to `end` of the text and reading it again is
all that it takes to change it.
"""

from __future__ import annotations

from collections.abc import Iterable

from dmaverify.errors import Span
from dmaverify.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Word:
    """One number: `part` of a command (`src`, `length`, `reps1`, ...), `name` as the form calls its place (`0xF0`).

    The part is `value` at bit `shift`, `bits` wide; `start` and `end` are its characters in the text of the form.
    """

    part: str
    name: str
    value: int
    bits: int
    start: int
    end: int
    shift: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Form:
    """The text, and for each of its commands the words that it is made of; a word may be part of several.

    `options` are those of the plan, without what the text says of options; `each` has those of single commands, where
    not all ask for the same ones. `launched` has the round and the lane of each command, where there is more than one:
    a round begins when all before it is complete, and lanes run side by side.
    """

    text: str
    commands: tuple[tuple[Word, ...], ...]
    hexadecimal: bool = False  # bare hexadecimal digits, as a memory image has them
    options: tuple[tuple[str, int | str], ...] = ()
    each: tuple[tuple[tuple[str, int | str], ...], ...] = ()
    launched: tuple[tuple[int, int], ...] = ()


def part_spans(words: Iterable[Word]) -> dict[str, Span]:
    """Where each part of a command stands: all its words, where they are neighbours in one line."""
    found: dict[str, Span] = {}
    for word in sorted(words, key=lambda w: w.start):
        if word.span is None:
            continue
        before = found.get(word.part)
        near = before is not None and before.line == word.span.line
        found[word.part] = before.to(word.span) if before is not None and near else before or word.span
    return found
