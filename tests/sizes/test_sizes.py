"""Plans with symbols: one verdict for all sizes, the smallest sizes that break it, conditions and guards."""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab.draws import seeds
from lab.random_templates import Drawn, random_template
from lab.wide_templates import wide_template

import dmaverify.api as api
from dmaverify.errors import InputError, Source
from dmaverify.language.numbers import Poly
from dmaverify.plan.read import InputErrors, read_plan_text
from dmaverify.plan.relations import SizeTerm, clauses_of, relations_in
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.attempt import attempt
from dmaverify.prove.sizes.check import check_template, samples, verdict_at
from dmaverify.prove.sizes.conditions import conditions
from dmaverify.prove.sizes.divisors import traced
from dmaverify.prove.sizes.facts import FactReason, FloorQuotient, SizeFact, Template, with_floors
from dmaverify.prove.sizes.shadow import number_of
from dmaverify.report.guards import guard
from dmaverify.verdict import Status

PLAIN = Options(repair=False)
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "sizes"
PLAN = """schema = 1
target = "rngd"
{assume}
[axes]
A = {{ min = 1, max = {most} }}
B = {{ min = 1, max = {most} }}
C = {{ min = 8, max = {packet}, multiple_of = {multiple} }}
[transfer.t]
dtype = "i8"
source = {{ tier = "hbm", element = "A, B, C" }}
dest = {{ tier = "hbm", base = "A * B * C", element = "B, A, C" }}
read = "[A=A:{step}, B=B:C, C=C:1]:C HBM/D@0"
write = "[A=A:C, B=B:A*C, C=C:1]:C HBM/D@(A*B*C)"
"""


def plan(assume: str = "", most: int = 64, packet: int = 4096, multiple: int = 8, step: str = "B*C") -> str:
    return PLAN.format(assume=assume, most=most, packet=packet, multiple=multiple, step=step)


def template(text: str) -> Template:
    (found,) = read_plan_text(text).templates
    return found


@pytest.mark.parametrize(
    ("changes", "smallest"),
    [
        ({}, None),
        ({"packet": 5000}, {"A": 1, "B": 1, "C": 4104}),
        ({"step": "C"}, {"A": 2, "B": 2, "C": 8}),
        ({"step": "A*C"}, {"A": 2, "B": 1, "C": 8}),
        ({"step": "A*C", "assume": 'assume = ["A <= B"]'}, {"A": 2, "B": 3, "C": 8}),
        ({"packet": 5000, "assume": 'assume = ["C <= 4096"]'}, None),
        ({"packet": 5000, "assume": 'assume = ["C <= 4104 and 16 | C"]'}, None),
    ],
)
def test_a_plan_is_proved_for_all_sizes_or_refuted_at_the_smallest(changes: dict, smallest: dict | None) -> None:
    (verdict,) = api.check(plan(**changes))
    assert (verdict.status, verdict.smallest) == (Status.REFUTED if smallest else Status.PROVED, smallest)


def test_two_axes_of_one_size_are_not_taken_for_each_other() -> None:
    swapped = plan(assume='assume = ["A == B"]').replace("[A=A:B*C, B=B:C", "[A=A:C, B=B:B*C")
    (verdict,) = api.check(swapped)
    assert verdict.smallest == {"A": 2, "B": 2, "C": 8}
    assert {f.rule for f in verdict.errors} == {"core/same-element"}


@pytest.mark.slow
def test_the_smallest_sizes_are_those_that_enumeration_finds() -> None:
    mutants = ["B*C + 1", "B*C*B", "C*A", "A", "B*C - C + 8", "(B + 1)*C", "B*C*2", "8", "C*C", "0"]
    for step in mutants:
        one = template(plan(most=4, packet=16, step=step))
        sizes = [dict(zip("ABC", values, strict=True)) for values in product(range(1, 5), range(1, 5), (8, 16))]
        ordered = sorted(sizes, key=one.key)
        wanted = next((v for v in ordered if verdict_at(one, v, PLAIN).status is Status.REFUTED), None)
        assert check_template(one, Options()).smallest == wanted, step


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A = { min = 0, max = 4 }", "`A` may be 0"),
        ("A = { min = 5, max = 4 }", "no number from 5 to 4"),
        ("A = { min = 1, max = 7, multiple_of = 8 }", "a multiple of 8"),
        ("A = { min = 1, most = 4 }", "unknown key `most`"),
        ("A = { min = 1, multiple_of = 0 }", "at least 1"),
    ],
)
def test_a_range_that_holds_nothing_is_told(text: str, said: str) -> None:
    with pytest.raises(InputErrors) as caught:
        read_plan_text(plan().replace("A = { min = 1, max = 64 }", text))
    assert said in str(caught.value)


@pytest.mark.parametrize("clause", ["A", "A <", "A <= X", "A <= 3 B", "A and B", "A <= B + slice_stride", "A ^ B <= 2"])
def test_a_relation_that_cannot_be_read_is_told(clause: str) -> None:
    with pytest.raises(InputErrors):
        read_plan_text(plan(assume=f'assume = ["{clause}"]'))


def test_relations_that_no_size_meets_are_refuted_as_vacuous() -> None:
    (verdict,) = api.check(plan(assume='assume = ["A >= 65"]'))
    assert verdict.status is Status.REFUTED
    assert verdict.findings[0].rule == "core/not-vacuous"


def test_sizes_at_which_a_quotient_is_not_whole_break_the_plan() -> None:
    (verdict,) = api.check(plan().replace("[A=A:B*C, B=B:C", "[A=A:B*C, B=B/2*2:C"))
    assert verdict.smallest == {"A": 1, "B": 1, "C": 8}
    assert verdict.findings[0].rule == "core/well-formed"


def test_other_commands_ask_for_numbers_in_place_of_symbols() -> None:
    with pytest.raises(Exception, match="has symbols"):
        api.run(plan())


def test_a_condition_has_few_clauses_and_is_exact() -> None:
    one = conditions(template(plan(most=65536, packet=65536)), Options())
    assert one.status == "exact"
    assert [[fact.text for fact in facts] for facts in one.any] == [["C <= 4096", "A * B * C <= 25769803776"]]
    assert {fact.why.rule for facts in one.any for fact in facts} == {"rngd/packet-max", "rngd/hbm-capacity"}


def test_a_python_guard_lets_through_the_sizes_that_check_proves() -> None:
    one = template(plan(most=65536, packet=65536))
    space: dict = {}
    exec(guard(conditions(one, Options()), "python"), space)
    rng = random.Random(7)
    passed = 0
    for _ in range(400):
        sizes = {"A": rng.randint(1, 300), "B": rng.randint(1, 300), "C": rng.choice((8, 12, 64, 4096, 4104, 65536))}
        try:
            space["check_sizes_of_t"](**sizes)
        except AssertionError:
            wanted = sizes["C"] % 8 == 0 and sizes["C"] <= 4096
            assert not wanted or sizes["A"] * sizes["B"] * sizes["C"] > 25769803776
            continue
        passed += 1
        if passed <= 12:
            assert verdict_at(one, {**sizes, "C": min(sizes["C"], 64)}, Options()).status is Status.PROVED
    assert passed > 100


@pytest.mark.parametrize("language", ["rust", "c", "mlir", "python"])
def test_a_guard_states_ranges_and_clauses_in_every_language(language: str) -> None:
    text = guard(conditions(template(plan(packet=8192)), Options()), language)
    assert "4096" in text
    assert "64" in text


NAMED = """schema = 1
target = "rngd"
assume = ["{a} // 3 <= 5", "{b} // 5 >= 1"]
[axes]
"{a}" = {{ min = 1, max = 60 }}
"{b}" = {{ min = 1, max = 60 }}
[transfer.t]
dtype = "i32"
source = {{ tier = "hbm", element = "{a}, {b}" }}
dest = {{ tier = "hbm", base = 65536, element = "{b}, {a}" }}
stream = {{ time = "{a}, {b}", packet = "1" }}
"""


@pytest.mark.parametrize("names", [("Q0", "Q1"), ("Type", "Match"), ("A", "A_"), ("A'", "A_prime"), ("None", "In")])
@pytest.mark.parametrize("language", ["rust", "c", "python"])
def test_each_number_of_a_guard_has_a_name_of_its_own(names: tuple[str, str], language: str) -> None:
    """A quotient `q0` is not the size `Q0` of Rust, and no name is a word of the language."""
    text = guard(conditions(template(NAMED.format(a=names[0], b=names[1])), Options()), language)
    made = re.findall(r"(?:let|__int128|^   ) (\w+) = ", text, re.MULTILINE)
    given = re.findall(r"(\w+): u64|uint64_t (\w+)|^def \w+\((\w+), (\w+)\)", text, re.MULTILINE)
    arguments = [name for found in given for name in found if name]
    own = made if language == "rust" else [*made, *arguments]
    assert len(own) == len(set(own)) == (6 if language == "c" else 4)
    assert not {*own, *arguments} & {"type", "match", "in", "None", "none_"}


def smallest_judged(one: Template, most: int) -> list[tuple[dict[str, int], Status]]:
    """The smallest sizes of a template, each with what the ordinary checker says of it."""
    ranges = [range(s.first, s.first + 3 * s.multiple, s.multiple) for s in one.symbols]
    sizes = [dict(zip((s.name for s in one.symbols), values, strict=True)) for values in product(*ranges)]
    return [(values, verdict_at(one, values, PLAIN).status) for values in list(filter(one.admits, sizes))[:most]]


def held_alike(one: Template, known: Sequence[tuple[dict[str, int], Status]]) -> int:
    """How many of these sizes regions of runs hold; each has to be judged as its run was."""
    held = 0
    for start in [*list(samples(one))[:2], *(values for values, _ in known[:2])]:
        done = attempt(one, start, Options(), generic=True)
        if done.region is not None:
            wanted = Status.PROVED if done.status == "proved" else Status.REFUTED
            inside = [(values, status) for values, status in known if done.region.holds(values)]
            assert all(status is wanted for _, status in inside), (start, inside)
            held += len(inside)
    return held


def test_no_region_of_a_run_holds_sizes_that_the_ordinary_checker_judges_otherwise() -> None:
    counts: Counter[str] = Counter()
    for seed in (6000, 6001, 6004, 6012, 6017):
        one = template(random_template(random.Random(seed)).text)
        known = smallest_judged(one, 24)
        condition = conditions(one, Options())
        for values, status in known:
            whole = with_floors(values, condition.floors)
            held = any(all(fact.holds(whole) for fact in facts) for facts in condition.any)
            assert not held or status is Status.PROVED, (seed, values)
            assert condition.status != "exact" or held == (status is Status.PROVED), (seed, values)
            counts["pairs"] += 1
        counts["held"] += held_alike(one, known)
    assert counts["pairs"] == 90
    assert counts["held"] >= 100


def test_a_symbolic_piece_that_is_one_value_long_ends() -> None:
    one = template(random_template(random.Random(930260)).text)
    assert attempt(one, {"A": 64, "B": 8}, Options(), generic=True).status == "open"


def test_what_a_remainder_rests_on_is_recorded_each_time_it_is_asked() -> None:
    trace = traced({"A": 3, "B": 9}, (), generic=True)
    rest = number_of(trace, "A") % 5
    assert rest + number_of(trace, "B") >= 12
    first, trace.facts = set(trace.facts), {}
    assert rest + number_of(trace, "B") >= 12
    assert first == set(trace.facts)


def test_no_cache_answers_in_another_span_of_a_trace() -> None:
    trace = traced({"A": 3}, (), generic=True)
    one = number_of(trace, "A")
    before = hash(one)
    trace.span += 1
    assert hash(one) != before


EXAMPLE_6 = (EXAMPLES / "example-6.toml").read_text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("DM/D@(1, 3, DMN_stride)", "DM/D@(1, 2, DMN_stride)"),
        ("1*(15*B*C) + 3*(4*C) + 2*C", "1*(15*B*C) + 3*(4*C) + C"),
        ("1*(15*B*C) + 3*(4*C) + 2*C", "1*(15*B*C) + 3*(4*C) + 3*C"),
        ("1*(15*B*C) + 2*(4*C)", "1*(15*B*C) + 1*(4*C)"),
        ("A'/2%2=2:2*C, C=C:1]:C HBM/D@(1*(15*B*C) + 2*", "A'/2%2=2:C, C=C:1]:C HBM/D@(1*(15*B*C) + 2*"),
    ],
)
def test_a_fault_in_one_of_ten_commands_over_a_ragged_axis_is_refuted(old: str, new: str) -> None:
    assert EXAMPLE_6.count(old) == 1
    (verdict,) = api.check(EXAMPLE_6.replace(old, new))
    assert verdict.status is Status.REFUTED
    assert verdict.smallest is not None


def test_a_command_left_out_of_ten_is_not_proved() -> None:
    (verdict,) = api.check(EXAMPLE_6[: EXAMPLE_6.rindex("[[transfer")])
    assert verdict.status is Status.REFUTED


def test_regions_of_plans_of_more_kinds_hold_only_sizes_that_are_judged_alike() -> None:
    counts: Counter[str] = Counter()
    for seed in (2, 14, 26, 39, 60, 63):
        one = template(wide_template(random.Random(seed)).text)
        known = smallest_judged(one, 16)
        counts["held"] += held_alike(one, known)
    assert counts["held"] > 30


@given(st.sampled_from((random_template, wide_template)), st.randoms(use_true_random=False))
@settings(max_examples=12, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_plans_with_symbols_that_hypothesis_draws_are_judged_alike_at_their_first_sizes(
    make: Callable[[random.Random], Drawn], rng: random.Random
) -> None:
    try:
        (one,) = read_plan_text(make(rng).text).templates
    except InputErrors:
        return
    values = {symbol.name: symbol.first for symbol in one.symbols}
    if not one.admits(values):
        return
    done = attempt(one, values, Options(), generic=False)
    if done.region is not None:
        wanted = Status.PROVED if done.status == "proved" else Status.REFUTED
        assert verdict_at(one, values, PLAIN).status is wanted


def test_sizes_at_which_two_divisors_do_not_divide_together_are_judged_all_the_same() -> None:
    one = template(random_template(random.Random(101)).text)
    assert attempt(one, {"A": 4, "B": 2}, Options(), generic=False).status in ("proved", "broken", "open")


PAD = """schema = 1
target = "rngd"
assume = ["{assume}"]
[axes]
B = {{ min = 8, max = 4096, multiple_of = 8 }}
[free]
K = {{ min = 1, max = 64 }}
X = {{ min = {least}, max = 64 }}
[transfer.t]
dtype = "i8"
source = {{ tier = "hbm", element = "B # (4096 + 64*({top}) - 64*K)" }}
dest = {{ tier = "hbm", base = "2^20", element = "B" }}
read = "[B=B:1]:B HBM/D@0"
write = "[B=B:1]:B HBM/D@(2^20)"
"""


@pytest.mark.parametrize(
    ("assume", "least", "top", "proved"),
    [
        ("K | X", 1, "X", True),
        ("K | X", 0, "X", False),
        ("K | X - 3", 4, "X - 3", True),
        ("K | X - 3", 3, "X - 3", False),
        ("K | X - 3", 0, "X - 3", False),
        ("K <= X", 0, "X", True),
    ],
)
def test_a_multiple_is_as_large_as_its_divisor_only_where_it_is_above_0(
    assume: str, least: int, top: str, proved: bool
) -> None:
    (verdict,) = api.check(PAD.format(assume=assume, least=least, top=top))
    assert (verdict.status is Status.PROVED) == proved


@pytest.mark.parametrize(
    ("assume", "proved"),
    [("2 | X // 3 and K <= X", True), ("2 | X // 3", False), ("K <= X and K | 64 // X", True), ("K | 64 // X", False)],
)
def test_what_divides_a_quotient_rounded_down_is_assumed_like_any_other(assume: str, proved: bool) -> None:
    (verdict,) = api.check(PAD.format(assume=assume, least=1, top="X"))
    assert verdict.status is (Status.PROVED if proved else Status.REFUTED)


ZERO = """schema = 1
target = "rngd"
[axes]
A = {{ min = 1, max = 5 }}
C = {{ min = 8, max = 24, multiple_of = 8 }}
[transfer.t]
dtype = "i8"
source = {{ tier = "hbm", element = "{source}" }}
dest = {{ tier = "hbm", base = "2^20", element = "{dest}" }}
stream = {{ time = "{time}", packet = "{packet}" }}
"""


@pytest.mark.parametrize(
    ("source", "dest", "time", "packet", "proved"),
    [
        ("A, C #{0} (C + 8)", "A, C #{0} (C + 8)", "A", "C #{0} (C + 8)", True),
        ("A, C #{0} (C + 16)", "A, C #{0} (C + 8)", "A", "C #{0} (C + 8)", True),
        ("A, C #{0} (C + 8)", "A, C #{0} (C + 16)", "A", "C #{0} (C + 8)", False),
        ("A, C #{0} (C + 8)", "A, C # (C + 8)", "A", "C #{0} (C + 8)", True),
        ("A, C # (C + 8)", "A, C #{0} (C + 8)", "A", "C # (C + 8)", False),
        ("A, C #{0} (C + 8)", "A, C #{0} (C + 8)", "A", "C", False),
        ("A #{0} (A + 1), C", "A #{0} (A + 1), C", "A #{0} (A + 1)", "C", True),
        ("A #{0} (A + 1), C", "A #{0} (A + 1), C", "A", "C", False),
        ("A, C", "A, C #{0} (C + 8)", "A", "C", False),
        ("A #{0} (A + 1), C", "A #{0} (A + 1), C #{0} (C + 8)", "A #{0} (A + 1)", "C", False),
        ("A, C # (C + 8)", "A, C #{0} (C + 8)", "A", "C", False),
        ("C", "A #{0} (A + 1), C", "A #{0} (A + 1)", "C", False),
        ("A # (A + 1), C #{0} (C + 8)", "A, C #{0} (C + 8)", "A", "C #{0} (C + 8)", None),
    ],
)
def test_zero_padding_ends_as_zero_at_every_size(
    source: str, dest: str, time: str, packet: str, proved: bool | None
) -> None:
    one = template(ZERO.format(source=source, dest=dest, time=time, packet=packet))
    sizes = [dict(zip("AC", values, strict=True)) for values in product((1, 2, 5), (8, 24))]
    known = [(values, verdict_at(one, values, PLAIN).status) for values in sizes]
    verdict = check_template(one, Options())
    assert proved is None or verdict.status is (Status.PROVED if proved else Status.REFUTED)
    if verdict.status is Status.PROVED:
        assert {status for _, status in known} == {Status.PROVED}
    for values in sizes[::3]:
        done = attempt(one, values, Options(), generic=True)
        if done.region is not None:
            held = {status for v, status in known if done.region.holds(v)}
            assert held == {Status.PROVED if done.status == "proved" else Status.REFUTED}


ALONE = """schema = 1
target = "rngd"
[axes]
A = {{ min = 1, max = 2048 }}
B = 256
[transfer.t]
dtype = "{}"
source = {{ tier = "hbm", base = 0, element = "{}" }}
dest = {{ tier = "dm", base = 0, slice = "{}", element = "{}" }}
"""


@pytest.mark.parametrize(
    ("dtype", "source", "slices", "element", "wanted"),
    [
        ("i32", "A, B", "A", "B", ["A <= 256"]),
        ("i8", "B, A", "B", "A # 512", ["A % 8 == 0 and A <= 511", "A == 512"]),
        ("i8", "B, A", "B", "A", ["A % 8 == 0"]),
        ("i8", "A, 3", "2", "A, 3", []),
        ("i8", "A", "A", "B", []),
    ],
)
def test_a_move_without_a_stream_is_judged_for_all_sizes_as_at_each_by_itself(
    dtype: str, source: str, slices: str, element: str, wanted: list[str]
) -> None:
    one = template(ALONE.format(dtype, source, slices, element))
    found = conditions(one, Options())
    assert [" and ".join(f.text for f in facts) for facts in found.any] == wanted
    assert found.status == "exact"
    for size in (1, 2, 4, 8, 12, 248, 255, 256, 257, 504, 511, 512, 513, 520, 2048):
        held = any(all(f.holds({"A": size}) for f in facts) for facts in found.any)
        assert verdict_at(one, {"A": size}, PLAIN).status is (Status.PROVED if held else Status.REFUTED), size


PITCH = """schema = 1
target = "{target}"
assume = ["P >= L"]
[axes]
R = {{ min = 1, max = 64 }}
L = {{ min = 1, max = 64 }}
[free]
P = {{ min = 4, max = 64, multiple_of = 4 }}
[transfer.t]
dtype = "{dtype}"
source = {{ tier = "{tier}", base = 4096, element = "{source}" }}
dest = {{ tier = "{tier}", base = 65536, element = "{dest}" }}
"""


@pytest.mark.parametrize(
    ("target", "tier", "dtype", "source", "dest", "proved"),
    [
        ("idma", "mem", "i8", "R, L # P", "R, L", True),
        ("idma", "mem", "i8", "R, L", "L, R", True),
        ("rngd", "hbm", "i8", "R, L # P", "R, L # P", True),
        ("rngd", "hbm", "i4", "R, L", "R, L", False),  # half bytes where both are odd
    ],
)
def test_rows_of_any_pitch_need_no_stream_to_be_judged(
    target: str, tier: str, dtype: str, source: str, dest: str, proved: bool
) -> None:
    """Packets of one unit keep every rule there: how long a run is has no part in it."""
    (verdict,) = api.check(PITCH.format(target=target, tier=tier, dtype=dtype, source=source, dest=dest))
    assert (verdict.status is Status.PROVED) == proved


# ---------------------------------------------------------------- the language of `assume`


def _drawn_fact(rng: random.Random) -> SizeFact:
    def poly() -> Poly:
        terms: dict[tuple[str, ...], int] = {}
        for _ in range(rng.randint(1, 3)):
            terms[tuple(sorted(rng.choices("ABC", k=rng.randint(0, 2))))] = rng.choice([-6, -3, -1, 1, 2, 4, 32])
        return Poly(terms)

    op = rng.choice(["ge", "eq", "ne", "div", "ndiv"])
    divisors = [{(): 32}, {(): 3}, {("B",): 1}, {("B",): 4}, {("A", "B"): 1}, {("B",): 1, (): 1}]
    by = Poly(rng.choice(divisors)) if op in ("div", "ndiv") else None
    return SizeFact(op, poly(), by, FactReason("core/covers", ""))


def test_assume_reads_every_clause_that_conditions_writes() -> None:
    rng = random.Random(5)
    seen: Counter[str] = Counter()
    for _ in range(1_500):
        fact = _drawn_fact(rng)
        floors: dict[str, FloorQuotient] = {}
        known = {name: SizeTerm(Poly.symbol(name), floors) for name in "ABC"}
        (read,) = clauses_of(fact.text, known, Source("drawn", fact.text), 0)
        seen[read.op] += 1
        for _ in range(12):
            values = {name: rng.randint(1, 40) for name in "ABC"}
            assert read.holds(with_floors(values, floors.values())) == fact.holds(values), (fact.text, values)
    assert min(seen[op] for op in ("ge", "eq", "ne", "div", "ndiv")) > 50


@pytest.mark.parametrize("drawn", seeds(4, 12))
def test_the_conditions_of_a_drawn_plan_are_assumptions_under_which_it_is_proved(drawn: int) -> None:
    text = random_template(random.Random(drawn)).text
    (found,) = (conditions(one, Options()) for one in read_plan_text(text).templates)
    for facts in found.any[:2]:
        if not facts:
            continue
        assumed = "assume = [" + ", ".join(f'"{fact.text}"' for fact in facts) + "]\n"
        assert "assume" not in text
        again = read_plan_text(text.replace("[axes]", f"{assumed}[axes]", 1))
        assert [check_template(one, Options()).status for one in again.templates] == [Status.PROVED]


@pytest.mark.parametrize(
    ("assume", "value", "holds"),
    [
        ("A != 3", 3, False), ("A != 3", 4, True), ("A % 4 != 0", 8, False), ("A % 4 != 0", 9, True),
        ("A % 4 != 1", 5, False), ("A % 4 != 1", 8, True), ("A % 4 != 9", 5, True), ("A % 4 != 9", 9, True),
        ("1 != A", 1, False), ("2 * A != 7", 3, True), ("A % 4 == 1", 5, True), ("A % 4 == 1", 6, False),
        ("A % 4 == 3", 3, True), ("7 % A == 3", 4, True), ("7 % A == 3", 2, False), ("7 % A == 1", 2, True),
        ("9 % A == 3", 3, False), ("A % 4 == 0", 8, True),
    ],
)  # fmt: skip
def test_what_a_size_is_not_is_an_assumption(assume: str, value: int, holds: bool) -> None:
    floors: dict[str, FloorQuotient] = {}
    facts = clauses_of(assume, {"A": SizeTerm(Poly.symbol("A"), floors)}, Source("one", assume), 0)
    assert all(fact.holds(with_floors({"A": value}, floors.values())) for fact in facts) is holds


@pytest.mark.parametrize("assume", ["A % 4 == 4", "A % 4 == -1", "A % 32 == 40", "A <= 9 and A % 1 == 1"])
def test_a_remainder_that_no_number_has_is_an_error(assume: str) -> None:
    with pytest.raises(InputError, match="no remainder by"):
        clauses_of(assume, {"A": SizeTerm(Poly.symbol("A"), {})}, Source("one", assume), 0)


def test_numbers_of_a_kernel_are_not_assumed_to_be_unlike() -> None:
    for text in ("%n != 3", "%n % 4 != 0"):
        with pytest.raises(InputError, match="not what they are not"):
            relations_in(text, Source("one", text), 0)
