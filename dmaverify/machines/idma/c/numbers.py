"""Integers of C with their types: conversions and operators on constants.

Knows: widths, signs, promotion, pointers to things of known size. Does not know: syntax, names.
Symbolic numbers (arguments) go through: what is decided on the way is recorded by them.
Law: a result is what every C compiler for the given pointer width computes; where the width of a pointer matters and is
not known, or a signed result overflows, there is no result but a reason.

Source: ISO C11, 6.3.1 (conversions) and 6.5 (expressions).
"""

from __future__ import annotations

import operator

from dmaverify.language.numbers import Symbolic
from dmaverify.machines.idma.c.reports import MIRRORED, Report, SomeReport, compared, denied, in_type, turned
from dmaverify.values import dataclass, replace

WORD = 0
"""Bits of types as wide as a pointer, where that width is not known."""


@dataclass(frozen=True, slots=True)
class CType:
    """An integer or a pointer. `step` is the size of what a pointer points at, 0 where it is not known; of a number
    that is no integer it is not 0. `target` is the type that a variable points at, where it is read.
    """

    bits: int
    signed: bool = False
    pointer: bool = False
    step: int = 0
    target: object = None

    @property
    def rank(self) -> int:
        return {WORD: 1, 64: 2}.get(self.bits, 0)

    @property
    def size(self) -> int:
        """In bytes; 0 where it is that of a pointer."""
        return -(-self.bits // 8)


INT, UINT, LLONG, ULLONG = CType(32, True), CType(32), CType(64, True), CType(64)
BOOL = CType(1)
UNREAD = CType(-1)
"""A type that is not read: what has it has no value."""
CHAR = CType(7)
"""A char without a word on its sign, which is the compiler's choice: what both signs hold."""


@dataclass(frozen=True, slots=True)
class Value:
    """A constant, or why there is none. `launch` is the number of the launch whose id it is, `report` what it says of
    launches, `origin` who gives it where nothing in the file does: another function, a name, an object's address.
    """

    number: int | None
    type: CType = INT
    why: str = ""
    launch: int | None = None
    report: Report | None = None
    origin: str = ""


def unknown(why: str, type_: CType = INT, origin: str = "") -> Value:
    return Value(None, type_, why, origin=origin)


def types(word: int = WORD) -> dict[str, CType]:
    """Types by name, its words sorted; `word` is the width of a pointer in bits."""
    long, ulong = CType(word, True), CType(word)
    out = {f"{sign}{kind}{n}_t": CType(n, not sign) for n in (8, 16, 32, 64) for sign in ("", "u")
           for kind in ("int", "int_least")}  # fmt: skip
    out |= {"size_t": ulong, "uintptr_t": ulong, "ssize_t": long, "intptr_t": long, "ptrdiff_t": long, "bool": BOOL}
    out |= {"intmax_t": LLONG, "uintmax_t": ULLONG, "char": CHAR, "signed char": CType(8, True)}
    out |= {"unsigned char": CType(8)}
    for words, bits in (((), 32), (("short",), 16), (("long",), word), (("long", "long"), 64)):
        for sign in ("", "signed", "unsigned"):
            for whole in ((), ("int",)):
                name = " ".join(sorted((*words, *filter(None, (sign,)), *whole)))
                out |= {name: CType(bits, sign != "unsigned")} if name else {}
    out = {" ".join(sorted(name.split())): type_ for name, type_ in out.items()}
    return out | {
        "float": CType(32, True, step=1),
        "double": CType(64, True, step=1),
        "_Bool": BOOL,
        "snrt_dma_txid_t": UINT,
    }


def is_real(type_: CType) -> bool:
    """Whether a type is one of floating point."""
    return bool(type_.step) and not type_.pointer


def converted(value: Value, to: CType) -> Value:
    """A value as an initialization, an argument or a cast of type `to` has it."""
    if value.number is None:
        return _narrowed(value, to)
    number = value.number
    if to == UNREAD:
        return unknown("its type is not known", to)
    if is_real(to):
        return unknown("floating point", to)
    if to.bits == WORD and value.type.bits == WORD and value.type.signed == to.signed:
        return replace(value, type=to)
    if to.bits == WORD:
        top = 1 << (31 if to.signed else 32)
        if number >= top or number < (-top if to.signed else 0):
            return unknown(f"{number} depends on the width of a pointer: --define __SIZEOF_POINTER__=4, or 8", to)
        return Value(number, to, launch=value.launch)
    if to == BOOL:
        return Value(int(bool(number)), to)
    if to == CHAR and not 0 <= number < 128:
        return unknown(f"{number} in a `char` depends on its sign: write signed char or unsigned char", to)
    low, span = (-(1 << (to.bits - 1)) if to.signed else 0), 1 << to.bits
    if not low <= number < low + span:
        number -= (number - low) // span * span
    return Value(number, to, launch=value.launch)


def _narrowed(value: Value, to: CType) -> Value:
    """A value that is not known, with what a type leaves of an id: counters of the PULP runtime are below 2^7."""
    if value.launch is None and value.report is None:
        return replace(value, type=to)
    real = is_real(to)
    least = 7 if value.launch is not None and value.launch < 0 else 32
    launch = None if real or 0 < to.bits < least else value.launch
    report = None if value.report is None else (not real and in_type(value.report, to.bits)) or SomeReport()
    return replace(value, type=to, launch=launch, report=report)


def blurred(value: Value) -> Value:
    """A value that is not known where it is one of several that C makes of it: it is the id of no launch."""
    if value.launch is None and value.report is None:
        return value
    return replace(value, launch=None, report=value.report and SomeReport())


def _reported(op: str, a: Value, b: Value) -> Report | None:
    """What an operator says of launches, where an operand is what the engine reports."""
    type_ = common(a.type, b.type)
    if a.report is not None:
        return compared(op, a.report, b.number, b.launch, type_.bits, type_.signed)
    if b.report is None:
        return None
    if op == "-":
        return turned(compared(op, b.report, a.number, a.launch, type_.bits, type_.signed))
    op = MIRRORED.get(op, op if op == "&" else "")
    return compared(op, b.report, a.number, a.launch, type_.bits, type_.signed)


def promoted(value: Value) -> Value:
    return replace(value, type=INT) if 0 < value.type.bits <= 16 and not value.type.pointer else value


def common(a: CType, b: CType) -> CType:
    """The type in which two promoted integers are computed."""
    if a.rank == b.rank:
        return CType(a.bits, a.signed and b.signed)
    return a if a.rank > b.rank else b


def checked(number: int, type_: CType) -> Value:
    """A result in its type: unsigned ones wrap, signed ones must fit."""
    if type_.bits and not type_.signed:
        return converted(Value(number), type_)
    half = 1 << ((type_.bits or 32) - 1)
    if type_.signed and not -half <= number < half:
        return unknown(f"{number} overflows its signed type", type_)
    return converted(Value(number), type_)


def binary(op: str, a: Value, b: Value) -> Value:
    """`a op b` for the operators on integers and pointers."""
    a, b = promoted(a), promoted(b)
    if a.number is None or b.number is None:
        found = unknown(a.why or b.why, a.type)
        told = a.report is not None or b.report is not None
        type_ = INT if op in COMPARED else common(a.type, b.type)
        return replace(found, type=type_, report=_reported(op, a, b) or SomeReport()) if told else found
    if op in ("&&", "||"):
        return Value(int(bool(a.number) and bool(b.number)) if op == "&&" else int(bool(a.number) or bool(b.number)))
    if a.type.pointer or b.type.pointer:
        return _on_pointers(op, a, b)
    if op in ("<<", ">>"):
        return _shifted(op, a, b.number)
    type_ = common(a.type, b.type)
    mixed = type_.signed and WORD in (a.type.bits, b.type.bits) and not (a.type.signed and b.type.signed)
    a, b = converted(a, type_), converted(b, type_)
    if a.number is None or b.number is None:
        return unknown(a.why or b.why, type_)
    found = _computed(op, a.number, b.number, type_)
    if mixed and (op not in COMPARED or min(a.number, b.number) < 0):
        return unknown(
            f"whether `{op}` is signed depends on the width of a pointer: --define __SIZEOF_POINTER__=4, or 8"
        )
    return found


def chosen(value: Value, other: CType | None) -> Value:
    """What `c ? value : ..` is, beside an operand of another type; None where that type is not known."""
    if value.type.pointer or (other is not None and other.pointer):
        return value if value.type.pointer or other is None else converted(value, other)
    if other is None:
        return unknown("the type of an operand of `?:` is not known", value.type)
    return binary("+", value, Value(0, other))


COMPARED = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le,
             ">=": operator.ge}  # fmt: skip
_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_BITS = {"&": operator.and_, "|": operator.or_, "^": operator.xor}


def _computed(op: str, x: int, y: int, type_: CType) -> Value:
    if op in COMPARED:
        return Value(int(COMPARED[op](x, y)))
    if op in ("/", "%"):
        if y == 0:
            return unknown("a division by zero", type_)
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return checked(quotient if op == "/" else x - y * quotient, type_)
    if op in _BITS and (isinstance(x, Symbolic) or isinstance(y, Symbolic)):
        both = _common_bits(x, y, type_)
        if both is None:
            return unknown(f"`{op}` of an argument", type_)
        return checked(both if op == "&" else x + y - (both if op == "|" else 2 * both), type_)
    known = {**_ARITHMETIC, **_BITS}
    return checked(known[op](x, y), type_) if op in known else unknown(f"the operator `{op}`", type_)


MOST_RUNS_OF_BITS = 4


def _common_bits(x: int, y: int, type_: CType) -> int | None:
    """`x & y` where one is an argument, in quotients and remainders: of a number with itself, of numbers without a
    common bit, or with a mask that has few runs of bits; None of others. `x | y` is `x + y - (x & y)`, and `x ^ y` is
    `x + y - 2 * (x & y)`.
    """
    whole, mask = (x, y) if isinstance(y, int) else (y, x)
    if not isinstance(mask, int):
        polys = [getattr(one, "poly", None) for one in (whole, mask)]
        if polys[0] == polys[1] is not None:
            return whole
        units = [1 if poly is None else poly.content() & -poly.content() for poly in polys]
        high, low = (0, 1) if units[0] > units[1] else (1, 0)
        other = (whole, mask)[low]
        return 0 if units[high] > 1 and (whole, mask)[high] >= 0 and other >= 0 and other < units[high] else None
    if (mask < 0 and type_.bits == WORD) or not whole >= 0:
        return None
    left, found, at = mask % (1 << (type_.bits or 64)), 0, 0
    for _ in range(MOST_RUNS_OF_BITS):
        if not left:
            break
        skipped = (left & -left).bit_length() - 1
        run = (~(left >> skipped) & (left >> skipped) + 1).bit_length() - 1
        low, at = at + skipped, at + skipped + run
        found = found + (whole if at == type_.bits else whole % (1 << at)) - (whole % (1 << low) if low else 0)
        left >>= skipped + run
    return None if left else found


def _shifted(op: str, a: Value, by: int) -> Value:
    assert a.number is not None
    if not 0 <= by < (a.type.bits or 32) or (a.number < 0):
        return unknown(f"{a.number} {op} {by} is not defined by C for its type", a.type)
    scale = 1 << int(by)
    return checked(a.number * scale if op == "<<" else a.number // scale, a.type)


def _on_pointers(op: str, a: Value, b: Value) -> Value:
    assert a.number is not None
    assert b.number is not None
    if op in COMPARED:
        return _computed(op, a.number, b.number, a.type)
    if a.type.pointer != b.type.pointer and (op == "+" or (op == "-" and a.type.pointer)):
        at, by = (a, b) if a.type.pointer else (b, a)
        assert at.number is not None
        assert by.number is not None
        if not at.type.step:
            return unknown("a pointer to something of unknown size is moved", at.type)
        moved = at.number + by.number * at.type.step * (1 if op == "+" else -1)
        return converted(Value(moved), at.type) if moved >= 0 else unknown("a pointer below 0", at.type)
    return unknown(f"`{op}` of pointers", a.type)


def unary(op: str, a: Value) -> Value:
    a = promoted(a)
    if a.number is None:
        return replace(blurred(a), report=a.report and ((op == "!" and denied(a.report)) or SomeReport()))
    if op == "!":
        return Value(int(not a.number))
    if op == "~" and a.type.bits == WORD:
        return unknown("~ depends on the width of a pointer: --define __SIZEOF_POINTER__=4, or 8", a.type)
    results = {"-": -a.number, "+": a.number, "~": -a.number - 1}
    if op not in results or a.type.pointer:
        return unknown(f"the operator `{op}`", a.type)
    return checked(results[op], a.type)


def literal(text: str, word: int = WORD) -> Value:
    """A number as C writes it: the first type of its list that holds it."""
    if text[:1] in ("-", "+"):
        return unary(text[0], literal(text[1:].lstrip(), word))
    bare = text.replace("'", "").lower()
    digits = bare.rstrip("ul")
    suffix = bare[len(digits) :]
    try:
        octal = len(digits) > 1 and digits[0] == "0" and digits.isdecimal()
        number = int(digits, 8 if octal else 0)
    except ValueError:
        return unknown(f"`{text}` is no integer")
    unsigned, long, wide = "u" in suffix, "l" in suffix, "ll" in suffix
    other = unsigned or not (digits.isdecimal() and not octal)  # these may be unsigned without a suffix
    for bits in (64,) if wide else (word, 64) if long else (32, 64):
        if not unsigned and number < 1 << ((bits or 32) - 1):
            return Value(number, CType(bits, True))
        if other and number < 1 << (bits or 32):
            return Value(number, CType(bits))
    return unknown(f"`{text}` fits no integer of C")
