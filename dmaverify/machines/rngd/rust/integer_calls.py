"""Types of integers that calls give: what methods, functions and macros say of their receivers and arguments.

Knows: methods of integers and lists, macros that print or assert, functions of the crate by their declared types.
Does not know: other expressions, statements and patterns (`integer_types`).
Law: a method that the input may declare is asked about before the standard library's of that name; what is not known
touches all that it gets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.code import arguments_in, child, named
from dmaverify.machines.rngd.rust.declares import ASSERTS, PRINTS
from dmaverify.machines.rngd.rust.integer_kinds import (
    EACH,
    OF_ONE_TYPE,
    OTHER_ARGUMENT,
    SAME_LIST,
    WAYS,
    IntegerKind,
    join,
    touch,
)
from dmaverify.machines.rngd.rust.integers import INTEGERS
from dmaverify.machines.rngd.rust.values import Value

if TYPE_CHECKING:
    from tree_sitter import Node

_TILES = {"tile", "chip_tile", "cluster_tile", "slice_tile"}
_COUNTS = {"len", "count", "capacity"}
_WIDTH = re.compile(r"\$|\.\*")  # of a format: an argument says how wide another is, and is a `usize`
Env = dict[str, IntegerKind]


class IntegerCalls:
    """The part that knows calls; `IntegerTypes` adds all else."""

    code: Code
    aside: int
    blind: bool
    declared: Callable[[str], list[Value]]
    declares: Callable[..., bool]
    declares_macro: Callable[[str], bool]
    expr: Callable[[Node | None, Env], IntegerKind]
    of: Callable[[Value], IntegerKind]
    _closure: Callable[[Node, Env, IntegerKind | None], IntegerKind]

    # ------------------------------------------------------------ calls

    def _call_expression(self, node: Node, env: Env) -> IntegerKind:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is not None and function.type == "generic_function":
            function = function.child_by_field_name("function")
        given = named(arguments) if arguments is not None else []
        if function is not None and function.type == "field_expression":
            return self._method(function, given, env)
        text = self.code.text(function) if function is not None else ""
        kinds = [self.expr(one, env) for one in given]
        head, _, last = text.rpartition("::")
        told = self.declared(text) if text.split("::")[0] not in env and not self.blind else []
        if told and len(told) == len(kinds) + 1:
            for kind, parameter in zip(kinds, told, strict=False):
                join(self.of(parameter), kind)
            return self.of(told[-1])
        touch(*kinds)
        if head in INTEGERS and last == "from" and not told:
            return IntegerKind(head)
        self.expr(function, env)
        return IntegerKind(open=True)

    def _method(self, function: Node, given: list[Node], env: Env) -> IntegerKind:
        target, field = function.child_by_field_name("value"), function.child_by_field_name("field")
        name = self.code.text(field) if field is not None else ""
        receiver = self.expr(target, env)
        part, of_integers = receiver.root.part, bool(receiver.root.name)
        own = self.declares(name, of_integers=of_integers)
        if name in EACH and not own and part is not None and len(given) == 1 and given[0].type == "closure_expression":
            made, result = self._closure(given[0], env, part), IntegerKind()
            result.part = made if name == "map" else part
            return result if name == "map" or name in SAME_LIST else IntegerKind(open=True)
        kinds = [self.expr(one, env) for one in given]
        ways, operation = WAYS.match(name), name.rpartition("_")[2]
        if (name in OF_ONE_TYPE or ways is not None) and not own and part is None:
            for kind in kinds:
                join(IntegerKind("u32") if operation in OTHER_ARGUMENT else receiver, kind)
            return receiver
        if name == "unwrap" and not own and target is not None and ".checked_" in self.code.text(target):
            return receiver
        if name in _TILES and not own:
            for kind in kinds:
                join(IntegerKind("usize"), kind)
            return IntegerKind(open=True)
        if name in _COUNTS and not own and not kinds:
            return IntegerKind("usize")
        if part is not None and not own and name in ("chain", "zip", "enumerate"):
            other = kinds[0].root.part if kinds else IntegerKind("usize")
            if other is None:
                return touch(receiver, *kinds)
            made = IntegerKind()
            made.part = join(part, other) if name == "chain" else IntegerKind()
            if name != "chain":
                made.part.parts = [other, part] if name == "enumerate" else [part, other]
            return made
        if part is not None and not own and name in SAME_LIST:
            for kind in kinds:
                join(IntegerKind("usize"), kind)
            return receiver
        touch(receiver, *kinds)
        return IntegerKind(open=True)

    def _macro_invocation(self, node: Node, env: Env) -> IntegerKind:
        name, body = node.child_by_field_name("macro"), child(node, "token_tree")
        called = self.code.text(name).split("::")[-1] if name is not None else ""
        if body is None or called == "m":
            return IntegerKind(open=True)
        known = {**dict.fromkeys(PRINTS, ""), **ASSERTS}.get(called.removeprefix("debug_"))
        text = self.code.text(body)[1:-1]
        if known is not None and not self.declares_macro(called) and not _WIDTH.search(text):
            outside = self.code
            self.code, given = arguments_in(outside, text, body.start_byte + 1)
            self.aside += 1
            kinds = [self.expr(_told(one), env) for one in given]
            self.code, self.aside = outside, self.aside - 1
            if known:
                join(*kinds[:2])
            return IntegerKind(open=True)
        for name_in in {self.code.text(one) for one in walk(body)} & env.keys():
            touch(env[name_in])
            env[name_in] = IntegerKind(open=True)  # or bound anew
        return IntegerKind(open=True)


def _told(argument: Node) -> Node | None:
    """What a macro prints: `x = value` names the value for its text."""
    return argument.child_by_field_name("right") if argument.type == "assignment_expression" else argument
