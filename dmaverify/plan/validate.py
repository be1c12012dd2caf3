"""The data of a plan file as typed tables, with every complaint about it.

Knows: the tables' types, and that a named table with complaints is left out while the rest is read.
Does not know: how a complaint is worded, spans.
Law: data with no complaint is exactly the tables' data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dmaverify.plan.schema import KINDS, MARKS, Complaint, PlanTable


def validate(data: Mapping[str, Any]) -> tuple[PlanTable | None, list[Complaint]]:
    """The plan's data as typed tables, and all complaints. Named tables with complaints are left out.

    None instead of tables where anything outside of the named tables is wrong.
    """
    nameless = [Complaint((kind,), f"the {kind} has no name", f"write [{kind}.NAME]", True) for kind in _nameless(data)]
    if nameless:
        return None, nameless
    try:
        return msgspec.convert(data, PlanTable), []
    except msgspec.ValidationError as error:
        from dmaverify.plan.complaints import complaints_of

        complaints = complaints_of(data, str(error))
    bad = {complaint.path[:2] for complaint in complaints}
    if any(len(path) < 2 or path[0] not in KINDS for path in bad):
        return None, complaints
    kept = dict(data)
    for kind in KINDS:
        kept[kind] = {name: table for name, table in data.get(kind, {}).items() if (kind, name) not in bad}
    return msgspec.convert(kept, PlanTable), complaints


def _nameless(data: Mapping[str, Any]) -> list[str]:
    """Kinds of tables that were opened as `[transfer]` instead of `[transfer.NAME]`."""
    tables = {kind: data.get(kind) for kind in KINDS}
    marked = {kind: table.get(MARKS[kind]) for kind, table in tables.items() if isinstance(table, dict)}
    return [kind for kind, mark in marked.items() if isinstance(mark, list if kind == "program" else str)]
