"""Faults planted in the kernels of the corpus, one at a time: none that a run shows may be proved.

    python tests/pto/planted.py --seed 1 --each 60

For each kernel so many of all faults that its text offers (no limit: 0). Prints what became of them by kind of fault,
and every text that is proved although a run finds something, in tensors as large as the proof supposes; exits with 1
if there is one.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dmaverify.errors import InputError, Source
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto import contested
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.plan.notes import Notes, read_notes
from dmaverify.verdict import Status, Verdict

CORPUS = Path(__file__).parent / "corpus"
LARGE = 1 << 20  # bytes of a tensor whose extent nobody states, where the verdict supposes none either
HUGE = 1 << 26  # the largest tensor that is made
SECONDS = 0.5  # for one run

Put = Callable[[re.Match[str]], str]


def _number(by: Callable[[int], int]) -> Put:
    return lambda m: f"{m[1]}{by(int(m[2]))}{m[3]}"


def _without(m: re.Match[str]) -> str:
    del m
    return ""


_CONSTANT = r"(arith\.constant )(-?\d+)( : i(?:64|32|ndex))"
_FLAG = r"\[(<?\"?PIPE_)(\w+?)(\"?>?), (<?\"?PIPE_)(\w+?)(\"?>?),"
_LOAD = r"^ *pto\.(?:mte_gm_ub|copy_gm_to_ubuf|dma_load)\b[^\n]*(?:\n *[:%][^\n]*)*\n"
_STORE = r"^ *pto\.(?:mte_ub_gm|copy_ubuf_to_gm|dma_store)\b[^\n]*(?:\n *[:%][^\n]*)*\n"
_LINE = r"^ *pto\.{0}\b[^\n]*\n"


def _instead(new: str) -> Put:
    return lambda m: m[0].replace(m[1], new, 1)


_WORK = r"^( *pto\.(?:mte|sync\.wait)[^\n]*\n(?: *:[^\n]*\n)?)( *pto\.sync\.set[^\n]*\n)"


def _swapped(m: re.Match[str]) -> str:
    return m[2] + m[1]


KINDS: dict[str, tuple[str, Put]] = {
    "a constant one more": (_CONSTANT, _number(lambda n: n + 1)),
    "a constant one less": (_CONSTANT, _number(lambda n: n - 1)),
    "a constant 32 more": (_CONSTANT, _number(lambda n: n + 32)),
    "a constant 32 less": (_CONSTANT, _number(lambda n: n - 32)),
    "a constant twice": (_CONSTANT, _number(lambda n: 2 * n)),
    "a constant halved": (_CONSTANT, _number(lambda n: n // 2)),
    "a constant four times (bytes for elements)": (_CONSTANT, _number(lambda n: 4 * n)),
    "a constant a quarter (elements for bytes)": (_CONSTANT, _number(lambda n: n // 4)),
    "a constant 0": (_CONSTANT, _number(lambda n: 0)),
    "a constant negative": (_CONSTANT, _number(lambda n: -n)),
    "a constant beyond 21 bits": (_CONSTANT, _number(lambda n: n + (1 << 21))),
    "a constant beyond 32 bits": (_CONSTANT, _number(lambda n: n + (1 << 32))),
    "no set": (_LINE.format(r"set_flag(?:_dyn)?"), _without),
    "no wait": (_LINE.format(r"wait_flag(?:_dyn)?"), _without),
    "a set twice": (_LINE.format(r"set_flag(?:_dyn)?"), lambda m: m[0] * 2),
    "a wait twice": (_LINE.format(r"wait_flag(?:_dyn)?"), lambda m: m[0] * 2),
    "pipes of a flag swapped": (_FLAG, lambda m: f"[{m[1]}{m[5]}{m[3]}, {m[4]}{m[2]}{m[6]},"),
    "another first pipe": (_FLAG, lambda m: f"[{m[1]}{'V' if m[2] != 'V' else 'MTE3'}{m[3]}, {m[4]}{m[5]}{m[6]},"),
    "another second pipe": (_FLAG, lambda m: f"[{m[1]}{m[2]}{m[3]}, {m[4]}{'V' if m[5] != 'V' else 'MTE2'}{m[6]},"),
    "another id": (r"(EVENT_ID)(\d)()", _number(lambda n: (n + 1) % 8)),
    "an id that is another in every round": (r"_flag_dyn\[.*?(%\w+)\]", _instead("%c1")),
    "no barrier": (_LINE.format(r"(?:pipe_)?barrier"), _without),
    "a barrier of one pipe": (r"PIPE_(ALL)", _instead("MTE3")),
    "no buffer taken": (_LINE.format(r"get_buf(?:_dyn)?"), _without),
    "no buffer released": (_LINE.format(r"rls_buf(?:_dyn)?"), _without),
    "no load": (_LOAD, _without),
    "no store": (_STORE, _without),
    "a load twice": (_LOAD, lambda m: m[0] * 2),
    "a store twice": (_STORE, lambda m: m[0] * 2),
    "strides of a burst swapped": (r"nburst\((%\w+), (%\w+), (%\w+)\)", lambda m: f"nburst({m[1]}, {m[3]}, {m[2]})"),
    "count and stride swapped": (r"nburst\((%\w+), (%\w+), (%\w+)\)", lambda m: f"nburst({m[2]}, {m[1]}, {m[3]})"),
    "strides of a loop swapped": (r"loop\((%\w+), (%\w+), (%\w+)\)", lambda m: f"loop({m[1]}, {m[3]}, {m[2]})"),
    "no loop size": (_LINE.format(r"set_loop_size_\w+"), _without),
    "no loop stride": (_LINE.format(r"set_loop[12]_stride_\w+"), _without),
    "loop registers of the other direction": (r"pto\.set_loop\w+_(outtoub)", _instead("ubtoout")),
    "no padding": (r" pad\([^)]*\)", _without),
    "a sum for a product": (r"arith\.(muli)\b", _instead("addi")),
    "a difference for a sum": (r"arith\.(addi)\b", _instead("subi")),
    "a quotient for a remainder": (r"arith\.(remui)\b", _instead("divui")),
    "the greater for the less": (r"arith\.(minui|minsi)\b", _instead("maxsi")),
    "a quotient rounded up": (r"arith\.(divui)\b", _instead("ceildivui")),
    "one more in a comparison": (r"cmpi (slt|ult)", _instead("sle")),
    "a narrow integer": (r"index_cast %\w+ : index to (i64|i32)", _instead("i8")),
    "a greater range": (r"(assume %\w+ in \d+\.\.)(\d+)()", _number(lambda n: 2 * n + 1)),
    "fewer lanes": (r"(PAT_ALL)", _instead("PAT_VL8")),
    "another distribution": (r"(NORM_B32|NORM_B16)", _instead("BRC_B32")),
    "another offset of a load": (r"vlds %\w+\[(%\w+)\]", _instead("%c1")),
    "another offset of a store": (r"vsts %\w+, %\w+\[(%\w+)\]", _instead("%c1")),
    "another buffer": (r"castptr (%\w+) : i64", _instead("%c0_i64")),
    "no wait for the other core": (_LINE.format(r"sync\.wait"), _without),
    "no release": (_LINE.format(r"sync\.set"), _without),
    "a release by another pipe": (r"sync\.set <PIPE_(\w+)>", _instead("V")),
    "a wait by another pipe": (r"sync\.wait <PIPE_(\w+)>", _instead("V")),
    "a release of another flag": (r"(sync\.set <PIPE_\w+>, )(\d+)()", _number(lambda n: n + 1)),
    "a wait for another flag": (r"(sync\.wait <PIPE_\w+>, )(\d+)()", _number(lambda n: n + 1)),
    "a release before the work": (_WORK, _swapped),
}


@dataclass(frozen=True)
class Planted:
    """A text with a fault of some kind."""

    name: str
    kind: str
    text: str


def faults_of(path: Path) -> Iterator[Planted]:
    """Every fault of every kind that a text offers."""
    text = path.read_text(encoding="utf-8")
    for kind, (pattern, put) in KINDS.items():
        for match in re.finditer(pattern, text, re.MULTILINE):
            changed = text[: match.start()] + put(match) + text[match.end() :]
            if changed != text:
                yield Planted(path.stem, kind, changed)


def answers_of(text: str) -> tuple[str, str]:
    """The status of a text (refused where it cannot be read), and what runs of it found (open where none can run)."""
    source = Source("planted.mlir", text)
    try:
        verdicts = check_text(source)
        whole, functions = read_kernels(source)
    except InputError:
        return "refused", "open"
    notes = read_notes(source, whole.comments, 0, len(text))
    kernels = [f for f in functions if not f.called]
    if len(kernels) != 1 or len(verdicts) != 1:
        return "refused", "open"
    args = [(n.lstrip("%"), kind.bytes) for n, kind, _ in kernels[0].args if kind.kind == "pointer"]
    supposed = {name: asked_of(name, verdicts[0]) for name, size in args if not size and name not in notes.extents}
    tensors = {name: notes.extents.get(name) or size or min(supposed[name] or LARGE, HUGE) for name, size in args}
    found, ran = set(), 0
    for values in _values(notes):
        if found and verdicts[0].status is not Status.PROVED:
            break  # it is known to be faulty, and not passed
        with suppress(TimeoutError):  # it may come late, while the clock is being stopped
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            try:
                found |= run_kernel(kernels[0], tensors, values, others=notes.core).found
                ran += 1
            except (Beyond, TimeoutError, KeyError, MemoryError, ZeroDivisionError):
                continue
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    if max(supposed.values(), default=0) > HUGE:
        found.discard("bounds")  # no tensor as large as the verdict supposes is made
    status = verdicts[0].status
    return status.value, ", ".join(sorted(found)) or ("nothing" if ran else "open")


def asked_of(name: str, verdict: Verdict) -> int:
    """The bytes that a verdict supposes of a tensor; 0 where it names no number."""
    found = [re.match(rf"`{re.escape(name)}` holds at least ([\d,]+) bytes", said) for said in verdict.conditions]
    return max([int(m[1].replace(",", "")) for m in found if m], default=0)


def _values(notes: Notes) -> Iterator[Mapping[str, int]]:
    """Values at both ends of the stated ranges, and next to them."""
    for pick in (lambda a, b: a, lambda a, b: min(a + 1, b), lambda a, b: (a + b) // 2, lambda a, b: b):
        yield {name: pick(low, high) for name, (low, high) in notes.ranges.items()}
        if not notes.ranges:
            return


def _late(*_: object) -> None:
    raise TimeoutError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=60)
    parser.add_argument("--part", default="1/1", help="of the kernels: the first of two is 1/2")
    options = parser.parse_args()
    signal.signal(signal.SIGVTALRM, _late)
    contested.MOST_EVENTS = 0  # what other readings would change is not asked here
    rng = random.Random(options.seed)
    table: Counter[tuple[str, str]] = Counter()
    bad = total = 0
    part, parts = map(int, options.part.split("/"))
    for path in sorted(CORPUS.glob("*.mlir"))[part - 1 :: parts]:
        planted = list(faults_of(path))
        for one in rng.sample(planted, min(options.each or len(planted), len(planted))):
            status, ran = answers_of(one.text)
            shown = "faulty" if ran not in ("nothing", "open") else ran
            table[shown, status] += 1
            total += 1
            if status == Status.PROVED.value and shown == "open":
                print(f"{one.name}: {one.kind}, proved, and no run ends", file=sys.stderr)
            if status == Status.PROVED.value and shown == "faulty":
                bad += 1
                print(f"--- {one.name}: {one.kind}, proved although a run finds {ran}\n{one.text}", flush=True)
        print(f"{path.stem}: {total:,} faults so far, {bad:,} proved", file=sys.stderr, flush=True)
    for (shown, status), count in sorted(table.items()):
        print(f"{count:>6,}  a run finds {shown}: {status}")
    print(f"{bad:,} of {total:,} planted faults are proved")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
