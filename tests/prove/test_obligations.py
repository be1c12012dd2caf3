"""Each obligation of one move by the solver alone, on both sides of its edge; nothing is enumerated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from lab.oracle import only_solver

from dmaverify.language.parse import parse
from dmaverify.layout.addresses import Layout
from dmaverify.layout.fuse import fuse
from dmaverify.layout.refine import Nest, drive
from dmaverify.program.command import Command, Engine, Loop, Port
from dmaverify.program.space import Space, layout_of
from dmaverify.program.tensor import Tensor
from dmaverify.prove.limits import RLIMIT
from dmaverify.prove.move.core import judge_core
from dmaverify.prove.move.obligations import Subject, nest_claims
from dmaverify.prove.move.overlap import written_early
from dmaverify.prove.smt import Session

HOST = Space("host", ("element",))
AXES = {"A": 6, "B": 4, "C": 6}
TO = 4096


def statuses(source: str, dest: str, *commands: Command, axes: Mapping[str, int] = AXES) -> dict[str, str]:
    """The obligations that are not proved, by the solver alone."""
    tensors = [Tensor("host", parse(text, axes), base=base) for text, base in ((source, 0), (dest, TO))]
    with only_solver():
        found = judge_core(tensors[0], tensors[1], (HOST, HOST), 8, commands, {}, Session(RLIMIT), 0)
    return {name: said for name, said in found.status.items() if said != "proved" and name != "core/consumes"}


def copy(*loops: tuple[int, int, int], burst: int = 4, read: int = 0, write: int = TO) -> Command:
    return Command(Port("host", read), Port("host", write), tuple(Loop(*one) for one in loops), burst, burst)


PLAIN = copy((6, 4, 4))


def test_a_right_copy_keeps_every_obligation() -> None:
    assert statuses("A, B", "A, B", PLAIN) == {}


@pytest.mark.parametrize(
    ("command", "broken"),
    [
        (copy((6, 4, 4), read=1), {"core/in-bounds", "core/same-element"}),
        (copy((6, 4, 4), write=TO + 1), {"core/in-bounds", "core/same-element", "core/covers"}),
        (copy((7, 4, 4)), {"core/in-bounds"}),
        (copy((5, 4, 4)), {"core/covers"}),
        (copy((6, 4, 3)), {"core/writes-once", "core/same-element", "core/covers"}),
        (copy((6, 4, 0)), {"core/writes-once", "core/same-element", "core/covers"}),
        (copy((6, -4, 4), read=20), {"core/same-element"}),
        (copy((6, -4, -4), read=20, write=TO + 20), set()),
        (copy((6, -4, -4), read=16, write=TO + 16), {"core/in-bounds", "core/covers"}),
    ],
)
def test_a_wrong_number_breaks_its_obligation(command: Command, broken: set[str]) -> None:
    assert {name for name, said in statuses("A, B", "A, B", command).items() if said == "refuted"} == broken


def test_every_axis_is_compared_not_the_first_alone() -> None:
    swapped = copy((4, 1, 6), (6, 4, 1), burst=1)
    assert statuses("A, B", "B, A", swapped) == {}
    inner = copy((6, 4, 1), (4, 1, 6), burst=1)
    assert statuses("A, B", "B, A", inner) == {}
    mirrored = copy((6, 4, 4), (4, -1, 1), burst=1, read=3)
    assert set(statuses("A, B", "A, B", mirrored)) == {"core/same-element"}
    same = {"A": 4, "B": 4}
    straight = copy((4, 4, 4))
    assert set(statuses("A, B", "B, A", straight, axes=same)) == {"core/same-element"}
    assert set(statuses("B, A", "A, B", straight, axes=same)) == {"core/same-element"}


# ---------------------------------------------------------------- padding


def test_padding_that_is_read_into_live_cells_is_noticed() -> None:
    assert set(statuses("A, B # 5", "A, B", copy((6, 5, 4)))) == set()
    assert "core/reads-live" in statuses("A, B # 5", "A, B", copy((6, 5, 4), read=1))


@pytest.mark.parametrize(
    ("mark", "burst", "broken"),
    [
        ("#", 4, set()), ("#", 5, set()), ("#{!}", 4, set()), ("#{!}", 5, {"core/padding"}),
        ("#{0}", 4, {"core/padding"}), ("#{0}", 5, {"core/padding"}),
    ],
)  # fmt: skip
def test_padding_ends_as_its_kind_says(mark: str, burst: int, broken: set[str]) -> None:
    assert set(statuses("A, B # 5", f"A, B {mark} 5", copy((6, 5, 5), burst=burst))) == broken


def test_zeros_come_from_zeros() -> None:
    assert statuses("A, B #{0} 5", "A, B #{0} 5", copy((6, 5, 5), burst=5)) == {}
    assert set(statuses("A, B #{0} 5", "A, B #{0} 5", copy((6, 5, 5), burst=4))) == {"core/padding"}


def test_bottom_padding_is_not_read() -> None:
    assert set(statuses("A, B #{!} 5", "A, B # 5", copy((6, 5, 5), burst=5))) == {"core/padding"}
    assert statuses("A, B #{!} 5", "A, B # 5", copy((6, 5, 5), burst=4)) == {}


def test_cells_beyond_a_resize_are_not_written() -> None:
    assert set(statuses("A, B # 5", "A, B = 5", copy((6, 5, 5), burst=5))) == {"core/padding"}
    assert statuses("A, B # 5", "A, B = 5", copy((6, 5, 5), burst=4)) == {}


def test_the_outer_padding_hides_the_inner_one() -> None:
    both = "[A, B #{0} 5] #{!} 32"
    assert set(statuses("[A, B #{0} 5] # 32", both, copy((6, 5, 5), burst=5))) == set()
    assert set(statuses("[A, B #{0} 5] # 32", both, copy(burst=32))) == {"core/padding"}


def test_a_promise_about_nothing_is_no_promise() -> None:
    assert "core/not-vacuous" in statuses("A = 7 @ 6", "A = 7 @ 6", copy(burst=1), axes={"A": 6})


# ---------------------------------------------------------------- several commands

HALVES = (copy((3, 4, 4)), copy((3, 4, 4), read=12, write=TO + 12))


def test_two_commands_write_each_byte_once_between_them() -> None:
    assert statuses("A, B", "A, B", *HALVES) == {}
    again = (copy((4, 4, 4)), copy((3, 4, 4), read=12, write=TO + 12))
    assert set(statuses("A, B", "A, B", *again)) == {"core/writes-once"}


def test_any_two_of_three_commands_may_meet() -> None:
    thirds = [copy((2, 4, 4), read=8 * i, write=TO + 8 * i) for i in range(3)]
    assert statuses("A, B", "A, B", *thirds) == {}
    longer = copy((3, 4, 4), read=8, write=TO + 8)
    found = statuses("A, B", "A, B", thirds[0], longer, thirds[2])
    assert [name for name, said in found.items() if said == "refuted"] == ["core/writes-once"]


def test_uneven_bases_are_no_loop() -> None:
    uneven = [copy(read=4 * i, write=TO + 4 * j) for i, j in zip((0, 1, 2, 3, 5, 4), (0, 1, 2, 3, 5, 4), strict=True)]
    assert statuses("A, B", "A, B", *uneven) == {}
    odd = [copy(read=4 * i, write=TO + 4 * j) for i, j in zip((0, 1, 2, 3, 5, 4), range(6), strict=True)]
    assert set(statuses("A, B", "A, B", *odd)) == {"core/same-element"}


# ---------------------------------------------------------------- digits that carry


@pytest.mark.parametrize(("count", "broken"), [(3, set()), (2, {"core/covers"}), (4, {"core/in-bounds"})])
def test_strides_that_cross_a_row_are_followed(count: int, broken: set[str]) -> None:
    """Runs of 8 over rows of 4: each piece crosses from one row into the next."""
    assert set(statuses("A, B", "A, B", copy((count, 8, 8), burst=8))) == broken


@pytest.mark.parametrize(
    ("inner", "burst", "broken"),
    [((), 3, set()), (((2, 2, 2),), 2, {"core/in-bounds", "core/reads-live", "core/writes-once"})],
)
def test_units_behind_the_end_of_an_uneven_cut_are_followed_where_outer_loops_cross_rows(
    inner: tuple[tuple[int, int, int], ...], burst: int, broken: set[str]
) -> None:
    """Pieces of 2 and 2 in steps of 3: the fourth unit is the first of the next step, not of this one."""
    first = copy(burst=3)
    others = copy((4 * 6 - 1, 4, 3), *inner, burst=burst, read=4, write=TO + 3)
    found = statuses("A, B / 3, B % 3 # 4", "A, B", first, others, axes={"A": 6, "B": 12})
    assert found == dict.fromkeys(broken, "refuted")


@pytest.mark.parametrize(("last", "broken"), [(2, False), (4, True)])
def test_what_is_written_behind_padding_that_is_cut_off_is_outside(last: int, broken: bool) -> None:
    """The last row has 10 cells; a run of 4 from its ninth on ends two bytes beyond the region."""
    whole = [copy((5, 12, 10), (2, 4, 4), burst=4), copy((5, 12, 10), burst=last, read=8, write=TO + 8)]
    found = statuses("N, A, C", "N, [A, C] = 10 # 12 = 10", *whole, axes={"N": 5, "A": 3, "C": 4})
    wrong = {"core/in-bounds", "core/same-element", "core/writes-once"} if broken else set()
    assert found == dict.fromkeys(wrong, "refuted")


def test_of_a_mapping_without_digits_no_element_is_called_unread() -> None:
    """`[2, 3] @ 4` holds one element twice: who reads the first of both has read it."""
    tensors = [Tensor("host", parse(text, AXES), base=b) for text, b in (("[2, 3] @ 4", 0), ("[2, 3] @ 4 = 1", TO))]
    with only_solver():
        found = judge_core(*tensors, (HOST, HOST), 8, [copy(burst=1)], {}, Session(RLIMIT), 0)
    assert found.status["core/consumes"] != "refuted"


@pytest.mark.parametrize(("step", "said"), [(2, "proved"), (-2, "refuted")])
def test_of_elements_without_digits_every_byte_is_compared(step: int, said: str) -> None:
    """Elements of 4 bytes, moved by halves: as they lie, or the other half first."""
    text = "[A, B] / 3, [A, B] % 3"
    tensors = [Tensor("host", parse(text, AXES), base=base) for base in (0, TO)]
    halves = copy((24, 4, 4), (2, 2, step), burst=2, write=TO + max(0, -step))
    with only_solver():
        found = judge_core(*tensors, (HOST, HOST), 32, [halves], {}, Session(RLIMIT), 0)
    assert found.status["core/same-element"] == said


@pytest.mark.parametrize("clusters", [15, 16])
def test_rows_of_as_many_clusters_as_there_are_end_where_they_end(clusters: int) -> None:
    """Behind the last cluster begins the next chip: each row still lies below the next cluster."""
    axes = {"A": clusters, "B": 10}
    space = Space("dm", ("chip", "cluster", "element"))
    source = Tensor("host", parse("A, B", axes))
    dest = Tensor("dm", parse("B # 13", axes), cluster=parse("A", axes), base=TO)
    command = Command(Port("host", 8), Port("dm", TO + 8), (Loop(3, -4, -4),), 4, 4)
    with only_solver():
        found = judge_core(source, dest, (HOST, space), 8, [command], {}, Session(RLIMIT), 0)
    assert found.status["core/in-bounds"] == "proved"


@pytest.mark.parametrize(
    ("source", "said"),
    [("[A, B] / 3, [A, B] % 3", "unknown"), ("A, B @ 1", "unknown"), ("A / 3", "unknown"), ("A, B", "refuted")],
)
def test_what_a_source_does_not_hold_is_no_broadcast_where_no_digits_tell(source: str, said: str) -> None:
    """One byte for all of the destination, by the reading that reads what is missing as a broadcast."""
    tensors = [Tensor("host", parse(text, AXES), base=base) for text, base in ((source, 0), ("A, B", TO))]
    readings = {"core/same-element": "broadcast-missing"}
    one = copy((24, 0, 1), burst=1)
    with only_solver():
        found = judge_core(*tensors, (HOST, HOST), 8, [one], readings, Session(RLIMIT), 0)
    assert found.status["core/same-element"] == said


@pytest.mark.parametrize(("dest", "said"), [("A, B, C", "proved"), ("[A, C, B] / 9, [A, C, B] % 9", "unknown")])
def test_a_copy_by_one_distance_moves_elements_to_their_places_only_where_digits_tell_these(
    dest: str, said: str
) -> None:
    """A solver that gives up, and two mappings without digits: their positions are alike, their elements are not."""
    source = dest if said == "proved" else "[A, B, C] / 9, [A, B, C] % 9"
    tensors = [Tensor("host", parse(text, AXES), base=base) for text, base in ((source, 0), (dest, TO))]
    pieces = [copy((20, 7, 7), burst=7), copy(burst=4, read=140, write=TO + 140)]
    with only_solver():
        found = judge_core(*tensors, (HOST, HOST), 8, pieces, {}, Session(1), 0)
    assert found.status["core/same-element"] == said


def test_a_ragged_end_of_a_loop_is_followed() -> None:
    """8 bytes at a time over 22 of 24: the last piece would be half a row."""
    six = {"A": 6, "B": 5}
    assert statuses("A, B", "A, B", copy((3, 10, 10), burst=10), axes=six) == {}
    assert "core/covers" in statuses("A, B", "A, B", copy((2, 14, 14), burst=14), axes=six)
    assert statuses("A, B", "A, B", copy((2, 15, 15), burst=15), axes=six) == {}


def layouts(source: str, dest: str, axes: Mapping[str, int]) -> tuple[Layout, Layout]:
    found = [layout_of(Tensor("host", parse(t, axes), base=b), HOST, 8)[0] for t, b in ((source, 0), (dest, TO))]
    return found[0], found[1]


@pytest.mark.parametrize(("count", "claimed"), [(4, "unsat"), (5, "sat")])
def test_the_range_of_every_digit_is_claimed(count: int, claimed: str) -> None:
    """A loop of five over a digit of four, called exact: the claim about its digits is broken."""
    source, dest = layouts("A, B", "A, B", AXES)
    joint = drive(source, dest, [Nest.of(0, TO, [(5, 4, 4), (4, 1, 1)])])
    (one,) = joint.nests
    outer, inner = one.nest.pieces
    exact = replace(one, nest=replace(one.nest, pieces=(outer, replace(inner, count=count))))
    tensors = [Tensor("host", parse("A, B", AXES), base=base) for base in (0, TO)]
    subject = Subject(tensors[0], tensors[1], False, False)
    for claim in nest_claims(replace(joint, nests=(exact,)), subject, 0):
        if claim.obligation == "digits":
            assert Session(RLIMIT).ask(claim.question, "digits").status == claimed


# ---------------------------------------------------------------- joined axes


@pytest.mark.parametrize(
    ("source", "joined"),
    [
        ("A, B", True),
        ("A, B # 5", False),
        ("A # 7, B", False),
        ("B, A", True),
        ("A, B = 3", False),
        ("A @ 1, B", False),
        ("B, A / 5, A", False),
        ("B, C / 2", False),
    ],
)
def test_axes_are_joined_only_where_one_lies_whole_inside_the_other(source: str, joined: bool) -> None:
    first, second = layouts(source, source, AXES)
    assert (fuse(first, second) is not None) == joined
    assert fuse(*layouts("A, B", "B, A", AXES)) is None


# ---------------------------------------------------------------- moves in place


def in_place(*loops: tuple[int, int, int], by: int, engine: Engine | None = None) -> Command:
    return Command(Port("host", 0), Port("host", by), tuple(Loop(*one) for one in loops), 4, 4, engine)


@pytest.mark.parametrize(
    ("loops", "by", "safe"),
    [
        (((4, 4, 4),), -4, True), (((4, 4, 4),), 4, False), (((4, 4, 4),), 12, False), (((4, 4, 4),), 16, True),
        (((2, 16, 16), (2, 4, 4)), 8, True), (((2, 16, 16), (2, 4, 4)), 4, False),
        (((2, 16, 16), (2, 4, 4)), 16, False),
        (((2, 16, 16), (2, 4, 4)), -16, True),
    ],
)  # fmt: skip
def test_what_a_loop_writes_early_is_looked_for_on_every_level(
    loops: tuple[tuple[int, int, int], ...], by: int, safe: bool
) -> None:
    assert (written_early([in_place(*loops, by=by)], Session()) is None) == safe


@pytest.mark.parametrize(("by", "safe"), [(8, False), (4, False), (12, True), (-4, True)])
def test_what_only_the_last_iteration_reads_counts(by: int, safe: bool) -> None:
    """Three times 4 bytes, moved up: by 8, the last reads what the first has written."""
    assert (written_early([in_place((3, 4, 4), by=by)], Session()) is None) == safe


@pytest.mark.parametrize(("by", "units", "safe"), [(8, 16, False), (8, 32, True), (32, 16, True), (-8, 16, True)])
def test_a_burst_is_read_request_by_request(by: int, units: int, safe: bool) -> None:
    """32 bytes at once, moved up by 8: the first 16 land in what the second request reads."""
    burst = Command(Port("host", 64), Port("host", 64 + by), (), 32, 32)
    assert (written_early([burst], Session(), (), units) is None) == safe


def test_two_engines_do_not_wait_for_each_other() -> None:
    """Downwards in order: safe for one engine, not for two."""

    def pair(engines: tuple[int, int]) -> list[Command]:
        return [
            Command(Port("host", 4 + 4 * i), Port("host", 4 * i), (), 4, 4, Engine(0, 0, e))
            for i, e in enumerate(engines)
        ]

    assert written_early(pair((0, 0)), Session()) is None
    assert written_early(pair((0, 1)), Session()) is not None


def digit_claims(dest_text: str, *, shift: int = 0, run: int = 4) -> dict[str, str]:
    """What the solver says of the claims about digits, for a walk over six rows; `shift` falsifies the columns."""
    source, dest = layouts("A, B", dest_text, AXES)
    joint = drive(source, dest, [Nest.of(0, TO, [(6, 4, 4), (run, 1, 1)])])
    (one,) = joint.nests
    constants = tuple(c + shift * (i == len(one.write.constants) - 1) for i, c in enumerate(one.write.constants))
    told = replace(one, write=replace(one.write, constants=constants))
    tensors = [Tensor("host", parse(t, AXES), base=b) for t, b in (("A, B", 0), (dest_text, TO))]
    claims = nest_claims(replace(joint, nests=(told,)), Subject(tensors[0], tensors[1], False, False), 0)
    return {c.part: Session(RLIMIT).ask(c.question, "digits").status for c in claims if c.obligation == "digits"}


def test_the_digits_add_up_to_the_address() -> None:
    assert digit_claims("A, B") == {"read": "unsat", "write": "unsat"}
    assert digit_claims("A, B", run=3) == {"read": "unsat", "write": "unsat"}
    assert digit_claims("A, B", run=3, shift=1) == {"read": "unsat", "write": "sat"}


def test_digits_that_stand_for_no_position_are_noticed() -> None:
    """Twenty-two of twenty-four positions: the last two are none."""
    assert digit_claims("[A, B] = 22")["write"] == "sat"
