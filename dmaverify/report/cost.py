"""What a cost came from, as text and as HTML: the list that kernel writers compute by hand, per side, and the formula.

Knows: explanations and formulas of `cost`. Does not know: plans, the terminal, the rest of a page.
Law: every number printed is one that the explanation holds; what was not counted is not printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from dmaverify.cost.constants import CostData
from dmaverify.cost.explain import Explanation
from dmaverify.cost.lifting import near
from dmaverify.cost.side_facts import SideFacts
from dmaverify.program.command import Command


def explanation_lines(found: Explanation) -> list[str]:
    """What binds, the facts of both sides, and for each bound near the dearest one its cause and what would lift it.
    Bounds whose cause is not known are left out.
    """
    lines = [f"  binds     {found.because}"]
    for side in found.sides:
        lines += ["", f"  {side.role} side, {side.tier}", *(f"    {word:<18}{said}" for word, said in _facts(side))]
    told = [one for one in near(found.bounds) if one.behind]
    for one in told:
        lines += ["", f"  bound     {one.name}, {one.cycles:,.1f} cycles", f"    behind  {one.behind}"]
        lines += [f"    lift    {one.lift}"] if one.lift else []
    rest = [text for text in found.advice if text not in {one.lift for one in told}]
    return [*lines, "", *(f"  advice    {text}" for text in rest)] if rest else lines


def _facts(side: SideFacts) -> list[tuple[str, str]]:
    offsets = ", ".join(str(offset) for offset in side.offsets[:8]) + (" ..." if len(side.offsets) > 8 else "")
    facts = [
        ("packets", f"{side.packets:,} of {side.packet_bytes} B"),
        ("run", f"{side.run_bytes:,} B contiguous"),
        ("offsets mod 256", offsets),
        ("windows", f"{side.windows:,} aligned 256-byte windows touched, {_each(side)}"),
    ]
    if side.partial_windows and side.role == "write" and side.tier == "hbm":
        facts.append(("partial windows", f"{side.partial_windows:,}"))
    if side.crossing_packets:
        facts.append(("crossing packets", f"{side.crossing_packets:,}"))
    if side.readers > 1:
        facts.append(("readers", f"each byte is asked for at least {side.readers} times"))
    if side.channels:
        facts.append(("channels", f"{side.channels} in use, {side.stacks} of 2 stacks"))
    elif side.channels is None:
        facts.append(("channels", "not counted: the exact count of these loops is too long"))
    if side.row_switches:
        said = f"at least {side.row_switches:,} that no queue avoids, {side.row_changes:,} in order of arrival"
        facts.append(("row switches", said))
    if side.dmns:
        facts.append(("DMNs, slices", f"{side.dmns} and {side.slices} in use"))
    inner, all_bits = (_bits(bits) for bits in (side.toggled_inner, side.toggled))
    facts += [("bits, inner", f"{inner} changed by the innermost loops"), ("bits, all", f"{all_bits} changed by any")]
    if side.never:
        told = ", ".join(f"{bit} ({name})" for bit, name in side.never)
        facts.append(("bits, never", f"{told}: no loop and no engine changes them"))
    return facts


def _each(side: SideFacts) -> str:
    """Windows of a run; and of a packet, where a run holds several."""
    of_run = f"{side.windows_per_run:.2f} a run"
    return of_run if side.run_bytes == side.packet_bytes else f"{side.windows / side.packets:.2f} a packet, {of_run}"


def _bits(bits: Sequence[int]) -> str:
    """`8-11, 13` of (8, 9, 10, 11, 13)."""
    out: list[list[int]] = []
    for bit in sorted(bits):
        if out and bit == out[-1][1] + 1:
            out[-1][1] = bit
        else:
            out.append([bit, bit])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in out) or "none"


NEARLY_EVEN = 0.1
"""Below it the two ends of a band differ by less than a hundredth of the figure, and one number tells both."""


def band_lines(cycles: float, data: Mapping[str, Any]) -> list[str]:
    """How far the figure may be off, for which class of transfers, on how many rows, and what it stands for; nothing
    where no band is known.
    """
    band = data.get("band")
    if not band or not cycles:
        return []
    low, high = band["low"] / cycles - 1, band["high"] / cycles - 1
    width = f"+- {high:.0%}" if high < NEARLY_EVEN else f"{low:.0%} to +{high:.0%}"
    rows = _rows_of(band["rows"])
    ends = f"({band['low']:,.0f} to {band['high']:,.0f})"
    return [
        f"  predicts {data['predicts']}",
        f"  {cycles:,.0f} {width.replace('%', ' %')} {ends}, {band['class']}, {rows} predicted from others",
    ]


def unsupported(name: str, data: Mapping[str, Any]) -> str:
    """What is said in place of a number that no data supports."""
    band = data["band"]
    few = f"{_rows_of(band['rows'])} of published data, too few or too far apart" if band["rows"] else "no data"
    said = f"{name}   not modelled by profile {data['profile']}: {band['class']}, {few}"
    return f"{said}\n  --profile book prices it by the documents"


def _rows_of(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def formula_lines(commands: Sequence[Command], data: CostData) -> list[str]:
    """The closed form of the first command in the symbols of its loops, each term with its value: what it would be if
    the addresses used every channel and both DMNs alike.
    """
    from dmaverify.cost.formula import formula

    terms = formula(commands[0], data)
    heading = "  the first command by itself" if len(commands) > 1 else "  the command"
    heading += ", if its addresses used all channels and both DMNs alike"
    return [heading, *(f"    {term.name:<24} {term.text} = {term.cycles:,.1f}" for term in terms)]


# ---------------------------------------------------------------- parts of a page


def sections(seen: Explanation) -> list[str]:
    """Cycles, terms, facts of both sides and advice, as parts of a page: all text is escaped."""
    cost = seen.cost
    kind = "exact" if cost.exact else "a lower bound"
    found = [
        f"<p><b>{cost.cycles:,.0f} cycles</b> (profile {escape(cost.profile)}, {kind}). {escape(seen.because)}</p>"
    ]
    rows = [(term.name, f"{term.cycles:,.1f}", term.resource, term.why, term.source) for term in cost.terms]
    found.append(_html_table(("term", "cycles", "resource", "why", "source"), rows, numbers={1}))
    found.append(_html_table(("", *(side.role for side in seen.sides)), _all_facts(seen.sides), numbers=set()))
    if seen.advice:
        found.append("<ul>" + "".join(f"<li>{escape(line)}</li>" for line in seen.advice) + "</ul>")
    return found


def _all_facts(sides: Sequence[SideFacts]) -> list[tuple[str, ...]]:
    names = [name for name in SideFacts.__dataclass_fields__ if name != "role"]
    return [(name.replace("_", " "), *(_said(getattr(side, name)) for side in sides)) for name in names]


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(one) for one in value) or "none"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else "not known" if value is None else str(value)


def _html_table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: set[int]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(
        "<tr>"
        + "".join(f"<td{' class=n' if i in numbers else ''}>{escape(text)}</td>" for i, text in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
