"""Suppressions in Rust source: where a comment begins, which transfer it belongs to, and unknowns with an excuse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dmaverify.errors import InputError, Source, Span
from dmaverify.inputs.suppress_rust import comments, line_allowances
from dmaverify.report.excuses import with_suppressions
from dmaverify.report.machine import junit
from dmaverify.report.order import bucket, remarks
from dmaverify.report.text import render_report
from dmaverify.verdict import Finding, Obligation, Severity, Status, Verdict, exit_code

ALLOW = "// dmaverify: allow(core/covers) the rest comes later"


def found(text: str) -> list[str]:
    return [text[start:end] for start, end in comments(text)]


def test_a_comment_begins_in_code_only():
    assert found('let a = "// no"; // yes') == ["// yes"]
    assert found('let a = "\\" // no"; // yes\nb') == ["// yes"]
    assert found('r#" // no " // no "# // yes') == ["// yes"]
    assert found("/* // no /* // no */ // no */ // yes") == ["// yes"]
    assert found("let c = '\"'; // yes\nlet d = '\\''; // yes") == ["// yes", "// yes"]
    assert found("fn f<'a>(x: &'a str) {} // yes") == ["// yes"]
    assert found("/// doc\n//! doc\n") == ["/// doc", "//! doc"]
    assert found('r"open // no') == []
    assert found("/* open // no") == []


def lines(text: str, *transfers: int) -> list[list[int]]:
    return [list(one.lines) for one in line_allowances(Source("k.rs", text), set(transfers))]


def test_a_suppression_belongs_to_the_first_transfer_of_its_statement():
    assert lines(f"{ALLOW}\nlet a = x\n    .to_dm();\nlet b = y.to_dm();", 3, 4) == [[2, 3]]
    assert lines(f"{ALLOW}\n// more\nlet a = x.to_dm();", 3) == [[3]]
    assert lines(f"let a = x.to_dm(); {ALLOW}\nlet b = y.to_dm();", 1, 2) == [[1]]
    assert lines(f"let a = x {ALLOW}\n  .to_dm();", 2) == [[1, 2]]
    assert lines(f"{ALLOW}\n\nlet a = x.to_dm();", 3) == [[]]
    assert lines(f"{ALLOW}\nlet a = 1;\n\nlet b = x.to_dm();", 4) == [[]]
    assert lines(f"{ALLOW}", 1) == [[]]
    assert lines(f'let a = "{ALLOW}";', 1) == []


@pytest.mark.parametrize(
    "comment", ["// dmaverify: allow(core/covers)", "// dmaverify: deny x", "//dmaverify: allow x"]
)
def test_a_wrong_suppression_is_refused_at_its_place(comment):
    with pytest.raises(InputError) as error:
        line_allowances(Source("k.rs", f"let a = 1; {comment}\n"), {1})
    assert str(error.value).startswith("k.rs:1:12: ")


SOURCE = Source("k.rs", f"{ALLOW}\nlet a = x.to_dm();\nlet b = y.to_dm();\n")
COVERS = Finding("core/covers", Severity.ERROR, "says", "", Span(SOURCE, len(ALLOW) + 1, len(ALLOW) + 4))
BAD = Verdict("a", "rngd", Status.REFUTED, (COVERS,), path="k.rs", line=2)


def test_only_the_transfer_at_the_comment_is_excused():
    first, second = with_suppressions([BAD, replace(BAD, name="b", line=3)], SOURCE, whole=True)
    assert (bucket(first), bucket(second)) == ("suppressed", "refuted")
    assert exit_code([first]) == 0
    assert exit_code([first, second]) == 1


def test_a_suppression_that_stands_at_no_transfer_is_told_when_all_are_there():
    far = Source("k.rs", f"{ALLOW}\n\nlet a = x.to_dm();\n")
    (verdict,) = with_suppressions([replace(BAD, line=3)], far, whole=True)
    assert [finding.rule for finding in verdict.findings] == ["core/covers", "core/unused-suppression"]
    (verdict,) = with_suppressions([replace(BAD, line=3)], far)
    assert [finding.rule for finding in verdict.findings] == ["core/covers"]


def test_an_unknown_is_excused_by_its_own_rule_alone_and_is_never_called_proved():
    said = replace(COVERS, severity=Severity.WARNING)
    unknown = Verdict(
        "a", "rngd", Status.UNKNOWN, (said,), (Obligation("core/covers", "unknown"),), path="k.rs", line=2
    )
    (excused,) = with_suppressions([unknown], SOURCE)
    assert (bucket(excused), exit_code([excused]), remarks(excused)) == ("suppressed", 0, [])
    assert "1 SUPPRESSED" in render_report([excused])
    assert "UNKNOWN a" in render_report([excused])
    assert "0 PROVED" in render_report([excused])
    assert 'errors="0"' in junit([excused])
    two = replace(unknown, obligations=(*unknown.obligations, Obligation("core/in-bounds", "unknown")))
    (left,) = with_suppressions([two], SOURCE)
    assert (bucket(left), exit_code([left])) == ("unknown", 3)
    assert exit_code([unknown]) == 3
    assert not replace(unknown, obligations=()).as_expected
