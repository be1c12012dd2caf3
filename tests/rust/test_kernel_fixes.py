"""Fixes of kernels: a type in place of a type, shown only after a copy with it was read and proved."""

from pathlib import Path

import pytest

import dmaverify as dv
from dmaverify.jobs.fix import fixes_by_file, with_kernel_fixes
from dmaverify.verdict import Status

HEAD = """use furiosa_opt_std::prelude::*;
axes![A = 256, B = 64, C = 5];
type Chip = m![1];
type Cluster = m![1 # 2];
"""
SETTINGS = {"readings": {}, "rlimit": 20_000_000, "cross_check": 0}


def fixed(folder: Path, source: str, dest: str, dtype: str = "i8") -> str:
    """The text that the fix puts in place of the destination's element, or nothing; proved by what it makes."""
    (folder / "src").mkdir(exist_ok=True)
    (folder / "Cargo.toml").write_text('[package]\nname = "k"\n', encoding="utf-8")
    file = folder / "src" / "lib.rs"
    place, element = dest.split("|")
    text = (
        f"{HEAD}fn f(ctx: &mut Context, x: &HbmTensor<{dtype}, Chip, m![{source}]>) {{\n"
        f"    let y: DmTensor<{dtype}, Chip, Cluster, m![{place}], m![{element}]> = x.to_dm(&mut ctx.tdma);\n}}\n"
    )
    file.write_text(text, encoding="utf-8")
    (verdict,) = with_kernel_fixes(dv.check(file), SETTINGS, None)
    assert file.read_text(encoding="utf-8") == text
    assert fixes_by_file([verdict]) == {}
    edits = [edit for finding in verdict.findings for edit in finding.fix]
    if not edits:
        return ""
    changed = text[: edits[0].span.start] + edits[0].text + text[edits[0].span.end :]
    file.write_text(changed, encoding="utf-8")
    assert [v.status for v in dv.check(file)] == [Status.PROVED]
    return edits[0].text


@pytest.mark.parametrize(
    ("source", "dest", "dtype", "text"),
    [
        ("A, B", "A|B = 32", "i8", "B"),
        ("A, B, C # 8", "A|B", "i8", "B, C # 8"),
        ("1", "1 # 256|1", "f32", "1 # 2"),
        ("A, C", "A|C", "i8", ""),
        ("A, B = 32", "A|B", "i8", ""),
    ],
)  # fmt: skip
def test_a_fix_is_a_type_with_which_the_copy_is_proved(tmp_path, source, dest, dtype, text) -> None:
    assert fixed(tmp_path, source, dest, dtype) == text
