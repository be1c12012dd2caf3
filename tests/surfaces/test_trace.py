"""A program as a timeline: as early as the order allows, one thing at a time in each lane."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dmaverify as dv
from dmaverify.program.schedule import Order, Program, Step, order_of
from dmaverify.report.timeline import Duration, critical_path, program_trace, slots_of

PLAN = """\
schema = 1
target = "rngd"
[axes]
A = 64
C = 64
M = 30
W = 8
[transfer.load]
dtype  = "i8"
source = { tier = "hbm", element = "A, C" }
dest   = { tier = "dm", base = 262144, slice = "A", element = "C" }
stream = { time = "A", packet = "C" }
[access.use]
engine = "fetch"
dtype  = "i8"
memory = { tier = "dm", base = 0, slice = "64", element = "M, W # 128" }
stream = { time = "M", packet = "W" }
[[program.layer.step]]
transfer = "load"
[[program.layer.step]]
access = "use"
after = ["load"]
"""


def timed(lanes: list[list[str]], after: list[tuple[str, ...]], cycles: list[float], order: str = "contexts"):
    program = Program("p", "toy", tuple(Step(f"s{n}", after=a) for n, a in enumerate(after)), order=order)
    found = order_of(program, lanes)
    assert isinstance(found, Order)
    durations = {(n, lane): Duration(cycles[n]) for n, own in enumerate(lanes) for lane in own}
    return program, slots_of(program, found, durations)


def spans(slots) -> list[tuple[str, float, float]]:
    return [(slot.step, slot.start, slot.end) for slot in slots]


def test_lanes_run_beside_each_other_and_a_lane_does_one_thing_at_a_time():
    _, slots = timed([["a"], ["b"], ["a"]], [(), (), ()], [5, 7, 2])
    assert spans(slots) == [("s0", 0, 5), ("s1", 0, 7), ("s2", 5, 7)]


def test_a_step_waits_for_the_last_of_those_before_it():
    _, slots = timed([["a"], ["b"], ["c"]], [(), (), ("s0", "s1")], [5, 7, 2])
    assert spans(slots)[2] == ("s2", 7, 9)
    assert critical_path(slots) == ["s1", "s2"]


def test_the_written_order_puts_one_behind_the_other():
    _, slots = timed([["a"], ["b"]], [(), ()], [5, 7], "written")
    assert spans(slots) == [("s0", 0, 5), ("s1", 5, 12)]


def test_several_engines_of_a_step_work_at_once():
    _, slots = timed([["engine 0", "engine 1"], ["main"]], [(), ("s0",)], [4, 1])
    assert spans(slots) == [("s0", 0, 4), ("s0", 0, 4), ("s1", 4, 5)]
    assert critical_path(()) == []


def test_the_events_are_those_of_a_viewer():
    program, slots = timed([["engine 0"], ["main"]], [(), ("s0",)], [4, 1])
    events = program_trace(program.name, slots, "book")["traceEvents"]
    assert all({"ph", "pid", "name"} <= set(event) for event in events)
    slices = [event for event in events if event["ph"] == "X"]
    assert [(e["name"], e["pid"], e["ts"], e["dur"]) for e in slices] == [("s0", 0, 0, 4), ("s1", 1, 4, 1)]
    arrows = {event["ph"]: (event["id"], event["ts"], event["pid"]) for event in events if event["ph"] in "sf"}
    assert arrows == {"s": (1, 4, 0), "f": (1, 4, 1)}


def test_a_program_is_traced_with_the_cost_of_its_transfers(shell):
    shell.write(PLAN)
    code, out, _ = shell("trace", "plan.toml::layer", "--output", "t.json")
    assert (code, "2 pieces of work" in out, "bound by load -> use" in out) == (0, True, True)
    data = json.loads(Path("t.json").read_text())
    load, use = [event for event in data["traceEvents"] if event["ph"] == "X"]
    (priced,) = json.loads(shell("cost", "plan.toml::load", "--json")[1])
    assert (load["dur"], load["args"]["bytes"]) == (priced["cycles"], 4096)
    assert (use["ts"], use["dur"]) == (priced["cycles"], 30)
    assert data["otherData"]["critical_path"] == ["load", "use"]
    shell("trace", "plan.toml::layer", "--output", "again.json")
    assert Path("again.json").read_bytes() == Path("t.json").read_bytes()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('stream = { time = "A", packet = "C" }\n[access', "[access"), "nothing says how step `load` moves"),
        (('after = ["load"]', 'after = ["use"]'), "wait"),
    ],
)
def test_a_program_without_a_timeline_is_told(shell, change, said):
    shell.write(PLAN.replace(*change))
    code, out, err = shell("trace", "plan.toml::layer", "--output", "t.json")
    assert (code, said in out + err) == (2, True)
    assert not Path("t.json").exists()


def test_examples_of_programs_are_traced(shell):
    plan = dv.load(Path(__file__).resolve().parents[2] / "examples/programs/cumulative.toml")
    for program in plan.programs:
        assert shell("trace", f"{plan.path}::{program.name}", "--output", "t.json")[0] == 0
        assert json.loads(Path("t.json").read_text())["otherData"]["program"] == program.name
