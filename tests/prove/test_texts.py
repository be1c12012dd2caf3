"""Texts of obligations against what they speak of: cells by meaning, images and meetings of nests by listing them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from lab.oracle import only_solver

from dmaverify.language.expr import axes_of
from dmaverify.language.meaning import Index, OutOfBounds, cell, finalize
from dmaverify.language.parse import parse
from dmaverify.layout.refine import Drive, Driven, Nest, cut_piece
from dmaverify.layout.refine import drive as drive_of
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.move import Tensor
from dmaverify.program.space import Space, layout_of
from dmaverify.prove.limits import RLIMIT
from dmaverify.prove.move.cells import cell_text
from dmaverify.prove.move.core import judge_core
from dmaverify.prove.move.obligations import Subject, image_text, nest_claims, once_claim, two_copies
from dmaverify.prove.smt import Query, Session, all_of, any_of, negation

HOST = Space("host", ("element",))
AXES = {"A": 6, "B": 4}
TO = 4096


def holds(session: Session, text: str, variables: tuple[tuple[str, int | None, int | None], ...], *more: str) -> bool:
    """Whether a text can hold with these constraints."""
    constraints = tuple(one for one in (*more, text) if one != "true")
    return session.ask(Query(variables, constraints), "a text").status == "sat"


# ---------------------------------------------------------------- cells

WITH_DIGITS = ["A #{0} 7 #{!} 9", "A #{!} 7 #{0} 9", "A # 7 #{0} 9", "A #{0} 8, B #{!} 5", "[A # 7, B] = 20"]
BY_TREE = ["[2, A] @ 2 #{0} 11 #{!} 13", "[2, A] @ 2 #{!} 11 #{0} 13", "[2, A] @ 2 #{0} 13", "[A, A] / 4", "[B, B] @ 7"]


@pytest.mark.parametrize("text", WITH_DIGITS + BY_TREE)
def test_the_text_of_a_cell_says_of_every_position_what_meaning_says(text: str) -> None:
    tensor = Tensor("host", parse(text, AXES))
    layout, opaque = layout_of(tensor, HOST, 8)
    assert opaque == (text in BY_TREE)
    session = Session(RLIMIT)
    sizes = axes_of(tensor.element)
    for position in range(tensor.element.size):
        values = layout.values_at(position)
        found = cell_text(layout, [str(value) for value in values], tensor, opaque, "t")
        raw = cell(tensor.element, position)
        wanted = finalize(raw, sizes)
        word = "live" if isinstance(wanted, Index) else "outside" if isinstance(raw, OutOfBounds) else wanted.kind.value
        for name in ("live", "zero", "bottom", "outside"):
            said = holds(session, getattr(found, name), found.variables, *found.constraints)
            assert said == (name == word), (position, name, word)


# ---------------------------------------------------------------- images and meetings


def written(nest: Nest) -> list[int]:
    """The addresses that a nest writes, one for each of its counters."""
    return [
        nest.write_base + sum(p.write * v for p, v in zip(nest.pieces, values, strict=True))
        for values in itertools.product(*(range(piece.count) for piece in nest.pieces))
        if all(sum(k * values[i] for i, k in terms) < bound for terms, bound in nest.guards)
    ]


@pytest.mark.parametrize("count", [9, 10, 11, 12])
def test_the_image_of_a_nest_is_what_it_writes_ragged_ends_included(count: int) -> None:
    """10 of 12 elements of `A, B` in pieces of 4 of a row: the last row is half."""
    layout, _ = layout_of(Tensor("host", parse("A, B", AXES)), HOST, 8)
    nest = cut_piece(Nest.of(0, 0, [(count, 1, 1)]), 0, 4)
    drive = Drive((0, 0), (((0, 1),), ((1, 1),)))
    text = image_text(Driven(nest, drive, drive), "write", layout, ("w0", "w1"))
    assert text is not None
    session = Session(RLIMIT)
    domain = (("w0", 0, 6), ("w1", 0, 4))
    inside = [a for a in range(24) if holds(session, text, domain, f"(= w0 {a // 4})", f"(= w1 {a % 4})")]
    assert inside == sorted(written(nest)) == list(range(count))


@pytest.mark.parametrize(("rows", "count"), [(6, 4), (6, 3), (5, 4), (5, 3), (2, 2), (2, 3)])
@pytest.mark.parametrize("moved", [(((0, 1),), ((1, 1),)), (((0, 1),), ((1, -1),)), ((), ((0, 1), (1, 1)))])
def test_an_image_within_the_ranges_of_its_digits_says_the_same(
    rows: int, count: int, moved: tuple[tuple[tuple[int, int], ...], ...]
) -> None:
    """What a nest of `rows` by `count` touches of 6 rows of 4: the ranges that the domain states are not written."""
    layout, _ = layout_of(Tensor("host", parse("A, B", AXES)), HOST, 8)
    drive = Drive((0, 0, 3 if moved[1] == ((1, -1),) else 0), ((), *moved))
    driven = Driven(Nest.of(0, 0, [(rows, 4, 4), (count, 1, 1)]), drive, drive)
    texts = [image_text(driven, "write", layout, ("0", "w0", "w1"), ranged=ranged) for ranged in (False, True)]
    assert texts[0] is not None
    domain = (("w0", 0, 6), ("w1", 0, 4))
    unlike = any_of([all_of([texts[0], negation(texts[1] or "")]), all_of([negation(texts[0]), texts[1] or ""])])
    assert not holds(Session(RLIMIT), unlike, domain)
    assert (texts[1] == "true") == (rows == 6 and count == 4 and moved == (((0, 1),), ((1, 1),)))


MOVED = [(), ((0, 1),), ((1, 2),), ((0, 1), (1, 1)), ((1, 1), (0, 1)), ((0, 0),)]


@pytest.mark.parametrize("moved", list(itertools.product(MOVED, repeat=2)))
def test_equal_digits_leave_no_difference_where_the_claim_folds_or_the_solver_says_so(
    moved: tuple[tuple[tuple[int, int], ...], ...],
) -> None:
    layout, _ = layout_of(Tensor("host", parse("A, B", AXES)), HOST, 8)
    nest, drive = Nest.of(0, 0, [(3, 0, 0), (2, 0, 0)]), Drive((0, 0), moved)
    violation = once_claim(Driven(nest, drive, drive), layout, 0)
    digits = [drive.sums(values) for values in itertools.product(range(3), range(2))]
    said = violation.violation != "false" and Session(RLIMIT).ask(violation.question, "once").status == "sat"
    assert said == (len(set(digits)) < len(digits))


@pytest.mark.parametrize("change", ["", "step", "constant"])
def test_digits_that_do_not_add_up_to_the_address_are_claimed_to(change: str) -> None:
    tensors = [Tensor("host", parse("A, B", AXES)), Tensor("host", parse("A, B", AXES), base=TO)]
    source, dest = (layout_of(tensor, HOST, 8)[0] for tensor in tensors)
    joint = drive_of(source, dest, [Nest.of(0, TO, [(3, 4, 4), (3, 1, 1)])])
    (one,) = joint.nests
    terms, constants = one.read.terms, one.read.constants
    at = next(i for i, parts in enumerate(terms) if parts)
    if change == "step":
        terms = (*terms[:at], ((terms[at][0][0], 2),), *terms[at + 1 :])
    read = Drive(tuple(c + (change == "constant" and i == at) for i, c in enumerate(constants)), terms)
    told = replace(joint, nests=(replace(one, read=read),))
    claims = nest_claims(told, Subject(tensors[0], tensors[1], False, False), 0)
    asked = [c for c in claims if (c.obligation, c.part) == ("digits", "read") and c.violation != "false"]
    assert bool(asked) == bool(change)
    assert all(Session(RLIMIT).ask(c.question, "digits").status == "sat" for c in asked)


@pytest.mark.parametrize(("count", "base", "meet"), [(9, 9, False), (10, 9, True), (9, 8, True)])
def test_two_nests_meet_where_both_write_one_address(count: int, base: int, meet: bool) -> None:
    first = cut_piece(Nest.of(0, 0, [(count, 1, 1)]), 0, 4)
    second = Nest.of(0, base, [(3, 1, 4)])
    claim = two_copies([first, second], 0, 1)
    assert (Session(RLIMIT).ask(claim.question, "meet").status == "sat") == meet
    assert bool(set(written(first)) & set(written(second))) == meet


# ---------------------------------------------------------------- several commands


def copy(*loops: tuple[int, int, int], burst: int = 4, at: int = 0) -> Command:
    return Command(Port("host", at), Port("host", TO + at), tuple(Loop(*one) for one in loops), burst, burst)


def said(commands: Sequence[Command]) -> dict[str, str]:
    """What the solver alone says of an identity of `A, B`."""
    expr = parse("A, B", AXES)
    with only_solver():
        return dict(judge_core(
            Tensor("host", expr), Tensor("host", expr, base=TO), (HOST, HOST), 8, commands, {}, Session(RLIMIT), 0
        ).status)  # fmt: skip


def test_two_of_three_unlike_commands_that_meet_write_twice() -> None:
    """Rows 0, 1 and 2, then 2 to 5: no byte is written by all three."""
    assert said([copy(), copy((2, 4, 4), at=4), copy((3, 4, 4), at=12)])["core/writes-once"] == "proved"
    meeting = said([copy(), copy((2, 4, 4), at=4), copy((4, 4, 4), at=8)])
    assert (meeting["core/writes-once"], meeting["core/covers"]) == ("refuted", "proved")


def test_enough_writes_at_the_wrong_places_cover_nothing() -> None:
    """Pieces of 8 and of 12 cross rows of 4, so that cells are counted: 28 writes, and rows 4 and 5 have none."""
    found = said([copy((2, 8, 8), burst=8), copy(burst=12, at=4)])
    assert found["core/writes-once"] == "refuted"
    assert found["core/covers"] != "proved"
    right = said([copy((2, 8, 8), burst=8), copy(burst=8, at=16)])
    assert (right["core/writes-once"], right["core/covers"]) == ("proved", "proved")
