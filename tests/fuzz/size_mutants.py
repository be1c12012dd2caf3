"""The smallest sizes that break mutants of the examples with symbols: each found, how quickly, and none smaller.

    tests/fuzz/size_mutants.py [MUTANTS] [SEED]

A mutant is a template with one number of its printed commands changed. A mutant that is proved is compared with the
ordinary checker at small sizes, and so is every size before the smallest that is told.
"""

import random
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from dmaverify.plan.read import InputErrors, read_plan_text
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.check import check_template, verdict_at
from dmaverify.prove.sizes.facts import Template
from dmaverify.verdict import Status

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "sizes"
SIDE = re.compile(r'^(?:read|write|config)\s*= "\[(?P<entries>[^\]]*)\]', re.MULTILINE)
PLAIN = Options(repair=False)
LOOKED = 60


def mutants(rng: random.Random) -> Iterator[tuple[str, str, str]]:
    """(text of a plan, name of the entry changed, what was changed), without end."""
    texts = [path.read_text() for path in sorted(EXAMPLES.glob("*.toml"))]
    places = [(text, match) for text in texts for match in SIDE.finditer(text)]
    while True:
        text, match = rng.choice(places)
        names = re.findall(r"^([A-Z]\w*) += \{", text, re.MULTILINE)
        entries = match["entries"].split(", ")
        index = rng.randrange(len(entries))
        label, _, rest = entries[index].rpartition("=") if "->" not in entries[index] else ("", "", entries[index])
        count, _, stride = rest.rpartition(":")
        kind = rng.randrange(6)
        if kind == 0:
            stride = f"2 * ({stride})"
        elif kind == 1:
            stride = f"{stride} + 8"
        elif kind == 2:
            stride = f"({stride}) * {rng.choice(names)}"
        elif kind == 3:
            stride = rng.choice(names)
        elif kind == 4:
            count = f"{count} - 1"
        else:
            count = f"2 * ({count})" if "->" not in count else f"{count} + 1"
        new = f"{label}={count}:{stride}" if label else f"{count}:{stride}"
        if new == entries[index]:
            continue
        changed = text[: match.start("entries")] + ", ".join([*entries[:index], new, *entries[index + 1 :]])
        name = re.findall(r"^\[+(?:transfer|access)\.([\w-]+)", text[: match.start()], re.MULTILINE)[-1]
        yield changed + text[match.end("entries") :], name, f"{entries[index]} -> {new}"


def first_sizes(template: Template, most: int) -> list[dict[str, int]]:
    """Small sizes in the order of the template."""
    count = max(2, int(400 ** (1 / len(template.symbols))))
    ranges = [[one.first + one.multiple * i for i in range(count)] for one in template.symbols]
    out = [dict(zip((one.name for one in template.symbols), values, strict=True)) for values in product(*ranges)]
    return sorted((v for v in out if template.admits(v)), key=template.key)[:most]


def judged(text: str, name: str) -> tuple[str, float, str]:
    """The outcome for one mutant, the seconds it took, what is wrong about it."""
    try:
        plan = read_plan_text(text)
    except InputErrors:
        return "unread", 0.0, ""  # refused at every size: a mutant that needs no search
    template = next(one for one in plan.templates if one.name == name)
    started = time.perf_counter()
    verdict = check_template(template, PLAIN)
    seconds = time.perf_counter() - started
    for values in first_sizes(template, LOOKED):
        if verdict.smallest is not None and template.key(values) >= template.key(verdict.smallest):
            break
        if verdict.status is not Status.UNKNOWN and verdict_at(template, values, PLAIN).status is Status.REFUTED:
            return verdict.status.value, seconds, f"{values} is refuted, {verdict.smallest} was told"
    return verdict.status.value, seconds, ""


def main() -> int:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    counts: Counter[str] = Counter()
    times: list[float] = []
    wrong = 0
    for text, name, change in mutants(rng):
        outcome, seconds, problem = judged(text, name)
        counts[outcome] += 1
        if outcome == "refuted":
            times.append(seconds)
        if outcome == "unknown" or problem:
            print(f"{name}: {change}: {outcome} {problem}", flush=True)
        wrong += bool(problem)
        if counts.total() - counts["unread"] >= wanted:
            break
    print(dict(counts))
    slow = sorted(times)[len(times) * 95 // 100]
    print(f"median {statistics.median(times):.3f} s, 95 % {slow:.2f} s, most {max(times):.2f} s")
    print(f"{wrong} wrong answers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
