"""What a cost comes from: the facts of both sides, which resource binds, and what would lift it.

Knows: the terms of a cost, the facts of both sides (`side_facts`), what lifts a bound (`lifting`).
Does not know: how it is printed, mappings, axes.
Law: every number follows from the commands alone; advice is what would lift the dearest bound, or one near it where
the dearer ones can be lifted too.

Source: docs/design.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from dmaverify.cost.changed import IN_ALL
from dmaverify.cost.constants import CostData, stated
from dmaverify.cost.lifting import Behind, PricedCommands, behind_bounds, near
from dmaverify.cost.model import Cost, cost, engine_of
from dmaverify.cost.side_facts import SideFacts, side_facts
from dmaverify.program.command import Command
from dmaverify.values import asdict, dataclass


@dataclass(frozen=True)
class Explanation:
    """A cost, the facts of both sides, what binds, and what stands behind each bound, the dearest first."""

    cost: Cost
    engines: int
    commands: int
    binding: str
    because: str
    sides: tuple[SideFacts, ...]
    bounds: tuple[Behind, ...]

    @property
    def advice(self) -> list[str]:
        """What would lift the dearest bound, and then those near it, while each can be lifted, or lowers the whole by
        itself; and that the start-up costs more than any of them.
        """
        close = near(self.bounds)
        first = len(list(takewhile(lambda one: one.lift, close)))
        found = list(dict.fromkeys(one.lift for at, one in enumerate(close) if at < first or IN_ALL in one.lift))
        start = [term.cycles for term in self.cost.terms if term.name == "start-up"]
        others = [term.cycles for term in self.cost.terms if term.name != "start-up"]
        if start and others and max(start) > max(others):
            found.append("the start-up costs more than the requests: move more in one command")
        return found

    def as_data(self) -> dict[str, Any]:
        """JSON: the facts, the advice and the bounds."""
        return {
            "because": self.because, "engines_in_use": self.engines, "commands": self.commands,
            "sides": [asdict(side) for side in self.sides], "advice": self.advice,
            "bounds": [asdict(one) for one in self.bounds],
        }  # fmt: skip


def explain(commands: Sequence[Command], profile: CostData | str = "book") -> Explanation:
    """The cost of commands and where it comes from. Raises what `cost` raises."""
    data = stated(profile)
    result = cost(commands, data)
    reads, writes = [pair[0] for pair in result.sides], [pair[1] for pair in result.sides]
    facts = tuple(side_facts(sides, data) for sides in (reads, writes) if sides)
    overlapping = [term for term in result.terms if term.name != "start-up"]
    binding = max(overlapping, key=lambda term: term.cycles, default=None)
    return Explanation(
        result,
        len({engine_of(command) for command in commands}),
        len(commands),
        binding.name if binding is not None else "start-up",
        f"{binding.resource}: {binding.why}" if binding is not None else "no commands",
        facts,
        behind_bounds(facts, PricedCommands(result, tuple(commands), data)),
    )
