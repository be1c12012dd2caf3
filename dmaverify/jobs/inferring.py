"""Transfers that say neither stream nor commands, with the stream that follows from source and destination.

Knows: that the cheapest legal plan of a move has one. Does not know: how it is found, how it is shown.
Law: what says how it is moved stays as it is; what is put in is proved, and read again from its text.

Source: "DMA Engine", DMA Command Syntax (stream shapes are often inferred).
"""

from __future__ import annotations

from dmaverify.jobs.synthesis import SynthSettings, answer_of
from dmaverify.plan.plan import Plan
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.limits import MEMORY, RLIMIT, TIMEOUT, Limits, bounded
from dmaverify.values import replace


def with_streams(plan: Plan) -> Plan:
    """The plan with a stream for every move that has none; one that no search finds a plan for stays without."""
    made = []
    for item in plan.transfers:
        transfer = item.transfer
        silent = not transfer.carried_out and not transfer.views
        with bounded(Limits(TIMEOUT, MEMORY, RLIMIT // 4)):
            found = answer_of(plan, item.name, SynthSettings(simulate=False, routes=False)) if silent else None
        if found is not None and found.commands:
            target = str(plan.targets[transfer.target].folder)
            (own,) = (one.transfer for one in read_plan_text(found.plan, target=target).transfers)
            item = replace(item, transfer=replace(transfer, stream=own.stream, streams=own.streams))
        made.append(item)
    return replace(plan, transfers=tuple(made))
