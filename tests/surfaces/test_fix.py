"""Fixes: proved on the whole text before they are shown, written without touching anything else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dmaverify.errors import Source, Span
from dmaverify.report.edits import Overlap, applied, changes
from dmaverify.verdict import Edit

ROOT = Path(__file__).resolve().parents[2]


# ---------------------------------------------------------------- edits of a text


def edits(text: str, *parts: tuple[int, int, str]) -> list[Edit]:
    source = Source("x", text)
    return [Edit(Span(source, start, end), new) for start, end, new in parts]


def test_edits_are_made_all_at_once_in_any_order_and_once():
    text = "one two three"
    assert applied(text, edits(text, (8, 13, "3"), (0, 3, "1"), (0, 3, "1"))) == "1 two 3"
    assert applied(text, edits(text, (4, 4, "and "))) == "one and two three"
    assert applied(text, []) == text


def test_edits_that_overlap_are_refused():
    for parts in ([(0, 3, "a"), (2, 4, "b")], [(0, 3, "a"), (0, 3, "b")], [(1, 1, "a"), (1, 1, "b")]):
        with pytest.raises(Overlap):
            applied("abcdef", edits("abcdef", *parts))
    assert applied("abcdef", edits("abcdef", (0, 3, "x"), (3, 4, "y"))) == "xyef"


def test_changed_lines_are_shown_whole_and_neighbours_together():
    text = "a = 1\nb = 2\nc = 3\n"
    found = edits(text, (4, 5, "10"), (16, 17, "30"))
    assert [(c.line, c.before, c.after) for c in changes(found[0].span.source, found)] == [
        (1, ("a = 1",), ("a = 10",)),
        (3, ("c = 3",), ("c = 30",)),
    ]
    (both,) = changes(Source("x", text), edits(text, (0, 1, "x"), (4, 5, "7\n8")))
    assert (both.before, both.after) == (("a = 1",), ("x = 7", "8"))


# ---------------------------------------------------------------- fixes that are shown


def test_a_proved_fix_is_shown_as_lines_before_and_after(shell, wrong):
    shell.write(wrong)
    _, out, _ = shell("check", "plan.toml")
    assert out.count("= fix: proved with") == 1
    assert '14 - write  = "[A=8:64, B=4:32, C=32:1]:32"\n14 + write  = "[A=8:128, B=4:32, C=32:1]:32"\n' in out


def test_an_engine_for_the_drivers_beside_a_plan_is_not_asked_of_its_fix(shell, wrong):
    shell.write(wrong)
    shell.write("void f(void) { snrt_dma_start_1d(0x1000, 0x20000, 64); }\n", "driver.c")
    plain = shell("check", "plan.toml")[1].partition("REFUTED")[0]
    code, out, _ = shell("check", ".", "--engine", "manticore", "--define", "N=4")
    assert code == 1
    assert "= fix: " in plain
    assert plain in out


def test_a_fix_is_data_for_machines(shell, wrong):
    shell.write(wrong)
    (verdict,) = json.loads(shell("check", "plan.toml", "--json")[1])
    (fix,) = [finding["fix"] for finding in verdict["findings"] if finding["fix"]]
    assert [(e["text"], e["line"], e["column"], e["end_column"]) for e in fix] == [("128", 14, 16, 18)]
    run = json.loads(shell("check", "plan.toml", "--format", "sarif")[1])["runs"][0]
    (changed,) = [result["fixes"][0]["artifactChanges"][0] for result in run["results"] if "fixes" in result]
    assert changed["replacements"] == [
        {
            "deletedRegion": {"startLine": 14, "startColumn": 16, "endLine": 14, "endColumn": 18},
            "insertedContent": {"text": "128"},
        }
    ]


def test_what_no_proof_mends_is_not_shown(shell, wrong, monkeypatch):
    from dmaverify.jobs import fix as jobs_fix

    shell.write(wrong)
    monkeypatch.setattr(jobs_fix, "_holds", lambda *arguments: False)
    assert "fix:" not in shell("check", "plan.toml")[1]
    code, _, err = shell("check", "plan.toml", "--fix")
    assert (code, "fixed nothing" in err) == (1, True)
    assert (shell.folder / "plan.toml").read_text() == wrong


def test_an_entry_beside_one_that_cannot_be_read_is_mended(shell, wrong):
    sides = 'source = { tier = "hbm", element = "?" }\ndest = { tier = "hbm", element = "A" }'
    shell.write(f'{wrong}[transfer.typed]\ndtype = "i8"\n{sides}\n')
    code, out, err = shell("check", "plan.toml", "--fix")
    assert (code, "fixed plan.toml: 1 place" in err, "1 PROVED" in out) == (2, True, True), (out, err)


def test_where_no_plan_is_refuted_nothing_is_said_to_have_been_tried(shell, wrong):
    shell.write(wrong.replace("bf16", "bf17").replace('"i8"', '"i9"'))
    assert "fixed nothing: no plan is refuted" in shell("check", "plan.toml", "--fix")[2]


def test_an_expected_refutation_is_left_alone(shell, wrong):
    text = wrong + 'expect = ["core/same-element", "core/covers", "core/writes-once"]\n'
    shell.write(text)
    code, out, _ = shell("check", "plan.toml", "--fix")
    assert (code, "fix:" in out) == (0, False)
    assert (shell.folder / "plan.toml").read_text() == text


# ---------------------------------------------------------------- fixes that are written


def test_fix_changes_the_number_and_nothing_else(shell, wrong, good):
    odd = "# c\u00f6mment \u2192 B=4 # x\n" + wrong.replace("]:32 ", "]:32   ") + '\n\n# the end, A=8:64 "'
    for text in (odd, odd.replace("\n", "\r\n"), "\ufeff" + odd):
        path = shell.write(text)
        code, out, err = shell("check", "plan.toml", "--fix")
        assert (code, err) == (0, "fixed plan.toml: 1 place\n")
        assert "PROVED  swap" in out
        wanted = text.replace('write  = "[A=8:64', 'write  = "[A=8:128')
        assert path.read_bytes() == wanted.encode("utf-8")


def test_all_that_is_refuted_is_tried_where_fixes_are_to_be_written(shell, wrong, good, monkeypatch):
    """A report looks for fixes of the first ones alone; `--fix` of all, or it would never get beyond those."""
    monkeypatch.setattr("dmaverify.jobs.fix.MOST_SHOWN", 0)
    shell.write(wrong)
    assert "proved with" not in shell("check", "plan.toml")[1]
    assert shell("check", "plan.toml", "--fix")[0] == 0
    assert Path("plan.toml").read_text() == good


def test_a_file_keeps_its_mode_and_its_link(shell, wrong):
    real = shell.write(wrong, "real/plan.toml")
    real.chmod(0o640)
    (shell.folder / "link.toml").symlink_to(real)
    assert shell("check", "link.toml", "--fix")[0] == 0
    assert (shell.folder / "link.toml").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert os.listdir(real.parent) == ["plan.toml"]


def test_a_read_only_file_is_not_written(shell, wrong):
    path = shell.write(wrong)
    path.chmod(0o444)
    code, _, err = shell("check", "plan.toml", "--fix")
    assert (code, "plan.toml is read-only" in err) == (2, True)
    assert path.read_text() == wrong


def test_a_file_that_changed_meanwhile_is_not_written(shell, wrong, monkeypatch):
    from dmaverify.jobs import fix as jobs_fix

    path = shell.write(wrong)
    original = jobs_fix.fixes_by_file

    def changing(verdicts):
        path.write_text(wrong + "# edited meanwhile\n")
        return original(verdicts)

    monkeypatch.setattr(jobs_fix, "fixes_by_file", changing)
    code, _, err = shell("check", "plan.toml", "--fix")
    assert (code, "has changed since it was judged" in err) == (2, True)
    assert path.read_text() == wrong + "# edited meanwhile\n"


@pytest.mark.parametrize(("name", "number"), [("basic::basic", 3), ("example-3::example-3", 1)])
def test_the_wrong_numbers_of_a_printed_example_are_found_together(shell, name, number):
    file, _, transfer = name.partition("::")
    source = (ROOT / f"examples/dma-engine/{file}.toml").read_text()
    shell.write("\n".join(line for line in source.splitlines() if not line.startswith("expect")) + "\n")
    assert shell("check", f"plan.toml::{transfer}", "--fix", "--format", "concise")[0] in (0, 1)
    assert shell("check", f"plan.toml::{transfer}")[0] == 0
    before, after = source.splitlines(), (shell.folder / "plan.toml").read_text().splitlines()
    before = [line for line in before if not line.startswith("expect")]
    assert len(before) == len(after)
    assert 1 <= sum(a != b for a, b in zip(before, after, strict=True)) <= number


RNGD = """\
schema = 1
target = "rngd"
[axes]
A = 64
C = 8192
P = 5
[transfer.long]
dtype  = "i8"
source = { tier = "hbm", element = "A, C" }
dest   = { tier = "dm", slice = "A", element = "C" }
stream = { time = "A", packet = "C" }
[transfer.odd]
dtype  = "i32"
source = { tier = "hbm", element = "A, P" }
dest   = { tier = "dm", slice = "A", element = "P" }
stream = { time = "A", packet = "P" }
"""


def test_a_packet_that_is_too_long_is_cut_and_a_row_that_is_too_short_is_only_advised(shell):
    shell.write(RNGD)
    code, out, err = shell("check", "plan.toml", "--fix")
    assert (code, err) == (1, "fixed plan.toml: 2 places\n")
    text = (shell.folder / "plan.toml").read_text()
    assert text == RNGD.replace('time = "A", packet = "C"', 'time = "A, C / 4096", packet = "C % 4096"')
    assert "proved with `P # 6` instead of `P`" in " ".join(out.split())


def test_elements_are_counted_as_the_plan_counts(shell):
    text = (
        RNGD[: RNGD.index("[transfer.long]")]
        + """[transfer.t]
dtype  = "i32"
unit   = "elements"
source = { tier = "hbm", element = "A, C" }
dest   = { tier = "hbm", base = 4194304, element = "A, C" }
read   = "[A=64:8192, C=8192:1]:1024"
write  = "[A=64:8191, C=8192:1]:1024"
"""
    )
    shell.write(text)
    assert shell("check", "plan.toml", "--fix")[0] == 0
    assert "A=64:8192, C=8192:1]:1024" in (shell.folder / "plan.toml").read_text().splitlines()[-1]


SEVERAL = """schema = 1
target = "rngd"
[axes]
A = 8
B = 8
C = 256
[transfer.x]
dtype  = "DTYPE"
unit   = "elements"
source = { tier = "hbm", element = "A, B, C" }
dest   = { tier = "hbm", base = 1048576, element = "DEST" }
read   = "[A=8:2048, B=8:READ, C=256:1]:256 HBM/D@0"
write  = "[A=8:WRITE:1]:256 HBM/D@BASE"
"""


def several(dtype: str, dest: str, read: str, write: str, base: int) -> str:
    names = {"DTYPE": dtype, "DEST": dest, "READ": read, "WRITE": write, "BASE": str(base)}
    text = SEVERAL
    for name, value in names.items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize(
    ("dtype", "dest", "wrong", "base", "right"),
    [
        ("i8", "B, A, C # 512", "256, B=8:2048, C=256", 1048576, "512, B=8:4096, C=256"),  # padded rows, stepped over
        ("bf16", "A, B, C # 512", "2048, B=8:256, C=256", 524416, "4096, B=8:512, C=256"),  # one run so far
    ],
)
def test_numbers_of_one_side_that_are_wrong_together_are_mended_together(shell, dtype, dest, wrong, base, right):
    file = shell.write(several(dtype, dest, "256", wrong, base))
    out = shell("check", "plan.toml")[1]
    first, second = (text.split(",")[0] for text in (wrong, right))
    assert f"set the write stride of `A` to {second} instead of {first} and the" in " ".join(out.split())
    assert f"{first}, must be {second}" in out
    assert shell("check", "--fix", "plan.toml")[0] == 0
    assert file.read_text() == several(dtype, dest, "256", right, 524288 if dtype == "bf16" else base)


def test_numbers_that_are_wrong_on_both_sides_are_left_alone(shell):
    text = several("i8", "B, A, C", "512", "256, B=8:2304, C=256", 1048576)
    file = shell.write(text)
    code, out, _ = shell("check", "--fix", "plan.toml")
    assert (code, "(checked" in out, file.read_text()) == (1, False, text)


LONG = """schema = 1
target = "rngd"
[axes]
P = SIZE
[transfer.big]
dtype = "TYPE"
source = { tier = "hbm", element = "P" }
dest = { tier = "hbm", base = 1048576, element = "P" }
stream = { packet = "P" }
"""


@pytest.mark.parametrize(("size", "dtype", "written"), [
    (4099, "i8", '[{ packet = "P = 4096" }, { packet = "P @ 4096 = 3" }]'),
    (4097, "i8", '[{ packet = "P = 4096" }, { packet = "P @ 4096 = 1" }]'),
    (2053, "bf16", '[{ packet = "P = 2048" }, { packet = "P @ 2048 = 5" }]'),
    (8209, "i8", '[{ time = "1, P = 8192 / 4096", packet = "P = 8192 % 4096" }, { packet = "P @ 8192 = 17" }]'),
    (8192, "i8", '{ packet = "P % 4096", time = "1, P / 4096" }'),
])  # fmt: skip
def test_a_long_packet_is_mended_by_the_cheapest_change_that_no_rule_warns_of(shell, size, dtype, written):
    text = LONG.replace("SIZE", str(size)).replace("TYPE", dtype)
    path = shell.write(text.replace('{ packet = "P" }', '{ packet = "P", time = "1" }') if size == 8192 else text)
    code, out, _ = shell("check", "--fix", "plan.toml")
    assert code == 0, out
    assert f"stream = {written}\n" in path.read_text(encoding="utf-8")
    assert "rngd/packet-one-byte" not in out
