"""A loop of a step is the loop of what the step does: one verdict, wherever it is written."""

from __future__ import annotations

import pytest

from dmaverify import api
from dmaverify.prove.options import Options

HEAD = 'schema = 1\ntarget = "rngd"\naxes = { A = 16, C = 64, M = 30, W = 8, S = 128, K = 4 }\n'
LOOP = "loop = { t = 3 }"


def transfer(name: str, source: str, dest: str, time: str, loop: str) -> str:
    return (
        f'[transfer.{name}]\ndtype = "i8"\n{loop}\nsource = {{ {source} }}\ndest = {{ {dest} }}\n'
        f'stream = {{ time = "{time}", packet = "C" }}\n'
    )


def rows(base: int, view: str = "") -> str:
    return f'tier = "hbm", base = {base}, element = "A, C"{view}'


def dm(base: int, element: str, view: str = "", slices: str = "1 # 64") -> str:
    return f'tier = "dm", base = {base}, slice = "{slices}", element = "{element}"{view}'


def half(digit: str, length: int, start: int, place: str = "element") -> str:
    return f', view = {{ tile = "{digit}", length = {length}, start = {start}, place = "{place}" }}'


def starving(loop: str) -> str:
    memory = dm(0, "M, W # 128", half("S", 64, 0, "slice"), "S")
    load = transfer("load", rows(0), dm(262144, "A, C"), "A", "")
    return (
        f'{load}[access.use]\nengine = "fetch"\ndtype = "i8"\n{loop}\nmemory = {{ {memory} }}\n'
        'stream = { time = "M", packet = "W" }\n'
    )


def upper(loop: str) -> str:
    low = transfer("low", dm(0, "A = 8, C"), rows(4096, half("A", 8, 0)), "A = 8", "")
    return low + transfer("use", dm(0, "A = 8, C"), rows(4096, half("A", 8, 8)), "A = 8", loop)


def gathered(_: str) -> str:
    return (
        '[gather.use]\ndtype = "i8"\nsource = { tier = "hbm", element = "A, C" }\n'
        f"dest = {{ {dm(0, 'K, C')} }}\n"
        'index = { tier = "hbm", base = 65536, element = "K", rows = [0, 15] }\nstream = { time = "K", packet = "C" }\n'
    )


CASES = {  # what is done; its rules that are broken; whether it is written again unread
    "starving": (starving, '{ transfer = "load" }, { access = "use"', {"rngd/bank-starvation"}, False),
    "tile": (upper, '{ transfer = "low" }, { transfer = "use"', {"core/tiles-once"}, False),
    "whole": (
        lambda loop: transfer("use", dm(0, "A, C"), rows(4096), "A", loop), '{ transfer = "use"', set[str](), True,
    ),
    "down": (
        lambda loop: transfer("use", rows(4160), rows(4096), "A", loop), '{ transfer = "use"', {"core/overlap"}, True,
    ),
    "gathered": (gathered, '{ gather = "use"', set[str](), True),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_loop_of_a_step_is_judged_as_a_loop_of_what_the_step_does(case: str) -> None:
    make, steps, broken, again = CASES[case]
    for own, around in ((LOOP, ""), ("", f", {LOOP}"), ("", "")):
        if own and case == "gathered":
            continue  # a gather has no loop of its own
        text = f'{HEAD}{make(own)}[program.p]\nholds = ["dm"]\nstep = [{steps}{around} }}]\n'
        *_, found = api.check(text, options=Options(cross_check=1 << 16, repair=False))
        looped = bool(own or around)
        told = {rule for f in found.errors for rule in str(f.values.get("errors", f.rule)).split(", ")}
        assert told == (broken if looped else set()), (own, around, found.errors)
        assert any("again before all" in said for said in found.conditions) == (again and looped), found.conditions
