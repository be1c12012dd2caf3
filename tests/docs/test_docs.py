"""The documentation is true: its commands print what it shows, its Python runs, its pages are all there.

`python tests/docs/test_docs.py` writes the console blocks anew.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

from dmaverify.cli import app as cli
from dmaverify.targets.target import available_targets, load_obligations, load_target

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
WRITTEN = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
OTHERS = {"sed", "cat"}  # what a block may run besides dmaverify


def generator() -> ModuleType:
    with mock.patch.object(sys, "path", [str(DOCS), *sys.path]):
        import generate
    return generate


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A copy of the examples, as the working directory: a page may break and mend them."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder, "examples"), ignore=shutil.ignore_patterns("ci", ".*"))
        shutil.copytree(ROOT / "encodings", Path(folder, "encodings"))
        with contextlib.chdir(folder):
            yield Path(folder)


def printed_by(line: str) -> str:
    before, pipe, after = line.removeprefix("$ ").partition(" | ")
    words = shlex.split(after if pipe else before)
    if words[0] in OTHERS:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert words[0] == "dmaverify", line
    given = " ".join(shlex.split(before)[1:]) + "\n" if pipe else ""
    out = io.StringIO()
    quiet = contextlib.redirect_stdout(out), contextlib.redirect_stderr(out)
    with mock.patch.object(sys, "stdin", io.StringIO(given)), quiet[0], quiet[1]:
        assert cli.invoke(words[1:]) in (0, 1), out.getvalue()
    return out.getvalue()


def executed(block: str) -> str:
    """The block with what its commands print now."""
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    shown = [(line, printed_by(line).rstrip()) for line in commands]
    return "".join(f"{line}\n{printed}\n" if printed else f"{line}\n" for line, printed in shown)


PAGES = [path for path in WRITTEN if BLOCK.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_the_commands_of_a_page_print_what_it_shows(page: Path) -> None:
    with workplace():
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            assert block == executed(block)


def test_the_python_of_the_pages_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    finder, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    tried = 0
    for page in WRITTEN:
        text = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
        test = finder.get_doctest(text, {}, page.name, str(page), 0)
        out = io.StringIO()
        assert runner.run(test, out=out.write).failed == 0, out.getvalue()
        tried += len(test.examples)
    assert tried >= 10


def test_the_public_functions_have_examples_and_they_run(monkeypatch: pytest.MonkeyPatch) -> None:
    import dmaverify
    from dmaverify.testing import plugin, seeded_plan, with_fault

    monkeypatch.chdir(ROOT)
    runner, tried = doctest.DocTestRunner(verbose=False), 0
    functions = [getattr(dmaverify, name) for name in generator().PUBLIC]
    functions += [plugin.assert_plan, plugin.assert_equivalent, plugin.assert_same, seeded_plan, with_fault]
    for function in functions:
        (found,) = doctest.DocTestFinder(recurse=False).find(function, function.__name__, globs={})
        assert found.examples, function.__name__
        out = io.StringIO()
        assert runner.run(found, out=out.write).failed == 0, out.getvalue()
        tried += 1
    assert tried == len(functions) >= 12


# ---------------------------------------------------------------- generated pages


def test_every_rule_command_setting_and_name_has_its_place() -> None:
    pages = generator().pages()
    for rule in load_obligations():
        assert f"## {rule}\n" in pages["rules-core"]
    for name in available_targets():
        for rule in load_target(name).rules:
            assert f"## {rule}\n" in pages[f"rules-{name}"]
    for command in cli.cli.list_commands(None):
        assert f"## {command}\n" in pages["commands"]
    from dmaverify.plan.settings import KEYS

    assert all(f"| `{key}` |" in pages["settings"] for key in KEYS)
    for key in ("source", "stream", "expect", "element", "packet"):
        assert f"| `{key}` |" in pages["plan-file"]
    assert "### dv.check\n" in pages["python"]
    assert "### dmaverify.testing.plugin.assert_plan\n" in pages["python"]


def test_generated_pages_are_deterministic() -> None:
    assert generator().pages() == generator().pages()
    assert " object at 0x" not in "".join(generator().pages().values())


def test_every_page_is_in_a_table_of_contents_and_every_link_leads_somewhere() -> None:
    made = {f"reference/{name}" for name in generator().pages()}
    written = {path.relative_to(DOCS).with_suffix("").as_posix() for path in WRITTEN}
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    trees = "\n".join(re.findall(r"```\{toctree\}\n(.*?)```", index, re.DOTALL))
    listed = {line for line in trees.splitlines() if line and not line.startswith(":")}
    rules = {name for name in made if name.startswith("reference/rules-")}
    assert listed | rules | {"index"} == written | made
    for path in WRITTEN:
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", path.read_text(encoding="utf-8")):
            target = (path.parent / link).resolve().relative_to(DOCS).with_suffix("").as_posix()
            assert target in written | made, (path.name, link)


def test_options_and_settings_that_pages_speak_of_exist() -> None:
    helps = generator().pages()["commands"]
    shell = re.compile(r"dmaverify (\w+)[^`\n]*")
    for path in WRITTEN:
        for found in shell.finditer(path.read_text(encoding="utf-8")):
            if found[1] in cli.cli.list_commands(None):
                for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", found[0]):
                    assert option in helps, (path.name, found[0])


def test_the_modules_that_the_design_names_exist() -> None:
    named = re.findall(r"`([\w/]+(?:\.py|/))`", (DOCS / "design.md").read_text(encoding="utf-8"))
    package = ROOT / "dmaverify"
    assert len(named) > 40
    assert [name for name in named if not (package / name).exists() and not any(package.rglob(name.strip("/")))
            and not (ROOT / name).exists()] == []  # fmt: skip


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    build = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        str(DOCS),
        str(tmp_path / "site"),
    ]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 15
    outside = re.compile(
        r'(?:src|href)="https?://(?!(?:www\.)?(?:sphinx-doc\.org|pradyunsg\.me|github\.com/pradyunsg))'
    )
    assert [page.name for page in pages if outside.search(page.read_text(encoding="utf-8"))] == []


def update() -> None:
    for page in PAGES:
        with workplace():
            text = BLOCK.sub(lambda found: f"```console\n{executed(found[1])}```", page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    update()
    sys.stdout.write(f"{len(PAGES)} pages written\n")
