"""Regions of a program: within their memory, apart while both live, around what the steps put into them.

Knows: boxes, capacities from the target, lifetimes as order.
Does not know: which bytes a command touches (hazards), how a finding is shown beyond its words.
Law: arithmetic on intervals alone; two regions that share a byte are fine only when one's last step precedes the
other's first.

Source: "Memory Performance" (geometry: 512 KB a slice, 48 GB of HBM), DESIGN section 7.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmaverify.lower.adapters import is_fetch
from dmaverify.program.access import Access
from dmaverify.program.move import PLACES, Tensor
from dmaverify.program.schedule import Box, Order, Program, Region, Step, box_of
from dmaverify.prove.flow.touches import Work, whole_tensor
from dmaverify.targets.target import Target
from dmaverify.verdict import Finding, Label, Severity


def region_findings(program: Program, works: list[Work], order: Order, target: Target) -> Iterator[Finding]:
    index = {step.name: number for number, step in enumerate(program.steps)}
    yield from _capacities(program, target)
    yield from _overlaps(program, order, index)
    yield from _lifetimes(program, order, index)
    for number, step in enumerate(program.steps):
        yield from _contents(program, number, step, order, index, target)


def box_text(box: Box) -> str:
    parts = []
    for place, low, high in zip(PLACES, box.first, box.last, strict=False):
        if low or high > 1:
            parts.append(f"{place} {low}" if high == low + 1 else f"{place} {low}..{high - 1}")
    return ", ".join([box.tier, *parts, f"bytes {box.base}..{box.end - 1}"])


# ---------------------------------------------------------------- capacity


def _capacities(program: Program, target: Target) -> Iterator[Finding]:
    for region in program.regions:
        tier = target.tiers[region.box.tier]
        for place, last in zip(PLACES, region.box.last, strict=False):
            most = tier.sizes.get(place)
            if most is not None and last > most:
                message = f"region `{region.name}` ends at {place} {last - 1}; {tier.name} has {place} 0..{most - 1}"
                yield _finding(
                    "core/region-capacity", message, region, f"place it within {most}", {"end": last, "most": most}
                )
        if tier.capacity_bytes is not None and region.box.end > tier.capacity_bytes:
            yield _finding(
                "core/region-capacity",
                f"region `{region.name}` ends at byte {region.box.end:,}; {tier.name} holds {tier.capacity_bytes:,} "
                f"in each {tier.places[-1] if tier.places else 'memory'}",
                region,
                f"it is {region.box.end - tier.capacity_bytes:,} bytes too far",
                {"end": region.box.end, "capacity": tier.capacity_bytes},
                tier.source,
            )


def _finding(
    rule: str,
    message: str,
    region: Region,
    hint: str,
    values: dict[str, int] | None = None,
    source: str = "",
    other: Region | None = None,
) -> Finding:
    labels = (Label(other.span, f"region `{other.name}`"),) if other is not None and other.span else ()
    return Finding(
        rule,
        Severity.ERROR,
        message,
        f"region {region.name}",
        region.span,
        values or {},
        source=source or "DESIGN, Programs and time",
        hint=hint,
        labels=labels,
    )


# ---------------------------------------------------------------- overlap and lifetime


def _overlaps(program: Program, order: Order, index: dict[str, int]) -> Iterator[Finding]:
    for number, one in enumerate(program.regions):
        for other in program.regions[:number]:
            if not one.box.meets(other.box) or _after(one, other, order, index) or _after(other, one, order, index):
                continue
            low, high = max(one.box.base, other.box.base), min(one.box.end, other.box.end)
            yield _finding(
                "core/regions",
                f"regions `{other.name}` and `{one.name}` share bytes {low}..{high - 1} of {one.box.tier} "
                "while both may be in use",
                one,
                f"place `{one.name}` at {other.box.end} or later, or order their lifetimes",
                {"from": low, "to": high - 1},
                other=other,
            )


def _after(late: Region, early: Region, order: Order, index: dict[str, int]) -> bool:
    """Whether the last step of one ends before the first of the other begins, also around a loop of both."""
    if late.lifetime is None or early.lifetime is None:
        return False
    ends = [(index[a], index[b]) for a, b in (early.lifetime, late.lifetime)]
    return order.step_precedes(ends[0][1], ends[1][0]) and order.comes_around(ends[1][1], ends[0][0])


def _lifetimes(program: Program, order: Order, index: dict[str, int]) -> Iterator[Finding]:
    for region in program.regions:
        if region.lifetime is None:
            continue
        first, last = region.lifetime
        if first != last and not order.step_precedes(index[first], index[last]):
            yield _finding(
                "core/lifetime",
                f"region `{region.name}` lives from `{first}` to `{last}`, but nothing puts `{first}` before `{last}`",
                region,
                f'add `after = ["{first}"]` to `{last}`',
            )


# ---------------------------------------------------------------- contents


def tensors_of(step: Step, target: Target) -> Iterator[tuple[str, Tensor, int]]:
    """(reads or writes, tensor, bits of an element) in memory that regions may lie in."""
    if step.transfer is not None:
        bits = target.dtypes[step.transfer.dtype]
        yield "reads", whole_tensor(step.transfer, "source"), bits
        yield "writes", whole_tensor(step.transfer, "dest"), bits
    for access in step.accesses:
        memory = whole_tensor(access, "source" if is_fetch(access) else "dest")
        yield _side(access), memory, target.dtypes[access.dtype]


def _side(access: Access) -> str:
    return "reads" if is_fetch(access) else "writes"


def _contents(
    program: Program, number: int, step: Step, order: Order, index: dict[str, int], target: Target
) -> Iterator[Finding]:
    for side, tensor, bits in tensors_of(step, target):
        box = box_of(tensor, bits)
        named = step.reads if side == "reads" else step.writes
        for region in program.regions:
            if region.name == named and not region.box.holds(box):
                yield _outside(
                    step, side, box, region, f"step `{step.name}` {side} {box_text(box)}, which is not within"
                )
            elif region.box.meets(box) and not region.box.holds(box) and not _dead(region, number, order, index):
                yield _outside(
                    step, side, box, region, f"step `{step.name}` {side} {box_text(box)}, which reaches across"
                )
            if region.name == named or (region.box.meets(box) and not _dead(region, number, order, index)):
                yield from _alive(step, number, side, region, order, index)


def _dead(region: Region, step: int, order: Order, index: dict[str, int]) -> bool:
    """Whether the region's lifetime surely ends before the step, or begins after it: its bytes are free then."""
    if region.lifetime is None:
        return False
    first, last = index[region.lifetime[0]], index[region.lifetime[1]]
    return order.step_precedes(last, step) or order.step_precedes(step, first)


def _outside(step: Step, side: str, box: Box, region: Region, message: str) -> Finding:
    return Finding(
        "core/regions",
        Severity.ERROR,
        f"{message} region `{region.name}` ({box_text(region.box)})",
        f"step {step.name}",
        step.span,
        {"base": box.base, "end": box.end},
        source="DESIGN, Programs and time",
        hint="make the region larger, or move one of them",
        labels=(Label(region.span, "the region"),) if region.span else (),
    )


def _alive(
    step: Step, number: int, side: str, region: Region, order: Order, index: dict[str, int]
) -> Iterator[Finding]:
    if region.lifetime is None:
        return
    first, last = (index[name] for name in region.lifetime)
    begun = number == first or order.step_precedes(first, number)
    ended = number == last or order.step_precedes(number, last)
    if begun and ended:
        return
    what = f"before `{region.lifetime[0]}`" if not begun else f"after `{region.lifetime[1]}`"
    yield Finding(
        "core/lifetime",
        Severity.ERROR,
        f"step `{step.name}` {side} region `{region.name}` and may run {what}, outside of its lifetime",
        f"step {step.name}",
        step.span,
        {},
        source="DESIGN, Programs and time",
        hint="order the step within the lifetime (`after`), or make the lifetime longer",
        labels=(Label(region.lifetime_span, "the lifetime"),) if region.lifetime_span else (),
    )
