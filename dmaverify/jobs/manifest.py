"""The manifest of a certificate, read strictly: each record has the keys that a certificate has, once, and no others.

Knows: the form of a manifest, what may lie in the folder of one.
Does not know: whether what it says is true.
Law: nothing in the folder goes unread. A key, a file, a folder or a link that no check looks at is refused.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from dmaverify.errors import InputError
from dmaverify.jobs.sealed import PLANS, SCHEMA, Findings, beside_paths, copied_name, hash_of, seal_of
from dmaverify.language.files import text_of
from dmaverify.prove.certify.certificate import LOGIC, MANIFEST, SCRIPT, script_text

HEAD = {"schema": int, "dmaverify": str, "solver": str, "logic": str, "questions": list, "options": dict,
        "plans": list, "data": dict, "internal": list, "seal": str}  # fmt: skip
SEARCHED = {"kind": str, "search": (dict, type(None)), "files": dict}
"""What a certificate of synthesis has besides."""
KINDS: dict[str, tuple[str, ...]] = {
    "synth": ("plan.toml", "bound.json", "recount.py", "README.txt"),
    "copies": ("request.toml", "plan.toml", "bound.json", "recount.py", "README.txt"),
}
"""Kinds of certificates of synthesis, with their files."""
OWN = [["plan.toml", None, None]]
"""The plan of such a certificate: path, name and target."""
OPTIONS = {"readings": dict, "rlimit": int, "timeout": (int, float, type(None)), "memory": (int, type(None)),
           "engine": list, "dims": (int, type(None)), "defines": list, "features": str}  # fmt: skip
PLAN = {"path": str, "name": (str, type(None)), "target": (str, type(None)), "file": str, "alone": bool, "sha256": str,
        "beside": dict, "verdicts": list, "commands": dict, "digits": dict}  # fmt: skip
VERDICT = {"name": str, "target": str, "status": str, "claim": str, "obligations": list, "findings": list,
           "assumptions": list, "conditions": list, "not_covered": list}  # fmt: skip
QUESTION = {"file": str, "plan": str, "question": str, "status": str, "sha256": str}


def read_manifest(folder: Path, found: Findings) -> dict[str, Any]:
    """The manifest of a folder, its form and seal checked. Raises InputError where there is none."""
    try:
        manifest = strict_json(text_of(folder / MANIFEST))
    except OSError:
        hint = "dmaverify check PATH --certify DIR writes one"
        raise InputError(f"{folder} holds no certificate ({MANIFEST} is missing)", None, hint) from None
    except TwiceError as error:
        found.refused.append(f"{MANIFEST}: the key `{error}` stands twice in one record")
        return {}
    except (ValueError, RecursionError) as error:
        raise InputError(f"{folder / MANIFEST}: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        found.refused.append(f"{MANIFEST}: schema {SCHEMA} is read here; write the certificate anew")
        return {}
    found.refused += [f"{MANIFEST}: {said}" for said in _misshapen(manifest)]
    if not found.refused and seal_of(manifest) != manifest["seal"]:
        found.refused.append(f"{MANIFEST} was changed: its seal is another")
    if not found.refused and manifest["internal"]:
        found.refused += [f"written by a run with an internal error: {said}" for said in manifest["internal"]]
    return manifest


class TwiceError(ValueError):
    """A key that stands twice in one JSON object; readers differ in which of the two they believe."""


def strict_json(text: str) -> Any:
    """JSON without repeated keys. Raises ValueError."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in pairs:
            if key in out:
                raise TwiceError(key)
            out[key] = value
        return out

    def no_number(name: str) -> Any:
        raise ValueError(f"{name} is no number of JSON")

    return json.loads(text, object_pairs_hook=once, parse_constant=no_number)


def same(one: Any, other: Any) -> bool:
    """Whether two values are one JSON text: `1`, `1.0` and `true` are three."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# ---------------------------------------------------------------- records


def _misshapen(manifest: Mapping[str, Any]) -> list[str]:
    """Everything in which a manifest has not the form of one; empty for one that is well formed."""
    wanted = {**HEAD, **(SEARCHED if {"kind", "search", "files"} & manifest.keys() else {})}
    said = _record("the manifest", manifest, wanted)
    if said:
        return said
    said = _record("`options`", manifest["options"], OPTIONS)
    for name, rows, keys in (("plans", manifest["plans"], PLAN), ("questions", manifest["questions"], QUESTION)):
        for number, row in enumerate(rows):
            said += _record(f"`{name}` {number}", row, keys)
    if said:
        return said
    for number, plan in enumerate(manifest["plans"]):
        for row in plan["verdicts"]:
            said += _record(f"`plans` {number}, a verdict", row, VERDICT)
        if plan["file"] != copied_name(number, plan["path"]):
            said.append(f"`plans` {number}: the copy of {plan['path']} is {copied_name(number, plan['path'])}")
        said += [f"`plans` {number}: `{key}` is empty" for key in ("name", "target") if plan[key] == ""]
    texts = [*manifest["options"]["readings"].values(), *manifest["data"].values(), *manifest.get("files", {}).values()]
    texts += [*manifest["options"]["engine"], *manifest["options"]["defines"]]
    texts += [text for plan in manifest["plans"] for text in plan["beside"].values()]
    if not all(isinstance(text, str) for text in texts):
        said.append("readings, engines, definitions, data, files and what lies beside plans are texts")
    if not re.fullmatch(r"[\w,/. +-]*", manifest["options"]["features"], re.ASCII):
        said.append("`features` are names with commas between")
    if not manifest["plans"]:
        said.append("`plans` is empty")
    if manifest["logic"] != LOGIC:
        said.append(f"`logic` is {LOGIC}")
    if "kind" in manifest and [[plan[key] for key in ("path", "name", "target")] for plan in manifest["plans"]] != OWN:
        said.append("`plans`: a certificate of synthesis has one, plan.toml, of the machine that it names")
    if "kind" in manifest and manifest["files"].keys() != set(KINDS.get(manifest["kind"], ())):
        said.append(f"`kind` and `files`: a certificate of {' or '.join(KINDS)} with its own files")
    files = [row["file"] for row in manifest["questions"]]
    return said + [f"`questions`: {name} stands twice" for name in sorted({n for n in files if files.count(n) > 1})]


def _record(where: str, row: Any, keys: Mapping[str, Any]) -> list[str]:
    if not isinstance(row, dict):
        return [f"{where} is no record"]
    said = [f"{where} has no `{key}`" for key in keys if key not in row]
    said += [f"{where} has a key `{key}` that no certificate has" for key in row if key not in keys]
    return said + [f"{where}: `{key}` is of a wrong kind" for key, kind in keys.items() if key in row
                   and (not isinstance(row[key], kind) or (kind is int and isinstance(row[key], bool)))]  # fmt: skip


# ---------------------------------------------------------------- files


def check_files(folder: Path, manifest: Mapping[str, Any], found: Findings) -> None:
    """Every file is there and as it was, and nothing is there besides."""
    known = {MANIFEST, SCRIPT}
    listed = [(row["file"], row["sha256"]) for row in manifest["questions"]]
    listed += [(f"{PLANS}/{plan['file']}", plan["sha256"]) for plan in manifest["plans"]]
    listed += [(f"{PLANS}/{name}", digest) for plan in manifest["plans"] for name, digest in beside_paths(plan).items()]
    listed += list(manifest.get("files", {}).items())
    for name, digest in listed:
        known.add(name)
        if not re.fullmatch(rf"(?:{PLANS}/\d+/)?[\w.-]+", name) or ".." in Path(name).parts:
            found.refused.append(f"{name!r} is no file of a certificate")
        elif not (folder / name).is_file():
            found.refused.append(f"{name} is missing")
        elif hash_of((folder / name).read_bytes()) != digest:
            found.refused.append(f"{name} was changed: its hash is another")
    found.refused += [f"{name} is in the folder and not in the certificate" for name in _besides(folder, known)]
    if not (folder / SCRIPT).is_file() or text_of(folder / SCRIPT) != script_text(SCRIPT):
        found.refused.append(f"{SCRIPT} was changed")


def _besides(folder: Path, known: Collection[str]) -> Iterable[str]:
    """Whatever lies in the folder and is no known file of its own: other files, links, pipes, folders without any."""
    parents = {up.as_posix() for name in known for up in Path(name).parents}
    for here, folders, files in os.walk(folder):
        for name in sorted([*folders, *files]):
            path = Path(here) / name
            said = path.relative_to(folder).as_posix()
            if path.is_symlink() or not (said in parents if path.is_dir() else said in known and path.is_file()):
                yield said
