"""Playback: every refuted transfer becomes a test that fails with its counterexample until the plan is mended."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.errors import InputError
from dmaverify.testing.playback import BrokenPromise, playback_text, replay
from dmaverify.verdict import Verdict

HEAD = """\
schema = 1
target = "toy"
[axes]
A = 8
B = 4
C = 32
N = 256
M = 256
"""
SMALL = """\
[transfer.small]
dtype = "i8"
source = { tier = "gm", base = 0, element = "B, A, C" }
dest = { tier = "ub", base = 0, element = "A, B, C" }
read = "[A=8:32, B=4:256, C=32:1]:32"
write = "[A=8:128, B=4:32, C=32:1]:32"
"""
LARGE = """\
[transfer.large]
dtype = "i8"
source = { tier = "gm", base = 0, element = "M, B, A, N" }
dest = { tier = "gm", base = 16777216, element = "M, A, B, N" }
read = "[M=256:8192, A=8:256, B=4:2048, N=256:1]:128"
write = "[M=256:8192, A=8:1024, B=4:256, N=256:1]:128"
"""
RULE = SMALL.replace("small", "rule").replace('base = 0, element = "A, B, C"', 'base = 16, element = "A, B, C"')
MISTAKES = {
    "stride": (("B=4:32", "B=4:31"),),
    "gap": (("B=4:256", "B=3:256"), ("B=4:32", "B=3:32")),
    "bounds": (("B=4:256, C=32", "B=4:512, C=32"),),
    "twice": (("A=8:128", "A=8:0"),),
}
LARGE_MISTAKES = {
    "stride": (("B=4:256, N", "B=4:257, N"),),
    "gap": (("A=8:256", "A=7:256"), ("A=8:1024", "A=7:1024")),
    "bounds": (('read = "[M=256:8192', 'read = "[M=256:16384'),),
    "twice": (('write = "[M=256:8192', 'write = "[M=256:0'),),
}


def mistaken(text: str, mistake: str) -> str:
    for old, new in (LARGE_MISTAKES if text is LARGE else MISTAKES)[mistake]:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(text: str, name: str = "row.toml") -> list[Verdict]:
    Path(name).write_text(HEAD + text)
    return api.check(name)


def functions(text: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def played(text: str) -> None:
    """Runs every test of a playback file."""
    space: dict[str, object] = {}
    exec(compile(text, "playback", "exec"), space)
    for name in functions(text):
        space[name]()  # type: ignore[operator]


def test_a_refuted_transfer_becomes_one_test_and_a_proved_one_none(folder: Path) -> None:
    broken = mistaken(SMALL, "stride")
    text = playback_text(checked(broken + SMALL.replace("small", "fine")))
    assert list(functions(text)) == ["test_row_small"]
    assert "core/same-element" in (ast.get_docstring(functions(text)["test_row_small"]) or "")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_test_fails_with_the_counterexample_and_passes_once_the_plan_is_mended(folder: Path, mistake: str) -> None:
    broken = mistaken(SMALL, mistake)
    assert broken != SMALL
    text = playback_text(checked(broken))
    with pytest.raises(BrokenPromise, match=r"row\.toml::small[\s\S]*core/"):
        played(text)
    Path("row.toml").write_text(HEAD + SMALL)
    played(text)


@pytest.mark.parametrize("mistake", LARGE_MISTAKES)
def test_a_plan_too_large_to_run_is_replayed_by_its_witness_and_by_proof(folder: Path, mistake: str) -> None:
    broken = mistaken(LARGE, mistake)
    assert broken != LARGE
    text = playback_text(checked(broken)).replace("    )\n", "        limit_units=1024,\n    )\n")
    assert "limit_units" in text
    with pytest.raises(BrokenPromise, match=r"core/\S+ at .*(element|outside|written)"):
        played(text)
    Path("row.toml").write_text(HEAD + LARGE)
    played(text)


def test_a_witness_that_was_mended_elsewhere_does_not_hide_another_mistake(folder: Path) -> None:
    text = playback_text(checked(mistaken(LARGE, "stride")))
    large = text.replace("    )\n", "        limit_units=1024,\n    )\n")
    Path("row.toml").write_text(HEAD + LARGE.replace("A=8:1024", "A=8:1025"))
    with pytest.raises(BrokenPromise):
        played(large)


def test_a_broken_rule_of_the_machine_is_judged_again(folder: Path) -> None:
    verdicts = checked(RULE)
    assert [f.rule for f in verdicts[0].errors] == ["toy/align"]
    text = playback_text(verdicts)
    with pytest.raises(BrokenPromise, match=r"error\[toy/align\]"):
        played(text)
    Path("row.toml").write_text(HEAD + RULE.replace("base = 16", "base = 32"))
    played(text)


def test_a_plan_without_meaning_is_judged_again(folder: Path) -> None:
    text = playback_text(checked(SMALL.replace('"A, B, C"', '"A / 3, A % 3, B, C"')))
    with pytest.raises(BrokenPromise, match="core/well-formed"):
        played(text)


def test_the_text_is_the_same_whatever_the_order_and_names_never_meet(folder: Path) -> None:
    broken = mistaken(SMALL, "stride")
    verdicts = checked(broken) + checked(broken, "ROW.toml") + checked(broken.replace("small", "Small"), "row.dma.toml")
    text = playback_text(verdicts)
    assert text == playback_text(list(reversed(verdicts)))
    assert sorted(functions(text)) == ["test_row_small", "test_row_small_2", "test_row_small_3"]


def test_no_name_and_no_message_of_a_plan_can_end_its_string(folder: Path) -> None:
    name = 'it\'s """ odd\\.toml'
    text = playback_text(checked(mistaken(SMALL, "stride"), name))
    (function,) = functions(text).values()
    call = function.body[-1]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    assert ast.literal_eval(call.value.args[0]) == name


def test_nothing_refuted_is_said_and_a_plan_without_a_file_is_refused(folder: Path) -> None:
    assert "refuted nothing" in playback_text(checked(SMALL))
    assert functions(playback_text([])) == {}
    with pytest.raises(InputError, match="not read from a file"):
        playback_text(api.check(HEAD + mistaken(SMALL, "stride")))


def test_a_reading_that_was_chosen_is_kept(folder: Path) -> None:
    from dmaverify.prove.move.check import Options

    part = SMALL.replace("B=4:256", "B=2:256").replace("B=4:32", "B=2:32").replace('"A, B, C"', '"A, B % 2, C"')
    part = part.replace("A=8:128", "A=8:64")
    Path("row.toml").write_text(HEAD + part)
    assert playback_text(api.check("row.toml")).count("replay(") == 0
    text = playback_text(api.check("row.toml", options=Options({"core/consumes": "strict"})))
    with pytest.raises(BrokenPromise, match="core/consumes"):
        played(text)


def test_the_file_runs_under_pytest_and_shows_only_the_test(folder: Path) -> None:
    Path("test_it.py").write_text(playback_text(checked(mistaken(SMALL, "stride"))))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"], capture_output=True, text=True,
        cwd=folder, env={"PYTHONPATH": str(Path(api.__file__).parents[1]), "PATH": ""}, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert "does not keep its promise" in done.stdout
    assert "playback.py:" not in done.stdout


def test_a_transfer_that_is_gone_is_no_kept_promise(folder: Path) -> None:
    checked(SMALL)
    with pytest.raises(InputError, match=r"no transfer.* `other`"):
        replay("row.toml", "other", rules=["core/covers"])


# ---------------------------------------------------------------- programs and views


def test_a_refuted_program_is_judged_again(folder: Path) -> None:
    first = '[program.p]\n[[program.p.step]]\ntransfer = "small"\ncontext = "x"\n'
    steps = f'{first}[[program.p.step]]\nname = "b"\ntransfer = "small"\ncontext = "y"\n'
    path = folder / "program.toml"
    path.write_text(HEAD + SMALL + steps)
    verdicts = [v for v in api.check(path) if v.errors]
    assert [v.name for v in verdicts] == ["p"]
    assert "core/hazard-waw" in playback_text(verdicts)
    with pytest.raises(BrokenPromise, match="core/hazard-waw"):
        replay(str(path), "p", rules=["core/hazard-waw"])
    path.write_text(HEAD + SMALL + steps.replace('context = "y"', 'context = "x"'))
    replay(str(path), "p", rules=["core/hazard-waw"])


def test_a_view_is_judged_again_since_one_run_shows_one_iteration(folder: Path) -> None:
    text = (
        '[transfer.v]\ndtype = "i8"\nloop = { t = 8 }\n'
        'source = { tier = "gm", element = "A, C", view = { tile = "A", start = "START" } }\n'
        'dest = { tier = "ub", element = "C" }\nstream = { packet = "C" }\n'
    )
    path = folder / "view.toml"
    path.write_text(HEAD + text.replace("START", "t + 1"))
    with pytest.raises(BrokenPromise, match="at t = 7"):
        replay(str(path), "v", rules=["core/in-bounds"])
    path.write_text(HEAD + text.replace("START", "t"))
    replay(str(path), "v", rules=["core/in-bounds"])
