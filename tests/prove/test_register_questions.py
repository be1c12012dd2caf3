"""Registers of kernels, asked from definitions: confirmed where each copy takes what was set last, nowhere else."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from lab.draws import counted, rest

from dmaverify import api
from dmaverify.errors import Source
from dmaverify.language.affine import Lin, World, compare
from dmaverify.machines.pto import meaning, registers
from dmaverify.machines.pto.meaning import meaning_of
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.stated import Register, Setting
from dmaverify.program.instructions import Copy
from dmaverify.program.sticky import RegisterBranch, RegisterEvent, RegisterLoop, RegisterRead, RegisterWrite
from dmaverify.prove.flow.register_questions import REGISTERS, register_script
from dmaverify.prove.options import Options
from dmaverify.prove.smt import answers_to
from dmaverify.verdict import Verdict

HEAD = """\
// dmaverify: gm %in = 65536 bytes
// dmaverify: assume %n in 0..3
// dmaverify: assume %m in 1..3
func.func @k(%in: !pto.ptr<i8, gm>, %n: index, %m: index, %b: i1, %d: i1, %q: index) {
  %zero = arith.constant 0 : i64
  %false = arith.constant false
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %q1 = arith.cmpi slt, %q, %c1 : index
  %q2 = arith.cmpi slt, %q, %c2 : index
  %r = arith.index_cast %m : index to i64
  %r2 = arith.cmpi slt, %m, %c2 : index
"""
NUMBERS = "".join(f"  %x{n} = arith.constant {n} : i64\n" for n in (1, 2, 3, 4, 64, 128, 512, 1024))
COPY = """\
pto.copy_gm_to_ubuf %in, %ub, %zero, %x1, %x64, %zero, %zero, %false, %zero, %x64, %x64
  : !pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
pto.pipe_barrier "PIPE_ALL"
"""
INLINE = """\
pto.mte_gm_ub %in, %ub, %zero, %x64 nburst(%x1, %x64, %x64) loop(%x2, %x64, %x64)
  : !pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64, i64, i64, i64
pto.pipe_barrier "PIPE_ALL"
"""


def kernel(*body: str) -> str:
    return HEAD + NUMBERS + "  %ub = pto.castptr %zero : i64 -> !pto.ptr<i8, ub>\n" + "".join(body) + "  return\n}\n"


def size(first: int, second: int = 1) -> str:
    return f"pto.set_loop_size_outtoub %x{first}, %x{second} : i64, i64\n"


def set_to(first: str) -> str:
    return f"pto.set_loop_size_outtoub {first}, %x1 : i64, i64\n"


def stride(loop: int, read: int, write: int) -> str:
    return f"pto.set_loop{loop}_stride_outtoub %x{read}, %x{write} : i64, i64\n"


def loop(end: str, *body: str, name: str = "i") -> str:
    return f"scf.for %{name} = %c0 to %{end} step %c1 {{\n{''.join(body)}}}\n"


def branch(then: str, other: str, on: str = "b") -> str:
    return f"scf.if %{on} {{\n{then}}} else {{\n{other}}}\n"


def judged(folder: Path, text: str, prove: str = "full", readings: Mapping[str, str] | None = None) -> Verdict:
    (folder / "kernel.mlir").write_text(text, encoding="utf-8")
    options = Options(prove=prove, cross_check=0, repair=False, readings=readings or {})
    (verdict,) = api.check(str(folder / "kernel.mlir"), options=options)
    return verdict


def label(verdict: Verdict) -> str:
    return next(one.by for one in verdict.obligations if one.id == REGISTERS)


NOTHING = "no copy takes anything from a register"
ONE = stride(1, 64, 64)
HOLDS = {
    "set before": size(2) + ONE + COPY,
    "set before a loop": size(2) + ONE + loop("n", COPY),
    "set in each iteration": loop("n", size(2), ONE, COPY),
    "put back to what it was": size(2) + ONE + loop("n", COPY, size(3), COPY, size(2)) + COPY,
    "set on both ways": ONE + branch(size(2), size(3) + COPY + size(2)) + COPY,
    "never set": COPY,
    "put back by an inline copy": ONE + INLINE + COPY,
    "set last in a loop that runs": ONE + size(3) + loop("m", COPY, size(3)) + COPY,
    "set and used under one condition": ONE + branch(size(2), "") + branch(COPY + size(1), "") + COPY,
    "set where more is known": ONE + branch(size(2), size(3), "q2") + branch(COPY, "", "q1"),
    "set otherwise on the other way": branch(ONE + size(2), size(1)) + loop("n", branch("", COPY)) + branch(COPY, ""),
    "set under a condition within another": ONE
    + branch(branch(size(2), "", "d"), "")
    + branch(branch(COPY, "", "d"), ""),
    "set in a loop that runs as another does": ONE + size(3) + loop("n", size(2)) + loop("n", COPY),
    "set in a loop that runs where this one does": loop("n", ONE, size(1), loop("n", size(2), COPY, name="j"), COPY),
    "set in a loop of as many iterations": ONE + loop("n", size(3), loop("n", size(2), name="j"), COPY),
    "other strides on each way": size(2) + branch(stride(1, 64, 64), stride(1, 128, 64)) + COPY,
    "other sizes on each way": ONE + branch(branch(size(2), size(3), "d"), size(4)) + COPY,
    "strides where they count": branch(size(2) + ONE, size(1)) + COPY,
    "the least of two sizes": ONE + branch(set_to("%r"), set_to("%x2"), "r2") + COPY,
    "two loops": size(2, 2) + ONE + stride(2, 128, 128) + loop("n", loop("m", COPY, name="j")) + COPY,
}
ARGUMENTS = ("b", "d", "q", "m", "n")
OPEN = {
    "set on one way": ONE + branch(size(2), "") + COPY,
    "set in a loop that may not run": ONE + loop("n", size(2)) + COPY,
    "set in another loop that may not run": ONE + size(3) + loop("q", size(2)) + loop("n", COPY),
    "set in a loop that may not run where this one does": ONE + loop("m", size(3), loop("n", size(2), name="j"), COPY),
    "another iteration": ONE + size(2) + loop("n", COPY, size(3), COPY),
    "another iteration of a loop that runs": ONE + size(2) + loop("m", COPY, size(3), COPY),
    "used under another condition": ONE + branch(size(2), "") + branch(COPY, "", "d"),
    "used where less is known": ONE + branch(size(2), "", "q1") + branch(COPY, "", "q2"),
    "set again under the condition": ONE + branch(size(2), "") + branch(size(3), "", "d") + branch(COPY, ""),
    "other strides on one way": size(2) + ONE + branch(stride(1, 128, 64), "") + COPY,
    "strides for another size": stride(1, 512, 512) + branch(size(2) + ONE, size(3)) + COPY,
}


@pytest.mark.parametrize("name", HOLDS)
def test_what_copies_take_is_asked_of_what_was_set_last(name: str, tmp_path: Path) -> None:
    verdict = judged(tmp_path, kernel(HOLDS[name]))
    assert verdict.status.value == "proved", verdict.findings
    assert label(verdict) == "z3"
    assert not any("not asked" in said and REGISTERS in said for said in verdict.assumptions)


@pytest.mark.parametrize("name", OPEN)
def test_what_depends_on_the_path_is_refuted(name: str, tmp_path: Path) -> None:
    assert REGISTERS in {finding.rule for finding in judged(tmp_path, kernel(OPEN[name])).errors}


UNTOLD = {
    "same in a loop": ONE + branch(size(2), "") + loop("n", branch(COPY + size(2), "")) + branch(COPY, ""),
    "a loop that runs by what its count means": ONE
    + loop("n", size(3), loop("n", size(2), name="j").replace("step %c1", "step %c2"), COPY),
    "behind a loop": ONE + loop("m", branch(size(2), "")) + branch(COPY, ""),
}


@pytest.mark.parametrize("name", UNTOLD)
def test_what_is_not_known_of_the_path_is_no_verdict(name: str, tmp_path: Path) -> None:
    verdict = judged(tmp_path, kernel(UNTOLD[name]))
    assert verdict.status.value == "unknown", verdict.findings
    assert any("depends on the path" in finding.message for finding in verdict.findings)


def first_way(one: Mapping[str, Register], *_: object) -> dict[str, Register]:
    return dict(one)


def second_way(_: object, other: Mapping[str, Register], *__: object) -> dict[str, Register]:
    return dict(other)


def contradicted(verdict: Verdict) -> bool:
    return any(f"disagree: {REGISTERS}" in finding.message for finding in verdict.findings)


@pytest.mark.parametrize("fault", [first_way, second_way])
@pytest.mark.parametrize("name", OPEN)
def test_a_way_that_was_left_out_is_a_disagreement(
    name: str, fault: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (meaning, registers):
        monkeypatch.setattr(module, "joined", fault)
    assert judged(tmp_path, kernel(OPEN[name]), "fast").status.value == "proved"
    assert contradicted(judged(tmp_path, kernel(OPEN[name])))


WORLD = World()
SOME = WORLD.free("n", None, None)


def holds(*events: RegisterEvent) -> bool:
    """Whether all that is taken of registers follows from what is written."""
    script = register_script(events, WORLD)
    (found,) = answers_to([script.text], 1_000_000)
    return set(found) <= {"unsat"}


@pytest.mark.parametrize("runs", [True, False])
def test_a_loop_that_may_not_run_leaves_what_was_there_before(runs: bool) -> None:
    body, before = [RegisterWrite("r", (Lin(2),))], RegisterWrite("r", (Lin(1),))
    behind, two, some = RegisterRead("r", (Lin(2),), "copy 1"), {"r": (Lin(2),)}, compare("lt", -SOME)
    assert holds(before, RegisterLoop(body, {}, two, two, some, runs, 1), behind) is runs
    assert holds(before, RegisterLoop(body, {}, two, {}, some, runs, 1), behind) is runs
    assert not holds(before, RegisterLoop(body, {}, {}, {}, some, runs, 1), behind)


@pytest.mark.parametrize(("left", "inside", "right"), [(2, SOME, True), (2, SOME + 1, False), (1, SOME, False)])
def test_what_a_loop_left_is_there_where_one_of_as_many_iterations_runs(left: int, inside: Lin, right: bool) -> None:
    """The first loop sets 2 where `n` is above 0; the second reads where `inside` is."""
    first = RegisterLoop([RegisterWrite("r", (Lin(2),))], {}, {"r": (Lin(2),)}, {}, compare("lt", -SOME), False, 1)
    reads = [RegisterRead("r", (Lin(left),), "copy 1")]
    second = RegisterLoop(reads, {}, {}, {}, compare("lt", -inside), False, 2)
    assert holds(RegisterWrite("r", (Lin(1),)), first, second) is right


def test_a_register_that_holds_nothing_known_is_taken_for_no_number() -> None:
    assert not holds(RegisterRead("r", (Lin(0),), "copy 1"))
    assert not holds(RegisterWrite("r", (Lin(0),)), RegisterWrite("r", None), RegisterRead("r", (Lin(0),), "copy 1"))
    assert holds(RegisterWrite("r", (Lin(0), None)), RegisterRead("r", (Lin(0), None), "copy 1"))
    assert not holds(RegisterWrite("r", (Lin(0), None)), RegisterRead("r", (Lin(0), Lin(0)), "copy 1"))


def test_a_branch_leaves_what_its_condition_says() -> None:
    world = World()
    few = compare("lt", world.free("n", None, None) - 4)
    set_two = RegisterBranch(([RegisterWrite("r", (Lin(2),))], []), {}, 1, few)
    for taken_there, right in ((2, True), (1, False)):
        for side, when in ((few, right), (few.negated(), not right)):
            read = RegisterBranch(([RegisterRead("r", (Lin(taken_there),), "copy 1")], []), {}, 2, side)
            script = register_script([RegisterWrite("r", (Lin(1),)), set_two, read], world)
            (found,) = answers_to([script.text], 1_000_000)
            assert (set(found) <= {"unsat"}) is when


def test_a_copy_without_registers_has_nothing_to_ask(tmp_path: Path) -> None:
    text = kernel(INLINE)
    verdict = judged(tmp_path, text)
    assert verdict.status.value == "proved"
    assert label(verdict) == NOTHING


def drawn(draw: random.Random, depth: int = 0) -> str:
    """Statements that set registers and copy, in loops and branches."""
    out = []
    for _ in range(draw.randint(1, 4)):
        kind = draw.choice(("size", "stride", "copy", "copy", "inline", *(("loop", "branch") if depth < 2 else ())))
        if kind == "size":
            out.append(size(draw.choice((1, 2, 3)), draw.choice((1, 1, 2))))
        elif kind == "stride":
            out.append(stride(draw.choice((1, 2)), draw.choice((64, 128)), draw.choice((64, 512, 1024))))
        elif kind == "loop":
            out.append(loop(draw.choice("nm"), drawn(draw, depth + 1), name=f"i{depth}"))
        elif kind == "branch":
            on = draw.choice(("b", "b", "d", "q1", "q2"))
            out.append(branch(drawn(draw, depth + 1), drawn(draw, depth + 1), on))
        else:
            out.append(COPY if kind == "copy" else INLINE)
    return "".join(out)


def drawn_kernels(seeds: Iterable[int]) -> list[str]:
    strides = stride(1, 64, 64) + stride(2, 128, 512)
    made = (drawn(random.Random(f"registers {seed}")) for seed in seeds)
    return [kernel(strides, body) for body in made if "copy" in body]


CHOSEN = (4, 5, 6, 7, 9, 12, 24, 34, 47)
"""Four that hold, and four that do not hold and are proved where a way is left out."""


@pytest.mark.parametrize(("seeds", "least"), [(CHOSEN, 4), *rest([(range(2000), 134)])], ids=["chosen", "2000"])
def test_registers_are_confirmed_where_they_hold_and_contradicted_where_a_way_is_left_out(
    seeds: Iterable[int], least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    confirmed = wrong = 0
    for text in drawn_kernels(seeds):
        verdict = judged(tmp_path, text, "fast")
        if verdict.status.value == "proved":
            assert label(judged(tmp_path, text)) in ("z3", NOTHING), text
            confirmed += 1
        by_path = bool(verdict.errors) and all("depends on the path" in f.message for f in verdict.errors)
        for fault in (first_way, second_way) if by_path else ():
            with monkeypatch.context() as blind:
                for module in (meaning, registers):
                    blind.setattr(module, "joined", fault)
                if judged(tmp_path, text, "fast").status.value == "proved":
                    assert contradicted(judged(tmp_path, text)), text
                    wrong += 1
    assert min(confirmed, wrong) >= least


Taken = dict[int, set[tuple[tuple[int, ...], tuple[int, ...]]]]


def taken(text: str) -> Taken:
    """What each copy takes from its registers in any run, by its line: the arguments, and sizes and strides of loops
    that go on.
    """
    lines, seen = text.splitlines(), Taken()

    def run(at: int, live: bool, held: dict[str, tuple[int, ...]], given: Mapping[str, int]) -> int:
        """The line behind a region that begins at `at`; it is gone through once, for its end alone if not `live`."""
        while at < len(lines) and not lines[at].startswith("}"):
            line, at = lines[at], at + 1
            numbers = tuple(int(n) for n in re.findall(r"%x(\d+)", line))
            if line.startswith("scf.for"):
                begin = at
                for _ in range(given[line.split(" to %")[1][0]] if live else 0):
                    run(begin, True, held, given)
                at = run(begin, False, held, given) + 1
            elif line.startswith("scf.if"):
                on = bool(given[line.split("%")[1].split()[0]])
                at = run(run(at, live and on, held, given) + 1, live and not on, held, given) + 1
            elif live and line.startswith("pto.set_"):
                held[line.split("_outtoub")[0]] = numbers
            elif live and line.startswith("pto.copy"):
                sizes = held["pto.set_loop_size"]
                strides = [held[f"pto.set_loop{i}_stride"] for i, count in enumerate(sizes, 1) if count > 1]
                values = (*sizes, *(n for pair in strides for n in pair))
                seen.setdefault(at, set()).add((tuple(given[name] for name in ARGUMENTS), values))
        return at

    start = next(i for i, line in enumerate(lines) if line.startswith("  %ub")) + 1
    for b, d, q, m, n in product((0, 1), (0, 1), (0, 1, 2), (1, 2, 3), (0, 1, 2, 3)):
        given = {"b": b, "d": d, "q": q, "q1": q < 1, "q2": q < 2, "m": m, "n": n}
        run(start, True, {"pto.set_loop_size": (1, 1)}, given)
    return seen


def followed(text: str) -> dict[int, Callable[[tuple[int, ...]], tuple[int, ...]]]:
    """What each copy is taken to take from its registers, by its line, as a function of the arguments."""
    _, (function,) = read_kernels(Source("k.mlir", text))
    kernel = meaning_of(function, Setting({"n": (0, 3), "m": (1, 3)}))
    names = {symbol.shown: name for name, symbol in kernel.world.symbols.items()}

    def values(copy: Copy, given: tuple[int, ...]) -> tuple[int, ...]:
        here = {names[f"%{n}"]: Lin(value) for n, value in zip(ARGUMENTS, given, strict=True) if f"%{n}" in names}
        steps = {
            step.label: [kernel.world.put(t, here).const for t in (step.count, step.read, step.write)]
            for step in copy.steps
        }
        loops = [steps.get(f"loop{index}", [1]) for index in (1, 2)]
        return (*(one[0] for one in loops), *(n for one in loops if one[0] > 1 for n in one[1:]))

    return {copy.span.line: partial(values, copy) for copy in kernel.copies}


@pytest.mark.parametrize("count", counted(20, 3000))
def test_what_is_said_to_depend_on_the_path_does(count: int, tmp_path: Path) -> None:
    differ = same = 0
    for drawn_text in drawn_kernels(range(count)):
        text = drawn_text.replace(INLINE, "")
        verdict, seen = judged(tmp_path, text, "fast"), taken(text)
        for finding in verdict.errors:
            if "depends on the path" in finding.message:
                assert finding.span is not None
                assert len({values for _, values in seen[finding.span.line]}) > 1, text
                differ += 1
        if verdict.status.value == "proved":
            known = followed(text)
            assert all(known[line](given) == values for line, runs in seen.items() for given, values in runs), text
            same += len(seen)
    assert min(differ, same) > count // 4
