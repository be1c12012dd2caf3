"""One transfer or access of a plan, judged: well-formed, the core obligations, the machine's rules, one verdict.

Knows: the order of judgement, which program is judged against what, what each status means for the verdict.
Does not know: how plans are read, how verdicts are shown.
Law: errors decide the verdict, warnings never do; what could not be judged is said and is never a pass. Everything
broken is reported, not the first; obligations that assume bounds are judged on the units in bounds, and say so.

Source: DESIGN sections 4 and 5; PLANFILE, What is judged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dmaverify.layout.addresses import Layout
from dmaverify.lower.adapters import derived_access, given_access, slice_move
from dmaverify.lower.programs import (
    Trouble,
    given_program,
    same_nests,
    space_of,
    streamed_program,
)
from dmaverify.program.access import Access, PlanProblem
from dmaverify.program.command import Command, Sequencer
from dmaverify.program.move import PLACES, Tensor, Transfer
from dmaverify.program.space import LOCAL_LIMIT, layout_of, unit_bits_of
from dmaverify.program.views import corners
from dmaverify.prove.move.case import Case, Options
from dmaverify.prove.move.feasible import clashes, longest_run, missing
from dmaverify.prove.move.names import misnamed
from dmaverify.prove.move.overlap import Early, written_early
from dmaverify.prove.move.scene import Side, full_counters, named_counters
from dmaverify.prove.move.static import RuleReport, Ruling, access_instances
from dmaverify.prove.move.views import at_iteration, looped, moved_commands, view_findings
from dmaverify.prove.smt import Session
from dmaverify.targets.target import Target, load_obligations, load_target
from dmaverify.verdict import Finding, Label, Severity, Verdict

STANDARD = Options()

__all__ = ["Options", "check_access", "check_transfer"]


def check_transfer(
    transfer: Transfer,
    *,
    axes: Mapping[str, int] | None = None,
    problems: Iterable[PlanProblem] = (),
    target: Target | None = None,
    options: Options = STANDARD,
    path: str = "",
    line: int = 0,
    keep: list[tuple[str, str, str]] | None = None,
) -> Verdict:
    """The verdict on one transfer. `keep` receives the solver's questions (name, SMT-LIB text, answer), for
    certificates.

    Raises Disagreement when the proof and the executor, or the solver and `meaning`, contradict each other.
    """
    started = time.perf_counter()
    machine = target or load_target(transfer.target)
    spaces = (space_of(machine, transfer.source.tier), space_of(machine, transfer.dest.tier))
    case = Case(transfer, machine, options, axes or {}, spaces)
    if case.well_formed(problems):
        judged, other = _judge_programs(case)
        _views(case, judged, case.rules_on)
        _overlap(case, [program for program in (judged, other) if program])
    else:
        case.assumptions.append("nothing else was judged: the plan has no defined meaning")
    if keep is not None:
        keep += case.asked
    case.status.setdefault("core/well-formed", "proved")
    return case.verdict(time.perf_counter() - started, path, line)


Program = tuple[Command, ...]


def _judge_programs(case: Case) -> tuple[Program, Program]:
    """The commands of the stream and the printed ones, each against the move, then against each other; then the
    rules. Gives the program that rules look at, and the stream's where that is another one.
    """
    transfer = case.transfer
    args = (transfer.source, transfer.dest)
    if not transfer.given and transfer.stream is None and not transfer.streams:
        _move_alone(case)
        return (), ()
    given: tuple[Command, ...] | list[Trouble] = ()
    derived = streamed_program(transfer, case.bits, case.target)
    if transfer.given:
        given = given_program(transfer.given, *args, case.bits, case.target)
    judged, other = _judge_both(case, derived, given)
    case.take(case.rules_on(judged))
    return judged, other


def _judge_both(
    case: Case, derived: Program | Trouble | None, given: Program | list[Trouble]
) -> tuple[Program, Program]:
    """Findings and statuses of both programs; the one that rules look at (the printed one, if it can be paired), and
    the other one where it differs.
    """
    if isinstance(derived, Trouble):
        case.trouble(derived)
    if isinstance(given, list):
        notes = _wanted(case, derived) if isinstance(derived, tuple) else ()
        for trouble in given:
            case.trouble(trouble, notes)
        if isinstance(derived, tuple):
            case.status["core/same-program"] = "refuted"
            case.differ(derived, ())
    if case.transfer.given and isinstance(derived, tuple):
        texts = [(command.read_text, command.write_text) for command in derived]
        for message, span, hint in misnamed(case.transfer.given, texts, case.axes):
            case.ill(message, span, hint, Severity.WARNING)
    programs = [p for p in (derived, given) if isinstance(p, tuple) and p]
    if not programs:
        case.assumptions.append("no command could be judged")
        return (), ()
    other: Program = ()
    if len(programs) == 2 and same_nests(*programs):
        case.judge(programs[1], "")
        case.status["core/same-program"], case.by["core/same-program"] = "proved", "equal nests"
    elif len(programs) == 2:
        first = case.judge(programs[0], "found in the commands that the stream gives")
        second = case.judge(programs[1], "found in the printed commands")
        case.same_program(programs[0], programs[1], (first, second))
        other = programs[0]
    else:
        case.judge(programs[0], "")
    if case.transfer.given and programs[-1] is given:
        case.ask_for_sizes(programs[-1])
    return programs[-1], other


def _wanted(case: Case, derived: Sequence[Command]) -> tuple[str, ...]:
    """The text the stream would print, as a note beside texts that make no command."""
    from dmaverify.lower.text import sequencer_text

    out = []
    for command in derived[:1]:
        for side, text in (("read", command.read_text), ("write", command.write_text)):
            if text is not None:
                out.append(f"the stream gives {side} {sequencer_text(text, case.target.constants, command.unit_bits)}")
    return tuple(out)


def _move_alone(case: Case) -> None:
    """No stream, no commands: what the two mappings tell by themselves, and the rules that no stream could meet."""
    transfer = case.transfer
    case.assumptions.append("no command was checked: the plan gives neither a stream nor commands")
    source, source_opaque = layout_of(transfer.source, case.spaces[0], case.bits)
    dest, dest_opaque = layout_of(transfer.dest, case.spaces[1], case.bits)
    if source_opaque or dest_opaque:
        case.assumptions.append("a mapping has no digits, so whether its elements are there was not judged")
        case.take(case.rules_on(()))
        return
    found = list(clashes(source, dest))
    for clash in found:
        case.ill(
            f"no common refinement on axis {clash.axis}: one side cuts it at {clash.cut}, the other at {clash.other}",
            transfer.dest.element.span, "cut the axis alike on both sides, or move it with several commands",
            labels=(Label(transfer.source.element.span, "the source"),) if transfer.source.element.span else (),
        )  # fmt: skip
    if not found:
        _absent(case, source, dest)
    report = case.rules_on(())
    findings = [*report.findings, *case.alignment_alone(longest_run(source, dest)).findings]
    case.take(replace(report, findings=tuple(findings)))


def _absent(case: Case, source: Layout, dest: Layout) -> None:
    """Destination elements that no source cell can serve."""
    record = load_obligations()["core/same-element"]
    case.status["core/same-element"] = "proved"
    if case.options.readings.get("core/same-element") == "broadcast-missing":
        return
    for lack in missing(source, dest):
        case.status["core/same-element"] = "refuted"
        side = Side(case.transfer.dest, case.spaces[1], case.bits)
        index = side.cell_at(lack.address).index or {lack.axis: lack.coordinate}
        case.findings.append(
            Finding(
                "core/same-element",
                Severity.ERROR,
                f"the source holds no element with {lack.axis} = {lack.coordinate}, which the destination asks for",
                "dest",
                case.transfer.dest.element.span or case.transfer.dest.span,
                {"axis": lack.axis},
                {"coordinates": dict(index)},
                record.source,
                hint=(
                    "name the whole axis in the source, or read it as a broadcast "
                    "(--reading core/same-element=broadcast-missing)"
                ),
            )
        )


def _views(case: Case, commands: Sequence[Command], rules: Callable[[Sequence[Command]], RuleReport]) -> None:
    """What of the views differs from iteration to iteration: the places, and what rules ask of addresses."""
    views = case.transfer.views
    if views is None:
        return
    session = Session(case.options.rlimit)
    found = list(view_findings(views, commands, case.target, case.bits, session))
    case.asked += session.asked
    for finding in found:
        case.status[finding.rule] = "refuted"
        case.by[finding.rule] = "the places of the views, for all iterations"
    case.findings += found
    for counters in list(corners(views))[1:]:
        told = {f.rule for f in case.findings}
        report = rules(moved_commands(commands, views, counters, case.target))
        note = f"found{at_iteration(views.turns, counters)}"
        case.findings += [replace(f, notes=(*f.notes, note)) for f in report.findings if f.rule not in told]
    case.iterations = views.count
    if views.loops:
        case.assumptions.append("each iteration was judged by itself: a program says what they make together")
    if case.transfer.given:
        case.assumptions.append("printed bases are those of the first iteration; the views move them")


def _overlap(case: Case, programs: Sequence[Sequence[Command]]) -> None:
    """Source and destination regions that share bytes: an error unless every byte is read before it is written, by the
    printed commands and by those of the stream.
    """
    source, dest = case.buffers
    views = case.transfer.views
    if views is not None:
        programs = [[looped(command, views, case.target) for command in commands] for commands in programs]
    if source.tier != dest.tier:
        return
    if lie_apart(source, dest, case.spaces[0].places, case.bits):
        case.status["core/overlap"] = "proved"
        return
    first, second = (t.base * 8 for t in (source, dest))
    ends = (first + source.element.size * case.bits, second + dest.element.size * case.bits)
    low, high = max(first, second) // 8, -(-min(ends) // 8)
    early, commands = _written_early(case, programs)
    if early is None:
        case.status["core/overlap"] = "proved"
        case.by["core/overlap"] = (
            f"the order of the commands, though both hold bytes {low}..{high - 1} of {source.tier}"
        )
        return
    if early == "unknown":
        case.status["core/overlap"] = "unknown"
        return
    case.status["core/overlap"] = "refuted"
    case.findings.append(
        Finding(
            "core/overlap",
            Severity.ERROR,
            f"source and destination share bytes {low}..{high - 1} of {source.tier}: {_risk(early)}",
            "dest",
            dest.base_span or dest.span,
            {"from": low, "to": high - 1},
            _early_witness(commands, early) if isinstance(early, Early) else None,
            source="DESIGN, Obligations",
            hint=f"place the destination at {-(-ends[0] // 8)} or later, or move through another region",
            labels=(Label(source.span, "the source"),) if source.span else (),
            notes=("found in the commands that the stream gives",)
            if len(programs) > 1 and commands is not programs[0]
            else (),
        )
    )


def lie_apart(source: Tensor, dest: Tensor, places: Sequence[str], bits: int) -> bool:
    """Whether two tensors of one tier share no byte by their places or their ranges of bytes alone."""
    for place in PLACES[:-1]:
        if place in places:
            a, b = getattr(source, f"at_{place}"), getattr(dest, f"at_{place}")
            if a + source.field(place).size <= b or b + dest.field(place).size <= a:
                return True
    first, second = (t.base * 8 for t in (source, dest))
    return bool(first + source.element.size * bits <= second or second + dest.element.size * bits <= first)


def _written_early(case: Case, programs: Sequence[Sequence[Command]]) -> tuple[Early | str | None, Sequence[Command]]:
    """As `written_early`, of the first program where it is so; "no order" where no commands could have one."""
    if not programs:
        return "no order", ()
    session = Session(case.options.rlimit)
    answers = [(written_early(commands, session), commands) for commands in programs]
    case.asked += session.asked
    worst = [a for a in answers if a[0] not in (None, "unknown")] or [a for a in answers if a[0] is not None]
    return worst[0] if worst else (None, ())


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
    options: Options = STANDARD,
    path: str = "",
    keep: list[tuple[str, str, str]] | None = None,
) -> Verdict:
    """The verdict on one Fetch or Commit access: the move between its memory and its stream, and the rules of its
    engine.

    Source: "Sequencer" (Configuration, Configuration Failures), facts/rngd 4. Raises Disagreement as
    `check_transfer`.
    """
    started = time.perf_counter()
    machine = target or load_target(access.target)
    bits = machine.dtypes[access.dtype]
    source, dest = slice_move(access)
    transfer = Transfer(
        access.name,
        access.target,
        access.dtype,
        source,
        dest,
        limits=access.limits,
        expect=access.expect,
        span=access.span,
        views=access.views,
    )
    spaces = (space_of(machine, source.tier), space_of(machine, dest.tier))
    case = Case(transfer, machine, options, axes or {}, spaces)
    if case.well_formed(access.problems):
        _judge_access(case, access, bits)
    else:
        case.assumptions.append("nothing else was judged: the access has no defined meaning")
    if keep is not None:
        keep += case.asked
    case.status.setdefault("core/well-formed", "proved")
    return case.verdict(time.perf_counter() - started, path, access.line)


def _packet_fits(case: Case, access: Access, config: Sequencer, bits: int) -> None:
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
        config.packet_span or config.span,
        "write the stream's packet, or one that divides the innermost entry",
        labels=labels,
    )


def _judge_access(case: Case, access: Access, bits: int) -> None:
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
            (paired,)
            if isinstance(paired, Command)
            else [Trouble(m.message, m.span, m.hint, m.other, m.other_text) for m in paired]
        )
    judged, _ = _judge_both(case, derived, given)
    limits = case.target.limits_with(access.limits)
    transfer = case.transfer

    def rules(commands: Sequence[Command]) -> RuleReport:
        ruling = Ruling(
            case.target,
            access.engine,
            transfer.source.tier,
            transfer.dest.tier,
            access.dtype,
            limits,
            case.options.readings,
        )
        return ruling.judge(access_instances(access, commands, bits, limits))

    case.take(rules(judged))
    _views(case, judged, rules)
