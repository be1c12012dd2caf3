"""Functions of a driver whose arguments are not known: for which values the engine is told what is right.

Knows: runs of a function on symbolic arguments, the rules of the engine on what they launch, launches that lie apart.
Does not know: statements of C, verdicts, how they are shown.
Law: at all values of a proved region the function launches the same calls in the same order, every rule that is an
error holds of each, and none meets what an earlier one still does. Launches that are not shown to lie apart as ranges
are open, never proved. A value that breaks a rule is run again on plain numbers by whoever says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from dmaverify.errors import InputError
from dmaverify.language.numbers import Poly
from dmaverify.machines.idma.c.arguments import PLACE, USUAL, Arguments, KnownArray, Misaligned, polynomial
from dmaverify.machines.idma.c.arrays import ReachedArrays, beside_stated, sides_of
from dmaverify.machines.idma.c.conditions import Clauses, fixes, modes, named_in, strongest, told_clause
from dmaverify.machines.idma.c.driver import FunctionOfFile
from dmaverify.machines.idma.c.launches import FunctionLaunches
from dmaverify.machines.idma.derive import descriptor_facts
from dmaverify.machines.idma.nd import placed
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import ToldDescriptor
from dmaverify.prove.sizes.complete import outside_all
from dmaverify.prove.sizes.divisors import traced
from dmaverify.prove.sizes.facts import SizeRegion, Template
from dmaverify.prove.sizes.rounds import LoopCut, Recut, for_every_round
from dmaverify.prove.sizes.rules import BrokenRule, RulePlace, SizedRules
from dmaverify.prove.sizes.shadow import number_of, value_of
from dmaverify.prove.sizes.trace import Restart, Stuck, Trace
from dmaverify.targets.modules import Derived
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field, replace

MOST_RUNS, MOST_RESTARTS, MOST_CLAUSES = 40, 24, 3
MOST_BESIDE = 20  # runs that begin at values of another one, with one changed
MOST_STEPS = 30_000  # of all runs
MOST_TOLD = 6  # values in which two runs differ
LAST_FACTS = 40  # of a run that are made to differ
FEW_RUNS = 6  # where some values are broken or open, and others proved, so that a condition is all there is to find


SetupFor = Callable[[ToldDescriptor], Setup]


@dataclass(frozen=True, slots=True)
class SymbolicRun:
    """One run: `proved`, `broken`, `stopped` by an assertion, or `open`; and the values that run alike."""

    status: str
    values: Mapping[str, int]
    region: SizeRegion | None = None
    launches: int = 0
    why: str = ""
    looped: int = 0  # parts of loops that stand for any number of rounds
    reached: ReachedArrays | None = None  # arrays that its launches begin in


@dataclass
class ArgumentSearch:
    """All values of the arguments of a function, looked at by runs that stand for many."""

    function: FunctionOfFile
    target: Target
    setup_for: SetupFor
    readings: Mapping[str, str]
    laid: Sequence[tuple[KnownArray, int]] = ()  # arrays whose address the user gave
    runs: list[SymbolicRun] = field(default_factory=list)
    stated: dict[str, None] = field(default_factory=dict)
    supposed: dict[str, None] = field(default_factory=dict)  # in the runs, beside what they state
    assumed: dict[str, None] = field(default_factory=dict)
    flown: list[FunctionLaunches] = field(default_factory=list)  # what was launched, of every run that was followed
    complete: bool = False
    looped: Sequence[object] = ()  # loops of any count in the last run
    indexed: bool = False  # a round of them chose an element
    reached: ReachedArrays | None = None  # arrays that the launches of the last run begin in

    @property
    def template(self) -> Template:
        """The symbols so far, for questions about regions."""
        symbols = tuple(self.function.symbols.known.values())
        return Template("driver", self.function.name, "", 0, "idma", None, symbols, (), (), _no_entry, self.target)

    def search(self) -> None:
        """Runs until all values are looked at, one cannot be followed, or the runs are used up."""
        symbols = self.function.symbols
        values: Mapping[str, int] | None = {}
        for number in range(MOST_RUNS):
            if values is None or self.function.steps > MOST_STEPS:
                return
            run = self._run(values, generic=True) or self._run(values, generic=False)
            assert run is not None
            self.runs.append(run)
            if run.region is None and number > 1:
                return
            values = {name: symbols.usual(name, backwards=True) for name in symbols.known}
            if number or self._held(values):
                values = self._beside()
            if values is None and (number + 1 < FEW_RUNS or not {one.status for one in self.runs} & {"broken", "open"}):
                values = self._next()

    def _held(self, values: Mapping[str, int]) -> bool:
        """Whether a run stands for these values, as far as those that it has not met go."""
        return any(run.region is not None and run.region.holds(values) for run in self.runs)

    def _beside(self) -> Mapping[str, int] | None:
        """The values of a run with one changed, so that what was decided last is another way: of one that is proved,
        few rounds and odd numbers; before there is one, of the run that went furthest. None where no run is left to
        be found so.
        """
        known, proved = self.function.symbols.known, self.proved()
        if len(self.runs) > MOST_BESIDE:
            return None
        usual = {name: self.function.symbols.usual(name) for name in known}
        begun = proved[:2] or sorted(self.runs, key=lambda one: -len(one.values))
        for run in begun:
            if run.region is None:
                continue
            for fact in reversed(run.region.facts[-LAST_FACTS * (10 if proved else 1) :]):
                for name in sorted(fact.poly.symbols & known.keys() - self.function.symbols.pointers):
                    for value in (*range(6), USUAL + 1, 2 * USUAL) if proved else (0, 1, 2, 2 * USUAL, USUAL * USUAL):
                        one = known[name]
                        tried = {**usual, **run.values, name: max(one.least, min(value, one.most or value))}
                        if not SizeRegion((fact,), run.region.floors).holds(tried) and not self._held(tried):
                            return tried
        return None

    def _next(self) -> Mapping[str, int] | None:
        """Values that no run stands for."""
        template = self.template
        answer = outside_all(template, [run.region for run in self.runs if run.region is not None])
        self.complete = answer.status == "unsat"
        return dict(answer.model) if answer.status == "sat" else None

    # ------------------------------------------------------------ one run

    def _run(self, values: Mapping[str, int], *, generic: bool) -> SymbolicRun | None:
        """One run; None of one with loops of any count that shows nothing."""
        done = self._tried(values, generic=generic)
        if self.indexed and (done.region is None or fixes(done.region.facts, self.function.symbols.known)):
            other = self._tried(values, generic=generic, taking_turns=False)
            done = other if other.status == "proved" else done
        return None if generic and self.looped and done.status != "proved" else done

    def _tried(self, values: Mapping[str, int], *, generic: bool, taking_turns: bool = True) -> SymbolicRun:
        divisors: dict[str, Poly] = {}
        self.indexed = False
        known, cuts = dict(values), dict[tuple[int, int], LoopCut]()
        for _ in range(MOST_RESTARTS):
            ends = {one.name: (one.least, one.most) for one in self.function.symbols.known.values() if one.least >= 0}
            if any(name not in ends for name in divisors):
                return SymbolicRun("open", known, why=f"which multiple {' and '.join(divisors)} is, below 0 too")
            try:
                trace = traced(known, tuple(divisors.items()), generic=False, ends=ends)
            except Stuck as error:
                return SymbolicRun("open", known, why=str(error))
            arguments = Arguments(self.function.symbols, known, trace, generic=generic, cuts=cuts)
            arguments.taking_turns, self.looped = taking_turns, arguments.loops
            try:
                done = self._launched(arguments, trace)
            except Misaligned as error:
                if error.name in values:
                    return SymbolicRun("open", known, trace.region(), why=str(error))
                self.function.symbols.pointers.add(error.name)
                known[error.name] = PLACE
                continue
            except Recut as other:
                cuts[other.cut.key] = other.cut
                continue
            except Restart as again:
                loop = next((one for one in arguments.loops if again.name in (one.number, one.later)), None)
                if loop is not None:
                    try:
                        loop.by_turns(again.by, "what is decided differs from round to round")
                    except Recut as other:
                        cuts[other.cut.key] = other.cut
                        continue
                    except Stuck as error:
                        return SymbolicRun("open", known, trace.region(), why=str(error))
                divisors[again.name] = divisors.get(again.name, Poly.of(1)) * again.by
                continue
            except BrokenRule as error:
                return SymbolicRun("broken", known, trace.region(error.facts), reached=self.reached)
            except Stuck as error:
                return SymbolicRun("open", known, trace.region(), why=str(error))
            except (ValueError, TypeError, ZeroDivisionError, InputError, AttributeError) as error:
                return SymbolicRun("open", known, why=f"arguments do not go through here: {error}")
            self.stated |= arguments.stated
            return done
        return SymbolicRun("open", known, why="too many divisibilities at once")

    def _launched(self, arguments: Arguments, trace: Trace) -> SymbolicRun:
        try:
            found = self.function.run(arguments)
        finally:
            self.indexed = self.indexed or arguments.indexed
        if found is None and arguments.loops:
            raise Stuck("an assertion of a round does not hold")
        if found is None:
            return SymbolicRun("stopped", arguments.values, trace.region())
        if found.doubts:
            first = found.doubts[0]
            why = f"`{first.part}`: {first.why}"
            return SymbolicRun("open", arguments.values, trace.region(), why=why)
        self.supposed |= dict.fromkeys(found.supposed)
        self.assumed |= dict.fromkeys(found.assumed)
        self.flown.append(found)
        image = found.image
        for told in image.told:
            self._points(told)
        setups = [self.setup_for(told) for told in image.told]
        reached = ReachedArrays(self.function.symbols.arrays, sides_of(image.told, setups))
        reached.find(trace)
        reached.find_members(trace, found.members, found.pointees)
        self.reached = reached
        beside = beside_stated(image.told, setups, self.laid)
        for number, (told, setup) in enumerate(zip(image.told, setups, strict=True)):
            stays = (*beside[number].facts, *reached.facts(number, partial(number_of, trace)))
            self._keeps_rules(trace, told, setup, [*image.facts, *stays])
        own, known = self.function.symbols, self.function.symbols.known.keys()
        loaded = known - own.chosen - own.places - (own.parameters or frozenset())
        unasked = reached.unasked(trace, found.members, loaded)
        self.supposed |= dict.fromkeys(one.condition for one in unasked)
        reached.are_there(trace, arguments.gone, arguments.kept)
        reached.lie_apart(image, setups)
        for_every_round(trace, arguments.loops)
        return SymbolicRun("proved", arguments.values, trace.region(), len(image.told), looped=len(arguments.loops))

    def _points(self, told: ToldDescriptor) -> None:
        """Arguments that an address begins at are pointers, whatever their type."""
        request = told.descriptor.request
        counts = polynomial(request.length)
        for poly in filter(None, (polynomial(request.src), polynomial(request.dst))):
            one = [
                name for name in poly.symbols if poly.terms.get((name,)) == 1 and name in self.function.symbols.known
            ]
            self.function.symbols.pointers |= {n for n in one if counts is None or n not in counts.symbols}

    def _keeps_rules(self, trace: Trace, told: ToldDescriptor, setup: Setup, more: Sequence[Derived]) -> None:
        """Every rule that is an error holds of a launch. Raises BrokenRule."""
        facts = list(trace.facts.values())
        d = told.descriptor
        if d.empty:
            raise BrokenRule("idma/zero-length", list(trace.facts.values()))
        dims = placed(d, setup.backend.address_width)
        request = d.request
        every = [*descriptor_facts(setup, request.src, request.dst, request.length, dims, "", promised=False), *more]
        structure = list(trace.facts.values())
        rules = SizedRules(
            trace, self.target, self.readings, "dma", ("mem", "mem"), self.target.limits, facts, structure
        )
        rules.hold([RulePlace(one.scope, _Ports(getattr(one.values, "raw", one.values)), one.side) for one in every])

    # ------------------------------------------------------------ what comes out

    def happens(self, run: SymbolicRun) -> bool:
        """Whether somebody may give the values of a run: a caller those of parameters and of what lies behind them, an
        allocator places that lie apart, one of the cores the number 0. Others may be values that nobody ever gives.
        """
        symbols = self.function.symbols
        own = set(symbols.parameters or ()) | symbols.chosen
        own |= {name for name in symbols.cores if run.values.get(name) == 0}
        usual = ({name: symbols.usual(name, backwards=way) for name in symbols.known} for way in (False, True))
        laid = sorted((run.values[name], one.bytes) for name, one in symbols.arrays.items() if name in run.values)
        apart = all(begin + long <= end for (begin, long), (end, _) in pairwise(laid))
        if apart and any(all(run.values.get(name) == one[name] for name in symbols.places) for one in usual):
            own |= symbols.places
        used = named_in(run.region.facts, run.region) if run.region is not None else set[str]()
        plain = run.status == "broken" and run.region is not None
        if (used & symbols.known.keys() if plain else symbols.known.keys()) <= own:
            return True
        return self.complete and all(one.status in ("broken", "stopped") for one in self.runs)

    def proved(self) -> list[SymbolicRun]:
        return [run for run in self.runs if run.status == "proved" and run.launches]

    def conditions(self, right: Sequence[SymbolicRun]) -> list[str]:
        """Values for which some runs stand, each a conjunction; none that fixes an argument, but beside others a flag.
        Of what differs from round to round a run knows two rounds, so that all that are told have to be of such.
        """
        every, symbols = [run.region for run in self.runs if run.region is not None], self.function.symbols.known
        chosen = modes(every, symbols)
        several = {name: one for name, one in symbols.items() if name not in chosen}
        regions = (run.region for run in self.runs if run.status in ("proved", "stopped") and run.region is not None)
        every_symbol = tuple(symbols.values())
        known = [replace(one, facts=tuple(strongest(one.facts, one.floors, every_symbol))) for one in regions]
        clauses, told, rounds = Clauses(self.template, known), list[SizeRegion](), True
        each = ""
        of = [(run, run.region, fixes(run.region.facts, symbols)) for run in right if run.region is not None]
        for run, region, one_value in sorted(of, key=lambda one: (one[2], -one[0].looped)):
            if len(told) == MOST_CLAUSES:
                break
            if (each and not run.looped) or (one_value and fixes(region.facts, several)):
                continue
            found = clauses.of(region, run.values)
            if one_value and not told and fixes(found.facts, symbols):  # a flag that no other run leaves open
                continue
            if named_in(found.facts, found) & self.function.symbols.unpromised:
                continue
            if run.looped and named_in(found.facts, found) & self.function.symbols.each:
                if not rounds:
                    continue
                each = "in any two rounds of a loop, "
            told = clauses.joined(told, found)
            rounds &= bool(run.looped)
        return [f"{each}{told_clause(told[0])}", *map(told_clause, told[1:])] if told else []

    def plain(self, run: SymbolicRun) -> FunctionLaunches | None:
        """The function on the plain numbers of a run."""
        try:
            found = self.function.run(Arguments(self.function.symbols, dict(run.values)))
        except Stuck:
            return None
        if found is None or found.doubts:
            return None
        given = ", ".join(
            f"{name} = {value:#x}" if name in self.function.symbols.pointers else f"{name} = {value}"
            for name, value in run.values.items()
        )
        sides = sides_of(found.told, [self.setup_for(told) for told in found.told])
        facts = [list[Derived]() for _ in found.told]
        if run.reached is not None:
            reached = replace(run.reached, sides=sides)
            facts = [[*reached.facts(number, run.values.__getitem__, value_of)] for number in range(len(facts))]
        told = tuple(replace(one, facts=tuple(own)) for one, own in zip(found.told, facts, strict=True))
        return replace(found, name=f"{found.name}({given})", told=told)


@dataclass(frozen=True, slots=True)
class SettledFunction:
    """A function on plain numbers that stand for others; `condition` says for which, where not for all."""

    shown: FunctionLaunches
    condition: str = ""


def settled(
    search: ArgumentSearch, broken: Callable[[FunctionLaunches], bool], *, launching: bool = True
) -> SettledFunction | None:
    """What a function with arguments is judged by; None where that is open. `broken` judges plain numbers alone; that
    one which launches, by calls (`launching`) or in some run, launches nothing at some values is no answer.
    """
    search.search()
    launching = launching or any(one.told for one in search.flown)
    proved = search.proved()
    right = proved or [run for run in search.runs if run.status == "proved"]  # of what launches nothing, too
    shown: FunctionLaunches | None = None
    for run in right:  # one that launches where its rounds do
        if (found := search.plain(run)) is not None and (shown is None or found.told):
            shown = found
        if shown is not None and (shown.told or not run.launches):
            break
    if shown is not None:
        if search.complete and all(run.status in ("proved", "stopped") for run in search.runs):
            return SettledFunction(shown)
        clauses = search.conditions(proved if launching else right)
        if clauses:
            return SettledFunction(shown, f"{search.function.name}(): {'; or '.join(dict.fromkeys(clauses))}")
    for run in search.runs:
        found = search.plain(run) if run.status in ("broken", "open") else None
        if found is not None and broken(found):
            if search.happens(run) and (not proved or search.stated or search.function.symbols.ranges):
                return SettledFunction(found)
            if shown is not None or not any(one.status == "open" and one.why for one in search.runs):
                why = f"it is wrong as {found.name}" if shown is None else _apart(run, proved or right)
                search.runs.insert(0, replace(run, why=why))
            break
    return None


@dataclass(frozen=True, slots=True)
class _Ports:
    values: Mapping[str, Any]

    def __call__(self, only: object) -> Mapping[str, Any]:
        return self.values


def _no_entry(values: Mapping[str, Any]) -> Any:
    raise Stuck("a driver is run, not read")


def _apart(wrong: SymbolicRun, right: Sequence[SymbolicRun]) -> str:
    """Where a run is wrong and where the one is right that is most like it, by the values in which they differ."""

    def differing(one: SymbolicRun) -> list[str]:
        return sorted(name for name, value in one.values.items() if wrong.values.get(name, value) != value)

    near = min((one for one in right if differing(one)), key=lambda one: len(differing(one)), default=right[0])
    names = differing(near)
    sides = (
        ", ".join(f"{name} = {values[name]}" for name in names[:MOST_TOLD]) for values in (wrong.values, near.values)
    )
    more = f" (and {len(names) - MOST_TOLD} more)" if len(names) > MOST_TOLD else ""
    return "it is wrong where {}, and right where {}{}".format(*sides, more)
