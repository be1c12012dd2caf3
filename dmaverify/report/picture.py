"""Pictures of a program: the order of its accesses, and the load it puts on channels, banks, DMNs and slices.

Knows: what to draw and how (matplotlib, imported when called).
Does not know: how addresses are counted; pictures without a library (`cli/drawn.py` puts them together).
Law: drawn from the commands and the address maps; the same program gives the same picture; nothing is drawn that was
not counted. The order shows the first packets of every engine, as many as `FIRST`; the loads are of the whole program.

Source: guides on pictures (order maps and load bars, before and after side by side); "Memory Performance" for the
maps.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from dmaverify.cost.constants import CostData
from dmaverify.cost.model import Cost, cost
from dmaverify.cost.nest import PacketNest
from dmaverify.cost.sides import SideCost
from dmaverify.language.files import write_bytes
from dmaverify.program.command import Command, counters_at
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Panel = Callable[[Axes, "Loads", Sequence["Loads"], CostData], None]

FIRST = 256
"""Packets per engine in the order map."""

Order = tuple[tuple[int, int, str], ...]

READ, WRITE, GREY, TOLD = "#2b6cb0", "#c05621", "#a0aec0", "#4a5568"

FEW_ROWS = 8
"""Rows at which the scale of rows ends at least, so that one row looks like little."""

MANY = 64
"""Bars that are drawn one by one; more are drawn as one outline, which looks the same and is quick."""

HIDDEN = 6
"""A panel this many times lower than its neighbour gets a scale of its own."""


@dataclass(frozen=True)
class Loads:
    """What the program puts on each unit of chip 0. Orders are (packet, unit, role) of the first packets.

    `rows`: rows visited by the first packets, per (slice, bank group, bank) in use and channel.
    """

    channels: tuple[int, ...]
    channel_order: tuple[tuple[int, int, str], ...]
    rows: tuple[tuple[int, ...], ...]
    dmns: tuple[int, ...]
    slices: tuple[int, ...]
    slice_order: tuple[tuple[int, int, str], ...]


def first_addresses(nest: PacketNest, most: int) -> Iterator[int]:
    """The start addresses of the first packets, in order."""
    for number in range(min(most, nest.packets)):
        counters = counters_at([count for count, _ in nest.loops], number)
        yield nest.base + sum(
            (count - 1 - at if flip else at) * stride
            for (count, stride), flip, at in zip(nest.loops, nest.flipped, counters, strict=True)
        )


def loads_of(result: Cost, data: CostData) -> Loads:
    """Loads on channels, DMNs and slices of all commands; order and rows of the first packets."""
    sides = [side for pair in result.sides for side in pair if side.port.chip == 0]
    channels, channel_order, rows = _hbm_loads([side for side in sides if side.hbm is not None], data)
    dmns, slices, slice_order = _dm_loads([side for side in sides if side.dm is not None], data)
    return Loads(channels, channel_order, rows, dmns, slices, slice_order)


def _hbm_loads(sides: Sequence[SideCost], data: CostData) -> tuple[tuple[int, ...], Order, tuple[tuple[int, ...], ...]]:
    counts, order = [0] * data.hbm_channels, []
    visited: dict[tuple[int, int], set[int]] = {}
    for side in sides:
        assert side.hbm is not None
        counts = [a + b for a, b in zip(counts, side.hbm.channels or [0] * len(counts), strict=True)]
        for number, address in enumerate(first_addresses(side.nest, FIRST)):
            place = data.hbm.place(address)
            channel = place.stack * (data.hbm_channels // 2) + place.channel
            order.append((number, channel, side.role))
            bank = (place.slice * 4 + place.bank_group) * 4 + place.bank
            visited.setdefault((bank, channel), set()).add(place.row)
    banks = sorted({bank for bank, _ in visited})
    rows = tuple(tuple(len(visited.get((bank, c), ())) for c in range(data.hbm_channels)) for bank in banks)
    return tuple(counts), tuple(order), rows


def _dm_loads(sides: Sequence[SideCost], data: CostData) -> tuple[tuple[int, ...], tuple[int, ...], Order]:
    per_dmn, clusters = data.dm.dmn_slices, 2
    slices, order = [0] * (clusters * data.dm.slices), []
    for side in sides:
        first = side.port.cluster * data.dm.slices
        inside = [(count, step) for count, step in side.nest.loops if step % data.dm.slice_stride == 0]
        places = PacketNest(side.nest.base // data.dm.slice_stride * data.dm.slice_stride, tuple(inside), 1)
        each = side.requests // max(1, places.packets)
        for count, digits in _all_slices(places, data):
            slices[first + digits % data.dm.slices] += count * each
        for number, address in enumerate(first_addresses(side.nest, FIRST)):
            order.append((number, first + address // data.dm.slice_stride % data.dm.slices, side.role))
    dmns = [sum(slices[i : i + per_dmn]) for i in range(0, len(slices), per_dmn)]
    return tuple(dmns), tuple(slices), tuple(order)


def _all_slices(nest: PacketNest, data: CostData) -> Iterator[tuple[int, int]]:
    """(how often, slice) over the loops that step over slices."""
    found = {nest.base // data.dm.slice_stride: 1}
    for count, step in nest.loops:
        grown: dict[int, int] = {}
        if step == 0:
            found = {place: often * count for place, often in found.items()}
            continue
        for place, often in found.items():
            for index in range(count):
                key = place + index * step // data.dm.slice_stride
                grown[key] = grown.get(key, 0) + often
        found = grown
    yield from ((often, place) for place, often in found.items())


def draw(programs: Sequence[tuple[str, Sequence[Command], CostData]]) -> Figure:
    """A column of panels per named program, side by side: orders and loads of the memories that occur."""
    from matplotlib.figure import Figure

    results = [cost(commands, data) for _, commands, data in programs]
    loads = [loads_of(result, data) for result, (_, _, data) in zip(results, programs, strict=True)]
    panels: list[Panel] = []
    if any(one.channel_order for one in loads):
        panels += [_channel_order, _channel_load, _row_map]
    if any(one.slice_order for one in loads):
        panels += [_slice_order, _dmn_load, _slice_load]
    figure = Figure(figsize=(6.4 * len(programs), 2.6 * max(1, len(panels)) + 0.6), layout="constrained")
    axes = figure.subplots(max(1, len(panels)), len(programs), squeeze=False)
    for column, ((name, _, data), result) in enumerate(zip(programs, results, strict=True)):
        for row, panel in enumerate(panels):
            panel(axes[row][column], loads[column], loads, data)
        head = axes[0][column]
        head.set_title(f"{_headline(name, result)}\n\n{head.get_title(loc='left')}", fontsize=9, loc="left")
    return figure


def _headline(name: str, result: Cost) -> str:
    """Name, cycles, and the term that binds with its reason."""
    why = next((f"{term.name}: {term.why}" for term in result.terms if term.name == result.binding), result.binding)
    lines = textwrap.wrap(f"bound by {why}", 76)
    return "\n".join([f"{name}: {result.cycles:,.0f} cycles (profile {result.profile})", *lines])


def _say(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=9, loc="left")


def _halves(axes: Axes, top: int, names: tuple[str, str]) -> None:
    """A line between the two halves of the places, each named."""
    axes.axhline(top / 2 - 0.5, color=GREY, linewidth=0.8)
    for share, name in ((0.25, names[0]), (0.75, names[1])):
        axes.text(1.01, share, name, transform=axes.transAxes, fontsize=7, color=TOLD, ha="left", va="center")


def _channel_order(axes: Axes, loads: Loads, _: Sequence[Loads], data: CostData) -> None:
    _say(axes, "Order over channels: an empty band is bandwidth not used")
    _scatter(axes, loads.channel_order, "HBM channel", data.hbm_channels)
    _halves(axes, data.hbm_channels, ("stack 0", "stack 1"))


def _slice_order(axes: Axes, loads: Loads, _: Sequence[Loads], data: CostData) -> None:
    _say(axes, "Order over slices: neighbours should lie in different DMNs")
    _scatter(axes, loads.slice_order, "slice (cluster 0, then 1)", 2 * data.dm.slices)
    _halves(axes, 2 * data.dm.slices, ("cluster 0", "cluster 1"))


def _scatter(axes: Axes, order: Order, label: str, top: int) -> None:
    for role, colour in (("read", READ), ("write", WRITE)):
        points = [(x, y) for x, y, its in order if its == role]
        if points:
            across, up = zip(*points, strict=True)
            axes.scatter(across, up, s=8 if role == "read" else 3, color=colour, label=role, linewidths=0)
    axes.set_xlabel(f"packet (first {FIRST} of each engine)")
    axes.set_ylabel(label)
    axes.set_ylim(-0.02 * top, 1.02 * top)
    if order:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.02), fontsize=8, markerscale=2, frameon=False)


def _channel_load(axes: Axes, loads: Loads, every: Sequence[Loads], _: CostData) -> None:
    _say(axes, "Load of the channels")
    _bars(axes, loads.channels, _top([one.channels for one in every], loads.channels), "HBM channel")


def _dmn_load(axes: Axes, loads: Loads, every: Sequence[Loads], _: CostData) -> None:
    _say(axes, "Load of the DMNs")
    _bars(axes, loads.dmns, _top([one.dmns for one in every], loads.dmns), "DMN (cluster 0, then 1)")


def _slice_load(axes: Axes, loads: Loads, every: Sequence[Loads], _: CostData) -> None:
    _say(axes, "Load of the slices")
    _bars(axes, loads.slices, _top([one.slices for one in every], loads.slices), "slice (cluster 0, then 1)")


def _top(every: Sequence[Sequence[int]], own: Sequence[int]) -> int:
    """The height of a panel: that of all programs side by side, or its own where the others would hide it."""
    tallest = max(max(one) for one in every)
    return tallest if max(own) * HIDDEN >= tallest else max(own)


def _bars(axes: Axes, counts: Sequence[int], top: int, label: str) -> None:
    if len(counts) > MANY:
        axes.stairs(counts, [index - 0.5 for index in range(len(counts) + 1)], color=READ, fill=True, linewidth=0)
    else:
        axes.bar(range(len(counts)), counts, color=READ, width=0.8, linewidth=0)
    even = sum(counts) / len(counts)
    axes.axhline(even, color=WRITE, linewidth=0.8, linestyle="--")
    axes.text(len(counts) - 0.4, even, "even", fontsize=7, color=WRITE, ha="left", va="center")
    axes.set_xlim(-0.7, len(counts) - 0.3)
    axes.set_ylim(0, max(1, top) * 1.08)
    axes.set_xlabel(label)
    axes.set_ylabel("requests")
    used = sum(1 for count in counts if count)
    axes.set_title(f"{used} of {len(counts)} in use", fontsize=8, loc="right", color=TOLD)


def _row_map(axes: Axes, loads: Loads, every: Sequence[Loads], data: CostData) -> None:
    if not loads.rows:
        axes.axis("off")
        return
    _say(axes, "Rows per bank: 1 stays open, more switch")
    most = max(FEW_ROWS, *(max(row) for one in every for row in one.rows))
    image = axes.imshow(
        loads.rows, aspect="auto", cmap="Oranges", interpolation="nearest", vmin=0, vmax=most, origin="lower"
    )
    axes.set_xlabel("HBM channel")
    axes.set_ylabel("bank in use")
    axes.set_yticks([0, len(loads.rows) - 1] if len(loads.rows) > 1 else [0])
    axes.set_title(f"{len(loads.rows)} of 48 banks", fontsize=8, loc="right", color=TOLD)
    axes.figure.colorbar(image, ax=axes, label="rows per bank", shrink=0.9, ticks=range(0, most + 1, -(-most // 8)))


def save(figure: Figure, path: Path) -> None:
    """Writes a .png file."""
    sink = BytesIO()
    figure.savefig(sink, format="png", dpi=110)
    write_bytes(path, sink.getvalue())
