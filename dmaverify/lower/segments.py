"""Segments: an aggregate whose last engines would reach into padding, as commands that stop at the last live element.

Knows: streams with engines, the digits of an axis that a command walks, how live values become boxes.
Does not know: machines, solvers; whether the result is right (the obligations say).
Law: the segments of an engine are disjoint boxes of its counters that together hold exactly the live ones, at most one
box for each digit of an axis; an engine without live elements gets no command.

Live values of a ladder of digits (each weight the one below times its slots) come first: with 3 of 4 live over digits
2 x 2, the high digit's first value has all of the low one, its second value has the first of the low one.

Source: "DMA Engine" (Example 6, Why DMN #3 requires segmentation), docs/machines/rngd.md 7.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from dmaverify.language.expr import ONE, Drop, Expr, Resize, axes_of, pair, terms_of
from dmaverify.layout.addresses import coordinates_of
from dmaverify.layout.digits import NotDigits, compile_digits
from dmaverify.lower.pairing import Trouble
from dmaverify.program.command import Engine
from dmaverify.program.move import EngineStream, Stream
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class _Rung:
    """One digit of an axis: the term of the time that it is, its weight and its values."""

    term: int
    weight: int
    slots: int


Cut = tuple[int, int, int]
"""Of a term: (its index, the first value, how many)."""


def propose_segments(stream: Stream) -> tuple[EngineStream, ...] | Trouble:
    """The commands of every engine, those of uneven engines segmented. A Problem where the time does not walk an axis
    in digits that follow each other, or an axis is cut inside the packet.
    """
    try:
        return _propose(stream)
    except NotDigits as error:
        return Trouble(f"`{error.expr}` has no digits to segment: {error.reason}", stream.span)
    except _Unsegmentable as error:
        return Trouble(str(error), stream.span, "walk each axis in single terms of the time, as in `A % 2, A / 2 % 2`")


class _Unsegmentable(Exception):
    """Why a stream cannot be segmented."""


def _propose(stream: Stream) -> tuple[EngineStream, ...]:
    times = terms_of(stream.time)
    sizes = axes_of(stream.mapping)
    rungs, empty = _rungs(times), _empty(times)
    out: list[EngineStream] = []
    for engine, coordinates, fields in _places(stream):
        choices = []
        for axis, size in sizes.items():
            found = list(_boxes(axis, size - coordinates.get(axis, 0), rungs.get(axis, []), stream))
            choices.append(found)
        for case, boxes in enumerate(product(*choices)):
            cuts = {cut[0]: cut for box in (*boxes, empty) for cut in box}
            time = pair(*(_cut(term, cuts.get(index)) for index, term in enumerate(times)))
            out.append(EngineStream(engine, Stream(time, stream.packet, *fields, span=stream.span), case))
    return tuple(out)


def _rungs(times: Sequence[Expr]) -> dict[str, list[_Rung]]:
    """Per axis, the terms of the time that walk it, by falling weight."""
    out: dict[str, list[_Rung]] = {}
    for index, term in enumerate(times):
        form = compile_digits(term)
        if len(form.digits) == 1 and form.digits[0].axis is not None and not form.offsets:
            digit = form.digits[0]
            out.setdefault(str(digit.axis), []).append(_Rung(index, digit.weight, digit.slots))
        elif any(d.axis is not None for d in form.digits) and form.guards:
            raise _Unsegmentable(f"`{term}` walks several digits with padding at once")
    return {axis: sorted(found, key=lambda r: -r.weight) for axis, found in out.items()}


def _empty(times: Sequence[Expr]) -> tuple[Cut, ...]:
    """Terms of which only the first values are live wherever the engine is: padded axes of one element."""
    out = []
    for index, term in enumerate(times):
        digits = compile_digits(term).digits
        if len(digits) == 1 and digits[0].axis is None and digits[0].live < digits[0].slots:
            out.append((index, 0, digits[0].live))
    return tuple(out)


def _places(stream: Stream) -> Iterator[tuple[Engine, dict[str, int], tuple[Expr, Expr, Expr]]]:
    """Every engine with the coordinates of its place and its own chip, cluster and slice."""
    exprs = (stream.chip, stream.cluster, stream.slice)
    for at in product(*(range(expr.size) for expr in exprs)):
        coordinates: dict[str, int] = {}
        live = True
        for expr, position in zip(exprs, at, strict=True):
            form = compile_digits(expr)
            values = form.values_at(position)
            for axis, value in coordinates_of(form.digits, form.offsets, values).items():
                coordinates[axis] = coordinates.get(axis, 0) + value
            live = live and not form.pads(values)
        if live:
            yield Engine(*at), coordinates, (_at(exprs[0], at[0]), _at(exprs[1], at[1]), _at(exprs[2], at[2]))


def _at(expr: Expr, position: int) -> Expr:
    """The mapping of one position."""
    return ONE if expr.size == 1 and expr == ONE else Resize(Drop(expr, position), 1)


def _boxes(axis: str, left: int, rungs: Sequence[_Rung], stream: Stream) -> Iterator[tuple[Cut, ...]]:
    """Boxes of the rungs that hold exactly the values below `left`; one empty box where all are live."""
    inside = sum(d.weight * (d.slots - 1) for d in compile_digits(stream.packet).digits if d.axis == axis)
    reach = sum(r.weight * (r.slots - 1) for r in rungs) + inside
    if reach < left:
        yield ()
        return
    if left <= 0:
        return
    for high, low in pairwise(rungs):
        if high.weight != low.weight * low.slots:
            raise _Unsegmentable(f"the time leaves a gap between the digits of {axis}")
    if not rungs or inside >= rungs[-1].weight or (left % rungs[-1].weight and inside):
        raise _Unsegmentable(f"the padding of {axis} begins inside a packet")
    live = -(-left // rungs[-1].weight) * rungs[-1].weight
    fixed: list[Cut] = []
    for rung in rungs:
        whole = live // rung.weight
        if whole >= rung.slots:  # all below is live
            break
        if whole:
            yield (*fixed, (rung.term, 0, whole))
        fixed.append((rung.term, whole, 1))
        live -= whole * rung.weight
        if not live:
            return
    yield tuple(fixed)


def _cut(term: Expr, cut: Cut | None) -> Expr:
    if cut is None:
        return term
    _, first, count = cut
    return Resize(Drop(term, first) if first else term, count)


# ---------------------------------------------------------------- text


def needs_segments(stream: Stream) -> bool:
    """Whether some engine reaches into padding, so that its part is not one box of live elements."""
    found = propose_segments(stream)
    if isinstance(found, Trouble):
        return False
    return any(one.stream.time != stream.time for one in found)


def cases_text(streams: Sequence[EngineStream], name: str) -> str:
    """The streams as cases of a plan file, engines of one pattern together."""
    groups: dict[tuple[tuple[str, str], ...], list[Engine]] = {}
    by_engine: dict[Engine, list[Stream]] = {}
    for one in streams:
        by_engine.setdefault(one.engine, []).append(one.stream)
    for engine, own in by_engine.items():
        pattern = tuple((str(stream.time), str(stream.packet)) for stream in own)
        groups.setdefault(pattern, []).append(engine)
    lines: list[str] = []
    for pattern, engines in groups.items():
        for part in _products(engines):
            for time, packet in pattern:
                fields = _fields(by_engine[part[0]][0])
                lines += [
                    f"[[transfer.{name}.stream]]",
                    f"when = {_when(part)}",
                    *fields,
                    f'time = "{time}"',
                    f'packet = "{packet}"',
                ]
    return "\n".join(lines)


def _products(engines: Sequence[Engine]) -> list[list[Engine]]:
    """The engines in one list if they are a box of chips, clusters and dmns, else each for itself."""
    box = product(*(sorted({getattr(e, part) for e in engines}) for part in ("chip", "cluster", "dmn")))
    whole = [Engine(*at) for at in box]
    return [whole] if set(whole) == set(engines) else [[engine] for engine in engines]


def _when(engines: Sequence[Engine]) -> str:
    parts = {part: sorted({getattr(e, part) for e in engines}) for part in ("chip", "cluster", "dmn")}
    return f"{{ {', '.join(f'{part} = {numbers}' for part, numbers in parts.items())} }}"


def _fields(stream: Stream) -> Iterator[str]:
    for letter, field in zip("ijk", ("chip", "cluster", "slice"), strict=True):
        expr = getattr(stream, field)
        if isinstance(expr, Resize) and isinstance(expr.inner, Drop):
            text = str(expr.inner.inner)
            yield f'{field} = "[{text}] @ {letter} = 1"' if "," in text else f'{field} = "{text} @ {letter} = 1"'
