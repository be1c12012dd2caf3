"""Findings, verdicts and summaries as text for people.

Knows: the words PROVED, REFUTED, UNKNOWN and ERROR, the order in which a finding is told, the concise line, the counts.
Does not know: files, terminals (the caller says how wide, and whether in colour), how an answer was obtained.
Law: same verdicts, same text: no times unless asked, a fixed order, a fixed width; UNKNOWN and empty are never worded
as a pass. It returns text and prints nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal

from dmaverify.errors import InputError
from dmaverify.report.edits import changes
from dmaverify.report.order import (
    EXCUSED,
    bucket,
    counts,
    findings_in_order,
    in_order,
    place_of,
    place_of_span,
    place_of_verdict,
    remarks,
    told,
    undecided,
    unmet,
)
from dmaverify.report.snippet import Mark, draw, glyph, gutter_of, paint, visible, wrap
from dmaverify.values import replace
from dmaverify.verdict import Finding, Obligation, Severity, Status, Verdict, exit_code

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


def render_error(error: InputError, *, format: TextFormat = "full", width: int = WIDTH, colour: bool = False) -> str:
    """Input that cannot be read: what is wrong, where, and what to write instead."""
    if format == "concise":
        at = "" if error.span is None else f"{place_of_span(error.span)}: "
        hint = f" (help: {error.hint})" if error.hint else ""
        return visible(f"{at}error {error.message}{hint}")
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
    blocks += [_unanswered(verdict, rule, why, width, colour) for rule, why in undecided(verdict) if rule not in said]
    closing = [_closing(verdict, colour, timings)]
    closing += _details(verdict, width, verbose or verdict.status is not Status.PROVED)
    return "\n\n".join([*blocks, "\n".join(closing)])


_CAUSES = ("core/same-element", "core/in-bounds", "core/writes-once", "core/covers")
"""Which of several errors with one cause is told in full: what goes where it does not belong, before what is missed."""


def by_cause(findings: Sequence[Finding]) -> list[Finding]:
    """Errors with one cause as one of them, with the others in a line each below it: those at one place with one help,
    those of the machine's rules on one line, and what is missed because something else goes where it does not belong.
    """
    groups: dict[Any, list[Finding]] = {}
    for number, one in enumerate(findings):
        groups.setdefault(_cause_of(one, number), []).append(one)
    merged = _with_consequences(list(groups.values()))
    out = []
    for group in merged:
        first, *rest = sorted(group, key=lambda f: _CAUSES.index(f.rule) if f.rule in _CAUSES else len(_CAUSES))
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
        if group is not cause and (missed_only or (here and not any(f.hint for f in cause))):
            joined += group
        else:
            out.append(group)
    cause += joined
    return out


def _is_error(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR


def _unanswered(verdict: Verdict, name: str, why: str, width: int, colour: bool) -> str:
    lines = [_headline("unknown", name, f"no answer for `{verdict.name}`", colour)]
    lines.append(f" {paint('-->', 'frame', colour)} {visible(str(place_of_verdict(verdict)))}")
    lines += _remark("note", why, 1, width, colour) if why else []
    return "\n".join(lines)


def _closing(verdict: Verdict, colour: bool, timings: bool) -> str:
    """`REFUTED relayout  plans/row.toml:12  target rngd  core/same-element`."""
    rules = sorted({finding.rule for finding in verdict.errors if finding.excuse is None})
    if verdict.status is Status.PROVED:
        said = verdict.claim
    elif verdict.status is Status.UNKNOWN:
        said = "no answer: " + ", ".join(name for name, _ in undecided(verdict))
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
    at = place_of_verdict(verdict)
    lines += [f"{at}: {word}[{rule}] {said}" for word, rule, said in remarks(verdict)]
    return [visible(line) for line in lines]


# ---------------------------------------------------------------- all verdicts


def render_summary(
    verdicts: Iterable[Verdict], *, code: int | None = None, colour: bool = False, timings: bool = False
) -> str:
    """The counts, the rule families, the bound of the claim, and `exit N` (`code`, or what the verdicts say)."""
    seen = in_order(verdicts)
    leave = leaving(seen, code)
    if not seen:
        return f"checked nothing: no transfer and no access was found\n{leave}"
    files = len({verdict.path for verdict in seen})
    targets = ", ".join(sorted({verdict.target for verdict in seen if verdict.target}))
    took = f", {sum(verdict.seconds for verdict in seen):.3f} s" if timings else ""
    on = f", target {targets}" if targets else ""
    head = f"checked {_many(len(seen), 'transfer')} in {_many(files, 'file')}{on}{took}"
    number = counts(seen)
    digits = max(len(f"{value:,}") for value in number.values())
    lines = [head]
    for name in number:
        own = [verdict for verdict in seen if bucket(verdict) == name]
        scopes = " and ".join(dict.fromkeys(visible(verdict.scope) for verdict in own if verdict.scope))
        said = f"{scopes}  {_said_of(name, own)}" if scopes else _said_of(name, own)
        word = paint(name.upper() if scopes else f"{name.upper():<8} ", _style_of(name), colour and bool(own))
        lines.append(f"  {number[name]:>{digits},} {word} {said}".rstrip())
    rests = sum(verdict.conditional for verdict in seen)
    lines += [f"  {rests:,} of them only under a condition (PROVED if ..)"] if rests else []
    lines += _warnings(seen)
    lines += _found_in_source(seen)
    lines += [visible(f"  {place_of_verdict(v)}: `{v.name}` {unmet(v)}") for v in seen if unmet(v)]
    rules = sorted({f.rule for v in seen if bucket(v) == "refuted" for f in v.errors if f.rule and not f.excuse})
    lines += [visible(f"explain: dmaverify explain {rules[0]}")] if rules else []
    return "\n".join([*lines, leave])


def leaving(verdicts: Sequence[Verdict], code: int | None = None) -> str:
    """`exit N` with its reason in one line; no reason for what is as expected."""
    own = exit_code(verdicts)
    code = own if code is None else code
    if not verdicts or code not in (0, 1, 2, 3):
        return f"exit {code}" + (": a mistake of dmaverify, told above" if code == 4 else "")
    number = counts(verdicts)
    unread, open_ = number["error"], number["unknown"]
    broken = sum(1 for v in verdicts if bucket(v) == "refuted" or unmet(v))
    missed = sum(1 for v in verdicts if unmet(v) and bucket(v) == "proved")
    reasons = {
        1: f"{_many(broken - missed, 'transfer')} refuted" if broken > missed else _strict(verdicts),
        2: f"{_many(unread, 'entry')} cannot be judged" if unread else "",
        3: f"{_many(open_, 'transfer')} without an answer" if open_ else "",
        0: _let_pass(broken, open_),
    }
    said = reasons[code]
    if code == 1 and missed:
        expects = f"{_many(missed, 'expectation')} not met"
        said = f"{said}, {expects}" if broken > missed else expects
    return f"exit {code}: {said}" if said else f"exit {code}"


def _strict(verdicts: Sequence[Verdict]) -> str:
    what = "conditions that nobody states" if any(v.conditional for v in verdicts) else "warnings"
    return f"{what} fail under --strict"


def _let_pass(broken: int, open_: int) -> str:
    """What does not pass by itself, where options let it; nothing where all is as expected."""
    parts = [f"{_many(broken, 'transfer')} refuted or not as expected"] if broken else []
    parts += [f"{_many(open_, 'transfer')} without an answer"] if open_ else []
    return f"{', '.join(parts)}, let pass" if parts else ""


def _warnings(verdicts: Sequence[Verdict]) -> list[str]:
    """How many warnings and pieces of advice there are, by rule, the commonest first."""
    lines = []
    for severity, word in ((Severity.WARNING, "warning"), (Severity.ADVICE, "advice")):
        rules = Counter(f.rule for v in verdicts for f in told(v) if f.severity is severity)
        if rules:
            number = f"{rules.total():,} {word}{'s' if word == 'warning' and rules.total() != 1 else ''}"
            ranked = sorted(rules.items(), key=lambda item: (-item[1], item[0]))
            lines.append(visible(f"  {number}: {', '.join(f'{rule} {count:,}' for rule, count in ranked)}"))
    return lines


def _found_in_source(verdicts: Sequence[Verdict]) -> list[str]:
    """How the transfers found in kernel source add up: each was judged, or reported with its reason."""
    own = [verdict for verdict in verdicts if verdict.path.endswith(".rs") and verdict.status is not Status.ERROR]
    if not own:
        return []
    reported = [v for v in own if any(o.id == "core/unresolved-transfer" for o in v.obligations)]
    judged = len(own) - len(reported)
    return [f"  found {len(own):,} in Rust source = {judged:,} judged + {len(reported):,} reported as unresolved"]


def render_report(
    verdicts: Iterable[Verdict],
    format: TextFormat = "full",
    *,
    width: int = WIDTH,
    colour: bool = False,
    verbose: bool = False,
    timings: bool = False,
    code: int | None = None,
) -> str:
    """Everything `check` says: the verdicts in order, in `full` the summary, and last the exit code with its reason."""
    seen = in_order(verdicts)
    style: dict[str, Any] = {"width": width, "colour": colour, "verbose": verbose, "timings": timings}
    if format == "concise":
        texts = [render_verdict(verdict, format, **style) for verdict in seen]
        return "".join(f"{text}\n" for text in (*texts, leaving(seen, code)) if text)
    many = len(seen) > MANY and not verbose
    texts = _folded_report(seen, style) if many else [render_verdict(verdict, format, **style) for verdict in seen]
    parts: list[str] = []
    for text in texts:
        alone = "\n\n" in text or (parts and "\n\n" in parts[-1])
        parts += ["", text] if alone and parts else [text]
    return "\n".join([*parts, "", render_summary(seen, code=code, colour=colour, timings=timings)]).lstrip("\n") + "\n"


def _folded_report(verdicts: Sequence[Verdict], style: Mapping[str, Any]) -> list[str]:
    """A long report: what failed first, then what is open, then warnings (the first few of each rule), then what was
    proved, one line a file.
    """
    worst = (bucket_rank(verdict) for verdict in verdicts)
    ranked = [v for _, v in sorted(zip(worst, verdicts, strict=True), key=lambda pair: pair[0])]
    out: list[str] = []
    told_of: Counter[str] = Counter()
    quiet: dict[str, list[Verdict]] = {}
    for verdict in ranked:
        if verdict.status is not Status.PROVED or unmet(verdict) or verdict.conditional:
            out.append(render_verdict(_one_a_line(verdict), "full", **style))
            continue
        warned = [f for f in told(verdict) if f.severity is Severity.WARNING]
        shown = tuple(f for f in warned if told_of[f.rule] < FEW)
        told_of.update(f.rule for f in warned)
        if shown:
            out.append(render_verdict(replace(verdict, findings=shown), "full", **style))
        else:
            quiet.setdefault(verdict.path, []).append(verdict)
    more = {rule: count - FEW for rule, count in told_of.items() if count > FEW}
    out += [f"... and {_many(count, 'more warning')} of {rule} (-v shows them)" for rule, count in sorted(more.items())]
    return [*out, *(_proved_line(path, own, bool(style["colour"])) for path, own in sorted(quiet.items()))]


def _one_a_line(verdict: Verdict) -> Verdict:
    """Errors of the machine's rules that stand on one line as one finding, with what follows from it below."""
    first: dict[tuple[str, int], int] = {}
    out: list[Finding] = []
    for finding in told(verdict):
        at = place_of(finding, verdict)
        key = (at.path, at.line)
        if finding.severity is not Severity.ERROR or _family(finding.rule) == "core":
            out.append(finding)
        elif key in first:
            note = f"and {finding.rule}: {finding.message}"
            out[first[key]] = replace(out[first[key]], notes=(*out[first[key]].notes, note))
        else:
            first[key] = len(out)
            out.append(finding)
    return replace(verdict, findings=(*out, *verdict.excused))


def bucket_rank(verdict: Verdict) -> int:
    """0 for what failed, 1 for what is open, 2 for what passes."""
    failed = verdict.status in (Status.REFUTED, Status.ERROR) and bucket(verdict) in ("refuted", "error")
    return 0 if failed or unmet(verdict) else 1 if verdict.status is Status.UNKNOWN else 2


def _proved_line(path: str, verdicts: Sequence[Verdict], colour: bool) -> str:
    """`PROVED  kernels/load.rs  12 transfers  all 4,096 bytes`."""
    conditions = len({note for verdict in verdicts for note in verdict.assumptions if note not in verdict.conditions})
    said = [path, _many(len(verdicts), "transfer"), claims(verdicts), supposed(verdicts)]
    said.append(f"under {_many(conditions, 'stated condition')} (-v shows them)" if conditions else "")
    return f"{paint('PROVED ', _INK[Status.PROVED], colour)} {'  '.join(visible(part) for part in said if part)}"


def _style_of(name: str) -> str:
    known = {"proved": "proved", "expected": "proved", "unknown": "warning"}
    return known.get(name, "warning" if name in EXCUSED else "error")


def _many(number: int, name: str) -> str:
    many = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return f"{number:,} {name if number == 1 else many}"


def _said_of(name: str, verdicts: Sequence[Verdict]) -> str:
    if name == "proved":
        whole = [o for v in verdicts if not v.scope for o in v.obligations]
        families = sorted({_family(o.id) for o in whole if o.status == "proved"})
        said = (", ".join(f"{family}/*" for family in families), claims(verdicts))
        return "   ".join(part for part in said if part)
    if name == "unknown":
        return visible(", ".join(sorted({rule for verdict in verdicts for rule, _ in undecided(verdict)})))
    broken = Counter(_family(finding.rule) for verdict in verdicts for finding in verdict.errors if finding.rule)
    return visible(", ".join(f"{family}/* {broken[family]:,}" for family in sorted(broken)))


def _family(rule: str) -> str:
    return rule.split("/", 1)[0]


def supposed(verdicts: Sequence[Verdict]) -> str:
    """How many of what is proved is proved under conditions only."""
    own = sum(bool(verdict.conditions) for verdict in verdicts)
    return f"{own:,} of them only under conditions that nobody states" if own else ""


def claims(verdicts: Iterable[Verdict]) -> str:
    """The bound of the claim over several verdicts: `all N UNIT` claims add up, others are named once each."""
    total: Counter[str] = Counter()
    others: dict[str, None] = {}
    for verdict in verdicts:
        found = re.fullmatch(r"all ([\d,]+) (\S.*)", verdict.claim)
        if found is not None:
            total[found[2]] += int(found[1].replace(",", ""))
        elif verdict.claim:
            others[verdict.claim] = None
    return visible("; ".join([*(f"all {total[unit]:,} {unit}" for unit in sorted(total)), *others]))
