"""Source text with carets under it, as rustc draws it.

Knows: characters and how wide a terminal draws them, marks, labels, gutters, clipping.
Does not know: findings, verdicts, rules.
Law: a mark stands under the characters that it speaks of, also behind tabs and wide characters; nothing in the user's
text can move the cursor or hide a line, because control and invisible characters are drawn as U+FFFD.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby

from dmaverify.errors import Source, Span
from dmaverify.values import dataclass

TAB = "    "
_CUT = "..."
_CODES = {
    "error": "1;31",
    "warning": "1;33",
    "advice": "1;36",
    "proved": "1;32",
    "frame": "1;34",
    "bold": "1",
}


def paint(text: str, style: str, colour: bool) -> str:
    """`text` in a style (`error`, `warning`, `advice`, `proved`, `frame`, `bold`); unchanged without colour."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if colour and style in _CODES and text else text


# ---------------------------------------------------------------- characters


_BREAKS = re.compile("[\t\r\n]")
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def glyph(char: str) -> str:
    """What is drawn for one character of source text."""
    if char == "\t":
        return TAB
    return "\ufffd" if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") else char


def visible(text: str) -> str:
    """One line of prose: line breaks and tabs become blanks, whatever could steer a terminal is shown as an escape."""
    return escaped(_BREAKS.sub(" ", text))


def escaped(text: str) -> str:
    """The text with control and bidirectional characters as `\\u{202e}`; line breaks and tabs stay."""
    return _STEERING.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)


def char_width(char: str) -> int:
    """Terminal columns of one drawn character: 0, 1 or 2."""
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def text_width(text: str) -> int:
    plain = text.isascii() and text.isprintable()
    return len(text) if plain else sum(char_width(char) for char in text)


def wrap(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` columns, broken at blanks only; a longer word keeps its own line."""
    lines = [""]
    for word in visible(text).split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and text_width(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


# ---------------------------------------------------------------- marks


@dataclass(frozen=True)
class Mark:
    """A span to underline, `^` when primary and `-` otherwise, with a few words (or none)."""

    span: Span
    text: str = ""
    primary: bool = False


@dataclass(frozen=True)
class _Under:
    """A mark on one drawn line: terminal columns `start` to `end`."""

    start: int
    end: int
    text: str
    primary: bool


@dataclass(frozen=True)
class _Row:
    """A drawn line of source text and the marks below it."""

    text: str
    marks: tuple[_Under, ...]


def _columns(mark: Mark, line: int) -> tuple[int, int, str]:
    """0-based characters that `mark` covers on its first line, and its words; a longer span is clipped and says so."""
    source = mark.span.source
    start = mark.span.start - source.line_starts[line - 1]
    length = len(source.line_text(line))
    last_line = source.line_of(max(mark.span.start, mark.span.end - 1))
    start = max(0, min(start, length))
    if last_line == line:
        return start, max(start + 1, min(mark.span.end - source.line_starts[line - 1], length)), mark.text
    return start, max(start + 1, length), f"{mark.text} (to line {last_line})".strip()


def _draw(source: Source, line: int, marks: Sequence[Mark], width: int) -> _Row:
    """The line and its marks in terminal columns, at most `width` of them."""
    glyphs = [glyph(char) for char in source.line_text(line)]
    offsets = [0, *accumulate(text_width(drawn) for drawn in glyphs)]

    def column(index: int) -> int:
        return offsets[index] if index < len(offsets) else offsets[-1] + index - len(offsets) + 1

    under = []
    for mark in marks:
        start, end, text = _columns(mark, line)
        under.append(_Under(column(start), max(column(start) + 1, column(end)), visible(text), mark.primary))
    if offsets[-1] <= width:
        return _Row("".join(glyphs).rstrip(), tuple(under))
    return _clip(glyphs, offsets, under, width)


def _clip(glyphs: Sequence[str], offsets: Sequence[int], marks: Sequence[_Under], width: int) -> _Row:
    """A window of a long line, around all marks where they fit, else around the primary one."""
    room = max(8, width - 2 * len(_CUT))
    low, high = min(mark.start for mark in marks), max(mark.end for mark in marks)
    if high - low > room:
        first = next((mark for mark in marks if mark.primary), marks[0])
        low, high = first.start, min(first.end, first.start + room)
    left = max(0, min(low - (room - (high - low)) // 2, offsets[-1] - room))
    left = 0 if high <= room else left
    right = left + room
    shown = [drawn for index, drawn in enumerate(glyphs) if left <= offsets[index] and offsets[index + 1] <= right]
    head, tail = (_CUT if left > 0 else ""), (_CUT if right < offsets[-1] else "")
    # a wide character that straddles the left edge is dropped: what follows starts one column later
    skipped = next((offset for offset in offsets if offset >= left), left) - left

    def place(column: int) -> int:
        return max(0, min(column - left, room)) - skipped + len(head)

    moved = []
    for mark in marks:
        start = max(len(head), min(place(mark.start), len(head) + room - 1))
        moved.append(_Under(start, max(start + 1, place(mark.end)), mark.text, mark.primary))
    return _Row(head + "".join(shown).rstrip() + tail, tuple(moved))


# ---------------------------------------------------------------- lines below the text


def _paint_cells(cells: Sequence[tuple[str, str]], colour: bool) -> str:
    runs = groupby(cells, key=lambda cell: cell[1])
    line = [("".join(char for char, _ in run), style) for style, run in runs]
    return "".join(paint(text, style, colour) for text, style in line).rstrip()


def _lay(marks: Iterable[tuple[int, int, str, str]]) -> list[tuple[str, str]]:
    """Cells of one line: each (start, end, character, style) laid over those before it."""
    cells: list[tuple[str, str]] = []
    for start, end, char, style in marks:
        cells.extend([(" ", "")] * (end - len(cells)))
        cells[start:end] = [(char, style)] * (end - start)
    return cells


def _below(marks: Sequence[_Under], width: int, style: str, colour: bool) -> list[str]:
    """The underline, the words of the last mark beside it, the words of the others hanging from bars."""

    def ink(mark: _Under) -> str:
        return style if mark.primary else "frame"

    ordered = sorted(marks, key=lambda mark: mark.primary)
    cells = _lay((mark.start, mark.end, "^" if mark.primary else "-", ink(mark)) for mark in ordered)
    worded = sorted((mark for mark in marks if mark.text), key=lambda mark: (mark.start, mark.primary, -mark.end))
    beside = worded[-1] if worded else None
    if beside is not None and beside.end == len(cells) and len(cells) + 1 + text_width(beside.text) <= width:
        worded.pop()
        cells += [(" ", ""), *((char, ink(beside)) for char in beside.text)]
    lines = [_paint_cells(cells, colour)]
    if worded:
        bars = {mark.start: ink(mark) for mark in worded}
        lines.append(_paint_cells(_lay((at, at + 1, "|", bars[at]) for at in sorted(bars)), colour))
    while worded:
        mark = worded.pop()
        bars = {other.start: ink(other) for other in worded if other.start < mark.start}
        at, words = _hang(mark, max(bars, default=-2), width)
        for text in words:
            row = _lay((bar, bar + 1, "|", bars[bar]) for bar in sorted(bars))
            row += [(" ", "")] * (at - len(row)) + [(char, ink(mark)) for char in text]
            lines.append(_paint_cells(row, colour))
    return lines


def _hang(mark: _Under, left: int, width: int) -> tuple[int, list[str]]:
    """Column and lines of the words of a mark that hangs; near the right edge they start further left."""
    enough = min(text_width(mark.text), 24)
    at = mark.start if width - mark.start >= enough else max(left + 2, width - min(text_width(mark.text), 40), 0)
    return at, wrap(mark.text, max(12, width - at))


# ---------------------------------------------------------------- the whole block


def gutter_of(marks: Iterable[Mark]) -> int:
    """Digits of the largest line number shown; 1 without any."""
    return max((len(str(mark.span.line)) for mark in marks), default=1)


def draw(marks: Sequence[Mark], gutter: int, width: int, style: str = "error", colour: bool = False) -> list[str]:
    """The lines that show `marks`, the first mark's source first, one block a source; empty without marks."""
    lines: list[str] = []
    sources = list(dict.fromkeys(mark.span.source for mark in marks))
    for number, source in enumerate(sources):
        own = [mark for mark in marks if mark.span.source is source]
        bar = paint(f"{' ' * gutter} |", "frame", colour)
        arrow = paint(":::" if number else "-->", "frame", colour)
        if number:
            lines.append(bar)
        lines += [f"{' ' * gutter}{arrow} {visible(str(own[0].span))}", bar]
        lines += _lines_of(source, own, gutter, width, style, colour)
    return lines


def _lines_of(source: Source, marks: Sequence[Mark], gutter: int, width: int, style: str, colour: bool) -> list[str]:
    bar = paint(f"{' ' * gutter} |", "frame", colour)
    room = max(20, width - gutter - 3)
    lines: list[str] = []
    before = 0
    for line in sorted({mark.span.line for mark in marks}):
        if before and line - before == 2:
            between = "".join(glyph(char) for char in source.line_text(line - 1)).rstrip()
            lines.append(_numbered(line - 1, between if text_width(between) <= room else _CUT, gutter, colour))
        elif before and line - before > 2:
            lines.append(_CUT)
        row = _draw(source, line, [mark for mark in marks if mark.span.line == line], room)
        lines.append(_numbered(line, row.text, gutter, colour))
        lines += [f"{bar} {under}" for under in _below(row.marks, room, style, colour)]
        before = line
    return lines


def _numbered(line: int, text: str, gutter: int, colour: bool) -> str:
    return f"{paint(f'{line:>{gutter}} |', 'frame', colour)} {text}".rstrip()
