"""Points on which the texts disagree: for each other reading that changes a byte, which bytes, and whether the verdict.

Knows: the readings of the target, how a kernel is judged again. Does not know: how findings are shown.
Law: a reading is named only where it changes what some copy touches, or the order that it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dmaverify.language.affine import World
from dmaverify.machines.pto.judged import finding_of, is_open, judged_kernel, settings_of
from dmaverify.machines.pto.limits import knobs
from dmaverify.machines.pto.meaning import meaning_of
from dmaverify.machines.pto.moves import touches_of
from dmaverify.machines.pto.ops import KernelFunction
from dmaverify.machines.pto.values import Kernel
from dmaverify.plan.notes import Notes
from dmaverify.program.instructions import Arrival, CopyTouch, Use
from dmaverify.program.rewrite import every
from dmaverify.prove.flow.accesses.ask import term_text
from dmaverify.prove.options import Options
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Finding, Severity

if TYPE_CHECKING:
    from dmaverify.program.access import PlanMove


MOST_EVENTS = 500  # of a kernel that is judged under each reading


def alternatives(
    function: KernelFunction,
    kernel: Kernel,
    notes: Notes,
    target: Target,
    options: Options,
    known: tuple[Sequence[Finding], bool],
    moves: Sequence[PlanMove],
) -> list[str]:
    """For each other reading of a contested point that changes a byte: which bytes, and whether the verdict."""
    out = []
    findings, open_ = known
    if sum(1 for _ in every(kernel.events)) > MOST_EVENTS:
        return [f"the chosen readings: no other was tried, there are more than {MOST_EVENTS} events"]
    errors = {f.rule for f in findings if f.severity is Severity.ERROR}
    for knob, names in knobs(target).items():
        chosen = options.readings.get(knob, names[0])
        for other in names:
            if other == chosen:
                continue
            readings = {**options.readings, knob: other}
            rests = knob == "tail" and (errors or open_) and _rests(kernel)
            if not rests and not _may_differ(kernel, knob, readings, target):
                continue
            again = meaning_of(function, settings_of(notes, readings))
            difference = _difference(kernel, again, knob)
            if not difference:
                continue
            judged = judged_kernel(again, target, replace(options, readings=readings, prove="fast"), notes, moves)
            new = {f.rule for f in (*map(finding_of, again.remarks), *judged.findings) if f.severity is Severity.ERROR}
            new -= set(notes.allow)
            left = is_open(again, judged, notes)
            same = new == errors and (new or left == open_)
            said = ", ".join(sorted(new)) or ("unknown" if left else "proved")
            verdict = "the same verdict" if same else f"then {said}"
            out.append(f"under --reading {knob}={other}: {difference}; {verdict}")
    return out


def _may_differ(kernel: Kernel, knob: str, readings: Mapping[str, str], target: Target) -> bool:
    """Whether a reading can change anything here, without following the kernel again."""
    if knob == "core-wait":
        return any(isinstance(e, Arrival) and e.pipe for e in every((*kernel.events, *kernel.cube)))
    if knob in ("local-pipe", "local-unit"):
        return any(copy.kind == "local" for copy in kernel.copies)
    if knob == "loop-order":
        return any(not c.inline and c.ports.get("inner_count") != c.ports.get("outer_count") for c in kernel.copies)
    return any(touches_of(copy, kernel.world, readings, target) != copy.touches for copy in kernel.copies)


def _difference(one: Kernel, other: Kernel, knob: str) -> str:
    """The first copy that touches other bytes, in words."""
    if knob == "core-wait":
        return "a wait for the other core holds every pipe"
    if knob == "local-pipe":
        return "copies inside UB are ordered with the vector pipe" if any(c.kind == "local" for c in one.copies) else ""
    for a, b in zip(one.copies, other.copies, strict=False):
        if a.touches != b.touches or a.steps != b.steps:
            more = _bytes_of(*([(touch, k.world) for touch in c.touches] for c, k in ((a, one), (b, other))))
            return f"the copy at line {a.span.line} {more}"
    if len(one.copies) != len(other.copies):
        return "other copies can be resolved"
    rests = _rests(one) if knob == "tail" else []
    return f"the load at line {rests[0].span.line} writes nothing behind the valid elements" if rests else ""


def _rests(kernel: Kernel) -> list[Use]:
    """Loads of tiles that leave the rest of a block unknown; without them no more is wrong or open."""
    loads = [e for e in every(kernel.events) if isinstance(e, Use) and e.what == "pto.tload"]
    return [load for load in loads if any(touch.kind == "unknown" for touch in load.touches)]


Placed = tuple[CopyTouch, World]  # a touch, and what its symbols are


def _bytes_of(mine: Sequence[Placed], theirs: Sequence[Placed]) -> str:
    """How the bytes of a row differ: `pads bytes 200..255 of each row, here 200..223`."""
    words = {"fill": "pads", "data": "writes", "unknown": "leaves unknown", "read": "reads", "surplus": "over-reads"}
    for kind, word in words.items():
        left = [_range(*one) for one in mine if one[0].kind == kind]
        right = [_range(*one) for one in theirs if one[0].kind == kind]
        if left != right:
            return f"{word} {' and '.join(right) or 'nothing'} of each row, here {' and '.join(left) or 'nothing'}"
        patterns = ([t.pattern for t, _ in mine if t.kind == kind], [t.pattern for t, _ in theirs if t.kind == kind])
        if patterns[0] != patterns[1]:
            shown = [" ".join(p.hex(" ") if p else "unknown" for p in side) for side in patterns]
            return f"pads with {shown[1]}, here {shown[0]}"
    return (
        "runs its loops otherwise: "
        + " and ".join(_loops(*one) for one in theirs[:1])
        + ", here "
        + " and ".join(_loops(*one) for one in mine[:1])
    )


def _range(touch: CopyTouch, world: World) -> str:
    if touch.offset.is_const and touch.length.is_const:
        return f"bytes {touch.offset.const}..{touch.offset.const + touch.length.const - 1}"
    return f"{term_text(touch.length, world)} bytes from {term_text(touch.offset, world)}"


def _loops(touch: CopyTouch, world: World) -> str:
    return " x ".join(f"{term_text(count, world)} at {term_text(stride, world)}" for count, stride in touch.steps)
