"""Moves: a source tensor, a destination tensor, the promise that both hold the same elements, and what a plan says of
it.

Knows: streams, transfers.
Does not know: how they are written in a file, how the promise is proved.
Law: a transfer is a value: what it promises is the equality of the two tensors' elements, whatever moves them.

Source: docs/design.md; "DMA Engine", Structural Requirements; docs/machines/rngd.md 1.6 and 7.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmaverify.errors import Span
from dmaverify.language.expr import ONE, Expr, pair
from dmaverify.program.command import Engine, GivenCommand
from dmaverify.program.tensor import Tensor
from dmaverify.values import dataclass, field, replace

if TYPE_CHECKING:
    from dmaverify.program.form import Form
    from dmaverify.program.views import Views

Told = tuple[str, tuple[tuple[str, int], ...], str, tuple[tuple[str, Span], ...]]
"""Scope, ports, place, and the characters that single ports come from."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Who moves what in which order: engines by chip, cluster and slice (`slice` counts engines, not slices), time,
    packet.
    """

    time: Expr
    packet: Expr
    chip: Expr = ONE
    cluster: Expr = ONE
    slice: Expr = ONE
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def mapping(self) -> Expr:
        return pair(self.chip, self.cluster, self.slice, self.time, self.packet)


@dataclass(frozen=True, slots=True)
class EngineStream:
    """One command of a heterogeneous aggregate: the engine, its own stream, the number of the case it comes from.

    The chip, cluster and slice of the stream each hold the one position that is this engine's part.
    """

    engine: Engine
    stream: Stream
    case: int = 0


@dataclass(frozen=True, slots=True)
class Transfer:
    """One named move of a plan: what is promised, and whatever the plan says of how it is kept.

    `streams` are those of a heterogeneous aggregate, one per command, instead of `stream`. `given` are the sequencers
    as written, in order, not yet paired. `engine` is the one that does the stream, where the plan names it. `expect` is
    None where the plan says nothing, `()` for proved. With `views`, source and dest are what the first iteration moves.
    """

    name: str
    target: str
    dtype: str
    source: Tensor
    dest: Tensor
    stream: Stream | None = None
    given: tuple[GivenCommand, ...] = ()
    limits: tuple[tuple[str, int], ...] = ()
    expect: tuple[str, ...] | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    streams: tuple[EngineStream, ...] = ()
    options: tuple[tuple[str, int | str], ...] = ()  # what the machine's own module reads
    facts: tuple[Told, ...] = ()
    form: Form | None = field(default=None, compare=False, repr=False)  # where `given` was told in a form
    views: Views | None = None
    engine: Engine | None = None

    def with_given(self, *given: GivenCommand) -> Transfer:
        """The move with these commands, and nothing else of what the plan said of how it is kept."""
        return replace(self, stream=None, streams=(), given=given, expect=None)

    @property
    def carried_out(self) -> bool:
        """Whether a stream or commands say how the move is done."""
        return bool(self.given or self.streams) or self.stream is not None

    @property
    def iterations(self) -> int:
        """How often loops around its views make the move."""
        return 1 if self.views is None else self.views.count

    def at_iteration(self, counters: Sequence[int]) -> Transfer:
        """The move with the source and dest of the iteration at `counters`."""
        views = self.views
        if views is None:
            return self
        source = self.source if views.source is None else views.source.moved(counters)
        dest = self.dest if views.dest is None else views.dest.moved(counters)
        return replace(self, source=source, dest=dest)

    @property
    def buffers(self) -> tuple[Tensor, Tensor]:
        """The memory that source and destination lie in: behind a view, the whole tensor."""
        views = self.views
        read, write = (views.source, views.dest) if views is not None else (None, None)
        return self.source if read is None else read.buffer, self.dest if write is None else write.buffer
