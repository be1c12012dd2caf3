"""Register front-ends: images of writes and launching reads, read and written.

Knows: the maps of the register front-ends, the fields of `conf`, that registers keep their values between launches.
Does not know: desc_64, inst_64, what a descriptor is good for.
Law: `read(write(told)) == told` for every descriptor that a map can say; a launch is a read of next_id and nothing
else.

    0xD0 = 0x20000          a write; several make up a transfer
    read 0x44               the read of next_id that launches
    wait                    done_id is read until it is the id of the last launch

Source: iDMA paper, 2.1 and Table 1; iDMA v0.7.0, `idma_reg.rdl` with its parameters as `idma.mk` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.errors import InputError, Source, Span
from dmaverify.machines.idma.engine import NAMES, Request
from dmaverify.machines.idma.jobs import request_options
from dmaverify.machines.idma.nd import Descriptor, Dim, signed
from dmaverify.machines.idma.text import Image, Line, ToldDescriptor, bits, field_of, lines_of, reserved, stride_of
from dmaverify.program.form import Word
from dmaverify.targets.modules import Derived
from dmaverify.values import dataclass, replace

CONF, STATUS, NEXT_ID, DONE_ID = 0x00, 0x04, 0x44, 0x84
STREAMS = 16
"""Copies of status, next_id and done_id, four bytes apart."""
OTHER_ENGINES = 1 << 40
"""Channels from here on are those of engines at other addresses, by these."""


@dataclass(frozen=True, slots=True)
class RegisterMap:
    """One register map. `dims` counts outer dimensions; `nd_bits` is the width of enable_nd in `conf`."""

    name: str
    width: int
    dims: int
    nd_bits: int
    dst: int
    src: int
    length: int
    first_dim: int
    compute: int
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

    @property
    def parts(self) -> dict[int, tuple[str, int]]:
        """What each register is: part of a descriptor, and at which bit of it."""
        starts = {"conf": CONF, "dst": self.dst, "src": self.src, "length": self.length, "compute": self.compute}
        for k in range(self.dims):
            starts |= dict(zip((f"dst_stride{k}", f"src_stride{k}", f"reps{k}"), self.dim(k), strict=True))
        single = ("conf", "compute")
        return {
            at + 4 * word: (part, 32 * word)
            for part, at in starts.items()
            for word in range(1 if part in single else self.words)
        }

    @property
    def conf_mask(self) -> int:
        """The bits of `conf` that v0.7.0 looks at."""
        return (1 << (10 + self.nd_bits + 6)) - 1


def _map(width: int, dims: int) -> RegisterMap:
    """The map that v0.7.0 generates for addresses of `width` bits; the 1D transfer is one of the dimensions."""
    word, paper = width // 8, f"reg_{width}" + (f"_{dims}d" if dims > 1 else "")
    first = 0xE0 if width == 32 else 0x100
    compute = first + 3 * word * max(1, dims - 1)
    bits_ = 1 + max(1, (dims - 1).bit_length())
    return RegisterMap(
        f"reg{width}_{dims}d", width, dims - 1, bits_, 0xD0, 0xD0 + word, 0xD0 + 2 * word, first, compute, paper
    )


MAPS = {one.name: one for one in (_map(width, dims) for width in (32, 64) for dims in range(1, 5))}


def conf_of(map_: RegisterMap, request: Request, enable_nd: int) -> int:
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


def write(map_: RegisterMap, told: Sequence[ToldDescriptor]) -> str:
    """The image of some descriptors, one launch each. Raises InputError for what the map cannot say."""
    out = [map_.name]
    for one in told:
        d, r = one.descriptor, one.descriptor.request
        if len(d.dims) > map_.dims:
            raise InputError(
                f"{len(d.dims)} loops over 1D transfers; {map_.name} has {map_.dims}", None, "use fewer, or another map"
            )
        if r.compute:
            raise InputError("compute is not part of this image", None, "leave it out")
        if d.empty:
            raise InputError("all repetitions are 0", None, "leave the descriptor out: it moves nothing")
        values = [(CONF, conf_of(map_, r, len(d.dims)), 1, "conf"), (map_.dst, r.dst, map_.words, "dst_addr")]
        values += [(map_.src, r.src, map_.words, "src_addr"), (map_.length, r.length, map_.words, "length")]
        for k, dim in enumerate(d.dims):
            for offset, value, name in zip(
                map_.dim(k),
                (stride_of(dim.dst_stride, map_.width, f"dst_stride of dimension {k}"),
                 stride_of(dim.src_stride, map_.width, f"src_stride of dimension {k}"), dim.reps),
                ("dst_stride", "src_stride", "reps"), strict=True,
            ):  # fmt: skip
                values.append((offset, value, map_.words, f"{name} of dimension {k}"))
        for offset, value, words, name in values:
            field_of(value, 0, 32 * words, name)
            halves = [(offset + 4 * word, value >> (32 * word) & 0xFFFFFFFF) for word in range(words)]
            out += [f"0x{register:02X} = 0x{half:08X}  # {name}" for register, half in halves]
        out.append(f"read 0x{NEXT_ID + 4 * max(0, one.channel):02X}")
    return "\n".join(out) + "\n"


@dataclass(frozen=True, slots=True)
class _Held:
    """The last write of a register: what was written, and the line."""

    value: int
    line: Line


def read(map_: RegisterMap, text: str, source: Source, offset: int, begins: int = 0) -> Image:
    """The launches of an image. Registers keep their values, and are 0 after reset. Raises InputError.

    `begins` is where the text of the form begins in `source`; `offset` is where its registers do.
    """
    held: dict[int, _Held] = {}
    told: list[ToldDescriptor] = []
    facts: list[Derived] = []
    lines = list(lines_of(source, offset, text))
    waits: list[int] = []
    begun = None
    for line in lines:
        begun = begun or line.span
        if line.words[0][0].lower() == "read":
            register = line.number(1, "the register")
            line.just(2, f"read 0x{NEXT_ID:02X}")
            if NEXT_ID <= register < NEXT_ID + 4 * STREAMS and register % 4 == 0:
                conf_at = held[CONF].line.words[1][1] if CONF in held else None
                one = launched(map_, {at: one.value for at, one in held.items()}, begun.to(line.span), conf_at)
                channel = (register - NEXT_ID) // 4
                told.append(replace(one, words=_words(map_, held, begins), channel=channel))
                begun = None
            elif not (STATUS <= register < NEXT_ID or DONE_ID <= register < DONE_ID + 4 * STREAMS) or register % 4:
                line.refuse(f"0x{register:X} is no register to read", "next_id is 0x44, and 4 more for each stream", 1)
            continue
        if line.words[0][0].lower() == "wait":
            line.just(1, "wait: until done_id is the id of the last launch")
            waits.append(len(told))
            continue
        register, value = line.number(0, "the register"), line.number(1, "the value")
        line.just(2, "a register and a value: 0xD0 = 0x20000")
        if register not in map_.parts:
            shown = ", ".join(f"0x{r:X}" for r in sorted(map_.parts))
            line.refuse(f"{map_.name} has no register 0x{register:X} to write", shown, 0)
        if not 0 <= value <= 0xFFFFFFFF:
            line.refuse(f"{line.words[1][0]} does not fit 32 bits", "write the two halves of a 64-bit value", 1)
        held[register] = _Held(value, line)
        if register == CONF:
            facts.append(reserved(value, map_.conf_mask, "conf", line.words[1][1]))
    if not told:
        span = lines[-1].span if lines else None
        raise InputError("nothing is launched", span, f"a read of next_id launches: read 0x{NEXT_ID:02X}")
    return Image(tuple(told), tuple(facts), waits=tuple(waits))


def _words(map_: RegisterMap, held: dict[int, _Held], begins: int) -> tuple[Word, ...]:
    parts = map_.parts
    return tuple(
        one.line.part(1, parts[register][0], f"0x{register:02X}", 32, begins, parts[register][1])
        for register, one in sorted(held.items())
    )


def looked_at(map_: RegisterMap, conf: int) -> dict[int, tuple[str, int]]:
    """The registers that a launch with this `conf` looks at, as in `parts`."""
    enabled = min(bits(conf, 9 + map_.nd_bits, 10), map_.dims)
    most = max(map_.dim(k)[2] for k in range(enabled)) + 4 * map_.words if enabled > 0 else map_.first_dim
    return {at: part for at, part in map_.parts.items() if at < most or part[0] == "compute"}


def launched(map_: RegisterMap, held: Mapping[int, int], span: Span, conf_at: Span | None = None) -> ToldDescriptor:
    """The descriptor that a read of next_id launches. Raises InputError."""

    def value(at: int, words: int = map_.words) -> int:
        return sum(held[at + 4 * w] * (1 << (32 * w)) for w in range(words) if at + 4 * w in held)

    conf, at = value(CONF, 1), 10 + map_.nd_bits
    enabled = min(bits(conf, at - 1, 10), map_.dims)
    protocols = bits(conf, at + 2, at), bits(conf, at + 5, at + 3)
    for code in protocols:
        if code >= len(NAMES):
            raise InputError(f"conf asks for protocol {code}", conf_at or span, "0 AXI to 5 AXI-Stream")
    request = Request(
        value(map_.src), value(map_.dst), value(map_.length), *protocols, bool(conf & 2), bool(conf & 1),
        bool(conf & 4), bits(conf, 6, 4), bool(conf & 8), bits(conf, 9, 7), bool(value(map_.compute, 1)),
    )  # fmt: skip
    dims = []
    for k in range(enabled):
        dst, src, reps = (value(o) for o in map_.dim(k))
        dims.append(Dim(reps, signed(src, map_.width), signed(dst, map_.width)))
    if dims and enabled < map_.dims and all(dim.reps == 0 for dim in dims):
        dims.append(Dim(1, 0, 0))  # what is not enabled counts once, so that not all are 0
    return ToldDescriptor(Descriptor(request, tuple(dims)), request_options(request), span)
