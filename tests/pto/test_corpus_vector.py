"""Kernels as people write them, correct: each is proved, and refuted when one line that matters is taken away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_file, check_text
from dmaverify.verdict import Status

FILES = sorted((Path(__file__).parent / "corpus").glob("vector-*.mlir"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_correct_vector_kernel_is_proved(file: Path) -> None:
    (verdict,) = check_file(str(file))
    assert [f.message for f in verdict.errors] == []
    assert verdict.status is Status.PROVED
    assert verdict.as_expected


def test_there_are_ten_vector_kernels() -> None:
    assert len(FILES) == 10


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_without_the_wait_for_its_data_it_is_refuted(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    kept = [line for line in text.splitlines(True) if "wait_flag" not in line or 'MTE2", "PIPE_V' not in line]
    assert len(kept) < len(text.splitlines())
    few = re.sub(r"(assume %n in 1\.\.)\d+", r"\g<1>3", "".join(kept))
    (verdict,) = check_text(Source(file.name, few))
    assert "core/hazard-raw" in {f.rule for f in verdict.errors}
