"""A machine's rules on a transfer: ports in, findings out. Numbers fold; no search.

Knows: which facts go to which rule, which number of a text to blame.
Does not know: what any rule says (data does), how facts come about (`ports`).
Law: every rule of the target that binds the transfer is evaluated on every instance of its scope; a rule that could
not be evaluated is a finding of its own. All broken rules are reported, each once a place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from dmaverify.errors import Span
from dmaverify.lower.adapters import access_facts, is_fetch, memory_facts
from dmaverify.program.access import Access
from dmaverify.program.command import Command, Sequencer
from dmaverify.program.indirect import Indirect
from dmaverify.program.move import Stream, Transfer
from dmaverify.program.tensor import Tensor
from dmaverify.prove.move.ports import (
    command_facts,
    dimension_facts,
    sequencer_facts,
    tensor_facts,
    transfer_facts,
)
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Finding, Label, Severity


@dataclass(frozen=True, slots=True)
class Instance:
    """One thing that rules look at. `suspects` are numbers with their spans that a gcd port is made of, in bytes."""

    scope: str
    values: Mapping[str, int]
    place: str
    span: Span | None
    side: str = ""
    tier: str = ""
    suspects: tuple[tuple[str, str, int, Span | None], ...] = ()  # (port, what, bytes, where)
    packet_span: Span | None = None
    spans: tuple[tuple[str, Span], ...] = ()  # of single ports


@dataclass(frozen=True)
class RuleReport:
    """`evaluated` counts rules that bound something; `differs` names rules whose verdict another reading would
    change.
    """

    findings: tuple[Finding, ...]
    evaluated: int
    differs: tuple[str, ...]
    held: tuple[tuple[Rule, tuple[int, ...], str], ...] = ()  # what held, at which ports, where


@dataclass
class Ruling:
    """Evaluates the rules of one target for one transfer or access."""

    target: Target
    engine: str
    source_tier: str
    dest_tier: str
    dtype: str
    limits: Mapping[str, int]
    readings: Mapping[str, str]
    findings: list[Finding] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    evaluated: set[str] = field(default_factory=set)
    seen: dict[tuple[str, str, str], int] = field(default_factory=dict)
    held: list[tuple[Rule, tuple[int, ...], str]] = field(default_factory=list)

    @classmethod
    def of_move(cls, target: Target, move: Transfer | Indirect, readings: Mapping[str, str]) -> Ruling:
        """For the engine that makes a move, within the move's limits."""
        tiers = move.source.tier, move.dest.tier
        return cls(target, target.engine_of(*tiers), *tiers, move.dtype, target.limits_with(move.limits), readings)

    def judge(self, instances: Sequence[Instance], only: Collection[str] | None = None) -> RuleReport:
        """All rules of the target, or those named in `only`, on every instance that they bind."""
        known: dict[int, Mapping[str, int]] = {}
        for rule in self.target.rules.values():
            if only is not None and rule.id not in only:
                continue
            for number, instance in enumerate(instances):
                if rule.scope == instance.scope and rule.applies(
                    self.engine, self.source_tier, self.dest_tier, instance.side, instance.tier
                ):
                    if number not in known:
                        known[number] = {**self.limits, **instance.values}
                    self._evaluate(rule, instance, known[number])
        differs = tuple(dict.fromkeys(self.differs))
        return RuleReport(tuple(self.findings), len(self.evaluated), differs, tuple(self.held))

    def _evaluate(self, rule: Rule, instance: Instance, values: Mapping[str, int]) -> None:
        missing = rule.missing(values)
        if missing:
            self.findings.append(
                Finding(
                    rule.id,
                    Severity.ERROR,
                    f"cannot be judged: nothing gives {', '.join(missing)}",
                    instance.place,
                    instance.span,
                    source=rule.source,
                    basis=rule.basis,
                )
            )
            return
        self.evaluated.add(rule.id)
        severity = rule.broken(values, self.readings)
        if rule.readings:
            outcomes = set(rule.outcomes(values, self.readings).values())
            if len({s is Severity.ERROR for s in outcomes}) > 1:
                self.differs.append(rule.id)
        if severity is None:
            if rule.severity_under(self.readings) is not None:
                ports = rule.values_under(values, self.readings)
                self.held.append((rule, tuple(ports[port] for port in rule.ports), instance.place))
            return
        key = (rule.id, instance.scope, instance.side)
        first = self.seen.get(key)
        if first is not None:
            self._count(first)
            return
        self.seen[key] = len(self.findings)
        self.findings.append(self._finding(rule, instance, values, severity))

    def _count(self, index: int) -> None:
        """One more command breaks a rule that is reported already."""
        old = self.findings[index]
        times = int(old.values.get("times", 1)) + 1
        self.findings[index] = replace(old, values={**old.values, "times": times})

    def _finding(self, rule: Rule, instance: Instance, values: Mapping[str, int], severity: Severity) -> Finding:
        words: dict[str, Any] = {
            "source_tier": self.source_tier,
            "dest_tier": self.dest_tier,
            "tier": instance.tier,
            "side": instance.side,
            "engine": self.engine,
            "dtype": self.dtype,
            "place": instance.place,
        }
        what, span = self._blame(rule, instance, values)
        labels = (Label(span, what),) if what and span is not None else ()
        notes = (what,) if what and span is None else ()
        # A divisor of 0 says that every address is 0: no multiple to speak of.
        shown = {p: "0 (address 0 alone)" if "gcd" in p and v == 0 else v for p, v in values.items()}
        return Finding(
            rule.id,
            severity,
            rule.message({**shown, **words}),
            instance.place,
            span,
            {port: values[port] for port in rule.ports},
            None,
            rule.source,
            rule.basis,
            rule.hint,
            notes,
            labels,
        )

    def _blame(self, rule: Rule, instance: Instance, values: Mapping[str, int]) -> tuple[str, Span | None]:
        """The single number that breaks the rule with all other addresses at 0, if there is one."""
        cleared = {**values, **{port: 0 for port, _, _, _ in instance.suspects}}
        if rule.holds({**cleared, **rule.limits_under(self.readings)}):
            for port, what, number, span in instance.suspects:
                if port in rule.ports and not rule.holds(
                    {**cleared, port: abs(number), **rule.limits_under(self.readings)}
                ):
                    return f"{what} is {number}", span or instance.span
        elif instance.packet_span is not None and any(p.startswith("packet") for p in rule.ports):
            return "", instance.packet_span
        return "", next((span for port, span in instance.spans if port in rule.ports), instance.span)


def transfer_instances(
    source: Tensor,
    dest: Tensor,
    stream: Stream | None,
    dtype: str,
    target: Target,
    commands: Sequence[Command],
    limits: Mapping[str, int],
    span: Span | None,
    buffers: tuple[Tensor, Tensor] | None = None,
    only: Collection[str] | None = None,
    *,
    readings: Mapping[str, str] | None = None,
) -> list[Instance]:
    """Everything that rules look at in a transfer. `buffers`: the memory behind views of source and destination;
    `only`: ports that are asked for, all by default.
    """
    missing = (readings or {}).get("core/same-element") == "broadcast-missing"
    bits = target.dtypes[dtype]
    whole = buffers or (source, dest)
    out = [
        Instance("tensor", tensor_facts(whole[0], bits, only), "source", source.span, "read", source.tier),
        Instance("tensor", tensor_facts(whole[1], bits, only), "dest", dest.span, "write", dest.tier),
        Instance(
            "transfer", transfer_facts(source, dest, dtype, target, commands, only, missing=missing), "transfer", span
        ),
    ]
    engines = Counter(command.engine for command in commands)
    for index, command in enumerate(commands):
        counts = engines[command.engine], len(commands)
        out.extend(_command_instances(index, command, counts, source, dest, stream, limits))
        out.extend(_copy_instances(index, command, len(commands), (source, dest), target, bits))
    return out


def _copy_instances(
    index: int, command: Command, many: int, tensors: tuple[Tensor, Tensor], target: Target, bits: int
) -> Iterator[Instance]:
    """The command as a copy instruction, where the machine has those."""
    source, dest = tensors
    route = target.copies_of(source.tier, dest.tier)
    if route is None:
        return
    from dmaverify.prove.move.copy_ports import copy_facts

    suffix = f" of command {index}" if many > 1 else ""
    for one in copy_facts(command, route, bits // 8):
        text, tensor = (command.read_text, source) if one.side == "read" else (command.write_text, dest)
        span = (text.span if text is not None else None) or command.span or tensor.span
        yield Instance(one.scope, one.values, one.what + suffix, span, one.side, one.tier)


def _command_instances(
    index: int,
    command: Command,
    counts: tuple[int, int],
    source: Tensor,
    dest: Tensor,
    stream: Stream | None,
    limits: Mapping[str, int],
) -> Iterator[Instance]:
    """`counts`: commands of its engine, and of all."""
    suffix = f" of command {index}" if counts[1] > 1 else ""
    texts = (("read", command.read_text, source), ("write", command.write_text, dest))
    packet = next((t.packet_span for _, t, _ in texts if t and t.packet_span), None)
    if packet is None and stream is not None:
        packet = stream.packet.span or stream.span
    span = (
        command.span or next((t.span for _, t, _ in texts if t and t.span), None) or (stream.span if stream else None)
    )
    yield Instance(
        "command",
        command_facts(command, counts[0]),
        f"command {index}" if suffix else "command",
        span,
        suspects=tuple(_suspects(command, source, dest)),
        packet_span=packet,
    )
    for side, text, tensor in texts:
        if text is not None:
            facts = sequencer_facts(text, command, limits, command.unit_bits)
            yield Instance(
                "sequencer",
                facts,
                f"{side} sequencer{suffix}",
                text.span or span,
                side,
                tensor.tier,
                packet_span=packet,
            )
            for number, own in enumerate(dimension_facts(text, command.unit_bits)):
                entry = text.entries[-1 - number]
                place = f"dimension {number} of the {side} side{suffix}"
                yield Instance("dimension", own, place, entry.span or text.span or span, side, tensor.tier)


def _suspects(command: Command, source: Tensor, dest: Tensor) -> Iterator[tuple[str, str, int, Span | None]]:
    """The numbers behind read_gcd and write_gcd: base first, then strides from outside in."""
    for side, port, text, tensor in (
        ("read", command.read, command.read_text, source),
        ("write", command.write, command.write_text, dest),
    ):
        base_span = (text.base_span if text else None) or tensor.base_span
        name = f"{side}_gcd"
        yield name, f"the {side} base", port.base * command.unit_bits // 8, base_span
        for number, loop in enumerate(command.loops):
            if loop.count < 2:
                continue
            stride = loop.read if side == "read" else loop.write
            span = _stride_span(text, loop.label, stride) or (loop.read_span if side == "read" else loop.write_span)
            yield name, f"the {side} stride of {loop.label or f'loop {number}'}", stride * command.unit_bits // 8, span


def _stride_span(text: Sequencer | None, label: str, stride: int) -> Span | None:
    for entry in text.entries if text else ():
        if entry.stride == stride and entry.label == label and entry.stride_span:
            return entry.stride_span
    return None


def access_instances(
    access: Access, commands: Sequence[Command], target: Target, limits: Mapping[str, int], buffer: Tensor
) -> list[Instance]:
    """Everything that rules look at in a Fetch or Commit access: its memory, its sequencer, its packets. `buffer` is
    the memory behind a view.
    """
    side = "read" if is_fetch(access) else "write"
    tier, dtype_bits = access.memory.tier, target.dtypes[access.dtype]
    sliced = target.tiers[tier].is_sliced
    out = [Instance("tensor", tensor_facts(buffer, dtype_bits), "memory", access.memory.span, side, tier)]
    packet = (access.config.packet_span if access.config else None) or access.stream.packet.span
    span = (access.config.span if access.config else None) or access.stream.span
    for command in commands:
        facts = memory_facts(command, access, limits, dtype_bits)
        out.append(Instance("sequencer", facts, "sequencer", span, side, tier, packet_span=packet))
        facts = access_facts(command, access, dtype_bits, sliced=sliced)
        out.append(Instance("access", facts, "access", span, side, tier, packet_span=packet))
    return out
