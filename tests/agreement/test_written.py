"""Plans of every kind that can be written: the proof and the interpreter say the same, and right plans are right.

Two of each kind, and one with each fault; `make fuzz` draws a hundred thousand.
"""

from __future__ import annotations

import itertools
import random
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from lab.against import complaint, judged_twice, shrunk, twin_complaint
from lab.drawn_views import twin
from lab.draws import counted, rest
from lab.written import KINDS, WrittenPlan, seeded, written

from dmaverify.execute.interpret import interpret
from dmaverify.execute.outcome import Beyond
from dmaverify.jobs.retold import rules_of
from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.plan.execution import PlanExecution
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.options import Options
from dmaverify.testing.draw import Seeded
from dmaverify.testing.strategies import drawn as drawn_by
from dmaverify.verdict import Status

PLAIN = str(Path(__file__).parents[1] / "fuzz" / "plain")
GROWING = (
    "views", "tiles", "nested", "stores", "rows", "in-place", "commands", "padding", "pipeline", "both", "in-parts",
    "replicas", "engines", "lists", "partly",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("each", counted(2, 6))
def test_proof_and_interpreter_agree(kind: str, each: int) -> None:
    judged, said = 0, []
    for number in range(each):
        drawn = seeded(f"{kind} {number}", kind)
        words, both = complaint(drawn, PLAIN)
        judged += both is not None and both.run != "beyond"
        if words:
            said.append(f"{drawn.seed}: {words}\n{drawn.text}")
    assert said == []
    assert judged >= each * 3 // 4


# Per kind of plan: rules that refute its faults, and how often something else than the proof shows it: a run of the
# text, or a witness. What is only ill-formed cannot be run.
CONFIRMED: dict[str, dict[str, int]] = {
    "views": {"core/covers run": 1, "core/in-bounds run": 2, "core/well-formed": 1},
    "tiles": {"core/covers run": 1, "core/in-bounds run": 2, "core/tiles-cover run": 2, "core/tiles-once run": 2,
              "core/well-formed": 1},
    "padded-tiles": {"core/covers run": 1, "core/in-bounds run": 2},
    "nested": {"core/in-bounds run": 2},
    "slices": {"core/hazard-raw run": 1, "core/in-bounds run": 1, "core/tiles-cover run": 2,
               "core/tiles-once run": 2},
    "apart": {"core/hazard-war run": 1},
    "stores": {"core/tiles-cover run": 2},
    "rows": {"core/in-bounds run": 1, "core/indirect run": 1, "core/overlap run": 1,
             "core/same-element run": 1, "core/writes-once run": 1},
    "in-place": {"core/overlap run": 1},
    "commands": {"core/covers run": 2, "core/reads-live run": 1, "core/same-program": 3, "core/writes-once run": 2},
    "padding": {"core/covers run": 2, "core/writes-once run": 1},
    "split-padding": {"core/covers run": 1},
    "banks": {"rngd/bank-starvation run": 1},
    "pipeline": {"core/hazard-raw run": 1, "core/hazard-war run": 1, "core/tiles-cover run": 1,
                 "core/tiles-once run": 1},
    "both": {"core/in-bounds run": 1, "core/same-element": 1, "core/tiles-cover run": 1},
    "turning-slices": {"core/in-bounds run": 1, "core/tiles-cover run": 1, "core/tiles-once run": 1},
    "twin": {"core/covers run": 1, "core/in-bounds run": 1, "core/tiles-cover run": 2, "core/tiles-once run": 1},
    "plain": {"core/in-bounds run": 1, "core/same-element run": 1, "core/writes-once run": 1},
    "in-parts": {"core/overlap run": 1},
    "replicas": {"core/covers run": 1},
    "engines": {"core/hazard-raw run": 1, "core/hazard-waw run": 1},
    "contexts": {"core/hazard-raw run": 1, "core/hazard-war run": 1, "core/hazard-waw run": 1},
    "lists": {"core/hazard-raw run": 1},
    "partly": {"core/tiles-cover run": 1},
    "sums": {"rngd/bank-starvation run": 1},
    "turns": {"rngd/bank-starvation run": 1},
}  # fmt: skip


@pytest.mark.parametrize("kind", [*list(KINDS)[::2], *rest(list(KINDS)[1::2])])
def test_a_drawn_fault_breaks_a_promise_now_and_then_and_is_refuted(kind: str) -> None:
    """A generator whose faults change nothing would let the judge sleep. Every kind of fault of every kind of plan is
    seen by the interpreter, and refuted by the proof.
    """
    _, faults = KINDS[kind]
    refuted: dict[str, Status] = {}
    confirmed: Counter[str] = Counter()
    for fault in faults:
        for number in range(40):
            drawn = seeded(f"{kind} {fault} {number}", kind, fault)
            try:
                broken = interpret(*PlanExecution(drawn.text, target=PLAIN).work(drawn.name)).wrong
            except Beyond:
                # a tile longer than its digit has no meaning, so that nothing can be run
                broken = {"core/well-formed": ""} if fault == "length" else {}
            if broken:
                plan, options = read_plan_text(drawn.text, target=PLAIN), Options(cross_check=1 << 16)
                verdict = next(one for one in verdicts_of(plan, options) if one.name == drawn.name)
                refuted[fault] = verdict.status
                by_run, _, others = verdict.confirmed.partition("; ")
                for rule in {rule for one in verdict.errors for rule in rules_of(one)}:
                    run = by_run == "a run of the text" and rule not in others
                    way = " run" if run else " witness" if "its witness" in verdict.confirmed else ""
                    confirmed[rule + way] += 1
                break
    assert refuted == dict.fromkeys(faults, Status.REFUTED)
    assert dict(confirmed) == CONFIRMED[kind]


@pytest.mark.parametrize("fault", ["", *KINDS["engines"][1]])
def test_engines_of_moves_without_a_stream_meet_where_those_of_streams_do(fault: str) -> None:
    """No run is made of such a move; which engine does it, and what it touches, its stream does not change."""
    told = set()
    for number in range(12):
        text = seeded(f"alone {fault} {number}", "engines", fault).text
        both = []
        for one in (text, re.sub(r"\nstream = .*", "", text)):
            (program,) = (v for v in verdicts_of(read_plan_text(one, target=PLAIN), Options()) if v.name == "p")
            both.append((program.status, sorted(found.rule for found in program.errors), program.conditions))
        assert both[0] == both[1], text
        told.add(both[0][0])
    assert (Status.REFUTED in told) == bool(fault)
    assert fault or Status.PROVED in told


def test_every_kind_and_every_fault_is_drawn() -> None:
    drawn = [written(Seeded(f"any {number}")) for number in range(1500)]
    seen = {(one.kind, one.fault) for one in drawn}
    wanted = {(kind, fault) for kind, (_, faults) in KINDS.items() for fault in ("", *faults)}
    assert len(KINDS) == 26
    assert seen == wanted
    assert min(sum(one.kind == kind for one in drawn) for kind in KINDS) >= 30


def test_programs_on_a_machine_that_launches_before_writes_have_landed(tmp_path: Path) -> None:
    """What one queue orders does not order what another transfer reads: proof and run tell it by their own rules."""
    target = tmp_path / "launched"
    shutil.copytree(PLAIN, target)
    text = (target / "target.toml").read_text(encoding="utf-8")
    (target / "target.toml").write_text(text.replace("[engines]\n", "[engines]\nlaunched = 1\n"), encoding="utf-8")
    answers: Counter[tuple[str, str]] = Counter()
    for kind in ("engines", "pipeline", "stores", "contexts"):
        for number in range(3):
            drawn = seeded(f"launched {kind} {number}", kind)
            both = judged_twice(drawn.text, drawn.name, str(target))
            assert not both.against, f"{both.against}\n{drawn.text}"
            assert both.run != "wrong" or both.proof == "refuted", drawn.text
            answers[both.proof, both.run] += 1
    assert answers["proved", "right"] >= 4
    assert answers["refuted", "wrong"] + answers["unknown", "unsaid"] >= 2, answers


@pytest.mark.parametrize("fault", ["", "start", "count", "twice", "stream"])
def test_a_big_twin_is_judged_as_its_small_one(fault: str) -> None:
    for number in range(2):
        small, name = twin(Seeded(f"twin {number}"), fault)
        big, _ = twin(Seeded(f"twin {number}"), fault, 1 << 34)
        first, second = judged_twice(small, name, PLAIN), judged_twice(big, name, PLAIN)
        assert second.run == "beyond"
        assert first.proof == second.proof, big
        assert first.proof == ("refuted" if first.run == "wrong" else "proved"), small


@pytest.mark.parametrize("kind", GROWING)
@pytest.mark.parametrize("each", counted(1, 4))
def test_plans_grown_beyond_any_run_are_judged_as_small_ones(kind: str, each: int) -> None:
    found = [twin_complaint(seeded(f"{kind} {number}", kind), PLAIN) for number in range(each)]
    assert [said for said, _ in found if said] == []
    assert "unknown" not in {proof for _, proof in found}


AGAIN = """schema = 1
target = "rngd"
[axes]
R = 8
P = {slots}
C = 64
[transfer.load]
dtype = "i8"
loop = {{ t = 4 }}
source = {{ tier = "hbm", element = "R, C", view = {{ tile = "R", length = 1, start = "{source}" }} }}
dest = {{ tier = "dm", slice = "1 # 64", element = "P, C", view = {{ tile = "P", start = "{tile}", partial = true }} }}
stream = {{ time = "1", packet = "C" }}
[transfer.store]
dtype = "i8"
{loop}
source = {{ tier = "dm", slice = "1 # 64", element = "P, C", view = {{ tile = "P", length = 1, start = "{read}" }} }}
dest = {{ tier = "hbm", base = 4096, element = "C" }}
stream = {{ time = "1", packet = "C" }}
[program.p]
order = "{order}"
step = [{steps}]
"""
LOAD, STORE, EACH_TIME = '{ transfer = "load" }', '{ transfer = "store" }', "loop = { t = 4 }"


@pytest.mark.parametrize("source", ["t", *rest(["0"])])  # another value, or the same one again
@pytest.mark.parametrize(
    ("tile", "slots", "read", "loop", "steps", "proof", "run"),
    [
        ("t", 4, "", "", [LOAD], "proved", "right"),
        ("0", 2, "", "", [LOAD], "refuted", "wrong"),
        ("t % 2", 2, "", "", [LOAD], "refuted", "wrong"),
        ("t / 2", 2, "", "", [LOAD], "refuted", "wrong"),
        ("0", 2, "0", EACH_TIME, [LOAD, STORE], "proved", "right"),
        ("0", 2, "0", EACH_TIME, [STORE, LOAD], "proved", "right"),
        ("t % 2", 2, "t % 2", EACH_TIME, [LOAD, STORE], "proved", "right"),
        ("t / 2", 2, "t / 2", EACH_TIME, [LOAD, STORE], "proved", "right"),
        ("0", 2, "0", "", [LOAD, STORE], "refuted", "wrong"),  # read once, behind the loop
        ("0", 2, "1", EACH_TIME, [LOAD, STORE], "refuted", "wrong"),  # another tile is read
        ("t % 2", 2, "0", EACH_TIME, [LOAD, STORE], "refuted", "wrong"),  # one of two is read
    ],
)
@pytest.mark.parametrize("order", ["contexts", "written"])
def test_a_tile_is_written_again_only_where_it_was_read_in_between(
    source: str, tile: str, slots: int, read: str, loop: str, steps: list[str], proof: str, run: str, order: str
) -> None:
    text = AGAIN.format(
        source=source, tile=tile, slots=slots, read=read or "0", loop=loop, steps=", ".join(steps), order=order
    )
    both = judged_twice(text, "p", PLAIN)
    assert (both.proof, both.run) == (proof, run), both.outcome
    if proof == "refuted":
        assert both.rules == ("core/tiles-once",)
    if run == "wrong":
        assert set(both.outcome.wrong) == {"core/tiles-once"}


SLIDING = """schema = 1
target = "rngd"
[axes]
A = 5
C = 16
"""
SLIDE = """[transfer.{name}]
dtype = "i8"
loop = {{ t = {count} }}
source = {{ {source} }}
dest = {{ {dest} }}
stream = {{ time = "A = {length}", packet = "C" }}
"""


def sliding(parts: list[tuple[str, int, str, int]]) -> str:
    """Steps, one after the other, that write or read a window of rows: "w" or "r", length, start, iterations."""
    text, steps = SLIDING, []
    for number, (kind, length, start, count) in enumerate(parts):
        rows = f'element = "A, C", view = {{ tile = "A", length = {length}, start = "{start}" }}'
        far = f'tier = "hbm", {rows}'
        near = f'tier = "dm", base = {4096 * number}, slice = "1 # 64", element = "A = {length}, C"'
        ends = (near, far) if kind == "w" else (far, near)
        text += SLIDE.format(name=f"s{number}", count=count, source=ends[0], dest=ends[1], length=length)
        steps.append(f'{{ transfer = "s{number}" }}')
    return f'{text}[program.p]\norder = "written"\nstep = [{", ".join(steps)}]\n'


@pytest.mark.parametrize(
    ("parts", "proof", "run"),
    [
        ([("w", 2, "t", 4)], "refuted", "wrong"),
        ([("w", 2, "t", 4), ("r", 2, "t", 4)], "proved", "right"),
        ([("r", 2, "t", 4), ("w", 2, "t", 4)], "proved", "right"),
        ([("w", 2, "t", 4), ("r", 1, "t", 4), ("r", 1, "t + 1", 4)], "proved", "right"),
        ([("w", 2, "t", 4), ("r", 1, "t + 1", 4)], "unknown", "right"),
        ([("r", 1, "t", 4), ("w", 2, "t", 4), ("r", 1, "t + 1", 4)], "unknown", "right"),  # each row once, by chance
        ([("r", 1, "t + 1", 4), ("w", 2, "t", 4), ("r", 1, "t", 4)], "refuted", "wrong"),  # a row before it is written
        ([("w", 2, "t", 4), ("r", 1, "t", 4)], "refuted", "wrong"),
        ([("w", 2, "t", 4), ("r", 1, "0", 4)], "refuted", "wrong"),
        ([("w", 2, "t", 4), ("r", 2, "t", 3)], "refuted", "wrong"),  # in a loop of its own, behind it
    ],
)
def test_a_window_that_meets_itself_writes_again_what_is_read_in_each_iteration(
    parts: list[tuple[str, int, str, int]], proof: str, run: str
) -> None:
    both = judged_twice(sliding(parts), "p", PLAIN)
    assert (both.proof, both.run) == (proof, run), both.outcome
    if proof == "refuted":
        assert both.rules == ("core/tiles-once",)


@pytest.mark.parametrize("count", counted(14, 40))
def test_sliding_windows_are_never_judged_against_their_run(count: int) -> None:
    draw, seen = random.Random(7), set()
    for _ in range(count):
        turns, length = draw.choice([(4, 2), (3, 3), (4, 1), (2, 3)])
        parts = [("w", length, draw.choice(["t", "t", f"{turns} - 1 - t"]), turns)]
        for _ in range(draw.randint(0, 2)):
            rows = draw.choice([1, length, length])
            at = draw.choice(["t", "t", "0", f"t + {length - rows}"])
            parts.insert(draw.randint(0, len(parts)), ("r", rows, at, draw.choice([turns, turns, 1])))
        both = judged_twice(sliding(parts), "p", PLAIN)
        wanted = {"proved": {"right"}, "refuted": {"wrong"}, "unknown": {"right", "wrong"}}
        again = "core/tiles-once" in both.outcome.wrong
        seen.add((both.proof, again))
        if set(both.outcome.wrong) <= {"core/tiles-once"} and set(both.rules) <= {"core/tiles-once"}:
            assert both.run in wanted[both.proof], (parts, both)
    assert {(proof, again) for proof, again in seen if again} >= {("refuted", True)}
    assert ("proved", False) in seen


WHOLE = """schema = 1
target = "rngd"
[axes]
A = 4
B = 2
C = 16
{moves}[program.p]
order = "written"
step = [{steps}]
"""
DM, HBM = '{{ tier = "dm", slice = "1 # 64", element = "{}" }}', '{{ tier = "hbm", base = {}, element = "{}" }}'
WRITERS = {
    "a": (HBM.format(0, "A, C"), DM.format("A, C")),
    "b": (HBM.format(1024, "A, C"), DM.format("A, C")),
    "t": (HBM.format(1024, "C, A"), DM.format("C, A")),
    "part": (HBM.format(2048, "A = 2, C"), DM.format("A, C")[:-2] + ', view = { tile = "A", length = 2, start = 1 } }'),
    "all": (HBM.format(2048, "A, C"), DM.format("A, C")[:-2] + ', view = { tile = "A", length = 4, start = "0" } }'),
}
READERS = {
    "whole": (DM.format("A, C"), HBM.format(4096, "A, C")),
    "otherwise": (DM.format("A / 2, A % 2, C"), HBM.format(4096, "A % 2, A / 2, C")),
    "turned": (DM.format("C, A"), HBM.format(4096, "C, A")),
    "half": (DM.format("B, C"), HBM.format(4096, "B, C")),
    "moved": (DM.replace("slice", "base = 8, slice").format("A, C"), HBM.format(4096, "A, C")),
    "apart": (HBM.format(2048, "A, C"), HBM.format(4096, "A, C")),
}


def in_program(steps: list[str], loop: int, once: str = "") -> str:
    """A plan whose program makes these moves in this order, all but `once` in a loop."""
    moves = ""
    for name in dict.fromkeys(steps):
        source, dest = {**WRITERS, **READERS}[name]
        axes = [part.partition('element = "')[2].partition('"')[0] for part in (source, dest)]["view" not in dest]
        moves += f'[transfer.{name}]\ndtype = "i8"\nsource = {source}\ndest = {dest}\n'
        moves += f"loop = {{ t = {loop} }}\n" if loop and name != once else ""
        packet = "A" if axes == "C, A" else "C"
        moves += f'stream = {{ time = "{axes.rpartition(", ")[0]}", packet = "{packet}" }}\n'
    return WHOLE.format(moves=moves, steps=", ".join(f'{{ transfer = "{name}" }}' for name in steps))


@pytest.mark.parametrize(
    ("steps", "loop", "lost"),
    [
        (["a", "b"], 0, True), (["a", "whole", "b"], 0, False), (["a", "otherwise", "b"], 0, False),
        (["a", "turned", "b"], 0, False), (["a", "half", "b"], 0, True), (["a", "apart", "b"], 0, True),
        (["a", "b", "whole"], 0, True), (["whole", "a", "b"], 0, True), (["a", "whole"], 0, False),
        (["a"], 3, True), (["a", "whole"], 3, False), (["whole", "a"], 3, False), (["a", "half"], 3, True),
        (["a"], 1, False), (["a", "b", "whole"], 3, True), (["a", "whole", "b", "turned"], 0, False),
        (["a", "part"], 0, True), (["part", "a"], 0, True), (["a", "whole", "part"], 0, False), (["all"], 3, True),
        (["part", "all"], 0, True), (["all", "a"], 0, True), (["all", "whole"], 3, False), (["all"], 0, False),
    ],
)  # fmt: skip
def test_a_whole_tensor_that_is_written_again_unread_is_a_condition(steps: list[str], loop: int, lost: bool) -> None:
    """The proof names what the run sees; where it cannot tell it names it too (a loop around another declaration)."""
    stores = [name for name in dict.fromkeys(steps) if name in READERS]
    both = judged_twice(in_program(steps, loop), "p", PLAIN)
    assert (both.proof, both.run, both.against) == ("proved", "right", ""), both
    own = [said for said in both.conditions if " may write dm " in said]
    seen = any(name in WRITERS for said in both.outcome.lost.values() for name in said.split()[:3])
    assert (bool(own), seen) == (lost, lost), (stores, both)


@pytest.mark.parametrize(
    ("steps", "loop", "reader"),
    [
        (["a", "whole"], 0, ""), (["a", "otherwise"], 0, ""), (["a", "apart"], 0, ""), (["a", "turned"], 0, "turned"),
        (["a", "half"], 0, "half"), (["a", "moved"], 0, "moved"), (["a", "t", "turned"], 0, ""),
        (["t", "a", "turned"], 0, "turned"), (["turned", "a"], 0, ""), (["turned", "a"], 3, "turned"),
        (["t", "turned", "a", "whole"], 3, ""), (["t", "turned", "a"], 2, "turned"),
        (["a", "whole", "b", "turned"], 0, "turned"),
    ],
)  # fmt: skip
def test_a_read_of_what_another_declaration_wrote_is_a_condition(steps: list[str], loop: int, reader: str) -> None:
    once = "t" if (steps[0], loop) == ("t", 2) else ""
    both = judged_twice(in_program(steps, loop, once), "p", PLAIN)
    assert (both.proof, both.against) == ("proved", "")
    assert {said.split("`")[1] for said in both.conditions if "` reads as dm " in said} == {reader} - {""}


SLICED = """schema = 1
target = "rngd"
[axes]
S = 16
M = {rows}
W = 8
A = 16
[transfer.load]
dtype = "i8"
source = {{ tier = "hbm", element = "A{beside}, W" }}
dest = {{ tier = "dm", base = {{ slice = {first}, element = 262144 }}, slice = "A{beside}", element = "W" }}
stream = {{ time = "A{beside}", packet = "W" }}
[access.use]
engine = "fetch"
context = "main"
dtype = "i8"
loop = {{ t = {count} }}
memory = {{ tier = "dm", slice = "S", element = "M, W # 128", view = {{ tile = "S", length = {tile}, \
start = "{start}", place = "slice" }} }}
stream = {{ time = "M", packet = "W" }}
[program.p]
step = [{{ transfer = "load" }}, {{ access = "use" }}]
"""


@pytest.mark.parametrize(
    ("rows", "tile", "start", "count", "first", "proof"),
    [
        (15, 4, "t", 13, 0, "proved"), (16, 4, "t", 13, 0, "refuted"),  # a slice sees 4 of 13 iterations
        (30, 4, "2 * t", 7, 0, "proved"), (32, 4, "2 * t", 7, 0, "refuted"),  # 2 of 7
        (20, 5, "2 * t", 6, 0, "proved"), (21, 5, "2 * t", 6, 0, "refuted"),  # 3 or 2
        (60, 4, "t", 13, 0, "refuted"),
        (16, 4, "12 - t", 13, 0, "refuted"), (15, 4, "12 - t", 13, 0, "proved"),
    ],
)  # fmt: skip
def test_a_slice_of_a_tile_that_overlaps_itself_sees_its_own_iterations(
    rows: int, tile: int, start: str, count: int, first: int, proof: str
) -> None:
    text = SLICED.format(rows=rows, tile=tile, start=start, count=count, first=first, beside="")
    both = judged_twice(text, "p", PLAIN)
    assert (both.proof, both.run, both.against) == (proof, "right" if proof == "proved" else "wrong", ""), both


@pytest.mark.parametrize(("first", "proof"), [(0, "proved"), (2, "proved"), (3, "refuted"), (14, "proved")])
def test_only_slices_that_dma_reaches_count(first: int, proof: str) -> None:
    """The first slices of the tile see fewer iterations: slice 0 one, slice 3 and those after it four."""
    text = SLICED.format(rows=20, tile=4, start="t", count=13, first=first, beside=" = 1")
    both = judged_twice(text, "p", PLAIN)
    assert (both.proof, both.run, both.against) == (proof, "right" if proof == "proved" else "wrong", ""), both


SCATTERED = """schema = 1
target = "rngd"
[axes]
R = 8
K = {keys}
C = 64
[transfer.tile]
dtype = "i8"
source = {{ tier = "dm", slice = "1 # 64", element = "C" }}
dest = {{ tier = "hbm", element = "R, C", view = {{ tile = "R", length = 1, start = "7" }} }}
stream = {{ time = "1", packet = "C" }}
[scatter.rows]
dtype = "i8"
source = {{ tier = "dm", slice = "1 # 64", base = 1024, element = "K, C" }}
dest = {{ tier = "hbm", element = "R, C" }}
index = {{ tier = "hbm", base = 4096, element = "K", rows = [{rows}], distinct = {distinct} }}
stream = {{ time = "K", packet = "C" }}
[program.p]
order = "written"
step = [{{ transfer = "tile" }}, {{ scatter = "rows" }}]
"""


@pytest.mark.parametrize(
    ("keys", "rows", "distinct", "proof"),
    [
        (8, "0, 7", "true", "proved"), (7, "0, 6", "true", "proved"), (7, "0, 7", "true", "unknown"),
        (6, "1, 6", "true", "refuted"), (6, "0, 6", "true", "unknown"),
    ],
)  # fmt: skip
def test_a_scatter_of_as_many_different_rows_as_are_promised_writes_them_all(
    keys: int, rows: str, distinct: str, proof: str
) -> None:
    both = judged_twice(SCATTERED.format(keys=keys, rows=rows, distinct=distinct), "p", PLAIN)
    assert (both.proof, both.against) == (proof, ""), both
    assert proof != "proved" or both.run == "right"
    assert proof != "refuted" or "core/tiles-cover" in both.outcome.wrong


TILES = [("0", "0"), ("0", "1"), ("t % 2", "t % 2"), ("t % 2", "0")]
TURNS = ["axby", "abxy", "axb", "aby", "xayb", "yaxb"]


@pytest.mark.parametrize(("tiles", "turns"), [(TILES[2:3], TURNS[:3]), *rest([(TILES, TURNS)])], ids=["few", "all"])
def test_two_steps_of_a_loop_write_one_buffer_in_turns(tiles: list[tuple[str, str]], turns: list[str]) -> None:
    """a and b write, x reads a's tile and y reads b's: nothing that is written may be lost, around the loop neither."""
    slots = 'view = {{ tile = "P", start = "{}", partial = true }}'
    dm = '{{ tier = "dm", slice = "1 # 64", element = "P, C", ' + slots + " }}"
    head = 'schema = 1\ntarget = "rngd"\n[axes]\nR = 8\nP = 2\nC = 64\n'
    kind = '[transfer.{}]\ndtype = "i8"\nloop = {{ t = 4 }}\nsource = {}\ndest = {}\n'
    kind += 'stream = {{ time = "1", packet = "C" }}\n'
    seen = set()
    for starts, steps in itertools.product(tiles, turns):
        text = head
        for number, (name, start) in enumerate(zip("abxy", starts * 2, strict=True)):
            row = '{{ tier = "hbm", element = "R, C", view = {{ tile = "R", length = 1, start = "{}" }} }}'
            far = f'{{ tier = "hbm", base = {4096 + 64 * number}, element = "C" }}'
            ends = (row.format(f"t + {4 * number}"), dm.format(start)) if name in "ab" else (dm.format(start), far)
            text += kind.format(name, *ends)
        text += "[program.p]\nstep = [" + ", ".join(f'{{ transfer = "{name}" }}' for name in steps) + "]\n"
        both = judged_twice(text, "p", PLAIN)
        assert not both.against, (starts, steps, both.against)
        assert both.proof != "proved" or both.run == "right", (starts, steps)
        assert both.proof != "refuted" or both.run == "wrong", (starts, steps)
        seen.add((both.proof, both.run))
    assert {("proved", "right"), ("refuted", "wrong")} <= seen


def test_a_disagreement_is_shrunk_to_a_smaller_plan() -> None:
    """Here: whatever still has a loop whose tiles leave the tensor."""
    text, name = twin(Seeded("shrunk"), "start", 8)

    def still(smaller: str) -> bool:
        try:
            return judged_twice(smaller, name, PLAIN).run == "wrong" and "loop" in smaller
        except Exception:
            return False

    smaller = shrunk(text, still)
    assert still(smaller)
    sizes = [int(line.partition(" = ")[2]) for line in smaller.splitlines() if line[:4] in ("A = ", "N = ", "C = ")]
    assert max(sizes) <= 8


@given(drawn_by(written))
@settings(max_examples=settings.default.max_examples // 4)
def test_what_hypothesis_draws_is_what_a_seed_draws(drawn: WrittenPlan) -> None:
    assert drawn.kind in KINDS
    assert drawn.fault in ("", *KINDS[drawn.kind][1])
    try:
        found = interpret(*PlanExecution(drawn.text, target=PLAIN).work(drawn.name))
    except Beyond:
        return
    assert not (drawn.holds and found.wrong), drawn.text


@pytest.mark.parametrize("kind", ["in-place", "padding", "views", "replicas"])
def test_a_stream_without_a_packet_is_run_too(kind: str) -> None:
    """Its packet is the longest run, or less: what every packet does is said, the rest is left open."""
    ran = 0
    for number in range(8):
        drawn = seeded(f"{kind} open {number}", kind)
        text = re.sub(r'time = "([^"]*)", packet = "([^"]*)"', r'time = "\1, \2"', drawn.text)
        both = judged_twice(text, drawn.name, PLAIN)
        assert not both.against, f"{both.against}\n{text}"
        assert not (drawn.holds and both.run == "wrong"), text
        ran += both.run != "beyond" and text != drawn.text
    assert ran >= 3


@pytest.mark.parametrize(("start", "proof"), [(0, "proved"), (1, "refuted")])
@pytest.mark.parametrize("slices", ["1", "1 # 64"])
@pytest.mark.parametrize("steps", ["commit load", "load commit"])
def test_tiles_by_an_access_and_by_a_move_make_the_live_slices(start: int, proof: str, slices: str, steps: str) -> None:
    """Whoever is first: an access writes all slices, and those of padding are no part of the tensor."""
    tensor = f'tier = "dm", base = 1024, slice = "{slices}", element = "D, C", view = {{ tile = "D", start'
    kinds = {"commit": "access", "load": "transfer"}
    first, second = steps.split()
    text = (
        'schema = 1\ntarget = "rngd"\n[axes]\nC = 256\nD = 2\n[access.commit]\nengine = "commit"\ndtype = "i8"\n'
        f'memory = {{ {tensor} = 1 }} }}\nstream = {{ time = "C / 32", packet = "C % 32" }}\n[transfer.load]\n'
        f'dtype = "i8"\nsource = {{ tier = "hbm", element = "C" }}\ndest = {{ {tensor} = {start} }} }}\n'
        'stream = { time = "1", packet = "C" }\n'
        f'[program.p]\nstep = [{{ {kinds[first]} = "{first}" }}, '
        f'{{ {kinds[second]} = "{second}", after = ["{first}"] }}]\n'
    )
    both = judged_twice(text, "p")
    assert (both.proof, both.run, both.against) == (proof, "right" if proof == "proved" else "wrong", ""), both
