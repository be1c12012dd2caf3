"""Where a text of a kernel stands: its scope, and what names mean there besides items.

Knows: generic parameters, local variables, `Self`.
Does not know: what any of them is worth.
Law: names that a block adds do not leave it.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.machines.rngd.rust.module import NameScope
from dmaverify.machines.rngd.rust.values import Value
from dmaverify.values import dataclass, field


@dataclass
class Frame:
    """Where a text stands: its scope, what generic parameters and local variables are, what `Self` is."""

    scope: NameScope
    generics: Mapping[str, Value] = field(default_factory=dict)
    locals: dict[str, Value] = field(default_factory=dict)
    own: Value | None = None
    outer: Frame | None = None
    bound: set[str] = field(default_factory=set)  # names that expansions of macros gave it

    def inside(self, scope: NameScope) -> Frame:
        """The same place within a block: names that it adds do not leave it."""
        return Frame(scope, self.generics, dict(self.locals), self.own, self)
