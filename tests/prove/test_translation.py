"""Flat copies of padded rows in pieces: proved where the pieces are the region, nowhere else; beside enumeration."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from dmaverify import api
from dmaverify.prove.move import translation
from dmaverify.prove.move.check import Options
from dmaverify.prove.move.core import BY_DISTANCE
from dmaverify.verdict import Status

ROWS, LIVE, PITCH = 6, 5, 8
HEAD = f'schema = 1\ntarget = "rngd"\n[axes]\nA = {ROWS}\nB = {LIVE}\n'
OPTIONS = Options(repair=False, cross_check=0)


def plan(commands: list[tuple[int, int, int]], rows: int = ROWS, live: int = LIVE, pitch: int = PITCH) -> str:
    """Commands of (first byte, bytes, bytes that the destination lies too far)."""
    head = HEAD.replace(f"A = {ROWS}", f"A = {rows}").replace(f"B = {LIVE}", f"B = {live}")
    text = head + (
        '[transfer.t]\ndtype = "i8"\n'
        f'source = {{ tier = "hbm", base = 0, element = "A, B # {pitch}" }}\n'
        f'dest = {{ tier = "hbm", base = 1073741824, element = "A, B # {pitch}" }}\n'
    )
    for first, size, off in commands:
        text += (
            f'[[transfer.t.command]]\nread = "[{size}:1]:1 HBM/D@{first}"\n'
            f'write = "[{size}:1]:1 HBM/D@{1073741824 + first + off}"\n'
        )
    return text


def status(text: str) -> Status:
    (verdict,) = api.check(text, "t", options=OPTIONS)
    return verdict.status


BIG = 32768 * 1536


@pytest.mark.parametrize(
    ("cuts", "wanted"),
    [
        ([(0, BIG // 2, 0), (BIG // 2, BIG // 2, 0)], Status.PROVED),
        ([(0, 12345, 0), (12345, 777, 0), (13122, BIG - 13122, 0)], Status.PROVED),
        ([(BIG - 4096, 4096, 0), (0, BIG - 4096, 0)], Status.PROVED),
        ([(0, BIG - 36, 0)], Status.PROVED),  # the padding behind the last row may stay
        ([(0, BIG - 37, 0)], Status.REFUTED),
        ([(0, 4096 * 7, 0), (4096 * 8, BIG - 4096 * 8, 0)], Status.REFUTED),
        ([(0, BIG // 2, 0), (BIG // 2 + 1, BIG // 2 - 1, 0)], Status.REFUTED),
        ([(0, BIG // 2 + 1, 0), (BIG // 2, BIG // 2, 0)], None),
        ([(0, BIG // 2, 0), (BIG // 2, BIG // 2, 1)], None),
        ([(0, BIG // 2, 0), (BIG // 2, BIG // 2 + 1, 0)], None),
    ],
)
def test_a_flat_copy_of_padded_rows_is_proved_where_its_pieces_are_the_rows(
    cuts: list[tuple[int, int, int]], wanted: Status | None
) -> None:
    found = status(plan(cuts, 32768, 1500, 1536))
    assert found is wanted if wanted else found is not Status.PROVED


def test_uneven_pieces_add_up_before_a_solver_is_asked() -> None:
    (verdict,) = api.check(plan([(BIG - 4096, 4096, 0), (0, BIG - 4096, 0)], 32768, 1500, 1536), "t", options=OPTIONS)
    assert {one.by for one in verdict.obligations if one.id == "core/same-element"} == {BY_DISTANCE}


def test_pieces_that_alternate_add_up_too() -> None:
    def half(at: int) -> str:
        return (
            f'[[transfer.t.command]]\nread = "[6144:8192, 4096:1]:4096 HBM/D@{at}"\n'
            f'write = "[6144:8192, 4096:1]:4096 HBM/D@{1073741824 + at}"\n'
        )

    text = plan([], 32768, 1500, 1536)
    assert status(text + half(0) + half(4096)) is Status.PROVED
    assert status(text + half(0) + half(4097)) is not Status.PROVED
    assert status(text + half(0) + half(0)) is not Status.PROVED


@pytest.mark.parametrize("turns", [3, 1 << 26])
@pytest.mark.parametrize(
    ("pieces", "holds"),
    [
        ([(0, 16), (16, 64)], True),  # one row, then four: no loop of rows fits both
        ([(0, 24), (24, 56)], True),
        ([(0, 24), (24, 53)], True),  # the padding behind the last row may stay
        ([(0, 24), (24, 52)], False),
        ([(0, 24), (23, 57)], False),
        ([(0, 24), (24, 57)], False),  # the first byte of the next turn
    ],
)
def test_pieces_of_every_turn_are_looked_at_once(turns: int, pieces: list[tuple[int, int]], holds: bool) -> None:
    """Rows of 13 in 16 bytes, five a turn; the pieces are the same in every turn."""
    text = plan([], 5, 13, 16).replace("B = 13", f"B = 13\nZ = {turns}")
    text = text.replace('"A, B # 16"', '"Z, A, B # 16"').replace("1073741824", str(1 << 34))
    for first, size in pieces:
        loops = f"[Z={turns}:80, {size}:1]:1 HBM/D@"
        text += f'[[transfer.t.command]]\nread = "{loops}{first}"\nwrite = "{loops}{(1 << 34) + first}"\n'
    assert (status(text) is Status.PROVED) == holds


def test_random_pieces_are_proved_exactly_where_enumeration_says(monkeypatch: pytest.MonkeyPatch) -> None:
    import dmaverify.prove.move.core as core

    draw = random.Random(7)
    size = ROWS * PITCH
    seen = set()
    for _ in range(15):
        cuts = sorted({0, size, *(draw.randrange(size) for _ in range(draw.randrange(1, 4)))})
        pieces = [(a, b - a, 0) for a, b in pairwise(cuts)]
        draw.shuffle(pieces)
        if draw.random() < 0.6:
            at = draw.randrange(len(pieces))
            first, length, off = pieces[at]
            pieces[at] = draw.choice(
                [
                    (first + 1, length, off),
                    (first, length + 1, off),
                    (first, max(1, length - 1), off),
                    (first, length, 1),
                ]
            )
        text = plan(pieces)
        by_cells = status(text)
        with monkeypatch.context() as patch:
            patch.setattr(core, "ENUMERATE_FIRST", 0)
            patch.setattr(core, "ENUMERATE_LAST", 0)
            found = status(text)
        assert (found is Status.PROVED) <= (by_cells is Status.PROVED), text
        assert by_cells is not Status.PROVED or found is Status.PROVED, text
        seen.add(by_cells)
    assert seen == {Status.PROVED, Status.REFUTED}


@pytest.mark.parametrize("known", [True, False])
def test_programs_that_are_not_proved_equal_are_not_called_different(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not known:  # what the commands leave stays open
        monkeypatch.setattr(translation, "_runs", lambda nests: None)
    text = plan([], 32768, 1500, 1536) + 'stream = { time = "A", packet = "B" }\n'
    for first in (0, BIG // 2):  # packets across rows and their padding, which the stream leaves
        text += f'[[transfer.t.command]]\nread = "[6144:4096, 4096:1]:4096 HBM/D@{first}"\n'
        text += f'write = "[6144:4096, 4096:1]:4096 HBM/D@{2**30 + first}"\n'
    (verdict,) = api.check(text, "t", options=OPTIONS)
    assert verdict.status is (Status.PROVED if known else Status.UNKNOWN)
    assert not verdict.errors


def test_a_stream_that_is_wrong_does_not_ask_to_change_commands_that_are_right() -> None:
    text = (
        'schema = 1\ntarget = "rngd"\n[axes]\nA = 8\nC = 64\n[transfer.t]\ndtype = "i8"\n'
        'source = { tier = "hbm", base = 0, element = "A, C" }\n'
        'dest = { tier = "hbm", base = 65536, element = "A, C" }\n'
        'stream = { time = "A = 4", packet = "C" }\n'
        'read = "[8:64, 64:1]:64 HBM/D@0"\nwrite = "[8:64, 64:1]:64 HBM/D@65536"\n'
    )
    (verdict,) = api.check(text, "t", options=OPTIONS)
    (found,) = [f for f in verdict.errors if f.rule == "core/same-program"]
    assert "change the stream" in found.hint
    assert not found.edits


@pytest.mark.parametrize(("apart", "same"), [(0, True), (1, False)])
def test_two_programs_that_both_break_the_promise_are_compared_whatever_their_size(apart: int, same: bool) -> None:
    """Half of 2^24 bytes is moved: by the stream the first half, by the printed commands that one or the other."""
    read, write = 8388608 * apart, 268435456 + 131072 * apart
    text = (
        'schema = 1\ntarget = "rngd"\n[axes]\nA = 4096\nB = 64\nC = 64\n[transfer.t]\ndtype = "i8"\n'
        'source = { tier = "hbm", element = "A, B, C" }\n'
        'dest = { tier = "hbm", base = 268435456, element = "B, A, C" }\n'
        'stream = { time = "A = 2048, B", packet = "C" }\n'
        f'read = "[64:64, 1024:8192, 2:4096, 64:1]:64 HBM/D@{read}"\n'
        f'write = "[64:262144, 1024:128, 2:64, 64:1]:64 HBM/D@{write}"\n'
    )
    (verdict,) = api.check(text, "t", options=OPTIONS)
    assert "core/covers" in {f.rule for f in verdict.errors}
    found = [f for f in verdict.errors if f.rule == "core/same-program"]
    assert [one.witness is not None for one in found] == ([] if same else [True])
    assert next(o.status for o in verdict.obligations if o.id == "core/same-program") == (
        "proved" if same else "refuted"
    )


@pytest.mark.parametrize(("short", "shift", "dest", "also"), [
    (1, 0, "A, B #{!} 1004", {"core/covers", "core/padding"}),
    (0, 0, "A, B # 1004", set()), (0, 0, "A, B #{!} 1004", {"core/padding"}),
    (0, 1, "A, B # 1004", {"core/covers", "core/in-bounds", "core/same-element", "core/reads-live"}),
])  # fmt: skip
def test_an_element_that_uneven_pieces_leave_out_is_told_beside_what_else_is_wrong(
    short: int, shift: int, dest: str, also: set[str]
) -> None:
    pieces = [("3:1004, 1300:3012", 0), (f"{196 - short}:1004", 3900)]
    commands = [
        f'[[transfer.t.command]]\nread = "[{loops}, 1004:1]:1004 HBM/D@{1004 * first}"\n'
        f'write = "[{loops}, 1004:1]:1004 HBM/D@{2**30 + shift + 1004 * first}"\n' for loops, first in pieces
    ]  # fmt: skip
    (found,) = api.check(
        'schema = 1\ntarget = "rngd"\n[axes]\nA = 4096\nB = 1000\n[transfer.t]\ndtype = "i8"\n'
        'source = { tier = "hbm", element = "A, B # 1004" }\n'
        f'dest = {{ tier = "hbm", base = {2**30}, element = "{dest}" }}\n' + "".join(commands)
    )
    assert {finding.rule for finding in found.errors} == also


@pytest.mark.parametrize(("shift", "left"), [(0, []), (-1, ["zero padding at 1077854207 is never written"])])
def test_zero_padding_that_a_shifted_copy_leaves_out_is_told(shift: int, left: list[str]) -> None:
    (found,) = api.check(
        'schema = 1\ntarget = "rngd"\n[axes]\nA = 4096\nB = 1000\n[transfer.t]\ndtype = "i8"\n'
        'source = { tier = "hbm", element = "A, B #{0} 1004" }\n'
        f'dest = {{ tier = "hbm", base = {2**30}, element = "A, B #{{0}} 1004" }}\n'
        'read = "[4096:1004, 1004:1]:1004 HBM/D@0"\n'
        f'write = "[4096:1004, 1004:1]:1004 HBM/D@{2**30 + shift}"\n'
    )
    assert [f.message.split(",")[0] for f in found.errors if "never written" in f.message] == left


def test_what_lies_behind_the_region_is_not_left_out() -> None:
    pieces = [("307:1536", 0), ("1:1536", 0), ("3:1536, 239:4608", 307)]  # the first row twice
    text = plan([], rows=1024, live=1500, pitch=1536)
    for loops, row in pieces:
        text += (
            f'[[transfer.t.command]]\nread = "[{loops}, 1536:1]:1536 HBM/D@{1536 * row}"\n'
            f'write = "[{loops}, 1536:1]:1536 HBM/D@{2**30 + 1536 * row}"\n'
        )
    (found,) = api.check(text)
    assert {finding.rule for finding in found.errors} == {"core/writes-once"}
    assert [one.status for one in found.obligations if one.id == "core/covers"] == ["proved"]
