"""Plans of every kind that can be written, as texts: views, loops, gathers, programs, moves in place, banks.

Knows: how to write each kind right, and how to write it with exactly one named fault.
Does not know: what a judge says; Hypothesis (`strategies` draws from here).
Law: a text drawn without a fault keeps every promise of the core; one drawn with a fault says which, and breaks a
promise unless the drawn sizes make it harmless. Machines' own rules (alignment and the like) may speak of either.

Source: the plan file format, `schema = 1`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from dmaverify.testing.draw import Draw, Seeded

DTYPES = ("i8", "i8", "i8", "bf16", "i32", "i4")
BYTES = {"i8": 1, "bf16": 2, "i32": 4, "i4": 0.5}


@dataclass(frozen=True)
class Written:
    """A plan file and the entry that is meant. `fault` "": right by construction."""

    kind: str
    text: str
    name: str
    fault: str = ""
    seed: str = field(default="", compare=False)

    @property
    def holds(self) -> bool:
        return not self.fault


@dataclass
class Page:
    """A plan file in the making."""

    axes: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def text(self) -> str:
        sizes = [f"{axis} = {size}" for axis, size in self.axes.items()]
        return "\n".join(["schema = 1", 'target = "rngd"', "[axes]", *sizes, *self.lines, ""])

    def table(self, head: str, *rows: str) -> None:
        self.lines += [f"[{head}]", *(row for row in rows if row)]


# ---------------------------------------------------------------- pieces of text


def tensor(tier: str, base: int | str, element: str, *, slice_: str = "", view: str = "") -> str:
    parts = [f'tier = "{tier}"', f"base = {base}"]
    parts += [f'slice = "{slice_}"'] if slice_ else []
    parts += [f'element = "{element or "1"}"']
    parts += [f"view = {view}"] if view else []
    return "{ " + ", ".join(parts) + " }"


def tile(digit: str, length: int, start: int | str, place: str = "element", *, partial: bool = False) -> str:
    start_text = f'"{start}"' if isinstance(start, str) else str(start)
    more = (f', place = "{place}"' if place != "element" else "") + (", partial = true" if partial else "")
    return f'{{ tile = "{digit}", length = {length}, start = {start_text}{more} }}'


def stream(time: Sequence[str], packet: str) -> str:
    return f'stream = {{ time = "{", ".join(time) or "1"}", packet = "{packet}" }}'


def views(tiles: Sequence[str]) -> str:
    if not tiles:
        return ""
    return tiles[0] if len(tiles) == 1 else "[" + ", ".join(tiles) + "]"


def _size(draw: Draw, most: int = 6) -> int:
    """Axes of size 1 are as common as any."""
    return draw.choice((1, 2, 3, 4, most)) if draw.chance(80) else 1


# ---------------------------------------------------------------- tiled axes


@dataclass(frozen=True)
class Cut:
    """How an axis is laid out in the big tensor, and how it is tiled: `length` positions of `digit` a tile.

    `part` is what one tile shows of the axis, as the text of the small side; `terms` are the big side's.
    """

    axis: str
    terms: tuple[str, ...]
    digit: str = ""
    size: int = 1
    length: int = 1
    part: tuple[str, ...] = ()

    @property
    def tiled(self) -> bool:
        return bool(self.digit)

    @property
    def count(self) -> int:
        return self.size // self.length


def _cut(draw: Draw, axis: str, size: int, *, tiled: bool) -> Cut:
    divisors = [d for d in range(1, size + 1) if size % d == 0]
    split = draw.choice(divisors)
    if not tiled:
        if 1 < split < size and draw.chance(40):
            return Cut(axis, (f"{axis} / {split}", f"{axis} % {split}"), part=(f"{axis} / {split}", f"{axis} % {split}"))
        padded = f"{axis} # {size + draw.integer(1, 3)}" if draw.chance(25) else axis
        return Cut(axis, (padded,), part=(padded if draw.chance(50) else axis,))
    how = draw.choice(("whole", "whole", "high", "low")) if 1 < split < size else "whole"
    if how == "whole":
        length = draw.choice(divisors)
        part = f"{axis} = {length}" if length < size else axis
        return Cut(axis, (axis,), axis, size, length, (part,))
    high, low = f"{axis} / {split}", f"{axis} % {split}"
    terms = (axis,) if draw.chance(30) else (high, low)
    if how == "high":
        length = draw.choice([d for d in range(1, size // split + 1) if size // split % d == 0])
        part = f"{axis} = {length * split}" if length * split < size else axis
        return Cut(axis, terms, high, size // split, length, (part,))
    length = draw.choice([d for d in range(1, split + 1) if split % d == 0])
    return Cut(axis, terms, low, split, length, (high, f"{low} = {length}" if length < split else low))


def _ordered(draw: Draw, cuts: Sequence[Cut], inner: str) -> list[str]:
    """The terms of the big side: digits of one axis from high to low, axes mixed, the packet's axis innermost."""
    if draw.chance(60):
        return [term for cut in draw.shuffled(cuts) for term in cut.terms] + [inner]
    return draw.shuffled([term for cut in cuts for term in cut.terms]) + [inner]


@dataclass(frozen=True)
class Tiled:
    """A transfer by tiles, in parts."""

    page: Page
    name: str
    cuts: tuple[Cut, ...]
    loops: tuple[tuple[str, int], ...]


def _starts(cuts: Sequence[Cut], draw: Draw) -> tuple[list[tuple[Cut, str]], list[tuple[str, int]]]:
    """One loop for each tiled axis, or one loop for two of them; the start of each tile."""
    tiled = [cut for cut in cuts if cut.tiled]
    if len(tiled) == 2 and tiled[0].count > 1 and tiled[1].count > 1 and draw.chance(40):
        a, b = tiled
        both = [(a, f"{a.length} * (t / {b.count})"), (b, f"{b.length} * (t % {b.count})")]
        return both, [("t", a.count * b.count)]
    out, loops = [], []
    for name, cut in zip("tuv", tiled, strict=False):
        if cut.count > 1 or draw.chance(30):
            out.append((cut, f"{cut.length} * {name}" if cut.length > 1 else name))
            loops.append((name, cut.count))
        else:
            out.append((cut, "0"))
    return out, loops


VIEW_FAULTS = ("start", "count", "length", "stream", "twice", "constant")


def tiled_transfer(draw: Draw, page: Page, name: str, fault: str, *, base: int = 0) -> list[tuple[str, int]]:
    """A transfer between a tensor seen by tiles and a small one; gives its loops."""
    store = draw.chance(60)
    dtype = draw.choice(DTYPES)
    page.axes.update({axis: _size(draw, 8) for axis in "AB" if axis not in page.axes})
    page.axes.setdefault("C", draw.choice((8, 16)))
    chosen = draw.shuffled(["A", "B"])
    cuts = [_cut(draw, axis, page.axes[axis], tiled=at == 0 or draw.chance(40)) for at, axis in enumerate(chosen)]
    starts, loops = _starts(cuts, draw)
    lengths = {cut.digit: cut.length for cut in cuts if cut.tiled}
    if fault == "start" and starts:
        at = draw.integer(0, len(starts) - 1)
        starts[at] = (starts[at][0], f"{starts[at][1]} + 1")
    if fault == "twice" and starts:
        at = draw.integer(0, len(starts) - 1)
        starts[at] = (starts[at][0], starts[at][1].rpartition("* ")[2])
    if fault == "constant" and starts:
        at = draw.integer(0, len(starts) - 1)
        starts[at] = (starts[at][0], "0")
    if fault == "count" and loops:
        at = draw.integer(0, len(loops) - 1)
        loops[at] = (loops[at][0], loops[at][1] + 1)
    if fault == "length":
        digit = draw.choice(list(lengths))
        lengths[digit] += 1
    tiles = [tile(cut.digit, lengths[cut.digit], start) for cut, start in draw.shuffled(starts)]
    big = ", ".join(_ordered(draw, cuts, "C"))
    parts = [part for cut in cuts for part in cut.part]
    room = draw.integer(0, len(parts) - 1) if parts and draw.chance(40) else -1
    slice_ = parts[room] if room >= 0 else ""
    small = ", ".join([*(p for at, p in enumerate(parts) if at != room), "C"])
    time = draw.shuffled([_plain(p) for p in parts])
    if fault == "stream" and time:
        time.pop(draw.integer(0, len(time) - 1))
    sides = [
        ("dest" if store else "source", tensor("hbm", base, big, view=views(tiles))),
        ("source" if store else "dest", tensor("dm", 0, small, slice_=slice_)),
    ]
    loop = "loop = { " + ", ".join(f"{n} = {c}" for n, c in loops) + " }" if loops else ""
    page.table(
        f"transfer.{name}", f'dtype = "{dtype}"', loop, *(f"{side} = {text}" for side, text in sides),
        stream(time, "C"),
    )  # fmt: skip
    return loops


def _plain(part: str) -> str:
    """A part as a term of a stream: without its padding."""
    return part.partition(" #")[0]


def viewed(draw: Draw, fault: str) -> tuple[str, str]:
    """One transfer by tiles."""
    page = Page()
    tiled_transfer(draw, page, "x", fault)
    return page.text(), "x"


def tiled_program(draw: Draw, fault: str) -> tuple[str, str]:
    """A program of one transfer by tiles: what they make together."""
    page = Page()
    tiled_transfer(draw, page, "x", fault)
    page.lines += ["[program.p]", 'step = [{ transfer = "x" }]']
    return page.text(), "p"


# ---------------------------------------------------------------- tiles of tiles, tiles of slices


def nested(draw: Draw, fault: str) -> tuple[str, str]:
    """Tiles of tiles, on axes of which some are 1; numbers for starts."""
    page = Page({"A": draw.choice((4, 6, 8, 12)), "N": draw.choice((1, 1, 2)), "C": 8})
    size = page.axes["A"]
    first = draw.integer(2, size)
    at = draw.integer(0, size - first)
    length = draw.integer(1, first)
    then = draw.integer(0, first - length)
    if fault == "start":
        at = size - first + 1
    if fault == "inner-start":
        then = first - length + 1
    tiles = [tile("A", first, at), tile("A", length, then)]
    more = [tile("N", 1, 0)] * draw.integer(0, 1)
    where = draw.integer(0, len(tiles))
    tiles[where:where] = more
    terms = draw.shuffled(["A", "N"]) + ["C"]
    small = draw.shuffled([f"A = {length}", *(["N = 1"] if more and page.axes["N"] > 1 else ["N"])])
    load = draw.chance(50)
    sides = [tensor("hbm", 0, ", ".join(terms), view=views(tiles)), tensor("dm", 0, ", ".join([*small, "C"]))]
    if not load:
        sides.reverse()
    page.table("transfer.x", 'dtype = "i8"', f"source = {sides[0]}", f"dest = {sides[1]}", stream(small, "C"))
    return page.text(), "x"


def slice_tiles(draw: Draw, fault: str) -> tuple[str, str]:
    """Loads into tiles of slices that follow each other, upwards or downwards, and a reader of all of them."""
    slices, parts = draw.choice((4, 8)), 2
    each = slices // parts
    page = Page({"S": slices, "C": draw.choice((8, 16))})
    up = draw.chance(50)
    starts = [0, each] if up else [each, 0]
    if fault == "start":
        starts[1] = starts[0]
    if fault == "beyond":
        starts[draw.integer(0, 1)] = slices - each + 1
    for number, start in enumerate(starts):
        view = tile("S", each, start, "slice")
        page.table(
            f"transfer.l{number}", 'dtype = "i8"',
            f"source = {tensor('hbm', number * 4096, f'S = {each}, C')}",
            f"dest = {tensor('dm', 0, 'C', slice_='S', view=view)}",
            stream([f"S = {each}"], "C"),
        )  # fmt: skip
    engine, context = ("fetch", draw.choice(("main", "sub")))
    page.table(
        "access.use", f'engine = "{engine}"', f'context = "{context}"', 'dtype = "i8"',
        f"memory = {tensor('dm', 0, 'C', slice_='S')}", stream([], "C"),
    )  # fmt: skip
    waits = '"l0", "l1"' if fault != "order" else f'"l{draw.integer(0, 1)}"'
    page.lines += [
        "[program.p]",
        f'step = [{{ transfer = "l0" }}, {{ transfer = "l1" }}, {{ access = "use", after = [{waits}] }}]',
    ]
    return page.text(), "p"


def slice_apart(draw: Draw, fault: str) -> tuple[str, str]:
    """Work in some slices beside work in others: nothing is shared."""
    slices = draw.choice((4, 6))
    half = slices // 2
    page = Page({"S": slices, "M": draw.choice((3, 70)), "W": 8})
    sides = [("low", 0), ("high", half)]
    if fault == "same":
        sides[1] = ("high", draw.integer(0, half - 1))
    for number, (name, start) in enumerate(sides):
        engine = "fetch" if number == 0 else "commit"
        view = tile("S", half, start, "slice", partial=True)
        memory = tensor("dm", 0, "M, W # 128", slice_="S", view=view)
        context = "main" if number == 0 else "sub"
        page.table(
            f"access.{name}", f'engine = "{engine}"', f'context = "{context}"', 'dtype = "i8"',
            f"memory = {memory}", stream(["M"], "W"),
        )  # fmt: skip
    page.lines += ["[program.p]", 'step = [{ access = "low" }, { access = "high" }]']
    return page.text(), "p"


# ---------------------------------------------------------------- several stores, read in between


def stores(draw: Draw, fault: str) -> tuple[str, str]:
    """Parts of one output stored by several steps, some reads of it in between; uneven parts."""
    count = draw.choice((2, 3))
    lengths = [draw.integer(1, 4) for _ in range(count)]
    page = Page({"A": sum(lengths), "N": draw.choice((1, 1, 2)), "C": 8})
    starts = [sum(lengths[:at]) for at in range(count)]
    order = draw.shuffled(list(range(count)))
    if fault == "again":
        first, second = order[0], order[1]
        lengths[second] = lengths[first] = min(lengths[first], lengths[second])
        starts[second] = starts[first]
    if fault == "left-out":
        order = order[:-1]
    terms = draw.shuffled(["A", "N"]) + ["C"]
    steps: list[str] = []
    reads = draw.integer(0, 1)
    previous = ""
    for number, at in enumerate(order):
        length = lengths[at]
        piece = f"A = {length}" if length < page.axes["A"] else "A"
        small = ", ".join([piece, "N", "C"])
        view = tile("A", length, starts[at])
        page.table(
            f"transfer.s{number}", 'dtype = "i8"', f"source = {tensor('dm', 4096 * number, small)}",
            f"dest = {tensor('hbm', 65536, ', '.join(terms), view=view)}", stream(draw.shuffled([piece, "N"]), "C"),
        )  # fmt: skip
        after = f', after = ["{previous}"]' if previous else ""
        steps.append(f'{{ transfer = "s{number}"{after} }}')
        previous = f"s{number}"
        if number == 0 and reads:
            page.table(
                "transfer.rd", 'dtype = "i8"', f"source = {tensor('hbm', 65536, ', '.join(terms), view=view)}",
                f"dest = {tensor('dm', 65536, small)}", stream([piece, "N"], "C"),
            )  # fmt: skip
            steps.append(f'{{ transfer = "rd", after = ["{previous}"] }}')
            previous = "rd"
    page.lines += ["[program.p]", f"step = [{', '.join(steps)}]"]
    return page.text(), "p"


# ---------------------------------------------------------------- gathers and scatters


def indirect(draw: Draw, fault: str) -> tuple[str, str]:
    """A gather or a scatter, its numbers known or promised."""
    scatter = draw.chance(40)
    page = Page({"R": draw.choice((4, 6)), "K": draw.choice((1, 2, 3)), "C": draw.choice((8, 16))})
    rows, keys, width = page.axes["R"], page.axes["K"], page.axes["C"]
    if keys == 1:
        page.axes["K"] = keys = 2
    pad = width + 8 * draw.integer(0, 1)
    cell = f"C # {pad}" if pad > width else "C"
    scaled = draw.chance(70) or scatter
    table = ["R", cell]
    if fault == "key-in-table":
        table = ["R", "K", cell]
    row = pad * (keys if "K" in table else 1)
    slices = draw.chance(50)
    numbers = [draw.integer(0, rows - 1) for _ in range(keys)]
    if scatter or draw.chance(30):
        numbers = draw.shuffled(list(range(rows)))[:keys]
    if fault == "beyond":
        numbers[draw.integer(0, keys - 1)] = rows
    if fault == "twice":
        numbers[1] = numbers[0]
    values = [n * row if scaled else n for n in numbers]
    known = draw.chance(60) or fault in ("twice", "beyond")
    promise = f"rows = [0, {rows - 1}]" + (", distinct = true" if scatter else "")
    says = f"values = {values}" if known else promise
    index_tier, index_base = ("hbm", 1048576) if scaled else ("dm", 262144)
    if fault == "own-index":
        index_tier, index_base = ("hbm", 0) if scatter else ("dm", 0)
        scaled = scatter
        if known:
            says = f"values = {[n * row if scaled else n for n in numbers]}"
    word = "true" if scaled else "false"
    index = f'{{ tier = "{index_tier}", base = {index_base}, element = "K", scaled = {word}, {says} }}'
    load = tensor("dm", 0, cell if slices else f"K, {cell}", slice_="K" if slices else "")
    big = tensor("hbm", 0, ", ".join(table))
    source, dest = (load, big) if scatter else (big, load)
    page.table(
        f"{'scatter' if scatter else 'gather'}.g", 'dtype = "i8"', f"source = {source}", f"dest = {dest}",
        f"index = {index}", 'axis = "R"', 'key = "K"', stream(["K"], "C"),
    )  # fmt: skip
    return page.text(), "g"


# ---------------------------------------------------------------- moves in place


def in_place(draw: Draw, fault: str) -> tuple[str, str]:
    """One tensor moved within its memory by printed commands: downwards is safe, upwards is not within reach.

    Without a fault the destination lies below the source, or out of reach; with `upwards` above it, overlapping.
    """
    packet = draw.choice((64, 256, 512, 1024, 4096))
    packets = draw.choice((1, 1, 2, 3))
    total = packet * packets
    by = draw.choice((8, 64, 128, 256, 512, total // 2 or 1, total))
    low = 65536
    source, dest = (low + by, low) if fault != "upwards" else (low, low + by)
    page = Page({"P": packets, "C": packet})
    stated = draw.chance(50)
    nests = [
        f'read = "[P={packets}:{packet}, C={packet}:1]:{packet} HBM/D@{source}"',
        f'write = "[P={packets}:{packet}, C={packet}:1]:{packet} HBM/D@{dest}"',
    ]
    page.table(
        "transfer.x", 'dtype = "i8"', f"source = {tensor('hbm', source, 'P, C')}", f"dest = {tensor('hbm', dest, 'P, C')}",
        *(nests if stated else [stream(["P"], "C")]),
    )  # fmt: skip
    return page.text(), "x"


# ---------------------------------------------------------------- several commands


def commands(draw: Draw, fault: str) -> tuple[str, str]:
    """A copy of rows in even or uneven pieces, by one engine or several, padded rows copied whole or row by row."""
    rows = draw.integer(2, 9)
    live = draw.choice((8, 13, 16))
    pitch = draw.choice((16, 24))
    pitch = max(pitch, live)
    page = Page({"A": rows, "B": live})
    cell = "B" if pitch == live else f"B # {pitch}"
    cuts = sorted({draw.integer(1, rows - 1) for _ in range(draw.integer(1, 2))})
    ends = [0, *cuts, rows]
    pieces = [(a, b - a) for a, b in zip(ends, ends[1:], strict=False)]
    whole = draw.chance(50)
    lines = []
    for number, (first, count) in enumerate(draw.shuffled(pieces)):
        at, to = first * pitch, 65536 + first * pitch
        if fault == "shifted" and number == 0:
            to += draw.choice((8, pitch))
        if fault == "short" and number == 0:
            count = count - 1 if count > 1 else count
            at = at if count > 1 else at + 1
        if fault == "again" and number == 0 and first + count < rows:
            count += 1
        run = pitch if whole else live
        strides = f"[A={count}:{pitch}, B={run}:1]:{run}"
        lines += ["[[transfer.x.command]]"]
        lines += [f'read = "{strides} HBM/D@{at}"', f'write = "{strides} HBM/D@{to}"']
    streamed_ = [stream(["A"], "B")] if draw.chance(40) else []
    page.table(
        "transfer.x", 'dtype = "i8"', f"source = {tensor('hbm', 0, f'A, {cell}')}",
        f"dest = {tensor('hbm', 65536, f'A, {cell}')}", *streamed_, *lines,
    )  # fmt: skip
    return page.text(), "x"


# ---------------------------------------------------------------- padding


def padded(draw: Draw, fault: str) -> tuple[str, str]:
    """Padding of every kind on every digit of both sides, axes of size 1 among them."""
    page = Page({axis: draw.choice((1, 1, 2, 3, 5)) for axis in "ABD"} | {"C": draw.choice((1, 5, 8))})
    mark = draw.choice(("#", "#", "#", "#{!}"))

    def laid(axis: str, *, written: bool) -> str:
        size = page.axes[axis]
        if draw.chance(35):
            return f"{axis} {mark if written else '#'} {size + draw.integer(1, 4)}"
        return axis

    inner = max(8, page.axes["C"])
    cell = f"C # {inner}" if page.axes["C"] < inner else "C"
    order = draw.shuffled(["A", "B", "D"])
    other = draw.shuffled(order)
    slice_ = draw.choice(["", *other])
    source = tensor("hbm", 0, ", ".join([*(laid(a, written=False) for a in order), cell]))
    rest = [laid(a, written=True) for a in other if a != slice_]
    dest = tensor("dm", 0, ", ".join([*rest, cell]), slice_=slice_)
    time = draw.shuffled(["A", "B", "D"])
    if fault == "stream":
        time.pop(draw.integer(0, 2))
    if fault == "twice":
        time.insert(draw.integer(0, 3), draw.choice(("2", "3")))
    if fault == "short":
        at = draw.integer(0, 2)
        size = page.axes[time[at]]
        time[at] = f"{time[at]} = {size - 1}" if size > 1 else time[at]
    page.table(
        "transfer.x", f'dtype = "{draw.choice(DTYPES)}"', f"source = {source}", f"dest = {dest}",
        stream(time, cell if draw.chance(60) else "C"),
    )  # fmt: skip
    return page.text(), "x"


def split_padding(draw: Draw, fault: str) -> tuple[str, str]:
    """Rows that end inside a digit: `H % 12 # 16`, `H % 12 = 10 # 12`; with a stream or as a bare move."""
    groups, each = draw.choice((2, 3, 4)), draw.choice((4, 6, 12))
    page = Page({"H": groups * each})
    wide = each + draw.choice((0, 2, 4))
    high, low = f"H / {each}", f"H % {each}"
    kept = each - draw.choice((0, 0, 1, 2))
    cell = low if kept == each else f"{low} = {kept}"
    padded_cell = cell if wide == kept else f"{cell} # {wide}"
    source = tensor("dm", 0, low, slice_=f"{high}, 1 # {draw.choice((1, 2))}")
    dest = tensor("hbm", 0, f"{high}, {padded_cell}")
    rows = [stream([high], cell if fault != "stream" else f"{low} = {max(1, kept - 1)}")]
    if not fault and draw.chance(40):
        rows = []
    page.table("transfer.x", 'dtype = "bf16"', f"source = {source}", f"dest = {dest}", *rows)
    return page.text(), "x"


# ---------------------------------------------------------------- banks


def banks(draw: Draw, fault: str) -> tuple[str, str]:
    """Fetches and commits beside a load, below the limit; with `rows` a longer run on one bank. Loops of every kind:
    of the stream, around the access, in steps.
    """
    allowed = 62
    context = draw.choice(("main", "sub"))
    whole = draw.integer(2, 31) * 2
    if fault == "rows":
        whole = draw.choice((63, 64, 66, 99, 128))
    inner = draw.choice([d for d in range(1, whole + 1) if whole % d == 0])
    outer = whole // inner
    del allowed
    page = Page({"A": 8, "C": 64, "M": inner, "W": 8, "T": max(1, outer)})
    page.table(
        "transfer.load", 'dtype = "i8"', f"source = {tensor('hbm', 0, 'A, C')}",
        f"dest = {tensor('dm', 262144, 'C', slice_='A')}", stream(["A"], "C"),
    )  # fmt: skip
    how = draw.choice(("loop", "time", "view", "slices"))
    pitch = 128
    slices = "8"
    view, loop, time, element = "", "", ["M"], f"M, W # {pitch}"
    if how == "loop":
        loop = f"loop = {{ t = {outer} }}"
    elif how == "time":
        time = [str(outer), "M"]
    elif how == "view":
        loop, element = f"loop = {{ t = {outer} }}", f"T, M, W # {pitch}"
        view = tile("T", 1, "t")
    else:
        page.axes["S"], slices = 8, "S"
        view, loop = tile("S", 4, 0, "slice"), f"loop = {{ t = {outer} }}"
    time = [t for t in time if t != "1"]
    memory = tensor("dm", 0, element, slice_=slices, view=view)
    page.table(
        "access.use", 'engine = "fetch"', f'context = "{context}"', 'dtype = "i8"', loop, f"memory = {memory}",
        stream(time, "W"),
    )  # fmt: skip
    page.lines += ["[program.p]", 'step = [{ transfer = "load" }, { access = "use" }]']
    return page.text(), "p"


# ---------------------------------------------------------------- loops of several steps


def pipeline(draw: Draw, fault: str) -> tuple[str, str]:
    """Load, use, store tile by tile in one loop, with the orders that it needs."""
    tiles, rows = draw.choice((1, 2, 3, 4)), draw.choice((1, 2))
    page = Page({"A": tiles * rows, "C": 8})
    piece = f"A = {rows}" if tiles > 1 else "A"
    start = f"{rows} * t" if rows > 1 else "t"
    loop = f"loop = {{ t = {tiles} }}"
    view = tile("A", rows, start)
    double = draw.chance(40) and tiles % 2 == 0
    buffer_ = tensor("dm", 0, f"{piece}, C")
    if double:
        page.axes["D"] = 2
        buffer_ = tensor("dm", 0, f"D, {piece}, C", view=tile("D", 1, "t % 2", partial=True))
    page.table(
        "transfer.load", 'dtype = "i8"', loop, f"source = {tensor('hbm', 0, 'A, C', view=view)}", f"dest = {buffer_}",
        stream([piece], "C"),
    )  # fmt: skip
    if fault == "start":
        view = tile("A", rows, "0")
    page.table(
        "transfer.store", 'dtype = "i8"', loop, f"source = {buffer_}",
        f"dest = {tensor('hbm', 65536, 'A, C', view=view)}", stream([piece], "C"),
    )  # fmt: skip
    context = ', context = "other"' if draw.chance(50) or fault == "order" else ""
    after = "" if fault == "order" else ', after = ["load"]'
    order = "" if not context or fault == "order" else 'order = "written"'
    page.lines += ["[program.p]", order, f'step = [{{ transfer = "load" }}, {{ transfer = "store"{after}{context} }}]']
    return page.text(), "p"


# ---------------------------------------------------------------- all kinds

Maker = Callable[[Draw, str], tuple[str, str]]

KINDS: Mapping[str, tuple[Maker, tuple[str, ...]]] = {
    "views": (viewed, ("start", "count", "length", "stream")),
    "tiles": (tiled_program, VIEW_FAULTS),
    "nested": (nested, ("start", "inner-start")),
    "slices": (slice_tiles, ("start", "beyond", "order")),
    "apart": (slice_apart, ("same",)),
    "stores": (stores, ("again", "left-out")),
    "rows": (indirect, ("key-in-table", "beyond", "twice", "own-index")),
    "in-place": (in_place, ("upwards",)),
    "commands": (commands, ("shifted", "short", "again")),
    "padding": (padded, ("stream", "twice", "short")),
    "split-padding": (split_padding, ("stream",)),
    "banks": (banks, ("rows",)),
    "pipeline": (pipeline, ("start", "order")),
}


def written(draw: Draw, kind: str = "", fault: str | None = None) -> Written:
    """A plan of a kind (any), right or with a fault (None: either)."""
    name = kind or draw.choice(list(KINDS))
    make, faults = KINDS[name]
    chosen = fault if fault is not None else draw.choice(("", *faults)) if draw.chance(60) else ""
    text, entry = make(draw, chosen)
    return Written(name, text, entry, chosen)


def seeded(seed: str, kind: str = "", fault: str | None = None) -> Written:
    """The plan of a seed."""
    found = written(Seeded(seed), kind, fault)
    return Written(found.kind, found.text, found.name, found.fault, seed)


def volume(sizes: Mapping[str, int]) -> int:
    """Elements of a tensor of these axes."""
    return prod(sizes.values())
