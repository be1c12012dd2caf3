"""Verdicts as a step summary: Markdown for the page of a workflow run.

Knows: the Markdown that GitHub renders, and its escapes.
Does not know: files, environments, how an answer was obtained.
Law: same verdicts, same text, below GitHub's limit of 1 MiB; what is left out is counted; nothing of a user's text is
read as markup; only a proof is worded as one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from dmaverify.report.order import bucket, counts, in_order, place_of, place_of_verdict, remarks, told
from dmaverify.report.several import claims, leaving, scopes
from dmaverify.report.text import render_finding
from dmaverify.verdict import Severity, Status, Verdict, exit_code

MOST_ROWS = 200
MOST_BYTES = 900_000
MOST_CELL = 400  # characters
_ENDS = {0: "as expected", 1: "violated", 2: "unreadable or empty", 3: "inconclusive", 4: "internal error"}
_SHOWN = ("refuted", "unknown", "error")


def summary(verdicts: Iterable[Verdict], code: int | None = None) -> str:
    """Counts, a table of everything that keeps the run from passing, and each diagnostic in full."""
    seen = in_order(verdicts)
    code = exit_code(seen) if code is None else code
    number = counts(seen)
    held = [verdict for verdict in seen if verdict.status is Status.PROVED]
    proved, scope = claims(held), scopes(held)
    lines = [f"## dmaverify: {_ENDS[code]} ({leaving(seen, code)})", ""]
    if not seen:
        return "\n".join([*lines, "No transfer and no access was found.", ""])
    heads = [name.upper() for name in number]
    lines += [f"| {' | '.join(heads)} |", f"|{' ---: |' * len(heads)}"]
    lines += [f"| {' | '.join(f'{value:,}' for value in number.values())} |", ""]
    lines += [f"Proved{f' {_escaped(scope)}' if scope else ''}: {_escaped(proved)}.", ""] if proved else []
    wrong = [verdict for verdict in seen if bucket(verdict) in _SHOWN or remarks(verdict)]
    lines += _table(wrong)
    return _limited(lines, wrong)


def statistics(verdicts: Iterable[Verdict]) -> str:
    """How often each rule was found, of which severity, in how many transfers: a line each, the commonest first."""
    times: Counter[tuple[str, str]] = Counter()
    where: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for verdict in verdicts:
        found: dict[tuple[str, str], int] = {}
        for f in verdict.findings:
            key = f.rule or "input", f.severity.value if f.excuse is None else f.excuse.kind
            found[key] = found.get(key, 0) + f.count
        for one in remarks(verdict):
            found[one.rule, one.word] = found.get((one.rule, one.word), 0) + 1
        times.update(found)
        for key in found:
            where.setdefault(key, set()).add((verdict.path, verdict.name))
    if not times:
        return "no findings"
    rows = sorted(times, key=lambda key: (-times[key], key))
    digits = max(len(f"{times[key]:,}") for key in rows)
    width = max(len(rule) for rule, _ in rows)
    lines = []
    for rule, word in rows:
        number = len(where[rule, word])
        in_ = f"in {number:,} {'transfer' if number == 1 else 'transfers'}"
        lines.append(f"{times[rule, word]:>{digits},}  {rule:<{width}}  {word:<7}  {in_}")
    return "\n".join(lines)


def _table(verdicts: Sequence[Verdict]) -> list[str]:
    if not verdicts:
        return []
    rows = [(_at(verdict), verdict.name, rule, said) for verdict in verdicts for rule, said in _said(verdict)]
    lines = ["| where | transfer | rule | what |", "| --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(map(_escaped, row))} |" for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        lines += ["", f"and {len(rows) - MOST_ROWS:,} more"]
    return [*lines, ""]


def _said(verdict: Verdict) -> list[tuple[str, str]]:
    errors = [(f.rule or "input", f.message) for f in told(verdict) if f.severity is Severity.ERROR]
    return errors + [(one.rule, one.text) for one in remarks(verdict)]


def _at(verdict: Verdict) -> str:
    place = next((place_of(f, verdict) for f in told(verdict) if f.severity is Severity.ERROR), None)
    return str(place or place_of_verdict(verdict)).rsplit(":", 1)[0]


def _limited(lines: list[str], verdicts: Sequence[Verdict]) -> str:
    """The lines and as many diagnostics as fit; those that do not are counted."""
    parts = ["\n".join(lines)]
    size = len(parts[0].encode())
    for number, verdict in enumerate(verdicts):
        block = _details(verdict)
        size += len(block.encode())
        if size > MOST_BYTES:
            parts.append(f"The diagnostics of {len(verdicts) - number:,} more are in the log.\n")
            break
        parts.append(block)
    return "\n".join(parts).rstrip("\n") + "\n"


def _details(verdict: Verdict) -> str:
    at = str(place_of_verdict(verdict))
    blocks = [render_finding(finding, at=at) for finding in told(verdict)]
    if not blocks:
        return ""
    text = "\n\n".join(blocks)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    head = f"<details><summary>{_escaped(verdict.name)} ({_escaped(_at(verdict))})</summary>"
    return f"{head}\n\n{fence}text\n{text}\n{fence}\n\n</details>\n"


def _escaped(text: str) -> str:
    """Text that no renderer reads as markup."""
    short = text if len(text) <= MOST_CELL else f"{text[:MOST_CELL]} ..."
    one = " ".join(short.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]|~#@])", r"\\\1", one)
