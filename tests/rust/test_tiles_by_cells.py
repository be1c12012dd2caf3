"""Tiles whose index cuts elsewhere than the mapping: judged cell by cell, as are those that digits find wrong."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import plan, verdicts
from lab.draws import seeds
from lab.rust_tiles import DrawnTiles, drawn, drawn_ways

from dmaverify.language.expr import Kind, walk
from dmaverify.language.meaning import Index, cell
from dmaverify.language.parse import parse
from dmaverify.language.wellformed import problems
from dmaverify.machines.rngd.rust.tile_shapes import extent, fits, form_of

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


@pytest.mark.parametrize(
    ("first", "second", "right"),
    [(32, 0, True), (32, 16, True), (32, 17, False), (32, 32, False), (48, 0, True), (48, 16, False), (0, 32, False)],
)
@pytest.mark.parametrize("written", [False, True])
def test_a_tile_of_a_tile_stays_within_it(first: int, second: int, right: bool, written: bool) -> None:
    """The first keeps 32 of 64 rows, or 16 of them where it starts at 48; the second 16."""
    keep, mark = (16 if first == 48 else 32), "#{!}" if written else "#"
    inner = f"view.tile::<m![B], 16, m![A, B = 16 {mark} 64]>({second})"
    outer = f"tile::<m![B], {keep}, m![A, B = {keep} {mark} 64]>({first})"
    whole = "tile::<m![B], 16, m![A, B = 16 %s 64]>(0)"
    if written:
        lines = f"let mut view = y.view_mut().{outer}; x.view().{whole % '#'}.to_hbm_view(&mut ctx.tdma, {inner});"
    else:
        lines = f"let view = x.view().{outer}; {inner}.to_hbm_view(&mut ctx.tdma, y.view_mut().{whole % '#{!}'});"
    of = "HbmTensor<i8, Chip, m![A, B]>"
    made = verdicts(plan(f"fn f(ctx: &mut Context, x: &{of}, y: &mut {of}) {{ {lines} }}"))
    assert all((one.status.value == "proved") is right for one in made)


@given(st.sampled_from(MAPPINGS), st.sampled_from(INDICES), st.integers(1, 60), st.sampled_from(("H", "B")))
def test_the_positions_of_an_index_that_a_view_has_are_counted(old: str, index: str, keep: int, axis: str) -> None:
    by, seen = parse(index, AXES), parse(re.sub(rf"\b{axis}\b", f"({axis} = {keep})", old), AXES)
    digits = form_of(by)
    assert digits is not None
    if not all(one.size > 0 for one in walk(seen)) or any(p.fatal for p in problems(seen)):
        return
    last = -1
    for place in range(seen.size):
        one = cell(seen, place)
        if isinstance(one, Index) and all(value < AXES[name] for name, value in one.coords):
            named = dict(one.coords)
            at = [(d, named.get(d.axis, 0)) for d in digits.digits if d.axis is not None]
            last = max(last, sum(value // d.weight % d.slots * d.step for d, value in at))
    assert extent(seen, by) in (last + 1, None)


def judged_as_it_runs(one: DrawnTiles) -> None:
    made = verdicts(plan(one.text))
    said = {found.status.value for found in made}
    assert one.right or not all(made), one.text
    assert one.twice or not one.right or "refuted" not in said, one.text
    assert "error" not in said


@pytest.mark.parametrize("seed", [*seeds(12, 48), 95_260])
def test_tiles_in_drawn_loops_are_judged_as_they_run(seed: int) -> None:
    """Thousands of them: `python tests/fuzz/rust_tiles.py --count 3000`."""
    judged_as_it_runs(drawn(seed))


@pytest.mark.parametrize("seed", [*seeds(10, 32), 609])
def test_tiles_behind_drawn_conditions_are_judged_as_they_run_for_every_parameter(seed: int) -> None:
    judged_as_it_runs(drawn_ways(seed))


@pytest.mark.parametrize(
    ("axes", "whole", "index", "length", "starts", "status"),
    [
        ("A = 4", "A % 2 # 5, A / 2", "A / 2", 1, (0, 1), "proved"),
        ("A = 4", "A % 2 # 5, A / 2", "A / 2", 1, (0,), "refuted"),
        ("A = 4", "A / 2, A % 2 # 3", "A / 2", 2, (0, 1), "refuted"),
        ("A = 16, B = 2", "B, A % 4, A / 4 # 6", "B", 1, (1, 0), "proved"),
        ("A = 16, B = 2", "B, A % 4, A / 4 # 6", "B", 1, (1,), "refuted"),
        ("A = 2", "A # 8 / 4, A # 8 % 4", "A # 8 % 4", 3, (0,), "proved"),
        ("A = 2", "A # 8 / 4, A # 8 % 4", "A # 8 % 4", 3, (1,), "refuted"),
        ("A = 1", "A # 4 / 2, A # 4 % 2", "A # 4 / 2", 2, (0,), "proved"),
    ],
)
def test_tiles_beside_padding_inside_a_digit_lie_where_their_elements_do(
    axes: str, whole: str, index: str, length: int, starts: tuple[int, ...], status: str
) -> None:
    """The padding of an inner digit moved its tiles, or left open what they cover; an axis of one ended in an error."""
    size = parse(index, {axis: int(n) for axis, n in re.findall(r"(\w) = (\d+)", axes)}).size
    view = f"tile::<m![{index}], {length}, m![{whole.replace(index, f'{index} = {length} MARK {size}')}]>"
    both = f"x.view().{view}(AT).to_hbm_view(&mut ctx.tdma, y.view_mut().{view.replace('MARK', '#{!}')}(AT));"
    lines = "\n".join(both.replace("MARK", "#").replace("AT", str(start)) for start in starts)
    text = f"type T = HbmTensor<i8, m![1], m![{whole}]>;\naxes![{axes}];\n#[device(chip = 1)]\n"
    text += f"fn k(ctx: &mut Context, x: &T) -> T {{ let mut y = T::new();\n{lines}\ny }}\n"
    found = {one.status.value for one in verdicts(plan(text, "use furiosa_opt_std::prelude::*;\n"))}
    assert ("refuted" if "refuted" in found else min(found)) == status


@pytest.mark.parametrize(("whole", "start", "status"), [
    ("B # 22 / 11, B # 22 % 11", 0, "proved"), ("B # 22 / 11, B # 22 % 11", 2, "unknown"),
    ("B # 22 % 11, B # 22 / 11", 1, "proved"), ("B # 22 % 11, B # 22 / 11", 2, "unknown"),
])  # fmt: skip
def test_a_tile_that_shows_padding_as_elements_where_it_starts_is_not_proved(
    whole: str, start: int, status: str
) -> None:
    """Of 16 elements in rows of 11, the second row has five: 4 from 2 on reach beyond them, though not beyond a row."""
    new = whole.replace("B # 22 % 11", "B # 22 % 11 = 4")
    dest = f"DmTensor<i8, m![1], m![1 # 2], m![Q], m![{new}, W]>"
    view = f"tile::<m![B # 22 % 11], 4, m![{whole.replace('B # 22 % 11', 'B # 22 % 11 = 4 # 11')}, W]>({start})"
    text = f"axes![B = 16, W = 8, Q = 64];\nfn k(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![{whole}, W]>) {{\n"
    text += f"let d: {dest} = x.view().{view}.to_dm(&mut ctx.tdma); }}\n"
    assert [one.status.value for one in verdicts(plan(text, "use furiosa_opt_std::prelude::*;\n"))] == [status]
