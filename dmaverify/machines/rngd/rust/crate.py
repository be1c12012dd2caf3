"""The files of a crate as modules: where `mod x;`, `crate::x` and `super::x` lead.

Knows: Cargo's folders (`src/lib.rs`, `src/main.rs`, `tests`, `examples`, `benches`, `src/bin`), `x.rs` and `x/mod.rs`.
Does not know: what modules hold.
Law: a file is read once a run, and only when a name leads to it; a file that cannot be read is a module that is not
there, unless it is the one that was asked for.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dmaverify.errors import InputError, Source
from dmaverify.language.files import OUTSIDE, called_from_here, is_file, is_inside, resolved, walk
from dmaverify.language.toml_spans import read_source
from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.cfg import asked_features, features_of
from dmaverify.machines.rngd.rust.code import parse_file
from dmaverify.machines.rngd.rust.library import Library, dependencies, home_of, library_of, manifest_of, said_in
from dmaverify.machines.rngd.rust.module import NameScope, fill
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from tree_sitter import Node

_ROOTS = ("lib.rs", "main.rs")
_OWN_CRATES = ("tests", "examples", "benches", "bin")
MOST_FILES = 2_000
MOST_FOLDERS = 1_000
MOST_SEARCHED = 400


@dataclass
class Folder:
    """Opens the modules of a folder. Called with a name, it gives the module or None."""

    crate: Crate
    path: Path
    scope: NameScope | None = None
    home: Path | None = None  # the folder of the file itself, where its modules lie in one beside it
    absent: set[str] = field(default_factory=set)

    def __call__(self, name: str) -> NameScope | None:
        if name in self.absent:
            return None
        for file in (self.path / f"{name}.rs", self.path / name / "mod.rs"):
            self.crate.stamps.setdefault(file, stamp(file))  # there or not: another time it may be
            if is_file(file):
                return self.crate.module(file, name, self.scope)
        self.absent.add(name)
        return None

    def at(self, name: str, path: str) -> NameScope | None:
        """The module whose file `#[path = ..]` names, from the folder of the file that declares it."""
        file = (self.home or self.path) / path
        self.crate.stamps.setdefault(file, stamp(file))
        return self.crate.module(file, name, self.scope, named=True) if is_file(file) else None

    def below(self, name: str) -> Folder:
        return Folder(self.crate, self.path / name)


@dataclass
class Crate:
    """The modules of one crate. `root` is the folder of its root file, `entry` that file if there is one. Files are
    called by their path from the working folder, or in full (`absolute`); one of them as `display` says.
    """

    root: Path
    entry: Path | None
    absolute: bool = False
    display: dict[Path, str] = field(default_factory=dict)
    read: dict[Path, tuple[NameScope, Code, Node]] = field(default_factory=dict)
    failed: dict[Path, InputError] = field(default_factory=dict)
    stamps: dict[Path, tuple[int, int, int]] = field(default_factory=dict)
    others: dict[str, Crate | None] = field(default_factory=dict)  # libraries that the package names by a path
    asked: str = field(default_factory=asked_features)
    toggled: frozenset[str] = frozenset()  # features that this build has or lacks beside those of the package

    @property
    def current(self) -> bool:
        """Whether every file that was read, and the features that are asked for, are still as they were."""
        own = all(stamp(file) == seen for file, seen in self.stamps.items()) and self.asked == asked_features()
        return own and all(other.current for other in self.others.values() if other is not None)

    def watch(self, file: Path) -> None:
        """Enters a file that was searched: where it or what lies beside it changes, all is read anew."""
        for one in (file, *(folder for folder in file.parents if folder == self.root or self.root in folder.parents)):
            if one not in self.stamps:
                self.stamps[one] = stamp(one)

    @cached_property
    def top(self) -> NameScope:
        if self.entry is not None:
            found = self.module(self.entry, "crate", None)
            if found is not None:
                return found
        scope = NameScope("module", "crate", None, features=self.features)
        scope.opens, scope.extern = Folder(self, self.root, scope), self.extern
        return scope

    @cached_property
    def features(self) -> frozenset[str]:
        return features_of(self.package[0] if self.package is not None else None, self.toggled)

    @cached_property
    def library(self) -> Library:
        return library_of(self.package[0] if self.package is not None else None)

    @cached_property
    def package(self) -> tuple[Path, str] | None:
        found = _package(self.root)
        if found is not None:
            for folder in (found[0], *found[0].parents):  # the workspace around it too, there or not
                self.stamps[folder / "Cargo.toml"] = stamp(folder / "Cargo.toml")
        return found

    @cached_property
    def home(self) -> Path:
        return home_of(self.package[0] if self.package is not None else self.root)

    @cached_property
    def libraries(self) -> dict[str, Path]:
        return dependencies(self.package[0]) if self.package is not None else {}

    def extern(self, name: str) -> NameScope | None:
        """The library of the same package, as tests and binaries name it, or one that it names by a path."""
        package = self.package
        if package is None:
            return None
        if package[1] == name:
            library = package[0] / "src" / "lib.rs"
            return self.module(library, name, None) if is_file(library) else None
        if name not in self.others:
            folder = self.libraries.get(name)
            library = resolved(folder / "src" / "lib.rs") if folder is not None else Path()
            known = folder is not None and is_file(library)
            self.others[name] = Crate(library.parent, library, self.absolute, self.display) if known else None
        other = self.others[name]
        return other.top if other is not None else None

    def module(self, file: Path, name: str, around: NameScope | None, *, named: bool = False) -> NameScope | None:
        """The module of a file, which `#[path = ..]` may have `named`; None where it cannot be read (then `failed`
        says why).
        """
        key = resolved(file)
        if key in self.read:
            return self.read[key][0]
        if key in self.failed or len(self.read) >= MOST_FILES:
            return None
        try:
            self.stamps[key] = stamp(key)
            if file != self.entry and not is_inside(key, self.home):
                raise InputError(f"{file} lies outside of the project", None, OUTSIDE)
            source = Source(self.display.get(key) or self._called(key), read_source(file).text)
            code, tree = parse_file(source)
        except InputError as error:
            self.failed[key] = error
            return None
        scope = NameScope("module", name, around, features=self.features)
        scope.root = around.top if around is not None else None
        beside = file.name not in (*_ROOTS, "mod.rs") and around is not None and not named
        own = file.parent / file.stem if beside else file.parent
        scope.opens, scope.extern = Folder(self, own, scope, file.parent), self.extern
        self.read[key] = scope, code, tree
        fill(scope, code, tree.children)
        return scope

    def _called(self, file: Path) -> str:
        return str(file) if self.absolute else called_from_here(file)

    def at(self, file: Path) -> tuple[NameScope, Code, Node]:
        """The module that a file of this crate is. Raises InputError where it cannot be read."""
        key = resolved(file)
        if key not in self.read:
            self._reach(key)
        if key not in self.read:
            raise self.failed.get(key) or InputError(f"{file} cannot be read")
        return self.read[key]

    def _reach(self, key: Path) -> None:
        """Opens the modules that lead to a file, by its path from the root."""
        top = self.top
        if key in self.read:
            return
        parts = list(key.relative_to(self.root.resolve()).parts)
        names = parts[:-1] if parts[-1] in ("mod.rs", *_ROOTS) else [*parts[:-1], key.stem]
        scope: NameScope | None = top
        for name in names:
            scope = scope._submodule(name) if scope is not None else None
        if key not in self.read:
            self.module(key, key.stem, scope or top)


def crate_of(file: Path) -> tuple[Path, Path | None]:
    """(folder of the root, root file) of the crate that a file belongs to."""
    file = resolved(file)
    if file.name in _ROOTS:
        return file.parent, file
    for folder in file.parents:
        if folder.name in _OWN_CRATES and (folder == file.parent or is_file(file.parent / "mod.rs")):
            return folder, file if folder == file.parent else None
        for name in _ROOTS:
            if is_file(folder / name):
                return folder, folder / name
        if is_file(folder / "Cargo.toml"):
            inside = folder / "src"
            return (inside, None) if inside in file.parents else (file.parent, None)
    folder = file.parent
    while is_file(folder / "mod.rs") and folder.parent != folder:
        folder = folder.parent
    return folder, None


def rust_files(root: Path) -> tuple[list[Path], bool]:
    """The Rust files below a folder, in order, and whether these are all; folders that cannot be read or that builds
    fill are passed over.
    """
    found: list[Path] = []
    for number, (folder, inside, names) in enumerate(walk(root, ".rs")):
        inside[:] = [name for name in inside if name != "target" and not name.startswith(".")]
        found += [Path(folder, name) for name in names]
        if number >= MOST_FOLDERS or len(found) > MOST_SEARCHED:
            return sorted(found)[:MOST_SEARCHED], False
    return sorted(found), True


def _package(folder: Path) -> tuple[Path, str] | None:
    """The folder and the library name of the package around `folder`."""
    for one in (folder, *folder.parents):
        file = one / "Cargo.toml"
        if is_file(file):
            name = said_in(manifest_of(one) or {}, "package", "name")
            return (one, name.replace("-", "_")) if isinstance(name, str) else None
    return None


def stamp(file: Path) -> tuple[int, int, int]:
    """What changes when a file changes, even one as long and no younger; zeros where it is gone."""
    try:
        found = file.stat()
    except OSError:
        return (0, 0, 0)
    return found.st_ctime_ns, found.st_mtime_ns, found.st_size
