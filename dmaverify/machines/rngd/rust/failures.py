"""Operations of integers that end a run: those that no build gives a result, and those that leave their type.

Knows: which builds check what, how each operator and method of the standard library fails.
Does not know: Rust text, what an operation gives where it does not fail (`integers`).
Law: a failure is told only where it is certain, of every value that the operands have or of one that surely occurs,
and of a type that is known.
"""

from __future__ import annotations

from dmaverify.machines.rngd.rust.integers import INTEGERS, SIGNS, settled, unbounded, unified, width_of
from dmaverify.machines.rngd.rust.values import Numbers
from dmaverify.values import dataclass


@dataclass(frozen=True)
class Failure:
    """That an operation fails: `checked` in builds alone that notice numbers which leave their type, `every` time or
    in some turn of the loops that move its operands.
    """

    checked: bool = False
    every: bool = True


def fails(sign: str, a: Numbers | None, b: Numbers | None) -> Failure | None:
    """How an operator surely fails; None where it may give a number. `a`: None where nothing is known of it."""
    if b is None:
        return None
    if sign in ("<<", ">>"):
        width = width_of(a.type) if a is not None and a.type in INTEGERS else 0
        return beyond(b, 0, width, checked=True) if width else None
    if sign in ("/", "%") and b.reached and 0 in (b.low, b.high):
        return Failure(every=b.single == 0)
    both = unified(a, b) if a is not None else None
    if both is None or both[0].type not in INTEGERS:
        return None
    made = unbounded("/" if sign == "%" and b.single == -1 else sign, *both)
    return _outside(made, both[0].type, checked=sign not in ("/", "%")) if made is not None else None


def method_fails(name: str, given: list[Numbers]) -> Failure | None:
    """The same of a method of an integer, of what it is called on and given."""
    a, b = (*given, None, None)[:2]
    if a is None or a.type not in INTEGERS:
        return None
    if b is None:
        return _of_one(name, a)
    way, _, operation = name.partition("_")
    divides = name in ("div_ceil", "next_multiple_of", "rem_euclid", "div_euclid")
    if divides or (way in ("wrapping", "saturating") and operation in ("div", "rem")):
        whole = name in ("rem_euclid", "div_euclid")
        return fails("/", a if whole else None, b)
    if name == "pow" and a.single is not None and (power := settled(b)) is not None and power.single is not None:
        most = width_of("u128")
        return _outside(Numbers.of(a.single**power.single), a.type, checked=True) if 0 <= power.single <= most else None
    if name == "ilog":
        return Failure() if a.high <= 0 or b.high < 2 else None
    if name == "clamp" and len(given) == 3:
        ends = unified(given[1], given[2])
        return Failure() if ends is not None and ends[0].low > ends[1].high else None
    return None


def gives_none(name: str, given: list[Numbers]) -> bool:
    """Whether a method surely gives `None`: `checked_add` and its like where the operation fails."""
    way, _, operation = name.partition("_")
    if way != "checked":
        return False
    binary = len(given) == 2 and operation in SIGNS
    found = fails(SIGNS[operation], *given) if binary else method_fails(operation, given)
    return found is not None and found.every


def _of_one(name: str, a: Numbers) -> Failure | None:
    if name == "neg" or (name == "abs" and a.high < 0):
        return _outside(a.times(-1), a.type, checked=True)
    if name in ("ilog2", "ilog10"):
        return Failure() if a.high <= 0 else None
    if name == "isqrt":
        return Failure() if a.high < 0 else None
    if name == "next_power_of_two" and a.single is not None and a.type[0] == "u":
        return _outside(Numbers.of(1 << max(0, a.single - 1).bit_length()), a.type, checked=True)
    return None


def _outside(made: Numbers, kind: str, *, checked: bool) -> Failure | None:
    """How numbers fail that have to lie in a type."""
    return beyond(made, *INTEGERS[kind], checked=checked)


def beyond(made: Numbers, first: int, end: int, *, checked: bool) -> Failure | None:
    """How numbers fail that have to be at least `first` and below `end`."""
    if made.high < first or made.low >= end:
        return Failure(checked)
    return Failure(checked, every=False) if made.reached and (made.low < first or made.high >= end) else None
