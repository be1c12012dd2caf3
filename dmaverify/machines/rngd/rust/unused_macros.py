"""Transfers in macros that a file never expands: none of them is lost.

Knows: definitions of `macro_rules!` and their invocations in one text.
Does not know: what a macro expands to.
Law: each transfer in the text of such a macro is a site that is not resolved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.moves import TRANSFERS, Site
from dmaverify.machines.rngd.rust.values import Unknown

if TYPE_CHECKING:
    from tree_sitter import Node


def unused_macros(code: Code, tree: Node, number: int, sites: Sequence[Site]) -> Iterator[Site]:
    """One site for each transfer in a macro that is never expanded here: its text is not lost."""
    if b"macro_rules" not in code.data:
        return
    expanded = {site.function for site in sites}
    for node in walk(tree):
        if node.type != "macro_definition":
            continue
        name_node = node.child_by_field_name("name")
        name = code.text(name_node) if name_node is not None else "?"
        if _expands(code, tree, name) or name in expanded:
            continue
        for inner in walk(node):
            if inner.type != "identifier" or code.text(inner) not in TRANSFERS:
                continue
            before = inner.prev_sibling
            if before is not None and before.type in (".", "::"):
                why = f"it stands in the macro `{name}!`, which this file never invokes in a way that can be expanded"
                site = Site(number, code.text(inner), code.span(inner), name)
                site.refuse(Unknown(why, code.span(inner)))
                number += 1
                yield site


def _expands(code: Code, tree: Node, name: str) -> bool:
    """Whether the file invokes the macro."""
    for node in walk(tree):
        if node.type == "macro_invocation":
            called = node.child_by_field_name("macro")
            if called is not None and code.text(called) == name:
                return True
    return False
