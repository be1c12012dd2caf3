"""What a help calls checked is true of the text: applied to it, read again, the whole plan is proved."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.report.edits import applied
from dmaverify.verdict import Status, Verdict

HEAD = 'schema = 1\ntarget = "rngd"\n[axes]\nA = 8\nB = 16\nC = 64\n'


def plan(write: str, *, dtype: str = "i8", unit: str = "bytes", more: str = "", axes: str = "") -> str:
    width = {"i8": 1, "bf16": 2}[dtype] if unit == "bytes" else 1
    base = 65536 if unit == "bytes" or dtype == "i8" else 32768
    read = f"[A=8:{1024 * width}, B=16:{64 * width}, C={64 * width}:1]:{64 * width}"
    return (
        (HEAD if not axes else HEAD.replace("A = 8", axes))
        + f'[transfer.t]\ndtype = "{dtype}"\nunit = "{unit}"\n'
        + 'source = { tier = "hbm", base = 0, element = "A, B, C" }\n'
        + f'dest = {{ tier = "hbm", base = 65536, element = "B, A, C" }}\n{more}'
        + f'read = "{read} HBM/D@0"\nwrite = "{write} HBM/D@{base}"\n'
    )


def judged(text: str) -> Verdict:
    return next(v for v in api.check(text) if v.name == "t")


def checked(verdict: Verdict) -> list[str]:
    return [f.hint for f in verdict.findings if "(checked" in f.hint]


@pytest.mark.parametrize(
    ("write", "dtype", "unit", "said"),
    [
        ("[A=8:64, B=16:256, C=64:1]:64", "i8", "bytes", "to 512 instead of 256"),
        ("[A=8:128, B=16:512, C=128:1]:128", "bf16", "bytes", "to 1024 instead of 512"),
        ("[A=8:64, B=16:256, C=64:1]:64", "bf16", "elements", "to 512 instead of 256"),  # numbers of the text's unit
    ],
)
def test_a_checked_help_speaks_of_the_numbers_of_the_text(write: str, dtype: str, unit: str, said: str) -> None:
    text = plan(write, dtype=dtype, unit=unit)
    verdict = judged(text)
    (hint, *_) = checked(verdict)
    assert said in hint
    have, want = re.search(r"to (\d+) instead of (\d+)", hint).groups()[::-1]
    at = text.index("write = ")
    mended = text[:at] + text[at:].replace(f"B=16:{have}", f"B=16:{want}")
    assert mended != text
    assert judged(mended).status is Status.PROVED


def test_what_mends_one_finding_only_is_not_called_checked() -> None:
    # the stride is wrong, and the packet is above the machine's limit besides
    text = plan("[A=8:64, B=16:256, C=64:1]:64", more="limits = { packet_max = 32 }\n")
    verdict = judged(text)
    assert "rngd/packet-max" in {f.rule for f in verdict.errors}
    assert not checked(verdict)
    assert any("mends this finding, not the others" in f.hint for f in verdict.errors)


def test_a_size_is_proposed_only_where_the_rest_of_the_plan_keeps_it() -> None:
    text = plan("[A=8:64, B=16:512, C=64:1]:64", axes="A = 9")
    (hint, *_) = checked(judged(text))
    assert hint == "A is 9; with A = 8 the printed commands are proved (checked)"
    other = (
        '[transfer.u]\ndtype = "i8"\nsource = { tier = "hbm", base = 0, element = "A, C" }\n'
        'dest = { tier = "hbm", base = 131072, element = "A, C" }\n'
        'read = "[A=9:64, C=64:1]:64 HBM/D@0"\nwrite = "[A=9:64, C=64:1]:64 HBM/D@131072"\n'
    )
    assert not checked(judged(text + other))


def test_a_start_that_is_proposed_for_tiles_is_an_edit_of_the_text() -> None:
    text = (
        HEAD
        + '[transfer.s]\ndtype = "i8"\nloop = { i = 4 }\nsource = { tier = "hbm", base = 0, element = "A = 2, C" }\n'
        'dest = { tier = "hbm", base = 65536, element = "A, C", view = { tile = "A", length = 2, start = "i" } }\n'
        'stream = { time = "A = 2", packet = "C" }\n[program.t]\nstep = [{ transfer = "s" }]\n'
    )
    verdict = judged(text)
    edits = {f.edits for f in verdict.errors if f.edits}
    assert len(edits) == 1
    assert judged(applied(text, edits.pop())).status is Status.PROVED
    assert len(checked(verdict)) == 2


SEGMENTS = """
schema = 1
target = "rngd"
[axes]
A = 15
B = 32
C = 256
[transfer.seg]
dtype = "i8"
source = { tier = "dm", slice = "A # 16 / 4, A # 16 / 2 % 2, B", element = "A # 16 % 2, C" }
dest = { tier = "hbm", element = "B, A, C" }
stream = { slice = "A # 16 / 4", time = "A # 16 % 2, B, A # 16 / 2 % 2", packet = "C" }
"""


def test_check_names_the_command_that_prints_proved_segments(shell):
    shell.write(SEGMENTS)
    code, out, _ = shell("check", "plan.toml")
    assert code == 1
    assert "`dmaverify derive plan.toml::seg` prints streams that stop before the padding" in out
    printed = shell("derive", "plan.toml::seg")[1].split("in place of the stream:\n")[1]
    shell.write(SEGMENTS[: SEGMENTS.index("stream = ")] + printed)
    assert shell("check", "plan.toml")[0] == 0
    shell.write(SEGMENTS.replace("A = 15", "A = 16").replace("B, A, C", "B, A, C # 512"))
    assert "prints streams" not in shell("check", "plan.toml")[1]


def test_cost_says_that_a_program_is_refuted(shell):
    refuted = SEGMENTS.replace("A = 15", "A = 16").replace('element = "B, A, C"', 'element = "A, B, C # 128"')
    shell.write(refuted)
    status = shell("check", "plan.toml")[0]
    code, out, _ = shell("cost", "plan.toml")
    assert (status, code) == (1, 0)
    assert out.split("\n")[1].startswith("  REFUTED by core/")
    assert "refuted" in json.loads(shell("cost", "--json", "plan.toml")[1])[0]
    shell.write(SEGMENTS.replace("A = 15", "A = 16"))
    assert shell("check", "plan.toml")[0] == 0
    assert "REFUTED" not in shell("cost", "plan.toml")[1]


def test_a_step_of_several_accesses_waits_for_an_earlier_iteration_as_the_help_writes_it() -> None:
    """Its name has a `+`, which TOML takes as a key in quotes alone."""
    text = (Path(__file__).resolve().parents[2] / "examples/programs/views.toml").read_text(encoding="utf-8")
    for help_of, step in (("load", 'context = "loads"'), ("use+make", 'after = ["load"] },\n  { transfer')):
        (verdict,) = [v for v in api.check(text, "pipeline-of-two-engines") if v.name == "pipeline-of-two-engines"]
        (finding,) = [f for f in verdict.errors if f.place == f"step {help_of}"]
        earlier = re.search(r"`(earlier = [^`]+)`", finding.hint)
        assert earlier is not None
        text = text.replace(step, f"{earlier[1]}, {step}")
    assert verdict.status is Status.REFUTED
    (verdict,) = [v for v in api.check(text, "pipeline-of-two-engines") if v.name == "pipeline-of-two-engines"]
    assert verdict.status is Status.PROVED
