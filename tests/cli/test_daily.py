"""What people use all day: suppressions of several rules, statistics, reviewdog, completion, `--unknown`, origins."""

import json
from pathlib import Path

import pytest

from dmaverify.cli import app as cli
from dmaverify.report.rules import names_of

ROOT = Path(__file__).resolve().parents[2]
WRONG = (ROOT / "examples" / "broken.toml").read_text(encoding="utf-8").rpartition("expect")[0]
GOOD = (ROOT / "examples" / "first.toml").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DMAVERIFY_NO_CACHE", "1")


def check(text: str, *options: str) -> int:
    Path("plan.toml").write_text(text, encoding="utf-8")
    return cli.invoke(["check", "plan.toml", *options])


@pytest.mark.parametrize(
    "rules", ["core/covers, core/same-element, core/writes-once", " core/covers ,core/same-element,core/writes-once "]
)
def test_one_comment_allows_several_rules(rules: str) -> None:
    assert check(WRONG.replace("[transfer", f"# dmaverify: allow({rules}) known\n[transfer")) == 0


def test_a_comment_that_allows_some_of_the_rules_leaves_the_others() -> None:
    some = "# dmaverify: allow(core/covers, core/same-element) known\n[transfer"
    assert check(WRONG.replace("[transfer", some)) == 1


@pytest.mark.parametrize("rules", ["core/covers,", ", core/covers", "core/covers core/same-element", ""])
def test_a_broken_list_of_rules_is_refused(rules: str) -> None:
    assert check(WRONG.replace("[transfer", f"# dmaverify: allow({rules}) known\n[transfer")) == 2


def test_statistics_count_each_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(WRONG, "--statistics", "--format", "concise") == 1
    assert "1  core/same-element  error    in 1 transfer" in capsys.readouterr().out
    assert check(WRONG, "--statistics", "--format", "json") == 1
    out, err = capsys.readouterr()
    assert json.loads(out)
    assert "core/same-element" in err


def test_rdjson_has_the_place_of_each_finding_in_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(WRONG.replace("write  =", '"write" ='), "--format", "rdjson") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["source"] == {"name": "dmaverify"}
    assert {one["code"]["value"] for one in found["diagnostics"]} == {
        "core/covers", "core/same-element", "core/writes-once",
    }  # fmt: skip
    line = (Path("plan.toml").read_bytes().split(b"\n"))[
        found["diagnostics"][0]["location"]["range"]["start"]["line"] - 1
    ]
    at = found["diagnostics"][0]["location"]["range"]
    assert line[at["start"]["column"] - 1 : at["end"]["column"] - 1] == b"128"
    assert found["diagnostics"][0]["suggestions"]


def test_rdjson_counts_columns_in_bytes_and_leaves_out_what_is_expected(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(GOOD.replace('expect = "proved"', 'expect = ["x/é"]'), "--format", "rdjson") == 2
    assert json.loads(capsys.readouterr().out)["diagnostics"][0]["severity"] == "ERROR"
    broken = WRONG + 'expect = ["core/covers", "core/same-element", "core/writes-once"]\n'
    assert check(broken, "--format", "rdjson") == 0
    assert json.loads(capsys.readouterr().out)["diagnostics"] == []


def test_unknown_can_be_let_pass_and_is_still_told(capsys: pytest.CaptureFixture[str]) -> None:
    hopeless = ("--select", "core/tiles-once")
    assert check(GOOD, *hopeless) == 3
    capsys.readouterr()
    assert check(GOOD, *hopeless, "--unknown=warn") == 0
    out, err = capsys.readouterr()
    assert "UNKNOWN" in out
    assert "let pass" in out
    assert "--unknown=warn lets pass" in err
    assert check(WRONG, "--unknown=warn") == 1


def test_settings_say_where_each_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    Path("dmaverify.toml").write_text('# mine\njobs = 2\nformat = "concise"\n', encoding="utf-8")
    assert check(GOOD, "--show-settings", "--format", "json") == 0
    origin = json.loads(capsys.readouterr().out)["from"]
    assert origin["jobs"].endswith("dmaverify.toml:2")
    assert origin["format"] == "command line"
    assert origin["rlimit"] == "default"


@pytest.mark.parametrize(
    ("words", "number", "wanted"),
    [
        ("dmaverify check --select core/sam", 3, "core/same-element"),
        ("dmaverify check --target r", 3, "rngd"),
        ("dmaverify check --reading core/cons", 3, "core/consumes=strict"),
        ("dmaverify explain pto/ub-al", 2, "pto/ub-align"),
    ],
)
def test_a_shell_completes_names(
    words: str, number: int, wanted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(number))
    monkeypatch.setenv("_DMAVERIFY_COMPLETE", "bash_complete")
    with pytest.raises(SystemExit):
        cli.cli.main(args=[], prog_name="dmaverify", complete_var="_DMAVERIFY_COMPLETE")
    assert f"plain,{wanted}" in capsys.readouterr().out.split()


@pytest.mark.parametrize("kind", ["rule", "target", "reading"])
def test_every_kind_of_name_has_names_without_repetition(kind: str) -> None:
    names = names_of(kind)
    assert names == sorted(set(names))
    assert names


def test_a_misspelt_rule_that_is_expected_is_told_with_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(GOOD.replace('expect = "proved"', 'expect = ["core/cover"]')) == 1
    assert "did you mean `core/covers`?" in capsys.readouterr().out


def test_a_misspelt_schema_is_one_error_and_says_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(GOOD.replace("schema = 1", "shema = 1")) == 2
    out = capsys.readouterr().out
    assert out.count("error[") == 1
    assert "did you mean `schema`?" in out
