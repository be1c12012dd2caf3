"""One side of a command as the memory sees it: a nest of packets, the windows they touch, and where they fall.

Knows: bases, counts and strides in bytes; residues of addresses; digit-by-digit counting of XORed address bits.
Does not know: machines, constants, time.
Law: every count is exact and its price grows with the number of loops and of address bits, never with the trip counts;
`spread` answers None where its table of carries would grow beyond `STATES`.

Source: "DMA Engine" (Packet size and internal DMA requests), "Memory Performance" (Misaligned Access),
docs/machines/rngd.md 3.4.

Relied on (proofs/): packet-split-count, windows-aligned, windows-touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import gcd, prod

from dmaverify.errors import InputError
from dmaverify.program.command import Command, Port, coalesce
from dmaverify.values import dataclass, replace

STATES = 1_000
"""Most carries followed at once: beyond it an exact count would cost more than the plan is worth."""


@dataclass(frozen=True)
class PacketNest:
    """Packets of `size` bytes at `base + sum(counter * stride)`; loops outer to inner, strides >= 0 (see `flipped`).

    `flipped` marks the loops that the command walks backwards. They are stored forwards from their lowest address,
    which visits the same addresses; where order matters the counter runs from the top.
    """

    base: int
    loops: tuple[tuple[int, int], ...]
    size: int
    flipped: tuple[bool, ...] = ()

    @property
    def packets(self) -> int:
        return prod(count for count, _ in self.loops)

    @property
    def last(self) -> int:
        """The last byte of all, exclusive."""
        return self.base + sum((count - 1) * stride for count, stride in self.loops) + self.size

    @cached_property
    def linear(self) -> tuple[int, tuple[int, ...]] | None:
        """(offset, vectors): address = offset XOR the vectors of the counter's set bits, innermost bit first; or None.

        It exists where counts are powers of two and no addition of base and strides carries.
        """
        used, offset, vectors = self.base, self.base, list[int]()
        for (count, stride), flip in zip(reversed(self.loops), reversed(self.flipped), strict=True):
            if count & (count - 1):
                return None
            for bit in range(count.bit_length() - 1):
                vector = stride << bit
                if vector & used:
                    return None
                used |= vector
                offset ^= vector if flip else 0
                vectors.append(vector)
        return offset, tuple(vectors)

    def with_inner(self, count: int, stride: int, size: int) -> PacketNest:
        """The same bytes as `count` packets of `size` bytes per packet."""
        return replace(self, loops=(*self.loops, (count, stride)), flipped=(*self.flipped, False), size=size)


def piece_units(command: Command) -> int:
    """Units moved at once: the packet, or the part of it that is contiguous on both sides."""
    return gcd(command.burst, command.packet)


def nest_of(command: Command, side: str) -> PacketNest:
    """The nest of a side (`read` or `write`), in bytes. Raises InputError where half bytes do not make bytes."""
    port: Port = command.read if side == "read" else command.write
    piece = piece_units(command)
    scale, base, loops, flipped = command.unit_bits, port.base, [], []
    for loop in command.loops:
        if loop.count != 1:
            stride = loop.read if side == "read" else loop.write
            base += (loop.count - 1) * stride if stride < 0 else 0
            loops.append((loop.count, -stride if stride < 0 else stride))
            flipped.append(stride < 0)
    if command.burst > piece:
        loops.append((command.burst // piece, piece))
        flipped.append(False)
    if scale == 8:
        return PacketNest(base, tuple(loops), piece, tuple(flipped))
    numbers = [port.base, piece, *(stride for _, stride in loops)]
    if any(number * scale % 8 for number in numbers):
        raise InputError(
            f"a packet on the {side} side starts or ends on half a byte, which no DMA address can say: it has no cost",
            command.span,
            "4-bit elements lie two to a byte: make packet, strides and base an even number of elements",
        )
    return PacketNest(
        base * scale // 8, tuple((n, s * scale // 8) for n, s in loops), piece * scale // 8, tuple(flipped)
    )


def _loop_residues(count: int, stride: int, modulus: int) -> dict[int, int]:
    period = modulus // gcd(stride, modulus)
    whole, rest = divmod(count, period)
    found = dict[int, int]()
    for index in range(min(count, period)):
        found[index * stride % modulus] = whole + (index < rest)
    return found


def _convolve(left: dict[int, int], right: dict[int, int], modulus: int) -> dict[int, int]:
    """Cyclic convolution; the long ones by multiplying two integers whose digits are the counts."""
    if len(left) * len(right) <= 1024:
        total = dict[int, int]()
        for a, n in left.items():
            for b, m in right.items():
                key = (a + b) % modulus
                total[key] = total.get(key, 0) + n * m
        return total
    width = (sum(left.values()) * sum(right.values())).bit_length() + 1
    packed = sum(n << a * width for a, n in left.items()) * sum(m << b * width for b, m in right.items())
    packed = (packed & ((1 << modulus * width) - 1)) + (packed >> modulus * width)
    mask = (1 << width) - 1
    digits = ((index, packed >> index * width & mask) for index in range(modulus))
    return {index: count for index, count in digits if count}


def residues(nest: PacketNest, modulus: int) -> dict[int, int]:
    """How many packets start at each address modulo `modulus`."""
    found, factor = {nest.base % modulus: 1}, 1
    for count, stride in nest.loops:
        if stride % modulus == 0:
            factor *= count
        else:
            found = _convolve(found, _loop_residues(count, stride, modulus), modulus)
    return {offset: count * factor for offset, count in found.items()}


def touched(offset: int, size: int, window: int) -> int:
    """Aligned windows touched by `size` bytes that start `offset` bytes into one."""
    return (offset % window + size - 1) // window + 1


def filled(offset: int, size: int, window: int) -> int:
    """Aligned windows that those bytes fill."""
    offset %= window
    return max(0, (offset + size) // window - (offset + window - 1) // window)


BLOCK = 64
"""Bytes of one HBM command: a window takes four ("Memory Performance", Peak Bandwidth)."""


def ragged_ends(offset: int, size: int, window: int) -> int:
    """Windows of a packet of which it covers part of a 64-byte block: 0, 1 or 2, at its ends."""
    end = offset + size
    if offset // window == (end - 1) // window:
        return int(offset % BLOCK > 0 or end % BLOCK > 0)
    return int(offset % BLOCK > 0) + int(end % BLOCK > 0)


@dataclass(frozen=True, slots=True)
class Windows:
    """What the packets of a nest touch: windows, those of them touched in part (ragged: not in whole blocks of 64
    bytes), the fewest of a packet, packets that cross one boundary more than they must, and how many start offsets
    occur.
    """

    packets: int
    touched: int
    partial: int
    ragged: int
    least: int
    crossing: int
    offsets: int


def windows(nest: PacketNest, window: int) -> Windows:
    """Exact counts from the distribution of start addresses modulo the window, for which the order does not matter."""
    loops = sorted((count, step % window) for count, step in nest.loops)
    whole = prod(count for count, step in loops if not step)
    within = tuple(loop for loop in loops if loop[1])
    return _windows(PacketNest(nest.base % window, (*within, (whole, 0)), nest.size), window)


@lru_cache(maxsize=4096)
def _windows(nest: PacketNest, window: int) -> Windows:
    starts = residues(nest, window)
    total = partial = ragged = crossing = 0
    for offset, count in starts.items():
        many = touched(offset, nest.size, window)
        total += many * count
        partial += (many - filled(offset, nest.size, window)) * count
        ragged += ragged_ends(offset, nest.size, window) * count
        crossing += count if many > touched(0, nest.size, window) else 0
    least = min(touched(offset, nest.size, window) for offset in starts)
    return Windows(nest.packets, total, partial, ragged, least, crossing, len(starts))


@lru_cache(maxsize=4096)
def as_requests(nest: PacketNest, window: int) -> PacketNest | None:
    """The nest whose packets are the requests, one window each; None where packets differ in how many they touch."""
    if nest.size % window == 0 and nest.base % window == 0 and all(s % window == 0 for _, s in nest.loops):
        many = nest.size // window
        return nest if many == 1 else nest.with_inner(many, window, window)
    return nest if windows(nest, window).touched == nest.packets else None


def image(vector: int, masks: Sequence[int]) -> int:
    """The number whose bit i is the parity of the vector under mask i."""
    value, low = 0, 0
    for part in _byte_images(tuple(masks)):
        value ^= part[vector >> low & 255]
        low += 8
    return value


def spread(nest: PacketNest, masks: Sequence[int], window: int) -> list[int] | None:
    """How many windows fall on each value of the masks' parities; every window of every packet counts.

    Bits below the window must not occur in the masks. None where the exact count would need too large a table.
    """
    requests = as_requests(nest, window)
    if requests is not None and (form := requests.linear) is not None:
        return _coset_spread(form, masks)
    plain = requests or nest
    if windows(plain, window).touched <= FEW:
        return _counted_spread(plain, tuple(masks), window)
    counts = _digit_spread(plain, tuple(masks), window)
    return list(counts) if counts is not None else None


FEW = 256
"""Windows up to which counting them one by one is quicker than counting digits."""


def _counted_spread(nest: PacketNest, masks: tuple[int, ...], window: int) -> list[int]:
    """The same by looking at every window of a small nest."""
    low, counts = window.bit_length() - 1, [0] * (1 << len(masks))
    numbers, shifted = _window_numbers(nest, low), tuple(mask >> low for mask in masks)
    last = _byte_images(shifted)[0]
    rest = {high: image(high << 8, shifted) for high in {number >> 8 for number in numbers}}
    for number in numbers:
        counts[last[number & 255] ^ rest[number >> 8]] += 1
    return counts


def _window_numbers(nest: PacketNest, low: int) -> list[int]:
    """Every window of every packet, numbered; 2 to the `low` bytes each."""
    whole = nest.size == 1 << low and not any(n % nest.size for n in (nest.base, *(step for _, step in nest.loops)))
    unit = low if whole else 0
    starts, last = [nest.base >> unit], nest.size - 1
    for count, stride in nest.loops:
        steps = [index * (stride >> unit) for index in range(count)]
        starts = [start + step for start in starts for step in steps]
    return starts if whole else [n for start in starts for n in range(start >> low, (start + last >> low) + 1)]


@lru_cache(maxsize=64)
def _byte_images(masks: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """What each byte of an address, lowest first, adds to its image, by the value of the byte."""
    parts = []
    for low in range(0, max(mask.bit_length() for mask in masks), 8):
        part = [0]
        for bit in range(low, low + 8):
            step = sum((mask >> bit & 1) << index for index, mask in enumerate(masks))
            part += [value ^ step for value in part]
        parts.append(tuple(part))
    return tuple(parts)


def _coset_spread(form: tuple[int, tuple[int, ...]], masks: Sequence[int]) -> list[int]:
    """Powers of two: the values are a coset of the span of the vectors' images, each equally often."""
    offset, vectors = form
    values = [image(offset, masks)]
    for vector in vectors:
        step = image(vector, masks)
        if step and values[0] ^ step not in values:
            values += [value ^ step for value in values]
    counts = [0] * (1 << len(masks))
    for value in values:
        counts[value] = (1 << len(vectors)) // len(values)
    return counts


@lru_cache(maxsize=4096)
def _digit_spread(nest: PacketNest, masks: tuple[int, ...], window: int) -> tuple[int, ...] | None:
    """Any counts and strides: walk the address bits from the lowest, carrying what the counters' low digits have
    added.

    A state is (carry, whether the packet crosses one window more, remaining trip counts of the loops under way). Its
    counts, one per value of the masks, are lanes of one integer, so that adding and XORing them are single
    operations.
    """
    low = window.bit_length() - 1
    many = touched(0, nest.size, window)
    limit = window * many - nest.size
    loops = coalesce(sorted(nest.loops, key=lambda loop: -loop[1]))
    waiting = sorted(((s & -s).bit_length() - 1, s >> ((s & -s).bit_length() - 1), n) for n, s in loops if s)
    width = (nest.packets * (many + 1)).bit_length()
    lanes, steps = 1 << len(masks), tuple[int, ...]()
    states: dict[State, int] = {(nest.base, 0, ()): prod(count for count, stride in nest.loops if stride == 0)}
    for level in range(max(mask.bit_length() for mask in masks)):
        while waiting and waiting[0][0] <= level:
            _, odd, count = waiting.pop(0)
            steps = (*steps, odd)
            states = {(carry, more, (*left, count)): seen for (carry, more, left), seen in states.items()}
        if level == low:
            steps = (*steps, 1)
            states = {(carry, 0, (*left, many + more)): seen for (carry, more, left), seen in states.items()}
        if level > low and not waiting and all(n == 1 for _, _, left in states for n in left):
            states = _carried(states, level, masks, width)
            break
        flip = sum((mask >> level & 1) << index for index, mask in enumerate(masks))
        bound = (limit >> level & 1) if level < low else -1
        states = _next_level(states, steps, _Swap.of(flip, width, lanes), bound)
        if len(states) > STATES:
            return None
    beyond = prod(count for _, _, count in waiting)
    total = sum(seen * prod(left) for (_, _, left), seen in states.items()) * beyond
    return tuple(total >> index * width & ((1 << width) - 1) for index in range(lanes))


State = tuple[int, int, tuple[int, ...]]


def _carried(states: dict[State, int], level: int, masks: tuple[int, ...], width: int) -> dict[State, int]:
    """Where all counters are spent the carry is what is left of the address."""
    found: dict[State, int] = {}
    for (carry, more, left), seen in states.items():
        moved = _Swap.of(image(carry << level, masks), width, 1 << len(masks))(seen)
        found[0, more, left] = found.get((0, more, left), 0) + moved
    return found


@dataclass(frozen=True, slots=True)
class _Swap:
    """Moves every lane to the lane whose number differs in given bits: a shift and a mask per bit."""

    moves: tuple[tuple[int, int], ...]

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(flip: int, width: int, lanes: int) -> _Swap:
        moves = []
        for bit in range(lanes.bit_length() - 1):
            if flip >> bit & 1:
                lane = (1 << width) - 1
                moves.append((sum(lane << i * width for i in range(lanes) if not i >> bit & 1), width << bit))
        return _Swap(tuple(moves))

    def __call__(self, seen: int) -> int:
        for mask, shift in self.moves:
            seen = (seen & mask) << shift | seen >> shift & mask
        return seen


def _next_level(states: dict[State, int], steps: tuple[int, ...], swap: _Swap, bound: int) -> dict[State, int]:
    found: dict[State, int] = {}
    for (carry, more, left), seen in states.items():
        swapped = swap(seen)
        for total, rest in _digits(carry, left, steps):
            bit = total & 1
            over = more if bound < 0 or bit == bound else int(bit > bound)
            key = (total >> 1, over, rest)
            found[key] = found.get(key, 0) + (swapped if bit else seen)
    return found


def _digits(carry: int, left: tuple[int, ...], steps: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
    """Every choice of the next binary digit of each counter: (sum at this bit, remaining trip counts)."""
    choices: list[tuple[int, tuple[int, ...]]] = [(carry, ())]
    for count, step in zip(left, steps, strict=True):
        if count == 1:
            choices = [(total, (*rest, 1)) for total, rest in choices]
        else:
            zero, one = (count + 1) // 2, count // 2
            choices = [c for total, rest in choices for c in ((total, (*rest, zero)), (total + step, (*rest, one)))]
    return choices
