"""A run as one HTML page: what was checked, what is wrong and where, what was proved, what it costs.

Knows: HTML, the order in which a reader asks.
Does not know: files, how costs and commands were obtained (they come with each exhibit).
Law: one file that names no other file and no host; readable without script and on paper; the same exhibits give the
same bytes; all text of users is escaped. Only a proof is shown as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from dmaverify.program.command import Command
from dmaverify.report.data import LEVELS
from dmaverify.report.drawing import access_picture, asset, counterexample_picture
from dmaverify.report.lifetimes import LIFE_STYLE
from dmaverify.report.memory import Picture, memory_figure
from dmaverify.report.order import (
    bucket,
    counts,
    findings_in_order,
    place_of,
    place_of_verdict,
    remarks,
)
from dmaverify.report.several import claims, leaving
from dmaverify.report.snippet import visible
from dmaverify.report.text import render_finding
from dmaverify.values import dataclass
from dmaverify.verdict import Finding, Severity, Status, Verdict, exit_code

MOST_OPEN = 5  # that keep the run from passing are unfolded from the start
_ENDS = {
    0: "Everything is as expected",
    1: "Something is violated",
    2: "Something cannot be read, or there was nothing to check",
    3: "Some questions have no answer",
    4: "Internal error",
}


@dataclass(frozen=True)
class Exhibit:
    """A verdict with what is shown beside it: its source lines by number, its commands, its cost as data."""

    verdict: Verdict
    lines: tuple[tuple[int, str], ...] = ()
    commands: tuple[Command, ...] = ()
    price: Mapping[str, Any] | None = None
    picture: Picture | None = None
    figure: str = ""  # of a program: its lifetimes


def report_page(exhibits: Sequence[Exhibit], version: str, code: int | None = None, note: str = "") -> str:
    """The page. `code` is the exit code of the run, by default that of the verdicts; `note` stands below the head."""
    verdicts = [exhibit.verdict for exhibit in exhibits]
    end = exit_code(verdicts) if code is None else code
    title = f"dmaverify: {_ENDS[end]}"
    style = f"{asset('page.css')}{asset('memory.css')}{LIFE_STYLE}"
    wrong = [v for v in verdicts if bucket(v) in ("refuted", "unknown", "error")]
    unfolded = {id(verdict) for verdict in wrong[:MOST_OPEN]}
    cards = [_card(exhibit, number, id(exhibit.verdict) in unfolded) for number, exhibit in enumerate(exhibits, 1)]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{style}</style></head><body>",
            _header(verdicts, end, version, note),
            _bar(verdicts),
            '<main id="cards">',
            *(cards or ["<p>No transfer and no access was found.</p>"]),
            "</main>",
            f"<script>{asset('page.js')}{asset('memory.js')}</script></body></html>\n",
        ]
    )


# ---------------------------------------------------------------- head


def _header(verdicts: Sequence[Verdict], code: int, version: str, note: str) -> str:
    files = len({verdict.path for verdict in verdicts})
    targets = ", ".join(sorted({verdict.target for verdict in verdicts if verdict.target})) or "none"
    solvers = ", ".join(sorted({verdict.solver for verdict in verdicts if verdict.solver}))
    proved = claims(verdict for verdict in verdicts if verdict.status is Status.PROVED)
    facts = [
        f"{len(verdicts):,} checked in {files:,} {'file' if files == 1 else 'files'}",
        f"target {targets}",
        f"dmaverify {version}" + (f", {solvers}" if solvers else ""),
        leaving(verdicts, code),
    ]
    said = f"<p>Proved: {escape(proved)}.</p>" if proved else ""
    said += f"<p>{escape(note)}</p>" if note else ""
    mark = "good" if code == 0 else "bad"
    return (
        f'<header class="{mark}"><h1>{escape(_ENDS[code])}</h1>'
        f"<p>{' &middot; '.join(map(escape, facts))}</p>{said}</header>"
    )


def _bar(verdicts: Sequence[Verdict]) -> str:
    """The counts: as a bar, and as buttons that show one kind only."""
    number = {name: value for name, value in counts(verdicts).items() if value}
    parts = "".join(
        f'<span class="{name}" style="flex:{value}" title="{value} {name}"></span>' for name, value in number.items()
    )
    kinds = "".join(
        f'<button type="button" class="{name}" data-kind="{name}"><b>{value:,}</b> {name}</button>'
        for name, value in number.items()
    )
    return (
        f'<nav><div class="share" aria-hidden="true">{parts}</div><div class="kinds">{kinds}'
        '<input id="find" type="search" placeholder="find a transfer, file or rule" aria-label="find">'
        "</div></nav>"
    )


# ---------------------------------------------------------------- one verdict


def _card(exhibit: Exhibit, number: int, unfolded: bool) -> str:
    verdict = exhibit.verdict
    kind = bucket(verdict)
    rules = sorted({finding.rule for finding in verdict.errors if finding.rule})
    said = ", ".join(rules) if rules else verdict.claim
    at = visible(f"{verdict.path}:{verdict.line}" if verdict.line else verdict.path)
    words = escape(f"{verdict.name} {at} {verdict.target} {' '.join(rules)}".lower(), quote=True)
    head = (
        f'<summary><span class="badge {kind}">{kind}</span> <span class="name">{escape(verdict.name)}</span> '
        f'<span class="at">{escape(at)}</span> <span class="said">{escape(said)}</span></summary>'
    )
    parts = [*_findings(verdict), _memory(exhibit), _source(exhibit), _proof(verdict), _cost(exhibit.price)]
    parts.append(_order(exhibit))
    body = "".join(part for part in parts if part)
    opened = " open" if unfolded else ""
    return (
        f'<details class="card" id="t{number}" data-kind="{kind}" data-words="{words}"{opened}>{head}{body}</details>'
    )


def _findings(verdict: Verdict) -> Iterable[str]:
    at = str(place_of_verdict(verdict))
    for finding in findings_in_order(verdict):
        excuse = finding.excuse
        note = f'<p class="excuse">{escape(excuse.kind)}: {escape(excuse.reason)}</p>' if excuse else ""
        picture = counterexample_picture(finding.witness) if finding.witness else ""
        text = escape(render_finding(finding, at=at))
        yield f'<section class="finding {finding.severity.value}">{note}<pre>{text}</pre>{picture}</section>'
    for one in remarks(verdict):
        place = f"{place_of(one, verdict)}: " if one.span is not None else ""
        text = escape(f"{place}{one.word}[{one.rule}]: {one.said}")
        yield f'<section class="finding {LEVELS[one.severity]}"><pre>{text}</pre></section>'


def _memory(exhibit: Exhibit) -> str:
    figure = memory_figure(exhibit.picture) if exhibit.picture is not None else exhibit.figure
    return f"<section><h2>Memory</h2>{figure}</section>" if figure else ""


def _source(exhibit: Exhibit) -> str:
    if not exhibit.lines:
        return ""
    marked = {place_of(f, exhibit.verdict).line: f for f in exhibit.verdict.findings if f.excuse is None}
    rows = "".join(
        f'<tr{_mark(marked.get(number))}><td class="n">{number}</td><td><code>{escape(text)}</code></td></tr>'
        for number, text in exhibit.lines
    )
    return f'<section><h2>Source</h2><table class="source">{rows}</table></section>'


def _mark(finding: Finding | None) -> str:
    if finding is None:
        return ""
    kind = "error" if finding.severity is Severity.ERROR else "warning"
    return f' class="{kind}" title="{escape(finding.rule, quote=True)}"'


def _proof(verdict: Verdict) -> str:
    if not verdict.obligations:
        return ""
    rows = "".join(
        f'<tr><td><span class="dot {escape(o.status.replace(" ", "-"))}"></span>{escape(o.id)}</td>'
        f"<td>{escape(o.status)}</td><td>{escape(': '.join(part for part in (o.by, o.why) if part))}</td></tr>"
        for o in verdict.obligations
    )
    told = [*verdict.assumptions, *(f"reading {rule} = {name}" for rule, name in sorted(verdict.readings.items()))]
    listed = f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in told)}</ul>" if told else ""
    claim = f"<p>The claim: {escape(verdict.claim)}.</p>" if verdict.claim else ""
    head = "<tr><th>obligation</th><th>answer</th><th>by</th></tr>"
    return f'<section><h2>Proof</h2>{claim}<table class="proof">{head}{rows}</table>{listed}</section>'


def _cost(price: Mapping[str, Any] | None) -> str:
    if not price or not price["terms"]:
        return ""
    most = max(float(term["cycles"]) for term in price["terms"]) or 1.0
    rows = "".join(
        f"<tr{' class=binding' if term['name'] == price['binding'] else ''}><td>{escape(str(term['name']))}</td>"
        f'<td class="n">{float(term["cycles"]):,.1f}</td>'
        f'<td class="bar"><span style="width:{max(0.5, 100 * float(term["cycles"]) / most):.1f}%"></span></td>'
        f'<td title="{escape(str(term["source"]), quote=True)}">{escape(str(term["resource"]))}. '
        f"{escape(str(term['why']))}</td></tr>"
        for term in price["terms"]
    )
    kind = "exact" if price["exact"] else "a lower bound of the simulator's"
    said = f"{float(price['cycles']):,.1f} cycles ({kind}, profile {price['profile']}), bound by {price['binding']}"
    return f'<section><h2>Cost</h2><p>{escape(said)}.</p><table class="cost">{rows}</table></section>'


def _order(exhibit: Exhibit) -> str:
    picture = access_picture(exhibit.commands)
    return f"<section><h2>Order of accesses</h2>{picture}</section>" if picture else ""
