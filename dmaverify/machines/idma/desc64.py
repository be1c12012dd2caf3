"""desc_64: chains of 32-byte descriptors in memory, read and written.

Knows: the memory order of each fetch width, flags, chains. Does not know: registers, what a move wants.
Law: `read(write(chain)) == chain`; whatever is wrong with a chain (a cycle, a clobbered descriptor) is a fact for the
rules of scope `chain`, not an error of reading, as long as every descriptor that is reached is in the image.

    fetch = 256             bits of the fetch bus: 64, 128 or 256; left out, it is the engine's, where that is said
    head  = 0x8000          what is written to register 0
    0x8000: 00030000 00000000 00010000 00000000 ffffffff ffffffff 00000400 0000000a     32-bit words, little-endian

Another `head` launches another chain, while the one before may still run; `wait` says that software waits for all that
is launched, `poll = 0x8000` that it reads the mark of a descriptor that completes last of these.

Source: iDMA paper, 2.1 (Descriptor-based); iDMA v0.7.0, `idma_desc64_reader`, `idma_desc64_synth_pkg`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate

from dmaverify.errors import InputError, Source, Span
from dmaverify.machines.idma.engine import AXI, Request
from dmaverify.machines.idma.jobs import request_options
from dmaverify.machines.idma.nd import Descriptor
from dmaverify.machines.idma.text import Image, Line, ToldDescriptor, bits, lines_of, reserved
from dmaverify.program.form import Word as Part
from dmaverify.program.form import part_spans
from dmaverify.targets.modules import Derived
from dmaverify.values import dataclass, replace

END = (1 << 64) - 1
SIZE = 32
LEAST_FLAGS = 0x0A
"""Both bursts INCR, nothing else. Source: pulp-platform/iDMA issue 72."""

LAYOUTS: Mapping[int, Mapping[str, int]] = {
    64: {"length": 0, "flags": 4, "next": 8, "src": 16, "dest": 24},
    128: {"next": 0, "length": 8, "flags": 12, "dest": 16, "src": 24},
    256: {"dest": 0, "src": 8, "next": 16, "length": 24, "flags": 28},
}
"""Byte offsets by width of the fetch bus. 32 bits have no consistent order in v0.7.0."""
WIDTHS = {"length": 4, "flags": 4, "next": 8, "src": 8, "dest": 8}


@dataclass(frozen=True, slots=True)
class DescriptorWords:
    """One descriptor as it lies in memory."""

    place: int
    length: int
    flags: int
    next: int
    src: int
    dest: int


def packed(word: DescriptorWords, fetch: int) -> bytes:
    """The 32 bytes of a descriptor for a fetch bus. Raises InputError for an unsupported width."""
    out = bytearray(SIZE)
    for name, at in layout_of(fetch).items():
        out[at : at + WIDTHS[name]] = getattr(word, name).to_bytes(WIDTHS[name], "little")
    return bytes(out)


def unpacked(place: int, data: bytes, fetch: int) -> DescriptorWords:
    values = {n: int.from_bytes(data[at : at + WIDTHS[n]], "little") for n, at in layout_of(fetch).items()}
    return DescriptorWords(place, **values)


def layout_of(fetch: int) -> Mapping[str, int]:
    if fetch not in LAYOUTS:
        raise InputError(
            f"descriptors on a fetch bus of {fetch} bits", None, "64, 128 or 256; 32 has no consistent order"
        )
    return LAYOUTS[fetch]


def flags_of(request: Request, *, irq: bool = False, axi_id: int = 0) -> int:
    """The flags of a 1D request. Raises InputError for what they cannot say."""
    if request.src_protocol != AXI or request.dst_protocol != AXI:
        raise InputError("desc_64 is wired to AXI on both sides", None, "use another front-end")
    if request.src_reduce_len != request.dst_reduce_len or request.src_max_llen or request.dst_max_llen:
        raise InputError(
            "desc_64 knows no burst limit but one word, for both sides", None, "reduce_len on both, max_llen 0"
        )
    reduced = request.src_reduce_len
    return (
        int(irq) | LEAST_FLAGS | int(request.decouple_rw) << 5 | int(request.decouple_aw) << 6 | int(reduced) << 7
        | axi_id << 16
    )  # fmt: skip


def request_of(word: DescriptorWords) -> Request:
    f = word.flags
    reduced = bool(f & 0x80)
    return Request(word.src, word.dest, word.length, AXI, AXI, bool(f & 0x20), bool(f & 0x40), reduced, 0, reduced, 0)


def write(told: Sequence[ToldDescriptor], *, head: int = 0x8000, fetch: int = 256) -> str:
    """A chain of 1D descriptors, one behind the other from `head` on; the last one raises the interrupt."""
    layout_of(fetch)
    if head % SIZE:
        raise InputError(f"descriptors at 0x{head:x}", None, "a multiple of 32")
    if not told:
        raise InputError("an empty chain", None, "at least one descriptor")
    lines = ["desc64", f"fetch = {fetch}", f"head = 0x{head:x}"]
    for number, one in enumerate(told):
        d, last = one.descriptor, number == len(told) - 1
        if d.dims:
            raise InputError("desc_64 has 1D descriptors", None, "write each 1D transfer as one of its own")
        place = head + SIZE * number
        for name, value, width in (
            ("length", d.request.length, 32),
            ("src", d.request.src, 64),
            ("dest", d.request.dst, 64),
        ):
            if not 0 <= value < (1 << width):
                raise InputError(f"{name} is {value}", None, f"it has {width} bits")
        word = DescriptorWords(
            place,
            d.request.length,
            flags_of(d.request, irq=last),
            END if last else place + SIZE,
            d.request.src,
            d.request.dst,
        )
        data = packed(word, fetch)
        shown = " ".join(f"{int.from_bytes(data[i : i + 4], 'little'):08x}" for i in range(0, SIZE, 4))
        lines.append(f"0x{place:x}: {shown}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class _Cell:
    """A 32-bit word of memory and where it is written."""

    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of addresses by their first, with the furthest end so far."""

    ranges: tuple[tuple[int, int], ...]
    furthest: tuple[int, ...]

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> Ranges:
        ordered = tuple(sorted(ranges))
        return cls(ordered, tuple(accumulate((end for _, end in ordered), max)))

    def shared(self, low: int, high: int, but: tuple[int, int] | None = None) -> int:
        """The most bytes that one range has in common with `low` to `high`."""
        at, most = bisect_left(self.ranges, (high, 0)) - 1, 0
        while at >= 0 and self.furthest[at] > low:
            if self.ranges[at] != but:
                most = max(most, min(high, self.ranges[at][1]) - max(low, self.ranges[at][0]))
            at -= 1
        return most


@dataclass(frozen=True)
class _Chain:
    """The descriptors of all heads; `again` is where chains come back to; `torn` which descriptors lead to none.
    Software waits in front of those in `waits`; a move is `promised` what its source held before the first launch.
    """

    words: tuple[DescriptorWords, ...]
    again: frozenset[int]
    torn: frozenset[int]
    waits: tuple[int, ...]
    promised: bool

    @cached_property
    def _near(self) -> Neighbours:
        return Neighbours.of(self.words)

    def values(self, number: int) -> dict[str, int]:
        """The ports of one descriptor. What is launched behind a wait finds it complete; what is complete before it is
        launched has written its destinations, and reads no more: its mark is then data like any other, but not what a
        source held before.
        """
        word = self.words[number]
        again, ends = word.place in self.again, number not in self.torn
        found = link_values(word, self._near, again=again, ends=ends)
        if not self.waits or not (found["clobbered"] or found["sourced"]):
            return found
        begin = max((at for at in self.waits if at <= number), default=0)
        end = min((at for at in self.waits if at > number), default=len(self.words))
        read = self.words[begin:] if self.promised else self.words[begin:end]
        near = replace(Neighbours.of(self.words[:end]), sources=Neighbours.of(read).sources)
        return link_values(word, replace(near, places=self._near.places), again=again, ends=ends)


def read(
    text: str, source: Source, offset: int, begins: int = 0, fetch: int = 0, *, promised: bool = False
) -> Image:  # fmt: skip
    """The chain of an image, in order, with a fact for each of its descriptors. Raises InputError.

    `begins` is where the text of the form begins in `source`; `offset` is where the image does. `fetch` is the width of
    the engine's bus, where somebody says it; `promised`: a move is promised of the text.
    """
    lines = list(lines_of(source, offset, text))
    settings: dict[str, int] = {}
    memory: dict[int, _Cell] = {}
    starts: list[tuple[str, int, Line]] = []
    for line in lines:
        word = line.words[0][0].lower()
        if word == "fetch":
            line.just(2, "fetch = 256")
            if word in settings:
                line.refuse("`fetch` is given twice", "keep one of them", 0)
            settings[word] = line.number(1, word)
        elif word in ("head", "poll"):
            line.just(2, f"{word} = 0x8000")
            starts.append((word, line.number(1, word), line))
        elif word == "wait":
            line.just(1, "wait: until all that is launched is complete")
            starts.append((word, 0, line))
        else:
            _place_words(line, memory)
    if not any(word == "head" for word, _, _ in starts):
        raise InputError("the head of the chain is missing", lines[-1].span if lines else None, "head = 0x8000")
    fetch = settings.get("fetch", fetch)
    if "fetch" not in settings and not fetch:
        first = next(line for word, _, line in starts if word == "head")
        first.refuse(
            "the width of the fetch bus is missing", "fetch = 64, 128 or 256: the order of the words depends on it"
        )
    layout_of(fetch)
    chain = replace(_launched(starts, memory, fetch), promised=promised)
    told = []
    for one in chain.words:
        cells = [memory[one.place + 4 * i] for i in range(SIZE // 4)]
        parts = _parts(one.place, cells, fetch, begins)
        span = cells[0].span.to(cells[-1].span)
        request = request_of(one)
        told.append(ToldDescriptor(Descriptor(request), request_options(request), span, parts))
    facts = [fact for number, each in enumerate(told) for fact in _facts(chain, number, each)]
    reached = {one.place + 4 * i for one in chain.words for i in range(SIZE // 4)}
    idle = [(at, cell) for at, cell in sorted(memory.items()) if at not in reached]
    problems = [
        (f"the words from 0x{at:x} on are in no descriptor of the chain", cell.span, "leave them out, or link them")
        for at, cell in idle[:1]
    ]
    return Image(tuple(told), tuple(facts), problems=tuple(problems), fetch=fetch, waits=chain.waits)


def _launched(starts: Sequence[tuple[str, int, Line]], memory: Mapping[int, _Cell], fetch: int) -> _Chain:
    """All chains in the order of their launches, and in front of which of their descriptors software waits. Raises
    InputError for a descriptor that is launched again, and a mark that others come after.
    """
    words: list[DescriptorWords] = []
    waits: list[int] = []
    again: list[int] = []
    open_ends: list[int] = []
    for word, place, line in starts:
        if word != "head":
            if word == "poll" and (not words or words[-1].place != place):
                line.refuse(
                    f"the descriptor at 0x{place:x} is not the last one that is launched before",
                    "poll the last descriptor of the chain before, or `wait`", 1,
                )  # fmt: skip
            waits.append(len(words))
            continue
        own = _follow(place, memory, fetch)
        met = next((one.place for one in own.words if any(other.place == one.place for other in words)), None)
        if met is not None:
            line.refuse(
                f"the descriptor at 0x{met:x} is launched again: when it is complete, its first word is overwritten",
                "write it at another place", 1,
            )  # fmt: skip
        words += own.words
        again += [own.again] if own.again is not None else []
        open_ends += [] if own.ends else [len(words) - 1]
    return _Chain(tuple(words), frozenset(again), frozenset(open_ends), tuple(waits), promised=False)


_HEX = re.compile(r"(0[xX])?[0-9a-fA-F]{1,8}")


def _place_words(line: Line, memory: dict[int, _Cell]) -> None:
    place = line.number(0, "the address")
    if place % 4 or not 0 <= place < 1 << 64:
        line.refuse(f"words at 0x{place:x}", "a multiple of 4, below 2^64", 0)
    for number, (text, span) in enumerate(line.words[1:]):
        if not _HEX.fullmatch(text):
            line.refuse(f"`{text}` is no word of 32 bits", "eight hexadecimal digits", number + 1)
        at = place + 4 * number
        if at in memory:
            line.refuse(f"the word at 0x{at:x} is written twice", "a descriptor has eight words", number + 1)
        memory[at] = _Cell(int(text, 16), span)


@dataclass(frozen=True, slots=True)
class _Followed:
    """The descriptors from one head on; `again` is where it comes back to; `ends` whether it ends well."""

    words: tuple[DescriptorWords, ...]
    again: int | None
    ends: bool


def _follow(head: int, memory: Mapping[int, _Cell], fetch: int) -> _Followed:
    words: list[DescriptorWords] = []
    seen: set[int] = set()
    place = head
    while place != END:
        if place in seen:
            return _Followed(tuple(words), place, True)
        cells = [memory.get(place + 4 * i) for i in range(SIZE // 4)]
        if any(cell is None for cell in cells):
            if not words:
                raise InputError(f"no descriptor at the head, 0x{place:x}", None, "eight words: 0x8000: ... ...")
            return _Followed(tuple(words), None, False)
        data = b"".join(cell.value.to_bytes(4, "little") for cell in cells if cell is not None)
        words.append(unpacked(place, data, fetch))
        seen.add(place)
        place = words[-1].next
    if not words:
        raise InputError("the head is the end of the chain", None, "head = 0x8000")
    return _Followed(tuple(words), None, True)


_AS_PART = {"dest": "dst"}


def _parts(place: int, cells: Sequence[_Cell], fetch: int, begins: int) -> tuple[Part, ...]:
    """The words of a descriptor as parts of a command."""
    out = []
    for name, at in layout_of(fetch).items():
        for half in range(WIDTHS[name] // 4):
            cell = cells[at // 4 + half]
            where = f"0x{place + at + 4 * half:x} ({name}{', high half' if half else ''})"
            span = cell.span
            out.append(
                Part(_AS_PART.get(name, name), where, cell.value, 32, span.start - begins, span.end - begins,
                     32 * half, span)
            )  # fmt: skip
    return tuple(out)


KNOWN_FLAGS = 0x00FF_FFFF
"""Bits 31:24 mean nothing to v0.7.0."""


@dataclass(frozen=True)
class Neighbours:
    """What lies around descriptors in memory: other descriptors, destinations, sources."""

    places: Ranges = Ranges((), ())
    dests: Ranges = Ranges((), ())
    sources: Ranges = Ranges((), ())

    @classmethod
    def of(cls, words: Sequence[DescriptorWords]) -> Neighbours:
        return cls(
            Ranges.of((w.place, w.place + SIZE) for w in words), Ranges.of((w.dest, w.dest + w.length) for w in words),
            Ranges.of((w.src, w.src + w.length) for w in words),
        )  # fmt: skip


def link_values(word: DescriptorWords, near: Neighbours, *, again: bool = False, ends: bool = True) -> dict[str, int]:
    """The ports of scope `chain` of one descriptor; `again`: the chain comes back to it."""
    low, high = word.place, word.place + SIZE
    return {
        "place": word.place,
        "again": int(again),
        "crowded": near.places.shared(low, high, but=(low, high)),
        "clobbered": near.dests.shared(low, high),
        "sourced": near.sources.shared(low, high),
        "src_burst": bits(word.flags, 2, 1),
        "dst_burst": bits(word.flags, 4, 3),
        "length": word.length,
        "ends": int(ends),
    }


def _facts(chain: _Chain, number: int, told: ToldDescriptor) -> Iterator[Derived]:
    word = chain.words[number]
    spans = part_spans(told.words)
    by_port = {
        "clobbered": "dst", "sourced": "src", "src_burst": "flags", "dst_burst": "flags", "length": "length",
        "ends": "next",
    }  # fmt: skip
    placed = tuple((port, span) for port, part in by_port.items() if (span := spans.get(part)) is not None)
    where = f"descriptor {number} at 0x{word.place:x}"
    yield Derived("chain", chain.values(number), where, "", placed)
    flags = told.word("flags")
    if flags is not None and flags.span is not None:
        yield reserved(flags.value, KNOWN_FLAGS, f"flags of {where}", flags.span)
