"""PTO kernels: operations of MLIR text become statements; what concerns DMA is read whole or reported.

Knows: the operand lists of both surfaces, pointer types, arith, scf and func as far as kernels use them.
Does not know: values, what a copy means, rules.
Law: every operation becomes a statement, a counted passer-by, or a `Problem` at its place; none disappears.

Source: "DMA Copy" (vector instruction set); PTO v0.6 operand lists; MLIR dialects arith, scf, func.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dmaverify.errors import InputError, Source, Span
from dmaverify.inputs.pto_types import Cursor, float_bits, integer_of
from dmaverify.inputs.pto_vector import VectorReader
from dmaverify.language.mlir import Op, Text, read_mlir
from dmaverify.machines.pto_ops import (
    COPY_ROLES,
    INDEX,
    INLINE_ROLES,
    OTHER,
    AddPtr,
    Arith,
    Barrier,
    Block,
    Buffer,
    CastPtr,
    Const,
    Copy,
    Flag,
    For,
    Function,
    If,
    Opaque,
    Operand,
    Problem,
    SetLoop,
    SetPad,
    Stmt,
    Type,
    Yield,
)

_ARITH = frozenset(
    [
        "addi",
        "subi",
        "muli",
        "divui",
        "divsi",
        "ceildivui",
        "ceildivsi",
        "floordivsi",
        "remui",
        "remsi",
        "shli",
        "shrui",
        "shrsi",
        "andi",
        "ori",
        "xori",
        "cmpi",
        "select",
        "minui",
        "minsi",
        "maxui",
        "maxsi",
        "index_cast",
        "index_castui",
        "extui",
        "extsi",
        "trunci",
    ]
)
_CUBE = ("_l1", "_l0", "l0c", "_fb", "cbuf", "_fix", "_bt")


def read_kernels(source: Source) -> tuple[Text, tuple[Function, ...]]:
    """The functions of a text in order; operations outside of any function are one fragment. Raises InputError."""
    text = read_mlir(source)
    loose: list[Op] = []
    functions = [_Reader(text).function(op) for op in _functions(text.ops, loose)]
    if loose:
        reader = _Reader(text)
        span = loose[0].span.to(loose[-1].span)
        functions.append(Function("", (), reader.block(tuple(loose)), loose[0].name_span, span, reader.counted()))
    return text, tuple(functions)


def _functions(ops: tuple[Op, ...], loose: list[Op]) -> Iterator[Op]:
    for op in ops:
        if op.name in ("module", "builtin.module"):
            for region in op.regions:
                yield from _functions(region, loose)
        elif op.name in ("func.func", "func"):
            yield op
        else:
            loose.append(op)


class _Reader(VectorReader):
    """Statements of one function. `types` holds the type of every value so far."""

    def __init__(self, text: Text) -> None:
        super().__init__(text)
        self.passed: Counter[str] = Counter()

    def counted(self) -> tuple[tuple[str, int], ...]:
        return tuple(sorted(self.passed.items()))

    def function(self, op: Op) -> Function:
        cursor = Cursor(op)
        name = ""
        while (token := cursor.peek()) is not None and token.text != "(":
            name = token.text.lstrip("@").strip('"') if token.kind == "symbol" else name
            cursor.at += 1
        args: list[tuple[str, Type, Span]] = []
        cursor.take("(")
        while (token := cursor.peek()) is not None and token.kind == "value":
            cursor.at += 1
            kind = self._type(cursor) if cursor.take(":") else OTHER
            cursor.braces()
            args.append((token.text, kind, op.at(token)))
            self.types[token.text] = kind
            if not cursor.take(","):
                break
        body = self.block(op.regions[0]) if op.regions else ()
        return Function(name, tuple(args), body, op.name_span, op.span, self.counted())

    def block(self, ops: tuple[Op, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for op in ops:
            try:
                found = self._stmt(op)
            except InputError as error:
                found = Problem(error.span or op.name_span, error.message, error.hint or "")
                self._unknown(op)
            if found is None:
                self.passed[op.name] += 1
            elif isinstance(found, list):
                out += found
            else:
                out.append(found)
        return tuple(out)

    def _unknown(self, op: Op) -> None:
        for result in op.results:
            self.types.setdefault(result, OTHER)

    # ------------------------------------------------------------ one operation

    def _stmt(self, op: Op) -> Stmt | list[Stmt] | None:
        name = op.name
        if name in ("arith.constant", "pto.castptr", "pto.addptr") and len(op.results) != 1:
            raise InputError(f"{name} gives one value, not {len(op.results)}", op.name_span, "write `%name = ...`")
        if name == "arith.constant":
            return self._constant(op)
        if name.startswith("arith.") and name[6:] in _ARITH:
            return self._arith(op)
        if name in COPY_ROLES:
            return self._register_copy(op)
        if name in INLINE_ROLES:
            return self._inline_copy(op)
        handler = _HANDLERS.get(name)
        if handler is not None:
            made: Stmt | list[Stmt] | None = getattr(self, handler)(op)
            return made
        if name.startswith("pto.set_loop"):
            return self._set_loop(op)
        vector = self.vector(op)
        if vector is not None:
            self.passed[name] += 1
        return self._other(op) if vector is None else vector

    def _constant(self, op: Op) -> Stmt:
        cursor = Cursor(op)
        cursor.braces()
        token = cursor.peek()
        if token is None or (token.kind != "number" and token.text not in ("true", "false")):
            return self._results_of(op)
        cursor.at += 1
        kind = self._type(cursor) if cursor.take(":") else Type("int", "i1", 1)
        shown = token.text
        value = float_bits(shown, kind.name, kind.bits) if kind.kind == "float" else integer_of(shown)
        self.types[op.results[0]] = kind
        return Const(op.span, op.results[0], value, kind, shown)

    def _arith(self, op: Op) -> Stmt:
        cursor = Cursor(op)
        cursor.take("(")
        predicate = ""
        token = cursor.peek()
        if op.name == "arith.cmpi" and token is not None and token.kind in ("word", "string"):
            predicate = token.text.strip('"')
            cursor.at += 1
            cursor.take(",")
        args = cursor.operands()
        while (token := cursor.peek()) is not None and token.text not in (":", "{"):
            cursor.at += 1  # overflow<nsw, nuw>, exact, `to` of casts stands behind the colon
        types = self._typed_cast(cursor)
        what = op.name[6:]
        wanted = 3 if what == "select" else 1 if what.startswith(("index_", "ext", "trunc")) else 2
        if len(args) != wanted or len(op.results) != 1:
            raise InputError(f"{op.name} takes {wanted} operands, not {len(args)}", op.name_span)
        result = Type("int", "i1", 1) if what == "cmpi" else types[-1] if types else self._of(args[-1])
        self.types[op.results[0]] = result
        return Arith(op.span, op.results[0], what, tuple(args), predicate, result)

    def _typed_cast(self, cursor: Cursor) -> list[Type]:
        cursor.braces()
        found: list[Type] = []
        if cursor.take(":"):
            while (token := cursor.peek()) is not None:
                if token.text in (",", "to", "->", "(", ")"):
                    cursor.at += 1
                else:
                    found.append(self._type(cursor))
        return found

    def _cast_pointer(self, op: Op) -> Stmt:
        cursor = Cursor(op)
        cursor.take("(")
        source = cursor.operand()
        types = self._typed_cast(cursor)
        if not types or types[-1].kind != "pointer":
            return self._results_of(op)
        kind = types[-1]
        kind = kind if kind.space else Type("pointer", kind.name, kind.bits, self._of(source).space)
        self.types[op.results[0]] = kind
        return CastPtr(op.span, op.results[0], source, kind)

    def _add_pointer(self, op: Op) -> Stmt:
        cursor = Cursor(op)
        cursor.take("(")
        args = cursor.operands()
        if len(args) != 2:
            raise InputError(f"{op.name} takes a pointer and an offset in elements", op.name_span)
        kind = self._of(args[0])
        if kind.kind != "pointer":
            types = self._typed_cast(cursor)
            kind = next((t for t in types if t.kind == "pointer"), OTHER)
        self.types[op.results[0]] = kind
        return AddPtr(op.span, op.results[0], args[0], args[1], kind)

    # ------------------------------------------------------------ control

    def _for(self, op: Op) -> Stmt:
        cursor = Cursor(op)
        counter = cursor.operand()
        cursor.need("=")
        low = cursor.operand()
        cursor.need("to")
        high = cursor.operand()
        cursor.need("step")
        step = cursor.operand()
        carried: list[tuple[str, Operand]] = []
        if cursor.take("iter_args"):
            cursor.need("(")
            while (token := cursor.peek()) is not None and token.kind == "value":
                name = cursor.operand().name
                cursor.need("=")
                first = cursor.operand()
                carried.append((name, first))
                self.types[name] = self._of(first)
                cursor.take(",")
            cursor.need(")")
        types = tuple(self._of(first) for _, first in carried)
        self.types[counter.name] = INDEX
        self.types |= dict(zip(op.results, types, strict=False))
        body = self.block(op.regions[0]) if op.regions else ()
        return For(op.span, counter.name, low, high, step, tuple(carried), op.results, types, body)

    def _if(self, op: Op) -> Stmt:
        cursor = Cursor(op)
        condition = cursor.operand()
        types: tuple[Type, ...] = ()
        if cursor.take("->"):
            cursor.take("(")
            found = []
            while (token := cursor.peek()) is not None and token.text not in (")", "else"):
                if token.text == ",":
                    cursor.at += 1
                else:
                    found.append(self._type(cursor))
            types = tuple(found)
        then = self.block(op.regions[0]) if op.regions else ()
        other = self.block(op.regions[1]) if len(op.regions) > 1 else ()
        self.types |= dict(zip(op.results, types, strict=False))
        return If(op.span, condition, op.results, types, then, other)

    def _yield(self, op: Op) -> Stmt:
        cursor = Cursor(op)
        cursor.take("(")
        return Yield(op.span, tuple(cursor.operands()))

    def _scope(self, op: Op) -> Stmt:
        return Block(op.span, tuple(s for region in op.regions for s in self.block(region)), op.name)

    # ------------------------------------------------------------ the rest

    def _results_of(self, op: Op) -> Stmt:
        cursor = Cursor(op)
        while (token := cursor.peek()) is not None and token.text != ":":
            cursor.at += 1
        types = self._typed_cast(cursor)
        kinds = tuple(types[-len(op.results) :]) if len(types) >= len(op.results) > 0 else (OTHER,) * len(op.results)
        self.types |= dict(zip(op.results, kinds, strict=True))
        least = 0 if op.name.startswith(("pto.get_block", "pto.get_subblock")) else None
        return Opaque(op.span, op.results, kinds, least, op.name)

    def _other(self, op: Op) -> Stmt | list[Stmt] | None:
        name = op.name
        inside = [s for region in op.regions for s in self.block(region)]
        if (
            name.startswith("pto.")
            and any(w in name for w in ("mte_", "copy_", "dma_"))
            and not any(c in name for c in _CUBE)
        ):
            raise InputError(
                f"{name} is not understood", op.name_span, "known: " + ", ".join([*COPY_ROLES, *INLINE_ROLES][:6])
            )
        out: list[Stmt] = []
        if name.startswith(("pto.", "func.call", "call", "llvm.")):
            out += self.open_accesses(op)
        out += self.uses(op)
        if any(isinstance(s, (Copy, Flag, Barrier, SetLoop, SetPad, Buffer, Problem)) for s in _deep(inside)):
            out.append(
                Problem(
                    op.name_span,
                    f"{name}: its region holds DMA operations, and how often it runs is not known",
                    "use scf.for and scf.if",
                )
            )
        elif inside:
            out.append(Block(op.span, tuple(inside), name))
        self.passed[name] += 1
        if op.results:
            out.append(self._results_of(op))
        if name.startswith(("cf.", "^")):
            raise InputError(
                f"{name}: control flow between blocks is not followed", op.name_span, "use scf.for and scf.if"
            )
        return out

    def _ignore(self, op: Op) -> None:
        return None


_HANDLERS = {
    "pto.castptr": "_cast_pointer",
    "pto.addptr": "_add_pointer",
    "pto.set_mov_pad_val": "_set_pad",
    "pto.set_flag": "_flag",
    "pto.wait_flag": "_flag",
    "pto.set_flag_dyn": "_flag",
    "pto.wait_flag_dyn": "_flag",
    "pto.barrier": "_barrier",
    "pto.pipe_barrier": "_barrier",
    "pto.get_buf": "_buffer",
    "pto.rls_buf": "_buffer",
    "pto.get_buf_dyn": "_buffer",
    "pto.rls_buf_dyn": "_buffer",
    "pto.set_atomic": "_atomic",
    "pto.set_atomic_none": "_atomic",
    "pto.set_atomic_add": "_atomic",
    "pto.set_atomic_max": "_atomic",
    "pto.set_atomic_min": "_atomic",
    "scf.for": "_for",
    "scf.if": "_if",
    "scf.yield": "_yield",
    "pto.vecscope": "_scope",
    "func.return": "_ignore",
    "return": "_ignore",
    "pto.mem_bar": "_ignore",
}


def _deep(stmts: list[Stmt] | tuple[Stmt, ...]) -> Iterator[Stmt]:
    for stmt in stmts:
        yield stmt
        for part in ("body", "then", "other"):
            inner = getattr(stmt, part, ())
            if inner:
                yield from _deep(inner)
