"""Cycles that no transfers with some beats and bursts can beat on a back-end whose sides are not coupled.

Knows: totals of both sides, what binds. Does not know: lists of transfers, plan files.
Law: no bound is above `decoupled.cycles_apart` of any transfers with these totals.
"""

from __future__ import annotations

from dmaverify.cost.model import Term
from dmaverify.machines.idma.decoupled import READ_ACROSS, Apart, is_measured
from dmaverify.machines.idma.engine import Backend
from dmaverify.machines.idma.law import MEASURED, MemorySystem
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class ApartTotals:
    """What a lower bound needs to know of both sides: beats and bursts, at least."""

    read_beats: int
    write_beats: int
    reads: int
    writes: int


def bounds_apart(totals: ApartTotals, backend: Backend, memory: MemorySystem, protocols: tuple[int, int]) -> list[Term]:
    """Cycles that no transfers with these totals can beat, one a cause, the largest first.

    Of every N-th burst each waits for the one before: the longest of N such chains has at least an N-th of what all
    bursts take.
    """
    law = Apart(backend, memory, protocols)
    read, write = law.latency
    source = MEASURED if is_measured(*protocols) else READ_ACROSS

    def chain(each: int, bursts: int, beats: int, slots: int) -> int:
        return -(-(bursts * each + beats) // slots)

    asked = chain(read, totals.reads, totals.read_beats, law.slots)
    sooner = max(0, write - read)  # the first of a chain waits for its data alone
    kept = chain(write + 1, totals.writes, totals.write_beats, law.metadata) - sooner
    found = [
        Term("read data", totals.read_beats + read + write + 2, "read port",
             f"{totals.read_beats:,} beats, one a cycle", source),
        Term("write data", totals.write_beats + read + write + 2, "write port",
             f"{totals.write_beats:,} beats, one a cycle", source),
        Term("outstanding requests", asked + write + 2, "request slots",
             f"{law.slots} read bursts under way, each for {read} cycles of latency and its beats", source),
        Term("metadata", kept + write + 1, "write metadata",
             f"{law.metadata} write bursts until their response; system_depth lifts it", source),
    ]  # fmt: skip
    if law.several:
        cycles = chain(write + 1, totals.writes, totals.write_beats, law.slots + 1) - sooner + write + 1
        why = f"{law.slots} write bursts remembered until their response, as there are several write ports"
        found.append(Term("responses", cycles, "response slots", why, source))
    cycles = chain(read, totals.reads, totals.read_beats, memory.outstanding) + write + 2
    if law.obi:
        cycles = max(cycles, chain(write + 1, totals.writes, 0, memory.outstanding) + read + 1)
    says = f"the memory tracks {memory.outstanding} requests a port"
    found.append(Term("memory requests", cycles, memory.name, says, source))
    return sorted(found, key=lambda term: -term.cycles)
