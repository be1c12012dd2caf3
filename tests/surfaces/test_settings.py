"""Settings of a project: where they are looked for, which wins, and what is said of a wrong one; suppressions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dmaverify.errors import InputError, Source
from dmaverify.plan.settings import KEYS, Settings, find_settings, matching, read_settings
from dmaverify.plan.suppress import allowances


def origin() -> str:
    return find_settings(Path()).origin


# ---------------------------------------------------------------- where


def test_the_nearest_folder_wins_and_in_it_dmaverify_toml_before_pyproject_before_cargo(shell, monkeypatch):
    assert origin() == ""
    shell.write("[package.metadata.dmaverify]\njobs = 2\n", "Cargo.toml")
    assert origin() == "Cargo.toml"
    shell.write("[tool.dmaverify]\njobs = 3\n", "pyproject.toml")
    assert origin() == "pyproject.toml"
    shell.write("jobs = 4\n", "dmaverify.toml")
    assert find_settings(Path()).jobs == 4
    inner = shell.folder / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert find_settings(Path()).jobs == 4
    shell.write("[workspace.metadata.dmaverify]\njobs = 5\n", "inner/Cargo.toml")
    assert find_settings(Path()).jobs == 5


def test_a_file_without_our_table_is_passed_over(shell):
    shell.write('[project]\nname = "dmaverify-user"\n', "pyproject.toml")
    shell.write("[package.metadata.dmaverify]\n", "Cargo.toml")
    assert origin() == "Cargo.toml"
    with pytest.raises(InputError, match=r"pyproject.toml has no settings"):
        read_settings("pyproject.toml")


def test_an_empty_dmaverify_toml_ends_the_search(shell, monkeypatch):
    shell.write("jobs = 7\n", "dmaverify.toml")
    shell.write("", "inner/dmaverify.toml")
    monkeypatch.chdir(shell.folder / "inner")
    assert find_settings(Path()).jobs == 1


# ---------------------------------------------------------------- what


@pytest.mark.parametrize(
    ("line", "said", "hint"),
    [
        ("selct = []", "unknown setting `selct`", "did you mean `select`?"),
        ("per_path_ignore = {}", "unknown setting `per_path_ignore`", "did you mean `per-path-ignore`?"),
        ("zzz = 1", "unknown setting `zzz`", "known: target, select"),
        ('select = "core/*"', "`select` is not a list of texts", 'write a list of texts: ["rngd'),
        ("jobs = 0", "`jobs` is not a number of processes", "1 to 256"),
        ("jobs = true", "`jobs` is not", "1 to 256"),
        ('cache = "no"', "`cache` is not true or false", "true or false"),
        ("target = ''", "`target` is not", "machine"),
        ("reading = {a = 1}", "`a` of `reading` is no text", "alignment"),
        ('per-path-ignore = {"a" = "b"}', "`a` of `per-path-ignore` is no list", "old/*"),
    ],
)
def test_a_wrong_setting_is_told_with_its_place_and_what_was_meant(shell, good, line, said, hint):
    shell.write(good)
    shell.write(f"[tool.dmaverify]\n{line}\n", "pyproject.toml")
    code, _, err = shell("check", "plan.toml")
    assert code == 2
    assert said in err
    assert hint in " ".join(err.split())
    assert "pyproject.toml:2:" in err
    assert shell("check", "plan.toml", "--isolated")[0] == 0


@pytest.mark.parametrize(
    ("text", "code"), [("[tool]\ndmaverify = 3", 2), ("[[tool.dmaverify]]\njobs = 1", 2), ("tool = 1  # dmaverify", 0)]
)
def test_settings_that_are_no_table_are_told_and_not_passed_over(shell, good, text, code):
    shell.write(good)
    shell.write(text, "pyproject.toml")
    found, _, err = shell("check", "plan.toml")
    assert found == code
    assert ("`tool.dmaverify` is no table" in err) == (code == 2)


def test_every_setting_is_documented_in_what_show_settings_prints(shell):
    data = json.loads(shell("check", "--show-settings")[1])
    assert set(data) == {*KEYS, "settings", "from"}
    assert set(data["from"]) == set(KEYS)
    assert data["settings"] is None


def test_the_command_line_wins_over_the_file(shell, good):
    shell.write(good)
    shell.write(
        'target = "rngd"\njobs = 2\nrlimit = 5\nreading = {alignment = "std"}\nformat = "concise"\n', "dmaverify.toml"
    )
    file = json.loads(shell("check", "--show-settings")[1])
    assert (file["target"], file["jobs"], file["rlimit"], file["format"]) == ("rngd", 2, 5, "concise")
    asked = ("--target", "toy", "-j", "3", "--rlimit", "6", "--reading", "alignment=hw", "--json")
    line = json.loads(shell("check", "--show-settings", *asked)[1])
    assert (line["target"], line["jobs"], line["rlimit"], line["format"]) == ("toy", 3, 6, "json")
    assert line["reading"] == {"alignment": "hw"}


def test_paths_and_files_of_settings_are_relative_to_their_file(shell, good, wrong, monkeypatch):
    shell.write(good, "plans/a.toml")
    shell.write(wrong, "plans/gen/b.toml")
    shell.write('paths = ["plans"]\nexclude = ["plans/gen"]\noutput = ["sarif=out/x.sarif"]\n', "dmaverify.toml")
    assert shell("check")[0] == 0
    assert (shell.folder / "out/x.sarif").is_file()
    (shell.folder / "deep").mkdir()
    monkeypatch.chdir(shell.folder / "deep")
    code, out, _ = shell("check", "--show-files")
    taken, *left = out.splitlines()
    assert code == 0
    assert Path(taken.partition("  (")[0]).name == "a.toml"
    assert [line for line in left if "excluded" not in line] == []
    assert "b.toml" in left[0]


def test_an_excluded_file_that_is_named_is_checked(shell, wrong):
    shell.write(wrong, "gen/b.toml")
    shell.write('exclude = ["gen"]\n', "dmaverify.toml")
    assert shell("check", "gen/b.toml")[0] == 1


def test_rules_can_be_ignored_for_some_paths(shell, wrong):
    shell.write(wrong, "old/a.toml")
    shell.write(wrong, "new/a.toml")
    shell.write('per-path-ignore = {"old/*" = ["core/*"]}\n', "dmaverify.toml")
    code, out, _ = shell("check", "old", "new", "--format", "concise")
    assert code == 1
    assert "new/a.toml" in out
    assert [line for line in out.splitlines() if "old/a.toml" in line] == [
        "old/a.toml:9:1: condition[left-out] `swap` is proved but for core/*"
    ]


def test_patterns_match_folders_names_and_paths():
    folder = Path()
    assert matching("a/b.toml", ["a"], folder)
    assert matching("a/b.toml", ["./a/"], folder)
    assert matching("a/b.gen.toml", ["*.gen.toml"], folder)
    assert not matching("ab/c.toml", ["a"], folder)
    assert not matching("a/b.toml", ["b"], folder)


def test_an_unknown_format_of_a_file_is_told(shell, good):
    shell.write(good)
    shell.write('format = "xml"\n', "dmaverify.toml")
    assert "no format `xml`" in shell("check", "plan.toml")[2]
    assert shell("check", "plan.toml", "--config", "absent.toml")[0] == 2
    assert shell("check", "plan.toml", "--config", "dmaverify.toml", "--isolated")[0] == 2


def test_settings_without_a_file_are_the_defaults():
    assert Settings().as_data()["rlimit"] == 20_000_000


# ---------------------------------------------------------------- suppressions


def test_a_suppressed_finding_stays_in_every_report_and_decides_nothing(shell, wrong):
    allowed = "".join(f"# dmaverify: allow(core/{rule}) until the driver is mended\n" for rule in (
        "same-element", "covers", "writes-once",
    ))  # fmt: skip
    shell.write(wrong.replace("[transfer.swap]", f"{allowed}[transfer.swap]"))
    code, out, _ = shell("check", "plan.toml")
    assert code == 0
    assert "REFUTED swap" in out
    assert "suppressed: core/covers (until the driver is mended)" in out
    assert "1 SUPPRESSED" in out
    assert "error[" not in out
    (verdict,) = json.loads(shell("check", "plan.toml", "--json")[1])
    assert {f["excuse"]["kind"] for f in verdict["findings"]} == {"suppressed"}
    sarif = json.loads(shell("check", "plan.toml", "--format", "sarif")[1])
    assert all(r["suppressions"][0]["kind"] == "inSource" for r in sarif["runs"][0]["results"])
    assert shell("check", "plan.toml", "--format", "github")[1] == "::notice title=dmaverify::exit 0\n"


def test_one_rule_less_and_the_plan_fails(shell, wrong):
    shell.write(wrong.replace("[transfer.swap]", "# dmaverify: allow(core/covers) known\n[transfer.swap]"))
    assert shell("check", "plan.toml")[0] == 1


def test_a_suppression_that_excuses_nothing_is_told(shell, good):
    shell.write(good + "# dmaverify: allow(core/covers) once it was wrong\n")
    code, out, _ = shell("check", "plan.toml")
    assert (code, "warning[core/unused-suppression]" in out) == (0, True)
    assert "PROVED  swap" in out
    assert shell("explain", "core/unused-suppression")[0] == 0


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("# dmaverify: allow(core/covers)", "gives no reason"),
        ("# dmaverify: allow(core/covers)   -- ", "gives no reason"),
        ("# dmaverify: ignore core/covers", "this comment is no suppression"),
        ("# dmaverify:allow core/covers x", "this comment is no suppression"),
        ("# dmaverify: allow(core/cover) x", "did you mean"),
    ],
)
def test_a_wrong_suppression_is_refused_at_its_place(shell, good, comment, said):
    shell.write(good + comment + "\n")
    code, out, err = shell("check", "plan.toml")
    assert code == 2
    assert said in out + err
    assert "plan.toml:15:1" in out + err


def owners(text: str) -> list[str]:
    return [one.owner for one in allowances(Source("x.toml", text))]


def test_a_suppression_belongs_to_the_table_it_stands_in_or_directly_above():
    allow = "# dmaverify: allow(a/b) why\n"
    assert owners(f"{allow}# and\n[transfer.t]\nx = 1\n") == ["t"]
    assert owners(f"[transfer.s]\nx = 1\n{allow}[transfer.t]\n") == ["t"]
    assert owners(f"[transfer.s]\nx = 1\n{allow}\n[transfer.t]\n") == ["s"]
    assert owners(f"[transfer.s]\nx = 1 {allow}[transfer.t]\n") == ["s"]
    assert owners(f'[transfer."s".source]\nx = "# dmaverify: allow(a/b) text"\ny = [ {allow}1]\n') == ["s"]
    assert owners(f"[[program.p.step]]\nx = 'ü' {allow}") == ["p"]
    with pytest.raises(InputError, match="belongs to no transfer"):
        owners(f"{allow}\n[axes]\nA = 1\n")


def test_an_expectation_is_met_by_what_is_not_suppressed(shell, wrong):
    text = wrong.replace("[transfer.swap]", "# dmaverify: allow(core/covers) known\n[transfer.swap]")
    shell.write(text + 'expect = ["core/same-element", "core/writes-once"]\n')
    assert shell("check", "plan.toml")[0] == 0
    shell.write(text + 'expect = ["core/same-element", "core/writes-once", "core/covers"]\n')
    assert shell("check", "plan.toml")[0] == 1


@pytest.mark.parametrize(("named", "code"), [("..", 2), ("plans/../..", 2), ("/", 2), ("plans", 0), ("plans/..", 0)])
def test_settings_name_paths_below_their_folder_alone(shell, good, named, code):
    (shell.folder / "plans").mkdir()
    shell.write(good, "plans/plan.toml")
    shell.write(f'paths = ["{named}"]\n', "dmaverify.toml")
    found, _, err = shell("check")
    assert found == code
    assert ("outside of the folder of the settings" in err) == (code == 2)
