"""Settings of a project: which file holds them, what may stand in it, and what they say.

Knows: `dmaverify.toml`, `[tool.dmaverify]` of pyproject.toml, `[package.metadata.dmaverify]` and
`[workspace.metadata.dmaverify]` of Cargo.toml; their keys and types.
Does not know: the command line, plans, what a setting does.
Law: the nearest folder with settings wins, and in it dmaverify.toml before pyproject.toml before Cargo.toml; files are
never mixed. Whatever is no setting, or not of its kind, is an InputError at its place, with what was meant.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, did_you_mean
from dmaverify.language.files import OUTSIDE, is_below, is_inside, read_bytes, read_text
from dmaverify.prove.limits import MEMORY, RLIMIT, TIMEOUT, bytes_of, seconds_of
from dmaverify.values import dataclass, field, fields

if TYPE_CHECKING:
    from dmaverify.errors import Span
    from dmaverify.language.toml_spans import Document

FILES: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        "dmaverify.toml": ((),),
        "pyproject.toml": (("tool", "dmaverify"),),
        "Cargo.toml": (("package", "metadata", "dmaverify"), ("workspace", "metadata", "dmaverify")),
    }
)
"""By precedence in one folder: the file, and the tables of it that may hold settings."""


@dataclass(frozen=True)
class Settings:
    """What `check` and its kin take from a project; the defaults hold where no file says otherwise.

    Paths and patterns are relative to `folder`, that of the file; `origin` is its path, empty without one;
    `lines` are those of the settings in it.
    """

    target: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_path_ignore: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    per_path_expect: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    format: str | None = None
    output: tuple[str, ...] = ()
    baseline: str | None = None
    jobs: int = 1
    rlimit: int = RLIMIT
    prove: str = "fast"
    timeout: float = TIMEOUT
    memory: int = MEMORY
    execute: bool = True
    cache: bool = True
    cache_dir: str = ""
    folder: Path = Path()
    origin: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        """Every setting by its name in files, as JSON holds it, and where they come from."""
        shown: dict[str, Any] = {"settings": self.origin or None}
        for part in fields(self):
            if part.name in _KINDS_BY_FIELD:
                value = getattr(self, part.name)
                if isinstance(value, Mapping):
                    value = {key: list(v) if isinstance(v, tuple) else v for key, v in sorted(value.items())}
                shown[part.name.replace("_", "-")] = list(value) if isinstance(value, tuple) else value
        return shown

    def span(self, key: str, part: str | None = None) -> Span | None:
        """Where the file says it: the value of `key`, or the item of its list or table that is `part`."""
        if key not in self.lines:
            return None
        from dmaverify.language.toml_spans import parse_toml, read_source

        try:
            doc = parse_toml(read_source(self.origin))
        except InputError:
            return None
        for place in FILES.get(Path(self.origin).name, ((),)):
            table = reduce(_inner, place, doc.data)
            if isinstance(table, dict) and key in table:
                value = table[key]
                if isinstance(value, list) and part in value:
                    return doc.span((*place, key, value.index(part)))
                inner = (part,) if part is not None and isinstance(value, dict) and part in value else ()
                return doc.span((*place, key, *inner))
        return None


# ---------------------------------------------------------------- kinds of values


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _texts(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, list) and all(isinstance(part, str) and part for part in value):
        return tuple(value)
    return None


def _count(value: Any) -> int | None:
    return value if type(value) is int and 1 <= value < 2**62 else None


def _jobs(value: Any) -> int | None:
    return value if type(value) is int and 1 <= value <= 256 else None


def _prove(value: Any) -> str | None:
    return value if value in ("fast", "full") else None


def _limit(read: Callable[[str], float]) -> Callable[[Any], float | None]:
    """A limit as text or number; 0 for `none`."""

    def reader(value: Any) -> float | None:
        if value == "none":
            return 0
        try:
            return read(str(value)) if type(value) in (int, float, str) else None
        except (ValueError, OverflowError):
            return None

    return reader


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _named_texts(value: Any) -> Mapping[str, str] | None:
    if isinstance(value, dict) and all(isinstance(part, str) and part for part in value.values()):
        return MappingProxyType(dict(value))
    return None


def _named_lists(value: Any) -> Mapping[str, tuple[str, ...]] | None:
    lists = {key: _texts(part) for key, part in value.items()} if isinstance(value, dict) else {"": None}
    found = {key: part for key, part in lists.items() if part is not None}
    return MappingProxyType(found) if len(found) == len(lists) else None


_LIST = 'a list of texts: ["rngd/packet-max", "core/*"]'
_KINDS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "target": (_text, 'the name of a machine: "rngd"'),
    "select": (_texts, _LIST),
    "ignore": (_texts, _LIST),
    "per-path-ignore": (_named_lists, 'a table of lists: { "old/*" = ["rngd/packet-max"] }'),
    "per-path-expect": (_named_lists, 'a table of lists: { "jobs/error_*.txt" = ["idma/error-handled"] }'),
    "reading": (_named_texts, 'a table: { alignment = "std" }'),
    "paths": (_texts, 'a list of paths: ["plans", "src"]'),
    "exclude": (_texts, 'a list of patterns: ["generated/*"]'),
    "format": (_text, 'the name of a format: "concise"'),
    "output": (_texts, 'a list of FORMAT=FILE: ["sarif=dmaverify.sarif"]'),
    "baseline": (_text, 'a path: "dmaverify-baseline.json"'),
    "jobs": (_jobs, "a number of processes, 1 to 256"),
    "rlimit": (_count, "a number of solver resource units, at least 1"),
    "prove": (_prove, '"fast" or "full"'),
    "timeout": (_limit(seconds_of), 'a time: "60s", or "none"'),
    "memory": (_limit(bytes_of), 'an amount of memory: "1GiB", or "none"'),
    "execute": (_flag, "true or false"),
    "cache": (_flag, "true or false"),
    "cache-dir": (_text, 'a path: ".dmaverify_cache"'),
}
_KINDS_BY_FIELD = {key.replace("-", "_") for key in _KINDS}
KEYS = tuple(_KINDS)


# ---------------------------------------------------------------- reading


def find_settings(start: Path) -> Settings:
    """The settings for work in the folder `start`: of it, or of the nearest folder above that has any.

    Raises InputError for a settings file that cannot be read or says what is no setting.
    """
    for folder in (start, *start.absolute().parents):
        for name in FILES:
            file = folder / name
            if _speaks(file) and (found := _of_file(file)) is not None:
                return found
    return Settings(folder=start)


def read_settings(path: str | Path) -> Settings:
    """The settings of one file: of its table for dmaverify, or of the whole file where its name is another.

    Raises InputError, also where the file has none.
    """
    found = _of_file(Path(path))
    if found is None:
        tables = " or ".join(f"[{'.'.join(table)}]" for table in FILES[Path(path).name])
        raise InputError(f"{path} has no settings for dmaverify", None, f"add {tables}")
    return found


def _speaks(file: Path) -> bool:
    """Whether the file can hold settings; a cheap look, since most projects' files hold none."""
    try:
        return b"dmaverify" in read_bytes(file) or file.name == "dmaverify.toml"
    except OSError as error:
        if file.name == "dmaverify.toml" and os.path.lexists(file) and not file.is_dir():
            raise InputError(
                f"{file} cannot be read: {error.strerror}", None, "settings are read, or not there"
            ) from None
        return False


def _holds_none(path: Path, places: Iterable[tuple[str, ...]]) -> bool:
    """Whether a file is TOML without any of these tables; places in the text, which take longer, are not asked for."""
    import tomllib

    try:
        data: Any = tomllib.loads(read_text(path))
    except (OSError, ValueError, RecursionError):
        return False
    return all(reduce(_inner, place, data) is None for place in places)


def _inner(table: Any, key: str) -> Any:
    return table.get(key) if isinstance(table, dict) else None


def _of_file(path: Path) -> Settings | None:
    places = FILES.get(path.name, ((),))
    if () not in places and _holds_none(path, places):
        return None
    from dmaverify.language.toml_spans import parse_toml, read_source

    source = read_source(path)
    if not source.text.strip():
        return Settings(folder=path.parent, origin=str(path)) if () in places else None
    doc = parse_toml(source)
    for place in places:
        table = reduce(_inner, place, doc.data)
        if isinstance(table, dict):
            return _settings(doc, place, table, path)
        if table is not None:
            raise InputError(f"`{'.'.join(place)}` is no table", doc.key_span(place), f"write [{'.'.join(place)}]")
    return None


def _settings(doc: Document, place: tuple[str, ...], table: Mapping[str, Any], path: Path) -> Settings:
    made: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _KINDS:
            raise InputError(f"unknown setting `{key}`", doc.key_span((*place, key)), _instead(key))
        read, wanted = _KINDS[key]
        found = read(value)
        if found is None:
            parts = value if isinstance(value, dict) and read in (_named_texts, _named_lists) else {}
            inner = [part for part, one in parts.items() if read({part: one}) is None][:1]
            what = (
                f"not {wanted.split(':')[0]}"
                if not inner
                else "no text"
                if read is _named_texts
                else "no list of texts"
            )
            said = f"`{inner[0]}` of `{key}` is {what}" if inner else f"`{key}` is {what}"
            raise InputError(said, doc.span((*place, key, *inner)), f"write {wanted}")
        made[key.replace("-", "_")] = found
    for key in ("output", "baseline", "cache-dir"):
        for file in _written(made.get(key.replace("-", "_"))):
            if not is_below(path.parent / file, path.parent):
                said = f"`{key}` names {file}, which lies outside of the folder of the settings"
                hint = "settings write below their own folder; the command line may write anywhere"
                raise InputError(said, doc.span((*place, key)), hint)
    for named in made.get("paths", ()):
        place_named = (path.parent / named.partition("::")[0]).resolve()
        if place_named != path.parent.resolve() and not is_below(place_named, path.parent):
            said = f"`paths` names {named}, which lies outside of the folder of the settings"
            raise InputError(said, doc.span((*place, "paths")), "name it on the command line")
    if "target" in made:
        made["target"] = _target(made["target"], path.parent, doc.span((*place, "target")))
    lines = {key: span.line for key in table if (span := doc.key_span((*place, key))) is not None}
    return Settings(**made, folder=path.parent, origin=str(path), lines=lines)


def _target(name: str, folder: Path, span: Span | None) -> str:
    """A machine by its name, or the folder of one, from the folder of the settings. Raises InputError outside of it."""
    from dmaverify.targets.target import available_targets

    own, known = folder / name, available_targets()
    if name in known:
        return name
    if not is_inside(own, folder):
        raise InputError(f"the target {name!r} lies outside of the project", span, OUTSIDE)
    if not (own / "target.toml").is_file():
        raise InputError(
            f"no target {name!r}", span, did_you_mean(name, known) or f"known: {', '.join(known)}; or a folder"
        )
    return str(own)


def _written(value: Any) -> list[str]:
    """The files of a setting that names any."""
    values = [value] if isinstance(value, str) else list(value or ())
    return [text.partition("=")[2] if "=" in text else text for text in values]


def _instead(key: str) -> str:
    return did_you_mean(key.replace("_", "-").lower(), KEYS) or f"known: {', '.join(KEYS)}"


# ---------------------------------------------------------------- patterns


def matching(path: str, patterns: Iterable[str], folder: Path) -> bool:
    """Whether a path lies under one of the patterns of a settings file in `folder` (`old`, `old/*`, `*.gen.toml`)."""
    from fnmatch import fnmatch

    absolute = Path(path).absolute()
    root = folder.absolute()
    inside = absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else absolute.as_posix()
    for pattern in patterns:
        plain = pattern.removeprefix("./").rstrip("/")
        if fnmatch(inside, plain) or inside.startswith(f"{plain}/"):
            return True
        if "/" not in plain and fnmatch(absolute.name, plain):
            return True
    return False
