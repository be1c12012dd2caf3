"""Kernels of copies made at random, correct by construction, and the same with one number or one flag changed.

Knows: both surfaces, the shapes that kernels have (through, with the vector unit, in a loop with two buffers, nested).
Does not know: what is wrong with a mutant; proof and execution are to tell, each by itself.
Law: the same seed gives the same text; a mutant differs from its kernel in one place.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Tile:
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
    """Reads and writes of the vector unit, `rows` times 256 bytes."""

    read: int
    write: int
    step: int
    rows: int


@dataclass(frozen=True, slots=True)
class Fence:
    pipe: str


@dataclass(frozen=True, slots=True)
class Mode:
    """What stores do from there on: `add`, `max`, `min`, or `none`."""

    name: str


@dataclass(frozen=True)
class Kernel:
    """`before`, then `body` `trips` times, then `after`. `tensors` are bytes by name."""

    tensors: dict[str, int]
    before: tuple[object, ...]
    body: tuple[object, ...]
    after: tuple[object, ...]
    trips: int
    item: int = 4
    inline: bool = True
    note: str = ""

    def text(self) -> str:
        return _Writer(self).text()


def kernel_of(rng: random.Random, *, inline: bool | None = None) -> Kernel:
    """A correct kernel."""
    item = rng.choice([2, 4])
    rows, columns = rng.randint(1, 6), rng.choice([8, 16, 24, 25, 32, 50, 64])
    length = columns * item
    pitch = -(-length // 32) * 32 + rng.choice([0, 0, 32])
    wide = length + item * rng.choice([0, 0, 4, 16])
    surface = rng.random() < 0.5 if inline is None else inline
    kind = rng.choice(["through", "vector", "loop", "pingpong", "nest"])
    loops: tuple[tuple[int, int, int], ...] = ()
    outer = 1
    if kind == "nest":
        a, b = rng.randint(1, 3), rng.randint(1, 3)
        loops = ((a, rows * wide, rows * pitch), (b, a * rows * wide, a * rows * pitch))
        outer = a * b
    size = max(rows * outer * pitch, 256)
    base = 32 * rng.randint(0, 64)
    other = base + 2 * size + 32 * rng.randint(0, 8)
    trips = rng.choice([1, 2, 3, 5, 40]) if kind in ("loop", "pingpong") else 1
    two = kind == "pingpong" and trips > 1
    slab = rows * wide * outer
    tensors = {"src": slab * trips, "dst": slab * trips}
    pad = None
    if length % 32 and rng.random() < 0.7:
        pad = (0, rng.choice([0, 0, min(8, (pitch - length) // item)]))
    load = Tile(
        "load", "src", 0, slab if trips > 1 else 0, base, size if two else 0, rows, length, wide, pitch, loops, pad
    )
    out = other if kind == "vector" else base
    store = replace(load, kind="store", tensor="dst", ub=out, pad=None)
    parity = None if two else rng.randint(0, 7)
    if kind == "vector":
        full = length if pad is None and length % 32 == 0 and pitch == length else None
        count = size // 256 if full and (rows * pitch) % 256 == 0 else 0
        if not count:
            return kernel_of(rng, inline=inline)
        work = (
            Sync("wait", "MTE2", "V", 1),
            Vector(base, out, 0, count),
            Sync("set", "V", "MTE3", 2),
            Sync("wait", "V", "MTE3", 2),
        )
        return Kernel(tensors, (load, Sync("set", "MTE2", "V", 1), *work, store), (), (), 1, item, surface)
    through = (Sync("set", "MTE2", "MTE3", parity), Sync("wait", "MTE2", "MTE3", parity))
    if trips == 1:
        return Kernel(tensors, (load, *through, store), (), (), 1, item, surface)
    ids = [0, 1] if two else [parity or 0]
    prime = tuple(Sync("set", "MTE3", "MTE2", i) for i in ids)
    drain = tuple(Sync("wait", "MTE3", "MTE2", i) for i in ids)
    first, last = Sync("wait", "MTE3", "MTE2", parity), Sync("set", "MTE3", "MTE2", parity)
    if rng.random() < 0.3:  # every tile is added to the first one
        added = (first, load, *through, replace(store, gm_step=0), last)
        mode = Mode(rng.choice(["add", "max", "min"]))
        return Kernel(tensors, (*prime, mode), added, (*drain, Mode("none")), trips, item, surface)
    return Kernel(tensors, prime, (first, load, *through, store, last), drain, trips, item, surface)


def mutant_of(rng: random.Random, kernel: Kernel) -> Kernel:
    """The kernel with one thing changed: a number of a copy, an id, a direction, a line left out or moved."""
    parts = [("before", i) for i in range(len(kernel.before))] + [("body", i) for i in range(len(kernel.body))]
    parts += [("after", i) for i in range(len(kernel.after))]
    where, index = rng.choice(parts)
    old = getattr(kernel, where)
    part = old[index]
    roll = rng.random()
    if roll < 0.08 and len(old) > 1:
        new = old[:index] + old[index + 1 :]
        return _with(kernel, "left out", where, new)
    if roll < 0.16 and index + 1 < len(old):
        new = (*old[:index], old[index + 1], old[index], *old[index + 2 :])
        return _with(kernel, "swapped", where, new)
    changed = _changed(rng, part, kernel.item)
    return _with(kernel, f"{part} -> {changed}", where, (*old[:index], changed, *old[index + 1 :]))


def _with(kernel: Kernel, note: str, where: str, parts: tuple[object, ...]) -> Kernel:
    change: dict[str, Any] = {"note": note, where: parts}
    return replace(kernel, **change)


def _changed(rng: random.Random, part: object, item: int) -> object:
    if isinstance(part, Tile):
        names = (
            ["gm", "ub", "rows", "length", "gm_pitch", "ub_pitch"]
            + (["pad"] if part.pad else [])
            + (["loops"] if part.loops else [])
        )
        name = rng.choice(names)
        if name == "loops" and part.loops:
            at = rng.randrange(len(part.loops))
            values = list(part.loops[at])
            which = rng.randrange(3)
            values[which] = max(0, values[which] + rng.choice([-1, 1] if which == 0 else [-32, 32, item, -item]))
            return replace(part, loops=(*part.loops[:at], (values[0], values[1], values[2]), *part.loops[at + 1 :]))
        if name == "pad" and part.pad:
            return replace(part, pad=(part.pad[0], rng.choice([0, 1, 8, 16, 40, 63, 64, 70])))
        step = {"rows": [-1, 1, 2], "ub": [-32, 32, 64, 1, 16], "gm": [item, -item, 32]}.get(
            name, [-item, item, 32, -32, 1]
        )
        return replace(part, **{name: getattr(part, name) + rng.choice(step)})
    if isinstance(part, Sync):
        if rng.random() < 0.4:
            return replace(part, source=part.dest, dest=part.source)
        return replace(part, event=((part.event or 0) + rng.choice([1, 2])) % 8)
    if isinstance(part, Mode):
        return Mode("max" if part.name != "max" else "none")
    if isinstance(part, Vector):
        name = rng.choice(["read", "write", "rows"])
        return replace(part, **{name: getattr(part, name) + (1 if name == "rows" else rng.choice([32, 256]))})
    return part


@dataclass
class _Writer:
    """Text of a kernel in its surface."""

    kernel: Kernel
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
        constants = [f"  {self.c(n)} = arith.constant {n} : i64" for n in sorted(self.numbers)]
        constants += [f"  %{name} = arith.constant {n} : index" for name, n in (("lo", 0), ("one", 1), ("two", 2))]
        constants += [
            f"  %t{kernel.trips} = arith.constant {kernel.trips} : index",
            "  %off = arith.constant false",
            "  %on = arith.constant true",
        ]
        constants += [f"  %zero = arith.constant 0.0 : {kind}"]
        return "\n".join([*head, f"func.func @kernel({args}) {{", *constants, *self.lines, "  return", "}", ""])

    def _index(self, value: int) -> str:
        return f"%t{value}"

    def _parts(self, parts: Sequence[object], pad: str, looped: bool) -> None:
        for part in parts:
            if isinstance(part, Tile):
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
            elif isinstance(part, Fence):
                self.lines.append(f'{pad}pto.pipe_barrier "PIPE_{part.pipe}"')
            elif isinstance(part, Mode):
                self.lines.append(f"{pad}pto.set_atomic_{part.name}")
            elif isinstance(part, Vector):
                self._vector(part, pad)

    def _pointer(self, tile: Tile, pad: str, looped: bool) -> tuple[str, str]:
        self.count += 1
        n, item, lines = self.count, self.kernel.item, self.lines
        kind = {2: "f16", 4: "f32"}[item]
        gm, ub = f"!pto.ptr<{kind}, gm>", f"!pto.ptr<{kind}, ub>"
        lines.append(f"{pad}%g{n} = pto.addptr %{tile.tensor}, {self.c(tile.gm // item)} : {gm} -> {gm}")
        lines.append(f"{pad}%u{n} = pto.castptr {self.c(tile.ub)} : i64 -> {ub}")
        names = [f"%g{n}", f"%u{n}"]
        if looped:
            for at, (step, by, mark) in enumerate(((tile.gm_step, "%i", gm), (tile.ub_step, "%par", ub))):
                lines.append(f"{pad}%s{n}{at} = arith.index_cast {by} : index to i64")
                lines.append(f"{pad}%o{n}{at} = arith.muli %s{n}{at}, {self.c(step // item)} : i64")
                lines.append(f"{pad}%q{n}{at} = pto.addptr {names[at]}, %o{n}{at} : {mark} -> {mark}")
                names[at] = f"%q{n}{at}"
        return names[0], names[1]

    def _tile(self, tile: Tile, pad: str, looped: bool) -> None:
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


__all__ = ["Fence", "Kernel", "Mode", "Sync", "Tile", "Vector", "kernel_of", "mutant_of"]
