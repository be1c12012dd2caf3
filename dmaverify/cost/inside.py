"""Loops that toggle address bits, moved inside of the others: what that does to a cost.

Knows: commands, which loop of one changes a bit of an address. Does not know: why bits matter, rules of a machine.
Law: an order is named only where it was priced: the bound falls and the whole becomes no dearer.

Source: "DMA Engine", Example 4 (the order of loops decides how often a row changes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dmaverify.cost.model import Cost
from dmaverify.program.command import Command
from dmaverify.values import replace

Price = Callable[[Sequence[Command]], Cost]


def moved_inside(commands: Sequence[Command], bits: Iterable[int], role: str) -> list[Command]:
    """The commands with every loop that changes one of the bits, of what they read or `write`, innermost."""
    chosen = frozenset(bits)

    def order(command: Command) -> Command:
        strides = [(loop.count, loop.write if role == "write" else loop.read) for loop in command.loops]
        inner = [any(_changes(*one, bit, command.unit_bits) for bit in chosen) for one in strides]
        paired = list(zip(command.loops, inner, strict=True))
        return replace(command, loops=tuple(loop for last in (False, True) for loop, own in paired if own == last))

    return [order(command) for command in commands]


def _changes(count: int, stride: int, bit: int, unit_bits: int) -> bool:
    """Whether a loop by itself, from an address with zeros below, changes a bit of it."""
    step = abs(stride) * unit_bits // 8
    return step > 0 and (step >> bit & 1 == 1 or (step < 1 << bit and (count - 1) * step >> bit > 0))


def said_of_move(
    before: Cost, commands: Sequence[Command], bits: Iterable[int], role: str, price: Price, name: str = ""
) -> str:
    """What the moved loops cost, after a colon, where the bound of that name falls (without one, the whole); '' where
    they are not worth a word.
    """
    after = price(moved_inside(commands, bits, role))
    if after.cycles > before.cycles or (name and _cycles(after, name) >= _cycles(before, name)):
        return ""
    if after.cycles < before.cycles:
        return f": {after.cycles:,.1f} cycles in place of {before.cycles:,.1f}"
    return f": {_cycles(after, name):,.1f} of these cycles, and as many in all" if name else ""


def _cycles(cost: Cost, name: str) -> float:
    return max((term.cycles for term in cost.terms if term.name == name), default=0.0)
