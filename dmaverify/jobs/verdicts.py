"""The verdicts of a plan that was read: one for each of its entries, in the order of the file.

Knows: which function judges which kind of entry, and that a program needs the verdicts of what it names.
Does not know: files, command lines, how verdicts are shown.
Law: every transfer, access, gather, scatter and program has exactly one verdict, with what the plan suppresses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dmaverify.verdict import Verdict

if TYPE_CHECKING:
    from dmaverify.plan.read import Plan
    from dmaverify.prove.move.check import Options

Asked = dict[str, list[tuple[str, str, str]]]
"""The solver's questions (name, SMT-LIB text, answer) by the name of the entry."""


def verdicts_of(plan: Plan, options: Options | None = None, keep: Asked | None = None) -> list[Verdict]:
    """Judges everything in `plan`; `keep` receives the solver's questions.

    Raises InputError for a reading that a machine has not, Disagreement as `check`.
    """
    from dmaverify.prove.move.check import Options as OptionsType
    from dmaverify.prove.move.check import check_access, check_transfer
    from dmaverify.report.excuses import with_suppressions

    chosen = options or OptionsType()
    for machine in plan.targets.values():
        machine.check_readings(chosen.readings)
    if plan.is_kernel:
        from dmaverify.machines.rngd.rust.plans import KernelPlan
        from dmaverify.machines.rngd.rust.verdicts import kernel_verdicts

        assert isinstance(plan, KernelPlan)
        return with_suppressions(kernel_verdicts(plan, chosen, keep), plan.source, plan)
    found: list[Verdict] = []

    def judge(check: Callable[..., Verdict], item: Any, target: str, **more: Any) -> None:
        asked: list[tuple[str, str, str]] = []
        found.append(
            check(item, axes=plan.axes, target=plan.targets[target], options=chosen, path=plan.path, keep=asked, **more)
        )
        if keep is not None:
            keep[item.name] = asked

    if plan.templates:
        from dmaverify.prove.sizes.check import check_template

        for template in plan.templates:
            template.machine.check_readings(chosen.readings)
            found.append(check_template(template, chosen))
        return with_suppressions(sorted(found, key=lambda verdict: verdict.line), plan.source)
    for one in plan.transfers:
        judge(check_transfer, one.transfer, one.transfer.target, problems=one.problems, line=one.line)
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

        found += [verdict for kernel in plan.kernels for verdict in check_plan_kernel(kernel, plan, chosen)]
    return with_suppressions(sorted(found, key=lambda verdict: verdict.line), plan.source)
