"""Sticky registers followed through a kernel.

Knows: what sets them, what is never used, what a copy took from them. Does not know: control flow, what is allowed.
Law: a register that depends on the path is never guessed. Source: PTO v0.6 (sticky state).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dmaverify.errors import Span
from dmaverify.language.affine import ONE, ZERO, Cond, Lin, compare
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.arith import Arithmetic
from dmaverify.machines.pto.ops import LOAD, LOCAL, STORE, ValueType
from dmaverify.machines.pto.stated import Register
from dmaverify.program.instructions import MIXED, UNSAID, Copy
from dmaverify.program.sticky import Held, RegisterEvent, RegisterRead, RegisterWrite
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.register_questions import chosen, is_bit
from dmaverify.prove.options import Options
from dmaverify.prove.smt import Query, Session
from dmaverify.values import replace

Waiting = tuple[str, Span, bool]
MOST_ARMS = 8  # conditions that tell what one register holds


class Registers(Arithmetic):
    """What is set and still to be used."""

    # ------------------------------------------------------------ registers

    def _setloop(self, stmt: ops.SetLoop) -> None:
        first, second = self.number_of(stmt.first, "the operand"), self.number_of(stmt.second, "the operand")
        if first is None or second is None:
            first = second = self.unfollowed("%register")
        key = f"{stmt.kind}.{stmt.what}"
        if stmt.what == "size":
            self._unused(stmt.kind, again=True)
            self.consumed.pop(key, None)
            if not self.dry and any(term.is_const and term.const > 1 for term in (first, second)):
                self.waiting[stmt.kind] = (f"{self.said(first)} x {self.said(second)}", stmt.span, False)
            if self.setting.readings.get("loop-order") == "outer-first":
                first, second = second, first
        self.registers[key] = Register(first, second, stmt.span)

    def _setpad(self, stmt: ops.SetPad) -> None:
        self.registers["pad"] = self.padding(stmt.value, stmt.type, stmt.span)

    def padding(self, value: ops.Operand, written: ValueType, span: Span) -> Register:
        """The bits of a value to pad with, in its type; -1 where they are not known."""
        raw, known = self.constants.get(value.name, (value.value, written))
        given = self.values.get(value.name)
        if raw is None and isinstance(given, Lin) and given.is_const:
            raw = given.const
        kind = written if written.bits else known
        return Register(Lin(-1 if raw is None else raw % (1 << max(8, kind.bits))), ZERO, span, type=kind)

    def _setatomic(self, stmt: ops.SetAtomic) -> None:
        before = self.registers["atomic"].type
        if stmt.mode is None:
            kind = ValueType("atomic", before.name or UNSAID, 0, stmt.dtype)
        else:
            kind = ValueType("atomic", stmt.mode, 0, before.space if stmt.mode else "")
        self.registers["atomic"] = Register(ZERO, ZERO, stmt.span, type=kind)

    def _store_mode(self) -> str:
        """What a store does instead of writing: empty for a plain one, `mixed` where the path decides it."""
        found = self.registers["atomic"]
        return MIXED if found.mixed else mode_of(found)

    def _unused(self, kind: str, *, again: bool) -> None:
        """Loops that were set and that no copy of their direction runs."""
        found = None if self.dry else self.waiting.pop(kind, None)
        if found is not None:
            used = found[2] or not again  # a copy of the other direction ran, or the next kernel finds them
            way = "from GM to UB" if kind == LOAD else "from UB to GM"
            self.remark(
                "state",
                f"loops of {found[0]} are set for copies {way}, and no copy runs them: these batches never move",
                found[1],
                "set them right before the copy that they are for, in the registers of its direction",
                always=used,
            )

    def under(self, registers: Mapping[str, Register]) -> dict[str, Register]:
        """Registers on the paths on which the conditions of the branches here hold, and the loops around run."""
        found = {key: self._picked(one, (*self.running, *self.sides)) for key, one in registers.items()}
        return {key: one for key, one in found.items() if one is not None}

    def _picked(self, register: Register | None, sides: tuple[Cond, ...]) -> Register | None:
        """A register without the arms that these sides rule out, whatever their symbols are; None where it is unset."""
        if register is None or register.arms is None:
            return register
        when, *arms = register.arms
        for side, arm in zip((when, when.negated()), arms, strict=True):
            if side in sides or self._never([*sides, side.negated()]):
                return self._picked(arm, sides)
        left, right = self._picked(arms[0], (*sides, when)), self._picked(arms[1], (*sides, when.negated()))
        if left is arms[0] and right is arms[1]:
            return register
        same = left is right or (left is not None and left.same(right))
        return left if same else replace(register, arms=(when, left, right))

    def _never(self, conditions: Sequence[Cond]) -> bool:
        """Whether no numbers meet these, what symbols mean left out, but for choices and bits."""
        names = list(dict.fromkeys(name for one in conditions for name in one.symbols()))
        texts = [*map(self.world.cond_text, conditions)]
        for name in names:
            made, inside = chosen(name, self.world)
            names += [one for one in inside if one not in names]
            texts += [f"(= {name} {made})"] if made else []
        asked = Query(tuple((n, *((0, 2) if is_bit(n, self.world) else (None, None))) for n in names), tuple(texts))
        if asked not in self.never_met:
            self.never_met[asked] = Session(Options().rlimit).ask(asked, "claim").status == "unsat"
        return self.never_met[asked]

    def behind_rounds(self, before: Mapping[str, Register], counter: str, trip: Lin, span: Span) -> dict[str, Register]:
        """Registers behind a loop that ran."""
        return {k: self._behind_last(one, before.get(k), counter, trip, span) for k, one in self.registers.items()}

    def _behind_last(
        self, register: Register, before: Register | None, counter: str, trip: Lin, span: Span
    ) -> Register:
        """A register behind a loop that ran: as its last round left it; mixed where that has no form. What told the
        paths of an iteration apart says nothing there.
        """
        if register.mixed:
            told = register is not before and register.arms is not None
            return replace(register, arms=None, forgotten=True) if told else register
        ends = [self.world.put(term, {counter: trip - ONE}) for term in (register.first, register.second)]
        if any(counter in self.world.roots(end) or self.world.changes(end, [counter]) for end in ends):
            return Register(ZERO, ZERO, None, (register.span or span,))
        return replace(register, first=ends[0], second=ends[1])

    # ------------------------------------------------------------ what is written and taken, in order

    def kept_at_start(self) -> list[RegisterEvent]:
        """What registers are taken to hold where nothing set them yet."""
        sizes = [RegisterWrite(f"{kind}.size", (ONE, ONE)) for kind in (LOAD, STORE)]
        return [*sizes, RegisterWrite("pad", (ZERO, None)), RegisterWrite("atomic", (self._mode_number(""),))]

    def kept_by(self, stmt: ops.Stmt, copy: Copy | None) -> Iterator[RegisterEvent]:
        """What a statement writes, and what the copy that it became took."""
        if isinstance(stmt, ops.SetLoop):
            yield self._write(f"{stmt.kind}.{stmt.what}")
        elif isinstance(stmt, ops.SetPad):
            yield self._write("pad")
        elif isinstance(stmt, ops.SetAtomic):
            yield self._write("atomic")
        elif isinstance(stmt, ops.CopyOp) and stmt.kind != LOCAL:
            if copy is not None:
                yield from self._taken(stmt, copy)
            if stmt.inline:  # lowered, it writes the registers of its direction and puts the sizes back
                yield RegisterWrite(f"{stmt.kind}.size", (ONE, ONE))
                yield from (RegisterWrite(f"{stmt.kind}.loop{i}", None) for i in range(1, len(stmt.levels)))
            if stmt.pad is not None:
                yield self._write("pad")

    def held(self, registers: Mapping[str, Register]) -> dict[str, Held]:
        """What registers hold on every path."""
        return {key: self._values(key, one) for key, one in registers.items() if not one.mixed}

    def _write(self, key: str) -> RegisterWrite:
        return RegisterWrite(key, self._values(key, self.registers[key]))

    def _values(self, key: str, register: Register) -> Held:
        if key == "atomic":
            return (self._mode_number(mode_of(register)),)
        if key == "pad":
            return (None if register.first == Lin(-1) else register.first, Lin(max(1, register.type.bits // 8)))
        return register.first, register.second

    def _mode_number(self, mode: str) -> Lin:
        return Lin(self.modes.setdefault(mode, len(self.modes)))

    def _taken(self, stmt: ops.CopyOp, copy: Copy) -> Iterator[RegisterRead]:
        by = f"copy {copy.order}"
        if stmt.kind == STORE and copy.atomic != MIXED:
            yield RegisterRead("atomic", (self._mode_number(copy.atomic),), by)
        if stmt.inline:
            return
        steps = {step.label: step for step in copy.steps}
        loops = [steps.get(f"loop{index}") for index in (1, 2)]
        counts = [ONE if step is None else step.count for step in loops]
        yield RegisterRead(f"{stmt.kind}.size", (counts[0], counts[1]), by)
        for index, step in enumerate(loops, 1):
            if step is not None:
                runs = compare("ne", step.count - ONE)
                yield RegisterRead(f"{stmt.kind}.loop{index}", (step.read, step.write), by, runs)
        if copy.fill is not None and copy.fill.value is not None:
            was_set = "pad" in self.registers
            yield RegisterRead("pad", (Lin(copy.fill.value), Lin(copy.fill.value_bytes) if was_set else None), by)

    def leave(self) -> None:
        """What the end of a function must find."""
        for kind in list(self.waiting):
            self._unused(kind, again=False)
        mode, register = self._store_mode(), self.registers["atomic"]
        span = register.mixed[-1] if register.mixed else register.span
        if mode and span is not None:
            self.remark(
                "state",
                "the store mode is left on, on one path" if mode == MIXED else f"the store mode `{mode}` is left on",
                span,
                "set_atomic_none at the end",
                always=False,
            )

    def _register(self, key: str, what: str, copy: ops.CopyOp, needed: Sequence[Cond] = ()) -> Register | None:
        """The register that a copy depends on where it is `needed`; None with a remark where the path decides it."""
        found = self._told(self.registers.get(key), (*self.running, *self.sides, *needed))
        if found is None or not found.mixed:
            return found
        self.remark(
            "state" if self._is_known_to_differ(found) else "unresolved",
            f"{what} depends on the path that leads here",
            copy.name_span,
            "set it before this copy, on every path",
            [(span, "set here") for span in found.mixed],
        )
        return None

    def _told(self, register: Register | None, when: tuple[Cond, ...]) -> Register | None:
        """A register that both sides of a branch set, by the condition of that; of what one side alone sets, and both
        lead here, it stays mixed.
        """
        if register is None or register.arms is None:
            return register
        condition, *arms = register.arms
        paths = [(arm, (*when, side)) for side, arm in zip((condition, condition.negated()), arms, strict=True)]
        told = [self._told(arm, here) for arm, here in paths if not self._never(here)]
        if len(told) == 1:
            return told[0] or register
        set_here = [one for one in told if register.each and one is not None and one.by == "set" and not one.mixed]
        if len(set_here) != 2 or set_here[0].type != set_here[1].type:
            return register
        values = zip(*((one.first, one.second) for one in set_here), strict=True)
        first, second = (self.world.choose(condition, left, right) for left, right in values)
        return replace(set_here[0], first=first, second=second)

    def _is_known_to_differ(self, register: Register) -> bool:
        """Whether more than one path leads here with its own values; what loops leave is taken for that, if no branch
        is around or told it apart, and no loop is around that may have no iteration: those they may have in common.
        """
        met = self._met(register, Asker(self.world, Options().rlimit), [*self.running, *self.when])
        if any(one is not None and one.mixed for one in met):
            around = [*self.sides, *(ran for ran in self.running if self.world.decide(ran) is None)]
            return not any(one is not None and one.forgotten for one in met) or not (around or register.arms)
        return any(not (one is other or (one is not None and one.same(other))) for one in met for other in met[:1])

    def _met(self, register: Register | None, asker: Asker, when: Sequence[Cond]) -> list[Register | None]:
        """What a register holds on paths that some values surely take."""
        if register is None or register.arms is None:
            return [register]
        condition, *arms = register.arms
        found: list[Register | None] = []
        for side, arm in zip((condition, condition.negated()), arms, strict=True):
            if asker.possible([*when, side]).status == "refuted":
                found += self._met(arm, asker, [*when, side])
        return found

    def _as_set(self, kind: str) -> dict[str, Lin]:
        """The stride registers of both loops as they stand, of loops that run once too; 0 where nothing set them."""
        out: dict[str, Lin] = {}
        for index in (1, 2):
            found = self.registers.get(f"{kind}.loop{index}")
            known = found is not None and not found.mixed and found.first.is_const and found.second.is_const
            sides = (found.first, found.second) if found is not None and known else (ZERO, ZERO)
            out |= {f"loop{index}_read": sides[0], f"loop{index}_write": sides[1]}
        return out


def mode_of(register: Register) -> str:
    """What the register of the store mode says, on one path."""
    return f"{register.type.name} {register.type.space}".strip()


def joined(
    left: Mapping[str, Register], right: Mapping[str, Register], span: Span, when: Cond | None = None
) -> dict[str, Register]:
    """Registers where two paths meet, the left where `when` holds; what differs is mixed. Unset sizes are (1, 1)."""
    out: dict[str, Register] = {}
    for key in {*left, *right}:
        default = Register(ONE, ONE) if key.endswith("size") else None
        a, b = left.get(key, default), right.get(key, default)
        if a is not None and (a is b or (a.same(b) and not (when is None and a.arms))):
            out[key] = a
            continue
        spans = tuple(
            dict.fromkeys(s for r in (a, b) if r for s in (*r.mixed, *([r.span] if r.span and not r.mixed else [])))
        )
        told = when is not None and all(one is None or one.depth < MOST_ARMS for one in (a, b))
        out[key] = Register(
            ZERO,
            ZERO,
            None,
            spans or (span,),
            arms=(when, a, b) if told and when is not None else None,
            forgotten=not told and any(one is not None and bool(one.arms or one.forgotten) for one in (a, b)),
        )
    return out


def behind_branch(
    before: Mapping[str, Register],
    begun: Sequence[Mapping[str, Register]],
    ended: Sequence[Mapping[str, Register]],
    when: Cond,
    span: Span,
) -> dict[str, Register]:
    """Registers behind a branch; what neither arm sets is what it was."""
    arms = list(zip(begun, ended, strict=True))
    same = {k: r for k, r in before.items() if all(e.get(k) is b.get(k) for b, e in arms)}
    found = joined(ended[0], ended[1], span, when)
    each = {k for k in found if all(k in e and e[k] is not b.get(k) for b, e in arms)}
    return {k: replace(r, each=r.arms is not None) if k in each else r for k, r in found.items()} | same


def waiting_behind(before: Mapping[str, Waiting], left: Sequence[Mapping[str, Waiting]]) -> dict[str, Waiting]:
    """Loops that wait for their copies behind a branch: those of either side, but for what a copy of one side ran."""
    found = {kind: one for side in left for kind, one in side.items()}
    return {k: one for k, one in found.items() if one is not before.get(k) or all(k in side for side in left)}
