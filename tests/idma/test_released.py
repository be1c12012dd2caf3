"""Known defects of the release: told with what shows them, and gone where the version is the specification."""

from __future__ import annotations

from pathlib import Path

import pytest

import dmaverify as dv

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
        (1 << 20, 3072, STRIPS, "in 4 pieces"),
    ],
)
def test_a_known_defect_is_told_with_what_shows_it(tmp_path: Path, src: int, dst: int, options: str, says: str) -> None:
    found = _findings(tmp_path, PLAN.format(src=src, dst=dst, options=options))
    assert says in found["idma/known-defect"]
    assert found["idma/known-defect"].startswith("0.7.0")
    assert _findings(tmp_path, PLAN.format(src=src, dst=dst, options=options + ', version = "spec"')) == {}


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
