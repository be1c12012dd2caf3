"""Values that loops carry from one iteration to the next, as terms of the loop's counter.

Knows: values that stay, grow by a constant, alternate, count modulo, or rotate.
Does not know: copies, what the loop is for.
Law: a closed form equals the carried value in every iteration; where none is known the value is opaque.

Source: MLIR scf (iter_args).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dmaverify.inputs.pto_registers import Registers
from dmaverify.inputs.pto_values import Value, name_of
from dmaverify.machines import pto_ops as ops
from dmaverify.transfer.affine import ONE, ZERO, Cond, Lin, compare
from dmaverify.transfer.instructions import (
    Event,
    Place,
)


class Carried(Registers):
    """Closed forms of carried values."""

    yielded: list[Value]

    def block(self, body: Sequence[ops.Stmt]) -> list[Event]:
        """Walks statements; the whole walk does."""
        raise AssertionError(f"{len(body)} statements without a walk")

    def bind(self, stmt: ops.For, closed: Sequence[Value]) -> None:
        """Gives the names inside a loop their values."""
        self.values |= {name: value for (name, _), value in zip(stmt.carried, closed, strict=True)}

    def _carried(self, stmt: ops.For, first: list[Value], counter: Lin) -> list[Value]:
        """Values that the loop carries, as terms of its counter; None where no form is known."""
        if not stmt.carried:
            return []
        saved = (dict(self.values), dict(self.registers), dict(self.consumed), self.number, self.counters, self.when)
        guess: list[Value] = []
        names: list[str] = []
        for (name, _), value in zip(stmt.carried, first, strict=True):
            start = (
                value.address
                if isinstance(value, Place)
                else self.as_number(value)
                if isinstance(value, Cond)
                else value
            )
            bit = isinstance(start, Lin) and start in (ZERO, ONE) and not isinstance(value, Place)
            symbol = self.world.free(name_of(name), 0 if bit else None, 1 if bit else None, shown=name)
            names.append(symbol.terms[0][0])
            guess.append(replace(value, address=symbol) if isinstance(value, Place) else symbol)
        self.dry += 1
        self.bind(stmt, guess)
        self.yielded = []
        self.block(stmt.body)
        given = list(self.yielded)
        self.dry -= 1
        self.values, self.registers, self.consumed, self.number, self.counters, self.when = saved
        out = [self._closed(index, first, given, names, counter) for index in range(len(first))]
        for index, value in enumerate(out):
            if value is None and isinstance(first[index], (Lin, Cond)) and stmt.unbounded:
                out[index] = self.from_memory(stmt.carried[index][0])
            elif value is None and isinstance(first[index], (Lin, Cond)):
                lost = self.fresh_opaque(stmt.carried[index][0])
                self.opaque.add(lost.terms[0][0])
                out[index] = lost
        return out

    def _closed(self, index: int, first: list[Value], given: list[Value], names: list[str], counter: Lin) -> Value:
        if index >= len(given):
            return None
        value, after = first[index], given[index]
        start = (
            value.address if isinstance(value, Place) else self.as_number(value) if isinstance(value, Cond) else value
        )
        end = after.address if isinstance(after, Place) else self.as_number(after) if isinstance(after, Cond) else after
        if not isinstance(start, Lin) or not isinstance(end, Lin):
            return None
        if isinstance(value, Place) != isinstance(after, Place) or (
            isinstance(value, Place) and isinstance(after, Place) and value.memory != after.memory
        ):
            return None
        term = self._form(index, start, end, names, first, given, counter)
        if term is None:
            return None
        return replace(value, address=term) if isinstance(value, Place) else term

    def _form(
        self, index: int, start: Lin, end: Lin, names: list[str], first: list[Value], given: list[Value], counter: Lin
    ) -> Lin | None:
        world, own = self.world, names[index]
        inner = world.roots(end)
        if len(end.terms) == 1 and end.terms[0][1] == 1 and end.const == 0:
            what, *args = world.symbols[end.terms[0][0]].definition or ("",)
            if what == "mod" and isinstance(args[0], Lin) and args[0].terms == ((own, 1),) and isinstance(args[1], int):
                return world.modulo(start + counter * args[0].const, args[1])
        factor = dict(end.terms).get(own, 0)
        rest = end - Lin(0, ((own, factor),)) if factor else end
        loose = world.roots(rest) & (set(names) | {counter.terms[0][0]})
        if world.changes(rest, [counter.terms[0][0]]):
            return None
        if own in inner and not loose and factor == 1:
            return start + world.times(counter, rest)
        if own in inner and not loose and factor == -1:
            gap = rest - start * 2
            return start + world.times(world.modulo(counter, 2), gap)
        cycle = [index]
        while True:  # a rotation of carried values
            following = given[cycle[-1]]
            term = following.address if isinstance(following, Place) else following
            if (
                not isinstance(term, Lin)
                or term.const
                or len(term.terms) != 1
                or term.terms[0] not in [(n, 1) for n in names]
            ):
                return None
            nxt = names.index(term.terms[0][0])
            if nxt == index:
                break
            if nxt in cycle or not self._alike(first[nxt], first[index]):
                return None
            cycle.append(nxt)
        starts = [v.address if isinstance(v, Place) else v for v in (first[i] for i in cycle)]
        phase = world.modulo(counter, len(cycle))
        value = starts[-1]
        for at in range(len(cycle) - 2, -1, -1):
            left, right = starts[at], value
            if not isinstance(left, Lin) or not isinstance(right, Lin):
                return None
            value = world.choose(compare("eq", phase - at), left, right)
        return value if isinstance(value, Lin) else None

    def _alike(self, one: Value, other: Value) -> bool:
        if isinstance(one, Place) and isinstance(other, Place):
            return one.memory == other.memory and one.item_bytes == other.item_bytes
        return isinstance(one, Lin) and isinstance(other, Lin)

    def at_end(self, value: Value, counter: str, trip: Lin) -> Value:
        if isinstance(value, Place):
            return replace(value, address=self.world.put(value.address, {counter: trip}))
        return self.world.put(value, {counter: trip}) if isinstance(value, Lin) else value
