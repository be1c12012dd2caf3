"""Advice with a price: what the documents name as slow, told on proved transfers, both sides of each edge."""

from __future__ import annotations

import pytest

from dmaverify.api import load
from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.verdict import Severity, Status

HEAD = """schema = 1
target = "rngd"
[axes]
A = 64
B = 16
C = 256
[transfer.t]
dtype  = "i8"
"""
HBM = 'source = { tier = "hbm", element = "A, C" }\n'
TO_DM = HBM + 'dest = { tier = "dm", slice = "A", element = "C" }\n'
BY_ROW = 'stream = { time = "A", packet = "C" }\n'
OUT = 'source = { tier = "dm", slice = "A", element = "C" }\ndest = { tier = "hbm", element = "A, C" }\n'


def to_hbm(base: str) -> str:
    return HBM + f'dest = {{ tier = "hbm", base = {base}, element = "A, C" }}\n'


def within_dm(source: str, dest: str) -> str:
    return "".join(
        f'{role} = {{ tier = "dm", base = {base}, {place} }}\n'
        for role, base, place in (("source", 0, source), ("dest", 65536, dest))
    )


GATHERED = """source = { tier = "hbm", chip = "A / 16", element = "A % 16, C" }
dest = { tier = "hbm", base = 1048576, element = "A, C" }
stream = { chip = "A / 16", time = "A % 16", packet = "C" }
"""


def by_two_engines(dest: str, second: str) -> str:
    """Each engine fills the 32 slices of one DMN, with rows of its half of A."""
    halves = [(0, "DM/D@(0, 0, 0, 0)"), (32 * 16 * 256, f"DM/D@(0, 0, 0, {second})")]
    commands = "".join(
        f"""[[transfer.t.command]]
engine = {{ dmn = {number} }}
read = "[A=32:4096, B=16:256, C=256:1]:256 HBM/D@{read}"
write = "[A=32:slice_stride, B=16:256, C=256:1]:256 {write}"
"""
        for number, (read, write) in enumerate(halves)
    )
    return f'source = {{ tier = "hbm", element = "A, B, C" }}\ndest = {{ tier = "dm", {dest} }}\n{commands}'


CASES = [
    ("rngd/packet-small", to_hbm("1048576") + 'stream = { time = "A, C / 16", packet = "C % 16" }\n', True),
    ("rngd/packet-small", to_hbm("1048576") + 'stream = { packet = "A % 16, C", time = "A / 16" }\n', False),
    ("rngd/packet-small", TO_DM + BY_ROW, False),
    ("rngd/hbm-windows", to_hbm("1048584") + BY_ROW, True),
    ("rngd/hbm-windows", to_hbm("1048576") + BY_ROW, False),
    ("rngd/one-dmn", HBM + 'dest = { tier = "dm", slice = "A / 2 # 64", element = "A % 2, C" }\n' + BY_ROW, True),
    ("rngd/one-dmn", TO_DM + 'stream = { time = "A % 32, A / 32", packet = "C" }\n', False),
    ("rngd/one-dmn", by_two_engines('slice = "A % 32 # 64", element = "A / 32, B, C"', "4096"), True),
    ("rngd/one-dmn", by_two_engines('slice = "A", element = "B, C"', "32 * slice_stride"), False),
    ("rngd/engine-dmn", OUT + BY_ROW + "engine = { dmn = 2 }\n", True),
    ("rngd/engine-dmn", OUT + BY_ROW + "engine = { dmn = 0 }\n", False),
    ("rngd/engine-dmn", OUT + BY_ROW, False),
    ("rngd/tensor-unit", within_dm('slice = "A", element = "C"', 'slice = "A", element = "C"') + BY_ROW, True),
    (
        "rngd/tensor-unit",
        within_dm('slice = "B, 1 # 16", element = "A, C"', 'slice = "1 # 16, B", element = "A, C"')
        + 'stream = { time = "B, A", packet = "C" }\n',
        False,
    ),
    ("rngd/pcie-receiver", GATHERED, True),
    ("rngd/pcie-receiver", to_hbm("{ chip = 1 }") + BY_ROW, False),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "text", "told"), CASES)
def test_advice_is_told_where_it_saves_cycles_and_changes_no_verdict(rule: str, text: str, told: bool):
    (verdict,) = verdicts_of(load(HEAD + text))
    assert verdict.status is Status.PROVED
    found = [finding for finding in verdict.findings if finding.rule == rule]
    assert bool(found) == told
    assert all(finding.severity is Severity.ADVICE and any(map(str.isdigit, finding.message)) for finding in found)


def test_one_stack_is_told_where_it_binds_and_not_where_an_engine_does():
    one = """[transfer.t]
dtype  = "i8"
source = { tier = "hbm", element = "A, B, C, 1 # 2, D" }
dest   = { tier = "dm", cluster = "A / 4", slice = "A % 4, B", element = "C, D" }
stream = { cluster = "A / 4", slice = "A % 4", time = "C, B % 32, B / 32", packet = "D" }
"""
    head = 'schema = 1\ntarget = "rngd"\n[axes]\nA = 8\nB = 64\nC = 8\nD = 256\n'
    (wide,) = verdicts_of(load(head + one))
    assert [f.values["channels_used"] for f in wide.findings if f.rule == "rngd/one-stack"] == [16]
    (narrow,) = verdicts_of(load(head.replace("A = 8", "A = 1") + one.replace("A / 4", "1").replace("A % 4", "A")))
    assert "rngd/one-stack" not in {finding.rule for finding in narrow.findings}
