"""The limit of bank starvation: how long a run may be, what concurrent runs and DMA add up to.

Knows: the arithmetic of the limit and its readings, sums over what may be concurrent.
Does not know: how runs are found (`starvation`), machines (banks and limit come from data), solvers.
Law: a sum is what the longest runs reach when everything that may be concurrent is; nothing beside DMA resets it.

Source: "Memory Performance" (Bank Starvation; Cumulative Bank Access Constraint), docs/machines/rngd.md 6.

Relied on (proofs/): starvation-64.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dmaverify.errors import InputError
from dmaverify.prove.flow.starvation.bank_runs import BankRun, Banks, Runs
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """How many consecutive accesses to one bank all that may run beside DMA may make together: at most `allowed`.

    `first_late` is the least number that is not answered in time, `dma` what DMA's own request counts; both readings
    by name.
    """

    rule: str
    allowed: int
    first_late: int
    dma: int
    threshold: str
    dma_request: str
    priority: tuple[str, ...]
    sources: Mapping[str, str]
    bases: Mapping[str, str]


FIGURES = ("noc_timeout_cycles", "engine_bytes", "port_bytes", "slices")


def banks_from(geometry: Mapping[str, int]) -> Banks:
    """The banks of a target's data memory, from `Target.geometry`. Raises InputError where it has none."""
    try:
        return Banks(geometry["banks_per_slice"], geometry["bank_width_bytes"])
    except KeyError as error:
        raise InputError(f"the target's geometry has no {error.args[0]}") from error


def first_late(timeout_cycles: int, engine_bytes: int, port_bytes: int, slices: int) -> int:
    """The least N with `(engine_bytes / port_bytes) * N * slices >= timeout_cycles` (proofs/starvation-64).

    Source: "Memory Performance" (derivation of the 4096-cycle limit).
    """
    return -(-timeout_cycles * port_bytes // (engine_bytes * slices))


def limit_from(section: Mapping[str, Any], readings: Mapping[str, str] | None = None) -> Limit:
    """The limit from the section [starvation] of a target (`Target.raw["starvation"]`), under readings by name.

    `readings` may name `threshold` and `dma-request`; the section's defaults hold otherwise. Raises InputError for a
    section that lacks a figure and for a reading that does not exist.
    """
    chosen = readings or {}
    for name in chosen:
        if name not in _part(section, "reading"):
            raise InputError(f"starvation has no reading {name!r}")
    figures = {name: _part(section, name) for name in FIGURES}
    late = first_late(*(int(_part(figures[name], "value")) for name in FIGURES))
    threshold, slack = _reading(section, "threshold", chosen, "allows_over")
    dma_request, dma = _reading(section, "dma-request", chosen, "counts")
    priority = _part(section, "priority")
    return Limit(
        rule=_part(section, "rule"),
        allowed=late - 1 + slack,
        first_late=late,
        dma=dma,
        threshold=threshold,
        dma_request=dma_request,
        priority=tuple(_part(priority, "order")),
        sources=MappingProxyType({name: _part(figure, "source") for name, figure in figures.items()}),
        bases=MappingProxyType({name: _part(figure, "basis") for name, figure in figures.items()}),
    )


def limits_from(section: Mapping[str, Any]) -> tuple[Limit, ...]:
    """The limit under every combination of readings, the default first."""
    options = {name: tuple(_part(table, "option")) for name, table in _part(section, "reading").items()}
    default = limit_from(section)
    every = [
        limit_from(section, {"threshold": threshold, "dma-request": request})
        for threshold in options["threshold"]
        for request in options["dma-request"]
    ]
    return (default, *(limit for limit in every if limit != default))


def _part(table: Mapping[str, Any], key: str) -> Any:
    if key not in table:
        raise InputError(f"the target's section [starvation] lacks `{key}`")
    return table[key]


def _reading(section: Mapping[str, Any], name: str, chosen: Mapping[str, str], value: str) -> tuple[str, int]:
    """The reading's option in force and its number."""
    table = _part(_part(section, "reading"), name)
    option = chosen.get(name, _part(table, "default"))
    options = _part(table, "option")
    if option not in options:
        raise InputError(f"starvation's {name} has no reading {option!r}", hint=f"it has {', '.join(options)}")
    return option, int(_part(options[option], value))


# ---------------------------------------------------------------- sums


@dataclass(frozen=True, slots=True)
class AccessSum:
    """What concurrent accesses and DMA add up to. `bank` is the worst, `total` its sum; `parts` are the accesses that
    touch it.

    `parts` are (name, run), the longest first. `per_bank` has the sum of each bank, DMA included.
    """

    total: int
    bank: int
    per_bank: tuple[int, ...]
    parts: tuple[tuple[str, BankRun], ...]
    dma: int

    def within(self, limit: Limit) -> bool:
        """Whether everything may run at once; otherwise it is to be serialised with DMA."""
        return self.total <= limit.allowed


def cumulative(runs: Mapping[str, Runs], dma: int = 1) -> AccessSum:
    """The sum over everything that may be concurrent: interleaving between accesses does not reset a run.

    DMA takes all banks at once, so its pending request counts on each. Unknown bases are taken as independent of each
    other, so that the sum is reached. Raises ValueError without any access, or for different numbers of banks.
    Source: "Memory Performance" (Cumulative Bank Access Constraint), docs/machines/rngd.md 6.
    """
    if not runs:
        raise ValueError("no access to add up")
    columns = list(zip(*(one.lengths for one in runs.values()), strict=True))
    per_bank = tuple(sum(column) + dma for column in columns)
    bank = per_bank.index(max(per_bank))
    parts = [(name, one.per_bank[bank]) for name, one in runs.items() if one.per_bank[bank].length]
    parts.sort(key=lambda part: -part[1].length)
    return AccessSum(per_bank[bank], bank, per_bank, tuple(parts), dma)
