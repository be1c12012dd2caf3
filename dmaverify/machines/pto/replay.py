"""A verdict on a kernel beside one run of its text, byte by byte: what is found happens, what is proved holds.

Knows: which finding is which trouble of a run, how large a kernel may be to be run.
Does not know: how anything is proved, what an operation does.
Law: a kernel without symbols has one run, whichever of the stated values its arguments have. A finding that the run
does not show, or trouble that a proof does not know, is a Disagreement; what the run cannot follow, or what is
undefined from a number beyond its field on, says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from dmaverify.errors import Disagreement
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.ops import KernelFunction
from dmaverify.machines.pto.values import Kernel
from dmaverify.plan.notes import Notes
from dmaverify.program.instructions import Branch, Copy, Event, KernelLoop, Use
from dmaverify.program.rewrite import symbols_of
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
    size = _size(kernel.events)
    if symbols_of(kernel.events, kernel.world) or kernel.cube:
        return
    if size is None or size > MOST_EVENTS:
        return
    if any(r.kind == "unresolved" for r in kernel.remarks) or notes.allow:
        return
    stated = {root: size for root, size in notes.extents.items() if isinstance(size, int)}
    sizes = {root: stated.get(root, kind.bytes or UNSTATED) for root, kind in kernel.roots.items()}
    if sum(sizes.values()) > MOST_BYTES or any(kind.space == "ub" for kind in kernel.roots.values()):
        return
    if notes.relations:
        return  # which values keep them is not looked for
    values = {name: low for name, (low, _) in notes.ranges.items()}
    try:
        run = run_kernel(function, sizes, values, readings, others=notes.core, one_tile=kernel.one_tile)
    except Beyond:
        return
    ran = run.found
    if "field" in ran:
        return
    errors = {f.rule for f in findings if f.severity is Severity.ERROR}
    told = {rule: TROUBLE[rule] for rule in errors & TROUBLE.keys()}
    unstated = any(root not in stated and not kind.bytes for root, kind in kernel.roots.items())
    missing = [rule for rule, trouble in told.items() if trouble not in ran]
    said = ""
    if status is Status.REFUTED and missing and run.whole and not any(r.kind == "flags" for r in kernel.remarks):
        said = f"{', '.join(sorted(missing))} is found, and a run of the text shows nothing of it"
    beyond = ran & set(TROUBLE.values()) - ({"bounds"} if unstated else set())
    if status is Status.PROVED and beyond:
        said = f"it is proved, and a run of the text finds {', '.join(sorted(beyond))}"
    if said:
        raise Disagreement(f"@{function.name or 'kernel'}: {said}")


def _size(events: Sequence[Event]) -> int | None:
    """How many accesses a run makes; None where that is no number."""
    total = 0
    for event in events:
        if isinstance(event, KernelLoop):
            inner = _size(event.body)
            if inner is None or not event.trip.is_const:
                return None
            total += inner * event.trip.const
        elif isinstance(event, Branch):
            return None
        elif isinstance(event, Copy):
            counts = [step.count for step in event.steps]
            if not event.row.is_const or not all(c.is_const for c in counts):
                return None
            total += 1 + event.row.const * prod(c.const for c in counts) // 4096
        elif isinstance(event, Use):
            total += 1
    return total
