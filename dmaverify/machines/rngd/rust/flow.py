"""Branches and loops: which turns a loop takes, which branch a condition chooses, what a closure gives.

Knows: ranges and lists, counters of `while`, `cfg!(..)`, conditions over constants, `match` on numbers.
Does not know: functions and blocks (`bodies`), what a tensor is.
Law: every branch and every body is visited. A loop whose values are a progression is visited once for all of them, any
other list turn by turn; code that does not run counts for nothing of what transfers do together.
"""

from __future__ import annotations

from collections.abc import Sequence as Choices
from contextlib import nullcontext
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.buffers import EffectLedger, tensors_in
from dmaverify.machines.rngd.rust.calls import MOVES
from dmaverify.machines.rngd.rust.cfg import holds
from dmaverify.machines.rngd.rust.code import child, label_of, named, places, range_at
from dmaverify.machines.rngd.rust.counters import CHANGES, MAX_TURNS, MAX_UNROLLED, Counters, below, breaks_of
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.integers import settled
from dmaverify.machines.rngd.rust.lists import joined, range_of
from dmaverify.machines.rngd.rust.numbers import truth_at
from dmaverify.machines.rngd.rust.patterns import chosen_arm
from dmaverify.machines.rngd.rust.values import (
    NUMERIC,
    Numbers,
    Opaque,
    Pending,
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
from dmaverify.program.ways import OnWay, WayChoice
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

ITEMS = {
    "line_comment", "block_comment", "attribute_item", "inner_attribute_item", "function_item", "struct_item",
    "enum_item", "type_item", "const_item", "static_item", "use_declaration", "impl_item", "trait_item", "mod_item",
    "union_item", "macro_definition", "empty_statement", "function_signature_item", "extern_crate_declaration",
    "lifetime", "label",
}  # fmt: skip


class ControlFlow(Counters):
    """The part of reading that knows branches, loops and closures; `Bodies` adds functions and blocks."""

    def _if_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        inside, condition = frame.inside(frame.scope), node.child_by_field_name("condition")
        if condition is None:
            return self._rest(code, node, frame)
        self.value(code, condition, inside, None)
        arms = [node.child_by_field_name(name) for name in ("consequence", "alternative")]
        text = " ".join(code.text(condition).split())
        asked = _asked_of_build(code, condition)
        built = holds(asked[0], frame.scope.module.features) if asked is not None else None
        truth = truth_at(code, condition, self.types.look(frame)) if not condition.type.startswith("let_") else None
        if asked is not None and built is not None:
            truth = built is not asked[1]
            off = arms[truth]
            if off is not None:
                self.leave_unbuilt(code.span(off), f"#[cfg({f'not({asked[0]})' if built else asked[0]})]")
            arms[truth] = None
        choices = self.choices(code, condition, frame) if truth is None else ()
        why = f"`{text}` holds" if truth else f"`{text}` does not hold"
        taken = None if truth is None else int(not truth)
        return self._arms(code, [(arm, inside) for arm in arms], taken, choices, expected, why)

    def _arms(
        self, code: Code, arms: list[tuple[Node | None, Frame]], taken: int | None, choices: Choices[WayChoice | OnWay],
        expected: Value | None, why: str,
    ) -> Value:  # fmt: skip
        """What the arms of a decision give. Where the one that is `taken` is known, the others are read by themselves,
        as another setting of the constants would have it, but not within a loop that is read turn by turn. An arm that
        nothing leaves by its end gives nothing.
        """
        branches: list[Value] = []
        passed = self.walk.dead
        for number, (arm, inside) in enumerate(arms):
            if arm is None:
                continue
            if taken is None:
                with self.walk.chosen(choices[number]):
                    made = self.merged(self.value(code, arm, inside, expected), expected)
                    self.ledger.give(made, self.walk.when, soft=True)  # it may be used from here on
                    branches += [] if self.walk.dead and not passed else [made]
            elif number == taken:
                branches.append(self.merged(self.value(code, arm, inside, expected), expected))
            elif not self.unrolling:
                self._aside(code, arm, inside, expected, why)
        one = next((made for made in branches if isinstance(made, RustTensor)), None)
        return self.any_branch([self.settled(made, one) for made in branches])

    def any_branch(self, branches: list[Value]) -> Value:
        """What one of several branches gives, and nobody knows which."""
        held = [{t.buffer.serial for t in tensors_in(one) if t.buffer is not None} for one in branches]
        if any(one != held[0] for one in held) or not all(isinstance(one, RustTensor) for one in branches):
            self.ledger.mix(branches if len(branches) > 1 else ())
        one = _first_of(branches)
        return replace(one) if id(one) in self.absent and len(branches) > 1 else one

    def _binary_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None or code.text(sign) not in ("&&", "||"):
            return self._rest(code, node, frame)
        deps = sources_of(self.value(code, left, frame, None))
        runs = self.choices(code, left, frame)[code.text(sign) == "||"]
        with self.walk.chosen(runs):
            return Opaque("bool", deps | sources_of(self.value(code, right, frame, None)))

    def _let_chain(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        first, *others = named(node)
        self.value(code, first, frame, None)
        with self.walk.perhaps():
            for one in others:
                self.value(code, one, frame, None)
        return Opaque("bool")

    def _async_block(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """It runs only where somebody waits for it."""
        waited = node.parent is not None and node.parent.type == "await_expression"
        with self.walk.within("function"), nullcontext() if waited else self.walk.perhaps():
            return self.value(code, named(node)[-1], frame, expected) if named(node) else Opaque("()")

    _gen_block = _async_block

    def _aside(self, code: Code, node: Node, frame: Frame, expected: Value | None, why: str) -> None:
        """Code that does not run here: its transfers are read, what they do together counts for nothing."""
        outside, self.ledger = self.ledger, EffectLedger()
        before, self.dead = self.dead, self.dead or why
        try:
            with self.walk.aside():
                self.value(code, node, frame.inside(frame.scope), expected)
        finally:
            outside.beside += [effect.site for effect in self.ledger.effects if effect.site.number >= 0]
            self.ledger, self.dead = outside, before

    def _let_condition(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        given = node.child_by_field_name("value")
        value = self.value(code, given, frame, None) if given is not None else Unknown("")
        value = self.known_as(code, given, value, frame) if given is not None else value
        self.bind(code, node.child_by_field_name("pattern"), value, frame)
        return Opaque("bool")

    def _match_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        given, body = node.child_by_field_name("value"), node.child_by_field_name("body")
        value = self.value(code, given, frame, None) if given is not None else Unknown("")
        value = self.known_as(code, given, value, frame) if given is not None else value
        told = self.built(code, body, frame) if body is not None else []
        arms, unsure = [one for one, _ in told], {one.id for one, condition in told if condition}
        flag = any(code.text(p) in ("true", "false") for one in arms if (p := one.child_by_field_name("pattern")))
        truth = truth_at(code, given, self.types.look(frame)) if given is not None and flag else None
        value = Numbers.of(int(truth)) if truth is not None and not isinstance(value, Numbers) else value
        value = value if not isinstance(value, Numbers) or settled(value) else Unknown("what may leave its type")
        chosen = chosen_arm(code, arms, value, self.types.look(frame), frame.scope)
        chosen = None if chosen in unsure else chosen  # another arm takes its number where a build does not have it
        read = []
        for arm in arms:
            inside, pattern = frame.inside(frame.scope), arm.child_by_field_name("pattern")
            if pattern is not None:
                own = value if chosen in (None, arm.id) else Unknown("a value that another arm takes")
                self.bind(code, named(pattern)[0] if named(pattern) else None, own, inside)
            read.append((arm.child_by_field_name("value"), inside))
        taken = next((number for number, arm in enumerate(arms) if arm.id == chosen), None)
        why = f"`{code.text(given)}` is another" if given is not None else "it is another arm"
        inner = [inside for _, inside in read]
        ways = self.arm_choices(code, given, arms, value, inner, sure=not unsure) if taken is None else []
        return self._arms(code, read, taken, ways, expected, why)

    def _for_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        given, body = node.child_by_field_name("value"), node.child_by_field_name("body")
        if given is None or body is None:
            return Opaque("()")
        each, pattern = self.each(code, given, frame), node.child_by_field_name("pattern")
        if self.is_empty(code, given, frame):
            inside = frame.inside(frame.scope)
            self.bind(code, pattern, Unknown("a turn that there is none of"), inside)
            self._aside(code, body, inside, None, f"`{code.text(given)}` is empty")
            return Opaque("()")
        none, ends = None, range_at(code, given)
        if not isinstance(each, Sequence) or not each.count:
            none = self.turn_choice(code, node, given, frame)
        self._over(code, node, each, pattern or "", frame, none)
        if ends is not None and ends.high is None and breaks_of(code, node) == []:
            self.stop()
        return Opaque("()")

    def _over(
        self, code: Code, node: Node, each: Value, pattern: Node | str, frame: Frame, runs: WayChoice | None
    ) -> None:
        """The body of a loop over values: turn by turn, or once for all of them."""
        body, label = node.child_by_field_name("body"), label_of(code, node)
        assert body is not None
        named_by = pattern if isinstance(pattern, str) else code.text(pattern) if pattern.type == "identifier" else ""

        def bound(one: Value) -> Frame:
            own = frame.inside(frame.scope)
            if isinstance(pattern, str):
                own.locals[pattern] = one
            else:
                self.bind(code, pattern, one, own)
            return own

        few = self.few(each) if MOVES.search(body.text or b"") else None
        counts = self.counters_of(code, node, body, frame) if few is not None else None
        turns = few if counts else self.one_by_one(code, body, each, frame, named_by)
        if turns is None:
            part = self.moving(each)
            self._turns(
                code, body, bound(part), frame, label, runs, each.count or 0 if isinstance(each, Sequence) else 0
            )
            return
        before, self.live, self.unrolling = self.live, {**self.live, **(counts or {})}, self.unrolling + 1
        with self.walk.within("loop", label):
            for one in turns:
                if self.walk.dead:
                    break
                own = bound(one)
                for name in counts or ():
                    own.locals[name] = self.live[name] or Unknown("a variable that changes")
                with self.walk.within("turn", label):
                    self.value(code, body, own, None)
                self.unrolled += 1
        self.live, self.unrolling = before, self.unrolling - 1

    def _turns(
        self, code: Code, body: Node, inside: Frame, around: Frame, label: str, runs: WayChoice | None,
        count: int = 0,
    ) -> list[OnWay]:  # fmt: skip
        """The body of a loop, once for all of its `count` turns (0: not known); `runs` where it may take none. Gives
        the ways on which it is left.
        """
        start, first = self.ledger.clock, len(self.ledger.effects)
        failed, when = len(self.walk.behind), self.walk.when
        self.changed_within(code, body, inside)
        self.walk.outside.append(frozenset(map(id, around.locals.values())))
        number = self.serial
        self.walk.turns[number] = count
        with self.walk.within("loop", label), self.walk.chosen(runs) if runs is not None else nullcontext():
            before = len(self.walk.exits)
            with self.walk.within("turn", label):
                self.value(code, body, inside, None)
            if any(scope for scope, _ in self.walk.exits[before:]):  # the loop alone: no run goes on behind a stop
                self.ledger.stopped(first)
            left = [one for scope, one in self.walk.exits if scope == self.walk.scopes[-1][0]]
        self.walk.outside.pop()
        del self.walk.turns[number]
        for one in self.walk.behind[failed:]:
            if one.exits == when.exits and not any(choice.loose for choice in one.path):
                self.stop(OnWay(one.path[len(when.path) :]))
        del self.walk.behind[failed:]
        self.ledger.clock += 2
        self.ledger.repeat(start)
        return left

    def _while_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        inside = frame.inside(frame.scope)
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        counted = self.counted(code, node, frame)
        if condition is not None:
            self.value(code, condition, inside, None)
        if body is None:
            return Opaque("()")
        if counted is not None:
            self._over(code, node, range_of(counted[1]), counted[0], frame, None)
        elif not self._by_turns(code, node, frame, label_of(code, node)):
            asked = below(code, condition) if condition is not None else None
            start = self.begins(code, node, asked[0], frame) if asked is not None and asked[1] == "<" else None
            counts = (asked[2], start.low) if asked is not None and start is not None else ()
            always = condition is not None and truth_at(code, condition, self.types.look(frame)) is True
            runs = None if always else self.turn_choice(code, node, condition, frame, *counts)
            self.serial += 1
            breaks = self._turns(code, body, inside, frame, label_of(code, node), runs)
            if always:
                self._ended_by(code, node, breaks)
        return Opaque("()")

    def _loop_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        body = node.child_by_field_name("body")
        if body is not None and not self._by_turns(code, node, frame, label_of(code, node)):
            self.serial += 1
            breaks = self._turns(code, body, frame.inside(frame.scope), frame, label_of(code, node), None)
            self._ended_by(code, node, breaks)
        return self.perhaps_something(Opaque(""))

    def _ended_by(self, code: Code, loop: Node, ways: Choices[OnWay]) -> None:
        """Nothing runs behind a loop without a condition where no `break` is taken. Of a loop that changes what its
        turns ask it is taken for granted that one is.
        """
        breaks = breaks_of(code, loop)
        changes = any(one.type in CHANGES for one in walk(loop)) and any(one.loose for one in ways)
        if breaks is not None and (not breaks or (ways and not changes)):
            self.stop(OnWay((), tuple(ways)))

    def _by_turns(self, code: Code, node: Node, frame: Frame, label: str) -> bool:
        """Reads a `while` or `loop` turn by turn, where what its body changes begins at known numbers and is changed
        in every turn alike; whether it came to an end.
        """
        body, condition = node.child_by_field_name("body"), node.child_by_field_name("condition")
        counts = self.counters_of(code, node, body, frame) if body is not None else None
        if body is None or not counts or not MOVES.search(body.text or b""):
            return False
        first, ended, before = len(self.ledger.effects), False, self.live
        self.live, self.unrolling = dict(counts), self.unrolling + 1
        with self.walk.within("loop", label):
            for _ in range(min(MAX_TURNS, MAX_UNROLLED - self.unrolled)):
                own = frame.inside(frame.scope)
                own.locals.update({name: value for name, value in self.live.items() if value is not None})
                truth = truth_at(code, condition, self.types.look(own)) if condition is not None else True
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

    def _closure_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        with self.walk.perhaps():
            return self.closure(code, node, frame, Unknown("an argument of a closure"), expected)

    def closure(
        self, code: Code, node: Node, frame: Frame, given: Value | list[Value], expected: Value | None
    ) -> Value:
        """The result of a closure for arguments that are `given`: one by one, or alike."""
        inside = frame.inside(frame.scope)
        parameters, body, result = map(node.child_by_field_name, ("parameters", "body", "return_type"))
        expected = self.types.read(code, result, frame) if result is not None else expected
        if body is not None:
            self.changed_within(code, body, inside)
        for number, (one, _) in enumerate(places(parameters) if parameters is not None else ()):
            declared = one.child_by_field_name("type")
            own = given if not isinstance(given, list) else given[number] if number < len(given) else Unknown("")
            value = own if declared is None else self.typed(own, self.types.read(code, declared, frame))
            self.bind(code, one.child_by_field_name("pattern") or one, value, inside)
        before, self.returned, self.live, self.result = (self.returned, self.live, self.result), [], {}, expected
        try:
            with self.walk.within("function"):
                found = self.value(code, body, inside, expected) if body is not None else Unknown("")
            every = [found, *self.returned]
            for made in every if len(every) > 1 else ():
                self.ledger.give(made, self.walk.when, soft=True)
            return self.any_branch(every) if len(every) > 1 else found
        finally:
            self.returned, self.live, self.result = before


def _asked_of_build(code: Code, condition: Node) -> tuple[str, bool] | None:
    """(predicate, whether it is turned round) of a condition that is `cfg!(..)` alone."""
    turned = False
    while condition.type in ("unary_expression", "parenthesized_expression") and len(named(condition)) == 1:
        if condition.type == "unary_expression" and condition.children[0].type != "!":
            return None
        turned ^= condition.type == "unary_expression"
        condition = named(condition)[0]
    name, body = condition.child_by_field_name("macro"), child(condition, "token_tree")
    if condition.type != "macro_invocation" or name is None or body is None or code.text(name) != "cfg":
        return None
    return code.text(body)[1:-1].strip(), turned


def _is_empty(value: Value) -> bool:
    """Whether a branch beside one with tensors gives none: `None`, `Err(..)`, a variant without parts."""
    return isinstance(value, Opaque) and value.what in ("()", "None", "Err")


def _first_of(branches: list[Value]) -> Value:
    """The first branch that is a tensor or holds one, with what all of them depend on; numbers are any of them. What
    one of the branches gives that is not known may be another tensor.
    """
    best = next((b for b in branches if isinstance(b, (RustTensor, Tuple, Record, Sequence, Pending))), None)
    if best is None and any(isinstance(b, NUMERIC) for b in branches):
        one = joined(tuple(branches))
        return one if isinstance(one, NUMERIC) else Unknown("a number that depends on a condition")
    if best is None:
        return branches[0] if branches else Opaque("()")
    variant = isinstance(best, Record) and best.item.kind == "variant"
    if not variant and any(not isinstance(b, (type(best), Pending)) and not _is_empty(b) for b in branches):
        why = next((b for b in branches if isinstance(b, Unknown) and b.reason), None)
        return why or Unknown("one of the branches gives what is not known here")
    one = joined(tuple(b for b in branches if isinstance(b, type(best))))
    if isinstance(one, RustTensor):
        return replace(one, sources=frozenset().union(*map(sources_of, branches)))
    if not known(one) and isinstance(best, Record) and not variant:
        return Unknown("one of several structs")
    return one if known(one) else changing(best, Unknown("a number that depends on a condition"))
