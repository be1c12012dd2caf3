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
from math import gcd, lcm
from typing import Any

from dmaverify.errors import Span
from dmaverify.prove.ask import Asker
from dmaverify.prove.pipe_state import (
    EMPTY,
    Ages,
    Flagged,
    Instance,
    State,
    numbers_of,
    pipes_of,
    placed,
    reach_of,
    renamed,
    shown_flag,
    solid,
)
from dmaverify.transfer.affine import Cond, Lin, World, compare
from dmaverify.transfer.instructions import Branch, Copy, Event, Fence, Loop, Signal, Token, Touch, Use
from dmaverify.verdict import Finding, Label, Severity

MOST_STEPS = 48  # iterations of one loop that are followed until its state must have repeated
SMALL_TRIP = 32  # loops of at most this many iterations are followed to their end
OLD = 6  # ages from this on are one: "at least so many iterations ago"
MOST_STATES = 24


@dataclass(frozen=True, slots=True)
class _At:
    """Where the walk is: the counters of the loops around as terms, and those loops from the outside in."""

    counters: Mapping[str, Lin]
    loops: tuple[Loop, ...] = ()


@dataclass
class PipeJudge:
    """Follows a kernel and collects findings. `ordered` are pipes whose own work is done in order."""

    asker: Asker
    ordered: Sequence[str] = ("V", "S")
    findings: dict[Any, Finding] = field(default_factory=dict)
    status: dict[str, str] = field(default_factory=dict)
    accesses: dict[int, Copy | Use] = field(default_factory=dict)
    loops_of: dict[int, tuple[Loop, ...]] = field(default_factory=dict)
    flags_seen: int = 0
    why: str = ""
    pipes: frozenset[str] = frozenset()
    _overlaps: dict[Any, bool | None] = field(default_factory=dict)
    _fresh: int = 0
    _ends: dict[int, tuple[int | None, int]] = field(default_factory=dict)
    _kept_alive: list[Touch] = field(default_factory=list)
    _flag_spans: dict[int, Span] = field(default_factory=dict)

    @property
    def world(self) -> World:
        return self.asker.world

    def judge(self, events: Sequence[Event]) -> None:
        for name in ("core/flags", "core/hazard-raw", "core/hazard-war", "core/hazard-waw"):
            self.status.setdefault(name, "proved")
        self.pipes = frozenset(pipes_of(events))
        for state in self._run(events, [EMPTY], _At({})):
            for flag, (_, start) in state.flags.items():
                span = self._flag_spans[start]
                said = f"the flag {shown_flag(flag)} is set and never waited for"
                self._flag(
                    "left", flag, span, said, "wait for it before the end: the next kernel finds it set", warn=True
                )

    # ------------------------------------------------------------ walking

    def _run(self, events: Sequence[Event], states: list[State], at: _At) -> list[State]:
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

    def _branch(self, event: Branch, state: State, at: _At) -> Iterator[State]:
        when = self.world.put_cond(event.when, at.counters)
        for condition, body in ((when, event.then), (when.negated(), event.other)):
            if self._never(condition, state, at):
                continue
            surely = self._never(condition.negated(), state, at)
            facts = state.facts if surely or condition.known is not None else (*state.facts, condition)
            yield from self._run(body, [replace(state, facts=facts)], at)

    def _never(self, condition: Cond, state: State, at: _At) -> bool:
        decided = self.world.decide(condition)
        if decided is not None:
            return not decided
        conditions = [condition, *state.facts, *self._running(at)]
        return self.asker.possible(conditions).status == "proved"

    def _running(self, at: _At) -> list[Cond]:
        """That every loop around is inside its range."""
        out = []
        for loop in at.loops:
            claim = compare("lt", at.counters[loop.counter] - self.world.put(loop.trip, at.counters))
            if claim.known is None:
                out.append(claim)
        return out

    # ------------------------------------------------------------ loops

    def _loop(self, loop: Loop, states: list[State], at: _At) -> list[State]:
        trip = self.world.put(loop.trip, at.counters)
        out: list[State] = []
        for state in states:
            out += self._iterations(loop, trip, state, at)
        left = [self._left(loop, state) for state in out]
        alike: dict[Any, list[State]] = {}
        for state in left:
            alike.setdefault(self._without_path(state).key(), []).append(state)
        return [group[0] if len(group) == 1 else self._without_path(group[0]) for group in alike.values()]

    def _iterations(self, loop: Loop, trip: Lin, state: State, at: _At) -> list[State]:
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
            inside = _At({**at.counters, loop.counter: here}, (*at.loops, loop))
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

    def _cycle(self, loop: Loop, trip: Lin, at: _At, history: list[list[State]], first: int, step: int) -> list[State]:
        """All later iterations at once: number `first + j + period * m`, for every m, in the state that repeats."""
        period = step - first
        self._fresh += 1
        rounds = self.world.free(f"round{self._fresh}", 0, None, shown=f"round of {loop.counter}")
        exits: list[State] = []
        for index in range(period):
            here = rounds * period + (first + index)
            inside = _At({**at.counters, loop.counter: here}, (*at.loops, loop))
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

    def _forget(self, state: State, going: Cond, at: _At) -> State:
        """Facts that follow from the loop going on are dropped, so that iterations become comparable."""
        if not state.facts:
            return state
        kept = tuple(f for f in state.facts if f != going and not self._implied(f, going, at))
        return replace(state, facts=kept)

    def _implied(self, fact: Cond, going: Cond, at: _At) -> bool:
        if self.world.decide(fact):
            return True
        return self.asker.possible([going, fact.negated(), *self._running(at)]).status == "proved"

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

    def _step(self, event: Event, state: State, at: _At) -> State:
        if isinstance(event, (Copy, Use)):
            return self._access(event, state, at)
        if isinstance(event, Signal):
            return self._signal(event, state, at)
        if isinstance(event, Fence):
            return self._fence(event, state)
        assert isinstance(event, Token)
        return self._token(event, state, at)

    def _access(self, event: Copy | Use, state: State, at: _At) -> State:
        self.accesses[event.number] = event
        self.loops_of[event.number] = at.loops
        for instance, known in state.pending.items():
            earlier = self.accesses[instance[0]]
            if event.pipe in known or (event.pipe == earlier.pipe and event.pipe in self.ordered):
                continue
            self._conflict(instance, earlier, event, state, at)
        ages: Ages = tuple((loop.counter, "now", 0) for loop in at.loops)
        pending = dict(state.pending)
        pending[event.number, ages] = frozenset({event.pipe} if event.pipe in self.ordered else ())
        return replace(state, pending=pending)

    def _signal(self, event: Signal, state: State, at: _At) -> State:
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

    def _chosen(self, number: Lin, state: State, at: _At) -> int | None:
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

    def _token(self, event: Token, state: State, at: _At) -> State:
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

    def _conflict(self, instance: Instance, earlier: Copy | Use, later: Copy | Use, state: State, at: _At) -> None:
        for mine in later.touches:
            for theirs in earlier.touches:
                if (
                    mine.place.memory != theirs.place.memory
                    or not (mine.writes or theirs.writes)
                    or "surplus" in (mine.kind, theirs.kind)
                ):
                    continue
                kind = "waw" if mine.writes and theirs.writes else "raw" if theirs.writes else "war"
                key = (kind, earlier.span.start, later.span.start)
                doubtful = any(isinstance(e, Use) and e.inferred != "" for e in (earlier, later))
                found = self.findings.get(key)
                if (found is not None and (doubtful or found.basis != "inferred")) or self._far(theirs, mine):
                    continue
                met = self._meet(instance, earlier, theirs, later, mine, state, at)
                if met:
                    self._hazard(kind, key, instance, earlier, later, mine.place.space, doubtful=doubtful)
                elif met is None and not doubtful:
                    self.status[f"core/hazard-{kind}"] = "unknown"

    def _far(self, one: Touch, two: Touch) -> bool:
        """Whether two touches with numbers alone lie apart, by their first and last bytes."""
        ends = []
        for touch in (one, two):
            found = self._ends.get(id(touch))
            if found is None:
                found = numbers_of(touch)
                self._ends[id(touch)] = found
                self._kept_alive.append(touch)
            ends.append(found)
        (a, b), (c, d) = ends
        return a is not None and c is not None and (b <= c or d <= a)

    def _hazard(
        self,
        kind: str,
        key: Any,
        instance: Instance,
        earlier: Copy | Use,
        later: Copy | Use,
        space: str,
        *,
        doubtful: bool,
    ) -> None:
        if not doubtful:
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
            Severity.WARNING if doubtful else Severity.ERROR,
            f"{two} {verbs[1]} bytes of {where} that {one} {verbs[0]}{when}, and nothing orders them",
            f"{two} after {one}",
            later.span,
            {"pipes": [one, two]},
            None,
            "",
            "inferred" if doubtful else "documented",
            hint,
            (),
            (Label(earlier.span, f"{one} {verbs[0]} them here"),),
        )

    def _meet(
        self,
        instance: Instance,
        earlier: Copy | Use,
        theirs: Touch,
        later: Copy | Use,
        mine: Touch,
        state: State,
        at: _At,
    ) -> bool | None:
        """Whether both can touch one byte; None where that is open."""
        counters, facts = self._instant(instance, at)
        key = (instance, id(theirs), id(mine), tuple(sorted(at.counters.items())), state.facts)
        if key not in self._overlaps:
            conditions = [
                *facts,
                *state.facts,
                *self._running(at),
                *(self.world.put_cond(c, counters) for c in earlier.when),
                *(self.world.put_cond(c, at.counters) for c in later.when),
            ]
            self._overlaps[key] = self._share(
                placed(theirs, self.world, counters), placed(mine, self.world, at.counters), conditions
            )
        return self._overlaps[key]

    def _instant(self, instance: Instance, at: _At) -> tuple[dict[str, Lin], list[Cond]]:
        """The counters of an earlier access: those of loops still running by age, of ended loops from their end."""
        number, ages = instance
        counters: dict[str, Lin] = {}
        facts: list[Cond] = []
        for loop, (name, kind, age) in zip(self.loops_of[number], ages, strict=True):
            trip = self.world.put(loop.trip, {**at.counters, **counters})
            top = at.counters[name] if kind == "now" and name in at.counters else trip
            if age < OLD:
                counters[name] = top - age
            else:
                self._fresh += 1
                counters[name] = self.world.free(f"before{self._fresh}", 0, None, shown=f"earlier {name}")
                facts.append(compare("le", counters[name] - top + age))
            for bound in (compare("le", -counters[name]), compare("lt", counters[name] - trip)):
                facts += [bound] if bound.known is None else []
        return counters, facts

    def _share(self, one: Touch, two: Touch, conditions: Sequence[Cond]) -> bool | None:
        world = self.world
        if one.open or two.open:
            return self._unknown_extent(one, two, conditions)
        touched = [compare("lt", -t.length) for t in (one, two)]
        if any(claim.known is False for claim in touched):
            return False
        conditions = [*conditions, *(claim for claim in touched if claim.known is None)]
        gap = two.place.address + two.offset - one.place.address - one.offset
        ends = [reach_of(t, world) for t in (one, two)]
        apart = [compare("le", ends[0][1] - gap - ends[1][0]), compare("le", gap + ends[1][1] - ends[0][0])]
        if any(world.decide(claim) for claim in apart):
            return False
        flat = not any(t.steps for t in (one, two)) or (gap.is_const and solid(one) and solid(two))
        claims = [claim.negated() for claim in apart]
        if not flat:
            return self._rows(one, two, gap, conditions)
        return self._yes([*claims, *conditions])

    def _yes(self, conditions: Sequence[Cond]) -> bool | None:
        if all(c.known for c in conditions):
            return True
        status = self.asker.possible(conditions).status
        return {"proved": False, "refuted": True}.get(status)

    def _unknown_extent(self, one: Touch, two: Touch, conditions: Sequence[Cond]) -> bool | None:
        """An access whose extent is not known touches the buffer that it names: whatever begins at its address."""
        open_, other = (one, two) if one.open else (two, one)
        gap = open_.place.address - other.place.address - other.offset
        low, high = reach_of(other, self.world)
        return self._yes([compare("le", low - gap), compare("lt", gap - high), *conditions])

    def _rows(self, one: Touch, two: Touch, gap: Lin, conditions: Sequence[Cond]) -> bool | None:
        """Whether any two rows share a byte: counters of both nests as unknowns."""
        variables: list[tuple[str, int | None, int | None]] = []
        texts: list[str] = []
        names: list[str] = []
        sums: list[str] = [self.world.text(gap)]
        names += [n for n, _ in gap.terms]
        for prefix, touch, sign in (("a", one, "-"), ("b", two, "+")):
            for index, (count, stride) in enumerate(touch.steps):
                if count == Lin(1):
                    continue
                name = f"{prefix}{index}"
                variables.append((name, 0, None))
                texts.append(f"(< {name} {self.world.text(count)})")
                product = f"(* {self.world.text(stride)} {name})"
                sums.append(product if sign == "+" else f"(- {product})")
                names += [n for term in (count, stride) for n, _ in term.terms]
        total = f"(+ {' '.join(sums)} 0)"
        names += [n for t in (one, two) for n, _ in t.length.terms]
        texts.append(f"(and (< {total} {self.world.text(one.length)}) (< (- {total}) {self.world.text(two.length)}))")
        reply = self.asker.possible(list(conditions), variables, texts, names)
        return {"proved": False, "refuted": True}.get(reply.status)

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
