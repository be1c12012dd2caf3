"""The strategies keep what they promise: legal is legal, one fault is one fault, text reads back, a seed is a plan."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis.errors import NoSuchExample, Unsatisfiable
from lab.draws import counted, rest

from dmaverify.api import check
from dmaverify.errors import InputError
from dmaverify.execute.address import TooLarge
from dmaverify.execute.interpret import execute
from dmaverify.language import wellformed
from dmaverify.language.expr import Broadcast, Drop, Expr, Modulo, Padding, Pair, Resize, Stride, Symbol, Window, walk
from dmaverify.plan.read import read_plan_text
from dmaverify.targets.target import load_target
from dmaverify.testing import (
    FAULTS,
    NotApplicable,
    Plan,
    Seeded,
    applicable,
    faults,
    mappings,
    moves,
    plans,
    seeded_plan,
    streams,
    with_fault,
)
from dmaverify.testing.random_mappings import ILLEGAL, illegal_mapping, mapping
from dmaverify.testing.random_plans import derived, legal_plan
from dmaverify.verdict import Status

LAB_FOLDER = str(Path(__file__).parents[1] / "fuzz" / "lab")
LAB, RNGD = load_target(LAB_FOLDER), load_target("rngd")


@given(mappings())
def test_mappings_are_legal_and_small(expr: Expr) -> None:
    assert [p for p in wellformed.problems(expr) if not p.warning] == []
    assert 1 <= expr.size <= 64


@given(mappings(illegal=True))
def test_illegal_mappings_are_found_to_be_so(expr: Expr) -> None:
    assert [p for p in wellformed.problems(expr) if not p.warning]


def test_every_constructor_and_every_illegality_is_drawn() -> None:
    kinds = {type(node) for seed in range(300) for node in walk(mapping(Seeded(seed), {"A": 6, "B": 4}, windows=True))}
    assert kinds == {Symbol, Broadcast, Stride, Modulo, Resize, Padding, Pair, Drop, Window}
    codes = set()
    for seed in range(200):
        expr, code = illegal_mapping(Seeded(seed), {"A": 6, "B": 4})
        assert code in {p.code for p in wellformed.problems(expr)}, (str(expr), code)
        codes.add(code)
    assert codes == set(ILLEGAL)


@given(plans(LAB, valid=True))
@settings(max_examples=60)
def test_valid_plans_keep_every_promise(plan: Plan) -> None:
    commands = plan.commands(LAB)
    assert commands is not None
    bits = LAB.dtypes[plan.transfer.dtype]
    done = execute(plan.transfer.source, plan.transfer.dest, *plan.spaces(LAB), bits, commands)
    assert done.broken <= {"core/consumes"}, plan.text(LAB)


@pytest.mark.parametrize("target", [LAB, RNGD], ids=["lab", "rngd"])
@pytest.mark.parametrize("count", counted(50, 150))
def test_the_text_of_a_plan_reads_back_as_the_plan(target, count: int) -> None:  # type: ignore[no-untyped-def]
    for seed in range(count):
        plan = seeded_plan(seed, target)
        item = read_plan_text(plan.text(target), target=str(target.folder)).transfers[0]
        same = Plan(plan.axes, item.transfer)
        assert (item.transfer.source, item.transfer.dest) == (plan.transfer.source, plan.transfer.dest)
        assert item.transfer.stream == plan.transfer.stream
        if plan.fault != "tier":
            assert same.commands(target) == plan.commands(target), plan.text(target)


@given(streams(LAB))
@settings(max_examples=60)
def test_streams_have_commands(found) -> None:  # type: ignore[no-untyped-def]
    move, stream = found
    assert move.stream == stream
    assert derived(move, LAB)


def test_moves_come_with_and_without_compatible_cuts_and_with_every_padding_and_width() -> None:
    from dmaverify.testing.random_moves import move

    found = [move(Seeded(seed), LAB) for seed in range(400)]
    assert {m.dtype for m in found} == set(LAB.dtypes)
    assert {m.source.tier for m in found} == {m.dest.tier for m in found} == set(LAB.tiers)
    assert any(derived(m, LAB) is None for m in found)
    assert any(len(derived(m, LAB) or ()) > 1 for m in found)
    kinds = {n.kind for m in found for n in walk(m.dest.mapping) if isinstance(n, Padding)}
    assert len(kinds) == 3
    assert any("D" in m.axes for m in found)
    assert any(m.dest.base for m in found)


@pytest.mark.parametrize(
    ("machine", "count"), [("rngd", 2), ("pto", 1), ("idma", 1), *rest([("rngd", 5), ("idma", 3)])]
)
def test_legal_plans_are_proved_under_the_whole_target_and_their_faults_refuted(machine: str, count: int) -> None:
    target = load_target(machine)
    for seed, broken in itertools.product(range(count), (False, True)):
        plan = legal_plan(Seeded(f"legal {seed}"), target, broken=broken)
        (verdict,) = check(plan.text(target))
        assert verdict.status is (Status.REFUTED if broken else Status.PROVED), plan.text(target)
        assert bool(plan.fault) == broken


@given(plans(RNGD, legal=True, tiers=("hbm", "dm")))
@settings(max_examples=5)
def test_hypothesis_draws_legal_plans_of_the_tiers_asked_for(plan: Plan) -> None:
    assert {plan.transfer.source.tier, plan.transfer.dest.tier} <= {"hbm", "dm"}
    assert check(plan.text(RNGD))[0].status is Status.PROVED


def test_a_target_under_which_nothing_is_legal_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmaverify.testing.random_plans._status", lambda plan, target: Status.REFUTED)
    with pytest.raises(LookupError, match="none of 40 plans is legal for rngd: other tiers"):
        legal_plan(Seeded(0), RNGD)


@pytest.mark.parametrize("machine", ["pto", "idma"])
def test_valid_plans_move_where_the_machine_has_a_route_and_from_one_memory_to_another(machine: str) -> None:
    target = load_target(machine)
    for seed in range(12):
        (verdict,) = check(seeded_plan(f"routes {seed}", target, valid=True).text(target))
        assert [f.rule for f in verdict.errors if f.rule.startswith("core/")] == []
    tiers = list(target.tiers)[:1]  # of which no two are joined, where it has no route onto itself
    assert {seeded_plan(0, target, valid=True, tiers=tiers).transfer.dest.tier} == set(tiers)


def test_choices_without_a_legal_plan_are_passed_over_in_hypothesis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmaverify.testing.random_plans._status", lambda plan, target: Status.REFUTED)
    monkeypatch.setattr("dmaverify.testing.random_plans.MOST_DRAWN", 1)
    few = settings(max_examples=1, database=None, suppress_health_check=list(HealthCheck))
    with pytest.raises((NoSuchExample, Unsatisfiable)):
        find(plans(RNGD, legal=True), lambda plan: True, settings=few)


@given(faults(LAB))
@settings(max_examples=40)
def test_a_fault_changes_the_plan_in_one_part_and_says_which(pair: tuple[Plan, Plan]) -> None:
    right, wrong = pair
    assert wrong.fault in FAULTS
    assert wrong.broke
    a, b = right.transfer, wrong.transfer
    changed = [name for name in ("source", "dest", "stream", "given", "dtype") if getattr(a, name) != getattr(b, name)]
    assert len(changed) == 1


def test_every_fault_is_applicable_somewhere_and_says_so() -> None:
    possible: set[str] = set()
    for seed in range(60):
        plan = seeded_plan(seed, LAB, valid=True)
        for name in FAULTS:
            try:
                with_fault(plan, name, target=LAB)
            except NotApplicable:
                continue
            possible.add(name)
            assert name in applicable(plan, LAB)
    assert possible == set(FAULTS)


def test_a_fault_that_a_plan_cannot_have_and_a_fault_that_is_none_are_errors() -> None:
    plan = next(p for p in (seeded_plan(s, LAB, valid=True) for s in range(50)) if len(p.transfer.given) == 1)
    with pytest.raises(NotApplicable):
        with_fault(plan, "command-dropped")
    with pytest.raises(KeyError):
        with_fault(plan, "no such fault")


def test_a_seed_is_a_plan() -> None:
    assert seeded_plan(7, LAB) == seeded_plan(7, LAB)
    assert len({seeded_plan(s, LAB).text(LAB) for s in range(40)}) == 40


@given(moves(RNGD, tiers=("hbm", "dm")))
@settings(max_examples=40)
def test_moves_keep_to_the_tiers_asked_for(move) -> None:  # type: ignore[no-untyped-def]
    assert {move.source.tier, move.dest.tier} <= {"hbm", "dm"}


def test_importing_the_room_needs_no_hypothesis_and_no_solver() -> None:
    code = (
        "import sys, dmaverify.testing as t; assert 'z3' not in sys.modules and 'numpy' not in sys.modules;"
        "t.seeded_plan; t.with_fault; assert 'hypothesis' not in sys.modules and 'z3' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    import dmaverify.testing

    with pytest.raises(AttributeError):
        dmaverify.testing.nothing_of_the_kind  # noqa: B018


def test_a_plan_too_large_for_a_slice_is_rare() -> None:
    large = 0
    for seed in range(120):
        plan = seeded_plan(seed, LAB)
        bits = LAB.dtypes[plan.transfer.dtype]
        try:
            execute(plan.transfer.source, plan.transfer.dest, *plan.spaces(LAB), bits, plan.commands(LAB) or ())
        except (TooLarge, ZeroDivisionError):
            large += 1
    assert large < 24


def test_strategies_take_the_name_of_a_machine_and_refuse_names_that_nothing_has() -> None:
    assert seeded_plan(7, "rngd").text("rngd") == seeded_plan(7, RNGD).text(RNGD)
    plans("rngd")
    for made in (
        lambda: plans("rngdd"), lambda: plans("rngd", tiers=["dmm"]), lambda: moves("rngd", tiers="dm"),
        lambda: faults(names=["strid"]), lambda: seeded_plan(7, "rngd", tiers=["ub"]),
    ):  # fmt: skip
        with pytest.raises(InputError):
            made()
