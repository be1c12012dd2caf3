"""The parameters of an iDMA back-end, and one 1D request to it.

Knows: protocols with their codes, ports of a variant by its name, options of a request, what makes them meaningless.
Does not know: bursts, plan files, descriptors of more than one dimension.
Law: a `Backend` and a `Request` that exist can be legalized; whatever cannot is an InputError that names the field.

Addresses and lengths are bytes. Source: iDMA paper, Figure 2, Table 3; iDMA v0.7.0, `idma_req_t`, `idma_pkg`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from dmaverify.errors import InputError, did_you_mean
from dmaverify.targets.target import load_target
from dmaverify.values import dataclass

AXI, OBI, AXILITE, TILELINK, INIT, AXIS = range(6)
"""Codes of the protocols. Source: iDMA v0.7.0, `idma_pkg::protocol_e`."""

NAMES = ("axi", "obi", "axil", "tilelink", "init", "axis")
"""The protocols as variants are named, by code."""

_OTHER_NAMES = {
    "axi4": AXI,
    "axilite": AXILITE,
    "axi_lite": AXILITE,
    "axi_stream": AXIS,
    "axistream": AXIS,
    "tl": TILELINK,
}
WITHOUT_BURSTS = frozenset({OBI, AXILITE, INIT, AXIS})
NO_ADDRESS = frozenset({INIT, AXIS})
"""Protocols whose side is a pattern or a stream, not memory."""

MOST_LLEN = 7
DEFAULT_BURST_LEN = 8


@lru_cache(maxsize=1)
def bus_limits() -> Mapping[str, int]:
    """The limits that the engine itself keeps when it cuts transfers into bursts, from the machine's data."""
    return load_target("idma").limits


def protocol_named(name: str | int) -> int:
    """The code of a protocol by name or code. Raises InputError."""
    if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(NAMES):
        return name
    word = str(name).strip().lower().replace("-", "_")
    if isinstance(name, str) and word.isdecimal():
        return protocol_named(int(word))
    if word in NAMES:
        return NAMES.index(word)
    if word in _OTHER_NAMES:
        return _OTHER_NAMES[word]
    known = ", ".join(f"{code} {text}" for code, text in enumerate(NAMES))
    raise InputError(f"{name!r} is no protocol", None, did_you_mean(word, NAMES, 0.5) or f"known: {known}")


@dataclass(frozen=True, slots=True)
class Variant:
    """Which protocols an engine can read and write. Its name has one part a port kind: `r_obi_rw_init_w_axi`."""

    name: str
    reads: frozenset[int]
    writes: frozenset[int]

    @property
    def every(self) -> frozenset[int]:
        return self.reads | self.writes


@lru_cache(maxsize=256)
def variant_named(name: str) -> Variant:
    """A variant from its name. Raises InputError where a part is neither r_, w_ nor rw_ with a protocol."""
    sides: dict[str, set[int]] = {"r": set(), "w": set()}
    rest = name
    while rest:
        found = re.match(r"(rw|r|w)_(axis|axil|axi|obi|tilelink|init)(?:_(?=.)|$)", rest)
        if found is None:
            raise InputError(
                f"{name!r} is no variant of the engine, from {rest!r} on", None,
                "a part for each kind of port, r_, w_ or rw_ with axi, obi, axil, tilelink, init or axis: r_axi_w_obi",
            )  # fmt: skip
        for side in found[1]:
            sides[side].add(NAMES.index(found[2]))
        rest = rest[found.end() :]
    for side, word in (("r", "reads"), ("w", "writes")):
        if not sides[side]:
            raise InputError(f"the variant {name!r} {word} nothing", None, "name a port for it, for example rw_axi")
    return Variant(name, frozenset(sides["r"]), frozenset(sides["w"]))


@dataclass(frozen=True, slots=True)
class Backend:
    """A back-end as generated. `burst_len` is log2 of the beats that an AXI burst may have.

    `ax_in_flight`, `buffer_depth` and `system_depth` count bursts, words and bursts. `reject_zero`: requests of no
    length end with an error and make no burst.
    """

    variant: Variant
    data_width: int = 32
    address_width: int = 32
    burst_len: int = DEFAULT_BURST_LEN
    length_width: int = 32
    ax_in_flight: int = 2
    buffer_depth: int = 3
    system_depth: int = 0
    reject_zero: bool = True
    legalizer: bool = True  # else software hands over bursts that are legal
    specified: bool = False  # TileLink as specified, not as v0.7.0 has it
    page_bytes: int = 0  # at whose multiples AXI bursts are split; 0: those that AXI demands
    tilelink_ul: bool = False  # TL-UL: no access is longer than a word

    def __post_init__(self) -> None:
        width = self.data_width
        if width < 16 or width > 1024 or width & (width - 1):
            raise InputError(f"data_width is {width}", None, "a power of two from 16 to 1024 bits")
        if not 12 <= self.address_width <= 64:
            raise InputError(f"address_width is {self.address_width}", None, "12 to 64 bits")
        if not 12 <= self.length_width <= self.address_width:
            raise InputError(f"length_width is {self.length_width}", None, "12 bits to address_width")
        if not 0 <= self.burst_len <= DEFAULT_BURST_LEN or self.burst_len + self.offset_bits >= 16:
            raise InputError(f"burst_len_param is {self.burst_len}", None, "0 to 8: log2 of the beats of a burst")
        if self.page_bytes & (self.page_bytes - 1) or (0 < self.page_bytes < self.word):
            raise InputError(f"page_bytes is {self.page_bytes}", None, "a power of two, at least a bus word")

    @property
    def page_bits(self) -> int:
        """log2 of the page at which AXI bursts are split."""
        return (self.page_bytes or bus_limits()["page_bytes"]).bit_length() - 1

    @property
    def word(self) -> int:
        """Bytes of a bus word."""
        return self.data_width // 8

    @property
    def offset_bits(self) -> int:
        return self.word.bit_length() - 1


@dataclass(frozen=True, slots=True)
class Request:
    """One 1D transfer. Protocols by code; `max_llen` is log2 of beats and counts only where `reduce_len` is set."""

    src: int
    dst: int
    length: int
    src_protocol: int = AXI
    dst_protocol: int = AXI
    decouple_rw: bool = False
    decouple_aw: bool = False
    src_reduce_len: bool = False
    src_max_llen: int = 0
    dst_reduce_len: bool = False
    dst_max_llen: int = 0
    compute: bool = False
    last: bool = True


FLAGS = ("decouple_rw", "decouple_aw", "src_reduce_len", "dst_reduce_len")
"""Parts of a request that are so, or not; `compute` is one that few front-ends say."""


def refusal(backend: Backend, request: Request) -> InputError | None:
    """Why a request cannot be given to the back-end at all; None where it can. Zero length is not among the reasons."""
    space = 1 << backend.address_width
    for name in ("src", "dst"):
        address = getattr(request, name)
        if not 0 <= address < space:
            return InputError(f"{name}_addr is {address}", None, f"0 to 2^{backend.address_width} - 1")
    if not 0 <= request.length < (1 << backend.length_width):
        return InputError(f"length is {request.length}", None, f"0 to 2^{backend.length_width} - 1")
    for name in ("src_max_llen", "dst_max_llen"):
        if not 0 <= getattr(request, name) <= MOST_LLEN:
            return InputError(f"{name} is {getattr(request, name)}", None, "0 to 7: log2 of the beats")
    for name, code, have in (
        ("src_protocol", request.src_protocol, backend.variant.reads),
        ("dst_protocol", request.dst_protocol, backend.variant.writes),
    ):
        if code not in have:
            known = ", ".join(f"{c} {NAMES[c]}" for c in sorted(have))
            text = NAMES[code] if 0 <= code < len(NAMES) else str(code)
            return InputError(f"{name} is {text}, which {backend.variant.name} has not on this side", None, known)
    return None
