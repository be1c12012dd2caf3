"""Drawn pairs of texts, one after another: what the comparison says of each, and what a run says against it.

Knows: seeds, counts, what is printed. Does not know: what a pair is, what is wrong.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from dmaverify.prove.sameness import Sameness


class TwoTexts(Protocol):
    """Two texts, and whether the second is the first in other words."""

    @property
    def texts(self) -> tuple[str, str]: ...
    @property
    def kept(self) -> bool: ...


Pair = TypeVar("Pair", bound=TwoTexts)


def run_pairs(
    drawn: Callable[[int], Pair], answer: Callable[[Pair, Path], Sameness], wrong: Callable[[Pair, Sameness], str]
) -> int:
    """Draws pairs by `--count` and `--seed`, prints those that are wrong; 1 where there is one."""
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    counts: Counter[str] = Counter()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seed, given.seed + given.count):
            pair = drawn(seed)
            found = answer(pair, Path(folder))
            counts[f"{'kept' if pair.kept else 'changed'}: {found.status}"] += 1
            said = wrong(pair, found)
            if said:
                failed += 1
                print(f"{seed}: {said}\n{pair.texts[0]}\n{pair.texts[1]}\n{found.text('one', 'two')}")
    print(", ".join(f"{what} {many}" for what, many in sorted(counts.items())))
    return 1 if failed else 0
