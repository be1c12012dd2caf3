"""Drawn Rust kernels that copy tiles in loops, against their run: `python tests/fuzz/rust_tiles.py --ways`, or
`--decisions`.

Exit code 1 where a kernel is PROVED that leaves its tensors, stores what was not loaded or leaves a tile out; where one
that does none of it, and moves no tile twice, is REFUTED; and where the checker ends with an error of its own.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from dmaverify import api
from dmaverify.prove.options import Options

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lab.rust_decisions import DrawnDecisions, drawn_decisions
from lab.rust_tiles import DrawnTiles, drawn, drawn_ways


def answer(text: str, folder: Path) -> str:
    """`proved`, the worst status of the kernel's verdicts, or `given` where a proof rests on a condition."""
    (folder / "k.rs").write_text(text, encoding="utf-8")
    made = api.check(str(folder / "k.rs"), options=Options(repair=False))
    found = {verdict.status.value for verdict in made}
    return next((one for one in ("error", "refuted", "unknown") if one in found), "proved" if all(made) else "given")


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=3_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--ways", action="store_true", help="behind conditions over parameters, run for every value")
    options.add_argument("--decisions", action="store_true", help="behind pairs of decisions in many forms")
    given = options.parse_args()
    draw: Callable[[int], DrawnTiles | DrawnDecisions] = drawn_ways if given.ways else drawn
    draw = drawn_decisions if given.decisions else draw
    counts: Counter[str] = Counter()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seed, given.seed + given.count):
            one = draw(seed)
            twice = isinstance(one, DrawnTiles) and one.twice
            said = answer(one.text, Path(folder))
            counts[f"{'right' if one.right else 'wrong'}{' twice' if twice else ''}: {said}"] += 1
            red = one.right and not twice and said == "refuted"
            if said == "error" or red or (said == "proved" and not one.right):
                wrong += 1
                print(f"{seed}: {said}, {one}\n{one.text}")
    print(", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
