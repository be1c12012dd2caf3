"""Burst lists that somebody made: a trace, an RTL run, another model; one transfer a line.

Knows: the table (columns of `columns`, then `r_bursts` and `w_bursts`) and the JSON lines with `read` and `write`.
Does not know: whether a list is right.
Law: a line that is read has its request, both lists and its place in the file.

    variant,data_width,...,length,...,r_bursts,w_bursts    then    rw_axi,64,...,ff8:8 1000:2048,...   (hex : bytes)
    {"variant": "rw_axi", ..., "read": [[4088, 8], ...], "write": [...]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dmaverify.errors import InputError, Source, Span
from dmaverify.machines.idma.columns import cells_in, request_of
from dmaverify.machines.idma.engine import Backend, Request
from dmaverify.values import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class ListedTransfer:
    """One transfer with the bursts that somebody made of it."""

    backend: Backend
    request: Request
    read: tuple[tuple[int, ...], ...]
    write: tuple[tuple[int, ...], ...]
    span: Span
    placed: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)  # each burst of a side, where it is known


def looks_like_lists(path: str, text: str) -> bool:
    """Whether a file is a burst table or its JSON lines."""
    first = text.lstrip()[:4096].split("\n", 1)[0]
    if path.endswith(".csv"):
        return "r_bursts" in first and "w_bursts" in first
    return path.endswith(".jsonl") and first.startswith("{") and '"src_addr"' in first


def read_lists(source: Source) -> Iterator[ListedTransfer | InputError]:
    """Every line as what it lists, or what is wrong with it. Raises InputError where the table has no columns."""
    lines = source.text.split("\n")
    offsets = source.line_starts
    if source.name.endswith(".csv"):
        header = cells_in(lines[0])
        for number, line in enumerate(lines[1:], 1):
            if line.strip():
                span = Span(source, offsets[number], offsets[number] + len(line))
                found = _guarded(lambda line=line: _row(header, cells_in(line)), span)
                if isinstance(found, ListedTransfer) and '"' not in line:
                    found = replace(found, placed=_placed(header, line, span))
                yield found
        return
    for number, line in enumerate(lines):
        if line.strip():
            span = Span(source, offsets[number], offsets[number] + len(line))
            yield _guarded(lambda line=line: _object(line), span)


def _placed(header: list[str], line: str, span: Span) -> dict[str, tuple[Span, ...]]:
    """Where each burst of a row stands; nothing in it is quoted."""
    out, at = {}, span.start
    for name, cell in zip(header, line.split(","), strict=True):
        if name in ("r_bursts", "w_bursts"):
            words = re.finditer(r"\S+", cell)
            side = "read" if name == "r_bursts" else "write"
            out[side] = tuple(Span(span.source, at + word.start(), at + word.end()) for word in words)
        at += len(cell) + 1
    return out


def _guarded(read: Any, span: Span) -> ListedTransfer | InputError:
    try:
        row, lists = read()
        backend, request = request_of(row)
        return ListedTransfer(backend, request, lists[0], lists[1], span)
    except InputError as error:
        return InputError(error.message, span, error.hint)


def _row(header: list[str], cells: list[str]) -> tuple[dict[str, Any], list[Any]]:
    if len(cells) != len(header):
        raise InputError(f"{len(cells)} columns, the header has {len(header)}", None, "one value a column")
    row: dict[str, Any] = dict(zip(header, cells, strict=True))
    lists = [_bursts(row.pop(name, None), name) for name in ("r_bursts", "w_bursts")]
    return row, lists


_BURST = re.compile(r"([0-9a-fA-F]{1,16}):(\d{1,20})(?::([0-9a-fA-F]{1,16}):(\d{1,5}))?")


def _bursts(text: str | None, name: str) -> tuple[tuple[int, ...], ...]:
    out: list[tuple[int, ...]] = []
    for part in (text or "").split():
        found = _BURST.fullmatch(part)
        if found is None:
            raise InputError(
                f"`{part}` in {name} is no burst", None,
                "address in hexadecimal : bytes, and maybe : bus address in hexadecimal : length field",
            )  # fmt: skip
        out.append((int(found[1], 16), int(found[2])))
        if found[3]:
            out[-1] += (int(found[3], 16), int(found[4]))
    return tuple(out)


def _object(line: str) -> tuple[dict[str, Any], list[Any]]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}") from None
    return object_of(row)


def object_of(row: Any) -> tuple[dict[str, Any], list[Any]]:
    """The columns and both lists of a JSON object. Raises InputError."""
    if not isinstance(row, dict):
        raise InputError("a line is one JSON object")
    lists = []
    for name in ("read", "write"):
        pairs = row.get(name)
        if not isinstance(pairs, list) or not all(
            isinstance(p, list) and len(p) in (2, 4) and all(type(x) is int for x in p) for p in pairs
        ):
            raise InputError(
                f"`{name}` is no list of [address, bytes], or of [address, bytes, bus address, length field]", None,
                '"read": [[4088, 8], [4096, 2048]]',
            )  # fmt: skip
        lists.append(tuple(tuple(p) for p in pairs))
    return {k: v for k, v in row.items() if k not in ("read", "write")}, lists


def listed_of(row: Any) -> ListedTransfer:
    """One JSON object as what it lists. Raises InputError."""
    columns, lists = object_of(row)
    backend, request = request_of(columns)
    source = Source("<stdin>", "")
    return ListedTransfer(backend, request, lists[0], lists[1], Span(source, 0, 0))
