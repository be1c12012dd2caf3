"""A burst list from anywhere as what the rules of scope `burst` look at: legal, complete, in order.

Knows: the ports of a burst, coupling, where a list ends. Does not know: rules, findings, files.
Law: the ports of every burst of both sides are derived, and nothing of them from `legalizer`, so that its lists are
judged like any other.

Source: `encodings/idma/target.toml`, scope `burst`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import gcd

from dmaverify.machines.idma.engine import AXI, NO_ADDRESS, TILELINK, Backend, Request, bus_limits
from dmaverify.machines.idma.legalizer import is_coupled, shown_bursts
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.wire import beats_of, on_the_wire
from dmaverify.targets.modules import Derived
from dmaverify.values import replace

Pairs = Sequence[tuple[int, ...]]
"""(address, bytes) of each burst, or with what was seen on the bus: (address, bytes, bus address, length field)."""
NO_LIMIT = 1 << 30
"""Beats that a request without a limit of its own allows."""


def burst_facts(backend: Backend, request: Request, read: Pairs, write: Pairs) -> Iterator[Derived]:
    """The instances of both sides of a list of (address, bytes). An empty side of a transfer that has bytes is one
    burst of no bytes at its start, so that it is found wanting.
    """
    coupled = is_coupled(request)
    for side, base, own, other in (("read", request.src, read, write), ("write", request.dst, write, read)):
        pairs: list[tuple[int, ...]] = list(own) or ([(base, 0)] if request.length else [])
        ends = accumulate((pair[1] for pair in pairs), initial=0)
        listed = [(number, done, pair) for number, (done, pair) in enumerate(zip(ends, pairs, strict=False))]
        yield from _side(backend, request, side, base, listed, list(other) if coupled else None)


def own_bursts(setup: Setup, request: Request, side: str, starts: Iterable[int]) -> Iterator[Derived]:
    """The instances of the bursts that the legalizer itself makes of a side, for transfers that start at `starts`.

    A list that does not end has a burst of no bytes where it stops. Of bursts that come back at the same places of two
    pages, two rounds are there: what rules look at repeats with them.
    """
    backend = setup.backend
    for start in starts:
        at = replace(request, src=start) if side == "read" else replace(request, dst=start)
        protocol = request.src_protocol if side == "read" else request.dst_protocol
        listed: list[tuple[int, int, tuple[int, ...]]] = []
        for number, done, count in shown_bursts(backend, at, side):
            address = (start + done) % setup.space
            bus: tuple[int, ...] = ()
            if backend.legalizer and count:  # else what is on the bus is the software's business
                sent = on_the_wire(backend, protocol, address, count, write=side == "write")
                bus = sent.address, sent.field
            listed.append((number, done, (address, count, *bus)))
        yield from _side(backend, at, side, start, listed, None)


def starts_of(base: int, dims: Sequence[tuple[int, int]], modulus: int) -> set[int]:
    """The addresses modulo `modulus` at which the transfers of a side start; `dims` are (repetitions, stride)."""
    found = {base % modulus}
    for reps, stride in dims:
        period = modulus // gcd(stride, modulus)
        steps = [k * stride for k in range(min(reps, period))]
        found = {(start + step) % modulus for start in found for step in steps}
    return found


def _on_bus(backend: Backend, protocol: int, address: int, count: int, seen: Sequence[int]) -> dict[str, int]:
    """Bus address and length field, as they were seen (where they were) and as the protocol has them."""
    offset = address % backend.word
    bus = 0 if protocol in NO_ADDRESS else address - offset
    field = 0
    if protocol == AXI and count > 0:
        field = beats_of(address, count, backend.word) - 1
    elif protocol == TILELINK:
        field = max(0, count.bit_length() - 1)
    return {
        "bus": seen[0] if seen else bus, "bus_wanted": bus, "field": seen[1] if seen else field, "field_wanted": field,
    }  # fmt: skip


def _side(
    backend: Backend, request: Request, side: str, base: int, listed: Sequence[tuple[int, int, tuple[int, ...]]],
    other: Pairs | None,
) -> Iterator[Derived]:  # fmt: skip
    """The instances of bursts as (number, bytes before it, burst); the last of them is the last of the side."""
    write = side == "write"
    protocol = request.dst_protocol if write else request.src_protocol
    reduced, llen = (
        (request.dst_reduce_len, request.dst_max_llen) if write else (request.src_reduce_len, request.src_max_llen)
    )
    space, word = 1 << backend.address_width, backend.word
    for number, done, (address, count, *bus) in listed:
        pair = count if other is None else other[number][1] if number < len(other) else 0
        values = {
            "protocol": protocol,
            "write": int(write),
            "address": address,
            "wanted": (base + done) % space,
            "bytes": count,
            "power": 1 << (count.bit_length() - 1) if count > 0 else 0,
            "pair_bytes": pair,
            "beats": beats_of(address, count, word) if count > 0 else 0,
            "beats_limit": 1 << llen if reduced else NO_LIMIT,
            "word": word,
            "space": space,
            "tilelink_most": word if backend.tilelink_ul else bus_limits()["tilelink_page_bytes"],
            "last": int(number == listed[-1][0]),
            "left": request.length - done - count,
            "addressed": int(protocol not in NO_ADDRESS),
            **_on_bus(backend, protocol, address, count, bus),
        }
        yield Derived("burst", values, f"{side} burst {number}", side)
