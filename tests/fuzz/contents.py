"""Plans of every kind that can be written, and a number of each changed: what both leave, by proof and by a run.

    python tests/fuzz/contents.py --count 2000

A run that leaves something else than the proof says, and a plan that is not the same as itself, are told. Exit code 1
where there is one.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dmaverify.errors import InputError, InputErrors
from dmaverify.jobs.load import load
from dmaverify.jobs.same_programs import same_programs
from dmaverify.testing.written import KINDS, WrittenPlan, seeded

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
            answer = same_programs(one, other, rlimit=RLIMIT, by_steps=False)
        except (InputError, InputErrors):
            continue
        assert text != drawn.text or answer.status != "refuted", (seed, answer.why)
        answers.append(f"{answer.status}{' and run' if 'run of' in answer.by else ''}")
    return answers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="plans of each kind")
    parser.add_argument("--start", type=int, default=1_000, help="first seed")
    options = parser.parse_args()
    told, wrong = Counter[str](), 0
    for kind in KINDS:
        for number in range(options.start, options.start + options.count):
            try:
                told.update(both_said(f"{kind}-{number}", kind))
            except Exception as why:
                wrong += 1
                sys.stdout.write(f"{kind}-{number}: {type(why).__name__}: {why}\n")
    said = ", ".join(f"{count:,} {word}" for word, count in sorted(told.items()))
    sys.stdout.write(f"{said}; {wrong} wrong\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
