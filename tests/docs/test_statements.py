"""Rows of docs/rngd-statements.md are true: commands print their answers, figures differ as the page says."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest import mock

import pytest

from dmaverify.cli import app as cli
from dmaverify.plan import read

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "rngd-statements.md").read_text(encoding="utf-8")
CELL = re.compile(r"(?<!\\) \| ")
ROWS = [
    [cell.replace("\\|", "|") for cell in CELL.split(line.removeprefix("| ").removesuffix(" |"))]
    for line in PAGE.splitlines()
    if re.match(r"\| (?!where |-)", line)
]
SAID = [row for row in ROWS if len(row) == 4]
FIGURES = [row for row in ROWS if len(row) == 8]


@pytest.fixture(autouse=True, scope="module")
def _read_once() -> Iterator[None]:
    """A file of plans is read once for all its rows."""
    with mock.patch.object(read, "read_plan", cache(read.read_plan)):
        yield


@cache
def printed_by(command: str) -> str:
    words, out = shlex.split(command), io.StringIO()
    assert words[0] == "dmaverify"
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert cli.invoke(words[1:]) in (0, 1), out.getvalue()
    return " ".join(out.getvalue().split())


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_the_page_has_no_other_rows_and_none_twice():
    assert len(SAID) + len(FIGURES) == len(ROWS) == PAGE.count("\n| ") - 2
    assert len({(row[0], row[1]) for row in ROWS}) == len(ROWS)


def test_the_three_documents_have_all_their_rows():
    by_document = {name: sum(row[0].startswith(name) for row in SAID) for name in
                   ("DMA Engine", "Sequencer", "Memory Performance")}  # fmt: skip
    assert by_document == {"DMA Engine": 178, "Sequencer": 63, "Memory Performance": 111}


@pytest.mark.parametrize("row", SAID, ids=lambda row: f"{row[0]}: {row[1]}")
def test_a_statement_of_the_documents_has_the_answer_beside_it(row: list[str]):
    _, _, command, answer = row
    assert answer.strip("`") in printed_by(command.strip("`"))


@pytest.mark.parametrize("row", FIGURES, ids=lambda row: f"{row[0]}: {row[1]}")
def test_a_figure_of_the_documents_differs_from_ours_as_the_page_says(row: list[str]):
    _, _, printed, ours, difference, command, answer, why = row
    assert answer.strip("`") in printed_by(command.strip("`"))
    assert number(ours) - number(printed) == pytest.approx(number(difference))
    told = number(difference) == 0
    assert why.startswith("equal") == told
    stands = [number(found) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", answer)]
    assert number(ours) in stands or "bytes a cycle" in row[1]
