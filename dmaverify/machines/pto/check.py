"""Kernels of Ascend A5 in PTO text, judged: one verdict for each function.

Knows: which rooms answer which question about a kernel, and how their answers become a verdict.
Does not know: command line, formats.
Law: errors decide, an unresolved operation or an open question is never a pass, and where another reading of a
contested point would change the verdict or the bytes, the verdict says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, Source
from dmaverify.language.affine import ONE, ZERO, Lin, World
from dmaverify.language.toml_spans import read_source
from dmaverify.machines.pto.contested import alternatives
from dmaverify.machines.pto.emit import fields_of
from dmaverify.machines.pto.judged import finding_of, for_another, is_open, judged_kernel, settings_of
from dmaverify.machines.pto.launch_runs import RULE as CORES
from dmaverify.machines.pto.launch_runs import torn
from dmaverify.machines.pto.meaning import meaning_of
from dmaverify.machines.pto.named import NamedFunction, function_in_plan, named_in
from dmaverify.machines.pto.ops import CopyOp, KernelFunction, deep
from dmaverify.machines.pto.replay import confirm
from dmaverify.machines.pto.supposed import barred, launched, meeting, separate, unset
from dmaverify.machines.pto.tiles import TileOp
from dmaverify.machines.pto.values import Kernel, copies_in
from dmaverify.machines.pto.words import misfits
from dmaverify.plan.notes import Notes
from dmaverify.program.instructions import Arrival, Copy, Release, Remark
from dmaverify.program.rewrite import every
from dmaverify.prove.boundary import guarded
from dmaverify.prove.flow.accesses.ask import term_text
from dmaverify.prove.flow.kernels import JudgedKernel
from dmaverify.prove.move.preconditions import unmet
from dmaverify.prove.options import Options
from dmaverify.targets.target import Target, load_target
from dmaverify.values import replace
from dmaverify.verdict import Finding, Obligation, Severity, Status, Verdict, settled

if TYPE_CHECKING:
    from dmaverify.plan.kernels import PlanKernel
    from dmaverify.plan.plan import Plan
    from dmaverify.program.access import PlanMove

STANDARD = Options()


def check_file(
    path: str, name: str | None = None, options: Options = STANDARD, keep: dict[str, Any] | None = None
) -> list[Verdict]:
    """Verdicts of the functions of a file that hold DMA operations. Raises InputError for what cannot be read."""
    return check_text(read_source(path, toml=False), name, options, keep)


def check_text(
    source: Source, name: str | None = None, options: Options = STANDARD, keep: dict[str, Any] | None = None
) -> list[Verdict]:
    """Verdicts of the functions of a text that hold DMA operations, or of the one of that name."""
    target = load_target("pto")
    target.check_readings(options.readings)
    functions = named_in(source)
    if name is not None and not any(name in (one.label, one.function.name) for one in functions):
        known = ", ".join(one.label for one in functions) or "none"
        raise InputError(f"{source.name} has no function `{name}`", None, f"it has {known}")
    out = []
    for one in functions:
        function, called = one.function, one.label
        if name not in (called, function.name) if name is not None else function.called:
            continue
        asked: list[tuple[str, str, str]] = []
        judge = partial(_of_function, function, called, one.notes, options, asked)
        out += guarded(
            judge, options.limits, name=called, path=source.name, line=function.span.line, target=target.name,
            span=function.span,
        )  # fmt: skip
        if keep is not None:
            keep[called] = asked
    if not out:
        never = sum(_operations(one.function.body) for one in functions)
        said = f"of {source.name} no DMA operation runs with the stated values" if never else ""
        raise InputError(said or f"{source.name} holds no DMA operation", None, "nothing was checked")
    return out


def _operations(body: Iterable[Any]) -> int:
    """DMA operations of a text, those in loops and branches included."""
    found = [s for s in deep(body) if isinstance(s, (CopyOp, TileOp))]
    return sum(isinstance(s, CopyOp) or s.work.writes == "move" for s in found)


def _of_function(*arguments: Any) -> list[Verdict]:
    """As `check_function`, as a list."""
    made = check_function(*arguments)
    return [] if made is None else [made]


def check_function(
    function: KernelFunction,
    name: str,
    notes: Notes,
    options: Options,
    asked: list[tuple[str, str, str]] | None = None,
    moves: Sequence[PlanMove] = (),
) -> Verdict | None:
    """The verdict on one function, whose copies should make `moves`; None where it has nothing to do with DMA."""
    started, target = time.perf_counter(), function.target
    kernel = meaning_of(function, settings_of(notes, options.readings))
    acts = kernel.copies or kernel.tile_moves or kernel.signals or (moves and kernel.idle)
    idle = not acts and all(r.kind == "note" for r in kernel.remarks)
    if idle and not kernel.cube:
        return None
    judged = judged_kernel(kernel, target, options, notes, moves)
    undecided = {name for name, found in judged.obligations.items() if found[0] == "unknown"}
    undecided |= {"core/unresolved-copy"} if any(r.kind == "unresolved" for r in kernel.remarks) else set()
    if undecided == {"core/definite"} and any(len(names) > 1 for names in kernel.alike.values()):
        kernel, judged = _as_one_tile(function, (kernel, judged), target, options, notes, moves)
    if idle and not any(f.severity is Severity.ERROR for f in judged.findings):
        return None  # what runs on the cube core alone is no claim of its own
    if asked is not None:
        asked += judged.asked
    findings = [*map(finding_of, (*kernel.remarks, *_idle(notes, kernel))), *judged.findings]
    meetings = [] if any(f.severity is Severity.ERROR for f in findings) else meeting(kernel, options.rlimit)
    if meetings and (races := torn(function, kernel, notes, meetings)):
        findings += races
        judged.obligations[CORES] = ("refuted", "runs of two cores", "")
    findings = for_another(function, target, notes, _with_corruption(findings, kernel), judged)
    findings = [replace(f, source=target.source_of(f.rule, f.source)) for f in findings]
    open_ = {name for name, found in judged.obligations.items() if found[0] == "unknown"}
    findings, allowed = _suppressed(findings, notes, open_)
    known = ([f for f in findings if f.rule != CORES], is_open(kernel, judged, notes))
    contested = ["the chosen readings: no other was tried, its order is too long to be followed"]
    if not judged.given_up:
        contested = alternatives(function, kernel, notes, target, options, known, moves)
    obligations = _obligations(kernel, judged, claimed=bool(moves))
    status = settled(findings, (o.status for o in obligations if o.id not in notes.allow))
    if options.run_units and not moves:
        confirm(function, kernel, findings, status, notes, options.readings)
    path = function.span.source.name
    wrong, rlimit = status is Status.REFUTED, options.rlimit
    launch = [] if wrong else [*launched(meetings), *unset(kernel, notes), *barred(kernel, rlimit)]
    supposed = (*judged.conditions, *kernel.conditions, *separate(kernel, notes.extents, stated=False), *launch)
    conditions = tuple(dict.fromkeys(supposed))
    return Verdict(
        name,
        target.name,
        status,
        tuple(findings),
        obligations,
        (
            *conditions,
            *kernel.assumptions,
            *separate(kernel, notes.extents, stated=True),
            *judged.assumptions,
            *_unclaimed(kernel, moves),
            *allowed,
            *contested,
        ),
        dict(options.readings),
        time.perf_counter() - started,
        judged.solver,
        path,
        function.span.line,
        notes.expect,
        _claim(kernel, judged),
        conditions=conditions,
    )


def _as_one_tile(
    function: KernelFunction,
    known: tuple[Kernel, JudgedKernel],
    target: Target,
    options: Options,
    notes: Notes,
    moves: Sequence[PlanMove],
) -> tuple[Kernel, JudgedKernel]:
    """The kernel with tiles of as many elements at one address taken as one, which then is a condition, where that
    decides what they hold, or leaves less of it open; as it was where it does not.
    """
    kernel = meaning_of(function, replace(settings_of(notes, options.readings), one_tile=True))
    judged = judged_kernel(kernel, target, options, notes, moves)
    status = judged.obligations["core/definite"][0]
    if status == "refuted" or (status == "unknown" and judged.open_reads >= known[1].open_reads):
        return known
    for names in kernel.alike.values():
        if len(names) > 1:
            told = [f"`{n}` transposed" if by and not all(names.values()) else f"`{n}`" for n, by in names.items()]
            judged.conditions.append(f"{' and '.join(told)}, as many elements at one address, are one tile")
    return kernel, judged


def check_plan_kernel(
    entry: PlanKernel, plan: Plan, options: Options, keep: dict[str, Any] | None = None
) -> list[Verdict]:
    """The verdicts on a kernel of a plan: under the chosen readings, then under each that the plan speaks of. `keep`
    receives the solver's questions of each.

    Raises InputError for a text that cannot be read.
    """
    target = plan.targets[entry.target]
    asked: dict[str, Any] = {} if keep is None else keep
    meant = function_in_plan(entry, target)
    out = [_plan_verdict(entry, plan, meant, options, entry.name, entry.expect, asked)]
    for reading, expect in entry.under.items() if not options.readings else ():
        rule, _, name = reading.partition("=")
        chosen = replace(options, readings={rule: name})
        out.append(_plan_verdict(entry, plan, meant, chosen, f"{entry.name} under {reading}", expect, asked))
    return out


def _plan_verdict(
    entry: PlanKernel, plan: Plan, meant: NamedFunction, options: Options, name: str, expect: tuple[str, ...] | None,
    keep: dict[str, Any],
) -> Verdict:  # fmt: skip
    target = meant.function.target
    moves = [replace(move, problems=tuple(unmet(move, plan.axes, target, move.problems))) for move in entry.moves]
    verdict = check_function(meant.function, name, meant.notes, options, keep.setdefault(name, []), moves)
    if verdict is None:
        holds = any(True for _ in copies_in(meant.function.body))
        said = f"no run of {entry.source.name} reaches its" if holds else f"{entry.source.name} holds no"
        raise InputError(f"{said} DMA operation{'s' * holds}", entry.span, "nothing was checked")
    return replace(verdict, expect=expect, path=plan.path, line=entry.line)


def _claim(kernel: Kernel, judged: JudgedKernel) -> str:
    """The bound of the claim: the bytes of all copies where they are numbers."""
    if judged.sequential:
        count = kernel.tile_moves
        moves = f"{count} tile moves" if count > 1 else "the tile move" if count else "the tiles"
        return f"every element of {moves} in the order of the text, which the assembler keeps by flags of its own"
    if kernel.tile_moves and not kernel.copies:
        several = f"{kernel.tile_moves} tile moves" if kernel.tile_moves > 1 else "the tile move"
        return f"every element of {several}, for all values and iterations{_beside(kernel)}"
    if kernel.signals and not kernel.copies:
        return f"every signal and fence, for all values and iterations{_beside(kernel)}"
    total = 0
    for copy in kernel.copies:
        numbers = [copy.row, *(step.count for step in copy.steps)]
        if kernel.world.symbols or not all(n.is_const for n in numbers):
            several = f"{len(kernel.copies)} copies" if len(kernel.copies) > 1 else "the copy"
            return f"every byte of {several}, for all values and iterations{_beside(kernel)}"
        size = 1
        for number in numbers:
            size *= number.const
        total += size
    return f"all {total:,} bytes{_beside(kernel)}"


def _beside(kernel: Kernel) -> str:
    """What the claim leaves out."""
    left = ", of the cube side flags and order alone" if kernel.cube else ""
    return f"{left}, {_never(kernel)}" if _never(kernel) else left


def _never(kernel: Kernel) -> str:
    """Copies of the text that no run reaches."""
    count = len(kernel.idle)
    return f"{count} {'copies' if count > 1 else 'copy'} never run{'s' if count == 1 else ''}" if count else ""


def _idle(notes: Notes, kernel: Kernel) -> Iterator[Remark]:
    """Notes that say something of values that the kernel is not given."""
    for (what, name), span in notes.spans.items():
        if what == "assume" and name not in kernel.ranged:
            said = f"this range says nothing: %{name} is no argument, number of a core or value from memory"
            hint = "state the ranges of the arguments that it is computed from"
            yield Remark("note", said, span, hint, always=False)
        elif what == "core" and not any(isinstance(e, (Arrival, Release)) for e in every(kernel.events)):
            said = "this says nothing: the kernel waits for no other core, and lets none go on"
            yield Remark("note", said, span, "write pto.sync.wait or pto.sync.set where it does", always=False)
        elif what == "gm" and name not in kernel.roots:
            yield Remark("note", f"this extent says nothing: no pointer is called %{name}", span, always=False)


def _with_corruption(findings: Sequence[Finding], kernel: Kernel) -> list[Finding]:
    """Values that do not fit their field say what they change when they are packed by shifts, without a mask."""
    fields = {
        "pto/n-burst", "pto/len-burst", "pto/loop-size", "pto/gm-stride", "pto/ub-stride", "pto/pad-count",
        "pto/cache-ctl", "pto/stream-id", "pto/local-rows", "pto/local-length", "pto/local-gap",
    }  # fmt: skip
    out = []
    for finding in findings:
        copy = next((c for c in kernel.copies if finding.rule in fields and _about(finding, c)), None)
        out.append(finding if copy is None else replace(finding, notes=(*finding.notes, *_corruption(copy))))
    return out


def _about(finding: Finding, copy: Copy) -> bool:
    spans = [copy.span, *copy.spans.values(), *(s for step in copy.steps for s in step.spans)]
    return any(s is not None and finding.span is not None and s.start == finding.span.start for s in spans)


def _corruption(copy: Copy) -> list[str]:
    try:
        found = misfits(copy.kind, fields_of(copy))
    except InputError:
        return []
    notes = []
    for misfit in found:
        changed = [f"{name} becomes {new:,} instead of {old:,}" for name, old, new in misfit.changes]
        what = "; ".join(changed) or "the bits above its field are lost"
        notes.append(f"{misfit.field} = {misfit.value:,} in {misfit.bits} bits, packed without a mask: {what}")
    return notes


def _unclaimed(kernel: Kernel, moves: Sequence[PlanMove]) -> tuple[str, ...]:
    """What a kernel by itself does not say, so that nobody takes its verdict for more."""
    if moves or not kernel.copies:
        return ()
    return ("no move is claimed: whether these are the elements that were meant was not judged",)


def slice_of(copy: Copy, world: World) -> str:
    """What a copy moves, inferred from its operands."""

    def said(term: Lin) -> str:
        return term_text(term, world)

    ends = []
    for place, side in ((copy.read, "read"), (copy.write, "write")):
        steps = [f"{said(getattr(step, side))} * {step.label}" for step in copy.steps if step.count != ONE]
        start = [said(place.address)] if place.address != ZERO or not steps else []
        ends.append(f"{place.root or place.space}[{' + '.join([*start, *steps])}]")
    counts = [f"{step.label} < {said(step.count)}" for step in copy.steps if step.count != ONE]
    where = f", {', '.join(counts)}" if counts else ""
    return f"line {copy.span.line}: {said(copy.row)} bytes {ends[0]} -> {ends[1]}{where}"


def _obligations(kernel: Kernel, judged: JudgedKernel, *, claimed: bool) -> tuple[Obligation, ...]:
    out = dict(judged.obligations)
    if not claimed:
        slices = [slice_of(copy, kernel.world) for copy in kernel.copies]
        more = [f"and {len(slices) - 8} more (dmaverify emit --as slices)"] if len(slices) > 8 else []
        inferred = f"; inferred: {'; '.join(slices[:8] + more)}" if slices else ""
        out["core/same-element"] = ("not judged", "", "no move is claimed" + inferred)
    lost = [r for r in kernel.remarks if r.kind == "unresolved" and r.always]
    wrong = [r for r in kernel.remarks if r.kind == "state" and r.always]
    out["core/unresolved-copy"] = ("unknown" if lost else "proved", "", f"{len(lost)} not resolved" if lost else "")
    if any(r.kind == "flags" for r in kernel.remarks):
        out["core/flags"] = ("refuted", "every flag between the cores", "")
    if wrong or "core/registers" not in out:
        out["core/registers"] = ("refuted" if wrong else "proved", "every path", "")
    return tuple(Obligation(name, *rest) for name, rest in sorted(out.items()))


def _suppressed(findings: Sequence[Finding], notes: Notes, unknown: set[str]) -> tuple[list[Finding], list[str]]:
    """Findings and open questions that a note allows are said, no more; a note that allows nothing is a finding."""
    kept = [f for f in findings if f.rule not in notes.allow]
    met = {f.rule for f in findings} | unknown
    said = [f"{rule} is allowed: {reason}" for rule, (_, reason) in notes.allow.items() if rule in met]
    for rule, (span, _) in notes.allow.items():
        if rule not in met:
            kept.append(Finding("core/unused-suppression", Severity.WARNING, f"nothing here breaks {rule}", "", span))
    return kept, said


__all__ = ["check_file", "check_function", "check_text"]
