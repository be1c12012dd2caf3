"""A move that nobody gives commands for is asked from definitions: the source holds what the destination asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.machines.rngd.rust import legality
from dmaverify.prove.move import alone
from dmaverify.prove.options import Options
from dmaverify.verdict import Verdict

PLAN = """
schema = 1
target = "rngd"
[axes]
A = 12
B = 8
C = 64
[transfer.t]
dtype = "DTYPE"
source = { tier = "hbm", element = "SOURCE, C" }
dest = { tier = "dm", element = "DEST, C" }
"""
KERNEL = """
axes![A = 12, B = 8, C = 64];
#[device(chip = 1)]
pub fn k(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B, C]>) {
    let _y: DmTensor<i8, m![1], m![1 # 2], m![1 # 256], m![DEST, C]> = x.to_dm(&mut ctx.tdma);
}
"""


def judged(folder: Path, source: str, dest: str, dtype: str = "i8") -> Verdict:
    path = folder / "plan.toml"
    path.write_text(PLAN.replace("SOURCE", source).replace("DEST", dest).replace("DTYPE", dtype))
    (verdict,) = api.check(str(path), options=Options(prove="full"))
    return verdict


def contradicted(verdict: Verdict, obligation: str) -> bool:
    told = " ".join(finding.message for finding in verdict.findings)
    return verdict.status.value == "error" and obligation in told and "z3 says sat from definitions" in told


def unasked(verdict: Verdict) -> list[str]:
    return [said for said in verdict.assumptions if "not asked" in said]


@pytest.mark.parametrize("dtype", ["i8", "i4", "f32"])
@pytest.mark.parametrize(
    ("source", "dest"),
    [
        ("A, B", "B, A"),
        ("A, B", "A / 3, B, A % 3"),
        ("A # 16, B", "B # 10, A / 6, A % 6 # 7"),
        ("A, B", "A, 1 # 4, B = 4"),
        ("B", "A, B"),  # an axis that the source does not have: every row is the same
    ],
)
def test_what_the_source_holds_is_asked_for_every_cell(source: str, dest: str, dtype: str, tmp_path: Path):
    verdict = judged(tmp_path, source, dest, dtype)
    assert verdict.status.value == "proved"
    assert {o.id: o.by for o in verdict.obligations}["core/same-element"] == "z3"
    assert not unasked(verdict)


@pytest.mark.parametrize(("source", "dest"), [("A @ 2, B", "B"), ("A @ 2 / 2, B", "B")])
def test_a_cell_stands_at_0_on_axes_that_it_does_not_name(source: str, dest: str, tmp_path: Path):
    verdict = judged(tmp_path, source, dest)
    assert verdict.status.value == "refuted"
    assert verdict.findings[0].rule == "core/same-element"


@pytest.mark.parametrize("mapping", ["A, 1 # 4 @ 3, B", "A # 24 @ 12, B", "A, B # 16 / 8 @ 1", "A # 24 / 4 @ 3, B"])
def test_a_tensor_of_padding_alone_holds_nothing_and_asks_for_nothing(mapping: str, tmp_path: Path):
    held = judged(tmp_path, mapping, "A, B")
    (told,) = (f for f in held.errors if f.rule.startswith("core/"))
    assert (told.rule, told.witness) == ("core/same-element", {"coordinates": {"A": 0, "B": 0, "C": 0}})
    for source in ("A, B", "A @ 3, B", mapping):  # whatever else is wrong
        assert {o.id for o in judged(tmp_path, source, mapping).obligations if o.status == "refuted"} >= {
            "core/not-vacuous"
        }


def test_where_there_are_no_digits_it_is_counted_whether_anything_is_live(tmp_path: Path):
    last = "(A, 1 # 4) @ 45, B"  # behind the last row: three positions of padding
    assert [f.rule for f in judged(tmp_path, last, "A, B").errors] == ["core/same-element"]
    assert [f.rule for f in judged(tmp_path, "A, B", last).errors] == ["core/not-vacuous"]
    assert [f.rule for f in judged(tmp_path, "A, B", last.replace("45", "44")).errors] == []


def test_an_element_that_one_of_several_digits_holds_stays_open(tmp_path: Path):
    assert unasked(judged(tmp_path, "A % 3, A", "A")) == [
        "not asked from definitions: core/same-element, in cells asked for"
    ]


@pytest.mark.parametrize(("source", "dest"), [("A = 6, B", "A, B"), ("A, B @ 0 = 4", "A, B"), ("A % 4, B", "B, A")])
def test_a_missing_element_that_the_fast_path_overlooks_is_a_disagreement(
    source: str, dest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(alone, "missing", lambda *_: iter(()))
    assert contradicted(judged(tmp_path, source, dest), "core/same-element")


def consumed(folder: Path, dest: str) -> Verdict:
    path = folder / "kernel.rs"
    path.write_text(KERNEL.replace("DEST", dest))
    (verdict,) = api.check(str(path), options=Options(prove="full"))
    return verdict


@pytest.mark.parametrize("dest", ["A, B", "B, A / 4, A % 4", "A # 16, B"])
def test_what_a_kernel_reads_is_asked_to_arrive(dest: str, tmp_path: Path):
    verdict = consumed(tmp_path, dest)
    assert {o.id: o.by for o in verdict.obligations}["core/consumes"] == "z3"
    assert not unasked(verdict)


@pytest.mark.parametrize("dest", ["A = 6, B", "B", "A / 4, B"])
def test_an_element_that_a_kernel_drops_unseen_is_a_disagreement(
    dest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(legality, "unread", lambda *_, **__: [])
    verdict = consumed(tmp_path, dest)
    assert contradicted(verdict, "core/consumes")
