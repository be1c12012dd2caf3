"""A simulation as files for other tools: Chrome/Perfetto trace, JSON of statistics, SQLite.

Knows: the trace event format, the tables of the database.
Does not know: how a simulation runs.
Law: the same result gives the same bytes; one cycle is one microsecond of the trace, so that viewers show cycles.

Tables of the database: `run(key, value)`, `command(engine, start, end, bytes)`, `channel(chip, channel, requests,
hits, opens, row_switches, partial_writes, busy_cycles, most_waiting)`, `dmn(chip, cluster, dmn, requests,
busy_cycles)`, `request(resource, start, cycles, engine, kind, address)` with the recorded requests. Times are in
cycles.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dmaverify.cost.simulate import SimResult
from dmaverify.language.files import write_bytes, write_text

COLUMNS = {
    "command": ("engine", "start", "end", "bytes"),
    "channel": (
        "chip", "channel", "requests", "hits", "opens", "row_switches", "partial_writes", "busy_cycles", "most_waiting",
    ),
    "dmn": ("chip", "cluster", "dmn", "requests", "busy_cycles"),
    "request": ("resource", "start", "cycles", "engine", "kind", "address"),
}  # fmt: skip
"""Columns of the tables, in order."""


def chrome_trace(result: SimResult) -> dict[str, Any]:
    """Trace events: a track per engine with its commands, a track per channel, DMN and SPM with the recorded
    requests.
    """
    engines = sorted({row["engine"] for row in result.commands})
    resources = sorted({event["resource"] for event in result.trace}, key=_natural)
    events = [_name(0, "engines"), _name(1, "memory")]
    events += [_thread(0, number, f"engine {engine}") for number, engine in enumerate(engines)]
    events += [_thread(1, number, name) for number, name in enumerate(resources)]
    for row in result.commands:
        args = {"bytes": row["bytes"]}
        span = row["end"] - row["start"]
        events.append(_slice(0, engines.index(row["engine"]), "command", row["start"], span, args))
    for event in result.trace:
        args = {"address": hex(event["address"]), "engine": event["engine"]}
        track = resources.index(event["resource"])
        events.append(_slice(1, track, event["kind"], event["start"], event["cycles"], args))
    other = {"profile": result.profile, "cycles": result.cycles}
    return {"displayTimeUnit": "ns", "traceEvents": events, "otherData": other}


def _natural(name: str) -> tuple[str, int]:
    word, _, number = name.partition(" ")
    return word, int(number)


def _name(process: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}


def _thread(process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": name}}


def _slice(process: int, track: int, name: str, start: float, cycles: float, args: Mapping[str, Any]) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": process, "tid": track, "ts": start, "dur": cycles, "args": dict(args)}


def write_trace(result: SimResult, path: Path) -> None:
    """The Chrome trace as a file."""
    write_text(path, json.dumps(chrome_trace(result), separators=(",", ":")) + "\n")


def write_sqlite(result: SimResult, path: Path) -> None:
    """The statistics and the recorded requests as a database, replacing a file that is there."""
    with tempfile.TemporaryDirectory(prefix="dmaverify-") as folder:
        made = Path(folder) / "made.sqlite"
        _fill(result, made)
        write_bytes(path, made.read_bytes())


def _fill(result: SimResult, path: Path) -> None:
    rows = {"command": result.commands, "channel": result.channels, "dmn": result.dmns, "request": result.trace}
    with sqlite3.connect(path) as database:
        database.execute("create table run (key text primary key, value)")
        totals = {key: value for key, value in result.statistics().items() if not isinstance(value, list)}
        database.executemany("insert into run values (?, ?)", totals.items())
        for table, columns in COLUMNS.items():
            database.execute(f"create table {table} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            database.executemany(f"insert into {table} values ({marks})", _values(rows[table], columns))
    database.close()


def _values(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in rows]
