"""Order between a kernel and another core: from what notes state of it, from its text, or supposing it does anything.

Knows: statements about the other core, the text of the other core where the kernel holds it, what neither says.
Does not know: machines, text syntax, how order is judged.
Law: what the other core does is stated, or read off its text, or left open; where it is left open only a kernel that
holds whatever the other core does is proved.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.program.instructions import (
    OTHER_CORE,
    Arrival,
    Copy,
    CopyTouch,
    Event,
    Shared,
    Use,
)
from dmaverify.program.rewrite import touches_in
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.order.core_flags import counted_flags, handed_over
from dmaverify.prove.flow.order.other_core import anything, handovers, with_other_core
from dmaverify.prove.flow.order.pipes import PipeJudge
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Finding, Severity

RULE = "core/other-core"
MOST_ROWS = 256  # rows of one write of the other core that are stated one by one


@dataclass
class TwoCores:
    """What is known of the other core: statements (`shared`), findings in its own text, why something is open."""

    shared: tuple[Shared, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    status: str = ""
    why: str = ""
    by: str = ""
    assumptions: list[str] = field(default_factory=list)


def other_core_of(
    events: Sequence[Event],
    beside: Sequence[Event],
    stated: Sequence[Shared],
    asker: Asker,
    ordered: Sequence[str],
    outer: Sequence[str],
    memory: tuple[str, int],
) -> TwoCores:
    """What the other core does, and whether a kernel of which nobody says it holds whatever that is."""
    out = TwoCores(tuple(stated))
    mine = handovers(events)
    if beside:
        shares = bool(mine) or any(touch.place.memory == (memory[0], "") for touch in touches_in(events))
        _read_off(out, beside, asker, ordered, outer, memory, complete=bool(stated) or not shares)
        if handovers(beside) and events:
            found, why = counted_flags(events, beside, asker)
            out.findings += found
            if found:
                out.status = "refuted"
            elif why and out.status != "refuted":
                out.status, out.why, out.by = "unknown", why, ""
    if not mine:
        return out
    if out.shared or stated or (beside and not out.status):
        out.status, out.by = out.status or "proved", out.by or "what is stated of the other core"
        out.assumptions += [said(s) for s in stated if s.way == "r" or s.after is not None]
        if not out.shared:
            out.assumptions.append("the other core touches nothing that this kernel touches")
        return out
    if out.status == "unknown":
        return out
    judge = PipeJudge(asker, ordered, ())
    judge.judge(with_other_core(events, anything(events, memory), memory))
    met = [f for f in judge.findings.values() if OTHER_CORE in f.values.get("pipes", ())]
    out.status, out.by = "proved", "whatever the other core touches, this kernel does not touch meanwhile"
    if met or "unknown" in judge.status.values() or judge.lost:
        first = mine[0]
        does = "waits for the other core" if isinstance(first, Arrival) else "lets the other core go on"
        out.status, out.by = "unknown", ""
        word = "before" if isinstance(first, Arrival) else "after"
        clause = "" if first.flag is None else f" {word} {first.flag}"
        out.why = (
            f"line {first.span.line} {does}, and nothing states what that core touches: write "
            f"`// dmaverify: other core writes {memory[0]} 0..1023{clause}`, `... reads ...`, "
            "or `other core touches nothing`"
        )
    return out


def said(shared: Shared) -> str:
    """A statement in words."""
    if shared.start == shared.end:
        return "the other core touches nothing of what this kernel touches"
    does = "writes" if shared.way == "w" else "reads"
    after = "" if shared.after is None else f" after flag {shared.after}"
    before = "" if shared.before is None else f" before flag {shared.before}"
    return f"the other core {does} {shared.shown}{after}{before}"


# ---------------------------------------------------------------- the text of the other core


def _read_off(
    out: TwoCores,
    beside: Sequence[Event],
    asker: Asker,
    ordered: Sequence[str],
    outer: Sequence[str],
    memory: tuple[str, int],
    *,
    complete: bool,
) -> None:
    """Statements from the other core's text, and its own order judged."""
    found, lost = _stated(beside, memory[0])
    out.shared = (*out.shared, *found)
    back = [_turned(s) for s in out.shared]
    judge = PipeJudge(asker, ordered, outer, coarse=True)
    judge.judge(with_other_core(beside, back, memory, early=False))
    out.findings += judge.findings.values()
    errors = any(f.severity is Severity.ERROR for f in judge.findings.values())
    out.status, out.by = "proved", "the text of the other core"
    if errors:
        out.status = "refuted"
    elif "unknown" in judge.status.values():
        out.status, out.why = "unknown", judge.why
    if lost is not None and not complete:
        out.shared = ()  # what is left out would be taken for untouched
    if lost is not None and not complete and out.status != "refuted":
        out.status, out.by = "unknown", ""
        what = f"{getattr(lost, 'what', 'the copy')} at line {lost.span.line}"
        note = f"`// dmaverify: other core writes {memory[0]} 0..1023`"
        out.why = f"which bytes of {memory[0].upper()} {what} touches is not known: state it, {note}"


def _turned(shared: Shared) -> Shared:
    """The same bytes as the other side sees them: this core reads them from its wait on until it sets a flag."""
    return replace(shared, way="r" if shared.way == "w" else "w", before=shared.after, after=shared.before)


def _stated(beside: Sequence[Event], space: str) -> tuple[list[Shared], Use | Copy | None]:
    """What the other core's text does to a memory, between which of its flags; an access that cannot be told."""
    out: list[Shared] = []
    lost: Use | Copy | None = None
    for one in handed_over(beside):
        for touch in one.event.touches:
            if touch.place.space != space or touch.place.root or touch.kind == "surplus":
                continue
            rows = _rows(touch)
            if rows is None or one.lag:
                lost = lost or one.event
                continue
            way = "w" if touch.writes else "r"
            places = [(row, after) for after in one.after for row in rows]
            out += [Shared(way, space, "", *row, one.before, after, one.when) for row, after in places]
    return out, lost


def _rows(touch: CopyTouch) -> list[tuple[int, int]] | None:
    """The bytes of a touch in numbers, joined where they follow each other."""
    terms = [touch.place.address, touch.offset, touch.length, *(n for step in touch.steps for n in step)]
    if touch.open or touch.kind == "maybe" or not all(t.is_const for t in terms):
        return None
    starts = [touch.place.address.const + touch.offset.const]
    for count, stride in touch.steps:
        if len(starts) * count.const > MOST_ROWS * 16:
            return None
        starts = [at + stride.const * n for n in range(count.const) for at in starts]
    out: list[tuple[int, int]] = []
    for at in sorted(starts):
        if out and at <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], at + touch.length.const))
        else:
            out.append((at, at + touch.length.const))
    return out if len(out) <= MOST_ROWS else None
