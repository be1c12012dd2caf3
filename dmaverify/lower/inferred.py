"""The packet of a stream that names none: the longest run of both sides that its innermost terms make.

Knows: how a stream becomes commands, what of them is contiguous.
Does not know: texts, verdicts.
Law: time and packet together are the terms that were given, in their order; the packet is legal and contiguous on both
sides, or the single element. Where a mapping has no meaning, nothing is inferred: the checker says what is wrong.

Source: "DMA Engine", DMA Sequencer Internals (the packet size is inferred from the consecutive read/write volume).
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.language.expr import ONE, Expr, pair, terms_of
from dmaverify.language.wellformed import problems
from dmaverify.lower.programs import derived_program
from dmaverify.program.move import Stream
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.targets.target import Target
from dmaverify.values import replace


def with_packet(
    stream: Stream, source: Tensor, dest: Tensor, dtype_bits: int, target: Target, axes: Mapping[str, int]
) -> Stream:
    """The stream with the last terms of its time as packet, as many as make one run of both sides."""
    used = [stream.time, *(tensor.field(place) for tensor in (source, dest) for place in PLACES)]
    if any(problem.fatal for expr in used for problem in problems(expr, axes)):
        return stream
    terms, best = list(terms_of(stream.time)), stream
    most = target.limits.get("packet_max", 1) * 8 // dtype_bits
    for cut in range(len(terms) - 1, -1, -1):
        packet: Expr = pair(*terms[cut:])
        if packet.size > most:
            break
        trial = replace(stream, time=pair(*terms[:cut]) if cut else ONE, packet=packet)
        commands = derived_program(source, dest, trial, dtype_bits, target)
        if not isinstance(commands, tuple) or any(command.burst != command.packet for command in commands):
            break
        best = trial
    return best
