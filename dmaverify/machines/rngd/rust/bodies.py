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
from dmaverify.machines.rngd.rust.buffers import EffectLedger, tensors_in
from dmaverify.machines.rngd.rust.cfg import built
from dmaverify.machines.rngd.rust.code import child, in_closure, label_of, named, passes_on, taken_along, takes_along
from dmaverify.machines.rngd.rust.conclusions import conclude
from dmaverify.machines.rngd.rust.flow import ITEMS
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.impls import parameters_around
from dmaverify.machines.rngd.rust.invocations import Invocations, items_made
from dmaverify.machines.rngd.rust.later import Later
from dmaverify.machines.rngd.rust.module import Item, NameScope, fill
from dmaverify.machines.rngd.rust.paths import WayWalk
from dmaverify.machines.rngd.rust.sites import (
    is_host,
    is_kernel,
    moves,
    takes_numbers,
    told_by_calls,
)
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
)

if TYPE_CHECKING:
    from tree_sitter import Node

T = TypeVar("T")
MAX_DEPTH = 100
MAX_CALLS_DEEP = 12
MAX_INLINED = 4000  # calls that one visit reads with what they pass; later ones are read by their types
_THROUGH = {
    "reference_expression", "parenthesized_expression", "await_expression", "return_expression", "break_expression",
    "const_block", "unsafe_block", "expression_statement", "labeled_expression", "else_clause", "try_block",
}  # fmt: skip
_NUMERIC = {
    "binary_expression", "boolean_literal", "integer_literal", "type_cast_expression", "scoped_identifier",
    "unary_expression",
}  # fmt: skip


class Bodies(Invocations):
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
        frame = Frame(item.scope, {**parameters_around(item, own), **generics}, {}, own)
        self.ledger, self.walk, self.spent = EffectLedger(), WayWalk(), 0
        self.nothing, self.absent, self.followed, self.stopper_handed_on = [], {}, False, False
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
        self.ledger.give(self._given_by(item, body, frame, instance), self.walk.when, leaves=True)
        self.hidden_ends(item)
        conclude(self, item)

    def _given_by(self, item: Item, body: Node, frame: Frame, instance: str) -> Value:
        """What a body gives."""
        result = item.node.child_by_field_name("return_type")
        expected = self.types.read(item.code, result, frame) if result is not None else Opaque("()")
        before = self.result, self.instance, self.item, self.let, self.returned
        self.result, self.instance, self.item, self.let, self.returned = expected, instance, item, "", []
        around, self.live = self.live, {}  # of the caller's loops: its variables have other names here
        self.stack.append(item)
        passed = self.walk.dead
        try:
            last = self.block(item.code, body, frame, expected)
            as_told = self.settled if isinstance(expected, Opaque) else self.merged
            if len(self.stack) == 1 or not self.returned:  # what leaves the outermost function is asked for there
                return as_told(last, expected)
            ends = [] if self.walk.dead and not passed else [last]
            every = [as_told(one, expected) for one in (*ends, *self.returned)]
            for one in every if len(every) > 1 else ():
                self.ledger.give(one, self.walk.when, soft=True)  # any of them may be what it gives
            return self.any_branch(every) if len(every) > 1 else every[0]
        finally:
            self.stack.pop()
            self.result, self.instance, self.item, self.let, self.returned = before
            self.live = around

    def judged_alone(self, item: Item, values: list[Value]) -> bool:
        """Whether a function has verdicts of its own that say all there is of a call with these arguments: a kernel, or
        one that moves whole tensors for the host and gets none that the caller made and may not have written.
        """
        if takes_numbers(item) or any(one.holds is not None for value in values for one in tensors_in(value)):
            return False
        if is_kernel(item):
            return not item.generics
        kernel = any(map(is_kernel, self.stack))
        host = bool(self.stack) and not kernel and is_host(self.stack[0])
        made = {one.buffer.serial for value in values for one in tensors_in(value) if one.buffer is not None}
        return host and moves(item) and not made & (self.ledger.empty | self.ledger.received.keys())

    def inlines(self, item: Item, bound: Mapping[str, Value], passed: list[Value]) -> bool:
        """Whether a call is read with what it passes, which begins with `self` and ends with what it gives: every
        generic argument is known where it moves something, and it is no recursion.
        """
        body = item.node.child_by_field_name("body")
        if body is None or item.node.has_error or item in self.stack or len(self.stack) >= MAX_CALLS_DEEP:
            return False
        if moves(item) and any(name not in bound or not known(bound[name]) for name in told_by_calls(item)):
            return False
        if self.judged_alone(item, passed[:-1]):
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
        open_ = {name: Unknown("") for name, _ in item.generics}
        frame = Frame(item.scope, {**open_, **parameters_around(item, own), **bound}, {}, own)
        said = [instance] if instance else []
        parameters = item.parameters
        if own is not None and parameters and parameters[0].type == "self_parameter":
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
                self.hidden_ends(item)
                conclude(self, item)
            return found
        finally:
            outside.changed |= self.ledger.touched() if alone else set()
            outside.listed |= self.ledger.listed
            self.ledger = outside

    def block(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """The value of the last expression of a block."""
        return self.statements(code, node, self.opened(code, node, frame), expected)

    def opened(self, code: Code, node: Node, frame: Frame) -> Frame:
        """The inside of a block, with the items that are declared in it."""
        key = code, node.start_byte, node.end_byte, frame.scope
        scope = self.blocks.get(key)  # its functions are the same each time that it is read
        if scope is None:
            scope = self.blocks[key] = NameScope("block", "", frame.scope)
            fill(scope, code, node.children)
            scope.twins |= items_made(code, node, scope)
        for item in scope.functions:
            self.found(item)
        return frame.inside(scope)

    def statements(self, code: Code, node: Node, inside: Frame, expected: Value | None) -> Value:
        """The value of the last of the statements of a block."""
        value: Value = Opaque("()")
        statements = self.built(code, node, inside)
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
        if id(found) in self.absent and node.type in ("call_expression", "identifier"):
            self.gives_nothing(node, self.absent[id(found)][1])
        return self.settled(found, expected) if isinstance(found, Pending) else found

    def _value(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        kind = node.type
        leaving = taken_along(code, node)
        if leaving is not None:
            leave, again, given = leaving
            self._leaves(code, leave, self.value(again, given, frame, self.result if leave.type[0] == "r" else None))
            return Opaque("()")
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
                if not passes_on(node):
                    self.ledger.leave([found])  # it stays in what is read here, in a way that is not followed
                return changing(found, Unknown("a number that somebody else may change", code.span(node)))
            return found
        return self._rest(code, node, frame)

    def _leaves(self, code: Code, node: Node, value: Value) -> None:
        """`return`, `break`: what stands behind does not run on this way."""
        if node.type == "return_expression":
            self.ledger.give(value, self.walk.when, soft=len(self.stack) > 1, leaves=len(self.stack) == 1)
            self.returned.append(value)
            self.walk.leave("function")
        elif node.type == "break_expression":
            self.ledger.give(value, self.walk.when, soft=True)
            self.walk.leave("loop", label_of(code, node))

    def _try_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """`?`: where a value is nothing, so is what the function gives."""
        found = self.value(code, named(node)[0], frame, expected)
        nothing = list(self.nothing)
        told = self.followed or id(found) in self.absent
        if not told and any(kind == "function" for _, kind, _ in self.walk.scopes):
            self.leaves_on(self.walk.unsaid(), "function")  # of the outermost function nothing is given away
        found = self.something(found, "function")
        self.nothing = nothing if in_closure(node) else self.nothing
        return found

    def _continue_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        self.walk.leave("turn", label_of(code, node))
        return Opaque("()")

    def _name(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        name = code.text(node)
        value = frame.locals.get(name)
        if value is not None and expected is not None:
            self.later_uses.used(value, expected)
        if value is None and name == "None":
            return self.literally_nothing(node, name, frame.scope)
        if value is None:
            self.mentioned(code, node, None, frame)
            number, item = self.types.look(frame)("path", name), frame.scope.find(name)
            listed = self.list_of(frame.scope.find(name, values=True)) if name not in frame.generics else None
            if number is None and listed is not None:
                return listed
            if item is not None and item.kind == "struct" and item.node.child_by_field_name("body") is None:
                return Record(item)
            unknown = Unknown(f"`{name}` is no variable that is known here", code.span(node))
            return number if number is not None else self.perhaps_something(unknown)
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
        if any(map(takes_along, ends)):
            left = Unknown(f"the value of a block that `break {label}` may leave", code.span(node))
            return self.perhaps_something(left)
        return found


def _told(numbers: Numbers) -> str:
    if numbers.single is not None:
        return str(numbers.single)
    return f"{numbers.low}, {numbers.low + numbers.step}, .., {numbers.high}"
