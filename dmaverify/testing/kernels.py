"""Kernels of copies made at random, correct by construction, and the same with one number or one flag changed.

Knows: both surfaces, the shapes that kernels have (through, with the vector unit, in a loop with two buffers, nested).
Does not know: what is wrong with a mutant; proof and execution are to tell, each by itself.
Law: the same seed gives the same text; a mutant differs from its kernel in one place.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
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
        from dmaverify.testing.kernel_text import Writer

        return Writer(self).text()


def kernel_of(rng: random.Random, *, inline: bool | None = None) -> Kernel:
    """A correct kernel."""
    item = rng.choice([2, 4])
    rows, columns = rng.randint(1, 6), rng.choice([8, 16, 24, 25, 32, 50, 64])
    length = columns * item
    pitch = -(-length // 32) * 32 + rng.choice([0, 0, 32])
    wide = length + item * rng.choice([0, 0, 4, 16])
    surface = rng.random() < 0.5 if inline is None else inline
    kind = rng.choice(["through", "vector", "loop", "pingpong", "nest", "masked"])
    if kind == "masked":
        return _masked(rng, surface)
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


def _masked(rng: random.Random, surface: bool) -> Kernel:
    """A vector kernel on buffers without a gap, beside a load that nothing orders with it."""
    kind = rng.choice(["plt", "plt", "pack", "spread", "point"])
    item = 2 if kind == "pack" else 4 if kind == "point" else rng.choice([2, 4])
    lanes = 64 if kind == "pack" else 256 // item
    rows = rng.randint(1, 3)
    count = rng.randint(1, lanes) if kind == "point" else rng.randint(lanes * (rows - 1) + 1, lanes * rows)
    inside = (rows - 1) * 256 + count * item if kind == "point" else item if kind == "spread" else count * item
    made = rows * item if kind == "point" else count * item
    room = [-(-n // 32) * 32 for n in (inside, made, 256)]
    base = 32 * rng.randint(0, 64)
    order = rng.sample([0, 1, 2], 3)
    at = {which: base + sum(room[other] for other in order[:place]) for place, which in enumerate(order)}
    tensors = {"src": inside + 256, "dst": made + 256}
    pitch = count * item if kind == "point" and (count * item) % 32 == 0 else inside
    load = Tile("load", "src", 0, 0, at[0], 0, 1, inside, pitch, pitch)
    beside = Tile("load", "src", inside, 0, at[2], 0, 1, 256, 256, 256)
    store = Tile("store", "dst", 0, 0, at[1], 0, 1, made, made, made)
    away = Tile("store", "dst", made, 0, at[2], 0, 1, 256, 256, 256)
    parts = (
        load,
        Sync("set", "MTE2", "V", 1),
        *((Fence("MTE2"),) if inside % 32 else ()),
        beside,
        Sync("set", "MTE2", "MTE3", 3),
        Sync("wait", "MTE2", "V", 1),
        Vector(at[0], at[1], 0, rows, kind, count),
        Sync("set", "V", "MTE3", 2),
        Sync("wait", "V", "MTE3", 2),
        store,
        Sync("wait", "MTE2", "MTE3", 3),
        away,
    )
    return Kernel(tensors, parts, (), (), 1, item, surface)


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
        name = rng.choice(["read", "write", "rows", *(["count", "masked"] if part.kind != "plain" else [])])
        if name == "masked":
            return replace(part, masked=False)
        if name == "count":
            return replace(part, count=part.count + rng.choice([1, 8, 16, 32, -1, -8]))
        return replace(part, **{name: getattr(part, name) + (1 if name == "rows" else rng.choice([32, 256]))})
    return part


__all__ = ["Fence", "Kernel", "Mode", "Sync", "Tile", "Vector", "kernel_of", "mutant_of"]
