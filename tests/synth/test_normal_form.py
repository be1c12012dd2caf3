"""Equal moves get equal answers, however their axes are named: the search works on addresses, not on spellings."""

from __future__ import annotations

import random
from math import prod
from typing import Any

import pytest
from lab.draws import rest

from dmaverify.jobs.load import load
from dmaverify.jobs.synthesis import SynthSettings, answer_of
from dmaverify.plan.plan import Plan
from dmaverify.synth.result import Synthesis

QUICK = SynthSettings(simulate=False)


def synthesized(plan: Plan, settings: SynthSettings) -> Any:
    return answer_of(plan, plan.transfers[0].name, settings)


def answer(axes: dict[str, int], source: str, dest: str, dtype: str = "i8") -> Synthesis:
    lines = ["schema = 1", 'target = "rngd"', "[axes]", *(f"{a} = {n}" for a, n in axes.items())]
    lines += ["[transfer.move]", f'dtype = "{dtype}"', f"source = {{ {source} }}", f"dest = {{ {dest} }}"]
    return synthesized(load("\n".join(lines) + "\n"), QUICK)


def test_a_copy_costs_the_same_whatever_its_parts_are_called() -> None:
    at = 'tier = "hbm", base = {}, element = "{}"'
    swapped, plain = (
        answer({"H": 8, "D": 864}, at.format(1 << 20, text), at.format(1 << 21, text), "bf16")
        for text in ("H % 2, H / 2, D", "H, D")
    )
    assert (swapped.cycles, swapped.bound, swapped.optimal) == (plain.cycles, plain.bound, plain.optimal)
    assert plain.optimal


def spelled(sizes: list[int], groups: list[list[int]]) -> tuple[dict[str, int], dict[int, str]]:
    """Axes and the text of each factor, where the factors of a group are digits of one axis, outermost first."""
    axes, texts = {}, {}
    for number, group in enumerate(groups):
        name = "ABCDEFGH"[number]
        axes[name] = prod(sizes[i] for i in group)
        below = axes[name]
        for index in group:
            below //= sizes[index]
            high = f" / {below}" if below > 1 else ""
            low = f" % {sizes[index]}" if below * sizes[index] < axes[name] else ""
            texts[index] = f"{name}{high}{low}"
    return axes, texts


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "most"), [(0, 2), *rest([(1, 3), (0, 4), (1, 4)])])
def test_factors_as_axes_or_as_digits_of_one_axis_are_the_same_move(seed: int, most: int) -> None:
    draw = random.Random(seed)
    sizes = [draw.choice((2, 3, 4, 8, 16)) for _ in range(draw.randint(2, most))] + [draw.choice((64, 256))]
    order = list(range(len(sizes)))
    source, dest = draw.sample(order, len(order)), draw.sample(order, len(order))
    mixed = draw.sample(order, len(order))
    cut = draw.randint(1, len(order) - 1)
    found = []
    for groups in ([[i] for i in order], [mixed[:cut], mixed[cut:]], [mixed]):
        axes, texts = spelled(sizes, groups)
        sides = [
            f'tier = "hbm", base = {base}, element = "{", ".join(texts[i] for i in side)}"'
            for base, side in ((0, source), (1 << 30, dest))
        ]
        found.append(answer(axes, *sides))
    assert len({(one.cycles, one.bound, one.optimal) for one in found}) == 1


@pytest.mark.parametrize("rows", [8, 64])
@pytest.mark.parametrize("high", ["Q / 96", "Q / 384, Q / 96 % 4"])
def test_a_padded_low_digit_of_an_axis_is_the_padded_axis_of_its_own(rows: int, high: str) -> None:
    at = 'tier = "hbm", base = {}, element = "{}"'
    own, digit = (
        answer(axes, at.format(0, f"{top}, X, {row}"), f'tier = "dm", slice = "X", element = "{top}, {row} # 128"')
        for axes, top, row in (
            ({"X": 4, "R": rows, "E": 96}, "R", "E"),
            ({"X": 4, "Q": rows * 96}, high, "Q % 96"),
        )
    )
    assert own.found
    assert (digit.found, digit.cycles, digit.bound, digit.optimal) == (True, own.cycles, own.bound, own.optimal)
