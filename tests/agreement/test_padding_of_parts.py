"""Proof and run say the same of tiles beside padding, of streams in parts, of what is moved onto itself."""

# ruff: noqa: E501  (plan text reads best on one line)

import pytest
from lab.against import judged_twice

import dmaverify.api as api
from dmaverify.prove.options import Options

AXES = 'schema = 1\ntarget = "rngd"\n[axes]\nA = 6\nC = 8\nD = 2\nE = 4\nS = 32\n'


def judged(text: str) -> dict[str, set[str]]:
    """The errors of each entry by proof, which its run agrees with; its status where there are none."""
    found = api.check(AXES + text, options=Options(repair=False, cross_check=1 << 16))
    for verdict in found:
        both = judged_twice(AXES + text, verdict.name)
        assert not both.against, both
    return {v.name: {f.rule for f in v.errors} or {v.status.value} for v in found}


def move(source: str, dest: str, *more: str, loop: str = "") -> str:
    lines = ["[transfer.t]", 'dtype = "i8"', loop, f"source = {{ {source} }}", f"dest = {{ {dest} }}", *more]
    return "\n".join(lines) + "\n"


def view(tile: str, length: int, start: object) -> str:
    return f', view = {{ tile = "{tile}", length = {length}, start = "{start}" }}'


@pytest.mark.parametrize(
    ("source", "dest", "tile", "time"),
    [
        ("E", "E % 2 # 4, E / 2", ("E / 2", 2, 0), "E % 2, E / 2"),
        ("E % 2, E / 2", "E / 2 # 4, E % 2", ("E % 2", 2, 0), "E / 2, E % 2"),
    ],
)  # fmt: skip
def test_padding_of_one_digit_takes_no_position_from_another(
    source: str, dest: str, tile: tuple[str, int, int], time: str
) -> None:
    side = f'tier = "hbm", base = 65536, element = "{dest}"'
    for more in ("", view(*tile)):
        text = move(f'tier = "hbm", element = "{source}"', side + more, f'stream = {{ time = "{time}", packet = "1" }}')
        assert judged(text) == {"t": {"proved"}}
    assert judged(
        move(
            f'tier = "hbm", element = "{source}"',
            side + view(tile[0], 2, 1),
            f'stream = {{ time = "{time}", packet = "1" }}',
        )
    ) == {"t": {"core/in-bounds"}}


@pytest.mark.parametrize("loop", ["", "loop = { t = 2 }"])
@pytest.mark.parametrize(("tier", "base", "stream", "status"), [
    ("hbm", 0, 'stream = { time = "A", packet = "C" }', "proved"), ("dm", 0, 'stream = { time = "A", packet = "C" }', "proved"),
    ("hbm", 0, "", "proved"), ("hbm", 8, 'stream = { time = "A", packet = "C" }', "core/overlap"), ("hbm", 8, "", "core/overlap"),
])  # fmt: skip
def test_what_is_written_where_it_was_read_is_safe_in_any_order(
    tier: str, base: int, stream: str, status: str, loop: str
) -> None:
    text = move(
        f'tier = "{tier}", element = "A, C"', f'tier = "{tier}", base = {base}, element = "A, C"', stream, loop=loop
    )
    assert judged(text) == {"t": {status}}


def test_what_lies_there_may_be_moved_onto_itself_though_other_rows_are_beside() -> None:
    sides = ['tier = "hbm", element = "A, C"' + view("A", 2, start) for start in ("2*t", "2*t")]
    stream = 'stream = { time = "A = 2", packet = "C" }'
    assert judged(move(*sides, stream, loop="loop = { t = 3 }")) == {"t": {"proved"}}
    assert judged(
        move(sides[0], sides[1].replace("element", "base = 8, element"), stream, loop="loop = { t = 3 }")
    ) == {"t": {"core/overlap"}}


@pytest.mark.parametrize("stream", ["", 'stream = { time = "A = 2", packet = "C" }'])
@pytest.mark.parametrize(
    ("starts", "errors"), [(("2", "2"), {"proved"}), (("1", "2"), {"core/overlap", "core/same-element"})]
)
def test_rows_moved_onto_their_own_tensor_stay_where_both_views_begin_alike(
    starts: tuple[str, str], errors: set[str], stream: str
) -> None:
    sides = ['tier = "hbm", element = "A, C"' + view("A", 2, start) for start in starts]
    assert judged(move(*sides, stream))["t"] <= errors


@pytest.mark.parametrize(("starts", "safe"), [(("2*t", "2*t"), True), (("t", "2*t"), False)])
def test_tiles_that_turn_otherwise_on_each_side_are_no_move_onto_itself(starts: tuple[str, str], safe: bool) -> None:
    sides = [f'tier = "hbm", element = "A, C"{view("A", 2, start)}' for start in starts]
    assert ("core/overlap" in judged(move(*sides, loop="loop = { t = 3 }"))["t"]) is not safe


@pytest.mark.parametrize(("dest", "status"), [("E, F", "proved"), ("F, E", "core/overlap")])
def test_a_tensor_turned_round_where_it_lies_is_written_before_it_is_read(dest: str, status: str) -> None:
    text = "F = 4\n" + move(
        'tier = "hbm", element = "E, F"',
        f'tier = "hbm", element = "{dest}"',
        'stream = { time = "E, F", packet = "1" }',
    )
    assert judged(text) == {"t": {status}}


@pytest.mark.parametrize(("slices", "start", "errors"), [
    ("S # 64", "0", {"core/tiles-cover", "core/tiles-once"}), ("S # 64", "t", {"proved"}), ("64", "t", {"proved"}),
    ("1 # 64", "0", {"core/tiles-cover", "core/tiles-once"}), ("64", "0", {"core/tiles-cover", "core/tiles-once"}),
])  # fmt: skip
def test_slices_of_padding_make_no_tile_the_whole(slices: str, start: str, errors: set[str]) -> None:
    text = (
        f'[access.c]\nengine = "commit"\ndtype = "i8"\nloop = {{ t = 2 }}\n'
        f'memory = {{ tier = "dm", slice = "{slices}", element = "D, C", view = {{ tile = "D", start = "{start}" }} }}\n'
        'stream = { packet = "C" }\n[program.p]\nstep = [{ access = "c" }]\n'
    )
    assert judged(text)["p"] == errors


@pytest.mark.parametrize("more", ["", view("C", 8, 0)])
@pytest.mark.parametrize(("padding", "errors"), [("#", {"proved"}), ("#{0}", {"core/padding"}), ("#{!}", {"proved"})])
def test_zero_padding_that_a_commit_leaves_is_not_zero(more: str, padding: str, errors: set[str]) -> None:
    text = (
        f'[access.c]\nengine = "commit"\ndtype = "i8"\nmemory = {{ tier = "dm", element = "A, C {padding} 16"{more} }}\n'
        'stream = { time = "A", packet = "C" }\n'
    )
    assert judged(text) == {"c": errors}


@pytest.mark.parametrize(("source", "dest", "parts", "errors"), [
    ("A, C", "A # 7, C", ("(A # 7) @ 0 = 5", "(A # 7) @ 5 = 2"), {"core/in-bounds"}),
    ("A # 7, C", "A, C", ("(A # 7) @ 0 = 6", "(A # 7) @ 6 = 1"), {"core/reads-live", "core/writes-once"}),
    ("A, C", "A, C", ("A @ 0 = 5", "A @ 5 = 1 # 2"), {"core/in-bounds", "core/writes-once"}),
    ("A, C", "A, C", ("A @ 0 = 5", "A @ 5 = 1"), {"proved"}),
])  # fmt: skip
def test_padding_of_one_of_several_streams_is_judged_by_the_proof(
    source: str, dest: str, parts: tuple[str, str], errors: set[str]
) -> None:
    streams = [
        f'[[transfer.t.stream]]\nwhen = {{ chip = [0], cluster = [0], dmn = [0] }}\ntime = "{part}"\npacket = "C"'
        for part in parts
    ]
    sides = f'tier = "hbm", base = 64, element = "{source}"', f'tier = "hbm", base = 4096, element = "{dest}"'
    assert judged(move(*sides, *streams))["t"] <= errors
    assert judged(move(*sides, *streams))["t"]


@pytest.mark.parametrize("stream", ['stream = { time = "A", packet = "C" }', ""])
def test_questions_from_definitions_leave_a_move_onto_itself_to_its_order(stream: str) -> None:
    text = move('tier = "hbm", element = "A, C"', 'tier = "hbm", element = "A, C"', stream, loop="loop = { t = 2 }")
    (verdict,) = api.check(AXES + text, options=Options(prove="full"))
    assert verdict.status.value == "proved"
