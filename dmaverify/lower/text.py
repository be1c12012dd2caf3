"""Sequencers as text, for messages and `derive`: the form that plan files read.

Knows: how a sequencer is printed. Does not know: files, how text is read (plan/config.py).
Law: the printed text, read again in bytes, is the sequencer (numbers of 4-bit moves that are no whole bytes print as
`x.5`-free fractions of elements and are marked, since no text in bytes can say them).
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.layout.addresses import BYTE
from dmaverify.program.command import Sequencer


def number_text(units: int, constants: Mapping[str, int], unit_bits: int) -> str:
    """A stride or base in bytes, with the target's constants where it is a multiple of one."""
    bits = units * unit_bits
    if bits % 8:
        return f"({bits}/8)"
    value = bits // 8
    for name, size in sorted(constants.items(), key=lambda item: -item[1]):
        if value and size and value % size == 0:
            return name if value == size else f"{value // size} * {name}"
    return str(value)


def sequencer_text(text: Sequencer, constants: Mapping[str, int], unit_bits: int, place: tuple[int, ...] = ()) -> str:
    scale = unit_bits
    entries = []
    for index, entry in enumerate(text.entries):
        inner = index == len(text.entries) - 1
        label = "" if entry.label == BYTE else entry.label
        count = entry.count * scale // 8 if inner and unit_bits != 8 and entry.stride == 1 else entry.count
        stride = "1" if entry.stride == 1 else number_text(entry.stride, constants, unit_bits)
        entries.append(f"{label}={count}:{stride}" if label else f"{count}:{stride}")
    medium = ""
    if text.tier is not None:
        base = number_text(text.base or 0, constants, unit_bits)
        at = f"({', '.join(map(str, (*place, base)))})" if place else (f"({base})" if " " in base else base)
        medium = f" {text.tier.upper()}/D@{at}"
    return f"[{', '.join(entries)}]:{text.packet * unit_bits // 8 or 1}{medium}"
