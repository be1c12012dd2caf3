"""Nothing that a file says can hurt: every input has its verdict, within limits, and no file lies for it."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import io
import json
import os
import random
import re
import sqlite3
import time
import zlib
from contextlib import closing
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lab.draws import counted

import dmaverify as dv
from dmaverify.errors import Disagreement, InputError, InputErrors
from dmaverify.jobs.cache import Cache, base_of
from dmaverify.jobs.judge import FORMATS
from dmaverify.jobs.record import record_of
from dmaverify.jobs.requests import code_of_reply
from dmaverify.jobs.scope import only
from dmaverify.jobs.walk import walked
from dmaverify.prove.boundary import guarded
from dmaverify.prove.limits import Exhausted, Limits, bounded, bytes_of, seconds_of
from dmaverify.prove.smt import Query, Session
from dmaverify.verdict import Obligation, Status, Verdict

# ---------------------------------------------------------------- one bad input, one verdict

HOSTILE = {
    "undeclared.toml": 'schema = 1\ntarget = "rngd"\n[axes]\nA = 64\n[transfer.t]\ndtype = "i8"\n'
    'source = { tier = "hbm", element = "A, C" }\ndest = { tier = "dm", slice = "A / 4", element = "A % 4, C" }\n'
    'stream = { time = "A, C / 256", packet = "C % 256" }\n[program.p]\nstep = [{ transfer = "t" }]\n',
    "medium.toml": 'schema = 1\ntarget = "rngd"\n[axes]\nA = 64\nC = 256\n[transfer.t]\ndtype = "i8"\n'
    'source = { tier = "hbm", element = "A, C" }\ndest = { tier = "dm", slice = "A", element = "C" }\n'
    'read = "[A=64:256, C=256:1]:256 DM/D@(0, 0, 0, 0)"\nwrite = "[A=64:slice_stride, C=256:1]:256 DM/D@0"\n',
    "huge.toml": 'schema = 1\ntarget = "rngd"\n[axes]\nA = 1125899906842624\nC = 256\n[transfer.t]\ndtype = "i8"\n'
    'source = { tier = "hbm", element = "A, C" }\ndest = { tier = "dm", slice = "A", element = "C" }\n'
    'stream = { time = "A", packet = "C" }\n',
    "no.toml": "schema = 1\n[axes\n",
    "bytes.toml": "schema = 1\n\0",
    "deep.toml": "schema = 1\nx = " + "[" * 5000,
    "entries.toml": 'schema = 1\ntarget = "toy"\n[axes]\nA = 8\n[transfer.t]\ndtype = "i8"\n'
    'source = { tier = "gm", element = "A" }\ndest = { tier = "ub", element = "A" }\n'
    f'read = "[{"2:0, " * 3000}A=8:1]:8"\nwrite = "[A=8:1]:8"\n',
    "k.mlir": "func.func @f(",
}


def test_a_batch_with_hostile_inputs_gives_every_other_verdict(shell, good, wrong):
    for number in range(12):
        shell.write(good if number % 2 else wrong, f"plans/p{number:02}.toml")
    for name, text in HOSTILE.items():
        shell.write(text, f"plans/{name}")
    code, out, _ = shell("check", "plans", "--json")
    verdicts = json.loads(out)
    status = {Path(v["path"]).name: v["status"] for v in verdicts if Path(v["path"]).name.startswith("p")}
    assert status == {f"p{n:02}.toml": "proved" if n % 2 else "refuted" for n in range(12)}
    told = {Path(v["path"]).name: v["status"] for v in verdicts}
    assert set(told) == {*status, *HOSTILE}
    assert "proved" not in {told[name] for name in HOSTILE}
    assert code == 2


@pytest.mark.parametrize(
    ("raised", "status", "rule", "code"),
    [
        (InputError("bad"), "error", "core/input", 2),
        (InputErrors([InputError("a"), InputError("b")]), "error", "core/input", 2),
        (RecursionError(), "unknown", "core/limit", 3),
        (MemoryError(), "unknown", "core/limit", 3),
        (Exhausted("time"), "unknown", "core/limit", 3),
        (Disagreement("x"), "error", "core/disagreement", 4),
        (ZeroDivisionError("x"), "error", "core/internal", 4),
    ],
)
def test_whatever_is_raised_is_a_verdict_with_its_exit_code(raised, status, rule, code):
    from dmaverify.verdict import exit_code

    def judge() -> list[dv.Verdict]:
        raise raised

    (verdict,) = guarded(judge, Limits(), name="t", path="a.toml", line=3)
    assert (verdict.name, verdict.path, verdict.line, verdict.status.value) == ("t", "a.toml", 3, status)
    assert rule in {f.rule for f in verdict.findings} | {o.id for o in verdict.obligations}
    assert exit_code([verdict]) == code
    assert not verdict


def test_our_own_mistake_says_where_and_leaves_a_reduced_input(capsys, tmp_path, monkeypatch, good):
    from dmaverify.cli.app import invoke
    from dmaverify.jobs import verdicts

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.chdir(tmp_path)
    Path("bad.toml").write_text(good + "\n[transfer.other]" + good.partition("[transfer.swap]")[2])
    monkeypatch.setattr("dmaverify.prove.move.check.check_transfer", broken)
    assert verdicts
    assert invoke(["check", "bad.toml"]) == 4
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    assert "bad.toml::swap" in err
    (report,) = tmp_path.glob("dmaverify-report-*.toml")
    assert report.read_text().count("[transfer.") == 1


# ---------------------------------------------------------------- limits


def spinning() -> None:
    while True:
        pass


def test_python_code_ends_at_its_time_and_the_time_around_goes_on():
    started = time.monotonic()
    with bounded(Limits(timeout=5)):
        with pytest.raises(Exhausted, match=r"ran out of time: 0.2 s"), bounded(Limits(timeout=0.2)):
            spinning()
        assert time.monotonic() - started < 2


def test_memory_ends_at_its_limit_in_one_allocation_or_in_many():
    with pytest.raises(Exhausted, match="ran out of memory"), bounded(Limits(memory=64 << 20)):
        bytes(10**12)
    with pytest.raises(Exhausted, match="ran out of memory"), bounded(Limits(memory=64 << 20)):
        hoarding()


def hoarding() -> None:
    kept = []
    while True:
        kept.append(bytes(1000))


def holes(count: int) -> Query:
    """More pigeons than holes: hard for any solver."""
    names = [[f"p{i}_{j}" for j in range(count)] for i in range(count + 1)]
    some = [f"(>= (+ {' '.join(row)}) 1)" for row in names]
    none = [f"(<= (+ {a[j]} {b[j]}) 1)" for j in range(count) for i, a in enumerate(names) for b in names[:i]]
    return Query(tuple((name, 0, 2) for row in names for name in row), (*some, *none))


def test_the_solver_is_stopped_by_the_clock_and_counted_over_all_questions():
    started = time.monotonic()
    with pytest.raises(Exhausted), bounded(Limits(timeout=0.3)):
        Session(10**9).ask(holes(12))
    assert time.monotonic() - started < 5
    with bounded(Limits(resources=300_000)):
        assert Session(10**9).ask(holes(12)).status == "unknown"
        assert "resources" in Session(10**9).ask(holes(3)).why, "the total is one over all sessions"
    assert Session(10**9).ask(holes(3)).status == "unsat"


@pytest.mark.parametrize(("text", "value"), [("10", 10), ("1.5m", 90), ("250ms", 0.25), ("2h", 7200)])
def test_times_are_read(text, value):
    assert seconds_of(text) == value


@pytest.mark.parametrize(("text", "value"), [("1048576", 1 << 20), ("512M", 512 << 20), ("1GiB", 1 << 30)])
def test_amounts_of_memory_are_read(text, value):
    assert bytes_of(text) == value


def test_limits_come_from_the_settings_and_from_the_command_line(shell, good):
    shell.write(good)
    shell.write('timeout = "5s"\nmemory = "none"\n', "dmaverify.toml")
    shown = json.loads(shell("check", "--show-settings", "plan.toml")[1])
    assert (shown["timeout"], shown["memory"]) == (5, None)
    assert json.loads(shell("check", "--show-settings", "--timeout", "1m", "plan.toml")[1])["timeout"] == 60
    assert shell("check", "--timeout", "soon", "plan.toml")[0] == 2
    assert shell("check", "--timeout", "1ms", "--memory", "none", "plan.toml")[0] in (0, 3)


# ---------------------------------------------------------------- selection


@pytest.mark.parametrize("option", ["--select", "--ignore"])
@pytest.mark.parametrize("rule", ["core/same-elment", "cor/*", "*", "toy/algin"])
def test_a_rule_that_nothing_has_is_refused_with_a_suggestion(shell, good, option, rule):
    shell.write(good)
    code, _, err = shell("check", "plan.toml", option, rule)
    assert code == 2
    assert rule in err
    assert "help" in err


@pytest.mark.parametrize(
    "line", ['select = ["core/x"]', 'ignore = ["toy/algin"]', 'per-path-ignore = { "*" = ["core/coverz"] }']
)
def test_a_rule_that_nothing_has_is_refused_in_settings(shell, good, line):
    shell.write(good)
    shell.write(f"{line}\n", "dmaverify.toml")
    code, _, err = shell("check", "plan.toml")
    assert code == 2
    assert "dmaverify.toml" in err


@pytest.mark.parametrize(("file", "target"), [("k.mlir", "rngd"), ("k.mlir", "idma"), ("jobs.txt", "pto")])
def test_a_file_of_one_machine_is_not_judged_in_the_name_of_another(shell, file, target):
    kernel = Path(__file__).parents[2] / "examples" / "pto" / "example-1.mlir"
    shell.write({"k.mlir": kernel.read_text(), "jobs.txt": "64\n0\n4096\n"}[file], file)
    code, out, _ = shell("check", file, "--target", target)
    assert code == 2
    assert f"not {target}" in out
    own = {"k.mlir": "pto", "jobs.txt": "idma"}[file]
    assert shell("check", file, "--target", own)[1] == shell("check", file)[1]


def test_what_was_selected_is_all_that_is_proved(shell, wrong):
    shell.write(wrong)
    code, out, _ = shell("check", "plan.toml", "--select", "core/in-bounds")
    assert code == 0
    assert "PROVED of core/in-bounds only" in out
    assert not re.search(r"PROVED +(swap|core)", out)
    (verdict,) = json.loads(shell("check", "plan.toml", "--select", "core/in-bounds", "--json")[1])
    assert verdict["scope"] == "of core/in-bounds only"
    assert shell("check", "plan.toml", "--select", "core/covers")[0] == 1


def test_what_was_selected_and_not_judged_is_unknown(shell, good):
    shell.write(good)
    assert shell("check", "plan.toml", "--select", "core/tiles-once")[0] == 3
    shell.write(good.replace("A = 8", "A = 0"), "zero.toml")
    assert shell("check", "zero.toml", "--ignore", "core/well-formed")[0] == 3, "nothing else was judged"


@pytest.mark.parametrize(
    ("states", "select", "status"),
    [
        (("proved", "proved"), "core/*", Status.PROVED),
        (("proved", "unknown"), "core/*", Status.UNKNOWN),
        (("proved", "not judged"), "core/*", Status.UNKNOWN),
        (("proved", "not judged"), "core/in-bounds", Status.PROVED),
        (("not judged", "proved"), "core/in-bounds", Status.UNKNOWN),
    ],
)
def test_of_what_was_selected_each_part_is_decided(states, select, status):
    parts = zip(("core/in-bounds", "core/covers"), states, strict=True)
    whole = Verdict("t", "toy", Status.UNKNOWN, (), tuple(Obligation(i, s, "", "") for i, s in parts))
    assert [v.status for v in only([whole], [select], [])] == [status]


@pytest.mark.parametrize(("state", "status"), [("proved", Status.PROVED), ("unknown", Status.UNKNOWN)])
def test_what_all_rules_of_a_machine_leave_open_is_open_of_each(state, status):
    whole = Verdict("t", "rngd", Status.UNKNOWN, (), (Obligation("rngd/*", state, "", ""),))
    assert [v.status for v in only([whole], ["rngd/dm-write-align"], [])] == [status]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ([], 2),
        ([("proved", True)], 0),
        ([("proved", True), ("error", True)], 2),
        ([("refuted", False), ("unknown", None)], 1),
        ([("proved", True), ("unknown", None)], 3),
    ],
)
def test_an_answer_that_is_no_pass_asks_for_another_exit_code(reply, code):
    assert code_of_reply([{"status": s, "as_expected": met, "findings": []} for s, met in reply]) == code


# ---------------------------------------------------------------- folders


def test_a_folder_has_its_drivers_with_an_engine_and_without(shell, good):
    shell.write("int f(int n) { return n; }\n", "src/other.c")
    code, _, err = shell("check", ".")
    assert code == 2
    assert "no driver (*.c that launches transfers)" in err
    launch = "snrt_dma_start_1d((void *)0x1000, (void *)0x2000, 64);"
    shell.write(f"void f(void) {{ {launch} }}\n", "src/driver.c")
    shell.write(good, "a.toml")
    for engine in ((), ("--engine", "manticore")):
        code, out, _ = shell("check", ".", *engine, "--format", "json")
        assert code == 0
        assert {one["path"] for one in json.loads(out)} == {"a.toml", "src/driver.c"}
    assert [one.path for one in walked(".") if not one.taken] == ["src/other.c"]


def test_the_walk_takes_what_looks_like_a_plan_and_says_why_it_left_the_rest(shell, good):
    (shell.folder / ".git").mkdir()
    for name in ("a.toml", "b.gen.toml", "sub/c.toml", "keep/d.toml", "node_modules/e.toml", "x/target/f.toml"):
        shell.write(good, name)
    shell.write("", "x/Cargo.toml")
    shell.write("*.gen.toml\n/sub/\nkeep/*\n!keep/d.toml\n", ".gitignore")
    shell.write("[tool.x]\na = 1\n", "other.toml")
    shell.write("#" * 70_000 + "\n[transfer.t\n", "late.toml")
    os.mkfifo(shell.folder / "pipe.toml")
    seen = {one.path: one for one in walked(".")}
    assert sorted(path for path, one in seen.items() if one.taken) == ["a.toml", "keep/d.toml", "late.toml"]
    assert seen["b.gen.toml"].why == "is ignored (.gitignore)"
    assert {"sub/", "node_modules/", "x/target/", "pipe.toml", "other.toml"} <= set(seen)
    code, _, err = shell("check", ".")
    assert code == 2, "late.toml looks like a plan and cannot be read"
    assert "left out by .gitignore or the settings: 2 paths" in err


# ---------------------------------------------------------------- confinement


def outside(shell, tmp_path_factory) -> Path:
    """A file beside the project that must not be read."""
    (shell.folder / ".git").mkdir()
    folder = tmp_path_factory.mktemp("secret")
    (folder / "k.mlir").write_text("the secret of the machine\n")
    (folder / "target.toml").write_text("the secret of the machine\n")
    return folder


KERNEL = 'schema = 1\ntarget = "pto"\n[axes]\nA = 1\n[kernel.k]\nfile = "{}"\n'


def test_a_plan_names_no_file_outside_of_its_project(shell, tmp_path_factory):
    away = outside(shell, tmp_path_factory)
    (shell.folder / "link.mlir").symlink_to(away / "k.mlir")
    (shell.folder / "folder").symlink_to(away)
    up = os.path.relpath(away / "k.mlir", shell.folder)
    for file in (str(away / "k.mlir"), up, "link.mlir", "folder/k.mlir"):
        shell.write(KERNEL.format(file))
        code, out, err = shell("check", "plan.toml")
        assert code == 2
        assert "lies outside of the project" in out
        assert "secret of" not in out + err
    code, out, _ = shell("check", "plan.toml", "--allow-path", str(away))
    assert "lies outside" not in out, "the user, and no file, may allow it"
    shell.write(KERNEL.format("notes.env"))
    shell.write("the secret of the project", "notes.env")
    assert "is no kernel" in shell("check", "plan.toml")[1]
    shell.write(
        f'schema = 1\ntarget = "{away}"\n[axes]\nA = 1\n[transfer.t]\ndtype = "i8"\n'
        'source = { tier = "gm", element = "A" }\ndest = { tier = "ub", element = "A" }\n'
    )
    assert "lies outside of the project" in shell("check", "plan.toml")[1]
    shell.write(KERNEL.format("k.mlir").replace('"pto"', '"~nobody-at-all/x"'))
    assert shell("check", "plan.toml")[0] == 2


@pytest.mark.parametrize(
    ("link", "named"),
    [
        ("dmaverify.toml", "plan.toml"), ("pyproject.toml", "plan.toml"), ("Cargo.toml", "src/lib.rs"),
        (".gitignore", "."), ("link.toml", "."), ("link.toml", "link.toml"), ("link.mlir", "link.mlir"),
        ("link.pto", "link.pto"), ("link.rs", "link.rs"), ("src/away.rs", "src/lib.rs"), ("link.c", "link.c"),
        ("link.job", "link.job"), ("link.csv", "link.csv"), ("own/target.toml", "machine.toml"),
        ("own/rules.smt2", "machine.toml"), ("base.json", "plan.toml --baseline base.json"),
    ],
)  # fmt: skip
def test_a_link_out_of_the_project_is_not_followed_whoever_reads_it(shell, good, link, named, tmp_path_factory):
    away = tmp_path_factory.mktemp("away") / "file"
    away.write_text('dmaverify secret: [sesame = "open\n')
    shell.write(good)
    shell.write("mod away;\n", "src/lib.rs")
    shell.write(good.replace('"toy"', '"own"'), "machine.toml")
    toy = Path(__file__).resolve().parents[2] / "encodings" / "toy"
    for name in ("target.toml", "rules.smt2"):
        shell.write((toy / name).read_text(), f"own/{name}")
    (shell.folder / link).unlink(missing_ok=True)
    (shell.folder / link).symlink_to(away)
    _, out, err = shell("check", *named.split(), "-v")
    assert "sesame" not in out + err
    assert "Traceback" not in out + err


LOADS = """
type Chip = m![1];
#[device(chip = 1)]
pub fn load(ctx: &mut Context, input: &HbmTensor<bf16, Chip, m![Row, Col]>) {
    let rows = input.to_dm::<m![Row / 256], m![Row % 256], m![Col]>(&mut ctx.tdma);
}
"""


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("mod link; use link::*;", 3), ("mod own; use own::*;", 0), ("use away::*;", 3), ("use beside::*;", 0),
        ('#[path = "../../away/src/lib.rs"] mod link; use link::*;', 3), ('include!("../../away/src/lib.rs");', 3),
    ],
)  # fmt: skip
def test_a_kernel_reads_no_module_or_package_outside_of_its_project(shell, text, code, tmp_path_factory):
    away = tmp_path_factory.mktemp("away")
    axes = "use furiosa_opt_std::prelude::*;\naxes![Row = 512, Col = 64];\n"
    for folder in (away, shell.folder / "beside"):
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "lib.rs").write_text(axes)
        (folder / "src" / "mod.rs").write_text(axes)
        (folder / "Cargo.toml").write_text(f'[package]\nname = "{folder.name}"\n')
    up = os.path.relpath(away, shell.folder)
    shell.write("", ".git/HEAD")
    shell.write(f'[package]\nname = "own"\n[dependencies]\naway.path = "{up}"\nbeside.path = "beside"\n', "Cargo.toml")
    shell.write(text.replace("../../away", f"../{up}") + LOADS, "src/lib.rs")
    shell.write(axes, "src/own/mod.rs")
    (shell.folder / "src" / "link").symlink_to(away / "src")
    assert shell("check", "src/lib.rs")[0] == code


def test_settings_read_nothing_outside_of_their_project(shell, good, tmp_path_factory):
    away = outside(shell, tmp_path_factory)
    shell.write(good.replace('target = "toy"', ""), "sub/plan.toml")
    shell.write('target = "own"\n', "dmaverify.toml")
    toy = Path(__file__).resolve().parents[2] / "encodings" / "toy"
    for name in ("target.toml", "rules.smt2"):
        shell.write((toy / name).read_text(), f"own/{name}")
    assert shell("check", "sub/plan.toml")[0] == 0, "a machine of the settings lies beside them"
    (shell.folder / "own-link").symlink_to(away)
    for name in ("own-link", str(away), os.path.relpath(away, shell.folder)):
        shell.write(f'target = "{name}"\n', "dmaverify.toml")
        code, out, err = shell("check", "sub/plan.toml")
        assert (code, "lies outside of the project" in err) == (2, True)
        assert "secret of" not in out + err
    (shell.folder / "dmaverify.toml").unlink()
    (shell.folder / "dmaverify.toml").symlink_to(away / "target.toml")
    assert shell("check", "sub/plan.toml")[0] == 2, "settings that cannot be read are not passed over"


def test_settings_write_nothing_outside_of_their_folder(shell, good, tmp_path_factory):
    away = tmp_path_factory.mktemp("away")
    shell.write(good)
    for line in (f'output = ["json={away}/x.json"]', 'output = ["json=../x.json"]', f'cache-dir = "{away}"'):
        shell.write(f"{line}\n", "dmaverify.toml")
        assert shell("check", "plan.toml")[0] == 2
    (shell.folder / "out.json").symlink_to(away / "x.json")
    shell.write('output = ["json=out.json"]\n', "dmaverify.toml")
    assert shell("check", "plan.toml")[0] == 2
    assert list(away.iterdir()) == []
    assert shell("check", "--isolated", "plan.toml", "--output", "json=out.json")[0] == 0
    assert not (shell.folder / "out.json").is_symlink(), "a link is replaced, never followed"
    assert list(away.iterdir()) == []


# ---------------------------------------------------------------- a red plan stays red


def test_a_forged_cache_entry_is_dropped_and_reported(shell, good, wrong, monkeypatch, tmp_path_factory):
    monkeypatch.delenv("DMAVERIFY_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("user")))
    shell.write(wrong)
    shell.write('cache-dir = "kept"\n', "dmaverify.toml")
    assert shell("check", "plan.toml")[0] == 1
    file = shell.folder / "kept/proofs.sqlite"
    with closing(sqlite3.connect(file)) as database, database:
        (key,) = database.execute("select key from proof").fetchone()
        proved = dv.check(shell.write(good, "good.toml"))
        body = zlib.compress(json.dumps(record_of(proved)).encode())
        for code in (hashlib.sha256(key.encode() + body), hmac.new(b"guessed", key.encode() + body, hashlib.sha256)):
            database.execute("update proof set digest = ?, body = ?", (code.hexdigest(), body))
    code, out, err = shell("check", "plan.toml", "--locked")
    assert (code, "REFUTED" in out, "cache" in err) == (1, True, False)
    code, out, err = shell("check", "plan.toml")
    assert (code, "REFUTED" in out) == (1, True)
    assert "cache: 1 entry dropped" in err


def test_no_file_of_a_project_makes_a_red_plan_green_in_silence(shell, wrong):
    """Those that may change the outcome say so in the verdict line, or beside it."""
    shell.write(wrong)
    assert shell("check", "plan.toml")[0] == 1
    tries = {
        'ignore = ["core/*", "toy/*"]': "but for core/*, toy/*",
        'select = ["core/in-bounds"]': "of core/in-bounds only",
        'per-path-ignore = { "*" = ["core/*"] }': "but for core/*",
    }
    for text, said in tries.items():
        shell.write(f"{text}\n", "dmaverify.toml")
        code, out, _ = shell("check", "plan.toml")
        line = next(line for line in out.splitlines() if re.match(r"(PROVED|REFUTED|UNKNOWN)", line))
        assert code != 0 or said in line, text
        for form in ("concise", "summary", "github", "gitlab", "rdjson", "sarif", "junit", "html", "json"):
            code, out, _ = shell("check", "plan.toml", "--format", form)
            assert code != 0 or said in out.replace("\\", ""), (text, form)
    shell.write('exclude = ["*.toml"]\n', "dmaverify.toml")
    assert shell("check", ".")[0] == 2
    shell.write("", "dmaverify.toml")
    shell.write(wrong.replace("[transfer.swap]", "# dmaverify: allow(core/same-element) so it is\n[transfer.swap]"))
    assert "suppressed" in shell("check", "plan.toml")[1]


def test_a_baseline_excuses_only_what_it_names_and_says_so(shell, wrong):
    shell.write(wrong)
    assert shell("check", "plan.toml", "--write-baseline", "b.json")[0] == 0
    code, out, _ = shell("check", "plan.toml", "--baseline", "b.json")
    line = next(line for line in out.splitlines() if re.match(r"(PROVED|REFUTED|UNKNOWN|EXCUSED)", line))
    assert "baseline" in out, out
    assert not line.startswith("PROVED"), line
    shell.write('baseline = "b.json"\n', "dmaverify.toml")
    assert "baseline" in shell("check", "plan.toml")[1]
    for forged in ('{"dmaverify": 1, "findings": [{"fingerprint": "*", "rule": "core/*", "count": 99}]}', "{}", "[]"):
        shell.write(forged, "b.json")
        assert shell("check", "plan.toml")[0] in (1, 2), forged
    assert code in (0, 1)


def test_a_target_of_the_repository_is_named_in_the_verdict(shell, good):
    """A copy of a machine without its rules may prove more: the line says whose rules they are."""
    shell.write(good.replace("A=8:128", "A=8:130").replace("B=4:32", "B=4:33"))
    assert shell("check", "plan.toml")[0] == 1
    toy = Path(__file__).resolve().parents[2] / "encodings/toy"
    shell.write((toy / "rules.smt2").read_text(encoding="utf-8"), "toy/rules.smt2")
    shell.write((toy / "target.toml").read_text(encoding="utf-8"), "toy/target.toml")
    assert shell("check", "plan.toml")[0] == 1, "a folder of that name stands for no machine that ships"
    shell.write('target = "./toy"\n', "dmaverify.toml")
    code, out, _ = shell("check", "plan.toml")
    assert code == 1, "no target lifts what a move promises"
    assert "./toy" in out or "toy" in out


def test_no_other_file_beside_a_red_plan_makes_it_green(shell, wrong):
    shell.write(wrong)
    beside = {
        "conftest.py": "raise SystemExit(0)\n", "sitecustomize.py": "raise SystemExit(0)\n",
        "dmaverify/__init__.py": "raise SystemExit(0)\n", "z3.py": "raise SystemExit(0)\n",
        ".dmaverify_cache/proofs.sqlite": "", ".dmaverify/plan.toml": "", "setup.cfg": "[dmaverify]\nignore = *\n",
        "tox.ini": "[dmaverify]\nignore = *\n", ".env": "DMAVERIFY_IGNORE=*\n", "plan.toml.expect": "proved\n",
    }  # fmt: skip
    for name, text in beside.items():
        shell.write(text, name)
    assert shell("check", "plan.toml")[0] == 1
    assert shell("check", ".")[0] in (1, 2)
    shell.write("*\n", ".gitignore")
    assert shell("check", ".")[0] == 2, "a walk that finds nothing is no pass"
    assert shell("check", "plan.toml")[0] == 1, "what is named is checked, ignored or not"


def test_a_cache_that_never_ends_its_answer_is_left(shell, wrong, monkeypatch, tmp_path_factory):
    monkeypatch.delenv("DMAVERIFY_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("user")))
    shell.write(wrong)
    shell.write('cache-dir = "kept"\n', "dmaverify.toml")
    (shell.folder / "kept").mkdir()
    with closing(sqlite3.connect(shell.folder / "kept/proofs.sqlite")) as database, database:
        database.execute(
            "create view proof as with recursive n(i) as (select 1 union all select i + 1 from n) "
            "select 'a' as key, 'b' as digest, 'c' as body, i as used from n where i < 0"
        )
    started = time.monotonic()
    assert shell("check", "plan.toml")[0] == 1
    assert time.monotonic() - started < 10


def test_a_pattern_of_gitignore_takes_no_time_to_fail(tmp_path):
    deep = tmp_path.joinpath(*["a"] * 24)
    deep.mkdir(parents=True)
    (deep / "plan.toml").write_text("schema = 1\n")
    (tmp_path / ".gitignore").write_text("**/a/" * 12 + "b\n" + "*a" * 40 + "b\n" + "**/" * 40 + "x\n")
    started = time.monotonic()
    (seen,) = [one for one in walked(str(tmp_path)) if one.path.endswith("plan.toml")]
    assert seen.taken
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("line", "path", "left"),
    [("a/**", "a/p.toml", True), ("**/b", "a/b/p.toml", True), ("a/**/c", "a/c/p.toml", True),
     ("/p.toml", "a/p.toml", False), ("p.*", "a/p.toml", True), ("a/*", "a/b/p.toml", True),
     ("b/", "a/b/p.toml", True), ("a/c", "a/b/p.toml", False)],
)  # fmt: skip
def test_patterns_of_gitignore_mean_what_git_means(tmp_path, line, path, left):
    (tmp_path / ".gitignore").write_text(f"{line}\n")
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("schema = 1\n")
    assert any(one.taken for one in walked(str(tmp_path)) if one.path.endswith("p.toml")) is not left


def test_what_is_no_regular_file_is_never_waited_for(shell, wrong):
    for name in (".gitignore", "dmaverify.toml", "p.rs", "k.mlir", "c.csv", "b.json"):
        os.mkfifo(shell.folder / name)
    shell.write(wrong)
    started = time.monotonic()
    assert shell("check", ".", "--isolated")[0] == 1
    tries = (("check", "plan.toml"), ("check", "c.csv", "--isolated"), ("check", "plan.toml", "--baseline", "b.json"))
    for words in tries:
        assert shell(*words)[0] in (1, 2), words
    assert time.monotonic() - started < 20


# ---------------------------------------------------------------- what is written


def test_nothing_is_written_through_a_link(shell, good, tmp_path_factory):
    """Every command that writes a file replaces a link of that name; what it leads to stays."""
    away = tmp_path_factory.mktemp("away") / "kept.txt"
    shell.write(good.replace("read   =", "# read   =").replace("write  =", "# write  ="), "open.toml")
    shell.write(good)
    writes = {
        "synth.toml": ("synth", "open.toml", "--output", "synth.toml"),
        "x.json": ("check", "plan.toml", "--output", "json=x.json"),
        "b.json": ("check", "plan.toml", "--write-baseline", "b.json"),
        "part.jsonl": ("sweep", "plan.toml", "--out", "part.jsonl"),
        "test_back.py": ("check", "plan.toml", "--playback", "test_back.py"),
        "c/MANIFEST.json": ("check", "plan.toml", "--certify", "c"),
    }
    for name, words in writes.items():
        away.write_text("kept")
        path = shell.folder / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(away)
        shell(*words)
        assert away.read_text() == "kept", name


def test_only_one_place_writes_files():
    """The package writes by `write_text` and `write_bytes` of language/files, never by a path's own."""
    package = Path(dv.__file__).parent
    own = re.compile(r"\.write_(text|bytes)\(|\bopen\([^)]*[\"'][wax]b?[\"']")
    where = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if own.search(line) and "fdopen" not in line
    }
    assert where <= {"language/files.py", "jobs/fix_kernels.py", "cli/check.py"}, where


# ---------------------------------------------------------------- output is data

NAMES = [
    "a\u202eb", "a\x1b[31mb", "a\x07b", "<script>alert(1)</script>", "]]><x>", "a,b::error::c%0A", "a\u2066b\u200fc",
    "```\n<script>alert(1)</script>",
]  # fmt: skip
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "form", ["full", "concise", "json", "json-lines", "sarif", "junit", "github", "gitlab", "summary", "html"]
)
def test_a_hostile_name_is_data_in_every_format(shell, good, form, name):
    text = good.replace("A = 8", f"A = 8\n{json.dumps(name)} = 4").replace('"B, A, C"', json.dumps(f"B, {name}, C"), 1)
    stem = name.translate({ord(char): "_" for char in "/`\n"})
    shell.write(text.replace("\\u007f", "\x7f"), f"{stem}.toml")
    code, out, err = shell("check", ".", "--format", form)
    assert code in (1, 2)
    assert not CONTROL.search(out.replace("\r\n", "\n") + err), "control and bidirectional characters are escaped"
    if form in ("json", "sarif", "gitlab"):
        json.loads(out)
    elif form == "json-lines":
        assert all(isinstance(json.loads(line), dict) for line in out.splitlines())
    elif form == "junit":
        ElementTree.fromstring(out)
    elif form == "github":
        assert all(re.match(r"::(error|warning|notice) [^:]*::", line) for line in out.splitlines())
    elif form in ("html", "summary"):
        fenced = re.compile(r"^(`{3,})text$.*?^\1$", re.MULTILINE | re.DOTALL)
        assert "<script>alert" not in fenced.sub("", out)


FILES = ("new\nline.toml", "esc\x1b[31mred.toml", "bidi\u202egreen.toml", "a::b.toml", "schema = 1\n[axes]\n# .toml")


@pytest.mark.parametrize("forms", counted(1, len(FORMATS)))
@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_name_is_a_path_and_shown_escaped(shell, good, wrong, name, forms, monkeypatch):
    """Neither its lines nor its `::` are read as anything but the name of a file. Judged once for all formats."""
    monkeypatch.delenv("DMAVERIFY_NO_CACHE")
    for text, code in ((good, 0), (wrong, 1)):
        shell.write(text, name)
        for paths in ((".",), (name,), ("./" + name,)):
            for form in FORMATS if paths == (name,) else FORMATS[:forms]:
                found, out, err = shell("check", *paths, "--format", form)
                assert found == code, (paths, form, out, err)
                assert not CONTROL.search(out.replace("\r\n", "\n") + err), form
                assert "new\nline" not in out + err, form
    for command in ("derive", "cost", "run"):
        code, out, err = shell(command, name)
        assert code != 4
        assert "<plan>" not in out + err
    assert shell("check", "no such\nfile.toml")[0] == 2


def test_what_the_solver_and_the_reader_share_of_the_cache_is_one_key(shell, good):
    path = str(shell.write(good))
    job = (path, None, None, {"readings": {}, "rlimit": 7})
    assert base_of(job) == base_of(job)
    assert base_of((path, None, None, {"readings": {}, "rlimit": 7, "allow": ("/tmp",)})) != base_of(job)
    assert Cache(shell.folder / "nowhere").get("x") is None


# ---------------------------------------------------------------- everyday words of the command line


def test_a_line_selects_the_transfer_that_it_stands_in(shell, good, wrong):
    other = wrong.partition("[transfer.swap]")[2]
    shell.write(f"{good}\n[transfer.other]{other}")
    last = len(good.splitlines()) + 4
    assert [v["name"] for v in json.loads(shell("check", f"plan.toml:{last}", "--json")[1])] == ["other"]
    assert [v["name"] for v in json.loads(shell("check", "plan.toml:10:3", "--json")[1])] == ["swap"]
    assert shell("check", "plan.toml:2")[0] == 2


def test_colours_are_forced_and_taken_away(shell, good, monkeypatch):
    shell.write(good)
    assert "\x1b[" not in shell("check", "plan.toml")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in shell("check", "plan.toml")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in shell("check", "plan.toml")[1]


@pytest.mark.parametrize(
    ("no", "force", "term", "terminal", "coloured"),
    [
        (None, None, "xterm", True, True),
        (None, None, "xterm", False, False),
        (None, None, "dumb", True, False),
        (None, "1", "dumb", False, True),
        (None, "0", "dumb", True, False),
        (None, "0", "xterm", True, True),
        (None, "", "xterm", False, False),
        ("", None, "xterm", True, True),
        ("1", None, "xterm", True, False),
        ("1", "1", "xterm", True, False),
        ("0", "1", "dumb", True, False),
    ],
)
def test_no_color_wins_over_force_color_over_a_dumb_terminal_over_a_terminal(
    monkeypatch, no, force, term, terminal, coloured
):
    from dmaverify.cli.screen import _colour

    for name, value in (("NO_COLOR", no), ("FORCE_COLOR", force), ("TERM", term)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    assert _colour(stream) is coloured


def test_one_error_type_covers_all_that_cannot_be_read_or_run(tmp_path, good):
    from dmaverify.execute.address import Aliased, TooLarge

    assert issubclass(dv.InputErrors, dv.InputError)
    assert issubclass(TooLarge, dv.InputError)
    assert issubclass(Aliased, dv.InputError)
    for text in ("", "x", "schema = 1\n", good.replace("A = 8", "A = -1")):
        (tmp_path / "p.toml").write_text(text)
        with pytest.raises(dv.InputError):
            dv.check(tmp_path / "p.toml")
    (verdict,) = dv.check(good)
    assert verdict
    assert not dv.check(good.replace("A=8:128", "A=8:64"))[0]


# ---------------------------------------------------------------- what was found before


def fuzzer(name):
    """A module of tests/fuzz."""
    file = Path(__file__).resolve().parents[1] / f"fuzz/{name}.py"
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", file)
    assert spec is not None
    assert spec.loader is not None
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    return fuzz


def test_behind_a_clean_pass_over_preconditions_nothing_goes_wrong():
    fuzz = fuzzer("preconditions")
    found = [fuzz.tried(fuzz.drawn(random.Random(f"suite-{number}"))) for number in range(24)]
    assert [wrong for _, wrong in found if wrong] == []
    assert {kind for kind, _ in found} == {"unread", "meaningless", "clean"}


@pytest.mark.parametrize("rounds", counted(1, 40))
def test_inputs_that_failed_once_fail_no_more(rounds):
    """The corpus of `make fuzz-inputs`."""
    fuzz = fuzzer("inputs")
    table = fuzz.kinds()
    assert fuzz.replayed(table) == {}
    for number, kind in enumerate(("plan", "mlir", "settings", "cells", "target") * rounds):
        text = fuzz.one(kind, "suite", number, table)
        assert fuzz.tried(table[kind][0], text) == [], text


# ---------------------------------------------------------------- Ctrl-C, and limits of a whole command


@pytest.mark.parametrize("ends", [KeyboardInterrupt(), Exhausted("time", "ran out of time: 1 s")])
@pytest.mark.parametrize(
    ("command", "place"), [("synth --no-simulate", "jobs.many_moves.told_move"), ("cost", "cli.priced._transfer")]
)
def test_what_was_done_before_a_command_was_ended_is_told(shell, monkeypatch, command, place, ends):
    room, _, name = f"dmaverify.{place}".rpartition(".")
    real, calls = getattr(import_module(room), name), []

    def second_time(*given):
        calls.append(given)
        if len(calls) == 2:
            raise ends
        return real(*given)

    entry = """
[transfer.{}]
dtype  = "i8"
source = {{ tier = "hbm", element = "A, C" }}
dest   = {{ tier = "hbm", base = 65536, element = "A, C" }}
stream = {{ time = "A", packet = "C" }}
"""
    shell.write('schema = 1\ntarget = "rngd"\naxes = { A = 8, C = 32 }\n' + entry.format("one") + entry.format("two"))
    monkeypatch.setattr(f"{room}.{name}", second_time)
    code, out, err = shell(*command.split(), "plan.toml")
    assert code == 3
    assert "one" in out
    assert "two" not in out
    assert ("interrupted" if isinstance(ends, KeyboardInterrupt) else "ran out of time") in err
