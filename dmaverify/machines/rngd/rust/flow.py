"""Branches and loops: which turns a loop takes, which branch a condition chooses, what a closure gives.

Knows: ranges and lists, counters of `while`, `cfg!(..)`, conditions over constants, `match` on numbers.
Does not know: functions and blocks (`bodies`), what a tensor is.
Law: every branch and every body is visited. A loop whose values are a progression is visited once for all of them, any
other list turn by turn; code that does not run counts for nothing of what transfers do together.
"""

from __future__ import annotations

import re
from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING

from dmaverify.machines.rngd.rust.buffers import EffectLedger
from dmaverify.machines.rngd.rust.cfg import holds
from dmaverify.machines.rngd.rust.code import Code, named
from dmaverify.machines.rngd.rust.lists import elements, range_of
from dmaverify.machines.rngd.rust.numbers import number_of, truth_of
from dmaverify.machines.rngd.rust.patterns import Patterns
from dmaverify.machines.rngd.rust.sites import is_host
from dmaverify.machines.rngd.rust.types import Frame
from dmaverify.machines.rngd.rust.values import (
    Dtype,
    Numbers,
    Opaque,
    Pending,
    Record,
    RustTensor,
    Sequence,
    Tuple,
    Unknown,
    Value,
    sources_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_TURNS, MAX_UNROLLED = 64, 1024  # of a loop that is read turn by turn; of all of them in one function
_RANGE = re.compile(r"^(.*?)\.\.(=?)(.*)$", re.DOTALL)
_STEP = re.compile(r"^(.*)\.step_by\((.*)\)$", re.DOTALL)
_CFG = re.compile(r"(!?)\s*cfg!\s*\((.*)\)", re.DOTALL)
_LITERALS = re.compile(r"\d[\d_]*(?:\s*\|\s*\d[\d_]*)*")
_BELOW = re.compile(r"\s*\(?\s*([a-z_]\w*)\s*(<=?)\s*([^<>=]+?)\)?\s*")
_MOVES = re.compile(rb"\b(?:to_|dma_|tile|view)\w*|\w\s*\(\s*(?:&mut\s*\*?\s*)?ctx\b|\w+!")
_ASKS = re.compile(rb"\b(?:if|match|continue|break)\b")
ITEMS = {
    "line_comment", "block_comment", "attribute_item", "inner_attribute_item", "function_item", "struct_item",
    "enum_item", "type_item", "const_item", "static_item", "use_declaration", "impl_item", "trait_item", "mod_item",
    "union_item", "macro_definition", "empty_statement", "function_signature_item", "extern_crate_declaration",
    "lifetime", "label",
}  # fmt: skip


class ControlFlow(Patterns):
    """The part of reading that knows branches, loops and closures; `Bodies` adds functions and blocks."""

    def built(self, code: Code, node: Node, frame: Frame) -> list[Node]:
        raise AssertionError

    def _rest(self, code: Code, node: Node, frame: Frame) -> Value:
        raise AssertionError

    def _if_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        inside = frame.inside(frame.scope)
        condition = node.child_by_field_name("condition")
        if condition is not None:
            self.value(code, condition, inside, None)
        branches = []
        asked = _CFG.fullmatch(code.text(condition).strip()) if condition is not None else None
        answer = holds(asked[2], frame.scope.module.features) if asked is not None else None
        taken = answer if answer is None or asked is None else answer is not bool(asked[1])
        known_here = taken is None and condition is not None and condition.type not in ("let_condition", "let_chain")
        if known_here and condition is not None:
            truth = truth_of(code.text(condition), self.types.look(frame))
            if truth is not None:
                return self._decided(code, node, inside, expected, truth)
        self.branches += taken is None
        for name in ("consequence", "alternative"):
            branch = node.child_by_field_name(name)
            if branch is not None and taken is (name == "alternative"):
                other = f"not({asked[2]})" if answer and asked is not None else asked[2] if asked is not None else ""
                self.unbuilt.append((code.span(branch), f"#[cfg({other})]"))
                continue
            if branch is not None:
                branches.append(self.merged(self.value(code, branch, inside, expected), expected))
        self.branches -= taken is None
        return _first(branches)

    def _decided(self, code: Code, node: Node, inside: Frame, expected: Value | None, truth: bool) -> Value:
        """A branch whose condition is known: the one is taken; the other is read by itself, as another setting of the
        constants would have it, but not within a loop that is read turn by turn.
        """
        names = ("consequence", "alternative") if truth else ("alternative", "consequence")
        taken, other = (node.child_by_field_name(name) for name in names)
        if other is not None and not self.unrolling:
            self._aside(code, other, inside, expected)
        return self.merged(self.value(code, taken, inside, expected), expected) if taken is not None else Opaque("()")

    def _aside(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> None:
        """Code that does not run here: its transfers are judged, what they do together counts for nothing."""
        outside, self.ledger = self.ledger, EffectLedger()
        self.branches += 1
        try:
            self.value(code, node, frame.inside(frame.scope), expected)
        finally:
            self.ledger, self.branches = outside, self.branches - 1

    def _let_condition(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        given = node.child_by_field_name("value")
        value = self.value(code, given, frame, None) if given is not None else Unknown("")
        self.bind(code, node.child_by_field_name("pattern"), value, frame)
        return Opaque("bool")

    def _match_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        given, body = node.child_by_field_name("value"), node.child_by_field_name("body")
        value = self.value(code, given, frame, None) if given is not None else Unknown("")
        branches = []
        arms = self.built(code, body, frame) if body is not None else []
        chosen = _chosen(code, arms, value)
        for arm in arms:
            inside = frame.inside(frame.scope)
            pattern, result = arm.child_by_field_name("pattern"), arm.child_by_field_name("value")
            if pattern is not None:
                self.bind(code, named(pattern)[0] if named(pattern) else None, value, inside)
            if result is not None and chosen is not None:
                if arm.id == chosen:
                    branches.append(self.merged(self.value(code, result, inside, expected), expected))
                elif not self.unrolling:
                    self._aside(code, result, inside, expected)
            elif result is not None:
                self.branches += 1
                branches.append(self.merged(self.value(code, result, inside, expected), expected))
                self.branches -= 1
        return _first(branches)

    def _for_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        given, body = node.child_by_field_name("value"), node.child_by_field_name("body")
        inside = frame.inside(frame.scope)
        if given is None or body is None:
            return Opaque("()")
        each = self._each(code, given, frame)
        pattern = node.child_by_field_name("pattern")
        turns = self._one_by_one(code, body, each)
        if turns is not None:
            self.unrolling += 1
            for one in turns:
                own = frame.inside(frame.scope)
                self.bind(code, pattern, one, own)
                self.value(code, body, own, None)
                self.unrolled += 1
            self.unrolling -= 1
            return Opaque("()")
        whole = isinstance(each, Sequence)
        self.bind(code, pattern, each.part if isinstance(each, Sequence) and whole else each, inside)
        self._turns(code, body, inside)
        return Opaque("()")

    def _one_by_one(self, code: Code, body: Node, each: Value) -> tuple[Value, ...] | None:
        """The values of a loop that is read once for each of them: those that no progression holds, and those that
        its body asks about.
        """
        if not isinstance(each, Sequence):
            return None
        found = elements(each)
        if found is None or len(found) > MAX_TURNS or self.unrolled + len(found) > MAX_UNROLLED:
            return None
        text = body.text or b""
        if not _MOVES.search(text):
            return None
        plain = isinstance(each.part, Numbers) and each.part.exact and len(set(found)) == len(found)
        asks = _ASKS.search(text) is not None and not any(map(is_host, self.stack))
        return found if not plain or asks else None

    def _turns(self, code: Code, body: Node, inside: Frame) -> None:
        """The body of a loop, once for all iterations."""
        start = self.ledger.clock
        self.value(code, body, inside, None)
        self.ledger.clock += 2
        self.ledger.repeat(start)

    def _while_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        inside = frame.inside(frame.scope)
        counted = self._counted(code, node, frame)
        if counted is not None:
            inside.locals[counted[0]] = counted[1]
        for name in ("condition", "body"):
            part = node.child_by_field_name(name)
            if part is not None:
                self._turns(code, part, inside)
        return Opaque("()")

    def _counted(self, code: Code, node: Node, frame: Frame) -> tuple[str, Numbers] | None:
        """`while i < n { ..; i += k }`: the counter and its values, where it begins at a known number and nothing else
        changes it.
        """
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        asked = _BELOW.fullmatch(code.text(condition)) if condition is not None else None
        if asked is None or body is None:
            return None
        name, start = asked[1], self.counters.get(id(frame.locals.get(asked[1])))
        bound = number_of(asked[3], self.types.look(frame))
        own = [one for one in named(body) if one.type not in ITEMS]
        steps = re.findall(rf"\b{name}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)", code.text(body))
        last = re.fullmatch(rf"{name}\s*\+=\s*(.+?);?", code.text(own[-1]).strip()) if own else None
        step = number_of(last[1], self.types.look(frame)) if last is not None and len(steps) == 1 else None
        if start is None or bound is None or bound.single is None or step is None or (step.single or 0) < 1:
            return None
        high = bound.low - (0 if asked[2] == "<=" else 1)
        if high < start.low or _ASKS.search(body.text or b""):
            return None
        return name, Numbers(start.low, high - (high - start.low) % step.low, step.low if high > start.low else 0)

    def _loop_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        body = node.child_by_field_name("body")
        if body is not None:
            self._turns(code, body, frame.inside(frame.scope))
        return Opaque("")

    def _each(self, code: Code, node: Node, frame: Frame) -> Value:
        """What a loop variable is."""
        text = code.text(node)
        numbers = self.range(text, frame)
        if numbers is not None:
            return range_of(numbers)
        if ".." in text and "." not in text.replace("..", ""):
            self._rest(code, node, frame)
            return Unknown(f"the range `{' '.join(text.split())[:60]}` is not known before the kernel runs")
        value = self.value(code, node, frame, None)
        return value if isinstance(value, Sequence) else Unknown("an element of something")

    def range(self, text: str, frame: Frame) -> Numbers | None:
        """The values of `a..b`, `a..=b`, `(a..b).rev()`, `(a..b).step_by(n)`, or None."""
        text, step = text.strip(), 1
        look = self.types.look(frame)
        for _ in range(4):
            if text.endswith(".rev()"):
                text = text.removesuffix(".rev()").strip()
            elif (found := _STEP.match(text)) is not None:
                value = number_of(found[2], look)
                if value is None or (value.single or 0) < 1:
                    return None
                text, step = found[1].strip(), value.low
            elif text.startswith("(") and text.endswith(")"):
                text = text[1:-1].strip()
        parts = _RANGE.match(text)
        if parts is None or not parts[3].strip():
            return None
        low, high = number_of(parts[1] or "0", look), number_of(parts[3], look)
        if low is None or high is None or low.single is None or high.single is None:
            return None
        last = high.low - (0 if parts[2] else 1)
        if last < low.low:
            return None
        last -= (last - low.low) % step
        return Numbers(low.low, last, step if last > low.low else 0)

    def _range_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        numbers = self.range(code.text(node), frame)
        if numbers is None:
            self._rest(code, node, frame)
        return range_of(numbers) if numbers is not None else Sequence(Unknown("a number of a range that is not known"))

    def _closure_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        return self.closure(code, node, frame, Unknown("an argument of a closure"), expected)

    def closure(
        self, code: Code, node: Node, frame: Frame, given: Value | list[Value], expected: Value | None
    ) -> Value:
        """The result of a closure for arguments that are `given`: one by one, or alike."""
        inside = frame.inside(frame.scope)
        parameters, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
        for number, one in enumerate(named(parameters) if parameters is not None else ()):
            declared = one.child_by_field_name("type")
            own = given if not isinstance(given, list) else given[number] if number < len(given) else Unknown("")
            value = self.types.read(code, declared, frame) if declared is not None else own
            value = own if isinstance(value, Dtype) and isinstance(own, Numbers) else value
            value = self.merged(own, value) if isinstance(own, RustTensor) and isinstance(value, RustTensor) else value
            self.bind(code, one.child_by_field_name("pattern") or one, value, inside)
        return self.value(code, body, inside, expected) if body is not None else Unknown("")


def _chosen(code: Code, arms: list[Node], value: Value) -> int | None:
    """The arm that a known number takes; None where that cannot be said."""
    if not isinstance(value, Numbers) or value.single is None:
        return None
    for arm in arms:
        pattern = arm.child_by_field_name("pattern")
        text = code.text(pattern).strip() if pattern is not None else ""
        if text == "_":
            return arm.id
        if not _LITERALS.fullmatch(text):
            return None
        if value.low in {int(one.strip().replace("_", "")) for one in text.split("|")}:
            return arm.id
    return None


def _first(branches: list[Value]) -> Value:
    """The first branch that is a tensor or holds one, with what all of them depend on; numbers are any of them."""
    best = next((b for b in branches if isinstance(b, (RustTensor, Tuple, Record, Sequence, Pending))), None)
    numbers = [b for b in branches if isinstance(b, Numbers)]
    if best is None and numbers:
        if len(numbers) < len(branches):
            return Unknown("a number that depends on a condition")
        low, high = min(n.low for n in numbers), max(n.high for n in numbers)
        step = gcd(*(n.step for n in numbers), *(n.low - low for n in numbers))
        return Numbers(low, high, step, all(n == numbers[0] for n in numbers) and numbers[0].exact)
    if best is None:
        return branches[0] if branches else Opaque("()")
    if isinstance(best, RustTensor):
        return replace(best, sources=frozenset().union(*map(sources_of, branches)))
    return best
