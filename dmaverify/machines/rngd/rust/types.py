"""Types of Rust as values: tensors with their mappings, aliases with generics, tuples, structs; `m![...]` with escapes.

Knows: the tensor types of the vendor's library and what their arguments are; where a name of a mapping comes from.
Does not know: expressions and statements (`bodies`), what methods do.
Law: an axis is its declaration, not its name: two declarations of one name are two axes, also in one mapping. What
cannot be resolved is an `Unknown` that says which name or text was the reason.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from dmaverify.errors import InputError, Source, did_you_mean
from dmaverify.language.expr import Expr, Symbol
from dmaverify.language.parse import parse
from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.code import child, in_build, named, parse_fragment
from dmaverify.machines.rngd.rust.escapes import Escapes, as_map, axes_around, clip, constructed, no_size
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.impls import parameters_around, parts_and_trait
from dmaverify.machines.rngd.rust.lookups import MAX_DEPTH, SCALARS, Lookups
from dmaverify.machines.rngd.rust.module import Item, NameScope
from dmaverify.machines.rngd.rust.numbers import number_of
from dmaverify.machines.rngd.rust.values import (
    PLACES,
    Dtype,
    Map,
    Opaque,
    Record,
    RustTensor,
    Sequence,
    Tuple,
    Unknown,
    Value,
)
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

TENSORS = {
    "HbmTensor": ("hbm", ""), "HbmTensorView": ("hbm", "view"), "HbmTensorViewMut": ("hbm", "view_mut"),
    "DmTensor": ("dm", ""), "DmTensorView": ("dm", "view"), "DmTensorViewMut": ("dm", "view_mut"),
    "HostTensor": ("host", ""),
}  # fmt: skip
WRAPPERS = {"Box", "Rc", "Arc", "Option", "Result", "MutexGuard", "Ref", "RefMut", "Cow", "ManuallyDrop"}
LISTS = {"Vec", "VecDeque", "Iter", "IntoIter"}
_NAME = re.compile(r"[A-Z][A-Za-z0-9_]*")


class Types(Lookups):
    """Reads types and mappings. `axes` numbers the declarations of axes in the order in which they are met."""

    def __init__(self) -> None:
        super().__init__()
        self.axes: dict[tuple[NameScope, str], str] = {}
        self.aliases: dict[Item, Value] = {}
        self.variants: dict[tuple[Item, str], Item] = {}

    # ------------------------------------------------------------ types

    def read(self, code: Code, node: Node | None, frame: Frame) -> Value:
        """The value of a type."""
        if node is None or self.depth > MAX_DEPTH:
            return Unknown("types nest too deep", code.span(node)) if node is not None else Unknown("")
        self.depth += 1
        try:
            return self._read(code, node, frame)
        finally:
            self.depth -= 1

    def _read(self, code: Code, node: Node, frame: Frame) -> Value:
        kind = node.type
        if kind in ("reference_type", "pointer_type"):
            return _inside(self.read(code, node.child_by_field_name("type"), frame))
        if kind == "macro_invocation":
            return self.mapping(code, node, frame)
        if kind in ("primitive_type", "type_identifier", "identifier", "scoped_type_identifier", "scoped_identifier"):
            return self._named(code, node, (), frame)
        if kind in ("generic_type", "generic_type_with_turbofish"):
            name = node.child_by_field_name("type")
            arguments = node.child_by_field_name("type_arguments") or child(node, "type_arguments")
            if name is None:
                return Unknown("a type without a name", code.span(node))
            return self._named(code, name, self.arguments(code, arguments, frame), frame)
        if kind == "tuple_type":
            return Tuple(tuple(self.read(code, one, frame) for one in named(node)))
        if kind == "unit_type":
            return Opaque("()")
        if kind == "array_type":
            length = node.child_by_field_name("length")
            count = self.number(code, length, frame) if length is not None else None
            return Sequence(
                self.read(code, node.child_by_field_name("element"), frame), count.single if count else None
            )
        if kind in ("parenthesized_type", "type_binding"):
            inner = named(node)
            return self.read(code, inner[-1], frame) if inner else Unknown("an empty type", code.span(node))
        if kind == "lifetime":
            return Opaque("lifetime")
        return Unknown(f"`{clip(code.text(node))}` is no type that can be resolved here", code.span(node))

    def arguments(self, code: Code, node: Node | None, frame: Frame) -> tuple[Value, ...]:
        """Generic arguments without lifetimes; numbers as numbers."""
        out: list[Value] = []
        for one in named(node) if node is not None else ():
            if one.type == "lifetime":
                continue
            if one.type in ("integer_literal", "block", "negative_literal", "boolean_literal"):
                value = self.number(code, one, frame)
                out.append(value if value is not None else Opaque(code.text(one)))
            else:
                out.append(self.read(code, one, frame))
        return tuple(out)

    def _named(self, code: Code, node: Node, given: tuple[Value, ...], frame: Frame) -> Value:
        text = code.text(node)
        parts, trait = parts_and_trait(text)
        name = parts[-1] if parts else text
        if parts == ("_",):
            return Unknown("", code.span(node))
        if parts == ("Self",):
            return frame.own or Unknown("`Self` outside of an impl", code.span(node))
        item = frame.scope.path(parts) if parts and not trait else None
        if item is None and len(parts) > 1:
            variant = self.variant(frame.scope.path(parts[:-1]), name) if not trait else None
            item = variant or self._associated(parts, frame, "type_item", trait)
        if len(parts) == 1 and name in frame.generics and (item is None or item.scope.kind != "block"):
            return frame.generics[name]
        if item is None and len(parts) == 1:
            constant = self._constant(name, frame)
            if constant is not None:
                return constant
        if item is not None:
            return self._item(item, given, code, node)
        return self._library(name, given, code, node)

    def _constant(self, name: str, frame: Frame) -> Value | None:
        """A constant as a generic argument: `Foo<N>`."""
        if frame.scope.find(name, values=True) is None:
            return None
        return self.look(frame)("path", name)

    def variant(self, item: Item | None, name: str) -> Item | None:
        """A variant of an enum as a struct of its own."""
        if item is None or item.kind != "enum":
            return None
        body = item.node.child_by_field_name("body")
        for one, _, there in in_build(item.code, body.children if body is not None else (), item.scope.module.features):
            own = one.child_by_field_name("name") if one.type == "enum_variant" and there is not False else None
            if own is None or item.code.text(own) != name:
                continue
            key = (item, name)
            if key not in self.variants:
                self.variants[key] = Item("variant", name, item.code, one, item.scope)
            return self.variants[key]
        return None

    def _item(self, item: Item, given: tuple[Value, ...], code: Code, node: Node) -> Value:
        if item.kind == "axis":
            size = self.axis_size(item)
            if size is None:
                return Unknown(*no_size(item, code.span(node)))
            return Map(Symbol(self.axis_name(item), size))
        if item.kind == "type":
            return self.alias(item, given)
        if item.kind in ("struct", "variant"):
            bound = dict(zip((n for n, _ in item.generics), given, strict=False))
            return Record(item, bound)
        return Opaque(item.name)

    def alias(self, item: Item, given: tuple[Value, ...] = ()) -> Value:
        """What another name of a type stands for."""
        generics = item.generics
        if not generics and item in self.aliases:
            return self.aliases[item]
        bound = {**parameters_around(item), **dict(zip((name for name, _ in generics), given, strict=False))}
        for name, _ in generics[len(given) :]:
            bound[name] = self._default(item, name) or Unknown("")
        found = self.read(item.code, item.node.child_by_field_name("type"), Frame(item.scope, bound))
        if not generics:
            self.aliases[item] = found
        return found

    def _default(self, item: Item, name: str) -> Value | None:
        parameters = item.node.child_by_field_name("type_parameters")
        told = in_build(item.code, parameters.children if parameters is not None else (), item.scope.module.features)
        for one in (one for one, _, there in told if there):
            own, default = one.child_by_field_name("name"), one.child_by_field_name("default_type")
            if own is not None and default is not None and item.code.text(own) == name:
                return self.read(item.code, default, Frame(item.scope))
        return None

    def _library(self, name: str, given: tuple[Value, ...], code: Code, node: Node) -> Value:
        """A type of the vendor's or the standard library."""
        if name in TENSORS:
            tier, view = TENSORS[name]
            fields: dict[str, Map | Unknown] = {}
            for place, value in zip(PLACES[tier], given[1:], strict=False):
                fields[place] = as_map(value)
            for place in PLACES[tier][max(0, len(given) - 1) :]:
                fields[place] = Unknown("")
            dtype = given[0] if given and isinstance(given[0], (Dtype, Unknown)) else Unknown("")
            return RustTensor(tier, dtype, fields, view, span=code.span(node))
        if name in SCALARS or node.type == "primitive_type":
            return Dtype(name)
        if name in WRAPPERS and given:
            return _inside(given[0])
        if name in LISTS and given:
            return Sequence(given[0])
        made = constructed(name, given)
        if made is not None:
            return made
        if name[:1].isupper() and len(name) > 2 and given:
            return Opaque(name)
        return Unknown(f"nothing named `{clip(code.text(node))}` can be found", code.span(node))

    # ------------------------------------------------------------ axes and numbers

    def axis_name(self, item: Item) -> str:
        """The name of an axis with a mark that no other declaration has."""
        key = (item.scope, item.name)
        if key not in self.axes:
            count = sum(1 for _, name in self.axes if name == item.name)
            self.axes[key] = f"{item.name}~{count}"
        return self.axes[key]

    def axis_size(self, item: Item) -> int | None:
        value = number_of(item.text, self.look(Frame(item.scope)))
        return value.single if value is not None and (value.single or 0) >= 0 else None

    def fragment(self, text: str, frame: Frame, code: Code | None, byte: int) -> Value:
        """The value of a type that stands within other text."""
        base = code or Code(Source("<text>", text), text.encode("utf-8", "replace"))
        made, tree = parse_fragment(base, text, byte, "type T=", ";")
        item = child(tree, "type_item")
        if item is None:
            return Unknown(f"`{clip(text)}` is no type")
        return self.read(made, item.child_by_field_name("type"), frame)

    # ------------------------------------------------------------ mappings

    def mapping(self, code: Code, node: Node, frame: Frame) -> Map | Unknown:
        """The mapping of `m![...]`."""
        name, body = node.child_by_field_name("macro"), child(node, "token_tree")
        if name is None or body is None or code.text(name).split("::")[-1] != "m":
            return Unknown(f"`{clip(code.text(node))}` is no mapping", code.span(node))
        if frame.scope.macro("m") is not None:
            return Unknown(f"`{clip(code.text(node))}`: `m!` is a macro of this crate", code.span(node))
        return self.mapping_text(code, code.text(body)[1:-1], body.start_byte + 1, frame)

    def mapping_text(self, code: Code, text: str, byte: int, frame: Frame) -> Map | Unknown:
        """The mapping of the text within the brackets, which starts at `byte`."""
        look, fragment = partial(self.look, frame, code), lambda own, at: self.fragment(own, frame, code, at)
        reader = Escapes(code, text, byte, look, fragment)
        plain = reader.plain()
        if isinstance(plain, Unknown):
            return plain
        lets: dict[str, Expr] = dict(reader.types)
        for found in dict.fromkeys(_NAME.findall(reader.names)):
            value = self._named_in_mapping(found, frame)
            if isinstance(value, Map):
                lets[found] = value.expr
            elif isinstance(value, Unknown) and value.reason:
                return replace(value, span=value.span or code.range(byte, byte + len(text.encode())))
            else:
                why = f"`{found}` in `m![{clip(text)}]` is no axis that is declared here"
                near = did_you_mean(found, axes_around(frame.scope))
                hint = near or f"declare it: axes![{found} = ...]"
                return Unknown(why, code.range(byte, byte + len(text.encode())), hint)
        at = code.at
        start = code.character(byte) if at is None else at.start
        try:
            tree = parse(plain, {}, lets=lets, params=reader.numbers, source=code.source if at is None else None,
                         offset=start if at is None else 0)  # fmt: skip
        except InputError as error:
            said = f"`m![{clip(text)}]`: {error.message}"
            return Unknown(said, error.span if at is None else at)
        return Map(tree)

    def _named_in_mapping(self, name: str, frame: Frame) -> Value | None:
        item = frame.scope.find(name)
        if name in frame.generics and (item is None or item.scope.kind != "block"):
            return frame.generics[name]
        if item is None:
            return None
        return self._item(item, (), item.code, item.node)


def _inside(value: Value) -> Value:
    """What a reference or a box is taken for: what it holds."""
    return replace(value, inside=True) if isinstance(value, Dtype) else value
