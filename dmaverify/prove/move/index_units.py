"""The unit that a list of row numbers was written in, where the one that the machine reads makes no sense of it.

Knows: lists of a gather or scatter, bytes of rows. Does not know: verdicts, rules.
Law: a unit is named only if every number of the list is a row in it.

Source: docs/machines/rngd.md 5 (scaling by elements instead of bytes is the classic error).
"""

from __future__ import annotations

from dmaverify.program.indirect import Indirect


def mistaken_unit(move: Indirect, step: int, bits: int) -> str:
    """Which other unit would make sense of a list that names no rows; empty if none does. `step`: bytes from
    row to row, `bits` of an element.
    """
    values, rows = move.index.numbers, move.rows
    width = max(1, bits // 8)
    elements = step // width
    if move.index.scaled:
        if width > 1 and elements and all(v % elements == 0 and 0 <= v // elements < rows for v in values):
            return f"they count elements ({elements} to a row) where bytes are meant: multiply by {width}"
        if all(0 <= v < rows for v in values):
            return f"they are row numbers: multiply by {step}, or say `scaled = false`"
        return ""
    if step > 1 and all(v % step == 0 and 0 <= v // step < rows for v in values):
        what = f"they count bytes ({step} to a row) where row numbers are meant"
        return f"{what}: divide by {step}, or say `scaled = true`"
    if elements > 1 and all(v % elements == 0 and 0 <= v // elements < rows for v in values):
        return f"they count elements ({elements} to a row) where row numbers are meant: divide by {elements}"
    return ""
