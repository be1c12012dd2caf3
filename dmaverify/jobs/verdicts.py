"""The verdicts of a plan that was read: each entry judged, its helps tried on the text.

Knows: that a help is called checked only after a trial.
Does not know: which function judges which entry (`entries`), files, command lines, how verdicts are shown.
Law: what is judged is told whatever becomes of a help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dmaverify.jobs.confirm import Confirming
from dmaverify.jobs.entries import Asked, entry_verdicts
from dmaverify.verdict import Verdict

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.prove.move.check import Options


def verdicts_of(plan: Plan, options: Options | None = None, keep: Asked | None = None) -> list[Verdict]:
    """Judges everything in `plan`; `keep` receives the solver's questions.

    Raises InputError for a reading that a machine has not.
    """
    from dmaverify.prove.options import Options as OptionsType

    chosen = options or OptionsType()
    found = entry_verdicts(plan, chosen, keep)
    if not chosen.repair or plan.is_kernel or plan.templates:
        return found
    formed = {one.name for one in plan.transfers if one.transfer.form is not None}
    trying = Confirming(plan, chosen, found)
    return [verdict if verdict.name in formed else trying.verdict(verdict) for verdict in found]
