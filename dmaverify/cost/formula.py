"""The closed form in symbols: what each engine's issue and each memory's load is as a formula of the loop counts.

Knows: loops and their labels, sympy (imported when called).
Does not know: numbers of a particular plan beyond what turns a symbol into a count.
Law: every formula, evaluated at the command's own counts, is the term of `cost` that it names (`FormulaTerm.cycles`).

Source: "DMA Engine" (Performance), docs/machines/rngd.md 8.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from dmaverify.cost.constants import TICKS, CostData, stated
from dmaverify.cost.nest import PacketNest
from dmaverify.cost.sides import SideCost, pairs_of
from dmaverify.program.command import Command
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class FormulaTerm:
    """A term of one command as text in the symbols of its loops, and its value at their counts."""

    name: str
    text: str
    cycles: float
    symbols: tuple[tuple[str, int], ...]


def _names(command: Command) -> Iterator[tuple[str, int]]:
    """A symbol per loop: its label if that can be one, else n0, n1, ... from the outermost."""
    taken: set[str] = set()
    for index, loop in enumerate(loop for loop in command.loops if loop.count != 1):
        name = re.sub(r"\W+", "_", loop.label).strip("_") or f"n{index}"
        name = name if name not in taken and not name[0].isdecimal() else f"n{index}"
        taken.add(name)
        yield name, loop.count


def formula(command: Command, profile: CostData | str = "book") -> tuple[FormulaTerm, ...]:
    """The closed form of one command by itself: start-up, issue of both sides, even share of the memories.

    The share of HBM is that of a layout that uses every channel alike; what a plan's own addresses do to it is in
    `cost`. Raises ImportError where sympy is missing.
    """
    import sympy

    data = stated(profile)
    read, write = pairs_of([command], data)[0]
    names = list(_names(command))
    symbols = {name: sympy.Symbol(name, positive=True, integer=True) for name, _ in names}
    values = {symbols[name]: count for name, count in names}
    packets = sympy.Mul(*symbols.values()) * (read.nest.packets // max(1, prod(count for _, count in names)))
    cycle = sympy.Rational(1, TICKS)
    found = [("start-up", sympy.Integer(read.startup) * cycle)]
    same = data.in_turn(read.memory, write.memory)
    issues = [_requests(side, packets, sympy) * side.issue * cycle for side in (read, write)]
    if same:
        found.append(("issue", issues[0] + issues[1]))
    else:
        found += [("read issue", issues[0]), ("write issue", issues[1])]
    for side in (read, write):
        if side.port.tier == "hbm":
            each = sympy.Rational(data.ticks("hbm_request"), TICKS * data.hbm_channels)
            found.append((f"{side.role} channels, even", _requests(side, packets, sympy) * each))
        if side.port.tier == "dm":
            each = sympy.Rational(data.ticks("dm_request"), TICKS * 2)
            found.append((f"{side.role} DMNs, both in turn", _requests(side, packets, sympy) * each))
    return tuple(_term(name, expression, values, names) for name, expression in found)


def _requests(side: SideCost, packets: Any, sympy: Any) -> Any:
    """Requests of a side: packets times windows of one, a fraction where packets differ."""
    nest: PacketNest = side.nest
    return packets * sympy.Rational(side.requests, nest.packets)


def _term(name: str, expression: Any, values: dict[Any, int], names: Sequence[tuple[str, int]]) -> FormulaTerm:
    simple = expression.nsimplify() if expression.is_Float else expression
    return FormulaTerm(name, str(simple), float(simple.subs(values)), tuple(names))
