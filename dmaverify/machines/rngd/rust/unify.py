"""Generic parameters that follow from a type and the value that stands for it.

Knows: references, tuples, arrays, tensors, structs, aliases, mappings with as many terms.
Does not know: calls, what a function does.
Law: a parameter is learned once, from the first value that says what it is; what does not fit says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dmaverify.language.expr import terms_of
from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.code import child, named
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.integers import ANY
from dmaverify.machines.rngd.rust.types import TENSORS, WRAPPERS
from dmaverify.machines.rngd.rust.values import (
    Dtype,
    Map,
    Numbers,
    Record,
    RustTensor,
    Sequence,
    Tuple,
    Value,
    known,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def unify(
    code: Code, node: Node, value: Value, bound: dict[str, Value], names: Mapping[str, str], frame: Frame
) -> None:
    """Learns generic parameters, of `names` with their kinds, from a type and the value that stands for it."""
    if node.type in ("reference_type", "pointer_type"):
        inner = node.child_by_field_name("type")
        if inner is not None:
            unify(code, inner, value, bound, names, frame)
    elif node.type in ("type_identifier", "identifier"):
        _learn(code.text(node), value, bound, names)
    elif node.type == "generic_type":
        _unify_generic(code, node, value, bound, names, frame)
    elif node.type == "tuple_type" and isinstance(value, Tuple):
        for one, part in zip(named(node), value.parts, strict=False):
            unify(code, one, part, bound, names, frame)
    elif node.type == "macro_invocation" and isinstance(value, Map):
        _unify_mapping(code, node, value, bound, names)
    elif node.type == "array_type" and isinstance(value, Sequence):
        inner = node.child_by_field_name("element")
        if inner is not None:
            unify(code, inner, value.part, bound, names, frame)


def _unify_generic(
    code: Code, node: Node, value: Value, bound: dict[str, Value], names: Mapping[str, str], frame: Frame
) -> None:
    name, given = node.child_by_field_name("type"), node.child_by_field_name("type_arguments")
    arguments = [one for one in named(given) if one.type != "lifetime"] if given is not None else []
    text = code.text(name).split("::")[-1] if name is not None else ""
    item = frame.scope.find(text)
    if item is not None and item.kind == "type":
        inner = item.node.child_by_field_name("type")
        learned: dict[str, Value] = {}
        if inner is not None:
            unify(item.code, inner, value, learned, dict(item.generics), Frame(item.scope))
        for one, (own, _) in zip(arguments, item.generics, strict=False):
            if own in learned:
                unify(code, one, learned[own], bound, names, frame)
    elif text in TENSORS and isinstance(value, RustTensor) and TENSORS[text][0] == value.tier:
        held: tuple[Value, ...] = (value.dtype, *value.fields.values())
        for one, own_part in zip(arguments, held, strict=False):
            unify(code, one, own_part, bound, names, frame)
    elif isinstance(value, Record):
        for one, part in zip(arguments, value.arguments.values(), strict=False):
            unify(code, one, part, bound, names, frame)
    elif len(arguments) == 1 or text in WRAPPERS:
        inner_value = value.part if isinstance(value, Sequence) and text not in WRAPPERS else value
        if not arguments:
            return
        unify(code, arguments[0], inner_value, bound, names, frame)


def _unify_mapping(code: Code, node: Node, value: Map, bound: dict[str, Value], names: Mapping[str, str]) -> None:
    """`m![A, { B }]` against a mapping with as many terms."""
    body = child(node, "token_tree")
    if body is None:
        return
    words = [part.strip().strip("{}").strip() for part in code.text(body)[1:-1].split(",") if part.strip()]
    terms = terms_of(value.expr)
    if len(words) == 1:
        _learn(words[0], value, bound, names)
    elif len(words) == len(terms):
        for word, term in zip(words, terms, strict=True):
            _learn(word, Map(term), bound, names)


def _learn(name: str, value: Value, bound: dict[str, Value], names: Mapping[str, str]) -> None:
    if isinstance(value, Numbers) and names.get(name) == "type":
        value = Dtype(value.type or ANY, inside=True)  # the type of this one value
    if name in names and name not in bound and known(value) and isinstance(value, (Map, Dtype, Numbers, Record)):
        bound[name] = value
