"""Numbers that a loop takes or changes: ranges, where a counter begins, what changes it.

Knows: ranges of numbers, the syntax tree between the `let mut` of a number and a loop that changes it.
Does not know: what bodies do (`flow`), which way is taken (`choices`).
Law: a number is followed only where every place that may change it is a statement `i = ..` or `i += ..`; a reference to
it, a closure, a macro or a pattern that names it again makes it unknown, as a text that a macro made does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Reversible
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.calls import MOVES
from dmaverify.machines.rngd.rust.choices import Choices
from dmaverify.machines.rngd.rust.code import (
    above,
    child,
    label_of,
    named,
    parse_fragment,
    parts_of,
    range_at,
    split_top,
)
from dmaverify.machines.rngd.rust.declares import KNOWN_MACROS
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.integers import like, operated, settled, typed, unified
from dmaverify.machines.rngd.rust.lists import elements, range_of
from dmaverify.machines.rngd.rust.numbers import number_at, number_left
from dmaverify.machines.rngd.rust.sites import is_host, takes_numbers
from dmaverify.machines.rngd.rust.values import Numbers, Sequence, Unknown, Value
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

CHANGES = ("assignment_expression", "compound_assignment_expr")
_LOOPS = {"for_expression", "while_expression", "loop_expression"}
_AROUND = {*_LOOPS, "closure_expression", "async_block"}
_READS = re.compile(
    r"min|max|clamp|abs|abs_diff|pow|div_ceil|next_multiple_of|isqrt|ilog2|(?:div|rem)_euclid|clone|into"
    r"|(?:wrapping|saturating|checked|overflowing)_(?:add|sub|mul|div|rem|shl|shr|neg|pow)"
)
"""Methods of integers that leave the number; none of a trait is found before these."""

MAX_TURNS, MAX_UNROLLED = 64, 1024  # of a loop that is read turn by turn; of all of them in one function
_TURNED = (
    rb"\b(?:for|while)\b[^{]*\b%(name)s\b|\b%(name)s\b[\s\w+*)-]*(?:[%%&^]|>>)|\^\s*%(name)s\b"
    rb"|(?:\[|\.get\()[^\])]*\b%(name)s\b|(?<![\w.>])(?:[a-z_]\w*|\w+::[a-z_]\w*)\((?:[^()&]|\([^()&]*\))*\b%(name)s\b"
    rb"|\.(?:min|max|clamp|pow|abs_diff|div_ceil|next_multiple_of|\w+_euclid|(?:wrapping|saturating|checked)_\w+)\("
)
"""A bound, a remainder, bits, an index or a function of a loop variable."""
_ASKS = re.compile(rb"\b(?:if|match|continue|break)\b")


@dataclass(frozen=True)
class CounterStart:
    """The number that a `let mut` gives a variable, and where it stands."""

    value: Numbers
    code: Code
    node: Node


class Counters(Choices):
    """The part of reading that follows numbers which change."""

    def begins(self, code: Code, node: Node, name: str, frame: Frame) -> Numbers | None:
        """What a variable that changes is when a loop begins: the number of its `let mut`, where nothing may change it
        in between and no other loop stands around that one alone.
        """
        start = self.counters.get(id(frame.locals.get(name)))
        block = start.node.parent if start is not None else None
        if start is None or block is None or start.code.data is not code.data:
            return None
        if not (block.start_byte <= node.start_byte and node.end_byte <= block.end_byte):
            return None
        if any(one.type in _AROUND for one in above(block, node)[1:]):
            return None
        before = range(start.node.end_byte, node.start_byte)
        return None if any(_uses(code, block, name, before)) else start.value

    def straight(self, code: Code, node: Node, name: str) -> bool:
        """Whether nothing but statements of the block of a `let mut` changes its variable: it has a number that is
        known between any two of them.
        """
        block = node.parent
        uses = list(_uses(code, block, name, range(node.end_byte, block.end_byte))) if block is not None else [node]
        return code.at is None and all(one.type in CHANGES and _stands_in(one, block) for one in uses)

    def stepped(self, code: Code, node: Node, name: str, value: Value, frame: Frame) -> None:
        """`i += 1`, `i = j` of such a variable; `value` is what stands on the right."""
        before = frame.locals[name]
        assert isinstance(before, Numbers)
        made = number_left(code, node, self.types.look(frame))
        if made is None and node.type == "assignment_expression" and isinstance(value, Numbers):
            made = value
        made = typed(made, before.type) if made is not None else None
        frame.locals[name] = made or Unknown("a variable that changes", code.span(node))

    def counted(self, code: Code, node: Node, frame: Frame) -> tuple[str, Numbers] | None:
        """`while i < n { ..; i += k }`: the counter and its values, where it begins at a known number and nothing else
        changes it.
        """
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        asked = below(code, condition) if condition is not None else None
        if asked is None or body is None:
            return None
        name, sign, limit = asked
        start, look = self.begins(code, node, name, frame), self.types.look(frame)
        bound = number_at(code, limit, look)
        uses = list(_uses(code, body, name, range(body.start_byte, body.end_byte)))
        last = uses[-1] if len(uses) == 1 else None
        own = [one for one in named(body) if one.type == "expression_statement"]
        if last is None or last.parent is None or not own or last.parent.id != own[-1].id or own[-1] != named(body)[-1]:
            return None
        right, operator = last.child_by_field_name("right"), last.child_by_field_name("operator")
        adds = operator is not None and code.text(operator) == "+=" and right is not None
        step = number_at(code, right, look) if adds and right is not None else None
        if start is None or bound is None or bound.single is None or step is None or (step.single or 0) < 1:
            return None
        high = bound.low - (0 if sign == "<=" else 1)
        if high < start.low or leaves(body):
            return None
        end = high - (high - start.low) % step.low
        both = unified(start, bound)
        beyond = operated("+", like(Numbers.of(end), list(both)), step) if both is not None else None
        if beyond is None or settled(beyond) is None:  # the loop ends by it
            return None
        return name, like(Numbers(start.low, end, step.low if high > start.low else 0), [start])

    def counters_of(self, code: Code, node: Node, body: Node, frame: Frame) -> dict[str, Numbers | None] | None:
        """The numbers that a loop changes, with what they begin with; None where one is changed on some ways only, or
        in a way that is not followed.
        """
        found: dict[str, Numbers | None] = {}
        for name in [name for name, value in frame.locals.items() if id(value) in self.counters]:
            uses = list(_uses(code, node, name, range(node.start_byte, node.end_byte)))
            start = self.begins(code, node, name, frame) if uses else None
            if start is None:
                continue
            if not all(_stands_in(one, body) and (one.type in CHANGES or _renames(one)) for one in uses):
                return None
            found[name] = start
        return found

    def changed(self, code: Code, node: Node, name: str, frame: Frame) -> None:
        """`i += 1`, `i = j`: a number that a loop is read by; it stays where no turn gets here."""
        if self.walk.dead:
            return
        turn = next((number for number, kind, _ in reversed(self.walk.scopes) if kind == "turn"), -1)
        left = any(scope == turn for scope, _ in self.walk.exits)
        before = self.live[name]
        value = number_left(code, node, self.types.look(frame)) if not left else None
        value = typed(value, before.type) if value is not None and before is not None else None
        self.live[name] = value if value is not None and value.single is not None else None
        frame.locals[name] = self.live[name] or Unknown("a variable that changes")

    # ------------------------------------------------------------ turns

    def few(self, each: Value) -> tuple[Value, ...] | None:
        """The values of a loop that may be read turn by turn."""
        found = elements(each) if isinstance(each, Sequence) else None
        short = found is not None and len(found) <= MAX_TURNS and self.unrolled + len(found) <= MAX_UNROLLED
        return found if short else None

    def one_by_one(
        self, code: Code, body: Node, each: Value, frame: Frame, pattern: str = ""
    ) -> tuple[Value, ...] | None:
        """The values of a loop that is read once for each of them: those that no progression holds, and those that
        its body, or a function that it calls with numbers, asks about.
        """
        found = self.few(each)
        if not isinstance(each, Sequence) or found is None:
            return None
        text = body.text or b""
        if not MOVES.search(text):
            return None
        plain = isinstance(each.part, Numbers) and each.part.exact and len(set(found)) == len(found)
        name = re.escape(pattern.encode())
        inner = re.search(_TURNED % {b"name": name}, text) if name else None
        asks = _ASKS.search(text) is not None or inner is not None or self._calls_ask(code, body, frame)
        return found if not plain or (asks and not any(map(is_host, self.stack))) else None

    def _calls_ask(self, code: Code, body: Node, frame: Frame) -> bool:
        """Whether a function of the crate that a body calls with numbers has a condition."""
        called = (one.child_by_field_name("function") for one in walk(body) if one.type == "call_expression")
        paths = {code.text(one) for one in called if one is not None and one.type.endswith("identifier")}
        items = [frame.scope.path(parts_of(path), values=True) for path in paths if path not in frame.locals]
        told = [one for one in items if one is not None and one.kind == "fn" and takes_numbers(one)]
        return any(_ASKS.search(one.node.text or b"") is not None for one in told)

    # ------------------------------------------------------------ ranges

    def is_empty(self, code: Code, node: Node, frame: Frame) -> bool:
        """Whether a range certainly has no value."""
        low, high, closed, _ = self._ends(code, node, frame)
        return low is not None and high is not None and low.low >= high.high + closed

    def each(self, code: Code, node: Node, frame: Frame) -> Value:
        """What a loop variable is."""
        found = self.range(code, node, frame)
        if found is not None:
            return found
        value = self.value(code, node, frame, None)
        is_range = range_at(code, node) is not None
        if isinstance(value, Sequence) and not (is_range and isinstance(value.part, Unknown)):
            return value
        if is_range:
            return Unknown(f"the range `{' '.join(code.text(node).split())[:60]}` is not known before the kernel runs")
        return Unknown("an element of something")

    def range(self, code: Code, node: Node, frame: Frame) -> Sequence | None:
        """The values of `a..b`, `a..=b`, `(a..b).rev()`, `(a..b).step_by(n)`, or None."""
        low, high, closed, steps = self._ends(code, node, frame)
        return self.between(low, high, closed=closed, steps=steps) if low and high else None

    def between(self, low: Numbers, high: Numbers, *, closed: bool, steps: Reversible[int] = ()) -> Sequence | None:
        """The numbers from one to another one, by `steps`; None where there are none, or that is not known."""
        both = unified(low, high)
        if both is None or low.single is None or high.single is None:
            return None
        last = high.low - (0 if closed else 1)
        if last < low.low:
            return None
        first, apart, falling = low.low, 1, False
        for step in reversed(steps):
            apart *= step or 1
            far = (last - first) // apart * apart
            first, last = (last - far, last) if falling else (first, first + far)
            falling = falling is not (step == 0)
        return range_of(like(Numbers(first, last, apart if last > first else 0), list(both)), falling=falling)

    def _ends(self, code: Code, node: Node, frame: Frame) -> tuple[Numbers | None, Numbers | None, bool, list[int]]:
        """The ends of a range, None where they are not known or it is none; whether it is closed; and what is done to
        it, the last first: the steps that are taken, 0 to turn round.
        """
        look, steps = self.types.look(frame), list[int]()
        while node.type in ("parenthesized_expression", "call_expression") and named(node):
            function, given = named(node)[0], node.child_by_field_name("arguments")
            if given is not None:
                name, values = function.child_by_field_name("field"), [number_at(code, e, look) for e in named(given)]
                by = [one.single or 0 for one in values if one is not None]
                called = code.text(name) if name is not None else ""
                if (called, len(values)) != ("rev", 0) and (called != "step_by" or len(values) != 1 or by[:1] < [1]):
                    break
                steps.append(by[0] if values else 0)
            node = named(function)[0] if given is not None else function
        ends = range_at(code, node)
        if ends is None or ends.high is None:
            return None, None, False, steps
        low = number_at(code, ends.low, look) if ends.low is not None else Numbers.of(0)
        return low, number_at(ends.code, ends.high, look), ends.closed, steps


def below(code: Code, condition: Node) -> tuple[str, str, Node] | None:
    """`i < n`, `i <= n`: the variable, the sign and the bound."""
    while condition.type == "parenthesized_expression" and named(condition):
        condition = named(condition)[0]
    left, right = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    sign = condition.child_by_field_name("operator")
    if condition.type != "binary_expression" or left is None or right is None or sign is None:
        return None
    fits = left.type == "identifier" and code.text(sign) in ("<", "<=")
    return (code.text(left), code.text(sign), right) if fits else None


def leaves(body: Node) -> bool:
    """Whether something in a body may end it early: `break`, `continue`, a macro whose text is not known here."""
    jumps = {"continue_expression", "break_expression"}
    return any(one.type in jumps or (one.type == "macro_invocation" and not _reads(one)) for one in walk(body))


def breaks_of(code: Code, loop: Node) -> list[Node] | None:
    """Each `break` that ends a loop; None where a macro may have one."""
    label, todo = label_of(code, loop), [(one, False) for one in named(loop)]
    found: list[Node] = []
    while todo:
        node, inner = todo.pop()
        if node.type == "break_expression" and (label_of(code, node) == label if label_of(code, node) else not inner):
            found.append(node)
        if node.type == "macro_invocation" and (b"break" in (node.text or b"") or not _reads(node)):
            return None
        if node.type not in ("closure_expression", "function_item"):
            todo += [(one, inner or node.type in _LOOPS) for one in named(node)]
    return found


def _reads(macro: Node) -> bool:
    """Whether a macro is one of those that only read what they are given."""
    named_as = macro.child_by_field_name("macro")
    word = (named_as.text or b"").decode("utf-8", "replace").split("::")[-1] if named_as is not None else ""
    return word in KNOWN_MACROS


def _uses(code: Code, root: Node, name: str, within: range) -> Iterator[Node]:
    """What may change a variable, as far as it begins within a range of bytes: an assignment to it as a whole, or any
    other place that a change could hide behind.
    """
    for one in walk(root):
        inside = within.start <= one.start_byte < within.stop
        if inside and one.type in ("identifier", "shorthand_field_identifier") and code.text(one) == name:
            place = _changing(code, one)
            if place is not None:
                yield place


def _stands_in(change: Node, block: Node | None) -> bool:
    """Whether a change is a statement of a block itself."""
    return block is not None and change.parent is not None and change.parent.parent == block


def _renames(one: Node) -> bool:
    """Whether a name is given to another value that nothing changes: `let i = i + 1;`."""
    around = one.parent
    plain = around is not None and around.type == "let_declaration" and around.child_by_field_name("pattern") == one
    return plain and around is not None and child(around, "mutable_specifier") is None and b"=" in (around.text or b"")


def _told_to_change(code: Code, macro: Node, given: Node, name: Node) -> bool:
    """Whether what a macro that reads is given may change a variable itself: `assert!({ n = 3; true })`."""
    text = code.text(given)[1:-1]
    if code.text(named(macro)[0]) == "matches" and "mut" not in text:
        text = split_top(text, ",")[0]
    again, tree = parse_fragment(code, text, given.start_byte + 1, "fn f(){[", "];}")
    return tree.has_error or any(_uses(again, tree, code.text(name), range(tree.end_byte)))


def _changing(code: Code, one: Node) -> Node | None:
    """The assignment that an identifier is the left side of, or what else may change it; None where it is read."""
    inner, outer = one, one.parent
    while outer is not None and not outer.type.endswith(("statement", "block", "arguments")):
        if outer.type in CHANGES and outer.child_by_field_name("left") == inner:
            alone = inner == one and outer.parent is not None and outer.parent.type == "expression_statement"
            return outer if alone else one
        if outer.type == "token_tree":
            while outer is not None and outer.type == "token_tree":
                inner, outer = outer, outer.parent
            return one if outer is None or not _reads(outer) or _told_to_change(code, outer, inner, one) else None
        if outer.type == "reference_expression" and child(outer, "mutable_specifier") is not None:
            return one
        pattern = outer.child_by_field_name("pattern")
        if pattern == inner or outer.type == "closure_parameters":
            return one
        arms = outer if outer.type == "match_expression" else pattern  # `let`, `if let`, `match` by reference
        if arms is not None and any(part.type == "ref_pattern" for part in walk(arms)):
            return one
        if outer.type == "field_expression" and inner == one:
            called = outer.parent is not None and outer.parent.type == "call_expression"
            method = outer.child_by_field_name("field")
            return one if called and method is not None and _READS.fullmatch(code.text(method)) is None else None
        inner, outer = outer, outer.parent
    return None
