"""Numbers that two PTO kernels are given: which of both are one, and the values that both texts allow.

Knows: arguments, what a machine tells a kernel, ranges and relations that texts state. Does not know: runs, events.
Law: a number is one of both by its place among the arguments, or by what the machine calls it; a value is one that
both texts admit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dmaverify.jobs.kernel_runs import holds
from dmaverify.machines.pto.named import NamedFunction
from dmaverify.machines.pto.ops import OpaqueOp, deep
from dmaverify.values import dataclass, replace

Chosen = tuple[Mapping[str, int], Mapping[str, int], tuple[int, ...]]
"""Values of the arguments of both kernels, by their names in each, and the numbers they are."""


@dataclass(frozen=True)
class SharedNumber:
    """A number that both kernels are given: its names in each, the values it has (`high` None: nobody says)."""

    names: tuple[tuple[str, ...], tuple[str, ...]]
    low: int
    high: int | None
    told: str = ""  # what the machine calls it, of which it tells the value
    apart: bool = False  # whether the two texts state other values

    @property
    def count(self) -> int | None:
        return None if self.high is None else max(0, self.high - self.low + 1)

    @property
    def name(self) -> str:
        return (self.names[0] or self.names[1])[0]

    def some(self, count: int) -> Sequence[int]:
        """The first `count` of its values, the last one again where it has fewer."""
        return [self.low + k if self.high is None else min(self.low + k, self.high) for k in range(count)]


def kinds_of(side: NamedFunction) -> list[str]:
    """What each argument of a kernel is."""
    return [k.kind if k.kind == "pointer" else k.name for _, k, _ in side.function.args]


def numbers_of(sides: Sequence[NamedFunction]) -> Iterator[SharedNumber]:
    """The numbers that both are given: arguments by their order, what the machine tells by its name."""
    for at, (_, kind, _) in enumerate(sides[0].function.args):
        names = tuple((side.function.args[at][0].lstrip("%"),) for side in sides)
        if kind.kind != "int" or not any(_used(side, own[0]) for side, own in zip(sides, names, strict=True)):
            continue
        yield _number(sides, names, (0, 1) if kind.bits == 1 else None)
    told: dict[str, tuple[list[str], list[str]]] = {}
    least: dict[str, int] = {}
    for index, side in enumerate(sides):
        for stmt in deep(side.function.body):
            if isinstance(stmt, OpaqueOp) and stmt.least is not None:
                told.setdefault(stmt.what, ([], []))[index].append(stmt.results[0].lstrip("%"))
                least[stmt.what] = stmt.least
    for what, (first, second) in told.items():
        yield replace(_number(sides, (tuple(first), tuple(second)), None, least[what]), told=what)


def _number(
    sides: Sequence[NamedFunction], names: Sequence[tuple[str, ...]], known: tuple[int, int] | None, low: int = 0
) -> SharedNumber:
    each = [
        [side.notes.ranges[n] for n in own if n in side.notes.ranges] for side, own in zip(sides, names, strict=True)
    ]
    stated = [*([known] if known else []), *each[0], *each[1]]
    lows, highs = [low if not stated else -(1 << 63), *(a for a, _ in stated)], [b for _, b in stated]
    apart = set(each[0]) != set(each[1])
    return SharedNumber((names[0], names[1]), max(lows), min(highs, default=None), apart=apart)


def _used(side: NamedFunction, name: str) -> bool:
    span = side.function.whole or side.function.span
    text = side.source.text[span.start : span.end]
    return len(re.findall(rf"%{re.escape(name)}(?![\w$.\-])", text)) > 1


def values_of(
    sides: Sequence[NamedFunction], numbers: Sequence[SharedNumber], every: Iterable[tuple[int, ...]]
) -> Iterator[Chosen]:
    """Values of the arguments of both kernels that meet what both state, and the numbers they are."""
    for chosen in every:
        told = {n.told: value for n, value in zip(numbers, chosen, strict=True) if n.told}
        if any(value >= told.get(f"{what.removesuffix('idx')}num", value + 1) for what, value in told.items()):
            continue  # no block has a number beyond how many there are
        given: tuple[dict[str, int], dict[str, int]] = {}, {}
        for number, value in zip(numbers, chosen, strict=True):
            for names, own in zip(number.names, given, strict=True):
                own.update(dict.fromkeys(names, value))
        if all(holds(fact, own) for side, own in zip(sides, given, strict=True) for fact, _ in side.notes.relations):
            yield *given, chosen
