"""Function bodies: what every expression is, statement by statement, and the transfers among them.

Knows: statements, patterns, blocks, branches, loops; what is expected of an expression where it stands.
Does not know: methods and functions (`calls`), how moves are judged.
Law: every expression is visited, so that no transfer in it is passed over; nothing in a text makes it raise. A loop
variable has all values of its range; a variable that changes has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.accesses import Unjudged
from dmaverify.machines.rngd.rust.buffers import EffectLedger
from dmaverify.machines.rngd.rust.cfg import built
from dmaverify.machines.rngd.rust.code import arguments_in, child, label_of, named, parse_fragment
from dmaverify.machines.rngd.rust.expressions import Expressions
from dmaverify.machines.rngd.rust.flow import ITEMS
from dmaverify.machines.rngd.rust.later import Later
from dmaverify.machines.rngd.rust.macros import expand
from dmaverify.machines.rngd.rust.module import Item, NameScope, fill
from dmaverify.machines.rngd.rust.paths import WayWalk
from dmaverify.machines.rngd.rust.sites import is_host, is_kernel, speaks_of_tensors, takes_numbers, told_by_calls
from dmaverify.machines.rngd.rust.types import Frame
from dmaverify.machines.rngd.rust.values import (
    Numbers,
    Opaque,
    Pending,
    Record,
    RustTensor,
    Unknown,
    Value,
    changing,
    known,
    sources_of,
)
from dmaverify.verdict import Severity

if TYPE_CHECKING:
    from tree_sitter import Node

T = TypeVar("T")
MAX_DEPTH = 100
MAX_CALLS_DEEP = 12
MAX_INLINED = 4000  # calls that one visit reads with what they pass; later ones are read by their types
_THROUGH = {
    "reference_expression", "parenthesized_expression", "try_expression", "await_expression",
    "return_expression", "break_expression", "const_block", "unsafe_block", "expression_statement",
    "labeled_expression", "else_clause", "try_block",
}  # fmt: skip
_STOPS = {"panic", "unreachable", "todo", "unimplemented"}
_NUMERIC = {
    "binary_expression", "boolean_literal", "integer_literal", "type_cast_expression", "scoped_identifier",
    "unary_expression",
}  # fmt: skip


class Bodies(Expressions):
    """Evaluates bodies. One instance reads everything that is asked for in one run."""

    # ------------------------------------------------------------ functions

    def function(self, item: Item, generics: dict[str, Value], own: Value | None, instance: str = "") -> None:
        """Visits the body of a function, with its generic parameters as given; once more where later uses say more."""
        self._once_or_twice(1, None, lambda: self._visit_function(item, generics, own, instance))

    def _once_or_twice(self, depth: int, around: Later | None, visit: Callable[[], T]) -> T:
        """A visit; once more where later uses say more."""
        self.later_uses = Later(depth, around)
        found = visit()
        if self.later_uses.worth_another:
            told = self.later_uses.told
            self.later_uses.forget()
            self.later_uses = Later(depth, around, told=told)
            found = visit()
        (self.lacking if around is None else around.lacking).update(self.later_uses.lacking)
        return found

    def _visit_function(self, item: Item, generics: dict[str, Value], own: Value | None, instance: str) -> None:
        body = item.node.child_by_field_name("body")
        if body is None:
            return
        frame = Frame(item.scope, generics, {}, own)
        self.ledger, self.walk, self.spent = EffectLedger(), WayWalk(), 0
        for one in item.parameters:
            if one.type == "parameter":
                pattern = one.child_by_field_name("pattern")
                declared = one.child_by_field_name("type")
                value = self.types.read(item.code, declared, frame)
                name = item.code.text(pattern) if pattern is not None else ""
                value = self.allocated(self.any_given(item, one, name, value), name, item.code, one)
                self.bind(item.code, pattern, value, frame)
                self.ledger.hold(value, lent=declared is not None and declared.type == "reference_type")
            elif one.type == "self_parameter" and own is not None:
                frame.locals["self"] = self.anew(self.instance_of(own) if isinstance(own, Record) else own)
        self.unrolled = self.unrolling = 0
        self.ledger.give(self._given_by(item, body, frame, instance), self.walk.when)
        self._conclude(item)

    def _given_by(self, item: Item, body: Node, frame: Frame, instance: str) -> Value:
        """What a body gives."""
        result = item.node.child_by_field_name("return_type")
        expected = self.types.read(item.code, result, frame) if result is not None else Opaque("()")
        before = self.result, self.instance, self.item, self.let
        self.result, self.instance, self.item, self.let = expected, instance, item, ""
        self.stack.append(item)
        try:
            return self.settled(self.block(item.code, body, frame, expected), expected)
        finally:
            self.stack.pop()
            self.result, self.instance, self.item, self.let = before

    def _conclude(self, item: Item) -> None:
        """Says what the effects of a function come to."""
        listed = [effect.site for effect in self.ledger.effects if effect.site.number >= 0]
        for told, finding in self.ledger.remarks():
            if told is None or told.number < 0:  # what the Tensor Unit commits has no verdict of its own
                told = listed[-1] if listed else self.unmoved(item, finding)
            if told is None:
                continue
            site = told
            if isinstance(finding, Unjudged):
                site.leave_open(finding)
            elif finding.severity is Severity.WARNING and not is_kernel(item):
                site.alone.append((item, finding))  # what counts is what callers make of it, where there are any
            else:
                site.remark(finding)
        if listed and len(self.ledger.born) > 1:
            listed[-1].ledgers.append((item.name, self.ledger))

    def inlines(self, item: Item, bound: Mapping[str, Value], telling: bool = False) -> bool:
        """Whether a call is read with what it passes: every generic argument is known, and it is no recursion.

        `telling`: it passes an index whose values are known.
        """
        body = item.node.child_by_field_name("body")
        if body is None or body.has_error or item in self.stack or len(self.stack) >= MAX_CALLS_DEEP:
            return False
        if any(name not in bound or not known(bound[name]) for name in told_by_calls(item)):
            return False
        if is_kernel(item) and not item.generics and not takes_numbers(item) and not telling:
            return False  # it is read by itself
        if self.stack and is_host(self.stack[0]) and not takes_numbers(item) and not telling:
            return False  # the host moves whole tensors: types say all there is
        if item not in self.telling:
            self.telling[item] = speaks_of_tensors(item)
        if not self.telling[item]:
            return False
        self.spent += 1
        return self.spent <= MAX_INLINED

    def inlined(
        self, item: Item, bound: dict[str, Value], own: Value | None, values: list[Value], instance: str
    ) -> Value:
        """What a function of the crate gives for these arguments; its transfers are read as parts of the caller."""
        if not is_host(item):
            return self._visit_inlined(item, bound, own, values, instance)
        outside = self.later_uses
        try:
            return self._once_or_twice(
                len(self.stack) + 1, outside, lambda: self._visit_inlined(item, bound, own, values, instance)
            )
        finally:
            self.later_uses = outside

    def _visit_inlined(
        self, item: Item, bound: dict[str, Value], own: Value | None, values: list[Value], instance: str
    ) -> Value:
        body = item.node.child_by_field_name("body")
        assert body is not None
        frame = Frame(item.scope, bound, {}, own)
        said = [instance] if instance else []
        parameters = item.parameters
        if own is not None:
            frame.locals["self"] = self.passed(item, parameters[0], "self", own, own, own)
        for one, value in zip((p for p in parameters if p.type == "parameter"), values, strict=True):
            pattern = one.child_by_field_name("pattern")
            declared = self.types.read(item.code, one.child_by_field_name("type"), frame)
            name = item.code.text(pattern) if pattern is not None else ""
            if isinstance(value, Numbers):
                said.append(f"{name} = {_told(value)}")
            made = value if isinstance(value, Numbers) else self.merged(value, declared)
            if isinstance(made, RustTensor) and made.buffer is None:
                made = self.allocated(made, name, item.code, one)
            self.bind(item.code, pattern, self.passed(item, one, name, value, made, declared), frame)
        self.entered.add(item)
        outside, alone = self.ledger, is_kernel(item)
        if alone:
            self.ledger = EffectLedger()  # the host waits for one kernel before it starts the next
        try:
            with self.walk.within("function"):
                found = self._given_by(item, body, frame, ", ".join(said))
            if alone:
                self.ledger.give(found, self.walk.when)
                self._conclude(item)
            return found
        finally:
            self.ledger = outside

    def block(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """The value of the last expression of a block."""
        key = code, node.start_byte, node.end_byte, frame.scope
        scope = self.blocks.get(key)  # its functions are the same each time that it is read
        if scope is None:
            scope = self.blocks[key] = NameScope("block", "", frame.scope)
            fill(scope, code, node.children)
        for item in scope.functions:
            self.found(item)
        inside = frame.inside(scope)
        value: Value = Opaque("()")
        statements = self.built(code, node, frame)
        for number, (one, condition) in enumerate(statements):
            if condition:
                self.unsure(code, one, condition, inside)
                continue
            last = number == len(statements) - 1
            ends = one.children[-1].type == ";" if one.children else False
            if one.type == "expression_statement" and not (last and not ends):
                self.value(code, named(one)[0] if named(one) else one, inside, None)
                value = Opaque("()")
            else:
                value = self.value(code, one, inside, expected if last else None)
        return value

    def built(self, code: Code, node: Node, frame: Frame) -> list[tuple[Node, str]]:
        """The statements of a block, or the arms of a match, that this build has; with the condition where only the
        compiler knows whether it has it.
        """
        out: list[tuple[Node, str]] = []
        attributes: list[str] = []
        features = frame.scope.module.features
        for one in node.named_children:
            if one.type == "attribute_item":
                attributes.append(code.text(one))
                continue
            if one.type in ITEMS:
                attributes = attributes if one.type.endswith("comment") else []
                continue
            attributes += [code.text(own) for own in one.children if own.type == "attribute_item"]
            told = {text: built(text, features) for text in attributes}
            attributes = []
            if False in told.values():
                self.leave_unbuilt(code.span(one), next(text for text, own in told.items() if own is False))
            else:
                open_ones = [text[text.index("(") + 1 : text.rindex(")")] for text, own in told.items() if own is None]
                out.append((one, " and ".join(" ".join(text.split()) for text in open_ones)))
        return out

    # ------------------------------------------------------------ expressions

    def value(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """What an expression is; what its place `expected` of it fills in what the expression itself leaves open."""
        if self.depth > MAX_DEPTH:
            for one in frame.locals.values():
                self.ledger.lose(one)  # what is not read may write whatever has a name here
            return Unknown("the code nests too deep to be read", code.span(node))
        self.depth += 1
        try:
            found = self._value(code, node, frame, expected)
        finally:
            self.depth -= 1
        return self.settled(found, expected) if isinstance(found, Pending) else found

    def _value(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        kind = node.type
        if kind in ("identifier", "self"):
            return self._name(code, node, frame, expected)
        if kind in _NUMERIC:
            number = self.types.number(code, node, frame)
            if number is not None:
                return number
        if kind in ITEMS:
            return Opaque("()")
        handler = getattr(self, f"_{kind}", None)
        if handler is not None:
            made: Value = handler(code, node, frame, expected)
            return made
        if kind in _THROUGH:
            inner = [one for one in named(node) if one.type != "label"]
            if kind == "return_expression":
                expected = self.result
            if not inner:
                self._leaves(code, node, Opaque("()"))
                return Opaque("()")
            for one in inner[:-1]:
                self.value(code, one, frame, None)
            found = self.value(code, inner[-1], frame, expected)
            self._leaves(code, node, found)
            if kind == "reference_expression" and child(node, "mutable_specifier") is not None:
                self.ledger.lose(found)  # whoever gets it may write it
                return changing(found, Unknown("a number that somebody else may change", code.span(node)))
            return found
        return self._rest(code, node, frame)

    def _leaves(self, code: Code, node: Node, value: Value) -> None:
        """`return`, `break`: what stands behind does not run on this way."""
        if node.type == "return_expression":
            self.ledger.give(value, self.walk.when, soft=len(self.stack) > 1)
            self.walk.leave("function")
        elif node.type == "break_expression":
            self.ledger.give(value, self.walk.when, soft=True)
            self.walk.leave("loop", label_of(code, node))
        elif node.type == "try_expression" and any(kind == "function" for _, kind, _ in self.walk.scopes):
            with self.walk.perhaps():
                self.walk.leave("function")  # of the outermost function nothing is given away

    def _continue_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        self.walk.leave("turn", label_of(code, node))
        return Opaque("()")

    def _name(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        name = code.text(node)
        value = frame.locals.get(name)
        if value is not None and expected is not None:
            self.later_uses.used(value, expected)
        if value is None and name == "None":
            return Opaque("None")
        if value is None:
            self.mentioned(code, node, None, frame)
            number, item = self.types.look(frame)("path", name), frame.scope.find(name)
            listed = self.list_of(frame.scope.find(name, values=True)) if name not in frame.generics else None
            if number is None and listed is not None:
                return listed
            if item is not None and item.kind == "struct" and item.node.child_by_field_name("body") is None:
                return Record(item)
            return number if number is not None else Unknown(f"`{name}` is no variable that is known here",
                                                             code.span(node))  # fmt: skip
        if isinstance(value, Pending) and isinstance(expected, RustTensor):
            made = self.settled(value, expected)
            frame.locals[name] = made
            return made
        self.ledger.use(value)
        return value

    def _block(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        label = label_of(code, node)
        with self.walk.within("block", label):
            found = self.block(code, node, frame, expected)
        ends = [one for one in walk(node) if label and one.type == "break_expression" and label_of(code, one) == label]
        if any(one.type != "label" for end in ends for one in named(end)):
            return Unknown(f"the value of a block that `break {label}` may leave", code.span(node))
        return found

    # ------------------------------------------------------------ macros and patterns

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
        if rules is not None and self.expansions < 400:
            self.expansions += 1
            made = expand(rules[0], code, body)
            if made is not None:
                return self._expanded(made[0], frame, expected)
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

    def _expanded(self, code: Code, frame: Frame, expected: Value | None) -> Value:
        """The statements of an expansion, in the scope of the invocation."""
        text = code.data.decode("utf-8", "replace")
        again, root = parse_fragment(code, text, 0, "fn f(){", "}")
        again = Code(code.source, again.data, 0, code.at, object())
        self.discover(again, root)
        item = child(root, "function_item")
        body = item.child_by_field_name("body") if item is not None else None
        return self.block(again, body, frame, expected) if body is not None else Unknown("")


def _told(numbers: Numbers) -> str:
    if numbers.single is not None:
        return str(numbers.single)
    return f"{numbers.low}, {numbers.low + numbers.step}, .., {numbers.high}"
