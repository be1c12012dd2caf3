"""Loops that wait for launches: over the id completed last of a register front-end, or over its busy flags.

Knows: conditions of loops and what they say of launches, what was launched. Does not know: descriptors, rules.
Law: behind a loop that does nothing but to ask, a launch is complete where each way out of the loop says so; what it
asks may go through variables that each round sets again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from dmaverify.machines.idma.c.accesses import RegisterReader
from dmaverify.machines.idma.c.arguments import Stopped, polynomial
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.effects import (
    DOES,
    ELEMENTS,
    JUMPS,
    SETS,
    bare,
    becomes,
    called_name,
    deep,
    jumps,
    macro_at,
    variable,
)
from dmaverify.machines.idma.c.numbers import BOOL, Value
from dmaverify.machines.idma.c.reports import CompletedLaunches, Report, truth_of
from dmaverify.machines.idma.text import ToldDescriptor


class PollReader(RegisterReader):
    """Follows loops that ask the engine."""

    told: list[ToldDescriptor]
    partly: list[tuple[int, int]]
    until: list[tuple[int, int]]
    stand: set[int]  # loops of which the round that runs stands for all others

    def polled(self, condition: Part | None, body: Part | None, update: Part | None) -> bool:
        again = self._read_again(condition, body)
        if not self.told or condition is None or update is not None or not self.waits_only(condition, body, again):
            return False
        found = self._said(condition, None)
        if found is None or (again and body is not None and self._said(condition, body) != found):
            return False
        if body is not None and not again:  # else it ran
            self.disturbed(body)
        for part in (condition, body) if again else (body,):
            if part is not None:
                self.forgotten(part, "a loop that waits")
        self._known(found, condition)
        return True

    def _known(self, found: CompletedLaunches, condition: Part) -> None:
        """What a condition says of launches is so from here on."""
        if found.wraps and not self.sole:
            self.conditions[f"ids of launches are below 2^31 where `{condition}` compares them"] = None
        if found.launch is not None:
            self.settled(found.launch)
        else:
            self.conditions[f"`{condition}` ends only where its channel has nothing left to do"] = None
            self._settled_channel(found.channel)

    def ended(self, condition: Part | None, body: Part | None) -> None:
        if condition is None or self.sets(condition) or self.launches(condition):
            return
        if body is None or "break" not in jumps(self.file, body):
            self.left_by(condition)

    def left_by(self, condition: Part) -> None:
        """A condition of a loop does not hold any more: what that says of launches is so."""
        found = self._said(condition, None)
        if found is not None:
            self._known(found, condition)

    def begins_again(self, whole: Part, condition: Part | None, body: Part | None) -> None:
        """A round that asked the engine, and launched nothing, did not end its loop. Where it left all as it was, later
        rounds come to what other runs of this one do; else one more, in which what rounds set is not known, stands for
        all of them. Raises Stopped behind those.
        """
        if self.arguments is None or self.launches(whole):
            return
        idles = self.waits_only(condition, body, ends=JUMPS[:3]) and not self._asks(whole)
        if idles or whole.raw.start in self.stand:
            raise Stopped(len(self.arguments.gone))
        if condition is None or not any(one.type in ("identifier", *DOES, *ELEMENTS) for one in condition.every()):
            self.stand.add(whole.raw.start)
            self.doubt(whole, "a loop that asks the engine")

    def _asks(self, part: Part) -> bool:
        """Whether a part asks others than the engine: functions of other files, or assembly."""
        every = [one for one in deep(self.file, part) if one.type in ("call_expression", "gnu_asm_expression")]
        called = [called_name(self.file, one) for one in every if macro_at(self.file, one) is None]
        own = (self.file.functions.get(name) for name in called)
        return any(one is None or self._asks(one) for one in own)

    def decided(self, condition: Part | None, value: Value, branches: list[Part]) -> bool | None:
        """A condition that nobody can decide goes either way, each in runs of its own: the one in which what the engine
        says is complete is complete there.
        """
        matters = value.report or any(self.launches(one) or jumps(self.file, one) for one in branches)
        if self.arguments is None or condition is None or not matters:
            return None
        number = self.given(condition, str(bare(condition)), BOOL, value.why).number
        if number is None:
            return None
        way, poly = bool(number), polynomial(number)
        asks = self.learned(condition, value, way)
        self.asks += asks
        local = self.scopes[1 if self.stack > 1 else 2 :]
        if poly is not None and (asks or any(str(one) in scope for scope in local for one in condition.every())):
            self.arguments.symbols.unpromised |= poly.symbols
        return way

    def learned(self, condition: Part, value: Value, way: bool) -> bool:
        """Takes to be so what the engine says where a condition goes one way; whether it was asked."""
        found = [*self._parts_say(condition, way)] if self._only_reads(condition) else [(value.report, way)]
        for report, holds in found:
            said = truth_of(report)
            if said is not None and holds == said.when and self._stands(said):
                self._known(said, condition)
            elif said is None or holds == said.when:
                self.may_wait(condition, f"the condition {condition}")
        return any(report for report, _ in found)

    def _only_reads(self, part: Part) -> bool:
        """Whether an expression may be looked at again, part by part."""
        called = [one for one in deep(self.file, part) if one.type == "call_expression"]
        return not self.sets(part) and all(macro_at(self.file, one) is not None for one in called)

    def _parts_say(self, part: Part, way: bool) -> Iterator[tuple[Report | None, bool]]:
        """What the parts of a condition say that are so, or not, where it goes one way."""
        part = bare(part) or part
        op = part.node.child_by_field_name("operator")
        sign = op.type if op is not None and part.type in ("binary_expression", "unary_expression") else ""
        inner = [part.field(name) for name in ("left", "right", "argument")]
        if sign == "!" or (sign == "&&" and way) or (sign == "||" and not way):
            for one in inner:
                yield from self._parts_say(one, way != (sign == "!")) if one is not None else ()
        else:
            yield self.truth(part).report, way

    def _said(self, condition: Part, body: Part | None) -> CompletedLaunches | None:
        """What the end of a loop says, by a condition that holds for all launches so far; behind a round of `body`."""
        grown: list[list[Any]] = [self.told, self.doubts, self.facts]
        before = [len(one) for one in grown]
        on = body is None or self._round(body, body)
        found = truth_of(self.truth(condition).report) if on else None
        launches = len(self.told) > before[0]
        for one, many in zip(grown, before, strict=True):
            del one[many:]
        return None if launches or found is None or found.when or not self._stands(found) else found

    def _stands(self, found: CompletedLaunches) -> bool:
        """Whether what is said of launches holds of those of its channel so far."""
        if found.launch is not None:
            return self.told[found.launch].channel == found.channel
        later = self.told[found.behind :]  # than flags were read
        return all(one.channel != found.channel for one in later)

    def settled(self, number: int) -> None:
        """A launch is complete, and with it all before it on its channel."""
        channel = self.told[number].channel
        if any(one.channel == channel for one in self.told[number + 1 :]):
            self.until.append((len(self.told), number))
        else:
            self._settled_channel(channel)

    def _settled_channel(self, channel: int) -> None:
        """All that a channel has so far is complete."""
        if (len(self.told), channel) not in self.partly:
            self.partly.append((len(self.told), channel))

    def waits_only(
        self, condition: Part | None, body: Part | None, again: frozenset[str] = frozenset(),
        ends: Collection[str] = ("continue",),
    ) -> bool:  # fmt: skip
        """Whether a loop sets nothing but the variables that it reads `again`, launches nothing, and goes nowhere but
        as it may end.
        """
        return not any(
            self.sets(part, again) or self.launches(part) or jumps(self.file, part).difference(ends)
            for part in (condition, body)
            if part is not None
        )

    def _read_again(self, *parts: Part | None) -> frozenset[str]:
        """Variables of the function that a loop sets, each to what hangs on none of them; none where it sets more."""
        every = [one for part in parts if part is not None for one in deep(self.file, part) if one.type in SETS]
        names = frozenset(variable(self.file, one) for one in every)
        for one in every:
            op, right = one.node.child_by_field_name("operator"), one.field("right")
            held = [scope for scope in self.scopes[1:] if variable(self.file, one) in scope]
            own = held and not any(name in self.exposed or f"moving {name}" in held[-1] for name in names)
            if not own or op is None or op.type != "=" or right is None:
                return frozenset()
            if names & {str(inner) for inner in deep(self.file, right)}:
                return frozenset()
        return names

    def sets(self, part: Part, again: frozenset[str] = frozenset(), deeper: int = 4) -> bool:
        """Whether a part sets something else, or may: itself, in macros or in functions of the file."""
        for one in deep(self.file, part):
            name = called_name(self.file, one) if one.type == "call_expression" else ""
            function = self.file.functions.get(name)
            if one.type in SETS and variable(self.file, one) not in again:
                return True
            if function is not None and (not deeper or self.sets(function, deeper=deeper - 1)):
                return True
            if macro_at(self.file, one) is not None and becomes(self.file, one, statement=True) is None:
                return True
        return False
