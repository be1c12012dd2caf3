"""Claims that the text itself makes of its numbers: parts lie within their tensors, valid regions within their tiles.

Knows: claims with the values that they speak of. Does not know: machines, text.
Law: proved of all values, or assumed of values without a stated range and said, or reported with values.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.program.instructions import NumberNeed
from dmaverify.prove.flow.ask import shown, term_text
from dmaverify.prove.flow.instructions import CopyJudge
from dmaverify.verdict import Finding, Severity

RULE = "core/in-bounds"


def judge_needs(judge: CopyJudge, needs: Sequence[NumberNeed]) -> None:
    """Judges every claim once."""
    for need in {(n.claim, n.when, n.span.start): n for n in needs}.values():
        judge.used.add(RULE)
        reply = judge.asker.required(need.claim, need.when)
        if reply.status == "assumed":
            for part in reply.assumed:
                judge.assumed[f"{shown(part, judge.world)} ({RULE}: {need.says})"] = None
        elif reply.status == "unknown" or (reply.status == "refuted" and need.enough):
            judge.status[RULE] = "unknown"
        elif reply.status == "refuted":
            judge.status[RULE] = "refuted"
            value = judge.asker.at(need.value, reply.values)
            reached = f"{value:,}" if value is not None else term_text(need.value, judge.world)
            values = {judge.world.symbols[n].shown: v for n, v in reply.values.items() if not n.startswith("$")}
            judge.findings.append(
                Finding(
                    RULE,
                    Severity.ERROR,
                    f"{need.says}, and {reached} is needed of it",
                    "",
                    need.span,
                    {"value": value if value is not None else 0},
                    {"values": values},
                    "obligations of the core",
                    hint="make offsets and sizes fit; they count elements",
                )
            )
