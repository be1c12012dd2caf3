"""Builds of one file beside the one that is asked for: what features leave out of it, and what hangs on them.

Knows: the conditions over features that stand in texts, sites as two builds read them.
Does not know: how a file is read in a build (a function gives its sites).
Law: a call that the build leaves out is read as the nearest build has it. A call of the build says which features it
hangs on: each condition that stands in the files is turned round by itself, and what is read of the call is compared;
where that is not tried, the call hangs on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dmaverify.errors import Span
from dmaverify.machines.rngd.rust.cfg import other_build
from dmaverify.machines.rngd.rust.code import split_top
from dmaverify.machines.rngd.rust.moves import Site
from dmaverify.machines.rngd.rust.values import Unknown

MOST_BUILDS = 8  # of one file
_ASKED = re.compile(r"\bcfg(_attr)?\s*!?\s*\(")

Read = Callable[[frozenset[str]], Sequence[Site]]
"""The sites of a file in the build in which these features are the other way round."""


def left_out(sites: Sequence[Site], spans: Iterable[tuple[Span, str, str, str]]) -> None:
    """Says of calls that the build does not have why they are not judged in it: where that stands, the condition, what
    it leaves out, and its name.
    """
    for span, attribute, what, name in spans:
        condition = " ".join(attribute.split())
        why = f"`{condition}` leaves {what} out of this build (`--features` says what it has)"
        for site in sites:
            inside = span.source is site.span.source and span.start <= site.span.start < span.end
            if inside and not site.moves:
                site.function, site.unbuilt = site.function or name, condition
                site.refuse(Unknown(why, site.span))


def over_builds(sites: Sequence[Site], features: frozenset[str], texts: Iterable[str], read: Read) -> list[Site]:
    """The sites of a build: one that it leaves out as the nearest build has it, any other with the features that it
    hangs on. `texts` are the files that were read.
    """
    known: dict[frozenset[str], dict[Any, Site]] = {}

    def in_build(toggled: frozenset[str]) -> dict[Any, Site] | None:
        if toggled not in known and len(known) < MOST_BUILDS:
            known[toggled] = {_place(one): one for one in read(toggled)}
        return known.get(toggled)

    out = [_as_built(site, features, in_build) for site in sites]
    for toggled in dict.fromkeys(other_build(one, features) for text in texts for one in _conditions(text)):
        others = in_build(toggled) if toggled else {}
        for site in out if toggled else ():
            other = others.get(_place(site)) if others is not None else None
            if not site.build and (other is None or site.supposed is not None or _read_of(site) != _read_of(other)):
                site.hangs |= toggled
    for site in out:
        site.hangs_on = _told(site.hangs, features)
    return out


def _as_built(
    site: Site, features: frozenset[str], in_build: Callable[[frozenset[str]], dict[Any, Site] | None]
) -> Site:
    toggled = other_build(site.unbuilt, features) if site.unbuilt else frozenset()
    found = (in_build(toggled) or {}).get(_place(site)) if toggled else None
    if found is None or not found.moves or found.unbuilt:
        return site
    found.build, found.number = _told(toggled, frozenset(features ^ toggled)), site.number
    return found


def _told(names: Iterable[str], features: frozenset[str]) -> str:
    return " and ".join(f"with{'' if name in features else 'out'} the feature `{name}`" for name in sorted(names))


def _place(site: Site) -> tuple[str, int]:
    return site.span.source.name, site.span.start


def _read_of(site: Site) -> list[Any]:
    """All that is read of a call and of the functions that it concludes, as far as verdicts see it."""
    said = [(f.rule, f.severity, f.message) for f in site.remarks]
    needed = [(name, [str(one) for one in ledger.lifetimes(lambda _: 1)]) for name, ledger in site.ledgers]
    reasons = [one.reason for one in (*site.reasons, *site.open)]
    return [sorted(site.seen), said, reasons, needed, site.unbuilt, site.attributes, [len(site.alone)]]


def _conditions(text: str) -> list[str]:
    """The conditions of `#[cfg(..)]`, `#[cfg_attr(.., ..)]` and `cfg!(..)` over features, each as an attribute."""
    found = (split_top(text[at.end() :], ")")[0] if at[1] is None else split_top(text[at.end() :], ",")[0]
             for at in _ASKED.finditer(text) if "feature" in text)  # fmt: skip
    return list(dict.fromkeys(f"#[cfg({one})]" for one in found if "feature" in one))
