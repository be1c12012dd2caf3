"""Loops that people pipeline, for all lengths: loads that run ahead of their stores, guarded, peeled or behind a prologue;
buffers in turn over two loops.
"""

# ruff: noqa: E501  (faults of pipelines read best on one line)

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from lab.draws import counted, rest

from dmaverify.errors import Source
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status

GM, UB = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>"
BYTES = 1 << 40
TILE = 256


@dataclass
class Text:
    """Lines of a kernel, with a name for each number."""

    lines: list[str] = field(default_factory=list)
    names: int = 0

    def name(self, text: str) -> str:
        self.names += 1
        self.lines.append(f"%v{self.names} = {text}")
        return f"%v{self.names}"

    def number(self, value: str) -> str:
        """`value` is a number, a name, or a sum of both (`i + 1`)."""
        one, _, other = value.partition(" + ")
        if one.lstrip("-").isdigit():
            return self.name(f"arith.constant {one} : index")
        return self.name(f"arith.addi %{one}, {self.number(other)} : index") if other else f"%{one}"

    def times(self, value: str, factor: int) -> str:
        return self.name(f"arith.muli {value}, {self.number(str(factor))} : index")

    def turn(self, value: str, count: int) -> str:
        return self.name(f"arith.remui {value}, {self.number(str(count))} : index")

    def flag(self, action: str, pipes: tuple[str, str], turn: str) -> None:
        self.lines.append(f'pto.{action}_flag_dyn["PIPE_{pipes[0]}", "PIPE_{pipes[1]}", {turn}]')

    def copy(self, op: str, tensor: str, at: str, turn: str) -> None:
        word = self.name(f"arith.index_cast {self.times(turn, TILE)} : index to i64")
        ub = self.name(f"pto.castptr {word} : i64 -> {UB}")
        gm = self.name(f"pto.addptr %{tensor}, {self.times(at, TILE // 4)} : {GM} -> {GM}")
        sides, types = ((gm, ub), f"{GM}, {UB}") if op == "mte_gm_ub" else ((ub, gm), f"{UB}, {GM}")
        zero, more = ("%z, ", ", i64") if op == "mte_gm_ub" else ("", "")
        self.lines.append(
            f"pto.{op} {sides[0]}, {sides[1]}, {zero}%l nburst(%one, %l, %l) : {types}, i64, i64, i64, i64{more}"
        )

    def begin(self, one: str, other: str) -> None:
        self.lines.append(f"scf.if {self.name(f'arith.cmpi slt, {one}, {other} : index')} {{")

    def loop(self, low: str, high: str, step: str = "1") -> None:
        ends = [self.number(end) for end in (low, high, step)]
        self.lines.append(f"scf.for %i = {ends[0]} to {ends[1]} step {ends[2]} {{")

    def end(self) -> None:
        self.lines.append("}")

    def kernel(self, **ranges: tuple[int, int]) -> str:
        """The kernel of these lines, with the ranges of its arguments."""
        said = [f"// dmaverify: assume %{name} in {low}..{high}" for name, (low, high) in ranges.items()]
        said += [f"// dmaverify: gm %{name} = {BYTES} bytes" for name in "ao"]
        numbers = ", ".join(f"%{name}: index" for name in ranges)
        head = ["%z = arith.constant 0 : i64", "%one = arith.constant 1 : i64", f"%l = arith.constant {TILE} : i64"]
        opened = f"func.func @k(%a: {GM}, %o: {GM}, {numbers}) {{"
        return "\n".join([*said, opened, *head, *self.lines, "return", "}"]) + "\n"


@dataclass(frozen=True)
class Pipeline:
    """Loads of tiles `ahead` of their stores through `buffers` buffers.

    `form`: guard (the load is guarded, before the store), behind (after it), peeled (the last stores are behind the
    loop), first (stores are one behind; the last is behind the loop), both (load and store are guarded in one longer
    loop), pairs (two tiles in each iteration). The rest are faults.
    """

    buffers: int
    ahead: int
    form: str
    least: int = 1
    over: int = 0  # tiles that the guard lets through too many
    begun: int = 0  # tiles that are loaded too few before the loop
    wrong: int = 0  # how far off the buffer of a store is
    unset: str = ""  # a pipe after whose work no flag is set

    def tile(self, text: Text, load: bool, at: str) -> None:
        number = text.number(at)
        turn = text.turn(number, self.buffers)
        pipes = ("MTE3", "MTE2") if load else ("MTE2", "MTE3")
        text.flag("wait", pipes, turn)
        if load:
            text.copy("mte_gm_ub", "a", number, turn)
        else:
            held = text.turn(text.number(f"{at} + {self.wrong}"), self.buffers) if self.wrong else turn
            text.copy("mte_ub_gm", "o", number, held)
        if self.unset != pipes[1]:
            text.flag("set", (pipes[1], pipes[0]), turn)

    def guarded(self, text: Text, load: bool, at: str, low: str, high: str) -> None:
        text.begin(text.number(low), text.number(high))
        self.tile(text, load, at)
        text.end()

    def text(self) -> str:
        text = Text()
        behind = self.form in ("first", "both")
        for turn in range(self.buffers):
            text.flag("set", ("MTE3", "MTE2"), text.number(str(turn)))
        for tile in range(0 if self.form in ("both", "pairs") else 1 if behind else self.ahead - self.begun):
            at = text.name(f"arith.constant {tile} : index")[1:]
            if tile >= self.least:
                self.guarded(text, True, at, str(tile), "n")
            else:
                self.tile(text, True, at)
        self.loop(text)
        if self.form in ("first", "peeled"):
            for back in range(self.ahead, 0, -1):
                self.tile(text, False, text.name(f"arith.subi %n, {text.number(str(back))} : index")[1:])
        for turn in range(self.buffers):
            text.flag("wait", ("MTE3", "MTE2"), text.number(str(turn)))
        return text.kernel(n=(self.least, 1_000_000))

    def loop(self, text: Text) -> None:
        ahead, over = f"i + {self.ahead}", f"n + {self.over}"
        if self.form in ("guard", "behind"):
            text.loop("0", "n")
            if self.form == "behind":
                self.tile(text, False, "i")
            self.guarded(text, True, ahead, ahead, over)
            if self.form == "guard":
                self.tile(text, False, "i")
        elif self.form == "peeled":
            text.loop("0", text.name(f"arith.subi %n, {text.number(str(self.ahead))} : index")[1:])
            self.tile(text, True, ahead)
            self.tile(text, False, "i")
        elif self.form == "first":
            text.loop("1", over)
            self.tile(text, True, "i")
            self.tile(text, False, "i + -1")
        elif self.form == "both":
            text.loop("0", "n + 1")
            self.guarded(text, True, "i", "i", over)
            self.guarded(text, False, "i + -1", "0", "i")
        else:
            text.loop("0", "n", "2")
            self.tile(text, True, "i")
            self.guarded(text, True, "i + 1", "i + 1", over)
            self.tile(text, False, "i")
            self.guarded(text, False, "i + 1", "i + 1", "n")
        text.end()


FORMS = [
    Pipeline(2, 1, "guard"), Pipeline(3, 1, "guard"), Pipeline(3, 2, "guard"), Pipeline(4, 3, "guard"),
    Pipeline(2, 1, "guard", 0), Pipeline(2, 1, "behind"), Pipeline(3, 2, "behind"), Pipeline(2, 1, "peeled"),
    Pipeline(3, 2, "peeled", 2), Pipeline(2, 1, "first"), Pipeline(2, 1, "both"), Pipeline(3, 1, "both", 0),
    Pipeline(2, 1, "pairs"), Pipeline(4, 1, "pairs", 0), Pipeline(3, 2, "behind", 0), Pipeline(4, 3, "guard", 0),
]  # fmt: skip


def verdict(one: Pipeline) -> tuple[Status, set[str]]:
    (found,) = check_text(Source("k.mlir", one.text()))
    return found.status, {f.rule for f in found.errors}


def ran(one: Pipeline, most: int = 9) -> set[str]:
    """What runs of so many lengths find."""
    _, (function,) = read_kernels(Source("k.mlir", one.text()))
    found: set[str] = set()
    for length in range(one.least, most):
        found |= run_kernel(function, {"a": 4096, "o": 4096}, {"n": length}).found
    return found - {"bounds"}


@pytest.mark.parametrize("one", [*FORMS[::2], *rest(FORMS[1::2])], ids=str)
def test_a_pipeline_is_proved_for_every_length(one: Pipeline) -> None:
    assert verdict(one) == (Status.PROVED, set())
    assert not ran(one)


@pytest.mark.parametrize("one", [
    Pipeline(2, 1, "guard", over=1), Pipeline(2, 1, "guard", over=-1), Pipeline(2, 1, "guard", begun=1), Pipeline(3, 2, "guard", begun=1),
    Pipeline(3, 1, "guard", wrong=1), Pipeline(2, 1, "behind", unset="MTE2"), Pipeline(3, 2, "peeled", 2, wrong=2), Pipeline(2, 1, "first", over=1),
    Pipeline(2, 1, "both", over=1), Pipeline(3, 1, "both", 0, unset="MTE3"), Pipeline(2, 1, "pairs", over=-1), Pipeline(1, 1, "guard"),
    Pipeline(2, 2, "guard"), Pipeline(4, 1, "pairs", 0, wrong=3), Pipeline(2, 1, "guard", 0, over=1), Pipeline(3, 2, "peeled", 1),
], ids=str)  # fmt: skip
def test_a_pipeline_with_a_fault_is_not_proved(one: Pipeline) -> None:
    assert ran(one)
    assert verdict(one)[0] is not Status.PROVED


@pytest.mark.slow
@pytest.mark.parametrize("count", counted(15, 600))
def test_no_drawn_pipeline_is_proved_that_a_run_finds_wrong(count: int) -> None:
    rng, counts = random.Random(count), Counter[tuple[bool, Status]]()
    for _ in range(count):
        one = rng.choice(FORMS)
        for _ in range(rng.choice((0, 1, 1, 2))):
            faults = rng.choice([
                {"over": rng.choice((-1, 1, 2))}, {"begun": 1}, {"wrong": rng.randint(1, 3)}, {"unset": rng.choice(("MTE2", "MTE3"))},
                {"buffers": rng.randint(1, 5)}, {"ahead": rng.randint(1, 3)}, {"least": rng.randint(0, 3)},
            ])  # fmt: skip
            one = replace(one, **faults)
        try:
            trouble = bool(ran(one))
        except Beyond:
            continue
        status, _ = verdict(one)
        counts[trouble, status] += 1
        assert status in ((Status.REFUTED, Status.UNKNOWN) if trouble else (Status.PROVED, Status.UNKNOWN)), one
    assert counts[False, Status.PROVED] > 2
    assert counts[True, Status.REFUTED] > 5


@dataclass(frozen=True)
class Nest:
    """Tiles of two loops through `buffers` buffers in turn: by a number that counts over both loops, by a sum, or by a
    number that both loops carry (toggle, wrap, remainder). `wrong`: how far off the buffer of the store is; `unset`: a
    pipe after whose work no flag is set; `first`: the first tile of each inner loop.
    """

    buffers: int
    turn: str = "k * n + i"
    wrong: int = 0
    first: int = 0
    unset: str = ""

    def text(self) -> str:
        text = Text()
        for turn in range(self.buffers):
            text.flag("set", ("MTE3", "MTE2"), text.number(str(turn)))
        carries = "+" not in self.turn
        for counter, count, held, first in (("k", "m", text.number("0"), "0"), ("i", "n", "%pk", str(self.first))):
            begun = f"%r{counter} = " if carries else ""
            given = f" iter_args(%p{counter} = {held}) -> (index)" if carries else ""
            text.lines.append(
                f"{begun}scf.for %{counter} = {text.number(first)} to %{count} step {text.number('1')}{given} {{"
            )
        tile = text.name(f"arith.addi {text.name('arith.muli %k, %n : index')}, %i : index")
        said = {"k * n + i": tile, "k + i": text.name("arith.addi %k, %i : index")}.get(self.turn, "%pi")
        turn = text.turn(said, self.buffers)
        held = text.turn(text.name(f"arith.addi {said}, {text.number(str(self.wrong))} : index"), self.buffers)
        for op, tensor, at, pipes in (
            ("mte_gm_ub", "a", turn, ("MTE3", "MTE2")),
            ("mte_ub_gm", "o", held, ("MTE2", "MTE3")),
        ):
            text.flag("wait", pipes, turn)
            text.copy(op, tensor, tile, at)
            if self.unset != pipes[1]:
                text.flag("set", (pipes[1], pipes[0]), turn)
        text.lines += (
            [f"scf.yield {self.next(text)} : index", "}", "scf.yield %ri : index", "}"] if carries else ["}", "}"]
        )
        for turn_ in range(self.buffers):
            text.flag("wait", ("MTE3", "MTE2"), text.number(str(turn_)))
        return text.kernel(n=(1, 1000), m=(1, 1000))

    def next(self, text: Text) -> str:
        """The carried number of the next tile."""
        if self.turn == "toggle":
            return text.name(f"arith.subi {text.number('1')}, %pi : index")
        more = text.name(f"arith.addi %pi, {text.number('1')} : index")
        if self.turn == "remainder":
            return text.turn(more, self.buffers)
        last = text.name(f"arith.cmpi eq, %pi, {text.number(str(self.buffers - 1))} : index")
        return text.name(f"arith.select {last}, {text.number('0')}, {more} : index")


@pytest.mark.parametrize(("turn", "buffers", "faults"), [
    *((turn, buffers, {}) for turn in ("k * n + i", "k + i") for buffers in (2, 3)),
    ("k * n + i", 4, {}), *rest([("k + i", 4, {}), ("remainder", 2, {}), ("toggle", 3, {}), ("toggle", 2, {"unset": "MTE2"})]),
    ("toggle", 2, {}), ("wrap", 3, {}), ("remainder", 4, {}), ("toggle", 2, {"first": 1}), ("toggle", 2, {"first": 2}),
    ("toggle", 2, {"first": 1, "wrong": 1}), ("toggle", 2, {"first": 2, "unset": "MTE2"}),
    ("k * n + i", 2, {"wrong": 1}), ("k + i", 3, {"unset": "MTE3"}), ("wrap", 3, {"wrong": 2}),
], ids=str)  # fmt: skip
def test_buffers_in_turn_over_two_loops_are_proved_for_all_lengths_where_they_are_right(
    turn: str, buffers: int, faults: dict[str, Any]
) -> None:
    one = Nest(buffers, turn, **faults)
    (found,) = check_text(Source("k.mlir", one.text()))
    _, (function,) = read_kernels(Source("k.mlir", one.text()))
    lengths = [{"n": n, "m": m} for n in (1, 2, 3) for m in (1, 2, 4)]
    trouble = {word for at in lengths for word in run_kernel(function, {"a": 4096, "o": 4096}, at).found}
    assert bool(trouble) is bool(faults.keys() - {"first"})
    assert (found.status is Status.PROVED) is (not trouble)
