"""Layouts and drives as laws: addresses to digits and back, digits to cells as `meaning` says, sums of pieces as the
address.
"""

import itertools
import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from dmaverify.language.expr import axes_of
from dmaverify.language.meaning import Index, Pad, cell, finalize
from dmaverify.layout.addresses import BYTE, Layout
from dmaverify.layout.refine import Drive, Nest, drive
from dmaverify.lower.programs import space_of
from dmaverify.program.space import Space, layout_of, unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.move.fold import fold
from dmaverify.targets.target import load_target
from dmaverify.testing import Plan, moves, plans, tensors

LAB = load_target(str(Path(__file__).parents[1] / "fuzz" / "lab"))
MOST = 600


def positions(tensor: Tensor, space: Space, bits: int) -> list[tuple[int, int, int]]:
    """(flat position, unit within the element, global address), by plain arithmetic."""
    unit_bits = unit_bits_of(bits)
    width = bits // unit_bits
    places = [p for p in PLACES if p in space.places]
    out = []
    for position in range(tensor.mapping.size):
        rest, address = position, tensor.base * 8 // unit_bits
        for place in reversed(places):
            rest, value = divmod(rest, tensor.field(place).size)
            step = width if place == "element" else space.stride(place, unit_bits)
            address += (value + getattr(tensor, f"at_{place}", 0)) * step
        out += [(position, unit, address + unit) for unit in range(width)]
    return out


def check_layout(tensor: Tensor, bits: int) -> bool:
    """The layout of a tensor against `meaning` at every unit; False where it has no digits or is too large."""
    space = space_of(LAB, tensor.tier)
    layout, opaque = layout_of(tensor, space, bits)
    if opaque or tensor.mapping.size > MOST:
        return False
    sizes = axes_of(tensor.mapping)
    seen = set()
    for position, unit, address in positions(tensor, space, bits):
        values = layout.values_at(address)
        assert values is not None, (tensor, address)
        assert layout.address_of(values) == address
        assert not any(values[index] for index in layout.beyond_index)
        assert values not in seen
        seen.add(values)
        wanted, kind = finalize(cell(tensor.mapping, position), sizes), layout.kind_at(values)
        coordinates = layout.coordinates(values)
        assert coordinates.pop(BYTE, 0) == unit
        if isinstance(wanted, Index):
            assert kind is None
            assert {a: v for a, v in coordinates.items() if v} == dict(wanted.coords)
        else:
            assert isinstance(wanted, Pad)
            assert kind is not None
    return True


@given(st.sampled_from(("hbm", "dm", "host")).flatmap(lambda tier: tensors(LAB, tier)))
@settings(max_examples=60)
def test_the_digits_of_an_address_are_its_cell_and_give_the_address_back(tensor: Tensor) -> None:
    check_layout(tensor, 8)


@given(moves(LAB))
@settings(max_examples=60)
def test_layouts_of_moves_of_every_width_mean_what_their_mappings_mean(move) -> None:  # type: ignore[no-untyped-def]
    bits = LAB.dtypes[move.dtype]
    for tensor in (move.source, move.dest):
        if tensor.element.size * bits <= 64 * 8 or "slice" not in space_of(LAB, tensor.tier).places:
            check_layout(tensor, bits)


def test_an_address_outside_the_region_has_a_beyond_digit_that_is_not_zero_or_no_digits_at_all() -> None:
    rng = random.Random(5)
    from dmaverify.testing import seeded_plan

    outside = 0
    for number in range(80):
        plan = seeded_plan(f"outside {number}", LAB, valid=True)
        bits, space = LAB.dtypes[plan.transfer.dtype], space_of(LAB, plan.transfer.dest.tier)
        layout, opaque = layout_of(plan.transfer.dest, space, bits)
        inside = {address for _, _, address in positions(plan.transfer.dest, space, bits)}
        assert not opaque
        low, high = min(inside) - 40, min(inside) + 400
        for address in rng.sample(range(low, high), 60):
            values = layout.values_at(address)
            at_zero = values is not None and not any(values[index] for index in layout.beyond_index)
            assert at_zero == (address in inside), (plan.text(LAB), address, values)
            outside += address not in inside
    assert outside > 500


def sums_are_digits(drive_: Drive, layout: Layout, nest: Nest, side: str, values: tuple[int, ...]) -> None:
    base = nest.read_base if side == "read" else nest.write_base
    steps = [piece.read if side == "read" else piece.write for piece in nest.pieces]
    address = base + sum(step * value for step, value in zip(steps, values, strict=True))
    sums = drive_.sums(values)
    assert layout.address_of(sums) == address
    if drive_.carried:
        found = layout.values_at(address)
        if found is not None:
            assert sums[drive_.carried :] == found[drive_.carried :]


@given(plans(LAB))
@settings(max_examples=60)
def test_after_driving_the_sums_of_the_pieces_are_the_address_and_the_digits_that_do_not_carry_are_exact(
    plan: Plan,
) -> None:
    commands = plan.commands(LAB)
    if commands is None:
        return
    bits, spaces = LAB.dtypes[plan.transfer.dtype], plan.spaces(LAB)
    try:
        sides = [layout_of(t, s, bits) for t, s in zip((plan.transfer.source, plan.transfer.dest), spaces, strict=True)]
    except ZeroDivisionError:  # a cut that no mapping allows
        return
    if any(opaque for _, opaque in sides):
        return
    families = fold(commands)
    joint = drive(sides[0][0], sides[1][0], [family.nest for family in families])
    for driven, family in zip(joint.nests, families, strict=True):
        counters = set()
        whole = 1
        for piece in driven.nest.pieces:
            whole *= piece.count
        if whole > 3000:
            continue
        for values in itertools.product(*(range(piece.count) for piece in driven.nest.pieces)):
            if any(sum(k * values[i] for i, k in terms) >= bound for terms, bound in driven.nest.guards):
                continue
            sums_are_digits(driven.read, joint.source, driven.nest, "read", values)
            sums_are_digits(driven.write, joint.dest, driven.nest, "write", values)
            counters.add(driven.nest.counters(values, len(family.nest.pieces)))
        box = list(itertools.product(*(range(piece.count) for piece in family.nest.pieces)))
        assert counters == set(box)
