"""The order of a kernel's pipes: flags, fences, tokens, and accesses of the same bytes that nothing orders.

Knows: pipes, flags, waits and tokens as data; loops, of which it follows every iteration, by a state that repeats.
Does not know: machines, which pipe runs what, text syntax.
Law: a pipe knows an access when that is surely done before anything the pipe is given next. Two accesses of the same
bytes, one of them a write, are ordered only if the later one's pipe knows the earlier one. What holds when the state of
an iteration repeats holds in all later ones; where it never repeats, the answer is open.

A flag carries what its pipe was given before the set and what that pipe knows; a wait hands it on. A fence tells a pipe
of its own work, a fence of all pipes tells everybody of everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd, lcm
from typing import Any

from dmaverify.errors import Span
from dmaverify.prove.ask import Asker
from dmaverify.prove.lifted import lifted
from dmaverify.prove.pipe_meets import Meetings
from dmaverify.prove.pipe_state import (
    EMPTY,
    OLD,
    Ages,
    At,
    Flagged,
    Instance,
    State,
    pipes_of,
    renamed,
    running,
    shown_flag,
)
from dmaverify.transfer.affine import Cond, Lin, World, compare
from dmaverify.transfer.instructions import Branch, Copy, Event, Fence, Loop, Signal, Token, Use
from dmaverify.verdict import Finding, Label, Severity

MOST_STEPS = 48  # iterations of one loop that are followed until its state must have repeated
SMALL_TRIP = 32  # loops of at most this many iterations are followed to their end
MOST_STATES = 24


@dataclass
class PipeJudge:
    """Follows a kernel and collects findings. `ordered` are pipes whose own work is done in order."""

    asker: Asker
    ordered: Sequence[str] = ("V", "S")
    findings: dict[Any, Finding] = field(default_factory=dict)
    status: dict[str, str] = field(default_factory=dict)
    accesses: dict[int, Copy | Use] = field(default_factory=dict)
    flags_seen: int = 0
    why: str = ""
    pipes: frozenset[str] = frozenset()
    _rounds: int = 0
    _lifted: dict[int, list[Use] | None] = field(default_factory=dict)
    _flag_spans: dict[int, Span] = field(default_factory=dict)

    @property
    def world(self) -> World:
        return self.asker.world

    @cached_property
    def meetings(self) -> Meetings:
        return Meetings(self.asker)

    def judge(self, events: Sequence[Event]) -> None:
        for name in ("core/flags", "core/hazard-raw", "core/hazard-war", "core/hazard-waw"):
            self.status.setdefault(name, "proved")
        self.pipes = frozenset(pipes_of(events))
        for state in self._run(events, [EMPTY], At({})):
            for flag, (_, start) in state.flags.items():
                span = self._flag_spans[start]
                said = f"the flag {shown_flag(flag)} is set and never waited for"
                self._flag(
                    "left", flag, span, said, "wait for it before the end: the next kernel finds it set", warn=True
                )

    # ------------------------------------------------------------ walking

    def _run(self, events: Sequence[Event], states: list[State], at: At) -> list[State]:
        for event in events:
            if isinstance(event, Loop):
                states = self._loop(event, states, at)
            elif isinstance(event, Branch):
                states = [after for state in states for after in self._branch(event, state, at)]
            else:
                states = [self._step(event, state, at) for state in states]
            states = self._merged(states)
        return states

    def _merged(self, states: list[State]) -> list[State]:
        if len(states) < 2:
            return states
        unique = {state.key(): state for state in states}
        if len(unique) > MOST_STATES:
            self._open("more paths than can be followed")
            return list(unique.values())[:MOST_STATES]
        return list(unique.values())

    def _open(self, why: str) -> None:
        self.why = self.why or why
        for name in ("core/flags", "core/hazard-raw", "core/hazard-war", "core/hazard-waw"):
            if self.status.get(name) != "refuted":
                self.status[name] = "unknown"

    def _branch(self, event: Branch, state: State, at: At) -> Iterator[State]:
        when = self.world.put_cond(event.when, at.counters)
        for condition, body in ((when, event.then), (when.negated(), event.other)):
            if self._never(condition, state, at):
                continue
            surely = self._never(condition.negated(), state, at)
            facts = state.facts if surely or condition.known is not None else (*state.facts, condition)
            yield from self._run(body, [replace(state, facts=facts)], at)

    def _never(self, condition: Cond, state: State, at: At) -> bool:
        decided = self.world.decide(condition)
        if decided is not None:
            return not decided
        conditions = [condition, *state.facts, *running(at, self.world)]
        return self.asker.possible(conditions).status == "proved"

    # ------------------------------------------------------------ loops

    def _loop(self, loop: Loop, states: list[State], at: At) -> list[State]:
        if id(loop) not in self._lifted:
            self._lifted[id(loop)] = lifted(loop, self.world, self.ordered)
        uses = self._lifted[id(loop)]
        if uses is not None:
            return self._run(uses, states, at)
        trip = self.world.put(loop.trip, at.counters)
        out: list[State] = []
        for state in states:
            out += self._iterations(loop, trip, state, at)
        left = [self._left(loop, state) for state in out]
        alike: dict[Any, list[State]] = {}
        for state in left:
            alike.setdefault(self._without_path(state).key(), []).append(state)
        return [group[0] if len(group) == 1 else self._without_path(group[0]) for group in alike.values()]

    def _iterations(self, loop: Loop, trip: Lin, state: State, at: At) -> list[State]:
        """States in which the loop ends."""
        exits: list[State] = []
        current = [state]
        seen: dict[Any, int] = {}
        history: list[list[State]] = []
        fixed = trip.const if trip.is_const else None
        rhythm = self._rhythm(loop.counter)
        for step in range(MOST_STEPS):
            here = Lin(step)
            ending = compare("le", trip - here)
            if ending.known is not False:
                exits += [self._assuming(s, ending) for s in current if not self._never(ending, s, at)]
            current = [self._assuming(s, ending.negated()) for s in current if not self._never(ending.negated(), s, at)]
            current = self._merged([self._forget(s, ending.negated(), at) for s in current])
            if not current:
                return exits
            key = (frozenset(s.key() for s in current), step % rhythm)
            if key in seen and not (fixed is not None and fixed <= SMALL_TRIP):
                return exits + self._cycle(loop, trip, at, history, seen[key], step)
            seen[key] = step
            history.append(current)
            inside = At({**at.counters, loop.counter: here}, (*at.loops, loop))
            current = self._merged([self._aged(loop, s) for s in self._run(loop.body, current, inside)])
        self._open(f"the order within the loop at line {loop.span.line} does not settle")
        return exits

    def _rhythm(self, counter: str) -> int:
        """After how many iterations all remainders of the counter are the same again."""
        period = 1
        for symbol in self.world.symbols.values():
            what, *args = symbol.definition or ("",)
            if what in ("mod", "div") and isinstance(args[0], Lin) and isinstance(args[1], int):
                factor = dict(args[0].terms).get(counter, 0)
                if factor:
                    period = lcm(period, args[1] // gcd(args[1], factor))
        return period if period <= MOST_STEPS // 3 else 1

    def _cycle(self, loop: Loop, trip: Lin, at: At, history: list[list[State]], first: int, step: int) -> list[State]:
        """All later iterations at once: number `first + j + period * m`, for every m, in the state that repeats."""
        period = step - first
        self._rounds += 1
        rounds = self.world.free(f"round{self._rounds}", 0, None, shown=f"round of {loop.counter}")
        exits: list[State] = []
        for index in range(period):
            here = rounds * period + (first + index)
            inside = At({**at.counters, loop.counter: here}, (*at.loops, loop))
            going = compare("lt", here - trip)
            start = [self._assuming(s, going) for s in history[first + index] if not self._never(going, s, at)]
            after = self._merged([self._aged(loop, s) for s in self._run(loop.body, start, inside)])
            ended = compare("le", trip - here - 1)
            exits += [self._without_path(s) for s in after if not self._never(ended, s, inside)]
            more = ended.negated()
            later = [self._assuming(s, more) for s in after if not self._never(more, s, inside)]
            keys = {self._forget(s, more, at).key() for s in later}
            if keys - {s.key() for s in history[first + (index + 1) % period]}:
                self._open(f"the iterations of the loop at line {loop.span.line} differ in a way that is not followed")
        return exits

    def _without_path(self, state: State) -> State:
        return replace(state, facts=()) if state.facts else state

    def _assuming(self, state: State, condition: Cond) -> State:
        return state if condition.known is not None else replace(state, facts=(*state.facts, condition))

    def _forget(self, state: State, going: Cond, at: At) -> State:
        """Facts that follow from the loop going on are dropped, so that iterations become comparable."""
        if not state.facts:
            return state
        kept = tuple(f for f in state.facts if f != going and not self._implied(f, going, at))
        return replace(state, facts=kept)

    def _implied(self, fact: Cond, going: Cond, at: At) -> bool:
        if self.world.decide(fact):
            return True
        return self.asker.possible([going, fact.negated(), *running(at, self.world)]).status == "proved"

    def _aged(self, loop: Loop, state: State) -> State:
        def older(instance: Instance) -> Instance:
            number, ages = instance
            return number, tuple(
                (name, kind, min(OLD, age + 1)) if name == loop.counter and kind == "now" else (name, kind, age)
                for name, kind, age in ages
            )

        return renamed(state, older)

    def _left(self, loop: Loop, state: State) -> State:
        """Outside of a loop, an age counts from its end: 1 is the last iteration."""

        def ended(instance: Instance) -> Instance:
            number, ages = instance
            return number, tuple((n, "end" if n == loop.counter else k, a) for n, k, a in ages)

        return renamed(state, ended)

    # ------------------------------------------------------------ events

    def _step(self, event: Event, state: State, at: At) -> State:
        if isinstance(event, (Copy, Use)):
            return self._access(event, state, at)
        if isinstance(event, Signal):
            return self._signal(event, state, at)
        if isinstance(event, Fence):
            return self._fence(event, state)
        assert isinstance(event, Token)
        return self._token(event, state, at)

    def _access(self, event: Copy | Use, state: State, at: At) -> State:
        self.accesses[event.number] = event
        self.meetings.loops_of[event.number] = at.loops
        for instance, known in state.pending.items():
            earlier = self.accesses[instance[0]]
            if event.pipe in known or (event.pipe == earlier.pipe and event.pipe in self.ordered):
                continue
            self._conflict(instance, earlier, event, state, at)
        ages: Ages = tuple((loop.counter, "now", 0) for loop in at.loops)
        pending = dict(state.pending)
        pending[event.number, ages] = frozenset({event.pipe} if event.pipe in self.ordered else ())
        return replace(state, pending=pending)

    def _signal(self, event: Signal, state: State, at: At) -> State:
        self.flags_seen += 1
        number = self.world.put(event.event, at.counters)
        if not number.is_const:
            decided = self._chosen(number, state, at)
            if decided is None:
                self._open(f"the event id at line {event.span.line} is not known")
                return state
            number = Lin(decided)
        flag = (event.source, event.dest, number.const)
        flags = dict(state.flags)
        if event.action == "set":
            if flag in flags:
                before = self._flag_spans[flags[flag][1]]
                self._flag(
                    "twice",
                    flag,
                    event.span,
                    f"the flag {shown_flag(flag)} is set again before it is waited for",
                    "one wait for each set, in order",
                    before,
                )
            done = frozenset(
                i
                for i, known in state.pending.items()
                if self.accesses[i[0]].pipe == event.source or event.source in known
            )
            self._flag_spans[event.span.start] = event.span
            flags[flag] = (done, event.span.start)
            return replace(state, flags=flags)
        if flag not in flags:
            hint = "no set comes before it"
            swapped = (event.dest, event.source, number.const)
            if swapped in flags:
                hint = f"{shown_flag(swapped)} is set: the first pipe of a flag is the one that sets it"
            self._flag(
                "missing",
                flag,
                event.span,
                f"waits for the flag {shown_flag(flag)}, which is not set: {event.dest} never goes on",
                hint,
            )
            return state
        done, _ = flags.pop(flag)
        pending = {i: known | {event.dest} if i in done else known for i, known in state.pending.items()}
        return replace(state, flags=flags, pending=self._kept(pending))

    def _chosen(self, number: Lin, state: State, at: At) -> int | None:
        """The one value a term can have here, if it is one of few."""
        low, high = self.world.interval(number)
        if low is None or high is None or high - low > 64:
            return None
        left = [v for v in range(low, high + 1) if not self._never(compare("eq", number - v), state, at)]
        return left[0] if len(left) == 1 else None

    def _kept(self, pending: Mapping[Instance, frozenset[str]]) -> dict[Instance, frozenset[str]]:
        """Accesses that every pipe in use knows are done with."""
        return {i: known for i, known in pending.items() if not self.pipes <= known}

    def _fence(self, event: Fence, state: State) -> State:
        if event.pipe == "ALL":
            empty: frozenset[Instance] = frozenset()
            flags = {k: (empty, v[1]) for k, v in state.flags.items()}
            return replace(state, pending={}, tokens=dict.fromkeys(state.tokens, frozenset()), flags=flags)
        pending = {
            i: known | {event.pipe} if self.accesses[i[0]].pipe == event.pipe else known
            for i, known in state.pending.items()
        }
        return replace(state, pending=pending)

    def _token(self, event: Token, state: State, at: At) -> State:
        number = self.world.put(event.token, at.counters)
        if not number.is_const:
            decided = self._chosen(number, state, at)
            if decided is None:
                self._open(f"the buffer id at line {event.span.line} is not known")
                return state
            number = Lin(decided)
        mode = self.world.put(event.mode, at.counters)
        tokens = dict(state.tokens)
        if not mode.is_const or mode.const != 0:
            self._open(f"the buffer mode at line {event.span.line} is not followed")
            return state
        if event.action == "rls":
            done = frozenset(
                i for i, known in state.pending.items() if self.accesses[i[0]].pipe == event.pipe or event.pipe in known
            )
            tokens[number.const] = tokens.get(number.const, frozenset()) | done
            return replace(state, tokens=tokens)
        done = tokens.get(number.const, frozenset())
        pending = {i: known | {event.pipe} if i in done else known for i, known in state.pending.items()}
        return replace(state, pending=pending)

    # ------------------------------------------------------------ conflicts

    def _conflict(self, instance: Instance, earlier: Copy | Use, later: Copy | Use, state: State, at: At) -> None:
        for memory, writes, low, high, mine in self.meetings.extents(later):
            for memory_before, wrote, start, end, theirs in self.meetings.extents(earlier):
                if memory != memory_before or not (writes or wrote):
                    continue
                if (low is not None and end is not None and end <= low) or (
                    high is not None and start is not None and high <= start
                ):
                    continue
                kind = "waw" if writes and wrote else "raw" if wrote else "war"
                key = (kind, earlier.span.start, later.span.start)
                if key in self.findings:
                    continue
                met = self.meetings.meet(instance, earlier, theirs, later, mine, state.facts, at)
                if met is None:
                    self.status[f"core/hazard-{kind}"] = "unknown"
                elif met:
                    self._hazard(kind, key, instance, earlier, later, mine.place.space)

    def _hazard(
        self, kind: str, key: Any, instance: Instance, earlier: Copy | Use, later: Copy | Use, space: str
    ) -> None:
        self.status[f"core/hazard-{kind}"] = "refuted"
        one, two = earlier.pipe, later.pipe
        verbs = {"raw": ("writes", "reads"), "war": ("reads", "overwrites"), "waw": ("writes", "overwrites")}[kind]
        ages = [age for _, how, age in instance[1] if how == "now"]
        when = " in an earlier iteration" if any(ages) else ""
        where = space.upper()
        if one == two:
            hint = f"a barrier of {one} between them, or a round trip of flags through another pipe"
        else:
            hint = (
                f'set_flag["PIPE_{one}", "PIPE_{two}", ...] behind the first, wait_flag with the same before the second'
            )
        self.findings[key] = Finding(
            f"core/hazard-{kind}",
            Severity.ERROR,
            f"{two} {verbs[1]} bytes of {where} that {one} {verbs[0]}{when}, and nothing orders them",
            f"{two} after {one}",
            later.span,
            {"pipes": [one, two]},
            None,
            "",
            "documented",
            hint,
            (),
            (Label(earlier.span, f"{one} {verbs[0]} them here"),),
        )

    # ------------------------------------------------------------ flags

    def _flag(
        self,
        what: str,
        flag: Flagged,
        span: Span,
        message: str,
        hint: str,
        before: Span | None = None,
        *,
        warn: bool = False,
    ) -> None:
        key = (what, flag, span.start)
        if key in self.findings:
            return
        self.status["core/flags"] = "refuted"
        labels = (Label(before, "set here"),) if before is not None and before.start != span.start else ()
        self.findings[key] = Finding(
            "core/flags",
            Severity.ERROR,
            message,
            shown_flag(flag),
            span,
            {"flag": list(flag)},
            None,
            "",
            "documented",
            hint,
            (),
            labels,
        )
