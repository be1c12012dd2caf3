"""Random small programs as plan text, and what every byte and every access of them says, one by one.

Knows: how to draw 2 to 6 steps, what they touch, order as reachability, runs of accesses, by enumeration alone.
Does not know: loop nests as equations, digits, solvers, any module of `prove`.
Law: the answers follow from the drawn numbers only, so that they can contradict the proof.

Source: "Memory Performance" (Bank Starvation), docs/machines/rngd.md 6 and 7.4.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

SLICE = 4 << 20
BANKS, WIDTH = 16, 8


@dataclass(frozen=True, slots=True)
class DrawnSequencer:
    """One sequencer: `loops` (count, stride) outer to inner, then `packet` bytes in a row."""

    tier: str
    base: int
    loops: tuple[tuple[int, int], ...]
    packet: int

    def starts(self) -> list[int]:
        spans = product(*(range(count) for count, _ in self.loops))
        return [self.base + sum(c * s for c, (_, s) in zip(at, self.loops, strict=True)) for at in spans]

    def bytes(self, offsets: Sequence[int] = (0,)) -> set[int]:
        return {start + byte + more for start in self.starts() for byte in range(self.packet) for more in offsets}

    def text(self) -> str:
        entries = ", ".join(f"{count}:{stride}" for count, stride in (*self.loops, (self.packet, 1)))
        return f"[{entries}]:{self.packet}"


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """A transfer has two sides, an access one. `slices` counts those of an access."""

    name: str
    kind: str  # "transfer", "fetch", "commit"
    lane: str
    after: tuple[int, ...]
    read: DrawnSequencer | None
    write: DrawnSequencer | None
    engine: int | None = None
    context: str = ""
    slices: int = 1
    given: str = ""  # the context that a transfer's step names

    def touched(self) -> Iterator[tuple[bool, str, set[int]]]:
        """(writes, tier, bytes)"""
        for writes, side in ((False, self.read), (True, self.write)):
            if side is not None:
                offsets = [0] if self.kind == "transfer" else [n * SLICE for n in range(self.slices)]
                yield writes, side.tier, side.bytes(offsets)


@dataclass(frozen=True, slots=True)
class DrawnProgram:
    steps: tuple[DrawnStep, ...]
    order: str

    # ------------------------------------------------------------ text

    def text(self) -> str:
        lines = ["schema = 1", 'target = "rngd"', "[axes]"]
        body: list[str] = []
        for number, step in enumerate(self.steps):
            side = step.read or step.write
            assert side is not None
            packets = len(side.starts())
            lines += [f"T{number} = {packets}", f"P{number} = {side.packet}"]
            body += _step_text(number, step)
        body += ["[program.p]", f'order = "{self.order}"']
        for step in self.steps:
            body += ["[[program.p.step]]", f'{"transfer" if step.kind == "transfer" else "access"} = "{step.name}"']
            if step.given:
                body.append(f'context = "{step.given}"')
            if step.after:
                body.append(f"after = [{', '.join(repr(self.steps[i].name) for i in step.after)}]".replace("'", '"'))
        return "\n".join([*lines, *body, ""])

    # ------------------------------------------------------------ answers

    def ordered(self) -> list[list[bool]]:
        """before[i][j]: step i ends before step j begins, by closing the edges."""
        n = len(self.steps)
        before = [[False] * n for _ in range(n)]
        for j, step in enumerate(self.steps):
            for i in step.after:
                before[i][j] = True
            if self.order == "written" and j:
                before[j - 1][j] = True
            if self.order == "contexts":
                for i in range(j):
                    given = bool(step.given) and self.steps[i].given == step.given
                    before[i][j] = before[i][j] or given or self.steps[i].lane == step.lane
        for k, i, j in product(range(n), repeat=3):
            before[i][j] = before[i][j] or (before[i][k] and before[k][j])
        return before

    def hazards(self) -> set[tuple[str, str, str]]:
        """(first, second, raw or war or waw) of every pair that shares a byte and is not ordered."""
        before, out = self.ordered(), set()
        touched = [list(step.touched()) for step in self.steps]
        for i, j in combinations(range(len(self.steps)), 2):
            if before[i][j] or before[j][i]:
                continue
            for (w1, t1, b1), (w2, t2, b2) in product(touched[i], touched[j]):
                if (w1 or w2) and t1 == t2 and b1 & b2:
                    kind = {(True, False): "raw", (False, True): "war", (True, True): "waw"}[w1, w2]
                    out.add((self.steps[i].name, self.steps[j].name, kind))
        return out

    def longest_runs(self) -> dict[str, list[int]]:
        """Per access, the longest run of consecutive accesses to each bank."""
        out = {}
        for step in self.steps:
            side = step.read or step.write
            if step.kind == "transfer" or side is None or side.tier != "dm":
                continue
            size = 8 if step.context == "sub" else side.packet
            made = [start + part for start in side.starts() for part in range(0, side.packet, size)]
            best, now = [0] * BANKS, [0] * BANKS
            for address in made:
                hit = {(address + byte) // WIDTH % BANKS for byte in range(size)}
                for bank in range(BANKS):
                    now[bank] = now[bank] + 1 if bank in hit else 0
                    best[bank] = max(best[bank], now[bank])
            out[step.name] = best
        return out

    def worst_sum(self) -> int:
        """The largest sum on a bank beside a transfer on data memory, 0 where nothing runs beside one."""
        before, runs, worst = self.ordered(), self.longest_runs(), 0
        n = len(self.steps)
        accesses = [i for i in range(n) if self.steps[i].name in runs]
        for d in range(n):
            step = self.steps[d]
            if step.kind != "transfer" or "dm" not in {s.tier for s in (step.read, step.write) if s is not None}:
                continue
            for size in range(1, len(accesses) + 1):
                for group in combinations(accesses, size):
                    if any(before[a][b] or before[b][a] for a, b in combinations((d, *group), 2)):
                        continue
                    totals = [sum(runs[self.steps[i].name][bank] for i in group) + 1 for bank in range(BANKS)]
                    worst = max(worst, *totals)
        return worst


def _step_text(number: int, step: DrawnStep) -> list[str]:
    if step.kind == "transfer":
        read, write = step.read, step.write
        assert read is not None
        assert write is not None
        tensors = [
            f'{name} = {{ tier = "{side.tier}", base = {side.base}, element = "T{number}, P{number}" }}'
            for name, side in (("source", read), ("dest", write))
        ]
        lines = [f"[transfer.{step.name}]", 'dtype = "i8"', *tensors]
        for name, side in (("read", read), ("write", write)):
            lines.append(f'{name} = "{side.text()} {side.tier.upper()}/D@{side.base}"')
        if step.engine is not None:
            lines.append(f"engine = {{ dmn = {step.engine} }}")
        return lines
    only = step.read or step.write
    assert only is not None
    slices = f'slice = "{step.slices}", ' if step.slices > 1 else ""
    return [
        f"[access.{step.name}]", 'dtype = "i8"', f'engine = "{step.kind}"', f'context = "{step.context}"',
        f'memory = {{ tier = "dm", base = {only.base}, {slices}element = "T{number}, P{number}" }}',
        f'stream = {{ time = "T{number}", packet = "P{number}" }}', f'config = "{only.text()} DM/D@{only.base}"',
    ]  # fmt: skip


# ---------------------------------------------------------------- drawing


def draw_program(draw: random.Random) -> DrawnProgram:
    """2 to 6 steps in little memory, so that they often meet; transfers by one of two engines or by none, some in
    contexts: an engine does its steps in the written order, whoever gives them.
    """
    steps: list[DrawnStep] = []
    for number in range(draw.randint(2, 6)):
        after = tuple(i for i in range(number) if draw.random() < 0.15)
        if draw.random() < 0.5:
            counts = [draw.randint(1, 4) for _ in range(draw.randint(0, 3))]
            packet = draw.choice([1, 2, 4, 8, 16])
            read, write = (_side(draw, counts, packet, draw.choice(["hbm", "dm", "dm"])) for _ in range(2))
            engine, given = draw.choice([None, None, 0, 0]), draw.choice(["", "", "x", "y"])
            if engine is not None and read.tier == write.tier == "hbm":  # on data memory, engine 1 has its own slices
                engine = draw.choice([0, 1])
            lane = given or "tdma" if engine is None else f"engine {engine}"
            steps.append(DrawnStep(f"t{number}", "transfer", lane, after, read, write, engine, given=given))
        else:
            kind, context = draw.choice(["fetch", "commit"]), draw.choice(["main", "sub"])
            counts = [draw.choice([1, 2, 3, 5, 16, 33]) for _ in range(draw.randint(0, 2))]
            side = _side(draw, counts, draw.choice([8, 16, 32]), "dm")
            fetch = kind == "fetch"
            steps.append(
                DrawnStep(
                    f"a{number}",
                    kind,
                    context,
                    after,
                    side if fetch else None,
                    None if fetch else side,
                    None,
                    context,
                    draw.choice([1, 1, 2]),
                )
            )
    return DrawnProgram(tuple(steps), draw.choice(["contexts", "contexts", "contexts", "none", "written"]))


def _side(draw: random.Random, counts: Sequence[int], packet: int, tier: str) -> DrawnSequencer:
    strides = [packet, 0, 8, 16, 24, 32, 64, 128, 40, 3, -8] + ([SLICE] if tier == "dm" else [])
    loops = tuple((count, draw.choice(strides)) for count in counts)
    least = sum(min(0, (count - 1) * stride) for count, stride in loops)
    return DrawnSequencer(tier, draw.randrange(0, 200, draw.choice([1, 8])) - least, loops, packet)
