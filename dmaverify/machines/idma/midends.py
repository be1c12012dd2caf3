"""Mid-ends: functions from requests to requests, chained as the paper describes.

Knows: mp_split, mp_dist, rt_3D with its periods.
Does not know: bursts, which back-end does what with its piece, files.
Law: the pieces of a request are exactly the request: consecutive, each byte once, source and destination moved alike;
no piece of mp_split crosses its boundary, each piece of mp_dist lies in the regions of its back-end
(proofs/idma-split-*.smt2, proofs/idma-dist-*.smt2).

Source: iDMA paper, 2.2, 3.2, 3.4 and Table 2; iDMA v0.7.0, `idma_mp_split_midend`, `idma_mp_dist_midend`,
`idma_rt_midend`.

Relied on (proofs/): idma-dist-owner, idma-split-pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from dmaverify.errors import InputError
from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.legalizer import window_cuts
from dmaverify.machines.idma.nd import Descriptor
from dmaverify.targets.modules import Derived
from dmaverify.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class StripedRegion:
    """Memory [start, end) that back-ends share out in strips of `width` bytes, a power of two."""

    start: int
    end: int
    width: int

    def __post_init__(self) -> None:
        if self.width < 1 or self.width & (self.width - 1):
            raise InputError(f"regions of {self.width} bytes", None, "a power of two")
        if not 0 <= self.start < self.end:
            raise InputError(f"a region from {self.start} to {self.end}", None, "start below end")

    def key(self, request: Request) -> tuple[str, int]:
        """The side whose address decides, and that address: the source where it lies in the region."""
        return ("src", request.src) if self.start <= request.src < self.end else ("dst", request.dst)


def mp_split(request: Request, region: StripedRegion) -> list[Request]:
    """The pieces between multiples of the region's width, on the side that decides; only the last one is marked so."""
    if request.length == 0:
        return [request]
    _, key = region.key(request)
    cuts = [0, *window_cuts(key, request.length, region.width.bit_length() - 1), request.length]
    pieces = [_piece(request, a, b) for a, b in pairwise(cuts)]
    return [replace(piece, last=request.last and n == len(pieces) - 1) for n, piece in enumerate(pieces)]


def _piece(request: Request, start: int, end: int) -> Request:
    return replace(request, src=request.src + start, dst=request.dst + start, length=end - start)


def mp_dist(request: Request, region: StripedRegion, backends: int) -> list[Request | None]:
    """The piece of each back-end, or None for those without one. Raises InputError where the request reaches beyond the
    row of all back-ends' strips.
    """
    if backends < 1:
        raise InputError(f"{backends} back-ends", None, "at least one")
    _, key = region.key(request)
    row = key % (region.width * backends)
    if row + request.length > region.width * backends:
        raise InputError(
            f"{request.length} bytes at {key} reach beyond the row of {backends} strips of {region.width}", None,
            "split at the row first: mp_split with the width of the row",
        )  # fmt: skip
    out: list[Request | None] = []
    for number in range(backends):
        start = max(row, number * region.width)
        end = min(row + request.length, (number + 1) * region.width)
        out.append(_piece(request, start - row, end - row) if start < end else None)
    return out


def distributed(request: Request, region: StripedRegion, backends: int) -> list[list[Request]]:
    """mp_split at the row of all strips, then mp_dist: what each back-end gets, in order. Any request will do."""
    width = region.width * backends
    if width & (width - 1):
        raise InputError(f"{backends} back-ends", None, "a power of two, so that rows are aligned")
    own: list[list[Request]] = [[] for _ in range(backends)]
    for piece in mp_split(request, replace(region, width=width)):
        for number, part in enumerate(mp_dist(piece, region, backends)):
            if part is not None:
                own[number].append(part)
    return own


# ---------------------------------------------------------------- rt_3D


@dataclass(frozen=True, slots=True)
class Event:
    """A periodic transfer: the load value of its counter, its own time in cycles, and its descriptor."""

    period: int
    cycles: int
    descriptor: Descriptor | None = None


def worst_case(events: Sequence[Event], number: int, bypass: int = 0) -> int:
    """Cycles from the expiry of an event to the end of its transfer, at worst.

    Every other event comes first, once, and a transfer of `bypass` cycles before each event, because both arbiters are
    round-robin and nothing is interrupted. Every event's own place in the list is without meaning.
    """
    assert 0 <= number < len(events)
    return sum(event.cycles for event in events) + len(events) * bypass


def event_facts(events: Iterable[Event], bypass: int = 0, has: int = 0) -> list[Derived]:
    """The instances of scope `event`: feasible where no worst case exceeds its period. `has` is the events that the
    mid-end has, 0 where nothing says so.

    A counter is loaded again when its launch is accepted, so that no more than one launch of each event ever waits.
    """
    held = tuple(events)
    return [
        Derived("event", {"worst": worst_case(held, n, bypass), "period": event.period, "number": n, "has": has},
                f"event {n}")
        for n, event in enumerate(held)
    ]  # fmt: skip
