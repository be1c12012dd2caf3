"""Programs that read and write DM, drawn at random, and which of their reads find a byte that nothing wrote.

Knows: steps around one nest of loops, tiles that move with its counters, bytes in halves of a row, turn by turn.
Does not know: walks, events, how loops are followed.
Law: the answers follow from the drawn numbers alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import product
from math import prod

SHAPES = (
    {"t": 3}, {"t": 4}, {"t": 8}, {"t": 24}, {"t": 300}, {"u": 3, "t": 4}, {"u": 40, "t": 8}, {"u": 8, "t": 40},
)  # fmt: skip
HALF = 128


@dataclass(frozen=True)
class StartedStep:
    """`terms` move the row with counters, `t % 2` among them; `whole` is a step outside of loops on all rows."""

    base: int
    loads: bool
    loop: bool
    terms: dict[str, int] = field(default_factory=dict)
    row: int = 0
    whole: bool = False

    def rows(self, at: dict[str, int], count: int) -> range:
        moved = self.row
        for name, factor in self.terms.items():
            counter, _, turns = name.partition(" % ")
            moved += factor * (at[counter] % int(turns) if turns else at[counter])
        return range(count) if self.whole else range(moved, moved + 1)


@dataclass(frozen=True)
class StartedProgram:
    shape: dict[str, int]
    steps: tuple[StartedStep, ...]

    @property
    def count(self) -> int:
        return prod(self.shape.values()) + 2

    def text(self) -> str:
        loops = ", ".join(f"{name} = {count}" for name, count in self.shape.items())
        lines = ["schema = 1", 'target = "rngd"', f"axes = {{ A = {self.count}, S = 64, C = 256 }}"]
        flat = " + ".join(f"{factor} * {name}" for name, factor in _flat(self.shape).items())
        for number, step in enumerate(self.steps):
            near, far = f'tier = "dm", base = {step.base}, slice = "S"', f'tier = "hbm", base = {number << 26}'
            element, outer, time = "C", "S, C", "S"
            if step.loop:
                start = " + ".join([str(step.row), *(f"{k} * {n}" if k != 1 else n for n, k in step.terms.items())])
                start = start.replace("+ -", "- ")
                element, outer = "A, C", "A, S, C"
                tiles = [f', view = {{ tile = "A", start = "{one}", partial = true }}' for one in (start, flat)]
            else:
                tiles = ["", ""]
                if step.whole:
                    element, outer, time = "A, C", "A, S, C", "A, S"
            sides = [f'{near}, element = "{element}"{tiles[0]}', f'{far}, element = "{outer}"{tiles[1]}']
            source, dest = reversed(sides) if step.loads else sides
            lines += [f"[transfer.x{number}]", 'dtype = "i8"', *([f"loop = {{ {loops} }}"] if step.loop else [])]
            lines += [
                f"source = {{ {source} }}",
                f"dest = {{ {dest} }}",
                f'stream = {{ time = "{time}", packet = "C" }}',
            ]
        names = ", ".join(f'{{ transfer = "x{number}" }}' for number in range(len(self.steps)))
        return "\n".join([*lines, "[program.p]", 'order = "written"', f"step = [{names}]", ""])

    def unwritten(self) -> set[int]:
        """Steps that read a byte which nothing wrote before."""
        written, found = set[int](), set[int]()
        body = [number for number, step in enumerate(self.steps) if step.loop]
        for number, at in self._turns(body):
            step = self.steps[number]
            own = {(step.base + 256 * row) // HALF + half for row in step.rows(at, self.count) for half in (0, 1)}
            if step.loads:
                written |= own
            elif not own <= written:
                found.add(number)
        return found

    def _turns(self, body: list[int]) -> list[tuple[int, dict[str, int]]]:
        every = [dict(zip(self.shape, at, strict=True)) for at in product(*map(range, self.shape.values()))]
        inside = [(number, at) for at in every for number in body]
        alone = [n for n in range(len(self.steps)) if n not in body]
        before = [(n, dict[str, int]()) for n in alone if not body or n < body[0]]
        return [*before, *inside, *((n, dict[str, int]()) for n in alone if body and n > body[-1])]


def draw_started(draw: random.Random) -> StartedProgram:
    """Two to six steps, some of which in a row are in one nest of loops."""
    shape = draw.choice(SHAPES)
    count = draw.randint(2, 6)
    inside = range(1, 1 + draw.randint(1, count - 1)) if draw.random() < 0.85 else range(0)
    steps = []
    for number in range(count):
        looped = number in inside
        terms, row = _moved(draw, shape) if looped else (dict[str, int](), draw.choice((0, 0, 1)))
        whole = not looped and draw.random() < 0.4
        row = 0 if not looped else row
        base = draw.choice((0, 0, 128, 256, 512))
        steps.append(StartedStep(base, draw.random() < 0.55, looped, terms, row, whole))
    return StartedProgram(shape, tuple(steps))


def _moved(draw: random.Random, shape: dict[str, int]) -> tuple[dict[str, int], int]:
    inner, outer = list(shape)[-1], next(iter(shape))
    kind = draw.choice(("still", "flat", "next", "turn", "back", "outer", "inner"))
    if kind in ("flat", "next"):
        return _flat(shape), int(kind == "next")
    if kind == "turn" and shape[inner] % 2 == 0:
        return {f"{inner} % 2": 1}, 0
    if kind == "back":
        return {inner: -1}, shape[inner] - 1
    if kind in ("outer", "inner"):
        return {outer if kind == "outer" else inner: 1}, 0
    return {}, draw.choice((0, 0, 1))


def _flat(shape: dict[str, int]) -> dict[str, int]:
    """What each counter adds to the number of the iteration."""
    names = list(shape)
    return {name: prod(shape[inside] for inside in names[number + 1 :]) for number, name in enumerate(names)}
