"""Calls of macros: expansions of `macro_rules!` read where they stand, and which of their names leave them.

Knows: known macros, arguments of others, hygiene: which names of an expansion are those of the caller.
Does not know: how a macro is expanded (`macros`), statements (`bodies`).
Law: a name that the caller passes is the caller's, so that a `let` of it holds behind the call; a name that the macro
itself writes is its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.buffers import tensors_in
from dmaverify.machines.rngd.rust.code import arguments_in, child, named, parse_fragment, parts_of
from dmaverify.machines.rngd.rust.declares import ASSERTS, KNOWN_MACROS, LEAVES_NOTHING, STOPS
from dmaverify.machines.rngd.rust.endings import ASSERTIONS, build_choice
from dmaverify.machines.rngd.rust.expressions import Expressions
from dmaverify.machines.rngd.rust.fragments import plain
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.macros import Expansion, Rules, expand
from dmaverify.machines.rngd.rust.module import NameScope
from dmaverify.machines.rngd.rust.values import Opaque, Unknown, Value, sources_of
from dmaverify.program.ways import OnWay

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_EXPANSIONS = 400
_NAME = re.compile(r"\b[a-z_]\w*")
_STATEMENTS, _EXPRESSION = ("fn f(){", "}"), ("fn f(){(", ")}")  # around an expansion, by where its call stands
_BINDS = ("identifier", "shorthand_field_identifier")
_BINDS_NONE = {*KNOWN_MACROS, "i"} - {"matches"}


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
        rules = self._rules(code, name, called, frame.scope)
        if rules is not None and self.expansions < MOST_EXPANSIONS:
            self.expansions += 1
            made = expand(rules, code, body)
            if made is not None:
                anew, alone = partial(_bound_anew, code, node, frame, rules), node.parent
                stands = alone is None or alone.type in ("expression_statement", "block")
                return self._expanded(made, frame, expected, anew, _STATEMENTS if stands else _EXPRESSION)
        text = plain(code.text(body)[1:-1])
        if rules is not None or called not in (*KNOWN_MACROS, "i"):
            self._not_expanded(text if rules is None else None, frame)
            if called not in LEAVES_NOTHING and not self.walk.dead:
                self.walk.unread[f"`{called}!`"] = None
            self.comes_back(code, body, f"{called}!", Opaque(""), frame)
        if called == "vec":
            again, tree = parse_fragment(code, text, body.start_byte + 1, "fn f(){[", "];}")
            made_list = next((one for one in walk(tree) if one.type == "array_expression"), None)
            if tree.has_error:
                self._not_expanded(text, frame)
            return self.value(again, made_list, frame, expected) if made_list is not None else Unknown("")
        told = rules is None and called in KNOWN_MACROS
        if called in ("axes", "i") or not (told or "." in text):
            return Opaque(f"{called}!")
        again, given = arguments_in(code, text, body.start_byte + 1)
        given = given[:1] if called == "matches" else given
        checks = [build_choice(ASSERTIONS)] if told and called.startswith("debug_") else []
        with self.walk.chosen(OnWay(tuple(checks))):
            parts = [self.value(again, one, frame, None) for one in given]
            if told and called in STOPS:
                self.stop()
            elif told and called.removeprefix("debug_") in ASSERTS:
                self.asserted(again, called, given, frame)
        return Opaque(f"{called}!", frozenset().union(*map(sources_of, parts)))

    def _rules(self, code: Code, name: Node, called: str, scope: NameScope) -> Rules | None:
        """The macro that is called: by textual scope, or by the module that a path names."""
        path = parts_of(code.text(name))[:-1]
        if path in ((), ("crate",), ("$crate",)):
            return scope.macro(called, None if path else code.span(name))
        module = scope.scope_at(path)
        return module.macros.get(called) if module is not None else None

    def _not_expanded(self, text: str | None, frame: Frame) -> None:
        """Enters that a macro may write what it is given (`text`), or whatever has a name where it may know of it."""
        names = None if text is None else set(_NAME.findall(text))
        for around in _around(frame):
            given = [value for name, value in around.locals.items() if names is None or name in names]
            for value in given:
                self.ledger.lose(value)
            self.ledger.leave(given)

    def _expanded(
        self, made: Expansion, frame: Frame, expected: Value | None, anew: Callable[[str], bool | None],
        within: tuple[str, str],
    ) -> Value:  # fmt: skip
        """The statements of an expansion, in the scope of the invocation. What `let` gives to names of the caller holds
        behind it. `anew`: whether a variable that the macro itself names is another one where the macro is defined;
        None where there is none.
        """
        text = made.code.data.decode("utf-8", "replace")
        again, root = parse_fragment(made.code, text, 0, *within)
        if root.has_error and within is not _STATEMENTS:
            return self._expanded(made, frame, expected, anew, _STATEMENTS)
        again = Code(made.code.source, again.data, 0, made.code.at, object())
        self.discover(again, root)
        item = child(root, "function_item")
        body = item.child_by_field_name("body") if item is not None else None
        if body is None or root.has_error:  # it is read as something else than it is, or not at all
            self._not_expanded(None, frame)
        if body is None:
            return Unknown("")
        inside, given = self.opened(again, body, frame), made.given(len(within[0]))
        for name, whose in _variables(again, body, given).items():
            other = anew(name) if False in whose and name in inside.locals else False
            if other is None and True not in whose:
                del inside.locals[name]
            elif other is not False:
                around = list(_around(frame))
                if any(True for one in around for _ in tensors_in(one.locals.get(name))):
                    for value in (value for one in around for value in one.locals.values()):
                        self.ledger.lose(value)  # whichever of them the name meant there
                inside.locals[name] = Unknown(f"`{name}` of a macro, which is looked up where that is defined")
        value = self.statements(again, body, inside, expected)
        for name in dict.fromkeys(_bound(again, body, given, inside.bound)):
            if name in inside.locals:
                frame.locals[name] = inside.locals[name]
                frame.bound.add(name)
        return value


def _around(frame: Frame) -> Iterator[Frame]:
    """A frame and those of the blocks around it."""
    at: Frame | None = frame
    while at is not None:
        yield at
        at = at.outer


def _variables(code: Code, body: Node, given: Callable[[Node], bool]) -> dict[str, set[bool]]:
    """Names in an expansion that may be variables, and whether the caller, or the macro itself, writes them."""
    found: dict[str, set[bool]] = {}
    for part in walk(body):
        if part.type in ("identifier", "shorthand_field_identifier"):
            found.setdefault(code.text(part), set()).add(given(part))
        elif part.type == "token_tree":
            for name in re.findall(r"[a-z_]\w*", code.text(part)):
                found.setdefault(name, set()).add(given(part))
    return found


def _bound_anew(code: Code, call: Node, frame: Frame, rules: Rules, name: str) -> bool | None:
    """Whether a variable may have been bound anew between the definition of a macro and a call of it; None where the
    macro stands outside of functions, which sees none.
    """
    scope: NameScope | None = frame.scope
    while scope is not None and not (rules.name in scope.macros and rules in scope.macros[rules.name].chain()):
        scope = scope.around
    if scope is None or scope.kind != "block":
        return None
    block = call.parent
    while block is not None and not (found := _definitions(code, block, rules.name)):
        block = block.parent
    if rules.code is not code or block is None or len(found) != 1:
        return True
    after = (one for one in walk(block) if found[0].end_byte <= one.start_byte < call.start_byte)
    silent = {called for called in _BINDS_NONE if frame.scope.macro(called) is None}
    return any(name in re.findall(r"\w+", text) for one in after for text in _may_bind(code, one, silent))


def _definitions(code: Code, block: Node, macro: str) -> list[Node]:
    return [
        one
        for one in named(block)
        if one.type == "macro_definition"
        and (name := one.child_by_field_name("name")) is not None
        and code.text(name) == macro
    ]


def _may_bind(code: Code, node: Node, silent: set[str]) -> Iterator[str]:
    """The texts of a node in which a name may be one that it binds: patterns, and what a macro is given that is not one
    of `silent`.
    """
    if node.type == "closure_parameters":
        yield code.text(node)
    elif node.type == "macro_invocation":
        called = node.child_by_field_name("macro")
        if called is None or code.text(called) not in silent:
            yield code.text(node)
    elif (pattern := node.child_by_field_name("pattern")) is not None:
        yield code.text(pattern)


_MAKES = re.compile(
    r"\b(?:const|static|type|fn|struct|enum|union|trait|mod|macro_rules\s*!)\s+(?:mut\s+)?(\$?\w+)|\buse\b([^;]*)"
)
_CALLS = re.compile(r"\b(\w+)\s*!")


def items_made(code: Code, block: Node, scope: NameScope) -> set[str]:
    """Names of items that macros called as statements of a block may make: what they mean there is not known."""
    found: set[str] = set()
    for one in named(block):
        call = named(one)[0] if one.type == "expression_statement" and named(one) else one
        name = call.child_by_field_name("macro") if call.type == "macro_invocation" else None
        if name is not None:
            todo, seen = [code.text(name).split("::")[-1]], set[str]()
            found |= set(re.findall(r"\w+", " ".join(map(" ".join, _MAKES.findall(code.text(call))))))
            while todo:
                macro = todo.pop()
                rules = scope.macro(macro) if macro not in seen else None
                seen.add(macro)
                for _, text in rules.arms if rules is not None else ():
                    todo += _CALLS.findall(text)
                    for own, used in _MAKES.findall(text):
                        given = own.startswith("$") or "$" in used
                        found |= set(re.findall(r"\w+", code.text(call.children[-1]) if given else f"{own} {used}"))
    return found


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
