"""Whatever number of a proved plan is broken, the plan is no longer proved; labels, which hardware never sees, warn."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import dmaverify.api as api
from dmaverify.plan.read import InputErrors
from dmaverify.prove.options import Options
from dmaverify.verdict import Severity, Status

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PLANS = {"dma-engine/example-1": 44, "first": 40, "dma-engine/example-2": 90}
NUMBER = re.compile(r"(?<![\w.\"'-])\d+(?!\w)")
LABEL = re.compile(r"[\[ ][^=\[\],]*=(?=\d+:)")


def numbers(text: str) -> Iterator[tuple[int, int, bool]]:
    """(start, end, in a label) of every number that says something: not in names, comments, or the schema."""
    place = 0
    for line in text.splitlines(keepends=True):
        if not re.match(r"\s*(#|\[transfer|\[access|schema|name|expect|dtype)", line):
            labels = [m.span() for m in LABEL.finditer(line)] if re.match(r"(read|write|config)\b", line) else []
            for found in NUMBER.finditer(line):
                inside = any(a <= found.start() < b for a, b in labels)
                yield place + found.start(), place + found.end(), inside
        place += len(line)


@pytest.mark.parametrize(
    "name", [name if number == 0 else pytest.param(name, marks=pytest.mark.slow) for number, name in enumerate(PLANS)]
)
def test_a_plan_with_any_number_broken_is_refuted_and_a_broken_label_is_told(name: str) -> None:
    text = (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")
    tried = 0
    for start, end, in_label in numbers(text):
        number = int(text[start:end])
        for other in (number + 1 if number % 256 else number + 2, 2 * number or 8):
            broken = text[:start] + str(other) + text[end:]
            tried += 1
            try:
                (verdict,) = api.check(broken, options=Options(repair=False))
            except InputErrors:
                continue
            place = f"{text[start - 30 : start]}>>{other}<<{text[end : end + 20]}"
            if in_label:
                assert verdict.status is Status.PROVED, place
                assert [f for f in verdict.findings if f.severity is Severity.WARNING], place
            else:
                assert verdict.status is Status.REFUTED, place
    assert tried >= PLANS[name], "numbers of the example were left out"
