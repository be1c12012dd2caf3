"""Arrays and structures as expressions of a driver use them: which cell is meant, what goes where it is not followed.

Knows: `[]`, `.`, `->`, `*` and `&` on objects of the file, types of structures, `sizeof`. Does not know: statements,
initializers.
Law: an object is followed through its own name, through variables and parameters that are pointers to it, of its own
type, and as an address in integers that are wide enough and in members of objects; whatever else its address is used
for leaves it without values (`lose`), constants excepted, and with it all whose addresses it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.machines.idma.c.aggregates import (
    MOST_CELLS,
    ArrayType,
    KnownPointer,
    MemoryObject,
    ObjectPlace,
    Path,
    Shape,
    StructType,
    UnreadType,
    WholeObject,
    cells_of,
    count_of,
    size_of,
)
from dmaverify.machines.idma.c.code import File, Part
from dmaverify.machines.idma.c.effects import DOES, ELEMENTS, root_of
from dmaverify.machines.idma.c.numbers import UNREAD, WORD, CType, Value, converted, unknown
from dmaverify.machines.idma.c.shapes import ShapeReader
from dmaverify.values import replace


class ObjectReader(ShapeReader):
    """Follows arrays and structures."""

    stack = 0  # calls that run
    steps = 0

    def __init__(self, file: File, defines: Mapping[str, str], word: int = WORD) -> None:
        super().__init__(file, defines, word)
        self.serial = 0
        self.log: list[tuple[MemoryObject, bool]] = []  # what was read, or written, in order
        self.filling: MemoryObject | None = None  # whose initializer runs
        self.reasons: dict[str, str] = {}  # why a name is not followed

    # ------------------------------------------------------------ hooks

    def escapes(self, whole: MemoryObject) -> None:
        """The address of an object goes where it is not followed."""

    def touched(self, whole: MemoryObject) -> None:
        """An object is written, or loses its values."""
        if whole is not self.filling:
            self.log.append((whole, True))

    def outside(self, part: Part, why: str) -> None:
        """A write beyond the end of an object."""

    # ------------------------------------------------------------ what is meant

    def designates(self, part: Part | None) -> bool:
        """Whether an expression is an object that is followed, or a part of one."""
        part = self.operand(part) if self.serial or (part is not None and part.type[0] == "c") else None
        if part is None:
            return False
        if part.type == "identifier":
            return isinstance(self.lookup(part), WholeObject)
        op = part.node.child_by_field_name("operator")
        if part.type == "field_expression" and op is not None and op.type == ".":
            return self.designates(part.field("argument"))
        if part.type == "compound_literal_expression":
            literal = part.field("type")
            plain = literal is not None and literal.field("declarator") is None
            return plain and isinstance(self.static_shape(part), StructType)
        follows = part.type == "subscript_expression" or (op is not None and op.type in ("->", "*"))
        return follows and part.type in ELEMENTS and self.points(part.field("argument"))

    def points(self, part: Part | None) -> bool:
        """Whether an expression is a pointer to a part of an object that is followed."""
        part = self.operand(part)
        if part is None:
            return False
        if part.type == "identifier" and isinstance(self.lookup(part), KnownPointer):
            return True
        if part.type == "pointer_expression" and str(part).startswith("&"):
            return self.designates(part.field("argument"))
        return self.designates(part) and isinstance(self.static_shape(part), ArrayType)

    def designated(self, part: Part | None) -> ObjectPlace:
        """The part of an object that an expression `designates`; its indices run."""
        part = self.operand(part)
        assert part is not None
        if part.type == "identifier":
            found = self.lookup(part)
            assert isinstance(found, WholeObject)
            assert found.place is not None
            return found.place
        if part.type == "compound_literal_expression":
            return ObjectPlace(made := self.literal_object(part), (), made.shape)
        op, argument = part.node.child_by_field_name("operator"), part.field("argument")
        if part.type == "field_expression":
            place = self.designated(argument) if op is not None and op.type == "." else self.pointed(argument)
            return place.member(str(part.field("field")))
        if part.type == "pointer_expression":
            return self.pointed(argument)
        marks, place = [self.mark()], self.pointed(argument)
        marks.append(self.mark())
        index = self.value(part.field("index"))
        if self.open_in(part, [argument, part.field("index")], marks):
            index = unknown(f"the order within `{part}` is the compiler's")
        return place.moved(index, str(part), asked=not self.differs(index))

    def pointed(self, part: Part | None) -> ObjectPlace:
        """What a pointer that `points` points at."""
        part = self.operand(part)
        assert part is not None
        found = self.lookup(part) if part.type == "identifier" else None
        if isinstance(found, KnownPointer) and found.place is not None:
            return found.place
        if part.type == "pointer_expression" and str(part).startswith("&"):
            return self.designated(part.field("argument"))
        return self.designated(part).first()

    def literal_object(self, part: Part) -> MemoryObject:
        """The object that `(struct s){...}` makes."""
        raise AssertionError(part)

    # ------------------------------------------------------------ values

    def plain(self, value: Value, part: Part) -> Value:
        """A value for what does not follow objects: addresses are lost in it."""
        if type(value) is Value:
            return value
        place = value.place if isinstance(value, (WholeObject, KnownPointer)) else None
        if place is not None and (isinstance(value, KnownPointer) or isinstance(place.shape, ArrayType)):
            self.lose(place.whole, f"the address of `{place.whole.name}` is used in `{part}`")
        return Value(value.number, value.type, value.why, value.launch)

    def lose(self, whole: MemoryObject, why: str) -> None:
        """An object whose address is used where it is not followed has no values from there on, and whoever has it has
        the objects that it points at.
        """
        if not whole.escaped:
            whole.escaped = True
            self.ready(whole)
            self.escapes(whole)
            self._loses_pointed(whole, (), why)
        if not whole.constant and not whole.lost:
            self.touched(whole)
            whole.lost = why

    def forget(self, whole: MemoryObject, path: Path, shape: Shape, why: str) -> None:
        """What lies below a path has no value; what it points at may be reached in a way that is not followed."""
        self._loses_pointed(whole, path, why)
        whole.forget(path, shape, why)

    def _loses_pointed(self, whole: MemoryObject, path: Path, why: str) -> None:
        held = [one for at, one in whole.cells.items() if at[: len(path)] == path and isinstance(one, KnownPointer)]
        for one in held:
            if one.place is not None and one.place.whole is not whole:
                self.lose(one.place.whole, why)

    def ready(self, whole: MemoryObject) -> None:
        """An object of the file has its values when it is used first."""
        initial, whole.initial = whole.initial, None
        if initial is not None:
            scopes, self.scopes, stack, self.stack = self.scopes, self.scopes[:1], self.stack, 0
            initial()
            self.scopes, self.stack = scopes, stack

    def load(self, place: ObjectPlace, part: Part) -> Value:
        """What a part of an object holds."""
        shape, whole = place.shape, place.whole
        if isinstance(shape, ArrayType):
            inner = replace(place.first())
            step = size_of(inner.shape, self.word)
            type_ = CType(self.word, pointer=True, step=step, target=inner.shape)
            return KnownPointer(None, type_, f"where `{part}` lies is not known", place=inner)
        if isinstance(shape, StructType):
            return WholeObject(None, UNREAD, f"`{part}` is a structure", place=place)
        self.ready(whole)
        self._noted(whole)
        if isinstance(shape, UnreadType):
            return unknown(f"`{part}`: {shape.why}", UNREAD)
        return unknown(place.why, shape) if place.path is None else whole.cell(place.path, shape)

    def _noted(self, whole: MemoryObject) -> None:
        whole.used = True
        if not whole.constant:
            self.log.append((whole, False))

    def store(self, place: ObjectPlace, value: Value, part: Part) -> Value:
        """A part of an object is set; what it holds then."""
        whole, shape = place.whole, place.shape
        copied = isinstance(value, WholeObject) and value.place is not None and value.place.shape == shape
        if not copied and not (place.path is not None and not whole.escaped and self.holds_address(value, shape)):
            value = self.plain(value, part)
        self.ready(whole)
        self.touched(whole)
        if whole.constant:
            whole.lost = f"`{part}` writes `{whole.name}`, which is constant"
        elif place.path is None:
            self.forget(whole, (), whole.shape, f"`{part}` sets what is not known: {place.why}")
            if place.outside:
                self.outside(part, f"{place.why}, which C leaves undefined")
        elif isinstance(shape, CType):
            whole.cells[place.path] = held = converted(value, shape)
            if place.path and isinstance(place.path[-1], str):
                whole.named.add(place.path)
            return held if not whole.lost else unknown(whole.lost, shape)
        elif isinstance(value, WholeObject) and value.place is not None and value.place.shape == shape:
            self._copied(value.place, place)
        elif not isinstance(shape, UnreadType):
            self.forget(whole, place.path, shape, f"`{part}`: {value.why}")
        return self.load(place, part)

    def _copied(self, source: ObjectPlace, to: ObjectPlace) -> None:
        self.ready(source.whole)
        self._noted(source.whole)
        if to.path is None or source.path is None or count_of(to.shape) > MOST_CELLS:
            self._loses_pointed(source.whole, (), source.why or "a copy of many values")
            self.forget(to.whole, to.path or (), to.shape, source.why or "a copy of many values")
            return
        held = [
            (path, source.whole.cell((*source.path, *path), shape))
            for path, shape in cells_of(to.shape) if isinstance(shape, CType)
        ]  # fmt: skip
        to.whole.cells.update({(*to.path, *path): one for path, one in held})

    def made(self, name: str, shape: Shape, part: Part, rest: str, *, constant: bool = False) -> MemoryObject:
        self.serial += 1
        return MemoryObject(name, shape, part, self.serial, constant, rest)

    def apart(self, name: str, value: Value, part: Part) -> WholeObject:
        """A parameter whose address is taken, as an object of its own."""
        whole = self.made(name, value.type, part, value.why)
        whole.cells[()] = value
        return WholeObject(None, value.type, value.why, place=ObjectPlace(whole, (), value.type))

    def copied(self, value: Value, name: str, part: Part) -> Value:
        """A structure as an argument or a result has it: an object of its own."""
        if not isinstance(value, WholeObject) or value.place is None or not isinstance(value.place.shape, StructType):
            return value
        whole = self.made(name, value.place.shape, part, value.why)
        self._copied(value.place, ObjectPlace(whole, (), whole.shape))
        return replace(value, place=ObjectPlace(whole, (), whole.shape))

    def kept(self, value: Value, type_: CType | None, part: Part) -> Value:
        """A value for a variable of a type: a pointer to what it points at is followed on, any other is lost."""
        target = type_.target if type_ is not None and type_.pointer else None
        if isinstance(value, KnownPointer) and value.place is not None and target == value.place.shape:
            return replace(value, type=type_ or value.type)
        is_void = isinstance(target, UnreadType) and type_ is not None and type_.step == 1
        if isinstance(value, KnownPointer) and type_ is not None and (is_void or not type_.pointer):
            return replace(value, type=type_) if self.holds_address(value, type_) else self.plain(value, part)
        place = value.place if isinstance(value, WholeObject) else None
        if place is not None and isinstance(place.shape, ArrayType):
            return self.kept(self.load(place, part), type_, part)
        return self.plain(value, part)

    def holds_address(self, value: Value, shape: Shape) -> bool:
        """Whether an integer, or a member, of a type holds an address as it is."""
        wide = isinstance(shape, CType) and shape.bits >= (self.word or 64) and (not shape.step or shape.pointer)
        return isinstance(value, KnownPointer) and isinstance(shape, CType) and (wide or shape.bits == WORD)

    # ------------------------------------------------------------ expressions

    def name(self, part: Part) -> Value:
        """A variable whose address is taken is an object of its own."""
        found = super().name(part)
        scalar = isinstance(found, WholeObject) and found.place is not None and isinstance(found.place.shape, CType)
        return self.load(found.place, part) if scalar else found  # type: ignore[attr-defined]

    def _pointer_expression(self, part: Part) -> Value:
        if str(part).startswith("&") and self.designates(part.field("argument")):
            place = self.designated(part.field("argument"))
            type_ = CType(self.word, pointer=True, step=size_of(place.shape, self.word), target=place.shape)
            return KnownPointer(None, type_, f"where `{part}` points is not known", place=place)
        if str(part).startswith("&"):
            meant = self.operand(part.field("argument"))
            if meant is not None and meant.type == "pointer_expression" and not str(meant).startswith("&"):
                return self.tracked(meant.field("argument"))
        return self.load(self.designated(part), part) if self.designates(part) else super()._pointer_expression(part)

    def _subscript_expression(self, part: Part) -> Value:
        if self.designates(part):
            return self.load(self.designated(part), part)
        return self._unfollowed_read(part, super()._subscript_expression(part))

    def _unfollowed_read(self, part: Part, found: Value) -> Value:
        """What is read of no object that is followed, with the reason why it is not."""
        why = self.reasons.get(str(root_of(part)))
        return found if found.number is not None or why is None else replace(found, why=f"`{part}`: {why}")

    def _field_expression(self, part: Part) -> Value:
        if self.designates(part):
            return self.load(self.designated(part), part)
        argument, op = part.field("argument"), part.node.child_by_field_name("operator")
        if argument is not None and argument.type == "call_expression" and op is not None and op.type == ".":
            found = self.tracked(argument)
            if isinstance(found, WholeObject) and found.place is not None:
                return self.load(found.place.member(str(part.field("field"))), part)
            return unknown(f"`{part}` is read from memory")
        return self._unfollowed_read(part, super()._field_expression(part))

    def _compound_literal_expression(self, part: Part) -> Value:
        if self.designates(part):
            return self.load(self.designated(part), part)
        self.unread(part, f"`{part}`, which is not read")
        return unknown(f"`{part}` is no integer constant")

    def _binary_expression(self, part: Part) -> Value:
        op, left, right = part.node.child_by_field_name("operator"), part.field("left"), part.field("right")
        sign = op.type if op is not None and self.serial else ""
        if sign in ("==", "!=") and (self._is_pointer(left) or self._is_pointer(right)):
            other = self.value(right if self._is_pointer(left) else left)
            if other.number == 0:
                return Value(int(sign == "!="))
        return super()._binary_expression(part)

    def _unary_expression(self, part: Part) -> Value:
        if self.serial and str(part).startswith("!") and self._is_pointer(part.field("argument")):
            return Value(0)
        return super()._unary_expression(part)

    def _cast_expression(self, part: Part) -> Value:
        if self.serial and str(part.field("type")) == "void":
            self.tracked(part.field("value"))
            return unknown(f"`{part}` has no value")
        value = part.field("value")
        if self.serial and value is not None and self.is_address(value):
            found, type_ = self.tracked(value), self.type_of(part.field("type"))
            if isinstance(found, WholeObject) and found.place is not None:
                found = self.load(found.place, value)
            if isinstance(found, KnownPointer) and type_ is not None and self.holds_address(found, type_):
                own = part.field("type")
                target = self.shape_of(own.field("type")) if own is not None and str(own).count("*") == 1 else None
                return replace(found, type=replace(type_, target=target) if type_.pointer else type_)
            return self.converted_to(self.plain(found, part), type_, str(part.field("type")))
        return super()._cast_expression(part)

    def _conditional_expression(self, part: Part) -> Value:
        sides = [part.field(side) for side in ("consequence", "alternative")]
        if not self.serial or not any(map(self.is_address, sides)):
            return super()._conditional_expression(part)
        test = self.truth(part.field("condition"))
        if test.number is None:
            for one in sides:
                self.plain(self.tracked(one), part)
            return unknown(f"`{part}` depends on {part.field('condition')}", CType(self.word, pointer=True))
        return self.tracked(sides[not test.number])

    def is_address(self, part: Part | None) -> bool:
        """Whether an expression is the address of a part of an object that is followed, as it is or as an integer."""
        part = self.operand(part)
        if part is not None and part.type == "cast_expression":
            return self.is_address(part.field("value"))
        return part is not None and (self.points(part) or isinstance(self._held(part), KnownPointer))

    def _held(self, part: Part) -> Value | None:
        """What a member of an object that is followed holds; None of another expression."""
        if part.type != "field_expression" or not self.designates(part) or any(p.type in DOES for p in part.every()):
            return None
        place = self.designated(part)
        held = place.whole.cells.get(place.path) if place.path is not None else None
        return held if not place.whole.lost else None

    def _is_pointer(self, part: Part | None) -> bool:
        """Whether a name is a pointer to an object that is followed: no null pointer."""
        part = self.operand(part) if self.serial else None
        return part is not None and part.type == "identifier" and isinstance(self.lookup(part), KnownPointer)

    def truth(self, part: Part | None) -> Value:
        """The value of a condition."""
        return Value(1) if self._is_pointer(part) else self.value(part)

    # ------------------------------------------------------------ what may be done to objects

    def mark(self) -> tuple[int, int]:
        return len(self.log), self.serial

    def open_in(self, whole: Part, parts: Sequence[Part | None], marks: Sequence[tuple[int, int]]) -> bool:
        """As `open_order`; of objects, whether one part sets what another uses. `marks` are where the parts began."""
        if sum(part is not None and part.type != "number_literal" for part in parts) < 2:
            return False
        if len(self.log) == marks[0][0]:
            return self.open_order(whole, [*parts])
        ends = [*(at for at, _ in marks[1:]), len(self.log)]
        inside = [self.log[at:end] for (at, _), end in zip(marks, ends, strict=True)]
        there = {one for events in inside for one, set_ in events if set_ and one.born <= marks[0][1]}
        met = [one for one in there if sum(any(one is other for other, _ in events) for events in inside) > 1]
        for one in met:
            self.lose(one, f"the order within `{whole}` is the compiler's")
        for part in parts if met else ():
            if part is not None:
                self.unread(part, "an order that C leaves open")
        return self.open_order(whole, [*parts]) or bool(met)
