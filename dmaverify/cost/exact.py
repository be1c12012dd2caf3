"""When the closed form is not only a bound: programs of one command in which no request waits, or all wait for one
server.

Knows: linear streams, the least distance of two requests that meet at a channel, bank group or DMN.
Does not know: the terms of a cost.
Law: where `is_exact` says yes the simulator's cycles are the closed form's (tests/cost/test_agreement).

Source: the pipeline of "DMA Engine" (Examples 2 and 3) as cost.simulate plays it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.cost.constants import CostData
from dmaverify.cost.nest import PacketNest, as_requests
from dmaverify.cost.sides import HbmUse, SideCost, least_gap
from dmaverify.program.command import Command


def is_exact(commands: Sequence[Command], pairs: Sequence[tuple[SideCost, SideCost]], data: CostData) -> bool:
    """Whether the closed form equals the simulation: one command between HBM and DM, both sides regular."""
    if len(commands) != 1 or data.ticks("hbm_request") < data.ticks("dm_request"):
        return False
    read, write = pairs[0]
    if read.issue != data.ticks("issue"):
        return False
    if read.windows.least * read.windows.packets != read.requests or read.per_packet != 1 or write.per_packet != 1:
        return False
    if read.port.chip != write.port.chip or {read.port.tier, write.port.tier} != {"hbm", "dm"}:
        return False
    hbm, dm = (read, write) if read.hbm is not None else (write, read)
    if (
        hbm.hbm is None
        or hbm.hbm.partial
        or (hbm.windows.partial and hbm.role == "write")
        or (dm.dm is None or dm.dm.unaligned or dm.dm.mixed)
    ):
        return False
    smooth = _hbm_smooth(hbm.hbm, data)
    if read is hbm:
        return (smooth and (_dm_smooth(dm.nest, data) or _one_dmn(dm))) or (
            _one_server(hbm.hbm, data) and _dm_smooth(dm.nest, data)
        )
    return smooth and _dm_smooth(dm.nest, data)


def _ceil(ticks: int, issue: int) -> int:
    return -(-ticks // issue)


def _hbm_smooth(use: HbmUse, data: CostData) -> bool:
    """No two requests meet: not at a channel, not at a bank group, and no row is switched."""
    if use.vectors is None or use.rows is None or use.rows.in_order:
        return False
    issue, where = data.ticks("issue"), data.hbm
    groups = (*where.channel_masks, *where.bank_group_masks(use.high))
    slices = [1 << where.top_slice] if not use.high else []
    if any(vector & mask for vector in use.vectors for mask in slices):
        return False
    apart = least_gap(use.vectors, where.channel_masks) >= _ceil(data.ticks("hbm_request"), issue)
    return apart and least_gap(use.vectors, groups) >= _ceil(data.ticks("hbm_bank_group"), issue)


def _one_server(use: HbmUse, data: CostData) -> bool:
    """Every request goes to one bank of one channel, each hitting the open row, or each switching it."""
    if use.vectors is None or use.rows is None or use.channels is None or use.rows.banks != 1:
        return False
    if sum(1 for count in use.channels if count) != 1:
        return False
    n = use.rows.requests
    return use.rows.in_order == 0 or use.rows.switches == n - 1


def _dm_smooth(nest: PacketNest, data: CostData) -> bool:
    """No two requests meet at a DMN."""
    form = as_requests(PacketNest(nest.base, nest.loops, 1, nest.flipped), 1)
    linear = form.linear if form is not None else None
    if linear is None:
        return False
    return least_gap(linear[1], data.dm.dmn_masks) >= _ceil(data.ticks("dm_request"), data.ticks("issue"))


def _one_dmn(side: SideCost) -> bool:
    """Every request goes to one DMN, which is then never idle."""
    return side.dm is not None and side.dm.dmns is not None and sum(1 for count in side.dm.dmns if count) == 1
