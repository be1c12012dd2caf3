"""Accesses: one Fetch or Commit of a tensor, between a memory and a stream of packets; and what a plan says wrongly.

Knows: accesses as a plan states them, readable statements that make no sense.
Does not know: how they are written in a file, how a configuration is derived or judged.
Law: an access moves the elements of `memory` in the order of `stream`; a `config` is what the sequencer is told.

Source: "Sequencer" (Stream Adapters, Configuration Examples); docs/machines/rngd.md 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from dmaverify.errors import Span
from dmaverify.program.command import Sequencer
from dmaverify.program.move import Stream
from dmaverify.program.tensor import Tensor
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from dmaverify.program.views import View, Views


class PlanProblem(NamedTuple):
    """Something that can be read but makes no sense: the finding `core/well-formed`, at its place. `warning`: it may
    well be meant. `cut_short`: the commands do not run to their end, so that what they move is not what is moved.
    """

    message: str
    span: Span | None
    hint: str
    fatal: bool = True  # whether the meaning of the whole is in doubt, so that nothing else can be judged
    warning: bool = False
    cut_short: bool = False


@dataclass(frozen=True, slots=True)
class PlanMove:
    """A move that copies of a kernel (by their order in the text, from 1) are claimed to make together."""

    copies: tuple[int, ...]
    dtype: str
    source: Tensor
    dest: Tensor
    span: Span
    problems: tuple[PlanProblem, ...] = ()
    copies_span: Span | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """One named access of a plan. `engine` is "fetch" (reads) or "commit" (writes), `context` "main" or "sub".

    `config` is None where it is to be derived, `expect` where the plan says nothing, () for "proved". `key_spans` maps
    dotted keys such as `memory.element` to the places of their values. With `views`, memory is what the first iteration
    moves.
    """

    name: str
    target: str
    engine: str
    context: str
    dtype: str
    memory: Tensor
    stream: Stream
    config: Sequencer | None = None
    limits: tuple[tuple[str, int], ...] = ()
    expect: tuple[str, ...] | None = None
    problems: tuple[PlanProblem, ...] = ()
    line: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)
    key_spans: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)
    views: Views | None = None

    @property
    def view(self) -> View | None:
        """The view of the side that is memory."""
        return None if self.views is None else self.views.on("source" if self.engine == "fetch" else "dest")
