"""The numbers of an index: what the text puts into it, what becomes of them, which are left to a promise."""

from __future__ import annotations

import pytest

import dmaverify as dv
from dmaverify.machines.rngd.rust.plans import read_kernel_plan_text

HEAD = "use furiosa_opt_std::prelude::*;\naxes![R = 1024, W = 64, P = 64, Q = 2, U = 256];\n"
GATHER = """#[device(chip = 1)]
fn g(ctx: &mut Context, t: &HbmTensor<bf16, m![1], m![TABLE]>, o: &HbmTensor<i32, m![1], m![P]>)
    -> HbmTensor<bf16, m![1], m![OUT]> {
    let r: DmTensor<bf16, m![1], m![1 # 2], m![P # 256], m![ROW]> = t.dma_gather_scaled(o); r.to_hbm(&mut ctx.tdma) }
"""
HOST = """async fn host(ctx: &mut Context, other: &HbmTensor<i32, m![1], m![P]>, given: Vec<i32>) {
    let table: HbmTensor<bf16, m![1], m![R, W]> = HostTensor::<bf16, m![R, W]>::zero().to_hbm(&mut ctx.pdma).await;
    let mut index: HbmTensor<i32, m![1], m![P]> =
        HostTensor::<i32, m![P]>::from_vec(VALUES).to_hbm(&mut ctx.pdma).await;
    BEFORE
    let s: DmTensor<bf16, m![1], m![1 # 2], m![P # 256], m![W]> = table.dma_gather_scaled(&index);
    AFTER
}
"""
STEPS, WRONG = "(0..64).map(|i| i * 128).collect()", "vec![5; 64]"
OTHER = "HostTensor::<i32, m![P]>::from_vec(vec![5; 64]).to_hbm(&mut ctx.pdma).await"


def verdict(text: str, method: str) -> dv.Verdict:
    made = read_kernel_plan_text(HEAD + text)
    found = {site.name: site.site.method for site in made.sites}
    (one,) = [v for v in dv.check(made) if found[v.name] == method]
    return one


def status(text: str, method: str = "dma_gather_scaled") -> str:
    return verdict(text, method).status.value


def host(values: str, before: str = "", after: str = "") -> str:
    return HOST.replace("VALUES", values).replace("BEFORE", before).replace("AFTER", after)


def kernel(table: str = "R, W", row: str = "W", out: str = "P, W") -> str:
    return GATHER.replace("TABLE", table).replace("ROW", row).replace("OUT", out)


@pytest.mark.parametrize(
    ("table", "wanted"), [("R, W", "proved"), ("R % 32, W", "proved"), ("R / 32, W", "unknown")]
)  # fmt: skip
def test_no_source_says_which_row_a_number_names_where_low_digits_are_left_out(table: str, wanted: str) -> None:
    assert status(kernel(table)) == wanted


@pytest.mark.parametrize(("row", "out", "wanted"), [("W", "P, W", "proved"), ("Q, W", "P, Q, W", "unknown")])
def test_elements_that_neither_index_nor_table_names_are_open(row: str, out: str, wanted: str) -> None:
    assert status(kernel(row=row, out=out)) == wanted


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (STEPS, "proved"),
        (WRONG, "refuted"),
        ("vec![0, 128]", "refuted"),
        ("vec![]", "refuted"),
        ("vec![128; 65]", "refuted"),
        ("(0..8).flat_map(|i| (0..8).map(move |j| (i + j) * 128)).collect()", "unknown"),
        ("given", "unknown"),
    ],
)
def test_an_index_has_as_many_numbers_as_keys_and_all_that_are_made_here_are_read(values: str, wanted: str) -> None:
    assert status(host(values)) == wanted


@pytest.mark.parametrize("values", [STEPS, WRONG])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("other.view().to_hbm_view(&mut ctx.tdma, index.view_mut());", ""),
        ("let old = std::mem::replace(&mut index, foreign());", ""),
        ("foreign(&mut index);", ""),
        (f"if given.len() > 3 {{ index = {OTHER}; }}", ""),
        ("for k in 0..2 {", f"index = {OTHER}; }}"),
        ("for k in 0..2 {", "other.view().to_hbm_view(&mut ctx.tdma, index.view_mut()); }"),
    ],
)
def test_numbers_are_forgotten_where_something_may_be_written_over_them(values: str, before: str, after: str) -> None:
    assert status(host(values, before, after)) == "unknown"


def test_what_is_read_of_an_index_leaves_its_numbers() -> None:
    assert status(host(STEPS, "let copy = index.view();")) == "proved"
    assert status(host(WRONG, "let copy = index.view();")) == "refuted"
    assert status(host(WRONG, f"index = {OTHER.replace('5; 64', '128; 64')};")) == "proved"


MADE = """type T = HbmTensor<i8, m![1], m![R, W]>;
trait Fresh { fn fresh() -> Self; }
impl Fresh for T { fn fresh() -> Self { BODY } }
#[device(chip = 1)]
fn k(ctx: &mut Context, input: &T) -> T {
    let mut out = T::new();
    input.view().to_hbm_view(&mut ctx.tdma, out.view_mut());
    GIVE
    out
}
"""


@pytest.mark.parametrize(
    ("give", "wanted"),
    [
        ("", "proved"),
        ("out = T::fresh();", "refuted"),
        ("out = Fresh::fresh();", "unknown"),
        ("use std::cell::RefCell; let c = RefCell::new(T::new()); out = c.into_inner();", "unknown"),
    ],
)
def test_what_an_impl_of_the_crate_makes_is_read_or_open(give: str, wanted: str) -> None:
    assert status(MADE.replace("BODY", "T::new()").replace("GIVE", give), "to_hbm_view") == wanted
