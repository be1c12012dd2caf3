"""Stream shapes: the order of a whole stream in one mapping, without saying where the packet begins.

Knows: terms of a shape, runs that are contiguous on both sides.
Does not know: machines (the largest packet is given), whether the result is right.
Law: time and packet together are the shape, and the packet is the largest suffix of its terms that is one run on both
sides and within the limit; one element where there is none.

Source: "DMA Engine" (How the compiler derives sequencers: the packet is inferred from the consecutive volume).
"""

from __future__ import annotations

from dmaverify.language.expr import ONE, Expr, pair, terms_of
from dmaverify.language.wellformed import problems
from dmaverify.lower.derive import derive
from dmaverify.lower.pairing import Trouble
from dmaverify.program.move import Stream
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.program.tensor import Tensor


def stream_of_shape(
    shape: Expr, source: Tensor, dest: Tensor, spaces: tuple[Space, Space], dtype_bits: int, packet_max_bytes: int
) -> Stream:
    """The shape cut into time and packet."""
    if any(p.fatal for expr in (shape, source.mapping, dest.mapping) for p in problems(expr)):
        return Stream(shape, ONE, span=shape.span)  # what is wrong is told where the move is judged
    terms = terms_of(shape)
    unit = unit_bits_of(dtype_bits)
    for cut in range(len(terms)):
        stream = Stream(pair(*terms[:cut]), pair(*terms[cut:]), span=shape.span)
        if stream.packet.size * dtype_bits > packet_max_bytes * 8:
            continue
        found = derive(source, dest, spaces, dtype_bits, stream)
        if isinstance(found, Trouble):
            continue
        if all(command.burst == stream.packet.size * dtype_bits // unit for command in found.commands):
            return stream
    return Stream(shape, ONE, span=shape.span)
