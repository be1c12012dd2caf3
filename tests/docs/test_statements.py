"""Rows of docs/rngd-statements.md are true: commands print their answers, cycles are those of the cost model."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import pytest

from dmaverify.cli import app as cli

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "rngd-statements.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if re.match(r"\| (?!where |-)", line)]
SAID = [row for row in ROWS if len(row) == 4]
PRICED = [row for row in ROWS if len(row) == 6]


def printed_by(command: str) -> str:
    words, out = shlex.split(command), io.StringIO()
    assert words[0] == "dmaverify"
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert cli.invoke(words[1:]) in (0, 1), out.getvalue()
    return " ".join(out.getvalue().split())


def test_the_page_has_no_other_rows():
    assert len(SAID) + len(PRICED) == len(ROWS) == PAGE.count("\n| ") - 2


@pytest.mark.parametrize("row", SAID, ids=lambda row: f"{row[0]}: {row[1]}")
def test_a_statement_of_the_documents_has_the_answer_beside_it(row: list[str]):
    _, _, command, answer = row
    assert answer.strip("`") in printed_by(command.strip("`"))


@pytest.mark.parametrize("row", PRICED, ids=lambda row: row[0])
def test_cycles_of_the_documents_differ_from_ours_as_the_page_says(row: list[str]):
    _, printed, ours, difference, plan, _ = row
    (price,) = json.loads(printed_by(f"dmaverify cost --json {plan.strip('`')}"))
    assert f"{price['cycles']:,.0f}" == ours
    assert int(ours.replace(",", "")) - int(printed.replace(",", "")) == int(difference.replace(",", ""))
