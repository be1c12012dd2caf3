"""Programs of engines that launch their work, asked from definitions: what overtakes, what is waited for."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import pytest
from lab.draws import counted, rest

from dmaverify.errors import Disagreement
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.flow import kernel
from dmaverify.prove.flow.accesses import program_times
from dmaverify.prove.flow.kernel import check_program
from dmaverify.prove.flow.order.hazards import Hazards
from dmaverify.prove.flow.order.pipe_state import HAZARDS
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

ROW = 64
NEAR = [0x10000000 + ROW * n for n in range(3)]
FAR = [0x1C000000 + 4096 * n for n in range(3)]


def judged(text: str, prove: str = "full") -> Verdict:
    plan = read_plan_text(text)
    options = Options(prove=prove, cross_check=0, repair=False)
    return check_program(plan.programs[0], axes=plan.axes, target=plan.targets["idma"], options=options)


def side(draw: random.Random, turns: int, looped: bool) -> str:
    if looped and draw.random() < 0.6:
        start = f"{ROW * (turns - 1)} - {ROW} * t" if draw.random() < 0.2 else f"{ROW} * t"
        view = f'view = {{ tile = "A", length = {ROW}, start = "{start}" }}'
        return f'{{ tier = "mem", base = {draw.choice(FAR)}, element = "A", {view} }}'
    return f'{{ tier = "mem", base = {draw.choice(NEAR)}, element = "T" }}'


def drawn(draw: random.Random) -> str:
    """A program of a few copies between small buffers and long tensors, some of them in one loop."""
    steps, turns = draw.randint(2, 5), draw.randint(2, 4)
    inside = range(*sorted((draw.randint(0, steps), draw.randint(0, steps))))
    lines = ["schema = 1", 'target = "idma"', f"axes = {{ A = {ROW * turns}, T = {ROW} }}"]
    for number in range(steps):
        looped = number in inside
        lines += [f"[transfer.t{number}]", 'dtype = "i8"', *([f"loop = {{ t = {turns} }}"] if looped else [])]
        lines += [f"{name} = {side(draw, turns, looped)}" for name in ("source", "dest")]
    lines += ["[program.p]", f'order = "{draw.choice(("contexts", "written", "none"))}"']
    for number in range(steps):
        lines += ["[[program.p.step]]", f'transfer = "t{number}"', f'context = "{draw.choice("ab")}"']
        lines += [f'after = ["t{draw.randint(0, number - 1)}"]'] if number and draw.random() < 0.5 else []
    return "\n".join(lines)


def drawn_programs(seeds: Iterable[int]) -> Iterator[str]:
    yield from (drawn(random.Random(f"launches {seed}")) for seed in seeds)


@pytest.mark.slow
@pytest.mark.parametrize("count", counted(12, 1200))
def test_what_is_proved_of_launches_is_proved_from_definitions(count: int) -> None:
    proved = 0
    for text in drawn_programs(range(count)):
        fast, full = judged(text, "fast"), judged(text)
        assert fast.status is full.status, text
        if full.status is Status.PROVED:
            proved += 1
            assert not [said for said in full.assumptions if "order the steps" in said or "hazards" in said], text
            assert {one.by for one in full.obligations if one.id in HAZARDS} <= {"z3", nothing(fast)}, text
    assert proved > count // 6


def test_a_tile_with_padding_is_asked_of_whole_and_of_its_live_cells() -> None:
    (text,) = drawn_programs([636])
    verdict = judged(text)
    assert verdict.status is Status.PROVED
    assert {one.by for one in verdict.obligations if one.id in HAZARDS} == {"z3"}


def nothing(verdict: Verdict) -> str:
    """What is said of hazards where no two steps could have any."""
    return next(one.by for one in verdict.obligations if one.id == HAZARDS[0])


CHOSEN = (2, 9, 13, 30, 57, 64, 400)
"""Programs with hazards, of which all but two are contradicted where nobody looks for hazards."""


@pytest.mark.parametrize(
    ("seeds", "hazards", "least"), [(CHOSEN, 7, 5), *rest([(range(1200), 400, 60)])], ids=["chosen", "1200"]
)
def test_a_hazard_of_launches_that_the_fast_path_missed_is_never_confirmed(
    seeds: Iterable[int], hazards: int, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = {}
    for text in drawn_programs(seeds):
        known = {one.id for one in judged(text, "fast").obligations if one.id in HAZARDS and one.status == "refuted"}
        met.update({text: known} if known else {})
    assert len(met) >= hazards
    monkeypatch.setattr(kernel, "hazards", lambda *given, **more: Hazards())
    contradicted = 0
    for text, known in met.items():
        try:
            blind = judged(text)
        except Disagreement:
            contradicted += 1
            continue
        confirmed = {one.id for one in blind.obligations if one.by == "z3"}
        assert blind.status is not Status.PROVED or not known & confirmed, text
    assert contradicted >= least


WAITED = """
schema = 1
target = "idma"
axes = { A = 256, T = 64 }
[transfer.load]
dtype = "i8"
loop = { t = 4 }
source = { tier = "mem", base = 0x1C000000, element = "A", view = { tile = "A", length = 64, start = "64 * t" } }
dest = { tier = "mem", base = 0x10000000, element = "T" }
[transfer.store]
dtype = "i8"
loop = { t = 4 }
source = { tier = "mem", base = 0x10000000, element = "T" }
dest = { tier = "mem", base = 0x1C001000, element = "A", view = { tile = "A", length = 64, start = "64 * t" } }
[program.p]
step = [{ transfer = "load" }, { transfer = "store", after = ["load"] }]
"""


def test_a_wait_in_a_loop_is_asked_of_reads_and_writes_apart() -> None:
    verdict = judged(WAITED)
    assert verdict.status is Status.PROVED
    assert {one.by for one in verdict.obligations if one.id == "core/hazard-raw"} == {"z3"}
    assert not [said for said in verdict.assumptions if said.startswith("not asked")]


def copies(order: str, *moves: tuple[str, int, int, str]) -> str:
    """Copies of a row: (name, from, to, what it waits for); `load` is that of WAITED."""
    text, steps = WAITED.split("[transfer.store]")[0], []
    for name, read, write, after in moves:
        if name != "load":
            text += f'[transfer.{name}]\ndtype = "i8"\nsource = {{ tier = "mem", base = {read}, element = "T" }}\n'
            text += f'dest = {{ tier = "mem", base = {write}, element = "T" }}\n'
        steps.append(f'{{ transfer = "{name}"' + (f', after = ["{after}"] }}' if after else " }"))
    return text + f'[program.p]\norder = "{order}"\nstep = [{", ".join(steps)}]\n'


BEHIND = copies("contexts", ("out", NEAR[0], FAR[2], ""), ("in", NEAR[1], NEAR[0], ""))


def test_a_write_is_behind_the_reads_of_the_launches_before_it() -> None:
    verdict = judged(BEHIND)
    assert next(one.by for one in verdict.obligations if one.id == "core/hazard-war") == "z3"


@pytest.mark.parametrize(("fault", "text"), [("edges", WAITED), ("lane_edges", BEHIND)])
def test_an_order_of_launches_that_nothing_states_is_a_disagreement(
    fault: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_times, fault, lambda *given: [])
    with pytest.raises(Disagreement, match="core/hazard"):
        judged(text)


def test_what_a_loop_hands_on_is_no_disagreement() -> None:
    """`first` has read before `last` writes: between them is a loop that runs at least once."""
    moves = ("first", NEAR[2], FAR[2], ""), ("load", 0, 0, "first"), ("last", FAR[1], NEAR[2], "load")
    verdict = judged(copies("none", *moves))
    assert next(one.by for one in verdict.obligations if one.id == "core/hazard-war") == "z3"
