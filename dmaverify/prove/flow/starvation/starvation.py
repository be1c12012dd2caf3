"""The longest run of a nest on a bank, proved: no base, bank and stretch make a longer one, and one makes this.

Knows: the summaries of a nest, how one level follows from the one inside it, the questions that say so.
Does not know: how summaries are computed, machines, limits, plan files.
Law: the tables of `bank_runs` are claims, trusted nowhere. Every question asks for a violation, `unsat` is
the proof.

What is asked of the solver, with the residue of the first address symbolic:
- `access`: an access that the table says misses bank 0 has a byte there.
- per loop, against the tables of one child: `ahead` (more full children follow each other than claimed), `prefix`,
  `suffix`, `inside`, `across` (a run from the start, to the end, within a child, over several children is longer than
  claimed). Counters are bounded integers, so that a question does not grow with them.
- `longest`: for some base of the alignment and some bank, the outermost table claims more than is stated of that bank:
  the longest run of all, or what sums over several accesses take its own longest run to be.
- `run`: an access of the stated run misses the bank. Counters and their position in the nest are symbolic. That the
  run lies in the nest is evaluated (`lies_in`).

What is not asked: that a stretch over several children is a suffix, full children and a prefix, and that residues
repeat; these are theorems for every size (proofs/starvation-across, starvation-turn). The induction over the loops,
from the inner ones outwards, is on paper.

Source: "Memory Performance" (Bank Starvation), docs/machines/rngd.md 6.

Relied on (proofs/): starvation-across, starvation-turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from dmaverify.prove.flow.starvation.bank_runs import (
    AccessNest,
    BankRun,
    Banks,
    RunLevel,
    Summaries,
    longest_run,
    summaries,
)
from dmaverify.prove.smt import Query, Session, all_of, linear, number
from dmaverify.values import dataclass

Variable = tuple[str, int | None, int | None]
Reach = tuple[Variable, str]


@dataclass(frozen=True, slots=True)
class StarvationQuestion:
    """One question by name; its only good answer is `unsat`."""

    name: str
    query: Query


@dataclass(frozen=True, slots=True)
class RunProof:
    """`status` is proved, refuted or unknown; `answers` are (question, answer of the solver), in order."""

    run: BankRun
    status: str
    answers: tuple[tuple[str, str], ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """The questions without the good answer."""
        return tuple(name for name, answer in self.answers if answer != "unsat")


# ---------------------------------------------------------------- text


def lookup(values: Sequence[int], index: str, low: int = 0) -> str:
    """`values[index - low]` as text, for an index in range: halves, equal neighbours in one piece."""
    if len(set(values)) == 1:
        return number(values[0])
    middle = len(values) // 2
    left, right = lookup(values[:middle], index, low), lookup(values[middle:], index, low + middle)
    return f"(ite (< {index} {number(low + middle)}) {left} {right})"


@dataclass(frozen=True, slots=True)
class _Grid:
    """Residues as indices: see Summaries."""

    unit: int
    offset: int
    size: int

    @property
    def period(self) -> int:
        return self.unit * self.size

    def index(self, name: str) -> Variable:
        return name, 0, self.size

    def step(self, stride: int) -> int:
        """The stride as a number of indices, the nearest to 0 of those that are equal modulo the period."""
        step = stride % self.period // self.unit
        return step - self.size if 2 * step > self.size else step

    def turn(self, stride: int) -> int:
        """After so many iterations the residues repeat (proofs/starvation-turn)."""
        return self.size // gcd(self.step(stride), self.size)

    def reach(self, start: str, far: int, end: str, step: int = 0, counter: str = "", bound: int = 1) -> Reach:
        """The residue `end` lies `far + step * counter` indices after `start`; the counter is in [0, bound)."""
        most = step * (bound - 1)
        low, high = far + min(0, most) - self.size + 1, far + max(0, most) + self.size - 1
        rounds = f"{end}_rounds"
        there = linear(far, ((1, start), (step, counter)))
        variable = rounds, low // self.size, high // self.size + 1
        return variable, f"(= {there} {linear(0, ((self.size, rounds), (1, end)))})"


def _ahead(child: RunLevel, count: int, stride: int, grid: _Grid) -> list[int]:
    """For each residue: how many children follow each other, all of them full; `count` where a turn of them is."""
    step, reach = grid.step(stride), min(count, grid.turn(stride))
    full = [length == child.length for length in child.prefix]
    found = []
    for start in range(grid.size):
        steps = 0
        while steps < reach and full[(start + steps * step) % grid.size]:
            steps += 1
        found.append(count if steps == reach else steps)
    return found


# ---------------------------------------------------------------- questions


def _access(nest: AccessNest, banks: Banks, level: RunLevel, grid: _Grid) -> StarvationQuestion:
    variables: list[Variable] = [grid.index("x"), ("byte", 0, nest.width_bytes), ("there", 0, banks.width_bytes)]
    address = linear(grid.offset, ((grid.unit, "x"), (1, "byte")))
    query = Query(
        (*variables, ("turns", None, None)),
        (
            f"(= {address} {linear(0, ((grid.period, 'turns'), (1, 'there')))})",
            f"(= {lookup(_least(level), 'x')} 0)",
        ),
    )
    return StarvationQuestion("access", query)


def _least(level: RunLevel) -> list[int]:
    """What all three tables of one access claim at least: 0 where any of them says that bank 0 is missed."""
    return [min(three) for three in zip(level.prefix, level.suffix, level.best, strict=True)]


def _loop(
    name: str, child: RunLevel, level: RunLevel, count: int, stride: int, grid: _Grid
) -> list[StarvationQuestion]:
    """That the tables of a loop follow from those of its child.

    `x` is the residue of the loop's first child, `y` that of the child in question, `next` that of the one after it,
    `end` that of the child where the run ends. A run that starts in a child starts as well a whole turn of the residues
    before, so that its number `i` is below the turn. Full children in a row are `turns` turns and `rest` more.
    """
    n, turn, step = child.length, grid.turn(stride), grid.step(stride)
    some = min(turn, count)
    ahead = _ahead(child, count, stride, grid)
    full = linear(0, ((turn, "turns"), (1, "rest")))
    start: list[Variable] = [grid.index("x"), ("i", 0, some), grid.index("y")]
    between: list[Variable] = [("turns", 0, -(-count // turn)), ("rest", 0, turn)]
    to_y, at_y = grid.reach("x", 0, "y", step, "i", some)
    to_rest, at_rest = grid.reach("x", 0, "y", step, "rest", turn)
    to_last, at_last = grid.reach("x", (count - 1) * step % grid.size, "y", -step, "rest", turn)
    to_next, at_next = grid.reach("y", step, "next")
    to_end, at_end = grid.reach("next", 0, "end", step, "rest", turn)
    nexts: list[Variable] = [grid.index("next"), to_next]
    best = lookup(level.best, "x")
    claims: dict[str, tuple[list[Variable], list[str]]] = {
        "ahead": (
            [*start, to_y],
            [at_y, f"(= i {lookup(ahead, 'x')})", f"(= {lookup(child.prefix, 'y')} {n})"],
        ),
        "prefix": (
            [grid.index("x"), *between, grid.index("y"), to_rest],
            [
                at_rest,
                f"(< {full} {count})",
                f"(<= {full} {lookup(ahead, 'x')})",
                f"(> (+ (* {n} {full}) {lookup(child.prefix, 'y')}) {lookup(level.prefix, 'x')})",
            ],
        ),
        "suffix": (
            [grid.index("x"), *between, grid.index("y"), to_last, *nexts],
            [
                at_last,
                at_next,
                f"(< {full} {count})",
                f"(<= {full} {lookup(ahead, 'next')})",
                f"(> (+ (* {n} {full}) {lookup(child.suffix, 'y')}) {lookup(level.suffix, 'x')})",
            ],
        ),
        "inside": ([*start, to_y], [at_y, f"(> {lookup(child.best, 'y')} {best})"]),
        "across": (
            [*start, to_y, *nexts, *between, grid.index("end"), to_end],
            [
                at_y,
                at_next,
                at_end,
                f"(< (+ i {full}) {count - 1})",
                f"(<= {full} {lookup(ahead, 'next')})",
                f"(> (+ {lookup(child.suffix, 'y')} (* {n} {full}) {lookup(child.prefix, 'end')}) {best})",
            ],
        ),
    }
    return [StarvationQuestion(f"{name} {claim}", Query(tuple(v), tuple(c))) for claim, (v, c) in claims.items()]


def _longest(nest: AccessNest, banks: Banks, level: RunLevel, grid: _Grid, bounds: Sequence[int]) -> StarvationQuestion:
    """No base and bank with a longer run than its bound: bank b at an address is bank 0 at b bank widths less."""
    if nest.base is None:
        step = gcd(nest.align_bytes, grid.period)
        bases, base = [("base", 0, grid.period // step)], linear(0, ((step, "base"),))
    else:
        bases, base = [], number(nest.base)
    variables: list[Variable] = [*bases, ("bank", 0, banks.count), grid.index("x"), ("turns", None, None)]
    seen = f"(- {base} {linear(0, ((banks.width_bytes, 'bank'),))})"
    placed = f"(= {seen} {linear(grid.offset, ((grid.period, 'turns'), (grid.unit, 'x')))})"
    return StarvationQuestion(
        "longest", Query(tuple(variables), (placed, f"(> {lookup(level.best, 'x')} {lookup(bounds, 'bank')})"))
    )


def _run(nest: AccessNest, banks: Banks, run: BankRun) -> StarvationQuestion:
    """An access of the run that misses the bank: its address, seen from the bank, has no byte in the first width."""
    period, first = banks.period_bytes, nest.position(run.start)
    names = [f"c{i}" for i in range(len(nest.loops))]
    volumes = [prod(count for count, _ in nest.loops[i + 1 :]) for i in range(len(nest.loops))]
    variables: list[Variable] = [(name, 0, count) for name, (count, _) in zip(names, nest.loops, strict=True)]
    place = linear(0, zip(volumes, names, strict=True))
    address = linear(
        run.base - banks.width_bytes * run.bank,
        ((stride % period, name) for name, (_, stride) in zip(names, nest.loops, strict=True)),
    )
    constraints = (
        f"(<= {first} {place})",
        f"(< {place} {first + run.length})",
        f"(= {address} {linear(0, ((period, 'turns'), (1, 'there')))})",
        all_of([f"(<= {banks.width_bytes} there)", f"(<= (+ there {nest.width_bytes}) {period})"]),
    )
    return StarvationQuestion("run", Query((*variables, ("there", 0, period), ("turns", None, None)), constraints))


def lies_in(nest: AccessNest, banks: Banks, run: BankRun) -> bool:
    """Whether the nest has the accesses, the banks and the base that the run speaks of."""
    known = nest.base is not None
    base_fits = run.base == nest.base if known else run.base % gcd(nest.align_bytes, banks.period_bytes) == 0
    inside = len(run.start) == len(nest.loops) and all(
        0 <= counter < count for counter, (count, _) in zip(run.start, nest.loops, strict=True)
    )
    return (
        base_fits
        and inside
        and 0 <= run.bank < banks.count
        and 0 <= run.length <= nest.accesses - nest.position(run.start)
    )


def _grid(nest: AccessNest, banks: Banks, claims: Summaries) -> _Grid:
    """The residues of the tables. Raises ValueError where an address of the nest would fall between them."""
    unit, offset, size = claims.unit, claims.offset, claims.size
    steps = [banks.width_bytes, *(stride for _, stride in nest.loops)]
    steps.append(nest.align_bytes if nest.base is None else nest.base - offset)
    if unit * size != banks.period_bytes or any(step % unit for step in steps) or (nest.base is None and offset % unit):
        raise ValueError("the tables are not about the residues of this nest")
    counts = [count for count, _ in nest.loops]
    lengths = [prod(counts[len(counts) - inner :]) for inner in range(len(counts) + 1)]
    if [level.length for level in claims.levels] != lengths:
        raise ValueError("the tables are not about the loops of this nest")
    if any({len(level.prefix), len(level.suffix), len(level.best)} != {size} for level in claims.levels):
        raise ValueError("a table does not have one number per residue")
    return _Grid(unit, offset, size)


def questions(
    nest: AccessNest, banks: Banks, run: BankRun, claims: Summaries, bounds: Sequence[int] = ()
) -> tuple[StarvationQuestion, ...]:
    """Everything that is asked of the solver for this run, from these tables; `bounds` as of `prove_run`.

    Raises ValueError for tables that are not about this nest.
    """
    grid, levels = _grid(nest, banks, claims), claims.levels
    asked = [_access(nest, banks, levels[0], grid)]
    depth = len(nest.loops)
    for inner, (count, stride) in enumerate(reversed(nest.loops)):
        name = f"loop {depth - inner}"
        asked += _loop(name, levels[inner], levels[inner + 1], count, stride, grid)
    most = tuple(bounds) or (run.length,) * banks.count
    return (*asked, _longest(nest, banks, levels[-1], grid, most), _run(nest, banks, run))


def prove_run(
    nest: AccessNest, banks: Banks, session: Session, run: BankRun | None = None, claims: Summaries | None = None,
    bounds: Sequence[int] = (),
) -> RunProof:  # fmt: skip
    """The longest run (computed, or the one that is claimed), proved from the tables (computed, or those that are
    claimed).

    `proved`: it exists and no longer one does, on any bank, for any base of the alignment; with `bounds`, none that is
    longer than the bound of its bank. `refuted`: a question has
    a counterexample, or the nest has no such accesses, so the claim or its tables are wrong. `unknown`: the solver
    gave up on one.
    """
    found = longest_run(nest, banks) if run is None else run
    if not lies_in(nest, banks, found):
        return RunProof(found, "refuted", (("placed", "no"),))
    asked = questions(nest, banks, found, summaries(nest, banks) if claims is None else claims, bounds)
    answers = tuple((one.name, session.ask(one.query, f"starvation {one.name}").status) for one in asked)
    said = {answer for _, answer in answers}
    status = "refuted" if "sat" in said else "proved" if said == {"unsat"} else "unknown"
    return RunProof(found, status, answers)
