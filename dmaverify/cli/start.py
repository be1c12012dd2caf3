"""How to begin without the repository: examples that came with the installation, first plans, a project's own files.

Knows: where the examples lie, the kinds of first plans, which files `init` writes. Does not know: how plans are judged.
Law: no file that exists is written over unless `--force` says so; every first plan is one that `check` proves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from dmaverify.errors import InputError, did_you_mean, many, nearest, typed
from dmaverify.language.files import shipped, write_text

START = "start"
"""The folder of the examples that holds the first plans: the stem of a file is its kind."""


def examples_folder() -> Path:
    """Where the examples lie: in the installed package, or in the checkout. Raises InputError."""
    for folder in shipped("examples"):
        if folder.is_dir():
            return folder
    raise InputError("the examples are not installed", None, "install dmaverify from a wheel or a checkout")


def kinds() -> tuple[str, ...]:
    """The kinds of first plans."""
    return tuple(sorted({path.stem for path in (examples_folder() / START).iterdir() if path.is_file()}))


def _near(word: str, known: Sequence[str]) -> str:
    return did_you_mean(word, known) or f"one of {', '.join(known)}"


def _about(path: Path) -> str:
    """The first sentence of the first comment."""
    said: list[str] = []
    with path.open(encoding="utf-8") as text:
        for line in text:
            if not line.lstrip().startswith(("#", "//")):
                break
            said.append(line.strip().lstrip("#/! ").rstrip())
    whole = " ".join(said)
    end = re.search(r"\.(?= |$)", whole[12:])
    return whole if end is None else whole[: 12 + end.start()].rstrip()


# ---------------------------------------------------------------- new


def started(kind: str, name: str | None, folder: Path, force: bool) -> list[Path]:
    """Writes the first plan of a kind into `folder`, under a name of the user's. Raises InputError."""
    if kind not in kinds():
        raise InputError(f"no first plan `{kind}`", None, _near(kind, kinds()))
    stem = name or kind
    if Path(stem).name != stem or stem.startswith("."):
        raise InputError(f"`{stem}` is no name of a file", None, "give a plain name; --to names the folder")
    stem = stem.removesuffix(".toml").removesuffix(".rs")
    texts = {}
    for path in sorted((examples_folder() / START).glob(f"{kind}.*")):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            text = text.replace(f"{kind}.mlir", f"{stem}.mlir")
        texts[folder / f"{stem}{path.suffix}"] = text
    return written(texts, force)


def written(texts: dict[Path, str], force: bool) -> list[Path]:
    """Writes all or nothing. Raises InputError for a file that exists, unless `force`."""
    there = [path for path in texts if path.exists()]
    if there and not force:
        raise InputError(f"{there[0]} exists", None, "give another name, or --force to write over it")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    return list(texts)


@click.command()
@click.argument("kind", required=False)
@click.argument("name", required=False)
@click.option("--to", "folder", type=click.Path(file_okay=False), default=".", metavar="DIR", help="Write it there.")
@click.option("--force", is_flag=True, help="Write over files that exist.")
def new(kind: str | None, name: str | None, folder: str, force: bool) -> None:
    """Write a first plan or kernel that is proved, to change.

    KIND is relayout, tile, head-split, pad, gather, program, pto, idma or rust; without one, they are listed.
    """
    from dmaverify.cli.screen import told

    if kind is None:
        start = examples_folder() / START
        rows = [f"{one:<12}{_about(max(start.glob(f'{one}.*')))}" for one in kinds()]
        raise told("\n".join([*rows, "\nwrite one: dmaverify new KIND [NAME]"]))
    paths = started(kind, name, Path(folder), force)
    raise told("\n".join([*(f"wrote {path}" for path in paths), f"now: dmaverify check {typed(paths[-1])}"]))


# ---------------------------------------------------------------- examples


def example_names() -> list[str]:
    """Every example by its path below the folder of the examples."""
    folder = examples_folder()
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.suffix in (".toml", ".rs", ".mlir"))
    return sorted(path.as_posix() for path in found if path.parts[0] != "ci" and len(path.parts) < 3)


@click.command()
@click.argument("name", required=False)
@click.option("--copy", "folder", type=click.Path(), metavar="DIR", help="Write all of them, or NAME, into a folder.")
@click.option("--force", is_flag=True, help="Write over files that exist.")
def examples(name: str | None, folder: str | None, force: bool) -> None:
    """List, show or copy the examples that came with dmaverify."""
    from dmaverify.cli.screen import told

    names = example_names()
    if name is not None and name not in names:
        ends = [one for one in names if Path(one).stem == Path(name).stem or one.startswith(f"{name.rstrip('/')}/")]
        raise InputError(f"no example `{name}`", None, f"did you mean `{ends[0]}`?" if ends else _example(name, names))
    root = examples_folder()
    if folder is not None:
        paths = list(_with_companions(root, name)) if name else list(_shipped(root))
        texts = {Path(folder) / path: (root / path).read_text(encoding="utf-8") for path in paths}
        made = written(texts, force)
        raise told(f"wrote {many(len(made), 'file')} into {folder}")
    if name is not None:
        raise told((root / name).read_text(encoding="utf-8"))
    width = max(map(len, names)) + 2
    rows = "\n".join(f"{one:<{width}}{_about(root / one)}".rstrip() for one in names)
    raise told(f"{rows}\n\nread one: dmaverify examples NAME; copy all: dmaverify examples --copy DIR")


def _example(name: str, names: Sequence[str]) -> str:
    """The example that was meant, by its path or by its stem alone."""
    stems = {Path(one).stem: one for one in names}
    near = nearest(name, names) or stems.get(nearest(Path(name).stem, stems) or "")
    return f"did you mean `{near}`?" if near else "`dmaverify examples` lists them"


def _shipped(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*")):
        inner = path.relative_to(root)
        if path.is_file() and inner.parts[0] != "ci" and "__pycache__" not in inner.parts:
            yield inner


def _with_companions(root: Path, name: str) -> Iterator[Path]:
    """An example and the kernel of the same name that it judges, if it has one."""
    yield Path(name)
    text = (root / name).with_suffix(".mlir")
    if name.endswith(".toml") and text.exists():
        yield text.relative_to(root)


# ---------------------------------------------------------------- init


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True), default=".")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
def init(folder: str, dry_run: bool) -> None:
    """Settings, a workflow and a hook for a repository.

    Files for dmaverify, CI and pre-commit, as far as they are not there yet.
    """
    from dmaverify import __version__
    from dmaverify.cli.screen import told
    from dmaverify.jobs.project import files_for

    project = files_for(Path(folder), __version__)
    said = [*project.notes]
    for path, text in project.texts.items():
        if not dry_run:
            written({path: text}, force=False)
        said.append(f"{'would write' if dry_run else 'wrote'} {path}")
    raise told("\n".join([*said, "now: dmaverify check"]))
