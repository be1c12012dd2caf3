"""Every way to break a promise, by hand, beside the nearest move that keeps it."""

from collections.abc import Sequence

import numpy as np
import pytest

from dmaverify.execute.address import Aliased, TooLarge
from dmaverify.execute.interpret import execute
from dmaverify.execute.result import Execution
from dmaverify.language.expr import Expr
from dmaverify.language.parse import parse
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor

SLICE = 4 << 20
CHIP, CLUSTER = 1 << 56, 1 << 52
HBM = Space("hbm", ("chip", "element"))
DM = Space("dm", ("chip", "cluster", "slice", "element"), (("slice", SLICE),))
AXES = {"A": 4, "B": 3, "C": 8, "N": 12}


def m(text: str, **sizes: int) -> Expr:
    return parse(text, AXES | sizes)


def command(read: int, write: int, loops: Sequence[tuple[int, int, int]] = (), burst: int = 1) -> Command:
    return Command(Port("hbm", read), Port("hbm", write), tuple(Loop(*loop) for loop in loops), burst, burst)


def flat(source: str, dest: str, *commands: Command, bits: int = 8, **readings: str) -> Execution:
    """A move within HBM, source at byte 100, destination at byte 200."""
    sides = Tensor("hbm", m(source), base=100), Tensor("hbm", m(dest), base=200)
    return execute(*sides, HBM, HBM, bits, commands, readings={"core/same-element": readings.get("reading", "")})


def only(done: Execution) -> str:
    assert len(done.findings) == 1, done.findings
    return next(iter(done.findings))


# ---------------------------------------------------------------- what holds


def test_a_plain_copy_keeps_its_promise() -> None:
    done = flat("A", "A", command(100, 200, burst=4))
    assert (done.findings, done.broken) == ({}, frozenset())
    assert (done.units_moved, done.dest_live_units, done.units_equal, done.packets) == (4, 4, 4, 1)
    assert done.memory_after.tolist() == done.source_memory.tolist() != done.memory_before.tolist()


def test_a_transposition_into_slices_lands_where_the_documents_say() -> None:
    """The first example of "DMA Engine" in small: HBM `B, A, C` to slices `A / 2`, elements `A % 2, B, C`."""
    source = Tensor("hbm", m("B, A, C"), base=64)
    dest = Tensor("dm", m("A % 2, B, C"), slice=m("A / 2"), base=1024)
    loops = (Loop(3, 32, 8), Loop(2, 8, 24), Loop(2, 16, SLICE))
    done = execute(source, dest, HBM, DM, 8, [Command(Port("hbm", 64), Port("dm", 1024), loops, 8, 8)])
    assert done.findings == {}
    assert (done.packets, done.bytes_moved, done.units_equal * done.unit_bits) == (12, 96, 96 * 8)
    wrong = Command(Port("hbm", 64), Port("dm", 1024), (Loop(3, 32, 8), Loop(2, 8, 24), Loop(2, 16, SLICE + 1)), 8, 8)
    broken = execute(source, dest, HBM, DM, 8, [wrong]).findings
    first = broken["same-element"]
    assert (first.counters, first.read_address, first.write_address) == ((0, 0, 1, 0), 80, SLICE + 1025)
    assert first.source_coordinates == {"A": 2, "B": 0, "C": 0}
    assert first.dest_coordinates == {"A": 2, "B": 0, "C": 1}
    assert broken["in-bounds:write"].write_address == SLICE + 1024 + 48
    assert broken["covers"].write_address == SLICE + 1024


def test_chips_and_clusters_are_places_of_their_own() -> None:
    source = Tensor("hbm", m("B"), chip=m("A / 2"), at_chip=1)
    dest = Tensor("dm", m("B"), chip=m("A / 2"), cluster=m("2"), at_cluster=0, at_slice=5)
    many = [
        Command(Port("hbm", 0, chip + 1), Port("dm", 5 * SLICE, chip, cluster), (), 3, 3)
        for chip in (0, 1)
        for cluster in (0, 1)
    ]
    assert execute(source, dest, HBM, DM, 8, many).findings == {}
    lost = execute(source, dest, HBM, DM, 8, many[:3]).findings
    assert lost["covers"].write_address == CHIP + CLUSTER + 5 * SLICE
    assert lost["covers"].dest_coordinates == {"A": 2, "B": 0}
    here = [Command(Port("hbm", 0), Port("dm", 5 * SLICE), (), 3, 3)]
    assert execute(source, dest, HBM, DM, 8, here).findings["in-bounds:read"].count == 3


def test_the_order_of_commands_and_loops_does_not_matter() -> None:
    loops = [(4, 3, 1), (3, 1, 4)]
    assert flat("A, B", "B, A", command(100, 200, loops)).findings == {}
    assert flat("A, B", "B, A", command(100, 200, loops[::-1])).findings == {}
    halves = [command(106, 202, [(2, 3, 1), (3, 1, 4)]), command(100, 200, [(2, 3, 1), (3, 1, 4)])]
    assert flat("A, B", "B, A", *halves).findings == {}


def test_strides_may_be_negative() -> None:
    assert flat("A", "A", command(103, 203, [(4, -1, -1)])).findings == {}
    assert only(flat("A", "A", command(103, 200, [(4, -1, 1)]))) == "same-element"


# ---------------------------------------------------------------- in bounds


@pytest.mark.parametrize(("burst", "found"), [(4, set()), (5, {"in-bounds:read", "in-bounds:write"})])
def test_one_byte_beyond_the_region_is_out_of_bounds_on_both_sides(burst: int, found: set[str]) -> None:
    done = flat("A", "A", command(100, 200, burst=burst))
    assert set(done.findings) == found
    for v in done.findings.values():
        assert (v.count, v.counters, v.read_address, v.write_address) == (1, (4,), 104, 204)
        assert v.kinds == ("outside", "outside")


def test_reads_and_writes_out_of_bounds_are_told_apart() -> None:
    done = flat("A", "A", command(99, 200, burst=4))
    assert set(done.findings) == {"in-bounds:read", "same-element", "consumes"}
    assert "covers" not in done.findings  # the byte was written, whatever was written
    assert done.units_equal == 0
    done = flat("A", "A", command(100, 199, burst=4))
    assert set(done.findings) == {"in-bounds:write", "same-element", "covers"}
    assert "consumes" not in done.findings  # the byte was read, wherever it went


def test_the_gap_between_slices_is_no_part_of_a_tensor() -> None:
    source, dest = Tensor("hbm", m("A")), Tensor("dm", m("A % 2"), slice=m("A / 2"), base=8)
    good = Command(Port("hbm", 0), Port("dm", 8), (Loop(2, 2, SLICE),), 2, 2)
    assert execute(source, dest, HBM, DM, 8, [good]).findings == {}
    astray = Command(Port("hbm", 0), Port("dm", 8), (Loop(2, 2, 2),), 2, 2)
    found = execute(source, dest, HBM, DM, 8, [astray]).findings
    assert set(found) == {"in-bounds:write", "covers"}
    assert found["in-bounds:write"].count == 2


# ---------------------------------------------------------------- elements


def test_another_element_is_told_by_its_coordinates() -> None:
    done = flat("A, B", "B, A", command(100, 200, burst=12))
    v = done.findings[only(done)]
    assert (v.count, v.counters, v.read_address, v.write_address) == (10, (1,), 101, 201)
    assert (v.source_coordinates, v.dest_coordinates) == ({"A": 0, "B": 1}, {"A": 1, "B": 0})
    assert done.units_equal < done.dest_live_units


def test_the_bytes_of_an_element_keep_their_order() -> None:
    assert flat("A", "A", command(100, 200, burst=8), bits=16).findings == {}
    done = flat("A", "A", command(100, 201, [(4, 2, 2), (2, 1, -1)]), bits=16)
    v = done.findings[only(done)]
    assert (v.count, v.counters, v.units) == (8, (0, 0, 0), (0, 1))
    assert v.source_coordinates == v.dest_coordinates == {"A": 0}


def test_half_bytes_are_units_of_their_own() -> None:
    done = flat("A", "A", command(200, 400, burst=4), bits=4)
    assert (done.findings, done.bytes_moved, done.unit_bits) == ({}, 2, 4)
    assert max(done.source_memory) < 16
    swapped = flat("A", "A", command(200, 401, [(2, 2, 2), (2, 1, -1)]), bits=4)
    assert swapped.findings[only(swapped)].count == 4
    slices = Tensor("hbm", m("A")), Tensor("dm", m("A % 2"), slice=m("A / 2"), base=8)
    good = Command(Port("hbm", 0), Port("dm", 16), (Loop(2, 2, 2 * SLICE),), 2, 2, unit_bits=4)
    assert execute(*slices, HBM, DM, 4, [good]).findings == {}


def test_axes_that_the_source_does_not_name_are_broadcast() -> None:
    assert flat("A", "A, B", command(100, 200, [(4, 1, 3), (3, 0, 1)])).findings == {}
    done = flat("A", "A, B", command(100, 200, [(4, 1, 3), (3, 1, 1)]))
    assert set(done.findings) == {"same-element", "in-bounds:read"}


def test_an_axis_that_the_destination_lacks_counts_as_zero() -> None:
    assert only(flat("A, B", "A", command(100, 200, [(4, 3, 1)]))) == "consumes"
    done = flat("A, B", "A", command(101, 200, [(4, 3, 1)]))
    assert done.findings["same-element"].count == 4


def test_replicas_serve_alike_and_one_of_them_is_enough() -> None:
    assert flat("2, A", "A", command(104, 200, burst=4)).findings == {}
    assert flat("2, A", "2, A", command(100, 200, [(2, 0, 4)], 4)).findings == {}


def test_a_coordinate_that_the_source_lacks_breaks_the_promise_unless_the_reading_replicates_it() -> None:
    strict, broadcast = "", "broadcast-missing"
    rows = command(100, 200, [(3, 0, 4)], 4)
    done = flat("N % 4", "N", rows, reading=strict)
    assert done.findings[only(done)].dest_coordinates == {"N": 4}
    assert flat("N % 4", "N", rows, reading=broadcast).findings == {}
    assert only(flat("N % 4", "N", command(100, 200, [(4, 1, 3), (3, 0, 1)]), reading=broadcast)) == "same-element"
    columns = command(100, 200, [(3, 1, 4), (4, 0, 1)])
    assert only(flat("N / 4", "N", columns, reading=strict)) == "same-element"
    assert flat("N / 4", "N", columns, reading=broadcast).findings == {}
    middle = command(100, 200, [(2, 0, 6), (3, 1, 2), (2, 0, 1)])
    assert flat("N / 2 % 3", "N", middle, reading=broadcast).findings == {}
    assert flat("N", "N", command(100, 200, burst=12), reading=broadcast).findings == {}
    assert flat("$(N % 4:1)", "N", rows, reading=broadcast).findings == {}
    held = flat("N", "N", command(100, 200, [(3, 0, 4)], 4), reading=broadcast)
    assert held.findings["same-element"].dest_coordinates == {"N": 4}  # the source has it: nothing is missing


# ---------------------------------------------------------------- padding


def test_a_live_cell_must_not_get_padding() -> None:
    done = flat("B # 4", "B", command(101, 200, burst=3))
    assert done.findings["reads-live"].kinds == ("top", "live")
    assert (done.findings["reads-live"].count, done.findings["reads-live"].counters) == (1, (2,))
    assert set(done.findings) == {"reads-live", "same-element", "consumes"}
    assert flat("B # 4", "B", command(100, 200, burst=3)).findings == {}


def test_what_adds_up_beyond_an_axis_is_padding() -> None:
    """docs/machines/rngd.md 1.3, item 8: with C=3, `C # 4 / 2, C # 4 % 2` has no element at its fourth position."""
    split = "B # 4 / 2, B # 4 % 2"
    assert flat(split, "B", command(100, 200, burst=3)).findings == {}
    assert flat(split, "B # 4", command(100, 200, burst=4)).findings == {}
    assert flat(split, "4", command(100, 200, burst=4)).findings["reads-live"].counters == (3,)


def test_top_padding_may_be_written_or_not() -> None:
    assert flat("B # 4", "B # 4", command(100, 200, burst=4)).findings == {}
    assert flat("B # 4", "B # 4", command(100, 200, burst=3)).findings == {}
    assert flat("A", "B # 4", command(100, 200, burst=4)).broken == {"core/same-element"}


def test_bottom_padding_may_not_be_touched() -> None:
    done = flat("B # 4", "B #{!} 4", command(100, 200, burst=4))
    assert done.findings[only(done)].kinds == ("top", "bottom")
    assert only(done) == "padding:write-bottom"
    assert flat("B # 4", "B #{!} 4", command(100, 200, burst=3)).findings == {}
    done = flat("B #{!} 4", "B # 4", command(100, 200, burst=4))
    assert done.findings[only(done)].kinds == ("bottom", "top")
    assert only(done) == "padding:read-bottom"


def test_cells_that_resizing_adds_are_top_to_a_read_and_bottom_to_a_write() -> None:
    assert only(flat("B # 4", "B = 4", command(100, 200, burst=4))) == "padding:write-bottom"
    assert flat("B = 4", "B # 4", command(100, 200, burst=4)).findings == {}
    done = flat("B = 4", "1, 4", command(103, 200, [(4, 0, 1)]))
    assert done.findings["reads-live"].kinds == ("out-of-bounds", "live")


def test_zero_padding_ends_as_zero() -> None:
    assert flat("B #{0} 4", "B #{0} 4", command(100, 200, burst=4)).findings == {}
    done = flat("B #{0} 4", "B #{0} 4", command(100, 200, burst=3))
    assert done.findings[only(done)].write_address == 203
    assert only(done) == "padding:zero-unwritten"
    done = flat("B # 4", "B #{0} 4", command(100, 200, burst=4))
    assert done.findings[only(done)].kinds == ("top", "zero")
    assert only(done) == "padding:zero-overwritten"
    live = flat("B #{0} 4", "B #{0} 4", command(100, 200, burst=3), command(101, 203))
    assert live.findings[only(live)].source_coordinates == {"B": 1}


# ---------------------------------------------------------------- once, all of it, something


def test_a_second_write_is_found_within_and_across_commands() -> None:
    done = flat("A", "A", command(100, 200, [(2, 0, 0)], 4))
    v = done.findings[only(done)]
    assert (only(done), v.count, v.counters, v.other) == ("writes-once", 4, (1, 0), (0, (0, 0)))
    done = flat("A", "A", command(100, 200, burst=3), command(102, 202, burst=2))
    v = done.findings[only(done)]
    assert (v.count, v.command, v.counters, v.other, v.write_address) == (1, 1, (0,), (0, (2,)), 202)
    assert flat("A", "A", command(100, 200, burst=2), command(102, 202, burst=2)).findings == {}


def test_a_second_write_counts_outside_the_region_and_in_padding_too() -> None:
    beyond = flat("A", "A", command(100, 200, burst=4), command(100, 300), command(100, 301), command(100, 301))
    assert set(beyond.findings) == {"in-bounds:write", "writes-once"}
    v = beyond.findings["writes-once"]
    assert (v.count, v.command, v.other, v.write_address) == (1, 3, (2, (0,)), 301)
    padded = flat("B # 4", "B # 4", command(100, 200, burst=4), command(103, 203))
    assert padded.findings[only(padded)].write_address == 203


def test_the_first_of_several_second_writes_is_told_whichever_side_of_the_border_it_lies() -> None:
    outside_first = [command(100, 200, burst=4), command(100, 300), command(100, 300), command(100, 200)]
    v = flat("A", "A", *outside_first).findings["writes-once"]
    assert (v.count, v.command, v.other) == (2, 2, (1, (0,)))
    inside_first = [command(100, 200, burst=4), command(100, 300), command(100, 200), command(100, 300)]
    v = flat("A", "A", *inside_first).findings["writes-once"]
    assert (v.count, v.command, v.other) == (2, 2, (0, (0,)))


def test_a_cell_that_nobody_writes_is_told_by_the_first_position() -> None:
    done = flat("A, B", "A, B", command(100, 200, [(4, 3, 3)], 2))
    v = done.findings["covers"]
    assert (v.count, v.write_address, v.dest_coordinates, v.kinds) == (4, 202, {"A": 0, "B": 2}, (None, "live"))
    assert (done.findings["consumes"].count, done.findings["consumes"].source_coordinates) == (4, {"A": 0, "B": 2})
    assert done.broken == {"core/covers", "core/consumes"}


def test_elements_are_left_behind_only_if_no_replica_is_read() -> None:
    done = flat("2, A", "A", command(100, 200, burst=2), command(106, 202, burst=2))
    assert done.findings == {}
    done = flat("2, A", "A = 3", command(100, 200, burst=3))
    assert (only(done), done.findings["consumes"].count) == ("consumes", 1)
    assert done.findings["consumes"].read_address == 103


def test_a_move_of_nothing_is_vacuous() -> None:
    assert flat("A", "A").broken == {"core/not-vacuous", "core/covers", "core/consumes"}
    assert "core/not-vacuous" in flat("A", "A", command(100, 200, [(0, 1, 1)])).broken
    assert flat("1", "1 # 2 / 2 # 2 @ 1", command(100, 200)).broken == {"core/not-vacuous"}
    assert flat("1", "1 # 2", command(100, 200)).broken == frozenset()


# ---------------------------------------------------------------- windows


def test_a_position_of_overlapping_windows_serves_all_its_indices() -> None:
    """docs/machines/rngd.md 1.6: `$(A:1, B:2)` holds (a, b) at a + 2b."""
    unfold = command(100, 200, [(4, 1, 3), (3, 2, 1)])
    done = flat("$(A:1, B:2)", "A, B", unfold)
    assert (done.findings, done.units_equal) == ({}, 12)
    done = flat("$(A:1, B:2)", "A, B", command(100, 200, [(4, 1, 3), (3, 1, 1)]))
    assert done.findings["same-element"].dest_coordinates == {"A": 0, "B": 1}
    assert done.findings["same-element"].count == 8
    assert done.findings["consumes"].source_coordinates == {"A": 2, "B": 2}


def test_a_window_in_the_destination_asks_for_all_its_indices() -> None:
    assert flat("$(A:1, B:2)", "$(A:1, B:2)", command(100, 200, burst=8)).findings == {}
    done = flat("A, B", "$(A:1, B:2)", command(100, 200, burst=8))
    assert "same-element" in done.findings


# ---------------------------------------------------------------- limits


def test_what_is_too_large_is_refused_and_not_sampled() -> None:
    sides = Tensor("hbm", m("A")), Tensor("hbm", m("A"), base=100)
    move = command(0, 100, burst=4)
    assert execute(*sides, HBM, HBM, 8, [move], limit_units=4).findings == {}
    with pytest.raises(TooLarge) as caught:
        execute(*sides, HBM, HBM, 8, [move], limit_units=3)
    assert caught.value.units == 4
    with pytest.raises(TooLarge):
        execute(*sides, HBM, HBM, 8, [command(0, 100, [(1 << 80, 0, 0)])])
    with pytest.raises(TooLarge):
        execute(sides[0], Tensor("hbm", m("Z", Z=1 << 60)), HBM, HBM, 8, [move])


def test_a_slice_that_reaches_into_the_next_is_refused() -> None:
    fits, wide = m("Z", Z=SLICE), m("Z", Z=SLICE + 1)
    sides = [Tensor("dm", element, slice=m("2")) for element in (fits, wide)]
    assert execute(Tensor("hbm", m("1")), sides[0], HBM, DM, 8, []).dest_live_units == 2 * SLICE
    with pytest.raises(Aliased):
        execute(Tensor("hbm", m("1")), sides[1], HBM, DM, 8, [])


@pytest.mark.parametrize("far", [1 << 62, 1 << 70, -(1 << 90)])
def test_addresses_of_any_size_are_exact(far: int) -> None:
    sides = Tensor("hbm", m("A"), base=far), Tensor("hbm", m("A"), base=far + 8)
    assert execute(*sides, HBM, HBM, 8, [command(far, far + 8, burst=4)]).findings == {}
    lost = execute(*sides, HBM, HBM, 8, [command(0, 0, [(4, 1 << 64, 1 << 64)]), command(0, 0)]).findings
    assert set(lost) == {"in-bounds:read", "in-bounds:write", "covers", "consumes", "writes-once"}
    v = lost["in-bounds:write"]
    assert (v.count, v.counters) == (5, (0, 0))
    assert lost["writes-once"].other == (0, (0, 0))
    mixed = Tensor("hbm", m("A")), Tensor("hbm", m("A"), base=8)
    stray = execute(*mixed, HBM, HBM, 8, [command(0, 8, burst=4), command(far, far)]).findings
    assert stray["in-bounds:read"].read_address == far
    assert set(stray) == {"in-bounds:read", "in-bounds:write"}


@pytest.mark.slow
def test_a_large_move_is_judged_in_full() -> None:
    """2^21 bytes: several batches, and one wrong byte among them."""
    sides = Tensor("hbm", m("X, Y", X=2048, Y=1024)), Tensor("hbm", m("Y, X", X=2048, Y=1024), base=1 << 30)
    loops = [(2048, 1024, 1), (1024, 1, 2048)]
    good = execute(*sides, HBM, HBM, 8, [command(0, 1 << 30, loops)])
    assert (good.findings, good.units_equal) == ({}, 1 << 21)
    again = execute(*sides, HBM, HBM, 8, [command(0, 1 << 30, loops), command(5, (1 << 30) + 4096 * 3)])
    v = again.findings["writes-once"]
    assert (v.count, v.command, v.other) == (1, 1, (0, (0, 6, 0)))
    assert again.findings["same-element"].dest_coordinates == {"X": 0, "Y": 6}


def test_real_content_arrives_as_the_commands_say() -> None:
    done = flat("A, B", "B, A", command(100, 200, [(4, 3, 1), (3, 1, 4)]))
    values = np.arange(12)
    assert done.move(values, np.zeros(12, int)).reshape(3, 4).tolist() == values.reshape(4, 3).T.tolist()
    part = flat("A, B", "B, A", command(100, 200, burst=3))
    assert part.move(values, np.full(12, -1)).tolist() == [0, 1, 2, *[-1] * 9]
