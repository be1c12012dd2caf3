"""Branches and loops: which turns a loop takes, which branch a condition chooses, what a closure gives.

Knows: ranges and lists, counters of `while`, `cfg!(..)`, conditions over constants, `match` on numbers.
Does not know: functions and blocks (`bodies`), what a tensor is.
Law: every branch and every body is visited. A loop whose values are a progression is visited once for all of them, any
other list turn by turn; code that does not run counts for nothing of what transfers do together.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from itertools import accumulate
from math import gcd
from typing import TYPE_CHECKING

from dmaverify.machines.rngd.rust.buffers import EffectLedger
from dmaverify.machines.rngd.rust.cfg import holds
from dmaverify.machines.rngd.rust.code import Code, named, parse_fragment, walk
from dmaverify.machines.rngd.rust.lists import elements, range_of
from dmaverify.machines.rngd.rust.numbers import Look, number_of, split_top, truth_of
from dmaverify.machines.rngd.rust.paths import WayChoice
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
_PURE = re.compile(r"(?!.*\w\s*\()[\w\s:<>=!&|+\-*/%.()]+")  # no call
_OPPOSITE = {"!=": "==", ">=": "<", ">": "<="}
_LITERALS = re.compile(r"\d[\d_]*(?:\s*\|\s*\d[\d_]*)*")
_BELOW = re.compile(r"\s*\(?\s*([a-z_]\w*)\s*(<=?)\s*([^<>=]+?)\)?\s*")
_MOVES = re.compile(rb"\b(?:to_|dma_|tile|view)\w*|\w\s*\(\s*(?:&mut\s*\*?\s*)?ctx\b|\w+!")
_TURNED = rb"\b(?:for|while)\b[^{]*\b%s\b|\b%s\b[\s\w+)]*%%"  # a bound or a remainder of a loop variable
_CHANGES = re.compile(r"(?<![\w.])([a-z_]\w*)\s*(?:[-+*/%&|^]|<<|>>)?=(?![=>])")
_LEAVES = re.compile(rb"\b(?:continue|break)\b")
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
        asked = _CFG.fullmatch(code.text(condition).strip()) if condition is not None else None
        answer = holds(asked[2], frame.scope.module.features) if asked is not None else None
        taken = answer if answer is None or asked is None else answer is not bool(asked[1])
        known_here = taken is None and condition is not None and condition.type not in ("let_condition", "let_chain")
        if known_here and condition is not None:
            truth = truth_of(code.text(condition), self.types.look(frame))
            if truth is not None:
                return self._decided(code, node, inside, expected, truth)
        choices = self.choices(code, condition, frame) if taken is None and condition is not None else None
        branches = []
        for arm, name in enumerate(("consequence", "alternative")):
            branch = node.child_by_field_name(name)
            if branch is None:
                continue
            if taken is (name == "alternative"):
                other = f"not({asked[2]})" if answer and asked is not None else asked[2] if asked is not None else ""
                self.unbuilt.append((code.span(branch), f"#[cfg({other})]"))
            elif choices is None:
                branches.append(self.merged(self.value(code, branch, inside, expected), expected))
            else:
                with self.walk.chosen(choices[arm]):
                    branches.append(self.branch(self.merged(self.value(code, branch, inside, expected), expected)))
        return _first(branches)

    def branch(self, value: Value) -> Value:
        """What a branch gives: a tensor that it names may be used from here on."""
        self.ledger.give(value, self.walk.when, soft=True)
        return value

    def _decided(self, code: Code, node: Node, inside: Frame, expected: Value | None, truth: bool) -> Value:
        """A branch whose condition is known: the one is taken; the other is read by itself, as another setting of the
        constants would have it, but not within a loop that is read turn by turn.
        """
        names = ("consequence", "alternative") if truth else ("alternative", "consequence")
        taken, other = (node.child_by_field_name(name) for name in names)
        condition = node.child_by_field_name("condition")
        text = " ".join(code.text(condition).split()) if condition is not None else ""
        if other is not None and not self.unrolling:
            why = f"`{text}` does not hold" if not truth else f"`{text}` holds"
            self._aside(code, other, inside, expected, why)
        return self.merged(self.value(code, taken, inside, expected), expected) if taken is not None else Opaque("()")

    def _aside(self, code: Code, node: Node, frame: Frame, expected: Value | None, why: str) -> None:
        """Code that does not run here: its transfers are read, what they do together counts for nothing."""
        outside, self.ledger = self.ledger, EffectLedger()
        before, self.dead = self.dead, self.dead or why
        try:
            with self.walk.aside():
                self.value(code, node, frame.inside(frame.scope), expected)
        finally:
            outside.beside += [effect.site for effect in self.ledger.effects]
            self.ledger, self.dead = outside, before

    def _let_condition(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        given = node.child_by_field_name("value")
        value = self.value(code, given, frame, None) if given is not None else Unknown("")
        self.bind(code, node.child_by_field_name("pattern"), value, frame)
        return Opaque("bool")

    def _match_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        given, body = node.child_by_field_name("value"), node.child_by_field_name("body")
        value = self.value(code, given, frame, None) if given is not None else Unknown("")
        truth = truth_of(code.text(given), self.types.look(frame)) if given is not None else None
        value = Numbers.of(int(truth)) if truth is not None and not isinstance(value, Numbers) else value
        branches = []
        arms = self.built(code, body, frame) if body is not None else []
        chosen = _chosen(code, arms, value, self.types.look(frame))
        choices = self.arm_choices(code, given, arms, value, frame)
        for number, arm in enumerate(arms):
            inside = frame.inside(frame.scope)
            pattern, result = arm.child_by_field_name("pattern"), arm.child_by_field_name("value")
            if pattern is not None:
                self.bind(code, named(pattern)[0] if named(pattern) else None, value, inside)
            if result is not None and chosen is not None:
                if arm.id == chosen:
                    branches.append(self.merged(self.value(code, result, inside, expected), expected))
                elif not self.unrolling:
                    why = f"`{code.text(given)}` is another" if given is not None else "it is another arm"
                    self._aside(code, result, inside, expected, why)
            elif result is not None:
                with self.walk.chosen(choices[number]):
                    branches.append(self.branch(self.merged(self.value(code, result, inside, expected), expected)))
        return _first(branches)

    def _for_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        given, body = node.child_by_field_name("value"), node.child_by_field_name("body")
        inside = frame.inside(frame.scope)
        if given is None or body is None:
            return Opaque("()")
        each = self._each(code, given, frame)
        pattern, label = node.child_by_field_name("pattern"), _label_of(code, node)
        if self._is_empty(code.text(given), frame):
            self.bind(code, pattern, Unknown("a turn that there is none of"), inside)
            self._aside(code, body, inside, None, f"`{code.text(given)}` is empty")
            return Opaque("()")
        turns = self._one_by_one(code, body, each, pattern)
        if turns is not None:
            self.unrolling += 1
            with self.walk.within("loop", label):
                for one in turns:
                    if self.walk.dead:
                        break
                    own = frame.inside(frame.scope)
                    self.bind(code, pattern, one, own)
                    with self.walk.within("turn", label):
                        self.value(code, body, own, None)
                    self.unrolled += 1
            self.unrolling -= 1
            return Opaque("()")
        runs = isinstance(each, Sequence) and bool(each.count)
        none = None if runs else self.runs(code, node, given, frame)
        self.bind(code, pattern, self.moving(each.part if isinstance(each, Sequence) else each), inside)
        self._turns(code, body, inside, frame, label, none)
        return Opaque("()")

    def _one_by_one(self, code: Code, body: Node, each: Value, pattern: Node | None = None) -> tuple[Value, ...] | None:
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
        name = re.escape(pattern.text or b"") if pattern is not None and pattern.type == "identifier" else b""
        inner = re.search(_TURNED % (name, name), text) if name else None
        asks = _ASKS.search(text) is not None and not any(map(is_host, self.stack))
        return found if not plain or asks or inner is not None else None

    def _turns(self, code: Code, body: Node, inside: Frame, around: Frame, label: str, runs: WayChoice | None) -> None:
        """The body of a loop, once for all turns; `runs` where it may take none."""
        start, first = self.ledger.clock, len(self.ledger.effects)
        self.walk.outside.append(frozenset(map(id, around.locals.values())))
        self.walk.turns.append(self.serial)
        with self.walk.within("loop", label), self.walk.chosen(runs) if runs is not None else nullcontext():
            before = len(self.walk.exits)
            with self.walk.within("turn", label):
                self.value(code, body, inside, None)
            if len(self.walk.exits) > before:
                self.ledger.stopped(first)
        self.walk.outside.pop()
        self.walk.turns.pop()
        self.ledger.clock += 2
        self.ledger.repeat(start)

    def _while_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        inside = frame.inside(frame.scope)
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        label = _label_of(code, node)
        counted = self._counted(code, node, frame)
        if condition is not None:
            self.value(code, condition, inside, None)
        if body is None:
            return Opaque("()")
        if counted is None and self._by_turns(code, node, frame, label):
            return Opaque("()")
        if counted is None:
            runs = self.runs(code, node, condition, frame)
            self._turns(code, body, inside, frame, label, runs)
            return Opaque("()")
        name, numbers = counted
        turns = self._one_by_one(code, body, range_of(numbers))
        for one in turns or ():
            own = frame.inside(frame.scope)
            own.locals[name] = one
            self.unrolling += 1
            with self.walk.within("turn", label):
                self.value(code, body, own, None)
            self.unrolling, self.unrolled = self.unrolling - 1, self.unrolled + 1
        if turns is None:
            inside.locals[name] = self.moving(numbers)
            self._turns(code, body, inside, frame, label, None)
        return Opaque("()")

    def _counted(self, code: Code, node: Node, frame: Frame) -> tuple[str, Numbers] | None:
        """`while i < n { ..; i += k }`: the counter and its values, where it begins at a known number and nothing else
        changes it.
        """
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        asked = _BELOW.fullmatch(code.text(condition)) if condition is not None else None
        if asked is None or body is None:
            return None
        name, start = asked[1], self.begins(code, node, asked[1], frame)
        bound = number_of(asked[3], self.types.look(frame))
        own = [one for one in named(body) if one.type not in ITEMS]
        steps = re.findall(rf"\b{name}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)", code.text(body))
        last = re.fullmatch(rf"{name}\s*\+=\s*(.+?);?", code.text(own[-1]).strip()) if own else None
        step = number_of(last[1], self.types.look(frame)) if last is not None and len(steps) == 1 else None
        if start is None or bound is None or bound.single is None or step is None or (step.single or 0) < 1:
            return None
        high = bound.low - (0 if asked[2] == "<=" else 1)
        if high < start.low or _LEAVES.search(body.text or b""):
            return None
        return name, Numbers(start.low, high - (high - start.low) % step.low, step.low if high > start.low else 0)

    def _loop_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        body = node.child_by_field_name("body")
        if body is not None and not self._by_turns(code, node, frame, _label_of(code, node)):
            self._turns(code, body, frame.inside(frame.scope), frame, _label_of(code, node), None)
        return Opaque("")

    def _by_turns(self, code: Code, node: Node, frame: Frame, label: str) -> bool:
        """Reads a `while` or `loop` turn by turn, where what its body changes begins at known numbers and is changed
        in every turn alike; whether it came to an end.
        """
        body, condition = node.child_by_field_name("body"), node.child_by_field_name("condition")
        counts = self._counters(code, node, body, frame) if body is not None else None
        if body is None or not counts or not _MOVES.search(body.text or b""):
            return False
        first, ended, before = len(self.ledger.effects), False, self.live
        self.live, self.unrolling = dict(counts), self.unrolling + 1
        with self.walk.within("loop", label):
            for _ in range(min(MAX_TURNS, MAX_UNROLLED - self.unrolled)):
                own = frame.inside(frame.scope)
                own.locals.update({name: value for name, value in self.live.items() if value is not None})
                truth = truth_of(code.text(condition), self.types.look(own)) if condition is not None else True
                ended = truth is False or self.walk.dead
                if truth is not True or ended or None in self.live.values():
                    break
                self.unrolled += 1
                with self.walk.within("turn", label):
                    self.value(code, body, own, None)
        self.live, self.unrolling = before, self.unrolling - 1
        if not ended:
            self.ledger.stopped(first)
        return ended

    def begins(self, code: Code, node: Node, name: str, frame: Frame) -> Numbers | None:
        """What a variable that changes is when a loop begins: the number of its `let mut`, where nothing changes it in
        between and no other loop stands around that one alone.
        """
        start = self.counters.get(id(frame.locals.get(name)))
        made = [hit.end() for hit in re.finditer(rb"\blet\s+mut\s+%s\b" % name.encode(), code.data[: node.start_byte])]
        if start is None or not made:
            return None
        between = code.data[made[-1] : node.start_byte].decode("utf-8", "replace")
        if re.search(rf"&\s*mut\s+{name}\b", between + code.text(node)):
            return None
        depths = accumulate((sign == "{") - (sign == "}") for sign in between)
        if any(hit[1] == name for hit in _CHANGES.finditer(between)) or min(depths, default=0) < 0:
            return None
        around = node.parent
        while around is not None and around.start_byte > made[-1]:
            if around.type in ("for_expression", "while_expression", "loop_expression", "closure_expression"):
                return None
            around = around.parent
        return start

    def _counters(self, code: Code, node: Node, body: Node, frame: Frame) -> dict[str, Numbers | None] | None:
        """The numbers that a body changes, with what they begin with; None where one is changed on some ways only."""
        found: dict[str, Numbers | None] = {}
        text = code.text(body)
        every = [hit[1] for hit in _CHANGES.finditer(text)]
        plain = [_CHANGES.match(code.text(one).lstrip()) for one in named(body)]
        for name in dict.fromkeys(every):
            start = self.begins(code, node, name, frame)
            if start is not None:
                if every.count(name) != sum(1 for hit in plain if hit is not None and hit[1] == name):
                    return None
                found[name] = start
        return found

    def changed(self, name: str, text: str, frame: Frame) -> None:
        """`i += 1`, `i = j`: a number that a loop is read by."""
        turn = next((number for number, kind, _ in reversed(self.walk.scopes) if kind == "turn"), -1)
        left = any(scope == turn for scope, _ in self.walk.exits) and not self.walk.dead
        value = number_of(text, self.types.look(frame)) if not left else None
        self.live[name] = value if value is not None and value.single is not None else None
        frame.locals[name] = self.live[name] or Unknown("a variable that changes")

    def _is_empty(self, text: str, frame: Frame) -> bool:
        """Whether a range certainly has no value."""
        parts = _RANGE.match(text.strip())
        if parts is None or not parts[3].strip():
            return False
        low, high = (number_of(part or "0", self.types.look(frame)) for part in (parts[1], parts[3]))
        return low is not None and high is not None and low.low >= high.high + bool(parts[2])

    # ------------------------------------------------------------ choices

    def asserted(self, code: Code, called: str, text: str, byte: int, frame: Frame) -> None:
        """`assert!(c)`: nothing behind it runs where the condition does not hold."""
        parts = split_top(text, ",")
        sign = {"assert_eq": "==", "assert_ne": "!="}.get(called.removeprefix("debug_"))
        asked = parts[0].strip() if sign is None or len(parts) < 2 else f"{parts[0].strip()} {sign} {parts[1].strip()}"
        if truth_of(asked, self.types.look(frame)) is True:
            return
        again, tree = parse_fragment(code, asked, byte, "fn f(){g(", ");}")
        given = next((one for one in walk(tree) if one.type == "arguments"), None)
        inner = named(given) if given is not None else []
        if len(inner) == 1:
            with self.walk.chosen(self.choices(again, inner[0], frame)[1]):
                self.walk.leave("program")

    def choices(self, code: Code, condition: Node, frame: Frame) -> tuple[WayChoice, WayChoice]:
        """The two arms of a condition. Conditions of one text over the same values are one decision."""
        text, turned = _plainly(" ".join(code.text(condition).split()))
        values, pure = self._asks(text, condition, frame)
        names = (f"`{text}` holds", f"`{text}` does not hold")
        about = frozenset(id(v) for v in values if pure and id(v) in self.free and _both_ways(text))
        loose = self.walk.loose(values) or (bool(self.walk.outside) and not pure)
        key = self._decision(text, values, pure)
        first, second = (WayChoice(key, arm, 2, names, frozenset() if loose else about, loose) for arm in (0, 1))
        return (second, first) if turned else (first, second)

    def arm_choices(
        self, code: Code, given: Node | None, arms: list[Node], value: Value, frame: Frame
    ) -> list[WayChoice]:
        """The arms of a `match`."""
        text = " ".join(code.text(given).split()) if given is not None else ""
        values, pure = self._asks(text, given, frame) if given is not None else ([], False)
        patterns = [one.child_by_field_name("pattern") for one in arms]
        told = [" ".join(code.text(one).split()) if one is not None else "_" for one in patterns]
        plainly = all(_LITERALS.fullmatch(one) or one in ("_", "true", "false") for one in told)
        loose = self.walk.loose(values) or (bool(self.walk.outside) and not pure)
        free = pure and plainly and not loose and id(value) in self.free and len(set(told)) == len(told)
        key = self._decision(f"match {text}", values, pure)
        names = tuple(f"`{text}` is " + ("none of the others" if one == "_" else f"`{one}`") for one in told)
        about = frozenset((id(value),)) if free else frozenset()
        return [WayChoice(key, number, len(arms), names, about, loose) for number in range(len(arms))]

    def runs(self, code: Code, node: Node, given: Node | None, frame: Frame) -> WayChoice:
        """That a loop takes a turn, where it may take none."""
        text = " ".join(code.text(given).split()) if given is not None else ""
        line = code.span(node).line
        values, pure = self._asks(text, given, frame) if given is not None else ([], False)
        counts = node.type == "for_expression" and re.fullmatch(r"\d+\s*\.\.\s*[a-z_]\w*", text)
        begins = _BELOW.fullmatch(text) if node.type == "while_expression" else None
        if begins is not None and self.begins(code, node, begins[1], frame) is not None:
            bound = frame.locals.get(begins[3].strip())
            about = frozenset((id(bound),)) if id(bound) in self.free and begins[2] == "<" else frozenset()
        else:
            about = frozenset(id(v) for v in values if pure and counts and id(v) in self.free)
        loose = self.walk.loose(values) or (bool(self.walk.outside) and not pure)
        names = (f"the loop in line {line} takes a turn", f"the loop in line {line} takes no turn")
        key = self._decision(f"for {text}", values, pure and node.type == "for_expression")
        return WayChoice(key, 0, 2, names, frozenset() if loose else about, loose)

    def _asks(self, text: str, node: Node, frame: Frame) -> tuple[list[Value], bool]:
        """The variables that a condition names, and whether it says the same wherever it stands."""
        words = list(dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text)))
        values = [frame.locals[word] for word in words if word in frame.locals]
        around = self.item.code.data if self.item is not None else b""
        changes = any(re.search(rb"\bmut\s+" + word.encode() + rb"\b", around) for word in words)
        pure = _PURE.fullmatch(text) is not None and node.type not in ("let_condition", "let_chain") and not changes
        return values, pure

    def _decision(self, text: str, values: list[Value], pure: bool) -> str:
        self.kept += values
        self.serial += 1
        return f"{text} {list(map(id, values))}" if pure else f"{text} #{self.serial}"

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
        with self.walk.perhaps():
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
        with self.walk.within("function"):
            return self.value(code, body, inside, expected) if body is not None else Unknown("")


def _label_of(code: Code, node: Node) -> str:
    found = next((one for one in node.children if one.type == "label"), None)
    return code.text(found) if found is not None else ""


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


def _chosen(code: Code, arms: list[Node], value: Value, look: Look) -> int | None:
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
    parts = _RANGE.match(pattern)
    if parts is None:
        one = number_of(pattern, look)
        return None if one is None or one.single is None else one.low == value
    low, high = (number_of(part, look) if part.strip() else Numbers.of(value) for part in (parts[1], parts[3]))
    if low is None or high is None:
        return None
    return low.low <= value and (value <= high.low if parts[2] or not parts[3].strip() else value < high.low)


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
