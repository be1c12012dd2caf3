"""Plans of every kind that can be written, judged by proof and by the interpreter, in numbers.

    python tests/fuzz/written.py --count 100000 --jobs 2
    python tests/fuzz/written.py --kinds views,banks --count 500 --keep DIR      shrunk disagreements as plan files
    python tests/fuzz/written.py --count 20000 --solver     no move is enumerated first, as none above 65,536 bytes is

Every tenth plan is judged again grown beyond any run, and must get the answer that it gets twice over. Prints one line
per disagreement, then for each kind the answers, the rate of UNKNOWN on plans that hold, and the slowest cases. Exit
code 1 where there is a disagreement. The plans are for the machine in `tests/fuzz/plain`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.against import complaint, judged_twice, shrunk, twin_complaint
from lab.oracle import only_solver
from lab.written import KINDS, seeded

PLAIN = str(Path(__file__).parent / "plain")
BLOCK = 50
SLOWEST = 5
GROWN = 10  # of so many plans one is grown


Answers = Counter[tuple[str, str, str]]
Block = tuple[Answers, list[tuple[str, str, str]], list[tuple[float, str]]]


def block(kind: str, start: int, stop: int, solver: bool = False) -> Block:
    """Answers of the plans of these seeds, what disagrees (seed, words, text), the slowest."""
    with only_solver() if solver else contextlib.nullcontext():
        return judged(kind, start, stop)


def judged(kind: str, start: int, stop: int) -> Block:
    answers: Answers = Counter()
    wrong, slow = [], []
    for number in range(start, stop):
        drawn = seeded(f"{kind}-{number}", kind)
        said, both = complaint(drawn, PLAIN)
        word = "holds" if drawn.holds else "fault"
        answers[word, both.proof if both else "crash", both.run if both else "crash"] += 1
        slow.append((both.seconds if both else 0.0, drawn.seed))
        if number % GROWN == 0:
            against, proof = twin_complaint(drawn, PLAIN)
            said = said or against
            answers[f"{word}, grown", proof or "not grown", "not run"] += 1
        if said:
            wrong.append((drawn.seed, said, drawn.text))
    return answers, wrong, sorted(slow, reverse=True)[:SLOWEST]


def keep(folder: Path, seed: str, said: str, text: str, name: str) -> None:
    """A shrunk plan file of a disagreement."""
    if name and (said.startswith(("proved", "refuted"))):

        def still(smaller: str) -> bool:
            try:
                return judged_twice(smaller, name, PLAIN).against[:6] == said[:6]
            except Exception:
                return False

        text = shrunk(text, still)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{seed}.toml").write_text(f"# {said}\n# found by seed {seed}\n{text}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2600, help="plans")
    parser.add_argument("--start", type=int, default=0, help="first seed of each kind")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds, separated by commas")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--keep", type=Path, help="folder for shrunk plan files of disagreements")
    parser.add_argument("--solver", action="store_true", help="no move is enumerated first")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    each = max(1, options.count // len(kinds))
    tasks = [
        (kind, start, min(options.start + each, start + BLOCK), options.solver)
        for kind in kinds
        for start in range(options.start, options.start + each, BLOCK)
    ]
    began = time.monotonic()
    totals: dict[str, Counter[tuple[str, str, str]]] = {kind: Counter() for kind in kinds}
    slowest: list[tuple[float, str]] = []
    shown: Counter[tuple[str, str]] = Counter()
    wrong = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        found = pool.map(block, *zip(*tasks, strict=True))
        for (kind, *_), (answers, against, slow) in zip(tasks, found, strict=True):
            totals[kind] += answers
            slowest = sorted([*slowest, *slow], reverse=True)[:SLOWEST]
            wrong += len(against)
            for seed, said, text in against:
                shown[kind, said[:20]] += 1
                if shown[kind, said[:20]] <= 3:
                    sys.stdout.write(f"{seed}: {said}\n")
                    if options.keep is not None:
                        keep(options.keep, seed, said, text, seeded(seed, kind).name)
    report(totals, slowest, wrong, time.monotonic() - began)
    return int(wrong > 0)


def report(
    totals: dict[str, Counter[tuple[str, str, str]]], slowest: list[tuple[float, str]], wrong: int, seconds: float
) -> None:
    for kind, answers in totals.items():
        shown = ", ".join(f"{count} {' '.join(key)}" for key, count in sorted(answers.items()))
        sys.stdout.write(f"{kind}: {shown}\n")
    every: Counter[tuple[str, str, str]] = sum(totals.values(), Counter())
    holds = sum(count for (word, _, _), count in every.items() if word == "holds")
    unknown = sum(count for (word, proof, _), count in every.items() if word == "holds" and proof == "unknown")
    sys.stdout.write("slowest: " + ", ".join(f"{seed} {took:.2f} s" for took, seed in slowest) + "\n")
    rate = 100 * unknown / max(1, holds)
    grown = Counter(dict.fromkeys(("proved", "refuted", "unknown"), 0))
    for (word, proof, _), count in every.items():
        if word.endswith("grown"):
            grown[proof] += count
    total = sum(count for (word, _, _), count in every.items() if not word.endswith("grown"))
    sys.stdout.write(
        f"grown: {grown['proved']:,} proved, {grown['refuted']:,} refuted, {grown['unknown']:,} UNKNOWN, "
        f"{grown['not grown']:,} of kinds that do not grow\n"
        f"{total:,} plans, {wrong} disagreements, {unknown} UNKNOWN of {holds:,} that hold ({rate:.2f} %), "
        f"{seconds:.0f} s\n"
    )


if __name__ == "__main__":
    sys.exit(main())
