"""Flags between two cores whose texts are both known: which accesses they hand over, and how often each is set.

Knows: conditions and loops around releases, arrivals and accesses of either core.
Does not know: machines, text, how order is judged.
Law: a flag that is not set as often as the other core waits for it, for some values, is an error; where that cannot be
counted, or a wait may meet an earlier set than the one behind an access, it is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.language.affine import ONE, ZERO, Cond, Lin, World, compare
from dmaverify.program.instructions import NO_FLAG, Arrival, Branch, Copy, Event, KernelLoop, Release, Use
from dmaverify.program.rewrite import every
from dmaverify.program.sums import depends, summed
from dmaverify.prove.flow.accesses.ask import Asker, term_text
from dmaverify.values import dataclass
from dmaverify.verdict import Finding, Severity

MOST_ROUNDS = 64  # of a loop whose rounds are counted one by one
Step = tuple[Event, tuple[Cond, ...]]


@dataclass(frozen=True, slots=True)
class HandedOver:
    """An access, the flags of which it is behind one, the flag that is set behind it; `when` it is made. `lag`: a wait
    for that flag may meet an earlier set.
    """

    event: Copy | Use
    after: tuple[int | None, ...]
    before: int | None
    when: tuple[Cond, ...]
    lag: bool


def in_order(events: Sequence[Event], when: tuple[Cond, ...] = ()) -> Iterator[Step]:
    """Events that are no loop and no branch, with the conditions under which they come at all."""
    for event in events:
        if isinstance(event, KernelLoop):
            runs = compare("lt", -event.trip)
            yield from in_order(event.body, when if runs.known else (*when, runs))
        elif isinstance(event, Branch):
            yield from in_order(event.then, (*when, event.when))
            yield from in_order(event.other, (*when, event.when.negated()))
        else:
            yield event, when


def handed_over(events: Sequence[Event]) -> Iterator[HandedOver]:
    """Every access of a core's text between its flags."""
    steps = list(in_order(events))
    looped = {id(e) for loop in every(events) if isinstance(loop, KernelLoop) for e in every(loop.body)}
    for index, (event, when) in enumerate(steps):
        if not isinstance(event, (Copy, Use)):
            continue
        held = [e.flag for e, c in steps[:index] if isinstance(e, Arrival) and set(c) <= set(when)]
        after: tuple[int | None, ...] = (held[-1] if held else NO_FLAG,)
        if id(event) in looped and not held:  # an arrival at the loop's end comes before its next round
            after += tuple(e.flag for e, _ in steps if isinstance(e, Arrival))[-1:]
        behind = [e.flag for e, c in steps[index:] if isinstance(e, Release) and not _apart(c, when)]
        before = behind[0] if behind else NO_FLAG
        sent = [e.flag for e, c in steps[:index] if isinstance(e, Release) and not _apart(c, when)]
        yield HandedOver(event, after, before, when, before != NO_FLAG and (before in sent or None in (before, *sent)))


def _apart(one: Sequence[Cond], other: Sequence[Cond]) -> bool:
    """Whether the sides of some branch exclude each other."""
    return any(condition.negated() in other for condition in one)


# ---------------------------------------------------------------- how often


def counted_flags(mine: Sequence[Event], beside: Sequence[Event], asker: Asker) -> tuple[list[Finding], str]:
    """Flags that are set more or less often than they are waited for, and why something of that is open. `beside` may
    name those of several cores that run `mine`, each its `share`.
    """
    found: list[Finding] = []
    why = ""
    handed = any(isinstance(e, (Release, Arrival)) for e in every(mine))
    unknown = [e for kind in (Release, Arrival) for e in (*_all(mine, kind), *_all(beside, kind)) if e.flag is None]
    if unknown:
        span = unknown[0].span
        return [], f"which flag line {span.line} means is not known, so how often each is set is not counted"
    for sets in (Release, Arrival):
        waits = Arrival if sets is Release else Release
        ours, theirs = _all(mine, sets), _all(beside, waits)
        flags = dict.fromkeys(e.flag for e in (*ours, *theirs))
        if handed:  # one that a side never names is an error of its text
            flags = dict.fromkeys(f for f in flags if f in {e.flag for e in ours} and f in {e.flag for e in theirs})
        for flag in flags:
            for share in sorted({e.share for e in theirs if e.flag == flag}) or [0]:
                counts = [_count(mine, sets, flag, None, asker.world), _count(beside, waits, flag, share, asker.world)]
                first = next(e for e in (*ours, *theirs) if e.flag == flag)
                said = _unequal(first, counts if sets is Release else counts[::-1], asker)
                if isinstance(said, Finding):
                    found.append(said)
                elif said:
                    why = why or said
    return found, why


def _all(events: Sequence[Event], kind: type) -> list[Release | Arrival]:
    return [e for e in every(events) if isinstance(e, (Release, Arrival)) and isinstance(e, kind)]


def _unequal(first: Release | Arrival, counts: Sequence[Lin | None], asker: Asker) -> Finding | str:
    """A finding where the counts of sets and waits differ for some values; else why that is not known, if it is not."""
    sets, waits = counts
    open_ = f"how often flag {first.flag} is set and waited for is not followed (line {first.span.line})"
    if sets is None or waits is None:
        return open_
    reply = asker.holds(compare("eq", sets - waits))
    if reply.status == "proved":
        return ""
    if reply.status != "refuted" or asker.world.loaded(sets - waits) or asker.is_open(compare("eq", sets - waits)):
        return open_
    counted = f"set {_times(sets, asker)} and waited for {_times(waits, asker)}"
    message = f"flag {first.flag} between the cores is {counted}: a wait never ends, or the next kernel finds it set"
    return Finding("core/flags", Severity.ERROR, message, "", first.span, dict(reply.values))


def _times(term: Lin, asker: Asker) -> str:
    return "once" if term == ONE else "never" if term == ZERO else f"{term_text(term, asker.world)} times"


def _count(events: Sequence[Event], kind: type, flag: int | None, share: int | None, world: World) -> Lin | None:
    """How often such a flag is set or waited for; None where that has no form here."""
    total = ZERO
    for event in events:
        part: Lin | None = ZERO
        if isinstance(event, Branch):
            then, other = (_count(side, kind, flag, share, world) for side in (event.then, event.other))
            part = None if then is None or other is None else world.choose(event.when, then, other)
        elif isinstance(event, KernelLoop):
            inner = _count(event.body, kind, flag, share, world)
            part = None if inner is None else _of_all(inner, event, world)
        elif isinstance(event, (Release, Arrival)) and isinstance(event, kind) and event.flag == flag:
            part = Lin(int(share in (None, event.share)))
        if part is None:
            return None
        total = total + part
    return total


def _of_all(inner: Lin, loop: KernelLoop, world: World) -> Lin | None:
    """What all rounds of a loop make together."""
    if not depends(world, inner, loop.counter):
        return world.times(loop.trip, inner)
    if loop.trip.is_const and 0 <= loop.trip.const <= MOST_ROUNDS:
        return sum((world.put(inner, {loop.counter: Lin(k)}) for k in range(loop.trip.const)), ZERO)
    return summed(world, inner, loop.counter, loop.trip)
