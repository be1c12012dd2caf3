"""Stages of the Tensor Unit: the stream that each says it makes, and which the library refuses.

Knows: which stage may follow which, the types of streams, the laws of stages that move or keep elements, cell by cell.
Does not know: Rust text, what stages compute, how kernels are compared.
Law: a stage is refused only where the library is known to refuse it. One that is not known to be as it should is
`open`, and so is all behind it: nothing is said of where elements go. A stage behind it is held against the types that
the text writes (`typed`), as the library does. A compound that is cut inside its parts is never refused, as two public
notions of its cells part there (docs/machines/rngd.md 1.3, item 8).

Source: furiosa-opt v0.6.0, engine/mod.rs (which stage may follow which) and furiosa-opt-lower/src/verify; its book on
the Fetch, Switch, Collect, Transpose and Commit Engine; docs/machines/rngd.md 4.5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dmaverify.language.expr import ONE, Expr, Modulo, Pair, Stride, axes_of, walk
from dmaverify.machines.rngd.rust.stage_laws import LAWS, Open, Refused, StageStream, StageWords, figure, kept
from dmaverify.values import replace

_STREAMS = ("fetch", "fetch_mask", "fetch_table_lookup", "fetch_cast", "fetch_zero_point_sub")
_MADE = ("collect", "contract_lane", "vector_final")
_FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "fetch": ("begin", "begin_interleaved"),
    "fetch_mask": _STREAMS[:1], "fetch_table_lookup": _STREAMS[:2], "fetch_cast": _STREAMS[:3],
    "fetch_zero_point_sub": _STREAMS[:4], "switch": _STREAMS, "collect": (*_STREAMS, "switch"),
    "to_trf": ("collect",), "to_vrf": ("collect", "vector_final"), "contract_outer": ("collect",),
    "contract_packet": ("contract_outer",), "contract_time": ("contract_packet",), "contract_lane": ("contract_time",),
    "vector_init": _MADE[:2], "cast": _MADE, "transpose": (*_MADE, "cast"),
    "commit_trim": (*_MADE, "cast", "transpose"),
    "commit_cast": ("commit_trim",), "commit_cast_relu": ("commit_trim",), "commit_valid_count_pack": ("commit_trim",),
    **dict.fromkeys(
        ("commit", "commit_view"), ("commit_trim", "commit_cast", "commit_cast_relu", "commit_valid_count_pack")
    ),
}  # fmt: skip
"""What each stage may follow; those of the Vector Engine among themselves are not told."""
_ENDS = {*_FOLLOWS, "begin", "vector_final"}
"""Behind which the library names all stages that there may be."""
_FLOW = ("time", "packet")
_WRITTEN: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("fetch", "fetch_mask", "collect", "transpose", "contract_lane", "commit", "commit_view"), _FLOW),
    **dict.fromkeys(("vector_narrow_split", "vector_widen_concat"), _FLOW),
    **dict.fromkeys(("switch", "vector_inter_slice_reduce"), ("slices", "time")), "vector_filter": ("time",),
    **dict.fromkeys(("cast", "commit_trim", "vector_narrow_trim", "vector_widen_pad"), ("packet",)),
    "vector_intra_slice_reduce": ("reduced", *_FLOW), "vector_intra_slice_unzip": ("pairs", "tile", "time"),
}  # fmt: skip
"""What the mappings among the generic arguments of each say of the stream behind it."""
_ANEW = ("fetch", "contract_lane")
"""Those of them that say all of it, whatever is known of what comes in."""
_RETYPES = ("fetch_cast", "fetch_table_lookup", "cast", "commit_cast", "commit_cast_relu")
_KEEPS = re.compile(
    r"vector_(?:init|final|stash|reinterpret|intra_slice_tag|fxp_to_fp|fp_to_fxp|fp_unary"
    r"|(?:logic|fxp|clip|fp_binary|fp_ternary|fp_div)(?:_with_mode)?"
    r"|(?:logic|fxp|clip|fp)_zip(?:_with_mode)?)"
)
"""Stages of the Vector Engine that leave places as they are; those that zip leave those of each of two streams."""
MOVING = frozenset(("fetch", "switch", "collect", "transpose", "commit_trim", "commit", "commit_view"))
"""Stages that leave every element what it is, wherever they put it."""


def stream_of(slices: Expr, element: Expr, bits: int) -> StageStream:
    """What `begin` makes of a tensor."""
    return StageStream("begin", bits, slices, ONE, element)


def behind(before: StageStream, words: StageWords, *, ordered: bool) -> StageStream:
    """What flows behind one more stage. `ordered`: the library refuses what does not follow what it should, and what
    breaks these laws.
    """
    after = _typed(before, words)
    allowed = _FOLLOWS.get(words.name, (before.behind,))
    if ordered and before.behind not in allowed and before.behind in _ENDS:
        told = ", ".join(f"`{one}`" for one in allowed)
        return replace(after, refused=f"`.{words.name}()` behind `.{before.behind}()`: it follows {told}", typed=False)
    law = LAWS.get(words.name) or (kept if _KEEPS.fullmatch(words.name) else None)
    if law is None:
        return replace(after, open=before.open or before.refused or f"`.{words.name}()` is no stage that is followed")
    if not (before.typed and after.typed):
        return replace(after, open=before.open or before.refused or f"a mapping of `.{words.name}()` is not written")
    try:
        law(before, words, after)
    except Refused as why:
        every = (*before.mappings, *after.mappings)
        names = {axis for expr in every for axis in axes_of(expr)}
        several = len({axis.split("~")[0] for axis in names}) < len(names)  # the library knows axes by their names
        sure = ordered and not several and not any(map(_cut_inside, every))
        said = f"`.{words.name}()`: {why}"
        return replace(after, refused=said, typed=False) if sure else replace(after, open=before.open or said)
    except Open as why:
        return replace(after, open=before.open or f"`.{words.name}()`: {why}")
    return after


def _typed(before: StageStream, words: StageWords) -> StageStream:
    """The stream that a stage says it makes."""
    names, given = _WRITTEN.get(words.name, ()), [one for one in words.given if one is not None]
    if words.element is not None:
        given = [ONE, words.element]
    told = bool(names) or words.name in _RETYPES or _KEEPS.fullmatch(words.name) is not None
    said = dict(zip(names, given, strict=True)) if len(given) == len(names) else {}
    bits = words.bits if words.name in _RETYPES else before.bits
    bits = figure("accumulator_bits") if words.name == "contract_lane" else bits
    typed = told and len(said) == len(names) and bits > 0 and (before.typed or words.name in _ANEW)
    parts = {one: said.get(one, getattr(before, one)) for one in ("slices", *_FLOW)}
    return StageStream(words.name, bits, **parts, open=before.open, typed=typed)


def _cut_inside(expr: Expr) -> bool:
    cuts = (part for part in walk(expr) if isinstance(part, (Stride, Modulo)))
    return any(isinstance(part, Pair) for cut in cuts for part in walk(cut))
