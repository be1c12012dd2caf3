"""Headers of a driver's own: the text of a file with what it includes of its project, each character with its place.

Knows: `#include "..."` of files beside the one that includes them, guards. Does not know: C, names, what is launched.
Law: a header stands where it is included, once where it says so, and every place of the whole text is one of a file.
What is not found, what lies outside of the project and the headers of a runtime are left as they are: other files, of
which nothing is known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import Path

from dmaverify.errors import Source, Span
from dmaverify.language.files import is_inside, read_bytes
from dmaverify.values import dataclass

MOST_BYTES, MOST_DEPTH, MOST_HEADERS = 1_000_000, 16, 64
_APART = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|/\*.*?\*/|//[^\n]*", re.DOTALL)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*\"([^\"\n]+)\"[^\n]*$", re.MULTILINE)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*$", re.MULTILINE)
_GUARD = re.compile(r"\s*#[ \t]*ifndef[ \t]+(\w+)[^\n]*\n\s*#[ \t]*define[ \t]+\1\b")
_BRANCH = re.compile(r"^[ \t]*#[ \t]*(if|el|endif)[^\n]*$", re.MULTILINE)
_RUNTIME = re.compile(r"[\w*)]\s*\b(?:snrt_dma|plp_dma|mchan|sys_dma)_\w*\s*\([^;{}]*\)\s*\{")
"""A definition of what launches: this is the runtime, whose calls are known by their names."""
_OF_C = re.compile(r"assert|errno|float|inttypes|limits|math|std\w+|string")


_OPENS = {"if": 1, "el": 0, "endif": -1}


def _is_guarded(text: str) -> bool:
    """Whether a text without comments is in a guard as a whole: then it is read once."""
    depth = 0
    for one in _BRANCH.finditer(text) if _GUARD.match(text) else ():
        depth += _OPENS[one[1]]
        if depth == 0 or (depth == 1 and one[1] == "el"):
            return depth == 0 and not text[one.end() :].strip()
    return False


def others_in(text: str) -> bool:
    """Whether a text, with its headers in it, includes another one than those of C itself."""
    named = re.findall(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]*?)(?:\.h)?[>\"]", text, re.MULTILINE)
    return any(not _OF_C.fullmatch(one) for one in named)


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Characters of a whole text from `start` on: those of `source` from `at` on."""

    start: int
    source: Source
    at: int


@dataclass(frozen=True, eq=False)
class JoinedSource(Source):
    """The text of a file with its headers."""

    pieces: tuple[TextPiece, ...] = ()
    headers: tuple[str, ...] = ()

    def original(self, span: Span) -> Span:
        """A place of the whole text in the file where it stands."""
        number = bisect_right([one.start for one in self.pieces], span.start) - 1
        piece = self.pieces[number]
        after = self.pieces[number + 1].start if number + 1 < len(self.pieces) else len(self.text)
        first = span.start - piece.start + piece.at
        return Span(piece.source, first, max(first, min(span.end, after) - piece.start + piece.at))


class _Joiner:
    def __init__(self, source: Source) -> None:
        self.main = source
        self.texts: list[str] = []
        self.pieces: list[TextPiece] = []
        self.length = 0
        self.once: set[Path] = set()
        self.headers: dict[str, None] = {}

    def add(self, source: Source, start: int, end: int) -> None:
        if start < end:
            self.pieces.append(TextPiece(self.length, source, start))
            self.texts.append(source.text[start:end])
            self.length += end - start

    def file(self, source: Source, folder: Path, depth: int, sure: bool = True) -> None:
        done = 0
        apart = _APART.sub(lambda m: m[0] if m[0][0] == '"' else re.sub(r"[^\n]", " ", m[0]), source.text)
        for match in _INCLUDE.finditer(apart):
            open_ = sum(_OPENS[one[1]] for one in _BRANCH.finditer(apart, 0, match.start())) - _is_guarded(apart)
            found = self.header(folder / match[1], sure and open_ == 0) if depth < MOST_DEPTH else None
            if found is None:
                continue
            self.add(source, done, match.start())
            if found.text:
                self.file(found, (folder / match[1]).parent, depth + 1, sure and open_ == 0)
            done = match.end()
        self.add(source, done, len(source.text))

    def header(self, path: Path, sure: bool) -> Source | None:
        """A header; without text where it is there already, None where nothing is read of it. What a condition
        includes is there only maybe.
        """
        home = Path(self.main.name).parent
        if not is_inside(path, home):
            return None
        try:
            text = read_bytes(path, MOST_BYTES + 1).decode("utf-8-sig")
            real = path.resolve()
        except (OSError, ValueError, RuntimeError):
            return None
        if real in self.once:
            return Source(str(path), "")
        left = self.length + len(text) <= 2 * MOST_BYTES and len(self.headers) < MOST_HEADERS
        if len(text) > MOST_BYTES or not left or _RUNTIME.search(text):
            return None
        apart = _APART.sub(lambda m: m[0] if m[0][0] in "\"'" else re.sub(r"[^\n]", " ", m[0]), text)
        if sure and (_ONCE.search(apart) or _is_guarded(apart)):
            self.once.add(real)
        self.headers[str(path)] = None
        text = _ONCE.sub(lambda m: " " * len(m[0]), text)
        return Source(str(path), text if text.endswith("\n") else f"{text}\n")


def joined(source: Source) -> Source:
    """A file with the headers of its project in it; the file itself where there are none."""
    if isinstance(source, JoinedSource) or '"' not in source.text or not Path(source.name).is_file():
        return source
    joiner = _Joiner(source)
    joiner.once.add(Path(source.name).resolve())
    joiner.file(source, Path(source.name).parent, 0)
    if not joiner.headers:
        return source
    return JoinedSource(source.name, "".join(joiner.texts), tuple(joiner.pieces), tuple(joiner.headers))
