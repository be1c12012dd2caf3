"""Known defects of the release: told with what shows them, and gone where the version is the specification."""

from __future__ import annotations

from pathlib import Path

import pytest

import dmaverify as dv
from dmaverify.machines.idma.check import verdict_of_file

PLAN = """
schema = 1
target = "idma"
[axes]
A = 4096
[transfer.p]
dtype = "i8"
source = {{ tier = "mem", base = {src}, element = "A" }}
dest = {{ tier = "mem", base = {dst}, element = "A" }}
options = {{ {options} }}
read = "[A=4096:1]:4096 @{src}"
write = "[A=4096:1]:4096 @{dst}"
"""
STRIPS = (
    'preset = "mempool", dst_protocol = "obi", region_start = 0, region_end = 65536, region_width = 1024, backends = 8'
)


def _findings(tmp_path: Path, text: str) -> dict[str, str]:
    file = tmp_path / "p.toml"
    file.write_text(text, encoding="utf-8")
    (verdict,) = dv.check(str(file))
    return {finding.rule: finding.place for finding in verdict.findings}


@pytest.mark.parametrize(
    ("src", "dst", "options", "says"),
    [
        (4100, 16384, 'variant = "rw_tilelink"', "1024 B at 0x1004"),
        (4096, 16384, 'variant = "rw_tilelink", data_width = 512', "2048 B at 0x4000 has size field 0"),
        (1 << 20, 3072, STRIPS, "src of back-end 4 is 0x101000, not 0x100400"),
        (4096, 16384, "data_width = 512, legalizer = 0", "nothing drives the addresses and lengths"),
        (1 << 20, 6144, STRIPS, "in 2 pieces"),  # the row of all strips ends at 8,192
    ],
)
def test_a_known_defect_is_told_with_what_shows_it(tmp_path: Path, src: int, dst: int, options: str, says: str) -> None:
    found = _findings(tmp_path, PLAN.format(src=src, dst=dst, options=options))
    assert says in found["idma/known-defect"]
    assert found["idma/known-defect"].startswith("0.7.0")
    assert _findings(tmp_path, PLAN.format(src=src, dst=dst, options=options + ', version = "spec"')) == {}


def test_pieces_that_end_with_their_row_show_no_wrong_partner(tmp_path: Path) -> None:
    """mp_split cuts at the row: what is left of it lies in one strip, and the rest begins a row."""
    found = _findings(tmp_path, PLAN.format(src=1 << 20, dst=8192 - 512, options=STRIPS))
    assert "of back-end 8" not in found["idma/known-defect"]
    assert "in 2 pieces" in found["idma/known-defect"]


def test_a_defect_behind_the_first_transfers_is_told_or_that_they_were_not_looked_at(tmp_path: Path) -> None:
    many = PLAN.replace("A = 4096", "A = 8192").replace("[A=4096:1]:4096", "[A=8192:1]:1")
    options = 'preset = "mempool", dst_protocol = "obi", region_start = 0, region_end = 65536, region_width = 16384'
    found = _findings(tmp_path, many.format(src=1 << 20, dst=0, options=options + ", backends = 2, dims = 2"))
    assert "only 4,096 of 8,192 1D transfers were looked at" in found["idma/known-defect"]


@pytest.mark.parametrize(("reps", "told"), [(1, False), (4, True)])
def test_an_event_without_an_outer_dimension_repeats_its_inner_one(reps: int, told: bool, tmp_path: Path) -> None:
    text = f"""
schema = 1
target = "idma"
[axes]
A = 8
B = {reps}
[transfer.p]
dtype = "i8"
source = {{ tier = "mem", base = 0, element = "B, A # 32" }}
dest = {{ tier = "mem", base = 4096, element = "B, A" }}
options = {{ preset = "controlpulp", dst_protocol = "axi" }}
commands = '''
rt3d
src = 0
dst = 4096
length = 8
dim = {reps}, 32, 8
event = 10000
'''
"""
    assert ("is none, and becomes" in _findings(tmp_path, text).get("idma/known-defect", "")) is told


def test_the_outer_dimension_of_an_event_is_ignored(tmp_path: Path) -> None:
    text = """
schema = 1
target = "idma"
[axes]
A = 8
B = 4
C = 2
[transfer.p]
dtype = "i8"
source = { tier = "mem", base = 0, element = "C # 4, B # 16, A # 32" }
dest = { tier = "mem", base = 4096, element = "C, B, A" }
options = { preset = "controlpulp", dst_protocol = "axi" }
commands = '''
rt3d
src = 0
dst = 4096
length = 8
dim = 4, 32, 8
dim = 2, 416, 8
event = 10000
'''
"""
    assert "the outer dimension" in _findings(tmp_path, text).get("idma/known-defect", "")


def test_every_defect_of_the_data_has_what_shows_it() -> None:
    from dmaverify.machines.idma.released import SHOWN
    from dmaverify.targets.target import load_target

    assert set(load_target("idma").raw["machine"]["defect"]) == set(SHOWN)


def test_a_file_of_events_tells_what_a_plan_of_them_tells(tmp_path: Path) -> None:
    file = tmp_path / "events.txt"
    file.write_text("rt3d\nsrc = 0\ndst = 4096\nlength = 8\ndim = 4, 32, 8\ndim = 2, 416, 8\nevent = 10000\nlaunch\n")
    verdict = verdict_of_file(str(file))
    assert verdict is not None
    assert "the outer dimension becomes 4, 32, 8" in " ".join(f.place for f in verdict.findings)


@pytest.mark.parametrize(("named", "rule"), [(False, "idma/known-defect"), (True, "idma/wrong-on-release")])
def test_what_a_named_release_does_wrong_each_time_is_an_error(tmp_path: Path, named: bool, rule: str) -> None:
    options = STRIPS + (', version = "0.7.0"' if named else "")
    found = _findings(tmp_path, PLAN.format(src=1 << 20, dst=3072, options=options))
    assert "src of back-end 4 is 0x101000, not 0x100400" in found[rule]
    (verdict,) = dv.check(str(tmp_path / "p.toml"))
    assert verdict.status.value == ("refuted" if named else "proved")


def test_what_a_release_does_wrong_under_pressure_alone_stays_a_warning(tmp_path: Path) -> None:
    """A row less one byte in the last strip: the piece behind the row's end has the right partner."""
    options = STRIPS + ', version = "0.7.0"'
    found = _findings(tmp_path, PLAN.format(src=1 << 20, dst=8192 - 512, options=options))
    assert "in 2 pieces" in found["idma/known-defect"]


@pytest.mark.parametrize(("length", "told"), [(4, False), (5, True), (8, True)])
def test_the_bursts_of_an_event_are_fixed_where_they_have_more_than_one_beat(
    length: int, told: bool, tmp_path: Path
) -> None:
    """The engine has words of four bytes. A plan and a file of the same text are told alike."""
    text = f"rt3d\nsrc = 0\ndst = 4096\nlength = {length}\nevent = 10000\n"
    plan = f"""
schema = 1
target = "idma"
[axes]
A = {length}
[transfer.p]
dtype = "i8"
source = {{ tier = "mem", base = 0, element = "A" }}
dest = {{ tier = "mem", base = 4096, element = "A" }}
options = {{ preset = "controlpulp", dst_protocol = "axi", version = "0.7.0" }}
commands = '''
{text}'''
"""
    found = _findings(tmp_path, plan)
    assert ("stays at one word" in found.get("idma/wrong-on-release", "")) is told
    (tmp_path / "events.txt").write_text(text + "launch\n")
    verdict = verdict_of_file(str(tmp_path / "events.txt"))
    assert verdict is not None
    assert any("stays at one word" in f.place for f in verdict.findings) is told


def test_a_front_end_behind_mp_split_never_sees_the_end(tmp_path: Path) -> None:
    found = _findings(tmp_path, PLAN.format(src=1 << 20, dst=0, options=STRIPS))
    assert "mp_split never answers" in found["idma/known-defect"]
