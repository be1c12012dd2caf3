"""Conditions on arguments, as they are told: in words of the text, and only where they stand for more than one value.

Knows: facts about symbols, powers of two. Does not know: how they are found.
Law: a condition says what the facts say, and none that leaves an argument one value stands for others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dmaverify.prove.sizes.facts import SizeFact, SizeRegion, SizeSymbol


def fixes(facts: Sequence[SizeFact], symbols: Mapping[str, SizeSymbol]) -> bool:
    """Whether facts leave an argument one value alone: then they stand for no others."""
    ends = {name: [one.least, one.most if one.most is not None else one.least] for name, one in symbols.items()}
    for fact in facts:
        if fact.op not in ("ge", "eq", "ne") or len(fact.poly.symbols) != 1 or set(map(len, fact.poly.terms)) - {0, 1}:
            continue
        (name,) = fact.poly.symbols
        for poly in (fact.poly, -fact.poly) if fact.op == "eq" else (fact.poly,):
            factor, rest = poly.terms[name,], poly.terms.get((), 0)
            if name in ends and fact.op == "ne":
                ends[name][0] += rest == -factor * ends[name][0]
            elif name in ends and factor > 0:
                ends[name][0] = max(ends[name][0], -(rest // factor))
            elif name in ends:
                ends[name][1] = min(ends[name][1], rest // -factor)
    many = [name for name, one in symbols.items() if one.most is None or one.most > one.least + 1]  # no truth value
    return any(ends[name][0] >= ends[name][1] for name in many)


def shown_text(text: str) -> str:
    """A condition with remainders, and large powers of two, as such."""

    def power(match: re.Match[str]) -> str:
        value = int(match[0])
        factor = match.string[match.end() :].lstrip().startswith("*") or match.string[: match.start()].endswith("* ")
        for rest, said in ((0, ""), *(() if factor else ((1, " - 1"),))):
            if value >= 1 << 16 and (value + rest) & (value + rest - 1) == 0:
                return f"2^{(value + rest).bit_length() - 1}{said}"
        return match[0]

    text = re.sub(r"^(.+) == (\d+) \* \(\(\1\) // \2\)(?: \+ (\d+))?$", _remainder, text)
    called = re.sub(r"\b\d{5,}\b", power, text).split("()")
    return "()".join(part.translate(str.maketrans("()", "[]")) for part in called)


def _remainder(match: re.Match[str]) -> str:
    what = f"({match[1]})" if " " in match[1] else match[1]
    return f"{what} % {match[2]} == {match[3] or 0}"


def named_in(facts: Sequence[SizeFact], region: SizeRegion) -> set[str]:
    """The symbols that facts, and quotients of their region, speak of."""
    floors = {name for one in region.floors for name in one.top.symbols | one.bottom.symbols}
    return ({name for fact in facts for name in fact.poly.symbols} | floors) - {one.name for one in region.floors}
