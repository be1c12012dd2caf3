"""A kernel of copy instructions, judged whole: each copy, then their order, then what is read.

Knows: the order of judgement and how its parts become findings, statuses and assumptions.
Does not know: machines by name, text syntax, verdicts.
Law: what a part leaves open stays open; every assumption that a proof needed is said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from dmaverify.language.affine import Cond, Lin, World, compare
from dmaverify.program.instructions import (
    Arrival,
    BufferToken,
    Copy,
    Event,
    Fit,
    NumberNeed,
    OperationFact,
    Shared,
    Signal,
    Use,
)
from dmaverify.program.rewrite import every, spread, touches_in, with_loops
from dmaverify.program.sticky import RegisterEvent
from dmaverify.prove.flow.accesses.ask import Asker, shown, term_text
from dmaverify.prove.flow.accesses.peeled import peeled
from dmaverify.prove.flow.accesses.ranges import as_narrow_as
from dmaverify.prove.flow.initialization.definite import MORE_ROUNDS, DefiniteJudge
from dmaverify.prove.flow.initialization.definite_at_values import unwritten_at_values
from dmaverify.prove.flow.instructions import CopyJudge
from dmaverify.prove.flow.needs import judge_fits, judge_needs
from dmaverify.prove.flow.order.other_core import meets_arrival, with_other_core
from dmaverify.prove.flow.order.pipe_cases import confirm, found_at_values, unconfirmed
from dmaverify.prove.flow.order.pipe_fixpoint import proved_at_once
from dmaverify.prove.flow.order.pipes import PipeJudge
from dmaverify.prove.flow.order.two_cores import RULE as OTHER
from dmaverify.prove.flow.order.two_cores import TwoCores, other_core_of
from dmaverify.prove.flow.room import RULE as ROOM
from dmaverify.prove.flow.room import Places, Rooms, crowded, lying, placed
from dmaverify.prove.flow.stating import grounds, notes_to_paste, plainer, plainer_term, shown_sum
from dmaverify.prove.flow.uses import judge_uses
from dmaverify.prove.options import Options
from dmaverify.prove.smt import solver_version
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field
from dmaverify.verdict import Finding

MOST_LINES = 4  # reads that a reason names
DEFINITE = "core/definite"


class KernelProgram(Protocol):
    """What a front end gives: symbols, events in order of issue, the copies among them."""

    world: World
    events: tuple[Event, ...]
    copies: list[Copy]
    fits: list[Fit]
    needs: list[NumberNeed]
    facts: list[OperationFact]

    @property
    def rooms(self) -> Rooms: ...

    kept: Sequence[RegisterEvent]


@dataclass
class JudgedKernel:
    """Findings, obligations as (status, by, why), assumptions in words, and those that nobody states."""

    findings: list[Finding] = field(default_factory=list)
    obligations: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    given_up: bool = False  # its order was too long to be followed
    sequential: bool = False  # its order is that of the text, whoever keeps it
    solver: str = ""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    judge: CopyJudge | None = None
    order: tuple[Sequence[Event], Sequence[str]] | None = None  # events and pipes in order, of one core by itself
    read: str = ""  # the one memory of which it was followed what is written before it is read
    open_reads: int = 0  # of which it is open whether what they read was written


def judge_kernel(
    program: KernelProgram,
    target: Target,
    options: Options,
    extents: Mapping[str, int | Lin],
    ordered: Sequence[str],
    memory: tuple[str, int],
    others: Sequence[Shared] = (),
    outer: Sequence[str] = (),
    *,
    followed: bool = True,
    beside: Sequence[Event] = (),
    sequential: bool = False,
) -> JudgedKernel:
    """All that can be said of a kernel under the readings of `options`.

    `others` is what is stated of another core, `beside` its events where the text holds them; `followed` is False
    where values of the kernel are not known, so that no run of it is known either; `sequential` says that whoever
    lowers the kernel orders its pipes, as it stands in the text. Other memories in which accesses ask for written
    bytes (`needs`) are followed as this one.
    """
    asker = Asker(program.world, options.rlimit)
    judge = CopyJudge(target, asker, options.readings, extents, around=_around(program.events))
    _judge_each(program, judge)
    kernel = _Kernel(program, asker, judge, ordered, outer, memory, followed, sequential)
    kernel.take_rules()
    others = kernel.shared_with(others, beside)
    waits = tuple(spread(program.events, lambda e: () if isinstance(e, Use) and not e.pipe else (e,)))
    waits = with_other_core(waits, others, memory) if others else waits
    seen = with_other_core(program.events, others, memory, order=False) if others else program.events
    apart = kernel.order(waits)
    kernel.out.order = None if sequential or others or beside else (waits, ordered)
    supposed = kernel.initialization(seen, others)
    kernel.conditions([*judge.assumed, *((need, DEFINITE) for need in supposed)], apart)
    out = kernel.out
    out.asked, out.judge = list(asker.session.asked), judge
    out.solver = solver_version() if asker.session.asked else ""
    return out


def _judge_each(program: KernelProgram, judge: CopyJudge) -> None:
    """Each copy, access, field and signal by itself."""
    for copy in program.copies:
        judge.judge(copy)
    judge_uses(judge, program.events)
    judge_fits(judge, program.fits)
    judge_needs(judge, program.needs)
    for fact in (*program.facts, *crowded(program.events, program.rooms)):
        judge.judge_ports("operation", fact.ports, fact.what, fact.span, fact.when)
    for event in every(program.events):
        if isinstance(event, Signal):
            judge.judge_ports("flag", {"event_id": event.event}, "flag", event.span, event.when)
        elif isinstance(event, BufferToken):
            judge.judge_ports("buffer", {"buffer_id": event.token}, "buffer", event.span, event.when)


@dataclass
class _Kernel:
    """One kernel on its way through the parts, each of which adds to `out`; arguments as those of `judge_kernel`."""

    program: KernelProgram
    asker: Asker
    judge: CopyJudge
    ordered: Sequence[str]
    outer: Sequence[str]
    memory: tuple[str, int]
    followed: bool
    sequential: bool
    out: JudgedKernel = field(default_factory=JudgedKernel)

    def take_rules(self) -> None:
        """What was found of each copy by itself."""
        judge, out = self.judge, self.out
        out.findings, out.sequential = list(judge.findings), self.sequential
        broken = {f.rule for f in out.findings if f.severity.value == "error"}
        for name in sorted(judge.evaluated | judge.used):
            status = "refuted" if name in broken else judge.status.get(name, "proved")
            why = _carried(self.asker) if status == "unknown" else ""
            out.obligations[name] = (status, "for all values" if self.program.world.symbols else "numbers", why)

    def shared_with(self, stated: Sequence[Shared], beside: Sequence[Event]) -> Sequence[Shared]:
        """What the other core does with the same memory: as it is stated, and as its events say."""
        cores = TwoCores(tuple(stated))
        if not self.sequential:
            cores = other_core_of(
                self.program.events, beside, stated, self.asker, self.ordered, self.outer, self.memory
            )
        if cores.status:
            self.out.obligations[OTHER] = (cores.status, cores.by, cores.why)
        self.out.findings += cores.findings
        self.out.assumptions += cores.assumptions
        return cores.shared

    # ------------------------------------------------------------ order and room

    def order(self, waits: tuple[Event, ...]) -> Collection[tuple[int, int]]:
        """What pipes do at once; the lines of rows that are supposed not to collide."""
        out = self.out
        pipes = self._ordered(waits)
        if found := placed(self.program.events, self.program.rooms):
            why = "; ".join(filter(None, (self._no_room(waits, memory, ways) for memory, ways in found.items())))
            out.obligations[ROOM] = ("unknown" if why else "proved", "lifetimes", why)
        out.given_up = pipes.given_up
        out.findings += pipes.findings.values()
        for name, status in pipes.status.items():
            out.obligations[name] = (status, "every path and iteration", pipes.why if status == "unknown" else "")
        out.assumptions += [*self.judge.said, *pipes.said]
        return pipes.apart

    def _ordered(self, events: tuple[Event, ...]) -> PipeJudge:
        if self.sequential:
            return PipeJudge(self.asker)
        return _order(events, self.asker, self.ordered, self.outer, followed=self.followed)

    def _no_room(self, waits: tuple[Event, ...], memory: str, ways: Sequence[Places]) -> str:
        """Why it is open whether the buffers of a memory have room."""
        if not ways:
            return f"no place was found for all buffers of {memory} that may live at once"
        found = ["" if self.sequential else _unordered(self._ordered(lying(waits, memory, places))) for places in ways]
        if not all(found):
            return ""
        return f"buffers of {memory} have to share bytes, and {found[0]}"

    # ------------------------------------------------------------ initialization

    def initialization(self, seen: tuple[Event, ...], others: Sequence[Shared]) -> list[Cond]:
        """What is read before it is written, in all memories that need it; gives what was supposed."""
        asker, out = self.asker, self.out
        with as_narrow_as(self.program.world, asker.needs[len(self.program.world.given) :]):
            memories = (self.memory, *_further(seen, self.memory[0]))
            definite, *more = [_definite(seen, asker, one, self.ordered, others) for one in memories]
        for also in more:
            definite.reads += also.reads
            definite.unjudged |= also.unjudged
            definite.supposed |= also.supposed
            out.findings += also.findings.values()
        forgotten = any(isinstance(event, Use) and not event.pipe for event in every(seen))
        out.read = self.memory[0] if not forgotten and not more else ""
        tried = []
        if definite.status != "proved" and self.followed:
            tried = unwritten_at_values(asker, seen, self.memory, self.ordered, given=others)
        at_values = {f.span: f for f in tried}  # they tell with which values of the symbols
        out.findings += [at_values.pop(f.span, f) for f in definite.findings.values()]
        out.findings += at_values.values()
        refuted = bool(tried) or any(also.status == "refuted" for also in more)
        if definite.reads or definite.unjudged or refuted:
            out.open_reads = len(definite.unjudged)
            why = _undecided(definite, self.memory[0], others) if definite.status == "unknown" else ""
            out.obligations[DEFINITE] = ("refuted" if refuted else definite.status, "every path", why)
        if definite.arrivals:
            out.assumptions += _given(others, definite.arrivals)
        return list(definite.supposed)

    # ------------------------------------------------------------ conditions

    def conditions(self, needed: Sequence[tuple[Cond, str]], apart: Collection[tuple[int, int]]) -> None:
        """What the answer rests on, in words, and the notes that would state it."""
        asker, judge, out, world = self.asker, self.judge, self.out, self.program.world
        ground = grounds(asker)
        plain = [(plainer(need, ground), rule) for need, rule in needed]
        out.conditions += dict.fromkeys(f"{shown(one, world)} ({rule})" for one, rule in plain if one.known is None)
        if judge.unbounded:
            out.conditions.append("sums and products of 64 bits do not wrap, of values without a stated range")
        supposed = [plainer(need, ground) for need in asker.needs[len(world.given) :]]
        pasted = list(notes_to_paste(supposed, world)) if needed else []
        undeclared = list(_undeclared(judge, self.program.events, ground))
        pasted += [note for _, note in undeclared if note]
        if pasted:
            out.assumptions.append(f"to state them, write: {'; '.join(pasted)}")
        if apart:
            pairs = [f"lines {a} and {b}" if a != b else f"line {a} each time" for a, b in apart]
            out.conditions.append(f"rows addressed by values from memory do not collide: {', '.join(pairs)}")
        out.conditions += [said for said, _ in undeclared]
        if (together := asker.met_together()) != "refuted":
            why = "no values meet all that is stated and supposed" if together == "proved" else "not decided"
            out.obligations["core/not-vacuous"] = ("unknown", "conditions", why)
        out.assumptions += [f"{rule} would decide otherwise under another reading" for rule in judge.differs]


def _carried(asker: Asker) -> str:
    """Of which numbers that loops carry nothing is supposed, in words."""
    names = list(asker.held_back)[:3]
    told = ", ".join(f"`// dmaverify: assume {name} in 0..63`" for name in names)
    return f"how far {', '.join(names)} goes, which a loop carries, is not followed: {told}" if names else ""


def _around(events: Sequence[Event]) -> dict[int, tuple[Cond, ...]]:
    """That the loops around an event have an iteration, where that is not sure, by where the event begins."""
    found: dict[int, tuple[Cond, ...]] = {}
    for event, loops in with_loops(events):
        runs = [compare("lt", loop.trip * -1) for loop in loops]
        found[event.span.start] = tuple(one for one in runs if one.known is None)
    return found


def _order(
    events: tuple[Event, ...], asker: Asker, ordered: Sequence[str], outer: Sequence[str], *, followed: bool
) -> PipeJudge:
    """The order of a kernel's pipes: proved by cases, found at values, or followed as it stands."""
    sure = proved_at_once(events, asker, ordered, outer)
    found = found_at_values(events, asker, ordered, outer) if sure is None and followed else None
    if sure is not None or (found is not None and found.findings):
        return sure or found or PipeJudge(asker)
    pipes = PipeJudge(asker, ordered, outer, coarse=True)
    pipes.judge(events)
    if not pipes.given_up and (pipes.findings or pipes.said or pipes.apart or set(pipes.status.values()) != {"proved"}):
        pipes = PipeJudge(asker, ordered, outer)
        pipes.judge(events)
    if found is not None:
        unconfirmed(pipes)
    confirm(pipes, events, asker, ordered, outer)
    return pipes


def _unordered(pipes: PipeJudge) -> str:
    """What an order leaves open, in words."""
    for one in pipes.findings.values():
        if one.rule.startswith("core/hazard") and one.span is not None and one.labels:
            return f"{one.place} (lines {one.labels[0].span.line} and {one.span.line}) is not ordered then"
    proved = set(pipes.status.values()) <= {"proved"} and not pipes.given_up
    return "" if proved else "their order was not followed to its end"


def _definite(
    events: tuple[Event, ...], asker: Asker, memory: tuple[str, int], ordered: Sequence[str], given: Sequence[Shared]
) -> DefiniteJudge:
    """What is read of a memory: as the kernel stands, with the ends of loops apart, where all loops run, or with more
    rounds of them one by one.
    """
    first = definite = DefiniteJudge(asker, *memory, ordered=ordered, given=given)
    definite.judge(events)
    if definite.status == "unknown" and (apart := peeled(events, asker)) is not events:
        definite = DefiniteJudge(asker, *memory, ordered=ordered, given=given)
        definite.judge(apart)
    if definite.status == "unknown" and first.endless:  # as fields and bounds, it may be what nobody states
        definite = DefiniteJudge(asker, *memory, ordered=ordered, given=given, running=True)
        definite.judge(events)
    if definite.status == "unknown" and first.longer:
        definite = DefiniteJudge(asker, *memory, ordered=ordered, given=given, most_rounds=MORE_ROUNDS)
        definite.judge(events)
    return first if definite.status == "unknown" else definite


def _undecided(definite: DefiniteJudge, space: str, others: Sequence[Shared]) -> str:
    """Of which reads it is open whether what they read was written, and what could be stated."""
    lines = list(definite.unjudged)
    lines = [one for one in lines if not any(other.startswith(f"{one} ") for other in lines)]
    few = lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], f"{len(lines) - MOST_LINES} more lines"]
    why = f"not decided for what is read at {', '.join(few)}"
    if definite.arrivals and not others:
        first = next(iter(definite.arrivals))
        why += f"; {first} waits for the other core: state what that wrote (`// dmaverify: other core writes"
        why += f" {space} 0..1023`)"
    return why


def _further(events: Sequence[Event], space: str) -> list[tuple[str, int]]:
    """Memories other than `space` of which accesses need written bytes, as far as they are known to reach."""
    ends: dict[str, int] = {}
    for event in every(events):
        for touch in event.touches if isinstance(event, Use) and event.needs else ():
            at = touch.place
            if not at.root and at.space != space:
                numbers = (at.address, touch.offset, touch.length, *(n for step in touch.steps for n in step))
                end = 1 << 20
                if all(n.is_const for n in numbers):
                    end = at.address.const + touch.offset.const + touch.length.const
                    end += sum(max(0, (count.const - 1) * stride.const) for count, stride in touch.steps)
                ends[at.space] = min(1 << 22, max(end, ends.get(at.space, 0)))
    return list(ends.items())


def _given(others: Sequence[Shared], arrivals: Mapping[str, Arrival]) -> Iterator[str]:
    """What others are said to have written."""
    for shared in others:
        where = ", ".join(line for line, arrival in arrivals.items() if meets_arrival(shared, arrival))
        if shared.way == "w" and where:
            yield f"{shared.shown} are written by the other core before {where} goes on"


def _undeclared(judge: CopyJudge, events: Sequence[Event], ground: Asker) -> Iterator[tuple[str, str]]:
    """Tensors whose extent nobody declared, with how far the copies reach, and that they hold what is read there; and
    the note that would state it, where it is a number.
    """
    touches = list(touches_in(events))
    taken = {t.place.root for t in touches if t.kind == "read"}
    spaces = {t.place.root: t.place.space for t in touches}
    for root, ends in judge.reached.items():
        top: Any = ends[0]
        for end in ends[1:]:
            top = judge.world.least(top, end, most=True)
        top = plainer_term(top, ground)
        high = judge.world.interval(top)[1]
        shown = f"{high:,}" if high is not None else term_text(top, judge.world)
        written = ", written where they are read" if root in taken else ""
        told = f"{high}" if high is not None else shown_sum(top, judge.world)
        note = f"// dmaverify: gm %{root} = {told} bytes" if told and spaces[root] == "gm" and " " not in root else ""
        yield f"`{root}` holds at least {shown} bytes{written} (its extent is not declared)", note
