"""Every fault of the catalogue can be planted: its text stands once in its file, and its test exists."""

import ast
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAULTS = tomllib.loads((ROOT / "tests/mutants/mutants.toml").read_text(encoding="utf-8"))["mutant"]


@cache
def functions_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_a_fault_has_a_name_of_its_own() -> None:
    names = [fault["name"] for fault in FAULTS]
    assert len(names) == len(set(names))


def test_the_text_of_a_fault_stands_once_in_its_file() -> None:
    texts = {fault["file"]: (ROOT / "dmaverify" / fault["file"]).read_text(encoding="utf-8") for fault in FAULTS}
    assert [fault["name"] for fault in FAULTS if texts[fault["file"]].count(fault["old"]) != 1] == []


def test_a_fault_names_only_what_its_module_has(tmp_path: Path) -> None:
    """A fault that raises NameError is an internal error, which a test that expects no proof would take for noticed."""
    for fault in [
        *FAULTS,
        {"name": "planted", "file": "values.py", "old": "from __future__", "new": "there\nfrom __future__"},
    ]:
        text = (ROOT / "dmaverify" / fault["file"]).read_text(encoding="utf-8").replace(fault["old"], fault["new"])
        (tmp_path / f"{fault['name']}.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "--output-format", "concise"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False)
    assert {Path(line.partition(":")[0]).stem for line in done.stdout.splitlines() if "F821" in line} == {"planted"}


def test_the_test_that_notices_a_fault_exists(collected: frozenset[str], pytestconfig: pytest.Config) -> None:
    """Its parameters too, where its file was read whole in this run."""
    in_part = {arg.partition("::")[0] for arg in pytestconfig.args if "::" in arg}
    whole = {name.partition("::")[0] for name in collected if not any(name.startswith(part) for part in in_part)}
    assert gone(FAULTS, collected, whole) == []


def gone(faults: list[dict[str, str]], collected: frozenset[str], whole: set[str]) -> list[str]:
    """Faults whose `by` names no test."""
    ids = collected | {name.partition("[")[0] for name in collected} | whole
    found = []
    for fault in faults:
        path, _, test = fault.get("by", "").partition("::")
        if path in whole:
            exists = fault["by"] in ids
        else:
            names = functions_of(ROOT / path) if (ROOT / path).is_file() else frozenset()
            exists = not path or ((ROOT / path).exists() and (not test or test.partition("[")[0] in names))
        if not exists:
            found.append(fault["name"])
    return found


@pytest.mark.parametrize(
    ("by", "wanted"),
    [
        ("tests/a/test_b.py::test_c[1]", []), ("tests/a/test_b.py::test_c", []), ("tests/a/test_b.py", []), ("", []),
        ("tests/a/test_b.py::test_c[2]", ["x"]), ("tests/a/test_b.py::test_d", ["x"]), ("tests/a/none.py", ["x"]),
        ("tests/house/test_faults.py::functions_of[any]", []), ("tests/house/test_faults.py::none", ["x"]),
    ],
)  # fmt: skip
def test_a_test_that_is_gone_is_noticed(by: str, wanted: list[str]) -> None:
    read = frozenset({"tests/a/test_b.py::test_c[1]"})
    assert gone([{"name": "x", "by": by}], read, {"tests/a/test_b.py"}) == wanted
