"""What an engine that is fed with chains finds in memory: where structures lie, what is in flight, what is read of it.

Knows: objects of a driver, structures at numbers, marks of descriptors. Does not know: registers, what launches.
Law: the engine takes a word where the width of its bus says, whatever its name. While a descriptor is in flight nothing
of it is known to stay: what is written there is told, what is read is the mark, which has two values.

Source: iDMA v0.7.0, `idma_desc64_top` (completion), `idma_desc64_ar_gen_prefetch` (four descriptors are fetched ahead,
one behind the other).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dmaverify.machines.idma.c.aggregates import (
    ArrayType,
    KnownPointer,
    MemoryObject,
    ObjectPlace,
    Path,
    Shape,
    StructType,
    first_cells,
    spots_of,
)
from dmaverify.machines.idma.c.arguments import polynomial
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.descriptors import FIELDS, DescriptorReader, field_of, field_of_name, of_chain
from dmaverify.machines.idma.c.effects import DOES
from dmaverify.machines.idma.c.numbers import ULLONG, CType, Value, converted, unknown
from dmaverify.machines.idma.c.reports import SomeReport
from dmaverify.machines.idma.desc64 import SIZE, WIDTHS, DescriptorWords, layout_of
from dmaverify.values import dataclass, replace

MARK = 8
AHEAD = 5 * SIZE
"""Bytes from a descriptor on that may be fetched once it is: it, and four behind it."""
ONES = Value((1 << 64) - 1, ULLONG)
AS_MEMBER = {"dest": "dst"}


@dataclass(frozen=True, slots=True)
class FlyingDescriptor:
    """A launched descriptor: its number among all launches, the engine (a page of registers), where it lies, and its
    words as they were launched.
    """

    number: int
    page: str
    whole: MemoryObject | None
    at: int
    owner: str
    words: Mapping[str, Value]
    numbers: DescriptorWords

    def overlaps(self, whole: MemoryObject | None, at: int, size: int, most: int) -> bool:
        """Whether bytes are among the first `most` from here on."""
        return whole is self.whole and at < self.at + most and at + size > self.at


class FlightReader(DescriptorReader):
    """Follows what the engine reads and marks."""

    fetch: int = 64
    flying: list[FlyingDescriptor]
    homes: dict[str, int]  # structures at known addresses, by their owner
    rested: dict[str, dict[str, Value]]  # what is at known addresses once it is complete
    lifted: set[tuple[MemoryObject, int]]  # parts of objects that were launched
    loosed: set[tuple[MemoryObject, tuple[int, int] | None]]  # that are told as launched some time
    handed: set[MemoryObject]  # whose address a function of another file was given, and that nothing wrote since
    supposed: dict[int, bool] | None = None  # launches by whether they are complete, where a condition is tried
    asked: set[int]
    storing: ObjectPlace | None = None
    storing_at: Part | None = None

    # ------------------------------------------------------------ objects that the engine reads

    def engine_reads(self, shape: Shape, words: Collection[str]) -> bool:
        names = {field_of_name(str(path[-1])) for path, _ in first_cells(shape)}
        return self.chained and set(FIELDS) <= names and set(words) <= {"static", "volatile"}

    def begin(self) -> None:
        """A function begins: what objects of the file hold is known where it is the only one that there is."""
        for whole, (initial, _) in self.shared.items():
            whole.cells.clear()
            whole.named.clear()
            whole.escaped, whole.lost, whole.initial = False, "", initial if self.sole else None
            whole.rest = "" if self.sole else f"`{whole.name}` may hold anything where the function begins"

    def finish(self) -> None:
        super().finish()
        for whole in self.shared:
            if whole.named and not whole.escaped:
                self.escapes(whole)

    # ------------------------------------------------------------ where things lie

    def member_spot(self, shape: object, path: Path) -> tuple[int, int, Path, CType] | None:
        """The first number of a member of a structure, where its layout is known."""
        spots = spots_of(shape, self.word) if isinstance(shape, StructType) else []
        return next((spot for spot in spots if spot[2][: len(path)] == path), None)

    def spot(self, place: ObjectPlace) -> tuple[int, int] | None:
        """(first byte, bytes) of a part of an object."""
        own = place.path
        found = [] if own is None else [s for s in spots_of(place.whole.shape, self.word) if s[2][: len(own)] == own]
        return (found[0][0], found[-1][0] + found[-1][1] - found[0][0]) if found else None

    def struct_of(self, field: Part) -> tuple[Shape | None, Value]:
        """The structure that a member belongs to, and its address, where it lies at a number."""
        argument, op = self.operand(field.field("argument")), field.node.child_by_field_name("operator")
        if argument is None or any(one.type in DOES for one in argument.every()):
            return None, unknown(f"where `{field}` lies is not followed")
        if op is not None and op.type == "->":
            shape, at = self.static_shape(argument), self.value(argument)
            shape = getattr(shape, "target", None)
            if shape is None and argument.type == "cast_expression":
                own = argument.field("type")
                shape = self.shape_of(own.field("type")) if own is not None and str(own).count("*") == 1 else None
            return shape, at
        if argument.type == "subscript_expression":
            inner = self.operand(argument.field("argument"))
            kind = self.kinds.get(str(inner))
            shape = kind.element if isinstance(kind, ArrayType) else getattr(self.static_shape(inner), "target", None)
            return shape, self.element(argument)
        if argument.type == "pointer_expression":
            return self.static_shape(argument), self.value(argument.field("argument"))
        name = f"&{argument}"
        shape = self.kinds.get(str(argument)) or self.static_shape(argument)
        return shape, self.defined(name, None) if name in self.defines else unknown(name)

    def owner_of(self, field: Part) -> str:
        if not self.chained:
            return super().owner_of(field)
        _, at = self.struct_of(field)
        if at.number is None:
            return super().owner_of(field)
        owner = named(at.number)
        self.homes[owner] = at.number
        return owner

    def as_laid(self, field: Part, name: str, value: Value) -> Value:
        shape = self.struct_of(field)[0] if self.chained else None
        if not isinstance(shape, StructType):
            if self.chained:
                self.conditions[f"`{field}` lies where a fetch bus of {self.fetch} bits takes it"] = None
            return value
        spot = self.member_spot(shape, (str(field.field("field")),))
        return self._checked(name, value, spot[:2] if spot else None, shape)

    def _checked(self, name: str, value: Value, spot: tuple[int, int] | None, shape: StructType) -> Value:
        """A member as the engine finds it: none where it looks for it elsewhere."""
        own = next(w for w in WIDTHS if AS_MEMBER.get(w, w) == name)
        wanted = layout_of(self.fetch)[own], WIDTHS[own]
        if spot == wanted:
            return converted(value, CType(8 * spot[1]))
        if spot is None:
            return unknown(f"how `{shape.name}` lies in memory is not known: --define __SIZEOF_POINTER__=4, or 8")
        return unknown(
            f"it has {spot[1]} bytes, {spot[0]} behind the first of `{shape.name}`, and a fetch bus of {self.fetch} "
            f"bits takes {wanted[1]} bytes, {wanted[0]} behind"
        )

    def again(self, owner: str, field: Part) -> None:
        if owner not in self.homes:
            super().again(owner, field)

    def placed(self, field: Part, value: Value) -> None:
        if self.chained and (field_of(field) or of_chain(str(field.field("field")))):
            owner = self.owner_of(field)
            if owner in self.rested:
                self.objects[owner] = self.rested.pop(owner)
                self.written[owner] = field
            if owner in self.homes:
                self.raced(None, self.homes[owner], SIZE, field)
        super().placed(field, value)

    def raced(self, whole: MemoryObject | None, at: int, size: int, part: Part) -> None:
        """Something writes where the engine may be reading."""
        for one in self.flying:
            if one.overlaps(whole, at, size, AHEAD):
                ahead = "" if one.overlaps(whole, at, size, SIZE) else " ahead"
                self.doubted(part, f"it is written while launch {one.number} may run, which may fetch it{ahead}")
                return

    # ------------------------------------------------------------ objects in flight

    def touched(self, whole: MemoryObject) -> None:
        super().touched(whole)
        if whole is self.filling or not any(one.whole is whole for one in self.flying):
            return
        if self.storing is None or self.storing.whole is not whole or (spot := self.spot(self.storing)) is None:
            self.conditions[f"`{whole.name}` is not written while a launch of it may run"] = None
        else:
            self.raced(whole, *spot, self.storing_at or whole.part)

    def lose(self, whole: MemoryObject, why: str) -> None:
        super().lose(whole, why)
        self.handed.discard(whole)

    def store(self, place: ObjectPlace, value: Value, part: Part) -> Value:
        self.handed.discard(place.whole)
        self.storing, self.storing_at = place, part
        try:
            return super().store(place, value, part)
        finally:
            self.storing = None

    def load(self, place: ObjectPlace, part: Part) -> Value:
        found = super().load(place, part)
        if isinstance(place.shape, CType) and (spot := self.spot(place)) is not None:
            return self.marked(place.whole, *spot, place.shape) or found
        return found

    def word_at(self, whole: MemoryObject, low: int, size: int) -> Value:
        """The bytes of an object as one number, whatever its members are."""
        high = low + size
        own = [spot for spot in spots_of(whole.shape, self.word) if spot[0] < high and spot[0] + spot[1] > low]
        values = [whole.cell(path, type_) for _, _, path, type_ in own]
        if len(own) == 1 and own[0][:2] == (low, size):
            return values[0]
        why = next((value.why for value in values if value.number is None), "")
        covered = sum(min(high, first + many) - max(low, first) for first, many, _, _ in own)
        if why or covered < size:
            return unknown(why or f"`{whole.name}` has no {size} bytes {low} behind its first")
        word = 0
        for (first, many, _, _), value in zip(own, values, strict=True):
            held = converted(value, CType(8 * many)).number or 0
            word = word + (held * (1 << 8 * (first - low)) if first >= low else held // (1 << 8 * (low - first)))
        return Value(word % (1 << 8 * size), CType(8 * size))

    def marked(self, whole: MemoryObject | None, at: int, size: int, type_: CType) -> Value | None:
        """What is read of a mark: where a condition is tried, what that supposes; None of everything else."""
        for one in self.flying:
            if not one.overlaps(whole, at, size, MARK):
                continue
            if self.supposed is None:
                return Value(None, type_, "the engine writes its mark there", report=SomeReport())
            self.asked.add(one.number)
            if at < one.at or at + size > one.at + MARK:
                return unknown("a part of a mark", type_)
            if self.supposed.get(one.number, True):
                return converted(ONES, type_)
            return self._launched_word(one, at - one.at, size, type_)
        return None

    def _launched_word(self, one: FlyingDescriptor, at: int, size: int, type_: CType) -> Value:
        """What a mark held when it was launched."""
        held = 0
        for name, first in layout_of(self.fetch).items():
            number = converted(one.words[name], ULLONG).number if first < MARK else 0
            if number is None:
                return unknown("a link that is no number", type_)
            held = held + number * (1 << 8 * first) if first < MARK else held
        if at or size < MARK:
            held = held // (1 << 8 * at) % (1 << 8 * size)
        return converted(Value(held, ULLONG), type_)

    def _pointer_expression(self, part: Part) -> Value:
        argument = part.field("argument")
        if not str(part).startswith("&") and not self.designates(part) and self.is_address(argument):
            found = self.tracked(argument)
            target = found.type.target
            place = found.place if isinstance(found, KnownPointer) else None
            if isinstance(target, CType) and place is not None and (spot := self.spot(place)) is not None:
                self.ready(place.whole)
                mark = self.marked(place.whole, spot[0], target.size, target)
                if mark is None and (place.whole, spot[0]) in self.lifted:  # it is complete
                    return replace(self.word_at(place.whole, spot[0], target.size), type=target)
                return mark or unknown(f"`{part}` is read as another type", target)
        return super()._pointer_expression(part)

    def foreign_writes(self) -> None:
        """A function of another file may write what it can name."""
        for whole, (_, own) in self.shared.items():
            self.ready(whole)
            if not own and not whole.lost:
                self.forget(whole, (), whole.shape, f"`{whole.name}` may be written in another file")

    def gone(self, whole: MemoryObject, owner: Path) -> bool:
        place = ObjectPlace(whole, owner, whole.shape)
        spot = self.spot(place) if self.chained else None
        self.loosed.add((whole, spot))
        return spot is not None and (whole, spot[0]) in self.lifted


def named(number: int | None) -> str:
    """An address in words."""
    poly = None if number is None else polynomial(number)
    return "nowhere" if number is None else f"0x{number:x}" if poly is None else str(poly)
