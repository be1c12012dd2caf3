"""The longest run of a nest on a bank, proved: no base, bank and stretch make a longer one, and one makes this.

Knows: the summaries of a nest, how one level follows from the one inside it, the questions that say so.
Does not know: how summaries are computed, machines, limits, plan files.
Law: the tables of `transfer.starvation` are claims, trusted nowhere. Every question asks for a violation, `unsat` is
the proof.

What is asked of the solver, with the residue of the first address symbolic:
- `access`: an access that the table says misses bank 0 has a byte there.
- per loop, against the tables of one child: `ahead` (more full children follow each other than claimed), `prefix`,
  `suffix`, `inside`, `across` (a run from the start, to the end, within a child, over several children is longer than
  claimed). Counters are bounded integers, so that a question does not grow with them.
- `longest`: for some base of the alignment and some bank, the outermost table claims more than the longest run.
- `run`: an access of the stated run misses the bank. Counters and their position in the nest are symbolic. That the
  run lies in the nest is evaluated (`lies_in`).

What is not asked: that a stretch over several children consists of a suffix, full children and a prefix, and the
induction from the inner loops outwards. The first is a theorem for every size (proofs/starvation-across), the second
is on paper.

Source: "Memory Performance" (Bank Starvation), facts/rngd 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from dmaverify.prove.smt import Query, Session, all_of, linear, number
from dmaverify.transfer.starvation import AccessNest, Banks, Level, Run, Summaries, longest_run, summaries

Variable = tuple[str, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Question:
    """One question by name; its only good answer is `unsat`."""

    name: str
    query: Query


@dataclass(frozen=True, slots=True)
class RunProof:
    """`status` is proved, refuted or unknown; `answers` are (question, answer of the solver), in order."""

    run: Run
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

    def moved(self, start: str, counter: str, stride: int, end: str, turns: str) -> str:
        """The residue `end` lies `counter * stride` bytes after `start`; whole periods of the stride are left out."""
        step = stride % self.period // self.unit
        return f"(= {linear(0, ((1, start), (step, counter)))} {linear(0, ((self.size, turns), (1, end)))})"

    def stepped(self, start: str, stride: int, end: str, turns: str) -> str:
        step = stride % self.period // self.unit
        return f"(= {linear(step, ((1, start),))} {linear(0, ((self.size, turns), (1, end)))})"


def _ahead(child: Level, count: int, stride: int, grid: _Grid) -> list[int]:
    """For each residue: how many children follow each other, all of them full, `count` at most."""
    step = stride % grid.period // grid.unit
    full = [length == child.length for length in child.prefix]
    found = []
    for start in range(grid.size):
        steps = 0
        while steps < min(count, grid.size) and full[(start + steps * step) % grid.size]:
            steps += 1
        found.append(count if steps == min(count, grid.size) else steps)
    return found


# ---------------------------------------------------------------- questions


def _access(nest: AccessNest, banks: Banks, level: Level, grid: _Grid) -> Question:
    variables: list[Variable] = [grid.index("x"), ("byte", 0, nest.width_bytes), ("there", 0, banks.width_bytes)]
    address = linear(grid.offset, ((grid.unit, "x"), (1, "byte")))
    query = Query(
        (*variables, ("turns", None, None)),
        (
            f"(= {address} {linear(0, ((grid.period, 'turns'), (1, 'there')))})",
            f"(= {lookup(_least(level), 'x')} 0)",
        ),
    )
    return Question("access", query)


def _least(level: Level) -> list[int]:
    """What all three tables of one access claim at least: 0 where any of them says that bank 0 is missed."""
    return [min(three) for three in zip(level.prefix, level.suffix, level.best, strict=True)]


def _loop(name: str, child: Level, level: Level, count: int, stride: int, grid: _Grid) -> list[Question]:
    """That the tables of a loop follow from those of its child."""
    n, best = child.length, lookup(level.best, "x")
    ahead = _ahead(child, count, stride, grid)
    whole: list[Variable] = [grid.index("x"), ("i", 0, count), grid.index("y"), ("u", 0, None)]
    reach = grid.moved("x", "i", stride, "y", "u")
    first_after = grid.stepped("y", stride, "z", "v")
    after: list[Variable] = [grid.index("z"), ("v", 0, None)]
    more: list[Variable] = [("k", 0, count), grid.index("end"), ("t", 0, None)]
    claims = {
        "ahead": (
            whole,
            [reach, f"(= i {lookup(ahead, 'x')})", f"(= {lookup(child.prefix, 'y')} {n})"],
        ),
        "prefix": (
            whole,
            [
                reach,
                f"(<= i {lookup(ahead, 'x')})",
                f"(> (+ {linear(0, ((n, 'i'),))} {lookup(child.prefix, 'y')}) {lookup(level.prefix, 'x')})",
            ],
        ),
        "suffix": (
            whole + after,
            [
                reach,
                first_after,
                f"(<= (- {count - 1} i) {lookup(ahead, 'z')})",
                f"(> (+ (* {n} (- {count - 1} i)) {lookup(child.suffix, 'y')}) {lookup(level.suffix, 'x')})",
            ],
        ),
        "inside": (whole, [reach, f"(> {lookup(child.best, 'y')} {best})"]),
        "across": (
            whole + after + more,
            [
                reach,
                first_after,
                grid.moved("z", "k", stride, "end", "t"),
                f"(< (+ i k) {count - 1})",
                f"(<= k {lookup(ahead, 'z')})",
                f"(> (+ {lookup(child.suffix, 'y')} (* {n} k) {lookup(child.prefix, 'end')}) {best})",
            ],
        ),
    }
    return [Question(f"{name} {claim}", Query(tuple(v), tuple(c))) for claim, (v, c) in claims.items()]


def _longest(nest: AccessNest, banks: Banks, level: Level, grid: _Grid, run: Run) -> Question:
    """No base and bank with a longer run: bank b at an address is bank 0 at b bank widths less."""
    if nest.base is None:
        step = gcd(nest.align_bytes, grid.period)
        bases, base = [("base", 0, grid.period // step)], linear(0, ((step, "base"),))
    else:
        bases, base = [], number(nest.base)
    variables: list[Variable] = [*bases, ("bank", 0, banks.count), grid.index("x"), ("turns", None, None)]
    seen = f"(- {base} {linear(0, ((banks.width_bytes, 'bank'),))})"
    placed = f"(= {seen} {linear(grid.offset, ((grid.period, 'turns'), (grid.unit, 'x')))})"
    return Question("longest", Query(tuple(variables), (placed, f"(> {lookup(level.best, 'x')} {run.length})")))


def _run(nest: AccessNest, banks: Banks, run: Run) -> Question:
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
    return Question("run", Query((*variables, ("there", 0, period), ("turns", None, None)), constraints))


def lies_in(nest: AccessNest, banks: Banks, run: Run) -> bool:
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


def questions(nest: AccessNest, banks: Banks, run: Run, claims: Summaries) -> tuple[Question, ...]:
    """Everything that is asked of the solver for this run, from these tables.

    Raises ValueError for tables that are not about this nest.
    """
    grid, levels = _grid(nest, banks, claims), claims.levels
    asked = [_access(nest, banks, levels[0], grid)]
    depth = len(nest.loops)
    for inner, (count, stride) in enumerate(reversed(nest.loops)):
        name = f"loop {depth - inner}"
        asked += _loop(name, levels[inner], levels[inner + 1], count, stride, grid)
    return (*asked, _longest(nest, banks, levels[-1], grid, run), _run(nest, banks, run))


def prove_run(
    nest: AccessNest, banks: Banks, session: Session, run: Run | None = None, claims: Summaries | None = None
) -> RunProof:
    """The longest run (computed, or the one that is claimed), proved from the tables (computed, or those that are
    claimed).

    `proved`: it exists and no longer one does, on any bank, for any base of the alignment. `refuted`: a question has
    a counterexample, or the nest has no such accesses, so the claim or its tables are wrong. `unknown`: the solver
    gave up on one.
    """
    found = longest_run(nest, banks) if run is None else run
    if not lies_in(nest, banks, found):
        return RunProof(found, "refuted", (("placed", "no"),))
    asked = questions(nest, banks, found, summaries(nest, banks) if claims is None else claims)
    answers = tuple((one.name, session.ask(one.query, f"starvation {one.name}").status) for one in asked)
    said = {answer for _, answer in answers}
    status = "refuted" if "sat" in said else "proved" if said == {"unsat"} else "unknown"
    return RunProof(found, status, answers)
