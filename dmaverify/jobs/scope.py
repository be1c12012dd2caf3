"""Verdicts with some rules selected or ignored, or with what settings expect, and what is then still claimed.

Knows: patterns of rule ids, which obligations a selection covers, which rules of a machine are off.
Does not know: where patterns come from.
Law: a proof with rules left out says so in its `scope`, and never reads as a proof of the whole; what was selected
and not judged is UNKNOWN: a rule that is off under the readings in force, or ignored as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.plan.settings import matching
from dmaverify.values import replace
from dmaverify.verdict import LEFT_OUT, Finding, Obligation, Severity, Status, Verdict

if TYPE_CHECKING:
    from dmaverify.plan.settings import Settings
    from dmaverify.targets.target import Target


def matches(rule: str, pattern: str) -> bool:
    """Whether `pattern`, an id or a prefix (with `*` or without), means `rule`."""
    return rule == pattern or rule.startswith(pattern.rstrip("*"))


def only(
    verdicts: Sequence[Verdict], select: Sequence[str], ignore: Sequence[str], machines: Sequence[Target] = ()
) -> list[Verdict]:
    """Verdicts of the selected rules only, less the ignored ones. Input that could not be read stays as it is.
    `machines` are those that do not ship.
    """
    if not select and not ignore:
        return list(verdicts)
    return [_narrowed(v, select, ignore, machines) if v.status is not Status.ERROR else v for v in verdicts]


def with_expected(verdicts: Sequence[Verdict], settings: Settings) -> list[Verdict]:
    """Verdicts with what settings expect of files that do not say themselves."""
    found = list(verdicts)
    for pattern, rules in settings.per_path_expect.items():
        found = [
            replace(verdict, expect=rules)
            if verdict.expect is None and matching(verdict.path, (pattern,), settings.folder)
            else verdict
            for verdict in found
        ]
    return found


def _narrowed(verdict: Verdict, select: Sequence[str], ignore: Sequence[str], machines: Sequence[Target]) -> Verdict:
    left = partial(_any, ignore)

    def chosen(rule: str) -> bool:
        return (not select or _any(select, rule)) and not left(rule)

    kept = tuple(f for f in verdict.findings if chosen(f.rule))
    dropped = sorted({f.rule for f in verdict.findings if f not in kept})
    open_ones = {o.id for o in verdict.obligations if not chosen(o.id) and o.status != "proved"}
    if not select and not dropped and not open_ones:
        return verdict  # what is ignored holds: the claim is about the whole
    lost = [rule for rule in (*dropped, *open_ones) if select and _any(select, rule)]  # selected, and ignored
    but = [pattern for pattern in ignore if not select or any(matches(rule, pattern) for rule in lost)]
    scope = ", ".join(
        [*([f"of {', '.join(select)} only"] if select else []), *([f"but for {', '.join(but)}"] if but else [])]
    )
    unasked = _unasked(verdict, select, ignore, machines) if select else []
    status = _status(verdict, kept, select, ignore, unasked)
    expect = None if verdict.expect is None else tuple(rule for rule in verdict.expect if chosen(rule))
    wrong = sorted({*dropped, *(o.id for o in verdict.obligations if o.id in open_ones and o.status != "not judged")})
    said = (f"{LEFT_OUT}{', '.join(wrong)}",) if wrong else ()
    return replace(
        verdict, findings=kept, status=status, expect=expect, scope=scope if status is Status.PROVED else "",
        assumptions=(*verdict.assumptions, *said), obligations=(*verdict.obligations, *unasked),
    )  # fmt: skip


def _any(patterns: Sequence[str], rule: str) -> bool:
    return any(matches(rule, pattern) for pattern in patterns)


def _status(
    verdict: Verdict, kept: Sequence[Finding], select: Sequence[str], ignore: Sequence[str],
    unasked: Sequence[Obligation],
) -> Status:  # fmt: skip
    """What the rest of the findings and obligations says."""
    if any(finding.severity is Severity.ERROR for finding in kept):
        return verdict.status
    whole = [o for o in verdict.obligations if not _any(ignore, o.id)]
    if not select:
        open_words = {"unknown"} if verdict.status is Status.PROVED else {"unknown", "not judged"}
        if any(o.status in open_words for o in whole) or not any(o.status == "proved" for o in whole):
            return Status.UNKNOWN
        return Status.PROVED
    decided = not unasked and all(_decided(whole, pattern) for pattern in select)
    return Status.PROVED if decided else Status.UNKNOWN


def _decided(obligations: Sequence[Obligation], pattern: str) -> bool:
    """Whether what `pattern` means was judged, all of it. `rngd/*` stands for every rule of the machine."""
    own = [o for o in obligations if matches(o.id, pattern)]
    folded = [o for o in obligations if o.id.endswith("/*") and matches(pattern, o.id)]
    if any(o.status in ("unknown", "not judged") for o in own):
        return False
    return any(o.status != "unknown" for o in (*own, *folded))


def _unasked(
    verdict: Verdict, select: Sequence[str], ignore: Sequence[str], machines: Sequence[Target]
) -> list[Obligation]:
    """An open obligation for each pattern of which nothing was judged, with the reason."""
    off, out = _off(verdict, machines), dict[str, str]()
    for pattern in select:
        own = [rule for rule in off if matches(rule, pattern)]
        if _any(ignore, pattern):
            out[pattern] = "it is ignored as well"
        elif not any(matches(o.id, pattern) or matches(pattern, o.id) for o in verdict.obligations):
            out[pattern] = "nothing of it was judged here"
        elif own and all(off[rule] for rule in own):
            out[pattern] = f"{', '.join(own)} {'is' if len(own) == 1 else 'are'} off under the readings in force"
    return [Obligation(pattern, "unknown", "", why) for pattern, why in out.items()]


def _off(verdict: Verdict, machines: Sequence[Target]) -> dict[str, bool]:
    """The rules of the machine of a verdict, each with whether it is off under its readings."""
    from dmaverify.targets.target import load_target

    target = next((one for one in machines if one.name == verdict.target), None)
    if target is None and verdict.target:
        with suppress(InputError):
            target = load_target(verdict.target)
    rules = target.rules.values() if target is not None else ()
    return {rule.id: rule.severity_under(verdict.readings) is None for rule in rules}
