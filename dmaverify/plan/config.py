"""The textual form of sequencers, read: `[A%4=4:256, C=256:1]:256 HBM/D@0`; `lower.text` prints it.

Knows: the grammar, its arithmetic, the units of a text, the paired form of a whole descriptor.
Does not know: files, moves, engines, whether a sequencer makes sense.
Law: every number of the result is in units (bytes, or half bytes for 4-bit types).

    config  := "[" [ entry { "," entry } [","] ] "]" ":" packet [ medium ]
    entry   := [ label "=" | label "->" ] count ":" stride
    medium  := [ TIER [ "/D" ] ] "@" base
    base    := number | "(" number { "," number } ")"        leading parts are the place, the last is the address
    paired  := "[" [ entry with "(" read "," write ")" for its stride, ... ] "]" [ ":" packet ] { "," setting }
    setting := "base" "=" "(" side "," side ")" | "stride0" "=" packet | "media_source" "=" TIER | "media_dest" "=" TIER
    number  := see `arithmetic`; constants such as slice_stride are bytes whatever the unit of the text

Source: "DMA Engine" (DMA Sequencer Internals, Detailed Examples), "Sequencer" (Configuration Examples),
docs/machines/rngd.md 1.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.errors import Source
from dmaverify.plan.arithmetic import LIMIT_BITS, Cursor, Number
from dmaverify.plan.config_places import (
    _GRAMMAR,
    _all,
    _closing,
    _medium,
    _outside,
    _packet,
    _pair,
    _settings,
    _split,
    _used_up,
    _Where,
)
from dmaverify.plan.media import MEDIA, Medium
from dmaverify.program.command import Entry, Sequencer
from dmaverify.values import dataclass, replace

MOST_ENTRIES = 256  # of one configuration


@dataclass(frozen=True, slots=True)
class _Line:
    """One entry as written: its count, its one or two strides, and where it starts if not at 0."""

    label: str
    count: Number
    strides: tuple[Number, ...]
    start: int
    end: int
    first: Number | None = None


def parse_config(
    text: str,
    *,
    source: Source,
    offset: int = 0,
    element_units: int = 1,
    constants: Mapping[str, int] | None = None,
    unit_is_elements: bool = False,
    byte_units: int = 1,
    media: Mapping[str, Medium] = MEDIA,
    sizes: Mapping[str, int] | None = None,
) -> Sequencer:
    """A sequencer from its text. Spans are those of `source` from character `offset` on.

    `element_units` and `byte_units` say how many units an element and a byte are, `constants` are in units,
    `unit_is_elements` says in what the text counts, `media` are the memories it may name (in capitals), `sizes` the
    names that stand for a size. Raises InputError at the exact place, with a hint.
    """
    scale = element_units if unit_is_elements else byte_units
    cursor = Cursor(text, source, offset, constants or {}, sizes)
    lines = _entries(cursor, paired=False)
    packet = _packet(cursor, media)
    return _sequencer(cursor, lines, 0, packet, scale, _medium(cursor, media))


def parse_paired(
    text: str,
    *,
    source: Source,
    offset: int = 0,
    element_units: int = 1,
    constants: Mapping[str, int] | None = None,
    unit_is_elements: bool = False,
    byte_units: int = 1,
    media: Mapping[str, Medium] = MEDIA,
    sizes: Mapping[str, int] | None = None,
) -> tuple[Sequencer, Sequencer]:
    """The read and the write sequencer of a paired text (arguments and errors as `parse_config`)."""
    scale = element_units if unit_is_elements else byte_units
    cursor = Cursor(text, source, offset, constants or {}, sizes)
    lines = _entries(cursor, paired=True)
    packet, (read, write) = _settings(cursor, media)
    return _sequencer(cursor, lines, 0, packet, scale, read), _sequencer(cursor, lines, 1, packet, scale, write)


# --- from lines to sequencers, and back: the one place where units change ----------------------------------------


def _sequencer(
    cursor: Cursor, lines: Sequence[_Line], side: int, packet: Number, scale: int, medium: _Where | None
) -> Sequencer:
    """Lines in the text's unit as a sequencer in units.

    Where a written number is `scale` units, an innermost run of stride 1 becomes `scale` times as long; any other
    innermost entry steps over whole numbers, so a run of `scale` units is added below it. `[]:8` is one packet of 8.
    """
    span = cursor.span
    entries = [
        Entry(
            line.count.plain,
            line.strides[side].plain * scale + line.strides[side].fixed,
            line.label,
            span(line.start, line.end),
            span(line.count.start, line.count.end),
            span(line.strides[side].start, line.strides[side].end),
        )
        for line in lines
    ]
    if not lines:
        entries.append(Entry(packet.plain * scale, 1, "", *[span(packet.start, packet.end)] * 3))
    elif scale > 1 and all(stride.is_one for stride in lines[-1].strides):
        last = entries.pop()
        entries.append(Entry(last.count * scale, 1, last.label, last.span, last.count_span, last.stride_span))
    elif scale > 1:
        last = entries[-1]
        entries.append(Entry(scale, 1, "", last.span, last.count_span, last.stride_span))
    address = medium.address if medium else None
    for first in (line.first for line in lines if line.first is not None):
        if address is None:
            hint = "write the base behind the packet, as in [A=4:[256, 512, 768, 1024]]:256 @0, or offsets from 0"
            cursor.fail("offsets that do not start at 0 are counted from a base", first.start, first.end, hint)
        address = replace(address, plain=address.plain + first.plain, fixed=address.fixed + first.fixed)
    return Sequencer(
        entries=tuple(entries),
        packet=packet.plain * scale,
        tier=medium.tier if medium else None,
        base=None if address is None else address.plain * scale + address.fixed,
        place=medium.place if medium else (),
        span=span(0, len(cursor.text)),
        packet_span=span(packet.start, packet.end),
        medium_span=span(medium.start, medium.end) if medium else None,
        base_span=None if address is None else span(address.start, address.end),
    )


# --- reading -------------------------------------------------------------------------------------------------------


def _entries(cursor: Cursor, *, paired: bool) -> list[_Line]:
    """The bracketed list; the cursor ends behind its `]`."""
    if not cursor.take("["):
        cursor.fail_here("a configuration starts with `[`", _GRAMMAR)
    close = _closing(cursor, cursor.at - 1)
    pieces = _split(cursor.tokens, cursor.at, close)
    if pieces[-1][0] == pieces[-1][1]:  # a last comma, or no entry at all
        pieces.pop()
    if len(pieces) > MOST_ENTRIES:
        start, end = cursor.tokens[pieces[MOST_ENTRIES][0]].start, cursor.tokens[close].end
        said = f"{len(pieces):,} entries are too many for one configuration; the limit is {MOST_ENTRIES}"
        cursor.fail(said, start, end, "a sequencer has a handful of loops; write several commands")
    lines = [line for first, last in pieces for line in _lines(cursor, first, last, paired)]
    _movable(cursor, lines)
    cursor.at, cursor.stop = close + 1, len(cursor.tokens)
    return lines


def _movable(cursor: Cursor, lines: Sequence[_Line]) -> None:
    """Refuses counts that multiply to more than any address range, at the count that goes beyond."""
    amount = 1
    for line in lines:
        amount *= abs(line.count.plain) or 1
        if amount > 1 << LIMIT_BITS:
            said = f"the counts up to here multiply to more than 2^{LIMIT_BITS}"
            cursor.no_value(said, line.count.start, line.count.end, "a command moves less than 2^62 bytes")


def _lines(cursor: Cursor, first: int, last: int, paired: bool) -> list[_Line]:
    """One entry as written; a list of offsets as the plain entries that walk it, outermost first."""
    tokens = cursor.tokens
    if first == last:
        comma = tokens[last]
        cursor.fail("an entry is missing here", comma.start, comma.end, "entries are separated by one comma")
    start, end = tokens[first].start, tokens[last - 1].end
    colon = _colon(cursor, first, last)
    marks = _outside(tokens, first, colon, ("=", "->"))
    label = " ".join(cursor.text[start : tokens[marks[-1]].start].split()) if marks else ""
    count = _all(cursor, marks[-1] + 1 if marks else first, colon, "count")
    if not paired and colon + 1 < last and tokens[colon + 1].text == "[":
        return [
            _Line(label, turns, (step,), start, end, at) for turns, step, at in _offsets(cursor, colon + 1, last, count)
        ]
    strides = _pair(cursor, colon + 1, last) if paired else (_stride(cursor, colon + 1, last),)
    return [_Line(label, count, strides, start, end)]


def _offsets(cursor: Cursor, first: int, last: int, count: Number) -> list[tuple[Number, Number, Number | None]]:
    """Counts and strides, outermost first, of the loops that walk the offsets of an indirect entry in their order, the
    outermost with the offset that they start from if that is not 0.
    """
    tokens, close = cursor.tokens, _closing(cursor, first)
    start, end = tokens[first].start, tokens[last - 1].end
    found = [_all(cursor, *piece, "offset", is_address=True) for piece in _split(tokens, first + 1, close)]
    cursor.at, cursor.stop = close + 1, last
    _used_up(cursor, "list")
    if len(found) != count.plain:
        many = f"{len(found)} offsets for {count.plain} iterations"
        cursor.fail(f"the list has {many}", start, end, "one offset for each iteration")
    begin = found[0]
    loops = _loops_of([(number.plain - begin.plain, number.fixed - begin.fixed) for number in found])
    if loops is None:
        hint = "write it as [gather.NAME] or [scatter.NAME], whose read and write take such a list; or one command each"
        cursor.fail("no loops with strides walk these offsets: a mapping has no such order", start, end, hint)
    starts = [begin if begin.plain or begin.fixed else None, *[None] * (len(loops) - 1)]
    return [
        (Number(turns, 0, count.start, count.end), Number(plain, fixed, start, end), at)
        for (turns, (plain, fixed)), at in zip(loops, starts, strict=True)
    ]


def _loops_of(offsets: Sequence[tuple[int, int]]) -> list[tuple[int, tuple[int, int]]] | None:
    """The fewest loops (count, stride), outermost first, that walk `offsets` from 0 on; None where none do."""
    total = len(offsets)
    if total == 1:
        return [(1, (0, 0))]
    step = offsets[1]
    for run in (n for n in range(total, 1, -1) if total % n == 0):
        block = [(step[0] * k, step[1] * k) for k in range(run)]
        walked = [(a + x, b + y) for a, b in offsets[::run] for x, y in block]
        if walked == list(offsets):
            outer = _loops_of(offsets[::run]) if run < total else []
            if outer is not None:
                return [*outer, (run, step)]
    return None


def _colon(cursor: Cursor, first: int, last: int) -> int:
    tokens = cursor.tokens
    colons = _outside(tokens, first, last, (":",))
    if not colons:
        hint = "an entry is count:stride, or label=count:stride"
        following = tokens[last + 1] if last + 1 < len(tokens) else None
        if tokens[last].text == "," and tokens[last - 1].kind == "number" and following and following.kind == "number":
            hint = f"a comma separates entries; write {tokens[last - 1].shown}_{following.shown} to group digits"
        cursor.fail("the entry has no `:`", tokens[first].start, tokens[last - 1].end, hint)
    if len(colons) > 1:
        extra = tokens[colons[1]]
        cursor.fail("the entry has a second `:`", extra.start, extra.end, "is a comma between two entries missing?")
    return colons[0]


def _stride(cursor: Cursor, first: int, last: int) -> Number:
    tokens = cursor.tokens
    if first < last and tokens[first].text == "(" and _outside(tokens, first + 1, _closing(cursor, first), (",",)):
        hint = 'write both sides as `sequencer = "[...]"`, or one stride here'
        cursor.fail("an entry of one side has one stride", tokens[first].start, tokens[last - 1].end, hint)
    return _all(cursor, first, last, "stride", is_address=True)
