"""Through the mid-ends of an engine: which back-end gets which 1D transfers.

Knows: the mid-ends that an engine has, the regions that its back-ends share. Does not know: bursts, costs.
Law: the pieces of a request, over all back-ends, are the request, each byte once (proofs/idma-split-pieces.smt2,
proofs/idma-dist-owner.smt2). An engine without regions has one back-end, which gets all.

Source: iDMA paper, 2.2 and 3.4; iDMA v0.7.0, `idma_mp_split_midend`, `idma_mp_dist_midend`.
"""

from __future__ import annotations

from dmaverify.errors import InputError
from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.legalizer import side_bits
from dmaverify.machines.idma.midends import distributed, mp_dist, mp_split
from dmaverify.machines.idma.setup import Setup, setup_of_commands
from dmaverify.program.move import Transfer
from dmaverify.targets.target import Target


def pieces(setup: Setup, request: Request) -> list[tuple[int, Request]]:
    """(back-end, 1D transfer) of each piece of a request, in the order of the back-ends. Raises InputError where
    mp_dist alone cannot share it out.
    """
    region = setup.region
    if region is None or not request.length:
        return [(0, request)]
    if "mp_split" in setup.midends and "mp_dist" not in setup.midends:
        return [(0, piece) for piece in mp_split(request, region)]
    if "mp_split" in setup.midends:
        own = distributed(request, region, setup.backends)
        return [(number, piece) for number, held in enumerate(own) for piece in held]
    parts = mp_dist(request, region, setup.backends)
    return [(number, piece) for number, piece in enumerate(parts) if piece is not None]


def piece_count(setup: Setup, request: Request) -> int:
    """At most so many pieces: strips that the side which decides touches."""
    region = setup.region
    if region is None or not request.length:
        return 1
    _, key = region.key(request)
    return (key + request.length - 1) // region.width - key // region.width + 1


def held_bytes(setup: Setup, request: Request) -> list[int]:
    """Bytes of a request for each back-end, by arithmetic (proofs/idma-dist-owner.smt2). Raises InputError where its
    source lies in the region in part: then the side that decides changes on the way.
    """
    region = setup.region
    if region is None or "mp_dist" not in setup.midends:
        return [request.length]
    end = request.src + request.length
    if (region.key(request)[0] == "src" and end > region.end) or request.src < region.start < end:
        raise InputError(
            f"{request.length:,} bytes from 0x{request.src:x} lie in the region in part", None,
            "split the transfer where the region begins or ends",
        )  # fmt: skip
    _, key = region.key(request)
    row = region.width * setup.backends

    def below(address: int, number: int) -> int:
        rest = address % row - number * region.width
        return address // row * region.width + min(max(rest, 0), region.width)

    return [below(key + request.length, number) - below(key, number) for number in range(setup.backends)]


def period(transfer: Transfer, target: Target) -> int | None:
    """Bytes after which a transfer at another address is cut into the same bursts: the largest window of both sides;
    None where mid-ends look for a region. Raises InputError.
    """
    setup = setup_of_commands(target, transfer)
    if setup.region is not None:
        return None
    requests = setup.each or (setup.request,)
    return max(1 << bits for one in requests for bits in side_bits(setup.backend, one))
