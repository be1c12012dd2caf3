"""Which files of a folder are checked, and why each of the others is left.

Knows: folders that belong to tools, `.gitignore`, how a plan, a kernel and a settings file look from outside.
Does not know: what is in a file beyond its looks.
Law: what looks like a plan is taken, so that one that cannot be read is an error and not a pass; a file or folder that
is left has its reason; links to folders are not followed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from fnmatch import translate
from functools import partial
from pathlib import Path

from dmaverify.errors import Source
from dmaverify.language.files import MOST_BYTES, is_inside, named, read_bytes
from dmaverify.values import dataclass

COPY_TEXTS = (".pto", ".mlir")
SUFFIXES = (".toml", ".rs", *COPY_TEXTS, ".c", ".h")
SETTINGS = ("pyproject.toml", "Cargo.toml", "dmaverify.toml", "target.toml")
BUILT = ("node_modules", "__pycache__", "site-packages", "venv", "build", "dist", "_build")
_PLAN = re.compile(
    rb'(?:^|\r|\A\xef\xbb\xbf)[ \t]*'
    rb'(?:["\']?schema["\']?[ \t]*=|\[{1,2}[ \t]*["\']?(?:axes|transfer)["\']?[ \t]*[.\]])',
    re.MULTILINE,
)  # fmt: skip
IGNORED = "is ignored (.gitignore)"


def is_copy_text(text: str) -> bool:
    """Whether PATH or PATH::NAME names PTO text, by its suffix."""
    return named(text)[0].endswith(COPY_TEXTS)


@dataclass(frozen=True, slots=True)
class WalkedPath:
    """A file or folder of the walk: whether it is checked, and why."""

    path: str
    taken: bool
    why: str


def walked(folder: str, *, lists: bool = False) -> list[WalkedPath]:
    """Everything below `folder` that could be checked, in the order of the paths; with `lists` also a machine's job
    files and lists.
    """
    more: tuple[str, ...] = ()
    if lists:
        from dmaverify.machines.idma.check import SUFFIXES as more
    return sorted(_below(Path(folder), _rules_above(Path(folder)), more), key=lambda seen: seen.path)


def _below(folder: Path, rules: tuple[_Rule, ...], more: tuple[str, ...]) -> Iterator[WalkedPath]:
    rules = (*rules, *_rules_of(folder))
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        gone = isinstance(error, FileNotFoundError)  # meanwhile; else what it holds is no pass
        yield WalkedPath(str(folder), not gone, f"cannot be listed: {error.strerror}")
        return
    for entry in entries:
        path = folder / entry.name
        if entry.is_dir(follow_symlinks=False):
            why = _left_folder(path, rules)
            if why:
                yield WalkedPath(f"{path}/", False, why)
            else:
                yield from _below(path, rules, more)
        elif entry.name.endswith((*SUFFIXES, *more)):
            yield _file(path, rules)


def files_below(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """The files of a folder and of those below with such names, less what tools and builds leave there."""
    for here, inner, names in os.walk(folder):
        inner[:] = [name for name in inner if not _left_folder(Path(here, name), ())]
        yield from (Path(here, name) for name in names if name.endswith(suffixes))


def is_cargo_output(folder: Path) -> bool:
    """Whether Cargo builds into a folder: a module may have its name."""
    return folder.name == "target" and (folder.parent / "Cargo.toml").is_file()


def _left_folder(path: Path, rules: tuple[_Rule, ...]) -> str:
    """Why a folder is left; empty for one that is walked."""
    if path.name.startswith("."):
        return "belongs to a tool"
    if path.name in BUILT or is_cargo_output(path):
        return "holds what was built"
    if os.path.isfile(path / "CACHEDIR.TAG"):
        return "is a cache (CACHEDIR.TAG)"
    return IGNORED if _ignored(path, rules, folder=True) else ""


def _file(path: Path, rules: tuple[_Rule, ...]) -> WalkedPath:
    name = str(path)
    if _ignored(path, rules, folder=False):
        return WalkedPath(name, False, IGNORED)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return WalkedPath(name, False, "is no regular file")
        if path.is_symlink() and not is_inside(path, path.parent):
            return WalkedPath(name, False, "is a link that leads out of the project")
        data = read_bytes(path, MOST_BYTES)
    except OSError as error:
        return WalkedPath(name, path.name not in SETTINGS, f"cannot be read: {error.strerror}")
    return looks(path, data)


def looks(path: Path, data: bytes) -> WalkedPath:
    """Whether a file of that name and content is checked."""
    name = str(path)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # UTF-16, which is refused where it is read: not passed over here
        data = data[2:].replace(b"\0", b"")
    if path.suffix == ".rs":
        return _kernel(name, data)
    if path.suffix in (".c", ".h"):
        return _driver(name, data)
    if path.suffix != ".toml":
        return WalkedPath(name, True, "is PTO text" if path.suffix in SUFFIXES else "is a job file or a list")
    if path.name in SETTINGS:
        return WalkedPath(name, False, "holds settings, or describes a machine")
    if found := _PLAN.search(data):
        said = found[0].decode("utf-8", "replace").strip()
        return WalkedPath(name, True, f"looks like a plan (`{said}`)")
    return WalkedPath(name, False, "is no plan: no `schema =`, [axes] or [transfer.NAME]")


def _kernel(name: str, data: bytes) -> WalkedPath:
    from dmaverify.machines.rngd.rust.in_text import judged_word

    found = judged_word(data)
    return WalkedPath(name, bool(found), f"names `{found}`" if found else "names no transfer and no kernel")


def _driver(name: str, data: bytes) -> WalkedPath:
    from dmaverify.machines.idma.c.names import CALLS
    from dmaverify.machines.idma.c.pulp import PULP_CALLS
    from dmaverify.machines.idma.c.tiles import MADE_OF_OTHERS

    words = {*CALLS, *PULP_CALLS, *MADE_OF_OTHERS}
    found = _named(words, data)
    if found is None and name.endswith(".c") and b"#include" in data:
        from dmaverify.machines.idma.c.driver import launches_by_headers

        source = Source(name, data.decode("utf-8", "replace"))
        if called := launches_by_headers(source, partial(_named, words)):
            return WalkedPath(name, True, f"names what launches in a header, by `{called}`")
    return WalkedPath(name, found is not None, f"names `{found}`" if found else "names no DMA function")


def _named(words: Iterable[str], data: bytes) -> str | None:
    """The first of these words in a text, wherever: how it is called (`x . to_dm`, `m!(to_dm)`) is for readers."""
    return next((one for one in sorted(words) if re.search(rb"\b%s\b" % one.encode(), data)), None)


# ---------------------------------------------------------------- .gitignore


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of a .gitignore: paths below `folder` whose parts match are ignored, or not after all (`again`). None
    among the parts stands for any number of folders.
    """

    folder: str
    parts: tuple[re.Pattern[str] | None, ...]
    again: bool
    folders: bool


def _rules_above(folder: Path) -> tuple[_Rule, ...]:
    """The rules of the folders above, down from the one that holds .git; none outside of a repository."""
    parents = [folder.resolve(), *folder.resolve().parents]
    root = next((index for index, one in enumerate(parents) if os.path.exists(one / ".git")), None)
    if root is None:
        return ()
    return tuple(rule for one in reversed(parents[1 : root + 1]) for rule in _rules_of(one))


def _rules_of(folder: Path) -> tuple[_Rule, ...]:
    try:
        lines = read_bytes(folder / ".gitignore", 1 << 20).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return ()
    return tuple(rule for line in lines if (rule := _rule(str(folder.resolve()), line)) is not None)


def _rule(folder: str, line: str) -> _Rule | None:
    text = line.rstrip() if not line.endswith("\\ ") else line
    if not text or text.startswith("#"):
        return None
    again = text.startswith("!")
    text = text[1:] if again else text
    folders = text.endswith("/")
    body = text.strip("/")
    anchored = "/" in text.rstrip("/")
    texts = body.split("/") if anchored else ["**", *body.split("/")]
    try:
        parts = [None if one == "**" else re.compile(translate(one)) for one in texts]
    except re.error:
        return None
    return _Rule(folder, tuple(parts), again, folders)


def _fits(parts: tuple[re.Pattern[str] | None, ...], names: list[str]) -> bool:
    """Whether the parts of a pattern match all names of a path; the steps grow with the product of both lengths."""
    reached = {0}
    for number, part in enumerate(parts):
        if part is not None:
            reached = {at + 1 for at in reached if at < len(names) and part.fullmatch(names[at])}
        elif reached:
            first = min(reached) + (number == len(parts) - 1)  # `a/**` is all below a, not a
            reached = set(range(first, len(names) + 1))
    return len(names) in reached


def _ignored(path: Path, rules: tuple[_Rule, ...], *, folder: bool) -> bool:
    """Whether the last rule that speaks of a path ignores it."""
    if not rules:
        return False
    whole = os.path.join(path.parent.resolve(), path.name)
    for rule in reversed(rules):
        if (folder or not rule.folders) and whole.startswith(f"{rule.folder}/"):
            inside = whole[len(rule.folder) + 1 :].split("/")
            if _fits(rule.parts, inside):
                return not rule.again
    return False
