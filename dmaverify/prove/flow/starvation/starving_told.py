"""Bank starvation as findings: the sum, the accesses that make it, what would keep below the limit.

Knows: sums above the limit, the words of the machine's data. Does not know: how sums are found (`concurrency`).
Law: every finding names the transfer, the bank and each access with its longest run.

Source: "Memory Performance" (Bank Starvation), through the target's data.
"""

from __future__ import annotations

from dmaverify.program.schedule import Program
from dmaverify.prove.flow.starvation.concurrency import SECTION, Starvation, Starving, says
from dmaverify.targets.target import Target
from dmaverify.verdict import Finding, Label, Severity


def starving_finding(one: Starving, result: Starvation, program: Program, target: Target) -> Finding:
    """The finding of one sum above the limit: who makes it, beside which transfer, which layouts would not."""
    assert result.limit is not None
    section = target.raw[SECTION]
    dma = program.steps[one.dma]
    words = {"total": one.sum.total, "bank": one.sum.bank, "allowed": result.limit.allowed}
    culprits = [
        f"{c.access.context} {c.access.engine} `{c.access.name}`: {c.run.length} accesses in a row to bank "
        f"{c.run.bank}, from counters {list(c.run.start)}"
        for c in one.culprits
    ]
    layouts = [
        f"`{c.access.name}` with rows `{c.row}` makes {c.proposal.runs.longest.length} in a row, "
        f"{c.proposal.total} in all"
        for c in one.culprits
        if c.proposal is not None
    ]
    names = ", ".join(f"`{program.steps[s].name}`" for s in one.steps)
    hint = f"serialise {names} with `{dma.name}`: `after` keeps them apart"
    if layouts:
        hint += f"; or pad: {layouts[0]}"
    witness = {
        "dma": dma.name,
        "outcome": "serialise",
        "runs": {c.access.name: c.run.length for c in one.culprits},
        "dma_request": one.sum.dma,
    }
    span = program.steps[one.culprits[0].step].span if one.culprits else dma.span
    return Finding(
        result.limit.rule,
        Severity.ERROR if says(section, "basis") == "documented" else Severity.WARNING,
        says(section, "says").format(**words),
        f"beside {dma.name}",
        span,
        {**words, "outcome": "serialise"},
        witness,
        says(section, "source"),
        says(section, "basis"),
        hint,
        (*culprits, *layouts[1:], says(section, "why")),
        (Label(dma.span, "DMA runs here"),) if dma.span else (),
    )
