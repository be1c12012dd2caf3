"""PTO kernels: operations of MLIR text become statements; what concerns DMA is read whole or reported.

Knows: the operand lists of both surfaces, pointer types, arith, scf and func as far as kernels use them.
Does not know: values, what a copy means, rules.
Law: every operation becomes a statement, a counted passer-by, or a `Problem` at its place; none disappears.

Source: "DMA Copy" (vector instruction set); PTO v0.6 operand lists; MLIR dialects arith, scf, func.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.mlir import Op, Text, Token, read_mlir
from dmaverify.machines.pto_ops import (
    COPY_ROLES,
    INDEX,
    INLINE_ROLES,
    LOAD,
    LOCAL,
    OTHER,
    STORE,
    Access,
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
    Level,
    Opaque,
    Operand,
    Pad,
    Problem,
    SetAtomic,
    SetLoop,
    SetPad,
    Stmt,
    Type,
    Yield,
)

_SPACES = {"gm": "gm", "ub": "ub", "vec": "ub", "l1": "l1", "l0a": "l0a", "l0b": "l0b", "l0c": "l0c", "fb": "fb"}
_WIDTH = {"index": 64, "bf16": 16, "hif8": 8, "f8E4M3FN": 8, "f8E5M2": 8, "f4E1M2x2": 8, "f4E2M1x2": 8}
_ARITH = frozenset(
    ["addi", "subi", "muli", "divui", "divsi", "ceildivui", "ceildivsi", "floordivsi", "remui", "remsi", "shli", "shrui", "shrsi", "andi", "ori", "xori", "cmpi", "select", "minui", "minsi", "maxui", "maxsi", "index_cast", "index_castui", "extui", "extsi", "trunci"]
)
_GROUPS = ("nburst", "loop", "loop1", "loop2", "pad", "l2_cache_ctl")
_CUBE = ("_l1", "_l0", "l0c", "_fb", "cbuf", "_fix", "_bt")
VECTOR_BYTES = 256


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


class _Cursor:
    """Walks the tokens of one operation."""

    def __init__(self, op: Op, tokens: tuple[Token, ...] | None = None) -> None:
        self.op = op
        self.tokens = tuple(t for t in (op.tokens if tokens is None else tokens) if t.kind != "region")
        self.at = 0

    def peek(self, ahead: int = 0) -> Token | None:
        index = self.at + ahead
        return self.tokens[index] if index < len(self.tokens) else None

    def take(self, text: str) -> bool:
        token = self.peek()
        if token is not None and token.text == text and token.kind != "string":
            self.at += 1
            return True
        return False

    def need(self, text: str) -> None:
        if not self.take(text):
            self.refuse(f"`{text}` is missing")

    def refuse(self, message: str, hint: str = "") -> None:
        token = self.peek() or (self.tokens[-1] if self.tokens else None)
        span = self.op.name_span if token is None else self.op.at(token)
        raise InputError(f"{self.op.name}: {message}", span, hint or None)

    def braces(self) -> None:
        """Passes over an attribute dictionary, also in the form `<{...}>`."""
        while self.peek() is not None and (
            self.peek().text == "{" or (self.peek().text == "<" and self.peek(1) and self.peek(1).text == "{")  # type: ignore[union-attr]
        ):
            depth = 0
            while (token := self.peek()) is not None:
                depth += (token.text in "{<(") - (token.text in "}>)")
                self.at += 1
                if depth == 0:
                    break

    def operand(self) -> Operand:
        token = self.peek()
        if (
            token is None
            or token.kind not in ("value", "number", "word")
            or (token.kind == "word" and token.text not in ("true", "false"))
        ):
            self.refuse("an operand is missing", "write an SSA value such as %c32_i64")
        assert token is not None
        self.at += 1
        span = self.op.at(token)
        if token.kind == "value":
            return Operand(token.text, span)
        return Operand("", span, _integer(token.text))

    def operands(self) -> list[Operand]:
        """Values with commas between them; a trailing comma is accepted."""
        found: list[Operand] = []
        while (token := self.peek()) is not None and token.kind in ("value", "number"):
            found.append(self.operand())
            if not self.take(","):
                break
        return found

    def grouped(self) -> list[Operand]:
        self.need("(")
        found = self.operands()
        self.need(")")
        return found


def _integer(text: str) -> int:
    if text in ("true", "false"):
        return int(text == "true")
    try:
        return int(text, 0)
    except ValueError:
        return int(float(text))


class _Reader:
    """Statements of one function. `types` holds the type of every value so far."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.types: dict[str, Type] = {}
        self.passed: Counter[str] = Counter()

    def counted(self) -> tuple[tuple[str, int], ...]:
        return tuple(sorted(self.passed.items()))

    def function(self, op: Op) -> Function:
        cursor = _Cursor(op)
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

    # ------------------------------------------------------------ types

    def _type(self, cursor: _Cursor) -> Type:
        """The type at the cursor, aliases followed; what stands behind its name in angle brackets is taken with it."""
        token = cursor.peek()
        if token is None:
            return OTHER
        if token.text == "<":
            return self._pointer(cursor)
        cursor.at += 1
        if token.kind == "type" and token.text in self.text.aliases:
            return self._type(_Cursor(cursor.op, self.text.aliases[token.text]))
        if token.text.endswith(".ptr") and token.kind == "type":
            return self._pointer(cursor)
        tail = cursor.peek()
        if tail is not None and tail.text == "<":
            words = self._angle(cursor)
            number = next((int(w.text) for w in words if w.kind == "number" and w.text.isdigit()), 0)
            element = next((w.text.lstrip("x!") for w in words if w.kind in ("word", "type")), "")
            return Type("other", token.text, number * _bits(element.split(".")[-1]))
        name = token.text.removeprefix("!pto.")
        return _number_type(name)

    def _angle(self, cursor: _Cursor) -> list[Token]:
        depth, words = 0, []
        while (token := cursor.peek()) is not None:
            depth += (token.text == "<") - (token.text == ">")
            words.append(token)
            cursor.at += 1
            if depth == 0:
                break
        return words[1:-1]

    def _pointer(self, cursor: _Cursor) -> Type:
        words = [w for w in self._angle(cursor) if w.kind in ("word", "type")]
        element = words[0].text.removeprefix("!pto.") if words else ""
        space = _SPACES.get(words[-1].text, "") if len(words) > 1 else ""
        return Type("pointer", element, _bits(element), space)

    def _typed_tail(self, cursor: _Cursor) -> list[Type]:
        """Types behind the colon; words such as `loop` and `pad` between them are passed, `i64 x5` counts five."""
        cursor.braces()
        found: list[Type] = []
        if not cursor.take(":"):
            return found
        cursor.take("(")
        while (token := cursor.peek()) is not None and token.text not in ("->", ")"):
            if token.text == "," or token.text in _GROUPS:
                cursor.at += 1
            else:
                found.append(self._type(cursor))
                after = cursor.peek()
                if after is not None and after.kind == "word" and after.text[0] == "x" and after.text[1:].isdigit():
                    found += found[-1:] * (int(after.text[1:]) - 1)
                    cursor.at += 1
        return found

    def _of(self, operand: Operand) -> Type:
        return self.types.get(operand.name, OTHER)

    # ------------------------------------------------------------ one operation

    def _stmt(self, op: Op) -> Stmt | list[Stmt] | None:
        name = op.name
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
        return self._other(op)

    def _constant(self, op: Op) -> Stmt:
        cursor = _Cursor(op)
        cursor.braces()
        token = cursor.peek()
        if token is None or (token.kind != "number" and token.text not in ("true", "false")):
            return self._results_of(op)
        cursor.at += 1
        kind = self._type(cursor) if cursor.take(":") else Type("int", "i1", 1)
        shown = token.text
        if kind.kind == "float":
            value = _float_bits(shown, kind.name, kind.bits)
        else:
            value = _integer(shown)
        self.types[op.results[0]] = kind
        return Const(op.span, op.results[0], value, kind, shown)

    def _arith(self, op: Op) -> Stmt:
        cursor = _Cursor(op)
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

    def _typed_cast(self, cursor: _Cursor) -> list[Type]:
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
        cursor = _Cursor(op)
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
        cursor = _Cursor(op)
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

    def _register_copy(self, op: Op) -> Stmt:
        kind, names = COPY_ROLES[op.name]
        cursor = _Cursor(op)
        cursor.take("(")
        args = cursor.operands()
        cursor.take(")")
        if kind == STORE and len(args) == 10:
            raise InputError(
                f"{op.name} with 10 operands is the form of 2026-03",
                op.name_span,
                "write the 8 operands of the current form",
            )
        if len(args) != len(names):
            hint = f"{', '.join(names)}, in this order"
            raise InputError(f"{op.name} takes {len(names)} operands, not {len(args)}", op.name_span, hint)
        types = self._typed_tail(cursor)
        return self._copy(op, kind, False, dict(zip(names, args, strict=True)), types)

    def _copy(
        self, op: Op, kind: str, inline: bool, roles: Mapping[str, Operand], types: list[Type],
        levels: tuple[Level, ...] = (), pad: Pad | None = None,
    ) -> Stmt:  # fmt: skip
        spaces = {LOAD: ("gm", "ub"), STORE: ("ub", "gm"), LOCAL: ("ub", "ub")}[kind]
        own: list[Type] = []
        for index, (role, space) in enumerate(zip(("src", "dst"), spaces, strict=True)):
            written = types[index] if index < len(types) else OTHER
            known = self._of(roles[role])
            if known.kind == "pointer" and written.kind == "pointer" and (known.bits, known.space) != (
                written.bits, written.space,
            ):  # fmt: skip
                said = f"`{roles[role].name}` is !pto.ptr<{known.name}, {known.space}>, the type written says "
                raise InputError(f"{op.name}: {said}<{written.name}, {written.space}>", roles[role].span)
            found = known if known.kind == "pointer" else written
            if found.kind == "pointer" and found.space != space:
                raise InputError(
                    f"{op.name}: {role} `{roles[role].name}` points into {found.space or 'no known memory'}, not {space}",
                    roles[role].span, "the source comes first",
                )  # fmt: skip
            own.append(found if found.kind == "pointer" else Type("pointer", "", 8, space))
        return Copy(op.span, kind, inline, roles, levels, pad, (own[0], own[1]), op.name_span)

    def _inline_copy(self, op: Op) -> Stmt:
        kind, names = INLINE_ROLES[op.name]
        cursor = _Cursor(op)
        token = cursor.peek()
        if token is not None and token.text == "(":
            raise InputError(f"{op.name} in the generic form", op.name_span, "print it in its own syntax")
        args = cursor.operands()
        if len(args) != len(names):
            hint = f"{', '.join(names)}, then nburst(...)"
            raise InputError(
                f"{op.name} takes {len(names)} operands before its groups, not {len(args)}", op.name_span, hint
            )
        roles = dict(zip(names, args, strict=True))
        levels: list[Level] = []
        pad: list[Operand] | None = None
        while (token := cursor.peek()) is not None and token.kind == "word":
            if token.text not in _GROUPS:
                raise InputError(
                    f"{op.name} has no group `{token.text}`", op.at(token), f"it has {', '.join(_GROUPS[:2])}, pad"
                )
            cursor.at += 1
            group = cursor.grouped()
            cursor.take(",")
            span = op.at(token).to(
                Span(op.source, cursor.tokens[cursor.at - 1].start, cursor.tokens[cursor.at - 1].end)
            )
            if pad is not None:
                raise InputError(f"{op.name}: `{token.text}` behind `pad`", span, "pad comes last, once")
            if token.text == "pad":
                if kind != LOAD or len(group) not in (1, 3):
                    raise InputError(f"{op.name}: pad takes a value, or a value and two counts, on loads", span)
                pad = group
            elif token.text == "l2_cache_ctl":
                if kind != STORE or len(group) != 1:
                    raise InputError(f"{op.name}: l2_cache_ctl takes one value, on stores", span)
                roles["l2"] = group[0]
            else:
                if (token.text == "nburst") != (not levels) or len(group) != 3:
                    raise InputError(
                        f"{op.name}: one nburst(count, src, dst), then loop(count, src, dst)", span,
                        "groups are written inner to outer",
                    )  # fmt: skip
                levels.append(Level(*group, span))
        if not levels:
            raise InputError(
                f"{op.name} without nburst(...)", op.name_span, "nburst(count, source stride, destination stride)"
            )
        types = self._typed_tail(cursor)
        made = None
        if pad is not None:
            made = Pad(pad[0], self._of(pad[0]), pad[1] if len(pad) > 1 else None, pad[2] if len(pad) > 1 else None)
        return self._copy(op, kind, True, roles, types, tuple(levels), made)

    def _set_loop(self, op: Op) -> Stmt:
        parts = op.name.removeprefix("pto.set_").rsplit("_", 1)
        direction = {"outtoub": LOAD, "ubtoout": STORE}.get(parts[-1])
        what = {"loop_size": "size", "loop1_stride": "loop1", "loop2_stride": "loop2"}.get(parts[0])
        if direction is None or what is None:
            raise InputError(f"{op.name} is no loop register of GM and UB", op.name_span, "it is not understood")
        cursor = _Cursor(op)
        cursor.take("(")
        args = cursor.operands()
        if len(args) != 2:
            raise InputError(f"{op.name} takes 2 operands, not {len(args)}", op.name_span)
        return SetLoop(op.span, direction, what, args[0], args[1])

    def _set_pad(self, op: Op) -> Stmt:
        cursor = _Cursor(op)
        cursor.take("(")
        value = cursor.operand()
        cursor.take(")")
        types = self._typed_tail(cursor)
        known = self._of(value)
        kind = known if known.kind in ("int", "float") else types[0] if types else OTHER
        if kind.name.startswith("ui"):
            raise InputError(
                f"{op.name}: `{kind.name}` is refused by the assembler", value.span, "use a signless integer"
            )
        return SetPad(op.span, value, kind)

    def _atomic(self, op: Op) -> Stmt:
        mode = op.name.removeprefix("pto.set_atomic").strip("_")
        token = next((t for t in op.tokens if t.kind in ("string", "word")), None)
        mode = mode or (token.text.strip('"').lower() if token else "on")
        return SetAtomic(op.span, "" if mode in ("none", "off") else mode)

    def _flag(self, op: Op) -> Stmt:
        cursor = _Cursor(op)
        words: list[str] = []
        event: Operand | None = None
        for token in cursor.tokens:
            text = token.text.strip('"')
            if token.kind in ("string", "word") and text.startswith("PIPE_"):
                words.append(text.removeprefix("PIPE_"))
            elif token.kind in ("string", "word") and text.startswith("EVENT_ID"):
                number = text.removeprefix("EVENT_ID")
                if number.isdigit():
                    event = Operand("", op.at(token), int(number))
            elif token.kind == "value":
                event = Operand(token.text, op.at(token))
            elif token.kind == "number" and event is None:
                event = Operand("", op.at(token), _integer(text))
            elif token.text == ":":
                break
        if len(words) != 2 or event is None:
            raise InputError(
                f"{op.name} needs two pipes and an event", op.name_span, '["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]'
            )
        action = "set" if op.name.startswith("pto.set") else "wait"
        return Flag(op.span, action, words[0], words[1], event)

    def _barrier(self, op: Op) -> Stmt:
        pipe = next((t.text.strip('"') for t in op.tokens if t.text.strip('"').startswith("PIPE_")), None)
        if pipe is None:
            raise InputError(f"{op.name} names no pipe", op.name_span, '"PIPE_MTE3", or <PIPE_ALL>')
        return Barrier(op.span, pipe.removeprefix("PIPE_"))

    def _buffer(self, op: Op) -> Stmt:
        cursor = _Cursor(op)
        token = cursor.peek()
        while token is not None and not token.text.strip('"').startswith("PIPE_"):
            cursor.at += 1
            token = cursor.peek()
        if token is None:
            raise InputError(f"{op.name} names no pipe", op.name_span, '"PIPE_V", id, mode')
        cursor.at += 1
        for mark in (">", "]", ","):
            cursor.take(mark)
        args = cursor.operands()
        if len(args) not in (1, 2):
            raise InputError(f"{op.name} takes a pipe, an id and a mode", op.name_span)
        mode = args[1] if len(args) == 2 else Operand("", args[0].span, 0)
        return Buffer(
            op.span, "get" if "get" in op.name else "rls", token.text.strip('"').removeprefix("PIPE_"), args[0], mode
        )

    # ------------------------------------------------------------ control

    def _for(self, op: Op) -> Stmt:
        cursor = _Cursor(op)
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
        cursor = _Cursor(op)
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
        cursor = _Cursor(op)
        cursor.take("(")
        return Yield(op.span, tuple(cursor.operands()))

    def _scope(self, op: Op) -> Stmt:
        return Block(op.span, tuple(s for region in op.regions for s in self.block(region)), op.name)

    # ------------------------------------------------------------ the rest

    def _results_of(self, op: Op) -> Stmt:
        cursor = _Cursor(op)
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
            out += self._accesses(op)
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

    def _accesses(self, op: Op) -> list[Stmt]:
        """Vector accesses: every UB pointer that an operation names, with the offset in brackets behind it."""
        out: list[Stmt] = []
        short = op.name.rsplit(".", 1)[-1]
        way = "r" if short.startswith(("vld", "ld")) else "w" if short.startswith(("vst", "st")) else "rw"
        tokens = op.tokens
        size = 0
        if way != "rw":
            found = next((i for i, t in enumerate(tokens) if t.text == "!pto.vreg"), None)
            size = VECTOR_BYTES
            if found is not None:
                size = self._type(_Cursor(op, tokens[found:])).bits // 8 or VECTOR_BYTES
        for index, token in enumerate(tokens):
            if token.text == ":":
                break
            kind = self.types.get(token.text, OTHER) if token.kind == "value" else OTHER
            if kind.kind != "pointer" or kind.space != "ub":
                continue
            offset = None
            if (
                index + 2 < len(tokens)
                and tokens[index + 1].text == "["
                and tokens[index + 2].kind in ("value", "number")
            ):
                after = tokens[index + 2]
                value = None if after.kind == "value" else _integer(after.text)
                offset = Operand(after.text if after.kind == "value" else "", op.at(after), value)
            out.append(Access(op.name_span, Operand(token.text, op.at(token)), offset, size, way, op.name))
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


def _bits(name: str) -> int:
    if name in _WIDTH:
        return _WIDTH[name]
    digits = name.lstrip("uisbf")
    return int(digits) if digits.isdigit() else 0


def _number_type(name: str) -> Type:
    bits = _bits(name)
    if name == "index" or (bits and name.rstrip("0123456789") in ("i", "si", "ui")):
        return Type("int", name, bits)
    return Type("float", name, bits) if bits else Type("other", name)


def _float_bits(text: str, name: str, bits: int) -> int:
    """Raw bits of a float constant; hexadecimal ones are the bits already."""
    if text.lower().startswith(("0x", "-0x")):
        return int(text, 16)
    value = float(text)
    if name == "bf16":
        (raw,) = struct.unpack("<I", struct.pack("<f", value))
        return int((raw + 0x7FFF + ((raw >> 16) & 1)) >> 16) & 0xFFFF
    form = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}.get(bits)
    if form is None:
        return 0 if value == 0 else 1 << (bits - 1) if bits else 0
    try:
        (raw,) = struct.unpack(form[1], struct.pack(form[0], value))
    except OverflowError:
        raw = {16: 0x7C00, 32: 0x7F800000}[bits] | (1 << (bits - 1) if value < 0 else 0)
    return int(raw)
