"""Regions of a program from definitions: within their memory, apart while both live, around what is put into them.

Knows: when steps begin and end as terms, the bytes that steps touch by their counters, boxes of memory.
Does not know: hulls and order by which `regions` judges, how scripts are asked.
Law: a region lives from when its first step begins until its last one ends: of two steps of one body in each iteration,
of others from the first iteration to the last. It is asked that no byte is in two regions that live at one time; that
no step runs at a time, and touches a byte, where a region lives that it is not within; that what a step says it reads
or writes is in that region, and that it does so while the region lives. Two iterations in a row stand for all, as a
piece of work ends before it begins again. Engines that do not wait for what they wrote have no such questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dmaverify.language.affine import Lin
from dmaverify.lower.programs import space_of
from dmaverify.program.regions import Box, Region
from dmaverify.program.schedule import Program
from dmaverify.program.tensor import PLACES
from dmaverify.prove.flow.accesses.program_times import Times
from dmaverify.prove.flow.accesses.touches import INDEX, StepWork, Touch
from dmaverify.prove.flow.order.regions import REGIONS, boxes_of, in_memory
from dmaverify.prove.move.full import definitions
from dmaverify.prove.move.questions import address_by_steps
from dmaverify.prove.move.script import Script, ScriptWriter, conjunction, disjunction, text_of
from dmaverify.prove.smt import number
from dmaverify.targets.target import Target
from dmaverify.values import dataclass

APART, CAPACITY, LIFETIME = REGIONS


def region_scripts(program: Program, works: Sequence[StepWork], times: Times, target: Target) -> Iterator[Script]:
    """The scripts of all regions of a program whose order is stated."""
    regions = [in_memory(region, target) for region in program.regions]
    about = _Regions(program, times, target, {step.name: n for n, step in enumerate(program.steps)})
    for region in regions:
        yield about.in_its_memory(region)
    yield about.apart(regions)
    for work in works:
        for touch in work.touches:
            if script := about.contents(touch, regions):
                yield script


@dataclass
class _Regions:
    """One program on its way to scripts."""

    program: Program
    times: Times
    target: Target
    index: dict[str, int]

    # ------------------------------------------------------------ places

    def in_its_memory(self, region: Region) -> Script:
        """No place and no byte of a region lies beyond what its memory has."""
        tier, box = self.target.tiers[region.box.tier], region.box
        writer = ScriptWriter(f"region {region.name} in its memory", definitions())
        inside = self._place(writer, region)
        writer.possible("a byte of it", CAPACITY, conjunction(inside))
        bounds = [(place, tier.sizes[place]) for place in PLACES[: len(box.first)] if place in tier.sizes]
        bounds += [] if tier.capacity_bytes is None else [("byte", tier.capacity_bytes)]
        held = conjunction(f"(core/in-range {place} {number(size)})" for place, size in bounds)
        writer.claim("a place or byte beyond", CAPACITY, conjunction([*inside, f"(not {held})"]))
        return writer.script()

    def _place(self, writer: ScriptWriter, *regions: Region) -> list[str]:
        """Constants for a byte of some place, and that it is in each of the regions."""
        writer.lines += [f"(declare-const {name} Int)" for name in (*PLACES[: len(regions[0].box.first)], "byte")]
        return [part for region in regions for part in _ranges(region.box)]

    # ------------------------------------------------------------ times

    def apart(self, regions: Sequence[Region]) -> Script:
        """No byte is in two regions that live at one time, and each begins to live before it ends to."""
        writer = self._timed("regions")
        self._place(writer, regions[0])
        for index, one in enumerate(regions):
            for other in regions[:index]:
                if one.box.tier == other.box.tier:
                    parts = [*_ranges(one.box), *_ranges(other.box), self._alive(one), self._alive(other)]
                    writer.claim(f"{other.name} and {one.name}", APART, conjunction(parts))
            if one.lifetime is not None:
                pairs = [(p, q) for begins, ends in self._lives(one) for p in begins for q in ends]
                late = [f"(not (<= end{p} begin{q}))" if p != q else f"(not (< begin{p} end{q}))" for p, q in pairs]
                writer.claim(f"{one.name}, from its first step to its last", LIFETIME, disjunction(late))
        return writer.script()

    def _timed(self, name: str) -> ScriptWriter:
        writer = ScriptWriter(name, definitions())
        self.times.declare(writer)
        writer.lines.append("(declare-const now Int)")
        writer.possible("an order of the steps", APART, "true")
        return writer

    def _of(self, step: int) -> Iterator[tuple[int, str]]:
        """The pieces of a step with their iterations."""
        for at in self.times.of_step(step):
            yield int(at.partition(".")[2] or 0), at

    def _alive(self, region: Region) -> str:
        """That a region lives `now`, in whichever iteration."""
        lives = [
            conjunction([_one_of(f"(<= begin{at} now)" for at in begins), _one_of(f"(< now end{at})" for at in ends)])
            for begins, ends in self._lives(region)
        ]
        return disjunction(lives) if region.lifetime else "true"

    def _lasts(self, region: Region, step: int, iteration: int, at: str) -> str:
        """That a region lives as long as some work of a step does; of one body, in the same iteration."""
        first = self.index[region.lifetime[0]] if region.lifetime else -1
        lives = self._lives(region)
        if len(lives) > 1 and self.times.order.steps_of_one_body(first, step):
            lives = [lives[iteration]]
        return disjunction(
            [
                conjunction(
                    [_one_of(f"(<= begin{p} begin{at})" for p in begins), _one_of(f"(<= end{at} end{q})" for q in ends)]
                )
                for begins, ends in lives
            ]
        )

    def _lives(self, region: Region) -> list[tuple[list[str], list[str]]]:
        """The work with which a region may begin and end to live: of two steps of one body, by iterations."""
        if region.lifetime is None:
            return []
        first, last = (self.index[name] for name in region.lifetime)
        ends = [list(self._of(step)) for step in (first, last)]
        if not self.times.order.steps_of_one_body(first, last):
            return [([at for _, at in ends[0]], [at for _, at in ends[1]])]
        turns = sorted({i for i, _ in ends[0]})
        return [([at for i, at in ends[0] if i == turn], [at for i, at in ends[1] if i == turn]) for turn in turns]

    # ------------------------------------------------------------ contents

    def contents(self, touch: Touch, regions: Sequence[Region]) -> Script | None:
        """What a step touches lies in the region that it names, which lives then. Of others, one that lives while
        something in it is touched holds all that is touched, and lives in all iterations of the step.
        """
        step = self.program.steps[touch.step]
        side = "writes" if touch.writes else "reads"
        named = step.writes if touch.writes else step.reads if touch.what != INDEX else None
        writer = self._timed(f"{step.name} {touch.what} {side}, and regions")
        counters = [writer.counter(f"c{i}", count) for i, (count, _) in enumerate(touch.walk.loops)]
        at = address_by_steps(writer, "address", touch.walk.base, counters, [s for _, s in touch.walk.loops])
        place = self._place_of(writer, touch, at)
        work = self.times.of_touch(touch)
        own = [(i, at) for i, at in self._of(touch.step) if at == self.times.at(work, i)]
        running = _one_of(f"(and (<= begin{at} now) (< now end{at}))" for _, at in own)
        asked = [region for region in regions if region.box.tier == touch.memory[0]]
        for region in asked:
            inside = conjunction(_ranges(region.box, place, 8 // touch.unit_bits))
            meant = [] if region.name == named else [running, self._alive(region)]
            if region.name != named and not self._holds(region, touch):
                writer.claim(f"across {region.name}", APART, conjunction([inside, *meant]))
                continue
            writer.claim(f"in {region.name}", APART, f"(not {inside})")
            if region.lifetime is not None:
                late = _one_of(f"(not {self._lasts(region, touch.step, i, at)})" for i, at in own)
                writer.claim(f"while {region.name} lives", LIFETIME, conjunction([*meant, late]))
        return writer.script() if asked else None

    def _holds(self, region: Region, touch: Touch) -> bool:
        """Whether all that a step declares where it touches lies in a region: a guess at what to claim."""
        found = boxes_of(self.program.steps[touch.step], self.target)
        own = [box for box in found if box.writes == touch.writes and box.what in ("", touch.what)]
        return all(region.box.holds(one.box) for one in own)

    def _place_of(self, writer: ScriptWriter, touch: Touch, at: Lin) -> dict[str, str]:
        """Chip, cluster, slice and unit of an address, as text."""
        tier, chip, cluster = touch.memory
        space = space_of(self.target, tier)
        place = {"chip": number(chip), "cluster": number(cluster), "slice": "0", "byte": text_of(at)}
        if "slice" in space.places:
            slice_, rest = writer.split("address", at, space.stride("slice", touch.unit_bits))
            place |= {"slice": text_of(slice_), "byte": text_of(rest)}
        return place


def _one_of(parts: Iterable[str]) -> str:
    return disjunction(list(parts))


def _ranges(box: Box, place: dict[str, str] | None = None, units: int = 1) -> list[str]:
    """That a place, and a byte or a unit in it, are in a box."""
    ends = [*zip(PLACES, box.first, box.last, strict=False), ("byte", box.base * units, box.end * units)]
    named = place or {name: name for name, _, _ in ends}
    return [f"(and (<= {number(low)} {named[name]}) (< {named[name]} {number(high)}))" for name, low, high in ends]
