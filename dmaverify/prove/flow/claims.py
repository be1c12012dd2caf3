"""Copies of a kernel against the move that they are said to make: the core's obligations, and what padding holds.

Knows: how a copy with numbers becomes a command, loops around it included; which byte of the destination padding fills.
Does not know: machines, text syntax, where the claim is written.
Law: data is judged by `judge_core`, byte for byte; a Zero cell is proved only if padding of value zero fills it, a
Bottom cell only if nothing touches it. A copy with symbols cannot be claimed to make a move of fixed size: that is
unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dmaverify.errors import Span
from dmaverify.language.expr import Kind, axes_of
from dmaverify.lower.programs import space_of
from dmaverify.program.access import PlanMove
from dmaverify.program.command import Command, Port
from dmaverify.program.command import Loop as Nest
from dmaverify.program.instructions import Copy, CopyTouch, Event, KernelLoop
from dmaverify.program.rewrite import with_loops
from dmaverify.program.tensor import Tensor
from dmaverify.prove.move.core import judge_core
from dmaverify.prove.move.scene import Scene, Side
from dmaverify.prove.move.witness import finding_of
from dmaverify.prove.options import Options
from dmaverify.prove.smt import Session
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field, fields, is_dataclass, replace
from dmaverify.verdict import Finding, Label, Severity

_DATA, _UNTOUCHED, _UNKNOWN = -3, -1, -2


@dataclass
class ClaimResult:
    """Findings, statuses by obligation, and how many bytes the destination has."""

    findings: list[Finding] = field(default_factory=list)
    status: dict[str, str] = field(default_factory=dict)
    by: str = ""
    units: int = 0
    dest: Tensor | None = None  # as data was judged: Zero padding as Top
    commands: Sequence[Command] = ()
    padded: bool = False  # padding is laid, or asked for


def judge_claim(claim: PlanMove, events: Sequence[Event], target: Target, options: Options) -> ClaimResult:
    """Every obligation of a claimed move."""
    out = ClaimResult()
    placed = {copy.order: (copy, loops) for copy, loops in placed_copies(events, ())}
    commands: list[Command] = []
    nests: list[tuple[Copy, tuple[KernelLoop, ...]]] = []
    said = Label(claim.span, "the move that it should make")
    for number in claim.copies:
        if number not in placed:
            has = f"the kernel has {len(placed)}, counted from 1 in the order of its text" if placed else "it has none"
            where = claim.copies_span or claim.span
            missing = Finding("core/well-formed", Severity.ERROR, f"there is no copy {number}", "move", where, hint=has)
            return ClaimResult([missing], {"core/well-formed": "refuted"})
        mode = placed[number][0].atomic
        if mode:
            why = f"copy {number} is an atomic store (`{mode}`): it accumulates, which is no move; not judged"
            return _not_judged(why, placed[number][0].span, said)
        command = command_of(*placed[number], (claim.source, claim.dest))
        if isinstance(command, str):
            return _not_judged(f"copy {number}: {command}", claim.span)
        commands.append(command)
        nests.append(placed[number])
    bits = target.dtypes[claim.dtype]
    spaces = (space_of(target, claim.source.tier), space_of(target, claim.dest.tier))
    plain = replace(claim.dest, element=_without_zero(claim.dest.element))
    session = Session(options.rlimit)
    result = judge_core(claim.source, plain, spaces, bits, commands, options.readings, session)
    scene = Scene(Side(claim.source, spaces[0], bits), Side(plain, spaces[1], bits), commands)
    for broken in result.broken:
        finding = finding_of(broken, scene)
        spans = [n[0].span for n in nests]
        where = (
            finding.span or spans[broken.command if broken.command is not None and broken.command < len(spans) else 0]
        )
        labels = (*finding.labels, said) if where is not claim.span else finding.labels
        out.findings.append(replace(finding, span=where, labels=labels))
    out.status = {
        name: "reported" if name == "core/consumes" and s == "refuted" else s for name, s in result.status.items()
    }
    out.by, out.dest, out.commands = result.by, plain, commands
    laid = any(t.writes and t.kind != "data" for copy, _ in nests for t in copy.touches)
    out.padded = laid or plain.element != claim.dest.element
    out.units = result.units
    _padding(claim, nests, bits, out)
    return out


def _not_judged(why: str, span: Span, *labels: Label) -> ClaimResult:
    found = Finding("core/well-formed", Severity.WARNING, why, "move", span, labels=labels)
    return ClaimResult([found], {"core/same-element": "unknown"})


def placed_copies(
    events: Sequence[Event], loops: tuple[KernelLoop, ...]
) -> Iterator[tuple[Copy, tuple[KernelLoop, ...]]]:
    """Every copy with the loops around it, outer to inner."""
    return ((event, around) for event, around in with_loops(events, loops) if isinstance(event, Copy))


def command_of(copy: Copy, loops: Sequence[KernelLoop], tensors: tuple[Tensor, Tensor]) -> Command | str:
    """The data of a copy as one command, loops of the program outermost; or why it is none."""
    nest: list[Nest] = []
    bases = [dict(place.address.terms) for place in (copy.read, copy.write)]
    for loop in loops:
        if not loop.trip.is_const:
            return f"the loop at line {loop.span.line} has no fixed number of iterations"
        steps = [terms.pop(loop.counter, 0) for terms in bases]
        nest.append(Nest(loop.trip.const, steps[0], steps[1], f"line {loop.span.line}"))
    if any(bases) or copy.when:
        return "its addresses or its execution depend on values that are not numbers"
    data = next(t for t in copy.touches if t.kind == "data")
    numbers = [copy.row, data.offset, *(x for s in copy.steps for x in (s.count, s.read, s.write))]
    if not all(n.is_const for n in numbers):
        return "its operands are not all numbers"
    nest += [
        Nest(step.count.const, step.read.const, step.write.const, step.label, step.spans[1], step.spans[2])
        for step in reversed(copy.steps)
    ]
    if any(n.count < 1 for n in nest) or copy.row.const < 1:
        return "a count is not positive"
    row = copy.row.const
    moving = tuple(n for n in nest if n.count > 1)
    read = Port(tensors[0].tier, copy.read.address.const)
    write = Port(tensors[1].tier, copy.write.address.const + data.offset.const)
    return Command(read, write, moving, row, row, span=copy.span)


def _without_zero(expr: Any) -> Any:
    """The mapping with its Zero padding as Top: whether it is zero is judged apart."""
    if not is_dataclass(expr) or isinstance(expr, type):
        return expr
    changes: dict[str, Any] = {}
    for one in fields(expr):
        value = getattr(expr, one.name)
        if isinstance(value, Kind):
            changes[one.name] = Kind.TOP if value is Kind.ZERO else value
        elif is_dataclass(value) and one.name not in ("span",) and not isinstance(value, Span):
            changes[one.name] = _without_zero(value)
    return replace(expr, **changes) if changes else expr


def _padding(
    claim: PlanMove, nests: Sequence[tuple[Copy, tuple[KernelLoop, ...]]], bits: int, out: ClaimResult
) -> None:
    """What lies in the cells that the destination declares as Zero or Bottom padding."""
    import numpy as np

    from dmaverify.language.meaning import cells_array, finalize_array

    width = max(1, bits // 8)
    size = claim.dest.element.size
    positions = np.arange(size, dtype=np.int64)
    found = finalize_array(cells_array(claim.dest.element, positions), axes_of(claim.dest.element))
    kind = np.repeat(found.kind, width)
    state = np.full(size * width, _UNTOUCHED, dtype=np.int16)
    outside = {"fill": 0, "unknown": 0}
    for copy, loops in nests:
        for touch in sorted(copy.touches, key=lambda t: t.kind == "data"):
            if touch.writes and touch.place.memory == copy.write.memory:
                beyond = _lay(state, touch, loops, claim.dest.base)
                outside[touch.kind] = outside.get(touch.kind, 0) + beyond
    _outside(claim, nests[0][0], outside, out)
    zero, bottom = kind == 2, kind == 3
    wrong = np.flatnonzero(zero & (state != 0))
    touched = np.flatnonzero(bottom & (state != _UNTOUCHED))
    copy = nests[0][0]
    if len(wrong):
        at = int(wrong[0])
        out.status["core/padding"] = "refuted"
        out.findings.append(_not_zero(claim, copy, at, int(state[at]), len(wrong), width))
    if len(touched):
        out.status["core/padding"] = "refuted"
        first = claim.dest.base + int(touched[0])
        said = f"{len(touched):,} bytes that may not be touched are written, the first at {first:,}"
        labels = (Label(claim.span, "the move that it should make"),)
        out.findings.append(Finding("core/padding", Severity.ERROR, said, "destination", copy.span, labels=labels))
    if not len(wrong) and not len(touched) and out.status.get("core/padding") != "refuted":
        out.status["core/padding"] = "proved"


def _not_zero(claim: PlanMove, copy: Copy, at: int, state: int, count: int, width: int) -> Finding:
    said = {_UNTOUCHED: "is never written", _UNKNOWN: "holds unknown bytes", _DATA: "holds data"}.get(
        state, f"holds {state:#04x}"
    )
    from dmaverify.language.meaning import cell

    index = getattr(cell(claim.dest.element, at // width), "coords", ())
    hint = (
        "ask for more padding on the right, or clear the buffer before"
        if state == _UNTOUCHED
        else "set the padding value to 0"
    )
    first, where = claim.dest.base + at, f"position {at // width:,} of the destination{f' {index}' if index else ''}"
    return Finding(
        "core/padding", Severity.ERROR,
        f"padding that must be zero {said}: {count:,} bytes, the first at {first:,}", "destination", copy.span,
        {"first": first, "count": count}, {"element": where, "write_address": first},
        hint=hint, labels=(Label(claim.span, "the move that it should make"),),
    )  # fmt: skip


def _outside(claim: PlanMove, copy: Copy, outside: dict[str, int], out: ClaimResult) -> None:
    """Padding that leaves the destination is wrong; the unknown rest of a block is said."""
    for kind, severity in (("fill", Severity.ERROR), ("unknown", Severity.WARNING)):
        if outside[kind]:
            what = "padding" if kind == "fill" else "the unknown rest of a block"
            said = f"{what} changes {outside[kind]:,} bytes outside of the destination"
            labels = (Label(claim.span, "the move that it should make"),)
            out.findings.append(Finding("core/in-bounds", severity, said, "destination", copy.span, labels=labels))
            if severity is Severity.ERROR:
                out.status["core/in-bounds"] = "refuted"


def _lay(state: Any, touch: CopyTouch, loops: Sequence[KernelLoop], base: int) -> int:
    """Writes what a touch leaves into the bytes of the destination; how many bytes lie outside of it."""
    import numpy as np

    terms = dict(touch.place.address.terms)
    starts = np.array([touch.place.address.const + touch.offset.const - base], dtype=np.int64)
    for loop in loops:
        step = terms.get(loop.counter, 0)
        starts = (starts[None, :] + (np.arange(loop.trip.const) * step)[:, None]).ravel()
    for count, stride in touch.steps:
        starts = (starts[None, :] + (np.arange(count.const) * stride.const)[:, None]).ravel()
    length = touch.length.const
    at = (starts[:, None] + np.arange(length)[None, :]).ravel()
    if touch.kind == "data":
        values = np.full(length, _DATA)
    elif touch.pattern is None:
        values = np.full(length, _UNKNOWN)
    else:
        phase = touch.offset.const
        values = np.array([touch.pattern[(phase + i) % len(touch.pattern)] for i in range(length)])
    inside = (at >= 0) & (at < len(state))
    state[at[inside]] = np.tile(values, len(starts))[inside]
    return int(len(at) - np.count_nonzero(inside))
