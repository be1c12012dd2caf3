"""What a certificate is made of: verdicts, commands, questions and machines' data as files, sealed by one hash.

Knows: the files of a certificate, what is bound by which hash.
Does not know: how a certificate is checked, how questions are made or asked, the terminal.
Law: everything that a plan's text decides is written from `facts_of`, which a check asks again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from dmaverify.errors import InputError
from dmaverify.jobs.judge import Job, check_job
from dmaverify.language.files import folders_apart, text_of, write_bytes, write_text
from dmaverify.machines.rngd.rust.cfg import asked_features
from dmaverify.plan.read import files_named
from dmaverify.prove.certify.certificate import (
    DECIDED,
    MANIFEST,
    SCRIPT,
    Question,
    write_questions,
)
from dmaverify.prove.limits import MEMORY, RLIMIT, RUN_UNITS, TIMEOUT
from dmaverify.values import dataclass, field
from dmaverify.verdict import OURS, Status, Verdict

PLANS = "plans"
SCHEMA = 5
FULL: Mapping[str, Any] = {"readings": {}, "rlimit": RLIMIT, "cross_check": RUN_UNITS, "prove": "full"}
"""How plans are judged for a certificate, where nothing else was asked for."""
CHOSEN: Mapping[str, Any] = {
    "readings": {}, "rlimit": RLIMIT, "timeout": TIMEOUT, "memory": MEMORY, "engine": [], "dims": None, "defines": [],
    "features": "",
}  # fmt: skip
"""What its writer may choose and what decides verdicts, each with the value that needs no word."""
CORE_FILES = ("mapping.smt2", "sequencer.smt2", "obligations.toml", "scopes.toml")


@dataclass
class Findings:
    """What checking a certificate found: reasons to refuse it, what stays open, and what was confirmed."""

    refused: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    @property
    def code(self) -> int:
        return 1 if self.refused else 3 if self.open else 0


# ---------------------------------------------------------------- what a plan gives


Facts = tuple[dict[str, Any], dict[str, list[tuple[str, str, str]]]]


def facts_of(job: Job) -> Facts:
    """Everything of one file that its text decides, as data, and its questions. A kernel is read apart from any crate
    around it, and files are those beside it: what a folder above a certificate holds decides nothing.
    """
    from dmaverify.machines.rngd.rust.kernel import texts_apart

    with texts_apart(), folders_apart():
        return _facts_in_place(job)


def _facts_in_place(job: Job) -> Facts:
    verdicts, keep = check_job(job)
    told = [_verdict(verdict, job[0]) for verdict in verdicts]
    keep = {name: [q for q in asked if _is_decided(q[2])] for name, asked in keep.items()}
    commands, digits = _commands(job, {v.name for v in verdicts if v.status.value == "proved"})
    return {"verdicts": told, "commands": commands, "digits": digits}, keep


def _is_decided(answers: str) -> bool:
    """Whether every answer to a question is `sat` or `unsat`: any other proves nothing, and is no fact of a text."""
    return bool(answers) and set(answers.split()) <= set(DECIDED)


def _verdict(verdict: Any, path: str) -> dict[str, Any]:
    left = [a for a in verdict.assumptions if a.startswith("not asked from definitions: ")]
    uncovered = [a.partition(": ")[2] for a in left]
    if verdict.status.value == "proved" and not any(o.by.startswith("z3") for o in verdict.obligations):
        uncovered = uncovered or [f"all of it: {verdict.name} is no single move"]
    return {
        "name": verdict.name,
        "target": verdict.target,
        "status": verdict.status.value,
        "claim": verdict.claim,
        "obligations": [[o.id, o.status, o.by] for o in verdict.obligations],
        "findings": [[f.rule, f.severity.value, f.message.replace(path, "PLAN")] for f in verdict.findings],
        "assumptions": list(verdict.assumptions),
        "conditions": list(verdict.conditions),
        "not_covered": uncovered,
    }


def _commands(job: Job, proved: Collection[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The commands of every transfer that has any (bases, loops, bursts, in units), and, of what is proved, the digits
    that its normal form cuts addresses into, with the pieces of its loops.
    """
    from dmaverify.jobs.load import load, program_of

    out: dict[str, Any] = {}
    digits: dict[str, Any] = {}
    if not job[0].endswith(".toml"):
        return out, digits
    try:
        plan = load(job[0], job[1], target=job[2])
    except InputError:
        return out, digits
    for item in plan.transfers:
        try:
            commands = program_of(plan, item.name)
        except InputError:
            continue
        out[item.name] = [_command(c) for c in commands]
        if item.name in proved:
            digits[item.name] = _digits(item.transfer, plan.targets[item.transfer.target], commands)
    return out, digits


def _digits(transfer: Any, target: Any, commands: Any) -> dict[str, Any]:
    """The normal form of a move: digits of both sides (axis, weight, step, slots, live), pieces of each nest."""
    from dmaverify.layout.refine import drive
    from dmaverify.lower.programs import space_of
    from dmaverify.program.space import layout_of
    from dmaverify.prove.move.fold import fold

    bits = target.dtypes[transfer.dtype]
    sides = [layout_of(t, space_of(target, t.tier), bits)[0] for t in (transfer.source, transfer.dest)]
    joint = drive(sides[0], sides[1], [family.nest for family in fold(commands)])
    return {
        "source": [[d.axis, d.weight, d.step, d.slots, d.live] for d in joint.source.digits],
        "dest": [[d.axis, d.weight, d.step, d.slots, d.live] for d in joint.dest.digits],
        "pieces": [[[p.count, p.read, p.write, p.loop, p.factor] for p in n.nest.pieces] for n in joint.nests],
    }


def _command(command: Any) -> dict[str, Any]:
    ports = [[p.tier, p.chip, p.cluster, p.base] for p in (command.read, command.write)]
    loops = [[x.count, x.read, x.write] for x in command.loops]
    return {"read": ports[0], "write": ports[1], "loops": loops, "burst": command.burst, "unit_bits": command.unit_bits}


def data_of(targets: Iterable[str]) -> dict[str, str]:
    """Hashes of the data that verdicts rest on: the core's files and those of machines that ship."""
    from dmaverify.targets.target import available_targets, core_folder, load_target

    found = {f"core/{name}": hash_of((core_folder() / name).read_bytes()) for name in CORE_FILES}
    for name in sorted({*targets} & {*available_targets()}):
        folder = load_target(name).folder
        found |= {f"{name}/{file}": hash_of((folder / file).read_bytes()) for file in ("target.toml", "rules.smt2")}
    return found


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# ---------------------------------------------------------------- searches


def holds_its_plan(folder: Path, manifest: Mapping[str, Any], found: Findings) -> bool:
    """Whether plan.toml is the plan that a certificate of a search speaks of; refused where it is not."""
    same: bool = (folder / "plan.toml").read_bytes() == (folder / PLANS / manifest["plans"][0]["file"]).read_bytes()
    found.refused += [] if same else ["plan.toml is not the plan that the certificate speaks of"]
    return same


def recount(folder: Path, found: Findings) -> None:
    """What recount.py says, run with Python alone; open where nothing stands there to count."""
    command = [sys.executable, "-I", "-S", "recount.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    last = (done.stdout + done.stderr).strip().splitlines()[-1:] or [""]
    kind = {0: found.said, 3: found.open}.get(done.returncode, found.refused)
    kind.append(f"recount.py: {last[0]}")


# ---------------------------------------------------------------- writing


_OWN = re.compile(
    rf"[\w.-]+\.smt2|{re.escape(MANIFEST)}|re(?:check|count)\.py|bound\.json|README\.txt|(?:plan|request)\.toml"
)


def must_be_own(folder: Path) -> None:
    """Raises InputError for a folder that holds anything but a certificate, since what lies in it is replaced."""
    if not folder.is_dir():
        return
    names = sorted(os.listdir(folder))
    foreign = [name for name in names if name != PLANS and not (SCRIPT in names and _OWN.fullmatch(name))]
    if (folder / PLANS).is_dir():
        foreign += [f"{PLANS}/{name}" for name in sorted(os.listdir(folder / PLANS)) if not name.isdecimal()]
    if foreign:
        said = f"{folder} holds `{foreign[0]}`, which is no part of a certificate"
        raise InputError(said, None, "name a folder that is new or empty: what lies in it is replaced")


def write_certificate(
    folder: Path, jobs: Sequence[Job], extra: Mapping[str, Any] | None = None, files: Iterable[str] = (),
    called: str | None = None, more: Mapping[str, Sequence[tuple[str, str, str]]] | None = None,
) -> list[Question]:  # fmt: skip
    """Plans, questions with answers, and a manifest that binds them. The plans are judged anew, in full, from the
    copies in the certificate, beside copies of the kernels and engines that they name; one that needs other files
    beside it, or of which its crate decides anything, is judged where it is, and that is said. `extra` are further keys
    of the manifest, `files` those of the folder that it binds as well, `more` further questions; `called` is the path
    that the manifest gives of a plan, where that is not its own.
    """
    plans: list[dict[str, Any]] = []
    asked: dict[str, list[tuple[str, str, str]]] = {}
    extra = {**(extra or {}), **({"files": {n: hash_of((folder / n).read_bytes()) for n in files}} if files else {})}
    if called is None:  # else it is begun
        must_be_own(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for number, job in enumerate(jobs):
        text = Path(job[0]).read_bytes()
        file = copied_name(number, job[0])
        copied = folder / PLANS / file
        copied.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(copied, text)
        beside = _copied_beside(Path(job[0]), copied)
        facts, keep = facts_of((str(copied), *job[1:]))
        alone = not any(finding[0] == "core/input" for verdict in facts["verdicts"] for finding in verdict["findings"])
        if not alone or job[0].endswith(".rs"):  # modules, features and the library of its crate may decide
            there = _facts_in_place(job)
            alone = alone and there == (facts, keep)
            facts, keep = there
        head = {"path": called or job[0], "name": job[1], "target": job[2]}
        plans.append({**head, "file": file, "sha256": hash_of(text), "beside": beside, "alone": alone, **facts})
        asked |= {f"{number:03d}.{name}": questions for name, questions in keep.items()}
    written = write_questions(folder, {**asked, **(more or {})})
    known = {name for plan in plans for name in (plan["file"], *beside_paths(plan))}
    for left in sorted((folder / PLANS).rglob("*"), reverse=True):
        if left.is_file() and left.relative_to(folder / PLANS).as_posix() not in known:
            left.unlink()
        elif left.is_dir() and not any(left.iterdir()):
            left.rmdir()
    found = [finding for plan in plans for verdict in plan["verdicts"] for finding in verdict["findings"]]
    internal = [f"{rule}: {message}" for rule, message, *_ in found if rule in OURS]
    seal_manifest(folder, plans, jobs[0][3] if jobs else {}, internal, extra)
    return written


def held_to(folder: Path, printed: Iterable[Verdict]) -> list[str]:
    """What is to be said of the certificate in a folder, which proves nothing that was not proved in print: there it is
    taken away. Raises InputError.
    """
    plans = json.loads(text_of(folder / MANIFEST))["plans"]
    said = {(verdict.path, verdict.name): verdict.status for verdict in printed}
    known = {(plan["path"], verdict["name"]) for plan in plans for verdict in plan["verdicts"]}
    unread = {one[0] for one, status in said.items() if status is Status.ERROR and one not in known}  # as a whole
    for plan in plans:
        for verdict in plan["verdicts"]:
            silent = Status.ERROR if plan["path"] in unread else None
            own = said.get((plan["path"], verdict["name"]), silent)
            if verdict["status"] == "proved" and own in (Status.REFUTED, Status.ERROR):
                (folder / MANIFEST).unlink()
                told = f"{plan['path']}::{verdict['name']} is {own.value} where it lies and proved in a certificate"
                raise InputError(f"no certificate: {told}", None, "something beside it decides: links, other files")
    return [f"not sealed: {plan['path']}: {_why_open(plan)}" for plan in plans if not plan["alone"]]


def _why_open(plan: Mapping[str, Any]) -> str:
    if all(verdict["status"] == Status.ERROR.value for verdict in plan["verdicts"]):
        return "it cannot be judged"
    return "files beside it or features decide, which a certificate does not hold"


def copied_name(number: int, path: str) -> str:
    """Where the copy of a plan lies below the folder of plans."""
    return f"{number:03d}/{re.sub(r'[^A-Za-z0-9_.]+', '-', PurePath(path).name)}"


def named_beside(path: Path) -> list[str]:
    """The kernels and engines that a plan names and that lie beside it: a certificate holds these."""
    try:
        named = files_named(tomllib.loads(text_of(path))) if path.suffix == ".toml" else []
    except (ValueError, RecursionError):  # judged as what it is
        return []
    plain = (name for name in dict.fromkeys(named) if re.fullmatch(r"[\w-][\w.-]*", name, re.ASCII))
    return [name for name in plain if name != path.name and (path.parent / name).is_file()]


def beside_paths(plan: Mapping[str, Any]) -> dict[str, str]:
    """The copies of what lies beside a plan, below the folder of plans, with their hashes."""
    return {f"{PurePath(plan['file']).parent}/{name}": digest for name, digest in plan["beside"].items()}


def _copied_beside(plan: Path, copied: Path) -> dict[str, str]:
    """Hashes of the files that a plan names, copied beside its copy."""
    found: dict[str, str] = {}
    for name in named_beside(plan):
        if name != copied.name:
            text = (plan.parent / name).read_bytes()
            write_bytes(copied.parent / name, text)
            found[name] = hash_of(text)
    return found


def seal_manifest(
    folder: Path, plans: Sequence[Mapping[str, Any]], options: Mapping[str, Any], internal: Sequence[str],
    extra: Mapping[str, Any],
) -> None:  # fmt: skip
    """Adds to the manifest of the questions what binds them, and the hash of all of it."""
    manifest = json.loads(text_of(folder / MANIFEST))
    targets = [v["target"] for plan in plans for v in plan["verdicts"] if v["target"]]
    manifest |= {
        "schema": SCHEMA,
        "options": _chosen(options),
        "plans": list(plans),
        "data": data_of(targets),
        "internal": list(internal),
        **extra,
    }
    manifest["seal"] = seal_of(manifest)
    write_text(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")


def _chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """What decides verdicts, of the options of a run and of its environment."""
    found = {key: options.get(key, usual) for key, usual in CHOSEN.items()} | {"features": asked_features()}
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def seal_of(manifest: Mapping[str, Any]) -> str:
    """The hash of a manifest without its seal."""
    whole = {key: value for key, value in manifest.items() if key != "seal"}
    return hash_of(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode())
