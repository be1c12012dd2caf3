"""iDMA answers as text and data: burst lists.

Knows: how a burst list is written, for people and for programs. Does not know: how one is made.
Law: the JSON text of a list is what `json.dumps` would write of its pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dmaverify.machines.idma.engine import NAMES, Backend, Request
from dmaverify.machines.idma.legalizer import Bursts, is_coupled
from dmaverify.machines.idma.wire import byte_enables, on_the_wire
from dmaverify.values import dataclass

MANY = 1000
MOST_SHOWN = 12
"""Bursts of a side that text shows; the rest is counted."""


def bursts_json(bursts: Bursts) -> str:
    """`{"read": [[address, bytes], ...], "write": [...]}`; `stuck_read`, `stuck_write` where a list does not end."""
    stuck = "".join(
        f', "stuck_{name}": {cuts.stuck}'
        for name, cuts in (("read", bursts.read), ("write", bursts.write))
        if cuts.stuck is not None
    )
    read, write = (
        bursts.array(name).tolist() if cuts.bursts > MANY else [list(pair) for pair in bursts.pairs(name)]
        for name, cuts in (("read", bursts.read), ("write", bursts.write))
    )
    return f'{{"read": {read}, "write": {write}{stuck}}}'


@dataclass(frozen=True, slots=True)
class Shown:
    """One 1D transfer of a file: number `number` of `count` of `name`."""

    name: str
    number: int
    count: int
    backend: Backend
    request: Request
    bursts: Bursts | None
    counts: tuple[int, int] = (0, 0)  # bursts of both sides, where they are too many for a list
    owner: int | None = None  # the back-end, where there are several

    def protocol(self, side: str) -> int:
        return self.request.src_protocol if side == "read" else self.request.dst_protocol


def bursts_data(one: Shown, wire: bool) -> dict[str, Any]:
    """One transfer as data, with its place among those of its move."""
    r = one.request
    out: dict[str, Any] = {
        "name": one.name, "transfer": one.number, "transfers": one.count, "src": r.src, "dst": r.dst,
        "length": r.length, "coupled": is_coupled(r),
    }  # fmt: skip
    if one.owner is not None:
        out["backend"] = one.owner
    if one.bursts is None:
        return {**out, "read_count": one.counts[0], "write_count": one.counts[1]}
    for side in ("read", "write"):
        pairs = one.bursts.pairs(side)
        out[side] = [list(pair) for pair in pairs]
        if wire:
            out[f"{side}_wire"] = [_wire(one, side, a, n) for a, n in pairs]
    return out


def _wire(one: Shown, side: str, address: int, length: int) -> dict[str, Any]:
    found = on_the_wire(one.backend, one.protocol(side), address, length, write=side == "write")
    out: dict[str, Any] = {"address": found.address, "length_field": found.field, "beats": found.beats}
    if side == "write":
        masks = byte_enables(address, length, one.backend.word)
        out["byte_enables"] = [f"{m:0{one.backend.word // 4 or 1}x}" for m in (masks[:1] + masks[1:][-1:])]
    return out


def bursts_text(shown: Sequence[Shown], wire: bool) -> str:
    """Every transfer with its two lists; long lists are cut, and say so."""
    lines: list[str] = []
    name = kind = ""
    for one in shown:
        r = one.request
        if one.number == 0 and (not lines or name != one.name):
            name = one.name
            lines += [""] if lines else []
            b = one.backend
            kind = _kind(r)
            lines.append(
                f"{one.name}   {one.count:,} transfer{'s' if one.count != 1 else ''}"
                f"{f' of {r.length:,} B' if one.owner is None else ', through the mid-ends'}, "
                f"{NAMES[r.src_protocol]} to {NAMES[r.dst_protocol]}, {b.data_width} bit, {kind}"
            )
        where = "" if one.owner is None else f"   {r.length:,} B by back-end {one.owner}"
        where += f"   {_kind(r)}" if _kind(r) != kind else ""
        lines.append(f"  0x{r.src:x} to 0x{r.dst:x}{where}")
        for number, side in enumerate(("read", "write")):
            if one.bursts is None:
                lines.append(f"    {side:5}  {one.counts[number]:,} bursts, counted and not listed")
            else:
                lines += _side_lines(one, one.bursts, side, wire)
    last = shown[-1] if shown else None
    if last is not None and last.number + 1 < last.count:
        lines.append(f"  ... {last.count - last.number - 1:,} more transfers (--limit)")
    return "\n".join(lines)


def _kind(request: Request) -> str:
    return "coupled" if is_coupled(request) else "decoupled"


def _side_lines(one: Shown, bursts: Bursts, side: str, wire: bool) -> Iterator[str]:
    pairs = bursts.pairs(side)
    yield f"    {side:5}  {len(pairs):,} burst{'s' if len(pairs) != 1 else ''}" + _all_of(pairs, one.request.length)
    for number, (address, length) in enumerate(pairs):
        if MOST_SHOWN <= number < len(pairs) - 1:
            if number == MOST_SHOWN:
                yield f"           ... {len(pairs) - MOST_SHOWN - 1:,} more"
            continue
        text = f"           0x{address:08x}  {length:6,} B"
        if wire:
            w = on_the_wire(one.backend, one.protocol(side), address, length, write=side == "write")
            text += f"   bus 0x{w.address:08x}  field {w.field:3}  {w.beats:3} beats"
        yield text
    cuts = bursts.read if side == "read" else bursts.write
    if cuts.stuck is not None:
        yield f"           stuck at 0x{(cuts.base + cuts.stuck) % bursts.space:08x}: the next step has 0 B"


def _all_of(pairs: Sequence[tuple[int, int]], length: int) -> str:
    done = sum(n for _, n in pairs)
    return "" if done == length else f", {done:,} of {length:,} B"
