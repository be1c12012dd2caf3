"""Queues of a program: the engine that does a piece of work, the context that gives it, and who follows whom.

Knows: pieces of work by step, lane and context, in the written order. Does not know: `after`, machines, touched bytes.
Law: a piece that names its engine and its context is in the queues of both. A context begins an operation when all
pieces of the one before have ended. An engine does one thing at a time, in the order in which it is given things. Of
one context that is the written order. Which of two contexts gives first, nothing says; that it is the written order is
supposed, and whoever builds on it says so.

Source: "DMA Engine", Implementation Details (commands of an engine in sequence); docs/machines/rngd.md 7.4 (two
operations of one context never overlap; written order alone orders nothing).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from dmaverify.values import dataclass

QueueEdge = tuple[int, int, int]
"""Pieces p and q and a distance d: p in iteration n ends before q in iteration n + d begins; of no loop, d is 0."""


def engine_lane(engine: object) -> str:
    """The lane of an engine that a command names."""
    return f"engine {engine}"


def shared_lane(step: int) -> str:
    """The lane of a step that an arbiter or several engines share out: it is in no queue, and in no context's."""
    return f"shared {step}"


def is_engine(lane: str) -> bool:
    return lane.startswith("engine ")


@dataclass(frozen=True, slots=True)
class LaneWork:
    """The work of one lane within one step; `context` is the one that the step names, where it names one."""

    step: int
    lane: str
    context: str = ""

    @property
    def queue(self) -> str:
        """What surely does its pieces in the written order: a lane, of an engine what one context gives it."""
        apart = is_engine(self.lane) and self.context not in ("", self.lane)
        return f"{self.lane} of {self.context}" if apart else self.lane

    @property
    def in_front(self) -> bool:
        """Whether its context stands in front of a queue of the machine, which may swap what it is given."""
        return self.context not in ("", self.lane) and not is_engine(self.lane)

    @property
    def given_by(self) -> str:
        """The context that begins it; none of a piece that names its engine alone, or that is shared out."""
        if self.lane.startswith("shared "):
            return ""
        return self.context or ("" if is_engine(self.lane) else self.lane)


def context_edges(pieces: Sequence[LaneWork], of_step: Sequence[Sequence[int]]) -> Iterator[QueueEdge]:
    """Every piece of a step behind all pieces of the step before in its context. Lanes order what is in one lane."""
    last: dict[str, Sequence[int]] = {}
    for own in of_step:
        for context in dict.fromkeys(pieces[q].given_by for q in own):
            if context:
                mine = [q for q in own if pieces[q].given_by == context]
                yield from _all_behind(pieces, last.get(context, ()), mine, 0)
                last[context] = mine


def context_edges_around(pieces: Sequence[LaneWork], members: Sequence[int]) -> Iterator[QueueEdge]:
    """The same around a loop: from a context's last step of the body to its first one."""
    contexts: dict[str, list[int]] = {}
    for piece in members:
        contexts.setdefault(pieces[piece].given_by, []).append(piece)
    for context, own in contexts.items():
        if context:
            first, last = (
                [q for q in own if pieces[q].step == pieces[end].step] for end in (own[0], own[-1])
            )  # fmt: skip
            yield from _all_behind(pieces, last, first, 1)


def _all_behind(
    pieces: Sequence[LaneWork], ahead: Sequence[int], behind: Sequence[int], distance: int
) -> Iterator[QueueEdge]:
    for p in ahead:
        for q in behind:
            if pieces[p].lane != pieces[q].lane or pieces[p].in_front:
                yield p, q, distance


def engine_edges(pieces: Sequence[LaneWork], *, every: bool = False) -> Iterator[QueueEdge]:
    """The written order of the pieces that several contexts give one engine, which no document states. Each piece with
    the next, or with `every` one behind it.
    """
    for own in _engines(pieces, range(len(pieces))):
        for at, q in enumerate(own):
            for p in own[:at] if every else own[max(0, at - 1) : at]:
                if pieces[p].queue != pieces[q].queue:
                    yield p, q, 0


def engine_edges_around(
    pieces: Sequence[LaneWork], members: Sequence[int], *, every: bool = False
) -> Iterator[QueueEdge]:
    """The same around a loop: from the last piece of an engine to the first one, or with `every` between any two."""
    for own in _engines(pieces, members):
        for p in own if every else own[-1:]:
            yield from ((p, q, 1) for q in (own if every else own[:1]))


def _engines(pieces: Sequence[LaneWork], members: Sequence[int]) -> Iterator[list[int]]:
    """The pieces of each engine that several contexts give work, in the written order."""
    engines: dict[str, list[int]] = {}
    for number in members:
        if is_engine(pieces[number].lane):
            engines.setdefault(pieces[number].lane, []).append(number)
    for own in engines.values():
        if any(pieces[p].queue != pieces[q].queue for p, q in pairwise(own)):
            yield own
