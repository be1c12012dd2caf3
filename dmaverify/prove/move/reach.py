"""Where a command goes at most: the least and the greatest address of each side.

Knows: loops, strides of either sign. Does not know: tensors, regions.
Law: both ends are visited, since every loop moves by itself.
"""

from __future__ import annotations

from dmaverify.program.command import Command
from dmaverify.program.space import LOCAL_LIMIT, Space, has_ports


def walks_off(command: Command, spaces: tuple[Space, Space]) -> str:
    """Which side leaves every memory there is; empty for none. Beyond it, global addresses of two places would meet."""
    for side, space in zip(("read", "write"), spaces, strict=True):
        low, high = local_range(command, side)
        if not has_ports(space):
            continue
        if low <= -LOCAL_LIMIT or high >= LOCAL_LIMIT:
            return side
    return ""


def local_range(command: Command, side: str) -> tuple[int, int]:
    """Least and greatest local address that a side visits, in units; exact, since every loop moves by itself."""
    port = command.read if side == "read" else command.write
    low = high = port.base
    for loop in command.loops:
        reach = (loop.read if side == "read" else loop.write) * (loop.count - 1)
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high + command.burst - 1


def corner_of(command: Command) -> tuple[int, ...]:
    return (*(loop.count - 1 for loop in command.loops), command.burst - 1)
