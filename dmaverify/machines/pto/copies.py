"""Copies, registers, flags, barriers and buffers: their operand lists in both surfaces.

Knows: the order of operands, groups of inline copies, the spellings of pipes and events.
Does not know: arithmetic, control flow, values.
Law: an operation that concerns DMA is read whole or raises InputError at its place.

Source: "DMA Copy" (vector instruction set); PTO v0.6 operand lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dmaverify.errors import InputError, Span
from dmaverify.machines.pto.generic import buffer_in, flag_in, inline_operands, is_generic
from dmaverify.machines.pto.mlir import Op
from dmaverify.machines.pto.ops import (
    LOAD,
    LOCAL,
    OTHER,
    STORE,
    Assumed,
    Barrier,
    BufferOp,
    CopyLevel,
    CopyOp,
    CopyPad,
    Flag,
    Operand,
    SetAtomic,
    SetLoop,
    SetPad,
    Stmt,
    ValueType,
)
from dmaverify.machines.pto.roles import COPY_ROLES, EARLY_STORE, EVENT_PIPES, INLINE_ROLES
from dmaverify.machines.pto.types import GROUPS, TokenCursor, TypeReader, integer_of
from dmaverify.values import replace

ATOMIC_TYPES = ("f32", "f16", "bf16", "s32", "s16", "s8", "i32", "i16", "i8")
"""Element types that stores accumulate in, as `pto.set_atomic_f32` names them."""


class CopyReader(TypeReader):
    """Operations that concern DMA."""

    def _register_copy(self, op: Op) -> Stmt | list[Stmt]:
        kind, names = COPY_ROLES[op.name]
        cursor = TokenCursor(op)
        cursor.take("(")
        args = cursor.operands()
        cursor.take(")")
        cursor.to_end()
        if kind == STORE and len(args) == 10:
            said = f"{op.name} with 10 operands is the form of 2026-03: valid rows, valid columns and the reserved "
            early = {n: a for n, a in zip(EARLY_STORE, args, strict=True) if not n.startswith(("valid", "reserved"))}
            made = self._copy(op, kind, False, early, self._typed_tail(cursor))
            return [Assumed(op.span, f"{said}operand have no effect"), made]
        if len(args) != len(names):
            hint = f"{', '.join(names)}, in this order"
            raise InputError(f"{op.name} takes {len(names)} operands, not {len(args)}", op.name_span, hint)
        types = self._typed_tail(cursor)
        return self._copy(op, kind, False, dict(zip(names, args, strict=True)), types)

    def _copy(
        self,
        op: Op,
        kind: str,
        inline: bool,
        roles: Mapping[str, Operand],
        types: list[ValueType],
        levels: tuple[CopyLevel, ...] = (),
        pad: CopyPad | None = None,
    ) -> Stmt:
        spaces = {LOAD: ("gm", "ub"), STORE: ("ub", "gm"), LOCAL: ("ub", "ub")}[kind]
        own: list[ValueType] = []
        for index, (role, space) in enumerate(zip(("src", "dst"), spaces, strict=True)):
            written = types[index] if index < len(types) else OTHER
            known = self._of(roles[role])
            if (
                known.kind == written.kind == "pointer"
                and known.bits
                and written.bits
                and known.space
                and written.space
                and (known.bits, known.space) != (written.bits, written.space)
            ):
                said = f"`{roles[role].name}` is !pto.ptr<{known.name}, {known.space}>, the type written says "
                raise InputError(f"{op.name}: {said}<{written.name}, {written.space}>", roles[role].span)
            found = known if known.kind == "pointer" else written
            if found.kind == "pointer" and found.space not in (space, ""):
                raise InputError(
                    f"{op.name}: {role} `{roles[role].name}` points into {found.space or 'nothing known'}, not {space}",
                    roles[role].span,
                    "the source comes first",
                )
            own.append(replace(found, space=space) if found.kind == "pointer" else ValueType("pointer", "", 8, space))
        return CopyOp(op.span, kind, inline, roles, levels, pad, (own[0], own[1]), op.name_span)

    def _inline_copy(self, op: Op) -> Stmt | list[Stmt]:
        kind, names = INLINE_ROLES[op.name]
        cursor = TokenCursor(op)
        early = op.name.startswith("pto.dma_")
        if is_generic(op):
            if early:
                raise InputError(
                    f"{op.name} in the generic form is not read", op.name_span, "print it in its own syntax"
                )
            given, steps, padding = inline_operands(op, kind)
            made = None if padding is None else self._padding(padding)
            return self._copy(op, kind, True, given, self._typed_tail(cursor), tuple(steps), made)
        args = cursor.operands()
        if early and len(args) == len(names) + 1:
            names = (*names[:2], "sid", *names[2:])
        elif early and kind == STORE and len(args) == len(names) + 2:
            names = (*names[:2], "sid", "l2", *names[2:])  # its fourth operand is reserved
        if len(args) != len(names):
            hint = f"{', '.join(names)}, then nburst(...)"
            raise InputError(
                f"{op.name} takes {len(names)} operands before its groups, not {len(args)}", op.name_span, hint
            )
        roles = dict(zip(names, args, strict=True))
        levels, pad = self._groups(op, kind, cursor, roles)
        if not levels:
            raise InputError(
                f"{op.name} without nburst(...)", op.name_span, "nburst(count, source stride, destination stride)"
            )
        cursor.to_end()
        types = self._typed_tail(cursor)
        copy = self._copy(op, kind, True, roles, types, tuple(levels), None if pad is None else self._padding(pad))
        if not early:
            return copy
        later = {LOAD: "mte_gm_ub", STORE: "mte_ub_gm"}.get(kind, "mte_ub_ub")
        said = f"{op.name}: its operands are read in the order of pto.{later}"
        return [Assumed(op.span, said), copy]

    def _groups(
        self, op: Op, kind: str, cursor: TokenCursor, roles: dict[str, Operand]
    ) -> tuple[list[CopyLevel], list[Operand] | None]:
        """The groups behind the operands of a copy: its loops, and how it pads."""
        levels: list[CopyLevel] = []
        pad: list[Operand] | None = None
        while (token := cursor.peek()) is not None and token.kind == "word":
            if token.text not in GROUPS:
                raise InputError(
                    f"{op.name} has no group `{token.text}`", op.at(token), f"it has {', '.join(GROUPS[:2])}, pad"
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
                        f"{op.name}: one nburst(count, src, dst), then loop(count, src, dst)",
                        span,
                        "groups are written inner to outer",
                    )
                levels.append(CopyLevel(group[0], group[1], group[2], span))
        return levels, pad

    def _padding(self, pad: list[Operand]) -> CopyPad:
        more = (pad[1], pad[2]) if len(pad) > 1 else (None, None)
        return CopyPad(pad[0], self._of(pad[0]), *more)

    def _set_loop(self, op: Op) -> Stmt:
        parts = op.name.removeprefix("pto.set_").rsplit("_", 1)
        direction = {"outtoub": LOAD, "ubtoout": STORE}.get(parts[-1])
        what = {"loop_size": "size", "loop1_stride": "loop1", "loop2_stride": "loop2"}.get(parts[0])
        if direction is None or what is None:
            raise InputError(f"{op.name} is no loop register of GM and UB", op.name_span, "it is not understood")
        cursor = TokenCursor(op)
        cursor.take("(")
        args = cursor.operands()
        if len(args) != 2:
            raise InputError(f"{op.name} takes 2 operands, not {len(args)}", op.name_span)
        cursor.take(")")
        cursor.to_end()
        return SetLoop(op.span, direction, what, args[0], args[1])

    def _set_pad(self, op: Op) -> Stmt:
        cursor = TokenCursor(op)
        cursor.take("(")
        value = cursor.operand()
        cursor.take(")")
        cursor.to_end()
        types = self._typed_tail(cursor)
        known = self._of(value)
        kind = known if known.kind in ("int", "float") else types[0] if types else OTHER
        return SetPad(op.span, value, kind)

    def _atomic(self, op: Op) -> Stmt:
        mode = op.name.removeprefix("pto.set_atomic").strip("_")
        token = next((t for t in op.tokens if t.kind in ("string", "word")), None)
        mode = mode or (token.text.strip('"').lower() if token else "on")
        if mode in ATOMIC_TYPES:
            return SetAtomic(op.span, None, mode)
        return SetAtomic(op.span, "" if mode in ("none", "off") else mode)

    def _flag(self, op: Op) -> Stmt:
        action = "set" if op.name.startswith("pto.set") else "wait"
        pretty = bool(op.tokens) and op.tokens[0].text == "["
        named = None if pretty else flag_in(op)
        if named is not None and named[2] is not None:
            return Flag(op.span, action, named[0].removeprefix("PIPE_"), named[1].removeprefix("PIPE_"), named[2])
        cursor = TokenCursor(op)
        words: list[str] = []
        event: Operand | None = None
        for token in cursor.tokens:
            text = token.text.strip('"')
            if token.kind in ("string", "word") and text.startswith("PIPE_"):
                words.append(text.removeprefix("PIPE_"))
            elif token.kind in ("string", "word") and text.startswith("EVENT_ID"):
                number = text.removeprefix("EVENT_ID")
                if number.isdecimal():
                    event = Operand("", op.at(token), int(number))
            elif token.kind == "value":
                event = Operand(token.text, op.at(token))
            elif token.kind == "number" and event is None:
                event = Operand("", op.at(token), integer_of(text))
            elif token.text == ":":
                break
        if len(words) != 2 or event is None:
            raise InputError(
                f"{op.name} needs two pipes and an event", op.name_span, '["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]'
            )
        return Flag(op.span, action, words[0], words[1], event)

    def _event(self, op: Op) -> Stmt:
        """`record_event` and `wait_event` between two kinds of operations: the flag between their pipes."""
        words = [t for t in op.tokens if t.kind == "word"]
        pipes = [EVENT_PIPES[t.text] for t in words if t.text in EVENT_PIPES]
        numbers = [t for t in words if re.fullmatch(r"EVENT_ID\d+", t.text)]
        if is_generic(op) or len(pipes) != 2 or len(numbers) != 1 or len(words) != 3:
            raise InputError(f"{op.name} names two kinds of operations and an event", op.name_span, "use pto.set_flag")
        event = Operand("", op.at(numbers[0]), int(numbers[0].text.removeprefix("EVENT_ID")))
        return Flag(op.span, "wait" if "wait" in op.name else "set", pipes[0], pipes[1], event)

    def _barrier(self, op: Op) -> Stmt:
        if op.name == "pto.barrier_sync":
            pipes = [EVENT_PIPES[t.text] for t in op.tokens if t.text in EVENT_PIPES]
            if len(pipes) != 1:
                raise InputError(f"{op.name} names one kind of operations", op.name_span, "use pto.barrier")
            return Barrier(op.span, pipes[0])
        pipe = next((t.text.strip('"') for t in op.tokens if t.text.strip('"').startswith("PIPE_")), None)
        if pipe is None:
            raise InputError(f"{op.name} names no pipe", op.name_span, '"PIPE_MTE3", or <PIPE_ALL>')
        return Barrier(op.span, pipe.removeprefix("PIPE_"))

    def _buffer(self, op: Op) -> Stmt:
        cursor = TokenCursor(op)
        pipe = ""
        while (token := cursor.peek()) is not None and not pipe:
            text = token.text.strip('"')
            pipe = EVENT_PIPES.get(text, text.removeprefix("PIPE_") if text.startswith("PIPE_") else "")
            cursor.at += 1
        if not pipe:
            raise InputError(f"{op.name} names no pipe", op.name_span, '"PIPE_V", id, mode')
        for mark in (">", "]", ","):
            cursor.take(mark)
        named = buffer_in(op) if is_generic(op) else None
        args = cursor.operands() if named is None else named[1]
        if len(args) not in (1, 2):
            raise InputError(f"{op.name} takes a pipe, an id and a mode", op.name_span)
        mode = args[1] if len(args) == 2 else Operand("", args[0].span, 0)
        return BufferOp(op.span, "get" if "get" in op.name else "rls", pipe, args[0], mode)
