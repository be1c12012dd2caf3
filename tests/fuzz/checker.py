"""The independent checker against runs of every unit: `python tests/fuzz/checker.py --count 20000 --sizes 3000`.

Plans with symbols (`--sizes`) are run at small sizes, and at those that the checker refuses. Of every `--full`-th plan
the questions from definitions are asked too: an answer against the proof is printed. Exit code 1 where the checker
accepts what a run refutes, or refuses what holds, or a proof is contradicted.
"""

import argparse
import random
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

from dmaverify.execute.address import TooLarge
from dmaverify.execute.interpret import execute
from dmaverify.jobs.certify import independent_checker
from dmaverify.plan.read import InputErrors, read_plan_text
from dmaverify.program.tensor import PLACES
from dmaverify.prove.move.check import check_transfer
from dmaverify.prove.move.witness import Disagreement
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.check import verdict_at
from dmaverify.prove.sizes.facts import Template
from dmaverify.targets.target import load_target
from dmaverify.testing.drawn_plan import DrawnPlan
from dmaverify.testing.random_plans import seeded_plan

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from edge_templates import edge_template
from lab.random_templates import random_template
from lab.wide_templates import wide_template
from sizes import executed, small_sizes

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


def of_symbols(seed: int, checker: ModuleType, counts: Counter[tuple[str, str]]) -> list[str]:
    """What is wrong about the answer to one plan with symbols."""
    draw = (random_template, wide_template, edge_template)[seed % 3]
    text = draw(random.Random(seed)).text
    answer, why = checker.check_text(text, "t")
    try:
        templates = read_plan_text(text).templates
    except InputErrors:
        return [f"symbols-{seed}: accepted, and cannot be read\n{text}"] if answer == "accept" else []
    wrong = []
    for template in templates:
        small = small_sizes(template)
        known = [
            (values, broken_at(template, values)) for values in random.Random(seed).sample(small, min(40, len(small)))
        ]
        if answer == "refuse":
            told = {name: int(n) for name, n in (one.split(" = ") for one in why.split(":")[0].split(", "))}
            known.append((told, broken_at(template, told)))
            if not known[-1][1]:
                wrong.append(f"symbols-{seed}: refused, {why}\n{text}")
        first = next((values for values, broken in known if broken), None)
        counts["all sizes good" if first is None else "some sizes broken", answer] += 1
        if answer == "accept" and first is not None:
            wrong.append(f"symbols-{seed}: accepted, broken at {first}\n{text}")
    return wrong


def broken_at(template: Template, values: dict[str, int]) -> bool:
    """Whether a run of every copy, or the reading of the text, finds a plan broken at sizes; machine's rules apart."""
    with executed():
        verdict = verdict_at(template, values, Options(repair=False))
    found = {one.id for one in verdict.obligations if one.status == "refuted"}
    found |= {one.rule for one in verdict.errors}
    return any(name.startswith("core/") and name != "core/consumes" for name in found)


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=20_000)
    options.add_argument("--seed", default="checker")
    options.add_argument("--full", type=int, default=40)
    options.add_argument("--sizes", type=int, default=1_000)
    given = options.parse_args()
    target, checker = load_target(str(LAB)), independent_checker()
    checker.ENCODINGS = [LAB.parent, *checker.ENCODINGS]
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
    for seed in range(given.sizes):
        for line in of_symbols(seed, checker, counts):
            wrong += 1
            print(line)
    print(", ".join(f"{n} {what} {answer}" for (what, answer), n in sorted(counts.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
