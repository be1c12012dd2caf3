"""What a PTO kernel does: statements become events with resolved operands, registers followed through the program.

Knows: the value of every operand as a linear term over arguments and loop counters, sticky registers, closed forms of
values that loops carry. Does not know: what is allowed, how anything is proved.
Law: an operand has exactly the value that the program gives it, for all arguments and iterations, or it is opaque and
a copy that needs it is a remark at its line; a register whose value depends on the path is never guessed.

Source: MLIR arith and scf; "DMA Copy" (registers set before the copy); PTO v0.6 (sticky state, inline loops).
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.affine import ONE, ZERO, Cond, Lin, both, compare
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.accesses import Accesses
from dmaverify.machines.pto.both_sides import beside_each_other
from dmaverify.machines.pto.counted import Counted, by_sums, counted
from dmaverify.machines.pto.moves import ORDERED_PIPES
from dmaverify.machines.pto.ops import CUBE, Stmt
from dmaverify.machines.pto.rank_events import beside_flags
from dmaverify.machines.pto.registers import behind_branch, joined, waiting_behind
from dmaverify.machines.pto.stated import Setting, relate
from dmaverify.machines.pto.values import Kernel, copies_in, name_of
from dmaverify.program.instructions import (
    Arrival,
    Branch,
    BufferToken,
    Copy,
    CopyTouch,
    Event,
    Fence,
    KernelLoop,
    Place,
    Release,
    Signal,
    Use,
)
from dmaverify.program.rewrite import spread
from dmaverify.program.sticky import RegisterBranch, RegisterLoop
from dmaverify.prove.flow.accesses.ask import shown
from dmaverify.values import replace


def meaning_of(function: ops.KernelFunction, setting: Setting) -> Kernel:
    """The events of a function."""
    meaning = _Meaning(function, setting)
    meaning.state()
    meaning.kept = meaning.kept_at_start()
    given = set(meaning.world.symbols)
    kernel = meaning.kernel
    kernel.events = tuple(spread(meaning.block(function.body), meaning.overwritten))
    copies = {meaning.order_of[id(stmt)]: stmt.span for stmt in copies_in(function.body)}
    kernel.idle = {order: span for order, span in copies.items() if order not in meaning.reached}
    meaning.leave()
    kernel.kept, kernel.cube, kernel.passed = tuple(meaning.kept), tuple(meaning.cube), function.passed
    kernel.kinds = frozenset(map(type, ops.deep(function.body)))
    kernel.remarks += (*beside_each_other(function.body, kernel.events), *beside_flags(function.body))
    kernel.cores = tuple(name for what, name in meaning.machine.items() if what.endswith("idx"))
    kernel.same = frozenset(given | set(meaning.machine.values()) - set(kernel.cores))
    return kernel


class _Meaning(Accesses):
    """Walks statements in order of issue."""

    def state(self) -> None:
        """Takes the relations between arguments for granted; those of a fragment are met here."""
        for fact, span in self.setting.relations:
            for name in sorted({*fact.poly.symbols, *(fact.by.symbols if fact.by else ())}):
                if self.fragment and f"%{name}" not in self.values:
                    self.argument(f"%{name}", ops.INDEX, span)
        if not relate(self.world, self.setting.relations):
            self.suppose("what is stated of the arguments can hold at once")
        for given in self.world.given:
            self.assume(shown(given, self.world))

    # ------------------------------------------------------------ statements

    def block(self, body: Sequence[Stmt]) -> list[Event]:
        out: list[Event] = []
        loads: list[tuple[int, int, ops.AccessOp]] = []
        before: Stmt | None = None
        read = 0  # accesses that it made
        for stmt in body:
            handler = getattr(self, f"_{type(stmt).__name__.lower()}")
            found = handler(stmt)
            if not self.dry:
                self.kept += self.kept_by(stmt, found if isinstance(found, Copy) else None)
            if isinstance(found, list):
                if isinstance(stmt, ops.AccessOp) and stmt.results:
                    loads.append((len(out), len(found), stmt))
                out += found
            elif found is not None:
                out.append(found)
            last = out[-1] if out and read == 1 else None
            if (
                isinstance(stmt, ops.OpaqueOp)
                and stmt.loaded
                and isinstance(before, ops.AccessOp)
                and isinstance(last, Use)
            ):
                given = [self.values[name] for name in stmt.results]
                out[-1] = replace(last, gives=tuple(v for v in given if isinstance(v, Lin)))
            before, read = stmt, len(found) if isinstance(found, list) else 0
        for at, count, stmt in loads:
            out[at : at + count] = self.narrowed([e for e in out[at : at + count] if isinstance(e, Use)], stmt)
        return out

    # ------------------------------------------------------------ order

    def _flag(self, stmt: ops.Flag) -> Signal:
        event = self.number_of(stmt.event, "the event id") or self.fresh_opaque("%event")
        if stmt.action == "wait" and stmt.source == stmt.dest not in ORDERED_PIPES:  # no document names such a pair
            self.suppose(f"a flag from {stmt.source} to itself orders it (line {stmt.span.line})")
        return Signal(stmt.action, stmt.source, stmt.dest, event, stmt.span, self.when)

    def _barrier(self, stmt: ops.Barrier) -> Fence:
        return Fence(stmt.pipe, stmt.span)

    def _bufferop(self, stmt: ops.BufferOp) -> BufferToken:
        token = self.number_of(stmt.token, "the buffer id") or self.fresh_opaque("%token")
        mode = self.number_of(stmt.mode, "the mode") or self.fresh_opaque("%mode")
        return BufferToken(stmt.action, stmt.pipe, token, mode, stmt.span, self.when)

    def _unreadop(self, stmt: ops.UnreadOp) -> None:
        self.remark(stmt.kind, stmt.message, stmt.span, stmt.hint)
        if stmt.orders and not self.dry:
            self.kernel.lost.append(stmt.span)

    def _crosscore(self, stmt: ops.CrossCore) -> Arrival | Release:
        share, flag = (0, None) if stmt.number is None else divmod(stmt.number, self.target.limits["core_flags"])
        if stmt.action != "wait":
            return Release(stmt.what, stmt.span, stmt.pipe, flag, share)
        held = "" if stmt.pipe in ("S", "ALL") or self.reading("core-wait") == "core" else stmt.pipe
        return Arrival(stmt.what, stmt.span, held, flag, share)

    def _yield(self, stmt: ops.Yield) -> None:
        self.yielded = [self.value(a) for a in stmt.args]

    def _block(self, stmt: ops.Block) -> list[Event]:
        outside, self.yielded = getattr(self, "yielded", []), []
        self.scopes += (inside := "vecscope" in stmt.what)
        events = self.block(stmt.body)
        self.scopes -= inside
        events = self.whole_scope(events) if inside and not self.scopes else events
        if stmt.what == CUBE:
            self.cube += events
            events = []
        self.gives(stmt.results, [*self.yielded, *[None] * len(stmt.results)])
        self.yielded = outside
        return events

    _blockgraph = _block

    def _foreign(self, stmt: ops.Foreign) -> Use | None:
        self.uses += 1
        pointer = self.pointer_of(stmt.pointer)
        if not isinstance(pointer, Place):
            message = f"{stmt.what}: the pointer `{stmt.pointer.name}` cannot be resolved"
            self.remark("unresolved", message, stmt.pointer.span, "its accesses are not judged")
            return None
        offset = ZERO if stmt.offset is None else self.value(stmt.offset)
        size = stmt.size
        if not isinstance(offset, Lin) or self.world.roots(offset + pointer.address) & self.opaque:
            if self.world.roots(pointer.address) & self.opaque:
                said = f"{stmt.what}: where `{stmt.pointer.name}` points is not known{self.because(stmt.pointer)}"
                self.remark("unresolved", said, stmt.pointer.span, "its accesses are not judged")
                return None
            offset, size = ZERO, 0
        place = replace(pointer, address=pointer.address + offset * pointer.item_bytes)
        if stmt.rows is not None and (tile := self._tile_rows(stmt.rows, place)) is not None:
            return Use(-self.uses, stmt.pipe, (tile,), stmt.span, stmt.what, self.when)
        kinds = {"r": ("read",), "w": ("maybe",), "rw": ("read", "maybe")}[stmt.way]
        touches = tuple(CopyTouch(kind, place, ZERO, Lin(size), (), None, size == 0) for kind in kinds)
        return Use(-self.uses, stmt.pipe, touches, stmt.span, stmt.what, self.when)

    def _tile_rows(self, rows: ops.Rows, place: Place) -> CopyTouch | None:
        """Rows of elements that a copy of the other core writes; None where they are not known."""
        numbers = [self.value(o) for o in (rows.count, rows.columns, rows.stride)]
        if not all(isinstance(n, Lin) and n.is_const for n in numbers):
            return None
        count, columns, stride = (n.const for n in numbers if isinstance(n, Lin))
        count, columns = count // rows.share[0], columns // rows.share[1]
        item = place.item_bytes
        return CopyTouch("data", place, ZERO, Lin(columns * item), ((Lin(count), Lin(stride * item)),))

    def _given(self, stmt: ops.Given) -> None:
        when = self.as_condition(self.value(stmt.condition))
        if when is None or not self._fails_once(when):
            self.suppose(f"the loop at line {stmt.span.line} ends")
        if when is None or when.known is not None:
            return
        if self.world.roots(when) & (self.opaque | self.unsure):
            self.kernel.lost.append(stmt.span)
        self.when = (*self.when, when)
        self.held_in[self.around[-1]] = when
        roots = [self.world.symbols[n] for n in self.world.roots(when) if n not in self.around]
        trip = self.trips.get(self.around[-1], "")
        if not self.dry and when.op in ("lt", "le") and all(s.stated or s.name == trip for s in roots):
            self.world.symbols[trip] = replace(self.world.symbols[trip], stated=True)  # the condition bounds the loop

    def _fails_once(self, when: Cond) -> bool:
        """Whether a condition surely fails in some round: it bounds what grows by the same number in each of them."""
        if when.op == "and":
            return any(map(self._fails_once, when.parts))
        factor = dict(when.left.terms).get(self.around[-1], 0)
        rest = when.left - Lin(0, ((self.around[-1], factor),)) if factor else when.left
        grows = when.op in ("lt", "le") and factor > 0 and not self.world.changes(rest, [self.around[-1]])
        return when.known is False or grows

    def _distance(self, found: Counted | None) -> tuple[Lin, int] | None:
        """How far a loop counts in which steps; None where the comparison, or a step beyond the end, may turn the order
        of the values.
        """
        self.block(() if found is None else found.making)
        ends = () if found is None else tuple(self.value(one) for one in (found.first, found.bound, found.step))
        first, bound, step = ends if len(ends) == 3 else (None, None, None)
        known = isinstance(first, Lin) and isinstance(bound, Lin) and isinstance(step, Lin) and step.is_const
        if found is None or not known:
            return None
        assert isinstance(first, Lin)
        assert isinstance(bound, Lin)
        assert isinstance(step, Lin)
        by = -step.const if found.falls else step.const
        if not (by > 0 if found.runs in ("lt", "le") else by < 0 if found.runs != "ne" else abs(by) == 1):
            return None
        distance = (bound - first if by > 0 else first - bound) + (found.runs in ("le", "ge"))
        if found.unsigned:
            lows = [self.world.interval(end)[0] for end in (first, bound)]
            if any(low is None or low < 0 for low in lows) or (by < 0 and (by < -1 or found.runs == "ge")):
                return None
        least = self.world.interval(distance)[0]
        return None if found.runs == "ne" and (least is None or least < 0) else (distance, abs(by))

    def _while(self, stmt: ops.While) -> KernelLoop | list[Event] | None:
        """As a loop that counts, or counts to a number that nobody knows; what stands before the condition runs in each
        round, and once more behind the last one.
        """
        passed = [ops.Bind(stmt.span, n, o, t) for (n, t), o in zip(stmt.inside, stmt.passed, strict=False)]
        sums = tuple(one for one in stmt.before if isinstance(one, (ops.Arith, ops.Const)))
        found = self._distance(counted(stmt))
        acts, ends = len(sums) < len(stmt.before), (ops.Given(stmt.span, stmt.condition),)
        if found is not None:
            start = stmt.before
        elif acts and by_sums(stmt, stmt.condition.name):
            start = (*sums, *ends, *stmt.before)  # in a round that is followed to its end the condition holds
        else:
            start = (*stmt.before, *ends)
        body = (*start, *passed, *stmt.body)
        names = [name for name, _ in stmt.carried]
        results = tuple(f"{name}.end" for name in names)
        zero = ops.Operand("", stmt.span, 0)
        counter = f"%while{self.counters + 1}"
        loop = ops.For(
            stmt.span,
            counter,
            zero,
            zero if found is None else ops.Operand(f"{counter}.distance", stmt.span),
            ops.Operand("", stmt.span, 1 if found is None else found[1]),
            stmt.carried,
            results,
            (),
            body,
            unbounded=found is None,
        )
        if found is not None:
            self.values[loop.high.name] = found[0]
        made = self._for(loop)
        events: list[Event] = made if isinstance(made, list) else [] if made is None else [made]
        ran = self._ran(made)
        if acts:
            self.values |= {name: self.values.get(end) for name, end in zip(names, results, strict=True)}
            outside, self.when = self.when, (*self.when, *ran)
            events = [*events, *self.block(stmt.before)]
            self.when = outside
        self.gives(stmt.results)
        for name, kind, operand in zip(stmt.results, stmt.types, stmt.passed, strict=False):
            if operand.name in names or acts:
                self.values[name] = self.values.get(operand.name if acts else f"{operand.name}.end")
            else:
                self.values[name] = self.from_memory(name, kind) if kind.kind == "int" else None
        return events

    def _ran(self, made: KernelLoop | list[Event] | None) -> list[Cond]:
        """That the condition of a loop held in its first and last round, then no more; a fact of outermost loops."""
        if not isinstance(made, KernelLoop) or (held := self.held_in.get(made.counter)) is None:
            return []
        ends = (ZERO, made.trip - ONE, made.trip)
        first, last, then = (self.world.put_cond(held, {made.counter: at}) for at in ends)
        ran, ended = both([compare("le", made.trip), both([first, last])], "or"), then.negated()
        roots = [self.world.symbols[n] for n in self.world.roots(both([ran, ended]))]
        if self.dry or any(one.varies or one.loaded or one.side for one in roots):
            return [ran]
        hard = any(self.world.symbols[n].definition[:1] == ("mul",) for n in ended.symbols())
        self.world.given.append(ran)
        if not self.when:  # a loop that does not run need not end
            (self.world.witnessed if hard else self.world.given).append(ended)
        return []

    # ------------------------------------------------------------ control

    def _if(self, stmt: ops.If) -> list[Event] | Branch:
        when = self.as_condition(self.value(stmt.condition))
        if when is None:
            when = compare("ne", self.unfollowed(stmt.condition.name))
        if self.world.roots(when) & (self.opaque | self.unsure):
            self.kernel.lost.append(stmt.span)
        decided = when.known if when.known is not None else self.world.decide(when)
        if decided is not None:
            self.yielded = []
            events = self.block(stmt.then if decided else stmt.other)
            self.gives(stmt.results, self.yielded)
            return events
        before, outside, sides, set_before = dict(self.registers), self.when, self.sides, self.waiting
        arms, given, begun, after, kept, kept_before, left = [], [], [], [], [], self.kept, []
        for condition, body in ((when, stmt.then), (when.negated(), stmt.other)):
            self.when, self.sides, self.yielded, self.kept = (*outside, condition), (*sides, condition), [], []
            begun.append(self.under(before))
            self.registers, self.waiting = dict(begun[-1]), dict(set_before)
            arms.append(tuple(self.block(body)))
            given.append(self.yielded)
            after.append(self.registers)
            left.append(self.waiting)
            kept.append(self.kept)
        self.when, self.sides = outside, sides
        self.waiting = waiting_behind(set_before, left)
        self.registers = self.under(behind_branch(before, begun, after, when, stmt.span))
        self.kept = [*kept_before, RegisterBranch((kept[0], kept[1]), self.held(self.registers), stmt.span.line, when)]
        self.gives(stmt.results, [self._select(when, left, right) for left, right in zip(*given, strict=False)])
        return Branch(when, arms[0], arms[1], stmt.span) if any(arms) else []

    def _for(self, stmt: ops.For) -> KernelLoop | list[Event] | None:
        low, high, step = (
            self.number_of(o, f"the {w} of the loop")
            for o, w in ((stmt.low, "start"), (stmt.high, "end"), (stmt.step, "step"))
        )
        if stmt.unbounded:
            low, high, step = ZERO, self.fresh_opaque("%trip", 0), ONE
        if step is not None and not self.at_least_one(step, f"the step `{stmt.step.name}` of a loop"):
            self.remark("unresolved", "the step of a loop must be at least 1", stmt.step.span)
            step = None
        if low is None or high is None or step is None:
            self.kernel.lost.append(stmt.span)
            low, step = low or ZERO, step or ONE
            high = low + self.world.times(self.unfollowed("%trip", 0), step)
        trip = self.world.quotient(high - low + step - 1, step)
        least = self.world.interval(trip)[0]
        if least is None or least < 0:
            trip = self.world.least(trip, ZERO, most=True)
        most = self.world.interval(trip)[1]
        if trip == ZERO or (most is not None and most < 1):
            self.gives(stmt.results, [self.value(first) for _, first in stmt.carried])
            return None
        if trip == ONE:
            return self.once(stmt, low)
        self.counters += 1
        called = f"%k{self.counters}" if self.setting.canonical else stmt.counter
        plain = self.setting.canonical or (low == ZERO and step == ONE)
        said = called if plain else f"round of {called}"  # a counter that counts otherwise is no value of the text
        counter = self.world.free(name_of(called), 0, None if most is None else most - 1, shown=said)
        name = counter.terms[0][0]
        at = low + self.world.times(counter, step)
        side = (compare("lt", at - high),)
        self.world.symbols[name] = replace(
            self.world.symbols[name], side=() if not side[0].left.terms or (high.is_const and low.is_const) else side
        )
        saved, constants, outside = dict(self.values), dict(self.constants), self.when
        self.around.append(name)
        if stmt.unbounded and trip.terms:
            self.trips[name] = trip.terms[0][0]
        outer, shaped = self.shaped, self.shaped_in(stmt.body)
        self.values[stmt.counter] = at
        first = [self.value(o) for _, o in stmt.carried]
        rounds = self.world.free(f"{name}_rounds", 0, most)
        forms = self._carried(stmt, first, counter, rounds)
        closed = [self.behind(value, rounds, counter) for value in forms]
        before = dict(self.registers)
        ran, running = compare("le", ONE - trip), self.running
        self.running = (*running, ran)
        self.registers = self.under(joined(before, self.iteration(stmt, closed)[1], stmt.span))
        self.bind(stmt, closed)
        number, head, kept, self.kept = dict(self.consumed), self.held(self.registers), self.kept, []
        body = tuple(self.block(stmt.body))
        self.consumed = number | self.consumed
        self.around.pop()
        self.when = outside
        after = self.behind_rounds(before, name, trip, stmt.span)
        runs, last, self.running = least is not None and least >= 1, self.held(after), running
        self.registers = after if runs else self.under(joined(after, before, stmt.span, ran))
        behind = self.held(self.registers)
        self.kept = [*kept, RegisterLoop(self.kept, head, last, behind, ran, runs, stmt.span.line)]
        self.values, self.shaped = saved, outer
        self.any_shape(shaped)
        self.constants = constants
        self.gives(stmt.results, [self.behind(value, rounds, trip) for value in forms])
        return KernelLoop(name, trip, body, stmt.span)
