"""The explanation names what kernel writers work out by hand, the binding resource, the bits, and what would help.

Knows: programs whose facts can be counted on paper. Does not know: how they are counted.
Law: each expected number is derived in the test's own words.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from cost_programs import (
    BASIC,
    EXAMPLE_1,
    EXAMPLE_2,
    EXAMPLE_3,
    SLICE,
    command,
    dm,
    engines,
    example_4,
    example_5,
    hbm,
    well_ordered_4,
)
from hypothesis import given
from hypothesis import strategies as st

from dmaverify.cost.constants import TICKS, cost_data
from dmaverify.cost.explain import explain
from dmaverify.cost.formula import formula
from dmaverify.cost.inside import toggled, toggled_by
from dmaverify.cost.lifting import Behind
from dmaverify.cost.model import cost
from dmaverify.cost.nest import PacketNest
from dmaverify.cost.sides import pairs_of
from dmaverify.errors import InputError
from dmaverify.program.command import Command
from dmaverify.report.cost import explanation_lines
from dmaverify.synth.advice import stuck_bits


def test_example_5_names_bit_8_and_says_that_no_order_can_help() -> None:
    seen = explain(example_5())
    read = seen.sides[0]
    assert (read.channels, read.stacks) == (16, 1)
    assert 8 not in read.toggled
    assert read.never == ((8, "stack"),)
    assert "16 of 32 channels" in seen.because
    assert "bit 8" in seen.advice[0]
    assert "layout, not loop order" in seen.advice[0]
    assert not any("bit 8" in line for line in explain(example_5(bit_8=True)).advice)


def test_what_would_lift_a_bound_far_from_the_dearest_is_no_advice() -> None:
    seen = explain(example_5(), profile="silicon")
    channels = next(one for one in seen.bounds if one.name == "channels, all engines")
    assert channels.cycles < seen.bounds[0].cycles / 2
    assert "bit 8" in channels.lift
    assert channels.lift not in seen.advice
    bounds = [Behind(name, cycles, "", name) for name, cycles in (("a", 100.0), ("b", 50.0), ("c", 49.9))]
    assert replace(seen, bounds=tuple(bounds)).advice == ["a", "b"]


def test_example_4_names_the_row_bits_and_the_loops_to_move_inside() -> None:
    seen = explain(example_4())
    assert seen.binding == "row switches, all engines"
    assert set(range(21, 27)) <= set(seen.sides[0].toggled_inner)
    assert "inside of those that toggle bits 21, 22, 23, 24, 25, 26" in seen.advice[0]
    assert "move the loops that toggle bits 8, 9" in seen.advice[0]
    assert seen.sides[0].never == ()
    assert seen.sides[1].slices == 512
    assert seen.sides[0].row_switches <= seen.sides[0].row_changes < 524_288


def test_a_profile_that_is_blind_to_rows_names_none_and_lifts_none() -> None:
    for program in (example_4(), well_ordered_4()):
        seen = explain(program, profile="schedule")
        assert not any("row" in line for line in seen.advice)
        assert not any("row" in term.name for term in seen.cost.terms)
    assert any("row bits" in one.behind for one in explain(example_4(), profile="silicon").bounds)


def test_in_order_of_arrival_example_4_pays_what_the_document_charges() -> None:
    """16,384 requests a channel at 40 cycles; the first of each of its 32 banks opens a closed row for nothing."""
    changes = explain(example_4()).sides[0].row_changes
    assert changes is not None
    assert changes == 524_288 - 32 * 32
    assert 500 + changes / 32 * 40 == pytest.approx(655_860, rel=0.002)


def test_bits_that_nothing_toggles_are_told_with_what_they_select() -> None:
    one_channel = explain([command(hbm(), dm(), [(4, 1 << 29, SLICE), (2, 0, 32 * SLICE)], 256)])
    assert [bit for bit, _ in one_channel.sides[0].never] == [8, 9, 10, 11, 12]
    by_xor = explain([command(hbm(), dm(), [(16, 1 << 13, SLICE), (2, 0, 32 * SLICE)], 256)])
    assert [bit for bit, _ in by_xor.sides[0].never] == [8]
    one_dmn = explain([command(hbm(), dm(), [(32, 256, SLICE)], 256)])
    assert one_dmn.sides[1].never == ((27, "DMN of the engine"),)


def test_what_silicon_is_slow_at_is_told_by_the_profile_that_prices_it() -> None:
    """Four engines over the same 60 windows; and four engines of a cluster over one stack."""
    shared = [command(hbm(), dm(e.dmn * 64 * SLICE), [(60, 256, 256), (64, 0, SLICE)], 256, e) for e in engines()[:4]]
    seen = explain(shared, profile="measured")
    assert "4 engines read the same windows in turn" in seen.because
    assert "let each read a part of them for all slices (no published row does" in seen.advice[0]
    assert not any("a part of them" in line for line in explain(shared).advice)
    lone = explain(example_5()[:4], profile="measured")
    assert lone.binding.startswith("stack port")
    assert "address bit 8 selects the stack" in lone.bounds[0].behind
    assert "toggle bit 8" in lone.advice[0]


def test_only_clusters_that_keep_to_one_stack_are_told_to_use_both() -> None:
    """Of the two clusters each takes another stack; in example 4 both take both."""
    each = [command(hbm(e.cluster << 8), dm(0, e.cluster), [(64, 512, SLICE)], 256, e) for e in engines()[::4]]
    (of_one,) = (one for one in explain(each, profile="measured").bounds if one.name == "stack port, all engines")
    assert of_one.lift == "spread each cluster's part over both stacks (address bit 8)"
    ports = [one for one in explain(example_4(), profile="measured").bounds if one.name.startswith("stack port")]
    assert ports
    assert not any(one.lift for one in ports)


def test_what_windows_written_in_part_cost_in_schedules_is_told_and_is_what_whole_ones_save() -> None:
    """64 rows of 192 bytes at a pitch of 256, and of 256: as many windows, of which the former write each in part."""
    part, whole = ([command(dm(), hbm(), [(64, SLICE, 256)], size)] for size in (192, 256))
    seen = explain(part, profile="schedule")
    more = cost_data("schedule").ticks("issue_partial") / TICKS
    assert f"64 of them write a window in part, which takes {more:.2f} cycles more" in seen.because
    assert seen.cost.cycles - cost(whole, profile="schedule").cycles == pytest.approx(64 * more)
    assert seen.advice[0].startswith("rows padded to whole windows of 256 bytes on both sides")
    assert "in part" not in explain(whole, profile="schedule").because + explain(part).because.replace(
        "written in part", ""
    )


@pytest.mark.parametrize("readers", [64, 256])
def test_a_window_that_everybody_reads_is_to_be_loaded_once_where_that_costs_less(readers: int) -> None:
    """The load of one window, and a copy of it behind that: another start-up, which 64 readers do not make up for."""
    one = [command(hbm(), dm(), [(readers, 0, SLICE)], 256)]
    both = [
        cost(some).cycles
        for some in ([command(hbm(), dm(), [], 256)], [command(dm(), dm(), [(readers, 0, SLICE)], 256)])
    ]
    told = [line for line in explain(one).advice if line.startswith("load 1 window once")]
    figures = f"{sum(both):,.1f} cycles in place of {cost(one).cycles:,.1f}"
    assert told == ([f"load 1 window once, not 256 times, and copy within DM: {figures}"] if readers == 256 else [])
    assert not any("copy within DM" in line for line in explain(one, profile="schedule").advice)


def test_two_channels_less_are_no_reason_for_another_layout() -> None:
    """64 runs of 120 bytes touch 30 windows, each in a channel of its own."""
    assert not any("channels" in line for line in explain([command(hbm(), dm(), [(64, 120, SLICE)], 120)]).advice)


def test_the_text_tells_windows_of_a_packet_and_of_a_run() -> None:
    lines = "\n".join(explanation_lines(explain([command(hbm(), dm(), [(64, 120, SLICE)], 120)])))
    assert "92 aligned 256-byte windows touched, 1.44 a packet, 92.00 a run" in lines
    assert "partial windows" not in lines


def test_half_bytes_are_refused_with_what_to_write() -> None:
    odd = replace(command(hbm(), dm(), [(4, 3, 3)], 2), unit_bits=4)
    with pytest.raises(InputError, match="half a byte") as caught:
        cost([odd])
    assert "even number of elements" in (caught.value.hint or "")
    even = replace(command(hbm(), dm(), [(4, 32, 32)], 16), unit_bits=4)
    assert cost([even]).sides[0][0].nest.size == 8


BRUTE = st.tuples(
    st.integers(0, 1 << 14),
    st.lists(st.tuples(st.integers(1, 6), st.integers(-700, 4096)), max_size=4),
    st.integers(1, 300),
)


@given(nest=BRUTE)
def test_the_bits_that_loops_change_are_those_that_differ_between_two_bytes(
    nest: tuple[int, list[tuple[int, int]], int],
) -> None:
    """Carries of loops and packets together are not lost: rows of 264 B at a stride of 512 change bit 8."""
    start, loops, size = nest
    base = start + 700 * 6 * len(loops)
    places = [base + byte for byte in range(size)]
    for count, stride in loops:
        places = sorted({place + turn * stride for place in places for turn in range(count)})
    differ = 0
    for place in places:
        differ |= place ^ places[0]
    expected = {bit for bit in range(differ.bit_length()) if differ >> bit & 1}
    one = PacketNest(base, tuple(loops), size)
    assert toggled(one) == toggled_by([one]) == expected


@pytest.mark.parametrize(("bases", "bits"), [((0,), (12,)), ((0, 1 << 12), ()), ((0, 1 << 9), (12,))])
def test_a_bit_that_carries_or_commands_toggle_is_not_said_to_be_stuck(
    bases: tuple[int, ...], bits: tuple[int, ...]
) -> None:
    """Four rows 768 bytes apart begin at 0, 768, 1,536 and 2,304: the last one alone has bit 11."""
    data = cost_data("book")
    rows = [command(hbm(base), dm(), [(4, 768, SLICE)], 256) for base in bases]
    assert stuck_bits([read for read, _ in pairs_of(rows, data)], data) == bits


def test_rows_that_run_over_a_window_change_the_bit_of_the_stack() -> None:
    rows = replace(command(hbm(), hbm(1 << 20), [(16, 512, 512), (2, 132, 132)], 132), packet=132)
    assert [side.never for side in explain([rows]).sides] == [(), ()]


def test_channels_that_were_not_counted_are_not_told_as_none_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmaverify.cost.nest.STATES", 0)
    monkeypatch.setattr("dmaverify.cost.nest.FEW", 0)
    odd = explain([command(hbm(8), dm(), [(3, 7000, 24 * 256), (5, 808, 256)], 256)])
    assert odd.sides[0].channels is None
    assert any("not counted" in line for line in explanation_lines(odd))


def test_runs_windows_and_offsets_are_those_of_the_address_arithmetic() -> None:
    """64 rows of 120 bytes, 128 apart: offsets 0 and 128, never across a boundary; end to end they are one run of
    7,680.
    """
    apart = explain([command(hbm(), dm(), [(64, 128, SLICE)], 120)]).sides[0]
    assert (apart.run_bytes, apart.offsets, apart.windows, apart.crossing_packets) == (120, (0, 128), 64, 0)
    joined = explain([command(hbm(), dm(), [(64, 120, SLICE)], 120)]).sides[0]
    assert (joined.run_bytes, joined.windows, joined.crossing_packets) == (7680, 92, 28)


def test_readers_of_a_region_are_the_loops_that_stay() -> None:
    shared = [command(hbm(), dm(), [(16, 256, 256), (64, 0, SLICE)], 256)]
    assert explain(shared).sides[0].readers == 64
    assert explain(EXAMPLE_2).sides[0].readers == 1


def test_slices_dmns_and_banks_in_use_are_counted() -> None:
    seen = explain(EXAMPLE_2)
    read, write = seen.sides
    assert (write.dmns, write.slices) == (2, 64)
    assert (read.channels, read.stacks, read.banks) == (32, 2, 32)
    assert seen.engines == seen.commands == 1


def test_partial_writes_are_told_with_their_run() -> None:
    seen = explain(BASIC)
    assert seen.sides[1].partial_windows == 96
    assert any("96 of 96 windows in part" in one.behind for one in seen.bounds)
    assert seen.advice[0].startswith("begin rows of 96 B of the destination on 256 bytes")


def test_one_dmn_is_told() -> None:
    half = [command(hbm(), dm(), [(64, 8192, 256), (32, 256, SLICE)], 256)]
    assert any("both of an engine's DMNs (bit 27; layout, not loop order)" in line for line in explain(half).advice)
    assert not any("DMNs" in line for line in explain(EXAMPLE_2).advice)


def test_a_good_order_is_told_of_more_engines_where_nothing_else_binds() -> None:
    """Two DMNs bind as much as the engine that issues for them; loads of eight do not."""
    assert explain(EXAMPLE_2).advice == []
    many = [command(hbm(), dm(), [(32, 8192, SLICE), (4, 256, 256), (8, 1024, 32 * SLICE)], 256)]
    share = "one engine issues every request: share the work among engines: 756.0 cycles in place of 1,524.0"
    assert explain(many).advice == [share]


def test_the_start_up_is_told_where_it_costs_more_than_anything_else() -> None:
    assert any("start-up" in line for line in explain(EXAMPLE_1).advice)
    for base, told in ((0, True), (8, False)):  # windows in part, that cost more
        seen = explain([command(dm(), hbm(base), [(64, SLICE, 256)], 256)])
        assert any("start-up" in line for line in seen.advice) is told


def test_the_explanation_as_data_holds_both_sides_and_every_bound() -> None:
    found = explain(EXAMPLE_2)
    data = found.as_data()
    assert [side["role"] for side in data["sides"]] == ["read", "write"]
    assert [one["name"] for one in data["bounds"]] == [term.name for term in found.cost.terms[1:]]
    assert all(term.source for term in found.cost.terms)


@pytest.mark.parametrize("program", [EXAMPLE_1, EXAMPLE_2, EXAMPLE_3], ids=["1", "2", "3"])
def test_the_formula_at_the_plans_own_counts_is_the_cost_term(program: list[Command]) -> None:
    terms = {term.name: term.cycles for term in cost(program).terms}
    shared = [one for one in formula(program[0]) if one.name in terms]
    assert len(shared) >= 2
    assert {one.name: one.cycles for one in shared} == {one.name: terms[one.name] for one in shared}


def test_the_formula_speaks_in_the_labels_of_the_loops() -> None:
    loops = tuple(
        type(loop)(loop.count, loop.read, loop.write, label)
        for loop, label in zip(EXAMPLE_2[0].loops, ("B", "A%4", "A/4%32", "A/128"), strict=True)
    )
    labelled = Command(EXAMPLE_2[0].read, EXAMPLE_2[0].write, loops, 256, 256)
    text = next(one.text for one in formula(labelled) if one.name == "read issue")
    assert text == "A_128*A_4*A_4_32*B"
