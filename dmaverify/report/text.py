"""Findings, verdicts and summaries as text for people.

Knows: the words PROVED, REFUTED, UNKNOWN and ERROR, the order in which a finding is told, the concise line, the counts.
Does not know: files, terminals (the caller says how wide, and whether in colour), how an answer was obtained.
Law: same verdicts, same text: no times unless asked, a fixed order, a fixed width; UNKNOWN and empty are never worded
as a pass. It returns text and prints nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Literal

from dmaverify.errors import InputError
from dmaverify.report.edits import changes
from dmaverify.report.order import (
    bucket,
    findings_in_order,
    place_of,
    place_of_verdict,
    reason,
    remarks,
    told,
    undecided,
    unmet,
)
from dmaverify.report.snippet import Mark, draw, glyph, gutter_of, paint, visible, wrap
from dmaverify.values import replace
from dmaverify.verdict import Finding, Obligation, Severity, Status, Verdict

WIDTH = 100
MANY = 12
"""Verdicts beyond which a report folds what was proved."""
FEW = 3
"""Warnings of one rule that a folded report shows in full."""
TextFormat = Literal["full", "concise"]

_INK = {Status.PROVED: "proved", Status.REFUTED: "error", Status.UNKNOWN: "warning", Status.ERROR: "error"}
_WITNESS_WORDS = {
    "coordinates": "element",
    "by": "command",
    "counters": "loops at",
    "again": "and again at",
    "asked": "layout asks",
    "read_address": "plan reads",
    "write_address": "plan writes",
    "made": "plan makes",
    "got": "holds",
    "clobbers": "clobbers",
}
# What a witness that says in words what the plan makes holds as data beside it: for machines, not told twice.
_WITNESS_DATA = {
    "command",
    "engine",
    "read_address",
    "write_address",
    "source_cell",
    "dest_cell",
    "again_by",
    "address",
    "places",
}


# ---------------------------------------------------------------- one finding


def render_finding(finding: Finding, *, width: int = WIDTH, colour: bool = False, at: str = "") -> str:
    """The finding with its carets, counterexample, notes and help; no line break at the end.

    A label on the very span of the finding gives the words beside its carets; without one they are its `place`.
    `at` (`path:line:column`) is shown for a finding that has no span of its own.
    """
    marks = _marks(finding)
    gutter = gutter_of(marks)
    style = finding.severity.value
    lines = [_headline(finding.severity.value, finding.rule, finding.message, colour)]
    lines += draw(marks, gutter, width, style, colour)
    if at and not marks:
        lines.append(f" {paint('-->', 'frame', colour)} {visible(at)}")
    tail: list[str] = []
    if finding.place and not any(mark.text for mark in marks if mark.primary):
        tail += _remark("place", finding.place, gutter, width, colour)
    tail += _counterexample(finding.witness, gutter, width, colour)
    for note in finding.notes:
        tail += _remark("note", note, gutter, width, colour)
    if finding.source:
        basis = "" if finding.basis == "documented" else f" (basis: {finding.basis})"
        tail += _remark("source", finding.source + basis, gutter, width, colour)
    if finding.hint:
        tail += _remark("help", finding.hint, gutter, width, colour)
    return "\n".join([*_joined(lines, tail, gutter, bool(marks), colour), *_diff(finding, gutter, colour)])


def _diff(finding: Finding, gutter: int, colour: bool) -> list[str]:
    """The lines that the fix changes, before (`-`) and after (`+`); the text after them was proved."""
    if not finding.fix:
        return []
    lines = [f"{' ' * gutter} {paint('=', 'frame', colour)} {paint('fix:', 'bold', colour)} proved with"]
    for change in changes(finding.fix[0].span.source, finding.fix):
        for sign, style, texts in (("-", "error", change.before), ("+", "proved", change.after)):
            numbered = enumerate(texts, change.line)
            lines += [
                f"{paint(f'{number:>{gutter}} {sign}', style, colour)} {''.join(map(glyph, text))}".rstrip()
                for number, text in numbered
            ]
    return lines


def render_error(error: InputError, *, width: int = WIDTH, colour: bool = False) -> str:
    """Input that cannot be read: what is wrong, where, and what to write instead."""
    marks = [] if error.span is None else [Mark(error.span, primary=True)]
    gutter = gutter_of(marks)
    lines = [_headline("error", "", error.message, colour), *draw(marks, gutter, width, "error", colour)]
    tail = _remark("help", error.hint, gutter, width, colour) if error.hint else []
    return "\n".join(_joined(lines, tail, gutter, bool(marks), colour))


def _headline(word: str, rule: str, message: str, colour: bool) -> str:
    head = paint(f"{word}[{visible(rule)}]" if rule else word, "warning" if word == "unknown" else word, colour)
    return f"{head}{paint(':', 'bold', colour)} {paint(visible(message), 'bold', colour)}"


def _marks(finding: Finding) -> list[Mark]:
    if finding.span is None:
        return [Mark(label.span, label.text) for label in finding.labels]
    here = finding.span

    def same(mark: Mark) -> bool:
        span = mark.span
        return span.source is here.source and (span.start, span.end) == (here.start, here.end)

    others = [Mark(label.span, label.text) for label in finding.labels]
    own = [Mark(here, mark.text, True) for mark in others if same(mark)] or [Mark(here, finding.place, True)]
    return own + [mark for mark in others if not same(mark)]


def _joined(lines: list[str], tail: list[str], gutter: int, drawn: bool, colour: bool) -> list[str]:
    bar = [paint(f"{' ' * gutter} |", "frame", colour)] if drawn and tail else []
    return lines + bar + tail


def _remark(word: str, text: str, gutter: int, width: int, colour: bool) -> list[str]:
    """`= word: text`, wrapped with a hanging indent; line breaks of the text are kept."""
    indent = gutter + len(f" = {word}: ")
    lines = [line for part in text.splitlines() or [""] for line in wrap(part, max(20, width - indent))]
    head = f"{' ' * gutter} {paint('=', 'frame', colour)} {paint(f'{word}:', 'bold', colour)} {lines[0]}".rstrip()
    return [head, *(f"{' ' * indent}{line}".rstrip() for line in lines[1:])]


def _counterexample(witness: Mapping[str, Any] | None, gutter: int, width: int, colour: bool) -> list[str]:
    """Coordinates, then the address the layout asks for, the address the plan makes, and what is clobbered."""
    if not witness:
        return []
    silent = _WITNESS_DATA if "made" in witness else set()
    told = [key for key in witness if key not in silent]
    known = [(word, witness[key]) for key, word in _WITNESS_WORDS.items() if key in told]
    other = [(str(key).replace("_", " "), witness[key]) for key in told if key not in {*_WITNESS_WORDS, "text"}]
    rows = [(word, line) for word, value in known + other for line in _worded(value)]
    pad = " " * (gutter + 5)
    column = max((len(word) for word, _ in rows), default=0) + 3
    lines = [f"{' ' * gutter} {paint('=', 'frame', colour)} {paint('counterexample:', 'bold', colour)}"]
    before = ""
    for word, text in rows:
        first, *more = wrap(text, max(20, width - len(pad) - column))
        lines.append(f"{pad}{visible(word) if word != before else '':<{column}}{first}".rstrip())
        lines += [f"{pad}{' ' * column}{line}" for line in more]
        before = word
    text = witness.get("text", ())
    prepared = text.splitlines() if isinstance(text, str) else [str(line) for line in text]
    return lines + [f"{pad}{visible(line)}".rstrip() for line in prepared]


def _worded(value: Any) -> list[str]:
    """A part of a witness as lines: mappings as `A = 1   B = 0`, lists of mappings or texts one a line."""
    if isinstance(value, Mapping):
        return ["   ".join(f"{key} = {_word(part)}" for key, part in value.items()) or "-"]
    if isinstance(value, (list, tuple)) and any(isinstance(part, (Mapping, str)) for part in value):
        return [line for part in value for line in _worded(part)]
    return [_word(value)]


def _word(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_word(part)}" for key, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(_word(part) for part in value)})"
    return str(value)


# ---------------------------------------------------------------- one verdict


def render_verdict(
    verdict: Verdict,
    format: TextFormat = "full",
    *,
    width: int = WIDTH,
    colour: bool = False,
    verbose: bool = False,
    timings: bool = False,
) -> str:
    """All findings of one verdict and its closing line (`full`), or one line a finding (`concise`, empty when proved).

    `verbose` lists the obligations and readings of a proved one too; `timings` adds the milliseconds.
    """
    if format == "concise":
        return "\n".join(_concise(verdict))
    at = str(place_of_verdict(verdict))
    shown = findings_in_order(verdict) if verbose else by_cause(told(verdict))
    blocks = [render_finding(finding, width=width, colour=colour, at=at) for finding in shown]
    said = {finding.rule for finding in (verdict.findings if verbose else told(verdict))}
    blocks += [_unanswered(verdict, one, width, colour) for one in undecided(verdict) if one.id not in said]
    closing = [_closing(verdict, colour, timings)]
    closing += _details(verdict, width, verbose or verdict.status is not Status.PROVED)
    return "\n\n".join([*blocks, "\n".join(closing)])


_CAUSES = ("core/same-element", "core/in-bounds", "core/writes-once", "core/covers")
"""Which of several errors with one cause is told in full: what goes where it does not belong, before what is missed."""


def by_rank(finding: Finding) -> int:
    """Which of the errors with one cause is told first."""
    return _CAUSES.index(finding.rule) if finding.rule in _CAUSES else len(_CAUSES)


def by_cause(findings: Sequence[Finding]) -> list[Finding]:
    """Errors with one cause as one of them, with the others in a line each below it: those at one place with one help,
    those of the machine's rules on one line, and what is missed because something else goes where it does not belong.
    """
    groups: dict[Any, list[Finding]] = {}
    mended = {one.hint for one in findings if one.fix and one.hint}
    for number, one in enumerate(findings):
        groups.setdefault(one.hint if one.hint in mended else _cause_of(one, number), []).append(one)
    merged = _with_consequences(list(groups.values()))
    out = []
    for group in merged:
        first, *rest = sorted(group, key=by_rank)
        also = tuple(f"and {one.rule}: {one.message}" for one in rest)
        fix = first.fix or next((one.fix for one in rest if one.fix), ())
        hint = first.hint or next((one.hint for one in rest if one.hint and one.severity is Severity.ERROR), "")
        out.append(replace(first, notes=(*first.notes, *also), fix=fix, hint=hint))
    return out


def _cause_of(one: Finding, number: int) -> Any:
    """What findings with the same cause share; the finding's own number where nothing says so."""
    if one.severity is not Severity.ERROR or one.span is None:
        return number
    if _family(one.rule) != "core":
        return "rules", one.span.source.name, one.span.line
    return (one.span.source.name, one.span.start, one.span.end, one.hint) if one.hint else number


_MISPLACED = ("core/same-element", "core/in-bounds", "core/writes-once")
_MISSED = ("core/writes-once", "core/covers", "core/consumes")


def _with_consequences(groups: list[list[Finding]]) -> list[list[Finding]]:
    """What is missed joins the one error that says where it went instead, and a rule of the machine at its place."""
    every = [one for group in groups for one in group]
    if any(sum(one.rule == rule for one in every) > 1 for rule in ("core/same-element", "core/covers")):
        return groups  # of several moves: which misses what is not known here
    wrong = [g for rule in _MISPLACED for g in groups if any(f.rule == rule and _is_error(f) for f in g)]
    missed = [g for g in groups if any(f.rule == "core/covers" and _is_error(f) for f in g)]
    if not wrong and not missed:
        return groups
    cause = (wrong or missed)[0]
    places = {(f.span.source.name, f.span.line) for f in cause if f.span is not None}
    out, joined = [], list[Finding]()
    for group in groups:
        missed_only = all(f.rule in _MISSED and not f.hint for f in group)
        here = all(f.span is not None and (f.span.source.name, f.span.line) in places and _is_error(f) for f in group)
        twin = all(f.rule == cause[0].rule and _same_command(f, cause[0]) and not f.hint for f in group)
        if group is not cause and (missed_only or twin or (here and not any(f.hint for f in cause))):
            joined += group
        else:
            out.append(group)
    cause += joined
    return out


def _same_command(one: Finding, other: Finding) -> bool:
    """Whether one command is wrong on both of its sides: its loops are the cause, and the other side is told below."""
    commands = [found.witness.get("command") for found in (one, other) if found.witness]
    return len(commands) == 2 and commands[0] == commands[1] is not None and _is_error(one) and _is_error(other)


def _is_error(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR


def _unanswered(verdict: Verdict, one: Obligation, width: int, colour: bool) -> str:
    marks = [] if one.span is None else [Mark(one.span, primary=True)]
    gutter = gutter_of(marks)
    lines = [_headline("unknown", one.id, f"no answer for `{verdict.name}`", colour)]
    lines += draw(marks, gutter, width, "warning", colour)
    if not marks:
        lines.append(f" {paint('-->', 'frame', colour)} {visible(str(place_of_verdict(verdict)))}")
    tail = _remark("note", reason(one), gutter, width, colour) if reason(one) else []
    return "\n".join(_joined(lines, tail, gutter, bool(marks), colour))


def _closing(verdict: Verdict, colour: bool, timings: bool) -> str:
    """`REFUTED relayout  plans/row.toml:12  target rngd  core/same-element`."""
    rules = sorted({finding.rule for finding in verdict.errors if finding.excuse is None})
    if verdict.status is Status.PROVED:
        said = verdict.claim
    elif verdict.status is Status.UNKNOWN:
        said = "no answer: " + ", ".join(dict.fromkeys(one.id for one in undecided(verdict)))
    elif bucket(verdict) == "expected":
        said = f"as expected: {', '.join(rules)}"
    else:
        said = ", ".join(rules)
    at = f"{verdict.path}:{verdict.line}" if verdict.line else verdict.path
    parts = [verdict.name, at, f"target {verdict.target}" if verdict.target else "", said]
    parts += [_excuses(verdict), unmet(verdict)]
    parts.append(f"{verdict.seconds * 1000:.1f} ms" if timings else "")
    claimed = f"{verdict.status.value.upper()} {visible(verdict.bounds)}".rstrip()
    word = paint(f"{claimed:<7}", _INK[verdict.status], colour)
    return f"{word} {' ' if verdict.bounds else ''}{'  '.join(visible(part) for part in parts if part)}".rstrip()


def _excuses(verdict: Verdict) -> str:
    """`suppressed: rngd/packet-max (reason)`, each rule and reason once."""
    said = {f"{f.excuse.kind}: {f.rule} ({f.excuse.reason})": None for f in verdict.excused if f.excuse is not None}
    return "; ".join(said)


def _details(verdict: Verdict, width: int, all_of_them: bool) -> list[str]:
    """What was proved and by whom, under which readings, and what was assumed."""
    lines: list[str] = []
    statuses = dict.fromkeys(["proved", "refuted", "unknown", "not judged", *(o.status for o in verdict.obligations)])
    for status in statuses if all_of_them else ():
        named = _folded(verdict.obligations, status)
        lines += _listed(status, ["; ".join(named)] if named else [], width)
    if all_of_them:
        lines += _listed("confirmed", [f"by {verdict.confirmed}"] if verdict.confirmed else [], width)
        lines += _listed("reading", [f"{rule} = {verdict.readings[rule]}" for rule in sorted(verdict.readings)], width)
    lines += _listed("only if", list(verdict.conditions), width)
    return lines + _listed("assumes", [a for a in verdict.assumptions if a not in verdict.conditions], width)


def _folded(obligations: Sequence[Obligation], status: str) -> list[str]:
    """Obligations of one status, those decided alike together; a family that has no other status is one name."""
    mixed = {_family(one.id) for one in obligations if one.status != status}
    own = [one for one in obligations if one.status == status]
    members = Counter(_family(one.id) for one in own)
    whole: dict[str, list[str]] = {}
    alike: dict[str, list[str]] = {}
    for one in own:
        family, how = _family(one.id), ": ".join(part for part in (one.by, one.why) if part)
        if family in mixed or members[family] == 1:
            alike.setdefault(how, []).append(one.id)
        else:
            whole.setdefault(f"{family}/*", []).append(how)
    folded = [(name, "; ".join(dict.fromkeys(filter(None, hows)))) for name, hows in whole.items()]
    folded += [(", ".join(names), how) for how, names in alike.items()]
    return [f"{names} ({how})" if how else names for names, how in folded]


def _listed(word: str, texts: Sequence[str], width: int) -> list[str]:
    lines = []
    for text in texts:
        first, *more = wrap(text, max(20, width - 14))
        lines += [f"  {word:<12}{first}", *(f"{' ' * 14}{line}" for line in more)]
    return lines


def _concise(verdict: Verdict) -> list[str]:
    expected = " (expected)" if bucket(verdict) == "expected" else ""
    lines = []
    for finding in findings_in_order(verdict):
        mark = expected if finding.severity is Severity.ERROR else ""
        mark = f" ({finding.excuse.kind}: {finding.excuse.reason})" if finding.excuse is not None else mark
        word = f"{finding.severity.value}[{finding.rule}]" if finding.rule else finding.severity.value
        lines.append(f"{place_of(finding, verdict)}: {word} {finding.message}{mark}")
    lines += [f"{place_of(one, verdict)}: {one.word}[{one.rule}] {one.said}" for one in remarks(verdict)]
    return [visible(line) for line in lines]


# ---------------------------------------------------------------- all verdicts


def _family(rule: str) -> str:
    return rule.split("/", 1)[0]
