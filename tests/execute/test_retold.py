"""The second opinion: a proof or a refutation that a run of the text contradicts is no verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dmaverify.errors import Disagreement
from dmaverify.jobs import retold
from dmaverify.jobs.load import program_of
from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.lower.programs import space_of
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.move.outcome import Broken
from dmaverify.prove.move.scene import Scene, Side
from dmaverify.prove.move.witness import finding_of
from dmaverify.prove.options import Options
from dmaverify.verdict import Finding, Severity, Status, Verdict

TEXT = """
schema = 1
target = "rngd"
[axes]
A = {rows}
C = 64
[transfer.x]
dtype = "i8"
source = {{ tier = "hbm", base = 0, element = "A, C" }}
dest = {{ tier = "hbm", base = 1048576, element = "A, C" }}
stream = {{ time = "A = 3", packet = "C" }}
"""


def retell(text: str, name: str, target: str, verdict: Verdict, options: Options) -> Verdict:
    plan = read_plan_text(text)
    items = [*(one.transfer for one in plan.transfers), *plan.programs]
    return retold.retell(text, next(one for one in items if one.name == name), target, verdict, options)


PROVED = Verdict("x", "rngd", Status.PROVED)
SMALL = Options(cross_check=1 << 16)


def test_a_proof_that_a_run_contradicts_is_a_disagreement() -> None:
    with pytest.raises(Disagreement, match="core/covers"):
        retell(TEXT.format(rows=4), "x", "rngd", PROVED, SMALL)
    retell(TEXT.format(rows=3), "x", "rngd", PROVED, SMALL)


def test_only_proofs_of_small_moves_are_run() -> None:
    retell(TEXT.format(rows=1 << 20), "x", "rngd", PROVED, SMALL)
    retell(TEXT.format(rows=4), "x", "rngd", PROVED, Options(cross_check=0))
    retell(TEXT.format(rows=4), "x", "rngd", Verdict("x", "rngd", Status.UNKNOWN), SMALL)


def test_tensors_that_lie_alone_are_no_more_units_of_a_run() -> None:
    """Each step touches at most 32,768 positions; tensors are laid out where two lie at one address."""
    text = (Path(__file__).parents[2] / "examples" / "programs" / "cumulative.toml").read_text(encoding="utf-8")
    found = retold.Retold(text, "four-64", "rngd", {}, 1 << 15).broken()
    assert found is not None
    assert {one.partition(" ")[0] for one in found} == {"rngd/bank-starvation"}


REFUTED = Verdict("x", "rngd", Status.REFUTED, (Finding("core/covers", Severity.ERROR, "", witness={"address": 0}),))


def test_a_refutation_that_no_run_shows_is_a_disagreement() -> None:
    with pytest.raises(Disagreement, match="refuted by core/covers, but every run"):
        retell(TEXT.format(rows=3), "x", "rngd", REFUTED, SMALL)


@pytest.mark.parametrize(
    ("rows", "cross_check", "by"),
    [(4, 1 << 16, "a run of the text"), (1 << 20, 1 << 16, "its witness"), (4, 0, "its witness")],
)
def test_a_refutation_says_what_confirms_it(rows: int, cross_check: int, by: str) -> None:
    told = retell(TEXT.format(rows=rows), "x", "rngd", REFUTED, Options(cross_check=cross_check))
    assert told.confirmed == by


def test_what_no_run_can_show_is_not_asked_of_one() -> None:
    only = replace(REFUTED, findings=(Finding("core/well-formed", Severity.ERROR, ""),))
    assert retell(TEXT.format(rows=3), "x", "rngd", only, SMALL) == only


@pytest.mark.parametrize(
    ("columns", "rows", "said"),
    [
        (12, 3, set()),  # the step breaks rules of the machine alone, which no run shows
        (12, 4, {"a run of the text"}),
        (64, 4, {"a run of the text"}),
    ],
)
def test_a_program_is_confirmed_by_what_its_steps_break(columns: int, rows: int, said: set[str]) -> None:
    text = TEXT.replace("C = 64", f"C = {columns}").format(rows=rows).replace('"hbm", base = 1048576', '"dm"')
    text = text.replace('"dm"', '"dm", slice = "1 # 64"') + '[program.p]\nstep = [{ transfer = "x" }]\n'
    found = next(one for one in verdicts_of(read_plan_text(text), SMALL) if one.name == "p")
    assert {f.rule for f in found.errors} == {"core/steps"}
    told = retell(text, "p", "rngd", found, SMALL)
    assert {told.confirmed} - {""} == said


@pytest.mark.parametrize(
    ("rules", "witness", "others"),
    [
        (("core/covers",), {"address": 0}, ""),
        (("core/covers", "core/padding"), {"address": 0}, "core/padding by its witness"),
        (("core/covers", "core/padding"), None, "core/padding by nothing else"),
    ],
)
def test_each_rule_that_a_run_does_not_show_says_what_confirms_it(
    rules: tuple[str, ...], witness: dict[str, int] | None, others: str
) -> None:
    findings = tuple(Finding(rule, Severity.ERROR, "", witness=witness) for rule in rules)
    told = retell(TEXT.format(rows=4), "x", "rngd", replace(REFUTED, findings=findings), SMALL)
    assert told.confirmed.partition("; ")[2] == others


def test_a_cell_that_some_command_writes_is_no_witness_of_a_missing_write() -> None:
    plan = read_plan_text(TEXT.format(rows=4))
    move, commands = plan.transfers[0].transfer, program_of(plan, "x")
    spaces = [space_of(plan.targets["rngd"], tensor.tier) for tensor in (move.source, move.dest)]
    scene = Scene(Side(move.source, spaces[0], 8), Side(move.dest, spaces[1], 8), commands)
    missing = finding_of(Broken("core/covers", "", position=1048576 + 3 * 64), scene)
    assert missing.witness["coordinates"] == {"A": 3, "C": 0}
    with pytest.raises(Disagreement, match="core/covers"):
        finding_of(Broken("core/covers", "", position=1048576 + 2 * 64 + 63), scene)
