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
