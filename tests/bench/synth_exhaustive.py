"""Synthesis against brute force: every member of the space of small drawn moves, priced by the same cost (the closed
form, with windows written in part counted address by address).

    python tests/bench/synth_exhaustive.py [FIRST [COUNT [ENGINES [PROFILE]]]]

Prints every disagreement and a line of totals; exit 1 if there was one. A move agrees when the search says OPTIMAL, no
member costs less than its plan, some member costs as much, and the bound is not above.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "synth"))

from brute import members, price
from moves import drawn

from dmaverify.cost.constants import cost_data
from dmaverify.synth.synthesize import synthesize
from dmaverify.targets.target import load_target

EVALUATIONS = 100_000
"""Enough to go through all of these spaces."""
EVERY = 10
"""Moves after which the error stream says how far it is."""


def judged(seed: int, engines: int, profile: str = "book") -> tuple[str, int]:
    """(what disagrees, or nothing; members) of one drawn move."""
    axes, moved = drawn(seed)
    target, data = load_target("rngd"), cost_data(profile)
    found = synthesize(
        moved, target, axes=axes, profile=profile, engines=engines, evaluations=EVALUATIONS, advise=False
    )
    costs = [price(program, data) for _, program in members(moved, target, engines, data)]
    if found.found != bool(costs):
        return f"a plan was {'found' if found.found else 'not found'}, of {len(costs)} members", len(costs)
    if not costs:
        return "", 0
    least = min(costs)
    if not found.optimal or abs(found.cycles - least) > 1e-6 or found.bound > least + 1e-6:
        said = f"{found.cycles:.3f}, bound {found.bound:.3f}, {'OPTIMAL' if found.optimal else 'gap'}"
        return f"{said}; least of {len(costs)} members {least:.3f}", len(costs)
    return "", len(costs)


def main() -> int:
    given = [int(text) for text in sys.argv[1:4]]
    first, many, engines = (*given, *(0, 300, 2)[len(given) :])
    profile = sys.argv[4] if len(sys.argv) > 4 else "book"
    bad = total = 0
    started = time.perf_counter()
    for seed in range(first, first + many):
        says, count = judged(seed, engines, profile)
        total += count
        if says:
            bad += 1
            sys.stdout.write(f"seed {seed}: {says}\n")
            sys.stdout.flush()
        if (seed - first) % EVERY == EVERY - 1:
            sys.stderr.write(f"{seed - first + 1} moves, {total:,} members\n")
    seconds = time.perf_counter() - started
    sys.stdout.write(
        f"{many - bad} of {many} moves agree, {total:,} members priced, {engines} engines, {seconds:.0f} s\n"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
