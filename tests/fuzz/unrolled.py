"""Programs with loops against the same programs unrolled: `python tests/fuzz/unrolled.py --count 2000 --seed 1`.

Prints every pair that disagrees, the number of pairs of which one alone is UNKNOWN, and exits with 1 for the first.
"""

import argparse
import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lab.looped_pairs import pair


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for number in range(options.seed, options.seed + options.count):
        found = pair(random.Random(number))
        counts["disagree" if not found.agrees else "one is UNKNOWN" if found.open else str(found.said[0].status)] += 1
        if not found.agrees or found.open:
            said = " and ".join(f"{one.status} {sorted({f.rule for f in one.errors})}" for one in found.said)
            sys.stdout.write(f"{number}: {said}\n" + (found.looped if not found.agrees else ""))
    sys.stdout.write(", ".join(f"{count:,} {what}" for what, count in counts.items()) + "\n")
    return int(bool(counts["disagree"]))


if __name__ == "__main__":
    sys.exit(main())
