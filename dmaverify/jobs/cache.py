"""Verdicts that were proved before: a database of the user, asked before anything is judged.

Knows: what a verdict depends on, SQLite.
Does not know: how a verdict comes about, formats, exit codes.
Law: an entry is found only for the same question (file, settings, code, libraries), and where the disk answers all that
was asked of it for that verdict as it did then: every text, every file that was looked for and not there, every link
and folder. Nothing guesses what may be read: what was asked is noted where it is asked (`language/asked.py`).
UNKNOWN for want of time, unreadable input and disagreements are never kept. An entry counts only with a code made by a
key that lies with the user and in no checkout, so that no file of a project can be taken for a proof; others are
dropped and counted. A cache that cannot be used is no error: the work is done again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
import sys
import zlib
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from dmaverify.jobs.judge import Job
from dmaverify.jobs.record import BadRecord, Unrecordable, record_of, verdicts_of
from dmaverify.language.asked import CHANGED, TEXT, AskedLog, Question
from dmaverify.language.files import allowing, asked_again, read_bytes, shipped, write_text
from dmaverify.machines.rngd.rust.cfg import asked_features
from dmaverify.verdict import Status, Verdict

FORMAT = 4
FILE = "proofs.sqlite"
UNRESOLVED = "core/unresolved-transfer"
MOST_ENTRIES = 20_000
MOST_STEPS = 20_000_000  # of the database's machine, of one visit
MOST_QUESTIONS = 20_000  # to the disk, of one file that is judged
MOST_LISTS = 8  # of questions that one file asked at different times
LIBRARIES = ("z3_solver-", "numpy-", "tree_sitter_toml-", "tree_sitter_rust-", "tree_sitter-", "msgspec-")
_TABLE = "create table if not exists {} (key text primary key, digest text not null, body blob not null, used int)"
_Table = Literal["proof", "asked"]


# ---------------------------------------------------------------- keys


@lru_cache(maxsize=1)
def code_version() -> str:
    """A hash of the code, the machine data that ship and the versions of the libraries that judge."""
    digest = hashlib.sha256(f"{FORMAT} {sys.version}".encode())
    for root in (Path(__file__).resolve().parents[1], *shipped("encodings")):
        for file in sorted([*root.rglob("*.py"), *root.rglob("*.smt2"), *root.rglob("*.toml")]):
            digest.update(f"\0{file.relative_to(root).as_posix()}\0".encode())
            digest.update(file.read_bytes())
    digest.update("\0".join(sorted(installed())).encode())
    return digest.hexdigest()


def installed() -> set[str]:
    """Names with versions of LIBRARIES, as their folders of metadata have them (ten times quicker than reading one)."""
    found: set[str] = set()
    for folder in sys.path:
        with suppress(OSError):
            found |= {name for name in os.listdir(folder or ".") if name.startswith(LIBRARIES) and "-info" in name}
    return found


def base_of(job: Job) -> str | None:
    """What a job asks, before anything is read; None for one that is always done anew."""
    path, name, target, settings = job
    if not path.endswith((".toml", ".rs")):
        return None
    features = asked_features() if path.endswith(".rs") else ""
    asked = json.dumps([path, name, target, settings, features, os.path.expanduser("~")], sort_keys=True)
    return hashlib.sha256(f"{code_version()}\0{asked}".encode()).hexdigest()


def key_of(base: str, asked: AskedLog) -> str:
    """The key of what was judged: the job with all that it asked of the disk, and the answers."""
    told = json.dumps([base, sorted([*question, answer] for question, answer in asked.items())])
    return hashlib.sha256(told.encode()).hexdigest()


def has_heard(job: Job, asked: AskedLog) -> bool:
    """Whether these are the questions of that job, each with one answer: its own text is among them."""
    if CHANGED in asked.values() or len(asked) > MOST_QUESTIONS:
        return False
    own = os.path.realpath(job[0])
    return any(kind == TEXT and os.path.realpath(path) == own for kind, path, _ in asked if "\0" not in path)


def keepable(verdicts: Sequence[Verdict]) -> bool:
    """Whether every question was decided, one way or the other, or is open by the text alone: no time would help."""

    def settled(verdict: Verdict) -> bool:
        open_ = {o.id for o in verdict.obligations if o.status == "unknown"}
        return not open_ if verdict.status is not Status.UNKNOWN else open_ == {UNRESOLVED}

    return bool(verdicts) and all(v.status is not Status.ERROR and settled(v) for v in verdicts)


# ---------------------------------------------------------------- the database


class Cache:
    """Verdicts by key, in a folder. Safe for several processes at once; every failure is a miss."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hits = 0
        self.dropped = 0  # entries that this user did not write, or that are damaged

    @property
    def file(self) -> Path:
        return self.folder / FILE

    def find(self, job: Job, known: dict[tuple[Any, Question], str]) -> list[Verdict] | None:
        """The verdicts on a job whose questions have the answers that they had. `known` remembers answers of a run."""
        base = base_of(job)
        allow = tuple(job[3].get("allow", ()))
        for questions in self._lists(base) if base is not None else ():
            asked: AskedLog = {}
            with allowing(allow):
                for question in questions:
                    if (allow, question) not in known:
                        known[allow, question] = asked_again(question)
                    asked[question] = known[allow, question]
            assert base is not None
            if (found := self.get(key_of(base, asked))) is not None:
                return found
        return None

    def keep(self, job: Job, verdicts: Sequence[Verdict], asked: AskedLog) -> None:
        """Keeps the verdicts on a job, with all that was asked of the disk for them."""
        base = base_of(job)
        if base is None or not keepable(verdicts) or not has_heard(job, asked):
            return
        self.put(key_of(base, asked), verdicts)
        lists = self._lists(base)
        if (new := sorted(asked)) not in lists:
            self._put("asked", base, json.dumps([new, *lists][:MOST_LISTS]))

    def _lists(self, base: str) -> list[list[Question]]:
        """What jobs of that base asked, the latest first."""
        try:
            found = json.loads(self._body("asked", base) or "[]")
            return [[(str(kind), str(path), str(more)) for kind, path, more in questions] for questions in found]
        except (ValueError, TypeError):
            return []

    def get(self, key: str) -> list[Verdict] | None:
        text = self._body("proof", key)
        try:
            found = verdicts_of(json.loads(text)) if text is not None else []
        except (BadRecord, ValueError, TypeError):
            self._drop("proof", key)
            return None
        if not keepable(found):
            return None
        self.hits += 1
        return found

    def _body(self, table: _Table, key: str) -> bytes | None:
        """The text of a row that this user wrote; others are dropped."""
        if not self.file.exists():
            return None
        try:
            with closing(self._open()) as database:
                row = database.execute(f"select digest, body from {table} where key = ?", (key,)).fetchone()
            if row is None:
                return None
            if hmac.compare_digest(_code(table + key, row[1]), str(row[0])):
                return zlib.decompress(row[1])
        except (ValueError, TypeError, zlib.error):
            pass
        except (sqlite3.Error, OSError):
            return None
        self._drop(table, key)
        return None

    def _drop(self, table: _Table, key: str) -> None:
        """Takes an entry away that is no proof of this user."""
        self.dropped += 1
        with suppress(sqlite3.Error, OSError), closing(self._open()) as database, database:
            database.execute(f"delete from {table} where key = ?", (key,))

    def put(self, key: str, verdicts: Sequence[Verdict]) -> None:
        if not keepable(verdicts):
            return
        try:
            text = json.dumps(record_of(verdicts), separators=(",", ":"), allow_nan=False)
        except (Unrecordable, ValueError):
            return
        self._put("proof", key, text)

    def _put(self, table: _Table, key: str, text: str) -> None:
        body = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
        try:
            digest = _code(table + key, body)
            self._write(table, key, digest, body)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                return  # locked, full or read-only: the next run tries again
            with suppress(OSError, sqlite3.Error):  # not a database any more
                self.file.unlink(missing_ok=True)
                self._write(table, key, digest, body)
        except OSError:
            return

    def _open(self) -> sqlite3.Connection:
        if self.file.is_symlink() or self.folder.is_symlink():
            raise OSError(f"{self.file} is a link")
        database = sqlite3.connect(self.file, timeout=20)
        calls = iter(range(MOST_STEPS // 100_000))
        database.set_progress_handler(lambda: next(calls, None) is None, 100_000)  # a view or trigger may never end
        return database

    def _write(self, table: _Table, key: str, digest: str, body: bytes) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_text(self.folder / ".gitignore", "*\n")
        with closing(self._open()) as database, database:
            database.execute("pragma synchronous = off")
            database.execute(_TABLE.format(table))
            database.execute(
                f"insert or replace into {table} values (?, ?, ?, (select coalesce(max(used), 0) + 1 from {table}))",
                (key, digest, body),
            )
            database.execute(f"delete from {table} where used <= (select max(used) from {table}) - ?", (MOST_ENTRIES,))

    def clear(self) -> int:
        """Forgets everything; how many bytes that were."""
        size = self.file.stat().st_size if self.file.exists() else 0
        self.file.unlink(missing_ok=True)
        return size

    def count(self) -> int:
        try:
            with closing(self._open()) as database:
                return int(database.execute("select count(*) from proof").fetchone()[0])
        except (sqlite3.Error, OSError):
            return 0


def user_folder() -> Path:
    """Where this user's proofs and the key to them lie, outside of every checkout."""
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return Path(base) / "dmaverify" if base else Path.home() / ".cache" / "dmaverify"


def cache_of(folder: str | Path | None = None) -> Cache | None:
    """The cache of the user, or in a folder, or where DMAVERIFY_CACHE_DIR says; None where DMAVERIFY_NO_CACHE is set,
    or there is no place for one.
    """
    if os.environ.get("DMAVERIFY_NO_CACHE"):
        return None
    try:
        return Cache(Path(os.environ.get("DMAVERIFY_CACHE_DIR") or folder or user_folder()))
    except RuntimeError:  # a user without a home
        return None


def _code(key: str, body: bytes) -> str:
    """What shows that this user wrote an entry."""
    return hmac.new(_secret(user_folder()), key.encode() + body, hashlib.sha256).hexdigest()


@lru_cache(maxsize=4)
def _secret(folder: Path) -> bytes:
    """The user's key; made when it is first asked for. Raises OSError where it can be neither read nor kept."""
    file = folder / "key"
    with suppress(FileNotFoundError):
        found = read_bytes(file, 64)
        if len(found) == 32:
            return found
        file.unlink()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = folder / f"key.{os.getpid()}"
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(os.urandom(32))
    try:
        os.link(fresh, file)  # whoever is first makes the key of all
    except FileExistsError:
        pass
    except OSError:
        fresh.replace(file)
    fresh.unlink(missing_ok=True)
    return read_bytes(file, 64)
