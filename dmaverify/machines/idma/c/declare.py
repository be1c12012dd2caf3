"""Variables of C: what a declaration makes, and whether what it holds is followed.

Knows: declarations, scopes, what may change a variable. Does not know: directives, statements, launches.
Law: a variable that something unknown may change has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from dmaverify.machines.idma.c.aggregates import (
    ArrayType,
    KnownPointer,
    MemoryObject,
    ObjectPlace,
    Shape,
    StructType,
    UnreadType,
    WholeObject,
    cells_of,
    count_of,
)
from dmaverify.machines.idma.c.code import Part, declared
from dmaverify.machines.idma.c.directives import FileReader
from dmaverify.machines.idma.c.effects import DOES
from dmaverify.machines.idma.c.numbers import (
    UNREAD,
    CType,
    Value,
    converted,
    unknown,
)
from dmaverify.values import replace

MOST_MEMBERS = 64
_FOLLOWED = {"static", "const", "register", "auto", "inline", "constexpr"}


class Declarer(FileReader):
    """Holds variables."""

    exposed: frozenset[str] = frozenset()
    """Variables whose address is taken in the function that runs."""
    shared: dict[MemoryObject, tuple[Callable[[], None] | None, bool]]
    """Objects outside of functions that the engine reads: what initializes them, whether this file alone knows them."""
    unseen: frozenset[str] = frozenset()
    """Variables that a macro that is not read may set there."""

    def engine_reads(self, shape: Shape, words: Collection[str]) -> bool:
        """Whether an object that is not constant is followed, as nobody else but the engine changes it."""
        return False

    def declare(self, part: Part, *, keep: bool = True) -> None:
        type_part = part.field("type")
        if self.stack and type_part is not None and type_part.type.endswith("_specifier"):
            self._enumerators(type_part)
        for child in part.node.children_by_field_name("declarator"):
            one = Part(child, part.text)
            begun = one.type == "init_declarator"
            initial = one.field("value") if begun else None
            declarator = one.field("declarator") if begun else one
            self._declared(part, one, declarator or one, initial, keep)

    def _declared(self, part: Part, one: Part, declarator: Part, initial: Part | None, keep: bool) -> None:
        """One variable of a declaration."""
        type_part = part.field("type")
        name, shape, pointers, shaped = declared(declarator)
        type_ = self.type_of(type_part, pointers)
        if shape == "function_declarator":
            self.results[name] = type_
            within = shaped.field("declarator") if shaped is not None else None
            if within is not None and within.type == "parenthesized_declarator":
                self.scopes[-1][name] = unknown(f"`{name}` is a pointer to a function", UNREAD)
            return
        if shape == "array_declarator":
            self.array_declared(part, name, type_, declarator)
        if self._object(part, declarator, name, initial):
            return
        if shape == "array_declarator":
            runs = self.stack and all(str(p) != "static" for p in part.parts())
            if initial is not None and runs:
                self.unread(initial, f"the initializer of `{name}`, which is not read")
            return
        if pointers and type_ is not None:
            type_ = replace(type_, target=self.pointee_of(type_part, declarator))
        words = _words(part) & {"static"} | _qualifiers(declarator) if pointers else _words(part)  # of the pointer
        kept = bool(self.stack) and "static" in words and "const" not in words  # from call to call
        moving = "volatile" in words or (kept and (initial is None or not self.only_read(name, part)))
        fixed = (keep or "const" in words) and name not in self.exposed and not moving
        value = self._first_value(one, name, type_, initial, fixed, "pointer" if pointers else str(type_part))
        self.scopes[-1][name] = value if type_ is not None else replace(value, type=UNREAD)
        if moving:
            self.scopes[-1][f"moving {name}"] = value

    def _first_value(
        self, one: Part, name: str, type_: CType | None, initial: Part | None, fixed: bool, called: str
    ) -> Value:
        """What a number or a pointer holds behind its declaration; nothing that is known where it is not `fixed`."""
        if initial is not None:  # the name is there already, with nothing in it
            self.scopes[-1][name] = unknown(f"`{name}` is set by itself", type_ or UNREAD)
        value = self.tracked(initial) if initial else unknown(f"`{name}` has no value here: --define {name}=...")
        value = self.kept(value, type_, one) if fixed else self.plain(value, one)
        value = self.converted_to(value, type_, called)
        if not fixed:
            return unknown(f"`{name}` may be changed elsewhere: --define {name}=...", type_ or UNREAD)
        plain = value.number is None and value.launch is None and value.report is None
        if self.stack and initial is not None and plain and not isinstance(value, KnownPointer):
            return self.given(one, name, type_, value.why)
        return value

    def _object(self, part: Part, declarator: Part, name: str, initial: Part | None) -> bool:
        """Whether a variable is an array or a structure that is followed, which is made then."""
        shape = self._object_shape(part, declarator, name, initial)
        if shape is None:
            return False
        words = _words(part)
        if declarator.type == "pointer_declarator":
            words = words & {"static", "extern"} | _qualifiers(declarator)
        constant, pointed = "const" in words, bool(self.stack) and name in self.exposed
        kept = bool(self.stack) and "static" in words and not constant  # from call to call
        shared = not (constant or kept or name in self.unseen) and self.engine_reads(shape, words)
        whole_kind = pointed or isinstance(shape, (ArrayType, StructType))
        if not whole_kind or _unread(shape) or not (self.stack or initial is not None or shared):
            self.reasons[name] = _unread(shape) or f"`{name}` has no initializer here"
            return False
        known = not kept or (initial is not None and not self.engine_reads(shape, words))
        own = constant or (bool(self.stack) and known and name not in self.unseen)
        said = [str(one) for one in part.parts() if one.type == "attribute_specifier"]
        linked = any("weak" in one or "alias" in one for one in said)
        if not shared and not (own and words <= _FOLLOWED and not linked):
            self.reasons[name] = f"`{name}` may be changed elsewhere"
            return False
        whole = self.made(name, shape, declarator, f"`{name}` has no value here", constant=constant)
        first = None if initial is None else partial(self.initialize, whole, initial)
        if shared and not self.stack:
            self.shared[whole] = first, "static" in words
        old = self.scopes[-1].get(name) if declared(declarator)[1] == "array_declarator" else None
        type_, why = (old.type, old.why) if old is not None else (UNREAD, f"`{name}` is a structure")
        type_ = shape if pointed and isinstance(shape, CType) else type_
        self.scopes[-1][name] = WholeObject(None, type_, why, place=ObjectPlace(whole, (), shape))
        if kept and not self.only_read(name, part):
            if old is None:
                del self.scopes[-1][name]
            else:
                self.scopes[-1][name] = old
            self.reasons[name] = f"`{name}` may be changed elsewhere"
            return False
        if first is not None and self.stack:
            first()
        elif first is not None and not shared:
            whole.initial = first
        return True

    def _object_shape(self, part: Part, declarator: Part, name: str, initial: Part | None) -> Shape | None:
        """The type of an array, a structure, or a number that something points at; None for what is none of these."""
        type_part = part.field("type")
        array = declared(declarator)[1] == "array_declarator"
        pointed = self.stack and name in self.exposed
        plain = not pointed and (declared(declarator)[2] or self.type_of(type_part) is not None)
        if {name, f"&{name}"} & self.defines.keys() or (not array and plain):
            self.kinds[name] = self.declared_shape(type_part, declarator)[1] if array or not plain else UNREAD
            return None
        if any(one.type in DOES for one in declarator.every()):
            return None
        shape = self.declared_shape(type_part, declarator)[1]
        if isinstance(shape, UnreadType) and array and initial is not None:
            element, count = self.declared_shape(type_part, declarator, elements=True)[1], self.length_of(initial)
            shape = ArrayType(element, count) if _unsized(declarator) and count else shape
        return shape

    def _parameters(self, part: Part | None, arguments: list[Value] | None) -> dict[str, Value]:
        scope: dict[str, Value] = {}
        for number, one in enumerate(part.parts() if part else []):
            declarator = one.field("declarator")
            if one.type != "parameter_declaration" or declarator is None:
                continue
            name, shape, pointers, _ = declared(declarator)
            type_ = self.type_of(one.field("type"), pointers + (shape == "array_declarator"))
            if shape == "array_declarator" and type_ is not None:
                type_ = replace(type_, step=self.array_of(declarator, one.field("type"))[1])
            if type_ is not None and type_.pointer:
                type_ = replace(type_, target=self.pointee_of(one.field("type"), declarator))
            type_ = self.rows_type(one.field("type"), declarator) or type_
            why = f"`{name}` is a parameter: --define {name}=..."
            given = arguments[number] if arguments is not None and number < len(arguments) else None
            if type_ is None and not pointers and not shape:
                scope[name] = self._structure(one, name, given)
                continue
            own = name in self.exposed and name not in {*self.unseen, *self.defines} and type_ is not None
            if arguments is None and (own or name not in self.exposed):
                scope[name] = self.given(one, name, type_, why)
            elif given is None or (name in self.exposed and not own):
                scope[name] = unknown(why, type_ or UNREAD)
                if given is not None:
                    self.plain(given, one)
            else:
                said = "pointer" if pointers else str(one.field("type"))
                scope[name] = self.converted_to(self.kept(given, type_, one), type_, said)
            scope[name] = self.apart(name, scope[name], one) if own else scope[name]
        for left in arguments[len(scope) :] if arguments is not None else ():
            self.plain(left, part or self.file.functions[next(iter(self.file.functions))])
        return scope

    def _structure(self, part: Part, name: str, given: Value | None) -> Value:
        """A parameter that is a structure: an object of its own."""
        shape = self.shape_of(part.field("type"))
        if not isinstance(shape, StructType) or name in self.defines or name in self.unseen:
            return unknown(f"`{name}` is a parameter of a type that is not read", UNREAD)
        whole = self.made(name, shape, part, f"`{name}` is a parameter")
        place = ObjectPlace(whole, (), shape)
        if given is not None:
            self.store(place, given, part)
        for path, one in cells_of(shape) if given is None and count_of(shape) <= MOST_MEMBERS else ():
            if isinstance(one, CType):
                said = name + "".join(f".{x}" if isinstance(x, str) else f"[{x}]" for x in path)
                whole.cells[path] = self.given(part, said, one, f"`{said}` is a parameter")
        return WholeObject(None, UNREAD, f"`{name}` is a structure", place=place)

    def assign(self, name: str, value: Value) -> None:
        for scope in reversed(self.scopes):
            if name in scope:
                old, held = scope[name].type, scope[name]
                if isinstance(held, WholeObject) and held.place is not None:
                    self.touched(held.place.whole)
                    self.forget(held.place.whole, (), held.place.shape, value.why)
                    return
                plain = value.number is None and type(value) is Value
                if isinstance(held, KnownPointer) and held.place is not None and plain:  # it may point there still
                    self.lose(held.place.whole, f"`{name}`, which points at it, is not known: {value.why}")
                if isinstance(value, (KnownPointer, WholeObject)) and value.place is not None:
                    moved = name in self.exposed or scope is self.scopes[0] or f"moving {name}" in scope
                    value = self.kept(value, None if moved else old, value.place.whole.part)
                if name in self.exposed or scope is self.scopes[0] or f"moving {name}" in scope:
                    scope[name] = unknown(f"`{name}` may be changed elsewhere: --define {name}=...", old)
                elif value.number is None:
                    scope[name] = converted(value, old)
                else:
                    scope[name] = self.converted_to(value, old, "")
                return


def _unsized(declarator: Part) -> bool:
    """Whether the length of an array is left to its initializer."""
    node: Part | None = declarator
    while node is not None and node.type.endswith(("array_declarator", "pointer_declarator")):
        outer, node = node, node.field("declarator")
        if outer.type == "array_declarator" and (node is None or node.type == "identifier"):
            return outer.field("size") is None
    return False


def _unread(shape: Shape) -> str:
    """Why a type is not read, or that of its elements; "" of one that is."""
    while isinstance(shape, ArrayType):
        shape = shape.element
    return shape.why if isinstance(shape, UnreadType) else "its type is not known" if shape == UNREAD else ""


def _words(part: Part) -> set[str]:
    """Qualifiers and storage classes of a declaration."""
    return {str(p) for p in part.parts() if p.type in ("type_qualifier", "storage_class_specifier")}


def _qualifiers(declarator: Part) -> set[str]:
    """`const` and `volatile` of a pointer variable itself."""
    inner, node = declarator, declarator.field("declarator")
    while node is not None and node.type == "pointer_declarator":
        inner, node = node, node.field("declarator")
    return {str(one) for one in inner.parts() if one.type == "type_qualifier"}
