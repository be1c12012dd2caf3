"""A verdict on a kernel beside one run of its text, byte by byte: what is found happens, what is proved holds.

Knows: which finding is which trouble of a run, how large a kernel may be to be run.
Does not know: how anything is proved, what an operation does.
Law: a kernel without symbols has one run, whichever of the stated values its arguments have; one with symbols is run
at the values that its findings tell. A finding that the run does not show, or trouble that a proof does not know, is a
Disagreement; what the run cannot follow, or what is undefined from a number beyond its field on, says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, prod
from typing import Any

from dmaverify.errors import Disagreement
from dmaverify.execute.outcome import Beyond
from dmaverify.language.affine import Lin
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.ops import KernelFunction, OpaqueOp, deep
from dmaverify.machines.pto.values import Kernel
from dmaverify.plan.notes import Notes
from dmaverify.program.instructions import Branch, Copy, Event, KernelLoop, Use
from dmaverify.program.rewrite import put_in, symbols_of
from dmaverify.verdict import Finding, Severity, Status

TROUBLE: Mapping[str, str] = {
    "pto/ub-capacity": "capacity",
    "core/in-bounds": "bounds",
    "core/writes-once": "rows",
    "pto/row-overlap": "rows",
    "core/definite": "definite",
    "core/hazard-raw": "raw",
    "core/hazard-war": "war",
    "core/hazard-waw": "waw",
    "core/flags": "flags",
}
"""What a run finds where a rule is broken."""
MOST_EVENTS = 400
MOST_BYTES = 1 << 21
MOST_WITNESSES = 3  # values of symbols with which one kernel is run
UNSTATED = 1 << 18  # bytes of a tensor of which nobody says how many it has


def confirm(
    function: KernelFunction,
    kernel: Kernel,
    findings: Sequence[Finding],
    status: Status,
    notes: Notes,
    readings: Mapping[str, str],
) -> None:
    """Raises Disagreement where a run contradicts the verdict; silent where it does not, or where there is none."""
    if kernel.cube or notes.allow or notes.relations or any(r.kind == "unresolved" for r in kernel.remarks):
        return  # which values keep relations is not looked for
    stated = {root: size for root, size in notes.extents.items() if isinstance(size, int)}
    sizes = {root: stated.get(root, kind.bytes or UNSTATED) for root, kind in kernel.roots.items()}
    if sum(sizes.values()) > MOST_BYTES or any(kind.space == "ub" for kind in kernel.roots.values()):
        return
    known = all(root in stated or kind.bytes for root, kind in kernel.roots.items())
    sure = status is Status.REFUTED and not any(r.kind == "flags" for r in kernel.remarks)
    for values, rules in _runs(function, kernel, findings, notes):
        try:
            run = run_kernel(function, sizes, values, readings, others=notes.core, one_tile=kernel.one_tile)
        except Beyond:
            continue
        if "field" in run.found:
            continue
        missing = [r for r in rules if TROUBLE[r] not in run.found and (known or r != "core/in-bounds")]
        said = ""
        if sure and missing and run.whole:
            where = f", where {', '.join(f'%{n} = {v:,}' for n, v in values.items())}" if values else ""
            said = f"{', '.join(sorted(missing))} is found, and a run of the text shows nothing of it{where}"
        beyond = run.found & set(TROUBLE.values()) - (set() if known else {"bounds"})
        if status is Status.PROVED and beyond:
            said = f"it is proved, and a run of the text finds {', '.join(sorted(beyond))}"
        if said:
            raise Disagreement(f"@{function.name or 'kernel'}: {said}")


def _runs(
    function: KernelFunction, kernel: Kernel, findings: Sequence[Finding], notes: Notes
) -> Iterator[tuple[dict[str, int], set[str]]]:
    """Values of arguments for a run, and the rules that it breaks: one where there are no symbols, else one for each of
    the first values with which something is found.
    """
    errors = [f for f in findings if f.severity is Severity.ERROR and f.rule in TROUBLE]
    names = symbols_of(kernel.events, kernel.world)
    if not names:
        if _size(kernel.events) <= MOST_EVENTS:
            yield {name: low for name, (low, _) in notes.ranges.items()}, {f.rule for f in errors}
        return
    given = {name for name, _, _ in function.args}
    given |= {s.results[0] for s in deep(function.body) if isinstance(s, OpaqueOp) and s.least is not None}
    shown = {kernel.world.symbols[name].shown: name for name in names}
    at: dict[tuple[Any, ...], set[str]] = {}
    for finding in errors if shown.keys() <= given and len(shown) == len(names) else ():
        told = {**finding.values, **(finding.witness or {})}
        numbers = [told.get(name) for name in shown]
        if all(isinstance(n, int) for n in numbers):
            at.setdefault(tuple(numbers), set()).add(finding.rule)
    for chosen, rules in list(at.items())[:MOST_WITNESSES]:
        values = {name: Lin(number) for name, number in zip(shown.values(), chosen, strict=True)}
        if _size([put_in(event, kernel.world, values) for event in kernel.events]) <= MOST_EVENTS:
            yield {name.lstrip("%"): n for name, n in zip(shown, chosen, strict=True)}, rules


def _size(events: Sequence[Event]) -> float:
    """How many accesses a run makes at most; no end where that is no number."""
    total = 0.0
    for event in events:
        if isinstance(event, KernelLoop):
            total += _size(event.body) * event.trip.const if event.trip.is_const else inf
        elif isinstance(event, Branch):
            total += _size(event.then) + _size(event.other)
        elif isinstance(event, Copy):
            numbers = [event.row, *(step.count for step in event.steps)]
            total += 1 + prod(n.const for n in numbers) // 4096 if all(n.is_const for n in numbers) else inf
        elif isinstance(event, Use):
            total += 1
    return total
