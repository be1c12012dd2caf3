"""The example repository for CI, as its user runs it: commands, tests, hook, action, and a pull request that breaks."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from dmaverify.cli.app import invoke
from dmaverify.jobs.walk import SUFFIXES

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / "examples" / "ci"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the example, to be broken."""
    shutil.copytree(
        CI, tmp_path / "ci", ignore=shutil.ignore_patterns("build", "__pycache__", ".*_cache", ".hypothesis")
    )
    return tmp_path / "ci"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with a `dmaverify` that is this one, and a `python` that is this one."""
    tools = tmp_path / "bin"
    tools.mkdir()
    run = f"exec {shlex.quote(sys.executable)}"
    (tools / "dmaverify").write_text(f'#!/bin/sh\n{run} -c "from dmaverify.cli.app import main; main()" "$@"\n')
    (tools / "python").write_text(f'#!/bin/sh\n{run} "$@"\n')
    for file in tools.iterdir():
        file.chmod(0o755)
    return f"{tools}{os.pathsep}{os.environ['PATH']}"


def ran(repository: Path, path: str, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB", "PYTEST"))}
    env = {**plain, "PATH": path, "PYTHONPATH": str(ROOT), **more}
    return subprocess.run(command, cwd=repository, env=env, capture_output=True, text=True, timeout=300, check=False)


def break_a_stride(repository: Path) -> None:
    plan = repository / "plans/activations.dma.toml"
    plan.write_text(plan.read_text().replace("[T=128:16384,", "[T=128:8192,"))


# ---------------------------------------------------------------- commands and tests


def test_its_commands_and_tests_pass(repository, path):
    done = ran(repository, path, "dmaverify", "check")
    assert (done.returncode, "2 PROVED" in done.stdout) == (0, True), done.stdout + done.stderr
    assert (repository / "build/dmaverify.sarif").is_file()
    drawn = repository / "tests/test_tiling.py"
    drawn.write_text(re.sub(r"max_examples=1[05]", "max_examples=3", drawn.read_text()))
    plugin = ("-p", "no:cacheprovider", "-p", "dmaverify.testing.plugin")
    done = ran(repository, path, "python", "-m", "pytest", "-q", *plugin, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert (done.returncode, "6 passed" in done.stdout) == (0, True), done.stdout


@pytest.mark.slow
def test_a_wrong_stride_in_layout_code_is_found_by_its_tests(repository, path):
    code = repository / "tiling.py"
    code.write_text(code.read_text().replace('("C/t", columns // tile, tile * tile)', '("C/t", columns // tile, tile)'))
    tests = repository / "tests/test_tiling.py"  # the first failure will do: making it smaller takes its time
    tests.write_text(
        tests.read_text().replace("max_examples=15", "max_examples=9, derandomize=True, phases=[Phase.generate]")
    )
    tests.write_text(tests.read_text().replace("import given, settings", "import Phase, given, settings"))
    done = ran(repository, path, "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", "-k", "keeps_every")
    assert done.returncode == 1
    assert "error[core/same-element]" in done.stdout
    assert "set the write stride of `C/t`" in " ".join(done.stdout.split())


def test_its_readme_names_its_files():
    text = (CI / "README.md").read_text()
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) == 6
    assert all((CI / link).exists() for link in links)


# ---------------------------------------------------------------- the action


ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}


def action_check(repository: Path, path: str, **inputs: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    """The step `check` of the action, as a runner runs it."""
    given = {name: str(value.get("default", "")) for name, value in ACTION["inputs"].items()} | inputs
    contexts = {"runner.temp": str(repository / "temp"), **{f"inputs.{name}": value for name, value in given.items()}}
    step = STEPS["check"]
    env = {k: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda m: contexts[m[1]], v) for k, v in step["env"].items()}
    (repository / "output").write_text("")
    files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_ACTIONS": "true"}
    done = ran(repository, path, "bash", "-eo", "pipefail", "-c", step["run"], **env, **files)
    outputs = dict(line.split("=", 1) for line in (repository / "output").read_text().splitlines())
    return done, outputs


def test_a_pull_request_that_breaks_a_move_shows_annotation_summary_and_artifact(repository, path):
    break_a_stride(repository)
    done, outputs = action_check(repository, path, paths="plans")
    assert done.returncode == 1
    assert outputs["exit-code"] == "1"
    assert re.search(r"^::error file=plans/activations\.dma\.toml,line=22,col=18,", done.stdout, re.MULTILINE)
    assert "| plans/activations.dma.toml:22 | store | core/" in (repository / "summary.md").read_text()
    page = Path(outputs["report"]).read_text()
    assert "Something is violated" in page
    run = json.loads(Path(outputs["sarif"]).read_text())["runs"][0]
    places = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]}
    assert places == {"plans/activations.dma.toml"}


def test_the_action_passes_what_is_right_and_takes_options_and_settings(repository, path):
    done, outputs = action_check(repository, path)
    assert (done.returncode, outputs["exit-code"]) == (0, "0"), done.stderr
    assert "::error" not in done.stdout
    break_a_stride(repository)
    assert action_check(repository, path, args="--exit-zero --no-cache")[0].returncode == 0
    assert action_check(repository, path, args="--select core/none")[1] == {"exit-code": "2"}  # no reports to upload


@pytest.mark.slow
def test_the_action_takes_paths_and_options_on_several_lines(repository, path):
    """A block of YAML: nothing below its first line is passed over, and a name with blanks is a line."""
    (repository / "the first").mkdir()
    shutil.copy(repository / "plans" / "activations.dma.toml", repository / "the first" / "a.toml")
    break_a_stride(repository)
    assert action_check(repository, path, paths="the first\n")[0].returncode == 0
    assert action_check(repository, path, paths="the first\nplans\n")[0].returncode == 1
    assert action_check(repository, path, paths="plans plans/activations.dma.toml")[1]["exit-code"] == "1"
    assert action_check(repository, path, paths="the first\nplans\n", args="--no-cache\n--exit-zero")[0].returncode == 0


def test_the_hook_runs_for_every_kind_of_file_that_a_folder_is_searched_for():
    check, fix = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert all(re.search(check["files"], f"a/b{suffix}") for suffix in (*SUFFIXES, ".smt2"))
    assert not {"types", "types_or"} & check.keys()
    assert fix["types"] == ["toml"]


def test_the_action_interpolates_nothing_into_its_scripts_and_declares_what_it_reads():
    scripts = [step["run"] for step in STEPS.values() if "run" in step]
    assert len(scripts) == 2
    assert not any("${{" in script for script in scripts)
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(ACTION["runs"])))
    assert used == set(ACTION["inputs"])
    assert {v["value"] for v in ACTION["outputs"].values()} == {
        f"${{{{ steps.check.outputs.{name} }}}}" for name in ACTION["outputs"]
    }
    workflow = yaml.safe_load((CI / ".github/workflows/dma.yml").read_text())
    assert set(workflow["jobs"]["check"]["steps"][2]["with"]) <= set(ACTION["inputs"])


def test_two_runs_of_the_action_with_names_of_their_own_replace_nothing_of_each_other():
    told = (STEPS["upload alerts"]["with"]["category"], STEPS["keep the report"]["with"]["name"])
    assert told == ("${{ inputs.name }}", "${{ inputs.name }}-report")
    assert ACTION["inputs"]["name"]["default"] == "dmaverify"


# ---------------------------------------------------------------- hook and matcher


@pytest.mark.parametrize(
    "hook", yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()), ids=lambda hook: hook["id"]
)
def test_a_hook_passes_fails_and_is_known(repository, hook, monkeypatch, capsys):
    monkeypatch.chdir(repository)
    words = [*shlex.split(hook["entry"])[1:], *hook["args"]]
    assert invoke(words) == 0
    break_a_stride(repository)
    assert invoke(words) == (0 if "--fix" in words else 1)
    capsys.readouterr()
    used = yaml.safe_load((CI / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    ids = {h["id"] for h in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert {h["id"] for h in used} <= ids
    assert hook["pass_filenames"] is False


def test_the_problem_matcher_reads_concise_lines(repository, monkeypatch, capsys):
    monkeypatch.chdir(repository)
    break_a_stride(repository)
    invoke(["check", "plans", "--format", "concise"])
    *lines, last = capsys.readouterr().out.splitlines()
    (matcher,) = json.loads((ROOT / ".github/dmaverify-matcher.json").read_text())["problemMatcher"]
    (pattern,) = matcher["pattern"]
    found = [re.match(pattern["regexp"], line) for line in lines]
    assert lines
    assert all(found)
    assert last.startswith("exit 1: ")
    assert re.match(pattern["regexp"], last) is None
    first = found[0]
    assert first is not None
    keys = ("file", "line", "column", "severity")
    assert [first[pattern[key]] for key in keys] == ["plans/activations.dma.toml", "22", "18", "error"]
    assert first[pattern["code"]].startswith("core/")


def test_the_settings_of_the_example_are_settings(monkeypatch):
    from dmaverify.plan.settings import KEYS, find_settings

    monkeypatch.chdir(CI)
    assert find_settings(Path()).paths == ("plans",)
    table = tomllib.loads((CI / "pyproject.toml").read_text())["tool"]["dmaverify"]
    assert set(table) <= set(KEYS)
