"""Mid-ends and schedules another way, so that they can contradict the package: a tree of mp_dist, a schedule cycle by
cycle, rows of a tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dmaverify.errors import InputError
from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.law import Depth
from dmaverify.machines.idma.midends import Event, StripedRegion, mp_dist, mp_split
from dmaverify.machines.idma.nd import Descriptor, Dim, requests


def tensor_2d(request: Request, src_stride: int, dst_stride: int, total: int) -> Descriptor:
    """A 2D transfer of `total` bytes in rows of the request's length. Raises InputError unless rows divide it."""
    if request.length < 1 or total % request.length:
        raise InputError(f"{total} bytes are no whole number of rows of {request.length}", None, "make it a multiple")
    return Descriptor(request, (Dim(total // request.length, src_stride, dst_stride),))


def tensor_nd(descriptor: Descriptor, width: int) -> Iterator[Request]:
    """The 1D transfers of an ND request, in order."""
    return requests(descriptor, width)


def distributed_by_tree(request: Request, region: StripedRegion, backends: int) -> list[list[Request]]:
    """The same by a binary tree of mp_dist: each level sends a half of the strips to each side."""
    own: list[list[Request]] = [[] for _ in range(backends)]
    row = replace(region, width=region.width * backends)
    for piece in mp_split(request, row):
        for number, part in _tree(piece, region, backends, 0):
            own[number].append(part)
    return own


def _tree(request: Request, region: StripedRegion, backends: int, first: int) -> Iterator[tuple[int, Request]]:
    if backends == 1:
        yield first, request
        return
    half = backends // 2
    for number, part in enumerate(mp_dist(request, replace(region, width=region.width * half), 2)):
        if part is not None:
            yield from _tree(part, region, half, first + number * half)


def launches(events: Sequence[Event], until: int, bypass: int = 0) -> list[tuple[int, int, int, int]]:
    """A schedule, cycle by cycle of arbitration: (event, expiry, start, end) of every launch that expires by `until`.

    All counters are loaded at 0; one transfer runs at a time, round-robin; before each turn one of `bypass` cycles.
    A counter is loaded again when its launch is accepted.
    """
    expiry = [event.period for event in events]
    out: list[tuple[int, int, int, int]] = []
    time, turn = 0, 0
    while min(expiry) <= until and time <= until:
        time += bypass
        ready = [n for k in range(len(events)) if expiry[n := (turn + k) % len(events)] <= time]
        if not ready:
            time = time if bypass else max(time, min(expiry))
            continue
        number = ready[0]
        end = time + events[number].cycles
        out.append((number, expiry[number], time, end))
        expiry[number], time, turn = time + events[number].period, end, (number + 1) % len(events)
    return out


def closed(count: int, size: int, word: int, depth: Depth) -> float:
    """Cycles of `count` fragments of `size` bytes, aligned, equal, each one burst: size a multiple or a divisor of the
    word, at most 256 words.
    """
    n, latency, k = -(-size // word), depth.memory.latency, depth.memory.outstanding
    rate = min(
        1.0,
        depth.outstanding * n / (latency + n + 1),
        depth.metadata * n / (2 * latency + n + 1),
        k * n / (latency + n),
    )
    return count * n / rate + 2 * latency + 2
