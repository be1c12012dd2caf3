"""The same kernel written in both surfaces: each is proved, both are equal, and one changed number parts them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dmaverify.jobs.kernels import same_kernels
from dmaverify.machines.pto.check import check_file
from dmaverify.verdict import Status

HERE = Path(__file__).resolve().parent
FILES = [*(HERE / "pairs").glob("*.mlir"), *(HERE.parents[1] / "examples" / "pto").glob("*.*.mlir")]
PATHS = {path.name: path for path in FILES}
NAMES = sorted({name.split(".")[0] for name in PATHS})
CHANGED = {  # a number of the inline text, and what it becomes
    "absolute": ("%whole nburst", "%step nburst"),
    "blocks": ("nburst(%n, %c512, %c256)", "nburst(%n, %c256, %c256)"),
    "column": ("nburst(%c64, %c32, %c4)", "nburst(%c32, %c64, %c4)"),
    "deep": ("loop(%c2, %c2048, %c512)", "loop(%c2, %c1024, %c512)"),
    "padded": ("pad(%zero, %c0, %c8)", "pad(%zero, %c0, %c0)"),
    "pairs": ("nburst(%c4, %c16, %c64)", "nburst(%c4, %c8, %c64)"),
    "permute": ("%odd, %half, %c1 nburst", "%in, %half, %c1 nburst"),
}


def path_of(name: str, surface: str) -> str:
    return str(PATHS[f"{name}.{surface}.mlir"])


def test_every_pair_has_both_surfaces_and_a_change() -> None:
    assert set(NAMES) == set(CHANGED)
    assert len(PATHS) == len(FILES) == 2 * len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_both_surfaces_are_proved_and_equal_in_either_order(name: str) -> None:
    for surface in ("registers", "inline"):
        (verdict,) = check_file(path_of(name, surface))
        assert verdict.status is Status.PROVED, [f.message for f in verdict.findings]
    for one, other in (("registers", "inline"), ("inline", "registers")):
        found, said = same_kernels(path_of(name, one), path_of(name, other))
        assert found.status == "proved", said


@pytest.mark.parametrize("name", NAMES)
def test_one_changed_number_parts_them(name: str, tmp_path: Path) -> None:
    old, new = CHANGED[name]
    text = Path(path_of(name, "inline")).read_text()
    assert len(re.findall(re.escape(old), text)) >= 1
    changed = tmp_path / "changed.mlir"
    changed.write_text(text.replace(old, new, 1))
    found, said = same_kernels(path_of(name, "registers"), str(changed))
    assert found.status == "refuted", said
    assert re.search(r"byte [\d,]+", said), said
