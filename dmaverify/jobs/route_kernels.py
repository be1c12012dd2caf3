"""A route as two calls of a Rust kernel: the first hop written before the call that there is, tried on a copy.

Knows: which memories the language has types for, where a call and its arguments stand, how a crate is copied.
Does not know: how routes are searched, how a diff is shown.
Law: a diff is shown only after the changed copy was read and judged: both of its hops are there, proved, and together
cheaper than the direct plan, and no other verdict of the file is worse. The kernel itself is never written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.jobs.fix_kernels import judged_copy, mappings_of, worse
from dmaverify.machines.rngd.rust.plans import KernelPlan
from dmaverify.machines.rngd.rust.values import PLACES
from dmaverify.report.edits import unified
from dmaverify.synth.result import RouteDiff
from dmaverify.verdict import Status

if TYPE_CHECKING:
    from dmaverify.machines.rngd.rust.moves import Site
    from dmaverify.plan.plan import Plan
    from dmaverify.program.move import Transfer
    from dmaverify.synth.result import Synthesis, TwoHops

_ALL = re.compile(r"\s*\((?P<context>[^(),]*)(?P<address>,[^(),]*[^(),\s][^(),]*)?,?\s*\)(?P<then>\s*\.await\??)?")
_FIRST = re.compile(r"\s*\((?P<context>[^(),]*),(?P<address>)(?P<then>)")
_VIEWED, _PLAIN = re.compile(r"\.\s*view\(\)\s*\.\s*\Z"), re.compile(r"\.\s*\Z")
_FORMS = {
    "to_dm": (_PLAIN, _ALL), "to_hbm": (_PLAIN, _ALL), "to_dm_view": (_VIEWED, _FIRST), "to_hbm_view": (_VIEWED, _FIRST)
}  # fmt: skip
"""What stands before and behind the name of a method, where another call can be put between it and its tensor."""


def is_writable(hop: Transfer) -> bool:
    """Whether a transfer of the language makes the hop: between HBM and DM; within DM a tensor keeps its clusters and
    the number of its slices.
    """
    source, dest = hop.source, hop.dest
    kept = str(source.cluster) == str(dest.cluster) and source.slice.size == dest.slice.size
    return {source.tier, dest.tier} <= {"hbm", "dm"} and (kept or source.tier != dest.tier or dest.tier == "hbm")


def route_diff(plan: Plan, name: str, found: Synthesis | None) -> RouteDiff:
    """The diff of a route through a memory that the language has."""
    if found is None or found.route is None:
        return RouteDiff(why="no route is clearly cheaper through hbm or dm, which Rust has tensors of")
    assert isinstance(plan, KernelPlan)
    text, site = plan.source.text, next((one.site for one in plan.sites if name in one.names), None)
    made = changed(text, site, found.route) if site is not None else None
    if made is None or site is None or site.span.source.name != plan.source.name:
        return RouteDiff(why="its call is neither `TENSOR.to_hbm(CONTEXT)` nor `TENSOR.view().to_hbm_view(...)`")
    try:
        before = {v.name: v.status for v in judged_copy(plan.path, text, None, {})[1]}
        again, verdicts = judged_copy(plan.path, made, None, {})
    except InputError as error:
        return RouteDiff(why=f"the changed text cannot be read: {error.message}")
    after = {v.name: v.status for v in verdicts}
    hops = [_read(again.transfers, hop.transfer, after) for hop in found.route.hops]
    if None in hops:
        return RouteDiff(why="with the two calls in place of one, not both hops are proved")
    if worse({one: status for one, status in before.items() if one != name}, after):
        return RouteDiff(why="with the two calls in place of one, another transfer would be worse")
    return RouteDiff(found.route.middle.tier, found.cycles, unified(plan.path, text, made))


def changed(text: str, site: Site, route: TwoHops) -> str | None:
    """The text with the first hop before the call; None where the call says more than the context."""
    middle, source = route.middle, route.hops[0].transfer.source
    if site.method not in _FORMS:
        return None
    ahead, behind = _FORMS[site.method]
    dot, start = ahead.search(text, max(0, site.span.start - 80), site.span.start), site.span.end
    if (generics := re.compile(r"\s*::\s*<").match(text, start)) is not None:
        depth, start = 1, generics.end()
        while depth and start < len(text):
            depth += (text[start] == "<") - (text[start] == ">")
            start += 1
    call = behind.match(text, start)
    if dot is None or call is None:
        return None
    places = [p for p in PLACES[middle.tier] if p != "chip" and not (p == "cluster" and source.tier == middle.tier)]
    maps = [f"m![{middle.field(place)}]" for place in places]
    if middle.tier == source.tier == "hbm":
        maps.insert(0, "{ Dma::Tensor }")
    if any("'" in one for one in maps):
        return None
    address = f", {middle.base:#x}" if call["address"] else ""
    first = f".to_{middle.tier}::<{', '.join(maps)}>({call['context']}{address}){call['then'] or ''}"
    return text[: dot.start()] + first + text[dot.start() :]


def _read(moves: object, hop: Transfer, after: dict[str, Status]) -> str | None:
    """The name of the proved transfer that says what the hop says."""
    said = mappings_of(hop)
    names = [one.name for one in moves if mappings_of(one.transfer) == said]  # type: ignore[attr-defined]
    return next((one for one in names if after.get(one) is Status.PROVED), None)
