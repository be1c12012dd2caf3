"""What a PTO kernel does: statements become events with resolved operands, registers followed through the program.

Knows: the value of every operand as a linear term over arguments and loop counters, sticky registers, closed forms of
values that loops carry. Does not know: what is allowed, how anything is proved.
Law: an operand has exactly the value that the program gives it, for all arguments and iterations, or it is opaque and
a copy that needs it is a remark at its line; a register whose value depends on the path is never guessed.

Source: MLIR arith and scf; "DMA Copy" (registers set before the copy); PTO v0.6 (sticky state, inline loops).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dmaverify.errors import Span
from dmaverify.machines import pto_ops as ops
from dmaverify.machines.pto_moves import PIPE_OF, touches_of
from dmaverify.machines.pto_ops import LOCAL, STORE, Operand, Stmt, Type
from dmaverify.transfer.affine import ONE, ZERO, Cond, Lin, World, both, compare
from dmaverify.transfer.instructions import (
    Branch,
    Copy,
    Event,
    Fence,
    Fill,
    Loop,
    Place,
    Remark,
    Signal,
    Step,
    Token,
    Touch,
    Use,
)

Value = Lin | Place | Cond | None
_NAMED = re.compile(r"%c(_?)(\d+)(?:_(?:i\d+|index))?(?:_\d+)?")
_PREDICATES = {"eq": ("eq", 1), "ne": ("ne", 1), "slt": ("lt", 1), "ult": ("lt", 1), "sle": ("le", 1), "ule": ("le", 1),
               "sgt": ("lt", -1), "ugt": ("lt", -1), "sge": ("le", -1), "uge": ("le", -1)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """What the text does not say: ranges of arguments (inclusive), bytes of GM tensors, chosen readings."""

    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    extents: Mapping[str, int] = field(default_factory=dict)
    readings: Mapping[str, str] = field(default_factory=dict)
    canonical: bool = False  # arguments and counters named by their order, to compare kernels


@dataclass(frozen=True, slots=True)
class Register:
    """A sticky register: its two values and where they were set; `mixed` where that depends on the path."""

    first: Lin
    second: Lin
    span: Span | None = None
    mixed: tuple[Span, ...] = ()
    by: str = "set"
    type: Type = ops.OTHER

    def same(self, other: Register | None) -> bool:
        return other is not None and (self.first, self.second, self.mixed, self.type) == (
            other.first, other.second, other.mixed, other.type,
        )  # fmt: skip


@dataclass
class Kernel:
    """A function as events, with all that was found and assumed on the way."""

    name: str
    span: Span
    world: World
    events: tuple[Event, ...] = ()
    copies: list[Copy] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    assumptions: dict[str, None] = field(default_factory=dict)
    roots: dict[str, Type] = field(default_factory=dict)
    passed: tuple[tuple[str, int], ...] = ()
    atomic: bool = False


def meaning_of(function: ops.Function, setting: Setting) -> Kernel:
    """The events of a function."""
    meaning = _Meaning(function, setting)
    kernel = meaning.kernel
    kernel.events = tuple(meaning.block(function.body))
    meaning.leave()
    kernel.passed = function.passed
    return kernel


def _name(text: str) -> str:
    plain = re.sub(r"\W", "_", text.lstrip("%"))
    return plain if plain[:1].isalpha() else f"v{plain}"


class _Meaning:
    """Walks statements in order of issue."""

    def __init__(self, function: ops.Function, setting: Setting) -> None:
        self.setting = setting
        self.world = World()
        self.kernel = Kernel(function.name, function.span, self.world)
        self.fragment = not function.name
        self.values: dict[str, Value] = {}
        self.floats: dict[str, tuple[int, Type]] = {}
        self.bits: dict[str, int] = {}
        self.opaque: set[str] = set()
        self.registers: dict[str, Register] = {}
        self.consumed: dict[str, Span] = {}
        self.when: tuple[Cond, ...] = ()
        self.dry = 0
        self.number = 0
        self.pad_types: dict[str, Type] = {}
        self.atomic = ""
        self.atomic_span: Span | None = None
        self.counters = 0
        self.arguments = {a[0]: f"arg{i}" for i, a in enumerate(function.args)} if setting.canonical else {}
        for name, kind, span in function.args:
            self.argument(name, kind, span)

    # ------------------------------------------------------------ values

    def argument(self, name: str, kind: Type, span: Span) -> Value:
        if kind.kind == "pointer":
            space = kind.space or "gm"
            root = self.arguments.get(name, name.lstrip("%"))
            value: Value = Place(space, root, ZERO, kind.item_bytes, kind.name)
            self.kernel.roots[root] = kind
            if space == "ub":
                self.assume(f"{name} is a multiple of 32 and its buffer lies in UB")
        elif kind.kind == "other" and kind.name.startswith("memref"):
            value = None
        else:
            plain = name.lstrip("%")
            stated = self.setting.ranges.get(plain)
            low, high = stated or (None, None)
            called = self.arguments.get(name, name)
            value = self.world.free(_name(called), low, high, stated=stated is not None, shown=called)
            if stated:
                self.assume(f"{name} in {stated[0]:,}..{stated[1]:,}")
        self.values[name] = value
        return value

    def assume(self, text: str) -> None:
        if not self.dry:
            self.kernel.assumptions[text] = None

    def remark(
        self,
        kind: str,
        message: str,
        span: Span,
        hint: str = "",
        labels: Sequence[tuple[Span, str]] = (),
        *,
        always: bool = True,
    ) -> None:
        if not self.dry:
            self.kernel.remarks.append(Remark(kind, message, span, hint, tuple(labels), always))

    def value(self, operand: Operand, kind: Type | None = None) -> Value:
        if operand.value is not None:
            return Lin(operand.value)
        if operand.name in self.values:
            return self.values[operand.name]
        if self.fragment:
            if kind is not None and kind.kind == "pointer":
                return self.argument(operand.name, kind, operand.span)
            named = _NAMED.fullmatch(operand.name)
            if named or operand.name in ("%true", "%false"):
                self.assume("constants that are not defined have the value in their name")
                number = int(operand.name == "%true") if named is None else int(named[2]) * (-1 if named[1] else 1)
                return Lin(number)
            return self.argument(operand.name, ops.INDEX, operand.span)
        self.remark("unresolved", f"`{operand.name}` is not defined before its use", operand.span)
        self.values[operand.name] = None
        return None

    def number_of(self, operand: Operand, what: str) -> Lin | None:
        """An integer operand, or None with a remark at its place."""
        value = self.value(operand)
        if isinstance(value, Cond):
            value = self.as_number(value)
        if isinstance(value, Lin) and not (self.world.roots(value) & self.opaque):
            return value
        self.remark(
            "unresolved", f"{what} `{operand.name}` cannot be resolved", operand.span,
            "make it a constant, an argument, a loop counter, or arithmetic of those",
        )  # fmt: skip
        return None

    def as_number(self, when: Cond) -> Lin:
        if when.known is not None:
            return Lin(int(when.known))
        return self.world.choose(when, ONE, ZERO)

    def as_condition(self, value: Value) -> Cond | None:
        if isinstance(value, Lin):
            return compare("ne", value)
        return value if isinstance(value, Cond) else None

    def fresh_opaque(self, name: str, low: int | None = None) -> Lin:
        value = self.world.free(_name(name), low, None, stated=False, shown=name)
        return value

    # ------------------------------------------------------------ statements

    def block(self, body: Sequence[Stmt]) -> list[Event]:
        out: list[Event] = []
        for stmt in body:
            handler = getattr(self, f"_{type(stmt).__name__.lower()}")
            found = handler(stmt)
            if isinstance(found, list):
                out += found
            elif found is not None:
                out.append(found)
        return out

    def _const(self, stmt: ops.Const) -> None:
        self.bits[stmt.result] = stmt.value
        self.values[stmt.result] = Lin(stmt.value) if stmt.type.kind == "int" else None
        self.pad_types[stmt.result] = stmt.type
        if stmt.type.kind == "float":
            self.floats[stmt.result] = (stmt.value, stmt.type)

    def _opaque(self, stmt: ops.Opaque) -> None:
        for name, kind in zip(stmt.results, stmt.types, strict=True):
            if stmt.least is not None or kind.kind == "int":
                value = self.fresh_opaque(name, stmt.least)
                self.values[name] = value
                if stmt.least is None:
                    self.opaque.add(value.terms[0][0])
                else:
                    stated = self.setting.ranges.get(name.lstrip("%"))
                    if stated:
                        self.world.symbols[value.terms[0][0]] = replace(
                            self.world.symbols[value.terms[0][0]], low=stated[0], high=stated[1], stated=True
                        )
            else:
                self.values[name] = None

    def _arith(self, stmt: ops.Arith) -> None:
        self.values[stmt.result] = self._calculated(stmt)

    def _calculated(self, stmt: ops.Arith) -> Value:
        args = [self.value(a) for a in stmt.args]
        op, world = stmt.op, self.world
        if op.startswith(("index_", "ext", "trunc")):
            return args[0]
        if op == "select":
            return self._select(self.as_condition(args[0]), args[1], args[2])
        if any(isinstance(a, Cond) for a in args) and op in ("andi", "ori", "xori") and stmt.type.bits == 1:
            first, second = (self.as_condition(a) for a in args)
            if first is None or second is None:
                return None
            if op == "xori":
                if second.known is not None:
                    return first.negated() if second.known else first
                return both([both([first, second.negated()]), both([first.negated(), second])], "or")
            return both([first, second], "and" if op == "andi" else "or")
        numbers = [self.as_number(a) if isinstance(a, Cond) else a for a in args]
        if not all(isinstance(n, Lin) for n in numbers):
            return self._lost(stmt)
        a, b = numbers[0], numbers[1]
        assert isinstance(a, Lin)
        assert isinstance(b, Lin)
        if op == "cmpi":
            if stmt.predicate not in _PREDICATES:
                return None
            what, sign = _PREDICATES[stmt.predicate]
            return compare(what, (a - b) * sign)
        if op in ("addi", "subi"):
            return a + b if op == "addi" else a - b
        if op == "muli":
            return world.times(a, b)
        if op in ("minui", "minsi", "maxui", "maxsi"):
            return world.least(a, b, most=op.startswith("max"))
        if b.is_const:
            return self._with_number(stmt, op, a, b.const)
        return self._lost(stmt)

    def _with_number(self, stmt: ops.Arith, op: str, a: Lin, n: int) -> Value:
        world = self.world
        if op == "shli" and 0 <= n < 64:
            return a * (1 << n)
        if op in ("divui", "divsi", "floordivsi", "shrui", "shrsi", "remui", "remsi", "ceildivui", "ceildivsi"):
            divisor = 1 << n if op.startswith("shr") and 0 <= n < 64 else n
            if divisor < 1:
                return self._lost(stmt)
            low = world.interval(a)[0]
            if op not in ("floordivsi", "shrsi") and (low is None or low < 0):
                self.assume(f"`{stmt.result}` divides a value that is not negative")
            if op.startswith("ceil"):
                return world.divide(a + (divisor - 1), divisor)
            return world.modulo(a, divisor) if op.startswith("rem") else world.divide(a, divisor)
        if op == "andi" and n >= 0 and (n & (n + 1)) == 0:
            return world.modulo(a, n + 1)
        if op == "xori" and n == 1 and world.interval(a) in ((0, 1), (0, 0), (1, 1)):
            return -a + 1
        if a.is_const and op in ("andi", "ori", "xori"):
            return Lin({"andi": a.const & n, "ori": a.const | n, "xori": a.const ^ n}[op])
        return self._lost(stmt)

    def _lost(self, stmt: ops.Arith) -> Lin:
        value = self.fresh_opaque(stmt.result)
        self.opaque.add(value.terms[0][0])
        return value

    def _select(self, when: Cond | None, left: Value, right: Value) -> Value:
        if when is None:
            return None
        if when.known is not None:
            return left if when.known else right
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

    def _castptr(self, stmt: ops.CastPtr) -> None:
        source = self.value(stmt.source)
        kind = stmt.type
        if isinstance(source, Place):
            made: Value = replace(source, item_bytes=kind.item_bytes, dtype=kind.name)
        elif isinstance(source, Lin):
            made = Place(kind.space or "ub", "", source, kind.item_bytes, kind.name)
        else:
            made = None
        self.values[stmt.result] = made

    def _addptr(self, stmt: ops.AddPtr) -> None:
        base, offset = self.value(stmt.base, stmt.type), self.value(stmt.offset)
        if isinstance(offset, Cond):
            offset = self.as_number(offset)
        if isinstance(base, Place) and isinstance(offset, Lin):
            self.values[stmt.result] = replace(base, address=base.address + offset * base.item_bytes)
        else:
            self.values[stmt.result] = None

    # ------------------------------------------------------------ registers

    def _setloop(self, stmt: ops.SetLoop) -> None:
        first, second = self.number_of(stmt.first, "the operand"), self.number_of(stmt.second, "the operand")
        if first is None or second is None:
            first = second = self.fresh_opaque("%register")
            self.opaque.add(first.terms[0][0])
        key = f"{stmt.kind}.{stmt.what}"
        if stmt.what == "size":
            self.consumed.pop(key, None)
            if self.setting.readings.get("loop-order") == "outer-first":
                first, second = second, first
        self.registers[key] = Register(first, second, stmt.span)

    def _setpad(self, stmt: ops.SetPad) -> None:
        raw = self.bits.get(stmt.value.name) if stmt.value.value is None else stmt.value.value
        value = self.values.get(stmt.value.name)
        if raw is None and isinstance(value, Lin) and value.is_const:
            raw = value.const
        known = self.pad_types.get(stmt.value.name, stmt.type)
        kind = stmt.type if stmt.type.bits else known
        self.registers["pad"] = Register(
            Lin(-1) if raw is None else Lin(raw % (1 << max(8, kind.bits))), ZERO, stmt.span, type=kind
        )

    def _setatomic(self, stmt: ops.SetAtomic) -> None:
        self.atomic, self.atomic_span = stmt.mode, stmt.span

    def leave(self) -> None:
        """What the end of a function must find."""
        if self.atomic and self.atomic_span is not None:
            self.remark(
                "state",
                f"the store mode `{self.atomic}` is left on",
                self.atomic_span,
                "set_atomic_none at the end",
                always=False,
            )

    def _register(self, key: str, what: str, copy: ops.Copy) -> Register | None:
        """The register that a copy depends on; None with a remark where the path decides it."""
        found = self.registers.get(key)
        if found is None or not found.mixed:
            return found
        self.remark(
            "state", f"{what} depends on the path that leads here", copy.name_span,
            "set it before this copy, on every path", [(span, "set here") for span in found.mixed],
        )  # fmt: skip
        return None

    # ------------------------------------------------------------ copies

    def _copy(self, stmt: ops.Copy) -> Copy | None:
        self.number += 1
        number = self.number
        sides = [self._side(stmt, role, index) for index, role in enumerate(("src", "dst"))]
        made = self._inline(stmt) if stmt.inline else self._by_registers(stmt)
        if stmt.inline and stmt.kind != LOCAL:
            self._after_inline(stmt)
        if made is None or sides[0] is None or sides[1] is None:
            return None
        steps, row, fill, ports, spans, setup = made
        ports |= {"read_item_bytes": Lin(sides[0].item_bytes), "write_item_bytes": Lin(sides[1].item_bytes)}
        vector = stmt.kind == LOCAL and self.setting.readings.get("local-pipe") == "vector"
        pipe = "V" if vector else PIPE_OF[stmt.kind]
        copy = Copy(
            number, stmt.kind, pipe, sides[0], sides[1], row, tuple(steps), fill, ports, spans, stmt.name_span,
            self.when, stmt.inline, tuple(setup), (), self.atomic if stmt.kind == STORE else "",
        )  # fmt: skip
        copy = replace(copy, touches=touches_of(copy, self.world, self.setting.readings))
        if not self.dry:
            self.kernel.copies.append(copy)
        return copy

    def _side(self, stmt: ops.Copy, role: str, index: int) -> Place | None:
        operand = stmt.roles[role]
        value = self.value(operand, stmt.types[index])
        if isinstance(value, Place) and not (self.world.roots(value.address) & self.opaque):
            if stmt.types[index].name and not value.dtype:
                value = replace(value, item_bytes=stmt.types[index].item_bytes, dtype=stmt.types[index].name)
            return value
        said = "source" if role == "src" else "destination"
        self.remark("unresolved", f"the {said} pointer `{operand.name}` cannot be resolved", operand.span,
                    "make it an argument, a castptr of a number, or addptr of those")  # fmt: skip
        return None

    def _numbers(self, stmt: ops.Copy, names: Sequence[str]) -> dict[str, Lin] | None:
        out: dict[str, Lin] = {}
        for name in names:
            if name in stmt.roles:
                found = self.number_of(stmt.roles[name], name)
                if found is None:
                    return None
                out[name] = found
        return out

    def _inline(self, stmt: ops.Copy):  # type: ignore[no-untyped-def]
        own = self._numbers(stmt, ("l2", "len"))
        levels: list[tuple[Lin, Lin, Lin, ops.Level]] = []
        for level in stmt.levels:
            parts = [
                self.number_of(o, w)
                for o, w in (
                    (level.count, "the count"),
                    (level.src, "the source stride"),
                    (level.dst, "the destination stride"),
                )
            ]
            if None in parts:
                return None
            levels.append((*parts, level))  # type: ignore[arg-type]
        if own is None:
            return None
        spans = {name: operand.span for name, operand in stmt.roles.items()}
        row = own["len"]
        ports = {"rows": levels[0][0], "row_bytes": row}
        spans |= {"rows": levels[0][3].count.span, "row_bytes": stmt.roles["len"].span}
        fill = None
        if stmt.kind == LOCAL:
            return self._local(stmt, row, levels[0][0], levels[0][1], levels[0][2], ports, spans, gap=True)
        if stmt.pad is not None:
            counts = [
                self.number_of(o, "the padding count") if o is not None else ZERO
                for o in (stmt.pad.left, stmt.pad.right)
            ]
            if None in counts:
                return None
            raw = self.bits.get(stmt.pad.value.name)
            kind = self.pad_types.get(stmt.pad.value.name, stmt.pad.type)
            fill = Fill(
                None if raw is None else raw % (1 << max(8, kind.bits)), max(1, kind.bits // 8), counts[0], counts[1]
            )  # type: ignore[arg-type]
            if stmt.pad.left is not None and stmt.pad.right is not None:
                spans |= {"left_count": stmt.pad.left.span, "right_count": stmt.pad.right.span}
        steps = [
            Step(c, s, d, "nburst" if i == 0 else f"loop{i}", (lv.count.span, lv.src.span, lv.dst.span))
            for i, (c, s, d, lv) in enumerate(levels)
        ]
        ports |= self._common_ports(stmt, fill, own.get("l2", ZERO), ZERO)
        ports |= {
            "inner_count": levels[1][0] if len(levels) > 1 else ONE,
            "outer_count": levels[2][0] if len(levels) > 2 else ONE,
        }
        for name, index in (("inner_count", 1), ("outer_count", 2)):
            if len(levels) > index:
                spans[name] = levels[index][3].count.span
        if "l2" in stmt.roles:
            spans["cache_ctl"] = stmt.roles["l2"].span
        return steps, row, fill, ports, spans, []

    def _common_ports(self, stmt: ops.Copy, fill: Fill | None, l2: Lin, sid: Lin) -> dict[str, Lin]:
        item = stmt.types[1].item_bytes
        return {
            "padded": Lin(int(fill is not None)),
            "left_count": fill.left if fill else ZERO,
            "right_count": fill.right if fill else ZERO,
            "pad_bytes": Lin(fill.value_bytes if fill else item),
            "pad_zero": Lin(int(fill is not None and fill.value == 0)),
            "cache_ctl": l2,
            "stream_id": sid,
        }

    def _local(
        self,
        stmt: ops.Copy,
        row: Lin,
        count: Lin,
        src: Lin,
        dst: Lin,
        ports: dict[str, Lin],
        spans: dict[str, Span],
        *,
        gap: bool,
    ):  # type: ignore[no-untyped-def]
        ports |= {"row_units": row, "read_gap": src, "write_gap": dst}
        if self.setting.readings.get("local-unit") == "bytes" and not gap:
            step, size = (src, dst), row
        else:
            step, size = ((row + src) * 32, (row + dst) * 32), row * 32
        ports["row_bytes"] = size
        level = stmt.levels[0] if stmt.levels else None
        places = (
            (level.count.span, level.src.span, level.dst.span)
            if level
            else tuple(stmt.roles[r].span for r in ("n_burst", "src_stride", "dst_stride"))
        )
        return [Step(count, step[0], step[1], "nburst", places)], size, None, ports, spans, []  # type: ignore[arg-type]

    def _by_registers(self, stmt: ops.Copy):  # type: ignore[no-untyped-def]
        names = [r for r in stmt.roles if r not in ("src", "dst", "select")]
        own = self._numbers(stmt, names)
        if own is None:
            return None
        role_of = {"rows": "n_burst", "row_bytes": "len", "left_count": "left", "right_count": "right", "cache_ctl": "l2",
                   "stream_id": "sid", "row_units": "len", "read_gap": "src_stride", "write_gap": "dst_stride"}  # fmt: skip
        spans = {port: stmt.roles[role].span for port, role in role_of.items() if role in stmt.roles}
        ports = {"rows": own["n_burst"], "row_bytes": own["len"]}
        if stmt.kind == LOCAL:
            return self._local(
                stmt, own["len"], own["n_burst"], own["src_stride"], own["dst_stride"], ports, spans, gap=False
            )
        fill, setup = None, []
        if "select" in stmt.roles:
            selected = self.as_condition(self.value(stmt.roles["select"]))
            if selected is None or selected.known is None:
                self.remark(
                    "unresolved", "data_select_bit cannot be resolved", stmt.roles["select"].span, "make it a constant"
                )
                return None
            fill = self._fill(stmt, own) if selected.known else None
            spans["padded"] = stmt.roles["select"].span
        place = [stmt.roles[r].span for r in ("n_burst", "src_stride", "dst_stride")]
        steps = [Step(own["n_burst"], own["src_stride"], own["dst_stride"], "nburst", (place[0], place[1], place[2]))]
        size = self._register(f"{stmt.kind}.size", "the loop size", stmt)
        if size is None and f"{stmt.kind}.size" in self.registers:
            return None
        if size is None:
            self.assume("loop sizes are (1, 1) before they are first set, as at the start of a vector core")
        else:
            setup += [size.span] if size.span else []
            if self.world.roots(size.first) & self.opaque:
                return None
            self._stale(stmt, size)
        counts = (ONE, ONE) if size is None else (size.first, size.second)
        for index, count in enumerate(counts, 1):
            if count == ONE:
                continue
            register = self._register(f"{stmt.kind}.loop{index}", f"the stride of loop{index}", stmt)
            if register is None:
                if f"{stmt.kind}.loop{index}" not in self.registers:
                    labels = [(size.span, f"loop{index} runs {count.shown()} times")] if size and size.span else []
                    self.remark(
                        "state",
                        f"the stride of loop{index} was never set",
                        stmt.name_span,
                        f"pto.set_loop{index}_stride before the copy",
                        labels,
                    )
                return None
            if self.world.roots(register.first) & self.opaque:
                return None
            setup += [register.span] if register.span else []
            steps.append(
                Step(
                    count,
                    register.first,
                    register.second,
                    f"loop{index}",
                    (size.span if size else None, register.span, register.span),
                )
            )
        if size is not None and size.span is not None:
            spans |= {"inner_count": size.span, "outer_count": size.span}
        ports |= self._common_ports(stmt, fill, own.get("l2", ZERO), own["sid"])
        if fill is None and "left" in own:
            ports |= {"left_count": own["left"], "right_count": own["right"]}
        ports |= {"inner_count": counts[0], "outer_count": counts[1]}
        return steps, own["len"], fill, ports, spans, setup

    def _fill(self, stmt: ops.Copy, own: Mapping[str, Lin]) -> Fill:
        found = self._register("pad", "the padding value", stmt)
        if found is None:
            if "pad" not in self.registers:
                self.remark("state", "the padding value was never set; taken as 0", stmt.roles["select"].span,
                            "pto.set_mov_pad_val before the copy", always=False)  # fmt: skip
                self.assume("MOV_PAD_VAL is 0 until it is set")
                return Fill(0, stmt.types[1].item_bytes, own["left"], own["right"])
            return Fill(None, stmt.types[1].item_bytes, own["left"], own["right"])
        raw = found.first.const
        return Fill(raw if raw >= 0 else None, max(1, found.type.bits // 8), own["left"], own["right"])

    def _stale(self, stmt: ops.Copy, size: Register) -> None:
        """Sizes other than (1, 1) that another copy used already, or that an inline copy replaced."""
        key = f"{stmt.kind}.size"
        if size.by != "set":
            if size.span is not None and not self.dry:
                self.remark("state", "the loop sizes were set for this copy, but an inline copy in between put them back to (1, 1)",
                            stmt.name_span, "set the loop sizes behind the inline copy", [(size.span, "puts them back")])  # fmt: skip
            return
        before = self.consumed.get(key)
        if before is not None and (size.first, size.second) != (ONE, ONE) and before.start != stmt.name_span.start:
            labels = [(before, "used here")] + ([(size.span, "set here")] if size.span else [])
            self.remark("state", f"loop sizes ({size.first.shown()}, {size.second.shown()}) are still set from an earlier copy",
                        stmt.name_span, "set the loop sizes before this copy; (1, 1) where it needs no loops", labels, always=False)  # fmt: skip
        self.consumed.setdefault(key, stmt.name_span)

    def _after_inline(self, stmt: ops.Copy) -> None:
        """Lowered, an inline copy writes the registers of its direction and leaves the sizes at (1, 1)."""
        key = f"{stmt.kind}.size"
        old = self.registers.get(key)
        looped = len(stmt.levels) > 1
        if old is not None and (old.mixed or (old.first, old.second) != (ONE, ONE)):
            self.registers[key] = Register(ONE, ONE, stmt.name_span, by="inline")
        elif looped:
            self.registers[key] = Register(ONE, ONE, stmt.name_span)
        if looped:
            for index in range(1, min(3, len(stmt.levels))):
                self.registers.pop(f"{stmt.kind}.loop{index}", None)
        if stmt.pad is not None:
            raw = self.bits.get(stmt.pad.value.name)
            kind = self.pad_types.get(stmt.pad.value.name, stmt.pad.type)
            self.registers["pad"] = Register(
                Lin(-1 if raw is None else raw % (1 << max(8, kind.bits))), ZERO, stmt.name_span, type=kind
            )

    # ------------------------------------------------------------ order

    def _flag(self, stmt: ops.Flag) -> Signal | None:
        event = self.number_of(stmt.event, "the event id")
        return None if event is None else Signal(stmt.action, stmt.source, stmt.dest, event, stmt.span)

    def _barrier(self, stmt: ops.Barrier) -> Fence:
        return Fence(stmt.pipe, stmt.span)

    def _buffer(self, stmt: ops.Buffer) -> Token | None:
        token, mode = self.number_of(stmt.token, "the buffer id"), self.number_of(stmt.mode, "the mode")
        return None if token is None or mode is None else Token(stmt.action, stmt.pipe, token, mode, stmt.span)

    def _access(self, stmt: ops.Access) -> Use | None:
        self.number += 1
        pointer = self.value(stmt.pointer)
        if not isinstance(pointer, Place):
            self.remark(
                "unresolved",
                f"{stmt.what}: the pointer `{stmt.pointer.name}` cannot be resolved",
                stmt.pointer.span,
                "its accesses are not judged",
                always=False,
            )
            return None
        offset = ZERO if stmt.offset is None else self.value(stmt.offset)
        offset = self.as_number(offset) if isinstance(offset, Cond) else offset
        size = stmt.size
        if not isinstance(offset, Lin) or self.world.roots(offset + pointer.address) & self.opaque:
            if self.world.roots(pointer.address) & self.opaque:
                return None
            offset, size = ZERO, 0
        place = replace(pointer, address=pointer.address + offset * pointer.item_bytes)
        kinds = {"r": ("read",), "w": ("data",), "rw": ("read", "data")}[stmt.way]
        touches = tuple(Touch(kind, place, ZERO, Lin(size), ()) for kind in kinds)
        return Use(self.number, "V", touches, stmt.span, stmt.what, self.when)

    def _problem(self, stmt: ops.Problem) -> None:
        self.remark("unresolved", stmt.message, stmt.span, stmt.hint)

    def _yield(self, stmt: ops.Yield) -> None:
        self.yielded = [self.value(a) for a in stmt.args]

    def _block(self, stmt: ops.Block) -> list[Event]:
        return self.block(stmt.body)

    # ------------------------------------------------------------ control

    def _if(self, stmt: ops.If) -> list[Event] | Branch:
        when = self.as_condition(self.value(stmt.condition))
        if when is None:
            name = stmt.condition.name
            bit = self.world.free(_name(name), 0, 1, stated=True, shown=name)
            when = compare("ne", bit)
        decided = when.known if when.known is not None else self.world.decide(when)
        if decided is not None:
            self.yielded = []
            events = self.block(stmt.then if decided else stmt.other)
            self.values |= dict(zip(stmt.results, self.yielded, strict=False))
            return events
        before, outside = dict(self.registers), self.when
        arms, given, after = [], [], []
        for condition, body in ((when, stmt.then), (when.negated(), stmt.other)):
            self.registers, self.when, self.yielded = dict(before), (*outside, condition), []
            arms.append(tuple(self.block(body)))
            given.append(self.yielded)
            after.append(self.registers)
        self.when = outside
        self.registers = _joined(after[0], after[1], stmt.span)
        for name, left, right in zip(stmt.results, *given, strict=False):
            self.values[name] = self._select(when, left, right)
        return Branch(when, arms[0], arms[1], stmt.span)

    def _for(self, stmt: ops.For) -> Loop | list[Event] | None:
        bounds = [
            self.number_of(o, f"the {w} of the loop")
            for o, w in ((stmt.low, "start"), (stmt.high, "end"), (stmt.step, "step"))
        ]
        if None in bounds or not bounds[2].is_const or bounds[2].const < 1:  # type: ignore[union-attr]
            if None not in bounds:
                self.remark("unresolved", "the step of a loop must be a positive constant", stmt.step.span)
            bounds = [ZERO, self.fresh_opaque("%trip", 0), ONE]
        low, high, step = bounds  # type: ignore[misc]
        assert low is not None and high is not None and step is not None  # noqa: PT018
        trip = self.world.divide(high - low + (step.const - 1), step.const)
        least = self.world.interval(trip)[0]
        if least is None or least < 0:
            trip = self.world.least(trip, ZERO, most=True)
        if trip == ZERO:
            for name, (_, first) in zip(stmt.results, stmt.carried, strict=False):
                self.values[name] = self.value(first)
            return None
        most = self.world.interval(trip)[1]
        self.counters += 1
        called = f"%k{self.counters}" if self.setting.canonical else stmt.counter
        counter = self.world.free(_name(called), 0, None if most is None else most - 1, shown=called)
        name = counter.terms[0][0]
        side = (compare("lt", low + counter * step.const - high),)
        self.world.symbols[name] = replace(
            self.world.symbols[name], side=() if not side[0].left.terms or (high.is_const and low.is_const) else side
        )
        saved = dict(self.values)
        saved_types = (dict(self.bits), dict(self.pad_types))
        self.values[stmt.counter] = low + counter * step.const
        first = [self.value(o) for _, o in stmt.carried]
        closed = self._carried(stmt, first, counter)
        before = dict(self.registers)
        exit_registers = self._dry(stmt, closed)
        self.registers = _joined(before, exit_registers, stmt.span)
        self._bind(stmt, closed)
        number = dict(self.consumed)
        body = tuple(self.block(stmt.body))
        self.consumed = number | self.consumed
        after = dict(self.registers)
        self.registers = after if least is not None and least >= 1 else _joined(before, after, stmt.span)
        self.values = saved
        self.bits, self.pad_types = saved_types
        for result, value in zip(stmt.results, closed, strict=False):
            self.values[result] = self._at_end(value, name, trip)
        return Loop(name, trip, body, stmt.span)

    def _bind(self, stmt: ops.For, closed: Sequence[Value]) -> None:
        self.values |= {name: value for (name, _), value in zip(stmt.carried, closed, strict=True)}

    def _dry(self, stmt: ops.For, closed: Sequence[Value]) -> dict[str, Register]:
        """The registers after one iteration, without remarks."""
        saved = (
            dict(self.values),
            dict(self.registers),
            dict(self.consumed),
            self.number,
            self.atomic,
            self.atomic_span,
            self.counters,
        )
        self.dry += 1
        self._bind(stmt, closed)
        self.block(stmt.body)
        self.dry -= 1
        after = self.registers
        self.values, self.registers, self.consumed, self.number, self.atomic, self.atomic_span, self.counters = saved
        return after

    def _carried(self, stmt: ops.For, first: list[Value], counter: Lin) -> list[Value]:
        """Values that the loop carries, as terms of its counter; None where no form is known."""
        if not stmt.carried:
            return []
        saved = (dict(self.values), dict(self.registers), dict(self.consumed), self.number, self.counters)
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
            symbol = self.world.free(_name(name), 0 if bit else None, 1 if bit else None, shown=name)
            names.append(symbol.terms[0][0])
            guess.append(replace(value, address=symbol) if isinstance(value, Place) else symbol)
        self.dry += 1
        self._bind(stmt, guess)
        self.yielded: list[Value] = []
        self.block(stmt.body)
        given = list(self.yielded)
        self.dry -= 1
        self.values, self.registers, self.consumed, self.number, self.counters = saved
        out: list[Value] = []
        for index in range(len(first)):
            out.append(self._closed(index, first, given, names, counter))
        for index, value in enumerate(out):
            if value is None and isinstance(first[index], (Lin, Cond)):
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

    def _at_end(self, value: Value, counter: str, trip: Lin) -> Value:
        if isinstance(value, Place):
            return replace(value, address=self.world.put(value.address, {counter: trip}))
        return self.world.put(value, {counter: trip}) if isinstance(value, Lin) else value


def _joined(left: Mapping[str, Register], right: Mapping[str, Register], span: Span) -> dict[str, Register]:
    """Registers where two paths meet; what differs is mixed. An unset size is (1, 1)."""
    out: dict[str, Register] = {}
    for key in {*left, *right}:
        default = Register(ONE, ONE) if key.endswith("size") else None
        a, b = left.get(key, default), right.get(key, default)
        if a is not None and a.same(b):
            out[key] = a
            continue
        spans = tuple(
            dict.fromkeys(s for r in (a, b) if r for s in (*r.mixed, *([r.span] if r.span and not r.mixed else [])))
        )
        out[key] = Register(ZERO, ZERO, None, spans or (span,))
    return out
