"""`make rewritings`: programs and the same requests in other loops, all profiles; exit 1 at any price that differs."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.rewritings import run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make rewritings")
    parser.add_argument("--count", type=int, default=10_000, help="programs")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--profile", action="append", help="book, schedule and silicon unless given")
    options = parser.parse_args()
    profiles = options.profile or ["book", "schedule", "silicon"]
    found = run(options.first, options.count, profiles)
    sys.stdout.write("".join(f"{one}\n" for one in found[:50]))
    sys.stdout.write(f"{options.count:,} rewritings under {', '.join(profiles)}: {len(found)} differences\n")
    sys.exit(int(bool(found)))
