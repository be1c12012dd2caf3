"""The derivation of a sequencer, term by term, as the "Sequencer" document prints it.

Knows: a buffer as a row of pieces of axes, what a term of a stream takes out of it, how entries merge, what one access
can hold.
Does not know: memories, bases, machines; the commands themselves (`derive` makes them another way, with equal strides).
Law: an entry counts the values of its piece and steps by the volume inside that piece; the piece taken becomes `1 # n`
in place, so no volume ever changes. Where the buffer holds no such piece the stride is 0; where cuts do not fit, the
`problem` says why.

Source: "Sequencer", Configuration Examples (all tables) and Configuration Failures; docs/machines/rngd.md 4.1 to 4.3.
Strides count elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from math import gcd, prod

from dmaverify.language.expr import (
    ONE,
    Drop,
    Expr,
    Resize,
    axes_of,
    pair,
    terms_of,
)
from dmaverify.layout.digits import Digit, NotDigits, compile_digits
from dmaverify.lower.buffer import (
    BufferPiece,
    axis_expr,
    buffer_text,
    hole_of,
    joined_pieces,
    part_of,
    pieces_of,
)
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.stream_places import Incompatible, box_of_loops, walked_digits
from dmaverify.program.command import coalesce, in_step
from dmaverify.program.move import Stream
from dmaverify.values import dataclass, replace

CONTIGUOUS = "contiguous (Packet dimension)"
ABSENT = "not in Buf (broadcast)"
ACCESS_BYTES = (32, 16, 8, 4, 2, 1)  # what memory moves at once, largest first ("Sequencer", Configuration Failures)


@dataclass(frozen=True, slots=True)
class Row:
    """One entry. `source` speaks of the buffer as the term finds it, `source_declared` of the buffer as declared."""

    term: str
    count: int
    stride: int
    source: str
    source_declared: str
    after: str
    packet: bool
    index: int  # of the term in time and packet
    axis: str | None = None
    weight: int = 0
    axis_size: int = 0

    @property
    def entry(self) -> str:
        return f"{self.count} : {self.stride}"


@dataclass(frozen=True, slots=True)
class DerivationTable:
    """The rows of a derivation. With a `problem` they end before the term that has no entry; `notes` qualify them."""

    buffer: str
    stream: str
    packet_size: int
    rows: tuple[Row, ...]
    problem: Trouble | None = None
    notes: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """(count, stride) of each row, outer to inner."""
        return tuple((row.count, row.stride) for row in self.rows)


@dataclass(frozen=True, slots=True)
class MergedRow:
    """One entry after merging; `parts` are the rows it was made of, a single one where nothing merged."""

    term: str
    count: int
    stride: int
    parts: tuple[Row, ...]

    @property
    def entry(self) -> str:
        return f"{self.count} : {self.stride}"


@dataclass(frozen=True, slots=True)
class Merged:
    """Merged entries. Where time merged into the packet, `packet_size` has grown, as in the document."""

    rows: tuple[MergedRow, ...]
    packet_size: int

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        return tuple((row.count, row.stride) for row in self.rows)


# ---------------------------------------------------------------- taking terms out of it


@dataclass(frozen=True, slots=True)
class _Cut:
    """An entry to be: `count` values walked, `extent` values taken out of the buffer, if it `held` such a piece."""

    weight: int
    count: int
    extent: int
    held: bool


@dataclass
class _Derivation:
    """The buffer on its way, and what was taken of each axis."""

    declared: tuple[BufferPiece, ...]
    now: tuple[BufferPiece, ...]
    taken: list[tuple[str, int, int]]
    rows: list[Row]
    notes: list[str]
    wanted: frozenset[tuple[str | None, int]]  # (axis, weight) of every digit of the stream

    def take_term(self, term: Expr, index: int, packet: bool) -> None:
        form, core = box_of_loops(term), walked_digits(_whole(term), term)
        sizes = axes_of(term)
        kept = {(d.axis, d.weight): d for d in form.digits}
        for digit in core.digits if len(core.digits) >= len(form.digits) else form.digits:
            walked = kept.get((digit.axis, digit.weight), replace(digit, slots=1, live=1))
            if digit.axis is None:
                name = str(term) if len(form.digits) == 1 else str(digit.slots)
                self.rows.append(Row(name, digit.slots, 0, ABSENT, ABSENT, buffer_text(self.now), packet, index))
                continue
            cuts = self._cuts(term, digit.axis, walked, digit.slots)
            alone = len(cuts) == 1 and len(core.digits) == 1
            for cut in reversed(cuts):
                self._take(term, digit.axis, sizes[digit.axis], cut, alone, packet, index)

    def _cuts(self, term: Expr, axis: str, walked: Digit, extent: int) -> list[_Cut]:
        """Inner to outer, each inside one piece of the buffer."""
        weight, left, live = walked.weight, walked.slots, walked.live
        out: list[_Cut] = []
        while True:
            held, room, end = self._room(term, axis, weight)
            if room is None or room >= min(left, live):
                return [*out, _Cut(weight, left, extent, held)]
            if left % room:
                raise Incompatible(_uneven(axis, term, weight * left, end))
            out.append(_Cut(weight, room, room, held))
            weight, left, live, extent = weight * room, left // room, -(-live // room), -(-extent // room)

    def _room(self, term: Expr, axis: str, weight: int) -> tuple[bool, int | None, int]:
        """Whether a piece holds a weight of an axis, for how many values (None: to the end), and the cut there."""
        if any(a == axis and low <= weight < high for a, low, high in self.taken):
            message = f"`{term}` takes what an outer term of the stream took of {axis}: their coordinates would add up"
            hint = "name each piece of an axis once in a stream"
            raise Incompatible(Trouble(message, term.span, hint, axis, (weight,)))
        held = [p for p in self.now if p.axis == axis]
        inside = [p for p in held if p.weight <= weight < p.end]
        ends = [p.weight for p in held] + [low for a, low, _ in self.taken if a == axis]
        above = min((end for end in ends if end > weight), default=None)
        if not inside:
            if above is None:
                return False, None, 0
            if above % weight:
                raise Incompatible(_clash(axis, weight, above, term))
            return False, above // weight, above
        piece = max(inside, key=lambda p: p.weight)
        if weight % piece.weight:
            raise Incompatible(_clash(axis, weight, piece.weight, term))
        ratio = weight // piece.weight
        if above is not None and piece.slots % ratio:
            raise Incompatible(_clash(axis, weight, piece.end, term))
        return True, -(-piece.slots // ratio), piece.end

    def _take(self, term: Expr, axis: str, size: int, cut: _Cut, alone: bool, packet: bool, index: int) -> None:
        self.taken.append((axis, cut.weight, cut.weight * cut.extent))
        name = str(term) if alone else str(axis_expr(axis, size, cut.weight, cut.count))
        row = Row(name, cut.count, 0, ABSENT, ABSENT, buffer_text(self.now), packet, index, axis, cut.weight, size)
        self.rows.append(self._taken_row(row, term, cut) if cut.held else self._absent_row(row))

    def _absent_row(self, row: Row) -> Row:
        """Stride 0: an axis that the buffer does not name, or indices of one that it does not hold."""
        held = [str(p.expr) for p in self.declared if p.axis == row.axis]
        if not held:
            return row
        self.notes.append(
            f"`{row.term}` iterates over indices of {row.axis} that Buf does not hold: the Sequencer document rejects "
            "it (Insufficient Input), the later book reads it as a broadcast of stride 0"
        )
        lacks = f"not in Buf (insufficient input: Buf holds {', '.join(held)})"
        return replace(row, source=lacks, source_declared=lacks)

    def _taken_row(self, row: Row, term: Expr, cut: _Cut) -> Row:
        piece = next(p for p in self.now if p.axis == row.axis and p.weight <= cut.weight < p.end)
        ratio = cut.weight // piece.weight
        at = self.now.index(piece)
        reached = -(-piece.slots // ratio)
        # what lies outside of what is taken stays in the buffer if it is live, or if another term walks it
        needed = any(a == row.axis and cut.weight * cut.extent <= w < piece.end for a, w in self.wanted)
        beyond = needed or piece.live > ratio * cut.extent
        if reached % cut.extent and any(p.axis == row.axis and p.weight >= piece.end for p in self.declared):
            if needed:
                raise Incompatible(_clash(str(row.axis), cut.weight * cut.extent, piece.end, term))
            beyond = False  # the cut leaves no whole number of values, and nobody needs them: a slice
        extent = min(cut.extent, reached) if beyond else reached
        outer = [part_of(piece, ratio * extent, -(-reached // extent))] if beyond else []
        inner = [part_of(piece, 1, ratio)] if ratio > 1 else []
        inside = (*inner, *self.now[at + 1 :])
        stride = piece.step * ratio
        sliced = cut.count < min(extent, -(-piece.live // ratio))
        source = _source(row.axis, stride, inside, self.now, cut.count if sliced else 0)
        declared = next(p for p in self.declared if p.axis == row.axis and p.weight <= cut.weight < p.end)
        apart = cut.weight // declared.weight
        rest = self.declared[self.declared.index(declared) + 1 :]
        within = (*([part_of(declared, 1, apart)] if apart > 1 else []), *rest)
        before = _source(row.axis, stride, within, self.declared, cut.count if sliced else 0)
        taken = [*self.now[:at], *outer, hole_of(extent, stride), *inside]
        self.now = joined_pieces(taken)
        return replace(row, stride=stride, source=source, source_declared=before, after=buffer_text(self.now))


def _source(
    axis: str | None, stride: int, inside: Sequence[BufferPiece], whole: Sequence[BufferPiece], sliced: int
) -> str:
    """Where the number of a stride comes from: the size of what lies inside."""
    if not inside:
        text = f"{axis} in {buffer_text(whole)}"
    elif prod(p.slots for p in inside) == stride:
        text = f"m![{pair(*(p.expr for p in inside))}]::SIZE"
    else:
        text = f"{stride} elements apart in {buffer_text(whole)}"
    return f"{text} (sliced to {sliced})" if sliced else text


def _digits_of(terms: Sequence[Expr]) -> Iterator[tuple[str | None, int]]:
    """(axis, weight) of the digits of all terms that have any."""
    for term in terms:
        with suppress(NotDigits):
            yield from ((d.axis, d.weight) for d in compile_digits(term).digits)


def _whole(term: Expr) -> Expr:
    """The term before it was sliced: `A % 4` of `A % 4 = 3`. A slice takes the whole piece out of the buffer."""
    while isinstance(term, Drop) or (isinstance(term, Resize) and term.to <= term.inner.size):
        term = term.inner
    return term


def _clash(axis: str, cut: int, other: int, term: Expr) -> Trouble:
    return Trouble(
        f"incompatible shapes: `{term}` cuts {axis} at {cut}, Buf at {other}, and neither divides the other: "
        "no common factorization exists",
        term.span, "cut the axis alike in Buf and stream", axis, (cut, other),
    )  # fmt: skip


def _uneven(axis: str, term: Expr, end: int, cut: int) -> Trouble:
    return Trouble(
        f"incompatible shapes: `{term}` ends at {end} on {axis}, which the cut of Buf at {cut} does not divide",
        term.span, "cut the axis alike in Buf and stream", axis, (end, cut),
    )  # fmt: skip


def table_of(buffer: Expr, stream: Stream) -> DerivationTable:
    """The derivation of `stream` (its time, then its packet) on `buffer`, one row an entry. Strides in elements."""
    terms = (*terms_of(stream.time), *terms_of(stream.packet))
    times = len(terms_of(stream.time))
    shown = f"m![{pair(*(t for t in terms if t != ONE))}]"
    try:
        pieces = pieces_of(buffer)
    except Incompatible as error:
        return DerivationTable(f"m![{buffer}]", shown, stream.packet.size, (), error.problem)
    work = _Derivation(pieces, pieces, [], [], [], frozenset(_digits_of(terms)))
    problem = None
    for index, term in enumerate(terms):
        try:
            work.take_term(term, index, index >= times)
        except Incompatible as error:
            problem = error.problem
            break
    rows = work.rows
    if problem is None and rows and rows[-1].packet and rows[-1].stride == 1:
        rows[-1] = replace(rows[-1], source=CONTIGUOUS, source_declared=CONTIGUOUS)
    left = [p for p in work.now if p.live > 1 and p.axis is not None]
    if problem is None and left:
        work.notes.append(f"the stream leaves {', '.join(str(p.expr) for p in left)} of Buf unread")
    return DerivationTable(f"m![{buffer}]", shown, stream.packet.size, tuple(rows), problem, tuple(work.notes))


# ---------------------------------------------------------------- merging entries


def merged(table: DerivationTable) -> Merged:
    """Neighbours `(n1 : s1), (n2 : s2)` with `s1 = n2 * s2` as one `(n1 * n2 : s2)`, innermost first.

    Also across the packet, as the document does ("Sequencer", Merging Entries); the vendor's code merges within time
    and within packet only. Entries of one iteration are left out.
    """
    rows = tuple(
        MergedRow(_label(group), prod(r.count for r in group), group[-1].stride, tuple(group))
        for group in in_step(table.rows, lambda row: (row.count, row.stride))
    )
    grown = prod(r.count for row in rows if any(p.packet for p in row.parts) for r in row.parts if not r.packet)
    return Merged(rows, table.packet_size * grown)


def _label(rows: Sequence[Row]) -> str:
    """The term that the rows make together: `C` of `C / 2` and `C % 2`; else all of them."""
    if len(rows) == 1:
        return rows[0].term
    inner, axis, size = rows[-1], rows[-1].axis, rows[-1].axis_size
    chained = all(a.axis == b.axis and a.weight == b.weight * b.count for a, b in pairwise(rows))
    count = prod(r.count for r in rows)
    if axis is not None and chained and size % (inner.weight * count) == 0:
        return str(axis_expr(axis, size, inner.weight, count))
    return ", ".join(r.term for r in rows)


# ---------------------------------------------------------------- what one access can hold


def contiguous_run(entries: Sequence[tuple[int, int]]) -> int:
    """Elements of the innermost run: outwards while `s_outer = n_inner * s_inner`; 1 unless its stride is 0 or 1.

    Source: docs/machines/rngd.md 4.3 (the printed procedure does not test the innermost stride; it must be tested).
    """
    *_, (run, stride) = coalesce(entries) or [(1, 1)]
    return run if stride in (0, 1) else 1


def access_bytes_of(bits: int) -> int:
    """The largest access of 32, 16, 8, 4, 2 or 1 bytes that divides `bits`; 0 where they are no whole bytes."""
    return next((size for size in ACCESS_BYTES if bits > 0 and bits % (8 * size) == 0), 0)


def fetch_size(entries: Sequence[tuple[int, int]], packet_size: int, element_bits: int = 8) -> int:
    """Bytes of the largest fetch, by `gcd(packet, contiguous run)` (docs/machines/rngd.md 4.3); 0 where none fits."""
    return access_bytes_of(gcd(packet_size, contiguous_run(entries)) * element_bits)
