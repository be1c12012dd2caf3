"""Bounds of accesses that are no copies: what they touch lies in its memory, or in its tensor.

Knows: first and last bytes of touches, extents of tensors. Does not know: machines by name, order, text.
Law: as for copies: proved for all values, reported with values, or assumed of values without a stated range and said.
What an access touches only by inference, or without known extent, is not judged here.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.affine import Lin
from dmaverify.program.instructions import CopyTouch, Event, Use
from dmaverify.program.rewrite import every
from dmaverify.prove.flow.instructions import CopyJudge
from dmaverify.values import replace


def judge_uses(judge: CopyJudge, events: Sequence[Event]) -> None:
    """Judges every access of the events once, for all iterations."""
    for use in (e for e in every(events) if isinstance(e, Use) and e.inferred != "bytes"):
        for side in ("read", "write"):
            touches = [t for t in use.touches if t.writes == (side == "write") and not t.open]
            for memory in dict.fromkeys((t.place.space, t.place.root) for t in touches):
                _judge(judge, use, [t for t in touches if (t.place.space, t.place.root) == memory], side)


def _judge(judge: CopyJudge, use: Use, touches: Sequence[CopyTouch], side: str) -> None:
    place, world = touches[0].place, judge.world
    spans = [judge.span_of(touch) for touch in touches]
    low, end = spans[0]
    for first, last in spans[1:]:
        low, end = world.least(low, first), world.least(end, last, most=True)
    if not place.root:
        _capacity(judge, use, side, place.space, low, end)
    elif (found := judge.inside(place, (low, end), use.when, use.span, f"{side}s")) is not None:
        hint = "make the offset fit the tensor; it counts elements"
        judge.findings[-1] = replace(found, message=f"{use.what} {found.message}", hint=hint)


def _capacity(judge: CopyJudge, use: Use, side: str, space: str, low: Lin, end: Lin) -> None:
    ports = {"low_bytes", "end_bytes"}
    for rule in judge.target.rules.values():
        needed = set(rule.ports) - set(judge.target.limits)
        binds = rule.scope == "reach" and rule.applies("", "", "", side, space)
        if binds and "end_bytes" in needed and needed <= ports:
            what = "source" if side == "read" else "destination"
            judge.judge_reach(rule, (low, end), what, use)
