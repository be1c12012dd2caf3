"""Random plans with symbols, of more kinds than `random_templates`: pitches, free bases and tiles, slices, several
commands for several engines, ragged padding, accesses of sequencers, and other machines.

Knows: the text of such plans. Does not know: whether one is right.
Law: the same generator state gives the same plan; most of those that are left unchanged hold at many of their sizes.
"""

from __future__ import annotations

import random

from lab.random_templates import Drawn, SizedTerm, mapping_of, product_of, strides_of

from dmaverify.values import dataclass, field, replace

Entry = list[str]
"""The count and the stride of a loop."""


@dataclass
class _Drawing:
    """What is declared on the way."""

    rng: random.Random
    axes: dict[str, str] = field(default_factory=dict)
    free: dict[str, str] = field(default_factory=dict)
    assume: list[str] = field(default_factory=list)
    lets: list[str] = field(default_factory=list)

    @property
    def symbols(self) -> list[str]:
        return [*self.axes, *self.free]

    def chance(self, share: float) -> bool:
        return self.rng.random() < share


def wide_template(rng: random.Random) -> Drawn:
    """A plan with one entry `t`, about half of them with one number changed."""
    draw = _Drawing(rng)
    if draw.chance(0.2):
        return _access(draw)
    return _transfer(draw)


def _range(draw: _Drawing, multiples: tuple[int, ...] = (1, 1, 1, 2, 4, 8)) -> tuple[str, int]:
    multiple = draw.rng.choice(multiples)
    most = draw.rng.choice((6, 12, 64, 300, 5000))
    least = draw.rng.choice((1, 1, 2, multiple))
    suffix = f", multiple_of = {multiple}" if multiple > 1 else ""
    end = "" if draw.chance(0.05) else f", max = {max(most, 2 * multiple)}"
    return f"{{ min = {least}{end}{suffix} }}", multiple


def _parts(draw: _Drawing, name: str) -> list[SizedTerm]:
    text, multiple = _range(draw)
    draw.axes[name] = text
    kind = draw.rng.random()
    if kind < 0.2 and multiple > 1:
        cut = str(draw.rng.choice([k for k in (2, 4, 8) if multiple % k == 0]))
        if draw.chance(0.4):
            return [SizedTerm(f"{name} / ({name}/{cut})", cut), SizedTerm(f"{name} % ({name}/{cut})", f"{name}/{cut}")]
        return [SizedTerm(f"{name} / {cut}", f"{name}/{cut}"), SizedTerm(f"{name} % {cut}", cut)]
    if kind < 0.35 and "K" not in draw.free:
        draw.free["K"] = "{ min = 1, max = 64 }"
        if draw.chance(0.85):
            draw.assume.append(f"K | {name}")
        return [SizedTerm(f"{name} / K", f"{name}/K"), SizedTerm(f"{name} % K", "K")]
    if kind < 0.5:
        by, more = draw.rng.choice((2, 3, 4)), draw.rng.choice((1, 1, 2))
        tick = f"{name}'"
        whole = f"{name} + {more}"
        if draw.chance(0.5):
            draw.assume.append(f"({whole}) % {by} == 0")
        else:
            whole = f"({name} + {by - 1})//{by}*{by}"
        draw.lets.append(f'"{tick}" = "{name} # ({whole})"')
        return [SizedTerm(f"{tick} / {by}", f"({whole})/{by}"), SizedTerm(f"{tick} % {by}", str(by))]
    return [SizedTerm(name, name)]


def _padded(draw: _Drawing, side: list[SizedTerm], name: str) -> list[SizedTerm]:
    """One term of a side with more positions than it needs."""
    if not draw.chance(0.3):
        return side
    at = draw.rng.randrange(len(side))
    part = side[at]
    kind = draw.rng.randrange(3)
    if kind == 0:
        draw.free[name] = f"{{ min = 1, max = 512{draw.rng.choice(('', ', multiple_of = 8'))} }}"
        if draw.chance(0.8):
            draw.assume.append(f"{name} >= {part.size}".replace("//", "/"))
        slots = name
    elif kind == 1:
        slots = f"{part.size} + {draw.rng.choice((1, 8, 16))}"
    else:
        slots = str(draw.rng.choice((16, 64, 256)))
    return [*side[:at], replace(part, slots=slots), *side[at + 1 :]]


def _transfer(draw: _Drawing) -> Drawn:
    rng = draw.rng
    names = "ABC"[: rng.randint(1, 3)]
    parts = [part for name in names[:-1] for part in _parts(draw, name)]
    if draw.chance(0.7):  # rows of words of 8 bytes
        draw.axes[names[-1]] = _range(draw, (8, 8, 16, 32))[0]
        parts.append(SizedTerm(names[-1], names[-1]))
    else:
        parts += _parts(draw, names[-1])
    source, dest, order = (rng.sample(parts, len(parts)) for _ in range(3))
    if draw.chance(0.8):
        inner = parts[-1]
        source, dest, order = ([p for p in side if p is not inner] + [inner] for side in (source, dest, order))
    source, dest = _padded(draw, source, "P"), _padded(draw, dest, "Q")
    dtype, width = rng.choice((("i8", 1), ("i8", 1), ("bf16", 2), ("f32", 4)))
    machine = rng.choice(("rngd", "rngd", "rngd", "idma"))
    tier = "mem" if machine == "idma" else "hbm"
    slices = machine == "rngd" and len(dest) > 1 and draw.chance(0.3)
    placed = dest.pop(rng.randrange(len(dest) - 1)) if slices else None
    bytes_ = product_of([*(p.positions for p in source), *([str(width)] if width > 1 else [])])
    start = ["0", bytes_]
    if draw.chance(0.3):
        draw.free["X"] = "{ min = 0, max = 4096" + rng.choice((" }", ", multiple_of = 8 }", ", multiple_of = 256 }"))
        start = rng.choice((["X", f"X + {bytes_}"], [f"X + {bytes_}", "0"], ["0", f"X + {bytes_}"], ["0", "X"]))
    if slices:
        start[1] = "0"
    fields = f'slice = "{placed.shown}", ' if placed else ""
    dest_tier = "dm" if slices or (machine == "rngd" and draw.chance(0.2)) else tier
    strides = [strides_of(source, width), strides_of(dest, width)]
    if placed:
        strides[1][placed.text] = "slice_stride"
    lines = [
        "[transfer.t]", f'dtype = "{dtype}"',
        f'source = {{ tier = "{tier}", base = "{start[0]}", element = "{mapping_of(source)}" }}',
        f'dest = {{ tier = "{dest_tier}", base = "{start[1]}", {fields}element = "{mapping_of(dest)}" }}',
    ]  # fmt: skip
    kind = rng.choice(("stream", "printed", "printed", "printed", "both")) if machine == "rngd" else "printed"
    if kind != "printed":
        lines.append(f'stream = {{ time = "{mapping_of(order[:-1])}", packet = "{order[-1].text}" }}')
    changed = ""
    if kind != "stream":
        both = [[[p.size, steps[p.text]] for p in order] for steps in strides]
        commands = _commands(draw, both, start) if machine == "rngd" else [(both, start)]
        if draw.chance(0.5):
            changed = _change(draw, commands)
        lines += _printed(draw, commands, order[-1].size, width, machine)
    return _drawn(draw, machine, lines, changed)


Command = tuple[list[list[Entry]], list[str]]


def _commands(draw: _Drawing, both: list[list[Entry]], start: list[str]) -> list[Command]:
    """One loop cut in two or three, each part a command."""
    if not draw.chance(0.35):
        return [(both, start)]
    at = draw.rng.randrange(len(both[0]))
    size = both[0][at][0]
    kind = draw.rng.randrange(3)
    if kind == 0:
        cuts = ["1", f"{size} - 1"]
    elif kind == 1:
        half = f"({size})//2"
        cuts = [half, f"{size} - {half}"]
    else:
        draw.free["M"] = "{ min = 1, max = 64 }"
        if draw.chance(0.8):
            draw.assume.append(f"M < {size}".replace("//", "/"))
        cuts = ["M", f"{size} - M"]
    out: list[Command] = []
    before = "0"
    for count in cuts:
        sides = [[list(e) for e in side] for side in both]
        starts = []
        for side, base in zip(sides, start, strict=True):
            starts.append(f"{base} + ({before})*({side[at][1]})")
            side[at][0] = count
        out.append((sides, starts))
        before = count
    if draw.chance(0.1):
        out.append(draw.rng.choice(out))
    return out[::-1] if draw.chance(0.3) else out


def _printed(draw: _Drawing, commands: list[Command], packet: str, width: int, machine: str) -> list[str]:
    lines: list[str] = []
    for number, (sides, starts) in enumerate(commands):
        if len(commands) > 1 or draw.chance(0.2):
            lines.append("[[transfer.t.command]]")
            if machine == "rngd" and draw.chance(0.4):
                lines.append(f"engine = {{ chip = 0, cluster = 0, dmn = {number} }}")
        size = product_of([packet, str(width)])
        for word, entries, base in zip(("read", "write"), sides, starts, strict=True):
            texts = [f"{count}:{stride}" for count, stride in entries]
            if width > 1:  # counts are of bytes: the innermost entry is
                texts[-1] = f"({entries[-1][0]})*{width}:1" if entries[-1][1] == str(width) else texts[-1]
            lines.append(f'{word} = "[{", ".join(texts)}]:{size} @({base})"')
    return lines


def _change(draw: _Drawing, commands: list[Command]) -> str:
    """Changes one number of one command."""
    rng = draw.rng
    names = draw.symbols
    sides, starts = rng.choice(commands)
    side = rng.randrange(2)
    index = rng.randrange(len(sides[side]) + 1)
    if index == len(sides[side]):
        starts[side] += f" + {rng.choice(('1', '8', *names))}"
        return "base"
    entry = sides[side][index]
    kind = rng.randrange(5)
    if kind == 0:
        entry[1] = f"{entry[1]}*{rng.choice((*names, '2'))}"
    elif kind == 1:
        entry[1] = f"{entry[1]} + {rng.choice(('1', '8', *names))}"
    elif kind == 2:
        entry[1] = rng.choice((*names, "1", "8", "0"))
    elif kind == 3 and len(sides[side]) > 1:
        other = sides[side][index - 1]
        entry[1], other[1] = other[1], entry[1]
    else:
        entry[0] = rng.choice((*names, f"{entry[0]} - 1", f"{entry[0]} + 1"))
    return f"{entry[0]}:{entry[1]}"


def _access(draw: _Drawing) -> Drawn:
    """A fetch or commit: rows of a padded inner axis in any order."""
    rng = draw.rng
    outer = [part for name in "AB"[: rng.randint(1, 2)] for part in _parts(draw, name)]
    draw.axes["C"] = f"{{ min = 8, max = {rng.choice((24, 32, 64))}, multiple_of = 8 }}"
    slots = rng.choice(("32", "64", "C", "C", "C + 8"))
    inner = SizedTerm("C", "C", "" if slots == "C" else slots)
    memory, order = rng.sample(outer, len(outer)), rng.sample(outer, len(outer))
    repeat = draw.chance(0.25)
    if repeat:
        draw.axes["T"] = _range(draw, (1,))[0]
    time = mapping_of([*([SizedTerm("T", "T")] if repeat else []), *order])
    lines = [
        "[access.t]", f'engine = "{rng.choice(("fetch", "commit"))}"', 'dtype = "i8"',
        f'memory = {{ tier = "dm", slice = "256", element = "{mapping_of([*memory, inner])}" }}',
        f'stream = {{ time = "{time}", packet = "{inner.shown}" }}',
        'unit = "elements"',
    ]  # fmt: skip
    changed = ""
    if draw.chance(0.7):
        steps = strides_of([*memory, inner], 1)
        entries = [["T", "0"]] if repeat else []
        entries += [[p.positions, steps[p.text]] for p in [*order, inner]]
        if draw.chance(0.5):
            changed = _change(draw, [([entries, entries], ["0", "0"])])
        texts = ", ".join(f"{count}:{stride}" for count, stride in entries)
        lines.append(f'config = "[{texts}]:{inner.positions}"')
    return _drawn(draw, "rngd", lines, changed)


def _drawn(draw: _Drawing, machine: str, lines: list[str], changed: str) -> Drawn:
    rng = draw.rng
    if draw.chance(0.25):
        one, other = rng.choice(draw.symbols), rng.choice(draw.symbols)
        clauses = [f"{one} <= {rng.randint(2, 40)}", f"{one} % 2 == 0", f"{one} <= {other}", f"{one} * {other} <= 600"]
        draw.assume.append(rng.choice(clauses))
    head = ["schema = 1", f'target = "{machine}"']
    if draw.assume:
        head.append(f"assume = [{', '.join(f'{chr(34)}{one}{chr(34)}' for one in draw.assume)}]")
    head += ["[axes]", *(f"{name} = {text}" for name, text in draw.axes.items())]
    if draw.free:
        head += ["[free]", *(f"{name} = {text}" for name, text in draw.free.items())]
    if draw.lets:
        head += ["[let]", *draw.lets]
    return Drawn("\n".join([*head, *lines]) + "\n", tuple(draw.symbols), changed)
