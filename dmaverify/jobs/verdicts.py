"""The verdicts of a plan that was read: each entry judged, each help that says "(checked" tried on the text.

Knows: proposals as edits of the text, how a plan is read and judged again.
Does not know: which function judges which entry (`entries`), where proposals come from, how verdicts are shown.
Law: what is judged is told whatever becomes of a help. A help is called checked only where the changed text, read
again, proves what the verdict is about, and makes no other verdict worse where the edit reaches others. Numbers are
those of the text, in its unit. What mends the finding but not the rest says so; what does not even do that is not said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dmaverify.errors import Disagreement, InputError, Span
from dmaverify.jobs.entries import Asked, entry_verdicts
from dmaverify.prove.options import Options
from dmaverify.report.edits import Overlap, applied, trials_of
from dmaverify.values import replace
from dmaverify.verdict import Edit, Finding, Status, Verdict

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan

MOST_CONFIRMED = 50  # trials of one plan; helps beyond them are not called checked
CHECKED = re.compile(r" \(checked[^)]*\)")
_SIZE = re.compile(r"(?P<axis>\w+'*) is (?P<have>\d+); with (?P=axis) = (?P<want>\d+) the printed commands are proved")
_BARE = re.compile(r"-?\d+, must be -?\d+")
_NUMBER = re.compile(r" to (-?\d+) instead of -?\d+")


def verdicts_of(plan: Plan, options: Options | None = None, keep: Asked | None = None) -> list[Verdict]:
    """Judges everything in `plan`; `keep` receives the solver's questions.

    Raises InputError for a reading that a machine has not.
    """
    chosen = options or Options()
    found = entry_verdicts(plan, chosen, keep)
    if not chosen.repair or plan.is_kernel or plan.templates:
        return found
    formed = {one.name for one in plan.transfers if one.transfer.form is not None}
    trying = Confirming(plan, chosen, found)
    return [verdict if verdict.name in formed else trying.verdict(verdict) for verdict in found]


class Confirming:
    """Tries the helps of one plan, each set of edits once."""

    def __init__(self, plan: Plan, options: Options, verdicts: Sequence[Verdict]) -> None:
        self.plan, self.options = plan, options
        self.before = {verdict.name: verdict for verdict in verdicts}
        self.known: dict[tuple[object, ...], tuple[tuple[Edit, ...], frozenset[str]] | None] = {}
        self.left = MOST_CONFIRMED

    def verdict(self, verdict: Verdict) -> Verdict:
        if not any(CHECKED.search(finding.hint) for finding in verdict.findings):
            return verdict
        return replace(verdict, findings=tuple(self._finding(f, verdict) for f in verdict.findings))

    def _finding(self, finding: Finding, verdict: Verdict) -> Finding:
        if not CHECKED.search(finding.hint):
            return finding
        size = _SIZE.match(finding.hint)
        edits = self._size_edit(size) if size else finding.edits
        found = self._tried(tuple(edits), verdict.name, whole=size is not None) if edits else None
        if found is None:
            return finding.bare
        trial, left = found
        hint = self._in_text(finding.hint, edits, trial) if not size else finding.hint
        named = {edit.span: f"{edit.span.text}, must be {edit.text}" for edit in trial}
        labels = (replace(one, text=named.get(one.span, one.text)) if _BARE.fullmatch(one.text) else one
                  for one in finding.labels)  # fmt: skip
        finding = replace(finding, labels=tuple(labels))
        first, *others = hint.split("; or ", 1)
        more = "".join(f"; or {CHECKED.sub('', other)}" for other in others)
        if not left:
            return replace(finding, hint=first + more)
        if finding.rule in left or size:
            return finding.bare
        return replace(finding, hint=f"{CHECKED.sub('', first)}: that mends this finding, not the others{more}")

    @staticmethod
    def _in_text(hint: str, edits: Sequence[Edit], trial: Sequence[Edit]) -> str:
        """The proposals with the numbers that stand in the text, and those to be written there."""
        known: dict[str, list[str]] = {}
        for old, new in zip(edits, trial, strict=True):
            said = f" to {new.text} instead of {new.span.text}"
            if said not in known.setdefault(old.text, []):
                known[old.text].append(said)

        def told(seen: re.Match[str]) -> str:
            found = known.get(seen[1], [seen[0]])
            return found.pop(0) if len(found) > 1 else found[0]

        return _NUMBER.sub(told, hint)

    def _size_edit(self, size: re.Match[str]) -> tuple[Edit, ...]:
        source = self.plan.source
        table = re.search(r"(?ms)^\[axes\]\s*$(.*?)(?=^\[|\Z)", source.text)
        line = table and re.search(rf'(?m)^\s*"?{re.escape(size["axis"])}"?\s*=\s*(\d[\d_]*)', table[1])
        if not table or not line:
            return ()
        start = table.start(1) + line.start(1)
        return (Edit(Span(source, start, start + len(line[1])), size["want"]),)

    def _tried(
        self, edits: tuple[Edit, ...], name: str, *, whole: bool
    ) -> tuple[tuple[Edit, ...], frozenset[str]] | None:
        """The edits in the unit of the text, and the errors that are left with them (none: proved); None where no
        changed text can be judged.
        """
        key = (name, whole, *((e.span.start, e.span.end, e.text) for e in edits))
        if key not in self.known:
            best: tuple[tuple[Edit, ...], frozenset[str]] | None = None
            for trial in trials_of(edits):
                left = self._left(trial, name, whole=whole)
                if left is not None and (best is None or len(left) < len(best[1])):
                    best = trial, left
                if best is not None and not best[1]:
                    break
            self.known[key] = best
        return self.known[key]

    def _left(self, trial: Sequence[Edit], name: str, *, whole: bool) -> frozenset[str] | None:
        """The errors of the verdict with the text changed so; those of verdicts that became worse with them."""
        from dmaverify.plan.plan import select
        from dmaverify.plan.read import read_plan_text

        source = self.plan.source
        self.left -= 1
        if self.left < 0 or any(edit.span.source is not source for edit in trial):
            return None
        try:
            text = applied(source.text, trial)
            folder = Path(source.name).parent
            again = read_plan_text(text, source.name, folder=folder, target=self._override(name), partly=True)
            judged = entry_verdicts(again if whole else select(again, name), replace(self.options, repair=False))
        except (InputError, Disagreement, Overlap):
            return None
        left: set[str] = set()
        for verdict in judged:
            was = self.before.get(verdict.name)
            worse = was is not None and was.status is Status.PROVED and verdict.status is not Status.PROVED
            if (verdict.name == name and verdict.status is not Status.PROVED) or worse:
                left |= {f.rule for f in verdict.errors} or {verdict.status.value}
        return frozenset(left)

    def _override(self, name: str) -> str | None:
        """The target with which the plan was read, where that is not its own."""
        known = {item.name: item.transfer.target for item in self.plan.transfers}
        known |= {item.name: item.target for item in self.plan.accesses}
        known |= {item.name: item.target for item in self.plan.programs}
        target = known.get(name)
        own = re.search(r'(?m)^target\s*=\s*"([^"]*)"', self.plan.source.text)
        return None if own is None or own[1] == target else target
