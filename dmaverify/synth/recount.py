"""The counts behind a bound, as data that a script counts again without dmaverify.

Knows: the commands that a floor was counted on, maps and prices of the profile.
Does not know: how bounds compose, plans, solvers.
Law: `counts_of` says what the closed form counted; `proofs/recount.py` walks every packet of the same nests with the
maps that stand beside them and must find the same numbers (tests/synth/test_certificate.py changes one and sees it
refused).
"""

from __future__ import annotations

from typing import Any

from dmaverify.cost.constants import TICKS, CostData
from dmaverify.cost.sides import SideCost, pairs_of, request_ticks
from dmaverify.errors import InputError
from dmaverify.synth.bound import Floor

MOST = 1 << 22
"""Packets that the script walks; beyond it the counts are given, and stay open when a certificate is checked."""


def counts_of(floor: Floor, data: CostData) -> dict[str, Any]:
    """Nests, maps, prices in cycles and counts: per memory and direction, what each channel or DMN carries."""
    try:
        pairs = pairs_of(floor.program, data)
    except InputError:
        return {}
    sides = [side for pair in pairs for side in pair]
    names = ("startup", "startup_store", "issue", "hbm_request", "hbm_partial", "dm_request", "dm_unaligned")
    return {
        "nests": [_nest(side) for side in sides],
        "maps": {
            "window": data.hbm.window,
            "channel_masks": list(data.hbm.channel_masks),
            "dmn_masks": list(data.dm.dmn_masks),
        },
        "cycles": {name: data.ticks(name) / TICKS for name in names},
        "counts": [_counts(side, data) for side in sides],
        "walked": sum(side.nest.packets for side in sides) <= MOST,
    }


def _nest(side: SideCost) -> dict[str, Any]:
    """One direction of one command, in bytes: packets of `size` at base + counters times strides."""
    return {
        "role": side.role, "tier": side.port.tier, "chip": side.port.chip, "cluster": side.port.cluster,
        "base": side.nest.base, "loops": [list(loop) for loop in side.nest.loops], "size": side.nest.size,
    }  # fmt: skip


def _counts(side: SideCost, data: CostData) -> dict[str, Any]:
    found: dict[str, Any] = {"requests": side.requests}
    if side.hbm is not None:
        partial = side.hbm.partial
        found["channels"] = list(side.hbm.channels) if side.hbm.channels is not None else None
        found["partial"] = list(partial) if partial is not None else None
    elif side.dm is not None:
        found["dmns"] = list(side.dm.dmns) if side.dm.dmns is not None else None
    found["each"] = request_ticks(side.port.tier, data) / TICKS
    return found
