"""The page on cost has a table of shapes: all of them, none stale."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import synth_table
from shapes import shapes

SAMPLE = ("KV cache, heads to slices, f8e4m3", "block scales of 120 B, stored, f8e4m3")


def test_the_page_has_a_row_for_every_shape():
    rows = synth_table.in_page().splitlines()[2:]
    assert [row.split(" | ")[0].strip("| ") for row in rows] == [name for name, _, _ in shapes()]


def test_rows_of_the_page_say_what_synthesis_finds_today():
    known = synth_table.in_page().splitlines()
    for name in SAMPLE:
        line = synth_table.table([name]).splitlines()[-1]
        assert line in known, "python tests/bench/synth_table.py --write"
