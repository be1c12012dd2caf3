"""Every fault of the catalogue can be planted: its text stands once in its file, and its test exists."""

import ast
import tomllib
from functools import cache
from pathlib import Path

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


def test_the_test_that_notices_a_fault_exists() -> None:
    gone = []
    for fault in FAULTS:
        path, _, test = fault.get("by", "").partition("::")
        if path and (not (ROOT / path).exists() or (test and test.partition("[")[0] not in functions_of(ROOT / path))):
            gone.append(fault["name"])
    assert gone == []
