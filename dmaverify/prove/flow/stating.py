"""What a proof assumed of values that nobody states, as notes to paste into the kernel.

Knows: conditions that had to be assumed, symbols by the names of the text.
Does not know: machines, how claims are proved.
Law: with the notes stated, every condition of one symbol that they speak of holds; conditions of several symbols are
left as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.language.affine import Cond, World


def notes_to_paste(needs: Sequence[Cond], world: World) -> Iterator[str]:
    """`// dmaverify: assume %n in 1..64`, for every symbol that conditions bound from above."""
    ranges: dict[str, list[int | None]] = {}
    for need in _parts(needs):
        if need.op not in ("le", "lt", "eq") or len(need.left.terms) != 1:
            continue
        ((name, factor),) = need.left.terms
        symbol = world.symbols[name]
        if symbol.definition or symbol.loaded or symbol.varies or not symbol.shown.startswith("%"):
            continue
        bounds = ranges.setdefault(symbol.shown, [symbol.low, symbol.high])
        edge = -need.left.const - (1 if need.op == "lt" else 0)
        if factor > 0:
            bounds[1] = edge // factor if bounds[1] is None else min(bounds[1], edge // factor)
        if factor < 0 or need.op == "eq":
            low = -(edge // -factor) if factor < 0 else -(-edge // factor)
            bounds[0] = low if bounds[0] is None else max(bounds[0], low)
    for name, (least, most) in sorted(ranges.items()):
        if most is not None and (least or 0) <= most:
            yield f"// dmaverify: assume {name} in {least or 0}..{most}"


def _parts(needs: Sequence[Cond]) -> Iterator[Cond]:
    """Conditions without alternatives from which all of these follow."""
    for need in needs:
        if need.op == "and":
            yield from _parts(need.parts)
        elif need.op == "or":  # one of them is enough
            yield from _parts(need.parts[-1:])
        else:
            yield need
