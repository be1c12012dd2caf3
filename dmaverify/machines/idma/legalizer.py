"""What the transfer legalizer makes of a 1D request: the bursts of both sides.

Knows: windows, coupling, cut points; the steps of TileLink. Does not know: what is on the wire (`wire`), rules, costs.
Law: for page type protocols the cuts of a side are the multiples of its window inside the transfer, so the list is an
arithmetic progression between a head and a tail (proofs/idma-page-*.smt2); a coupled side has the cuts of both. No list
is made step by step but that of TileLink, whose steps depend on each other. A step of no bytes is never repeated: it
ends the list, and `stuck` says where.

Source: iDMA paper, 2.3 (Transfer Legalizer) and Table 3; iDMA v0.7.0, `idma_legalizer`.

Relied on (proofs/): idma-coupled-step, idma-page-count, idma-page-cuts, idma-page-step, idma-partition-step,
idma-tilelink-aligned, idma-tilelink-misaligned, idma-tilelink-stuck, idma-window-beats, idma-window-in-page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dmaverify.machines.idma.engine import (
    AXI,
    TILELINK,
    WITHOUT_BURSTS,
    Backend,
    Request,
    bus_limits,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MOST_LISTED = 1 << 21
"""Bursts of a side up to which a list is made; beyond, they are counted."""


class Cuts(NamedTuple):
    """The burst starts of one side, as offsets into the transfer: 0, then `cuts`, up to `length` (exclusive).

    `cuts` is a `range` wherever the closed form is one progression. `stuck` is the offset at which the legalizer makes
    a step of no bytes, or None.
    """

    base: int
    length: int
    cuts: Sequence[int]
    stuck: int | None = None

    @property
    def bursts(self) -> int:
        return 0 if self.length < 0 else len(self.cuts) + 1


class Bursts(NamedTuple):
    """Both sides of a legalized request; `space` is 2^address_width, at which addresses wrap."""

    read: Cuts
    write: Cuts
    space: int
    coupled: bool

    def pairs(self, side: str) -> list[tuple[int, int]]:
        """(address, bytes) of every burst of `read` or `write`, in order."""
        cuts = self.read if side == "read" else self.write
        starts = [0, *cuts.cuts] if cuts.bursts else []
        ends = [*cuts.cuts, cuts.length] if cuts.bursts else []
        return [((cuts.base + a) % self.space, b - a) for a, b in zip(starts, ends, strict=True)]

    def array(self, side: str) -> NDArray[np.uint64]:
        """The same as rows of an array of unsigned 64 bit numbers."""
        import numpy as np

        cuts = self.read if side == "read" else self.write
        if not cuts.bursts:
            return np.zeros((0, 2), dtype=np.uint64)
        inner: NDArray[np.uint64] = (
            np.arange(cuts.cuts.start, cuts.cuts.stop, cuts.cuts.step, dtype=np.uint64)
            if isinstance(cuts.cuts, range)
            else np.array(cuts.cuts, dtype=np.uint64)
        )
        edges = np.concatenate((np.zeros(1, np.uint64), inner, np.array([cuts.length], np.uint64)))
        address = (edges[:-1] + np.uint64(cuts.base)) & np.uint64(self.space - 1)
        return np.stack((address, np.diff(edges)), axis=1)


def window_bits(backend: Backend, protocol: int, reduce_len: bool, max_llen: int) -> int:
    """log2 of the window that no burst of a page type side crosses."""
    if protocol in WITHOUT_BURSTS:
        return backend.offset_bits
    beats = max_llen if reduce_len else backend.burst_len
    return min(backend.offset_bits + beats, backend.page_bits)


def side_bits(backend: Backend, request: Request) -> tuple[int, int]:
    """log2 of the distance after which a read, and a write, are cut as they are here."""
    read = request.src_protocol, request.src_reduce_len, request.src_max_llen
    write = request.dst_protocol, request.dst_reduce_len, request.dst_max_llen
    bits = [tilelink_page_bits(backend) if own[0] == TILELINK else window_bits(backend, *own) for own in (read, write)]
    return max(backend.offset_bits, bits[0]), max(backend.offset_bits, bits[1])


def is_coupled(request: Request) -> bool:
    """Whether read and write bursts pair one to one: AXI to AXI that nobody decoupled."""
    return request.src_protocol == AXI == request.dst_protocol and not request.decouple_rw and not request.compute


def window_cuts(base: int, length: int, bits: int) -> range:
    """Offsets strictly inside the transfer at which `base` plus offset is a multiple of 2^bits."""
    window = 1 << bits
    return range(window - (base & (window - 1)), length, window)


def window_count(base: int, length: int, bits: int) -> int:
    """How many bursts a decoupled side of page type has; length above 0."""
    window = 1 << bits
    return ((base & (window - 1)) + length + window - 1) >> bits


def legalize(backend: Backend, request: Request) -> Bursts:
    """The bursts of both sides. A request without length makes none, or one of 0 bytes a side (`reject_zero`).

    The request must be one that `engine.refusal` does not refuse.
    """
    space = 1 << backend.address_width
    length = request.length
    coupled = is_coupled(request)
    if length and not backend.legalizer:
        return Bursts(Cuts(request.src, length, ()), Cuts(request.dst, length, ()), space, coupled)
    if length == 0:
        empty = -1 if backend.reject_zero else 0
        return Bursts(Cuts(request.src, empty, ()), Cuts(request.dst, empty, ()), space, coupled)
    read = _side(
        backend, request.src, length, request.src_protocol, request.src_reduce_len, request.src_max_llen, False
    )
    write = _side(
        backend, request.dst, length, request.dst_protocol, request.dst_reduce_len, request.dst_max_llen, True
    )
    if coupled:
        both = _union(read.cuts, write.cuts)
        read, write = Cuts(request.src, length, both), Cuts(request.dst, length, both)
    return Bursts(read, write, space, coupled)


def burst_count(backend: Backend, request: Request) -> tuple[int, int]:
    """How many bursts each side has, without making them; for TileLink at least as many. Length above 0."""
    if not backend.legalizer:
        return 1, 1
    sides = []
    for base, protocol, reduced, llen in (
        (request.src, request.src_protocol, request.src_reduce_len, request.src_max_llen),
        (request.dst, request.dst_protocol, request.dst_reduce_len, request.dst_max_llen),
    ):
        tilelink = protocol == TILELINK
        own = (
            bus_limits()["tilelink_page_bytes"].bit_length() - 1
            if tilelink
            else window_bits(backend, protocol, reduced, llen)
        )
        sides.append((base, own))
    read, write = (window_count(base, request.length, bits) for base, bits in sides)
    if not is_coupled(request):
        return read, write
    (src, a), (dst, b) = sides
    same = (src - dst) % (1 << min(a, b)) == 0  # then every cut of the larger window is one of the smaller
    both = max(read, write) if same else read + write - 1
    return both, both


def _union(a: Sequence[int], b: Sequence[int]) -> Sequence[int]:
    if not b or a == b:
        return a
    if not a:
        return b
    return sorted({*a, *b})


def _side(
    backend: Backend, base: int, length: int, protocol: int, reduce_len: bool, max_llen: int, write: bool
) -> Cuts:
    if protocol == TILELINK:
        return _tilelink(backend, base, length, write)
    return Cuts(base, length, window_cuts(base, length, window_bits(backend, protocol, reduce_len, max_llen)))


MOST_ALIKE = 16
"""Cuts of one progression that are looked at one by one."""

# ---------------------------------------------------------------- TileLink


def tilelink_page_bits(backend: Backend) -> int:
    """log2 of the page that the legalizer of a variant with TileLink looks at: the largest of all its protocols."""
    most = bus_limits()
    sizes = {
        AXI: min(most["axi_beats_max"] * backend.word, 1 << backend.page_bits),
        TILELINK: most["tilelink_page_bytes"],
    }
    largest = max(sizes.get(code, backend.word) for code in backend.variant.every)
    return (largest - 1).bit_length()


def _tilelink_most(backend: Backend, write: bool) -> int:
    if backend.tilelink_ul:
        return backend.word
    most, page = bus_limits()["tilelink_write_beats"], bus_limits()["tilelink_page_bytes"]
    return min(most * backend.word, page) if write else page


def _step(address: int, rest: int, bits: int, word: int, most: int) -> int:
    room = (bus_limits()["tilelink_page_bytes"] - (address & ((1 << bits) - 1))) % (2 << bits) if rest >> bits else rest
    offset = address % word
    if offset:
        return _power_below(min(room, word - offset))
    return min(_power_below(room), most)


def _specified_step(address: int, rest: int, most: int) -> int:
    """The longest access that TileLink allows: a power of two of which its address is a multiple."""
    aligned = address & -address or most
    return min(_power_below(rest), aligned, most)


def _power_below(number: int) -> int:
    return 1 << (number.bit_length() - 1) if number else 0


def _tilelink(backend: Backend, base: int, length: int, write: bool) -> Cuts:
    """Steps until nothing is left. Addresses wrap at 2^address_width, which every page divides."""
    cuts: list[int] = []
    for _, at, step in _steps(backend, base, length, write):
        if step == 0:
            return Cuts(base, at, tuple(cuts[:-1]), at) if at else Cuts(base, -1, (), 0)
        if at + step >= length:
            return Cuts(base, length, tuple(cuts))
        cuts.append(at + step)
    raise AssertionError(length)


def _steps(
    backend: Backend, base: int, length: int, write: bool, *, rounds: bool = False
) -> Iterator[tuple[int, int, int]]:  # fmt: skip
    """(number, offset, bytes) of every burst; one of no bytes is the last. With `rounds`, of the bursts that come back
    at the same place of a page, as long as more than a page is left, two rounds stand for all: a step depends on the
    address within two pages, and on what is left where that is less than a page.
    """
    bits, word, most = tilelink_page_bits(backend), backend.word, _tilelink_most(backend, write)
    pages = 2 << bits
    enough = 2 * max(pages, most)
    seen: dict[int, tuple[int, int]] = {}
    at, number, repeated = 0, 0, False
    while at < length:
        place, left = (base + at) % pages, length - at
        if not rounds or left < enough:
            pass
        elif place not in seen:
            seen |= {} if repeated else {place: (at, number)}
        elif not repeated:
            seen, repeated = {place: (at, number)}, True
        else:
            first, many = seen[place]
            skipped = (left - enough) // (at - first)
            at, number, rounds = at + skipped * (at - first), number + skipped * (number - many), False
        if backend.specified:
            step = _specified_step(base + at, length - at, most)
        else:
            step = _step(base + at, length - at, bits, word, most)
        yield number, at, step
        if step == 0:
            return
        at, number = at + step, number + 1


def shown_bursts(backend: Backend, request: Request, side: str) -> list[tuple[int, int, int]]:
    """(number, offset, bytes) of bursts of one side that stand for all of them: the others lie at the same places of
    two pages, and have as many bytes. One of no bytes is where a list stops. Length above 0, sides not coupled.
    """
    write = side == "write"
    base, protocol = (request.dst, request.dst_protocol) if write else (request.src, request.src_protocol)
    if backend.legalizer and protocol == TILELINK:
        return list(_steps(backend, base, request.length, write, rounds=True))
    found = legalize(backend, request)
    cuts = found.write if write else found.read
    inner, last = cuts.cuts, len(cuts.cuts)
    numbers = range(last + 1) if last < MOST_ALIKE else (0, 1, 2, last - 1, last)  # between them the same window again
    edges = [(n, inner[n - 1] if n else 0, inner[n] if n < last else cuts.length) for n in numbers]
    return [(n, low, high - low) for n, low, high in edges]
