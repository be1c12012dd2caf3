"""Types of what a driver declares: structures by their members, arrays by their elements, and of expressions over them.

Knows: `struct` and `typedef`, declarators, which name means what where it stands. Does not know: values of objects.
Law: a member, or a structure, whose type is not read is told with the reason; nothing of it has a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dmaverify.language.trees import walk
from dmaverify.machines.idma.c.aggregates import (
    ArrayType,
    Shape,
    StructType,
    UnreadType,
    WholeObject,
    size_of,
)
from dmaverify.machines.idma.c.code import File, Part, declared
from dmaverify.machines.idma.c.effects import ELEMENTS, bare, becomes, macro_at
from dmaverify.machines.idma.c.evaluate import Evaluator
from dmaverify.machines.idma.c.numbers import UNREAD, WORD, CType, Value, unknown
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

_EXPRESSIONS = {
    "field_expression", "pointer_expression", "unary_expression", "argument_list", "assignment_expression",
    "binary_expression", "subscript_expression", "init_declarator", "parenthesized_expression", "return_statement",
    "initializer_list", "initializer_pair", "cast_expression", "comma_expression", "conditional_expression",
    "sizeof_expression", "update_expression",
}  # fmt: skip
_POSTFIX = ("identifier", "parenthesized_expression", "subscript_expression", "field_expression", "call_expression")


STATIC = "static "
"""How what an array is known by begins, where it is there for as long as the program runs."""


class ShapeReader(Evaluator):
    """Reads types of structures and arrays."""

    steps = 0

    chained = False  # the engine is fed with chains: volatile members are what it reads

    def __init__(self, file: File, defines: Mapping[str, str], word: int = WORD) -> None:
        super().__init__(file, defines, word)
        self.shapes: dict[tuple[object, int], Shape] = {}
        self.kinds: dict[str, Shape] = {}  # of objects whose address the user states
        self.arrays: dict[str, str] = {}  # that the text declares, with how long they are, in words
        self.elsewhere: set[str] = set()  # of these, what another file may lay out

    def differs(self, index: Value) -> bool:
        """Whether a number is another one in each round of a loop that is looked at once for all."""
        return False

    def shape_of(self, part: Part | None) -> Shape:
        """The type that a type node names."""
        if part is None:
            return UnreadType("a type is missing")
        if part.type == "struct_specifier":
            return self._struct(part)
        if part.type in ("union_specifier", "enum_specifier"):
            one = "a union" if part.type[0] == "u" else "an enumeration, whose type is the compiler's,"
            return UnreadType(f"{one} is not read", part.type[0] == "e")
        known = self.type_of(part)
        if known is not None:
            return known
        name = str(part)
        definition = self.file.type_named(part, name) if name not in self.file.macros else None
        inner = definition.field("type") if definition is not None else None
        for child in definition.node.children_by_field_name("declarator") if definition is not None else ():
            own = declared(Part(child, definition.text)) if definition is not None else ("",)
            if own == (name, "", 0, None) and inner is not None and str(inner) != name:
                laid = not any(one.type == "attribute_specifier" for one in definition.parts()) if definition else True
                shape = self.shape_of(inner)
                return shape if laid or not isinstance(shape, StructType) else replace(shape, laid=False)
        return UnreadType(f"the type `{name}` is not known")

    def _struct(self, part: Part) -> Shape:
        body, tag = part.field("body"), part.field("name")
        if body is None:
            found = self.file.struct_named(part, str(tag))
            body = found.field("body") if found is not None else None
            if found is None or body is None:
                return UnreadType(f"`struct {tag}` is defined nowhere in this file, or in more than one place")
            part = found
        key = body.text, body.node.start_byte
        if key not in self.shapes:
            self.shapes[key] = UnreadType(f"`struct {tag}` within itself")
            self.shapes[key] = self._members(f"struct {tag}" if tag else "the structure", part, body)
        return self.shapes[key]

    def _members(self, name: str, part: Part, body: Part) -> Shape:
        said = [str(one).replace(" ", "") for one in part.parts() if one.type == "attribute_specifier"]
        packed = said == ["__attribute__((packed))"]
        laid = (packed or not said) and not (self.file.packs or self._may_say_more(part))
        members = list[tuple[str, Shape]]()
        for one in body.parts():
            given = [Part(node, one.text) for node in one.node.children_by_field_name("declarator")]
            if one.type != "field_declaration" or not given or one.node.has_error:
                return UnreadType(f"`{name}` has a member without a name, or one that is not read")
            kinds = {str(p) if p.type == "type_qualifier" else p.type for p in one.parts()}
            laid = laid and not any("attribute" in kind or kind.startswith("_Alignas") for kind in kinds)
            laid = laid and not self._realigned(one.field("type"))
            for child in given:
                own, shape = self.declared_shape(one.field("type"), child)
                if not own:
                    return UnreadType(f"`{name}` has the member `{child}`, which is not read")
                if "bitfield_clause" in kinds:
                    shape = UnreadType(f"`{own}` is a bit-field, which is not read", scalar=True)
                elif kinds & ({"_Atomic"} if self.chained else {"volatile", "_Atomic"}):
                    shape = UnreadType(f"`{own}` may be changed elsewhere", isinstance(shape, CType), shape)
                members.append((own, shape))
        return StructType(name, tuple(members), packed, laid) if members else UnreadType(f"`{name}` is empty")

    def _may_say_more(self, part: Part) -> bool:
        """Whether a name behind a structure, which reads as that of a variable, may be a macro that says how it is laid
        out: it is one, or nothing in the text takes it for an object.
        """
        above = part.node.parent
        nodes = above.children_by_field_name("declarator") if above is not None else ()
        names = [name for node in nodes if (name := declared(Part(node, part.text))[0])]
        alone = above is not None and above.type == "declaration"
        return any(name in self.file.macros or (alone and not _used(part.node, name)) for name in names)

    def _realigned(self, part: Part | None) -> bool:
        """Whether an attribute of a `typedef` says how what it names is aligned."""
        if part is None or part.type != "type_identifier":
            return False
        definition = self.file.type_named(part, str(part))
        if definition is None:
            return False
        said = (inner for one in definition.parts() if one.type != "struct_specifier" for inner in one.every())
        if any("attribute" in inner.type for inner in said):
            return True
        return str(definition.field("type")) != str(part) and self._realigned(definition.field("type"))

    def declared_shape(self, type_: Part | None, declarator: Part, *, elements: bool = False) -> tuple[str, Shape]:
        """(name, type) of a declarator; with `elements`, of an array the type of its elements."""
        node: Part | None = declarator
        stars, counts = 0, list[int]()
        while node is not None and node.type == "pointer_declarator":
            stars, node = stars + 1, node.field("declarator")
        while node is not None and node.type == "array_declarator":
            size = node.field("size")
            inner = node.field("declarator")
            last = elements and inner is not None and inner.type != "array_declarator"
            number = Value(1).number if last else self.value(size).number if size is not None else None
            counts.append(number if type(number) is int and number > 0 else 0)
            node = inner
        if node is None or node.type not in ("identifier", "field_identifier"):
            name = declared(declarator)[0]
            many = any(one.type.endswith("array_declarator") for one in declarator.every())
            return name, UnreadType(f"the type of `{name}` is not read", declared(declarator)[2] > 0 and not many)
        own = self.type_of(type_, stars) if stars else self.shape_of(type_)
        shape: Shape = own if own is not None else UnreadType(f"the type of `{node}` is not known")
        for count in counts[:-1] if elements else counts:
            shape = ArrayType(shape, count) if count else UnreadType(f"how long `{node}` is, is not known")
        return str(node), shape

    def array_declared(self, part: Part, name: str, type_: CType | None, declarator: Part) -> None:
        """An array as what it is where it is not followed: an address, and how long it is."""
        type_part, said = part.field("type"), {f"{one}" for one in part.parts()}
        if len(self.scopes) > 1 and "extern" in said and name in self.scopes[0]:  # the array of the file
            self.scopes[-1] |= {one: self.scopes[0][one] for one in (name, f"sizeof {name}") if one in self.scopes[0]}
            return
        whole, step = self.array_of(declarator, type_part)
        if not step and type_ is not None and type_.bits > 0 and declarator.field("declarator") is not None:
            one = declarator.field("declarator")
            step = type_.size if one is not None and one.type == "identifier" else 0
        shape = self.declared_shape(type_part, declarator)[1]
        element = shape.element if isinstance(shape, ArrayType) else None
        step, whole = step or (size_of(element, self.word) if element else 0), whole or size_of(shape, self.word)
        why = f"where `{name}` lies is known to the linker alone: --define {name}=ADDRESS"
        linked = "extern" in said or len(self.scopes) == 1  # one in all the file
        of = f"{STATIC}{'' if linked else part.raw.start}" if linked or "static" in said else f"{self.steps}"
        target = element if isinstance(element, (ArrayType, StructType)) else None
        self.scopes[-1][name] = unknown(why, CType(self.word, pointer=True, step=step, target=target), f"&{name} {of}")
        self.arrays[name] = f"the {whole:,} bytes of " if whole else ""
        why = "" if whole else f"how long `{name}` is, is not known"
        self.scopes[-1][f"sizeof {name}"] = Value(whole or None, CType(self.word), why)
        elsewhere = "extern" in said or any(one.type == "attribute_specifier" for one in part.parts())
        self.elsewhere = self.elsewhere | {name} if elsewhere else self.elsewhere - {name}

    def pointee_of(self, type_: Part | None, declarator: Part) -> Shape | None:
        """What a pointer points at by its declarator, or a parameter that is written as an array; None of others."""
        stars, node = 0, declarator
        while node.type == "pointer_declarator" and (inner := node.field("declarator")) is not None:
            stars, node = stars + 1, inner
        if node.type == "array_declarator":
            return self.declared_shape(type_, declarator, elements=True)[1]
        if node.type != "identifier" or not stars:
            return None
        return self.shape_of(type_) if stars == 1 else self.type_of(type_, stars - 1)

    def rows_type(self, type_: Part | None, declarator: Part) -> CType | None:
        """The type of a pointer to arrays, `uint8_t (*d)[64]`; None of all else."""
        node: Part | None = declarator
        while node is not None and node.type == "array_declarator":
            node = node.field("declarator")
        inner = next(iter(node.parts()), None) if node is not None and node.type == "parenthesized_declarator" else None
        named = inner.field("declarator") if inner is not None and inner.type == "pointer_declarator" else None
        if named is None or named.type != "identifier" or node == declarator:
            return None
        shape, counts = self.shape_of(type_), list[int]()
        while declarator.type == "array_declarator" and (of := declarator.field("declarator")) is not None:
            size = declarator.field("size")
            number = self.value(size).number if size is not None else None
            counts, declarator = [*counts, number if type(number) is int else 0], of
        for count in counts:
            shape = ArrayType(shape, count) if count > 0 else UnreadType("how long its rows are, is not known")
        if not isinstance(shape, ArrayType) or not size_of(shape, self.word):
            return None
        return CType(self.word, pointer=True, step=size_of(shape, self.word), target=shape)

    def static_shape(self, part: Part | None) -> Shape | None:
        """The type of an expression over objects, which does not run; None of what is none."""
        part = self.operand(part)
        if part is None:
            return None
        argument = part.field("argument")
        if part.type == "identifier":
            found = self.lookup(part)
            if isinstance(found, WholeObject) and found.place is not None:
                return found.place.shape
            return found.type if found is not None and found.type != UNREAD else None
        if part.type == "compound_literal_expression":
            return self.shape_of((part.field("type") or part).field("type"))
        if part.type not in ELEMENTS:
            return None
        op = part.node.child_by_field_name("operator")
        shape, name = self.static_shape(argument), str(part.field("field"))
        if op is not None and op.type == "&":
            return None if shape is None else CType(self.word, pointer=True, target=shape)
        if op is None or op.type in ("->", "*"):
            shape = shape.element if isinstance(shape, ArrayType) else _pointee(shape)
        if part.type != "field_expression":
            return shape
        return shape.member(name) if isinstance(shape, StructType) else None

    # ------------------------------------------------------------ names

    def lookup(self, part: Part) -> Value | None:
        """What the scopes hold of a name, where it is no macro, constant or name that the user gave a value."""
        name = str(part)
        if name in self.file.macros or name in self.file.ambiguous or name in self.defines:
            return None
        inner = next((scope[name] for scope in reversed(self.scopes[1:]) if name in scope), None)
        return inner if inner is not None else None if name in self.constants else self.scopes[0].get(name)

    def operand(self, part: Part | None) -> Part | None:
        """An expression without parentheses, its macros read; None of a macro that is not one operand."""
        for _ in range(len(self.file.macros) + 1):
            part = bare(part)
            if part is None or macro_at(self.file, part) is None:
                return part
            above = part.node.parent
            tight = above is not None and above.type in ("field_expression", "subscript_expression")
            part = becomes(self.file, part)
            if part is not None and tight and part.type not in _POSTFIX:
                return None
        return None

    def static_type(self, part: Part) -> CType | None:
        shape = self.static_shape(part)
        return shape if isinstance(shape, CType) and shape != UNREAD else None

    def struct_size(self, part: Part) -> int:
        shape = self.shape_of(part) if part.type in ("struct_specifier", "type_identifier") else None
        return size_of(shape, self.word) if isinstance(shape, StructType) else 0

    def sized_shape(self, part: Part) -> Shape | None:
        """The type of which `sizeof` asks the size."""
        type_, value = part.field("type"), self.operand(part.field("value"))
        inner = type_.field("type") if type_ is not None and type_.field("declarator") is None else None
        shape = self.shape_of(inner) if inner is not None else self.static_shape(value)
        if shape is None and value is not None and value.type == "identifier":
            shape = self.shape_of(value)  # a type in parentheses
        return shape

    def _sizeof_expression(self, part: Part) -> Value:
        value, shape = self.operand(part.field("value")), self.sized_shape(part)
        size = size_of(shape, self.word) if isinstance(shape, (ArrayType, StructType)) else 0
        if isinstance(shape, CType) and value is not None and value.type in ELEMENTS:
            size = size_of(shape, self.word)
        if shape is None and value is not None and value.type in ("subscript_expression", "pointer_expression"):
            size = self._element_size(value)
        return Value(size, CType(self.word)) if size else super()._sizeof_expression(part)

    def _element_size(self, part: Part) -> int:
        """The bytes of `n[0]` or `*n` of an array that is not followed; 0 of all else."""
        array, op = self.operand(part.field("argument")), part.node.child_by_field_name("operator")
        found = self.lookup(array) if array is not None and array.type == "identifier" else None
        named = any(f"sizeof {array}" in scope and str(array) in scope for scope in self.scopes)
        return found.type.step if found is not None and named and (op is None or op.type == "*") else 0


def _used(node: Node, name: str) -> bool:
    """Whether some expression of a text has an object of this name."""
    root = node
    while root.parent is not None:
        root = root.parent
    same = (one for one in walk(root) if one.type == "identifier" and one.text == name.encode())
    return any(one.parent is not None and one.parent.type in _EXPRESSIONS for one in same)


def _pointee(shape: Shape | None) -> Shape | None:
    target = shape.target if isinstance(shape, CType) else None
    return target if isinstance(target, (CType, ArrayType, StructType, UnreadType)) else None
