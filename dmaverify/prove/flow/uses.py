"""Bounds of accesses that are no copies, and claims of numbers: parts fit their tensors, values fit their types.

Knows: first and last bytes of touches, extents of tensors, claims with the values that they speak of.
Does not know: machines by name, order, text, how values are computed.
Law: as for copies: proved for all values, reported with values, or assumed of values without a stated range and said.
What an access touches only by inference, or without known extent, is not judged here.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.errors import Span
from dmaverify.language.affine import Lin, both, compare
from dmaverify.program.instructions import CopyTouch, Event, Fit, NumberNeed, Use
from dmaverify.program.rewrite import every
from dmaverify.prove.flow.ask import Reply, term_text
from dmaverify.prove.flow.instruction_rules import SIDES
from dmaverify.prove.flow.instructions import CopyJudge
from dmaverify.verdict import Finding, Severity

RULE, NO_WRAP = "core/in-bounds", "core/no-wrap"
CORE = "obligations of the core"
WIDE = ("i64", "index", "ui64", "si64")


def judge_uses(judge: CopyJudge, events: Sequence[Event]) -> None:
    """Judges every access of the events once, for all iterations."""
    for use in every(events):
        if not isinstance(use, Use) or use.inferred == "bytes":
            continue
        for side in SIDES:
            touches = [t for t in use.touches if t.writes == (side == "write") and not t.open]
            if touches:
                _judge(judge, use, touches, side)


def _judge(judge: CopyJudge, use: Use, touches: Sequence[CopyTouch], side: str) -> None:
    place, world = touches[0].place, judge.world
    low, end = judge.span_of(touches[0])
    for first, last in map(judge.span_of, touches[1:]):
        low, end = world.least(low, first), world.least(end, last, most=True)
    if not place.root:
        _capacity(judge, use, side, place.space, low, end)
        return
    extent = judge.extents.get(place.root)
    if extent is None:
        judge.reached.setdefault(place.root, []).append(end)
        return
    reply = judge.claim(RULE, both([compare("le", -low), compare("le", end - extent)]), use.when)
    if reply is not None:
        ends = [judge.asker.at(term, reply.values) or 0 for term in (low, end)]
        message = f"{use.what} touches bytes {ends[0]:,} to {ends[1] - 1:,}; `{place.root}` has {extent:,} bytes"
        hint = "make the offset fit the tensor; it counts elements"
        told = {"first": ends[0], "end": ends[1]}
        judge.findings.append(_broken(judge, RULE, message, SIDES[side], use.span, told, reply, CORE, hint))


def _capacity(judge: CopyJudge, use: Use, side: str, space: str, low: Lin, end: Lin) -> None:
    ports = {"low_bytes": low, "end_bytes": end}
    for rule in judge.target.rules.values():
        needed = set(rule.ports) - set(judge.target.limits)
        reaches = rule.scope == "reach" and "end_bytes" in needed and needed <= set(ports)
        if reaches and rule.applies("", "", "", side, space):
            judge.judge_reach(rule, ports, SIDES[side], use.span, use.when)


# ---------------------------------------------------------------- numbers


def judge_needs(judge: CopyJudge, needs: Sequence[NumberNeed]) -> None:
    """Claims that the text makes of its numbers: parts lie within their tensors, valid regions within their tiles."""
    for need in {(n.claim, n.when, n.span.start): n for n in needs}.values():
        reply = judge.claim(RULE, need.claim, need.when, f": {need.says}", enough=need.enough)
        if reply is None:
            continue
        value = judge.asker.at(need.value, reply.values)
        reached = f"{value:,}" if value is not None else term_text(need.value, judge.world)
        message, hint = f"{need.says}, and {reached} is needed of it", "make offsets and sizes fit; they count elements"
        told = {"value": value if value is not None else 0}
        judge.findings.append(_broken(judge, RULE, message, "", need.span, told, reply, CORE, hint))


def judge_fits(judge: CopyJudge, fits: Sequence[Fit]) -> None:
    """That values fit the bits of their types. Of 64 bits, what ranges do not show is said in one line."""
    told_apart: dict[object, Fit] = {}
    for fit in fits:
        told_apart.setdefault((fit.claim, fit.when), fit)
    for fit in told_apart.values():
        if judge.asker.plainly_never([*fit.when, fit.claim.negated()]):
            continue
        if fit.type in WIDE:
            judge.said["sums and products of 64 bits do not wrap, of values without a stated range"] = None
            continue
        reply = judge.claim(NO_WRAP, fit.claim, fit.when, f": {fit.type} holds it")
        if reply is None:
            continue
        value = judge.asker.at(fit.value, reply.values)
        said = f"{value:,}" if value is not None else "a value"
        message = f"{term_text(fit.value, judge.world)} can be {said}, which {fit.type} does not hold: it wraps"
        hint, told = "compute it in more bits, or state a smaller range", {"value": value if value is not None else 0}
        judge.findings.append(_broken(judge, NO_WRAP, message, "", fit.span, told, reply, "MLIR arith", hint))


def _broken(
    judge: CopyJudge, rule: str, message: str, where: str, span: Span, told: dict[str, int], reply: Reply, source: str,
    hint: str,
) -> Finding:  # fmt: skip
    values = {judge.world.symbols[n].shown: v for n, v in reply.values.items() if not n.startswith("$")}
    return Finding(rule, Severity.ERROR, message, where, span, dict(told), {"values": values}, source, hint=hint)
