"""The memories that a configuration text may name, and how it writes their places.

Knows: names of tiers in texts, the parts of a base. Does not know: texts, machines (a target brings its own).
Law: a medium says how many leading parts a base may have; the last part is always the address.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class Medium:
    """What a text calls a tier: the tier, and the parts of a place that a base there may start with."""

    tier: str
    parts: tuple[str, ...] = ()


MEDIA: Mapping[str, Medium] = MappingProxyType(
    {
        "HBM": Medium("hbm", ("chip",)),
        "DM": Medium("dm", ("chip", "cluster", "dmn")),
        "SPM": Medium("spm", ("chip", "cluster", "dmn")),
        **{name.upper(): Medium(name) for name in ("host", "gm", "ub", "mem")},
    }
)
"""The names of the plan file format; a target may bring its own."""

BRACKETS = {"[": "]", "(": ")", "{": "}"}
