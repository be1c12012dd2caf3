"""Classes of plans that one iteration, one row, one box or one queue must not stand for, on both sides of each edge."""

from __future__ import annotations

import pytest

from dmaverify import api
from dmaverify.execute.interpret import interpret
from dmaverify.plan.execution import PlanExecution
from dmaverify.prove.flow.accesses import slices
from dmaverify.prove.flow.starvation import beside_dma
from dmaverify.prove.move.check import Options
from dmaverify.verdict import Status, Verdict

HEAD = (
    'schema = 1\ntarget = "rngd"\n[axes]\nA = 16\nB = 8\nC = 64\nE = 64\nK = 8\nM = 30\nN = 1\nR = 16\nS = 128\n'
    "T = 4\nW = 8\nR20 = 20\nR21 = 21\nR31 = 31\nR32 = 32\nR40 = 40\nR62 = 62\nR63 = 63\n"
)
OPTIONS = Options(repair=False, cross_check=1 << 10)


def judged(text: str, name: str = "p") -> Verdict:
    return next(v for v in api.check(HEAD + text, options=OPTIONS) if v.name == name)


def errors(text: str, name: str = "p") -> set[str]:
    return {f.rule for f in judged(text, name).errors}


def run(text: str, name: str = "p") -> set[str]:
    """What a run of the text breaks."""
    return set(interpret(*PlanExecution(HEAD + text).work(name)).wrong)


def program(*steps: str, more: str = "") -> str:
    return f"[program.p]\n{more}" + "".join(f"[[program.p.step]]\n{step}\n" for step in steps)


# ---------------------------------------------------------------- views: digits of size 1, tiles of tiles


def load(views: str, dest: str, time: str, source: str = "A, N, C") -> str:
    return (
        f'[transfer.p]\ndtype = "i8"\nsource = {{ tier = "hbm", element = "{source}", view = [{views}] }}\n'
        f'dest = {{ tier = "dm", slice = "1 # 64", element = "{dest}" }}\n'
        f'stream = {{ time = "{time}", packet = "C" }}\n'
    )


ONE = '{ tile = "N", length = 1, start = 0 }'


def rows(start: int, length: int = 4) -> str:
    return f'{{ tile = "A", length = {length}, start = {start} }}'


@pytest.mark.parametrize("views", [f"{ONE}, {{}}", f"{{}}, {ONE}", f"{ONE}, {{}}, {ONE}"])
@pytest.mark.parametrize("source", ["A, N, C", "N, A, C", "A, C, N"])
@pytest.mark.parametrize(("start", "wanted"), [(12, set()), (13, {"core/in-bounds"})])
def test_a_tile_on_an_axis_of_size_one_leaves_the_others_alone(
    views: str, source: str, start: int, wanted: set[str]
) -> None:
    text = load(views.replace("{}", rows(start)), "A = 4, N, C", "A = 4, N", source)
    assert errors(text) == wanted


def test_a_tile_of_size_one_has_one_place() -> None:
    assert errors(load('{ tile = "N", length = 1, start = 1 }', "A, N, C", "A, N")) == {"core/in-bounds"}


@pytest.mark.parametrize(
    ("second", "wanted"),
    [((0, 2), set()), ((2, 2), set()), ((3, 2), {"core/in-bounds"}), ((4, 1), {"core/in-bounds"})],
)
@pytest.mark.parametrize("digit", ["A", "A = 4"])
def test_a_tile_of_a_tile_stays_within_it(digit: str, second: tuple[int, int], wanted: set[str]) -> None:
    start, length = second
    inner = f'{{ tile = "{digit}", length = {length}, start = {start} }}'
    shown = f"A = {length}, N, C"
    assert errors(load(f"{rows(8)}, {inner}", shown, f"A = {length}, N")) == wanted


@pytest.mark.parametrize(
    ("tiles", "small", "wanted"),
    [
        ([("A", 6, 2), ("A", 4, 2), ("A", 2, 2)], "A = 2", set()),
        ([("A", 6, 2), ("A", 4, 2), ("A", 2, 3)], "A = 2", {"core/in-bounds"}),
        ([("A", 8, 4), ("A", 7, 1), ("A", 5, 2), ("A", 1, 4)], "A = 1", set()),
        ([("A", 8, 4), ("A", 7, 2), ("A", 5, 2), ("A", 1, 4)], "A = 1", {"core/in-bounds"}),
        ([("A", 4, 4), ("A / 2", 1, 1)], "A = 2", set()),
        ([("A", 4, 4), ("A / 2", 1, 2)], "A = 2", {"core/in-bounds"}),
        ([("A", 6, 2), ("A", 4, 1), ("A / 2", 1, 1)], "A = 2", set()),
        ([("A / 2", 4, 1), ("A % 2", 1, 1), ("A / 2", 2, 2)], "A / 2 = 2", set()),
        ([("A / 2", 4, 1), ("A % 2", 1, 1), ("A / 2", 2, 3)], "A / 2 = 2", {"core/in-bounds"}),
    ],
)
def test_tiles_of_tiles_of_tiles_and_of_their_digits_add_up(
    tiles: list[tuple[str, int, int]], small: str, wanted: set[str]
) -> None:
    text = ", ".join(f'{{ tile = "{digit}", length = {n}, start = {at} }}' for digit, n, at in tiles)
    assert errors(load(text, f"{small}, N, C", f"{small}, N")) == wanted


# ---------------------------------------------------------------- coverage by union


def store(name: str, start: int | str, length: int, tile: str = "A", loop: int = 0, base: int = 0) -> str:
    shown = {"A": "A = {0}, B, C", "B": "A, B = {0}, C", "A / 4": "A / 4 = {0}, A % 4, B, C"}[tile].format(length)
    looped = f"loop = {{ t = {loop} }}\n" if loop else ""
    at = start if isinstance(start, int) else f'"{start}"'
    time = shown.removesuffix(", C")
    return (
        f'[transfer.{name}]\ndtype = "i8"\n{looped}source = {{ tier = "dm", base = {base}, slice = "1 # 64", '
        f'element = "{shown}" }}\ndest = {{ tier = "hbm", base = 65536, element = "A, B, C", '
        f'view = {{ tile = "{tile}", length = {length}, start = {at} }} }}\n'
        f'stream = {{ time = "{time}", packet = "C" }}\n'
    )


def read(element: str = "A, B, C", view: str = "", shown: str = "") -> str:
    return (
        f'[transfer.rd]\ndtype = "i8"\nsource = {{ tier = "hbm", base = 65536, element = "{element}"{view} }}\n'
        f'dest = {{ tier = "dm", base = 131072, slice = "1 # 64", element = "{shown or element}" }}\n'
    )


WRITTEN = 'order = "written"\n'


@pytest.mark.parametrize(
    ("stores", "wanted"),
    [
        ((store("a", 0, 8), store("b", 8, 8)), set()),
        ((store("a", 0, 8), store("b", 0, 8)), {"core/tiles-cover"}),
        ((store("a", 0, 8), store("b", 7, 8)), {"core/tiles-cover"}),
        ((store("a", 0, 9), store("b", 7, 9)), set()),
        ((store("a", 0, 4, "B"), store("b", 4, 4, "B")), set()),
        ((store("a", 0, 8), store("b", 0, 4, "B")), {"core/tiles-cover"}),
        ((store("a", 0, 8), store("b", 0, 8, "B")), set()),
        ((store("a", 0, 2, "A / 4"), store("b", 8, 8)), set()),
        ((store("a", "2 * t", 2, loop=4), store("b", "2 * t + 8", 2, loop=4)), set()),
        ((store("a", "14 - 2 * t", 2, loop=4), store("b", "2 * t", 2, loop=4)), set()),
        ((store("a", "14 - 2 * t", 2, loop=4), store("b", "2 * t", 2, loop=3)), {"core/tiles-cover"}),
    ],
)
def test_a_second_write_after_a_read_adds_nothing_to_what_is_covered(stores: tuple[str, str], wanted: set[str]) -> None:
    text = stores[0] + read() + stores[1].replace("base = 0", "base = 0")
    steps = program('transfer = "a"', 'transfer = "rd"', 'transfer = "b"', more=WRITTEN)
    assert errors(text + steps) == wanted


def test_two_steps_that_share_a_row_write_it_twice() -> None:
    steps = program('transfer = "a"', 'transfer = "b"', more=WRITTEN)
    assert errors(store("a", 0, 8) + store("b", 8, 8) + steps) == set()
    assert errors(store("a", 0, 8) + store("b", 7, 9) + steps) == {"core/tiles-once"}
    assert errors(store("a", 8, 8) + store("b", 0, 9) + steps) == {"core/tiles-once"}


def test_only_a_read_of_what_is_written_again_excuses_the_second_write(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = program('transfer = "a"', 'transfer = "rd"', 'transfer = "b"', 'transfer = "c"', more=WRITTEN)
    both = store("a", 0, 8) + store("b", 0, 15) + store("c", 15, 1)
    for start, wanted in ((0, set()), (8, {"core/tiles-once"}), (1, {"core/tiles-once"})):
        view = f', view = {{ tile = "A", length = 8, start = {start} }}'
        assert errors(both + read(view=view, shown="A = 8, B, C") + steps) == wanted
    # through another declaration of the same bytes: all of them, or some
    assert judged(both + read("B, A, C") + steps).status is Status.PROVED
    found = judged(both + read("B = 2, A, C") + steps)
    assert found.status is Status.UNKNOWN
    (why,) = [one.why for one in found.obligations if one.id == "core/tiles-once"]
    assert "`b` and `a` write parts of hbm" in why
    assert "read the same view" in why
    monkeypatch.setattr("dmaverify.prove.meet.MOST_STEPS", 0)
    short = api.check(HEAD + store("a", "2 * t", 2, loop=4) + program('transfer = "a"'))[-1]
    (why,) = [one.why for one in short.obligations if one.id == "core/tiles-once"]
    assert "whether `a` writes" in why
    assert "use fewer loops" in why


def test_bytes_that_another_declaration_writes_are_no_gap() -> None:
    rest = (
        '[transfer.b]\ndtype = "i8"\nsource = { tier = "dm", base = 8192, slice = "1 # 64", element = "A = 8, B, C" }\n'
        'dest = { tier = "hbm", base = BASE, element = "A = 8, B, C" }\nstream = { time = "A = 8, B", packet = "C" }\n'
    )
    steps = program('transfer = "a"', 'transfer = "b"', more=WRITTEN)
    first = store("a", 0, 8)
    assert judged(first + rest.replace("BASE", str(65536 + 4096)) + steps).status is Status.UNKNOWN
    assert errors(first + rest.replace("BASE", "262144") + steps) == {"core/tiles-cover"}


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([8, 9, 10, 11, 12, 13, 14, 15], Status.PROVED),
        ([8, 9, 10, 11, 12, 13, 14, 0], Status.REFUTED),
        (None, Status.UNKNOWN),
    ],
)
def test_a_scatter_writes_the_rows_of_its_list(values: list[int] | None, wanted: Status) -> None:
    index = f"values = {[v * 512 for v in values]}" if values is not None else "rows = [0, 15], distinct = true"
    text = store("a", 0, 8) + (
        '[scatter.g]\ndtype = "i8"\nsource = { tier = "dm", base = 65536, slice = "1 # 64", element = "K, B, C" }\n'
        'dest = { tier = "hbm", base = 65536, element = "A, B, C" }\naxis = "A"\n'
        f'index = {{ tier = "hbm", base = 1048576, element = "K", {index} }}\n'
        'stream = { time = "K, B", packet = "C" }\n'
    )
    steps = program('transfer = "a"', 'scatter = "g"', more=WRITTEN)
    assert judged(text + steps).status is wanted


# ---------------------------------------------------------------- tiles keep their slices


def access(name: str, engine: str, start: int, *, context: str = "main", rows_: str = "M") -> str:
    return (
        f'[access.{name}]\nengine = "{engine}"\ncontext = "{context}"\ndtype = "i8"\n'
        f'memory = {{ tier = "dm", slice = "S", element = "{rows_}, W # 128", view = {{ tile = "S", place = "slice", '
        f'length = 64, start = {start}, partial = true }} }}\nstream = {{ time = "{rows_}", packet = "W" }}\n'
    )


@pytest.mark.parametrize(("start", "wanted"), [(64, set()), (63, {"core/hazard-war"}), (0, {"core/hazard-war"})])
def test_two_tiles_of_slices_meet_in_their_slices_alone(start: int, wanted: set[str]) -> None:
    text = access("low", "fetch", 0) + access("high", "commit", start, context="sub")
    assert errors(text + program('access = "low"', 'access = "high"')) == wanted


@pytest.mark.parametrize(("slice_", "wanted"), [(64, set()), (63, {"rngd/bank-starvation"})])
def test_only_dma_in_the_slices_of_a_tile_starves(slice_: int, wanted: set[str]) -> None:
    text = access("low", "fetch", 0, rows_="T, M") + (
        '[transfer.load]\ndtype = "i8"\nsource = { tier = "hbm", element = "E, C" }\n'
        f'dest = {{ tier = "dm", base = {{ slice = {slice_}, element = 262144 }}, slice = "E", element = "C" }}\n'
        'stream = { time = "E", packet = "C" }\n'
    )
    assert errors(text + program('transfer = "load"', 'access = "low"')) == wanted


@pytest.mark.parametrize(("first", "wanted"), [(64, {"core/regions"}), (0, set())])
def test_a_region_of_slices_is_reached_by_tiles_that_lie_in_it(first: int, wanted: set[str]) -> None:
    text = access("low", "fetch", 0) + (
        f'[region.r]\ntier = "dm"\nsize = 4096\nextent = {{ slice = 64 }}\nplace = {{ slice = {first} }}\n'
    )
    assert errors(text + program('access = "low"\nreads = "r"', more='regions = ["r"]\n')) == wanted


# ---------------------------------------------------------------- starvation over loops

LOAD = (
    '[transfer.load]\ndtype = "i8"\nsource = { tier = "hbm", element = "E, C" }\n'
    'dest = { tier = "dm", base = 262144, slice = "E", element = "C" }\nstream = { time = "E", packet = "C" }\n'
)


def looped(count: int, element: str = "M, W # 128", view: str = "", engine: str = "fetch", time: str = "M") -> str:
    return (
        f'[access.x]\nengine = "{engine}"\ndtype = "i8"\nloop = {{ t = {count} }}\n'
        f'memory = {{ tier = "dm", slice = "64", element = "{element}"{view} }}\n'
        f'stream = {{ time = "{time}", packet = "W" }}\n'
    )


STARVED = {"rngd/bank-starvation"}


@pytest.mark.parametrize("engine", ["fetch", "commit"])
@pytest.mark.parametrize(("count", "wanted"), [(2, set()), (3, STARVED)])
def test_a_loop_around_an_access_is_a_loop_of_it(engine: str, count: int, wanted: set[str]) -> None:
    steps = program('transfer = "load"', 'access = "x"')
    assert errors(LOAD + looped(count, engine=engine) + steps) == wanted
    assert (
        errors(LOAD + looped(1, engine=engine, time=f"{count}, M").replace("loop = { t = 1 }\n", "") + steps) >= wanted
    )


@pytest.mark.parametrize(("most", "told"), [(64, True), (63, False)])
@pytest.mark.parametrize("count", [2, 3])
def test_starvation_is_open_where_slices_are_too_many_to_tell(
    count: int, most: int, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "MOST_SLICES", most)
    text = LOAD + looped(count) + program('transfer = "load"', 'access = "x"')
    verdict = judged(text)
    assert verdict.status is ((Status.PROVED if count == 2 else Status.REFUTED) if told else Status.UNKNOWN)
    of_access, of_dma = (f"{name}: it reaches over more than" for name in ("`x`", "command 0"))
    assert any(of_access in one for one in verdict.assumptions) is not told
    assert any(of_dma in one for one in verdict.assumptions) is not told
    if told:
        monkeypatch.setattr(beside_dma, "touched_slices", too_many)
        assert judged(text).status is Status.UNKNOWN


def too_many(*given: object) -> None:
    raise slices.TooManySlices


@pytest.mark.parametrize(("pitch", "count", "wanted"), [(256, 2, set()), (256, 3, STARVED), (128, 3, set())])
def test_banks_see_the_bytes_of_elements_of_4_bits(pitch: int, count: int, wanted: set[str]) -> None:
    access = looped(count, f"M, A # {pitch}").replace('"W"', '"A"').replace('"i8"', '"i4"')
    text = LOAD + access + program('transfer = "load"', 'access = "x"')
    verdict = judged(text)
    assert {f.rule for f in verdict.errors} == wanted == run(text) & STARVED
    assert verdict.status is (Status.REFUTED if wanted else Status.PROVED)


def test_accesses_that_begin_inside_a_byte_have_no_banks_that_are_known() -> None:
    access = looped(3, "M, A # 257").replace('"W"', '"A"').replace('"i8"', '"i4"')
    verdict = judged(LOAD + access + program('transfer = "load"', 'access = "x"'))
    assert verdict.status is Status.UNKNOWN
    assert any("no size of access fits its packets" in one for one in verdict.assumptions)


@pytest.mark.parametrize(
    ("element", "start", "wanted"),
    [
        ("T, M, W # 128", "t", STARVED),  # rows further, on the same bank
        ("T, M, W # 128", "3 - t", STARVED),
        ("M, T, W # 32", "t", set()),  # another bank in each iteration
    ],
)
def test_iterations_stay_on_a_bank_or_leave_it(element: str, start: str, wanted: set[str]) -> None:
    view = f', view = {{ tile = "T", length = 1, start = "{start}", partial = true }}'
    text = LOAD + looped(4, element, view)
    assert errors(text + program('transfer = "load"', 'access = "x"')) == wanted


@pytest.mark.parametrize(
    ("rows_", "count", "step", "wanted"),
    [
        ("M", 2, 64, Status.PROVED),  # 30 accesses in each half of the slices
        ("T, M", 2, 64, Status.REFUTED),  # 120 in the slices where DMA works
        ("M", 3, 32, Status.PROVED),  # a slice sees two of three iterations, 60 accesses
    ],
)
def test_a_run_is_one_in_a_slice(rows_: str, count: int, step: int, wanted: Status) -> None:
    text = LOAD.replace("base = 262144", "base = { slice = 64, element = 262144 }") + (
        f'[access.x]\nengine = "fetch"\ndtype = "i8"\nloop = {{ t = {count} }}\n'
        f'memory = {{ tier = "dm", slice = "S", element = "{rows_}, W # 128", view = {{ tile = "S", place = "slice", '
        f'length = 64, start = "{step} * t", partial = true }} }}\nstream = {{ time = "{rows_}", packet = "W" }}\n'
    )
    assert judged(text + program('transfer = "load"', 'access = "x"')).status is wanted


def test_what_surely_runs_between_two_iterations_ends_a_run() -> None:
    other = LOAD.replace("load", "other").replace("262144", "393216").replace('C" }\nstream', 'C" }\nstream')
    body = ['transfer = "load"\nloop = { t = 3 }', 'access = "x"']
    free = program('transfer = "other"\ncontext = "z"', *body)
    tied = program('transfer = "other"\ncontext = "z"', *body, more='order = "written"\n')
    assert errors(LOAD + other + looped(3) + free) == STARVED
    assert errors(LOAD + other + looped(3) + tied) == set()


@pytest.mark.parametrize(
    ("rows", "earlier", "wanted"),
    [
        (20, "", Status.PROVED),  # load 0 begins behind the first of four iterations: 3 * 20 and its own request
        (21, "", Status.REFUTED),
        (62, "earlier = { load = 2 }", Status.PROVED),  # beside load t one iteration alone
        (63, "earlier = { load = 2 }", Status.REFUTED),
    ],
)
def test_only_iterations_that_may_run_beside_one_of_dma_count(rows: int, earlier: str, wanted: Status) -> None:
    text = (LOAD + looped(4)).replace("M, W", f"R{rows}, W").replace('time = "M"', f'time = "R{rows}"')
    steps = program(f'access = "x"\n{earlier}', 'transfer = "load"\nloop = { t = 4 }\nafter = ["x"]')
    assert judged(text + steps).status is wanted
    assert run(text + steps) == (STARVED if wanted is Status.REFUTED else set())


@pytest.mark.parametrize(
    ("steps", "rows", "wanted"),
    [
        (["load", "z > load", "x < z 2"], 31, Status.PROVED),  # x of turns 0 and 1 may be beside the load, 2 * 31 + 1
        (["load", "z > load", "x < z 2"], 32, Status.REFUTED),
        (["load", "z > load", "x < z 3"], 31, Status.REFUTED),
        (["x", "z < x 2", "load > z"], 31, Status.PROVED),  # those of turns 2 and 3, for which no z waits
        (["x", "z < x 2", "load > z"], 32, Status.REFUTED),
        (["x", "z < x 3", "load > z"], 31, Status.REFUTED),
    ],
)
def test_dma_beside_a_loop_is_beside_the_turns_that_nothing_orders_against_it(
    steps: list[str], rows: int, wanted: Status
) -> None:
    """`z > load`: z is after all of it; `x < z 2`: x is after z of two turns before."""
    one = looped(4, element="N, W # 128", time="N").replace("[access.x]", '[access.z]\ncontext = "sub"')
    text = LOAD + one + looped(4, element=f"R{rows}, W # 128", time=f"R{rows}")
    made = []
    for step in steps:
        name, *order = step.split()
        kind = "transfer" if name == "load" else "access"
        waits = f"\nafter = [{order[1]!r}]" if order[:1] == [">"] else ""
        waits = f"\nearlier = {{ {order[1]} = {order[2]} }}" if order[:1] == ["<"] else waits
        made.append(f'{kind} = "{name}"{waits}')
    found = text + program(*made)
    assert judged(found).status is wanted
    assert run(found) == (STARVED if wanted is Status.REFUTED else set())


@pytest.mark.parametrize(("count", "wanted"), [(1, Status.PROVED), (2, Status.REFUTED)])
def test_a_loop_of_one_iteration_comes_around_to_nothing(count: int, wanted: Status) -> None:
    text = (LOAD + looped(count)).replace("M, W", "R63, W").replace('time = "M"', 'time = "R63"')
    steps = program('access = "x"', f'transfer = "load"\nloop = {{ t = {count} }}\nafter = ["x"]')
    assert judged(text + steps).status is wanted


@pytest.mark.parametrize(("start", "starves"), [("64 * t", set()), ("64 - 64 * t", STARVED)])
def test_slices_that_move_with_a_loop_refute_nothing_where_no_iteration_need_share_them(
    start: str, starves: set[str]
) -> None:
    """The load of an iteration waits for its access, so that access 1 alone may run beside load 0: in its slices, or in
    the other half.
    """
    slices = f'view = {{ tile = "S", place = "slice", length = 64, start = "{start}", partial = true }}'
    text = (
        '[access.x]\nengine = "fetch"\ndtype = "i8"\nloop = { t = 2 }\nmemory = { tier = "dm", slice = "S", '
        f'element = "T, M, W # 128", {slices.replace("64 - 64 * t", "64 * t")} }}\n'
        'stream = { time = "T, M", packet = "W" }\n[transfer.load]\ndtype = "i8"\nloop = { t = 2 }\n'
        f'source = {{ tier = "hbm", element = "S, C", view = {{ tile = "S", length = 64, start = "{start}" }} }}\n'
        f'dest = {{ tier = "dm", base = 262144, slice = "S", element = "C", {slices} }}\n'
        'stream = { time = "S = 64", packet = "C" }\n'
    ) + program('access = "x"', 'transfer = "load"\nafter = ["x"]')
    assert run(text) == starves
    assert judged(text).status is Status.UNKNOWN  # the union over iterations is what is looked at


@pytest.mark.parametrize(("high", "wanted"), [(1, Status.PROVED), (0, Status.REFUTED)])
def test_each_engine_starves_in_its_own_slices(high: int, wanted: Status) -> None:
    """Engine 0 waits for both accesses before its part of `both`, engine 1 for nothing; one loads the slices where they
    work, the other one the `high` slices.
    """
    text = (
        '[transfer.both]\ndtype = "i8"\nsource = { tier = "hbm", element = "S, C" }\n'
        'dest = { tier = "dm", base = 262144, slice = "S", element = "C" }\n'
    )
    for half in (0, 1):
        text += (
            f"[[transfer.both.command]]\nengine = {{ dmn = {half if high else 1 - half} }}\n"
            f'read = "[S=64:64, C=64:1]:64 HBM/D@{half * 4096}"\n'
            f'write = "[S=64:slice_stride, C=64:1]:64 DM/D@(0, 0, {half}, 262144)"\n'
        )
    text += move("other", 1 << 20, 1 << 21, "engine = { dmn = 0 }\n")
    text += looped(1) + looped(1).replace("[access.x]", '[access.y]\ncontext = "sub"').replace(
        "M, W", "R40, W"
    ).replace('time = "M"', 'time = "R40"')
    steps = program('access = "x"', 'access = "y"', 'transfer = "other"\nafter = ["x", "y"]', 'transfer = "both"')
    assert judged(text + steps).status is wanted
    assert run(text + steps) == (STARVED if wanted is Status.REFUTED else set())


def test_a_change_of_operation_that_must_end_a_run_is_a_condition_with_its_number() -> None:
    once = looped(1).replace("loop = { t = 1 }\n", "")
    steps = [f'name = "{name}"\naccess = "x"' for name in "abc"]
    for count, told in ((2, False), (3, True)):
        found = judged(LOAD + once + program('transfer = "load"', *steps[:count]))
        assert found.status is Status.PROVED
        assert any("up to 91 follow each other, 63 are allowed" in said for said in found.conditions) == told


# ---------------------------------------------------------------- engines beside streams


def move(name: str, source: int, dest: int, engine: str = "") -> str:
    return (
        f'[transfer.{name}]\ndtype = "i8"\nsource = {{ tier = "hbm", base = {source}, element = "A, C" }}\n'
        f'dest = {{ tier = "hbm", base = {dest}, element = "A, C" }}\nstream = {{ time = "A", packet = "C" }}\n{engine}'
    )


def engine(dmn: int, chip: int = 0) -> str:
    return f"engine = {{ chip = {chip}, cluster = 0, dmn = {dmn} }}\n"


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        (engine(0), engine(1), {"core/hazard-waw"}),
        (engine(0), engine(0), set()),
        (engine(0), engine(0, 1), {"core/hazard-waw", "core/steps"}),
        (engine(0), "", {"core/hazard-waw"}),
        ("", "", set()),
    ],
)
def test_engines_named_beside_streams_run_side_by_side(first: str, second: str, wanted: set[str]) -> None:
    text = move("a", 0, 65536, first) + move("b", 32768, 65536, second)
    found = {f.rule for f in judged(text + program('transfer = "a"', 'transfer = "b"')).errors}
    assert found - {"core/steps"} == wanted - {"core/steps"}


def test_an_order_that_rests_on_engines_nobody_named_is_a_condition() -> None:
    steps = program('transfer = "a"', 'transfer = "b"')
    tied = judged(move("a", 0, 65536) + move("b", 65536, 131072) + steps)
    assert tied.status is Status.PROVED
    assert tied.bounds == "if `a` and `b` share one engine"
    assert tied.strictly_fails
    for free in (
        move("a", 0, 65536) + move("b", 32768, 131072),
        move("a", 0, 65536, engine(0)) + move("b", 65536, 131072, engine(0)),
    ):
        assert not judged(free + steps).conditions
    after = program('transfer = "a"', 'transfer = "b"\nafter = ["a"]')
    assert not judged(move("a", 0, 65536) + move("b", 65536, 131072) + after).conditions


def test_an_engine_beside_a_stream_that_names_its_own_is_refused() -> None:
    text = move("p", 0, 65536, engine(0)).replace('time = "A"', 'time = "A % 8", slice = "A / 8"')
    assert errors(text) == {"core/well-formed"}
    assert errors(move("p", 0, 65536, engine(55))) == {"rngd/engine-index"}


# ---------------------------------------------------------------- moves in place, request by request


@pytest.mark.parametrize(
    ("size", "shift", "wanted"),
    [
        (4096, 256, Status.REFUTED), (4096, 1, Status.REFUTED), (4096, 4095, Status.REFUTED),
        (4096, 4096, Status.PROVED), (4096, -256, Status.PROVED), (256, 128, Status.PROVED), (257, 1, Status.REFUTED),
    ],
)  # fmt: skip
def test_a_packet_is_several_requests(size: int, shift: int, wanted: Status) -> None:
    text = HEAD.replace("C = 64", f"C = {size}") + (
        '[transfer.p]\ndtype = "i8"\nsource = { tier = "hbm", base = 8192, element = "C" }\n'
        f'dest = {{ tier = "hbm", base = {8192 + shift}, element = "C" }}\n'
        f'read = "[C={size}:1]:{size} HBM/D@8192"\nwrite = "[C={size}:1]:{size} HBM/D@{8192 + shift}"\n'
    )
    (verdict,) = api.check(text, options=OPTIONS)
    assert verdict.status is wanted


def test_commands_without_an_engine_that_would_race_are_a_condition() -> None:
    def shifted(step: int) -> Verdict:
        text = (
            '[transfer.p]\ndtype = "i8"\nsource = { tier = "hbm", base = 8192, element = "T, C" }\n'
            f'dest = {{ tier = "hbm", base = {8192 - step}, element = "T, C" }}\n'
        )
        for t in range(4):
            at = 8192 + 64 * t
            text += f'[[transfer.p.command]]\nread = "[64:1]:64 HBM/D@{at}"\nwrite = "[64:1]:64 HBM/D@{at - step}"\n'
        return judged(text)

    assert shifted(64).bounds == "if its commands share one engine"
    assert not shifted(256).conditions
    assert shifted(64).status is Status.PROVED


# ---------------------------------------------------------------- lists of rows


def gather(index: str, *, table: str = "R, C", dest: int = 0, tier: str = "dm", kind: str = "gather") -> str:
    sides = [
        f'{{ tier = "hbm", element = "{table}" }}',
        f'{{ tier = "dm", base = {dest}, slice = "K", element = "C" }}',
    ]
    if kind == "scatter":
        sides.reverse()
    return (
        f'[{kind}.p]\ndtype = "i8"\nsource = {sides[0]}\ndest = {sides[1]}\n'
        f'index = {{ tier = "{tier}", element = "K", {index} }}\naxis = "R"\n'
        'stream = { time = "K", packet = "C" }\n'
    )


ROWS = "scaled = false, values = [0, 5, 10, 15, 3, 7, 2, 1]"


@pytest.mark.parametrize(("dest", "wanted"), [(0, {"core/overlap"}), (31, None), (32, set()), (4096, set())])
def test_a_gather_may_not_write_over_its_own_list(dest: int, wanted: set[str] | None) -> None:
    found = errors(gather(ROWS, dest=dest))
    assert found >= {"core/overlap"} if wanted is None else found == wanted
    assert errors(gather("scaled = false, rows = [0, 15]", dest=dest)) >= (wanted or set())


@pytest.mark.parametrize(("base", "wanted"), [(0, {"core/overlap"}), (1024, set()), (1023, {"core/overlap"})])
def test_a_scatter_may_not_write_over_its_own_list(base: int, wanted: set[str]) -> None:
    values = [row * 64 for row in (0, 5, 10, 15, 3, 7, 2, 1)]
    text = gather(f"base = {base}, values = {values}", tier="hbm", kind="scatter")
    assert errors(text) & {"core/overlap"} == wanted


def test_the_list_of_rows_is_read_in_order_with_other_steps() -> None:
    write = (
        '[transfer.w]\ndtype = "i32"\nsource = { tier = "hbm", base = 65536, element = "K" }\n'
        'dest = { tier = "dm", base = 4096, slice = "1 # 64", element = "K" }\nstream = { time = "1", packet = "K" }\n'
    )
    listed = gather("base = 4096, scaled = false, rows = [0, 15]", dest=0).replace("gather.p", "gather.g")
    halves = listed.replace('dtype = "i8"', 'dtype = "i4"')
    assert halves != listed
    unordered = write + halves + program('transfer = "w"\ncontext = "z"', 'gather = "g"')
    assert errors(unordered) == run(unordered) == {"core/hazard-raw"}
    assert errors(write + listed + program('transfer = "w"\ncontext = "z"', 'gather = "g"')) == {"core/hazard-raw"}
    tied = program('transfer = "w"\ncontext = "z"', 'gather = "g"\nafter = ["w"]')
    assert errors(write + listed + tied) == set()


@pytest.mark.parametrize("kind", ["gather", "scatter"])
@pytest.mark.parametrize(("table", "wanted"), [("R, K, C", {"core/same-element"}), ("R, N, C", set())])
def test_a_table_that_holds_the_key_is_read_at_that_key(kind: str, table: str, wanted: set[str]) -> None:
    pitch = 512 if "K" in table else 64
    values = [row * pitch for row in (0, 5, 10, 15, 3, 7, 2, 1)]
    text = gather(f"base = 1048576, values = {values}", table=table, tier="hbm", kind=kind, dest=8192)
    assert errors(text) & {"core/same-element"} == wanted


def test_known_rows_are_touched_and_no_others() -> None:
    def both(first: int) -> str:
        values = [row * 64 for row in range(8)]
        return (
            gather(f"base = 1048576, values = {values}", tier="hbm", kind="scatter", dest=8192).replace(
                "scatter.p", "scatter.g"
            )
            + '[transfer.o]\ndtype = "i8"\nsource = { tier = "hbm", base = 2097152, element = "T, C" }\n'
            f'dest = {{ tier = "hbm", base = {first * 64}, element = "T, C" }}\n'
            'stream = { time = "T", packet = "C" }\n' + program('scatter = "g"', 'transfer = "o"\ncontext = "z"')
        )

    assert errors(both(8)) == set()
    assert errors(both(7)) == {"core/hazard-waw"}


# ---------------------------------------------------------------- what the documents refuse


@pytest.mark.parametrize(
    ("tier", "wanted"), [("dm", set()), ("hbm", {"rngd/access-tier"}), ("spm", {"rngd/access-tier"})]
)
@pytest.mark.parametrize("kind", ["fetch", "commit"])
def test_fetch_and_commit_reach_data_memory_alone(kind: str, tier: str, wanted: set[str]) -> None:
    place = 'slice = "1 # 64", ' if tier == "dm" else ""
    text = (
        f'[access.p]\nengine = "{kind}"\ndtype = "i8"\nmemory = {{ tier = "{tier}", {place}element = "A, W" }}\n'
        'stream = { time = "A", packet = "W" }\n'
    )
    assert errors(text) == wanted


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ("[A=16:8, W=8:1]:8", set()),
        ("[W=8:1, A=16:8]:16", {"rngd/innermost-entry"}),
        ("[W=8:1, A=16:8]:1", set()),
    ],
)
def test_the_innermost_entry_is_contiguous_or_packets_are_single(config: str, wanted: set[str]) -> None:
    order = ("A", "W") if config.startswith("[A") else ("W", "A" if config.endswith("16") else "1")
    time, packet = order if order[1] != "1" else ("W, A", "1")
    text = (
        '[access.p]\nengine = "fetch"\ndtype = "i8"\nmemory = { tier = "dm", slice = "1 # 64", element = "A, W" }\n'
        f'stream = {{ time = "{time}", packet = "{packet}" }}\nconfig = "{config}"\n'
    )
    assert errors(text) == wanted


def test_a_medium_of_another_tier_with_a_full_base_is_a_finding() -> None:
    text = (
        '[transfer.p]\ndtype = "i8"\nsource = { tier = "hbm", element = "A, C" }\n'
        'dest = { tier = "hbm", base = 65536, element = "A, C" }\n'
        'read = "[A=16:64, C=64:1]:64 DM/D@(0, 0, 0, 0)"\nwrite = "[A=16:64, C=64:1]:64 HBM/D@65536"\n'
    )
    assert errors(text) == {"core/well-formed"}


def test_a_step_without_meaning_ends_its_program_and_no_other() -> None:
    bad = move("a", 0, 65536).replace(
        'source = { tier = "hbm", base = 0, element = "A, C"', 'source = { tier = "hbm", element = "A, Q"'
    )
    text = bad + move("b", 0, 131072) + program('transfer = "a"', 'transfer = "b"')
    text += program('transfer = "b"').replace("program.p", "program.q")
    assert errors(text) == {"core/steps"}
    assert judged(text, "q").status is Status.PROVED
