"""Integers of Rust: the range of each type, and arithmetic that stays within it.

Knows: which values a type has, what operators, casts and methods give; debug builds stop where release builds wrap.
Does not know: Rust text, where a number has its type from (`integer_types`).
Law: an operation whose exact result may leave its type gives None, whatever a build makes of it; shifts, casts and
`wrapping_*` lose bits alike in all builds, and are followed where every value of a number loses the same ones.
"""

from __future__ import annotations

from math import isqrt

from dmaverify.machines.rngd.rust.values import Numbers
from dmaverify.values import replace

INTEGERS = {
    f"{sign}{bits}": ((-(1 << (width - 1)), 1 << (width - 1)) if sign == "i" else (0, 1 << width))
    for sign in "iu"
    for bits, width in (("8", 8), ("16", 16), ("32", 32), ("64", 64), ("128", 128), ("size", 64))
}
"""The integer types, with the least value of each and the first beyond them."""
ANY = "?"
"""The type of a variable whose type nobody knows; the empty type is that of a literal, which nothing gave one."""
_RANGES = {**INTEGERS, "bool": (0, 2)}
_DEFAULT = "i32"
Ends = tuple[int, int]


def width_of(kind: str) -> int:
    """The bits of a type."""
    first, end = INTEGERS[kind]
    return (end - first).bit_length() - 1


def typed(number: Numbers, kind: str) -> Numbers | None:
    """The number as one of a type that its place gives it; None where it has another, or its values may leave this."""
    if number.type == kind or not kind:
        return number
    if kind == ANY:
        return number if number.type else replace(number, type=ANY)
    if number.type not in ("", ANY):
        return None
    inside = _within((number.low, number.high), kind) and _within(number.held, kind) and _within(number.seen, kind)
    return replace(number, type=kind, held=None, seen=None) if inside else None


def settled(number: Numbers) -> Numbers | None:
    """The number where nothing more says what type it has: a literal is an `i32`; what was computed of anything else
    fits all types that have the literals in it, or is not known.
    """
    if number.type not in ("", ANY):
        return number
    kinds = [_DEFAULT] if not number.type else [kind for kind in INTEGERS if _within(number.held, kind)]
    return number if all(_within(number.seen, kind) for kind in kinds) else None


def unified(a: Numbers, b: Numbers) -> tuple[Numbers, Numbers] | None:
    """Two numbers of one type, which the one gives the other; None where that cannot be."""
    kind = next((one.type for one in (a, b) if one.type not in ("", ANY)), a.type or b.type)
    left, right = typed(a, kind), typed(b, kind)
    if left is None or right is None or kind not in ("", ANY):
        return (left, right) if left is not None and right is not None else None
    held = _hull(left.held, right.held)
    return replace(left, held=held), replace(right, held=held)


def alike(numbers: list[Numbers]) -> str | None:
    """The type that all of several numbers have or may get; None where they have several."""
    kinds = {number.type for number in numbers} - {"", ANY}
    if len(kinds) > 1:
        return None
    return kinds.pop() if kinds else ANY if any(number.type for number in numbers) else ""


def like(made: Numbers, numbers: list[Numbers]) -> Numbers:
    """A number made of others as one of their type, without an operation."""
    kind = alike(numbers)
    if kind is None:
        return replace(made, type=ANY, seen=(-(1 << 200), 1 << 200))  # it is none that fits anywhere
    return replace(made, type=kind, held=_hull(*(n.held for n in numbers)), seen=_hull(*(n.seen for n in numbers)))


def computed(made: Numbers | None, of: list[Numbers], extra: Ends | None = None) -> Numbers | None:
    """The exact result of an operation on numbers of one type; None where it may leave the type. `extra` are values
    that the type must have as well.
    """
    if made is None:
        return None
    kind = alike(of)
    if kind is None:
        return None
    ends = (made.low, made.high)
    if kind not in ("", ANY):
        return replace(made, type=kind) if _within(ends, kind) and _within(extra, kind) else None
    seen = _hull(ends, extra, *(n.seen for n in of))
    return replace(made, type=kind, held=_hull(*(n.held for n in of)), seen=seen)


def operated(sign: str, a: Numbers, b: Numbers) -> Numbers | None:
    """What an operator gives."""
    if sign in ("<<", ">>"):
        return _shifted(sign, a, settled(b))
    both = unified(a, b)
    if both is None:
        return None
    a, b = both
    divides = sign in ("/", "%") and b.single == -1
    extra = (-a.high, -a.low) if divides else None  # the least value of a type has no opposite there
    return computed(unbounded(sign, a, b), [a, b], extra)


def negated(a: Numbers) -> Numbers | None:
    """`-a`."""
    return computed(a.times(-1), [a]) if a.type[:1] != "u" and a.type != "bool" else None


def turned(a: Numbers) -> Numbers | None:
    """`!a` of a number whose type is known."""
    if a.type not in _RANGES:
        return None
    first, end = _RANGES[a.type]
    return computed(a.times(-1).plus(Numbers.of(first + end - 1)), [a])


def cast(a: Numbers, kind: str, *, literal: bool = False) -> Numbers | None:
    """`a as kind`; a `literal` alone is of that type from the start."""
    own = a if literal else settled(a)
    made = _wrapped(own, kind) if own is not None and kind in INTEGERS else None
    return replace(made, type=kind, held=None, seen=None) if made is not None else None


def _within(ends: Ends | None, kind: str) -> bool:
    first, end = _RANGES.get(kind, (0, 0))
    return ends is None or (first <= ends[0] and ends[1] < end)


def _hull(*many: Ends | None) -> Ends | None:
    found = [one for one in many if one is not None]
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None


def _wrapped(a: Numbers, kind: str) -> Numbers | None:
    """The low bits of a number, where all of its values are as far away from them."""
    first, end = INTEGERS[kind]
    turns = (a.low - first) // (end - first)
    if not turns and a.high < end:
        return a
    return a.plus(Numbers.of(-turns * (end - first))) if (a.high - first) // (end - first) == turns else None


def _shifted(sign: str, a: Numbers, by: Numbers | None) -> Numbers | None:
    if by is None or by.single is None or by.low < 0 or a.type == "bool":
        return None
    if a.type in INTEGERS and by.low >= width_of(a.type):
        return None
    if by.low >= width_of("u128"):
        return None
    if sign == ">>":
        exact = Numbers.of(a.low >> by.low) if a.single is not None else unbounded("/", a, Numbers.of(1 << by.low))
        return computed(exact, [a], None if a.type in INTEGERS or not by.low else (0, 1 << by.low))
    exact = a.times(1 << by.low)
    if a.type in INTEGERS:
        return computed(_wrapped(exact, a.type), [a])
    return computed(exact, [a], (0, 1 << by.low) if by.low else None)


def unbounded(sign: str, a: Numbers, b: Numbers) -> Numbers | None:
    """What an operator gives of integers without bounds."""
    if sign == "+":
        return a.plus(b)
    if sign == "-":
        return a.plus(b.times(-1))
    if sign == "*":
        if b.single is not None:
            return a.times(b.single)
        return b.times(a.single) if a.single is not None else None
    if a.single is not None and b.single is not None:
        return _single(sign, a.single, b.single)
    if b.single is None or b.single <= 0 or a.low < 0:
        return None
    n, form = b.single, (sign, b.single, a.shape)
    if sign == "/":
        whole = a.low % n == 0 and a.step % n == 0
        exact = a.exact and (whole or a.step == 1)
        loops = a.loops if whole else a.loops | {0}
        return Numbers(a.low // n, a.high // n, a.step // n if whole else 1, exact, loops, a.reached, form)
    if sign == "%":
        if a.step % n == 0:
            return Numbers.of(a.low % n)
        if a.low // n == a.high // n:
            return Numbers(a.low % n, a.high % n, a.step, a.exact, a.loops, form=form)
        whole = a.exact and a.step == 1 and a.high - a.low >= n - 1
        return Numbers(0, n - 1, 1, whole, a.loops | {0}, form=form)
    return None


def _single(sign: str, a: int, b: int) -> Numbers | None:
    if sign in ("/", "%"):
        if b == 0:
            return None
        whole = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return Numbers.of(whole if sign == "/" else a - whole * b)
    return Numbers.of({"&": lambda: a & b, "|": lambda: a | b, "^": lambda: a ^ b}[sign]())


# ---------------------------------------------------------------- methods

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "shl": "<<", "shr": ">>"}
_BITS = {  # of the bits of a number and how many its type has
    "count_ones": lambda x, width: x.bit_count(), "count_zeros": lambda x, width: width - x.bit_count(),
    "leading_zeros": lambda x, width: width - x.bit_length(), "ilog2": lambda x, width: x.bit_length() - 1,
    "trailing_zeros": lambda x, width: (x & -x).bit_length() - 1 if x else width,
}  # fmt: skip
_NONE = {"saturating_rem", "saturating_shl", "saturating_shr"}  # the standard library has none of these


def called(name: str, given: list[Numbers]) -> Numbers | None:
    """What a method of an integer, or a function of the standard library, gives."""
    a = given[0] if given else None
    if name == "clamp" and len(given) == 3:
        ends = unified(given[1], given[2])
        least = called("max", given[:2]) if ends is not None and ends[0].high <= ends[1].low else None
        return called("min", [least, given[2]]) if least is not None else None
    if a is None or len(given) > 2:
        return None
    if len(given) == 1:
        return _of_one(name, a)
    way, _, operation = name.partition("_")
    if way in ("wrapping", "saturating", "checked") and operation in SIGNS and name not in _NONE:
        return _of_way(way, SIGNS[operation], a, given[1])
    if name in ("pow", "wrapping_pow"):
        power = settled(given[1])
        if a.single is None or power is None or power.single is None or not 0 <= power.single <= 128:
            return None
        made = Numbers.of(a.single**power.single)
        return computed(made, [a]) if name == "pow" else _wrapping(made, a)
    both = unified(a, given[1])
    if both is not None and name in ("min", "max") and (both[0].high <= both[1].low or both[1].high <= both[0].low):
        low, high = both if both[0].high <= both[1].low else both[::-1]
        return like(low if name == "min" else high, list(both))
    if both is None or both[0].single is None or both[1].single is None:
        return None
    x, y = both[0].single, both[1].single
    made_of = _of_two(name, x, y)
    if made_of is None:
        return None
    if name == "abs_diff" and both[0].type[:1] == "i":
        kind = both[0].type
        return Numbers(made_of, made_of, type=f"u{kind[1:]}")
    if name in ("div_euclid", "rem_euclid") and y == -1:
        return computed(Numbers.of(made_of), list(both), (-x, -x))
    return computed(Numbers.of(made_of), list(both))


def _of_two(name: str, x: int, y: int) -> int | None:
    if name in ("div_ceil", "next_multiple_of"):
        parts = -(-x // y) if y > 0 else 0
        return None if y <= 0 or x < 0 else parts if name == "div_ceil" else parts * y
    if name in ("rem_euclid", "div_euclid"):
        rest = x % abs(y) if y else 0
        return None if y == 0 else rest if name == "rem_euclid" else (x - rest) // y
    return {"min": min(x, y), "max": max(x, y), "abs_diff": abs(x - y)}.get(name)


def _of_one(name: str, a: Numbers) -> Numbers | None:
    if name in ("clone", "get"):
        return a
    if name == "into":
        own = settled(a)
        return replace(own, type=ANY, held=(own.low, own.high), seen=None) if own is not None else None
    if a.single is None or a.type not in INTEGERS:
        return None
    x, signed = a.single, a.type[0] == "i"
    if name == "abs" and signed:
        return computed(Numbers.of(abs(x)), [a])
    if name == "unsigned_abs" and signed:
        return Numbers(abs(x), abs(x), type=f"u{a.type[1:]}")
    if name in _BITS and (x > 0 or name != "ilog2"):
        bits = _BITS[name](x % (1 << width_of(a.type)), width_of(a.type))
        return Numbers(bits, bits, type="u32")
    if name == "isqrt" and x >= 0:
        return computed(Numbers.of(isqrt(x)), [a])
    if name == "next_power_of_two" and not signed:
        return computed(Numbers.of(1 << max(0, x - 1).bit_length()), [a])
    return _wrapping(Numbers.of(-x), a) if name == "wrapping_neg" else None


def _wrapping(exact: Numbers | None, a: Numbers) -> Numbers | None:
    """A result as a type wraps it."""
    if exact is None or a.type not in INTEGERS:
        return None
    return computed(_wrapped(exact, a.type), [a])


def _of_way(way: str, sign: str, a: Numbers, b: Numbers) -> Numbers | None:
    """`wrapping_add` and its like; `checked_add` is its number where it surely has one."""
    if sign in ("<<", ">>"):
        own = settled(b)
        if a.type not in INTEGERS or own is None or own.single is None or own.low < 0 or way == "saturating":
            return None
        amount = own.low % width_of(a.type) if way == "wrapping" else own.low
        return _shifted(sign, a, Numbers.of(amount))
    both = unified(a, b)
    if both is None:
        return None
    a, b = both
    if a.type not in INTEGERS:
        return operated(sign, a, b) if way == "checked" else None
    exact = unbounded(sign, a, b)
    if exact is None or way == "checked":
        return operated(sign, a, b)
    if way == "wrapping":
        return _wrapping(exact, a)
    first, end = INTEGERS[a.type]
    if first <= exact.low and exact.high < end:
        return computed(exact, [a])
    clamped = {max(first, min(end - 1, one)) for one in (exact.low, exact.high)}
    return computed(Numbers.of(clamped.pop()), [a]) if len(clamped) == 1 else None
