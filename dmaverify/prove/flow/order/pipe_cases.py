"""The order of pipes at some values of a kernel's symbols, for what is wrong there.

Knows: values at the ends of stated ranges. Does not know: what an event changes, machines, text.
Law: what is found at values is found: it is told with them. Nothing is proved here. A flag that is found wrong for all
values at once, by an analysis that forgets what it does not need for a proof, and right in runs at values is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.language.affine import Lin
from dmaverify.program.instructions import Event
from dmaverify.program.rewrite import put_in
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.at_values import all_met, chosen_values, open_symbols, told_at, values_text
from dmaverify.prove.flow.order.pipes import PipeJudge
from dmaverify.verdict import Severity

MOST_STEPS = 3_000  # events that are followed at one choice of values
MOST_MORE = 500  # of all others, once something is found
MOST_CONFIRMED = 8  # hazards of one kernel that are looked for at values


def found_at_values(
    events: Sequence[Event], asker: Asker, ordered: Sequence[str], outer: Sequence[str]
) -> PipeJudge | None:
    """A judge with what is found at some values of the symbols, or that followed some to their end and found nothing;
    None where none was, or nobody states the range of some symbol.
    """
    world = asker.world
    names, stated = open_symbols(events, world)
    if not names or not stated:
        return None
    out: PipeJudge | None = None
    clean: PipeJudge | None = None
    left = MOST_MORE
    for values in chosen_values(asker, names, events):
        judge = PipeJudge(asker, ordered, outer, coarse=True, most_steps=MOST_STEPS if out is None else left)
        judge.judge([put_in(event, world, values) for event in events])
        left -= judge.steps if out is not None else 0
        told = {key: told_at(finding, values, world) for key, finding in judge.findings.items()}
        if any(f.severity is Severity.ERROR for f in told.values()):
            out = judge if out is None else out
            out.findings = {**told, **out.findings} if out is not judge else told
        elif set(judge.status.values()) == {"proved"}:
            clean = judge
    if out is None:
        return clean
    rules = _broken(out)
    out.status = {name: "refuted" if name in rules else "unknown" for name in out.status}
    out.why = "followed at some values alone, where something else is wrong"
    return out


def unconfirmed(found: PipeJudge) -> None:
    """Leaves open what was found for all values at once where a flag seems wrong that no run at values shows: then what
    nobody waits for is not told either. Hazards alone are looked for at values of their own (`confirm`).
    """
    rules = _broken(found)
    if "core/flags" not in rules:
        return
    found.findings = {key: f for key, f in found.findings.items() if f.severity is not Severity.ERROR}
    found.status = {name: "unknown" if name in rules else status for name, status in found.status.items()}
    found.why = found.why or "a flag that seems wrong for some value is right at all that were tried"


def confirm(
    found: PipeJudge, events: Sequence[Event], asker: Asker, ordered: Sequence[str], outer: Sequence[str]
) -> None:
    """Tells each hazard that was found for all values at once with values at which a run shows it; leaves open what a
    run at the solver's values does not show.
    """
    world = asker.world
    names, _ = open_symbols(events, world)
    runs: dict[tuple[int, ...], PipeJudge | None] = {}
    errors = {key: f for key, f in found.findings.items() if key in found.met and f.severity is Severity.ERROR}
    for key, told in list(errors.items())[:MOST_CONFIRMED] if names else ():
        values = _filled(asker, names, found.meetings.where(found.met[key]))
        if values is None:
            continue
        numbers = tuple(values[n].const for n in names)
        if numbers not in runs:
            judge = PipeJudge(asker, ordered, outer, coarse=True, most_steps=MOST_STEPS)
            judge.judge([put_in(event, world, values) for event in events])
            runs[numbers] = None if judge.given_up or judge.lost else judge
        run = runs[numbers]
        if run is None:
            continue
        if key in run.findings:
            found.findings[key] = told_at(told, values, world)
        elif set(run.status.values()) == {"proved"}:
            rule = found.findings.pop(key).rule
            if rule not in _broken(found):
                found.status[rule] = "unknown"
                said = values_text({world.symbols[n].shown: v.const for n, v in values.items()})
                found.why = found.why or f"what seems not to be ordered is, in a run where {said}"


def _filled(asker: Asker, names: Sequence[str], some: Mapping[str, int]) -> dict[str, Lin] | None:
    """Values of all symbols, those that do not matter as small as they may be; None where they break a condition."""
    symbols = asker.world.symbols
    values = {name: Lin(some.get(name, max(1, symbols[name].low or 0))) for name in names}
    return values if all_met(asker, names, values) else None


def _broken(judge: PipeJudge) -> set[str]:
    return {f.rule for f in judge.findings.values() if f.severity is Severity.ERROR}
