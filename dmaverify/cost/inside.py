"""Address bits that loops toggle, and such loops moved inside of the others.

Knows: commands, nests of packets, which loop changes a bit of an address.
Does not know: why bits matter, rules, prices.
Law: a bit is toggled exactly where two of the addresses differ in it.

Source: "DMA Engine", Example 4 (the order of loops decides how often a row changes).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dmaverify.cost.nest import PacketNest
from dmaverify.program.command import Command
from dmaverify.values import replace


def moved_inside(commands: Sequence[Command], bits: Iterable[int], role: str) -> list[Command]:
    """The commands with every loop that changes one of the bits, of what they read or `write`, innermost."""
    chosen = frozenset(bits)

    def order(command: Command) -> Command:
        steps = [(x.count, (x.write if role == "write" else x.read) * command.unit_bits // 8) for x in command.loops]
        inner = [any(_differs(0, [one], bit) for bit in chosen) for one in steps]
        paired = list(zip(command.loops, inner, strict=True))
        return replace(command, loops=tuple(loop for last in (False, True) for loop, own in paired if own == last))

    return [order(command) for command in commands]


# ---------------------------------------------------------------- address bits


def toggled_by(nests: Sequence[PacketNest]) -> set[int]:
    """Address bits that differ between two bytes of the packets of all nests."""
    differ = 0
    for nest in nests:
        differ |= nest.base ^ nests[0].base
    between = {bit for bit in range(differ.bit_length()) if differ >> bit & 1}
    return between.union(*(toggled(nest) for nest in nests))


def toggled(nest: PacketNest, most: int = 0) -> set[int]:
    """Address bits that differ between two bytes of the packets; with `most` only of the innermost loops, as many as
    make that many packets.
    """
    loops, packets = [(nest.size, 1)], 1
    for count, stride in reversed(nest.loops):
        if most and packets >= most:
            break
        loops.append((min(count, -(-most // packets)) if most else count, stride))
        packets *= count
    reach = sum((count - 1) * abs(stride) for count, stride in loops)
    return {bit for bit in range((nest.base + reach).bit_length()) if _differs(nest.base, loops, bit)}


def _differs(base: int, loops: Sequence[tuple[int, int]], bit: int) -> bool:
    """Whether a bit differs between two sums of the base and steps of the loops, carries of all loops included.

    Modulo 2^(bit + 1) the bit says in which half an address lies. A step of half the circle flips it; a smaller one
    cannot leap over a half, so it differs exactly where the walk's reach, unwound, leaves the half of the base.
    """
    half = 1 << bit
    down = up = base & (half - 1)
    for count, stride in loops:
        step = stride & (2 * half - 1)
        if step == half and count > 1:
            return True
        if step < half:
            up += (count - 1) * step
        else:
            down -= (count - 1) * (2 * half - step)
    return down < 0 or up >= half
