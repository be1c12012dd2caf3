"""The stream of a plan, where one stream says what all its commands do.

Knows: pieces of axes as expressions, engines by position.
Does not know: costs, rules.
Law: a stream is given only when `derive` makes of it exactly the commands (the same nests on the same engines); else
none is.

Source: "DMA Engine", Homogeneous Aggregate Operation; docs/machines/rngd.md 1.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.expr import Broadcast, Expr, Modulo, Padding, Resize, Stride, Symbol, pair
from dmaverify.layout.addresses import BYTE
from dmaverify.lower.derive import derive
from dmaverify.lower.pairing import Trouble
from dmaverify.program.command import Command, coalesce
from dmaverify.program.move import Stream, Transfer
from dmaverify.program.space import SPAN, Space
from dmaverify.synth.atoms import Atom
from dmaverify.synth.orders import arranged
from dmaverify.synth.shares import Layering
from dmaverify.synth.space import Nested, SynthMachine, nested
from dmaverify.values import replace


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


def stream_for(
    move: Transfer,
    commands: Sequence[Command],
    layering: Layering,
    order: Sequence[Atom],
    packet: int,
    machine: SynthMachine,
) -> Stream | None:
    """The stream of a member, if its parts are alike and it derives exactly the commands."""
    item = nested(layering.works[0], packet)
    if layering.cut is None or layering.sample is None or item is None:
        return None
    try:
        stream = _stream(item, commands, layering, order)
    except NoPiece:
        return None
    if stream is None:
        return None
    return stream if derives(move, stream, commands, machine.spaces, machine.dtype_bits) else None


class NoPiece(Exception):
    """A loop that cuts a row and has no name as pieces of axes."""


def _stream(item: Nested, commands: Sequence[Command], layering: Layering, order: Sequence[Atom]) -> Stream | None:
    assert layering.cut is not None
    assert layering.sample is not None
    places: dict[str, list[Expr]] = {"chip": [], "cluster": [], "slice": []}
    for atom in layering.far:
        place = "chip" if max(abs(atom.read), abs(atom.write)) >= SPAN["chip"] else "cluster"
        places[place].append(_piece(atom))
    shares = [_share(layering.sample.atoms[i], n, block) for i, n, block in layering.cut.cuts]
    engines = [c.engine for c in commands if c.engine is not None]
    clusters = len({e.cluster for e in engines})
    if clusters > 1 and not places["cluster"] and shares:
        if shares[0].count % clusters:
            return None
        if shares[0].count == clusters:
            places["cluster"].append(_piece(shares.pop(0)))
        else:
            high, shares[0] = shares[0].cut(shares[0].count // clusters)
            places["cluster"].append(_piece(high))
    places["slice"] = [_piece(a) for a in shares]
    loops = arranged(item, order)
    return Stream(
        pair(*(_piece(a) for a in loops if a.axis != BYTE)),
        pair(*(_piece(a) for a in item.inside if a.axis != BYTE)),
        pair(*places["chip"]),
        pair(*places["cluster"]),
        pair(*places["slice"]),
    )


def _piece(atom: Atom) -> Expr:
    pieces = atom.pieces
    if pieces is None:
        raise NoPiece
    return pair(*(piece(*one) for one in pieces))


def _share(atom: Atom, parts: int, block: bool) -> Atom:
    """The digit that says which part: the high one of a cut in blocks, the low one of a cut by turns."""
    each = -(-atom.count // parts)
    return replace(atom, weight=atom.weight * each, count=parts) if block else replace(atom, count=parts)


def derives(
    move: Transfer, stream: Stream, commands: Sequence[Command], spaces: tuple[Space, Space], dtype_bits: int
) -> bool:
    """Whether the stream becomes exactly these commands, engine by engine."""
    engine = commands[0].engine if len(commands) == 1 else None
    try:
        found = derive(move.source, move.dest, spaces, dtype_bits, stream, engine)
    except (ValueError, ZeroDivisionError):
        return False
    return not isinstance(found, Trouble) and _nests(found.commands) == _nests(commands)


def _nests(commands: Sequence[Command]) -> list[tuple[object, ...]]:
    alone = len(commands) == 1
    return sorted(
        (
            "" if alone else repr(c.engine),
            repr(c.read),
            repr(c.write),
            c.burst,
            c.packet,
            repr(coalesce([(x.count, x.read, x.write) for x in c.loops])),
        )
        for c in commands
    )
