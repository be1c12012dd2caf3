"""Programs of loops, and the same written otherwise or changed in one place: by their events, and by what they leave.

    python tests/fuzz/paired.py --count 2000

Told is a pair of which one says that it is the same and the other that it is not, a run that contradicts either, and a
pair that was written to be the same and is REFUTED. Exit code 1 where there is one.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from dmaverify.errors import InputError
from dmaverify.jobs.load import load
from dmaverify.jobs.same_programs import same_programs

RLIMIT = 2_000_000


class Start(NamedTuple):
    """Where a tile begins in iteration t: `step * t + first`, modulo `of` where there is one."""

    step: int
    first: int
    of: int = 0

    def text(self, loops: int, inner: int, at: int) -> str | None:
        """In iteration `inner * t + at` (one loop), or `inner * t + v` (two); None where no tile says it."""
        if not self.of:
            own = f"{self.step * inner} * t + {self.first + self.step * at}"
            return own if loops == 1 else f"{self.step * inner} * t + {self.step} * v + {self.first}"
        if inner == 1:
            return f"t % {self.of}"
        if loops == 2:
            return "v" if inner == self.of else None
        return str(at % self.of) if inner % self.of == 0 else None


class Tile(NamedTuple):
    """A row that is loaded (or stored) by way of a buffer."""

    loads: bool
    row: Start
    buffer: Start


ROWS = (Start(1, 0), Start(1, 1), Start(2, 0), Start(2, 1), Start(-1, 8))
BUFFERS = (Start(0, 0), Start(0, 1), Start(0, 3), Start(1, 0, 2), Start(1, 0, 4))


def written(tiles: Sequence[Tile], rounds: int, way: str, inner: int, target: str) -> str | None:
    """The program of a loop: plain, `by` several iterations in one, or in a loop in a `loop`."""
    far, near, base = ("hbm", "dm", 0) if target == "rngd" else ("mem", "mem", 1 << 28)
    text = f'schema = 1\ntarget = "{target}"\naxes = {{ R = 40, B = 2, C = 64, D = 4 }}\n'
    parts = 1 if way == "plain" else inner
    loops = {"plain": f"t = {rounds}", "by": f"t = {rounds // parts}", "loop": f"t = {rounds // parts}, v = {parts}"}[
        way
    ]
    steps = []
    for at in range(parts if way == "by" else 1):
        for tile in tiles:
            starts = [start.text(2 if way == "loop" else 1, parts, at) for start in (tile.row, tile.buffer)]
            if None in starts:
                return None
            name, place = f"m{len(steps)}", 0 if tile.loads else 1 << 24
            sides = [
                f'{{ tier = "{tier}", base = {begin}, element = "{axis}, B, C", '
                f'view = {{ tile = "{axis}", length = 1, start = "{start}" }} }}'
                for tier, begin, axis, start in ((far, place, "R", starts[0]), (near, base, "D", starts[1]))
            ]
            source, dest = sides if tile.loads else sides[::-1]
            text += f'[transfer.{name}]\ndtype = "i8"\nloop = {{ {loops} }}\nsource = {source}\ndest = {dest}\n'
            text += 'stream = { time = "B", packet = "C" }\n' if target == "rngd" else ""
            steps.append(f'{{ transfer = "{name}" }}')
    return f'{text}[program.p]\norder = "written"\nstep = [{", ".join(steps)}]\n'


def pair(seed: int) -> tuple[str, str, bool] | None:
    """Two programs, and whether one of them was changed; None where no tile says one."""
    rng = random.Random(seed)
    target, inner = rng.choice(("rngd", "rngd", "idma")), rng.choice((2, 2, 4))
    rounds = inner * rng.randint(1, 4)
    tiles = [Tile(rng.random() < 0.6, rng.choice(ROWS), rng.choice(BUFFERS)) for _ in range(rng.randint(1, 3))]
    other, changed = list(tiles), rng.random() < 0.5
    if changed:
        one, two = (rng.randrange(len(tiles)) for _ in range(2))
        kind = rng.choice(("row", "buffer", "way", "order"))
        if kind == "order":
            other[one], other[two] = other[two], other[one]
        else:
            tile = other[one]
            others = {
                "row": tile._replace(row=tile.row._replace(first=tile.row.first + 1)),
                "buffer": tile._replace(buffer=rng.choice(BUFFERS)),
                "way": tile._replace(loads=not tile.loads),
            }
            other[one] = others[kind]
    way = rng.choice(("plain", "by", "loop"))
    texts = written(tiles, rounds, "plain", 1, target), written(other, rounds, way, inner, target)
    return None if None in texts else (str(texts[0]), str(texts[1]), changed)


def compared(seed: int) -> str:
    """What is said of a pair, in words. Raises Disagreement, and AssertionError of answers that contradict."""
    found = pair(seed)
    if found is None:
        return "no pair"
    one, other, changed = found
    try:
        plans = load(one, "p"), load(other, "p")
        by_events, left = (same_programs(*plans, rlimit=RLIMIT, by_events=own) for own in (True, False))
    except InputError:
        return "not read"
    said = by_events.status, left.status
    assert set(said) != {"proved", "refuted"}, (seed, by_events.why, left.why)
    assert changed or "refuted" not in said, (seed, left.why)
    how = " by events" if by_events.by[:4] == "each" else ""
    return f"{'changed' if changed else 'rewritten'}: {said[0]}{how}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="pairs")
    parser.add_argument("--start", type=int, default=0, help="first seed")
    options = parser.parse_args()
    told, wrong = Counter[str](), 0
    for seed in range(options.start, options.start + options.count):
        try:
            told[compared(seed)] += 1
        except Exception as why:
            wrong += 1
            sys.stdout.write(f"{seed}: {type(why).__name__}: {why}\n")
    said = ", ".join(f"{count:,} {word}" for word, count in sorted(told.items()))
    sys.stdout.write(f"{said}; {wrong} wrong\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
