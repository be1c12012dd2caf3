"""Tiles and rows are asked from definitions: for every turn and key, a part shows what its tensor holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dmaverify import api
from dmaverify.jobs.certify import check_certificate
from dmaverify.jobs.sealed import write_certificate
from dmaverify.program.indirect import RowDigits
from dmaverify.program.views import View
from dmaverify.prove.move import views
from dmaverify.prove.options import Options
from dmaverify.verdict import Verdict

PLAN = """
schema = 1
target = "rngd"
[axes]
A = 4096
C = 256
[transfer.tiles]
dtype  = "i8"
loop   = { t = 1024 }
source = { tier = "hbm", element = "A, C", view = { tile = "A", length = 4, start = "START" } }
dest   = { tier = "dm", slice = "1 # 64", element = "A = 4, C" }
stream = { time = "A = 4", packet = "C" }
[transfer.both]
dtype  = "i8"
loop   = { t = 1024 }
source = { tier = "hbm", element = "A, C", view = { tile = "A", length = 4, start = "4 * t" } }
dest   = { tier = "hbm", base = 1048576, element = "A, C", view = { tile = "A", length = 4, start = "OTHER" } }
stream = { time = "A = 4", packet = "C" }
"""


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ASKED = ("core/in-bounds", "core/same-element", "core/padding")


def judged(folder: Path, name: str, start: str = "4 * t", other: str = "4 * t") -> Verdict:
    path = folder / "plan.toml"
    path.write_text(PLAN.replace("START", start).replace("OTHER", other))
    (verdict,) = api.check(str(path), name=name, options=Options(prove="full"))
    return verdict


@pytest.mark.parametrize("name", ["tiles", "both"])
@pytest.mark.parametrize("start", ["4 * t", "t", "4092 - 4 * t"])
def test_every_iteration_of_a_view_is_asked_from_definitions(name: str, start: str, tmp_path: Path):
    verdict = judged(tmp_path, name, start)
    assert verdict.status.value == "proved"
    assert not any("not asked" in said for said in verdict.assumptions)
    assert {o.by for o in verdict.obligations if o.id in ASKED} == {"z3"}


def contradiction(verdict: Verdict) -> str:
    assert verdict.status.value == "error"
    return verdict.findings[0].message


def nothing(*_: Any) -> Iterator[Any]:
    return iter(())


@pytest.mark.parametrize(
    ("faults", "name", "start", "other", "told"),
    [
        (("_range", "_holes"), "tiles", "4 * t + 1", "4 * t", "core/in-bounds"),
        (("_alike",), "both", "4 * t", "4092 - 4 * t", "core/same-element"),
    ],
)
def test_an_analysis_of_views_that_finds_nothing_is_contradicted(
    faults: tuple[str, ...], name: str, start: str, other: str, told: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    assert judged(tmp_path, name, start, other).status.value == "refuted"
    for fault in faults:
        monkeypatch.setattr(views, fault, nothing)
    assert told in contradiction(judged(tmp_path, name, start, other))


def test_a_view_that_moves_by_another_distance_is_contradicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    told = views.shift_units
    monkeypatch.setattr(
        "dmaverify.prove.move.part_questions.shift_units",
        lambda view, *rest: told(view and replace(view, shift=moved(view)), *rest),
    )
    assert "z3 says sat from definitions" in contradiction(judged(tmp_path, "tiles"))


def moved(view: View) -> Any:
    return (*view.shift[:3], view.shift[3].times(2))


# ---------------------------------------------------------------- rows of gathers and scatters

ROWS = """
schema = 1
target = "rngd"
[axes]
R = 80
K = 64
C = 128
[KIND.rows]
dtype = "bf16"
source = SOURCE
dest = DEST
index = { tier = "hbm", base = 131072, element = "K", INDEX }
stream = { time = "K", packet = "C" }
"""
TABLE, PAYLOAD = '{ tier = "hbm", element = "R, C" }', '{ tier = "dm", slice = "K", element = "C" }'
KNOWN = f"values = {[256 * (7 * k % 64) for k in range(64)]}"


def rows(folder: Path, kind: str, index: str, payload: str = "") -> Verdict:
    sides = (TABLE, payload or PAYLOAD) if kind == "gather" else (PAYLOAD, TABLE)
    text = ROWS.replace("KIND", kind).replace("SOURCE", sides[0]).replace("DEST", sides[1]).replace("INDEX", index)
    (folder / "plan.toml").write_text(text)
    (verdict,) = api.check(str(folder / "plan.toml"), options=Options(prove="full", cross_check=0))
    return verdict


@pytest.mark.parametrize(
    ("kind", "index"),
    [
        ("gather", KNOWN),
        ("scatter", KNOWN),
        ("gather", "rows = [0, 79]"),
        ("scatter", "rows = [16, 79], distinct = true"),
    ],
)
def test_every_row_is_asked_from_definitions(kind: str, index: str, tmp_path: Path):
    verdict = rows(tmp_path, kind, index)
    assert verdict.status.value == "proved"
    assert {o.by for o in verdict.obligations if o.id in ASKED} == {"z3, for every row"}
    assert next(o.by for o in verdict.obligations if o.id == "rngd/*").startswith("z3, ")


@pytest.mark.parametrize(
    ("fault", "kind", "index", "told"),
    [
        ("_bounds", "gather", KNOWN.replace("256,", "20480,"), "core/in-bounds"),
        ("_once", "scatter", KNOWN.replace("256,", "512,"), "core/writes-once"),
    ],
)
def test_a_list_that_is_not_read_is_contradicted(
    fault: str, kind: str, index: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert told in {f.rule for f in rows(tmp_path, kind, index).errors}
    monkeypatch.setattr(f"dmaverify.prove.move.indirect_case.IndirectCase.{fault}", lambda *_: None)
    monkeypatch.setattr("dmaverify.prove.move.indirect.judge_reach", lambda *_: None)  # it sees the last row, too
    assert told in contradiction(rows(tmp_path, kind, index))


def test_rows_at_another_distance_are_contradicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    steps = RowDigits.steps
    monkeypatch.setattr(RowDigits, "steps", lambda self, *rest: [step + 256 for step in steps(self, *rest)])
    monkeypatch.setattr("dmaverify.prove.move.indirect.judge_reach", lambda *_: None)
    assert "rows of the table" in contradiction(rows(tmp_path, "gather", "rows = [0, 79]"))


@pytest.mark.parametrize("entry", ["gather.toml::printed", "gather.toml::once", "views.toml::store"])
def test_a_certificate_of_rows_or_tiles_leaves_nothing_open(entry: str, tmp_path: Path):
    file, _, name = entry.partition("::")
    plan = str(EXAMPLES / "programs" / file)
    job = (plan, name, None, {"readings": {}, "rlimit": 20_000_000, "cross_check": 0, "prove": "full"})
    write_certificate(tmp_path / "cert", [job])
    found = check_certificate(tmp_path / "cert", solver=False)
    assert found.refused == []
    assert (found.code, found.open) == (0, [])


@pytest.mark.parametrize("values", ["values = [0, 7, 3, 9]", "rows = [0, 79]"])
@pytest.mark.parametrize("base", [0, 254, 256])
def test_a_list_that_is_written_is_contradicted(
    base: int, values: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The list lies in the destination's slices, from its rows of 256 bytes on, in their last bytes, or behind them."""
    own = ROWS.replace('tier = "hbm", base = 131072, element = "K"', f'tier = "dm", base = {base}, element = "K"')
    own = own.replace("K = 64", "K = 4").replace("INDEX", f"scaled = false, {values}")
    text = own.replace("KIND", "gather").replace("SOURCE", TABLE).replace("DEST", PAYLOAD.replace('"K"', '"K # 64"'))
    (tmp_path / "plan.toml").write_text(text)

    def verdict() -> Verdict:
        (found,) = api.check(str(tmp_path / "plan.toml"), options=Options(prove="full", cross_check=0))
        return found

    overlap = [o for o in verdict().obligations if o.id == "core/overlap"]
    assert [(o.status, o.by) for o in overlap] == [("proved", "z3") if base == 256 else ("refuted", "")]
    monkeypatch.setattr("dmaverify.prove.move.indirect_order._first", lambda *_: None)
    if base < 256:
        assert "core/overlap" in contradiction(verdict())


def test_more_rows_than_are_asked_of_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dmaverify.prove.move.indirect.MOST_APART", 3)
    own = ROWS.replace('tier = "hbm", base = 131072, element = "K"', 'tier = "dm", base = 256, element = "K"')
    own = own.replace("K = 64", "K = 4").replace("INDEX", "scaled = false, values = [0, 7, 3, 9]")
    text = own.replace("KIND", "gather").replace("SOURCE", TABLE).replace("DEST", PAYLOAD.replace('"K"', '"K # 64"'))
    (tmp_path / "plan.toml").write_text(text)
    (verdict,) = api.check(str(tmp_path / "plan.toml"), options=Options(prove="full", cross_check=0))
    assert verdict.status.value == "proved"
    assert any("core/overlap by the order of the keys" in one for one in verdict.assumptions)
