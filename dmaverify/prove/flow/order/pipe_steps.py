"""One event of a kernel's pipes: what it changes of what is known, and what it finds.

Knows: pipes, flags, fences, waits and tokens as data; accesses of the same bytes that nothing orders.
Does not know: loops and branches (that is `pipes`), machines, text syntax.
Law: a pipe knows an access when that is surely done before anything the pipe is given next. Two accesses of the same
bytes, one of them a write, are ordered only if the later one's pipe knows the earlier one.

A flag carries what its pipe was given before the set and what that pipe knows; a wait hands it on. A fence tells a pipe
of its own work, a fence of all pipes tells everybody of everything. A token of mode 0 is taken once all that was
released before is done; taking one of mode 1 orders nothing, and its release speaks for all pipes that hold it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from dmaverify.errors import Span
from dmaverify.language.affine import Cond, Lin, World, compare
from dmaverify.program.instructions import (
    OTHER_CORE,
    Arrival,
    BufferToken,
    Copy,
    Event,
    Fence,
    Release,
    Signal,
    Use,
    accumulate,
)
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.loops import At
from dmaverify.prove.flow.accesses.reached import terms_of
from dmaverify.prove.flow.order.pipe_meets import LOADED, Meetings
from dmaverify.prove.flow.order.pipe_state import (
    HAZARDS,
    OLD,
    Ages,
    Encounter,
    Flagged,
    Instance,
    State,
    hazard,
    running,
    shown_flag,
)
from dmaverify.values import dataclass, field
from dmaverify.verdict import Finding, Label, Severity

NOBODY: frozenset[str] = frozenset()
MOST_IDS = 8  # ids that one event may be about
MOST_ALIKE = 4  # accesses of one pipe and the same bytes that are told apart
NOTHING: frozenset[Instance] = frozenset()


@dataclass
class PipeSteps:
    """What is known after each event, and findings. `ordered` are pipes whose own work is done in order.

    In the memories `outer`, rows whose addresses come from memory are taken to lie apart (`apart` holds the lines).
    """

    asker: Asker
    ordered: Sequence[str] = ("V", "S")
    outer: Sequence[str] = ()
    findings: dict[Any, Finding] = field(default_factory=dict)
    met: dict[Any, Encounter] = field(default_factory=dict)  # of a hazard that is found, by the key of its finding
    status: dict[str, str] = field(default_factory=dict)
    accesses: dict[int, Copy | Use] = field(default_factory=dict)
    said: dict[str, None] = field(default_factory=dict)
    apart: dict[tuple[int, int], None] = field(default_factory=dict)
    steps: int = 0
    lost: bool = False  # an event that orders something was not understood: what seems to lack order may have it
    why: str = ""
    pipes: frozenset[str] = frozenset()
    blurred: set[Instance] = field(default_factory=set)  # that stand for accesses of which not the same is known
    shared: frozenset[tuple[str, str]] = frozenset()  # memories of which the other core touches something
    near: Mapping[int, frozenset[int]] = field(default_factory=dict)  # accesses that may share a byte
    _depends: dict[int, frozenset[str]] = field(default_factory=dict)
    _alike: dict[int, dict[int, None]] = field(default_factory=dict)
    _flag_spans: dict[int, Span] = field(default_factory=dict)

    @property
    def world(self) -> World:
        return self.asker.world

    @cached_property
    def meetings(self) -> Meetings:
        return Meetings(self.asker)

    def _open(self, why: str, *, lost: bool = False) -> None:
        self.why = self.why or why
        self.lost = self.lost or lost
        for name in ("core/flags", *HAZARDS):
            if self.status.get(name) != "refuted":
                self.status[name] = "unknown"

    def _never(self, condition: Cond, state: State, at: At) -> bool:
        decided = self.world.decide(condition)
        if decided is not None:
            return not decided
        conditions = [condition, *state.facts, *running(at, self.world)]
        return self.asker.possible(conditions).status == "proved"

    # ------------------------------------------------------------ events

    def _parted(self, event: Event, state: State, at: At) -> list[State]:
        """The state once for each of the few ids that an event may be about, with that as a fact."""
        if not isinstance(event, (Signal, BufferToken)):
            return [state]
        number = self.world.put(event.event if isinstance(event, Signal) else event.token, at.counters)
        low, high = self.world.interval(number)
        if number.is_const or low is None or high is None or high - low >= MOST_IDS:
            return [state]
        cases = [compare("eq", number - v) for v in range(low, high + 1) if self._may_be(number, v, state, at)]
        return [state.under((*state.facts, case)) for case in cases] if len(cases) > 1 else [state]

    def _step(self, event: Event, state: State, at: At) -> State:
        if isinstance(event, (Copy, Use)):
            return self._access(event, state, at)
        if isinstance(event, Signal):
            return self._signal(event, state, at)
        if isinstance(event, Fence):
            return self._fence(event, state)
        if isinstance(event, (Arrival, Release)):
            return state
        assert isinstance(event, BufferToken)
        return self._token(event, state, at)

    def _access(self, event: Copy | Use, state: State, at: At) -> State:
        near = self.near.get(event.number, frozenset())
        if not near:
            return state
        self.accesses[event.number] = event
        self.meetings.loops_of[event.number] = at.loops
        self.steps += len(state.pending) // 16 if at.loops else 0
        ages: Ages = tuple((loop.counter, "now", 0) for loop in at.loops)
        for instance, known in state.pending.items():
            if instance[0] not in near or event.pipe in known:
                continue
            earlier = self.accesses[instance[0]]
            if instance[1] != ages or not _one_step(earlier, event):
                self._conflict(instance, earlier, event, state, at)
        if isinstance(event, Use) and event.at_once:
            self._conflict((event.number, ages), event, event, state, at)
        others = near & self.accesses.keys() - {event.number} if isinstance(event, Use) and event.step >= 0 else ()
        if not any(_one_step(self.accesses[n], event) for n in others):
            state = self._replaced(event, state, at)
        known = frozenset({event.pipe} if self._in_order(event.pipe) else ())
        pending = self._without_alike(event, ages, state)
        pending[event.number, ages] = known
        return State(state.flags, pending, state.tokens, state.facts)

    def _in_order(self, pipe: str) -> bool:
        """Whether a pipe does its own work in order; what the other core does to itself is not judged here."""
        return pipe in self.ordered or pipe == OTHER_CORE

    def _without_alike(self, event: Copy | Use, ages: Ages, state: State) -> dict[Instance, frozenset[str]]:
        """What is pending, of many accesses of one pipe to the same bytes only the last ones.

        Let F be dropped for N, the new access: one kind, so the same pipe, touches, conditions and loops; the same
        ages; and whoever knows N, which at first is its own pipe at most, knows F. That stays so: a set hands on what
        its pipe was given or knows, so with N also F, which is of the same pipe; a wait, a fence and a token add a
        pipe to F where they add it to N; what came before N speaks of F at most; iterations end for both alike; where
        a newer instance replaces N it stands for both. So whoever is not ordered behind F is not ordered behind N, and
        meets N where it meets F: no finding is lost but the one that would have named F. A test holds it against a
        judge that drops nothing.
        """
        pending = dict(state.pending)
        alike = self._alike.setdefault(self.meetings.kind(event), {})
        alike[event.number] = None
        if len(alike) > MOST_ALIKE:
            first = next(iter(alike))
            del alike[first]
            pending.pop((first, ages), None)
        return pending

    def _replaced(self, event: Copy | Use, state: State, at: At) -> State:
        """The state without earlier instances of an access that touched the same bytes: it stands for them, as nobody
        knows it yet.
        """
        moving = self._moving(event, at)
        same = {
            instance
            for instance in state.pending
            if instance[0] == event.number
            and all(kind == "now" and not age for name, kind, age in instance[1] if name in moving)
        }
        if not same:
            return state
        pending = {i: known for i, known in state.pending.items() if i not in same}
        flags = {k: (done - same, at_) for k, (done, at_) in state.flags.items()}
        tokens = {k: (done - same, held) for k, (done, held) in state.tokens.items()}
        return State(flags, pending, tokens, state.facts)

    def _moving(self, event: Copy | Use, at: At) -> frozenset[str]:
        """Counters of the loops around on which it depends what an access touches."""
        if event.number not in self._depends:
            told: list[Lin | Cond] = [*(x for t in event.touches for x in terms_of(t)), *event.when]
            roots = {n for value in told for n in self.world.roots(value)}
            varies = {n for r in roots for n in self.world.symbols[r].varies}
            self._depends[event.number] = frozenset(roots | varies)
        found = self._depends[event.number]
        trips = {n for loop in at.loops for n in self.world.roots(loop.trip)}  # bounds that another counter gives
        return found | (trips & {loop.counter for loop in at.loops})

    def _signal(self, event: Signal, state: State, at: At) -> State:
        number = self._number(event.event, "event id", event.span, state, at)
        if number is None:
            return state
        flag = (event.source, event.dest, number)
        flags = dict(state.flags)
        if event.action == "set":
            if flag in flags:
                before = self._flag_spans[flags[flag][1]]
                said = f"the flag {shown_flag(flag)} is set again before it is waited for"
                self._flag("twice", flag, event.span, said, "one wait for each set, in order", before)
            self._flag_spans[event.span.start] = event.span
            flags[flag] = (self._done((event.source,), state), event.span.start)
            return State(flags, state.pending, state.tokens, state.facts)
        if flag not in flags:
            hint = "no set comes before it"
            swapped = (event.dest, event.source, number)
            if swapped in flags:
                hint = f"{shown_flag(swapped)} is set: the first pipe of a flag is the one that sets it"
            said = f"waits for the flag {shown_flag(flag)}, which is not set: {event.dest} never goes on"
            self._flag("missing", flag, event.span, said, hint)
            return state
        done, _ = flags.pop(flag)
        pending = {i: known | {event.dest} if i in done else known for i, known in state.pending.items()}
        return State(flags, self._kept(pending), state.tokens, state.facts)

    def _number(self, term: Lin, what: str, span: Span, state: State, at: At) -> int | None:
        """The one value that an id can have here, if it is one of few; None where it is not known, which is said."""
        number = self.world.put(term, at.counters)
        low, high = self.world.interval(number)
        if low is not None and high is not None and high - low <= 64:
            left = [v for v in range(low, high + 1) if low == high or self._may_be(number, v, state, at)]
            if len(left) == 1:
                return left[0]
        self._open(f"the {what} at line {span.line} is not known", lost=True)
        return None

    def _may_be(self, number: Lin, value: int, state: State, at: At) -> bool:
        return not self._never(compare("eq", number - value), state, at)

    def _kept(self, pending: Mapping[Instance, frozenset[str]]) -> dict[Instance, frozenset[str]]:
        """Accesses that every pipe in use knows are done with; the other core needs to know those of its memories."""
        own = self.pipes - {OTHER_CORE}
        return {
            i: known
            for i, known in pending.items()
            if not own <= known or (OTHER_CORE in self.pipes - known and self._is_shared(i))
        }

    def _is_shared(self, instance: Instance) -> bool:
        return any(t.place.memory in self.shared for t in self.accesses[instance[0]].touches)

    def _fence(self, event: Fence, state: State) -> State:
        if event.pipe == "ALL":
            own = self.pipes - {OTHER_CORE}
            pending = {
                i: known | own if self.accesses[i[0]].pipe != OTHER_CORE or known - {OTHER_CORE} else known
                for i, known in state.pending.items()
            }
            pending = self._kept(pending)
            left = frozenset(pending)
            flags = {k: (done & left, at) for k, (done, at) in state.flags.items()}
            tokens = {k: (done & left, holders) for k, (done, holders) in state.tokens.items()}
            return State(flags, pending, tokens, state.facts)
        pending = {
            i: known | {event.pipe} if self.accesses[i[0]].pipe == event.pipe else known
            for i, known in state.pending.items()
        }
        return State(state.flags, pending, state.tokens, state.facts)

    def _token(self, event: BufferToken, state: State, at: At) -> State:
        number = self._number(event.token, "buffer id", event.span, state, at)
        if number is None:
            return state
        mode = self.world.put(event.mode, at.counters)
        if not mode.is_const or mode.const not in (0, 1):
            said = f"mode {mode.const:,}" if mode.is_const else "a mode that is no number"
            why = f"the buffer at line {event.span.line} has {said}: only 0 and 1 have a meaning that is known"
            self._open(why, lost=True)
            return state
        if mode.const:
            self.said[
                "buffers of mode 1: a get orders nothing, a release comes after the work of all pipes that hold the id "
                "(inferred)"
            ] = None
        tokens = dict(state.tokens)
        released, holders = tokens.get(number, (NOTHING, NOBODY))
        if (event.pipe in holders) == (event.action == "get"):
            again = "taken again" if event.pipe in holders else "given back, and was not taken"
            self._unpaired(f"the buffer {number} is {again} by {event.pipe} at line {event.span.line}")
        if event.action == "rls":
            pipes = {event.pipe} | holders if mode.const else {event.pipe}
            tokens[number] = (released | self._done(pipes, state), holders - {event.pipe})
            return State(state.flags, state.pending, tokens, state.facts)
        tokens[number] = (released, holders | {event.pipe})
        if mode.const:
            return State(state.flags, state.pending, tokens, state.facts)
        pending = {i: known | {event.pipe} if i in released else known for i, known in state.pending.items()}
        return State(state.flags, pending, tokens, state.facts)

    def _unpaired(self, said: str) -> None:
        """That a buffer is not taken and given back in turns: a mistake, of which no document says what it stops."""
        self.why = self.why or f"{said}: what that stops is not documented"
        if self.status["core/flags"] != "refuted":
            self.status["core/flags"] = "unknown"

    def _done(self, pipes: Collection[str], state: State) -> frozenset[Instance]:
        """What is surely done when these pipes have done all that they were given so far."""
        return frozenset(
            i for i, known in state.pending.items() if self.accesses[i[0]].pipe in pipes or not known.isdisjoint(pipes)
        )

    # ------------------------------------------------------------ conflicts

    def _conflict(self, instance: Instance, earlier: Copy | Use, later: Copy | Use, state: State, at: At) -> None:
        """Whether two accesses that nothing orders share a byte; of one and the same, two of its touches."""
        same = earlier is later and not any(age or kind != "now" for _, kind, age in instance[1])
        for index, (memory, writes, low, high, mine) in enumerate(self.meetings.extents(later)):
            others = self.meetings.extents(earlier)
            for memory_before, wrote, start, end, theirs in others[:index] if same else others:
                if memory != memory_before or not (writes or wrote):
                    continue
                if (low is not None and end is not None and end <= low) or (
                    high is not None and start is not None and high <= start
                ):
                    continue
                kind = "waw" if writes and wrote else "raw" if wrote else "war"
                known = state.pending.get(instance, NOBODY)
                both = Encounter(kind, instance, earlier, theirs, later, mine, state.facts, at, known)
                if not self._told(both):
                    self._tell(both, self.meetings.meet(both))

    def _told(self, both: Encounter) -> bool:
        """Whether nothing is to be said of two accesses that meet, or all is said already."""
        if both.kind == "waw" and accumulate(both.earlier, both.later):
            self.said["stores of one atomic mode may come in any order: which of the sums of floats is not judged"] = (
                None
            )
            return True
        found = self.findings.get((both.kind, both.earlier.span.start, both.later.span.start))
        return found is not None and (both.doubtful or found.basis != "inferred")

    def _tell(self, both: Encounter, met: bool | str | None) -> None:
        """Puts down what two accesses that nothing orders are found to be: apart, meeting, or open."""
        kind, earlier, later, mine = both.kind, both.earlier, both.later, both.mine
        if met == LOADED and mine.place.space in self.outer:
            self.apart[earlier.span.line, later.span.line] = None
            return
        where = f"lines {earlier.span.line} and {later.span.line}"
        why = ""
        if met and met != LOADED and mine.open and both.theirs.open and later.pipe == earlier.pipe:
            why = f"whether {later.pipe} does {where} in order is not documented"
        elif met is None or met == LOADED or (met and (self.lost or both.anywhere)):
            why = f"whether {where} meet depends on values that are not followed"
            if both.doubtful:
                return
        elif met and both.instance in self.blurred:
            why = f"whether {where} are ordered is not followed for more than {OLD} iterations"
        elif met:
            if both.doubtful:
                why = f"whether {where} need an order is not documented"
            else:
                self.status[f"core/hazard-{kind}"] = "refuted"
            key = kind, earlier.span.start, later.span.start
            self.findings[key], self.met[key] = hazard(both), both
        if why:
            if self.status[f"core/hazard-{kind}"] != "refuted":
                self.status[f"core/hazard-{kind}"] = "unknown"
            self.why = self.why or why

    # ------------------------------------------------------------ flags

    def _flag(self, what: str, flag: Flagged, span: Span, message: str, hint: str, before: Span | None = None) -> None:
        key = (what, flag, span.start)
        if key in self.findings or self.lost:
            return
        self.status["core/flags"] = "refuted"
        labels = (Label(before, "set here"),) if before is not None and before.start != span.start else ()
        told, values = shown_flag(flag), {"flag": list(flag)}
        self.findings[key] = Finding(
            "core/flags", Severity.ERROR, message, told, span, values, hint=hint, labels=labels
        )  # fmt: skip


def _one_step(one: Copy | Use, other: Copy | Use) -> bool:
    """Whether both are parts of one step of a program."""
    return isinstance(one, Use) and isinstance(other, Use) and one.step == other.step >= 0
