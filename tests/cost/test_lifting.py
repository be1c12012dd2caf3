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
    assert "begin and end on 256" in part.lift
    assert "partial windows" not in bounds(store(256))


@pytest.mark.parametrize(
    ("base", "rows", "packet", "said"),
    [
        (0, 256, 16, "packets of 256 bytes or multiples: 1,024 B are contiguous"),
        (0, 512, 16, "packets of 256 bytes or multiples: 256 B are contiguous"),
        (8, 256, 16, "runs that begin and end on 256 bytes"),
        (0, 264, 16, "runs that begin and end on 256 bytes"),
        (8, 256, 256, "begin the destination on 256 bytes"),
        (0, 264, 256, "runs that begin and end on 256 bytes"),
    ],
)
def test_windows_in_part_are_lifted_by_what_makes_them(base: int, rows: int, packet: int, said: str) -> None:
    def told(base: int, rows: int, packet: int) -> tuple[float, str]:
        store = [(4, rows, rows), *([(256 // packet, packet, packet)] if packet < 256 else [])]
        seen = bounds([command(hbm(), hbm(1 << 20 | base), store, packet)])
        return (
            (seen["partial windows"].cycles, seen["partial windows"].lift) if "partial windows" in seen else (0.0, "")
        )

    cycles, lift = told(base, rows, packet)
    assert lift.startswith(said)
    after = told(0, rows, packet) if "destination on" in said else told(base, rows, 256)
    assert (after[0] < cycles) or said.startswith("runs")
    assert (after[0] == 0) != said.startswith("runs")


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
