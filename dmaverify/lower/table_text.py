"""The derivation of a sequencer as text and JSON.

Knows: rows, their columns, configurations in brackets. Does not know: how a table is derived.
Law: the same table has the same text, and every number of it stands in the JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dmaverify.lower.tables import DerivationTable, Merged, MergedRow, Row


def aligned(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose columns are as wide as their widest cell."""
    widths = [max(len(line[i]) for line in (head, *body)) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    return [line(head), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *(line(cells) for cells in body)]


def render_table(table: DerivationTable) -> str:
    """Rows as an aligned table."""
    body = [[r.term, r.entry, r.source, r.after] for r in table.rows]
    lines = aligned(["Term", "Entry", "Stride Source", "Buf After"], body)
    if table.problem is not None:
        lines.append(f"no entry: {table.problem.message}")
    return "\n".join([*lines, *(f"note: {note}" for note in table.notes)])


def render_merged(table: Merged) -> str:
    """The second table of Merging Entries."""
    return "\n".join(aligned(("Term", "Entry", "Merged Entries"), [[r.term, r.entry, _parts(r)] for r in table.rows]))


def _parts(row: MergedRow) -> str:
    return ", ".join(f"{part.term} ({part.entry})" for part in row.parts) if len(row.parts) > 1 else ""


def _row_json(row: Row) -> Iterator[tuple[str, Any]]:
    yield from (("term", row.term), ("count", row.count), ("stride", row.stride), ("source", row.source))
    yield from (("source_declared", row.source_declared), ("buf_after", row.after), ("packet", row.packet))


def table_json(table: DerivationTable) -> dict[str, Any]:
    """The table as JSON data; strides and packet_size in elements."""
    return {
        "buffer": table.buffer,
        "stream": table.stream,
        "packet_size": table.packet_size,
        "rows": [dict(_row_json(row)) for row in table.rows],
        "problem": None if table.problem is None else table.problem.message,
        "notes": list(table.notes),
    }
