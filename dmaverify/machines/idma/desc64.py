"""desc_64: chains of 32-byte descriptors in memory, read and written.

Knows: the memory order of each fetch width, flags, chains. Does not know: registers, what a move wants.
Law: `read(write(chain)) == chain`; whatever is wrong with a chain (a cycle, a clobbered descriptor) is a fact for the
rules of scope `chain`, not an error of reading, as long as every descriptor that is reached is in the image.

    fetch = 256             bits of the fetch bus: 64, 128 or 256
    head  = 0x8000          what is written to register 0
    0x8000: 00030000 00000000 00010000 00000000 ffffffff ffffffff 00000400 0000000a     32-bit words, little-endian

Source: iDMA paper, 2.1 (Descriptor-based); iDMA v0.7.0, `idma_desc64_reader`, `idma_desc64_synth_pkg`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmaverify.errors import InputError, Source, Span
from dmaverify.machines.idma.engine import AXI, Request
from dmaverify.machines.idma.jobs import request_options
from dmaverify.machines.idma.nd import Descriptor
from dmaverify.machines.idma.text import Image, Line, Told, bits, lines_of
from dmaverify.targets.modules import Derived

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
_WIDTHS = {"length": 4, "flags": 4, "next": 8, "src": 8, "dest": 8}


@dataclass(frozen=True, slots=True)
class Word:
    """One descriptor as it lies in memory."""

    place: int
    length: int
    flags: int
    next: int
    src: int
    dest: int


def packed(word: Word, fetch: int) -> bytes:
    """The 32 bytes of a descriptor for a fetch bus. Raises InputError for an unsupported width."""
    out = bytearray(SIZE)
    for name, at in layout_of(fetch).items():
        out[at : at + _WIDTHS[name]] = getattr(word, name).to_bytes(_WIDTHS[name], "little")
    return bytes(out)


def unpacked(place: int, data: bytes, fetch: int) -> Word:
    values = {n: int.from_bytes(data[at : at + _WIDTHS[n]], "little") for n, at in layout_of(fetch).items()}
    return Word(place, **values)


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


def request_of(word: Word) -> Request:
    f = word.flags
    reduced = bool(f & 0x80)
    return Request(word.src, word.dest, word.length, AXI, AXI, bool(f & 0x20), bool(f & 0x40), reduced, 0, reduced, 0)


def write(told: Sequence[Told], *, head: int = 0x8000, fetch: int = 256) -> str:
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
        word = Word(
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


def read(text: str, source: Source, offset: int) -> Image:
    """The chain of an image, in order, with a fact for each of its descriptors. Raises InputError."""
    lines = list(lines_of(source, offset, text))
    settings: dict[str, int] = {}
    memory: dict[int, tuple[int, Span]] = {}
    for line in lines:
        word = line.words[0][0].lower()
        if word in ("fetch", "head"):
            settings[word] = line.number(1, word)
        else:
            _place_words(line, memory)
    if "head" not in settings:
        raise InputError("the head of the chain is missing", lines[-1].span if lines else None, "head = 0x8000")
    fetch = settings.get("fetch", 256)
    layout_of(fetch)
    words, spans, again, ends = _follow(settings["head"], memory, fetch)
    told = tuple(
        Told(Descriptor(request_of(w)), request_options(request_of(w)), span)
        for w, span in zip(words, spans, strict=True)
    )
    return Image(told, tuple(_fact(w, words, number, again, ends) for number, w in enumerate(words)))


def _place_words(line: Line, memory: dict[int, tuple[int, Span]]) -> None:
    place = line.number(0, "the address")
    if place % 4 or place < 0:
        line.refuse(f"words at 0x{place:x}", "a multiple of 4", 0)
    for number, (text, span) in enumerate(line.words[1:]):
        try:
            value = int(text, 16)
        except ValueError:
            line.refuse(f"`{text}` is no word", "eight hexadecimal digits", number + 1)
        if not 0 <= value <= 0xFFFFFFFF:
            line.refuse(f"`{text}` does not fit 32 bits", "eight hexadecimal digits", number + 1)
        memory[place + 4 * number] = (value, span)


def _follow(
    head: int, memory: Mapping[int, tuple[int, Span]], fetch: int
) -> tuple[list[Word], list[Span], int | None, bool]:
    """The descriptors from the head on, where the chain comes back to (or None), and whether it ends well."""
    words: list[Word] = []
    spans: list[Span] = []
    seen: set[int] = set()
    place = head
    while place != END:
        if place in seen:
            return words, spans, place, True
        cells = [memory.get(place + 4 * i) for i in range(SIZE // 4)]
        if any(cell is None for cell in cells):
            if not words:
                raise InputError(f"no descriptor at the head, 0x{place:x}", None, "eight words: 0x8000: ... ...")
            return words, spans, None, False
        found = [cell for cell in cells if cell is not None]
        data = b"".join(value.to_bytes(4, "little") for value, _ in found)
        words.append(unpacked(place, data, fetch))
        spans.append(found[0][1].to(found[-1][1]))
        seen.add(place)
        place = words[-1].next
    return words, spans, None, True


def _fact(word: Word, words: Sequence[Word], number: int, again: int | None, ends: bool) -> Derived:
    def shared(a: int, b: int, c: int, d: int) -> int:
        return max(0, min(b, d) - max(a, c))

    low, high = word.place, word.place + SIZE
    crowded = max((shared(low, high, w.place, w.place + SIZE) for w in words if w is not word), default=0)
    clobbered = max((shared(low, high, w.dest, w.dest + w.length) for w in words), default=0)
    values = {
        "place": word.place,
        "again": int(again == word.place),
        "crowded": crowded,
        "clobbered": clobbered,
        "src_burst": bits(word.flags, 2, 1),
        "dst_burst": bits(word.flags, 4, 3),
        "length": word.length,
        "ends": int(ends or number < len(words) - 1),
    }
    return Derived("chain", values, f"descriptor {number} at 0x{word.place:x}")
