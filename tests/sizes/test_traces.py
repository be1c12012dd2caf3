"""What a run at one size records: its region holds no size at which any step would have gone another way."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest

from dmaverify.errors import Disagreement, Source
from dmaverify.language.numbers import Poly
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.space import LOCAL_LIMIT, Space
from dmaverify.prove.move.reach import walks_off
from dmaverify.prove.options import Options
from dmaverify.prove.sizes import complete, conditions, trace
from dmaverify.prove.sizes.attempt import Attempt
from dmaverify.prove.sizes.conditions import implied
from dmaverify.prove.sizes.divisors import traced
from dmaverify.prove.sizes.facts import FloorQuotient, SizeFact, SizeRegion, SizeSymbol, Template, with_floors
from dmaverify.prove.sizes.predicate import decide
from dmaverify.prove.sizes.search import NOTHING, OPEN, SizeSearch, follows, tight
from dmaverify.prove.sizes.shadow import number_of, poly_of
from dmaverify.prove.sizes.trace import Restart, Stuck
from dmaverify.prove.smt import Answer
from dmaverify.targets.smtlib import read_functions
from dmaverify.targets.smtlib_eval import compile_bool
from dmaverify.verdict import Status

A, B = Poly.symbol("A"), Poly.symbol("B")
ONE = Poly.of(1)
GRID = [{"A": a, "B": b} for a, b in product(range(1, 9), repeat=2)]
RUNS = [{"A": a, "B": b} for a, b in ((1, 1), (2, 2), (3, 2), (4, 2), (6, 3), (2, 5), (8, 8), (5, 7))]

CODE: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a >= b,
    lambda a, b: a > 2 * b,
    lambda a, b: b < 4,
    lambda a, b: a == b,
    lambda a, b: a != 3,
    lambda a, b: a % 4 == 0,
    lambda a, b: a % b == 0,
    lambda a, b: (a % 5) + b >= 6,
    lambda a, b: a // b,
    lambda a, b: a // 3 + b,
    lambda a, b: (a - b) // 4,
    lambda a, b: (63 * a) // 64,
    lambda a, b: (b - 3) // a,
    lambda a, b: (5 * a + 7) // 8,
    lambda a, b: divmod(a, b),
    lambda a, b: divmod(a * b, 6),
    lambda a, b: abs(a - b),
    lambda a, b: range(9)[a],
    lambda a, b: bool(a - b),
    lambda a, b: a // (b - 9),
    lambda a, b: a if (a * b) % 6 == 0 and a // 2 >= 2 else b,
    lambda a, b: (a * b) // 4 if (a * b) % 4 == 0 else 0,
]


def told(found: Any, values: Mapping[str, int]) -> Any:
    parts = found if isinstance(found, tuple) else (found,)
    return tuple(part if isinstance(part, bool) else poly_of(part).at(values) for part in parts)


def run(code: Callable[[Any, Any], Any], values: Mapping[str, int]) -> tuple[Any, Any] | None:
    """What the code gives at these sizes, and its trace; None where it is stuck."""
    divisors: dict[str, Poly] = {}
    while True:
        record = traced(values, tuple(divisors.items()), generic=False, ends={"A": (1, 8), "B": (1, 8)})
        try:
            return code(number_of(record, "A"), number_of(record, "B")), record
        except Restart as again:
            divisors[again.name] = divisors.get(again.name, ONE) * again.by
        except Stuck:
            return None


@pytest.mark.parametrize("number", range(len(CODE)))
def test_a_region_holds_no_size_at_which_the_code_says_something_else(number: int) -> None:
    code, held = CODE[number], 0
    for values in RUNS:
        ran = run(code, values)
        if ran is None:
            continue
        found, record = ran
        region = record.region()
        assert region.holds(values)
        for other in GRID:
            if region.holds(other):
                wanted = code(other["A"], other["B"])
                whole = with_floors(other, record.floors.values())
                assert told(found, whole) == (wanted if isinstance(wanted, tuple) else (wanted,)), (values, other)
                held += 1
    assert held >= len(RUNS) or number == 19  # a negative divisor leaves no region


PREDICATES = [
    "(and (>= a 3) (or (= (mod b 2) 0) (< a b)))",
    "(or (= a 3) (and (= b 2) (> a b)))",
    "(=> (> a b) (= (mod a 2) 0))",
    "(=> (> a 2) (> b 2) (= a b))",
    "(distinct a b 3)",
    "(distinct a 3 a)",
    "(<= 2 a b)",
    "(not (and (= a b) (= a 4)))",
    "(ite (> a b) (= (div a 2) b) (= (- b a) 1))",
    "(let ((c (+ a b))) (and (> c 4) (>= (* a b) 4) (< (abs (- a b)) 3)))",
]


@pytest.mark.parametrize("text", PREDICATES)
def test_what_a_predicate_records_decides_it(text: str) -> None:
    (function,) = read_functions(Source("p.smt2", f"(define-fun p ((a Int) (b Int)) Bool {text})"))
    holds = compile_bool(function)

    def asked(a: Any, b: Any) -> bool:
        return decide(function.body, {"a": a, "b": b}, (a if hasattr(a, "trace") else b).trace)

    for values in RUNS:
        found, record = run(asked, values) or (None, None)
        assert found is holds(values["A"], values["B"])
        region = record.region()
        assert all(holds(other["A"], other["B"]) is found for other in GRID if region.holds(other)), values


def test_a_fact_that_stood_before_is_kept_whatever_a_junction_needs() -> None:
    record = traced({"A": 4, "B": 2}, (), generic=False)
    (function,) = read_functions(
        Source("p.smt2", "(define-fun p ((a Int) (b Int)) Bool (and (> a 1) (> b 1) (> a b)))")
    )
    assert decide(function.body, {"a": number_of(record, "A"), "b": number_of(record, "B")}, record)
    assert len(record.facts) == 3


@pytest.mark.parametrize(
    ("op", "poly", "wanted"),
    [
        ("ge", A - ONE, True), ("ge", A - Poly.of(2), False),
        ("ge", Poly.of(8) - A, True), ("ge", Poly.of(7) - A, False),
        ("ne", A, True), ("ne", A - ONE, False), ("ne", Poly.of(9) - A, True), ("ne", Poly.of(8) - A, False),
        ("ne", A - Poly.of(9), True), ("ne", A - B, False), ("eq", A - ONE, False), ("ge", A * B - ONE, True),
    ],
)  # fmt: skip
def test_a_comparison_that_the_ranges_decide_is_not_recorded(op: str, poly: Poly, wanted: bool) -> None:
    assert trace.plainly(SizeFact(op, poly), {"A": (1, 8), "B": (1, None)}) is wanted


def test_a_size_taken_as_a_multiple_is_one_of_a_positive_number() -> None:
    record = traced({"A": 6, "B": 3}, (("A", B),), generic=False)
    assert number_of(record, "A") // number_of(record, "B") >= 2
    region = record.region()
    assert region.holds({"A": 6, "B": 3})
    assert not region.holds({"A": 7, "B": 3})
    assert not region.holds({"A": 6, "B": -3})
    assert not region.holds({"A": -6, "B": -3})


def test_a_run_of_too_many_decisions_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MOST_FACTS", 2)
    record = traced({"A": 4}, (), generic=False)
    with pytest.raises(Stuck, match="too many decisions"):
        [number_of(record, "A") == other for other in range(9)]


# ---------------------------------------------------------------- searching


def sizes(
    *assume: SizeFact, most: int | None = 6, multiple: int = 1, floors: tuple[FloorQuotient, ...] = ()
) -> Template:
    symbols = tuple(SizeSymbol(name, 0, most, multiple) for name in "AB")
    return Template("transfer", "t", "", 1, "toy", None, symbols, assume, floors, lambda values: None)  # type: ignore[arg-type,return-value]


def ge(poly: Poly) -> SizeFact:
    return SizeFact("ge", poly)


def test_a_search_that_gives_up_is_open_and_never_empty() -> None:
    scattered = [
        SizeRegion((SizeFact("ndiv", A * B + A, Poly.of(7)),)),
        SizeRegion((SizeFact("div", A * B + A, Poly.of(7)),)),
    ]
    for most, wanted in ((1, OPEN), (4000, NOTHING)):
        assert SizeSearch(sizes(), [SizeRegion((ge(A * B - A.scaled(9)),))], most).any_outside() != NOTHING
        left = [
            SizeRegion((ge(A - Poly.of(3)),)),
            SizeRegion((ge(Poly.of(2) - A), ge(B - ONE))),
            SizeRegion((ge(Poly.of(2) - A), ge(-B))),
        ]
        found = (SizeSearch(sizes(), left, most).any_outside(), SizeSearch(sizes(), left, most).first_outside())
        assert set(found) <= {wanted, NOTHING}
    assert SizeSearch(sizes(), scattered).any_outside() == NOTHING


@pytest.mark.parametrize(
    ("by", "poly", "low", "other", "wanted"),
    [(8, A, 4, A, True), (8, A, 16, A.scaled(2), True), (4, A, 8, A, False), (4, A, 8, B, False),
     (6, A.scaled(2), 6, A, False), (4, A, 4, A * B, True), (4, A + B, 4, A, False)],
)  # fmt: skip
def test_what_divides_a_number_divides_its_multiples_and_no_more(
    by: int, poly: Poly, low: int, other: Poly, wanted: bool
) -> None:
    assert follows(poly, by, other, low) is wanted


@pytest.mark.parametrize(("number", "kept"), [(0, 0), (-7, -8), (-8, -8), (7, 4), (1, 0)])
def test_a_comparison_is_rounded_to_what_its_multiples_reach(number: int, kept: int) -> None:
    assert tight(ge(A + Poly.of(number)), {"A": 4}).poly == A + Poly.of(kept)


@pytest.mark.parametrize(
    ("fact", "others", "wanted"),
    [
        (SizeFact("ndiv", A, Poly.of(2)), [SizeFact("div", A, Poly.of(4))], False),
        (SizeFact("div", A, Poly.of(2)), [SizeFact("div", A, Poly.of(4))], True),
        (ge(A - Poly.of(3)), [ge(A - Poly.of(3))], True),
        (ge(A - Poly.of(4)), [ge(A - Poly.of(3))], False),
        (ge(Poly.of(3) - A), [SizeFact("eq", A - Poly.of(3))], True),
        (ge(Poly.of(2) - A), [SizeFact("eq", A - Poly.of(3))], False),
    ],
)
def test_a_fact_is_implied_by_what_is_at_least_as_strong(fact: SizeFact, others: list[SizeFact], wanted: bool) -> None:
    assert implied(fact, others, sizes()) is wanted


@pytest.mark.parametrize(
    ("regions", "template", "left"),
    [
        ([ge(A - ONE)], sizes(), {"A": 0, "B": 0}),
        ([ge(A)], sizes(), None),
        ([ge(Poly.of(3) - A)], sizes(multiple=4), {"A": 4, "B": 0}),
        ([ge(Poly.of(4) - A)], sizes(multiple=4), None),
        ([ge(Poly.of(3) - A)], sizes(ge(Poly.of(3) - A)), None),
        ([SizeFact("ndiv", A, Poly.of(3))], sizes(), {"A": 0, "B": 0}),
        ([SizeFact("ndiv", A, Poly.of(3))], sizes(ge(A - ONE)), {"A": 3, "B": 0}),
        (
            [SizeFact("ne", Poly.symbol("q") + ONE)],
            sizes(floors=(FloorQuotient("q", A - B, Poly.of(2)),)),
            {"A": 0, "B": 1},
        ),
        (
            [SizeFact("ne", Poly.symbol("q") + ONE)],
            sizes(floors=(FloorQuotient("q", A, Poly.of(-2)),)),
            {"A": 1, "B": 0},
        ),
        (
            [SizeFact("ne", Poly.symbol("q") - ONE)],
            sizes(ge(A - ONE), floors=(FloorQuotient("q", A, B),)),
            {"A": 1, "B": 1},
        ),
    ],
)
def test_the_solver_names_the_smallest_size_outside(
    regions: list[SizeFact], template: Template, left: dict[str, int] | None
) -> None:
    every = [SizeRegion((fact,), template.floors) for fact in regions]
    assert complete.smallest_outside(template, every) == (left or NOTHING)


def test_an_answer_of_the_solver_counts_only_once_it_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    every = [SizeRegion((ge(A),))]
    for said, wanted in (
        (Answer("unknown", {}), False),
        (Answer("unsat", {}), True),
        (Answer("sat", {"n0": 1, "n1": 1}), False),
    ):
        monkeypatch.setattr(complete.Session, "ask", lambda self, query, name="", said=said: said)
        assert complete.confirmed(sizes(), every) is wanted
        if said.status != "unsat":
            assert complete.smallest_outside(sizes(), every) == OPEN
    monkeypatch.setattr(complete.Session, "ask", lambda self, query, name="": Answer("sat", {"n0": 1, "n1": 1}))
    said = iter([Answer("sat", {"n0": 1, "n1": 1}), Answer("unknown", {})])
    monkeypatch.setattr(complete.Session, "ask", lambda self, query, name="": next(said))
    assert complete.smallest_outside(sizes(), [SizeRegion((ge(A - Poly.of(2)),))]) == OPEN
    monkeypatch.setattr(complete.Session, "ask", lambda self, query, name="": Answer("sat", {"n0": 1, "n1": 1}))
    with pytest.raises(Disagreement, match="A = 1"):
        complete.confirmed(sizes(), [SizeRegion((ge(A - Poly.of(2)),))])


def test_sizes_that_stay_open_or_disagree_are_no_refuted_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(values: Mapping[str, int]) -> Any:
        raise Disagreement("two answers")

    finder = conditions._Finder(sizes(), Options())
    monkeypatch.setattr(finder.cover, "single", refuse)
    assert finder._status({"A": 1, "B": 1}) is Status.UNKNOWN
    for status, breaks in (("proved", False), ("open", False), ("broken", True)):
        monkeypatch.setattr(conditions, "attempt", lambda *_, status=status, **__: Attempt(status, SizeRegion(())))
        assert finder._break({"A": 1, "B": 1}) is breaks
    finder.broken.clear()
    monkeypatch.setattr(finder, "_break", lambda values: False)
    monkeypatch.setattr(finder.cover, "run", lambda values: Attempt("open", None))
    assert finder.find() == "open"
    assert finder.broken == []
    assert finder.left == ["A = 0, B = 0 and others"]


# ---------------------------------------------------------------- reach


DM = (Space("dm", ("chip", "cluster", "slice", "element"), (("slice", 1 << 22),)),) * 2
MEM = (Space("mem", ("element",)),) * 2


@pytest.mark.parametrize(
    ("loops", "read", "write"),
    [
        ((), (100, 103), (200, 203)),
        (((5, 8, 4),), (100, 135), (200, 219)),
        (((5, -8, 4),), (68, 103), (200, 219)),
        (((5, 8, -4), (2, -100, 0)), (0, 135), (184, 203)),
    ],
)
def test_a_command_reaches_from_its_first_to_its_last_unit(
    loops: tuple[tuple[int, int, int], ...], read: Any, write: Any
) -> None:
    command = Command(Port("dm", 100), Port("dm", 200), tuple(Loop(*one) for one in loops), 4, 4)
    assert (command.reach(writes=False), command.reach(writes=True)) == (read, write)
    assert walks_off(command, DM) == ""


@pytest.mark.parametrize(
    ("base", "off"),
    [(0, ""), (LOCAL_LIMIT - 8, ""), (LOCAL_LIMIT - 7, "write"), (LOCAL_LIMIT - 4, "write"), (7 - LOCAL_LIMIT, "")],
)
def test_an_address_beyond_every_memory_is_told(base: int, off: str) -> None:
    assert walks_off(Command(Port("dm", 0), Port("dm", base), (Loop(2, 4, 4),), 4, 4), DM) == off
    down = Command(Port("dm", -base), Port("dm", 0), (Loop(2, -4, 4),), 4, 4)
    assert walks_off(Command(Port("dm", 0), Port("dm", base), (Loop(2, 4, 4),), 4, 4), MEM) == ""
    assert walks_off(down, DM) == ("read" if base >= LOCAL_LIMIT - 4 else "")
