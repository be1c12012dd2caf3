"""Expressions and `let`: what names, fields, tuples, arrays, structs and assignments make of values.

Knows: what the place of an expression expects of it (annotations, parts of a struct).
Does not know: functions and blocks (`bodies`), branches and loops (`flow`).
Law: a variable that changes has no value; a name that is assigned anew may stand for another tensor from there on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.arithmetic import RustArithmetic
from dmaverify.machines.rngd.rust.asked_terms import of_type
from dmaverify.machines.rngd.rust.code import child, named, parts_of, range_at
from dmaverify.machines.rngd.rust.counters import CounterStart
from dmaverify.machines.rngd.rust.failures import fails
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.integers import INTEGERS
from dmaverify.machines.rngd.rust.later import is_open
from dmaverify.machines.rngd.rust.lists import MAX_LISTED, listed
from dmaverify.machines.rngd.rust.sites import GROWN
from dmaverify.machines.rngd.rust.values import (
    NUMERIC,
    Configuration,
    Dtype,
    Map,
    Numbers,
    Opaque,
    Pending,
    Pipeline,
    Record,
    RustTensor,
    Sequence,
    Tuple,
    Unknown,
    Value,
    changing,
    known,
    sources_of,
)
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node


class Expressions(RustArithmetic):
    """The part of reading that knows expressions; `Bodies` adds functions and blocks."""

    def _let_declaration(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        pattern, declared = node.child_by_field_name("pattern"), node.child_by_field_name("type")
        given = node.child_by_field_name("value")
        wanted = self.types.read(code, declared, frame) if declared is not None else None
        name = code.text(pattern) if pattern is not None else ""
        before, self.let = self.let, name if name.replace("_", "").isalnum() else ""
        try:
            open_type = wanted if wanted is not None else self.told_later(code, pattern)
            if given is not None and given.type == "closure_expression" and self._called_later(code, node, name):
                deferred = Opaque("closure")
                self.closures[id(deferred)] = code, given, frame.inside(frame.scope)  # with the names of here
                self.kept.append(deferred)
                self.bind(code, pattern, deferred, frame)
                return Opaque("()")
            self.types.left = ""
            lent = set(self.ledger.escaped), set(self.ledger.unread)
            value = self.value(code, given, frame, open_type) if given is not None else wanted or Unknown("")
            of = named(given)[-1:] if given is not None and given.type == "reference_expression" else []
            if of and pattern is not None and of[0].type == pattern.type == "identifier":
                self.ledger.renamed(*lent)
            if self.types.left and isinstance(value, Opaque):
                value = Unknown(self.types.left, code.span(node))
            if wanted is None and open_type is not None and is_open(value):
                value = self.merged(value, open_type)
        finally:
            self.let = before
        other = node.child_by_field_name("alternative")
        if other is not None:
            with self.walk.perhaps():
                self.value(code, other, frame, None)
        own = self.known_as(code, given, value, frame) if given is not None else value
        value = self.typed(own, wanted)
        value = self.types.sized(code, pattern, value, frame) if pattern is not None and known(value) else value
        changes = child(node, "mutable_specifier") is not None
        if changes and not (isinstance(value, Numbers) and name.isidentifier() and self.straight(code, node, name)):
            why = Unknown(f"`{name}` changes while the kernel runs", code.span(node))
            start, value = value, changing(self.anew(value, stays=False), why)
            if isinstance(start, Numbers) and start.single is not None:
                self.counters[id(value)] = CounterStart(start, code, node)
                self.kept.append(value)
        self.bind(code, pattern, value, frame)
        return Opaque("()")

    def _called_later(self, code: Code, node: Node, name: str) -> bool:
        """Whether the block of a `let` goes on to call what it names."""
        around = node.parent
        after = code.data[node.end_byte : around.end_byte].decode("utf-8", "replace") if around is not None else ""
        return bool(name.isidentifier() and re.search(rf"\b{re.escape(name)}\s*\(", after))

    def merged(self, value: Value, wanted: Value | None) -> Value:
        """A value with what its annotation says of it."""
        if isinstance(value, Pending):
            return self.settled(value, wanted)
        if not known(wanted) or wanted is None or id(value) in self.absent:
            return value
        if isinstance(value, Numbers) and isinstance(wanted, Dtype):
            return self.fitted(value, wanted)
        if isinstance(value, Sequence) and isinstance(wanted, Sequence) and isinstance(wanted.part, Dtype):
            part, *items = (
                self.merged(one, wanted.part) if isinstance(one, Numbers) else one
                for one in (value.part, *(value.items or ()))
            )
            return replace(value, part=part, items=tuple(items) if value.items is not None else None)
        if isinstance(value, RustTensor) and isinstance(wanted, RustTensor) and value.tier == wanted.tier:
            fields = {
                p: wanted.fields[p] if isinstance(wanted.fields[p], Map) else value.fields[p] for p in value.fields
            }
            dtype = wanted.dtype if isinstance(wanted.dtype, Dtype) else value.dtype
            return replace(value, fields=fields, dtype=dtype)
        if isinstance(value, Opaque) and value.what == GROWN and isinstance(wanted, Sequence):
            return self.filled_list(wanted)
        if isinstance(value, Tuple) and isinstance(wanted, Tuple) and len(value.parts) == len(wanted.parts):
            return Tuple(tuple(self.merged(a, b) for a, b in zip(value.parts, wanted.parts, strict=True)))
        if isinstance(wanted, RustTensor) and not isinstance(value, RustTensor):
            return self.received(wanted, sources_of(value), here=True)
        if isinstance(wanted, Opaque):
            same = isinstance(value, (Configuration, Pipeline, Record)) or value == wanted
            return value if same else Opaque(wanted.what, sources_of(value))
        return value if known(value) and not isinstance(value, Opaque) else self.unfollowed(wanted)

    def _field_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        given, name = node.child_by_field_name("value"), node.child_by_field_name("field")
        if given is None or name is None:
            return Unknown("a field of nothing", code.span(node))
        return self.part(self.value(code, given, frame, None), code.text(name), code, node)

    def _tuple_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        wanted = expected.parts if isinstance(expected, Tuple) else ()
        parts, open_ = self.listed_here(code, node, frame)
        return open_ or Tuple(tuple(
            self.merged(self.value(code, one, frame, wanted[i] if i < len(wanted) else None),
                        wanted[i] if i < len(wanted) else None)
            for i, one in enumerate(parts)
        ))  # fmt: skip

    def _array_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        wanted = expected.part if isinstance(expected, Sequence) else None
        length = node.child_by_field_name("length")
        here, open_ = self.listed_here(code, node, frame)
        elements = [one for one in here if length is None or one.id != length.id]
        parts = [self.merged(self.value(code, one, frame, wanted), wanted) for one in elements]
        if length is not None:
            count = self.value(code, length, frame, None)
            self.makes_room(count)
            times = count.single if isinstance(count, Numbers) else None
            self.ledger.lose(parts[0] if parts and times != 1 else None)
            made = listed(parts * times) if times and times <= MAX_LISTED else Sequence(parts[0], times)
            if times is None:
                self.counts[id(made)] = of_type(self.term(code, length, frame), INTEGERS["usize"])
                self.kept.append(made)
            return made
        for one in parts if open_ is not None else ():
            self.ledger.lose(one)
        return open_ or listed(parts, wanted)

    def _generic_function(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        function = node.child_by_field_name("function")
        if function is not None:
            if code.text(function) == "None":
                return self.literally_nothing(node, "None", frame.scope)
            self.mentioned(code, function, node.child_by_field_name("type_arguments"), frame)
        return Opaque("")

    def _scoped_identifier(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        name, path = node.child_by_field_name("name"), node.child_by_field_name("path")
        of = code.text(path.child_by_field_name("type") or path) if path is not None else ""
        if of == "Option" and name is not None and code.text(name) == "None" and frame.scope.find(of) is None:
            return self.literally_nothing(node, "None", frame.scope)
        self.mentioned(code, node, None, frame)
        listed = self.list_of(frame.scope.path(parts_of(code.text(node)), values=True))
        return listed or self.perhaps_something(Opaque(""))

    def _struct_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        made = self.types.read(code, name, frame)
        if isinstance(expected, Record) and not (isinstance(made, Record) and made.arguments):
            made = expected
        if not isinstance(made, Record) or body is None:
            rest = self._rest(code, body, frame) if body is not None else made
            return self.configured(code, node, frame) or rest
        lent = set(self.ledger.escaped), set(self.ledger.unread)
        parts: dict[str, Value] = {}
        based: dict[str, Value] = {}
        for one, condition in self.built(code, body, frame):
            if one.type == "base_field_initializer":
                base = self.value(code, named(one)[0], frame, made) if named(one) else Unknown("")
                based = dict(base.parts) if isinstance(base, Record) else {}
                continue
            field, given = one.child_by_field_name("field"), one.child_by_field_name("value")
            if one.type == "shorthand_field_initializer":
                field = given = next((part for part in named(one) if part.type == "identifier"), None)
            if field is not None and given is not None:
                text = code.text(field)
                wanted = self.part(made, text, code, one)
                own = self.known_as(code, given, self.value(code, given, frame, wanted), frame)
                parts[text] = self.typed(own, wanted)
                if condition:
                    self.ledger.lose(parts[text])
                    parts[text] = Unknown(f"the field `{text}` hangs on `{condition}`", code.span(one))
            else:
                self._rest(code, one, frame)
        if _names_alone(node):
            self.ledger.renamed(*lent)
        return replace(made, parts={**based, **parts})

    def _assignment_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if range_at(code, node) is not None:
            return self._range_expression(code, node, frame, expected)
        if left is None or right is None:
            return self._rest(code, node, frame)
        wanted = self.value(code, left, frame, None)
        self.ledger.lose(wanted)  # the name may stand for something else from here on
        self.ledger.leave([wanted])
        (wanted,) = self.ledger.as_here([wanted])  # what it held says nothing of what is assigned
        value = self.merged(self.value(code, right, frame, wanted if isinstance(wanted, (RustTensor, Tuple)) else None),
                            wanted if isinstance(wanted, (RustTensor, Tuple)) else None)  # fmt: skip
        kinds = {one.type.decode("utf-8", "replace") for one in self._declared(code.text(left))}
        if isinstance(value, Numbers) and len(kinds) == 1 and kinds <= INTEGERS.keys():
            self.fitted(value, Dtype(kinds.pop()))
        if left.type == "identifier" and code.text(left) in self.live:
            self.changed(code, node, code.text(left), frame)
        elif left.type == "identifier" and isinstance(frame.locals.get(code.text(left)), Numbers):
            self.stepped(code, node, code.text(left), value, frame)
        elif left.type == "identifier":
            changed = isinstance(value, NUMERIC)
            self.assigned(
                code.text(left), Unknown("a variable that changes", code.span(left)) if changed else value, frame
            )
        else:
            self.ledger.give(value, self.walk.when, soft=True)
            self.ledger.lose(value)
            self.ledger.leave([value])
            for one in named(left) if left.type in ("tuple_expression", "array_expression") else (left,):
                self.unsettled(code, one, frame)
        return Opaque("()")

    def _compound_assignment_expr(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        name, sign = code.text(left) if left is not None else "", node.child_by_field_name("operator")
        by = self.value(code, right, frame, None) if right is not None else Unknown("")
        if left is not None:
            self.value(code, left, frame, None)
        if sign is not None and left is not None and right is not None:
            held = self.live.get(name) if name in self.live else frame.locals.get(name)
            before = held if isinstance(held, Numbers) else self.begins(code, node, name, frame)
            how = fails(sign.type.removesuffix("="), before, by) if isinstance(by, Numbers) else None
            self.failed(how)
            if how is None:
                read = {right.id: by, **({left.id: before} if before is not None else {})}
                self.operator_doubted(code, node, sign.type.removesuffix("="), [left, right], read, frame)
        if left is not None and code.text(left) in self.live:
            self.changed(code, node, name, frame)
        elif left is not None and left.type == "identifier" and isinstance(frame.locals.get(name), Numbers):
            self.stepped(code, node, name, by, frame)
        elif left is not None and left.type == "identifier":
            frame.locals[code.text(left)] = Unknown("a variable that changes", code.span(left))
        return Opaque("()")


def _names_alone(node: Node) -> bool:
    """Whether a struct is made where it has a name, or a method is called of it, of nothing but names and references to
    names: `let p = Pair { x, y: &mut y };`.
    """
    around, body = node.parent, node.child_by_field_name("body")
    name = around.child_by_field_name("pattern") if around is not None and around.type == "let_declaration" else None
    stays = around is not None and (
        around.type == "field_expression" or (name is not None and name.type == "identifier")
    )
    given = [one.child_by_field_name("value") for one in named(body)] if body is not None else []
    lone = [named(one)[-1] if one.type == "reference_expression" else one for one in given if one is not None]
    plain = body is not None and all(one.type.endswith("field_initializer") for one in named(body))
    plain = plain and b"#" not in (node.text or b"#")
    return stays and plain and all(one.type == "identifier" or one.type.endswith("literal") for one in lone)
