"""What is stated of a kernel, and what it says of its numbers; sticky registers as they are set.

Knows: ranges, extents and relations as notes give them, arguments by the names of the text.
Does not know: statements, how anything is proved (it asks whether what is stated can hold at all).
Law: a relation is a condition that every later question may rely on, and is said; no values meet it: refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.errors import InputError, Span
from dmaverify.language.affine import ZERO, Cond, Lin, World, compare
from dmaverify.language.numbers import Poly
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.ops import ValueType
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.facts import SizeFact
from dmaverify.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Setting:
    """What the text does not say: ranges of arguments (inclusive), bytes of GM tensors, chosen readings."""

    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    extents: Mapping[str, int | Poly] = field(default_factory=dict)
    readings: Mapping[str, str] = field(default_factory=dict)
    relations: Sequence[tuple[SizeFact, Span]] = ()  # between arguments
    canonical: bool = False  # arguments and counters named by their order, to compare kernels
    one_tile: bool = False  # tiles of as many elements at one address are one


@dataclass(frozen=True, slots=True)
class Register:
    """A sticky register: its two values and where they were set; `mixed` where that depends on the path. Of a branch it
    is known which path gives what (`arms`: where its condition holds, and where not), and whether `each` of its sides
    set it; `forgotten`: no longer.
    """

    first: Lin
    second: Lin
    span: Span | None = None
    mixed: tuple[Span, ...] = ()
    by: str = "set"
    type: ValueType = ops.OTHER
    arms: tuple[Cond, Register | None, Register | None] | None = None
    forgotten: bool = False
    each: bool = False

    def same(self, other: Register | None) -> bool:
        return other is not None and (self.first, self.second, self.mixed, self.type, self.arms) == (
            other.first,
            other.second,
            other.mixed,
            other.type,
            other.arms,
        )

    @property
    def depth(self) -> int:
        """How many conditions tell what it holds."""
        return 1 + max(one.depth if one else 0 for one in self.arms[1:]) if self.arms else 0


PLAIN = Register(ZERO, ZERO, type=ValueType("atomic", ""))
"""Stores that write; the name of the type is what they do instead, its space the elements that they do it to."""


def term_of(poly: Poly, world: World, span: Span) -> Lin:
    """A sum of products of arguments. Raises InputError for a name that is none."""
    arguments = {s.shown: Lin(0, ((s.name, 1),)) for s in world.symbols.values() if not (s.definition or s.side)}
    out = ZERO
    for names, factor in poly.terms.items():
        part = Lin(1)
        for name in names:
            if f"%{name}" not in arguments:
                known = ", ".join(one for one in arguments if one.startswith("%"))
                raise InputError(f"%{name} is no number that this kernel is given", span, f"it has {known or 'none'}")
            part = world.times(part, arguments[f"%{name}"])
        out = out + part * factor
    return out


def relate(world: World, relations: Sequence[tuple[SizeFact, Span]], rlimit: int = Options().rlimit) -> bool:
    """States relations; whether they are known to hold for some values. Raises InputError where they do for none."""
    for fact, span in relations:
        world.given.append(_condition(fact, world, span))
    if not relations:
        return True
    answer = Asker(world, rlimit).possible(world.given).status
    if answer == "proved":
        raise InputError("no values meet what is stated", relations[-1][1], "state what every launch keeps")
    return answer == "refuted"


def _condition(fact: SizeFact, world: World, span: Span) -> Cond:
    value = term_of(fact.poly, world, span)
    if fact.by is None:
        return compare("le", -value) if fact.op == "ge" else compare(fact.op, value)
    by = fact.by.constant
    if by is None or by < 1:
        raise InputError("what divides an argument is a number", span, "write 64 | %n, or %n % 64 == 0")
    return compare("eq", world.modulo(value, by))
