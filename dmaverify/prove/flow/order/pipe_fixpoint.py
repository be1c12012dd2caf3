"""The order of pipes in loops as a fixpoint: one state for all iterations of one turn.

Knows: the first iteration as it is, all others at a counter that stands for any of them, by their remainder (turns of
ids and buffers). The domain: which flags are set and tokens held (exact), accesses that may be outstanding, one for
all earlier iterations of a turn, and who surely knows them; in which turn a loop ended. It is finite, so that it
settles; other facts of paths are kept where no iteration changes them, and where they are of all paths.
Does not know: what an event changes, machines, text.
Law: states of a turn are joined towards knowing less: an access is outstanding if it is in one, known to those who know
it in all. It errs towards not proving, so that only PROVED counts; what it does not prove is followed as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dmaverify.language.affine import TRUE, Cond, Lin, compare
from dmaverify.program.instructions import Event, KernelLoop
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.loops import At, own_rhythm
from dmaverify.prove.flow.accesses.peeled import peeled
from dmaverify.prove.flow.accesses.remainders import by_remainders
from dmaverify.prove.flow.order.pipe_state import Instance, State
from dmaverify.prove.flow.order.pipes import PipeJudge
from dmaverify.values import dataclass, field

MOST_TURNS = 64
# Of 312 kernels with loops that people wrote, the dearest proof visits 208 events and takes 4,544 units of the solver.
# Both budgets are some 40 times that; where one runs out the kernel is followed as `pipes` does, so that it costs time.
MOST_VISITS = 20_000  # of events, in all
MOST_UNITS = 200_000  # of the solver


class NotProved(Exception):
    """Something is found or left open."""


@dataclass
class FixpointJudge(PipeJudge):
    """Proves, or gives up at the first doubt."""

    most_turns: int = MOST_TURNS
    most_steps: int = MOST_VISITS
    most_states: int = 32
    most_asked: int = 3_000
    _began: int = 0
    _turn: dict[int, Lin] = field(default_factory=dict)
    _turned: dict[Cond, None] = field(default_factory=dict)  # facts that say in which turn a loop ended
    _known: dict[Any, list[State]] = field(default_factory=dict)

    def _open(self, why: str, *, lost: bool = False) -> None:
        del lost
        raise NotProved(why)

    def _run(self, events: Sequence[Event], states: list[State], at: At) -> list[State]:
        out = super()._run(events, states, at)
        self._began = self._began or self.asker.session.spent
        if self.asker.session.spent - self._began > MOST_UNITS:
            raise NotProved
        if self.findings or self.apart or set(self.status.values()) != {"proved"}:
            raise NotProved
        return out

    def _iterations(self, loop: KernelLoop, trip: Lin, state: State, at: At) -> list[State]:
        key = (id(loop), state.key(), tuple(at.counters.items()))
        if key not in self._known:
            self._known[key] = self._settled(loop, trip, state, at)
        return self._known[key]

    def _settled(self, loop: KernelLoop, trip: Lin, state: State, at: At) -> list[State]:
        """States in which a loop ends: without an iteration, behind the first, behind any other."""
        none = compare("le", trip)
        exits = []
        if self._sure(none) is not False:
            never_below = self.world.interval(trip)[0] == 0 or self.asker.surely(compare("le", -trip), state.facts)
            exits = self._over(loop, [state], none, trip if never_below else None, at)
        if self._sure(none) is True:
            return exits
        after = self._round(loop, [self._also(state, self._fact(none.negated(), at))], Lin(0), at)
        exits += self._over(loop, after, compare("eq", trip - 1), trip - 1, at)
        if self._sure(compare("lt", Lin(1) - trip)) is False:
            return exits
        turns = self._turns(loop)
        turn = self._turn.setdefault(id(loop), self.world.free(f"turns_{loop.counter}", 0, None, shown=loop.counter))
        heads: list[dict[Any, State]] = [{} for _ in range(turns)]
        work = [0] if self._taken(heads[0], after) else []
        behind: dict[int, list[State]] = {}
        while work:
            phase = work.pop(0)
            behind[phase] = self._round(loop, list(heads[phase].values()), turn * turns + (phase + 1), at)
            if self._taken(heads[(phase + 1) % turns], behind[phase]) and (phase + 1) % turns not in work:
                work.append((phase + 1) % turns)
        for phase, states in behind.items():
            exits += self._over(loop, states, compare("le", Lin(phase + 2) - trip), trip - (phase + 2) % turns, at)
        return self._joined(exits)

    def _sure(self, condition: Cond) -> bool | None:
        return condition.known if condition.known is not None else self.world.decide(condition)

    def _over(self, loop: KernelLoop, states: Iterable[State], when: Cond, turn: Lin | None, at: At) -> list[State]:
        """States in which a loop is left: when, and in which turn, which is told where `turn` is a number of turns."""
        turns = self._turns(loop)
        ends = TRUE if turn is None or turns == 1 else compare("eq", self.world.modulo(turn, turns))
        if ends.known is False:
            return []
        turned = self._fact(ends, at)
        self._turned |= dict.fromkeys(turned)
        return [self._also(s, [*self._fact(when, at), *turned]) for s in states]

    def _fact(self, fact: Any, at: At) -> list[Any]:
        return [fact] if fact.known is None and self.world.decide(fact) is None and self._stays(fact, at) else []

    def _round(self, loop: KernelLoop, states: list[State], here: Lin, at: At) -> list[State]:
        """States behind one iteration, in terms of the next one."""
        inside = at.within(loop, here)
        out = [self._aged(loop, s) for s in self._run(loop.body, states, inside)]
        return [s.under(tuple(f for f in s.facts if self._stays(f, inside))) for s in out]

    def older(self, loop: KernelLoop, age: int) -> int:
        return -(-age % self._turns(loop) + 1)  # one of so many turns ago, or any number of rounds of turns before that

    def _turns(self, loop: KernelLoop) -> int:
        if loop.counter not in self.meetings.turns:
            self.meetings.turns[loop.counter] = min(own_rhythm(self.world, loop.counter), self.most_turns)
        return self.meetings.turns[loop.counter]

    def _taken(self, head: dict[Any, State], states: Iterable[State]) -> bool:
        """Joins states into those at the head of a turn; whether these know less than before."""
        changed = False
        for state in states:
            sign = (signature(state), frozenset(f for f in state.facts if f in self._turned))
            old = head.get(sign)
            new = state if old is None else joined(old, state)
            if old is None or new.key() != old.key():
                head[sign], changed = new, True
        return changed

    def _joined(self, states: Iterable[State]) -> list[State]:
        """One state for all that differ by what is outstanding alone, on the same path."""
        head: dict[Any, State] = {}
        for state in states:
            sign = (signature(state), frozenset(state.facts))
            head[sign] = joined(head[sign], state) if sign in head else state
        return list(head.values())


def signature(state: State) -> Any:
    """What must be the same of two states that are joined."""
    return frozenset(state.flags), frozenset((k, held) for k, (_, held) in state.tokens.items())


def joined(one: State, two: State) -> State:
    """A state that covers both: it knows no more of anything than either."""

    def handed(mine: frozenset[Instance], theirs: frozenset[Instance]) -> frozenset[Instance]:
        return frozenset(
            i for i in mine | theirs if all(i in done or i not in s.pending for s, done in ((one, mine), (two, theirs)))
        )

    pending = dict(one.pending)
    for instance, known in two.pending.items():
        pending[instance] = known & pending.get(instance, known)
    flags = {k: (handed(done, two.flags[k][0]), at) for k, (done, at) in one.flags.items()}
    tokens = {k: (handed(done, two.tokens[k][0]), held) for k, (done, held) in one.tokens.items()}
    return State(flags, pending, tokens, tuple(f for f in one.facts if f in two.facts))


def proved_at_once(
    events: tuple[Event, ...], asker: Asker, ordered: Sequence[str], outer: Sequence[str]
) -> PipeJudge | None:
    """A judge that has proved the order of all pipes: of the kernel as it stands, with the ends of its loops apart, or
    in cases; None where none has.
    """
    apart = peeled(events, asker)
    ways = [events] if apart is events else [events, apart]
    for one in ways:
        if (judge := _proved(one, asker, ordered, outer)) is not None:
            return judge
    for cases in (cases for one in ways for cases in by_remainders(one, asker.world)):
        said: dict[str, None] = {}
        last = None
        for case in cases:
            if (last := _proved(case, asker, ordered, outer)) is None:
                break
            said |= last.said
        if last is not None:
            last.said = said
            return last
    return None


def _proved(events: Sequence[Event], asker: Asker, ordered: Sequence[str], outer: Sequence[str]) -> PipeJudge | None:
    judge = FixpointJudge(asker, ordered, outer)
    try:
        judge.judge(events)
    except NotProved:
        return None
    return judge if not judge.findings and set(judge.status.values()) == {"proved"} else None
