"""Programs drawn: stores in parts, loops of several steps, banks beside DMA, orders of every kind.

Knows: how each is written right, which numbers a fault changes. Does not know: what a judge says.
Law: as in `written`.
"""

from __future__ import annotations

from lab.pages import Page, stream, tensor, tile

from dmaverify.testing.draw import Draw

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
    terms = [*draw.shuffled(["A", "N"]), "C"]
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
    if not fault and draw.chance(30):  # all of it once more, before the parts or behind them
        parts = page.axes["A"]
        view = draw.choice(("", tile("A", parts, 0), tile("A", parts, "0")))
        loop = draw.choice(("", "", "loop = { t = 2 }"))
        page.table(
            "transfer.all", 'dtype = "i8"', loop, f"source = {tensor('dm', 32768, 'A, N, C')}",
            f"dest = {tensor('hbm', 65536, ', '.join(terms), view=view)}", stream(["A", "N"], "C"),
        )  # fmt: skip
        steps.insert(draw.choice((0, len(steps))), '{ transfer = "all" }')
    page.lines += ["[program.p]", f"step = [{', '.join(steps)}]"]
    return page.text(), "p"


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
    how = draw.choice(("loop", "time", "view", "slices", "overlapping"))
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
    elif how == "overlapping":  # a slice sees as many iterations as the tile is long
        length = draw.choice((2, 3, 4))
        page.axes.update(S=8, M=-(-whole // length) if fault else whole // length or 1)
        slices, view, loop = "S", tile("S", length, "t", "slice"), f"loop = {{ t = {9 - length} }}"
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
    """Load and store tile by tile in one loop, with the orders that it needs. The fault `earlier` waits for the store
    of one iteration too many before.
    """
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
    context = ', context = "other"' if draw.chance(50) or fault in ("order", "earlier") else ""
    after = "" if fault == "order" else ', after = ["load"]'
    order = "" if not context or fault == "order" else 'order = "written"'
    earlier = ""
    if context and (fault == "earlier" or (not fault and draw.chance(50))):
        order, earlier = "", f", earlier = {{ store = {1 + double + (fault == 'earlier')} }}"
    steps = f'{{ transfer = "load"{earlier} }}, {{ transfer = "store"{after}{context} }}'
    page.lines += ["[program.p]", order, f"step = [{steps}]"]
    return page.text(), "p"
