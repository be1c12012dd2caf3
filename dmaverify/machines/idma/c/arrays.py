"""Arrays of a driver that launches begin in: whether these stay there, which launches lie apart for that.

Knows: addresses as symbols, how long arrays are, how long they are there. Does not know: C, rules, how a run is judged.
Law: a side of a launch is in an array where its address goes with that of the array, byte by byte, rounded or not: more
or less is added, of which that address is no part. An address that goes with one in another way is open. Launches are
complete where the block of their array ends, so that sides in two arrays share no byte: both are there. What is not
shown to be so, or to lie apart, is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import Any

from dmaverify.language.numbers import Poly
from dmaverify.machines.idma.c.aggregates import Shape, StructType, innermost
from dmaverify.machines.idma.c.arguments import GivenMember, GoneArray, KnownArray, polynomial
from dmaverify.machines.idma.engine import NO_ADDRESS
from dmaverify.machines.idma.nd import Corners, Descriptor, extent, placed
from dmaverify.machines.idma.order import unordered
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import Image, ToldDescriptor
from dmaverify.prove.sizes.facts import FloorQuotient
from dmaverify.prove.sizes.shadow import number_of, poly_of
from dmaverify.prove.sizes.trace import Stuck, Trace
from dmaverify.targets.modules import Derived
from dmaverify.values import dataclass, field, replace

Base = tuple[int, str]
"""A launch and its side, `src` or `dst`."""


WRAPS = 1 << 32
"""What an integer of C is a remainder by, at the least, that may hold an address."""


class MayMeet(Stuck):
    """Launches were not shown to lie apart."""


def sides_of(told: Sequence[ToldDescriptor], setups: Sequence[Setup]) -> dict[Base, Corners]:
    """The ranges of addresses that each launch reads and writes; a side without addresses has none."""
    out = dict[Base, Corners]()
    for number, (one, setup) in enumerate(zip(told, setups, strict=True)):
        d, width = one.descriptor, setup.backend.address_width
        if d.request.src_protocol not in NO_ADDRESS:
            out[number, "src"] = extent(d, "read", width)
        if d.request.dst_protocol not in NO_ADDRESS:
            out[number, "dst"] = extent(d, "write", width)
    return out


def beside_stated(
    told: Sequence[ToldDescriptor], setups: Sequence[Setup], stated: Sequence[tuple[KnownArray, int]]
) -> tuple[ToldDescriptor, ...]:
    """Launches, with what they reach of arrays whose address the user gave, where they begin at numbers in them."""
    sides, at = sides_of(told, setups), {array.name: begin for array, begin in stated}
    based = {side: array.name for side, reached in sides.items() for array, begin in stated
             if polynomial(reached.low) is None and begin <= reached.low < begin + array.bytes}  # fmt: skip
    reached = ReachedArrays({array.name: array for array, _ in stated}, sides, based)
    own = (tuple(reached.facts(number, at.__getitem__)) for number in range(len(told)))
    return tuple(replace(one, facts=(*one.facts, *facts)) for one, facts in zip(told, own, strict=True))


def _rate(poly: Poly, symbol: str, floors: Mapping[str, FloorQuotient]) -> Fraction | None:
    """What a number grows by for each 1 of a symbol, but for what quotients round, and where integers begin again at 0;
    None where that is no one number.
    """
    total = Fraction(0)
    for mono, times in poly.terms.items():
        moving = [name for name in mono if _depends(name, symbol, floors)]
        if not moving:
            continue
        beside, floor = [name for name in mono if name != moving[0]], floors.get(moving[0])
        if len(moving) > 1 or (floor is None and beside):
            return None
        if floor is not None:
            by = floor.bottom.constant if not beside else int(floor.bottom == Poly({tuple(beside): 1}))
            if by is not None and by >= WRAPS:
                continue
            rate = _rate(floor.top, symbol, floors) if by else None
            if rate is None or not by:
                return None
            total += times * rate / by
        else:
            total += times
    return total


def _leaves_its_source(descriptor: Descriptor, width: int) -> bool:
    """Whether a descriptor leaves what it reads as it was, in whatever order it writes: it moves each row onto itself,
    or the first one onto itself and copies of that one behind it.
    """
    request, dims = descriptor.request, placed(descriptor, width)
    if request.compute or poly_of(request.src) != poly_of(request.dst):
        return False
    if all(poly_of(one.src_stride) == poly_of(one.dst_stride) for one in dims):
        return True
    return len(dims) == 1 and poly_of(dims[0].src_stride) == Poly.of(0) and dims[0].dst_stride >= request.length


def _bases(member: GivenMember) -> set[str]:
    """What the address of a member goes with, byte by byte."""
    begin = poly_of(member.begin)
    return {one for one in begin.symbols if begin.terms.get((one,)) == 1}


def whole(poly: Poly, floors: Mapping[str, FloorQuotient]) -> Poly:
    """A distance of addresses without how often integers begin again at 0."""
    wraps = {name: by for name, floor in floors.items() if (by := floor.bottom.constant or 0) >= WRAPS}
    over = [(name,) for name, by in wraps.items() if poly.terms.get((name,), 1) % by == 0]
    return Poly({mono: times for mono, times in poly.terms.items() if mono not in over})


def _depends(name: str, symbol: str, floors: Mapping[str, FloorQuotient]) -> bool:
    floor = floors.get(name)
    inner = floor.top.symbols | floor.bottom.symbols if floor is not None else frozenset[str]()
    return name == symbol or any(_depends(one, symbol, floors) for one in inner)


@dataclass
class ReachedArrays:
    """Sides of launches by the arrays, by their symbols, that they begin in (`based`)."""

    arrays: Mapping[str, KnownArray]
    sides: Mapping[Base, Corners]
    based: Mapping[Base, str] = field(default_factory=dict)
    around: dict[Base, tuple[GivenMember, bool]] = field(default_factory=dict)
    """Members that sides begin in, and whether a rule says that these stay there: of arrays, but where nothing says
    what a side points at that begins where an array and the structure do that this is in.
    """
    structures: set[Base] = field(default_factory=set)

    def find(self, trace: Trace) -> Mapping[Base, str]:
        """Looks for the arrays in a symbolic run. Raises MayMeet where an address is made of theirs in another way."""
        found = dict[Base, str]()
        begins = {symbol: poly_of(number_of(trace, symbol)) for symbol in sorted(self.arrays.keys() & trace.values)}
        for side, reached in self.sides.items():
            rates = {one: _rate(polynomial(reached.low) or Poly.of(0), one, trace.floors) for one in begins}
            other = ""
            for symbol, rate in rates.items():
                if rate is not None and rate == _rate(begins[symbol], symbol, trace.floors):
                    found[side] = symbol
                elif rate != 0:
                    other = self.arrays[symbol].name
            if other and side not in found:
                raise MayMeet(f"launch {side[0]} may begin in `{other}`, or not")
        self.based = found
        return found

    def find_members(self, trace: Trace, members: Sequence[GivenMember], pointees: Mapping[Base, Shape]) -> None:
        """Looks for the members in which sides begin, byte by byte with their addresses: in the largest of some. A side
        that points at structures begins in what holds such ones, or it means no member.
        """
        for side, reached in self.sides.items():
            low, around, of = poly_of(reached.low), list[GivenMember](), pointees.get(side)
            structure = isinstance(of, StructType)
            for one in members if not structure else (one for one in members if innermost(one.shape) == of):
                ahead, bases = low - poly_of(one.begin), _bases(one)
                with_it = all(_rate(ahead, base, trace.floors) == 0 for base in bases)
                with_it = with_it and (bool(bases) or ahead.constant is not None)
                around += [one] if with_it and 0 <= ahead.terms.get((), 0) < one.bytes else []
            self.structures |= {side} if structure and not around else set()
            if around:
                one = max(around, key=lambda one: one.bytes)
                self.around[side] = one, one.array and (of is not None or not one.first or low != poly_of(one.begin))

    def unasked(self, trace: Trace, members: Sequence[GivenMember], loaded: AbstractSet[str]) -> list[GivenMember]:
        """Members that a launch may leave without a word: one goes with the address of the member, or with what is
        `loaded` from memory, and is not seen to begin in a member and to stay there.
        """
        outside = [poly_of(reached.low) for side, reached in self.sides.items() if not self._stays(trace, side)]
        return [
            one for one in members
            if any(low.symbols & loaded or not (_bases(one) or low.symbols)
                   or any(_rate(low, base, trace.floors) != 0 for base in _bases(one)) for low in outside)
        ]  # fmt: skip

    def _stays(self, trace: Trace, side: Base) -> bool:
        """Whether a side begins in a member and stays there, of an array by a rule; or is given as a structure."""
        reached, (one, asked) = self.sides[side], self.around.get(side, (None, False))
        if one is None or asked:
            return asked or side in self.structures
        ends = (whole(poly_of(at) - poly_of(one.begin), trace.floors) for at in (reached.low, reached.end))
        first, past = (poly.constant for poly in ends)
        return first is not None and past is not None and first >= 0 and past <= one.bytes

    def are_there(self, trace: Trace, gone: Sequence[GoneArray], kept: Mapping[str, str]) -> None:
        """No launch runs on when the block of its array has ended. Raises MayMeet where that is not shown."""
        for array in gone:
            for (number, _), reached in self.sides.items() if array.key in kept else ():
                poly = polynomial(reached.low) if number in array.running or number >= array.launched else None
                if poly is not None and _rate(poly, kept[array.key], trace.floors) != 0:
                    raise MayMeet(f"launch {number} may still run where `{array.name}` is gone")

    def facts(
        self, number: int, begin_of: Callable[[str], Any], told: Callable[[int], int] = lambda begin: begin
    ) -> Iterator[Derived]:  # fmt: skip
        """What of its arrays a launch reaches, by where each begins; where a member does, as it is `told`."""
        for side in ("src", "dst"):
            symbol, (member, asked) = self.based.get((number, side)), self.around.get((number, side), (None, False))
            begun = list[tuple[Any, KnownArray | GivenMember]]()
            begun += [(begin_of(symbol), self.arrays[symbol])] if symbol is not None else []
            begun += [(told(member.begin), member)] if member is not None and asked else []
            for begin, array in begun:
                reached = self.sides[number, side]
                values = {"first": reached.low - begin, "past": reached.end - begin, "long": array.bytes}
                yield Derived("array", values, f"{side} in `{array.name}`")

    def lie_apart(self, image: Image, setups: Sequence[Setup]) -> None:
        """No launch meets itself, or an earlier one that nothing orders. Raises MayMeet where that is not shown."""
        for number, (told, setup) in enumerate(zip(image.told, setups, strict=True)):
            if not _leaves_its_source(told.descriptor, setup.backend.address_width):
                self._disjoint((number, "src"), (number, "dst"), f"launch {number} may read what it writes")
        pairs = unordered(image, setups)
        if pairs is None:
            raise MayMeet("the order of launches could not be followed")
        for n, number, kind in pairs:
            if kind == "raw":
                why = f"launch {number} may read what launch {n} still writes"
                self._disjoint((number, "src"), (n, "dst"), why)
            elif kind == "war":
                why = f"launch {number} may write what launch {n} still reads"
                self._disjoint((number, "dst"), (n, "src"), why)
            else:
                self._disjoint((number, "dst"), (n, "dst"), f"launches {n} and {number} may write the same")

    def _disjoint(self, a: Base, b: Base, why: str) -> None:
        if a not in self.sides or b not in self.sides:
            return
        one, other, first, second = self.sides[a], self.sides[b], self.based.get(a), self.based.get(b)
        if first is not None and second is not None and first != second:
            return
        if not (one.end <= other.low or other.end <= one.low):
            raise MayMeet(why)
