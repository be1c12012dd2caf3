"""What a job may read, from outside and before it is judged: for the shards of a sweep, which begin apart.

Knows: the files that a plan names, the workspace around a Rust file.
Does not know: what is read in fact (`cache` does, afterwards), how anything is judged.
Law: this is a check that shards were begun from the same sources, and no verdict is taken over by it. It errs towards
more files than are read.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

from dmaverify.jobs.cache import code_version
from dmaverify.jobs.judge import Job
from dmaverify.jobs.walk import is_cargo_output
from dmaverify.language.files import MOST_BYTES, is_inside, read_bytes, shipped
from dmaverify.machines.rngd.rust.cfg import asked_features
from dmaverify.plan.read import files_named, targets_named

MOST_FILES = 5_000  # of one workspace


def texts_digest(job: Job, crates: dict[Path, bytes] | None = None) -> str | None:
    """A digest of a job with all that it may read; None where that is too much, or lies outside of its project.

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
    for name in files_named(data):
        yield name.encode() + b"\0" + _whole(_inside(folder / name, folder))
    for name in sorted(name for name in ({target} if target else targets_named(data)) if not _ships(name)):
        base = Path() if target else folder
        where = base / Path(name).expanduser()
        for file in sorted((where if target else _inside(where, base)).glob("*")):
            if file.is_file() and file.suffix in (".toml", ".smt2"):
                yield f"{name}/{file.name}".encode() + b"\0" + _whole(file)


def _inside(file: Path, folder: Path) -> Path:
    """A file that a plan names. Raises ValueError for one outside of its project: such a plan has no key."""
    if not is_inside(file, folder):
        raise ValueError(f"{file} lies outside of the project")
    return file


def _crate(path: Path, known: dict[Path, bytes]) -> list[bytes]:
    """What a kernel may depend on beside its own text: every file of its workspace, as `#[path]` may name any, and the
    working folder, from which places in other files are named.
    """
    from dmaverify.machines.rngd.rust.crate import crate_of
    from dmaverify.machines.rngd.rust.library import home_of

    root, _ = crate_of(path)
    home = home_of(next((p for p in (root, *root.parents) if (p / "Cargo.toml").is_file()), root))
    if home not in known:
        known[home] = _tree(home)
    return [known[home], str(Path().resolve()).encode("utf-8", "surrogateescape")]


def _ships(name: str) -> bool:
    """Whether a machine of that name ships: then its data are part of `code_version`."""
    return name.isidentifier() and any((root / name / "target.toml").is_file() for root in shipped("encodings"))


def _tree(home: Path) -> bytes:
    """A hash of names and contents, without Git's folder and Cargo's build output. Raises ValueError for more than
    MOST_FILES.
    """
    digest, count = hashlib.sha256(), 0
    for folder, inner, names in os.walk(home):
        inner[:] = sorted(name for name in inner if name != ".git" and not is_cargo_output(Path(folder, name)))
        links = [name for name in inner if os.path.islink(os.path.join(folder, name))]
        for name in sorted([*names, *links]):
            file = Path(folder, name)
            data = os.readlink(file).encode("utf-8", "surrogateescape") if name in links else _known(file)
            count += 1
            if count > MOST_FILES:
                raise ValueError(f"{home} has more than {MOST_FILES} files")
            digest.update(f"\0{file.relative_to(home)}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
    return digest.digest()


def _known(file: Path) -> bytes:
    """A file, or how long it is where no kernel could read it either."""
    try:
        return _whole(file)
    except OSError:
        return b"unread"
    except ValueError:
        return str(file.stat().st_size).encode()


def _whole(file: Path) -> bytes:
    """A regular file. Raises OSError, ValueError for one that is too long to be a part of a key."""
    data = read_bytes(file, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{file} is too long")
    return data
