"""Values that a C file does not give: parameters of the function that runs, variables set by what is not read.

Knows: names, ranges by type, values at which a run is tried, what an assertion states of them.
Does not know: statements, launches, how a run is judged (`symbolic`).
Law: the same declaration met for the same time is the same symbol in every run, with all values of its type, or those
of the range that the user states; whatever is proved for all values of the symbols holds for every call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmaverify.language.numbers import Poly
from dmaverify.machines.idma.c.aggregates import Shape
from dmaverify.machines.idma.c.numbers import CHAR, WORD, CType, Value
from dmaverify.prove.sizes.facts import SizeSymbol
from dmaverify.prove.sizes.shadow import number_of
from dmaverify.prove.sizes.trace import Stuck, Trace
from dmaverify.values import dataclass, field

PLACE, APART, USUAL = 0x1000_0000, 0x0100_0000, 64
"""Where the first pointer points in the first run, how far apart others are, and what other values are then."""
ALIGNED = 256
"""What a place is a multiple of in a memory that does not hold these."""


_SAME, OF_ROUNDS = -2, 10
"""Where symbols are met that stand at no one place of the text, and how those of rounds are told from them."""


class Stopped(Exception):
    """An assertion does not hold, or a loop goes on as it did: nothing behind it runs, also no end of the blocks around
    it; so many arrays were `gone` before.
    """

    def __init__(self, gone: int) -> None:
        super().__init__()
        self.gone = gone


class Misaligned(Stuck):
    """The base of registers does not begin a page at this value."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is taken to begin a page of registers")
        self.name = name


@dataclass(frozen=True, slots=True)
class KnownArray:
    """An array of the driver that has an address."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class GivenMember:
    """A part of a structure, or of rows, whose address the driver takes: where it begins, how long it is; whether it is
    an array of a structure, and the first of its members.
    """

    begin: int
    bytes: int
    name: str
    shape: Shape
    array: bool = True
    first: bool = False

    @property
    def condition(self) -> str:
        return f"no launch leaves {f'the {self.bytes:,} bytes of' if self.array else 'what holds'} `{self.name}`"


@dataclass(frozen=True, slots=True)
class GoneArray:
    """An array whose block has ended: by what its address is `kept`, the launches before, and those that may run."""

    name: str
    key: str
    launched: int
    running: frozenset[int] = frozenset()


@dataclass
class Symbols:
    """All symbols of a function, in the order in which runs met them."""

    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # that the user states
    known: dict[str, SizeSymbol] = field(default_factory=dict)
    pointers: set[str] = field(default_factory=set)
    names: dict[tuple[str, int, int], str] = field(default_factory=dict)
    parameters: frozenset[str] | None = None  # those of the function that runs
    chosen: set[str] = field(default_factory=set)  # what a caller chooses beside them: what lies behind a parameter
    places: set[str] = field(default_factory=set)  # where another file puts something: anywhere, and not on the rest
    each: set[str] = field(default_factory=set)  # another value in each round of a loop
    unpromised: set[str] = field(default_factory=set)  # what the engine says, or a function works out by itself
    cores: set[str] = field(default_factory=set)  # numbers of which one core has 0
    kinds: dict[tuple[str, int], tuple[int, bool, bool]] = field(default_factory=dict)  # of those that two share
    arrays: dict[str, KnownArray] = field(default_factory=dict)  # addresses of what this file lays out
    behind: dict[str, str] = field(default_factory=dict)  # of memory, by what is read of it, as the first calls it
    reach: int = 0  # bits of the addresses below which an object of known length lies whole; 0: it may wrap

    def key(self, name: str, long: int) -> str:
        """What tells objects of one name apart that end elsewhere."""
        return f"{name}[{long}]" if long and self.reach else name

    def of(self, name: str, type_: CType, at: int, again: int, bottom: int | None = None, long: int = 0) -> str:
        """The symbol of a declaration that is met `again` times; of an object, where so many bytes begin."""
        key = self.key(name, long), at, again
        found = self.names.get(key)
        if found is None:
            found = name
            while found in self.known:
                found += "'"
            bits = type_.bits if type_.bits != WORD else 64
            low = -(1 << (bits - 1)) if type_.signed else 0
            low, bits = (-128, 9) if type_ == CHAR else (low, bits)  # either sign
            last = low + (1 << bits) - 1
            if long and self.reach:  # an object ends in memory (C11, 6.5.8)
                last = max(low, (1 << min(bits, self.reach)) - long)
            least, most = self.ranges.get(name, (low if bottom is None else bottom, last))
            self.names[key] = found
            self.known[found] = SizeSymbol(found, max(least, low), min(most, last), axis=False)
            if type_.pointer:
                self.pointers.add(found)
        return found

    def usual(self, name: str, *, backwards: bool = False) -> int:
        """A value at which a run is likely to be like most others."""
        one, value = self.known[name], 0 if name in self.cores else USUAL
        if name in self.pointers:
            order = [n for n in self.known if n in self.pointers]
            number = order.index(name)
            number = len(order) - number if backwards else number
            value, most = PLACE + APART * number, one.most
            if most is not None and value > most:  # a small memory: each in half of what is left
                value = (most >> number + 1) // ALIGNED * ALIGNED
        return min(max(value, one.least), value if one.most is None else one.most)


@dataclass
class Arguments:
    """The symbols of one run: numbers, or numbers that remember what was decided (`trace`)."""

    symbols: Symbols
    values: dict[str, int]
    trace: Trace | None = None
    met: dict[tuple[str, int], int] = field(default_factory=dict)
    rounds: int = 0  # of loops of any count, each in another, that are gone through
    kept: dict[str, str] = field(default_factory=dict)  # symbols of what is the same each time, by what it is
    stated: dict[str, None] = field(default_factory=dict)
    generic: bool = True  # loops are followed for any count
    taking_turns: bool = True  # elements that a round chooses are few, which take turns
    indexed: bool = False  # a round of a loop chooses an element
    loops: list[Any] = field(default_factory=list)  # parts of them of which two rounds stand for all
    gone: list[GoneArray] = field(default_factory=list)
    cuts: Mapping[tuple[int, int], Any] = field(default_factory=dict)  # how loops are looked at, by where they are met

    def fresh(self, name: str, type_: CType, at: int) -> Value:
        where = -at - OF_ROUNDS if self.rounds else at  # of any round, and of the first one gone through, are two
        again = self.met[name, where] = self.met.get((name, where), 0) + 1
        symbol = self.symbols.of(name, type_, where, again)
        self.symbols.each |= {symbol} if self.rounds else set()
        return self._value(symbol, type_, self.symbols.names.get((name, -at - OF_ROUNDS, 1)))

    def _value(self, symbol: str, type_: CType, round_: str | None = None) -> Value:
        """A symbol; where nothing says what it is here, it is what it is in a round of a loop of any count."""
        value = self.values.setdefault(symbol, self.values.get(round_ or "", self.symbols.usual(symbol)))
        if self.trace is None:
            return Value(value, type_)
        one = self.symbols.known[symbol]
        self.trace.values.setdefault(symbol, value)
        if one.least >= 0:  # bounds of products are taken of what is not negative
            self.trace.ends[symbol] = (one.least, one.most)
        return Value(number_of(self.trace, symbol), type_)

    def same(
        self, name: str, type_: CType, key: str = "", least: int | None = None, *, each: bool = False, long: int = 0
    ) -> Value:
        """The symbol of what is the same each time that it is asked for; `each`: in one round of any."""
        met = self.symbols.key(name, long)
        if (key or name) not in self.kept:
            where = _SAME - OF_ROUNDS if each else _SAME
            again = self.met[met, where] = self.met.get((met, where), 0) + 1
            self.kept[key or name] = self.symbols.of(name, type_, where, again, least, long)
        return self._value(self.kept[key or name], type_, self.symbols.names.get((met, _SAME - OF_ROUNDS, 1)))

    def holds(self, text: str, value: Value, line: int) -> None:
        """An assertion: from here on it holds. Raises Stopped where it does not."""
        if value.number is not None:
            self.stated[f"{text} (line {line})"] = None
            if not value.number:
                raise Stopped(len(self.gone))


def polynomial(value: int) -> Poly | None:
    """What a symbolic number is; None of a plain one."""
    return getattr(value, "poly", None)
