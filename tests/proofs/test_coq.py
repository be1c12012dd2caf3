"""The mechanised theorems: no axioms, no gaps; where Coq is installed, they and the examples are checked again."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
COQ = ROOT / "proofs" / "coq"
THEOREMS = ("accepts_sound", "once_sound", "aligned", "divided", "cut_nest")
EXAMPLES = ["first.toml", "dma-engine/example-1.toml", "dma-engine/example-2.toml", "dma-engine/example-4.toml",
            "sequencer/rearranging-axes.toml", "sequencer/merging-entries.toml"]  # fmt: skip


@pytest.fixture(scope="module")
def export() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coq_export", COQ / "export.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def exported(export: ModuleType) -> str:
    text, left = export.exported([str(ROOT / "examples" / name) for name in EXAMPLES])
    assert left == []
    return str(text)


def compiled(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    done = subprocess.run(
        ["coqc", "-Q", ".", "Dmaverify", name], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    return done.stdout if done.returncode == 0 else f"FAILED {done.stderr}"


def test_the_theorems_have_no_axioms_and_no_gaps() -> None:
    text = re.sub(r"\(\*.*?\*\)", "", (COQ / "Move.v").read_text(), flags=re.DOTALL)
    assert not re.search(r"\b(Axiom|Parameter|Hypothesis|Conjecture|Admitted|admit|Variable)\b", text)
    assert all(re.search(rf"\bTheorem {name}\b", text) for name in THEOREMS)
    printed = (COQ / "Printed.v").read_text()
    assert all(f"Print Assumptions {name}." in printed for name in THEOREMS)


def test_examples_become_terms_with_both_mappings_and_their_loops(exported: str) -> None:
    assert exported.count("Theorem t_") >= 7
    for part in ("source := [", "dest := [", "loops := [(", "cuts := [[", "wanted := [("):
        assert exported.count(part) == exported.count("Theorem t_")
    assert "(Stride (Axis" in exported
    assert "(Padded" in exported


def test_coq_confirms_them_and_accepts_no_changed_number(exported: str, tmp_path: Path) -> None:
    if shutil.which("coqc") is None:  # `make coq` says what is missing
        return
    assert compiled(tmp_path, "Move.v", (COQ / "Move.v").read_text()) == ""
    printed = compiled(tmp_path, "Printed.v", (COQ / "Printed.v").read_text())
    assert printed.split("\n")[:-1] == ["Closed under the global context"] * len(THEOREMS)
    assert compiled(tmp_path, "Examples.v", exported) == ""
    asked = re.sub(r"Theorem t_\w+ : (accepts c_\w+) = true\..*", r"Eval vm_compute in \1.", exported)
    changes = ((r"loops := \[\((\d+),", "9"), (r"write_base := (\d+)", "77"), (r"dest := \[\(\(Axis (\d+)", "9"))
    tampered = ""
    for number, (pattern, new) in enumerate(changes):
        wrong = re.sub(pattern, lambda m, new=new: m.group().removesuffix(",")[: m.start(1) - m.start()] + new
                       + m.group()[m.end(1) - m.start():], asked)  # fmt: skip
        tampered += f"Module Wrong{number}.\n{wrong}\nEnd Wrong{number}.\nEval vm_compute in {number}%nat.\n"
    said = re.split(r"= \d+(?:%nat)?\n", compiled(tmp_path, "Wrong.v", tampered))[:-1]
    assert len(said) == len(changes)
    for answers in said:
        assert "= false" in answers
        assert answers.count("= true") < exported.count("Theorem t_")
