"""The order of pipes at some values of a kernel's symbols, for what is wrong there.

Knows: values at the ends of stated ranges. Does not know: what an event changes, machines, text.
Law: what is found at values is found: it is told with them. Nothing is proved here.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.program.instructions import Event
from dmaverify.program.rewrite import put_in, symbols_of
from dmaverify.prove.flow.ask import Asker
from dmaverify.prove.flow.at_values import chosen_values
from dmaverify.prove.flow.pipes import PipeJudge
from dmaverify.values import replace
from dmaverify.verdict import Severity

MOST_STEPS = 3_000  # events that are followed at one choice of values


def found_at_values(
    events: Sequence[Event], asker: Asker, ordered: Sequence[str], outer: Sequence[str]
) -> PipeJudge | None:
    """A judge with what is found at some values of the symbols; None where that is nothing, or where nobody states the
    range of some symbol."""
    world = asker.world
    names = sorted(symbols_of(events, world))
    known = all(world.symbols[n].stated or world.symbols[n].surely is not None for n in names)
    if not names or not known or any(world.symbols[n].varies or world.symbols[n].loaded for n in names):
        return None
    out: PipeJudge | None = None
    for values in chosen_values(asker, names, events):
        judge = PipeJudge(asker, ordered, outer, coarse=True, most_steps=MOST_STEPS)
        judge.judge([put_in(event, world, values) for event in events])
        shown = {world.symbols[n].shown: v.const for n, v in values.items()}
        said = ", ".join(f"{name} = {value:,}" for name, value in shown.items())
        told = {k: replace(f, message=f"{f.message}, where {said}") for k, f in judge.findings.items()}
        if any(f.severity is Severity.ERROR for f in told.values()):
            out = judge if out is None else out
            out.findings = {**told, **out.findings} if out is not judge else told
    if out is not None:
        rules = {f.rule for f in out.findings.values() if f.severity is Severity.ERROR}
        out.status = {name: "refuted" if name in rules else "unknown" for name in out.status}
        out.why = "followed at some values alone, where something else is wrong"
    return out
