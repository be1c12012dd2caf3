"""The rules of a machine in a run on symbolic numbers: each asked of facts of its own.

Knows: what rules look at in a transfer or an access, which facts a broken rule rests on.
Does not know: the core, how a run begins or ends.
Law: rules that hold leave facts at which they hold; `BrokenRule` has the facts at which its rule is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dmaverify.lower.adapters import access_facts, is_fetch, memory_facts
from dmaverify.lower.programs import space_of
from dmaverify.program.access import Access
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.program.space import layout_of
from dmaverify.program.tensor import Tensor
from dmaverify.prove.move.copy_ports import copy_facts, first_facts, span_facts
from dmaverify.prove.move.ports import command_facts, dimension_facts, sequencer_facts, tensor_facts, transfer_facts
from dmaverify.prove.sizes.facts import FactReason, SizeFact
from dmaverify.prove.sizes.predicate import decide
from dmaverify.prove.sizes.trace import Stuck, Trace
from dmaverify.targets.modules import derived as derived_facts
from dmaverify.targets.modules import module_name
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import Target
from dmaverify.targets.telling import told_by_ends
from dmaverify.values import dataclass
from dmaverify.verdict import Severity

LOOP_PORTS = frozenset({
    "entries", "iterations", "stride_low", "stride_high", "burst_bytes", "inner_count", "inner_stride",
    "packet_run_bytes", "access_bytes", "runs_per_packet", "stride_gcd", "read_gcd", "write_gcd", "read_gcd_bits",
    "write_gcd_bits", "same_chip", "same_cluster", "same_dmn", "padded_splits", "tail_bits", "tail_stride_bits",
    "broadcast_axes",
})  # fmt: skip
"""Ports that may be others where a loop that runs once is left out of a nest, or two that step as one are joined."""
PLAIN_SCOPES = frozenset({"command", "sequencer", "tensor", "transfer", "access"})
OTHER_SCOPES = frozenset({"copy", "step", "reach", "flag", "buffer", "operation", "indirect"})
"""Scopes of kernels, gathers and scatters: a transfer has them only where its commands are copies."""


class BrokenRule(Exception):
    """A rule, or being well-formed, is broken here; the facts of it alone."""

    def __init__(self, rule: str, facts: Sequence[SizeFact], *, needs_loops: bool = False) -> None:
        super().__init__(rule)
        self.rule = rule
        self.facts = facts
        self.needs_loops = needs_loops  # so only if loops that run once are told from others


@dataclass(frozen=True, slots=True)
class RulePlace:
    """Something that rules look at, its ports computed anew for each rule, so that each has its own facts."""

    scope: str
    facts: Callable[[Collection[str]], Mapping[str, Any]]
    side: str = ""
    tier: str = ""


def transfer_places(
    transfer: Transfer, target: Target, commands: Sequence[Command], limits: Mapping[str, int]
) -> Iterator[RulePlace]:
    bits = target.dtypes[transfer.dtype]
    source, dest = transfer.source, transfer.dest
    looped = any(rule.scope == "dimension" for rule in target.rules.values())
    for side, buffer in zip(("read", "write"), transfer.buffers, strict=True):
        yield RulePlace("tensor", _ports(tensor_facts, buffer, bits), side, buffer.tier)
    yield RulePlace("transfer", _ports(transfer_facts, source, dest, transfer.dtype, target, commands))
    for command in commands:
        yield RulePlace("command", _ports(command_facts, command, commands))
        for side, text, tensor in (("read", command.read_text, source), ("write", command.write_text, dest)):
            if text is not None:
                ports = _ports(sequencer_facts, text, command, limits, command.unit_bits)
                yield RulePlace("sequencer", ports, side, tensor.tier)
                for facts in dimension_facts(text, command.unit_bits) if looped else ():  # asks whether strides are 1
                    yield RulePlace("dimension", _ports(_as_they_are, facts), side, tensor.tier)
        route = target.copies_of(source.tier, dest.tier)
        for own in copy_facts(command, route, bits // 8) if route is not None else ():
            yield RulePlace(own.scope, _ports(_as_they_are, own.values), own.side, own.tier)
    for one in derived_facts(transfer, target, commands):
        yield RulePlace(one.scope, _ports(_as_they_are, getattr(one.values, "raw", one.values)), one.side)


def span_places(transfer: Transfer, target: Target, *, first: bool = False) -> Iterator[RulePlace]:
    """How far copies of either side reach at least; `first`: where they begin."""
    bits = target.dtypes[transfer.dtype]
    for side, tensor in (("read", transfer.source), ("write", transfer.dest)):
        layout, _ = layout_of(tensor, space_of(target, tensor.tier), bits)
        one = (first_facts if first else span_facts)(layout, transfer, side, target)
        yield RulePlace(one.scope, _ports(_as_they_are, one.values), one.side, one.tier)


def access_places(
    access: Access, target: Target, command: Command, limits: Mapping[str, int], buffer: Tensor
) -> Iterator[RulePlace]:
    bits, tier = target.dtypes[access.dtype], access.memory.tier
    side, sliced = "read" if is_fetch(access) else "write", target.tiers[tier].is_sliced
    yield RulePlace("tensor", _ports(tensor_facts, buffer, bits), side, tier)
    yield RulePlace("sequencer", _ports(memory_facts, command, access, limits, bits), side, tier)
    yield RulePlace("access", lambda only: access_facts(command, access, bits, only, sliced=sliced), side, tier)


def _as_they_are(values: Mapping[str, Any], only: Collection[str]) -> Mapping[str, Any]:
    return values


def _ports(function: Callable[..., Mapping[str, Any]], *given: Any) -> Callable[[Collection[str]], Mapping[str, Any]]:
    return lambda only: function(*given, only)


@dataclass(frozen=True, slots=True)
class SizedRules:
    """The rules of a target for one transfer or access. `as_read` and `structure` are the facts up to the commands, and
    up to what they are as nests.
    """

    trace: Trace
    target: Target
    readings: Mapping[str, str]
    engine: str
    tiers: tuple[str, str]
    limits: Mapping[str, int]
    as_read: Sequence[SizeFact]
    structure: Sequence[SizeFact]
    held: list[tuple[Rule, tuple[int, ...], str]] | None = None  # with their ports, where they are asked again

    def hold(self, places: Iterable[RulePlace], *, moved: bool = False, only: Collection[str] | None = None) -> None:
        """Every rule that is an error holds, or those named in `only`. `moved`: in an iteration that not every size
        has.
        """
        known = set(self.trace.facts)
        every = list(places)
        before = dict(self.trace.facts)
        listed = [fact for key, fact in before.items() if moved or key not in known]
        for rule in self.target.rules.values():
            if rule.severity_under(self.readings) is not Severity.ERROR or (only is not None and rule.id not in only):
                continue
            if rule.scope not in {*PLAIN_SCOPES, "dimension"} and not any(p.scope == rule.scope for p in every):
                self._unknown_scope(rule)
            for place in every:
                if rule.scope == place.scope and rule.applies(self.engine, *self.tiers, place.side, place.tier):
                    if moved and not told_by_ends(rule, self.target):
                        raise Stuck(f"{rule.id} is asked of every iteration at single sizes only")
                    self._rule(rule, place, before, listed, moved)

    def _unknown_scope(self, rule: Rule) -> None:
        """A rule of a scope that nothing here has: of the machine's other things, or one that is not judged here.

        A scope of the machine's own without an instance is one that its module derives of other plans only; where the
        machine has no module, nothing says so.
        """
        derives = rule.scope in self.target.scopes and module_name(self.target) is not None
        if rule.scope not in OTHER_SCOPES and not derives:
            raise Stuck(f"{rule.id} is judged at single sizes only")

    def _rule(
        self, rule: Rule, place: RulePlace, before: Mapping[SizeFact, SizeFact], listed: Sequence[SizeFact],
        moved: bool,
    ) -> None:  # fmt: skip
        """`listed`: what the place itself rests on; of another iteration than the first, all that is known so far."""
        self.trace.facts, kept = {}, self.trace.facts
        self.trace.span += 1
        self.trace.why = FactReason(rule.id, rule.source)
        values = {**self.limits, **place.facts(rule.ports), **rule.limits_under(self.readings)}
        missing = rule.missing(values)
        holds = not missing and decide(rule.function.body, {port: values[port] for port in rule.ports}, self.trace)
        own = self.trace.facts
        if not holds:
            self.trace.facts = {**before, **own}
            fragile = moved or bool(LOOP_PORTS & set(rule.ports)) or place.scope not in PLAIN_SCOPES
            # Ports that no loop has a part in are numbers of the text, whatever way the rest takes: where that ends
            # otherwise, it ends as not well-formed, which is broken too.
            facts = [*(self.structure if fragile else self.as_read), *listed, *own.values()]
            raise BrokenRule(rule.id, facts, needs_loops=fragile)
        self.trace.facts = {**kept, **own}
        if self.held is not None:
            self.held.append((rule, tuple(values[port] for port in rule.ports), f"{place.side or place.scope}"))
