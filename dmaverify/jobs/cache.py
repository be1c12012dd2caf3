"""Verdicts that were proved before: a database of the user, asked before anything is judged.

Knows: what a verdict depends on, SQLite.
Does not know: how a verdict comes about, formats, exit codes.
Law: an entry is found only for the same text at the same path, the same machine data, settings, code and libraries;
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
import tomllib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from dmaverify.jobs.judge import Job
from dmaverify.jobs.record import BadRecord, Unrecordable, record_of, verdicts_of
from dmaverify.jobs.walk import is_cargo_output
from dmaverify.language.files import is_inside, read_bytes, write_text
from dmaverify.machines.rngd.rust.cfg import asked_features
from dmaverify.verdict import Status, Verdict

FORMAT = 3
FILE = "proofs.sqlite"
UNRESOLVED = "core/unresolved-transfer"
MOST_ENTRIES = 20_000
MOST_STEPS = 20_000_000  # of the database's machine, of one visit
MOST_BYTES = 10_000_000  # of one file, as of a plan
MOST_FILES = 5_000  # of one package
LIBRARIES = ("z3_solver-", "numpy-", "tree_sitter_toml-", "tree_sitter_rust-", "tree_sitter-", "msgspec-")
_TABLE = "create table if not exists proof (key text primary key, digest text not null, body blob not null, used int)"


# ---------------------------------------------------------------- keys


@lru_cache(maxsize=1)
def code_version() -> str:
    """A hash of the code, the machine data that ship and the versions of the libraries that judge."""
    digest = hashlib.sha256(f"{FORMAT} {sys.version}".encode())
    package = Path(__file__).resolve().parents[1]
    roots = [package, package / "_encodings", package.parent / "encodings"]
    for root in roots:
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


def key_of(job: Job, crates: dict[Path, bytes] | None = None) -> str | None:
    """The key of a job, over everything that its verdicts depend on; None for one that is always done anew.

    `crates` remembers, within one run, the digests of the crates of Rust files.
    """
    path, name, target, settings = job
    try:
        if Path(path).suffix not in (".toml", ".rs") or Path(path).stat().st_size > MOST_BYTES:
            return None
        text = read_bytes(path)
        kernel = Path(path).suffix == ".rs"
        machines = (
            _crate(Path(path), {} if crates is None else crates)
            if kernel
            else list(_machines(text, Path(path).parent, target))
        )
        machines += [b"\0".join(_machines(b"", Path(), target))] if kernel and target else []
    except (OSError, ValueError, RuntimeError):  # too deep, or the home of a user that does not exist
        return None
    features = asked_features() if kernel else ""
    asked = json.dumps([path, name, target, settings, *([features] if features else [])], sort_keys=True)
    digest = hashlib.sha256(code_version().encode())
    for part in (asked.encode(), text, *machines):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _machines(text: bytes, folder: Path, target: str | None) -> Iterator[bytes]:
    """The files of every machine that a plan names by a path; those that ship are part of `code_version`."""
    data = tomllib.loads(text.decode("utf-8-sig"))
    tables = [t for kind in data.values() for t in _tables(kind)]
    for name in files_beside(data):
        yield name.encode() + b"\0" + _whole(_inside(folder / name, folder))
    inner = [step[kind] for step in _steps(data) for kind in ("transfer", "access") if isinstance(step.get(kind), dict)]
    named = [target] if target else [table.get("target") for table in (data, *tables, *inner)]
    for name in sorted({name for name in named if isinstance(name, str) and not _ships(name)}):
        base = Path() if target else folder
        where = base / Path(name).expanduser()
        for file in sorted((where if target else _inside(where, base)).glob("*")):
            if file.is_file() and file.suffix in (".toml", ".smt2"):
                yield f"{name}/{file.name}".encode() + b"\0" + _whole(file)


def files_beside(plan: Mapping[str, Any]) -> list[str]:
    """The files of kernels and engines that a plan names, as it names them."""
    kernels = [kernel.get("file") for kernel in _tables(plan.get("kernel"))]
    inner = [step["transfer"] for step in _steps(plan) if isinstance(step.get("transfer"), dict)]
    engines = [move.get("options", {}).get("engine") for move in (*_tables(plan.get("transfer")), *inner)
               if isinstance(move.get("options", {}), dict)]  # fmt: skip
    return [*(one for one in kernels if isinstance(one, str)),
            *(one.partition("::")[0] for one in engines if isinstance(one, str))]  # fmt: skip


def _steps(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steps of programs that are tables; what else stands there the plan's reader complains of."""
    lists = [steps for program in _tables(plan.get("program")) if isinstance(steps := program.get("step"), list)]
    return [step for steps in lists for step in steps if isinstance(step, dict)]


def _inside(file: Path, folder: Path) -> Path:
    """A file that a plan names. Raises ValueError for one outside of its project: such a plan has no key."""
    if not is_inside(file, folder):
        raise ValueError(f"{file} lies outside of the project")
    return file


def _crate(path: Path, known: dict[Path, bytes]) -> list[bytes]:
    """What a kernel may depend on beside its own text: the Rust files and manifests of its package and of those that it
    names by a path, and the working folder, from which places in other files are named.
    """
    from dmaverify.machines.rngd.rust.crate import crate_of
    from dmaverify.machines.rngd.rust.library import dependencies, library_of

    root, _ = crate_of(path)
    package = next((p for p in (root, *root.parents) if (p / "Cargo.toml").is_file()), root)
    every = [package]
    for one in every:
        every += [other for other in map(Path.resolve, dependencies(one).values()) if other not in every]
        if one not in known:
            known[one] = _tree(one) + repr(library_of(one)).encode()
    return [*(known[one] for one in every), str(Path().resolve()).encode("utf-8", "surrogateescape")]


def _ships(name: str) -> bool:
    """Whether a machine of that name ships: then its data are part of `code_version`."""
    package = Path(__file__).resolve().parents[1]
    roots = (package / "_encodings", package.parent / "encodings")
    return name.isidentifier() and any((root / name / "target.toml").is_file() for root in roots)


def _tree(package: Path) -> bytes:
    """A hash of names and contents, without Cargo's build output. Raises ValueError for more than MOST_FILES."""
    digest, count = hashlib.sha256(), 0
    for folder, inner, names in os.walk(package):
        inner[:] = sorted(n for n in inner if not n.startswith(".") and not is_cargo_output(Path(folder, n)))
        for name in sorted(names):
            if name.endswith(".rs") or name == "Cargo.toml":
                data = _whole(Path(folder, name))
                count += 1
                if count > MOST_FILES:
                    raise ValueError(f"{package} has more than {MOST_FILES} files")
                where = os.path.relpath(os.path.join(folder, name), package)
                digest.update(f"\0{where}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
    return digest.digest()


def _whole(file: Path) -> bytes:
    """A regular file. Raises OSError, ValueError for one that is too long to be a part of a key."""
    data = read_bytes(file, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{file} is too long")
    return data


def _tables(value: Any) -> list[dict[str, Any]]:
    return [part for part in value.values() if isinstance(part, dict)] if isinstance(value, dict) else []


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

    def get(self, key: str) -> list[Verdict] | None:
        if not self.file.exists():
            return None
        try:
            with closing(self._open()) as database:
                row = database.execute("select digest, body from proof where key = ?", (key,)).fetchone()
            if row is None:
                return None
            if not hmac.compare_digest(_code(key, row[1]), str(row[0])):
                self._drop(key)
                return None
            found = verdicts_of(json.loads(zlib.decompress(row[1])))
        except (BadRecord, ValueError, TypeError, zlib.error):
            self._drop(key)
            return None
        except (sqlite3.Error, OSError):
            return None
        if not keepable(found):
            return None
        self.hits += 1
        return found

    def _drop(self, key: str) -> None:
        """Takes an entry away that is no proof of this user."""
        self.dropped += 1
        with suppress(sqlite3.Error, OSError), closing(self._open()) as database, database:
            database.execute("delete from proof where key = ?", (key,))

    def put(self, key: str, verdicts: Sequence[Verdict]) -> None:
        if not keepable(verdicts):
            return
        try:
            text = json.dumps(record_of(verdicts), separators=(",", ":"), allow_nan=False)
        except (Unrecordable, ValueError):
            return
        body = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
        try:
            digest = _code(key, body)
            self._write(key, digest, body)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                return  # locked, full or read-only: the next run tries again
            with suppress(OSError, sqlite3.Error):  # not a database any more
                self.file.unlink(missing_ok=True)
                self._write(key, digest, body)
        except OSError:
            return

    def _open(self) -> sqlite3.Connection:
        if self.file.is_symlink() or self.folder.is_symlink():
            raise OSError(f"{self.file} is a link")
        database = sqlite3.connect(self.file, timeout=20)
        calls = iter(range(MOST_STEPS // 100_000))
        database.set_progress_handler(lambda: next(calls, None) is None, 100_000)  # a view or trigger may never end
        return database

    def _write(self, key: str, digest: str, body: bytes) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_text(self.folder / ".gitignore", "*\n")
        with closing(self._open()) as database, database:
            database.execute("pragma synchronous = off")
            database.execute(_TABLE)
            database.execute(
                "insert or replace into proof values (?, ?, ?, (select coalesce(max(used), 0) + 1 from proof))",
                (key, digest, body),
            )
            database.execute(
                "delete from proof where used <= (select max(used) from proof) - ?",
                (MOST_ENTRIES,),
            )

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
