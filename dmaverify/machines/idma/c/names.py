"""Names of the runtimes and of C's headers: which of them launch, which wait, which do nothing.

Knows: the functions of the Snitch and Cheshire runtimes. Does not know: their arguments, what is launched.
Law: a name that is not here is one of another file, of which nothing is known.

Source: snitch_cluster, `sw/runtime/src`; cheshire, `sw/include/dif/dma.h`.
"""

from __future__ import annotations

import re

from dmaverify.machines.idma.c.numbers import WORD
from dmaverify.machines.idma.c.pulp import PULP_FREES
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class RuntimeCall:
    """A function of a runtime: outer dimensions, bits of addresses (0: of a pointer), of length and strides, whether it
    returns after completion, and whether its last argument is a channel.
    """

    dims: int
    address: int
    width: int
    waits: bool = False
    channel: bool = False


CALLS = {
    f"snrt_dma_start_{dims + 1}d{'_channel' * channel}{'_wideptr' * bool(address)}":
        RuntimeCall(dims, address, 32, channel=channel)
    for dims in (0, 1) for channel in (False, True) for address in (WORD, 64)
}  # fmt: skip
CALLS |= {
    "sys_dma_memcpy": RuntimeCall(0, 64, 64), "sys_dma_blk_memcpy": RuntimeCall(0, 64, 64, True),
    "sys_dma_2d_memcpy": RuntimeCall(1, 64, 64), "sys_dma_2d_blk_memcpy": RuntimeCall(1, 64, 64, True),
}  # fmt: skip
WAITS = ("snrt_dma_wait_all", "snrt_dma_wait", "snrt_dma_wait_channel", "snrt_dma_wait_all_channel",
         "snrt_dma_wait_all_channels")  # fmt: skip
"""Those that name no channel wait for channel 0; the last one for as many channels as it is told."""
TRACKING = ("snrt_dma_start_tracking", "snrt_dma_stop_tracking")
"""They mark a trace, and launch nothing."""
UNREAD = ("snrt_dma_", "plp_dma_", "mchan_")
"""How functions begin that may launch, whatever they are."""
ASSERTIONS = ("assert", "__builtin_assume")
CLUSTER = "snrt_cluster_idx"
"""The number of the cluster: some core that moves data is in cluster 0."""
ROLE, OTHER_ROLE = "snrt_is_dm_core", "snrt_is_compute_core"
_OF_A_CORE = (
    "hartid", "global_compute_core_num", "global_compute_core_idx",
    *(f"{place}_{what}" for place in ("cluster", "global", "cluster_compute", "cluster_dm")
      for what in ("idx", "num", "core_idx", "core_num", "core_base_hartid")),
)  # fmt: skip
OF_A_CORE = frozenset(f"snrt_{name}" for name in _OF_A_CORE)
"""Functions of the Snitch runtime whose results are the same each time that a core calls them."""
_PLACES = (
    "l1alloc", "l3alloc", "remote_l1_ptr",
    *(f"l{level}_{what}" for level in (1, 3)
      for what in ("next", "alloc", "malloc", "alloc_cluster_local", "alloc_compute_core_local", "start_addr")),
)  # fmt: skip
PLACES = (*(f"snrt_{name}" for name in _PLACES), "malloc", "calloc")
"""Functions that return addresses."""
SNRT_PLAIN = (
    *(name.removeprefix("snrt_") for name in (ROLE, OTHER_ROLE)), *_OF_A_CORE, *_PLACES,
    "mcycle", "fpu_fence", "exit", "cluster", "cls", "putchar",
    *(f"{place}_{what}" for place in ("cluster", "global", "cluster_compute", "cluster_dm")
      for what in ("hw_barrier", "barrier")),
    "inter_cluster_barrier", "partial_barrier",
    *(f"l{level}_{what}" for level in (1, 3)
      for what in ("next_v2", "update_next", "update_next_v2", "end_addr")),
    "alloc_init", "mutex_acquire", "mutex_release", "mutex_lock",
    *(f"ssr_{what}" for what in ("enable", "disable", "read", "write", "write_imm", "repeat", "loop_1d", "loop_2d",
                                 "loop_3d", "loop_4d")),
    *(f"{what}_perf_counter" for what in ("get", "start", "stop", "reset")),
)  # fmt: skip
"""Functions of the Snitch runtime, behind `snrt_`, that launch nothing; `snrt_dma_` is read before."""
NO_LAUNCH = frozenset((
    "memset", "bzero", "printf", "fprintf", "snprintf", "puts", "putchar", "assert", "abort", "exit", "malloc",
    "calloc", "free", "fence", *PULP_FREES, *(f"snrt_{name}" for name in SNRT_PLAIN),
))  # fmt: skip
"""Functions that launch nothing, by their whole names: of C, and of the runtimes."""
OF_C = re.compile(r"NULL|true|false|std(in|out|err)|errno|EOF|EXIT_\w+|__\w+__|__func__|\w+_(MAX|MIN)|INFINITY|NAN|"
                   r"M_(1_|2_)?(PI|E|LN\d+|LOG\d+E|SQRT\w+)(_\d)?|PLP_DMA_\w+|SNRT_S(SR|UPPORTS)_\w+")  # fmt: skip
"""Names of C's own headers, and constants of the runtimes: they do nothing."""
