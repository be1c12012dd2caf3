"""Random plans with symbols and loops: tiles that move with loops, pipelines of steps, right or with one thing changed.

Knows: the text of such plans, with symbols and at chosen sizes. Does not know: whether one is right.
Law: the same generator state gives the same plan. `«e»` is a number of the file, `‹e›` one within a text: arithmetic
over the symbols as it stands, or its value; at sizes at which it has none, `at` is None.
"""

import random
import re
from dataclasses import dataclass

NUMBER, INNER = re.compile("«([^»]*)»"), re.compile("‹([^›]*)›")


@dataclass(frozen=True)
class LoopedPlan:
    marked: str
    declared: str  # [axes] and what stands above, with symbols
    axes: tuple[str, ...]
    changed: str

    @property
    def text(self) -> str:
        body = NUMBER.sub(r'"\1"', self.marked)
        return self.declared + INNER.sub(r"(\1)", body)

    def at(self, values: dict[str, int]) -> str | None:
        """The plan with numbers, as someone writes it who has this size alone."""
        bad = False

        def value(found: re.Match[str]) -> str:
            nonlocal bad
            text = re.sub(r"(?<!/)/(?!/)", "|", found[1])
            number = _valued(text, values)
            bad |= number is None or number < 0
            return str(number)

        axes = "".join(f"{name} = {values[name]}\n" for name in self.axes)
        body = INNER.sub(value, NUMBER.sub(value, self.marked))
        return None if bad else f'schema = 1\ntarget = "rngd"\n[axes]\n{axes}{body}'


class _Exact(int):
    """An integer whose `|` divides without rest."""

    def __or__(self, by: int) -> "_Exact":
        if by == 0 or int(self) % int(by):
            raise ZeroDivisionError
        return _Exact(int(self) // int(by))

    def __mul__(self, by: int) -> "_Exact":
        return _Exact(int(self) * int(by))

    def __add__(self, by: int) -> "_Exact":
        return _Exact(int(self) + int(by))

    def __sub__(self, by: int) -> "_Exact":
        return _Exact(int(self) - int(by))


def _valued(text: str, values: dict[str, int]) -> int | None:
    # `|` binds looser than `+` in Python: every use in these texts stands in parentheses or alone
    names = {name: _Exact(value) for name, value in values.items()}
    try:
        return int(eval(re.sub(r"\b(\d+)\b", r"_E(\1)", text), {"_E": _Exact}, names))
    except ZeroDivisionError:
        return None


def looped(rng: random.Random) -> LoopedPlan:
    tile = rng.choice(("1", "2", "4", "K", "K", "2*K"))
    multiple = rng.choice((4, 4, 8)) if tile.isdigit() else 1
    assume = [] if tile.isdigit() else ([f"{tile} | A"] if rng.random() < 0.85 else [])
    if rng.random() < 0.2:
        assume.append(rng.choice(("A * C <= 400", "A >= 5", "16 | C", "A <= C")))
    free = [] if tile.isdigit() else ["K = { min = 1, max = 6 }"]
    inner = rng.choice(("C", "C", "16", "2*C"))
    axes = {"A": f"{{ min = {multiple}, max = {rng.choice((16, 24, 64))}"
            + (f", multiple_of = {multiple} }}" if multiple > 1 else " }"),
            "C": f"{{ min = {rng.choice((8, 8, 16))}, max = {rng.choice((24, 64))}, multiple_of = 8 }}"}  # fmt: skip
    changed = rng.choice(("", "", "", "count", "start", "base", "order", "length", "side"))
    count, starts = f"(A/({tile}))", _starts(rng, tile)
    loops = f"t = «{count}»"
    if rng.random() < 0.25:  # two loops, the outer of two turns or one
        outer = rng.choice((2, 2, 1))
        loops, starts = f"u = {outer}, t = «(A/({outer}*{tile}))»", [f"‹A/{outer}›*u + ‹{tile}›*t"]
        starts = [starts[0]] * 2
    if changed == "count":
        loops = loops.replace(f"«{count}»", rng.choice((f"«{count} + 1»", f"«{count} - 1»", "«A»", "«C»")))
    lengths = [tile, tile]
    side = rng.randrange(2)
    if changed == "start":
        starts[side] = rng.choice((f"{starts[side]} + 1", "t", f"‹{tile}›*t + ‹{tile}›", f"‹{tile} + 1›*t", "2"))
    if changed == "length":
        lengths[side] = rng.choice((f"{tile} + 1", f"2*{tile}", "1", "A"))
    slices = rng.choice(('slice = "1 # 64", ', "", 'slice = "1 # 256", '))
    use = rng.random() < 0.5
    base = rng.choice(("4096", "A*C*64" if inner != "16" else "A*1024"))
    if changed == "base":
        base = rng.choice((f"({tile})*8", "C", f"{tile}*C - 8", "0"))
    far = rng.choice(("16777216", "A*C*2", "A*1024 + 8"))
    view = [f'view = {{ tile = "A", length = «{n}», start = "{s}" }}' for n, s in zip(lengths, starts, strict=True)]
    inside = f"A = ‹{tile}›, C"
    stream = f'stream = {{ time = "A = ‹{tile}›", packet = "C" }}'
    if changed == "side":
        stream = stream.replace(f"A = ‹{tile}›", rng.choice(("A", f"A = ‹{tile} + 1›", "1")))
    where = base if use or changed == "base" or rng.random() < 0.7 else "0"
    lines = [
        "[transfer.load]", 'dtype = "i8"', f"loop = {{ {loops} }}",
        f'source = {{ tier = "hbm", element = "A, C", {view[0]} }}',
        f'dest = {{ tier = "dm", {slices}element = "{inside}" }}', stream,
        "[transfer.store]", 'dtype = "i8"', f"loop = {{ {loops} }}",
        f'source = {{ tier = "dm", base = «{where}», {slices}element = "{inside}" }}',
        f'dest = {{ tier = "hbm", base = «{far}», element = "A, C", {view[1]} }}', stream,
    ]  # fmt: skip
    if use:
        for name, kind, at in (("use", "fetch", "0"), ("make", "commit", where)):
            lines += [
                f"[access.{name}]", f'engine = "{kind}"', 'dtype = "i8"', f"loop = {{ {loops} }}",
                f'memory = {{ tier = "dm", base = «{at}», {slices}element = "{inside}" }}',
                f'stream = {{ time = "A = ‹{tile}›, C / 8", packet = "C % 8" }}',
            ]  # fmt: skip
    lines += ["[program.p]", *_steps(rng, use, changed)]
    marked = "\n".join(lines) + "\n"
    if "u = " not in loops and rng.random() < 0.25:  # around or inside, a loop that moves no tile
        free.append("U = { min = 1, max = 3 }")
        still = "loop = { u = «U», \\1 }" if rng.random() < 0.5 else "loop = { \\1, u = «U» }"
        marked = re.sub(r"loop = \{ (.*) \}", still, marked)
    head = 'schema = 1\ntarget = "rngd"\n' + (f"assume = {[*assume]}\n".replace("'", '"') if assume else "")
    head += "[axes]\n" + "".join(f"{name} = {text}\n" for name, text in axes.items())
    head += "[free]\n" + "\n".join(free) + "\n" if free else ""
    return LoopedPlan(marked, head, tuple(axes), changed)


def _starts(rng: random.Random, tile: str) -> list[str]:
    forms = [f"‹{tile}›*t", f"‹{tile}›*t", f"‹{tile}›*t", f"‹A - {tile}› - ‹{tile}›*t"]
    one = rng.choice(forms)
    return [one, one]


def _steps(rng: random.Random, use: bool, changed: str) -> list[str]:
    order = rng.choice(("contexts", "contexts", "written", "none" if changed == "order" else "written"))
    lane = rng.choice(("", ', context = "loads"')) if changed == "order" else ""
    if not use:
        after = ', after = ["load"]' if changed != "order" or rng.random() < 0.5 else ""
        steps = [f'{{ transfer = "load"{lane} }}', f'{{ transfer = "store"{after} }}']
    else:
        marks = [', after = ["load"]', ', after = ["use+make"]']
        if changed == "order" and rng.random() < 0.6:
            marks[rng.randrange(2)] = ""
        steps = [
            f'{{ transfer = "load"{lane} }}', f'{{ access = ["use", "make"]{marks[0]} }}',
            f'{{ transfer = "store"{marks[1]} }}',
        ]  # fmt: skip
    return [f'order = "{order}"', f"step = [{', '.join(steps)}]"]
