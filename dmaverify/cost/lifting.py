"""Bound by bound: what stands behind each term of a cost, in bits, banks, channels and DMNs, and what would lift it.

Knows: the facts of both sides (`cost.explain`), which term rests on which of them.
Does not know: how any of it is printed, mappings, axes.
Law: every sentence follows from the facts of the side that the term is of; a term of which nothing is known has no
sentence; an order of loops is said to lift a term where it was priced and does; a layout that would, is said to be one.

Source: "Memory Performance" (Address Space in a Chip, Column-to-Column Delay), "DMA Engine" (Performance, Examples),
docs/machines/rngd.md 9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from dmaverify.cost.bounds import ALL_ENGINES
from dmaverify.cost.constants import CostData
from dmaverify.cost.explain import INNER_REQUESTS, Explanation, SideFacts, listed
from dmaverify.cost.inside import said_of_move
from dmaverify.cost.model import cost
from dmaverify.cost.sides import REREADS
from dmaverify.errors import many
from dmaverify.values import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Behind:
    """One bound: its cycles, the facts behind it, and what would lift it ('' where nothing is known)."""

    name: str
    cycles: float
    behind: str
    lift: str

    def as_data(self) -> Mapping[str, Any]:
        return asdict(self)


def behind_bounds(found: Explanation, data: CostData) -> tuple[Behind, ...]:
    """Every bound of the cost but the start-up, the dearest first."""
    told = []
    for term in found.cost.terms:
        if term.name == "start-up":
            continue
        teller = TELLERS.get(term.name.removesuffix(ALL_ENGINES).removeprefix("read ").removeprefix("write "))
        role = term.name.split()[0]
        sides = [side for side in found.sides if role not in ("read", "write") or side.role == role]
        behind, lift = teller(sides, found, data, term.name) if teller is not None else ("", "")
        told.append(Behind(term.name, term.cycles, behind, lift))
    return tuple(told)


Sides = Sequence[SideFacts]
Told = tuple[str, str]


def _of(sides: Sides, tier: str) -> Sides:
    return [side for side in sides if side.tier == tier]


def _bits(bits: Sequence[int]) -> str:
    return f"bit {bits[0]}" if len(bits) == 1 else f"bits {listed(bits)}"


def _worth(said: str, bits: Sequence[int], side: SideFacts, found: Explanation, data: CostData, name: str) -> str:
    """The sentence with what it brings, where the bound falls in the order that it proposes."""
    then = said_of_move(found.cost, found.program, bits, side.role, partial(cost, profile=data), name)
    return f"{said}{then}" if then else ""


# ---------------------------------------------------------------- the engine


def _issue(sides: Sides, found: Explanation, data: CostData, name: str) -> Told:
    told, lift = [], ""
    for side in sides:
        told.append(f"{side.role}: runs of {side.run_bytes:,} B, {side.windows_per_run:.2f} windows each")
        if side.tier == "hbm" and side.crossing_packets:
            many = f"{side.crossing_packets:,} {side.role} packets"
            lift = lift or f"begin runs on {data.hbm.window} bytes: {many} cross one boundary more"
        elif side.tier == "hbm" and side.run_bytes < data.hbm.window:
            lift = lift or f"longer runs: one of {side.run_bytes} B pays for a whole window of {data.hbm.window}"
        elif side.tier == "hbm" and side.role == "read" and side.readers >= REREADS:
            lift = lift or f"each byte is read {side.readers} times: load once and copy within DM"
    if not lift and found.engines == 1 and sum(side.windows for side in sides) > 2 * INNER_REQUESTS:
        lift = "one engine issues every request: share the work among engines"
    return "; ".join(told), lift


def _sequence(sides: Sides, found: Explanation, data: CostData, name: str) -> Told:
    return f"{found.commands} commands on {found.engines} engines", "fewer commands: each waits for the one before it"


# ---------------------------------------------------------------- HBM


def _channels(sides: Sides, found: Explanation, data: CostData, name: str) -> Told:
    told, lift = [], ""
    for side in _of(sides, "hbm"):
        if not side.channels:
            continue
        still = [bit for bit in range(8, 13) if bit not in side.toggled]
        told.append(
            f"{side.role}: {side.channels} of {data.hbm_channels} channels, {side.stacks} of 2 stacks"
            + (f", address {_bits(still)} never toggled" if still else "")
        )
        lift = lift or _more_channels(side, data)
    return "; ".join(told), lift


def _more_channels(side: SideFacts, data: CostData) -> str:
    if not side.channels or side.channels >= data.hbm_channels or side.windows < data.hbm_channels:
        return ""
    if 8 not in side.toggled:
        return "toggle bit 8, which alone selects the stack: an axis at a stride of 256 bytes (layout, not loop order)"
    never = [bit for bit, _ in side.never]
    if never:
        return f"toggle {_bits(never)}, or a higher bit that is XORed into the channel (layout, not loop order)"
    return ""


def _stack(sides: Sides, found: Explanation, data: CostData, name: str) -> Told:
    hbm = [side for side in _of(sides, "hbm") if side.channels]
    one = [side for side in hbm if 8 not in side.toggled]
    told = "; ".join(f"{side.role}: {side.stacks} of 2 stacks, {side.channels} channels" for side in hbm)
    if one:
        return f"{told}; address bit 8 selects the stack and is never toggled", (
            "toggle bit 8: an axis at a stride of 256 bytes (layout, not loop order)"
        )
    return told, ""


def _rows(sides: Sides, found: Explanation, data: CostData, name: str) -> Told:
    told, lift = [], ""
    for side in _of(sides, "hbm"):
        inner = [bit for bit in side.toggled_inner if "row" in data.hbm.feeds(bit)]
        low = [bit for bit in side.toggled if 8 <= bit <= 16 and bit not in side.toggled_inner]
        if not inner:
            continue
        banks = f", {many(side.banks, 'bank')} in a channel" if side.banks else ""
        told.append(f"{side.role}: the innermost {INNER_REQUESTS} requests toggle row {_bits(inner)}{banks}")
        if low:
            said = f"move the loops that toggle {_bits(low)} inside of those that toggle {_bits(inner)}"
            lift = lift or _worth(said, low, side, found, data, name)
        else:
            lift = lift or f"no loop toggles bits 8 to 16 instead: only a layout with {_bits(inner)} further out"
    return "; ".join(told), lift


def _groups(sides: Sides, found: Explanation, data: CostData, name: str) -> Told:
    told = []
    for side in _of(sides, "hbm"):
        select = data.hbm.bank_group
        inner = [bit for bit in select if bit in side.toggled_inner]
        if len(inner) == len(select) or not side.channels:
            continue
        still = [bit for bit in select if bit not in inner]
        told.append(f"{side.role}: bank group {_bits(still)} not toggled by the innermost {INNER_REQUESTS} requests")
    return "; ".join(told), ""


def _partial(sides: Sides, found: Explanation, data: CostData, name: str) -> Told:
    for side in _of(sides, "hbm"):
        if side.role == "write" and side.partial_windows:
            offsets = listed(side.offsets[:6]) + (", ..." if len(side.offsets) > 6 else "")
            many = f"{side.partial_windows:,} of {side.windows:,} windows in part"
            told = f"{many}: runs of {side.run_bytes:,} B at {offsets} mod 256"
            return told, "runs that begin and end on 256 bytes: pad the destination's rows, or store whole rows"
    return "", ""


# ---------------------------------------------------------------- DM and the rest


def _dmns(sides: Sides, found: Explanation, data: CostData, name: str) -> Told:
    told, lift = [], ""
    bit = data.dm.dmn[0]
    for side in _of(sides, "dm"):
        if not side.dmns:
            continue
        inner = bit in side.toggled_inner
        inside = "" if inner else f", bit {bit} not toggled by the innermost {INNER_REQUESTS} requests"
        told.append(f"{side.role}: {many(side.dmns, 'DMN')}, {many(side.slices, 'slice')}{inside}")
        if not inner and bit in side.toggled and side.dmns > 1:
            said = f"move the loop that toggles bit {bit} inside: an engine's two DMNs then work in turns"
            lift = lift or _worth(said, [bit], side, found, data, name)
        elif side.dmns == 1 and side.packets > 1:
            lift = (
                lift or f"slices in both of an engine's DMNs (bit {bit}; layout, not loop order): up to twice the rate"
            )
    return "; ".join(told), lift


def _link(sides: Sides, found: Explanation, data: CostData, name: str) -> Told:
    return "all bytes cross one link at 30 B/cycle", ""


TELLERS: Mapping[str, Callable[[Sides, Explanation, CostData, str], Told]] = {
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
