"""ND requests: dimensions with repetitions and strides, as the engine counts them and as people think of them.

Knows: relative strides (jumps from the last 1D start), absolute strides (per index), the order of emission.
Does not know: bursts, registers, files.
Law: `relative(absolute(d)) == d` and back, for every dimension list whose repetitions are at least 1; the addresses of
`transfers` are base plus the sum of index times absolute stride, modulo the address space (proofs/idma-stride-*.smt2).

Source: iDMA paper, 2.2 (Tensor Mid-ends); iDMA v0.7.0, `idma_nd_midend`.

Relied on (proofs/): idma-stride-round, idma-stride-step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

from dmaverify.values import dataclass, replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dmaverify.machines.idma.engine import Request


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension: how often, and the strides of both sides in bytes. `reps` 0 counts as 1, unless all are 0."""

    reps: int
    src_stride: int
    dst_stride: int


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A 1D request repeated over dimensions, innermost first. Strides are relative, as programmed."""

    request: Request
    dims: tuple[Dim, ...] = ()

    @property
    def counts(self) -> tuple[int, ...]:
        """Iterations of each dimension, innermost first."""
        return tuple(max(1, dim.reps) for dim in self.dims)

    @property
    def empty(self) -> bool:
        """Whether all repetitions are 0: no transfer, and the error ND_MIDEND."""
        return bool(self.dims) and all(dim.reps == 0 for dim in self.dims)

    @property
    def transfers(self) -> int:
        """1D transfers that the descriptor makes."""
        return 0 if self.empty else prod(self.counts)

    @property
    def bytes(self) -> int:
        return self.transfers * self.request.length


def absolute(dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """The same dimensions with strides per index: E_k = s_k + sum of (r_j - 1) E_j over the inner ones."""
    out: list[Dim] = []
    src = dst = 0
    for dim in dims:
        e = Dim(max(1, dim.reps), dim.src_stride + src, dim.dst_stride + dst)
        out.append(e)
        src, dst = src + (e.reps - 1) * e.src_stride, dst + (e.reps - 1) * e.dst_stride
    return tuple(out)


def relative(dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """What to program for strides per index: s_k = P_k - sum of (r_j - 1) P_j over the inner ones."""
    out: list[Dim] = []
    src = dst = 0
    for dim in dims:
        out.append(Dim(dim.reps, dim.src_stride - src, dim.dst_stride - dst))
        reps = max(1, dim.reps)
        src, dst = src + (reps - 1) * dim.src_stride, dst + (reps - 1) * dim.dst_stride
    return tuple(out)


def signed(value: int, width: int) -> int:
    """A stride of `width` bits as the signed number that it is, modulo the address space."""
    half = 1 << (width - 1)
    return (value + half) % (1 << width) - half


def placed(descriptor: Descriptor, width: int) -> tuple[Dim, ...]:
    """Strides per index as signed numbers of `width` bits; where that would lead below address 0, as the positive ones
    that are the same modulo the address space.
    """
    if not descriptor.dims:
        return ()
    out = []
    low = {"src": descriptor.request.src, "dst": descriptor.request.dst}
    for dim in absolute(descriptor.dims):
        strides = []
        for side, stride in (("src", signed(dim.src_stride, width)), ("dst", signed(dim.dst_stride, width))):
            jump = (dim.reps - 1) * stride
            if jump < 0 and low[side] + jump < 0:
                stride, jump = stride + (1 << width), 0
            low[side] += min(0, jump)
            strides.append(stride)
        out.append(Dim(dim.reps, *strides))
    return tuple(out)


def starts(descriptor: Descriptor, width: int) -> NDArray[np.uint64]:
    """(source, destination) of every 1D transfer, in order of emission, as rows. Addresses wrap at 2^width."""
    import numpy as np

    if descriptor.empty:
        return np.zeros((0, 2), dtype=np.uint64)
    mask = (1 << 64) - 1
    rows = np.array([[descriptor.request.src, descriptor.request.dst]], dtype=np.uint64)
    for dim in absolute(descriptor.dims):
        steps = np.arange(dim.reps, dtype=np.uint64)[:, None]
        jumps = steps * np.array([[dim.src_stride & mask, dim.dst_stride & mask]], dtype=np.uint64)
        rows = (jumps[:, None, :] + rows[None, :, :]).reshape(-1, 2)
    return rows & np.uint64((1 << width) - 1)


def walked(descriptor: Descriptor, width: int) -> Iterator[tuple[int, int]]:
    """The same, as the hardware goes: after each 1D transfer the stride of the highest dimension that advances.

    Shares no arithmetic with `starts`, so that the two can contradict each other.
    """
    if descriptor.empty:
        return
    space = 1 << width
    src, dst = descriptor.request.src % space, descriptor.request.dst % space
    counters = [0] * len(descriptor.dims)
    while True:
        yield src, dst
        for k, dim in enumerate(descriptor.dims):
            if counters[k] + 1 < max(1, dim.reps):
                counters[k] += 1
                src, dst = (src + dim.src_stride) % space, (dst + dim.dst_stride) % space
                break
            counters[k] = 0
        else:
            return


def requests(descriptor: Descriptor, width: int) -> Iterator[Request]:
    """The 1D transfers, one by one; only the last one is marked so."""
    count = descriptor.transfers
    for index, (src, dst) in enumerate(walked(descriptor, width)):
        yield replace(descriptor.request, src=src, dst=dst, last=index == count - 1)


@dataclass(frozen=True, slots=True)
class Corners:
    """Lowest and highest byte that a side touches before wrapping: base plus all negative, all positive jumps."""

    low: int
    end: int


def corners(base: int, reps: Sequence[int], strides: Sequence[int], length: int) -> tuple[int, int]:
    """Lowest address and end of everything that a side reaches (proofs/corner-step.smt2)."""
    jumps = [(count - 1) * stride for count, stride in zip(reps, strides, strict=True)]
    return base + sum(min(0, j) for j in jumps), base + sum(max(0, j) for j in jumps) + length


def extent(descriptor: Descriptor, side: str, width: int) -> Corners:
    """The corners of a side: no wrap in it means that every 1D transfer lies in [0, 2^width)."""
    request, dims = descriptor.request, placed(descriptor, width)
    strides = [dim.src_stride if side == "read" else dim.dst_stride for dim in dims]
    base = request.src if side == "read" else request.dst
    return Corners(*corners(base, [dim.reps for dim in dims], strides, request.length))
