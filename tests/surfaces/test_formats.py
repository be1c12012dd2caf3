"""Reports of one run for the tools around it: several formats at once, limits, baselines, summaries."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dmaverify.errors import Source, Span
from dmaverify.jobs.judge import FORMATS
from dmaverify.report.fingerprint import baseline_text, fingerprint, read_baseline, with_baseline
from dmaverify.report.gitlab import gitlab
from dmaverify.report.sarif import sarif_json
from dmaverify.report.summary import summary
from dmaverify.verdict import Excuse, Finding, Obligation, Severity, Status, Verdict, exit_code

SOURCE = Source("a.toml", "x = 1\ny = 22\n")


def finding(rule: str = "toy/align", severity: Severity = Severity.ERROR, start: int = 4) -> Finding:
    return Finding(rule, severity, "says", "place", Span(SOURCE, start, start + 1))


def refuted(*findings: Finding, name: str = "t", path: str = "a.toml") -> Verdict:
    return Verdict(name, "toy", Status.REFUTED, findings or (finding(),), path=path, line=1)


UNKNOWN = Verdict("hard", "toy", Status.UNKNOWN, (), (Obligation("core/covers", "unknown", "z3", "limit"),), path="u")


# ---------------------------------------------------------------- one run, every format


def test_one_run_writes_every_format_and_the_same_bytes_whatever_the_number_of_processes(shell, good, wrong):
    shell.write(good, "plans/a.toml")
    shell.write(wrong, "plans/b.toml")
    shell.write(wrong.replace("swap", "other"), "plans/c.toml")
    names = ("json", "json-lines", "sarif", "junit", "github", "gitlab", "summary", "full", "concise")
    made = []
    for run, workers in (("one", "1"), ("two", "2")):
        outputs = [part for name in names for part in ("--output", f"{name}={run}/{name}")]
        assert shell("check", "plans", *outputs, "-j", workers)[0] == 1
        made.append({name: Path(run, name).read_text().replace("seconds", "") for name in names})
    for name in names[2:]:
        assert made[0][name] == made[1][name]
    strip = [{**v, "seconds": 0} for v in json.loads(Path("one/json").read_text())]
    assert strip == [{**v, "seconds": 0} for v in json.loads(Path("two/json").read_text())]
    assert [json.loads(line)["status"] for line in Path("one/json-lines").read_text().splitlines()] == [
        "proved", "refuted", "refuted",
    ]  # fmt: skip
    assert ElementTree.parse("one/junit").getroot().attrib["failures"] == "2"
    assert "::error file=plans/b.toml,line=14" in Path("one/github").read_text()


def test_in_a_workflow_annotations_and_summary_come_by_themselves(shell, wrong, monkeypatch):
    shell.write(wrong)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    out = shell("check", "plan.toml")[1]
    assert "error[core/same-element]" in out
    assert "\n::error file=plan.toml,line=14" in out
    assert "| plan.toml:14 | swap | core/same-element |" in Path("summary.md").read_text()
    chosen = shell("check", "plan.toml", "--format", "concise")[1]
    assert "::error" not in chosen


def test_exit_zero_hides_a_violation_and_never_what_cannot_be_read(shell, wrong):
    shell.write(wrong)
    shell.write("schema = 1\nx", "bad.toml")
    assert shell("check", "plan.toml", "--exit-zero")[0] == 0
    assert shell("check", "bad.toml", "--exit-zero")[0] == 2


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("good", (), "exit 0"),
        ("wrong", (), "exit 1: 1 transfer refuted"),
        ("wrong", ("--exit-zero",), "exit 0: 1 transfer refuted or not as expected, let pass"),
    ],
)
def test_every_format_ends_with_the_exit_code_and_its_reason(shell, good, wrong, text, options, said):
    shell.write({"good": good, "wrong": wrong}[text])
    code = int(said[5])
    run = {name: shell("check", "plan.toml", "--format", name, *options) for name in FORMATS}
    assert {found[0] for found in run.values()} == {code}
    for name in ("full", "concise"):
        assert run[name][1].splitlines()[-1] == said
    for name in ("json", "json-lines", "gitlab", "rdjson"):
        assert run[name][2].splitlines()[-1] == said
    assert run["github"][1].splitlines()[-1] == f"::notice title=dmaverify::{said}"
    (invocation,) = json.loads(run["sarif"][1])["runs"][0]["invocations"]
    assert (invocation["exitCode"], invocation["exitCodeDescription"]) == (code, said)
    (place,) = ElementTree.fromstring(run["junit"][1].encode()).findall("testsuite/properties/property")
    assert place.attrib == {"name": "dmaverify.exit", "value": said}
    assert f"({said})" in run["summary"][1].splitlines()[0]
    assert said in run["html"][1].partition("</header>")[0]


def test_beside_a_file_of_json_the_screen_alone_tells_the_exit_code(shell, good):
    shell.write(good)
    code, out, err = shell("check", "plan.toml", "--output", "json=v.json")
    assert (code, err, out.splitlines()[-1]) == (0, "", "exit 0")
    assert isinstance(json.loads(Path("v.json").read_text()), list)


# ---------------------------------------------------------------- SARIF


def test_findings_that_read_alike_keep_prints_of_their_own():
    twice = refuted(finding(), finding(start=5))
    prints = [r["partialFingerprints"] for r in sarif_json([twice, refuted(path="b.toml")])["runs"][0]["results"]]
    lines = [p["primaryLocationLineHash"] for p in prints]
    assert len(set(lines)) == 3
    assert all(line.split(":")[1].isdigit() for line in lines)


def test_beyond_the_limit_of_a_run_errors_stay_and_the_rest_is_counted():
    warnings = [refuted(finding(severity=Severity.WARNING), finding(), name=f"t{n}") for n in range(4)]
    run = sarif_json(warnings, most=6)["runs"][0]
    assert Counter(result["level"] for result in run["results"]) == {"error": 4, "warning": 2}
    (notice,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notice["message"]["text"] == "2 of 8 results are left out: a run holds 6"
    assert "toolExecutionNotifications" not in sarif_json(warnings, most=8)["runs"][0]["invocations"][0]


def test_a_rule_brings_what_explain_says_of_it():
    run = sarif_json([refuted(finding(), finding("core/covers"))])["runs"][0]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert rules["toy/align"]["shortDescription"]["text"] == "writes into the small memory start on a line"
    assert rules["core/covers"]["defaultConfiguration"] == {"level": "error"}
    assert "**source**" in rules["core/covers"]["help"]["markdown"]
    assert len(rules["core/covers"]["properties"]["tags"]) <= 20


def test_every_result_names_its_rule_by_number():
    run = sarif_json([refuted(finding("toy/align"), finding("core/covers")), UNKNOWN])["runs"][0]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


# ---------------------------------------------------------------- GitLab


def test_gitlab_gets_what_decides_with_severity_place_and_a_fingerprint_of_its_own():
    excused = replace(finding(), excuse=Excuse("suppressed", "why"))
    expected = replace(refuted(finding()), expect=("toy/align",))
    twice = refuted(finding(), finding(start=5), finding("core/covers", Severity.WARNING), excused)
    issues = json.loads(gitlab([twice, UNKNOWN, expected]))
    assert [(i["check_name"], i["severity"], i["location"]) for i in issues] == [
        ("core/covers", "minor", {"path": "a.toml", "lines": {"begin": 1}}),
        ("toy/align", "critical", {"path": "a.toml", "lines": {"begin": 1}}),
        ("toy/align", "critical", {"path": "a.toml", "lines": {"begin": 1}}),
        ("core/covers", "major", {"path": "u", "lines": {"begin": 1}}),
    ]
    assert len({issue["fingerprint"] for issue in issues}) == 4
    assert all(set(i) == {"description", "check_name", "fingerprint", "severity", "location"} for i in issues)
    assert gitlab([]) == "[]\n"


# ---------------------------------------------------------------- baseline


def test_a_baseline_excuses_as_many_as_it_knows_and_nothing_new():
    two = refuted(finding(), finding(start=5))
    known = read_baseline(baseline_text([refuted()]), "b.json")
    (left,) = with_baseline([two], known, "b.json")
    assert [f.excuse is not None for f in left.findings] == [True, False]
    assert exit_code([left]) == 1
    (same,) = with_baseline([refuted()], known, "b.json")
    assert (exit_code([same]), same.status) == (0, Status.REFUTED)
    (elsewhere,) = with_baseline([refuted(path="other.toml")], known, "b.json")
    assert exit_code([elsewhere]) == 1


def test_a_baseline_never_excuses_unknown_or_unreadable():
    half = Verdict("t", "toy", Status.REFUTED, (finding(),), UNKNOWN.obligations, path="a.toml")
    known = read_baseline(baseline_text([half, UNKNOWN]), "b.json")
    assert [v.status for v in with_baseline([half, UNKNOWN], known, "b.json")] == [Status.UNKNOWN, Status.UNKNOWN]


def test_a_fingerprint_knows_rule_transfer_place_and_text_and_no_line():
    lower = Source("a.toml", "\n\n" + SOURCE.text)
    moved = Finding("toy/align", Severity.ERROR, "says", "place", Span(lower, 6, 7))
    assert fingerprint(finding(), refuted()) == fingerprint(moved, refuted())
    others = [fingerprint(finding("core/covers"), refuted()), fingerprint(finding(), refuted(name="u"))]
    others += [fingerprint(finding(start=10), refuted())]
    assert fingerprint(finding(), refuted()) not in others


@pytest.mark.parametrize("text", ["", "[]", '{"baseline": 2, "findings": []}', '{"baseline": 1, "findings": 3}', "{"])
def test_what_is_no_baseline_is_refused(shell, wrong, text):
    shell.write(wrong)
    shell.write(text, "b.json")
    code, _, err = shell("check", "plan.toml", "--baseline", "b.json")
    assert (code, "b.json is no baseline" in err) == (2, True)


def test_a_baseline_that_is_not_there_is_an_error_with_the_way_to_write_it(shell, good):
    shell.write(good)
    code, _, err = shell("check", "plan.toml", "--baseline", "b.json")
    assert (code, "--write-baseline b.json" in err) == (2, True)


def test_an_old_plan_enters_ci_with_a_baseline_and_a_new_mistake_fails(shell, wrong):
    shell.write(wrong)
    code, out, _ = shell("check", "plan.toml", "--write-baseline", "b.json")
    assert (code, "wrote b.json: 3 findings" in out) == (0, True)
    code, out, _ = shell("check", "plan.toml", "--baseline", "b.json")
    assert (code, "1 BASELINE" in out, "PROVED  swap" in out) == (0, True, False)
    shell.write("\n\n" + wrong)
    assert shell("check", "plan.toml", "--baseline", "b.json")[0] == 0
    shell.write(wrong.replace("A=8:32", "A=8:0"))
    assert shell("check", "plan.toml", "--baseline", "b.json")[0] == 1


def test_a_baseline_holds_from_wherever_the_check_is_started(shell, wrong, monkeypatch):
    path = shell.write(wrong, "plans/a.toml")
    shell("check", "plans", "--write-baseline", "b.json")
    assert shell("check", str(path), "--baseline", "b.json")[0] == 0
    monkeypatch.chdir(shell.folder / "plans")
    assert shell("check", "a.toml", "--baseline", "../b.json")[0] == 0


# ---------------------------------------------------------------- summary


def test_a_summary_counts_names_and_quotes_without_markup():
    text = summary(
        [refuted(Finding("toy/align", Severity.ERROR, "a|b <img> ``` *x*", "", Span(SOURCE, 4, 5))), UNKNOWN]
    )
    assert text.startswith("## dmaverify: violated (exit 1: 1 transfer refuted)\n")
    assert "| 0 | 1 | 1 | 0 | 0 |" in text
    assert "a\\|b &lt;img&gt; \\`\\`\\` \\*x\\*" in text
    assert "\n````text\n" in text
    assert "| u:1 | hard | core/covers | unknown: no answer" in text


def test_a_summary_stays_below_its_limit_and_counts_what_it_leaves_out():
    many = [refuted(Finding("toy/align", Severity.ERROR, "x" * 20_000), name=f"t{n}") for n in range(100)]
    text = summary(many)
    assert len(text.encode()) < 2**20
    assert "more are in the log" in text
    rows = [refuted(name=f"t{n}") for n in range(300)]
    assert "and 100 more" in summary(rows)


def test_an_empty_run_is_no_pass():
    assert "unreadable or empty (exit 2)" in summary([])


ROWS = """schema = 1
target = "rngd"
[axes]
H = 3840
[transfer.rows]
dtype = "bf16"
source = { tier = "dm", cluster = "1 # 2", slice = "H / 120, 1 # 8", element = "H % 120" }
dest = { tier = "hbm", element = "H" }
"""


def test_strict_fails_where_a_warning_is_left(shell):
    Path("clean.toml").write_text(ROWS, encoding="utf-8")
    few = ROWS.replace("H / 120, 1 # 8", "H / 40").replace("H % 120", "H % 40")  # 96 slices
    Path("warned.toml").write_text(few, encoding="utf-8")
    assert [shell("check", "clean.toml", *more)[0] for more in ((), ("--strict",))] == [0, 0]
    assert "warning[" in shell("check", "warned.toml")[1]
    assert [shell("check", "warned.toml", *more)[0] for more in ((), ("--strict",))] == [0, 1]


def test_an_interrupted_run_ends_with_its_own_exit_code_in_the_report_too(shell, good, monkeypatch):
    from dmaverify.cli import check

    def stopped(*_):
        raise KeyboardInterrupt
        yield

    shell.write(good)
    monkeypatch.setattr(check, "judged", stopped)
    for options in ((), ("--exit-zero",)):
        code, out, err = shell("check", "plan.toml", *options)
        assert (code, out.splitlines()[-1]) == (3, "exit 3")
        assert "interrupted: 0 of 1 file judged" in err
    code, out, _ = shell("check", "plan.toml", "--format", "sarif")
    assert json.loads(out)["runs"][0]["invocations"][0]["exitCode"] == code == 3
    assert shell("check", "plan.toml", "--write-baseline", "known.json")[0] == 3
