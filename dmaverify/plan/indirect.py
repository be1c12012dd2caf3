"""Gathers and scatters of a plan file: `[gather.NAME]`, `[scatter.NAME]`, and the indirect loop of a configuration.

Knows: the tables, which axis is picked and which is the key where the plan leaves them out, offset lists in texts.
Does not know: whether an index is right, TOML.
Law: what cannot be read is an InputError at its place; what can be read but makes no sense is a `PlanProblem`.

An indirect loop is an entry with a list of offsets for its stride, `K=4:[0, 512, 256, 768]`, or the word `index`: the
offsets are then those of the index.

Source: the plan file format, `schema = 1`; "Sequencer" (Indirect Access: (limit, [offset0, offset1, ...])).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING

from dmaverify.errors import InputError, Source, did_you_mean
from dmaverify.language.expr import Symbol, axes_of
from dmaverify.language.toml_spans import Path
from dmaverify.plan.config import parse_config
from dmaverify.plan.texts import Units, units
from dmaverify.program.access import PlanProblem
from dmaverify.program.command import Entry, GivenCommand, Sequencer
from dmaverify.program.indirect import IndexList, Indirect, IndirectLoop, first_axis
from dmaverify.program.tensor import Tensor
from dmaverify.targets.target import Target
from dmaverify.values import replace

if TYPE_CHECKING:
    from dmaverify.plan import schema
    from dmaverify.plan.tables import TableReader

INDIRECT_LIST = re.compile(r":\s*(\[(?P<list>[^\[\]]*)\]|index\b)")
_NUMBER = re.compile(r"[0-9](?:_?[0-9])*")


def read_indirect(reader: TableReader, kind: str, name: str, table: schema.IndirectTable) -> Indirect:
    path: Path = (kind, name)
    key, target = reader.target_of(path, table.target)
    reader.check_dtype(path, table.dtype, target)
    reader.check_dtype((*path, "index"), table.index.dtype, target)
    problems: list[PlanProblem] = []
    made = reader.all_of(
        {
            "source": lambda: reader.tensor((*path, "source"), table.source, target, problems),
            "dest": lambda: reader.tensor((*path, "dest"), table.dest, target, problems),
            "stream": lambda: None if table.stream is None else reader.stream((*path, "stream"), table.stream),
            "limits": lambda: reader.limits(path, table.limits, target),
            "index": lambda: reader.tensor((*path, "index"), table.index, target, problems),
        }
    )
    for side, tensor in (("source", table.source), ("dest", table.dest)):
        if tensor.view is not None:
            raise InputError(
                f"a {kind} takes no view", reader.doc.key_span((*path, side, "view")), "the index picks the part"
            )
    scatter = kind == "scatter"
    source, dest = made["source"], made["dest"]
    axis, named = _axes(reader, path, table, source, dest, made["index"], scatter, problems)
    sizes, span = reader.texts.axes, reader.doc.key_span(path)
    given, listed = _printed(reader, path, table, target, scatter)
    if given is not None:
        problems += reader.media(given.read, source, "read", "source", target)
        problems += reader.media(given.write, dest, "write", "dest", target)
    return Indirect(
        name, key, scatter, table.dtype, source, dest, axis, (named,), Symbol(named, sizes.get(named, 1)),
        sizes.get(axis, 1), _index(reader, path, table, made["index"], sizes.get(named, 1)), made["stream"], given,
        listed, made["limits"], reader.expectation(table.expect), tuple(problems), span.line, span,
    )  # fmt: skip


def _axes(
    reader: TableReader, path: Path, table: schema.IndirectTable, source: Tensor, dest: Tensor, index: Tensor,
    scatter: bool, problems: list[PlanProblem],
) -> tuple[str, str]:  # fmt: skip
    """The axis of the table that is picked, and the key: as written, else as the vendor's library finds them."""
    sizes = reader.texts.axes
    picks, payload = (dest, source) if scatter else (source, dest)
    for word in ("axis", "key"):
        said = getattr(table, word)
        if said is not None and said not in sizes:
            hint = did_you_mean(said, sizes) or f"known: {', '.join(sizes)}"
            raise InputError(f"`{said}` is no axis", reader.doc.span((*path, word)), hint)
    keys = [a for a in axes_of(index.mapping) if sizes.get(a, 1) > 1]
    key = table.key or (keys[0] if len(keys) == 1 else None)
    first = first_axis(axes_of(picks.mapping), axes_of(payload.mapping), [key] if key is not None else keys)
    axis = table.axis or first
    if axis is None or key is None:
        what = "axis" if axis is None else "key"
        hint = f'add `{what} = "..."`: ' + (
            "the axis of the table that the index picks" if axis is None else "the axis that the index runs over"
        )
        raise InputError(f"nothing says which {what} the index has", reader.doc.key_span(path), hint)
    if axis == key and key in axes_of(payload.mapping):
        raise InputError(
            f"the index picks {axis}, the first axis of the table that a row lacks, and {axis} is the key as well",
            reader.doc.span((*path, "axis")) if table.axis else reader.doc.key_span(path),
            f"name the table's axis otherwise than the key, and leave {key} out of the rows of the table",
        )
    for word, name, tensor, where in (
        ("axis", axis, picks, "dest" if scatter else "source"), ("key", key, payload, "source" if scatter else "dest"),
    ):  # fmt: skip
        span = reader.doc.span((*path, word)) if getattr(table, word) else reader.doc.span((*path, where))
        if name not in axes_of(tensor.mapping):
            problems.append(PlanProblem(f"{where} does not name {name}", span, f"the {word} lies in the {where}"))
    if axis in axes_of(payload.mapping) and sizes.get(axis, 1) > 1:
        where = "source" if scatter else "dest"
        problems.append(
            PlanProblem(
                f"the {where} names {axis}, which the index picks", reader.doc.span((*path, where)),
                f"leave {axis} out: the {where} has {key} in its place",
            )
        )  # fmt: skip
    if table.axis is not None and first is not None and table.axis != first:
        problems.append(
            PlanProblem(
                f"the library picks {first}, the first axis of the table that a row lacks, not {table.axis}",
                reader.doc.span((*path, "axis")), f"put {table.axis} before {first} in the table", fatal=False,
            )
        )  # fmt: skip
    return axis, key


def _index(reader: TableReader, path: Path, table: schema.IndirectTable, tensor: Tensor, entries: int) -> IndexList:
    given = table.index
    place: Path = (*path, "index")
    values = None if given.values is None else tuple(given.values)
    if values is not None and (given.rows is not None or given.distinct):
        word = "rows" if given.rows is not None else "distinct"
        raise InputError(
            f"`{word}` beside `values`", reader.doc.key_span((*place, word)), "known numbers need no promise; keep one"
        )
    if given.rows is not None and given.rows[0] > given.rows[1]:
        raise InputError(
            "`rows` goes from the first to the last row", reader.doc.span((*place, "rows")), "write [0, 1023]"
        )
    spans = tuple(reader.doc.span((*place, "values", i)) for i in range(len(values or ())))
    low, high = given.rows if given.rows is not None else (None, None)
    return IndexList(
        tensor, given.dtype, given.scaled, entries, values, low, high, given.distinct, reader.doc.span(place), spans
    )


# ---------------------------------------------------------------- printed configurations


def _printed(
    reader: TableReader, path: Path, table: schema.IndirectTable, target: Target, scatter: bool
) -> tuple[GivenCommand | None, IndirectLoop | None]:
    """Read and write less the indirect loop, and the loop; nothing where nothing is printed."""
    if table.read is None and table.write is None:
        return None, None
    for side, other in (("read", "write"), ("write", "read")):
        if getattr(table, side) is None:
            raise InputError(f"`{other}` without `{side}`", reader.doc.key_span((*path, other)), f"add `{side}`")
    counted = units(target, table.dtype, table.unit)
    lists, plain = ("write", "read") if scatter else ("read", "write")
    text, found = _without_list(reader, (*path, lists), getattr(table, lists))
    sides: dict[str, Sequencer] = reader.all_of(
        {
            lists: partial(_config, reader, (*path, lists), getattr(table, lists), text, counted),
            plain: partial(_config, reader, (*path, plain), getattr(table, plain), getattr(table, plain), counted),
        }
    )
    at = _entry_at(text, found.start())
    entry = sides[lists].entries[at]
    beside = _alike(sides[lists].entries, at, sides[plain].entries)
    if beside is None:
        raise InputError(
            "the other side has no loop like the indirect one", entry.span,
            f"write an entry with the count {entry.count} there, with as many iterations around it",
        )  # fmt: skip
    scale = counted["element_units"] if counted["unit_is_elements"] else counted["byte_units"]
    if sides[lists].packet != scale and text[found.end() :].lstrip(", \t\r\n").startswith("]"):
        raise InputError(
            "the indirect loop is the innermost, which counts what a packet moves", entry.span,
            "write the units of a row inside of it, as in `K=4:[0, 512, 256, 768], C=256:1`",
        )  # fmt: skip
    offsets = None
    if found["list"] is not None:
        offsets = tuple(n * scale for n in _numbers(reader, (*path, lists), getattr(table, lists), found))
        if len(offsets) != entry.count:
            raise InputError(
                f"the loop counts {entry.count}, its list has {len(offsets)} offsets", entry.span, "one for each"
            )
    walked = sides[plain].entries[beside]
    listed = IndirectLoop(entry.count, offsets, walked.stride, entry.span, walked.stride_span)
    bare = {
        side: replace(seq, entries=(*seq.entries[:n], *seq.entries[n + 1 :]))
        for (side, seq), n in zip(sides.items(), (at, beside), strict=True)
    }
    return GivenCommand(None, bare["read"], bare["write"], reader.doc.key_span(path)), listed


def _entry_at(text: str, place: int) -> int:
    """Which entry of a configuration a place of its text is in: commas in brackets of its own separate no entries."""
    depths = [0, *accumulate((char in "[(") - (char in "])") for char in text[:place])]
    return sum(char == "," and depth == 1 for char, depth in zip(text, depths, strict=False))


def _alike(listed: Sequence[Entry], at: int, others: Sequence[Entry]) -> int | None:
    """Which loop of the other side has the iterations of the indirect one: as many of its own, as many around it."""
    around, count = prod(entry.count for entry in listed[:at]), listed[at].count
    places = range(len(others))
    return next((n for n in places if others[n].count == count and prod(e.count for e in others[:n]) == around), None)


def _without_list(reader: TableReader, path: Path, text: str) -> tuple[str, re.Match[str]]:
    """The text with a stride of 0 where the list stands, as long as before, and the list."""
    found = list(INDIRECT_LIST.finditer(text))
    if len(found) != 1:
        hint = "write the loop over the index as `K=4:[0, 512, 256, 768]`, or `K=4:index`"
        what = "no indirect loop" if not found else f"{len(found)} indirect loops"
        raise InputError(f"`{path[-1]}` has {what}", reader.doc.span(path), hint)
    start, end = found[0].span(1)
    return text[:start] + "0" + " " * (end - start - 1) + text[end:], found[0]


def _numbers(reader: TableReader, path: Path, text: str, found: re.Match[str]) -> list[int]:
    out = []
    start = found.start("list")
    for part in found["list"].split(","):
        word = part.strip()
        if not _NUMBER.fullmatch(word) or len(word) > 30:
            content = reader.doc.content(path, text)
            raise InputError(
                f"`{word}` is no offset", content.part(start, start + len(part)), "write decimal digits between commas"
            )
        out.append(int(word.replace("_", "")))
        start += len(part) + 1
    return out


def _config(reader: TableReader, path: Path, original: str, text: str, counted: Units) -> Sequencer:
    content = reader.doc.content(path, original)
    if content.exact:
        return parse_config(text, source=content.source, offset=content.start, **counted)
    try:
        return parse_config(text, source=Source(content.source.name, text), **counted)
    except InputError as error:
        span = content.part(error.span.start, error.span.end) if error.span else content.span
        raise InputError(error.message, span, error.hint) from None
