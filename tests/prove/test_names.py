"""What a plan says beside its numbers: labels are compared with the stream, and a wrong axis size is named."""

from pathlib import Path

import pytest

import dmaverify.api as api
from dmaverify.verdict import Finding, Severity, Status, Verdict

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TWO = (EXAMPLES / "dma-engine" / "example-2.toml").read_text(encoding="utf-8")
ONE = (EXAMPLES / "dma-engine" / "example-1.toml").read_text(encoding="utf-8")


def verdict(text: str, *changes: tuple[str, str]) -> Verdict:
    for old, new in changes:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    (found,) = api.check(text)
    return found


def labels(found: Verdict) -> list[Finding]:
    return [f for f in found.findings if f.message.startswith("the label")]


def test_labels_that_say_what_the_loops_are_raise_nothing() -> None:
    for text in (ONE, TWO):
        found = verdict(text)
        assert found.status is Status.PROVED
        assert not labels(found)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("A%4=4:256", "A%5=4:256", "5 does not divide 256"),
        ("A%4=4:256", "A%8=4:256", "is not what the stream walks there, `A%4`"),
        ("A/4%32=32:1024", "A/8%32=32:1024", "is not what the stream walks there, `A/4%32`"),
        ("B=256:65536", "C=256:65536", "is not what the stream walks there, `B`"),
    ],
)
def test_a_label_that_names_another_mapping_is_a_warning_and_no_more(old: str, new: str, said: str) -> None:
    found = verdict(TWO, (old, new))
    (finding,) = labels(found)
    assert said in finding.message
    assert finding.severity is Severity.WARNING
    assert finding.span is not None
    assert finding.span.text == new
    assert found.status is Status.PROVED


def test_a_label_that_is_free_text_is_left_alone() -> None:
    assert not labels(verdict(TWO, ("A%4=4:256", "rows of a slice=4:256")))


def test_equal_mappings_under_other_names_are_equal_labels() -> None:
    assert not labels(verdict(TWO, ("A/4%32=32:1024", "A % 128 / 4=32:1024")))


@pytest.mark.parametrize(("line", "wrong", "right"), [("C = 256", "C = 257", 256), ("B = 8", "B = 16", 8)])
def test_a_wrong_axis_size_is_named_with_the_one_that_the_commands_are_right_for(
    line: str, wrong: str, right: int
) -> None:
    found = verdict(ONE, (line, wrong))
    axis = line[0]
    assert found.status is Status.REFUTED
    hints = {f.hint for f in found.findings if f.rule == "core/covers"}
    assert hints == {f"{axis} is {wrong[4:]}; with {axis} = {right} the printed commands are proved (checked)"}


def test_no_size_is_proposed_where_none_makes_the_commands_right() -> None:
    broken = verdict(ONE, ("C = 256", "C = 257"), ('write  = "[A=8:256, B=8:2048', 'write  = "[A=8:264, B=8:2056'))
    assert broken.status is Status.REFUTED
    assert not any("the printed commands are proved" in f.hint for f in broken.findings)
