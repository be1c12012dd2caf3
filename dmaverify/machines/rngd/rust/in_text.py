"""Where transfers are called in a text: the names of the calls, the statements that they stand in.

Knows: the methods that are transfers, calls by path, tokens of macros. Does not know: values, what leads to a call.
Law: every call of a transfer is found once, but for those in the definition of a macro; a text without any word of
this page has nothing to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from dmaverify.errors import Span
from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.code import above
from dmaverify.machines.rngd.rust.moves import TRANSFERS

if TYPE_CHECKING:
    from tree_sitter import Node

TRANSFER_NAME = re.compile(rb"\b(?:%s)\b" % b"|".join(sorted(name.encode() for name in TRANSFERS)))
_KERNEL = re.compile(rb"#\s*\[\s*(?:\w+\s*::\s*)*(device)\b")


def judged_word(data: bytes) -> str:
    """The word for which a text is judged: a transfer, or the attribute of a kernel, which may leave all to
    functions of other files. Empty where it has neither, and nothing is told.
    """
    found = TRANSFER_NAME.search(data)
    kernel = found or _KERNEL.search(data)
    return "" if kernel is None else (found[0] if found is not None else b"#[device]").decode()


@lru_cache(maxsize=16)
def transfers_called(code: Code, tree: Node) -> tuple[tuple[Node, tuple[Span, int]], ...]:
    """The names of transfers that are called in a text, each with what it stands in."""
    found = (tree.descendant_for_byte_range(at.start(), at.end()) for at in TRANSFER_NAME.finditer(code.data))
    return tuple((node, statement_around(code, node, tree)) for node in found if node is not None and _is_called(node))


def _is_called(node: Node) -> bool:
    """Whether a name is that of a call: `x.to_dm(..)`, `HbmTensor::to_dm(&x, ..)`, `.to_dm(` among a macro's tokens
    (but not within a macro's definition).
    """
    parent = node.parent
    if parent is None:
        return False
    if parent.type in ("field_expression", "scoped_identifier"):
        outer = parent.parent
        if outer is not None and outer.type == "generic_function":
            parent, outer = outer, outer.parent
        function = (
            outer.child_by_field_name("function") if outer is not None and outer.type == "call_expression" else None
        )
        return function == parent
    before, after = node.prev_sibling, node.next_sibling
    if before is None or after is None or before.type not in (".", "::") or after.type not in ("token_tree", "::"):
        return False
    return all(one.type != "macro_definition" for one in _ancestors(node))


def statement_around(code: Code, node: Node, tree: Node | None) -> tuple[Span, int]:
    """The statement that a node stands in, and the line where its function begins; 0 outside of one."""
    inner, line, statement = node, 0, None
    for outer in _ancestors(node) if tree is None else reversed(above(tree, node)):
        if outer.type in ("block", "source_file", "declaration_list") and statement is None:
            statement = inner
        if outer.type == "function_item":
            line = code.span(outer).line
            break
        inner = outer
    return code.span(statement if statement is not None else inner), line


def _ancestors(node: Node) -> Iterator[Node]:
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent
