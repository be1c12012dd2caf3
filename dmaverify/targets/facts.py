"""What rules may speak of: scopes, and in each scope the ports, with their meaning and unit.

Knows: how a scope is stated: those of the core (`encodings/core/scopes.toml`, where each port has its meaning) as those
of a machine.
Does not know: machines, rules, which ports there are, and how one is computed.
Law: a rule may use the ports of its scope and the named limits of its target, nothing else. A new port is a row there
and the code that computes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dmaverify.targets.table import Table
from dmaverify.values import dataclass

SUM, DIVISOR, ELSE = "sum", "divisor", "else"


@dataclass(frozen=True, slots=True)
class Fact:
    """One port: `least` is the smallest value the core ever gives, or None where it may be negative. `moves`: how it
    follows the addresses of an iteration, where it does: it is a SUM, a DIVISOR of sums, or something ELSE of them.
    """

    name: str
    unit: str
    says: str
    least: int | None = 0
    moves: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """A kind of thing that rules are asked of, one by one (`says` which: each command, each tensor), and its ports.
    `sums`: every port that follows an address is a base plus strides, or divides such sums, so that the first steps and
    the ends of loops decide for all iterations.
    """

    name: str
    says: str
    ports: Mapping[str, Fact]
    sums: bool = True


def read_scope(name: str, table: Table, moving: bool = False) -> Scope:
    """A scope from its table; with `moving`, a port may say how it follows addresses. Raises InputError."""
    ports = table.table("port")
    facts = {}
    for port in ports.data:
        part = ports.table(port)
        least = part.integer("least") if "least" in part.data else None
        moves = part.choice("moves", (SUM, DIVISOR, ELSE), "") if moving else ""
        facts[port] = Fact(port, part.text("unit"), part.text("says"), least, moves)
        part.finish()
    scope = Scope(name, table.text("says"), MappingProxyType(facts), bool(table.integer("sums", 0)))
    table.finish()
    return scope


SIDES = ("read", "write")

WORDS: Mapping[str, str] = MappingProxyType(
    {
        "source_tier": "the source's tier",
        "dest_tier": "the destination's tier",
        "tier": "the tier of this side",
        "side": "read or write",
        "engine": "dma, fetch, commit, gather, scatter",
        "dtype": "the element type",
        "place": "the spot, in words",
    }
)
"""Texts that a message may show beside the ports; a predicate cannot use them."""
