"""A revision of a repository as a folder: its files, as git keeps them.

Knows: git, which files and links of a revision may lie on the disk.
Does not know: what is judged, how revisions are compared.
Law: a revision has all its files, whatever attributes leave out of an archive, and no link that leads out of it; the
working tree is never written. The repository is that of the path that is named, whatever hook of git this runs in.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from dmaverify.errors import InputError
from dmaverify.jobs.judge import plan_files
from dmaverify.language.files import MOST_BYTES, is_below, is_inside, write_bytes

MOST_AT_ONCE = 500  # files that git is asked for at once
LINK = "120000"  # git's mode of a symbolic link
OF_HOOKS = ("GIT_DIR", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX")
"""What git sets where it runs a hook, by which it would take another folder for the root, or another repository."""


def repository_of(path: Path) -> Path:
    """The folder of the git repository around a path. Raises InputError outside of one."""
    start = path if path.is_dir() else path.parent
    try:
        return Path(git(start, "rev-parse", "--show-toplevel").decode().strip())
    except InputError as error:
        if "not a git repository" not in error.message:
            raise
        raise InputError(f"{path} lies in no git repository", None, "revisions are compared within one") from None


def git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    try:
        words = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(words, input=given, capture_output=True, check=False, env=_environment())
    except OSError as error:
        raise InputError("git cannot be started", None, str(error)) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        last = said[-1] if said else "failed"
        raise InputError(f"git {arguments[0]}: {last}", None, "see that git works in this folder")
    return done.stdout


def _environment() -> dict[str, str]:
    """The environment for git: messages in English, and no repository of a hook that runs this."""
    own = () if "GIT_WORK_TREE" in os.environ else OF_HOOKS
    return {**{key: value for key, value in os.environ.items() if key not in own}, "LC_ALL": "C"}


def merge_base(repository: Path, one: str, other: str) -> str:
    """The revision at which two of them parted. Raises InputError."""
    for revision in (one, other):
        _must_be_known(repository, revision)
    return git(repository, "merge-base", one, other).decode().strip()


def _must_be_known(repository: Path, revision: str) -> None:
    try:
        git(repository, "rev-parse", "--verify", f"{revision}^{{commit}}")
    except InputError:
        hint = "name a commit, branch or tag; a shallow clone lacks the older ones (git fetch --unshallow)"
        raise InputError(f"git knows no revision `{revision}` here", None, hint) from None


@contextmanager
def checked_out(repository: Path, revision: str) -> Iterator[Path]:
    """A folder with the plans and kernels of a revision, for as long as it is needed; with those of its submodules, as
    far as they are there.
    """
    _must_be_known(repository, revision)
    with tempfile.TemporaryDirectory(prefix="dmaverify-") as made:
        folder = Path(os.path.realpath(made))
        _link(list(_written(repository, revision, folder)), folder)
        yield folder


def _written(repository: Path, revision: str, folder: Path) -> Iterator[tuple[Path, str]]:
    """Writes the files of a revision; the links are left to whoever has all of them."""
    told = os.fsdecode(git(repository, "ls-tree", "-r", "-l", "-z", revision)).split("\0")
    rows = [(*said.split(), name) for said, _, name in (row.partition("\t") for row in told) if said]
    if lost := [name for _, kind, _, size, name in rows if kind == "blob" and not size.isdecimal()]:
        raise InputError(f"git has lost {lost[0]} of {revision}", None, "see what `git fsck` says; fetch it again")
    files = [(mode, blob, int(size), name) for mode, kind, blob, size, name in rows if kind == "blob"]
    kept = [(mode, blob, name) for mode, blob, size, name in files if size <= MOST_BYTES]
    Path(folder, ".git").mkdir(parents=True)  # where the project ends, for machines and .gitignore
    for at in range(0, len(kept), MOST_AT_ONCE):
        some = kept[at : at + MOST_AT_ONCE]
        for (mode, _, name), data in zip(some, _blobs(repository, [blob for _, blob, _ in some]), strict=True):
            file = Path(folder, name)
            if mode == LINK:
                yield file, os.fsdecode(data)
            elif is_below(file, folder):
                file.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(file, data)
    for blob, size, name in ((blob, size, name) for _, blob, size, name in files if size > MOST_BYTES):
        file = Path(folder, name)
        if is_below(file, folder):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(file, _start_of(repository, blob))
            os.truncate(file, size)  # too large to be read, and judged as such
    for inner, commit, name in ((repository / row[4], row[2], row[4]) for row in rows if row[1] == "commit"):
        if (inner / ".git").exists() and is_below(inner, repository) and is_below(folder / name, folder):
            with suppress(InputError):  # of a commit that is not there, all that lies there now is new
                _must_be_known(inner, commit)
                yield from _written(inner, commit, folder / name)


def _link(links: Sequence[tuple[Path, str]], folder: Path) -> None:
    """Makes the links of a revision, behind its files; none is left that leads out of the folder."""
    for file, target in links:
        if is_below(file, folder) and not os.path.lexists(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.symlink_to(target)
    for file, _ in links:
        if file.is_symlink() and not is_inside(file, folder):
            file.unlink()


def _blobs(repository: Path, names: Sequence[str]) -> Iterator[bytes]:
    """The contents of files as git keeps them: no attribute of the repository leaves one out."""
    data = git(repository, "cat-file", "--batch", given="".join(f"{name}\n" for name in names).encode())
    start = 0
    for _ in names:
        begin = data.index(b"\n", start) + 1
        start = begin + int(data[start:begin].split()[2])
        yield data[begin:start]
        start += 1


def _start_of(repository: Path, blob: str) -> bytes:
    """What a large file begins with, by which it is known for a plan or a kernel."""
    command = ["git", "-C", str(repository), "cat-file", "blob", blob]
    plain = _environment()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=plain) as told:
        assert told.stdout is not None
        start = told.stdout.read(MOST_BYTES)
        told.kill()
    return start


def inside(root: Path, path: str) -> str:
    """A path, with the name behind it, from the repository's folder. Raises InputError for one outside."""
    file, name = (path, None) if os.path.isdir(path) else plan_files([path])[0]
    try:
        at = Path(file).resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        said = f"{file} lies outside of the repository {root}"
        raise InputError(said, None, "name paths of one repository") from None
    return at if name is None else f"{at}::{name}"
