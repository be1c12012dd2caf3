"""What a file of C declares: functions, macros, types, constants, variables; `#if` as far as it is decided.

Knows: declarations, scopes, what may change a variable. Does not know: statements, launches.
Law: a variable that something unknown may change has no value; of an `#if` the compiler's side is read, with names
that nothing defines as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
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
from dmaverify.machines.idma.c.code import Part, declared, macro_of
from dmaverify.machines.idma.c.effects import DOES, bare, becomes
from dmaverify.machines.idma.c.evaluate import MOST_DEPTH
from dmaverify.machines.idma.c.initial import InitialReader
from dmaverify.machines.idma.c.numbers import (
    INT,
    LLONG,
    ULLONG,
    UNREAD,
    CType,
    Value,
    binary,
    chosen,
    converted,
    unary,
    unknown,
)
from dmaverify.values import replace

MOST_MEMBERS = 64
_FOLLOWED = {"static", "const", "register", "auto", "inline", "constexpr"}


class Declarer(InitialReader):
    """Collects what stands outside of functions, and holds variables."""

    exposed: frozenset[str] = frozenset()
    """Variables whose address is taken in the function that runs."""
    shared: dict[MemoryObject, tuple[Callable[[], None] | None, bool]]
    """Objects outside of functions that the engine reads: what initializes them, whether this file alone knows them."""
    unseen: frozenset[str] = frozenset()
    """Variables that a macro that is not read may set there."""

    def engine_reads(self, shape: Shape, words: Collection[str]) -> bool:
        """Whether an object that is not constant is followed, as nobody else but the engine changes it."""
        return False

    # ------------------------------------------------------------ the file

    def collect(self, parts: Iterable[Part]) -> None:
        """Declarations outside of functions; `#if` by what is defined."""
        for part in parts:
            if part.type in ("preproc_def", "preproc_function_def"):
                macro = macro_of(part)
                if macro is not None:
                    self.file.define(macro)
            elif part.type == "preproc_call" and str(part).lstrip("# ").startswith("undef"):
                name = str(part).split()[-1]
                self.file.ambiguous.add(name)
                self.file.steps.append((part.raw.start, name, False))
            elif part.type in ("preproc_if", "preproc_ifdef", "preproc_elif"):
                self.collect(self._taken(part))
            elif part.type in ("preproc_else", "linkage_specification", "declaration_list"):
                self.collect(part.parts())
            elif part.type == "function_definition":
                declarator = part.field("declarator")
                if declarator is not None:
                    self.file.functions[declared(declarator)[0]] = part
                if b"typedef" in (part.node.text or b""):
                    for inner in part.every():
                        if inner.type == "type_definition":
                            self.local_type(inner)
            elif part.type == "type_definition":
                declarator = part.field("declarator")
                if declarator is not None:
                    self.file.typedefs[declared(declarator)[0]] = part
                self._enumerators(part)
            elif part.type == "declaration":
                self._enumerators(part)
                self.declare(part, keep=False)
            elif part.type == "enum_specifier":
                self._enumerators(part)
            else:
                self.file.outside.append(part)

    def _taken(self, part: Part) -> list[Part]:
        """The parts of an `#if` that the compiler sees."""
        alternative = part.field("alternative")
        own = [p for p in part.parts() if p.node not in (
            alternative.node if alternative else None, (part.field("name") or part).node,
            (part.field("condition") or part).node)]  # fmt: skip
        if part.type == "preproc_ifdef":
            known = self._is_defined(part.field("name") or part)
            holds = known == (part.node.children[0].type == "#ifdef")
        else:
            holds = bool(self._condition(part.field("condition")).number)
        return own if holds else [alternative] if alternative else []

    def _is_defined(self, part: Part) -> bool:
        """Whether a name is a macro where it stands; of what nothing says, that it is none is a condition."""
        name = str(part)
        known = self.file.is_defined(name, part.raw.start)
        if known is None and name not in self.defines:
            self.file.undefined.add(name)
        return name in self.defines if known is None else known

    def _condition(self, part: Part | None) -> Value:
        """The value of an `#if`, in the widest integers (C11, 6.10.1): names that nothing defines are 0, and so is
        what is not read, which is a condition.
        """
        found = self._widest(part)
        if found.number is None:
            self.file.undefined.add(f"`{part}`")
        return found if found.number is not None else Value(0, LLONG)

    def _widest(self, part: Part | None) -> Value:
        part = bare(part)
        if part is None:
            return Value(None)
        if part.type == "preproc_defined":
            return Value(int(self._is_defined(next(iter(part.parts()), part))), LLONG)
        if part.type in ("identifier", "call_expression", "preproc_call_expression"):
            return self._expanded(part)
        if part.type == "unary_expression":
            op = part.node.child_by_field_name("operator")
            return _wide(unary(op.type if op else "", self._widest(part.field("argument"))))
        if part.type == "binary_expression":
            op = part.node.child_by_field_name("operator")
            sign, left = op.type if op else "", self._widest(part.field("left"))
            if sign in ("&&", "||") and left.number is not None and bool(left.number) == (sign == "||"):
                return Value(int(sign == "||"), LLONG)
            return _wide(binary(sign, left, self._widest(part.field("right"))))
        if part.type == "conditional_expression":
            test = self._widest(part.field("condition"))
            sides = [self._widest(part.field(side)) for side in ("consequence", "alternative")]
            return test if test.number is None else _wide(chosen(sides[not test.number], sides[bool(test.number)].type))
        if part.type in ("number_literal", "char_literal"):
            return _wide(self.value(part), "u" in str(part).lower().removeprefix("0x"))
        return Value(None)

    def _expanded(self, part: Part) -> Value:
        """What a name of an `#if` is: the text of its macro, 0 where it is none."""
        name = part.field("function") or part
        if not self._is_defined(name):
            return Value(0 if part.type == "identifier" else None, LLONG)
        if str(name) not in self.file.macros:
            return _wide(self.defines.get(str(name), Value(None)))
        found = becomes(self.file, part)
        return Value(None) if found is None or self.depth > MOST_DEPTH else self._deeper(found)

    def _deeper(self, part: Part) -> Value:
        self.depth += 1
        try:
            return self._widest(part)
        finally:
            self.depth -= 1

    def _enumerators(self, part: Part) -> None:
        for inner in part.every():
            if inner.type != "enumerator_list":
                continue
            last = Value(-1)
            for one in inner.parts():
                if one.type == "enumerator":
                    given = one.field("value")
                    last = self.value(given) if given else binary("+", last, Value(1))
                    held, name = self.scopes[-1] if self.stack else self.constants, str(one.field("name"))
                    fits = last.number is None or -(1 << 31) <= last.number < 1 << 31
                    held[name] = replace(last, type=INT) if fits else unknown(f"the type of `{name}` is not int")

    def local_type(self, part: Part) -> None:
        """A type that a function names for itself: the name means it from there to the end of the block."""
        for child in part.node.children_by_field_name("declarator"):
            named = self.file.within.setdefault(declared(Part(child, part.text))[0], [])
            if part not in named:
                named.append(part)

    # ------------------------------------------------------------ variables

    def declare(self, part: Part, *, keep: bool = True) -> None:
        """The variables of a declaration; without `keep`, what they hold is known of constants alone."""
        type_part = part.field("type")
        if self.stack and type_part is not None and type_part.type.endswith("_specifier"):
            self._enumerators(type_part)
        for child in part.node.children_by_field_name("declarator"):
            one = Part(child, part.text)
            initial = one.field("value") if one.type == "init_declarator" else None
            inner = one.field("declarator") if one.type == "init_declarator" else one
            name, shape, pointers, shaped = declared(inner or one)
            type_ = self.type_of(type_part, pointers)
            if shape == "function_declarator":
                self.results[name] = type_
                within = shaped.field("declarator") if shaped is not None else None
                if within is not None and within.type == "parenthesized_declarator":
                    self.scopes[-1][name] = unknown(f"`{name}` is a pointer to a function", UNREAD)
                continue
            if shape == "array_declarator":
                self.array_declared(part, name, type_, inner or one)
            if self._object(part, inner or one, name, initial):
                continue
            if shape == "array_declarator":
                runs = self.stack and all(str(p) != "static" for p in part.parts())
                if initial is not None and runs:
                    self.unread(initial, f"the initializer of `{name}`, which is not read")
                continue
            if pointers and type_ is not None:
                type_ = replace(type_, target=self.pointee_of(type_part, inner or one))
            if initial is not None:  # the name is there already, with nothing in it
                self.scopes[-1][name] = unknown(f"`{name}` is set by itself", type_ or UNREAD)
            value = self.tracked(initial) if initial else unknown(f"`{name}` has no value here: --define {name}=...")
            words = {str(p) for p in part.parts() if p.type in ("type_qualifier", "storage_class_specifier")}
            if pointers:  # the pointer itself, not what it points at
                words = words & {"static"} | _qualifiers(inner or one)
            kept = self.stack and "static" in words and "const" not in words  # from call to call
            moving = "volatile" in words or (kept and (initial is None or not self.only_read(name, part)))
            fixed = (keep or "const" in words) and name not in self.exposed and not moving
            value = self.kept(value, type_, one) if fixed else self.plain(value, one)
            value = self.converted_to(value, type_, "pointer" if pointers else str(type_part))
            plain = value.number is None and value.launch is None and not isinstance(value, KnownPointer)
            plain = plain and value.report is None
            if fixed and self.stack and initial is not None and plain:
                value = self.given(one, name, type_, value.why)
            if not fixed:
                value = unknown(f"`{name}` may be changed elsewhere: --define {name}=...", type_ or UNREAD)
            self.scopes[-1][name] = value if type_ is not None else replace(value, type=UNREAD)
            if moving:
                self.scopes[-1][f"moving {name}"] = value

    def _object(self, part: Part, declarator: Part, name: str, initial: Part | None) -> bool:
        """Whether a variable is an array or a structure that is followed, which is made then."""
        type_part = part.field("type")
        array = declared(declarator)[1] == "array_declarator"
        pointed = self.stack and name in self.exposed
        plain = not pointed and (declared(declarator)[2] or self.type_of(type_part) is not None)
        if {name, f"&{name}"} & self.defines.keys() or (not array and plain):
            self.kinds[name] = self.declared_shape(type_part, declarator)[1] if array or not plain else UNREAD
            return False
        if any(one.type in DOES for one in declarator.every()):
            return False
        shape = self.declared_shape(type_part, declarator)[1]
        if isinstance(shape, UnreadType) and array and initial is not None:
            element, count = self.declared_shape(type_part, declarator, elements=True)[1], self.length_of(initial)
            shape = ArrayType(element, count) if _unsized(declarator) and count else shape
        words = {str(p) for p in part.parts() if p.type in ("type_qualifier", "storage_class_specifier")}
        if declarator.type == "pointer_declarator":
            words = words & {"static", "extern"} | _qualifiers(declarator)
        said = [str(one) for one in part.parts() if one.type == "attribute_specifier"]
        constant = "const" in words
        kept = self.stack and "static" in words and not constant  # from call to call
        known = not kept or (initial is not None and not self.engine_reads(shape, words))
        own = constant or (bool(self.stack) and known and name not in self.unseen)
        own = own and words <= _FOLLOWED and not any("weak" in one or "alias" in one for one in said)
        shared = not (constant or kept or name in self.unseen) and self.engine_reads(shape, words)
        own, without = own or shared, not self.stack and initial is None and not shared
        if not (pointed or isinstance(shape, (ArrayType, StructType))) or _unread(shape) or without:
            self.reasons[name] = _unread(shape) or f"`{name}` has no initializer here"
            return False
        if not own:
            self.reasons[name] = f"`{name}` may be changed elsewhere"
            return False
        whole = self.made(name, shape, declarator, f"`{name}` has no value here", constant=constant)
        if shared and not self.stack:
            own_first = None if initial is None else partial(self.initialize, whole, initial)
            self.shared[whole] = own_first, "static" in words
        old = self.scopes[-1].get(name) if array else None
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
        if initial is not None and self.stack:
            self.initialize(whole, initial)
        elif initial is not None and not shared:
            whole.initial = partial(self.initialize, whole, initial)
        return True

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


def _wide(value: Value, unsigned: bool = False) -> Value:
    """A value of an `#if`: signed ones, and those that fit, are of the widest signed type."""
    if value.number is None:
        return value
    type_ = ULLONG if unsigned or value.number >= 1 << 63 or value.type == ULLONG else LLONG
    return converted(value, type_)


def _qualifiers(declarator: Part) -> set[str]:
    """`const` and `volatile` of a pointer variable itself."""
    inner, node = declarator, declarator.field("declarator")
    while node is not None and node.type == "pointer_declarator":
        inner, node = node, node.field("declarator")
    return {str(one) for one in inner.parts() if one.type == "type_qualifier"}
