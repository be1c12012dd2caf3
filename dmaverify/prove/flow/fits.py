"""Whether values fit the bits of their types, where nobody states how great they get.

Knows: claims that a value fits, and where each is made. Does not know: machines, text, how values are computed.
Law: proved of all values, or assumed of values without a stated range and said, or reported with values. Of 64 bits,
what ranges do not show is said in one line.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.program.instructions import Fit
from dmaverify.prove.flow.ask import shown, term_text
from dmaverify.prove.flow.instructions import CopyJudge
from dmaverify.verdict import Finding, Severity

RULE = "core/no-wrap"
WIDE = ("i64", "index", "ui64", "si64")


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
            judge.said["sums and products of 64 bits do not wrap, of values without a stated range"] = None
            continue
        _judge(judge, fit)


def _judge(judge: CopyJudge, fit: Fit) -> None:
    judge.used.add(RULE)
    reply = judge.asker.required(fit.claim, fit.when)
    if reply.status == "assumed":
        for part in reply.assumed:
            judge.assumed[f"{shown(part, judge.world)} ({RULE}: {fit.type} holds it)"] = None
    elif reply.status == "unknown":
        judge.status[RULE] = "unknown"
    elif reply.status == "refuted":
        judge.status[RULE] = "refuted"
        value = judge.asker.at(fit.value, reply.values)
        said = f"{value:,}" if value is not None else "a value"
        judge.findings.append(
            Finding(
                RULE,
                Severity.ERROR,
                f"{term_text(fit.value, judge.world)} can be {said}, which {fit.type} does not hold: it wraps",
                "",
                fit.span,
                {"value": value if value is not None else 0},
                {"values": {judge.world.symbols[n].shown: v for n, v in reply.values.items() if not n.startswith("$")}},
                "MLIR arith",
                hint="compute it in more bits, or state a smaller range",
            )
        )
