"""The proof cache: what it knows is not asked again, and nothing that it holds can make a wrong plan right."""

from __future__ import annotations

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
from dmaverify.jobs.cache import Cache, cache_of, keepable, key_of
from dmaverify.jobs.record import BadRecord, Unrecordable, record_of, verdicts_of
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


def test_whatever_a_verdict_depends_on_is_part_of_the_key(shell, good, monkeypatch):
    path = str(shell.write(good))
    settings = {"readings": {}, "rlimit": 7, "cross_check": 0}

    def key(path: str = path, name: str | None = None, target: str | None = None, **more: object) -> str | None:
        return key_of((path, name, target, {**settings, **more}))

    keys = [key(), key(name="swap"), key(target="rngd"), key(rlimit=8), key(readings={"a": "b"}), key(cross_check=1)]
    keys.append(key(str(shell.write(good, "other.toml"))))
    shell.write(good + "#\n")
    keys.append(key())
    monkeypatch.setattr(jobs_cache, "code_version", lambda: "another")
    keys.append(key())
    assert None not in keys
    assert len(set(keys)) == len(keys)
    shell.write(good)
    monkeypatch.undo()
    monkeypatch.chdir(shell.folder)
    assert key() == keys[0]


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
    before = [key_of(job) for job in jobs]
    shell.write((toy / "target.toml").read_text().replace("value = 128", "value = 16"), "mine/target.toml")
    after = [key_of(job) for job in jobs]
    assert None not in after
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, False, False, True]


def test_a_kernel_depends_on_its_whole_package_and_on_the_working_folder(shell, monkeypatch):
    shell.write("[package]\n", "crate/Cargo.toml")
    path = str(shell.write("fn f() {}\n", "crate/src/kernel.rs"))
    shell.write("fn g() {}\n", "crate/src/other.rs")
    shell.write("fn x() {}\n", "crate/target/x.rs")
    job = (path, None, None, {})
    keys = [key_of(job)]
    shell.write("fn x() { }\n", "crate/target/x.rs")
    assert key_of(job) == keys[0]
    stat = (shell.folder / "crate/src/other.rs").stat()
    other = shell.write("fn h() {}\n", "crate/src/other.rs")  # as long as before, and no younger
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    keys.append(key_of(job))
    shell.write("", "crate/src/new.rs")
    keys.append(key_of(job))
    shell.write("[package]\nname = 1\n", "crate/Cargo.toml")
    keys.append(key_of(job))
    monkeypatch.chdir(shell.folder / "crate")
    keys.append(key_of(job))
    assert None not in keys
    assert len(set(keys)) == len(keys)
    monkeypatch.setattr(jobs_cache, "MOST_FILES", 1)
    assert key_of(job) is None


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
        keys.append(key_of((str(crate / "src" / "lib.rs"), None, None, {}), {}))
    assert None not in keys
    assert keys[0] != keys[1] == keys[2]
