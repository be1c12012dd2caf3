"""Iterations of one transfer within a memory: what one reads that one before it has written over."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.execute.interpret import interpret
from dmaverify.plan.execution import PlanExecution
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.flow.kernel import check_program
from dmaverify.prove.move.check import check_transfer
from dmaverify.prove.options import Options
from dmaverify.values import replace
from dmaverify.verdict import Status

ROWS = """schema = 1
target = "rngd"
axes = {{ A = 16, C = 256 }}
[transfer.t]
dtype = "i8"
loop = {{ t = {turns} }}
source = {{ tier = "hbm", base = {source}, element = "A, C", view = {{ tile = "A", length = 1, start = "t" }} }}
stream = {{ packet = "C" }}
engine = {{ chip = 0, cluster = 0, dmn = 0 }}
[transfer.t.dest]
tier = "hbm"
base = {dest}
element = "A, C"
view = {{ tile = "A", length = 1, start = "t", partial = true }}
[program.p]
step = [{{ transfer = "t" }}]
"""


@pytest.mark.parametrize(
    ("source", "dest", "turns", "overlaps"),
    [
        (1024, 2048, 6, True),  # iteration 4 reads what iteration 0 wrote
        (1024, 2048, 5, True),
        (1024, 2048, 4, False),
        (1024, 8192, 6, False),
        (2048, 1024, 6, False),  # what is written was read before
        (1024, 1024, 6, False),  # to itself
    ],
)
def test_an_iteration_that_reads_what_one_before_it_wrote_is_refuted_and_the_run_agrees(
    source: int, dest: int, turns: int, overlaps: bool, tmp_path: Path
) -> None:
    (tmp_path / "plan.toml").write_text(ROWS.format(source=source, dest=dest, turns=turns), encoding="utf-8")
    for found in api.check(str(tmp_path / "plan.toml"), options=Options(cross_check=1 << 16, repair=True)):
        if overlaps:
            assert found.status is Status.REFUTED
            assert found.confirmed == "a run of the text"
        else:
            assert found.status is not Status.ERROR, found.findings
            assert not any("overlap" in f.rule for f in found.errors)


def written_anew(fill: str, *, first: bool) -> str:
    """Rows that `t` reads in each iteration, and `load` writes at `fill`, before or behind it."""
    text = ROWS.format(source=1024, dest=2048, turns=6).partition("[program.p]")[0]
    row = f'element = "A, C", view = {{ tile = "A", length = 1, start = "{fill}", partial = true }}'
    load = (
        '[transfer.load]\ndtype = "i8"\nloop = { t = 6 }\n'
        f'source = {{ tier = "hbm", base = 65536, {row.replace(", partial = true", "")} }}\n'
        f'dest = {{ tier = "hbm", base = 1024, {row} }}\nstream = {{ packet = "C" }}\nengine = {{ dmn = 0 }}\n'
    )
    steps = [f'{{ transfer = "{name}" }}' for name in (("load", "t") if first else ("t", "load"))]
    return f"{text}{load}[program.p]\nstep = [{', '.join(steps)}]\n"


@pytest.mark.parametrize(
    ("fill", "first", "status"),
    [
        ("t", True, Status.PROVED),  # the row that is read is written in each iteration
        ("5 - t", True, Status.UNKNOWN),  # some rows are, some before they are read
        ("t", False, Status.UNKNOWN),  # behind the read
        ("t + 10", True, Status.REFUTED),  # rows that nobody reads
    ],
)
def test_what_another_step_writes_anew_in_each_iteration_is_no_longer_what_the_one_before_wrote(
    fill: str, first: bool, status: Status
) -> None:
    whole = written_anew(fill, first=first)
    alone, _, made = api.check(whole, options=Options(cross_check=1 << 16, repair=False))
    assert (alone.status, made.status) == (Status.REFUTED, status), made.findings
    assert {f.rule for f in made.errors} == ({"core/steps"} if status is Status.REFUTED else set())


@pytest.mark.parametrize(("left", "status"), [("", Status.PROVED), ("core/padding", Status.UNKNOWN)])
def test_a_step_whose_overlap_others_mend_is_proved_only_if_all_else_of_it_is(left: str, status: Status) -> None:
    """What is open of the step beside its overlap stays open."""
    plan = read_plan_text(written_anew("t", first=True))
    (program,), options = plan.programs, Options(repair=False)
    given = {"axes": plan.axes, "target": plan.targets["rngd"], "options": options}
    known = {item.name: check_transfer(item.transfer, **given) for item in plan.transfers}
    one = known["t"]
    open_ = (replace(o, status="unknown") if o.id == left else o for o in one.obligations)
    known["t"] = replace(one, obligations=tuple(open_))
    assert check_program(program, known=known, **given).status is status


@pytest.mark.parametrize(
    ("dest", "view", "wrong"),
    [
        ("A, C", "", set()),  # onto itself: what comes back is what was there, whoever is first
        ("C", ', view = { tile = "A", length = 1, start = "t / 2" }', set()),  # row 0 is read before row 1 lands on it
        ("C", ', view = { tile = "A", length = 1, start = "1 - t / 2" }', {"core/overlap"}),
    ],
)
def test_iterations_of_a_launched_move_meet_where_one_changes_what_another_reads(
    dest: str, view: str, wrong: set[str]
) -> None:
    text = (
        'schema = 1\ntarget = "idma"\naxes = { A = 2, C = 64 }\n[transfer.t]\ndtype = "i8"\nloop = { t = 4 }\n'
        f'source = {{ tier = "mem", base = 4096, element = "A, C"{view} }}\n'
        f'dest = {{ tier = "mem", base = 4096, element = "{dest}" }}\n'
        f'stream = {{ time = "{dest[:-1].strip(", ") or "1"}", packet = "C" }}\n'
        '[program.p]\nstep = [{ transfer = "t" }]\n'
    )
    for found in api.check(text, options=Options(cross_check=1 << 16, repair=False)):
        told = {rule for f in found.errors for rule in str(f.values.get("errors", f.rule)).split(", ")}
        assert told - ({"core/hazard-raw"} if wrong else set()) == wrong, found.findings


PRINTED = """schema = 1
target = "rngd"
axes = {{ A = 8, C = 64 }}
[transfer.t]
dtype = "i8"
loop = {{ t = {turns} }}
source = {{ tier = "hbm", base = 4096, element = "A, C"{view} }}
dest = {{ tier = "hbm", base = {dest}, element = "A, C"{view} }}
[[transfer.t.command]]
engine = {{ dmn = 0 }}
read = "[{rows}:64, 64:1]:64 HBM/D@4096"
write = "[{rows}:64, 64:1]:64 HBM/D@{dest}"
[[transfer.t.command]]
engine = {{ dmn = 0 }}
read = "[{rows}:64, 64:1]:64 HBM/D@{second}"
write = "[{rows}:64, 64:1]:64 HBM/D@{write}"
"""


@pytest.mark.parametrize(
    ("tiled", "down", "by", "wrong"),
    [
        (True, 64, 0, set()),  # row by row downwards: no row is written before it is read
        (True, 64, -64, {"core/same-element"}),  # the second command reads the row of the first
        (False, 256, 0, {"core/overlap"}),  # it writes what the first one reads in the next iteration
        (False, 512, 0, set()),
    ],
)
def test_printed_commands_are_run_in_the_order_of_the_iterations(
    tiled: bool, down: int, by: int, wrong: set[str]
) -> None:
    view, rows = ', view = { tile = "A", length = 2, start = "2 * t" }' if tiled else "", 1 if tiled else 4
    text = PRINTED.format(
        turns=4 if tiled else 2, view=view, rows=rows, dest=4096 - down, second=4096 + 64 * rows + by,
        write=4096 - down + 64 * rows,
    )  # fmt: skip
    (found,) = api.check(text, options=Options(cross_check=0, repair=False))
    ran = interpret(*PlanExecution(text).work("t"))
    assert {f.rule for f in found.errors} & wrong == wrong
    assert wrong <= set(ran.wrong)
    assert (found.status is Status.PROVED) == (not ran.wrong) == (not wrong)


@pytest.mark.parametrize(("engine", "shared"), [("engine = { dmn = 0 }\n", False), ("", True)])
def test_commands_that_name_no_engine_share_one_also_where_iterations_meet(engine: str, shared: bool) -> None:
    """A program may prove what is refuted of the move alone, and then rests on it."""
    text = PRINTED.format(turns=2, view="", rows=4, dest=3840, second=4352, write=4096)
    (found,) = api.check(text.replace("engine = { dmn = 0 }\n", engine), options=Options(cross_check=0, repair=False))
    assert {f.rule for f in found.errors} == {"core/overlap"}
    assert any("share one engine" in one for one in found.conditions) == shared


TILED = """schema = 1
target = "rngd"
axes = {{ A = 3, C = 64 }}
[transfer.t]
dtype = "i8"
loop = {{ t = 3 }}
source = {{ tier = "hbm", element = "A, C", view = {{ tile = "A", length = 1, start = "t" }} }}
dest = {{ tier = "hbm", base = 65536, element = "A #{{0}} 4, C", view = {view} }}
stream = {{ time = "A = 1", packet = "C" }}
[access.c]
engine = "commit"
dtype = "i8"
loop = {{ t = 3 }}
memory = {{ tier = "dm", slice = "1 # 64", element = "A #{{0}} 4, C", view = {view} }}
stream = {{ time = "C / 32", packet = "C % 32" }}
"""


@pytest.mark.parametrize(("tile", "status"), [("A #{0} 4", Status.PROVED), ("A", Status.REFUTED)])
def test_zero_padding_is_asked_of_a_tile_only_where_it_is_in_the_view(tile: str, status: Status) -> None:
    options = Options(cross_check=1 << 16, repair=True)
    found = api.check(TILED.format(view=f'{{ tile = "{tile}", length = 1, start = "t" }}'), options=options)
    assert [one.status for one in found] == [status, status]
    assert {f.rule for one in found for f in one.errors} == (set() if status is Status.PROVED else {"core/padding"})


@pytest.mark.parametrize("rows", ["A, C", "A @ 1 = 1, C"])
def test_a_padded_stream_that_reads_behind_its_source_contradicts_no_run(rows: str) -> None:
    first = rows.split(",")[0]
    text = (
        'schema = 1\ntarget = "rngd"\naxes = { A = 2, C = 16 }\n[transfer.t]\ndtype = "i8"\n'
        'source = { tier = "dm", slice = "1 # 64", element = "A, C" }\n'
        f'dest = {{ tier = "hbm", base = 65536, element = "{rows} # 24" }}\n'
        f'stream = {{ time = "{first}", packet = "C # 24" }}\n'
    )
    (found,) = api.check(text, options=Options(cross_check=1 << 16, repair=True))
    assert (found.status, {f.rule for f in found.errors}) == (Status.REFUTED, {"core/in-bounds"}), found.findings
