"""The numbers of a printed configuration, and where its sides begin: packets, media, places and bases behind `@`.

Knows: tokens of a configuration. Does not know: its entries.
Law: every token is used or refused with its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from dmaverify.errors import did_you_mean, nearest
from dmaverify.language.notation import Token
from dmaverify.plan.arithmetic import Cursor, Number
from dmaverify.plan.media import BRACKETS, Medium
from dmaverify.values import dataclass, replace

_MEDIA_SETTINGS = ("media_source", "media_dest")


_SETTINGS = ("base", "stride0", *_MEDIA_SETTINGS)


_GRAMMAR = "write [label=count:stride, ...]:packet TIER/D@base, outermost entry first"


@dataclass(frozen=True, slots=True)
class _Where:
    """Tier, place and address as written; `start` to `end` are its characters."""

    tier: str | None
    place: tuple[int, ...]
    address: Number | None
    start: int
    end: int


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
        close = nearest(name, media)
        hint = f"did you mean {close}?" if close else f"known: {', '.join(media)}"
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
    hint = did_you_mean(name.text, _SETTINGS) or f"known: {', '.join(_SETTINGS)}"
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
