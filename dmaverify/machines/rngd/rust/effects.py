"""What transfers and other code do to buffers, one access at a time.

Knows: the view that an access goes through, when it happens.
Does not know: what follows from accesses together (`coverage`, `buffers`).
Law: what may write and what certainly writes are told apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dmaverify.machines.rngd.rust.moves import Site
from dmaverify.machines.rngd.rust.paths import OnWay
from dmaverify.machines.rngd.rust.values import RustTensor


@dataclass(frozen=True)
class Effect:
    """One access of a transfer: `tensor` is the view it goes through, `depends` what its data comes from; `partial`
    where the loop around it may stop before its last turn.
    """

    site: Site
    writes: bool
    tensor: RustTensor
    depends: frozenset[int] = frozenset()
    when: OnWay = field(default_factory=OnWay)
    partial: bool = False

    @property
    def may(self) -> bool:
        """Whether it may happen for some of its starts only."""
        return self.partial or self.when.loose


@dataclass(frozen=True)
class HeldNeed:
    """What a buffer holds is used: `after` so many effects, by a transfer (`site`), or by code that gets the tensor.

    `soft` where only some of the ways on from here use it.
    """

    after: int
    tensor: RustTensor
    when: OnWay
    site: Site | None = None
    soft: bool = False


@dataclass(frozen=True)
class Unjudged:
    """What could not be said of a buffer: `unknown` where the verdict depends on it, `given` what it then rests on, as
    a condition; else a claim that is not made.
    """

    rule: str
    reason: str
    unknown: bool
    given: str = ""
