"""What a command has no use for is refused, and what it does not judge, run or price is told: never left out."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from lab.relayout import PLAN

from dmaverify.cli.app import main

KERNEL = """func.func @k(%in: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c128 = arith.constant 128 : i64
  %ub = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %in, %ub, %c0, %c128 nburst(%c1, %c128, %c128)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  return
}
"""
STATED = "// dmaverify: gm %in = 128 bytes\n"
SHORT = "// dmaverify: gm %in = 64 bytes\n"

START = Path(__file__).resolve().parents[2] / "examples" / "start"
STARTS = {
    name: (START / start).read_text(encoding="utf-8")
    for name, start in {"i.toml": "idma.toml", "g.toml": "gather.toml", "r.rs": "rust.rs"}.items()
}


@pytest.fixture(autouse=True)
def _away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DMAVERIFY_FEATURES", "")  # what `--features` sets is gone behind the test
    monkeypatch.delenv("DMAVERIFY_FEATURES")
    for name, text in ({"p.toml": PLAN, "k.mlir": STATED + KERNEL, "short.mlir": SHORT + KERNEL} | STARTS).items():
        Path(name).write_text(text, encoding="utf-8")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as end:
        main(list(words))
    return int(end.value.code or 0), "".join(capsys.readouterr())


def told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str, *words: str
) -> tuple[int, str]:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    return run(capsys, *words)


@pytest.mark.parametrize(
    "words",
    [
        ("check", "p.toml", "--stdin"),
        ("check", "--stdin", "--strict"),
        ("check", "--stdin", "--baseline", "missing.json"),
        ("check", "--stdin", "--output", "sarif=f.sarif"),
        ("check", "--stdin", "--engine", "rw_axi"),
        ("check", "p.toml", "--json", "--format", "sarif"),
        ("cost", "p.toml", "--set", "n=5"),
        ("cost", "p.toml", "--stdin"),
        ("cost", "k.mlir", "--profile", "silicon"),
        ("cost", "k.mlir", "--simulate"),
        ("cost", "k.mlir", "--reading", "a=b"),
        ("emit", "k.mlir", "--as", "inline", "--json"),
        ("extract", "k.mlir", "--target", "rngd"),
        ("equiv", "k.mlir", "k.mlir", "--axes", "A=8"),
        ("bursts", "p.toml", "--dims", "2"),
        ("check", "p.toml", "--dims", "2"),
        ("check", "k.mlir", "--features", "fast"),
        ("check", "p.toml", "--explain"),
        ("check", "p.toml", "k.mlir", "--define", "N=3"),
        ("check", "r.rs", "--explain", "--json"),
        ("derive", "p.toml", "--explain", "--json"),
        ("cells", "--stdin", "A", "--axes", "A=8"),
        ("cells", "--stdin", "--count", "1"),
        ("bursts", "--stdin", "--engine", "rw_axi"),
        ("bursts", "--stdin", "p.toml"),
        ("synth", "--stdin", "p.toml"),
        ("synth", "--stdin", "--output", "f.sarif"),
        ("viz", "p.toml", "--output", "f.svg", "--profile", "none"),
        ("viz", "k.mlir", "--output", "f.svg", "--profile", "silicon"),
        ("trace", "k.mlir", "--output", "f.json", "--profile", "silicon"),
        ("cost", "i.toml", "--profile", "silicon"),
        ("equiv", "A", "A", "--axes", "A=8", "--tier", "hbm"),
        ("bursts", "k.mlir"),
        ("bursts", "g.toml"),
        ("emit", "r.rs", "--as", "words"),
        ("cost", "i.toml", "--formula"),
        ("cost", "g.toml", "--formula"),
    ],
)
def test_an_option_without_a_meaning_is_refused(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, *words)
    assert code == 2, said
    assert not Path("f.sarif").exists()


def test_what_stands_beside_lines_is_no_part_of_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = '{"axes": {"A": 8}, "expr": "A / 4"}\n'
    assert told(capsys, monkeypatch, line, "cells", "--stdin", "--raw")[0] == 0
    code, said = told(capsys, monkeypatch, line, "cells", "--stdin", "--axes", "A=8")
    assert code == 2
    assert "--axes beside --stdin has no meaning" in said


@pytest.mark.parametrize("command", ["cost", "conditions", "derive", "run", "synth"])
def test_a_file_of_another_kind_is_not_read_as_a_plan(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("driver.c").write_text("void f(void) {}\n", encoding="utf-8")
    code, said = run(capsys, command, "driver.c")
    assert code == 2
    assert "driver.c is no plan file" in said
    assert "TOML" not in said


def test_a_plan_may_have_any_suffix_and_its_mistakes_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.plan").write_text(PLAN, encoding="utf-8")
    assert run(capsys, "check", "p.plan")[0] == 0
    Path("p.plan").write_text(PLAN + "x = = 1\n", encoding="utf-8")
    assert "write a single `=`" in run(capsys, "check", "p.plan")[1]


def test_the_calls_of_a_rust_kernel_are_drawn_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "viz", "r.rs", "--output", "both.svg")[0] == 0
    assert Path("both.svg").read_text(encoding="utf-8").count(" cycles<") >= 2


def test_a_folder_is_called_so_where_a_shard_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    assert run(capsys, "merge", "folder") == (2, "error: folder: Is a directory\n")


def test_a_check_of_lines_needs_a_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(capsys, monkeypatch, "", "check", "--stdin")[0] == 2
    assert told(capsys, monkeypatch, json.dumps({"path": "p.toml"}), "check", "--stdin", "--locked")[0] == 0


def test_a_name_in_a_file_that_is_judged_whole_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("j.job").write_text(
        "\n".join(["5000", "0xff8", "0x20000", "0", "0", "256", "256", "0", "0", "0"]), encoding="utf-8"
    )
    for words in (("check", "j.job::nothing", "--engine", "rw_axi"), ("bursts", "j.job::nothing")):
        code, said = run(capsys, *words)
        assert code == 2
        assert "`::nothing` names nothing" in said


MIXED = PLAN + '[kernel.k]\ntarget = "pto"\nfile = "FILE.mlir"\n'


@pytest.mark.parametrize("file", ["k", "short"])
def test_a_kernel_beside_transfers_is_run_and_priced_with_them(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.toml").write_text(MIXED.replace("FILE", file), encoding="utf-8")
    code, said = run(capsys, "run", "m.toml")
    assert "\nk\n" in said
    assert code == int(file == "short")
    code, said = run(capsys, "cost", "m.toml")
    assert code == 0
    assert "::k   " in said
    assert run(capsys, "check", "m.toml", "--no-cache")[0] == int(file == "short")


@pytest.mark.parametrize(("expect", "code"), [("proved", 1), ("core/in-bounds", 0), ("core/overlap", 1)])
def test_a_run_of_a_kernel_is_held_against_what_its_text_expects(
    expect: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("e.mlir").write_text(f"// dmaverify: expect {expect}\n{SHORT}{KERNEL}", encoding="utf-8")
    assert run(capsys, "run", "e.mlir")[0] == code


WRONG = PLAN.replace("B=4:256", "B=4:255")
SAID = 'expect = ["core/same-element", "core/covers"]\n'


@pytest.mark.parametrize(
    ("plan", "expect", "code"),
    [
        (WRONG, "", 1),
        (WRONG, 'expect = ["core/same-element"]\n', 0),
        (WRONG, 'expect = ["rngd/packet-max"]\n', 1),
        (PLAN, 'expect = ["core/same-element"]\n', 1),
        (PLAN, 'expect = ["rngd/dm-write-align"]\n', 0),
    ],
)
def test_a_run_of_a_move_breaks_what_is_expected_and_nothing_else(
    plan: str, expect: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("w.toml").write_text(plan + expect, encoding="utf-8")
    assert run(capsys, "run", "w.toml")[0] == code


def test_what_was_excused_leaves_no_pass_where_nothing_else_was_judged(capsys: pytest.CaptureFixture[str]) -> None:
    Path("l.toml").write_text(
        PLAN.replace('"A, B, C"', '"A, D"').replace("[transfer", "# dmaverify: allow(core/well-formed) old\n[transfer"),
        encoding="utf-8",
    )
    code, said = run(capsys, "check", "l.toml", "--no-cache")
    assert code == 3
    assert "nothing that was judged decides it" in said


def test_a_baseline_of_what_cannot_be_read_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", "p.toml", "--write-baseline", "b.json")[0] == 0
    Path("bad.toml").write_text("schema = 1\n[transfer.t]\n", encoding="utf-8")
    assert run(capsys, "check", "bad.toml", "--write-baseline", "b.json")[0] == 2


@pytest.mark.slow
def test_the_number_of_an_open_condition_is_that_of_its_guard(capsys: pytest.CaptureFixture[str]) -> None:
    text = PLAN.replace("A = 8\n", "A = { min = 1, max = 4096 }\n").replace("[A=8", "[A")
    Path("s.toml").write_text(text, encoding="utf-8")
    assert run(capsys, "conditions", "s.toml")[0] == run(capsys, "conditions", "s.toml", "--guards", "c")[0]


def test_words_with_another_padding_are_other_words(capsys: pytest.CaptureFixture[str]) -> None:
    padded = KERNEL.replace("nburst(%c1, %c128, %c128)", "nburst(%c1, %c128, %c128) pad(%z, %c0, %c0)").replace(
        "i64, i64, i64, i64, i64\n", "i64, i64, i64, i64, i64, pad f32, i64, i64\n"
    )
    Path("z.mlir").write_text(padded.replace("  %c1 =", "  %z = arith.constant 0.0 : f32\n  %c1 ="), encoding="utf-8")
    code, said = run(capsys, "emit", "z.mlir", "--as", "words", "--json")
    assert code == 0
    words = json.loads(said)
    Path("w.json").write_text(said, encoding="utf-8")
    assert run(capsys, "equiv", "z.mlir", "w.json")[0] == 0
    words[0]["pad"] = {"value": 1234567}
    Path("w.json").write_text(json.dumps(words), encoding="utf-8")
    assert run(capsys, "equiv", "z.mlir", "w.json")[0] == 1
    words[0]["padding"] = words[0].pop("pad")
    Path("w.json").write_text(json.dumps(words), encoding="utf-8")
    assert run(capsys, "equiv", "z.mlir", "w.json")[0] == 2


@pytest.mark.parametrize(
    ("plan", "words", "code", "said"),
    [
        (WRONG, ("--select", "core/*", "--ignore", "core/*"), 3, "core/* (it is ignored as well)"),
        (WRONG, ("--select", "core/covers", "--ignore", "core/*"), 3, "core/covers (it is ignored as well)"),
        (
            WRONG,
            ("--select", "core/*", "--ignore", "core/same-element", "--ignore", "core/covers"),
            0,
            "PROVED of core/* only, but for core/same-element  ",
        ),
        (WRONG, ("--select", "core/*", "--ignore", "core/covers"), 1, "error[core/same-element]"),
        (WRONG, ("--select", "core/in-bounds", "--ignore", "core/covers"), 0, "PROVED of core/in-bounds only  "),
        (PLAN, ("--select", "core/*", "--ignore", "core/covers"), 0, "PROVED of core/* only  "),
    ],
)
def test_what_is_selected_and_ignored_is_not_proved(
    plan: str, words: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("i.toml").write_text(plan, encoding="utf-8")
    found, text = run(capsys, "check", "i.toml", "-v", *words)
    assert (found, said in text) == (code, True), text


LIBRARY = """schema = 1
target = "rngd"
axes = { A = 64, B = 2, C = 24 }
[transfer.m]
dtype = "i8"
source = { tier = "dm", slice = "A", element = "B, C" }
dest = { tier = "dm", base = 65536, slice = "A # 128", element = "B, C" }
stream = { time = "A, B", packet = "C" }
"""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--select", "rngd/std-places"), 3, "rngd/std-places is off under the readings in force"),
        (("--select", "rngd/std-*"), 3, "are off under the readings in force"),
        (("--select", "rngd/std-places", "--reading", "alignment=std"), 1, "error[rngd/std-places]"),
        (("--select", "rngd/std-tail", "--reading", "alignment=std"), 0, "PROVED of rngd/std-tail only"),
        (("--select", "rngd/*"), 0, "PROVED of rngd/* only"),
    ],
)
def test_a_rule_that_is_off_is_not_proved_where_it_is_selected(
    words: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("o.toml").write_text(LIBRARY, encoding="utf-8")
    found, text = run(capsys, "check", "o.toml", "-v", *words)
    assert (found, said in " ".join(text.split())) == (code, True), text


LOAD = """use furiosa_opt_std::prelude::*;
axes![A = 256, B = 64];
fn same(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let y: DmTensor<i8, m![1], m![1 # 2], m![A], m![B]> = x.to_dm(&mut ctx.tdma);
}
"""
INLINE = """"schema" = 1
target = "rngd"
axes = { A = 8, C = 8 }
transfer.t = { dtype = "i8", source = { tier = "hbm", element = "A, C" }, dest = { tier = "dm", element = "A, C" } }
"""
BY_MACRO = "macro_rules! by { ($x:ident, $m:ident, $c:expr) => { $x.$m($c) } }\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rs", LOAD),
        ("a.rs", LOAD.replace("x.to_dm", "x . to_dm")),
        ("a.rs", LOAD.replace("x.to_dm", "x.\n        // a comment\n        to_dm")),
        ("a.rs", LOAD.replace("x.to_dm", "x.r#to_dm")),
        ("a.rs", BY_MACRO + LOAD.replace("x.to_dm(&", "by!(x, to_dm, &")),
        ("a.toml", INLINE),
        ("a.toml", INLINE.replace('"schema"', "'schema'")),
        ("a.toml", "\ufeff" + INLINE.replace('"', "", 2)),
        ("a.toml", "# a comment\r" + INLINE.replace('"', "", 2).replace("\n", "\r")),
        ("a.c", "void f(char *a, char *b) { snrt_dma_start_1d (a, b, 8); }"),
    ],
)
def test_a_folder_leaves_no_file_that_is_judged_by_its_name(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / name).write_bytes(text.encode())
    (tmp_path / "d" / "p.toml").write_text(PLAN, encoding="utf-8")
    words = ("check", "-v", "--no-execute", "--engine", "rw_axi") if name == "a.c" else ("check", "-v", "--no-execute")
    alone = run(capsys, *words, f"d/{name}")
    assert "has no transfer" not in alone[1]
    code, said = run(capsys, *words, "d")
    assert (code, name in said) == (alone[0], True), said


def test_a_folder_leaves_files_that_name_no_transfer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d").mkdir()
    for name, text in {"a.rs": "fn to_dmx() {}", "a.toml": "my_schema = 1\n", "p.toml": PLAN}.items():
        (tmp_path / "d" / name).write_text(text, encoding="utf-8")
    code, said = run(capsys, "check", "d", "--show-files")
    assert (code, said.count("left out: ")) == (0, 2), said


@pytest.mark.parametrize("text", ["", "fn main() {", "fn main() { let to_dm = 1; }"])
def test_a_kernel_without_transfers_derives_nothing_and_says_so(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("none.rs").write_text(text, encoding="utf-8")
    code, said = run(capsys, "derive", "none.rs")
    assert (code, "none.rs has no transfer to derive" in said) == (2, True), said


def test_what_no_simulator_plays_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for file, left in (("p.toml", ""), ("i.toml", "not simulated: tile ("), ("g.toml", "not simulated: embedding (")):
        code, said = run(capsys, "cost", file, "--simulate")
        assert code == 0
        assert left in said
        assert ("not simulated" in said) is bool(left)
        assert "not simulated" not in run(capsys, "cost", file)[1]
