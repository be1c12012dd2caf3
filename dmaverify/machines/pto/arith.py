"""Arithmetic of a kernel: integer operations on linear terms, exact for every value, signed and unsigned.

Knows: what each operation gives, also of negative values, and what it cannot follow.
Does not know: where values come from, pointers, control flow.
Law: a result is exactly what the operation gives in the bits of its type (a value is what these bits say with a sign),
or it is opaque. What nothing bounds is taken to fit, which is asked later (`fits`); an unsigned operation on such a
value takes it for one that is not negative, and says so.

Source: MLIR arith.
"""

from __future__ import annotations

from dmaverify.language.affine import ZERO, Cond, Lin, both, compare
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.values import Value, Values, signed
from dmaverify.program.instructions import Fit, Place
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.ranges import NEVER, settled
from dmaverify.prove.options import Options
from dmaverify.values import replace

_PREDICATES = {"eq": ("eq", 1), "ne": ("ne", 1)} | {
    f"{sign}{name}": made
    for sign in "su"
    for name, made in {"lt": ("lt", 1), "le": ("le", 1), "gt": ("lt", -1), "ge": ("le", -1)}.items()
}
_EITHER_WAY = ("andi", "ori", "xori")
_GROWING = ("addi", "subi", "muli", "shli", "ceildivui", "ceildivsi")
_UNSIGNED = ("divui", "remui", "shrui", "minui", "maxui", "extui", "index_castui")
_SIGNED = ("divsi", "floordivsi", "ceildivsi", "remsi", "minsi", "maxsi", "shrsi", "index_cast")


class Arithmetic(Values):
    """Operations on numbers and conditions."""

    def _arith(self, stmt: ops.Arith) -> None:
        made = self._calculated(stmt)
        if isinstance(made, Lin) and (stmt.op in _GROWING or (stmt.type.bits == 1 and stmt.op in _SIGNED)):
            made = self._fitted(stmt, made)
        elif isinstance(made, Lin) and stmt.op in _UNSIGNED:
            made = self._as_signed(made, stmt.type.bits or 64)
        self.gives([stmt.result], [made])

    def _calculated(self, stmt: ops.Arith) -> Value:
        args, op = [self.value(a) for a in stmt.args], stmt.op
        if stmt.bits == 1 and (op in _SIGNED or stmt.predicate.startswith("s")):  # true, with a sign, is -1
            numbers = [self.as_number(a) if isinstance(a, Cond) else a for a in args]
            args = [-n if isinstance(n, Lin) else n for n in numbers]
        if op.startswith(("index_", "ext", "trunc")):
            return self._cast(stmt, args[0])
        if op == "select":
            return self._select(self.as_condition(args[0]), args[1], args[2])
        if any(isinstance(a, Cond) for a in args) and op in ("andi", "ori", "xori") and stmt.type.bits == 1:
            return self._truth(op, *(self.as_condition(a) for a in args))
        numbers = [self.as_number(a) if isinstance(a, Cond) else a for a in args]
        terms = [n for n in numbers if isinstance(n, Lin)]
        return self._of_terms(stmt, terms[0], terms[1]) if len(terms) == len(args) else self.unfollowed(stmt.result)

    def _cast(self, stmt: ops.Arith, value: Value) -> Value:
        if not isinstance(value, Lin):
            return value
        if stmt.op == "trunci" or stmt.type.bits < stmt.bits:
            return self._fitted(stmt, value)
        return self._unsigned(stmt, value, stmt.bits) if stmt.op in ("extui", "index_castui") else value

    @staticmethod
    def _truth(op: str, first: Cond | None, second: Cond | None) -> Cond | None:
        """Two truths, combined."""
        if first is None or second is None:
            return None
        if op != "xori":
            return both([first, second], "and" if op == "andi" else "or")
        if second.known is not None:
            return first.negated() if second.known else first
        return both([both([first, second.negated()]), both([first.negated(), second])], "or")

    def _of_terms(self, stmt: ops.Arith, a: Lin, b: Lin) -> Value:
        op, world = stmt.op, self.world
        if op == "cmpi" and stmt.predicate not in _PREDICATES:
            return None
        if stmt.predicate.startswith("u") or op in ("minui", "maxui"):
            a, b = self._unsigned(stmt, a, stmt.bits), self._unsigned(stmt, b, stmt.bits)
        if op == "cmpi":
            what, sign = _PREDICATES[stmt.predicate]
            return compare(what, (a - b) * sign)
        if op in ("addi", "subi", "muli"):
            return a + b if op == "addi" else self._less(a, b) if op == "subi" else world.times(a, b)
        if op in ("minui", "minsi", "maxui", "maxsi"):
            return world.least(a, b, most=op.startswith("max"))
        if a.is_const and op in _EITHER_WAY:
            a, b = b, a
        if b.is_const:
            return self._with_number(stmt, op, a, b.const)
        if op in ("divui", "divsi", "floordivsi", "remui", "remsi", "ceildivui", "ceildivsi"):
            return self._with_term(stmt, op, a, b)
        if op.startswith("sh") and not self._shifts(stmt, b):
            return self._undefined(stmt, f"may shift by {stmt.type.bits or 64} bits or more")
        return self.unfollowed(stmt.result)

    def _shifts(self, stmt: ops.Arith, by: Lin) -> bool:
        """Whether a value shifts by fewer bits than there are, by its range, or as an assumption that is said."""
        bits, (low, high) = stmt.type.bits or 64, self.world.interval(by)
        if low is None or high is None:
            self.suppose(f"`{stmt.args[1].name}`, by which `{stmt.result}` shifts, is 0 to {bits - 1}")
            return True
        fewer = both([compare("le", -by), compare("lt", by - bits)])
        return (low >= 0 and high < bits) or Asker(self.world, Options().rlimit).surely(fewer, self.when)

    def _less(self, a: Lin, b: Lin) -> Lin:
        """a - b; of a value less its minimum with another, what is left over."""
        if len(b.terms) == 1 and not b.const and b.terms[0][1] == 1:
            what, *args = self.world.symbols[b.terms[0][0]].definition or ("",)
            if what == "min" and a in args and not a.is_const:
                other = args[1 - args.index(a)]
                assert isinstance(other, Lin)
                return self.world.least(a - other, ZERO, most=True)
        return a - b

    def _with_term(self, stmt: ops.Arith, op: str, a: Lin, b: Lin) -> Lin:
        """Division by a value that is not a number: blocks, tiles in a row."""
        if self.roots_lost(a, b):
            return self.unfollowed(stmt.result)
        if not self.at_least_one(b, f"`{stmt.args[1].name}`, which `{stmt.result}` divides by,"):
            return self._undefined(stmt, "may divide by 0")
        if op in ("divsi", "remsi"):
            return self._towards_zero(stmt, op, a, b)
        if op.endswith("ui"):
            a = self._unsigned(stmt, a, stmt.type.bits)
        return self._floored(op, a + b - 1 if op.startswith("ceil") else a, b)

    def _undefined(self, stmt: ops.Arith, does: str) -> Lin:
        """Any value, of a division or a shift that has none."""
        said = f"`{stmt.result}` {does}: what that gives is not defined"
        hint = "divide only where the divisor is at least 1" if "divide" in does else "shift by fewer bits than it has"
        self.remark("unresolved", said, stmt.span, hint)
        return self.unfollowed(stmt.result)

    def at_least_one(self, term: Lin, what: str) -> bool:
        """Whether a term is at least 1, by its range, wherever this runs, or as an assumption that is said; False where
        it never is, or not in the first iteration or on the first core, or where a branch around may be what keeps a
        stated value out.
        """
        claim, around = compare("lt", -term), (*self.when, *self.running)
        low = self.world.interval(term)[0]
        if settled(self.world, [claim]) == NEVER:
            return False
        if (low is not None and low >= 1) or (around and Asker(self.world, Options().rlimit).surely(claim, around)):
            return True
        if self.when and all(self.world.symbols[n].stated for n in self.world.roots(term)):
            return False
        symbols = (self.world.symbols[name] for name in self.world.roots(term))
        at_first = {one.name: Lin(one.surely) for one in symbols if one.surely is not None}
        first = [self.world.put_cond(one, dict.fromkeys(self.around, ZERO) | at_first) for one in (claim, *around)]
        if settled(self.world, first) == NEVER != settled(self.world, first[1:]):
            return False
        self.suppose(f"{what} is at least 1")
        self.world.supposed += [] if self.when or self.dry else [claim]
        name, symbol = next((n, self.world.symbols[n]) for n, _ in term.terms)
        if term == Lin(0, ((name, 1),)) and not symbol.definition and not self.dry:
            self.world.symbols[name] = replace(symbol, low=1)
        return True

    def _with_number(self, stmt: ops.Arith, op: str, a: Lin, n: int) -> Value:
        world = self.world
        if op.startswith("sh") and not 0 <= n < (stmt.type.bits or 64):
            return self._undefined(stmt, f"shifts by {n:,} of {stmt.type.bits or 64} bits")
        if op == "shli":
            return a * (1 << n)
        if op in ("divui", "divsi", "floordivsi", "shrui", "shrsi", "remui", "remsi", "ceildivui", "ceildivsi"):
            divisor = 1 << n if op.startswith("shr") else n
            if divisor < 1:
                return self.unfollowed(stmt.result) if divisor else self._undefined(stmt, "divides by 0")
            if op.startswith("ceil"):
                a = self._unsigned(stmt, a, stmt.type.bits) if op == "ceildivui" else a
                return world.divide(a + (divisor - 1), divisor)
            if op in ("divsi", "remsi"):
                return self._towards_zero(stmt, op, a, Lin(divisor))
            if op not in ("floordivsi", "shrsi") and not (op == "remui" and divisor & (divisor - 1) == 0):
                a = self._unsigned(stmt, a, stmt.type.bits)
            return self._floored(op, a, Lin(divisor))
        if a.is_const and op in _EITHER_WAY:
            return Lin({"andi": a.const & n, "ori": a.const | n, "xori": a.const ^ n}[op])
        return self._masked(op, a, n) if op in _EITHER_WAY else self.unfollowed(stmt.result)

    def _masked(self, op: str, a: Lin, n: int) -> Lin:
        """Bits of a value and a number: of each run of ones of that, or of its zeros if it is negative, as many bits of
        the value from where the run begins.
        """
        left = n if n >= 0 else ~n
        rest, at = ZERO, 0
        while left:
            zeros = (left & -left).bit_length() - 1
            ones = (~(left >> zeros) & ((left >> zeros) + 1)).bit_length() - 1
            at, left = at + zeros, left >> (zeros + ones)
            rest = rest + self.world.modulo(self.world.divide(a, 1 << at), 1 << ones) * (1 << at)
            at += ones
        if op == "andi":
            return rest if n >= 0 else a - rest
        if op == "ori":
            return a - rest + n if n >= 0 else rest + n
        return a - rest * 2 + n if n >= 0 else rest * 2 - a + n

    def _unsigned(self, stmt: ops.Arith, a: Lin, bits: int) -> Lin:
        """The value that an unsigned operation takes; one that nothing bounds is taken to be its own."""
        low = self.world.interval(a)[0]
        if low is None:
            self.suppose(f"`{stmt.result}` takes a value that is not negative")
        if low is None or low >= 0 or settled(self.world, [compare("lt", a)]) == NEVER:
            return a
        return self.world.choose(compare("lt", a), a + (1 << (bits or 64)), a)

    def _as_signed(self, value: Lin, bits: int) -> Lin:
        """The bits of an unsigned result as every later operation reads them: values are kept signed."""
        low, high = self.world.interval(value)
        half = 1 << (bits - 1)
        if bits != 1 and low is not None and low >= half:
            return value - 2 * half
        if bits == 1 or low is None or high is None or (-half <= low and high < half):
            return value
        return Lin(signed(value.const, bits)) if value.is_const else self.world.modulo(value + half, 2 * half) - half

    def _towards_zero(self, stmt: ops.Arith, op: str, a: Lin, divisor: Lin) -> Lin:
        """Division of signed values, and what is left: the quotient is cut off towards zero."""
        world, low = self.world, self.world.interval(a)[0]
        if low is None:
            self.suppose(f"`{stmt.result}` divides a value that is not negative")
        if low is None or low >= 0 or settled(self.world, [compare("lt", a)]) == NEVER:
            return self._floored(op, a, divisor)
        return world.choose(compare("lt", a), -self._floored(op, -a, divisor), self._floored(op, a, divisor))

    def _floored(self, op: str, a: Lin, divisor: Lin) -> Lin:
        """The quotient rounded down, or what is left of it."""
        world = self.world
        if divisor.is_const:
            return world.modulo(a, divisor.const) if op.startswith("rem") else world.divide(a, divisor.const)
        whole = world.quotient(a, divisor)
        return a - world.times(whole, divisor) if op.startswith("rem") else whole

    def _fitted(self, stmt: ops.Arith, value: Lin) -> Lin:
        """A value in the bits of its type: itself where it fits, else what is left of it. Where nobody says how
        great it can get, it is taken to fit; whether it does is asked later.
        """
        bits = stmt.type.bits or 64
        low, high = self.world.interval(value)
        if bits == 1:
            return self.world.modulo(value, 2)
        half = 1 << (bits - 1)
        if low is not None and high is not None and -half <= low and high < half:
            return value
        if value.is_const:
            return Lin(signed(value.const, bits))
        claim = both([compare("le", -value - half), compare("lt", value - half)])
        if low is None or high is None or not all(self.world.symbols[n].stated for n in self.world.roots(value)):
            if not self.dry:
                self.kernel.fits.append(Fit(claim, self.when, stmt.span, value, stmt.type.name))
            return value
        if Asker(self.world, Options().rlimit).surely(claim, self.when):
            return value
        said = f"{stmt.op} can give {high if high >= half else low:,}, which {stmt.type.name} does not hold: it wraps"
        self.remark("note", said, stmt.span, "compute it in more bits, or state a smaller range", always=False)
        return self.world.modulo(value + half, 2 * half) - half

    def _select(self, when: Cond | None, left: Value, right: Value) -> Value:
        if when is None:
            return None
        if when.known is not None:
            return left if when.known else right
        if left == right and not isinstance(left, (Lin, Cond)):
            return left
        if isinstance(left, Place) and isinstance(right, Place):
            if left.memory != right.memory:
                return None
            return replace(left, address=self.world.choose(when, left.address, right.address))
        if isinstance(left, Cond) or isinstance(right, Cond):
            a, b = self.as_condition(left), self.as_condition(right)
            return None if a is None or b is None else both([both([when, a]), both([when.negated(), b])], "or")
        if isinstance(left, Lin) and isinstance(right, Lin):
            return self.world.choose(when, left, right)
        return None
