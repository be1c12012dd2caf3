"""The interpreter on small plans of which it is known by hand what they do: both sides of each edge."""

from __future__ import annotations

import pytest

from dmaverify.execute.interpret import interpret
from dmaverify.execute.outcome import Beyond, Outcome
from dmaverify.execute.work import start_at
from dmaverify.plan.execution import PlanExecution

HEAD = 'schema = 1\ntarget = "rngd"\n[axes]\nA = 8\nN = 1\nC = 8\nR = 4\nK = 2\nW = 8\nM = 31\n'


def run(body: str, name: str = "x") -> Outcome:
    return interpret(*PlanExecution(HEAD + body).work(name))


def store(view: str, *, small: str = "A = 4, C", time: str = "A = 4", loop: str = "") -> str:
    return f"""
[transfer.x]
dtype = "i8"
{loop}
source = {{ tier = "dm", base = 0, element = "{small}" }}
dest = {{ tier = "hbm", base = 65536, element = "A, N, C", view = {view} }}
stream = {{ time = "{time}", packet = "C" }}
"""


# ---------------------------------------------------------------- views


@pytest.mark.parametrize(("start", "right"), [(0, True), (4, True), (5, False), (8, False)])
def test_a_tile_lies_on_its_tensor_or_is_out_of_bounds(start: int, right: bool) -> None:
    found = run(store(f'{{ tile = "A", length = 4, start = {start} }}'))
    assert found.right == right
    assert right or "core/in-bounds" in found.wrong


def test_a_tile_of_an_axis_of_size_one_moves_nothing() -> None:
    both = '[{ tile = "A", length = 4, start = 5 }, { tile = "N", length = 1, start = 0 }]'
    assert "core/in-bounds" in run(store(both)).wrong
    assert run(store(both.replace("5", "4"))).right


@pytest.mark.parametrize(("inner", "right"), [(0, True), (3, True), (4, False)])
def test_tiles_of_tiles_add_their_starts(inner: int, right: bool) -> None:
    tiles = f'[{{ tile = "A", length = 5, start = 3 }}, {{ tile = "A", length = 2, start = {inner} }}]'
    found = run(store(tiles, small="A = 2, C", time="A = 2"))
    assert found.right == right


def test_every_iteration_is_run() -> None:
    found = run(store('{ tile = "A", length = 4, start = "4 * t" }', loop="loop = { t = 3 }"))
    assert "t = 2" in found.wrong["core/in-bounds"]
    assert run(store('{ tile = "A", length = 4, start = "4 * t" }', loop="loop = { t = 2 }")).right


def test_starts_are_computed_as_they_are_written() -> None:
    assert start_at("4 * (t / 2) + t % 2", {"t": 5}) == 9
    assert start_at(7, {}) == 7
    with pytest.raises(Beyond):
        start_at("t ** 2", {"t": 1})


# ---------------------------------------------------------------- streams


@pytest.mark.parametrize(
    ("time", "broken"), [("A", ""), ("A = 7", "core/covers"), ("2, A", "core/writes-once"), ("1", "core/covers")]
)
def test_a_stream_moves_the_elements_that_stand_in_it(time: str, broken: str) -> None:
    body = f"""
[transfer.x]
dtype = "i8"
source = {{ tier = "hbm", base = 0, element = "A, C" }}
dest = {{ tier = "dm", base = 0, slice = "A", element = "C" }}
stream = {{ time = "{time}", packet = "C" }}
"""
    assert set(run(body).wrong) == ({broken} if broken else set())


def test_padding_of_an_axis_of_size_one_is_no_replica() -> None:
    body = """
[transfer.x]
dtype = "i8"
source = { tier = "hbm", base = 0, element = "A, N # 8" }
dest = { tier = "dm", base = 0, slice = "A", element = "N # 8" }
stream = { time = "A", packet = "N # 8" }
"""
    assert run(body).right
    assert "core/covers" in run(body.replace("N # 8", "8", 2).replace("N # 8", "N")).wrong


# ---------------------------------------------------------------- printed commands


def copy(read: str, write: str, *, source: int = 0, dest: int = 65536, element: str = "A, C") -> str:
    return f"""
[transfer.x]
dtype = "i8"
source = {{ tier = "hbm", base = {source}, element = "{element}" }}
dest = {{ tier = "hbm", base = {dest}, element = "{element}" }}
read = "{read} HBM/D@{source}"
write = "{write} HBM/D@{dest}"
"""


@pytest.mark.parametrize(
    ("write", "broken"),
    [
        ("[A=8:8, C=8:1]:8", set()),
        ("[A=8:16, C=8:1]:8", {"core/in-bounds", "core/covers", "core/same-element"}),
        ("[A=8:0, C=8:1]:8", {"core/writes-once", "core/covers", "core/same-element"}),
    ],
)
def test_a_nest_copies_its_nth_unit_to_its_nth_unit(write: str, broken: set[str]) -> None:
    assert set(run(copy("[A=8:8, C=8:1]:8", write)).wrong) == broken


@pytest.mark.parametrize(("by", "right"), [(256, False), (128, False), (4096, True), (8, False)])
def test_a_packet_moved_upwards_is_many_requests(by: int, right: bool) -> None:
    head = HEAD.replace("C = 8", "C = 4096")
    text = copy("[C=4096:1]:4096", "[C=4096:1]:4096", source=0, dest=by, element="C")
    assert interpret(*PlanExecution(head + text).work("x")).right == right


def test_a_packet_moved_upwards_within_one_request_is_read_before_it_is_written() -> None:
    head = HEAD.replace("C = 8", "C = 200")
    text = copy("[C=200:1]:200", "[C=200:1]:200", source=0, dest=8, element="C")
    assert interpret(*PlanExecution(head + text).work("x")).right


@pytest.mark.parametrize(("kind", "rows", "right"), [("#", 4, True), ("#{!}", 4, False), ("#{!}", 2, True)])
def test_bottom_padding_of_the_source_is_not_read(kind: str, rows: int, right: bool) -> None:
    found = run(f"""
[transfer.x]
dtype = "i8"
source = {{ tier = "hbm", base = 0, element = "K {kind} 4" }}
dest = {{ tier = "dm", base = 0, element = "K # 4" }}
read = "[{rows}:1]:1 HBM/D@0"
write = "[{rows}:1]:1 DM/D@0"
""")
    assert found.right == right
    assert right or set(found.wrong) == {"core/padding"}


def test_zero_padding_ends_as_zero() -> None:
    padded = copy("[A=8:16, C=8:1]:8", "[A=8:16, C=8:1]:8", element="A, C #{0} 16")
    assert set(run(padded).wrong) == {"core/padding"}
    assert run(copy("[A=8:16, C=16:1]:16", "[A=8:16, C=16:1]:16", element="A, C #{0} 16")).right


# ---------------------------------------------------------------- rows


def gather(values: str, *, table: str = "R, C", index: int = 1048576, tier: str = "hbm", scaled: str = "true") -> str:
    return f"""
[gather.x]
dtype = "i8"
source = {{ tier = "hbm", base = 0, element = "{table}" }}
dest = {{ tier = "dm", base = 0, slice = "K", element = "C" }}
index = {{ tier = "{tier}", base = {index}, element = "K", scaled = {scaled}, {values} }}
axis = "R"
key = "K"
stream = {{ time = "K", packet = "C" }}
"""


def test_rows_come_from_where_the_index_says() -> None:
    assert run(gather("values = [24, 0]")).right
    assert "core/in-bounds" in run(gather("values = [32, 0]")).wrong
    assert "core/in-bounds" in run(gather("values = [3, 0]")).wrong
    assert run(gather("rows = [0, 3]")).right
    assert "core/in-bounds" in run(gather("rows = [0, 4]")).wrong


def test_a_table_that_holds_the_key_is_read_at_key_zero() -> None:
    assert "core/same-element" in run(gather("rows = [0, 3]", table="R, K, C")).wrong


def test_a_gather_may_not_write_over_its_own_list() -> None:
    assert "core/overlap" in run(gather("values = [1, 0]", tier="dm", index=0, scaled="false")).wrong
    assert run(gather("values = [1, 0]", tier="dm", index=8, scaled="false")).right


def test_a_scatter_writes_no_row_twice() -> None:
    text = """
[scatter.x]
dtype = "i8"
source = { tier = "dm", base = 0, element = "K, C" }
dest = { tier = "hbm", base = 0, element = "R, C" }
index = { tier = "hbm", base = 1048576, element = "K", values = [8, 24] }
axis = "R"
key = "K"
stream = { time = "K", packet = "C" }
"""
    assert run(text).right
    assert "core/writes-once" in run(text.replace("[8, 24]", "[8, 8]")).wrong


# ---------------------------------------------------------------- programs

LOAD = """
[transfer.load]
dtype = "i8"
source = { tier = "hbm", base = 0, element = "A, C" }
dest = { tier = "dm", base = 262144, slice = "A", element = "C" }
stream = { time = "A", packet = "C" }
"""


def beside(access: str, step: str = '{ access = "use" }') -> str:
    use = f'[access.use]\nengine = "fetch"\ndtype = "i8"\n{access}'
    return f'{LOAD}\n{use}\n[program.x]\nstep = [{{ transfer = "load" }}, {step}]\n'


def fetch(time: str, *, loop: str = "", element: str = "M, W # 128", view: str = "") -> str:
    more = f", view = {view}" if view else ""
    return (
        f'{loop}\nmemory = {{ tier = "dm", base = 0, slice = "8", element = "{element}"{more} }}\n'
        f'stream = {{ time = "{time}", packet = "W" }}'
    )


@pytest.mark.parametrize(("turns", "starves"), [(1, False), (2, False), (3, True)])
def test_a_loop_around_an_access_is_a_loop_in_it(turns: int, starves: bool) -> None:
    """31 accesses to bank 0, and 1 for DMA: 63 with two turns, 94 with three."""
    around = run(beside(fetch("M", loop=f"loop = {{ t = {turns} }}")))
    inside = run(beside(fetch(f"{turns}, M")))
    assert bool(around.wrong) == bool(inside.wrong) == starves


def test_slices_without_dma_do_not_starve_it() -> None:
    low = fetch("9, M", element="M, W # 128").replace('slice = "8"', 'slice = "8"')
    assert run(beside(low)).wrong
    apart = LOAD.replace("base = 262144", "base = { slice = 8, element = 262144 }")
    assert not run(beside(low).replace(LOAD, apart)).wrong


def test_a_step_that_waits_does_not_run_beside() -> None:
    assert not run(beside(fetch("9, M"), '{ access = "use", after = ["load"] }')).wrong


def parts(first: int, second: int, after: str = 'after = ["a"]') -> str:
    out = ""
    for name, start in (("a", first), ("b", second)):
        out += f"""
[transfer.{name}]
dtype = "i8"
source = {{ tier = "dm", base = {start * 64}, element = "A = 4, C" }}
dest = {{ tier = "hbm", base = 65536, element = "A, C", view = {{ tile = "A", length = 4, start = {start} }} }}
stream = {{ time = "A = 4", packet = "C" }}
"""
    return out + f'[program.x]\nstep = [{{ transfer = "a" }}, {{ transfer = "b", context = "other", {after} }}]\n'


def test_tiles_cover_their_tensor_once() -> None:
    assert run(parts(0, 4)).right
    assert set(run(parts(0, 0)).wrong) == {"core/tiles-cover", "core/tiles-once"}
    assert set(run(parts(0, 2)).wrong) == {"core/tiles-cover", "core/tiles-once"}


def test_pieces_that_nothing_orders_race_where_they_meet() -> None:
    assert run(parts(0, 4, "after = []")).right
    assert "core/hazard-waw" in run(parts(0, 2, "after = []")).wrong
    assert "core/hazard-waw" not in run(parts(0, 2)).wrong


def test_engines_beside_streams_run_at_once() -> None:
    def program(first: int, second: int) -> str:
        text = parts(0, 2, "after = []").replace(', context = "other"', "")
        for name, engine in (("a", first), ("b", second)):
            text = text.replace(f"[transfer.{name}]\n", f"[transfer.{name}]\nengine = {{ dmn = {engine} }}\n")
        return text

    assert "core/hazard-waw" in run(program(0, 1)).wrong
    assert "core/hazard-waw" not in run(program(1, 1)).wrong


def test_steps_that_wait_for_each_other_never_start() -> None:
    text = parts(0, 4).replace('{ transfer = "a" }', '{ transfer = "a", after = ["b"] }')
    assert "core/well-formed" in run(text).wrong


def test_what_is_too_large_is_no_answer() -> None:
    with pytest.raises(Beyond):
        interpret(*PlanExecution(HEAD.replace("A = 8", "A = 100000000") + LOAD).work("load"))
