"""When the events of a kernel are issued and done, as text for a solver.

Knows: what each pipe is given in the order of the text, what flags, fences and tokens make it wait for.
Does not know: what accesses touch, machines, how scripts are asked.
Law: a pipe issues what it is given in order, and an event is done no earlier than it was issued; a wait, a fence or a
token is passed before what its pipe is given next is issued. A set is done when all is done that its pipe was given
before, a wait after every set of its flag that stands before it (flags are set and waited for in turns, which is asked
by itself: `flag_questions`), a fence after all that its pipe, or every pipe, was given.

Source: docs/machines/pto.md (pipes, flags, tokens).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dmaverify.language.affine import Lin
from dmaverify.program.instructions import BufferToken, Copy, Event, Fence, Signal, Use
from dmaverify.prove.flow.order.stretches import Instant, Instants
from dmaverify.prove.move.script import ScriptWriter

ALL = "ALL"


class PipeClock:
    """When the events of a row are issued and done, as text: i the issue, d the end, c that of all so far."""

    def __init__(self, instants: Instants, ordered: Collection[str], nodes: Sequence[Instant]) -> None:
        self.instants, self.ordered, self.nodes = instants, ordered, nodes
        self.lines: list[str] = []
        pipes = {pipe for node in nodes for pipe in _pipes(node.event)} - {ALL}
        last: dict[str, int] = {}
        for index, node in enumerate(nodes):
            self.lines += [f"(declare-const {x}{index} Int)" for x in "id"]
            self.lines.append(f"(assert (<= i{index} d{index}))")
            for pipe in sorted(pipes) if _pipes(node.event) == (ALL,) else _pipes(node.event):
                self._given(index, pipe, last)
            self._waits_for(index)

    def written(self, writer: ScriptWriter) -> None:
        """Puts the clock down; that there is one is asked, as nothing is wrong where no time is possible."""
        writer.lines += self.lines
        writer.possible("a clock", "", "true")

    def _given(self, index: int, pipe: str, last: dict[str, int]) -> None:
        """In order of issue; behind what holds the pipe; and when all of it is done."""
        event, before = self.nodes[index].event, last.get(pipe)
        own = f"c{index}.{pipe}"
        self.lines += [f"(declare-const {own} Int)", f"(assert (<= d{index} {own}))"]
        if before is not None:
            earlier = self.nodes[before].event
            done = pipe in self.ordered if isinstance(earlier, (Copy, Use)) else _holds(earlier)
            self.lines.append(f"(assert (<= {'d' if done else 'i'}{before} i{index}))")
            self.lines.append(f"(assert (<= c{before}.{pipe} {own}))")
            if _collects(event):
                self.lines.append(f"(assert (<= c{before}.{pipe} d{index}))")
        last[pipe] = index

    def _waits_for(self, index: int) -> None:
        """A wait behind the sets of its flag, a token behind its releases, that stand before it."""
        event = self.nodes[index].event
        for earlier in range(index):
            other = self.nodes[earlier].event
            pair: tuple[Lin, Lin] | None = None
            if isinstance(event, Signal) and isinstance(other, Signal):
                if (other.action, event.action) == ("set", "wait") and flag_of(event) == flag_of(other):
                    pair = other.event, event.event
            elif isinstance(event, BufferToken) and isinstance(other, BufferToken):
                pair = (other.token, event.token) if (other.action, event.action) == ("rls", "get") else None
            if pair is not None:
                world, nodes = self.instants.world, (self.nodes[earlier], self.nodes[index])
                ids = [world.put(number, node.counters) for number, node in zip(pair, nodes, strict=True)]
                done = f"(<= d{earlier} d{index})"
                if ids[0] == ids[1]:
                    self.lines.append(f"(assert {done})")
                elif not (ids[0] - ids[1]).is_const:
                    facts = self.instants.facts(self.lines, ids, [])
                    same = f"(= {world.text(ids[0])} {world.text(ids[1])})"
                    self.lines += [f"(assert {fact})" for fact in facts if f"(assert {fact})" not in self.lines]
                    self.lines.append(f"(assert (=> {same} {done}))")


def _pipes(event: Event) -> tuple[str, ...]:
    """The pipes that are given an event."""
    if isinstance(event, Signal):
        return (event.source if event.action == "set" else event.dest,)
    assert isinstance(event, (Copy, Use, Fence, BufferToken))
    return (event.pipe,)


def flag_of(event: Signal) -> tuple[str, str]:
    return event.source, event.dest


def _holds(event: Event) -> bool:
    """Whether what its pipe is given next is issued only when it is done."""
    return isinstance(event, Fence) or (isinstance(event, (Signal, BufferToken)) and event.action in ("wait", "get"))


def _collects(event: Event) -> bool:
    """Whether it is done only when all is done that its pipe was given before."""
    return isinstance(event, Fence) or (isinstance(event, (Signal, BufferToken)) and event.action in ("set", "rls"))
