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


BUFFERS = """#[device(chip = 1)]
fn k(ctx: &mut Context, t: &mut HbmTensor<bf16, m![1], m![R, W]>, i: &mut HbmTensor<i32, m![1], m![U]>,
     n: &HbmTensor<i32, m![1], m![U]>, p: &HbmTensor<i32, m![1], m![P]>,
     d: &DmTensor<i32, m![1], m![1 # 2], m![P # 256], m![1 # 2]>) -> HbmTensor<bf16, m![1], m![U, W]> {
    BODY
}
"""
GET = "let g: DmTensor<bf16, m![1], m![1 # 2], m![U], m![W]> = t.dma_gather_scaled(INDEX);"
PUT, FILL = "d.dma_scatter::<m![P], _, _>(p, i);", "n.view().to_hbm_view(&mut ctx.tdma, i.view_mut());"
FRESH = "let mut f = HbmTensor::<i32, m![1], m![U]>::new();"
FIRST = "n.view().tile::<m![U], 128, m![U = 128 # 256]>(0)"
HALF = f"{FIRST}.to_hbm_view(&mut ctx.tdma, f.view_mut().tile::<m![U], 128, m![U = 128 #{{!}} 256]>(0));"


@pytest.mark.parametrize(
    ("lines", "index", "rules"),
    [
        (f"{GET} g.to_hbm(&mut ctx.tdma)", "i", set()),
        (f"{FILL} {GET} g.to_hbm(&mut ctx.tdma)", "i", set()),
        (f"{GET} {FILL} g.to_hbm(&mut ctx.tdma)", "i", {"core/hazard-war"}),
        (f"{PUT} {GET} g.to_hbm(&mut ctx.tdma)", "i", {"core/hazard-raw"}),
        (f"{FRESH} {GET} g.to_hbm(&mut ctx.tdma)", "&f", {"core/definite"}),
        (f"{FRESH} {HALF} {GET} g.to_hbm(&mut ctx.tdma)", "&f", {"core/tiles-cover"}),
        (f"{FRESH} {FILL.replace('i.view', 'f.view')} {GET} g.to_hbm(&mut ctx.tdma)", "&f", set()),
    ],
)
def test_an_index_is_read_as_a_table_is(lines: str, index: str, rules: set[str]) -> None:
    """What nothing wrote, or what may be overwritten or not yet be there, names no rows."""
    found = dv.check(read_kernel_plan_text(HEAD + BUFFERS.replace("BODY", lines.replace("INDEX", index))))
    told = {f.rule for v in found for f in v.findings if f.rule.startswith("core/")}
    assert told == rules
    assert ("refuted" in {v.status.value for v in found}) == bool(rules & {"core/definite", "core/tiles-cover"})


ROW = "DmTensor<bf16, m![1], m![1 # 2], m![P # 256], m![W]>"
TABLE, KEYS = "t: &mut HbmTensor<bf16, m![1], m![R, W]>", "p: &HbmTensor<i32, m![1], m![P]>"


@pytest.mark.parametrize(("turns", "rules"), [("0..4", {"core/hazard-raw"}), ("0..1", set())])
def test_the_next_turn_of_a_loop_reads_what_this_one_scatters(turns: str, rules: set[str]) -> None:
    body = f"let g: {ROW} = t.dma_gather_scaled(p); g.dma_scatter::<m![P], _, _>(p, t);"
    made = f"fn k(ctx: &mut Context, {TABLE}, {KEYS}) {{ for _ in {turns} {{ {body} }} }}"
    found = dv.check(read_kernel_plan_text(HEAD + made))
    assert {f.rule for v in found for f in v.findings if f.rule.startswith("core/")} == rules


@pytest.mark.parametrize(("table", "row", "out", "counts"), [
    ("R, W", "W", "P, W", "128 bytes, at"), ("R, W", "W # 128", "P, W", "128 bytes, at"),
    ("R, W # 128", "W", "P, W", "128 bytes (the elements of a row; rows lie 256 bytes apart)"),
    ("Q, R, W", "Q, W", "P, Q, W", "256 bytes (the elements of a row; rows lie 128 bytes apart)"),
])  # fmt: skip
def test_a_scaled_number_counts_a_row_by_its_elements(table: str, row: str, out: str, counts: str) -> None:
    """The library divides by those, and what lies between rows was printed."""
    said = verdict(kernel(table, row, out), "dma_gather_scaled").conditions
    assert any(f"as multiples of {counts}" in one for one in said), said


@pytest.mark.parametrize(("step", "between", "wanted"), [
    (128, "W", "proved"), (128, "W # 128", "unknown"), (256, "W # 128", "unknown"), (0, "W # 128", "proved"),
])  # fmt: skip
def test_which_row_a_number_names_is_not_known_where_rows_are_padded(step: int, between: str, wanted: str) -> None:
    numbers = f"(0..64).map(|i| i * {step}).collect()"
    assert status(host(numbers).replace("m![R, W]", f"m![R, {between}]")) == wanted
