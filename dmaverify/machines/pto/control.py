"""Control of PTO kernels: loops, branches, regions that run once, functions that are called.

Knows: the pretty and the generic form of scf, arguments of blocks, sections of either core, functions of the file.
Does not know: what an operation inside means.
Law: a region becomes statements that run exactly as often as it runs, or an `UnreadOp`; what runs on the other core is
counted, and a copy between GM and UB there is an `UnreadOp`.

Source: MLIR dialects scf, func; PTO sections and vector scopes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dmaverify.errors import InputError, Span
from dmaverify.language.notation import Token
from dmaverify.machines.pto.blocks import Structure
from dmaverify.machines.pto.buffers import BufferReader
from dmaverify.machines.pto.generic import for_cube, is_generic
from dmaverify.machines.pto.jumps import BasicBlock, BlockGraph, edges_of
from dmaverify.machines.pto.mlir import MlirFile, Op
from dmaverify.machines.pto.ops import (
    CUBE,
    INDEX,
    OTHER,
    PARTS,
    AccessOp,
    Assumed,
    Barrier,
    Bind,
    Block,
    BufferOp,
    CopyOp,
    Flag,
    For,
    Foreign,
    If,
    Mask,
    Operand,
    SetAtomic,
    SetLoop,
    SetPad,
    Stmt,
    UnreadOp,
    ValueType,
    VectorOp,
    While,
    Yield,
    deep,
)
from dmaverify.machines.pto.types import TokenCursor
from dmaverify.targets.target import Target
from dmaverify.values import replace

REGISTERS = (SetAtomic, SetLoop, SetPad)  # each core has its own
DMA = (CopyOp, Flag, Barrier, BufferOp, *REGISTERS, UnreadOp)
ENDS = ("func.return", "return", "scf.yield")
MOST_CALLS = 500
Argument = tuple[str, ValueType]


class ControlReader(BufferReader):
    """Regions of one function. `functions` are those of the file, `calling` those that are being read."""

    def __init__(self, text: MlirFile, target: Target) -> None:
        super().__init__(text, target)
        self.functions: dict[str, Op] = {}
        self.calling: tuple[str, ...] = ()
        self.own = ""
        self.calls = 0
        self.cube = 0
        self.cube_parts = self.beside = 0  # sections of the cube core: how many, around what is read
        self.cube_copies: Counter[str] = Counter()

    def block(self, ops: tuple[Op, ...]) -> tuple[Stmt, ...]:
        """The statements of a region; the whole reader knows them."""
        raise AssertionError(f"{len(ops)} operations without a reader")

    def open_accesses(self, op: Op) -> list[Stmt]:
        """What an operation touches of the buffers that it names; the whole reader knows that."""
        raise AssertionError(f"{op.name} without a reader")

    def in_tiles(self, op: Op) -> bool:
        """Whether a region works on tiles; the whole reader knows that."""
        raise AssertionError(f"{op.name} without a reader")

    def uses(self, op: Op) -> list[Stmt]:
        """Registers that an operation names; the whole reader knows them."""
        raise AssertionError(f"{op.name} without a reader")

    # ------------------------------------------------------------ arguments of blocks

    def inside(self, op: Op, index: int = 0) -> tuple[list[Argument], tuple[Op, ...]]:
        """Arguments and operations of a region."""
        region = op.regions[index] if index < len(op.regions) else ()
        if not region or not region[0].name.startswith("^"):
            return [], region
        return self._arguments(region[0]), region[1:]

    def _arguments(self, op: Op) -> list[Argument]:
        cursor = TokenCursor(op)
        found: list[Argument] = []
        cursor.take("(")
        while (token := cursor.peek()) is not None and token.kind == "value":
            name = cursor.operand().name
            found.append((name, self._type(cursor) if cursor.take(":") else OTHER))
            cursor.braces()
            cursor.take(",")
        self.types |= dict(found)
        return found

    def _bound(self, op: Op, arguments: Sequence[Argument], given: Sequence[Operand]) -> list[Stmt]:
        if len(arguments) != len(given):
            said = f"{op.name} is given {len(given)} values, its region takes {len(arguments)}"
            raise InputError(said, op.name_span)
        out: list[Stmt] = []
        for (name, kind), operand in zip(arguments, given, strict=True):
            known = self._of(operand)
            self.types[name] = known if known.kind == "pointer" or kind == OTHER else kind
            out.append(Bind(op.span, name, operand, self.types[name]))
        return out

    def graph(self, operations: Sequence[Op]) -> tuple[Stmt, ...]:
        """The statements of a region of basic blocks; what it gives back is yielded."""
        parts: list[tuple[str, tuple[str, ...], list[Op]]] = [("the first block", (), [])]
        for op in operations:
            if op.name.startswith("^"):
                parts.append((op.name, tuple(name for name, _ in self._arguments(op)), []))
            else:
                parts[-1][2].append(op)
        first, *others = parts if parts[0][2] else parts[1:]
        span = operations[0].span.to(operations[-1].span)
        try:
            blocks = [self._basic(*part, span) for part in (first, *others)]
            whole = Structure({b.label: b for b in blocks}, self.types, span)
            body, given = whole.statements(first[0])
        except InputError as error:
            return (UnreadOp(error.span or span, error.message, error.hint or ""),)
        names = tuple(whole.name() for _ in given)
        made = BlockGraph(span, (*body, Yield(span, given)), "blocks", names, tuple(blocks))
        self.types |= {n: self._of(o) for n, o in zip(names, given, strict=True)}
        return (made, Yield(span, tuple(Operand(n, span) for n in names))) if names else (made,)

    def _basic(self, label: str, args: tuple[str, ...], operations: Sequence[Op], span: Span) -> BasicBlock:
        last = operations[-1] if operations else None
        if last is None or (last.name not in ENDS and not last.name.startswith("cf.")):
            raise InputError(f"the block `{label}` ends without saying where it goes on", span, "cf.br, cf.cond_br")
        decides, jumps = edges_of(last)
        if last.name in ENDS[:2] and not self.calling:
            jumps = (replace(jumps[0], given=()),)
        return BasicBlock(label, args, self.block(tuple(operations[:-1])), decides, jumps)

    # ------------------------------------------------------------ loops and branches

    def _for(self, op: Op) -> Stmt:
        cursor = TokenCursor(op)
        carried: list[tuple[str, Operand]] = []
        arguments, ops = self.inside(op)
        if is_generic(op):
            given = cursor.grouped()
            if len(given) < 3 or len(arguments) != len(given) - 2:
                raise InputError(f"{op.name} takes a start, an end, a step, and first values", op.name_span)
            low, high, step, *first = given
            counter = arguments[0][0]
            carried = [(name, value) for (name, _), value in zip(arguments[1:], first, strict=True)]
        else:
            if cursor.take("unsigned"):
                said = f"{op.name} counts without a sign, which is not followed"
                raise InputError(said, op.name_span, "leave `unsigned` out where its bounds are not negative")
            counter = cursor.operand().name
            cursor.need("=")
            low = cursor.operand()
            cursor.need("to")
            high = cursor.operand()
            cursor.need("step")
            step = cursor.operand()
            if cursor.take("iter_args"):
                carried = self._first_values(cursor)
        types = tuple(self._of(first) for _, first in carried)
        self.types |= {counter: INDEX, **{name: self._of(first) for name, first in carried}}
        self.types |= dict(zip(op.results, types, strict=False))
        body = self.block(ops)
        _must_yield(op, body, len(carried))
        return For(op.span, counter, low, high, step, tuple(carried), op.results, types, body)

    def _first_values(self, cursor: TokenCursor) -> list[tuple[str, Operand]]:
        """`(%name = %first, ...)`."""
        found: list[tuple[str, Operand]] = []
        cursor.need("(")
        while (token := cursor.peek()) is not None and token.kind == "value":
            name = cursor.operand().name
            cursor.need("=")
            found.append((name, cursor.operand()))
            cursor.take(",")
        cursor.need(")")
        return found

    def _result_types(self, op: Op) -> tuple[ValueType, ...]:
        """Types behind the last arrow of an operation."""
        arrows = [i for i, t in enumerate(op.tokens) if t.kind == "arrow"]
        if not arrows or not op.results:
            return (OTHER,) * len(op.results)
        cursor = TokenCursor(op, op.tokens[arrows[-1] + 1 :])
        found: list[ValueType] = []
        while (token := cursor.peek()) is not None and len(found) < len(op.results):
            if token.text in ("(", ")", ","):
                cursor.at += 1
            else:
                found.append(self._type(cursor))
        return (*found, *(OTHER,) * (len(op.results) - len(found)))

    def _if(self, op: Op) -> Stmt:
        cursor = TokenCursor(op)
        cursor.take("(")
        condition = cursor.operand()
        types = self._result_types(op)
        then, other = (self.block(self.inside(op, index)[1]) for index in (0, 1))
        self.types |= dict(zip(op.results, types, strict=True))
        return If(op.span, condition, op.results, types, then, other)

    def _while(self, op: Op) -> Stmt | list[Stmt]:
        cursor = TokenCursor(op)
        if len(op.regions) != 2:
            raise InputError(f"{op.name} has two regions, not {len(op.regions)}", op.name_span, "{ ... } do { ... }")
        arguments, deciding = self.inside(op)
        if is_generic(op):
            carried = [(n, o) for (n, _), o in zip(arguments, cursor.grouped(), strict=False)]
        else:
            token = cursor.peek()
            carried = self._first_values(cursor) if token is not None and token.text == "(" else []
        self.types |= {name: self._of(first) for name, first in carried}
        if not deciding or deciding[-1].name != "scf.condition":
            raise InputError(f"{op.name} decides by scf.condition, which is missing", op.name_span)
        before = self.block(deciding[:-1])
        last = TokenCursor(deciding[-1])
        last.need("(")
        condition, *passed = last.operands() or (last.operand(),)
        last.need(")")
        passed += last.operands()
        into, ops = self.inside(op, 1)
        types = tuple(self._of(o) for o in passed)
        body = self.block(ops)
        _must_yield(op, body, len(carried))
        kinds = self._result_types(op)
        self.types |= dict(zip(op.results, kinds, strict=True))
        if len(into) != len(passed):
            raise InputError(
                f"{op.name}: {len(passed)} values are handed to `do`, which takes {len(into)}", op.name_span
            )
        named = tuple((n, k if k != OTHER else t) for (n, k), t in zip(into, types, strict=True))
        return While(op.span, tuple(carried), before, condition, tuple(passed), named, body, op.results, kinds)

    def _yield(self, op: Op) -> Stmt:
        cursor = TokenCursor(op)
        cursor.take("(")
        return Yield(op.span, tuple(cursor.operands()))

    def _return(self, op: Op) -> Stmt | None:
        return self._yield(op) if self.calling else None

    # ------------------------------------------------------------ regions that run once

    def _scope(self, op: Op) -> Stmt:
        cursor = TokenCursor(op)
        given = cursor.grouped() if (token := cursor.peek()) is not None and token.text == "(" else []
        arguments, ops = self.inside(op)
        bound = self._bound(op, arguments, given) if arguments else []
        body = self.block(ops)
        rest = [s for index in range(1, len(op.regions)) for s in self.block(op.regions[index])]
        self._typed_results(op)
        return Block(op.span, (*bound, *body, *rest), op.name, op.results)

    def _typed_results(self, op: Op) -> None:
        types = self._typed_cast(TokenCursor(op))
        kinds = types[-len(op.results) :] if len(types) >= len(op.results) > 0 else [OTHER] * len(op.results)
        self.types |= dict(zip(op.results, kinds, strict=True))

    def _cube_section(self, op: Op) -> list[Stmt]:
        self.passed[op.name] += 1
        self.cube_parts += 1
        if self.in_tiles(op):
            self.beside += 1
            inside = tuple(s for region in op.regions for s in self.block(region) if not isinstance(s, REGISTERS))
            self.beside -= 1
            return [Block(op.span, inside, op.name)]
        return [s for region in op.regions for s in self.on_cube(region)]

    def on_cube(self, ops: tuple[Op, ...]) -> list[Stmt]:
        """What the other core does, as a block of its own; a copy between GM and UB cannot be its work."""
        self.cube += 1
        found = self.block(ops)
        self.cube -= 1
        out: list[Stmt] = []
        for stmt in deep(found):
            if isinstance(stmt, CopyOp):
                said = "a copy between GM and UB in a part that runs on the cube core"
                out.append(UnreadOp(stmt.name_span, said, "it belongs to pto.section.vector"))
            elif isinstance(stmt, Assumed) and stmt.note:
                out.append(stmt)
        span = ops[0].span if ops else Span(self.text.source, 0, 0)
        return [*out, Block(span, self._of_cube(found), CUBE)]

    def _of_cube(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """Statements that say something of the cube core: values, flags, barriers, accesses, loops and branches."""
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, AccessOp):
                out.append(Foreign(stmt.span, stmt.pointer, None, 0, "rw", "FIX", stmt.what))
            elif not isinstance(stmt, (CopyOp, Mask, VectorOp, *REGISTERS)) and not (
                isinstance(stmt, Assumed) and stmt.note
            ):
                names = [p for p in PARTS if hasattr(stmt, p)]
                parts: Any = {p: self._of_cube(getattr(stmt, p)) for p in names}
                out.append(replace(stmt, **parts) if parts else stmt)
        return tuple(out)

    # ------------------------------------------------------------ functions

    def _call(self, op: Op) -> Stmt | list[Stmt]:
        cursor = TokenCursor(op)
        token = next((t for t in op.tokens if t.kind == "symbol"), None)
        if token is None:
            raise InputError(f"{op.name} names no function", op.name_span, "func.call @name(...)")
        while (at := cursor.peek()) is not None and at.text != "(":
            cursor.at += 1
        given = cursor.grouped()
        name = token.text.lstrip("@").strip('"')
        callee = self.functions.get(name)
        if callee is None or not callee.regions:
            return self._outside(op, name, given)
        if name in (self.own, *self.calling):
            raise InputError(f"@{name} calls itself: how deep is not known", op.at(token), "use scf.for")
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise InputError(f"more than {MOST_CALLS} calls are not followed", op.at(token))
        suffix = f"@{name}" if self.calls == 1 else f"@{name}.{self.calls}"
        parameters, body = self.parameters(callee)
        renamed = [(f"{n}{suffix}", kind) for n, kind in parameters]
        bound = self._bound(op, renamed, given)
        outside, self.calling = self.calling, (*self.calling, name)
        ops = tuple(_renamed(o, suffix) for o in body)
        self.roles_in(ops)
        self.beside += for_cube(callee)
        inside = self.block(ops)
        self.beside -= for_cube(callee)
        self.calling = outside
        self._typed_results(op)
        made = Block(op.span, (*bound, *inside), f"@{name}", op.results)
        return Block(op.span, (made,), "pto.section.cube") if for_cube(callee) else made

    def parameters(self, op: Op) -> tuple[list[Argument], tuple[Op, ...]]:
        """Arguments and operations of a function in either form."""
        arguments, ops = self.inside(op)
        if arguments or is_generic(op):
            return arguments, ops
        cursor = TokenCursor(op)
        while (token := cursor.peek()) is not None and token.text != "(":
            cursor.at += 1
        return self._arguments(replace(op, tokens=cursor.tokens[cursor.at :])), ops

    def foreign_effects(self, op: Op, who: str) -> Assumed:
        """That what nobody says of an operation touches no byte, register or order which is judged."""
        return Assumed(op.span, f"what {who} does breaks nothing", unsaid=True)

    def _outside(self, op: Op, name: str, given: Sequence[Operand]) -> list[Stmt]:
        """A function of another file: what it does with pointers is not known."""
        self.passed[op.name] += 1
        out = [*self.open_accesses(op), *self.uses(op)]
        known, words = [self._of(o) for o in given], " ".join(token.text for token in op.tokens)
        if any(k.space == "ub" for k in known) or "tile_buf" in words:
            said = f"@{name} is not in this file: which bytes of UB it reads and writes is open"
            out.append(UnreadOp(op.name_span, said, "check it together with the function"))
        out.append(self.foreign_effects(op, f"@{name}, which is not in this file,"))
        return [*out, self._results_of(op)] if op.results else out


def _must_yield(op: Op, body: Sequence[Stmt], count: int) -> None:
    """Raises InputError for a loop whose body does not end with a new value of each that it carries."""
    last = body[-1] if body else None
    if len(last.args if isinstance(last, Yield) else ()) != count:
        raise InputError(f"{op.name}: its body yields {count} values at its end", op.name_span, "scf.yield")


def _renamed(op: Op, suffix: str) -> Op:
    """The operation with a suffix on every value, for one call."""

    def token(one: Token) -> Token:
        return one._replace(text=one.text + suffix) if one.kind == "value" else one

    return replace(
        op,
        results=tuple(r + suffix for r in op.results),
        tokens=tuple(map(token, op.tokens)),
        regions=tuple(tuple(_renamed(o, suffix) for o in region) for region in op.regions),
    )
