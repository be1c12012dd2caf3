"""Regions of a program: within their memory, apart while both live, around what the steps put into them.

Knows: boxes, capacities from the target, lifetimes as order, which bytes a step touches (touches).
Does not know: how a finding is shown beyond its words.
Law: two regions that share a byte are fine only when one's last step precedes the other's first. A step lies within a
region when the hull of what it touches, over all iterations, does; it reaches across one only where one of its bytes is
proved to lie in it. What that question leaves open is told, and is no pass.

Source: "Memory Performance" (geometry: 512 KB a slice, 48 GB of HBM), docs/design.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmaverify.lower.adapters import is_fetch
from dmaverify.lower.programs import space_of
from dmaverify.program.access import Access
from dmaverify.program.regions import Box, Region, box_of
from dmaverify.program.schedule import Order, Program, Step
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.flow.accesses.touches import INDEX, Memory, StepWork, touched_box, whole_tensor
from dmaverify.prove.meet import Walk, shared
from dmaverify.prove.smt import Session
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace
from dmaverify.verdict import Finding, Label, Severity

REGIONS = ("core/regions", "core/region-capacity", "core/lifetime")


def region_findings(
    program: Program, works: list[StepWork], order: Order, target: Target, session: Session, open_: list[str]
) -> Iterator[Finding]:
    """What is wrong with the regions; `open_` receives what could not be decided."""
    index = {step.name: number for number, step in enumerate(program.steps)}
    program = replace(program, regions=tuple(in_memory(region, target) for region in program.regions))
    yield from _capacities(program, target)
    yield from _overlaps(program, order, index)
    yield from _lifetimes(program, order, index)
    for number, step in enumerate(program.steps):
        yield from _Contents(program, order, index, target, session, open_).of(number, step, works[number])


def regions_open(program: Program, order: Order, target: Target) -> str:
    """Why it is not shown that regions hold what steps touch, of numbers that may be symbols; empty where it is. Errs
    towards saying why: what is touched is its hull, and no byte is looked for.
    """
    index = {step.name: number for number, step in enumerate(program.steps)}
    program = replace(program, regions=tuple(in_memory(region, target) for region in program.regions))
    for findings in (_capacities(program, target), _overlaps(program, order, index), _lifetimes(program, order, index)):
        for finding in findings:
            return finding.message
    for number, step in enumerate(program.steps):
        for touched in boxes_of(step, target):
            named = _named_by(step, touched)
            for region in program.regions:
                inside, dead = region.box.holds(touched.box), _dead(region, number, order, index)
                if not inside and (region.name == named or (not dead and region.box.meets(touched.box))):
                    return f"step `{step.name}` may touch bytes beyond region `{region.name}`"
                if region.name == named or (inside and not dead):
                    side = "writes" if touched.writes else "reads"
                    for finding in _alive(step, number, side, region, order, index):
                        return finding.message
    return ""


def leaves_its_region(step: Step, program: Program, target: Target) -> bool:
    """Whether a step is not within a region that it names, whatever the order of the steps."""
    regions = {region.name: in_memory(region, target).box for region in program.regions}
    named = ((_named_by(step, touched), touched.box) for touched in boxes_of(step, target))
    return any(name in regions and not regions[name].holds(box) for name, box in named if name is not None)


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
        source=source,
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
    (first, ends), (begins, last) = (_lives(r.lifetime, order, index) for r in (early, late) if r.lifetime)
    return all(order.step_precedes(a, b) for a in ends for b in begins) and all(
        order.comes_around(a, b) for a in last for b in first
    )


def _lives(lifetime: tuple[str, str], order: Order, index: dict[str, int]) -> tuple[list[int], list[int]]:
    """The steps that a region may begin and end to live with. One that lives from outside of a loop into it, or out of
    it, lives through all its iterations.
    """
    ends = [index[name] for name in lifetime]
    bodies = [order.bodies[step] if order.bodies else -1 for step in ends]
    if bodies[0] == bodies[1]:
        return [ends[0]], [ends[1]]
    whole = [[s for s, of in enumerate(order.bodies) if of == body >= 0] for body in bodies]
    return whole[0] or [ends[0]], whole[1] or [ends[1]]


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


@dataclass(frozen=True, slots=True)
class TouchedBox:
    """The hull of what a side of a step touches in all iterations. `what` as touches name it; empty for a transfer."""

    writes: bool
    what: str
    box: Box


def boxes_of(step: Step, target: Target) -> Iterator[TouchedBox]:
    """What a step touches, in memories in place of tiers."""
    for one in _boxes(step, target):
        yield replace(one, box=_of_memory(one.box, target))


def in_memory(region: Region, target: Target) -> Region:
    """The region in the memory that its tier has: tiers of one memory share their addresses."""
    return replace(region, box=_of_memory(region.box, target))


def _of_memory(box: Box, target: Target) -> Box:
    return replace(box, tier=target.memory_of(box.tier))


def _boxes(step: Step, target: Target) -> Iterator[TouchedBox]:
    if step.transfer is not None:
        one, bits, views = step.transfer, target.dtypes[step.transfer.dtype], step.transfer.views
        yield TouchedBox(False, "", touched_box(one.source, views, views.source if views else None, bits))
        yield TouchedBox(True, "", touched_box(one.dest, views, views.dest if views else None, bits))
    if step.indirect is not None:
        index = step.indirect.index
        yield TouchedBox(False, INDEX, box_of(index.tensor, target.dtypes[index.dtype]))
    for access in step.accesses:
        what = f"{access.engine} {access.name}"
        box = touched_box(access.memory, access.views, access.view, target.dtypes[access.dtype])
        yield TouchedBox(not is_fetch(access), what, box)


def _side(access: Access) -> str:
    return "reads" if is_fetch(access) else "writes"


@dataclass(frozen=True)
class _Contents:
    """What steps put into regions."""

    program: Program
    order: Order
    index: dict[str, int]
    target: Target
    session: Session
    open_: list[str]

    def of(self, number: int, step: Step, work: StepWork) -> Iterator[Finding]:
        for touched in boxes_of(step, self.target):
            box, side = touched.box, "writes" if touched.writes else "reads"
            named = _named_by(step, touched)
            for region in self.program.regions:
                inside = region.box.holds(box)
                dead = _dead(region, number, self.order, self.index)
                meets = region.box.meets(box) and (inside or dead or self._reaches(work, touched, region, step))
                if region.name == named and not inside:
                    message = f"step `{step.name}` {side} {box_text(box)}, which is not within"
                    yield _outside(step, side, box, region, message)
                elif meets and not inside and not dead:
                    message = f"step `{step.name}` {side} {box_text(box)}, which reaches across"
                    yield _outside(step, side, box, region, message)
                if region.name == named or (meets and not dead):
                    yield from _alive(step, number, side, region, self.order, self.index)

    def _reaches(self, work: StepWork, touched: TouchedBox, region: Region, step: Step) -> bool:
        """Whether a byte that the step touches there lies in the region."""
        undecided = False
        for touch in work.touches:
            named = touch.what == touched.what or not (touched.what or touch.what == INDEX)
            mine = named and touch.writes == touched.writes
            if not mine or touch.memory not in _memories(region.box, self.target):
                continue
            walk = _region_walk(region.box, self.target, touch.unit_bits)
            status = shared(touch.walk, walk, self.session, "core/regions")
            if status == "sat":
                return True
            undecided = undecided or status == "unknown"
        if undecided:
            side = "writes" if touched.writes else "reads"
            self.open_.append(f"whether `{step.name}` {side} bytes of region `{region.name}` could not be decided")
        return False


def _named_by(step: Step, touched: TouchedBox) -> str | None:
    """The region that the step says that it touches there."""
    return step.writes if touched.writes else step.reads if touched.what != INDEX else None


def _memories(box: Box, target: Target) -> set[Memory]:
    places = target.tiers[box.tier].places
    chips, clusters = (
        range(box.first[i], box.last[i]) if place in places else range(1) for i, place in enumerate(PLACES[:2])
    )
    return {(box.tier, chip, cluster) for chip in chips for cluster in clusters}


def _region_walk(box: Box, target: Target, unit_bits: int) -> Walk:
    space, per_byte = space_of(target, box.tier), 8 // unit_bits
    walk = Walk(box.base * per_byte, (((box.end - box.base) * per_byte, 1),))
    if "slice" not in space.places:
        return walk
    step = space.stride("slice", unit_bits)
    return Walk(walk.base + box.first[2] * step, ((box.last[2] - box.first[2], step), *walk.loops))


def _dead(region: Region, step: int, order: Order, index: dict[str, int]) -> bool:
    """Whether the region's lifetime surely ends before the step, or begins after it: its bytes are free then."""
    if region.lifetime is None:
        return False
    first, last = _lives(region.lifetime, order, index)
    ended = all(order.step_precedes(a, step) for a in last) and all(order.comes_around(step, a) for a in first)
    begins = all(order.step_precedes(step, a) for a in first) and all(order.comes_around(a, step) for a in last)
    return ended or begins


def _outside(step: Step, side: str, box: Box, region: Region, message: str) -> Finding:
    return Finding(
        "core/regions",
        Severity.ERROR,
        f"{message} region `{region.name}` ({box_text(region.box)})",
        f"step {step.name}",
        step.span,
        {"base": box.base, "end": box.end},
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
        hint="order the step within the lifetime (`after`), or make the lifetime longer",
        labels=(Label(region.lifetime_span, "the lifetime"),) if region.lifetime_span else (),
    )
