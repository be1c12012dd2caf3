"""What must be in memory where a program begins: named where no step wrote it, or stated by the plan."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest
from lab.draws import counted
from lab.started import StartedProgram, StartedStep, draw_started

from dmaverify import api
from dmaverify.language.expr import Kind
from dmaverify.language.meaning import Index, Pad, cell, finalize
from dmaverify.plan.read import read_plan_text
from dmaverify.program.schedule import Order, order_of
from dmaverify.prove.flow.accesses.touches import work_of
from dmaverify.prove.flow.initialization.begun import there_at_start
from dmaverify.targets.target import load_target
from dmaverify.verdict import Status, Verdict

TARGET = load_target("rngd")

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


TURNS = 3


def drawn(draw: random.Random) -> list[tuple[int, bool, int, bool]]:
    """Steps in written order: base in DM, whether it loads, turns of its loop, whether the loop moves its tile."""
    count = draw.randint(2, 6)
    inside = range(1, 1 + count // 2) if draw.random() < 0.5 else range(0)
    return [
        (draw.choice((0, 128, 256, 384)), draw.random() < 0.55, TURNS if i in inside else 0, draw.random() < 0.4)
        for i in range(count)
    ]


def text_of(steps: list[tuple[int, bool, int, bool]]) -> str:
    parts = []
    for i, (base, loads, turns, moves) in enumerate(steps):
        near = dm(base, view=TILE if turns and moves else "")
        far = hbm(65536 * i, TILE if turns else "")
        parts.append(move(f"x{i}", *((far, near) if loads else (near, far)), turns))
    names = ", ".join(f'{{ transfer = "x{i}" }}' for i in range(len(steps)))
    return f'{PLAN}{"".join(parts)}\n[program.p]\norder = "written"\nstep = [{names}]\n'


def read_unwritten(steps: list[tuple[int, bool, int, bool]]) -> set[int]:
    """Steps that read a byte which nothing wrote before, step by step and turn by turn; steps in loops are one body."""
    written, found = set[int](), set[int]()
    body = [i for i, step in enumerate(steps) if step[2]]
    before = [(i, 0) for i in range(len(steps)) if not body or i < body[0]]
    behind = [(i, 0) for i in range(len(steps)) if body and i > body[-1]]
    for i, turn in (*before, *((i, turn) for turn in range(TURNS) for i in body), *behind):
        base, loads, _, moves = steps[i]
        own = set(range(base + 256 * turn * moves, base + 256 * turn * moves + 256))
        if loads:
            written |= own
        elif not own <= written:
            found.add(i)
    return found


def supposed_of(text: str) -> set[int]:
    """The moves of a program, by their numbers, of which it is supposed that memory holds what they read."""
    program = read_plan_text(text, partly=True).programs[0]
    works = [work_of(number, step, TARGET) for number, step in enumerate(program.steps)]
    order = order_of(program, [work.lanes for work in works])
    assert isinstance(order, Order)
    said = there_at_start(program, works, order, TARGET).supposed
    return {int(re.findall(r"`x(\d+)`", one)[0]) for one in said}


@pytest.mark.parametrize("count", counted(45, 3000))
def test_every_read_of_a_byte_that_nothing_wrote_is_named(count: int) -> None:
    named_too = unwritten = 0
    for seed in range(count):
        steps = drawn(random.Random(f"begun {seed}"))
        named = supposed_of(text_of(steps))
        assert read_unwritten(steps) <= named, text_of(steps)
        unwritten += len(read_unwritten(steps))
        named_too += len(named - read_unwritten(steps))
    assert unwritten > 2 * count // 3
    assert named_too < count // 15


@pytest.mark.parametrize("count", counted(30, 120))
def test_reads_in_long_and_nested_loops_are_named_where_some_turn_finds_nothing(count: int) -> None:
    """What a body reads an earlier turn wrote, or another loop, or the same turn: each row moves in its own way."""
    too_many = unwritten = 0
    for seed in range(count):
        drawn = draw_started(random.Random(f"started {seed}"))
        named = supposed_of(drawn.text())
        assert drawn.unwritten() <= named, drawn.text()
        unwritten += len(drawn.unwritten())
        too_many += len(named - drawn.unwritten())
    assert unwritten > count
    assert too_many <= count // 15 + 2


@pytest.mark.parametrize(("loads", "named"), [({"t": 1}, False), ({"t": -1}, True)])
def test_what_other_turns_write_is_not_there_in_each(loads: dict[str, int], named: bool) -> None:
    """300 rows, brought in the order in which they leave, or in the other one: the first to leave comes last."""
    brought = StartedStep(0, True, True, loads, 0 if loads["t"] > 0 else 299)
    program = StartedProgram({"t": 300}, (brought, StartedStep(0, False, True, {"t": 1})))
    assert bool(program.unwritten()) is named
    verdict = api.check(program.text(), "p")[0]
    assert any(BEGINS in one for one in verdict.conditions) is named


@pytest.mark.parametrize("primed", [True, False])
def test_a_long_loop_that_loads_ahead_needs_the_first_tile_alone(primed: bool) -> None:
    first = StartedStep(0 if primed else 1024, True, False)
    turn = StartedStep(0, False, True, {"t": 1}), StartedStep(0, True, True, {"t": 1}, 1)
    program = StartedProgram({"t": 300}, (first, *turn))
    assert bool(program.unwritten()) is not primed
    verdict = api.check(program.text(), "p")[0]
    assert any(BEGINS in one for one in verdict.conditions) is not primed


AHEAD = move("ahead", hbm(0, 'tile = "A", start = 0'), dm(0, view='tile = "A", start = 0'))
NEXT = move("next", hbm(0, 'tile = "A", start = "t + 1"'), dm(0, view='tile = "A", start = "t + 1", partial = true'), 3)
SENT = move("sent", dm(0, view='tile = "A", start = "t", partial = true'), hbm(1 << 20, f"{TILE}, partial = true"), 3)


@pytest.mark.parametrize("primed", [True, False])
def test_a_loop_that_loads_ahead_needs_the_first_tile_alone(primed: bool) -> None:
    verdict = judged(AHEAD, SENT, NEXT, steps=f"{'ahead ' if primed else ''}sent next", more='order = "written"')
    assert any(BEGINS in one for one in verdict.conditions) is not primed


SIZED = """\
schema = 1
target = "rngd"
axes = { S = { min = 2, max = 64 }, C = 256 }
"""


@pytest.mark.parametrize(
    ("steps", "more", "named"),
    [
        ("store", "", True),
        ("load store<load", "", False),
        ("store load<store", "", True),
        ("far store<far", "", True),
        ("store", 'holds = ["dm"]', False),
    ],
)
def test_what_programs_with_symbols_read_at_their_start_is_named(steps: str, more: str, named: bool) -> None:
    far = move("far", hbm(0), dm(256, "S # 64"))
    parts = (move("load", hbm(0), dm(0, "S # 64")), move("store", dm(0, "S # 64"), hbm(1 << 20)), far)
    listed = ", ".join(
        f'{{ transfer = "{name}"' + (f', after = ["{after}"] }}' if after else " }")
        for name, _, after in (one.partition("<") for one in steps.split())
    )
    verdict = api.check(f"{SIZED}{''.join(parts)}\n[program.p]\n{more}\nstep = [{listed}]\n", "p")[0]
    assert any(BEGINS in one for one in verdict.conditions) is named
    assert (f"dm holds what is read of it {BEGINS}" in verdict.assumptions) is bool(more)


EMPTY = {
    "a region that is filled": ('regions = ["room"]\nempty = ["room"]', "load store<load", set[str]()),
    "a region that is not": ('regions = ["room"]\nempty = ["room"]', "store", {"store"}),
    "a region that is filled too late": ('regions = ["room"]\nempty = ["room"]', "store load<store", {"store"}),
    "a region beside it": ('regions = ["beside"]\nempty = ["beside"]', "store", set[str]()),
    "the memory": ('empty = ["mem"]', "load store<load", {"load"}),
    "nothing": ("", "store", set[str]()),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_program_states_which_memory_is_empty_where_it_begins(name: str) -> None:
    more, steps, wanted = EMPTY[name]
    text = PLAN.replace('"rngd"', '"idma"').split("[region.low]")[0]
    for region, base in (("room", 4096), ("beside", 4352)):
        text += f'[region.{region}]\ntier = "mem"\nbase = {base}\nsize = 256\n'
    near, far = 'tier = "mem", base = 4096, element = "C"', 'tier = "mem", base = {}, element = "C"'
    for transfer, source, dest in (("load", far.format(65536), near), ("store", near, far.format(131072))):
        text += f'[transfer.{transfer}]\ndtype = "i8"\nsource = {{ {source} }}\ndest = {{ {dest} }}\n'
    listed = ", ".join(
        f'{{ transfer = "{one}"' + (f', after = ["{after}"] }}' if after else " }")
        for one, _, after in (step.partition("<") for step in steps.split())
    )
    verdict = api.check(f"{text}[program.p]\n{more}\nstep = [{listed}]\n", "p")[0]
    denied = [one.by for one in verdict.obligations if (one.id, one.status) == ("core/definite", "unknown")]
    assert {one.split("`")[1] for one in denied} == wanted
    assert not [one for one in verdict.conditions if BEGINS in one]
    assert bool(denied) == (verdict.status is Status.UNKNOWN)


WHOLE = """\
schema = 1
target = "rngd"
[axes]
A = 12
C = 256
R = 16
K = 4
[transfer.in]
dtype = "i8"
source = { tier = "hbm", element = "A, C" }
dest = { tier = "dm", slice = "SLICES", element = "ELEMENT, C" }
[gather.in-rows]
dtype = "i8"
source = { tier = "hbm", element = "R, C" }
dest = { tier = "dm", slice = "1 # 64", element = "K # 8, C" }
index = { tier = "hbm", base = 65536, element = "K", rows = [0, 15] }
[transfer.mid]
dtype = "i8"
source = { tier = "hbm", base = 65536, element = "2, C" }
dest = { tier = "dm", base = BASE, slice = "1", element = "2, C" }
stream = { time = "2", packet = "C" }
[transfer.out]
dtype = "i8"
source = { tier = "dm", slice = "1 # 64", element = "ROWS, C" }
dest = { tier = "hbm", base = 1048576, element = "ROWS, C" }
stream = { time = "ROWS", packet = "C" }
[program.p]
"""


def whole(element: str, steps: str, *, rows: int = 1, base: int = 0, slices: str = "1 # 64") -> Verdict:
    """A load without stream or commands, among other steps."""
    text = WHOLE.replace("ELEMENT", element).replace("SLICES", slices)
    return api.check(text.replace("ROWS", str(rows)).replace("BASE", str(base)) + steps, "p")[0]


@pytest.mark.parametrize(
    ("step", "element", "rows", "known"),
    [
        ("transfer", "A", 12, True),
        ("transfer", "A # 16", 12, True),
        ("transfer", "A # 16", 13, False),
        ("transfer", "A #{!} 16", 12, True),
        ("transfer", "A #{!} 16", 13, False),
        ("gather", "A", 4, True),
        ("gather", "A", 5, False),
    ],
)
def test_a_move_without_commands_surely_writes_its_live_cells_alone(
    step: str, element: str, rows: int, known: bool
) -> None:
    name = "in" if step == "transfer" else "in-rows"
    steps = f'empty = ["dm"]\nstep = [{{ {step} = "{name}" }}, {{ transfer = "out", after = ["{name}"] }}]\n'
    verdict = whole(element, steps, rows=rows)
    assert {one.status for one in verdict.obligations if one.id == "core/definite"} == (set() if known else {"unknown"})
    assert (verdict.status is Status.PROVED) == known


@pytest.mark.parametrize(
    ("element", "slices", "base", "wanted"),
    [
        ("A # 16", "1", 3072, Status.UNKNOWN),  # rows 12 and 13 may be written, or not
        ("A # 16", "1", 2816, Status.REFUTED),
        ("A # 16", "1", 4096, Status.PROVED),
        ("A #{!} 16", "1", 3072, Status.PROVED),  # nobody may write them
        ("A #{!} 16", "1", 2816, Status.REFUTED),
        ("A #{0} 16", "1", 3072, Status.REFUTED),  # they must end as zero
        ("A #{!} 16", "1 # 64", 3072, Status.UNKNOWN),
        ("A", "1", 2816, Status.REFUTED),
        ("A", "1", 3072, Status.PROVED),
    ],
)
def test_a_hazard_needs_bytes_that_both_steps_surely_touch(
    element: str, slices: str, base: int, wanted: Status
) -> None:
    steps = 'step = [{ transfer = "in", context = "x" }, { transfer = "mid", context = "y" }]\n'
    verdict = whole(element, steps, base=base, slices=slices)
    assert verdict.status is wanted
    zeros = {"core/steps"} if "#{0}" in element else set()  # which its source has not
    assert {f.rule for f in verdict.errors} == ({"core/hazard-waw", *zeros} if wanted is Status.REFUTED else set())


def test_an_order_that_only_may_be_needed_rests_on_one_engine_too() -> None:
    steps = 'step = [{ transfer = "in" }, { transfer = "mid" }]\n'
    said = "`in` and `mid` share one engine"
    for base, wanted in ((3072, True), (4096, False)):
        assert any(said in one for one in whole("A # 16", steps, base=base, slices="1").conditions) == wanted


PADS = (
    "A, B", "A", "B", "A # 8", "A #{!} 8", "A #{0} 8", "A # 7, B", "B, A #{!} 8", "A / 2 # 4, A % 2", "B, 2, A",
    "A % 2, A / 2", "A / 4, A % 4", "A = 3, B", "A = 8", "B # 4, A #{0} 7", "[A, B] # 24", "2 # 4, A",
    "A % 3, B #{0} 5",
)  # fmt: skip


@pytest.mark.parametrize("element", PADS)
def test_what_a_move_without_commands_surely_touches_is_what_all_legal_commands_do(element: str) -> None:
    """Every cell, by the meaning of its mapping: sure writes are live or zero, what may be written is no Bottom."""
    text = (
        'schema = 1\ntarget = "idma"\n[axes]\nA = 6\nB = 3\n[transfer.t]\ndtype = "i8"\n'
        'source = { tier = "mem", element = "A, B" }\n'
        f'dest = {{ tier = "mem", base = 4096, element = "{element}" }}\n'
        f'[transfer.back]\ndtype = "i8"\nsource = {{ tier = "mem", base = 4096, element = "{element}" }}\n'
        'dest = { tier = "mem", element = "A, B" }\n'
        '[program.p]\nstep = [{ transfer = "t" }, { transfer = "back" }]\n'
    )
    plan = read_plan_text(text)
    target = plan.targets["idma"]
    expr = plan.programs[0].steps[0].transfer.dest.element
    cells = [finalize(cell(expr, at), {"A": 6, "B": 3}, Kind.BOTTOM) for at in range(expr.size)]
    for step, writes in ((0, True), (1, False)):
        touches = [t for t in work_of(step, plan.programs[0].steps[step], target).touches if t.writes is writes]
        made = {sure: set[int]() for sure in (True, False)}
        for touch in touches:
            made[touch.sure] |= {
                touch.walk.address(at) - 4096 for at in product(*(range(n) for n, _ in touch.walk.loops))
            }
        must, may = made[True], made[True] | made[False]
        for at, found in enumerate(cells):
            kind = found.kind if isinstance(found, Pad) else Kind.BOTTOM
            if isinstance(found, Index):
                assert at in may, at
                assert at not in must or writes or cells.count(found) == 1, at  # elsewhere it may be read as well
            else:
                assert at not in must or (writes and kind is Kind.ZERO), at
                assert at in may or (writes and kind is Kind.BOTTOM), at
        if element in ("A, B", "B, A #{!} 8"):
            assert must, "what is plain is sure"


@pytest.mark.parametrize(
    ("element", "read"), [("A, B", range(18)), ("A", range(0, 18, 3)), ("B", range(3)), ("1", [0])]
)
def test_of_axes_that_the_destination_does_not_name_the_first_elements_are_surely_read(element: str, read) -> None:
    text = (
        'schema = 1\ntarget = "idma"\n[axes]\nA = 6\nB = 3\n[transfer.t]\ndtype = "i8"\n'
        'source = { tier = "mem", element = "A, B" }\n'
        f'dest = {{ tier = "mem", base = 4096, element = "{element}" }}\n'
        '[program.p]\nstep = [{ transfer = "t" }]\n'
    )
    plan = read_plan_text(text)
    touches = work_of(0, plan.programs[0].steps[0], plan.targets["idma"]).touches
    sure = [t.walk for t in touches if t.sure and not t.writes]
    assert {walk.address(at) for walk in sure for at in product(*(range(n) for n, _ in walk.loops))} == set(read)


@pytest.mark.parametrize(("source", "sure"), [
    ('tier = "hbm", chip = "B", element = "A"', set()), ('tier = "hbm", chip = "1 # 2", element = "A"', set()),
    ('tier = "dm", cluster = "B", slice = "1 # 64", element = "A"', set()), ('tier = "hbm", element = "B, A"', {0}),
])  # fmt: skip
def test_an_axis_over_chips_or_clusters_that_the_destination_lacks_is_surely_read_nowhere(source: str, sure) -> None:
    """It is read on the first of them; no witness stands on the others."""
    text = (
        'schema = 1\ntarget = "rngd"\n[axes]\nA = 64\nB = 2\n[transfer.t]\ndtype = "i8"\n'
        f'source = {{ {source} }}\ndest = {{ tier = "hbm", base = 4096, element = "A" }}\n'
        '[program.p]\nstep = [{ transfer = "t" }]\n'
    )
    plan = read_plan_text(text)
    touches = work_of(0, plan.programs[0].steps[0], plan.targets["rngd"]).touches
    assert {touch.memory[1] for touch in touches if touch.sure and not touch.writes} == sure


def test_memory_is_not_both_empty_and_held() -> None:
    with pytest.raises(Exception, match="`dm` cannot hold what is read of it and be empty"):
        judged(STORE, steps="store", more='holds = ["dm"]\nempty = ["dm"]')


def test_the_list_of_a_gather_is_read_as_it_was_written() -> None:
    gather = """
[gather.g]
dtype = "i8"
source = { tier = "hbm", element = "S, C" }
dest = { tier = "dm", base = 4096, slice = "A # 64", element = "C" }
index = { tier = "dm", base = 0, element = "A", scaled = false, rows = [0, 63] }
stream = { time = "A", packet = "C" }
"""
    listing = '\n[transfer.list]\ndtype = "i32"\nsource = { tier = "hbm", base = 1048576, element = "A" }\n'
    listing += 'dest = { tier = "dm", base = 0, element = "A" }\nstream = { packet = "A" }\n'
    for base, named in ((0, False), (8, True)):
        text = PLAN + gather + listing.replace("base = 0", f"base = {base}")
        steps = '[program.p]\nstep = [{ transfer = "list" }, { gather = "g", after = ["list"] }]\n'
        assert any(BEGINS in one for one in api.check(text + steps, "p")[0].conditions) is named
