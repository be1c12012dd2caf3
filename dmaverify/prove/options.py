"""How to judge: readings, limits, cross-checks; apart from the judges, so that naming it costs nothing.

Knows: the choices that a user has. Does not know: what they do.
Law: the defaults are the documented ones.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.errors import InputError
from dmaverify.prove.limits import MEMORY, QUESTIONS, RLIMIT, RUN_UNITS, TIMEOUT, Limits
from dmaverify.values import dataclass, field, replace

_KINDS = {
    "readings": (Mapping,), "rlimit": (int,), "cross_check": (int, type(None)), "repair": (bool,), "prove": (str,),
    "timeout": (int, float, type(None)), "memory": (int, type(None)), "allow": (tuple, list),
}  # fmt: skip
_LEAST = {"rlimit": 1, "cross_check": 0, "timeout": 0, "memory": 0}
_MOST = 1 << 50


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge. `cross_check`: entries up to this many units are run in numpy as well, and contradict a wrong proof
    (0: none; None: as `check` does, RUN_UNITS, where a file is checked, and none where a part of it is judged).

    `prove`: `fast` decides on normal forms; `full` asks every claim of what they prove once more, from definitions.
    One verdict may take `timeout` seconds and `memory` bytes more than there were before (None: any), and of the solver
    `rlimit` units a question.
    """

    readings: Mapping[str, str] = field(default_factory=dict)
    rlimit: int = RLIMIT
    cross_check: int | None = None
    repair: bool = True
    prove: str = "fast"
    timeout: float | None = TIMEOUT
    memory: int | None = MEMORY
    allow: tuple[str, ...] = ()  # folders beside those of the project whose files inputs may name

    def __post_init__(self) -> None:
        for name, kinds in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                hint = f"write one of {', '.join(kind.__name__ for kind in kinds)}"
                raise InputError(f"`{name}` of Options is of type {type(value).__name__}", None, hint)
            if name in _LEAST and isinstance(value, int | float) and not _LEAST[name] <= value <= _MOST:
                raise InputError(f"`{name}` is {value!r}", None, f"a number from {_LEAST[name]} to 2^50")
        if self.prove not in ("fast", "full"):
            raise InputError(f"`prove` is {self.prove!r}", None, "fast or full")
        strange = [one for one in (*self.readings, *self.readings.values(), *self.allow) if not isinstance(one, str)]
        if strange:
            raise InputError(f"Options names {strange[0]!r}", None, "`readings` and `allow` hold texts")

    @property
    def run_units(self) -> int:
        """Up to how many units an entry is run, too."""
        return self.cross_check or 0

    @property
    def running(self) -> Options:
        """These, with runs of what is small where nothing else is said of them."""
        return self if self.cross_check is not None else replace(self, cross_check=RUN_UNITS)

    @property
    def full(self) -> bool:
        return self.prove == "full"

    @property
    def limits(self) -> Limits:
        """The limits of one verdict."""
        return Limits(self.timeout, self.memory, QUESTIONS * self.rlimit)
