"""Reports of several verdicts: each in its place, the counts, what is let pass, the exit code in words.

Knows: verdicts in order, how many of each kind. Does not know: how one verdict is told.
Law: UNKNOWN and nothing found are never worded as a pass.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dmaverify.errors import many
from dmaverify.report.order import (
    EXCUSED,
    bucket,
    counts,
    in_order,
    place_of,
    place_of_verdict,
    told,
    undecided,
    unmet,
)
from dmaverify.report.snippet import paint, visible
from dmaverify.report.text import _INK, FEW, MANY, WIDTH, TextFormat, _family, render_verdict
from dmaverify.values import replace
from dmaverify.verdict import Finding, Severity, Status, Verdict, exit_code


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
    head = f"checked {many(len(seen), 'transfer')} in {many(files, 'file')}{on}{took}"
    number = counts(seen)
    digits = max(len(f"{value:,}") for value in number.values())
    lines = [head]
    for name in number:
        own = [verdict for verdict in seen if bucket(verdict) == name]
        scope = scopes(own)
        said = f"{scope}  {_said_of(name, own)}" if scope else _said_of(name, own)
        word = paint(name.upper() if scope else f"{name.upper():<8} ", _style_of(name), colour and bool(own))
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
        1: f"{many(broken - missed, 'transfer')} refuted" if broken > missed else _strict(verdicts),
        2: f"{many(unread, 'entry')} cannot be judged" if unread else "",
        3: f"{many(open_, 'transfer')} without an answer" if open_ else "",
        0: _let_pass(broken, open_),
    }
    said = reasons[code]
    if code == 1 and missed:
        expects = f"{many(missed, 'expectation')} not met"
        said = f"{said}, {expects}" if broken > missed else expects
    return f"exit {code}: {said}" if said else f"exit {code}"


def _strict(verdicts: Sequence[Verdict]) -> str:
    what = "conditions that nobody states" if any(v.conditional for v in verdicts) else "warnings"
    return f"{what} fail under --strict"


def _let_pass(broken: int, open_: int) -> str:
    """What does not pass by itself, where options let it; nothing where all is as expected."""
    parts = [f"{many(broken, 'transfer')} refuted or not as expected"] if broken else []
    parts += [f"{many(open_, 'transfer')} without an answer"] if open_ else []
    return f"{', '.join(parts)}, let pass" if parts else ""


def _warnings(verdicts: Sequence[Verdict]) -> list[str]:
    """How many warnings and pieces of advice there are, by rule, the commonest first."""
    lines = []
    for severity, word in ((Severity.WARNING, "warning"), (Severity.ADVICE, "advice")):
        rules: Counter[str] = Counter()
        for finding in (f for v in verdicts for f in told(v) if f.severity is severity):
            rules[finding.rule] += finding.count
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
    out += [f"... and {many(count, 'more warning')} of {rule} (-v shows them)" for rule, count in sorted(more.items())]
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
    said = [path, many(len(verdicts), "transfer"), claims(verdicts), supposed(verdicts)]
    said.append(f"under {many(conditions, 'stated condition')} (-v shows them)" if conditions else "")
    return f"{paint('PROVED ', _INK[Status.PROVED], colour)} {'  '.join(visible(part) for part in said if part)}"


def _style_of(name: str) -> str:
    known = {"proved": "proved", "expected": "proved", "unknown": "warning"}
    return known.get(name, "warning" if name in EXCUSED else "error")


def _said_of(name: str, verdicts: Sequence[Verdict]) -> str:
    if name == "proved":
        whole = [o for v in verdicts if not v.scope for o in v.obligations]
        families = sorted({_family(o.id) for o in whole if o.status == "proved"})
        said = (", ".join(f"{family}/*" for family in families), claims(verdicts))
        return "   ".join(part for part in said if part)
    if name == "unknown":
        return visible(", ".join(sorted({one.id for verdict in verdicts for one in undecided(verdict)})))
    broken: Counter[str] = Counter()
    for finding in (f for verdict in verdicts for f in verdict.errors if f.rule):
        broken[_family(finding.rule)] += finding.count
    return visible(", ".join(f"{family}/* {broken[family]:,}" for family in sorted(broken)))


def supposed(verdicts: Sequence[Verdict]) -> str:
    """How many of what is proved is proved under conditions only."""
    own = sum(bool(verdict.conditions) for verdict in verdicts)
    return f"{own:,} of them only under conditions that nobody states" if own else ""


def scopes(verdicts: Iterable[Verdict]) -> str:
    """What verdicts speak of where rules were left out: `of core/same-element only`."""
    return " and ".join(dict.fromkeys(visible(verdict.scope) for verdict in verdicts if verdict.scope))


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
