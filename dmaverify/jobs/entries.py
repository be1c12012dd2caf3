"""Judging each entry of a plan that was read, in the order of the file.

Knows: which function judges which kind of entry, and that a program needs the verdicts of what it names.
Does not know: files, command lines, how verdicts are shown.
Law: every transfer, access, gather, scatter and program has its verdict, with what the plan suppresses; what goes wrong
with one is told in its own verdict, and the others are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from dmaverify.jobs.retold import begin_beside, retell
from dmaverify.prove.boundary import guarded, unreadable
from dmaverify.prove.options import Options
from dmaverify.values import replace
from dmaverify.verdict import Status, Verdict

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.program.move import Transfer
    from dmaverify.targets.target import Target

Asked = dict[str, list[tuple[str, str, str]]]
"""The solver's questions (name, SMT-LIB text, answer) by the name of the entry."""


def entry_verdicts(plan: Plan, chosen: Options, keep: Asked | None = None) -> list[Verdict]:
    """Judges everything in `plan`; `keep` receives the solver's questions.

    Raises InputError for a reading that a machine has not.
    """
    from dmaverify.report.excuses import with_suppressions

    read = plan.under(chosen.readings)
    if plan.is_kernel:
        from dmaverify.machines.rngd.rust.plans import KernelPlan
        from dmaverify.machines.rngd.rust.verdicts import kernel_verdicts

        assert isinstance(plan, KernelPlan)
        return with_suppressions(kernel_verdicts(plan, chosen, keep), plan.source, kernel=plan)
    found = [*_template_verdicts(plan, chosen, keep), *_plan_verdicts(read, plan.targets, chosen, keep)]
    machines = [*(template.machine for template in plan.templates), *plan.targets.values()]
    return with_suppressions(sorted(found, key=lambda verdict: verdict.line), plan.source, machines)


def _template_verdicts(plan: Plan, chosen: Options, keep: Asked | None) -> list[Verdict]:
    """The verdicts of what a plan says with symbols, each on all sizes."""
    if not plan.templates:
        return []
    from dmaverify.prove.sizes.check import check_template

    found = []
    for template in plan.templates:
        template.machine.check_readings(chosen.readings)
        asked: list[tuple[str, str, str]] = []
        found.append(check_template(template, chosen, asked))
        if keep is not None:
            keep[template.name] = asked
    return found


def _plan_verdicts(plan: Plan, shipped: Mapping[str, Target], chosen: Options, keep: Asked | None) -> list[Verdict]:
    """The verdicts of a plan with numbers, its machines under the readings that were chosen and as they are shipped."""
    from dmaverify.prove.move.check import check_access, check_transfer

    begin_beside(plan, chosen)
    found = [unreadable(e.errors, plan.path, Verdict(e.name, "", Status.ERROR, line=e.line)) for e in plan.unread]

    def judge(check: Callable[..., Verdict], item: Any, target: str, **more: Any) -> None:
        asked: list[tuple[str, str, str]] = []

        def verdict() -> list[Verdict]:
            machine = plan.targets[target]
            one = check(item, axes=plan.axes, target=machine, options=chosen, path=plan.path, keep=asked, **more)
            told = retell(plan.source.text, item, target, one, chosen)
            again = partial(check, item, axes=plan.axes, path=plan.path, **more)
            return [_differing(told, item, shipped[target], chosen, again)]

        span = getattr(item, "span", None)
        line = more.get("line") or getattr(item, "line", 0) or (span.line if span else 0)
        named = plan.targets[target].name
        found.extend(
            guarded(verdict, chosen.limits, name=item.name, path=plan.path, line=line, target=named, span=span)
        )
        if keep is not None:
            keep[item.name] = asked

    for one in plan.transfers:
        judge(check_transfer, one.transfer, one.transfer.target, problems=one.problems, line=one.line)
        found[-1] = _helped(found[-1], one.transfer, plan, chosen)
    for access in plan.accesses:
        judge(check_access, access, access.target)
    if plan.indirects:
        from dmaverify.prove.move.indirect import check_indirect

        for indirect in plan.indirects:
            judge(check_indirect, indirect, indirect.target)
    if plan.programs:
        from dmaverify.prove.flow.kernel import check_program

        known = {verdict.name: verdict for verdict in found}
        for program in plan.programs:
            judge(check_program, program, program.target, known=known)
    if plan.kernels:
        from dmaverify.machines.pto.check import check_plan_kernel

        for kernel in plan.kernels:
            found += guarded(
                partial(check_plan_kernel, kernel, plan, chosen, keep), chosen.limits, name=kernel.name, path=plan.path,
                line=kernel.line, target=plan.targets[kernel.target].name, span=kernel.span,
            )  # fmt: skip
    return found


def _helped(verdict: Verdict, transfer: Transfer, plan: Plan, chosen: Options) -> Verdict:
    """The verdict on a transfer with helps: segments in place of one nest, the words of its own text, advice."""
    from dmaverify.jobs.advice import advised
    from dmaverify.targets.modules import part_of

    machine = plan.targets[transfer.target]
    if chosen.repair and verdict.status is Status.REFUTED and transfer.stream is not None:
        from dmaverify.jobs.derivation import pointed_to_segments

        verdict = _further(verdict, transfer, partial(pointed_to_segments, verdict, transfer, machine), chosen)
    formed = transfer.form is not None and chosen.repair and _has_meaning(verdict)
    if formed and (own := part_of(machine, "reword")) is not None:
        verdict = own.in_words(transfer, machine, plan.axes, verdict)
    return _further(verdict, transfer, partial(advised, verdict, transfer, machine, chosen), chosen)


def _has_meaning(verdict: Verdict) -> bool:
    """Whether the mappings and commands could be read at all; no change of a word mends those that could not."""
    return verdict.status is not Status.ERROR and all(f.rule != "core/well-formed" for f in verdict.findings)


def _differing(
    verdict: Verdict, item: Any, machine: Target, options: Options, check: Callable[..., Verdict]
) -> Verdict:
    """The verdict, with a word on memories of which another reading would change it."""
    tiers = {getattr(getattr(item, side, None), "tier", "") for side in ("source", "dest", "memory")}
    told = []
    for tier in (machine.tiers[name] for name in sorted(tiers & machine.tiers.keys())):
        chosen = options.readings.get(f"tier/{tier.name}", tier.reading)
        for name in tier.readings:
            if name == chosen:
                continue
            readings = {**options.readings, f"tier/{tier.name}": name}
            other = check(target=machine.under(readings), options=replace(options, readings=readings))
            if (other.status is Status.PROVED) != (verdict.status is Status.PROVED):
                told.append(f"tier/{tier.name}: {other.status.value} under another reading, {name}")
    return replace(verdict, assumptions=(*verdict.assumptions, *told)) if told else verdict


def _further(verdict: Verdict, transfer: Transfer, told: Callable[[], Verdict], options: Options) -> Verdict:
    """The verdict that `told` makes of it, with more advice; as it was where a limit ends that work."""
    found = guarded(
        lambda: [told()], options.limits, name=verdict.name, path=verdict.path, line=verdict.line,
        target=verdict.target, span=transfer.span,
    )[0]  # fmt: skip
    return found if found.status is verdict.status else verdict
