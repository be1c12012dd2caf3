"""Tensors by the definitions of the core: where an address lies, what cell stands there. One case a constructor.

Knows: mapping trees, places of a tier, the vocabulary of core/mapping.smt2.
Does not know: digits, layouts, commands; the folding text of `cells`, which decides the same for plans at once.
Law: the text says what `meaning.cell` and `meaning.finalize` say, literally: every node states its own range, a pair
names quotient and remainder, and a coordinate is the sum over the tree.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.language.affine import Lin
from dmaverify.language.expr import (
    Broadcast,
    Drop,
    Expr,
    Kind,
    Modulo,
    Padding,
    Pair,
    Resize,
    Stride,
    Symbol,
    axes_of,
)
from dmaverify.program.space import SPAN, Space, unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.move.script import ScriptWriter, conjunction, disjunction, text_of
from dmaverify.prove.smt import number
from dmaverify.values import dataclass

OUT = "out"


class NotCovered(Exception):
    """What the questions from definitions do not speak of, in words."""


@dataclass(frozen=True, slots=True)
class CellNames:
    """Names of conditions, the coordinate of each axis as text and as a sum. `byte` counts within the element."""

    live: str
    bottom: str
    zero: str
    out: str
    coordinates: Mapping[str, str]
    byte: str
    sums: Mapping[str, Lin]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a unit lies in a tensor: a position for every class of place, and the unit within the element."""

    places: Mapping[str, Lin]
    byte: Lin
    inside: str  # every position lies in its range


def width_of(dtype_bits: int) -> int:
    return dtype_bits // unit_bits_of(dtype_bits)


def position_of(
    writer: ScriptWriter, side: str, tensor: Tensor, space: Space, dtype_bits: int, port: tuple[int | Lin, int | Lin],
    address: Lin,
) -> Position:  # fmt: skip
    """The positions of an address, by named quotients. `port` are chip and cluster, which an address does not reach."""
    unit, width = unit_bits_of(dtype_bits), width_of(dtype_bits)
    found: dict[str, Lin] = {}
    for place in space.places:
        start = getattr(tensor, f"at_{place}", 0)
        if place in SPAN:
            found[place] = Lin(-start) + dict(zip(("chip", "cluster"), port, strict=True))[place]
        elif place != "element":
            stride = space.stride(place, unit)
            if _runs_on(tensor, place, stride, width):
                raise NotCovered(f"a {place} shorter than what lies in it")
            quotient, address = writer.split(f"{side}.{place}", address, stride)
            found[place] = quotient + -start
    rest, byte = address + -(tensor.base * 8 // unit), Lin(0)
    if width > 1:
        rest, byte = writer.split(f"{side}.element", rest, width)
    found["element"] = rest
    writer.bounded(rest)
    inside = [f"(core/in-range {text_of(at)} {number(tensor.field(place).size)})" for place, at in found.items()]
    return Position(found, byte, writer.truth(f"{side}.inside", conjunction(inside)))


def _runs_on(tensor: Tensor, place: str, stride: int, width: int) -> bool:
    return bool(tensor.element.size * width > stride and tensor.field(place).size == 1)


def address_of(tensor: Tensor, space: Space, dtype_bits: int, at: Position) -> Lin:
    """The address, within its port, of a position."""
    unit = unit_bits_of(dtype_bits)
    out = at.places["element"] * width_of(dtype_bits) + at.byte + tensor.base * 8 // unit
    for place in space.places:
        if place not in SPAN and place != "element":
            out = out + (at.places[place] + getattr(tensor, f"at_{place}")) * space.stride(place, unit)
    return out


def cell_at(writer: ScriptWriter, side: str, tensor: Tensor, at: Position) -> CellNames:
    """The finalized cell of a tensor at a position. Raises NotCovered for windows."""
    tree = _Tree(writer, side)
    sizes: dict[str, int] = {}
    for place in PLACES:
        expr = tensor.field(place)
        if place in at.places:
            tree.visit(expr, at.places[place])
        elif expr.size != 1:
            raise NotCovered(f"a mapping of {place}s that the tier does not have")
        sizes.update(axes_of(expr))
    for axis, text in tree.texts.items():
        tree.holds(f"(not (core/digit-live {text} {number(sizes[axis])}))", Kind.TOP)
    live = writer.truth(f"{side}.live", conjunction([f"(not {c})" for c, _ in tree.kinds] or ["true"]))
    named = {kind: writer.truth(f"{side}.{kind_name(kind)}", tree.first_is(kind)) for kind in (*Kind, OUT)}
    return CellNames(live, named[Kind.BOTTOM], named[Kind.ZERO], named[OUT], tree.texts, text_of(at.byte), tree.sums)


def kind_name(kind: Kind | str) -> str:
    return kind if isinstance(kind, str) else kind.value


class _Tree:
    """Conditions in order of precedence (the major side of a pair first), coordinates as sums."""

    def __init__(self, writer: ScriptWriter, side: str) -> None:
        self.writer, self.side = writer, side
        self.kinds: list[tuple[str, Kind | str]] = []
        self.texts: dict[str, str] = {}
        self.sums: dict[str, Lin] = {}
        self.pairs = 0

    def holds(self, text: str, kind: Kind | str) -> None:
        """A condition under which the cell is of this kind, unless an earlier one holds."""
        self.kinds.append((self.writer.truth(f"{self.side}.k{len(self.kinds)}", text), kind))

    def first_is(self, kind: Kind | str) -> str:
        """The first condition that holds is of this kind."""
        found = []
        for index, (text, own) in enumerate(self.kinds):
            if own == kind:
                found.append(conjunction([*(f"(not {c})" for c, _ in self.kinds[:index]), text]))
        return disjunction(found)

    def visit(self, expr: Expr, at: Lin) -> None:
        self.holds(f"(not (core/in-range {text_of(at)} {number(expr.size)}))", OUT)
        match expr:
            case Symbol(name, _):
                self.texts[name] = f"(core/coordinate {self.texts.get(name, '0')} {text_of(at)} 1)"
                self.sums[name] = self.sums.get(name, Lin(0)) + at
            case Broadcast():
                pass
            case Stride(inner, by):
                self.visit(inner, at * by)
            case Modulo(inner, _) | Resize(inner, _):
                self.visit(inner, at)
            case Padding(inner, _, kind):
                self.holds(f"(not (core/digit-live {text_of(at)} {number(inner.size)}))", kind)
                self.visit(inner, at)
            case Drop(inner, first):
                self.visit(inner, at + first)
            case Pair(left, right):
                self.pairs += 1
                high, low = self.writer.split(f"{self.side}.s{self.pairs}", at, right.size)
                self.visit(left, high)
                self.visit(right, low)
            case _:
                raise NotCovered(f"the window `{expr}`, which is a relation")
