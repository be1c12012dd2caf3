"""Whether two PTO kernels do the same, event by event, or leave the same in global memory; runs of both are held
against it.

Knows: which arguments of two functions are one, the values that both texts allow, runs that follow contents.
Does not know: how a kernel is judged, what a run does.
Law: EQUAL is said of nothing less than every copy, flag, barrier and vector access of both, and the work between them.
What is left is said of kernels that are both proved, so that no order decides what stays, and of every value of their
arguments; with values that nobody states, or too many, nothing is said but a difference. A byte that one of them
computes and the other has from elsewhere is no difference: it is open.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod

import numpy as np

from dmaverify.errors import Disagreement, InputError
from dmaverify.execute.outcome import Beyond
from dmaverify.jobs.kernel_runs import holds, size_at
from dmaverify.machines.pto.check import check_function
from dmaverify.machines.pto.execute_contents import ContentRun, passed_over
from dmaverify.machines.pto.execute_terms import Terms, origin_of, tensor_bytes
from dmaverify.machines.pto.named import NamedFunction
from dmaverify.machines.pto.ops import OpaqueOp, deep
from dmaverify.machines.pto.replay import MOST_BYTES, UNSTATED
from dmaverify.machines.pto.supposed import barred
from dmaverify.machines.pto.work import NOBODY, work_of
from dmaverify.program.instructions import Copy
from dmaverify.prove.flow.same import Issued, same
from dmaverify.prove.options import Options
from dmaverify.prove.sameness import Sameness
from dmaverify.prove.smt import RLIMIT
from dmaverify.values import dataclass, replace
from dmaverify.verdict import Status

ROUNDED = "rounding makes no difference: both add the same to an element, in another order"
BY_EVENTS = "each copy and access against its own, in one order"
MOST_RUNS = 64
"""Values of arguments with which two kernels are run."""
FEW_RUNS = 6  # where these values are not all
HELD_RUNS, HELD_STATEMENTS = 2, 1 << 10  # with which a proof of all values is held against both texts
MOST_TOLD = 4096  # bytes that may differ, of which it is asked whether they surely do
MOST_FOLLOWED = 1 << 16  # accesses of all runs


@dataclass(frozen=True)
class _Number:
    """A number that both kernels are given: its names in each, the values it has (`high` None: nobody says)."""

    names: tuple[tuple[str, ...], tuple[str, ...]]
    low: int
    high: int | None
    told: str = ""  # what the machine calls it, of which it tells the value
    apart: bool = False  # whether the two texts state other values

    @property
    def count(self) -> int | None:
        return None if self.high is None else max(0, self.high - self.low + 1)

    @property
    def name(self) -> str:
        return (self.names[0] or self.names[1])[0]

    def some(self, count: int) -> Sequence[int]:
        """The first `count` of its values, the last one again where it has fewer."""
        return [self.low + k if self.high is None else min(self.low + k, self.high) for k in range(count)]


def same_functions(one: NamedFunction, other: NamedFunction, *, settled: bool = False) -> Sameness:
    """Whether two functions do the same; unknown where one holds what cannot be resolved. `settled`: no order that
    either allows leaves anything else, so that what waits for what is not compared. Raises Disagreement.
    """
    found = _by_events(one, other, settled=settled)
    ran = _with_some(one, other, HELD_RUNS, HELD_STATEMENTS) if found.status == "proved" else found
    if ran.status == "refuted" and found.status == "proved":
        shown = ", ".join(f"{name} = {value}" for name, value in (ran.witness or {}).items())
        raise Disagreement(f"`{one.name}` and `{other.name}` do the same, and runs of both part ({shown}): {ran.why}")
    return found


def _by_events(one: NamedFunction, other: NamedFunction, *, settled: bool) -> Sameness:
    try:
        kernels = [side.kernel(canonical=True) for side in (one, other)]
    except InputError as error:
        return Sameness("unknown", error.message, places=(error.span,) if error.span else ())
    first, second = kernels
    if list(first.roots.values()) != list(second.roots.values()) and len(first.roots) != len(second.roots):
        return Sameness("unknown", f"{len(first.roots)} pointer arguments against {len(second.roots)}")
    found = same(Issued(first.events, first.world, settled), Issued(second.events, second.world, settled))
    if found.status != "proved":
        return found
    lost = [r for kernel in kernels for r in kernel.remarks if r.kind == "unresolved"]
    if lost:
        return replace(found, status="unknown", why=lost[0].message, places=(lost[0].span,))
    scopes = [text for kernel in kernels for text in barred(kernel, RLIMIT)]
    supposed = tuple(dict.fromkeys([*first.conditions, *second.conditions, *scopes]))
    return _worked(replace(found, conditions=supposed), one, other, [*first.copies, *second.copies])


def _worked(found: Sameness, one: NamedFunction, other: NamedFunction, copies: Iterable[Copy]) -> Sameness:
    """Copies that are the same prove nothing of kernels that compute something else between them."""
    sides = [work_of(s.source, s.function, cube=s.on_cube) for s in (one, other)]
    left, right = (side.listed for side in sides)
    for (first, here), (second, there) in zip(left, right, strict=False):
        lost = NOBODY in " ".join(first)
        if first != second or lost:
            word = "takes a value that is not followed" if first == second else f"and {second[0]} are not the same work"
            why = f"the copies are the same, but {first[0]} {word}"
            return replace(found, status="unknown", why=why, places=(here, there))
    if len(left) != len(right):
        extra = max(left, right, key=len)[min(len(left), len(right))]
        why = f"the copies are the same, but only one kernel has this {extra[0][0]}"
        return replace(found, status="unknown", why=why, places=(extra[1],))
    pads = sides[0].pads | sides[1].pads
    if any(copy.fill is not None and copy.fill.value is None for copy in copies) and (len(pads) != 1 or NOBODY in pads):
        return replace(found, status="unknown", why="what the copies pad with is not known to be one value in both")
    return found


def same_left(one: NamedFunction, other: NamedFunction) -> Sameness:
    """Compares what both leave in the tensors behind their arguments, which are matched by their order."""
    sides = (one, other)
    if _kinds(one) != _kinds(other):
        return Sameness("unknown", "their arguments differ")
    if any(kind.space == "ub" for side in sides for _, kind, _ in side.function.args):
        return Sameness("unknown", "one works on a buffer that it is given")
    conditions: list[str] = []
    for side in sides:
        proved, why = settled_kernel(side)
        if why:
            return Sameness("unknown", why, places=(side.function.span,))
        conditions += proved
    found = same_functions(one, other, settled=True)
    found = replace(found, by=BY_EVENTS) if found.status == "proved" else left_by_runs(one, other)
    if found.status != "proved":
        return found
    ranges = [
        f"values are those that both texts state: {n.name} in {n.low}..{n.high}" for n in _numbers(sides) if n.apart
    ]
    return replace(found, conditions=tuple(dict.fromkeys([*conditions, *ranges, *found.conditions])))


def left_by_runs(one: NamedFunction, other: NamedFunction) -> Sameness:
    """What runs of both leave, with each value of their arguments."""
    sides = (one, other)
    numbers = list(_numbers(sides))
    counted, any_value = _split(numbers)
    found = Sameness("unknown")
    if all(n.count is not None for n in counted):
        every = product(*(n.some(n.count or 0) for n in counted))
        found = _with_values(sides, counted, every, any_value)
    if found.status != "unknown" or not (any_value or not found.why):
        return found
    tried = _with_some(one, other, FEW_RUNS)
    if tried.status != "proved":
        return tried
    said = ", ".join(n.name for n in numbers if n in any_value or n.count is None)
    why = f"values of {said} are too many to be run, or nobody states them; with some of them both leave the same"
    return Sameness("unknown", why)


def _with_some(one: NamedFunction, other: NamedFunction, count: int, most: int | None = None) -> Sameness:
    """What runs of both texts leave with a few values of their arguments."""
    sides = (one, other)
    if _kinds(one) != _kinds(other):
        return Sameness("unknown", "their arguments differ")
    numbers = list(_numbers(sides))
    return _with_values(
        sides, numbers, zip(*(n.some(count) for n in numbers), strict=True) if numbers else [()], (), most
    )


def _kinds(side: NamedFunction) -> list[str]:
    return [k.kind if k.kind == "pointer" else k.name for _, k, _ in side.function.args]


def _split(numbers: Sequence[_Number]) -> tuple[list[_Number], list[_Number]]:
    """The numbers whose values are run one by one, and arguments that stand for any value."""
    counted = [n for n in numbers if n.told or (n.count is not None and n.count <= MOST_RUNS)]
    if prod(n.count or 1 for n in counted) > MOST_RUNS:
        counted = [n for n in counted if n.told]
    return counted, [n for n in numbers if n not in counted]


def _with_values(
    sides: Sequence[NamedFunction],
    numbers: Sequence[_Number],
    every: Iterable[tuple[int, ...]],
    any_value: Sequence[_Number],
    most: int | None = None,
) -> Sameness:
    """What both leave with each of these values; `why` of the same is how many there are."""
    terms, ran, count = Terms(), 0, 0
    for chosen in _values(sides, numbers, every):
        found = _at(sides, chosen, terms, any_value, most)
        if found.status == "refuted":
            return replace(found, witness={n.name: v for n, v in zip(numbers, chosen[2], strict=True)})
        if found.status == "unknown":
            return found
        ran, count = ran + 1, max(count, found.copies)
        if terms.followed > MOST_FOLLOWED:
            why = f"{terms.followed:,} accesses of {ran} runs are more than are followed: state smaller ranges"
            return Sameness("unknown", why)
    if not ran:
        return Sameness("unknown", "no values meet what both state")
    return Sameness(
        "proved", f"{ran:,}" if numbers else "", conditions=(ROUNDED,) if terms.reordered else (), copies=count
    )


def told_left(found: Sameness) -> str:
    """What is said of two kernels that leave the same."""
    if found.by == BY_EVENTS:
        copies = f"{found.copies} cop{'y' if found.copies == 1 else 'ies'}"
        return f"both leave the same in gm ({copies}, every byte, whatever waits for what)"
    runs = f", with each of {found.why} values of their arguments" if found.why else ""
    return f"both leave the same in gm ({found.copies:,} bytes that either changes{runs})"


def settled_kernel(side: NamedFunction, allowed: Collection[str] = ()) -> tuple[Sequence[str], str]:
    """What it rests on that no order decides what a kernel leaves, and why that is not known (empty: it is); rules that
    are `allowed` say nothing of order.
    """
    verdict = check_function(side.function, side.name, side.notes, Options())
    if verdict is None:
        return (), f"{side.name} moves nothing"
    if verdict.status is not Status.PROVED or verdict.scope or side.notes.allow.keys() - set(allowed):
        return (), f"{side.name} is not proved (`check` says why), so that its order may decide what it leaves"
    if name := passed_over(side.function):
        return (), f"{side.name}: what {name} does is not followed"
    return verdict.conditions, f"{side.name} works with another core" if side.notes.core else ""


def _numbers(sides: Sequence[NamedFunction]) -> Iterator[_Number]:
    """The numbers that both are given: arguments by their order, what the machine tells by its name."""
    for at, (_, kind, _) in enumerate(sides[0].function.args):
        names = tuple((side.function.args[at][0].lstrip("%"),) for side in sides)
        if kind.kind != "int" or not any(_used(side, own[0]) for side, own in zip(sides, names, strict=True)):
            continue
        yield _number(sides, names, (0, 1) if kind.bits == 1 else None)
    told: dict[str, tuple[list[str], list[str]]] = {}
    least: dict[str, int] = {}
    for index, side in enumerate(sides):
        for stmt in deep(side.function.body):
            if isinstance(stmt, OpaqueOp) and stmt.least is not None:
                told.setdefault(stmt.what, ([], []))[index].append(stmt.results[0].lstrip("%"))
                least[stmt.what] = stmt.least
    for what, (first, second) in told.items():
        yield replace(_number(sides, (tuple(first), tuple(second)), None, least[what]), told=what)


def _number(
    sides: Sequence[NamedFunction], names: Sequence[tuple[str, ...]], known: tuple[int, int] | None, low: int = 0
) -> _Number:
    each = [
        [side.notes.ranges[n] for n in own if n in side.notes.ranges] for side, own in zip(sides, names, strict=True)
    ]
    stated = [*([known] if known else []), *each[0], *each[1]]
    lows, highs = [low if not stated else -(1 << 63), *(a for a, _ in stated)], [b for _, b in stated]
    apart = set(each[0]) != set(each[1])
    return _Number((names[0], names[1]), max(lows), min(highs, default=None), apart=apart)


def _used(side: NamedFunction, name: str) -> bool:
    span = side.function.whole or side.function.span
    text = side.source.text[span.start : span.end]
    return len(re.findall(rf"%{re.escape(name)}(?![\w$.\-])", text)) > 1


def _values(
    sides: Sequence[NamedFunction], numbers: Sequence[_Number], every: Iterable[tuple[int, ...]]
) -> Iterator[tuple[dict[str, int], dict[str, int], tuple[int, ...]]]:
    """Values of the arguments of both kernels that meet what both state, and the numbers they are."""
    for chosen in every:
        told = {n.told: value for n, value in zip(numbers, chosen, strict=True) if n.told}
        if any(value >= told.get(f"{what.removesuffix('idx')}num", value + 1) for what, value in told.items()):
            continue  # no block has a number beyond how many there are
        given: tuple[dict[str, int], dict[str, int]] = {}, {}
        for number, value in zip(numbers, chosen, strict=True):
            for names, own in zip(number.names, given, strict=True):
                own.update(dict.fromkeys(names, value))
        if all(holds(fact, own) for side, own in zip(sides, given, strict=True) for fact, _ in side.notes.relations):
            yield *given, chosen


def _at(
    sides: Sequence[NamedFunction],
    chosen: tuple[Mapping[str, int], Mapping[str, int], tuple[int, ...]],
    terms: Terms,
    any_value: Sequence[_Number],
    most: int | None,
) -> Sameness:
    """What both leave with one value of each number, and any of others."""
    tensors = [[n.lstrip("%") for n, kind, _ in s.function.args if kind.kind == "pointer"] for s in sides]
    sizes = [max(size_of(side, own[at], chosen[i]) for i, (side, own) in enumerate(zip(sides, tensors, strict=True)))
             for at in range(len(tensors[0]))]  # fmt: skip
    if sum(sizes) > MOST_BYTES:
        return Sameness("unknown", f"their tensors hold {sum(sizes):,} bytes: no run is made of so many")
    left = []
    for index, (side, own, given) in enumerate(zip(sides, tensors, chosen, strict=False)):
        try:
            run = ContentRun(side.function, dict(zip(own, sizes, strict=True)), given, {}, 0, ())  # type: ignore[arg-type]
            done, held = run.follow(terms, own, [name for n in any_value for name in n.names[index]], most)
        except Beyond as error:
            lost = f"nothing in a run gives `{error}` a value" if str(error)[:1] == "%" else f"{error} is not followed"
            return Sameness("unknown", f"{side.name}: {lost}")
        if done.found:
            return Sameness("unknown", f"{side.name}: a run finds {', '.join(sorted(done.found))}")
        left.append([held[name] for name in own])
    return _compared(left, tensors[0], terms)


def size_of(side: NamedFunction, name: str, values: object) -> int:
    """How many bytes the tensor behind an argument has."""
    assert isinstance(values, Mapping)
    kind = next(kind for given, kind, _ in side.function.args if given.lstrip("%") == name)
    return size_at(side.notes.extents.get(name), values) or kind.bytes or UNSTATED


def _compared(left: Sequence[Sequence[np.ndarray]], names: Sequence[str], terms: Terms) -> Sameness:
    """Byte by byte: the first that surely differs, else the first that may."""
    changed, open_ = 0, ""
    for at, (name, *both) in enumerate(zip(names, *left, strict=True)):
        before = tensor_bytes(at, len(both[0]))
        changed += int(((both[0] != before) | (both[1] != before)).sum())
        for byte in np.flatnonzero(both[0] != both[1])[:MOST_TOLD].tolist():
            ends = [int(side[byte]) for side in both]
            told = [_told(end, names) for end in ends]
            said = f"at %{name}, byte {byte:,} the first leaves {told[0]}, the second {told[1]}"
            if _apart(ends[0], ends[1], terms):
                return Sameness("refuted", said)
            open_ = open_ or f"{said}, which may be the same"
    return Sameness("unknown" if open_ else "proved", open_, copies=changed)


def _apart(one: int, other: int, terms: Terms) -> bool:
    """Whether two bytes differ with some contents of the tensors: both are told, or one lay where the other is not made
    of.
    """
    if origin_of(one) is not None and origin_of(other) is not None:
        return True
    for byte, made in ((one, other), (other, one)):
        if isinstance(origin_of(byte), tuple) and (of := terms.made_of(made)) is not None and byte not in of:
            return True
    return False


def _told(number: int, names: Sequence[str]) -> str:
    origin = origin_of(number)
    if origin is None:
        return "what it computes"
    return f"0x{origin:02x}" if isinstance(origin, int) else f"what lay at %{names[origin[0]]}, byte {origin[1]:,}"


def only_gm(tiers: Sequence[str]) -> None:
    """Raises InputError for a memory that no kernel leaves anything in."""
    for tier in tiers:
        if tier != "gm":
            raise InputError(f"a kernel leaves nothing in `{tier}`", None, "--tier gm: global memory")
