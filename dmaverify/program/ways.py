"""When something happens in a function: which arms of decisions are taken, and what has not left before.

Knows: choices (arms of a condition, loops that may run no time), what they ask of the numbers that a run is given,
exits (`return`, `break`, `continue`, `panic!`).
Does not know: any text, what happens, which ways there are (`prove.flow.ways`).
Law: choices are taken as independent of one another, so that "on every way" is said of more ways than there are.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.values import dataclass, field

NUMBER, ANY, SOME = "number", "any", "some"


@dataclass(frozen=True)
class WayTerm:
    """A number of a run, or a truth: `op` on `parts`. The values of its type are those from the first of `ends` to
    before the second; None where it is not known.

    A NUMBER is `value`. The input numbered `value` has ANY value of its type, or SOME, and nobody says which of them
    occur. Integers: `+ - * / % << >> & | ^`, `min max`, `neg`, `as`; truths: `== <`, `and or not`, and `stops`: that
    the operation which is its part has no result within its type.
    """

    op: str
    parts: tuple[WayTerm, ...] = ()
    ends: tuple[int, int] | None = None
    value: int = 0

    def negated(self) -> WayTerm:
        return self.parts[0] if self.op == "not" else WayTerm("not", (self,))


@dataclass(frozen=True)
class WayChoice:
    """One arm of a decision; `names` tell all of its arms. `asks` is what each arm asks of the numbers of a run, one of
    which holds; `loose` where every turn of a loop that is read once decides anew.
    """

    decision: str
    arm: int
    arms: int
    names: tuple[str, ...] = field(default=(), compare=False)
    asks: tuple[WayTerm, ...] = field(default=(), compare=False)
    loose: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.names and len(self.names) != self.arms:
            raise ValueError(f"{self.arms} arms of a decision, {len(self.names)} names")


Way = tuple[WayChoice, ...]


@dataclass(frozen=True)
class OnWay:
    """When something happens: all of `path` is chosen, and none of `exits`, which leave what it stands in, did before.

    `turns` are the loops around it that are read once for all of their turns, with how many they are, or 0.
    """

    path: Way = ()
    exits: tuple[OnWay, ...] = ()
    turns: Mapping[int, int] = field(default_factory=dict, compare=False)

    @property
    def always(self) -> bool:
        return not self.path and not self.exits

    @property
    def loose(self) -> bool:
        """Whether turns decide it anew. What keeps an exit from leaving is asked of the exit alone: it left, or not."""
        ways = (self.path, *(one.path for one in self.exits))
        return any(choice.loose for way in ways for choice in way)
