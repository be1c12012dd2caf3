"""What the vector unit of Ascend A5 touches, from the target's data: distributions, patterns of masks, kinds of lanes.

Knows: the part `vector` of encodings/pto/target.toml. Does not know: text, values, proofs.
Law: a distribution or pattern that the data does not name is not guessed: it is None here, and open to all who ask.

Source: encodings/pto/target.toml, [vector].
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dmaverify.targets.target import Target
from dmaverify.values import dataclass

_WIDTH = re.compile(r".*_B(\d+)")


@dataclass(frozen=True, slots=True)
class Distribution:
    """`bytes` at most; `register` (0: no proportion) as many bytes of registers hold them; `unit` bytes go together.
    The address is a multiple of `align` (0: none is stated).
    """

    bytes: int
    register: int = 0
    unit: int = 1
    partly: bool = False
    align: int = 0


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """The figures and tables of the vector unit."""

    register_bytes: int
    block_bytes: int
    blocks: int
    loads: Mapping[str, Distribution]
    stores: Mapping[str, Distribution]
    first: Mapping[str, int]
    share: Mapping[str, int]
    lanes: Mapping[str, str]
    barriers: Mapping[str, tuple[str, ...]]  # of memory, by the kind of meeting that each puts in order

    def distribution(self, way: str, name: str) -> Distribution | None:
        return (self.loads if way == "r" else self.stores).get(name)


@lru_cache(maxsize=4)
def vector_unit(target: Target) -> VectorUnit:
    """The vector unit of the target."""
    data = target.raw["vector"]
    pattern = data["pattern"]
    kinds = ("lanewise", "keeping", "reducing", "converting", "spreading", "making")
    return VectorUnit(
        data["register_bytes"],
        data["block_bytes"],
        data["blocks"],
        _distributions(data["load"]),
        _distributions(data["store"]),
        dict(pattern["first"]),
        dict(pattern["share"]),
        {op: kind for kind in kinds for op in data["lanes"][kind]},
        {kind: tuple(data["barrier"][kind]) for kind in ("raw", "war", "waw")},
    )


def _distributions(part: Mapping[str, Mapping[str, Any]]) -> dict[str, Distribution]:
    out = {}
    for entry in part.values():
        for name in entry["names"]:
            found = _WIDTH.fullmatch(name)
            unit = int(found[1]) // 8 if found else 1
            size = unit if entry.get("element") else entry["bytes"]
            align = entry.get("align", unit if entry.get("element") else 0)
            out[name] = Distribution(size, entry.get("register", 0), unit, entry.get("partly", False), align)
    return out
