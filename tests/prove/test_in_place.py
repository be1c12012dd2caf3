"""Moves within one memory: what is written back where it was read changes nothing, whoever reads it later."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from dmaverify import check
from dmaverify.program.command import Command, Engine, Loop, Port
from dmaverify.prove.move.overlap import Early, written_early
from dmaverify.prove.smt import Session

Step = tuple[int, Engine | None, int, int]
"""Of one iteration: its command, the engine, where it begins to read and to write."""


def drawn(rng: random.Random, around: int = 0) -> list[Command]:
    """One or two commands, the outermost loops of each being `around` both."""

    def loop(count: int = 0) -> Loop:
        return Loop(count or rng.randint(1, 3), rng.choice((-2, 0, 2, 4)), rng.choice((-2, 0, 2, 4)))

    engines = [None, None, Engine(0, 0, 0), Engine(0, 0, 1)]
    counts = [rng.randint(1, 3) for _ in range(around)]
    return [
        Command(
            Port("host", rng.choice((0, 2, 4))), Port("host", rng.choice((0, 2, 4))),
            (*map(loop, counts), *(loop() for _ in range(rng.randint(0, 2 - around)))), 2, 2, rng.choice(engines),
        )
        for _ in range(rng.randint(1, 2))
    ]  # fmt: skip


def steps(commands: list[Command], around: int) -> list[tuple[tuple[int, ...], Step]]:
    """In the order in which one engine would do them: all commands in each iteration of the loops around."""
    every = [
        (at[:around], (number, one.engine, *(
            port.base + sum(n * by for n, by in zip(at, strides, strict=True))
            for port, strides in ((one.read, [x.read for x in one.loops]), (one.write, [x.write for x in one.loops]))
        )))
        for number, one in enumerate(commands)
        for at in product(*(range(x.count) for x in one.loops))
    ]  # fmt: skip
    return sorted(every, key=lambda one: (one[0], one[1][0]))


def changes_what_is_read_later(first: Step, second: Step) -> bool:
    return first[2] != first[3] and abs(first[3] - second[2]) < 2


@pytest.mark.parametrize("around", [0, 1])
def test_what_is_written_back_where_it_was_read_is_not_written_early(around: int) -> None:
    seen = Counter[bool | None]()
    for seed in range(150):
        commands = drawn(random.Random(seed), around)
        ran = steps(commands, around)
        early = {
            turn != later and one[1] == other[1]
            for i, (turn, one) in enumerate(ran) for j, (later, other) in enumerate(ran)
            if (i < j or one[1] != other[1]) and changes_what_is_read_later(one, other)
        }  # fmt: skip
        found = written_early(commands, Session(), around=around)
        assert isinstance(found, Early) if early else found is None, (seed, commands)
        later = found.later if isinstance(found, Early) else None
        assert later == (min(early) if early else None), (seed, commands)
        seen[later] += 1
    assert min(seen[kind] for kind in ((True, False, None) if around else (False, None))) > 10, seen


HEAD = 'schema = 1\ntarget = "{target}"\n[axes]\nC = 64\nD = 2\n[transfer.t]\ndtype = "i8"\n'
MOVE = """source = {{ tier = "{tier}", base = {a}, element = "{source}" }}
dest = {{ tier = "{tier}", base = {b}, {dest} }}
"""
AT_ONCE = 'stream = { time = "D", packet = "C" }\n'
UP = 'read = "[D=2:64, C=64:1]:64 {at}4096"\nwrite = "[D=2:64, C=64:1]:64 {at}4160"\n'
TWO = """[[transfer.t.command]]
read = "[C=64:1]:64 {at}4096"
write = "[C=64:1]:64 {at}4096"
[[transfer.t.command]]
read = "[C=64:1]:64 {at}4096"
write = "[C=64:1]:64 {at}4160"
"""
MACHINES = [("rngd", "hbm", "HBM/D@"), ("idma", "mem", "@"), ("toy", "gm", "@")]


@pytest.mark.parametrize(("target", "tier", "at"), MACHINES)
@pytest.mark.parametrize(
    ("source", "dest", "b", "how", "status"),
    [
        ("C", 'element = "D, C"', 4096, AT_ONCE, "proved"),
        ("C", 'element = "D, C"', 4096, TWO, "proved"),
        ("C", 'element = "D, C", view = { tile = "D", start = "t" }', 4096, "loop = { t = 2 }\n", "proved"),
        ("C", 'element = "D, C", view = { tile = "D", start = "1 - t" }', 4096, "loop = { t = 2 }\n", "proved"),
        ("D, C", 'element = "D, C"', 4160, UP, "refuted"),
        ("D, C", 'element = "D = 1 # 2, C"', 4160, UP, "unknown"),  # padding takes what was written over
        ("2, C", 'element = "D, C"', 4160, UP, "unknown"),  # by the same elements
    ],
    ids=["broadcast", "commands", "tiles", "tiles down", "up", "into padding", "copies"],
)
def test_a_move_onto_its_own_source_is_refuted_only_where_another_element_arrives(
    tmp_path: Path, target: str, tier: str, at: str, source: str, dest: str, b: int, how: str, status: str
) -> None:
    move = MOVE.format(tier=tier, a=4096, b=b, source=source, dest=dest)
    stream = 'stream = { packet = "C" }\n' if how.startswith("loop") else ""
    plan = tmp_path / "p.toml"
    plan.write_text(HEAD.format(target=target) + move + how.replace("{at}", at) + stream)
    (verdict,) = check(plan)
    assert verdict.status.value == status, [finding.message for finding in verdict.findings]
    assert {finding.rule for finding in verdict.errors} <= {"core/overlap"}


@pytest.mark.parametrize(
    ("source", "dest", "status"),
    [
        ('base = 0, element = "C, D # 4"', 'base = 2, element = "C, D # 4"', "unknown"),  # between the elements
        ('base = 0, element = "C, D # 4"', 'base = 3, element = "C, D # 4"', "refuted"),
        ('base = 0, element = "C # 66, D"', 'base = 128, element = "C, D"', "unknown"),  # behind the last one
        ('base = 0, element = "C # 66, D"', 'base = 127, element = "C, D"', "refuted"),
        ('base = 0, element = "C # 66, D"', 'base = 132, element = "C, D"', "proved"),
    ],
)
def test_a_move_alone_into_the_padding_of_its_source_is_not_refuted(source: str, dest: str, status: str) -> None:
    text = f'{HEAD.format(target="rngd")}source = {{ tier = "hbm", {source} }}\ndest = {{ tier = "hbm", {dest} }}\n'
    (found,) = check(text)
    assert [one.status for one in found.obligations if one.id == "core/overlap"] == [status], found.findings
