"""The pass over preconditions against all behind it: where it finds nothing, no command may make a mistake of ours.

    python tests/fuzz/preconditions.py --count 5000 --seed 2
    python tests/fuzz/preconditions.py --only 2-117      one plan again, with its text

Plans are drawn from the grammar: axes of any size or undeclared, mappings with any operator and number, places that a
memory has or not, bases, streams, printed commands, accesses and gathers. Exit code 1 after any failure.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import dmaverify as dv
from dmaverify.cli.entries import Chosen
from dmaverify.cli.priced import priced_entries
from dmaverify.errors import InputError, InputErrors
from dmaverify.jobs.derivation import derivation_text
from dmaverify.prove.limits import Exhausted, Limits, bounded
from dmaverify.prove.move.preconditions import meaningless
from dmaverify.verdict import OURS

SIZES = (0, 1, 2, 3, 4, 7, 8, 12, 16, 31, 64, 255, 256, 257, 4096, 65537, 1 << 24, 1 << 31, (1 << 53) + 1, 1 << 60)
NUMBERS = (0, 1, 2, 3, 4, 5, 8, 16, 63, 64, 256, 1000, 65536, 1 << 31, 1 << 62)
AXES = ("A", "B", "C", "D")
TIERS = ("hbm", "hbm", "dm", "dm", "spm", "host")
DTYPES = ("i8", "i8", "bf16", "f32", "i4")


def term(rng: random.Random, depth: int = 0) -> str:
    axis, number = rng.choice(AXES), rng.choice(NUMBERS)
    inner = f"({term(rng, depth + 1)}, {axis})" if depth < 2 and rng.random() < 0.1 else axis
    kind = rng.randrange(11)
    if kind == 0:
        return f"$({axis}:{number}, {rng.choice(AXES)}:{rng.choice(NUMBERS)})"
    if kind == 1:
        return str(number)
    written = ("", "", "", " / {}", " % {}", " # {}", " #{{0}} {}", " #{{!}} {}", " = {}", " @ {}")
    return inner + rng.choice(written).format(number)


def mapping(rng: random.Random) -> str:
    return ", ".join(term(rng) for _ in range(rng.choice((1, 1, 2, 2, 3))))


def tensor(rng: random.Random, plain: str) -> str:
    tier = rng.choice(TIERS)
    parts = [f'tier = "{tier}"', f'element = "{plain if rng.random() < 0.8 else mapping(rng)}"']
    parts += [f'{place} = "{mapping(rng)}"' for place in ("chip", "cluster", "slice") if rng.random() < 0.06]
    if rng.random() < 0.6:
        parts.append(f"base = {rng.choice(NUMBERS) * 64}")
    return "{ " + ", ".join(parts) + " }"


def drawn(rng: random.Random) -> str:
    """The text of a plan."""
    own = [axis for axis in AXES if rng.random() < 0.85]
    small = rng.random() < 0.5
    axes = ", ".join(f"{axis} = {rng.choice(SIZES[1:10] if small else SIZES)}" for axis in own)
    plain = ", ".join(rng.sample(own, rng.randrange(1, len(own) + 1))) if own else "1"
    kind = rng.choice(("transfer", "transfer", "transfer", "access", "gather"))
    time, _, packet = plain.rpartition(", ")
    stream = f'stream = {{ time = "{time or 1}", packet = "{packet}" }}' if rng.random() < 0.7 else (
        f'stream = {{ time = "{mapping(rng)}", packet = "{mapping(rng)}", slice = "{mapping(rng)}" }}')  # fmt: skip
    lines = [f'dtype = "{rng.choice(DTYPES)}"']
    if kind == "access":
        lines += [f'engine = "{rng.choice(("fetch", "commit"))}"', f"memory = {tensor(rng, plain)}", stream]
    else:
        lines += [f"source = {tensor(rng, plain)}", f"dest = {tensor(rng, plain)}"]
        if kind == "gather":
            lines += [f'index = {{ tier = "hbm", element = "{rng.choice(AXES)}", rows = [0, {rng.choice(NUMBERS)}] }}']
        loops = [rng.choice(NUMBERS[1:10]) for _ in range(rng.randrange(1, 4))]
        sides = ("[" + ", ".join(f"{n}:{rng.choice(NUMBERS)}" for n in loops) + f", {p}:1]:{p}" for p in (8, 8))
        printed = [f'{side} = "{text}"' for side, text in zip(("read", "write"), sides, strict=True)]
        lines += [stream] if kind == "gather" or rng.random() < 0.6 else printed
    return f'schema = 1\ntarget = "rngd"\naxes = {{ {axes} }}\n[{kind}.one]\n' + "\n".join(lines) + "\n"


def ways(plan: Any) -> dict[str, Callable[[], Any]]:
    """What is tried with a plan that has a meaning."""
    return {
        "check": lambda: dv.check(plan, options=dv.Options(cross_check=4096, timeout=10.0, memory=1 << 30)),
        "derive": lambda: derivation_text(plan, "one", explain=True, merge=True),
        "cost": lambda: list(priced_entries(plan, Chosen(), True)),
    }


def tried(text: str) -> tuple[str, list[str]]:
    """Whether the plan is `unread`, `meaningless` or `clean`, and what is wrong with what follows."""
    try:
        plan = dv.load(text)
    except (InputError, InputErrors):
        return "unread", []
    works = [(one.transfer, one.problems) for one in plan.transfers]
    works += [(one, one.problems) for one in (*plan.accesses, *plan.indirects)]
    if any(meaningless(work, plan.axes, plan.targets[work.target], stated) for work, stated in works):
        ours = [f"check: {f.rule}: {f.message}" for v in dv.check(plan) for f in v.findings if f.rule in OURS]
        return "meaningless", ours
    wrong = []
    for name, way in ways(plan).items():
        try:
            with bounded(Limits(20, 1 << 30)):
                found = way()
        except (InputError, InputErrors, Exhausted):
            continue
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
            continue
        if name == "check":
            wrong += [f"check: {f.rule}: {f.message}" for v in found for f in v.findings if f.rule in OURS]
    return "clean", wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="SEED-NUMBER")
    given = parser.parse_args()
    if given.only:
        text = drawn(random.Random(given.only))
        print(text, *tried(text), sep="\n")
        return 0
    kinds: Counter[str] = Counter()
    failed = 0
    for number in range(given.count):
        kind, wrong = tried(drawn(random.Random(f"{given.seed}-{number}")))
        kinds[kind] += 1
        failed += bool(wrong)
        for said in wrong:
            print(f"{given.seed}-{number}: {said[:300]}", flush=True)
    print(f"{given.count} plans: {dict(kinds)}; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
