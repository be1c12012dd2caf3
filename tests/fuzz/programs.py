"""Random programs of 2 to 6 steps against enumeration of every byte and every access, in numbers.

    python tests/fuzz/programs.py --count 20000 --jobs 2

Hazards, sums of bank accesses and their verdicts are compared. Prints one line per disagreement and a summary; exit
code 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.agreement import program_disagreement

BLOCK = 100


def block(start: int, stop: int) -> list[str]:
    """What was said against the programs of these seeds."""
    return [said for seed in range(start, stop) if (said := program_disagreement(seed))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="programs")
    parser.add_argument("--start", type=int, default=1_000_000, help="first seed")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    started = time.monotonic()
    ends = range(options.start, options.start + options.count, BLOCK)
    stops = [min(first + BLOCK, options.start + options.count) for first in ends]
    wrong = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for found in pool.map(block, ends, stops):
            wrong += len(found)
            for said in found:
                sys.stdout.write(said + "\n")
    seconds = time.monotonic() - started
    sys.stdout.write(f"{options.count:,} programs, {wrong} disagreements, {seconds:.0f} s\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
