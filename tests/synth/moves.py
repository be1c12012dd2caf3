"""Moves for the tests of synthesis: from texts, and drawn from a seed."""

from __future__ import annotations

import random
from math import prod

from dmaverify.language.parse import parse
from dmaverify.program.move import Stream, Transfer
from dmaverify.program.tensor import Tensor

AXES = "ABCD"


def tensor(axes: dict[str, int], tier: str, base: int = 0, **fields: str) -> Tensor:
    return Tensor(tier, base=base, **{name: parse(text, axes) for name, text in fields.items()})


def move(axes, source, dest, dtype="i8", stream=None, name="m") -> Transfer:
    streamed = Stream(**{k: parse(v, axes) for k, v in stream.items()}) if stream else None
    return Transfer(name, "rngd", dtype, tensor(axes, **source), tensor(axes, **dest), streamed)


def drawn(seed: int) -> tuple[dict[str, int], Transfer]:
    """A small move of up to four axes: a permutation, with a cut, padding or another type now and then."""
    rng = random.Random(seed)
    names = AXES[: rng.randint(1, 4)]
    sizes = [rng.choice((2, 3, 4, 5, 8, 16)) for _ in names[:-1]] + [rng.choice((64, 128, 256, 384, 512))]
    axes = dict(zip(names, sizes, strict=True))
    outer, row = list(names[:-1]), names[-1]
    source = [*rng.sample(outer, len(outer)), row]
    dest = [*rng.sample(outer, len(outer)), row]
    if outer and rng.random() < 0.3:
        axis = rng.choice(outer)
        if axes[axis] % 2 == 0 and axes[axis] > 2:
            dest[dest.index(axis)] = f"{axis} % 2, {axis} / 2"
    if rng.random() < 0.2:
        dest[-1] = f"{row} # {axes[row] + 64}"
    dtype = rng.choice(("i8", "i8", "bf16"))
    into_dm = rng.random() < 0.4
    target = {"tier": "dm", "slice": "1 # 64", "element": ", ".join(dest)}
    if into_dm and outer:
        target = {
            "tier": "dm",
            "slice": f"{dest[0]} # 64" if "," not in dest[0] else "1 # 64",
            "element": ", ".join(dest[1:]),
        }
        if "," in dest[0]:
            target["element"] = ", ".join(dest)
    elif not into_dm:
        bytes_ = prod(sizes) * (2 if dtype == "bf16" else 1)  # regions that overlap are another question
        target = {"tier": "hbm", "base": max(1 << 20, 1 << (bytes_ - 1).bit_length()), "element": ", ".join(dest)}
    return axes, move(axes, {"tier": "hbm", "element": ", ".join(source)}, target, dtype)
