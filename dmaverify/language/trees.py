"""Texts of other languages as syntax trees, with the place of every node in characters.

Knows: tree-sitter, bytes and characters, text that stands elsewhere than where it was parsed.
Does not know: any grammar, what a node means.
Law: a span points into the file that the user wrote; text that a macro made points at its use. Broken text gives a tree
too: what the grammar could not read is an ERROR node, never an exception.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from dmaverify.errors import InputError, Source, Span
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@lru_cache(maxsize=4)
def parser_of(grammar: str, install: str) -> Parser:
    """The parser of `tree_sitter_<grammar>`. Raises InputError where it is not installed, with what to `install`."""
    try:
        from tree_sitter import Language, Parser

        language = import_module(f"tree_sitter_{grammar}").language()
    except ImportError:
        said = f"reading {grammar.capitalize()} needs tree-sitter-{grammar}"
        raise InputError(said, None, f"pip install {install}") from None
    return Parser(Language(language))


@dataclass(frozen=True, eq=False)
class Code:
    """Bytes that were parsed, and where they stand: character 0 is character `start` of `source`, or, for text that a
    macro made, all of it stands `at` one place; its fragments have one `origin`.
    """

    source: Source
    data: bytes
    start: int = 0
    at: Span | None = None
    origin: object = None

    @cached_property
    def _wide(self) -> list[tuple[int, int]]:
        """Per character of several bytes: where it starts, and how far bytes are ahead of characters behind it."""
        found, ahead = [], 0
        for index, char in enumerate(self.data.decode("utf-8", "replace") if not self.data.isascii() else ""):
            if char > "\x7f":
                start = index + ahead
                ahead += len(char.encode("utf-8")) - 1
                found.append((start, ahead))
        return found

    def character(self, byte: int) -> int:
        """The character of `source` at which a byte stands; within a character, the one behind it."""
        number = bisect_left(self._wide, (byte,)) if self._wide else 0
        if not number:
            return self.start + byte
        start, ahead = self._wide[number - 1]
        before = self._wide[number - 2][1] if number > 1 else 0
        return self.start + max(start - before + 1, byte - ahead)

    def span(self, node: Node) -> Span:
        return self.range(node.start_byte, node.end_byte)

    def range(self, start: int, end: int) -> Span:
        if self.at is not None:
            return self.at
        limit = len(self.source.text)
        first = min(max(0, self.character(start)), limit)
        return Span(self.source, first, min(max(first, self.character(end)), limit))

    def text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def walk(node: Node) -> Iterator[Node]:
    """Every node, parents first, in the order of the text; without recursion, so that depth costs no stack."""
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(reversed(one.children))
