"""What copy instructions cost in the symbols of a kernel, as named terms with their basis.

Knows: the parametric model (issue, bytes in blocks, lines of global memory), loops and branches around copies.
Does not know: contention, overlap of pipes beyond the largest, any measured figure of the machine.
Law: every term says what it counts, its resource and where its constant comes from; nothing is passed off as measured.
At values of the symbols a term is what a kernel with these numbers costs; a term that only bounds says `at most`.

Source: the target's `[cost]` table (A2/A3 model figures; no A5 figure is public).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import gcd
from typing import Any

from dmaverify.cost.amounts import (
    Amount,
    AmountsAt,
    Either,
    LoopSum,
    Of,
    Scaled,
    added,
    condition_text,
    shown,
    symbols_of,
    sympy_text,
    tree,
)
from dmaverify.cost.copy_figures import CopyFigures
from dmaverify.language.affine import ONE, Cond, Lin, World
from dmaverify.program.instructions import Branch, Copy, CopyTouch, Event, KernelLoop
from dmaverify.program.sums import depends, linear_in, summed, unclamped
from dmaverify.values import dataclass, replace

MOST_PHASES = 8
"""Most different offsets in a line that rows of an open number are counted by."""


@dataclass(frozen=True, slots=True)
class CopyTerm:
    """A part of a cost in cycles: its amount over all iterations, what is counted, the resource, why, the basis."""

    name: str
    cycles: Amount
    count: Amount
    resource: str
    why: str
    source: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class CopyCost:
    """Terms of one copy over all iterations of the loops around it; `arm` is the condition that it stands under."""

    line: int
    pipe: str
    kind: str
    terms: tuple[CopyTerm, ...]
    arm: str = ""

    @property
    def cycles(self) -> Amount:
        return added([term.cycles for term in self.terms])


@dataclass(frozen=True)
class KernelCost:
    """All copies, and what each pipe costs: an amount in the kernel's symbols."""

    world: World
    copies: tuple[CopyCost, ...]
    pipes: Mapping[str, Amount]

    def symbols(self) -> list[str]:
        """The symbols that the cost depends on."""
        found: set[str] = set()
        for amount in self.pipes.values():
            found |= symbols_of(amount, self.world)
        return sorted(found)

    def cycles(self, at: Mapping[str, int]) -> float:
        """The busiest pipe: pipes run beside each other where flags let them. Raises InputError for an open symbol."""
        sums = AmountsAt(self.world, {name: Lin(number) for name, number in at.items()})
        return max((sums.value(amount) for amount in self.pipes.values()), default=0.0)


def price(events: Sequence[Event], world: World, figures: CopyFigures) -> KernelCost:
    """The cost of a kernel."""
    pricing = _Pricing(world, figures)
    pipes = pricing.block(events, (), "")
    return KernelCost(world, tuple(pricing.copies), pipes)


class _Pricing:
    """One kernel, walked in order of issue."""

    def __init__(self, world: World, figures: CopyFigures) -> None:
        self.world, self.figures = world, figures
        self.copies: list[CopyCost] = []

    def block(
        self, events: Sequence[Event], loops: tuple[KernelLoop, ...], arm: str, under: tuple[Cond, ...] = ()
    ) -> dict[str, Amount]:
        """What each pipe costs."""
        out: dict[str, list[Amount]] = {}
        for event in events:
            made: dict[str, Amount] = {}
            if isinstance(event, Copy):
                cost = self.copy(event, loops, arm, under)
                self.copies.append(cost)
                made = {cost.pipe: cost.cycles}
            elif isinstance(event, KernelLoop):
                own = replace(event, trip=unclamped(self.world, event.trip, loops))
                made = self.block(event.body, (*loops, own), arm, under)
            elif isinstance(event, Branch):
                made = self.branch(event, loops, arm, under)
            for pipe, amount in made.items():
                out.setdefault(pipe, []).append(amount)
        return {pipe: added(amounts) for pipe, amounts in out.items()}

    def branch(
        self, event: Branch, loops: tuple[KernelLoop, ...], arm: str, under: tuple[Cond, ...]
    ) -> dict[str, Amount]:
        """The larger of both arms; where the condition changes from iteration to iteration, each of those."""
        said = condition_text(event.when, self.world)
        names = [f"{arm}, {text}" if arm else text for text in (f"if {said}", f"unless {said}")]
        inner = any(depends(self.world, event.when, loop.counter) for loop in loops)
        arms = []
        for name, body, when in zip(names, (event.then, event.other), (event.when, event.when.negated()), strict=True):
            arms.append(self.block(body, loops, name, (*under, when) if inner else under))
        pipes = list(dict.fromkeys([*arms[0], *arms[1]]))
        if inner:
            return {pipe: added([a[pipe] for a in arms if pipe in a]) for pipe in pipes}
        nothing = Of(Lin(0))
        return {pipe: Either(event.when, arms[0].get(pipe, nothing), arms[1].get(pipe, nothing)) for pipe in pipes}

    # ------------------------------------------------------------ one copy

    def copy(self, copy: Copy, loops: tuple[KernelLoop, ...], arm: str, under: tuple[Cond, ...]) -> CopyCost:
        world, figures = self.world, self.figures
        issues = self.over(Of(ONE), loops, under)
        blocks = Lin(0)
        for touch in copy.touches:
            if touch.writes or touch.kind == "surplus":
                blocks = blocks + world.times(touch.length, self.rows(touch))
        held = self.over(Of(blocks), loops, under)
        basis = f"parameter; {figures.basis}"
        said = "instructions, their registers included", "bytes in blocks of 32, tails and padding included"
        terms = [
            CopyTerm("issue", Scaled(issues, figures.issue), issues, copy.pipe, said[0], basis),
            CopyTerm("buffer", Scaled(held, 1, figures.buffer), held, "UB", said[1], basis),
        ]
        if copy.kind != "local":
            gm = next(t for t in copy.touches if t.place.space == "gm" and t.kind in ("read", "data"))
            line, speed = figures.line, figures.rates[copy.kind]
            lines, exact = self.lines(gm, loops, under, line)
            moved = self.over(Of(world.times(copy.row, self.rows(gm))), loops, under)
            why = f"lines of {line} bytes for {shown(moved, world)} bytes; tensors start on a line"
            terms.append(
                CopyTerm("lines", Scaled(lines, line, speed), lines, "GM", why if exact else f"at most; {why}",
                     figures.source, exact)
            )  # fmt: skip
        return CopyCost(copy.span.line, copy.pipe, copy.kind, tuple(terms), arm)

    def rows(self, touch: CopyTouch) -> Lin:
        total = ONE
        for count, _ in touch.steps:
            total = self.world.times(total, count)
        return total

    def over(self, amount: Amount, loops: Sequence[KernelLoop], under: Sequence[Cond] = ()) -> Amount:
        """The sum over the iterations of loops, of those where conditions hold; in closed form where there is one."""
        for when in under:
            amount = Either(when, amount, Of(Lin(0)))
        for loop in reversed(loops):
            closed = None
            if isinstance(amount, Of):
                closed = summed(self.world, amount.term, loop.counter, loop.trip)
            elif loop.counter not in symbols_of(amount, self.world) and isinstance(amount, LoopSum):
                scaled = self._times(loop.trip, amount)
                if scaled is not None:
                    amount = scaled
                    continue
            amount = Of(closed) if closed is not None else LoopSum(loop.counter, loop.trip, amount)
        return amount

    def _times(self, trip: Lin, amount: LoopSum) -> Amount | None:
        """A sum as often as a loop runs."""
        return Scaled(amount, trip.const) if trip.is_const else None

    # ------------------------------------------------------------ lines of global memory

    def lines(
        self, touch: CopyTouch, loops: Sequence[KernelLoop], under: Sequence[Cond], line: int
    ) -> tuple[Amount, bool]:
        """Lines that the rows touch, each row by itself, over all loops; whether that is exact."""
        found = None if under else self._lines(touch, loops, line)
        if found is not None:
            return Of(found), True
        alone = self._lines(touch, (), line)
        if alone is not None:  # what loops add are whole lines
            return self.over(Of(alone), loops, under), True
        worst = self.world.divide(touch.length + (line - 2), line) + ONE
        return self.over(Of(self.world.times(worst, self.rows(touch))), loops, under), False

    def _lines(self, touch: CopyTouch, loops: Sequence[KernelLoop], line: int) -> Lin | None:
        """The exact number, by where in a line rows start: a level of rows repeats its starts after some of them."""
        world, base = self.world, touch.place.address + touch.offset
        counters = [loop.counter for loop in loops]
        levels = list(touch.steps)
        for loop in reversed(loops):
            found = linear_in(world, base, loop.counter)
            if found is None or any(depends(world, loop.trip, c) for c in counters):
                return None
            base = found[0]
            levels.append((loop.trip, found[1]))
        inner = [touch.length, *(n for step in touch.steps for n in step)]
        if any(depends(world, n, c) for n in inner for c in counters):
            return None
        if any(factor % line for _, factor in base.terms):
            return None
        if not all(stride.is_const or count == ONE for count, stride in levels):
            return None

        @cache
        def at(level: int, phase: int) -> Lin | None:
            if level < 0:
                return world.divide(touch.length + (phase + line - 1), line)
            count, stride = levels[level]
            step = stride.const % line if count != ONE else 0
            period = line // gcd(step, line) if step else 1
            phases = period if not count.is_const else min(period, max(0, count.const))
            each = [at(level - 1, (phase + i * step) % line) for i in range(phases)]
            known = [here for here in each if here is not None]
            if len(known) < len(each):
                return None
            if len(set(known)) == 1:
                return world.times(count, known[0])
            if not count.is_const and period > MOST_PHASES:
                return None
            total = Lin(0)
            for i, here in enumerate(known):
                total = total + world.times(world.divide(count + (period - 1 - i), period), here)
            return total

        return at(len(levels) - 1, base.const % line)


# ------------------------------------------------------------------------------------------ data


def as_data(cost: KernelCost, at: Mapping[str, int] | None = None) -> dict[str, Any]:
    """`cycles` is the busiest pipe at the values given, None where one is missing; formulas as text and as trees."""
    world = cost.world
    sums = AmountsAt(world, {name: Lin(number) for name, number in (at or {}).items()})
    known = set(cost.symbols()) <= set(sums.at)

    def at_values(amount: Amount) -> float | None:
        return sums.value(amount) if known else None

    terms = [
        {
            "name": f"line {c.line} {t.name}",
            "cycles": at_values(t.cycles),
            "count": at_values(t.count),
            "formula": shown(t.cycles, world),
            "sympy": sympy_text(t.cycles, world),
            "tree": tree(t.cycles, world),
            "resource": t.resource,
            "why": t.why,
            "source": t.source,
            "bound": "exact" if t.exact else "at most",
            **({"arm": c.arm} if c.arm else {}),
        }
        for c in cost.copies
        for t in c.terms
    ]
    return {
        "cycles": max(map(sums.value, cost.pipes.values()), default=0.0) if known else None,
        "profile": "book",
        "pipes": {pipe: at_values(amount) for pipe, amount in cost.pipes.items()},
        "formula": {pipe: shown(amount, world) for pipe, amount in cost.pipes.items()},
        "sympy": {pipe: sympy_text(amount, world) for pipe, amount in cost.pipes.items()},
        "symbols": [world.symbols[n].shown for n in cost.symbols()],
        "terms": terms,
        "exact": False,
    }
