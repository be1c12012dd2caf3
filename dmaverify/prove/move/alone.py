"""A move without stream and commands: what its two mappings tell, and the rules that no stream could meet.

Knows: elements that the source lacks, that the destination drops, zeros that nobody has, cuts that no nest follows, the
best alignment that any packet could have.
Does not know: commands, how verdicts are shown.
Law: refuted only with an element that no program can serve, zero padding beside a source without zeros, a cut that no
nest of loops can follow, or a rule that every packet breaks; where the elements are too many to tell, the answer is
unknown. What else is asked of padding, and what is read, commands alone decide.

Source: docs/design.md; docs/machines/rngd.md 1.4, 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from dmaverify.language.expr import Kind, Padding, axes_of, walk
from dmaverify.language.numbers import gcd
from dmaverify.language.served import TooManyCells, first_unserved, holds_nothing
from dmaverify.layout.addresses import Layout
from dmaverify.layout.held import TooMany
from dmaverify.lower.programs import space_of
from dmaverify.program.move import Transfer
from dmaverify.program.space import divisor_bytes, layout_of, unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.prove.move.case import Case
from dmaverify.prove.move.feasible import (
    ONE_UNIT,
    Clash,
    ContiguousRun,
    clashes,
    entangled,
    longest_run,
    missing,
    without_start,
)
from dmaverify.prove.move.outcome import Broken
from dmaverify.prove.move.scene import Scene, Side
from dmaverify.prove.move.static import Instance, RuleReport, Ruling
from dmaverify.prove.move.unread import UnreadElement, unread
from dmaverify.prove.move.witness import finding_of, promises_nothing
from dmaverify.targets.target import Target, load_obligations
from dmaverify.values import replace
from dmaverify.verdict import Finding, Label, Severity

MOST_UNITS, MOST_WORD = 1 << 24, 1 << 12
"""Units of a run whose parts are all tried; of a longer one, of the largest word that is."""


def judge_move(case: Case) -> None:
    """No stream, no commands: what the two mappings tell by themselves, and the rules that no stream could meet."""
    transfer = case.transfer
    case.assumptions.append("no command was checked: the plan gives neither a stream nor commands")
    source, source_opaque = layout_of(transfer.source, case.spaces[0], case.bits)
    dest, dest_opaque = layout_of(transfer.dest, case.spaces[1], case.bits)
    opaque = bool(source_opaque or dest_opaque)
    if _holds_nothing(transfer.dest, None if dest_opaque else dest):
        case.status["core/same-element"] = "proved"
        case.status["core/not-vacuous"] = "refuted"
        case.findings.append(promises_nothing(transfer.dest))
    elif _holds_nothing(transfer.source, None if source_opaque else source):
        index = {} if dest_opaque else Side(transfer.dest, case.spaces[1], case.bits).cell_at(dest.origin).index
        _lacks(case, _told(index or {}), index or {}, next(iter(index or {}), ""))
    elif opaque or entangled(source) or entangled(dest):
        _counted(case)
    else:
        for clash in clashes(source, dest):
            _clash(case, clash)
        _absent(case, source, dest)
    _dropped(case, unread(transfer, source, dest, opaque=opaque))
    _zeros(case, None if dest_opaque else dest)
    report = case.rules_on(())
    findings = [*report.findings, *told_of_any_stream(case, transfer).findings]
    if not opaque:
        case.conditions += unfilled(transfer, (source, dest), case.target)
        findings += _of_copies(case, transfer, (source, dest))
    case.take(replace(report, findings=tuple(findings)))


def told_of_any_stream(case: Case, transfer: Transfer) -> RuleReport:
    """What the rules say of packets and of the first cells of copies, for one iteration of a move. Of a mapping without
    digits a packet of one unit is known alone, and where that breaks a rule, nothing is.
    """
    sides = zip((transfer.source, transfer.dest), case.spaces, strict=True)
    (source, one), (dest, other) = (layout_of(tensor, space, case.bits) for tensor, space in sides)
    if not (one or other):
        report = _alignment(case, transfer, longest_run(source, dest))
        return replace(report, findings=(*report.findings, *_of_copies(case, transfer, (source, dest), first=True)))
    report = _alignment(case, transfer, ONE_UNIT)
    broken = [finding.rule for finding in report.findings if finding.severity is Severity.ERROR]
    broken += _rules_of_copies(case, transfer)
    case.leave_open(broken, "a mapping has no digits, so that packets of more than one unit are not known")
    return replace(report, findings=tuple(f for f in report.findings if f.severity is not Severity.ERROR))


def unfilled(transfer: Transfer, layouts: tuple[Layout, Layout], target: Target) -> list[str]:
    """What nobody may need behind the rows of any copies: the last one of a run ends where the run does."""
    from dmaverify.prove.move.copy_ports import left_behind_rows

    bits = target.dtypes[transfer.dtype]
    rows = (longest_run(*both).units * unit_bits_of(bits) // 8 for both in (layouts,))  # sought where a route fills
    return left_behind_rows(transfer, rows, target, space_of(target, transfer.dest.tier), bits)


def _holds_nothing(tensor: Tensor, layout: Layout | None) -> bool:
    """Whether no cell is live: by the cell of all zeros (guards only grow), without digits cell by cell."""
    if layout is not None:
        return layout.kind_at((0,) * len(layout.digits)) is not None
    try:
        return holds_nothing(tensor.mapping)
    except TooManyCells:
        return False  # too many to tell what is asked for, too


def _told(index: Mapping[str, int]) -> str:
    return ", ".join(f"{axis} = {value}" for axis, value in index.items()) or "all coordinates 0"


def _clash(case: Case, clash: Clash) -> None:
    """Cuts that one nest of loops cannot both follow: an error where that was confirmed, else open."""
    transfer = case.transfer
    text = (
        f"no common refinement on axis {clash.axis}: one side cuts it at {clash.cut}, the other at {clash.other}; the "
        f"steps that reach {clash.axis} = {clash.coordinate - 1} give another place for {clash.axis} = "
        f"{clash.coordinate} on each side"
    )
    hint = "cut the axis alike on both sides, or move it with several commands"
    span = transfer.source.element.span
    labels = (Label(span, "the source"),) if span else ()
    if clash.confirmed:
        case.ill(text, transfer.dest.element.span, hint, labels=labels)
        case.findings[-1] = replace(case.findings[-1], witness={"coordinates": {clash.axis: clash.coordinate}})
        return
    case.ill(f"{text} (not confirmed)", transfer.dest.element.span, hint, Severity.WARNING, labels=labels)
    case.status["core/well-formed"] = "unknown"


def _asks(case: Case) -> bool:
    """Whether every destination element must be in the source."""
    case.status["core/same-element"] = "proved"
    return case.options.readings.get("core/same-element") != "broadcast-missing"


def _absent(case: Case, source: Layout, dest: Layout) -> None:
    """Destination elements that no source cell can serve."""
    if not _asks(case):
        return
    try:
        for lack in missing(source, dest):
            side = Side(case.transfer.dest, case.spaces[1], case.bits)
            index = side.cell_at(lack.address).index or {lack.axis: lack.coordinate}
            _lacks(case, f"{lack.axis} = {lack.coordinate}", index, lack.axis)
        for axis in without_start(source, dest):
            _lacks(case, f"{axis} = 0, as the destination does not name it", {axis: 0}, axis)
    except TooMany:
        case.status["core/same-element"] = "unknown"


def _counted(case: Case) -> None:
    """As `_absent`, cell by cell, where a mapping has no digits for each axis."""
    if not _asks(case):
        return
    case.by["core/same-element"] = "enumeration of all cells"
    try:
        source = case.transfer.source.mapping
        found = first_unserved(source, case.transfer.dest.mapping, list(axes_of(source)))
    except TooManyCells:
        case.status["core/same-element"] = "unknown"
        return
    if found is not None:
        _lacks(case, _told(found), found, next(iter(found), ""))


def _dropped(case: Case, found: list[UnreadElement] | None) -> None:
    """Source elements that go nowhere: a warning, where no reading makes that an error. What is read, commands say."""
    if strict := case.strict_consumes:
        case.status["core/consumes"] = "unknown" if found is None else "refuted" if found else "proved"
    for one in found or ():
        case.findings.append(
            Finding(
                "core/consumes", Severity.ERROR if strict else Severity.WARNING, one.told, "source",
                case.transfer.source.element.span or case.transfer.source.span, {"axis": one.axis},
                {"coordinates": {one.axis: one.coordinate}},
                hint=load_obligations()["core/consumes"].hint,
            )
        )  # fmt: skip


def _zeros(case: Case, dest: Layout | None) -> None:
    """Zero padding of the destination that a copy cannot bring, as the source has none. Copy instructions may pad."""
    source, tiers = case.transfer.source, (case.transfer.source.tier, case.transfer.dest.tier)
    asked, held = (_names_zeros(tensor) for tensor in (case.transfer.dest, source))
    if not asked or held or case.target.copies_of(*tiers) is not None:
        return
    if dest is not None and not any(guard.kind is Kind.ZERO for guard in dest.guards):
        return
    found = None if dest is None else _zero_of(dest)
    if found is not None:
        pairs = zip((source, case.transfer.dest), case.spaces, strict=True)
        read, write = (Side(tensor, space, case.bits) for tensor, space in pairs)
        told = finding_of(Broken("core/padding", "zero-unwritten", position=found), Scene(read, write, ()))
        case.findings.append(replace(told, message=f"{told.message}: the source has no zeros"))
    case.status["core/padding"] = "unknown" if found is None else "refuted"
    case.by["core/padding"] = "whether some cell is of the zero padding that it names" if found is None else ""


def _zero_of(dest: Layout) -> int | None:
    """The address of a cell of zero padding, the first that a guard names; None where other padding covers those."""
    for guard in dest.guards:
        values = [0] * len(dest.digits)
        for left, (index, weight) in reversed(list(enumerate(sorted(guard.terms, key=lambda term: term[1])))):
            need = max(0, guard.bound - guard.value(tuple(values)))
            values[index] = min(dest.digits[index].slots - 1, need // weight if left else -(-need // weight))
        address = dest.address_of(values)
        inside = dest.values_at(address) == tuple(values) and not any(values[i] for i in dest.beyond_index)
        if guard.kind is Kind.ZERO and inside and dest.kind_at(tuple(values)) is Kind.ZERO:
            return address
    return None


def _names_zeros(tensor: Tensor) -> bool:
    return any(isinstance(node, Padding) and node.kind is Kind.ZERO for node in walk(tensor.mapping))


def _lacks(case: Case, what: str, index: Mapping[str, int], axis: str) -> None:
    case.status["core/same-element"] = "refuted"
    case.findings.append(
        Finding(
            "core/same-element",
            Severity.ERROR,
            f"the source holds no element with {what}, which the destination asks for",
            "dest",
            case.transfer.dest.element.span or case.transfer.dest.span,
            {"axis": axis},
            {"coordinates": dict(index)},
            hint=(
                "name the whole axis in the source, or read it as a broadcast "
                "(--reading core/same-element=broadcast-missing)"
            ),
        )
    )


def _alignment(case: Case, transfer: Transfer, run: ContiguousRun) -> RuleReport:
    """The rules of a command on the packets that a stream could have: those that the smallest breaks, where all do."""
    reports = []
    for facts in packets_of(run, case.bits):
        ruling = Ruling.of_move(case.target, case.transfer, case.options.readings)
        place = Instance("command", facts, "any stream", transfer.dest.element.span or transfer.span)
        report = ruling.judge([place], only=told_of_packet(case.target, facts, ruling.limits))
        if not any(finding.severity is Severity.ERROR for finding in report.findings):
            return report
        reports.append(report)
    return reports[0]


def _rules_of_copies(case: Case, transfer: Transfer) -> list[str]:
    """The rules of how far copies reach and where they begin, where a move is made of copies."""
    from dmaverify.prove.move.copy_ports import told_of_first, told_of_span

    target, tiers = case.target, (transfer.source.tier, transfer.dest.tier)
    if target.copies_of(*tiers) is None:
        return []
    engine, limits = target.engine_of(*tiers), target.limits_with(transfer.limits)
    told = told_of_span(target, limits) | told_of_first(target, limits)
    sides = list(zip(("read", "write"), tiers, strict=True))
    return [
        rule.id
        for rule in target.rules.values()
        if rule.id in told and any(rule.applies(engine, *tiers, *side) for side in sides)
    ]


def _of_copies(
    case: Case, transfer: Transfer, layouts: Sequence[Layout], *, first: bool = False
) -> Sequence[Finding]:  # fmt: skip
    """What breaks the rules of how far copies reach, on the live cells of both sides; `first`: of where they begin."""
    from dmaverify.prove.move.copy_ports import first_facts, span_facts, told_of_first, told_of_span

    tensors = transfer.source, transfer.dest
    tiers = tensors[0].tier, tensors[1].tier
    if case.target.copies_of(*tiers) is None:
        return ()
    ruling = Ruling.of_move(case.target, transfer, case.options.readings)
    facts, told = (first_facts, told_of_first) if first else (span_facts, told_of_span)
    places = []
    for side, tensor, layout in zip(("read", "write"), tensors, layouts, strict=True):
        one = facts(layout, transfer, side, case.target)
        places.append(Instance(one.scope, one.values, one.what, tensor.element.span, side, tensor.tier))
    return ruling.judge(places, only=told(case.target, ruling.limits)).findings


def packets_of(run: ContiguousRun, dtype_bits: int) -> Iterator[dict[str, int]]:
    """What rules of a command are asked of, packet by packet: 8 bytes of a run, or what 8 leaves of it, then every part
    that divides the run, and the same of shorter runs. Of a symbolic run, or one of more than `MOST_UNITS`, the parts
    are one unit, words by doubling, and all of it: a rule that another packet keeps is then broken all the same.
    """
    bits = unit_bits_of(dtype_bits)
    for units in (run.units, *run.shorter):
        word = 64 // bits
        yield _packet_facts(run, word if units % word == 0 else units % word, word, bits)
        for part in _parts(units, word):
            yield _packet_facts(run, part, part, bits)


def _parts(units: int, word: int) -> Iterator[int]:
    if isinstance(units, int) and units <= MOST_UNITS:
        low = [n for n in range(1, math.isqrt(units) + 1) if units % n == 0]
        yield from sorted({*low, *(units // n for n in low)})
        return
    yield 1
    while word < MOST_WORD and units % (2 * word) == 0:
        word *= 2
        yield word
    yield units


def _packet_facts(run: ContiguousRun, packet: int, word: int, bits: int) -> dict[str, int]:
    read, write = (gcd(g, word) * bits for g in (run.read_gcd, run.write_gcd))
    return {
        "packet_bytes": max(1, packet * bits // 8), "read_gcd": divisor_bytes(read), "write_gcd": divisor_bytes(write),
        "packet_bits": packet * bits, "read_gcd_bits": read, "write_gcd_bits": write,
    }  # fmt: skip


def told_of_packet(target: Target, facts: Mapping[str, int], limits: Mapping[str, int]) -> set[str]:
    """The rules of a command that such a packet decides."""
    every = target.rules.values()
    return {r.id for r in every if r.scope == "command" and set(r.ports) <= {*facts, *limits}}
