"""Drawn pairs of functions of C drivers, against runs of both: `python tests/fuzz/driver_pairs.py --count 1000`.

Exit code 1 where two functions are PROVED to do the same of which somebody may see another memory, or REFUTED at
arguments at which nobody does; and where the comparison ends with an error of its own.
"""

import sys
from itertools import product
from pathlib import Path

from dmaverify.jobs.same_drivers import same_drivers
from dmaverify.prove.sameness import Sameness

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lab.driver_pairs import PARAMETERS, VALUES, DrawnPair, drawn_pair, seen_of
from lab.pairs_run import run_pairs


def answer(pair: DrawnPair, folder: Path) -> Sameness:
    paths = []
    for name, text in zip(("one.c", "two.c"), pair.texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
        paths.append(f"{folder / name}::f")
    return same_drivers(paths, rlimit=2_000_000, engine=["manticore"], defines=["__SIZEOF_POINTER__=8"])[0]


def apart(pair: DrawnPair, values: dict[str, int]) -> bool:
    """Whether somebody may see another memory of the one than of the other."""
    runs = [[seen_of(lines, values, late=late) for late in (False, True)] for lines in pair.lines]
    return runs[0] != runs[1]


def wrong(pair: DrawnPair, found: Sameness) -> str:
    """What a run says against an answer."""
    if found.status == "proved":
        for values in product(VALUES, repeat=len(PARAMETERS)):
            if apart(pair, dict(zip(PARAMETERS, values, strict=True))):
                return f"proved, and with {values} it is not so"
    if found.status == "refuted":
        given = (found.witness or {}).get("arguments", {})
        values = {name: next((v for key, v in given.items() if key.startswith(name)), 0) for name in PARAMETERS}
        if not apart(pair, values):
            return f"refuted, and with {values} nobody sees it"
    return ""


if __name__ == "__main__":
    sys.exit(run_pairs(drawn_pair, answer, wrong))
