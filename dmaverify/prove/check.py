"""One transfer or access of a plan, judged: well-formed, the core obligations, the machine's rules, one verdict.

Knows: the order of judgement, which program is judged against what, what each status means for the verdict.
Does not know: how plans are read, how verdicts are shown.
Law: errors decide the verdict, warnings never do; what could not be judged is said and is never a pass. Everything broken is
reported, not the first; obligations that assume bounds are judged on the units in bounds, and say so.

Source: DESIGN sections 4 and 5; PLANFILE, What is judged.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dmaverify.errors import Span
from dmaverify.language import wellformed
from dmaverify.language.expr import ONE, Expr, pair
from dmaverify.layout.digits import NotDigits
from dmaverify.machines.target import Target, load_obligations, load_target
from dmaverify.prove.core import OBLIGATIONS, CoreResult, judge_core
from dmaverify.prove.overlap import Early, written_early
from dmaverify.prove.program import (
    Trouble,
    derived_program,
    first_difference,
    given_program,
    same_nests,
    same_units,
    space_of,
    streamed_program,
)
from dmaverify.prove.repair import Repair, repairs
from dmaverify.prove.smt import RLIMIT, Session, solver_version
from dmaverify.prove.static import RuleReport, Ruling, access_instances, transfer_instances
from dmaverify.prove.witness import Disagreement, Scene, Side, finding_of, full_counters, named_counters
from dmaverify.transfer.access import Access, PlanProblem
from dmaverify.transfer.adapters import derived_access, given_access, slice_move
from dmaverify.transfer.command import Command, GivenCommand, Sequencer
from dmaverify.transfer.move import PLACES, Stream, Tensor, Transfer
from dmaverify.transfer.space import LOCAL_LIMIT, Space, layout_of, unit_bits_of
from dmaverify.verdict import Finding, Label, Obligation, Severity, Status, Verdict

REPAIR_UNITS = 1 << 16  # proposals that only an enumeration beyond this could prove are not made
MOST_TOLD = 6  # wrong numbers that one message lists
REPAIR_COMMANDS = 48  # commands judged to prove proposals: a single number rarely mends a move of many commands


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge. `cross_check`: moves up to this many units are executed by numpy as well (0: none)."""

    readings: Mapping[str, str] = field(default_factory=dict)
    rlimit: int = RLIMIT
    cross_check: int = 0
    repair: bool = True


@dataclass
class _Case:
    """A transfer on its way to a verdict."""

    transfer: Transfer
    target: Target
    options: Options
    axes: Mapping[str, int]
    spaces: tuple[Space, Space]
    findings: list[Finding] = field(default_factory=list)
    status: dict[str, str] = field(default_factory=dict)
    by: dict[str, str] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    units: int = 0
    differs: tuple[str, ...] = ()
    rules: int = 0

    # ------------------------------------------------------------ well-formed

    def well_formed(self, extra: Iterable[PlanProblem]) -> bool:
        """Reports what makes no sense; whether the meaning is defined, so that judging can go on."""
        going = True
        for stated in extra:
            self.ill(stated.message, stated.span, stated.hint)
            going = going and not stated.fatal
        fields = [(t, place) for t in (self.transfer.source, self.transfer.dest) for place in PLACES]
        exprs: list[Expr] = [t.field(place) for t, place in fields]
        stream = self.transfer.stream
        for one in (stream, *(each.stream for each in self.transfer.streams)):
            if one is not None:
                exprs += [one.chip, one.cluster, one.slice, one.time, one.packet]
        seen: set[tuple[str, int]] = set()
        for expr in exprs:
            if expr is ONE:
                continue
            for problem in wellformed.problems(expr, self.axes):
                key = (problem.message, problem.span.start if problem.span else -1)
                if key in seen:
                    continue
                seen.add(key)
                severity = Severity.WARNING if problem.warning else Severity.ERROR
                self.ill(problem.message, problem.span, problem.hint, severity)
                going = going and not problem.fatal
        return going

    def ill(
        self, message: str, span: Span | None, hint: str, severity: Severity = Severity.ERROR,
        labels: tuple[Label, ...] = (), notes: tuple[str, ...] = (),
    ) -> None:
        self.findings.append(
            Finding(
                "core/well-formed", severity, message, "plan", span, source="DESIGN, Meaning and Obligations", hint=hint,
                labels=labels, notes=notes,
            )
        )
        if severity is Severity.ERROR:
            self.status["core/well-formed"] = "refuted"

    def trouble(self, trouble: Trouble, notes: tuple[str, ...] = ()) -> None:
        labels = (Label(trouble.other, trouble.other_text),) if trouble.other is not None else ()
        self.ill(trouble.message, trouble.span, trouble.hint, labels=labels, notes=notes)

    # ------------------------------------------------------------ programs

    @property
    def bits(self) -> int:
        return self.target.dtypes[self.transfer.dtype]

    def judge(self, commands: Sequence[Command], what: str) -> CoreResult:
        """The core obligations of one program; findings added, `what` names the program in notes."""
        transfer = self.transfer
        session = Session(self.options.rlimit)
        result = judge_core(
            transfer.source, transfer.dest, self.spaces, self.bits, commands, self.options.readings, session
        )
        self.asked += [(f"{what}: {name}", text, status) for name, text, status in session.asked]
        self.units = max(self.units, result.units)
        for name, status in result.status.items():
            if name == "core/consumes" and status == "refuted" and not self.strict_consumes:
                status = "reported"
            if _worse(status, self.status.get(name)):
                self.status[name] = status
                self.by[name] = f"{result.by}{f' ({result.why})' if result.why else ''}"
        scene = Scene(
            Side(transfer.source, self.spaces[0], self.bits), Side(transfer.dest, self.spaces[1], self.bits), commands
        )
        proposals = self._proposals(commands, result) if result.broken and self.options.repair else []
        self._report(result, scene, what, proposals)
        self._cross_check(result, commands)
        return result

    @property
    def strict_consumes(self) -> bool:
        return self.options.readings.get("core/consumes") == "strict"

    def _report(self, result: CoreResult, scene: Scene, what: str, proposals: Sequence[Repair]) -> None:
        records = load_obligations()
        for broken in result.broken:
            finding = finding_of(broken, scene)
            if finding.rule == "core/consumes" and self.strict_consumes:
                finding = replace(finding, severity=Severity.ERROR)
            notes = finding.notes
            if what:
                notes = (*notes, what)
            hint, span, labels = finding.hint, finding.span, finding.labels
            if proposals and finding.severity is Severity.ERROR:
                best = proposals[0]
                hint = best.text
                if len(proposals) > 1:
                    hint += f"; or {proposals[1].text}"
                if best.span is not None:
                    span = best.span
                    others = tuple(x for x in labels if x.span not in (finding.span, span))
                    labels = (Label(span, f"{best.printed}, must be {best.right}"), *others)
            record = records.get(finding.rule)
            self.findings.append(
                replace(
                    finding, notes=notes, hint=hint, span=span, labels=labels,
                    source=record.source if record else finding.source,
                )
            )

    def _proposals(self, commands: Sequence[Command], result: CoreResult) -> list[Repair]:
        if all(b.obligation == "core/consumes" for b in result.broken) or result.why:
            return []
        source, dest = self.transfer.source, self.transfer.dest
        try:
            layouts = (layout_of(source, self.spaces[0], self.bits)[0], layout_of(dest, self.spaces[1], self.bits)[0])
        except NotDigits:
            return []
        if result.joint is not None:
            layouts = (result.joint.source, result.joint.dest)

        named = {b.command for b in result.broken if b.command is not None}
        if len(named) > 1:
            return []  # no single number of one command mends several
        first = min(named, default=0)
        commands = [commands[first], *commands[:first], *commands[first + 1 :]]
        left = max(1, REPAIR_COMMANDS // len(commands))

        def holds(changed: Sequence[Command]) -> bool:
            nonlocal left
            left -= 1
            if left < 0:
                return False
            again = judge_core(
                source, dest, self.spaces, self.bits, changed, self.options.readings, Session(self.options.rlimit // 10),
                REPAIR_UNITS,
            )
            return all(v == "proved" for k, v in again.status.items() if k != "core/consumes")

        return repairs(commands, layouts[0], layouts[1], holds)

    def _cross_check(self, result: CoreResult, commands: Sequence[Command]) -> None:
        if not self.options.cross_check or result.units > self.options.cross_check or "enumeration" in result.by:
            return
        from dmaverify.execute import TooLarge, execute

        try:
            done = execute(
                self.transfer.source, self.transfer.dest, *self.spaces, self.bits, commands, readings=self.options.readings
            )
        except TooLarge:
            return
        for name in OBLIGATIONS:
            status = result.status[name]
            if status in ("proved", "refuted") and (name in done.broken) != (status == "refuted"):
                raise Disagreement(f"{name}: the proof says {status}, executing every unit says otherwise")
        self.assumptions.append(f"numpy agrees on all {result.units:,} units")

    def same_program(self, derived: Sequence[Command], given: Sequence[Command], results: tuple[CoreResult, CoreResult]) -> None:
        """The printed program against the stream's."""
        right = [_keeps(r) for r in results]
        if same_nests(derived, given) or all(right):
            self.status["core/same-program"], self.by["core/same-program"] = "proved", "equal nests or both keep the promise"
            return
        same: bool | None = False if right[0] != right[1] else same_units(derived, given)
        if same is None:
            self.status["core/same-program"] = "not judged"
        elif same:
            self.status["core/same-program"] = "proved"
            self.by["core/same-program"] = "enumeration"
        else:
            self.status["core/same-program"] = "refuted"
            self.differ(derived, given)

    def differ(self, derived: Sequence[Command], given: Sequence[Command]) -> None:
        message, span, values, hint = "the printed commands do not do what the stream says", None, {}, ""
        stream = self.transfer.stream
        labels: tuple[Label, ...] = ()
        if stream is not None and stream.span is not None:
            labels = (Label(stream.span, "the stream"),)
        if not given:
            message += ": they make no command at all"
            both = zip(self.transfer.given, derived, strict=False)
            wrong = [number for one, other in both for number in _wrong_numbers(one, other)]
            if wrong:
                said = [f"{what} is {have}, the stream asks for {want}" for what, _, have, want in wrong[:MOST_TOLD]]
                message += "; " + "; ".join(said)
                span = wrong[0][1]
                labels += tuple(Label(at, f"{have}, must be {want}") for _, at, have, want in wrong[:MOST_TOLD] if at)
        elif len(derived) != len(given):
            message += f": {len(given)} commands against {len(derived)}"
        for index, (one, other) in enumerate(zip(given, derived, strict=False)):
            found = first_difference(one, other)
            if found is not None:
                what, span, have, want = found
                word = f" of command {index}" if len(given) > 1 else ""
                message += f": {what}{word} is {have}, the stream asks for {want}"
                values = {"printed": have, "stream": want}
                hint = f"write {want} there, or change the stream"
                labels += (Label(span, f"{have}, the stream asks for {want}"),) if span is not None else ()
                break
        self.findings.append(
            Finding(
                "core/same-program", Severity.ERROR, message, "commands", span or self.transfer.span, values,
                source="DESIGN, Obligations", hint=hint, labels=labels,
            )
        )

    def rules_on(self, commands: Sequence[Command]) -> RuleReport:
        transfer, target = self.transfer, self.target
        limits = target.limits_with(transfer.limits)
        ruling = Ruling(
            target, "dma", transfer.source.tier, transfer.dest.tier, transfer.dtype, limits, self.options.readings
        )
        instances = transfer_instances(
            transfer.source, transfer.dest, transfer.stream, transfer.dtype, target, commands, limits, transfer.span
        )
        return ruling.judge(instances)

    def take(self, report: RuleReport, without: frozenset[str] = frozenset()) -> None:
        self.findings += [f for f in report.findings if f.rule not in without]
        self.rules, self.differs = report.evaluated, report.differs

    # ------------------------------------------------------------ verdict

    def verdict(self, seconds: float, path: str, line: int) -> Verdict:
        errors = [f for f in self.findings if f.severity is Severity.ERROR]
        if errors:
            status = Status.REFUTED
        elif "unknown" in self.status.values():
            status = Status.UNKNOWN
        else:
            status = Status.PROVED
        order = ("core/well-formed", *OBLIGATIONS, "core/overlap", "core/same-program")
        obligations = [
            Obligation(name, self.status[name], self.by.get(name, "")) for name in order if name in self.status
        ]
        if self.rules:
            broken = {f.rule for f in errors if not f.rule.startswith("core/")}
            obligations.append(
                Obligation(f"{self.target.name}/*", "refuted" if broken else "proved", f"{self.rules} rules folded")
            )
        readings = dict(self.options.readings)
        assumptions = list(self.assumptions)
        for finding in self.findings:
            if finding.severity is not Severity.ERROR and finding.basis not in ("documented", ""):
                assumptions.append(f"{finding.rule} is a {finding.severity.value} (basis: {finding.basis})")
        for rule in self.differs:
            assumptions.append(f"{rule}: the verdict differs under another reading")
        word = "half bytes" if unit_bits_of(self.bits) == 4 else "bytes"
        return Verdict(
            self.transfer.name, self.target.name, status, tuple(self.findings), tuple(obligations),
            tuple(dict.fromkeys(assumptions)), readings, seconds, solver_version(), path, line, self.transfer.expect,
            f"all {self.units:,} {word}" if self.units else "",
        )


_RANK = {None: 0, "proved": 1, "not judged": 2, "reported": 3, "unknown": 4, "refuted": 5}


def _wrong_numbers(given: GivenCommand, wanted: Command) -> Iterator[tuple[str, Span | None, int, int]]:
    """Counts, strides and packets of two printed texts that the stream would have otherwise, entry by entry."""
    for side, text, ask in (("read", given.read, wanted.read_text), ("write", given.write, wanted.write_text)):
        if ask is None or len(text.entries) != len(ask.entries):
            continue
        for index, (one, other) in enumerate(zip(text.entries, ask.entries, strict=True)):
            name = f"{side} entry {index}" + (f" `{one.label}`" if one.label else "")
            if one.count != other.count:
                yield f"the count of {name}", one.count_span or one.span, one.count, other.count
            if one.stride != other.stride and other.count > 1:
                yield f"the stride of {name}", one.stride_span or one.span, one.stride, other.stride
        if text.packet != ask.packet:
            yield f"the {side} packet", text.packet_span, text.packet, ask.packet


def _worse(status: str, than: str | None) -> bool:
    return _RANK.get(status, 0) > _RANK[than]


def _keeps(result: CoreResult) -> bool:
    return all(v == "proved" for k, v in result.status.items() if k != "core/consumes")


def naive_stream(dest: Tensor) -> Stream:
    """The destination's own order, one element at a time: what judges a move that says nothing of how."""
    return Stream(pair(dest.slice, dest.element), ONE, dest.chip, dest.cluster, ONE)


def check_transfer(
    transfer: Transfer,
    *,
    axes: Mapping[str, int] | None = None,
    problems: Iterable[PlanProblem] = (),
    target: Target | None = None,
    options: Options = Options(),
    path: str = "",
    line: int = 0,
    keep: list[tuple[str, str, str]] | None = None,
) -> Verdict:
    """The verdict on one transfer. `keep` receives the solver's questions (name, SMT-LIB text, answer), for certificates.

    Raises Disagreement when the proof and the executor, or the solver and `meaning`, contradict each other.
    """
    started = time.perf_counter()
    machine = target or load_target(transfer.target)
    spaces = (space_of(machine, transfer.source.tier), space_of(machine, transfer.dest.tier))
    case = _Case(transfer, machine, options, axes or {}, spaces)
    if case.well_formed(problems):
        _overlap(case, _judge_programs(case))
    else:
        case.assumptions.append("nothing else was judged: the plan has no defined meaning")
    if keep is not None:
        keep += case.asked
    case.status.setdefault("core/well-formed", "proved")
    return case.verdict(time.perf_counter() - started, path, line)


def _judge_programs(case: _Case) -> tuple[Command, ...]:
    """The commands of the stream and the printed ones, each against the move, then against each other; then the rules."""
    transfer = case.transfer
    args = (transfer.source, transfer.dest)
    if not transfer.given and transfer.stream is None and not transfer.streams:
        _move_alone(case)
        return ()
    given: tuple[Command, ...] | list[Trouble] = ()
    derived = streamed_program(transfer, case.bits, case.target)
    if transfer.given:
        given = given_program(transfer.given, *args, case.bits, case.target)
    judged = _judge_both(case, derived, given)
    case.take(case.rules_on(judged))
    return judged


def _judge_both(
    case: _Case, derived: tuple[Command, ...] | Trouble | None, given: tuple[Command, ...] | list[Trouble]
) -> tuple[Command, ...]:
    """Findings and statuses of both programs; the one that rules look at (the printed one, if it can be paired)."""
    if isinstance(derived, Trouble):
        case.trouble(derived)
    if isinstance(given, list):
        notes = _wanted(case, derived) if isinstance(derived, tuple) else ()
        for trouble in given:
            case.trouble(trouble, notes)
        if isinstance(derived, tuple):
            case.status["core/same-program"] = "refuted"
            case.differ(derived, ())
    programs = [p for p in (derived, given) if isinstance(p, tuple) and p]
    if not programs:
        case.assumptions.append("no command could be judged")
        return ()
    if len(programs) == 2 and same_nests(*programs):
        case.judge(programs[1], "")
        case.status["core/same-program"], case.by["core/same-program"] = "proved", "equal nests"
    elif len(programs) == 2:
        first = case.judge(programs[0], "found in the commands that the stream gives")
        second = case.judge(programs[1], "found in the printed commands")
        case.same_program(programs[0], programs[1], (first, second))
    else:
        case.judge(programs[0], "")
    return programs[-1]


def _wanted(case: _Case, derived: Sequence[Command]) -> tuple[str, ...]:
    """The text the stream would print, as a note beside texts that make no command."""
    from dmaverify.transfer.text import sequencer_text

    out = []
    for command in derived[:1]:
        for side, text in (("read", command.read_text), ("write", command.write_text)):
            if text is not None:
                out.append(f"the stream gives {side} {sequencer_text(text, case.target.constants, command.unit_bits)}")
    return tuple(out)


def _move_alone(case: _Case) -> None:
    """No stream, no commands: the move itself, by the plainest nest there is, and the rules that no stream could meet."""
    transfer = case.transfer
    case.assumptions.append("no command was checked: the plan gives neither a stream nor commands")
    derived = derived_program(transfer.source, transfer.dest, naive_stream(transfer.dest), case.bits, case.target)
    if isinstance(derived, Trouble):
        case.trouble(derived)
    else:
        case.judge(derived, "found in the move itself, walked element by element")
    report = case.rules_on(())
    case.take(report)


def _overlap(case: _Case, commands: Sequence[Command]) -> None:
    """Source and destination regions that share bytes: an error unless every byte is read before it is written."""
    source, dest = case.transfer.source, case.transfer.dest
    if source.tier != dest.tier:
        return
    for place in PLACES[:-1]:
        if place in case.spaces[0].places:
            a, b = getattr(source, f"at_{place}"), getattr(dest, f"at_{place}")
            if a + source.field(place).size <= b or b + dest.field(place).size <= a:
                case.status["core/overlap"] = "proved"
                return
    first, second = (t.base * 8 for t in (source, dest))
    ends = (first + source.element.size * case.bits, second + dest.element.size * case.bits)
    if ends[0] <= second or ends[1] <= first:
        case.status["core/overlap"] = "proved"
        return
    low, high = max(first, second) // 8, -(-min(ends) // 8)
    early = _written_early(case, commands)
    if early is None:
        case.status["core/overlap"] = "proved"
        case.by["core/overlap"] = f"the order of the commands, though both hold bytes {low}..{high - 1} of {source.tier}"
        return
    if early == "unknown":
        case.status["core/overlap"] = "unknown"
        return
    case.status["core/overlap"] = "refuted"
    case.findings.append(
        Finding(
            "core/overlap", Severity.ERROR,
            f"source and destination share bytes {low}..{high - 1} of {source.tier}: {_risk(early)}",
            "dest", dest.base_span or dest.span, {"from": low, "to": high - 1},
            _early_witness(commands, early) if isinstance(early, Early) else None, source="DESIGN, Obligations",
            hint=f"place the destination at {-(-ends[0] // 8)} or later, or move through another region",
            labels=(Label(source.span, "the source"),) if source.span else (),
        )
    )


def _written_early(case: _Case, commands: Sequence[Command]) -> Early | str | None:
    """As `written_early`; "no order" where there are no commands that could have one."""
    if not commands:
        return "no order"
    session = Session(case.options.rlimit)
    found = written_early(commands, session)
    case.asked += session.asked
    return found


def _risk(early: Early | str) -> str:
    if isinstance(early, str):
        return "without commands nothing says in which order they are read and written"
    return "the order of the commands writes one of them before it is read"


def _early_witness(commands: Sequence[Command], early: Early) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for word, (number, counters) in (("written_by", early.write), ("read_later_by", early.read)):
        command = commands[number]
        out[word] = {"command": number, "counters": named_counters(command, full_counters(command, counters))}
    return {**out, "address": early.address % LOCAL_LIMIT}


def check_access(
    access: Access,
    *,
    axes: Mapping[str, int] | None = None,
    target: Target | None = None,
    options: Options = Options(),
    path: str = "",
    keep: list[tuple[str, str, str]] | None = None,
) -> Verdict:
    """The verdict on one Fetch or Commit access: the move between its memory and its stream, and the rules of its engine.

    Source: "Sequencer" (Configuration, Configuration Failures), facts/rngd 4. Raises Disagreement as `check_transfer`.
    """
    started = time.perf_counter()
    machine = target or load_target(access.target)
    bits = machine.dtypes[access.dtype]
    source, dest = slice_move(access)
    transfer = Transfer(
        access.name, access.target, access.dtype, source, dest, limits=access.limits, expect=access.expect, span=access.span
    )
    spaces = (space_of(machine, source.tier), space_of(machine, dest.tier))
    case = _Case(transfer, machine, options, axes or {}, spaces)
    if case.well_formed(access.problems):
        _judge_access(case, access, bits)
    else:
        case.assumptions.append("nothing else was judged: the access has no defined meaning")
    if keep is not None:
        keep += case.asked
    case.status.setdefault("core/well-formed", "proved")
    return case.verdict(time.perf_counter() - started, path, access.line)


def _packet_fits(case: _Case, access: Access, config: Sequencer, bits: int) -> None:
    """A printed packet is the stream's, or divides the innermost entry. Source: "Sequencer", Configuration Failures."""
    width = bits // unit_bits_of(bits)
    stream = access.stream.packet.size * width
    inner = config.entries[-1].count if config.entries else 1
    if config.packet in (width, stream) or (config.packet and inner % config.packet == 0):
        return
    labels: tuple[Label, ...] = ()
    if config.packet_span is not None:
        labels = (Label(config.packet_span, f"{config.packet // width}, must be {stream // width}"),)
    case.ill(
        f"the configuration has packets of {config.packet // width}, the stream of {stream // width}, "
        f"and the innermost entry counts {inner // width or inner}",
        config.packet_span or config.span, "write the stream's packet, or one that divides the innermost entry",
        labels=labels,
    )


def _judge_access(case: _Case, access: Access, bits: int) -> None:
    space = space_of(case.target, access.memory.tier)
    found = derived_access(access, space, bits)
    derived: tuple[Command, ...] | Trouble = (
        (found,) if isinstance(found, Command) else Trouble(found.message, found.span, found.hint)
    )
    given: tuple[Command, ...] | list[Trouble] = ()
    if access.config is not None:
        _packet_fits(case, access, access.config, bits)
        paired = given_access(access, bits)
        given = (
            (paired,) if isinstance(paired, Command)
            else [Trouble(m.message, m.span, m.hint, m.other, m.other_text) for m in paired]
        )
    judged = _judge_both(case, derived, given)
    limits = case.target.limits_with(access.limits)
    transfer = case.transfer
    ruling = Ruling(
        case.target, access.engine, transfer.source.tier, transfer.dest.tier, access.dtype, limits, case.options.readings
    )
    case.take(ruling.judge(access_instances(access, judged, bits, limits)))
