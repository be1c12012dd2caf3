"""What a Fetch or Commit access costs, and what two of them cost beside each other at the banks of data memory.

Knows: the size of one access to memory, packets of a stream, which banks an access touches.
Does not know: the terminal, plan files.
Law: the cycles are the least that the documents give: one memory access a cycle, and no fewer than one a packet.

Source: "Sequencer" (fetch_size, minimum number of fetch cycles), "Memory Performance" (Main/sub-context contention).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.errors import InputError
from dmaverify.lower.adapters import access_facts, bank_bytes
from dmaverify.program.access import Access
from dmaverify.program.command import Command
from dmaverify.targets.target import Target
from dmaverify.values import dataclass

SOURCE = "Sequencer, Configuration (fetch_size, minimum number of fetch cycles)"


@dataclass(frozen=True, slots=True)
class AccessPrice:
    """Cycles of one access of a slice; all slices run it at once."""

    name: str
    engine: str
    context: str
    packets: int
    packet_bytes: int
    access_bytes: int
    cycles: int

    def as_data(self) -> dict[str, Any]:
        return {
            "name": self.name, "kind": "access", "cycles": float(self.cycles), "engine": self.engine,
            "context": self.context, "packets": self.packets, "packet_bytes": self.packet_bytes,
            "access_bytes": self.access_bytes, "source": SOURCE,
        }  # fmt: skip

    def text(self) -> str:
        each = f"{self.packets:,} packets of {self.packet_bytes} B, {self.access_bytes} B of memory at once"
        whose = f"a {self.engine} of the {self.context} context"
        return f"{self.name}   {self.cycles:,}.0 cycles (at least), {whose}: {each}"


def access_price(access: Access, command: Command, target: Target) -> AccessPrice:
    """The price of an access with its command. Raises InputError where no access fits its packet."""
    bits = target.dtypes[access.dtype]
    facts = access_facts(command, access, bits)
    size = bank_bytes(command, access, bits)
    if size < 1:
        raise InputError(f"`{access.name}`: no access of whole bytes fits its packet", access.span)
    each = max(1, -(-facts["packet_bytes"] // size))
    packets = facts["time_size"]
    return AccessPrice(
        access.name, access.engine, access.context, packets, facts["packet_bytes"], size, packets * each
    )  # fmt: skip


def priced_access(access: Access, axes: Mapping[str, int], target: Target) -> AccessPrice:
    """The price of an access of a plan. Raises InputError where it makes no command."""
    from dmaverify.prove.flow.accesses.touches import access_command
    from dmaverify.prove.move.preconditions import require

    require(access, axes, target, access.problems)

    command = access_command(access, target.dtypes[access.dtype], target)
    if not isinstance(command, Command):
        raise InputError(command[0].message, command[0].span, command[0].hint)
    return access_price(access, command, target)


def banks_of(access: Access, command: Command, target: Target) -> frozenset[int]:
    """The banks that an access touches in a slice; none where its accesses are not of whole bytes."""
    from dmaverify.prove.flow.starvation.bank_runs import bank_runs
    from dmaverify.prove.flow.starvation.beside_dma import access_nest
    from dmaverify.prove.flow.starvation.starvation_limit import banks_from

    nest = access_nest(access, command, target.dtypes[access.dtype])
    if nest is None or not target.tiers[access.memory.tier].is_sliced:
        return frozenset()
    found = bank_runs(nest, banks_from(target.geometry)).lengths
    return frozenset(bank for bank, length in enumerate(found) if length)


Part = tuple[str, float, frozenset[int]]
"""Context, cycles and banks of a step."""


def contention_lines(parts: Mapping[str, Part], beside: Sequence[tuple[str, str]]) -> list[str]:
    """What main and sub steps that may run side by side cost together."""
    lines = []
    for one, other in beside:
        (context, cycles, banks), (rival, others, more) = parts[one], parts[other]
        if {context, rival} != {"main", "sub"}:
            continue
        shared, best = sorted(banks & more), max(cycles, others)
        if not shared:
            lines.append(f"  {one} and {other} touch other banks: {best:,.1f} cycles together")
            continue
        named = f"bank{'s' if len(shared) > 1 else ''} {', '.join(map(str, shared))}"
        worst = cycles + others
        lines.append(f"  {one} and {other} share {named}: {best:,.1f} to {worst:,.1f} cycles together, main first")
    return lines
