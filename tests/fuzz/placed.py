"""Random plans with symbols where steps lie in places that symbols say: memories, bases below a sum, moves alone.

Knows: the text of such plans, with symbols and at chosen sizes. Does not know: whether one is right.
Law: the same generator state gives the same plan, marked as `looped` marks it.
"""

import random

from looped import LoopedPlan

PLACES = ("0", "0", "1", "I", "J", "1 - I")
BASES = ("0", "0", "8", "C", "A*C - 8", "A*C - C", "A*C", "2*A*C - 8", "A*C*2")
TURNS = ("A / 2", "A / 2", "(A / 2) - 1", "A", "A // 4")
STARTS = ("2*t", "2*t", "2*t", "‹A - 2› - 2*t", "t", "4*t", "2*t + 2")


def placed(rng: random.Random) -> LoopedPlan:
    steps = [_beside(rng, name) if rng.random() < 0.7 else _turning(rng, name) for name in ("one", "other")]
    after = ', after = ["one"]' if rng.random() < 0.3 else ""
    same = rng.random() < 0.15
    contexts = [f', context = "{name}"' for name in ("a", "a" if same else "b")]
    lines = [line for step in steps for line in step]
    lines += [
        "[program.p]", 'holds = ["dm", "hbm"]', f'order = "{rng.choice(("contexts", "contexts", "written"))}"',
        f'step = [{{ transfer = "one"{contexts[0]} }}, {{ transfer = "other"{contexts[1]}{after} }}]',
    ]  # fmt: skip
    axes = {"A": "{ min = 2, max = 24, multiple_of = 2 }", "C": "{ min = 8, max = 32, multiple_of = 8 }"}
    head = 'schema = 1\ntarget = "rngd"\n[axes]\n' + "".join(f"{name} = {text}\n" for name, text in axes.items())
    head += "[free]\nI = { min = 0, max = 1 }\nJ = { min = 0, max = 1 }\n"
    return LoopedPlan("\n".join(lines) + "\n", head, tuple(axes), "")


def _side(rng: random.Random, tier: str, more: str = "") -> str:
    place = "chip" if tier == "hbm" else "cluster"
    at = f"{{ {place} = «{rng.choice(PLACES)}», element = «{rng.choice(BASES)}» }}" if rng.random() < 0.6 else "0"
    if at == "0":
        at = f"«{rng.choice(BASES)}»"
    slices = 'slice = "1 # 64", ' if tier == "dm" else ""
    return f'{{ tier = "{tier}", base = {at}, {slices}element = "A, C"{more} }}'


def _beside(rng: random.Random, name: str) -> list[str]:
    tiers = rng.choice((("dm", "hbm"), ("hbm", "dm")))
    sides = [_side(rng, tier) for tier in tiers]
    stream = ['stream = { time = "A", packet = "C" }'] if rng.random() < 0.7 else []
    return [f"[transfer.{name}]", 'dtype = "i8"', f"source = {sides[0]}", f"dest = {sides[1]}", *stream]


def _turning(rng: random.Random, name: str) -> list[str]:
    """A move in a loop that nothing carries out: both sides turn, mostly alike."""
    first = rng.choice(STARTS)
    starts = [first, first if rng.random() < 0.7 else rng.choice(STARTS)]
    tile = rng.choice(("A", "A", "C"))
    length = "2" if tile == "A" else "8"
    views = [f', view = {{ tile = "{tile}", length = {length}, start = "{start}" }}' for start in starts]
    tiers = rng.choice((("dm", "hbm"), ("hbm", "dm")))
    sides = [_side(rng, tier, view) for tier, view in zip(tiers, views, strict=True)]
    loop = f"loop = {{ t = «{rng.choice(TURNS)}» }}"
    return [f"[transfer.{name}]", 'dtype = "i8"', loop, f"source = {sides[0]}", f"dest = {sides[1]}"]
