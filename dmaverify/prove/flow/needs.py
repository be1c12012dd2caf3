"""Claims that the text itself makes of its numbers: parts lie within their tensors, valid regions within their tiles,
values within their types.

Knows: claims with the values that they speak of. Does not know: machines, text.
Law: proved of all values, or assumed of values without a stated range and said, or reported with values. Sums and
products of 64 bits and of indices are claimed only as far as their symbols have stated ranges; what is left is said.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.errors import Span
from dmaverify.language.affine import Lin
from dmaverify.program.instructions import Fit, NumberNeed
from dmaverify.prove.flow.accesses.ask import Reply, term_text
from dmaverify.prove.flow.instructions import CopyJudge
from dmaverify.verdict import Finding, Severity

RULE = "core/in-bounds"
WRAP = "core/no-wrap"
WIDE = ("i64", "index", "ui64", "si64")


def judge_needs(judge: CopyJudge, needs: Sequence[NumberNeed]) -> None:
    """Judges every claim once."""
    for need in {(n.claim, n.when, n.span.start): n for n in needs}.values():
        given = judge.asker.required(need.claim, (*need.when, *need.runs)) if need.enough else Reply("proved")
        judge.assumed |= {(part, f"{RULE}: {need.says}"): None for part in given.assumed}
        if given.status in ("refuted", "unknown"):
            judge.used.add(RULE)
            judge.worse(RULE, "unknown")
            said = f"not shown for all values: {need.says}"
            hint = "state ranges of the values that keep it, or do this only where it is so"
            judge.findings.append(Finding(RULE, Severity.WARNING, said, "", need.span, hint=hint))
            continue
        reply = judge.contradicted(RULE, need.claim, need.when, need.runs, f": {need.says}")
        if reply is not None:
            value = judge.asker.at(need.value, reply.values)
            reached = f"{value:,}" if value is not None else term_text(need.value, judge.world)
            said = f"{need.says}, and {reached} is needed of it"
            hint = "make offsets and sizes fit; they count elements"
            _found(judge, RULE, said, (need.span, need.value), reply, hint)


def judge_fits(judge: CopyJudge, fits: Sequence[Fit]) -> None:
    """Judges every claim once, with what the copies need already known."""
    seen = set()
    for fit in fits:
        if (fit.claim, fit.when) in seen:
            continue
        seen.add((fit.claim, fit.when))
        if judge.asker.plainly_never([*fit.when, fit.claim.negated()]):
            continue
        if fit.type in WIDE:
            judge.unbounded = True
            continue
        reply = judge.contradicted(
            WRAP, fit.claim, fit.when, judge.around.get(fit.span.start, ()), f": {fit.type} holds it"
        )
        if reply is not None:
            value = judge.asker.at(fit.value, reply.values)
            reached = f"{value:,}" if value is not None else "a value"
            said = f"{term_text(fit.value, judge.world)} can be {reached}, which {fit.type} does not hold: it wraps"
            hint = "compute it in more bits, or state a smaller range"
            _found(judge, WRAP, said, (fit.span, fit.value), reply, hint)


def _found(judge: CopyJudge, rule: str, said: str, at: tuple[Span, Lin], reply: Reply, hint: str) -> None:
    values = {"value": judge.value(at[1], reply)}
    judge.findings.append(Finding(rule, Severity.ERROR, said, "", at[0], values, judge.witness(reply), hint=hint))
