"""Needless hops: two transfers through a tensor that nobody else uses, where one transfer would do.

Knows: which step fills a tensor and which empties it, the target's routes, the move that both make together.
Does not know: what a hop costs.
Law: advice only, and only where the direct move is legal on the target and itself proved to keep the promise.

Source: "DMA Engine" (introduction: prefer direct transfers between tiers), "Memory Performance" (Unnecessary hops).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dmaverify.program.move import Transfer
from dmaverify.program.regions import box_of
from dmaverify.program.schedule import Order, Program, Step
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.flow.order.regions import tensors_of
from dmaverify.prove.move.check import Options, check_transfer
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Finding, Label, Severity, Status


def hop_findings(
    program: Program, order: Order, target: Target, axes: Mapping[str, int], options: Options
) -> Iterator[Finding]:
    ends: dict[Tensor, list[int]] = {}
    for i, first in enumerate(program.steps):
        if first.transfer is not None and _plain(first):
            ends.setdefault(first.transfer.dest, []).append(i)
    for j, second in enumerate(program.steps):
        if second.transfer is None or not _plain(second):
            continue
        for i in ends.get(second.transfer.source, ()):
            first = program.steps[i]
            if first.transfer is None or not order.step_precedes(i, j):
                continue
            if not _same(first.transfer, second.transfer) or not _between_only(program.steps, i, j, target):
                continue
            direct = replace(
                first.transfer.with_given(), name=f"{first.name} to {second.name}", dest=second.transfer.dest
            )
            if (direct.source.tier, direct.dest.tier) not in target.routes:
                continue
            verdict = check_transfer(direct, axes=axes, target=target, options=replace(options, repair=False))
            if verdict.status is Status.PROVED:
                yield _advice(first, second, direct)


def _plain(step: Step) -> bool:
    """Whether the step is one whole transfer: no gather or scatter, no view, no loop."""
    return step.indirect is None and not step.loops and step.transfer is not None and step.transfer.views is None


def _same(first: Transfer, second: Transfer) -> bool:
    return first.dtype == second.dtype and first.dest == second.source


def _between_only(steps: Sequence[Step], i: int, j: int, target: Target) -> bool:
    """Whether no other step touches the tensor between."""
    made = steps[i].transfer
    assert made is not None
    box = box_of(made.dest, target.dtypes[made.dtype])
    return not any(
        box_of(tensor, bits).meets(box)
        for number, step in enumerate(steps)
        if number not in (i, j)
        for _, tensor, bits in tensors_of(step, target)
    )


def _advice(first: Step, second: Step, direct: Transfer) -> Finding:
    assert first.transfer is not None
    between = first.transfer.dest.tier
    return Finding(
        "core/needless-hop",
        Severity.ADVICE,
        f"`{first.name}` and `{second.name}` go from {direct.source.tier} to {direct.dest.tier} through {between}, "
        "where nothing else uses the tensor",
        f"step {second.name}",
        second.span,
        {"source": direct.source.tier, "through": between, "dest": direct.dest.tier},
        source="DMA Engine, introduction (prefer direct transfers); Memory Performance (Unnecessary hops)",
        hint=f"one transfer does both: source = {tensor_text(direct.source)}, dest = {tensor_text(direct.dest)}",
        notes=(
            "the direct move is proved to end in the same tensor",
            "a hop may be cheaper where runs are short: `dmaverify synth` of the direct move prices both",
        ),
        labels=(Label(first.span, "the first hop"),) if first.span else (),
    )


def tensor_text(tensor: Tensor) -> str:
    """The tensor as a plan file writes it."""
    offsets = [("chip", tensor.at_chip), ("cluster", tensor.at_cluster), ("slice", tensor.at_slice)]
    base = str(tensor.base)
    if any(value for _, value in offsets):
        parts = [f"{name} = {value}" for name, value in (*offsets, ("element", tensor.base)) if value]
        base = f"{{ {', '.join(parts)} }}"
    keys = [f'tier = "{tensor.tier}"', f"base = {base}"]
    keys += [
        f'{place} = "{tensor.field(place)}"' for place in PLACES if tensor.field(place).size > 1 or place == "element"
    ]
    return f"{{ {', '.join(keys)} }}"
