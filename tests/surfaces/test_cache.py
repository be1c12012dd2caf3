"""The proof cache: what it knows is not asked again, and nothing that it holds can make a wrong plan right."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dmaverify as dv
from dmaverify.jobs import cache as jobs_cache
from dmaverify.jobs.cache import Cache, base_of, cache_of, has_heard, keepable, key_of
from dmaverify.jobs.judge import Job, listened_job
from dmaverify.jobs.reach import texts_digest
from dmaverify.jobs.record import BadRecord, Unrecordable, record_of, verdicts_of
from dmaverify.language.asked import CHANGED, FILE, INSIDE, NAMES, REAL, TEXT, asking, join, listening, note
from dmaverify.language.files import asked_again, is_file, is_inside, read_bytes, resolved, walk
from dmaverify.verdict import Obligation, Status, Verdict

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def cached(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache is on, and the user is a new one; the folder of their caches."""
    monkeypatch.delenv("DMAVERIFY_NO_CACHE", raising=False)
    home = tmp_path_factory.mktemp("user")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    return home / "dmaverify"


# ---------------------------------------------------------------- records


def shown(verdicts: list[Verdict]) -> list[str]:
    from dmaverify.report.text import render_verdict

    return [render_verdict(v, verbose=True) for v in verdicts] + [json.dumps(record_of(verdicts))]


@pytest.mark.parametrize("file", ["broken.toml", "toy.toml", "dma-engine/basic.toml", "programs/cumulative.toml"])
def test_a_record_gives_back_what_it_was_made_of(file: str) -> None:
    verdicts = dv.check(ROOT / "examples" / file)
    back = verdicts_of(json.loads(json.dumps(record_of(verdicts))))
    assert shown(back) == shown(verdicts)
    assert [replace(v, findings=()) for v in back] == [replace(v, findings=()) for v in verdicts]
    assert [f.values for v in back for f in v.findings] == [dict(f.values) for v in verdicts for f in v.findings]
    assert [f.witness for v in back for f in v.findings] == [f.witness for v in verdicts for f in v.findings]


PROVED = Verdict("t", "toy", Status.PROVED, path="a.toml", line=3, claim="all 8 bytes")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@given(VALUES)
def test_values_keep_their_types(value: object) -> None:
    finding = dv.Finding("a/b", dv.Severity.ADVICE, "m", values={"v": value})
    (back,) = verdicts_of(json.loads(json.dumps(record_of([replace(PROVED, findings=(finding,))]))))
    assert back.findings[0].values == {"v": value}
    assert repr(back.findings[0].values["v"]) == repr(value)


def test_what_has_no_exact_form_is_refused() -> None:
    for value in (Status.PROVED, {1, 2}, object(), float("nan")):
        finding = dv.Finding("a/b", dv.Severity.ADVICE, "m", values={"v": value})
        with pytest.raises(Unrecordable):
            record_of([replace(PROVED, findings=(finding,))])


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JUNK, st.sampled_from(["verdicts", "texts"]))
def test_data_that_is_no_record_is_refused_and_never_crashes(junk: object, key: str) -> None:
    with pytest.raises(BadRecord):
        verdicts_of(junk)
    whole = record_of([PROVED])
    try:
        found = verdicts_of({**whole, key: junk})
    except BadRecord:
        return
    assert found == [] or key == "texts"


# ---------------------------------------------------------------- hits and misses


def test_the_second_run_judges_nothing_and_says_the_same(shell, good, wrong, counted, cached):
    shell.write(good, "plans/a.toml")
    shell.write(wrong, "plans/b.toml")
    first = shell("check", "plans", "-v")
    assert counted() == 2
    assert shell("check", "plans", "-v") == first
    assert counted() == 2
    assert shell("check", "plans", "-v", "--no-cache") == first
    assert counted() == 4
    assert shell("check", "plans", "-v", "--locked") == first
    assert counted() == 6
    assert sorted(p.name for p in shell.folder.iterdir()) == ["plans"], "nothing is kept in the checkout"
    assert (cached / "key").stat().st_mode & 0o777 == 0o600


def keeps(cache: Cache, job: Job) -> None:
    """Judges a job and keeps what was found."""
    cache.keep(job, *listened_job(job))
    assert finds(cache, job), job


def finds(cache: Cache, job: Job) -> bool:
    return cache.find(job, {}) is not None


def test_whatever_is_asked_of_a_file_is_part_of_the_key(shell, good, monkeypatch):
    path = str(shell.write(good))
    settings = {"readings": {}, "rlimit": 7, "cross_check": 0}

    def key(path: str = path, name: str | None = None, target: str | None = None, **more: object) -> str | None:
        return base_of((path, name, target, {**settings, **more}))

    keys = [key(), key(name="swap"), key(target="rngd"), key(rlimit=8), key(readings={"a": "b"}), key(cross_check=1)]
    keys += [key(allow=("/a",)), key(str(shell.write(good, "other.toml")))]
    monkeypatch.setenv("HOME", str(shell.folder))
    keys.append(key())
    monkeypatch.setattr(jobs_cache, "code_version", lambda: "another")
    keys.append(key())
    rust = [key("a.rs")]
    monkeypatch.setenv("DMAVERIFY_FEATURES", "wide")
    rust.append(key("a.rs"))
    assert key("a.mlir") is None
    assert None not in (*keys, *rust)
    assert len({*keys, *rust}) == len([*keys, *rust])
    assert key() == keys[-1], "a plan has no features"


def test_a_plan_that_changed_is_asked_again_and_one_that_changed_back_is_known(shell, good, wrong, monkeypatch):
    cache, job = Cache(shell.folder / "c"), (str(shell.write(good)), None, None, {})
    keeps(cache, job)
    shell.write(wrong)
    assert not finds(cache, job)
    keeps(cache, job)
    shell.write(good)
    assert finds(cache, job)
    monkeypatch.chdir(ROOT)
    assert finds(cache, job), "a plan with its full path is the same from everywhere"


def test_a_plan_with_a_path_from_here_is_another_one_elsewhere(shell, good, wrong, monkeypatch):
    cache, job = Cache(shell.folder / "c"), ("plan.toml", None, None, {})
    shell.write(good, "a/plan.toml")
    shell.write(wrong, "b/plan.toml")
    monkeypatch.chdir(shell.folder / "a")
    keeps(cache, job)
    monkeypatch.chdir(shell.folder / "b")
    assert not finds(cache, job)


@pytest.mark.parametrize("steps", ["5", '["load", "store"]', '{ transfer = "load" }', "[[]]", "[{ transfer = 1 }]"])
def test_steps_that_are_no_tables_are_told_and_not_stumbled_over(steps, shell):
    shell.write(f'schema = 1\ntarget = "rngd"\naxes = {{ A = 8 }}\nprogram.p.step = {steps}\n', "steps.toml")
    code, out, _ = shell("check", "steps.toml")
    assert code == 2
    assert "core/input" in out


def test_a_machine_of_ones_own_is_part_of_the_key(shell, good):
    toy = ROOT / "encodings" / "toy"
    for name in ("target.toml", "rules.smt2"):
        shell.write((toy / name).read_text(), f"mine/{name}")
    jobs = [
        (str(shell.write(good.replace('"toy"', '"./mine"'), "a.toml")), None, None, {}),
        (str(shell.write(good.replace('"toy"', '"mine"'), "b.toml")), None, None, {}),
        (
            str(shell.write(good.replace("[transfer.swap]", '[transfer.swap]\ntarget = "mine"'), "c.toml")),
            None,
            None,
            {},
        ),
        (str(shell.write(good, "d.toml")), None, "mine", {}),
        (str(shell.write(good, "e.toml")), None, None, {}),
    ]
    cache = Cache(shell.folder / "c")
    for job in jobs:
        keeps(cache, job)
    before = [texts_digest(job) for job in jobs]
    stat = (shell.folder / "mine/target.toml").stat()
    text = (toy / "target.toml").read_text().replace("value = 128", "value = 116")
    os.utime(shell.write(text, "mine/target.toml"), ns=(stat.st_atime_ns, stat.st_mtime_ns))  # no younger
    assert [finds(cache, job) for job in jobs] == [False, False, False, False, True]
    after = [texts_digest(job) for job in jobs]
    assert None not in after
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, False, False, True]
    keeps(cache, jobs[0])


KERNEL = """use furiosa_opt_std::prelude::*;
{mod}
axes![Row = 512, Col = 64];
type Chip = m![1];
type Matrix = HbmTensor<bf16, Chip, m![Row, Col]>;
type Turned = HbmTensor<bf16, Chip, m![Col / 4, Row, Col % 4]>;
#[device(chip = 1)]
pub fn turn(ctx: &mut Context, input: &Matrix) -> Turned {{
    let rows = input.to_dm::<m![Row / 256], m![Row % 256], shp::Elem>(&mut ctx.tdma);
    rows.to_hbm(&mut ctx.tdma)
}}
"""
FITS = "use furiosa_opt_std::prelude::*; use crate::*;\npub type Elem = m![Col];    \n"
LONG = FITS.replace("m![Col];    ", "m![Col, 7]; ")
PACKAGE = '[package]\nname = "k"\nversion = "0.1.0"\nedition = "2021"\n'


@pytest.fixture
def kernel(shell, monkeypatch):
    """A workspace with one kernel, whose module `shp` is said by `mod`; its job."""
    shell.write('[workspace]\nmembers = ["k"]\n', "ws/Cargo.toml")
    shell.write(PACKAGE, "ws/k/Cargo.toml")
    (shell.folder / "ws" / ".git").mkdir()

    def made(mod: str) -> Job:
        return str(shell.write(KERNEL.format(mod=mod), "ws/k/src/lib.rs")), None, None, {}

    return made


def code(shell, *more: str) -> int:
    return shell("check", "ws/k/src/lib.rs", *more)[0]


PLACES = {
    "mod shp;": "ws/k/src/shp.rs",
    '#[path = "../../common/x.rs"] mod shp;': "ws/common/x.rs",
    '#[path = ".made/x.rs"] mod shp;': "ws/k/src/.made/x.rs",
    '#[path = "x.inc"] mod shp;': "ws/k/src/x.inc",
    '#[path = "../target/debug/x.rs"] mod shp;': "ws/k/target/debug/x.rs",
    '#[path = "link/x.rs"] mod shp;': "ws/elsewhere/x.rs",
    '#[path = "one.rs"] mod shp;': "ws/elsewhere/one.rs",
}


@pytest.mark.parametrize("mod", PLACES)
def test_a_module_that_changed_is_read_anew_wherever_it_lies(mod, kernel, shell):
    """Both ways: as long as before and no younger, so that nothing but its text tells."""
    file = shell.write(FITS, PLACES[mod])
    kernel(mod)
    (shell.folder / "ws/k/src/link").symlink_to("../../elsewhere")
    (shell.folder / "ws/k/src/one.rs").symlink_to("../../elsewhere/one.rs")
    stat = file.stat()
    assert code(shell) == code(shell) == 0
    file.write_text(LONG, encoding="utf-8")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (code(shell), code(shell, "--no-cache")) == (1, 1)
    file.write_text(FITS, encoding="utf-8")
    assert code(shell) == 0


def test_a_link_that_leads_to_another_file_is_followed_anew(kernel, shell):
    shell.write(FITS, "ws/a/x.rs")
    shell.write(LONG, "ws/b/x.rs")
    kernel('#[path = "link/x.rs"] mod shp;')
    link = shell.folder / "ws/k/src/link"
    link.symlink_to("../../a")
    assert code(shell) == 0
    link.unlink()
    link.symlink_to("../../b")
    assert code(shell) == code(shell, "--no-cache") == 1


def test_what_was_looked_for_and_not_there_is_part_of_the_key(kernel, shell):
    """`shp.rs` comes before `shp/mod.rs`; a manifest beside the file would say of which package it is."""
    job = kernel("mod shp;")
    shell.write(FITS, "ws/k/src/shp/mod.rs")
    cache = Cache(shell.folder / "c")
    keeps(cache, job)
    shell.write("", "ws/k/src/other.rs")
    shell.write("", "ws/common/other.toml")
    assert finds(cache, job), "nobody asked for these"
    shell.write(LONG, "ws/k/src/shp.rs")
    assert not finds(cache, job)
    keeps(cache, job)
    (shell.folder / "ws/k/src/shp.rs").unlink()
    assert finds(cache, job)
    shell.write(PACKAGE, "ws/k/src/Cargo.toml")
    assert not finds(cache, job)


def test_the_working_folder_that_names_places_in_a_kernel_is_part_of_its_key(kernel, shell, monkeypatch):
    cache, job = Cache(shell.folder / "c"), kernel("mod shp;")
    shell.write(LONG, "ws/k/src/shp.rs")
    job = (os.path.relpath(job[0]), None, None, {})
    keeps(cache, job)
    (shell.folder / "other").mkdir()
    (shell.folder / "other" / "ws").symlink_to("../ws")
    monkeypatch.chdir(shell.folder / "other")
    assert Path(job[0]).is_file(), "the same file by the same path"
    assert not finds(cache, job)
    monkeypatch.chdir(shell.folder)
    assert finds(cache, job)


def test_a_manifest_and_its_features_are_part_of_the_key(kernel, shell):
    kernel('#[cfg(feature = "bad")] #[path = "long.rs"] mod shp;\n#[cfg(not(feature = "bad"))] mod shp;')
    shell.write(FITS, "ws/k/src/shp.rs")
    shell.write(LONG, "ws/k/src/long.rs")
    assert code(shell) == code(shell, "--no-cache")
    before = code(shell)
    shell.write(PACKAGE + '[features]\ndefault = ["bad"]\nbad = []\n', "ws/k/Cargo.toml")
    assert code(shell) == code(shell, "--no-cache") == 1
    shell.write(PACKAGE, "ws/k/Cargo.toml")
    assert code(shell) == before


def test_files_of_one_crate_are_kept_each_with_all_that_the_crate_read(kernel, shell):
    """The second file finds the modules read already; it rests on them no less."""
    one = kernel("mod shp;\npub mod second;")
    shell.write(FITS, "ws/k/src/shp.rs")
    text = KERNEL.format(mod="use crate::*;").replace("axes![Row = 512, Col = 64];", "")
    two = (str(shell.write(text, "ws/k/src/second.rs")), None, None, {})
    cache = Cache(shell.folder / "c")
    for job in (one, two, one, two):
        keeps(cache, job)
    shell.write(LONG, "ws/k/src/shp.rs")
    assert not finds(cache, one)
    assert not finds(cache, two)


def test_whoever_does_not_listen_leaves_no_crate_to_one_who_does(kernel, shell):
    job = kernel("mod shp;")
    shell.write(FITS, "ws/k/src/shp.rs")
    dv.check(job[0])
    cache = Cache(shell.folder / "c")
    keeps(cache, job)
    dv.check(job[0])
    keeps(cache, job)
    shell.write(LONG, "ws/k/src/shp.rs")
    assert not finds(cache, job)


def test_every_file_that_is_opened_while_a_job_is_judged_is_among_its_questions(kernel, shell, good):
    """An oracle that shares no code with what notes them: what Python itself opens."""
    shell.write(FITS, "ws/k/src/shp.rs")
    shell.write((ROOT / "examples/pto/example-1.mlir").read_text(encoding="utf-8"), "k.mlir")
    for name in ("target.toml", "rules.smt2"):
        shell.write((ROOT / "encodings" / "toy" / name).read_text(encoding="utf-8"), f"mine/{name}")
    plan = (ROOT / "examples/pto/example-1.toml").read_text(encoding="utf-8").replace("example-1.mlir", "k.mlir")
    jobs = [kernel("mod shp;"), kernel("mod shp;"), (str(shell.write(plan, "pto.toml")), None, None, {})]
    jobs += [(str(shell.write(good.replace('"toy"', '"./mine"'), "own.toml")), None, None, {})] * 2
    watch_what_is_opened()
    for job in jobs:
        opened.clear()
        opened.append("")
        try:
            _, asked = listened_job(job)
        finally:
            seen = {os.path.realpath(name) for name in opened if name}
            opened.clear()
        told = {os.path.realpath(path) for kind, path, _ in asked if kind == TEXT}
        own = {name for name in seen if name.startswith(str(shell.folder.resolve()))}
        assert own or job == jobs[0], job  # what the process remembers is not opened again
        assert own <= told, job
        assert not any(name.startswith(str(ROOT / "encodings")) for name in told), "these are part of the version"
        assert has_heard(job, asked), job


opened: list[str] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and opened and isinstance(arguments[0], str | bytes | os.PathLike):
        opened.append(os.fsdecode(arguments[0]))


@functools.cache
def watch_what_is_opened() -> None:
    """Never undone, and asked at every `id` of the process from then on: not for tests that do not need it."""
    sys.addaudithook(_hook)


# ---------------------------------------------------------------- questions and answers


def test_a_question_has_the_answer_that_it_had_until_the_disk_changes(tmp_path):
    """Each kind, there and not there."""
    (tmp_path / "a").write_text("text", encoding="utf-8")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "folder").mkdir()
    with asking() as asked:
        read_bytes(tmp_path / "a", 100)
        for gone in ("b", "folder", "\0"):
            with pytest.raises((OSError, ValueError)):
                read_bytes(tmp_path / gone)
        assert is_file(tmp_path / "a")
        assert not is_file(tmp_path / "b")
        assert is_inside(tmp_path / "link", tmp_path)
        assert not is_inside("/", tmp_path)
        resolved(tmp_path / "link")
        assert [names for _, _, names in walk(tmp_path, "a")] == [["a"], []]
    assert {kind for kind, _, _ in asked} == {TEXT, FILE, INSIDE, REAL, NAMES}
    assert {question: asked_again(question) for question in asked} == asked
    (tmp_path / "unasked").write_text("", encoding="utf-8")
    assert {question: asked_again(question) for question in asked} == asked
    (tmp_path / "b").write_text("text", encoding="utf-8")
    (tmp_path / "a").write_text("TEXT", encoding="utf-8")
    (tmp_path / "ba").mkdir()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("/")
    changed = {
        (kind, Path(path).name) for kind, path, _ in asked if asked_again((kind, path, _)) != asked[kind, path, _]
    }
    assert changed == {
        (TEXT, "a"), (TEXT, "b"), (FILE, "b"), (INSIDE, "link"), (REAL, "link"), (NAMES, tmp_path.name)
    }  # fmt: skip
    assert asked_again(("what", "a", "")) == ""


def test_a_question_with_two_answers_is_kept_by_nobody(shell, good):
    job = (str(shell.write(good)), None, None, {})
    verdicts, asked = listened_job(job)
    assert has_heard(job, asked)
    assert not has_heard(job, {question: answer for question, answer in asked.items() if question[0] != TEXT})
    with asking() as log:
        for answer in ("1", "1"):
            note((FILE, "x", ""), answer)
        assert CHANGED not in log.values()
        note((FILE, "x", ""), "2")
        note((FILE, "x", ""), "1")
    assert log == {(FILE, "x", ""): CHANGED}
    cache = Cache(shell.folder / "c")
    cache.keep(job, verdicts, {**asked, **log})
    assert cache.count() == 0
    cache.keep(job, verdicts, asked)
    assert cache.count() == 1


def test_a_memory_is_asked_for_by_all_who_use_it():
    memory = {(FILE, "a", ""): "1"}
    join(memory)
    assert not listening()
    with asking() as first:
        join(memory)
        join(memory)
        note((FILE, "b", ""), "2")
    with asking() as second:
        join(memory)
    assert first == second == memory == {(FILE, "a", ""): "1", (FILE, "b", ""): "2"}
    note((FILE, "c", ""), "3")
    assert len(memory) == 2


def test_a_key_tells_apart_every_question_and_every_answer():
    asked = [{}, {(FILE, "a", ""): "1"}, {(FILE, "a", ""): "2"}, {(FILE, "", "a"): "1"}, {(TEXT, "a", ""): "1"}]
    keys = [key_of(base, one) for base in ("x", "y") for one in asked]
    assert len({*keys}) == len(keys)


def test_lists_of_questions_are_few_and_signed(shell, good, monkeypatch):
    cache, job = Cache(shell.folder / "c"), (str(shell.write(good)), None, None, {})
    verdicts, asked = listened_job(job)
    for number in range(jobs_cache.MOST_LISTS + 2):
        cache.keep(job, verdicts, {**asked, (FILE, f"no-{number}", ""): "False"})
    lists = cache._lists(str(base_of(job)))
    assert len(lists) == jobs_cache.MOST_LISTS
    assert (FILE, f"no-{jobs_cache.MOST_LISTS + 1}", "") in lists[0]
    assert finds(cache, job)
    body = zlib.compress(json.dumps([[[TEXT, job[0], "1"]]]).encode())
    with closing(sqlite3.connect(cache.file)) as database, database:
        database.execute("update asked set body = ?", (body,))
    assert not finds(cache, job)
    assert cache.dropped == 1
    monkeypatch.setattr(jobs_cache, "MOST_QUESTIONS", len(asked))
    assert has_heard(job, asked)
    monkeypatch.setattr(jobs_cache, "MOST_QUESTIONS", len(asked) - 1)
    assert not has_heard(job, asked)


def test_a_sweep_begins_from_the_whole_workspace_of_a_kernel(kernel, shell, monkeypatch):
    job = kernel('#[path = "../../common/x.inc"] mod shp;')
    digests = [texts_digest(job)]
    for text, name in ((FITS, "common/x.inc"), (LONG, "common/x.inc"), ("", "k/.made/x"), (PACKAGE, "Cargo.toml")):
        shell.write(text, f"ws/{name}")
        digests.append(texts_digest(job))
    monkeypatch.chdir(shell.folder / "ws")
    digests.append(texts_digest(job))
    assert None not in digests
    assert len({*digests}) == len(digests)
    shell.write("", "ws/k/target/x.rs")
    shell.write("", "ws/.git/x")
    assert texts_digest(job) == digests[-1]
    from dmaverify.jobs import reach

    monkeypatch.setattr(reach, "MOST_FILES", 1)
    assert texts_digest(job) is None


def test_code_data_and_libraries_are_part_of_the_version(monkeypatch):
    jobs_cache.code_version.cache_clear()
    before = jobs_cache.code_version()
    jobs_cache.code_version.cache_clear()
    assert any(name.startswith("z3_solver-") for name in jobs_cache.installed())
    monkeypatch.setattr(jobs_cache, "installed", lambda: {"z3_solver-0.dist-info"})
    assert jobs_cache.code_version() != before
    jobs_cache.code_version.cache_clear()


def test_every_field_of_a_verdict_is_recorded_but_the_selection_that_follows():
    full = replace(
        PROVED, assumptions=("a",), readings={"k": "r"}, seconds=1.5, solver="z3", path="p", line=3, expect=("x/y",),
        claim="all", sizes={"A": {"least": 1}}, smallest={"A": 1}, conditions=("the start is 0",), confirmed="a run",
    )  # fmt: skip
    (back,) = verdicts_of(json.loads(json.dumps(record_of([full]))))
    unset = {f.name for f in fields(full) if not getattr(full, f.name)}
    assert unset <= {"findings", "obligations", "scope"}
    assert back == full


def test_what_is_not_decided_is_never_kept(tmp_path):
    unknown = replace(PROVED, status=Status.UNKNOWN)
    unread = replace(PROVED, status=Status.ERROR)
    half = replace(PROVED, status=Status.REFUTED, obligations=(Obligation("core/covers", "unknown"),))
    assert keepable([PROVED])
    open_ = tuple(Obligation(name, "unknown") for name in ("core/unresolved-transfer", "core/time"))
    late = replace(unknown, obligations=open_)
    assert keepable([replace(late, obligations=late.obligations[:1])])
    for verdicts in ([], [unknown], [PROVED, unread], [half], [late]):
        cache = Cache(tmp_path / "c")
        cache.put("k", verdicts)
        assert not keepable(verdicts)
        assert cache.get("k") is None
        assert not cache.file.exists()


def test_an_unreadable_plan_is_read_again(shell, counted):
    shell.write("schema = 1\nx")
    for _ in range(2):
        assert shell("check", "plan.toml")[0] == 2
    assert counted() == 2


# ---------------------------------------------------------------- damage


def stored(cache: Cache) -> None:
    cache.put("k", [PROVED])
    assert cache.get("k") == [PROVED]


@pytest.mark.parametrize("damage", [b"", b"garbage" * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_file_is_a_miss_and_is_made_anew(tmp_path, damage):
    cache = Cache(tmp_path / "c")
    stored(cache)
    cache.file.write_bytes(damage)
    assert cache.get("k") is None
    stored(cache)


def test_a_changed_entry_is_a_miss(tmp_path):
    cache = Cache(tmp_path / "c")
    stored(cache)
    refuted = json.dumps(record_of([replace(PROVED, status=Status.REFUTED)]))
    with closing(sqlite3.connect(cache.file)) as database, database:
        database.execute("update proof set body = ?", (zlib.compress(refuted.encode()),))
    assert cache.get("k") is None
    stored(cache)
    with closing(sqlite3.connect(cache.file)) as database, database:
        database.execute("update proof set key = 'other'")
    assert cache.get("other") is None


def test_a_cache_is_neither_read_nor_written_through_a_link(tmp_path):
    stored(Cache(tmp_path / "real"))
    (tmp_path / "c").symlink_to(tmp_path / "real")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "proofs.sqlite").symlink_to(tmp_path / "real" / "proofs.sqlite")
    for folder in ("c", "d"):
        Cache(tmp_path / folder).put("new", [PROVED])
        assert Cache(tmp_path / folder).get("k") is None
    assert Cache(tmp_path / "real").get("new") is None


def test_an_entry_that_is_whole_and_says_unknown_is_a_miss(tmp_path):
    cache = Cache(tmp_path / "c")
    stored(cache)
    body = zlib.compress(json.dumps(record_of([replace(PROVED, status=Status.UNKNOWN)])).encode())
    with closing(sqlite3.connect(cache.file)) as database, database:
        digest = hashlib.sha256(b"k" + body).hexdigest()
        database.execute("update proof set body = ?, digest = ?", (body, digest))
    assert cache.get("k") is None


def test_a_cache_that_cannot_be_written_is_no_error(shell, good, monkeypatch):
    shell.write(good)
    shell.write("", "file")
    monkeypatch.setenv("DMAVERIFY_CACHE_DIR", "file/below")
    assert shell("check", "plan.toml")[0] == 0
    shell.write("cache = false\n", "dmaverify.toml")
    monkeypatch.delenv("DMAVERIFY_CACHE_DIR")
    assert shell("check", "plan.toml")[0] == 0
    assert not (shell.folder / ".dmaverify_cache").exists()
    monkeypatch.setenv("DMAVERIFY_NO_CACHE", "1")
    assert cache_of("x") is None


def test_processes_may_share_a_cache(tmp_path):
    code = (
        "import sys; from pathlib import Path; from dmaverify.jobs.cache import Cache;"
        "from dmaverify.verdict import Status, Verdict; cache = Cache(Path(sys.argv[1]));"
        "proved = [Verdict('t', 'toy', Status.PROVED)];"
        "[cache.put(f'{sys.argv[2]}-{n}', proved) for n in range(40)];"
        "print(sum(cache.get(f'{sys.argv[2]}-{n}') == proved for n in range(40)))"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "c"), who], stdout=subprocess.PIPE, cwd=ROOT)
        for who in ("one", "two")
    ]
    assert [run.communicate()[0] for run in runs] == [b"40\n", b"40\n"]
    assert Cache(tmp_path / "c").count() == 80


def test_the_cache_command_tells_and_clears(shell, good):
    shell.write(good)
    shell("check", "plan.toml")
    assert "1 entry" in shell("cache")[1]
    assert shell("cache", "--clear")[0] == 0
    assert "0 entries" in shell("cache")[1]


def test_the_key_holds_every_file_that_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of every room and the data of every machine that ships, not those of the cache's own room alone."""
    from dmaverify.jobs import cache

    seen: list[str] = []
    original = Path.read_bytes

    def noted(path: Path) -> bytes:
        seen.append(path.as_posix())
        return original(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    cache.code_version.cache_clear()
    cache.code_version()
    cache.code_version.cache_clear()
    for part in ("dmaverify/prove/move/core.py", "dmaverify/layout/digits.py", "encodings/rngd/rules.smt2"):
        assert any(path.endswith(part) for path in seen), part


def test_a_module_that_is_called_as_the_folder_of_builds_is_part_of_the_key(tmp_path: Path) -> None:
    crate = tmp_path / "crate"
    (crate / "src" / "target").mkdir(parents=True)
    (crate / "target").mkdir()
    (crate / "Cargo.toml").write_text('[package]\nname = "c"\n', encoding="utf-8")
    (crate / "src" / "lib.rs").write_text("mod target;\n", encoding="utf-8")
    module, built = crate / "src" / "target" / "mod.rs", crate / "target" / "made.rs"
    keys = []
    for text, made in (("axes![A = 4];", ""), ("axes![A = 5];", ""), ("axes![A = 5];", "fn x() {}")):
        module.write_text(text, encoding="utf-8")
        built.write_text(made, encoding="utf-8")
        keys.append(texts_digest((str(crate / "src" / "lib.rs"), None, None, {}), {}))
    assert None not in keys
    assert keys[0] != keys[1] == keys[2]
