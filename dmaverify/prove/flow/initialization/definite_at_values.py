"""Uninitialized reads at chosen values of the symbols, where no proof decides it for all of them.

Knows: which values are tried. Does not know: machines, text syntax, proofs for all values.
Law: a finding is one of a run that the ranges, the conditions on symbols and all assumptions allow, and names its
values; where a range is not stated, all values tried must fail. Nothing found proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.program.instructions import Event, Shared
from dmaverify.program.rewrite import put_in
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.at_values import MOST_AT_VALUES, chosen_values, open_symbols, told_at
from dmaverify.prove.flow.initialization.definite import DefiniteJudge
from dmaverify.verdict import Finding, Severity


def unwritten_at_values(
    asker: Asker,
    events: Sequence[Event],
    memory: tuple[str, int],
    ordered: Sequence[str],
    *,
    given: Sequence[Shared],
) -> list[Finding]:
    """What the judge of definite bytes refutes at the first values at which it refutes anything."""
    world, out = asker.world, list[Finding]()
    names, stated = open_symbols(events, world)
    for values in chosen_values(asker, names, events) if names else ():
        judge = DefiniteJudge(asker, *memory, ordered=ordered, given=given, most_events=MOST_AT_VALUES)
        judge.judge([put_in(event, world, values) for event in events])
        found = [f for f in judge.findings.values() if f.severity is Severity.ERROR]
        found = [told_at(f, values, world) for f in found]
        if found and stated:
            return found
        if not found and not stated:
            return []  # whoever calls it may give such values only
        out = out or found
    return out
