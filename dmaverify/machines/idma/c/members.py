"""Members and rows behind pointers that a caller gives: where they lie, and which ones have their address taken.

Knows: types of what pointers point at, offsets in them, what an argument of a launch points at by its text and type.
Does not know: what lies there, objects of the file, how far launches reach (`arrays`).
Law: the place of a member is computed, not read: the pointer and an offset that all compilers agree on, or nothing.
What a pointer means, the member or the structure that begins there, is said where its text or its type says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.machines.idma.c.aggregates import ArrayType, Shape, StructType, offset_of, size_of
from dmaverify.machines.idma.c.arguments import GivenMember, KnownArray
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.effects import DOES, ELEMENTS, root_of
from dmaverify.machines.idma.c.launches import Launcher
from dmaverify.machines.idma.c.names import RuntimeCall
from dmaverify.machines.idma.c.numbers import CType, Value


class MemberReader(Launcher):
    """A launcher that finds what is named through pointers, in runs with arguments."""

    lays_out = True
    """Whether addresses of objects of a function have a meaning beside others."""
    laid: Mapping[str, StructType] = {}
    """Structures of the file that are not followed, since others may change them: where they lie is one symbol each."""

    def _object(self, part: Part, declarator: Part, name: str, initial: Part | None) -> bool:
        made = super()._object(part, declarator, name, initial)
        odd = any(one.type == "attribute_specifier" for one in part.parts())
        shape = None if made or odd or len(self.scopes) > 1 else self.declared_shape(part.field("type"), declarator)[1]
        if isinstance(shape, StructType) and size_of(shape, self.word):
            self.laid = {**self.laid, name: shape}
        return made

    def static_shape(self, part: Part | None) -> Shape | None:
        found = super().static_shape(part)
        return found if found is not None else self.laid_at(self.operand(part))

    def laid_at(self, part: Part | None) -> StructType | None:
        """The type of a structure of the file that is named here."""
        name = f"{part}"
        plain = part is not None and part.type == "identifier" and self._reads()
        hidden = f"&{name}" in self.defines or any(name in scope for scope in self.scopes[1:])
        return self.laid.get(name) if plain and not hidden else None

    def begin_of(self, name: str, type_: CType, key: str, long: int, *, each: bool = False) -> Value:
        """The address of an object of the file: the same symbol for as long as the object is there."""
        assert self.arguments is not None
        found = self.arguments.same(name, type_, key, each=each and self.arguments.rounds > 0, long=long)
        symbol, symbols = self.arguments.kept[key], self.arguments.symbols
        if long and 0 < symbols.reach < (self.word or 64):
            self.conditions[f"objects of the file lie below 2^{symbols.reach}"] = None
        symbols.each |= {symbol} if each and self.arguments.rounds > 0 else set()
        symbols.places.add(symbol)
        if long:
            symbols.arrays[symbol] = KnownArray(name, long)
        else:
            self.conditions[f"no launch leaves {self.arrays.get(name, '')}{name}"] = None
        return found

    def _launched(self, call: Part, kind: RuntimeCall, values: list[Value]) -> Value:
        number, given = len(self.told), call.field("arguments")
        shapes = [_target(value.type) for value in values]
        found = super()._launched(call, kind, values)
        if len(self.told) > number and self._reads() and given is not None:
            for side, shape, part in zip(("dst", "src"), shapes, given.parts(), strict=False):
                if (shape := self._pointee(part) or shape) is not None:
                    self.pointees[number, side] = shape
        return found

    def _place_of(self, part: Part | None) -> tuple[int, Shape] | None:
        """Where what is named through a pointer lies, `p->rows[i]`, and its type; None where that is not known."""
        part = self.operand(part)
        if (own := self.laid_at(part)) is not None:
            address = self.begin_of(f"&{part}", CType(self.word, pointer=True), f"&{part}", size_of(own, self.word))
            return None if address.number is None else (address.number, own)
        if part is None or part.type not in ELEMENTS or str(part).startswith("&") or not self._reads():
            return None
        if self.designates(part) or any(one.type in DOES for one in part.every()):
            return None
        op, argument = part.node.child_by_field_name("operator"), part.field("argument")
        found = self._place_of(argument)
        if op is None or op.type != ".":
            if found is None or not isinstance(found[1], ArrayType):
                pointer = self.value(argument)
                shape = pointer.type.target if pointer.type.pointer else None
                known = isinstance(shape, (CType, ArrayType, StructType)) and pointer.number is not None
                found = (pointer.number, shape) if known else None  # type: ignore[assignment]
            else:
                found = found[0], found[1].element
        if found is None or part.type == "pointer_expression":
            return found
        at, shape = found
        if part.type == "subscript_expression":
            index, size = self.value(part.field("index")).number, size_of(shape, self.word)
            return (at + index * size, shape) if index is not None and size else None
        name = str(part.field("field"))
        inner = offset_of(shape, (name,), self.word)
        return (at + inner, shape.member(name)) if inner is not None and isinstance(shape, StructType) else None

    def _pointing(self, at: int, shape: Shape) -> Value:
        return Value(at, CType(self.word, pointer=True, step=size_of(shape, self.word), target=shape))

    def _decayed(self, part: Part, found: Value) -> Value:
        """An array that is named through a pointer is a pointer to its first element."""
        place = self._place_of(part) if found.number is None and type(found) is Value else None
        if place is None or not isinstance(place[1], ArrayType):
            return found
        self._given_out(part, *place)
        return self._pointing(place[0], place[1].element)

    def _pointee(self, part: Part) -> Shape | None:
        """What an expression points at, by its type; None where the text leaves that open."""
        inner = self.operand(part)
        while inner is not None and inner.type in ("cast_expression", "binary_expression"):
            sides = [self.operand(inner.field(one)) for one in ("left", "right")]
            moved = (one for one in sides if isinstance(self.static_shape(one), ArrayType))  # `p->rows + n`
            inner = next(moved, self.operand(inner.field("value")))
        if inner is not None and inner.type == "pointer_expression" and str(inner).startswith("&"):
            return self.static_shape(inner.field("argument"))
        shape = self.static_shape(inner)
        return shape.element if isinstance(shape, ArrayType) else _target(shape)

    def _given_out(self, part: Part, at: int, shape: Shape) -> None:
        """What has its address taken is left by no launch: of an element, its array; how long what lies there is, the
        caller knows.
        """
        inner = self.operand(part.field("argument")) if part.type == "subscript_expression" else None
        above = self._place_of(inner)
        if inner is not None and above is not None and isinstance(above[1], ArrayType):
            self._given_out(inner, *above)
            return
        held = self.lookup(inner) if inner is not None and inner.type == "identifier" else None
        if held is not None and held.origin.startswith("&"):  # that no launch leaves an array of the file is asked
            return
        if self.lays_out:
            known, member = inner is None or isinstance(shape, ArrayType), part.type == "field_expression"
            known = known and not (member and self._open_end(part, shape))
            first = member and self._place_around(part) == at
            array, long = member and known and isinstance(shape, ArrayType), size_of(shape, self.word) if known else 0
            self._member_at(GivenMember(at, long, f"{part}", shape, array, first))

    def _open_end(self, part: Part, shape: Shape) -> bool:
        """Whether an array of one element ends a structure behind a pointer: it stands for as many as there are."""
        around = self.static_shape(part.field("argument"))
        around = around.target if isinstance(around, CType) else around  # type: ignore[assignment]
        last = isinstance(around, StructType) and around.members[-1][0] == str(part.field("field"))
        return last and isinstance(shape, ArrayType) and shape.count == 1 and self.laid_at(root_of(part)) is None

    def _member_at(self, one: GivenMember) -> None:
        if one.bytes:
            self.members[f"{one.name} at {one.begin}"] = one
        else:
            self.conditions[one.condition] = None

    def _place_around(self, part: Part) -> int | None:
        """Where the structure lies of which a member is named."""
        op, argument = part.node.child_by_field_name("operator"), part.field("argument")
        if op is not None and op.type == ".":
            found = self._place_of(argument)
            return None if found is None else found[0]
        return None if argument is None else self.value(argument).number

    def _subscript_expression(self, part: Part) -> Value:
        return self._decayed(part, super()._subscript_expression(part))

    def _field_expression(self, part: Part) -> Value:
        return self._decayed(part, super()._field_expression(part))

    def _reads(self) -> bool:
        """Whether reads of memory are reads of memory: of no register, and of no descriptor."""
        return self.arguments is not None and self.stack > 0 and self.map is None and not self.chained


def _target(shape: Shape | None) -> Shape | None:
    """What a pointer points at, where its type says so: one to bytes may point at anything."""
    target = shape.target if isinstance(shape, CType) and shape.pointer else None
    wide = isinstance(target, CType) and target.bits > 8
    return target if wide or isinstance(target, (ArrayType, StructType)) else None  # type: ignore[return-value]
