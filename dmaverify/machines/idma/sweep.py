"""Bus utilization over fragment size and outstanding requests: the paper's figure 14 in numbers of the law.

Knows: the sweep of the paper, its memory systems. Does not know: pictures.
Law: every point is `law.exact` on the bursts of the copy, none is interpolated.

Source: iDMA paper, 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.machines.idma.engine import Backend
from dmaverify.machines.idma.law import HBM, RPC_DRAM, SRAM, Depth, MemorySystem, exact, fragments, utilization
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
) -> list[SweepPoint]:  # fmt: skip
    """Every combination, in the order memory, outstanding, fragment. `total` bytes from `src` to `dst`."""
    points = []
    bursts = {size: fragments(backend, src, dst, total, size) for size in sizes}
    for memory in memories:
        for count in outstanding:
            depth = Depth.of(replace(backend, ax_in_flight=count), memory)
            for size in sizes:
                cycles = exact(bursts[size], depth)
                points.append(SweepPoint(memory.name, count, size, cycles, utilization(total, backend.word, cycles)))
    return points
