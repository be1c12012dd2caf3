"""Drawn pairs of Rust kernels, against what each leaves: `python tests/fuzz/kernel_pairs.py --count 1000`.

Exit code 1 where two kernels are PROVED to leave the same that do not, or of which an order decides; where two that do
are REFUTED; and where the comparison ends with an error of its own.
"""

import sys
from pathlib import Path

from dmaverify.jobs.same_rust import same_rust
from dmaverify.prove.sameness import Sameness

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lab.branched_kernels import branched_kernels
from lab.kernel_pairs import DrawnKernels, drawn_kernels
from lab.pairs_run import run_pairs


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


if __name__ == "__main__":
    sys.exit(run_pairs(lambda seed: (branched_kernels if seed % 2 else drawn_kernels)(seed), answer, wrong))
