"""Sequencers as text, for messages and `derive`: the form that plan files read.

Knows: how a sequencer is printed. Does not know: files, how text is read (plan/config.py).
Law: the printed text, read again in bytes, is the sequencer (numbers of 4-bit moves that are no whole bytes print as
`x.5`-free fractions of elements and are marked, since no text in bytes can say them).
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.layout.addresses import BYTE
from dmaverify.program.command import Sequencer


def bytes_text(units: int, unit_bits: int) -> int | str:
    """Units in bytes; where that is no whole number, a quotient, which no configuration may have."""
    whole, rest = divmod(units * unit_bits, 8)
    return f"({units * unit_bits}/8)" if rest else whole


def number_text(units: int, constants: Mapping[str, int], unit_bits: int) -> str:
    """A stride or base in bytes, with the target's constants where it is a multiple of one."""
    value = bytes_text(units, unit_bits)
    if isinstance(value, str):
        return value
    for name, size in sorted(constants.items(), key=lambda item: -item[1]):
        if value and size and value % size == 0:
            return name if value == size else f"{value // size} * {name}"
    return str(value)


def sequencer_text(text: Sequencer, constants: Mapping[str, int], unit_bits: int, place: tuple[int, ...] = ()) -> str:
    entries = []
    for index, entry in enumerate(text.entries):
        inner = index == len(text.entries) - 1
        label = "" if entry.label == BYTE else entry.label
        run = inner and entry.stride == 1
        count = bytes_text(entry.count, unit_bits) if run else entry.count
        stride = "1" if run else number_text(entry.stride, constants, unit_bits)
        entries.append(f"{label}={count}:{stride}" if label else f"{count}:{stride}")
    medium = ""
    if text.tier is not None:
        base = number_text(text.base or 0, constants, unit_bits)
        at = f"({', '.join(map(str, (*place, base)))})" if place else (f"({base})" if " " in base else base)
        medium = f" {text.tier.upper()}/D@{at}"
    return f"[{', '.join(entries)}]:{bytes_text(text.packet, unit_bits) or 1}{medium}"
