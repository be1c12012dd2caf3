"""Proposed edits tried on the whole plan: only what is proved there is shown, and only that is written.

Knows: plan files, how an edit is tried, how a file is written without touching the rest of it.
Does not know: where edits come from, formats, exit codes.
Law: a fix is a set of edits of one plan with which the transfer is proved, read again from its text; a file changes
in the edited characters alone, line breaks, comments and byte order mark included, and whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from dmaverify.errors import Disagreement, InputError, Source
from dmaverify.language.files import is_inside, write_bytes
from dmaverify.report.edits import Overlap, applied, trials_of
from dmaverify.report.order import findings_in_order
from dmaverify.values import replace
from dmaverify.verdict import Edit, Finding, Label, Status, Verdict

MOST_SHOWN = 50  # verdicts of one run for which a report looks for fixes that nobody asked to be written


def with_fixes(
    verdicts: Iterable[Verdict], settings: Mapping[str, Any], target: str | None, most: int | None = MOST_SHOWN
) -> list[Verdict]:
    """The verdicts; those refuted and not expected to be, with the fixes that were proved on the whole text: of the
    first `most`, or of all.
    """
    out, tried = [], 0
    for verdict in verdicts:
        tried += wrong(verdict)
        within = wrong(verdict) and (most is None or tried <= most)
        out.append(_fixed(verdict, settings, target) if within else verdict)
    return out


def with_kernel_fixes(verdicts: Iterable[Verdict], settings: Mapping[str, Any], target: str | None) -> list[Verdict]:
    """The verdicts; refuted kernels with the type that was proved in a copy of their crate."""
    from dmaverify.jobs.fix_kernels import kernel_fix

    out = []
    for verdict in verdicts:
        broken = verdict.path.endswith(".rs") and verdict.status is Status.REFUTED and not verdict.as_expected
        fix = kernel_fix(verdict, settings, target) if broken else ()
        if fix:
            first, *rest = findings_in_order(verdict)
            verdict = replace(verdict, findings=(replace(first, fix=fix), *rest))
        out.append(verdict)
    return out


def wrong(verdict: Verdict) -> bool:
    own = bool(verdict.path) and not verdict.path.endswith(".rs")  # kernels are never edited
    return verdict.status is Status.REFUTED and not verdict.as_expected and own


def _fixed(verdict: Verdict, settings: Mapping[str, Any], target: str | None) -> Verdict:
    """Each finding's own fix; one for all that only several together mend; or what a rule of the machine allows."""
    proposals: list[tuple[Edit, ...]] = list(dict.fromkeys(f.edits for f in verdict.errors if f.edits))
    together = tuple(dict.fromkeys(edit for edits in proposals for edit in edits))
    tried: dict[tuple[Edit, ...], tuple[Edit, ...]] = {}
    for edits in proposals:
        tried[edits] = _proved(verdict, edits, settings, target)
    if len(proposals) > 1 and not any(tried.values()):
        tried[proposals[0]] = _proved(verdict, together, settings, target)
    if not proposals:
        return _mended(verdict, settings, target)
    return replace(verdict, findings=tuple(_told_once(findings_in_order(verdict), tried)))


def _mended(verdict: Verdict, settings: Mapping[str, Any], target: str | None) -> Verdict:
    """A verdict against the machine's rules alone, with the packet or the padding that would be proved."""
    from dmaverify.jobs import propose
    from dmaverify.jobs.detours import detours
    from dmaverify.jobs.propose import MOST, longer_and_split, longer_rows, several_packets, shorter_packets

    item, plan = _transfer_of(verdict, target)
    if item is not None and (fix := _cheapest(verdict, [*propose.walked_twice(item)], settings, target)):
        return _one_cause(verdict, fix)
    if item is not None and {finding.rule for finding in verdict.errors} == {"core/covers"}:
        return _walked(verdict, item, settings, target)
    if item is None or any(finding.rule.startswith("core/") for finding in verdict.errors):
        return verdict
    first, *others = [finding for finding in findings_in_order(verdict) if finding in verdict.errors]
    warned = [finding for finding in verdict.findings if finding not in verdict.errors]
    machine = plan.targets[item.transfer.target]
    most = machine.limits.get("packet_max", 0) * 8 // machine.dtypes[item.transfer.dtype]
    proposals = [*shorter_packets(item, plan.axes), *(several_packets(item, plan.axes, most) if most else ())]
    if fix := _cheapest(verdict, proposals, settings, target):
        return replace(verdict, findings=(replace(first, fix=fix), *others, *warned))
    bits = plan.targets[item.transfer.target].dtypes[item.transfer.dtype]
    padded = [*islice(longer_rows(item, plan.axes, bits), MOST), *longer_and_split(item, plan.axes, bits, most)]
    for words, edits in padded:
        if _proved(verdict, edits, settings, target):
            note = f"proved with {words} (checked; it changes both layouts, so `--fix` leaves it to you)"
            return replace(verdict, findings=(replace(first, hint=note), *others, *warned))
    ways = detours(
        item, plan.axes, bits,
        lambda edits: bool(_proved(verdict, edits, settings, target)),
        lambda text, name: _holds(item.transfer.span.source, text, name, settings, target),
    )  # fmt: skip
    return replace(verdict, findings=(replace(first, hint=ways), *others, *warned)) if ways else verdict


def _one_cause(verdict: Verdict, fix: tuple[Edit, ...]) -> Verdict:
    """A verdict whose errors all come from a stream that walks something twice: they stand there, with one help."""
    from dmaverify.report.text import by_rank

    again, said = fix[0].span, "the stream walks a term in time and again in packet: each stands there once"
    first, *others = sorted(verdict.errors, key=by_rank)
    named = [replace(one, span=again, hint=said, labels=(*one.labels, Label(again, "walked again"))) for one in others]
    first = replace(first, span=again, hint=said, fix=fix, labels=(*first.labels, Label(again, "walked again")))
    warned = [finding for finding in verdict.findings if finding not in verdict.errors]
    return replace(verdict, findings=(first, *named, *warned))


def _walked(verdict: Verdict, item: Any, settings: Mapping[str, Any], target: str | None) -> Verdict:
    """A verdict that misses a part of the destination, with the terms that its stream does not name."""
    from dmaverify.jobs.propose import unwalked

    for edits in unwalked(item):
        if fix := _proved(verdict, edits, settings, target):
            missed = next(finding for finding in verdict.errors)
            named = replace(missed, fix=fix, hint="the stream does not walk all of the destination")
            return replace(verdict, findings=tuple(named if f is missed else f for f in verdict.findings))
    return verdict


def _cheapest(
    verdict: Verdict, proposals: Sequence[tuple[Edit, ...]], settings: Mapping[str, Any], target: str | None
) -> tuple[Edit, ...]:
    """Of the proposals that are proved and that no rule warns of newly, the one with the least cycles; () for none.

    That a change into several commands makes several commands is no new warning.
    """
    before = {finding.rule for finding in verdict.findings}
    best: tuple[float, tuple[Edit, ...]] | None = None
    for edits in proposals:
        source = edits[0].span.source
        if source.name != verdict.path or not (fix := _proved(verdict, edits, settings, target)):
            continue
        plan, again = _judged(source, applied(source.text, fix), verdict.name, settings, target)
        if plan is None:
            continue
        rules = plan.targets[plan.transfers[0].transfer.target].rules
        counted = {name for name, rule in rules.items() if tuple(rule.ports) == ("commands",)}
        if {finding.rule for finding in again[0].findings} - before - counted:
            continue
        cycles = _cycles_of(plan)
        if best is None or cycles < best[0]:
            best = cycles, fix
    return best[1] if best is not None else ()


def _cycles_of(plan: Any) -> float:
    """The price of the one transfer of a plan; 0 where its machine has none."""
    from dmaverify.cost.prices import price_of
    from dmaverify.jobs.load import program_of

    item = plan.transfers[0]
    try:
        return price_of(item.transfer, plan.targets[item.transfer.target], program_of(plan, item.name)).cycles
    except (InputError, ValueError):
        return 0.0


def _transfer_of(verdict: Verdict, target: str | None) -> tuple[Any, Any]:
    """The transfer of a verdict that has one, and its plan, read as it was judged."""
    from dmaverify.plan.read import read_plan

    try:
        plan = read_plan(verdict.path, target=target, partly=True)
    except InputError:
        return None, None
    return next((item for item in plan.transfers if item.name == verdict.name), None), plan


def _told_once(findings: Sequence[Finding], fixes: Mapping[tuple[Edit, ...], tuple[Edit, ...]]) -> Iterator[Finding]:
    """A fix that several findings share is shown with the first of them."""
    seen: set[tuple[tuple[int, int, str], ...]] = set()
    for finding in findings:
        fix = fixes.get(finding.edits, ()) if finding.edits else ()
        key = tuple((edit.span.start, edit.span.end, edit.text) for edit in fix)
        yield finding if key in seen else replace(finding, fix=fix)
        seen.add(key)


def _proved(
    verdict: Verdict, edits: Sequence[Edit], settings: Mapping[str, Any], target: str | None
) -> tuple[Edit, ...]:
    """The edits, in the unit of the text, with which the transfer is proved; () where there are none."""
    source = edits[0].span.source
    if source.name != verdict.path or any(edit.span.source is not source for edit in edits):
        return ()
    edits = [edit for edit in edits if edit.text != edit.span.text]
    for trial in trials_of(edits):
        try:
            text = applied(source.text, trial)
        except Overlap:
            return ()
        if _holds(source, text, verdict.name, settings, target):
            return trial
    return ()


def _holds(source: Source, text: str, name: str, settings: Mapping[str, Any], target: str | None) -> bool:
    """Whether the plan with that text proves what `name` promises."""
    return [one.status for one in _judged(source, text, name, settings, target)[1]] == [Status.PROVED]


def _judged(
    source: Source, text: str, name: str, settings: Mapping[str, Any], target: str | None
) -> tuple[Any, list[Verdict]]:
    """The plan of that text with the entry `name` alone, and its verdict; None and no verdict where it has none."""
    from dmaverify.jobs.judge import options_of
    from dmaverify.jobs.verdicts import verdicts_of
    from dmaverify.plan.plan import select
    from dmaverify.plan.read import read_plan_text

    try:
        folder = Path(source.name).parent
        plan = select(read_plan_text(text, source.name, target=target, folder=folder, partly=True), name)
        again = verdicts_of(plan, options_of(settings))
    except (InputError, Disagreement):
        return None, []
    return plan, again


# ---------------------------------------------------------------- writing


def fixes_by_file(verdicts: Iterable[Verdict]) -> dict[str, list[Edit]]:
    """For each file the edits of all its fixes, less those that would overlap with an earlier one."""
    found: dict[str, list[Edit]] = {}
    for verdict in verdicts:
        for finding in () if verdict.path.endswith(".rs") else verdict.errors:
            if not finding.fix or finding.excuse is not None:
                continue
            own = found.setdefault(verdict.path, [])
            try:
                applied(finding.fix[0].span.source.text, [*own, *finding.fix])
            except Overlap:
                continue
            own += finding.fix
    return {path: edits for path, edits in found.items() if edits}


def write_fixes(path: str, edits: Sequence[Edit]) -> int:
    """Makes the edits in a file and returns how many. Raises InputError where the file is no longer what was judged."""
    from dmaverify.language.toml_spans import source_of

    raw = Path(path).read_bytes()
    judged = edits[0].span.source.text
    if not Path(path).stat().st_mode & 0o200:
        raise InputError(f"{path} is read-only", None, "make it writable, or write the fix by hand")
    if source_of(raw, path).text != judged:
        raise InputError(f"{path} has changed since it was judged", None, "run the check again")
    text = raw.decode("utf-8")
    places = list(_places(text))
    once = {(edit.span.start, edit.span.end): edit for edit in edits}
    parts, at = [], 0
    for start, end in sorted(once):
        parts += [text[at : places[start]], once[start, end].text]
        at = places[end]
    real = Path(path).resolve()
    if not is_inside(real, Path(path).parent):
        raise InputError(f"{path} is a link that leads out of the project", None, "fix the file that it leads to")
    write_bytes(real, "".join([*parts, text[at:]]).encode("utf-8"))
    return len(once)


def _places(text: str) -> Iterator[int]:
    """Where each character of the text as it was judged stands in the file: no byte order mark, `\\n` line breaks."""
    for index, char in enumerate(text):
        if not (index == 0 and char == "\ufeff") and not (char == "\r" and text[index + 1 : index + 2] == "\n"):
            yield index
    yield len(text)
