"""Certificates as folders: how one is checked again from the plan's text.

Knows: what is compared with what was sealed, what a reader is told.
Does not know: how a certificate is written (`sealed`), how questions are made or asked, the terminal.
Law: nothing in a certificate is believed. The plan's text is judged anew by this dmaverify with this machine's data;
what was written must be what comes out, word for word: verdicts, obligations, commands, questions, answers. What
cannot be asked again is said, and a certificate with anything left out is never confirmed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module, util
from pathlib import Path
from typing import Any

from dmaverify.errors import InputError, many
from dmaverify.jobs.judge import Job
from dmaverify.jobs.manifest import check_files, read_manifest, same
from dmaverify.jobs.sealed import CHOSEN, FULL, PLANS, Findings, beside_paths, data_of, facts_of, hash_of, named_beside
from dmaverify.language.files import shipped, text_of
from dmaverify.machines.rngd.rust.cfg import FEATURES
from dmaverify.prove.certify.certificate import cvc5_answer, file_names, question_text, said_of

# ---------------------------------------------------------------- checking


def check_certificate(folder: Path, *, solver: bool = True) -> Findings:
    """Everything that can be wrong with a certificate. Raises InputError where there is none."""
    found = Findings()
    manifest = read_manifest(folder, found)
    if found.refused:
        return found
    check_files(folder, manifest, found)
    _versions(manifest, found)
    if found.refused:
        return found
    found.said += _chosen(manifest["options"])
    wanted: dict[str, list[tuple[str, str, str]]] = {}
    apart: list[str] = []  # how the names of questions begin that are not made again
    for number, plan in enumerate(manifest["plans"]):
        again = _plan_again(folder, manifest, number, plan, found)
        wanted |= again or {}
        apart += [f"{number:03d}."] if again is None else []
    if "kind" in manifest and not found.refused and apart:
        found.open.append("the search is not played again: it is one of the plan that was not judged")
        apart.append("bound")
    elif "kind" in manifest and not found.refused:
        from dmaverify.jobs.certify_synth import check_synthesis

        of_bound = check_synthesis(folder, manifest, found)
        wanted |= {"bound": of_bound} if of_bound is not None else {}
        apart += ["bound"] if of_bound is None else []
    _questions_again(folder, manifest, wanted, apart, found)
    if solver and manifest["questions"] and not found.refused:
        _other_solver(folder, manifest, found)
    if not found.refused:
        _checker(folder, manifest, found)
    return found


def _chosen(options: Mapping[str, Any]) -> list[str]:
    """What its writer chose, of all that decides verdicts, where that is not what is done without a choice."""
    said = [
        f"under the reading {rule}={name}, which its writer chose" for rule, name in sorted(options["readings"].items())
    ]
    others = [
        (key, options[key]) for key, usual in CHOSEN.items() if key != "readings" and not same(options[key], usual)
    ]
    return said + [f"under {key} {_plain(value)}, which its writer chose" for key, value in others]


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "without limit" if value is None else str(value)


def _versions(manifest: Mapping[str, Any], found: Findings) -> None:
    from dmaverify.prove.smt import solver_version

    own = import_module("dmaverify").__version__
    if manifest["dmaverify"] != own:
        found.refused.append(f"written by dmaverify {manifest['dmaverify']}, this is {own}: check it with that one")
    if manifest["solver"] != solver_version():
        found.open.append(f"answered by {manifest['solver']}, asked again of {solver_version()}")
    now = data_of(str(row["target"]) for plan in manifest["plans"] for row in _rows(plan["verdicts"]))
    for name in sorted({*now, *manifest["data"]}):
        if now.get(name) != manifest["data"].get(name):
            found.refused.append(f"the machine's data {name} is not what the certificate speaks of")


def _plan_again(
    folder: Path, manifest: Mapping[str, Any], number: int, plan: Mapping[str, Any], found: Findings
) -> dict[str, list[tuple[str, str, str]]] | None:
    """The plan judged from its text alone; what it gives must be what is written. None where it is not judged."""
    if plan.get("alone") is not True:
        formed = [
            one for v in _rows(plan["verdicts"]) for one in v["findings"] if isinstance(one, list) and len(one) == 3
        ]
        wrong = [message for rule, _, message in formed if rule == "core/input"]
        why = "is judged with files beside it, which a certificate does not hold"
        found.open.append(f"{plan['path']}: {f'is not judged: {wrong[0]}' if wrong else why}")
        return None
    if sorted(plan["beside"]) != sorted(set(named_beside(folder / PLANS / plan["file"]))):
        found.refused.append(f"{plan['path']}: the files beside it are not those that it names")
        return {}
    options = {**FULL, **{key: value for key, value in manifest["options"].items() if key != "features"}}
    path = str(folder / PLANS / plan["file"])
    job: Job = (path, plan["name"], plan["target"], options)
    foreign = _foreign(job)
    if foreign:
        found.open.append(f"{plan['path']}: judged by the machine in {foreign}, whose data a certificate does not hold")
        return None
    with _features(manifest["options"]["features"]):
        facts, keep = facts_of(job)
    said = json.loads(json.dumps(facts))
    names = {v["name"] for v in (*said["verdicts"], *_rows(plan["verdicts"]))}
    for name in sorted(map(str, names)):
        now, then = ([v for v in _rows(rows) if v.get("name") == name] for rows in (said["verdicts"], plan["verdicts"]))
        _compare(f"{plan['path']}::{name}", now, then, found, _other_machine(job))
    if not names:
        found.open.append(f"{plan['path']}: there is nothing in it to judge")
    for key in ("commands", "digits"):
        if not same(said[key], plan[key]):
            found.refused.append(f"{plan['path']}: the {key} are not those of the plan")
    original = Path(plan["path"])
    told = [(original, plan["file"], plan["sha256"])]
    told += [(original.parent / Path(name).name, name, digest) for name, digest in beside_paths(plan).items()]
    for file, kept, digest in told if "kind" not in manifest else ():
        try:
            now_there = hash_of(file.read_bytes()) if file.is_file() else None
        except OSError:
            now_there = None
        if now_there is None:
            found.said.append(f"{file} is not there: the certificate speaks of the text in {PLANS}/{kept}")
        elif now_there != digest:
            found.open.append(f"{file} has changed since: the certificate speaks of the text in {kept}")
    return {f"{number:03d}.{name}": questions for name, questions in keep.items()}


@contextmanager
def _features(chosen: str) -> Iterator[None]:
    """While it lasts, crates are built with these features."""
    before = os.environ.get(FEATURES)
    os.environ[FEATURES] = chosen
    try:
        yield
    finally:
        os.environ.pop(FEATURES)
        if before is not None:
            os.environ[FEATURES] = before


def _other_machine(job: Job) -> str:
    """That the machine is not the one that the text names, in words; empty where it is."""
    from dmaverify.jobs.load import load

    if job[2] is None or not job[0].endswith(".toml"):
        return ""
    try:
        named = {*load(job[0], job[1]).targets}
        chosen = {*load(job[0], job[1], target=job[2]).targets}
    except InputError:
        named, chosen = set(), {job[2]}
    own = f"its text says {' and '.join(sorted(named))}" if named else "its text names none that is known"
    return "" if named == chosen else f", which its writer chose ({own})"


def _foreign(job: Job) -> str:
    """The folder of a machine that does not ship and that the plan, or the command line, names; else nothing."""
    from dmaverify.jobs.load import load
    from dmaverify.targets.target import load_target

    try:
        targets = load(job[0], job[1], target=job[2]).targets if job[0].endswith(".toml") else {}
    except InputError:
        return ""
    for target in targets.values():
        try:
            ours = load_target(target.name).folder
        except InputError:
            return str(target.folder)
        if ours.resolve() != target.folder.resolve():
            return str(target.folder)
    return ""


def _rows(rows: Any) -> list[dict[str, Any]]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _compare(where: str, now: list[dict[str, Any]], then: list[dict[str, Any]], found: Findings, chosen: str) -> None:
    if len(now) != 1 or len(then) != 1:
        found.refused.append(f"{where}: {len(then)} verdicts are written, the plan has {len(now)}")
        return
    for key in sorted({*now[0], *then[0]}):
        if not same(now[0].get(key), then[0].get(key)):
            found.refused.append(f"{where}: `{key}` is not what the plan gives")
    said = now[0]
    if said["status"] == "error":
        found.refused.append(f"{where}: {'; '.join(message for _, _, message in said['findings'])}")
    elif said["status"] not in ("proved", "refuted"):
        found.open.append(f"{where}: {said['status']}")
    found.open += [f"{where}: not covered: {what}" for what in said["not_covered"]]
    only = f" if {' and '.join(said['conditions'])}" if said["status"] == "proved" and said["conditions"] else ""
    machine = f" on {said['target']}{chosen}" if said["target"] else ""
    found.said.append(f"{where}: {said['status']}{machine}{only}")
    if said["status"] == "proved" and said["claim"].startswith("for all "):
        found.said.append(f"{where}: rests on its text being read alike at all sizes of which one script speaks")


def _questions_again(
    folder: Path, manifest: Mapping[str, Any], wanted: Mapping[str, Sequence[tuple[str, str, str]]],
    apart: Sequence[str], found: Findings,
) -> None:  # fmt: skip
    """The questions that the plans give, those `apart` left out, are those on disk, in order, with their answers."""
    rows = [row for row in _rows(manifest["questions"]) if not str(row["plan"]).startswith(tuple(apart))]
    expected = [(plan, text, status, name) for plan, asked in wanted.items() for name, text, status in asked]
    if len(rows) != len(expected):
        found.refused.append(f"{len(rows)} questions are written, the plans give {len(expected)}")
        return
    files = file_names({plan: [name for name, _, _ in asked] for plan, asked in wanted.items()})
    for row, file, (plan, text, status, name) in zip(rows, files, expected, strict=True):
        made = question_text(plan, name, text, status)
        if row.get("plan") != plan or row.get("status") != status:
            found.refused.append(f"{row.get('file')}: the answer is {status}, not {row.get('status')}")
        elif row.get("question") != said_of(name):
            found.refused.append(f"{row['file']}: the question is `{said_of(name)}`")
        elif not apart and row["file"] != file:
            found.refused.append(f"{row['file']}: the file of this question is {file}")
        elif text_of(folder / str(row["file"])) != made:
            found.refused.append(f"{row['file']} is not the question of the plan")
    total = sum(len(status.split()) for _, _, status, _ in expected)
    unmade = len(manifest["questions"]) - len(rows)
    if rows:
        found.said.append(f"{total} questions in {len(rows)} files, asked again of z3: the answers are those written")
    elif not unmade:
        found.said.append("no question was asked of a solver")
    if unmade:
        found.said.append(f"not made again: {many(unmade, 'file')} of questions; whether their plans ask them is open")


def _other_solver(folder: Path, manifest: Mapping[str, Any], found: Findings) -> None:
    """cvc5 answers every file again."""
    if util.find_spec("cvc5") is None:
        found.said.append("cvc5 is not installed (pip install dmaverify[certify]): only z3 was asked")
        return
    agreed = 0
    for row in _rows(manifest["questions"]):
        answer = cvc5_answer(text_of(folder / str(row["file"])))
        if answer == row["status"]:
            agreed += 1
        elif any(a != b for a, b in zip(answer.split(), str(row["status"]).split(), strict=False)
                 if {a, b} <= {"sat", "unsat"}):  # fmt: skip
            found.refused.append(f"{row['file']}: cvc5 contradicts it")
        else:
            found.open.append(f"{row['file']}: cvc5 does not confirm it")
    found.said.append(f"cvc5 confirms {agreed} of {len(manifest['questions'])} files")


def _checker(folder: Path, manifest: Mapping[str, Any], found: Findings) -> None:
    """The independent checker on every move that was proved."""
    checker = independent_checker()
    if checker is None:
        found.open.append("the independent checker (proofs/checker.py) is not installed: it was not run")
        return
    accepted, outside = 0, []
    otherwise = [f"{key}={name}" for key, name in manifest["options"]["readings"].items() if key.startswith("tier/")]
    for plan in manifest["plans"]:
        text = text_of(folder / PLANS / plan["file"])
        for verdict in _rows(plan["verdicts"]):
            if verdict["status"] != "proved" or not plan["file"].endswith(".toml"):
                continue
            if otherwise:  # the checker reads memories as the data has them by default
                outside.append(f"{verdict['name']}: {', '.join(otherwise)}")
                continue
            answer, why = checker.check_text(text, verdict["name"], plan["commands"].get(verdict["name"]))
            if answer == "accept":
                accepted += 1
            elif answer == "outside":
                outside.append(f"{verdict['name']}: {why}")
            else:
                found.refused.append(f"{plan['path']}::{verdict['name']}: the independent checker refuses it: {why}")
    if accepted or outside:
        found.said.append(f"the independent checker accepts {accepted} of {accepted + len(outside)} moves")
    found.said += [f"outside of what the independent checker reads: {text}" for text in outside]


def independent_checker() -> Any:
    """proofs/checker.py as a module; None where it is not installed."""
    for folder in shipped("proofs"):
        if (file := folder / "checker.py").is_file():
            spec = util.spec_from_file_location("dmaverify_checker", file)
            assert spec is not None
            assert spec.loader is not None
            module = util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    return None
