"""The counts behind a bound: a script of plain Python finds them again, and a changed number is refused."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from moves import drawn, move

from dmaverify.cli.synth import write_certificate
from dmaverify.synth.synthesize import synthesize
from dmaverify.targets.target import load_target

RNGD = load_target("rngd")


def recounted(folder) -> tuple[int, str]:
    """Exit code and last line of the script, in a process that cannot import dmaverify."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "recount.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()[-1]


@pytest.mark.parametrize("seed", [4, 5, 25])
def test_the_counts_of_a_bound_are_found_again_without_dmaverify(seed, tmp_path):
    axes, moved = drawn(seed)
    write_certificate(tmp_path, synthesize(moved, RNGD, axes=axes, advise=False))
    code, said = recounted(tmp_path)
    assert code == 0, said
    assert "0 numbers differ" in said


def test_a_count_that_was_changed_is_refused(tmp_path):
    axes = {"A": 8, "B": 8, "C": 120}
    moved = move(axes, {"tier": "dm", "slice": "A # 64", "element": "B, C"}, {"tier": "hbm", "element": "B, A, C"})
    write_certificate(tmp_path, synthesize(moved, RNGD, axes=axes, advise=False))
    assert recounted(tmp_path)[0] == 0
    file = tmp_path / "bound.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    both = zip(data["counted"]["nests"], data["counted"]["counts"], strict=True)
    written = next(counts for nest, counts in both if nest["role"] == "write")
    for name in ("channels", "partial"):
        before = list(written[name])
        written[name][next(i for i, n in enumerate(before) if n)] -= 1
        file.write_text(json.dumps(data), encoding="utf-8")
        assert recounted(tmp_path)[0] == 1, name
        written[name] = before
