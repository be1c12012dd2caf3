"""Random mappings: every constructor, legal or with one named illegality.

Knows: the grammar of mappings and its preconditions. Does not know: tensors, moves, machines.
Law: without `illegal`, the mapping has positive sizes, divisors that divide and nothing that `wellformed` calls fatal
or an error; with it, exactly one node breaks exactly the precondition that is named.

Source: facts of the mapping language (grammar, cell semantics, preconditions): furiosa-opt v0.6.0, "Sequencer".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.language.expr import (
    Broadcast,
    Drop,
    Expr,
    Kind,
    Modulo,
    Padding,
    Pair,
    Resize,
    Stride,
    Symbol,
    Window,
)
from dmaverify.testing.draw import Draw

KINDS = (Kind.TOP, Kind.ZERO, Kind.BOTTOM)
ILLEGAL = ("indivisible", "zero-divisor", "size-zero", "drop-beyond", "unknown-axis", "truncated", "out-of-bounds")
"""What `mapping(..., illegal=...)` can break; the codes of `dmaverify.language.wellformed`."""


def axes(draw: Draw, most: int = 3, size: int = 6) -> dict[str, int]:
    """One to `most` axes, `A`, `B`, ..., of 1 to `size` elements."""
    names = "ABCDEFGH"[: draw.integer(1, most)]
    return {name: draw.integer(1, size) for name in names}


def divisor(draw: Draw, size: int) -> int:
    return draw.choice([k for k in range(1, size + 1) if size % k == 0])


def mapping(
    draw: Draw,
    sizes: Mapping[str, int],
    depth: int = 3,
    *,
    most: int = 64,
    flagged: bool = False,
    windows: bool = False,
) -> Expr:
    """A legal mapping of at most `most` positions over some of the axes `sizes`.

    `flagged` also draws what is defined but reported (`#` below and `=` beyond the size), `windows` also `$(e:n, ...)`.
    """
    for _ in range(8):
        found = _grown(draw, sizes, draw.integer(0, depth), flagged, windows)
        if found.size <= most:
            return found
    fitting: list[Expr] = [Symbol(name, size) for name, size in sizes.items() if size <= most]
    fitting.append(Broadcast(1))
    return draw.choice(fitting)


def _leaf(draw: Draw, sizes: Mapping[str, int]) -> Expr:
    names = list(sizes)
    at = draw.integer(0, 2 * len(names))
    return Broadcast(draw.integer(1, 3)) if at == 2 * len(names) else Symbol(names[at // 2], sizes[names[at // 2]])


_OPERATORS = ("pair", "pair", "pair", "/", "%", "#", "#", "=", "@")


def _grown(draw: Draw, sizes: Mapping[str, int], depth: int, flagged: bool, windows: bool) -> Expr:
    if depth == 0:
        return _leaf(draw, sizes)
    operator = draw.choice([*_OPERATORS, "$"] if windows else _OPERATORS)
    if operator == "pair":
        left = _grown(draw, sizes, depth - 1, flagged, windows)
        return Pair(left, _grown(draw, sizes, draw.integer(0, depth - 1), flagged, windows))
    inner = _grown(draw, sizes, depth - 1, flagged, windows)
    size = inner.size
    if operator == "/":
        return Stride(inner, divisor(draw, size))
    if operator == "%":
        return Modulo(inner, divisor(draw, size))
    if operator == "#":
        least = max(1, size - 1) if flagged and draw.chance(10) else size
        return Padding(inner, draw.integer(least, size + 3), draw.choice(KINDS))
    if operator == "=":
        return Resize(inner, draw.integer(1, size + 1 if flagged else size))
    if operator == "@":
        return Drop(inner, draw.integer(0, size - 1))
    return Window(((inner, draw.integer(1, 3)), (_leaf(draw, sizes), 1)))


def illegal_mapping(
    draw: Draw, sizes: Mapping[str, int], depth: int = 2, *, codes: Sequence[str] = ILLEGAL
) -> tuple[Expr, str]:
    """A mapping with one illegality, and its code (one of ILLEGAL)."""
    inner = mapping(draw, sizes, depth)
    code = draw.choice(list(codes))
    size = inner.size
    broken: Expr
    if code == "indivisible":
        by = draw.choice([k for k in range(2, size + 3) if size % k])
        broken = Stride(inner, by) if draw.chance(50) else Modulo(inner, by)
    elif code == "zero-divisor":
        broken = Stride(inner, 0) if draw.chance(50) else Modulo(inner, 0)
    elif code == "size-zero":
        empty: list[Expr] = [Resize(inner, 0), Padding(inner, 0), Pair(inner, Broadcast(0))]
        broken = draw.choice(empty)
    elif code == "drop-beyond":
        broken = Drop(inner, draw.integer(size, size + 2))
    elif code == "unknown-axis":
        broken = Pair(inner, Symbol("Unknown", 0))
    elif code == "truncated":
        inner = Pair(inner, Broadcast(2))
        broken = Padding(inner, draw.integer(1, inner.size - 1), draw.choice(KINDS))
    else:
        broken = Resize(inner, size + draw.integer(1, 2))
    return (Pair(broken, _leaf(draw, sizes)) if draw.chance(30) else broken), code
