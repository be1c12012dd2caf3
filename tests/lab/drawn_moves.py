"""Single moves drawn: gathers and scatters, moves in place, several commands, padding of every kind.

Knows: how each is written right, which numbers a fault changes. Does not know: what a judge says.
Law: as in `written`.
"""

from __future__ import annotations

import itertools

from lab.pages import DTYPES, Page, stream, tensor

from dmaverify.testing.draw import Draw

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
    listed = draw.choice(("K", "K # 4", "1 # 2, K", f"K % {keys}"))
    if fault == "keys":
        some = "K / 2" if keys == 2 else "K = 2"
        listed = draw.choice(("1", "K = 1", "K = 1 # 4", some, "K, 2", "2, K", "K, R", "R"))
    index = f'{{ tier = "{index_tier}", base = {index_base}, element = "{listed}", scaled = {word}, {says} }}'
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
        "transfer.x", 'dtype = "i8"', f"source = {tensor('hbm', source, 'P, C')}",
        f"dest = {tensor('hbm', dest, 'P, C')}",
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
    pieces = [(a, b - a) for a, b in itertools.pairwise(ends)]
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


def plain(draw: Draw, fault: str) -> tuple[str, str]:
    """One transfer of any mappings, with printed commands: those of `random_plans`, as text."""
    from dmaverify.targets.target import load_target
    from dmaverify.testing.random_plans import plan

    target = load_target("rngd")
    drawn = plan(draw, target, valid=not fault, tiers=("hbm", "dm"))
    return drawn.text(target), drawn.transfer.name


def in_parts(draw: Draw, fault: str) -> tuple[str, str]:
    """A tensor moved within its memory by several commands, rows in order; `upwards` overwrites what is read later."""
    rows, width = draw.choice((2, 3, 4)), draw.choice((64, 256))
    page = Page({"A": rows, "C": width})
    by = width * draw.choice((1, 1, 2))
    low = 65536
    source, dest = (low, low + by) if fault else (low + by, low)
    lines: list[str] = []
    one = draw.chance(50)
    for row in range(rows):
        lines += ["[[transfer.x.command]]"]
        lines += ["engine = { dmn = 0 }"] if one or draw.chance(0) else []
        lines += [
            f'read = "[C={width}:1]:{width} HBM/D@{source + row * width}"',
            f'write = "[C={width}:1]:{width} HBM/D@{dest + row * width}"',
        ]
    page.table(
        "transfer.x", 'dtype = "i8"', f"source = {tensor('hbm', source, 'A, C')}",
        f"dest = {tensor('hbm', dest, 'A, C')}",
        *lines,
    )  # fmt: skip
    return page.text(), "x"


def replicas(draw: Draw, fault: str) -> tuple[str, str]:
    """A destination with replicas: a number, or an axis that the source does not name, on any place."""
    page = Page({"A": draw.choice((1, 2, 3)), "N": draw.choice((1, 2, 4)), "C": 8})
    how = draw.choice(("number", "axis"))
    many = draw.choice((2, 4)) if how == "number" else page.axes["N"]
    word = str(many) if how == "number" else "N"
    slice_ = word if draw.chance(60) else ""
    rest = draw.shuffled(["A", *([] if slice_ else [word])])
    time = draw.shuffled(["A", word])
    if fault == "stream":
        time.remove(word)
    source = tensor("hbm", 0, f"A{draw.choice(('', ' # 4'))}, C")
    dest = tensor("dm", 0, ", ".join([*rest, "C"]), slice_=slice_)
    page.table("transfer.x", 'dtype = "i8"', f"source = {source}", f"dest = {dest}", stream(time, "C"))
    return page.text(), "x"
