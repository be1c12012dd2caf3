"""Programs of one loop drawn at random, accesses beside DMA in it, and what every iteration and every access says.

Knows: how to draw steps with engines, contexts, `after`, `earlier` and loops; all pieces of work of all iterations, who
waits for whom, runs of accesses, by enumeration alone.
Does not know: how far order reaches in a loop, nests, slices as sets of a step, any module of `prove` or `execute`.
Law: beside one iteration of one engine's part of a transfer, each access counts with its longest run among the
iterations that nothing orders against that one, in one slice; accesses of which nothing orders some two such iterations
add up.

Source: "Memory Performance" (Bank Starvation), docs/machines/rngd.md 6 and 7.4.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations, product

BANKS = 16
Piece = tuple[int, str, tuple[int, ...], int]
"""Step, who does it, in which halves, iteration."""


@dataclass(frozen=True, slots=True)
class LoopStep:
    """An access of `run` rows on one bank, `move` bytes further in each iteration; or, without a run, a transfer of
    which each engine loads the slices of its half. `halves` of the slices: 0 or 1.
    """

    name: str
    run: int
    halves: tuple[int, ...]
    context: str = ""
    move: int = 0
    looped: bool = True
    after: tuple[int, ...] = ()
    earlier: tuple[tuple[int, int], ...] = ()

    def lanes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Who works, in which halves."""
        return [(self.context, self.halves)] if self.run else [(f"engine {half}", (half,)) for half in self.halves]


@dataclass(frozen=True, slots=True)
class LoopProgram:
    steps: tuple[LoopStep, ...]
    count: int
    order: str

    def text(self) -> str:
        lines = ["schema = 1", 'target = "rngd"', "[axes]", "A = 64", "B = 128", "C = 64", "W = 8"]
        tables: list[str] = []
        entries: list[str] = []
        for number, step in enumerate(self.steps):
            lines += [f"T{number} = {step.run}", f"D{number} = 16"] if step.run else []
            tables += _access(number, step, self.count) if step.run else _load(number, step)
            after = [f'"{self.steps[i].name}"' for i in step.after]
            earlier = [f"{self.steps[i].name} = {far}" for i, far in step.earlier]
            said = [f'{"access" if step.run else "transfer"} = "{step.name}"']
            said += [f"loop = {{ t = {self.count} }}"] if step.looped and not step.move else []
            said += [f"after = [{', '.join(after)}]"] if after else []
            said += [f"earlier = {{ {', '.join(earlier)} }}"] if earlier else []
            entries.append(f"{{ {', '.join(said)} }}")
        program = ["[program.p]", 'holds = ["dm"]', f'order = "{self.order}"', "step = [", *(f"{e}," for e in entries)]
        return "\n".join([*lines, *tables, *program, "]", ""])

    # ------------------------------------------------------------ answers

    def pieces(self) -> list[Piece]:
        return [
            (i, lane, halves, turn)
            for i, step in enumerate(self.steps)
            for turn in range(self.count if step.looped else 1)
            for lane, halves in step.lanes()
        ]

    def worst_sum(self) -> int:
        """The largest sum beside a piece of DMA, its own request counted; 0 where nothing runs beside one."""
        pieces = self.pieces()
        before = self._closed(pieces)
        free = [[not (before[i][j] or before[j][i]) for j in range(len(pieces))] for i in range(len(pieces))]
        return max(
            (
                self._beside(
                    [m for m in range(len(pieces)) if free[n][m] and half in pieces[m][2]], pieces, before, free
                )
                for n, (dma, _, halves, _) in enumerate(pieces)
                for half in halves
                if not self.steps[dma].run
            ),
            default=0,
        )

    def sum_of_all(self) -> int:
        """As if every iteration ran beside every DMA, wherever it works."""
        total = sum(step.run * (self.count if step.looped and step.move != 8 else 1) for step in self.steps)
        return 1 + total if any(not step.run for step in self.steps) else 0

    def _beside(self, near: list[int], pieces: list[Piece], before: list[list[bool]], free: list[list[bool]]) -> int:
        mine: dict[int, list[int]] = {}
        for m in near:
            if self.steps[pieces[m][0]].run:
                mine.setdefault(pieces[m][0], []).append(m)
        runs = {i: self._longest(i, own, pieces, before) for i, own in mine.items()}
        worst = 0
        for size in range(1, len(runs) + 1):
            for group in combinations(runs, size):
                pairs = combinations(group, 2)
                if all(any(free[p][q] for p in mine[a] for q in mine[b]) for a, b in pairs):
                    worst = max(worst, 1 + max(sum(runs[i][bank] for i in group) for bank in range(BANKS)))
        return worst

    def _longest(self, step: int, mine: list[int], pieces: list[Piece], before: list[list[bool]]) -> list[int]:
        one, best, now, last = self.steps[step], [0] * BANKS, [0] * BANKS, -1
        for m in mine:
            if last >= 0 and any(before[last][k] and before[k][m] for k in range(len(pieces))):
                now = [0] * BANKS
            last = m
            hit = one.move * pieces[m][3] // 8 % BANKS
            now = [now[bank] + one.run if bank == hit else 0 for bank in range(BANKS)]
            best = [max(pair) for pair in zip(best, now, strict=True)]
        return best

    def _closed(self, pieces: list[Piece]) -> list[list[bool]]:
        """before[i][j]: piece i ends before piece j begins."""
        n = len(pieces)
        before = [[False] * n for _ in range(n)]
        for (i, one), (j, other) in product(enumerate(pieces), repeat=2):
            a, b = self.steps[one[0]], self.steps[other[0]]
            body = a.looped and b.looped
            waits = one[0] in b.after and (not body or one[3] == other[3])
            waits = waits or any(k == one[0] and one[3] == other[3] - far for k, far in b.earlier)
            first = (one[3], one[0]) < (other[3], other[0]) if body else one[0] < other[0]
            queue = (self.order == "contexts" and one[1] == other[1]) or one[:2] == other[:2]
            written = self.order == "written" and one[0] != other[0]
            before[i][j] = waits or (first and (queue or written))
        for k, i in product(range(n), repeat=2):
            if before[i][k]:
                before[i] = [x or y for x, y in zip(before[i], before[k], strict=True)]
        return before


def _access(number: int, step: LoopStep, count: int) -> list[str]:
    slices = f"{{ slice = {64 * step.halves[0]}, element = {1024 + 98304 * number} }}"
    rows, view = f"T{number}, W # 128", ""
    if step.move:  # the next rows in each iteration, or the same on the next bank
        rows = f"D{number}, T{number}, W # 128" if step.move == 128 else f"T{number}, D{number}, W"
        view = f', view = {{ tile = "D{number}", length = 1, start = "t", partial = true }}'
    return [
        f"[access.{step.name}]", 'engine = "fetch"', f'context = "{step.context}"', 'dtype = "i8"',
        f"loop = {{ t = {count} }}" if step.move else "",
        f'memory = {{ tier = "dm", base = {slices}, slice = "{64 * len(step.halves)}", element = "{rows}"{view} }}',
        f'stream = {{ time = "T{number}", packet = "W" }}',
    ]  # fmt: skip


def _load(number: int, step: LoopStep) -> list[str]:
    axis, first, base = "AB"[len(step.halves) - 1], 64 * step.halves[0], 8192 * number
    at = f"{{ slice = {first}, element = {64 * number} }}"
    lines = [
        f"[transfer.{step.name}]", 'dtype = "i8"', f'source = {{ tier = "hbm", base = {base}, element = "{axis}, C" }}',
        f'dest = {{ tier = "dm", base = {at}, slice = "{axis}", element = "C" }}',
    ]  # fmt: skip
    for half in step.halves:
        at = base + 4096 * (half - step.halves[0])
        lines += [
            f"[[transfer.{step.name}.command]]", f"engine = {{ dmn = {half} }}",
            f'read = "[A=64:64, C=64:1]:64 HBM/D@{at}"',
            f'write = "[A=64:slice_stride, C=64:1]:64 DM/D@(0, 0, {half}, {64 * number})"',
        ]  # fmt: skip
    return lines


def draw_loop(draw: random.Random) -> LoopProgram:
    """Two to four steps of one loop, perhaps one outside of it, before or behind."""
    count, size = draw.choice([1, 2, 3, 4, 5]), draw.choice([2, 2, 3, 3, 4])
    outside = draw.choice([-1, -1, 0, size - 1])
    kinds = ["access", "load", *(draw.choice(["access", "access", "load"]) for _ in range(size - 2))]
    draw.shuffle(kinds)
    steps: list[LoopStep] = []
    for number, kind in enumerate(kinds):
        halves = draw.choice([(0,), (1,), (0, 1)])
        looped = number != outside
        after = tuple(i for i in range(number) if draw.random() < 0.35)
        if kind == "access":
            run, context = draw.choice([5, 12, 20, 31, 40]), draw.choice(["main", "main", "sub"])
            move = draw.choice([0, 0, 8, 128]) if looped else 0
            steps.append(LoopStep(f"s{number}", run, halves, context, move, looped, after))
        else:
            steps.append(LoopStep(f"s{number}", 0, halves, looped=looped, after=after))
    for number, step in enumerate(steps):
        waits = [(i, draw.choice([1, 1, 2, 3])) for i, other in enumerate(steps) if step.looped and other.looped]
        kept = tuple(one for one in waits if draw.random() < 0.15)
        steps[number] = LoopStep(
            step.name, step.run, step.halves, step.context, step.move, step.looped, step.after, kept
        )
    return LoopProgram(tuple(steps), count, draw.choice(["contexts"] * 5 + ["none", "written"]))
