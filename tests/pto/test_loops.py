"""Loops that people write, and how long an answer takes: nests, turns, several numbers of rounds, many copies."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from lab.draws import rest

from dmaverify.errors import Source
from dmaverify.language.affine import Lin, World, compare
from dmaverify.machines.pto.check import check_text
from dmaverify.program.instructions import Branch, KernelLoop
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.loops import At, most_followed, period_of, steady
from dmaverify.prove.flow.accesses.step_events import NOWHERE
from dmaverify.prove.flow.initialization.definite import DefiniteJudge
from dmaverify.prove.flow.initialization.written import Path as WrittenPath
from dmaverify.prove.flow.order import pipes
from dmaverify.prove.flow.order.pipe_fixpoint import joined
from dmaverify.prove.flow.order.pipe_state import Instance, State, renamed
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

GM, UB = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>"
SECONDS = 60  # of a busy machine; alone it is a second or two
LOAD = f"pto.mte_gm_ub %s, %d, %z, %l nburst(%one, %l, %l) : {GM}, {UB}, i64, i64, i64, i64, i64"


def check(text: str) -> Verdict:
    (found,) = check_text(Source("k.mlir", text))
    assert found.seconds < SECONDS
    return found


def nest(depth: int, trip: int, step: int) -> str:
    """A copy in so many loops, to `step` bytes further on in each innermost round."""
    lines = ["%at0 = arith.constant 0 : index"]
    for level in range(depth):
        size = step * trip ** (depth - 1 - level)
        lines += [f"%w{level} = arith.constant {size} : index"]
    for level in range(depth):
        lines += [f"scf.for %x{level} = %i0 to %n step %i1 {{", f"%t{level} = arith.muli %x{level}, %w{level} : index"]
        lines += [f"%at{level + 1} = arith.addi %at{level}, %t{level} : index"]
    lines += [f"%c = arith.index_cast %at{depth} : index to i64", f"%d = pto.castptr %c : i64 -> {UB}", LOAD]
    return head(trip) + "\n".join(lines) + "\n" + "}\n" * depth + "return\n}\n"


def head(trip: int) -> str:
    return f"""func.func @k(%s: {GM}) {{
%i0 = arith.constant 0 : index
%i1 = arith.constant 1 : index
%n = arith.constant {trip} : index
%z = arith.constant 0 : i64
%one = arith.constant 1 : i64
%l = arith.constant 32 : i64
"""


@pytest.mark.parametrize(
    ("step", "status", "depth"),
    [
        (0, Status.REFUTED, 1), (0, Status.REFUTED, 2), (0, Status.REFUTED, 6),
        (16, Status.REFUTED, 1), (16, Status.REFUTED, 2), *rest([(16, Status.REFUTED, 6)]),
        (32, Status.PROVED, 1), (32, Status.PROVED, 2), (32, Status.PROVED, 6),
    ],
)  # fmt: skip
def test_nests_are_answered_at_once(depth: int, step: int, status: Status) -> None:
    found = check(nest(depth, 4, step))
    assert found.status is status
    if step == 0:
        assert {f.rule for f in found.errors} == {"core/hazard-waw"}


def test_a_loop_whose_iterations_find_the_same_bytes_is_followed_until_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4^7 rounds all but the first two of each loop find what the one before found (16,384 visits before)."""
    visits, access = list[None](), DefiniteJudge._access
    monkeypatch.setattr(DefiniteJudge, "_access", lambda *given: (visits.append(None), access(*given)))
    assert check(nest(7, 4, 0)).status is Status.REFUTED
    assert len(visits) <= 3 * 2**7


@pytest.mark.parametrize(
    ("rounds", "carried", "status"), [(1, 256, Status.PROVED), (2, 256, Status.REFUTED), (1, 512, Status.REFUTED)]
)
def test_a_loop_of_one_round_is_that_round(rounds: int, carried: int, status: Status) -> None:
    """No other round set the registers that its copy takes, and what it hands on is what that round gave."""
    types = f"{GM}, {UB}, i64, i64, i64, i64, i64, i1, i64, i64, i64"
    copy = f"pto.copy_gm_to_ubuf %s, %d, %z, %one, %l, %z, %z, %no, %z, %l, %l : {types}"
    text = f"""// dmaverify: gm %s = 512 bytes
{head(rounds)}%no = arith.constant false
%two = arith.constant 2 : i64
%far = arith.constant {carried} : i64
%d = pto.castptr %z : i64 -> {UB}
pto.set_loop1_stride_outtoub %far, %l : i64, i64
%end = scf.for %i = %i0 to %n step %i1 iter_args(%g = %l) -> (i64) {{
{copy}
pto.barrier #pto.pipe<PIPE_ALL>
pto.set_loop_size_outtoub %two, %one : i64, i64
scf.yield %far : i64
}}
pto.set_loop1_stride_outtoub %end, %l : i64, i64
{copy}
return
}}
"""
    assert check(text).status is status


@pytest.mark.parametrize(("step", "status"), [(32, Status.PROVED), (0, Status.REFUTED)])
def test_hundreds_of_copies_without_an_order_are_answered_at_once(step: int, status: Status) -> None:
    copies = []
    for number in range(300):
        copies += [f"%c{number} = arith.constant {number * 32 if number < 299 else number * step} : i64"]
        copies += [f"%d{number} = pto.castptr %c{number} : i64 -> {UB}", LOAD.replace("%d", f"%d{number}")]
    assert check(head(1) + "\n".join(copies) + "\nreturn\n}\n").status is status


WAIT = 'pto.wait_flag_dyn["PIPE_{}", "PIPE_{}", %turn]'
TURNS = (Path(__file__).parent / "corpus" / "two-numbers-of-rounds.mlir").read_text(encoding="utf-8")


TURNS_AND_FAULTS = [
    ("", "", set()),
    (WAIT.format("MTE3", "MTE2"), "", {"core/flags", "core/hazard-war", "core/hazard-waw"}),
    (WAIT.format("MTE3", "MTE2").replace("wait", "set"), "", {"core/flags", "core/hazard-war", "core/hazard-waw"}),
    (WAIT.format("MTE2", "MTE3"), "", {"core/flags", "core/hazard-raw", "core/hazard-waw"}),
    ('pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]', "", {"core/flags"}),
    ('pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]', "", {"core/flags"}),
    ("%turn = arith.remui %j, %two", "%turn = arith.remui %i, %two", set()),  # slower, and right
    ("%size = arith.constant 512", "%size = arith.constant 480", {"core/hazard-war", "core/hazard-waw"}),
    ("%row = arith.constant 128", "%row = arith.constant 120", {"core/hazard-waw"}),
    ("%at0 = arith.muli %i, %m", "%at0 = arith.muli %i, %n", {"core/hazard-waw"}),
]


@pytest.mark.parametrize(("old", "new", "rules"), TURNS_AND_FAULTS)
def test_turns_inside_of_another_loop(old: str, new: str, rules: set[str]) -> None:
    """Proved for a million rounds, refuted in four."""
    text = TURNS.replace("1..1000000", "1..4") if rules else TURNS
    found = check(text.replace(old, new) if old else text)
    assert {f.rule for f in found.errors} == rules
    assert found.status is (Status.REFUTED if rules else Status.PROVED)


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new", "rules"), [one for one in TURNS_AND_FAULTS if one[2]])
def test_a_fault_in_turns_of_a_million_rounds_is_refuted(old: str, new: str, rules: set[str]) -> None:
    found = check(TURNS.replace(old, new))
    assert {f.rule for f in found.errors} == rules
    assert found.status is Status.REFUTED


def test_turns_of_any_number_of_rounds_need_no_range() -> None:
    text = "".join(line for line in TURNS.splitlines(True) if "assume" not in line)
    assert check(text).status is Status.PROVED


@pytest.mark.parametrize(
    ("limit", "says"), [("most_steps", "more than -1 steps of pipes"), ("most_asked", "more than -1 questions")]
)
def test_a_kernel_that_takes_too_much_is_unknown(monkeypatch: pytest.MonkeyPatch, limit: str, says: str) -> None:
    monkeypatch.setattr("dmaverify.prove.flow.kernels.proved_at_once", lambda *_: None)
    monkeypatch.setattr("dmaverify.prove.flow.kernels.found_at_values", lambda *_: None)
    judge = pipes.PipeJudge.__init__
    monkeypatch.setattr(pipes.PipeJudge, "__init__", lambda self, *a, **k: judge(self, *a, **{**k, limit: -1}))
    found = check(TURNS)
    assert found.status is Status.UNKNOWN
    assert any(says in o.why for o in found.obligations)
    assert any("no other was tried" in said for said in found.assumptions)


@pytest.mark.parametrize(
    ("what", "made", "says"),
    [
        ("most_followed", lambda trip: 1, "does not settle"),
        ("State.covers", lambda one, other: False, "differ in a way that is not followed"),
    ],
)
def test_a_loop_that_is_not_followed_to_its_end_is_unknown(
    monkeypatch: pytest.MonkeyPatch, what: str, made: Any, says: str
) -> None:
    monkeypatch.setattr("dmaverify.prove.flow.kernels.proved_at_once", lambda *_: None)
    monkeypatch.setattr("dmaverify.prove.flow.kernels.found_at_values", lambda *_: None)
    monkeypatch.setattr(f"dmaverify.prove.flow.order.pipes.{what}", made)
    found = check(TURNS)
    assert found.status is Status.UNKNOWN
    assert any(says in o.why for o in found.obligations), [o.why for o in found.obligations]


@pytest.mark.parametrize(("turns", "found"), [(1, 1), (2, 2), (5, 5), (7, 7), (16, 16), (17, None)])
def test_buffers_that_take_turns_have_a_period(turns: int, found: int | None) -> None:
    world = World()
    counter = world.free("i", 0, None)
    loop = KernelLoop(counter.terms[0][0], Lin(100), (), NOWHERE)
    assert period_of(world, loop, [world.modulo(counter, turns) * 32], At({})) == found
    assert period_of(world, loop, [counter * 32], At({})) is None


def test_what_a_condition_or_an_inner_loop_makes_of_an_iteration_is_not_that_of_a_period_before() -> None:
    world = World()
    counter = world.free("i", 0, None)
    name, turn = counter.terms[0][0], world.modulo(counter, 2)
    for term, same in ((turn, True), (counter, False)):
        for event in (Branch(compare("lt", term - 1), (), (), NOWHERE), KernelLoop("j", term, (), NOWHERE)):
            outer = KernelLoop("k", Lin(3), (event,), NOWHERE)
            assert [steady(world, [one], name, 2, At({})) for one in (event, outer)] == [same, same]


def turning(depth: int, by: str, turns: int, *, ranged: bool) -> str:
    """Tiles through so many buffers in turn, in a nest of loops; the turn is that of a counter, or of all rounds."""
    args = ", ".join(f"%n{i}: index" for i in range(depth))
    lines = [f"// dmaverify: assume %n{i} in 1..50" for i in range(depth) if ranged]
    lines += [head(1).replace(f"(%s: {GM})", f"(%a: {GM}, %o: {GM}, {args})"), f"%p = arith.constant {turns} : index"]
    ids = [f'pto.{{}}_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID{i}"]' for i in range(turns)]
    lines += [one.format("set") for one in ids]
    at = "%i0"
    for i in range(depth):
        lines += [f"scf.for %x{i} = %i0 to %n{i} step %i1 {{", f"%m{i} = arith.muli {at}, %n{i} : index"]
        lines += [f"%q{i} = arith.addi %m{i}, %x{i} : index"]
        at = f"%q{i}"
    turn = {"inner": f"%x{depth - 1}", "outer": "%x0", "round": at}[by]
    lines += [
        f"%t = arith.remui {turn}, %p : index",
        f"%w = arith.constant 8 : index\n%e = arith.muli {at}, %w : index",
    ]
    lines += [f"%s = pto.addptr %a, %e : {GM} -> {GM}", f"%g = pto.addptr %o, %e : {GM} -> {GM}"]
    lines += ["%y = arith.index_cast %t : index to i64", "%c = arith.muli %y, %l : i64"]
    lines += [f"%d = pto.castptr %c : i64 -> {UB}"]
    step = 'pto.{}_flag_dyn["PIPE_{}", "PIPE_{}", %t]'
    lines += [step.format("wait", "MTE3", "MTE2"), LOAD, *(step.format(a, "MTE2", "MTE3") for a in ("set", "wait"))]
    lines += [f"pto.mte_ub_gm %d, %g, %l nburst(%one, %l, %l) : {UB}, {GM}, i64, i64, i64, i64"]
    lines += [step.format("set", "MTE3", "MTE2"), *["}"] * depth, *(one.format("wait") for one in ids), "return\n}\n"]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("depth", "by", "turns", "ranged"),
    [
        (1, "inner", 8, True), (2, "inner", 2, True), (3, "outer", 2, True), (5, "outer", 1, True),
        (2, "round", 3, True), (2, "round", 2, False), (1, "inner", 8, False),
        *rest([(2, "round", 2, True), (2, "round", 4, True), (2, "inner", 2, False)]),
        *rest([(3, "outer", 2, False), (5, "outer", 1, False), (2, "round", 3, False)]),
    ],
)  # fmt: skip
def test_nests_that_take_turns_are_proved_for_all_numbers_of_rounds(
    depth: int, by: str, turns: int, ranged: bool
) -> None:
    text = turning(depth, by, turns, ranged=ranged)
    assert check(text).status is Status.PROVED
    if ranged and turns > 1 and depth < 3:
        assert check(text.replace("%c = arith.muli %y, %l", "%c = arith.muli %z, %l")).status is Status.REFUTED


def test_paths_in_one_state_that_are_all_there_are_say_nothing() -> None:
    """So that the rounds of a loop around them find the state of the round before, and end."""
    world = World()
    n = world.free("n", 0, None)
    none, odd = compare("le", n), compare("eq", world.modulo(n, 2) - 1)
    facts = [(none,), (none.negated(), odd), (none.negated(), odd.negated())]
    judge = DefiniteJudge(Asker(world, 100_000), "ub", 8)
    (every,) = judge._merged([WrittenPath(bytearray(8), facts=told) for told in facts])
    (some,) = judge._merged([WrittenPath(bytearray(8), facts=told) for told in facts[:2]])
    assert every.facts == ()
    assert not judge.asker.surely(odd.negated(), some.facts)
    assert judge.asker.surely(compare("ne", n - 2), some.facts)


def handed_on(turns: int, first: int, step: str) -> str:
    """The same in two loops, where the turn is a value that one round of both hands on to the next."""
    made, was = step.format(now="%t"), "%t = arith.remui %q1, %p : index\n"
    text = turning(2, "round", turns, ranged=True).replace(was, "")
    text = text.replace("%n0 step %i1 {", "%n0 step %i1 iter_args(%t0 = %begin) -> (index) {")
    inner = "%n1 step %i1 iter_args(%t = %t0) -> (index) {"
    text = text.replace("scf.for %x1", "%t1 = scf.for %x1").replace("%n1 step %i1 {", inner)
    text = text.replace("}\n}\n", f"{made}\nscf.yield %next : index\n}}\nscf.yield %t1 : index\n}}\n", 1)
    text = text.replace("scf.for %x0", "%end = scf.for %x0")
    return text.replace("%p = arith", f"%begin = arith.constant {first} : index\n%p = arith")


WRAPS = """%up = arith.addi {now}, %i1 : index
%far = arith.cmpi eq, %up, %p : index
%next = arith.select %far, %i0, %up : index"""


@pytest.mark.parametrize(
    ("turns", "first", "step", "status"),
    [
        (2, 0, "%next = arith.subi %i1, {now} : index", Status.PROVED),
        (2, 1, "%next = arith.xori {now}, %i1 : index", Status.PROVED),
        (2, 0, "%up = arith.addi {now}, %i1 : index\n%next = arith.remui %up, %p : index", Status.PROVED),
        (3, 0, WRAPS, Status.PROVED),
        (4, 2, WRAPS, Status.PROVED),
        (3, 3, WRAPS, Status.UNKNOWN),  # the first round has no turn of three
        (2, 0, "%next = arith.addi {now}, %i1 : index", Status.REFUTED),
    ],
)
def test_a_turn_that_two_loops_hand_on_is_that_of_the_round(turns: int, first: int, step: str, status: Status) -> None:
    assert check(handed_on(turns, first, step)).status is status


def test_accesses_that_become_one_are_no_witness_where_not_the_same_is_known_of_them() -> None:
    new, old, last = ((1, (("i", "now", age),)) for age in (5, 6, 7))
    for known, handed, blurs in (({"V"}, {old, new}, True), (set(), {new}, True), (set(), {old, new}, False)):
        found: set[Any] = set()
        state = State({("S", "V", 0): (frozenset(handed), 0)}, {new: frozenset(known), old: frozenset()}, {})
        renamed(state, lambda _: last, found)
        assert (last in found) is blurs


def test_a_joined_state_covers_both() -> None:
    one, two, three = ((n, (("i", "now", -1),)) for n in (1, 2, 3))
    flag, rng = ("MTE2", "MTE3", 0), random.Random(3)
    for _ in range(200):
        states = []
        for _ in range(2):
            pending = {i: frozenset(rng.sample(["MTE2", "MTE3", "V"], rng.randrange(3))) for i in (one, two, three)
                       if rng.random() < 0.7}  # fmt: skip
            done = frozenset(i for i in pending if rng.random() < 0.5)
            states.append(State({flag: (done, 0)}, pending, {}))
        assert all(joined(*states).covers(state) for state in states)


FIRST: Instance = (1, ())


@pytest.mark.parametrize(
    ("outstanding", "handed", "others_handed", "covers"),
    [
        ({FIRST: frozenset()}, set(), {FIRST}, True),
        ({FIRST: frozenset()}, {FIRST}, {FIRST}, True),
        ({FIRST: frozenset()}, {FIRST}, set(), False),
        ({}, {FIRST}, set(), True),  # what is outstanding no more may be handed on or not
    ],
)
def test_a_state_covers_another_where_it_hands_on_no_more_of_what_is_outstanding(
    outstanding: dict[Instance, frozenset[str]], handed: set[Instance], others_handed: set[Instance], covers: bool
) -> None:
    one, other = (State({("V", "M", 0): (frozenset(h), 1)}, outstanding, {}) for h in (handed, others_handed))
    assert one.covers(other) is covers


@pytest.mark.parametrize(("most", "followed"), [(None, 48), (20, 48), (48, 49), (159, 160), (160, 48)])
def test_a_loop_of_at_most_so_many_iterations_is_followed_until_its_end_or_until_its_state_comes_back(
    most: int | None, followed: int
) -> None:
    assert most_followed(most) == followed


DOWN = """func.func @k(%a: !pto.ptr<f32, gm>, %n: i32, %to: i32) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %l = arith.constant 32 : i64
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %d = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %s = pto.addptr %a, %z : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  %e = scf.while (%left = %n) : (i32) -> i32 {
    %more = arith.cmpi GOES : i32
    scf.condition(%more) %left : i32
  } do {
  ^bb0(%now: i32):
    LOAD
    pto.barrier #pto.pipe<PIPE_ALL>
    %less = arith.subi %now, %c1 : i32
    scf.yield %NEXT : i32
  }
  return
}
"""


@pytest.mark.parametrize(
    ("goes", "after", "ends"),
    [
        ("sgt, %left, %c0", "less", True),
        ("sgt, %left, %c0", "now", False),  # what it counts does not change
        ("ne, %left, %c0", "less", True),
        ("ne, %left, %to", "less", False),  # it may begin below its end
        ("slt, %left, %to", "less", False),  # it counts away from its end
        ("sge, %left, %to", "less", True),
    ],
)
def test_a_loop_that_is_not_shown_to_end_is_a_condition(goes: str, after: str, ends: bool) -> None:
    text = DOWN.replace("GOES", goes).replace("NEXT", after).replace("LOAD", LOAD)
    found = check("// dmaverify: gm %a = 4096 bytes\n// dmaverify: assume %n in 0..8\n" + text)
    assert found.status is Status.PROVED
    assert ("the loop at line 11 ends" in found.conditions) is not ends, found.conditions


FIRST = f"""%z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %l = arith.constant 32 : i64
  %d = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %s = pto.addptr %a, %z : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  {LOAD}"""
ROUNDS = """// dmaverify: assume %n in {least}..{most}
// dmaverify: gm %a = 4096 bytes
func.func @k(%a: !pto.ptr<f32, gm>, %n: index) {{
  FIRST
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.while (%i = {first}) : (index) -> (index) {{
    {bound}
    %more = arith.cmpi {runs} : index
    scf.condition(%more) %i : index
  }} do {{
  ^bb0(%now: index):
    %id = arith.{id} : index
    pto.set_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %id]
    pto.wait_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %id]
    %two = arith.constant 2 : index
    %next = arith.{step} : index
    scf.yield %next : index
  }}
  return
}}
"""
UP = {"first": "%c0", "bound": "", "id": "addi %now, %c0", "step": "addi %now, %c1"}
DOWNWARDS = {
    "first": "%n",
    "bound": "%end = arith.constant 0 : index",
    "id": "subi %now, %c1",
    "step": "subi %now, %c1",
}


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (UP | {"runs": "ult, %i, %n"}, 8),
        (UP | {"runs": "ugt, %n, %i"}, 8),
        (UP | {"runs": "ult, %i, %n", "bound": "%o = memref.load %n[%i] : memref<8xindex>"}, 8),
        (UP | {"runs": "sle, %i, %n"}, 7),
        (UP | {"runs": "ne, %i, %n"}, 8),
        (UP | {"runs": "ult, %i, %n", "step": "addi %two, %now"}, 8),
        (DOWNWARDS | {"runs": "ugt, %i, %end"}, 8),
        (DOWNWARDS | {"runs": "ne, %i, %c0"}, 8),
    ],
)
def test_a_while_loop_that_counts_runs_as_often_as_its_condition_says(text: dict[str, str], most: int) -> None:
    for n, status in ((most, Status.PROVED), (most + 1, Status.REFUTED)):
        found = check(ROUNDS.replace("FIRST", FIRST).format(least=1, most=n, **text))
        judged = {one.id: one.status for one in found.obligations}
        assert judged["pto/event-id"] == status.value, (n, [f.message for f in found.findings])
        assert not any("ends" in one for one in found.conditions)


@pytest.mark.parametrize(
    "text",
    [
        UP | {"runs": "ult, %i, %n", "step": "muli %now, %two"},
        UP | {"runs": "ult, %i, %o", "bound": "%o = memref.load %n[%i] : memref<8xindex>"},
    ],
)
def test_a_while_loop_that_may_count_otherwise_is_not_taken_to(text: dict[str, str]) -> None:
    found = check(ROUNDS.replace("FIRST", FIRST).format(least=1, most=3, **text))
    assert found.status is Status.UNKNOWN
    assert not found.findings


@pytest.mark.parametrize(
    ("past", "condition"),
    [
        (
            DOWNWARDS | {"runs": "ugt, %i, %end", "step": "subi %now, %two"},
            "`%more` takes a value that is not negative",
        ),
        (UP | {"runs": "ne, %i, %n", "step": "addi %now, %two"}, "the loop at line 13 ends"),
    ],
)
def test_a_while_loop_that_counts_past_its_end_is_proved_where_it_does_not(
    past: dict[str, str], condition: str
) -> None:
    found = check(ROUNDS.replace("FIRST", FIRST).format(least=1, most=3, **past))
    assert found.status is Status.PROVED
    assert any(condition in one for one in found.conditions)  # %n is even


@pytest.mark.parametrize(("most", "status"), [(8, Status.PROVED), (9, Status.REFUTED)])
def test_a_bound_that_every_round_makes_again_is_a_bound(most: int, status: Status) -> None:
    text = UP | {"runs": "ult, %i, %o", "bound": "%o = arith.addi %n, %c0 : index"}
    found = check(ROUNDS.replace("FIRST", FIRST).format(least=1, most=most, **text))
    assert {one.id: one.status for one in found.obligations}["pto/event-id"] == status.value
    assert not any("ends" in one for one in found.conditions)


@pytest.mark.parametrize(("limit", "status"), [(8, Status.PROVED), (9, Status.REFUTED)])
def test_the_id_of_a_flag_is_judged_where_it_runs(limit: int, status: Status) -> None:
    found = check(
        f"""// dmaverify: assume %n in 0..100
// dmaverify: gm %a = 4096 bytes
func.func @k(%a: !pto.ptr<f32, gm>, %n: index) {{
  FIRST
  %c = arith.constant {limit} : index
  %less = arith.cmpi ult, %n, %c : index
  scf.if %less {{
    pto.set_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %n]
    pto.wait_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %n]
  }}
  return
}}
""".replace("FIRST", FIRST)
    )
    assert {one.id: one.status for one in found.obligations}["pto/event-id"] == status.value


IN_PAIRS = """// dmaverify: gm %a = 1024 bytes
// dmaverify: gm %o = 1024 bytes
// dmaverify: assume %n in 1..9
func.func @k(%a: !pto.ptr<f32, gm>, %o: !pto.ptr<f32, gm>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %eight = arith.constant 8 : index
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %l = arith.constant 32 : i64
  %b = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %last = arith.subi %n, LEFT : index
  %half = arith.divui %n, %two : index
  scf.for %p = %zero to %half step %one {
    %p2 = arith.muli %p, %two : index
    scf.for %q = %zero to %two step %one {
      %i = arith.addi %p2, %q : index
ROW
    }
  }
  %done = arith.muli %half, %two : index
  scf.for %i = %done to %n step %one {
ROW
  }
  return
}
"""
ROW_BEHIND_THE_LAST = """%later = arith.cmpi sge, %i, %one : index
scf.if %later { pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"] }
%at = arith.muli %i, %eight : index
%g = pto.addptr %a, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
%h = pto.addptr %o, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
pto.mte_gm_ub %g, %b, %z, %l nburst(%u, %l, %l) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
pto.mte_ub_gm %b, %h, %l nburst(%u, %l, %l) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
%more = arith.cmpi slt, %i, %last : index
scf.if %more { pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"] }"""


@pytest.mark.parametrize(("left", "status"), [("%one", Status.UNKNOWN), ("%zero", Status.REFUTED)])
def test_a_flag_that_is_right_at_all_values_tried_is_not_refuted(left: str, status: Status) -> None:
    found = check(IN_PAIRS.replace("LEFT", left).replace("ROW", ROW_BEHIND_THE_LAST))
    assert found.status is status
    assert all("where %n = " in f.message for f in found.errors if f.rule == "core/flags")


ONLY_LATE = f"""func.func @k(%a: {GM}, %n: index) {{
  %limit = arith.constant LIMIT : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %l = arith.constant 32 : i64
  %d = pto.castptr %z : i64 -> {UB}
  {LOAD.replace("%s", "%a")}
  %more = arith.cmpi sgt, %n, %limit : index
  scf.if %more {{ {LOAD.replace("%s", "%a")} }}
  return
}}
"""


@pytest.mark.parametrize("limit", [1, 2_048, 1 << 20])
def test_a_hazard_of_all_values_is_told_with_the_least_at_which_a_run_shows_it(limit: int) -> None:
    (hazard,) = check(ONLY_LATE.replace("LIMIT", str(limit))).errors
    assert hazard.rule == "core/hazard-waw"
    assert hazard.message.endswith(f"nothing orders them, where %n = {limit + 1:,}")
    assert hazard.witness == {"%n": limit + 1}


@pytest.mark.parametrize(("shown", "status"), [(3_000, Status.REFUTED), (3, Status.UNKNOWN)])
def test_a_hazard_that_a_run_at_its_values_does_not_show_is_left_open(
    monkeypatch: pytest.MonkeyPatch, shown: int, status: Status
) -> None:
    monkeypatch.setattr("dmaverify.prove.flow.order.pipe_meets.Meetings.where", lambda *_: {"n": shown})
    found = check(ONLY_LATE.replace("LIMIT", "2048"))
    assert {one.id: one.status for one in found.obligations}["core/hazard-waw"] == status.value
    assert found.status is status
    if status is Status.UNKNOWN:
        assert any(o.why == "what seems not to be ordered is, in a run where %n = 3" for o in found.obligations)


@pytest.mark.parametrize(("other", "status"), [("%s", Status.PROVED), ("%r", Status.UNKNOWN)])
@pytest.mark.parametrize("stated", ["", "// dmaverify: assume %x in 0..9\n// dmaverify: assume %y in 0..9\n"])
def test_conditions_that_no_values_meet_together_prove_nothing(stated: str, other: str, status: Status) -> None:
    loops = "".join(
        f"scf.for %i{k} = %i0 to %n step {step} {{\n{LOAD}\npto.barrier #pto.pipe<PIPE_ALL>\n}}\n"
        for k, step in enumerate(("%s", other), 1)
    )
    steps = "%s = arith.subi %x, %y : index\n%r = arith.subi %y, %x : index\n"
    start = head(8).replace(f"%s: {GM}", f"%g: {GM}, %x: index, %y: index")
    start += f"%d = pto.castptr %z : i64 -> {UB}\n"
    found = check(stated + start + steps + loops.replace("%s, %d", "%g, %d") + "return\n}\n")
    assert found.status is status
    vacuous = {one.id: one.why for one in found.obligations}.get("core/not-vacuous")
    assert vacuous == (None if status is Status.PROVED else "no values meet all that is stated and supposed")


CARRIED = """// dmaverify: gm %in = {size} bytes
// dmaverify: assume %n in 1..{most}
func.func @k(%in: !pto.ptr<i8, gm>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %len = arith.constant 32 : i64
  %yes = arith.constant true
  %ub = pto.castptr %z : i64 -> !pto.ptr<i8, ub>
  {before}
  {loop} {{
    {first}
    %o = arith.muli %x, %c32 : index
    %src = pto.addptr %in, %o : !pto.ptr<i8, gm> -> !pto.ptr<i8, gm>
    pto.mte_gm_ub %src, %ub, %z, %len nburst(%one, %len, %len)
      : !pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64
    pto.barrier #pto.pipe<PIPE_ALL>
    {step}
    scf.yield %w : index
  }}
  return
}}
"""
FOR = "%r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c1) -> (index)"


@pytest.mark.parametrize(
    ("step", "status"),
    [
        ("%y = arith.subi %x, %c3 : index\n%w = arith.remsi %y, %c4 : index", Status.UNKNOWN),  # 1, then -2
        ("%y = arith.subi %x, %c1 : index\n%w = arith.maxui %y, %c0 : index", Status.UNKNOWN),  # 1, 0, then 2^64 - 1
        ("%y = arith.addi %x, %c3 : index\n%w = arith.remui %y, %c4 : index", Status.PROVED),
        ("%y = arith.subi %x, %c1 : index\n%w = arith.maxsi %y, %c0 : index", Status.PROVED),
    ],
)
def test_a_form_holds_only_if_an_iteration_hands_it_on(step: str, status: Status) -> None:
    text = CARRIED.format(size=128, most=4, before="", loop=FOR, first="", step=step)
    assert check(text).status is status


@pytest.mark.parametrize(
    ("made", "most", "status"),
    [("%c1", 4, Status.PROVED), ("%c1", 5, Status.REFUTED), ("%c4", 4, Status.PROVED), ("%c4", 5, Status.REFUTED)],
)
def test_a_step_is_not_looked_up_by_a_name_that_another_region_gave(made: str, most: int, status: Status) -> None:
    before = "scf.if %yes { %st = arith.constant 4 : index }"
    loop = "%r = scf.while (%x0 = %c0) : (index) -> (index) {\n%c = arith.cmpi slt, %x0, %n : index\n"
    loop += "scf.condition(%c) %x0 : index\n} do"
    step = f"%st = scf.if %yes -> (index) {{ scf.yield {made} : index }} else {{ scf.yield {made} : index }}\n"
    step += "%w = arith.addi %x, %st : index"
    text = CARRIED.format(size=128, most=most, before=before, loop=loop, first="^bb0(%x: index):", step=step)
    assert check(text).status is status


def test_what_hangs_on_a_value_that_is_not_followed_is_open() -> None:
    inside = "%t = arith.cmpi sgt, %x, %c3 : index\nscf.if %t {\n"
    inside += "%far = pto.addptr %in, %c32 : !pto.ptr<i8, gm> -> !pto.ptr<i8, gm>\n" + LOAD.replace("f32", "i8")
    inside = inside.replace("%s, %d", "%far, %ub").replace("%l", "%len")
    loop = FOR.replace("%x = %c1", "%v = %c0").replace("%c1 iter", "%c1 iter")
    step = "%w = arith.muli %v, %v : index"
    text = CARRIED.format(size=32, most=4, before="", loop=loop, first="%x = arith.muli %v, %c1 : index", step=step)
    text = text.replace("%o = arith.muli %x, %c32", "%o = arith.muli %c0, %c32")
    opened = text.replace("%o =", inside.replace(" %x,", " %x,") + "\npto.barrier #pto.pipe<PIPE_ALL>\n}\n%o =", 1)
    assert check(text).status is Status.PROVED
    assert check(opened).status is Status.UNKNOWN  # %x is 0 in every round, which no form says


@pytest.mark.parametrize(("condition", "status"), [("%given", Status.REFUTED), ("%nowhere", Status.UNKNOWN)])
def test_a_branch_on_a_name_that_nothing_defines_refutes_nothing(condition: str, status: Status) -> None:
    inside = f"scf.if {condition} {{\n%far = pto.addptr %in, %c32 : !pto.ptr<i8, gm> -> !pto.ptr<i8, gm>\n"
    inside += LOAD.replace("f32", "i8").replace("%s, %d", "%far, %ub").replace("%l", "%len")
    loop = FOR.replace("%x = %c1", "%v = %c0")
    text = CARRIED.format(
        size=32,
        most=4,
        before="",
        loop=loop,
        first="%x = arith.muli %v, %c1 : index",
        step="%w = arith.muli %v, %v : index",
    )
    text = text.replace("%o = arith.muli %x, %c32", "%o = arith.muli %c0, %c32").replace(
        "%n: index", "%n: index, %given: i1"
    )
    assert check(text).status is Status.PROVED
    opened = text.replace("%o =", inside + "\npto.barrier #pto.pipe<PIPE_ALL>\n}\n%o =", 1)
    assert check(opened).status is status


OPEN_ROUNDS = f"""// dmaverify: assume %n in 1..5
func.func @k(%s: {GM}, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %z = arith.constant 0 : i64
  %cache = arith.constant CACHE : i64
  %one = arith.constant 1 : i64
  %l = arith.constant 256 : i64
  %d = pto.castptr %z : i64 -> {UB}
  %x = arith.andi %n, %n : index
  %rounds = scf.for %i = BOUNDS iter_args(%r = %z) -> (i64) {{
    %more = arith.addi %r, %one : i64
    {LOAD.replace("%z, %l", "%l, %l")}
    scf.yield %more : i64
  }}
  {LOAD.replace("%z, %l", "%cache, %l")}
  %often = arith.cmpi sgt, %rounds, %l : i64
  scf.if %often {{ {LOAD.replace("%z, %l", "%l, %l")} }}
  return
}}
"""


@pytest.mark.parametrize("bounds", ["%c7 to %x step %c1", "%x to %c0 step %c1", "%c2 to %c2 step %x"])
@pytest.mark.parametrize(("cache", "status"), [(15, Status.UNKNOWN), (16, Status.REFUTED)])
def test_a_loop_whose_bounds_are_not_followed_refutes_nothing_of_its_rounds(
    bounds: str, cache: int, status: Status
) -> None:
    """None has a round: what they would do is no fault; one outside of it, a field that is too large, is."""
    found = check(OPEN_ROUNDS.replace("BOUNDS", bounds).replace("CACHE", str(cache)))
    assert found.status is status
    assert {f.rule for f in found.errors} == ({"pto/cache-ctl"} if status is Status.REFUTED else set())


@pytest.mark.parametrize(
    ("first", "test", "step", "status"),
    [
        ("%n", "ult, %x0, %n", "addi %x, %n", Status.PROVED),  # false at first
        ("%n", "ugt, %n, %x0", "subi %x, %n", Status.PROVED),  # and true in a second round that there is not
        ("%c0", "ult, %x0, %n", "addi %x, %n", Status.REFUTED),
        ("%n", "ne, %x0, %n", "addi %x, %c3", Status.PROVED),
        ("%c4", "slt, %x0, %c4", "addi %x, %x", Status.UNKNOWN),  # false at first, of a value that no form gives
    ],
)
def test_a_loop_whose_condition_is_false_at_first_does_nothing(
    first: str, test: str, step: str, status: Status
) -> None:
    loop = f"%r = scf.while (%x0 = {first}) : (index) -> (index) {{\n%c = arith.cmpi {test} : index\n"
    loop += "scf.condition(%c) %x0 : index\n} do"
    text = CARRIED.format(
        size=32, most=4, before="", loop=loop, first="^bb0(%x: index):", step=f"%w = arith.{step} : index"
    )
    assert check(text.replace("muli %x, %c32", "addi %c32, %c0")).status is status


@pytest.mark.parametrize(("low", "status"), [(10, Status.REFUTED), (100, Status.PROVED)])
def test_a_loop_that_does_not_run_need_not_end(low: int, status: Status) -> None:
    """The loop ends for even %n alone; behind it, an odd %n from `low` on copies past the end."""
    loop = (
        "%small = arith.cmpi slt, %n, %c4 : index\nscf.if %small {\n%r = scf.while (%x0 = %c0) : (index) -> (index) {\n"
    )
    loop += "%c = arith.cmpi ne, %x0, %n : index\nscf.condition(%c) %x0 : index\n} do"
    step = "%two = arith.constant 2 : index\n%w = arith.addi %x, %two : index"
    text = CARRIED.format(size=64, most=20, before="", loop=loop, first="^bb0(%x: index):", step=step)
    behind = f"}}\n%edge = arith.constant {low} : index\n%far = arith.cmpi sge, %n, %edge : index\n"
    behind += "%odd = arith.remui %n, %c4 : index\n%three = arith.cmpi eq, %odd, %c3 : index\n"
    copy = text[text.index("pto.mte_gm_ub") : text.index("pto.barrier")].replace("%src", "%past")
    behind += "scf.if %far {\nscf.if %three {\n%past = pto.addptr %in, %c64 : !pto.ptr<i8, gm> -> !pto.ptr<i8, gm>\n"
    text = text.replace("muli %x, %c32", "addi %c0, %c0").replace("  return\n", behind + copy + "}\n}\nreturn\n")
    assert check(text.replace("%c0 =", "%c64 = arith.constant 64 : index\n%c0 =", 1)).status is status


def ring(turns: int, rounds: int | str, *, early: int = 0, late: int = 0) -> str:
    """Buffers in turn without a prime and a drain: what hands one back is waited for from round `turns` on, and set up
    to round n - `turns`; `early` and `late` are how many rounds both are away from that.
    """
    known = isinstance(rounds, int)
    constants = {f"c{n}": n for n in (0, 1, turns, 8)}
    lines = [f"%{name} = arith.constant {n} : index" for name, n in constants.items()]
    lines += [f"%from = arith.constant {turns + early} : index", f"%behind = arith.constant {turns - late} : index"]
    lines += [f"%n = arith.constant {rounds} : index"] if known else []
    lines += [f"%{name} = arith.constant {n} : i64" for name, n in (("z", 0), ("u", 1), ("l", 32))]
    return "\n".join(
        [
            *(f"// dmaverify: gm %{name} = 4096 bytes" for name in "ao"),
            *([] if known else [f"// dmaverify: assume %n in {rounds}"]),
            f"func.func @k(%a: {GM}, %o: {GM}{'' if known else ', %n: index'}) {{",
            *lines,
            f"%b = pto.castptr %z : i64 -> {UB}",
            "%end = arith.subi %n, %behind : index",
            "scf.for %i = %c0 to %n step %c1 {",
            f"%p = arith.remui %i, %c{turns} : index",
            "%o1 = arith.muli %p, %c8 : index",
            f"%d = pto.addptr %b, %o1 : {UB} -> {UB}",
            "%o2 = arith.remui %i, %c8 : index",
            "%o3 = arith.muli %o2, %c8 : index",
            f"%s = pto.addptr %a, %o3 : {GM} -> {GM}",
            "%w = arith.cmpi sge, %i, %from : index",
            'scf.if %w { pto.wait_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %p] }',
            LOAD,
            'pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID7"]',
            'pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID7"]',
            f"pto.mte_ub_gm %d, %o, %l nburst(%u, %l, %l) : {UB}, {GM}, i64, i64, i64, i64",
            "pto.barrier #pto.pipe<PIPE_MTE3>",
            "%more = arith.cmpi slt, %i, %end : index",
            'scf.if %more { pto.set_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %p] }',
            "}",
            "return",
            "}",
        ]
    ).replace("%one, %l", "%u, %l")


RINGS = [(rounds, turns) for rounds in (4, 32, 33, 64, 100, 128) for turns in (1, 2, 3)]
SHORT = [(4, 1), (4, 2), (4, 3), (33, 1), (33, 2), (128, 2)]


@pytest.mark.parametrize(("rounds", "turns"), [*SHORT, *rest(one for one in RINGS if one not in SHORT)])
def test_a_ring_that_is_guarded_at_both_ends_is_followed_to_its_last_rounds(turns: int, rounds: int) -> None:
    def beside(**away: int) -> Verdict:
        (found,) = check_text(Source("k.mlir", ring(turns, rounds, **away)), options=Options(cross_check=1 << 16))
        return found

    assert beside().status is Status.PROVED
    assert {f.rule for f in beside(late=1).errors} == {"core/flags"}
    assert "core/flags" in {f.rule for f in beside(early=1).errors}


@pytest.mark.parametrize("rounds", ["1..64", "1..100000"])
def test_what_lies_behind_rounds_that_are_not_followed_is_open(rounds: str) -> None:
    assert [f.rule for f in check(ring(2, rounds)).errors] == []
    wrong = check(ring(2, rounds, late=1)).errors
    assert wrong
    assert all("where %n = " in f.message and f.witness for f in wrong)


@pytest.mark.parametrize("rounds", [160, "1..64", "1..100000"])
def test_a_long_ring_that_no_run_follows_to_its_end_is_proved_with_its_ends_apart(rounds: int | str) -> None:
    assert check(ring(2, rounds)).status is Status.PROVED
    assert check(ring(2, rounds, late=1)).status is Status.REFUTED


def test_a_long_ring_is_open_where_its_remainders_come_together_too_late() -> None:
    assert check(ring(3, 160)).status is Status.UNKNOWN  # of 3 and 8


@pytest.mark.parametrize("followed", [True, False])
@pytest.mark.parametrize(("sets", "rules"), [("eq", set()), ("sge", {"core/flags"})])
def test_what_the_last_rounds_hand_on_is_not_missing_in_those_before(
    monkeypatch: pytest.MonkeyPatch, sets: str, rules: set[str], followed: bool
) -> None:
    """A flag that is set in the last round but one (`sge`: and again in the last), and waited for in the last."""
    if followed:
        monkeypatch.setattr("dmaverify.prove.flow.kernels.proved_at_once", lambda *_: None)
    flag = '["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]'
    body = f"""%w = arith.cmpi eq, %i, %last : index
scf.if %w {{ pto.wait_flag{flag} }}
{LOAD.replace("%s", "%a").replace("%one", "%u")}
pto.barrier #pto.pipe<PIPE_MTE2>
%more = arith.cmpi COMPARE, %i, %set : index
scf.if %more {{ pto.set_flag{flag} }}
"""
    text = ring(1, 64).partition("scf.for")[0] + "%last = arith.constant 63 : index\n%set = arith.constant 62 : index\n"
    text += "%d = pto.addptr %b, %c0 : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>\nscf.for %i = %c0 to %n step %c1 {\n"
    found = check(text + body.replace("COMPARE", sets) + "}\nreturn\n}\n")
    assert found.status is (Status.REFUTED if rules else Status.PROVED)
    assert {f.rule for f in found.errors} == rules


KEPT = """func.func @k(%s: {GM}, %o: {GM}, %n: index) {{
%i0 = arith.constant 0 : index
%i1 = arith.constant 1 : index
%i8 = arith.constant 8 : index
%z = arith.constant 0 : i64
%one = arith.constant 1 : i64
%l = arith.constant 32 : i64
%u = pto.castptr %z : i64 -> {UB}
scf.for %x = %i0 to %n step %i1 {{
  %later = arith.cmpi {later}, %x, %i0 : index
  scf.if %later {{
    pto.mte_ub_gm %u, %o, %l nburst(%one, %l, %l) : {UB}, {GM}, i64, i64, i64, i64
  }}
  pto.barrier <PIPE_ALL>
  %at = arith.addi %x, {first} : index
  %w = arith.muli %at, %i8 : index
  %d = pto.addptr %u, %w : {UB} -> {UB}
  {LOAD}
  pto.barrier <PIPE_ALL>
}}
return
}}
"""


@pytest.mark.parametrize(
    ("later", "first", "status"),
    [
        ("sgt", "%i0", Status.PROVED),  # what the first round loaded
        ("sge", "%i0", Status.REFUTED),  # before it was loaded
        ("sgt", "%i1", Status.REFUTED),  # no round loads it
    ],
)
@pytest.mark.parametrize("most", [3, 100, 5000])
def test_what_an_earlier_round_wrote_elsewhere_is_not_missing(
    most: int, later: str, first: str, status: Status
) -> None:
    notes = (
        f"// dmaverify: gm %s = 32 bytes\n// dmaverify: gm %o = 32 bytes\n// dmaverify: assume %n in {most}..{most}\n"
    )
    text = notes + KEPT.format(GM=GM, UB=UB, LOAD=LOAD, later=later, first=first)
    found = check(text)
    assert found.status is status
    assert {f.rule for f in found.errors} <= {"core/definite"}


PARTLY = """func.func @k(%s: {GM}, %o: {GM}, %n: index, %m: index) {{
%i0 = arith.constant 0 : index
%i1 = arith.constant 1 : index
%z = arith.constant 0 : i64
%one = arith.constant 1 : i64
%l = arith.constant 32 : i64
%four = arith.constant 4 : i64
%far = arith.constant 64 : i64
%u = pto.castptr %z : i64 -> {UB}
%half = pto.addptr %u, %i32 : {UB} -> {UB}
%i8 = arith.constant 8 : index
%i1024 = arith.constant 1024 : index
%beyond = pto.addptr %u, %i1024 : {UB} -> {UB}
scf.for %x = %i0 to %n step %i1 {{
  %at = arith.muli %x, %i8 : index
  %d = pto.addptr %beyond, %at : {UB} -> {UB}
  {LOAD}
  {around}
  pto.mte_gm_ub %s, %u, %z, %l nburst(%four, %l, %far) : {GM}, {UB}, i64, i64, i64, i64, i64
  pto.barrier <PIPE_ALL>
  {behind}
  pto.mte_ub_gm %half, %o, %l nburst(%rows, %far, %l) : {UB}, {GM}, i64, i64, i64, i64
  pto.barrier <PIPE_ALL>
  {ends}
}}
return
}}
"""


@pytest.mark.parametrize(
    ("around", "behind", "ends", "rows", "least", "proved"),
    [
        ("", "", "", 2, 0, True),
        ("", "", "", 3, 0, False),  # a row too many
        ("scf.for %y = %i0 to %m step %i1 {", "", "}", 2, 0, True),
        ("scf.for %y = %i0 to %m step %i1 {", "}", "", 2, 1, True),
        ("scf.for %y = %i0 to %m step %i1 {", "}", "", 2, 0, False),  # which may not run
    ],
)
def test_a_part_of_what_each_round_writes_at_one_place_was_written(
    around: str, behind: str, ends: str, rows: int, least: int, proved: bool
) -> None:
    notes = "".join(f"// dmaverify: gm %{name} = 128 bytes\n" for name in "so")
    notes += f"// dmaverify: assume %m in {least}..1000\n// dmaverify: assume %n in 0..1000\n"
    text = PARTLY.format(GM=GM, UB=UB, LOAD=LOAD, around=around, behind=behind, ends=ends)
    text = text.replace("%i1 =", f"%rows = arith.constant {rows} : i64\n%i32 = arith.constant 32 : index\n%i1 =", 1)
    found = check(notes + text)
    assert (found.status is Status.PROVED) == proved, found


SPOILT = """func.func @k(%s: {GM}, %o: {GM}, %n: index) {{
%i0 = arith.constant 0 : index
%i1 = arith.constant 1 : index
%i8 = arith.constant 8 : index
%far = arith.constant {far} : index
%z = arith.constant 0 : i64
%one = arith.constant 1 : i64
%l = arith.constant 32 : i64
%short = arith.constant 8 : i64
%all = arith.constant 8192 : i64
%u = pto.castptr %z : i64 -> {UB}
%kept = pto.addptr %u, %far : {UB} -> {UB}
pto.mte_gm_ub %s, %u, %z, %all nburst(%one, %all, %all) : {GM}, {UB}, i64, i64, i64, i64, i64
pto.barrier <PIPE_ALL>
scf.for %x = %i0 to %n step %i1 {{
  {again}
  pto.barrier <PIPE_ALL>
  pto.mte_ub_gm %kept, %o, %l nburst(%one, %l, %l) : {UB}, {GM}, i64, i64, i64, i64
  pto.barrier <PIPE_ALL>
  %w = arith.muli %x, %i8 : index
  %d = pto.addptr %u, %w : {UB} -> {UB}
  pto.mte_gm_ub %s, %d, %z, %short nburst(%one, %short, %l) : {GM}, {UB}, i64, i64, i64, i64, i64
  pto.barrier <PIPE_ALL>
}}
return
}}
"""
AGAIN = LOAD.replace("%d", "%kept")


@pytest.mark.parametrize(
    ("far", "again", "proved"),
    [(400, "", False), (800, "", True), (792, "", True), (784, "", False), (400, AGAIN, True)],
)
def test_what_a_round_spoils_is_not_found_by_the_rounds_behind_it(far: int, again: str, proved: bool) -> None:
    """The rest of a block that each round loads in part holds nothing known. That of block 99 is lost behind the last
    read of it, of a hundred rounds.
    """
    notes = "".join(f"// dmaverify: gm %{name} = 8192 bytes\n" for name in "so")
    text = SPOILT.format(GM=GM, UB=UB, far=far, again=again)
    found = check(f"{notes}// dmaverify: assume %n in 0..100\n" + text)
    allowed = {f.rule for f in found.errors} <= {"core/definite"}
    assert allowed
    assert (found.status is Status.PROVED) == proved
    if far < 800 and not again:
        assert check(notes + text).status is not Status.PROVED  # of any length


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [("%n", "%n", Status.PROVED), ("%more", "%n", Status.PROVED), ("%n", "%more", Status.REFUTED)],
)
def test_what_a_loop_reads_of_an_earlier_pass_was_written_only_in_the_rounds_that_it_had(
    first: str, second: str, status: Status
) -> None:
    """A loop that is run twice, and stores in the second pass what the first one loaded."""
    more = "%more = arith.addi %n, %i1 : index"
    start = head(1).replace(") {", f", %o: {GM}, %n: index) {{", 1).replace("%n = arith.constant 1 : index", more)
    text = f"""// dmaverify: assume %n in 20..50
{start}
%i2 = arith.constant 2 : index
%i32 = arith.constant 32 : index
scf.for %k = %i0 to %i2 step %i1 {{
%again = arith.cmpi sge, %k, %i1 : index
%t = arith.select %again, {second}, {first} : index
scf.for %c = %i0 to %t step %i1 {{
%a = arith.muli %c, %i32 : index
%at = arith.index_cast %a : index to i64
%d = pto.castptr %at : i64 -> {UB}
pto.barrier #pto.pipe<PIPE_ALL>
scf.if %again {{
pto.mte_ub_gm %d, %o, %l nburst(%one, %l, %l) : {UB}, {GM}, i64, i64, i64, i64
}}
pto.barrier #pto.pipe<PIPE_ALL>
{LOAD}
}}
}}
pto.barrier #pto.pipe<PIPE_ALL>
return
}}
"""
    found = check(text)
    assert found.status is status
    assert {f.rule for f in found.errors} == ({"core/definite"} if status is Status.REFUTED else set())
