"""A rule's predicate, read as a condition on linear terms, says at every value what its text says."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import product

from dmaverify.errors import Source
from dmaverify.language.affine import Cond, Lin, World
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.predicate_terms import condition_of
from dmaverify.targets.smtlib import read_functions
from dmaverify.targets.smtlib_eval import compile_bool

RANGES = {"x": (-3, 5), "y": (0, 4), "n": (1, 3)}
POINTS = [
    dict(zip(RANGES, values, strict=True))
    for values in product(*(range(low, high + 1) for low, high in RANGES.values()))
]
COMPARISONS = ["<", "<=", ">", ">=", "=", "distinct"]


def a_term(draw: random.Random, depth: int) -> str:
    if depth <= 0 or draw.random() < 0.15:
        return draw.choice(["x", "y", "n", "0", "1", "3", "8"])

    def term() -> str:
        return a_term(draw, depth - 1)

    divisor = draw.choice(["3", "(- 3)", "n", "(- n)", "(- y 7)", f"(+ 1 (abs {term()}))", "(ite (> x 0) x (- x 1))"])
    return draw.choice(
        [
            f"(+ {term()} {term()} {term()})", f"(- {term()} {term()})", f"(* {term()} {term()})", f"(- {term()})",
            f"(abs {term()})", f"(div {term()} {divisor})", f"(mod {term()} {divisor})", f"(div {term()} {divisor} 2)",
            f"(ite {a_predicate(draw, depth - 1)} {term()} {term()})", f"(let ((n {term()}) (m 2)) (+ m {term()}))",
        ]
    ) if depth > 1 else f"({draw.choice(['+', 'mod', 'div'])} {term()} n)"  # fmt: skip


def a_predicate(draw: random.Random, depth: int) -> str:
    def part() -> str:
        return a_predicate(draw, depth - 1)

    def compared() -> str:
        return f"({draw.choice(COMPARISONS)} {a_term(draw, depth - 1)} {a_term(draw, depth - 1)})"

    if depth <= 1 or draw.random() < 0.5:
        return compared()
    return draw.choice(
        [
            f"(<= 0 {a_term(draw, depth - 1)} 3)", f"(and {part()} {part()})", f"(or {part()} {part()})",
            f"(=> {part()} {part()})", f"(not {part()})", f"(= {part()} {part()} {part()})",
            f"(distinct {part()} {part()})", f"(ite {part()} {part()} {part()})",
            f"(=> (> y 0) (= x (mod {a_term(draw, 1)} y)))",
        ]
    )  # fmt: skip


def value(world: World, term: Lin, at: Mapping[str, int]) -> int:
    return term.const + sum(factor * named(world, name, at) for name, factor in term.terms)


def named(world: World, name: str, at: Mapping[str, int]) -> int:
    """What a symbol is by its definition."""
    symbol = world.symbols[name]
    if not symbol.definition:
        return at[name]
    what, *parts = symbol.definition
    one, *rest = (
        holds(world, p, at) if isinstance(p, Cond) else value(world, p, at) if isinstance(p, Lin) else p for p in parts
    )
    if what == "quo" and rest[0] < 1:
        return 0  # any number: nobody looks
    found = {
        "div": lambda: one // rest[0], "quo": lambda: one // rest[0], "mod": lambda: one % rest[0],
        "mul": lambda: one * rest[0], "min": lambda: min(one, rest[0]), "max": lambda: max(one, rest[0]),
        "ite": lambda: rest[0] if one else rest[1],
    }[what]()  # fmt: skip
    assert symbol.low is None or symbol.low <= found
    assert symbol.high is None or found <= symbol.high
    return found


def holds(world: World, when: Cond, at: Mapping[str, int]) -> bool:
    if when.op in ("and", "or"):
        return (all if when.op == "and" else any)(holds(world, part, at) for part in when.parts)
    if when.op == "not":
        return not holds(world, when.parts[0], at)
    left = value(world, when.left, at)
    return {"const": left != 0, "eq": left == 0, "ne": left != 0, "lt": left < 0, "le": left <= 0}[when.op]


def test_a_predicate_on_terms_says_at_every_value_what_its_text_says() -> None:
    draw, decided = random.Random(1), {"proved": 0, "refuted": 0}
    for number in range(130):
        text = a_predicate(draw, 3)
        (function,) = read_functions(Source("p.smt2", f"(define-fun p ((x Int) (y Int) (n Int)) Bool {text})"))
        try:
            wanted = [compile_bool(function)(*point.values()) for point in POINTS]
        except ZeroDivisionError:  # where `let` gives n another value
            continue
        world = World()
        found = condition_of(function.body, {name: world.free(name, *ends) for name, ends in RANGES.items()}, world)
        assert [holds(world, found, point) for point in POINTS] == wanted, text
        assert world.decide(found) in (None, *({wanted[0]} if len(set(wanted)) == 1 else ())), text
        if number % 5 == 0:
            status = Asker(world, 1_000_000).holds(found).status
            assert status == ("proved" if all(wanted) else "refuted"), text
            decided[status] += 1
    assert min(decided.values()) > 1
