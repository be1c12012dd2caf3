"""Which accesses of a run are surely done before which: flags, barriers, tokens, the other core.

Knows: one execution, event by event. Does not know: terms, states of the proof.
Law: a pipe knows what was done before a set that it waited for; two accesses that share bytes, one of them a write, of
which the later pipe does not know the earlier one, are trouble.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmaverify.execute.hazards import Touched, meetings, share
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.ranks import COMM
from dmaverify.machines.pto.running import WRITTEN, RunCopy, RunEvent, Running, place_of
from dmaverify.program.instructions import Shared

PIPES = ("MTE2", "MTE3", "V", "S", "LOCAL", "MTE1", "M", "FIX", COMM)
CORE = "other core"
MOST_ACCESSES = 1 << 13  # of one run: each is held against all before it
MOST_HELD = 40_000  # pairs of which each byte is held against the other's


class RunOrder(Running):
    """The part of a run that is about order."""

    def _other_core(self, stmt: ops.CrossCore) -> None:
        """A set lets the other core work, which knows what the pipe had done; before a wait it has worked, which the
        pipe that waits knows then, or all pipes where it names none.
        """
        flag = None if stmt.number is None else stmt.number % self.most["core_flags"]
        sets = stmt.action == "set"
        if sets:
            self.order.meet(PIPES if stmt.pipe == "ALL" else (stmt.pipe or "S",), (CORE,))
        for one in self.others:
            asked = one.after if sets else one.before
            if asked is None or flag is None or asked == flag:
                self._works(one, sets=sets)
        if not sets:
            alone = stmt.pipe not in ("", "S", "ALL") and self.readings.get("core-wait") != "core"
            self.order.meet((CORE,), (stmt.pipe,) if alone else PIPES)

    def _works(self, one: Shared, *, sets: bool) -> None:
        """One access of the other core."""
        place = place_of(one.root) if one.root else one.space
        state = self.run.memory[place].state
        bytes_ = np.arange(one.start, len(state) if one.end is None else min(one.end, len(state)))
        if one.way == "r" and sets and one.space == "ub":
            self._needs(state[bytes_])
        if one.way == "w" and not sets:
            state[bytes_] = WRITTEN
        self._happened(CORE, [(place, one.way == "w", bytes_)])

    def _happened(
        self,
        pipe: str,
        touched: Sequence[tuple[str, bool, np.ndarray]],
        atomic: tuple[str, str, int] = ("", "", 0),
        copy: RunCopy | None = None,
    ) -> None:
        """Puts down an access: of each memory the bytes, rising, that it writes or reads."""
        if len(self.events) >= MOST_ACCESSES:
            raise Beyond(f"what happens behind {MOST_ACCESSES:,} accesses")
        self.order.happens(pipe, len(self.events))
        made = [Touched(place, writes, at, at) for place, writes, at in touched]
        self.events.append(RunEvent(pipe, made, atomic, copy, self.line))

    def _judge_order(self) -> None:
        """Pairs that nothing orders, when it is known which bytes of which loads came to matter."""
        for number, place, needed in self.registers_of.needed():
            self.events[number].touched.append(Touched(place, False, needed, needed))
        known, issued = self.order.known, self.order.issued
        in_turn = {pipe: issued.get("S", 0) | (issued[pipe] if pipe in ("V", CORE) else 0) for pipe in issued}
        ordered = [known[n] | in_turn[event.lane] | 1 << n for n, event in enumerate(self.events)]
        held = 0
        for kind, (number, one), (at, other) in meetings(self.events, ordered, self.run.wrong):
            first, second = self.events[number], self.events[at]
            if kind == "waw" and second.atomic[0] not in ("", "set") and second.atomic == first.atomic:
                continue  # both add, in whatever order
            held += 1
            if held > MOST_HELD:
                raise Beyond(f"more than {MOST_HELD:,} pairs of accesses that nothing orders")
            if share(one.maybe, other.maybe):
                self._finds(kind, f"lines {first.line:,} and {second.line:,} meet in {one.tier}")

    def _order(self, stmt: ops.Flag | ops.Barrier | ops.BufferOp) -> None:
        if isinstance(stmt, ops.Barrier):
            pipes = PIPES if stmt.pipe == "ALL" else (stmt.pipe,)
            self.order.meet(pipes, pipes)
        elif isinstance(stmt, ops.BufferOp):
            token, mode = self._int(stmt.token), self._int(stmt.mode)
            holding = self.holding.setdefault(token, set())
            if stmt.action == "rls":
                for pipe in {stmt.pipe, *(holding if mode else ())}:
                    self.order.gives(pipe, token)
                holding.discard(stmt.pipe)
            else:
                holding.add(stmt.pipe)
                if not mode:
                    self.order.waits(stmt.pipe, token)
        else:
            flag = (stmt.source, stmt.dest, self._int(stmt.event))
            if (flag in self.flags) == (stmt.action == "set"):
                self._finds("flags")
            if stmt.action == "set":
                self.order.gives(stmt.source, flag)
                self.flags.add(flag)
            elif flag in self.flags:
                self.order.waits(stmt.dest, flag)
                self.flags.remove(flag)
