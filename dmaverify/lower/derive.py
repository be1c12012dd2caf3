"""From a stream to commands: each term of the stream becomes the loops that walk it in both memories.

Knows: layouts of the two sides, the terms of a stream, engines by position, the packet.
Does not know: limits and alignments of a machine (its rules judge the result), solvers.
Law: the entries of a term, outer to inner, have the term's size as product; an entry's stride is the address step of
the piece of axis it walks, 0 where the memory does not hold that piece. Where no common refinement exists, nothing is
derived: `Trouble`.

Source: "Sequencer", Configuration and Configuration Examples; "DMA Engine", Implementation Details;
docs/machines/rngd.md 4.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from dmaverify.language.expr import Expr, Resize, axes_of, terms_of
from dmaverify.language.numbers import below, moves, same
from dmaverify.layout.addresses import BYTE, Layout
from dmaverify.layout.digits import Digit, DigitForm, compile_digits
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.stream_places import Incompatible, base_at, box_of_loops, engines_of
from dmaverify.program.command import Command, Engine, Entry, Loop, Port, Sequencer
from dmaverify.program.move import Stream
from dmaverify.program.space import SPAN, Space, layout_of, port_at, unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Fragment:
    """One entry: `count` iterations over a piece of an axis, `read` and `write` units apart."""

    label: str
    count: int
    read: int
    write: int
    term: int  # index of the stream term it comes from
    packet: bool
    axis: str | None = None
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Derivation:
    """The fragments of a stream, and a command per engine that has work."""

    fragments: tuple[Fragment, ...]
    commands: tuple[Command, ...]
    terms: tuple[Expr, ...]


def label_of(axis: str | None, weight: int, count: int, size: int) -> str:
    """`A`, `A/4`, `A%4`, `A/4%32`: the piece of `axis` with `count` values of `weight` each, as a mapping with it.
    Where they do not divide the axis: `A/2=3` for a part of it, `A#16/4` for values beyond its end.
    """
    if axis is None:
        return str(count)
    high = "" if same(weight, 1) else f"/{weight}"
    if all(type(number) is int for number in (weight, count, size)) and size > 0:
        if weight * count > size or size % weight:
            end = -(-size // (weight * count)) * weight * count
            return f"{axis}#{end}{high}" + ("" if end == weight * count else f"%{count}")
        if size // weight % count:
            return f"{axis}{high}={count}"
    low = "" if same(weight * count, size) or weight * count > size else f"%{count}"
    return f"{axis}{high}{low}"


def _term_label(term: Expr, form: DigitForm, label: str) -> str:
    """The label of an entry that is a whole term: the term itself where it starts or stops inside of its digit."""
    plain = not form.offsets and not set("=#") & set(label) and not isinstance(term, Resize)
    return label if plain or len(form.digits) != 1 else str(term).replace(" ", "")


@dataclass(frozen=True, slots=True)
class _Reach:
    """What one side does with the piece at some weight of an axis: its address step and how many values it lasts."""

    step: int
    room: int | None  # None: to the end
    cut: int = 0  # the digit boundary behind `room`, on the axis


def _reach(layout: Layout, axis: str, weight: int, term: Expr) -> _Reach:
    held = [d for i, d in enumerate(layout.digits) if d.axis == axis and i not in layout.beyond_index]
    below = [d for d in held if _starts_by(d, weight) and _ends_behind(d, weight)]
    if below:
        digit = max(below, key=lambda d: d.weight)
        if weight % digit.weight:
            raise Incompatible(_clash(axis, weight, digit.weight, term))
        ratio, slots = weight // digit.weight, _values(digit, held)
        outer = any(not same(d.weight, 1) and d.weight >= digit.weight * slots for d in held if d is not digit)
        if outer and slots % ratio:
            raise Incompatible(_clash(axis, weight, digit.weight * slots, term))
        return _Reach(digit.step * ratio, -(-slots // ratio), digit.weight * slots)
    above = [d.weight for d in held if not _starts_by(d, weight)]
    if not above:
        return _Reach(0, None)
    if min(above) % weight:
        raise Incompatible(_clash(axis, weight, min(above), term))
    return _Reach(0, min(above) // weight, min(above))


def _values(digit: Digit, held: Sequence[Digit]) -> int:
    """How many values of its axis a digit steps over: where another digit goes on, its further slots are padding."""
    behind = [-(-d.weight // digit.weight) for d in held if not _starts_by(d, digit.weight)]
    return min(digit.slots, *behind) if behind and below(digit.live, digit.slots) else digit.slots


def _starts_by(digit: Digit, weight: int) -> bool:
    """Whether the digit's own weight is at most `weight`; no weight is below 1."""
    return same(digit.weight, weight) or (not same(weight, 1) and digit.weight <= weight)


def _ends_behind(digit: Digit, weight: int) -> bool:
    return below(weight, digit.weight * digit.slots)


def _clash(axis: str, cut: int, other: int, term: Expr) -> Trouble:
    return Trouble(
        f"no common refinement on axis {axis}: `{term}` cuts it at {cut}, a memory at {other}, "
        "and neither divides the other",
        term.span,
        "cut the axis alike on both sides, or split the move into several commands",
        axis,
        (cut, other),
    )


def _fragments_of(
    term: Expr, index: int, packet: bool, sides: tuple[Layout, Layout], claimed: dict[tuple[int, int], int]
) -> list[Fragment]:
    """The entries of one term, outer to inner."""
    form = box_of_loops(term)
    sizes = axes_of(term)
    out: list[Fragment] = []
    for digit in form.digits:
        if digit.axis is None:
            out.append(_broadcast(digit, index, packet, sides, claimed))
        else:
            out.extend(reversed(list(_walk(term, digit, index, packet, sides, sizes[digit.axis]))))
    return [replace(out[0], label=_term_label(term, form, out[0].label))] if len(out) == 1 else out


def _broadcast(
    digit: Digit, index: int, packet: bool, sides: tuple[Layout, Layout], claimed: dict[tuple[int, int], int]
) -> Fragment:
    """A bare number: it stays in the source, and walks replicas in the destination, as far as outer terms left some.
    One live position and padding behind it (`1 # 8`, an axis of size 1 padded to 8) is no number: where the source has
    such padding too, it is walked there as well.

    `claimed` says how many values of each digit of each side outer terms took.
    """
    padded = digit.live < digit.slots
    read = _replica(digit, sides[0], 0, claimed, padded) if padded else 0
    return Fragment(str(digit.slots), digit.slots, read, _replica(digit, sides[1], 1, claimed, False), index, packet)


def _replica(digit: Digit, layout: Layout, side: int, claimed: dict[tuple[int, int], int], alike: bool) -> int:
    """The step of the digit without axis that fits best, padding to padding; 0 where none does. `alike`: no other."""
    fitting: list[tuple[bool, bool, int, int]] = []
    for at, other in enumerate(layout.digits):
        left = other.slots // claimed.get((side, at), 1)
        if other.axis is not None or at in layout.beyond_index:
            continue
        differ = (other.live < other.slots) != (digit.live < digit.slots)
        if not differ and digit.live < digit.slots <= left:  # the first positions of more padding
            fitting.append((differ, left != digit.slots, at, other.step))
        elif differ and digit.live == digit.slots:  # the replicas before the padding
            room = other.live // claimed.get((side, at), 1)
            if digit.slots > 1 and digit.slots <= room and not alike:
                each = room // digit.slots if room % digit.slots == 0 else 1
                fitting.append((differ, room != digit.slots, at, other.step * each))
        elif left % digit.slots == 0 and not (differ and alike):
            fitting.append((differ, left != digit.slots, at, other.step * (left // digit.slots)))
    if not fitting:
        return 0
    _, _, at, step = min(fitting)
    claimed[side, at] = claimed.get((side, at), 1) * digit.slots
    return step


def _walk(
    term: Expr, digit: Digit, index: int, packet: bool, sides: tuple[Layout, Layout], size: int
) -> Iterator[Fragment]:
    """Pieces of one digit, inner to outer, each inside one digit of either side.

    Raises ValueError where they do not end: a symbolic piece that is one value long may be cut off for ever.
    """
    axis = digit.axis
    assert axis is not None
    weight, left, live = digit.weight, digit.slots, digit.live
    for _ in range(2 + 2 * sum(len(layout.digits) for layout in sides)):  # a piece ends where one of them does
        if not moves(left):
            return
        read, write = (_reach(layout, axis, weight, term) for layout in sides)
        rooms = [(r.room, r.cut) for r in (read, write) if r.room is not None and r.room < min(left, live)]
        count = left
        if rooms:
            count, cut = min(rooms)
            for room, other in rooms:
                if room % count:
                    raise Incompatible(_clash(axis, cut, other, term))
            if left % count:
                raise Incompatible(_uneven(axis, term, weight * left, cut))
        yield Fragment(label_of(axis, weight, count, size), count, read.step, write.step, index, packet, axis, weight)
        weight, left, live = weight * count, left // count, -(-live // count)
    if moves(left):
        raise ValueError(f"`{term}` is cut into pieces without end")


def _uneven(axis: str, term: Expr, end: int, cut: int) -> Trouble:
    return Trouble(
        f"`{term}` ends at {end} on axis {axis}, which the cut at {cut} does not divide: "
        "one nest of loops cannot stop there",
        term.span,
        f"walk a padded axis (`{axis} # {-(-end // cut) * cut}`) where both sides hold the padding, "
        "or use several commands",
        axis,
        (end, cut),
    )


# ---------------------------------------------------------------- the whole


def derive(
    source: Tensor,
    dest: Tensor,
    spaces: tuple[Space, Space],
    dtype_bits: int,
    stream: Stream,
    engine: Engine | None = None,
) -> Derivation | Trouble:
    """The commands of `stream`, one per engine that has work, or the reason why there are none.

    Raises NotDigits never: a side without digits is a Problem. `engine` names the engine of a stream without places.
    """
    try:
        return _derive(source, dest, spaces, dtype_bits, stream, engine)
    except Incompatible as error:
        return error.problem


def _derive(
    source: Tensor, dest: Tensor, spaces: tuple[Space, Space], dtype_bits: int, stream: Stream, engine: Engine | None
) -> Derivation:
    layouts = []
    for tensor, space in zip((source, dest), spaces, strict=True):
        layout, opaque = layout_of(tensor, space, dtype_bits)
        if opaque:
            message = "the mapping cannot be walked by loops: a cut falls inside a digit"
            raise Incompatible(Trouble(message, tensor.span))
        layouts.append(layout)
    sides = (layouts[0], layouts[1])
    terms = (*terms_of(stream.time), *terms_of(stream.packet))
    times = len(terms_of(stream.time))
    claimed: dict[tuple[int, int], int] = {}
    fragments: list[Fragment] = []
    offsets: dict[str, int] = {}
    for index, term in enumerate(terms):
        fragments.extend(_fragments_of(term, index, index >= times, sides, claimed))
        for axis, value in compile_digits(term).offsets:
            offsets[axis] = offsets.get(axis, 0) + value
    _stay_in_place(fragments, terms)
    width = dtype_bits // unit_bits_of(dtype_bits)
    commands = []
    for place, coordinates in engines_of(stream):
        at = {a: coordinates.get(a, 0) + offsets.get(a, 0) for a in (*coordinates, *offsets)}
        _start_on_cuts(fragments, sides, at, stream)
        ports = tuple(
            port_at(tensor.tier, base_at(layout, at), space)
            for tensor, layout, space in zip((source, dest), sides, spaces, strict=True)
        )
        commands.append(
            command_of(fragments, ports[0], ports[1], stream.packet.size * width, dtype_bits, place or engine)
        )
    if not commands:
        raise Incompatible(Trouble("no engine has work: every place of the stream is padding", stream.span))
    return Derivation(tuple(fragments), tuple(commands), terms)


def _start_on_cuts(
    fragments: Sequence[Fragment], sides: tuple[Layout, Layout], at: Mapping[str, int], stream: Stream
) -> None:
    """Refuses loops that walk over a cut of a memory from where an engine starts on an axis."""
    for axis, start in at.items():
        for layout in sides:
            held = [d for i, d in enumerate(layout.digits) if d.axis == axis and i not in layout.beyond_index]
            for cut in (digit.weight for digit in held):
                off = start % cut if type(cut) is type(start) is int else 0
                inside = [f for f in fragments if f.axis == axis and f.weight < cut] if off else []
                if off and off + sum((f.count - 1) * f.weight for f in inside) >= cut:
                    places = (stream.slice, stream.cluster, stream.chip, stream.time)
                    term = next((place for place in places if axis in axes_of(place)), stream.time)
                    raise Incompatible(_clash(axis, start, cut, term))


def _stay_in_place(fragments: Sequence[Fragment], terms: Sequence[Expr]) -> None:
    for fragment in fragments:
        for step in (fragment.read, fragment.write):
            if abs(step) >= SPAN["cluster"]:
                place = "chip" if abs(step) >= SPAN["chip"] else "cluster"
                term = terms[fragment.term]
                raise Incompatible(
                    Trouble(
                        f"`{term}` walks over {place}s in time, but a command stays within one {place}",
                        term.span,
                        f"give the stream a `{place}` field that takes this axis",
                        fragment.axis or "",
                    )
                )


def command_of(
    fragments: Sequence[Fragment], read: Port, write: Port, packet: int, dtype_bits: int, engine: Engine | None
) -> Command:
    """A command from its entries. The burst is the innermost run contiguous on both sides, within the packet."""
    unit_bits = unit_bits_of(dtype_bits)
    width = dtype_bits // unit_bits
    burst, inside = width, len(fragments)
    while inside > 0:
        last = fragments[inside - 1]
        if not (last.packet and last.read == burst and last.write == burst):
            break
        burst *= last.count
        inside -= 1
    loops = tuple(Loop(f.count, f.read, f.write, f.label) for f in fragments[:inside])
    printed = [*fragments[:inside], *_one_run(fragments[inside:], width)]
    texts = [
        Sequencer(_entries(printed, side, width), packet, port.tier, port.base)
        for side, port in (("read", read), ("write", write))
    ]
    return Command(read, write, loops, burst, packet, engine, unit_bits, texts[0], texts[1])


def _one_run(run: Sequence[Fragment], width: int) -> Sequence[Fragment]:
    """The terms of a packet that lie in one run, as one entry: the packet must divide the innermost entry's count."""
    if len(run) < 2:
        return run
    count = prod(f.count for f in run)
    label = f"[{', '.join(f.label for f in run)}]"
    return [Fragment(label, count, width, width, run[-1].term, True)]


def _entries(fragments: Sequence[Fragment], side: str, width: int) -> tuple[Entry, ...]:
    entries = [Entry(f.count, f.read if side == "read" else f.write, f.label) for f in fragments]
    if width == 1:
        return tuple(entries) or (Entry(1, 1),)
    if entries and entries[-1].stride == width:
        last = entries[-1]
        return (*entries[:-1], Entry(last.count * width, 1, last.label))
    return (*entries, Entry(width, 1, BYTE))
