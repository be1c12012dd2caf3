"""What a kernel is claimed to make: padding byte for byte, what lies beside it, copies that may not run."""

from pathlib import Path

import pytest

from dmaverify import api

KERNEL = (Path(__file__).resolve().parents[2] / "examples" / "pto" / "example-3-corrected.mlir").read_text()
PLAN = """schema = 1
target = "pto"
[axes]
R = 64
C = 100
[kernel.k]
text = '''
{kernel}'''
gm = {{ src = "64x100xf16" }}
[[kernel.k.move]]
copies = [1]
dtype = "f16"
source = {{ tier = "gm", base = 0, element = "R, C" }}
dest = {{ tier = "ub", base = 0, element = "{dest}" }}
"""
COPY = "  pto.copy_gm_to_ubuf"
SOME = KERNEL.replace("%src: !pto.ptr<f16, gm>", "%src: !pto.ptr<f16, gm>, %n: index").replace(
    COPY, "  %i1 = arith.constant 1 : index\n  %c = arith.cmpi eq, %n, %i1 : index\n  scf.if %c {\n" + COPY
)
SOME = SOME.replace("i64, i1, i64, i64, i64\n", "i64, i1, i64, i64, i64\n  }\n")


@pytest.mark.parametrize(
    ("kernel", "dest", "found"),
    [
        (KERNEL, "R, C #{0} 128", {}),
        (KERNEL.replace("28 : i64", "12 : i64"), "R, C #{0} 128", {"core/padding": "is never written"}),
        (KERNEL.replace("0.0 : f16", "1.0 : f16"), "R, C #{0} 128", {"core/padding": "holds 0x"}),
        (KERNEL, "R, C # 128", {}),
        (KERNEL, "R, C #{!} 128", {"core/padding": "may not be touched are written"}),
        (KERNEL, "R, C #{0} 124 #{!} 128", {"core/padding": "may not be touched are written"}),
        (KERNEL.replace("%false = arith.constant false\n  %true = arith.constant true", "%true = arith.constant false"),
         "R, C #{!} 128", {"core/padding": "may not be touched are written"}),
        (KERNEL, "(R, C #{0} 128) = 8164", {"core/in-bounds": "outside of the destination"}),
    ],
)  # fmt: skip
def test_padding_of_a_claimed_move_is_what_the_copies_leave(kernel: str, dest: str, found: dict[str, str]) -> None:
    (verdict,) = api.check(PLAN.format(kernel=kernel, dest=dest), "k")
    said = {f.rule: f.message for f in verdict.errors}
    assert said.keys() >= found.keys(), (said, verdict.obligations)
    assert all(text in said[rule] for rule, text in found.items()), said
    assert bool(said) is bool(found), said


def test_a_copy_that_may_not_run_is_not_claimed_to_have_run() -> None:
    (verdict,) = api.check(PLAN.format(kernel=SOME, dest="R, C #{0} 128"), "k")
    assert verdict.status.value == "unknown"
    assert any("depend on values that are not numbers" in f.message for f in verdict.findings)
