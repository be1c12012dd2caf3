"""Pointers that move within an array of a driver: sums, steps, differences, comparisons.

Knows: pointers to parts of objects that are followed, of their own types. Does not know: what lies there, statements.
Law: a pointer moves by elements within its array, or to the end behind it, where nothing is read or written; pointers
into one array are compared by their elements. Whatever else is done with an address loses what lies there.

Source: ISO C11, 6.5.6 (sums of pointers), 6.5.8 (comparisons).
"""

from __future__ import annotations

from dmaverify.machines.idma.c.aggregates import ArrayType, KnownPointer, ObjectPlace, Shape, WholeObject
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.effects import DOES, deep, target_of, variable
from dmaverify.machines.idma.c.numbers import COMPARED, CType, Value, binary, unknown
from dmaverify.machines.idma.c.run import Runner
from dmaverify.values import replace


class PointerRunner(Runner):
    """Follows pointers as they move."""

    def points(self, part: Part | None) -> bool:
        inner = self.operand(part)
        return super().points(part) or (inner is not None and self._moves(inner))

    def _moves(self, part: Part) -> bool:
        """Whether an expression is a pointer that is moved."""
        if part.type == "update_expression":
            target = target_of(self.file, part)
            return target is not None and target.type == "identifier" and _own(self.lookup(target)) is not None
        op = part.node.child_by_field_name("operator")
        if part.type != "binary_expression" or op is None or op.type not in ("+", "-") or not self.serial:
            return False
        left, right = self._pointer(part.field("left")), self._pointer(part.field("right"))
        return left != right and (left or op.type == "+")

    def _pointer(self, part: Part | None) -> bool:
        """Whether an expression is a pointer to a part of an object, of its own type."""
        part = self.operand(part)
        if part is None or not self.points(part):
            return False
        return part.type != "identifier" or _own(self.lookup(part)) is not None or not self._is_pointer(part)

    def pointed(self, part: Part | None) -> ObjectPlace:
        inner = self.operand(part)
        if inner is None or super().points(part) or not self._moves(inner):
            return super().pointed(part)
        place = _own(self.tracked(inner))
        assert place is not None
        return place

    def static_shape(self, part: Part | None) -> Shape | None:
        inner = self.operand(part)
        if inner is None or inner.type not in ("binary_expression", "update_expression") or not self._moves(inner):
            return super().static_shape(part)
        sides = [inner.field(name) for name in ("left", "right", "argument")]
        shape = super().static_shape(next(one for one in sides if self._pointer(one)))
        return CType(self.word, pointer=True, target=shape.element) if isinstance(shape, ArrayType) else shape

    def _binary_expression(self, part: Part) -> Value:
        op, sides = part.node.child_by_field_name("operator"), [part.field("left"), part.field("right")]
        sign = op.type if op is not None and self.serial else ""
        there = [self._pointer(one) for one in sides] if sign in ("+", "-", *COMPARED) else []
        if not any(there) or (sign in COMPARED and not all(there)):
            return super()._binary_expression(part)
        marks, values = list[tuple[int, int]](), list[Value]()
        for one in sides:
            assert one is not None
            marks.append(self.mark())
            found = self.tracked(one)
            array = isinstance(found, WholeObject) and found.place is not None
            values.append(self.load(found.place, one) if array else found)  # type: ignore[attr-defined]
        opened = self.open_in(part, sides, marks)
        moved = None if opened else _together(sign, values[0], values[1], f"{part}", self.word)
        if moved is not None:
            return moved
        plain = [self.plain(value, part) for value in values]
        return unknown(f"the order within `{part}` is the compiler's") if opened else binary(sign, *plain)

    def _update_expression(self, part: Part) -> Value:
        target, op = target_of(self.file, part), part.node.child_by_field_name("operator")
        held = self.lookup(target) if target is not None and target.type == "identifier" else None
        place = _own(held)
        if target is None or held is None or place is None:
            return super()._update_expression(part)
        new = _at(held, place.moved(Value(1 if op is not None and op.type == "++" else -1), f"{part}"))
        self.assign(str(target), new)
        return new if part.node.children[0].type in ("++", "--") else held

    def _assignment_expression(self, part: Part) -> Value:
        left, op = target_of(self.file, part), part.node.child_by_field_name("operator")
        held = self.lookup(left) if left is not None and left.type == "identifier" else None
        place, sign = _own(held), op.type if op is not None else ""
        if left is None or held is None or place is None or sign not in ("+=", "-="):
            return self._assigned(part, left)
        by = self.value(part.field("right"))
        now = self.lookup(left)
        if now is not held:
            return self._stored(part, left, unknown(f"the order within `{part}` is the compiler's"), in_place=True)
        new = _at(held, place.moved(by if sign == "+=" else _negative(by), f"{part}"))
        self.assign(str(left), new)
        return new

    def _reaches_out(self, side: Part) -> bool:
        """Whether an expression may do more than to set variables by their names."""
        parts = [one for one in deep(self.file, side) if one.type in DOES]
        return any(one.type == "call_expression" or not variable(self.file, one) for one in parts)

    def _assigned(self, part: Part, left: Part | None) -> Value:
        """An assignment, of which C may do either side first."""
        right, before = part.field("right"), len(self.log)
        found = super()._assignment_expression(part)
        if left is None or right is None or len(self.log) - before < 2:
            return found
        if self._reaches_out(left) and self._reaches_out(right):
            self.unread(part, "an order that C leaves open")
        return found


def _own(value: Value | None) -> ObjectPlace | None:
    """What a pointer of the type of what it points at points at."""
    if not isinstance(value, KnownPointer) or value.place is None or not value.type.pointer:
        return None
    return value.place if value.type.target == value.place.shape else None


def _at(pointer: Value, place: ObjectPlace) -> Value:
    assert isinstance(pointer, KnownPointer)
    return replace(pointer, place=place)


def _negative(value: Value) -> Value:
    return value if value.number is None else replace(value, number=-value.number)


def _together(sign: str, a: Value, b: Value, text: str, word: int) -> Value | None:
    """What two values, of which one is a pointer, make; None of what is not followed."""
    first, second = _own(a), _own(b)
    if first is not None and second is not None:
        one, other = first.element, second.element
        if first.whole is not second.whole or one is None or other is None or one[0] != other[0]:
            return None
        if sign in COMPARED:
            return Value(int(COMPARED[sign](one[1], other[1])))
        return Value(one[1] - other[1], CType(word, signed=True)) if sign == "-" else None
    pointer, place, by = (a, first, b) if first is not None else (b, second, a)
    if place is None or isinstance(by, (KnownPointer, WholeObject)) or sign not in ("+", "-"):
        return None
    return _at(pointer, place.moved(by if sign == "+" else _negative(by), text))
