"""A cost from data alone: start-ups and beats, for machines whose data states no memory system.

Knows: `[cost.simple]` of a target: cycles that a command waits at first, bytes that each memory moves in a cycle.
Does not know: channels, banks, rows, contention; a machine that has them has a model of its own.
Law: a packet takes whole beats on each side, both sides overlap, commands of one engine follow each other, engines work
side by side; the order of loops changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.cost.model import Cost, EngineCost, Term
from dmaverify.errors import InputError, Span
from dmaverify.program.command import Command, Engine
from dmaverify.targets.target import Target
from dmaverify.values import dataclass

MOST = 1 << 53
"""What a number of cycles or bytes is below: a float counts up to it."""


@dataclass(frozen=True, slots=True)
class SimpleCost:
    """The numbers of `[cost.simple]`: start-up in cycles, bytes a cycle by tier, where they come from."""

    startup: float
    beat_bytes: Mapping[str, int]
    source: str
    basis: str
    of: str

    def beat(self, tier: str, span: Span | None = None) -> int:
        """Bytes a cycle of a tier. Raises InputError for a tier without a rate."""
        if tier in self.beat_bytes:
            return self.beat_bytes[tier]
        raise InputError(
            f"{self.of} states no bytes a cycle of {tier}", span, f"[cost.simple]: beat_bytes = {{ {tier} = 32 }}"
        )


def simple_cost(target: Target) -> SimpleCost | None:
    """The simple model of a target; None where its data has none. Raises InputError for data that says too little."""
    table: Any = target.raw.get("cost", {}).get("simple")
    if table is None:
        return None
    stated: dict[str, Any] = table if isinstance(table, dict) else {}
    startup, beats = stated.get("startup", -1), stated.get("beat_bytes", [])
    good = type(startup) in (int, float) and 0 <= startup < MOST and isinstance(beats, dict)
    if not good or not all(type(n) is int and 0 < n < MOST for n in beats.values()):
        raise InputError(
            f"{target.name}: [cost.simple] needs `startup` in cycles and `beat_bytes`, bytes a cycle by tier",
            None,
            "startup = 100, beat_bytes = { gm = 32, ub = 32 }, source, basis",
        )
    return SimpleCost(float(startup), beats, str(stated.get("source", "")), str(stated.get("basis", "")), target.name)


def price(commands: Sequence[Command], data: SimpleCost) -> Cost:
    """The cost of commands in cycles. Raises InputError for a tier without a rate."""
    engines: dict[Engine, list[tuple[float, float]]] = defaultdict(list)
    for command in commands:
        sides = []
        for port in (command.read, command.write):
            piece = min(command.packet, command.burst)
            packet_bytes = -(-piece * command.unit_bits // 8)
            sides.append(float(command.amount // piece * -(-packet_bytes // data.beat(port.tier, command.span))))
        engines[command.engine or Engine()].append((sides[0], sides[1]))
    alone = {e: sum(data.startup + max(pair) for pair in own) for e, own in engines.items()}
    slowest = max(alone, key=lambda e: alone[e], default=Engine())
    own = engines.get(slowest, [])
    terms = [Term("start-up", data.startup * len(own), "engine", f"{len(own)} commands in sequence", data.source)]
    for index, name in enumerate(("read", "write")):
        cycles = sum(pair[index] for pair in own)
        terms.append(Term(f"{name} beats", cycles, "engine", "every packet in whole beats", data.source))
    terms[1:] = sorted(terms[1:], key=lambda term: -term.cycles)
    binding = max(terms, key=lambda term: term.cycles).name
    costs = tuple(EngineCost(e, len(engines[e]), alone[e]) for e in sorted(alone, key=str))
    return Cost(max(alone.values(), default=0.0), tuple(terms), False, binding, "simple", costs)
