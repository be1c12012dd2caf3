"""A small plan, right and wrong, in a folder of its own that is the working directory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dmaverify.cli.app import invoke

GOOD = """\
schema = 1
target = "toy"

[axes]
A = 8
B = 4
C = 32

[transfer.swap]
dtype  = "i8"
source = { tier = "gm", base = 0, element = "B, A, C" }
dest   = { tier = "ub", base = 0, element = "A, B, C" }
read   = "[A=8:32, B=4:256, C=32:1]:32"
write  = "[A=8:128, B=4:32, C=32:1]:32"
"""
WRONG = GOOD.replace("A=8:128", "A=8:64")


class Shell:
    """Runs commands in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def write(self, text: str, name: str = "plan.toml") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        return path

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        code = invoke(arguments)
        out, err = self._capsys.readouterr()
        assert "Traceback" not in out + err
        assert "internal error" not in err
        return code, out, err


@pytest.fixture
def shell(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Shell:
    monkeypatch.chdir(tmp_path)
    if "XDG_CACHE_HOME" not in os.environ:  # a user of this test alone
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("user-cache")))
    return Shell(tmp_path, capsys)


@pytest.fixture
def good() -> str:
    return GOOD


@pytest.fixture
def wrong() -> str:
    return WRONG


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many files were judged, and not taken from a cache, so far."""
    import dmaverify.jobs.judge as jobs

    seen: list[str] = []
    original = jobs.check_job

    def counting(job: jobs.Job) -> object:
        seen.append(job[0])
        return original(job)

    monkeypatch.setattr(jobs, "check_job", counting)
    return lambda: len(seen)
