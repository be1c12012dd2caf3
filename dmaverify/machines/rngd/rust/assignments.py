"""Assignments: what a name stands for once something else is assigned to it, in a block, a branch or a later turn.

Knows: which frames around see the same variable, what a body that runs more than once assigns.
Does not know: expressions, which way is taken.
Law: in the block of the assignment the name is what was assigned; around it, and in turns, it is one of both: a tensor
of that type whose content nobody follows, after each of them was asked to be written where it is assigned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.buffers import tensors_in
from dmaverify.machines.rngd.rust.code import named
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.functions import Functions
from dmaverify.machines.rngd.rust.lists import joined
from dmaverify.machines.rngd.rust.values import (
    Held,
    Pending,
    Record,
    RustTensor,
    Sequence,
    Tuple,
    Unknown,
    Value,
    forgotten,
    known,
    may_index,
    over_parts,
)
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node


class Assignments(Functions):
    """The part of reading that follows names which are assigned anew."""

    def assigned(self, name: str, value: Value, frame: Frame) -> None:
        """`name = value`: whether it is done is not known in the blocks around, which any use may follow."""
        old, around = frame.locals.get(name), list(_around(frame, name))
        frame.locals[name] = value
        if old is None or not around:
            return
        known_before = (old,) if known(old) else ()
        for one in (*known_before, value):
            self.ledger.give(one, self.walk.when, soft=True)
        either = old if isinstance(old, Pending) else self.another(self.either((*known_before, value)))
        for outside in around:
            outside.locals[name] = either

    def unsettled(self, code: Code, place: Node, frame: Frame) -> None:
        """Something is assigned to a place, or will be in a later turn: the variable that it is in may be another."""
        while place.type != "identifier" and named(place):
            place = named(place)[0]
        name = code.text(place)
        old = frame.locals.get(name)
        if any(tensors_in(old)) and not isinstance(old, Pending) and old is not None:
            self.ledger.give(old, self.walk.when, soft=True)
            either = self.either((old,))
            for one in (frame, *_around(frame, name)):
                one.locals[name] = either

    def either(self, values: tuple[Value, ...]) -> Value:
        """One of several values; of tensors, whose content was asked for, only the type is kept."""
        self.ledger.mix(values)
        one = joined(values)
        match one:
            case RustTensor():
                several = len(values) > 1 or not may_index(one)
                one = replace(one, holds=forgotten(one.holds if several else one.holds or Held(())))
                plain = not one.problems and not any(isinstance(v, RustTensor) and v.window.tiled for v in values)
                return (
                    replace(self.fresh(one, one.sources), holds=one.holds)
                    if plain
                    else Unknown("a view that changes while the kernel runs")
                )
            case Tuple() | Record():
                return over_parts(one, lambda part: self.either((part,)))
            case Sequence():
                return Sequence(self.either((one.part,)), one.count)
            case _:
                return one

    def changed_within(self, code: Code, body: Node, frame: Frame) -> None:
        """What a body that runs more than once assigns may be anything of it from its begin on."""
        for one in walk(body):
            left = one.child_by_field_name("left") if one.type == "assignment_expression" else None
            if left is not None:
                self.unsettled(code, left, frame)
            for name in _lent(code, one):
                own = [tensor for tensor in tensors_in(frame.locals.get(name)) if tensor.holds is not None]
                self.ledger.changed |= {tensor.buffer.serial for tensor in own if tensor.buffer is not None}


def _lent(code: Code, node: Node) -> Iterator[str]:
    """The names that an expression lends to whoever may write them: `&mut x`, `x.view_mut()`, those in a macro."""
    place: Node | None = None
    lends = node.type == "reference_expression" and any(one.type == "mutable_specifier" for one in node.children)
    if lends or (node.type == "field_expression" and code.text(node).endswith(("view_mut", "memset"))):
        place = node.child_by_field_name("value")
    elif node.type == "macro_invocation":
        yield from (code.text(one) for one in walk(node) if one.type == "identifier")
    while place is not None and place.type not in ("identifier", "self"):
        place = named(place)[0] if named(place) else None
    if place is not None:
        yield code.text(place)


def _around(frame: Frame, name: str) -> Iterator[Frame]:
    """The frames around in which a name stands for the same variable."""
    value, outer = frame.locals.get(name), frame.outer
    while value is not None and outer is not None and outer.locals.get(name) is value:
        yield outer
        outer = outer.outer
