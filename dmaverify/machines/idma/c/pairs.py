"""Two functions of drivers: whether they do the same act by act, or leave the same between acts, for all arguments.

Knows: runs of both on plain numbers and on symbols that they share, launches as rows of bytes.
Does not know: C, what a memory holds (`left` says it of plain launches), command lines.
Law: `proved` is said where runs that stand for all values of the arguments launch the same on the same channels while
the same is complete, with the same calls between them; or where nothing is in flight at any call and at the end, and
the launches between two calls leave the same. With symbols, that is shown of launches that lie apart as ranges, by the
rows that they copy. `refuted` is said of plain numbers at which both leave something else, and nothing but launches
could see it. What one of them leaves open is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any

from dmaverify.errors import InputError
from dmaverify.language.numbers import Poly
from dmaverify.machines.idma.c.arguments import Arguments
from dmaverify.machines.idma.c.driver import FunctionOfFile
from dmaverify.machines.idma.c.followed import DriverAct, DriverRun, followed
from dmaverify.machines.idma.c.symbolic import ArgumentSearch, MayMeet, SymbolicRun
from dmaverify.machines.idma.engine import NO_ADDRESS
from dmaverify.machines.idma.nd import extent, placed
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import ToldDescriptor
from dmaverify.prove.sameness import Sameness
from dmaverify.prove.sizes.shadow import poly_of
from dmaverify.prove.sizes.trace import Stuck, Trace
from dmaverify.values import dataclass, field, replace

ACT_BY_ACT = "each launch against its own, with the same complete before it"
BY_ROWS = "the rows of bytes that launches copy, which lie apart"
MOST_ROWS = 1 << 12
ALONE = "nothing else touches the memory of a launch while it runs"
Left = Callable[[Sequence[DriverRun], Sequence[Sequence[int]]], Sameness]
"""What both leave in memory that make these launches of theirs, by their numbers, one after the other."""


def acts_apart(one: DriverRun, other: DriverRun, width: int) -> str:
    """Why two runs do not do the same act by act; empty where they do."""
    for first, second in zip(one.acts, other.acts, strict=False):
        if (first.launch is None) != (second.launch is None):
            return f"{_told(first)} stands against {_told(second)}"
        if first.launch is None and not _same_call(first, second):
            return f"{_told(first)} stands against {_told(second)}"
        if first.complete != second.complete:
            return f"other launches are complete before {_told(first)}"
        if first.launch is not None and not _same_launch(one, other, first.launch, width):
            return f"launch {first.launch} copies something else"
    return "" if len(one.acts) == len(other.acts) else "one does more"


def _told(act: DriverAct) -> str:
    return f"`{act.called}`" if act.launch is None else f"launch {act.launch}"


def _same_call(one: DriverAct, other: DriverAct) -> bool:
    return one.called == other.called and _alike(one.given, other.given)


def _alike(one: object, other: object) -> bool:
    """Whether two values that are given are one; of symbols, where both are as they are."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return isinstance(one, str) == isinstance(other, str) and bool(one == other)


def _same_launch(one: DriverRun, other: DriverRun, number: int, width: int) -> bool:
    told = one.image.told[number], other.image.told[number]
    plain = [(t.channel, t.errors, dict(t.options), _as_asked(t)) for t in told]
    return plain[0] == plain[1] and _alike(_nest(told[0], width), _nest(told[1], width))


def _as_asked(told: ToldDescriptor) -> object:
    """All that a launch asks for besides addresses and lengths."""
    return replace(told.descriptor.request, src=0, dst=0, length=0)


def _nest(told: ToldDescriptor, width: int) -> tuple[Any, ...]:
    """Where a launch begins, its length, and the loops that run again."""
    d = told.descriptor
    dims = tuple((x.reps, x.src_stride, x.dst_stride) for x in placed(d, width) if x.reps != 1)
    return d.request.src, d.request.dst, 0 if d.empty else d.request.length, dims


# ---------------------------------------------------------------- between acts


def parts_of(run: DriverRun) -> Iterator[tuple[DriverAct, list[int]]]:
    """Each call, and the end, with the launches since the one before it."""
    since: list[int] = []
    for act in run.acts:
        if act.launch is not None:
            since.append(act.launch)
        else:
            yield act, since
            since = []


def unsettled(run: DriverRun) -> str:
    """Which launch may still run where something else may see it; empty where none does."""
    launched = 0
    for act in run.acts:
        lasting = [n for n in range(launched) if n not in act.complete] if act.launch is None else []
        if lasting:
            where = "where it ends" if act.called == "return" else f"where `{act.called}` is called"
            return f"launch {lasting[0]} of {run.name}() may still run {where}"
        launched += act.launch is not None
    return ""


def calls_apart(one: DriverRun, other: DriverRun) -> str:
    """Why what both call besides is not the same; empty where it is."""
    calls = [[act for act in run.acts if act.launch is None] for run in (one, other)]
    for first, second in zip(*calls, strict=False):
        if not _same_call(first, second):
            return f"{_told(first)} stands against {_told(second)}"
    return "" if len(calls[0]) == len(calls[1]) else "one calls more than the other"


def conditions_of(one: DriverRun, other: DriverRun, *, act_by_act: bool) -> tuple[str, ...]:
    """What is taken to be so of all that is not read."""
    out = dict.fromkeys((*one.conditions, *other.conditions))
    for act in one.acts:
        if act.launch is None and act.called != "return":
            out[f"{act.called} is the same in both files"] = None
    if not act_by_act or any(a.before != b.before for a, b in zip(one.acts, other.acts, strict=True)):
        out |= dict.fromkeys(f"no launch is in flight when {name}() begins" for name in {one.name, other.name})
    if not act_by_act:
        out[ALONE] = None
    return tuple(out)


def compared_runs(one: DriverRun, other: DriverRun, width: int, left: Left) -> Sameness:
    """Whether two runs on plain numbers do the same, or leave the same."""
    for run in (one, other):
        if run.open:
            return Sameness("unknown", f"{run.name}(): {run.open}", places=(run.span,) if run.span else ())
    why = acts_apart(one, other, width)
    if not why:
        supposed = conditions_of(one, other, act_by_act=True)
        return Sameness("proved", "", None, ACT_BY_ACT, "functions", conditions=supposed, copies=len(one.image.told))
    said = calls_apart(one, other) or unsettled(one) or unsettled(other)
    if said:
        return Sameness("unknown", f"{why}; {said}" if said != why else why)
    supposed = conditions_of(one, other, act_by_act=False)
    parts = [[own for _, own in parts_of(run)] for run in (one, other)]
    for both in zip(*parts, strict=True):
        found = left((one, other), both)
        if found.status == "unknown" or (found.status == "refuted" and len(parts[0]) > 1):
            said = "" if len(parts[0]) == 1 else ", which what is called behind it may see"
            return Sameness("unknown", f"{why}; {found.why}{said}", found.witness)
        if found.status == "refuted":
            return replace(found, kind="functions")
        supposed = tuple(dict.fromkeys([*supposed, *found.conditions]))
    return Sameness("proved", "both leave the same in memory", None, found.by, "functions", conditions=supposed)


# ---------------------------------------------------------------- with symbols


@dataclass
class PairSearch(ArgumentSearch):
    """All values of the arguments of two functions, looked at by runs that stand for many."""

    other: FunctionOfFile | None = None
    named_there: Sequence[str] = ()
    left: Left | None = None
    given: dict[str, None] = field(default_factory=dict)  # what both rest on
    by: dict[str, None] = field(default_factory=dict)
    most: int = 0  # launches of a run

    def _run(self, values: Mapping[str, int], *, generic: bool) -> SymbolicRun | None:
        return self._tried(values, generic=False)

    def _launched(self, arguments: Arguments, trace: Trace) -> SymbolicRun:
        one, other = self._both(arguments)
        if one.stopped or other.stopped:
            return SymbolicRun("stopped", arguments.values, trace.region())
        opened = next((f"{run.name}(): {run.open}" for run in (one, other) if run.open), "")
        if opened:
            raise Stuck(opened)
        setups = [[self.setup_for(told) for told in run.image.told] for run in (one, other)]
        width = max((setup.backend.address_width for own in setups for setup in own), default=64)
        why = acts_apart(one, other, width)
        if why:
            self._by_rows((one, other), setups, trace, why)
        supposed = conditions_of(one, other, act_by_act=not why)
        self.given |= dict.fromkeys(supposed)
        self.by |= {BY_ROWS if why else ACT_BY_ACT: None}
        self.most = max(self.most, len(one.image.told))
        return SymbolicRun("proved", arguments.values, trace.region(), len(one.image.told))

    def _both(self, arguments: Arguments) -> tuple[DriverRun, DriverRun]:
        assert self.other is not None
        beside = Arguments(arguments.symbols, arguments.values, arguments.trace, generic=False)
        one = followed(self.function, arguments, self.named_there)
        other = followed(self.other, beside, self.named_there)
        arguments.stated |= beside.stated
        return one, other

    def _by_rows(
        self, runs: tuple[DriverRun, DriverRun], setups: Sequence[Sequence[Setup]], trace: Trace, why: str
    ) -> None:
        """Raises Stuck where it is not shown that both leave the same."""
        said = calls_apart(*runs) or unsettled(runs[0]) or unsettled(runs[1])
        if said:
            raise Stuck(f"{why}; {said}")
        for run, own in zip(runs, setups, strict=True):
            for told, setup in zip(run.image.told, own, strict=True):
                if {told.descriptor.request.src_protocol, told.descriptor.request.dst_protocol} & NO_ADDRESS:
                    raise Stuck("a side without addresses")
                self._keeps_rules(trace, told, setup, run.image.facts)
        for both in zip(*([own for _, own in parts_of(run)] for run in runs), strict=True):
            phases = [_phases(run, own, made) for run, own, made in zip(runs, both, setups, strict=True)]
            if len(phases[0]) != len(phases[1]):
                raise Stuck(why)
            for first, second in zip(*phases, strict=True):
                rows = [
                    _rows([run.image.told[n] for n in numbers], made)
                    for run, numbers, made in zip(runs, (first, second), setups, strict=True)
                ]
                if rows[0] != rows[1]:
                    raise Stuck(why)

    def beside(self) -> Sameness | None:
        """A proof for all values at some of them, on plain numbers; None where there is nothing to hold against it."""
        some = next((run for run in self.runs if run.status == "proved"), None)
        return None if some is None else replace(self.at(some.values), witness=some.values)

    def answer(self) -> Sameness:
        """What all runs come to; plain numbers at which they differ are run again."""
        plain = self.at({})
        if not self.function.symbols.known:
            return plain
        self.search()
        for run in self.runs:
            if run.status in ("proved", "stopped"):
                continue
            found = self.at(run.values)
            symbols = self.function.symbols
            if found.status == "refuted" and symbols.known.keys() <= (symbols.parameters or frozenset()):
                shown = {name: f"{v:#x}" if name in self.function.symbols.pointers else v
                         for name, v in run.values.items()}  # fmt: skip
                return replace(found, witness={**({"arguments": shown} if shown else {}), **(found.witness or {})})
        why = next((run.why for run in self.runs if run.status not in ("proved", "stopped")), "")
        if why or not self.complete:
            return Sameness("unknown", why or "the values of their arguments are too many ways to be looked at")
        if not any(run.status == "proved" for run in self.runs):
            return Sameness("unknown", "no value of their arguments is one that both admit")
        stated = (text.partition(" (line ")[0] for text in self.stated)
        said = "for all values of their arguments"
        return Sameness("proved", said, None, "; ".join(self.by), "functions",
                        conditions=tuple(dict.fromkeys((*self.given, *stated))), copies=self.most)  # fmt: skip

    def at(self, values: Mapping[str, int]) -> Sameness:
        """Both at plain numbers."""
        assert self.left is not None
        try:
            one, other = self._both(Arguments(self.function.symbols, dict(values), generic=False))
        except (Stuck, InputError) as error:
            return Sameness("unknown", str(error))
        if one.stopped or other.stopped:
            return Sameness("unknown", "an assertion does not hold")
        told = [*one.image.told, *other.image.told]
        width = max((self.setup_for(each).backend.address_width for each in told), default=64)
        return compared_runs(one, other, width, self.left)


def _phases(run: DriverRun, numbers: Sequence[int], setups: Sequence[Setup]) -> list[list[int]]:
    """Launches that lie apart, however they are ordered: all of them, else those between two waits for all. Raises
    MayMeet.
    """
    try:
        _lie_apart(run, numbers, setups)
        return [list(numbers)]
    except MayMeet:
        pass
    out: list[list[int]] = []
    complete = {act.launch: act.complete for act in run.acts}
    for number in numbers:
        if not out or all(n in complete[number] for n in numbers if n < number):
            out.append([])
        out[-1].append(number)
    for phase in out:
        _lie_apart(run, phase, setups)
    return out


def _lie_apart(run: DriverRun, numbers: Sequence[int], setups: Sequence[Setup]) -> None:
    sides = {}
    for n in numbers:
        d, width = run.image.told[n].descriptor, setups[n].backend.address_width
        sides[n] = extent(d, "read", width), extent(d, "write", width)
        _apart(sides[n], sides[n])
    for one, other in combinations(numbers, 2):
        _apart(sides[one], sides[other], writes=True)


def _apart(one: Any, other: Any, *, writes: bool = False) -> None:
    pairs = [(one[0], other[1]), (one[1], other[0]), *([(one[1], other[1])] if writes else [])]
    for first, second in pairs:
        if not (first.end <= second.low or second.end <= first.low):
            raise MayMeet("two launches may share memory")


def _rows(told: Sequence[ToldDescriptor], setups: Sequence[Setup]) -> dict[tuple[Any, ...], int]:
    """What launches copy: rows by where they begin, those that follow each other on both sides as one, how often."""
    rows: list[tuple[Poly, Poly, Poly]] = []
    nests: dict[tuple[Any, ...], int] = {}
    for one in told:
        width = max(setup.backend.address_width for setup in setups)
        src, dst, length, dims = _nest(one, width)
        counts = [reps for reps, _, _ in dims]
        if any(not isinstance(reps, int) for reps in counts) or prod(counts) + len(rows) > MOST_ROWS:
            polys = tuple(tuple(map(poly_of, dim)) for dim in dims)
            key = (poly_of(src), poly_of(dst), poly_of(length), polys)
            nests[key] = nests.get(key, 0) + 1
            continue
        starts = [(poly_of(src), poly_of(dst))]
        for reps, far, wide in reversed(dims):
            steps = poly_of(far), poly_of(wide)
            starts = [(a + steps[0].scaled(i), b + steps[1].scaled(i)) for a, b in starts for i in range(reps)]
        rows += [(a, b, poly_of(length)) for a, b in starts]
    begins = {(a, b): n for a, b, n in rows}
    if len(begins) < len(rows):
        raise MayMeet("two rows begin at one place")
    ends = {(a + n, b + n): (a, b) for (a, b), n in begins.items()}
    for at in [at for at in begins if at not in ends or ends[at] == at]:
        while (behind := (at[0] + begins[at], at[1] + begins[at])) in begins and behind != at:
            begins[at] = begins[at] + begins.pop(behind)
    return {(*at, n): 1 for at, n in begins.items()} | nests
