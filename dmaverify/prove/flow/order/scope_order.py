"""Vector accesses of one scope that share bytes, one of them a store, with no barrier of memory between them.

Knows: the accesses of a scope, its barriers; how pipes are followed (`pipes`), loads and stores as two of them.
Does not know: what registers hold, machines, text syntax; order between scopes, which the vector pipe keeps.
Law: a pair is left out only where a barrier of its kind lies between in every iteration, or no byte is shared: errs to
naming pairs. A store that is made of a load waits for that, and for the loads before it, which are done in order. Two
stores of which nobody knows how far they reach are taken to be of one stream, in order (errs to leaving a pair out).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from dmaverify.errors import Span
from dmaverify.program.instructions import Branch, Event, Fence, KernelLoop, Use
from dmaverify.program.rewrite import every
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.step_events import hand
from dmaverify.prove.flow.order.hazards import StepJudge
from dmaverify.prove.flow.order.pipe_state import Encounter
from dmaverify.values import dataclass, replace

LOADS, STORES = "vector loads", "vector stores"
MEMORY = {"raw": "loads behind stores", "war": "stores behind loads", "waw": "stores behind stores"}
"""What a barrier of memory is a fence of, by the kind of meeting that it puts in order."""


def unbarred(scopes: Sequence[Sequence[Event]], asker: Asker) -> list[tuple[str, int, int]] | None:
    """Kind and lines of every two accesses that share bytes and that no barrier orders; None where a scope is too
    long.
    """
    out: dict[tuple[str, int, int], None] = {}
    for scope in scopes:
        uses = [event for event in every(scope) if isinstance(event, Use)]
        if not any(touch.writes for use in uses for touch in use.touches):
            continue
        judge = _ScopeJudge(asker, [LOADS], coarse=True)
        numbers = count(1)
        judge.judge(tuple(_piped(scope, numbers)))
        if judge.why:
            return None
        found = [both for both in (*judge.met.values(), *judge.open_.values()) if not _stream(both)]
        out |= dict.fromkeys((both.kind, both.earlier.span.line, both.later.span.line) for both in found)
    return sorted(out)


def _stream(both: Encounter) -> bool:
    """Whether both are stores of which nobody knows how far they reach: those of one stream follow each other."""
    return both.kind == "waw" and both.theirs.open and both.mine.open


def without_barriers(events: Sequence[Event]) -> list[Event]:
    """The events of a scope as all else takes them: the vector pipe does one thing after the other."""
    out: list[Event] = []
    for event in events:
        if isinstance(event, KernelLoop):
            out.append(replace(event, body=tuple(without_barriers(event.body))))
        elif isinstance(event, Branch):
            arms = [tuple(without_barriers(arm)) for arm in (event.then, event.other)]
            out.append(replace(event, then=arms[0], other=arms[1]))
        elif not (isinstance(event, Fence) and event.pipe in MEMORY.values()):
            out.append(event)
    return out


def _piped(events: Sequence[Event], numbers: Iterator[int]) -> Iterator[Event]:
    for event in events:
        match event:
            case KernelLoop():
                yield replace(event, body=tuple(_piped(event.body, numbers)))
            case Branch():
                arms = [tuple(_piped(arm, numbers)) for arm in (event.then, event.other)]
                yield replace(event, then=arms[0], other=arms[1])
            case Fence() if event.pipe == MEMORY["raw"]:
                yield from hand(STORES, LOADS)
            case Fence() if event.pipe == MEMORY["war"]:
                yield from hand(LOADS, STORES)
            case Fence() if event.pipe == MEMORY["waw"]:
                yield Fence(STORES, event.span)
            case Use():
                if any(source.load > 0 for source in event.sources):
                    yield from hand(LOADS, STORES)
                for pipe, writes in ((LOADS, False), (STORES, True)):
                    touches = tuple(touch for touch in event.touches if touch.writes == writes)
                    if touches and event.pipe:
                        yield Use(next(numbers), pipe, touches, event.span, event.what, event.when)


@dataclass
class _ScopeJudge(StepJudge):
    """Puts down every two accesses that meet, by their lines."""

    def _key(self, both: Encounter) -> object:
        return both.kind, _line(both.earlier.span), _line(both.later.span)


def _line(span: Span) -> int:
    return span.start
