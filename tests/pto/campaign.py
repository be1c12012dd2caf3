"""Mutants of generated kernels: what is proved of them against what happens when they run, byte by byte.

    python tests/pto/campaign.py --kernels 2000 --seed 1

Prints how many agree, what was found how often, and every disagreement with its text; exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass

from dmaverify.errors import Source
from dmaverify.execute_kernel import run_kernel
from dmaverify.inputs.pto_check import check_text
from dmaverify.inputs.pto_read import read_kernels
from dmaverify.testing.kernels import Kernel, kernel_of, mutant_of
from dmaverify.verdict import Status, Verdict

CATEGORY = {
    "pto/n-burst": "field",
    "pto/len-burst": "field",
    "pto/loop-size": "field",
    "pto/gm-stride": "field",
    "pto/ub-stride": "field",
    "pto/pad-count": "field",
    "pto/cache-ctl": "field",
    "pto/ub-align": "align",
    "pto/ub-pitch": "align",
    "pto/ub-capacity": "capacity",
    "core/in-bounds": "bounds",
    "core/writes-once": "rows",
    "pto/row-overlap": "rows",
    "core/definite": "definite",
    "core/hazard-raw": "raw",
    "core/hazard-war": "war",
    "core/hazard-waw": "waw",
    "core/flags": "flags",
    "core/registers": "state",
}


@dataclass(frozen=True)
class Outcome:
    proved: frozenset[str]
    ran: frozenset[str]
    status: Status

    @property
    def agree(self) -> bool:
        if self.status is Status.UNKNOWN:
            return False
        if "field" in self.proved | self.ran:  # what a number beyond its field does is not defined
            return "field" in self.proved & self.ran
        return self.proved == self.ran


def outcome(kernel: Kernel) -> Outcome:
    text = kernel.text()
    source = Source("kernel.mlir", text)
    (verdict,) = check_text(source)
    _, (function,) = read_kernels(source)
    run = run_kernel(function, kernel.tensors)
    return Outcome(categories(verdict), frozenset(run.found), verdict.status)


def categories(verdict: Verdict) -> frozenset[str]:
    return frozenset(CATEGORY.get(f.rule, f.rule) for f in verdict.errors)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    found: Counter[str] = Counter()
    bad = good = 0
    for number in range(options.kernels):
        kernel = kernel_of(rng)
        if number % 10:
            kernel = mutant_of(rng, kernel)
        got = outcome(kernel)
        found.update(got.ran or {"nothing"})
        if got.agree:
            good += 1
            continue
        bad += 1
        if bad <= options.show:
            print(f"--- {number}: {kernel.note}\nproved {sorted(got.proved)}, ran {sorted(got.ran)}, {got.status}")
            print(kernel.text())
    print(f"{good:,} of {options.kernels:,} agree, {bad:,} do not")
    print(", ".join(f"{name} {count}" for name, count in sorted(found.items())))
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
