"""Gates of a back-end: the area model of the paper, scaled by its parameters.

Knows: the decomposition by unit and protocol port, what each part grows with. Does not know: front-ends, mid-ends.
Law: a part grows linearly with the one parameter that the table names for it; of parts that ports share, the largest
counts, once a side. The clock is not modelled: its curves are pictures without numbers.

Source: iDMA paper, Table 4 and 4.1 (mean error below 9 %, on the large side); figures in `encodings/idma/target.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmaverify.machines.idma.engine import NAMES, Backend
from dmaverify.targets.target import load_target
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class AreaPart:
    """One line of the decomposition: whose it is, and gate equivalents."""

    name: str
    gates: float


def area_parts(backend: Backend) -> tuple[AreaPart, ...]:
    """The parts of a back-end in gate equivalents, those of no gates left out."""
    table: Mapping[str, Any] = load_target("idma").raw["machine"]["area"]
    ports = [("read", code) for code in sorted(backend.variant.reads)]
    ports += [("write", code) for code in sorted(backend.variant.writes)]
    out = []
    for name, unit in table["unit"].items():
        if name.startswith("legalizer") and not backend.legalizer:
            continue
        scale = _scale(unit["grows"], backend, table["at"])
        own = [(side, float(unit.get(NAMES[code], {}).get(side, 0))) for side, code in ports]
        if unit.get("shared", False):
            gates = sum(max((g for s, g in own if s == side), default=0.0) for side in ("read", "write"))
        else:
            gates = sum(g for _, g in own)
        if unit["base"] + gates:
            out.append(AreaPart(name, (unit["base"] + gates) * scale))
    return tuple(out)


def gates(backend: Backend) -> float:
    """All gates of a back-end."""
    return sum(part.gates for part in area_parts(backend))


def _scale(grows: str, backend: Backend, at: Mapping[str, int]) -> float:
    own = {"NAx": backend.ax_in_flight, "AW": backend.address_width, "DW": backend.data_width}
    return own[grows] / at[grows] if grows in own else 1.0
