"""Random moves with neither stream nor commands, padded on every side, and the streams that may carry them out.

Knows: the text of a plan with one move, and terms that a stream may walk. Does not know: whether either is right.
Law: the same generator state gives the same move. Axes of one position, padding of every kind behind any digit, parts
of digits, half bytes and bases off the grid are drawn.
"""

from __future__ import annotations

import random
from itertools import permutations

SIZES = {"X": (1, 2, 4), "Y": (1, 2, 3), "C": (1, 4, 8, 12, 16, 24)}
TIERS = (("hbm", "dm"), ("dm", "hbm"), ("spm", "dm"), ("dm", "dm"), ("hbm", "hbm"))


def draw_alone(rng: random.Random) -> tuple[str, list[str]]:
    """The plan of a move alone, and lines of streams to be put behind it."""
    sizes = {axis: rng.choice(choices) for axis, choices in SIZES.items()}
    source, _ = _side(rng, sizes)
    dest, live = _side(rng, sizes)
    read, write = rng.choice(TIERS)
    lines = ["schema = 1", 'target = "rngd"', "[axes]", *(f"{axis} = {size}" for axis, size in sizes.items())]
    lines += ["[transfer.t]", f'dtype = "{rng.choice(("i8", "i8", "bf16", "i4", "f32"))}"']
    lines += [f'source = {{ tier = "{read}", element = "{", ".join(source)}" }}']
    base = rng.choice((65536, 65536, 65540, 65544))
    lines += [f'dest = {{ tier = "{write}", base = {base}, element = "{", ".join(dest)}" }}']
    streams = {("", ", ".join(dest))}
    for order in permutations(live):
        for cut in range(len(order) + 1):
            streams.add((", ".join(order[:cut]), ", ".join(order[cut:])))
            if cut < len(order):
                padded = f"{order[-1]} # {rng.choice((8, 16, 24, 32))}"
                streams.add((", ".join(order[:cut]), ", ".join((*order[cut:-1], padded))))
    told = [f'stream = {{ time = "{time or 1}", packet = "{packet or 1}" }}\n' for time, packet in sorted(streams)]
    return "\n".join(lines) + "\n", told


def _side(rng: random.Random, sizes: dict[str, int]) -> tuple[list[str], list[str]]:
    """The terms of a mapping, and what of them holds elements."""
    terms, live = [], []
    for axis in rng.sample(list(sizes), rng.randint(1, len(sizes))):
        term, size = axis, sizes[axis]
        if size == 4 and rng.random() < 0.3:
            term, size = rng.choice((f"{axis} / 2", f"{axis} % 2")), 2
        if size > 1 and rng.random() < 0.2:
            size = rng.randint(1, size)
            term = f"{term} = {size}"
        live += [term] if size > 1 else []
        if rng.random() < 0.45:
            term = f"{term} {rng.choice(('#', '#', '#{!}', '#{0}'))} {size + rng.choice((1, 2, 4, 8, size))}"
        terms.append(term)
    if rng.random() < 0.2:
        terms.insert(rng.randint(0, len(terms)), rng.choice(("1 # 4", "1 #{!} 3", "1 # 8")))
    return terms, live
