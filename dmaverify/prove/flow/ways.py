"""Ways through a function: which branches an access stands behind, and whether a run can pass by a set of accesses.

Knows: choices (arms of a condition, loops that may run no time), exits (`return`, `break`, `continue`, `panic!`).
Does not know: any text, what an access touches.
Law: choices are taken as independent of one another, so that "on every way" is said of more ways than there are; a way
is only called certain where each of its choices hangs on a parameter of its own. A search given up is no answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.values import dataclass, field, replace

MOST_STEPS, MOST_DECISIONS = 20_000, 200


@dataclass(frozen=True)
class WayChoice:
    """One arm of a decision. `about` names the parameters that it hangs on where both ways are certain to occur;
    `loose` where every turn of a loop that is read once decides anew.
    """

    decision: str
    arm: int
    arms: int
    names: tuple[str, ...] = field(default=(), compare=False)
    about: frozenset[int] = field(default=frozenset(), compare=False)
    loose: bool = field(default=False, compare=False)

    @property
    def told(self) -> str:
        return self.names[self.arm] if self.arm < len(self.names) else ""


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

    def holds(self, chosen: dict[str, WayChoice]) -> bool | None:
        """Whether it happens; None where that hangs on what is not chosen yet."""
        found = _all(self.path, chosen)
        for one in self.exits if found is not False else ():
            left = one.holds(chosen)
            if left:
                return False
            found = None if left is None else found
        return found

    @property
    def choices(self) -> Way:
        return (*self.path, *(choice for one in self.exits for choice in one.choices))


def _all(way: Way, chosen: dict[str, WayChoice]) -> bool | None:
    found: bool | None = True
    for choice in way:
        taken = chosen.get(choice.decision)
        if taken is None:
            found = None
        elif taken.arm != choice.arm:
            return False
    return found


@dataclass(frozen=True)
class Passed:
    """A way on which something happens and nothing of something else; `certain` where it is one that a run can take."""

    way: Way
    certain: bool

    @property
    def told(self) -> str:
        return " and ".join(dict.fromkeys(choice.told for choice in self.way if choice.told))


class WaysUndecided(Exception):
    """The search for a way was given up."""


def way_past(need: OnWay, accesses: Sequence[OnWay]) -> Passed | None:
    """A way on which `need` happens and none of the accesses; None where there is none. Raises WaysUndecided."""
    choices = [c for when in (need, *accesses) for c in when.choices]
    known: dict[str, dict[int, WayChoice]] = {}
    for choice in choices:
        known.setdefault(choice.decision, {})[choice.arm] = choice
    if len(known) > MOST_DECISIONS:
        raise WaysUndecided
    steps, others = [0], tuple(dict.fromkeys(accesses))

    def search(chosen: dict[str, WayChoice], left: list[str]) -> dict[str, WayChoice] | None:
        steps[0] += 1
        if steps[0] > MOST_STEPS:
            raise WaysUndecided
        held = need.holds(chosen)
        if held is False:
            return None
        for one in others:
            found = one.holds(chosen)
            if found:
                return None
            held = None if found is None else held
        if held:
            return chosen
        for number, name in enumerate(left):
            some = next(iter(known[name].values()))
            for arm in range(some.arms - 1, -1, -1):
                taken = known[name].get(arm) or replace(some, arm=arm)
                made = search({**chosen, name: taken}, left[number + 1 :])
                if made is not None:
                    return made
            return None
        return None

    found = search({}, list(known))
    if found is None:
        return None
    way = tuple(found.values())
    named = [one for choice in way for one in choice.about]
    return Passed(way, all(choice.about for choice in way) and len(named) == len(set(named)))
