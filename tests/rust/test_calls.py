"""Helpers are judged for what their callers pass: offsets, views, what calls do to buffers together."""

# ruff: noqa: E501  (kernels)

import pytest
from kernels import broken, plan, verdicts, warned

from dmaverify.prove.flow.order import pipes
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


def test_a_helper_that_is_handed_on_is_judged_for_any_offset() -> None:
    text = "#[device(chip = 1)]\nfn g(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) { each(part); }\n"
    assert verdicts(plan(PART + calling("0")))[0].conditions == ()
    assert "the start of the tile" in verdicts(plan(PART + calling("0") + text))[0].conditions[0]


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
    assert verdict.bounds == (
        "if the start of the tile of `B` in line 7 is in 0..=56 and the source tile of line 7 starts at a multiple "
        "of 8 bytes"
    )
    assert not verdict


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


ROWS = "m![A], m![B]"
OUT = "HbmTensor::<i8, Chip, m![A, B]>::new()"


def kernel(lines: str, result: str = " -> HbmTensor<i8, Chip, m![A, B]>", helper: str = "") -> str:
    return f"{helper}#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>){result} {{\n{lines}\n}}\n"


def half(start: int) -> str:
    return (
        f"    x.view().tile::<m![B], 32, m![A, B = 32 # 64]>({start}).to_hbm_view(&mut ctx.tdma, "
        f"out.view_mut().tile::<m![B], 32, m![A, B = 32 #{{!}} 64]>({start}));\n"
    )


@pytest.mark.parametrize(
    ("starts", "rules"),
    [
        ([0, 32], set()),
        ([0], {"core/tiles-cover"}),
        ([0, 16], {"core/tiles-cover", "core/tiles-once"}),
        ([0, 32, 32], {"core/tiles-once"}),
    ],
)
def test_a_tensor_that_is_made_and_given_away_is_written_whole_and_once(starts: list[int], rules: set[str]) -> None:
    made = plan(kernel(f"let mut out = {OUT};\n" + "".join(map(half, starts)) + "out"))
    assert set().union(*broken(made)) == rules


def test_what_a_helper_writes_counts_for_its_caller() -> None:
    helper = (
        "fn put(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>, out: &mut HbmTensor<i8, Chip, m![A, B]>, at: usize) {\n"
        + half(0).replace("(0)", "(at)")
        + "}\n"
    )
    calls = "    put(ctx, x, &mut out, {});\n"
    both = plan(kernel(f"let mut out = {OUT};\n" + calls.format(0) + calls.format(32) + "out", helper=helper))
    one = plan(kernel(f"let mut out = {OUT};\n" + calls.format(0) + "out", helper=helper))
    assert set().union(*broken(both)) == set()
    assert set().union(*broken(one)) == {"core/tiles-cover"}


def test_a_tensor_of_the_caller_may_be_written_in_part_and_is_told() -> None:
    text = kernel(half(0), result="").replace("m![A, B]>)", "m![A, B]>, out: &mut HbmTensor<i8, Chip, m![A, B]>)")
    assert broken(plan(text)) == [set()]
    assert warned(plan(text)) == {"core/tiles-cover"}


def test_a_name_that_is_assigned_in_a_loop_is_not_what_it_was_made_as() -> None:
    loop = "for i in 0..2 { y = x.to_dm(&mut ctx.tdma); }\n"
    made = f"let mut y: DmTensor<i8, Chip, Cluster, {ROWS}> = DmTensor::new();\n"
    assert set().union(*broken(plan(kernel(made + loop + "y.to_hbm(&mut ctx.tdma)")))) == set()
    assert set().union(*broken(plan(kernel(made + "y.to_hbm(&mut ctx.tdma)")))) == {"core/definite"}


def test_what_happens_before_is_a_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = "m![A, B]>, p: &mut HbmTensor<i8, Chip, m![A, B]>, q: &mut HbmTensor<i8, Chip, m![A, B]>)"
    load = "let {n}: DmTensor<i8, Chip, Cluster, m![A], m![B]> = {s}.to_dm(&mut ctx.tdma);\n"
    first = load.format(n="a", s="p") + "a.view().to_hbm_view(&mut ctx.tdma, q.view_mut());\n"
    back = load.format(n="b", s="q") + "b.view().to_hbm_view(&mut ctx.tdma, p.view_mut());\n"
    other = load.format(n="b", s="x") + "b.view().to_hbm_view(&mut ctx.tdma, p.view_mut());\n"

    def hazards(lines: str) -> set[str]:
        return {w for w in warned(plan(kernel(lines, result="").replace("m![A, B]>)", parameters))) if "hazard" in w}

    assert hazards(first + back) == set()
    assert hazards(first + other) == {"core/hazard-war"}
    monkeypatch.setattr(pipes, "MOST_SPENT", -1)  # an order that is not followed to its end is told
    assert hazards(first + back) == {"core/hazard-war"}


def test_tensors_that_a_slice_cannot_hold_at_once_are_listed() -> None:
    parameters = "m![A, B]>, p: &HbmTensor<i8, Chip, m![A, W]>, q: &HbmTensor<i8, Chip, m![A, W]>, o: &mut HbmTensor<i8, Chip, m![A, W]>)"
    load = "let {n}: DmTensor<i8, Chip, Cluster, m![A], m![W]> = {n}.to_dm(&mut ctx.tdma);\n"
    store = "{n}.view().to_hbm_view(&mut ctx.tdma, o.view_mut());\n"
    together = load.format(n="p") + load.format(n="q") + store.format(n="p") + store.format(n="q")
    in_turn = load.format(n="p") + store.format(n="p") + load.format(n="q") + store.format(n="q")
    head = "axes![W = 300000];\n"

    def found(lines: str) -> set[str]:
        return set().union(*broken(plan(head + kernel(lines, result="").replace("m![A, B]>)", parameters))))

    assert found(together) == {"rngd/slice-capacity"}
    assert found(in_turn) == set()


def test_a_transfer_inside_a_macro_inside_a_macro_is_one_transfer() -> None:
    macro = (
        "macro_rules! make { ($name:ident, $w:expr) => { fn $name(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) {\n"
        "    assert_eq!(x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma).len(), $w);\n} }; }\n"
    )
    made = plan(macro + "make!(first, 1);\nmake!(second, 2);\n")
    assert [(v.name.split("-")[0], v.status) for v in verdicts(made)] == [
        ("first", Status.PROVED),
        ("second", Status.PROVED),
    ]


def test_arguments_in_a_variable_are_those_of_the_kernel_that_is_launched() -> None:
    text = (
        f"#[device(chip = 1)]\nfn k(ctx: &mut Context, x: &HbmTensor<i8, Chip, {'m![A, B]'}>) {{}}\n"
        "async fn host(ctx: &mut Context) {\n    let x = HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma).await;\n"
        "    let args = (&mut *ctx, &x);\n    launch(k, args).await;\n}\n"
    )
    assert [v.status for v in verdicts(plan(text))] == [Status.PROVED]


def test_the_name_of_the_crate_in_a_template_is_the_crate(tmp_path) -> None:
    import dmaverify as dv

    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text("pub mod kernel;\n", encoding="utf-8")
    (tmp_path / "src" / "kernel.rs").write_text("use furiosa_opt_std::prelude::*;\naxes![A = 64];\n", encoding="utf-8")
    main = "use {{ crate_name }}::kernel::A;\nfn f(x: &HbmTensor<i8, m![1], m![A]>) { x.to_hbm::<{ Dma::Tensor }, m![A]>(c); }\n"
    (tmp_path / "src" / "run.rs").write_text(main, encoding="utf-8")
    assert [v.status for v in dv.check(tmp_path / "src" / "run.rs")] == [Status.PROVED]


LOADED = """
struct Model { n: HbmTensor<bf16, Chip, m![A]>, v: Vec<HbmTensor<bf16, Chip, m![B]>>, c: Cache }
enum Cache { Named { k: HbmTensor<i8, Chip, m![A, B]> }, Placed(HbmTensor<i8, Chip, m![B]>) }
async fn load<E: M>(ctx: &mut Context, name: &str) -> Result<HbmTensor<bf16, Chip, E>, Box<dyn std::error::Error>> {
    let host: HostTensor<bf16, E> = HostTensor::from_vec(vec![]);
    Ok(host.to_hbm(&mut ctx.pdma).await)
}
async fn many<D: S, E: M>(ctx: &mut Context, count: usize) -> Vec<HbmTensor<D, Chip, E>> {
    let mut all = Vec::with_capacity(count);
    for _ in 0..count { all.push(HostTensor::<D, E>::zero().to_hbm(&mut ctx.pdma).await); }
    all
}
async fn rows<E: M, F>(ctx: &mut Context, mut value: F) -> HbmTensor<f32, Chip, E> where F: FnMut(usize) -> f32 {
    HostTensor::<f32, E>::from_vec((0..4).map(|n| value(n)).collect()).to_hbm(&mut ctx.pdma).await
}
async fn build(ctx: &mut Context) -> Result<Model, Box<dyn std::error::Error>> {
    let n = load(ctx, "x").await?;
    let v = many(ctx, 3).await;
    let c = Cache::Named { k: HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma).await };
    let d = Cache::Placed(HostTensor::<i8, m![B]>::zero().to_hbm(&mut ctx.pdma).await);
    let r = rows::<m![A], _>(ctx, |n| n as f32).await;
    Ok(Model { n, v, c })
}
"""


def test_results_are_named_by_fields_variants_containers_and_closures_that_do_not_matter() -> None:
    assert [v.status for v in verdicts(plan(LOADED))] == [Status.PROVED] * 5


def test_a_wrong_type_that_only_a_later_use_names_is_found() -> None:
    wrong = LOADED.replace(
        "v: Vec<HbmTensor<bf16, Chip, m![B]>>",
        "v: Vec<HbmTensor<bf16, Chip, m![B]>>, w: HbmTensor<i8, Chip, m![A = 8]>",
    )
    wrong = wrong.replace(
        "    Ok(Model { n, v, c })",
        "    let host: HostTensor<i8, m![A]> = HostTensor::zero();\n    let w = host.to_hbm(&mut ctx.pdma).await;\n    Ok(Model { n, v, w, c })",
    )
    assert broken(plan(wrong))[-1] == {"core/consumes"}


COPIES = """fn k(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>) -> HbmTensor<i8, Chip, m![A, B]> {
    let mut out = HbmTensor::<i8, Chip, m![A, B]>::new();
    BODY
    out
}
fn copy(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, B]>, out: &mut HbmTensor<i8, Chip, m![A, B]>, c: usize) {
    MORE
    let part = x.view().tile::<m![B / 32], 1, m![A, 1 # 2, B % 32]>(c);
    part.to_hbm_view(&mut ctx.tdma, out.view_mut().tile::<m![B / 32], 1, m![A, 1 #{!} 2, B % 32]>(c));
}"""
CLOSED = """let of = |ctx: &mut Context, out: &mut HbmTensor<i8, Chip, m![A, B]>, c: usize| {
        let part = x.view().tile::<m![B / 32], 1, m![A, 1 # 2, B % 32]>(c);
        part.to_hbm_view(&mut ctx.tdma, out.view_mut().tile::<m![B / 32], 1, m![A, 1 #{!} 2, B % 32]>(c));
    };
    """
BOTH = "copy(ctx, x, &mut out, 0); copy(ctx, x, &mut out, 1);"
OTHER = "let mut two = HbmTensor::<i8, Chip, m![A, B]>::new(); "


@pytest.mark.parametrize(
    ("lines", "more", "wanted"),
    [
        (CLOSED + "of(ctx, &mut out, 0); of(ctx, &mut out, 1);", "", "proved"),
        (CLOSED + "of(ctx, &mut out, 1); of(ctx, &mut out, 1);", "", "refuted"),
        (CLOSED + "for c in 0..2 { of(ctx, &mut out, c); }", "", "proved"),
        (CLOSED + "for c in 0..1 { of(ctx, &mut out, c); }", "", "refuted"),
        (BOTH, "", "proved"),
        ("copy(ctx, x, &mut out, 1);", "if c > 0 { copy(ctx, x, out, c - 1); }", "unknown"),
        (OTHER + BOTH + "std::mem::swap(&mut out, &mut two);", "", "unknown"),
        (BOTH + "elsewhere(&mut out);", "", "given"),
    ],
)
def test_code_of_the_input_is_followed_or_the_verdict_is_open(lines: str, more: str, wanted: str) -> None:
    """What stands in another crate is a condition; what stands here could be known."""
    text = COPIES if "copy(" in lines else COPIES.split("fn copy")[0]
    made = verdicts(plan(text.replace("BODY", lines).replace("MORE", more)))
    found = {v.status.value for v in made}
    told = next((one for one in ("refuted", "unknown") if one in found), "proved")
    assert ("given" if told == "proved" and any(v.conditions for v in made) else told) == wanted


@pytest.mark.parametrize(
    "body", ["x.to_dm(&mut c.tdma)", "if n > 1 { return x.to_dm(&mut c.tdma); } x.to_dm(&mut c.tdma)"]
)
@pytest.mark.parametrize(("part", "wanted"), [("", {Status.PROVED}), (" = 8", {Status.PROVED, Status.REFUTED})])
def test_a_closure_gives_the_type_that_it_declares(body: str, part: str, wanted: set[Status]) -> None:
    """What was given from within had the type of the function around, or none (UNKNOWN)."""
    given = "HbmTensor<i8, Chip, m![A, B]>"
    closure = f"|c: &mut Context| -> DmTensor<i8, Chip, Cluster, m![A], m![B{part}]> {{ {body} }}"
    kernel = f"fn f(ctx: &mut Context, x: &{given}, n: usize) -> {given} {{ let g = {closure}; let d = g(ctx); d.to_hbm(&mut ctx.tdma) }}"
    found = {one.status for one in verdicts(plan(f"#[device(chip = 1)]\n{kernel}\n"))}
    assert found <= wanted
    assert (Status.REFUTED in found) == (Status.REFUTED in wanted)
