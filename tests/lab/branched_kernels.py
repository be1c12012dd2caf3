"""Pairs of Rust kernels that decide by numbers which tensor they give back, drawn the same or with one change.

Knows: conditions over a truth and two integers, nested branches and arms, ways through memories that leave the same.
Does not know: how a kernel is read or compared.
Law: the same seed gives the same pair; what a kernel leaves is found by deciding its branches for every number.
"""

# ruff: noqa: E501  (kernel text reads best on one line)

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from lab.kernel_pairs import HEAD, DrawnKernels

MOVES = (
    "let d: D = {0}.to_dm(&mut ctx.tdma); d.to_hbm(&mut ctx.tdma)",
    "{0}.to_hbm(&mut ctx.tdma)",
    "let s: T = {0}.to_hbm(&mut ctx.tdma); let d: D = s.to_dm(&mut ctx.tdma); d.to_hbm(&mut ctx.tdma)",
)
VALUES = tuple(product((0, 1), range(10), range(-3, 4)))
"""Of `c`, `n` and `m`; beyond these, no condition decides otherwise."""


@dataclass(frozen=True)
class Asked:
    """A condition as text, and whether it holds."""

    rust: str
    holds: Callable[[int, int, int], bool]


@dataclass(frozen=True)
class Branched:
    """Gives back a tensor, or one of two by a condition."""

    tensor: str = "x"
    asked: Asked | None = None
    arms: tuple[Branched, ...] = ()

    def left(self, c: int, n: int, m: int) -> str:
        return self.tensor if self.asked is None else self.arms[not self.asked.holds(c, n, m)].left(c, n, m)

    def rust(self, rng: random.Random) -> str:
        if self.asked is None:
            return rng.choice(MOVES).format(self.tensor)
        one, other = (arm.rust(rng) for arm in self.arms)
        how = rng.random()
        if how < 0.3:
            return f"if !({self.asked.rust}) {{ {other} }} else {{ {one} }}"
        if how < 0.5:
            return f"match {self.asked.rust} {{ true => {{ {one} }} false => {{ {other} }} }}"
        return f"if {self.asked.rust} {{ {one} }} else {{ {other} }}"


def _asked(rng: random.Random) -> Asked:
    k, j = rng.randint(0, 8), rng.randint(-2, 2)
    one = rng.choice((
        Asked("c", lambda c, n, m: bool(c)), Asked(f"n < {k}", lambda c, n, m: n < k), Asked(f"n >= {k}", lambda c, n, m: n >= k),
        Asked(f"n == {k}", lambda c, n, m: n == k), Asked(f"m > {j}", lambda c, n, m: m > j), Asked("n % 2 == 0", lambda c, n, m: n % 2 == 0),
        Asked("n & 3 != 1", lambda c, n, m: n & 3 != 1), Asked(f"m != {j}", lambda c, n, m: m != j),
    ))  # fmt: skip
    if rng.random() < 0.2:
        other = _asked(rng)
        if rng.random() < 0.5:
            return Asked(f"({one.rust} && {other.rust})", lambda c, n, m: one.holds(c, n, m) and other.holds(c, n, m))
        return Asked(f"({one.rust} || {other.rust})", lambda c, n, m: one.holds(c, n, m) or other.holds(c, n, m))
    return one


def _drawn(rng: random.Random, deep: int) -> Branched:
    if deep == 0 or rng.random() < 0.25:
        return Branched(rng.choice(("x", "y")))
    return Branched(asked=_asked(rng), arms=(_drawn(rng, deep - 1), _drawn(rng, deep - 1)))


def _another(one: Branched, rng: random.Random) -> Branched:
    """The same with another branch around it, or with one that is asked first: mostly the same, sometimes not."""
    asked = _asked(rng)
    if one.asked is None or rng.random() < 0.3:
        return Branched(asked=asked, arms=(one, one if rng.random() < 0.6 else _drawn(rng, 0)))
    return Branched(asked=asked, arms=(one, one))


def branched_kernels(seed: int) -> DrawnKernels:
    rng = random.Random(seed)
    first = _drawn(rng, 2)
    second = _another(first, rng) if rng.random() < 0.6 else _drawn(rng, 2)
    head = "#[device(chip = 1)]\npub fn k(ctx: &mut Context, x: &T, y: &T, c: bool, n: usize, m: i32) -> T {"
    texts = [f"{HEAD}\n{head}\n    {one.rust(rng)}\n}}\n" for one in (first, second)]
    left = [[one.left(*run) for run in VALUES] for one in (first, second)]
    return DrawnKernels((texts[0], texts[1]), (left[0], left[1]), left[0] == left[1])
