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
        low, high = command.reach(writes=side == "write")
        if has_ports(space) and (low <= -LOCAL_LIMIT or high >= LOCAL_LIMIT):
            return side
    return ""


def corner_of(command: Command) -> tuple[int, ...]:
    return (*(loop.count - 1 for loop in command.loops), command.burst - 1)
