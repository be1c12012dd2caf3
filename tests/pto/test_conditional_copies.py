"""Copies that happen on conditions: as many as a kernel has, and which of them can meet."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from lab.draws import counted

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.named import named_in
from dmaverify.verdict import Status, Verdict

LOADS = "!pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64"
STORES = "!pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64"
ORDERED = (
    '  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]\n  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]'
)


def load(buffer: int) -> str:
    return f"  pto.mte_gm_ub %x, %b{buffer}, %z, %len nburst(%one, %len, %len) : {LOADS}"


def store(buffer: int) -> str:
    return f"  pto.mte_ub_gm %b{buffer}, %y{buffer}, %len nburst(%one, %len, %len) : {STORES}"


def on(side: str, *lines: str, other: Sequence[str] = ()) -> str:
    return "\n".join([f"  scf.if %{side} {{", *lines, *(["  } else {", *other] if other else []), "  }"])


def kernel(lines: Sequence[str], places: Sequence[int], conditions: dict[str, str], most: int = 4096) -> Source:
    """A kernel of buffers of 256 bytes at these places; each condition is told of %n, up to `most`, by a line."""
    head = ["// dmaverify: gm %x = 256 bytes", f"// dmaverify: gm %y = {256 * len(places)} bytes"]
    head += [f"// dmaverify: assume %n in 1..{most}"]
    head += [
        "func.func @k(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>, %n: index) {",
        "  %c0 = arith.constant 0 : i64",
    ]
    head += [f"  %{name} = arith.constant {value} : i64" for name, value in (("z", 0), ("one", 1), ("len", 256))]
    head += [f"  %k{number} = arith.constant {number} : index" for number in range(max(5, len(places)))]
    for number, place in enumerate(places):
        head += [f"  %a{number} = arith.constant {place} : i64"]
        head += [f"  %o{number} = arith.constant {64 * number} : index"]
        head += [f"  %b{number} = pto.castptr %a{number} : i64 -> !pto.ptr<f32, ub>"]
        head += [f"  %y{number} = pto.addptr %y, %o{number} : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>"]
    head += [f"  %{name} = {told}" for name, told in conditions.items()]
    return Source("k.pto", "\n".join([*head, *lines, "  return", "}", ""]))


def judged(lines: list[str], buffers: int, conditions: dict[str, str]) -> Verdict:
    return check_text(kernel(lines, range(0, 256 * buffers, 256), conditions))[0]


def remainders(count: int) -> dict[str, str]:
    """Conditions that say little of one another: `n mod (i + 2) == 1`."""
    out = {}
    for number in range(count):
        out[f"m{number}"] = f"arith.constant {number + 2} : index"
        out[f"r{number}"] = f"arith.remui %n, %m{number} : index"
        out[f"q{number}"] = f"arith.cmpi eq, %r{number}, %k1 : index"
    return out


@pytest.mark.parametrize(
    ("left", "expected"), [(None, Status.PROVED), (7, Status.REFUTED)], ids=["each", "one-on-the-condition-beside"]
)
def test_copies_on_conditions_of_their_own_are_followed_each_by_itself(left: int | None, expected: Status) -> None:
    """Of 2 ** 12 ways. Each copy says when it happens; what a buffer holds depends on its own copies alone."""
    loads = [on(f"q{number}", load(number)) for number in range(12)]
    stores = [on(f"q{number + 1 if number == left else number}", store(number)) for number in range(12)]
    verdict = judged([*loads, ORDERED, *stores], 12, remainders(12))
    assert verdict.status is expected


MORE = {"q": "arith.cmpi sgt, %n, %k1 : index"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([on("q", load(0), other=[load(0)])], Status.PROVED),  # one or the other
        ([on("q", load(0)), load(0)], Status.REFUTED),
        ([load(0), on("q", load(1), other=[store(0)])], Status.REFUTED),  # on the side that has no second load
        ([load(0), on("q", load(1)), on("q", ORDERED), on("q", store(1))], Status.PROVED),
        ([load(0), on("q", load(1)), on("q", store(1))], Status.REFUTED),
        ([load(0), on("q", load(1)), on("q", ORDERED, other=[store(0)])], Status.REFUTED),
        ([load(0), on("q", load(1), ORDERED, other=[ORDERED]), store(0)], Status.PROVED),
        ([load(0), on("q", load(1), ORDERED), store(0)], Status.REFUTED),  # ordered on one side alone
    ],
)
def test_two_copies_meet_where_both_happen(lines: list[str], expected: Status) -> None:
    verdict = judged(lines, 2, MORE)
    assert verdict.status is expected, [f.message for f in verdict.findings]


BACK = ORDERED.replace("PIPE_MTE2", "PIPE_X").replace("PIPE_MTE3", "PIPE_MTE2").replace("PIPE_X", "PIPE_MTE3")
MOST = 12  # values of %n, of which every one is run


def drawn(rng: random.Random) -> Source:
    """Loads, stores and flags in both directions, on three conditions of %n; buffers may share bytes."""
    places = list(range(0, 256 * rng.choice((2, 3, 4)), 256))
    places[-1] = places[0] + rng.choice((0, 128)) if rng.random() < 0.3 else places[-1]
    conditions = {}
    for number in range(3):
        right = f"%k{rng.randrange(5)} : index"
        if rng.random() < 0.6:
            conditions[f"r{number}"] = f"arith.remui %n, %k{rng.randrange(2, 5)} : index"
            conditions[f"q{number}"] = f"arith.cmpi eq, %r{number}, {right}"
        else:
            conditions[f"q{number}"] = f"arith.cmpi {rng.choice(('sgt', 'slt', 'eq', 'sge'))}, %n, {right}"

    def some(depth: int, most: int) -> list[str]:
        return [one(depth) for _ in range(rng.randint(1, most))]

    def one(depth: int) -> str:
        drawn = rng.random()
        if drawn < 0.3 or depth > 2:
            return load(rng.randrange(len(places)))
        if drawn < 0.58:
            return store(rng.randrange(len(places)))
        if drawn < (0.8 if not depth else 0.62):
            return rng.choice((ORDERED, ORDERED, BACK) if not depth else (ORDERED,))
        other = some(depth + 1, 2) if rng.random() < 0.3 else ()
        return on(f"q{rng.randrange(3)}", *some(depth + 1, 2), other=other)

    head, every = load(len(places)), [*places, 4096]  # a copy that surely happens, of a buffer of its own
    if rng.random() < 0.5:
        return kernel([head, *some(0, 8)], every, conditions, MOST)
    each = range(len(places))
    sides = [[number % 3 if rng.random() < 0.8 else rng.randrange(3) for number in each] for _ in range(2)]
    loads, stores = ([on(f"q{side[n]}", act(n)) for n in each] for side, act in zip(sides, (load, store), strict=True))
    more = [BACK, *some(0, 2)] if rng.random() < 0.5 else []
    return kernel([head, *loads, ORDERED, *stores, *more], every, conditions, MOST)


@pytest.mark.slow
@pytest.mark.parametrize("count", counted(40, 5000))
def test_drawn_copies_on_conditions_are_right_where_every_run_is(count: int) -> None:
    for seed in range(count):
        text = drawn(random.Random(seed))
        (verdict,), (named,) = check_text(text), named_in(text)
        runs = {n: run_kernel(named.function, {"x": 256, "y": 1280}, {"n": n}).found for n in range(1, MOST + 1)}
        expected = Status.REFUTED if any(runs.values()) else Status.PROVED
        assert verdict.status is expected, (seed, text.text, runs)
