"""Layouts as text for people: what is now, each proposal with its moves and its diff, the front, what is left.

Knows: the order in which an answer is told. Does not know: how it was found, terminals.
Law: a proposal is told with everything that it leaves to others; the same answer gives the same text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dmaverify.errors import many

SHOWN = 3
"""Tensors that are named with one reason; the JSON names all."""


def layouts_text(data: Mapping[str, Any]) -> str:
    """The report of one file, from its JSON."""
    return "\n".join(_lines(data))


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    if "error" in data:
        yield f"{data['path']}   not searched: {data['error']}"
        return
    of = f"{many(data['moves'], 'move')} of {many(data['tensors'], 'tensor')}"
    yield f"{data['path']}   {of}, profile {data['profile']}"
    now = data["before"]
    yield f"  now       {_sum(now['cycles'], now['without_plan'])}{_dm(now['dm_bytes'])}"
    if not data["proposals"]:
        yield "  nothing cheaper was found among the layouts tried"
    for number, one in enumerate(data["proposals"], 1):
        yield from _proposal(number, one)
    if len(data["front"]) > 1:
        yield "front     DM bytes of a slice against cycles (unproved, to choose from)"
        for point in data["front"]:
            changes = "; ".join(f"{name}: {text}" for name, text in point["changes"].items()) or "as it is"
            yield f"  {point['dm_bytes']:>9,} B  {_sum(point['cycles'], point['without_plan'])}   {changes}"
    yield f"searched  {data['ended']}"
    for said in data["refused"]:
        yield f"dropped   {said}"
    reasons: dict[str, list[str]] = {}
    for one in data["withheld"]:
        reasons.setdefault(one["why"], []).append(one["tensor"])
    for why, names in reasons.items():
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        yield f"kept      {', '.join(names[:SHOWN])}{more}: {why}"
    yield "not covered   " + "; ".join([*data["not_covered"], *data["notes"]])


def _proposal(number: int, one: Mapping[str, Any]) -> Iterator[str]:
    after, missing = one["cycles"]["after"], one["without_plan"]["after"]
    ratio = f", its moves {one['ratio']:.2f} times cheaper" if one["ratio"] else ""
    yield f"proposal {number}   {_sum(after, missing)}{ratio} (read again, its moves proved)"
    for change in one["tensors"]:
        yield f"  {change['tensor']}   {change['what']}"
        yield f"    from    {change['before']}"
        yield f"    to      {change['after']}"
        if change["extra_bytes"]:
            more, word = abs(change["extra_bytes"]), "more" if change["extra_bytes"] > 0 else "fewer"
            yield f"    costs   {more:,} {word} bytes of memory"
        yield from (f"    besides {said}" for said in change["elsewhere"])
    wide = max(len(move["name"]) for move in one["moves"])
    for move in one["moves"]:
        before = "no plan" if move["before"] is None else f"{move['before']:,.1f}{_band(move['bands'][0])}"
        times = f"   {move['times']} times" if move["times"] > 1 else ""
        yield f"  {move['name']:{wide}}  {before} -> {move['after']:,.1f}{_band(move['bands'][1])} cycles{times}"
    if one["dm_bytes"]["before"] != one["dm_bytes"]["after"]:
        yield f"  data memory of a slice: {one['dm_bytes']['before']:,} -> {one['dm_bytes']['after']:,} B at once"
    yield from (f"  {line}" for line in one["diff"].splitlines())


def _sum(cycles: float, missing: int) -> str:
    more = f", {missing} moves without a plan" if missing else ""
    return f"{cycles:,.1f} cycles in all{more}"


def _dm(size: int) -> str:
    return f", {size:,} B of each slice at once" if size else ""


def _band(band: Mapping[str, Any] | None) -> str:
    if band is None:
        return ""
    if band["low"] is None:
        return f" (no band: {band['class']}, {band['rows']} rows)"
    return f" ({band['low']:,.0f} to {band['high']:,.0f})"
