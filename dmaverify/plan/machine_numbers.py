"""The numbers of a machine that running needs, as its data has them.

Knows: geometry, distances of places, the limit of starvation under a reading. Does not know: plans, proofs.
Law: every number is the target's; nothing is worked out twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmaverify.errors import InputError
from dmaverify.execute.outcome import Beyond
from dmaverify.execute.work import RunMachine, RunTier
from dmaverify.plan.machine_forms import Formed
from dmaverify.targets.modules import burst_windows, word_bytes
from dmaverify.targets.target import Target

STARVATION = "starvation"


def machine_of(target: Target, readings: Mapping[str, str]) -> RunMachine:
    """The machine's numbers that running needs."""
    tiers = {name: RunTier(tier.places, dict(tier.strides)) for name, tier in target.tiers.items()}
    geometry = {name: int(item["value"]) for name, item in target.raw.get("geometry", {}).items()}
    section = target.raw.get(STARVATION)
    allowed, own, rule = -1, 1, ""
    if section is not None:
        threshold = _option(section, readings, "threshold")
        own = int(_option(section, readings, "dma-request")["counts"])
        engine, slices, port = (int(section[name]["value"]) for name in ("engine_bytes", "slices", "port_bytes"))
        rule = str(section["rule"])
        cycles = int(section["noc_timeout_cycles"]["value"])
        allowed = (cycles - 1) // (engine * slices // port) + int(threshold["allows_over"])
    banks, width = (geometry.get(name, 0) for name in ("banks_per_slice", "bank_width_bytes"))
    request = geometry.get("request_bytes", 0)
    queues = {pair: route.queue for pair, route in target.routes.items() if route.queue}
    unordered = {pair for pair, route in target.routes.items() if route.levels}
    does = target.engines
    return RunMachine(
        tiers, request, banks, width, allowed, own, rule, launched=does.launched, swaps=does.swaps, queues=queues,
        context_is_engine=does.context_is_engine, unordered=unordered,
    )  # fmt: skip


def word_of(target: Target, options: Mapping[str, int | str]) -> int:
    """Bytes of the words in which a move with these options is streamed, 0 where it is not. Raises Beyond."""
    try:
        return word_bytes(target, options)
    except InputError as error:
        raise Beyond(str(error)) from None


def windows_of(target: Target, options: Mapping[str, int | str]) -> tuple[int, ...] | None:
    """Bytes of the windows at which both sides of a move with these options are cut; None where that is not known.
    Raises Beyond.
    """
    try:
        return burst_windows(target, options)
    except InputError as error:
        raise Beyond(str(error)) from None


def asked_by(found: Formed | None, number: int) -> dict[str, int | str]:
    """The options that one command of a text asks for."""
    each = found.form.each if found is not None and found.form is not None else ()
    return {**(found.options if found is not None else {}), **(dict(each[number]) if each else {})}


def _option(section: Mapping[str, Any], readings: Mapping[str, str], name: str) -> Mapping[str, Any]:
    reading = section["reading"][name]
    found: Mapping[str, Any] = reading["option"][readings.get(f"{STARVATION}/{name}", reading["default"])]
    return found
