"""Bank starvation: the exact longest run of accesses to one bank, and what concurrent runs add up to.

Knows: nests of accesses, banks as residues of addresses, runs and their sums, the arithmetic of the limit, padded rows.
Does not know: machines (banks and limit come from data), plan files, solvers, how a verdict is shown.
Law: a run of a bank is a maximal stretch of consecutive accesses that touch it, an access touches every bank that one
of its bytes lies in, and a loop of stride 0 counts each time. Nothing is enumerated: the cost grows with the number
of loops and of residues, not with counts. Lengths are exact, for an unknown base over all bases of the stated
alignment.

A sub-nest is summarised per residue of its first address, as a node of a segment tree: prefix run, suffix run, best
run. The summary for bank b is that for bank 0 at a residue b bank widths lower, so bank 0 is enough. The copies that
a loop makes repeat their residues after `period / gcd(stride, period)` iterations: powers of two up to there are
joined, whole periods are repeated in closed form (proofs/starvation-join, starvation-repeat).

Source: "Memory Performance" (Bank Starvation; Address Space in a Slice), docs/machines/rngd.md 2.1 and 6.

Relied on (proofs/): starvation-join, starvation-repeat, starvation-turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import NamedTuple

from dmaverify.program.command import Sequencer, counters_at
from dmaverify.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Banks:
    """`count` banks of `width_bytes` each; address a lies in bank `(a // width_bytes) % count`."""

    count: int
    width_bytes: int

    def __post_init__(self) -> None:
        if self.count < 1 or self.width_bytes < 1:
            raise ValueError("banks need a count and a width of at least 1")

    @property
    def period_bytes(self) -> int:
        """Addresses matter modulo this."""
        return self.count * self.width_bytes

    def touched(self, address: int, bytes_: int) -> frozenset[int]:
        """The banks of an access: ceil(bytes / width) if it is aligned, perhaps one more if it is not."""
        first, last = address // self.width_bytes, (address + bytes_ - 1) // self.width_bytes
        return frozenset(bank % self.count for bank in range(first, min(last, first + self.count - 1) + 1))


@dataclass(frozen=True, slots=True)
class AccessNest:
    """Accesses of `width_bytes` each, one for every counter in the box of `loops` (count, stride in bytes), outer to
    inner.

    `base` None is an unknown address, a multiple of `align_bytes`. Raises ValueError for a count or width below 1.
    """

    loops: tuple[tuple[int, int], ...]
    width_bytes: int
    base: int | None = None
    align_bytes: int = 1

    def __post_init__(self) -> None:
        if self.width_bytes < 1 or self.align_bytes < 1:
            raise ValueError("an access has at least one byte, an alignment is at least 1")
        if any(count < 1 for count, _ in self.loops):
            raise ValueError("a loop runs at least once")

    @property
    def accesses(self) -> int:
        return prod(count for count, _ in self.loops)

    def bases(self, banks: Banks) -> tuple[int, ...]:
        """The base, or every base modulo the period that the alignment allows."""
        if self.base is not None:
            return (self.base,)
        return tuple(range(0, banks.period_bytes, gcd(self.align_bytes, banks.period_bytes)))

    def counters(self, position: int) -> tuple[int, ...]:
        """Counters, outer to inner, of the access number `position` (from 0)."""
        return counters_at([count for count, _ in self.loops], position)

    def position(self, counters: Sequence[int]) -> int:
        """The inverse of `counters`."""
        total = 0
        for (count, _), counter in zip(self.loops, counters, strict=True):
            total = total * count + counter
        return total

    def address(self, counters: Sequence[int], base: int) -> int:
        return base + sum(counter * stride for (_, stride), counter in zip(self.loops, counters, strict=True))


def nest_of(sequencer: Sequencer, access_bytes: int, base: int | None = None, align_bytes: int = 1) -> AccessNest:
    """The accesses that a memory sequencer (units of bytes) makes, `access_bytes` at a time; its own base wins.

    The innermost entry is cut into accesses where its stride is 1; with stride 0 an access delivers `access_bytes`
    copies of one byte; with another stride every byte is an access of its own ("Sequencer", Configuration;
    docs/machines/rngd.md
    4.3). Raises ValueError where the access does not divide the packet, or the packet the innermost entry.
    """
    *outer, inner = sequencer.entries
    if access_bytes < 1 or sequencer.packet % access_bytes or inner.count % sequencer.packet:
        raise ValueError(f"accesses of {access_bytes} do not fit packets of {sequencer.packet} in {inner.count}")
    if inner.stride not in (0, 1) and access_bytes != 1:
        raise ValueError(f"an access of {access_bytes} bytes needs an innermost stride of 0 or 1, not {inner.stride}")
    loops = tuple((entry.count, entry.stride) for entry in outer)
    width = access_bytes if inner.stride == 1 else 1
    last = (inner.count // access_bytes, inner.stride * access_bytes)
    known = base if sequencer.base is None else sequencer.base
    return AccessNest((*loops, last), width, known, align_bytes)


# ---------------------------------------------------------------- summaries


@dataclass(frozen=True, slots=True)
class RunLevel:
    """Summaries for bank 0 of a sub-nest of `length` accesses; index i is the first address `offset + unit * i`."""

    length: int
    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    best: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Summaries:
    """`levels[k]` speaks of the innermost k loops, `levels[0]` of one access. Residues `offset + unit * i`, i <
    `size`."""

    unit: int
    offset: int
    size: int
    levels: tuple[RunLevel, ...]


class _Table(NamedTuple):
    """As Level; `key` is the best run and its earliest place in one number, so that the greatest key is the answer."""

    length: int
    prefix: list[int]
    suffix: list[int]
    key: list[int]


class _Keys(NamedTuple):
    """key = best * 2^bits + (mask - place): longer first, earlier first. Places fit into `bits`."""

    bits: int
    mask: int


def _grid(nest: AccessNest, banks: Banks) -> tuple[int, int, int]:
    """unit, offset, size: the residues that the first address of any sub-nest can have, seen from any bank."""
    unit = gcd(banks.width_bytes, banks.period_bytes, *(stride for _, stride in nest.loops))
    if nest.base is None:
        unit, offset = gcd(unit, nest.align_bytes), 0
    else:
        offset = nest.base % unit
    return unit, offset, banks.period_bytes // unit


def _access(nest: AccessNest, banks: Banks, keys: _Keys, grid: tuple[int, int, int]) -> _Table:
    unit, offset, size = grid
    residues = range(offset, offset + unit * size, unit)
    touched = [int(r < banks.width_bytes or r + nest.width_bytes > banks.period_bytes) for r in residues]
    return _Table(1, touched, touched, [(t << keys.bits) + keys.mask for t in touched])


def _turned(values: list[int], shift: int) -> list[int]:
    return values[shift:] + values[:shift]


def _join(a: _Table, b: _Table, shift: int, keys: _Keys) -> _Table:
    """First a, then b, whose first address lies `shift` residues further (proofs/starvation-join)."""
    (n, first, last, best), m = a, b.length
    first_b, last_b = _turned(b.prefix, shift), _turned(b.suffix, shift)
    place, bits = keys.mask - n, keys.bits
    return _Table(
        n + m,
        [x if x < n else n + y for x, y in zip(first, first_b, strict=True)] if n in first else first,
        [y if y < m else m + x for x, y in zip(last, last_b, strict=True)] if m in last_b else last_b,
        [
            p if p >= (q := ((x + y) << bits) + place + x) and p >= s - n else max(q, s - n)
            for p, x, y, s in zip(best, last, first_b, _turned(b.key, shift), strict=True)
        ],
    )


def _repeated(a: _Table, times: int, keys: _Keys) -> _Table:
    """`times` >= 1 copies that all start at the residue of the first (proofs/starvation-repeat)."""
    n, total = a.length, a.length * times
    if times == 1:
        return a
    whole, bits, place = (total << keys.bits) + keys.mask, keys.bits, keys.mask - n
    return _Table(
        total,
        [x if x < n else total for x in a.prefix],
        [x if x < n else total for x in a.suffix],
        [
            whole if x == n else max(k, ((x + y) << bits) + place + x)
            for k, x, y in zip(a.key, a.suffix, a.prefix, strict=True)
        ],
    )


def _copies(powers: Sequence[_Table], count: int, shift: int, keys: _Keys) -> _Table:
    """`count` >= 1 copies, each `shift` residues further than the one before; powers[i] is 2^i copies."""
    size = len(powers[0].prefix)
    done, made = 0, None
    for bit, power in enumerate(powers):
        if count >> bit & 1:
            made = power if made is None else _join(made, power, done * shift % size, keys)
            done += 1 << bit
    assert made is not None
    return made


def _looped(child: _Table, count: int, shift: int, keys: _Keys) -> _Table:
    """`count` copies of the child: whole periods of residues in closed form, the rest by powers of two."""
    size = len(child.prefix)
    period = size // gcd(shift, size)
    times, rest = divmod(count, period)
    powers = [child]
    for bit in range((period if times else rest).bit_length() - 1):
        powers.append(_join(powers[-1], powers[-1], (shift << bit) % size, keys))
    if not times:
        return _copies(powers, rest, shift, keys)
    whole = _repeated(_copies(powers, period, shift, keys), times, keys)
    return _join(whole, _copies(powers, rest, shift, keys), 0, keys) if rest else whole


def _tables(nest: AccessNest, banks: Banks) -> tuple[_Keys, tuple[int, int, int], list[_Table]]:
    bits = nest.accesses.bit_length()
    keys, grid = _Keys(bits, (1 << bits) - 1), _grid(nest, banks)
    tables = [_access(nest, banks, keys, grid)]
    for count, stride in reversed(nest.loops):
        tables.append(_looped(tables[-1], count, stride // grid[0] % grid[2], keys))
    return keys, grid, tables


def summaries(nest: AccessNest, banks: Banks) -> Summaries:
    """The summaries of every level, innermost first: what a proof of the longest run claims."""
    keys, (unit, offset, size), tables = _tables(nest, banks)
    levels = tuple(
        RunLevel(t.length, tuple(t.prefix), tuple(t.suffix), tuple(key >> keys.bits for key in t.key)) for t in tables
    )
    return Summaries(unit, offset, size, levels)


# ---------------------------------------------------------------- runs


@dataclass(frozen=True, slots=True)
class BankRun:
    """`length` consecutive accesses that touch `bank`, the first at counters `start`, when the nest lies at `base`.

    Among runs of that length the one of the lowest base, then the earliest. With length 0, `start` is the first access.
    """

    length: int
    bank: int
    start: tuple[int, ...]
    base: int


@dataclass(frozen=True, slots=True)
class Runs:
    """The longest run of every bank, over all bases that the nest may have."""

    per_bank: tuple[BankRun, ...]

    @property
    def longest(self) -> BankRun:
        """The longest; of equals that of the lowest base, then the earliest start, then the lowest bank."""
        return min(self.per_bank, key=lambda run: (-run.length, run.base, run.start, run.bank))

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(run.length for run in self.per_bank)


def bank_runs(nest: AccessNest, banks: Banks) -> Runs:
    """The exact longest run of each bank; for an unknown base the worst base of the alignment."""
    keys, (unit, offset, size), tables = _tables(nest, banks)
    key, step = tables[-1].key, banks.width_bytes // unit
    starts = [((base - offset) // unit, base) for base in nest.bases(banks)]
    found = []
    for bank in range(banks.count):
        best, base = max(((key[(at - bank * step) % size] >> keys.bits, -base) for at, base in starts))
        place = keys.mask - (key[((-base - offset) // unit - bank * step) % size] & keys.mask)
        found.append(BankRun(best, bank, nest.counters(place), -base))
    return Runs(tuple(found))


def longest_run(nest: AccessNest, banks: Banks) -> BankRun:
    """The longest run of any bank: see Runs.longest for which of equals."""
    return bank_runs(nest, banks).longest


def follow(nests: Sequence[AccessNest], banks: Banks) -> tuple[int, ...]:
    """The longest run of each bank when nests of known bases follow each other without a pause."""
    best = [0] * banks.count
    open_ = [0] * banks.count  # the run that the last nest left
    for nest in nests:
        if nest.base is None:
            raise ValueError("a nest that follows another needs a base")
        keys, (unit, offset, size), tables = _tables(nest, banks)
        whole, at, step = tables[-1], (nest.base - offset) // unit, banks.width_bytes // unit
        for bank in range(banks.count):
            i = (at - bank * step) % size
            best[bank] = max(best[bank], open_[bank] + whole.prefix[i], whole.key[i] >> keys.bits)
            open_[bank] = open_[bank] + whole.length if whole.prefix[i] == whole.length else whole.suffix[i]
    return tuple(best)


# ---------------------------------------------------------------- layouts


@dataclass(frozen=True, slots=True)
class Proposal:
    """Rows of `row_elements` padded to `# padded_elements`: the nest that results, its runs, all evaluated anew."""

    row_elements: int
    padded_elements: int
    nest: AccessNest
    runs: Runs
    total: int


def padded(nest: AccessNest, row_bytes: int, pitch_bytes: int) -> AccessNest | None:
    """The nest when rows of `row_bytes` lie `pitch_bytes` apart; None where its loops do not keep rows and columns
    apart.

    Strides that are multiples of the row move by rows; all the others together must stay within one row, from its
    start on.
    """
    inside = [(count, stride) for count, stride in nest.loops if stride % row_bytes]
    if sum((count - 1) * abs(stride) for count, stride in inside) + nest.width_bytes > row_bytes:
        return None
    loops = tuple((n, s if s % row_bytes else s // row_bytes * pitch_bytes) for n, s in nest.loops)
    return replace(nest, loops=loops)


def layout_proposals(
    nest: AccessNest,
    banks: Banks,
    rows: Sequence[int],
    element_bytes: int,
    allowed: int,
    beside: Sequence[int] = (),
    align_bytes: int | None = None,
) -> tuple[Proposal, ...]:
    """For each size of a row (in elements): the smallest `# n` with which every bank stays at `allowed` or below.

    `beside` is what else counts on each bank (DMA, concurrent accesses). Rows lie at multiples of `align_bytes` (a
    bank's width if not given). No proposal for a row whose padding cannot help, such as for a loop of stride 0.
    """
    align = align_bytes or banks.width_bytes
    found = (_smallest(nest, banks, row, element_bytes, allowed, beside, align) for row in rows)
    return tuple(proposal for proposal in found if proposal is not None)


def _smallest(
    nest: AccessNest, banks: Banks, row: int, element: int, allowed: int, beside: Sequence[int], align: int
) -> Proposal | None:
    extra = tuple(beside) or (0,) * banks.count
    step = align // gcd(element, align)
    first = (row // step + 1) * step
    for size in range(first, first + banks.period_bytes * step, step):
        other = padded(nest, row * element, size * element)
        if other is None:
            return None
        runs = bank_runs(other, banks)
        total = max(a + b for a, b in zip(runs.lengths, extra, strict=True))
        if total <= allowed:
            return Proposal(row, size, other, runs, total)
    return None
