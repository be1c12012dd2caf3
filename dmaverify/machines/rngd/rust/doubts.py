"""Where a run may end because an operation has no result, and nobody knows whether it has one.

Knows: what stops: divisors, shifts, elements and slices of lists, numbers that leave their type.
Does not know: what operations give (`arithmetic`), how ways are decided.
Law: an operation stops, does not, or is a decision over the numbers that a run is given. Of what a build may check
alone, a number that is not followed may end the run there, and one that changes is taken to fit its type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.asked_terms import below, either, equal, of_number, of_type, within
from dmaverify.machines.rngd.rust.code import named
from dmaverify.machines.rngd.rust.endings import OVERFLOWS, build_choice
from dmaverify.machines.rngd.rust.escapes import clip
from dmaverify.machines.rngd.rust.failures import Failure
from dmaverify.machines.rngd.rust.flow import ControlFlow
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.integers import ANY, INTEGERS, SIGNS
from dmaverify.machines.rngd.rust.lookups import as_declared
from dmaverify.machines.rngd.rust.values import Numbers, Unknown, Value
from dmaverify.program.ways import SOME, OnWay, WayChoice, WayTerm
from dmaverify.prove.flow.accesses.way_terms import always

if TYPE_CHECKING:
    from tree_sitter import Node

_DIVIDES = {
    "div_ceil",
    "next_multiple_of",
    "rem_euclid",
    "div_euclid",
    "wrapping_div",
    "wrapping_rem",
    "saturating_div",
}
_LOGARITHMS = {"ilog2", "ilog10"}
_CHECKED = ("+", "-", "*", "neg")
_MADE = {"binary_expression", "unary_expression", "parenthesized_expression", "type_cast_expression"}


class Doubts(ControlFlow):
    """The part of reading that knows where an operation may have no result."""

    def failed(self, how: Failure | None) -> None:
        """The program ends here where an operation fails; the turns before one that fails run."""
        if how is not None:
            exits, when = list(self.walk.exits), OnWay((build_choice(OVERFLOWS),) if how.checked else ())
            self.stop(when)
            if not how.every:
                self.walk.exits = exits
                self.walk.behind.append(OnWay((*self.walk.path, *when.path), self.walk.when.exits))

    def fitted(self, value: Numbers, wanted: Value | None) -> Value:
        """A number as one of the type that its place gives it: what is computed of literals may leave that."""
        made = as_declared(value, wanted)
        if made is None and value.type in ("", ANY):
            surely = value.single is not None or value.reached
            self.failed(Failure(checked=True, every=value.single is not None) if surely else None)
            if not surely:
                self.stop(OnWay((build_choice(OVERFLOWS), *self.walk.unsaid().path)))
        return made or Unknown("a number that may leave its type")

    def doubted(self, code: Code, node: Node, of: Sequence[Node], stops: WayTerm, frame: Frame) -> None:
        """The program ends here where an operation `stops`, which hangs on what some expressions are."""
        way = self.doubt(code, node, of, stops, frame)
        if way is not None:
            self.stop(way)

    def doubt(
        self, code: Code, node: Node, of: Sequence[Node], stops: WayTerm, frame: Frame, *, every: bool = False
    ) -> OnWay | None:
        """When an operation `stops`; None where it never does. `every` build asks it."""
        told = always(stops)
        checked = not every and stops.op == "stops" and stops.parts[0].op in _CHECKED
        if told is None and checked and _open(stops, nameless=True):
            self._perhaps_leaves(code, of, frame)
        if told is False or (told is None and checked and _open(stops)):
            return None
        build = (build_choice(OVERFLOWS),) if checked else ()
        if told:
            return OnWay(build)
        asked = [self.expression(code, one, frame) for one in of]
        said = f"`{clip(code.text(node))}` in line {code.span(node).line}"
        names = (f"{said} has no result", f"{said} has a result")
        once = all(one.pure for one in asked) and not any(map(self._anew, asked))
        for one in asked:
            self.kept += one.values
        self.serial += 1
        key, asks = (f"{stops}", (stops, stops.negated())) if once else (f"a turn of {self.serial}", ())
        choice = WayChoice(key, 0, 2, names, asks)
        return OnWay((*build, choice))

    def _perhaps_leaves(self, code: Code, of: Sequence[Node], frame: Frame) -> None:
        """A build that checks numbers may end here, where one that is not followed leaves its type."""
        names = {code.text(part) for one in of for part in walk(one) if part.type in ("identifier", "self")}
        if not any(self.may_change(name, frame) for name in names):
            with self.walk.chosen(OnWay((build_choice(OVERFLOWS),))):
                self.perhaps_ends()

    def operator_doubted(
        self, code: Code, node: Node, sign: str, sides: Sequence[Node], read: dict[int, Value], frame: Frame
    ) -> None:
        """The same of `left sign right`, whose sides were read."""
        by = read.get(sides[1].id)
        single = by.single if isinstance(by, Numbers) else None
        if sign in "&|^" or (sign in "/%" and single not in (None, 0, -1)):
            return
        asked = sides if sign in _CHECKED else sides[:1] if sign in ("<<", ">>") else ()
        if not all(self._followed(code, one, read, frame) for one in asked):
            kinds = {self._integer(code, one, frame) for one in asked}
            if True in kinds and False not in kinds:  # the other side is of the same type
                self._perhaps_leaves(code, asked, frame)
            return  # else nothing is known of its type
        made = self._operator(sign, *(self.term(code, one, frame, read) for one in sides))
        stops = WayTerm("stops", (made,))
        if sign in "/%" and made.ends is not None and not made.ends[0]:
            stops, sides = equal(made.parts[1], of_number(0)), sides[1:]
        if always(stops) is not False and False not in {self._integer(code, one, frame) for one in sides}:
            self.doubted(code, node, sides, stops, frame)

    def _followed(self, code: Code, node: Node, read: dict[int, Value], frame: Frame) -> bool:
        """Whether an expression may be a number that a run is given, or is made of such ones."""
        if node.type == "identifier":
            value = frame.locals.get(code.text(node))
            return value is None or isinstance(value, Numbers) or id(value) in self.scalars or id(value) in self.meant
        if node.type in ("unary_expression", "parenthesized_expression") and not isinstance(read.get(node.id), Numbers):
            return self._followed(code, named(node)[-1], read, frame)
        return isinstance(read.get(node.id), Numbers) or node.type in _MADE

    def has_none(self, code: Code, node: Node, name: str, arguments: Sequence[Node], frame: Frame) -> bool:
        """Whether a method may have no result by what integers it is called on and given."""
        if name not in ("clamp", "ilog"):
            return DOUBTED.match(name) is not None
        return all(self._integer(code, one, frame) for one in (named(node.children[0])[0], *arguments))

    def method_doubted(
        self, code: Code, node: Node, name: str, of: Sequence[Node], read: dict[int, Value], frame: Frame
    ) -> OnWay | None:
        """The same of a method of an integer, of what it is called on and given; or when it gives `None`."""
        way, _, operation = name.partition("_")
        terms = [self.term(code, one, frame, read) for one in of]
        if name in _DIVIDES and len(terms) == 2:
            self.doubted(code, node, of[1:], equal(terms[1], of_number(0)), frame)
        elif name in _LOGARITHMS and len(terms) == 1:
            self.doubted(code, node, of, below(terms[0], of_number(1)), frame)
        elif name == "ilog" and len(terms) == 2:
            none = either(below(terms[0], of_number(1)), below(terms[1], of_number(2)))
            self.doubted(code, node, of, none, frame)
        elif name == "clamp" and len(terms) == 3:
            self.doubted(code, node, of[1:], below(terms[2], terms[1]), frame)
        elif way == "checked" and operation in SIGNS and len(terms) == 2:
            stops = WayTerm("stops", (self._operator(SIGNS[operation], *terms),))
            return self.doubt(code, node, of, stops, frame, every=True)
        return None

    def outside(
        self, code: Code, node: Node, at: Node, ends: tuple[int, int], read: dict[int, Value], frame: Frame,
        kind: str = "",
    ) -> OnWay | None:  # fmt: skip
        """When a number, of type `kind` where that is told, is none from the first of `ends` to before the second."""
        term = of_type(self.term(code, at, frame, read), INTEGERS.get(kind))
        return self.doubt(code, node, [at], within(term, *ends).negated(), frame)

    def slice_doubted(
        self, code: Code, node: Node, ends: tuple[WayTerm | None, WayTerm | None], count: int | None, frame: Frame
    ) -> None:
        """The same of a part of a list, of which nobody knows how many elements it has where `count` is None."""
        begin, last = ends[0] or of_number(0), ends[1]
        most = last or (of_number(count) if count is not None else None)
        wrong = [below(most, begin)] if most is not None else []
        wrong += [below(of_number(count), last)] if last is not None and count is not None else []
        if wrong:
            self.doubted(code, node, [node], either(*wrong), frame)


DOUBTED = re.compile(rf"(?:{'|'.join([*_DIVIDES, *_LOGARITHMS])}|checked_(?:{'|'.join(SIGNS)}))$")
"""Methods of integers that may have no result."""


def _open(term: WayTerm, *, nameless: bool = False) -> bool:
    """Whether a number in a term is not followed; `nameless`: and has no name either, by which it is some number."""
    return (term.op == SOME and (not nameless or term.value < 0)) or any(
        _open(one, nameless=nameless) for one in term.parts
    )
