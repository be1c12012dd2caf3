"""TOML text as plain data, with the place of every key and every value.

Knows: TOML, files, encodings, where each key, value and string content stands, in characters.
Does not know: plan files, mappings, machines.
Law: `data` is what `tomllib` says; a span never changes a value, and `Document.span` always answers, with the nearest
enclosing place where the exact one is not known. A file that cannot be read is one `InputError`, whatever is in it.

Source: TOML 1.0. Values come from the standard library, places from tree-sitter-toml.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.files import MOST_BYTES, NOT_REGULAR, near_file, read_bytes
from dmaverify.language.trees import Code, parser_of
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

Path: TypeAlias = tuple[str | int, ...]

MAX_DEPTH = 64  # parts of one key; a plan file needs five
MAX_DIGITS = 4300  # of one integer, the standard library's own limit

_PIPE = 'name a file; plans from a pipe go to --stdin, one a line: {"plan": "<text>"}'
_UTF8 = "save it as text, in UTF-8"
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[ \t]*\n[ \t\n]*|.)", re.DOTALL)
_TWICE = ("Cannot overwrite", "Cannot declare", "Duplicate inline table key")
_NOT_CLOSED = ('Expected "', "Unterminated", "Found invalid character '\\n'")
_OPENED = re.compile(
    r"""\#[^\n]*|\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|\"(?!"")(?:\\.|[^"\\\n])*"|'(?!'')[^'\n]*'|("{3}|'{3}|"|')""",
    re.DOTALL,
)
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")

_HINTS = (
    ("Expected '=' after a key", "write `key = value`; a name with ' needs quotes: \"A'\" = 16"),
    ("Invalid value", 'text needs quotes ("..."), numbers are decimal integers, and nothing may be missing after `=`'),
    ("Invalid initial character for a key part", "a table needs a name; { ... } stays on one line, without last comma"),
    ("Invalid statement", "write `key = value` or [table]; keys with other signs than a-z 0-9 _ - need quotes"),
    ("Unterminated", "the text is not closed; add the closing quotes"),
    ('Expected "', "the text is not closed; add the closing quotes"),
    ("Found invalid character '\\n'", "the text is not closed on its line; add the closing quote"),
    ("Found invalid character '\\r'", "save the file with \\n or \\r\\n between its lines"),
    ("Found invalid character", "write it as an escape, such as \\u0007, or leave it out"),
    ("Expected ']]'", "a list of tables has two brackets on both sides: [[transfer.NAME.command]]"),
    ("Escaped character", "write the character itself"),
    ("Illegal character '\\n'", 'the text is not closed on its line; add the quote, or use """ for several lines'),
    ("Unescaped '\\'", "write '...' (single quotes) for text with backslashes"),
    ("Expected newline", "one `key = value` per line"),
    ("Cannot overwrite", "each key may stand once in its table"),
    ("Duplicate", "each key may stand once in its table"),
    ("Cannot declare", "each [table] may stand once; several commands are written [[transfer.NAME.command]]"),
    ("Unclosed", "add the closing bracket"),
    ("Expected ']'", "add the closing bracket"),
)


@dataclass(frozen=True, slots=True)
class StringSpan:
    """Where the content of a string stands: character i is file character `offsets[i]`, without offsets `start + i`.

    `offsets` has one more item than the string, so that the end of a range can be looked up as well.
    """

    source: Source
    start: int
    end: int
    offsets: tuple[int, ...] | None = None

    @property
    def exact(self) -> bool:
        """Whether content and file agree character by character (no escapes)."""
        return self.offsets is None

    @property
    def span(self) -> Span:
        return Span(self.source, self.start, self.end)

    def at(self, index: int) -> int:
        """The file character of content character `index`."""
        if self.offsets is None:
            return self.start + index
        return self.offsets[max(0, min(index, len(self.offsets) - 1))]

    def part(self, start: int, end: int) -> Span:
        """The span of content characters `start` to `end` (exclusive)."""
        first = self.at(start)
        return Span(self.source, first, self.at(end) if end > start else first)


@dataclass(frozen=True)
class Document:
    """A TOML text: its data, and by path the spans of keys, values and string contents.

    The value span of a `[table]` is its header. Paths are tuples of keys and list indices.
    """

    source: Source
    data: dict[str, Any]
    keys: Mapping[Path, Span]
    values: Mapping[Path, Span]
    strings: Mapping[Path, StringSpan]

    def span(self, path: Path) -> Span:
        """The value at `path` (of a string, its content), or the nearest enclosing one."""
        if path in self.strings:
            return self.strings[path].span
        return self._nearest(path, self.values)

    def content(self, path: Path, text: str) -> StringSpan:
        """Where the string `text` at `path` stands; all of it at the whole value if places and text do not fit."""
        found = self.strings.get(path)
        if found is not None and found.offsets is None and self.source.text[found.start : found.end] == text:
            return found
        if found is not None and found.offsets is not None and len(found.offsets) == len(text) + 1:
            return found
        span = self.span(path)
        return StringSpan(self.source, span.start, span.end, (span.start,) * len(text) + (span.end,))

    def key_span(self, path: Path) -> Span:
        """The key at `path`, or the nearest enclosing one."""
        return self._nearest(path, self.keys)

    def _nearest(self, path: Path, spans: Mapping[Path, Span]) -> Span:
        for length in range(len(path), 0, -1):
            found = spans.get(path[:length]) or self.values.get(path[:length]) or self.keys.get(path[:length])
            if found is not None:
                return found
        return _first_line(self.source)


def read_source(path: str | FilePath, toml: bool = True) -> Source:
    """The text of a file without a byte order mark; lines end in `\\n`, and in a lone `\\r` but in TOML.

    Raises InputError for a missing file, a directory, no permission, more than 10 MB, and bytes that are no UTF-8.
    """
    name = str(path)
    try:
        data = read_bytes(path, MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(*_unreadable(name, error)) from None
    text = source_of(data, name).text
    return Source(name, text if toml else text.replace("\r", "\n"))


def source_of(data: bytes, name: str) -> Source:
    """Bytes as text (see `read_source`)."""
    if len(data) > MOST_BYTES:
        hint = "a plan file is a few kilobytes of TOML" if name.endswith(".toml") else "give it in parts"
        raise InputError(f"{name} is larger than {MOST_BYTES:,} bytes", None, hint)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{name} is UTF-16", None, "save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        good = Source(name, data[: error.start].decode("utf-8", "replace"))
        what = "is not a text file" if b"\0" in data else f"is not UTF-8 at byte {error.start}"
        raise InputError(f"{name} {what}", Span(good, len(good.text), len(good.text)), _UTF8) from None
    if "\0" in text:
        at = text.index("\0")
        raise InputError(f"{name} is not a text file", Span(Source(name, text), at, at + 1), _UTF8)
    return Source(name, text.replace("\r\n", "\n"))


def parse_toml(source: Source, start: str | None = None) -> Document:
    """Parse TOML. Raises InputError at the first thing that is no TOML, and for an empty text; `start` says how a text
    may begin.
    """
    if not source.text.strip():
        raise InputError(f"{source.name} is empty", None, start)
    places = _Places(source)
    try:
        data = tomllib.loads(source.text)
    except RecursionError:
        where = _deepest(source)
        raise InputError("arrays or tables are nested too deeply", where, "a plan file needs five levels") from None
    except ValueError as error:
        _explain(source, str(error), places)
    return Document(source, data, places.keys, places.values, places.strings)


def _unreadable(name: str, error: OSError | ValueError) -> tuple[str, None, str]:
    if isinstance(error, IsADirectoryError):
        return f"{name} is a directory", None, "name a plan file in it"
    if isinstance(error, FileNotFoundError):
        if os.path.islink(name):
            return f"{name} is a link to {os.readlink(name)}, which does not exist", None, "mend the link"
        return f"{name} does not exist", None, _PIPE if name == "-" else near_file(name) or "check the path"
    if isinstance(error, PermissionError):
        return f"{name} may not be read", None, "check its permissions"
    reason = (error.strerror or "unknown reason") if isinstance(error, OSError) else "no such file name"
    piped = name.startswith("/dev/") or reason == NOT_REGULAR
    return f"{name!r} cannot be opened: {reason}", None, _PIPE if piped else "check the path"


def _explain(source: Source, message: str, places: _Places) -> NoReturn:
    """Turn a message of the standard library into an InputError at its place."""
    hint = next((hint for start, hint in _HINTS if message.startswith(start)), None)
    if places.repeated is not None and message.startswith(_TWICE):
        raise InputError(f"`{places.repeated.text}` is defined twice", places.repeated, hint) from None
    if message.startswith("Exceeds the limit"):
        found = re.search(rf"[0-9_]{{{MAX_DIGITS},}}", source.text)
        where = Span(source, *found.span()) if found else _first_line(source)
        raise InputError("a number has more than 4,300 digits", where, "sizes and addresses are below 2^62") from None
    found = _PLACE.search(message)
    plain = message[: found.start()] if found else message
    back = 2 if message.startswith("Unescaped") else 0  # told behind the escape
    at = _place(source, found, back)
    if message.startswith(_NOT_CLOSED):
        at = _opening(source) or at
    from dmaverify.language.toml_mistakes import mistake

    meant = mistake(source, message, at.start) if found is not None and found[1] is not None else None
    if meant is not None:
        raise meant from None
    raise InputError(f"this is not TOML: {plain}", at, hint) from None


def _place(source: Source, found: re.Match[str] | None, back: int) -> Span:
    end = len(source.text.rstrip())
    if found is None or found[1] is None:
        return Span(source, max(0, end - 1), end)
    line = min(int(found[1]), len(source.line_starts))
    start = min(source.line_starts[line - 1] + int(found[2]) - 1 - back, len(source.text))
    return Span(source, start, min(start + 1, len(source.text)))


def _opening(source: Source) -> Span | None:
    """The quotes that open the first text which is not closed."""
    found = next((one for one in _OPENED.finditer(source.text) if one[1]), None)
    return Span(source, *found.span(1)) if found else None


def _deepest(source: Source) -> Span:
    """The first run of opening brackets that no sensible file has, else the first line."""
    found = re.search(r"(?:[\[{]\s*(?:[\w.'\"-]+\s*=\s*)?){65}", source.text)
    return Span(source, found.start(), found.start() + 1) if found else _first_line(source)


def _first_line(source: Source) -> Span:
    return Span(source, 0, len(source.line_text(1)))


def toml_tree(source: Source) -> tuple[Code, Node]:
    """A text by the syntax of TOML."""
    code = Code(source, source.text.encode("utf-8"))
    return code, parser_of("toml", "tree-sitter-toml").parse(code.data).root_node


class _Places:
    """Walks a syntax tree once and notes where things are; never fails on text that is no TOML."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.code, root = toml_tree(source)
        self.keys: dict[Path, Span] = {}
        self.values: dict[Path, Span] = {}
        self.strings: dict[Path, StringSpan] = {}
        self.repeated: Span | None = None
        self._rows: dict[Path, int] = {}
        self._headers: set[Path] = set()
        for node in root.children:
            self._top(node)

    def _top(self, node: Node) -> None:
        if node.type == "pair":
            self._pair(node, ())
        elif node.type in ("table", "table_array_element"):
            self._table(node)

    def _table(self, node: Node) -> None:
        parts = node.children
        if len(parts) < 2 or not parts[1].type.endswith("_key"):
            return
        names, spans = self._key(parts[1])
        path = self._resolve(names)
        whole = self.code.span(parts[0]).to(self.code.span(parts[2])) if len(parts) > 2 else spans[-1]
        if node.type == "table_array_element":
            self.keys.setdefault(path, spans[-1])
            self.values.setdefault(path, whole)
            self._rows[path] = self._rows.get(path, -1) + 1
            path = (*path, self._rows[path])
        elif path in self._headers:
            self.repeated = self.repeated or spans[-1]
        if path not in self._headers:  # said here, whatever named it in passing
            self.keys[path], self.values[path] = spans[-1], whole
        self._headers.add(path)
        for length, span in enumerate(spans[:-1], start=1):
            self.keys.setdefault(self._resolve(names[:length]), span)
        for child in parts[3:]:
            if child.type == "pair":
                self._pair(child, path)

    def _resolve(self, names: tuple[str, ...]) -> Path:
        """A header's names with the index of the current row after each array of tables."""
        path: Path = ()
        for index, name in enumerate(names):
            path = (*path, name)
            if path in self._rows and index < len(names) - 1:
                path = (*path, self._rows[path])
        return path

    def _pair(self, node: Node, table: Path) -> None:
        parts = [child for child in node.children if child.type not in ("comment", "ERROR")]
        if len(parts) < 3 or not parts[0].type.endswith("_key"):
            return
        names, spans = self._key(parts[0])
        path: Path = (*table, *names)
        if path in self.values:
            self.repeated = self.repeated or spans[-1]
        for length, span in enumerate(spans[:-1], start=1):
            self.keys.setdefault((*table, *names[:length]), span)
        self._note(path, spans[-1], self.code.span(parts[2]))
        self._value(parts[2], path)

    def _note(self, path: Path, key: Span, value: Span) -> None:
        self.keys.setdefault(path, key)
        self.values.setdefault(path, value)

    def _value(self, node: Node, path: Path) -> None:
        if len(path) > MAX_DEPTH:
            return
        if node.type == "string":
            self.strings.setdefault(path, self._content(node))
        elif node.type == "inline_table":
            for child in node.children:
                if child.type == "pair":
                    self._pair(child, path)
        elif node.type == "array":
            items = [child for child in node.children if child.is_named and child.type != "comment"]
            for index, child in enumerate(items):
                self.values.setdefault((*path, index), self.code.span(child))
                self._value(child, (*path, index))

    def _key(self, node: Node) -> tuple[tuple[str, ...], list[Span]]:
        """The parts of a key and their spans, outermost first."""
        names: list[str] = []
        spans: list[Span] = []
        for part in self._key_parts(node):
            names.append(_key_name(self.code.text(part)))
            spans.append(self.code.span(part))
        return tuple(names), spans

    def _key_parts(self, node: Node) -> list[Node]:
        parts: list[Node] = []
        while node.type == "dotted_key" and len(parts) < MAX_DEPTH - 1:
            parts.append(node.children[-1])
            node = node.children[0]
        if node.type == "dotted_key":
            raise InputError(
                f"a key has more than {MAX_DEPTH} parts", self.code.span(node), "tables are nested too deeply"
            )
        return [node, *reversed(parts)]

    def _content(self, node: Node) -> StringSpan:
        whole = self.code.span(node)
        raw = whole.text
        quotes = 3 if raw[:3] in ('"""', "'''") and len(raw) >= 6 else 1
        first = quotes + (quotes == 3 and raw[quotes : quotes + 1] == "\n")
        last = max(first, len(raw) - quotes)
        start, end = whole.start + first, whole.start + last
        if raw[0] == "'" or "\\" not in raw:
            return StringSpan(self.source, start, end)
        return StringSpan(self.source, start, end, tuple(_unescaped(raw[first:last], start)))


def _unescaped(raw: str, start: int) -> Iterator[int]:
    """The file character of each content character of a string with escapes, and of its end."""
    index = 0
    while index < len(raw):
        if raw[index] != "\\":
            yield start + index
            index += 1
            continue
        found = _ESCAPE.match(raw, index)
        text = found[0] if found else raw[index]
        if not text[1:].strip(" \t").startswith("\n"):
            yield start + index
        index += len(text)
    yield start + len(raw)


def _key_name(text: str) -> str:
    if text[:1] == "'":
        return text[1:-1]
    if "\\" not in text:
        return text.strip('"')
    try:
        return next(iter(tomllib.loads(f"{text} = 0")))
    except tomllib.TOMLDecodeError:
        return text
