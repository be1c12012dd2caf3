"""Pictures, page, trace and database of a program hold what was counted, need nothing else, and do not change by
themselves.

Knows: file formats. Does not know: how anything is drawn.
Law: the same program gives the same bytes; no file names another host.
"""

from __future__ import annotations

import json
import sqlite3
from functools import cache
from io import StringIO
from pathlib import Path

import matplotlib
import pytest
from cost_programs import EXAMPLE_1, EXAMPLE_3, example_4, example_5
from matplotlib.figure import Figure

from dmaverify.cost.constants import cost_data
from dmaverify.cost.explain import explain
from dmaverify.cost.model import cost
from dmaverify.cost.simulate import simulate
from dmaverify.report.cost import sections
from dmaverify.report.picture import draw, loads_of, save
from dmaverify.report.trace import chrome_trace, write_sqlite, write_trace


def test_the_loads_drawn_are_the_loads_counted() -> None:
    loads = loads_of(cost(example_5()), cost_data())
    assert loads.channels == (256,) * 16 + (0,) * 16
    assert loads.dmns == (256,) * 16
    assert loads.slices == (8,) * 512
    assert {role for _, _, role in loads.channel_order} == {"read"}


def test_example_4_visits_a_new_row_with_every_request_of_a_bank() -> None:
    loads = loads_of(cost(example_4()), cost_data())
    assert {count for row in loads.rows for count in row} == {8}


def svg(figure: Figure) -> str:
    """A picture as text."""
    text = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "dmaverify", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


@cache
def small() -> str:
    return svg(draw([("3", EXAMPLE_3, cost_data())]))


@pytest.mark.slow
def test_a_picture_is_the_same_twice_and_shows_both_programs() -> None:
    both = [("before", example_5(), cost_data()), ("after", example_5(bit_8=True), cost_data())]
    text = svg(draw(both))
    assert svg(draw([("3", EXAMPLE_3, cost_data())])) == small()
    assert "before: 1,861 cycles" in text
    assert "bound by channels, all engines: 16 of 32 channels carry 4,096 requests" in text
    assert "Rows per bank: 1 stays open, more switch" in text
    assert "16 of 32 in use" in text
    assert "32 of 32 in use" in text


def test_panels_of_a_memory_that_does_not_occur_are_left_out() -> None:
    assert "HBM channel" not in small()
    assert "DMN" in small()


def test_a_picture_is_saved_as_png(tmp_path: Path) -> None:
    save(draw([("1", EXAMPLE_1, cost_data())]), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_cost_within_a_page_has_its_reasons_and_names_no_host() -> None:
    text = "\n".join(sections(explain(example_5())))
    assert "<script" not in text
    assert "http" not in text
    assert "bit 8" in text


def test_the_trace_has_a_track_per_engine_and_resource_and_every_request() -> None:
    result = simulate(EXAMPLE_1, record=1000)
    events = chrome_trace(result)["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert len(slices) == 1 + 128
    assert {event["args"]["name"] for event in events if event["name"] == "thread_name"} >= {
        "engine (0, 0, 0)",
        "channel 0",
    }
    assert all(event["ts"] >= 0 and event["dur"] > 0 for event in slices)


def test_trace_and_statistics_are_json(tmp_path: Path) -> None:
    result = simulate(EXAMPLE_1, record=10)
    write_trace(result, tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["otherData"]["cycles"] == result.cycles
    assert json.loads(json.dumps(result.statistics()))["requests"] == 128


def test_the_database_adds_up_to_the_result(tmp_path: Path) -> None:
    result = simulate(EXAMPLE_1, record=1000)
    for _ in range(2):
        write_sqlite(result, tmp_path / "s.sqlite")
    with sqlite3.connect(tmp_path / "s.sqlite") as database:
        assert database.execute("select sum(requests) from channel").fetchone() == (128,)
        assert database.execute("select value from run where key = 'cycles'").fetchone() == (result.cycles,)
        assert database.execute("select count(*) from request where kind = 'read'").fetchone() == (64,)
