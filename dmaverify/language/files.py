"""Files as bytes and text, and which files a text may name.

Knows: regular files, links, the root of a project, paths that the user allows besides.
Does not know: what is in a file.
Law: what is no regular file is never opened to wait; a file that an input names lies below the folder of that input or
the root of its project once every link is resolved, or below a path that the user, and no file, has allowed. Whatever
the answer of the disk decides is asked here, where it is noted (`asked`), and can be asked again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from dmaverify.errors import InputError, nearest
from dmaverify.language.asked import FILE, HERE, INSIDE, NAMES, REAL, TEXT, Question, asking, listening, note

MOST_BYTES = 10_000_000
ROOTS = (".git", "dmaverify.toml", "pyproject.toml", "Cargo.toml")
"""What stands in the root of a project."""
NOT_REGULAR = "no regular file"
OUTSIDE = "move it below the folder of the project, or allow it: --allow-path DIR"

_unsaved: ContextVar[Mapping[str, str] | None] = ContextVar("unsaved", default=None)
_allowed: ContextVar[tuple[Path, ...]] = ContextVar("allowed", default=())
_apart: ContextVar[bool] = ContextVar("apart", default=False)


def named(text: str) -> tuple[str, str]:
    """Path and name of `PATH::NAME`; a file that is called so as a whole is that file."""
    path, _, name = (text, "", "") if os.path.isfile(text) else text.partition("::")
    return path, name


def is_text(text: str) -> bool:
    """Whether this is the text of a plan, not a path: it has several lines, and no file is called so."""
    return "\n" in text and not os.path.isfile(named(text)[0])


def read_bytes(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """At most `most` bytes of a regular file. Raises OSError, also for what is none and for a link that leads out of
    its project; ValueError for no file name.
    """
    if not listening():
        return _bytes_of(path, most)
    question = (TEXT, str(path), str(most))
    try:
        data = _bytes_of(path, most)
    except (OSError, ValueError) as error:
        note(question, f"none: {getattr(error, 'errno', '')}")
        raise
    note(question, hashlib.sha256(data).hexdigest())
    return data


def _bytes_of(path: str | Path, most: int) -> bytes:
    if (unsaved := _unsaved.get()) and (text := unsaved.get(os.path.abspath(path))) is not None:
        return text.encode("utf-8", "surrogatepass")[:most]
    if os.path.islink(path) and _is_circle(path):
        raise OSError(errno.ELOOP, "a link that leads back to itself", str(path))
    if os.path.islink(path) and not is_inside(path, Path(path).parent):
        raise OSError(22, "a link that leads out of the project (--allow-path DIR allows it)", str(path))
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(22, NOT_REGULAR, str(path))
    with open(handle, "rb") as file:
        return file.read(most)


def _is_circle(path: str | Path) -> bool:
    try:
        os.stat(path)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def is_file(path: str | Path) -> bool:
    """Whether a regular file lies there, or a link to one."""
    found = os.path.isfile(path)
    note((FILE, str(path), ""), str(found))
    return found


def resolved(path: str | Path) -> Path:
    """A path in full, every link resolved. Raises OSError, RuntimeError for links that end nowhere."""
    found = Path(path).resolve()
    note((REAL, str(path), ""), str(found))
    return found


def called_from_here(path: str | Path) -> str:
    """A path from the working folder."""
    note((HERE, "", ""), os.getcwd())
    return os.path.relpath(path)


def walk(root: str | Path, suffix: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`, with the files of that suffix alone, and all in order."""

    def unread(error: OSError) -> None:
        note((NAMES, str(error.filename), suffix), "none")

    for folder, inside, names in os.walk(root, onerror=unread):
        inside.sort()
        found = sorted(name for name in names if name.endswith(suffix))
        if listening():
            told = "\0".join([*inside, "", *found]).encode("utf-8", "surrogateescape")
            note((NAMES, folder, suffix), hashlib.sha256(told).hexdigest())
        yield folder, inside, found


def asked_again(question: Question) -> str:
    """What the disk answers now; nothing for what is no question."""
    kind, path, more = question
    with asking() as log:
        try:
            if kind == TEXT:
                read_bytes(path, int(more))
            elif kind == FILE:
                is_file(path)
            elif kind == INSIDE:
                is_inside(path, more)
            elif kind == REAL:
                resolved(path)
            elif kind == NAMES:
                next(walk(path, more), None)
            elif kind == HERE:
                called_from_here(".")
        except (OSError, RuntimeError, ValueError):
            pass  # noted, where that is the answer
    return log.get(question, "")


def read_text(path: str | Path) -> str:
    """A regular file as UTF-8, line breaks as `\\n`. Raises OSError, UnicodeDecodeError."""
    data = read_bytes(path, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(27, f"larger than {MOST_BYTES:,} bytes", str(path))
    return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def text_of(path: str | Path) -> str:
    """A regular file as text, whatever its bytes: what is no UTF-8 reads as U+FFFD. Raises OSError."""
    return read_bytes(path, 1 << 28).decode("utf-8", "replace")


@contextmanager
def unsaved(texts: Mapping[str, str]) -> Iterator[None]:
    """Reads these files (absolute paths) as an editor shows them, not as they lie on the disk."""
    token = _unsaved.set(dict(texts))
    try:
        yield
    finally:
        _unsaved.reset(token)


@contextmanager
def allowing(paths: Iterable[str]) -> Iterator[None]:
    """Lets inputs name files below these paths, too."""
    token = _allowed.set((*_allowed.get(), *(Path(path).resolve() for path in paths)))
    try:
        yield
    finally:
        _allowed.reset(token)


def near_file(path: str | Path) -> str | None:
    """`did you mean FILE?` for a file that does not exist and a neighbour that is named nearly so."""
    wanted = Path(path)
    try:
        names = [one.name for one in os.scandir(wanted.parent) if one.name.endswith(wanted.suffix) and one.is_file()]
    except (OSError, ValueError):
        return None
    near = nearest(wanted.name, names[:2000])
    return f"did you mean `{wanted.parent / near}`?" if near else None


def is_inside(file: str | Path, folder: str | Path) -> bool:
    """Whether a file that an input in `folder` names may be read; every link is resolved first."""
    found = _may_be_read(file, folder)
    note((INSIDE, str(file), str(folder)), str(found))
    return found


def _may_be_read(file: str | Path, folder: str | Path) -> bool:
    try:
        real, home = Path(file).expanduser().resolve(), Path(folder).resolve()
    except (OSError, RuntimeError, ValueError):
        return False
    roots = (home,) if _apart.get() else (home, project_root(home), *_allowed.get())
    return any(real == root or root in real.parents for root in roots)


@contextmanager
def folders_apart() -> Iterator[None]:
    """While it lasts, an input names files of its own folder alone: no project around it, no path that was allowed."""
    token = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(token)


def is_below(file: str | Path, folder: str | Path) -> bool:
    """Whether a file lies below `folder` once every link is resolved."""
    try:
        real, home = Path(file).expanduser().resolve(), Path(folder).resolve()
    except (OSError, RuntimeError, ValueError):
        return False
    return home in real.parents


def write_text(path: str | Path, text: str) -> None:
    """Writes a file whole or not at all; a link of that name is replaced, never followed. Raises OSError."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, data: bytes) -> None:
    """As `write_text`."""
    try:
        _write_whole(Path(path), data)
    except OSError as error:  # of a file beside it, or of none
        raise OSError(error.errno, error.strerror, str(path)) from None


def must_take(path: str | Path) -> None:
    """Raises OSError where a file of that name could not be written."""
    target = Path(path)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    folder = next((one for one in target.absolute().parents if os.path.lexists(one)), target.parent)
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    if not os.access(folder, os.W_OK | os.X_OK) and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def must_spare(written: Iterable[str | None], read: Iterable[str]) -> None:
    """Raises InputError for a file that a command is to write and reads, too, or is to write twice; `read` may be
    `PATH::NAME`. What is no file, as /dev/stdout, takes all that is written.
    """
    known, before = {os.path.realpath(named(path)[0]) for path in read}, set()
    for path in written:
        if path is None:
            continue
        if os.path.realpath(path) in known:
            raise InputError(f"{path} is read, and would be written over", None, "name another file")
        folder, name = os.path.split(os.path.abspath(path))
        place = os.path.join(os.path.realpath(folder), name)  # a link is replaced, not followed
        if place in before and (os.path.isfile(place) or not os.path.lexists(place)):
            raise InputError(f"{path} would be written twice", None, "name another file for each")
        before.add(place)


def _write_whole(target: Path, data: bytes) -> None:
    streams = not target.is_symlink() or target.parts[:2] in ((os.sep, "dev"), (os.sep, "proc"))
    if streams and (target.is_char_device() or target.is_fifo()):  # /dev/stdout, a pipe of the shell
        target.write_bytes(data)
        return
    import tempfile

    handle, beside = tempfile.mkstemp(prefix=f".{target.name[:80]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        kept = target.is_file() and not target.is_symlink()
        os.chmod(beside, (target.stat().st_mode if kept else 0o666 & ~_mask()) & 0o777)
        os.replace(beside, target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def shipped(name: str) -> tuple[Path, Path]:
    """Where data of that name may lie: in an installed package, in the checkout."""
    package = Path(__file__).resolve().parents[1]
    return package / f"_{name}", package.parent / name


def project_root(folder: Path) -> Path:
    """The outermost folder of the project around `folder`: that of its repository, else the nearest with settings."""
    parents = (folder, *folder.parents)
    for one in parents:
        if os.path.exists(one / ".git"):
            return one
    return next((one for one in parents if any(os.path.exists(one / name) for name in ROOTS)), folder)
