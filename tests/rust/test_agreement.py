"""What is said of a move by digits is what its cells say, one by one, on every small pair of mappings."""

# ruff: noqa: E501  (a table)

import itertools

import pytest
from kernels import broken, plan
from lab.draws import rest

from dmaverify.language.expr import Expr, axes_of
from dmaverify.language.meaning import Index, cell
from dmaverify.language.parse import parse
from dmaverify.machines.rngd.rust.plans import KernelPlan
from dmaverify.machines.rngd.rust.values import Numbers
from dmaverify.machines.rngd.rust.views import live_cells, positions

AXES = {"A": 6, "B": 4}
MAPPINGS = [
    "A", "B", "A, B", "B, A", "A # 8", "A # 8, B", "A, B # 8", "A = 3", "A = 3, B", "A = 3 # 6, B", "A / 2, B, A % 2", "A / 3, B",
    "A % 3, B", "A % 2", "B / 2, A", "B % 2, A", "B = 2 # 4, A", "2, A", "A, 1 # 3", "A / 2 # 4, A % 2, B", "A # 8 / 2, A # 8 % 2, B",
    "A # 9 / 3, B, A # 9 % 3",
]  # fmt: skip


def indices(expr: Expr) -> set[frozenset[tuple[str, int]]]:
    """The live elements of a mapping: finalized cells, without coordinates that are 0."""
    out = set()
    for position in range(expr.size):
        found = cell(expr, position)
        if isinstance(found, Index) and all(value < AXES[axis] for axis, value in found.coords):
            out.add(frozenset((axis, value) for axis, value in found.coords if value))
    return out


def on(axes: set[str], all_of: set[frozenset[tuple[str, int]]]) -> set[frozenset[tuple[str, int]]]:
    return {frozenset(pair for pair in index if pair[0] in axes) for index in all_of}


def by_cells(source: Expr, dest: Expr) -> tuple[bool, bool]:
    """(something of the source goes nowhere, the destination asks for what the source has not)."""
    have, want = indices(source), indices(dest)
    common = set(axes_of(source)) & set(axes_of(dest))
    lost = any(axis not in axes_of(dest) for index in have for axis, _ in index)
    return lost or not on(common, have) <= on(common, want), not on(common, want) <= on(common, have)


def move(source: str, dest: str) -> KernelPlan:
    text = (
        f"axes![A = {AXES['A']}, B = {AXES['B']}];\n"
        f"fn f(ctx: &mut C, x: &HbmTensor<i8, m![1], m![{source}]>) -> HbmTensor<i8, m![1], m![{dest}]> {{\n"
        "    x.to_hbm(&mut ctx.tdma)\n}\n"
    )
    return plan(text, "")


@pytest.mark.slow
@pytest.mark.parametrize("every", [3, *rest([1])])
def test_consumption_and_supply_agree_with_the_cells_of_every_pair(every: int) -> None:
    """By default of every third pair: each mapping is the source of seven others, and the destination of seven."""
    judged = 0
    for source, dest in itertools.islice(itertools.product(MAPPINGS, MAPPINGS), 0, None, every):
        (rules,) = broken(move(source, dest), alignment="std")
        if "core/well-formed" in rules:
            continue
        judged += 1
        lost, lacking = by_cells(parse(source, AXES), parse(dest, AXES))
        assert ("core/consumes" in rules) == lost, (source, dest, rules)
        assert ("core/same-element" in rules) == lacking, (source, dest, rules)
    assert judged > 300 // every


def test_live_cells_are_counted_as_enumerated() -> None:
    for text in MAPPINGS:
        expr = parse(text, AXES)
        live = sum(isinstance(cell(expr, p), Index) for p in range(expr.size))
        assert live_cells(expr) == live, text


def test_a_window_starts_where_its_digit_has_the_start() -> None:
    for text, index in itertools.product(("A, B", "B, A", "A / 2, B, A % 2", "A # 8, B"), ("A", "B", "A / 2", "B % 2")):
        expr, digit = parse(text, AXES), parse(index, AXES)
        for start in range(digit.size):
            wanted = cell(digit, start)
            found = positions(expr, digit, Numbers.of(start))
            assert isinstance(wanted, Index)
            assert found is not None
            there = cell(expr, found.low)
            assert isinstance(there, Index)
            assert {a: v for a, v in there.coords if v} == {a: v for a, v in wanted.coords if v}, (text, index, start)


def test_aliases_of_functions_are_their_own_however_many_were_read_before() -> None:
    cuts = [(number, 2 ** (1 + number % 7)) for number in range(150)]
    text = "axes![P = 1024];\n" + "".join(
        f"fn own{number}(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![P]>) {{\n"
        f"    type Slices = m![1 # {256 // cut}, P / {1024 // cut}];\n"
        f"    let y: DmTensor<i8, Chip, Cluster, Slices, m![P % {1024 // cut}]> = x.to_dm(&mut ctx.tdma);\n}}\n"
        for number, cut in cuts
    )
    found = {item.name: str(item.transfer.dest.slice) for item in plan(text).transfers}
    assert found == {f"own{number}-y": f"1 # {256 // cut}, P / {1024 // cut}" for number, cut in cuts}
