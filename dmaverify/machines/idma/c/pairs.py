"""Two functions of drivers: whether they do the same act by act, or leave the same between acts, for all arguments.

Knows: runs of both on plain numbers and on symbols that they share, launches as rows of bytes.
Does not know: C, what a memory holds (`left` says it of plain launches), command lines.
Law: `proved` is said where runs that stand for all values of the arguments launch the same on the same channels while
the same is complete, with the same calls between them; or where nothing is in flight at any call and at the end, and
the launches between two calls leave the same. With symbols, that is shown of launches that lie apart as ranges, by the
rows that they copy; of loops of any count, where as many rounds of both are the same, round by round. Where values are
left that no run stands for, it is said of the others, as a condition, if no run was another: it says how far the proof
goes, never where two that differ happen to agree. `refuted` is said of plain numbers at which both leave something
else, and nothing but launches could see it. What one of them leaves open is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from dmaverify.errors import InputError
from dmaverify.machines.idma.c.arguments import Arguments, Symbols
from dmaverify.machines.idma.c.driver import FunctionOfFile
from dmaverify.machines.idma.c.followed import ROUND, DriverAct, DriverRun, followed
from dmaverify.machines.idma.c.launch_rows import nest_of, phases_of, rows_of
from dmaverify.machines.idma.c.symbolic import ArgumentSearch, SymbolicRun
from dmaverify.machines.idma.engine import NO_ADDRESS
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import ToldDescriptor
from dmaverify.prove.sameness import Sameness
from dmaverify.prove.sizes.rounds import for_every_round
from dmaverify.prove.sizes.trace import Restart, Stuck, Trace
from dmaverify.values import dataclass, field, replace

ACT_BY_ACT = "each launch against its own, with the same complete before it"
BY_ROWS = "the rows of bytes that launches copy, which lie apart"
MOST_PAST = 6  # runs behind those that are proved
MOST_SHOWN = 32  # launches of runs at some values, to show a difference
NOT_RIGHT = "a launch that is not right for the engine"
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
    return plain[0] == plain[1] and _alike(nest_of(told[0], width), nest_of(told[1], width))


def _as_asked(told: ToldDescriptor) -> object:
    """All that a launch asks for besides addresses and lengths."""
    return replace(told.descriptor.request, src=0, dst=0, length=0)


def _same_rounds(one: DriverRun, other: DriverRun) -> bool:
    """Whether the rounds that stand for others are as many of as many, in loops that are looked at alike."""
    each = [[(r.count, r.begin, r.cut.turns, r.cut.points, r.cut.writes) for r in run.loops] for run in (one, other)]
    return each[0] == each[1]


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
        if act.launch is None and act.called not in ("return", ROUND):
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
    shown: int = 0  # launches of runs at some values
    said: str = ""  # why loops of any count are not the same
    apart: str = ""  # why some runs do not do the same act by act

    def _run(self, values: Mapping[str, int], *, generic: bool) -> SymbolicRun | None:
        done = super()._run(values, generic=generic)
        if done is None and not self.said:
            self.said = self._tried(values, generic=True).why
        return done

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
        self.apart = self.apart or why
        if one.loops or other.loops:
            if why or not _same_rounds(one, other):
                raise Stuck(why or "loops of another number of rounds")
            for_every_round(trace, one.loops)
        elif why:
            self._by_rows((one, other), setups, trace, why)
        supposed = conditions_of(one, other, act_by_act=not why)
        self.given |= dict.fromkeys(supposed)
        self.by |= {BY_ROWS if why else ACT_BY_ACT: None}
        self.most = max(self.most, len(one.image.told))
        return SymbolicRun("proved", arguments.values, trace.region(), len(one.image.told), looped=len(one.loops))

    def _both(self, arguments: Arguments) -> tuple[DriverRun, DriverRun]:
        assert self.other is not None
        one = followed(self.function, arguments, self.named_there)
        beside = Arguments(
            arguments.symbols, arguments.values, arguments.trace, generic=arguments.generic, cuts=arguments.cuts
        )
        try:
            other = followed(self.other, beside, self.named_there)
        except Restart as again:
            for loop in beside.loops:
                if again.name in (loop.number, loop.later):
                    loop.by_turns(again.by, "what is decided differs from round to round")
            raise
        finally:
            self.looped = [*arguments.loops, *beside.loops]
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
            phases = [phases_of(run, own, made) for run, own, made in zip(runs, both, setups, strict=True)]
            if len(phases[0]) != len(phases[1]):
                raise Stuck(why)
            for first, second in zip(*phases, strict=True):
                rows = [
                    rows_of([run.image.told[n] for n in numbers], made)
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
        symbols = Symbols(self.function.symbols.ranges)
        plain = self.at({}, symbols)
        if not symbols.known:
            return plain
        self.search()
        for run in self.runs:
            if run.status in ("proved", "stopped") or self.shown > MOST_SHOWN:
                continue
            found = self.at(run.values)
            symbols = self.function.symbols
            if found.status == "refuted" and symbols.known.keys() <= (symbols.parameters or frozenset()):
                shown = {name: f"{v:#x}" if name in self.function.symbols.pointers else v
                         for name, v in run.values.items()}  # fmt: skip
                return replace(found, witness={**({"arguments": shown} if shown else {}), **(found.witness or {})})
        left = next((run for run in self.runs if run.status not in ("proved", "stopped")), None)
        why = "" if left is None else self.said or left.why or self.apart or NOT_RIGHT
        clauses: list[str] = []
        if left is not None or not self.complete:
            self._past_proofs()
            clauses = [] if self.apart else self.conditions(self.proved())
            if not clauses:
                return Sameness("unknown", why or "the values of their arguments are too many ways to be looked at")
        if not any(run.status == "proved" for run in self.runs):
            return Sameness("unknown", "no value of their arguments is one that both admit")
        stated = (text.partition(" (line ")[0] for text in self.stated)
        said = "for all values of their arguments" if not clauses else "for these values of their arguments"
        self.given |= {f"{self.function.name}(): {'; or '.join(clauses)}": None} if clauses else {}
        return Sameness("proved", said, None, "; ".join(self.by), "functions",
                        conditions=tuple(dict.fromkeys((*self.given, *stated))), copies=self.most)  # fmt: skip

    def _past_proofs(self) -> None:
        """Runs at few values next to those that are proved: whether two that agree there differ behind."""
        known, tried = self.function.symbols.known, set[tuple[int, ...]]()
        stood = [run.region for run in self.runs if run.status in ("proved", "stopped") and run.region is not None]
        for run in self.proved():
            facts = () if run.region is None else run.region.facts
            for name in sorted({n for fact in facts for n in fact.poly.symbols & known.keys()}):
                near = ({**run.values, name: max(known[name].least, value)} for value in range(MOST_SHOWN))
                values = next((v for v in near if not any(one.holds(v) for one in stood)), None)
                if values is None or self.apart or len(tried) == MOST_PAST or tuple(values.values()) in tried:
                    continue
                tried.add(tuple(values.values()))
                self._tried(values, generic=False)

    def at(self, values: Mapping[str, int], symbols: Symbols | None = None) -> Sameness:
        """Both at plain numbers."""
        assert self.left is not None
        try:
            one, other = self._both(Arguments(symbols or self.function.symbols, dict(values), generic=False))
        except (Stuck, InputError) as error:
            return Sameness("unknown", str(error))
        if one.stopped or other.stopped:
            return Sameness("unknown", "an assertion does not hold")
        if symbols is not None and symbols.known:
            return Sameness("unknown", "some values of many")
        told = [*one.image.told, *other.image.told]
        width = max((self.setup_for(each).backend.address_width for each in told), default=64)
        self.shown += len(told)
        if symbols is None and len(told) > MOST_SHOWN and acts_apart(one, other, width):
            return Sameness("unknown", "more launches than are run to show a difference")
        return compared_runs(one, other, width, self.left)
