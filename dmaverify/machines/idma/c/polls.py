"""Loops that wait for launches: over the id completed last of a register front-end, or over its busy flags.

Knows: conditions of loops and what they say of launches, what was launched. Does not know: descriptors, rules.
Law: behind a loop that does nothing but to ask, a launch is complete where each way out of the loop says so; what it
asks may go through variables that each round sets again.
"""

from __future__ import annotations

from typing import Any

from dmaverify.machines.idma.c.accesses import RegisterReader
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.effects import SETS, becomes, called_name, deep, jumps, macro_at, variable
from dmaverify.machines.idma.c.reports import CompletedLaunches, truth_of
from dmaverify.machines.idma.text import ToldDescriptor


class PollReader(RegisterReader):
    """Follows loops that ask the engine."""

    told: list[ToldDescriptor]
    partly: list[tuple[int, int]]
    until: list[tuple[int, int]]

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
        if found.wraps and not self.sole:
            self.conditions[f"ids of launches are below 2^31 where `{condition}` compares them"] = None
        if found.launch is not None:
            self.settled(found.launch)
        else:
            self.conditions[f"`{condition}` ends only where its channel has nothing left to do"] = None
            self.partly.append((len(self.told), found.channel))
        return True

    def _said(self, condition: Part, body: Part | None) -> CompletedLaunches | None:
        """What the end of a loop says, by a condition that holds for all launches so far; behind a round of `body`."""
        grown: list[list[Any]] = [self.told, self.doubts, self.facts]
        before = [len(one) for one in grown]
        on = body is None or self._round(body, body)
        found = truth_of(self.truth(condition).report) if on else None
        launches = len(self.told) > before[0]
        for one, many in zip(grown, before, strict=True):
            del one[many:]
        if launches or found is None or found.when or self._channel_of(found) != found.channel:
            return None
        if found.launch is None and any(one.channel == found.channel for one in self.told[found.behind :]):
            return None  # flags that were read before it was launched
        return found

    def _channel_of(self, found: CompletedLaunches) -> int:
        return self.told[found.launch].channel if found.launch is not None else found.channel

    def settled(self, number: int) -> None:
        """A launch is complete, and with it all before it on its channel."""
        at, channel = len(self.told), self.told[number].channel
        if any(one.channel == channel for one in self.told[number + 1 :]):
            self.until.append((at, number))
        elif (at, channel) not in self.partly:
            self.partly.append((at, channel))

    def waits_only(self, condition: Part, body: Part | None, again: frozenset[str] = frozenset()) -> bool:
        """Whether a loop sets nothing but the variables that it reads `again`, goes nowhere and launches nothing."""
        if self.sets(condition, again) or self.launches(condition):
            return False
        if body is None:
            return True
        return not (self.sets(body, again) or jumps(self.file, body) - {"continue"} or self.launches(body))

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
