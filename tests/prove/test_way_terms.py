"""Conditions over the numbers of a run, against every number: what holds always, and which ways there are."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import product

import pytest

from dmaverify.program.ways import ANY, NUMBER, SOME, OnWay, WayChoice, WayTerm
from dmaverify.prove.flow.accesses.way_terms import always
from dmaverify.prove.flow.accesses.ways import Ways

TYPES = ((0, 8), (-4, 4))  # as integers of three bits
ARITHMETIC = ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "min", "max")


class Stops(Exception):
    """An operation has no result."""


def wrapped(value: int, ends: tuple[int, int]) -> int:
    return (value - ends[0]) % (ends[1] - ends[0]) + ends[0]


def value_of(term: WayTerm, run: Mapping[int, int], checked: bool) -> int:
    """A term in one run; Stops where it has no result, of a `checked` build also where it leaves its type."""
    if term.op == NUMBER:
        return term.value
    if term.op in (ANY, SOME):
        return run[term.value]
    if term.op == "stops":
        own = term.parts[0]
        parts = [value_of(one, run, checked) for one in own.parts]
        try:
            made_of(own, parts, checked=True)
        except Stops:
            return 1
        return 0
    return made_of(term, [value_of(one, run, checked) for one in term.parts], checked=checked)


def made_of(term: WayTerm, parts: list[int], *, checked: bool) -> int:
    """What an operation makes of its parts."""
    if term.op in (NUMBER, ANY, SOME):
        return 0
    if term.op in ("and", "or", "not"):
        return int({"and": all, "or": any, "not": lambda own: not own[0]}[term.op](parts))
    if term.op in ("==", "<"):
        return int(parts[0] == parts[1] if term.op == "==" else parts[0] < parts[1])
    assert term.ends is not None
    first, end = term.ends
    width = (end - first).bit_length() - 1
    if term.op == "as":
        return wrapped(parts[0], term.ends)
    if term.op in ("/", "%"):
        if parts[1] == 0 or (parts[0] == first < 0 and parts[1] == -1):
            raise Stops
        whole = abs(parts[0]) // abs(parts[1]) * (1 if (parts[0] < 0) == (parts[1] < 0) else -1)
        return whole if term.op == "/" else parts[0] - whole * parts[1]
    if term.op in ("<<", ">>"):
        if not 0 <= parts[1] < width:
            raise Stops
        return wrapped(parts[0] << parts[1], term.ends) if term.op == "<<" else parts[0] >> parts[1]
    exact = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "&": int.__and__, "|": int.__or__, "^": int.__xor__}
    if term.op in ("min", "max"):
        return min(parts) if term.op == "min" else max(parts)
    made = -parts[0] if term.op == "neg" else exact[term.op](*parts)
    if wrapped(made, term.ends) != made and checked:
        raise Stops
    return wrapped(made, term.ends)


def drawn_number(draw: random.Random, ends: tuple[int, int], deep: int) -> WayTerm:
    if deep == 0 or draw.random() < 0.2:
        if draw.random() < 0.5:
            return WayTerm(ANY, (), ends, TYPES.index(ends) * 2 + draw.randrange(2))
        return WayTerm(NUMBER, (), ends, draw.randrange(*ends))
    op = draw.choice((*ARITHMETIC, "as", "neg"))
    if op == "as":
        truth = drawn_truth(draw, 1) if deep > 1 and draw.random() < 0.5 else None
        return WayTerm("as", (truth or drawn_number(draw, draw.choice(TYPES), deep - 1),), ends)
    count = 1 if op == "neg" and ends[0] else 2
    parts = tuple(drawn_number(draw, ends, deep - 1) for _ in range(count))
    return WayTerm("-" if op == "neg" and count == 2 else op, parts, ends)


def drawn_truth(draw: random.Random, deep: int = 2) -> WayTerm:
    how, ends = draw.random(), draw.choice(TYPES)
    if how < 0.25:
        return drawn_truth(draw, deep).negated()
    if how < 0.35:
        return WayTerm(draw.choice(("and", "or")), (drawn_truth(draw, deep), drawn_truth(draw, deep)))
    if how < 0.5:
        made = drawn_number(draw, ends, deep)
        return WayTerm("stops", (made,))
    return WayTerm(draw.choice(("==", "<")), (drawn_number(draw, ends, deep), drawn_number(draw, ends, deep - 1)))


def inputs_of(term: WayTerm) -> dict[int, tuple[int, int]]:
    own = {term.value: term.ends} if term.op in (ANY, SOME) and term.ends is not None else {}
    return {**own, **{name: ends for one in term.parts for name, ends in inputs_of(one).items()}}


def runs_of(*terms: WayTerm) -> Iterator[dict[int, int]]:
    every = {name: ends for one in terms for name, ends in inputs_of(one).items()}
    for values in product(*(range(*ends) for ends in every.values())):
        yield dict(zip(every, values, strict=True))


def truths(term: WayTerm, runs: Iterator[dict[int, int]], checked: bool) -> Iterator[bool]:
    for run in runs:
        try:
            yield bool(value_of(term, run, checked))
        except Stops:
            continue


@pytest.mark.parametrize("seed", range(4))
def test_what_holds_always_holds_in_every_run_of_every_build(seed: int) -> None:
    draw, told = random.Random(seed), 0
    for _ in range(60):
        term = drawn_truth(draw)
        found = always(term)
        for checked in (False, True) if found is not None else ():
            assert set(truths(term, runs_of(term), checked)) <= {found}, term
            told += 1
    assert told > 10


@pytest.mark.parametrize("seed", range(4))
def test_a_way_is_certain_where_a_run_takes_it_and_is_none_where_no_run_does(seed: int) -> None:
    draw, told = random.Random(seed), set()
    for _ in range(40):
        asked = [drawn_truth(draw, 1) for _ in range(3)]
        choices = [WayChoice(f"d{n}", 0, 2, ("yes", "no"), (one, one.negated())) for n, one in enumerate(asked)]
        found = Ways().past(OnWay(tuple(choices[:2])), [OnWay((choices[2],))])
        whole = WayTerm("and", (asked[0], asked[1], asked[2].negated()))
        if found is None:
            assert True not in truths(whole, runs_of(whole), False), whole
        elif found.certain:
            assert True in truths(whole, runs_of(whole), True), whole
        told.add(found.certain if found is not None else None)
    assert told >= {None, True}


def test_an_input_of_which_nobody_says_what_occurs_makes_no_way_certain() -> None:
    for op, certain in ((ANY, True), (SOME, False)):
        low = WayTerm("<", (WayTerm(op, (), (0, 16), 1), WayTerm(NUMBER, (), None, 3)))
        choice = WayChoice("d", 0, 2, ("yes", "no"), (low, low.negated()))
        found = Ways().past(OnWay((choice,)), ())
        assert found is not None
        assert found.certain is certain
