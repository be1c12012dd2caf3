"""Choices: what a condition, the arms of a `match` or a loop that may take no turn decide, and on what they hang; which
names a pattern gives the parts of a value to.

Knows: conditions over constants and parameters, `assert!`; identifiers, tuples, structs, slices, `mut`, `Some(x)`.
Does not know: what branches do (`flow`), ways through a function (`paths`).
Law: two conditions are one decision only where nothing can change what they name between them; an arm is called the
one that is taken only where its number is known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.calls import Calls
from dmaverify.machines.rngd.rust.code import arguments_in, named, places
from dmaverify.machines.rngd.rust.functions import CELLS
from dmaverify.machines.rngd.rust.numbers import Look, number_of, split_top, truth_of
from dmaverify.machines.rngd.rust.types import Frame
from dmaverify.machines.rngd.rust.values import (
    Buffer,
    Numbers,
    Record,
    RustTensor,
    Sequence,
    Tuple,
    Unknown,
    Value,
    changing,
)
from dmaverify.program.ways import WayChoice
from dmaverify.values import dataclass, replace

if TYPE_CHECKING:
    from tree_sitter import Node


RANGE = re.compile(r"^(.*?)\.\.(=?)(.*)$", re.DOTALL)
_PURE = re.compile(r"(?!.*\w\s*\()[\w\s:<>=!&|+\-*/%.()]+")  # no call
_OPPOSITE = {"!=": "==", ">=": "<", ">": "<="}
_LITERALS = re.compile(r"\d[\d_]*(?:\s*\|\s*\d[\d_]*)*")


class Choices(Calls):
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

    def bind(self, code: Code, pattern: Node | None, value: Value, frame: Frame) -> None:
        """Gives the names of a pattern their values."""
        if pattern is None:
            return
        kind = pattern.type
        if kind == "identifier" or kind == "shorthand_field_identifier":
            if len(self.stack) == self.later_uses.depth:
                self.later_uses.bound(code, pattern.start_byte, value)
            frame.locals[code.text(pattern)] = value
        elif kind in ("mut_pattern", "ref_pattern", "reference_pattern", "captured_pattern"):
            inner = [one for one in named(pattern) if one.type != "mutable_specifier"]
            for one in inner:
                changes = Unknown("a variable that changes") if kind == "mut_pattern" else None
                self.bind(code, one, changing(value, changes) if changes else value, frame)
        elif kind in ("tuple_pattern", "closure_parameters"):
            for one, place in places(pattern, len(value.parts) if isinstance(value, Tuple) else None):
                self.bind(code, one, self._placed(code, value, place, pattern), frame)
        elif kind == "tuple_struct_pattern":
            parts = places(pattern)
            for one, place in parts[1:]:
                whole = len(parts) == 2 and not isinstance(value, Record)
                own = place - 1 if place is not None else None
                self.bind(code, one, value if whole else self._placed(code, value, own, pattern), frame)
        elif kind == "slice_pattern":
            for one, place in places(pattern, value.count if isinstance(value, Sequence) else None):
                if one.type.endswith(("identifier", "pattern")) and one.type != "remaining_field_pattern":
                    part = self.one_of(value, place) if isinstance(value, Sequence) else Unknown("")
                    several = Unknown("several elements") if one.type == "captured_pattern" else part
                    self.bind(code, one, several, frame)
        elif kind == "struct_pattern":
            for one in named(pattern):
                if one.type == "field_pattern":
                    name, inner_pattern = one.child_by_field_name("name"), one.child_by_field_name("pattern")
                    if name is not None:
                        part = self.part(value, code.text(name), code, pattern)
                        self.bind(code, inner_pattern or name, part, frame)

    def _placed(self, code: Code, value: Value, place: int | None, pattern: Node) -> Value:
        """A part by its place."""
        if place is None:
            return Unknown("a part behind `..`", code.span(pattern))
        return self.part(value, str(place), code, pattern)

    def unsure(self, code: Code, node: Node, condition: str, frame: Frame) -> None:
        """A statement that some builds have: it is one arm of a choice, and what it names is not known."""
        arm = int(condition.startswith("not(") and condition.endswith(")"))
        text = condition[4:-1] if arm else condition
        with self.walk.chosen(WayChoice(f"cfg {text}", arm, 2, (f"`{text}` is set", f"`{text}` is not set"))):
            before = dict(frame.locals)
            self.value(code, node, frame, None)
        for name, value in frame.locals.items():
            if before.get(name) is not value:
                self.ledger.lose(value)
                frame.locals[name] = changing(value, Unknown(f"`{name}` hangs on `{text}`", code.span(node)))

    def asserted(self, code: Code, called: str, text: str, byte: int, frame: Frame) -> None:
        """`assert!(c)`: nothing behind it runs where the condition does not hold."""
        parts = split_top(text, ",")
        sign = {"assert_eq": "==", "assert_ne": "!="}.get(called.removeprefix("debug_"))
        asked = parts[0].strip() if sign is None or len(parts) < 2 else f"{parts[0].strip()} {sign} {parts[1].strip()}"
        if truth_of(asked, self.types.look(frame)) is True:
            return
        again, inner = arguments_in(code, asked, byte)
        if len(inner) == 1:
            with self.walk.chosen(self.choices(again, inner[0], frame)[1]):
                self.walk.leave("program")

    def choices(self, code: Code, condition: Node, frame: Frame) -> tuple[WayChoice, WayChoice]:
        """The two arms of a condition. Conditions of one text over the same values are one decision."""
        text, turned = _plainly(" ".join(code.text(condition).split()))
        values, pure = self._asks(text, condition, frame)
        about = frozenset(id(v) for v in values if pure and id(v) in self.free and _both_ways(text))
        loose = self._anew(values, pure)
        key = self._decision(text, values, pure)
        place = code.span(condition)
        known, at = self.decided.setdefault(text, (key, place.start))
        line = f" in line {place.line}" if key != known and at != place.start else ""
        names = (f"`{text}`{line} holds", f"`{text}`{line} does not hold")
        first, second = (WayChoice(key, arm, 2, names, frozenset() if loose else about, loose) for arm in (0, 1))
        return (second, first) if turned else (first, second)

    def arm_choices(
        self, code: Code, given: Node | None, arms: list[Node], value: Value, frame: Frame, *, sure: bool = True
    ) -> list[WayChoice]:
        """The arms of a `match`; `sure`: every build has all of them."""
        text = " ".join(code.text(given).split()) if given is not None else ""
        values, pure = self._asks(text, given, frame) if given is not None else ([], False)
        pure = pure and sure
        patterns = [one.child_by_field_name("pattern") for one in arms]
        told = [" ".join(code.text(one).split()) if one is not None else "_" for one in patterns]
        plainly = all(_LITERALS.fullmatch(one) or one in ("_", "true", "false") for one in told)
        loose = self._anew(values, pure)
        free = pure and plainly and not loose and id(value) in self.free and len(set(told)) == len(told)
        key = self._decision(f"match {text}", values, pure)
        names = tuple(f"`{text}` is " + ("none of the others" if one == "_" else f"`{one}`") for one in told)
        about = frozenset((id(value),)) if free else frozenset()
        return [WayChoice(key, number, len(arms), names, about, loose) for number in range(len(arms))]

    def turn_choice(self, code: Code, node: Node, given: Node | None, frame: Frame, counts: str) -> WayChoice:
        """That a loop takes a turn, where it may take none; `counts` up to a parameter of that name from a number."""
        text = " ".join(code.text(given).split()) if given is not None else ""
        line = code.span(node).line
        values, pure = self._asks(text, given, frame) if given is not None else ([], False)
        bound = frame.locals.get(counts)
        about = frozenset((id(bound),)) if id(bound) in self.free else frozenset()
        loose = self._anew(values, pure)
        names = (f"the loop in line {line} takes a turn", f"the loop in line {line} takes no turn")
        key = self._decision(f"for {text}", values, pure and node.type == "for_expression")
        return WayChoice(key, 0, 2, names, frozenset() if loose else about, loose)

    def _anew(self, values: list[Value], pure: bool) -> bool:
        """Whether every turn of a loop that is read once decides anew."""
        return self.walk.loose(values) or (bool(self.walk.outside) and not pure)

    def _asks(self, text: str, node: Node, frame: Frame) -> tuple[list[Value], bool]:
        """The variables that a condition names, and whether it says the same wherever it stands."""
        words = list(dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text)))
        values = [frame.locals[word] for word in words if word in frame.locals]
        pure = _PURE.fullmatch(text) is not None and node.type not in ("let_condition", "let_chain")
        if self.item is not None and self.item not in self.declared:
            self.declared[self.item] = _declarations(self.item.code, self.item.node)
        known = self.declared[self.item] if self.item is not None else {}
        within = re.search(r"[.*]", text) is not None
        return values, pure and not any(own.may_change(within) for word in words for own in known.get(word, ()))

    def _decision(self, text: str, values: list[Value], pure: bool) -> str:
        self.kept += values
        self.serial += 1
        return f"{text} {list(map(id, values))}" if pure else f"{text} #{self.serial}"


@dataclass(frozen=True)
class Declared:
    """One declaration of names: whether it is `mut`, its type and its value as text."""

    changes: bool
    type: bytes
    value: bytes

    def may_change(self, within: bool) -> bool:
        """Whether somebody else may write what it names; `within` where a field of it or what it refers to is asked."""
        if self.changes or CELLS.search(self.type):
            return True
        return within and (CELLS.search(self.value) is not None or (not self.type and b"(" in self.value))


def _declarations(code: Code, function: Node) -> dict[str, list[Declared]]:
    """Every declaration of a function, by the names that it declares."""
    out: dict[str, list[Declared]] = {}
    for one in walk(function):
        if one.type not in ("parameter", "let_declaration", "mut_pattern"):
            continue
        parts = [one.child_by_field_name(name) for name in ("pattern", "type", "value")]
        changes = any(part.type == "mutable_specifier" for part in one.children)
        told = Declared(changes, *((part.text or b"") if part is not None else b"" for part in parts[1:]))
        for inner in walk(parts[0] or one):
            if inner.type == "identifier":
                out.setdefault(code.text(inner), []).append(told)
    return out


def _plainly(text: str) -> tuple[str, bool]:
    """A condition without signs that only turn it round, and whether they did."""
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
    if found is not None:
        text, turned = f"{found[1]} {_OPPOSITE[found[2]]} {found[3]}", not turned
    return text, turned


def _both_ways(text: str) -> bool:
    """Whether a condition over one parameter holds for some of its values and not for others."""
    found = re.fullmatch(r"[a-z_]\w*(?: (==|<|<=) (\d+)\w*)?", text)
    return found is not None and not (found[1] == "<" and int(found[2]) == 0)


def chosen_arm(code: Code, arms: list[Node], value: Value, look: Look) -> int | None:
    """The arm that a known number takes; None where that cannot be said."""
    if not isinstance(value, Numbers) or value.single is None:
        return None
    for arm in arms:
        pattern = arm.child_by_field_name("pattern")
        text = code.text(pattern).strip() if pattern is not None else ""
        if text == "_" or re.fullmatch(r"[a-z_]\w*", text.replace("true", "1").replace("false", "0")):
            return arm.id
        held = [_holds(part.strip(), value.low, look) for part in text.split("|")]
        if None in held:
            return None
        if True in held:
            return arm.id
    return None


def _holds(pattern: str, value: int, look: Look) -> bool | None:
    """Whether a number matches a literal, a constant, or a range of them."""
    parts = RANGE.match(pattern)
    if parts is None:
        one = number_of(pattern, look)
        return None if one is None or one.single is None else one.low == value
    low, high = (number_of(part, look) if part.strip() else Numbers.of(value) for part in (parts[1], parts[3]))
    if low is None or high is None:
        return None
    return low.low <= value and (value <= high.low if parts[2] or not parts[3].strip() else value < high.low)
