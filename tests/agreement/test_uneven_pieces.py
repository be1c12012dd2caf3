"""Moves whose commands cut a digit into pieces that do not divide it, and cross rows outside of that: the solver alone
against a run of every unit.
"""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from lab.draws import rest
from lab.oracle import compare

from dmaverify.language.expr import Expr, Kind, Modulo, Padding, Stride, Symbol, pair
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor

HOST = Space("host", ("element",))
TO = 1 << 14
RLIMIT = 300_000
SAMPLE = (42, 56, 65)  # of these digits carry outside of an uneven piece


def laid(rng: random.Random, a: Expr, b: Expr, piece: int) -> tuple[Expr, tuple[int, int, int]]:
    """A mapping of both axes, `b` in pieces, and the strides of `a`, of the pieces and within one."""
    inner: Expr = Modulo(b, piece)
    if rng.random() < 0.4:
        inner = Padding(inner, piece + rng.randint(1, 2), rng.choice(list(Kind)))
    pieces = b.size // piece
    kind = rng.choice(("whole", "cut", "turned"))
    if kind == "whole":
        return pair(a, b), (b.size, piece, 1)
    if kind == "cut":
        return pair(a, Stride(b, piece), inner), (inner.size * pieces, inner.size, 1)
    return pair(Stride(b, piece), a, inner), (inner.size, inner.size * a.size, 1)


def drawn(seed: int) -> tuple[Tensor, Tensor, list[Command]]:
    """Runs of pieces, over the ends of rows, each piece by two loops, of which the outer may go beyond its end."""
    rng = random.Random(seed)
    piece, pieces, rows = rng.randint(3, 7), rng.randint(2, 4), rng.randint(2, 5)
    a, b = Symbol("A", rows), Symbol("B", pieces * piece)
    (source, read), (dest, write) = (laid(rng, a, b, piece) for _ in range(2))
    commands = []
    ends = sorted({0, rows * pieces, rng.randint(0, rows * pieces)})
    for first, end in pairwise(ends):
        part = rng.randint(2, piece)
        starts = [s[0] * (first // pieces) + s[1] * (first % pieces) for s in (read, write)]
        loops = (Loop(end - first, read[1], write[1]), Loop(-(-piece // part), part, part))
        burst = part if rng.random() < 0.7 else part - 1
        commands.append(Command(Port("host", starts[0]), Port("host", TO + starts[1]), loops, burst, burst))
    return Tensor("host", source), Tensor("host", dest, base=TO), commands


@pytest.mark.parametrize("seed", [*SAMPLE, *rest(seed for seed in range(300) if seed not in SAMPLE)])
def test_units_beyond_an_uneven_piece_are_judged_as_a_run_sees_them(seed: int) -> None:
    source, dest, commands = drawn(seed)
    opinion = compare(source, dest, (HOST, HOST), 8, commands, route="solver", rlimit=RLIMIT)
    assert opinion is not None
    assert not [said for said in opinion.disagreements if "also finds" not in said]
