"""What a move alone tells is what its cells say, and never less than what some stream of it proves.

Random pairs of mappings with pads, windows and resizes inside digits and axes of size 1 against the literal meaning,
cell by cell; random moves with a stream that is proved, with and without it.
"""

import itertools
import random

import pytest
from lab.draws import seeds
from lab.meaning import live_index

from dmaverify.language.expr import Expr, axes_of
from dmaverify.language.parse import parse
from dmaverify.language.served import first_unserved
from dmaverify.layout.held import first_absent, one_nest, values_of
from dmaverify.lower.programs import space_of
from dmaverify.program.move import Transfer
from dmaverify.program.space import layout_of
from dmaverify.program.tensor import Tensor
from dmaverify.prove.move.check import Options, check_transfer
from dmaverify.prove.move.feasible import entangled, missing
from dmaverify.prove.move.unread import unread
from dmaverify.targets.target import load_target
from dmaverify.testing.draw import Seeded
from dmaverify.testing.random_mappings import mapping
from dmaverify.testing.random_moves import move
from dmaverify.verdict import Severity, Status

TARGET = load_target("rngd")
HBM = space_of(TARGET, "hbm")


def indices(expr: Expr) -> list[dict[str, int]]:
    sizes = axes_of(expr)
    found = (live_index(expr, position, sizes) for position in range(expr.size))
    return [index for index in found if index is not None]


def lacking(source: Expr, dest: Expr) -> dict[str, int] | None:
    """The first live destination cell whose element, on common axes, is nowhere in the source: slow and literal."""
    common = set(axes_of(source)) & set(axes_of(dest))
    held = {frozenset((a, v) for a, v in index.items() if a in common and v) for index in indices(source)}
    for index in indices(dest):
        if frozenset((a, v) for a, v in index.items() if a in common and v) not in held:
            return {axis: value for axis, value in sorted(index.items()) if value}
    return None


SIZES = {"A": 15, "B": 12, "X": 1, "Y": 1}
DIGITS = [
    "A", "A # 16", "A / 5", "A % 5", "A % 5 # 8", "A % 5 = 3 # 5", "A % 5 = 3", "A / 5 # 4", "A # 16 / 4", "A # 16 % 4",
    "A = 7", "A / 3", "A % 3", "A % 3 # 4", "B", "B / 4", "B % 4", "B % 4 = 2", "B / 2 % 3", "B % 2", "B = 5 # 12",
    "B / 6", "B % 6 # 8", "B # 16 / 8", "X", "X # 8", "1 # 8", "X # 4, Y # 2", "Y", "3", "X # 8 % 4", "B @ 4", "A @ 5",
]  # fmt: skip


def random_side(rng: random.Random) -> Expr:
    return parse(", ".join(rng.sample(DIGITS, rng.randint(1, 3))), SIZES)


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_an_element_is_missing_exactly_where_no_cell_of_the_source_holds_it(seed: int) -> None:
    rng = random.Random(seed)
    judged = 0
    for _ in range(50):
        source, dest = random_side(rng), random_side(rng)
        if not indices(dest) or not indices(source):
            continue
        expected = lacking(source, dest)
        assert first_unserved(source, dest) == expected, (str(source), str(dest))
        layouts = [layout_of(Tensor("hbm", one), HBM, 8)[0] for one in (source, dest)]
        if any(entangled(one) for one in layouts):
            continue
        judged += 1
        found = list(missing(*layouts))
        assert bool(found) == (expected is not None), (str(source), str(dest), found, expected)
        held = {axis: {index.get(axis, 0) for index in indices(source)} for axis in axes_of(source)}
        for lack in found:
            assert lack.coordinate not in held[lack.axis]
            assert any(index.get(lack.axis, 0) == lack.coordinate for index in indices(dest))
    assert judged > 20


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_an_element_goes_nowhere_exactly_where_no_cell_of_the_destination_holds_it(seed: int) -> None:
    rng = random.Random(100 + seed)
    for _ in range(60):
        pair = random_side(rng), random_side(rng)
        source, dest = (Tensor("hbm", one) for one in pair)
        common = set(axes_of(pair[0])) & set(axes_of(pair[1]))
        unnamed = any(v and a not in axes_of(pair[1]) for index in indices(pair[0]) for a, v in index.items())
        have, want = (
            {frozenset((a, v) for a, v in index.items() if a in common and v) for index in indices(one)} for one in pair
        )
        (first, one), (second, other) = (layout_of(tensor, HBM, 8) for tensor in (source, dest))
        found = unread(Transfer("x", "rngd", "i8", source, dest), first, second, opaque=bool(one or other))
        assert found is not None
        assert bool(found) == (unnamed or not have <= want), (str(pair[0]), str(pair[1]), found)


@pytest.mark.parametrize(("dest", "strict"), [("A, B", "proved"), ("B, A", "proved"), ("A, B = 6", "refuted")])
def test_what_a_move_alone_drops_is_wrong_where_a_reading_says_so(dest: str, strict: str) -> None:
    sizes = {"A": 16, "B": 8}
    move_alone = Transfer(
        "x", "rngd", "i8", Tensor("hbm", parse("A, B", sizes)), Tensor("hbm", parse(dest, sizes), base=4096)
    )
    for readings, status in (({}, "proved"), ({"core/consumes": "strict"}, strict)):
        made = check_transfer(move_alone, axes=sizes, target=TARGET, options=Options(readings=readings))
        assert made.status.value == status
        assert [f.rule for f in made.findings if f.severity is Severity.ERROR] == ["core/consumes"] * (
            status == "refuted"
        )


@pytest.mark.parametrize("seed", range(6))
def test_any_mapping_at_all_is_served_as_its_cells_say(seed: int) -> None:
    draw = Seeded(seed)
    for _ in range(40):
        source, dest = mapping(draw, {"A": 4, "B": 3, "C": 1}), mapping(draw, {"A": 4, "B": 3, "C": 1})
        assert first_unserved(source, dest) == lacking(source, dest), (str(source), str(dest))


def test_progressions_lack_exactly_the_least_value_that_the_other_side_does_not_reach() -> None:
    rng = random.Random(7)
    for _ in range(600):
        sides = [
            [(rng.choice((1, 1, 2, 3, 4, 6, 12)), rng.randint(1, 5)) for _ in range(rng.randint(1, 3))] for _ in "ab"
        ]
        want, have = (values_of(side) for side in sides)
        assert first_absent(*sides) == min(want - have, default=None), sides


@pytest.mark.parametrize("seed", seeds(2, 5))
def test_a_move_that_some_stream_proves_is_not_refuted_without_one(seed: int) -> None:
    draw, proved = Seeded(1000 + seed), 0
    for _ in range(14):
        made = move(draw, TARGET, valid=draw.chance(70), tiers=("hbm", "dm"))
        if made.stream is None:
            continue
        with_stream = Transfer("t", "rngd", made.dtype, made.source, made.dest, made.stream)
        options = Options(cross_check=0)
        if check_transfer(with_stream, axes=made.axes, options=options).status is not Status.PROVED:
            continue
        proved += 1
        alone = check_transfer(
            Transfer("t", "rngd", made.dtype, made.source, made.dest), axes=made.axes, options=options
        )
        assert alone.status is not Status.REFUTED, (made.source, made.dest, [f.message for f in alone.findings])
    assert proved or seed


def broken(source: str, dest: str, sizes: dict[str, int], dtype: str = "bf16") -> set[str]:
    sides = [Tensor("hbm", parse(source, sizes)), Tensor("dm", parse("1", sizes), slice=parse("1", sizes))]
    both = parse(dest.split("|")[0], sizes), parse(dest.split("|")[1], sizes)
    sides[1] = Tensor("dm", both[1], slice=both[0])
    found = check_transfer(Transfer("t", "rngd", dtype, *sides), axes=sizes)
    return {f.rule for f in found.findings if f.severity is Severity.ERROR}


ROWS = [
    ("H / 120, H % 120 # 128", "H / 120, 1 # 8|H % 120", set()),
    ("H / 120, H % 120 # 240", "H / 120, 1 # 8|H % 120", set()),
    ("H / 120, H % 120 = 96 # 120", "H / 120, 1 # 8|H % 120 = 96", set()),
    ("H / 120, H % 120 = 96 # 120", "H / 120, 1 # 8|H % 120", {"core/same-element"}),
    ("H / 120, H % 120 = 96 # 120", "H / 120, 1 # 8|H % 120 = 100", {"core/same-element"}),
    ("H / 120, H % 120", "H / 120, 1 # 8|H % 120 # 128", set()),
    ("H / 20, H % 20 # 32", "H / 20 # 256|H % 20", set()),
    ("H % 120, H / 120", "H / 32, 1 # 2|H % 32", {"core/well-formed"}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "dest", "rules"), ROWS)
def test_a_live_end_a_window_or_a_pad_inside_a_digit_is_no_cut(source: str, dest: str, rules: set[str]) -> None:
    found = {rule for rule in broken(source, dest, {"H": 3840}) if rule.startswith("core/")}
    assert found == rules


@pytest.mark.parametrize(
    ("source", "dest", "dtype", "fine"),
    [
        ("1 # 8", "1 # 256|1 # 8", "bf16", True),
        ("X # 8", "1 # 256|X # 8", "bf16", True),
        ("X # 8", "1 # 256|1 # 8", "i8", True),
        ("1 # 8", "1 # 256|X # 8", "i8", True),
        ("X", "1 # 256|X # 8", "f32", True),
        ("X", "1 # 256|X # 2", "f32", True),
        ("X", "1 # 256|X", "f32", False),
        ("X # 2", "1 # 256|X # 2", "bf16", False),
        ("X # 4", "1 # 256|X # 4", "bf16", True),
        ("H, X # 8", "H|X # 8", "i8", True),
        ("H, X # 4", "H|X # 4", "i8", False),
    ],
)
def test_padding_of_an_axis_of_one_is_padding_on_both_sides(source: str, dest: str, dtype: str, fine: bool) -> None:
    assert (not broken(source, dest, {"X": 1, "H": 64}, dtype)) is fine


def test_one_nest_finds_what_loops_visit_and_refuses_what_none_does() -> None:
    def points(*loops: tuple[int, int, int]) -> list[tuple[int, ...]]:
        found = {(0, 0)}
        for count, write, read in loops:
            found = {(w + write * i, r + read * i) for w, r in found for i in range(count)}
        return sorted(found)

    for loops in itertools.permutations([(2, 1, 100), (3, 2, 1), (5, 6, 7)]):
        assert one_nest(points(*loops))
    assert one_nest(points((4, 1, 1), (4, 4, 4), (3, 16, 5)))
    folded = [(value, value % 5 * 3 + value // 5) for value in range(15)]  # A % 5, A / 5 against A
    assert one_nest(folded)
    crossed = sorted((value % 3 * 5 + value // 3, value % 5 * 3 + value // 5) for value in range(15))
    assert not one_nest(crossed)
    assert not one_nest([*points((4, 1, 1)), (9, 9)])
