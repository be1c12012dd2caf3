"""Choices: what a condition, the arms of a `match` or a loop that may take no turn decide, and on what they hang; which
names a pattern gives the parts of a value to.

Knows: conditions over constants and parameters, `assert!`; identifiers, tuples, structs, slices, `mut`, `Some(x)`.
Does not know: what branches do (`flow`), ways through a function (`paths`).
Law: two conditions are one decision only where nothing can change what they name between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.asked_terms import below, either, of_number, within
from dmaverify.machines.rngd.rust.code import compared, named, places
from dmaverify.machines.rngd.rust.declares import ASSERTS
from dmaverify.machines.rngd.rust.endings import build_choice
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.integers import INTEGERS
from dmaverify.machines.rngd.rust.module import Item
from dmaverify.machines.rngd.rust.numbers import truth_at
from dmaverify.machines.rngd.rust.patterns import Partition, of_truths, partition, told_pattern
from dmaverify.machines.rngd.rust.questions import AskedCondition, Conditions
from dmaverify.machines.rngd.rust.values import (
    Buffer,
    Dtype,
    Numbers,
    Opaque,
    Record,
    RustTensor,
    Sequence,
    Tuple,
    Unknown,
    Value,
    changing,
)
from dmaverify.program.ways import SOME, OnWay, WayChoice, WayTerm
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node


_OPPOSITE = {"!=": "==", ">=": "<", ">": "<="}


class Choices(Conditions):
    """The part of reading that knows decisions and patterns."""

    def allocated(self, value: Value, name: str, code: Code, node: Node, fresh: bool = False) -> Value:
        """The value with buffers of its own."""
        if isinstance(value, RustTensor):
            self.serial += 1
            return replace(value, buffer=Buffer(self.serial, name, fresh, code.span(node)))
        if isinstance(value, Record):
            return self.instance_of(value)
        if isinstance(value, Tuple):
            return Tuple(tuple(self.allocated(part, name, code, node, fresh) for part in value.parts))
        return value

    def told_later(self, code: Code, pattern: Node | None) -> Value | None:
        """The type that later uses ask of a variable, known once its function was read; None where nothing does."""
        if pattern is None or len(self.stack) != self.later_uses.depth or not self.later_uses.told:
            return None
        if pattern.type == "identifier":
            return self.later_uses.told.get((id(code.data), pattern.start_byte))
        if pattern.type == "mut_pattern":
            return next((self.told_later(code, one) for one in named(pattern) if one.type == "identifier"), None)
        if pattern.type != "tuple_pattern":
            return None
        parts = [self.told_later(code, one) for one, _ in places(pattern)]
        return Tuple(tuple(part or Unknown("") for part in parts)) if any(parts) else None

    def any_given(self, item: Item, node: Node, name: str, value: Value) -> Value:
        """A parameter of a function that is read by itself, whose type `value` is."""
        if not isinstance(value, Dtype):
            return self.anew(value)
        made = Unknown(f"`{name}` is whatever the caller of `{item.name}` passes", item.code.span(node))
        self.free[id(made)], self.scalars[id(made)] = made, value.name
        return made

    def passed(self, item: Item, node: Node, name: str, value: Value, made: Value, declared: Value) -> Value:
        """A parameter of a function that is read with the `value` that a call passes, `made` one of its type."""
        if any(one.type == "mutable_specifier" for one in node.children):
            why = Unknown(f"`{name}` changes while the kernel runs", item.code.span(node))
            return self.anew(changing(made, why), stays=False)
        if not isinstance(declared, Dtype) or isinstance(value, Numbers):
            return self.anew(made) if made is declared and name != "self" else made
        told = any(id(value) in one for one in (self.meant, self.absent, self.perhaps_none))
        if told or self.scalars.get(id(value)) == declared.name:
            return value
        made = Unknown(f"`{name}` is a number that the caller does not know", item.code.span(node))
        self.kept.append(made)
        self.scalars[id(made)] = declared.name
        return made

    def typed(self, value: Value, wanted: Value | None) -> Value:
        """A value with what its annotation says of it. A number keeps its identity, which a type does not have."""
        made = self.merged(value, wanted)
        if isinstance(value, (Unknown, Opaque)) and isinstance(made, (Dtype, Opaque)):
            return value
        return self.anew(made) if made is wanted else made

    def bind(self, code: Code, pattern: Node | None, value: Value, frame: Frame) -> None:
        """Gives the names of a pattern their values."""
        if pattern is None:
            return
        if pattern.type in ("identifier", "shorthand_field_identifier"):
            if len(self.stack) == self.later_uses.depth:
                self.later_uses.bound(code, pattern.start_byte, value)
            item = frame.scope.find(code.text(pattern), values=True)
            if item is None or item.kind != "const":  # else it is the constant
                frame.locals[code.text(pattern)] = self.types.sized(code, pattern, value, frame)
        for inner, part in self._parts_of(code, pattern, value):
            self.bind(code, inner, part, frame)

    def _parts_of(self, code: Code, pattern: Node, value: Value) -> Iterator[tuple[Node, Value]]:
        """The patterns within a pattern, each with the part of the value that it is held against."""
        kind = pattern.type
        if kind in ("mut_pattern", "ref_pattern", "reference_pattern", "captured_pattern"):
            held = changing(value, Unknown("a variable that changes")) if kind == "mut_pattern" else value
            yield from ((one, held) for one in named(pattern) if one.type != "mutable_specifier")
        elif kind in ("tuple_pattern", "closure_parameters"):
            for one, place in places(pattern, len(value.parts) if isinstance(value, Tuple) else None):
                yield one, self._placed(code, value, place, pattern)
        elif kind == "tuple_struct_pattern":
            parts = places(pattern)
            for one, place in parts[1:]:
                whole = len(parts) == 2 and not isinstance(value, Record)
                own = place - 1 if place is not None else None
                yield one, self.anew(value) if whole else self._placed(code, value, own, pattern)
        elif kind == "slice_pattern":
            for one, place in places(pattern, value.count if isinstance(value, Sequence) else None):
                if one.type.endswith(("identifier", "pattern")) and one.type != "remaining_field_pattern":
                    part = self.one_of(value, place) if isinstance(value, Sequence) else Unknown("")
                    part = part if isinstance(value, Sequence) and value.items is not None else self.anew(part)
                    yield one, Unknown("several elements") if one.type == "captured_pattern" else part
        elif kind == "struct_pattern":
            for one in (field for field in named(pattern) if field.type == "field_pattern"):
                name = one.child_by_field_name("name")
                if name is not None:
                    yield one.child_by_field_name("pattern") or name, self._of(code, value, code.text(name), pattern)

    def _placed(self, code: Code, value: Value, place: int | None, pattern: Node) -> Value:
        """A part by its place."""
        if place is None:
            return Unknown("a part behind `..`", code.span(pattern))
        return self._of(code, value, str(place), pattern)

    def _of(self, code: Code, value: Value, name: str, pattern: Node) -> Value:
        """A part by its name: another value than all others, unless it was made of one that has a name."""
        part = self.part(value, name, code, pattern)
        made = isinstance(value, Tuple) or (isinstance(value, Record) and name in value.parts)
        return part if made else self.anew(part)

    def unsure(self, code: Code, node: Node, condition: str, frame: Frame) -> None:
        """A statement that some builds have: it is one arm of a choice, and what it names is not known."""
        arm = int(condition.startswith("not(") and condition.endswith(")"))
        text = condition[4:-1] if arm else condition
        with self.walk.chosen(build_choice(text, arm)):
            before = dict(frame.locals)
            self.value(code, node, frame, None)
        for name, value in frame.locals.items():
            if before.get(name) is not value:
                self.ledger.lose(value)
                frame.locals[name] = changing(value, Unknown(f"`{name}` hangs on `{text}`", code.span(node)))

    def asserted(self, code: Code, called: str, given: list[Node], frame: Frame) -> None:
        """`assert!(c)`, `assert_eq!(a, b)`: nothing behind it runs where the condition does not hold."""
        sign = ASSERTS[called.removeprefix("debug_")]
        asked = (code, given[0]) if given and not sign else None
        if sign and len(given) > 1:
            asked = compared(code, given[0], sign, given[1])
        if asked is None or asked[1].has_error:
            self.stop(self.walk.unsaid())
            return
        truth = truth_at(*asked, self.types.look(frame))
        if truth is None:
            self.stop(self.choices(*asked, frame)[1])
        elif not truth:
            self.stop()

    def choices(self, code: Code, condition: Node, frame: Frame) -> tuple[WayChoice, WayChoice]:
        """The two arms of a condition. Conditions that ask the same of the same values are one decision."""
        asked = self.question(code, condition, frame)
        text, turned = _plainly(" ".join(code.text(condition).split()), asked.total)
        asks, loose = self._asks(asked), self._anew(asked)
        key = self._decision(asked.key, asked)
        place = code.span(condition)
        known, at = self.decided.setdefault(text, (key, place.start))
        line = f" in line {place.line}" if key != known and at != place.start else ""
        names = (f"`{text}`{line} holds", f"`{text}`{line} does not hold")
        names = names if turned is asked.turned else names[::-1]
        first, second = (WayChoice(key, arm, 2, names, asks, loose) for arm in (0, 1))
        return (second, first) if asked.turned else (first, second)

    def arm_choices(
        self,
        code: Code,
        given: Node | None,
        arms: list[Node],
        value: Value,
        frames: list[Frame],
        *,
        sure: bool = True,
    ) -> list[OnWay]:
        """When the arms of a `match` run: what an arm takes, no arm before it took; the last one takes what is left.
        `sure`: every build has all of them.
        """
        if given is None or not arms:
            return [OnWay() for _ in arms]
        text = " ".join(code.text(given).split())
        asked, parts, asks = self._parts(code, given, arms, value, frames[0].outer or frames[0])
        asked, asks = (asked, asks) if sure else (replace(asked, pure=False), ())
        loose = self._anew(asked)
        if parts is None:
            key = self._decision("", replace(asked, pure=False))
            arm_names = tuple(f"`{text}` is {told_pattern(code, arm)}" for arm in arms)
            return [OnWay((WayChoice(key, number, len(arms), arm_names, loose=loose),)) for number in range(len(arms))]
        key, names = self._decision(parts.key, asked), tuple(f"`{text}` is {one}" for one in parts.parts)
        turn = -1 if asked.turned else 1
        each = [WayChoice(key, one, len(names), names[::turn], asks, loose) for one in range(len(names))][::turn]
        left, guarded, out = frozenset(range(len(names))), list[OnWay](), list[OnWay]()
        for number, arm in enumerate(arms):
            own = left if number == len(arms) - 1 else parts.arms[number] & left
            path = tuple(each[one] for one in own) if len(own) == 1 else ()
            others = tuple(OnWay((each[one],)) for one in range(len(names)) if one not in own) if not path else ()
            pattern = arm.child_by_field_name("pattern")
            guard = pattern.child_by_field_name("condition") if pattern is not None else None
            taken = path if guard is None else (*path, self.choices(code, guard, frames[number])[0])
            out.append(OnWay(taken, (*others, *guarded)))
            left = left - own if guard is None else left
            guarded += [OnWay(taken, others)] if guard is not None else []
        return out

    def _parts(
        self, code: Code, given: Node, arms: list[Node], value: Value, frame: Frame
    ) -> tuple[AskedCondition, Partition | None, tuple[WayTerm, ...]]:
        """What a `match` asks, the parts of the values that its patterns tell apart, and what each of them asks of the
        numbers of a run.
        """
        truths = of_truths(code, arms, frame.scope)
        if truths is not None:
            asked = self.question(code, given, frame)
            return asked, Partition(asked.key, ("`true`", "`false`"), truths), self._asks(asked)
        asked = self.expression(code, given, frame)
        generics = {*frame.generics, *(name for name, _ in (self.item.generics if self.item is not None else ()))}
        kind = INTEGERS.get(self.scalars.get(id(value), ""))
        found = partition(code, arms, self.types.look(frame), frame.scope, generics, kind)
        if found is None:
            return asked, None, ()
        each = tuple(either(*(within(asked.term, *one) for one in part)) for part in found.values)
        return asked, replace(found, key=f"{found.key}: {asked.key}"), each if self._asks(asked) else ()

    def turn_choice(
        self, code: Code, node: Node, given: Node | None, frame: Frame, counts: Node | None = None, start: int = 0
    ) -> WayChoice:
        """That a loop takes a turn, where it may take none; a `while` `counts` up to what that is, from a number."""
        line = code.span(node).line
        asked = AskedCondition("", False, (), False)
        if given is not None and node.type == "for_expression":
            asked = self.takes_a_turn(code, given, frame)
        elif given is not None:
            asked = replace(self.question(code, given, frame), pure=False)
        loose = self._anew(asked)
        asks = self._asks(asked)
        if counts is not None and not loose:
            takes = below(of_number(start), self.term(code, counts, frame))
            asks = takes, takes.negated()
        names = (f"the loop in line {line} takes a turn", f"the loop in line {line} takes no turn")
        names = names[::-1] if asked.turned else names
        key = self._decision(asked.key, asked)
        return WayChoice(key, int(asked.turned), 2, names, asks, loose)

    def _anew(self, asked: AskedCondition) -> bool:
        """Whether every turn of a loop that is read once decides anew."""
        return self.walk.loose(asked.values) or (bool(self.walk.outside) and not asked.pure)

    def _decision(self, key: str, asked: AskedCondition) -> str:
        self.kept += asked.values
        self.serial += 1
        return key if asked.pure else f"{key} of {self.serial}"

    def _asks(self, asked: AskedCondition) -> tuple[WayTerm, ...]:
        """What both arms of a condition ask of the numbers of a run; nothing where no run answers it once for all."""
        if not asked.pure or asked.term.op == SOME or self._anew(asked):
            return ()
        key = asked.term.negated() if asked.turned else asked.term
        return key, key.negated()


def _plainly(text: str, total: bool) -> tuple[str, bool]:
    """A condition as it is told, without signs that only turn it round, and whether they did; >= is the opposite of <
    where every two values compare.
    """
    turned = False
    while True:
        inner = text[1:-1] if text.startswith("(") and text.endswith(")") else ""
        if inner and "(" not in inner:
            text = inner.strip()
        elif re.fullmatch(r"!\s*(?:\w+|\([^()]*\))", text):
            text, turned = text[1:].strip(), not turned
        else:
            break
    found = re.fullmatch(r"([\w.:]+) (!=|>=|>) ([\w.:]+)", text)
    if found is not None and (total or found[2] == "!="):
        text, turned = f"{found[1]} {_OPPOSITE[found[2]]} {found[3]}", not turned
    return text, turned
