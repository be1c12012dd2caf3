"""`make agree`: random and adversarial programs through both evaluators of the cost; exit 1 at any violation."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.campaign import KINDS, run, table

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make agree")
    parser.add_argument("--count", type=int, default=1250, help="seeds of each kind: 10,000 programs of all")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="only these kinds")
    parser.add_argument("--profile", action="append", help="book, measured and silicon unless given")
    options = parser.parse_args()
    profiles = options.profile or ["book", "measured", "silicon"]
    found = run(options.first, options.count, options.kind or list(KINDS), profiles)
    sys.stdout.write(table(found) + "\n")
    sys.exit(int(any(one.broken for one in found)))
