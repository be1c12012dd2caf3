"""Memory as people draw it: slices and banks as a grid, the tensor's digits coloured, source beside destination.

Knows: tensors, spaces, commands as loops, the literal meaning of mappings, the elements of SVG.
Does not know: pages, files, whether a move is right (the counterexample comes with its addresses).
Law: what a box holds is said by the meaning of the mapping at its first element; the path is the commands' own order;
what is not shown is counted in words; the same move gives the same text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from math import gcd

from dmaverify.language.expr import axes_of
from dmaverify.language.meaning import Index, Pad, cell
from dmaverify.program.command import Command, Port
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.report.drawing import framed, packets_of, row_name, walked
from dmaverify.values import dataclass

COLUMNS, ROWS, STEPS = 8, 12, 400
WIDE, LEFT, TOP, HIGH = 400, 66, 34, 24
HUES = 12
BANKS, BANK_BYTES = 16, 8


@dataclass(frozen=True)
class Picture:
    """One move to be drawn: both tensors with their spaces, the commands, and the addresses of the counterexample."""

    tensors: tuple[Tensor, Tensor]
    spaces: tuple[Space, Space]
    dtype_bits: int
    commands: tuple[Command, ...] = ()
    wrong: tuple[int, int] | None = None  # read and written by the step that goes wrong
    asked: int | None = None  # where the layout asks for that element


@dataclass(frozen=True)
class Patch:
    """Some bytes in a row: where, and the index of the first element; `kind` is index, padding or outside."""

    row: int
    column: int
    start: int
    kind: str
    coords: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class MemoryGrid:
    """One side: the boxes that are shown, the names of rows and columns, and what is left out, in words."""

    boxes: tuple[Patch, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    note: str
    grain: int


# ---------------------------------------------------------------- what is shown


def grids_of(picture: Picture) -> tuple[MemoryGrid, MemoryGrid, list[tuple[int, int]]]:
    """Both sides, and the steps that lie within what is shown: (read, write) addresses of packets in their order."""
    steps = list(_walk(picture.commands))
    grids = []
    for side in (0, 1):
        touched = [pair[side] for pair in steps]
        marked = [picture.wrong[side]] if picture.wrong is not None else []
        marked += [picture.asked] if side and picture.asked is not None else []
        grids.append(_grid(picture, side, touched, marked))
    shown = [pair for pair in steps if all(_visible(grids[side], pair[side]) for side in (0, 1))]
    return grids[0], grids[1], shown[:STEPS]


def _walk(commands: Sequence[Command]) -> Iterator[tuple[int, int]]:
    if not commands:
        return
    first = commands[0]
    near = [c for c in commands if _same_place(c.read, first.read) and _same_place(c.write, first.write)][:8]
    for command in near:
        yield from walked(command, 4096 // len(near))


def _same_place(one: Port, other: Port) -> bool:
    return (one.chip, one.cluster) == (other.chip, other.cluster)


def _visible(grid: MemoryGrid, address: int) -> bool:
    return any(box.start <= address < box.start + grid.grain for box in grid.boxes)


def _grid(picture: Picture, side: int, touched: Sequence[int], marked: Sequence[int]) -> MemoryGrid:
    tensor, space = picture.tensors[side], picture.spaces[side]
    unit = unit_bits_of(picture.dtype_bits)
    width = max(1, picture.dtype_bits // unit)
    far = space.stride("slice", unit) if "slice" in space.places else 0
    base = tensor.base * 8 // unit
    grain = _grain(picture, side, far, width)
    count = max(1, -(-tensor.element.size * width // grain))  # boxes in one slice, or in all
    at = [_split(address, far) for address in [*marked, *touched]]
    if far:
        rows = _first([place for place, _ in at] or range(tensor.at_slice, tensor.at_slice + tensor.slice.size), ROWS)
        columns = _first([(offset - base) // grain for _, offset in at] or range(count), COLUMNS)
        places = [(row, column, far * place + base + grain * number)
                  for row, place in enumerate(rows) for column, number in enumerate(columns)]  # fmt: skip
        names = tuple(f"slice {place}" for place in rows)
        tops = tuple(_column_name(base + grain * number) for number in columns)
        note = f"{len(rows)} of {tensor.slice.size:,} slices, {len(columns)} of {count:,} boxes in each"
    else:
        lines = _first([(offset - base) // (grain * COLUMNS) for _, offset in at] or range(count), ROWS)
        lines = [line for line in lines if line * COLUMNS < count or line < 0 or line in lines[: len(marked)]]
        places = [(row, column, base + grain * (COLUMNS * line + column))
                  for row, line in enumerate(lines) for column in range(min(COLUMNS, max(1, count)))]  # fmt: skip
        names = tuple(f"{base + grain * COLUMNS * line:,}" for line in lines)
        tops = tuple(f"+{grain * column:,}" for column in range(min(COLUMNS, count)))
        note = f"{min(count, len(places)):,} of {count:,} boxes"
    boxes = tuple(_box(tensor, width, far, base, *place) for place in places)
    return MemoryGrid(boxes, names, tops, note, grain)


def _column_name(offset: int) -> str:
    return f"+{offset:,}|bank {offset // BANK_BYTES % BANKS}"


def _split(address: int, far: int) -> tuple[int, int]:
    return divmod(address, far) if far else (0, address)


def _first(values: Iterable[int], most: int) -> list[int]:
    """The first different values, sorted."""
    found = list(dict.fromkeys(values))[:most]
    return sorted(found)


def _grain(picture: Picture, side: int, far: int, width: int) -> int:
    """Bytes of a box: the longest run that neither a step of the commands nor a marked byte's element cuts."""
    found = 0
    for command in picture.commands:
        port = command.read if side == 0 else command.write
        found = gcd(found, command.burst, _split(port.base, far)[1] - picture.tensors[side].base)
        for loop in command.loops:
            stride = loop.read if side == 0 else loop.write
            found = gcd(found, stride if not far or stride % far else 0)
    if not found:
        found = picture.tensors[side].element.size * width // COLUMNS or width
    return max(width, found - found % width if found > width else width)


def _box(tensor: Tensor, width: int, far: int, base: int, row: int, column: int, start: int) -> Patch:
    place, offset = _split(start, far)
    sizes = axes_of(tensor.mapping)
    parts = [cell(tensor.element, (offset - base) // width)]
    if far:
        parts.append(cell(tensor.slice, place - tensor.at_slice))
    coords: dict[str, int] = {}
    for part in parts:
        if isinstance(part, Pad):
            return Patch(row, column, start, "padding")
        if not isinstance(part, Index):
            return Patch(row, column, start, "outside")
        for axis, value in part.coords:
            coords[axis] = coords.get(axis, 0) + value
    kind = "index" if all(value < sizes[axis] for axis, value in coords.items()) else "padding"
    named = tuple((axis, coords.get(axis, 0)) for axis in sizes) if kind == "index" else ()
    return Patch(row, column, start, kind, named)


# ---------------------------------------------------------------- SVG


def memory_svg(picture: Picture) -> str:
    """Source above destination in one SVG."""
    grids = grids_of(picture)
    axes = _axes(grids[:2])
    parts, y = [], 0
    for side, grid in enumerate(grids[:2]):
        inside, high = _side(picture, side, grid, axes, grids[2])
        parts.append(f'<g transform="translate(0 {y})">{inside}</g>')
        y += high + 14
    label = f"memory of the source and of the destination, coloured by {axes[0] if axes else 'nothing'}"
    return framed("memory", label, (WIDE, y), parts)


def memory_figure(picture: Picture, name: str = "") -> str:
    """Source beside destination for a page, with steps, which its script walks by the arrow keys."""
    grids = grids_of(picture)
    axes = _axes(grids[:2])
    panes = []
    for side, grid in enumerate(grids[:2]):
        inside, high = _side(picture, side, grid, axes, grids[2])
        label = f"{('source', 'destination')[side]} in {picture.tensors[side].tier}"
        panes.append(framed("memory", label, (WIDE, high), [inside]))
    held = [[_boxes_at(grids[0], read, picture), _boxes_at(grids[1], write, picture)] for read, write in grids[2]]
    told = [f"reads {_told(picture, 0, read)}, writes {_told(picture, 1, write)}" for read, write in grids[2]]
    total = sum(packets_of(command) for command in picture.commands)
    said = f"{len(grids[2]):,} of {total:,} packets can be stepped through here; " if total else ""
    buttons = "".join(f'<button type="button" data-axis="{escape(axis)}">{escape(axis)}</button>' for axis in axes)
    walk = (
        '<button type="button" data-step="-1" aria-label="step back">&#9664;</button>'
        '<button type="button" data-step="1" aria-label="step forward">&#9654;</button>'
        "<output>all packets; arrow keys step</output>"
    )
    return (
        f'<figure class="memories" tabindex="0" data-steps="{escape(json.dumps(held, separators=(",", ":")))}" '
        f'data-told="{escape(json.dumps(told, separators=(",", ":")))}">'
        f'<div class="tools">{walk if held else ""}{"<span>colour by</span>" + buttons if len(axes) > 1 else ""}</div>'
        f'<div class="panes">{"".join(panes)}</div>'
        f"<figcaption>{escape(name + ': ' if name else '')}{escape(said)}a box is named by its first element "
        f"({escape(' · '.join(axes) or 'no axis')}); {_marks(picture)}</figcaption></figure>"
    )


def _marks(picture: Picture) -> str:
    if picture.wrong is None:
        return "the line is the order of the packets."
    return "red: the byte that goes wrong, as it is read and as it is written; blue: where the layout asks for it."


def _told(picture: Picture, side: int, address: int) -> str:
    space = picture.spaces[side]
    far = space.stride("slice", unit_bits_of(picture.dtype_bits)) if "slice" in space.places else 0
    place, offset = _split(address, far)
    return f"slice {place} + {offset:,}" if far else f"{offset:,}"


def _boxes_at(grid: MemoryGrid, address: int, picture: Picture) -> list[int]:
    """The numbers of the boxes that a packet at an address covers."""
    end = address + (picture.commands[0].burst if picture.commands else 1)
    return [number for number, box in enumerate(grid.boxes) if address < box.start + grid.grain and box.start < end]


def _axes(grids: Sequence[MemoryGrid]) -> list[str]:
    """Axes that differ between the boxes, that of the most values first."""
    values: dict[str, set[int]] = {}
    for grid in grids:
        for box in grid.boxes:
            for axis, value in box.coords:
                values.setdefault(axis, set()).add(value)
    order = list(values)
    return sorted((axis for axis in order if len(values[axis]) > 1), key=order.index)


def _side(
    picture: Picture, side: int, grid: MemoryGrid, axes: Sequence[str], steps: Sequence[tuple[int, int]]
) -> tuple[str, int]:
    tensor, top = picture.tensors[side], TOP + 16
    across = (WIDE - LEFT) / max(1, len(grid.columns))
    title = f"{('source', 'destination')[side]}: {tensor.tier}"
    note = f"{grid.grain:,} B a box; {grid.note}"
    words = f'<tspan class="title">{escape(title)}</tspan> <tspan class="note">{escape(note)}</tspan>'
    parts = [f'<text x="0" y="12">{words}</text>']
    for number, name in enumerate(grid.columns):
        for line, word in enumerate(reversed(name.split("|"))):
            x, y = LEFT + across * (number + 0.5), top - 5 - 11 * line
            parts.append(f'<text class="place" x="{x:.1f}" y="{y}">{escape(word)}</text>')
    for number, name in enumerate(grid.rows):
        parts.append(row_name(name, LEFT, round(top + HIGH * (number + 0.66), 1)))
    for number, box in enumerate(grid.boxes):
        parts.append(_drawn(number, box, axes, across, top))
    parts.append(_path(grid, [pair[side] for pair in steps], across, top))
    if side and picture.asked is not None:
        parts.append(_mark(grid, picture.asked, "asked", across, top))
    if picture.wrong is not None:
        parts.append(_mark(grid, picture.wrong[side], "wrong", across, top))
    return "".join(parts), top + HIGH * max(1, len(grid.rows)) + 2


def _drawn(number: int, box: Patch, axes: Sequence[str], across: float, top: int) -> str:
    x, y = LEFT + across * box.column, top + HIGH * box.row
    values = dict(box.coords)
    word = "·".join(str(values.get(axis, 0)) for axis in axes[:3]) if box.kind == "index" else ""
    whole = ", ".join(f"{axis} = {value}" for axis, value in box.coords) or box.kind
    kind = f"h{values.get(axes[0], 0) % HUES}" if axes and box.kind == "index" else box.kind
    data = "".join(f' data-v{at}="{values.get(axis, 0) % HUES}"' for at, axis in enumerate(axes)) if box.coords else ""
    size = "" if len(word) * 6.2 < across else f' textLength="{across - 3:.0f}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<g class="box {kind}" data-n="{number}"{data}><title>{escape(whole)}</title>'
        f'<rect x="{x:.1f}" y="{y}" width="{across - 1:.1f}" height="{HIGH - 1}"/>'
        f'<text x="{x + across / 2:.1f}" y="{y + 15}"{size}>{escape(word)}</text></g>'
    )


def _centre(grid: MemoryGrid, address: int, across: float, top: int) -> tuple[float, float] | None:
    for box in grid.boxes:
        if box.start <= address < box.start + grid.grain:
            inside = (address - box.start) / grid.grain
            return LEFT + across * (box.column + 0.5 + 0.4 * inside), top + HIGH * (box.row + 0.5)
    return None


def _path(grid: MemoryGrid, addresses: Sequence[int], across: float, top: int) -> str:
    points = [found for address in addresses if (found := _centre(grid, address, across, top)) is not None]
    if len(points) < 2:
        return ""
    line = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
    x, y = points[0]
    return f'<polyline class="path" points="{line}"/><circle class="first" cx="{x:.0f}" cy="{y:.0f}" r="3"/>'


def _mark(grid: MemoryGrid, address: int, kind: str, across: float, top: int) -> str:
    for box in grid.boxes:
        if box.start <= address < box.start + grid.grain:
            x, y = LEFT + across * box.column, top + HIGH * box.row
            at = x + (across - 5) * (address - box.start) / grid.grain
            size = f'width="{across - 2:.1f}" height="{HIGH - 2}"'
            return (
                f'<rect class="mark {kind}" x="{x + 0.5:.1f}" y="{y + 0.5}" {size}/>'
                f'<rect class="byte {kind}" x="{at + 1:.1f}" y="{y + HIGH - 7}" width="4" height="5"/>'
            )
    return ""


def counterexample_places(witness: Mapping[str, object] | None) -> tuple[int, int] | None:
    """Read and written address of a witness that has both, local to the place of its command."""
    if witness is None:
        return None
    read, write = witness.get("read_address"), witness.get("write_address")
    return (read, write) if isinstance(read, int) and isinstance(write, int) else None
