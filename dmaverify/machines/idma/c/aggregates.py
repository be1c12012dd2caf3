"""Arrays and structures of C: their types, how long they are, and what the cells of one object hold.

Knows: elements, members, layout by the width of a pointer, which cell a path leads to. Does not know: syntax, names.
Law: a cell has the value that was stored last, converted to its type, or none; an object whose address went where it is
not followed (`lost`) has no values from there on, and a size that compilers differ in is 0.

Source: ISO C11, 6.7.2.1 (structures), 6.5.3.4 (`sizeof`); 64-bit integers are aligned to 4 or to 8 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Union

from dmaverify.language.numbers import Symbolic
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.numbers import WORD, CType, Value, converted, unknown
from dmaverify.values import dataclass, field, replace

MOST_CELLS = 4096
MOST_ASKED = 16  # elements of an array of which an argument chooses one: each is asked for
Path = tuple[Union[int, str], ...]


@dataclass(frozen=True, slots=True)
class UnreadType:
    """A type that is not read, and why; `scalar` where it takes one initializer all the same; `of` says how it is laid
    out.
    """

    why: str
    scalar: bool = False
    of: Shape | None = None


@dataclass(frozen=True, slots=True)
class ArrayType:
    """Elements of one type; an array of arrays has rows."""

    element: Shape
    count: int


@dataclass(frozen=True, slots=True)
class StructType:
    """Members in order. `packed` leaves no gaps; where it is not `laid`, its layout is not known."""

    name: str
    members: tuple[tuple[str, Shape], ...]
    packed: bool = False
    laid: bool = True

    def member(self, name: str) -> Shape:
        missing = UnreadType(f"`{self.name}` has no member `{name}` that is read")
        return next((shape for own, shape in self.members if own == name), missing)


Shape = Union[CType, ArrayType, StructType, UnreadType]


def size_of(shape: Shape, word: int) -> int:
    """In bytes; 0 where it is not known, or differs by how 64-bit integers are aligned."""
    found = {_layout(shape, wide) for wide in ((8,) if word == 64 else (4, 8))}
    return found.pop()[0] if len({size for size, _ in found}) == 1 else 0


def offset_of(shape: Shape, path: Path, word: int) -> int | None:
    """Where a part lies in an object of a type, in bytes; None where that is not known, or the compiler's."""
    at = 0
    for step in path:
        if isinstance(step, int):
            shape = shape.element if isinstance(shape, ArrayType) else UnreadType("an element of no array")
            size = size_of(shape, word)
            if step and not size:
                return None
            at += step * size
        else:
            before = {_before(shape, step, wide) for wide in ((8,) if word == 64 else (4, 8))}
            if len(before) > 1 or None in before or not isinstance(shape, StructType):
                return None
            at, shape = at + (before.pop() or 0), shape.member(step)
    return at


def _before(shape: Shape, name: str, wide: int) -> int | None:
    """Where a member of a structure begins."""
    for own, _, at, size, _ in _members(shape, wide):
        if not size or own == name:
            return at if size else None
    return None


def _members(shape: Shape, wide: int) -> Iterator[tuple[str, Shape, int, int, int]]:
    """The members of a structure: name, type, where each begins, its size and alignment; where a size is not known it
    is 0, and where those behind it begin is not known, either.
    """
    end = 0
    for name, one in shape.members if isinstance(shape, StructType) and shape.laid else ():
        size, align = _layout(one, wide)
        align = 1 if isinstance(shape, StructType) and shape.packed else max(align, 1)
        end = -(-end // align) * align
        yield name, one, end, size, align
        end += size


def spots_of(shape: Shape, word: int) -> list[tuple[int, int, Path, CType]]:
    """(byte, size, path, type) of every number below a type; none where its layout is not known, or the compiler's."""
    wides = (8,) if word == 64 else (4, 8)
    found = [_spots(shape, wide) for wide in wides] if all(_layout(shape, wide)[0] for wide in wides) else []
    return found[0] if found and all(one == found[0] for one in found) else []


def _spots(shape: Shape, wide: int, at: int = 0, path: Path = ()) -> list[tuple[int, int, Path, CType]]:
    shape = shape.of or shape if isinstance(shape, UnreadType) else shape
    if isinstance(shape, CType):
        return [(at, shape.size, path, shape)]
    if isinstance(shape, ArrayType):
        step = _layout(shape.element, wide)[0]
        return [x for n in range(shape.count) for x in _spots(shape.element, wide, at + n * step, (*path, n))]
    return [x for name, one, own, *_ in _members(shape, wide) for x in _spots(one, wide, at + own, (*path, name))]


def _layout(shape: Shape, wide: int) -> tuple[int, int]:
    """(bytes, alignment); (0, 0) where they are not known."""
    shape = shape.of or shape if isinstance(shape, UnreadType) else shape
    if isinstance(shape, CType):
        return (shape.size, min(shape.size, wide)) if shape.bits > WORD else (0, 0)
    if isinstance(shape, ArrayType):
        size, align = _layout(shape.element, wide)
        return size * shape.count, align
    if isinstance(shape, UnreadType) or not shape.laid:
        return 0, 0
    end, most = 0, 1
    for _, _, at, size, align in _members(shape, wide):
        if not size:
            return 0, 0
        end, most = at + size, max(most, align)
    return -(-end // most) * most, most


def cells_of(shape: Shape, path: Path = ()) -> Iterator[tuple[Path, Shape]]:
    """Every path to a number below a type, with its type."""
    if isinstance(shape, ArrayType):
        for index in range(shape.count):
            yield from cells_of(shape.element, (*path, index))
    elif isinstance(shape, StructType):
        for name, one in shape.members:
            yield from cells_of(one, (*path, name))
    else:
        yield path, shape


def innermost(shape: Shape) -> Shape:
    """What an array holds, or an array of arrays; else the type itself."""
    while isinstance(shape, ArrayType):
        shape = shape.element
    return shape


def first_cells(shape: Shape) -> list[tuple[Path, Shape]]:
    """The cells of one element of an array, or of a structure."""
    shape = innermost(shape)
    return list(cells_of(shape)) if isinstance(shape, StructType) and count_of(shape) <= MOST_CELLS else []


def count_of(shape: Shape) -> int:
    """How many cells a type has."""
    if isinstance(shape, ArrayType):
        return shape.count * count_of(shape.element)
    return sum(count_of(one) for _, one in shape.members) if isinstance(shape, StructType) else 1


@dataclass(eq=False)
class MemoryObject:
    """An array or a structure. `rest` is why cells that nobody set have no value; without it they are 0."""

    name: str
    shape: Shape
    part: Part
    born: int
    constant: bool = False
    rest: str = ""
    cells: dict[Path, Value] = field(default_factory=dict)
    lost: str = ""
    escaped: bool = False
    used: bool = False  # the program reads a value of it
    named: set[Path] = field(default_factory=set)  # members that were set by their names
    initial: Callable[[], None] | None = None  # what gives it its values, when they are asked for

    def cell(self, path: Path, type_: CType) -> Value:
        if self.lost or (path not in self.cells and self.rest):
            return unknown(self.lost or self.rest, type_)
        return self.cells[path] if path in self.cells else converted(Value(0), type_)

    def forget(self, path: Path, shape: Shape, why: str) -> None:
        """What lies below a path has no value, until it is set again."""
        if not path or count_of(shape) > MOST_CELLS:
            self.cells.clear()
            self.rest = why
            return
        for at, one in cells_of(shape, path):
            self.cells[at] = unknown(why, one if isinstance(one, CType) else CType(-1))

    def clear(self, path: Path) -> None:
        """What lies below a path is 0, as what an initializer leaves out."""
        for at in [at for at in self.cells if at[: len(path)] == path]:
            del self.cells[at]


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """A part of an object; `path` is None where it is not known which, for the reason `why`."""

    whole: MemoryObject
    path: Path | None
    shape: Shape
    why: str = ""
    outside: bool = False
    end: Path | None = None  # where `path` would be, of the end behind an array
    far: tuple[Path, tuple[tuple[Shape, int], ...]] | None = None  # where it lies: so many of each type behind a path

    @property
    def element(self) -> tuple[Path, int] | None:
        """The array that an element is of, and its number, or that of the end; None of what is no element."""
        own = self.end if self.path is None else self.path
        return (own[:-1], own[-1]) if own and isinstance(own[-1], int) else None

    def member(self, name: str) -> ObjectPlace:
        own = self.shape
        none = own if isinstance(own, UnreadType) else UnreadType(f"`.{name}` of what is no structure")
        shape = own.member(name) if isinstance(own, StructType) else none
        path = None if self.path is None else (*self.path, name)
        return replace(self, path=path, shape=shape, end=None, far=None)

    def first(self) -> ObjectPlace:
        """The first element of an array: what its name points at."""
        shape = self.shape.element if isinstance(self.shape, ArrayType) else UnreadType("an element of no array")
        return replace(self, path=None if self.path is None else (*self.path, 0), shape=shape, end=None)

    def moved(self, by: Value, text: str, *, asked: bool = True) -> ObjectPlace:
        """The element so many behind this one; which it is of a few is `asked` where an argument decides."""
        own = self.end if self.path is None else self.path
        if own is None:
            if self.far is None or by.number is None:
                return replace(self, far=None)
            return replace(self, far=(self.far[0], (*self.far[1], (self.shape, by.number))))
        last = own[-1] if own else ""
        above = self.whole.shape
        for step in own[:-1]:
            above = above.element if isinstance(above, ArrayType) else _member(above, str(step))
        first, count = (last, above.count) if isinstance(above, ArrayType) and isinstance(last, int) else (0, 1)
        number = by.number
        far = None if by.number is None else (own, ((self.shape, by.number),))
        if isinstance(number, Symbolic):
            few = range(-first, count - first) if asked and count <= MOST_ASKED else ()
            number = next((n for n in few if number == n), None)
        if number is None:
            why = by.why or f"the index of `{text}` is an argument"
            return replace(self, path=None, end=None, why=why, outside=False, far=far)
        at = first + int(number)
        if not 0 <= at < count:
            why = f"`{text}` is element {at}, and `{self.whole.name}` has {count} there"
            end = (*own[:-1], at) if at == count and isinstance(last, int) else None
            return replace(self, path=None, why=why, outside=True, end=end, far=far)
        here = replace(self, path=(*own[:-1], at), end=None, outside=False, far=None)
        return here if isinstance(last, int) else self


def _member(shape: Shape, name: str) -> Shape:
    return shape.member(name) if isinstance(shape, StructType) else UnreadType(name)


def place_in(place: ObjectPlace, word: int) -> int | None:
    """How far into its object a part lies, in bytes; None where that is not known."""
    path, more = place.far or (place.path, ())
    at = None if path is None else offset_of(place.whole.shape, path, word)
    for shape, number in more:
        size = size_of(shape, word)
        at = at + number * size if at is not None and size else None
    return at


def member_around(place: ObjectPlace) -> tuple[str, Shape, Path]:
    """The array, or the member, of an object in which a part lies: its name, its type, and where it is. Rows of an
    array are in the array.
    """
    path, name = place.far[0] if place.far is not None else place.path or (), place.whole.name
    shape: Shape = place.whole.shape
    held: tuple[str, Shape, Path] | None = None
    for depth, step in enumerate(path):
        if isinstance(shape, ArrayType):
            held, shape = held or (name, shape, path[:depth]), shape.element
        else:
            held, shape = None, _member(shape, str(step))
        name += f"[{step}]" if isinstance(step, int) else f".{step}"
    return held or (name, shape, path)


@dataclass(frozen=True, slots=True)
class WholeObject(Value):
    """The value of a name, or an expression, that is an array or a structure as a whole."""

    place: ObjectPlace | None = None


@dataclass(frozen=True, slots=True)
class KnownPointer(Value):
    """A pointer to a part of an object that is followed."""

    place: ObjectPlace | None = None
