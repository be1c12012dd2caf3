"""The pytest plugin: plan files as tests, and asserts for tests in Python."""

import contextlib
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.plan_text import HALF_WRITTEN

import dmaverify
from dmaverify.api import load
from dmaverify.jobs import retold
from dmaverify.jobs.plan_copies import emitted_copies
from dmaverify.language.parse import parse
from dmaverify.prove.options import Options
from dmaverify.testing.plugin import Asserts, PlanFailed, assert_equivalent, assert_plan, assert_same

ROOT = Path(dmaverify.__file__).parents[1]
PLAN = """\
schema = 1
target = "toy"
[axes]
A = 8
B = 4
C = 32
[transfer.good]
dtype = "i8"
source = { tier = "gm", base = 0, element = "B, A, C" }
dest = { tier = "ub", base = 0, element = "A, B, C" }
read = "[A=8:32, B=4:256, C=32:1]:32"
write = "[A=8:128, B=4:32, C=32:1]:32"
"""
BAD = PLAN.replace("good", "bad").replace("B=4:256", "B=4:255")
BOTH = PLAN + BAD[BAD.index("[transfer") :]


def pytest_run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """A session of its own in a folder, in this process: nothing but the plugin and what pytest brings.

    `unraisableexception` is left out: at the end of a session it collects garbage, here that of the outer session.
    """
    out, before, path = io.StringIO(), dict(sys.modules), list(sys.path)
    words = ["-q", "-p", "dmaverify.testing.plugin", "-p", "no:cacheprovider", "-p", "no:unraisableexception"]
    words += arguments
    with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(out):
        patched.chdir(folder)
        patched.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        code = pytest.main(words)
    sys.path[:] = path
    for name in set(sys.modules) - set(before):
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]
    return subprocess.CompletedProcess(words, int(code), out.getvalue(), "")


def process_run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "dmaverify.testing.plugin", "-p", "no:cacheprovider", *arguments],
        capture_output=True, text=True, cwd=folder, check=False,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip


# ---------------------------------------------------------------- collected files


def test_every_transfer_of_a_plan_file_is_a_test_that_fails_with_the_report(tmp_path: Path) -> None:
    (tmp_path / "row.dma.toml").write_text(BOTH)
    (tmp_path / "other.toml").write_text(BAD)
    done = process_run(tmp_path)
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "FAILED row.dma.toml::bad" in done.stdout
    assert "error[core/" in done.stdout
    assert "REFUTED bad" in done.stdout
    assert "Traceback" not in done.stdout
    assert "other.toml" not in done.stdout


def test_one_transfer_is_chosen_as_any_test_is(tmp_path: Path) -> None:
    (tmp_path / "row.dma.toml").write_text(BOTH)
    assert pytest_run(tmp_path, "row.dma.toml::good").returncode == 0
    assert pytest_run(tmp_path, "row.dma.toml::bad").returncode == 1
    assert "1 deselected" in pytest_run(tmp_path, "-k", "good").stdout


def test_a_file_that_cannot_be_read_fails_at_its_place_and_the_others_run(tmp_path: Path) -> None:
    (tmp_path / "row.dma.toml").write_text(PLAN.replace("A = 8\n", "A = \n"))
    (tmp_path / "void.dma.toml").write_text(PLAN[: PLAN.index("[transfer")])
    (tmp_path / "whole.dma.toml").write_text(PLAN)
    done = pytest_run(tmp_path)
    assert done.returncode == 1
    assert "2 failed, 1 passed" in done.stdout
    assert "void.dma.toml has nothing to check" in done.stdout
    assert "row.dma.toml:4" in done.stdout
    assert "Traceback" not in done.stdout


def test_the_target_of_the_command_line_judges(tmp_path: Path) -> None:
    (tmp_path / "row.dma.toml").write_text(PLAN)
    assert pytest_run(tmp_path).returncode == 0
    done = process_run(tmp_path, "--dmaverify-target", "nowhere")
    told = done.stdout + done.stderr
    assert done.returncode == 4
    assert "--dmaverify-target: no target 'nowhere'; known: " in told


@pytest.mark.parametrize("kind", [".dma.toml", ".csv"])
def test_settings_of_the_project_judge_as_they_do_in_check(tmp_path: Path, kind: str) -> None:
    (tmp_path / f"row{kind}").write_text(HALF_WRITTEN if kind == ".dma.toml" else "kind\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\ndmaverify_files = *.dma.toml *.csv\n")
    before = pytest_run(tmp_path).returncode
    (tmp_path / "dmaverify.toml").write_text('[reading]\n"core/consumes" = "strict"\n')
    strict = pytest_run(tmp_path)
    assert (before, strict.returncode) == ((0, 1) if kind == ".dma.toml" else (1, 1))
    (tmp_path / "dmaverify.toml").write_text('[reading]\n"core/consumes" = 3\n')
    broken = pytest_run(tmp_path)
    assert broken.returncode == 2
    assert "dmaverify.toml:2" in broken.stdout


@pytest.mark.parametrize(("pattern", "code"), [("row*", 1), ("other*", 0)])
def test_what_settings_expect_of_a_file_is_expected_of_its_tests(pattern: str, code: int, tmp_path: Path) -> None:
    """As by `check`: a plan that is proved and should not be is red, and one that fails as it should is green."""
    (tmp_path / "row.dma.toml").write_text(PLAN)
    assert pytest_run(tmp_path).returncode == 0
    settings = tmp_path / "dmaverify.toml"
    settings.write_text(f'per-path-expect = {{ "{pattern}" = ["core/covers"] }}\n')
    done = pytest_run(tmp_path)
    assert (done.returncode, "expects core/covers, got proved" in done.stdout) == (code, bool(code))


def test_the_fixture_gives_both_asserts(tmp_path: Path) -> None:
    (tmp_path / "row.toml").write_text(PLAN)
    (tmp_path / "test_it.py").write_text(
        "def test_plan(dmaverify):\n    dmaverify.assert_plan('row.toml')\n"
        "def test_same(dmaverify):\n    dmaverify.assert_equivalent('A / 2, A % 2', 'A', {'A': 8})\n"
        "def test_other(dmaverify):\n    dmaverify.assert_equivalent('A, B', 'B, A', {'A': 8, 'B': 2})\n"
    )
    done = pytest_run(tmp_path)
    assert "1 failed, 2 passed" in done.stdout
    assert "position" in done.stdout
    assert "plugin.py:" not in done.stdout


def test_the_plugin_costs_others_no_import() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import dmaverify.testing.plugin;"
        "print(sorted(m if m.startswith('dmaverify') else m.split('.')[0] for m in set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = set(ast_list(done.stdout))
    assert {m for m in loaded if m.startswith("dmaverify")} <= {
        "dmaverify",
        "dmaverify.testing",
        "dmaverify.testing.plugin",
    }
    assert not loaded & {"z3", "numpy", "msgspec", "tree_sitter", "hypothesis", "click", "sympy"}


def ast_list(text: str) -> list[str]:
    import ast

    found = ast.literal_eval(text)
    assert isinstance(found, list)
    return found


def test_the_entry_point_names_the_plugin() -> None:
    import tomllib

    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert points["pytest11"] == {"dmaverify": "dmaverify.testing.plugin"}


# ---------------------------------------------------------------- asserts


def test_assert_plan_takes_paths_texts_and_names_and_returns_the_verdicts(tmp_path: Path) -> None:
    file = tmp_path / "row.toml"
    file.write_text(BOTH)
    assert [v.name for v in assert_plan(f"{file}::good")] == ["good"]
    assert [v.name for v in assert_plan(file, "good")] == ["good"]
    assert [v.status.value for v in assert_plan(PLAN)] == ["proved"]
    with pytest.raises(PlanFailed, match="REFUTED bad"):
        assert_plan(file)


def test_assert_plan_holds_a_plan_to_what_it_expects() -> None:
    found = assert_plan_fails(BAD)
    rules = sorted({line.split("[")[1].split("]")[0] for line in found.splitlines() if line.startswith("error[")})
    expected = ", ".join(f'"{rule}"' for rule in rules)
    assert assert_plan(BAD + f"expect = [{expected}]\n")[0].status.value == "refuted"
    assert "bad" in assert_plan_fails(BAD + 'expect = ["toy/align"]\n')
    assert "good" in assert_plan_fails(PLAN + 'expect = ["core/covers"]\n')


def assert_plan_fails(text: str) -> str:
    with pytest.raises(PlanFailed) as raised:
        assert_plan(text)
    return str(raised.value)


def test_assert_plan_fails_on_what_cannot_be_read_or_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "A = x" in assert_plan_fails(PLAN.replace("A = 8", "A = x"))
    with pytest.raises(PlanFailed, match=r"absent\.toml"):
        assert_plan(tmp_path / "absent.toml")
    with pytest.raises(PlanFailed, match=r"no transfer.* `other`"):
        assert_plan(PLAN, "other")


def test_an_unknown_verdict_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from dmaverify.jobs import verdicts
    from dmaverify.verdict import Status

    real: Callable[..., list[dmaverify.Verdict]] = verdicts.verdicts_of
    monkeypatch.setattr(verdicts, "verdicts_of", lambda *a: [replace(v, status=Status.UNKNOWN) for v in real(*a)])
    assert "UNKNOWN" in assert_plan_fails(PLAN)


def test_assert_equivalent_takes_texts_and_trees() -> None:
    axes = {"A": 8, "B": 3}
    assert assert_equivalent("A / 2, A % 2, B", "A, B", axes).status == "proved"
    assert assert_equivalent(parse("A, B", axes), "A, B", axes).status == "proved"
    assert Asserts.assert_equivalent is assert_equivalent
    with pytest.raises(PlanFailed, match="do not mean the same"):
        assert_equivalent("A, B", "B, A", axes)


def test_assert_same_takes_names_and_texts_and_fails_with_the_first_place() -> None:
    file = "examples/equal.toml"
    assert assert_same(f"{file}::whole", f"{file}::by-rows", tiers=["hbm"]).status == "proved"
    assert assert_same(f"{file}::in", f"{file}::in").kind == "plans"
    with pytest.raises(PlanFailed, match="at hbm, byte 1048640 the first leaves what lay at hbm, byte 512"):
        assert_same(f"{file}::whole", f"{file}::by-rows-turned", tiers=["hbm"])
    with pytest.raises(PlanFailed, match="names no single one of its transfers"):
        assert_same(file, f"{file}::whole")
    with pytest.raises(PlanFailed, match="tiers are for two programs"):
        assert_same(f"{file}::in", f"{file}::in", tiers=["hbm"])
    text = Path(file).read_text().split("[program.whole]")[0].split("[transfer.out]")[0]
    assert assert_same(text, f"{file}::in").status == "proved"
    assert Asserts.assert_same is assert_same


def test_assert_same_takes_kernels_and_a_plan_with_a_kernel(tmp_path: Path) -> None:
    folder = Path(__file__).resolve().parents[2] / "examples" / "pto"
    kernels = [f"{folder}/blocks.{form}.mlir" for form in ("registers", "inline")]
    assert assert_same(*kernels).status == "proved"
    with pytest.raises(PlanFailed, match=r"^REFUTED"):
        assert_same(f"{folder}/ping-pong.mlir", f"{folder}/one-buffer.mlir")
    file = tmp_path / "bring.mlir"
    file.write_text(emitted_copies(load(f"{folder}/tiles.toml::bring"), "bring", "inline"))
    assert assert_same(f"{folder}/tiles.toml::bring", file).status == "proved"
    with pytest.raises(PlanFailed, match=r"UNKNOWN|REFUTED"):
        assert_same(f"{folder}/tiles.toml::halo", file)
    for other, said in (("tiles.toml", "names no single one"), ("../sizes/pto.toml::copy", "has symbols")):
        with pytest.raises(PlanFailed, match=said):
            assert_same(file, f"{folder}/{other}")


def test_assert_equivalent_fails_on_what_has_no_meaning_and_no_answer() -> None:
    with pytest.raises(PlanFailed, match="3 does not divide 8"):
        assert_equivalent("A / 3", "A", {"A": 8})
    with pytest.raises(PlanFailed, match=r"\^"):
        assert_equivalent("A /", "A", {"A": 8})
    for first, axes in ((5, {"A": 8}), ("A", None), ("A", {"A": "x"})):
        with pytest.raises(PlanFailed, match="is not"):
            assert_equivalent(first, "A", axes)  # type: ignore[arg-type]
    with pytest.raises(PlanFailed, match="no answer"):
        assert_equivalent("$(A:1, B:1)", "$(B:1, A:1)", {"A": 1 << 21, "B": 3})


# ---------------------------------------------------------------- sections, playback, other names


def test_a_failing_assert_shows_the_diagnostic_in_a_section_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "row.toml").write_text(BAD)
    (tmp_path / "test_it.py").write_text("def test_plan(dmaverify):\n    dmaverify.assert_plan('row.toml')\n")
    done = pytest_run(tmp_path)
    assert done.returncode == 1
    assert "- dmaverify -" in done.stdout
    assert "E   " not in done.stdout.split("- dmaverify -")[1].split("short test summary")[0]
    assert "PlanFailed: `bad` is refuted" in done.stdout
    assert "\nerror[core/" in done.stdout


def test_playback_turns_a_refutation_into_a_test_that_fails_until_it_is_mended(tmp_path: Path) -> None:
    (tmp_path / "row.dma.toml").write_text(BAD)
    assert pytest_run(tmp_path, "--dmaverify-playback", "test_replay.py").returncode == 1
    replay = pytest_run(tmp_path, "test_replay.py")
    assert replay.returncode == 1
    assert "BrokenPromise" in replay.stdout
    (tmp_path / "row.dma.toml").write_text(PLAN.replace("good", "bad"))
    assert pytest_run(tmp_path, "test_replay.py").returncode == 0


def test_other_names_are_collected_when_the_ini_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans/row.toml").write_text(PLAN)
    (tmp_path / "pytest.ini").write_text("[pytest]\ndmaverify_files = plans/*.toml\n")
    done = pytest_run(tmp_path)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True)


def test_a_program_is_a_test_and_a_suppression_holds_in_tests(tmp_path: Path) -> None:
    text = (ROOT / "examples/programs/cumulative.toml").read_text()
    (tmp_path / "layer.dma.toml").write_text(text)
    allowed = "".join(f"# dmaverify: allow(core/{rule}) known\n" for rule in ("same-element", "in-bounds", "covers"))
    (tmp_path / "row.dma.toml").write_text(BAD.replace("[transfer.bad]", allowed + "[transfer.bad]"))
    done = pytest_run(tmp_path)
    assert done.returncode == 0, done.stdout
    programs = len(dmaverify.load(tmp_path / "layer.dma.toml").programs)
    assert programs > 0
    assert f"{len(dmaverify.load(tmp_path / 'layer.dma.toml').names) + 1} passed" in done.stdout


def test_kernels_are_collected_when_the_ini_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    text = (ROOT / "examples/rust/mistakes.rs").read_text()
    (tmp_path / "src/mistakes.rs").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\ndmaverify_files = src/*.rs\n")
    verdicts = dmaverify.check(tmp_path / "src/mistakes.rs")
    done = pytest_run(tmp_path)
    assert (done.returncode, f"{len(verdicts)} passed" in done.stdout) == (0, True), done.stdout
    bare = "\n".join(line for line in text.splitlines() if "dmaverify:" not in line) + "\n"
    (tmp_path / "src/mistakes.rs").write_text(bare)
    wrong = [v for v in dmaverify.check(tmp_path / "src/mistakes.rs") if not v.as_expected]
    done = pytest_run(tmp_path)
    assert wrong
    assert f"{len(wrong)} failed" in done.stdout
    assert f"src/mistakes.rs::{wrong[0].name}" in done.stdout
    with pytest.raises(PlanFailed, match=r"error\["):
        assert_plan(tmp_path / "src/mistakes.rs")


# ---------------------------------------------------------------- programs, gathers

PROGRAM = PLAN + (
    '[program.both]\n[[program.both.step]]\ntransfer = "good"\ncontext = "x"\n[[program.both.step]]\nname = "again"\n'
    'transfer = "good"\ncontext = "y"\n'
)


def test_a_program_of_a_plan_file_is_a_test_as_well(tmp_path: Path) -> None:
    (tmp_path / "row.dma.toml").write_text(PROGRAM)
    done = pytest_run(tmp_path)
    assert "1 failed, 1 passed" in done.stdout
    assert "FAILED row.dma.toml::both" in done.stdout
    assert "error[core/hazard-waw]" in done.stdout
    (tmp_path / "row.dma.toml").write_text(PROGRAM.replace('context = "y"', 'context = "x"'))
    assert pytest_run(tmp_path).returncode == 0


def test_assert_plan_judges_programs() -> None:
    with pytest.raises(PlanFailed, match="core/hazard-waw"):
        assert_plan(PROGRAM)
    ordered = PROGRAM.replace('context = "y"', 'context = "x"')
    assert [verdict.name for verdict in assert_plan(ordered)] == ["good", "both"]


KERNEL = '''
[kernel.copy]
target = "pto"
gm = { in = "64 bytes" }
text = """
func.func @k(%in: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c128 = arith.constant 128 : i64
  %ub = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %in, %ub, %c0, %c128 nburst(%c1, %c128, %c128)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  return
}
"""
'''


def test_kernels_and_plans_for_all_sizes_are_tests_too(tmp_path: Path) -> None:
    (tmp_path / "k.dma.toml").write_text(PLAN + KERNEL, encoding="utf-8")
    (tmp_path / "s.dma.toml").write_text(BAD.replace("A = 8", "A = { min = 1, max = 64 }"), encoding="utf-8")
    found = pytest_run(tmp_path, "k.dma.toml")
    assert found.returncode == 1
    assert "1 failed, 1 passed" in found.stdout
    assert "core/in-bounds" in found.stdout
    found = pytest_run(tmp_path, "s.dma.toml")
    assert found.returncode == 1
    assert "1 failed" in found.stdout


KINDS = {"tile.mlir": "examples/start/pto.mlir", "driver.c": "examples/idma/driver.c"}


@pytest.mark.parametrize("name", KINDS)
def test_a_kernel_of_another_machine_is_a_test_and_an_assert(name: str, tmp_path: Path) -> None:
    text = (ROOT / KINDS[name]).read_text()
    (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\ndmaverify_files = *.mlir *.c\n")
    assert "1 passed" in pytest_run(tmp_path).stdout
    assert {verdict.status.value for verdict in assert_plan(tmp_path / name)} == {"proved"}
    (tmp_path / name).write_text(text.replace("%c128_i64      // UB", "%c1_i64      // UB").replace("ROWS 16", "ROWS 0")
                                 .replace("TILE 4096", "TILE 0"))  # fmt: skip
    done = pytest_run(tmp_path)
    assert "1 failed" in done.stdout
    assert "error[" in done.stdout
    with pytest.raises(PlanFailed, match=r"error\["):
        assert_plan(str(tmp_path / name))


def test_a_file_of_an_engine_that_cannot_be_read_is_told_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "list.job").write_text("0x10\n")
    with pytest.raises(PlanFailed) as found:
        assert_plan(tmp_path / "list.job")
    assert "TOML" not in str(found.value)
    (verdict,) = dmaverify.check(tmp_path / "list.job")
    assert verdict.status is dmaverify.Status.ERROR


def test_a_proof_that_a_run_contradicts_is_no_pass_in_any_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "row.dma.toml").write_text(PLAN)
    monkeypatch.setattr(retold.Retold, "broken", lambda self: frozenset({"core/same-element is broken: planted"}))
    done = pytest_run(tmp_path)
    assert (done.returncode, "core/disagreement" in done.stdout) == (1, True)
    assert "core/disagreement" in assert_plan_fails(PLAN)
    for options in (None, Options(), Options(readings={})):
        (verdict,) = dmaverify.check(PLAN, options=options)
        assert [one.rule for one in verdict.findings] == ["core/disagreement"]
    (verdict,) = dmaverify.check(PLAN, options=Options(cross_check=0))
    assert (verdict.status.value, verdict.confirmed) == ("proved", "")
    monkeypatch.undo()
    assert [one.confirmed for one in dmaverify.check(PLAN)] == ["a run: numpy agrees on all 1,024 units"]


def test_an_entry_that_cannot_be_read_is_a_test_that_fails_beside_the_others(tmp_path: Path) -> None:
    (tmp_path / "row.dma.toml").write_text(BOTH.replace('[transfer.bad]\ndtype = "i8"', '[transfer.bad]\ndtype = "i7"'))
    done = pytest_run(tmp_path)
    assert "1 failed, 1 passed" in done.stdout
    assert "toy has no type `i7`" in done.stdout
    assert "FAILED row.dma.toml::bad" in done.stdout


def test_playback_has_what_every_process_of_xdist_found_refuted(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.dma.toml").write_text(BOTH)
    texts = []
    for words in ((), ("-p", "xdist.plugin", "-n", "2")):
        done = process_run(tmp_path, *words, "--dmaverify-playback", "replay.py")
        assert (done.returncode, "2 failed, 2 passed" in done.stdout) == (1, True), done.stdout + done.stderr
        texts.append((tmp_path / "replay.py").read_text(encoding="utf-8"))
    assert texts[0].count("def test_") == 2
    assert texts[0] == texts[1]
