"""The counts behind a bound: a script of plain Python finds them again, and a changed number is refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest
from lab.draws import rest
from moves import drawn, move

from dmaverify import api
from dmaverify.cli.app import invoke
from dmaverify.cli.synth import write_certificate
from dmaverify.cost.constants import cost_data
from dmaverify.jobs.certify_synth import contradicted
from dmaverify.synth.certain import space_question
from dmaverify.synth.synthesize import synthesize
from dmaverify.targets.target import load_target

RNGD = load_target("rngd")


def recounted(folder) -> tuple[int, str]:
    """Exit code and last line of the script, in a process that cannot import dmaverify."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "recount.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()[-1]


@pytest.mark.parametrize("seed", [5, *rest((4, 25))])
def test_the_counts_of_a_bound_are_found_again_without_dmaverify(seed, tmp_path):
    axes, moved = drawn(seed)
    write_certificate(tmp_path, synthesize(moved, RNGD, axes=axes, advise=False))
    code, said = recounted(tmp_path)
    assert code == 0, said
    assert "0 numbers differ" in said


def test_a_count_that_was_changed_is_refused(tmp_path):
    axes = {"A": 8, "B": 8, "C": 120}
    moved = move(axes, {"tier": "dm", "slice": "A # 64", "element": "B, C"}, {"tier": "hbm", "element": "B, A, C"})
    write_certificate(tmp_path, synthesize(moved, RNGD, axes=axes, advise=False))
    assert recounted(tmp_path)[0] == 0
    file = tmp_path / "bound.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    both = zip(data["counted"]["nests"], data["counted"]["counts"], strict=True)
    written = next(counts for nest, counts in both if nest["role"] == "write")
    for name in ("channels", "partial"):
        before = list(written[name])
        written[name][next(i for i, n in enumerate(before) if n)] -= 1
        file.write_text(json.dumps(data), encoding="utf-8")
        assert recounted(tmp_path)[0] == 1, name
        written[name] = before


SMALL = """schema = 1
target = "rngd"
[axes]
A = {a}
C = {c}
[transfer.move]
dtype = "i8"
source = {{ tier = "hbm", base = 0, element = "{source}" }}
dest = {{ tier = "{tier}", base = {base}, {dest} }}
"""


@pytest.mark.parametrize(
    ("a", "c", "source", "tier", "dest", "engines"),
    [
        (4, 64, "A, C", "hbm", 'element = "A, C"', 2),
        (4, 64, "A, C", "hbm", 'element = "C, A"', 1),
        (4, 32, "A, C", "dm", 'slice = "A", element = "C"', 2),
        (3, 64, "A, C", "dm", 'slice = "A", element = "C # 96"', 1),
        (2, 96, "C, A", "hbm", 'element = "C # 128, A"', 1),
    ],
)
def test_z3_finds_no_legal_cheaper_member_of_a_small_space_and_one_above_it(a, c, source, tier, dest, engines):
    base = 0 if tier == "dm" else 1 << 20
    plan = api.load(SMALL.format(a=a, c=c, source=source, tier=tier, dest=dest, base=base))
    found = api.synthesize(plan, engines=engines, simulate=False, routes=False)
    assert found.optimal
    moved = replace(found.transfer, stream=None, streams=(), given=(), expect=None)
    ask = partial(space_question, moved, found.target, cost_data("book"), {}, engines)
    questions = [ask(found.cycles), (*ask(found.cycles + 0.01)[:2], "sat")]
    assert contradicted(questions) == []
    wrong = [(name, text, "unsat") for name, text, _ in questions[1:]]
    assert len(contradicted(wrong)) == 1


def test_a_space_without_legal_members_by_the_predicates_in_the_question_has_no_cheaper_one():
    plan = api.load(SMALL.format(a=3, c=64, source="A, C", tier="dm", base=0, dest='slice = "A", element = "C"'))
    found = api.synthesize(plan, engines=1, simulate=False, routes=False)
    name, text, _ = space_question(
        replace(found.transfer, stream=None, given=(), expect=None), found.target, cost_data("book"), {}, 1, 1e6
    )
    assert "(define-fun rngd/packet-max" in text
    assert contradicted([(name, text, "sat")]) == []
    ports = re.search(r"\(define-fun rngd/packet-max (\(.*?\)) Bool", text)
    denied = text.replace("(define-fun rngd/packet-max", "(define-fun unused", 1)
    denied = f"(define-fun rngd/packet-max {ports[1]} Bool false)\n{denied}"
    assert contradicted([(name, denied, "unsat")]) == []


def test_a_bound_that_every_member_was_priced_for_is_confirmed_by_both_solvers(tmp_path):
    """A search that goes through its space may end above the floor: the bound's question is about the floor."""
    text = SMALL.format(a=4, c=64, source="A, C", tier="hbm", base=1 << 20, dest='element = "A, C"')
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    assert invoke(["synth", str(tmp_path / "plan.toml"), "--certificate", str(tmp_path / "out")]) == 0
    assert invoke(["certificate", "check", str(tmp_path / "out")]) == 0
