"""Families of commands: the same units as the commands one by one, and every unit knows its command."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from dmaverify.layout.refine import Nest
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.space import global_address
from dmaverify.prove.move.fold import Family, fold

Unit = tuple[int, int]


def command(
    read: int, write: int, loops: tuple[tuple[int, int, int], ...] = (), burst: int = 4, **place: int
) -> Command:
    return Command(
        Port("hbm", read, place.get("chip_read", 0)),
        Port("dm", write, place.get("chip", 0), place.get("cluster", 0)),
        tuple(Loop(*loop) for loop in loops),
        burst,
        burst,
    )


def units_of_command(one: Command) -> list[Unit]:
    nest = [*((x.count, x.read, x.write) for x in one.loops), (one.burst, 1, 1)]
    read, write = (global_address(port, port.base) for port in (one.read, one.write))
    return [
        (read + sum(r * c for (_, r, _), c in zip(nest, cs, strict=True)),
         write + sum(w * c for (_, _, w), c in zip(nest, cs, strict=True)))
        for cs in itertools.product(*(range(n) for n, _, _ in nest))
    ]  # fmt: skip


def units_of_nest(nest: Nest) -> list[tuple[tuple[int, ...], Unit]]:
    return [
        (cs, (nest.read_base + sum(p.read * c for p, c in zip(nest.pieces, cs, strict=True)),
              nest.write_base + sum(p.write * c for p, c in zip(nest.pieces, cs, strict=True))))
        for cs in itertools.product(*(range(p.count) for p in nest.pieces))
    ]  # fmt: skip


def assert_same_units(commands: list[Command]) -> list[Family]:
    """The law of the module, unit by unit and command by command."""
    families = fold(commands)
    assert sorted(i for f in families for i in f.members) == list(range(len(commands)))
    for family in families:
        by_member: dict[int, list[Unit]] = {i: [] for i in family.members}
        for counters, unit in units_of_nest(family.nest):
            by_member[family.member_at(counters)].append(unit)
        for index, units in by_member.items():
            assert sorted(units) == sorted(units_of_command(commands[index]))
    return families


def test_one_command_is_a_family_of_its_own_without_lanes():
    (family,) = assert_same_units([command(5, 9, ((3, 10, 20),))])
    assert (family.lanes, family.members) == ((), (0,))
    assert family.loops == ((3, 10, 20), (4, 1, 1))
    assert family.loop_counters((2, 3)) == (2, 3)


def test_engines_on_a_grid_are_one_family_with_a_lane_per_step():
    # "DMA Engine", Example 5: clusters lie far apart, engines 64 slices
    slices = 64 << 22
    commands = [command(i * 2**20 + j * 2**18, j * slices, cluster=i) for i in range(2) for j in range(4)]
    (family,) = assert_same_units(commands)
    assert [count for count, _, _ in family.lanes] == [2, 4]
    assert family.lanes[1] == (4, 2**18, slices)
    assert family.members == tuple(range(8))
    assert family.loop_counters((1, 2, 3)) == (3,)


def test_the_order_of_the_commands_does_not_matter():
    commands = [command(8 * k, 100 * k) for k in (2, 0, 3, 1)]
    (family,) = assert_same_units(commands)
    assert family.members == (1, 3, 0, 2)
    assert family.lanes == ((4, 8, 100),)


def test_a_hole_in_the_grid_leaves_the_commands_apart_and_filling_it_joins_them():
    grid = [command(8 * i, 100 * i + 1000 * j) for i in range(3) for j in range(2)]
    assert len(assert_same_units(grid)) == 1
    assert len(assert_same_units(grid[:-1])) == 5


def test_a_base_off_the_grid_leaves_the_commands_apart():
    commands = [command(8 * k, 100 * k) for k in range(4)]
    commands[2] = command(17, 200)
    assert len(assert_same_units(commands)) == 4


def test_rows_of_unlike_steps_are_no_grid():
    """Two rows of two: the first steps by 8, the second by 9."""
    alike = [command(base + 8 * i, 100 * base + 100 * i) for base in (0, 64) for i in range(2)]
    assert len(assert_same_units(alike)) == 1
    alike[3] = command(64 + 9, 100 * 64 + 100)
    assert len(assert_same_units(alike)) == 4


def test_other_loops_or_bursts_make_other_families_in_order_of_their_first_command():
    commands = [
        command(0, 0),
        command(0, 500, ((2, 4, 4),)),
        command(8, 100),
        command(8, 600, ((2, 4, 4),)),
        command(0, 900, burst=8),
    ]
    families = assert_same_units(commands)
    assert [f.members for f in families] == [(0, 2), (1, 3), (4,)]


def test_the_same_command_twice_is_two_members_with_the_same_units():
    (family,) = assert_same_units([command(0, 0), command(0, 0), command(0, 0)])
    assert family.lanes == ((3, 0, 0),)
    assert len(units_of_nest(family.nest)) == 12


def test_no_command_is_no_family():
    assert fold([]) == []


@st.composite
def programs(draw: st.DrawFn) -> list[Command]:
    """Grids of one or two lanes, sometimes with a command missing, moved or of another nest; in any order."""
    counts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    steps = [(draw(st.integers(-40, 40)), draw(st.integers(-40, 40))) for _ in counts]
    loops = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(-9, 9), st.integers(-9, 9)), max_size=2))
    out = []
    for at in itertools.product(*(range(n) for n in counts)):
        read = 500 + sum(a * r for a, (r, _) in zip(at, steps, strict=True))
        write = 500 + sum(a * w for a, (_, w) in zip(at, steps, strict=True))
        out.append(command(read, write, tuple(loops), draw(st.sampled_from([2, 2, 2, 3]))))
    if draw(st.booleans()):
        out.pop(draw(st.integers(0, len(out) - 1)))
    if out and draw(st.booleans()):
        out[0] = out[0].moved_to(out[0].read.base + draw(st.integers(0, 1)), out[0].write.base)
    return list(draw(st.permutations(out)))


@settings(max_examples=60)
@given(programs())
def test_a_folded_program_copies_the_same_units(commands):
    assert_same_units(commands)


def test_commands_left_apart_stand_between_the_families_of_others():
    commands = [command(8 * k, 100 * k) for k in (0, 1, 3)]
    commands.insert(1, command(0, 5000, burst=8))
    assert [f.members for f in assert_same_units(commands)] == [(0,), (1,), (2,), (3,)]
