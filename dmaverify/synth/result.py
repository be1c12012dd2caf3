"""What a synthesis answers, and its plan as text that plan files read.

Knows: the plan format, how commands, engines and streams are written.
Does not know: how plans are found or proved.
Law: `plan_text` read again gives the same move and the same commands (tests/synth/test_plan_text.py); `optimal`
implies that the cycles are at most the bound, or that the whole space was gone through; where the floor of the
resources is not met as well, `claim` names the shares of engines as what was gone through.

Source: the plan file format, `schema = 1`; docs/design.md (JSON of `synth`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.cost.bands import Band, band_of, widest
from dmaverify.cost.constants import CostData, cost_data
from dmaverify.cost.model import Cost
from dmaverify.cost.prices import has_profiles
from dmaverify.cost.sides import pairs_of
from dmaverify.lower.plan_text import given_command, plan_head, tensor_table, transfer_lines
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.program.tensor import Tensor
from dmaverify.synth.bound import Floor
from dmaverify.synth.priced_orders import HAIR
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field
from dmaverify.verdict import Verdict


@dataclass(frozen=True)
class Played:
    """What the simulator says of a member. `share` below 1: only a prefix of its loops was played."""

    cycles: float
    share: float = 1.0


@dataclass(frozen=True)
class Change:
    """A layout that would be faster: what changes, the new move, its cycles, and the bytes it costs."""

    what: str
    transfer: Transfer
    cycles: float
    extra_bytes: int
    proved: bool


@dataclass(frozen=True)
class Why:
    """Why nothing is better: the resource that binds, what of it is used, and what layout would lift it."""

    resource: str
    sentence: str
    bits: tuple[int, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    change: Change | None = None


@dataclass(frozen=True)
class Before:
    """The program that the plan already had."""

    cycles: float
    cost: Cost
    program: tuple[Command, ...]
    packet_bytes: int
    played: Played | None = None

    @property
    def commands(self) -> int:
        """How many commands it has."""
        return len(self.program)


@dataclass(frozen=True)
class TwoHops:
    """Two hops through a tensor in between, each an answer of its own; `direct` is the direct plan, in cycles."""

    middle: Tensor
    hops: tuple[Synthesis, Synthesis]
    direct: float | None


@dataclass(frozen=True)
class CopyKernel:
    """Copy instructions that make a move: their text, the plan file that claims it, that of the move alone; how many
    stand in the text and are issued; the space that was searched, what other readings say, and warnings.
    """

    text: str
    claim: str
    request: str
    copies: int
    issues: int
    space: Mapping[str, Any]
    readings: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class RouteDiff:
    """A route written into a kernel: through which memory, its cycles, the diff; or why there is none."""

    through: str = ""
    cycles: float = 0.0
    diff: str = ""
    why: str = ""

    def as_data(self) -> dict[str, object]:
        return {"through": self.through, "cycles": self.cycles, "diff": self.diff} if self.diff else {"why": self.why}


@dataclass(frozen=True)
class Synthesis:
    """The cheapest plan found. `cycles` is the closed form of the cost model, what `cost` says of the plan; infinite
    without a plan. `bound` is what no plan of the space can beat; of copies these are instructions, not cycles.

    `refused` holds (rule, message) where there is no legal plan; then `transfer` is the move as it was, without
    commands.
    """

    transfer: Transfer
    target: Target
    axes: Mapping[str, int]
    profile: str
    commands: tuple[Command, ...]
    cost: Cost | None
    cycles: float
    bound: float
    optimal: bool
    evidence: tuple[str, ...]
    floor: Floor | None = None
    verdict: Verdict | None = None
    why: Why | None = None
    before: Before | None = None
    played: Played | None = None
    runners_up: tuple[tuple[str, float, Played | None], ...] = ()
    refused: tuple[tuple[str, str, str], ...] = ()
    questions: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)
    split: str = ""
    evaluations: int = 0
    not_covered: tuple[str, ...] = ()  # what the machine's own synthesis does not claim
    seconds: float = 0.0
    route: TwoHops | None = None
    copies: CopyKernel | None = None
    written: RouteDiff | None = None
    readings: Mapping[str, str] = field(default_factory=dict, repr=False)
    restricted: tuple[str, ...] = ()  # what was fixed of the plans that were searched: the claim is of these alone

    @property
    def prices(self) -> CostData:
        """The constants that the plan is priced by: the machine's own. Raises InputError where it has no profile."""
        return cost_data(self.profile, self.readings, self.target)

    @property
    def found(self) -> bool:
        """Whether there is a plan."""
        return bool(self.commands) or self.copies is not None

    @property
    def gap(self) -> float:
        """How far the plan may be from the best: as a share of the bound, of copies in instructions; 0 when optimal."""
        if self.copies is not None:
            return self.copies.issues - self.bound
        return 0.0 if self.optimal or not self.found else max(0.0, self.cycles / self.bound - 1) if self.bound else 0.0

    @property
    def claim(self) -> str:
        """What is said of the plan: OPTIMAL of every share where the floor is met, else among the shares tried; in
        either case of the plans that were asked for alone.
        """
        if self.copies is not None:
            return f"{self.copies.issues} instructions, the bound is {self.bound}{self.restriction}"
        if not self.optimal:
            return f"within {100 * self.gap:.2f} % of the bound{self.restriction}"
        if self.floor is None or self.floor.cycles >= self.cycles - HAIR:
            return f"OPTIMAL for this model{self.restriction}"
        least = f"no share can beat {self.floor.cycles:,.1f} cycles"
        return f"OPTIMAL for this model among the shares of engines that are tried ({least}){self.restriction}"

    @property
    def restriction(self) -> str:
        """The plans that a claim is of, in words, where something of them was fixed."""
        return of_plans_with(self.restricted)

    @property
    def band(self) -> Band | None:
        """How far the profile has been off for such a plan, of a route for either hop; None where it does not say."""
        if not has_profiles(self.target) or not self.commands:
            return None
        data = self.prices
        hops = [hop.commands for hop in self.route.hops] if self.route is not None else [self.commands]
        found = [band_of(commands, pairs_of(commands, data), data) for commands in hops]
        return widest([band for band in found if band is not None])

    @property
    def plan(self) -> str:
        """The plan file's text; empty without a plan."""
        if self.copies is not None:
            return self.copies.claim
        if self.route is not None:
            return route_text(self.transfer.name, self.route)
        return plan_text(self) if self.found else ""

    @property
    def kernel(self) -> str:
        """The text of the copies; empty where the plan has none."""
        return self.copies.text if self.copies is not None else ""

    def as_data(self) -> dict[str, Any]:
        """The JSON of the command line."""
        if self.copies is not None:
            return self._copies(self.copies)
        if not self.found:
            reasons = [{"rule": rule, "message": message, "hint": hint} for rule, message, hint in self.refused]
            return {
                "name": self.transfer.name,
                "plan": None,
                "cycles": None,
                "bound": None,
                "optimal": False,
                "gap": None,
                "evidence": list(self.evidence),
                "seconds": self.seconds,
                "restricted": list(self.restricted),
                "refused": reasons,
            }
        data: dict[str, Any] = {
            "name": self.transfer.name,
            "plan": self.plan,
            "cycles": self.cycles,
            "bound": self.bound,
            "optimal": self.optimal,
            "claim": self.claim,
            "restricted": list(self.restricted),
            "gap": self.gap,
            "evidence": list(self.evidence),
            "seconds": self.seconds,
            "profile": self.profile,
            "proved": self.verdict is not None and self.verdict.status.value == "proved",
            "engines": len({c.engine for c in self.commands}),
            "commands": len(self.commands),
            "split": self.split,
            "evaluations": self.evaluations,
            "terms": [
                t.__dict__ if hasattr(t, "__dict__") else _term(t) for t in (self.floor.terms if self.floor else ())
            ],
        }
        if self.transfer.iterations > 1:
            data["iterations"] = self.transfer.iterations
        if self.route is not None:
            data["proved"] = all(hop.verdict is not None for hop in self.route.hops)
            data["route"] = {
                "middle": tensor_table(self.route.middle),
                "hops": [
                    {"name": hop.transfer.name, "cycles": hop.cycles, "bound": hop.bound, "optimal": hop.optimal}
                    for hop in self.route.hops
                ],
                "direct_cycles": self.route.direct,
                **({"as_rust": self.written.as_data()} if self.written is not None else {}),
            }
        if self.played is not None:
            data["simulated"] = {"cycles": self.played.cycles, "share": self.played.share}
        if (band := self.band) is not None:
            data["band"] = band.as_data(self.cycles)
        if self.before is not None:
            data["before"] = {
                "cycles": self.before.cycles,
                "commands": self.before.commands,
                "packet_bytes": self.before.packet_bytes,
            }
        if self.why is not None:
            data["why"] = {
                "resource": self.why.resource,
                "says": self.why.sentence,
                "bits": list(self.why.bits),
                **self.why.values,
            }
            if self.why.change is not None:
                change = self.why.change
                data["why"]["change"] = {
                    "what": change.what,
                    "cycles": change.cycles,
                    "extra_bytes": change.extra_bytes,
                    "proved": change.proved,
                }
        return data

    def _copies(self, kernel: CopyKernel) -> dict[str, Any]:
        """What is told of copies."""
        same = ("optimal", "bound", "gap", "cycles", "plan")
        told = ("issues", "copies", "space", "request")
        data = {name: getattr(self, name) for name in same} | {name: getattr(kernel, name) for name in told}
        many = {name: list(getattr(self, name)) for name in ("restricted", "evidence", "not_covered")}
        data |= {"name": self.transfer.name, "kernel": kernel.text, "readings": dict(kernel.readings), **many}
        data |= {"warnings": list(kernel.warnings)}
        return data | ({"iterations": self.transfer.iterations} if self.transfer.iterations > 1 else {})


def of_plans_with(restricted: Sequence[str]) -> str:
    """The plans that a claim is of, in words; nothing where it is of all."""
    return f", of plans with {' and '.join(restricted)}" if restricted else ""


def _term(term: Any) -> dict[str, Any]:
    return {name: getattr(term, name) for name in ("name", "cycles", "resource", "why", "source")}


# ---------------------------------------------------------------- as a plan file


def plan_text(synthesis: Synthesis) -> str:
    """The plan with its stream (where one stream says it all), and every command."""
    move = synthesis.transfer
    lines = plan_head([move], synthesis.axes)
    if move.iterations > 1:
        lines += ["", f"# The first of {move.iterations:,} iterations: its loop and views are not in this file."]
    return "\n".join([*lines, *_tables(synthesis)]) + "\n"


def tables_text(synthesis: Synthesis) -> str:
    """The tables of the transfer alone, as they stand in a plan file."""
    return "\n".join(_tables(synthesis)).lstrip("\n") + "\n"


def route_text(name: str, route: TwoHops) -> str:
    """A plan file with both hops, and the program that runs them one after the other."""
    first, second = route.hops
    lines = plan_head([first.transfer, second.transfer], {**first.axes, **second.axes})
    for hop in route.hops:
        lines += _tables(hop)
    into, out = first.transfer.name, second.transfer.name
    steps = f'{{ transfer = "{into}" }}, {{ transfer = "{out}", after = ["{into}"] }}'
    lines += ["", f"[program.{name}]", f"step = [{steps}]"]
    return "\n".join(lines) + "\n"


def _tables(synthesis: Synthesis) -> list[str]:
    move, target = synthesis.transfer, synthesis.target
    printed = tuple(given_command(one, target) for one in synthesis.commands)
    return transfer_lines(move, printed, target.constants, synthesis.commands[0].unit_bits if printed else 8)
