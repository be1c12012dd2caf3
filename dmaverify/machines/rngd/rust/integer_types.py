"""Which integer type each variable of a function has: what its declaration, its uses and the rest of the body give.

Knows: how the compiler finds types of integers: operands of one operator, ends of a range, list elements share one.
Does not know: values, what types and names of the crate mean (two functions tell).
Law: a variable that code which is not followed may give a type has none that is known (`?`); one that nothing gives a
type is an `i32`. A syntax that is not known here touches all that stands within.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.code import named, places, range_at
from dmaverify.machines.rngd.rust.declares import ASSERTS, PRINTS
from dmaverify.machines.rngd.rust.integer_calls import Env, IntegerCalls
from dmaverify.machines.rngd.rust.integer_kinds import (
    IntegerKind,
    join,
    touch,
)
from dmaverify.machines.rngd.rust.integers import INTEGERS
from dmaverify.machines.rngd.rust.values import Dtype, Sequence, Tuple, Value

if TYPE_CHECKING:
    from tree_sitter import Node

_SUFFIX = re.compile(r"[iu](?:8|16|32|64|128|size)$")
_NAMES = {"type_item", "use_declaration", "mod_item", "struct_item", "enum_item", "union_item", "trait_item"}
_PASSES = {
    "parenthesized_expression", "reference_expression", "try_expression", "await_expression", "const_block",
    "unsafe_block", "labeled_expression", "else_clause",
}  # fmt: skip
_COMPARES = {"==", "!=", "<", "<=", ">", ">="}


class IntegerTypes(IntegerCalls):
    """Finds the types of one text. `read` gives the value of a type, `declared` what a path is declared as, `declares`
    whether the input may have a method of a name, `declares_macro` a macro.
    """

    def __init__(
        self, code: Code, read: Callable[[Code, Node], Value], declared: Callable[[str], list[Value]],
        declares: Callable[..., bool], declares_macro: Callable[[str], bool], constant: Callable[[str], list[Value]],
    ) -> None:  # fmt: skip
        self.code, self.read, self.declared = code, read, declared
        self.declares, self.declares_macro, self.constant = declares, declares_macro, constant
        self.found: dict[int, IntegerKind] = {}
        self.blind = False  # whether a block has names that are not looked up here
        self.aside = 0  # texts of macros have places of their own
        self.given: list[IntegerKind] = []  # what the functions and closures around give

    def table(self, root: Node, whole: bool) -> dict[int, str]:
        """The type of each variable, by where its name is bound. `whole`: nothing outside of the text uses it."""
        try:
            if root.type == "function_item":
                self._function(root)
            else:
                declared = root.child_by_field_name("type")
                self.given.append(self.of_type(declared) if declared is not None else IntegerKind(open=True))
                self._gives(self.expr(root.child_by_field_name("value"), {}))
        except RecursionError:
            return {}
        told = {byte: kind.told for byte, kind in self.found.items()}
        return {byte: own for byte, own in told.items() if whole or self.found[byte].root.name}

    def _function(self, root: Node) -> None:
        env: Env = {}
        lists = [outer.child_by_field_name("type_parameters") for outer in (*_impls_around(root), root)]
        for one in (one for generics in lists if generics is not None for one in named(generics)):
            name, kind = one.child_by_field_name("name"), one.child_by_field_name("type")
            if one.type == "const_parameter" and name is not None and kind is not None:
                env[self.code.text(name)] = self.of_type(kind)
        parameters = root.child_by_field_name("parameters")
        for one in named(parameters) if parameters is not None else ():
            pattern, kind = one.child_by_field_name("pattern"), one.child_by_field_name("type")
            if pattern is not None:
                self.bind(pattern, self.of_type(kind) if kind is not None else IntegerKind(open=True), env)
        result, body = root.child_by_field_name("return_type"), root.child_by_field_name("body")
        self.given.append(self.of_type(result) if result is not None else IntegerKind(open=True))
        if body is not None:
            self._gives(self.expr(body, env))

    # ------------------------------------------------------------ types and patterns

    def of_type(self, node: Node) -> IntegerKind:
        if node.type == "primitive_type" and self.code.text(node) in INTEGERS:
            return IntegerKind(self.code.text(node))
        return IntegerKind(open=True) if self.blind else self.of(self.read(self.code, node))

    def of(self, value: Value) -> IntegerKind:
        """The type that a declaration gives."""
        made = IntegerKind(value.name if isinstance(value, Dtype) and value.name in INTEGERS else "", open=True)
        if isinstance(value, Sequence):
            made.part = self.of(value.part)
        if isinstance(value, Tuple):
            made.parts = [self.of(part) for part in value.parts]
        return made

    def bind(self, pattern: Node, kind: IntegerKind, env: Env) -> None:
        if pattern.type in ("identifier", "shorthand_field_identifier"):
            if told := self.constant(self.code.text(pattern)):  # a constant, which takes what is equal to it
                join(kind, *map(self.of, told))
                return
            env[self.code.text(pattern)] = kind
            if not self.aside:
                self.found[pattern.start_byte] = kind
            return
        inner = [one for one in named(pattern) if one.type != "mutable_specifier"]
        if pattern.type in ("mut_pattern", "ref_pattern", "reference_pattern") and len(inner) == 1:
            self.bind(inner[0], kind, env)
        elif pattern.type == "tuple_pattern" and len(parts := places(pattern)) == len(kind.root.parts):
            for (one, _), part in zip(parts, kind.root.parts, strict=True):
                self.bind(one, part, env)
        elif pattern.type != "_" and not re.fullmatch(r"[\d_\s.=|-]*", self.code.text(pattern)):
            touch(kind)
            for one in walk(pattern):
                if one.type in ("identifier", "shorthand_field_identifier"):
                    self.bind(one, IntegerKind(open=True), env)

    # ------------------------------------------------------------ expressions

    def expr(self, node: Node | None, env: Env) -> IntegerKind:
        """The type of an expression."""
        if node is None:
            return IntegerKind(open=True)
        if node.type in _PASSES:
            inner = [one for one in named(node) if one.type not in ("label", "mutable_specifier")]
            return self.expr(inner[-1], env) if len(inner) == 1 else self.rest(node, env)
        handler = getattr(self, f"_{node.type}", None)
        made: IntegerKind = handler(node, env) if handler is not None else self.rest(node, env)
        return made

    def rest(self, node: Node, env: Env) -> IntegerKind:
        """Anything else: it may say what the types of its parts are."""
        if node.type.endswith("_item") or node.type == "use_declaration":
            return IntegerKind(open=True)
        return touch(*(self.expr(one, env) for one in named(node)))

    def _integer_literal(self, node: Node, env: Env) -> IntegerKind:
        found = _SUFFIX.search(self.code.text(node))
        return IntegerKind(found[0] if found is not None else "")

    def _identifier(self, node: Node, env: Env) -> IntegerKind:
        name = self.code.text(node)
        return env[name] if name in env else self._path(name)

    def _scoped_identifier(self, node: Node, env: Env) -> IntegerKind:
        text = self.code.text(node)
        head, _, last = text.rpartition("::")
        if head in INTEGERS and last in ("MIN", "MAX", "BITS") and not self.declared(text):
            return IntegerKind("u32" if last == "BITS" else head)
        return self._path(text)

    def _path(self, text: str) -> IntegerKind:
        told = self.declared(text) if not self.blind else []
        return self.of(told[0]) if len(told) == 1 else IntegerKind(open=True)

    def _unary_expression(self, node: Node, env: Env) -> IntegerKind:
        return self.expr(named(node)[-1], env)

    def _block(self, node: Node, env: Env) -> IntegerKind:
        inside = dict(env)
        self.blind = self.blind or any(one.type in _NAMES or self._is_unknown_macro(one) for one in named(node))
        for one in named(node):
            name, kind = one.child_by_field_name("name"), one.child_by_field_name("type")
            if one.type.endswith("_item") and name is not None:
                inside[self.code.text(name)] = self.of_type(kind) if kind is not None else IntegerKind(open=True)
        made = IntegerKind(open=True)
        for one in named(node):
            made = self.expr(one, inside)
        return made

    def _is_unknown_macro(self, node: Node) -> bool:
        """Whether a statement is a macro that may declare names."""
        inner = named(node)[0] if node.type == "expression_statement" and named(node) else node
        name = inner.child_by_field_name("macro") if inner.type == "macro_invocation" else None
        called = self.code.text(name).split("::")[-1].removeprefix("debug_") if name is not None else ""
        return bool(called) and called not in {*PRINTS, *ASSERTS}

    def _expression_statement(self, node: Node, env: Env) -> IntegerKind:
        made = self.expr(named(node)[0], env) if named(node) else IntegerKind(open=True)
        return IntegerKind(open=True) if node.children[-1].type == ";" else made

    def _let_declaration(self, node: Node, env: Env) -> IntegerKind:
        pattern, declared = node.child_by_field_name("pattern"), node.child_by_field_name("type")
        value, other = node.child_by_field_name("value"), node.child_by_field_name("alternative")
        made = self.expr(value, env) if value is not None else IntegerKind()
        if declared is not None:
            made = join(self.of_type(declared), made)
        self.expr(other, env)
        if pattern is not None:
            self.bind(pattern, made, env)
        return IntegerKind(open=True)

    def _let_condition(self, node: Node, env: Env) -> IntegerKind:
        made, pattern = self.expr(node.child_by_field_name("value"), env), node.child_by_field_name("pattern")
        if pattern is not None:
            self.bind(pattern, made, env)
        return IntegerKind(open=True)

    def _binary_expression(self, node: Node, env: Env) -> IntegerKind:
        if range_at(self.code, node) is not None:
            return self._range_expression(node, env)
        sign = node.child_by_field_name("operator")
        text = self.code.text(sign) if sign is not None else ""
        left, right = (self.expr(node.child_by_field_name(side), env) for side in ("left", "right"))
        if text in ("&&", "||"):
            return IntegerKind(open=True)
        if text in ("<<", ">>"):
            return left
        joined = join(left, right)
        return IntegerKind(open=True) if text in _COMPARES else joined

    def _assignment_expression(self, node: Node, env: Env) -> IntegerKind:
        if range_at(self.code, node) is not None:
            return self._range_expression(node, env)
        join(*(self.expr(node.child_by_field_name(side), env) for side in ("left", "right")))
        return IntegerKind(open=True)

    def _compound_assignment_expr(self, node: Node, env: Env) -> IntegerKind:
        sign = node.child_by_field_name("operator")
        left, right = (self.expr(node.child_by_field_name(side), env) for side in ("left", "right"))
        if sign is None or self.code.text(sign) not in ("<<=", ">>="):
            join(left, right)
        return IntegerKind(open=True)

    def _type_cast_expression(self, node: Node, env: Env) -> IntegerKind:
        self.expr(node.child_by_field_name("value"), env)
        declared = node.child_by_field_name("type")
        return self.of_type(declared) if declared is not None else IntegerKind(open=True)

    def _range_expression(self, node: Node, env: Env) -> IntegerKind:
        made, outside, ends = IntegerKind(), self.code, range_at(self.code, node)
        if ends is None:
            return self.rest(node, env)
        kinds = [self.expr(ends.low, env)] if ends.low is not None else []
        self.code, self.aside = ends.code, self.aside + (ends.code is not outside)
        kinds += [self.expr(ends.high, env)] if ends.high is not None else []
        self.aside -= ends.code is not outside
        self.code = outside
        made.part = join(IntegerKind(), *kinds)
        return made

    def _array_expression(self, node: Node, env: Env) -> IntegerKind:
        length, made = node.child_by_field_name("length"), IntegerKind()
        if length is not None:
            join(IntegerKind("usize"), self.expr(length, env))
        made.part = join(IntegerKind(), *(self.expr(one, env) for one in named(node) if one != length))
        return made

    def _tuple_expression(self, node: Node, env: Env) -> IntegerKind:
        made = IntegerKind()
        made.parts = [self.expr(one, env) for one in named(node)]
        return made

    def _index_expression(self, node: Node, env: Env) -> IntegerKind:
        kinds = [self.expr(one, env) for one in named(node)]
        whole, at = (*kinds, IntegerKind(), IntegerKind())[:2]
        part, ends = whole.root.part, at.root.part
        if part is None:
            return touch(whole, at)
        join(IntegerKind("usize"), at if ends is None else ends)
        return part if ends is None else whole

    def _field_expression(self, node: Node, env: Env) -> IntegerKind:
        value, field = self.expr(node.child_by_field_name("value"), env).root, node.child_by_field_name("field")
        name = self.code.text(field) if field is not None else ""
        return value.parts[int(name)] if name.isdecimal() and int(name) < len(value.parts) else IntegerKind(open=True)

    # ------------------------------------------------------------ control

    def _if_expression(self, node: Node, env: Env) -> IntegerKind:
        inside = dict(env)
        self.expr(node.child_by_field_name("condition"), inside)
        made = self.expr(node.child_by_field_name("consequence"), inside)
        other = node.child_by_field_name("alternative")
        return join(made, self.expr(other, env)) if other is not None else made

    def _while_expression(self, node: Node, env: Env) -> IntegerKind:
        inside = dict(env)
        self.expr(node.child_by_field_name("condition"), inside)
        self.expr(node.child_by_field_name("body"), inside)
        return IntegerKind(open=True)

    def _for_expression(self, node: Node, env: Env) -> IntegerKind:
        inside, pattern = dict(env), node.child_by_field_name("pattern")
        part = self.expr(node.child_by_field_name("value"), env).root.part
        if pattern is not None:
            self.bind(pattern, part or IntegerKind(open=True), inside)
        self.expr(node.child_by_field_name("body"), inside)
        return IntegerKind(open=True)

    def _match_expression(self, node: Node, env: Env) -> IntegerKind:
        value, body = self.expr(node.child_by_field_name("value"), env), node.child_by_field_name("body")
        made = IntegerKind()
        for arm in named(body) if body is not None else ():
            inside, pattern = dict(env), arm.child_by_field_name("pattern")
            guard = pattern.child_by_field_name("condition") if pattern is not None else None
            for one in named(pattern) if pattern is not None else ():
                if one != guard:
                    self.bind(one, value, inside)
            self.expr(guard, inside)
            made = join(made, self.expr(arm.child_by_field_name("value"), inside))
        return made

    def _gives(self, kind: IntegerKind) -> None:
        """The function or closure that is read gives something of a type."""
        if self.given:
            join(self.given[-1], kind)

    def _return_expression(self, node: Node, env: Env) -> IntegerKind:
        for one in named(node):
            self._gives(self.expr(one, env))
        return IntegerKind(open=True)

    def _closure_expression(self, node: Node, env: Env) -> IntegerKind:
        return self._closure(node, env, None)

    def _closure(self, node: Node, env: Env, given: IntegerKind | None) -> IntegerKind:
        """What a closure gives, whose first parameter gets `given`."""
        inside, parameters = dict(env), node.child_by_field_name("parameters")
        for number, one in enumerate(named(parameters) if parameters is not None else ()):
            declared, pattern = one.child_by_field_name("type"), one.child_by_field_name("pattern") or one
            own = given if number == 0 and given is not None else IntegerKind(open=True)
            self.bind(pattern, join(self.of_type(declared), own) if declared is not None else own, inside)
        self.given.append(IntegerKind(open=True))
        made = join(self.given[-1], self.expr(node.child_by_field_name("body"), inside))
        self.given.pop()
        return made


def _impls_around(node: Node) -> Iterator[Node]:
    """The `impl` or trait that a function stands in: its parameters are those of the function too."""
    outer = node.parent
    while outer is not None:
        if outer.type in ("impl_item", "trait_item"):
            yield outer
        outer = outer.parent
