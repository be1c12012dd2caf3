"""`use` declarations as paths.

Knows: lists, `as`, `self`, `*`.
Does not know: what a path leads to (`module`).
Law: every name that a declaration imports is one path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.code import named, parts_of
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

STANDARD = ("std", "core", "alloc")
"""The crates of the standard library."""
_STANDARD = [(name,) for name in STANDARD]


@dataclass(eq=False)
class UsePath:
    """`use path as name`; name `*` takes everything. `sure`: every build has it."""

    path: tuple[str, ...]
    name: str
    sure: bool = True


def uses_of(code: Code, node: Node, before: tuple[str, ...]) -> Iterator[UsePath]:
    text = code.text(node)
    if node.type == "use_list":
        for one in named(node):
            yield from uses_of(code, one, before)
    elif node.type == "scoped_use_list":
        path, items = node.child_by_field_name("path"), node.child_by_field_name("list")
        more = parts_of(code.text(path)) if path is not None else ()
        if items is not None:
            yield from uses_of(code, items, before + more)
    elif node.type == "use_wildcard":
        yield UsePath(before + parts_of(text.rstrip("*").rstrip().removesuffix("::")), "*")
    elif node.type == "use_as_clause":
        path, alias = node.child_by_field_name("path"), node.child_by_field_name("alias")
        if path is not None and alias is not None:
            yield _use(before + parts_of(code.text(path)), code.text(alias))
    else:
        parts = parts_of(text)
        if parts:
            yield _use(before + parts, parts[-1])


def _use(path: tuple[str, ...], name: str) -> UsePath:
    """`a::{self}` imports `a`."""
    if path[-1] == "self" and len(path) > 1:
        return UsePath(path[:-1], path[-2] if name == "self" else name)
    return UsePath(path, name)


def imports(uses: Iterable[UsePath], name: str, values: bool) -> bool:
    """Whether one of several `use` imports a name, or may: a value by `*` from the standard library."""
    return any(use.name == name or (values and use.name == "*" and use.path[:1] in _STANDARD) for use in uses)
