"""What supports a plan that a search found and its bound, in sentences.

Knows: a search that ended, its winner, the simulated contest. Does not know: how anything was searched.
Law: a sentence says of whom it speaks: of every plan, of the space, or of those that were searched.
"""

from __future__ import annotations

from dmaverify.synth.members import Member, SearchFound
from dmaverify.synth.playing import Contest
from dmaverify.synth.priced_orders import HAIR
from dmaverify.synth.result import Played


def artefact(table: Contest, member: Member) -> tuple[str, ...]:
    """What the simulator would have chosen instead, if that is another plan."""
    if table.rival is None or table.rival[0] is member:
        return ()
    other, seen = table.rival
    part = "" if seen.share >= 1 else f" for the first {100 * seen.share:.1f} %"
    price = f"{other.layering.split}, {other.cycles:,.1f} cycles, simulated {seen.cycles:,.0f}{part}"
    return (f"the simulator ranks a plan first that the closed form calls dearer ({price}): there the two differ",)


def evidence_of(found: SearchFound, member: Member, seen: Played | None) -> tuple[str, ...]:
    """What supports the bound and the price, in sentences."""
    lines = []
    if found.floor is not None:
        top = found.floor.terms[0]
        which = "of the space" if found.floor.cycles <= found.bound + HAIR else "of those searched"
        lines.append(
            f"no plan {which} can beat {found.floor.cycles:,.1f} cycles: {top.name} ({top.resource}): {top.why}"
        )
    spent = f"{found.evaluations} commands priced, {found.pruned} choices pruned"
    lines.append(f"{found.ended}: {found.shares} shares of engines, {spent}")
    how = (
        "equals the closed form"
        if member.cost.exact
        else "is at least the closed form, which counts what no order avoids"
    )
    lines.append(f"the simulated time {how}")
    if seen is not None and seen.share >= 1 and seen.cycles > 1.05 * member.cycles:
        more = 100 * (seen.cycles / member.cycles - 1)
        lines.append(f"the simulator needs {more:.0f} % more than the closed form: there the ranking is not proved")
    return tuple(lines)
