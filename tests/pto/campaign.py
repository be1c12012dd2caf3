"""Mutants of generated kernels: what is proved of them against what happens when they run, byte by byte.

    python tests/pto/campaign.py --kernels 2000 --seed 1
    python tests/pto/campaign.py --tiles --kernels 5000
    python tests/pto/campaign.py --loops --kernels 2000
    python tests/pto/campaign.py --equal --kernels 500

With --tiles: kernels on tiles, right ones and ones with a single fault, run cell by cell at several values of their
arguments: none is proved where a run finds trouble or cannot say, none refuted where none does, right ones are proved.

With --loops: kernels on tiles in loops of up to 100 rounds, which nobody calls right or wrong: none is proved where a
run finds trouble, none refuted where none does.

With --equal: every kernel against itself in the other surface, which must be PROVED, and against a mutant, which must
not be where a run of both leaves other bytes.

Prints how many agree, what was found how often, and every disagreement with its text; exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.basic_blocks import as_blocks
from lab.kernel_text import DrawnCopy, DrawnKernel
from lab.kernels import kernel_of, mutant_of
from lab.tile_kernels import TileKernel, faulty_tile_kernel, tile_kernel_of
from lab.tile_loops import looped_kernel_of

from dmaverify.api import check
from dmaverify.api import load as plan_of
from dmaverify.errors import Source
from dmaverify.execute.outcome import Beyond
from dmaverify.jobs.same_kernels import same_functions
from dmaverify.machines.pto import contested
from dmaverify.machines.pto.check import STANDARD, check_function, check_text
from dmaverify.machines.pto.execute import KernelMachine, run_kernel
from dmaverify.machines.pto.judged import settings_of
from dmaverify.machines.pto.meaning import meaning_of
from dmaverify.machines.pto.named import named_in
from dmaverify.machines.pto.ops import KernelFunction
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.replay import TROUBLE
from dmaverify.machines.pto.running import KernelRun
from dmaverify.machines.pto.surfaces import in_surface
from dmaverify.plan.notes import Notes, read_notes
from dmaverify.program.instructions import Shared
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.claims import judge_claim
from dmaverify.targets.target import load_target
from dmaverify.verdict import Severity, Status, Verdict

CATEGORY = TROUBLE | {
    "pto/n-burst": "field",
    "pto/len-burst": "field",
    "pto/loop-size": "field",
    "pto/gm-stride": "field",
    "pto/ub-stride": "field",
    "pto/pad-count": "field",
    "pto/cache-ctl": "field",
    "pto/ub-align": "align",
    "pto/ub-pitch": "align",
    "core/registers": "state",
}

CLAIMED = "the move that it should make"
WHOLE = 10  # every so many kernels are judged as the command judges them, under the other readings as well


@dataclass(frozen=True)
class Outcome:
    proved: frozenset[str]
    ran: frozenset[str]
    status: Status

    @property
    def agree(self) -> bool:
        if self.status is Status.UNKNOWN or "open" in self.ran:  # what no text says is known to neither
            return self.status is not Status.PROVED and "open" in self.ran
        if "field" in self.proved | self.ran:  # what a number beyond its field does is not defined
            return "field" in self.proved & self.ran
        return self.proved == self.ran


def outcome(kernel: DrawnKernel, number: int = 0, *, whole: bool = True) -> Outcome:
    """Of its text; two of four are written as basic blocks. `whole` tries the other readings as well."""
    text = kernel.text()
    text = as_blocks(text, turned=number % 4 == 3) if number % 2 else text
    if whole:
        (verdict,) = check_text(Source("kernel.mlir", text))
    else:
        with one_reading():
            function, notes = read(text)
            verdict = check_function(function, "kernel", notes, STANDARD)
    try:
        found = ran(text, tuple(kernel.tensors.items()), kernel.core).found
    except Beyond:
        found = {"open"}
    return Outcome(categories(verdict), frozenset(found), verdict.status)


@contextmanager
def one_reading() -> Iterator[None]:
    """Within it a verdict does not tell what other readings would change, which no comparison looks at."""
    most = contested.MOST_EVENTS
    contested.MOST_EVENTS = 0
    try:
        yield
    finally:
        contested.MOST_EVENTS = most


@lru_cache(maxsize=8)
def read(text: str) -> tuple[KernelFunction, Notes]:
    source = Source("kernel.mlir", text)
    whole, (function,) = read_kernels(source)
    return function, read_notes(source, whole.comments, 0, len(text))


@lru_cache(maxsize=8)
def ran(text: str, tensors: tuple[tuple[str, int], ...], core: tuple[Shared, ...] = ()) -> KernelRun:
    return run_kernel(read(text)[0], dict(tensors), others=core)


def categories(verdict: Verdict) -> frozenset[str]:
    return frozenset(CATEGORY.get(f.rule, f.rule) for f in verdict.errors)


def claim_of(kernel: DrawnKernel, mutant: DrawnKernel) -> str | None:
    """A plan that claims of the mutant's load what the kernel's load does; None for kernels in loops."""
    if kernel.body or kernel.core:
        return None
    load = next(p for p in kernel.before if isinstance(p, DrawnCopy))
    item, (inner, outer) = kernel.item, (*[n for n, _, _ in load.loops], 1, 1)[:2]
    columns, wide, pitch = load.length // item, load.gm_pitch // item, load.ub_pitch // item
    filled = columns if load.pad is None else -(-(load.length + load.pad[1] * item) // 32) * 32 // item
    kind = {2: "f16", 4: "f32"}[item]
    return "\n".join(
        [
            'schema = 1\ntarget = "pto"\n[axes]',
            f"B = {outer}\nA = {inner}\nR = {load.rows}\nC = {columns}\n[kernel.k]\ntext = '''\n{mutant.text()}'''",
            f'[[kernel.k.move]]\ncopies = [1]\ndtype = "{kind}"',
            f'source = {{ tier = "gm", base = 0, element = "B, A, R, C # {wide}" }}',
            f'dest = {{ tier = "ub", base = {load.ub}, element = "B, A, R, C #{{0}} {filled} # {pitch}" }}',
        ]
    )


def claim_agrees(kernel: DrawnKernel, mutant: DrawnKernel, *, whole: bool = True) -> bool | None:
    """Whether the claimed move of a mutant is refuted exactly where its bytes are not those of the kernel; without
    `whole` nothing but the claim is judged.
    """
    plan = claim_of(kernel, mutant)
    if plan is None or mutant.pads_any:  # a claim of zeros is refuted, whatever the run was given
        return None
    try:
        runs = [ran(one.text(), tuple(one.tensors.items())) for one in (kernel, mutant)]
    except Beyond:
        return None
    if "field" in runs[1].found or not runs[1].copies:
        return None
    if runs[1].found & {"capacity", "rows"} or runs[1].copies[0].number != 1:
        return None
    if whole:
        (verdict,) = check(plan)
        findings = verdict.errors
    else:
        function, notes = read(mutant.text())
        meant = meaning_of(function, settings_of(notes, {}))
        ((move,),) = (entry.moves for entry in plan_of(plan).kernels)
        asker = Asker(meant.world, STANDARD.rlimit)
        found = judge_claim(move, meant.events, meant.idle, asker, load_target("pto"), STANDARD)
        findings = [f for f in found.findings if f.severity is Severity.ERROR]
    refuted = any(label.text == CLAIMED for f in findings for label in f.labels)
    right, made = moved(runs[0]), moved(runs[1])
    load = next(p for p in kernel.before if isinstance(p, DrawnCopy))
    region = range(load.ub, load.ub + load.rows * load.ub_pitch * prod(n for n, _, _ in load.loops))
    wrong = any(made.get(at) != byte for at, byte in right.items()) or any(at not in region for at in made)
    wrong = wrong or any(byte >= kernel.tensors["src"] for byte in made.values())
    wrong = wrong or padded(kernel, runs[0]) != padded(kernel, runs[1])
    wrong = wrong or any(at not in region for at in padding(mutant))
    return refuted == wrong


def moved(run: KernelRun) -> dict[int, int]:
    """Which byte of the source the first copy put at each byte of the destination."""
    first = run.copies[0]
    return dict(zip(first.data.tolist(), first.reads.tolist(), strict=True))


def padded(kernel: DrawnKernel, run: KernelRun) -> list[int]:
    """Bytes that the first load of the kernel pads, as they are in the end; those that nothing wrote are -1."""
    memory = run.memory["ub"]
    return [int(memory.held[at]) if memory.state[at] == 1 else -1 for at in padding(kernel)]


def padding(kernel: DrawnKernel) -> list[int]:
    """Where the first load of the kernel pads."""
    load = next((p for p in kernel.before if isinstance(p, DrawnCopy) and p.kind == "load"), None)
    if load is None or load.pad is None:
        return []
    end = -(-(load.length + load.pad[1] * kernel.item) // 32) * 32
    rows = [load.ub + r * load.ub_pitch for r in range(load.rows)]
    for count, _, step in load.loops:
        rows = [at + step * i for i in range(count) for at in rows]
    return [at for r in rows for at in range(r + load.length, r + end)]


@dataclass(frozen=True)
class Equality:
    """What `equiv` says of a kernel in its other surface, and of a mutant; whether a run of the mutant differs."""

    other: str
    mutant: str
    changed: bool
    note: str
    texts: tuple[str, str, str]

    @property
    def right(self) -> bool:
        return self.other == "proved" and not (self.changed and self.mutant == "proved")


def equality(kernel: DrawnKernel, mutant: DrawnKernel) -> Equality:
    """Both questions about one kernel."""
    text = kernel.text()
    (function,) = named_in(Source("kernel.mlir", text))
    other = in_surface([function], "registers" if kernel.inline else "inline")
    (second,) = named_in(Source("other.mlir", other))
    (third,) = named_in(Source("mutant.mlir", mutant.text()))
    answer = same_functions(function, third).status
    runs = [run_kernel(f.function, kernel.tensors, others=kernel.core) for f in (function, third)]
    changed = any(
        not np.array_equal(getattr(runs[0].memory[m], part), getattr(runs[1].memory[m], part))
        for m in runs[0].memory
        for part in ("held", "state")
    )
    return Equality(same_functions(function, second).status, answer, changed, mutant.note, (text, other, mutant.text()))


@dataclass(frozen=True)
class TileOutcome:
    """The verdict on a kernel of tiles, what its runs find, and whether one of them cannot say."""

    note: str
    status: Status
    ran: frozenset[str]
    open: bool
    text: str
    refused: bool = False  # no run judges it: an operation takes no such operands, or a tile begins inside of a block
    judged: bool = True  # it was made right, or with a fault

    @property
    def agree(self) -> bool:
        if not self.judged:
            proved, refuted = self.status is Status.PROVED, self.status is Status.REFUTED
            return not (proved and (self.ran or self.open)) and (not refuted or bool(self.ran) or self.open)
        if self.status is Status.PROVED:
            return not self.ran and not self.open
        if self.status is Status.REFUTED:
            return bool(self.ran) or (self.refused and bool(self.note))
        return bool(self.note)


def tile_outcome(kernel: TileKernel) -> TileOutcome:
    verdict, found, open_, text = verdict_and_runs(kernel.text(), kernel.tensors, kernel.values)
    rules, words = (
        ("pto/operand-count", "pto/operand-types", "pto/product-shape"),
        ("addresses are mult", "elements of"),
    )
    refused = any(f.rule in rules or any(word in f.message for word in words) for f in verdict.errors)
    return TileOutcome(kernel.note, verdict.status, found, bool(open_), text, refused)


def verdict_and_runs(
    text: str, tensors: Mapping[str, int], tried: Sequence[Mapping[str, int]]
) -> tuple[Verdict, frozenset[str], str, str]:
    """The verdict on a text of one function, what its runs find, and why one of them cannot say."""
    source = Source("kernel.pto", text)
    (verdict,) = check_text(source)
    _, (function,) = read_kernels(source)
    found, open_ = set[str](), ""
    one_tile = any(said.endswith("are one tile") for said in verdict.conditions)
    for values in tried:
        machine = KernelMachine(function, tensors, values, {}, 0, ())
        machine.one_tile = one_tile
        try:
            machine.go()
        except Beyond as error:
            open_ = str(error) or "open"
        found |= machine.run.found  # also where the run ends too early
    return verdict, frozenset(found), open_, text


def looped_outcomes(count: int, seed: int) -> Iterator[TileOutcome]:
    """Of kernels on tiles in loops, but for those of too many accesses for a run."""
    rng = random.Random(seed)
    for _ in range(count):
        kernel = looped_kernel_of(rng)
        verdict, found, open_, text = verdict_and_runs(kernel.text, kernel.tensors, kernel.values)
        if "behind" not in open_:
            yield TileOutcome("in loops", verdict.status, found, bool(open_), text, judged=False)


def tile_outcomes(count: int, seed: int) -> Iterator[TileOutcome]:
    """Of kernels drawn with this seed, of which every fifth is right."""
    rng = random.Random(seed)
    for number in range(count):
        kernel = tile_kernel_of(rng)
        yield tile_outcome(faulty_tile_kernel(rng, kernel) if number % 5 else kernel)


def tile_campaign(outcomes: Iterable[TileOutcome], count: int, show: int) -> int:
    found: Counter[str] = Counter()
    bad = 0
    for number, got in enumerate(outcomes):
        ran = ", ".join(sorted(got.ran)) or ("open" if got.open else "nothing")
        found[f"{got.note or 'right'}: {got.status.value}, a run finds {ran}"] += 1
        bad += not got.agree
        if not got.agree and bad <= show:
            print(f"--- {number}: {got.note or 'right'}, {got.status.value}, a run finds {ran}\n{got.text}")
    print("\n".join(f"{n:>6,}  {name}" for name, n in sorted(found.items())))
    print(f"{bad:,} of {count:,} kernels on tiles do not agree")
    return int(bad > 0)


def equal_campaign(count: int, seed: int, show: int) -> int:
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    bad = 0
    for number in range(count):
        kernel = kernel_of(rng)
        got = equality(kernel, mutant_of(rng, kernel))
        found[f"other surface: {got.other}"] += 1
        found[f"mutant with {'other' if got.changed else 'the same'} bytes: {got.mutant}"] += 1
        if not got.right:
            bad += 1
            if bad <= show:
                print(f"--- {number}: {got.note}\nother surface {got.other}, mutant {got.mutant}")
                print("\n".join(got.texts))
    print("\n".join(f"{n:>6,}  {name}" for name, n in sorted(found.items())))
    print(f"{bad:,} wrong answers in {count:,} kernels")
    return int(bad > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5)
    parser.add_argument("--tiles", action="store_true", help="kernels on tiles")
    parser.add_argument("--loops", action="store_true", help="kernels on tiles in loops")
    parser.add_argument("--equal", action="store_true", help="compare kernels with each other")
    options = parser.parse_args()
    if options.equal:
        return equal_campaign(options.kernels, options.seed, options.show)
    if options.tiles:
        return tile_campaign(tile_outcomes(options.kernels, options.seed), options.kernels, options.show)
    if options.loops:
        return tile_campaign(looped_outcomes(options.kernels, options.seed), options.kernels, options.show)
    rng = random.Random(options.seed)
    found: Counter[str] = Counter()
    claims: Counter[bool | None] = Counter()
    bad = good = 0
    for number in range(options.kernels):
        kernel = kernel_of(rng)
        claimed = None
        if number % 10:
            mutant = mutant_of(rng, kernel)
            claimed, kernel = (kernel, mutant), mutant
        whole = number % WHOLE == 1
        agreed = claim_agrees(*claimed, whole=whole) if claimed else None
        claims[agreed] += 1
        if agreed is False and claims[False] <= options.show:
            print(f"--- {number}: the claim of {kernel.note} and its bytes disagree")
            print(kernel.text(), flush=True)
        got = outcome(kernel, number, whole=whole)
        found.update(got.ran or {"nothing"})
        if got.agree:
            good += 1
            continue
        bad += 1
        if bad <= options.show:
            print(f"--- {number}: {kernel.note}\nproved {sorted(got.proved)}, ran {sorted(got.ran)}, {got.status}")
            print(kernel.text(), flush=True)
    print(f"{good:,} of {options.kernels:,} agree, {bad:,} do not")
    print(", ".join(f"{name} {count}" for name, count in sorted(found.items())))
    print(f"claimed moves: {claims[True]:,} agree, {claims[False]:,} do not")
    return int(bad > 0 or claims[False] > 0)


if __name__ == "__main__":
    sys.exit(main())
