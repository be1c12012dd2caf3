"""The stream of a plan, where one stream says what all its commands do.

Knows: pieces of axes as expressions, engines by position.
Does not know: costs, rules.
Law: a stream is given only when `derive` makes of it exactly the commands (the same nests on the same engines); else none is.

Source: "DMA Engine", Homogeneous Aggregate Operation; facts/rngd 1.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from dmaverify.language.expr import ONE, Broadcast, Expr, Modulo, Padding, Resize, Stride, Symbol, pair
from dmaverify.layout.refine import BYTE
from dmaverify.synth.regions import Atom
from dmaverify.transfer.command import Command
from dmaverify.transfer.derive import Problem, derive
from dmaverify.transfer.move import Stream, Transfer
from dmaverify.transfer.space import Space


def piece(axis: str | None, weight: int, count: int, size: int) -> Expr:
    """`A / 4 % 32`: a piece of an axis as an expression; padded first where the piece reaches beyond it."""
    if axis is None:
        return Broadcast(count)
    expr: Expr = Symbol(axis, size)
    if size % weight:
        expr = Padding(expr, -(-size // weight) * weight)
    if weight > 1:
        expr = Stride(expr, weight)
    if count == expr.size:
        return expr
    if count > expr.size:
        return Padding(expr, count)
    return Modulo(expr, count) if expr.size % count == 0 else Resize(expr, count)


def stream_of(
    move: Transfer, commands: Sequence[Command], order: Sequence[Atom], inside: Sequence[Atom],
    cuts: Sequence[tuple[Atom, str]], spaces: tuple[Space, Space], dtype_bits: int,
) -> Stream | None:
    """The stream with these loops, packet and places, if it derives exactly these commands."""
    packet = [piece(a.axis, a.weight, a.count, a.size) for a in inside if a.axis != BYTE]
    time = [piece(a.axis, a.weight, a.count, a.size) for a in order if a.axis != BYTE]
    places: dict[str, list[Expr]] = {"chip": [], "cluster": [], "slice": []}
    for atom, place in cuts:
        places[place].append(piece(atom.axis, atom.weight, atom.count, atom.size))
    stream = Stream(pair(*time), pair(*packet), *(pair(*places[p]) for p in ("chip", "cluster", "slice")))
    return stream if derives(move, stream, commands, spaces, dtype_bits) else None


def derives(move: Transfer, stream: Stream, commands: Sequence[Command], spaces: tuple[Space, Space], dtype_bits: int) -> bool:
    """Whether the stream becomes exactly these commands, engine by engine."""
    engine = commands[0].engine if len(commands) == 1 else None
    try:
        found = derive(move.source, move.dest, spaces, dtype_bits, stream, engine)
    except (ValueError, ZeroDivisionError):
        return False
    return not isinstance(found, Problem) and _nests(found.commands) == _nests(commands)


def _nests(commands: Sequence[Command]) -> list[object]:
    return sorted(
        (repr(c.engine), repr(c.read), repr(c.write), c.burst, c.packet, repr(merged(c))) for c in commands
    )


def merged(one: Command) -> list[tuple[int, int, int]]:
    """Loops in order, neighbours that step as one merged."""
    out: list[tuple[int, int, int]] = []
    for loop in reversed([x for x in one.loops if x.count > 1]):
        if out and loop.read == out[-1][0] * out[-1][1] and loop.write == out[-1][0] * out[-1][2]:
            out[-1] = (loop.count * out[-1][0], out[-1][1], out[-1][2])
        else:
            out.append((loop.count, loop.read, loop.write))
    return out[::-1]


def engines_of(commands: Sequence[Command]) -> Mapping[str, int]:
    """How many chips, clusters and engines of a cluster work, if they form a box from 0."""
    placed = [c.engine for c in commands if c.engine is not None]
    found = {"chip": {e.chip for e in placed}, "cluster": {e.cluster for e in placed}, "slice": {e.dmn for e in placed}}
    counts = {place: len(values) for place, values in found.items()}
    return counts if prod(counts.values()) == len(placed) else {}


__all__ = ["ONE", "derives", "engines_of", "merged", "piece", "stream_of"]
