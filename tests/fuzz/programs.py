"""Random programs of 2 to 6 steps against enumeration, in numbers: `python tests/fuzz/programs.py --count 20000`.

Prints one line per disagreement and a summary; exit code 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
import time

from dmaverify.testing.agreement import program_disagreement


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--start", type=int, default=1_000_000, help="first seed")
    options = parser.parse_args()
    started, wrong = time.monotonic(), 0
    for seed in range(options.start, options.start + options.count):
        said = program_disagreement(seed)
        if said:
            wrong += 1
            sys.stdout.write(said + "\n")
    seconds = time.monotonic() - started
    sys.stdout.write(f"{options.count} programs, {wrong} disagreements, {seconds:.0f} s\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
