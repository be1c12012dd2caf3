"""Views and loops: what is said of all iterations at once, against running and unrolling every one of them."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from lab.draws import counted
from lab.looped_pairs import pair

from dmaverify import api
from dmaverify.plan.read import InputErrors, read_plan_text
from dmaverify.program.turns import every
from dmaverify.prove.move.check import Options
from dmaverify.prove.move.views import moved_commands
from dmaverify.verdict import Status

HEAD = 'schema = 1\ntarget = "rngd"\n[axes]\nA = 16\nB = 4\nC = 32\nS = 64\n'


def errors(text: str, name: str | None = None) -> set[str]:
    return {f.rule for v in api.check(HEAD + text, name, options=Options(repair=False)) for f in v.errors}


def store(view: str, *, loop: str = "loop = { t = 4 }", source: str = "A = 4, C", base: int = 0) -> str:
    return (
        f'[transfer.store]\ndtype = "i8"\n{loop}\n'
        f'source = {{ tier = "dm", base = {base}, slice = "S", element = "{source}" }}\n'
        f'dest = {{ tier = "hbm", element = "S, A, C", view = {view} }}\n'
        'stream = { time = "S, A = 4", packet = "C" }\n'
    )


PROGRAM = '[program.p]\nstep = [{ transfer = "store" }]\n'


def tile(start: str, more: str = "") -> str:
    return f'{{ tile = "A", length = 4, start = {start}{more} }}'


# ---------------------------------------------------------------- both sides of every edge


@pytest.mark.parametrize(
    ("start", "loop", "found"),
    [
        ('"4 * t"', "loop = { t = 4 }", set()),
        ('"12 - 4 * t"', "loop = { t = 4 }", set()),
        ('"8 * (t % 2) + 4 * (t / 2)"', "loop = { t = 4 }", set()),
        ('"8 * u + 4 * t"', "loop = { u = 2, t = 2 }", set()),
        ('"4 * t"', "loop = { t = 3 }", {"core/tiles-cover"}),
        ('"4 * t"', "loop = { t = 5 }", {"core/in-bounds", "core/steps"}),
        ('"4 * t + 1"', "loop = { t = 4 }", {"core/in-bounds", "core/steps", "core/tiles-cover"}),
        ('"t"', "loop = { t = 4 }", {"core/tiles-once", "core/tiles-cover"}),
        ('"3 * t"', "loop = { t = 5 }", {"core/tiles-once"}),
        ('"4 * (t % 2)"', "loop = { t = 4 }", {"core/tiles-once", "core/tiles-cover"}),
        ("12", "", {"core/tiles-cover"}),
        ("13", "", {"core/in-bounds", "core/steps", "core/tiles-cover"}),
    ],
)
def test_tiles_cover_an_output_once_or_the_program_says_what_they_do(start: str, loop: str, found: set[str]) -> None:
    assert errors(store(tile(start), loop=loop) + PROGRAM) == found


@pytest.mark.parametrize(("length", "found"), [(1, set()), (2, {"rngd/store-broadcast"})])
def test_a_tile_of_one_position_is_no_axis_that_a_store_replicates(length: int, found: set[str]) -> None:
    text = store(f'{{ tile = "A", length = {length}, start = 3 }}', loop="", source="C").replace(', "A = 4"', "")
    assert errors(text.replace("S, A = 4", "S" if length == 1 else "S, A = 2")) == found


def test_what_is_left_on_purpose_is_no_finding() -> None:
    (verdict,) = api.check(HEAD + store(tile("8", ", partial = true"), loop="") + PROGRAM, "p")
    assert verdict.status is Status.PROVED
    assert any("on purpose" in said for said in verdict.assumptions)


@pytest.mark.parametrize(("partial", "status"), [(", partial = true", Status.PROVED), ("", Status.UNKNOWN)])
def test_tiles_that_are_too_many_to_unite_leave_on_purpose_what_they_leave(partial: str, status: Status) -> None:
    text = HEAD.replace("A = 16", "A = 12582912") + store(tile('"8 * t"', partial), loop="loop = { t = 1572864 }")
    assert (
        api.check(text.replace('slice = "S"', 'slice = "1 # 64"').replace("S, A", "A") + PROGRAM, "p")[0].status
        is status
    )


@pytest.mark.parametrize(("base", "status"), [(0, Status.PROVED), (1048576, Status.REFUTED)])
def test_what_a_step_writes_back_where_it_read_it_is_not_said_to_be_lost(base: int, status: Status) -> None:
    first = store(tile("8", ", partial = true"), loop="")
    held = f'{{ tier = "hbm", base = {base}, element = "S, A, C", view = {tile("8")} }}'
    back = first.replace('{ tier = "dm", base = 0, slice = "S", element = "A = 4, C" }', held)
    steps = '[program.p]\norder = "written"\nstep = [{ transfer = "store" }, { transfer = "back" }]\n'
    text = HEAD + first + back.replace("transfer.store", "transfer.back") + steps
    assert api.check(text, "p", options=Options(cross_check=1 << 20))[0].status is status


def test_the_finding_gives_the_first_element_and_a_start_that_was_checked() -> None:
    (verdict,) = api.check(HEAD + store(tile('"t"')) + PROGRAM, "p")
    once, cover = sorted(verdict.errors, key=lambda f: f.rule, reverse=True)
    assert (once.rule, cover.rule) == ("core/tiles-once", "core/tiles-cover")
    assert once.witness["position"] == {"A": 1}
    assert (once.witness["first"], once.witness["second"]) == ({"step": "store", "t": 0}, {"step": "store", "t": 1})
    assert cover.witness["position"] == {"A": 7}
    assert "`4 * t`" in cover.hint
    assert errors(store(tile('"4 * t"')) + PROGRAM) == set()


def test_two_steps_share_an_output() -> None:
    low = store(tile('"4 * t"'), loop="loop = { t = 2 }")
    high = store(tile('"4 * t + 8"'), loop="loop = { t = 2 }").replace("store", "high")
    late = store(tile('"4 * t + 4"'), loop="loop = { t = 2 }").replace("store", "high")
    both = '[program.p]\nstep = [{ transfer = "store" }, { transfer = "high" }]\n'
    assert errors(low + high + both) == set()
    assert errors(low + late + both) == {"core/tiles-once", "core/tiles-cover"}


def test_tiles_of_other_digits_of_one_axis_are_compared() -> None:
    fine = store(tile('"4 * t"'), loop="loop = { t = 2 }")
    coarse = (
        '[transfer.rest]\ndtype = "i8"\nsource = { tier = "dm", slice = "S", element = "A = 8, C" }\n'
        'dest = { tier = "hbm", element = "S, A, C", view = { tile = "A / 8", start = START } }\n'
        'stream = { time = "S, A = 8", packet = "C" }\n'
    )
    both = '[program.p]\nstep = [{ transfer = "store" }, { transfer = "rest" }]\n'
    assert errors(fine + coarse.replace("START", "1") + both) == set()
    assert errors(fine + coarse.replace("START", "0") + both) == {"core/tiles-once", "core/tiles-cover"}


def test_what_was_read_may_be_overwritten_by_a_later_tile() -> None:
    again = store(tile('"4 * t"')).replace("store", "again")
    read = (
        '[transfer.read]\ndtype = "i8"\nsource = { tier = "hbm", element = "S, A, C" }\n'
        'dest = { tier = "dm", base = 4096, slice = "S", element = "A, C" }\nstream = { time = "S, A", packet = "C" }\n'
    )
    steps = '[program.p]\norder = "written"\nstep = [{ transfer = "store" }, %s{ transfer = "again" }]\n'
    text = store(tile('"4 * t"')) + again + read
    assert errors(text + steps % '{ transfer = "read" }, ') == set()
    assert errors(text + steps % "") == {"core/tiles-once"}


@pytest.mark.parametrize(
    ("start", "status"), [("4 * t", Status.PROVED), ("12 - 4 * t", Status.REFUTED), ("0", Status.UNKNOWN)]
)
def test_a_step_of_the_same_body_reads_between_two_writes_only_what_it_reads_in_that_iteration(
    start: str, status: Status
) -> None:
    """One that reads the same rows in other iterations stands between none of these writes."""
    again = store(tile('"4 * t"'), base=8192).replace("store", "again")
    read = (
        '[transfer.read]\ndtype = "i8"\nloop = { t = 4 }\n'
        'source = { tier = "hbm", element = "S, A, C", view = ' + tile(f'"{start}"') + " }\n"
        'dest = { tier = "dm", base = 4096, slice = "S", element = "A = 4, C" }\n'
        'stream = { time = "S, A = 4", packet = "C" }\n'
    )
    names = ", ".join(f'{{ transfer = "{name}" }}' for name in ("store", "read", "again"))
    steps = f'[program.p]\norder = "written"\nstep = [{names}]\n'
    assert api.check(HEAD + store(tile('"4 * t"')) + again + read + steps, "p")[-1].status is status


def rows(name: str, length: int, start: str, loop: str = "loop = { t = 3 }") -> str:
    """A read or a write of some rows of one tensor."""
    view = tile(start, ", partial = true").replace("4", str(length), 1)
    far = f'{{ tier = "hbm", element = "S, A, C", view = {view} }}'
    near = f'{{ tier = "dm", base = {len(name) * 4096}, slice = "S", element = "A = {length}, C" }}'
    source, dest = (far, near) if name == "read" else (near, far)
    stream = f'stream = {{ time = "S, A = {length}", packet = "C" }}'
    return f'[transfer.{name}]\ndtype = "i8"\n{loop}\nsource = {source}\ndest = {dest}\n{stream}\n'


@pytest.mark.parametrize(
    ("read", "write", "alone", "last", "status"),
    [
        ('"4 * t"', '"4 * t + 2"', (2, "4"), True, Status.UNKNOWN),  # written at t = 0, read at t = 1
        ('"4 * t"', '"4 * t + 2"', (2, "10"), True, Status.REFUTED),  # read at t = 2, then written
        ('"8 - 4 * t"', '"4 * t"', (8, "0"), False, Status.REFUTED),  # at t = 0 nothing has read the rows 0..3
        ('"4 * t"', '"4 * t"', (8, "0"), False, Status.PROVED),
    ],
)
def test_what_a_loop_reads_in_another_iteration_stands_between_two_writes_where_it_does(
    read: str, write: str, alone: tuple[int, str], last: bool, status: Status
) -> None:
    text = rows("read", 4, read) + rows("write", 4, write) + rows("written", *alone, loop="")
    names = ("read", "write", "written") if last else ("written", "read", "write")
    steps = ", ".join(f'{{ transfer = "{name}" }}' for name in names)
    made = api.check(HEAD + text + f'[program.p]\norder = "written"\nstep = [{steps}]\n', "p")[-1]
    assert made.status is status
    assert {f.rule for f in made.errors} == ({"core/tiles-once"} if status is Status.REFUTED else set())


def test_a_million_iterations_are_judged_at_once() -> None:
    axes = HEAD.replace("A = 16", "A = 4194304")
    for start, found in (("4 * t", set()), ("2 * t", {"core/tiles-once", "core/tiles-cover"})):
        text = (
            axes
            + store(tile(f'"{start}"'), loop="loop = { t = 1048576 }")
            .replace('"S, A, C"', '"A, C"')
            .replace('slice = "S", ', "")
            .replace('"S, A = 4"', '"A = 4"')
            + PROGRAM
        )
        (verdict,) = api.check(text, "p")
        assert {f.rule for f in verdict.errors} == found
        assert verdict.seconds < 30


# ---------------------------------------------------------------- what a view may show


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ('{ tile = "B", start = 1 }', "`B` is no digit of `S, A, C`"),
        ('{ tile = "A", length = 17 }', "a tile of 17 of `A`, which has 16"),
        ('{ tile = "S, A" }', "is no digit"),
        ("{ pad = 3 }", "`S` has 64 positions already"),
        ("{ unpad = true }", "has no Top padding to take off"),
        ('{ tile = "A", place = "chip", length = 1 }', "`A` is no digit of `1`"),
    ],
)
def test_a_view_that_shows_nothing_is_a_finding_at_its_place(view: str, said: str) -> None:
    (verdict,) = api.check(HEAD + store(view, loop=""), "store")
    assert {f.rule for f in verdict.errors} >= {"core/well-formed"}
    assert any(said in f.message and f.span is not None for f in verdict.errors)


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ("{ length = 4 }", "a view has neither `tile`, `pad` nor `unpad`"),
        ('{ tile = "A", pad = 8 }', "a view has `tile` and `pad`"),
        ("{ pad = 128, start = 3 }", "`start` belongs to a tile"),
        (tile('"4 * t * t"'), "two loop indices cannot be multiplied"),
        (tile('"4 * x"'), "no loop `x`"),
        (tile('"t / 3"'), "4 counts of `t` cannot be cut at 3"),
        (tile('"4 * (t"'), "this parenthesis is not closed"),
        (tile('"4 t"'), "behind the start"),
        (tile('""'), "the number or loop index is missing"),
        (tile('"(3 * t + 1) / 2"'), "does not come out even"),
        (tile('"t ^ 2"'), "two loop indices cannot be multiplied"),
        ('{ tile = "A", lenght = 4 }', "unknown key `lenght`"),
        ('{ tile = "A", length = 0 }', "must be at least 1"),
    ],
)
def test_a_view_that_cannot_be_read_is_an_error_at_its_place(view: str, said: str) -> None:
    with pytest.raises(InputErrors) as found:
        read_plan_text(HEAD + store(view))
    assert any(said in error.message and error.span is not None for error in found.value.errors), found.value


def test_holes_hold_anything_when_read_and_nothing_may_touch_them_when_written() -> None:
    whole = store(tile("4"), loop="").replace('"S, A = 4"', '"S, A"').replace('"A = 4, C"', '"A, C"')
    found = errors(whole, "store")  # the rows beside the tile are written too
    assert {"core/padding", "core/in-bounds"} & found
    read = (
        '[transfer.load]\ndtype = "i8"\nsource = { tier = "hbm", element = "S, A, C", view = %s }\n'
        'dest = { tier = "dm", slice = "S", element = "A = 4 # 16, C" }\n'
        'stream = { time = "S, A = 4 # 16", packet = "C" }\n'
    )
    assert errors(read % tile("0"), "load") == set()
    assert errors(read % tile("4"), "load") == {"core/in-bounds"}  # 4 + 16 rows end behind the tensor
    assert errors((read % tile("12")).replace("S, A, C", "A, S, C"), "load") == {"core/in-bounds"}


def test_a_hole_that_the_solver_cannot_place_is_no_refutation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmaverify.prove.move.views.shared", lambda *_: "unknown")
    monkeypatch.setattr("dmaverify.prove.move.views.found_meeting", lambda *_: None)
    text = (
        '[transfer.load]\ndtype = "i8"\nsource = { tier = "hbm", element = "S, A, C", view = %s }\n'
        'dest = { tier = "dm", slice = "S", element = "A = 4, C" }\nstream = { time = "S, A = 4", packet = "C" }\n'
    )
    (verdict,) = api.check(HEAD + text % tile("4"), "load", options=Options(repair=False))
    assert (verdict.status, verdict.errors) == (Status.UNKNOWN, ())
    assert any("a hole of the source's tile" in said for said in verdict.assumptions)


def test_padding_inside_a_tile_is_no_tile_of_elements() -> None:
    text = (
        '[transfer.store]\ndtype = "i8"\nloop = { t = 4 }\n'
        'source = { tier = "dm", slice = "S", element = "N # 16 / 4 = 1, N # 16 % 4" }\n'
        'dest = { tier = "hbm", element = "S, N # 16 / 4, N # 16 % 4", view = { tile = "N # 16 / 4", start = "t" } }\n'
        'stream = { time = "S, N # 16 / 4 = 1", packet = "N # 16 % 4" }\n'
    )
    head = HEAD.replace("A = 16", "A = 16\nN = 15")
    (verdict,) = api.check(head + text, "store")
    assert {f.rule for f in verdict.errors} == {"core/in-bounds"}
    assert "3 of 4 positions hold elements" in verdict.errors[0].message


@pytest.mark.parametrize("beside", ["", "[D, B] / 2, "])
@pytest.mark.parametrize(("length", "found"), [(4, {"core/in-bounds"}), (2, set())])
def test_a_tile_of_a_padded_axis_is_held_to_its_elements_whatever_stands_beside(
    beside: str, length: int, found: set[str]
) -> None:
    row = 768 if beside else 256
    view = f'view = {{ tile = "A # 16", length = {length}, start = "{length} * t" }}'
    printed = f"[{length}:{row}, {row // 256}:256, 256:1]:256 HBM/D@"
    text = (
        'schema = 1\ntarget = "rngd"\n[axes]\nA = 10\nD = 2\nB = 3\nC = 256\n[transfer.t]\ndtype = "i8"\n'
        f"loop = {{ t = {4 if length == 4 else 5} }}\n"
        f'source = {{ tier = "hbm", element = "A # 16, {beside}C", {view} }}\n'
        f'dest = {{ tier = "hbm", base = 1048576, element = "A # 16, {beside}C", {view} }}\n'
        f'read = "{printed}0"\nwrite = "{printed}1048576"\n'
    )
    (verdict,) = api.check(text, "t", options=Options(repair=False))
    assert {f.rule for f in verdict.errors} == found


@pytest.mark.parametrize(("length", "refuted"), [(2, False), (1, True)])
def test_a_tile_of_all_positions_cuts_nothing_off_whatever_padding_they_hold(length: int, refuted: bool) -> None:
    text = (
        'schema = 1\ntarget = "rngd"\n[axes]\nB = 4\nC = 64\n[transfer.t]\ndtype = "i8"\n'
        'source = { tier = "hbm", element = "B / 1, B % 2, C", view = '
        f'{{ tile = "B % 2", length = {length}, start = {2 - length} }} }}\n'
        'dest = { tier = "hbm", base = 4096, element = "B, C" }\n'
    )  # fmt: skip
    (verdict,) = api.check(text, "t", options=Options(repair=False))
    assert ("core/in-bounds" in {f.rule for f in verdict.errors}) == refuted


def test_a_tile_of_an_axis_that_another_term_without_digits_holds_is_refused() -> None:
    text = (
        'schema = 1\ntarget = "rngd"\n[axes]\nA = 4\nB = 3\nC = 256\n[transfer.t]\ndtype = "i8"\n'
        'source = { tier = "hbm", element = "A # 8, [A, B] / 2, C", '
        'view = { tile = "A # 8", length = 2, start = 0 } }\n'
        'dest = { tier = "hbm", base = 1048576, element = "A # 8, [A, B] / 2, C" }\n'
    )
    (verdict,) = api.check(text, "t", options=Options(repair=False))
    assert any("is not known" in f.message for f in verdict.errors if f.rule == "core/well-formed")


def test_pad_declares_more_of_the_outermost_factor_and_unpad_less() -> None:
    load = (
        '[transfer.load]\ndtype = "i8"\nsource = {{ tier = "hbm", element = "{0}", view = {1} }}\n'
        'dest = {{ tier = "dm", slice = "S", element = "{2}" }}\nstream = {{ time = "{3}", packet = "C" }}\n'
    )
    plain = load.format("A, C", "{ pad = 20 }", "A # 20, C", "A # 20").replace('slice = "S", ', "")
    assert errors(plain, "load") == set()
    bare = plain.replace(", view = { pad = 20 }", "")
    assert errors(bare, "load") == {"core/in-bounds"}
    assert (
        errors(load.format("A # 20, C", "{ unpad = true }", "A, C", "A").replace('slice = "S", ', ""), "load") == set()
    )


def test_both_tiles_must_look_at_the_same_coordinates() -> None:
    move = (
        '[transfer.move]\ndtype = "i8"\nloop = { t = 4 }\nsource = { tier = "hbm", element = "A, C", view = SOURCE }\n'
        'dest = { tier = "hbm", base = 4096, element = "C, A", view = DEST }\n'
        'stream = { time = "A = 4, C", packet = "1" }\n'
    )

    def said(source: str, dest: str) -> set[str]:
        return errors(move.replace("SOURCE", tile(source)).replace("DEST", tile(dest)), "move")

    assert said('"4 * t"', '"4 * t"') == set()
    assert said('"t"', '"4 * t"') == {"core/same-element"}
    assert said('"4 * t"', '"12 - 4 * t"') == {"core/same-element"}


def test_alignment_is_judged_in_every_iteration() -> None:
    load = (
        '[transfer.load]\ndtype = "i8"\nloop = { t = 4 }\nsource = { tier = "hbm", element = "A, C", view = VIEW }\n'
        'dest = { tier = "dm", element = "C / 8 = 1, C % 8" }\nstream = { time = "1", packet = "C % 8" }\n'
    )
    chunk = '[{ tile = "A", start = 1 }, { tile = "C / 8", start = "t" }]'
    odd = '[{ tile = "A", start = 1 }, { tile = "C", length = 8, start = "t" }]'
    assert errors(load.replace("VIEW", chunk), "load") == set()
    text = load.replace("C / 8 = 1, C % 8", "C = 8").replace("C % 8", "C = 8").replace("VIEW", odd)
    assert errors(text, "load") == {"rngd/hbm-dm-align"}  # the first iteration alone is aligned
    assert errors(text.replace("loop = { t = 4 }\n", "").replace('"t"', "0"), "load") == set()


# ---------------------------------------------------------------- against running every iteration


BOUNDED = """schema = 1
target = "idma"
[axes]
A = {iterations}
C = 64
[transfer.t]
dtype = "i8"
options = {{ legalizer = {legalizer}, version = "spec" }}
loop = {{ t = {iterations} }}
source = {{ tier = "mem", base = {base}, element = "A, C"{view} }}
dest = {{ tier = "mem", base = 65536, element = "A, C"{view} }}
stream = {{ time = "A = 1", packet = "C" }}
"""
TILED = ', view = { tile = "A", length = 1, start = "START" }'
SPACE = 1 << 32


@pytest.mark.parametrize(
    ("base", "start", "found"),
    [
        (SPACE - 8 * 64, "t", set()),
        (SPACE - 8 * 64 + 1, "t", {"idma/address-wrap"}),
        (SPACE - 4 * 64, "t", {"idma/address-wrap"}),
        (SPACE - 8 * 64, "7 - t", set()),
        (SPACE - 7 * 64, "7 - t", {"idma/address-wrap"}),
    ],
)
def test_bounds_of_addresses_are_asked_of_the_last_iteration_too(base: int, start: str, found: set[str]) -> None:
    text = BOUNDED.format(base=base, iterations=8, legalizer=1, view=TILED.replace("START", start))
    (alone,) = api.check(text, "t")
    assert {f.rule for f in alone.errors} == found
    (stepped,) = api.check(text + '[program.p]\nstep = [{ transfer = "t" }]\n', "p")
    assert {f.rule for f in stepped.errors} == ({"core/steps"} if found else set())


@pytest.mark.parametrize(
    ("base", "iterations", "legalizer", "status", "found"),
    [
        (4096, 64, 0, Status.PROVED, set()),
        (3040, 32, 0, Status.REFUTED, {"idma/page-4k"}),
        (3040, 32, 1, Status.PROVED, set()),
        (4096, 65, 0, Status.UNKNOWN, set()),
        (4096, 65, 1, Status.PROVED, set()),
    ],
)
def test_what_is_no_multiple_and_no_bound_is_asked_of_every_iteration_or_open(
    base: int, iterations: int, legalizer: int, status: Status, found: set[str]
) -> None:
    text = BOUNDED.format(base=base, iterations=iterations, legalizer=legalizer, view=TILED.replace("START", "t"))
    (verdict,) = api.check(text, "t", options=Options(repair=False))
    assert verdict.status is status
    assert {f.rule for f in verdict.errors} == found
    if status is Status.UNKNOWN:
        assert any("asked at 3 of 65 iterations" in one.by for one in verdict.obligations if one.status == "unknown")


@pytest.mark.parametrize("count", counted(10, 40))
def test_running_every_iteration_moves_what_the_tiles_say(count: int) -> None:
    draw = random.Random(3)
    for _ in range(count):
        order = draw.sample(["A", "B", "C"], 3)
        other = draw.sample(["A", "B", "C"], 3)
        axis = draw.choice("AB")
        size = {"A": 16, "B": 4}[axis]
        length = draw.choice([n for n in (1, 2, 4) if size % n == 0])
        loops = size // length
        small = [f"{axis} = {length}" if name == axis else name for name in order]
        text = (
            f'[transfer.m]\ndtype = "i8"\nloop = {{ t = {loops} }}\n'
            f'source = {{ tier = "hbm", element = "{", ".join(order)}", view = {{ tile = "{axis}", length = {length}, '
            f'start = "{length} * t" }} }}\ndest = {{ tier = "hbm", base = 4096, element = "{", ".join(other)}", '
            f'view = {{ tile = "{axis}", length = {length}, start = "{length} * t" }} }}\n'
            f'stream = {{ time = "{", ".join(small)}", packet = "1" }}\n[program.p]\nstep = [{{ transfer = "m" }}]\n'
        )
        plan = read_plan_text(HEAD + text)
        verdicts = api.check(plan)
        assert not any(v.errors for v in verdicts), text
        sizes = {"A": 16, "B": 4, "C": 32}
        memory = np.full(8192, -1)
        memory[:2048] = np.arange(2048)
        commands = api.program_of(plan, "m")
        views = plan.transfers[0].transfer.views
        for at in every(views.turns):
            for command in moved_commands(commands, views, at, plan.targets["rngd"]):
                for counters in product(*(range(x.count) for x in command.loops), range(command.burst)):
                    moved = [(x.read * c, x.write * c) for x, c in zip(command.loops, counters, strict=False)]
                    read = command.read.base + sum(r for r, _ in moved) + counters[-1]
                    write = command.write.base + sum(w for _, w in moved) + counters[-1]
                    memory[write] = memory[read]
        source = memory[:2048].reshape([sizes[n] for n in order])
        dest = memory[4096 : 4096 + 2048].reshape([sizes[n] for n in other])
        assert (dest.transpose([other.index(n) for n in order]) == source).all()


@pytest.mark.parametrize("count", counted(25, 70))
def test_tiles_of_random_starts_are_judged_as_enumeration_says(count: int) -> None:
    draw = random.Random(8)
    seen: set[frozenset[str]] = set()
    for _ in range(count):
        u, t = draw.choice([1, 2, 3]), draw.choice([1, 2, 4])
        length = draw.choice([1, 2, 4])
        k, m, c = draw.choice([0, 1, 2, 4, 8, -2]), draw.choice([0, 1, 2, 4, 8]), draw.choice([0, 0, 2, 4])
        text = (
            f'[transfer.m]\ndtype = "i8"\nloop = {{ u = {u}, t = {t} }}\n'
            f'source = {{ tier = "hbm", element = "A = {length}, C" }}\n'
            f'dest = {{ tier = "hbm", base = 4096, element = "A, C", view = {{ tile = "A", length = {length}, '
            f'start = "{c} + {k} * u + {m} * t" }} }}\nstream = {{ time = "A = {length}", packet = "C" }}\n'
            '[program.p]\nstep = [{ transfer = "m" }]\n'
        ).replace("+ -", "- ")
        starts = [c + k * i + m * j for i in range(u) for j in range(t)]
        written = [start + i for start in starts for i in range(length)]
        wanted = set()
        if min(written) < 0 or max(written) > 15:
            wanted |= {"core/in-bounds", "core/steps"}
        if len(set(written)) < len(written):
            wanted.add("core/tiles-once")
        if not set(range(16)) <= set(written):
            wanted.add("core/tiles-cover")
        found = errors(text)
        assert found == wanted, (text, found, wanted)
        seen.add(frozenset(wanted))
    assert len(seen) >= 5


# ---------------------------------------------------------------- hazards of loops, against unrolled programs


@pytest.mark.parametrize("count", counted(6, 14))
def test_a_loop_is_judged_as_the_program_unrolled(count: int) -> None:
    draw = random.Random(21)
    found = [pair(draw) for _ in range(count)]
    assert [one.looped for one in found if not one.agrees or one.open] == []
    assert {bool(one.hazards) for one in found} == {True, False}
    assert {rule for one in found for rule in one.hazards} >= {"core/hazard-raw", "core/hazard-war"}
    assert any("core/tiles-once" in {f.rule for f in one.said[0].errors} for one in found)


def test_a_step_between_the_steps_of_a_loop_is_refused() -> None:
    move = (
        '[transfer.{0}]\ndtype = "i8"\nsource = {{ tier = "hbm", element = "C" }}\n'
        'dest = {{ tier = "dm", base = {1}, element = "C" }}\n'
    )
    text = "".join(move.format(name, 128 * number) for number, name in enumerate("abc"))
    steps = (
        '[program.p]\nstep = [{{ transfer = "a", loop = {{ t = 4 }} }}, '
        '{{ transfer = "b", loop = {{ t = 4 }}, after = ["{0}"], '
        'context = "y" }}, {{ transfer = "c", after = ["a"], context = "z" }}]\n'
    )
    (verdict,) = api.check(HEAD + text + steps.format("c"), "p")
    assert [f.rule for f in verdict.errors] == ["core/well-formed"]
    assert "`c` must run between the steps of a loop that it is not in: `b` waits for it" in verdict.errors[0].message
    assert errors(text + steps.format("a"), "p") == set()
    assert errors((text + steps.format("c")).replace("t = 4", "t = 1"), "p") == set()


@pytest.mark.parametrize(("count", "found"), [(1, set()), (2, {"rngd/bank-starvation"})])
def test_dma_behind_an_access_runs_beside_its_next_iteration_where_there_is_one(count: int, found: set[str]) -> None:
    text = (
        "T = 63\nW = 8\n"
        f'[access.main]\nengine = "fetch"\ndtype = "i8"\nloop = {{ t = {count} }}\n'
        'memory = { tier = "dm", base = 32768, slice = "64", element = "T, W # 128" }\n'
        'stream = { time = "T", packet = "W" }\n'
        f'[transfer.in]\ndtype = "i8"\nloop = {{ t = {count} }}\nsource = {{ tier = "hbm", element = "64, C" }}\n'
        'dest = { tier = "dm", slice = "64", element = "C" }\nstream = { time = "64", packet = "C" }\n'
        '[program.p]\nstep = [{ access = "main" }, { transfer = "in", after = ["main"] }]\n'
    )
    assert errors(text, "p") == found


def test_a_step_and_what_it_does_have_one_loop() -> None:
    text = store(tile('"4 * t"')) + '[program.p]\nstep = [{ transfer = "store", loop = { t = 3 } }]\n'
    with pytest.raises(InputErrors, match="has loop"):
        read_plan_text(HEAD + text)


def test_a_loop_with_another_name_or_shape_is_told_at_its_place() -> None:
    with pytest.raises(InputErrors, match="cannot be the name of a loop"):
        read_plan_text(HEAD + store(tile("4"), loop="loop = { T = 4 }"))
    with pytest.raises(InputErrors, match="must be at least 1"):
        read_plan_text(HEAD + store(tile("4"), loop="loop = { t = 0 }"))


def test_regions_that_take_turns_within_an_iteration_must_do_so_around_the_loop() -> None:
    move = (
        '[transfer.{0}]\ndtype = "i8"\nloop = {{ t = 4 }}\n'
        'source = {{ tier = "{1}", base = {2}, element = "A = 4, C" }}\n'
        'dest = {{ tier = "{3}", base = {4}, element = "A = 4, C" }}\nstream = {{ time = "A = 4", packet = "C" }}\n'
    )
    text = (
        move.format("a", "hbm", 0, "dm", 0) + move.format("b", "dm", 0, "hbm", 4096)
        + move.format("c", "hbm", 8192, "dm", 0) + move.format("d", "dm", 0, "hbm", 12288)
        + '[region.one]\ntier = "dm"\nsize = 128\nlifetime = ["a", "b"]\n'
        + '[region.two]\ntier = "dm"\nsize = 128\nlifetime = ["c", "d"]\n'
    )  # fmt: skip
    steps = (
        '[program.p]\nregions = ["one", "two"]\n'
        'step = [{ transfer = "a", context = "x" }, { transfer = "b", context = "x" }, '
        '{ transfer = "c", context = "Y", after = ["b"] }, { transfer = "d", context = "Y" }]\n'
    )
    assert errors(text + steps.replace("Y", "x"), "p") == set()
    assert "core/regions" in errors(text + steps.replace("Y", "y"), "p")
    for loop, found in (("", set()), ("loop = { t = 1 }\n", set()), ("loop = { t = 2 }\n", {"core/regions"})):
        said = errors((text + steps.replace("Y", "y")).replace("loop = { t = 4 }\n", loop), "p")
        assert said & {"core/regions", "core/lifetime"} >= found
        assert bool(said) == bool(found)


@pytest.mark.parametrize("base", [0, 64, 4096])
def test_a_view_that_starts_before_its_tensor_is_refuted_wherever_that_lies(base: int) -> None:
    side = 'element = "N, C", view = { tile = "N", length = 1, start = "t - 1" }'
    (verdict,) = api.check(f"""
schema = 1
target = "rngd"
[axes]
N = 2
C = 64
[transfer.x]
dtype = "i8"
loop = {{ t = 2 }}
source = {{ tier = "hbm", base = {base}, {side} }}
dest = {{ tier = "hbm", base = 1073741824, {side} }}
stream = {{ time = "N = 1", packet = "C" }}
""")
    assert {f.rule for f in verdict.errors} == {"core/in-bounds"}
    assert "covers -1..-1 at t = 0" in verdict.errors[0].message


MOVING = """
[access.commits]
engine = "commit"
context = "sub"
dtype = "i8"
loop = {{ t = 8 }}
memory.tier = "dm"
memory.element = "D, C"
memory.view = {{ tile = "D", length = 1, start = "{0}", partial = true }}
stream = {{ packet = "C" }}
[transfer.loads]
dtype = "i8"
loop = {{ t = 8 }}
source = {{ tier = "hbm", element = "D, C", view = {{ tile = "D", length = 1, start = "t" }} }}
dest = {{ tier = "dm", base = {1}, element = "D, C", view = {{ tile = "D", length = 1, start = "t", partial = true }} }}
stream = {{ packet = "C" }}
[program.p]
holds = ["dm"]
step = [{{ access = "commits" }}, {{ transfer = "loads" }}]
"""


@pytest.mark.parametrize(
    ("start", "base", "met"), [("t", 8, True), ("t", 64, False), ("0", 8, False), ("0", 0, True), ("7 - t", 0, True)]
)
def test_what_an_access_touches_moves_with_its_own_view(start: str, base: int, met: bool) -> None:
    sizes = HEAD.replace("C = 32", "C = 8\nD = 8")
    for order in ("commits, loads", "loads, commits"):
        text = sizes + MOVING.format(start, base)
        if order.startswith("loads"):
            first, second = '{ access = "commits" }', '{ transfer = "loads" }'
            text = text.replace(f"{first}, {second}", f"{second}, {first}")
        (verdict,) = api.check(text, "p", options=Options(repair=False, cross_check=0))
        hazards = {f.rule for f in verdict.errors if f.rule.startswith("core/hazard")}
        assert hazards == ({"core/hazard-waw"} if met else set()), (start, base, order)


@pytest.mark.parametrize(
    ("start", "warned"),
    [("0", False), ("1", True), ("2", False), ('"2 * t"', False), ('"t"', True)],
)
def test_a_commit_into_a_view_begins_where_the_view_does(start: str, warned: bool) -> None:
    """Rows of 4 bytes: every other one begins on 8 bytes, in every iteration."""
    text = (
        '[access.commit]\nengine = "commit"\ndtype = "i8"\nloop = { t = 3 }\n'
        'memory = { tier = "dm", slice = "S", element = "A, C = 4", '
        f'view = {{ tile = "A", length = 2, start = {start} }} }}\n'
        'stream = { time = "1", packet = "A = 2, C = 4" }\n'
    )
    (verdict,) = api.check(HEAD + text, options=Options(repair=False))
    assert verdict.status is Status.PROVED
    assert [f.rule == "rngd/commit-base" for f in verdict.findings] == [True] * warned


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        (("A / 3", 2, 0), ("A / 2", 3, 3), {}),
        (("A / 3", 2, 0), ("A / 2", 2, 4), {"core/tiles-cover": "A = 6 of hbm"}),
        (("A / 3", 2, 0), ("A / 2", 4, 2), {"core/tiles-once": "A = 4 of hbm"}),
        (("A % 2", 1, 0), ("A % 3", 2, 1), {"core/tiles-cover": "A = 3 of hbm", "core/tiles-once": "A = 2 of hbm"}),
        (("A % 4", 2, 0), ("A % 6", 3, 3), {"core/tiles-cover": "A = 2 of hbm", "core/tiles-once": "A = 4 of hbm"}),
    ],
)
def test_tiles_that_cut_an_axis_in_ways_that_do_not_divide_are_compared_by_its_positions(
    one: tuple[str, int, int], other: tuple[str, int, int], wanted: dict[str, str]
) -> None:
    def part(name: str, digit: str, length: int, start: int) -> str:
        _, sign, by = digit.split()
        shown = f"A / {by} = {length}, A % {by}" if sign == "/" else f"A / {by}, A % {by} = {length}"
        view = f'view = {{ tile = "{digit}", length = {length}, start = {start} }}'
        return (
            f'[transfer.{name}]\ndtype = "i8"\nsource = {{ tier = "dm", element = "{shown}, C" }}\n'
            f'dest = {{ tier = "hbm", element = "A, C", {view} }}\nstream = {{ time = "{shown}", packet = "C" }}\n'
        )

    text = 'schema = 1\ntarget = "rngd"\n[axes]\nA = 12\nC = 8\n' + part("one", *one) + part("other", *other)
    plan = f'{text}[program.p]\nstep = [{{ transfer = "one" }}, {{ transfer = "other" }}]\n'
    (found,) = (verdict for verdict in api.check(plan) if verdict.name == "p")
    assert found.status is (Status.REFUTED if wanted else Status.PROVED)
    assert {one.rule for one in found.errors} == set(wanted)
    for error in found.errors:
        assert wanted[error.rule] in error.message


@pytest.mark.parametrize(
    ("first", "base", "start", "wanted"),
    [
        ("A, C", 0, 3, set()),
        ("A, C", 0, 2, {"core/tiles-once", "core/tiles-cover"}),
        ("A, C", 1024, 3, {"core/tiles-cover"}),
        ("A # 13, C", 0, 3, set()),
        ("A # 13, C", 0, 2, {"core/tiles-once", "core/tiles-cover"}),
        ("A #{!} 13, C", 0, 3, None),  # not known to be one tensor: what each leaves may be the other's
        ("A, C # 16", 0, 3, {"core/tiles-cover"}),
    ],
)
def test_declarations_that_put_the_same_elements_on_the_same_places_are_one_tensor(
    first: str, base: int, start: int, wanted: set[str] | None
) -> None:
    tiles = (
        ("one", first, "A = 6", ("A", 6, 0)), ("two", "A / 2, A % 2, C", "A / 2 = 3, A % 2", ("A / 2", 3, start)),
    )  # fmt: skip
    moves = [
        f'[transfer.{name}]\ndtype = "i8"\nsource = {{ tier = "dm", element = "{part}, C" }}\n'
        f'dest = {{ tier = "hbm", base = {0 if name == "one" else base}, element = "{whole}", '
        f'view = {{ tile = "{digit}", length = {n}, start = {at} }} }}\n'
        f'stream = {{ time = "{part}", packet = "C" }}\n'
        for name, whole, part, (digit, n, at) in tiles
    ]
    text = 'schema = 1\ntarget = "rngd"\n[axes]\nA = 12\nC = 8\n' + "".join(moves)
    plan = f'{text}[program.p]\nstep = [{{ transfer = "one" }}, {{ transfer = "two" }}]\n'
    (found,) = (verdict for verdict in api.check(plan) if verdict.name == "p")
    if wanted is None:
        assert found.status is Status.UNKNOWN
        return
    assert {one.rule for one in found.errors} == wanted
    assert found.status is (Status.REFUTED if wanted else Status.PROVED)
