"""Plans planted because a careless proof would pass them, and plans that no proof may refuse."""

import itertools
from dataclasses import replace

import pytest
from lab.draws import rest
from lab.oracle import compare, only_solver

from dmaverify.language.parse import parse
from dmaverify.lower.derive import derive
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.move import Stream
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor
from dmaverify.prove.move.core import judge_core
from dmaverify.prove.smt import Session

HOST = Space("host", ("element",))
HBM = Space("hbm", ("chip", "element"))
DM = Space("dm", ("chip", "cluster", "slice", "element"), (("slice", 4 << 20),))
MATRIX = {"A": 8, "B": 8}


def tensor(tier: str, axes: dict[str, int], base: int = 0, **fields: str) -> Tensor:
    return Tensor(tier, base=base, **{name: parse(text, axes) for name, text in fields.items()})  # type: ignore[arg-type]


def command(read: int, write: int, loops: list[tuple[int, int, int]], burst: int = 1) -> Command:
    return Command(Port("host", read), Port("host", write), tuple(Loop(*loop) for loop in loops), burst, 1)


def transposed() -> tuple[Tensor, Tensor]:
    return tensor("host", MATRIX, element="A, B"), tensor("host", MATRIX, base=64, element="B, A")


@pytest.mark.parametrize("far", [64, 128, 1 << 20, 1 << 40, -64, -(1 << 40)])
@pytest.mark.parametrize("side", ["read", "write", "both"])
def test_a_wrong_plan_with_every_address_outside_is_not_proved_by_having_no_digits(far: int, side: str) -> None:
    """Posed backwards (given the address, which digits?) an address outside has none, and anything would follow."""
    source, dest = transposed()
    read = far if side in ("read", "both") else 0
    write = 64 + far if side in ("write", "both") else 64
    nest = command(read, write, [(8, 8, 8), (8, 1, 1)])  # copies, where a transpose is promised
    opinion = compare(source, dest, (HOST, HOST), 8, [nest])
    assert opinion is not None
    assert not opinion.disagreements
    assert opinion.status["core/in-bounds"] == "refuted"
    with only_solver():
        alone = judge_core(source, dest, (HOST, HOST), 8, [nest], {}, Session(), 0)
    assert alone.status["core/in-bounds"] == "refuted"


def test_the_same_plan_in_range_is_refuted_as_the_wrong_element() -> None:
    source, dest = transposed()
    opinion = compare(source, dest, (HOST, HOST), 8, [command(0, 64, [(8, 8, 8), (8, 1, 1)])])
    assert opinion is not None
    assert opinion.status["core/same-element"] == "refuted"
    assert opinion.status["core/in-bounds"] == "proved"


def test_a_diagonal_does_not_cover_a_matrix_however_full_its_rows_and_columns_are() -> None:
    """One loop moves both inner digits: what each reaches alone says nothing of what they reach together.

    The outer loops make `C, D` carry (3 does not divide 5), so that coverage is decided by listing values.
    """
    axes = {"C": 3, "D": 5, "A": 300, "B": 300}
    source, dest = (tensor("host", axes, base=base, element="C, D, A, B") for base in (0, 1 << 22))
    outer = [(5, 270_000, 270_000), (3, 90_000, 90_000)]
    for inner, covers in ([(300, 301, 301)], False), ([(300, 300, 300), (300, 1, 1)], True):
        result = judge_core(source, dest, (HOST, HOST), 8, [command(0, 1 << 22, [*outer, *inner])], {}, Session())
        assert (result.status["core/covers"] == "proved") is covers
        assert result.status["core/in-bounds"] == result.status["core/same-element"] == "proved"
        assert result.status["core/writes-once"] == "proved"
    opinion = compare(source, dest, (HOST, HOST), 8, [command(0, 1 << 22, [*outer, (300, 301, 301)])])
    assert opinion is not None
    assert not opinion.disagreements


OPAQUE = [f"[2, A] {cut}" for cut in ("/ 2", "/ 2 #{0} 4", "/ 2 #{0} 5 #{!} 6", "@ 2 #{0} 5", "@ 2 #{!} 6", "@ 1 = 7")]
IDENTITIES = [
    ("host", {"element": "A, B"}), ("host", {"element": "A # 13 % 13"}), ("host", {"element": "B, A / 3, 2, A % 3"}),
    ("host", {"element": "[A, B] # 99"}), ("host", {"element": "A #{0} 16 / 4, B, A #{0} 16 % 4"}),
    ("host", {"element": "A"}), ("host", {"element": "1"}), ("host", {"element": "[A, B] / 7, [A, B] % 7"}),
    ("hbm", {"chip": "B", "element": "A"}), ("dm", {"slice": "A", "element": "B"}),
    ("dm", {"cluster": "A / 6", "slice": "A % 6", "element": "B # 8"}),
]  # fmt: skip


@pytest.mark.parametrize(("tier", "fields"), IDENTITIES, ids=str)
@pytest.mark.parametrize("bits", [4, 8, 32])
def test_a_tensor_moved_onto_itself_elsewhere_is_proved(tier: str, fields: dict[str, str], bits: int) -> None:
    """Unit by unit, every position of the region, whatever it holds."""
    axes = {"A": 12, "B": 7}
    space = {"host": HOST, "hbm": HBM, "dm": DM}[tier]
    source = tensor(tier, axes, **fields)
    dest = replace(source, base=4096)
    unit = 4 if bits == 4 else 8
    places = {name: source.field(name).size for name in space.places if name != "element"}
    loops = tuple(
        Loop(count, stride, stride)
        for name, count in places.items()
        if name == "slice"
        for stride in [space.stride("slice", unit)]
    )
    commands = [
        Command(
            Port(tier, 0, chip, cluster),
            Port(tier, 4096 * 8 // unit, chip, cluster),
            loops,
            source.element.size * bits // unit,
            1,
        )
        for chip, cluster in itertools.product(range(places.get("chip", 1)), range(places.get("cluster", 1)))
    ]
    opinion = compare(source, dest, (space, space), bits, commands)
    assert opinion is not None
    assert opinion.disagreements == ()
    assert opinion.outcome == "proved"


def test_a_tensor_with_bottom_padding_moved_whole_touches_what_it_may_not() -> None:
    source = tensor("host", {"A": 3}, element="A #{!} 4")
    opinion = compare(source, replace(source, base=64), (HOST, HOST), 8, [command(0, 64, [], 4)])
    assert opinion is not None
    assert opinion.status["core/padding"] == "refuted"
    assert not opinion.disagreements


@pytest.mark.parametrize("dest", ["A = 5", "A #{0} 5 #{0} 7", *OPAQUE])
@pytest.mark.parametrize("written", [*rest([1, 2]), 3, *rest([4]), 5, *rest([9])])
def test_destinations_that_are_more_than_live_cells_are_judged_alike_on_both_routes(dest: str, written: int) -> None:
    """`=` beyond the size may not be written, Zero padding has to be, and mappings without digits have padding too."""
    source, target = tensor("host", {"A": 3}, element="A # 9"), tensor("host", {"A": 3}, base=64, element=dest)
    for route in ("default", "solver"):
        opinion = compare(source, target, (HOST, HOST), 8, [command(0, 64, [], written)], route=route)
        assert opinion is not None
        assert not opinion.disagreements, opinion


def test_a_destination_without_a_live_cell_proves_nothing() -> None:
    source, dest = tensor("host", {"A": 3}, element="A"), tensor("host", {"A": 3}, base=64, element="A # 6 @ 3")
    for route in ("default", "solver"):
        opinion = compare(source, dest, (HOST, HOST), 8, [command(0, 64, [], 3)], route=route)
        assert opinion is not None
        assert opinion.status["core/not-vacuous"] == "refuted"
        assert not opinion.disagreements


def test_slices_that_fill_their_whole_distance_keep_their_digits_apart() -> None:
    """The beyond digit of the elements and the digit of the slices then have one step."""
    space = Space("dm", ("slice", "element"), (("slice", 16),))
    axes = {"A": 4, "B": 16}
    source, dest = tensor("dm", axes, slice="A", element="B"), tensor("host", axes, element="A, B")
    for stride, outcome in ((16, "proved"), (15, "refuted"), (17, "refuted")):
        nest = Command(Port("dm", 0), Port("host", 0), (Loop(4, stride, 16), Loop(2, 8, 8), Loop(8, 1, 1)), 1, 1)
        for route in ("default", "solver"):
            opinion = compare(source, dest, (space, HOST), 8, [nest], route=route)
            assert opinion is not None
            assert (opinion.outcome, opinion.disagreements) == (outcome, ())


def test_an_axis_that_runs_through_full_slices_is_one_digit_and_no_address_is_outside_between_them() -> None:
    """`A / 4` over slices and `A % 4` filling each: a step of a whole slice moves the axis, not the room's end."""
    space = Space("dm", ("slice", "element"), (("slice", 16),))
    axes = {"A": 12, "B": 4}
    source = tensor("dm", axes, slice="A / 4", element="A % 4, B")
    dest = tensor("host", axes, element="B, A")
    for stride, outcome in ((16, "proved"), (17, "refuted")):
        loops = (Loop(3, stride, 4), Loop(4, 4, 1), Loop(4, 1, 12))
        for route in ("default", "solver"):
            opinion = compare(
                source, dest, (space, HOST), 8, [Command(Port("dm", 0), Port("host", 0), loops, 1, 1)], route=route
            )
            assert opinion is not None
            assert (opinion.outcome, opinion.disagreements) == (outcome, ())


def test_one_slice_longer_than_the_distance_to_the_next_runs_on_in_it() -> None:
    space = Space("dm", ("slice", "element"), (("slice", 16),))
    axes = {"A": 40, "B": 2}
    source, dest = tensor("dm", axes, element="A, B"), tensor("host", axes, element="B, A")
    found = derive(source, dest, (space, HOST), 8, Stream(parse("A, B", axes), parse("1", axes)))
    assert hasattr(found, "commands")
    result = judge_core(source, dest, (space, HOST), 8, found.commands, {}, Session())
    assert {v for k, v in result.status.items() if k != "core/consumes"} == {"proved"}


def test_two_slices_that_reach_into_each_other_are_never_proved() -> None:
    space = Space("dm", ("slice", "element"), (("slice", 16),))
    axes = {"A": 2, "B": 17}
    source, dest = tensor("dm", axes, slice="A", element="B"), tensor("host", axes, element="A, B")
    nest = Command(Port("dm", 0), Port("host", 0), (Loop(2, 16, 17),), 17, 1)
    result = judge_core(source, dest, (space, HOST), 8, [nest], {}, Session())
    assert set(result.status.values()) == {"unknown"}
    assert result.why


def test_a_loop_that_moves_two_digits_beside_one_that_moves_one_of_them_covers_no_rectangle() -> None:
    """Rows 0..1, each walked for three columns, the second one column further on: six of eight cells."""
    axes = {"A": 2, "B": 4}
    source, dest = tensor("host", axes, element="A, B"), tensor("host", axes, base=64, element="A, B")
    opinion = compare(source, dest, (HOST, HOST), 8, [command(0, 64, [(2, 5, 5), (3, 1, 1)])])
    assert opinion is not None
    assert opinion.status["core/covers"] == "refuted"
    assert not opinion.disagreements


def test_commands_that_meet_outside_the_region_write_twice_all_the_same() -> None:
    axes = {"A": 8}
    source, dest = tensor("host", axes, element="A"), tensor("host", axes, base=64, element="A")
    for second, twice in ((201, True), (202, False)):
        nests = [command(0, 64, [], 8), command(0, 200, [], 2), command(4, second, [], 1)]
        for route in ("default", "solver"):
            opinion = compare(source, dest, (HOST, HOST), 8, nests, route=route)
            assert opinion is not None
            assert (opinion.status["core/writes-once"] == "refuted") is twice
            assert not opinion.disagreements


NESTS = [(outer, inner, start) for outer in (-4, 3, 4, 5, 13) for inner in (1, 4) for start in (0, 3)]
SOME = [(-4, 1, 3), (3, 1, 0), (4, 1, 0), (4, 4, 3), (5, 1, 3)]


@pytest.mark.parametrize("element", ["[A, B] = 13", "[A, B] = 13 # 15", "[A, B] % 8 # 11", "A, B"])
@pytest.mark.parametrize("nests", [SOME, *rest([[one for one in NESTS if one not in SOME]])], ids=["few", "others"])
def test_strides_across_a_ragged_end_are_judged_alike_by_the_solver_alone(
    element: str, nests: list[tuple[int, int, int]]
) -> None:
    """13 positions as rows of 4: the last row is short, and what lies behind starts in the middle of one."""
    axes = {"A": 4, "B": 4}
    source, dest = tensor("host", axes, element=element), tensor("host", axes, base=64, element=element)
    for outer, inner, start in nests:
        nest = command(start, 64 + start, [(3, outer, outer), (3, inner, inner)])
        opinion = compare(source, dest, (HOST, HOST), 8, [nest], route="solver")
        assert opinion is not None
        assert not opinion.disagreements, (outer, inner, start, opinion)
