"""Views drawn: tiles of axes and of digits, of tiles, of slices, with the loops that move them.

Knows: how a tensor is cut into tiles that follow each other, which numbers a fault changes.
Does not know: what a judge says.
Law: without a fault the tiles lie on their tensor, follow each other without a gap, and each is moved whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from lab.pages import DTYPES, Page, size_of_axis, stream, tensor, tile, views

from dmaverify.testing.draw import Draw
from dmaverify.values import dataclass

# ---------------------------------------------------------------- tiled axes


@dataclass(frozen=True)
class TileCut:
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


def _cut(draw: Draw, axis: str, size: int, *, tiled: bool) -> TileCut:
    divisors = [d for d in range(1, size + 1) if size % d == 0]
    split = draw.choice(divisors)
    if not tiled:
        if 1 < split < size and draw.chance(40):
            return TileCut(
                axis, (f"{axis} / {split}", f"{axis} % {split}"), part=(f"{axis} / {split}", f"{axis} % {split}")
            )
        padded = f"{axis} # {size + draw.integer(1, 3)}" if draw.chance(25) else axis
        return TileCut(axis, (padded,), part=(padded if draw.chance(50) else axis,))
    how = draw.choice(("whole", "whole", "high", "low")) if 1 < split < size else "whole"
    if how == "whole":
        length = draw.choice(divisors)
        part = f"{axis} = {length}" if length < size else axis
        return TileCut(axis, (axis,), axis, size, length, (part,))
    high, low = f"{axis} / {split}", f"{axis} % {split}"
    terms = (axis,) if draw.chance(30) else (high, low)
    if how == "high":
        length = draw.choice([d for d in range(1, size // split + 1) if size // split % d == 0])
        part = f"{axis} = {length * split}" if length * split < size else axis
        return TileCut(axis, terms, high, size // split, length, (part,))
    length = draw.choice([d for d in range(1, split + 1) if split % d == 0])
    return TileCut(axis, terms, low, split, length, (high, f"{low} = {length}" if length < split else low))


def _ordered(draw: Draw, cuts: Sequence[TileCut], inner: str) -> list[str]:
    """The terms of the big side: digits of one axis from high to low, axes mixed, the packet's axis innermost."""
    if draw.chance(60):
        return [term for cut in draw.shuffled(cuts) for term in cut.terms] + [inner]
    return [*draw.shuffled([term for cut in cuts for term in cut.terms]), inner]


def _starts(cuts: Sequence[TileCut], draw: Draw) -> tuple[list[tuple[TileCut, str]], list[tuple[str, int]]]:
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


def tiled_transfer(
    draw: Draw, page: Page, name: str, fault: str, *, base: int = 0, padded: bool = False
) -> list[tuple[str, int]]:
    """A transfer between a tensor seen by tiles and a small one; gives its loops. `padded`: rows of both are."""
    store = draw.chance(60)
    dtype = draw.choice(DTYPES)
    page.axes.update({axis: size_of_axis(draw, 8) for axis in "AB" if axis not in page.axes})
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
        cut = next((int(start.rpartition("/ ")[2].rstrip(")")) for _, start in starts if "/" in start), 1)
        loops[at] = (loops[at][0], loops[at][1] + cut)  # one tile more; a loop that is cut stays divisible
    if fault == "length":
        digit = draw.choice(list(lengths))
        lengths[digit] += 1
    tiles = [tile(cut.digit, lengths[cut.digit], start) for cut, start in draw.shuffled(starts)]
    wide = page.axes["C"] + 8
    inner = [
        f"C {draw.choice(('#', '#{!}', '#{0}') if side else ('#', '#{!}'))} {wide}" if padded else "C"
        for side in (1, 0)
    ]
    far, near = inner[::-1] if store else inner
    big = ", ".join(_ordered(draw, cuts, far))
    parts = [part for cut in cuts for part in cut.part]
    room = draw.integer(0, len(parts) - 1) if parts and draw.chance(40) else -1
    slice_ = parts[room] if room >= 0 else ""
    small = ", ".join([*(p for at, p in enumerate(parts) if at != room), near])
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


def padded_tiles(draw: Draw, fault: str) -> tuple[str, str]:
    """One transfer by tiles whose rows are padded on both sides."""
    page = Page()
    tiled_transfer(draw, page, "x", fault, padded=True)
    return page.text(), "x"


def tiled_program(draw: Draw, fault: str) -> tuple[str, str]:
    """A program of one transfer by tiles: what they make together."""
    page = Page()
    tiled_transfer(draw, page, "x", fault)
    page.lines += ["[program.p]", 'step = [{ transfer = "x" }]']
    return page.text(), "p"


# ---------------------------------------------------------------- tiles of tiles, tiles of slices


def nested(draw: Draw, fault: str) -> tuple[str, str]:
    """Tiles of tiles, up to four deep, on axes of which some are 1; numbers for starts."""
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
    for _ in range(draw.integer(0, 2)):  # further into the tile, or into a digit of it
        if length % 2 == size % 2 == 0 and draw.chance(50):
            part = draw.integer(1, length // 2)
            tiles.append(tile("A / 2", part, draw.integer(0, length // 2 - part)))
            length = 2 * part
            break
        part = draw.integer(1, length)
        tiles.append(tile("A", part, draw.integer(0, length - part)))
        length = part
    more = [tile("N", 1, 0)] * draw.integer(0, 1)
    where = draw.integer(0, len(tiles))
    tiles[where:where] = more
    terms = [*draw.shuffled(["A", "N"]), "C"]
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


def both(draw: Draw, fault: str) -> tuple[str, str]:
    """Both sides seen by tiles of one axis, in tensors of other shapes; `start`: they look at other coordinates."""
    page = Page({"A": draw.choice((4, 6, 8)), "N": draw.choice((1, 2)), "C": 8})
    size = page.axes["A"]
    length = draw.choice([d for d in range(1, size) if size % d == 0])
    count = size // length
    start = f"{length} * t" if length > 1 else "t"
    other = start
    if fault == "start":
        other = f"{start} + {length}"
    tiles = [tile("A", length, start), tile("A", length, other)]
    shown = "N"
    slice_ = draw.choice(("", "N"))
    if page.axes["N"] == 1 and draw.chance(60):
        extra = [tile("N", 1, 0), tile("N", 1, 0, "slice" if slice_ else "element")]
        tiles = [views(draw.shuffled([one, more])) for one, more in zip(tiles, extra, strict=True)]
    rest = ", ".join(t for t in draw.shuffled(["A", "N"]) if t != slice_)
    page.table(
        "transfer.x", 'dtype = "i8"', f"loop = {{ t = {count} }}",
        f"source = {tensor('hbm', 0, ', '.join([*draw.shuffled(['A', 'N']), 'C']), view=tiles[0])}",
        f"dest = {tensor('dm', 0, rest + ', C', slice_=slice_, view=tiles[1])}",
        stream(draw.shuffled([f"A = {length}", shown]), "C"),
    )  # fmt: skip
    page.lines += ["[program.p]", 'step = [{ transfer = "x" }]']
    return page.text(), "p"


def slices_in_turn(draw: Draw, fault: str) -> tuple[str, str]:
    """A loop whose tile of slices moves; the slices are filled one part after the other. `again`: some twice."""
    slices, each = draw.choice((4, 8)), draw.choice((1, 2))
    count = slices // each
    page = Page({"S": slices, "C": 8})
    start = f"{each} * t" if each > 1 else "t"
    if fault == "again":
        start = f"{each} * (t / 2)" if count % 2 == 0 else "0"
    if fault == "beyond":
        count += 1
    view = tile("S", each, start, "slice")
    source = tensor("hbm", 0, f"S = {each}, C")
    if draw.chance(50):
        source = tensor("hbm", 0, "S, C", view=tile("S", each, start))
    page.table(
        "transfer.x", 'dtype = "i8"', f"loop = {{ t = {count} }}", f"source = {source}",
        f"dest = {tensor('dm', 0, 'C', slice_='S', view=view)}", stream([f"S = {each}"], "C"),
    )  # fmt: skip
    page.lines += ["[program.p]", 'step = [{ transfer = "x" }]']
    return page.text(), "p"


def twin(draw: Draw, fault: str, factor: int = 1) -> tuple[str, str]:
    """Rows by tiles: the number of tiles is multiplied by `factor`, all else stays, and so does what is true."""
    length, count = draw.choice((1, 2, 3)), draw.choice((2, 4))
    rows = length * count * factor
    page = Page({"A": rows, "N": draw.choice((1, 2)), "C": draw.choice((8, 64))})
    start = f"{length} * t" if length > 1 else "t"
    loops = count * factor
    if fault == "start":
        start += " + 1"
    if fault == "count":
        loops -= 1
    if fault == "twice":
        start, loops = "t", rows - length + 1
    time = [f"A = {length}"] if fault == "stream" else draw.shuffled([f"A = {length}", "N"])
    view = tile("A", length, start)
    terms = draw.shuffled(["A", "N"])
    store = draw.chance(60) or bool(fault)
    sides = [tensor("hbm", 0, ", ".join([*terms, "C"]), view=view), tensor("dm", 0, f"A = {length}, N, C")]
    if store:
        sides.reverse()
    page.table(
        "transfer.x", 'dtype = "i8"', f"loop = {{ t = {loops} }}", f"source = {sides[0]}", f"dest = {sides[1]}",
        stream(time, "C"),
    )  # fmt: skip
    page.lines += ["[program.p]", 'step = [{ transfer = "x" }]']
    return page.text(), "p"
