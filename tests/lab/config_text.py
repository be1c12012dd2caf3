"""Sequencers as text: the printed form of `config`, in bytes or elements, strides as multiples of constants.

Knows: what the unit of a text can express. Does not know: how text is read.
Law: `parse_config(format_sequencer(s, ...), ...) == s` for every sequencer that the text's unit can express; what it
cannot is a ValueError.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.plan.media import BRACKETS, MEDIA, Medium
from dmaverify.program.command import Sequencer

_Shrunk = list[tuple[str, int, tuple[int, ...]]]


def format_sequencer(
    seq: Sequencer,
    *,
    element_units: int = 1,
    constants: Mapping[str, int] | None = None,
    unit: str = "bytes",
    byte_units: int = 1,
    media: Mapping[str, Medium] = MEDIA,
) -> str:
    """The text of a sequencer in `unit` ("bytes" or "elements"), strides as multiples of constants where they are.

    Constants are only used where the sequencer names no tier or DM. Raises ValueError where the unit cannot express it
    (an odd number of half bytes in bytes, a part of an element); with a unit of 1 everything can be expressed.
    """
    scale = element_units if unit == "elements" else byte_units
    if seq.tier is not None and seq.base is None:
        raise ValueError("a medium without a base has no text")
    names = (constants or {}) if seq.tier in (None, "dm") else {}
    lines = _shrunk([(e.label, e.count, (e.stride,)) for e in seq.entries], scale)
    entries = ", ".join(f"{_label(label)}{count}:{_distance(s[0], scale, names)}" for label, count, s in lines)
    text = f"[{entries}]:{_whole(seq.packet, scale)}"
    if seq.base is None:
        return text
    where = f"{_medium_name(seq.tier, media)}/D@" if seq.tier else "@"
    return f"{text} {where}{_base(seq, scale, names)}"


def _shrunk(lines: _Shrunk, scale: int) -> _Shrunk:
    """Undo the widening of `_sequencer`: counts in the text's unit, strides still in units."""
    if scale == 1:
        return lines
    if not lines or any(stride != 1 for stride in lines[-1][2]):
        raise ValueError(f"the innermost entry is no run of whole numbers of {scale} units")
    *outer, (label, count, _) = lines
    runs = _whole(count, scale)
    if runs == 1 and not label and outer and any(stride != scale for stride in outer[-1][2]):
        return outer
    return [*outer, (label, runs, tuple(scale for _ in lines[-1][2]))]


def _whole(value: int, scale: int) -> int:
    if value % scale:
        raise ValueError(f"{value} units are no whole number of {scale} units")
    return value // scale


def _distance(value: int, scale: int, constants: Mapping[str, int]) -> str:
    """A stride or base as text, by the largest constant that divides it."""
    for name, size in sorted(constants.items(), key=lambda item: -item[1]):
        if value and size > 1 and value % size == 0:
            times = value // size
            return {1: name, -1: f"-{name}"}.get(times, f"{times} * {name}")
    return str(_whole(value, scale))


def _medium_name(tier: str, media: Mapping[str, Medium]) -> str:
    for name, medium in media.items():
        if medium.tier == tier:
            return name
    raise ValueError(f"no medium is called {tier}")


def _base(seq: Sequencer, scale: int, constants: Mapping[str, int]) -> str:
    address = _distance(seq.base or 0, scale, constants)
    if seq.place:
        return f"({', '.join(map(str, seq.place))}, {address})"
    return f"({address})" if "*" in address else address


def _label(label: str) -> str:
    """A label with its `=`; brackets guard commas and colons, and what no text can hold is left out."""
    plain = " ".join(label.split())
    depth, loose = [], False
    for char in plain:
        if char in BRACKETS:
            depth.append(BRACKETS[char])
        elif char in BRACKETS.values():
            if not depth or depth.pop() != char:
                return ""
        elif char in ",:" and not depth:
            loose = True
    if depth or not plain:
        return ""
    return f"[{plain}]=" if loose else f"{plain}="
