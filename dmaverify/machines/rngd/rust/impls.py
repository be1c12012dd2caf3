"""What impls give a type by a name, and which paths lead into the standard library.

Knows: inherent impls and those of traits, which of them the build has, `use` declarations.
Does not know: types, numbers, what an item means.
Law: where several impls have a name and nothing says which of them is meant, none is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.code import in_build, named, parts_of
from dmaverify.machines.rngd.rust.declares import modules_of
from dmaverify.machines.rngd.rust.module import Item, NameScope
from dmaverify.machines.rngd.rust.uses import STANDARD
from dmaverify.machines.rngd.rust.values import Numbers, Record, Unknown, Value

if TYPE_CHECKING:
    from tree_sitter import Node

_QUALIFIED = re.compile(r"<\s*([\w:]+(?:<[^<>:]*>)?)\s+as\s+(?:\w+\s*::\s*)*(\w+)\s*>\s*::\s*(\w+)")
_PRELUDE = {"Clone", "Copy", "Default", "Drop", "From", "Into", "Iterator", "PartialEq", "Eq", "PartialOrd", "Ord"}
_PRIMITIVE = re.compile(r"[ui](?:8|16|32|64|128|size)|Ord")


def associated(owner: Record, name: str, kind: str, trait: str, bounded: bool) -> Item | None:
    """`S::N`, `<S as B>::N`: the constant or type that one impl alone gives a type. What the type has by itself goes
    before what a trait gives it, but for a parameter, whose bounds (`bounded`) are traits.
    """
    found = given_to(owner, name, kind, trait)
    if found is None:
        return None
    own, partly, of_traits = found
    items = of_traits if bounded or trait else own if own and not partly else [*own, *of_traits]
    return items[0] if len(items) == 1 else None


def given_to(owner: Record, name: str, kind: str, trait: str = "") -> tuple[list[Item], bool, list[Item]] | None:
    """What a type may have by a name: of its own, whether for some of its arguments alone, and of traits, with what
    these give where an impl does not; None where that is not known. Impls of whatever may be the type are its own.
    """
    own, partly, of_traits = list[Item](), False, dict[str, list[tuple[list[Item], NameScope]]]()
    for scope in _everywhere(owner.item.scope):
        for code, node, where in scope.impls:
            made_for, of, parameters = _head(code, node)
            if trait not in ("", of) or not _may_be(code, node, made_for, parameters, where, owner):
                continue
            items = items_in(code, node, where, name, kind)
            if of:
                of_traits.setdefault(of, []).append((items, where))
            else:
                own += items
                partly |= bool(items) and not _for_all(code, node)
    given = list[Item]()
    for word, impls in of_traits.items():
        traits = [one for _, where in impls if (one := where.find(word)) is not None and one.kind == "trait"][:1]
        default = [one for of in traits for one in items_in(of.code, of.node, of.scope, name, kind)]
        known = bool(traits) or word in _PRELUDE or is_standard(impls[0][1], (word,))
        has = bool(default) or not known or any(items for items, _ in impls)
        default = [one for one in default if kind != "const_item" or one.node.child_by_field_name("value") is not None]
        for items, _ in impls:
            if has and not items and len(default) != 1:
                return None
            given += items or (default if has else [])
    return own, partly, given


def method_of(record: Record, name: str) -> Item | None:
    """The function that impls of a struct, or traits of these, have; None where several have the name."""
    found = given_to(record, name, "function_item")
    items = [*found[0], *found[2]] if found is not None else []
    methods = methods_named(record.item.scope, name) if len(items) == 1 else []
    return next((one for one in methods if (one.code, one.node) == (items[0].code, items[0].node)), None)


@lru_cache(maxsize=4096)
def _head(code: Code, node: Node) -> tuple[str, str, tuple[str, ...]]:
    """Of an `impl`: the last names of its type and of its trait, if it has one, and its generic parameters."""
    made_for, of = (_bare(code, node.child_by_field_name(field)) for field in ("type", "trait"))
    return made_for, of, tuple(_parameters(code, node))


def _may_be(
    code: Code, node: Node, made_for: str, parameters: tuple[str, ...], where: NameScope, owner: Record
) -> bool:
    """Whether an `impl` may be one of a type: by its name, by another name of whatever type, or for all types; not
    where it is for another number.
    """
    if made_for != owner.item.name:
        item = where.find(made_for) if made_for not in parameters else None
        return made_for in parameters or (item is not None and item.kind == "type")
    given = [owner.arguments.get(parameter) for parameter, _ in owner.item.generics]
    told = zip(_arguments(code, node.child_by_field_name("type")), given, strict=False)
    return not any(isinstance(n, Numbers) and t.isdecimal() and n.single not in (None, int(t)) for t, n in told)


def _for_all(code: Code, node: Node) -> bool:
    """Whether an `impl` is for all arguments that its type may have: it names parameters of its own, each once."""
    names = _arguments(code, node.child_by_field_name("type"))
    return len(set(names)) == len(names) and set(names) <= set(_parameters(code, node))


def _parameters(code: Code, node: Node) -> list[str]:
    """The generic parameters of an `impl` or a trait, without lifetimes."""
    given = node.child_by_field_name("type_parameters")
    names = [one.child_by_field_name("name") for one in given.named_children] if given is not None else []
    return [code.text(one) for one in names if one is not None and one.type != "lifetime"]


def _arguments(code: Code, made_for: Node | None) -> list[str]:
    """The generic arguments of a type as texts, without lifetimes."""
    given = made_for.child_by_field_name("type_arguments") if made_for is not None else None
    return [code.text(one).strip("{ }") for one in named(given) if one.type != "lifetime"] if given is not None else []


def items_in(code: Code, node: Node, scope: NameScope, name: str, kind: str) -> list[Item]:
    """The items of a name in an `impl`, less those that the build leaves out."""
    body = node.child_by_field_name("body")
    inside = in_build(code, body.children if body is not None else (), scope.module.features)
    return [
        Item(kind.removesuffix("_item"), name, code, one, scope)
        for one, _, there in inside
        if there is not False and one.type == kind
        and (own := one.child_by_field_name("name")) is not None and code.text(own) == name
    ]  # fmt: skip


def parameters_around(item: Item, own: Value | None = None) -> dict[str, Value]:
    """The generic parameters of the `impl` or the trait that an item stands in: what the struct `own` was given where
    the `impl` names them as its arguments, and names of nothing that is known elsewhere.
    """
    node = item.node.parent
    while node is not None and node.type not in ("impl_item", "trait_item"):
        node = node.parent if node.type not in ("function_item", "mod_item") else None
    if node is None:
        return {}
    bound: dict[str, Value] = {name: Unknown("") for name in _parameters(item.code, node)}
    if node.type == "trait_item":
        bound["Self"] = own or Unknown("")
    if isinstance(own, Record):
        told = _arguments(item.code, node.child_by_field_name("type"))
        for text, (parameter, _) in zip(told, own.item.generics, strict=False):
            bound.update({text: own.arguments[parameter]} if text in bound and parameter in own.arguments else {})
    return bound


def _bare(code: Code, node: Node | None) -> str:
    """The last name of a type or a trait, without generic arguments."""
    return code.text(node).split("<")[0].split("::")[-1].strip() if node is not None else ""


def standard_path(scope: NameScope, parts: tuple[str, ...]) -> tuple[str, ...]:
    """A path into the standard library and not into the crate, in full where a `use` names its first part; empty where
    it may lead elsewhere. A function without a path is the library's by `*` alone.
    """
    if not parts or scope.path(parts, values=True) is not None:
        return ()
    every = [use for one in _blocks(scope) for use in one.uses]
    found = next((use.path for use in every if use.name == parts[0]), None)
    if found is not None:
        return (*found, *parts[1:]) if found[0] in STANDARD else ()
    starred = len(parts) == 1 and any(use.name == "*" and use.path[:1] and use.path[0] in STANDARD for use in every)
    return parts if starred or parts[0] in STANDARD or _PRIMITIVE.fullmatch(parts[0]) is not None else ()


def is_standard(scope: NameScope, parts: tuple[str, ...]) -> bool:
    """Whether a path leads into the standard library."""
    return bool(standard_path(scope, parts))


def in_prelude(scope: NameScope, name: str) -> bool:
    """Whether a name is that of the prelude, as `None` is: nothing in the crate has it here, no variant of an enum."""
    if scope.find(name) is not None or scope.find(name, values=True) is not None or imports_in_block(scope):
        return False
    uses = (use for one in _blocks(scope) for use in one.uses if use.path[:1] and use.path[0] not in STANDARD)
    return not any(use.name == name or (use.name == "*" and use.path[-1][:1].isupper()) for use in uses)


def imports_in_block(scope: NameScope | None) -> bool:
    """Whether a block around imports names, or has types of its own: a path may mean another thing in it."""
    while scope is not None and scope.kind == "block":
        if scope.uses or scope.types or scope.impls:
            return True
        scope = scope.around
    return False


def _blocks(scope: NameScope) -> Iterator[NameScope]:
    """A scope and the blocks and the module around it."""
    yield scope
    while scope.kind == "block" and scope.around is not None:
        scope = scope.around
        yield scope


def parts_and_trait(text: str) -> tuple[tuple[str, ...], str]:
    """The names of a path, and the trait of `<S as B>::N`."""
    found = _QUALIFIED.fullmatch(text.strip())
    return (parts_of(text), "") if found is None else ((*parts_of(found[1]), found[3]), found[2])


def methods_named(scope: NameScope, name: str) -> list[Item]:
    """The functions of that name in any impl or trait of the crate, and of the blocks around: what is called by it is
    perhaps one of them.
    """
    every = _everywhere(scope)
    return [f for one in every for f in one.functions if f.kind == "method" and f.name == name and not f.left_out]


def _everywhere(scope: NameScope) -> Iterable[NameScope]:
    """A scope, those around it, and all modules of the crate."""
    around = [*_blocks(scope)]
    parts = [scope.module, *(one for one in around if one.modules or one.inline)]
    return dict.fromkeys((*around, *(one for part in parts for one in modules_of(part, True))))
