"""Operands of the copies of both surfaces, in the order of the text.

Knows: names of operations and of operands. Does not know: what any of them means.
Law: a role has one name in both surfaces.

Source: "DMA Copy" (vector instruction set); PTO v0.6 operand lists.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.machines.pto.ops import LOAD, LOCAL, STORE

COPY_ROLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "pto.copy_gm_to_ubuf": (
        LOAD,
        ("src", "dst", "sid", "n_burst", "len", "left", "right", "select", "l2", "src_stride", "dst_stride"),
    ),
    "pto.copy_ubuf_to_gm": (STORE, ("src", "dst", "sid", "n_burst", "len", "l2", "dst_stride", "src_stride")),
    "pto.copy_ubuf_to_ubuf": (LOCAL, ("src", "dst", "sid", "n_burst", "len", "src_stride", "dst_stride")),
}
"""Operands of the copies whose loops are in registers, in the order of the text."""
INLINE_ROLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "pto.mte_gm_ub": (LOAD, ("src", "dst", "l2", "len")),
    "pto.mte_ub_gm": (STORE, ("src", "dst", "len")),
    "pto.mte_ub_ub": (LOCAL, ("src", "dst", "len")),
    "pto.mte_load": (LOAD, ("src", "dst", "l2", "len")),
    "pto.mte_store": (STORE, ("src", "dst", "len")),
    "pto.dma_load": (LOAD, ("src", "dst", "l2", "len")),
    "pto.dma_store": (STORE, ("src", "dst", "len")),
    "pto.dma_copy": (LOCAL, ("src", "dst", "len")),
}
"""Operands before the groups of the copies that carry their loops themselves."""
EVENT_PIPES: Mapping[str, str] = {
    "TLOAD": "MTE2",
    "TSTORE_VEC": "MTE3",
    "TSTORE_ACC": "FIX",
    "TMOV_M2L": "MTE1",
    "TMOV_M2B": "MTE1",
    "TMOV_M2S": "FIX",
    "TMOV_M2V": "V",
    "TMOV_V2M": "FIX",
    "TMATMUL": "M",
    "TVEC": "V",
    "TVECWAIT_EVENT": "V",
}
"""Kinds of operations that events and barriers name, with the pipe that runs them (PTO-AS, synchronisation)."""
EARLY_STORE = (
    "src",
    "dst",
    "valid_rows",
    "valid_cols",
    "sid",
    "n_burst",
    "len",
    "reserved",
    "dst_stride",
    "src_stride",
)
"""Operands of `pto.copy_ubuf_to_gm` in its form of 2026-03."""
