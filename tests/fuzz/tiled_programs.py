"""Drawn programs of tiles, judged by the proof alone, against all bytes of all iterations.

    python tests/fuzz/tiled_programs.py --count 4000

Told is a program that is PROVED although it breaks a promise, and one that is REFUTED although it breaks none. Exit
code 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.tiled_programs import tiled_disagreement


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="programs")
    parser.add_argument("--start", type=int, default=0, help="first seed")
    given = parser.parse_args()
    seen, wrong = Counter[str](), 0
    for seed in range(given.start, given.start + given.count):
        how, said = tiled_disagreement(seed)
        seen[how] += 1
        wrong += bool(said)
        sys.stdout.write(f"seed {seed}: {said}\n" if said else "")
    for how, number in sorted(seen.items()):
        sys.stdout.write(f"{number:>8,}  {how}\n")
    sys.stdout.write(f"{given.count:,} programs, {wrong} disagreements\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
