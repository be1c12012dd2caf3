"""Kernels of Ascend A5 run byte by byte, with numbers: the second opinion on everything that is proved of them.

Knows: what each statement does to values, and in which order statements run, one iteration at a time.
Does not know: terms, ranges, solvers, the touches of the proof, rules.
Law: nothing here is computed for more than one execution; what happens is recorded as it happens. It shares the
statements with the proof and no line of their meaning.

Source: MLIR arith and scf; readings as in the target's data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.execute_copies import RunCopies
from dmaverify.machines.pto.jumps import BlockGraph
from dmaverify.machines.pto.running import MOST_STATEMENTS, KernelRun, Over
from dmaverify.machines.pto.scopes import MemoryBarrier
from dmaverify.program.instructions import Shared


def run_kernel(
    function: ops.KernelFunction,
    gm: Mapping[str, int],
    arguments: Mapping[str, int] | None = None,
    readings: Mapping[str, str] | None = None,
    seed: int = 0,
    others: Sequence[Shared] = (),
    *,
    one_tile: bool = False,
) -> KernelRun:
    """Runs a function. `gm` gives the bytes of every tensor, `arguments` the numbers, `others` what the other core
    does behind the sets and before the waits of its flags; with `one_tile` tiles of as many elements at one address
    are one. Raises Beyond.
    """
    machine = KernelMachine(function, gm, arguments or {}, readings or {}, seed, others)
    machine.one_tile = one_tile
    return machine.go()


class KernelMachine(RunCopies):
    """One execution, statement by statement."""

    def go(self) -> KernelRun:
        self._number(self.function.body)
        try:
            self._block(self.function.body)
        except Over:
            self.run.whole = False
            return self.run
        if self.flags:
            self._finds("flags", "a flag is set when the kernel ends")
        if not self.lowered:
            self._judge_order()
        return self.run

    def _number(self, body: Sequence[ops.Stmt]) -> None:
        for stmt in ops.deep(body):
            if isinstance(stmt, ops.CopyOp):
                self.copy_number[id(stmt)] = len(self.copy_number) + 1
            self.seen(stmt)

    def _block(self, body: Sequence[ops.Stmt]) -> Sequence[ops.Operand]:
        """Runs statements; what they yield at their end."""
        self.followed += 1 + len(body)
        if self.followed > MOST_STATEMENTS:
            raise Beyond(f"more than {MOST_STATEMENTS:,} statements in the rounds of loops")
        given: Sequence[ops.Operand] = ()
        for stmt in body:
            if isinstance(stmt, ops.Yield):
                given = stmt.args
            else:
                self._statement(stmt)
        return given

    def _statement(self, stmt: ops.Stmt) -> None:
        self.line = stmt.span.line
        if not any(one(stmt) for one in (self._value_made, self._register_set, self._acted, self._controlled)):
            if isinstance(stmt, (ops.Foreign, ops.UnreadOp)):
                raise Beyond(stmt.message if isinstance(stmt, ops.UnreadOp) else "an operation that is not executed")
            idle = isinstance(stmt, (ops.Assumed, ops.OpaqueOp, MemoryBarrier))
            if not idle and not self.tile_statement(stmt):
                raise Beyond(f"{type(stmt).__name__} is not executed")

    def _value_made(self, stmt: ops.Stmt) -> bool:
        """Whether a statement gives a name a number or a place."""
        match stmt:
            case ops.Const():
                whole = stmt.type.kind == "int"
                self.values[stmt.result] = _kept(stmt.value, stmt.type.bits) if whole else stmt.value
                self.raw[stmt.result] = (stmt.value, max(1, stmt.type.bits // 8))
            case ops.Arith():
                self.values[stmt.result] = self._arithmetic(stmt)
            case ops.CastPtr():
                source = self._value(stmt.source)
                if isinstance(source, int) and stmt.type.space not in ("", "ub"):
                    raise Beyond("what lies at an address of a number is not known")
                place, at = ("ub", source) if isinstance(source, int) else self._pointer(stmt.source)[:2]
                self.values[stmt.result] = (place, at, stmt.type.item_bytes)
            case ops.AddPtr():
                place, at, item = self._pointer(stmt.base)
                self.values[stmt.result] = (place, at + self._int(stmt.offset) * item, item)
            case ops.Bind():
                self._hand_on((stmt.result,), (stmt.source,))
                if stmt.source.name in self.raw:
                    self.raw[stmt.result] = self.raw[stmt.source.name]
            case ops.OpaqueOp() if stmt.least is not None:
                self.values[stmt.results[0]] = self.arguments.get(stmt.results[0].lstrip("%"), stmt.least)
            case _:
                return False
        return True

    def _register_set(self, stmt: ops.Stmt) -> bool:
        """Whether a statement sets what later copies go by."""
        match stmt:
            case ops.SetLoop():
                pair = (self._int(stmt.first), self._int(stmt.second))
                if stmt.what == "size" and self.readings.get("loop-order") == "outer-first":
                    pair = pair[::-1]
                self.registers[f"{stmt.kind}.{stmt.what}"] = pair
            case ops.SetPad():
                self.pad = self.raw.get(stmt.value.name, (self._int(stmt.value), max(1, stmt.type.bits // 8)))
            case ops.SetAtomic():
                mode = (self.atomic[0] or "set") if stmt.mode is None else stmt.mode
                self.atomic = (mode, (stmt.dtype or self.atomic[1]) if mode else "")
            case _:
                return False
        return True

    def _acted(self, stmt: ops.Stmt) -> bool:
        """Whether a statement moves, computes or orders."""
        match stmt:
            case ops.CopyOp():
                self._copy(stmt)
            case ops.Flag() | ops.Barrier() | ops.BufferOp():
                self._order(stmt)
            case ops.CrossCore():
                self._other_core(stmt)
            case ops.AccessOp():
                self._access(stmt)
            case ops.Mask():
                count = self._int(stmt.count) if stmt.op == "plt" and stmt.count is not None else 0
                left = self.registers_of.mask(stmt, count)
                if stmt.rest:
                    self.values[stmt.rest] = left
                self.values[stmt.result] = 0
            case ops.VectorOp():
                self.registers_of.operate(stmt)
                self.values |= dict.fromkeys(stmt.results, 0)
            case _:
                return False
        return True

    def _controlled(self, stmt: ops.Stmt) -> bool:
        """Whether a statement holds others, which are run."""
        match stmt:
            case ops.For():
                self._for(stmt)
            case ops.While():
                self._while(stmt)
            case ops.If():
                self._hand_on(stmt.results, self._block(stmt.then if self._int(stmt.condition) else stmt.other))
            case BlockGraph():
                self._hand_on(stmt.results, self._graph(stmt))
            case ops.Block():
                self.inside += "vecscope" in stmt.what
                self._hand_on(stmt.results, self._block(stmt.body))
                self.inside -= "vecscope" in stmt.what
            case _:
                return False
        return True

    def _for(self, stmt: ops.For) -> None:
        if self._int(stmt.step) < 1:
            raise Beyond("a step that is not positive")
        given: Sequence[ops.Operand] = [first for _, first in stmt.carried]
        for at in range(self._int(stmt.low), self._int(stmt.high), self._int(stmt.step)):
            self._hand_on([name for name, _ in stmt.carried], given)
            self.values[stmt.counter] = at
            given = self._block(stmt.body)
        self._hand_on(stmt.results, given)

    def _while(self, stmt: ops.While) -> None:
        given: Sequence[ops.Operand] = [first for _, first in stmt.carried]
        while True:
            self._hand_on([name for name, _ in stmt.carried], given)
            self._block(stmt.before)
            if not self._int(stmt.condition):
                self._hand_on(stmt.results, stmt.passed)
                return
            self._hand_on([name for name, _ in stmt.inside], stmt.passed)
            given = self._block(stmt.body)

    def _graph(self, stmt: BlockGraph) -> Sequence[ops.Operand]:
        """Block after block, as the text jumps; what the last one gives back."""
        known = {block.label: block for block in stmt.blocks}
        here = stmt.blocks[0]
        while True:
            self._block(here.body)
            value = None if here.decides is None else self._int(here.decides)
            jump = next(j for j in here.jumps if j.case is None or j.case == value)
            if jump.to not in known:
                return jump.given
            here = known[jump.to]
            self._hand_on(here.args, jump.given)

    def _hand_on(self, names: Sequence[str], given: Sequence[ops.Operand]) -> None:
        """All at once: a name may be given the value of another that changes with it."""
        self.registers_of.sink(given)
        values = [self._value(one) for one in given]
        self.values |= dict(zip(names, values, strict=False))
        self.registers_of.rename({n: o.name for n, o in zip(names, given, strict=False)})

    def _arithmetic(self, stmt: ops.Arith) -> Any:
        op = stmt.op
        if op == "select":
            chosen = stmt.args[1] if self._int(stmt.args[0]) else stmt.args[2]
            self.registers_of.sink(stmt.args[1:])
            self.registers_of.rename({stmt.result: chosen.name})
            return self._value(chosen)
        numbers = [self._int(a) for a in stmt.args]
        if len(numbers) == 1:
            if op in ("extui", "index_castui"):
                return _kept(numbers[0] % (1 << stmt.bits), stmt.type.bits)
            lone = -numbers[0] if stmt.bits == 1 and op == "index_cast" else numbers[0]
            return _kept(lone, stmt.type.bits)
        return _kept(self._of_two(stmt, *numbers), 1 if op == "cmpi" else stmt.type.bits)

    def _of_two(self, stmt: ops.Arith, a: int, b: int) -> int:
        op = stmt.op
        if op in ("divui", "remui", "ceildivui", "shrui", "minui", "maxui") or stmt.predicate.startswith("u"):
            a, b = a % (1 << stmt.bits), b % (1 << stmt.bits)
        elif stmt.bits == 1 and (op.endswith("si") or stmt.predicate.startswith("s")):
            a, b = -(a & 1), -(b & 1)  # the one bit is the sign
        if b == 0 and op.startswith(("div", "floordiv", "ceildiv", "rem")):
            raise Beyond(f"{op} by 0")
        if op in ("divsi", "remsi"):
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return quotient if op == "divsi" else a - quotient * b
        if op == "cmpi":
            order = stmt.predicate.lstrip("su") if stmt.predicate not in ("eq", "ne") else stmt.predicate
            return int({"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[order])
        if op.startswith(("div", "floordiv", "ceildiv", "rem")):
            quotient = -(-a // b) if op.startswith("ceil") else a // b
            return a % b if op.startswith("rem") else quotient
        table = {
            "addi": a + b,
            "subi": a - b,
            "muli": a * b,
            "andi": a & b,
            "ori": a | b,
            "xori": a ^ b,
            "minui": min(a, b),
            "minsi": min(a, b),
            "maxui": max(a, b),
            "maxsi": max(a, b),
        }
        if op in table:
            return table[op]
        if not 0 <= b < stmt.bits:
            raise Beyond(f"{op} by {b:,} of {stmt.bits} bits")
        return a << b if op == "shli" else a >> b


def _kept(value: int, bits: int) -> int:
    """What a register of so many bits keeps of a value, read with a sign."""
    if bits <= 1:
        return value & 1
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low
