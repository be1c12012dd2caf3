"""One run at one size, for all sizes that run alike: the region where it proves the plan, or where it breaks a rule.

Knows: the order of judgement on symbolic numbers, which facts belong to which rule.
Does not know: how sizes are searched, plan files.
Law: at every size of a `proved` region the plan is proved: what is well-formed, every core obligation, every rule that
is an error. At every size of a `broken` region that rule, or being well-formed, is broken. All else is `open`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from dmaverify.errors import NoValue
from dmaverify.language.expr import ONE, Expr, Padding, pair, terms_of
from dmaverify.language.numbers import Symbolic, same
from dmaverify.layout.addresses import Layout
from dmaverify.layout.digits import NotDigits
from dmaverify.layout.fuse import fuse
from dmaverify.layout.refine import Joint, drive
from dmaverify.lower.adapters import derived_access, given_access, is_fetch, slice_move
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.programs import given_program, space_of, streamed_program
from dmaverify.program.access import Access
from dmaverify.program.command import Command
from dmaverify.program.move import Stream, Transfer
from dmaverify.program.schedule import Circle, Program, order_of, torn_body
from dmaverify.program.space import aliased_place, layout_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.program.views import Views
from dmaverify.prove.flow.accesses.touches import work_of
from dmaverify.prove.flow.order.regions import leaves_its_region
from dmaverify.prove.move.alone import packets_of, told_of_packet, unfilled
from dmaverify.prove.move.cells import has_window
from dmaverify.prove.move.copy_ports import left_behind, told_of_first, told_of_span
from dmaverify.prove.move.feasible import ONE_UNIT, ContiguousRun, longest_run
from dmaverify.prove.move.fold import Family, fold
from dmaverify.prove.move.in_place import lie_apart
from dmaverify.prove.move.preconditions import beyond, foreign, missing_engine
from dmaverify.prove.move.reach import walks_off
from dmaverify.prove.move.script import Script
from dmaverify.prove.move.views import moved_commands, place_findings, telling_iterations
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.defined import SizedQuestions
from dmaverify.prove.sizes.divisors import NOT_SYMBOLIC, at_sizes
from dmaverify.prove.sizes.facts import FactReason, SizeFact, SizeRegion, Template
from dmaverify.prove.sizes.judge import Unproved, cells_of, has_meaning, judge
from dmaverify.prove.sizes.programs import judge_together
from dmaverify.prove.sizes.rules import BrokenRule, RulePlace, SizedRules, access_places, span_places, transfer_places
from dmaverify.prove.sizes.shadow import number_of
from dmaverify.prove.sizes.trace import Stuck, Trace
from dmaverify.targets.target import Target, load_obligations
from dmaverify.values import dataclass, replace


@dataclass
class Attempt:
    """`status`: proved, broken or open; of an open one `why` says what was not shown."""

    status: str
    region: SizeRegion | None = None
    why: str = ""
    rule: str = ""
    said: tuple[str, ...] = ()  # what a proof rests on
    scripts: tuple[Script, ...] = ()  # for all sizes of the region, where they were asked for
    left: tuple[str, ...] = ()  # what has none


def attempt(
    template: Template,
    values: Mapping[str, int],
    options: Options,
    *,
    generic: bool,
    pinned: Sequence[str] = (),
    breaking: bool = False,
    defined: bool = False,
) -> Attempt:
    """Runs the plan at these sizes. Not `generic`: decisions are recorded as they fall, as some broken rules need them.
    `breaking`: only a broken rule is looked for, and what the core asks is left out; such a run proves nothing.
    `defined`: everything is written as questions from definitions too.
    """

    if template.by_size:
        return Attempt("open", None, template.by_size)

    def once(trace: Trace) -> Attempt:
        try:
            return _SizeRun(template, trace, options, pinned, breaking, SizedQuestions() if defined else None).run()
        except Unproved as error:
            return Attempt("open", None, error.why, error.obligation)
        except BrokenRule as error:
            if generic and error.needs_loops:
                return Attempt("open", None, f"{error.rule} is broken at this size", error.rule)
            return Attempt("broken", trace.region(error.facts), "", error.rule)

    try:
        return at_sizes(template, values, once, generic=generic)
    except (*NOT_SYMBOLIC, NotDigits) as error:
        return Attempt("open", None, f"symbols do not go through here: {error}")


class _SizeRun:
    def __init__(
        self, template: Template, trace: Trace, options: Options, pinned: Sequence[str], breaking: bool,
        asked: SizedQuestions | None,
    ) -> None:  # fmt: skip
        self.breaking, self.asked = breaking, asked
        self.template, self.trace = template, trace
        self.options, self.pinned = options, pinned
        self.structure: list[SizeFact] = []
        self.as_read: list[SizeFact] = []
        self.records = load_obligations()
        self.said: list[str] = []

    def run(self) -> Attempt:
        numbers = {one.name: self._number(one.name) for one in self.template.symbols}
        self._about("core/well-formed")
        try:
            instance = self.template.at(numbers)
        except NoValue:  # a loop of one turn may have a meaning where others have none
            raise BrokenRule("core/well-formed", self._so_far(), needs_loops=True) from None
        self.as_read = self._so_far()
        if any(True for _ in instance.problems):
            raise BrokenRule("core/well-formed", self._so_far(), needs_loops=True)
        machine = self.template.machine
        if isinstance(instance.item, Program):
            self.said += self._program(instance.item, machine)
        else:
            self._one(instance.item, machine)
        if self.breaking:
            return Attempt("open", None, "no rule is broken")
        said, asked = tuple(dict.fromkeys(self.said)), self.asked
        if asked is None:
            return Attempt("proved", self.trace.region(), said=said)
        scripts, region = asked.scripts_at(self.template, self.trace)
        return Attempt("proved", region, said=said, scripts=tuple(scripts), left=tuple(asked.left))

    def _one(self, item: Transfer | Access, target: Target) -> None:
        if any(True for _ in foreign(item, target)):
            raise BrokenRule("core/well-formed", self.as_read)
        if any(True for _ in beyond(item, target)):
            raise BrokenRule("core/well-formed", self._so_far(), needs_loops=True)
        self._access(item, target) if isinstance(item, Access) else self._transfer(item, target)

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

    def _program(self, program: Program, target: Target) -> tuple[str, ...]:
        """Each step by itself, then all of them together."""
        seen: set[tuple[str, Any]] = set()
        for step in program.steps:
            if any(True for _ in step.problems):
                raise BrokenRule("core/well-formed", self._so_far())
            for work in (step.transfer, *step.accesses):
                key = "" if work is None else work.name, step.around and step.loops
                if work is not None and (step.inline or key not in seen):
                    seen.add(key)
                    self._one(work, target)
        self._about("core/regions")
        if any(leaves_its_region(step, program, target) for step in program.steps):
            raise BrokenRule("core/regions", self._so_far(), needs_loops=True)
        self._about("core/steps")
        if self.asked is not None:
            self.asked.left.append("steps together, at sizes besides those that were asked")
        works = [work_of(index, step, target) for index, step in enumerate(program.steps)]
        order = order_of(program, [work.lanes for work in works])
        if isinstance(order, Circle) or torn_body(program, order) or any(work.troubles for work in works):
            raise BrokenRule("core/well-formed", self._so_far(), needs_loops=True)
        return () if self.breaking else judge_together(program, works, order, target, self.trace)

    def _transfer(self, transfer: Transfer, target: Target) -> None:
        bits = target.dtypes[transfer.dtype]
        exprs = [t.field(place) for t in (transfer.source, transfer.dest, *transfer.buffers) for place in PLACES]
        for stream in (transfer.stream, *(one.stream for one in transfer.streams)):
            if stream is not None:
                exprs += [stream.chip, stream.cluster, stream.slice, stream.time, stream.packet]
        self._well_formed(exprs)
        programs: list[tuple[Command, ...]] = []
        derived = streamed_program(transfer, bits, target)
        given = given_program(transfer.given, transfer.source, transfer.dest, bits, target) if transfer.given else ()
        for program in (derived, given):
            if isinstance(program, list | Trouble) or missing_engine(program or (), target):
                raise BrokenRule("core/well-formed", self._so_far(), needs_loops=True)
            if program:
                programs.append(program)
        if not programs:
            self._alone(transfer, target, bits)
            return
        for program in programs:
            self._core(transfer, target, bits, program)
        self._apart(transfer, target, bits)
        limits = target.limits_with(transfer.limits)
        rules = self._rules(target, target.engine_of(transfer.source.tier, transfer.dest.tier), transfer, limits)
        commands = programs[-1]
        rules.hold(transfer_places(transfer, target, commands, limits))
        self.said += left_behind(transfer, commands, target, space_of(target, transfer.dest.tier), bits)
        for counters, views in self._iterations(transfer.views, target):
            moved = moved_commands(commands, views, counters, target)
            rules.hold(transfer_places(transfer, target, moved, limits), moved=True)

    def _alone(self, transfer: Transfer, target: Target, bits: int) -> None:
        """Without stream and commands: a nest that walks the destination does it, element by element; and the best
        packet that any stream could have keeps the rules of a command.
        """
        program = streamed_program(replace(transfer, stream=_walk_of(transfer.dest)), bits, target)
        if not isinstance(program, tuple):
            raise Stuck("no nest of loops was found that walks the destination")
        self._core(transfer, target, bits, program)
        self._apart(transfer, target, bits)
        limits = target.limits_with(transfer.limits)
        rules = self._rules(target, target.engine_of(transfer.source.tier, transfer.dest.tier), transfer, limits)
        rules.hold(transfer_places(transfer, target, (), limits))
        rules.hold(span_places(transfer, target), only=told_of_span(target, limits))
        self._of_any_stream(transfer, target, bits, rules)
        source, dest = (layout_of(t, space_of(target, t.tier), bits)[0] for t in (transfer.source, transfer.dest))
        self.said += unfilled(transfer, (source, dest), target)
        for counters, _ in self._iterations(transfer.views, target):
            self._of_any_stream(transfer.at_iteration(counters), target, bits, rules, moved=True)

    def _of_any_stream(
        self, transfer: Transfer, target: Target, bits: int, rules: SizedRules, *, moved: bool = False
    ) -> None:  # fmt: skip
        """Where copies begin, and one of the packets that a stream could have, keep the rules."""
        if target.copies_of(transfer.source.tier, transfer.dest.tier) is not None:
            only = told_of_first(target, rules.limits)
            rules.hold(span_places(transfer, target, first=True), only=only, moved=moved)

        def broken_by(
            facts: Mapping[str, Any], made: Callable[[Collection[str]], Mapping[str, Any]]
        ) -> list[BrokenRule]:
            try:
                rules.hold([RulePlace("command", made)], only=told_of_packet(target, facts, rules.limits), moved=moved)
            except BrokenRule as error:
                return [error]
            return []

        single = next(packets_of(ONE_UNIT, bits))  # a part of every run: where it will do, no run is looked for
        if not broken_by(single, lambda _: single):
            return
        broken: list[BrokenRule] = []
        while facts := self._packet(len(broken), transfer, target, bits):
            more = broken_by(facts, partial(self._packet, len(broken), transfer, target, bits))
            if not more:
                return
            broken += more
        run = self._run_of(transfer, target, bits)
        if run.shorter and isinstance(run.units, Symbolic):
            raise Unproved(broken[0].rule, "a run over padding has packets that are tried at single sizes only")
        every = [fact for one in broken for fact in one.facts]
        raise BrokenRule(broken[0].rule, every, needs_loops=any(one.needs_loops for one in broken))

    def _packet(
        self, number: int, transfer: Transfer, target: Target, bits: int, _: Collection[str] = ()
    ) -> Mapping[str, Any]:  # fmt: skip
        """The packet of that number; nothing behind the last one."""
        generic, self.trace.generic = self.trace.generic, False  # nobody judges what comes out: all is recorded
        try:
            return next(islice(packets_of(self._run_of(transfer, target, bits), bits), number, None), {})
        finally:
            self.trace.generic = generic

    def _run_of(self, transfer: Transfer, target: Target, bits: int) -> ContiguousRun:
        sides = [layout_of(t, space_of(target, t.tier), bits)[0] for t in (transfer.source, transfer.dest)]
        return longest_run(*sides)

    def _access(self, access: Access, target: Target) -> None:
        bits = target.dtypes[access.dtype]
        self._well_formed([
            *(access.memory.field(place) for place in PLACES), access.stream.time, access.stream.packet,
            access.stream.chip, access.stream.cluster, access.stream.slice,
        ])  # fmt: skip
        source, dest = slice_move(access)
        transfer = Transfer(
            access.name, access.target, access.dtype, source, dest, limits=access.limits, views=access.views
        )
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
            self._core(transfer, target, bits, (one,))
        limits = target.limits_with(access.limits)
        rules = self._rules(target, access.engine, transfer, limits)
        buffer = transfer.buffers[0 if is_fetch(access) else 1] if access.views is not None else access.memory
        rules.hold(access_places(access, target, found[-1], limits, buffer))
        for counters, views in self._iterations(access.views, target):
            (moved,) = moved_commands(found[-1:], views, counters, target)
            rules.hold(access_places(access, target, moved, limits, buffer), moved=True)

    def _rules(self, target: Target, engine: str, transfer: Transfer, limits: Mapping[str, int]) -> SizedRules:
        tiers = (transfer.source.tier, transfer.dest.tier)
        return SizedRules(
            self.trace, target, self.options.readings, engine, tiers, limits, self.as_read, self.structure,
            None if self.asked is None else self.asked.held,
        )  # fmt: skip

    def _iterations(self, views: Views | None, target: Target) -> Iterator[tuple[tuple[int, ...], Views]]:
        """Counters of the iterations besides the first whose multiples stand for all; the places of views first."""
        if views is None:
            return
        found = next(place_findings(views), None)
        if found is not None:
            raise BrokenRule(found.rule, self._so_far(), needs_loops=True)
        for counters in telling_iterations(views, target):
            yield counters, views

    def _well_formed(self, exprs: Sequence[Expr]) -> None:
        for expr in exprs:
            if not has_meaning(expr):
                raise BrokenRule("core/well-formed", self._so_far())

    # ------------------------------------------------------------ core

    def _core(self, transfer: Transfer, target: Target, bits: int, commands: Sequence[Command]) -> None:
        source, dest, views = transfer.source, transfer.dest, transfer.views
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
        if any(walks_off(command, spaces) for command in commands):
            raise Unproved("core/in-bounds", "an address is beyond every memory")
        families = fold(commands)
        layouts = [layout_of(t, s, bits) for t, s in zip((source, dest), spaces, strict=True)]
        if any(opaque for _, opaque in layouts):
            raise Unproved("core/same-element", "a mapping has no digits")
        joint = self._driven(layouts[0][0], layouts[1][0], families)
        readings = self.options.readings
        strict = readings.get("core/consumes") == "strict"
        missing = readings.get("core/same-element") == "broadcast-missing"
        if not joint.plain and (fused := fuse(layouts[0][0], layouts[1][0])) is not None:
            again = self._driven(*fused, families)
            joint = again if again.plain else joint
        moves = views is not None and views.source is not None and bool(views.source.shift[3].most(views.turns) > 0)
        judge(joint, cells_of(layouts[1][0]), strict_consumes=strict, missing=missing, moving_source=moves)
        if self.asked is not None:
            self.asked.ask_move(self.trace, transfer, spaces, target, commands, dict(readings))

    def _driven(self, source: Layout, dest: Layout, families: Sequence[Family]) -> Joint:
        """Which cuts are tried decides nothing: what comes out is judged. That cuts divide is recorded all the same."""
        self.trace.loose = True
        try:
            return drive(source, dest, [f.nest for f in families])
        finally:
            self.trace.loose = False

    def _apart(self, transfer: Transfer, target: Target, bits: int) -> None:
        if self.breaking:
            return
        self._about("core/overlap")
        source, dest = transfer.buffers
        one = target.memory_of(source.tier) == target.memory_of(dest.tier)
        if one and not lie_apart(source, dest, space_of(target, source.tier), bits):
            raise Unproved("core/overlap", "source and destination may share bytes")


def _walk_of(dest: Tensor) -> Stream:
    """The order of the destination, one element at a time."""
    terms = [term for place in PLACES for term in terms_of(dest.field(place))]
    return Stream(pair(*(one.inner if isinstance(one, Padding) else one for one in terms)), ONE)
