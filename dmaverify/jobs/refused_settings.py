"""Settings of `synth` that a search has not: refused by name, never passed over.

Knows: what stands for a setting that was not given. Does not know: any search, machines.
Law: an answer that is called the best is the best under every setting that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError

if TYPE_CHECKING:
    from dmaverify.errors import Span

FIXED = ("packet", "engines", "entries", "commands", "prefix", "budget", "evaluations")
"""Settings that fix a part of a plan, or end a search."""
NOT_GIVEN = (None, (), "book")
"""What settings are that were not asked for: nothing, no labels, the profile that is taken without one."""


def refuse_settings(given: Mapping[str, Any], names: Iterable[str], whom: str, span: Span | None = None) -> None:
    """Raises InputError for the first of the settings of these names that was given."""
    for name in names:
        if given.get(name) not in NOT_GIVEN and given.get(name) != {}:
            raise InputError(f"`{name}` means nothing for {whom}", span, f"leave out {name}")
