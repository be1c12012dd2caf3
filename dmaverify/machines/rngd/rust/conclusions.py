"""What the effects of functions come to, and at which call it is told.

Knows: what a ledger says of the buffers of a function, the calls that were met, the files of both.
Does not know: how buffers are judged, what is said of single moves.
Law: what is wrong with a function is told in its own file, whatever file holds the calls that show it: a file is
judged with all that its functions do, and without knowing who else calls them. A kernel is judged where a run of it
ends; where nobody knows of one, that there is one is a condition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.accesses import Unjudged
from dmaverify.machines.rngd.rust.code import first_error
from dmaverify.machines.rngd.rust.endings import CHECKED
from dmaverify.machines.rngd.rust.module import Item
from dmaverify.machines.rngd.rust.moves import Site
from dmaverify.machines.rngd.rust.sites import Sites, is_kernel
from dmaverify.machines.rngd.rust.values import Unknown
from dmaverify.program.ways import OnWay
from dmaverify.prove.flow.accesses.ways import Passed, Ways, WaysUndecided
from dmaverify.values import replace
from dmaverify.verdict import Finding, Label, Severity

if TYPE_CHECKING:
    from dmaverify.errors import Span

NO_RUST = "cannot be read as Rust"


_ATTRIBUTE = re.compile(r"#\[\s*(?:unsafe\s*\(\s*)?((?:\w+\s*::\s*)*(\w+))")
_OF_RUSTC = frozenset((
    "allow", "cfg", "cfg_attr", "cold", "deny", "deprecated", "derive", "device", "doc", "expect", "export_name",
    "forbid", "ignore", "inline", "link_section", "main", "must_use", "no_mangle", "primitive", "should_panic", "skip",
    "target_feature", "test", "track_caller", "warn",
))  # fmt: skip
"""Attributes of the compiler, of its tools and of the vendor's library: none of them changes what a function does."""
_TOOLS = ("clippy", "diagnostic", "furiosa_opt_std", "miri", "rustfmt", "tokio")
"""Where a path to one of them begins."""


def _foreign_attribute(text: str) -> str:
    """The attribute where it may be a macro of another crate, which makes another function of the one below it."""
    found = _ATTRIBUTE.match(text)
    if found is None:
        return ""
    crate = "".join(found[1].split()).partition("::")[0]
    known = found[2] in _OF_RUSTC and crate in (found[2], *_TOOLS)
    return "" if known else f"`#[{found[1]}]`"


def conclude(reader: Sites, item: Item) -> None:
    """Says what the effects of a function that was read come to; nothing of one that is not Rust throughout."""
    if item.node.has_error:
        return
    ledger, stops = reader.ledger, reader.walk.stops
    listed = [effect.site for effect in ledger.effects if effect.site.number >= 0]
    inner = None if is_kernel(item) else list(ledger.remarks(inner=True))
    for told, finding in ledger.remarks():
        given = inner is not None and (told, finding) not in inner
        site = _told_at(reader, item, told, finding.span, listed)
        if site is None:
            continue
        said = _told_from(finding, site) if isinstance(finding, Finding) else finding
        warns = isinstance(finding, Finding) and finding.severity is Severity.WARNING
        if given or (warns and not is_kernel(item)):
            site.alone.append((item, said))  # what counts is what callers make of it, where there are any
        elif isinstance(said, Unjudged):
            site.leave_open(said)
        else:
            site.remark(said)
    doubt = _never_ends(item, stops) if stops and not reader.stack and is_kernel(item) else None
    told_at = _told_at(reader, item, None, None, listed) if doubt is not None else None
    if told_at is not None and doubt is not None:
        told_at.leave_open(doubt)
    held = _told_at(reader, item, None, None, listed) if listed else None
    if held is not None:
        for called in reader.walk.unread:
            why = f"what {called} does is not known here"
            held.leave_open(Unjudged("core/definite", why, False, f"{called} leaves neither a loop nor a function"))
        for named in filter(None, map(_foreign_attribute, item.attributes)):
            why = f"what {named} makes of `{item.name}` is not known here"
            held.leave_open(Unjudged("core/definite", why, False, f"{named} leaves `{item.name}` as it is written"))
        held.ledgers += [(item.name, ledger)] if len(ledger.born) > 1 else []


def _never_ends(item: Item, stops: Sequence[OnWay]) -> Unjudged | None:
    """That no run of a kernel ends as it should, or that nobody knows of one; None where one surely does."""
    ways, granted = Ways(), {choice.decision for choice in CHECKED.path}
    try:
        passed = ways.past(CHECKED, stops, granted)
        of = (
            ""
            if passed is None and ways.past(OnWay(), stops) is None
            else " in a build with debug assertions and overflow checks"
        )
    except WaysUndecided:
        passed, of = Passed("", certain=False), ""
    if passed is None:
        why = f"every run of `{item.name}` stops{of}: nothing is judged of a kernel that never ends as it should"
        return Unjudged("core/definite", why, True)
    if passed.certain:
        return None
    settings = " and ".join(choice.names[choice.arm] for choice in CHECKED.path)
    told = passed.told.removeprefix(settings).removeprefix(" and ")
    why = f"that a run of `{item.name}` ends is not decided{f': one does where {told}' if told else ''}"
    return Unjudged("core/definite", why, False, f"a run of `{item.name}` ends{f': {told}' if told else ''}")


def _told_at(reader: Sites, item: Item, told: Site | None, span: Span | None, listed: Sequence[Site]) -> Site | None:
    """The site in the file of a function: the call that shows something of it, else its last one, else a site of its
    own, where it makes the tensor or at its name. None of a function that is no kernel and moves nothing.
    """
    own = item.code.span(item.node)
    if told is not None and told.number >= 0 and told.span.source is own.source:
        return told
    here = [one for one in listed if one.span.source is own.source]
    if here:  # what the Tensor Unit commits has no verdict of its own
        return here[-1]
    lacks = any(one.source is own.source and own.start <= one.start < own.end for one, _ in reader.unbuilt)
    if not (listed or lacks or is_kernel(item)):
        return None
    if span is None or span.source is not own.source:
        span = item.code.span(item.node.child_by_field_name("name") or item.node)
    key = (span.source.name, span.start)
    if key not in reader.by_place:
        reader.enter(key, Site(len(reader.sites), "new", span, item.name, attributes=reader.attributes_of(item)))
    return reader.by_place[key]


def _told_from(finding: Finding, site: Site) -> Finding:
    """A finding as seen from a site: what stands in another file is a label."""
    there = finding.span
    if there is None or there.source is site.span.source:
        return finding
    return replace(finding, span=site.span, labels=(*finding.labels, Label(there, "there")))


def owners(sites: Sequence[Site], reader: Sites) -> None:
    """Names the function of sites that were never reached."""
    items = [item for item in reader.later.values() if item.code.at is None]
    for site in sites:
        if site.function:
            continue
        around = [
            (span.length, item)
            for item in items
            for span in (item.code.span(item.node),)
            if span.source is site.span.source and span.start <= site.span.start < span.end
        ]
        if around:
            item = min(around, key=lambda pair: pair[0])[1]
            site.function, site.attributes = item.name, reader.attributes_of(item)


def told_alone(sites: Sequence[Site], reader: Sites) -> None:
    """What helpers do by themselves is said where nobody calls them."""
    for site in sites:
        for item, finding in site.alone:
            if item in reader.entered and item not in reader.relied:
                continue
            if isinstance(finding, Unjudged):
                site.leave_open(finding)
            else:
                site.remark(finding)


def unread(code: Code, count: int, sites: Sequence[Site]) -> Iterator[Site]:
    """That a file is not Rust throughout, where no call in it says so: what else it does is not known."""
    broken = first_error(code.source)
    if broken is not None and not any(NO_RUST in why.reason for site in sites for why in site.reasons):
        told = Site(count, "new", broken, let="unread")
        told.refuse(Unknown(f"a part of this file {NO_RUST}", broken, "a bracket or a sign is missing here or above"))
        yield told
