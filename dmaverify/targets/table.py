"""Tables of a TOML text, read with types: what is missing or misspelt is refused in one line, with its place.

Knows: TOML tables, keys and where they stand; what was read of files that ship. Does not know: targets, rules.
Law: every key of a table is asked for or refused; nothing is read with a silent default that the caller did not name.
"""

from __future__ import annotations

import json
import marshal
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from dmaverify.errors import InputError, Source, Span, did_you_mean, nearest
from dmaverify.language.files import write_bytes

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _dotted(path: Iterable[str]) -> str:
    return ".".join(part if _BARE.fullmatch(part) else json.dumps(part) for part in path)


@lru_cache(maxsize=16)
def shipped_toml(file: Path, text: str) -> dict[str, Any]:
    """The text of a TOML file that ships with the package: what it says is kept where Python keeps the byte code of
    this module, beside the text, and found there as long as the text is the same. Raises as `tomllib` does.
    """
    code = getattr(__spec__, "cached", None)
    kept = Path(code).with_name(f"{file.parent.name}.{file.stem}.{sys.implementation.cache_tag}.pyc") if code else None
    with suppress(OSError, ValueError, EOFError, TypeError):
        of, data = marshal.loads(kept.read_bytes()) if kept else ("", {})
        if of == text and kept:
            return data  # type: ignore[no-any-return]
    data = tomllib.loads(text)
    if kept and not sys.dont_write_bytecode:
        with suppress(OSError, ValueError):
            write_bytes(kept, marshal.dumps((text, data)))
    return data


class Table:
    """One table of a TOML text. `path` is its header, outermost name first, with the numbers of arrays; `called` is
    what messages call it.
    """

    def __init__(
        self, source: Source, data: Mapping[str, Any], path: tuple[str | int, ...] = (), called: str = ""
    ) -> None:
        self.source = source
        self.data = data
        self.path = path
        self.called = called or _dotted(map(str, path)) or source.name
        self._asked: set[str] = set()

    @classmethod
    def parse(cls, source: Source, ships: bool = False) -> Table:
        """The whole text. Raises InputError, with the place, where it is no TOML."""
        try:
            return cls(source, shipped_toml(Path(source.name), source.text) if ships else tomllib.loads(source.text))
        except tomllib.TOMLDecodeError:
            from dmaverify.language.toml_spans import parse_toml

            parse_toml(source)
            raise  # it has raised, with the place

    def where(self, key: str | None = None, part: str | None = None) -> Span:
        """The header of this table, or `key` below it; with `part` the key's value, or those words in it. The nearest
        place where none is found.
        """
        from dmaverify.language.toml_spans import parse_toml

        if not self.source.text.strip():
            return Span(self.source, 0, 0)
        doc, path = parse_toml(self.source), (*self.path, *([key] if key is not None else []))
        if part and (*path, part) in doc.values and _is_header(doc.values.get(path)):
            path, part = (*path, part), ""
        value = doc.values.get(path)
        if value is None or not path or _is_header(value):
            line = (value or doc.key_span(path)).line
            start = self.source.line_starts[line - 1]
            return Span(self.source, start, start + len(self.source.line_text(line)))
        if part is None:
            found = doc.keys.get(path)
            if found is None:  # an item of a list has no key
                return value
            quoted = found.text.startswith('"')
            return Span(self.source, found.start + quoted, found.end - quoted)
        words = re.compile(rf"(?<![\w/-]){re.escape(part)}(?![\w/-])").search(value.text) if part else None
        return Span(self.source, value.start + words.start(), value.start + words.end()) if words else value

    def refuse(self, message: str, key: str | None = None, hint: str | None = None, part: str | None = "") -> NoReturn:
        """Raises InputError at the value of `key`, at the words `part` in it, or with None at the key itself."""
        raise InputError(f"{self.called}: {message}", self.where(key, part), hint)

    def _take(self, key: str, kind: type, default: Any, wanted: str) -> Any:
        self._asked.add(key)
        if key not in self.data:
            if default is None:
                near = nearest(key, self.data.keys() - self._asked)
                hint = f"is it written {near!r}?" if near else f"add `{key}`, {wanted}"
                self.refuse(f"missing `{key}`", near, hint, None)
            return default
        value = self.data[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            number = isinstance(value, str) and value.isdecimal()
            self.refuse(
                f"`{key}` must be {wanted}", key, f"write {value}, without quotes" if kind is int and number else None
            )
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A non-empty string; without a default it is required."""
        value: str = self._take(key, str, default, "a text")
        if not value.strip() and value != default:
            self.refuse(f"`{key}` is empty", key)
        return value

    def choice(self, key: str, choices: Iterable[str], default: str | None = None) -> str:
        value, known = self.text(key, default), tuple(choices)
        if value not in known and value != default:
            self.refuse(f"`{key}` is {value!r}; it must be one of {', '.join(known)}", key, did_you_mean(value, known))
        return value

    def integer(self, key: str, default: int | None = None, least: int | None = None) -> int:
        value: int = self._take(key, int, default, "an integer")
        if least is not None and value < least:
            self.refuse(f"`{key}` is {value}; it must be at least {least}", key)
        return value

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        value = self._take(key, object, default, "a list of texts")
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            self.refuse(f"`{key}` must be a list of texts", key)
        return tuple(value)

    def integers(self, key: str, default: Mapping[str, int] | None = None, least: int | None = None) -> dict[str, int]:
        """A table of integers."""
        value = self._take(key, dict, default, "a table of integers")
        for name, number in value.items():
            if not isinstance(number, int) or isinstance(number, bool):
                self.refuse(f"`{key}.{name}` must be an integer", key, part=name)
            if least is not None and number < least:
                self.refuse(f"`{key}.{name}` must be at least {least}", key, part=name)
        return dict(value)

    def strings(self, key: str, default: Mapping[str, str] | None = None) -> dict[str, str]:
        """A table of texts."""
        value = self._take(key, dict, default, "a table of texts")
        for name, text in value.items():
            if not isinstance(text, str):
                self.refuse(f"`{key}.{name}` must be a text", key, part=name)
        return dict(value)

    def table(self, key: str, called: str = "", *, required: bool = True) -> Table:
        """The table `key`; an empty one where it is missing and not required."""
        data = self._take(key, dict, None if required else {}, "a table")
        return Table(self.source, data, (*self.path, key), called)

    def tables(self, key: str, called: str = "") -> Iterator[tuple[str, Table]]:
        """The named tables below `key` (none if it is missing); messages call them `called` and their name."""
        parent = self.table(key, required=False)
        for name, data in parent.data.items():
            if not isinstance(data, dict):
                parent.refuse(f"`{name}` must be a table", name)
            yield name, Table(self.source, data, (*parent.path, name), f"{called or key} {name}")

    def list_of_tables(self, key: str) -> list[Table]:
        """One table or an array of tables, as a list (empty if it is missing)."""
        value = self._take(key, object, [], "a table or an array of tables")
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, dict) for item in items):
            self.refuse(f"`{key}` must be a table or an array of tables", key)
        called = f"{self.called}: {key}"
        rows = [(*self.path, key, *([number] if isinstance(value, list) else [])) for number in range(len(items))]
        return [Table(self.source, item, row, called) for row, item in zip(rows, items, strict=True)]

    def finish(self, *, ignored: Iterable[str] = ()) -> None:
        """Refuse every key that nobody asked for, but those of `ignored`."""
        known = {*self._asked, *ignored}
        for key in self.data:
            if key not in known:
                self.refuse(f"unknown key `{key}`", key, did_you_mean(key, known), None)


def _is_header(span: Span | None) -> bool:
    """Whether a place is the header of a table: it begins its line with a bracket."""
    if span is None or not span.text.startswith("["):
        return False
    return not span.source.text[span.source.line_starts[span.line - 1] : span.start].strip()
