"""The independent checker against runs of every unit: `python tests/fuzz/checker.py --count 20000`.

Also asks, of every `--full`-th plan, the questions from definitions: an answer against the proof is printed. Exit code
1 where the checker accepts what a run refutes, or refuses what holds, or a proof is contradicted.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

from dmaverify.execute.address import TooLarge
from dmaverify.execute.interpret import execute
from dmaverify.jobs.certify import independent_checker
from dmaverify.program.tensor import PLACES
from dmaverify.prove.move.check import check_transfer
from dmaverify.prove.move.witness import Disagreement
from dmaverify.prove.options import Options
from dmaverify.targets.target import load_target
from dmaverify.testing.drawn_plan import DrawnPlan
from dmaverify.testing.random_plans import seeded_plan

LAB = Path(__file__).parent / "lab"


def broken_by_running(plan: DrawnPlan) -> frozenset[str] | None:
    """What a run of every unit breaks, unread cells apart; None where it is too large."""
    target = load_target(str(LAB))
    commands = plan.commands(target)
    if commands is None:
        return frozenset({"no commands"})
    if any(getattr(t, place).size < 1 for t in (plan.transfer.source, plan.transfer.dest) for place in PLACES):
        return frozenset({"core/well-formed"})
    tensors = (plan.transfer.source, plan.transfer.dest)
    try:
        done = execute(*tensors, *plan.spaces(target), target.dtypes[plan.transfer.dtype], commands, readings={})
    except TooLarge:
        return None
    named = {(one.read.tier, one.write.tier) for one in plan.transfer.given}
    elsewhere = named - {tuple(tensor.tier for tensor in (plan.transfer.source, plan.transfer.dest))}
    return (done.broken - {"core/consumes"}) | ({"core/well-formed"} if elsewhere else frozenset())


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=20_000)
    options.add_argument("--seed", default="checker")
    options.add_argument("--full", type=int, default=40)
    given = options.parse_args()
    target, checker = load_target(str(LAB)), independent_checker()
    checker.ENCODINGS = [LAB.parent]
    counts: Counter[tuple[str, str]] = Counter()
    wrong = 0
    for number in range(given.count):
        plan = seeded_plan(f"{given.seed}-{number}", target)
        broken = broken_by_running(plan)
        text = re.sub(r"^target = .*$", 'target = "lab"', plan.text(target), flags=re.MULTILINE)
        answer, why = checker.check_text(text, "move")
        counts["too large" if broken is None else "broken" if broken else "good", answer] += 1
        if broken is not None and ((answer == "accept" and broken) or (answer == "refuse" and not broken)):
            wrong += 1
            print(f"{given.seed}-{number}: {answer} {why}, a run breaks {sorted(broken)}\n{text}")
        if number % given.full == 0 and plan.commands(target) is not None:
            try:
                how = Options(prove="full", repair=False)
                check_transfer(plan.transfer, axes=plan.axes, target=target, options=how)
            except Disagreement as error:
                wrong += 1
                print(f"{given.seed}-{number}: {error}\n{text}")
    print(", ".join(f"{n} {what} {answer}" for (what, answer), n in sorted(counts.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
