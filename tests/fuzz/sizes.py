"""Plans with symbols against the ordinary checker and the executor, at every small size.

    tests/fuzz/sizes.py [PLANS] [SEED] [--regions] [--edges] [--loops] [--places] [--alone]

Every second plan is of the wider kinds; with `--edges` all are of the kinds at the edges of arithmetic, and the
conditions of every fifth are searched for. With `--loops` they have loops, views and a program, with `--places` two
steps that lie where symbols say; each is judged at every small size by the interpreter too, from a text that has that
size alone. With `--alone` they are moves with neither stream nor commands. `--regions` leaves the slower searches out:
regions of runs are compared.

A region that a run proves is a claim about each of its sizes; here each small one is judged at that size: the core by
the executor alone, which shares no code with the proof, the rules folded; sizes too large to be executed by the
ordinary checker. Verdicts are compared with enumeration: proved, or refuted at the same smallest sizes.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path

from dmaverify.errors import Disagreement
from dmaverify.execute.address import TooLarge
from dmaverify.execute.interpret import execute, interpret
from dmaverify.execute.outcome import Beyond
from dmaverify.plan.execution import PlanExecution
from dmaverify.plan.read import InputErrors, read_plan_text
from dmaverify.prove.move import case
from dmaverify.prove.move.outcome import OBLIGATIONS, CoreResult
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.attempt import attempt
from dmaverify.prove.sizes.check import check_template, verdict_at
from dmaverify.prove.sizes.conditions import conditions
from dmaverify.prove.sizes.facts import Template, with_floors
from dmaverify.prove.sizes.samples import samples
from dmaverify.verdict import Status

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from alone_templates import alone_template
from edge_templates import edge_template
from lab.random_templates import random_template
from lab.wide_templates import wide_template
from looped import LoopedPlan, looped
from placed import placed

PLAIN = Options(repair=False)
MOST_EXECUTED = 1 << 13
EVERY = 5  # of so many plans at the edges, one has its conditions searched for
SMALL = {1: 40, 2: 9, 3: 5, 4: 4, 5: 4, 6: 3, 7: 3}
LARGEST = {1: 40, 2: 16, 3: 8, 4: 8, 5: 6, 6: 4, 7: 4}
MOST_SIZES = 150


def small_sizes(template: Template) -> list[dict[str, int]]:
    count = len(template.symbols)
    ranges = []
    for one in template.symbols:
        most = min(one.most or 64, LARGEST.get(count, 3) * one.multiple)
        values = [v for v in range(one.least, most + 1) if v % one.multiple == 0]
        ranges.append(values[: SMALL.get(count, 2)])
    out = [dict(zip((one.name for one in template.symbols), values, strict=True)) for values in product(*ranges)]
    admitted = [v for v in out if template.admits(v)]
    some = random.Random(len(admitted)).sample(admitted, min(len(admitted), MOST_SIZES))  # steps would fix a symbol
    return sorted(some, key=template.key)


@contextmanager
def executed():
    """The core obligations of a program as running every copy finds them, without digits and solvers."""
    proved = case.judge_core

    def judge_core(source, dest, spaces, bits, commands, readings, session, *more):
        try:
            run = execute(source, dest, *spaces, bits, commands, readings=readings, limit_units=MOST_EXECUTED)
        except TooLarge:
            return proved(source, dest, spaces, bits, commands, readings, session, *more)
        status = {name: "refuted" if name in run.broken else "proved" for name in OBLIGATIONS}
        return CoreResult(status, (), "enumeration", units=1 << 40)  # so many that they are not executed again

    case.judge_core = judge_core
    try:
        yield
    finally:
        case.judge_core = proved


def status_at(template: Template, values: dict[str, int]) -> Status:
    """Proved or refuted at sizes, by running every copy where there are few."""
    try:
        with executed():
            verdict = verdict_at(template, values, PLAIN)
    except Disagreement:
        return Status.UNKNOWN
    refuted = any(one.status == "refuted" for one in verdict.obligations)
    return Status.REFUTED if refuted else verdict.status


def run_at(drawn: LoopedPlan, template: Template, values: dict[str, int], counts: Counter[str]) -> Status:
    """Refuted where the interpreter sees it in the text of this size, else what the ordinary checker says."""
    verdict = verdict_at(template, values, PLAIN)
    text = drawn.at(values)
    if text is None:
        return Status.REFUTED
    try:
        outcome = interpret(*PlanExecution(text).work(template.name))
    except (Beyond, InputErrors):
        return verdict.status
    counts["interpreted"] += 1
    if outcome.wrong and verdict.status is Status.PROVED:
        raise AssertionError(f"{template.name} at {values}: proved, but {outcome.wrong}")
    return Status.REFUTED if outcome.wrong else verdict.status


def compare(seed: int, counts: Counter[str], *, searches: bool = True, kind: str = "") -> list[str]:
    """What is wrong about one plan; nothing, as it should be."""
    plain = wide_template if seed % 2 else random_template
    drawn = {"edges": edge_template, "loops": looped, "places": placed, "alone": alone_template}.get(kind, plain)(
        random.Random(seed)
    )
    try:
        plan = read_plan_text(drawn.text)
    except InputErrors:
        counts["unread"] += 1
        return []
    judge = partial(run_at, drawn, counts=counts) if isinstance(drawn, LoopedPlan) else status_at
    found = [compared(seed, one, judge, counts, searches=searches, kind=kind) for one in plan.templates]
    return [line for lines in found for line in lines]


def compared(
    seed: int, template: Template, judge: Callable[..., Status], counts: Counter[str], *, searches: bool, kind: str
) -> list[str]:
    sizes = small_sizes(template)
    known = {tuple(v.values()): judge(template, v) for v in sizes}
    counts["pairs"] += len(sizes)
    wrong: list[str] = []
    counts.update(f"size {known[k].value}" for k in known)
    regions = []
    for values in [*list(samples(template))[:3], *random.Random(seed).sample(sizes, min(6, len(sizes)))]:
        for generic in (True, False):
            done = attempt(template, values, Options(), generic=generic)
            counts[f"run {done.status}"] += 1
            if done.region is None:
                continue
            if not done.region.holds(values):
                wrong.append(f"seed {seed}: the region of a run at {values} does not hold it")
            want = Status.PROVED if done.status == "proved" else Status.REFUTED
            regions += [(values, done.status, generic)]
            for other in sizes:
                counts["compared"] += done.region.holds(other)
                if done.region.holds(other) and known[tuple(other.values())] is not want:
                    found = known[tuple(other.values())].value
                    said = f"run at {values} (generic {generic}) says {done.status} {done.rule}"
                    wrong.append(f"seed {seed}: {said}, {other} is {found}")
                    break
    if searches:
        wrong += verdicts(seed, template, sizes, known, counts)
    if searches and (not kind or seed % EVERY == 0):
        wrong += conditions_of(seed, template, sizes, known, counts)
    return wrong


def conditions_of(seed: int, template: Template, sizes: list, known: dict, counts: Counter[str]) -> list[str]:
    """Every size of a condition is proved; where it is exact, every other size is refuted."""
    found = conditions(template, Options())
    counts[f"condition {found.status}"] += 1
    for values in sizes:
        whole = with_floors(values, found.floors)
        held = any(all(fact.holds(whole) for fact in facts) for facts in found.any)
        status = known[tuple(values.values())]
        if held and status is not Status.PROVED:
            return [f"seed {seed}: a condition holds at {values}, which is {status.value}"]
        if found.status == "exact" and not held and status is not Status.REFUTED:
            return [f"seed {seed}: an exact condition does not hold at {values}, which is {status.value}"]
    return []


def verdicts(seed: int, template: Template, sizes: list, known: dict, counts: Counter[str]) -> list[str]:
    verdict = check_template(template, Options())
    counts[f"verdict {verdict.status.value}"] += 1
    refuted = [v for v in sizes if known[tuple(v.values())] is Status.REFUTED]
    if verdict.status is Status.PROVED and refuted:
        return [f"seed {seed}: proved for all, {refuted[0]} is refuted"]
    if verdict.smallest is not None and refuted and template.key(refuted[0]) < template.key(verdict.smallest):
        return [f"seed {seed}: {refuted[0]} is smaller than {verdict.smallest}"]
    smallest = tuple((verdict.smallest or {}).values())
    if smallest in known and known[smallest] is not Status.REFUTED:
        return [f"seed {seed}: {verdict.smallest} is not refuted"]
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plans", type=int, nargs="?", default=200)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--regions", action="store_true")
    kinds = parser.add_mutually_exclusive_group()
    for name in ("edges", "loops", "places", "alone"):
        kinds.add_argument(f"--{name}", dest="kind", action="store_const", const=name, default="")
    given = parser.parse_args()
    plans, first, kind, searches = given.plans, given.seed, given.kind, not given.regions
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    started = time.perf_counter()
    for seed in range(first, first + plans):
        try:
            found = compare(seed, counts, searches=searches, kind=kind)
        except Exception as error:  # a plan that stops the tool is a wrong answer too
            found = [f"seed {seed}: {type(error).__name__}: {error}"]
        wrong += found
        if (seed - first) % 20 == 19:
            said = f"... {seed - first + 1} plans, {counts['pairs']:,} pairs, {len(wrong)} wrong"
            print(said, file=sys.stderr, flush=True)
        for line in found:
            print(line, flush=True)
    print(f"{plans} plans, {time.perf_counter() - started:.0f} s")
    for name, count in sorted(counts.items()):
        print(f"  {count:8,} {name}")
    print(f"{len(wrong)} wrong answers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
