"""`make fuzz`: random plans with at most one fault, judged by proof and by running every unit; no disagreement is
allowed.

    python tests/fuzz/run.py --count 20000 --seed 1 --jobs 2
    python tests/fuzz/run.py --only 17-1234        one plan again, with its text

Plans are for the machine in `tests/fuzz/lab` (no rules, small slices). Every `--solver-every`-th plan is judged by
the solver alone too, where nothing may be enumerated and `unknown` is counted; `--solver-only` does so for all. Exit
code 1 after any disagreement; its plan is printed as a plan file (`dmaverify check PLAN --target tests/fuzz/lab`).
"""

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.examined import examine

from dmaverify.targets.target import load_target
from dmaverify.testing.random_plans import seeded_plan

LAB = Path(__file__).parent / "lab"
BLOCK = 250


@dataclass(frozen=True)
class Block:
    """Plans `start` to `stop` of a seed, and how they are judged."""

    seed: str
    start: int
    stop: int
    solver_every: int


@dataclass(frozen=True)
class Counted:
    outcomes: Counter[tuple[str, str]]
    notes: Counter[str]
    wrong: tuple[str, ...]


def routes_of(number: int, every: int) -> tuple[str, ...]:
    if every == 1:
        return ("solver",)
    return ("default", "solver") if every and number % every == 0 else ("default",)


def judge(seed: str, number: int, every: int) -> tuple[str, str, list[str], Counter[str]]:
    """Fault, outcome, disagreements and notes of one plan."""
    target = load_target(str(LAB))
    notes: Counter[str] = Counter()
    text = ""
    routes = routes_of(number, every)
    try:
        plan = seeded_plan(f"{seed}-{number}", target)
        text = plan.text(target)
        found = examine(plan, target, folder=str(LAB), routes=routes)
    except Exception:
        return "", "crash", [f"{seed}-{number}: {traceback.format_exc()}\n{text}"], notes
    if "solver" in routes:
        notes["judged by the solver alone"] += 1
        notes["of these unknown"] += found.unknown
        notes["of these core/consumes not judged"] += found.unread
    wrong = [f"{seed}-{number}: " + "\n    ".join(found.disagreements) + "\n" + text] if found.disagreements else []
    return found.fault, found.outcome, wrong, notes


def work(block: Block) -> Counted:
    outcomes: Counter[tuple[str, str]] = Counter()
    notes: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(block.start, block.stop):
        fault, outcome, complaints, said = judge(block.seed, number, block.solver_every)
        outcomes[fault or "none", outcome] += 1
        notes += said
        wrong += complaints
    return Counted(outcomes, notes, tuple(wrong))


def blocks(seed: str, count: int, every: int) -> Iterator[Block]:
    for start in range(0, count, BLOCK):
        yield Block(seed, start, min(count, start + BLOCK), every)


def table(outcomes: Counter[tuple[str, str]]) -> str:
    """Faults down, outcomes across."""
    columns = sorted({outcome for _, outcome in outcomes})
    faults = sorted({fault for fault, _ in outcomes})
    lines = [f"{'fault':20}" + "".join(f"{column:>12}" for column in columns)]
    lines += [f"{fault:20}" + "".join(f"{outcomes[fault, column]:>12,}" for column in columns) for fault in faults]
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="random plans: proof against execution")
    parser.add_argument("--count", type=int, default=20_000, help="plans (default 20,000)")
    parser.add_argument("--seed", default="0", help="any text; other seeds, other plans")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--solver-every", type=int, default=10, metavar="N", help="every N-th plan by the solver alone, too"
    )
    parser.add_argument("--solver-only", action="store_true", help="all plans by the solver alone")
    parser.add_argument("--only", metavar="SEED-NUMBER", help="one plan again")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.only:
        seed, _, number = given.only.rpartition("-")
        target = load_target(str(LAB))
        plan = seeded_plan(given.only, target)
        print(plan.text(target))
        print(examine(plan, target, folder=str(LAB)))
        return int(bool(judge(seed, int(number), 0)[2]))
    every = 1 if given.solver_only else given.solver_every
    started = time.monotonic()
    outcomes: Counter[tuple[str, str]] = Counter()
    notes: Counter[str] = Counter()
    wrong = 0
    with ProcessPoolExecutor(max_workers=given.jobs) as pool:
        for done in pool.map(work, blocks(given.seed, given.count, every)):
            outcomes += done.outcomes
            notes += done.notes
            for complaint in done.wrong:
                wrong += 1
                print(complaint, flush=True)
    print(table(outcomes))
    for name, number in notes.items():
        print(f"{name}: {number:,}")
    print(f"{outcomes.total():,} plans in {time.monotonic() - started:.0f} s: {wrong} disagreements")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
