"""Plans of Ascend A5 without instructions: moves by commands are copies, and programs of them have pipes and flags."""

from __future__ import annotations

import random

import pytest
from lab.draws import counted

from dmaverify import api
from dmaverify.errors import InputError, InputErrors, Source
from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.machines.pto.check import check_text
from dmaverify.plan.read import read_plan_text
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.schedule import Order, Program, Step, order_of
from dmaverify.prove.flow.order.pipe_state import HAZARDS
from dmaverify.prove.move.copy_ports import copy_facts
from dmaverify.prove.move.full import FROM_DEFINITIONS
from dmaverify.prove.options import Options
from dmaverify.targets.target import load_target
from dmaverify.verdict import Status, Verdict

HEAD = 'schema = 1\ntarget = "pto"\naxes = { R = 64, C = 128, D = 2, N = 8 }\n'


def transfer(name: str, source: str, dest: str, *more: str) -> str:
    return "\n".join(
        [f"[transfer.{name}]", 'dtype = "f16"', f"source = {{ {source} }}", f"dest = {{ {dest} }}", *more, ""]
    )


def judged(*parts: str, name: str = "t", buffers: int = 2) -> Verdict:
    return api.check(HEAD.replace("}", f", B = {buffers} }}") + "\n".join(parts), name)[0]


def rules(verdict: Verdict) -> set[str]:
    return {finding.rule for finding in verdict.errors}


GM, UB = 'tier = "gm", element = "{}"', 'tier = "ub", base = {}, element = "{}"'
STREAM = 'stream = { time = "R", packet = "C" }'

MOVES = {
    "rows on blocks": (GM.format("R, C"), UB.format(32, "R, C # 144"), STREAM, set()),
    "a base between blocks": (GM.format("R, C"), UB.format(16, "R, C"), STREAM, {"pto/ub-align"}),
    "a pitch between blocks": (GM.format("R, C"), UB.format(0, "R, C # 136"), STREAM, {"pto/ub-pitch"}),
    "up to the end": (GM.format("R, C"), UB.format(262144 - 16384, "R, C"), STREAM, set()),
    "beyond the end": (GM.format("R, C"), UB.format(262144 - 16384 + 32, "R, C"), STREAM, {"pto/ub-capacity"}),
    "a store between blocks": (UB.format(16, "R, C"), GM.format("R, C"), STREAM, {"pto/ub-align"}),
    "inside UB": (UB.format(0, "R, C"), UB.format(65536, "R, C"), STREAM, set()),
    "inside UB, no blocks": (
        UB.format(0, "R, C = 100 # 128"), UB.format(65536, "R, C = 100 # 128"), STREAM.replace('"C"', '"C = 100"'),
        {"pto/local-length", "pto/local-gap"},
    ),
    "inside UB, rows one behind the other": (
        UB.format(0, "R, C = 100"), UB.format(65536, "R, C = 100"), STREAM.replace('"C"', '"C = 100"'), set()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_a_move_by_commands_keeps_the_rules_of_copies(name: str) -> None:
    source, dest, stream, wanted = MOVES[name]
    assert rules(judged(transfer("t", source, dest, stream))) == wanted


def test_loops_beyond_those_of_an_instruction_issue_it_again_from_a_base_of_their_own() -> None:
    """Rows of 32 bytes in four loops: three are the instruction's, the last one moves its base."""
    loops = (Loop(2, 4096, 264), Loop(2, 1024, 128), Loop(2, 256, 64), Loop(2, 64, 32))
    command = Command(Port("gm", 0), Port("ub", 512), loops, 32, 32)
    facts = list(copy_facts(command, load_target("pto").routes["gm", "ub"], 2))
    (whole,) = (one.values for one in facts if one.scope == "copy")
    assert [whole[name] for name in ("rows", "row_bytes", "inner_count", "outer_count")] == [2, 32, 2, 2]
    steps = [one.values["stride_bytes"] for one in facts if one.scope == "step" and one.side == "write"]
    assert steps == [32, 64, 128]
    reach = [one.values for one in facts if one.scope == "reach" and one.side == "write"]
    assert [one["base_bytes"] for one in reach] == [512, 776]
    assert {(one["low_bytes"], one["end_bytes"]) for one in reach} == {(512, 512 + 264 + 128 + 64 + 32 + 32)}


def test_a_move_alone_fits_into_the_memory() -> None:
    assert rules(judged(transfer("t", GM.format("N, R, C"), UB.format(0, "N, R, C")))) == set()
    assert rules(judged(transfer("t", GM.format("2, N, R, C"), UB.format(262144 - 131072, "N, R, C")))) == set()
    assert rules(judged(transfer("t", GM.format("N, R, C"), UB.format(160000, "N, R, C")))) == {"pto/ub-capacity"}
    padded = UB.format(262144 - 16384, "R, C # 160")
    assert rules(judged(transfer("t", GM.format("R, C"), padded))) == {"pto/ub-capacity"}


@pytest.mark.parametrize("start", ["8 * t", "{} - 8 * t"])
@pytest.mark.parametrize("stream", [STREAM.replace("R", "N = 8"), ""])
def test_a_tile_that_moves_stays_in_the_memory_in_each_iteration(start: str, stream: str) -> None:
    for rows, wanted in ((1024, set[str]()), (1032, {"pto/ub-capacity"})):
        view = f'view = {{ tile = "N", length = 8, start = "{start.format(rows - 8)}" }}'
        move = transfer(
            "t", f'tier = "gm", element = "N, C", {view}', f'tier = "ub", element = "N, C", {view}',
            f"loop = {{ t = {rows // 8} }}", stream,
        )  # fmt: skip
        assert rules(api.check(HEAD.replace("N = 8", f"N = {rows}") + move, "t")[0]) == wanted


TAILS = {
    "whole blocks": ("C", "R, C", True),
    "padding of the row": ("C = 100", "R, C = 100 # 128", True),
    "the next row": ("C = 100", "R, C = 100 # 104", False),
    "zeros of somebody": ("C = 100", "R, C = 100 #{!} 128", False),
}


@pytest.mark.parametrize("name", TAILS)
def test_what_a_row_leaves_behind_it_is_named_where_it_is_no_padding(name: str) -> None:
    packet, element, quiet = TAILS[name]
    move = transfer("t", GM.format(f"R, {packet}"), UB.format(0, element), STREAM.replace('"C"', f'"{packet}"'))
    said = [one for one in judged(move).conditions if "leaves it unknown" in one]
    assert bool(said) is not quiet


def tiles(buffers: int, turns: int = 8) -> str:
    start = f"t % {buffers}" if buffers > 1 else "0"
    near = f'tier = "ub", element = "B, C", view = {{ tile = "B", start = "{start}" }}'
    near = near if buffers > 1 else 'tier = "ub", element = "C"'
    loop, stream = f"loop = {{ t = {turns} }}", 'stream = { packet = "C" }'
    far = 'tier = "gm", base = {}, element = "N, C", view = {{ tile = "N", start = "t" }}'
    return transfer("load", far.format(0), near, loop, stream) + transfer(
        "store", near, far.format(65536), loop, stream
    )


def program(load: str = "", store: str = ', after = ["load"]') -> str:
    return f'[program.p]\nstep = [{{ transfer = "load"{load} }}, {{ transfer = "store"{store} }}]\n'


@pytest.mark.parametrize("buffers", [1, 2, 4])
def test_a_buffer_is_handed_back_as_often_as_there_are_buffers(buffers: int) -> None:
    for distance in range(1, buffers + 2):
        wait = f", earlier = {{ store = {distance} }}"
        found = judged(tiles(buffers), program(wait), name="p", buffers=buffers)
        assert rules(found) == (set() if distance <= buffers else {"core/hazard-war", "core/hazard-waw"}), distance
        assert found.status is (Status.PROVED if distance <= buffers else Status.REFUTED)
        assert not found.conditions


def test_loads_and_stores_have_pipes_of_their_own() -> None:
    both = {"core/hazard-war", "core/hazard-waw"}
    assert rules(judged(tiles(1), program(store=""), name="p")) == {"core/hazard-raw", *both}
    named = tiles(1).replace('dtype = "f16"', 'dtype = "f16"\nengine = {}')
    assert rules(judged(named, program(), name="p")) == both
    assert rules(judged(tiles(1), program(', context = "one"', ', context = "one"'), name="p")) == set()


@pytest.mark.parametrize(
    ("order", "first", "second", "found"),
    [
        ("contexts", "", "", {"core/hazard-waw"}),
        ("contexts", "", 'after = ["a"]', set()),
        ("contexts", 'context = "one"', 'context = "one"', set()),
        ("contexts", 'context = "one"', 'context = "two"', {"core/hazard-waw"}),
        ("written", "", "", set()),
        ("none", "", 'after = ["a"]', set()),
    ],
)
def test_copies_of_one_pipe_may_swap_where_they_write_the_same_bytes(
    order: str, first: str, second: str, found: set[str]
) -> None:
    """The second load is on time for what waits for it, and for no other load into its buffer."""
    loads = [transfer(n, GM.format("C"), UB.format(0, "C"), 'stream = { packet = "C" }') for n in "ab"]
    store = transfer("s", UB.format(0, "C"), 'tier = "gm", base = 65536, element = "C"', 'stream = { packet = "C" }')
    steps = zip("abs", (first, second, 'after = ["a", "b"]'), strict=True)
    listed = ", ".join(f'{{ transfer = "{name}"{wait and ", " + wait} }}' for name, wait in steps)
    verdict = judged(*loads, store, f'[program.p]\norder = "{order}"\nstep = [{listed}]\n', name="p")
    assert rules(verdict) == found


def test_two_loads_of_one_pipe_are_handed_on_by_the_flag_of_the_second() -> None:
    loads = transfer("a", GM.format("C"), UB.format(0, "C")) + transfer("b", GM.format("C"), UB.format(256, "C"))
    store = transfer("s", UB.format(0, "D, C"), 'tier = "gm", base = 65536, element = "D, C"')
    steps = '[program.p]\nstep = [{ transfer = "a" }, { transfer = "b" }, { transfer = "s", after = ["b"] }]\n'
    assert judged(loads, store, steps, name="p").status is Status.PROVED


def test_a_finding_tells_the_wait_that_would_do() -> None:
    swapped, finding = judged(tiles(2), program(), name="p").errors
    assert "2 iterations later" in finding.message
    assert "`earlier = { store = 2 }`" in finding.hint
    assert finding.source.startswith("PTO pipeline synchronisation")
    assert "`load` writes what it wrote in an earlier iteration" in swapped.message
    assert "`context`" in swapped.hint


WRONG = {
    "no step": (", earlier = { stor = 1 }", "no step `stor`"),
    "no loop": (", earlier = { once = 1 }", "`load` and `once` are not in one loop"),
    "none before": (", earlier = { store = 0 }", "`store` must be at least 1"),
    "too many": (", earlier = { store = 65 }", "`store` is too large"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wait_for_what_is_no_iteration_before_is_refused(name: str) -> None:
    wait, said = WRONG[name]
    once = transfer("once", GM.format("C"), UB.format(65536, "C"), 'stream = { packet = "C" }')
    text = HEAD + tiles(1) + once + program(wait)[:-2] + ', { transfer = "once" }]\n'
    with pytest.raises((InputError, InputErrors)) as raised:
        read_plan_text(text)
    assert said in str(raised.value)


def test_pipes_and_kinds_of_copies_stand_in_the_data() -> None:
    routes = load_target("pto").routes
    assert {(r.engine, r.queue, r.levels) for r in routes.values()} == {
        ("load", "MTE2", 3), ("store", "MTE3", 3), ("local", "LOCAL", 1)
    }  # fmt: skip


def test_an_order_reaches_as_many_iterations_as_it_says() -> None:
    loops = (("t", 9),)
    steps = (
        Step("load", loops=loops, earlier=(("store", 2), ("use", 1))),
        Step("use", loops=loops, after=("load",), earlier=(("store", 3),)),
        Step("store", loops=loops, after=("use",)),
    )
    order = order_of(Program("p", "pto", steps, order="none"), [["a"], ["b"], ["c"]])
    assert isinstance(order, Order)
    gaps = {(a, b): order.gap(a, b) for a in range(3) for b in range(3)}
    assert gaps == {
        (0, 0): 1, (0, 1): 0, (0, 2): 0, (1, 0): 1, (1, 1): 1, (1, 2): 0, (2, 0): 2, (2, 1): 2, (2, 2): 1
    }  # fmt: skip


def drawn_copy(draw: random.Random) -> tuple[Command, bool]:
    """A copy of up to three levels that do not go on where the one inside ends, and whether it is a load."""
    row = draw.choice((16, 32, 40, 64, 256, 4096))
    loops = []
    for count in draw.choices((2, 3, 8, 64), k=draw.randint(0, 3)):
        ub = draw.choice((row, row + 32, 32, 48, 256, 4096, 70000, 3 << 20))
        loops.append(Loop(count, draw.choice((row + 8, 512, 100_000, 1 << 41)), ub))
    load = draw.random() < 0.6
    gm, ub = Port("gm", 0), Port("ub", draw.choice((0, 32, 16, 4096, 200_000, 262_112)))
    if not load:
        loops = [Loop(one.count, one.write, one.read) for one in loops]
    return Command(*((gm, ub) if load else (ub, gm)), tuple(loops), row, row), load


def as_plan(name: str, command: Command, load: bool) -> str:
    """The copy as printed commands of a transfer; what it moves is no promise that it keeps."""
    texts = [
        "[" + ", ".join([*(f"{one.count}:{getattr(one, side)}" for one in command.loops), f"{command.burst}:1"])
        + f"]:{command.burst} @{getattr(command, side).base}"
        for side in ("read", "write")
    ]  # fmt: skip
    tiers = ("gm", "ub") if load else ("ub", "gm")
    source, dest = (f'{{ tier = "{tier}", element = "C" }}' for tier in tiers)
    tensors = f'dtype = "i8"\nsource = {source}\ndest = {dest}\n'
    return f'[transfer.{name}]\n{tensors}read = "{texts[0]}"\nwrite = "{texts[1]}"\n'


def as_kernel(name: str, command: Command, load: bool) -> str:
    """The copy as an instruction with inline loops."""
    numbers = {one: f"%c{one}" for one in (0, 1, command.burst, command.read.base, command.write.base)}
    levels = list(reversed(command.loops)) or [Loop(1, command.burst, command.burst)]
    numbers |= {n: f"%c{n}" for one in levels for n in (one.count, one.read, one.write)}
    groups = [f"({numbers[one.count]}, {numbers[one.read]}, {numbers[one.write]})" for one in levels]
    text = " ".join(f"{'loop' if i else 'nburst'}{group}" for i, group in enumerate(groups))
    gm, ub = "!pto.ptr<i8, gm>", "!pto.ptr<i8, ub>"
    types = f"{gm}, {ub}, i64" if load else f"{ub}, {gm}"
    types += ", i64, i64, i64, i64" + ", loop i64, i64, i64" * (len(levels) - 1)
    base = numbers[(command.write if load else command.read).base]
    head = f"pto.mte_gm_ub %t, %u, {numbers[0]}, {numbers[command.burst]}" if load else (
        f"pto.mte_ub_gm %u, %t, {numbers[command.burst]}"
    )  # fmt: skip
    lines = [f"  {name} = arith.constant {value} : i64" for value, name in sorted(numbers.items())]
    lines += [f"  %u = pto.castptr {base} : i64 -> {ub}", f"  {head} {text} : {types}"]
    return "\n".join([f"func.func @{name}(%t: {gm}) {{", *lines, "  return", "}", ""])


@pytest.mark.slow
@pytest.mark.parametrize("count", counted(24, 60))
def test_commands_of_a_plan_break_the_rules_that_the_same_instruction_breaks(count: int) -> None:
    draw = random.Random(7)
    copies = [drawn_copy(draw) for _ in range(count)]
    normal = [(command, load) for command, load in copies if command.normal is command]
    plan = "".join(as_plan(f"t{n}", *one) for n, one in enumerate(normal))
    kernels = "".join(as_kernel(f"t{n}", *one) for n, one in enumerate(normal))
    by_plan = [{rule for rule in rules(one) if rule.startswith("pto/")} for one in api.check(HEAD + plan)]
    found = check_text(Source("copies.mlir", kernels))
    by_kernel = [{rule for rule in rules(one) if rule.startswith("pto/")} for one in found]
    assert by_plan == by_kernel
    assert len(normal) > count * 2 // 3
    assert {rule for found in by_plan for rule in found} > {
        "pto/ub-align",
        "pto/ub-pitch",
        "pto/ub-stride",
        "pto/gm-stride",
    }


def test_waits_for_iterations_before_are_asked_from_definitions() -> None:
    wait = program(", earlier = { store = 2 }")
    plan = read_plan_text(HEAD.replace("}", ", B = 2 }") + tiles(2) + wait)
    (verdict,) = (one for one in verdicts_of(plan, Options(prove="full")) if one.name == "p")
    by = {one.id: one.by for one in verdict.obligations}
    assert all(by[rule].startswith(FROM_DEFINITIONS) for rule in HAZARDS[:2])


NOWHERE = {
    "from GM to GM": (transfer("t", GM.format("R, C"), 'tier = "gm", base = 65536, element = "R, C"', STREAM), "route"),
    "from GM to GM, alone": (transfer("t", GM.format("R, C"), 'tier = "gm", base = 65536, element = "R, C"'), "route"),
    "a fetch": (
        f'[access.t]\nengine = "fetch"\ndtype = "f16"\nmemory = {{ {UB.format(0, "R, C")} }}\n{STREAM}\n',
        "fetch engine",
    ),
    "a gather": (
        f'[gather.t]\ndtype = "f16"\nsource = {{ {GM.format("R, C")} }}\ndest = {{ {UB.format(0, "N, C")} }}\n'
        'index = { tier = "gm", base = 65536, element = "N", scaled = false, rows = [0, 63] }\n'
        + STREAM.replace("R", "N"),
        "gather engine",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOWHERE)
@pytest.mark.parametrize("sizes", ["R = 64", "R = { min = 64, max = 128 }"])
def test_what_the_machine_has_no_way_for_is_refused(name: str, sizes: str) -> None:
    text, said = NOWHERE[name]
    if "{" in sizes and name == "a gather":
        return
    (verdict,) = api.check(HEAD.replace("R = 64", sizes) + text, "t")
    assert any(f"pto has no {said}" in one.message for one in verdict.errors)
    assert "core/well-formed" in rules(verdict)
