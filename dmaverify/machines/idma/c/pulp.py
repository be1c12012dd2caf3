"""Calls of the PULP runtime: transfers between the memory outside of a cluster and the one inside.

Knows: the order of arguments of `plp_dma_*` and `mchan_transfer`, what a 2D call means, which constants are theirs.
Does not know: who calls, counters, waits.
Law: a call becomes one descriptor, or the reason why it is not read; what registers of 16 bits cut is no descriptor.

Source: PULP SDK, `hal/dma` (sizes and strides have 16 bits, several transfers run at a time, a counter says when all of
its transfers are complete).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.machines.idma.c.numbers import LLONG, UINT, ULLONG, Value, converted
from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.nd import Descriptor, Dim

ENDS = {"memcpy": "ext loc", "l1ToExt": "ext loc", "extToL1": "loc ext"}
PULP_CALLS: dict[str, tuple[str, ...]] = {
    f"plp_dma_{what}{'_2d' * rows}{irq}":
        (*ends.split(), "size", *(["stride", "row"] * rows), *(["inward"] * (what == "memcpy")))
    for what, ends in ENDS.items() for rows in (0, 1) for irq in ("", "_irq")
}  # fmt: skip
PULP_CALLS.update({"mchan_transfer": (), "plp_dma_cmd_push": (), "plp_dma_cmd_push_2d": ()})
_QUEUED = ("size", "inward", "moves")
OWN_COUNTER = 8
"""Arguments of the mchan_transfer (MCHAN v5) that allocates a counter and returns it."""
MCHAN: Mapping[int, tuple[str, ...]] = {
    OWN_COUNTER: (*_QUEUED, "rows", "ext", "loc", "row", "stride"),
    11: (*_QUEUED, "rows", "", "", "", "ext", "loc", "row", "stride"),
    14: (*_QUEUED, "rows", "loc_rows", "", "", "", "ext", "loc", "row", "stride", "loc_row", "loc_stride"),
}
"""Arguments of mchan_transfer by their number; all but the last move one side alone by rows."""
PULP_ALLOCATES = ("mchan_alloc", "plp_dma_counter_alloc")
PULP_WAITS = ("plp_dma_wait", "mchan_barrier", "plp_dma_barrier")
PULP_FREES = ("mchan_free", "plp_dma_counter_free")
PULP_CONSTANTS = {"PLP_DMA_EXT2LOC": 1, "PLP_DMA_LOC2EXT": 0, "PLP_DMA_1D": 0, "PLP_DMA_2D": 1}
SHORT = 1 << 16


class UnreadCall(Exception):
    """Why a call is no descriptor."""


def pulp_descriptor(name: str, values: Sequence[Value]) -> Descriptor:
    """What a call moves. Raises UnreadCall."""
    names = MCHAN.get(len(values), ()) if name == "mchan_transfer" else PULP_CALLS[name]
    if not names or len(names) != len(values):
        raise UnreadCall(f"`{name}` with {len(values)} arguments is not read")
    given = {}
    for what, value in zip(names, values, strict=True):
        if what:
            given[what] = _number(what, value)
    inward = given.get("inward", int("ToL1" in name))
    if inward not in (0, 1) or given.get("moves", 1) != 1:
        raise UnreadCall("the direction is 0 or 1" if inward not in (0, 1) else "an address that does not move")
    size = given["size"]
    queued = name == "mchan_transfer"
    ext = given.get("row", size) if not queued or given["rows"] else size
    loc = given.get("loc_row", size) if given.get("loc_rows") else size
    row = size if ext is size and loc is size else ext if loc is size else loc
    if ext is not size and loc is not size and ext != loc:
        raise UnreadCall("rows of two lengths")
    dims: tuple[Dim, ...] = ()
    if row is not size:
        if row < 1 or size % row != 0:
            raise UnreadCall("the rows do not add up to the size")
        strides = [row if side is size else given[key] for side, key in ((ext, "stride"), (loc, "loc_stride"))]
        dims = (Dim(size // row, *(strides if inward else strides[::-1])),)
    ends = (given["ext"], given["loc"]) if inward else (given["loc"], given["ext"])
    return Descriptor(Request(*ends, size if row is size else row), dims)


def _number(what: str, value: Value) -> int:
    """An argument as the registers take it."""
    own = converted(value, {"ext": ULLONG, "loc": UINT}.get(what, LLONG))
    if own.number is None:
        raise UnreadCall(f"{what}: {own.why}")
    if what not in ("ext", "loc") and not 0 <= own.number < SHORT:
        raise UnreadCall(f"{what} is {own.number}: a register of 16 bits cuts it")
    return own.number
