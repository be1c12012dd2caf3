"""How long plans with symbols take: medians of verdicts and conditions over the examples, in one warm process.

tests/bench/sizes.py [ROUNDS]
"""

import statistics
import sys
from pathlib import Path

from dmaverify import api
from dmaverify.plan.read import read_plan
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.conditions import conditions

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "sizes"


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    proved: list[float] = []
    for path in sorted(EXAMPLES.glob("*.toml")):
        api.check(path)
        runs = [api.check(path) for _ in range(rounds)]
        found = [conditions(template, Options()) for template in read_plan(path).templates]
        for verdicts, condition in zip(zip(*runs, strict=True), found, strict=True):
            median = statistics.median(v.seconds for v in verdicts) * 1e3
            proved += [median] if verdicts[0].status.value == "proved" else []
            said = f"{condition.status}, {max((len(f) for f in condition.any), default=0)} clauses"
            print(f"{path.stem:12} {verdicts[0].name:14} {verdicts[0].status.value:8} {median:7.1f} ms   "
                  f"condition {said}, {condition.seconds * 1e3:.0f} ms")  # fmt: skip
    print(f"median of the proved: {statistics.median(proved):.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
