"""Two programs are the same where they leave the same in memory, whatever lay there and whichever order is taken."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from fuzz.contents import both_said, orders_said
from fuzz.paired import compared
from lab.draws import rest
from lab.written import KINDS

from dmaverify.cli.app import invoke
from dmaverify.errors import Disagreement, InputError
from dmaverify.jobs import same_programs as jobs
from dmaverify.jobs import same_runs
from dmaverify.jobs.load import load
from dmaverify.language.distinct import distinct
from dmaverify.prove.flow.accesses.alone_copies import NoCopies
from dmaverify.prove.flow.equality import contents, copy_events, same_contents, traced
from dmaverify.prove.flow.equality import same as home
from dmaverify.prove.flow.order.hazards import Hazards
from dmaverify.prove.sameness import Sameness

HEAD = 'schema = 1\ntarget = "{}"\n[axes]\nA = 8\nB = 4\nC = 64\nR = 16\nK = 4\n'
ROW = ', view = { tile = "A", length = 1, start = "START" }'
STREAM = 'stream = { time = "A, B", packet = "C" }'


def move(name: str, source: str, dest: str, *more: str, start: str = "") -> str:
    """A transfer between two tensors; with `start`, the HBM side of each of 8 iterations is the row that it names."""
    sides = [one.replace(" }", ROW.replace("START", start) + " }") if start and "hbm" in one else one
             for one in (source, dest)]  # fmt: skip
    loop = ["loop = { t = 8 }"] if start else []
    return "\n".join(
        [f"[transfer.{name}]", 'dtype = "i8"', *loop, f"source = {sides[0]}", f"dest = {sides[1]}", *more, ""]
    )


def hbm(base: int, element: str = "A, B, C") -> str:
    return f'{{ tier = "hbm", base = {base}, element = "{element}" }}'


def dm(base: int, element: str = "A, B, C") -> str:
    return f'{{ tier = "dm", base = {base}, element = "{element}" }}'


OUT = 1 << 20
LOAD, STORE = move("load", hbm(0), dm(0), STREAM), move("store", dm(0), hbm(OUT), STREAM)
BACK = 'step = [{ transfer = "load" }, { transfer = "store", after = ["load"] }]\n'
ROWS = move("load", hbm(0), dm(0, "A = 1, B, C"), start="t") + move("store", dm(0, "A = 1, B, C"), hbm(OUT), start="t")


def same(one: tuple[str, str], other: tuple[str, str], tiers: Sequence[str] = (), target: str = "rngd") -> Sameness:
    """The answer on two programs, each told as its transfers and its steps."""
    plans = [load(f"{HEAD.format(target)}{text}[program.p]\n{steps}", "p") for text, steps in (one, other)]
    return jobs.same_programs(plans[0], plans[1], rlimit=2_000_000, tiers=tiers)


def test_a_tensor_stored_row_by_row_is_the_one_that_is_stored_whole() -> None:
    answer = same((LOAD + STORE, BACK), (ROWS, BACK), ["hbm"])
    assert answer.status == "proved", answer.why
    assert answer.why == "both leave the same in hbm (2,048 bytes that either writes)"
    assert answer.by == "comparison of all 8 pieces of 256 B that either writes, and a run of both texts"


def test_what_is_left_in_a_memory_of_both_is_compared_unless_tiers_are_named() -> None:
    answer = same((LOAD + STORE, BACK), (ROWS, BACK))
    assert answer.status == "refuted"
    assert answer.why.startswith("at dm, slice 0, byte 0 the first leaves what lay at hbm, byte 0 (by `load`)")
    assert "the second what lay at hbm, byte 1792 (by `load`)" in answer.why
    assert answer.notes == ("what is left in hbm is the same (`--tier hbm`)",)


@pytest.mark.parametrize(("start", "place"), [("t / 2 * 2", 256), ("t / 4 * 4", 256), ("t % 4", 1024)])
def test_every_iteration_is_followed(start: str, place: int) -> None:
    rows = ROWS.replace('"t"', f'"{start}"', 1)
    answer = same((LOAD + STORE, BACK), (rows, BACK), ["hbm"])
    assert (
        answer.status,
        f"at hbm, byte {OUT + place} the first leaves what lay at hbm, byte {place} " in answer.why,
    ) == ("refuted", True)


def test_a_body_that_runs_once_more_is_another_program() -> None:
    there = move("there", dm(0, "A, B, C"), dm(65536, "A, B, C"), STREAM)
    back = move("back", dm(65536, "A, B, C"), dm(256, "A, B, C"), STREAM)
    sides = []
    for count in (2, 3):
        steps = [f'{{ transfer = "{name}", context = "x", loop = {{ t = {count} }} }}' for name in ("there", "back")]
        sides.append((there + back, f"step = [{', '.join(steps)}]\n"))
    assert same(sides[0], sides[0]).status == "proved"
    answer = same(sides[0], sides[1])
    assert (answer.status, "byte 768 the first leaves what lay at dm, slice 0, byte 256" in answer.why) == (
        "refuted",
        True,
    )


def test_the_way_through_another_memory_is_no_difference_where_that_is_not_compared() -> None:
    spm = move("load", hbm(0), dm(65536), STREAM) + move("store", dm(65536), hbm(OUT), STREAM)
    assert same((LOAD + STORE, BACK), (spm, BACK), ["hbm"]).status == "proved"
    assert same((LOAD + STORE, BACK), (spm, BACK)).status == "refuted"


def test_a_move_that_nothing_says_how_to_do_leaves_its_elements() -> None:
    whole = move("whole", hbm(0), hbm(OUT)), 'step = [{ transfer = "whole" }]\n'
    assert same(whole, (LOAD + STORE, BACK), ["hbm"]).status == "proved"
    turned = move("whole", hbm(0), hbm(OUT, "B, A, C")), 'step = [{ transfer = "whole" }]\n'
    answer = same(turned, (LOAD + STORE, BACK), ["hbm"])
    assert (answer.status, answer.by.endswith("a run of both texts")) == ("refuted", True)
    assert (
        "byte 1048640 the first leaves what lay at hbm, byte 256 (by `whole`), the second what lay at hbm, byte 64 "
        in answer.why
    )


@pytest.mark.parametrize(
    ("source", "dest"),
    [
        ("A, B, C", "A, C / 16, B, C % 16"),
        ("C / 16, A, C % 16", "A, C"),
        ("A, C", "C / 8, A, C % 8"),
    ],
)
def test_runs_of_a_move_alone_end_where_a_side_cuts_the_axis(source: str, dest: str) -> None:
    alone = move("x", hbm(0, source), hbm(OUT, dest)), 'step = [{ transfer = "x" }]\n'
    order = dest.rpartition(",")
    told = f'stream = {{ time = "{order[0]}", packet = "{order[2].strip()}" }}'
    by_stream = move("x", hbm(0, source), hbm(OUT, dest), told), 'step = [{ transfer = "x" }]\n'
    answer = same(alone, by_stream)
    assert (answer.status, answer.by.endswith("a run of both texts")) == ("proved", True)


def test_runs_of_a_move_alone_end_where_the_source_does() -> None:
    alone = move("x", hbm(0, "C / 8, A, C % 8"), hbm(OUT, "A, C @ 4 = 8")), 'step = [{ transfer = "x" }]\n'
    answer = by_contents(alone, alone)
    assert (answer.status, answer.by.endswith("a run of both texts")) == ("proved", True)


def test_padding_that_may_hold_anything_is_no_sameness_and_no_difference() -> None:
    padded = "A # 10, B, C"
    alone = move("whole", hbm(0), hbm(OUT, padded)), 'step = [{ transfer = "whole" }]\n'
    assert same(alone, alone).status == "proved"
    whole = move("whole", hbm(0), hbm(OUT)), 'step = [{ transfer = "whole" }]\n'
    answer = same(alone, whole)
    assert answer.status == "unknown"
    assert "leaves anything (by `whole`, which nothing says how to do), the second what lay there" in answer.why


def test_zero_padding_ends_as_zero_whatever_lay_there() -> None:
    zero = move("whole", hbm(0), hbm(OUT, "A #{0} 10, B, C")), 'step = [{ transfer = "whole" }]\n'
    assert same(zero, zero).status == "proved"
    whole = move("whole", hbm(0), hbm(OUT)), 'step = [{ transfer = "whole" }]\n'
    answer = same(zero, whole)
    assert answer.status == "refuted"
    assert "the first leaves zero (by `whole`), the second what lay there" in answer.why


def test_what_is_brought_from_padding_is_never_the_same() -> None:
    garbage = move("in", hbm(0), dm(0, "A # 10, B, C")) + move("out", dm(0, "R = 10, B, C"), hbm(OUT, "R = 10, B, C"))
    steps = 'step = [{ transfer = "in" }, { transfer = "out", after = ["in"] }]\n'
    answer = same((garbage, steps), (garbage, steps), ["hbm"])
    assert (answer.status, "leaves anything (by `out`" in answer.why) == ("unknown", True)


@pytest.mark.parametrize(
    ("dest", "tiles", "whole"),
    [
        ("A, B, C # 80", "A", "proved"),  # the tiles together have all padding within rows
        ("B # 6, A, C", "A", "proved"),  # and around them
        ("A #{0} 10, B, C", "A", "refuted"),  # padding of the digit itself is in no tile
        ("A # 10, B, C", "A # 10", "unknown"),
    ],
)
def test_padding_that_tiles_do_not_show_is_not_touched(dest: str, tiles: str, whole: str) -> None:
    def part(name: str, start: int, length: int) -> str:
        views = [f', view = {{ tile = "{tile}", length = {length}, start = {start} }} }}' for tile in ("A", tiles)]
        return move(name, hbm(0)[:-2] + views[0], hbm(OUT, dest)[:-2] + views[1])

    parts = part("one", 0, 3) + part("two", 3, 5), 'step = [{ transfer = "one" }, { transfer = "two" }]\n'
    shown = hbm(OUT, dest)[:-2] + ROW.replace("START", "t").replace('"A"', f'"{tiles}"') + " }"
    rows = lone(hbm(0)[:-2] + ROW.replace("START", "t") + " }", shown, "loop = { t = 8 }")
    answer = same(parts, rows)
    assert (answer.status, answer.by.endswith("a run of both texts")) == ("proved", True), answer.why
    assert same(parts, lone(hbm(0), hbm(OUT, dest))).status == whole


@pytest.mark.parametrize(("tile", "start"), [("A", "t + 1"), ("A", "t * 2"), ("A # 10", "t + 1")])
def test_a_tile_that_reaches_beyond_its_elements_moves_nothing_by_itself(tile: str, start: str) -> None:
    dest = hbm(OUT, "A # 10, B, C")[:-2] + ROW.replace("START", start).replace('"A"', f'"{tile}"') + " }"
    rows = lone(hbm(0)[:-2] + ROW.replace("START", "t") + " }", dest, "loop = { t = 8 }")
    answer = by_contents(rows, rows)
    assert (answer.status, "reaches beyond its elements" in answer.why) == ("unknown", True), answer.why


@pytest.mark.parametrize(("start", "status"), [("t", "proved"), ("t + 1", "unknown"), ("t - 1", "unknown")])
def test_what_a_tile_beyond_its_tensor_leaves_is_not_said(start: str, status: str) -> None:
    """No run writes there; bytes of the next row lie where the tile would be."""
    stream = 'stream = { time = "A = 1, B", packet = "C" }\nloop = { t = 8 }'
    source = hbm(0, "A = 1, B, C")
    dest = hbm(OUT, "B, A, C")[:-2] + ROW.replace("START", start) + " }"
    answer = by_contents(lone(source, dest, stream), lone(source, dest, stream))
    assert answer.status == status, answer.why
    assert status == "proved" or "leaves a tensor: the dest's tile of `A` covers" in answer.why


def test_a_digit_that_padding_fills_up_names_no_element_twice() -> None:
    program = lone(hbm(0, "A, C / 32, C % 32 # 40, B"), hbm(OUT))
    assert same(program, program).status == "proved"


def test_an_element_at_two_places_is_taken_from_neither() -> None:
    twice = move("whole", hbm(0, "2, A, B, C"), hbm(OUT)), 'step = [{ transfer = "whole" }]\n'
    assert "an element lies at two places of the source" in same(twice, twice).why


def test_programs_whose_order_matters_are_not_compared() -> None:
    race = 'step = [{ transfer = "load", context = "x" }, { transfer = "store", context = "y" }]\n'
    answer = same((LOAD + STORE, BACK), (LOAD + STORE, race))
    assert answer.status == "unknown"
    assert answer.why == "what the second leaves is not known: core/hazard-raw of `load` and `store`"


def test_steps_that_touch_nothing_of_each_other_may_change_places() -> None:
    two = move("one", hbm(0), dm(0), STREAM) + move("two", hbm(8192), dm(65536), STREAM)
    steps = ['{ transfer = "one" }', '{ transfer = "two" }']
    order = [f"step = [{', '.join(some)}]\n" for some in (steps, steps[::-1])]
    assert same((two, order[0]), (two, order[1])).status == "proved"
    over = move("one", hbm(0), dm(0), STREAM) + move("two", hbm(8192), dm(0), STREAM)
    assert same((over, order[0]), (over, order[1])).status == "refuted"


def test_an_order_that_is_supposed_is_a_condition() -> None:
    answer = same((ROWS, BACK), (LOAD + STORE, BACK), ["hbm"])
    assert answer.conditions == ("`store` and `load` share one engine (they name none, and nothing says which it is)",)


# ---------------------------------------------------------------- accesses and rows

USE = """\
[access.use]
engine = "fetch"
dtype = "i8"
memory = { tier = "dm", base = BASE, slice = "1 # 64", element = "A, B, C" }
stream = { time = "A, B, C / 32", packet = "C % 32" }
[access.make]
engine = "commit"
dtype = "i8"
memory = { tier = "dm", base = 65536, slice = "1 # 64", element = "A, B, C" }
stream = { time = "A, B, C / 32", packet = "C % 32" }
"""
COMPUTED = (
    'step = [{ transfer = "load" }, { access = ["use", "make"], after = ["load"] }, '
    '{ transfer = "store", after = ["use+make"] }]\n'
)


def computing(row: str, base: int = 0) -> str:
    """Row `row` of the source computed with, at `base`, and stored."""
    load_ = move("load", hbm(int(row) * 4096), '{ tier = "dm", base = BASE, slice = "1 # 64", element = "A, B, C" }')
    store_ = move("store", '{ tier = "dm", base = 65536, slice = "1 # 64", element = "A, B, C" }', hbm(OUT))
    return (load_ + store_ + USE).replace("BASE", str(base))


def test_what_is_computed_of_the_same_is_the_same_if_the_work_is() -> None:
    answer = same((computing("0"), COMPUTED), (computing("0", 4096), COMPUTED), ["hbm"])
    assert answer.status == "proved", answer.why
    assert answer.conditions == (home.SAME_WORK, same_contents.NOTHING_OF_PADDING)


def test_what_is_computed_of_other_data_is_left_open() -> None:
    answer = same((computing("0"), COMPUTED), (computing("1"), COMPUTED), ["hbm"])
    assert answer.status == "unknown"
    assert "what an access made" in answer.why


@pytest.mark.parametrize("by_events", [True, False])
def test_accesses_of_another_type_make_something_else(by_events: bool) -> None:
    step = 'step = [{ access = ["use", "make"] }]\n'
    texts = [USE.replace("BASE", "0").replace('"i8"', f'"{kind}"') for kind in ("i8", "f8e4m3")]
    plans = [load(f"{HEAD.format('rngd')}{text}[program.p]\n{step}", "p") for text in texts]
    for other, status in ((plans[0], "proved"), (plans[1], "unknown")):
        assert jobs.same_programs(plans[0], other, rlimit=2_000_000, by_events=by_events).status == status


@pytest.mark.parametrize("by_events", [True, False])
@pytest.mark.parametrize(
    ("slices", "element", "time", "packet", "status"),
    [
        ("R", "A, C", "A", "C", "proved"),
        ("R, A", "C", "1", "C", "unknown"),  # each slice computes with one row of two
        ("R", "A, C", "A, C / 8", "C % 8", "unknown"),  # of smaller packets
    ],
)
def test_accesses_in_other_slices_or_packets_make_something_else(
    slices: str, element: str, time: str, packet: str, status: str, by_events: bool
) -> None:
    def program(slices: str, element: str, time: str, packet: str) -> tuple[str, str]:
        def held(base: int) -> str:
            return f'{{ tier = "dm", base = {base}, slice = "{slices}", element = "{element}" }}'

        text = move("load", hbm(0, "R, A, C"), held(0), 'stream = { time = "R, A", packet = "C" }')
        text += move("store", held(65536), hbm(OUT, "R, A, C"), 'stream = { time = "R, A", packet = "C" }')
        for name, engine, base in (("use", "fetch", 0), ("make", "commit", 65536)):
            text += f'[access.{name}]\nengine = "{engine}"\ndtype = "i8"\nmemory = {held(base)}\n'
            text += f'stream = {{ time = "{time}", packet = "{packet}" }}\n'
        return text, COMPUTED

    one, other = program("R", "A, C", "A", "C"), program(slices, element, time, packet)
    plans = [load(f"{HEAD.format('rngd')}{text}[program.p]\n{steps}", "p") for text, steps in (one, other)]
    answer = jobs.same_programs(plans[0], plans[1], rlimit=2_000_000, tiers=["hbm"], by_events=by_events)
    assert answer.status == status, answer.why


def test_what_a_context_was_given_before_decides_what_it_makes() -> None:
    one = computing("0")
    first = USE.replace("access.use", "access.look").split("[access.make]")[0].replace("BASE", "131072")
    steps = COMPUTED.replace('{ access = ["use"', '{ access = "look" }, { access = ["use"')
    answer = same((one, COMPUTED), (one + first, steps), ["hbm"])
    assert (answer.status, "what an access made" in answer.why) == ("unknown", True)


GATHER = """\
[gather.rows]
dtype = "i8"
source = { tier = "hbm", element = "R, C" }
dest = { tier = "dm", slice = "1 # 64", element = "K, C" }
index = { tier = "hbm", base = 65536, element = "K", dtype = "i32", scaled = false, LIST }
axis = "R"
key = "K"
stream = { time = "K", packet = "C" }
"""
PUT = move("put", '{ tier = "dm", slice = "1 # 64", element = "K, C" }', hbm(OUT, "K, C"))
PICKED = 'step = [{ gather = "rows" }, { transfer = "put", after = ["rows"] }]\n'


def gathered(numbers: str) -> tuple[str, str]:
    return GATHER.replace("LIST", numbers) + PUT, PICKED


def test_rows_that_the_plan_states_are_followed() -> None:
    direct = move("direct", hbm(0, "K, C"), hbm(OUT, "K, C")), 'step = [{ transfer = "direct" }]\n'
    found = same(gathered("values = [0, 1, 2, 3]"), direct, ["hbm"])
    assert (found.status, found.notes) == ("proved", ("the index of `rows` holds what the plan states",))
    answer = same(gathered("values = [0, 1, 3, 2]"), direct, ["hbm"])
    assert (answer.status, "what lay at hbm, byte 192 (by `put`)" in answer.why) == ("refuted", True)


@pytest.mark.parametrize(
    ("numbers", "status", "said"),
    [
        ("values = [0, 128, 64, 256]", "proved", "and a run of both texts"),
        ("values = [0, 128, 64, 320]", "refuted", "and a run of both texts"),
        ("rows = [0, 7]", "unknown", ""),
    ],
)
def test_a_gather_by_itself_is_a_program_of_one_step(numbers: str, status: str, said: str) -> None:
    text = (
        f'[gather.NAME]\ndtype = "i8"\nsource = {hbm(0, "R, C")}\ndest = {hbm(OUT, "K, C")}\n'
        'index = { tier = "hbm", base = 65536, element = "K", NUMBERS }\nstream = { time = "K", packet = "C" }\n'
    )
    listed = text.replace("NUMBERS", "values = [0, 128, 64, 256]")
    steps = listed.replace("NAME", "g") + '[program.p]\nstep = [{ gather = "g" }]\n'
    one = load(HEAD.format("rngd") + text.replace("NAME", "g").replace("NUMBERS", numbers), "g")
    for other in (load(HEAD.format("rngd") + steps, "p"), load(HEAD.format("rngd") + listed.replace("NAME", "h"), "h")):
        answer = jobs.same_entries(("a", one), ("b", other), rlimit=2_000_000)
        assert (answer.status, said in answer.by) == (status, True), answer.why


def test_rows_of_unknown_numbers_are_the_same_of_the_same_list_and_table() -> None:
    promised = gathered("rows = [0, 15]")
    assert same(promised, promised, ["hbm"]).status == "proved"
    moved = promised[0].replace("base = 65536", "base = 131072"), PICKED
    assert same(promised, moved, ["hbm"]).status == "unknown"
    written = move("list", hbm(1 << 24, "C"), hbm(65536, "C"))
    first = (
        written + promised[0],
        PICKED.replace("[{ gather", '[{ transfer = "list" }, { gather').replace(
            'gather = "rows"', 'gather = "rows", after = ["list"]'
        ),
    )
    assert same(promised, first, ["hbm"]).status in ("unknown", "refuted")


# ---------------------------------------------------------------- transfers whose order may decide


@pytest.mark.parametrize(
    ("body", "engine", "answer"),
    [
        ("1024:4096 0:4096", 0, "proved"),  # a dead write
        ("0:4096 4096:4096", 0, "proved"),  # onto itself
        ("0:4096 1024:4096", 0, "4096: what lay at hbm, byte 0, what lay at hbm, byte 1024"),  # the last one stays
        ("0:4096 1024:4096", 1, "unknown"),  # of two engines, either may
        ("1024:4100 0:4096", 0, "4608: what lay there, what lay at hbm, byte 1532"),
        ("0:4096 4096:8192", 0, "8192: what lay there, what lay at hbm, byte 0"),  # by way of 4096
        ("0:4096 1024:2048 2048:1024", 0, "2048: what lay there, what lay at hbm, byte 1024"),
        ("0:4096 0:1024 1024:0", 0, "1024: what lay there, what lay at hbm, byte 0"),  # 0 is as it was
        ("0:4096 1024:8192", 0, "8192: what lay there, what lay at hbm, byte 1024"),
    ],
)
def test_a_copy_that_leaves_nothing_behind_is_no_difference(body: str, engine: int, answer: str) -> None:
    """Copies of 512 bytes (source:destination), the last ones of an engine, against the one from 0 to 4096."""
    head = (
        'schema = 1\ntarget = "rngd"\naxes = { C = 512 }\n[transfer.move]\ndtype = "i8"\n'
        'source = { tier = "hbm", element = "C" }\ndest = { tier = "hbm", base = 4096, element = "C" }\n'
    )
    plans = []
    for pairs in (["0:4096"], body.split()):
        text = head
        for number, (read, write) in enumerate(one.split(":") for one in pairs):
            text += (
                f"[[transfer.move.command]]\nengine = {{ chip = 0, cluster = 0, dmn = {engine if number else 0} }}\n"
                f'read = "[512:1]:64 HBM/D@{read}"\nwrite = "[512:1]:64 HBM/D@{write}"\n'
            )
        plans.append(load(text))
    found = jobs.same_transfers(plans[0], plans[1], rlimit=2_000_000)
    assert found.status == (answer if answer in ("proved", "unknown") else "refuted")
    if found.kind == "programs" and found.witness is not None:
        said = [str(found.witness[side]).partition(" (by")[0] for side in ("first", "second")]
        assert f"{found.witness['place']}: {', '.join(said)}" == f"hbm, byte {answer}"


# ---------------------------------------------------------------- large programs


def many(order: str = "B", out: int = 1 << 33) -> tuple[str, str]:
    """A million rows loaded and stored one by one, by streams that take B in this order."""
    text = ROWS.replace("t = 8", "t = 1000000").replace('"A, B, C', '"R, B, C').replace("A = 1", "R = 1")
    text = text.replace('tile = "A"', 'tile = "R"').replace(str(OUT), str(out))
    return text.replace('[transfer', f'{STREAM.replace("A, B", order)}\n[transfer').removeprefix(
        f'{STREAM.replace("A, B", order)}\n') + f'{STREAM.replace("A, B", order)}\n', BACK  # fmt: skip


@pytest.mark.parametrize(
    ("other", "status"),
    [(many(), "proved"), (many("B % 2, B / 2"), "proved"), (many(out=1 << 34), "unknown")],
)
def test_programs_too_large_to_follow_are_the_same_where_each_step_is(other: tuple[str, str], status: str) -> None:
    sizes = HEAD.replace("R = 16", "R = 1000000").format("rngd")
    plans = [load(f"{sizes}{text}[program.p]\n{steps}", "p") for text, steps in (many(), other)]
    answer = jobs.same_programs(plans[0], plans[1], rlimit=2_000_000)
    assert answer.status == status, answer.why
    assert answer.by == (home.ONE_BY_ONE if status == "proved" else "")


def by_pairs(rows: int, second: str = "2 * t + 1") -> tuple[str, str]:
    """Rows loaded and stored through two buffers in turn, two in each iteration; `second` is that of the second."""
    text = ""
    for number, row in ((0, "2 * t"), (1, second)):
        view = f', view = {{ tile = "R", length = 1, start = "{row}" }}'
        buffer = f'{{ tier = "dm", base = {number * 256}, element = "B, C" }}'
        for name, base in (("load", 0), ("store", 1 << 33)):
            sides = (hbm(base, "R, B, C")[:-2] + view + " }", buffer)
            text += move(f"{name}{number}", *(sides if name == "load" else sides[::-1]),
                         f"loop = {{ t = {rows // 2} }}", STREAM.replace("A, B", "B"))  # fmt: skip
    steps = [f'{{ transfer = "{n}{k}"{f", after = [{chr(34)}load{k}{chr(34)}]" if n == "store" else ""} }}'
             for k in (0, 1) for n in ("load", "store")]  # fmt: skip
    return text, f"step = [{', '.join(steps)}]\n"


@pytest.mark.parametrize(
    ("rows", "second", "status", "by"),
    [
        (100_000, "2 * t + 1", "proved", home.ONE_BY_ONE),
        (100_000, "2 * t", "unknown", ""),  # too many to be followed one by one
        (8, "2 * t + 1", "proved", f"{home.ONE_BY_ONE}, and a run of both texts"),
        (8, "2 * t", "refuted", "comparison of all 10 pieces of 256 B that either writes, and a run of both texts"),
    ],
)
def test_a_loop_is_the_same_as_one_of_half_its_rounds_that_does_twice_as_much(
    rows: int, second: str, status: str, by: str
) -> None:
    single = many(out=1 << 33)[0].replace("1000000", str(rows))
    turned = re.sub(r'tier = "dm", base = 0, element = "R = 1, B, C"',
                    'tier = "dm", base = 0, element = "K, B, C", view = { tile = "K", length = 1, start = "t % 2" }',
                    single)  # fmt: skip
    sizes = HEAD.replace("R = 16", f"R = {rows}").format("rngd")
    plans = [
        load(f"{sizes}{text}[program.p]\n{steps}", "p") for text, steps in ((turned, BACK), by_pairs(rows, second))
    ]
    answer = jobs.same_programs(plans[0], plans[1], rlimit=2_000_000)
    assert (answer.status, answer.by) == (status, by), answer.why


SWAPPED = 85  # of a loop: a store before the load that it stood behind


@pytest.mark.parametrize("seed", [SWAPPED, *range(8)])
def test_drawn_loops_do_the_same_by_their_events_where_they_leave_the_same(seed: int) -> None:
    assert ("proved" in compared(seed)) <= (seed != SWAPPED)


def tiles(rows: int, together: int, dest: str = "R, C") -> str:
    """Rows moved by an engine of which nothing says how it does that, so many in each iteration."""
    views = [
        f', view = {{ tile = "R", length = 1, start = "{together} * t + {number}" }} }}' for number in range(together)
    ]
    text = "".join(
        move(f"m{number}", f'{{ tier = "mem", base = 0, element = "R, C"{view}',
             f'{{ tier = "mem", base = 2147483648, element = "{dest}"{view}', f"loop = {{ t = {rows // together} }}")
        for number, view in enumerate(views)
    )  # fmt: skip
    steps = ", ".join(f'{{ transfer = "m{number}" }}' for number in range(together))
    return f"{HEAD.format('idma').replace('R = 16', f'R = {rows}')}{text}[program.p]\nstep = [{steps}]\n"


@pytest.mark.parametrize(
    ("rows", "dest", "status", "by_events"),
    [(1_000_000, "R, C", "proved", True), (16, "R, C", "proved", True), (16, "R, C # 80", "proved", False)],
)
def test_moves_that_nothing_says_how_to_do_are_compared_in_all_iterations(
    rows: int, dest: str, status: str, by_events: bool
) -> None:
    plans = [load(tiles(rows, together, dest), "p") for together in (1, 4)]
    answer = jobs.same_programs(plans[0], plans[1], rlimit=2_000_000)
    assert (answer.status, answer.by.startswith(home.ONE_BY_ONE)) == (status, by_events), answer.why


@pytest.mark.parametrize(
    "loops", [[(3, 1, 1)], [(4, 8, 8), (3, 0, 1)], [(2, -5, 100), (3, 7, 1000), (5, 0, 5000)], [(2, 1, 1), (2, 8, 3)]]
)
def test_cells_of_a_nest_are_that_nest(loops: list[tuple[int, int, int]]) -> None:
    ends = [np.array([7]), np.array([11])]
    for count, *steps in reversed(loops):
        ends = [(end[:, None] + np.arange(count) * step).ravel() for end, step in zip(ends, steps, strict=True)]
    assert copy_events.nest_of(ends[0], ends[1]) == loops
    ends[0][-1] += 1
    assert copy_events.nest_of(ends[0], ends[1]) != loops


def launched(between: str, first: int) -> str:
    """A second launch reads what the first one wrote."""
    words = f"0xD0 = 0x20000\n0xD4 = 0x1000\n0xD8 = {first}\nread 0x44\n{between}"
    words += "0xD0 = 0x21000\n0xD4 = 0x20000\n0xD8 = 64\nread 0x44"
    sides = ('{ tier = "mem", base = 4096, element = "C" }', '{ tier = "mem", base = 135168, element = "C" }')
    return HEAD.format("idma") + move("x", *sides, f'commands = """\nreg32_3d\n0x00 = 0xC\n{words}\n"""')


@pytest.mark.parametrize(
    ("one", "other", "status"),
    [
        (("wait\n", 64), ("wait\n", 64), "proved"),
        (("wait\n", 64), ("wait\n", 32), "refuted"),
        (("", 64), ("", 64), "unknown"),
        (("wait\n", 64), ("", 64), "unknown"),
    ],
)
def test_launches_behind_a_wait_are_in_order(one: tuple[str, int], other: tuple[str, int], status: str) -> None:
    plans = [load(launched(*side), "x") for side in (one, other)]
    answer = jobs.same_transfers(plans[0], plans[1], rlimit=2_000_000)
    assert (answer.status, "run of both texts" in answer.by) == (status, status != "unknown"), answer.why


def test_what_decides_the_bytes_besides_the_copies_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    program = LOAD + STORE, BACK
    assert same(program, program).by.startswith(home.ONE_BY_ONE)
    count = iter(range(100))
    monkeypatch.setattr(copy_events, "what_decides", lambda *_: {"pattern": next(count)})
    assert not same(program, program).by.startswith(home.ONE_BY_ONE)


def test_more_than_is_followed_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MOST_PIECES", 8)
    answer = same((LOAD + STORE, BACK), (ROWS, BACK))
    assert (answer.status, answer.why) == ("unknown", "more than 8 pieces of 256 B are moved")


def test_a_run_that_leaves_something_else_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    real = same_runs.left_behind_run

    def wrong(*given: object) -> object:
        held = real(*given)  # type: ignore[arg-type]
        return None if held is None else dict.fromkeys(held, ("hbm", 1))

    monkeypatch.setattr(same_runs, "left_behind_run", wrong)
    with pytest.raises(Disagreement, match="a run"):
        same((LOAD + STORE, BACK), (ROWS, BACK))


def test_runs_that_part_contradict_what_was_proved_event_by_event(monkeypatch: pytest.MonkeyPatch) -> None:
    real, number = same_runs.left_behind_run, iter(range(2))
    monkeypatch.setattr(
        same_runs, "left_behind_run", lambda *given: {**(real(*given) or {}), ("hbm", 7): str(next(number))}
    )
    said = "they do the same, and runs of both part: at \\('hbm', 7\\) one leaves 0, the other 1"
    with pytest.raises(Disagreement, match=said):
        same((LOAD + STORE, BACK), (LOAD + STORE, BACK))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_drawn_plans_leave_what_their_run_leaves(kind: str) -> None:
    both_said(f"{kind}-0", kind)


@pytest.mark.parametrize("kind", ["tiles", "pipeline", *rest(["stores", "engines", "partly"])])
def test_drawn_programs_without_hazards_leave_the_same_in_every_order(kind: str) -> None:
    said = {orders_said(f"{kind}-{number}", kind) for number in range(16)}
    assert "no hazard, the same in other orders" in said
    assert kind != "engines" or "a hazard, something else in other orders" in said


ROWS_BY_STREAM = "".join(
    move(*one, 'stream = { time = "A = 1, B", packet = "C" }', start="t")
    for one in (("load", hbm(0), dm(0, "A = 1, B, C")), ("store", dm(0, "A = 1, B, C"), hbm(OUT)))
)


@pytest.mark.parametrize(("start", "status"), [("t", "proved"), ("t / 2 * 2", "refuted"), ("t / 4 * 4", "refuted")])
def test_a_difference_that_is_too_large_to_run_is_traced_back_by_division(
    start: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(same_runs, "MOST_RUN", 0)
    rows = ROWS_BY_STREAM.replace('"t"', f'"{start}"', 1)
    answer = same((LOAD + STORE, BACK), (rows, BACK), ["hbm"])
    assert (answer.status, "traced back through both" in answer.by) == (status, status == "refuted")
    monkeypatch.setattr(same_contents, "traced", lambda *_: (("hbm", 0, 0), 1))  # contents are wrong, or this is
    assert same((LOAD + STORE, BACK), (rows, BACK), ["hbm"]).status == ("proved" if start == "t" else "unknown")


def test_a_difference_that_nothing_confirms_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    turned = move("whole", hbm(0), hbm(OUT, "B, A, C")), 'step = [{ transfer = "whole" }]\n'
    assert same(turned, (LOAD + STORE, BACK), ["hbm"]).status == "refuted"
    monkeypatch.setattr(same_runs, "MOST_RUN", 0)
    answer = same(turned, (LOAD + STORE, BACK), ["hbm"])
    assert (answer.status, "traced back through both" in answer.by) == ("refuted", True), answer.why
    monkeypatch.setattr(traced, "MOST_CELLS", 2047)
    answer = same(turned, (LOAD + STORE, BACK), ["hbm"])
    assert (answer.status, answer.why.endswith("no run and no trace confirms it")) == ("unknown", True)


SLICES = '{ tier = "dm", base = 64, cluster = "B / 2", slice = "A # 64", element = "B % 2, C" }'
REPEATED = hbm(OUT, "B, R, A, C # 80")


@pytest.mark.parametrize("dtype", ["i8", "bf16", "i4"])
@pytest.mark.parametrize(
    ("source", "dest", "start"),
    [
        (hbm(0), hbm(OUT, "B, A, C"), ""),
        (hbm(0), hbm(OUT, "C % 8, A # 10, B, C / 8"), ""),
        (hbm(0), SLICES, ""),
        (SLICES, hbm(0, "A, B, C"), ""),
        (hbm(8, "A # 9, B, C # 72"), REPEATED, ""),
        (hbm(0, "B, A, C"), dm(0, "A = 1, C, B"), "t"),
        (dm(0, "C, A = 1, B"), hbm(0, "B, A, C"), "7 - t"),
    ],
)
def test_cells_trace_every_unit_of_a_move_to_where_contents_say(source: str, dest: str, start: str, dtype: str) -> None:
    text = move("x", source, dest, start=start).replace('"i8"', f'"{dtype}"')
    plan = load(HEAD.format("rngd") + text, "x")
    program = jobs.program_of_plan(plan)
    found = home.side_of(program, plan.axes, plan.targets["rngd"])
    side = contents.with_copies(found, found.unit_bits)
    world = contents.Numbering(side.unit_bits, 1)
    written = contents.written(side, world)
    held = contents.left_behind(side, world, {memory: distinct(np.concatenate(at)) for memory, at in written.items()})
    touched = [[touch.memory for touch in work.touches if touch.writes] for work in side.works]
    looked = 0
    for memory, one in held.items():
        rows = list(zip(one.places.tolist(), one.origin.tolist(), one.at.tolist(), strict=True))
        lie, padding = ([row for row in rows if (row[1] >= 0) is known] for known in (True, False))
        for place, origin, at in lie[:: max(1, len(lie) // 24)]:
            there = traced.traced(side.copies, touched, [8 if start else 1], [[0]], side.target, (memory, place))
            assert there == (world.name(origin), at)
            looked += 1
        for place, _, _ in padding[:1]:
            with pytest.raises(NoCopies):
                traced.traced(side.copies, touched, [8 if start else 1], [[0]], side.target, (memory, place))
    assert looked >= 24


def test_a_difference_is_confirmed_by_a_run_of_one_and_a_trace_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    turned = move("whole", hbm(0), hbm(OUT, "B, A, C")), 'step = [{ transfer = "whole" }]\n'
    run = same_runs.left_behind_run
    monkeypatch.setattr(
        same_runs, "left_behind_run", lambda plan, *bits: None if "loop" in plan.source.text else run(plan, *bits)
    )
    for sides in (((ROWS_BY_STREAM, BACK), turned), (turned, (ROWS_BY_STREAM, BACK))):
        answer = same(*sides, ["hbm"])
        assert (answer.status, "traced back through one, and a run" in answer.by) == ("refuted", True), answer.why
    monkeypatch.setattr(same_contents, "traced", lambda *_: (("hbm", 0, 0), 1))
    assert same(turned, (ROWS_BY_STREAM, BACK), ["hbm"]).status == "unknown"


def test_parts_of_a_move_that_meet_have_no_order() -> None:
    padded = hbm(OUT, "A #{0} 10, B, C")  # its zeros lie where the source does
    over = move("x", hbm(OUT + 8 * 256), padded), 'step = [{ transfer = "x" }]\n'
    answer = same(over, over)
    assert (answer.status, "parts 0 and 1: one unit is written, and read for another" in answer.why) == (
        "unknown",
        True,
    )


def test_rows_that_one_command_puts_at_one_place_and_reads_there_are_followed_by_nobody() -> None:
    """The second row is read where the first one was put."""
    sides = '{ tier = "hbm", element = "A = 2, C" }', '{ tier = "hbm", base = 4096, element = "A = 2, C" }'
    told = '[[transfer.x.command]]\nread = "[{0}C=64:1]:64 @{2}"\nwrite = "[{1}C=64:1]:64 @4096"'
    one, other = (
        (move("x", *sides, told.format(*numbers)), 'step = [{ transfer = "x" }]\n')
        for numbers in (("A=2:64, ", "A=2:0, ", 4032), ("", "", 4096))
    )
    answer = by_contents(one, other)
    assert (answer.status, "written, and read for another" in answer.why) == ("unknown", True)


@pytest.mark.parametrize("there", [64, 100, 1984])
def test_a_move_onto_a_part_of_itself_is_not_the_same_as_itself(there: int) -> None:
    over = move("x", hbm(0), hbm(there)), 'step = [{ transfer = "x" }]\n'
    assert same(over, over).status == "unknown"
    beside = move("x", hbm(0), hbm(2048)), 'step = [{ transfer = "x" }]\n'
    assert same(beside, beside).by.startswith(home.ONE_BY_ONE)


def test_a_command_that_reads_what_it_writes_is_like_none_of_other_loops() -> None:
    """Each row is read from where the row before was written: by commands one after the other, or by one."""
    sides = hbm(0, "A, C # 128"), hbm(128, "A, C # 128")
    rows = move("x", *sides, 'stream = { time = "A = 1", packet = "C" }', start="t").replace("t = 8", "t = 7")
    one = rows, 'step = [{ transfer = "x" }]\n'
    seven = [side.replace('"A,', '"A = 7,') for side in sides]
    whole = move("x", *seven, 'stream = { time = "A = 7", packet = "C" }')
    other = whole, 'step = [{ transfer = "x" }]\n'
    assert same(one, one).by.startswith(home.ONE_BY_ONE)
    assert same(other, other).by.startswith(home.ONE_BY_ONE)
    assert same(one, other).status == same(other, one).status == "unknown"


@pytest.mark.parametrize(
    ("time", "packet", "status"),
    [("A", "C", "proved"), ("A / 2, A % 2", "C", "proved"), ("A, C / 32", "C % 32", "unknown")],
)
def test_a_command_that_reads_what_it_writes_is_like_none_of_other_packets(time: str, packet: str, status: str) -> None:
    """A packet of 64 bytes is read before the first of its bytes is written, 16 bytes further."""
    one, other = (
        (move("x", hbm(0, "A, C"), hbm(16, "A, C"), f'stream = {{ time = "{time}", packet = "{packet}" }}'),
         'step = [{ transfer = "x" }]\n')
        for time, packet in (("A", "C"), (time, packet))
    )  # fmt: skip
    assert same(one, other).status == same(other, one).status == status


@pytest.mark.parametrize(("base", "status"), [(512, "proved"), (511, "unknown"), (464, "unknown")])
@pytest.mark.parametrize("told", [("A = 1, C / 32", "C % 32"), None])
def test_a_step_reads_what_it_writes_in_any_of_its_iterations(
    base: int, status: str, told: tuple[str, str] | None
) -> None:
    """Rows are read one after the other, all written at one place: the last one, up to byte 511, may meet it."""
    source = '{ tier = "gm", element = "A, C", view = { tile = "A", length = 1, start = "t" } }'
    dest = f'{{ tier = "gm", base = {base}, element = "A = 1, C" }}'
    both = [("A = 1", "C"), told] if told else [None, None]
    streams = [f'stream = {{ time = "{one[0]}", packet = "{one[1]}" }}' if one else "" for one in both]
    one, other = ((move("x", source, dest, "loop = { t = 8 }", s), 'step = [{ transfer = "x" }]\n') for s in streams)
    answer = same(one, other, target="pto")
    assert (answer.status, answer.by.startswith(home.ONE_BY_ONE)) == (status, status == "proved")


def test_addresses_wider_than_numbers_are_open() -> None:
    far = (1 << 64) - 65536
    side, options = '{{ tier = "mem", base = {}, element = "A, C" }}', "options = { address_width = 64 }"
    wide = move("x", side.format(far), side.format(0), options)
    steps = 'step = [{ transfer = "x" }]\n'
    assert "wider than 62 bits" in same((wide, steps), (wide, steps), target="idma").why


# ---------------------------------------------------------------- what is not followed


def by_contents(one: tuple[str, str], other: tuple[str, str], target: str = "rngd") -> Sameness:
    plans = [load(f"{HEAD.format(target)}{text}[program.p]\n{steps}", "p") for text, steps in (one, other)]
    return jobs.same_programs(plans[0], plans[1], rlimit=2_000_000, by_events=False)


def lone(*given: str, start: str = "") -> tuple[str, str]:
    return move("x", *given, start=start), 'step = [{ transfer = "x" }]\n'


TWO_COMMANDS = """\
[transfer.x]
dtype = "i8"
source = { tier = "TIER", element = "C" }
dest = { tier = "TIER", base = 8192, element = "C" }
[[transfer.x.command]]
read = "[C=64:1]:64 @0"
write = "[C=64:1]:64 @4096"
[[transfer.x.command]]
read = "[C=64:1]:64 @4096"
write = "[C=64:1]:64 @8192"
"""


@pytest.mark.parametrize(
    ("program", "target", "said"),
    [
        (lone(hbm(0), hbm(256), STREAM), "rngd", "`x`, command 0: one unit is written, and read"),
        (
            (TWO_COMMANDS.replace("TIER", "mem"), 'step = [{ transfer = "x" }]\n'),
            "idma",
            "commands 0 and 1: one unit is written, and read",
        ),
        (lone(hbm(0), hbm(OUT, "A, B, C"), start="t - 1"), "rngd", "addresses below 0"),
        (lone(hbm(0, "A / 2, A, B, C"), hbm(OUT)), "rngd", "an element lies at two places"),
        (lone(hbm(0, "A = 4, B, C"), hbm(OUT)), "rngd", "the source lacks elements"),
        (lone(hbm(0)[:-2] + ', view = { tile = "A", length = 4, start = 0 } }', hbm(OUT)), "rngd", "the source lacks"),
    ],
)
def test_what_has_no_contents_is_open_even_against_itself(program: tuple[str, str], target: str, said: str) -> None:
    answer = by_contents(program, program, target)
    assert (answer.status, said in answer.why) == ("unknown", True), answer.why


def test_an_iteration_reads_what_the_one_before_has_written() -> None:
    rolled = move("x", hbm(0), hbm(256), 'stream = { time = "A = 1, B", packet = "C" }', start="t")
    rolled = rolled.replace("t = 8", "t = 7")
    answer = by_contents((rolled, 'step = [{ transfer = "x" }]\n'), (rolled, 'step = [{ transfer = "x" }]\n'))
    assert (answer.status, answer.by.endswith("a run of both texts")) == ("proved", True)


def test_padding_inside_of_rows_is_no_part_of_a_run() -> None:
    padded = lone(hbm(0, "A, B, C # 80"), hbm(OUT, "A, B, C # 80"))
    answer = by_contents(padded, padded)
    assert (answer.status, answer.by.endswith("a run of both texts")) == ("proved", True)


SCATTER = """\
[scatter.rows]
dtype = "i8"
source = { tier = "dm", slice = "1 # 64", element = "K, C" }
dest = { tier = "hbm", base = 1048576, element = "R, C" }
index = { tier = "hbm", base = 65536, element = "K", dtype = "i32", scaled = false, rows = [0, 15]LIST }
axis = "R"
key = "K"
stream = { time = "K", packet = "C" }
"""


def test_rows_that_no_unknown_number_names_keep_what_they_held() -> None:
    steps = 'step = [{ transfer = "fill" }, { scatter = "rows", after = ["fill"] }]\n'
    rows = SCATTER.replace("LIST", ", distinct = true")
    one, other = (move("fill", hbm(at, "R, C"), hbm(OUT, "R, C")) + rows for at in (0, 16384))
    assert by_contents((one, steps), (one, steps)).status == "proved"
    assert by_contents((one, steps), (other, steps)).status == "unknown"


@pytest.mark.parametrize(
    ("numbers", "status"),
    [
        (", distinct = true", "proved"),
        ("", "unknown"),  # a row may be named twice
        (", values = [0, 1, 2, 3]", "proved"),
        (", values = [0, 1, 1, 3]", "unknown"),
    ],
)
def test_rows_that_are_put_at_one_place_have_no_order(numbers: str, status: str) -> None:
    rows = SCATTER.replace("rows = [0, 15]LIST", numbers[2:] if "values" in numbers else f"rows = [0, 15]{numbers}")
    program = rows, 'step = [{ scatter = "rows" }]\n'
    answer = by_contents(program, program)
    assert (answer.status, "no source defines which" in answer.why) == (status, status == "unknown")


def test_rows_picked_from_what_may_be_anything_are_never_the_same() -> None:
    fill = move("fill", hbm(1 << 24, "A, C"), hbm(0, "A # 16, C"))
    program = (
        fill + gathered("rows = [0, 15]")[0],
        PICKED.replace('[{ gather = "rows"', '[{ transfer = "fill" }, { gather = "rows", after = ["fill"]'),
    )
    assert by_contents(program, program).status == "unknown"


def test_steps_that_only_may_meet_are_not_compared() -> None:
    text = move("one", dm(0), hbm(OUT, "A # 10, B, C")) + move("two", dm(65536, "B, C"), hbm(OUT + 2048, "B, C"))
    program = text, 'step = [{ transfer = "one", context = "x" }, { transfer = "two", context = "y" }]\n'
    answer = by_contents(program, program)
    assert (answer.status, "could not be decided" in answer.why) == ("unknown", True)


def test_lists_that_contradict_each_other_are_not_followed() -> None:
    second = GATHER.replace("gather.rows", "gather.more").replace("LIST", "values = [3, 2, 1, 0]")
    text = gathered("values = [0, 1, 2, 3]")[0] + second
    program = text, 'step = [{ gather = "rows" }, { gather = "more", after = ["rows"] }]\n'
    answer = by_contents(program, program)
    assert (answer.status, "no list is both" in answer.why) == ("unknown", True)


@pytest.mark.parametrize(
    ("name", "lie", "said"),
    [
        ("hazards", lambda *_, **__: Hazards(why="too long to follow"), "too long to follow"),
        ("kept_memory", lambda *_: [("a-rule", "hbm", 0, 64)], "descriptors that are marked in memory"),
        ("what_decides", lambda _, transfer, __: {"name": transfer.name}, "what decides the bytes"),
    ],
)
def test_what_the_parts_leave_open_stays_open(
    name: str, lie: object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(same_contents if name == "what_decides" else home, name, lie)
    answer = by_contents((LOAD + STORE, BACK), (LOAD + STORE, BACK))
    assert (answer.status, said in answer.why) == ("unknown", True)


def test_accesses_of_another_context_are_other_accesses() -> None:
    step = 'step = [{ access = ["use", "make"] }]\n'
    text = USE.replace("BASE", "0").replace("C / 32", "C / 8").replace("C % 32", "C % 8")
    other = text.replace('dtype = "i8"', 'dtype = "i8"\ncontext = "sub"')
    answer = same((text, step), (other, step))
    assert answer.status == "unknown"
    both = text + other.replace("access.use", "access.use2").replace("access.make", "access.make2").replace(
        "base = 0", "base = 131072").replace("base = 65536", "base = 196608")  # fmt: skip
    steps = 'step = [{ access = ["use", "make"] }, { access = ["use2", "make2"] }]\n'
    assert home.APART in same((both, steps), (both, steps)).conditions


# ---------------------------------------------------------------- the command line


def test_the_command_answers_with_words_data_and_an_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.toml"
    tables = [f"{text.replace('transfer.', f'transfer.{n}-')}[program.{n}]\n{steps}"
              for n, (text, steps) in (("a", (LOAD + STORE, BACK)), ("b", (ROWS, BACK)))]  # fmt: skip
    body = "".join(t.replace('"load"', f'"{n}-load"').replace('"store"', f'"{n}-store"')
                   for n, t in zip("ab", tables, strict=True))  # fmt: skip
    file.write_text(HEAD.format("rngd") + body)
    one, other = f"{file}::a", f"{file}::b"
    assert invoke(["equiv", one, other, "--tier", "hbm"]) == 0
    assert "  only if   `b-store` and `b-load` share one engine" in capsys.readouterr().out
    assert invoke(["equiv", one, other, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["id"], told["kind"], told["status"]) == ("core/same-program", "programs", "refuted")
    assert told["witness"]["place"] == "dm, slice 0, byte 0"
    assert invoke(["equiv", f"{file}::a-load", one, "--tier", "dm"]) == 0  # a transfer is a program of one step
    assert invoke(["equiv", f"{file}::a-load", f"{file}::b-load", "--tier", "dm"]) == 1  # the second has no stream
    assert invoke(["equiv", f"{file}::a-load", f"{file}::a-store", "--tier", "dm"]) == 2
    assert "tiers are for two programs" in capsys.readouterr().err
    assert invoke(["equiv", str(file), one]) == 2
    assert "write PATH::NAME with one of a-load, a-store, b-load, b-store, a, b" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "tier", "engines", "status"),
    [
        ("rngd", "hbm", (0, 0), "proved"),  # one after the other
        ("rngd", "hbm", (0, 1), "unknown"),
        ("idma", "mem", (), "unknown"),  # an engine reads before what it wrote has landed
    ],
)
def test_commands_that_meet_are_the_same_run_only_of_one_engine_in_order(
    target: str, tier: str, engines: tuple[int, ...], status: str
) -> None:
    text = TWO_COMMANDS.replace("TIER", tier)
    for engine in engines:
        text = text.replace(
            "[[transfer.x.command]]\nread", f"[[transfer.x.command]]\nengine = {{ dmn = {engine} }}\nread", 1
        )
    program = text, 'step = [{ transfer = "x" }]\n'
    assert same(program, program, target=target).status == status
    plans = [load(f"{HEAD.format(target)}{text}", "x") for _ in range(2)]
    assert jobs.same_transfers(*plans, rlimit=2_000_000).status == status


def test_a_memory_that_one_of_two_machines_has_is_told() -> None:
    step = 'step = [{ access = "make" }]\n'
    commit = load(f"{HEAD.format('rngd')}{USE.replace('BASE', '0').split('[access.make]')[1]}".replace(
        "K = 4\n", "K = 4\n[access.make]") + f"[program.p]\n{step}", "p")  # fmt: skip
    far = '{{ tier = "mem", base = {}, element = "C" }}'
    text, steps = lone(far.format(0), far.format(4096))
    other = load(f"{HEAD.format('idma')}{text}[program.p]\n{steps}", "p")
    for plans in ((commit, other), (other, commit)):
        answer = jobs.same_programs(*plans, rlimit=2_000_000)
        assert (answer.status, "at mem, byte 4096 " in answer.why) == ("refuted", True)


# ---------------------------------------------------------------- what is no program


def test_a_tier_that_the_machine_has_not_is_an_error() -> None:
    with pytest.raises(InputError, match="no such tier"):
        same((LOAD + STORE, BACK), (ROWS, BACK), ["ddr"])


def test_a_program_that_waits_for_itself_is_an_error() -> None:
    circle = BACK.replace('"load" }', '"load", after = ["store"] }')
    with pytest.raises(InputError, match="wait for each other"):
        same((LOAD + STORE, circle), (LOAD + STORE, BACK))
