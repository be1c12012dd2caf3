"""inst_64: the instructions that a Snitch core gives its iDMA, read and written.

Knows: mnemonics, the state that sticks between launches. Does not know: registers of other front-ends.
Law: `read(write(told)) == told` for every descriptor of at most two dimensions; a launch uses whatever the instructions
before it left behind, as the hardware does.

    dmsrc 0x1000, 0         low and high part of an address: the values in rs1 and rs2
    dmdst 0x20000, 0
    dmstr 64, 128           strides of source and destination
    dmrep 8
    dmcpyi 64, 2            length and configuration: bit 1 is 2D, bits 4:2 the channel
    dminit 64, 1            fills with zeros (0), ones (1) or the byte of dmsrc (2); bits 4:2 the channel
    wait                    dmstat is read until the last launch is complete

Source: iDMA paper, 2.1 (Instruction-based) and 3.5; iDMA v0.7.0, `inst64`, opcode 0x2B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.errors import InputError, Source
from dmaverify.machines.idma.engine import AXI, INIT, NAMES, OBI, Request
from dmaverify.machines.idma.jobs import request_options
from dmaverify.machines.idma.nd import Descriptor, Dim, signed
from dmaverify.machines.idma.text import Image, Line, ToldDescriptor, field_of, lines_of, reserved, stride_of
from dmaverify.program.form import Word
from dmaverify.targets.modules import Derived

_OPERANDS = {
    "dmsrc": 2,
    "dmdst": 2,
    "dmcpyi": 2,
    "dmcpy": 2,
    "dminit": 2,
    "dmstr": 2,
    "dmrep": 1,
    "dmuser": 1,
    "dmstat": 1,
    "dmstati": 1,
    "wait": 0,
}
TWO_D = 2
STRIDE_WIDTH = 32


def write(told: Sequence[ToldDescriptor]) -> str:
    """The instructions of some descriptors: three for 1D, at most six for 2D; state that is there already is kept."""
    out = ["inst64"]
    held: dict[str, tuple[int, ...]] = {}

    def say(name: str, *values: int) -> None:
        if held.get(name) != values:
            held[name] = values
            out.append(f"{name} {', '.join(f'0x{v:x}' for v in values)}")

    for one in told:
        d, r = one.descriptor, one.descriptor.request
        if len(d.dims) > 1:
            raise InputError(
                f"{len(d.dims)} loops over 1D transfers; inst_64 has 1", None, "launch the outer loops one by one"
            )
        if r.decouple_aw or r.decouple_rw or r.src_reduce_len or r.dst_reduce_len:
            raise InputError("inst_64 has no back-end options", None, "leave them out")
        filled = r.src_protocol == INIT
        for protocol in (() if filled else (r.src_protocol,)) + (r.dst_protocol,):
            if protocol not in (AXI, OBI):
                raise InputError(f"inst_64 asks for no {NAMES[protocol]}", None, "copies of OBI or AXI, and dminit")
        if filled and (d.dims or r.src > 0xFF):
            what = "loops over dminit" if d.dims else f"a dminit of 0x{r.src:x}"
            raise InputError(what, None, "one launch a row, filled with a byte")
        pattern = next((cfg for cfg, value in _PATTERNS.items() if filled and value == r.src), 2)
        if not filled or pattern == 2:
            say("dmsrc", r.src & 0xFFFFFFFF, r.src >> 32)
        say("dmdst", r.dst & 0xFFFFFFFF, r.dst >> 32)
        for what, address in (("src", r.src), ("dst", r.dst)):
            field_of(address, 0, 64, what)
        for dim in d.dims:
            for what, stride in (("src_stride", dim.src_stride), ("dst_stride", dim.dst_stride)):
                stride_of(stride, STRIDE_WIDTH, what)
            field_of(dim.reps, 0, 32, "reps")
            say("dmstr", dim.src_stride & 0xFFFFFFFF, dim.dst_stride & 0xFFFFFFFF)
            say("dmrep", dim.reps)
        field_of(r.length, 0, 32, "length")
        channel = max(0, one.channel) << 2
        if filled:
            out.append(f"dminit 0x{r.length:x}, {pattern | channel}")
            if pattern in _PATTERNS:
                held.pop("dmsrc", None)
        else:
            out.append(f"dmcpyi 0x{r.length:x}, {(TWO_D if d.dims else 0) | channel}")
    return "\n".join(out) + "\n"


def read(text: str, source: Source, offset: int, begins: int = 0) -> Image:
    """The launches of a sequence. Strides and repetitions stick, and are 0 at reset. Raises InputError.

    `begins` is where the text of the form begins in `source`; `offset` is where its instructions do.
    """
    held: dict[str, Line] = {}
    told: list[ToldDescriptor] = []
    facts: list[Derived] = []
    waits: list[int] = []
    left = 0
    line = None
    for line in lines_of(source, offset, text):
        name = line.words[0][0].lower()
        if name not in _OPERANDS:
            line.refuse(f"`{name}` is no instruction of inst_64", f"known: {', '.join(_OPERANDS)}", 0)
        if len(line.words) - 1 != _OPERANDS[name]:
            line.refuse(f"{name} has {_OPERANDS[name]} operands", "the values that its registers hold")
        for number in range(1, len(line.words)):
            value = line.number(number, f"operand {number}")
            if not -(1 << 31) <= value < 1 << 32:
                line.refuse(
                    f"operand {number} of {name} is {line.words[number][0]}: a register of the core has 32 bits, the "
                    "rest would be cut off",
                    "an address is a low and a high part; a longer stride needs launches of its own", number,
                )  # fmt: skip
        if name in ("dmsrc", "dmdst", "dmstr", "dmrep"):
            held[name] = line
        elif name == "wait":
            waits.append(len(told))
        elif name in ("dmcpy", "dmcpyi", "dminit"):
            told.append(_launched(line, held, begins, left))
            if name == "dminit" and (pattern := _PATTERNS.get(line.number(2, "cfg") & 3)) is not None:
                held.pop("dmsrc", None)
                left = pattern  # it stands there now
            known, where = 0x1F if name == "dminit" else 0x1E, f"configuration of launch {len(told) - 1}"
            facts.append(reserved(line.number(2, "cfg"), known, where, line.words[2][1]))
    if not told:
        raise InputError("nothing is launched", line.span if line else None, "dmcpy or dmcpyi launches")
    return Image(tuple(told), tuple(facts), waits=tuple(waits))


_PATTERNS = {0: 0, 1: 0xFF}
"""What a dminit writes, by its configuration; with another one, what dmsrc holds."""
_PARTS = {
    "dmsrc": (("src", 0), ("src", 32)), "dmdst": (("dst", 0), ("dst", 32)), "dmrep": (("reps0", 0),),
    "dmstr": (("src_stride0", 0), ("dst_stride0", 0)),
}  # fmt: skip


def _launched(line: Line, held: dict[str, Line], begins: int, left: int) -> ToldDescriptor:
    """What an instruction launches; `left` is the source where no dmsrc says it."""
    words = [
        one.part(number + 1, part, f"{name} operand {number + 1}", 32, begins, shift)
        for name, one in held.items()
        for number, (part, shift) in enumerate(_PARTS[name])
    ]
    name = line.words[0][0].lower()
    words += [line.part(1, "length", f"{name} length", 32, begins), line.part(2, "conf", f"{name} cfg", 5, begins)]
    values: dict[str, int] = {} if "dmsrc" in held else {"src": left}
    for word in words:
        values[word.part] = values.get(word.part, 0) | word.value << word.shift
    cfg = line.number(2, "the configuration")
    if not 0 <= cfg < 32:
        line.refuse(f"the configuration is {cfg}", "0 for 1D, 2 for 2D, the channel from bit 2 on", 2)
    if name == "dminit":
        return _filled(values, cfg, line, tuple(words))
    request = Request(values["src"], values.get("dst", 0), values["length"], AXI, AXI)
    strides = [signed(values.get(part, 0), STRIDE_WIDTH) for part in ("src_stride0", "dst_stride0")]
    dims = (Dim(values.get("reps0", 0), *strides),) if cfg & TWO_D else ()
    options = {k: v for k, v in request_options(request).items() if "protocol" not in k}
    return ToldDescriptor(Descriptor(request, dims), options, line.span, tuple(words), cfg >> 2)


def _filled(values: Mapping[str, int], cfg: int, line: Line, words: tuple[Word, ...]) -> ToldDescriptor:
    """A dminit: zeros, ones, or the byte that dmsrc holds. It leaves that value behind as the source."""
    value = _PATTERNS.get(cfg & 3, values["src"])
    request = Request(value, values.get("dst", 0), values["length"], INIT, AXI)
    options: dict[str, int | str] = {k: v for k, v in request_options(request).items() if "protocol" not in k}
    return ToldDescriptor(Descriptor(request), {**options, "src_protocol": "init"}, line.span, words, cfg >> 2)
