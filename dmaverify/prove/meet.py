"""Aliasing of two loop nests: do they reach one address? Cheap tests, one question, the smallest pair of counters.

Knows: walks (a base and loops over one memory), sums of bounded multiples, residues.
Does not know: steps, order, tiers, what an address means.
Law: `apart` and an `unsat` of `question` are proofs that no address is shared; a `meeting` is checked by evaluating
both walks. Counts may be of any size: nothing is enumerated.

Two walks meet when `sum(stride * t) = distance` has a solution, where each t is a difference of counters: loops of one
stride, of either walk, are one bounded t. For every cut of the sorted strides the larger ones move in steps of their
gcd and the smaller ones fill an interval: where no multiple of that gcd falls into it, the walks are apart (intervals,
columns and residues are special cases; proofs/residue-apart).

Relied on (proofs/): residue-apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import gcd
from typing import TYPE_CHECKING

from dmaverify.language.numbers import same
from dmaverify.program.command import Command
from dmaverify.prove.smt import Query, Session, linear, number
from dmaverify.values import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_STEPS = 50_000  # of the search for the smallest meeting


@dataclass(frozen=True, slots=True)
class Walk:
    """Addresses `base + sum(counter * stride)` for all counters of `loops` (count, stride), outer to inner."""

    base: int
    loops: tuple[tuple[int, int], ...]

    @property
    def low(self) -> int:
        return self.base + sum(min(0, stride * (count - 1)) for count, stride in self.loops)

    @property
    def high(self) -> int:
        # in this order: a size at which it is 0 is no case of its own
        return self.base + sum(max(stride * (count - 1), 0) for count, stride in self.loops)

    @property
    def straight(self) -> Walk:
        """The same addresses from the least one on: loops by falling stride, those that go on without a gap as one."""
        out: list[tuple[int, int]] = []
        for stride, count in sorted((abs(stride), count) for count, stride in self.loops if stride and count > 1):
            if out and stride == out[-1][0] * out[-1][1]:
                out[-1] = (out[-1][0] * count, out[-1][1])
            else:
                out.append((count, stride))
        return Walk(self.low, tuple(reversed(out)))

    def address(self, counters: Sequence[int]) -> int:
        return self.base + sum(c * stride for c, (_, stride) in zip(counters, self.loops, strict=True))

    @property
    def listed(self) -> NDArray[np.int64]:
        """All addresses, in the order of the counters."""
        import numpy as np

        at = np.array([self.base], dtype=np.int64)
        for count, stride in self.loops:
            at = (at[:, None] + np.arange(max(0, count), dtype=np.int64) * stride).ravel()
        return at

    def scaled(self, factor: int) -> Walk:
        """The same bytes in units `factor` times as fine."""
        if factor == 1:
            return self
        moved = tuple((count, stride * factor) for count, stride in self.loops)
        return Walk(self.base * factor, (*moved, (factor, 1)))


def among(few: Sequence[tuple[int, int]], many: Sequence[tuple[int, int]]) -> bool:
    """Whether all that some loops (count, stride) reach others reach, too, at every size; no may be wrong."""
    left = _joined(many)
    for count, stride in _joined(few):
        alike = (i for i, (n, by) in enumerate(left) if same(n, count) and same(by, stride))
        if (found := next(alike, None)) is None:
            return False
        del left[found]
    return True


def _joined(loops: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The loops that move, in no order; one that goes on where another one ends is one with it."""
    left = [(count, stride) for count, stride in loops if not same(count, 1) and not same(stride, 0)]
    for i, j in permutations(range(len(left)), 2):
        (count, stride), (more, onwards) = left[i], left[j]
        if same(onwards, count * stride):
            rest = [loop for n, loop in enumerate(left) if n not in (i, j)]
            return _joined([*rest, (count * more, stride)])
    return left


def side_of(command: Command, *, writes: bool) -> Walk:
    """What one side of a command touches, counted from where its port does."""
    loops = tuple((x.count, x.write if writes else x.read) for x in command.loops)
    return Walk((command.write if writes else command.read).base, (*loops, (command.burst, 1)))


@dataclass(frozen=True, slots=True)
class StrideTerm:
    """`stride * t` with t from `low` to `high`, both inclusive; `stride` is positive."""

    stride: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Equation:
    """`sum of terms = target`; terms by falling stride, one per stride."""

    terms: tuple[StrideTerm, ...]
    target: int


def equation(parts: Sequence[tuple[int, int, int]], target: int) -> Equation:
    """From (coefficient, low, high) of independent bounded integers."""
    sums: dict[int, tuple[int, int]] = {}
    for coefficient, low, high in parts:
        if coefficient < 0:
            coefficient, low, high = -coefficient, -high, -low
        if coefficient and low != high:
            before = sums.get(coefficient, (0, 0))
            sums[coefficient] = (before[0] + low, before[1] + high)
        else:
            target -= coefficient * low
    return Equation(tuple(StrideTerm(s, *sums[s]) for s in sorted(sums, reverse=True)), target)


def difference(a: Walk, b: Walk) -> Equation:
    """Solvable exactly when the walks share an address."""
    return equation(_parts(a, b), b.base - a.base)


def _parts(a: Walk, b: Walk) -> list[tuple[int, int, int]]:
    """(coefficient, low, high) of each counter of both, in the difference of their addresses."""
    loops = (*a.loops, *((count, -stride) for count, stride in b.loops))
    return [(stride, 0, count - 1) for count, stride in loops]


def apart(eq: Equation) -> bool:
    """Whether a cut of the strides shows that there is no solution; False decides nothing."""
    low = high = 0
    lows, highs = [0], [0]
    for term in reversed(eq.terms):
        low, high = low + term.stride * term.low, high + term.stride * term.high
        lows.append(low)
        highs.append(high)
    steps = 0
    for cut, (least, most) in enumerate(zip(reversed(lows), reversed(highs), strict=True)):
        first, last = eq.target - most, eq.target - least
        if not first <= 0 <= last if steps == 0 else last // steps * steps < first:
            return True
        if cut < len(eq.terms):
            steps = gcd(steps, eq.terms[cut].stride)
    return False


def question(eq: Equation) -> Query:
    """Its `unsat` is the proof that the walks are apart."""
    names = [f"t{index}" for index in range(len(eq.terms))]
    variables = tuple((name, term.low, term.high + 1) for name, term in zip(names, eq.terms, strict=True))
    terms = [(term.stride, name, term.low, term.high) for name, term in zip(names, eq.terms, strict=True)]
    return Query(variables, tuple(equal_by_levels(terms, eq.target)))


Part = tuple[int, str]  # coefficient and name


def levels(terms: Sequence[tuple[int, str, int, int]], target: int) -> list[tuple[list[Part], int]]:
    """`sum(coefficient * name) = target` as equations that together say the same, for names from a low to a high value.

    Where what the small coefficients add up to can be only one number modulo the large ones, it is that number: the
    strides of nested loops fall apart so, and a solver need not search for it.
    """
    ordered = sorted(terms, key=lambda term: -abs(term[0]))
    parts = [(k, name) for k, name, _, _ in ordered]
    for cut in range(1, len(ordered)):
        steps = gcd(*(k for k, _ in parts[:cut]))
        ends = [(k * first, k * last) for k, _, first, last in ordered[cut:]]
        low, high = sum(min(pair) for pair in ends), sum(max(pair) for pair in ends)
        rest = low + (target - low) % steps if steps else low
        if steps and rest <= high < rest + steps:
            return [(parts[:cut], target - rest), *levels(ordered[cut:], rest)]
    return [(parts, target)]


def equal_by_levels(terms: Sequence[tuple[int, str, int, int]], target: int) -> list[str]:
    """The equation as texts, level by level."""
    return [f"(= {linear(0, some)} {number(wanted)})" for some, wanted in levels(terms, target)]


# ---------------------------------------------------------------- search


class TooDeep(Exception):
    """The search took more than its steps."""


class _Search:
    """Depth first over falling strides; bounds and residues of what remains leave few values at each level."""

    def __init__(self, eq: Equation, steps: list[int]) -> None:
        self.terms = eq.terms
        self.steps = steps
        self.low, self.high, self.gcd = [0], [0], [0]
        self.whole = [True]
        for term in reversed(eq.terms):
            step, reach = gcd(term.stride, self.gcd[-1]), self.high[-1] - self.low[-1]
            # what remains takes every multiple of its gcd between its bounds when each stride is within reach
            fills = (
                self.whole[-1]
                and (not self.gcd[-1] or term.stride % self.gcd[-1] == 0)
                and (term.stride <= reach + (self.gcd[-1] or term.stride))
            )
            self.whole.append(fills)
            self.low.append(self.low[-1] + term.stride * term.low)
            self.high.append(self.high[-1] + term.stride * term.high)
            self.gcd.append(step)
        for table in (self.low, self.high, self.gcd, self.whole):
            table.reverse()

    def solvable(self, target: int, at: int = 0) -> bool:
        self.steps[0] -= 1
        if self.steps[0] < 0:
            raise TooDeep
        if not self.low[at] <= target <= self.high[at] or (target % self.gcd[at] if self.gcd[at] else target):
            return False
        if self.whole[at]:
            return True
        term = self.terms[at]
        first = max(term.low, -((self.high[at + 1] - target) // term.stride))
        last = min(term.high, (target - self.low[at + 1]) // term.stride)
        return any(self.solvable(target - term.stride * value, at + 1) for value in range(first, last + 1))


def solvable(eq: Equation, steps: list[int] | None = None) -> bool:
    """Whether the equation has a solution, by search. Raises TooDeep."""
    return _Search(eq, steps or [MOST_STEPS]).solvable(eq.target)


def decided(eq: Equation) -> str:
    """`unsat` where there is no solution, `sat` where there is one, `unknown` where the search took too long."""
    if apart(eq):
        return "unsat"
    try:
        return "sat" if solvable(eq) else "unsat"
    except TooDeep:
        return "unknown"


def least(parts: Sequence[tuple[int, int, int]], target: int) -> tuple[int, ...] | None:
    """The solution of `sum(coefficient * value) = target` that is smallest from left to right. Raises TooDeep."""
    steps = [MOST_STEPS]
    bounds = [(low, high) for _, low, high in parts]

    def possible() -> bool:
        moved = [(k, low, high) for (k, _, _), (low, high) in zip(parts, bounds, strict=True)]
        return solvable(equation(moved, target), steps)

    if not possible():
        return None
    for index, (low, high) in enumerate(bounds):
        bounds[index] = (low, low)
        if possible():
            continue
        below, above = low, high
        while above - below > 1:  # `below` is too small for every solution, `above` is not
            middle = (below + above) // 2
            bounds[index] = (low, middle)
            below, above = (below, middle) if possible() else (middle, above)
        bounds[index] = (above, above)
    return tuple(low for low, _ in bounds)


@dataclass(frozen=True, slots=True)
class Meeting:
    """Counters of both walks at one address."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    address: int


def smallest_meeting(a: Walk, b: Walk) -> Meeting | None:
    """The meeting with the smallest counters of `a`, then of `b`, compared from the outermost. Raises TooDeep."""
    found = least(_parts(a, b), b.base - a.base)
    return None if found is None else _meeting(a, b, found)


def _meeting(a: Walk, b: Walk, counters: Sequence[int]) -> Meeting:
    """That both walks are at one address, evaluated; `counters` are those of `a`, then those of `b`."""
    first, second = tuple(counters[: len(a.loops)]), tuple(counters[len(a.loops) :])
    if a.address(first) != b.address(second):
        raise ArithmeticError(f"{first} and {second} do not meet")
    return Meeting(first, second, a.address(first))


def collision(loops: Sequence[tuple[int, int]], extent: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Counters of two iterations of a nest (outer to inner) whose runs of `extent` addresses meet; None: no two do.

    The two differ first at some loop, where the second is ahead: each loop is tried from the outermost. Raises TooDeep.
    """
    for level, (count, stride) in enumerate(loops):
        inner = [(step, 1 - n, n - 1) for n, step in loops[level + 1 :]]
        found = least([(stride, 1, count - 1), *inner, (1, 1 - extent, extent - 1)], 0) if count > 1 else None
        if found is not None:
            ahead = (*([0] * level), *found[:-1])
            return tuple(max(0, -step) for step in ahead), tuple(max(0, step) for step in ahead)
    return None


def shared(a: Walk, b: Walk, session: Session, about: str) -> str:
    """Whether the walks share an address: `unsat` by arithmetic where that shows it, else what the solver answers."""
    eq = difference(a, b)
    return "unsat" if apart(eq) else session.ask(question(eq), about).status


@dataclass(frozen=True, slots=True)
class Turned:
    """That `sum(first * counters of one walk) + sum(second * counters of the other)` lies in `low..high` (None: open);
    the weights are those of the first counters.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    low: int
    high: int | None


def found_meeting(a: Walk, b: Walk, session: Session, when: Sequence[Turned] = ()) -> Meeting | None:
    """The smallest meeting, of the iterations `when`; where the search takes too long, the smallest that the solver
    reaches. None: there is none, or neither knows of one.
    """
    if not when:
        try:
            return smallest_meeting(a, b)
        except TooDeep:
            pass
    names = counter_names(a, b)
    texts = list[str]()
    for turned in when:
        parts = [*zip(turned.first, names, strict=False), *zip(turned.second, names[len(a.loops) :], strict=False)]
        total = linear(0, parts)
        texts.append(f"(<= {number(turned.low)} {total})")
        texts += [] if turned.high is None else [f"(<= {total} {number(turned.high)})"]
    return met_where(a, b, session, texts)[1]


def counter_names(a: Walk, b: Walk) -> list[str]:
    """Of the counters of two walks, in a question."""
    return [f"{letter}{index}" for letter, walk in (("a", a), ("b", b)) for index in range(len(walk.loops))]


def met_where(a: Walk, b: Walk, session: Session, when: Sequence[str], about: str = "") -> tuple[str, Meeting | None]:
    """Whether the walks meet under conditions on their `counter_names`, and the smallest such meeting."""
    names = counter_names(a, b)
    terms = [(stride, name, low, high) for (stride, low, high), name in zip(_parts(a, b), names, strict=True)]
    variables = tuple((name, low, high + 1) for _, name, low, high in terms)
    query = Query(variables, (*equal_by_levels(terms, b.base - a.base), *when))
    answer = session.smallest(query, names, session.ask(query, about))
    found = _meeting(a, b, [answer.model[name] for name in names]) if answer.status == "sat" else None
    return answer.status, found
