"""Paths through a function ("ways"): does one pass by a set of accesses? Asked as any condition of a kernel is.

Knows: arms of decisions as values of symbols, tied to the numbers of a run that they ask about. Does not know: any
text, what an access touches, how terms are read (`way_terms`).
Law: choices of which nobody says what they ask are taken as independent of all others; a way is only called certain
where numbers that a run can have choose each of its arms. Where the question stays open there is no answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dmaverify.language.affine import FALSE, Cond, Lin, World, both, compare
from dmaverify.program.ways import OnWay, WayChoice
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.way_terms import TermReader
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
    ties: dict[str, tuple[Cond, Cond, bool]] = field(default_factory=dict)  # by symbol: `_tied`
    terms: TermReader = field(init=False)

    def __post_init__(self) -> None:
        self.terms = TermReader(self.asker.world)

    def past(self, need: OnWay, accesses: Collection[OnWay], granted: Collection[str] = ()) -> Passed | None:
        """A way on which `need` happens and none of the accesses; None where there is none. Of the decisions that are
        `granted` each arm is one that a run can take. Raises WaysUndecided.
        """
        if need.always and not accesses:
            return Passed("", certain=True)
        claims = self._claims(need, accesses)
        symbols = sorted({name for claim in claims for name in claim.symbols()} & self.choices.keys())
        ties = {name: self._tied(name) for name in symbols if self.choices[name].asks}
        sure = {name for name in symbols if self.choices[name].decision in granted or (name in ties and ties[name][2])}
        around = [tie for tie, _, _ in ties.values()]
        certain = self._claims(need, accesses, sure)
        reply = self.asker.possible([*certain, *around, *(stays for _, stays, _ in ties.values())])
        runs = reply.status == "refuted"
        if not runs and (certain != claims or ties):
            certain, reply = claims, self.asker.possible([*claims, *around])
        if reply.status == "proved":
            return None
        if reply.status == "unknown":
            raise WaysUndecided
        taken: set[str] = set()
        for claim in certain:
            self._because(claim, reply.values, taken)
        way = [(name, self.choices[name]) for name in sorted(taken)]
        told = [one.names[one.arms - 1 - reply.values[name]] for name, one in way if one.names]
        return Passed(" and ".join(dict.fromkeys(told)), runs)

    def _claims(self, need: OnWay, accesses: Collection[OnWay], sure: Collection[str] | None = None) -> list[Cond]:
        """That something happens and none of the accesses; by decisions alone that are `sure`, where these are told."""
        return [self._when(need, sure), *dict.fromkeys(self._when(one, sure, holds=False) for one in accesses)]

    def _tied(self, name: str) -> tuple[Cond, Cond, bool]:
        """What ties the arm of a decision to the numbers of a run, that none of them leaves its type, and whether the
        arm is taken wherever they say so.
        """
        if name not in self.ties:
            choice, arm = self.choices[name], Lin(0, ((name, 1),))
            told = [self.terms.truth(one) for one in choice.asks]
            leaves = both(list(dict.fromkeys(one for term in choice.asks for one in self.terms.leaving(term))), "or")
            each = [both([truth.negated(), compare("eq", arm - (choice.arms - 1 - at)), leaves], "or")
                    for at, (truth, _) in enumerate(told)]  # fmt: skip
            self.ties[name] = both(each), leaves.negated(), all(exact for _, exact in told)
        return self.ties[name]

    def all_pass(self, need: OnWay, accesses: Collection[OnWay]) -> bool:
        """Whether every way on which something happens is surely one of an access."""
        try:
            return self.past(need, accesses) is None
        except WaysUndecided:
            return False

    def _when(self, when: OnWay, sure: Collection[str] | None, *, holds: bool = True) -> Cond:
        """That something happens, or that it does not."""
        parts = [self._taken(choice, sure, holds=holds) for choice in when.path]
        return both([*parts, *(self._when(one, sure, holds=not holds) for one in when.exits)], "and" if holds else "or")

    def _taken(self, choice: WayChoice, sure: Collection[str] | None, *, holds: bool) -> Cond:
        if choice.decision not in self.arms:
            self.arms[choice.decision] = self.asker.world.free(f"d{len(self.arms):04}", 0, choice.arms - 1)
        arm = self.arms[choice.decision]
        ((name, _),) = arm.terms
        if name not in self.choices or not choice.asks:
            self.choices[name] = choice
        if sure is not None and name not in sure:
            return FALSE
        if choice.arms == 2:
            return compare("eq", arm - (1 - choice.arm if holds else choice.arm))
        return compare("eq" if holds else "ne", arm - (choice.arms - 1 - choice.arm))

    def _because(self, claim: Cond, values: Mapping[str, int], taken: set[str]) -> None:
        """Adds decisions that are enough for a claim to hold: few of them, and such as hang on parameters."""
        if claim.op == "or":
            put = {name: Lin(value) for name, value in values.items()}
            true = [part for part in claim.parts if self.asker.world.put_cond(part, put).known]
            cost = [sorted(2 - bool(self.choices[name].asks) for name in {*part.symbols()} - taken) for part in true]
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
