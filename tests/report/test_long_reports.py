"""Long reports tell what failed first, fold what was proved to a line a file, and count every warning."""

from dmaverify.report.machine import junit
from dmaverify.report.several import render_report
from dmaverify.report.text import FEW, MANY
from dmaverify.verdict import Finding, Severity, Status, Verdict


def warned(number: int) -> Verdict:
    finding = Finding("rngd/some-warning", Severity.WARNING, f"warning {number}")
    return Verdict(f"w{number}", "rngd", Status.PROVED, (finding,), path="a.rs", line=number, claim="all 8 bytes")


def proved(number: int, path: str = "a.rs") -> Verdict:
    return Verdict(f"p{number}", "rngd", Status.PROVED, path=path, line=number, claim="all 8 bytes")


def refuted(number: int) -> Verdict:
    rules = ("rngd/first-rule", "rngd/second-rule", "core/consumes")
    findings = tuple(Finding(rule, Severity.ERROR, f"{rule} is broken") for rule in rules)
    return Verdict(f"r{number}", "rngd", Status.REFUTED, findings, path="z.rs", line=number)


def test_what_failed_comes_first_and_what_was_proved_is_a_line_a_file() -> None:
    seen = [*(proved(n) for n in range(1, MANY)), *(proved(n, "b.rs") for n in range(1, 4)), refuted(9)]
    lines = render_report(seen).splitlines()
    assert lines[0].startswith("error[")
    assert sum(line.startswith("PROVED") for line in lines) == 2
    assert any("a.rs  11 transfers  all 88 bytes" in line for line in lines)
    assert "REFUTED r9" in "\n".join(lines)
    assert sum(line.startswith("PROVED") for line in render_report(seen, verbose=True).splitlines()) == MANY + 2
    assert sum(line.startswith("PROVED") for line in render_report(seen[:MANY]).splitlines()) == MANY


def test_one_cause_is_one_finding_with_what_follows_below_it() -> None:
    text = render_report([*(proved(n) for n in range(1, MANY + 1)), refuted(1)])
    assert text.count("error[") == 2
    assert "and rngd/second-rule: rngd/second-rule is broken" in text


def test_every_warning_is_counted_and_the_first_few_are_shown() -> None:
    text = render_report([*(warned(n) for n in range(1, 8)), *(proved(n) for n in range(20, 40))])
    assert "7 warnings: rngd/some-warning 7" in text
    assert text.count("warning[") == FEW
    assert f"... and {7 - FEW} more warnings of rngd/some-warning (-v shows them)" in text


def test_junit_carries_the_headline_of_the_first_error() -> None:
    assert 'message="REFUTED: core/consumes: core/consumes is broken (and rngd/first-rule, rngd/second-rule)"' in junit(
        [refuted(1)]
    )
