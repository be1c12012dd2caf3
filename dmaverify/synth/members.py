"""What a search holds: members with their price, choices that are still open with their floors, the budget.

Knows: names and meanings of these values.
Does not know: how they come about.
Law: values only; a floor here never falls while a search goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from dmaverify.cost.model import Cost
from dmaverify.program.command import Command
from dmaverify.synth.atoms import Atom
from dmaverify.synth.bound import Floor
from dmaverify.synth.shares import Layering
from dmaverify.synth.space import Nested
from dmaverify.values import dataclass, field

EVALUATIONS = 600
"""Commands priced before the search stops with a gap."""
TIE_EVALUATIONS = 24
"""Commands priced beyond the first winner, to find others as cheap to choose from."""
SIMULATED_TIES = 120
"""The same where the simulator chooses."""
MOST_BARREN = 600
"""Illegal choices in a row, before any legal one, after which the rules are taken to refuse all."""
NEAR = 4
"""Dearer members that are kept: runners-up, and what is left where the winner cannot be proved."""


@dataclass(frozen=True)
class Member:
    """One plan of the space. `cycles` is its price: the closed form, or a floor that holds for it if that is more."""

    commands: tuple[Command, ...]
    cycles: float
    cost: Cost
    layering: Layering
    order: tuple[Atom, ...]
    packets: tuple[int, ...]

    @cached_property
    def rank(self) -> tuple[float, bool, int, int, int]:
        """Cheaper, then what the closed form counts whole, then more alike, then fewer commands, then fewer loops."""
        counted = self.cost.cycles >= self.cycles
        loops = [one.loops for one in self.commands]
        return round(self.cycles, 5), not counted, len(set(loops)), len(loops), sum(map(len, loops))


@dataclass
class SearchFound:
    """What the search knows at its end: the cheapest members, and a few dearer ones (`near`), cheapest first."""

    winners: list[Member] = field(default_factory=list)
    near: list[Member] = field(default_factory=list)
    floor: Floor | None = None
    bound: float = 0.0
    complete: bool = False
    evaluations: int = 0
    shares: int = 0
    pruned: int = 0
    packets: int = 0
    ended: str = ""
    late: bool = False
    loops: set[str] = field(default_factory=set)  # their labels, where a prefix asks for some


@dataclass(eq=False)
class Option:
    """A cover with packets by length of run, for the shares that leave runs whole; without packets, for those that cut
    them. `quick` and `floor` hold for all its members; the floor is None until it was counted, and `counted` says
    whether the windows that its packets touch are part of `quick`. `shares` are those not yet tried.
    """

    cover: int
    sizes: Mapping[int, int] | None
    quick: float
    floor: Floor | None = None
    counted: bool = False
    shares: Iterator[tuple[Layering, Mapping[int, int]]] | None = None
    done: bool = False

    @property
    def least(self) -> float:
        return self.quick if self.floor is None else max(self.quick, self.floor.cycles)


@dataclass(eq=False)
class Choice:
    """An option with its share. `floor` is what no order of it beats; pricing an order may raise it."""

    option: Option
    layering: Layering
    items: tuple[Nested, ...]
    floor: float
    best: tuple[float, tuple[Atom, ...]] | None = None


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Budget and fixed parts. Packets in units; `prefix` names the first loops, outer to inner, by their labels.

    `ties` is how many commands may be priced to find members as cheap as the first, `barren` how many illegal choices
    in a row end the search where no legal one was found. Plans of `above` cycles and more are not looked for.
    """

    evaluations: int = EVALUATIONS
    seconds: float | None = None
    packet: int | None = None
    prefix: tuple[str, ...] = ()
    commands: int | None = None
    ties: int = TIE_EVALUATIONS
    barren: int = MOST_BARREN
    above: float = float("inf")
