"""Kernels in crates: names across files, callers elsewhere, folders, extraction, the command line."""

# ruff: noqa: E501  (kernel text reads best on one line)

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import dmaverify as dv
from dmaverify.cli import app as cli
from dmaverify.machines.rngd.rust.code import MAX_BYTES
from dmaverify.machines.rngd.rust.extract import extracted
from dmaverify.machines.rngd.rust.plans import KernelPlan, read_kernel_plan
from dmaverify.plan.read import read_plan_text
from dmaverify.report.excuses import UNUSED
from dmaverify.verdict import Status

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "rust"


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    """A crate of five files that need each other."""
    files = {
        "Cargo.toml": '[package]\nname = "my-kernels"\n',
        "src/lib.rs": "use furiosa_opt_std::prelude::*;\npub mod axes;\npub mod ops;\npub type Chip = m![1];\n",
        "src/axes.rs": "use furiosa_opt_std::prelude::*;\naxes![A = 256, B = { 8 * 8 }];\npub const HALF: usize = 32;\n",
        "src/ops/mod.rs": "pub mod load;\nuse crate::axes::*;\nuse super::Chip;\npub(crate) type Rows = m![A];\n"
        "fn f(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A, B]>) { load::stage::<m![B]>(ctx, x); }\n",
        "src/ops/load.rs": "use crate::{axes::{A, B, HALF}, Chip};\nuse super::Rows as Lanes;\n"
        "pub fn stage<E: M>(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A, B]>) {\n"
        "    let y: DmTensor<i8, Chip, m![1 # 2], Lanes, E> = x.to_dm(&mut ctx.tdma);\n}\n"
        "fn half(ctx: &mut C, x: &HbmTensor<i8, Chip, m![A, B]>) {\n"
        "    let p = x.view().tile::<m![B], 32, m![A, B = 32 # 64]>(HALF);\n"
        "    let y: DmTensor<i8, Chip, m![1 # 2], Lanes, m![B = 32]> = p.to_dm(&mut ctx.tdma);\n}\n",
        "tests/run.rs": "use my_kernels::axes::{A, B};\nasync fn t(h: HostTensor<i8, m![A, B]>) {\n"
        "    let d: HbmTensor<i8, m![1], m![A, B]> = h.to_hbm(&mut ctx.pdma).await;\n}\n",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    runner = CliRunner()
    with runner.isolation() as (out, _, _):
        code = cli.invoke([*arguments])
        return code, out.getvalue().decode()


def test_names_are_found_across_the_files_of_a_crate(crate: Path) -> None:
    made = read_kernel_plan(crate / "src/ops/load.rs")
    assert [str(item.transfer.dest.mapping) for item in made.transfers] == ["1, 1 # 2, A, B", "1, 1 # 2, A, B = 32"]
    assert made.transfers[1].transfer.source.base == 32


def test_the_tests_of_a_package_name_its_library(crate: Path) -> None:
    made = read_kernel_plan(crate / "tests/run.rs")
    assert [str(item.transfer.dest.mapping) for item in made.transfers] == ["1, 1, 1, A, B"]


def test_a_file_that_changed_is_read_again(crate: Path) -> None:
    read_kernel_plan(crate / "src/ops/load.rs")
    (crate / "src/axes.rs").write_text("axes![A = 128, B = 64];\npub const HALF: usize = 16;\n", encoding="utf-8")
    made = read_kernel_plan(crate / "src/ops/load.rs")
    assert made.transfers[1].transfer.source.base == 16
    assert made.transfers[0].transfer.dest.slice.size == 128


def test_a_folder_is_checked_and_the_counts_add_up(crate: Path) -> None:
    code, out = run("check", str(crate))
    assert code == 0, out
    assert "checked 3 transfers in 2 files" in out
    assert "found 3 in Rust source = 3 judged + 0 reported as unresolved" in out


def test_an_unresolved_transfer_makes_the_run_inconclusive(crate: Path) -> None:
    (crate / "src/ops/mod.rs").write_text(
        "pub mod load;\nuse crate::axes::*;\npub(crate) type Rows = m![A];\n", encoding="utf-8"
    )
    code, out = run("check", str(crate / "src"), "--format", "concise")
    assert code == 3, out
    assert "core/unresolved-transfer" in out


def test_one_function_or_one_transfer_is_named(crate: Path) -> None:
    file = str(crate / "src/ops/load.rs")
    assert [v.name for v in dv.check(f"{file}::half")] == ["half-y"]
    assert [v.name for v in dv.check(f"{file}::stage-y")] == ["stage-y"]
    code, _ = run("check", f"{file}::nothing")
    assert code == 2


def test_a_text_that_is_no_utf8_and_a_file_that_is_not_there_are_input_errors(tmp_path: Path) -> None:
    (tmp_path / "x.rs").write_bytes(b"fn f() { x.to_dm(\xff\xfe) }")
    for file in ("x.rs", "y.rs"):
        assert run("check", str(tmp_path / file))[0] == 2


def test_a_file_without_transfers_is_nothing_to_check(tmp_path: Path) -> None:
    (tmp_path / "x.rs").write_text("fn f() {}\n", encoding="utf-8")
    assert run("check", str(tmp_path / "x.rs"))[0] == 2
    assert run("check", str(tmp_path))[0] == 2


# ---------------------------------------------------------------- the examples


@pytest.mark.parametrize("name", ["relayout", "windows", "tables", "mistakes"])
def test_an_example_is_exactly_as_it_says(name: str) -> None:
    verdicts = dv.check(str(EXAMPLES / f"{name}.rs"))
    assert len(verdicts) >= 5
    assert all(v.as_expected for v in verdicts), [(v.name, v.status, {f.rule for f in v.errors}) for v in verdicts]
    assert (name == "mistakes") == any(v.expect for v in verdicts)
    assert not [f for v in verdicts for f in v.findings if f.rule == UNUSED]


def test_what_was_found_in_published_kernels_is_found_in_its_reductions() -> None:
    found = EXAMPLES.parent / "found"
    classes, mended = (dv.check(str(found / name)) for name in ("classes.rs", "mended.rs"))
    assert all(v.as_expected for v in classes), [(v.name, {f.rule for f in v.errors}) for v in classes]
    assert sum(v.status is Status.REFUTED for v in classes) == 12
    assert {v.status for v in mended} == {Status.PROVED}


@pytest.mark.parametrize("name", ["relayout", "windows", "tables", "mistakes"])
def test_an_extracted_plan_holds_the_same_transfers(name: str) -> None:
    plan = read_kernel_plan(EXAMPLES / f"{name}.rs")
    again = read_plan_text(extracted(plan))
    assert [str(item.transfer) for item in again.transfers] == [str(_bare(plan, item.name)) for item in plan.transfers]
    assert len(again.transfers) == len(plan.transfers) >= 5


def test_an_extracted_transfer_says_which_turns_and_rows_it_stands_for() -> None:
    windows, tables, whole = (
        extracted(read_kernel_plan(EXAMPLES / f"{name}.rs")) for name in ("windows", "tables", "relayout")
    )
    said = "starts in turn at element 0 to 640 in steps of 128: one start, aligned as the least of them, stands for all"
    assert windows.count(f"# its source {said}") == windows.count(f"# its destination {said}") == 1
    assert tables.count("# one row of this gather") == 2
    assert tables.count("# one row of this scatter") == 1
    assert "stands for" not in whole + tables
    assert "one row" not in whole + windows


def _bare(plan: KernelPlan, name: str) -> object:
    return next(item.transfer for item in plan.transfers if item.name == name)


def test_axes_of_one_name_and_two_sizes_stay_apart_in_an_extracted_plan(tmp_path: Path) -> None:
    text = (
        "mod %s { axes![A = %d]; fn f(x: &HbmTensor<i8, m![1], m![A]>) { x.to_hbm::<{ Dma::Tensor }, m![A]>(c); } }\n"
    )
    (tmp_path / "x.rs").write_text(text % ("a", 8) + text % ("b", 16), encoding="utf-8")
    code, out = run("extract", str(tmp_path / "x.rs"))
    assert code == 0
    again = read_plan_text(out)
    assert dict(again.axes) == {"A": 8, "A_2": 16}
    assert [v.status for v in dv.check(again)] == [Status.PROVED, Status.PROVED]


def test_extract_writes_a_file_and_refuses_what_is_no_kernel(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    assert run("extract", str(EXAMPLES / "relayout.rs"), "--output", str(file))[0] == 0
    assert run("check", str(file))[0] == 0
    assert run("extract", str(file))[0] == 2
    (tmp_path / "x.rs").write_text("fn f() { q.to_dm(c); }", encoding="utf-8")
    assert run("extract", str(tmp_path / "x.rs"))[0] == 2


# ---------------------------------------------------------------- references and formats


def test_explain_shows_a_proved_reference_for_each_move() -> None:
    code, out = run("check", f"{EXAMPLES / 'relayout.rs'}::turn", "--explain")
    assert code == 0
    assert out.count("\nreference  turn-") == 2
    assert "cost     start-up: 500.0 cycles" in out
    assert "offsets mod 256" in out


def test_a_move_without_legal_commands_says_which_rule_refuses() -> None:
    _, out = run("check", f"{EXAMPLES / 'mistakes.rs'}::short_rows", "--explain")
    assert "none: rngd/" in out


def test_cost_and_synth_take_a_kernel() -> None:
    code, out = run("cost", f"{EXAMPLES / 'relayout.rs'}::turn-rows", "--json")
    assert code == 0
    assert json.loads(out)[0]["name"] == "turn-rows"
    code, out = run("synth", f"{EXAMPLES / 'relayout.rs'}::turn-rows", "--json")
    assert code == 0
    assert json.loads(out)[0]["cycles"] > 500


def test_every_format_holds_the_findings_of_a_kernel() -> None:
    for form in ("json", "json-lines", "sarif", "junit", "github"):
        code, out = run("check", str(EXAMPLES / "mistakes.rs"), "--format", form)
        assert code == 0
        assert "store-broadcast" in out, form


SIZED = "use crate::sizes::N;\nuse furiosa_opt_std::prelude::*;\naxes![A = 256, B = { N }];\nfn f(ctx: &mut C, x: &HbmTensor<i8, m![1], m![A, B]>) {\n    let y: DmTensor<i8, m![1], m![1 # 2], m![A], m![B]> = x.to_dm(&mut ctx.tdma);\n}\n"


@pytest.mark.parametrize(
    ("above", "told"),
    [
        ("", "proved"), ('#[path = "other/deep.rs"]', "refuted"), ('#[path = "sizes.rs"]', "proved"),
        ('#[cfg_attr(unix, path = "other/deep.rs")]', "unknown"), ('#[path = "none.rs"]', "unknown"), ('#[doc = "path"]', "proved"),
    ],
)  # fmt: skip
def test_a_module_is_the_file_that_its_path_names(tmp_path: Path, above: str, told: str) -> None:
    for name, text in {
        "Cargo.toml": '[package]\nname = "k"\n', "src/lib.rs": f"{above}\nmod sizes;\nmod kernel;\n", "src/kernel.rs": SIZED,
        "src/sizes.rs": "pub const N: usize = 64;\n", "src/other/deep.rs": "mod own;\npub use own::N;\n",
        "src/other/own.rs": "pub const N: usize = 60;\n",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert [v.status.value for v in dv.check(str(tmp_path / "src/kernel.rs"))] == [told]


def test_features_that_are_asked_for_later_are_those_of_the_next_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "Cargo.toml").write_text(
        '[lib]\nname = "k"\n[package]\nname = "k"\n[features]\nbig = []\n', encoding="utf-8"
    )
    sizes = 'mod sizes { #[cfg(feature = "big")] pub const N: usize = 64; #[cfg(not(feature = "big"))] pub const N: usize = 60; }\n'
    (tmp_path / "src/lib.rs").write_text(sizes + SIZED, encoding="utf-8")
    for features, told in (("", "refuted"), ("big", "proved"), ("", "refuted")):
        monkeypatch.setenv("DMAVERIFY_FEATURES", features)
        assert [v.status.value for v in dv.check(str(tmp_path / "src/lib.rs"))] == [told]


def test_a_file_that_may_call_a_generic_function_and_cannot_be_read_leaves_it_unknown(crate: Path) -> None:
    assert dv.check(str(crate / "src/ops/load.rs"))[0].status is Status.PROVED
    (crate / "src/ops/wide.rs").write_text("// stage" + " " * MAX_BYTES, encoding="utf-8")
    (found, other) = dv.check(str(crate / "src/ops/load.rs"))
    assert (found.status, other.status) == (Status.UNKNOWN, Status.PROVED)
    assert "wide.rs may call `stage`" in found.findings[0].message


def test_verdicts_do_not_depend_on_the_files_that_are_asked_for_besides(crate: Path) -> None:
    alone = [(v.name, v.status) for v in dv.check(str(crate / "src/ops/load.rs"))]
    dv.check(str(crate / "src/ops/mod.rs"))
    assert [(v.name, v.status) for v in dv.check(str(crate / "src/ops/load.rs"))] == alone


SHARED = (
    "use furiosa_opt_std::prelude::*;\naxes![A = 256, B = 64];\npub type T = HbmTensor<i8, m![1], m![A, B]>;\n"
    "pub type D = DmTensor<i8, m![1], m![1 # 2], m![A], m![B]>;\n"
)
AID = (
    "use furiosa_opt_std::prelude::*;\nuse crate::shared::*;\n"
    "pub fn put(ctx: &mut Context, x: &T, y: &mut T) { x.view().to_hbm_view(&mut ctx.tdma, y.view_mut()); }\n"
    "pub fn store(ctx: &mut Context, t: &D, y: &mut T) { t.view().to_hbm_view(&mut ctx.tdma, y.view_mut()); }\n"
    "pub fn empty() -> T { T::new() }\n"
)
COPIED = "let mut y = T::new(); put(ctx, x, &mut y); y"


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """A crate whose kernel has its types and its transfers in other files."""
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "apart"\n', encoding="utf-8")
    source = tmp_path / "src"
    source.mkdir()
    for name, text in {"lib": "pub mod shared;\npub mod aid;\npub mod kern;\n", "shared": SHARED, "aid": AID}.items():
        (source / f"{name}.rs").write_text(text, encoding="utf-8")
    return source


def kernel(source: Path, body: str) -> None:
    head = "use furiosa_opt_std::prelude::*;\nuse crate::{aid::*, shared::*};\n#[device(chip = 1)]\n"
    text = f"{head}pub fn k(ctx: &mut Context, x: &T, c: bool) -> T {{ {body} }}\n"
    (source / "kern.rs").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (COPIED, ""),
        ("let mut y = T::new(); if c { put(ctx, x, &mut y); } else { put(ctx, x, &mut y); } y", ""),
        ("let mut y = T::new(); if c { put(ctx, x, &mut y); } y", "core/definite"),
        ("let mut z = T::new(); let y = T::new(); put(ctx, x, &mut z); y", "core/definite"),
        ("let t = D::new(); let mut y = T::new(); store(ctx, &t, &mut y); y", "core/definite"),
        ("T::new()", "core/definite"),
        ("let y = T::new(); y", "core/definite"),
        ("empty()", "core/definite"),
    ],
)
def test_what_a_kernel_leaves_unwritten_is_told_in_its_file_wherever_its_types_and_transfers_stand(
    apart: Path, body: str, rule: str
) -> None:
    kernel(apart, body)
    for order in (["kern.rs"], ["aid.rs", "kern.rs"], ["kern.rs", "aid.rs"]):
        found = {one.name: one for name in order for one in dv.check(str(apart / name))}
        broken = [(one.path, one.line, f.rule) for one in found.values() for f in one.findings]
        assert broken == ([(str(apart / "kern.rs"), 4, rule)] if rule else []), order
        assert all(one.status is Status.PROVED for one in found.values() if Path(one.path).name == "aid.rs")
    code, out = run("check", str(apart))
    assert code == (1 if rule else 0), out
    assert ("src/kern.rs:4" in out) is bool(rule)


def test_data_memory_that_a_kernel_fills_by_calls_of_another_file_is_counted_in_its_own(apart: Path) -> None:
    wide = AID.replace("store", "keep").replace("pub fn empty() -> T { T::new() }\n", "") + (
        "axes![W = 300000];\npub type Big = HbmTensor<i8, m![1], m![A, W]>;\n"
        "pub type Wide = DmTensor<i8, m![1], m![1 # 2], m![A], m![W]>;\n"
        "pub fn load(ctx: &mut Context, x: &Big) -> Wide { x.to_dm(&mut ctx.tdma) }\n"
        "pub fn back(ctx: &mut Context, t: &Wide) -> Big { t.to_hbm(&mut ctx.tdma) }\n"
    )
    (apart / "aid.rs").write_text(wide, encoding="utf-8")
    for second, code in (("", 0), ("let v = load(ctx, x); ", 1)):
        text = f"let t = load(ctx, x); {second}let y = back(ctx, &t); {'back(ctx, &v)' if second else 'y'}"
        kernel(apart, text)
        file = apart / "kern.rs"
        file.write_text(file.read_text("utf-8").replace("x: &T, c: bool) -> T", "x: &Big) -> Big"), encoding="utf-8")
        assert [f.rule for v in dv.check(str(file)) for f in v.findings] == ["rngd/slice-capacity"] * code


def test_a_macro_of_another_file_may_write_what_it_is_given(apart: Path) -> None:
    made = "macro_rules! fill { ($c:expr, $x:expr, $y:expr) => { put($c, $x, &mut $y); } }\n"
    (apart / "aid.rs").write_text(made + AID, encoding="utf-8")
    kernel(apart, "let mut y = T::new(); fill!(ctx, x, y); y")
    assert [one.status for one in dv.check(str(apart / "kern.rs"))] == [Status.UNKNOWN]
    kernel(apart, "let mut y = T::new(); let z = T::new(); fill!(ctx, x, y); z")
    assert [one.status for one in dv.check(str(apart / "kern.rs"))] == [Status.REFUTED]
    kernel(apart, 'let y = T::new(); println!("{}", x); y')
    assert [one.status for one in dv.check(str(apart / "kern.rs"))] == [Status.REFUTED]


def test_a_file_without_kernels_and_transfers_is_not_read_beyond_its_text(apart: Path) -> None:
    (apart / "host.rs").write_text("pub fn f(x: usize) -> usize { crate::kern::g(x) }\n", encoding="utf-8")
    (apart / "kern.rs").write_bytes(b"\xff\xfe")  # cannot be read: who asked for it would say so
    assert read_kernel_plan(apart / "host.rs").sites == ()
    assert "checked nothing" in run("check", str(apart / "host.rs"))[1]


@pytest.mark.parametrize(("turns", "status"), [(4, Status.PROVED), (5, Status.REFUTED)])
@pytest.mark.parametrize("between", ["mid", "aid"])
def test_callers_of_callers_are_read_where_they_say_what_a_helper_is_given(
    apart: Path, between: str, turns: int, status: Status
) -> None:
    tile = "tile::<m![B / 16], 1, m![A, 1 # 4, B % 16]>(at)"
    put = (
        f"pub fn tile_at(ctx: &mut Context, x: &T, y: &mut T, at: usize) {{ "
        f"x.view().{tile}.to_hbm_view(&mut ctx.tdma, y.view_mut().{tile.replace('#', '#{!}')}); }}\n"
    )
    on = "pub fn on(ctx: &mut Context, x: &T, y: &mut T, at: usize) { tile_at(ctx, x, y, at); }\n"
    uses = "use furiosa_opt_std::prelude::*;\nuse crate::{aid::*, shared::*};\n"
    (apart / "aid.rs").write_text(AID + put + (on if between == "aid" else ""), encoding="utf-8")
    (apart / "mid.rs").write_text(uses + (on if between == "mid" else ""), encoding="utf-8")
    (apart / "lib.rs").write_text("pub mod shared;\npub mod aid;\npub mod mid;\npub mod kern;\n", encoding="utf-8")
    kernel(apart, f"let mut y = T::new(); for i in 0..{turns} {{ crate::{between}::on(ctx, x, &mut y, i); }} y")
    found = {one.name: (one.status, one.conditions) for one in dv.check(str(apart / "aid.rs"))}
    assert found["tile_at-to_hbm_view"] == (status, ())


@pytest.mark.parametrize("uses", ["crate::ext::Make", "crate::named::*"])
@pytest.mark.parametrize(
    ("made", "told"), [("x.to_hbm(c)", "unknown"), ("T::new()", "refuted"), ("Box::leak(x)", "unknown")]
)
def test_what_a_trait_of_another_file_gives_is_what_it_makes(apart: Path, uses: str, made: str, told: str) -> None:
    """The names of the trait stand in no file that the names of the kernel lead to."""
    ext = f"use crate::shared::*;\npub trait Make {{ fn blank() -> Self; }}\nimpl Make for T {{ fn blank() -> T {{ {made} }} }}\n"
    (apart / "ext.rs").write_text(ext, encoding="utf-8")
    (apart / "named.rs").write_text("pub use crate::ext::Make;\n", encoding="utf-8")
    every = "pub mod shared;\npub mod aid;\npub mod ext;\npub mod named;\npub mod kern;\n"
    (apart / "lib.rs").write_text(every, encoding="utf-8")
    kernel(apart, f"use {uses}; let y = T::blank(); let mut z = T::new(); put(ctx, x, &mut z); y")
    assert {one.status.value for one in dv.check(str(apart / "kern.rs"))} == {told}
    assert run("check", str(apart))[0] == {"unknown": 3, "refuted": 1}[told]


def test_a_method_of_a_library_of_the_package_may_write_what_it_is_given(apart: Path) -> None:
    """No `use` leads to the file that has the method."""
    row = "pub fn row() -> crate::ext::Row { crate::ext::Row }\n"
    (apart / "aid.rs").write_text(AID + row, encoding="utf-8")
    ext = "pub struct Row;\nimpl Row { pub fn lay(&self, y: &mut crate::shared::T) {} }\n"
    (apart / "ext.rs").write_text(ext, encoding="utf-8")
    (apart / "lib.rs").write_text("pub mod shared;\npub mod aid;\npub mod ext;\n", encoding="utf-8")
    (apart / "bin").mkdir()
    head = "use furiosa_opt_std::prelude::*;\nuse apart::{aid::*, shared::*};\n#[device(chip = 1)]\n"
    body = "let mut y = T::new(); std::hint::black_box(row()).lay(&mut y); let mut z = T::new(); put(ctx, x, &mut z); y"
    (apart / "bin/k.rs").write_text(f"{head}pub fn k(ctx: &mut Context, x: &T) -> T {{ {body} }}\n", encoding="utf-8")
    (one,) = dv.check(str(apart / "bin/k.rs"))
    assert (one.status, one.conditions) == (Status.UNKNOWN, ())
