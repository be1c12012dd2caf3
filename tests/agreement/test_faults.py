"""Plans with one fault: what the proof says against running every unit, on every route, and the verdict on the text.
A few of each; `make fuzz` draws twenty thousand.

`examine` compares each obligation, each witness and the verdict; these tests draw the plans and count what they saw.
"""

from collections import Counter
from pathlib import Path

import pytest
from lab.draws import counted
from lab.examined import examine
from lab.oracle import compare, only_solver

from dmaverify.prove.move.check import Options, check_transfer
from dmaverify.prove.move.core import judge_core
from dmaverify.prove.move.outcome import OBLIGATIONS
from dmaverify.prove.smt import Session
from dmaverify.targets.target import Target, load_target
from dmaverify.testing import FAULTS, NotApplicable, Plan, Seeded, seeded_plan, with_fault
from dmaverify.verdict import Status, exit_code

LAB = str(Path(__file__).parents[1] / "fuzz" / "lab")


@pytest.fixture(scope="module")
def lab() -> Target:
    return load_target(LAB)


def drawn(start: int, stop: int, lab: Target, **how: bool) -> list[Plan]:
    return [seeded_plan(number, lab, **how) for number in range(start, stop)]


@pytest.mark.parametrize("count", counted(30, 80))
def test_random_plans_are_judged_alike_by_proof_by_running_and_in_the_verdict(count: int, lab: Target) -> None:
    seen: Counter[str] = Counter()
    for plan in drawn(0, count, lab):
        found = examine(plan, lab, folder=LAB, routes=("default",))
        assert not found.disagreements, (found.disagreements, plan.text(lab))
        seen[found.outcome] += 1
    assert seen["proved"] > count // 8
    assert seen["refuted"] > count * 3 // 16


def test_every_fault_that_changes_an_effect_is_refuted_and_every_harmless_one_is_proved(lab: Target) -> None:
    """One valid plan after the other, each with every fault it can have: the outcomes per kind of fault."""
    outcomes: Counter[tuple[str, str]] = Counter()
    for number in range(6):
        base = seeded_plan(f"valid {number}", lab, valid=True)
        assert examine(base, lab, folder=LAB).outcome == "proved", base.text(lab)
        for name in FAULTS:
            try:
                plan = with_fault(base, name, draw=Seeded(number), target=lab)
            except NotApplicable:
                continue
            found = examine(plan, lab, folder=LAB, routes=("default",))
            assert not found.disagreements, (found.disagreements, plan.text(lab))
            outcomes[name, "kept" if found.outcome == "proved" else "broken"] += 1
    assert {name for name, _ in outcomes} == set(FAULTS)
    assert all(outcomes[name, "broken"] for name in FAULTS)
    harmless = {name for name in FAULTS if outcomes[name, "kept"]}
    assert harmless >= {
        "order",
        "packet",
        "padding-kind",
    }  # both sides swapped; another packet; a kind that nobody relies on
    assert not harmless & {"duplicate-command", "command-dropped", "tier"}


def test_the_solver_alone_agrees_and_seldom_gives_up(lab: Target) -> None:
    judged = unknown = 0
    for plan in drawn(5000, 5020, lab):
        found = examine(plan, lab, folder=LAB, routes=("solver",))
        assert not found.disagreements, (found.disagreements, plan.text(lab))
        if found.outcome in ("proved", "refuted"):
            judged += 1
            unknown += found.unknown
    assert judged > 10
    assert unknown <= 1


@pytest.mark.parametrize("readings", [{"core/same-element": "broadcast-missing"}])
def test_other_readings_are_judged_alike(readings: dict[str, str], lab: Target) -> None:
    differs = 0
    for plan in drawn(0, 25, lab):
        commands = plan.commands(lab)
        if commands is None:
            continue
        bits, spaces = lab.dtypes[plan.transfer.dtype], plan.spaces(lab)
        try:
            opinions = [
                compare(
                    plan.transfer.source, plan.transfer.dest, spaces, bits, commands, route=route, readings=readings
                )
                for route in ("default", "solver")
            ]
        except ZeroDivisionError:  # a cut that no mapping allows
            continue
        for opinion in opinions:
            assert opinion is None or not opinion.disagreements, (opinion, plan.text(lab))
        differs += opinions[0] is not None
    assert differs > 12


# ---------------------------------------------------------------- a solver that gives up


def wide(number: int, lab: Target) -> Plan:
    return seeded_plan(f"valid {number}", lab, valid=True)


def test_a_starved_solver_is_unknown_and_exit_3_never_a_pass(lab: Target) -> None:
    starved = Options(rlimit=1, repair=False)
    undecided = 0
    with only_solver():
        for number in range(15):
            plan = wide(number, lab)
            commands = plan.commands(lab)
            assert commands is not None
            session = Session(1)
            result = judge_core(
                plan.transfer.source,
                plan.transfer.dest,
                plan.spaces(lab),
                lab.dtypes[plan.transfer.dtype],
                commands,
                {},
                session,
                0,
            )
            open_ = any(result.status[name] == "unknown" for name in OBLIGATIONS)
            undecided += open_
            assert "refuted" not in result.status.values()
            assert not open_ or result.status["core/not-vacuous"] != "proved"
    assert undecided > 5  # claims that arithmetic decides need no solver
    verdict = check_transfer(huge_transfer(lab), target=lab, options=starved)
    assert verdict.status is Status.UNKNOWN
    assert exit_code([verdict]) == 3


def huge_transfer(lab: Target):  # type: ignore[no-untyped-def]
    from dmaverify.plan.read import read_plan_text

    text = """
schema = 1
target = "lab"
[axes]
A = 4194304
B = 64
[transfer.huge]
dtype = "i8"
source = { tier = "hbm", element = "A, B" }
dest = { tier = "host", element = "B, A # 4194311" }
stream = { time = "A", packet = "B" }
"""
    return read_plan_text(text, target=LAB).transfers[0].transfer


def test_the_same_huge_plan_is_proved_with_the_usual_limit(lab: Target) -> None:
    assert check_transfer(huge_transfer(lab), target=lab).status is Status.PROVED


def test_a_fault_in_a_huge_plan_is_never_a_pass_however_starved(lab: Target) -> None:
    from dataclasses import replace

    transfer = huge_transfer(lab)
    wrong = replace(transfer, dest=replace(transfer.dest, base=5), source=replace(transfer.source, base=0))
    from dmaverify.lower.programs import derived_program

    commands = derived_program(transfer.source, transfer.dest, transfer.stream, 8, lab)
    assert isinstance(commands, tuple)
    for rlimit in (1, 10, 100, 1000, 100_000):
        with only_solver():
            result = judge_core(
                wrong.source, wrong.dest, Plan({}, transfer).spaces(lab), 8, commands, {}, Session(rlimit), 0
            )
        assert not all(v == "proved" for k, v in result.status.items() if k != "core/consumes"), rlimit
