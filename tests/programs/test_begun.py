"""What must be in memory where a program begins: named where no step wrote it, or stated by the plan."""

from __future__ import annotations

import pytest

from dmaverify import api
from dmaverify.verdict import Verdict

PLAN = """\
schema = 1
target = "rngd"
axes = { A = 4, S = 64, C = 256 }
[region.low]
tier = "dm"
base = 0
size = 512
extent = { slice = 64 }
[region.high]
tier = "dm"
base = 512
size = 512
extent = { slice = 64 }
"""
BEGINS = "where the program begins"


def move(name: str, source: str, dest: str, loop: int = 0) -> str:
    turns = f"loop = {{ t = {loop} }}\n" if loop else ""
    return f"""
[transfer.{name}]
dtype = "i8"
{turns}source = {{ {source} }}
dest = {{ {dest} }}
stream = {{ time = "S", packet = "C" }}
"""


def hbm(base: int, view: str = "") -> str:
    element = "A, S, C" if view else "S, C"
    return f'tier = "hbm", base = {base}, element = "{element}"' + (f", view = {{ {view} }}" if view else "")


def dm(base: int, slices: str = "S", view: str = "") -> str:
    element = "A, C" if view else "C"
    shown = f", view = {{ {view} }}" if view else ""
    return f'tier = "dm", base = {base}, slice = "{slices}", element = "{element}"{shown}'


def judged(*parts: str, steps: str, more: str = "") -> Verdict:
    listed = ", ".join(
        f'{{ transfer = "{name}"' + (f', after = ["{after}"] }}' if after else " }")
        for name, _, after in (one.partition("<") for one in steps.split())
    )
    return api.check(f"{PLAN}{''.join(parts)}\n[program.p]\n{more}\nstep = [{listed}]\n", "p")[0]


LOAD, STORE = move("load", hbm(0), dm(0)), move("store", dm(0), hbm(65536))
TILE = 'tile = "A", start = "t"'
LOADS, STORES = move("loads", hbm(0, TILE), dm(0), 4), move("stores", dm(0), hbm(1 << 20, TILE), 4)

EACH = move("each", hbm(0, TILE), dm(0, view=TILE), 4)
FIRST = move("first", hbm(0, TILE), dm(0, view='tile = "A", start = 0'), 4)
EVERY = move("store", dm(0, view=TILE), hbm(1 << 20, TILE), 4)
LAST = move("store", dm(0, view='tile = "A", start = 3'), hbm(1 << 20), 0)

HOLDS = {
    "loaded before": ((LOAD, STORE), "load store<load"),
    "loaded in parts": (
        (
            move("a", hbm(0), dm(0)),
            move("b", hbm(16384), dm(256)),
            move(
                "both", 'tier = "dm", slice = "S", element = "2, C"', 'tier = "hbm", base = 65536, element = "S, 2, C"'
            ).replace('time = "S"', 'time = "S, 2"'),
        ),
        "a b both<b",
    ),
    "in each iteration": ((LOADS, STORES), "loads stores<loads"),
    "padding of slices": ((LOAD, move("padded", dm(0, "S # 128"), hbm(65536))), "load padded<load"),
    "all iterations before": ((EACH, LAST), "each store<each"),
    "reads of HBM": ((LOAD,), "load"),
}
NAMED = {
    "never": ((STORE,), "store", "no step writes it before"),
    "later": ((STORE, LOAD), "store load<store", "no step writes all of it before"),
    "elsewhere": ((move("load", hbm(0), dm(256)), STORE), "load store<load", "no step writes it before"),
    "a later iteration": ((FIRST, EVERY), "first store<first", "no step writes all of it before"),
    "half of it": ((move("load", hbm(0), dm(128)), STORE), "load store<load", "no step writes all of it before"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOLDS)
def test_what_steps_wrote_before_needs_no_word(name: str) -> None:
    parts, steps = HOLDS[name]
    verdict = judged(*parts, steps=steps)
    assert not verdict.errors
    assert not [one for one in (*verdict.conditions, *verdict.assumptions) if BEGINS in one]


@pytest.mark.parametrize("name", NAMED)
def test_what_no_step_wrote_before_is_a_condition(name: str) -> None:
    parts, steps, why = NAMED[name]
    found = [one for one in judged(*parts, steps=steps).conditions if BEGINS in one]
    assert found == [f"dm holds what `store` reads {BEGINS} ({why})"]


@pytest.mark.parametrize(
    ("more", "stated"),
    [
        ('holds = ["dm"]', "dm"),
        ('regions = ["low"]\nholds = ["low"]', "low"),
        ('regions = ["high"]\nholds = ["high"]', ""),
        ('regions = ["low"]', ""),
        ('holds = ["hbm"]', ""),
    ],
)
def test_a_program_states_what_memory_holds_where_it_begins(more: str, stated: str) -> None:
    verdict = judged(STORE, steps="store", more=more)
    assert (f"{stated} holds what is read of it {BEGINS}" in verdict.assumptions) is bool(stated)
    assert any(BEGINS in one for one in verdict.conditions) is not bool(stated)


def test_a_name_that_is_neither_region_nor_memory_is_refused() -> None:
    with pytest.raises(Exception, match="no region of this program or memory `low`"):
        judged(STORE, steps="store", more='holds = ["low"]')
