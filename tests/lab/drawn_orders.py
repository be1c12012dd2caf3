"""Programs drawn for their order: engines, contexts, loops of several steps, index lists, sums over what runs at once.

Knows: how each is written right, which numbers a fault changes. Does not know: what a judge says.
Law: as in `written`.
"""

from __future__ import annotations

from lab.pages import Page, stream, tensor, tile

from dmaverify.testing.draw import Draw


def engines(draw: Draw, fault: str) -> tuple[str, str]:
    """Two transfers by engines of their own, streams or printed commands; what they share is ordered.

    Faults: `order` takes the order away, `apart` lets them meet who should not.
    """
    page = Page({"A": draw.choice((2, 4)), "C": draw.choice((8, 16))})
    rows, width = page.axes["A"], page.axes["C"]
    size = rows * width
    shared = draw.chance(60) or fault == "order"
    middle = tensor("dm", 0, "A, C")
    second = middle if shared else tensor("dm", 65536, "A, C")
    if fault == "apart":
        shared, second = False, tensor("dm", size - 8, "A, C")
    kind = "read" if shared or draw.chance(50) else "write"
    numbers = draw.shuffled([0, 1, 2, 3])[:2]
    named = [f"engine = {{ dmn = {n} }}" for n in numbers]
    if not fault and draw.chance(30):
        named = ["", ""]  # one queue
    far = tensor("hbm", 65536, "A, C")
    ends = [(tensor("hbm", 0, "A, C"), middle), (second, far) if kind == "read" else (far, second)]
    for number, (source, dest) in enumerate(ends):
        page.table(
            f"transfer.t{number}", 'dtype = "i8"', f"source = {source}", f"dest = {dest}", stream(["A"], "C"),
            named[number],
        )  # fmt: skip
    after = ', after = ["t0"]' if shared and fault != "order" else ""
    page.lines += ["[program.p]", f'step = [{{ transfer = "t0" }}, {{ transfer = "t1"{after} }}]']
    return page.text(), "p"


def contexts(draw: Draw, fault: str) -> tuple[str, str]:
    """Accesses of both contexts and a transfer on one buffer, in the order that they need; some in loops.

    The fault `order` drops one `after`.
    """
    page = Page({"A": draw.choice((1, 2, 4)), "C": draw.choice((8, 16, 32))})
    loop = f"loop = {{ t = {draw.choice((1, 2, 3))} }}" if draw.chance(50) else ""
    memory = tensor("dm", 0, "A, C")
    page.table(
        "transfer.load", 'dtype = "i8"', loop, f"source = {tensor('hbm', 0, 'A, C')}", f"dest = {memory}",
        stream(["A"], "C"),
    )  # fmt: skip
    page.table(
        "access.read", 'engine = "fetch"', 'context = "main"', 'dtype = "i8"', loop, f"memory = {memory}",
        stream(["A"], "C"),
    )  # fmt: skip
    page.table(
        "access.fill", 'engine = "commit"', 'context = "sub"', 'dtype = "i8"', loop, f"memory = {memory}",
        stream(["A"], "C"),
    )  # fmt: skip
    steps = [('{ transfer = "load"', ""), ('{ access = "read"', '"load"'), ('{ access = "fill"', '"read"')]
    dropped = draw.integer(1, 2) if fault == "order" else -1
    order = "written" if loop or draw.chance(30) else draw.choice(("contexts", "none"))
    if fault == "order":
        order = draw.choice(("contexts", "none"))
    shown = [
        head + (f", after = [{wait}]" if wait and at != dropped else "") + " }" for at, (head, wait) in enumerate(steps)
    ]
    page.lines += ["[program.p]", f'order = "{order}"', f"step = [{', '.join(shown)}]"]
    return page.text(), "p"


def lists(draw: Draw, fault: str) -> tuple[str, str]:
    """A gather whose index list a transfer brings: the list is read, so the gather waits. `order`: it does not."""
    page = Page({"R": 4, "K": 2, "C": 8})
    tier, base = draw.choice((("hbm", 1048576), ("dm", 65536)))
    page.table(
        "transfer.list", 'dtype = "i32"', f"source = {tensor('hbm', 2097152, 'K')}",
        f"dest = {tensor(tier, base, 'K')}",
        stream([], "K"), "engine = { dmn = 1 }",
    )  # fmt: skip
    scaled = "true" if tier == "hbm" else "false"
    index = f'{{ tier = "{tier}", base = {base}, element = "K", scaled = {scaled}, rows = [0, 3] }}'
    page.table(
        "gather.g", 'dtype = "i8"', f"source = {tensor('hbm', 0, 'R, C')}", f"dest = {tensor('dm', 0, 'K, C')}",
        f"index = {index}", 'axis = "R"', 'key = "K"', stream(["K"], "C"),
    )  # fmt: skip
    after = "" if fault == "order" else ', after = ["list"]'
    context = ', context = "other"' if fault == "order" or draw.chance(50) else ""
    page.lines += ["[program.p]", f'step = [{{ transfer = "list" }}, {{ gather = "g"{after}{context} }}]']
    return page.text(), "p"


def partly(draw: Draw, fault: str) -> tuple[str, str]:
    """A tensor written by a tile and by a scatter: all rows, when the scatter names what the tile leaves.

    Faults: `left-out` names a row that is written already.
    """
    rows = draw.choice((4, 6))
    keys = 2
    page = Page({"R": rows, "K": keys, "C": 8})
    tiled = rows - keys
    view = tile("R", tiled, 0)
    page.table(
        "transfer.s", 'dtype = "i8"', f"source = {tensor('dm', 0, f'R = {tiled}, C')}",
        f"dest = {tensor('hbm', 65536, 'R, C', view=view)}", stream([f"R = {tiled}"], "C"),
    )  # fmt: skip
    numbers = draw.shuffled([rows - 2, rows - 1])
    if fault == "left-out":
        numbers[draw.integer(0, 1)] = draw.integer(0, tiled - 1)
    values = [n * 8 for n in numbers]
    index = f'{{ tier = "hbm", base = 1048576, element = "K", scaled = true, values = {values} }}'
    page.table(
        "scatter.g", 'dtype = "i8"', f"source = {tensor('dm', 4096, 'K, C')}", f"dest = {tensor('hbm', 65536, 'R, C')}",
        f"index = {index}", 'axis = "R"', 'key = "K"', stream(["K"], "C"),
    )  # fmt: skip
    page.lines += ["[program.p]", 'step = [{ transfer = "s" }, { scatter = "g", after = ["s"] }]']
    return page.text(), "p"


def sums(draw: Draw, fault: str) -> tuple[str, str]:
    """Accesses of both contexts beside a load: only what may run at once, in one slice, adds up.

    Without a fault the sums stay below the limit, or the accesses work in other slices, or wait; `rows` adds up.
    """
    how = draw.choice(("small", "slices", "wait", "apart", "banks")) if not fault else "too-many"
    first, second = draw.choice((20, 31, 40)), draw.choice((24, 33, 40))
    if how in ("small",):
        first, second = draw.choice((20, 30)), draw.choice((20, 32))
    if how in ("wait", "slices", "banks", "apart"):
        first, second = 40, 40
    if fault:
        second = max(second, 64 - first)
    page = Page({"A": 4, "C": 64, "M": first, "N": second, "W": 8, "S": 8})
    where = tensor("dm", {"small": 262144}.get(how, 262144), "C", slice_="A")
    if how == "apart":
        where = '{ tier = "dm", base = { slice = 8, element = 262144 }, slice = "A", element = "C" }'
    page.table(
        "transfer.load", 'dtype = "i8"', f"source = {tensor('hbm', 0, 'A, C')}", f"dest = {where}", stream(["A"], "C")
    )
    sides = [("main", "M", 0, 0), ("sub", "N", 131072, 4 if how == "slices" else 0)]
    for context, axis, base, start in sides:
        view = tile("S", 4, start, "slice")
        if how == "banks" and context == "sub":
            base += 64
        page.table(
            f"access.{context}", 'engine = "fetch"', f'context = "{context}"', 'dtype = "i8"',
            f"memory = {tensor('dm', base, f'{axis}, W # 128', slice_='S', view=view)}", stream([axis], "W"),
        )  # fmt: skip
    after = ', after = ["main"]' if how == "wait" else ""
    page.lines += [
        "[program.p]", f'step = [{{ transfer = "load" }}, {{ access = "main" }}, {{ access = "sub"{after} }}]',
    ]  # fmt: skip
    return page.text(), "p"


def turns(draw: Draw, fault: str) -> tuple[str, str]:
    """A loop over two accesses of one context beside a load, or one access that shifts from bank to bank.

    `rows`: the shift stays on a bank.
    """
    count = draw.choice((40, 64, 80))
    page = Page({"A": 4, "C": 64, "T": count, "W": 8})
    page.table(
        "transfer.load", 'dtype = "i8"', f"source = {tensor('hbm', 0, 'A, C')}",
        f"dest = {tensor('dm', 262144, 'C', slice_='A')}", stream(["A"], "C"),
    )  # fmt: skip
    if fault:
        count = page.axes["T"] = draw.choice((63, 64, 80))
    pitch = 128 if fault else draw.choice((8, 24, 40, 136))
    element = f"T, W # {pitch}" if pitch > 8 else "T, W"
    page.table(
        "access.use", 'engine = "fetch"', f'context = "{draw.choice(("main", "sub"))}"', 'dtype = "i8"',
        f"loop = {{ t = {count} }}", f"memory = {tensor('dm', 0, element, slice_='4', view=tile('T', 1, 't'))}",
        stream([], "W"),
    )  # fmt: skip
    page.lines += ["[program.p]", 'step = [{ transfer = "load" }, { access = "use" }]']
    return page.text(), "p"
