"""One run at one size, for all sizes that run alike: the region where it proves the plan, or where it breaks a rule.

Knows: the order of judgement on symbolic numbers, which facts belong to which rule.
Does not know: how sizes are searched, plan files.
Law: at every size of a `proved` region the plan is proved: what is well-formed, every core obligation, every rule that
is an error. At every size of a `broken` region that rule, or being well-formed, is broken. All else is `open`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm
from typing import Any

from dmaverify.errors import InputError, NoValue
from dmaverify.language.expr import Broadcast, Drop, Expr, Modulo, Padding, Pair, Resize, Stride, Symbol, Window
from dmaverify.language.numbers import Poly, Symbolic, same
from dmaverify.language.wellformed import SIZE_LIMIT
from dmaverify.layout.addresses import Layout
from dmaverify.layout.digits import NotDigits
from dmaverify.layout.fuse import fuse
from dmaverify.layout.refine import Joint, drive
from dmaverify.lower.adapters import access_facts, derived_access, given_access, memory_facts, slice_move
from dmaverify.lower.programs import Trouble, given_program, space_of, streamed_program
from dmaverify.program.access import Access
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.program.space import aliased_place, layout_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.move.cells import has_window
from dmaverify.prove.move.fold import Family, fold
from dmaverify.prove.move.ports import command_facts, dimension_facts, sequencer_facts, tensor_facts, transfer_facts
from dmaverify.prove.move.reach import walks_off
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.divisors import traced
from dmaverify.prove.sizes.facts import FactReason, SizedEntry, SizeFact, SizeRegion, Template
from dmaverify.prove.sizes.judge import Unproved, cells_of, judge
from dmaverify.prove.sizes.predicate import decide
from dmaverify.prove.sizes.shadow import number_of
from dmaverify.prove.sizes.trace import Restart, Stuck, Trace
from dmaverify.targets.modules import derived as derived_facts
from dmaverify.targets.modules import module_name
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import Target, load_obligations
from dmaverify.verdict import Severity

MOST_RESTARTS = 12
LOOP_PORTS = frozenset({
    "entries", "iterations", "stride_low", "stride_high", "burst_bytes", "inner_count", "inner_stride",
    "packet_run_bytes", "access_bytes", "runs_per_packet", "stride_gcd", "read_gcd", "write_gcd", "read_gcd_bits",
    "write_gcd_bits", "same_dmn", "padded_splits", "tail_bits", "tail_stride_bits",
})  # fmt: skip
"""Ports that may be others where a loop that runs once is left out of a nest, or two that step as one are joined."""
PLAIN_SCOPES = frozenset({"command", "sequencer", "tensor", "transfer", "access"})
OTHER_SCOPES = frozenset({"copy", "step", "reach", "flag", "buffer", "indirect"})
"""Scopes of kernels, gathers and scatters, which no transfer has."""


class BrokenRule(Exception):
    """A rule, or being well-formed, is broken here; the facts of it alone."""

    def __init__(self, rule: str, facts: Sequence[SizeFact], *, needs_loops: bool = False) -> None:
        super().__init__(rule)
        self.rule = rule
        self.facts = facts
        self.needs_loops = needs_loops  # so only if loops that run once are told from others


@dataclass
class Attempt:
    """`status`: proved, broken or open; of an open one `why` says what was not shown."""

    status: str
    region: SizeRegion | None = None
    why: str = ""
    rule: str = ""
    units: Any = 0
    obligations: dict[str, str] = field(default_factory=dict)


def attempt(
    template: Template,
    values: Mapping[str, int],
    options: Options,
    *,
    generic: bool,
    pinned: Sequence[str] = (),
    breaking: bool = False,
) -> Attempt:
    """Runs the plan at these sizes. Not `generic`: decisions are recorded as they fall, as some broken rules need them.
    `breaking`: only a broken rule is looked for, and what the core asks is left out; such a run proves nothing.
    """
    divisors = known_divisors(template, values)
    ends = {one.name: (one.first, one.last) for one in template.symbols}
    for _ in range(MOST_RESTARTS):
        try:
            trace = traced(values, tuple(divisors.items()), generic=generic, ends=ends)
            return _SizeRun(template, trace, options, pinned, breaking).run()
        except Restart as again:
            old = divisors.get(again.name, Poly.of(1))
            divisors[again.name] = old * again.by if _grows(divisors, again) else again.by
        except Unproved as error:
            return Attempt("open", None, error.why, error.obligation)
        except BrokenRule as error:
            if generic and error.needs_loops:
                return Attempt("open", None, f"{error.rule} is broken at this size", error.rule)
            return Attempt("broken", trace.region(error.facts), "", error.rule)
        except (Stuck, NotDigits, ValueError, TypeError, ZeroDivisionError, InputError) as error:
            return Attempt("open", None, f"symbols do not go through here: {error}")
    return Attempt("open", None, "too many divisibilities at once")


def known_divisors(template: Template, values: Mapping[str, int]) -> dict[str, Poly]:
    """What the declaration and the relations say that divides a size."""
    out = {one.name: Poly.of(one.multiple) for one in template.symbols if one.multiple > 1}
    names = {one.name for one in template.symbols}
    for fact in template.assume:
        if fact.op == "div" and fact.by is not None and len(fact.poly.terms) == 1 and fact.by.symbols <= names:
            ((mono, c),) = fact.poly.terms.items()
            if len(mono) != 1 or c != 1 or mono[0] in fact.by.symbols:
                continue
            old = out.get(mono[0])
            if old is None:
                out[mono[0]] = fact.by
            elif old.constant is not None and fact.by.constant is not None:
                out[mono[0]] = Poly.of(lcm(old.constant, fact.by.constant))
    return out


def _grows(divisors: Mapping[str, Poly], again: Restart) -> bool:
    """Whether the new divisor is beside the old one; one with symbols of its own multiplies, a number replaces."""
    old = divisors.get(again.name)
    if old is None or (old.constant is not None and again.by.constant is not None):
        return False
    return old.symbols.isdisjoint(again.by.symbols)


class _SizeRun:
    def __init__(
        self, template: Template, trace: Trace, options: Options, pinned: Sequence[str], breaking: bool
    ) -> None:
        self.breaking = breaking
        self.template = template
        self.trace = trace
        self.options = options
        self.pinned = pinned
        self.structure: list[SizeFact] = []
        self.as_read: list[SizeFact] = []
        self.records = load_obligations()

    def run(self) -> Attempt:
        numbers = {one.name: self._number(one.name) for one in self.template.symbols}
        self._about("core/well-formed")
        try:
            instance = self.template.at(numbers)
        except NoValue:
            raise BrokenRule("core/well-formed", list(self.trace.facts.values())) from None
        self.as_read = self._so_far()
        if any(True for _ in instance.problems):
            raise BrokenRule("core/well-formed", list(self.trace.facts.values()))
        target: Target = self.template.machine
        if isinstance(instance.item, Access):
            units = self._access(instance.item, target)
        else:
            units = self._transfer(instance, instance.item, target)
        if self.breaking:
            return Attempt("open", None, "no rule is broken")
        return Attempt("proved", self.trace.region(), units=units)

    def _number(self, name: str) -> Any:
        number = number_of(self.trace, name)
        if name in self.pinned and isinstance(number, Symbolic):
            return int(number)  # type: ignore[call-overload]
        return number

    def _about(self, rule: str, source: str = "") -> None:
        record = self.records.get(rule)
        self.trace.why = FactReason(rule, source or (record.source if record else "the plan file format"))

    def _so_far(self) -> list[SizeFact]:
        return list(self.trace.facts.values())

    # ------------------------------------------------------------ what is judged

    def _transfer(self, instance: SizedEntry, transfer: Transfer, target: Target) -> Any:
        if transfer.views is not None:
            raise Stuck("views are judged at single sizes only")
        bits = target.dtypes[transfer.dtype]
        exprs = [t.field(place) for t in (transfer.source, transfer.dest) for place in PLACES]
        for stream in (transfer.stream, *(one.stream for one in transfer.streams)):
            if stream is not None:
                exprs += [stream.chip, stream.cluster, stream.slice, stream.time, stream.packet]
        self._well_formed(exprs)
        programs: list[tuple[Command, ...]] = []
        derived = streamed_program(transfer, bits, target)
        given = given_program(transfer.given, transfer.source, transfer.dest, bits, target) if transfer.given else ()
        for program in (derived, given):
            if isinstance(program, list | Trouble):
                raise BrokenRule("core/well-formed", self._so_far(), needs_loops=True)
            if program:
                programs.append(program)
        if not programs:
            raise Stuck("a move without stream and commands is judged at single sizes only")
        for program in programs:
            self._core(transfer.source, transfer.dest, target, bits, program)
        self._apart(transfer, target, bits)
        limits = target.limits_with(transfer.limits)
        commands = programs[-1]
        self._rules(target, "dma", transfer, limits, lambda: _instances(transfer, target, commands, limits))
        return sum(command.amount for command in programs[-1])

    def _access(self, access: Access, target: Target) -> Any:
        if access.views is not None:
            raise Stuck("views are judged at single sizes only")
        bits = target.dtypes[access.dtype]
        self._well_formed([
            *(access.memory.field(place) for place in PLACES), access.stream.time, access.stream.packet,
            access.stream.chip, access.stream.cluster, access.stream.slice,
        ])  # fmt: skip
        source, dest = slice_move(access)
        transfer = Transfer(access.name, access.target, access.dtype, source, dest, limits=access.limits)
        found: list[Any] = [derived_access(access, space_of(target, access.memory.tier), bits)]
        if access.config is not None:
            config = access.config
            width = bits // 8 if bits >= 8 else 1
            inner = config.entries[-1].count if config.entries else 1
            stream = access.stream.packet.size * width
            fits = same(config.packet, stream) or same(config.packet, width)
            if not fits and inner % config.packet != 0:
                raise BrokenRule("core/well-formed", self._so_far())
            found.append(given_access(access, bits))
        for one in found:
            if not isinstance(one, Command):
                raise BrokenRule("core/well-formed", self._so_far(), needs_loops=True)
            self._core(source, dest, target, bits, (one,))
        limits = target.limits_with(access.limits)
        command = found[-1]

        def instances() -> Iterator[_Place]:
            side = "read" if access.engine == "fetch" else "write"
            tier = access.memory.tier
            yield _Place("tensor", _ports(tensor_facts, access.memory, bits), side, tier)
            yield _Place("sequencer", _ports(memory_facts, command, access, limits, bits), side, tier)
            yield _Place("access", _ports(_sliced_facts, command, access, bits, target), side, tier)

        self._rules(target, access.engine, transfer, limits, instances)
        return command.amount

    def _well_formed(self, exprs: Sequence[Expr]) -> None:
        for expr in exprs:
            if not _has_meaning(expr):
                raise BrokenRule("core/well-formed", self._so_far())

    # ------------------------------------------------------------ core

    def _core(self, source: Tensor, dest: Tensor, target: Target, bits: int, commands: Sequence[Command]) -> None:
        spaces = (space_of(target, source.tier), space_of(target, dest.tier))
        self.structure = self._so_far()
        self.trace.span += 1
        if self.breaking:
            return
        self._about("core/in-bounds")
        for side, space in zip((source, dest), spaces, strict=True):
            if has_window(side):
                raise Unproved("core/same-element", "overlapping windows are judged at single sizes only")
            if aliased_place(side, space, bits) is not None:
                raise Unproved("core/in-bounds", "places of the tensor overlap")
        if any(walks_off(command) for command in commands):
            raise Unproved("core/in-bounds", "an address is beyond every memory")
        families = fold(commands)
        layouts = [layout_of(t, s, bits) for t, s in zip((source, dest), spaces, strict=True)]
        if any(opaque for _, opaque in layouts):
            raise Unproved("core/same-element", "a mapping has no digits")
        joint = self._driven(layouts[0][0], layouts[1][0], families)
        readings = self.options.readings
        strict = readings.get("core/consumes") == "strict"
        missing = readings.get("core/same-element") == "broadcast-missing"
        if not joint.plain:
            fused = fuse(layouts[0][0], layouts[1][0])
            again = self._driven(*fused, families) if fused is not None else joint
            joint = again if again.plain else joint
        judge(joint, cells=cells_of(layouts[1][0]), strict_consumes=strict, missing=missing)

    def _driven(self, source: Layout, dest: Layout, families: Sequence[Family]) -> Joint:
        """Which cuts are tried decides nothing: what comes out is judged. That cuts divide is recorded all the same."""
        self.trace.loose = True
        try:
            return drive(source, dest, [f.nest for f in families])
        finally:
            self.trace.loose = False

    def _apart(self, transfer: Transfer, target: Target, bits: int) -> None:
        from dmaverify.prove.move.in_place import lie_apart

        if self.breaking:
            return
        self._about("core/overlap")
        source, dest = transfer.source, transfer.dest
        one = target.memory_of(source.tier) == target.memory_of(dest.tier)
        if one and not lie_apart(source, dest, space_of(target, source.tier).places, bits):
            raise Unproved("core/overlap", "source and destination may share bytes")

    # ------------------------------------------------------------ rules

    def _rules(
        self,
        target: Target,
        engine: str,
        transfer: Transfer,
        limits: Mapping[str, int],
        places: Callable[[], Iterator[_Place]],
    ) -> None:
        """Every rule that is an error holds; each rule is asked of facts of its own."""
        readings = self.options.readings
        before = dict(self.trace.facts)
        every = list(places())
        for rule in target.rules.values():
            severity = rule.severity_under(readings)
            if severity is not Severity.ERROR:
                continue
            if rule.scope not in {*PLAIN_SCOPES, "dimension"} and not any(p.scope == rule.scope for p in every):
                self._unknown_scope(rule, engine, transfer)
            for place in every:
                if rule.scope != place.scope or not rule.applies(
                    engine, transfer.source.tier, transfer.dest.tier, place.side, place.tier
                ):
                    continue
                self._rule(rule, place, limits, before)

    def _unknown_scope(self, rule: Rule, engine: str, transfer: Transfer) -> None:
        """A rule of a scope that nothing here has: of the machine's other things, or one that is not judged here.

        A scope of the machine's own without an instance is one that its module derives of other plans only; where the
        machine has no module, nothing says so.
        """
        machine = self.template.machine
        derives = rule.scope in machine.scopes and module_name(machine) is not None
        if rule.scope not in OTHER_SCOPES and not derives:
            raise Stuck(f"{rule.id} is judged at single sizes only")

    def _rule(self, rule: Rule, place: _Place, limits: Mapping[str, int], before: Mapping[SizeFact, SizeFact]) -> None:
        self.trace.facts, kept = {}, self.trace.facts
        self.trace.span += 1
        self.trace.why = FactReason(rule.id, rule.source)
        values = {**limits, **place.facts(rule.ports), **rule.limits_under(self.options.readings)}
        missing = rule.missing(values)
        holds = not missing and decide(rule.function.body, {port: values[port] for port in rule.ports}, self.trace)
        own = self.trace.facts
        if not holds:
            self.trace.facts = {**before, **own}
            fragile = bool(LOOP_PORTS & set(rule.ports)) or place.scope not in PLAIN_SCOPES
            # Ports that no loop has a part in are numbers of the text, whatever way the rest takes: where that ends
            # otherwise, it ends as not well-formed, which is broken too.
            raise BrokenRule(
                rule.id, [*(self.structure if fragile else self.as_read), *own.values()], needs_loops=fragile
            )
        self.trace.facts = {**kept, **own}


@dataclass(frozen=True, slots=True)
class _Place:
    """Something that rules look at, its ports computed anew for each rule, so that each has its own facts."""

    scope: str
    facts: Callable[[Collection[str]], Mapping[str, Any]]
    side: str = ""
    tier: str = ""


def _instances(
    transfer: Transfer, target: Target, commands: Sequence[Command], limits: Mapping[str, int]
) -> Iterator[_Place]:
    bits = target.dtypes[transfer.dtype]
    source, dest = transfer.source, transfer.dest
    yield _Place("tensor", _ports(tensor_facts, source, bits), "read", source.tier)
    yield _Place("tensor", _ports(tensor_facts, dest, bits), "write", dest.tier)
    yield _Place("transfer", _ports(transfer_facts, source, dest, transfer.dtype, target, commands))
    for command in commands:
        yield _Place("command", _ports(command_facts, command, commands))
        for side, text, tensor in (("read", command.read_text, source), ("write", command.write_text, dest)):
            if text is not None:
                ports = _ports(sequencer_facts, text, command, limits, command.unit_bits)
                yield _Place("sequencer", ports, side, tensor.tier)
                for facts in dimension_facts(text, command.unit_bits):
                    yield _Place("dimension", _ports(_as_they_are, facts), side, tensor.tier)
    for one in derived_facts(transfer, target, commands):
        yield _Place(one.scope, _ports(_as_they_are, one.values), one.side)


def _sliced_facts(
    command: Command, access: Access, bits: int, target: Target, only: Collection[str]
) -> Mapping[str, Any]:
    sliced = target.tiers[access.memory.tier].is_sliced
    return access_facts(command, access, bits, only, sliced=sliced)


def _as_they_are(values: Mapping[str, Any], only: Collection[str]) -> Mapping[str, Any]:
    return values


def _ports(function: Callable[..., Mapping[str, Any]], *given: Any) -> Callable[[Collection[str]], Mapping[str, Any]]:
    return lambda only: function(*given, only)


def _has_meaning(expr: Expr) -> bool:
    """Whether a mapping has no problem that is an error: positive sizes, even cuts, no `#` below, no `=` beyond."""
    match expr:
        case Symbol(_, size) | Broadcast(size):
            return bool(size > 0) and bool(size < SIZE_LIMIT)
        case Pair(left, right):
            return _has_meaning(left) and _has_meaning(right) and bool(expr.size < SIZE_LIMIT)
        case Stride(inner, by) | Modulo(inner, by):
            return _has_meaning(inner) and bool(by > 0) and bool(inner.size % by == 0)
        case Resize(inner, to):
            return _has_meaning(inner) and bool(to > 0) and bool(to <= inner.size)
        case Padding(inner, to, _):
            return _has_meaning(inner) and bool(to >= inner.size) and bool(to < SIZE_LIMIT)
        case Drop(inner, first):
            return _has_meaning(inner) and bool(first < inner.size)
        case Window():
            raise Stuck("windows are judged at single sizes only")
