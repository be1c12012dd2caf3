"""Register front-ends: images of writes and launching reads, read and written.

Knows: the maps of the register front-ends, the fields of `conf`, that registers keep their values between launches.
Does not know: desc_64, inst_64, what a descriptor is good for.
Law: `read(write(told)) == told` for every descriptor that a map can say; a launch is a read of next_id and nothing
else.

    0xD0 = 0x20000          a write; several make up a transfer
    read 0x44               the read of next_id that launches

Source: iDMA paper, 2.1 and Table 1; iDMA v0.7.0, `idma_reg32_3d`, `idma_reg64_2d`, `idma_reg64_1d`. The paper's 32-bit
maps with fewer dimensions are read as the 32-bit map without those registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dmaverify.errors import InputError, Source
from dmaverify.machines.idma.engine import NAMES, Request
from dmaverify.machines.idma.nd import Descriptor, Dim, signed
from dmaverify.machines.idma.text import Image, Line, Told, bits, field_of, lines_of

CONF, STATUS, NEXT_ID, DONE_ID = 0x00, 0x04, 0x44, 0x84
STREAMS = 16
"""Copies of status, next_id and done_id, four bytes apart."""


@dataclass(frozen=True, slots=True)
class Map:
    """One register map. `dims` counts outer dimensions; `nd_bits` is the width of enable_nd in `conf`."""

    name: str
    width: int
    dims: int
    nd_bits: int
    dst: int
    src: int
    length: int
    first_dim: int
    paper: str

    @property
    def words(self) -> int:
        """32-bit registers of a value."""
        return self.width // 32

    def dim(self, k: int) -> tuple[int, int, int]:
        """Offsets of dst_stride, src_stride and reps of dimension k."""
        step = 4 * self.words
        base = self.first_dim + 3 * step * k
        return base, base + step, base + 2 * step


def _map32(name: str, dims: int, paper: str) -> Map:
    return Map(name, 32, dims, 3 if dims == 2 else 2, 0xD0, 0xD4, 0xD8, 0xE0, paper)


def _map64(name: str, dims: int, paper: str) -> Map:
    return Map(name, 64, dims, 2, 0xD0, 0xD8, 0xE0, 0x100, paper)


MAPS = {
    one.name: one
    for one in (
        _map32("reg32_1d", 0, "reg_32"), _map32("reg32_2d", 1, "reg_32_2d"), _map32("reg32_3d", 2, "reg_32_3d"),
        _map64("reg64_1d", 0, "reg_64"), _map64("reg64_2d", 1, "reg_64_2d"),
    )
}  # fmt: skip


def conf_of(map_: Map, request: Request, enable_nd: int) -> int:
    """The conf register. Raises InputError for a field that does not fit."""
    at = 10 + map_.nd_bits
    fields = (
        ("decouple_aw", request.decouple_aw, 0, 1),
        ("decouple_rw", request.decouple_rw, 1, 1),
        ("src_reduce_len", request.src_reduce_len, 2, 1),
        ("dst_reduce_len", request.dst_reduce_len, 3, 1),
        ("src_max_llen", request.src_max_llen, 4, 3),
        ("dst_max_llen", request.dst_max_llen, 7, 3),
        ("enable_nd", enable_nd, 10, map_.nd_bits),
        ("src_protocol", request.src_protocol, at, 3),
        ("dst_protocol", request.dst_protocol, at + 3, 3),
    )
    return sum(field_of(int(value), low, width, name) for name, value, low, width in fields)


def write(map_: Map, told: Sequence[Told]) -> str:
    """The image of some descriptors, one launch each. Raises InputError for what the map cannot say."""
    out = [map_.name]
    for one in told:
        d, r = one.descriptor, one.descriptor.request
        if len(d.dims) > map_.dims:
            raise InputError(
                f"{len(d.dims)} dimensions; {map_.name} has {map_.dims}", None, "use fewer, or another map"
            )
        if r.compute:
            raise InputError("compute is not part of this image", None, "leave it out")
        if d.empty:
            raise InputError("all repetitions are 0", None, "leave the descriptor out: it moves nothing")
        values = [(CONF, conf_of(map_, r, len(d.dims)), 1, "conf"), (map_.dst, r.dst, map_.words, "dst_addr")]
        values += [(map_.src, r.src, map_.words, "src_addr"), (map_.length, r.length, map_.words, "length")]
        for k, dim in enumerate(d.dims):
            mask = (1 << map_.width) - 1
            for offset, value, name in zip(
                map_.dim(k), (dim.dst_stride & mask, dim.src_stride & mask, dim.reps),
                ("dst_stride", "src_stride", "reps"), strict=True,
            ):  # fmt: skip
                values.append((offset, value, map_.words, f"{name} of dimension {k}"))
        for offset, value, words, name in values:
            field_of(value, 0, 32 * words, name)
            halves = [(offset + 4 * word, value >> (32 * word) & 0xFFFFFFFF) for word in range(words)]
            out += [f"0x{register:02X} = 0x{half:08X}  # {name}" for register, half in halves]
        out.append(f"read 0x{NEXT_ID:02X}")
    return "\n".join(out) + "\n"


def read(map_: Map, text: str, source: Source, offset: int) -> Image:
    """The launches of an image. Registers keep their values, and are 0 after reset. Raises InputError."""
    held: dict[int, int] = {}
    told: list[Told] = []
    lines = list(lines_of(source, offset, text))
    begun = None
    for line in lines:
        begun = begun or line.span
        if line.words[0][0].lower() == "read":
            register = line.number(1, "the register")
            if NEXT_ID <= register < NEXT_ID + 4 * STREAMS and register % 4 == 0:
                told.append(_launched(map_, held, begun.to(line.span)))
                begun = None
            elif not (STATUS <= register < NEXT_ID or DONE_ID <= register < DONE_ID + 4 * STREAMS):
                line.refuse(f"0x{register:X} is no register to read", "next_id is 0x44, and 4 more for each stream", 1)
            continue
        register, value = line.number(0, "the register"), line.number(1, "the value")
        if len(line.words) > 2:
            line.refuse("more than a register and a value", "0xD0 = 0x20000", 2)
        _known(map_, line, register)
        if not 0 <= value <= 0xFFFFFFFF:
            line.refuse(f"0x{value:X} does not fit 32 bits", "write the two halves of a 64-bit value", 1)
        held[register] = value
    if not told:
        span = lines[-1].span if lines else None
        raise InputError("nothing is launched", span, f"a read of next_id launches: read 0x{NEXT_ID:02X}")
    return Image(tuple(told))


def _known(map_: Map, line: Line, register: int) -> None:
    starts = [map_.dst, map_.src, map_.length, *(o for k in range(map_.dims) for o in map_.dim(k))]
    known = {CONF, *(s + 4 * w for s in starts for w in range(map_.words))}
    if register not in known:
        shown = ", ".join(f"0x{r:X}" for r in sorted(known))
        line.refuse(f"{map_.name} has no register 0x{register:X} to write", shown, 0)


def _launched(map_: Map, held: dict[int, int], span: object) -> Told:
    def value(at: int) -> int:
        return sum(held.get(at + 4 * w, 0) << (32 * w) for w in range(map_.words))

    conf, at = held.get(CONF, 0), 10 + map_.nd_bits
    enabled = min(bits(conf, at - 1, 10), map_.dims)
    protocols = bits(conf, at + 2, at), bits(conf, at + 5, at + 3)
    for code in protocols:
        if code >= len(NAMES):
            raise InputError(f"conf asks for protocol {code}", span, "0 AXI to 5 AXI-Stream")  # type: ignore[arg-type]
    request = Request(
        value(map_.src), value(map_.dst), value(map_.length), *protocols, bool(conf & 2), bool(conf & 1),
        bool(conf & 4), bits(conf, 6, 4), bool(conf & 8), bits(conf, 9, 7),
    )  # fmt: skip
    dims = []
    for k in range(enabled):
        dst, src, reps = (value(o) for o in map_.dim(k))
        dims.append(Dim(reps, signed(src, map_.width), signed(dst, map_.width)))
    from dmaverify.machines.idma.jobs import request_options

    if dims and enabled < map_.dims and all(dim.reps == 0 for dim in dims):
        dims.append(Dim(1, 0, 0))  # what is not enabled counts once, so that not all are 0
    return Told(Descriptor(request, tuple(dims)), request_options(request), span)  # type: ignore[arg-type]
