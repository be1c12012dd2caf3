"""Through the mid-ends of an engine: which back-end gets which 1D transfers.

Knows: the mid-ends that an engine has, the regions that its back-ends share. Does not know: bursts, costs.
Law: the pieces of a request, over all back-ends, are the request, each byte once (proofs/idma-split-pieces.smt2,
proofs/idma-dist-owner.smt2). An engine without regions has one back-end, which gets all.

Source: iDMA paper, 2.2 and 3.4; iDMA v0.7.0, `idma_mp_split_midend`, `idma_mp_dist_midend`.
"""

from __future__ import annotations

from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.midends import distributed, mp_dist, mp_split
from dmaverify.machines.idma.setup import Setup


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
