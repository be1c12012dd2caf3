"""Definite initialization in bytes: what is read before anything wrote it, or holds the unknown tail of a row.

Knows: the order of issue, branches, loops as `loops` says: by their period, by their iterations, or as one.
Does not know: machines, what an access changes (that is `reads`), order in time (that is `pipes`), values.
Law: a byte counts as written only if every path to the read writes it; a refuted read names bytes that no path wrote.
Where one iteration stands for all, it begins without what any of them loses (errs to not proving).
What depends on symbols in a way that is not followed is said to be not judged, never passed in silence.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.affine import Cond, Lin, both, compare
from dmaverify.program.instructions import Arrival, Branch, Copy, CopyTouch, Event, KernelLoop, Use
from dmaverify.program.rewrite import every, spread, symbols_of, touches_in
from dmaverify.prove.flow.accesses.bounds import narrowed, told, united
from dmaverify.prove.flow.accesses.loops import (
    MOST_EVENTS,
    MOST_ROUNDS,
    MOST_STEPS,
    At,
    one_by_one,
    period_of,
    rhythm_of,
    steady,
)
from dmaverify.prove.flow.accesses.reached import terms_of
from dmaverify.prove.flow.accesses.separate import separated
from dmaverify.prove.flow.initialization.reads import ReadBytes
from dmaverify.prove.flow.initialization.written import (
    MAYBE,
    WRITTEN,
    Path,
    alike,
    either,
    joined_loads,
    limits_in,
    put_state,
)
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Severity

MOST_PATHS = 8
MORE_ROUNDS = 128  # of a loop of unknown length, where fewer leave something open
MORE_EVENTS = 1_000  # of such a loop, in all of its rounds
MOST_LENGTHS = 4  # of rows of copies, up to which others may be written, too


@dataclass
class DefiniteJudge(ReadBytes):
    """Follows a kernel through one memory of `size` bytes (`space`)."""

    most_events: int = MOST_EVENTS
    most_rounds: int = MOST_ROUNDS
    longer: bool = False  # there are loops that would be followed round by round, if `MORE_ROUNDS` were
    running: bool = False  # loops of a number that nobody states are taken to run, which goes into the needs
    endless: bool = False  # there are such loops
    supposed: dict[Cond, None] = field(default_factory=dict)
    _roots: dict[int, tuple[Cond, set[str]]] = field(default_factory=dict)  # by identity: each fact is kept with it
    _events: int = 0
    _spread: int = 1  # how many iterations of loops around are followed one by one

    @property
    def status(self) -> str:
        if any(f.severity is Severity.ERROR for f in self.findings.values()):
            return "refuted"
        return "unknown" if self.unjudged else "proved"

    def judge(self, events: Sequence[Event]) -> None:
        self._bases = sorted(
            {t.place.address.const for t in touches_in(events) if self._mine(t) and t.place.address.is_const}
        )
        self._counters = frozenset(e.counter for e in every(events) if isinstance(e, KernelLoop))
        rows = [e.row for e in every(events) if isinstance(e, Copy) and not e.row.is_const]
        counts = {row: None for row in rows if self._counters.isdisjoint(self.world.roots(row))}
        self._lengths = list(counts)[:MOST_LENGTHS]
        alone = spread(events, lambda e: (replace(e, gives=()) if isinstance(e, Use) and e.gives else e,))
        self.numbers = symbols_of(tuple(alone), self.world)
        branches = any(isinstance(event, Branch) for event in every(events))
        for group in separated(events, self.world, self._mine) if branches else [events]:
            self._run(group, [Path(bytearray(self.size))], At({}))

    # ------------------------------------------------------------ walking

    def _run(self, events: Sequence[Event], paths: list[Path], at: At) -> list[Path]:
        for event in events:
            if isinstance(event, KernelLoop):
                paths = self._loop(event, paths, at)
            elif isinstance(event, Branch):
                paths = self._branch(event, paths, at)
            elif isinstance(event, Arrival):
                for path in paths:
                    self._arrived(event, path)
            elif isinstance(event, (Copy, Use)):
                self._events += 1
                for path in paths:
                    self._access(event, path, at)
        return paths

    def _branch(self, event: Branch, paths: list[Path], at: At) -> list[Path]:
        when = self.world.put_cond(event.when, at.counters)
        out: list[Path] = []
        for path in paths:
            sides = [(when, event.then), (when.negated(), event.other)]
            taken = [side for side in sides if self._feasible(path, side[0])]
            for one, (condition, body) in zip([path.copy() for _ in taken[1:]] + [path], taken, strict=False):
                out += self._run(body, [self._assuming(one, condition)], at)
        moving = [name for name, _ in at.lifted]
        split = bool(out) and (not self.world.roots(when).isdisjoint(moving) or self.world.changes(when, moving))
        if split:  # each iteration takes its own side
            return self._joined(out)
        return self._merged(out) if len(out) > MOST_PATHS else out

    def _joined(self, paths: list[Path]) -> list[Path]:
        first = paths[0]
        for other in paths[1:]:
            if first.bytes_ != other.bytes_:
                first.bytes_ = either(first.bytes_, other.bytes_)
            kept = [r for r in first.rows if r in other.rows]
            first.rows = [*first.rows, *(r for r in other.rows if r not in kept)]
            self._keep(first, kept)
            first.whole = [r for r in first.whole if r in other.whole]
            first.facts = tuple(f for f in first.facts if f in other.facts)
        first.loads = joined_loads(paths)
        return [first]

    def _merged(self, paths: list[Path]) -> list[Path]:
        """Paths in the same state become one, which holds where either does; too many of them are joined."""
        groups: list[list[Path]] = []
        for path in paths:
            found = next((g for g in groups if alike(g[0], path)), None)
            if found is None:
                groups.append([path])
            else:
                found.append(path)
        out = []
        for group in groups:
            common = [f for f in group[0].facts if all(f in p.facts for p in group)]
            rests = [[f for f in p.facts if f not in common] for p in group]
            told_by = united(rests)
            either = both(map(both, rests), "or")
            open_ = told_by is None and either.known is None and not self.asker.surely(either, common)
            facts = (*common, *((either,) if open_ else told_by or ()))
            out.append(Path(group[0].bytes_, group[0].rows, facts, group[0].whole, joined_loads(group)))
        return self._joined(out) if len(out) > MOST_PATHS else out

    def _loop(self, loop: KernelLoop, paths: list[Path], at: At) -> list[Path]:
        if not any(isinstance(event, (Copy, Use, Arrival)) for event in every(loop.body)):
            return paths
        trip = self.world.put(loop.trip, at.counters)
        touches = [touch for touch in touches_in(loop.body) if self._mine(touch)]
        terms = [term for touch in touches for term in terms_of(touch)]
        period = period_of(self.world, loop, [*terms, *limits_in(loop.body)], at)
        events, left = len(list(every(loop.body))), self.most_events - self._events
        if one_by_one(trip, period, events, at, spread=self._spread, left=left):
            same = period == 1 and steady(self.world, loop.body, loop.counter, 1, at)
            for step in range(max(0, trip.const)):
                before = [path.copy() for path in paths] if same else None
                paths = self._once(loop, paths, at, Lin(step))
                if before == paths:
                    break  # later iterations find what this one found
            return paths
        self._suppose(trip, paths)
        most = self.world.interval(trip)[1]
        rounds = MORE_EVENTS if most is None or at.lifted else self._spread * most
        rhythm = None if period is None else rhythm_of(self.world, loop, period, at)
        if rhythm is not None:
            return self._rounds(loop, trip, paths, at, 2 * rhythm, rhythm)
        if rounds <= self.most_rounds and most is not None:
            whole = self._summed(loop, trip, paths, at) if period is None else []
            doubts = self.doubts
            begun = [path.copy() for path in paths]
            paths = self._rounds(loop, trip, paths, at, most, None)
            if self.doubts != doubts:  # not each round stored what was written
                whole = self._whole(loop, trip, begun, at)
            for path in paths:
                path.whole += [row for row in whole if row not in path.whole]
            return paths
        self.longer = self.longer or rounds <= min(MORE_ROUNDS, MORE_EVENTS // events)
        return self._ended([end for path in paths for end in self._all_at_once(loop, trip, [path], at)], trip)

    def _suppose(self, trip: Lin, paths: Sequence[Path]) -> None:
        """That a loop runs, where nobody says how often and it may."""
        some = compare("lt", -trip)
        if trip.is_const or not self.asker.is_open(some) or self.world.decide(some) is not None:
            return
        self.endless = True
        free = self.running and self.asker.supposable(some) and not any(p.facts for p in paths)
        if free and self.asker.possible([some]).status == "refuted":
            self.supposed[some] = None
            self.asker.needs.append(some)

    def _once(self, loop: KernelLoop, paths: list[Path], at: At, here: Lin) -> list[Path]:
        """One iteration."""
        return self._renewed(loop, self._run(loop.body, paths, at.within(loop, here)))

    def _rounds(
        self, loop: KernelLoop, trip: Lin, paths: list[Path], at: At, steps: int, period: int | None
    ) -> list[Path]:
        """So many iterations one by one, with what holds where the loop ends behind each of them.

        With a `period` the loop may go on: where a period leaves the memory as it found it, on each path, later ones
        do the same, so that the last of them stand for all counts that are at least theirs, and the same up to the
        period. Where it does not, as where each iteration hands on what the one before was given, more are followed.
        """
        ends: list[Path] = []
        late: list[tuple[int, list[Path]]] = []  # ends of the last period
        begun: list[Path] = []
        settled = True
        if period is not None and trip.is_const:
            steps = max(0, min(trip.const, steps + (trip.const - steps) % period))
        outside, self._spread = self._spread, self._spread * max(1, steps)
        step = 0
        while True:
            over = compare("le", trip - step)
            if period is not None and step > steps - period:
                late.append((step, [p.copy() for p in paths]))
            else:
                ends += self._ending(paths, over)
            if period is not None and step == steps - period:
                begun = [p.copy() for p in paths]
            if step == steps:
                settled = not paths or (trip.is_const and step >= trip.const) or self._as_before(begun, paths)
                if period is None or settled or step >= MOST_STEPS:
                    break
                ends += [end for at_, found in late for end in self._ending(found, compare("le", trip - at_))]
                late, begun, steps = [], [p.copy() for p in paths], steps + period
            paths = [self._assuming(p, over.negated()) for p in paths if self._feasible(p, over.negated())]
            paths = self._once(loop, paths, at, Lin(step)) if paths else paths
            paths = self._merged(paths)
            step += 1
        self._spread = outside
        if period is None:
            return self._ended(ends, trip)
        if not settled:
            self.unjudged[f"line {loop.span.line} (what its iterations hand on is not followed to the end)"] = None
            late = [(at_, [self._blurred(p) for p in found]) for at_, found in late]
        if trip.is_const:
            return paths if settled else [self._blurred(p) for p in paths]
        for at_, found in late:
            ends += self._ending(found, compare("eq", self.world.modulo(trip - at_, period)))
        return self._ended(ends, trip)

    def _as_before(self, begun: Sequence[Path], paths: Sequence[Path]) -> bool:
        """Whether paths are in the states in which they began, none of them for values that were in another one."""
        return len(begun) == len(paths) and all(
            alike(one, path)
            and one.loads == path.loads
            and all(fact in path.facts or told(path.facts, fact) or self.asker.surely(fact, path.facts)
                    for fact in one.facts)
            for one, path in zip(begun, paths, strict=True)
        )  # fmt: skip

    def _blurred(self, path: Path) -> Path:
        """Of which nothing is known of any byte."""
        return Path(bytearray([MAYBE]) * self.size, facts=path.facts)

    def _ending(self, paths: Sequence[Path], last: Cond) -> list[Path]:
        """Paths on which a loop ends here."""
        return [self._assuming(p.copy(), last) for p in paths if self._feasible(p, last)]

    def _summed(self, loop: KernelLoop, trip: Lin, paths: list[Path], at: At) -> list[CopyTouch]:
        """What all iterations together write, on every path, if nothing that they write is lost again."""
        found, unjudged = dict(self.findings), dict(self.unjudged)
        known = tuple(f for f in paths[0].facts if all(f in p.facts for p in paths)) if paths else ()
        none = [Path(bytearray(self.size), facts=known)]
        before, outside = len(self._lost), self.trusting
        worst, made, self.trusting = dict(self._worst), dict(self._made), True
        after = self._joined(self._run(loop.body, none, at.in_all(loop, trip)) or none)
        self.findings, self.unjudged, self.trusting = found, unjudged, outside
        self._worst, self._made = worst, made
        (path,) = self._renewed(loop, after)
        return self._kept(path.rows, self._lost[before:])

    def _whole(self, loop: KernelLoop, trip: Lin, paths: list[Path], at: At) -> list[CopyTouch]:
        """What all iterations together surely leave written, on every path, of whatever some store that was not."""
        found, unjudged = dict(self.findings), dict(self.unjudged)
        worst, made = dict(self._worst), dict(self._made)
        ends = [end for path in paths for end in self._all_at_once(loop, trip, [path], at)]
        self.findings, self.unjudged, self._worst, self._made = found, unjudged, worst, made
        rows = [row for end in ends[:1] for row in end.rows if loop.counter in dict(self._loops[id(row)][1])]
        return [row for row in rows if all(row in end.rows for end in ends)]

    def _all_at_once(self, loop: KernelLoop, trip: Lin, paths: list[Path], at: At) -> list[Path]:
        """Iterations that touch other places each: what one writes becomes rows of all when the loop is over."""
        unjudged, lost = dict(self.unjudged), len(self._lost)
        outside, self._spread = self._spread, self._spread * 4
        first = [p.copy() for p in paths]
        for step in range(2 if outside < 16 else 0):  # a first iteration that reads too much does so in any run
            over = compare("le", trip - step)
            first = [self._assuming(p, over.negated()) for p in first if self._feasible(p, over.negated())]
            first = self._once(loop, first, at, Lin(step)) if first else first
        self._spread = outside
        self.unjudged = unjudged
        del self._lost[lost:]  # they are among all iterations, which follow
        some = compare("lt", -trip)
        ends = [self._assuming(p.copy(), some.negated()) for p in paths if self._feasible(p, some.negated())]
        paths = [self._assuming(p, some) for p in paths if self._feasible(p, some)]
        before, others, here = len(self._lost), (self._beyond, self._running), at.in_all(loop, trip)
        writes = (touch for touch in touches_in(loop.body) if touch.writes and self._mine(touch))
        self._beyond = (*self._beyond, *(self._put(touch, here) for touch in writes))
        self._running |= {trip}
        begun_with = self._before.setdefault(loop.counter, set())
        begun_with |= {id(row) for path in paths for row in (*path.rows, *path.whole)}
        after, again = paths, paths
        for _ in range(MOST_ROUNDS):
            begun = [path.copy() for path in again]
            after = self._renewed(loop, self._each_its_own(loop, self._run(loop.body, again, here)))
            again = self._left(begun, after)
            if not again:
                break
        else:
            self.unjudged[f"line {loop.span.line} (what its iterations lose is not followed to the end)"] = None
        self._beyond, self._running = others
        for path in after:
            path.facts = tuple(f for f in path.facts if loop.counter not in self._roots_of(f))
            self._keep(path, self._kept(path.rows, self._lost[before:]))
            for row in path.rows if not at.lifted else ():
                for start, end in self._rows(row) or ():
                    put_state(path.bytes_, start, end, WRITTEN)
        return self._ended([*ends, *after], trip)

    def _each_its_own(self, loop: KernelLoop, paths: list[Path]) -> list[Path]:
        """Ways that an iteration takes by its counter, as one: it stands for all, and each of them takes its own."""
        facts = {id(fact): fact for path in paths for fact in path.facts}.values()
        told = any(loop.counter in self._roots_of(f) or self.world.changes(f, (loop.counter,)) for f in facts)
        return self._joined(paths) if told and len(paths) > 1 else paths

    def _left(self, begun: list[Path], after: list[Path]) -> list[Path]:
        """How later iterations begin where earlier ones lose something that was written; none where they do not."""
        if not after:
            return []
        (end,), lost = self._joined([path.copy() for path in after]), False
        for path in begun:
            before = (bytes(path.bytes_), path.rows, path.whole, path.loads)
            if either(path.bytes_, end.bytes_).count(WRITTEN) < path.bytes_.count(WRITTEN):
                pairs = zip(path.bytes_, end.bytes_, strict=True)
                path.bytes_ = bytearray(MAYBE if a == WRITTEN != b else a for a, b in pairs)
            self._keep(path, [row for row in path.rows if row in end.rows])
            path.whole = [row for row in path.whole if row in end.whole]
            held = joined_loads([path, end])
            path.loads = {number: held[number] for number in path.loads}
            lost = lost or before != (bytes(path.bytes_), path.rows, path.whole, path.loads)
        return begun if lost else []

    def _ended(self, paths: list[Path], trip: Lin) -> list[Path]:
        """Behind a loop. How often it runs is not held against a kernel where nobody says it."""
        if len(paths) > 1 and not trip.is_const and self.asker.is_open(compare("le", trip)):
            return self._joined(paths)
        return self._merged(paths)

    def _renewed(self, loop: KernelLoop, paths: list[Path]) -> list[Path]:
        """Behind an iteration: what was said of values that the next one may change holds no more."""
        for path in paths:
            path.facts = tuple(f for f in path.facts if not self._varies(f, loop.counter))
            changed = [r for r in path.rows if any(self.world.changes(t, (loop.counter,)) for t in terms_of(r))]
            self._keep(path, [r for r in path.rows if r not in changed])
            path.whole = [r for r in path.whole if not any(self.world.changes(t, (loop.counter,)) for t in terms_of(r))]
        return paths

    def _roots_of(self, fact: Cond) -> set[str]:
        """What a fact depends on, looked up once: paths carry their facts through every loop behind them."""
        kept = self._roots.get(id(fact))
        if kept is None:
            kept = self._roots[id(fact)] = (fact, self.world.roots(fact))
        return kept[1]

    def _varies(self, fact: Cond, counter: str) -> bool:
        return any(counter in self.world.symbols[name].varies for name in self._roots_of(fact))

    def _assuming(self, path: Path, condition: Cond) -> Path:
        if condition.known is None and condition not in path.facts:
            path.facts = narrowed(path.facts, condition)
        return path

    def _feasible(self, path: Path, condition: Cond) -> bool:
        decided = self.world.decide(condition)
        if decided is None:  # a path that is followed can be taken as far as it was
            decided = told(path.facts, condition)
        if decided is not None:
            return decided
        return self.asker.possible([*path.facts, condition]).status != "proved"
