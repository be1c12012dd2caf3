"""What the command line does with Rust kernels beside `check`: plan files of them, and what their moves could cost.

Knows: kernels as plans, synthesis as the reference for a move that has no commands of its own.
Does not know: the terminal, exit codes.
Law: a reference is a plan that was proved; where there is none, the rule that refuses is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError
from dmaverify.jobs.references import synthesized
from dmaverify.jobs.walk import is_copy_text
from dmaverify.values import replace

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan, PlanTransfer


def extract_text(path: str, target: str | None, folder: str | None = None) -> str:
    """The plan file, in `folder` or beside it, of a kernel, or of one function of it. Raises InputError."""
    file, _, _ = path.partition("::")
    if is_copy_text(file):
        from dmaverify.jobs.kernel_plans import plan_of_kernels
        from dmaverify.jobs.load import judged_by

        judged_by("pto", target, file)
        return plan_of_kernels(path, folder)
    if not file.endswith(".rs"):
        raise InputError(f"{file} is no kernel", None, "dmaverify extract kernel.rs, or kernel.mlir, kernel.pto")
    from dmaverify import api
    from dmaverify.machines.rngd.rust.extract import extracted
    from dmaverify.machines.rngd.rust.plans import KernelPlan

    plan = api.load(path, target=target)
    assert isinstance(plan, KernelPlan)
    return extracted(plan)


def references(plan: Plan, profile: str) -> tuple[Plan, dict[str, InputError]]:
    """As `with_references`, with the moves that have no legal commands taken out, and why they have none."""
    if not plan.is_kernel:
        return plan, {}
    kept: list[PlanTransfer] = []
    refused: dict[str, InputError] = {}
    for item in plan.transfers:
        try:
            kept += with_references(replace(plan, transfers=(item,)), profile).transfers
        except InputError as error:
            refused[item.name] = error
    return replace(plan, transfers=tuple(kept)), refused


def with_references(plan: Plan, profile: str) -> Plan:
    """A kernel with the cheapest proved commands of each move, any other plan as it is. Raises InputError where a move
    has none.
    """
    if not plan.is_kernel:
        return plan
    items = []
    for item in plan.transfers:
        found = synthesized(plan, item.name, profile, {})
        if not found.found:
            rule, message, hint = found.refused[0] if found.refused else ("", "no plan was found", "")
            raise InputError(f"`{item.name}` has no legal commands: {rule}: {message}", item.transfer.span, hint)
        items.append(replace(item, transfer=found.transfer))
    return replace(plan, transfers=tuple(items))


def explained(jobs: Sequence[tuple[Any, ...]], readings: Mapping[str, str]) -> str:
    """For each move of the kernels among the jobs: its cheapest plan, what binds it, and the facts of both sides."""
    return "\n".join(_references(jobs, readings))


def _references(jobs: Sequence[tuple[Any, ...]], readings: Mapping[str, str]) -> Iterator[str]:
    from dmaverify import api
    from dmaverify.report.synth import reference_text

    known: dict[Any, str] = {}
    for path, name, target, *_ in jobs:
        if not str(path).endswith(".rs"):
            continue
        try:
            plan = api.load(str(path), name, target=target)
        except InputError:
            continue  # `check` has told it
        for item in plan.transfers:
            if any(problem.fatal for problem in item.problems):
                continue
            key = (str(item.transfer.source), str(item.transfer.dest), item.transfer.dtype)
            if key in known:
                yield f"reference  {item.name}  {plan.path}:{item.line}   as {known[key]}"
                continue
            known[key] = item.name
            try:
                found = synthesized(plan, item.name, "book", readings)
            except InputError as error:
                yield f"reference  {item.name}  {plan.path}:{item.line}   none: {error.message}"
                continue
            yield reference_text(found, f"{plan.path}:{item.line}")
