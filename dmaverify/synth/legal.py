"""Which commands a machine takes: its own rules, on the facts that `check` computes, remembered by those facts.

Knows: rules of the scopes command and sequencer, and those of tensors and transfers, which no plan can change.
Does not know: what any rule says, costs.
Law: what is refused here, `check` reports; what is let through, `check` judges again. Errors refuse; so does a
sequencer that breaks
a limit with a warning, as long as another plan keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.prove.move.ports import command_facts, dimension_facts, sequencer_facts
from dmaverify.prove.move.static import Instance, Ruling, transfer_instances
from dmaverify.prove.smt import number
from dmaverify.synth.regions import NoPlan
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Finding, Severity

Judged = dict[tuple[object, ...], tuple[Finding, ...]]
"""What rules say of one thing that they look at, by the numbers that they see."""


@dataclass
class Law:
    """The rules of one transfer. `lenient` lets sequencers break limits that are warnings."""

    transfer: Transfer
    target: Target
    limits: Mapping[str, int]
    readings: Mapping[str, str]
    lenient: bool = False
    known: Judged = field(default_factory=dict)
    refused: dict[str, Finding] = field(default_factory=dict)

    @property
    def by_dimension(self) -> bool:
        """Whether rules look at dimensions by number."""
        return any(rule.scope == "dimension" for rule in self.target.rules.values())

    def _ruling(self) -> Ruling:
        move = self.transfer
        tiers = move.source.tier, move.dest.tier
        return Ruling(self.target, self.target.engine_of(*tiers), *tiers, move.dtype, self.limits, self.readings)

    def of_move(self) -> None:
        """Raises NoPlan with the errors that no plan can avoid."""
        move = self.transfer
        instances = transfer_instances(
            move.source, move.dest, None, move.dtype, self.target, (), self.limits, move.span, readings=self.readings
        )
        found = [f for f in self._ruling().judge(instances).findings if f.severity is Severity.ERROR]
        if found:
            raise replace(no_plan(found), bound=float("inf"))

    def allows(self, commands: Sequence[Command]) -> bool:
        """Whether every command is legal; what refuses is kept in `refused`, first of each rule."""
        good = True
        for one in commands:
            for finding in self._findings(one):
                if finding.severity is Severity.ERROR or (finding.place.endswith("sequencer") and not self.lenient):
                    self.refused.setdefault(finding.rule, finding)
                    good = False
            if not good:
                break
        return good

    def instances(self, one: Command) -> list[Instance]:
        """What rules look at in a command."""
        texts = (("read", one.read_text, self.transfer.source.tier), ("write", one.write_text, self.transfer.dest.tier))
        known = [(side, tier, text) for side, text, tier in texts if text]
        found = [Instance("command", command_facts(one, 1), "command", None)]
        for side, tier, text in known:
            facts = sequencer_facts(text, one, self.limits, one.unit_bits)
            found.append(Instance("sequencer", facts, f"{side} sequencer", None, side, tier))
        for side, tier, text in known if self.by_dimension else ():
            every = dimension_facts(text, one.unit_bits)
            found += [Instance("dimension", facts, f"{side} dimension", None, side, tier) for facts in every]
        return found

    def _findings(self, one: Command) -> list[Finding]:
        found: list[Finding] = []
        for instance in self.instances(one):
            key = (self.transfer.source.tier, self.transfer.dest.tier, instance.place, *instance.values.values())
            if key not in self.known:
                told = self._ruling().judge([instance]).findings
                self.known[key] = tuple(f for f in told if f.severity is not Severity.ADVICE)
            found += self.known[key]
        return found

    def asked(self, one: Command) -> dict[str, Rule]:
        """Each rule that may refuse a command, applied to its numbers, as SMT-LIB 2: `(rngd/packet-max 256 4096)`."""
        out: dict[str, Rule] = {}
        move, instances = self.transfer, self.instances(one)
        tiers = move.source.tier, move.dest.tier
        for rule in self.target.rules.values():
            severity = rule.severity_under(self.readings)
            for instance in instances:
                soft = instance.scope == "sequencer" and not self.lenient and severity is Severity.WARNING
                bound = rule.scope == instance.scope and rule.applies(
                    self.target.engine_of(*tiers), *tiers, instance.side, instance.tier
                )
                if bound and (severity is Severity.ERROR or soft):
                    values = {**self.limits, **instance.values, **rule.limits_under(self.readings)}
                    numbers = " ".join(number(values[port]) for port in rule.ports)
                    out[f"({rule.id} {numbers})" if rule.ports else rule.id] = rule
        return out


def no_plan(findings: Sequence[Finding], said: str = "") -> NoPlan:
    """Findings, one at least, as what refuses every plan; `said` stands before each message."""
    first, *others = (NoPlan(f.rule, said + f.message, f.hint) for f in findings)
    return replace(first, others=tuple(others))
