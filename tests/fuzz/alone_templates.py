"""Random moves with neither stream nor commands whose sizes, paddings and bases are symbols.

Knows: the text of such plans. Does not know: whether one is right.
Law: the same generator state gives the same plan; padding is at least as long as what it pads at every size.
"""

import random

from lab.random_templates import Drawn

RANGES = {
    "X": ("1", "2", "4", "{ min = 1, max = 6 }", "{ min = 2, max = 8, multiple_of = 2 }"),
    "C": (
        "{ min = 1, max = 24 }",
        "{ min = 4, max = 64, multiple_of = 4 }",
        "{ min = 8, max = 64, multiple_of = 8 }",
        "8",
    ),
    "Y": ("1", "2", "{ min = 1, max = 4 }"),
}
TIERS = (("hbm", "dm"), ("dm", "hbm"), ("spm", "dm"), ("dm", "dm"), ("hbm", "hbm"))
PADDINGS = ("({0} + 1)", "({0} + 4)", "(2 * {0})", "({0} + 8)", "(2 * {0} + 4)", "(8 * {0})", "64")
BASES = ("65536", "65536", '"65536 + 4*C"', '"65536 + 8*X"', '"65536 + Y"', '"4096*X + 65536"')


def alone_template(rng: random.Random) -> Drawn:
    sizes = {axis: rng.choice(ranges) for axis, ranges in RANGES.items()}
    symbols = tuple(axis for axis, said in sizes.items() if "{" in said)
    if not symbols:
        return alone_template(rng)
    read, write = rng.choice(TIERS)
    lines = ["schema = 1", 'target = "rngd"', "[axes]", *(f"{axis} = {said}" for axis, said in sizes.items())]
    lines += ["[transfer.t]", f'dtype = "{rng.choice(("i8", "i8", "bf16", "i4"))}"']
    lines += [f'source = {{ tier = "{read}", element = "{", ".join(_side(rng))}" }}']
    lines += [f'dest = {{ tier = "{write}", base = {rng.choice(BASES)}, element = "{", ".join(_side(rng))}" }}']
    return Drawn("\n".join(lines) + "\n", symbols)


def _side(rng: random.Random) -> list[str]:
    terms = []
    for axis in rng.sample(list(RANGES), rng.randint(1, len(RANGES))):
        size = axis
        term = axis
        if axis == "C" and rng.random() < 0.15:
            term, size = f"{axis} % 4", "4"
        elif rng.random() < 0.1:
            size = "1"
            term = f"{axis} = 1"
        if rng.random() < 0.45:
            term = f"{term} {rng.choice(('#', '#', '#{!}', '#{0}'))} {rng.choice(PADDINGS).format(size)}"
        terms.append(term)
    return terms
