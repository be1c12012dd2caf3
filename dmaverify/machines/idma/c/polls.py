"""Loops that wait for launches: over the id completed last of a register front-end, or over its busy flags.

Knows: conditions of loops and what they say of launches, what was launched. Does not know: descriptors, rules.
Law: behind a loop that does nothing but to ask, a launch is complete where each way out of the loop says so.
"""

from __future__ import annotations

from typing import Any

from dmaverify.machines.idma.c.accesses import RegisterReader
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.effects import SETS, becomes, called_name, deep, jumps, macro_at
from dmaverify.machines.idma.c.reports import CompletedLaunches, truth_of
from dmaverify.machines.idma.text import ToldDescriptor


class PollReader(RegisterReader):
    """Follows loops that ask the engine."""

    told: list[ToldDescriptor]
    partly: list[tuple[int, int]]
    until: list[tuple[int, int]]

    def polled(self, condition: Part | None, body: Part | None, update: Part | None) -> bool:
        if not self.told or condition is None or update is not None or not self.waits_only(condition, body):
            return False
        grown: list[list[Any]] = [self.told, self.doubts, self.facts]
        before = [len(one) for one in grown]
        found = truth_of(self.truth(condition).report)
        launches = len(self.told) > before[0]
        for one, many in zip(grown, before, strict=True):
            del one[many:]
        if launches or found is None or found.when or self._channel_of(found) != found.channel:
            return False
        if found.launch is None and any(one.channel == found.channel for one in self.told[found.behind :]):
            return False  # flags that were read before it was launched
        if body is not None:
            self.disturbed(body)
            self.forgotten(body, "a loop that waits")
        if found.wraps and not self.sole:
            self.conditions[f"ids of launches are below 2^31 where `{condition}` compares them"] = None
        if found.launch is not None:
            self.settled(found.launch)
        else:
            self.conditions[f"`{condition}` ends only where its channel has nothing left to do"] = None
            self.partly.append((len(self.told), found.channel))
        return True

    def _channel_of(self, found: CompletedLaunches) -> int:
        return self.told[found.launch].channel if found.launch is not None else found.channel

    def settled(self, number: int) -> None:
        """A launch is complete, and with it all before it on its channel."""
        at, channel = len(self.told), self.told[number].channel
        if any(one.channel == channel for one in self.told[number + 1 :]):
            self.until.append((at, number))
        elif (at, channel) not in self.partly:
            self.partly.append((at, channel))

    def waits_only(self, condition: Part, body: Part | None) -> bool:
        """Whether a loop sets nothing, goes nowhere and launches nothing."""
        if self.sets(condition) or self.launches(condition):
            return False
        return body is None or not (self.sets(body) or jumps(self.file, body) - {"continue"} or self.launches(body))

    def sets(self, part: Part, deeper: int = 4) -> bool:
        """Whether a part sets something, or may: itself, in macros or in functions of the file."""
        for one in deep(self.file, part):
            name = called_name(self.file, one) if one.type == "call_expression" else ""
            function = self.file.functions.get(name)
            if one.type in SETS or (function is not None and (not deeper or self.sets(function, deeper - 1))):
                return True
            if macro_at(self.file, one) is not None and becomes(self.file, one, statement=True) is None:
                return True
        return False
