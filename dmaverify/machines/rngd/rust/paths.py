"""Where the reading of a function stands: what is chosen, what may have left before, the loops around.

Knows: scopes of functions, loops and turns, their labels. Does not know: Rust text, what ways decide.
Law: what leaves a scope goes on behind it, and nothing between the two runs on that way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dmaverify.program.ways import OnWay, Way, WayChoice

_NOWHERE = 1 << 40  # beyond the numbers of scopes


class WayWalk:
    """Where the reading of a function stands: what is chosen, what may have left before, the loops around."""

    def __init__(self) -> None:
        self.path: Way = ()
        self.exits: list[tuple[int, OnWay]] = []  # (the scope that is left, when)
        self.stops: list[OnWay] = []  # when the whole program ends
        self.unread: dict[str, None] = {}  # code that may leave a loop or a function, and is not read
        self.behind: list[OnWay] = []  # when it does in some turn of a loop
        self.scopes: list[tuple[int, str, str]] = []  # (number, kind, label)
        self.outside: list[frozenset[int]] = []  # values known before each loop that is read once for all turns
        self.turns: dict[int, int] = {}  # of the loops that are read once for all turns: how many, or 0
        self.number = 0

    @property
    def when(self) -> OnWay:
        return OnWay(self.path, tuple(one for _, one in self.exits), dict(self.turns))

    @property
    def dead(self) -> bool:
        """Whether nothing gets here: something left on every way here, or on those where nothing else left."""
        others = {id(one) for _, one in self.exits}
        return any(
            set(one.path) <= set(self.path) and all(id(other) in others for other in one.exits) for _, one in self.exits
        )

    def loose(self, values: Sequence[object]) -> bool:
        """Whether a decision over these values is taken anew in every turn of a loop that is read once."""
        return bool(self.outside) and any(id(value) not in self.outside[-1] for value in values)

    @contextmanager
    def chosen(self, choice: WayChoice | OnWay) -> Iterator[None]:
        """What is read stands behind a choice, or behind several, and where none of some others was chosen."""
        taken = choice if isinstance(choice, OnWay) else OnWay((choice,))
        before, self.path = self.path, (*self.path, *taken.path)
        self.number += 1
        number = _NOWHERE + self.number
        self.exits += [(number, one) for one in taken.exits]  # it holds of whatever leaves from here
        try:
            yield
        finally:
            self.path = before
            self.exits = [one for one in self.exits if one[0] != number]

    @contextmanager
    def within(self, kind: str, label: str = "") -> Iterator[None]:
        """A `function`, a `loop` or a `turn`: what leaves it goes on behind it."""
        self.number += 1
        number = self.number
        self.scopes.append((number, kind, label))
        try:
            yield
        finally:
            self.scopes.pop()
            self.exits = [one for one in self.exits if one[0] != number]

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is read does not run: it leaves nothing."""
        before = list(self.exits), list(self.stops)
        try:
            yield
        finally:
            self.exits, self.stops = before

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """What is read may run or not, and nobody says when."""
        with self.chosen(self.unsaid()):
            yield

    def unsaid(self) -> OnWay:
        """A way of which nobody says when it is taken."""
        self.number += 1
        return OnWay((WayChoice(f"perhaps {self.number}", 0, 2),))

    def leave(self, kind: str, label: str = "") -> None:
        """Nothing of the innermost scope of that kind runs from here on; nothing at all for a kind without one."""
        if self.dead:
            return
        self.stops += [self.when] if kind == "program" else []
        found = next(
            (
                n
                for n, own, name in reversed(self.scopes)
                if label in ("", name) and (own == kind or (label and own == "block"))
            ),
            0,
        )
        inner = tuple(one for scope, one in self.exits if scope > found)  # what left these does not come here
        self.exits.append((found, OnWay(self.path, inner)))
