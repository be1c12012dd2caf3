"""A quick look at the start of a program, to choose among plans that cost the same: channels with rows, DMNs, in
batches.

Knows: which channel, bank and row a request goes to, how many wait at a channel, how many slices queue.
Does not know: exact times; it plays no part in any bound or claim.
Law: deterministic, plain Python, and linear in `LOOK`: equal programs get equal numbers.

Source: "Memory Performance" (Bank Conflict, FR-FCFS; Optimizing DMA Performance); the batches are ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import prod

from dmaverify.cost.constants import TICKS, CostData
from dmaverify.cost.nest import PacketNest, image, nest_of
from dmaverify.program.command import Command, counters_at

LOOK = 2048
"""Requests looked at, over all engines of the first round."""
TURNS = 16
"""Requests of an engine that are taken as one moment at the DMNs."""


def sketch(commands: Sequence[Command], data: CostData) -> float:
    """Cycles that the first requests of each engine take, roughly, per request; the lower the better."""
    first: dict[object, Command] = {}
    for one in commands:
        first.setdefault(one.engine, one)
    each = max(TURNS, LOOK // max(1, 2 * len(first)))
    times = [0.0]
    moved = 0
    for role in ("read", "write"):
        streams = [list(_addresses(nest_of(one, role), each, data.hbm.window)) for one in first.values()]
        ports = [one.read if role == "read" else one.write for one in first.values()]
        moved = max(moved, sum(map(len, streams)))
        tier = ports[0].tier
        if tier == "hbm":
            times.append(_hbm([(p.chip, s) for p, s in zip(ports, streams, strict=True)], data))
        elif tier == "dm":
            times.append(_dm([((p.chip, p.cluster), s) for p, s in zip(ports, streams, strict=True)], data))
    same = commands[0].read.tier == commands[0].write.tier
    return (sum(times) if same else max(times)) / max(1, moved) / TICKS


def _addresses(nest: PacketNest, most: int, window: int) -> Iterator[int]:
    """Addresses of the first requests in order: every window of a packet."""
    counts = [count for count, _ in nest.loops]
    total = min(prod(counts), most)
    parts = range(0, nest.size, window)
    for packet in range(total):
        counters = counters_at(counts, packet)
        address = nest.base + sum(at * step for at, (_, step) in zip(counters, nest.loops, strict=True))
        for part in parts:
            yield address + part
        if packet * len(parts) >= most:
            return


def _hbm(streams: Sequence[tuple[int, Sequence[int]]], data: CostData) -> float:
    """The busiest channel: rows of a bank change as often as a full queue of 64, served row by row, makes them."""
    where = data.hbm
    masks, banks, rows = where.channel_masks, where.bank_masks(False), where.row_masks(False)
    channels: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for turn in range(max(len(s) for _, s in streams)):
        for chip, stream in streams:
            if turn < len(stream):
                address = stream[turn]
                channels[chip, image(address, masks)].append((image(address, banks), image(address, rows)))
    plain, extra = data.ticks("hbm_request"), data.ticks("hbm_row_switch") - data.ticks("hbm_request")
    worst = 0
    for seen in channels.values():
        open_rows: dict[int, int] = {}
        switches = 0
        for start in range(0, len(seen), data.hbm_queue // 2):
            for bank, row in dict.fromkeys(seen[start : start + data.hbm_queue // 2]):
                switches += open_rows.get(bank, row) != row
                open_rows[bank] = row
        worst = max(worst, len(seen) * plain + switches * extra)
    return worst


def _dm(streams: Sequence[tuple[tuple[int, int], Sequence[int]]], data: CostData) -> float:
    """Moment by moment, the DMN with most to do, but never less than the engines need to issue."""
    masks, total = data.dm.dmn_masks, 0
    for start in range(0, max(len(s) for _, s in streams), TURNS):
        loads: dict[tuple[tuple[int, int], int], int] = defaultdict(int)
        for place, stream in streams:
            for address in stream[start : start + TURNS]:
                loads[place, image(address, masks)] += data.ticks("dm_request")
        total += max(TURNS * data.ticks("issue"), max(loads.values(), default=0))
    return total
