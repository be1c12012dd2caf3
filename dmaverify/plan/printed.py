"""What the documents leave out of a printed command, put back: engines by i, j and k, the DmnIndex, the packet.

Knows: the names that the documents give to places of engines, how far a run goes on in two printed sequencers.
Does not know: files, whether a command makes sense, mappings beyond their sizes.
Law: a text that leaves nothing out comes back as it is; what is put back is what a reader could have written.

    chip_i, cluster_j, dmn_k    the place of an engine; i, j and k then stand for numbers in bases (any letter for any)
    dmn_3                       the number
    DmnIndex = (0, 0, 0)        the engine, as a setting of a paired text
    [...], base = 0             one side with its base as a setting
    no packet                   the longest run of both sides that a packet may have

Source: "DMA Engine" (Examples 4 to 6, DMA Sequencer Internals, DMA Command Syntax).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import gcd, prod
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.language.numbers import largest_part
from dmaverify.program.command import Sequencer

if TYPE_CHECKING:
    from dmaverify.plan.schema import CommandTable, TransferTable

MOST_ENGINES = 1024  # of a text that is written once for all
CLASSES = ("chip", "cluster", "dmn")
LETTERS = ("i", "j", "k")
_PLACE = re.compile(r"\b(chip|cluster|dmn)_([ijk])\b")
_NUMBERED = re.compile(r"\b(?:chip|cluster|dmn)_(\d)\b")
_LETTER = re.compile(r"(?<![\w'])([ijk])(?![\w'])")
_INDEX = re.compile(r",\s*DmnIndex\s*[=:]\s*\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)")
_BASE = re.compile(r",\s*base\s*=\s*(?P<base>[^,\[\]]*(?:\([^()]*\)[^,\[\]]*)*)$")

Read = Callable[[str], Sequencer]
Pair = Callable[[str], tuple[Sequencer, Sequencer]]


def leaves_out(table: TransferTable | CommandTable) -> bool:
    """Whether a text of the table says less than a command needs, or says it for several engines."""
    sides = [text for text in (table.read, table.write) if text is not None]
    if any(_in_bases(text) or _BASE.search(text) for text in sides) or (sides and all(map(_lacks_packet, sides))):
        return True
    own = table.sequencer
    return own is not None and bool(_INDEX.search(own) or (_lacks_packet(own) and "stride0" not in own))


def _in_bases(text: str) -> bool:
    behind = text[text.rfind("]") + 1 :]
    return bool(_PLACE.search(text) or _NUMBERED.search(text) or _LETTER.search(behind))


def _lacks_packet(text: str) -> bool:
    close = text.rfind("]")
    return close >= 0 and not text[close + 1 :].lstrip().startswith(":")


def spelled_out(
    table: TransferTable | CommandTable, ranges: Mapping[str, Sequence[int]], read: Read, pair: Pair, most: int,
    scale: int, word: int,
) -> Iterator[CommandTable]:  # fmt: skip
    """The commands that a table stands for, one of each engine, in the order of engines. `ranges` are the places of
    engines that letters go through, `most` the largest packet in units, of which the text's own unit is `scale`,
    and `word` are 8 bytes.
    """
    from dmaverify.plan.schema import CommandTable, EngineTable

    unit = getattr(table, "unit", None)
    if table.sequencer is not None:
        text, engine = table.sequencer, table.engine
        found = _INDEX.search(text)
        if found is not None:
            text = text[: found.start()] + text[found.end() :]
            engine = engine or EngineTable(*(int(number) for number in found.groups()))
        if _lacks_packet(text) and "stride0" not in text:
            text += f", stride0 = {_packet(pair(f'{text}, stride0 = 1'), most, word) // scale}"
        yield CommandTable(engine=engine, sequencer=text, unit=unit)
        return
    if table.read is None or table.write is None:
        yield CommandTable(engine=table.engine, read=table.read, write=table.write, unit=unit)
        return
    sides = [_NUMBERED.sub(r"\1", _BASE.sub(r" @(\g<base>)", text)) for text in (table.read, table.write)]
    letters = _letters(sides)
    chosen: list[Sequence[int]] = []
    for place in letters.values():
        given = table.engine
        chosen.append(ranges[place] if given is None else (int(getattr(given, place)),))
    if prod(map(len, chosen)) > MOST_ENGINES:
        raise InputError(f"a command of each engine: more than {MOST_ENGINES:,}", None, "name fewer engines")
    for numbers in product(*chosen):
        of = dict(zip(letters, numbers, strict=True))
        one, other = (_with_numbers(text, of) for text in sides)
        if _lacks_packet(one) and _lacks_packet(other):
            size = _packet((read(_with_packet(one, 1)), read(_with_packet(other, 1))), most, word) // scale
            one, other = _with_packet(one, size), _with_packet(other, size)
        engine = table.engine
        if letters and engine is None:
            engine = EngineTable(**{place: of[letter] for letter, place in letters.items()})
        yield CommandTable(engine=engine, read=one, write=other, unit=unit)


def _letters(sides: Sequence[str]) -> dict[str, str]:
    """Letter -> place, chip first: as the texts name it, else i, j and k are chip, cluster and dmn."""
    named = {letter: place for text in sides for place, letter in _PLACE.findall(text)}
    used = {letter for text in sides for letter in _LETTER.findall(text[text.rfind("]") + 1 :])}
    usual = dict(zip(LETTERS, CLASSES, strict=True))
    found = {**{letter: usual[letter] for letter in used if letter not in named}, **named}
    return dict(sorted(found.items(), key=lambda item: CLASSES.index(item[1])))


def _with_numbers(text: str, of: Mapping[str, int]) -> str:
    close = text.rfind("]") + 1
    behind = _PLACE.sub(lambda found: str(of[found[2]]), text[close:])
    return text[:close] + _LETTER.sub(lambda found: str(of[found[1]]), behind)


def _with_packet(text: str, packet: int) -> str:
    if not _lacks_packet(text):
        return text
    close = text.rfind("]") + 1
    return f"{text[:close]}:{packet}{text[close:]}"


def _packet(sides: Sequence[Sequencer], most: int, word: int) -> int:
    """The largest packet that divides the innermost entry, runs on on both sides and is allowed, in whole words if any
    is; one unit else.
    """
    inner = [side.entries[-1] for side in sides]
    if any(entry.stride != 1 for entry in inner):
        return sides[0].packet
    return largest_part(gcd(*(entry.count for entry in inner)), most, word)


def places_of(chips: Sequence[int], clusters: Sequence[int], slices: tuple[int, int], each: int) -> dict[str, range]:
    """The engines of a tensor: (first, how many) chips and clusters, its slices counted in engines of `each` slices."""
    first = slices[0] // each
    many = {"chip": chips, "cluster": clusters, "dmn": (first, -(-sum(slices) // each) - first)}
    return {place: range(at, at + min(count, MOST_ENGINES + 1)) for place, (at, count) in many.items()}
