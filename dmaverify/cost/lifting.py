"""Bound by bound: what stands behind each term of a cost, in bits, banks, channels and DMNs, and what would lift it.

Knows: the facts of both sides (`side_facts`), which term rests on which of them.
Does not know: how any of it is printed, mappings, axes.
Law: every sentence follows from the facts of the side that the term is of; a term of which nothing is known has no
sentence; an order of loops is said to lift a term where it was priced and does; a layout that would, is said to be one.

Source: "Memory Performance" (Address Space in a Chip, Column-to-Column Delay), "DMA Engine" (Performance, Examples),
docs/machines/rngd.md 9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from dmaverify.cost.bounds import ALL_ENGINES
from dmaverify.cost.changed import (
    IN_ALL,
    on_windows,
    rows_of,
    run_inside,
    said_of,
    shared,
    taking_turns,
    whole_rows,
    with_larger_packet,
)
from dmaverify.cost.constants import CostData
from dmaverify.cost.inside import moved_inside, toggled_by
from dmaverify.cost.model import Cost, Term, cost, engine_of
from dmaverify.cost.nest import PacketNest
from dmaverify.cost.side_facts import INNER_REQUESTS, SideFacts
from dmaverify.cost.sides import REREADS, run_of
from dmaverify.errors import many
from dmaverify.program.command import Command
from dmaverify.values import dataclass, replace

NEAR = 0.5
"""A bound is near the dearest one where it is at least this part of it: lifting that alone would leave this one."""
WORTH = 0.95
"""More engines are worth naming when the cycles are below this share."""
LONG_RUNS = 0.1
"""How much dearer long runs make a window before it is worth a word."""


@dataclass(frozen=True, eq=False)
class PricedCommands:
    """Commands with their cost, and the data that it is of."""

    cost: Cost
    commands: tuple[Command, ...]
    data: CostData

    @property
    def engines(self) -> int:
        return len({engine_of(command) for command in self.commands})

    def binds(self, name: str) -> bool:
        """Whether the bound is near the dearest one; of the others no change is priced."""
        return any(term.name == name for term in near([one for one in self.cost.terms if one.name != "start-up"]))

    @cached_property
    def turns(self) -> Sequence[Command]:
        """What lies in one DMN in two of them, in turn."""
        return taking_turns(self.commands, self.cost, self.data)

    @cached_property
    def dealt(self) -> Cost:
        """What more engines would take."""
        return cost(shared(self.commands, self.data), self.data)

    @cached_property
    def fewer_parts(self) -> str:
        """What writes fewer windows in part."""
        return _fewer_parts(self)


@dataclass(frozen=True, slots=True)
class Behind:
    """One bound: its cycles, the facts behind it, and what would lift it ('' where nothing is known)."""

    name: str
    cycles: float
    behind: str
    lift: str


Bound = TypeVar("Bound", Behind, Term)


def near(bounds: Sequence[Bound]) -> list[Bound]:
    """The bounds near the dearest one."""
    most = max((one.cycles for one in bounds), default=0.0)
    return [one for one in bounds if one.cycles >= NEAR * most]


def behind_bounds(facts: Sequence[SideFacts], found: PricedCommands) -> tuple[Behind, ...]:
    """Every bound of the cost but the start-up, the dearest first."""
    told = []
    for term in found.cost.terms:
        if term.name == "start-up":
            continue
        teller = TELLERS.get(term.name.removesuffix(ALL_ENGINES).removeprefix("read ").removeprefix("write "))
        role = term.name.split()[0]
        sides = [side for side in facts if role not in ("read", "write") or side.role == role]
        behind, lift = teller(sides, found, term.name) if teller is not None else ("", "")
        told.append(Behind(term.name, term.cycles, behind, lift))
    return tuple(told)


Sides = Sequence[SideFacts]
Told = tuple[str, str]


def _of(sides: Sides, tier: str) -> Sides:
    return [side for side in sides if side.tier == tier]


def _bits(bits: Sequence[int]) -> str:
    return f"bit {bits[0]}" if len(bits) == 1 else f"bits {listed(bits)}"


def listed(bits: Sequence[int]) -> str:
    return ", ".join(str(bit) for bit in bits)


def _worth(said: str, bits: Sequence[int], side: SideFacts, found: PricedCommands, name: str) -> str:
    """The sentence with what it brings, where the bound falls in the order that it proposes."""
    return _brings(said, moved_inside(found.commands, bits, side.role), found, name)


def _brings(said: str, changed: Sequence[Command], found: PricedCommands, name: str = "") -> str:
    return said_of(said, found.cost, cost(changed, found.data), name)


# ---------------------------------------------------------------- the engine


def _issue(sides: Sides, found: PricedCommands, name: str) -> Told:
    told, lift = [], _slow_on_silicon(found, name)
    for side in sides:
        told.append(f"{side.role}: runs of {side.run_bytes:,} B, {side.windows_per_run:.2f} windows each")
        if side.role == "write" and side.tier == "hbm" and found.data.ticks("issue_partial"):
            lift = lift or _partial([side], found, name)[1]
        if side.tier == "hbm" and side.crossing_packets:
            window, packets = found.data.hbm.window, f"{side.crossing_packets:,} {side.role} packets"
            said = f"begin runs on {window} bytes, of which {packets} cross one boundary more"
            lift = lift or _brings(said, [on_windows(c, window, [side.role]) for c in found.commands], found, name)
        elif side.tier == "hbm" and side.run_bytes < found.data.hbm.window:
            lift = lift or f"longer runs: one of {side.run_bytes} B pays for a whole window of {found.data.hbm.window}"
        elif side.tier == "hbm" and side.role == "read" and side.readers >= REREADS:
            lift = lift or _loaded_once(f"each byte is read {side.readers} times: load once and copy within DM", found)
    if (
        not lift
        and found.binds(name)
        and found.engines == 1
        and sum(side.windows for side in sides) > 2 * INNER_REQUESTS
    ):
        said = "one engine issues every request: share the work among engines"
        lift = said_of(said, found.cost, found.dealt) if found.dealt.cycles < WORTH * found.cost.cycles else ""
    return "; ".join(told), lift


def _loaded_once(said: str, found: PricedCommands) -> str:
    """The sentence with what it brings, where each byte loaded once and copied within DM, one after the other, costs
    less; '' also where the profile has no rows of such copies.
    """
    loads: dict[object, Command] = {}
    copies: list[Command] = []
    for command in found.commands:
        moving = tuple(loop for loop in command.loops if loop.read)
        if found.data.bands or (command.read.tier, command.write.tier) != ("hbm", "dm"):
            return ""
        walked = command.read, tuple((loop.count, loop.read) for loop in moving), command.burst
        first = loads.setdefault(walked, replace(command, loops=moving))
        steps = dict(zip(moving, (loop.write for loop in first.loops), strict=True))
        loops = tuple(replace(loop, read=steps.get(loop, 0)) for loop in command.loops)
        copies.append(replace(command, read=first.write, loops=loops))
    cycles = cost(list(loads.values()), found.data).cycles + cost(copies, found.data).cycles
    return f"{said}: {cycles:,.1f} {IN_ALL} {found.cost.cycles:,.1f}" if cycles < found.cost.cycles else ""


def _slow_on_silicon(found: PricedCommands, name: str) -> str:
    """What silicon is slow at and the documents do not speak of; only profiles that price it say so."""
    reads = [read for read, _ in found.cost.sides] if name.startswith("read") else []
    together = max((read.again for read in reads), default=0)
    if together > 1:
        return (
            f"{together} engines read the same windows and wait for each other: "
            "let each read a part of them for all slices (no published row does, so that none tells what it takes)"
        )
    more = max((read.longer / (read.issue - read.longer) for read in reads), default=0.0)
    if more > LONG_RUNS:
        return (
            f"on silicon a window of these long runs takes {more:.0%} longer than one of a run of 256 B: "
            "let slices take runs of 256 B in turns (another layout in HBM)"
        )
    return ""


def _sequence(sides: Sides, found: PricedCommands, name: str) -> Told:
    return (
        f"{len(found.commands)} commands on {found.engines} engines",
        "fewer commands: each waits for the one before it",
    )


# ---------------------------------------------------------------- HBM


def _channels(sides: Sides, found: PricedCommands, name: str) -> Told:
    told, lift = [], ""
    for side in _of(sides, "hbm"):
        if not side.channels:
            continue
        still = [bit for bit in range(8, 13) if bit not in side.toggled]
        told.append(
            f"{side.role}: {side.channels} of {found.data.hbm_channels} channels, {side.stacks} of 2 stacks"
            + (f", address {_bits(still)} never toggled" if still else "")
        )
        lift = lift or _more_channels(side, found)
    return "; ".join(told), lift


def _more_channels(side: SideFacts, found: PricedCommands) -> str:
    data = found.data
    if not side.channels or side.channels * 4 > data.hbm_channels * 3 or side.windows < data.hbm_channels:
        return ""
    distinct = -(-side.windows // side.readers)
    if side.readers >= REREADS and distinct < data.hbm_channels:
        return _loaded_once(
            f"load {many(distinct, 'window')} once, not {side.readers} times, and copy within DM", found
        )
    if 8 not in side.toggled:
        return "toggle bit 8, which alone selects the stack: an axis at a stride of 256 bytes (layout, not loop order)"
    never = [bit for bit, _ in side.never]
    if never:
        return f"toggle {_bits(never)}, or a higher bit that is XORed into the channel (layout, not loop order)"
    return ""


def _stack(sides: Sides, found: PricedCommands, name: str) -> Told:
    hbm = [side for side in _of(sides, "hbm") if side.channels]
    one = [side for side in hbm if 8 not in side.toggled]
    told = "; ".join(f"{side.role}: {side.stacks} of 2 stacks, {side.channels} channels" for side in hbm)
    if one:
        return f"{told}; address bit 8 selects the stack and is never toggled", (
            "toggle bit 8: an axis at a stride of 256 bytes (layout, not loop order)"
        )
    parts: dict[tuple[int, int], list[PacketNest]] = {}
    for command, pair in zip(found.commands, found.cost.sides, strict=True):
        engine = engine_of(command)
        own = [side.nest for side in pair if side.port.tier == "hbm"]
        parts.setdefault((engine.chip, engine.cluster), []).extend(own)
    apart = any(nests and 8 not in toggled_by(nests) for nests in parts.values())
    return told, "spread each cluster's part over both stacks (address bit 8)" if apart else ""


def _rows(sides: Sides, found: PricedCommands, name: str) -> Told:
    told, lift = [], ""
    for side in _of(sides, "hbm"):
        inner = [bit for bit in side.toggled_inner if "row" in found.data.hbm.feeds(bit)]
        low = [bit for bit in side.toggled if 8 <= bit <= 16 and bit not in side.toggled_inner]
        if not inner:
            continue
        banks = f", {many(side.banks, 'bank')} in a channel" if side.banks else ""
        told.append(f"{side.role}: the innermost {INNER_REQUESTS} requests toggle row {_bits(inner)}{banks}")
        if low:
            said = f"move the loops that toggle {_bits(low)} inside of those that toggle {_bits(inner)}"
            lift = lift or _worth(said, low, side, found, name)
        else:
            lift = lift or f"no loop toggles bits 8 to 16 instead: only a layout with {_bits(inner)} further out"
    return "; ".join(told), lift


def _groups(sides: Sides, found: PricedCommands, name: str) -> Told:
    told = []
    for side in _of(sides, "hbm"):
        select = found.data.hbm.bank_group
        inner = [bit for bit in select if bit in side.toggled_inner]
        if len(inner) == len(select) or not side.channels:
            continue
        still = [bit for bit in select if bit not in inner]
        told.append(f"{side.role}: bank group {_bits(still)} not toggled by the innermost {INNER_REQUESTS} requests")
    return "; ".join(told), ""


def _partial(sides: Sides, found: PricedCommands, name: str) -> Told:
    window = found.data.hbm.window
    for side in _of(sides, "hbm"):
        if side.role == "write" and side.partial_windows:
            offsets = listed(side.offsets[:6]) + (", ..." if len(side.offsets) > 6 else "")
            many, size = f"{side.partial_windows:,} of {side.windows:,} windows in part", f"{side.run_bytes:,} B"
            packets = "" if side.packet_bytes == side.run_bytes else f"packets of {side.packet_bytes:,} B in "
            told = f"{many}: {packets}runs of {size} at {offsets} mod {window}"
            if side.packet_bytes % window == 0 and len(side.offsets) == 1:
                return told, f"begin the destination on {window} bytes: all packets are whole windows"
            return told, found.fewer_parts
    return "", ""


def _fewer_parts(found: PricedCommands) -> str:
    """Packets and rows that write fewer windows in part, the cheapest of those that were tried."""
    data, inside = found.data, [run_inside(command) for command in found.commands]
    window, run = data.hbm.window, min(run_of(command) * command.unit_bits // 8 for command in found.commands)
    rows = min(rows_of(command, window, "write") for command in found.commands)
    of, by = (f"rows of {rows:,} B of ", "base and padding") if rows else ("", "its base")
    begin, whole = (
        f"begin {of}the destination on {window} bytes ({by})",
        f"rows padded to whole windows of {window} bytes on both sides (layout), moved with the padding",
    )
    ways: list[tuple[str, Sequence[Command]]] = []
    for step in (0, data.dm_align, window):
        packets, said = list(found.commands), ""
        if step:
            packets = [with_larger_packet(command, data.packet_max, step) for command in inside]
            size = min(command.packet * command.unit_bits // 8 for command in packets)
            said = f"packets of {size:,} B, which are contiguous on both sides"
            ways.append((said, packets))
        joined = f"{said}; {begin}" if said else begin
        ways.append((joined, [on_windows(command, window, ["write"]) for command in packets]))
    ways.append((whole, [whole_rows(command, window, data.dm) for command in found.commands]))
    said, changed = min(ways, key=lambda way: cost(way[1], data).cycles)
    return _brings(said, changed, found) or (
        f"longer runs (layout): of the {run:,} B that both sides have in one piece, no packet and no padding is cheaper"
    )


# ---------------------------------------------------------------- DM and the rest


def _dmns(sides: Sides, found: PricedCommands, name: str) -> Told:
    told, lift = [], ""
    bit = found.data.dm.dmn[0]
    for side in _of(sides, "dm"):
        if not side.dmns:
            continue
        inner = bit in side.toggled_inner
        inside = "" if inner else f", bit {bit} not toggled by the innermost {INNER_REQUESTS} requests"
        told.append(f"{side.role}: {many(side.dmns, 'DMN')}, {many(side.slices, 'slice')}{inside}")
        if not inner and bit in side.toggled and side.dmns > 1:
            said = f"move the loop that toggles bit {bit} inside: an engine's two DMNs then work in turns"
            lift = lift or _worth(said, [bit], side, found, name)
        elif side.dmns == 1 and side.packets > 1:
            said = f"slices in both of an engine's DMNs (bit {bit}; layout, not loop order)"
            lift = lift or (_brings(said, found.turns, found, name) if found.binds(name) else "")
    return "; ".join(told), lift


def _link(sides: Sides, found: PricedCommands, name: str) -> Told:
    return "all bytes cross one link at 30 B/cycle", ""


TELLERS: Mapping[str, Callable[[Sides, PricedCommands, str], Told]] = {
    "issue": _issue,
    "sequence": _sequence,
    "channels": _channels,
    "stack port": _stack,
    "row switches": _rows,
    "banks": _rows,
    "bank groups": _groups,
    "partial windows": _partial,
    "partial windows, mean": _partial,
    "DMNs": _dmns,
    "DMN order": _dmns,
    "PCIe": _link,
}
"""Who speaks of which bound."""
