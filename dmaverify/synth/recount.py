"""The counts behind a bound, as data and as scripts that count them again without dmaverify.

Knows: the commands that a floor was counted on, maps and prices of the profile, plain Python as text.
Does not know: how bounds compose, plans, solvers.
Law: `counts_of` says what the closed form counted; `SCRIPT` walks every packet of the same nests with the maps that
stand beside them and must find the same numbers (tests/synth/test_certificate.py changes one and sees it refused).
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


SCRIPT = '''"""Counts the requests of a bound again, packet by packet, with nothing but Python: python recount.py

Reads bound.json beside it: nests of packets (bytes), address maps, and what the bound says they load. Exit 1 where a
number differs, 3 where no count was given or there are too many packets to walk.
"""

import json
import sys
from itertools import product
from pathlib import Path

data = json.loads(Path(__file__).with_name("bound.json").read_text(encoding="utf-8"))["counted"]
if not data:
    print("no counts stand behind this bound: it rests on the search alone")
    sys.exit(3)
window = data["maps"]["window"]


def index(address, masks):
    return sum((address & mask).bit_count() % 2 << bit for bit, mask in enumerate(masks))


def count(nest):
    masks = data["maps"]["channel_masks" if nest["tier"] == "hbm" else "dmn_masks"]
    loads, partial, requests = [0] * (1 << len(masks)), [0] * (1 << len(masks)), 0
    for values in product(*(range(n) for n, _ in nest["loops"])):
        at = nest["base"] + sum(v * step for v, (_, step) in zip(values, nest["loops"]))
        end = at + nest["size"]
        if nest["tier"] == "hbm":
            for start in range(at // window * window, end, window):
                requests += 1
                loads[index(start, masks)] += 1
                if nest["role"] == "write" and (start < at or start + window > end):
                    partial[index(start, masks)] += 1
        else:
            parts = -(-nest["size"] // window)
            requests += parts
            loads[index(at, masks)] += parts
    return requests, loads, partial


bad = 0
if not data.get("walked"):
    print("too many packets to walk: the counts were not counted again")
    sys.exit(3)
for nest, said in zip(data["nests"], data["counts"]):
    requests, loads, partial = count(nest)
    found = {"requests": requests, "channels": loads, "dmns": loads, "partial": partial}
    for name, value in said.items():
        if name != "each" and value is not None and value != found[name]:
            bad += 1
            print(f"{nest['role']} {nest['tier']}: {name} {value}, counted {found[name]}")
print(f"{len(data['nests'])} nests counted again, {bad} numbers differ")
sys.exit(1 if bad else 0)
'''

OF_COPIES = '''"""Counts again, with Python alone: the fewest instructions of every cover in bound.json."""

import json
from itertools import combinations
from math import prod
from pathlib import Path

data = json.loads((Path(__file__).parent / "bound.json").read_text())
space = data["space"]


def fewest(nest):
    levels = nest["levels"]
    best = None
    for size in range(min(space["levels"], len(levels)) + 1):
        for chosen in combinations(range(len(levels)), size):
            if all(levels[i]["fits"] or levels[i]["packed"] for i in chosen):
                if all(levels[i]["packed"] is False or i in chosen for i in range(len(levels))):
                    left = prod(v["count"] for i, v in enumerate(levels) if i not in chosen)
                    best = left if best is None else min(best, left)
    return best


total = min(sum(map(fewest, nests)) for nests in space["covers"])
print(f"{total} instructions, {data['issues']} claimed")
raise SystemExit(total != data["issues"])
'''
