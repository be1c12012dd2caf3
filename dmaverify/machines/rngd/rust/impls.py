"""What impls give a type by a name, and which paths lead into the standard library.

Knows: inherent impls and those of traits, which of them the build has, `use` declarations.
Does not know: types, numbers, what an item means.
Law: where several impls have a name and nothing says which of them is meant, none is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.code import in_build, named, parts_of
from dmaverify.machines.rngd.rust.declares import modules_of
from dmaverify.machines.rngd.rust.module import Item, NameScope
from dmaverify.machines.rngd.rust.values import Record, Unknown, Value

if TYPE_CHECKING:
    from tree_sitter import Node

_QUALIFIED = re.compile(r"<\s*([\w:]+)\s+as\s+(?:\w+\s*::\s*)*(\w+)\s*>\s*::\s*(\w+)")
_STANDARD = ("std", "core", "alloc")
_PRIMITIVE = re.compile(r"[ui](?:8|16|32|64|128|size)|Ord")


def associated(owner: Item, name: str, kind: str, trait: str, bounded: bool) -> Item | None:
    """`S::N`, `<S as B>::N`: the constant or type that one impl alone gives a type. What the type has by itself goes
    before what a trait gives it, but for a parameter, whose bounds (`bounded`) are traits.
    """
    found: dict[bool, list[Item]] = {False: [], True: []}  # by whether a trait gives them
    scope: NameScope | None = owner.scope
    while scope is not None:
        for code, node, where in scope.impls:
            own, of = (node.child_by_field_name(field) for field in ("type", "trait"))
            if _bare(code, own) == owner.name and trait in ("", _bare(code, of)):
                found[of is not None] += items_in(code, node, where, name, kind)
        scope = scope.around
    items = found[False] if found[False] and not bounded else [*found[False], *found[True]]
    return items[0] if len(items) == 1 else None


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
    given = node.child_by_field_name("type_parameters") if node is not None else None
    if node is None or given is None:
        return {}
    names = (one.child_by_field_name("name") for one in given.named_children)
    bound: dict[str, Value] = {item.code.text(name): Unknown("") for name in names if name is not None}
    of = node.child_by_field_name("type")
    listed = of.child_by_field_name("type_arguments") if of is not None else None
    if isinstance(own, Record) and listed is not None:
        places = [one for one in named(listed) if one.type != "lifetime"]
        for place, (parameter, _) in zip(places, own.item.generics, strict=False):
            text = item.code.text(place).strip("{ }")
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
        return (*found, *parts[1:]) if found[0] in _STANDARD else ()
    starred = len(parts) == 1 and any(use.name == "*" and use.path[:1] and use.path[0] in _STANDARD for use in every)
    return parts if starred or parts[0] in _STANDARD or _PRIMITIVE.fullmatch(parts[0]) is not None else ()


def is_standard(scope: NameScope, parts: tuple[str, ...]) -> bool:
    """Whether a path leads into the standard library."""
    return bool(standard_path(scope, parts))


def in_prelude(scope: NameScope, name: str) -> bool:
    """Whether a name is that of the prelude, as `None` is: nothing in the crate has it here, no variant of an enum."""
    if scope.find(name) is not None or scope.find(name, values=True) is not None or imports_in_block(scope):
        return False
    uses = (use for one in _blocks(scope) for use in one.uses if use.path[:1] and use.path[0] not in _STANDARD)
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
    around = [*_blocks(scope)]
    parts = [scope.module, *(one for one in around if one.modules or one.inline)]
    every = dict.fromkeys((*around, *(one for part in parts for one in modules_of(part, True))))
    return [f for one in every for f in one.functions if f.kind == "method" and f.name == name and not f.left_out]
