"""What a repository needs so that its plans and kernels are checked: settings, a workflow, a hook.

Knows: which files mean GitHub, GitLab and pre-commit, and what stands in theirs. Does not know: how anything is judged,
who writes the files.
Law: only files that are not there yet; for one that is, the lines to add are told. Everything named was found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from dmaverify.errors import InputError, typed
from dmaverify.jobs.walk import SUFFIXES, walked
from dmaverify.language.files import project_root
from dmaverify.values import dataclass

SETTINGS = "dmaverify.toml"
WORKFLOW = ".github/workflows/dmaverify.yml"
HOOKS = ".pre-commit-config.yaml"
GITLAB = ".gitlab-ci.yml"


@dataclass(frozen=True)
class Project:
    """The files to write with their texts, and what to say of the others."""

    texts: Mapping[Path, str]
    notes: tuple[str, ...]


def files_for(folder: Path, version: str) -> Project:
    """What `folder` lacks. Raises InputError for settings that cannot be read, and for a part of a repository."""
    from dmaverify.plan.settings import find_settings

    if not folder.is_dir():
        raise InputError(f"{folder} is no folder", None, "name the root of a repository")
    root = project_root(folder.resolve())
    if root != folder.resolve() and (root / ".git").exists():
        raise InputError(
            f"{folder} is a part of the repository {root}, where workflows and hooks are read in its root alone",
            None,
            f"dmaverify init {typed(root)}",
        )
    found = [Path(one.path) for one in walked(str(folder)) if one.taken]
    notes = [_counted(found)]
    texts: dict[Path, str] = {}
    settings = find_settings(folder)
    if settings.origin:
        notes.append(f"settings are in {settings.origin}")
    else:
        texts[folder / SETTINGS] = _settings(_roots(found, folder))
    if (folder / GITLAB).exists():
        notes.append(_add(folder / GITLAB, _GITLAB_JOB.format(version=version)))
    else:
        _want(folder / WORKFLOW, _WORKFLOW.format(version=version), texts, notes)
    hooks = _HOOKS.format(version=version, kinds="|".join(_kinds(found)))
    _want(folder / HOOKS, f"repos:\n{hooks}", texts, notes)
    return Project(texts, tuple(notes))


def _counted(found: Sequence[Path]) -> str:
    if not found:
        return "found no plan, no kernel and no driver yet; `dmaverify new` writes a first one"
    number = {suffix: sum(path.suffix == suffix for path in found) for suffix in SUFFIXES}
    return "found " + ", ".join(f"{count} *{suffix}" for suffix, count in number.items() if count)


def _want(path: Path, text: str, texts: dict[Path, str], notes: list[str]) -> None:
    """The file where it is missing; where it is there and does not name dmaverify, the lines to add."""
    if not path.exists():
        texts[path] = text
    elif "dmaverify" in path.read_text(encoding="utf-8", errors="replace"):
        notes.append(f"{path} names dmaverify already")
    else:
        notes.append(_add(path, text))


def _add(path: Path, text: str) -> str:
    if path.exists() and "dmaverify" in path.read_text(encoding="utf-8", errors="replace"):
        return f"{path} names dmaverify already"
    hooks = text.removeprefix("repos:\n")  # a file has one such key
    where = "" if hooks == text else ", below `repos:`"
    return "\n".join([f"add to {path}{where}:", *(f"    {line}" for line in hooks.splitlines())])


def _roots(found: Sequence[Path], folder: Path) -> list[str]:
    """The folders of the first level that hold something, or the folder itself where files lie in it."""
    inner = [path.relative_to(folder) if path.is_relative_to(folder) else path for path in found]
    if not inner or any(len(path.parts) == 1 for path in inner):
        return ["."]
    return sorted({path.parts[0] for path in inner})


def _kinds(found: Sequence[Path]) -> list[str]:
    """The suffixes of files of which a change asks for a check: of what was found, of machines, and
    headers beside drivers.
    """
    kinds = {"toml", "smt2", *(path.suffix[1:] for path in found)}
    return sorted(kinds | {"h"} if "c" in kinds else kinds)


def _settings(paths: Sequence[str]) -> str:
    listed = ", ".join(json.dumps(path, ensure_ascii=False) for path in paths)  # a text of JSON is one of TOML
    head = "# Settings of `dmaverify check` for this repository; --show-settings prints what is in force."
    return f"{head}\npaths = [{listed}]\n"


_WORKFLOW = """\
name: dmaverify
on: [push, pull_request]
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: python -m pip install "dmaverify=={version}"
      - run: dmaverify check --locked
"""
_GITLAB_JOB = """\
dmaverify:
  image: python:3.12
  script:
    - python -m pip install "dmaverify=={version}"
    - dmaverify check --locked --output gitlab=gl-dma.json --output junit=dma.xml
  artifacts:
    when: always
    reports: {{ codequality: gl-dma.json, junit: dma.xml }}
"""
_HOOKS = """\
  - repo: local
    hooks:
      - id: dmaverify
        name: dmaverify
        entry: dmaverify check --format concise
        language: python
        additional_dependencies: ["dmaverify=={version}"]
        files: \\.({kinds})$
        pass_filenames: false
        require_serial: true
"""
