"""PTO kernels run with numbers: what every copy moves, where the bytes of each tensor come from, pipes over time.

Knows: the byte-wise run of a kernel, what its notes state, the parameters that copies are priced by.
Does not know: proofs, files, how pictures are drawn.
Law: an argument or an extent that nobody states is drawn and named as drawn; a run speaks of its own numbers alone;
what has no price takes no time and says so.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from dmaverify.cost.copy_figures import CopyFigures, copy_figures
from dmaverify.errors import InputError
from dmaverify.execute.order import members
from dmaverify.execute.outcome import Beyond, run_code
from dmaverify.jobs.kernel_prices import values_of
from dmaverify.language.numbers import Poly
from dmaverify.machines.pto.execute_contents import COMPUTED, FILLED, UNWRITTEN, OriginRun
from dmaverify.machines.pto.execute_terms import origin_of
from dmaverify.machines.pto.judged import other_machines
from dmaverify.machines.pto.named import NamedFunction, function_at, function_in_plan, functions_of
from dmaverify.machines.pto.replay import MOST_BYTES, TROUBLE, UNSTATED
from dmaverify.machines.pto.running import KernelRun, RunCopy, place_of
from dmaverify.plan.kernels import PlanKernel
from dmaverify.plan.plan import Plan
from dmaverify.report.timeline import Slot
from dmaverify.targets.target import Target
from dmaverify.values import dataclass

DRAWS, SPREAD, SHOWN = 1000, 64, 8
_SAYS = {COMPUTED: "computed", FILLED: "padding, or not known", UNWRITTEN: "nothing wrote it"}


@dataclass(frozen=True)
class RanKernel:
    """A run: the numbers it was given, which of them were drawn, bytes of its tensors, what happened or why nothing."""

    named: NamedFunction
    values: Mapping[str, int]
    drawn: tuple[str, ...]
    tensors: Mapping[str, int]
    run: KernelRun | None
    beyond: str

    @property
    def machine(self) -> Target:
        return self.named.function.target

    @property
    def broken(self) -> dict[str, str]:
        """What goes wrong first, by the rules that it breaks; a bound that nobody states is none."""
        found = {} if self.run is None else dict(self.run.wrong)
        if "extents" in self.drawn:
            found.pop("bounds", None)
        told = {kind: rule for rule, kind in reversed(list(TROUBLE.items()))}
        return dict(sorted((told.get(kind, kind), sight) for kind, sight in found.items()))

    @property
    def code(self) -> int:
        if self.run is None:
            return 3
        return run_code(self.broken, self.named.notes.expect)


def ran_kernels(path: str, given: Sequence[str] = ()) -> list[RanKernel]:
    """Every function of a file, or the one behind `::`, run once. Raises InputError."""
    found = [named for named in functions_of(path) if named.function.body]
    if not found:
        raise InputError(f"{path} holds no function to run")
    return [_ran(named, values_of(given)) for named in found]


def ran_of_plan(entry: PlanKernel, target: Target) -> RanKernel:
    """The kernel of a plan, run once on its machine. Raises InputError."""
    return _ran(function_in_plan(entry, target), {})


def run_in(plan: Plan) -> RanKernel:
    """The run of the one kernel of a plan. Raises InputError, also where it cannot be run."""
    (entry,) = plan.kernels
    return whole_run(ran_of_plan(entry, plan.targets[entry.target]), entry.name)


def whole_run(done: RanKernel, path: str) -> RanKernel:
    """The run. Raises InputError where there is none."""
    if done.run is None:
        raise InputError(f"{path} was not run: {done.beyond}", done.named.function.span)
    return done


def ran_kernel(path: str) -> RanKernel:
    """The one function that a path means, run. Raises InputError, also where it cannot be run."""
    named = function_at(path)
    return whole_run(_ran(named, {}), path)


def _ran(named: NamedFunction, given: Mapping[str, int]) -> RanKernel:
    notes = named.notes
    args = [(name.lstrip("%"), kind) for name, kind, _ in named.function.args]
    numbers = [name for name, kind in args if kind.kind != "pointer"]
    if unknown := sorted(set(given) - set(numbers)):
        known = ", ".join(numbers) or "none"
        raise InputError(f"{named.name} has no argument `{unknown[0]}`", named.function.span, f"it has {known}")
    values = _values(named, numbers, given)
    sizes = {
        name: size_at(notes.extents.get(name), values) or kind.bytes for name, kind in args if kind.kind == "pointer"
    }
    drawn = [name for name in numbers if name not in given]
    drawn += ["extents"] if not all(sizes.values()) else []
    tensors = {name: size or UNSTATED for name, size in sizes.items()}
    run, beyond = None, ""
    if sum(tensors.values()) > 32 * MOST_BYTES or min(tensors.values(), default=0) < 0:
        beyond = f"its tensors hold {sum(tensors.values()):,} bytes"
    else:
        try:
            run = OriginRun(named.function, tensors, values, {}, 0, notes.core).go()
        except Beyond as error:
            beyond = f"nothing in a run gives `{error}` a value" if str(error)[:1] == "%" else str(error)
    return RanKernel(named, values, tuple(drawn), tensors, run, beyond)


def _values(named: NamedFunction, numbers: Sequence[str], given: Mapping[str, int]) -> dict[str, int]:
    """A value of every argument that meets what the text states. Raises InputError where none is found."""
    notes, rng = named.notes, random.Random(0)
    for _ in range(DRAWS):
        ranges = {name: notes.ranges.get(name, (1, SPREAD)) for name in numbers}
        values = {n: given.get(n, rng.randint(low, min(high, low + SPREAD))) for n, (low, high) in ranges.items()}
        if all(low <= values[n] <= high for n, (low, high) in notes.ranges.items() if n in values) and all(
            holds(fact, values) for fact, _ in notes.relations
        ):
            return values
    raise InputError(
        f"no values of {', '.join(numbers)} were found that meet what {named.name} states", named.function.span,
        "give them: --set n=64,m=3",
    )  # fmt: skip


def holds(fact: Any, values: Mapping[str, int]) -> bool:
    at = size_at(fact.poly, values)
    if at is None:
        return True
    if fact.by is not None:
        return at % max(1, fact.by.constant or 1) == 0
    return {"ge": at >= 0, "le": at <= 0, "eq": at == 0, "ne": at != 0, "lt": at < 0, "gt": at > 0}[fact.op]


def size_at(said: int | Poly | None, values: Mapping[str, int]) -> int | None:
    """A stated sum of products at values; None where nothing is stated, or of a name that is no argument."""
    if said is None or isinstance(said, int):
        return said
    if any(name not in values for names in said.terms for name in names):
        return None
    return sum(factor * prod(values[n] for n in names) for names, factor in said.terms.items())


# ------------------------------------------------------------------------------------------ provenance


def origins_of(done: RanKernel) -> dict[str, list[tuple[int, int, str]]]:
    """For each tensor that the kernel writes: (first byte, last byte, where they come from), each as long as it can."""
    assert done.run is not None
    found = {}
    for name in done.tensors:
        place = place_of(name)
        memory = done.run.memory[place]
        written = np.zeros(len(memory.state), bool)
        for touch in (one for event in done.run.events for one in event.touched if one.writes and one.tier == place):
            written[touch.maybe[memory.has(touch.maybe)]] = True
        if written.any():
            found[name] = list(_segments(memory.held, np.flatnonzero(written), list(done.tensors)))
    return found


def _segments(held: np.ndarray, at: np.ndarray, names: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    here = held[at]
    goes_on = (np.diff(at) == 1) & (np.diff(here) == (here[1:] >= 0))
    cuts = [0, *(np.flatnonzero(~goes_on) + 1).tolist(), len(at)]
    for first, end in pairwise(cuts):
        origin = origin_of(int(here[first]))
        if isinstance(origin, tuple):
            name, low = names[origin[0]], origin[1]
            yield int(at[first]), int(at[end - 1]), f"{name} {low:,}..{low + end - first - 1:,}"
        else:
            yield int(at[first]), int(at[end - 1]), _SAYS[int(here[first])]


# ------------------------------------------------------------------------------------------ told


def iterations_of(copy: RunCopy) -> list[str]:
    """A copy step by step: one line for each round of the loops around its rows."""
    (source, at), (dest, to) = copy.ends
    count = copy.loops[0][0]
    rows = f"{count:,} row{'s' if count != 1 else ''} x {copy.row:,} B"
    outer = [(number, loop) for number, loop in enumerate(copy.loops[1:], 1) if loop[0] > 1]
    if not outer:
        return [f"{source} + {at:,} -> {dest} + {to:,}, {rows}"]
    lines = [("", at, to)]
    for number, (count, read, write) in reversed(outer):
        lines = [
            (f"{said}loop{number} iter {i}: ", a + i * read, b + i * write)
            for said, a, b in lines
            for i in range(count)
        ]
    return [f"{said}{source} + {a:,} -> {dest} + {b:,}, {rows}" for said, a, b in lines]


def told(done: RanKernel) -> tuple[str, dict[str, Any], int]:
    """(text, data, exit code) of a run."""
    data: dict[str, Any] = {"name": done.named.name, "kind": "kernel", "values": dict(done.values)}
    data |= {
        "drawn": list(done.drawn),
        "tensors": dict(done.tensors),
        "broken": list(done.broken),
        "sights": done.broken,
        "not_run": done.beyond,
    }
    numbers = [f"{n} = {v:,}{' (drawn)' if n in done.drawn else ''}" for n, v in done.values.items()]
    extents = ["extents that nobody states (drawn)"] if "extents" in done.drawn else []
    given = [*numbers, *(f"{n} of {size:,} bytes" for n, size in done.tensors.items()), *extents]
    lines = [done.named.name, f"  given     {', '.join(given) or 'nothing'}"]
    data["other_machines"] = [said for said, _ in other_machines(done.named.function, done.machine)]
    lines += [f"  machine   {said}" for said in data["other_machines"]]
    if done.run is None:
        return "\n".join([*lines, f"  not run   {done.beyond}"]), {**data, "copies": [], "origins": {}}, done.code
    copies, origins = done.run.copies, origins_of(done)
    steps = [f"line {c.line:<5}copy {c.number}: {said}" for c in copies for said in iterations_of(c)]
    moved = sum(len(c.reads) for c in copies)
    word, other = "copy" if len(copies) == 1 else "copies", len(done.run.events) - len(copies)
    lines.append(f"  ran       {len(copies):,} {word} of {moved:,} bytes, {other:,} accesses of other pipes")
    lines += _few([f"  {said}" for said in steps])
    for name, parts in origins.items():
        total = sum(high - low + 1 for low, high, _ in parts)
        lines.append(f"  {name}: {total:,} of {done.tensors[name]:,} bytes written")
        lines += _few([f"    {f'{low:,}..{high:,}':<22}{said}" for low, high, said in parts])
    lines += [f"  broken    {rule}: {sight}" for rule, sight in done.broken.items()]
    last = "Trouble shows in this run." if done.broken else "No trouble shows in this run; it says nothing of others."
    data |= {"copies": [{"line": c.line, "copy": c.number, "steps": iterations_of(c)} for c in copies[:1024]]}
    data |= {"origins": {n: [{"first": a, "last": b, "from": s} for a, b, s in p[:1024]] for n, p in origins.items()}}
    return "\n".join([*lines, "", last]), data, done.code


def _few(lines: list[str]) -> list[str]:
    more = len(lines) - SHOWN
    return lines if more <= 1 else [*lines[:SHOWN], f"    and {more:,} more"]


# ------------------------------------------------------------------------------------------ time


def slots_of_run(done: RanKernel) -> tuple[Slot, ...]:
    """Every access as early as its pipe and what it surely comes behind allow; rounds of loops within their copy."""
    assert done.run is not None
    figures = copy_figures(done.machine)
    slots: list[Slot] = []
    last: dict[str, Slot] = {}
    of: list[Slot] = []
    ends = np.zeros(len(done.run.events))
    for number, event in enumerate(done.run.events):
        known = members(done.run.order.known[number], number)
        latest = of[int(np.where(known, ends[:number], -1).argmax())] if known.any() else None
        behind = [slot for slot in (latest, last.get(event.lane)) if slot is not None]
        waits = max(behind, key=lambda slot: slot.end, default=None)
        start, copy = (waits.end if waits else 0.0), event.copy
        named = f"{number + 1}: copy {copy.number}, line {copy.line}" if copy else f"{number + 1}: access"
        cycles = _cycles(copy, figures) if copy else 0.0
        about: dict[str, Any] = {"moves": iterations_of(copy)[:SHOWN]} if copy else {"no price": "no figure is public"}
        slot = Slot(named, event.lane, start, start + cycles, about, waits.step if waits else None)
        of.append(slot)
        ends[number] = slot.end
        last[event.lane] = slot
        slots.append(slot)
        rounds = iterations_of(copy) if copy else []
        for at, said in enumerate(rounds if len(rounds) > 1 else ()):
            each = cycles / len(rounds)
            slots.append(Slot(said, event.lane, start + at * each, start + (at + 1) * each, {"share": "equal parts"}))
    return tuple(slots)


def _cycles(copy: RunCopy, figures: CopyFigures) -> float:
    """A copy by the parameters that `cost` prices it with: issue, bytes in UB, lines of global memory."""
    (source, _), (dest, _) = copy.ends
    kind = "local" if source == dest == "ub" else "load" if dest == "ub" else "store"
    rows = len(copy.reads) // copy.row
    held = rows * (copy.end if dest == "ub" else copy.row + -copy.row % 32)
    cycles = figures.issue + held / figures.buffer
    if kind == "local":
        return cycles
    line = figures.line
    far = (copy.reads if kind == "load" else copy.data).reshape(rows, copy.row)
    lines = int((far[:, -1] // line - far[:, 0] // line + 1).sum())
    return cycles + lines * line / figures.rates[kind]
