"""Registers that keep their value, as a kernel writes and reads them, in order of issue.

Knows: writes, reads, loops and branches around them, and what a front end takes registers to hold where paths meet.
Does not know: any machine, what a register is for.
Law: a read takes what the last write before it put there; `None` is a number that is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.language.affine import TRUE, Cond, Lin
from dmaverify.values import dataclass

Held = tuple[Lin | None, ...]


@dataclass(frozen=True, slots=True)
class RegisterWrite:
    """A register takes these values; `None` in their place: values that are not known."""

    register: str
    values: Held | None


@dataclass(frozen=True, slots=True)
class RegisterRead:
    """What somebody (`by`) took from a register."""

    register: str
    values: Held
    by: str
    when: Cond = TRUE  # what it needs that for


@dataclass(frozen=True, slots=True)
class RegisterLoop:
    """A loop, which has an iteration where `when` holds. `head` is what registers are taken to hold where an iteration
    begins, `last` behind the last one, `after` behind the loop; those of which nothing is taken are left out. `runs`:
    it surely has an iteration.
    """

    body: Sequence[RegisterEvent]
    head: Mapping[str, Held]
    last: Mapping[str, Held]
    after: Mapping[str, Held]
    when: Cond
    runs: bool
    line: int


@dataclass(frozen=True, slots=True)
class RegisterBranch:
    """Two ways, the first where `when` holds, and what registers are taken to hold behind them."""

    arms: tuple[Sequence[RegisterEvent], Sequence[RegisterEvent]]
    after: Mapping[str, Held]
    line: int
    when: Cond


RegisterEvent = RegisterWrite | RegisterRead | RegisterLoop | RegisterBranch


def written(events: Sequence[RegisterEvent]) -> list[str]:
    """Registers that some event writes, each once."""
    found: dict[str, None] = {}
    for event in events:
        if isinstance(event, RegisterWrite):
            found[event.register] = None
        elif isinstance(event, RegisterLoop):
            found |= dict.fromkeys(written(event.body))
        elif isinstance(event, RegisterBranch):
            found |= dict.fromkeys(name for arm in event.arms for name in written(arm))
    return list(found)


def reads(events: Sequence[RegisterEvent]) -> int:
    """How many reads there are in the text."""
    count = 0
    for event in events:
        if isinstance(event, RegisterLoop):
            count += reads(event.body)
        elif isinstance(event, RegisterBranch):
            count += sum(map(reads, event.arms))
        else:
            count += isinstance(event, RegisterRead)
    return count
