"""A PTO kernel and what can be said of it under one choice of readings.

Knows: which of its memories the core is to follow, what a remark of its reading counts for.
Does not know: verdicts, other readings, the command line.
Law: what could not be read may have written anything, so that nothing is said to be unwritten behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dmaverify.errors import Span
from dmaverify.machines.pto.limits import ub_memory
from dmaverify.machines.pto.moves import ORDERED_PIPES
from dmaverify.machines.pto.ops import Barrier, BufferOp, CopyOp, Flag, KernelFunction
from dmaverify.machines.pto.stated import Setting, term_of
from dmaverify.machines.pto.values import Kernel
from dmaverify.plan.notes import Notes
from dmaverify.program.instructions import Remark, Use
from dmaverify.program.rewrite import every
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.kernels import JudgedKernel, judge_kernel
from dmaverify.prove.flow.order.pipe_state import HAZARDS
from dmaverify.prove.flow.room import RULE as ROOM
from dmaverify.prove.options import Options
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Finding, Label, Severity

if TYPE_CHECKING:
    from dmaverify.program.access import PlanMove
    from dmaverify.prove.flow.claims import ClaimResult


def settings_of(notes: Notes, readings: Mapping[str, str]) -> Setting:
    return Setting(notes.ranges, notes.extents, readings, notes.relations)


def judged_kernel(
    kernel: Kernel, target: Target, options: Options, notes: Notes, moves: Sequence[PlanMove]
) -> JudgedKernel:
    """All that can be said of a kernel, the moves that its copies should make included."""
    memory = ub_memory(target)
    shapes = {root: kind.bytes for root, kind in kernel.roots.items() if kind.bytes and kind.space != memory[0]}
    extents = {
        root: size if isinstance(size, int) else term_of(size, kernel.world, notes.spans["gm", root])
        for root, size in notes.extents.items()
    }
    followed = not any(r.kind == "unresolved" for r in kernel.remarks)

    def judge(*, sequential: bool) -> JudgedKernel:
        return judge_kernel(
            kernel,
            target,
            options,
            shapes | extents,
            ORDERED_PIPES,
            memory,
            others=notes.core,
            outer=("gm",),
            followed=followed,
            beside=kernel.cube,
            sequential=sequential,
        )

    added = lowered_later(kernel)
    judged = judge(sequential=added and Barrier not in kernel.kinds)
    if added and not judged.sequential and (left := _unordered(judged)):
        judged = judge(sequential=True)
        judged.conditions.append(f"the assembler orders what the barriers of the text do not, {left}")
    if not judged.sequential and len(kernel.rooms) > 1:
        judged.assumptions.append("tiles without an address lie apart from each other where they have room to")
    _doubt(kernel, judged)
    order = ("proved", "reported", "not judged", "unknown", "refuted")
    results: list[tuple[PlanMove, ClaimResult]] = []
    for move in moves:
        from dmaverify.prove.flow.claims import judge_claim

        for p in move.problems:
            severity = Severity.WARNING if p.warning else Severity.ERROR
            judged.findings.append(Finding("core/well-formed", severity, p.message, "move", p.span, hint=p.hint))
        if any(p.fatal for p in move.problems):
            continue
        if not followed and not all(number in {copy.order for copy in kernel.copies} for number in move.copies):
            judged.obligations["core/same-element"] = ("not judged", "", "a copy of the kernel could not be read")
            continue
        asker = judged.judge.asker if judged.judge is not None else Asker(kernel.world, options.rlimit)
        result = judge_claim(move, kernel.events, kernel.idle, asker, target, options)
        results.append((move, result))
        judged.findings += [f for f in result.findings if f not in judged.findings]
        for name, status in result.status.items():
            old = judged.obligations.get(name)
            if old is None or order.index(status) > order.index(old[0]):
                judged.obligations[name] = (status, result.by, "")
    wrong = any(f.severity is Severity.ERROR for f in (*map(finding_of, kernel.remarks), *judged.findings))
    if options.full and not wrong and not is_open(kernel, judged, notes):
        from dmaverify.prove.flow.kernel_questions import ask_kernel

        ask_kernel(kernel, judged, results, shapes | extents, target, options)
    return judged


def _doubt(kernel: Kernel, judged: JudgedKernel) -> None:
    """Leaves open what was found where something of the kernel is not followed that may undo it."""
    why: dict[str, str] = {}
    found = []
    for one in judged.findings:
        said = ""
        unread = kernel.dropped or any(r.kind == "unresolved" and r.always for r in kernel.remarks)
        if one.severity is Severity.ERROR and unread:
            said = "an operation that is not resolved may write them" if one.rule == "core/definite" else ""
        if one.severity is Severity.ERROR and kernel.lost and not said:
            inside = one.span is not None and any(at.start <= one.span.start < at.end for at in kernel.lost)
            said = "what is not followed decides what runs, or in which order" if inside or one.rule in _ORDERS else ""
        if one.severity is Severity.ERROR and one.rule in HAZARDS and kernel.fences and not said:
            said = f"what else the fence at line {kernel.fences[0].line} orders is not documented"
        why |= {one.rule: said} if said else {}
        found.append(replace(one, severity=Severity.WARNING) if said else one)
    judged.findings = found
    broken = {one.rule for one in found if one.severity is Severity.ERROR}
    judged.obligations |= {rule: ("unknown", "", said) for rule, said in why.items() if rule not in broken}


def for_another(
    function: KernelFunction, target: Target, notes: Notes, findings: list[Finding], judged: JudgedKernel
) -> list[Finding]:
    """The findings of a text; of one for another machine they are doubts, and that it is for another, unless a note
    says that it is to be judged as one for this.
    """
    hint = "check the text that the assembler makes for this machine"
    found = [
        Finding(MACHINE, Severity.WARNING, said, "", span, hint=hint) for said, span in other_machines(function, target)
    ]
    if not found:
        return findings
    if MACHINE not in notes.allow:
        judged.obligations |= {
            rule: ("unknown", by, why) for rule, (status, by, why) in judged.obligations.items() if status == "refuted"
        }
        findings = [replace(f, severity=Severity.WARNING) if f.severity is Severity.ERROR else f for f in findings]
    judged.obligations[MACHINE] = ("unknown", "", found[0].message)
    return [*found, *findings]


def other_machines(function: KernelFunction, target: Target) -> list[tuple[str, Span]]:
    """Each machine that a text is for and that is not this one, in words, and where it says so."""
    here: Sequence[str] = target.raw["machine"]["arch"]
    known = f"what is known here is `{'`, `'.join(here)}`"
    return [(f"the text is for `{name}`; {known}", span) for name, span in function.machines if name not in here]


MACHINE = "core/machine"
_ORDERS = ("core/definite", "core/flags", *HAZARDS)


def lowered_later(kernel: Kernel) -> bool:
    """Whether the assembler orders the pipes of a kernel: it works on tiles, and its text has no flag, run or not."""
    events = [*every(kernel.events), *every(kernel.cube)]
    in_tiles = any(isinstance(e, Use) and e.needs and any(t.place.space != "gm" for t in e.touches) for e in events)
    return in_tiles and kernel.kinds.isdisjoint((CopyOp, Flag, BufferOp))


def _unordered(judged: JudgedKernel) -> str:
    """What the order of a text leaves open, by the lines of the first two accesses; empty where it leaves nothing."""
    met = [f for f in judged.findings if f.rule in HAZARDS]
    for one in met:
        if one.span is not None and one.labels:
            more = f", and {len(met) - 1} more" if len(met) > 1 else ""
            return f"{one.place} at lines {one.labels[0].span.line} and {one.span.line}{more}"
    room, _, why = judged.obligations.get(ROOM, ("proved", "", ""))
    if room == "unknown" and not met:
        return why
    open_ = any(judged.obligations.get(name, ("proved",))[0] == "unknown" for name in HAZARDS)
    return "whatever their accesses meet" if met or open_ or judged.given_up else ""


_IDS = {
    "unresolved": "core/unresolved-copy",
    "state": "core/registers",
    "ill": "core/well-formed",
    "note": "core/note",
    "flags": "core/flags",
}


def finding_of(remark: Remark) -> Finding:
    """What reading the kernel found, as a finding; what is unresolved is inconclusive, not wrong."""
    error = remark.always and remark.kind != "unresolved"
    labels = tuple(Label(span, text) for span, text in remark.labels)
    return Finding(
        _IDS[remark.kind],
        Severity.ERROR if error else Severity.WARNING,
        remark.message,
        "",
        remark.span,
        source="",
        hint=remark.hint,
        labels=labels,
    )


def is_open(kernel: Kernel, judged: JudgedKernel, notes: Notes) -> bool:
    """Whether something could not be decided."""
    unknown = any(found[0] == "unknown" for name, found in judged.obligations.items() if name not in notes.allow)
    return unknown or any(r.kind == "unresolved" and r.always for r in kernel.remarks)
