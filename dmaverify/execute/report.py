"""A run in words, as a table and as data.

Knows: executions, how addresses and coordinates are shown.
Does not know: how a run was judged, severities of a plan, where text goes: it returns it.
Law: the verdict speaks of all units; what is only reported (`consumes`) never turns a kept promise into a broken one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.execute.result import READ, WRITE, ElementRow, Execution, Violation
from dmaverify.program.space import Space
from dmaverify.program.tensor import PLACES

REPORTED = "core/consumes"  # broken alone, it leaves the promise kept

SAYS = {
    "in-bounds:read": "read outside the source region",
    "in-bounds:write": "write outside the destination region",
    "reads-live": "a live cell gets what is not live in the source",
    "same-element": "a live cell gets another element",
    "padding:write-bottom": "write to a cell that may not be touched",
    "padding:read-bottom": "read of a cell that may not be touched",
    "padding:zero-overwritten": "Zero padding gets what is not known to be zero",
    "padding:zero-unwritten": "Zero padding that nobody writes",
    "writes-once": "written again",
    "covers": "live in the destination, written by nobody",
    "consumes": "live in the source, read by nobody",
    "not-vacuous": "nothing is moved, or the destination has no live cell",
}


def report_text(execution: Execution, rows: int = 8) -> str:
    """What ran, what was compared, the verdict, the first violations, and a table of the first destination elements
    (of the wrong ones, if there are any)."""
    lines = [*_ran(execution), "", *_verdict(execution)]
    for key, violation in execution.findings.items():
        lines += _violation(execution, key, violation)
    table = execution.rows(rows)
    if table:
        lines += ["", *_table(execution, table)]
    return "\n".join(lines) + "\n"


def kept(execution: Execution) -> bool:
    """Whether the promise holds: nothing broken that is more than reported."""
    return not execution.broken - {REPORTED}


def _ran(execution: Execution) -> list[str]:
    source, dest = (space.tier for space in execution.spaces)
    commands = len(execution.commands)
    moved = _units(execution, execution.units_moved)
    live, equal = execution.dest_live_units, execution.units_equal
    return [
        f"{source} to {dest}",
        f"  ran       {_count(commands, 'command')}, {_count(execution.packets, 'packet')}, {moved}",
        f"  compared  {_units(execution, live)} live in the destination, each with the element that its mapping names",
        f"  arrived   {_units(execution, equal)} of {live:,} equal",
    ]


def _verdict(execution: Execution) -> list[str]:
    if kept(execution):
        rest = ", with a remark" if execution.broken else ""
        return [f"The destination holds the same tensor as the source{rest}."]
    broken = sorted(execution.broken - {REPORTED})
    return [f"The move does not keep its promise: {', '.join(broken)}."]


def _violation(execution: Execution, key: str, found: Violation) -> list[str]:
    if key == "not-vacuous":
        return [f"  core/{key}: {SAYS[key]}"]
    lines = [f"  core/{key}: {_units(execution, found.count)}: {SAYS[key]}"]
    if found.command is not None:
        lines.append(f"      first   {_copy(found.command, found.counters)}")
    if found.other is not None:
        lines.append(f"      before  {_copy(*found.other)}")
    for word, side, address, coordinates in (
        ("read", READ, found.read_address, found.source_coordinates),
        ("write", WRITE, found.write_address, found.dest_coordinates),
    ):
        if address is not None:
            held = shown(found.kinds[side] if coordinates is None else coordinates)
            where = place_text(execution.spaces[side], address, execution.unit_bits)
            lines.append(f"      {word:<6}  {where}: {held}{_unit(execution, found.units[side])}")
    return lines


def _copy(command: int, counters: Sequence[int] | None) -> str:
    return f"command {command}, counters ({', '.join(str(c) for c in counters or ())})"


def _unit(execution: Execution, unit: int | None) -> str:
    return "" if unit is None or execution.promise.width == 1 else f", byte {unit} of the element"


def shown(cell: Mapping[str, int] | str | None) -> str:
    """`A=3 B=0` for coordinates, the word itself for what has none."""
    if cell is None or isinstance(cell, str):
        return cell or ""
    return " ".join(f"{axis}={value}" for axis, value in cell.items()) or "the only element"


def place_text(space: Space, address: int, unit_bits: int) -> str:
    """`dm slice 3 byte 16`; chip and cluster 0 go without saying, half bytes are counted where a unit is one."""
    words = [space.tier]
    for place in PLACES[:-1]:
        if place in space.places:
            number, address = divmod(address, space.stride(place, unit_bits))
            if number or place == "slice":
                words.append(f"{place} {number}")
    return f"{' '.join(words)} {'half byte' if unit_bits == 4 else 'byte'} {address}"


def _units(execution: Execution, units: int) -> str:
    return _count(units, "half byte" if execution.unit_bits == 4 else "byte")


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _table(execution: Execution, rows: Sequence[ElementRow]) -> list[str]:
    head = ("destination", "should hold", "was given", "before", "after", "expected")
    table = [head]
    for row in rows:
        where = place_text(execution.spaces[WRITE], row.address, execution.unit_bits)
        values = (_hex(execution, row.before), _hex(execution, row.after), _hex(execution, row.expected))
        table.append((where, shown(row.wanted), shown(row.given), *values))
    widths = [max(len(line[at]) for line in table) for at in range(len(head))]
    return ["  " + "  ".join(f"{text:<{w}}" for text, w in zip(line, widths, strict=True)).rstrip() for line in table]


def _hex(execution: Execution, values: Sequence[int] | None) -> str:
    return "any" if values is None else " ".join(f"{value:0{execution.unit_bits // 4}x}" for value in values)


def report_json(execution: Execution, name: str = "", rows: int = 8) -> dict[str, Any]:
    """The same as data: numbers in units of `unit_bits`, addresses global."""
    return {
        "name": name,
        "tiers": [space.tier for space in execution.spaces],
        "unit_bits": execution.unit_bits,
        "commands": len(execution.commands),
        "packets": execution.packets,
        "units": execution.units_moved,
        "bytes": execution.bytes_moved,
        "live_units": execution.dest_live_units,
        "equal_units": execution.units_equal,
        "kept": kept(execution),
        "broken": sorted(execution.broken),
        "violations": [_violation_json(execution, key, found) for key, found in execution.findings.items()],
        "rows": [_row_json(execution, row) for row in execution.rows(rows)],
    }


def _violation_json(execution: Execution, key: str, found: Violation) -> dict[str, Any]:
    name, _, part = key.partition(":")
    other = None if found.other is None else {"command": found.other[0], "counters": list(found.other[1])}
    return {
        "obligation": f"core/{name}",
        "part": part,
        "says": SAYS[key],
        "count": found.count,
        "command": found.command,
        "counters": None if found.counters is None else list(found.counters),
        "other": other,
        "read": _side_json(execution, READ, found.read_address, found.source_coordinates, found),
        "write": _side_json(execution, WRITE, found.write_address, found.dest_coordinates, found),
    }


def _side_json(
    execution: Execution, side: int, address: int | None, coordinates: dict[str, int] | None, found: Violation
) -> dict[str, Any] | None:
    if address is None:
        return None
    where = place_text(execution.spaces[side], address, execution.unit_bits)
    kind, unit = found.kinds[side], found.units[side]
    return {"address": address, "place": where, "kind": kind, "coordinates": coordinates, "unit": unit}


def _row_json(execution: Execution, row: ElementRow) -> dict[str, Any]:
    return {
        "position": row.position,
        "address": row.address,
        "place": place_text(execution.spaces[WRITE], row.address, execution.unit_bits),
        "should_hold": row.wanted,
        "was_given": row.given,
        "before": list(row.before),
        "after": list(row.after),
        "expected": None if row.expected is None else list(row.expected),
    }
