"""Kernels of copies made at random, correct by construction, and the same with one number or one flag changed.

Knows: both surfaces, the shapes that kernels have (through, with the vector unit, in a loop with two buffers, nested,
fed by another core), addresses in narrow integers.
Does not know: what is wrong with a mutant; proof and execution are to tell, each by itself.
Law: the same seed gives the same text; a mutant differs from its kernel in one place.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

from lab.kernel_text import Arrive, DrawnCopy, DrawnFence, DrawnKernel, DrawnRelease, Mode, Sync, Vector

from dmaverify.program.instructions import Shared


def kernel_of(rng: random.Random, *, inline: bool | None = None) -> DrawnKernel:
    """A correct kernel."""
    item = rng.choice([2, 4])
    rows, columns = rng.randint(1, 6), rng.choice([8, 16, 24, 25, 32, 50, 64])
    length = columns * item
    pitch = -(-length // 32) * 32 + rng.choice([0, 0, 32])
    wide = length + item * rng.choice([0, 0, 4, 16])
    surface = rng.random() < 0.5 if inline is None else inline
    kind = rng.choice(["through", "vector", "loop", "pingpong", "nest", "masked", "cores"])
    if kind == "masked":
        return _masked(rng, surface)
    if kind == "cores":
        return _fed(rng, surface)
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
    load = DrawnCopy(
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
        return DrawnKernel(tensors, (load, Sync("set", "MTE2", "V", 1), *work, store), (), (), 1, item, surface)
    through = (Sync("set", "MTE2", "MTE3", parity), Sync("wait", "MTE2", "MTE3", parity))
    if trips == 1:
        return DrawnKernel(tensors, (load, *through, store), (), (), 1, item, surface)
    ids = [0, 1] if two else [parity or 0]
    prime = tuple(Sync("set", "MTE3", "MTE2", i) for i in ids)
    drain = tuple(Sync("wait", "MTE3", "MTE2", i) for i in ids)
    first, last = Sync("wait", "MTE3", "MTE2", parity), Sync("set", "MTE3", "MTE2", parity)
    if rng.random() < 0.3:  # every tile is added to the first one
        added = (first, load, *through, replace(store, gm_step=0), last)
        mode = Mode(rng.choice(["add", "max", "min"]))
        return DrawnKernel(tensors, (*prime, mode), added, (*drain, Mode("none")), trips, item, surface)
    made = DrawnKernel(tensors, prime, (first, load, *through, store, last), drain, trips, item, surface)
    return _narrowed(rng, made) if rng.random() < 0.5 else made


def _narrowed(rng: random.Random, kernel: DrawnKernel) -> DrawnKernel:
    """The kernel with its addresses in the fewest bits that hold them, or some more."""
    steps = [n for part in kernel.body if isinstance(part, DrawnCopy) for n in (part.gm_step, part.ub_step)]
    signed = rng.random() < 0.5
    most = max([*steps, 1]) // kernel.item * (kernel.trips - 1)
    fit = [bits for bits in (8, 16, 32) if most < 1 << (bits - signed) and kernel.trips <= 1 << (bits - 1)]
    return replace(kernel, bits=rng.choice([*fit[:1], *fit]), signed=signed)


def _fed(rng: random.Random, surface: bool) -> DrawnKernel:
    """A kernel that stores what another core writes: at once, by the vector unit, or round by round."""
    item = rng.choice([2, 4])
    size = 256 * rng.randint(1, 3)
    base = 32 * rng.randint(0, 64)
    flags = rng.choice([(None, None), (3, 4)])
    cuts = [base, base + size] if rng.random() < 0.5 else [base, base + size // 2, base + size]
    core = tuple(Shared("w", "ub", "", start, end, *flags) for start, end in pairwise(cuts))[::-1]
    out = base + size + 32 * rng.randint(0, 2)
    pipe = rng.choice(["V", "MTE2", "MTE3", ""])
    kind = rng.choice(["store", "vector", "loop", "beside", "hand"])
    trips = rng.choice([2, 3, 40]) if kind == "loop" else 1
    store = DrawnCopy("store", "dst", 0, size if kind == "loop" else 0, base, 0, 1, size, size, size)
    tensors = {"src": 256, "dst": size * trips}
    over = pipe not in ("", "MTE3")
    across = (Sync("set", pipe, "MTE3", 4), Sync("wait", pipe, "MTE3", 4)) if over else ()
    parts: tuple[object, ...]
    let = (DrawnRelease("MTE3"),) if kind == "loop" or rng.random() < 0.5 else ()
    if kind == "hand":
        core = tuple(replace(s, way="r") for s in core)
        load = DrawnCopy("load", "src", 0, 0, base, 0, 1, size, size, size)
        tensors["src"] = size
        back = (Sync("set", pipe, "MTE2", 5), Sync("wait", pipe, "MTE2", 5)) if pipe not in ("", "MTE2") else ()
        again = (Arrive(pipe), *back, *((DrawnFence("MTE2"),) if rng.random() < 0.9 else ()), load)
        return DrawnKernel(tensors, (load, DrawnRelease("MTE2"), *again), (), (), 1, item, surface, core=core)
    if kind == "vector":
        known = (Sync("set", pipe, "V", 4), Sync("wait", pipe, "V", 4)) if pipe not in ("", "V") else ()
        work = (Vector(base, out, 0, size // 256), Sync("set", "V", "MTE3", 2), Sync("wait", "V", "MTE3", 2))
        parts = (Arrive(pipe), *known, *work, replace(store, ub=out), *let)
        return DrawnKernel(tensors, parts, (), (), 1, item, surface, core=core)
    if kind == "beside":  # own bytes overwrite some of those that arrived
        load = DrawnCopy("load", "src", 0, 0, base, 0, 1, 256, 256, 256)
        first = (Sync("set", pipe, "MTE2", 5), Sync("wait", pipe, "MTE2", 5)) if pipe not in ("", "MTE2") else ()
        fence = (DrawnFence("MTE2"),) if pipe == "MTE2" and rng.random() < 0.3 else ()
        back = (Sync("set", "MTE2", "MTE3", 6), Sync("wait", "MTE2", "MTE3", 6))
        parts = (Arrive(pipe), *first, *fence, load, *back, *across, store, *let)
        return DrawnKernel(tensors, parts, (), (), 1, item, surface, core=core)
    if kind == "loop":
        rounds = (Arrive(pipe), *across, store, *let)
        return _narrowed(rng, DrawnKernel(tensors, (), rounds, (), trips, item, surface, core=core))
    return DrawnKernel(tensors, (Arrive(pipe), *across, store, *let), (), (), 1, item, surface, core=core)


def _masked(rng: random.Random, surface: bool) -> DrawnKernel:
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
    load = DrawnCopy("load", "src", 0, 0, at[0], 0, 1, inside, pitch, pitch)
    beside = DrawnCopy("load", "src", inside, 0, at[2], 0, 1, 256, 256, 256)
    store = DrawnCopy("store", "dst", 0, 0, at[1], 0, 1, made, made, made)
    away = DrawnCopy("store", "dst", made, 0, at[2], 0, 1, 256, 256, 256)
    parts = (
        load,
        Sync("set", "MTE2", "V", 1),
        *((DrawnFence("MTE2"),) if inside % 32 else ()),
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
    return DrawnKernel(tensors, parts, (), (), 1, item, surface)


def mutant_of(rng: random.Random, kernel: DrawnKernel) -> DrawnKernel:
    """The kernel with one thing changed: a number of a copy, an id, a direction, a line left out or moved."""
    parts = [("before", i) for i in range(len(kernel.before))] + [("body", i) for i in range(len(kernel.body))]
    parts += [("after", i) for i in range(len(kernel.after))]
    if kernel.bits < 64 and rng.random() < 0.2:
        return replace(kernel, bits=rng.choice([8, 16, 32]), signed=rng.random() < 0.5, note="other bits")
    if kernel.core and rng.random() < 0.2:
        first, *rest = kernel.core
        end = (first.end or 0) + rng.choice([0, -1, -32])
        moved = replace(first, start=first.start + rng.choice([0, 0, 1, 32]), end=end)
        return replace(kernel, core=(moved, *rest), note="other bytes of the other core")
    where, index = rng.choice(parts)
    old = getattr(kernel, where)
    part = old[index]
    roll = rng.random()
    copies = sum(isinstance(p, DrawnCopy) for p in (*kernel.before, *kernel.body, *kernel.after))
    if roll < 0.08 and len(old) > 1 and not (copies == 1 and isinstance(part, DrawnCopy)):
        new = old[:index] + old[index + 1 :]
        return _with(kernel, "left out", where, new)
    if roll < 0.16 and index + 1 < len(old):
        new = (*old[:index], old[index + 1], old[index], *old[index + 2 :])
        return _with(kernel, "swapped", where, new)
    changed = _changed(rng, part, kernel.item)
    return _with(kernel, f"{part} -> {changed}", where, (*old[:index], changed, *old[index + 1 :]))


def _with(kernel: DrawnKernel, note: str, where: str, parts: tuple[object, ...]) -> DrawnKernel:
    change: dict[str, Any] = {"note": note, where: parts}
    return replace(kernel, **change)


def _changed(rng: random.Random, part: object, item: int) -> object:
    if isinstance(part, DrawnCopy):
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
    if isinstance(part, Arrive):
        return replace(part, pipe=rng.choice(["V", "MTE2", "MTE3", ""]), flag=rng.choice([part.flag, part.flag, 5]))
    if isinstance(part, DrawnRelease):
        return replace(part, pipe=rng.choice(["V", "MTE2", "MTE3", "ALL"]), flag=rng.choice([part.flag, part.flag, 5]))
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


__all__ = [
    "Arrive",
    "DrawnCopy",
    "DrawnFence",
    "DrawnKernel",
    "DrawnRelease",
    "Mode",
    "Sync",
    "Vector",
    "kernel_of",
    "mutant_of",
]
