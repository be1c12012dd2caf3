"""Certificates of plans: made from definitions, and refused after every change, however well it is hidden."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.draws import rest

from dmaverify import api
from dmaverify.cli import app as cli
from dmaverify.errors import Disagreement
from dmaverify.jobs.certify import check_certificate
from dmaverify.jobs.sealed import facts_of, hash_of, named_beside, seal_of, write_certificate
from dmaverify.prove.certify.certificate import MANIFEST, SCRIPT, is_script
from dmaverify.prove.flow.coverage.tiles import Together
from dmaverify.prove.move import obligations
from dmaverify.prove.options import Options

pytestmark = pytest.mark.xdist_group("sealed_certificates")

PLAN = """\
schema = 1
target = "rngd"
[axes]
A = 64
B = 8
C = 256
[transfer.move]
dtype = "i8"
source = { tier = "hbm", base = 0, element = "A, B, C" }
dest = { tier = "dm", base = 0, slice = "A", element = "B, C" }
read = "[B=8:256, A=64:2048, C=256:1]:256 HBM/D@0"
write = "[B=8:256, A=64:slice_stride, C=256:1]:256 DM/D@0"
"""
WRONG = PLAN.replace('write = "[B=8:256', 'write = "[B=8:512')
FULL = {"readings": {}, "rlimit": 20_000_000, "cross_check": 1 << 16, "prove": "full"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plan")
    (folder / "plan.toml").write_text(PLAN)
    write_certificate(folder / "cert", [(str(folder / "plan.toml"), None, None, FULL)])
    return folder / "cert"


def test_an_untouched_certificate_is_confirmed(certificate: Path) -> None:
    found = check_certificate(certificate)
    assert (found.refused, found.open, found.code) == ([], [], 0)
    assert "the independent checker accepts 1 of 1 moves" in found.said
    assert any(said.startswith("cvc5 confirms") for said in found.said)


def test_the_scripts_hold_both_mappings_both_sequencers_and_the_negated_obligations(certificate: Path) -> None:
    text = next(p.read_text() for p in sorted(certificate.glob("*.smt2")) if "command-0" in p.name)
    for name in ("core/in-range", "core/splits", "core/coordinate", "core/loop-step", "core/digit-live"):
        assert f"(define-fun {name} " in text
        assert text.count(f"({name} ") > 1
    for side in ("read", "write"):
        assert f"(define-fun {side}.address () Int (core/loop-step" in text
        assert re.search(rf"\(assert \(core/splits .* {side}\.s1\.q {side}\.s1\.r\)\)", text)
    for rule in ("in-bounds", "same-element", "reads-live", "padding"):
        assert f"core/{rule}: " in text
    assert "(assert false)" not in text


SYMBOLS = PLAN.replace("B = 8\n", "B = { min = 1, max = 64 }\n").replace("A = 64\n", "A = 16\n")
SYMBOLS = SYMBOLS.replace("[B=8:", "[B=B:").replace("A=64:2048", "A=16:256 * B").replace("A=64:", "A=16:")


@pytest.fixture(scope="module")
def of_symbols(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("symbols")
    (folder / "plan.toml").write_text(SYMBOLS)
    write_certificate(folder / "cert", [(str(folder / "plan.toml"), None, None, FULL)])
    return folder / "cert"


def test_a_certificate_of_symbols_is_confirmed_for_all_sizes(of_symbols: Path) -> None:
    found = check_certificate(of_symbols)
    assert (found.refused, found.open, found.code) == ([], [], 0)
    assert any(said.startswith("cvc5 confirms") for said in found.said)
    assert "the independent checker accepts 1 of 1 moves" in found.said
    files = {p.name for p in of_symbols.glob("*.smt2")}
    assert any("admitted-sizes-in-no-region" in name for name in files)
    text = next(p.read_text() for p in of_symbols.glob("*sizes-like*command-0.smt2"))
    assert "(declare-const |size B| Int)" in text
    assert "(assert (<= 1 |size B|))\n(assert (<= |size B| 64))" in text
    assert "(assert (not (< 0 (* 256 |size B|))))" in text


# ---------------------------------------------------------------- tampers

Manifest = dict[str, Any]


def rehashed(folder: Path, manifest: Manifest) -> None:
    """What a careful forger does: every hash and the seal anew."""
    import hashlib

    for row in manifest["questions"]:
        if isinstance(row, dict) and (folder / str(row.get("file"))).is_file():
            row["sha256"] = hashlib.sha256((folder / row["file"]).read_bytes()).hexdigest()
    for plan in manifest["plans"]:
        file = folder / "plans" / plan["file"]
        plan["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    manifest["seal"] = seal_of(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")


def edited(name: str, old: str, new: str, count: int = 1) -> Callable[[Path, Manifest], None]:
    def change(folder: Path, manifest: Manifest) -> None:
        files = [p for p in sorted(folder.rglob("*")) if p.is_file() and name in p.name and old in p.read_text()]
        assert files, (name, old)
        files[0].write_text(files[0].read_text().replace(old, new, count))

    return change


def said(path: str, value: Any) -> Callable[[Path, Manifest], None]:
    """A value of the manifest changed, or removed where the new value is `...`."""

    def change(folder: Path, manifest: Manifest) -> None:
        *way, last = [int(p) if p.lstrip("-").isdigit() else p for p in path.split("/")]
        at: Any = manifest
        for key in way:
            at = at[key]
        old = at[last]
        if value is ...:
            del at[last]
        else:
            at[last] = value(old) if callable(value) else value
            assert json.dumps(at[last]) != json.dumps(old)

    return change


def dropped(name: str) -> Callable[[Path, Manifest], None]:
    """Questions left out, file and row."""

    def change(folder: Path, manifest: Manifest) -> None:
        gone = [row for row in manifest["questions"] if name in row["file"]]
        assert gone
        for row in gone:
            (folder / row["file"]).unlink()
        manifest["questions"] = [row for row in manifest["questions"] if row not in gone]

    return change


def added(folder: Path, manifest: Manifest) -> None:
    (folder / "extra.smt2").write_text("(check-sat)\n")


def swapped(folder: Path, manifest: Manifest) -> None:
    rows = manifest["questions"]
    rows[1], rows[2] = rows[2], rows[1]


def escaping(folder: Path, manifest: Manifest) -> None:
    manifest["questions"][0]["file"] = "../plan.toml"


def put(path: str, value: Any = "x") -> Callable[[Path, Manifest], None]:
    """A key more in a record of the manifest."""

    def change(folder: Path, manifest: Manifest) -> None:
        at: Any = manifest
        for key in path.split("/") if path else []:
            at = at[int(key) if key.isdigit() else key]
        at["also"] = value

    return change


def said_new(key: str, value: Any) -> Callable[[Path, Manifest], None]:
    return lambda _, manifest: manifest.update({key: value})


def renamed(folder: Path, manifest: Manifest) -> None:
    row = manifest["questions"][0]
    (folder / row["file"]).rename(folder / f"x{row['file']}")
    row["file"] = f"x{row['file']}"


def linked(folder: Path, manifest: Manifest) -> None:
    """A file of the certificate as a link to a copy outside of it."""
    name = manifest["questions"][0]["file"]
    (folder / name).rename(folder.parent / name)
    (folder / name).symlink_to(folder.parent / name)


VERDICT = "plans/0/verdicts/0"
TAMPERS: dict[str, Callable[[Path, Manifest], None]] = {
    "a wrong stride in the plan": edited(".toml", "[B=8:256, A=64:slice", "[B=8:512, A=64:slice"),
    "a wrong read stride": edited(".toml", "A=64:2048", "A=64:4096"),
    "another base": edited(".toml", "HBM/D@0", "HBM/D@256"),
    "another packet": edited(".toml", "]:256 HBM", "]:128 HBM"),
    "another axis size": edited(".toml", "A = 64", "A = 32"),
    "another mapping of the source": edited(".toml", '"A, B, C"', '"B, A, C"'),
    "another mapping of the destination": edited(".toml", '"B, C" }\nread', '"C, B" }\nread'),
    "another type": edited(".toml", 'dtype = "i8"', 'dtype = "i16"'),
    "another target": edited(".toml", 'target = "rngd"', 'target = "toy"'),
    "another name": edited(".toml", "transfer.move", "transfer.mvoe"),
    "another file name of the plan": said("plans/0/file", "x.toml"),
    "a claim replaced by false": edited("command-0", "(assert (not read.inside))", "(assert false)"),
    "a weaker claim": edited("command-0", "(assert true)", "(assert (= c0 0))"),
    "a counter with fewer values": edited("command-0", "(core/in-range c0 8)", "(core/in-range c0 4)"),
    "a stride in a question": edited("command-0", "c0 256)", "c0 255)"),
    "a definition in a question": edited("command-0", "(< digit slots)", "(< digit 1)"),
    "a lemma that nobody proved": edited("command-0", "; 0: ", "(assert (= 0 1))\n; 0: "),
    "a region that is larger": edited("command-0", "write.slice.q 64)", "write.slice.q 640)"),
    "a rule with another port": edited("rules", "(assert (not (rngd/", "(assert (and false (rngd/"),
    "a rule with another predicate": edited("rules", "(define-fun rngd/", "(define-fun rngd/x"),
    "a question in other words": edited("cells", "\n(push 1)", "\n\n(push 1)"),
    "obligations dropped": dropped("cells-of-the-destination"),
    "all scripts dropped": dropped("000.move"),
    "rules dropped": dropped("rules"),
    "writes-once dropped": dropped("twice"),
    "a file besides": added,
    "questions in another order": swapped,
    "a file outside of the folder": escaping,
    "a changed script for re-asking": edited(SCRIPT, "sys.exit(1 if", "sys.exit(0 if"),
    "an answer": said("questions/1/status", lambda old: old.replace("unsat", "sat")),
    "an answer that is missing": said("questions/1/status", lambda old: old.rsplit(" ", 1)[0]),
    "the verdict": said(f"{VERDICT}/status", "refuted"),
    "the claim": said(f"{VERDICT}/claim", "all 2 bytes"),
    "an obligation's status": said(f"{VERDICT}/obligations/2/1", "unknown"),
    "an obligation's label": said(f"{VERDICT}/obligations/2/2", "magic"),
    "an obligation dropped from the verdict": said(f"{VERDICT}/obligations/2", ...),
    "a finding added": said(f"{VERDICT}/findings", [["core/covers", "error", "x"]]),
    "an assumption": said(f"{VERDICT}/assumptions", ["nothing"]),
    "a condition": said(f"{VERDICT}/conditions", ["nothing"]),
    "what is not covered": said(f"{VERDICT}/not_covered", ["all"]),
    "the verdict dropped": said(VERDICT, ...),
    "a count of a command": said("plans/0/commands/move/0/loops/0/0", 9),
    "a base of a command": said("plans/0/commands/move/0/write/3", 8),
    "a digit": said("plans/0/digits/move/source/0/1", 7),
    "a piece": said("plans/0/digits/move/pieces/0/0/0", 7),
    "the digits dropped": said("plans/0/digits", {}),
    "a plan that is said to need others": said("plans/0/alone", False),
    "the commands dropped": said("plans/0/commands", {}),
    "the machine's data": lambda _, m: m["data"].update({"rngd/rules.smt2": "0" * 64}),
    "the core's definitions": lambda _, m: m["data"].update({"core/mapping.smt2": "0" * 64}),
    "data dropped": lambda _, m: m["data"].pop("rngd/target.toml"),
    "the version": said("dmaverify", "0.0.0"),
    "the limit": said("options/rlimit", 1),
    "a reading": said("options/readings", {"core/same-element": "broadcast-missing"}),
    "the schema": said("schema", 1),
    "the plans dropped": said("plans", []),
    "an internal error": said("internal", ["x"]),
    "a key besides": put(""),
    "a key besides that holds nothing": put("", None),
    "a key besides in a plan": put("plans/0"),
    "a key besides in a verdict": put(VERDICT),
    "a null besides in a verdict": put(VERDICT, None),
    "a key besides in a question": put("questions/0"),
    "a key besides in the options": put("options"),
    "a key besides in the readings": put("options/readings", "broadcast-missing"),
    "a key besides in the data": put("data"),
    "a key besides in the commands": put("plans/0/commands", []),
    "a key besides in a command": put("plans/0/commands/move/0"),
    "a key besides in the digits": put("plans/0/digits/move", []),
    "a key of a certificate of synthesis": said_new("search", None),
    "files of a certificate of synthesis": said_new("files", {}),
    "a count as a fraction": said("plans/0/commands/move/0/burst", float),
    "a count as a truth": lambda _, m: m["plans"][0]["commands"]["move"][0]["loops"].append([True, 0, 0]),
    "a row twice": lambda _, m: m["questions"].append(m["questions"][0]),
    "a question under another name": renamed,
    "a file that is a link": linked,
    "a folder besides": lambda f, _: (f / "empty").mkdir(),
    "a folder besides among the plans": lambda f, _: (f / "plans" / "001").mkdir(),
    "a hidden file": lambda f, _: (f / ".extra").touch(),
    "a file among the plans": lambda f, _: (f / "plans" / "notes.txt").touch(),
    "a link that leads nowhere": lambda f, _: (f / "gone").symlink_to(f / "nothing"),
    "a link to a folder": lambda f, _: (f / "more").symlink_to(f.parent),
    "a pipe": lambda f, _: os.mkfifo(f / "pipe"),
}  # fmt: skip


SIZE_TAMPERS: dict[str, Callable[[Path, Manifest], None]] = {
    "fewer sizes in a script": edited("command-0", "(assert (<= |size B| 64))", "(assert (<= |size B| 8))"),
    "one size in a script": edited("command-0", "; 0: ", "(assert (= |size B| 8))\n; 0: "),
    "a theorem that holds of nothing": edited("command-0", "(=> (and (core/in-range low", "(=> (or (core/in-range low"),
    "a theorem that nobody asked": edited(
        "command-0", "(assert (not (theorem/step", "(assert (and false (theorem/step"
    ),
    "fewer sizes to cover": edited("no-region", "(assert (<= 1 n0 64))", "(assert (<= 1 n0 8))"),
    "a fact of a region left out": edited("no-region", "(assert (not (and ", "(assert (not (or "),
    "the scripts of all sizes dropped": dropped("sizes-like"),
    "the question whether all sizes are covered dropped": dropped("no-region"),
    "an answer about all sizes": said("questions/1/status", lambda old: old.replace("unsat", "sat")),
    "more sizes in the plan": edited(".toml", "max = 64", "max = 65"),
}


@pytest.fixture(scope="module")
def judged_once() -> Iterator[None]:
    """What a text gives is asked once: it depends on the text alone, and on the kernels that it names."""
    with pytest.MonkeyPatch.context() as patch:
        known: dict[tuple[bytes, str], Any] = {}

        def facts(job: Any) -> Any:
            path = Path(job[0])
            text = b"\0".join(file.read_bytes() for file in (path, *map(path.with_name, named_beside(path))))
            key = (text, repr((path.name, job[1:])))
            if key not in known:
                known[key] = facts_of(job)
            return copy.deepcopy(known[key])

        patch.setattr("dmaverify.jobs.certify.facts_of", facts)
        yield


@pytest.mark.usefixtures("judged_once")
@pytest.mark.parametrize("name", SIZE_TAMPERS)
def test_a_forger_of_sizes_is_refused(name: str, of_symbols: Path, tmp_path: Path) -> None:
    shutil.copytree(of_symbols, tmp_path / "cert")
    manifest = json.loads((of_symbols / MANIFEST).read_text())
    SIZE_TAMPERS[name](tmp_path / "cert", manifest)
    rehashed(tmp_path / "cert", manifest)
    assert check_certificate(tmp_path / "cert", solver=False).code == 1


@pytest.fixture
def copied(certificate: Path, judged_once: None, tmp_path: Path) -> tuple[Path, Manifest]:
    shutil.copytree(certificate, tmp_path / "cert")
    return tmp_path / "cert", json.loads((certificate / MANIFEST).read_text())


def test_there_are_forty_kinds_of_tampering() -> None:
    assert len(TAMPERS) >= 40


@pytest.mark.parametrize("name", TAMPERS)
def test_a_forger_who_hashes_everything_anew_is_refused(name: str, copied: tuple[Path, Manifest]) -> None:
    folder, manifest = copied
    TAMPERS[name](folder, manifest)
    rehashed(folder, manifest)
    assert check_certificate(folder, solver=False).code == (3 if "need others" in name else 1)


@pytest.mark.parametrize("name", TAMPERS)
def test_an_edit_without_new_hashes_is_refused(name: str, copied: tuple[Path, Manifest]) -> None:
    folder, manifest = copied
    before = copy.deepcopy(manifest)
    TAMPERS[name](folder, manifest)
    if json.dumps(manifest) != json.dumps(before):
        (folder / MANIFEST).write_text(json.dumps(manifest))
    assert check_certificate(folder, solver=False).code == 1


@pytest.mark.parametrize(
    "key", ["schema", "seal", "plans", "options", "rlimit", "name", "status", "claim", "file", "burst", "also"]
)
@pytest.mark.parametrize("before", [True, False])
def test_a_key_that_stands_twice_is_refused(key: str, before: bool, copied: tuple[Path, Manifest]) -> None:
    """Readers differ in which of the two they believe; the seal is that of the last."""
    file = copied[0] / MANIFEST
    text, row = file.read_text(), f'"{key}": '
    if key == "also":
        text = text.replace("{", '{"also": 1, "also": 1, ' if before else '{"also": 1, "also": 2, ', 1)
    else:
        at = text.index(row)
        text = text[:at] + row + ("1, " if before else "null, ") + text[at:]
    file.write_text(text)
    found = check_certificate(copied[0], solver=False)
    assert found.code == 1
    assert f"the key `{key}` stands twice" in " ".join(found.refused)


def test_a_certificate_written_over_another_is_confirmed(tmp_path: Path) -> None:
    names = ["a.toml", "b.toml"]
    for name in names:
        (tmp_path / name).write_text(PLAN)
    jobs = [(str(tmp_path / name), None, None, FULL) for name in names]
    write_certificate(tmp_path / "cert", jobs)
    write_certificate(tmp_path / "cert", jobs[:1])
    assert check_certificate(tmp_path / "cert", solver=False).code == 0


@pytest.mark.parametrize("name", ["a..b.toml", "...toml", "-.toml"])
def test_plans_of_any_name_are_confirmed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(PLAN)
    write_certificate(tmp_path / "cert", [(str(tmp_path / name), None, None, FULL)])
    assert check_certificate(tmp_path / "cert", solver=False).code == 0


def test_a_seal_without_a_manifest_is_an_error_with_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["certificate", "check", str(tmp_path)]) == 2
    assert "--certify DIR" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 4}', "\x00", '{"schema": 4, "plans": 1}'])
def test_garbage_in_place_of_a_manifest_is_refused(text: str, copied: tuple[Path, Manifest]) -> None:
    (copied[0] / MANIFEST).write_text(text)
    assert cli.invoke(["certificate", "check", str(copied[0])]) in (1, 2)


# ---------------------------------------------------------------- faults of our own


def test_a_false_planted_in_the_folding_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, folded in (("_mismatch", "false"), ("_digit_claim", "false")):
        monkeypatch.setattr(obligations, name, lambda *a, folded=folded, **k: folded)
    monkeypatch.setattr("dmaverify.prove.move.core.once_claim", harmless(obligations.once_claim))
    monkeypatch.setattr("dmaverify.prove.move.core.cover_claims", lambda *a: [])
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(PLAN.replace('"A, B, C"', '"A, C, B"'))
    fast = {**FULL, "prove": "fast", "cross_check": 0}
    assert [v.status.value for v in api.check(str(wrong), options=Options(prove="fast"))] == ["proved"]
    assert cli.invoke(["check", str(wrong), "--no-execute", "--certify", str(tmp_path / "a")]) == 4
    assert check_certificate(tmp_path / "a", solver=False).code == 1
    with monkeypatch.context() as lying:  # a tool that believes its folding, and a solver that says what is expected
        lying.setattr("dmaverify.prove.move.full.answers_to", lambda texts, limit: map(expected_of, texts))
        write_certificate(tmp_path / "b", [(str(wrong), None, None, {**fast, "prove": "full"})])
    found = check_certificate(tmp_path / "b", solver=False)
    assert found.code == 1
    assert any("z3 says sat from definitions" in said for said in found.refused)


KERNEL = """\
schema = 1
target = "pto"
[axes]
A = 32
B = 128
[kernel.k]
text = '''
func.func @k(%src: !pto.ptr<i8, gm>) {
  %c0 = arith.constant 0 : i64
  %at = arith.constant 64 : i64
  %two = arith.constant 2 : i64
  %c16 = arith.constant 16 : i64
  %row = arith.constant 128 : i64
  %half = arith.constant 2048 : i64
  %ub = pto.castptr %at : i64 -> !pto.ptr<i8, ub>
  pto.mte_gm_ub %src, %ub, %c0, %row nburst(%c16, %row, %row) loop(%two, %half, %half)
    : !pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64, i64, i64, i64
  return
}'''
gm = { src = "32x128xi8" }
[[kernel.k.move]]
copies = [1]
dtype = "i8"
source = { tier = "gm", base = 0, element = "A, B" }
dest = { tier = "ub", base = 64, element = "A, B" }
"""
UNCLAIMED = KERNEL[: KERNEL.index("[[kernel")]
TILED = Path("examples/idma/waits.toml").read_text().partition("# The software")[0]
TILED += (
    "[program.p]\n[[program.p.step]]\ntransfer = 'load'\n[[program.p.step]]\ntransfer = 'store'\nafter = ['load']\n"
)
ALONE = """\
schema = 1
target = "rngd"
[axes]
A = 8
B = 64
[transfer.t]
dtype = "i8"
source = { tier = "hbm", base = 0, element = "A, B" }
dest = { tier = "dm", base = 0, element = "B / 16, A, B % 16" }
"""
SCALAR = """\
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 4096 : index
  scf.for %i = %zero to %end step %one {
    %id = pto.load_scalar %src[%i] : !pto.ptr<i8, gm> -> i8
  }
  return
"""
TEXTS = {
    "sizes": SYMBOLS,
    "kernel": KERNEL,
    "copies": UNCLAIMED,
    "tiles": TILED,
    "alone": ALONE,
    "accesses": UNCLAIMED.replace("  return\n", SCALAR),
}


def nothing_wrong(*_: Any) -> str:
    return "false"


def once(*given: Any) -> Any:
    return harmless(obligations.once_claim)(*given)


def together(output: Any, *_: Any) -> Together:
    return Together(output, "proved", "proved")


def used(name: str) -> Callable[..., None]:
    return lambda judge, *_: judge.used.add(name)


APART = '"dm", base = 0, slice = "A",=>"hbm", base = 256, & "B, C" }\nread=>"A, B, C" }\nread'
APART += " & slice_stride=>2048 & DM/D@0=>HBM/D@256"
PLANTS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "all conditions together": ("move.obligations.all_of", nothing_wrong, '"A, B, C"=>"A, C, B"'),
    "all conditions, an element": (
        "move.obligations.all_of",
        nothing_wrong,
        "[B=8:256, A=64:2048=>[B=8:2048, A=64:256",
    ),
    "all conditions, covered": ("move.obligations.all_of", nothing_wrong, "[B=8:=>[B=7:"),
    "sizes: what is read": ("sizes.attempt.judge", lambda *_, **__: None, 'read = "[B=B:256=>read = "[B=B:128'),
    "sizes: a step": ("sizes.attempt.judge", lambda *_, **__: None, 'write = "[B=B:256=>write = "[B=B:128'),
    "kernel: a claimed move": ("move.obligations.all_of", nothing_wrong, '"A, B" }\ndest=>"B, A" }\ndest'),
    "copies: a rule": ("flow.instruction_rules.RuleJudge._plainly", lambda *_: True, "64 : i64=>16 : i64"),
    "copies: rows": ("flow.instructions.CopyJudge._rows", used("core/writes-once"), "%half, %half=>%half, %row"),
    "once, of one command": ("move.core.once_claim", once, '"[B=8:=>"[X=2:0, B=8:'),
    "what is not covered": ("move.core.cover_claims", lambda *_: [], "[B=8:=>[B=7:"),
    "a rule at its ports": ("targets.rule.Rule.holds", lambda *_: True, "]:256 =>]:4 "),
    "regions of a move": (
        "move.in_place.lie_apart",
        lambda *_: "the ends of both regions",
        APART,
    ),
    "alone: an element": (
        "move.alone.missing",
        lambda *_: iter(()),
        'element = "A, B"=>element = "A, B = 48"',
    ),
    "alone: regions": (
        "move.in_place.lie_apart",
        lambda *_: "the ends of both regions",
        'tier = "dm", base = 0=>tier = "hbm", base = 256',
    ),
    "tiles: left out": ("flow.kernel.judge_tiles", together, "{ t = 4 }=>{ t = 3 }"),
    "tiles: twice": ("flow.kernel.judge_tiles", together, '64 * t" } }\n\n[program=>32 * t" } }\n\n[program'),
    "accesses: bounds": (
        "flow.instruction_rules.RuleJudge.inside",
        used("core/in-bounds"),
        "constant 4096=>constant 4097",
    ),
    "copies: bounds": ("flow.instructions.CopyJudge._bounds", used("core/in-bounds"), "32x128=>31x128"),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_fault_planted_in_what_folds_is_contradicted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, fault, change = PLANTS[name]
    text = TEXTS.get(name.partition(":")[0], PLAN)
    for one in change.split(" & "):
        old, new = one.split("=>")
        assert old in text
        text = text.replace(old, new)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(text)

    def judged(prove: str) -> Any:
        *_, verdict = api.check("plan.toml", options=Options(prove=prove, cross_check=0, repair=False))
        return verdict

    assert judged("fast").status.value != "proved"
    monkeypatch.setattr(f"dmaverify.{'' if where.startswith('targets') else 'prove.'}{where}", fault)
    assert judged("fast").status.value == "proved"
    try:
        said = " ".join(finding.message for finding in judged("full").findings)
    except Disagreement as error:
        said = str(error)
    assert "z3 says sat from definitions" in said
    assert {"tiles: left out": "core/tiles-cover", "tiles: twice": "core/tiles-once"}.get(name, "") in said


def harmless(claim: Callable[..., Any]) -> Callable[..., Any]:
    from dataclasses import replace

    return lambda *a: replace(claim(*a), violation="false")


def expected_of(script: str) -> list[str]:
    return re.findall(r"^; \d+: .*: (sat|unsat)$", script, re.MULTILINE)


# ---------------------------------------------------------------- labels


LABELLED = [
    "first.toml", "broken.toml", "dma-engine/example-1.toml", "start/program.toml", "start/gather.toml",
    "sizes/loops.toml::load", "programs/cumulative.toml::sum-51", "pto/blocks.inline.mlir",
    *rest([
        "sizes/basic.toml", "sizes/ragged.toml::beyond", "programs/odd-tiles.toml", "programs/gather.toml::promised",
        "pto/example-1.toml", "idma/waits.toml",
    ]),
]  # fmt: skip


@pytest.mark.parametrize("prove", ["fast", "full"])
@pytest.mark.parametrize("path", LABELLED)
def test_labels_say_what_was_asked(path: str, prove: str) -> None:
    root = Path(__file__).resolve().parents[2]
    keep: dict[str, list[tuple[str, str, str]]] = {}
    for verdict in api.check(str(root / "examples" / path), options=Options(prove=prove), keep=keep):
        log = keep.get(verdict.name, [])
        scripts = [text for _, text, _ in log if is_script(text)]
        singles = [name for name, text, _ in log if not is_script(text) and "(assert false)" not in text]
        for one in verdict.obligations:
            claim = f": {one.id}: ".replace("/*: ", "/")
            of_core = one.id.startswith("core/") or one.id.endswith("/bank-starvation")
            defined = f"(define-fun {'core/' if of_core else one.id.rstrip('*')}"
            asked_of = any(claim in text and defined in text for text in scripts)
            if one.by == "z3":
                assert asked_of, one
                assert prove == "full"
            elif "z3" in one.by:
                assert scripts, one
            elif found := re.search(r"([\d,]+) questions to the solver", one.by):
                assert int(found[1].replace(",", "")) <= len(singles), one
            elif "solver" in one.by:
                assert any(one.id in name for name in singles), one
            else:
                assert not asked_of or prove == "full"


SYMBOLIC = UNCLAIMED.replace("gm>) {", "gm>, %n: i64) {\n  %c1 = arith.constant 1 : i64")
SYMBOLIC = SYMBOLIC.replace("gm = {", 'assume = { n = "1..16" }\ngm = {')
COPY = UNCLAIMED[UNCLAIMED.index("  pto.mte") : UNCLAIMED.index("  return")]
FAR = "  %further = arith.constant 8192 : i64\n  %far = pto.castptr %further : i64 -> !pto.ptr<i8, ub>\n"
FAR += COPY.replace("%c16", "%n").replace("%two, %half, %half", "%c1, %c1, %c1").replace("%ub", "%far")
STRIDE = "  %step = arith.muli %n, %row : i64\n" + FAR.replace("nburst(%n, %row, %row)", "nburst(%c16, %row, %step)")
ALIGNED = "  %rest = arith.remui %n, %at : i64\n  %whole = arith.subi %n, %rest : i64\n  %ub = pto.castptr %whole"


@pytest.mark.parametrize(
    ("kernel", "label"),
    [
        (UNCLAIMED, "z3"),
        (SYMBOLIC.replace(COPY, COPY + FAR), "z3"),
        (SYMBOLIC.replace(COPY, COPY + STRIDE), "for all values"),
        (SYMBOLIC.replace("..16", "..999").replace("  %ub = pto.castptr %at", ALIGNED), "z3"),
    ],
)
def test_a_copy_without_a_question_keeps_its_label(kernel: str, label: str) -> None:
    (verdict,) = api.check(kernel, options=Options(prove="full"))
    said = {one.id: one.by for one in verdict.obligations if one.status == "proved"}
    assert (said["core/writes-once"], said["pto/len-burst"], said["pto/ub-align"]) == (label, "z3", "z3"), verdict
    left = [one for one in verdict.assumptions if "not asked" in one]
    assert any("core/writes-once" in one for one in left) is (label != "z3")


def test_nothing_that_folds_away_is_asked_of_the_solver() -> None:
    keep: dict[str, list[tuple[str, str, str]]] = {}
    api.check(PLAN, keep=keep)
    assert all("(assert false)" not in text for _, text, _ in keep["move"])


@pytest.mark.parametrize("path", ["sizes/loops.toml::load", "dma-engine/limits.toml::full-slice"])
def test_padding_of_a_whole_place_leaves_nothing_unasked(path: str) -> None:
    root = Path(__file__).resolve().parents[2]
    for verdict in api.check(str(root / "examples" / path), options=Options(prove="full")):
        assert not any("not asked" in said for said in verdict.assumptions), verdict


PIPELINE = """
schema = 1
target = "idma"
axes = { A = { min = 1, max = 64 }, T = 64 }

[transfer.load]
dtype  = "i8"
loop   = { t = "A" }
source = { tier = "mem", element = "A, T", view = { tile = "A", length = 1, start = "t" } }
dest   = { tier = "mem", base = "2^20", element = "T" }

[transfer.store]
dtype  = "i8"
loop   = { t = "A" }
source = { tier = "mem", base = "2^20", element = "T" }
dest   = { tier = "mem", base = "2^30", element = "A, T", view = { tile = "A", length = 1, start = "t" } }

[program.both]
step = [{ transfer = "load" }, { transfer = "store", after = ["load"] }]
"""
"""What is decided of the steps together at sizes beside those that were asked has no question."""


def test_what_the_questions_leave_out_is_said_and_never_confirmed(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PIPELINE)
    write_certificate(tmp_path / "cert", [(str(tmp_path / "plan.toml"), "both", None, FULL)])
    (verdict,) = json.loads((tmp_path / "cert" / MANIFEST).read_text())["plans"][0]["verdicts"]
    assert verdict["status"] == "proved"
    assert any("at sizes besides those that were asked" in said for said in verdict["not_covered"])
    found = check_certificate(tmp_path / "cert", solver=False)
    assert found.refused == []
    assert found.code == 3
    assert any("not covered" in said for said in found.open)


@pytest.fixture
def with_kernel(tmp_path: Path) -> tuple[Path, Manifest]:
    """The certificate of a plan that names a kernel in a file beside it, and its manifest."""
    for name in ("example-1.toml", "example-1.mlir"):
        shutil.copy(Path(__file__).resolve().parents[2] / "examples" / "pto" / name, tmp_path)
    folder = tmp_path / "cert"
    write_certificate(folder, [(str(tmp_path / "example-1.toml"), None, None, FULL)])
    return folder, json.loads((folder / MANIFEST).read_text())


def test_what_a_proof_supposes_stands_beside_its_verdict(tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[2] / "examples" / "pto" / "example-1.mlir").read_text()
    (tmp_path / "bare.mlir").write_text("\n".join(x for x in text.split("\n") if "dmaverify: gm" not in x))
    write_certificate(tmp_path / "cert", [(str(tmp_path / "bare.mlir"), None, None, FULL)])
    manifest = json.loads((tmp_path / "cert" / MANIFEST).read_text())
    supposed = manifest["plans"][0]["verdicts"][0]["conditions"]
    assert any("extent is not declared" in one for one in supposed)
    (line,) = (one for one in check_certificate(tmp_path / "cert", solver=False).said if "::" in one)
    assert line.partition("proved on pto if ")[2] == " and ".join(supposed)


LONG = """
schema = 1
target = "rngd"
axes = { A = 64, C = 8192 }
[transfer.t]
dtype = "i8"
source = { tier = "hbm", element = "A, C" }
dest = { tier = "dm", slice = "A", element = "C" }
read = "[A=64:8192, C=8192:1]:8192 HBM/D@0"
write = "[A=64:slice_stride, C=8192:1]:8192 DM/D@0"
"""


@pytest.mark.parametrize("readings", [{"rngd/packet-max": "unenforced"}, {}])
def test_the_readings_that_its_writer_chose_stand_in_a_certificate(tmp_path: Path, readings: dict[str, str]) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    write_certificate(tmp_path / "cert", [(str(tmp_path / "long.toml"), None, None, {**FULL, "readings": readings})])
    found = check_certificate(tmp_path / "cert", solver=False)
    said = [one for one in found.said if one.startswith("under the reading")]
    assert said == [f"under the reading {rule}={name}, which its writer chose" for rule, name in readings.items()]
    assert any("long.toml::t: proved" in one for one in found.said) is bool(readings)


def test_kernels_beside_a_plan_are_part_of_its_certificate(with_kernel: tuple[Path, Manifest]) -> None:
    folder, manifest = with_kernel
    assert (folder / "plans" / "000" / "example-1.mlir").read_bytes() == (folder.parent / "example-1.mlir").read_bytes()
    assert list(manifest["plans"][0]["beside"]) == ["example-1.mlir"]
    (folder.parent / "example-1.mlir").unlink()
    found = check_certificate(folder, solver=False)
    assert (found.refused, found.open) == ([], [])


def test_a_kernel_that_has_changed_since_is_told(with_kernel: tuple[Path, Manifest]) -> None:
    with (with_kernel[0].parent / "example-1.mlir").open("a") as kernel:
        kernel.write("// more\n")
    found = check_certificate(with_kernel[0], solver=False)
    assert (found.refused, found.code) == ([], 3)
    assert "example-1.mlir has changed since" in found.open[0]


@pytest.mark.parametrize("change", ["wrong", "left out", "another name", "none", "two"])
def test_a_kernel_that_is_not_the_one_judged_is_refused(change: str, with_kernel: tuple[Path, Manifest]) -> None:
    folder, manifest = with_kernel
    beside, file = manifest["plans"][0]["beside"], folder / "plans" / "000" / "example-1.mlir"
    text = file.read_bytes()
    if change == "wrong":
        file.write_bytes(text.replace(b"constant 32 : i64", b"constant 16 : i64"))
        assert file.read_bytes() != text
    elif change == "left out":
        file.unlink()
    elif change == "another name":
        file.rename(file.with_name("kernel.mlir"))
        beside["kernel.mlir"] = beside.pop("example-1.mlir")
    elif change == "none":
        beside.clear()
    else:
        file.with_name("more.mlir").write_bytes(text)
        beside["more.mlir"] = hash_of(text)
    if change == "wrong":
        beside["example-1.mlir"] = hash_of(file.read_bytes())
    manifest["seal"] = seal_of(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert check_certificate(folder, solver=False).refused


def test_a_machine_that_does_not_ship_is_not_confirmed(tmp_path: Path) -> None:
    import shutil

    shutil.copytree(Path("encodings/rngd"), tmp_path / "weak")
    data = tmp_path / "weak" / "target.toml"
    data.write_text(data.read_text(encoding="utf-8").replace("524288", "1048576"), encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN, encoding="utf-8")
    target = ("--target", str(tmp_path / "weak"))
    cli.invoke(["check", str(plan), "--no-execute", *target, "--certify", str(tmp_path / "c")])
    found = check_certificate(tmp_path / "c", solver=False)
    assert found.code != 0
    assert any("weak" in said for said in found.open)


def test_a_plan_of_a_machine_in_a_folder_has_a_certificate_that_says_what_it_does_not_hold(tmp_path: Path) -> None:
    plan = f"{Path(__file__).resolve().parents[2] / 'examples' / 'machines' / 'shim.toml'}::tile"
    for number, words in enumerate((["check", plan, "--no-execute", "--certify"], ["synth", plan, "--certificate"])):
        folder = tmp_path / str(number)
        done = cli.invoke([*words, str(folder)])
        found = check_certificate(folder, solver=False)
        assert (done, found.refused, found.code) == (0, [], 3)
        assert any(("files beside it" if number == 0 else "is not judged") in said for said in found.open)
        made = "not made again: 6 files of questions" if number == 0 else "no question was asked of a solver"
        assert any(said.startswith(made) for said in found.said)
        assert not any("asked again of z3" in said for said in found.said)
