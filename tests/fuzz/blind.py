"""Questions from definitions against judges that find nothing, on drawn kernels; full against fast, on drawn moves.

    python tests/fuzz/blind.py --count 2000 --seed 1

Of a kernel or a mutant of it nothing may be confirmed that following its pipes finds broken. A move, as drawn and
without stream and commands, must get one status from the fast path and from the questions. Exit code 1 where something
differs.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.blind import DEFINITE, ORDER, blind, confirmed
from lab.kernels import kernel_of, mutant_of

from dmaverify import api
from dmaverify.prove.options import Options
from dmaverify.targets.target import load_target
from dmaverify.testing import seeded_plan

FAST, FULL = (Options(prove=prove, cross_check=0, repair=False) for prove in ("fast", "full"))
COMMANDS = re.compile(r"(?m)^(stream|read|write|engine) *=.*\n|^\[\[transfer\.\w+\.command\]\]\n")


def kernel(seed: int, folder: Path, seen: Counter[str]) -> str:
    """What is confirmed and broken, in words."""
    rng = random.Random(seed)
    drawn = kernel_of(rng)
    for _ in range(rng.choice([0, 1, 1, 2])):
        drawn = mutant_of(rng, drawn)
    path = folder / "kernel.mlir"
    path.write_text(drawn.text(), encoding="utf-8")
    (followed,) = api.check(str(path), options=FAST)
    status = {o.id: o.status for o in followed.obligations}
    with blind():
        (asked,) = api.check(str(path), options=FULL)
    found = confirmed(asked)
    seen.update(f"{'confirmed' if n in found else 'open'}, {status[n]}" for n in (*ORDER, DEFINITE) if n in status)
    return ", ".join(sorted(n for n in found if status.get(n) != "proved"))


def move(seed: int, seen: Counter[str]) -> str:
    """How fast and full differ, in words."""
    target = load_target("rngd")
    text = seeded_plan(seed, target).text(target)
    said = []
    for name, plan in (("as drawn", text), ("bare", COMMANDS.sub("", text))):
        fast, full = (api.check(plan, options=options)[-1].status.value for options in (FAST, FULL))
        seen[f"{name}: {full}"] += 1
        said += [f"{name}: {fast} by the fast path, {full} from definitions"] if fast != full else []
    return "; ".join(said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="kernels, and as many moves")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    seen: Counter[str] = Counter()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seed, given.seed + given.count):
            for kind, said in (("kernel", kernel(seed, Path(folder), seen)), ("move", move(seed, seen))):
                wrong += bool(said)
                print(*([f"{kind} {seed}: {said}"] if said else []), sep="\n", end="\n" if said else "")
    for name, number in sorted(seen.items()):
        print(f"{number:>8,}  {name}")
    print(f"{given.count:,} kernels and moves each, {wrong:,} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
