"""Drawn pairs of Rust kernels, against what each leaves: `python tests/fuzz/kernel_pairs.py --count 1000`.

Exit code 1 where two kernels are PROVED to leave the same that do not, or of which an order decides; where two that do
are REFUTED; and where the comparison ends with an error of its own.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from dmaverify.jobs.same_rust import same_rust
from dmaverify.prove.sameness import Sameness

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lab.kernel_pairs import DrawnKernels, drawn_kernels


def answer(pair: DrawnKernels, folder: Path) -> Sameness:
    paths = []
    for name, text in zip(("one.rs", "two.rs"), pair.texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
        paths.append(f"{folder / name}::k")
    return same_rust(paths, rlimit=2_000_000)


def wrong(pair: DrawnKernels, found: Sameness) -> str:
    """What moving lists about says against an answer."""
    apart = None in pair.left or pair.left[0] != pair.left[1]
    if found.status == "proved" and apart:
        return "proved, and they leave something else"
    return "refuted, and they leave the same" if found.status == "refuted" and not apart else ""


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    counts: Counter[str] = Counter()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seed, given.seed + given.count):
            pair = drawn_kernels(seed)
            found = answer(pair, Path(folder))
            counts[f"{'kept' if pair.kept else 'changed'}: {found.status}"] += 1
            said = wrong(pair, found)
            if said:
                failed += 1
                print(f"{seed}: {said}\n{pair.texts[0]}\n{pair.texts[1]}\n{found.text('one', 'two')}")
    print(", ".join(f"{what} {many}" for what, many in sorted(counts.items())))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
