"""Rust kernels that copy a tensor tile by tile, drawn right or with one change, and what becomes of each tile.

Knows: loops, ranges, conditions, also over parameters, `break`, `continue` and `return`, sums that name a tile.
Does not know: how a kernel is judged.
Law: the same seed gives the same kernel; its truth is found by running it on a list of tiles, for every value of its
parameters, by nothing else.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import product

TILES = 6
HEAD = """use furiosa_opt_std::prelude::*;
axes![B = 32, L = 96, F = 8];
type T = HbmTensor<i8, m![1], m![B, L, F]>;
#[device(chip = 1)]
pub fn k(ctx: &mut Context, input: &T) -> T {
    let mut mid = DmTensor::<i8, m![1], m![1 # 2], m![B # 256], m![L, F]>::new();
    let mut out = T::new();
"""
LOAD = """input.view().tile::<m![L / 16], 1, m![B, 1 # 6, L % 16, F]>({at})
    .to_dm_view(&mut ctx.tdma, mid.view_mut().tile::<m![L / 16], 1, m![1 #{{!}} 6, L % 16, F]>({at}));"""
STORE = """mid.view().tile::<m![L / 16], 1, m![1 # 6, L % 16, F]>({at})
    .to_hbm_view(&mut ctx.tdma, out.view_mut().tile::<m![L / 16], 1, m![B, 1 #{{!}} 6, L % 16, F]>({at}));"""


PARAMETERS = {"c": (False, True), "b": (False, True), "n": (3, 4)}
ASKED = ("c", "b", "c", "n == 3", "n != 3")


@dataclass
class Copied:
    """A tile loaded or stored."""

    kind: str
    at: str


@dataclass
class Looped:
    """`for name in rust`, which is `for name in python`; `pattern` where it is more than a name."""

    name: str
    rust: str
    python: str
    body: list[Line]
    pattern: str = ""


@dataclass
class Chosen:
    """A condition with what it guards; a jump has no body."""

    test: str
    body: list[Line]
    other: list[Line]
    jump: str = ""


Line = Copied | Looped | Chosen


@dataclass(frozen=True)
class DrawnTiles:
    """A kernel, whether it stays within its tensors and stores all that was loaded, whether a tile is moved twice."""

    text: str
    right: bool
    twice: bool


def drawn(seed: int) -> DrawnTiles:
    """A kernel that copies every tile; every second one has a change somewhere."""
    rng = random.Random(seed)
    both = rng.random() < 0.5
    lines = _covered(rng, ("load", "store")) if both else _covered(rng, ("load",)) + _covered(rng, ("store",))
    if rng.random() < 0.5:
        _changed(lines, rng)
    loads, stores, fits = _run(lines)
    right = fits and set(stores) == set(range(TILES))
    twice = any(len(set(one)) < len(one) for one in (loads, stores))
    return DrawnTiles(HEAD + "\n".join(_rust(lines, 1)) + "\n    out\n}\n", right, twice)


def drawn_ways(seed: int) -> DrawnTiles:
    """The same behind conditions over parameters: of most, each arm does all that the line did."""
    rng = random.Random(seed)
    lines = (
        _covered(rng, ("load",)) + _covered(rng, ("store",)) if rng.random() < 0.5 else _covered(rng, ("load", "store"))
    )
    for _ in range(rng.randint(1, 3)):
        held, index = rng.choice(list(_places(lines)))
        line, how, test = held[index], rng.random(), rng.choice(ASKED)
        if isinstance(line, Chosen) and line.jump:
            continue
        if how < 0.55:
            held[index] = Chosen(test, [line], [deepcopy(line)])
        elif how < 0.7:
            held[index] = Chosen(test, [line], [])
        elif how < 0.8:
            held.insert(index, Chosen(test, [], [], "return"))
        elif how < 0.9:
            held[index : index + 1] = [Chosen(test, [line], []), Chosen(rng.choice(ASKED), [], [deepcopy(line)])]
        else:
            _changed(lines, rng)
    runs = [_run(lines, dict(zip(PARAMETERS, values, strict=True))) for values in product(*PARAMETERS.values())]
    right = all(fits and set(stores) == set(range(TILES)) for _, stores, fits in runs)
    twice = any(len(set(one)) < len(one) for loads, stores, _ in runs for one in (loads, stores))
    head = HEAD.replace("input: &T)", "input: &T, c: bool, b: bool, n: usize)")
    return DrawnTiles(head + "\n".join(_rust(lines, 1)) + "\n    out\n}\n", right, twice)


def _covered(rng: random.Random, kinds: Sequence[str], low: int = 0, end: int = TILES, deep: int = 0) -> list[Line]:
    """Lines that copy each tile of a range once, each in one of many ways."""
    many, name = end - low, f"i{rng.randrange(10_000)}"

    def moved(at: str) -> list[Line]:
        return [Copied(kind, at) for kind in kinds]

    def loop(first: int, last: int, body: list[Line]) -> list[Line]:
        return [Looped(name, f"{first}..{last}", f"range({first}, {last})", body)]

    if many == 0:
        return []
    at = rng.randint(low, end - 1)
    ways = [
        lambda: loop(low, end, moved(name)),
        lambda: loop(0, many, moved(f"{name} + {low}")),
        lambda: loop(0, many, moved(f"{end - 1} - {name}")),
        lambda: [Looped(name, f"({low}..{end}).rev()", f"reversed(range({low}, {end}))", moved(name))],
        lambda: [
            Looped(name, f"({first}..{end}).step_by(2)", f"range({first}, {end}, 2)", moved(name))
            for first in (low, low + 1)
        ],
        lambda: loop(low, end, [Chosen(f"{name} < {at}", moved(name), moved(name))]),
        lambda: loop(low, end, [Chosen(f"{name} != {at}", moved(name), [])]) + moved(str(at)),
        lambda: loop(low, end, [Chosen(f"{name} == {at}", [], [], "continue"), *moved(name)]) + moved(str(at)),
        lambda: (
            loop(low, end, [Chosen(f"{name} == {at}", [], [], "break"), *moved(name)])
            + _covered(rng, kinds, at, end, 2)
        ),
    ]
    numbered = f"enumerate(range({low}, {end}))"
    paired = f"zip(reversed(range({low}, {end})), range({low}, {TILES + 2}))"
    ways += [
        lambda: [
            Looped(name, f"({low}..{last}).rev().step_by(2)", f"range({last - 1}, {low - 1}, -2)", moved(name))
            for last in (end, end - 1)
        ],
        lambda: [Looped(name, f"({low}..{end}).enumerate()", numbered, moved(name), f"(_, {name})")],
        lambda: [Looped(name, f"({low}..{end}).rev().zip({low}..{TILES + 2})", paired, moved(name), f"({name}, _)")],
        lambda: loop(0, many, moved(f"[{', '.join(map(str, rng.sample(range(low, end), many)))}][{name}]")),
    ]
    if many % 3 == 0 and many > 3:
        ways.append(lambda: loop(0, 3, [Looped(f"{name}b", f"0..{many // 3}", f"range({many // 3})",
                                               moved(f"{name} * {many // 3} + {name}b + {low}"))]))  # fmt: skip
    if many == TILES:
        turned = rng.randint(1, TILES - 1)
        ways.append(lambda: loop(0, TILES, moved(f"({name} + {turned}) % {TILES}")))
    if deep < 2 and many > 1:
        cut = rng.randint(low + 1, end - 1)
        halves = ((low, cut), (cut, end))
        ways.append(lambda: [one for a, b in halves for one in _covered(rng, kinds, a, b, deep + 1)])
    return rng.choice(ways)()


def _places(lines: list[Line]) -> Iterator[tuple[list[Line], int]]:
    for index, line in enumerate(lines):
        yield lines, index
        for inner in _inner(line):
            yield from _places(inner)


def _inner(line: Line) -> list[list[Line]]:
    return [line.body] if isinstance(line, Looped) else [line.body, line.other] if isinstance(line, Chosen) else []


def _changed(lines: list[Line], rng: random.Random) -> None:
    """One place of the kernel, otherwise."""
    held, index = rng.choice(list(_places(lines)))
    line, how = held[index], rng.random()
    if isinstance(line, Copied):
        if how < 0.25:
            held.pop(index)
        elif how < 0.4 and index + 1 < len(held):
            held[index], held[index + 1] = held[index + 1], held[index]
        else:
            changes = (f"{line.at} + 1", f"({line.at}) / 2", f"({line.at}) % {rng.randint(2, 6)}")
            held[index] = Copied(line.kind, rng.choice(changes))
    elif isinstance(line, Looped):
        first, last = (int(number) for number in re.findall(r"\d+", line.rust)[:2])
        first, last = (max(0, n + rng.choice((-1, 0, 1))) for n in (first, last))
        held[index] = Looped(line.name, f"{first}..{last}", f"range({first}, {last})", line.body)
    elif line.jump in ("break", "continue"):
        line.jump = "break" if line.jump == "continue" else "continue"
    elif how < 0.5:
        line.test = line.test.replace("<", ">").replace("!=", "==")
    else:
        line.other = []


def _rust(lines: Sequence[Line], deep: int) -> Iterator[str]:
    pad = "    " * deep
    for line in lines:
        if isinstance(line, Copied):
            text = (LOAD if line.kind == "load" else STORE).format(at=line.at)
            yield from (pad + one for one in text.split("\n"))
        elif isinstance(line, Looped):
            yield f"{pad}for {line.pattern or line.name} in {line.rust} {{"
            yield from _rust(line.body, deep + 1)
            yield pad + "}"
        elif line.jump:
            yield f"{pad}if {line.test} {{ {'return out' if line.jump == 'return' else line.jump}; }}"
        else:
            yield f"{pad}if {line.test} {{"
            yield from _rust(line.body, deep + 1)
            yield pad + "} else {"
            yield from _rust(line.other, deep + 1)
            yield pad + "}"


def _python(lines: Sequence[Line], deep: int) -> Iterator[str]:
    pad = "    " * deep
    yield pad + "pass"
    for line in lines:
        if isinstance(line, Copied):
            yield f"{pad}{line.kind}({line.at.replace('/', '//')})"
        elif isinstance(line, Looped):
            yield f"{pad}for {line.pattern or line.name} in {line.python}:"
            yield from _python(line.body, deep + 1)
        elif line.jump:
            yield f"{pad}if {line.test}: {line.jump}"
        else:
            yield f"{pad}if {line.test}:"
            yield from _python(line.body, deep + 1)
            yield pad + "else:"
            yield from _python(line.other, deep + 1)


def _run(lines: Sequence[Line], parameters: dict[str, int] | None = None) -> tuple[list[int], list[int], bool]:
    """Tiles loaded and stored in order, and whether each lies within, is loaded before it is stored, and is there."""
    loads: list[int] = []
    stores: list[int] = []
    early: list[int] = []

    def store(tile: int) -> None:
        early.extend([tile] if tile not in loads else [])
        stores.append(tile)

    names: dict[str, object] = {"load": loads.append, "store": store, **(parameters or {})}
    exec("def kernel():\n" + "\n".join(_python(lines, 1)), names)
    try:
        names["kernel"]()  # type: ignore[operator]
    except IndexError:
        early.append(-1)
    return loads, stores, not early and all(0 <= tile < TILES for tile in (*loads, *stores))
