"""Verdicts on kernels: one for each call of a transfer, whatever number of instances stands behind it.

Knows: the two levels of the machine's rules (what the library asserts, what the hardware asks), the unresolved ones.
Does not know: how verdicts are shown.
Law: every site has exactly one verdict, so that what was found is what was judged and what was reported; a site of
which an instance is not known is UNKNOWN, unless another is refuted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import prod

from dmaverify.errors import Span
from dmaverify.language import wellformed
from dmaverify.lower.programs import space_of
from dmaverify.machines.rngd.rust.code import first_error
from dmaverify.machines.rngd.rust.comments import expectations
from dmaverify.machines.rngd.rust.legality import LegalityFindings, crowded, idle, judge
from dmaverify.machines.rngd.rust.moves import KernelMove, Site, Supposed
from dmaverify.machines.rngd.rust.plans import KernelPlan, SiteTransfers, widest
from dmaverify.machines.rngd.rust.views import live_cells
from dmaverify.plan.plan import PlanTransfer
from dmaverify.program.space import Space
from dmaverify.program.tensor import PLACES
from dmaverify.prove.boundary import guarded
from dmaverify.prove.move.check import Options, check_transfer
from dmaverify.prove.move.static import Ruling, transfer_instances
from dmaverify.targets.target import Target, load_obligations
from dmaverify.values import replace
from dmaverify.verdict import Finding, Label, Obligation, Severity, Status, Verdict, settled

UNRESOLVED = "core/unresolved-transfer"
LEVEL = "alignment"
STD = "std"
_NONE = Obligation("", "proved")


def kernel_verdicts(
    plan: KernelPlan, options: Options, keep: dict[str, list[tuple[str, str, str]]] | None = None
) -> list[Verdict]:
    """One verdict for each call, in the order of the text."""
    known = {item.name: item for item in plan.transfers}
    expected = expectations(plan)
    machine = next(iter(plan.targets.values()))
    out = []
    for one in plan.sites:
        if idle(one.site, machine):
            continue
        span = one.site.span
        out += guarded(
            partial(_site_verdict, plan, one, [known[name] for name in one.names], options, keep, expected),
            options.limits, name=one.name, path=plan.path, line=span.line, target=machine.name, span=span,
        )  # fmt: skip
    return out


def _site_verdict(
    plan: KernelPlan, one: SiteTransfers, items: Sequence[PlanTransfer], options: Options,
    keep: dict[str, list[tuple[str, str, str]]] | None, expected: Mapping[str, tuple[str, ...] | None],
) -> list[Verdict]:  # fmt: skip
    machine = next(iter(plan.targets.values()))
    if one.site.supposed is not None and not one.site.moves:
        made = _supposed(plan, one.site, one.site.supposed, options)
        if made is not None:
            return [replace(made, name=one.name, expect=expected.get(one.name))]
    runs = [item for item in items if not plan.moves[item.name].dead]
    judged = [_judged(plan, one.site, item, machine, options, keep) for item in runs or items]
    made = _of_site(plan, one, judged, machine)
    idle = list(dict.fromkeys(plan.moves[item.name].dead for item in items if plan.moves[item.name].dead))
    if idle:
        of = "it does not" if not runs else f"{len(items) - len(runs)} of {len(items)} instances do not"
        said = f"{of} run for these constants, because {' or '.join(idle[:3])}"
        findings = [replace(f, notes=(*f.notes, said)) for f in made.findings] if not runs else made.findings
        claim = "; ".join(part for part in (made.claim, said) if part)
        made = replace(made, findings=tuple(findings), assumptions=(*made.assumptions, said), claim=claim)
    return [replace(made, expect=expected.get(made.name))]


def _supposed(plan: KernelPlan, site: Site, supposed: Supposed, options: Options) -> Verdict | None:
    """The verdict on a call in a generic function that nobody calls."""
    from dmaverify.machines.rngd.rust.generic import GenericCall

    machine = next(iter(plan.targets.values()))

    def judge_one(own: KernelPlan) -> Verdict:
        return _site_verdict(own, own.sites[0], own.transfers, options, None, {})[0]

    def beside(made: Site, item: PlanTransfer, move: KernelMove) -> tuple[list[Finding], tuple[str, ...]]:
        found = [*made.remarks, *crowded(made, machine)]
        if not _sound(item):
            return found, ()
        asserted, own = _as_kernel(plan, made, item, move, machine, options)
        return [*found, *asserted, *own.findings], own.open

    return GenericCall(plan, site, supposed, replace(options, repair=False), judge_one, beside).verdict()


def _judged(
    plan: KernelPlan, site: Site, item: PlanTransfer, machine: Target, options: Options,
    keep: dict[str, list[tuple[str, str, str]]] | None,
) -> tuple[Verdict, list[str]]:  # fmt: skip
    """The verdict on one instance: the move by itself, at both levels, and what only a kernel must keep; with the
    conditions that it rests on.
    """
    started = time.perf_counter()
    move = plan.moves[item.name]
    asked: list[tuple[str, str, str]] = []

    verdict = check_transfer(
        item.transfer, axes={}, problems=item.problems, target=machine, options=options, path=plan.path, line=item.line,
        keep=asked,
    )  # fmt: skip
    if keep is not None:
        keep[item.name] = asked
    verdict, aligned = _where_starts_are_free(verdict, item, move, machine, options)
    conditions = [*move.source.window.given, *move.dest.window.given, *aligned]
    findings = list(verdict.findings)
    opened: tuple[str, ...] = ()
    if _sound(item):
        asserted, own = _as_kernel(plan, site, item, move, machine, options)
        findings, opened = _together([*findings, *asserted], own.findings), own.open
        conditions += own.given
        if options.full and not opened and verdict.status is Status.PROVED:
            verdict = _consumed(verdict, findings, item, machine, options, asked)
    findings = [_labelled(finding, item) for finding in findings]
    said = [f"for {move.generics}"] if move.generics else []
    return _settled(verdict, findings, opened, time.perf_counter() - started, said), conditions


def _as_kernel(
    plan: KernelPlan, site: Site, item: PlanTransfer, move: KernelMove, machine: Target, options: Options
) -> tuple[Sequence[Finding], LegalityFindings]:
    """What the library asserts of a move, and what only a kernel must keep."""
    asserts = LEVEL not in options.readings and plan.library.asserts_layouts
    own = judge(site, move, item.transfer, machine, _spaces(item, machine), options, plan.library)
    return _asserted(item, machine, options) if asserts else [], own


def _spaces(item: PlanTransfer, machine: Target) -> tuple[Space, Space]:
    return space_of(machine, item.transfer.source.tier), space_of(machine, item.transfer.dest.tier)


def _consumed(
    verdict: Verdict, findings: Sequence[Finding], item: PlanTransfer, machine: Target, options: Options,
    asked: list[tuple[str, str, str]],
) -> Verdict:  # fmt: skip
    """The verdict with the question from definitions that nothing of the source is dropped, where nothing is wrong."""
    known = {o.id for o in verdict.obligations}
    if "core/consumes" in known or any(f.severity is Severity.ERROR for f in findings):
        return verdict
    from dmaverify.prove.move.full import FROM_DEFINITIONS, NOT_ASKED, ask_consumed

    bits = machine.dtypes[item.transfer.dtype]
    left = ask_consumed(item.transfer, _spaces(item, machine), bits, options.rlimit, asked)
    if left:
        return replace(verdict, assumptions=(*verdict.assumptions, *(NOT_ASKED + what for what in left)))
    held = Obligation("core/consumes", "proved", FROM_DEFINITIONS)
    return replace(verdict, obligations=(*verdict.obligations, held))


def _where_starts_are_free(
    verdict: Verdict, item: PlanTransfer, move: KernelMove, machine: Target, options: Options
) -> tuple[Verdict, list[str]]:
    """A start that nobody names is not wrong: what only some starts break is a condition on them, the least that the
    proof needs.
    """
    free = [one.window.open for one in (move.source, move.dest)]
    if verdict.status is not Status.REFUTED or not any(free):
        return verdict, []
    unit, most = 2, widest(machine)
    while unit <= most:
        source, dest = (
            replace(at, base=at.base - at.base % most + unit % most) if is_free else at
            for at, is_free in zip((item.transfer.source, item.transfer.dest), free, strict=True)
        )
        moved = replace(item.transfer, source=source, dest=dest)
        again = check_transfer(moved, axes={}, problems=item.problems, target=machine, options=options)
        if again.status is Status.PROVED:
            words = " and ".join(f"{word} tile" for word, own in zip(("source", "dest"), free, strict=True) if own)
            kept = replace(again, path=verdict.path, line=verdict.line)
            return kept, [f"the {words} of line {item.line} starts at a multiple of {unit} bytes"]
        unit *= 2
    return verdict, []


def _asserted(item: PlanTransfer, machine: Target, options: Options) -> tuple[Finding, ...]:
    """What the library asserts of the layouts, beside what the hardware asks."""
    move = item.transfer
    limits = machine.limits_with(move.limits)
    readings = {**options.readings, LEVEL: STD}
    ruling = Ruling(machine, "dma", move.source.tier, move.dest.tier, move.dtype, limits, readings)
    own = {rule.id: rule.ports for rule in machine.rules.values() if rule.level == STD}
    ports = {port for each in own.values() for port in each}
    instances = transfer_instances(move.source, move.dest, None, move.dtype, machine, (), limits, move.span, only=ports)
    return ruling.judge(instances, only=own).findings


def _sound(item: PlanTransfer) -> bool:
    """Whether both mappings have a meaning, so that more can be said of them."""
    exprs = (item.transfer.source.mapping, item.transfer.dest.mapping)
    return not any(problem.fatal for expr in exprs for problem in wellformed.problems(expr))


def _together(findings: Sequence[Finding], own: Iterable[Finding]) -> list[Finding]:
    """Both, less what both say."""
    said = {finding.rule for finding in findings if finding.severity is Severity.ERROR}
    new = [f for f in own if f.rule not in said or f.rule == "core/consumes"]
    worse = {f.rule for f in new if f.severity is Severity.ERROR}
    return [*(f for f in findings if f.rule not in worse or f.severity is Severity.ERROR), *new]


def _labelled(finding: Finding, item: PlanTransfer) -> Finding:
    """A finding without a place of its own stands at the call; both mappings are shown beside it."""
    call = item.transfer.span
    if call is None:
        return finding
    labels = list(finding.labels)
    shown = {(label.span.start, label.span.end) for label in labels}
    for word, tensor in (("from", item.transfer.source), ("to", item.transfer.dest)):
        span = tensor.element.span
        if span is not None and span.source is call.source and (span.start, span.end) not in shown:
            labels.append(Label(span, f"{word} {tensor.tier}: {tensor.element}"))
            shown.add((span.start, span.end))
    own = finding.span if finding.span is not None and finding.span.source is call.source else call
    if not any((x.span.start, x.span.end) == (call.start, call.end) for x in labels) and own is not call:
        labels.append(Label(call, "this transfer"))
    return replace(finding, span=own, labels=tuple(labels[:4]))


def _settled(
    verdict: Verdict, findings: Sequence[Finding], opened: tuple[str, ...], seconds: float, assumed: Sequence[str]
) -> Verdict:
    """The verdict with all findings: errors refute, what was not judged is unknown."""
    obligations = {o.id: o for o in verdict.obligations}
    broken = {f.rule for f in findings if f.severity is Severity.ERROR}
    if opened:
        obligations["core/consumes"] = Obligation("core/consumes", "unknown", "", "; ".join(opened))
    elif "core/consumes" not in obligations:
        obligations["core/consumes"] = Obligation("core/consumes", "proved", "digits of both mappings")
    for rule in broken:
        if rule in obligations or rule in load_obligations():
            obligations[rule] = Obligation(rule, "refuted", obligations[rule].by if rule in obligations else "")
    status = settled(findings, (o.status for o in obligations.values()))
    said = [a for a in verdict.assumptions if not a.startswith("no command was checked")]
    said = [*assumed, *said]
    return replace(
        verdict, findings=tuple(findings), obligations=tuple(obligations.values()), status=status, seconds=seconds,
        assumptions=tuple(dict.fromkeys(said)),
    )  # fmt: skip


# ---------------------------------------------------------------- one verdict a site


def _of_site(
    plan: KernelPlan, one: SiteTransfers, every: Sequence[tuple[Verdict, list[str]]], machine: Target
) -> Verdict:
    """The verdicts of all instances as one, with what could not be resolved and what the proof rests on."""
    site, judged = one.site, [verdict for verdict, _ in every]
    conditions = [condition for _, own in every for condition in own]
    reasons = [_unresolved(site, why.reason, why.span, why.hint) for why in site.reasons]
    reasons += [_unresolved(site, why, None) for why in one.missing]
    remarks = (*site.remarks, *crowded(site, machine))
    if not judged and not reasons and not remarks and not any(own.unknown for own in site.open):
        broken = first_error(site.span.source)
        left = next((own.reason for own in site.open if own.given), "")
        said = "the file cannot be parsed here" if broken is not None else left or _never(site)
        hint = "a bracket or a sign is missing here or above" if broken is not None else ""
        hint = hint or ("call a function of this crate by its name, or write it here" if left else "")
        reasons = [_unresolved(site, said, broken, hint)]
    findings = _once(f for verdict in judged for f in _instanced(verdict, len(judged)))
    assumptions = [a for verdict in judged for a in verdict.assumptions if not a.startswith("for ")]
    if len(judged) > 1:
        assumptions.insert(0, ": ".join(filter(None, (f"{len(judged)} instances", "; ".join(_instances(judged))))))
    elif judged:
        assumptions = [*judged[0].assumptions]
    if site.build:
        assumptions.insert(0, f"read {site.build}: the build that is asked for does not have this code")
        conditions.append(f"it is built {site.build}")
    elif site.hangs_on:
        assumptions.insert(0, f"this is said of the build {site.hangs_on}: of another it is not")
    status = max((v.status for v in judged), key=_rank, default=Status.UNKNOWN)
    obligations: dict[str, Obligation] = {}
    for verdict in judged:
        for own in verdict.obligations:
            if own.id not in obligations or _worse(own.status, obligations[own.id].status):
                obligations[own.id] = own
    told = {own.rule for own in findings}
    findings = _with_remarks(findings, remarks)
    findings = [replace(f, notes=(*f.notes, f"read {site.build}")) for f in findings] if site.build else findings
    for finding in findings:
        if finding.severity is Severity.ERROR and finding.rule not in told:
            obligations[finding.rule] = Obligation(finding.rule, "refuted")
            status = max(status, Status.REFUTED, key=_rank)
    for one_open in site.open:
        if one_open.unknown and obligations.get(one_open.rule, _NONE).status != "refuted":
            obligations[one_open.rule] = Obligation(one_open.rule, "unknown", "", one_open.reason)
            status = Status.UNKNOWN if status is Status.PROVED else status
        conditions += [one_open.given] if one_open.given else []
    if reasons:
        findings += reasons
        obligations[UNRESOLVED] = Obligation(UNRESOLVED, "unknown", "", "; ".join(f.message for f in reasons))
        status = max(status, Status.UNKNOWN, key=_rank)
    base = judged[0] if judged else Verdict(one.name, machine.name, status)
    return replace(
        base, name=one.name, status=status, findings=tuple(findings), obligations=tuple(obligations.values()),
        assumptions=tuple(dict.fromkeys(assumptions)), path=plan.path, line=site.span.line,
        seconds=sum(v.seconds for v in judged), claim=_claim(judged, one, plan),
        conditions=tuple(dict.fromkeys(conditions)),
    )  # fmt: skip


def _with_remarks(findings: Sequence[Finding], remarks: Iterable[Finding]) -> list[Finding]:
    """Both, one finding for one cause: where a tile is ill-formed, what it leaves unwritten follows from that."""
    told = {own.rule for own in findings}
    cause = next((f for f in findings if f.rule == "core/well-formed" and f.severity is Severity.ERROR), None)
    follow = [f for f in remarks if f.rule not in told]
    if cause is None:
        return [*findings, *follow]
    notes = tuple(f"so that {f.message}" for f in follow if f.rule.startswith("core/tiles"))
    out = [replace(f, notes=(*f.notes, *notes)) if f is cause else f for f in findings]
    return [*out, *(f for f in follow if not f.rule.startswith("core/tiles"))]


def _claim(judged: Sequence[Verdict], one: SiteTransfers, plan: KernelPlan) -> str:
    """All live elements of the destination, as bytes; "as a move", because the compiler derives the commands."""
    total = 0
    machine = next(iter(plan.targets.values()))
    names = set(one.names)
    for item in plan.transfers:
        if item.name in names:
            dest = item.transfer.dest
            live = prod(live_cells(dest.field(place)) for place in PLACES)
            total += live * machine.dtypes[item.transfer.dtype] // 8
    unsaid = "".join(f"; {own.reason}" for own in one.site.open if not own.unknown and not own.given)
    unsaid += f"; of the build {one.site.hangs_on}" if one.site.hangs_on else ""
    return f"all {total:,} bytes, as a move{unsaid}" if judged and total else ""


def _once(findings: Iterable[Finding]) -> list[Finding]:
    """Each finding once: instances often share what is wrong."""
    return list({(f.rule, f.message, f.span.start if f.span else -1): f for f in findings}.values())


def _instances(judged: Sequence[Verdict]) -> list[str]:
    return [a.removeprefix("for ") for v in judged for a in v.assumptions if a.startswith("for ")][:6]


def _instanced(verdict: Verdict, count: int) -> list[Finding]:
    """Findings that say for which instance they hold, where there are several."""
    told = next((a for a in verdict.assumptions if a.startswith("for ")), "")
    if count < 2 or not told:
        return list(verdict.findings)
    return [replace(f, notes=(*f.notes, told)) for f in verdict.findings]


def _unresolved(site: Site, why: str, span: object, hint: str = "") -> Finding:
    at = span if isinstance(span, Span) and span.source is site.span.source else site.span
    other = (Label(site.span, "this transfer is not checked"),) if at is not site.span else ()
    record = load_obligations()[UNRESOLVED]
    said = why if site.method == "new" else f"`{site.method}` is not checked: {why}"  # no transfer is meant there
    return Finding(
        UNRESOLVED, Severity.WARNING, said, site.method, at, {}, None,
        record.source, hint=hint or record.hint, labels=other,
    )  # fmt: skip


def _never(site: Site) -> str:
    return "no code that was read leads to it" if not site.pending else "nothing names the type of its result"


def _rank(status: Status) -> int:
    return (Status.PROVED, Status.UNKNOWN, Status.REFUTED, Status.ERROR).index(status)


def _worse(status: str, than: str) -> bool:
    order = ("proved", "reported", "not judged", "unknown", "refuted")
    return order.index(status) > order.index(than)
