"""The verdicts of a plan that was read: one for each transfer, access and program, in the order of the file.

Knows: which function judges which kind of entry.
Does not know: files, command lines, how verdicts are shown.
Law: every transfer, access and program of the plan has exactly one verdict, with what the plan suppresses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dmaverify.verdict import Verdict

if TYPE_CHECKING:
    from dmaverify.inputs.plan import Plan
    from dmaverify.prove.check import Options


def verdicts_of(plan: Plan, options: Options | None = None) -> list[Verdict]:
    """Judges everything in `plan`. Raises InputError for a reading that a machine has not, Disagreement as `check`."""
    from dmaverify.prove.check import Options as OptionsType
    from dmaverify.prove.check import check_access, check_transfer
    from dmaverify.prove.kernel import check_program
    from dmaverify.report.excuses import with_suppressions

    chosen = options or OptionsType()
    for machine in plan.targets.values():
        machine.check_readings(chosen.readings)
    if plan.is_kernel:
        from dmaverify.inputs.rust.plans import KernelPlan
        from dmaverify.inputs.rust.verdicts import kernel_verdicts

        assert isinstance(plan, KernelPlan)
        return with_suppressions(kernel_verdicts(plan, chosen), plan.source, plan)
    found = [
        check_transfer(
            item.transfer, axes=plan.axes, problems=item.problems, target=plan.targets[item.transfer.target],
            options=chosen, path=plan.path, line=item.line,
        )
        for item in plan.transfers
    ]
    found += [
        check_access(access, axes=plan.axes, target=plan.targets[access.target], options=chosen, path=plan.path)
        for access in plan.accesses
    ]
    known = {verdict.name: verdict for verdict in found}
    found += [
        check_program(
            program, axes=plan.axes, target=plan.targets[program.target], options=chosen, path=plan.path, known=known
        )
        for program in plan.programs
    ]
    return with_suppressions(sorted(found, key=lambda verdict: verdict.line), plan.source)
