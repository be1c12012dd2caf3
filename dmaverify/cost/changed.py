"""Commands changed in one respect: larger packets, rows on whole windows, two DMNs in turn; and what that is worth.

Knows: commands, how a packet is split off their loops, what padding of rows does to strides.
Does not know: rules, whether a tensor may be laid out so.
Law: a changed command moves as many units; rows keep their order and stay apart. A change is named only with a price
that is lower.

Source: "Memory Performance" (Misaligned Access), "DMA Engine" (Performance).
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.cost.constants import CostData
from dmaverify.cost.model import Cost, cost, engine_of
from dmaverify.cost.sides import SideCost, run_loops, run_of
from dmaverify.language.numbers import largest_divisor
from dmaverify.lower.pairing import split_burst
from dmaverify.program.command import Command, Engine, Loop
from dmaverify.prove.move.ports import contiguous_run
from dmaverify.targets.address_maps import DmMap
from dmaverify.values import replace

PADDED = 4
"""Padding is advised where it makes a row at most so many times as long."""
TRIED = 4
"""Loops that are tried, the longest ones."""
IN_ALL = "cycles in place of"
"""How advice tells that the whole becomes cheaper."""


def with_larger_packet(command: Command, most_bytes: int, word_bytes: int) -> Command:
    """The command with the largest packet of so many bytes or less that its run allows, in whole words."""
    bits, run = command.unit_bits, contiguous_run(command)
    best = largest_divisor(run, most_bytes * 8 // bits, word_bytes * 8 // bits)
    if best <= command.packet:
        return command
    loops, burst = split_burst((*command.loops, Loop(command.burst, 1, 1)), best)
    return replace(command, loops=loops, burst=burst, packet=best, read_text=None, write_text=None)


def run_inside(command: Command) -> Command:
    """The command with the loops that make its longest run innermost."""
    inside = run_loops(command)[::-1]
    taken = set(map(id, inside))
    return replace(command, loops=(*(loop for loop in command.loops if id(loop) not in taken), *inside))


def on_windows(command: Command, window: int, sides: Sequence[str] = ("read", "write")) -> Command:
    """The command with bases and rows in HBM on whole windows. A row is the least stride from what both sides have in
    one piece on that padding makes no more than `PADDED` times as long.
    """
    unit = window * 8 // command.unit_bits
    for side in sides:
        port = getattr(command, side)
        if port.tier == "hbm":
            command = _with_rows(command, side, unit)
            command = replace(command, **{side: replace(port, base=port.base // unit * unit)})
    return command


def whole_rows(command: Command, window: int, dm: DmMap) -> Command:
    """The command with its rows padded to whole windows on both sides and moved with their padding; itself where a row
    is no packet, so short that nobody would pad it, or a slice would not hold them.
    """
    unit, run = window * 8 // command.unit_bits, run_of(command)
    longer = -(-run // unit) * unit
    if run != command.packet or run % unit == 0 or run * PADDED < unit:
        return command
    changed = on_windows(command, window, ["write"])
    stride, size = (one * 8 // command.unit_bits for one in (dm.slice_stride, dm.slice_bytes))
    for side in ("read", "write"):
        port = getattr(command, side)
        changed = _with_rows(changed, side, unit, stride if port.tier == "dm" else 0)
        within = [(x.count - 1) * step for x in changed.loops if (step := abs(getattr(x, side))) < stride]
        if port.tier == "dm" and port.base % stride + sum(within) + longer > size:
            return command
    return replace(changed, burst=longer, packet=longer)


def _with_rows(command: Command, side: str, unit: int, most: int = 0) -> Command:
    """The command with rows of whole units of so many on a side; strides of `most` and above step over slices."""
    padded = _padded({abs(getattr(loop, side)) for loop in command.loops}, run_of(command), unit, most)

    def longer(step: int, own: bool) -> int:
        return padded[abs(step)] * (1 if step > 0 else -1) if own else step

    loops = [
        replace(loop, read=longer(loop.read, side == "read"), write=longer(loop.write, side == "write"))
        for loop in command.loops
    ]
    return replace(command, loops=tuple(loops), read_text=None, write_text=None)


def _padded(steps: set[int], run: int, unit: int, most: int) -> dict[int, int]:
    """What each stride becomes: that of rows rounded up, those above it in proportion."""
    found, old, new = {0: 0}, 0, 0
    for step in sorted(steps - {0}):
        longer = step * new // old if old else step
        if _is_row(longer, run, unit) and not 0 < most <= step:
            old, new = step, -(-longer // unit) * unit
            found[step] = new
        found.setdefault(step, step)
    return found


def _is_row(step: int, run: int, unit: int) -> bool:
    return step >= run and step * PADDED >= unit


def rows_of(command: Command, window: int, side: str) -> int:
    """The bytes from one row to the next that `on_windows` pads; 0 without rows."""
    unit, run = window * 8 // command.unit_bits, run_of(command)
    rows = [step for loop in command.loops if _is_row(step := abs(getattr(loop, side)), run, unit)]
    return min(rows, default=0) * command.unit_bits // 8


def taking_turns(commands: Sequence[Command], price: Cost, data: CostData) -> Sequence[Command]:
    """Commands, which have that price, with what they keep in one DMN in both of an engine, which take turns: halves of
    the loops that make it cheapest. As they are where none does.
    """
    ways = [_halves(command, sides, data.dm) for command, sides in zip(commands, price.sides, strict=True)]
    most = max(map(len, ways), default=0) if all(ways) else 0
    tried = [[way[min(at, len(way) - 1)] for way in ways] for at in range(most)]
    return min([commands, *tried], key=lambda one: cost(one, data).cycles)


def _halves(command: Command, sides: Sequence[SideCost], dm: DmMap) -> list[Command]:
    """The command with the second half of one loop, outer to inner, in the other DMN, in turn with the first."""
    far, found = dm.slice_stride * dm.dmn_slices * 8 // command.unit_bits, []
    alone = {side.role for side in sides if side.dm is not None and sum(map(bool, side.dm.dmns or ())) == 1}
    for at in _longest(command, 2) if alone else ():
        loop = command.loops[at]
        half = loop.count // 2
        read, write = (
            (-far if port.base // far % 2 else far) if side in alone else step * half
            for side, port, step in (("read", command.read, loop.read), ("write", command.write, loop.write))
        )
        halved = (*command.loops[:at], replace(loop, count=half), *command.loops[at + 1 :])
        found.append(replace(command, loops=(*halved, Loop(2, read, write)), read_text=None, write_text=None))
    return found


def shared(commands: Sequence[Command], data: CostData) -> Sequence[Command]:
    """Commands of one engine, dealt out to the engines of its cluster: several command by command, a single one by
    parts of that loop which makes it cheapest; as they are where nothing is cheaper.
    """
    first, many = engine_of(commands[0]), data.dm.slices // data.dm.dmn_slices // 2
    places = [replace(first, dmn=number) for number in range(many)]
    if len(commands) > 1:
        return [replace(one, engine=places[at % many]) for at, one in enumerate(commands)]
    tried: list[Sequence[Command]] = [commands]
    for at in _longest(commands[0], 1):
        count = commands[0].loops[at].count
        parts = max(number for number in range(1, many + 1) if count % number == 0)
        tried.append([_part(commands[0], at, parts, number, places[number]) for number in range(parts)])
    return min(tried, key=lambda one: cost(one, data).cycles)


def _longest(command: Command, by: int) -> list[int]:
    """Which of the loops run longest, of those whose count this number divides."""
    chosen = [at for at, loop in enumerate(command.loops) if loop.count % by == 0]
    return sorted(chosen, key=lambda at: -command.loops[at].count)[:TRIED]


def _part(command: Command, at: int, parts: int, number: int, engine: Engine) -> Command:
    """The part of that number of a loop, by an engine."""
    loop, count = command.loops[at], command.loops[at].count // parts
    loops = (*command.loops[:at], replace(loop, count=count), *command.loops[at + 1 :])
    read, write = (
        replace(port, base=port.base + number * count * step)
        for port, step in ((command.read, loop.read), (command.write, loop.write))
    )
    return replace(command, read=read, write=write, loops=loops, engine=engine, read_text=None, write_text=None)


def said_of(said: str, before: Cost, after: Cost, name: str = "") -> str:
    """The sentence with what it brings, where the bound of that name falls (without one, the whole) and the whole is no
    dearer; else ''.
    """
    if after.cycles > before.cycles or (name and _cycles(after, name) >= _cycles(before, name)):
        return ""
    if after.cycles < before.cycles:
        return f"{said}: {after.cycles:,.1f} {IN_ALL} {before.cycles:,.1f}"
    return f"{said}: {_cycles(after, name):,.1f} of these cycles, and as many in all" if name else ""


def _cycles(cost: Cost, name: str) -> float:
    return max((term.cycles for term in cost.terms if term.name == name), default=0.0)
