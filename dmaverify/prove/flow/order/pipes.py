"""Happens-before in a kernel: pipes, flags, fences, tokens, and accesses of the same bytes that nothing orders.

Knows: loops, followed as `loops` says until a state comes back; branches, with what holds on each path.
Does not know: what an event changes (that is `pipe_steps`), machines, which pipe runs what, text syntax.
Law: what holds when the state of an iteration repeats holds in all later ones, if each of them leaves that state again;
where they do not, it never repeats, or there are too many paths, the answer is open and nothing is found behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmaverify.language.affine import TRUE, Cond, Lin, both, compare
from dmaverify.program.instructions import OTHER_CORE, Branch, Copy, Event, KernelLoop, Signal, Use
from dmaverify.program.rewrite import every
from dmaverify.prove.flow.accesses.lifted import flattened, near, rows_apart
from dmaverify.prove.flow.accesses.loops import FEW_STEPS, SMALL_TRIP, At, most_followed, own_rhythm
from dmaverify.prove.flow.order.pipe_state import (
    EMPTY,
    HAZARDS,
    OLD,
    Instance,
    State,
    gathered,
    renamed,
    running,
    shown_flag,
)
from dmaverify.prove.flow.order.pipe_steps import PipeSteps
from dmaverify.values import dataclass, field

MOST_SPENT = 1_000_000  # solver units for the order of one kernel, behind which it is followed no further
MOST_FACTS = 40  # parts of what tells paths apart


class TooLong(Exception):
    """There are more steps than are followed."""


@dataclass
class PipeJudge(PipeSteps):
    """Follows a kernel and collects findings."""

    blunt: bool = False  # nothing is kept of where a loop ended
    coarse: bool = False  # behind loops, states that only know less stand for the others: enough for most kernels
    most_steps: int = 1_500
    most_states: int = 24
    most_asked: int = 300  # questions to the solver; of published kernels none asks more than 7
    judged: bool = False
    given_up: bool = False  # it was too long to be followed to its end
    _rounds: int = 0
    _begun: tuple[int, int] = (0, 0)  # units that were spent and questions that were asked before
    _flat: dict[int, list[Copy | Use] | None] = field(default_factory=dict)

    def judge(self, events: Sequence[Event]) -> None:
        for name in ("core/flags", *HAZARDS):
            self.status.setdefault(name, "proved")
        accesses = [e for e in every(events) if isinstance(e, (Copy, Use))]
        self.pipes = frozenset(e.pipe for e in accesses) | {
            e.source for e in every(events) if isinstance(e, Signal) and e.dest == OTHER_CORE
        }
        self.shared = frozenset(t.place.memory for e in accesses if isinstance(e, Use) and e.foreign for t in e.touches)
        self.near = near(accesses, self.world, (*self.ordered, OTHER_CORE))
        self.judged, self._begun = True, (self.asker.session.spent, len(self.asker.session.asked))
        try:
            ends = self._run(events, [EMPTY], At({}))
        except TooLong as long:
            self.given_up = True
            self._open(str(long))
            return
        for state in ends:
            for flag, (_, start) in state.flags.items():
                span = self._flag_spans[start]
                said = f"the flag {shown_flag(flag)} is set and never waited for"
                self._flag("left", flag, span, said, "wait for it before the end: the next kernel finds it set")
            for number, (_, holders) in state.tokens.items():
                for pipe in sorted(holders):
                    self._unpaired(f"the buffer {number} is taken by {pipe} and never given back")

    # ------------------------------------------------------------ walking

    def _run(self, events: Sequence[Event], states: list[State], at: At) -> list[State]:
        for event in events:
            if isinstance(event, KernelLoop):
                states = self._loop(event, states, at)
            elif isinstance(event, Branch):
                states = [after for state in states for after in self._branch(event, state, at)]
            else:
                self.steps += len(states)
                self._within_limits()
                states = [self._step(event, one, at) for state in states for one in self._parted(event, state, at)]
            states = self._merged(states)
        return states

    def _within_limits(self) -> None:
        """Raises TooLong where there is more to follow than is followed."""
        spent, asked = self._begun
        if self.steps > self.most_steps:
            raise TooLong(f"more than {self.most_steps:,} steps of pipes to follow")
        if self.asker.session.spent - spent > MOST_SPENT:
            raise TooLong(f"more than {MOST_SPENT:,} units of the solver")
        if len(self.asker.session.asked) - asked > self.most_asked:
            raise TooLong(f"more than {self.most_asked:,} questions to the solver")

    def _merged(self, states: list[State]) -> list[State]:
        if len(states) < 2:
            return states
        kept: list[State] = []
        for state in states:
            if not any(other.covers(state) for other in kept):
                kept = [*(other for other in kept if not state.covers(other)), state]
        if len(kept) > self.most_states:
            self._open("more paths than can be followed")
        return kept[: self.most_states]

    def _branch(self, event: Branch, state: State, at: At) -> list[State]:
        when = self.world.put_cond(event.when, at.counters)
        self.steps += 1 if when.known is not None else 8  # both sides are asked for
        out: list[State] = []
        for condition, body in ((when, event.then), (when.negated(), event.other)):
            if self._never(condition, state, at):
                continue
            surely = self._never(condition.negated(), state, at)
            facts = state.facts if surely or condition.known is not None else (*state.facts, condition)
            out += self._run(body, [state.under(facts)], at)
        return [gathered(out, state.facts, self.blurred)] if len(out) > 1 and _says_when(event) else out

    # ------------------------------------------------------------ loops

    def _loop(self, loop: KernelLoop, states: list[State], at: At) -> list[State]:
        uses = self._unordered(loop)
        if uses is not None:
            return self._run(uses, states, at)
        trip = self.world.put(loop.trip, at.counters)
        out: list[State] = []
        for state in states:
            out += self._iterations(loop, trip, state, at)
        left = [self._left(loop, state) for state in out]
        alike: dict[Any, list[State]] = {}
        for state in left:
            alike.setdefault(state.under(()).key(), []).append(state)
        out = self._merged([group[0] if len(group) == 1 else self._either(group, at) for group in alike.values()])
        return self._coarser(out) if self.coarse else out

    def _unordered(self, loop: KernelLoop) -> Sequence[Event] | None:
        """All iterations of a loop in which nothing orders anything as one of each access, if none of them meet."""
        if id(loop) not in self._flat:
            found = flattened(loop, self.world)
            self._flat[id(loop)] = found if found is not None and self._all_apart(found) else None
        return self._flat[id(loop)]

    def _all_apart(self, events: Sequence[Copy | Use]) -> bool:
        """Whether no two of these accesses share a byte that one of them writes, whatever their iterations."""
        for index, one in enumerate(events):
            for other in events[index:]:
                if one.pipe == other.pipe and one.pipe in self.ordered:
                    continue
                for mine in one.touches:
                    for theirs in other.touches:
                        touched = (mine.place.memory == theirs.place.memory) and (mine.writes or theirs.writes)
                        if "surplus" in (mine.kind, theirs.kind) or not touched:
                            continue
                        alone = mine is theirs and rows_apart(mine.steps, mine.length, self.world)
                        if not alone and (mine is theirs or self.meetings.share(mine, theirs, ()) is not False):
                            return False
        return True

    def _coarser(self, states: list[State]) -> list[State]:
        """Fewer states, each of which covers those that it stands for, whatever tells their paths apart."""
        kept: list[State] = []
        for state in states:
            for index, other in enumerate(kept):
                weaker = next((a for a, b in ((other, state), (state, other)) if a.under(()).covers(b)), None)
                if weaker is not None:
                    kept[index] = weaker.under(tuple(f for f in other.facts if f in state.facts))
                    break
            else:
                kept.append(state)
        return kept

    def _either(self, states: Sequence[State], at: At) -> State:
        """States that differ by their paths alone, as one; what tells those apart is kept outside of loops."""
        first = states[0]
        common = tuple(f for f in first.facts if all(f in s.facts for s in states))
        either = both((both(f for f in s.facts if f not in common) for s in states), "or")
        few = not self.blunt and either.size <= MOST_FACTS
        told = few and either.known is None and either not in common and self._stays(either, at)
        return first.under((*common, either) if told else common)

    def _stays(self, fact: Cond, at: At) -> bool:
        """Whether a fact speaks of nothing that another iteration of the loops around changes."""
        moving = {name for term in at.counters.values() for name, _ in term.terms}
        return moving.isdisjoint(self.world.roots(fact)) and not self.world.changes(fact, at.counters)

    def _iterations(self, loop: KernelLoop, trip: Lin, state: State, at: At) -> list[State]:
        """States in which the loop ends."""
        exits: list[State] = []
        current = [state]
        seen: dict[Any, int] = {}
        history: list[list[State]] = []
        most = self.world.interval(trip)[1]
        to_end = trip.is_const and trip.const <= SMALL_TRIP
        rhythm = own_rhythm(self.world, loop.counter)
        for step in range(most_followed(most)):
            here = Lin(step)
            ending = compare("le", trip - here)
            if ending.known is not False:
                begun = compare("le", here - trip) if step else TRUE  # a trip below 0 is no iteration either
                facts = (*state.facts, *([ending] if ending.known is None and not self.blunt else []))
                told = begun.known is None and not self.blunt and self._stays(begun, at)
                facts = (*facts, *([begun] if told else []))
                over = both([ending, begun])  # it got here, and no further
                exits += [self._also(s, facts) for s in current if not self._never(over, s, at)]
            current = [self._assuming(s, ending.negated()) for s in current if not self._never(ending.negated(), s, at)]
            current = self._merged([self._forget(s, ending.negated(), at) for s in current])
            if not current:
                return exits
            key = (frozenset(s.key() for s in current), step % rhythm)
            if key in seen and not to_end:
                before = self._put_down()
                ends = self._cycle(loop, trip, at, history, seen[key], step)
                if ends is not None:
                    return exits + [self._also(s, state.facts) for s in ends]
                self._take_back(before)
                to_end = most is not None and most < FEW_STEPS
                if not to_end:
                    where = f"the loop at line {loop.span.line}"
                    self._open(f"the iterations of {where} differ in a way that is not followed")
                    return exits
            seen[key] = step
            history.append(current)
            current = self._merged([self._aged(loop, s) for s in self._run(loop.body, current, at.within(loop, here))])
        self._open(f"the order within the loop at line {loop.span.line} does not settle")
        return exits

    def _cycle(
        self, loop: KernelLoop, trip: Lin, at: At, history: list[list[State]], first: int, step: int
    ) -> list[State] | None:
        """All later iterations at once: number `first + j + period * m`, for every m, in the state that repeats; None
        where one of them leaves another state than that, or where an id that orders something is another one each
        time: then nothing that was found here is of a run.
        """
        period, lost = step - first, self.lost
        self._rounds += 1
        rounds = self.world.free(f"round{self._rounds}", 0, None, shown=f"round of {loop.counter}")
        exits: list[State] = []
        for index in range(period):
            here = rounds * period + (first + index)
            inside = at.within(loop, here)
            going = compare("lt", here - trip)
            start = [self._assuming(s, going) for s in history[first + index] if not self._never(going, s, at)]
            after = self._merged([self._aged(loop, s) for s in self._run(loop.body, start, inside)])
            if self.lost and not lost:
                return None
            ended = compare("le", trip - here - 1)
            last = trip - (first + index + 1)
            so_far = [compare("le", -last), *([compare("eq", self.world.modulo(last, period))] if period > 1 else [])]
            known_at_end = tuple(c for c in so_far if c.known is None and not self.blunt and self._stays(c, at))
            left = [s for s in after if not self._never(ended, s, inside)]
            exits += [
                self._also(s.under(tuple(f for f in s.facts if self._stays(f, inside))), known_at_end) for s in left
            ]
            more = ended.negated()
            later = [self._assuming(s, more) for s in after if not self._never(more, s, inside)]
            known = history[first + (index + 1) % period]
            if not all(any(k.covers(s) for k in known) for s in (self._forget(s, more, at) for s in later)):
                return None
        return exits

    def _put_down(self) -> tuple[Any, ...]:
        found = (self.findings, self.met, self.status, self.said, self.apart)
        return *(one.copy() for one in found), self.why, self.lost

    def _take_back(self, before: tuple[Any, ...]) -> None:
        """What is found is again as it was put down."""
        self.findings, self.met, self.status, self.said, self.apart, self.why, self.lost = before

    def _also(self, state: State, facts: Sequence[Cond]) -> State:
        """A state in which these hold as well."""
        return state.under((*state.facts, *(f for f in facts if f not in state.facts)))

    def _assuming(self, state: State, condition: Cond) -> State:
        return state if condition.known is not None else state.under((*state.facts, condition))

    def _forget(self, state: State, going: Cond, at: At) -> State:
        """Facts that follow from the loop going on are dropped, so that iterations become comparable."""
        if not state.facts:
            return state
        kept = tuple(f for f in state.facts if f != going and not self._implied(f, going, at))
        return state.under(kept)

    def _implied(self, fact: Cond, going: Cond, at: At) -> bool:
        if self.world.decide(fact):
            return True
        around = [going, *running(at, self.world)]
        known = {name for claim in (*around, *self.asker.needs) for name in self.world.roots(claim)}
        if known.isdisjoint(self.world.roots(fact)):
            return False  # they speak of nothing in common
        return self.asker.possible([*around, fact.negated()]).status == "proved"

    def older(self, loop: KernelLoop, age: int) -> int:
        """An age one iteration later; turns of a loop are told apart otherwise (`pipe_fixpoint`)."""
        del loop
        return min(OLD, age + 1)

    def _aged(self, loop: KernelLoop, state: State) -> State:
        def older(instance: Instance) -> Instance:
            number, ages = instance
            return number, tuple(
                (name, kind, self.older(loop, age)) if name == loop.counter and kind == "now" else (name, kind, age)
                for name, kind, age in ages
            )

        kept = tuple(f for f in state.facts if not self.world.changes(f, (loop.counter,)))
        return renamed(state.under(kept), older, self.blurred)

    def _left(self, loop: KernelLoop, state: State) -> State:
        """Outside of a loop, an age counts from its end: 1 is the last iteration."""

        def left(instance: Instance) -> Instance:
            number, ages = instance
            return number, tuple((n, "end" if n == loop.counter else k, a) for n, k, a in ages)

        return renamed(state, left, self.blurred)


def _says_when(event: Branch) -> bool:
    """Whether both sides of a branch only access memory, and each access says itself on which side it happens."""
    return all(
        _says_when(one) if isinstance(one, Branch) else isinstance(one, (Copy, Use))
        for one in (*event.then, *event.other)
    ) and all(
        side in one.when
        for side, body in ((event.when, event.then), (event.when.negated(), event.other))
        for one in every(body)
        if isinstance(one, (Copy, Use))
    )
