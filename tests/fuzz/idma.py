"""Mutants and round trips of iDMA plans in every form: `python tests/fuzz/idma.py mutants 2000`, `... emit 10000`,
`... drivers 10000`, `... arguments 1000`, `... looped 1000`.

A mutant that moves other live bytes must not be proved; how often its wrong word is underlined is counted. What is
emitted is read back and must make the same transfers.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.idma import FORMS, Mutant, driver_with_arguments, moved, mutants, random_plan
from lab.looped_drivers import looped_driver, some_values

from dmaverify import api
from dmaverify.errors import InputError
from dmaverify.machines.idma.c.write import driver_of, read_again
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.forms import read_image, write_image
from dmaverify.machines.idma.jobs import request_options
from dmaverify.machines.idma.nd import Descriptor, Dim, starts
from dmaverify.machines.idma.setup import setup_of
from dmaverify.machines.idma.text import ToldDescriptor
from dmaverify.plan.read import InputErrors
from dmaverify.targets.target import load_target
from dmaverify.verdict import Severity, Status, Verdict


def judged(mutant: Mutant) -> tuple[str, bool]:
    """The status, and whether some error underlines the wrong word."""
    shift = mutant.plan.index('commands = """\n') + len('commands = """\n')
    try:
        (verdict,) = api.check(mutant.plan)
    except (InputErrors, InputError) as error:
        spans = [e.span for e in getattr(error, "errors", [error])]
        return "error", _meets(spans, mutant, shift)
    spans = [f.span for f in verdict.findings if f.severity is Severity.ERROR]
    labels = [x.span for f in verdict.findings if f.severity is Severity.ERROR for x in f.labels]
    return verdict.status.value, _meets([*spans, *labels], mutant, shift)


def harmless(mutant: Mutant) -> bool:
    """Whether running every unit shows that the move is kept: what differs is padding. No proof is asked."""
    seen = moved(mutant.text)
    return seen is not None and not seen[1] and not set(api.run(mutant.plan).broken) - {"core/consumes"}


def _meets(spans: list, mutant: Mutant, shift: int) -> bool:
    if mutant.at is None:
        return True
    start, end = mutant.at[0] + shift, mutant.at[1] + shift
    # a span of a whole launch is not the word
    return any(s is not None and s.start < end and start < s.end and s.end - s.start <= 40 for s in spans)


def run_mutants(count: int, seed: int = 1, each: int = 12) -> tuple[Counter, list[str]]:
    rng, told, wrong = random.Random(seed), Counter(), []
    while told["mutants"] < count:
        form = FORMS[told["plans"] % len(FORMS)]
        plan = random_plan(rng, form)
        told["plans"] += 1
        if plan is None:
            continue
        before, made = moved(plan.text), mutants(rng, plan)
        for _ in range(each):
            mutant = next(made)
            after = moved(mutant.text)
            if after == before:
                told["equivalent"] += 1
                continue
            status, underlined = judged(mutant)
            if status == "proved" and harmless(mutant):
                told["moves other padding alone"] += 1
                continue
            told["mutants"] += 1
            told[f"{form} mutants"] += 1
            told[status] += 1
            told["underlined"] += underlined
            told[f"{form} underlined"] += underlined
            if status == "proved":
                wrong.append(f"PROVED: {mutant.what}\n{mutant.plan}")
            elif not underlined:
                told[f"not underlined: {mutant.what.split(':')[0].split('`')[0]}"] += 1
                if "-v" in sys.argv:
                    print(f"--- not underlined ({status}) {mutant.what}\n{mutant.plan}")
            if told["mutants"] >= count:
                break
    return told, wrong


MOST = {"reg32_1d": 0, "reg32_2d": 1, "reg32_3d": 2, "reg64_1d": 0, "reg64_2d": 1, "inst64": 1, "desc64": 1}


def some_descriptor(rng: random.Random, form: str) -> Descriptor:
    wide = 1 << (62 if form.startswith("reg64") or form in ("desc64", "nd", "inst64") else 31)
    reach = 1 << (40 if form.startswith("reg64") or form in ("desc64", "nd") else 30)
    if form == "job":
        reach = 1 << 30
    dims = tuple(
        Dim(rng.randrange(1, 6), rng.randrange(-reach, reach), rng.randrange(-reach, reach))
        for _ in range(rng.randrange(MOST.get(form, 3) + 1))
    )
    request = Request(rng.randrange(wide), rng.randrange(wide), rng.randrange(1, 1 << 20))
    return Descriptor(request, dims)


def run_emit(count: int, seed: int = 1) -> list[str]:
    rng, wrong = random.Random(seed), []
    for number in range(count):
        form = FORMS[number % len(FORMS)]
        some = [some_descriptor(rng, form) for _ in range(rng.randrange(1, 4))]
        text = write_image(form, [ToldDescriptor(d, request_options(d.request)) for d in some])
        wide = 64 if form in ("nd", "desc64") or form.startswith("reg64") else 32
        image = read_image(text, width=wide)
        got = [p for t in image.told for p in starts(t.descriptor, 64).tolist()]
        if got != [p for d in some for p in starts(d, 64).tolist()]:
            wrong.append(text)
    return wrong


def run_drivers(count: int, seed: int = 1) -> list[str]:
    """Descriptors written as C and read again, for every front-end that has a driver."""
    rng, wrong = random.Random(seed), []
    target = load_target("idma")
    fronts = ("inst64", "desc64", "reg32_1d", "reg32_2d", "reg32_3d", "reg64_1d", "reg64_2d")
    setups = [setup_of(target, {"front_end": name, "address_width": 64}) for name in fronts]
    for number in range(count):
        setup = setups[number % len(setups)]
        some = [some_descriptor(rng, setup.front_end) for _ in range(rng.randrange(1, 4))]
        some = [replace(d, dims=d.dims if setup.front_end != "desc64" else ()) for d in some]
        told = [ToldDescriptor(d, request_options(d.request)) for d in some]
        try:
            text = driver_of(setup, told)
        except InputError:
            continue
        if [t.descriptor for t in read_again(setup, text)] != some:
            wrong.append(text)
    return wrong


def driver_verdict(text: str, folder: Path, **values: int) -> Verdict | None:
    """The verdict on a driver with some arguments known; None where it launches nothing."""
    (folder / "d.c").write_text(text)
    try:
        return verdict_of_file(
            str(folder / "d.c"), engine=["manticore"], defines=[f"{k}={v}" for k, v in values.items()]
        )
    except InputError as error:
        if "launches nothing" not in error.message:
            raise
        return None


def stands(condition: str, values: dict[str, int]) -> bool:
    """Whether the condition of a verdict holds at values; of what other names mean, it does not."""
    text = (
        condition.partition(": ")[2].translate(str.maketrans("[]", "()")).replace("^", "**").replace("always", "True")
    )
    text = text.replace("snrt_l1_next()", "l").replace("g->", "g_")
    known = {name.replace("g->", "g_"): value for name, value in values.items()}
    return any(_clause_stands(clause, dict(known)) for clause in text.split("; or "))


def _clause_stands(clause: str, known: dict[str, int]) -> bool:
    said, _, named = clause.partition(" where ")
    try:
        for one in reversed(named.split(", ") if named else []):  # a quotient of another one stands before it
            name, _, value = one.partition(" = ")
            known[name] = eval(value, {}, known)
        return bool(eval(f"({said})", {}, known))
    except (NameError, SyntaxError, ZeroDivisionError):
        return False


def run_arguments(count: int, seed: int = 1) -> tuple[Counter, list[str]]:
    """Drivers with arguments against the same drivers at constants."""
    rng, told, wrong = random.Random(seed), Counter(), []
    with tempfile.TemporaryDirectory() as name:
        for _ in range(count):
            text, ranges = driver_with_arguments(rng)
            found = driver_verdict(text, Path(name))
            if found is None:
                continue
            told[found.status.value + " if" * found.conditional] += 1
            points = [dict(zip(ranges, point, strict=True)) for point in itertools.product(*ranges.values())]
            for values in rng.sample(points, min(len(points), 24)):
                plain = driver_verdict(text, Path(name), **values)
                if plain is None or any("does not hold here" in o.why + o.by for o in plain.obligations):
                    continue
                said = found.status is Status.PROVED and all(stands(c, values) for c in found.conditions)
                told[f"{'said to hold' if said else 'not said'}: {plain.status.value}"] += 1
                if said and plain.status is Status.REFUTED:
                    wrong.append(f"{text}at {values}: {found.conditions}\n{plain.findings[0].message}")
                    break
    return told, wrong


def run_looped(count: int, seed: int = 1, points: int = 150) -> tuple[Counter, list[str]]:
    """Drivers of loops of any count against what they launch at values for which they are said to be right."""
    told, wrong = Counter(), []
    with tempfile.TemporaryDirectory() as name:
        for number in range(seed, seed + count):
            rng = random.Random(number)
            driver = looped_driver(rng)
            found = driver_verdict(driver.text, Path(name))
            if found is None:
                continue
            told[found.status.value + " if" * found.conditional] += 1
            if found.status is not Status.PROVED:
                continue
            said = [text for text in found.conditions if text.startswith("f(): ")]
            for values in (some_values(rng, bool(driver.arrays)) for _ in range(points)):
                if all(stands(text, values) for text in said):
                    told["runs of which it is said to hold"] += 1
                    why = driver.wrong_at(values)
                    if why:
                        wrong.append(f"{driver.text}drawn from {number}, at {values}: {why}\n{said}")
                        break
    return told, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("mutants", "emit", "drivers", "arguments", "looped"))
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    given = parser.parse_args()
    count, began = given.count, time.time()
    if given.what == "drivers":
        bad = run_drivers(count, given.seed)
        print(f"{count} drivers written and read again, {len(bad)} differ, {time.time() - began:.0f} s")
    elif given.what == "emit":
        bad = run_emit(count, given.seed)
        print(f"{count} emitted and read again, {len(bad)} differ, {time.time() - began:.0f} s")
    else:
        run = {"mutants": run_mutants, "arguments": run_arguments, "looped": run_looped}[given.what]
        counted, bad = run(count, given.seed)
        for key in sorted(counted):
            print(f"{counted[key]:7d}  {key}")
        print(f"{len(bad)} proved and wrong, {time.time() - began:.0f} s")
    for text in bad[:5]:
        print(text)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
