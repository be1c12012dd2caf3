"""The executor against a reference that does everything one unit at a time, with dictionaries and plain loops."""

import random
from itertools import product

import pytest
from lab.draws import counted

from dmaverify.execute import address as address_module
from dmaverify.execute.interpret import execute
from dmaverify.execute.result import Execution
from dmaverify.language.expr import (
    ONE,
    Broadcast,
    Drop,
    Expr,
    Kind,
    Modulo,
    Padding,
    Pair,
    Resize,
    Stride,
    Symbol,
    Window,
    axes_of,
)
from dmaverify.language.meaning import Index, OutOfBounds, Pad, cell, combine, finalize
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor

CHIP, CLUSTER = 1 << 56, 1 << 52
SLICE_BYTES = 64
HBM = Space("hbm", ("chip", "element"))
DM = Space("dm", ("chip", "cluster", "slice", "element"), (("slice", SLICE_BYTES),))
HOST = Space("host", ("element",))

Indices = frozenset[tuple[tuple[str, int], ...]]
Found = dict[str, tuple[object, ...]]


class Memory:
    """What every unit of a tensor must hold, by its address: kind, indices as the source names them, unit number."""

    def __init__(self, tensor: Tensor, space: Space, bits: int, axes: set[str], fill: Kind) -> None:
        unit_bits = 4 if bits == 4 else 8
        width = bits // unit_bits
        self.units: dict[int, tuple[str, Indices, int]] = {}
        fields = {name: tensor.field(name) if name in space.places else ONE for name in ("chip", "cluster", "slice")}
        sizes = {axis: size for e in (*fields.values(), tensor.element) for axis, size in axes_of(e).items()}
        slice_units = dict(space.stride_bytes).get("slice", 0) * 8 // unit_bits
        base = tensor.base * 8 // unit_bits
        for i in range(fields["chip"].size):
            for j in range(fields["cluster"].size):
                for k in range(fields["slice"].size):
                    for e in range(tensor.element.size):
                        found = combine(cell(fields["chip"], i), cell(fields["cluster"], j))
                        found = combine(combine(found, cell(fields["slice"], k)), cell(tensor.element, e))
                        done = finalize(found, sizes, fill)
                        indices: Indices = frozenset()
                        if not isinstance(done, (Pad, OutOfBounds)):
                            every = (done.coords,) if isinstance(done, Index) else done.indices
                            indices = frozenset(tuple((a, v) for a, v in one if a in axes) for one in every)
                        kind = done.kind.value if isinstance(done, Pad) else "live"
                        start = (tensor.at_chip + i) * CHIP * ("chip" in space.places)
                        start += (tensor.at_cluster + j) * CLUSTER * ("cluster" in space.places)
                        start += (tensor.at_slice + k) * slice_units + base + e * width
                        for unit in range(width):
                            self.units[start + unit] = (kind, indices, unit)


def copies(commands: list[Command]) -> list[tuple[int, tuple[int, ...], int, int]]:
    """(command, counters, read address, write address) in order."""
    out = []
    for number, command in enumerate(commands):
        counts = [*(loop.count for loop in command.loops), command.burst]
        for counters in product(*map(range, counts)):
            read = command.read.chip * CHIP + command.read.cluster * CLUSTER + command.read.base + counters[-1]
            write = command.write.chip * CHIP + command.write.cluster * CLUSTER + command.write.base + counters[-1]
            for loop, counter in zip(command.loops, counters[:-1], strict=True):
                read += loop.read * counter
                write += loop.write * counter
            out.append((number, counters, read, write))
    return out


def reference(source: Tensor, dest: Tensor, spaces: tuple[Space, Space], bits: int, commands: list[Command]) -> Found:
    """By key: count, and the first place: (command, counters, read, write), or the address of a cell."""
    axes = {a for name in spaces[0].places for a in axes_of(source.field(name))}
    ours = Memory(source, spaces[0], bits, axes, Kind.TOP).units
    theirs = Memory(dest, spaces[1], bits, axes, Kind.BOTTOM).units
    broken: dict[str, list[tuple[object, ...]]] = {}
    written: dict[int, tuple[int, tuple[int, ...]]] = {}
    was_read: set[tuple[object, int]] = set()
    moves = copies(commands)
    for number, counters, read, write in moves:
        here = (number, counters, read, write)
        if write in written:
            broken.setdefault("writes-once", []).append((*here, written[write]))
        written.setdefault(write, (number, counters))
        if read in ours:
            was_read |= {(one, ours[read][2]) for one in ours[read][1]}
        else:
            broken.setdefault("in-bounds:read", []).append(here)
        if write not in theirs:
            broken.setdefault("in-bounds:write", []).append(here)
        if read not in ours or write not in theirs:
            continue
        (have, given, unit), (want, asked, place) = ours[read], theirs[write]
        wrong = {
            "reads-live": want == "live" and have != "live",
            "same-element": want == "live" and have == "live" and (not asked <= given or unit != place),
            "padding:write-bottom": want == "bottom",
            "padding:read-bottom": have == "bottom",
            "padding:zero-overwritten": want == "zero" and have != "zero",
        }
        for key, holds in wrong.items():
            if holds:
                broken.setdefault(key, []).append(here)
    for address, (kind, _, _) in theirs.items():
        if address not in written and kind in ("live", "zero"):
            broken.setdefault("covers" if kind == "live" else "padding:zero-unwritten", []).append((address,))
    unread = [(address, (one, unit)) for address, (_, every, unit) in ours.items() for one in every]
    unread = [(address, what) for address, what in unread if what not in was_read]
    found = {key: (len(places), *places[0]) for key, places in broken.items()}
    if unread:
        found["consumes"] = (len({what for _, what in unread}), unread[0][0])
    if not moves or all(kind != "live" for kind, _, _ in theirs.values()):
        found["not-vacuous"] = (1,)
    return found


def summary(done: Execution) -> Found:
    out: Found = {}
    for key, v in done.findings.items():
        if v.command is not None:
            extra = () if v.other is None else (v.other,)
            out[key] = (v.count, v.command, v.counters, v.read_address, v.write_address, *extra)
        elif key == "not-vacuous":
            out[key] = (v.count,)
        else:
            out[key] = (v.count, v.read_address if key == "consumes" else v.write_address)
    return out


# ---------------------------------------------------------------- random plans


def divisor(rng: random.Random, size: int) -> int:
    return rng.choice([k for k in range(1, size + 1) if size % k == 0])


def mapping(rng: random.Random, axes: list[Symbol], depth: int) -> Expr:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice([*axes, *axes, Broadcast(rng.randint(1, 2))])
    kind = rng.choice(["pair", "pair", "pair", "/", "%", "=", "#", "#", "#", "#", "@", "$"])
    if kind == "pair":
        return Pair(mapping(rng, axes, depth - 1), mapping(rng, axes, depth - 1))
    inner = mapping(rng, axes, depth - 1)
    size = inner.size
    if kind == "/":
        return Stride(inner, divisor(rng, size))
    if kind == "%":
        return Modulo(inner, divisor(rng, size))
    if kind == "=":
        return Resize(inner, rng.randint(1, size + 1))
    if kind == "#":
        return Padding(inner, size + rng.randint(0, 2), rng.choice(list(Kind)))
    if kind == "@":
        return Drop(inner, rng.randint(0, size - 1))
    return Window(((inner, rng.randint(1, 2)), (rng.choice(axes), 1)))


def small(rng: random.Random, axes: list[Symbol], most: int) -> Expr:
    while True:
        found = mapping(rng, axes, rng.randint(0, 3))
        if found.size <= most:
            return found


def tensor(rng: random.Random, space: Space, axes: list[Symbol], bits: int) -> Tensor:
    most = SLICE_BYTES * 8 // bits if space is DM else 40
    places = {name: small(rng, axes, 3) for name in space.places if name != "element" and rng.random() < 0.4}
    starts = {f"at_{name}": rng.randint(0, 1) for name in places}
    return Tensor(space.tier, small(rng, axes, min(most, 32)), base=rng.choice([0, 0, 3, 8]), **places, **starts)


def faithful(rng: random.Random, source: Tensor, dest: Tensor, spaces: tuple[Space, Space], bits: int) -> list[Command]:
    """A command for each unit or element that may be served, and perhaps a fault or two."""
    axes = {a for name in spaces[0].places for a in axes_of(source.field(name))}
    ours = Memory(source, spaces[0], bits, axes, Kind.TOP).units
    theirs = Memory(dest, spaces[1], bits, axes, Kind.BOTTOM).units
    zero = next((address for address, (kind, _, _) in ours.items() if kind == "zero"), None)
    out = []
    for write, (kind, asked, place) in theirs.items():
        fits = [a for a, (have, given, unit) in ours.items() if have == "live" and asked <= given and unit == place]
        read = rng.choice(fits) if kind == "live" and fits else zero if kind == "zero" else None
        if read is not None:
            out.append(at(read, write))
    anywhere = range(rng.choice([0, 0, 0, 1, 4]))
    out += [at(rng.choice(list(ours)), rng.choice(list(theirs))) for _ in anywhere]
    for _ in range(rng.choice([0, 0, 1, 2])):
        if out:
            fault, victim = rng.choice(["drop", "twice", "read", "write"]), rng.randrange(len(out))
            old = out[victim]
            step = rng.choice([-3, -1, 1, 2, 5])
            if fault == "drop":
                del out[victim]
            elif fault == "twice":
                out.append(old)
            elif fault == "read":
                out[victim] = old.moved_to(old.read.base + step, old.write.base)
            else:
                out[victim] = old.moved_to(old.read.base, old.write.base + step)
    return out


def at(read: int, write: int) -> Command:
    sides = [Port("x", a % CLUSTER, a // CHIP, a % CHIP // CLUSTER) for a in (read, write)]
    return Command(sides[0], sides[1], (), 1, 1)


def nests(rng: random.Random, source: Tensor, dest: Tensor, spaces: tuple[Space, Space], bits: int) -> list[Command]:
    """Loop nests that go where they like."""
    scale = 2 if bits == 4 else 1
    steps = [0, 1, 1, 2, 3, 4, -1, -2, 8, SLICE_BYTES * scale, -SLICE_BYTES * scale, CLUSTER, CHIP]
    out = []
    for _ in range(rng.randint(0, 2)):
        loops = tuple(Loop(rng.randint(1, 4), rng.choice(steps), rng.choice(steps)) for _ in range(rng.randint(0, 3)))
        read = Port("x", source.base * scale + rng.randint(-1, 4), source.at_chip * ("chip" in spaces[0].places))
        write = Port("x", dest.base * scale + rng.randint(-1, 4), dest.at_chip * ("chip" in spaces[1].places))
        out.append(Command(read, write, loops, rng.randint(1, 4), 1))
    return out


def plan(rng: random.Random) -> tuple[Tensor, Tensor, tuple[Space, Space], int, list[Command]]:
    axes = [Symbol(name, rng.randint(1, 4)) for name in "ABC"[: rng.randint(1, 3)]]
    bits = rng.choice([4, 8, 8, 16, 32])
    spaces = (rng.choice([HBM, DM, HOST]), rng.choice([HBM, DM, HOST]))
    source = tensor(rng, spaces[0], axes[: rng.randint(1, len(axes))], bits)
    dest = tensor(rng, spaces[1], axes, bits)
    if rng.random() < 0.2:
        dest = Tensor(dest.tier, dest.element, base=dest.base)
        source = Tensor(source.tier, Padding(dest.element, dest.element.size + rng.randint(0, 1)))
        spaces = (HOST, spaces[1])
    make = faithful if rng.random() < 0.6 else nests
    return source, dest, spaces, bits, make(rng, source, dest, spaces, bits)


KEYS = {
    "in-bounds:read", "in-bounds:write", "reads-live", "same-element", "padding:write-bottom", "padding:read-bottom",
    "padding:zero-overwritten", "padding:zero-unwritten", "writes-once", "covers", "consumes", "not-vacuous",
}  # fmt: skip


@pytest.mark.parametrize("count", counted(400, 900))
def test_the_executor_agrees_with_one_unit_at_a_time_on_every_count_and_every_first_place(count: int) -> None:
    rng = random.Random(20)
    seen = dict.fromkeys(KEYS, 0)
    kept = 0
    for _ in range(count):
        source, dest, spaces, bits, commands = plan(rng)
        done = execute(source, dest, *spaces, bits, commands)
        expected = reference(source, dest, spaces, bits, commands)
        assert summary(done) == expected, (source, dest, spaces, bits, commands)
        assert done.broken == {"core/" + key.split(":")[0] for key in expected}
        for key in expected:
            seen[key] += 1
        kept += not done.broken - {"core/consumes"}
    assert min(seen.values()) >= count // 110, seen
    assert kept >= count // 10


@pytest.mark.parametrize("chunk", [1, 3])
def test_batches_of_any_size_give_the_same_answer(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(21)
    monkeypatch.setattr(address_module, "CHUNK", chunk)
    for _ in range(120):
        source, dest, spaces, bits, commands = plan(rng)
        done = execute(source, dest, *spaces, bits, commands)
        assert summary(done) == reference(source, dest, spaces, bits, commands)


def test_a_promise_kept_means_that_all_bytes_are_equal() -> None:
    rng = random.Random(22)
    kept = 0
    for _ in range(400):
        source, dest, spaces, bits, commands = plan(rng)
        done = execute(source, dest, *spaces, bits, commands)
        harmless = {"core/consumes", "core/padding", "core/not-vacuous", "core/writes-once"}
        if not done.broken - harmless and not any(key.startswith("in-bounds") for key in done.findings):
            kept += 1
            if "core/writes-once" not in done.broken:
                assert done.units_equal == done.dest_live_units
    assert kept >= 50
