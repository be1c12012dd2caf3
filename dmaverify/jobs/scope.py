"""Verdicts with some rules selected or ignored, and what is then still claimed.

Knows: patterns of rule ids, which obligations a selection covers.
Does not know: which rules exist, where patterns come from.
Law: a proof with rules left out says so in its `scope`, and never reads as a proof of the whole; what was selected
and not judged is UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.values import replace
from dmaverify.verdict import LEFT_OUT, Finding, Obligation, Severity, Status, Verdict


def matches(rule: str, pattern: str) -> bool:
    """Whether `pattern`, an id or a prefix (with `*` or without), means `rule`."""
    return rule == pattern or rule.startswith(pattern.rstrip("*"))


def only(verdicts: Sequence[Verdict], select: Sequence[str], ignore: Sequence[str]) -> list[Verdict]:
    """Verdicts of the selected rules only, less the ignored ones. Input that could not be read stays as it is."""
    if not select and not ignore:
        return list(verdicts)
    return [_narrowed(v, select, ignore) if v.status is not Status.ERROR else v for v in verdicts]


def _narrowed(verdict: Verdict, select: Sequence[str], ignore: Sequence[str]) -> Verdict:
    def chosen(rule: str) -> bool:
        wanted = not select or any(matches(rule, s) for s in select)
        return wanted and not any(matches(rule, s) for s in ignore)

    kept = tuple(f for f in verdict.findings if chosen(f.rule))
    dropped = sorted({f.rule for f in verdict.findings if f not in kept})
    open_ones = {o.id for o in verdict.obligations if not chosen(o.id) and o.status != "proved"}
    if not select and not dropped and not open_ones:
        return verdict  # what is ignored holds: the claim is about the whole
    scope = f"of {', '.join(select)} only" if select else f"but for {', '.join(ignore)}"
    status = _status(verdict, kept, select, ignore)
    expect = None if verdict.expect is None else tuple(rule for rule in verdict.expect if chosen(rule))
    wrong = sorted({*dropped, *(o.id for o in verdict.obligations if o.id in open_ones and o.status != "not judged")})
    said = (f"{LEFT_OUT}{', '.join(wrong)}",) if wrong else ()
    return replace(
        verdict, findings=kept, status=status, expect=expect, scope=scope if status is Status.PROVED else "",
        assumptions=(*verdict.assumptions, *said), obligations=_with_unasked(verdict, select),
    )  # fmt: skip


def _status(verdict: Verdict, kept: Sequence[Finding], select: Sequence[str], ignore: Sequence[str]) -> Status:
    """What the rest of the findings and obligations says."""
    if any(finding.severity is Severity.ERROR for finding in kept):
        return verdict.status
    whole = [o for o in verdict.obligations if not any(matches(o.id, s) for s in ignore)]
    if not select:
        open_words = {"unknown"} if verdict.status is Status.PROVED else {"unknown", "not judged"}
        if any(o.status in open_words for o in whole) or not any(o.status == "proved" for o in whole):
            return Status.UNKNOWN
        return Status.PROVED
    return Status.PROVED if all(_decided(verdict, pattern) for pattern in select) else Status.UNKNOWN


def _decided(verdict: Verdict, pattern: str) -> bool:
    """Whether what `pattern` means was judged, all of it. `rngd/*` stands for every rule of the machine."""
    own = [o for o in verdict.obligations if matches(o.id, pattern)]
    folded = [o for o in verdict.obligations if o.id.endswith("/*") and matches(pattern, o.id)]
    if any(o.status in ("unknown", "not judged") for o in own):
        return False
    return any(o.status != "unknown" for o in (*own, *folded))


def _with_unasked(verdict: Verdict, select: Sequence[str]) -> tuple[Obligation, ...]:
    unasked = [s for s in select if not any(matches(o.id, s) or matches(s, o.id) for o in verdict.obligations)]
    return (*verdict.obligations, *(Obligation(s, "unknown", "", "nothing of it was judged here") for s in unasked))
