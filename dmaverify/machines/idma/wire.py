"""What a burst is on the wire: bus address, length field, beats, byte enables.

Knows: the fields of each protocol for a burst of `n` bytes at `a`. Does not know: how a transfer is cut into bursts.
Law: reads fetch whole words; the bytes enabled over all beats of a write are exactly [a, a + n).

Source: iDMA v0.7.0, `idma_legalizer` and `idma_transport_layer`; AMBA AXI, issue H.c, A3.4.
"""

from __future__ import annotations

from dmaverify.machines.idma.engine import AXI, NO_ADDRESS, TILELINK, Backend, bus_limits
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class Wire:
    """`address` as on the bus (0 where the protocol has none), `field` the length field: beats - 1 (AXI), log2 of the
    bytes (TileLink), else 0. `first` and `end` are the enabled bytes: from `first` in the first word to `end` in the
    last (0: the whole word). `size` is log2 of the bytes of a beat.
    """

    address: int
    field: int
    beats: int
    first: int
    end: int
    size: int


def beats_of(address: int, length: int, word: int) -> int:
    """Words that `length` bytes at `address` touch."""
    return -(-((address % word) + length) // word)


def on_the_wire(backend: Backend, protocol: int, address: int, length: int, *, write: bool = False) -> Wire:
    """The fields of one burst. `length` 0 is what a back-end that does not reject it emits.

    The field of a TileLink write of 2048 bytes is 0: its length does not fit the 11 bits of v0.7.0 (measured).
    """
    word, offset = backend.word, address % backend.word
    beats = beats_of(address, length, word)
    bus = 0 if protocol in NO_ADDRESS else address - offset
    field = 0
    if protocol == AXI:
        field = ((length + offset - 1) % (1 << 32) >> backend.offset_bits) % 256
    elif protocol == TILELINK:
        held = length % bus_limits()["tilelink_page_bytes"] if write and not backend.specified else length
        field = max(0, held.bit_length() - 1)
    return Wire(bus, field, beats, offset, (address + length) % word, backend.offset_bits)


def byte_enables(address: int, length: int, word: int) -> list[int]:
    """The mask of each beat of a write, bit i for byte i of the word."""
    offset, beats = address % word, beats_of(address, length, word)
    return [sum(1 << i for i in range(word) if offset <= beat * word + i < offset + length) for beat in range(beats)]
