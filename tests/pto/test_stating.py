"""Notes to paste: with them stated, nothing is assumed any more."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dmaverify.cli import app as cli
from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.verdict import Status, Verdict

TEXT = """func.func @k(%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>, %n: i64, %m: i64) {
  %c0 = arith.constant 0 : i64
  %c128 = arith.constant 128 : i64
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %a, %u, %c0, %c128 nburst(%n, %c128, %c128) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %u, %b, %c128 nburst(%n, %c128, %m) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64
  return
}
"""
SAID = "to state them, write: "


def check(text: str) -> Verdict:
    (verdict,) = check_text(Source("k.mlir", text))
    return verdict


def test_the_notes_that_a_verdict_prints_leave_nothing_assumed() -> None:
    first = check(TEXT)
    assert first.status is Status.PROVED
    (said,) = [a.removeprefix(SAID) for a in first.assumptions if a.startswith(SAID)]
    ranges = "// dmaverify: assume %m in 128..1099511627775; // dmaverify: assume %n in 1..2048"
    assert said == f"{ranges}; // dmaverify: gm %a = 128 * %n bytes"
    said = ranges
    text = said.replace("; ", "\n") + "\n" + TEXT
    (said,) = [a.removeprefix(SAID) for a in check(text).assumptions if a.startswith(SAID)]
    assert said == "// dmaverify: gm %a = 262144 bytes; // dmaverify: gm %b = 2250700302055553 bytes"
    pasted = check(said.replace("; ", "\n") + "\n" + text)
    assert pasted.status is Status.PROVED
    assert pasted.conditions == ()
    assert not [a for a in pasted.assumptions if a.startswith(SAID)]


@pytest.mark.parametrize(
    ("notes", "code", "said"),
    [
        ("", 1, "exit 1: conditions that nobody states fail under --strict"),
        (
            """// dmaverify: assume %m in 128..256
// dmaverify: assume %n in 1..64
// dmaverify: gm %a = 8192 bytes
// dmaverify: gm %b = 16384 bytes
""",
            0,
            "exit 0",
        ),
    ],
)
def test_strict_fails_on_what_nobody_states(
    notes: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(notes + TEXT)
    assert cli.invoke(["check", str(path), "--strict", "--no-cache"]) == code
    assert said in capsys.readouterr().out
    assert cli.invoke(["check", str(path), "--no-cache", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert bool(found["conditions"]) == bool(code)


def test_a_range_beyond_the_notes_is_refuted() -> None:
    wider = "// dmaverify: assume %m in 128..256\n// dmaverify: assume %n in 1..2049\n" + TEXT
    assert {f.rule for f in check(wider).errors} == {"pto/ub-capacity"}
    assert re.search(r"2,?049", " ".join(str(f.witness) for f in check(wider).errors))
