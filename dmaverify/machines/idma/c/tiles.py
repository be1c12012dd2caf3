"""Calls of the Snitch runtime that are made of others: tiles of arrays, rows of another length.

Knows: what each of them is, as a function in C. Does not know: launches, values.
Law: what stands here does what the runtime's function of that name does, with so many arguments of such types.

Source: snitch_cluster, `sw/runtime/src/dma.h`.
"""

from __future__ import annotations

from functools import lru_cache

from dmaverify.errors import Source, Span
from dmaverify.language.trees import Code
from dmaverify.machines.idma.c.code import Part, tree_of

_TILE = "size_t x1, size_t x0, size_t n1, size_t n0, size_t full, uint32_t prec"
_AT = "(x0 * n0 + x1 * n1 * full) * prec"
_TO, _FROM = "void *dst, void *src", "(uint64_t)dst, (uint64_t)src"
_FUNCTIONS = {
    ("snrt_dma_load_1d_tile", 5): f"({_TO}, size_t tile, size_t count, uint32_t prec) {{ size_t bytes = count * prec;"
    " return snrt_dma_start_1d_wideptr((uint64_t)dst, (uint64_t)src + tile * bytes, bytes); }",
    ("snrt_dma_store_1d_tile", 5): f"({_TO}, size_t tile, size_t count, uint32_t prec) {{ size_t bytes = count * prec;"
    " return snrt_dma_start_1d_wideptr((uint64_t)dst + tile * bytes, (uint64_t)src, bytes); }",
    ("snrt_dma_1d_to_2d", 5): f"({_TO}, size_t size, size_t row, size_t stride)"
    f" {{ return snrt_dma_start_2d_wideptr({_FROM}, row, stride, row, size / row); }}",
    ("snrt_dma_2d_to_1d", 5): f"({_TO}, size_t size, size_t row, size_t stride)"
    f" {{ return snrt_dma_start_2d_wideptr({_FROM}, row, row, stride, size / row); }}",
    ("snrt_dma_load_2d_tile", 8): f"({_TO}, {_TILE}) {{ size_t at = {_AT}; return snrt_dma_start_2d_wideptr("
    "(uint64_t)dst, (uint64_t)src + at, n0 * prec, n0 * prec, full * prec, n1); }",
    ("snrt_dma_load_2d_tile", 9): f"({_TO}, {_TILE}, size_t ld) {{ size_t at = {_AT}; return snrt_dma_start_2d_wideptr("
    "(uint64_t)dst, (uint64_t)src + at, n0 * prec, ld, full * prec, n1); }",
    ("snrt_dma_store_2d_tile", 8): f"({_TO}, {_TILE}) {{ size_t at = {_AT}; return snrt_dma_start_2d_wideptr("
    "(uint64_t)dst + at, (uint64_t)src, n0 * prec, full * prec, n0 * prec, n1); }",
    (
        "snrt_dma_store_2d_tile",
        9,
    ): f"({_TO}, {_TILE}, size_t ld) {{ size_t at = {_AT}; return snrt_dma_start_2d_wideptr("
    "(uint64_t)dst + at, (uint64_t)src, n0 * prec, full * prec, ld, n1); }",
}
MADE_OF_OTHERS = frozenset(name for name, _ in _FUNCTIONS)


def made_of(call: Part, name: str, arguments: int) -> Part | None:
    """The function, as text that stands at a call of it, that a call of the runtime is; None of another one."""
    text = _FUNCTIONS.get((name, arguments))
    return None if text is None else _function(call.text.source, text, call.raw.start, call.raw.end)


@lru_cache(maxsize=256)  # a loop calls it again and again
def _function(source: Source, text: str, start: int, end: int) -> Part:
    code = Code(source, f"uint32_t tile{text}".encode(), at=Span(source, start, end))
    return Part(tree_of(code).named_children[0], code)
