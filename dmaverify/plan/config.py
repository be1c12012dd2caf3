"""The textual form of sequencers, read: `[A%4=4:256, C=256:1]:256 HBM/D@0`; `config_text` prints it.

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
from difflib import get_close_matches
from typing import NoReturn

from dmaverify.errors import Source
from dmaverify.language.notation import Token
from dmaverify.plan.arithmetic import LIMIT_BITS, Cursor, Number
from dmaverify.plan.media import BRACKETS, MEDIA, Medium
from dmaverify.program.command import Entry, Sequencer
from dmaverify.values import dataclass, replace

MOST_ENTRIES = 256  # of one configuration
_MEDIA_SETTINGS = ("media_source", "media_dest")
_SETTINGS = ("base", "stride0", *_MEDIA_SETTINGS)
_GRAMMAR = "write [label=count:stride, ...]:packet TIER/D@base, outermost entry first"


@dataclass(frozen=True, slots=True)
class _Line:
    """One entry as written: its count, its one or two strides, and where it starts if not at 0."""

    label: str
    count: Number
    strides: tuple[Number, ...]
    start: int
    end: int
    first: Number | None = None


@dataclass(frozen=True, slots=True)
class _Where:
    """Tier, place and address as written; `start` to `end` are its characters."""

    tier: str | None
    place: tuple[int, ...]
    address: Number | None
    start: int
    end: int


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


def _closing(cursor: Cursor, first: int) -> int:
    """The token that closes the bracket at token `first`."""
    stack = [cursor.tokens[first]]
    index = first
    while stack:
        index += 1
        if index == len(cursor.tokens):
            start, end = stack[-1].start, stack[-1].end
            cursor.fail(f"`{stack[-1].text}` is not closed", start, end, f"add `{BRACKETS[stack[-1].text]}`")
        token = cursor.tokens[index]
        if token.text in BRACKETS:
            stack.append(token)
        elif token.text in BRACKETS.values() and BRACKETS[stack.pop().text] != token.text:
            cursor.fail(f"`{token.text}` closes no bracket", token.start, token.end, "check the brackets before it")
    return index


def _outside(tokens: Sequence[Token], first: int, last: int, wanted: tuple[str, ...]) -> list[int]:
    """The tokens between `first` and `last` that are `wanted` and stand in no brackets."""
    depth, found = 0, []
    for index in range(first, last):
        text = tokens[index].text
        if text in BRACKETS:
            depth += 1
        elif text in BRACKETS.values():
            depth -= 1
        elif depth == 0 and text in wanted:
            found.append(index)
    return found


def _split(tokens: Sequence[Token], first: int, last: int) -> list[tuple[int, int]]:
    """Token ranges between the commas that stand in no brackets."""
    commas = _outside(tokens, first, last, (",",))
    starts = [first, *(index + 1 for index in commas)]
    return list(zip(starts, [*commas, last], strict=True))


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


def _all(cursor: Cursor, first: int, last: int, what: str, *, is_address: bool = False) -> Number:
    """The number that tokens `first` to `last` are, all of them; only an address may hold constants."""
    cursor.at, cursor.stop = first, last
    value = cursor.number(what) if is_address else cursor.count(what)
    _used_up(cursor, what)
    return value


def _used_up(cursor: Cursor, what: str) -> None:
    token = cursor.peek()
    if token is not None:
        hint = "is an operator missing?" if token.kind != "sign" else _GRAMMAR
        cursor.fail(f"`{token.shown}` after the {what}", token.start, token.end, hint)


def _stride(cursor: Cursor, first: int, last: int) -> Number:
    tokens = cursor.tokens
    if first < last and tokens[first].text == "(" and _outside(tokens, first + 1, _closing(cursor, first), (",",)):
        hint = 'write both sides as `sequencer = "[...]"`, or one stride here'
        cursor.fail("an entry of one side has one stride", tokens[first].start, tokens[last - 1].end, hint)
    return _all(cursor, first, last, "stride", is_address=True)


def _pair(cursor: Cursor, first: int, last: int) -> tuple[Number, Number]:
    """`(read, write)`, also `(read, write) * factor`, which multiplies both."""
    pieces, close = _parenthesised(cursor, first, last)
    if len(pieces) != 2:
        start = cursor.tokens[first].start
        end = cursor.tokens[max(first, last - 1)].end
        cursor.fail("a paired entry has two strides", start, end, "write count:(read stride, write stride)")
    read = _all(cursor, *pieces[0], "read stride", is_address=True)
    write = _all(cursor, *pieces[1], "write stride", is_address=True)
    cursor.at, cursor.stop = close + 1, last
    while cursor.take("*"):
        factor = cursor.factor("factor")
        read, write = cursor.times(read, factor), cursor.times(write, factor)
    _used_up(cursor, "strides")
    return read, write


def _parenthesised(cursor: Cursor, first: int, last: int) -> tuple[list[tuple[int, int]], int]:
    """The pieces of the parenthesis that starts at token `first`, and where it closes; no pieces if none does."""
    if first >= last or cursor.tokens[first].text != "(":
        return [], first
    close = _closing(cursor, first)
    return _split(cursor.tokens, first + 1, close), close


def _packet(cursor: Cursor, media: Mapping[str, Medium]) -> Number:
    colon = cursor.take(":")
    following = cursor.peek()
    if not colon or following is None or following.text == "@" or following.text.upper() in media:
        cursor.fail_here("the packet is missing", "write `]:packet`, the units moved at once, as in [C=256:1]:256")
    return _positive(cursor, cursor.count("packet"))


def _positive(cursor: Cursor, packet: Number) -> Number:
    if packet.plain < 1:
        hint = "a packet is at least 1, and divides the innermost count"
        cursor.no_value(f"a packet of {packet.plain} moves nothing", packet.start, packet.end, hint)
    return packet


def _medium(cursor: Cursor, media: Mapping[str, Medium]) -> _Where | None:
    """`HBM/D@0`, `DM @ (1, 3, 0)`, `@1024`, or nothing: the rest of the text."""
    first = cursor.peek()
    if first is None:
        return None
    medium = _named(cursor, media) if first.kind == "name" else None
    if medium is not None and cursor.take("/") and not cursor.take("D"):
        cursor.fail_here("`D` is missing after `/`", "D stands for the data type, as in HBM/D@0")
    if not cursor.take("@"):
        if medium is None:
            _used_up(cursor, "packet")
        cursor.fail_here("the medium has no base", f"write {first.text}/D@0, or leave the medium out")
    place, address = _address(cursor, cursor.at, cursor.stop)
    return _checked(cursor, _Where(None, place, address, first.start, cursor.tokens[-1].end), medium, media)


def _named(cursor: Cursor, media: Mapping[str, Medium]) -> Medium:
    token = cursor.peek()
    name = token.text.upper() if token else ""
    if name not in media:
        close = get_close_matches(name, media, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(media)}"
        cursor.fail_here(f"there is no medium `{token.shown}`" if token else "the medium is missing", hint)
    cursor.at += 1
    return media[name]


def _address(cursor: Cursor, first: int, last: int) -> tuple[tuple[int, ...], Number]:
    """Tokens `first` to `last` as a number, or as the parts of a place and a number in parentheses."""
    pieces, close = _parenthesised(cursor, first, last)
    if len(pieces) < 2:
        return (), _all(cursor, first, last, "base", is_address=True)
    place = tuple(_part(cursor, *piece) for piece in pieces[:-1])
    address = _all(cursor, *pieces[-1], "base", is_address=True)
    cursor.at, cursor.stop = close + 1, last
    _used_up(cursor, "base")
    return place, address


def _part(cursor: Cursor, first: int, last: int) -> int:
    value = _all(cursor, first, last, "place")
    if value.plain < 0:
        cursor.no_value("a place is not negative", value.start, value.end, "chips, clusters and engines count from 0")
    return value.plain


def _checked(cursor: Cursor, where: _Where, medium: Medium | None, media: Mapping[str, Medium]) -> _Where:
    """The place with its tier. Refuses more parts of a base than the tier has."""
    parts = medium.parts if medium else max((known.parts for known in media.values()), key=len, default=())
    if len(where.place) > len(parts):
        hint = f"write ({', '.join((*parts, 'offset'))})" if parts else "write one number"
        cursor.fail(f"the base has {len(where.place) + 1} parts", where.start, where.end, hint)
    return replace(where, tier=medium.tier) if medium else where


def _settings(cursor: Cursor, media: Mapping[str, Medium]) -> tuple[Number, tuple[_Where | None, _Where | None]]:
    """What follows the list of a paired text: `:packet`, then `, base=(0, 256^3), stride0 = 256` and the media."""
    packet = _packet(cursor, media) if cursor.sees(":") else None
    given = _given(cursor)
    if "stride0" in given:
        first, last = given["stride0"]
        if packet is not None:
            where = cursor.tokens[first - 2].start, cursor.tokens[last - 1].end if last > first else packet.end
            cursor.fail("the packet is given twice", *where, "`]:packet` and `stride0` are the same")
        packet = _positive(cursor, _all(cursor, first, last, "packet"))
    cursor.at = cursor.stop = len(cursor.tokens)
    if packet is None:
        cursor.fail_here("the packet is missing", "write `]:packet` or `, stride0 = packet`")
    bases = _bases(cursor, *given["base"]) if "base" in given else (None, None)
    read, write = (
        _joined(cursor, base, given.get(name), media) for base, name in zip(bases, _MEDIA_SETTINGS, strict=True)
    )
    return packet, (read, write)


def _given(cursor: Cursor) -> dict[str, tuple[int, int]]:
    """The settings by name, each with the tokens of its value."""
    tokens, given = cursor.tokens, dict[str, tuple[int, int]]()
    if cursor.peek() is None:
        return given
    if not cursor.take(","):
        _used_up(cursor, "list")
    for first, last in _split(tokens, cursor.at, cursor.stop):
        cursor.at, cursor.stop = first, last
        name = cursor.peek()
        if name is None or name.text not in _SETTINGS:
            _unknown(cursor, name)
        if name.text in given:
            cursor.fail_here(f"`{name.text}` is given twice", "keep one of them")
        cursor.at += 1
        if not cursor.sees("=", ":"):
            cursor.fail_here(f"`=` is missing after `{name.text}`", "write base=(0, 1024), stride0 = 256")
        given[name.text] = (first + 2, last)
    return given


def _unknown(cursor: Cursor, name: Token | None) -> NoReturn:
    if name is None:
        cursor.fail_here("a setting is missing after `,`", f"known: {', '.join(_SETTINGS)}")
    close = get_close_matches(name.text, _SETTINGS, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(_SETTINGS)}"
    if name.text.lower() == "dmnindex":
        hint = "write the engine beside the text: engine = { chip = 0, cluster = 0, dmn = 0 }"
    cursor.fail_here(f"`{name.shown}` is no setting of a configuration", hint)


def _bases(cursor: Cursor, first: int, last: int) -> tuple[_Where, _Where]:
    """`(read, write)`, each a number or a place; or four pairs: (chip, cluster, dmn, offset), each `(read, write)`."""
    pieces, close = _parenthesised(cursor, first, last)
    if len(pieces) not in (2, 4) or close != last - 1:
        hint = "write base=(read base, write base)"
        start = cursor.tokens[first].start if first < last else cursor.tokens[first - 1].start
        cursor.fail("the base of a paired text has two sides", start, cursor.tokens[last - 1].end, hint)
    if len(pieces) == 2:
        sides = [(*_address(cursor, *piece), piece) for piece in pieces]
        read, write = (_side(cursor, place, address, *piece) for place, address, piece in sides)
        return read, write
    pairs = [_pair(cursor, *piece) for piece in pieces]
    for number in (number for pair in pairs[:-1] for number in pair):
        if number.fixed or number.plain < 0:
            cursor.fail("a place is a number from 0 on", number.start, number.end, "chips and engines count from 0")
    read, write = (
        _side(cursor, tuple(pair[side].plain for pair in pairs[:-1]), pairs[-1][side], first, last) for side in (0, 1)
    )
    return read, write


def _side(cursor: Cursor, place: tuple[int, ...], address: Number, first: int, last: int) -> _Where:
    return _Where(None, place, address, cursor.tokens[first].start, cursor.tokens[last - 1].end)


def _joined(
    cursor: Cursor, base: _Where | None, setting: tuple[int, int] | None, media: Mapping[str, Medium]
) -> _Where | None:
    """A side's base with its tier, if the text names one."""
    if setting is None:
        return base and _checked(cursor, base, None, media)
    cursor.at, cursor.stop = setting
    medium = _named(cursor, media)
    _used_up(cursor, "medium")
    if base is None:
        first, last = setting
        hint = "write base=(read base, write base)"
        cursor.fail("a medium without a base", cursor.tokens[first - 2].start, cursor.tokens[last - 1].end, hint)
    return _checked(cursor, base, medium, media)
