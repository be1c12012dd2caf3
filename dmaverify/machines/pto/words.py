"""Configuration words of the A5 move: which bits hold which field, packing and unpacking.

Knows: the layout of the words of copies between GM and UB, of their loop registers, and of copies inside UB.
Does not know: text, what a copy does, whether a value is allowed.
Law: fields of a word do not overlap, so that `unpack` of `pack` gives back every value that fits its field; `packed`
without masks shows what a value that does not fit does to its neighbours.

Source: register layout as packing comments, the vendor's sanitizer and an independent replayer give it.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.values import dataclass

GM_WORDS: Mapping[str, tuple[tuple[str, int, int], ...]] = {
    "c0": (
        ("sid", 0, 4),
        ("n_burst", 4, 21),
        ("len_burst", 25, 21),
        ("left", 46, 6),
        ("right", 52, 6),
        ("select", 58, 1),
        ("l2_cache_ctl", 60, 4),
    ),
    "c1": (("gm_stride", 0, 40), ("ub_stride", 40, 21)),
    "LOOP_SIZE": (("loop1", 0, 21), ("loop2", 21, 21)),
    "LOOP1": (("loop1_gm", 0, 40), ("loop1_ub", 40, 21)),
    "LOOP2": (("loop2_gm", 0, 40), ("loop2_ub", 40, 21)),
}
"""Words of a copy between GM and UB: (field, lowest bit, bits). GM is low and UB is high in both directions."""
LOCAL_WORDS: Mapping[str, tuple[tuple[str, int, int], ...]] = {
    "config": (("n_burst", 0, 16), ("len", 16, 16), ("src_gap", 32, 16), ("dst_gap", 48, 16))
}
WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value that does not fit its field, and the fields that it changes when packed without a mask."""

    field: str
    value: int
    bits: int
    changes: tuple[tuple[str, int, int], ...]


def words_of(kind: str) -> Mapping[str, tuple[tuple[str, int, int], ...]]:
    return LOCAL_WORDS if kind == "local" else GM_WORDS


def pack(kind: str, fields: Mapping[str, int]) -> dict[str, int]:
    """The words of a copy, by shifts and ors as the intrinsics do it, without masks; fields left out are 0."""
    out = {}
    for word, layout in words_of(kind).items():
        value = 0
        for name, low, _ in layout:
            value |= (fields.get(name, 0) << low) & ((1 << WORD_BITS) - 1)
        out[word] = value
    return out


def unpack(kind: str, words: Mapping[str, int]) -> dict[str, int]:
    """Every field of the words."""
    return {
        name: (words[word] >> low) & ((1 << bits) - 1)
        for word, layout in words_of(kind).items()
        for name, low, bits in layout
    }


def misfits(kind: str, fields: Mapping[str, int]) -> list[Misfit]:
    """Values that are negative or too large for their field, with what packing them does to the others."""
    out = []
    for layout in words_of(kind).values():
        for name, _, bits in layout:
            value = fields.get(name, 0)
            if not 0 <= value < 1 << bits:
                found = unpack(kind, pack(kind, fields))
                others = {n: fields.get(n, 0) for n, _, _ in layout if n != name}
                changed = tuple((n, v, found[n]) for n, v in others.items() if found[n] != v)
                out.append(Misfit(name, value, bits, changed))
    return out
