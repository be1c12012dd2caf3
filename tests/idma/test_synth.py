"""Synthesis: fewest descriptors, bounds, what is emitted does what was proved."""

import json
import random
import re
from functools import cache
from itertools import combinations
from math import prod
from pathlib import Path

import pytest
from lab.draws import counted, rest

from dmaverify import api
from dmaverify.cli import app as cli
from dmaverify.machines.idma.derive import descriptor_of
from dmaverify.machines.idma.floors import runs_are_maximal
from dmaverify.machines.idma.forms import read_image
from dmaverify.machines.idma.nd import starts
from dmaverify.machines.idma.nests import BoxNest, nest_of
from dmaverify.machines.idma.search import synthesize
from dmaverify.machines.idma.setup import setup_of
from dmaverify.plan.read import read_plan_text
from dmaverify.program.command import Loop
from dmaverify.synth.atoms import Atom
from dmaverify.synth.regions import AtomNest
from dmaverify.synth.result import Synthesis
from dmaverify.verdict import Status

TILES = Path(__file__).resolve().parents[2] / "examples/idma/tiles.toml"

MOVE = """
schema = 1
target = "idma"
[axes]
A = 3
B = 4
C = 5
D = 8
[transfer.t]
dtype = "{dtype}"
source = {{ tier = "mem", base = 4096, element = "{source}" }}
dest = {{ tier = "mem", base = 1048576, element = "{dest}" }}
options = {{ {options} }}
"""


@cache
def found_for(source: str, dest: str, dtype: str = "i8", options: str = "dims = 4", **settings: int) -> Synthesis:
    plan = read_plan_text(MOVE.format(source=source, dest=dest, dtype=dtype, options=options))
    item = plan.transfers[0].transfer
    return synthesize(item, plan.targets[item.target], axes=plan.axes, **settings)


@cache
def of_tiles(name: str) -> Synthesis:
    plan = api.load(f"{TILES}::{name}")
    item = plan.transfers[0].transfer
    return synthesize(item, plan.targets[item.target], axes=plan.axes)


@pytest.mark.parametrize(
    ("name", "descriptors", "length", "dims"),
    [("padded-tile", 1, 28, 1), ("transpose", 32, 8, 1), ("gather", 4, 40, 2)],
)
def test_the_tiles_of_the_examples_need_as_few_descriptors_as_can_be(
    name: str, descriptors: int, length: int, dims: int
) -> None:
    found = of_tiles(name)
    assert found.verdict is not None
    assert found.verdict.status is Status.PROVED
    assert len(found.commands) == descriptors
    assert {c.packet * c.unit_bits // 8 for c in found.commands} == {length}
    assert {len(c.loops) for c in found.commands} == {dims}
    assert api.check(found.plan)[0].status is Status.PROVED


def test_a_strided_gather_on_a_3d_engine_is_optimal_for_the_law() -> None:
    found = of_tiles("gather")
    assert (found.optimal, found.cycles, found.bound) == (True, 2568, 2568)
    assert found.cost is not None
    assert found.cost.exact


def test_cycles_that_are_a_bound_themselves_are_never_called_optimal() -> None:
    found = found_for("A, D", "A, D # 16", options='variant = "r_axi_w_obi", dst_protocol = "obi"')
    assert found.found
    assert not found.optimal


MAPPINGS = [
    ("A, B, C, D", "D, C, B, A"), ("A, B, C, D", "A, C, B, D"), ("A, B, C # 6, D", "C, A, B, D # 16"),
    ("A, B, C, D", "A, B, C, D"), ("B, D # 9", "D, B"), ("A, B, C, D", "B, D, A, C # 7"),
]  # fmt: skip


LONG = MAPPINGS[0], MAPPINGS[5]  # hundreds of descriptors


@pytest.mark.parametrize(
    ("source", "dest", "dims"),
    [
        *((*sides, dims) for sides in MAPPINGS for dims in (2, 3) if (sides, dims) not in ((LONG[0], 3), (LONG[1], 3))),
        *rest((*sides, 3) for sides in LONG),
    ],
)
def test_every_result_is_proved_and_fits_the_engine(source: str, dest: str, dims: int) -> None:
    found = found_for(source, dest, "i16", f"dims = {dims}")
    assert found.found, found.refused
    assert api.check(found.plan)[0].status is Status.PROVED
    assert all(len(c.loops) <= dims - 1 for c in found.commands)
    assert found.cycles >= found.bound > 0
    fewer = found_for(source, dest, "i16", f"dims = {dims + 1}")
    assert len(fewer.commands) <= len(found.commands)


def test_unrolling_leaves_out_the_loops_that_cost_the_fewest_descriptors() -> None:
    found = found_for("A, B, C, D", "D, C, B, A", options="dims = 3")
    sizes = [3, 4, 5, 8]
    assert len(found.commands) == min(prod(chosen) for chosen in combinations(sizes, 2))


def test_one_contiguous_move_is_one_transfer_cut_by_the_length_field() -> None:
    assert len(found_for("A, B, C, D", "A, B, C, D").commands[0].loops) == 0
    text = MOVE.format(source="A, B, C, D", dest="A, B, C, D", dtype="f64", options="length_width = 12, dims = 2")
    plan = read_plan_text(text.replace("D = 8", "D = 128"))
    item = plan.transfers[0].transfer
    found = synthesize(item, plan.targets["idma"], axes=plan.axes)
    assert found.found
    assert max(c.packet * c.unit_bits // 8 for c in found.commands) < 1 << 12


def test_what_needs_too_many_descriptors_is_refused_with_the_rule() -> None:
    found = found_for("A, B, C, D", "D, C, B, A", options="dims = 1", commands=100)
    assert not found.found
    assert found.refused[0][0] == "idma/dims-max"


def test_merged_runs_are_the_longest() -> None:
    box = AtomNest(0, 0, (Atom("A", 1, 3, 64, 128), Atom("B", 1, 4, 16, 16), Atom("C", 1, 16, 1, 1)))
    nest = nest_of(box, 1 << 20)
    assert (nest.length, nest.loops) == (64, (Loop(3, 64, 128, nest.loops[0].label),))
    assert nest_of(box, 40).length == 32
    assert runs_are_maximal([nest])
    assert not runs_are_maximal([BoxNest(0, 0, 8, (Loop(4, 8, 8),))])


@pytest.mark.parametrize("form", ["auto", "reg32_3d", "desc64", "job", "nd"])
def test_what_is_emitted_moves_what_was_proved(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["synth", f"{TILES}::gather", "--emit", form]) == 0
    image = read_image(capsys.readouterr().out)
    plan = api.load(f"{TILES}::gather")
    item = plan.transfers[0].transfer
    target = plan.targets[item.target]
    found = synthesize(item, target, axes=plan.axes)
    setup = setup_of(target, item.options)
    wanted = [p for c in found.commands for p in starts(descriptor_of(setup, c), 32).tolist()]
    assert [p for t in image.told for p in starts(t.descriptor, 32).tolist()] == wanted
    assert {t.descriptor.request.length for t in image.told} == {40}


def test_synth_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["synth", f"{TILES}::gather", "--json"]) == 0
    (data,) = json.loads(capsys.readouterr().out)
    assert (data["optimal"], data["commands"], data["gap"]) == (True, 4, 0.0)
    assert cli.invoke(["synth", f"{TILES}::gather", "--packet", "8"]) == 2
    assert cli.invoke(["synth", f"{TILES}::gather", "--emit", "reg64_1d"]) == 2
    assert cli.invoke(["cost", f"{TILES}::padded-tile", "--explain"]) == 0
    assert "read data" in capsys.readouterr().out


@pytest.mark.parametrize("count", counted(2, 6))
def test_random_moves_are_proved_by_solver_and_executor(count: int) -> None:
    rng = random.Random(9)
    axes = ["A", "B", "C", "D"]
    for _ in range(count):
        source, dest = rng.sample(axes, 4), rng.sample(axes, 4)
        pads = {axis: rng.choice(("", f" # {rng.choice((9, 10, 16))}")) for axis in axes}
        found = found_for(
            ", ".join(a + pads[a] for a in source),
            ", ".join(dest),
            rng.choice(("i8", "i32")),
            f"dims = {rng.randrange(2, 5)}",
        )
        assert found.found, found.refused
        assert found.verdict is not None
        assert "numpy agrees" in found.verdict.confirmed or "enumeration" in str(found.verdict)


@pytest.mark.parametrize(
    ("source", "dest", "cycles", "runs"),
    [
        ("A / 2, A % 4", "A", 16, 8),  # runs of 4 bytes where 2 are what the largest digit gives: 24 cycles
        ("A / 2, A % 2", "A", 16, 1),
        ("2, A", "2, A", 24, 2),
    ],
)
def test_bytes_that_a_source_holds_twice_are_read_in_the_longest_runs_and_bounded_by_the_destination(
    source: str, dest: str, cycles: int, runs: int
) -> None:
    options = "ax_in_flight = 16, buffer_depth = 16"
    text = MOVE.replace("A = 3", "A = 32").format(source=source, dest=dest, dtype="i8", options=options)
    plan = read_plan_text(text)
    found = synthesize(plan.transfers[0].transfer, plan.targets["idma"], axes=plan.axes)
    assert found.verdict is not None
    assert found.verdict.status is Status.PROVED
    assert (found.cycles, found.bound, found.optimal) == (cycles, cycles, True)
    assert f"{runs} runs" in found.evidence[0]
    forced = not any(line.startswith("the source holds bytes at several places") for line in found.evidence)
    assert forced == (source == "A / 2, A % 2")


def stated(axes: str, source: str, dest: str, options: str, **settings: int) -> Synthesis:
    """The answer for a move of bytes whose sides are written as `base, element`."""
    sides = []
    for word, text in (("source", source), ("dest", dest)):
        base, _, element = text.partition(", ")
        sides.append(f'{word} = {{ tier = "mem", base = {base}, element = "{element}" }}')
    head = ["schema = 1", 'target = "idma"', "[axes]", *axes.split(), "[transfer.t]", 'dtype = "i8"', *sides]
    plan = read_plan_text("\n".join([*head, f"options = {{ {options} }}"]))
    return synthesize(plan.transfers[0].transfer, plan.targets["idma"], axes=plan.axes, **settings)


@pytest.mark.parametrize(
    ("dest", "first", "step"), [(0x10040, 0x100C0, -64), (0x0FFC0, 0x10000, 64), (0x20000, 0x10000, 64)]
)
def test_a_move_up_within_one_memory_begins_at_the_end(dest: int, first: int, step: int) -> None:
    found = stated("R=4 C=32", "0x10000, R, C # 64", f"{dest}, R, C # 64", "dims = 4")
    (one,) = found.commands
    assert (one.read.base, [loop.read for loop in one.loops]) == (first, [step])
    assert found.verdict is not None
    assert found.verdict.status is Status.PROVED


def test_a_move_that_no_list_tried_makes_says_how_many_were_tried() -> None:
    found = stated("R=4 C=32", "0x10000, R, C", "0x10000, C, R", "dims = 4")
    assert not found.found
    assert re.search(r"of [0-9]+ descriptor lists, the [0-9]+ that were tried are not proved", found.refused[0][1])


@pytest.mark.parametrize(
    ("size", "options", "settings", "descriptors", "cycles"),
    [
        (8191, "length_width = 12, dims = 1", {}, 3, 2059),  # 2 x 4,092 and a rest
        (8191, "length_width = 12", {}, 2, 2059),
        (4097, "length_width = 12, dims = 1", {"commands": 2}, 2, 1036),
        (4095, "length_width = 12, dims = 1", {}, 1, 1032),  # as long as the field
    ],
)
def test_runs_longer_than_a_field_are_whole_fields_and_a_rest(
    size: int, options: str, settings: dict[str, int], descriptors: int, cycles: int
) -> None:
    found = stated(f"A={size}", "0x10000, A", "0x20000, A", options, **settings)
    assert (len(found.commands), found.cycles) == (descriptors, cycles)
    assert found.bound <= found.cycles


def test_a_limit_that_no_list_tried_keeps_names_the_shortest_one() -> None:
    found = stated("A=8191", "0x10000, A", "0x20000, A", "length_width = 12, dims = 1", commands=2)
    said = "the shortest list of descriptors of 1 dimensions that was tried has 3, and 2 are allowed"
    assert found.refused[0][:2] == ("idma/dims-max", said)


@pytest.mark.parametrize(
    ("settings", "descriptors", "said"),
    [({}, 3, "the shortest tried has 1"), ({"commands": 1}, 1, "no list that was tried has fewer")],
)
def test_the_cheapest_list_is_not_told_as_the_shortest(settings: dict[str, int], descriptors: int, said: str) -> None:
    sides = [f"{base}, A, B # 4, C # 64" for base in ("0x10000", "0x20000")]
    found = stated("A=4 B=3 C=32", *sides, "dims = 2", **settings)
    assert len(found.commands) == descriptors
    assert found.evidence[0].endswith(said)


OWN = """schema = 1
target = "idma"
[axes]
A = 3
B = 4
[transfer.t]
dtype = "bf16"
source = {{ tier = "mem", base = 4097, element = "A, B" }}
dest = {{ tier = "mem", base = 1048579, element = "{dest}" }}
options = {{ dims = 3, decouple_rw = 1, dst_reduce_len = 1, dst_max_llen = 3 }}
{commands}
"""


def commands_of(*rows: tuple[int, int]) -> str:
    return "\n".join(
        f'[[transfer.t.command]]\nread = "[8:1]:8 @({read})"\nwrite = "[8:1]:8 @({write})"' for read, write in rows
    )


@pytest.mark.parametrize("dest", ["A # 7, B # 12", "A, B # 12"])
@pytest.mark.parametrize("order", [(2, 0, 1), (2, 1, 0), (0, 1, 2)])
def test_no_plan_that_stands_in_the_text_beats_the_bound_or_the_answer(dest: str, order: tuple[int, ...]) -> None:
    """Padding that only the destination has is walked by nobody: the rows are a bound, and one order of them is less
    than that of any nest.
    """
    rows = [(4097 + 8 * n, 1048579 + 24 * n) for n in order]
    text = OWN.format(dest=dest, commands=commands_of(*rows))
    found, own = api.synthesize(text), api.price(text)
    assert found.bound <= found.cycles <= own.cycles
    assert found.bound == 17
    assert api.check(found.plan)[0].status is Status.PROVED


def test_runs_that_are_not_looked_at_are_bounded_by_their_bytes() -> None:
    text = MOVE.format(source="A, B", dest="B, A", dtype="i8", options="").replace("A = 3", "A = 257")
    found = api.synthesize(text.replace("B = 4\n", "B = 257\n"))
    assert not found.optimal
    assert found.bound < found.cycles / 2
    assert any("every plan moves 66,049 bytes" in line for line in found.evidence)


@pytest.mark.parametrize(("at", "runs"), [(4096, 1), (4103, 5)])
def test_a_move_that_may_begin_no_long_access_is_made_of_elements(at: int, runs: int) -> None:
    """TileLink asks for multiples of a power of two, which five elements of four bytes at an odd address are not."""
    text = MOVE.format(source="C", dest="C", dtype="f32", options='variant = "rw_tilelink"')
    plan = read_plan_text(text.replace("base = 4096", f"base = {at}"))
    item = plan.transfers[0].transfer
    found = synthesize(item, plan.targets[item.target], axes=plan.axes)
    assert found.verdict is not None
    assert found.verdict.status is Status.PROVED
    assert sum(prod(loop.count for loop in one.loops) for one in found.commands) == runs
    assert found.bound <= found.cycles


@pytest.mark.parametrize(("source", "first", "cycles"), [(4099, 4105, 11), (4098, 4098, 11)])
def test_short_lists_are_moved_from_either_end_as_is_cheaper(source: int, first: int, cycles: int) -> None:
    """Two rows of 2 B: the misaligned one goes first, whichever it is."""
    text = (
        MOVE.replace("4096", str(source))
        .replace("1048576", "1048581")
        .replace("A = 3", "A = 2")
        .replace("B = 4", "B = 2")
    )
    plan = read_plan_text(text.format(source="A # 2, B # 6", dest="A, B", dtype="i8", options="dims = 2"))
    found = synthesize(plan.transfers[0].transfer, plan.targets["idma"], axes=plan.axes)
    assert (found.cycles, found.commands[0].read.base) == (cycles, first)
