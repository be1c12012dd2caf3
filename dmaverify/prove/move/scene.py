"""What a witness is told about, and how people write it: sides of a move, cells at addresses, counters, places.

Knows: how to read an address back into places and cells, by division and by `meaning` alone; names of loops.
Does not know: digits, solvers, obligations.
Law: a cell is what `meaning` says of the position that the address divides into; nothing is taken from the proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.errors import Span
from dmaverify.language.expr import Kind, axes_of
from dmaverify.language.meaning import Index, OutOfBounds, Pad, cell
from dmaverify.program.command import Command, Port
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.values import dataclass
from dmaverify.verdict import Label


@dataclass(frozen=True, slots=True)
class Cell:
    """What a unit of memory stands for. `index` None: not live; `kind` then says what it is."""

    inside: bool
    places: Mapping[str, int]
    unit: int = 0
    index: Mapping[str, int] | None = None
    kind: str = ""
    others: tuple[Mapping[str, int], ...] = ()  # of overlapping windows: the indices beside `index`

    @property
    def indices(self) -> tuple[Mapping[str, int], ...]:
        return () if self.index is None else (self.index, *self.others)


@dataclass(frozen=True, slots=True)
class Side:
    tensor: Tensor
    space: Space
    dtype_bits: int

    def cell_at(self, address: int) -> Cell:
        """The cell of a global address, by division; positions outside the declared region are not inside."""
        unit_bits = unit_bits_of(self.dtype_bits)
        places: dict[str, int] = {}
        rest, inside = address - self.tensor.base * 8 // unit_bits, True
        for place in PLACES[:-1]:
            if place not in self.space.places:
                continue
            start, stride = getattr(self.tensor, f"at_{place}"), self.space.stride(place, unit_bits)
            if (
                self.tensor.field(place).size == 1
            ):  # one position: what lies in it may be longer than the distance to the next
                value, rest = start, rest - start * stride
            else:
                value, rest = divmod(rest, stride)
            inside &= 0 <= value - start < self.tensor.field(place).size
            places[place] = value
        element, unit = divmod(rest, self.dtype_bits // unit_bits)
        inside &= 0 <= element < self.tensor.element.size
        places["element"] = element
        if not inside:
            return Cell(False, places, unit)
        position = 0
        for place in PLACES:
            start = getattr(self.tensor, f"at_{place}", 0)
            position = position * self.tensor.field(place).size + (places.get(place, start) - start)
        return self._cell(position, places, unit)

    def _cell(self, position: int, places: Mapping[str, int], unit: int) -> Cell:
        sizes = axes_of(self.tensor.mapping)
        found = cell(self.tensor.mapping, position)
        match found:
            case Pad(kind):
                return Cell(True, places, unit, None, kind.value)
            case OutOfBounds():
                return Cell(True, places, unit, None, "out-of-bounds")
        every = (found.coords,) if isinstance(found, Index) else sorted(found.indices)
        live = [one for one in every if all(value < sizes[axis] for axis, value in one)]
        if not live:
            return Cell(True, places, unit, None, Kind.TOP.value)
        first, *others = ({**dict.fromkeys(sizes, 0), **dict(one)} for one in live)
        return Cell(True, places, unit, first, others=tuple(others))


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything a witness is told about."""

    source: Side
    dest: Side
    commands: Sequence[Command]

    @property
    def unit_word(self) -> str:
        return "half byte" if unit_bits_of(self.source.dtype_bits) == 4 else "byte"


def addresses(command: Command, counters: Sequence[int]) -> tuple[int, int]:
    """Local read and write address of one unit of a command."""
    read, write = command.read.base + counters[-1], command.write.base + counters[-1]
    for loop, value in zip(command.loops, counters, strict=False):
        read, write = read + loop.read * value, write + loop.write * value
    return read, write


def full_counters(command: Command, counters: Sequence[int]) -> tuple[int, ...]:
    """Loops, then the unit in the burst (0 where the burst is a single unit)."""
    return tuple(counters) if len(counters) > len(command.loops) else (*counters, 0)


def named_counters(command: Command, counters: Sequence[int]) -> dict[str, int]:
    """Counters by the label of their loop; unnamed loops are `loop 0`, ... from the outermost."""
    out: dict[str, int] = {}
    for index, (loop, value) in enumerate(zip(command.loops, counters, strict=False)):
        name = loop.label or f"loop {index}"
        out[name if name not in out else f"{name} (loop {index})"] = value
    if command.burst > 1:
        out["in packet"] = counters[-1]
    return out


def where(side: Side, local: int, port: Port | None = None) -> str:
    """An address as people write it: `slice 3 + 128` on DM, else a plain number; with chip and cluster if needed."""
    parts = []
    for place in ("chip", "cluster"):
        start = getattr(side.tensor, f"at_{place}")
        value = getattr(port, place) if port is not None else start
        if place in side.space.places and (side.tensor.field(place).size > 1 or value != start):
            parts.append(f"{place} {value}")
    offset = local
    if "slice" in side.space.places:
        slice_, offset = divmod(local, side.space.stride("slice", unit_bits_of(side.dtype_bits)))
        parts.append(f"{side.space.slice_word} {slice_}")
    return f"{', '.join(parts)} + {offset}" if parts else str(offset)


def show_index(index: Mapping[str, int]) -> str:
    return ", ".join(f"{axis} = {value}" for axis, value in index.items()) or "the one element"


def show_cell(found: Cell) -> str:
    if not found.inside:
        return "outside the region"
    return show_index(found.index) if found.index is not None else f"{found.kind} padding"


def show_counters(named: Mapping[str, int]) -> str:
    return "   ".join(f"{label} = {value}" for label, value in named.items()) or "no loop"


def show_command(scene: Scene, index: int) -> str:
    """A command among several, with its engine."""
    engine = scene.commands[index].engine
    at = f", engine chip {engine.chip}, cluster {engine.cluster}, dmn {engine.dmn}" if engine is not None else ""
    return f"{index} of {len(scene.commands)}{at}"


def label_at(span: Span | None, text: str) -> tuple[Label, ...]:
    return (Label(span, text),) if span is not None else ()
