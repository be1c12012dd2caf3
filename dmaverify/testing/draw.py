"""Where choices come from: one interface for seeded runs and for Hypothesis.

Knows: integers, choices, shuffles. Does not know: what is chosen.
Law: everything is drawn through `integer`, so the same numbers give the same plan, and smaller numbers give simpler
choices.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import TypeVar

from dmaverify.errors import InputError, did_you_mean
from dmaverify.targets.target import Target, load_target

T = TypeVar("T")


def machine_of(target: Target | str | None) -> Target:
    """The machine that is meant: itself, or by its name or folder; RNGD where none is given. Raises InputError."""
    return target if isinstance(target, Target) else load_target("rngd" if target is None else target)


def known(words: Sequence[str], names: Collection[str], what: str) -> Sequence[str]:
    """The words, each the name of something. Raises InputError where they are not."""
    if isinstance(words, str) or not isinstance(words, Collection):
        raise InputError(f"{what}s are a list of names, not {words!r}", None, f"of {', '.join(names)}")
    for word in words:
        if word not in names:
            hint = did_you_mean(str(word), names) or f"one of {', '.join(names)}"
            raise InputError(f"{word!r} is no {what}", None, hint)
    return words


class Draw(ABC):
    """A source of choices. Implement `integer`; the first of several options is the simplest one."""

    @abstractmethod
    def integer(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both included."""

    def choice(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        """True in about `percent` of 100 draws; False is the simpler answer."""
        return self.integer(0, 99) >= 100 - percent

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in some order; the order given is the simplest one."""
        left = list(items)
        return [left.pop(self.integer(0, len(left) - 1)) for _ in items]


class Seeded(Draw):
    """Choices from a seed: the same on every machine. `label` may be any text, so that every plan has a seed of its
    own.
    """

    def __init__(self, seed: int | str) -> None:
        self.random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)
