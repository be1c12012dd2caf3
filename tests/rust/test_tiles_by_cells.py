"""Tiles whose index cuts elsewhere than the mapping: judged cell by cell, as are those that digits find wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import plan, verdicts
from lab.rust_tiles import drawn

from dmaverify.language.expr import Kind
from dmaverify.language.meaning import Index, cell
from dmaverify.language.parse import parse
from dmaverify.machines.rngd.rust.tile_shapes import fits

AXES = {"H": 60, "B": 2}
MAPPINGS = ("H, B", "B, H", "H / 12, H % 12, B", "H % 12, B, H / 12", "H / 12, B, H % 12", "H # 64, B")
INDICES = ("H", "H % 12", "H / 12", "H % 7", "H / 7", "H % 12 / 4", "B")


def kernel(index: str, start: int) -> str:
    return f"""
use furiosa_opt_std::prelude::*;
axes![H = 3840, B = 64];
#[device(chip = 1)]
pub fn window(ctx: &mut Context, w: &HbmTensor<bf16, m![1], m![H, B]>) {{
    let part = w.view().tile::<m![{index}], 96, m![H / 120, H % 120 = 96 # 120, B]>({start});
    let _part: DmTensor<bf16, m![1], m![1 # 2], m![H / 120, 1 # 8], m![H % 120 = 96, B]> = part.to_dm(&mut ctx.tdma);
}}
"""


@pytest.mark.parametrize(
    ("index", "start", "right"),
    [
        ("H % 120", 0, True),
        ("H % 120", 24, True),
        ("H % 119", 0, False),
        ("H % 121", 25, False),
        ("H % 3839", 3700, False),
    ],
)
def test_an_index_cuts_where_the_view_does(index: str, start: int, right: bool) -> None:
    found = verdicts(plan(kernel(index, start)))
    assert any("is not `H, B` with a window" in one.message for v in found for one in v.findings) is not right
    assert all((v.status.value == "proved") is right for v in found)


def test_an_index_over_digits_that_lie_apart_is_not_decided() -> None:
    text = kernel("H", 0).replace("m![H, B]>) {", "m![H % 120, H / 120, B]>) {")
    text = text.replace("m![H / 120, H % 120 = 96 # 120, B]>(0)", "m![H % 120 = 96 # 120, 1 # 32, B]>(0)")
    assert {v.status.value for v in verdicts(plan(text))} <= {"unknown", "error"}


@given(st.sampled_from(MAPPINGS), st.sampled_from(INDICES), st.integers(1, 60), st.sampled_from(MAPPINGS))
def test_what_cells_say_of_a_window_is_so_at_every_start(old: str, index: str, length: int, new: str) -> None:
    """A window moved by its start lies over the elements whose index is that much greater."""
    whole, by = parse(old, AXES), parse(index, AXES)
    cut = f"{index} = {min(length, by.size)} # {by.size}"
    view = parse(new.replace(index, cut), AXES)
    if fits(whole, by, min(length, by.size), view, Kind.TOP) is not True:
        return
    seen = [cell(whole, place) for place in range(whole.size)]
    lies = {one: place for place, one in enumerate(seen) if isinstance(one, Index)}
    for start in range(by.size - min(length, by.size) + 1):
        first = cell(by, start)
        assert isinstance(first, Index)
        offset = lies[Index(tuple(sorted({**dict.fromkeys(AXES, 0), **dict(first.coords)}.items())))]
        for place in range(view.size):
            one = cell(view, place)
            if isinstance(one, Index):
                moved = {axis: value + dict(first.coords).get(axis, 0) for axis, value in one.coords}
                assert seen[place + offset] == Index(tuple(sorted(moved.items())))


@pytest.mark.parametrize("seed", range(48))
def test_tiles_in_drawn_loops_are_judged_as_they_run(seed: int) -> None:
    """Thousands of them: `python tests/fuzz/rust_tiles.py --count 3000`."""
    one = drawn(seed)
    said = {found.status.value for found in verdicts(plan(one.text))}
    assert one.right or "refuted" in said or "unknown" in said, one.text
    assert one.twice or not one.right or "refuted" not in said, one.text
    assert "error" not in said
