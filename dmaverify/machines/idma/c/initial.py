"""Initializers of arrays and structures: which value goes into which cell.

Knows: braces and their absence, designators, what is left out, compound literals. Does not know: which objects there
are, statements.
Law: a cell has the value that C gives it, cells that are left out are 0; an initializer that is not read as a whole
leaves the object without any value.

Source: ISO C11, 6.7.9 (initialization).
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.machines.idma.c.aggregates import (
    ArrayType,
    KnownPointer,
    MemoryObject,
    ObjectPlace,
    Path,
    Shape,
    StructType,
    UnreadType,
    WholeObject,
)
from dmaverify.machines.idma.c.code import File, Part
from dmaverify.machines.idma.c.effects import DOES, spreads
from dmaverify.machines.idma.c.numbers import WORD, CType, Value, converted
from dmaverify.machines.idma.c.uses import ObjectUses


class UnreadInitializer(Exception):
    """Why an initializer is not read."""


class InitialReader(ObjectUses):
    """Gives objects their first values."""

    def __init__(self, file: File, defines: Mapping[str, str], word: int = WORD) -> None:
        super().__init__(file, defines, word)
        self.marks: list[tuple[int, int]] = []  # where the values of the initializer that runs began
        self.copies: list[Path] = []  # what it sets to structures as a whole

    def literal_object(self, part: Part) -> MemoryObject:
        shape = self.static_shape(part)
        assert shape is not None
        made = self.made(f"{part}"[:40], shape, part, "")
        self.initialize(made, part.field("value"))
        return made

    def initialize(self, whole: MemoryObject, part: Part | None) -> None:
        """The values of an object by its initializer."""
        if part is None:
            return
        whole.rest = ""
        items = self._values(part)
        self.steps += len(items) // 8
        constant, whole.constant, outer, self.marks = whole.constant, False, self.marks, []
        copies, self.copies = self.copies, []
        try:
            if part.type == "initializer_list":
                self._braces(whole, (), whole.shape, part)
            else:
                self.store(ObjectPlace(whole, (), whole.shape), self.tracked(part), part)
        except UnreadInitializer as error:
            self.forget(whole, (), whole.shape, f"the initializer of `{whole.name}` is not read: {error}")
            self.unread(part, f"the initializer of `{whole.name}`")
        does = any(inner.type in DOES for one in items for inner in one.every())
        marks, self.marks, whole.constant = self.marks, outer, constant
        self.copies = copies
        if does and len(items) > 1 and marks and self.open_in(part, [*items], marks):
            self.forget(whole, (), whole.shape, f"the order within `{part}` is the compiler's")

    def _values(self, part: Part) -> list[Part]:
        """The expressions of an initializer, without braces and designators."""
        if part.type == "initializer_list":
            return [inner for one in part.parts() for inner in self._values(one)]
        value = part.field("value") if part.type == "initializer_pair" else part
        return [] if value is None else self._values(value) if value.type == "initializer_list" else [value]

    def length_of(self, part: Part) -> int:
        """How many elements an initializer gives an array without a length; 0 where that is not known."""
        at = most = 0
        for one in part.parts() if part.type == "initializer_list" else ():
            if spreads(self.file, one.field("value") or one):
                return 0
            first = next(iter(one.node.children_by_field_name("designator")), None)
            if one.type == "initializer_pair":
                index = Part(first, one.text) if first is not None else None
                number = self.value(next(iter(index.parts()), None)).number if index is not None else None
                if index is None or index.type != "subscript_designator" or type(number) is not int:
                    return 0
                at = number
            at += 1
            most = max(most, at)
        return most

    # ------------------------------------------------------------ lists

    def _braces(self, whole: MemoryObject, path: Path, shape: Shape, part: Part) -> None:
        """`{...}` for what lies at a path: the values go to its parts in order, or to those that are named."""
        whole.clear(path)
        stack: list[tuple[Path, Shape, int]] = [(path, shape, 0)]
        for item in part.parts():
            value: Part | None = item
            if item.type == "initializer_pair":
                value = item.field("value")
                stack = self._named(whole, path, shape, item)
            if (
                value is None
                or spreads(self.file, value)
                or item.node.has_error
                or item.type in ("ERROR", "preproc_call")
            ):
                raise UnreadInitializer(f"`{item}`")
            self._placed(whole, stack, value)

    def _named(self, whole: MemoryObject, path: Path, shape: Shape, item: Part) -> list[tuple[Path, Shape, int]]:
        """Where `[2].len = ...` goes."""
        stack: list[tuple[Path, Shape, int]] = []
        for node in item.node.children_by_field_name("designator"):
            one = Part(node, item.text)
            inner = next(iter(one.parts()), None)
            if one.type == "subscript_designator" and isinstance(shape, ArrayType):
                at = self.value(inner).number
                if type(at) is not int or not 0 <= at < shape.count:
                    raise UnreadInitializer(f"`{one}`")
            elif one.type == "field_designator" and isinstance(shape, StructType):
                names = [name for name, _ in shape.members]
                if str(inner) not in names:
                    raise UnreadInitializer(f"`{one}`")
                at = names.index(str(inner))
                whole.named.add((*path, str(inner)))
            else:
                raise UnreadInitializer(f"`{one}`")
            stack.append((path, shape, at))
            path, shape = _child(path, shape, at)
            if path in self.copies and len(stack) < len(item.node.children_by_field_name("designator")):
                raise UnreadInitializer(f"`{item}` sets a part of what another value sets")
        return stack

    def _item(self, part: Part) -> Value:
        self.marks.append(self.mark())
        return self.tracked(part)

    def _placed(self, whole: MemoryObject, stack: list[tuple[Path, Shape, int]], value: Part) -> None:
        """A value goes to where the stack stands, or into the first number of it; then the stack moves on."""
        held = None if value.type == "initializer_list" else self._item(value)
        inner, own = self._place(stack, value, held)
        if isinstance(own, (ArrayType, StructType)):
            if held is None:
                self._braces(whole, inner, own, value)
            else:
                outer, self.filling = self.filling, whole
                self.store(ObjectPlace(whole, inner, own), held, value)
                self.filling = outer
                self.copies.append(inner)
        elif isinstance(own, CType):
            whole.cells[inner] = converted(self._number(whole, own, value, held), own)
        elif held is not None:
            self.plain(held, value)
        else:
            for one in self._values(value):
                self.plain(self._item(one), one)
        while stack:
            path, shape, at = stack.pop()
            if at + 1 < _count(shape) or not stack:
                stack.append((path, shape, at + 1))
                return

    def _place(self, stack: list[tuple[Path, Shape, int]], value: Part, held: Value | None) -> tuple[Path, Shape]:
        """Which part a value is for, and its type: where the stack stands, or as far into it as a number goes."""
        while True:
            path, shape, at = stack[-1]
            if at >= _count(shape):
                raise UnreadInitializer(f"`{value}` is one too many")
            inner, own = _child(path, shape, at)
            if isinstance(own, UnreadType) and not own.scalar:
                if held is not None or isinstance(shape, ArrayType):
                    raise UnreadInitializer(own.why)
                return inner, own
            whole_of = isinstance(held, WholeObject) and held.place is not None and held.place.shape == own
            if held is None or whole_of or isinstance(own, (CType, UnreadType)):
                return inner, own
            known = held.number is not None or held.launch is not None
            if not known and not isinstance(held, (KnownPointer, WholeObject)):
                raise UnreadInitializer(f"`{value}` may be a structure")
            stack.append((inner, own, 0))

    def _number(self, whole: MemoryObject, own: CType, value: Part, held: Value | None) -> Value:
        """The value of a number or a pointer, in braces or without."""
        if held is None:
            inside = value.parts()
            if len(inside) > 1 or any(one.type in ("initializer_list", "initializer_pair") for one in inside):
                raise UnreadInitializer(f"`{value}`")
            return self.plain(self._item(inside[0]), value) if inside else Value(0)
        return self.plain(held, value) if whole.escaped or not self.holds_address(held, own) else held


def _child(path: Path, shape: Shape, at: int) -> tuple[Path, Shape]:
    """The part of a type with a number."""
    if isinstance(shape, StructType):
        name, inner = shape.members[at]
        return (*path, name), inner
    return (*path, at), shape.element if isinstance(shape, ArrayType) else shape


def _count(shape: Shape) -> int:
    return len(shape.members) if isinstance(shape, StructType) else shape.count if isinstance(shape, ArrayType) else 0
