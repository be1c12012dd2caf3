"""Values that loops carry from one iteration to the next, as terms of the loop's counter.

Knows: values that stay, grow by a constant, alternate, count modulo, or rotate.
Does not know: copies, what the loop is for.
Law: a closed form equals the carried value in every iteration; where none is known the value is opaque.

Source: MLIR scf (iter_args).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.language.affine import ONE, ZERO, Cond, Lin, compare
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.resolved import ResolvedCopies
from dmaverify.machines.pto.stated import Register
from dmaverify.machines.pto.values import TensorPart, TileValue, Value, name_of
from dmaverify.program.instructions import Event, Place
from dmaverify.prove.flow.accesses.ask import Asker, term_text
from dmaverify.prove.options import Options
from dmaverify.values import replace

STANDARD = Options()
MOST_GUESSED = 63  # that a carried value is taken to reach where it begins so small


class Carried(ResolvedCopies):
    """Closed forms of carried values."""

    yielded: list[Value]

    def block(self, body: Sequence[ops.Stmt]) -> list[Event]:
        """Walks statements; the whole walk does."""
        raise AssertionError(f"{len(body)} statements without a walk")

    def bind(self, stmt: ops.For, closed: Sequence[Value]) -> None:
        """Gives the names inside a loop their values."""
        self.gives([name for name, _ in stmt.carried], closed)

    def once(self, stmt: ops.For, at: Lin) -> list[Event]:
        """A loop of one round is that round, with its counter at a number."""
        self.values[stmt.counter], self.yielded = at, []
        self.bind(stmt, [self.value(first) for _, first in stmt.carried])
        events = self.block(stmt.body)
        self.gives(stmt.results, self.yielded)
        return events

    def _carried(self, stmt: ops.For, first: list[Value], counter: Lin, rounds: Lin) -> list[Value]:
        """Values that the loop carries, behind so many `rounds`; None where no form is known.

        `rounds` goes up to the number of iterations, which the `counter` of the body never reaches.
        """
        if not stmt.carried:
            return []
        starts = [self._number(value) for value in first]
        within = {i: max(1, most) for i, v in enumerate(starts) if (most := self._most(v)) is not None}
        within = {i: most for i, most in within.items() if not isinstance(first[i], Place)}
        widened: set[int] = set()
        while True:
            names, given = self._guessed(stmt, first, within)
            ends = [self._number(given[i]) if i < len(given) else None for i in range(len(first))]
            reached = {i: self._most(end) for i in within if isinstance(end := ends[i], Lin)}
            loose = {i: far for i, far in reached.items() if far is None or far > within[i]}
            if not loose:
                break
            for i, far in loose.items():  # what was folded under that guess does not hold
                within.pop(i)
                if far is not None and i not in widened:
                    within[i] = far
            widened |= loose.keys()
        out = [self._closed(index, first, given, names, counter, rounds) for index in range(len(first))]
        self._hold(stmt, out, counter, rounds)
        for index, value in enumerate(out):
            if value is None and isinstance(first[index], (Lin, Cond)):
                end = ends[index] if index < len(ends) else None
                out[index] = self._any(stmt, index, starts[index], end, (names[index], rounds))
        return out

    def _any(self, stmt: ops.For, index: int, start: Value, end: Value, of: tuple[str, Lin]) -> Lin:
        """Any value that a carried one may have, another one in each round; from its first on where it only grows.
        Something may be supposed of it where memory decides whether it stays.
        """
        (own, rounds), made = of, self.from_memory(stmt.carried[index][0])
        symbol, most = self.world.symbols[made.terms[0][0]], self.world.interval(rounds)[1]
        least, greatest = self._growth(own, end)
        ends = list(self.world.interval(start) if isinstance(start, Lin) else (None, None))
        for at, grows, still in ((0, least, min), (1, greatest, max)):
            far = None if grows is None or (most is None and still(grows, 0)) else still(grows, 0) * (most or 0)
            ends[at] = None if (one := ends[at]) is None or far is None else one + far
        loaded = isinstance(end, Lin) and self.world.loaded(end)
        stays = (least is None or least <= 0) and (greatest is None or greatest >= 0)
        if not loaded:
            self.unsure.add(symbol.name)
        free = stmt.unbounded or (loaded and stays)
        first = start if isinstance(start, Lin) and free else None
        low, high = (symbol.low, symbol.high) if symbol.stated else ends
        self.world.symbols[symbol.name] = replace(symbol, low=low, high=high, lost=not free, first=first)
        return made

    def _growth(self, own: str, end: Value) -> tuple[int | None, int | None]:
        """How much an iteration adds to a carried number, least and most."""
        if not isinstance(end, Lin):
            return None, None
        step = end - Lin(0, ((own, 1),))
        chosen = [(name, self.world.symbols[name].definition) for name, factor in end.terms if factor == 1]
        sides = next(((name, how[2:]) for name, how in chosen if how[:1] == ("ite",)), None)
        if own not in self.world.roots(step) or sides is None:
            return (None, None) if own in self.world.roots(step) else self.world.interval(step)
        rest = end - Lin(0, ((sides[0], 1),))
        ways = [self._growth(own, rest + side) for side in sides[1] if isinstance(side, Lin)]
        low, high = ([way[at] for way in ways] for at in (0, 1))
        least = None if len(low) < 2 or None in low else min(n for n in low if n is not None)
        return least, None if len(high) < 2 or None in high else max(n for n in high if n is not None)

    def _below(self, value: Lin, end: int) -> bool:
        low, high = self.world.interval(value)
        return low is not None and high is not None and 0 <= low <= high < end

    def _most(self, value: Value) -> int | None:
        """The most that a number is which is never negative; None where that is not small."""
        low, high = self.world.interval(value) if isinstance(value, Lin) else (None, None)
        return high if low is not None and low >= 0 and high is not None and high <= MOST_GUESSED else None

    def _bit(self, value: Value) -> bool:
        """Whether a number is 0 or 1."""
        if not isinstance(value, Lin):
            return False
        low, high = self.world.interval(value)
        return low in (0, 1) and high in (0, 1)

    def _number(self, value: Value) -> Value:
        return (
            value.address if isinstance(value, Place) else self.as_number(value) if isinstance(value, Cond) else value
        )

    def _guessed(self, stmt: ops.For, first: list[Value], within: Mapping[int, int]) -> tuple[list[str], list[Value]]:
        """One iteration from symbols: their names, and what is handed on. Some are taken to be from 0 to a number."""
        guess: list[Value] = []
        names: list[str] = []
        for index, ((name, _), value) in enumerate(zip(stmt.carried, first, strict=True)):
            ends = (0, within[index]) if index in within else (None, None)
            symbol = self.world.free(name_of(name), *ends, shown=name)
            names.append(symbol.terms[0][0])
            same = isinstance(value, (TileValue, TensorPart))
            guess.append(value if same else replace(value, address=symbol) if isinstance(value, Place) else symbol)
        return names, self._handed_on(stmt, guess)

    def _handed_on(self, stmt: ops.For, values: Sequence[Value]) -> list[Value]:
        """What one iteration makes of these values, without remarks."""
        return self.iteration(stmt, values)[0]

    def iteration(self, stmt: ops.For, values: Sequence[Value]) -> tuple[list[Value], dict[str, Register]]:
        """What one iteration yields, and the registers behind it, without remarks."""
        saved = (dict(self.values), dict(self.registers), dict(self.consumed), self.number, self.counters, self.when)
        self.dry += 1
        self.bind(stmt, values)
        self.yielded = []
        self.block(stmt.body)
        self.dry -= 1
        made = list(self.yielded), self.registers
        self.values, self.registers, self.consumed, self.number, self.counters, self.when = saved
        return made

    def _hold(self, stmt: ops.For, forms: list[Value], counter: Lin, rounds: Lin) -> None:
        """Drops forms that an iteration does not hand on as they say, which begins with the values that they give: what
        was folded of symbols without bounds may not hold of these.
        """
        wrong = [0]
        while wrong:
            free = (self.world.free(name_of(name), None, None) for name, _ in stmt.carried)
            here = [self.behind(form, rounds, counter) for form in forms]
            given = self._handed_on(stmt, [one if form is None else form for form, one in zip(here, free, strict=True)])
            then = [self._number(self.behind(form, rounds, counter + ONE)) for form in forms]
            pairs = enumerate(zip(then, map(self._number, given), strict=False))
            wrong = [i for i, (wanted, made) in pairs if isinstance(wanted, Lin) and not self._same(wanted, made)]
            for index in wrong:
                forms[index] = None

    def _same(self, one: Lin, other: Value) -> bool:
        if not isinstance(other, Lin) or one == other:
            return isinstance(other, Lin)
        return Asker(self.world, STANDARD.rlimit).holds(compare("eq", one - other)).status == "proved"

    def _closed(
        self, index: int, first: list[Value], given: list[Value], names: list[str], counter: Lin, rounds: Lin
    ) -> Value:
        if index >= len(given):
            return None
        value, after = first[index], given[index]
        if isinstance(value, (TileValue, TensorPart)):
            return value if value == after else None
        start, end = self._number(value), self._number(after)
        if not isinstance(start, Lin) or not isinstance(end, Lin):
            return None
        if isinstance(value, Place) != isinstance(after, Place) or (
            isinstance(value, Place) and isinstance(after, Place) and value.memory != after.memory
        ):
            return None
        term = self._form(index, start, end, names, first, given, counter, rounds)
        if term is None:
            return None
        return replace(value, address=term) if isinstance(value, Place) else term

    def _form(
        self,
        index: int,
        start: Lin,
        end: Lin,
        names: list[str],
        first: list[Value],
        given: list[Value],
        counter: Lin,
        rounds: Lin,
    ) -> Lin | None:
        world, own, turn = self.world, names[index], counter.terms[0][0]
        inner = world.roots(end)
        if not inner:  # the same from the first iteration on
            return world.choose(compare("eq", rounds), start, end)
        if len(end.terms) == 1 and (end.terms[0][1], end.const) in ((1, 0), (-1, 1)):
            found = self._of_symbol(own, start, end, names, turn, rounds)
            if found is not None:
                return found
        factor = dict(end.terms).get(own, 0)
        rest = end - Lin(0, ((own, factor),)) if factor else end
        if world.changes(rest, [turn]):
            return None
        if own in inner and not world.roots(rest) & {*names, turn} and factor in (1, -1):
            if factor == 1:
                return start + world.times(rounds, rest)
            if rest == ONE and self._bit(start):
                return world.modulo(start + rounds, 2)
            return start + world.times(world.modulo(rounds, 2), rest - start * 2)
        return self._rotated(index, names, first, given, rounds)

    def _of_symbol(self, own: str, start: Lin, end: Lin, names: list[str], turn: str, rounds: Lin) -> Lin | None:
        """What is carried on as a maximum, a remainder or a choice of itself."""
        world = self.world
        what, *args = world.symbols[end.terms[0][0]].definition or ("",)
        if end.const:  # 1 - mod(n, 2) is mod(n + 1, 2)
            bit = args[0] if what == "mod" and args[1] == 2 else None
            what, args = (what, [bit + ONE, 2]) if isinstance(bit, Lin) else ("", [])
        if what == "max" and (shrunk := self._shrinking(own, start, args, rounds)) is not None:
            return shrunk
        by, size = (args[0], args[1]) if what == "mod" else (None, None)
        if isinstance(by, Lin) and isinstance(size, int) and self._below(start, size):  # it is itself a remainder
            step = by - Lin(0, ((own, 1),))
            if {*names, turn}.isdisjoint(world.roots(step)) and not world.changes(step, [turn]):
                return world.modulo(start + world.times(rounds, step), size)
        if what == "ite" and (turns := _wrapped(own, args)) and self._below(start, turns):
            return world.modulo(start + rounds, turns)
        return None

    def _rotated(self, index: int, names: list[str], first: list[Value], given: list[Value], rounds: Lin) -> Lin | None:
        """One of several carried values that take each other's place."""
        cycle = [index]
        while (nxt := self._handed_from(given[cycle[-1]], names)) != index:
            if nxt is None or nxt in cycle or not self._alike(first[nxt], first[index]):
                return None
            cycle.append(nxt)
        starts = [v.address if isinstance(v, Place) else v for v in (first[i] for i in cycle)]
        phase = self.world.modulo(rounds, len(cycle))
        value = starts[-1]
        for at in range(len(cycle) - 2, -1, -1):
            left, right = starts[at], value
            if not isinstance(left, Lin) or not isinstance(right, Lin):
                return None
            value = self.world.choose(compare("eq", phase - at), left, right)
        return value if isinstance(value, Lin) else None

    @staticmethod
    def _handed_from(given: Value, names: list[str]) -> int | None:
        """Which carried value a value is, if it is one as it stands."""
        term = given.address if isinstance(given, Place) else given
        if not isinstance(term, Lin) or term.const or len(term.terms) != 1 or term.terms[0][1] != 1:
            return None
        return names.index(term.terms[0][0]) if term.terms[0][0] in names else None

    def _shrinking(self, own: str, start: Lin, args: Sequence[object], rounds: Lin) -> Lin | None:
        """`max(own - n, 0)` carried on: what is left of `start` after so many steps of `n`."""
        less = next((a for a in args if isinstance(a, Lin) and a.terms == ((own, 1),) and a.const <= 0), None)
        if less is None or ZERO not in args:
            return None
        asker = Asker(self.world, STANDARD.rlimit)
        if asker.holds(compare("le", -start)).status != "proved":
            if all(self.world.symbols[n].stated for n in self.world.roots(start)):
                return None
            self.suppose(f"{term_text(start, self.world)} is not negative")
        return self.world.least(start + self.world.times(rounds, Lin(less.const)), ZERO, most=True)

    def _alike(self, one: Value, other: Value) -> bool:
        if isinstance(one, Place) and isinstance(other, Place):
            return one.memory == other.memory and one.item_bytes == other.item_bytes
        return isinstance(one, Lin) and isinstance(other, Lin)

    def behind(self, value: Value, rounds: Lin, number: Lin) -> Value:
        """A closed form behind a number of rounds."""
        put = {rounds.terms[0][0]: number}
        if isinstance(value, Place):
            return replace(value, address=self.world.put(value.address, put))
        return self.world.put(value, put) if isinstance(value, Lin) else value


def _wrapped(own: str, args: Sequence[object]) -> int | None:
    """How many values a counter takes that goes up by one, and from its last value (or from there on) back to 0."""
    when, then, other = args
    up = Lin(1, ((own, 1),))
    if not isinstance(when, Cond) or not isinstance(then, Lin) or not isinstance(other, Lin):
        return None
    if then == up:
        when, then, other = when.negated(), other, then
    if then != ZERO or other != up or len(when.left.terms) != 1:
        return None
    (name, factor), const = when.left.terms[0], when.left.const
    if name != own or abs(factor) != 1:
        return None
    if when.op == "eq":
        return -const * factor + 1
    if when.op in ("le", "lt") and factor == -1:  # const - own <= 0
        return const + (1 if when.op == "le" else 2)
    return None
