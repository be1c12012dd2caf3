"""Where a stream's engines start: the engines that it names, their coordinates, and the addresses of those.

Knows: places of a stream, layouts of tensors.
Does not know: the loops of a command (`derive`), what engines a machine has.
Law: every engine whose place is no padding comes once; where there are no such places, a problem says why.

Source: "DMA Engine", Homogeneous Aggregate Operation, Heterogeneous Aggregate Operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from dmaverify.language.expr import Expr
from dmaverify.layout.addresses import Layout, coordinates_of
from dmaverify.layout.digits import DigitForm, Gap, NotDigits, compile_digits
from dmaverify.lower.pairing import Trouble
from dmaverify.program.command import Engine
from dmaverify.program.move import Stream

MOST_ENGINES = 4096  # commands are written out per engine


class Incompatible(Exception):
    def __init__(self, problem: Trouble) -> None:
        super().__init__(problem.message)
        self.problem = problem


def walked_digits(expr: Expr, term: Expr) -> DigitForm:
    """The digits of a mapping that a term of a stream has. Raises Incompatible where it has none."""
    try:
        return compile_digits(expr)
    except NotDigits as error:
        raise Incompatible(Trouble(f"`{term}` cannot be walked by loops: {error.reason}", term.span)) from None


def box_of_loops(term: Expr) -> DigitForm:
    """The digits of a term of a stream. Raises Incompatible for one that no nest of loops walks."""
    form = walked_digits(term, term)
    if any(guard.kind is Gap.VOID for guard in form.guards):
        hint = "resize a single axis, or use several commands"
        raise Incompatible(Trouble(f"`{term}` is not a box of loops", term.span, hint))
    return form


def _positions(form: DigitForm) -> Iterator[tuple[int, dict[str, int] | None]]:
    """Every position with its coordinates, None where the cell is padding."""
    for position in range(form.size):
        found = form.values_at(position)
        yield position, None if form.pads(found) else coordinates_of(form.digits, form.offsets, found)


def base_at(layout: Layout, coordinates: Mapping[str, int]) -> int:
    """The address of an element, by its coordinates; pieces of an axis that the layout does not hold are left out."""
    address = layout.origin
    constants = dict(layout.offsets)
    for axis, value in coordinates.items():
        rest = value - constants.get(axis, 0)
        held = [d for i, d in enumerate(layout.digits) if d.axis == axis and i not in layout.beyond_index]
        top = max((d.weight * d.slots for d in held), default=0)
        for digit in sorted(held, key=lambda d: -d.weight):
            part = rest // digit.weight
            if digit.weight * digit.slots < top or rest >= top:
                part %= digit.slots
            address += part * digit.step
            rest -= part * digit.weight
    return address


def engines_of(stream: Stream) -> Iterator[tuple[Engine | None, dict[str, int]]]:
    """Engines with work, and the coordinates their place gives; one nameless engine when the stream names no place."""
    try:
        forms = [compile_digits(e) for e in (stream.chip, stream.cluster, stream.slice)]
    except NotDigits as error:
        raise Incompatible(Trouble(f"`{error.expr}` does not place engines: {error.reason}", error.expr.span)) from None
    engines = prod(f.size for f in forms)
    if engines > MOST_ENGINES:
        raise Incompatible(
            Trouble(f"the stream names {engines:,} engines", stream.span, f"no machine has more than {MOST_ENGINES:,}")
        )
    named = any(f.size > 1 or f.offsets for f in forms)
    for chip, at_chip in _positions(forms[0]):
        for cluster, at_cluster in _positions(forms[1]):
            for dmn, at_dmn in _positions(forms[2]):
                if at_chip is None or at_cluster is None or at_dmn is None:
                    continue
                total: dict[str, int] = {}
                for part in (at_chip, at_cluster, at_dmn):
                    for axis, value in part.items():
                        total[axis] = total.get(axis, 0) + value
                yield (Engine(chip, cluster, dmn) if named else None), total
