"""Whether a way through a function passes by a set of accesses, asked as any condition of a kernel is.

Knows: arms of decisions as values of symbols. Does not know: any text, what an access touches.
Law: choices are taken as independent of one another; a way is only called certain where each of its choices hangs on a
parameter of its own. Where the question stays open there is no answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dmaverify.language.affine import Cond, Lin, World, both, compare
from dmaverify.program.ways import OnWay, WayChoice
from dmaverify.prove.flow.ask import Asker
from dmaverify.values import dataclass, field

RLIMIT = 1_000_000


@dataclass(frozen=True)
class Passed:
    """A way on which something happens and nothing of something else, `told` by the arms that make it so; `certain`
    where a run can take it.
    """

    told: str
    certain: bool


class WaysUndecided(Exception):
    """Whether there is such a way was not decided."""


@dataclass
class Ways:
    """Ways of one function: of each decision a symbol says which arm is taken, the last of them where it is 0."""

    asker: Asker = field(default_factory=lambda: Asker(World(), RLIMIT))
    arms: dict[str, Lin] = field(default_factory=dict)
    choices: dict[str, WayChoice] = field(default_factory=dict)  # by symbol

    def past(self, need: OnWay, accesses: Collection[OnWay]) -> Passed | None:
        """A way on which `need` happens and none of the accesses; None where there is none. Raises WaysUndecided."""
        if need.always and not accesses:
            return Passed("", certain=True)
        claims = [self._when(need), *dict.fromkeys(self._when(one, holds=False) for one in accesses)]
        reply = self.asker.possible(claims)
        if reply.status == "proved":
            return None
        if reply.status == "unknown":
            raise WaysUndecided
        taken: set[str] = set()
        for claim in claims:
            self._because(claim, reply.values, taken)
        way = [(name, self.choices[name]) for name in sorted(taken)]
        told = [one.names[one.arms - 1 - reply.values[name]] for name, one in way if one.names]
        about = [parameter for _, one in way for parameter in one.about]
        certain = all(one.about for _, one in way) and len(about) == len(set(about))
        return Passed(" and ".join(dict.fromkeys(told)), certain)

    def all_pass(self, need: OnWay, accesses: Collection[OnWay]) -> bool:
        """Whether every way on which something happens is surely one of an access."""
        try:
            return self.past(need, accesses) is None
        except WaysUndecided:
            return False

    def _when(self, when: OnWay, *, holds: bool = True) -> Cond:
        """That something happens, or that it does not."""
        parts = [self._taken(choice, holds=holds) for choice in when.path]
        return both([*parts, *(self._when(one, holds=not holds) for one in when.exits)], "and" if holds else "or")

    def _taken(self, choice: WayChoice, *, holds: bool) -> Cond:
        if choice.decision not in self.arms:
            self.arms[choice.decision] = self.asker.world.free(f"d{len(self.arms):04}", 0, choice.arms - 1)
        arm = self.arms[choice.decision]
        ((name, _),) = arm.terms
        if name not in self.choices or not choice.about:
            self.choices[name] = choice
        if choice.arms == 2:
            return compare("eq", arm - (1 - choice.arm if holds else choice.arm))
        return compare("eq" if holds else "ne", arm - (choice.arms - 1 - choice.arm))

    def _because(self, claim: Cond, values: Mapping[str, int], taken: set[str]) -> None:
        """Adds decisions that are enough for a claim to hold: few of them, and such as hang on parameters."""
        if claim.op == "or":
            put = {name: Lin(value) for name, value in values.items()}
            true = [part for part in claim.parts if self.asker.world.put_cond(part, put).known]
            cost = [sorted(2 - bool(self.choices[name].about) for name in {*part.symbols()} - taken) for part in true]
            self._because(true[cost.index(min(cost))], values, taken)
            return
        taken |= {name for name, _ in claim.left.terms}
        for part in claim.parts:
            self._because(part, values, taken)


def can_happen(when: OnWay) -> bool:
    """Whether a run is certain to exist on which something happens."""
    try:
        found = Ways().past(when, ())
    except WaysUndecided:
        return False
    return found is not None and found.certain
