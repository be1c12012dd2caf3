"""Reductions of what was found in published kernels: each is refuted as it expects, and each is listed."""

from __future__ import annotations

import re
from pathlib import Path

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "examples" / "found" / "kernels.mlir"


def test_every_reduction_is_refuted_as_it_expects_and_is_listed() -> None:
    verdicts = check_text(Source(str(KERNELS), KERNELS.read_text(encoding="utf-8")))
    assert [v.name for v in verdicts if not (v.as_expected and v.expect)] == []
    page = (ROOT / "docs" / "found.md").read_text(encoding="utf-8")
    listed = re.findall(r"\| `(\w+)` \|$", page.partition("## Kernels of PTO")[2].partition("\n## ")[0], re.MULTILINE)
    assert sorted(listed) == sorted(v.name for v in verdicts)
