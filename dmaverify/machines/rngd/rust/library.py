"""Which version of the vendor's library a package is written for, and what older versions mean otherwise.

Knows: `furiosa-opt-std` (once `furiosa-visa-std`) among the dependencies of a Cargo.toml, by version, path or
workspace; what changed with v0.4.0 and v0.6.0.
Does not know: Rust text, other packages.
Law: a package that does not say its version is read by the newest.

Source: furiosa-opt CHANGES.md and the examples of v0.2.0 to v0.6.0.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from dmaverify.language.files import is_inside, read_text
from dmaverify.values import dataclass

_VENDOR = ("furiosa-opt-", "furiosa-visa-", "furiosa-mapping")
NAMES = ("furiosa-opt-std", "furiosa-visa-std")


@dataclass(frozen=True)
class Library:
    """A version of the library."""

    version: tuple[int, int] = (0, 6)

    @property
    def marks_written_tiles(self) -> bool:
        """Whether a tile of a mutable view must pad with `#{!}`; before v0.6.0 it may pad with `#` too."""
        return self.version >= (0, 6)

    @property
    def orders_stages(self) -> bool:
        """Whether a stage of a pipeline follows those alone that v0.6.0 names, and keeps its laws; before it a commit
        needs no trim, and the vendor's own examples have fetches and switches that v0.6.0 refuses.
        """
        return self.version >= (0, 6)

    @property
    def asserts_layouts(self) -> bool:
        """Whether a load asserts the number of clusters and slices and the 8-byte rule; since v0.4.0."""
        return self.version >= (0, 4)

    @property
    def keeps_compounds(self) -> bool:
        """Whether a compound that is cut inside its parts stays whole: `[A, B] # 16 % 8, [A, B] # 16 / 8` names all
        its elements. The vendor's own example of that left with v0.6.0.
        """
        return self.version < (0, 6)


NEWEST = Library()
_ASKS = {"features", "default-features", "package", "optional"}


def library_of(package: Path | None) -> Library:
    """The version that a package asks for."""
    data = manifest_of(package)
    if package is None or data is None:
        return NEWEST
    own = _version(said_in(data, "package", "version"))
    if str(said_in(data, "package", "name")) in (*NAMES, "furiosa-opt-examples", "furiosa-visa-examples") and own:
        return Library(own)
    for table in ("dependencies", "dev-dependencies"):
        for name in NAMES:
            wanted = said_in(data, table, name)
            found = _dependency(package, name, wanted) if wanted is not None else None
            if found is not None:
                return Library(found)
    return NEWEST


def dependencies(package: Path) -> dict[str, Path]:
    """The folders of the packages that a package names by a path, or its workspace does, under the names that its code
    uses; without the vendor's own, whose types are known here, and those that it asks for other features than theirs.
    """
    data, out = manifest_of(package) or {}, {}
    for table in ("dependencies", "dev-dependencies"):
        for name in said_in(data, table) or ():
            folder, wanted = package, said_in(data, table, name)
            if isinstance(wanted, dict) and wanted.get("workspace") is True:
                folder = home_of(package)
                wanted = said_in(manifest_of(folder) or {}, "workspace", "dependencies", name)
            if not isinstance(wanted, dict) or {*wanted} & _ASKS or name.startswith(_VENDOR):
                continue
            if isinstance(wanted.get("path"), str) and is_inside(folder / wanted["path"], home_of(package)):
                out[name.replace("-", "_")] = folder / wanted["path"]
    return out


def home_of(package: Path) -> Path:
    """The folder of a package, or the workspace of Cargo around it: what it names lies in the project of that."""
    return next((one for one in package.parents if "workspace" in (manifest_of(one) or {})), package)


def _dependency(package: Path, name: str, wanted: Any) -> tuple[int, int] | None:
    if isinstance(wanted, str):
        return _version(wanted)
    if not isinstance(wanted, dict):
        return None
    if wanted.get("workspace") is True:
        folder = home_of(package)
        asked = said_in(manifest_of(folder) or {}, "workspace", "dependencies", name)
        return _dependency(folder, name, asked) if folder != package else None
    said = _version(wanted.get("version")) or _version(wanted.get("tag"))
    if said is not None or not isinstance(wanted.get("path"), str):
        return said
    at = package / wanted["path"]
    data = manifest_of(at) if is_inside(at, home_of(package)) else None
    return _version(said_in(data, "package", "version")) if data is not None else None


def _version(text: Any) -> tuple[int, int] | None:
    found = re.search(r"(\d{1,4})\.(\d{1,4})", text) if isinstance(text, str) else None
    return (int(found[1]), int(found[2])) if found is not None else None


def manifest_of(folder: Path | None) -> dict[str, Any] | None:
    """The data of a folder's Cargo.toml; None where there is none that can be read."""
    try:
        return _parsed(read_text(folder / "Cargo.toml")) if folder is not None else None
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=64)
def _parsed(text: str) -> dict[str, Any]:
    """The data of a manifest; nobody changes them. Raises ValueError."""
    return tomllib.loads(text)


def said_in(data: dict[str, Any], *names: str) -> Any:
    """What stands below these names; None where nothing does."""
    found: Any = data
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found
