"""Plans of every kind that can be written, and a number of each changed: what both leave, by proof and by a run.

    python tests/fuzz/contents.py --count 2000

Told is a run that leaves something else than the proof says, a plan that is not the same as itself, two that do the
same event by event and leave something else, and a program without hazards that leaves something else in another
order. Exit code 1 where there is one.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.written import KINDS, WrittenPlan, seeded

from dmaverify.errors import InputError, InputErrors
from dmaverify.execute.left_behind import left_behind
from dmaverify.execute.outcome import Beyond
from dmaverify.execute.work import RunProgram
from dmaverify.jobs.load import load
from dmaverify.jobs.same_programs import same_programs
from dmaverify.plan.execution import PlanExecution
from dmaverify.prove.flow.equality.same import order_matters, side_of

RLIMIT = 2_000_000


def changed(drawn: WrittenPlan, seed: str) -> str:
    """The text with one of its numbers another."""
    chooses = random.Random(seed)
    numbers = [n for n in re.finditer(r"(?<![A-Za-z0-9_])\d+", drawn.text) if n.start() > drawn.text.find("[axes]")]
    one = chooses.choice(numbers)
    value = max(0, int(one.group()) + chooses.choice((1, -1, 8, -8, int(one.group()))))
    return f"{drawn.text[: one.start()]}{value}{drawn.text[one.end() :]}"


def both_said(seed: str, kind: str) -> list[str]:
    """The answers of a drawn plan against itself, and against one of its numbers changed. Raises Disagreement, and
    AssertionError of a plan that is another than itself.
    """
    drawn = seeded(seed, kind)
    answers = []
    for text in (drawn.text, changed(drawn, seed)):
        try:
            one, other = load(drawn.text, drawn.name), load(text, drawn.name)
            if not (one.programs or one.transfers):
                continue
            answer = same_programs(one, other, rlimit=RLIMIT, by_events=False)
            by_events = same_programs(one, other, rlimit=RLIMIT)
        except (InputError, InputErrors):
            continue
        assert text != drawn.text or answer.status != "refuted", (seed, answer.why)
        assert answer.status in (by_events.status, "unknown"), (seed, answer.why, by_events.why)
        answers.append(f"{answer.status}{' and run' if 'run of' in answer.by else ''}")
    return answers


def orders_said(seed: str, kind: str, orders: int = 3) -> str:
    """Whether a drawn program without hazards leaves the same in drawn orders ("" where nothing is known). Raises
    AssertionError where it does not.
    """
    drawn, chooses = seeded(seed, kind), random.Random(seed)
    try:
        plan = load(changed(drawn, seed) if chooses.random() < 0.5 else drawn.text, drawn.name)
        if not plan.programs:
            return ""
        free = not order_matters(
            side_of(plan.programs[0], plan.axes, plan.targets[plan.programs[0].target]), RLIMIT, []
        )
        work, machine = PlanExecution(plan.source.text, most=1 << 16).work(plan.names[0])
        if not isinstance(work, RunProgram):
            return ""
        first = left_behind(work, machine, 4)
        same = all(left_behind(work, machine, 4, chooses.choice) == first for _ in range(orders))
    except (InputError, InputErrors, Beyond):
        return ""
    assert same or not free, seed
    return f"{'no' if free else 'a'} hazard, {'the same' if same else 'something else'} in other orders"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="plans of each kind")
    parser.add_argument("--start", type=int, default=1_000, help="first seed")
    options = parser.parse_args()
    told, wrong = Counter[str](), 0
    for kind in KINDS:
        for number in range(options.start, options.start + options.count):
            try:
                told.update([*both_said(f"{kind}-{number}", kind), orders_said(f"{kind}-{number}", kind) or "no order"])
            except Exception as why:
                wrong += 1
                sys.stdout.write(f"{kind}-{number}: {type(why).__name__}: {why}\n")
    said = ", ".join(f"{count:,} {word}" for word, count in sorted(told.items()))
    sys.stdout.write(f"{said}; {wrong} wrong\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
