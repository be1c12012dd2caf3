"""Generated kernels as PTO text, in either surface.

Knows: how copies, flags and vector work are written. Does not know: what is drawn, what is right.
Law: every part of a kernel becomes its lines, in order; constants are defined once, at the head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dmaverify.program.instructions import Shared


@dataclass(frozen=True, slots=True)
class DrawnCopy:
    """A copy: `kind`, the tensor, addresses with their step for each iteration of the loop around (UB: by parity)."""

    kind: str
    tensor: str
    gm: int
    gm_step: int
    ub: int
    ub_step: int
    rows: int
    length: int
    gm_pitch: int
    ub_pitch: int
    loops: tuple[tuple[int, int, int], ...] = ()
    pad: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Sync:
    """A set or wait; `event` None is the parity of the loop."""

    action: str
    source: str
    dest: str
    event: int | None


@dataclass(frozen=True, slots=True)
class Vector:
    """Reads and writes of the vector unit, `rows` times one register.

    `kind`: plain takes whole registers; of `count` elements plt masks the last register, pack unpacks and packs them,
    spread writes the first to all; point sums `count` elements of each row into one.
    """

    read: int
    write: int
    step: int
    rows: int
    kind: str = "plain"
    count: int = 0
    masked: bool = True


@dataclass(frozen=True, slots=True)
class DrawnFence:
    pipe: str


@dataclass(frozen=True, slots=True)
class Arrive:
    """A wait of a pipe for the other core; of all pipes where it names none."""

    pipe: str
    flag: int = 3


@dataclass(frozen=True, slots=True)
class DrawnRelease:
    """Lets the other core go on once a pipe is done."""

    pipe: str
    flag: int = 4


@dataclass(frozen=True, slots=True)
class Mode:
    """What stores do from there on: `add`, `max`, `min`, or `none`."""

    name: str


@dataclass(frozen=True)
class DrawnKernel:
    """`before`, then `body` `trips` times, then `after`. `tensors` are bytes by name, `core` is what the other core
    writes, `bits` are those of the integers that addresses in the loop are computed in, extended with a sign or not.
    """

    tensors: dict[str, int]
    before: tuple[object, ...]
    body: tuple[object, ...]
    after: tuple[object, ...]
    trips: int
    item: int = 4
    inline: bool = True
    note: str = ""
    core: tuple[Shared, ...] = ()
    bits: int = 64
    signed: bool = True

    @property
    def pads_any(self) -> bool:
        """Whether the padding has a value that the caller gives."""
        return self.inline and self.trips % 4 == 1

    def text(self) -> str:
        return KernelWriter(self).text()


@dataclass
class KernelWriter:
    """Text of a kernel in its surface."""

    kernel: DrawnKernel
    numbers: dict[int, None] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def c(self, value: int) -> str:
        self.numbers[value] = None
        return f"%k{value}" if value >= 0 else f"%m{-value}"

    def text(self) -> str:
        kernel = self.kernel
        kind = {2: "f16", 4: "f32"}[kernel.item]
        self._parts(kernel.before, "  ", False)
        if kernel.body:
            self.lines.append(f"  scf.for %i = %lo to {self._index(kernel.trips)} step %one {{")
            self.lines.append("    %par = arith.remui %i, %two : index")
            self._parts(kernel.body, "    ", True)
            self.lines.append("  }")
        self._parts(kernel.after, "  ", False)
        args = ", ".join(f"%{name}: !pto.ptr<{kind}, gm>" for name in kernel.tensors)
        head = [f"// dmaverify: gm %{name} = {size} bytes" for name, size in kernel.tensors.items()]
        head += [_stated(shared) for shared in kernel.core]
        constants = [f"  {self.c(n)} = arith.constant {n} : i64" for n in sorted(self.numbers)]
        constants += [f"  %{name} = arith.constant {n} : index" for name, n in (("lo", 0), ("one", 1), ("two", 2))]
        constants += [
            f"  %t{kernel.trips} = arith.constant {kernel.trips} : index",
            "  %off = arith.constant false",
            "  %on = arith.constant true",
        ]
        if kernel.pads_any:
            args += f", %zero: {kind}"
        else:
            constants += [f"  %zero = arith.constant 0.0 : {kind}"]
        return "\n".join([*head, f"func.func @kernel({args}) {{", *constants, *self.lines, "  return", "}", ""])

    def _index(self, value: int) -> str:
        return f"%t{value}"

    def _parts(self, parts: Sequence[object], pad: str, looped: bool) -> None:
        for part in parts:
            if isinstance(part, DrawnCopy):
                self._tile(part, pad, looped)
            elif isinstance(part, Sync):
                if part.event is None:
                    self.lines.append(
                        f'{pad}pto.{part.action}_flag_dyn["PIPE_{part.source}", "PIPE_{part.dest}", %par]'
                    )
                else:
                    self.lines.append(
                        f'{pad}pto.{part.action}_flag["PIPE_{part.source}", "PIPE_{part.dest}", "EVENT_ID{part.event}"]'
                    )
            elif isinstance(part, Arrive):
                wait = f"sync.wait <PIPE_{part.pipe}>," if part.pipe else "wait_flag_dev"
                self.lines.append(f"{pad}pto.{wait} {part.flag}")
            elif isinstance(part, DrawnRelease):
                self.lines.append(f"{pad}pto.sync.set <PIPE_{part.pipe}>, {part.flag}")
            elif isinstance(part, Mode):
                self.lines.append(f"{pad}pto.set_atomic_{part.name}")
            elif isinstance(part, DrawnFence):
                self.lines.append(f'{pad}pto.pipe_barrier "PIPE_{part.pipe}"')
            elif isinstance(part, Vector):
                self._vector(part, pad)

    def _pointer(self, tile: DrawnCopy, pad: str, looped: bool) -> tuple[str, str]:
        self.count += 1
        n, item, lines = self.count, self.kernel.item, self.lines
        kind = {2: "f16", 4: "f32"}[item]
        gm, ub = f"!pto.ptr<{kind}, gm>", f"!pto.ptr<{kind}, ub>"
        lines.append(f"{pad}%g{n} = pto.addptr %{tile.tensor}, {self.c(tile.gm // item)} : {gm} -> {gm}")
        lines.append(f"{pad}%u{n} = pto.castptr {self.c(tile.ub)} : i64 -> {ub}")
        names = [f"%g{n}", f"%u{n}"]
        if looped:
            for at, (step, by, mark) in enumerate(((tile.gm_step, "%i", gm), (tile.ub_step, "%par", ub))):
                lines += self._offset(f"{n}{at}", by, step // item, pad)
                lines.append(f"{pad}%q{n}{at} = pto.addptr {names[at]}, %o{n}{at} : {mark} -> {mark}")
                names[at] = f"%q{n}{at}"
        return names[0], names[1]

    def _offset(self, name: str, by: str, step: int, pad: str) -> list[str]:
        """`by` times a step, in the bits of the kernel."""
        bits, factor = self.kernel.bits, self.c(step)
        out = [f"{pad}%s{name} = arith.index_cast {by} : index to i{bits}"]
        if bits == 64:
            return [*out, f"{pad}%o{name} = arith.muli %s{name}, {factor} : i64"]
        wide = "extsi" if self.kernel.signed else "extui"
        return [
            *out,
            f"{pad}%f{name} = arith.trunci {factor} : i64 to i{bits}",
            f"{pad}%p{name} = arith.muli %s{name}, %f{name} : i{bits}",
            f"{pad}%o{name} = arith.{wide} %p{name} : i{bits} to i64",
        ]

    def _tile(self, tile: DrawnCopy, pad: str, looped: bool) -> None:
        gm, ub = self._pointer(tile, pad, looped)
        kind = {2: "f16", 4: "f32"}[self.kernel.item]
        load = tile.kind == "load"
        c = self.c
        loops = [(n, g, u) if load else (n, u, g) for n, g, u in tile.loops]
        own = (tile.rows, tile.gm_pitch, tile.ub_pitch) if load else (tile.rows, tile.ub_pitch, tile.gm_pitch)
        types = f"!pto.ptr<{kind}, gm>, !pto.ptr<{kind}, ub>" if load else f"!pto.ptr<{kind}, ub>, !pto.ptr<{kind}, gm>"
        if self.kernel.inline:
            groups = f"nburst({', '.join(map(c, own))})" + "".join(f" loop({', '.join(map(c, one))})" for one in loops)
            tail = "i64, i64, i64, i64, i64" if load else "i64, i64, i64, i64"
            tail += ", loop i64, i64, i64" * len(loops)
            if tile.pad is not None:
                groups += f" pad(%zero, {c(tile.pad[0])}, {c(tile.pad[1])})"
                tail += f", pad {kind}, i64, i64"
            name, first = ("mte_gm_ub", f"{gm}, {ub}, {c(0)}") if load else ("mte_ub_gm", f"{ub}, {gm}")
            self.lines.append(f"{pad}pto.{name} {first}, {c(tile.length)} {groups}")
            self.lines.append(f"{pad}    : {types}, {tail}")
            return
        way = "outtoub" if load else "ubtoout"
        sizes = [one[0] for one in loops] + [1, 1]
        self.lines.append(f"{pad}pto.set_loop_size_{way} {c(sizes[0])}, {c(sizes[1])} : i64, i64")
        for at, one in enumerate(loops, 1):
            self.lines.append(f"{pad}pto.set_loop{at}_stride_{way} {c(one[1])}, {c(one[2])} : i64, i64")
        if load:
            left, right = tile.pad or (0, 0)
            if tile.pad is not None:
                self.lines.append(f"{pad}pto.set_mov_pad_val %zero : {kind}")
            bit = "%on" if tile.pad is not None else "%off"
            numbers = [c(n) for n in (0, tile.rows, tile.length, left, right)]
            rest = f"{', '.join(numbers)}, {bit}, {c(0)},\n{pad}    {c(tile.gm_pitch)}, {c(tile.ub_pitch)}"
            self.lines.append(f"{pad}pto.copy_gm_to_ubuf {gm}, {ub}, {rest}")
            self.lines.append(f"{pad}    : {types}, i64, i64, i64, i64, i64, i1, i64, i64, i64")
        else:
            rest = f"{c(0)}, {c(tile.rows)}, {c(tile.length)}, {c(0)}, {c(tile.gm_pitch)}, {c(tile.ub_pitch)}"
            self.lines.append(f"{pad}pto.copy_ubuf_to_gm {ub}, {gm}, {rest}")
            self.lines.append(f"{pad}    : {types}, i64, i64, i64, i64, i64, i64")

    def _vector(self, part: Vector, pad: str) -> None:
        self.count += 1
        n, item = self.count, self.kernel.item
        kind = {2: "f16", 4: "f32"}[item]
        lanes = 256 // item
        ub, reg = f"!pto.ptr<{kind}, ub>", f"!pto.vreg<{lanes}x{kind}>"
        if part.kind != "plain":
            self._partial(part, pad, n, kind, ub, reg)
            return
        self.lines += [
            f"{pad}%vr{n} = pto.castptr {self.c(part.read)} : i64 -> {ub}",
            f"{pad}%vw{n} = pto.castptr {self.c(part.write)} : i64 -> {ub}",
            f"{pad}%vn{n} = arith.constant {part.rows * lanes} : index",
            f"{pad}%vs{n} = arith.constant {lanes} : index",
            f"{pad}pto.vecscope {{",
            f"{pad}  scf.for %j{n} = %lo to %vn{n} step %vs{n} {{",
            f"{pad}    %a{n} = pto.vlds %vr{n}[%j{n}] : {ub} -> {reg}",
            f"{pad}    %b{n} = pto.vabs %a{n} : {reg} -> {reg}",
            f"{pad}    pto.vsts %b{n}, %vw{n}[%j{n}] : {reg}, {ub}",
            f"{pad}  }}",
            f"{pad}}}",
        ]

    def _partial(self, part: Vector, pad: str, n: int, kind: str, ub: str, reg: str) -> None:
        """Masked work: what the last register has too much is neither used nor written."""
        item = self.kernel.item
        bits = 32 if part.kind == "pack" else 8 * item
        lanes = 64 if part.kind == "pack" else 256 // item
        mask = f"!pto.mask<b{bits}>"
        load = {"pack": ' {dist = "UNPK_B16"}', "spread": f' {{dist = "BRC_B{8 * item}"}}'}.get(part.kind, "")
        store = {"pack": "PK_B32", "point": f"1PT_B{8 * item}"}.get(part.kind, f"NORM_B{8 * item}")
        source = "%lo" if part.kind == "spread" else f"%j{n}"
        dest = f"%d{n}" if part.kind == "point" else f"%j{n}"
        on = f", %m{n}" if part.masked else ""
        self.lines += [
            f"{pad}%vr{n} = pto.castptr {self.c(part.read)} : i64 -> {ub}",
            f"{pad}%vw{n} = pto.castptr {self.c(part.write)} : i64 -> {ub}",
            f"{pad}%vn{n} = arith.constant {part.rows * lanes} : index",
            f"{pad}%vs{n} = arith.constant {lanes} : index",
            f"{pad}%vc{n} = arith.constant {max(0, part.count)} : i32",
            f"{pad}pto.vecscope {{",
            f"{pad}  %last{n} = scf.for %j{n} = %lo to %vn{n} step %vs{n} iter_args(%left{n} = %vc{n}) -> (i32) {{",
            f"{pad}    %m{n}, %rest{n} = pto.plt_b{bits} %left{n} : i32 -> {mask}, i32",
            f"{pad}    %a{n} = pto.vlds %vr{n}[{source}]{load} : {ub} -> {reg}",
        ]
        value = f"%a{n}"
        if part.kind == "plt":
            self.lines.append(f"{pad}    %b{n} = pto.vabs %a{n}{on} : {reg}{', ' + mask if on else ''} -> {reg}")
            value = f"%b{n}"
        elif part.kind == "point":
            self.lines.append(f"{pad}    %d{n} = arith.divui %j{n}, %vs{n} : index")
            self.lines.append(f"{pad}    %b{n} = pto.vcadd %a{n}{on} : {reg}{', ' + mask if on else ''} -> {reg}")
            value = f"%b{n}"
        follow = f"%left{n}" if part.kind == "point" else f"%rest{n}"
        behind = f"{', ' + mask if on else ''}"
        self.lines += [
            f'{pad}    pto.vsts {value}, %vw{n}[{dest}]{on} {{dist = "{store}"}} : {reg}, {ub}{behind}',
            f"{pad}    scf.yield {follow} : i32",
            f"{pad}  }}",
            f"{pad}}}",
        ]


def _stated(shared: Shared) -> str:
    """The note that states what the other core does."""
    does = {"r": "reads", "w": "writes"}[shared.way]
    flags = "".join(f" {word} {n}" for word, n in (("before", shared.before), ("after", shared.after)) if n is not None)
    return f"// dmaverify: other core {does} ub {shared.start}..{(shared.end or 0) - 1}{flags}"
