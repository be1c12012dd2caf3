"""Copies of a kernel against the move that they are said to make: the core's obligations, and what padding holds.

Knows: how a copy with numbers becomes a command, loops around it included; which values its symbols may have.
Does not know: machines, text syntax, where the claim is written.
Law: data is judged by `judge_core`, byte for byte; a Zero cell is proved only if padding of value zero fills it, a
Bottom cell only if nothing touches it, a live one only if no padding is laid over it. Copies with symbols make a move
only if they do for all values of these that are stated, each of which is judged; some values may refute it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from dmaverify.errors import Span
from dmaverify.language.affine import Lin, compare
from dmaverify.language.expr import Kind
from dmaverify.lower.programs import space_of
from dmaverify.program.access import PlanMove
from dmaverify.program.command import Command, Port
from dmaverify.program.command import Loop as Nest
from dmaverify.program.instructions import Copy, Event, KernelLoop
from dmaverify.program.rewrite import put_in, running, symbols_of, unrolled, with_loops
from dmaverify.program.tensor import Tensor
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.at_values import all_met, chosen_values, told_at, values_text
from dmaverify.prove.flow.claimed_bytes import DATA, OTHER, UNKNOWN, UNTOUCHED, ClaimedBytes, Moment, left_by, moments
from dmaverify.prove.move.core import judge_core
from dmaverify.prove.move.scene import Scene, Side
from dmaverify.prove.move.witness import finding_of
from dmaverify.prove.options import Options
from dmaverify.prove.smt import Session
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field, fields, is_dataclass, replace
from dmaverify.verdict import Finding, Label, Severity

MOST_VALUES = 64  # values of symbols that are judged one by one
MOST_CELLS = 1 << 22  # ... and cells of the destination in all of them
MOST_ROUNDS = 64  # iterations that are told apart where a copy is not the same in each
ORDER = ("proved", "reported", "not judged", "unknown", "refuted")


@dataclass
class ClaimResult:
    """Findings, statuses by obligation, and how many bytes the destination has."""

    findings: list[Finding] = field(default_factory=list)
    status: dict[str, str] = field(default_factory=dict)
    by: str = ""
    units: int = 0
    dest: Tensor | None = None  # as data was judged: Zero padding as Top; None where that was for several values
    commands: Sequence[Command] = ()
    copies: Sequence[tuple[Copy, tuple[KernelLoop, ...]]] = ()
    padded: bool = False  # padding is laid, or asked for


def judge_claim(
    claim: PlanMove, events: Sequence[Event], idle: Collection[int], asker: Asker, target: Target, options: Options
) -> ClaimResult:
    """Every obligation of a claimed move, for all values that the symbols of its copies may have; the `idle` copies
    never run.
    """
    placed = list(placed_copies(events, ()))
    mine = [one for one in placed if one[0].order in claim.copies]
    known = {copy.order for copy, _ in placed}.union(idle)
    for number in claim.copies:
        if number not in known:
            has = f"the kernel has {len(known)}, counted from 1 in the order of its text" if known else "it has none"
            where = claim.copies_span or claim.span
            missing = Finding("core/well-formed", Severity.ERROR, f"there is no copy {number}", "move", where, hint=has)
            return ClaimResult([missing], {"core/well-formed": "refuted"})
    ill = _no_such_move(claim, [copy for copy, _ in mine])
    if ill is not None:
        return ill
    names = _symbols(mine, asker)
    if not names:
        return _at_numbers(claim, events, asker, target, options)
    symbols = [asker.world.symbols[name] for name in names]
    if not all(s.stated and s.low is not None and s.high is not None for s in symbols) or any(
        s.varies or s.loaded for s in symbols
    ):
        return _at_numbers(claim, events, asker, target, options)
    return _at_all_values(claim, events, names, asker, target, options)


def _no_such_move(claim: PlanMove, copies: Sequence[Copy]) -> ClaimResult | None:
    """What is said of copies between other memories than those of the move, or of several tensors of one."""
    said = Label(claim.span, "the move that it should make")
    for copy in copies:
        ends = (copy.read.space, copy.write.space)
        if ends != (claim.source.tier, claim.dest.tier):
            why = f"copy {copy.order} goes from {ends[0]} to {ends[1]}, the move from {claim.source.tier} to "
            found = Finding(
                "core/well-formed", Severity.ERROR, why + claim.dest.tier, "move", copy.span, labels=(said,)
            )
            return ClaimResult([found], {"core/well-formed": "refuted"})
        if copy.atomic:
            why = f"copy {copy.order} is an atomic store (`{copy.atomic}`): it accumulates, which is no move"
            return _not_judged(f"{why}; not judged", copy.span, said)
        for mine, first, does in ((copy.read, copies[0].read, "reads"), (copy.write, copies[0].write, "writes")):
            if mine.memory != first.memory:
                why = f"copy {copy.order} {does} `{mine.root}`, copy {copies[0].order} `{first.root}`: where one lies "
                return _not_judged(f"{why}in the other is not known; not judged", copy.span, said)
    return None


def _symbols(copies: Sequence[tuple[Copy, Sequence[KernelLoop]]], asker: Asker) -> list[str]:
    """The symbols that these copies depend on, counters of the loops around aside."""
    found: set[str] = set()
    for copy, loops in copies:
        own = symbols_of([copy, *(replace(loop, body=()) for loop in loops)], asker.world)
        own |= {name for when in copy.when for name in asker.world.roots(when)}
        found |= own - {loop.counter for loop in loops}
    return sorted(found)


def _at_all_values(
    claim: PlanMove, events: Sequence[Event], names: Sequence[str], asker: Asker, target: Target, options: Options
) -> ClaimResult:
    """The worst of what is found at each of the stated values; of too many, at some, which prove nothing."""
    world = asker.world
    ranges = [range(s.low or 0, (s.high or 0) + 1) for s in (world.symbols[name] for name in names)]
    count = prod(map(len, ranges))
    every = count <= MOST_VALUES and (count == 1 or count * claim.dest.element.size <= MOST_CELLS)
    chosen: Iterator[Mapping[str, Lin]] = (
        {name: Lin(value) for name, value in zip(names, values, strict=True)} for values in product(*ranges)
    )
    if not every:
        chosen = chosen_values(asker, names, events)
    out, judged = ClaimResult(), 0
    for values in chosen:
        pinned = [compare("eq", Lin(0, ((name, 1),)) - value) for name, value in values.items()]
        met = "refuted" if all_met(asker, names, values) else asker.possible(pinned, names=names).status
        if met == "proved":  # no launch has these
            continue
        found = _at_numbers(claim, [put_in(e, world, values) for e in events], asker, target, options)
        if met == "unknown" and "refuted" in found.status.values():
            found = _not_judged("whether what is stated allows the values at which it fails is not known", claim.span)
        found.findings = found.findings if count == 1 else [told_at(f, values, world) for f in found.findings]
        judged += 1
        if judged == 1 or "refuted" in found.status.values() or "unknown" in found.status.values():
            out = found
        if "refuted" in found.status.values() or ("unknown" in found.status.values() and every):
            break
    if "refuted" not in out.status.values() and (not every or not judged):
        said = {world.symbols[name].shown: len(one) for name, one in zip(names, ranges, strict=True)}
        why = f"it depends on {values_text(said).replace(' =', ', of')} values"
        return _not_judged(f"{why}: too many to judge the move at each of them", claim.span)
    if count > 1 and "refuted" not in out.status.values():
        out.dest, out.by = None, f"enumeration of all {judged} values"
    return out


def _at_numbers(
    claim: PlanMove, events: Sequence[Event], asker: Asker, target: Target, options: Options
) -> ClaimResult:
    """Every obligation of a claimed move whose copies are numbers; what is not one is not judged."""
    out = ClaimResult()
    found = _as_commands(claim, list(running(events)))
    if isinstance(found, str):
        found = _as_commands(claim, list(_each_round(list(running(events)), asker)))
    if isinstance(found, str):
        return _not_judged(found, claim.span)
    mine, others, commands = found
    bits = target.dtypes[claim.dtype]
    spaces = (space_of(target, claim.source.tier), space_of(target, claim.dest.tier))
    plain = replace(claim.dest, element=_without_zero(claim.dest.element))
    session = Session(options.rlimit)
    result = judge_core(claim.source, plain, spaces, bits, commands, options.readings, session)
    scene = Scene(Side(claim.source, spaces[0], bits), Side(plain, spaces[1], bits), commands)
    said = Label(claim.span, "the move that it should make")
    for broken in result.broken:
        finding = finding_of(broken, scene)
        at = broken.command if broken.command is not None and broken.command < len(mine) else 0
        where = finding.span or (mine[at].event.span if mine else claim.span)
        labels = (*finding.labels, said) if where is not claim.span else finding.labels
        out.findings.append(replace(finding, span=where, labels=labels))
    out.status = {
        name: "reported" if name == "core/consumes" and s == "refuted" else s for name, s in result.status.items()
    }
    out.by, out.dest, out.commands, out.units = result.by, plain, commands, result.units
    out.copies = [(one.event, one.loops) for one in mine if isinstance(one.event, Copy)]
    laid = any(t.writes and t.kind != "data" for copy, _ in out.copies for t in copy.touches)
    out.padded = laid or plain.element != claim.dest.element
    if mine:
        _bytes(claim, left_by(claim.dest, bits, mine, others, asker.world), out, bits // 8)
    return out


def _as_commands(claim: PlanMove, events: Sequence[Event]) -> tuple[list[Moment], list[Moment], list[Command]] | str:
    """The copies of a move among all events, in the order of the text, as commands; or why they are none."""
    mine, others, commands = list[Moment](), list[Moment](), list[Command]()
    for moment in moments(events):
        copy = moment.event
        if not isinstance(copy, Copy) or copy.order not in claim.copies:
            others.append(moment)
            continue
        if any(when.known is False for when in copy.when) or any(loop.trip == Lin(0) for loop in moment.loops):
            continue
        when = tuple(when for when in copy.when if not when.known)
        command = command_of(replace(copy, when=when), moment.loops, (claim.source, claim.dest))
        if isinstance(command, str):
            return f"copy {copy.order}: {command}"
        mine.append(moment)
        commands.append(command)
    return mine, others, commands


def _each_round(events: Sequence[Event], asker: Asker) -> Iterator[Event]:
    """Loops of few iterations one by one, in which a number may be another one each time."""
    for event in events:
        few = isinstance(event, KernelLoop) and event.trip.is_const and event.trip.const <= MOST_ROUNDS
        if isinstance(event, KernelLoop) and few and any(isinstance(e, Copy) for e, _ in with_loops(event.body)):
            yield from _each_round(list(running(list(unrolled(event, asker.world, range(event.trip.const))))), asker)
        else:
            yield event


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


def _bytes(claim: PlanMove, left: ClaimedBytes, out: ClaimResult, width: int) -> None:
    """What lies in the cells of the destination: padding as it is declared, and none over an element."""
    import numpy as np

    from dmaverify.language.meaning import BOTTOM, INDEX, ZERO

    copy, state = out.copies[0][0], left.state
    _outside(claim, copy, left.outside, out)
    bare = (left.kind == ZERO) & (state != 0)
    open_ = np.flatnonzero(bare & ((state == OTHER) | ((state == UNTOUCHED) & bool(left.lost or left.doubt))))
    wrong = np.flatnonzero(bare & (state != OTHER) & ((state != UNTOUCHED) | (not (left.lost or left.doubt))))
    touched = np.flatnonzero((left.kind == BOTTOM) & (state != UNTOUCHED) & (state != OTHER))
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
    if out.status.get("core/padding") != "refuted" and (left.whole or out.padded):
        out.status["core/padding"] = "proved" if left.whole and not len(open_) else "unknown"
    over = np.flatnonzero((left.kind == INDEX) & ((state >= 0) | (state == UNKNOWN)))
    if len(over):
        out.status["core/same-element"] = "refuted"
        out.findings.append(_overlaid(claim, copy, int(over[0]), len(over), width))
    elif {out.status.get(name) for name in ("core/same-element", "core/covers")} == {"proved"} and (
        left.lost is not None or ((left.kind == INDEX) & (state == OTHER)).any() or (out.padded and not left.whole)
    ):
        out.status["core/same-element"] = "unknown"
        why = "padding, or what the move does not claim, may lie over it when its copies are done; not judged"
        out.findings.append(Finding("core/well-formed", Severity.WARNING, why, "move", claim.span))


def _overlaid(claim: PlanMove, copy: Copy, at: int, count: int, width: int) -> Finding:
    from dmaverify.language.meaning import cell

    index = getattr(cell(claim.dest.element, at // width), "coords", ())
    first, where = claim.dest.base + at, f"position {at // width:,} of the destination{f' {index}' if index else ''}"
    return Finding(
        "core/same-element", Severity.ERROR,
        f"padding is laid over elements that were written: {count:,} bytes, the first at {first:,}", "destination",
        copy.span, {"first": first, "count": count}, {"element": where, "write_address": first},
        hint="ask for less padding, or copy the elements behind it",
        labels=(Label(claim.span, "the move that it should make"),),
    )  # fmt: skip


def _not_zero(claim: PlanMove, copy: Copy, at: int, state: int, count: int, width: int) -> Finding:
    said = {UNTOUCHED: "is never written", UNKNOWN: "holds unknown bytes", DATA: "holds data"}.get(
        state, f"holds {state:#04x}"
    )
    from dmaverify.language.meaning import cell

    index = getattr(cell(claim.dest.element, at // width), "coords", ())
    hint = (
        "ask for more padding on the right, or clear the buffer before"
        if state == UNTOUCHED
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
