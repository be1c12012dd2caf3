"""Blocks of `const fn`: `let`, `if`, `while`, `return` and an expression at the end, as the number that they give.

Knows: the statements that helper functions for sizes and counts are made of.
Does not know: tensors, what names outside of the block stand for (a `look` gives that).
Law: a statement that is not known gives None, never a guess. Every turn of a loop is taken; there is a most of them.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.code import named
from dmaverify.machines.rngd.rust.integers import typed
from dmaverify.machines.rngd.rust.numbers import Look, number_at, number_left, truth_at
from dmaverify.machines.rngd.rust.values import Numbers, Value
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

    Sized = Callable[[Node, Value], Value]

MOST_STATEMENTS = 10_000


class _Returned(Exception):
    def __init__(self, value: Numbers) -> None:
        self.value = value


class _NotKnown(Exception):
    """A statement that says nothing here."""


def const_block(code: Code, body: Node, known: MutableMapping[str, Value], look: Look, sized: Sized) -> Numbers | None:
    """The number that a block or an `if` gives; `look` reads the variables in `known`, `sized` gives a variable
    its type; None where that is not known.
    """
    try:
        return _ConstBlock(code, known, look, sized).asked(body)
    except _Returned as found:
        return found.value
    except (_NotKnown, RecursionError):
        return None


@dataclass
class _ConstBlock:
    code: Code
    known: MutableMapping[str, Value]
    look: Look
    sized: Sized
    spent: int = 0

    def block(self, node: Node) -> Numbers | None:
        """The value of the last expression; None for `()`."""
        shadowed: dict[str, Value | None] = {}
        value: Numbers | None = None
        for one in named(node):
            self.spent += 1
            if self.spent > MOST_STATEMENTS:
                raise _NotKnown
            if one.type == "let_declaration":
                self.let(one, shadowed)
                value = None
            else:
                value = self.statement(one)
        for name, outer in shadowed.items():
            if outer is None:
                del self.known[name]
            else:
                self.known[name] = outer
        return value

    def let(self, node: Node, shadowed: dict[str, Value | None]) -> None:
        """Binds a name anew; what it stood for until here comes back behind the block."""
        pattern, given = node.child_by_field_name("pattern"), node.child_by_field_name("value")
        name = self.code.text(pattern) if pattern is not None else ""
        if given is None or not name.isidentifier() or node.child_by_field_name("alternative") is not None:
            raise _NotKnown
        value = self.sized(pattern, self.number(given)) if pattern is not None else None
        if not isinstance(value, Numbers):
            raise _NotKnown
        shadowed.setdefault(name, self.known.get(name))
        self.known[name] = value

    def statement(self, node: Node) -> Numbers | None:
        if node.type == "expression_statement":
            value = self.statement(named(node)[0]) if named(node) else None
            return None if node.children[-1].type == ";" else value
        if node.type in ("assignment_expression", "compound_assignment_expr"):
            self.change(node)
            return None
        if node.type == "while_expression":
            self.loop(node)
            return None
        if node.type == "return_expression":
            raise _Returned(self.number(named(node)[0]) if named(node) else Numbers.of(0))
        return self.asked(node) if node.type in ("if_expression", "block", "else_clause") else self.number(node)

    def asked(self, node: Node) -> Numbers | None:
        """`if`, or a block."""
        if node.type != "if_expression":
            return self.block(node if node.type == "block" else named(node)[0])
        condition = node.child_by_field_name("condition")
        truth = truth_at(self.code, condition, self.look) if condition is not None else None
        if truth is None:
            raise _NotKnown
        taken = node.child_by_field_name("consequence" if truth else "alternative")
        if taken is not None and taken.type == "else_clause":
            taken = named(taken)[0]
        return self.asked(taken) if taken is not None else None

    def number(self, node: Node) -> Numbers:
        value = self.asked(node) if node.type in ("if_expression", "block") else number_at(self.code, node, self.look)
        if value is None:
            raise _NotKnown
        return value

    def change(self, node: Node) -> None:
        """`r = 3`, `r += 1`."""
        left = node.child_by_field_name("left")
        name = self.code.text(left) if left is not None else ""
        if name not in self.known:
            raise _NotKnown
        value, before = number_left(self.code, node, self.look), self.known[name]
        value = typed(value, before.type) if value is not None and isinstance(before, Numbers) else None
        if value is None:
            raise _NotKnown
        self.known[name] = value

    def loop(self, node: Node) -> None:
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        while condition is not None and body is not None:
            truth = truth_at(self.code, condition, self.look)
            if truth is None:
                raise _NotKnown
            if not truth:
                return
            self.spent += 1
            self.block(body)
        raise _NotKnown
