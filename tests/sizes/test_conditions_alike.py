"""What a proof of a program rests on at all sizes is what it rests on at each: no condition that no size has.

Programs are drawn in which every step is ordered: loads and stores whose streams walk in any order, or tile by tile
in a loop with one buffer or two in turns, upwards or downwards.
"""

from __future__ import annotations

import random
import re

import pytest
from lab.draws import seeds

import dmaverify.api as api
from dmaverify.prove.move.check import Options

RANGES = {"A": "{ min = 16, max = 128, multiple_of = 16 }", "B": "{ min = 1, max = 16 }",
          "C": "{ min = 64, max = 256, multiple_of = 64 }"}  # fmt: skip
FIXED = {"A": 64, "B": 8, "C": 256}
SIZES = ({"A": 48, "B": 3, "C": 128}, {"A": 128, "B": 2, "C": 64}, {"A": 64, "B": 16, "C": 256})
HBM = '{{ tier = "hbm", base = {}, element = "A, B, C"{} }}'


def shuffled(rng: random.Random, axes: list[str]) -> str:
    rng.shuffle(axes)
    return ", ".join(axes)


def stream(rng: random.Random, axes: list[str]) -> str:
    axes, packet = (axes, "C") if rng.random() < 0.7 else ([*axes, "C / 64"], "C % 64")
    return f'stream = {{ time = "{shuffled(rng, axes)}", packet = "{packet}" }}'


def move(rng: random.Random, name: str, loop: str, sides: tuple[str, str], axes: list[str]) -> str:
    return f'[transfer.{name}]\ndtype = "i8"\n{loop}source = {sides[0]}\ndest = {sides[1]}\n{stream(rng, axes)}\n'


def whole(rng: random.Random) -> str:
    """Tensors loaded and stored one after the other, through buffers beside each other or one."""
    slices, inside = rng.choice([("A", ["B"]), ("A / 2", ["A % 2", "B"])])
    lies, apart, text, steps = shuffled(rng, [*inside]), rng.choice(["0", "65536", "2*B*C"]), "", []
    for k in range(rng.choice([1, 2, 3])):
        buffer = f'{{ tier = "dm", base = «{k}*{apart}», slice = "{slices}", element = "{lies}, C" }}'
        far = [HBM.format(f"«2^28*{side} + {k}*A*B*C»", "") for side in range(2)]
        text += move(rng, f"in{k}", "", (far[0], buffer), [slices, *inside])
        text += move(rng, f"out{k}", "", (buffer, far[1]), [slices, *inside])
        steps += [f"in{k}", f"out{k}"]
    return text + told(steps)


def tiled(rng: random.Random) -> str:
    """Tiles loaded, taken through the engine or not, and stored."""
    rows = rng.choice([2, 4, 8])
    start = rng.choice([f"{rows} * t", f"‹A - {rows}› - {rows} * t"])
    lies = shuffled(rng, [f"A = {rows}", "B"])
    turns, lies = (
        (', view = { tile = "D", length = 1, start = "t % 2" }', f"D, {lies}") if rng.random() < 0.4 else ("", lies)
    )
    loop, view = f"loop = {{ t = «A / {rows}» }}\n", f', view = {{ tile = "A", length = {rows}, start = "{start}" }}'
    buffers = [f'{{ tier = "dm", base = {at}, slice = "1 # 64", element = "{lies}, C"{turns} }}' for at in (0, 2**18)]
    far, axes = [HBM.format(at, view) for at in (0, 2**28)], [f"A = {rows}", "B"]
    text = move(rng, "load", loop, (far[0], buffers[0]), axes)
    steps, last = ["load"], buffers[0]
    if rng.random() < 0.5:
        steps, last = ["load", "use+make"], buffers[1]
        for name, engine, buffer in (("use", "fetch", buffers[0]), ("make", "commit", buffers[1])):
            text += f'[access.{name}]\nengine = "{engine}"\ndtype = "i8"\n{loop}memory = {buffer}\n'
            text += f'stream = {{ time = "A = {rows}, B, C / 32", packet = "C % 32" }}\n'
    return text + move(rng, "store", loop, (last, far[1]), axes) + told([*steps, "store"])


def told(steps: list[str]) -> str:
    named = (
        f'access = ["{s.replace("+", chr(34) + ", " + chr(34))}"]' if "+" in s else f'transfer = "{s}"' for s in steps
    )
    return f'[program.p]\norder = "written"\nstep = [{", ".join(f"{{ {one} }}" for one in named)}]\n'


def at(text: str, values: dict[str, int] | None) -> str:
    """The plan with numbers, or with expressions as strings."""

    def number(found: re.Match[str]) -> str:
        return str(eval(found[1].replace("^", "**").replace("/", "//"), {}, values))

    if values is None:
        return re.sub("«(.*?)»", r'"\1"', re.sub("[‹›]", "", text))
    return re.sub("‹(.*?)›", number, re.sub("«(.*?)»", number, text))


def conditions(text: str) -> set[str]:
    (verdict,) = api.check(text, "p", options=Options(cross_check=0, timeout=None))  # no clock: programs are many
    assert verdict.status.value == "proved", (verdict, text)
    return {re.sub("[0-9, ]", "", one) for one in verdict.conditions}


@pytest.mark.parametrize("seed", seeds(1, 400))
@pytest.mark.parametrize("draw", [whole, tiled])
def test_a_program_rests_at_all_sizes_on_nothing_that_no_size_rests_on(draw: object, seed: int) -> None:
    rng = random.Random(seed)
    text = draw(rng)  # type: ignore[operator]
    free = rng.choice([["A"], ["B"], ["C"], ["A", "B"], ["B", "C"], ["A", "B", "C"]])

    def head(sizes: dict[str, int]) -> str:
        axes = {name: sizes.get(name, RANGES[name] if name in free else FIXED[name]) for name in FIXED}
        return 'schema = 1\ntarget = "rngd"\n[axes]\nD = 2\n' + "".join(f"{n} = {v}\n" for n, v in axes.items())

    each = []
    for sizes in SIZES:
        some = {name: sizes[name] for name in free}
        each.append(conditions(head(some) + at(text, FIXED | some)))
    assert conditions(head({}) + at(text, None)) <= set().union(*each), text


BESIDE = """
[transfer.in]
dtype = "i8"
source = { tier = "hbm", base = 0, element = "A, B, C" }
dest = { tier = "dm", base = 0, slice = "A", element = "B, C" }
stream = { time = "B, A", packet = "C" }
[transfer.other]
dtype = "i8"
source = { tier = "hbm", base = 1048576, element = "A, B, C" }
dest = { tier = "dm", base = "PLACE", slice = "A", element = "B, C" }
stream = { time = "B, A", packet = "C" }
[transfer.out]
dtype = "i8"
source = { tier = "dm", base = 0, slice = "A", element = "B, C" }
dest = { tier = "hbm", base = 2147483648, element = "A, B, C" }
stream = { time = "B, A", packet = "C" }
[program.p]
order = "written"
step = [{ transfer = "in" }, { transfer = "other" }, { transfer = "out" }]
"""


@pytest.mark.parametrize(
    ("place", "rests"),
    [
        ("5120", False),  # the most rows end there
        ("4864", True),
        ("256*B", False),
        ("256*B - 256", True),
        ("256*((B - 10)*(B - 10) + 6)", True),  # in the middle of the range alone
    ],
)
def test_steps_that_share_a_byte_at_some_sizes_alone_are_a_condition(place: str, rests: bool) -> None:
    head = 'schema = 1\ntarget = "rngd"\n[axes]\nA = 64\nB = { min = 1, max = 20 }\nC = 256\n'
    (verdict,) = api.check(head + BESIDE.replace("PLACE", place), "p")
    assert bool(verdict.conditions) == rests
