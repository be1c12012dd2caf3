"""The longest run as a proof: right claims are proved, each wrong one is refuted by the question it breaks.

Knows: nests, claims, the questions' names. Does not know: how the tables are computed.
Law: no tampered table and no wrong run is ever proved; what z3 proves, cvc5 proves.
"""

import itertools
import random
from dataclasses import replace
from typing import Any

import cvc5
import pytest
from lab.draws import rest

from dmaverify.prove.flow.starvation.bank_runs import (
    AccessNest,
    BankRun,
    Banks,
    RunLevel,
    Summaries,
    bank_runs,
    longest_run,
    summaries,
)
from dmaverify.prove.flow.starvation.starvation import RunProof, lookup, prove_run
from dmaverify.prove.smt import Session

BANKS = Banks(16, 8)
NESTS = {
    "a repeated address": AccessNest(((30, 0),), 8, 0),
    "a column": AccessNest(((64, 128),), 8, None, 8),
    "a row of wide accesses": AccessNest(((16, 64), (64, 1024)), 32, None, 8),
    "2^40 accesses": AccessNest(((65536, 8), (65536, 128), (256, 0)), 8, 0),
    "a contiguous sweep": AccessNest(((256, 4096), (32, 128), (128, 8)), 8, None, 8),
    "backwards and misaligned": AccessNest(((100, -128), (30, 8)), 32, 5),
    "odd strides": AccessNest(((100, 3), (30, 7)), 4, None, 1),
    "one access": AccessNest((), 24, 4),
}


@pytest.mark.parametrize("name", NESTS)
def test_the_longest_run_is_proved(name: str) -> None:
    session = Session()
    proof = prove_run(NESTS[name], BANKS, session)
    assert (proof.status, proof.failed) == ("proved", ())
    assert proof.run == longest_run(NESTS[name], BANKS)
    assert len(session.asked) == len(proof.answers) == 5 * len(NESTS[name].loops) + 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["2^40 accesses", "backwards and misaligned", "odd strides"])
def test_another_solver_proves_it_again_from_the_text(name: str) -> None:
    session = Session()
    prove_run(NESTS[name], BANKS, session)
    for _, text, _ in session.asked:
        solver = cvc5.Solver(cvc5.TermManager())
        solver.setOption("rlimit", "2000000")
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, f"(set-logic QF_LIA)\n{text}\n(check-sat)", "question")
        said = []
        while not (command := parser.nextCommand()).isNull():
            said.append(command.invoke(solver, parser.getSymbolManager()).strip())
        assert said[-1] == "unsat"


def small(rng: random.Random) -> AccessNest:
    counts, strides = [1, 2, 3, 17, 64], [0, 1, 3, 8, 24, 128, -8, -40, 640]
    loops = tuple((rng.choice(counts), rng.choice(strides)) for _ in range(rng.randint(0, 3)))
    base = rng.choice([None, rng.randint(0, 200)])
    return AccessNest(loops, rng.choice([1, 4, 8, 32, 128]), base, rng.choice([1, 4, 8, 32]))


def test_random_nests_are_proved_and_one_more_or_one_less_is_refuted() -> None:
    rng, seen = random.Random(7), 0
    for _ in range(12):
        nest = small(rng)
        run = longest_run(nest, BANKS)
        assert prove_run(nest, BANKS, Session()).status == "proved", nest
        assert prove_run(nest, BANKS, Session(), replace(run, length=run.length + 1)).status == "refuted", nest
        assert prove_run(nest, BANKS, Session(), replace(run, length=run.length - 1)).status == "refuted", nest
        seen += 1
    assert seen == 12


APART = ["2^40 accesses", "backwards and misaligned", "odd strides"]


@pytest.mark.parametrize(
    ("name", "step"),
    [*((name, 5) for name in APART), *rest((name, 1) for name in APART)],
    ids=[*APART, *(f"{name}, each bank" for name in APART)],
)
def test_the_longest_run_of_every_bank_is_proved_and_one_less_on_one_bank_is_refuted(name: str, step: int) -> None:
    bounds = bank_runs(NESTS[name], BANKS).lengths
    assert prove_run(NESTS[name], BANKS, Session(), bounds=bounds).status == "proved"
    assert len(bounds) == BANKS.count
    for bank in [i for i, length in enumerate(bounds) if length][::step]:
        less = [length - (i == bank) for i, length in enumerate(bounds)]
        proof = prove_run(NESTS[name], BANKS, Session(), bounds=less)
        assert (proof.status, proof.failed) == ("refuted", ("longest",))


# ---------------------------------------------------------------- wrong claims

TURNING = AccessNest(((5, 40), (20, 128), (3, 8)), 16, None, 8)
RUN = longest_run(TURNING, BANKS)


def refuted_by(run: BankRun = RUN, claims: Summaries | None = None) -> RunProof:
    proof = prove_run(TURNING, BANKS, Session(), run, claims)
    assert proof.status == "refuted"
    return proof


def test_a_longer_run_has_a_miss_and_a_shorter_one_is_exceeded() -> None:
    assert refuted_by(replace(RUN, length=RUN.length + 1)).failed == ("run",)
    assert refuted_by(replace(RUN, length=RUN.length - 1)).failed == ("longest",)


@pytest.mark.parametrize(
    "run",
    [
        replace(RUN, base=4),
        replace(RUN, bank=16),
        replace(RUN, start=(0, 0, 3)),
        replace(RUN, start=(0, 0)),
        replace(RUN, length=-1),
        replace(RUN, start=(4, 19, 2), length=RUN.length),
    ],
)
def test_a_run_outside_of_the_nest_is_refuted(run: BankRun) -> None:
    assert RUN.length > 1
    assert refuted_by(run).failed == ("placed",)


def test_a_run_elsewhere_is_refuted() -> None:
    assert refuted_by(replace(RUN, bank=(RUN.bank + 5) % 16)).failed == ("run",)


def lowered(claims: Summaries, level: int, column: str, index: int) -> Summaries | None:
    """The claims with one number less, None where it is 0."""
    values = list(getattr(claims.levels[level], column))
    if values[index] == 0:
        return None
    values[index] -= 1
    levels = list(claims.levels)
    levels[level] = replace(levels[level], **{column: tuple(values)})
    return replace(claims, levels=tuple(levels))


@pytest.mark.parametrize("every", [False, *rest([True])])
def test_no_number_of_the_tables_can_be_lowered(every: bool) -> None:
    """Every entry of every table that is not 0, one less each: always a counterexample, at that level or the next. By
    default the first of each table.
    """
    claims, seen = summaries(TURNING, BANKS), 0
    for level, column in itertools.product(range(4), ("prefix", "suffix", "best")):
        own = [(index, lowered(claims, level, column, index)) for index in range(claims.size)]
        own = [(index, changed) for index, changed in own if changed is not None]
        for index, changed in own if every else own[:1]:
            failed = refuted_by(claims=changed).failed
            place = "access" if level == 0 else f"loop {4 - level} "
            assert any(name.startswith(place) for name in failed), (level, column, index, failed)
            seen += 1
    assert sum(n > 0 for level in claims.levels for n in (*level.prefix, *level.suffix, *level.best)) == 40
    assert seen == (40 if every else 12)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"unit": 16, "size": 8}, "residues"),
        ({"unit": 4}, "residues"),
        ({"offset": 4}, "residues"),
        ({"levels": summaries(AccessNest(((5, 40), (20, 128), (4, 8)), 16, None, 8), BANKS).levels}, "loops"),
        ({"levels": tuple(replace(x, best=x.best[1:]) for x in summaries(TURNING, BANKS).levels)}, "per residue"),
    ],
)
def test_tables_of_another_nest_are_refused(changes: dict[str, Any], says: str) -> None:
    claims = replace(summaries(TURNING, BANKS), **changes)
    with pytest.raises(ValueError, match=says):
        prove_run(TURNING, BANKS, Session(), RUN, claims)


def test_an_inflated_table_proves_no_longer_run() -> None:
    claims = summaries(TURNING, BANKS)
    top = claims.levels[-1]
    more = RunLevel(top.length, top.prefix, top.suffix, tuple(best + 1 for best in top.best))
    changed = replace(claims, levels=(*claims.levels[:-1], more))
    assert refuted_by(claims=changed).failed == ("longest",)
    assert "run" in refuted_by(replace(RUN, length=RUN.length + 1), changed).failed


def test_a_starved_solver_proves_nothing() -> None:
    proof = prove_run(NESTS["odd strides"], BANKS, Session(rlimit=10))
    assert proof.status == "unknown"
    assert proof.failed


@pytest.mark.parametrize("values", [[7], [3, 3, 3], [1, 2, 2, 0, 5], list(range(16))])
def test_a_table_as_text_has_its_values(values: list[int]) -> None:
    def read(text: str, index: int) -> int:
        if not text.startswith("("):
            return int(text)
        parts = cut(text[1:-1])
        bound = int(parts[1].split()[-1].rstrip(")"))
        return read(parts[2] if index < bound else parts[3], index)

    def cut(text: str) -> list[str]:
        parts, depth = [""], 0
        for char in text:
            depth += (char == "(") - (char == ")")
            if char == " " and depth == 0:
                parts.append("")
            else:
                parts[-1] += char
        return parts

    assert [read(lookup(values, "x"), index) for index in range(len(values))] == values
