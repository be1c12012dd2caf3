"""One copied unit: which command copies it, at which counters.

Knows: the addresses of a command as sums of its counters, how counters are found from an address by division.
Does not know: mappings, tensors, solvers.
Law: a copy that is found has exactly the addresses asked for; None means that no counters of the program have them.
Where strides interleave too much to search, it says so (`TooManySteps`) and never guesses.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.program.command import Command, Port
from dmaverify.program.space import global_address
from dmaverify.values import dataclass, replace

Loops = tuple[tuple[int, int, int], ...]  # (count, read step, write step), outer to inner
MOST_STEPS = 200_000  # of one search for counters; nests whose strides nest need one step a loop


@dataclass(frozen=True, slots=True)
class UnitCopy:
    """One unit that a command copies: counters of its loops, then the unit in the burst. Addresses are global."""

    command: int
    counters: tuple[int, ...]
    read: int
    write: int


def in_half_bytes(command: Command) -> Command:
    """The same copies, counted in half bytes."""
    if command.unit_bits == 4:
        return command

    def port(side: Port) -> Port:
        return replace(side, base=side.base * 2)

    loops = tuple(replace(loop, read=loop.read * 2, write=loop.write * 2) for loop in command.loops)
    return replace(
        command,
        read=port(command.read),
        write=port(command.write),
        loops=loops,
        burst=command.burst * 2,
        packet=command.packet * 2,
        unit_bits=4,
    )


class TooManySteps(Exception):
    """Strides interleave so much that looking for an address takes more than `MOST_STEPS` steps."""


def find_copy(program: Sequence[Command], write: int, read: int | None = None) -> UnitCopy | None:
    """A copy of the program that writes the global address `write` (from `read`, if given). Raises TooManySteps."""
    for index, command in enumerate(program):
        away_write = write - global_address(command.write, command.write.base)
        away_read = None if read is None else read - global_address(command.read, command.read.base)
        counters = _counters_of(command.nest, away_write, away_read)
        if counters is not None:
            local = sum(r * c for (_, r, _), c in zip(command.nest, counters, strict=True))
            return UnitCopy(index, counters, global_address(command.read, command.read.base + local), write)
    return None


def _counters_of(loops: Loops, write: int, read: int | None) -> tuple[int, ...] | None:
    """Counters with `sum(w * c) = write` and `sum(r * c) = read`, by search from the largest stride inwards."""
    ordered = sorted(range(len(loops)), key=lambda i: (-abs(loops[i][2]), -abs(loops[i][1])))
    bounds = [((0, 0), (0, 0))]
    for i in reversed(ordered):
        (low_r, high_r), (low_w, high_w) = bounds[-1]
        n, r, w = loops[i]
        reach_r, reach_w = r * (n - 1), w * (n - 1)
        bounds.append(
            ((low_r + min(0, reach_r), high_r + max(0, reach_r)), (low_w + min(0, reach_w), high_w + max(0, reach_w)))
        )
    bounds.reverse()
    steps = 0
    stack: list[tuple[tuple[int, ...], int, int | None]] = [((), write, read)]
    while stack:
        chosen, rest_w, rest_r = stack.pop()
        steps += 1
        if steps > MOST_STEPS:
            raise TooManySteps
        if len(chosen) == len(ordered):
            if rest_w == 0 and rest_r in (0, None):
                found = dict(zip(ordered, chosen, strict=True))
                return tuple(found[i] for i in range(len(loops)))
            continue
        n, r, w = loops[ordered[len(chosen)]]
        inner_r, inner_w = bounds[len(chosen) + 1]
        low, high = _between(rest_w, w, inner_w, n)
        if rest_r is not None:
            other = _between(rest_r, r, inner_r, n)
            low, high = max(low, other[0]), min(high, other[1])
        if w == 0 and (r == 0 or rest_r is None):
            high = min(high, 0)
        if high - low > MOST_STEPS:
            raise TooManySteps
        stack.extend(
            ((*chosen, value), rest_w - w * value, None if rest_r is None else rest_r - r * value)
            for value in range(high, low - 1, -1)
        )
    return None


def _between(rest: int, step: int, inner: tuple[int, int], count: int) -> tuple[int, int]:
    """The counters that leave what the inner loops can reach."""
    low, high = rest - inner[1], rest - inner[0]
    if step == 0:
        return (0, count - 1) if low <= 0 <= high else (0, -1)
    if step < 0:
        step, low, high = -step, -high, -low
    return max(0, -(-low // step)), min(count - 1, high // step)
