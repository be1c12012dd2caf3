"""Certificates of synthesis are played again: every changed price, count, bound, claim and question is refused."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dmaverify.cli import app
from dmaverify.jobs import certify, certify_synth
from dmaverify.jobs.certify import check_certificate
from dmaverify.jobs.certify_synth import bound_questions, contradicted
from dmaverify.jobs.sealed import FULL, seal_of, write_certificate
from dmaverify.prove.certify.certificate import MANIFEST, cvc5_answer

pytestmark = pytest.mark.xdist_group("sealed_synthesis")

PLAN = """\
schema = 1
target = "rngd"
[axes]
A = 4
B = 4
C = 64
[transfer.turn]
dtype = "i8"
source = { tier = "hbm", base = 0, element = "A, B, C" }
dest = { tier = "dm", base = 0, element = "B, A, C" }
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("synth")
    (folder / "plan.toml").write_text(PLAN)
    arguments = ["synth", str(folder / "plan.toml"), "--no-simulate", "--engines", "1", "--evaluations", "40"]
    assert app.invoke([*arguments, "--certificate", str(folder / "cert")]) == 0
    return folder / "cert"


Change = Callable[[Path], None]


def in_bound(path: str, value: Any) -> Change:
    """A value of bound.json changed."""

    def change(folder: Path) -> None:
        data = json.loads((folder / "bound.json").read_text())
        *way, last = [int(p) if p.isdigit() else p for p in path.split("/")]
        at = data
        for key in way:
            at = at[key]
        new = value(at[last]) if callable(value) else value
        assert json.dumps(at[last]) != json.dumps(new)
        at[last] = new
        (folder / "bound.json").write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")

    return change


def in_file(name: str, old: str, new: str) -> Change:
    def change(folder: Path) -> None:
        file = next(p for p in sorted(folder.rglob("*")) if p.is_file() and name in p.name and old in p.read_text())
        file.write_text(file.read_text().replace(old, new, 1))

    return change


def in_plans(old: str, new: str) -> Change:
    """The plan changed wherever it stands."""

    def change(folder: Path) -> None:
        for file in (folder / "plan.toml", folder / "plans" / "000" / "plan.toml"):
            assert old in file.read_text()
            file.write_text(file.read_text().replace(old, new, 1))

    return change


def gone(name: str) -> Change:
    def change(folder: Path) -> None:
        manifest = json.loads((folder / MANIFEST).read_text())
        for row in [row for row in manifest["questions"] if name in row["file"]]:
            (folder / row["file"]).unlink()
            manifest["questions"].remove(row)
        (folder / MANIFEST).write_text(json.dumps(manifest))

    return change


def in_manifest(key: str, value: Any) -> Change:
    def change(folder: Path) -> None:
        manifest = json.loads((folder / MANIFEST).read_text())
        manifest[key] = value
        (folder / MANIFEST).write_text(json.dumps(manifest))

    return change


def in_search(key: str, value: Any) -> Change:
    def change(folder: Path) -> None:
        manifest = json.loads((folder / MANIFEST).read_text())
        manifest["search"][key] = value
        if value is ...:
            del manifest["search"][key]
        (folder / MANIFEST).write_text(json.dumps(manifest))

    return change


def in_plan(key: str, value: Any) -> Change:
    def change(folder: Path) -> None:
        manifest = json.loads((folder / MANIFEST).read_text())
        assert manifest["plans"][0][key] != value
        manifest["plans"][0][key] = value
        (folder / MANIFEST).write_text(json.dumps(manifest))

    return change


def in_bound_besides(key: str, value: Any) -> Change:
    def change(folder: Path) -> None:
        data = json.loads((folder / "bound.json").read_text())
        (folder / "bound.json").write_text(json.dumps({**data, key: value}, indent=1, sort_keys=True) + "\n")

    return change


def added_file(folder: Path) -> None:
    (folder / "proof.txt").write_text("it holds")
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"]["proof.txt"] = ""
    (folder / MANIFEST).write_text(json.dumps(manifest))


TAMPERS: dict[str, Change] = {
    "the bound, lower": in_bound("bound", 100.0),
    "the bound, higher": in_bound("bound", 10**6),
    "the cycles": in_bound("cycles", 7.0),
    "a price": in_bound("counted/cycles/dm_request", 1.0),
    "a count of a channel": in_bound("counted/counts/0/channels/0", 77),
    "the requests": in_bound("counted/counts/0/requests", 1),
    "a loop of a nest": in_bound("counted/nests/0/loops/0/0", 9),
    "a map": in_bound("counted/maps/window", 512),
    "the counts walked or not": in_bound("counted/walked", False),
    "a term's cycles": in_bound("terms/0/cycles", 1.0),
    "a term dropped": in_bound("terms", []),
    "the claim": in_bound("claim", "OPTIMAL for all models"),
    "optimality": in_bound("optimal", "yes"),
    "the gap": in_bound("gap", 0.5),
    "the number of plans priced": in_bound("evaluations", 10**9),
    "the evidence": in_bound("evidence", ["trust us"]),
    "what is not covered": in_bound("not_covered", []),
    "the plan within bound.json": in_bound("plan", PLAN),
    "a wrong stride in the plan": in_plans("A=4:", "A=4:1"),
    "a wrong stride in one of the plans": in_file("plan.toml", "A=4:", "A=4:1"),
    "an axis of the plan": in_plans("C = 64", "C = 32"),
    "a question of the bound": in_file("bound-all", "(assert (< end ", "(assert (< end 1"),
    "a count in a question": in_file("bound-all", "(* ", "(* 1"),
    "an obligation": in_file("command-0", "(assert (not read.inside))", "(assert false)"),
    "the questions of the bound dropped": gone("bound"),
    "the obligations dropped": gone("command-0"),
    "the script that counts": in_file("recount.py", "bad += 1", "bad += 0"),
    "the settings of the search": in_manifest("search", {"engines": 8, "simulate": False}),
    "the kind of the certificate": in_manifest("kind", "check"),
    "the kind of another machine": in_manifest("kind", "copies"),
    "a key besides": in_manifest("also", 1),
    "a setting besides": in_search("also", None),
    "a setting left out": in_search("routes", ...),
    "a claim besides": in_bound_besides("also", None),
    "a claim twice": in_file("bound.json", '"bound": ', '"bound": 1.0, "bound": '),
    "optimality as a number": in_bound("optimal", lambda old: int(old)),
    "what a reader is told": in_file("README.txt", "certificate   ", "certificate   OPTIMAL for all models, "),
    "the cycles that a reader is told": in_file("README.txt", "cycles ", "cycles 1 "),
    "the target of its plan": in_plan("target", "toy"),
    "the name of its plan": in_plan("name", "turn"),
    "the path of its plan": in_plan("path", "/etc/plan.toml"),
    "what was fixed of the plans": in_bound("restricted", []),
    "the claim that a reader is told, of all plans": in_file(
        "README.txt", ", of plans with at most 1 engines of a chip", ""
    ),
    "a file besides": lambda folder: (folder / "proof.txt").write_text("it holds") and None,
    "a file besides in the list": added_file,
}


def sealed_anew(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    for row in manifest["questions"]:
        row["sha256"] = hashlib.sha256((folder / row["file"]).read_bytes()).hexdigest()
    for plan in manifest["plans"]:
        plan["sha256"] = hashlib.sha256((folder / "plans" / plan["file"]).read_bytes()).hexdigest()
    manifest["files"] = {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in manifest["files"]}
    manifest["seal"] = seal_of(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.fixture(scope="module")
def made_again() -> dict[Any, Any]:
    """What is made again of a plan, by all that decides it: most forgeries leave plan and search as they are."""
    return {}


@pytest.fixture
def once(made_again: dict[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    facts, search, questions, answers = certify.facts_of, certify_synth._searched, bound_questions, contradicted

    def kept(key: Any, make: Callable[[], Any]) -> Any:
        if key not in made_again:
            made_again[key] = make()
        return made_again[key]

    def facts_once(job: Any) -> Any:
        return kept(("facts", Path(job[0]).read_bytes(), repr(job[1:])), lambda: facts(job))

    def search_once(folder: Path, manifest: Any) -> Any:
        decides = repr((manifest["search"], manifest["options"]["readings"]))
        return kept(("search", (folder / "plan.toml").read_bytes(), decides), lambda: search(folder, manifest))

    monkeypatch.setattr(certify, "facts_of", facts_once)
    monkeypatch.setattr(certify_synth, "_searched", search_once)
    monkeypatch.setattr(
        certify_synth, "bound_questions", lambda *of: kept(("questions", *map(id, of)), lambda: questions(*of))
    )
    monkeypatch.setattr(certify_synth, "contradicted", lambda asked: kept(tuple(asked), lambda: answers(asked)))


def test_an_untouched_certificate_is_confirmed(certificate: Path) -> None:
    found = check_certificate(certificate)
    assert (found.refused, found.open, found.code) == ([], [], 0)


@pytest.mark.parametrize("name", TAMPERS)
def test_a_forged_synthesis_is_refused_though_everything_is_sealed_anew(
    name: str, certificate: Path, once: None, tmp_path: Path
) -> None:
    folder = tmp_path / "cert"
    shutil.copytree(certificate, folder)
    TAMPERS[name](folder)
    sealed_anew(folder)
    assert check_certificate(folder, solver=False).code == 1


def of_another_plan(certificate: Path, folder: Path, text: str) -> None:
    """The certificate with everything about its plan made anew for another text, and all about the search kept."""
    manifest = json.loads((certificate / MANIFEST).read_text())
    folder.mkdir()
    for name in manifest["files"]:
        shutil.copy(certificate / name, folder / name)
    (folder / "plan.toml").write_text(text)
    rows = [row for row in manifest["questions"] if row["plan"] == "bound"]
    texts = [(certificate / row["file"]).read_text().split("\n", 4)[4] for row in rows]
    bound = [(r["question"], t.removesuffix("\n(check-sat)\n"), r["status"]) for r, t in zip(rows, texts, strict=True)]
    extra = {"kind": manifest["kind"], "search": manifest["search"]}
    job = (str(folder / "plan.toml"), None, None, dict(FULL))
    write_certificate(folder, [job], extra, list(manifest["files"]), "plan.toml", {"bound": bound})


SLOW = PLAN + 'stream = { time = "B, A, C / 16", packet = "C % 16" }\n'
MORE = PLAN.partition("[transfer.turn]")[2].replace('base = 0, element = "B', 'base = 4096, element = "B')


@pytest.mark.parametrize("change", [None, "slow", "two"])
def test_a_plan_that_the_search_does_not_find_is_refused_beside_its_bound(
    certificate: Path, tmp_path: Path, change: str | None
) -> None:
    text = (certificate / "plan.toml").read_text()
    text = {None: text, "slow": SLOW, "two": f"{text}[transfer.more]{MORE}"}[change]
    of_another_plan(certificate, tmp_path / "cert", text)
    found = check_certificate(tmp_path / "cert", solver=False)
    assert found.code == (0 if change is None else 1)
    assert ("plan.toml is not the plan that the search gives" in found.refused) is (change is not None)


def test_the_claim_that_is_told_is_of_the_plans_that_were_searched(certificate: Path) -> None:
    (said,) = (one for one in check_certificate(certificate, solver=False).said if "played again" in one)
    assert "of plans with at most 1 engines of a chip" in said
    assert said.endswith(", profile book")


def test_a_search_by_the_clock_is_open_and_what_it_claims_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    arguments = ["synth", str(tmp_path / "plan.toml"), "--no-simulate", "--engines", "1", "--budget", "30"]
    assert app.invoke([*arguments, "--certificate", str(tmp_path / "cert")]) == 0
    found = check_certificate(tmp_path / "cert", solver=False)
    assert (found.refused, found.code) == ([], 3)
    assert not any("OPTIMAL" in one for one in found.said)
    file = tmp_path / "cert" / "plan.toml"
    file.write_text(SLOW)
    (tmp_path / "cert" / "plans" / "000" / "plan.toml").write_text(SLOW)
    sealed_anew(tmp_path / "cert")
    assert check_certificate(tmp_path / "cert", solver=False).code == 1


def test_the_bound_follows_from_counts_by_a_question_that_can_be_false(certificate: Path) -> None:
    file = next(certificate.glob("bound*resources*.smt2"))
    text = file.read_text()
    assert cvc5_answer(text) == "unsat"
    head, _, tail = text.rpartition("(assert (< end ")
    claimed = int(tail.split(")")[0])
    assert cvc5_answer(text.replace(f"(< end {claimed})", f"(< end {claimed + 1})")) == "sat"
    assert head.count("(assert (>= end ") >= 2


def test_a_bound_without_counts_is_open_and_never_refused(tmp_path: Path) -> None:
    text = PLAN.replace("rngd", "idma").replace('"hbm"', '"mem"').replace('"dm", base = 0', '"mem", base = 4096')
    (tmp_path / "plan.toml").write_text(text)
    assert app.invoke(["synth", str(tmp_path / "plan.toml"), "--certificate", str(tmp_path / "cert")]) == 0
    found = check_certificate(tmp_path / "cert", solver=False)
    assert found.refused == []
    assert [said for said in found.open if said.startswith("recount.py")] != []


@pytest.mark.parametrize(("most", "code"), [(1 << 22, 0), (3, 3)])
def test_counts_that_are_too_many_to_walk_are_open_and_not_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, code: int
) -> None:
    monkeypatch.setattr("dmaverify.synth.recount.MOST", most)
    (tmp_path / "plan.toml").write_text(PLAN)
    arguments = ["synth", str(tmp_path / "plan.toml"), "--no-simulate", "--engines", "1", "--evaluations", "40"]
    assert app.invoke([*arguments, "--certificate", str(tmp_path / "cert")]) == 0
    found = check_certificate(tmp_path / "cert", solver=False)
    assert (found.code, found.refused) == (code, [])
    assert ("recount.py: too many packets to walk: the counts were not counted again" in found.open) is (code == 3)
