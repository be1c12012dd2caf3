"""Bus utilization over fragment size and outstanding requests: the paper's figure 14 in numbers of the law.

Knows: the sweep of the paper, its memory systems. Does not know: pictures.
Law: every point is the law on the bursts of the copy, coupled or not; none is interpolated.

Source: iDMA paper, 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.machines.idma.decoupled import copied, copied_apart
from dmaverify.machines.idma.engine import AXI, Backend
from dmaverify.machines.idma.law import (
    HBM,
    RPC_DRAM,
    SRAM,
    MemorySystem,
    protocol_of,
    utilization,
)
from dmaverify.values import dataclass, replace

FRAGMENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
OUTSTANDING = (2, 4, 8, 16, 32, 64)
SYSTEMS = (SRAM, RPC_DRAM, HBM)
TOTAL = 65536


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One copy: `share` of the bus used."""

    memory: str
    outstanding: int
    fragment: int
    cycles: int
    share: float


def sweep(
    backend: Backend, *, memories: Sequence[MemorySystem] = SYSTEMS, sizes: Sequence[int] = FRAGMENTS,
    outstanding: Sequence[int] = OUTSTANDING, total: int = TOTAL, src: int = 0, dst: int = 0x100000,
    decoupled: bool = False,
) -> list[SweepPoint]:  # fmt: skip
    """Every combination, in the order memory, outstanding, fragment. `total` bytes from `src` to `dst`."""
    points = []
    ports = protocol_of(backend.variant.reads), protocol_of(backend.variant.writes)
    for memory in memories:
        for count in outstanding:
            own = replace(backend, ax_in_flight=count)
            for size in sizes:
                if decoupled or ports != (AXI, AXI):
                    cycles = copied_apart(own, memory, ports, (src, dst, total), size)
                else:
                    cycles = copied(own, memory, (src, dst, total), size)
                points.append(SweepPoint(memory.name, count, size, cycles, utilization(total, backend.word, cycles)))
    return points
