"""What the disk and the terminal refuse is told by the name that the user gave, and hides no plan."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dmaverify.cli.app import invoke
from dmaverify.language.files import must_take, write_text

# ---------------------------------------------------------------- what is read


def test_a_link_that_leads_nowhere_is_no_link_out_of_the_project(shell):
    os.symlink("circle.toml", "circle.toml")
    os.symlink("none.toml", "dangling.toml")
    assert "a link that leads back to itself" in shell("check", "circle.toml")[1]
    out = shell("check", "dangling.toml")[1]
    assert "dangling.toml is a link to none.toml, which does not exist" in out
    assert "did you mean" not in out


@pytest.mark.parametrize("name", ["-", "pipe.toml"])
def test_a_plan_from_a_pipe_is_told_where_it_may_go(shell, name):
    os.mkfifo("pipe.toml")
    code, out, _ = shell("check", name)
    assert code == 2
    assert "--stdin" in out


def test_a_line_beyond_the_file_is_no_line_of_its_last_table(shell, good):
    shell.write(good)
    lines = good.count("\n")
    assert shell("check", f"plan.toml:{lines}")[0] == 0
    code, _, err = shell("check", f"plan.toml:{lines + 1}")
    assert code == 2
    assert f"plan.toml has {lines} lines" in err


@pytest.mark.parametrize(("error", "code"), [(PermissionError, 2), (FileNotFoundError, 0)])
def test_a_folder_that_cannot_be_listed_is_no_pass(shell, good, monkeypatch, error, code):
    """One that is gone meanwhile is left out, as a file would be."""
    shell.write(good, "plans/good.toml")
    shell.write(good, "plans/shut/other.toml")
    listed = os.scandir

    def scandir(path):
        if str(path).endswith("shut"):
            number = errno.EACCES if error is PermissionError else errno.ENOENT
            raise error(number, "refused", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found, out, _ = shell("check", "plans", "--format", "concise")
    assert found == code
    assert ("plans/shut:1:1: error[core/input]" in out) is bool(code)


def test_a_working_folder_that_is_gone_is_named_as_such(shell, monkeypatch, good):
    shell.write(good)

    def gone():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr(os, "getcwd", gone)
    code, _, err = shell("check", "plan.toml")
    assert code == 2
    assert "the folder that this was started in: No such file" in err


# ---------------------------------------------------------------- what is written


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--output", "sarif=folder"), "folder: Is a directory"),
        (("--output", "sarif=plan.toml/x"), "plan.toml/x: Not a directory"),
        (("--playback", "plan.toml/x"), "plan.toml/x: Not a directory"),
        (("--write-baseline", "plan.toml/x"), "plan.toml/x: Not a directory"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before_anything_is_judged(shell, good, counted, options, said):
    shell.write(good)
    Path("folder").mkdir()
    code, _, err = shell("check", "plan.toml", *options)
    assert (code, counted()) == (2, 0)
    assert f"error: {said}" in err


@pytest.mark.parametrize(
    "option", ["--output=json=sub/../plan.toml", "--playback=plan.toml", "--write-baseline=plan.toml"]
)
def test_no_report_replaces_what_it_is_about(shell, good, option):
    shell.write(good)
    Path("sub").mkdir()
    code, _, err = shell("check", "plan.toml", option)
    assert code == 2
    assert "is read, and would be written over" in err
    assert Path("plan.toml").read_text(encoding="utf-8") == good


@pytest.mark.parametrize(
    ("command", "option"),
    [("synth", "--output"), ("extract", "--output"), ("sweep", "--out"), ("trace", "--output"), ("viz", "--output")],
)
def test_no_command_writes_over_what_it_reads(shell, good, command, option):
    """A plan of one transfer in the place of a file of many, say."""
    shell.write(good)
    code, _, err = shell(command, "plan.toml" if command == "sweep" else "plan.toml::swap", option, "./plan.toml")
    assert code == 2
    assert "./plan.toml is read, and would be written over" in err
    assert Path("plan.toml").read_text(encoding="utf-8") == good


def test_no_report_replaces_a_shard_a_baseline_or_the_settings(shell, good):
    shell.write(good)
    for path in ("part", "old", "own.toml"):
        Path(path).write_text("", encoding="utf-8")
    for words in (
        ("merge", "part", "--output=json=part"),
        ("check", "plan.toml", "--baseline=old", "--output=json=./old"),
        ("check", "plan.toml", "--config=own.toml", "--playback=own.toml"),
    ):
        code, _, err = shell(*words)
        assert (code, "is read, and would be written over" in err) == (2, True)


@pytest.mark.parametrize(
    "options",
    [
        ("--output=json=x", "--output=sarif=./x"),
        ("--output=json=x", "--playback=x"),
        ("--write-baseline=x", "--output=json=x"),
        ("--output=json=x/../x/y", "--output=sarif=x/y"),
    ],
)
def test_two_reports_in_one_file_are_refused_before_anything_is_judged(shell, good, counted, options):
    shell.write(good)
    code, _, err = shell("check", "plan.toml", *options)
    assert (code, counted()) == (2, 0)
    assert "would be written twice" in err
    assert not Path("x").exists()


def test_two_reports_may_go_into_two_files_and_into_one_stream(shell, good):
    shell.write(good)
    Path("link").symlink_to("x")  # is replaced, not followed
    assert shell("check", "plan.toml", "--output=json=x", "--output=sarif=link")[0] == 0
    assert shell("check", "plan.toml", "--output=json=/dev/null", "--output=sarif=/dev/null")[0] == 0
    assert not Path("link").is_symlink()


def test_a_report_may_go_into_folders_that_are_not_there_yet_and_into_streams(shell, good):
    shell.write(good)
    assert shell("check", "plan.toml", "--output", "json=new/er/x.json", "--output", "sarif=/dev/null")[0] == 0
    assert Path("new/er/x.json").exists()
    must_take("/dev/null")


def test_a_disk_that_is_full_is_told_by_the_file_that_was_asked_for(shell, good, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left on device"):
        write_text("x.json", "{}")
    assert not list(Path().glob(".x.json*"))


def test_a_report_goes_to_no_file_called_dash(shell, good):
    shell.write(good)
    code, _, err = shell("check", "plan.toml", "--output", "sarif=-")
    assert code == 2
    assert "--format sarif prints it" in err


def test_a_terminal_that_lacks_characters_shows_escapes(shell, good, monkeypatch):
    shell.write(good.replace("A = 8", "A = \u00e9"))
    bare = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", bare)
    assert invoke(["check", "plan.toml"]) == 2
    bare.flush()
    assert b"A = \\xe9" in bare.buffer.getvalue()


@pytest.mark.parametrize(("name", "cites"), [("k.rs", False), ("k.mlir", False), ("k.toml", True)])
def test_only_what_is_wrong_with_a_plan_cites_the_format_of_plans(shell, name, cites):
    shell.write("fn f() {}\0", name)
    code, out, _ = shell("check", name)
    assert code == 2
    assert ("plan file format" in out) is cites
    assert "TOML" not in out


def test_a_certificate_goes_into_no_folder_of_the_user(shell, good):
    """What lies in the folder of a certificate is replaced: `--certify .` beside a folder `plans` removed the plans."""
    shell.write(good, "plans/a.toml")
    shell.write("mine", "plans/notes.txt")
    shell.write("mine", "own/README.txt")
    shell.write(good, "own/plan.toml")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    for folder, first in ((".", "own"), ("own", "README.txt"), ("plans", "a.toml")):
        code, _, err = shell("check", "plans/a.toml", "--certify", folder)
        assert code == 2
        assert f"`{first}`, which is no part of a certificate" in err
        code, _, err = shell("synth", "plans/a.toml", "--certificate", folder)
        assert code == 2
    assert before == {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def test_a_certificate_is_written_anew_where_one_was(shell, good):
    shell.write(good)
    Path("cert").mkdir()
    for _ in range(2):
        assert shell("check", "plan.toml", "--certify", "cert")[0] == 0
        assert shell("certificate", "check", "cert")[0] == 0
    Path("cert/MANIFEST.json").unlink()
    assert shell("check", "plan.toml", "--certify", "cert")[0] == 0
    Path("cert/plans/mine.toml").write_text("mine", encoding="utf-8")
    assert shell("check", "plan.toml", "--certify", "cert")[0] == 2
    assert Path("cert/plans/mine.toml").exists()


@pytest.mark.parametrize(("words", "stream", "code"), [(["rules"], "stdout", 3), (["chek"], "stderr", 2)])
def test_an_output_that_nobody_reads_is_no_violation(words, stream, code):
    """How a command would have ended is not known, where its answer is not read; what is misused is all the same."""
    read, write = os.pipe()
    os.close(read)
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: write}
    try:
        done = subprocess.run([sys.executable, "-m", "dmaverify", *words], check=False, **streams)
    finally:
        os.close(write)
    assert done.returncode == code


def test_an_input_that_was_closed_before_the_start_has_no_line(shell, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    code, _, err = shell("check", "--stdin")
    assert (code, "no line to answer" in err) == (2, True)


@pytest.mark.parametrize("option", ["--target", "--config", "--since", "--baseline", "--trace"])
def test_an_option_without_a_value_is_refused_and_not_taken_as_left_out(shell, good, option):
    shell.write(good)
    code, _, err = shell("check", "plan.toml", option, "")
    assert code == 2
    assert "it is empty" in err


def test_a_command_to_type_has_names_with_blanks_in_quotes(shell, good):
    shell.write(good, "a plan.toml")
    assert "dmaverify check 'a plan.toml'" in shell("check")[2]


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["wide.toml", "wide.rs"])
def test_a_text_in_utf_16_is_no_pass_of_its_folder(shell, good, name, codec):
    """As some editors and shells save it; nothing of it can be read as it lies there."""
    text = good if name == "wide.toml" else "fn f() { x.to_dm(c); }"
    shell.write(good, "plans/good.toml")
    (shell.folder / "plans" / name).write_bytes(f"\ufeff{text}".encode(codec))
    code, out, _ = shell("check", "plans", "--format", "concise")
    assert code == 2
    assert f"plans/{name}" in out
