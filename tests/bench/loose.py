"""How loose the closed form is against the simulator, by family of programs, and which term bounds the loosest ones.

    python tests/bench/loose.py [--count SEEDS] [--profile P]... [--write]

`--write` puts the table into docs/howto/cost.md.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.campaign import KINDS, random_program
from lab.leave_out import quantile

from dmaverify.cost.bounds import ALL_ENGINES
from dmaverify.cost.constants import cost_data
from dmaverify.cost.model import cost
from dmaverify.cost.simulate import simulate

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "cost.md"
BEGIN, END = "<!-- loose: python tests/bench/loose.py --write -->", "<!-- end of loose -->"
LOOSE = 0.8
HEAD = "| family | profile | median | a tenth below | least | share below 0.8 | the term that bounds these |"


def row(kind: str, profile: str, count: int) -> str:
    """The line of a family: bound over simulated."""
    data, ratios, why = cost_data(profile), [], Counter[str]()
    for seed in range(count):
        program = random_program(seed, kind)
        bound = cost(program, data)
        ratios.append(bound.cycles / simulate(program, data).cycles)
        if ratios[-1] < LOOSE:
            why[bound.binding.removesuffix(ALL_ENGINES)] += 1
    told = ", ".join(f"{name} {n}" for name, n in why.most_common(3)) or "none"
    low = sum(ratio < LOOSE for ratio in ratios) / len(ratios)
    numbers = " | ".join(f"{ratio:.2f}" for ratio in (quantile(ratios, 0.5), quantile(ratios, 0.1), min(ratios)))
    return f"| {kind} | {profile} | {numbers} | {100 * low:.0f} % | {told} |"


def main(arguments: Sequence[str]) -> None:
    """Prints the table, or writes it into the page."""
    parser = argparse.ArgumentParser(prog="loose.py")
    parser.add_argument("--count", type=int, default=200, help="seeds of each family")
    parser.add_argument("--profile", action="append", help="book and schedule unless given")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    profiles = options.profile or ["book", "schedule"]
    rows = [row(kind, profile, options.count) for kind in KINDS for profile in profiles]
    table = "\n".join([HEAD, "|---|---|---:|---:|---:|---:|---|", *rows])
    sys.stdout.write(table + "\n")
    if options.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main(sys.argv[1:])
