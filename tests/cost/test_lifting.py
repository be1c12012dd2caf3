"""Every bound with what stands behind it, and what would lift it: true where it is said, silent elsewhere.

Knows: programs whose bounds can be told on paper, and the same programs with the advice followed.
Does not know: how sentences are made.
Law: following what is said to lift a bound makes it smaller.
"""

from __future__ import annotations

import random
import re

import pytest
from cost_programs import SLICE, command, dm, example_4, example_5, hbm, well_ordered_4

from dmaverify.cost.changed import on_windows
from dmaverify.cost.constants import profiles
from dmaverify.cost.explain import explain
from dmaverify.cost.inside import moved_inside
from dmaverify.cost.lifting import Behind
from dmaverify.cost.model import cost
from dmaverify.program.command import Command, Loop, Port

DMN = 32 * SLICE


def bounds(commands: list[Command], profile: str = "book") -> dict[str, Behind]:
    return {one.name: one for one in explain(commands, profile=profile).bounds}


@pytest.mark.parametrize("profile", profiles())
def test_bit_8_of_example_5_is_named_in_every_profile(profile: str) -> None:
    seen = explain(example_5(), profile=profile)
    assert any("bit 8" in one.lift for one in seen.bounds)
    channels = bounds(example_5(), profile)["channels, all engines"]
    assert "16 of 32 channels, 1 of 2 stacks, address bit 8 never toggled" in channels.behind
    assert "toggle bit 8" in channels.lift
    lifted = bounds(example_5(bit_8=True), profile)["channels, all engines"]
    assert lifted.cycles < channels.cycles
    assert "bit 8" not in lifted.behind + lifted.lift


def test_row_bits_and_the_loops_to_move_are_named_and_moving_them_helps() -> None:
    rows = bounds(example_4())["row switches, all engines"]
    assert "row bits 21, 22, 23, 24, 25, 26" in rows.behind
    assert "inside of those that toggle bits 21, 22, 23, 24, 25, 26: 131,316.0 cycles in place of 645,621" in rows.lift
    order = [(32, 1 << 21, SLICE), (2, 1 << 26, DMN), (256, 1024, 1024), (4, 256, 256)]
    assert cost(example_4(order)).cycles == 131_316
    after = bounds(well_ordered_4()).get("row switches, all engines")
    assert after is None or after.cycles < rows.cycles


def test_one_dmn_names_bit_27_and_two_in_turns_are_faster() -> None:
    one = bounds([command(hbm(), dm(), [(32, 512, SLICE), (2, 256, 256)], 256)])["DMNs"]
    assert "write: 1 DMN, 32 slices" in one.behind
    assert "bit 27" in one.lift
    two = bounds([command(hbm(), dm(), [(32, 512, SLICE), (2, 256, DMN)], 256)])["DMNs"]
    assert two.cycles < one.cycles
    assert two.lift == ""


def test_windows_in_part_are_counted_and_whole_rows_have_none() -> None:
    def store(run: int) -> list[Command]:
        return [command(dm(), hbm(), [(32, SLICE, run)], run)]

    part = bounds(store(120))["partial windows"]
    assert "windows in part: packets of 120 B in runs of 3,840 B" in part.behind
    assert part.lift.startswith("rows padded to whole windows of 256 bytes on both sides")
    assert cost([command(dm(), hbm(), [(32, SLICE, 256)], 256)]).cycles == 563
    assert part.lift.endswith(": 563.0 cycles in place of 1,562.3")
    assert "partial windows" not in bounds(store(256))


CONTIGUOUS = "which are contiguous on both sides"
PADDED = "begin rows of 264 B of the destination on 256 bytes (base and padding)"


@pytest.mark.parametrize(
    ("base", "rows", "packet", "said", "followed"),
    [
        (0, 256, 16, f"packets of 1,024 B, {CONTIGUOUS}", (0, 256, 256)),
        (0, 512, 16, f"packets of 256 B, {CONTIGUOUS}", (0, 512, 256)),
        (8, 256, 16, f"packets of 1,024 B, {CONTIGUOUS}; begin the destination on 256 bytes (its base)", (0, 256, 256)),
        (0, 264, 16, f"packets of 256 B, {CONTIGUOUS}; {PADDED}", (0, 512, 256)),
        (8, 256, 256, "begin the destination on 256 bytes: all packets are whole windows", (0, 256, 256)),
        (0, 264, 256, PADDED, (0, 512, 256)),
    ],
    ids=["packets", "packets-of-rows", "packets-and-base", "packets-and-rows", "base", "rows"],
)
def test_windows_in_part_are_lifted_by_what_makes_them(
    base: int, rows: int, packet: int, said: str, followed: tuple[int, int, int]
) -> None:
    """Rows of 256 bytes, of which padding alone makes packets of 16 bytes no cheaper."""

    def store(base: int, rows: int, packet: int, loads: int = 0) -> list[Command]:
        walked = [(4, loads or rows, rows), *([(256 // packet, packet, packet)] if packet < 256 else [])]
        return [command(hbm(), hbm(1 << 20 | base), walked, packet)]

    seen = bounds(store(base, rows, packet))["partial windows"].lift
    after = store(*followed, loads=rows)
    figures = f": {cost(after).cycles:,.1f} cycles in place of {cost(store(base, rows, packet)).cycles:,.1f}"
    assert seen == said + ("" if said.endswith("whole windows") else figures)
    assert "partial windows" not in bounds(after)


def test_runs_that_no_packet_and_no_padding_makes_cheaper_are_told_to_be_short() -> None:
    seen = bounds([command(hbm(), hbm(1 << 20), [(64, 8, 512), (64, 512, 8)], 8)])["partial windows"].lift
    assert seen.startswith("longer runs (layout): of the 8 B that both sides have in one piece")


def test_two_dmns_in_turn_promise_what_they_take() -> None:
    """Packets of 2 KB come eight requests in a row to one DMN, which waits for them; of 256 bytes, none does."""
    for packet, count in ((2048, 32), (256, 256)):
        far = packet * count // 2
        one = [command(hbm(), dm(), [(count, packet, packet)], packet)]
        two = [command(hbm(), dm(), [(count // 2, packet, packet), (2, far, DMN)], packet)]
        figures = f": {cost(two).cycles:,.1f} cycles in place of {cost(one).cycles:,.1f}"
        lifts = [line for line in explain(one).advice if "both of an engine's DMNs" in line]
        assert lifts == [f"slices in both of an engine's DMNs (bit 27; layout, not loop order){figures}"]


def test_padding_of_rows_stretches_what_steps_over_them() -> None:
    def store(row: int) -> list[Command]:
        return [command(dm(), hbm(), [(4, 1024, 3 * row), (3, SLICE, row)], 264)]

    assert [on_windows(one, 256) for one in store(264)] == store(512)


def test_what_lifts_nothing_alone_is_not_advised() -> None:
    """Fifteen packets have no halves for two DMNs; an even number of them has, and whole windows help after that."""
    for packets, told in ((15, False), (16, True)):
        seen = explain([command(hbm(8), dm(), [(packets, 512, SLICE)], 512)])
        below = next(one.lift for one in seen.bounds if one.name == "read issue")
        assert below.startswith("begin runs on 256 bytes")
        assert (below in seen.advice, bool(seen.bounds[0].lift)) == (told, told)


def test_short_runs_pay_for_whole_windows_and_longer_ones_do_not() -> None:
    def load(run: int, count: int) -> list[Command]:
        return [command(hbm(), dm(), [(count, 512, SLICE)], run)]

    short = bounds(load(128, 64))["read issue"]
    assert "pays for a whole window" in short.lift
    assert bounds(load(256, 32))["read issue"].cycles < short.cycles


def test_bank_groups_name_their_bits_and_no_order_since_none_changes_their_loads() -> None:
    inner = [(2, 1 << 13, DMN), (64, 0, SLICE)]
    seen = bounds([command(hbm(), dm(), inner, 256)])
    groups = seen["bank groups"]
    assert "bank group bits 13, 19" in groups.behind
    moved = bounds([command(hbm(), dm(), inner[::-1], 256)])["bank groups"]
    assert "bits 13, 19" not in moved.behind
    assert (moved.cycles, groups.lift) == (groups.cycles, "")


def test_a_bound_of_which_nothing_is_known_has_no_sentence() -> None:
    spm = Command(Port("spm", 0), Port("dm", 0), (Loop(64, 256, SLICE),), 256, 256)
    assert (bounds([spm])["SPM"].behind, bounds([spm])["SPM"].lift) == ("", "")
    alike = [command(hbm(), dm(), [(64, 256, SLICE), (2, 1 << 20, DMN)], 256)]
    assert bounds(alike)["channels"].lift == ""


def shuffled(seed: int) -> Command:
    """A load or store whose loops have one address bit each, in any order."""
    rng = random.Random(seed)
    number = rng.randint(6, 12)
    far = rng.sample(range(8, 30), number)
    slices = rng.sample(range(22, 30), rng.randint(max(0, number - 11), min(8, number)))
    near = rng.sample([*slices, *rng.sample(range(8, 19), number - len(slices))], number)
    ends = [(2, 1 << one, 1 << other) for one, other in zip(far, near, strict=True)]
    if rng.random() < 0.6:
        return command(hbm(), dm(), ends, 256)
    return command(dm(), hbm(), [(count, write, read) for count, read, write in ends], 256)


def test_an_order_that_is_said_to_lift_a_bound_does_and_costs_what_is_said() -> None:
    """Of shuffled loops, of which few orders help where the queue already takes what is in a row together."""
    said = 0
    for seed in range(400):
        program = [shuffled(seed)]
        seen = explain(program)
        lines = [(one.name, one.lift) for one in seen.bounds]
        for name, line in lines:
            found = re.search(r"move the loops? that toggles? bits? ([\d, ]+) inside", line)
            if not found:
                continue
            said += 1
            write = ("dm" if "DMN" in name else "hbm") == program[0].write.tier
            after = cost(moved_inside(program, map(int, found[1].split(",")), "write" if write else "read"))
            assert after.cycles <= seen.cost.cycles
            if "in place of" in line:
                assert f": {after.cycles:,.1f} cycles in place of {seen.cost.cycles:,.1f}" in line
            else:
                of = {term.name: term.cycles for term in after.terms}
                assert of.get(name, 0) < next(term.cycles for term in seen.cost.terms if term.name == name)
    assert said > 20


def test_loops_are_moved_inside_in_their_order_and_only_those_that_change_a_bit() -> None:
    program = [command(hbm(), dm(), [(4, 3 << 8, 256), (2, 1 << 13, DMN), (8, 1 << 8, SLICE)], 256)]
    (moved,) = moved_inside(program, [9], "read")
    assert [loop.count for loop in moved.loops] == [2, 4, 8]
    assert moved_inside(program, [22], "write")[0].loops[-1].count == 8
    assert moved_inside(program, [30], "read") == program
