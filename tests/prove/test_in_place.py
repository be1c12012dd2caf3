"""Moves within one memory: what is written back where it was read changes nothing, whoever reads it later."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from dmaverify import check
from dmaverify.execute.interpret import interpret
from dmaverify.plan.execution import PlanExecution
from dmaverify.program.command import Command, Engine, Loop, Port
from dmaverify.prove.move.any_order import NO_ELEMENT
from dmaverify.prove.move.overlap import Early, written_early
from dmaverify.prove.options import Options
from dmaverify.prove.smt import Session
from dmaverify.verdict import Status

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
    for seed in (*range(148), 151, 269):
        commands = drawn(random.Random(seed), around)
        ran = steps(commands, around)
        early = {
            turn != later and one[1] == other[1]
            for i, (turn, one) in enumerate(ran) for j, (later, other) in enumerate(ran)
            if (i < j or one[1] != other[1]) and changes_what_is_read_later(one, other)
        }  # fmt: skip
        found = written_early(commands, Session(), request_units=2, around=around)
        assert isinstance(found, Early) if early else found is None, (seed, commands)
        later = found.later if isinstance(found, Early) else None
        assert later == (min(early) if early else None), (seed, commands)
        seen[later] += 1
    assert min(seen[kind] for kind in ((True, False, None) if around else (False, None))) > 10, seen


@pytest.mark.parametrize(("around", "swap"), [(0, False), (1, False), (1, True)])
def test_copies_in_no_order_read_nothing_that_one_of_them_changes(around: int, swap: bool) -> None:
    seen = Counter[bool | None]()
    for seed in range(30):
        commands = drawn(random.Random(seed), around)
        ran = steps(commands, around)
        early = {
            turn != later
            for turn, one in ran for later, other in ran
            if (turn == later or swap or (turn < later and one[1] == other[1]))
            and changes_what_is_read_later(one, other)
        }  # fmt: skip
        found = written_early(commands, Session(), around=around, unordered=True, swap=swap)
        assert isinstance(found, Early) if early else found is None, (seed, commands)
        assert (found.later if isinstance(found, Early) else None) == (min(early) if early else None), (seed, commands)
        seen[min(early) if early else None] += 1
    assert min(seen[kind] for kind in (False, None)) > 3, seen


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


UB = """schema = 1
target = "pto"
[axes]
R = 2
C = 64
[transfer.t]
dtype = "ui8"
source = {{ tier = "ub", base = 1024, element = "R, C # 128" }}
dest = {{ tier = "ub", base = {to}, element = "R, C # 128" }}
read = "[R=2:128, C=64:1]:64 @1024"
write = "[R=2:128, C=64:1]:64 @{to}"
"""


@pytest.mark.parametrize(
    ("to", "status"),
    [
        (1024, "proved"),  # onto itself
        (1024 + 32, "refuted"),  # up, onto its own rest
        (1024 - 32, "refuted"),  # down: no document says in which order blocks are moved
        (1024 + 64, "proved"),  # between the rows
        (1024 + 128, "refuted"),  # the first row onto the second
        (1024 - 128, "refuted"),
        (1024 - 192, "proved"),
    ],
)
def test_a_copy_instruction_promises_no_order_of_its_rows_and_blocks(to: int, status: str) -> None:
    (found,) = check(UB.format(to=to), options=Options(cross_check=0))
    assert found.status.value == status, found.findings
    outcome = interpret(*PlanExecution(UB.format(to=to)).work("t"))
    assert ("core/overlap" in outcome.wrong) == (status == "refuted")
    assert not outcome.unsaid


@pytest.mark.parametrize(("to", "status"), [(0, "proved"), (1, "unknown"), (63, "unknown"), (64, "proved")])
def test_where_no_words_are_known_a_burst_on_its_own_rest_is_open(to: int, status: str) -> None:
    sides = MOVE.format(tier="gm", a=4096, b=4096 + to, source="C", dest='element = "C"')
    rows = f'read = "[C=64:1]:64 @4096"\nwrite = "[C=64:1]:64 @{4096 + to}"\n'
    (found,) = check(HEAD.format(target="toy") + sides + rows)
    assert [one.status for one in found.obligations if one.id == "core/overlap"] == [status], found.findings


BETWEEN = 'base = 0, element = "C, D # 4"'


@pytest.mark.parametrize(
    ("source", "dest", "status"),
    [
        (BETWEEN, 'base = 2, element = "C, D # 4"', "unknown"),  # its padding lies where the source has elements
        (BETWEEN, 'base = 2, element = "C, D #{!} 4"', "proved"),  # and nothing writes it
        (BETWEEN, 'base = 2, element = "C, D #{0} 4"', "refuted"),  # and zeros must be written there
        (BETWEEN, 'base = 3, element = "C, D #{!} 4"', "refuted"),
        ('base = 0, element = "C # 66, D"', 'base = 128, element = "C, D"', "proved"),  # behind the last element
        ('base = 0, element = "C # 66, D"', 'base = 127, element = "C, D"', "refuted"),
        ('base = 0, element = "C #{0} 66, D"', 'base = 128, element = "C, D"', "proved"),
        ('base = 0, element = "C #{0} 66, D"', 'base = 128, element = "C #{0} 66, D"', "unknown"),  # on zeros to move
        ('base = 0, element = "2, C"', 'base = 64, element = "D, C"', "proved"),  # the same elements
        ('base = 0, element = "2, C"', 'base = 0, element = "C # 128"', "unknown"),  # its padding, on the other copy
        ('base = 0, element = "D / 2, D, C"', 'base = 0, element = "D # 3, C"', "proved"),
        ('base = 0, element = "2, C"', 'base = 63, element = "D, C"', "refuted"),
        ('base = 0, element = "D, C"', 'base = 64, element = "C"', "proved"),  # on what it does not ask for
        ('base = 0, element = "D, C"', 'base = 0, element = "D, C # 66"', "refuted"),  # its first bytes are alike
    ],
)
def test_a_move_alone_is_refuted_by_a_byte_where_another_element_is_asked_for(
    source: str, dest: str, status: str
) -> None:
    text = f'{HEAD.format(target="rngd")}source = {{ tier = "hbm", {source} }}\ndest = {{ tier = "hbm", {dest} }}\n'
    (found,) = check(text)
    assert [one.status for one in found.obligations if one.id == "core/overlap"] == [status], found.findings
    assert all(finding.witness for finding in found.errors if finding.rule == "core/overlap")


def test_a_move_alone_that_is_safe_in_any_order_is_not_asked_to_lie_apart() -> None:
    sides = 'source = { tier = "hbm", element = "C # 66, D" }\ndest = { tier = "hbm", base = 128, element = "C, D" }\n'
    (found,) = check(HEAD.format(target="rngd") + sides, options=Options(prove="full"))
    assert found.status is Status.PROVED
    assert any(f"core/overlap by {NO_ELEMENT}" in one for one in found.assumptions)


@pytest.mark.parametrize(
    ("starts", "base", "status"),
    [
        (("0", "1"), 0, "proved"),  # other tiles of one buffer
        (("0", "1"), -63, "refuted"),
        (("2 * t", "2 * t + 1"), 0, "proved"),
        (("t + 1", "t"), 0, "proved"),  # what is written was read an iteration before
        (("t", "t + 1"), 0, "refuted"),
    ],
)
def test_tiles_of_one_buffer_that_nothing_carries_out_are_judged_by_what_each_iteration_shows(
    starts: tuple[str, str], base: int, status: str
) -> None:
    view = 'view = {{ tile = "4", length = 1, start = "{}", partial = true }}'
    side = f'{{{{ tier = "hbm", base = {{}}, element = "4, C", {view.replace("{}", "%s")} }}}}'
    source, dest = (side.format(b) % at for b, at in zip((64, 64 + base), starts, strict=True))
    (found,) = check(f"{HEAD.format(target='rngd')}loop = {{ t = 2 }}\nsource = {source}\ndest = {dest}\n")
    assert [one.status for one in found.obligations if one.id == "core/overlap"] == [status], found.findings


@pytest.mark.parametrize("stream", ["", 'stream = { packet = "C" }\n'])
def test_regions_behind_views_lie_apart_as_whole_tensors(stream: str) -> None:
    """What the first iteration shows begins where the view does, and is as long as the tensor."""
    view = 'element = "2, C", view = {{ tile = "2", length = 1, start = "{}" }}'
    sides = f'source = {{ tier = "hbm", base = 128, {view.format("t")} }}\n'
    sides += f'dest = {{ tier = "hbm", {view.format("1 - t")} }}\n'
    text = f"{HEAD.format(target='rngd')}loop = {{ t = 2 }}\n{sides}{stream}"
    (found,) = check(text, options=Options(prove="full"))
    assert found.status is Status.PROVED
