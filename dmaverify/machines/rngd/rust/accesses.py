"""What a function does with a buffer: its accesses, what is used of it, and what could not be said of it.

Knows: which access happens on which way, through which view. Does not know: cells, verdicts.
Law: an access that may happen for some of its starts only is never a certain one.
"""

from __future__ import annotations

from dmaverify.errors import Span
from dmaverify.machines.rngd.rust.moves import Site
from dmaverify.machines.rngd.rust.values import RustTensor
from dmaverify.program.ways import OnWay
from dmaverify.values import dataclass, field


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


@dataclass(frozen=True)
class HeldNeed:
    """What a buffer holds is used: `after` so many effects, by a transfer (`site`), or by code that gets the tensor.

    `soft` where only some of the ways on from here use it. `leaves`: the function that is read by itself gives it back.
    """

    after: int
    tensor: RustTensor
    when: OnWay
    site: Site | None = None
    soft: bool = False
    leaves: bool = False


@dataclass(frozen=True)
class Unjudged:
    """What could not be said of a buffer: `unknown` where the verdict depends on it, `given` what it then rests on, as
    a condition; else a claim that is not made.
    """

    rule: str
    reason: str
    unknown: bool
    given: str = ""
    span: Span | None = field(default=None, compare=False)
