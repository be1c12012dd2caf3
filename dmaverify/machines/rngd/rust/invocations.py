"""Calls of macros: expansions of `macro_rules!` read where they stand, and which of their names leave them.

Knows: known macros, arguments of others, hygiene: which names of an expansion are those of the caller.
Does not know: how a macro is expanded (`macros`), statements (`bodies`).
Law: a name that the caller passes is the caller's, so that a `let` of it holds behind the call; a name that the macro
itself writes is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.code import arguments_in, child, named, parse_fragment
from dmaverify.machines.rngd.rust.expressions import Expressions
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.macros import Expansion, expand
from dmaverify.machines.rngd.rust.values import Opaque, Unknown, Value, sources_of

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_EXPANSIONS = 400
_STOPS = {"panic", "unreachable", "todo", "unimplemented"}
_BEFORE = "fn f(){"  # around the statements of an expansion
_BINDS = ("identifier", "shorthand_field_identifier")


class Invocations(Expressions):
    """The part of reading that knows calls of macros; `Bodies` adds functions and blocks."""

    opened: Callable[[Code, Node, Frame], Frame]
    statements: Callable[[Code, Node, Frame, Value | None], Value]

    def _macro_invocation(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """A known `macro_rules!` is expanded; the arguments of any other are read as expressions."""
        name, body = node.child_by_field_name("macro"), child(node, "token_tree")
        if name is None or body is None:
            return Unknown("")
        called = code.text(name).split("::")[-1]
        if called == "m":
            return self.types.mapping(code, node, frame)
        if called in _STOPS:
            self.walk.leave("program")
        if called.removeprefix("debug_").startswith("assert"):
            self.asserted(code, called, code.text(body)[1:-1], body.start_byte + 1, frame)
        rules = frame.scope.macro(called)
        if rules is not None and self.expansions < MOST_EXPANSIONS:
            self.expansions += 1
            made = expand(rules[0], code, body)
            if made is not None:
                return self._expanded(made, frame, expected)
        text = code.text(body)[1:-1]
        if called == "vec":
            again, tree = parse_fragment(code, text, body.start_byte + 1, "fn f(){[", "];}")
            made_list = next((one for one in walk(tree) if one.type == "array_expression"), None)
            return self.value(again, made_list, frame, expected) if made_list is not None else Unknown("")
        if "." not in text or called in ("axes", "i"):
            return Opaque(f"{called}!")
        again, given = arguments_in(code, text, body.start_byte + 1)
        parts = [self.value(again, one, frame, None) for one in given]
        return Opaque(f"{called}!", frozenset().union(*map(sources_of, parts)))

    def _expanded(self, made: Expansion, frame: Frame, expected: Value | None) -> Value:
        """The statements of an expansion, in the scope of the invocation. What `let` gives to names of the caller holds
        behind it.
        """
        text = made.code.data.decode("utf-8", "replace")
        again, root = parse_fragment(made.code, text, 0, _BEFORE, "}")
        again = Code(made.code.source, again.data, 0, made.code.at, object())
        self.discover(again, root)
        item = child(root, "function_item")
        body = item.child_by_field_name("body") if item is not None else None
        if body is None:
            return Unknown("")
        inside = self.opened(again, body, frame)
        value = self.statements(again, body, inside, expected)
        given = made.given(len(_BEFORE))
        for name in dict.fromkeys(_bound(again, body, given, inside.bound)):
            if name in inside.locals:
                frame.locals[name] = inside.locals[name]
                frame.bound.add(name)
        return value


def _bound(code: Code, body: Node, given: Callable[[Node], bool], inner: set[str]) -> Iterator[str]:
    """Names of the caller that a `let` among statements binds, or (`inner`) one of an expansion among them."""
    for one in named(body):
        let = one.type == "let_declaration"
        within = one.child_by_field_name("pattern") if let else one
        called = one.type == "macro_invocation" or (
            one.type == "expression_statement" and bool(named(one)) and named(one)[0].type == "macro_invocation"
        )
        for part in walk(within) if within is not None and (let or called) else ():
            name = code.text(part)
            if part.type in _BINDS and given(part) and (let or name in inner):
                yield name
