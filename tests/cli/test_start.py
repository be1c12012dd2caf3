"""A user without the repository begins: a first plan of each kind is proved, `init` writes what is then used."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from dmaverify.cli import app as cli
from dmaverify.cli.start import example_names, kinds

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("gather", "head-split", "idma", "pad", "program", "pto", "relayout", "rust", "tile")


@pytest.fixture(autouse=True)
def _away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_kinds_of_first_plans_are_these() -> None:
    assert kinds() == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_first_plan_of_each_kind_is_proved(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["new", kind, "mine"]) == 0
    assert cli.invoke(["check", ".", "--strict", "--no-cache"]) == 0, capsys.readouterr().out


def test_a_first_plan_is_never_written_over_unless_forced(tmp_path: Path) -> None:
    assert cli.invoke(["new", "tile"]) == 0
    (tmp_path / "tile.toml").write_text("mine", encoding="utf-8")
    assert cli.invoke(["new", "tile"]) == 2
    assert (tmp_path / "tile.toml").read_text(encoding="utf-8") == "mine"
    assert cli.invoke(["new", "tile", "--force"]) == 0
    assert "schema = 1" in (tmp_path / "tile.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [("new", "tiles"), ("new", "tile", "../x"), ("examples", "frist.toml")])
def test_a_wrong_name_is_refused_with_what_was_meant(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(list(words)) == 2
    assert "help:" in capsys.readouterr().err


def test_every_example_is_listed_shown_and_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["examples"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in example_names())
    assert cli.invoke(["examples", "first.toml"]) == 0
    assert capsys.readouterr().out.strip() == (ROOT / "examples" / "first.toml").read_text(encoding="utf-8").strip()
    assert cli.invoke(["examples", "--copy", "all"]) == 0
    assert all((tmp_path / "all" / name).exists() for name in example_names())
    assert cli.invoke(["examples", "pto/example-1.toml", "--copy", "one"]) == 0
    assert (tmp_path / "one" / "pto" / "example-1.mlir").exists()


def test_every_example_but_the_repository_for_ci_is_in_the_wheel() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = data["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    lying = {path.name for path in (ROOT / "examples").iterdir() if not path.name.startswith((".", "__"))}
    assert {name.split("/")[1] for name in included if name.startswith("examples/")} == lying - {"ci"}


def test_init_writes_settings_a_workflow_and_a_hook_that_are_used(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    assert cli.invoke(["new", "tile", "--to", "plans"]) == 0
    assert cli.invoke(["new", "rust", "--to", "src"]) == 0
    assert cli.invoke(["init"]) == 0
    settings = tomllib.loads((tmp_path / "dmaverify.toml").read_text(encoding="utf-8"))
    assert settings["paths"] == ["plans", "src"]
    assert cli.invoke(["check", "--no-cache"]) == 0
    workflow = yaml.safe_load((tmp_path / ".github/workflows/dmaverify.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["check"]["steps"][-1]["run"].startswith("dmaverify check")
    hooks = yaml.safe_load((tmp_path / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert hooks["repos"][0]["hooks"][0]["files"] == r"\.(rs|smt2|toml)$"


def test_init_writes_a_hook_for_every_kind_of_file_that_was_found(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    Path("kernels").mkdir()
    shutil.copy(ROOT / "examples" / "pto" / "one-buffer.mlir", "kernels/k.mlir")
    assert cli.invoke(["init"]) == 0
    hooks = yaml.safe_load((tmp_path / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert hooks["repos"][0]["hooks"][0]["files"] == r"\.(mlir|smt2|toml)$"


def test_init_leaves_what_is_there_and_says_what_to_add(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text("test: {}\n", encoding="utf-8")
    (tmp_path / ".pre-commit-config.yaml").write_text("repos: []\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.dmaverify]\npaths = ["."]\n', encoding="utf-8")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert cli.invoke(["init"]) == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    said = capsys.readouterr().out
    assert "dmaverify new" in said
    assert "codequality" in said
    assert "add to .pre-commit-config.yaml, below `repos:`:\n      - repo: local\n" in said
    added = said.partition("below `repos:`:\n")[2].partition("now: ")[0]
    assert yaml.safe_load(f"repos:\n{added}")["repos"][0]["hooks"][0]["id"] == "dmaverify"


def test_settings_of_init_name_whatever_a_folder_is_called(tmp_path: Path) -> None:
    names = ['a"b', "c\\d", "é f"]
    for name in names:
        assert cli.invoke(["new", "tile", "--to", name]) == 0
    assert cli.invoke(["init"]) == 0
    settings = tomllib.loads((tmp_path / "dmaverify.toml").read_text(encoding="utf-8"))
    assert settings["paths"] == sorted(names)
    assert cli.invoke(["check", "--no-cache"]) == 0


def test_init_writes_no_workflow_where_nobody_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    (tmp_path / "part").mkdir()
    assert cli.invoke(["init", "part"]) == 2
    assert f"dmaverify init {tmp_path.resolve()}" in capsys.readouterr().err
    assert not list((tmp_path / "part").iterdir())
    assert cli.invoke(["init", "/dev/null"]) == 2
    assert cli.invoke(["init", "."]) == 0


def test_a_dry_run_of_init_writes_nothing(tmp_path: Path) -> None:
    assert cli.invoke(["init", "--dry-run"]) == 0
    assert not list(tmp_path.iterdir())
