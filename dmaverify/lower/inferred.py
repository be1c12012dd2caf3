"""The packet of a stream that names none: the longest run of both sides that its innermost terms make.

Knows: how a stream becomes commands, what of them is contiguous. A term that is too long, or a run in part, is cut.
Does not know: texts, verdicts.
Law: time and packet together are the terms that were given, in their order; the packet is legal and contiguous on both
sides, or the single element. Where a mapping has no meaning, nothing is inferred: the checker says what is wrong.

Source: "DMA Engine", DMA Sequencer Internals (the packet size is inferred from the consecutive read/write volume).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd

from dmaverify.language.expr import ONE, Modulo, Stride, pair, terms_of
from dmaverify.language.numbers import largest_divisor
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
    terms, best, run = list(terms_of(stream.time)), stream, 1
    most = target.limits.get("packet_max", 1) * 8 // dtype_bits
    for place in range(len(terms) - 1, -1, -1):
        term, outer = terms[place], terms[:place]
        for keep in _parts(term.size, most // run, 64 // gcd(64, run * dtype_bits)):
            time, packet = (outer, term) if keep == term.size else ([*outer, Stride(term, keep)], Modulo(term, keep))
            trial = replace(stream, time=pair(*time) if time else ONE, packet=pair(packet, *terms[place + 1 :]))
            commands = derived_program(source, dest, trial, dtype_bits, target)
            if isinstance(commands, tuple) and all(command.burst == command.packet for command in commands):
                break
        else:
            return best
        best = trial
        if keep < term.size:
            return best
        run *= keep
    return best


def _parts(size: int, most: int, words: int) -> Iterator[int]:
    """What of a term may be of a packet: the whole, then its divisors from the largest, words of 8 bytes first."""
    if size <= most:
        yield size
    for step in (words, 1):
        keep = largest_divisor(size, min(most, size - 1), step)
        while keep > 1:
            yield keep
            keep = largest_divisor(size, keep - 1, step)
