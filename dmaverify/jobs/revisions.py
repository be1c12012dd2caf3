"""Two revisions of a repository: what each says of its transfers, and which of them changed.

Knows: git's files of a revision, how a transfer is recognised again (file and name), what a move is without the lines
around it.
Does not know: how anything is judged, how changes are shown.
Law: a transfer counts as changed when its mappings, its element type, its commands or its verdict differ, or what is
expected of it; both revisions are judged by this dmaverify, whole and with all their files, so that a change in one
file that reaches another is seen. What neither revision has an answer for counts as unchanged only where all that was
read for it is the same. The working tree is never written.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dmaverify.errors import InputError, Span
from dmaverify.jobs.checkout import checked_out, git, inside, repository_of
from dmaverify.jobs.judge import Job, listened_job, plan_files, run_jobs
from dmaverify.jobs.walk import SUFFIXES
from dmaverify.language.asked import FILE, TEXT, AskedLog
from dmaverify.machines.idma.built import SUFFIXES as ENGINES
from dmaverify.machines.idma.built import is_built
from dmaverify.machines.idma.check import SUFFIXES as LISTS
from dmaverify.targets.target import available_targets
from dmaverify.values import dataclass, fields, is_dataclass, replace
from dmaverify.verdict import Status, Verdict

KEPT = (*SUFFIXES, *LISTS, *ENGINES, ".smt2", ".gitignore")
"""What is judged, what describes machines and engines, and what says which files are not meant."""
TOLD = "text: "
OPEN = (Status.UNKNOWN, Status.ERROR)
MOST_COSTED = 24
"""Changed moves whose best cost is looked for on both sides."""


@dataclass(frozen=True)
class JudgedTransfer:
    """One entry of one revision: its verdict, what it moves as text, the plan it stands in, all that it says, and a
    digest of what else was read for it.
    """

    verdict: Verdict
    move: str
    plan: Any = None
    whole: str = ""
    read: str = ""


@dataclass(frozen=True)
class TransferChange:
    """A transfer that is not what it was; None where a revision does not have it. Cycles: 0 where not looked for."""

    path: str
    name: str
    before: JudgedTransfer | None
    after: JudgedTransfer | None
    cycles: tuple[float, float] = (0.0, 0.0)

    @property
    def kind(self) -> str:
        """One word for what happened."""
        if self.before is None or self.after is None:
            return "added" if self.before is None else "removed"
        old, new = self.before.verdict.status, self.after.verdict.status
        if old is not new:
            return f"now {new.value}"
        low, high = self.cycles
        if low and high and low != high:
            return "cheaper" if high < low else "dearer"
        if self.before.verdict.as_expected != self.after.verdict.as_expected:
            return "now as expected" if self.after.verdict.as_expected else "no longer as expected"
        if self.before.whole == self.after.whole:
            return f"still {new.value}" if new in OPEN else "other findings"
        return "other text" if self.after.whole.startswith(TOLD) else "moves otherwise"

    @property
    def fails(self) -> bool:
        """Whether a reviewer should stop here: `check` does not pass it now, and has an answer."""
        now = None if self.after is None else self.after.verdict
        return now is not None and now.status is not Status.UNKNOWN and not now.as_expected


def judged_in(
    root: Path, paths: Sequence[str], target: str | None, options: Mapping[str, Any], workers: int,
    absent: set[str],
) -> dict[tuple[str, str], JudgedTransfer]:  # fmt: skip
    """Every transfer under some paths of a folder, by file (from the folder) and name. `absent` receives the paths
    under which nothing is: this revision may have none, and others may.
    """
    files: dict[tuple[str, str | None], str] = {}
    for path in paths:
        found: list[tuple[str, str | None]] = []
        with suppress(InputError):
            found = plan_files([str(root / path)], lists="engine" in options)
        found = [pair for pair in found if Path(pair[0]).exists()]
        absent |= set() if found else {path}
        files |= dict.fromkeys(found, path)
    jobs: list[Job] = [(file, name, target, dict(options)) for file, name in files]
    out: dict[tuple[str, str], JudgedTransfer] = {}
    results: list[Any] = list(run_jobs(jobs, workers, lambda _: None, listened_job))
    for job, (verdicts, asked) in zip(jobs, results, strict=True):
        if _is_of_no_entry(job, verdicts):
            absent.add(files[job[0], job[1]])
            continue
        plan, moves, wholes = _moves(job)
        beside = [one.source.text for one in plan.kernels] if plan is not None else []
        marks = ("//",) if job[0].endswith((".c", ".h")) else ("# ", "//")  # of C, `# define` is none
        every = _without_comments(marks, Path(job[0]).read_text(encoding="utf-8", errors="replace"), *beside)
        read = _read_for(job, asked, root, "" if job[0].endswith(".toml") else every)
        for verdict in verdicts:
            at = Path(job[0]).relative_to(root).as_posix()
            move, whole = moves.get(verdict.name, ""), wholes.get(verdict.name, every)
            whole = whole.replace(f"{root}/", "")  # of a machine named by its path
            said = tuple(replace(f, message=f.message.replace(f"{root}/", "")) for f in verdict.findings)
            out[at, verdict.name] = JudgedTransfer(replace(verdict, path=at, findings=said), move, plan, whole, read)
    return out


def _is_of_no_entry(job: Job, verdicts: Sequence[Verdict]) -> bool:
    """Whether a verdict says no more than that a file has no entry of the name that was asked for."""
    path, name, target, options = job
    if name is None or [one.status for one in verdicts] != [Status.ERROR]:
        return False
    whole, _ = listened_job((path, None, target, options))
    return all((one.name, one.status) != (verdicts[0].name, Status.ERROR) for one in whole)


def _read_for(job: Job, asked: AskedLog, root: Path, own: str) -> str:
    """A digest of what was read for a job beside its own file, of which `own` stands: texts and what was looked for,
    by their paths from the root; nothing where that is not known.
    """
    roots = tuple(f"{one}{os.sep}" for one in dict.fromkeys((str(root), str(root.resolve()))))
    rows: list[tuple[str, str, str]] = []
    for (kind, path, _), answer in asked.items():
        if os.path.realpath(path) == os.path.realpath(job[0]) or kind not in (TEXT, FILE):
            continue
        inner = next((path[len(one) :] for one in roots if path.startswith(one)), None)
        if inner is not None or (
            kind == TEXT and not answer.startswith("none")
        ):  # what lies around a checkout is not of it
            rows.append((kind, path if inner is None else inner, answer))
    return hashlib.sha256(repr((own, sorted(rows))).encode("utf-8", "surrogateescape")).hexdigest() if asked else ""


def _moves(job: Job) -> tuple[Any, dict[str, str], dict[str, str]]:
    """The plan of a file; by verdict what its transfers move, as text, and all that its entry says."""
    from dmaverify.jobs.load import load

    if not job[0].endswith((".rs", ".toml")):
        return None, {}, {}
    try:
        plan = load(job[0], job[1], target=job[2], symbols=True, partly=True)
    except (InputError, ValueError):
        return None, {}, {}
    texts = {item.name: _told(item.transfer) for item in plan.transfers}
    every: list[Any] = [*plan.transfers, *plan.indirects, *plan.accesses, *plan.programs]
    wholes = {one.name: _whole(one) for one in every}
    for one in getattr(plan, "sites", ()):
        if one.names:
            for told in (texts, wholes):
                told[one.names[0]] = "; ".join(told[name] for name in one.names if name in told)
    return plan, texts, wholes


def _without_comments(marks: tuple[str, ...], *texts: str) -> str:
    """All that an entry says which is known by its verdict alone: the lines of its files."""
    lines = (line.strip() for text in texts for line in text.splitlines())
    said = [line for line in lines if line and ("dmaverify:" in line or not line.startswith(marks))]
    return TOLD + "\n".join(said)


def _whole(value: Any) -> str:
    """All that an entry says: loops, views, tables, steps; not where it stands, and not what it expects."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_whole, value))})"
    if isinstance(value, Span):
        return ""
    if not is_dataclass(value):
        return repr(value)
    shown = (one.name for one in fields(value) if one.repr and one.name not in ("line", "problems", "expect"))
    return f"{type(value).__name__}({', '.join(f'{name}={_whole(getattr(value, name))}' for name in shown)})"


def _told(move: Any) -> str:
    from dmaverify.language.expr import axes_of
    from dmaverify.lower.text import sequencer_text

    sides = [f"{side.tier} {side.mapping} @ {side.base}" for side in (move.source, move.dest)]
    sizes = {**axes_of(move.source.mapping), **axes_of(move.dest.mapping)}
    told = ", ".join(f"{axis} = {size}" for axis, size in sorted(sizes.items()))
    printed = [
        [str(given.engine or ""), *(sequencer_text(side, {}, 8, side.place) for side in (given.read, given.write))]
        for given in move.given
    ]
    commands = "; ".join(" ".join(command).strip() for command in printed)
    return " ".join(f"{move.dtype} {' -> '.join(sides)} with {told} {_streams(move)} {commands}".split())


def _streams(move: Any) -> str:
    streams = [move.stream] if move.stream is not None else [one.stream for one in move.streams]
    return "; ".join(f"{s.chip} | {s.cluster} | {s.slice} | {s.time} | {s.packet}" for s in streams)


def changes(
    old: Mapping[tuple[str, str], JudgedTransfer], new: Mapping[tuple[str, str], JudgedTransfer], cost: bool = True
) -> list[TransferChange]:
    """What differs, worst first: by what fails, then by file and name."""
    found = []
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if before is not None and after is not None and _same(before, after):
            continue
        found.append(TransferChange(*key, before, after))
    if cost:
        found = [_costed(one) if number < MOST_COSTED else one for number, one in enumerate(found)]
    return sorted(found, key=lambda one: (not one.fails, one.after is None, one.path, one.name))


def open_in_both(old: Mapping[tuple[str, str], JudgedTransfer], new: Mapping[tuple[str, str], JudgedTransfer]) -> int:
    """How many did not change and have no answer."""
    both = [(old[key], new[key]) for key in old if key in new]
    return sum(1 for a, b in both if b.verdict.status in OPEN and _same(a, b))


def _same(a: JudgedTransfer, b: JudgedTransfer) -> bool:
    def said(one: JudgedTransfer) -> tuple[Any, ...]:
        now = one.verdict
        found = {(f.rule, f.severity, f.message, f.excuse is None) for f in now.findings}
        return one.whole, now.status, now.as_expected, now.expect, set(now.conditions), now.scope, found

    answered = a.verdict.status not in OPEN
    return said(a) == said(b) and (answered or a.read == b.read != "")


def _costed(change: TransferChange) -> TransferChange:
    """With the best that each side could cost, where both are proved and the move differs."""
    sides = (change.before, change.after)
    if any(side is None or side.verdict.status is not Status.PROVED for side in sides):
        return change
    assert change.before is not None
    assert change.after is not None
    if change.before.whole == change.after.whole:
        return change
    return replace(change, cycles=(_cycles(change.before), _cycles(change.after)))


def _cycles(one: JudgedTransfer) -> float:
    from dmaverify.jobs.synthesis import SynthSettings, synthesize_move

    item = next((t for t in one.plan.transfers if t.name == one.verdict.name), None) if one.plan is not None else None
    if item is None:
        return 0.0
    try:
        chosen = SynthSettings(simulate=False, routes=False)
        found = synthesize_move(
            item.transfer, one.plan.targets[item.transfer.target], one.plan.axes, chosen, advise=False
        )
    except InputError:
        return 0.0
    return found.cycles if found.found else 0.0


def asked_in(folder: Path, repository: Path, request: Any) -> tuple[str | None, dict[str, Any], int]:
    """How a folder with files of a repository is judged: the machine, the options and the workers of a request. A
    machine, or an engine of a file, that lies in the repository is that of the folder.
    """

    def moved(word: str) -> str:
        path, mark, name = word.partition("::")
        at = _within(repository, path)
        return word if at is None else f"{folder / at}{mark}{name}"

    target, options = request.target, dict(request.options)
    if target is not None and target not in available_targets():
        target = moved(target)
    if options.get("engine"):
        options["engine"] = tuple(moved(word) if is_built(word) else word for word in options["engine"])
    return target, options, request.workers


def _within(repository: Path, path: str) -> str | None:
    """A path from the repository's folder; None for one that lies elsewhere."""
    home = repository.resolve()
    whole = (Path(os.path.abspath(path)), Path(os.path.realpath(path)))
    return next((one.relative_to(home).as_posix() for one in whole if one.is_relative_to(home)), None)


def changed_since(revision: str, request: Any, deciding: Sequence[str] = ()) -> set[tuple[str, str]]:
    """(file, name) of the transfers of the working tree that were others at a revision; all, where settings or other
    `deciding` files changed. Raises InputError.
    """
    root = repository_of(Path(request.paths[0].partition("::")[0]))
    paths = [inside(root, path) for path in request.paths]
    with checked_out(root, revision) as there:
        before = judged_in(there, paths, *asked_in(there, root, request), set())
    absent = set[str]()
    after = judged_in(root, paths, *asked_in(root, root, request), absent)
    if absent:
        raise InputError(f"no transfer to check in {', '.join(sorted(absent))}", None, "name what `check` judges")
    settings = [f":(glob)**/{name}" for name in ("dmaverify.toml", "pyproject.toml", "Cargo.toml")]
    settings += [f":(literal){at}" for file in deciding if (at := _within(root, file)) is not None]
    if git(root, "diff", "--name-only", revision, "--", *settings) or git(
        root, "ls-files", "-o", "--exclude-standard", "--", *settings
    ):
        keys = list(after)  # other settings may judge all otherwise
    else:
        keys = [(one.path, one.name) for one in changes(before, after, cost=False) if one.after is not None]
    return {(str((root / path).resolve()), name) for path, name in keys}
