"""Which accesses of a run are surely done before which: flags, barriers, tokens, the other core.

Knows: one execution, event by event. Does not know: terms, states of the proof.
Law: a pipe knows what was done before a set that it waited for; two accesses that share bytes, one of them a write, of
which the later pipe does not know the earlier one, are trouble.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.running import WRITTEN, RunEvent, Running
from dmaverify.program.instructions import Shared

PIPES = ("MTE2", "MTE3", "V", "S", "LOCAL", "MTE1", "M", "FIX")
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
            for pipe in PIPES if stmt.pipe == "ALL" else (stmt.pipe or "S",):
                self._learns(CORE, self._done(pipe))
        for one in self.others:
            asked = one.after if sets else one.before
            if asked is None or flag is None or asked == flag:
                self._works(one, sets=sets)
        if not sets:
            alone = stmt.pipe not in ("", "S", "ALL") and self.readings.get("core-wait") != "core"
            for pipe in (stmt.pipe,) if alone else PIPES:
                self._learns(pipe, self._done(CORE))

    def _works(self, one: Shared, *, sets: bool) -> None:
        """One access of the other core."""
        place = one.root or one.space
        state = self.run.memory[place].state
        bytes_ = np.arange(one.start, len(state) if one.end is None else min(one.end, len(state)))
        if one.way == "r" and sets and one.space == "ub" and (state[bytes_] != WRITTEN).any():
            self.run.found.add("definite")
        if one.way == "w" and not sets:
            state[bytes_] = WRITTEN
        work = {place: bytes_}
        self._happened(RunEvent(CORE, *(({}, work) if one.way == "w" else (work, {}))))

    def _happened(self, event: RunEvent) -> None:
        if len(self.events) >= MOST_ACCESSES:
            raise Beyond(f"what happens behind {MOST_ACCESSES:,} accesses")
        self.known.append(self.knows.get(event.pipe, 0))
        self.issued[event.pipe] = self.issued.get(event.pipe, 0) | 1 << len(self.events)
        self.events.append(event)

    def _judge_order(self) -> None:
        """Pairs that nothing orders, when it is known which bytes of which loads came to matter."""
        for number, place, needed in self.registers_of.needed():
            self.events[number].reads[place] = np.union1d(self.events[number].reads[place], needed)
        reads = Reaches([event.reads for event in self.events])
        writes = Reaches([event.writes for event in self.events])
        held = 0
        for at, event in enumerate(self.events):
            ordered = self.known[at] | self.issued.get("S", 0)
            ordered |= self.issued[event.pipe] if event.pipe in ("V", CORE) else 0
            free = members(((1 << at) - 1) & ~ordered, at)
            for kind, mine, theirs in (
                ("raw", event.reads, writes), ("war", event.writes, reads), ("waw", event.writes, writes)
            ):  # fmt: skip
                for place, number in theirs.meeting(mine, free):
                    if kind in self.run.found:
                        break
                    atomic = self.events[number].atomic
                    if kind == "waw" and event.atomic[0] not in ("", "set") and event.atomic == atomic:
                        continue  # both add, in whatever order
                    held += 1
                    if held > MOST_HELD:
                        raise Beyond(f"more than {MOST_HELD:,} pairs of accesses that nothing orders")
                    if np.isin(mine[place], theirs.of[number][place], assume_unique=True).any():
                        self.run.found.add(kind)

    def _done(self, pipe: str) -> int:
        """What is surely done when a pipe has done all that it was given so far."""
        return self.knows.get(pipe, 0) | self.issued.get(pipe, 0)

    def _learns(self, pipe: str, done: int) -> None:
        self.knows[pipe] = self.knows.get(pipe, 0) | done

    def _order(self, stmt: ops.Flag | ops.Barrier | ops.BufferOp) -> None:
        if isinstance(stmt, ops.Barrier):
            if stmt.pipe == "ALL":
                everything = 0
                for pipe in PIPES:
                    everything |= self._done(pipe)
                self.knows |= dict.fromkeys(PIPES, everything)
            else:
                self.knows[stmt.pipe] = self._done(stmt.pipe)
        elif isinstance(stmt, ops.BufferOp):
            token, mode = self._int(stmt.token), self._int(stmt.mode)
            holding = self.holding.setdefault(token, set())
            if stmt.action == "rls":
                for pipe in {stmt.pipe, *(holding if mode else ())}:
                    self.released[token] = self.released.get(token, 0) | self._done(pipe)
                holding.discard(stmt.pipe)
            else:
                holding.add(stmt.pipe)
                if not mode:
                    self._learns(stmt.pipe, self.released.get(token, 0))
        else:
            flag = (stmt.source, stmt.dest, self._int(stmt.event))
            if stmt.action == "set":
                if flag in self.flags:
                    self.run.found.add("flags")
                self.flags[flag] = self._done(stmt.source)
            elif flag not in self.flags:
                self.run.found.add("flags")
            else:
                self._learns(stmt.dest, self.flags.pop(flag))


def members(events: int, most: int) -> np.ndarray:
    """Whether each of the first `most` events is in a set; sets of events have a bit for each."""
    data = np.frombuffer(events.to_bytes(most // 8 + 1, "little"), dtype=np.uint8)
    return np.unpackbits(data, count=most, bitorder="little").astype(bool)


class Reaches:
    """What each event reads (or writes), rising bytes by place, and from where to where that reaches."""

    def __init__(self, of: Sequence[Mapping[str, np.ndarray]]) -> None:
        self.of = of
        self._ends: dict[str, np.ndarray] = {}
        for number, bytes_ in enumerate(of):
            for place, found in bytes_.items():
                if len(found):
                    ends = self._ends.setdefault(place, np.tile(np.array([[1], [0]]), len(of)))
                    ends[:, number] = found[0], found[-1] + 1

    def meeting(self, mine: Mapping[str, np.ndarray], free: np.ndarray) -> Iterator[tuple[str, int]]:
        """Place and number of the events among the first that are `free` and reach into `mine`."""
        for place, found in mine.items():
            if len(found) and place in self._ends:
                low, high = self._ends[place][:, : len(free)]
                for number in np.flatnonzero(free & (low < high) & (low <= found[-1]) & (high > found[0])):
                    yield place, int(number)
