"""Helpers are judged for what their callers pass: offsets, views, what calls do to buffers together."""

# ruff: noqa: E501  (kernels)

import pytest
from kernels import broken, plan, verdicts, warned

from dmaverify.verdict import Status

PART = """
fn part(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>, offset: usize) {
    let y: DmTensor<i8, Chip, Cluster, m![A], m![B = 8]> = x.view().tile::<m![B], 8, m![A, B = 8 # 64]>(offset).to_dm(&mut ctx.tdma);
}
"""


def calling(*offsets: str) -> str:
    calls = "".join(f"    part(ctx, x, {offset});\n" for offset in offsets)
    return f"#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {{\n{calls}}}\n"


@pytest.mark.parametrize(
    ("offsets", "fine"),
    [
        (["0"], True),
        (["0", "8"], True),
        (["0", "8", "4"], False),
        (["2 * STEP"], True),
        (["STEP + 1"], False),
        (["12"], False),
    ],
)
def test_an_offset_flows_into_the_helper_from_each_call(offsets: list[str], fine: bool) -> None:
    made = plan("const STEP: usize = 16;\n" + PART + calling(*offsets))
    assert (broken(made) == [set()]) is fine
    if not fine:
        (verdict,) = verdicts(made)
        assert verdict.status is Status.REFUTED
        assert len(offsets) == 1 or any("offset = 4" in note for f in verdict.findings for note in f.notes)


def test_an_offset_flows_through_two_helpers_and_a_loop() -> None:
    outer = "fn outer(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>, i: usize) { part(ctx, x, 4 * i); }\n"
    kernel = "#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) { for i in %s { outer(ctx, x, i); } }\n"
    assert broken(plan(PART + outer + kernel % "0..7")) == [{"rngd/hbm-dm-align"}]
    assert broken(plan(PART + outer.replace("4 *", "8 *") + kernel % "0..7")) == [set()]


def test_a_start_that_runs_over_the_axis_is_found_in_the_helper() -> None:
    assert broken(plan(PART + calling("56"))) == [set()]
    assert broken(plan(PART + calling("64"))) == [{"core/well-formed"}]


def test_a_helper_that_nobody_calls_holds_under_a_condition_that_is_told() -> None:
    (verdict,) = verdicts(plan(PART))
    assert verdict.status is Status.PROVED
    assert any("multiples of 8 bytes" in told for told in verdict.assumptions)
    assert warned(plan(PART)) == {"rngd/hbm-dm-align"}


def test_a_view_that_is_passed_keeps_its_start() -> None:
    helper = (
        "fn load(ctx: &mut Context, v: HbmTensorView<'_, i8, Chip, m![A, B = 8 # 64]>) {\n"
        "    let y: DmTensor<i8, Chip, Cluster, m![A], m![B = 8]> = v.to_dm(&mut ctx.tdma);\n}\n"
    )
    kernel = (
        "#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {\n"
        "    load(ctx, x.view().tile::<m![B], 8, m![A, B = 8 # 64]>(%d));\n}\n"
    )
    assert broken(plan(helper + kernel % 8)) == [set()]
    assert broken(plan(helper + kernel % 4)) == [{"rngd/hbm-dm-align"}]
