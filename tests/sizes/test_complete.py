"""Whether no size is left out: the search over boxes, the solver beside it, and plans at the edges of arithmetic."""

import random
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

import dmaverify.api as api
from dmaverify.errors import Disagreement
from dmaverify.language.numbers import Poly
from dmaverify.plan.read import InputErrors, read_plan_text
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.attempt import attempt
from dmaverify.prove.sizes.bounds import surely
from dmaverify.prove.sizes.check import check_template, samples, verdict_at
from dmaverify.prove.sizes.complete import confirmed, outside_all, smallest_outside
from dmaverify.prove.sizes.conditions import _without_subsumed
from dmaverify.prove.sizes.facts import FloorQuotient, SizeFact, SizeRegion, SizeSymbol, Template
from dmaverify.prove.sizes.search import NOTHING, SizeSearch
from dmaverify.verdict import Status

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
from edge_templates import edge_template

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "sizes"
X, Y, Z = (Poly.symbol(name) for name in "XYZ")
ONE = Poly.of(1)


def sizes(*assume: SizeFact, most: int = 6, floors: tuple[FloorQuotient, ...] = ()) -> Template:
    symbols = tuple(SizeSymbol(name, 0, most) for name in "XYZ")
    return Template("transfer", "t", "", 1, "toy", None, symbols, assume, floors, lambda values: None)  # type: ignore[arg-type,return-value]


def test_a_bound_is_not_multiplied_by_a_quotient_that_may_be_negative() -> None:
    claim = SizeFact("ge", Poly.symbol("q") * (X - Y))
    box = {"X": (0, 9), "Y": (0, 9), "q": (-5, 5)}
    assert not surely(claim, box, [X - Y])
    assert surely(claim, {**box, "q": (0, 5)}, [X - Y])


ROW = """schema = 1
target = "pto"
[axes]
R = { min = 1, max = 64 }
L = { min = 1, max = 64 }
[transfer.row]
dtype  = "i8"
source = { tier = "gm", element = "L" }
dest   = { tier = "ub", element = "L # ((L + 31) // 32 * 32)" }
stream = { packet = "L" }
"""


def test_sizes_that_are_fixed_in_no_proof_are_asked_from_definitions_with_few_of_them_fixed() -> None:
    """L = 1 is no digit of a script for all sizes; R, of which the move says nothing, stays a symbol there."""
    (template,) = read_plan_text(ROW).templates
    verdict = check_template(template, Options(prove="full"))
    assert verdict.status is Status.PROVED
    assert not [note for note in verdict.assumptions if note.startswith("not asked")]
    assert {one.by for one in verdict.obligations if one.id == "core/covers"} == {"z3"}


def test_sizes_of_which_no_script_speaks_are_named_and_are_no_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    (template,) = read_plan_text(ROW).templates
    monkeypatch.setattr("dmaverify.prove.sizes.check._written_at", lambda cover, values: (values, ()))
    verdict = check_template(template, Options(prove="full"))
    assert verdict.status is Status.PROVED
    assert "not asked from definitions: sizes such as R = 2, L = 1: no script speaks of them" in verdict.assumptions
    assert not [one for one in verdict.obligations if one.by == "z3"]


def test_of_two_regions_that_hold_each_other_one_is_kept() -> None:
    low, twice = SizeFact("ge", Poly.of(4) - X), SizeFact("ge", Poly.of(9) - X.scaled(2))
    assert _without_subsumed([SizeRegion((low,)), SizeRegion((twice,))], sizes()) == [(twice,)]
    assert _without_subsumed([SizeRegion((low,)), SizeRegion((low,))], sizes()) == [(low,)]


def test_the_solver_finds_what_enumeration_finds_outside_of_random_regions() -> None:
    """Divisibility of and by 0, quotients of differences, divisors that may be 0."""
    rng = random.Random(3)
    said: Counter[str] = Counter()
    for _ in range(40):
        half = FloorQuotient("h", X - Y, rng.choice((Poly.of(2), Z, Z - Poly.of(2))))
        forms = [X, Y, Z, X - Y, X * Y - Z, X + Y - Poly.of(3), Poly.symbol("h"), X * Poly.symbol("h") - Y]
        ops = ["ge", "ge", "eq", "ne", "div", "ndiv"]

        def fact(ops: list[str] = ops, forms: list[Poly] = forms) -> SizeFact:
            op = rng.choice(ops)
            by = rng.choice((Poly.of(2), Poly.of(3), Z, Y)) if op in ("div", "ndiv") else None
            return SizeFact(op, rng.choice(forms), by)

        regions = [
            SizeRegion(tuple(fact() for _ in range(rng.randint(1, 2))), (half,)) for _ in range(rng.randint(2, 5))
        ]
        one = sizes(*([fact(["ge", "div"], forms[:6])] if rng.random() < 0.5 else []), most=4, floors=(half,))
        every = [dict(zip("XYZ", values, strict=True)) for values in product(range(5), repeat=3)]
        left = sorted((v for v in every if one.admits(v) and not any(r.holds(v) for r in regions)), key=one.key)
        answer, smallest = outside_all(one, regions), smallest_outside(one, regions)
        said[answer.status] += 1
        assert answer.status in ("unknown", "sat" if left else "unsat")
        assert smallest in ("open", left[0] if left else NOTHING)
        assert SizeSearch(one, regions, 4000).first_outside() in ("open", left[0] if left else NOTHING)
    assert said["sat"] > 10
    assert said["unsat"] > 3


@pytest.mark.parametrize("left", range(7))
def test_the_search_finds_the_one_size_that_is_left(left: int) -> None:
    """Wherever boxes are cut, each size lies in one of them; what is above 6 is no size."""
    odd = X * X - X.scaled(2 * left) + Poly.of(left * left) - ONE  # at least 0 everywhere but at `left`
    for most in (6, 9):
        region = [SizeRegion((SizeFact("ge", odd),)), SizeRegion((SizeFact("ge", X - Poly.of(7)),))]
        found = SizeSearch(sizes(most=most), region, 4000).first_outside()
        assert found == {"X": left, "Y": 0, "Z": 0}


def test_a_region_that_leaves_sizes_out_is_not_confirmed() -> None:
    one = sizes()
    both = [SizeRegion((SizeFact("ge", X - Y),)), SizeRegion((SizeFact("ge", Y - X - ONE),))]
    assert confirmed(one, both)
    with pytest.raises(Disagreement, match="X = 0, Y = 1"):
        confirmed(one, both[:1])


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_solver_confirms_that_no_size_of_an_example_is_left_out(path: Path) -> None:
    """What is said of an example with symbols: what it expects, never that it is not known, of which sizes."""
    for verdict in api.check(path):
        assert verdict.as_expected, (verdict.name, verdict.status, sorted({f.rule for f in verdict.errors}))
        assert verdict.expect is None or verdict.status.value != "unknown", verdict.name
        assert verdict.sizes, verdict.name
        assert verdict.status is not Status.PROVED or "z3: no admitted sizes" in verdict.obligations[0].by


@pytest.mark.parametrize(
    ("name", "old", "new", "smallest"),
    [
        ("templates:tiled", "B=B:K*C, C=C:1]:C HBM/D@(A", "B=B:(K*C) * A, C=C:1]:C HBM/D@(A", (2, 2, 8, 1, 8)),
        ("templates:tiled", "A/K=A/K:K*B*C, A%K=K:B*C", "A/K=A/K:P, A%K=K:B*C", (2, 1, 8, 1, 16)),
        # with rows of one byte no stride matters: all bases and pitches hold
        ("idma:rows", "[A=A:P, C=C:1]:C @Base", "[A=A:P, C=C:Base]:C @Base", (1, 2, 0, 2, 2)),
        ("idma:rows", "[A=A:Q, C=C:1]:C @(2^20)", "[A=A:Q, C=C:(1) * Base]:C @(2^20)", (1, 2, 0, 2, 2)),
        ("idma:rows", "[A=A:Q, C=C:1]:C @(2^20)", "[A=A:Base, C=C:1]:C @(2^20)", (2, 1, 0, 1, 1)),
    ],
)  # fmt: skip
def test_a_fault_of_a_template_is_refuted_at_the_smallest_sizes(
    name: str, old: str, new: str, smallest: tuple[int, ...]
) -> None:
    file, _, entry = name.partition(":")
    text = (EXAMPLES / f"{file}.toml").read_text()
    assert old in text
    (one,) = (t for t in read_plan_text(text.replace(old, new, 1)).templates if t.name == entry)
    verdict = check_template(one, Options())
    assert verdict.status is Status.REFUTED
    assert tuple((verdict.smallest or {}).values()) == smallest


def test_regions_with_quotients_of_their_own_are_compared_with_each_other() -> None:
    half, third = (FloorQuotient(name, X + Y, Poly.of(by)) for name, by in (("h", 2), ("t", 3)))
    first = SizeRegion((SizeFact("ge", Poly.symbol("h") - ONE),), (half,))
    second = SizeRegion((SizeFact("ge", Poly.symbol("t") - ONE),), (third,))
    assert first.facts in _without_subsumed([first, second], sizes())


def test_plans_at_the_edges_of_arithmetic_are_judged_alike_in_every_region() -> None:
    counts: Counter[str] = Counter()
    for seed in range(12):
        try:
            (one,) = read_plan_text(edge_template(random.Random(seed)).text).templates
        except InputErrors:
            continue
        ranges = [
            list(range(s.first, min(s.last or 64, s.first + 2 * s.multiple) + 1, s.multiple)) for s in one.symbols
        ]
        every = [dict(zip((s.name for s in one.symbols), values, strict=True)) for values in product(*ranges)]
        every = [values for values in every if one.admits(values)]
        every = every[:: len(every) // 10 + 1]
        known = [(values, verdict_at(one, values, Options(repair=False)).status) for values in every]
        for start in [*list(samples(one))[:2], *every[:2]]:
            for generic in (True, False):
                done = attempt(one, start, Options(), generic=generic)
                if done.region is None:
                    continue
                wanted = Status.PROVED if done.status == "proved" else Status.REFUTED
                for values, status in known:
                    assert not done.region.holds(values) or status is wanted, (seed, start, values)
                    counts[done.status] += done.region.holds(values)
    assert min(counts["proved"], counts["broken"]) > 10
