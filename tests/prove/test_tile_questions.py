"""Tiles that are written again, asked from definitions: confirmed where a step reads them in between, nowhere else."""

from __future__ import annotations

import random
from typing import Any

import pytest
from lab.draws import counted

from dmaverify.plan.read import read_plan_text
from dmaverify.prove.flow import kernel
from dmaverify.prove.flow.coverage.tiles import Together, judge
from dmaverify.prove.flow.kernel import check_program
from dmaverify.prove.options import Options
from dmaverify.values import replace
from dmaverify.verdict import Verdict

ONCE = "core/tiles-once"
OUT = 1 << 20


def load(name: str, tile: str, place: str, turns: int = 0, rows: str = "S") -> str:
    return _transfer(name, ("hbm", 0, f"A, {rows}, C"), ("dm", 0, "D, C"), tile, place, turns, rows)


def store(name: str, tile: str, place: str, turns: int = 0, rows: str = "S") -> str:
    return _transfer(name, ("dm", 0, "D, C"), ("hbm", OUT, f"A, {rows}, C"), place, tile, turns, rows)


def _transfer(name: str, source: tuple, dest: tuple, read: str, write: str, turns: int, rows: str) -> str:  # type: ignore[type-arg]
    def side(tier: str, base: int, element: str, start: str) -> str:
        slices = f'slice = "{rows}", ' if tier == "dm" else ""
        view = f'{{ tile = "{element[0]}", start = {start if start.isdecimal() else repr(start)} }}'
        return f'{{ tier = "{tier}", base = {base}, {slices}element = "{element}", view = {view} }}'

    lines = [f"[transfer.{name}]", 'dtype = "i8"', *([f"loop = {{ t = {turns} }}"] if turns else [])]
    lines += [f"source = {side(*source, read)}", f"dest = {side(*dest, write)}"]
    return "\n".join([*lines, f'stream = {{ time = "{rows}", packet = "C" }}', ""])


ONE_BUFFER = "A = 8, S = 16, C = 64, D = 1"
TWO = "A = 2, S = 16, C = 64, D = 2"


def program(*steps: str, order: str = "written", sizes: str = "A = 8, S = 16, C = 64, D = 2") -> str:
    names = [step.partition("]")[0].removeprefix("[transfer.") for step in steps]
    listed = ", ".join(f'{{ transfer = "{name}" }}' for name in names)
    head = f'schema = 1\ntarget = "rngd"\naxes = {{ {sizes} }}\n'
    return head + "".join(steps) + f'[program.p]\norder = "{order}"\nstep = [{listed}]\n'


def judged(text: str, prove: str = "full") -> Verdict:
    plan = read_plan_text(text)
    options = Options(prove=prove, cross_check=0, repair=False)
    return check_program(plan.programs[0], axes=plan.axes, target=plan.targets["rngd"], options=options)


def label(verdict: Verdict) -> str:
    return next((one.by for one in verdict.obligations if one.id == ONCE), "")


HOLDS = {
    "one buffer": program(load("in", "t", "0", 8), store("out", "t", "0", 8), sizes=ONE_BUFFER),
    "two buffers": program(load("in", "t", "t % 2", 8), store("out", "t", "t % 2", 8)),
    "the last one apart": program(
        load("in", "t", "t % 2", 6),
        store("out", "t", "t % 2", 6),
        *(
            one
            for i, place in ((6, "0"), (7, "1"))
            for one in (load(f"in{i}", f"{i}", place), store(f"out{i}", f"{i}", place))
        ),
    ),
    "without a loop": program(
        *(one for i in range(4) for one in (load(f"in{i}", f"{i}", f"{i % 2}"), store(f"out{i}", f"{i}", f"{i % 2}"))),
        sizes="A = 4, S = 16, C = 64, D = 2",
    ),
}


@pytest.mark.parametrize("name", HOLDS)
def test_a_buffer_that_is_read_in_between_is_confirmed(name: str) -> None:
    verdict = judged(HOLDS[name])
    assert verdict.status.value == "proved", verdict.errors
    assert label(verdict) == "z3", verdict.assumptions


def nothing_twice(*given: Any) -> Together:
    return replace(judge(*given), once="proved", twice=(), undecided=())


WRONG = {
    "one of two buffers is read": program(load("in", "t", "t % 2", 8), store("out", "t", "0", 8)),
    "twice without a loop": program(
        load("a", "0", "0"),
        load("b", "1", "0"),
        load("c", "1", "1"),
        store("x", "0", "0"),
        store("y", "1", "1"),
        sizes=TWO,
    ),
    "half of it is read": program(
        load("in", "t", "t % 2", 2), store("a", "0", "0"), store("b", "1", "0"), load("again", "1", "1"), sizes=TWO
    ),
    "the last one too early": program(
        load("in", "t", "t % 2", 8), load("last", "7", "0"), store("out", "t", "t % 2", 8), store("end", "7", "0")
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_nobody_reads_in_between_is_never_confirmed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {finding.rule for finding in judged(WRONG[name], "fast").errors} == {ONCE}
    monkeypatch.setattr(kernel, "judge_tiles", nothing_twice)
    verdict = judged(WRONG[name])
    assert all(one.by != "z3" for one in verdict.obligations if one.id == ONCE)


def drawn(draw: random.Random) -> str:
    """Loads and stores of tiles in a loop, and some behind it."""
    buffers = draw.choice((1, 2))
    steps, at = [], 0
    for loop in (8, *draw.choice(((), (), (0,), (4,)))):
        place = "0" if buffers == 1 else draw.choice(("t % 2", "t % 2", "t % 2", "1") if loop else ("0", "1"))
        for kind in draw.choice(("ls", "ls", "ls", "sl", "lls", "l")):
            make = load if kind == "l" else store
            steps.append(make(f"x{at}", "t" if loop else "7", place if draw.random() < 0.9 else "0", loop))
            at += 1
    return program(
        *steps, order=draw.choice(("written", "written", "contexts")), sizes=f"A = 8, S = 16, C = 64, D = {buffers}"
    )


@pytest.mark.parametrize("count", counted(5, 400))
def test_what_is_confirmed_of_drawn_programs_is_what_the_fast_path_finds(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    confirmed = wrong = 0
    for seed in range(count):
        text = drawn(random.Random(f"tiles {seed}"))
        fast = judged(text, "fast")
        found = {one.id: one.status for one in fast.obligations}.get(ONCE)
        if fast.status.value == "proved":
            confirmed += label(judged(text)) == "z3"
        if found == "refuted":
            with monkeypatch.context() as blind:
                blind.setattr(kernel, "judge_tiles", nothing_twice)
                verdict = judged(text)
                assert all(one.by != "z3" for one in verdict.obligations if one.id == ONCE), text
                wrong += 1
    assert min(confirmed, wrong) > count // 8
