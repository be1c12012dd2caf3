"""Bounds of accesses that are no copies: what they touch lies in its memory, or in its tensor.

Knows: first and last bytes of touches, extents of tensors. Does not know: machines by name, order, text.
Law: as for copies: proved for all values, reported with values, or assumed of values without a stated range and said.
What an access touches only by inference, or without known extent, is not judged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.language.affine import Lin, both, compare
from dmaverify.program.instructions import Branch, CopyTouch, Event, KernelLoop, Use
from dmaverify.prove.flow.ask import shown
from dmaverify.prove.flow.instructions import CopyJudge
from dmaverify.verdict import Finding, Severity


def judge_uses(judge: CopyJudge, events: Sequence[Event]) -> None:
    """Judges every access of the events once, for all iterations."""
    for use in _uses(events):
        for side in ("read", "write"):
            touches = [t for t in use.touches if t.writes == (side == "write") and not t.open]
            if touches:
                _judge(judge, use, touches, "source" if side == "read" else "destination")


def _uses(events: Sequence[Event]) -> Iterator[Use]:
    for event in events:
        if isinstance(event, Use):
            yield from () if event.inferred == "bytes" else (event,)
        elif isinstance(event, KernelLoop):
            yield from _uses(event.body)
        elif isinstance(event, Branch):
            yield from _uses((*event.then, *event.other))


def _judge(judge: CopyJudge, use: Use, touches: Sequence[CopyTouch], what: str) -> None:
    place, world = touches[0].place, judge.world
    spans = [judge.span_of(touch) for touch in touches]
    low, end = spans[0]
    for first, last in spans[1:]:
        low, end = world.least(low, first), world.least(end, last, most=True)
    if not place.root:
        _capacity(judge, use, what, place.space, low, end)
        return
    extent = judge.extents.get(place.root)
    if extent is None:
        judge.reached.setdefault(place.root, []).append(end)
        return
    judge.used.add("core/in-bounds")
    reply = judge.asker.required(both([compare("le", -low), compare("le", end - extent)]), use.when)
    if reply.status == "assumed":
        for part in reply.assumed:
            judge.assumed[f"{shown(part, world)} (core/in-bounds)"] = None
    elif reply.status == "unknown":
        judge.status["core/in-bounds"] = "unknown"
    elif reply.status == "refuted":
        judge.status["core/in-bounds"] = "refuted"
        ends = [judge.asker.at(term, reply.values) or 0 for term in (low, end)]
        judge.findings.append(
            Finding(
                "core/in-bounds",
                Severity.ERROR,
                f"{use.what} touches bytes {ends[0]:,} to {ends[1] - 1:,}; `{place.root}` has {extent:,} bytes",
                what,
                use.span,
                {"first": ends[0], "end": ends[1]},
                {"values": {world.symbols[n].shown: v for n, v in reply.values.items() if not n.startswith("$")}},
                "obligations of the core",
                hint="make the offset fit the tensor; it counts elements",
            )
        )


def _capacity(judge: CopyJudge, use: Use, what: str, space: str, low: Lin, end: Lin) -> None:
    ports = {"low_bytes": low, "end_bytes": end}
    for rule in judge.target.rules.values():
        needed = set(rule.ports) - set(judge.target.limits)
        if rule.scope == "reach" and "end_bytes" in needed and needed <= set(ports):
            side = "read" if what == "source" else "write"
            if rule.applies("", "", "", side, space):
                judge.judge_reach(rule, ports, what, use.span, use.when)
