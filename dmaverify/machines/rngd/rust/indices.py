"""The values of an index: byte offsets or row numbers, within the table, each row of a scatter once.

Knows: the values that the host wrote into an index tensor, where it wrote numbers that can be read; the rows of the
table.
Does not know: how the values got there (`calls`), where the rows go (`legality`).
Law: a value is refused only where the program certainly has it; values that are not known are a stated assumption.

Source: docs/machines/rngd.md 5 (scaled: byte offsets; unscaled: row numbers; repeated rows of a scatter).
"""

from __future__ import annotations

from collections.abc import Iterator

from dmaverify.language.expr import axes_of
from dmaverify.machines.rngd.rust.moves import SCATTERS, KernelMove
from dmaverify.machines.rngd.rust.plans import table_axis
from dmaverify.machines.rngd.rust.values import Held
from dmaverify.verdict import Finding, Label, Severity

_SOURCE = "furiosa-opt v0.6.0, furiosa-opt-std/src/tensor/memory.rs (scaled and unscaled gather and scatter)"


def wrong_values(move: KernelMove, bits: int) -> Iterator[Finding]:
    """Values of the index that are no place of the table."""
    assert move.index is not None
    found, holds = table_axis(move), move.index.holds
    if isinstance(found, str) or holds is None:
        return
    axis, step = found
    table = move.dest if move.method in SCATTERS else move.source
    rows = axes_of(table.expr("element")).get(axis, 0)
    unit = 1 if move.method.endswith("_unscaled") else step * bits // 8
    word = "row numbers" if unit == 1 else f"byte offsets, multiples of {unit:,} (one row)"
    off = next((value for value in holds.values if value % unit), None)
    if off is not None:
        yield _finding(
            holds, f"the index holds {off:,}; its values are {word}", {"value": off, "row": unit},
            f"scale the row numbers: multiply by {unit:,}, the bytes of one row",
        )  # fmt: skip
    out = next((value for value in holds.values if not 0 <= value < rows * unit), None)
    if out is not None and off is None:
        yield _finding(
            holds, f"the index holds {out:,}, beyond the {rows:,} rows of the table (values below {rows * unit:,})",
            {"value": out, "rows": rows}, "let every value name a row of the table"
            + (", by its number: this method scales by itself" if unit == 1 and out % (step * bits // 8) == 0 else ""),
        )  # fmt: skip
    if holds.repeats and move.method in SCATTERS and off is None and out is None:
        yield _finding(
            holds, "the index names one row of the table more than once: which of the rows stays is not defined", {},
            "scatter each row once, or in kernels that follow one another",
        )  # fmt: skip


def _finding(holds: Held, message: str, values: dict[str, int], hint: str) -> Finding:
    labels = (Label(holds.span, "the values are written here"),) if holds.span is not None else ()
    return Finding(
        "core/indirect", Severity.ERROR, message, "index", holds.span, values, source=_SOURCE, hint=hint, labels=labels
    )


def index_note(move: KernelMove, bits: int) -> tuple[str, bool]:
    """What the values of the index must be, and whether they are known to be."""
    found = table_axis(move)
    if isinstance(found, str) or move.index is None:
        return "", True
    row = found[1] * bits // 8
    word = "row numbers" if move.method.endswith("_unscaled") else f"byte offsets, multiples of {row:,} (one row),"
    once = ", each once" if move.method in SCATTERS else ""
    return f"the values of the index are {word} within the table{once}", move.index.holds is not None
