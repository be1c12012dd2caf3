"""Kernels of Ascend A5 run byte by byte, with numbers: the second opinion on everything that is proved of them.

Knows: what each operation does to memory, registers, flags and pipes, one byte and one iteration at a time.
Does not know: terms, ranges, solvers, the touches of the proof, rules.
Law: nothing here is computed for more than one execution; what happens is recorded as it happens. It shares the
statements with the proof and no line of their meaning.

Source: "DMA Copy" (C code of the loops), PTO v0.6 and AscendC (blocks, padding); readings as in the target's data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from dmaverify.machines.pto import ops
from dmaverify.machines.pto.execute_vector import RegisterBytes
from dmaverify.machines.pto.limits import limits
from dmaverify.machines.pto.running import KernelRun, Memory, RunEvent, Undetermined
from dmaverify.program.instructions import Shared

FAR = 1 << 60  # addresses from here on are in no memory
PIPES = ("MTE2", "MTE3", "V", "S", "LOCAL", "MTE1", "M", "FIX")
CORE = "other core"
NEVER, WRITTEN, UNKNOWN, ADDED = 0, 1, 2, 3
_FIELD = {
    "n": "count_max", "len": "count_max", "left": "pad_count_max", "right": "pad_count_max", "l2": "cache_ctl_max",
    "sid": "stream_id_max",
}  # fmt: skip

MOST_MOVED = 1 << 24
"""Bytes that the copies of one run may move: each is followed by itself."""


def run_kernel(
    function: ops.KernelFunction,
    gm: Mapping[str, int],
    arguments: Mapping[str, int] | None = None,
    readings: Mapping[str, str] | None = None,
    seed: int = 0,
    others: Sequence[Shared] = (),
) -> KernelRun:
    """Runs a function. `gm` gives the bytes of every tensor, `arguments` the numbers, `others` what the other core
    does behind the sets and before the waits of its flags. Raises Undetermined.
    """
    machine = _Machine(function, gm, arguments or {}, readings or {}, seed)
    machine.others = others
    return machine.go()


class _Machine:
    def __init__(
        self,
        function: ops.KernelFunction,
        gm: Mapping[str, int],
        arguments: Mapping[str, int],
        readings: Mapping[str, str],
        seed: int,
    ) -> None:
        self.function, self.readings, self.arguments = function, readings, arguments
        self.moved = 0
        self.most = limits()
        rng = np.random.default_rng(seed)
        size = self.most["ub_bytes_max"]
        memory = {"ub": Memory(rng.integers(0, 256, size, dtype=np.uint8), np.zeros(size, np.int8))}
        for name, size in gm.items():
            memory[name] = Memory(rng.integers(0, 256, size, dtype=np.uint8), np.ones(size, np.int8))
        self.run = KernelRun(memory)
        self.values: dict[str, int | tuple[str, int, int]] = {}
        for name, kind, _ in function.args:
            plain = name.lstrip("%")
            self.values[name] = (plain, 0, kind.item_bytes) if kind.kind == "pointer" else arguments.get(plain, 0)
        self.raw: dict[str, tuple[int, int]] = {}
        self.registers: dict[str, tuple[int, int]] = {}
        self.pad: tuple[int, int] | None = None
        self.events: list[RunEvent] = []
        self.known: list[frozenset[int]] = []
        self.registers_of = RegisterBytes()
        self.inside = 0
        self.knows: dict[str, set[int]] = {}
        self.flags: dict[tuple[str, str, int], set[int]] = {}
        self.released: dict[int, set[int]] = {}
        self.holding: dict[int, set[str]] = {}
        self.atomic = ("", "")
        self.copy_number: dict[int, int] = {}
        self.others: Sequence[Shared] = ()

    def go(self) -> KernelRun:
        self._number(self.function.body)
        self._block(self.function.body)
        if self.flags:
            self.run.found.add("flags")
        self._judge_order()
        return self.run

    def _number(self, body: Sequence[ops.Stmt]) -> None:
        for stmt in body:
            if isinstance(stmt, ops.CopyOp):
                self.copy_number[id(stmt)] = len(self.copy_number) + 1
            for part in ("body", "then", "other"):
                self._number(getattr(stmt, part, ()))

    # ------------------------------------------------------------ values

    def _int(self, operand: ops.Operand) -> int:
        if operand.value is not None:
            return operand.value
        value = self.values.get(operand.name)
        if not isinstance(value, int):
            raise Undetermined(operand.name)
        return value

    def _pointer(self, operand: ops.Operand) -> tuple[str, int, int]:
        value = self.values.get(operand.name)
        if not isinstance(value, tuple):
            raise Undetermined(operand.name)
        return value

    def _value(self, operand: ops.Operand) -> int | tuple[str, int, int]:
        if operand.name not in self.values:
            raise Undetermined(operand.name)
        return self.values[operand.name]

    def _block(self, body: Sequence[ops.Stmt]) -> list[int | tuple[str, int, int]]:
        given: list[int | tuple[str, int, int]] = []
        for stmt in body:
            if isinstance(stmt, ops.Yield):
                self.registers_of.sink(stmt.args)
                given = [self.values[a.name] for a in stmt.args]
            else:
                self._statement(stmt)
        return given

    def _statement(self, stmt: ops.Stmt) -> None:
        match stmt:
            case ops.Const():
                self.values[stmt.result] = stmt.value
                self.raw[stmt.result] = (stmt.value, max(1, stmt.type.bits // 8))
            case ops.Arith():
                self.values[stmt.result] = self._arithmetic(stmt)
            case ops.CastPtr():
                source = self.values[stmt.source.name]
                self.values[stmt.result] = (
                    (source[0], source[1], stmt.type.item_bytes)
                    if isinstance(source, tuple)
                    else ("ub", source, stmt.type.item_bytes)
                )
            case ops.AddPtr():
                place, at, item = self._pointer(stmt.base)
                self.values[stmt.result] = (place, at + self._int(stmt.offset) * item, item)
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
            case ops.CopyOp():
                self._copy(stmt)
            case ops.Flag() | ops.Barrier() | ops.BufferOp():
                self._order(stmt)
            case ops.CrossCore():
                self._other_core(stmt)
            case ops.AccessOp():
                self._access(stmt)
            case ops.For():
                self._for(stmt)
            case ops.If():
                given = self._block(stmt.then if self._int(stmt.condition) else stmt.other)
                self.values |= dict(zip(stmt.results, given, strict=False))
            case ops.Mask():
                count = self._int(stmt.count) if stmt.op == "plt" and stmt.count is not None else 0
                left = self.registers_of.mask(stmt, count)
                if stmt.rest:
                    self.values[stmt.rest] = left
                self.values[stmt.result] = 0
            case ops.VectorOp():
                self.registers_of.operate(stmt)
                self.values |= dict.fromkeys(stmt.results, 0)
            case ops.Block():
                self.inside += "vecscope" in stmt.what
                self.values |= dict(zip(stmt.results, self._block(stmt.body), strict=False))
                self.inside -= "vecscope" in stmt.what
            case ops.Bind():
                self.values[stmt.result] = self._value(stmt.source)
                if stmt.source.name in self.raw:
                    self.raw[stmt.result] = self.raw[stmt.source.name]
            case ops.OpaqueOp() if stmt.least is not None:
                self.values[stmt.results[0]] = self.arguments.get(stmt.results[0].lstrip("%"), stmt.least)
            case ops.While() | ops.Foreign():
                raise Undetermined("an operation that is not executed")
            case ops.UnreadOp():
                raise Undetermined(stmt.message)
            case ops.Assumed() | ops.OpaqueOp():
                pass
            case _:
                raise Undetermined(f"{type(stmt).__name__} is not executed")

    def _for(self, stmt: ops.For) -> None:
        self.registers_of.sink([o for _, o in stmt.carried])
        carried = [self.values[o.name] if o.value is None else o.value for _, o in stmt.carried]
        names = [o.name for _, o in stmt.carried]
        if self._int(stmt.step) < 1:
            raise Undetermined("a step that is not positive")
        for at in range(self._int(stmt.low), self._int(stmt.high), self._int(stmt.step)):
            self.values[stmt.counter] = at
            self.values |= dict(zip([n for n, _ in stmt.carried], carried, strict=True))
            self.registers_of.rename(dict(zip([n for n, _ in stmt.carried], names, strict=False)))
            given = self._block(stmt.body)
            names = [o.name for o in stmt.body[-1].args] if stmt.body and isinstance(stmt.body[-1], ops.Yield) else []
            carried = given if stmt.carried else carried
        self.values |= dict(zip(stmt.results, carried, strict=False))
        self.registers_of.rename(dict(zip(stmt.results, names, strict=False)))

    def _arithmetic(self, stmt: ops.Arith) -> int | tuple[str, int, int]:
        op = stmt.op
        if op == "select":
            chosen = stmt.args[1] if self._int(stmt.args[0]) else stmt.args[2]
            return self.values[chosen.name] if chosen.value is None else chosen.value
        numbers = [self._int(a) for a in stmt.args]
        if len(numbers) == 1:
            if op in ("extui", "index_castui"):
                return numbers[0] % (1 << stmt.bits) if stmt.bits > 1 else numbers[0] & 1
            return _kept(numbers[0], stmt.type.bits)
        return _kept(self._of_two(stmt, *numbers), 1 if op == "cmpi" else stmt.type.bits)

    def _of_two(self, stmt: ops.Arith, a: int, b: int) -> int:
        op = stmt.op
        if op in ("divui", "remui", "ceildivui", "shrui", "minui", "maxui") or stmt.predicate.startswith("u"):
            a, b = a % (1 << stmt.bits), b % (1 << stmt.bits)
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
        return a << b if op == "shli" else a >> b

    # ------------------------------------------------------------ copies

    def _copy(self, stmt: ops.CopyOp) -> None:
        source, dest = self._pointer(stmt.roles["src"]), self._pointer(stmt.roles["dst"])
        row, loops, pad = self._shape(stmt, dest[2])
        self._counted(prod(count for count, _, _ in loops))
        starts = [(source[1], dest[1])]
        for count, src, dst in loops:
            starts = [(s + src * i, d + dst * i) for i in range(count) for s, d in starts]
        self._limits(stmt, source, dest, row, loops, pad)
        for place, side in ((source[0], 0), (dest[0], 1)):
            if any(abs(start[side]) >= FAR for start in starts):
                self.run.found.add("capacity" if place == "ub" else "bounds")
                return  # an address that no memory has; nothing moves
        if not starts or row < 1:
            return  # found as a field out of range; nothing moves
        self._counted(len(starts) * row)
        reads, data, extra = [], [], []
        for s, d in starts:
            reads.append(np.arange(s, s + row))
            begin, end = self._row(stmt, row, loops, pad, dest[2])
            data.append(np.arange(d + begin, d + begin + row))
            extra.append((d, begin, end))
        self._move(
            stmt, source[0], dest[0], np.concatenate(reads), np.concatenate(data), extra, row, loops, pad, dest[2]
        )

    def _counted(self, amount: int) -> None:
        self.moved += amount
        if self.moved > MOST_MOVED:
            raise Undetermined(f"the copies move more than {MOST_MOVED:,} bytes: no run is made of them")

    def _shape(
        self, stmt: ops.CopyOp, item: int
    ) -> tuple[int, list[tuple[int, int, int]], tuple[int, int, tuple[int, int] | None] | None]:
        """Bytes of a row, loops inner to outer, and padding as (left, right, value) in elements."""
        del item
        roles = {k: v for k, v in stmt.roles.items() if k not in ("src", "dst")}
        number = {k: self._int(v) for k, v in roles.items()}
        row = number["len"]
        for name, limit in _FIELD.items():
            value = number.get(name if name != "n" else "n_burst", 0)
            if stmt.kind != ops.LOCAL and (
                not 0 <= value <= self.most[limit] or (name in ("n", "len") and name in number and value == 0)
            ):
                self.run.found.add("field")
        if stmt.kind == ops.LOCAL:
            if stmt.inline:
                count, a, b = (self._int(o) for o in (stmt.levels[0].count, stmt.levels[0].src, stmt.levels[0].dst))
            else:
                count, a, b = number["n_burst"], number["src_stride"], number["dst_stride"]
            most, block = self.most["local_max"], self.most["ub_line_bytes"]
            if not (1 <= count <= most and 1 <= row <= most and 0 <= a <= most and 0 <= b <= most):
                self.run.found.add("field")
            return row * block, [(count, (row + a) * block, (row + b) * block)], None
        if stmt.inline:
            loops = [tuple(self._int(o) for o in (lv.count, lv.src, lv.dst)) for lv in stmt.levels]
            pad = None
            if stmt.pad is not None:
                counts = [0 if o is None else self._int(o) for o in (stmt.pad.left, stmt.pad.right)]
                pad = (counts[0], counts[1], self.raw.get(stmt.pad.value.name))
                self.pad = pad[2]
            if len(loops) > 1:
                self.registers[f"{stmt.kind}.size"] = (1, 1)
            return row, loops, pad  # type: ignore[return-value]
        loops = [(number["n_burst"], number["src_stride"], number["dst_stride"])]
        sizes = self.registers.get(f"{stmt.kind}.size", (1, 1))
        for index, count in enumerate(sizes, 1):
            if count != 1:
                strides = self.registers.get(f"{stmt.kind}.loop{index}")
                if strides is None:
                    self.run.found.add("state")
                    strides = (0, 0)
                loops.append((count, *strides))
        pad = (number["left"], number["right"], self.pad or (0, 1)) if number.get("select") else None
        return row, loops, pad  # type: ignore[return-value]

    def _limits(
        self,
        stmt: ops.CopyOp,
        source: tuple[str, int, int],
        dest: tuple[str, int, int],
        row: int,
        loops: Sequence[tuple[int, int, int]],
        pad: tuple[int, int, tuple[int, int] | None] | None,
    ) -> None:
        found, most, block = self.run.found, self.most, self.most["ub_line_bytes"]
        for count, src, dst in loops:
            if stmt.kind != ops.LOCAL and not 1 <= count <= most["count_max"]:
                found.add("field")
            if stmt.kind == ops.LOCAL or count <= 1:
                continue
            for (place, _, _), stride in ((source, src), (dest, dst)):
                if not 0 <= stride <= most["ub_stride_max" if place == "ub" else "gm_stride_max"]:
                    found.add("field")
                if place == "ub" and stride % block and (stride != row or pad is not None):
                    found.add("align")
        for place, at, _ in (source, dest):
            if place == "ub" and at % block:
                found.add("align")
        if pad is not None and not all(0 <= c <= most["pad_count_max"] for c in pad[:2]):
            found.add("field")

    def _row(
        self,
        stmt: ops.CopyOp,
        row: int,
        loops: Sequence[tuple[int, int, int]],
        pad: tuple[int, int, tuple[int, int] | None] | None,
        item: int,
    ) -> tuple[int, int]:
        """Where data begins in a row of the destination, and where all that changes ends."""
        if stmt.kind != ops.LOAD:
            return 0, row
        if pad is None:
            return 0, row + (-row % self.most["ub_line_bytes"] if self.readings.get("tail") != "untouched" else 0)
        unit = 1 if self.readings.get("pad-unit") == "bytes" else item
        left, right = pad[0] * unit, pad[1] * unit
        block = self.most["ub_line_bytes"]
        end = -(-(left + row + right) // block) * block
        if self.readings.get("pad-extent") == "gap":
            end = max(end, loops[0][2])
        return (0 if self.readings.get("left-pad") == "behind" else left), end

    def _move(
        self,
        stmt: ops.CopyOp,
        source: str,
        dest: str,
        reads: np.ndarray,
        data: np.ndarray,
        rows: list[tuple[int, int, int]],
        row: int,
        loops: Sequence[tuple[int, int, int]],
        pad: tuple[int, int, tuple[int, int] | None] | None,
        item: int,
    ) -> None:
        run, into, out_of = self.run, self.run.memory[dest], self.run.memory[source]
        block = self.most["ub_line_bytes"]
        compact = stmt.kind == ops.LOAD and pad is None and loops[0][0] > 1 and loops[0][2] == row and row % block
        changed: list[np.ndarray] = [data]
        fills: list[tuple[np.ndarray, np.ndarray | None]] = []
        for index, (start, begin, end) in enumerate(rows):
            if compact and index % loops[0][0] != loops[0][0] - 1:  # the burst counter runs fastest
                continue
            if compact:
                end = row + (-(start + row) % block)
            around = np.concatenate([np.arange(start, start + begin), np.arange(start + begin + row, start + end)])
            if not len(around):
                continue
            changed.append(around)
            value = None
            if pad is not None and pad[2] is not None:
                raw = (pad[2][0] & ((1 << 64) - 1)).to_bytes(8, "little")[
                    : 1 if self.readings.get("pad-pattern") == "byte" else item
                ]
                value = np.frombuffer(raw, np.uint8)[(around - start) % len(raw)]
            fills.append((around, value))
        written = np.concatenate(changed)
        adds = stmt.kind == ops.STORE and bool(self.atomic[0])
        whole = not any(n % item for n in (row, *(step for _, _, step in loops)))
        if len(np.unique(written)) != len(written) and not (adds and whole):
            run.found.add("rows")
        surplus = -row % block if source == "ub" else 0
        self._bounds(source, reads, surplus)
        self._bounds(dest, written, 0)
        reads_in = reads[(reads >= 0) & (reads < len(out_of.state))]
        if stmt.kind != ops.LOAD and (out_of.state[reads_in] != WRITTEN).any():
            run.found.add("definite")
        ok = (reads >= 0) & (reads < len(out_of.state)) & (data >= 0) & (data < len(into.state))
        values = out_of.bytes_[reads[ok]].copy()
        for at, fill in fills:
            inside = (at >= 0) & (at < len(into.state))
            into.state[at[inside]] = WRITTEN
            if fill is not None:
                into.bytes_[at[inside]] = fill[inside]
            else:
                into.bytes_[at[inside]] ^= 0xA5
        if not adds:
            into.bytes_[data[ok]] = values
        into.state[data[(data >= 0) & (data < len(into.state))]] = ADDED if adds else WRITTEN
        for at, fill in fills:
            if fill is None:  # the order of rows is not promised: a byte that one of them leaves unknown is unknown
                into.state[at[(at >= 0) & (at < len(into.state))]] = UNKNOWN
        run.copies.append((self.copy_number[id(stmt)], source, reads, dest, data))
        pipe = {ops.LOAD: "MTE2", ops.STORE: "MTE3", ops.LOCAL: "LOCAL"}[stmt.kind]
        if stmt.kind == ops.LOCAL and self.readings.get("local-pipe") == "vector":
            pipe = "V"
        atomic = (*self.atomic, item) if adds and whole else ("", "", 0)
        self._happened(RunEvent(pipe, {source: np.unique(reads)}, {dest: np.unique(written)}, atomic))

    def _bounds(self, place: str, at: np.ndarray, surplus: int) -> None:
        if len(at) and (at.min() < 0 or at.max() + 1 + surplus > len(self.run.memory[place].state)):
            self.run.found.add("capacity" if place == "ub" else "bounds")

    # ------------------------------------------------------------ order

    def _access(self, stmt: ops.AccessOp) -> None:
        place, at, item = self._pointer(stmt.pointer)
        item = stmt.item_bytes or item
        if not stmt.moved:  # a pointer that moves on moves behind the access
            at += sum(self._int(index) * elements for index, elements in stmt.offsets) * item
        self.values |= dict.fromkeys(stmt.results, 0)
        pipe = "S" if stmt.form == "scalar" and not self.inside else "V"
        empty = np.zeros(0, np.int64)
        if stmt.way == "r":
            foul = self.run.memory[place].state != WRITTEN if place == "ub" else None
            touched = self.registers_of.load(stmt, at, item, len(self.events), place, foul)
            self._bounds(place, touched, 0)
            self._happened(RunEvent(pipe, {place: empty if stmt.results else touched}, {}))
            return
        stride = 0 if stmt.stride is None else self._int(stmt.stride)
        touched, foul = self.registers_of.store(stmt, at, item, stride)
        self._bounds(place, touched, 0)
        there = (touched >= 0) & (touched < len(self.run.memory[place].state))
        inside = touched[there]
        self.run.memory[place].state[inside] = np.where(foul[there], UNKNOWN, WRITTEN)
        self._happened(RunEvent(pipe, {}, {place: inside}))

    def _other_core(self, stmt: ops.CrossCore) -> None:
        """A set lets the other core work, which knows what the pipe had done; before a wait it has worked, which the
        pipe that waits knows then, or all pipes where it names none.
        """
        flag = None if stmt.number is None else stmt.number % self.most["core_flags"]
        sets = stmt.action == "set"
        if sets:
            for pipe in PIPES if stmt.pipe == "ALL" else (stmt.pipe or "S",):
                self.knows.setdefault(CORE, set()).update(self._done(pipe))
        for one in self.others:
            asked = one.after if sets else one.before
            if asked is None or flag is None or asked == flag:
                self._works(one, sets=sets)
        if not sets:
            alone = stmt.pipe not in ("", "S", "ALL") and self.readings.get("core-wait") != "core"
            for pipe in (stmt.pipe,) if alone else PIPES:
                self.knows.setdefault(pipe, set()).update(self._done(CORE))

    def _works(self, one: Shared, *, sets: bool) -> None:
        """One access of the other core."""
        place = one.root or one.space
        state = self.run.memory[place].state
        bytes_ = np.arange(one.start, len(state) if one.end is None else one.end)
        bytes_ = bytes_[bytes_ < len(state)]
        if one.way == "r" and sets and one.space == "ub" and (state[bytes_] != WRITTEN).any():
            self.run.found.add("definite")
        if one.way == "w" and not sets:
            state[bytes_] = WRITTEN
        work = {place: bytes_}
        self._happened(RunEvent(CORE, *(({}, work) if one.way == "w" else (work, {}))))

    def _happened(self, event: RunEvent) -> None:
        self.known.append(frozenset(self.knows.setdefault(event.pipe, set())))
        self.events.append(event)

    def _judge_order(self) -> None:
        """Pairs that nothing orders, when it is known which bytes of which loads came to matter."""
        for number, place, needed in self.registers_of.needed():
            self.events[number].reads[place] = np.union1d(self.events[number].reads[place], needed)
        for at, event in enumerate(self.events):
            for number, before in enumerate(self.events[:at]):
                alike = before.pipe == event.pipe and event.pipe in ("V", CORE)
                if alike or number in self.known[at] or before.pipe == "S":
                    continue
                for kind, mine, theirs in (
                    ("raw", event.reads, before.writes),
                    ("war", event.writes, before.reads),
                    ("waw", event.writes, before.writes),
                ):
                    if kind == "waw" and event.atomic[0] not in ("", "set") and event.atomic == before.atomic:
                        continue  # both add, in whatever order
                    for place in mine.keys() & theirs.keys():
                        if _share(mine[place], theirs[place]):
                            self.run.found.add(kind)

    def _done(self, pipe: str) -> set[int]:
        """What is surely done when a pipe has done all that it was given so far."""
        return self.knows.get(pipe, set()) | {n for n, e in enumerate(self.events) if e.pipe == pipe}

    def _order(self, stmt: ops.Flag | ops.Barrier | ops.BufferOp) -> None:
        if isinstance(stmt, ops.Barrier):
            if stmt.pipe == "ALL":
                everything: set[int] = set()
                for pipe in PIPES:
                    everything |= self._done(pipe)
                for pipe in PIPES:
                    self.knows[pipe] = set(everything)
            else:
                self.knows[stmt.pipe] = self._done(stmt.pipe)
        elif isinstance(stmt, ops.BufferOp):
            token, mode = self._int(stmt.token), self._int(stmt.mode)
            holding = self.holding.setdefault(token, set())
            if stmt.action == "rls":
                for pipe in {stmt.pipe, *(holding if mode else ())}:
                    self.released[token] = self.released.get(token, set()) | self._done(pipe)
                holding.discard(stmt.pipe)
            else:
                holding.add(stmt.pipe)
                if not mode:
                    self.knows.setdefault(stmt.pipe, set()).update(self.released.get(token, set()))
        else:
            flag = (stmt.source, stmt.dest, self._int(stmt.event))
            if stmt.action == "set":
                if flag in self.flags:
                    self.run.found.add("flags")
                self.flags[flag] = self._done(stmt.source)
            elif flag not in self.flags:
                self.run.found.add("flags")
            else:
                self.knows.setdefault(stmt.dest, set()).update(self.flags.pop(flag))


def _kept(value: int, bits: int) -> int:
    """What a register of so many bits keeps of a value, read with a sign."""
    if bits <= 1:
        return value & 1
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


def _share(one: np.ndarray, two: np.ndarray) -> bool:
    if not len(one) or not len(two) or one[-1] < two[0] or two[-1] < one[0]:
        return False
    return bool(np.isin(one, two, assume_unique=True).any())
