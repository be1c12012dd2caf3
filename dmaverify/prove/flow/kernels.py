"""A kernel of copy instructions, judged whole: each copy, then their order, then what is read.

Knows: the order of judgement and how its parts become findings, statuses and assumptions.
Does not know: machines by name, text syntax, verdicts.
Law: what a part leaves open stays open; every assumption that a proof needed is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from dmaverify.language.affine import ZERO, Lin, World
from dmaverify.program.instructions import (
    Arrival,
    Branch,
    BufferToken,
    Copy,
    CopyTouch,
    Event,
    Fit,
    KernelLoop,
    Place,
    Signal,
    Use,
)
from dmaverify.prove.flow.ask import Asker, shown, term_text
from dmaverify.prove.flow.at_values import unwritten_at_values
from dmaverify.prove.flow.definite import DefiniteJudge
from dmaverify.prove.flow.fits import judge_fits
from dmaverify.prove.flow.instructions import CopyJudge
from dmaverify.prove.flow.pipe_cases import found_at_values, proved_by_cases
from dmaverify.prove.flow.pipes import PipeJudge
from dmaverify.prove.flow.uses import judge_uses
from dmaverify.prove.options import Options
from dmaverify.prove.smt import solver_version
from dmaverify.targets.target import Target
from dmaverify.verdict import Finding


class KernelProgram(Protocol):
    """What a front end gives: symbols, events in order of issue, the copies among them."""

    world: World
    events: tuple[Event, ...]
    copies: list[Copy]
    fits: list[Fit]


@dataclass
class JudgedKernel:
    """Findings, obligations as (status, by, why), assumptions in words."""

    findings: list[Finding] = field(default_factory=list)
    obligations: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    solver: str = ""
    asked: list[tuple[str, str, str]] = field(default_factory=list)


def judge_kernel(
    program: KernelProgram,
    target: Target,
    options: Options,
    extents: Mapping[str, int],
    ordered: Sequence[str],
    memory: tuple[str, int],
    others: Sequence[tuple[int, int]] = (),
    outer: Sequence[str] = (),
    *,
    followed: bool = True,
) -> JudgedKernel:
    """All that can be said of a kernel under the readings of `options`.

    `others` are bytes of that memory that somebody else has written wherever the kernel waits for them; `followed` is
    False where values of the kernel are not known, so that no run of it is known either.
    """
    asker = Asker(program.world, options.rlimit)
    judge = CopyJudge(target, asker, options.readings, extents)
    for copy in program.copies:
        judge.judge(copy)
    judge_uses(judge, program.events)
    judge_fits(judge, program.fits)
    for event in _ordering(program.events):
        if isinstance(event, Signal):
            judge.judge_number("flag", "event_id", event.event, event.span)
        else:
            judge.judge_number("buffer", "buffer_id", event.token, event.span)
    out = JudgedKernel(list(judge.findings))
    broken = {f.rule for f in out.findings if f.severity.value == "error"}
    for name in sorted(judge.evaluated | judge.used):
        status = "refuted" if name in broken else judge.status.get(name, "proved")
        out.obligations[name] = (status, "for all values" if program.world.symbols else "numbers", "")
    waits = tuple(_awaited(program.events, others, memory[0])) if others else program.events
    pipes = _order(waits, asker, ordered, outer, followed=followed)
    out.findings += pipes.findings.values()
    for name, status in pipes.status.items():
        out.obligations[name] = (status, "every path and iteration", pipes.why if status == "unknown" else "")
    out.assumptions += [*judge.said, *pipes.said]
    definite = DefiniteJudge(asker, memory[0], memory[1], ordered=ordered, given=others)
    definite.judge(program.events)
    if definite.status == "unknown" and definite.endless:  # as fields and bounds, it may be what nobody states
        again = DefiniteJudge(asker, memory[0], memory[1], ordered=ordered, given=others, running=True)
        again.judge(program.events)
        if again.status != "unknown":
            definite = again
    tried = []
    if definite.status != "proved" and followed:
        tried = unwritten_at_values(asker, program.events, memory, ordered, given=others)
    at_values = {f.span: f for f in tried}  # they tell with which values of the symbols
    out.findings += [at_values.pop(f.span, f) for f in definite.findings.values()]
    out.findings += at_values.values()
    if definite.reads or definite.unjudged:
        why = f"not decided for what is read at {', '.join(definite.unjudged)}" if definite.status == "unknown" else ""
        if why and definite.arrivals and not others:
            first = next(iter(definite.arrivals))
            why += f"; {first} waits for the other core: state what that wrote (`// dmaverify: other core writes"
            why += f" {memory[0]} 0..1023`)"
        out.obligations["core/definite"] = ("refuted" if tried else definite.status, "every path", why)
    if definite.arrivals:
        out.assumptions += _given(others, list(definite.arrivals), memory[0])
    needed = [*judge.assumed, *(f"{shown(need, program.world)} (core/definite)" for need in definite.supposed)]
    out.assumptions += [f"assumed of values without a stated range: {text}" for text in needed]
    if pipes.apart:
        pairs = [f"lines {a} and {b}" if a != b else f"line {a} each time" for a, b in pipes.apart]
        out.assumptions.append(f"rows addressed by values from memory do not collide: {', '.join(pairs)}")
    out.assumptions += _undeclared(judge)
    out.assumptions += [f"{rule} would decide otherwise under another reading" for rule in judge.differs]
    out.asked = list(asker.session.asked)
    out.solver = solver_version() if asker.session.asked else ""
    return out


def _order(
    events: Sequence[Event], asker: Asker, ordered: Sequence[str], outer: Sequence[str], *, followed: bool
) -> PipeJudge:
    """The order of a kernel's pipes: proved by cases, found at values, or followed as it stands."""
    sure = proved_by_cases(events, asker, ordered, outer)
    found = found_at_values(events, asker, ordered, outer) if sure is None and followed else None
    if sure is not None or found is not None:
        return sure or found or PipeJudge(asker)
    pipes = PipeJudge(asker, ordered, outer, coarse=True)
    pipes.judge(events)
    if pipes.findings or pipes.said or pipes.apart or set(pipes.status.values()) != {"proved"}:
        pipes = PipeJudge(asker, ordered, outer)
        pipes.judge(events)
    return pipes


def _awaited(events: Sequence[Event], others: Sequence[tuple[int, int]], space: str) -> Iterator[Event]:
    """The events, with what others wrote behind each wait of a single pipe: only that pipe knows it to be there."""
    for event in events:
        if isinstance(event, KernelLoop):
            yield replace(event, body=tuple(_awaited(event.body, others, space)))
        elif isinstance(event, Branch):
            then, other = (tuple(_awaited(side, others, space)) for side in (event.then, event.other))
            yield replace(event, then=then, other=other)
        else:
            yield event
            if isinstance(event, Arrival) and event.pipe:
                place = Place(space, "", ZERO)
                touches = tuple(CopyTouch("data", place, Lin(start), Lin(end - start), ()) for start, end in others)
                yield Use(event.number, event.pipe, touches, event.span, event.what, foreign=True)


def _given(others: Sequence[tuple[int, int]], arrivals: Sequence[str], space: str) -> Iterator[str]:
    """What others are said to have written."""
    where = ", ".join(arrivals)
    for start, end in others:
        yield f"bytes {start:,} to {end - 1:,} of {space.upper()} are written by the other core before {where} goes on"


def _ordering(events: Sequence[Event]) -> Iterator[Signal | BufferToken]:
    for event in events:
        if isinstance(event, (Signal, BufferToken)):
            yield event
        elif isinstance(event, KernelLoop):
            yield from _ordering(event.body)
        elif isinstance(event, Branch):
            yield from _ordering((*event.then, *event.other))


def _undeclared(judge: CopyJudge) -> Sequence[str]:
    """Tensors whose extent nobody declared, with how far the copies reach."""
    out = []
    for root, ends in judge.reached.items():
        top: Any = ends[0]
        for end in ends[1:]:
            top = judge.world.least(top, end, most=True)
        high = judge.world.interval(top)[1]
        shown = f"{high:,}" if high is not None else term_text(top, judge.world)
        out.append(f"`{root}` holds at least {shown} bytes (its extent is not declared)")
    return out
