"""One transfer or access of a plan, judged: well-formed, the core obligations, the machine's rules, one verdict.

Knows: the order of judgement, which program is judged against what, what each status means for the verdict.
Does not know: how plans are read, how verdicts are shown.
Law: errors decide the verdict, warnings never do; what could not be judged is said and is never a pass. Everything
broken is reported, not the first; obligations that assume bounds are judged on the units in bounds, and say so.

Source: docs/design.md; the plan file format (What is judged).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from dmaverify.lower.adapters import derived_access, given_access, slice_move
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.programs import given_program, port_rule, same_nests, space_of, streamed_program
from dmaverify.program.access import Access, PlanProblem
from dmaverify.program.command import Command, Sequencer
from dmaverify.program.move import Transfer
from dmaverify.program.space import LOCAL_LIMIT, Space, has_ports, unit_bits_of
from dmaverify.program.turns import iterations
from dmaverify.prove.move.case import Case, Options
from dmaverify.prove.move.full import ask_from_definitions
from dmaverify.prove.move.in_place import judge_in_place
from dmaverify.prove.move.names import misnamed
from dmaverify.prove.move.outcome import OBLIGATIONS
from dmaverify.prove.move.preconditions import missing_engine
from dmaverify.prove.move.static import RuleReport, Ruling, access_instances
from dmaverify.prove.move.views import (
    MOST_ITERATIONS,
    at_iteration,
    moved_commands,
    telling_iterations,
    untold,
    view_findings,
)
from dmaverify.prove.smt import Session
from dmaverify.targets.target import Target, load_target
from dmaverify.values import replace
from dmaverify.verdict import Finding, Label, Severity, Verdict

STANDARD = Options()
EACH_ITERATION = "each iteration was judged by itself: a program says what they make together"

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
    machine = target or load_target(transfer.target)
    spaces = (space_of(machine, transfer.source.tier), space_of(machine, transfer.dest.tier))
    case = Case(transfer, spaces, target=machine, options=options, axes=axes or {})
    going = case.well_formed(problems)
    far = _far(transfer, case.bits, machine, spaces) if going else []
    if far:
        case.status["core/in-bounds"], case.by["core/in-bounds"] = "refuted", "the printed base"
        case.findings += far
        case.assumptions.append("the other obligations were not judged: a printed base lies outside of every memory")
    elif going and _beyond(transfer, spaces):
        case.status["core/in-bounds"] = "unknown"
        case.by["core/in-bounds"] = "addresses of 2^52 and above are not followed: the rules alone were judged"
        printed = given_program(transfer.given, transfer.source, transfer.dest, case.bits, machine)
        case.take(case.rules_on(printed if isinstance(printed, tuple) else ()))
    elif going:
        judged, other = _judge_programs(case)
        moved = partial(_of_commands, case, judged, case.rules_on)
        _views(case, judged, moved if transfer.carried_out else partial(_of_any_stream, case))
        judge_in_place(case, [program for program in (judged, other) if program])
        ask_from_definitions(case)
    else:
        case.assumptions.append("nothing else was judged: the plan has no defined meaning")
    if keep is not None:
        keep += case.asked
    case.status.setdefault("core/well-formed", "proved")
    return case.verdict(path, line)


Program = tuple[Command, ...]


def _far(transfer: Transfer, dtype_bits: int, target: Target, spaces: tuple[Space, Space]) -> list[Finding]:
    """Printed bases where global addresses of two places would meet, outside of the tensor: the first packet is."""
    unit = unit_bits_of(dtype_bits)
    found: list[Finding] = []
    for one in transfer.given:
        sides = (("reads", one.read, "source", transfer.source), ("writes", one.write, "destination", transfer.dest))
        for (verb, text, role, tensor), space in zip(sides, spaces, strict=True):
            end = tensor.base * 8 // unit + tensor.element.size * dtype_bits // unit
            if text.base is None or not has_ports(space):
                continue
            rule = port_rule(target, tensor.tier, unit)
            parts = zip(rule.parts[len(rule.parts) - len(text.place) :], text.place, strict=True)
            base = text.base + sum(rule.steps.get(name, 0) * number for name, number in parts)
            if abs(base) * 2 < LOCAL_LIMIT or tensor.base * 8 // unit <= base < end:
                continue
            said = f"{verb} address {base * unit // 8:,}, outside of the {role}"
            span = text.base_span or text.span
            found.append(Finding("core/in-bounds", Severity.ERROR, said, role, span))
    return found


def _beyond(transfer: Transfer, spaces: tuple[Space, Space]) -> bool:
    """Whether a tensor lies where global addresses of two places would meet; a printed base there is out of bounds."""
    sides = zip(spaces, (transfer.source, transfer.dest), strict=True)
    return any(abs(tensor.base) * 2 >= LOCAL_LIMIT for space, tensor in sides if has_ports(space))


def _judge_programs(case: Case) -> tuple[Program, Program]:
    """The commands of the stream and the printed ones, each against the move, then against each other; then the
    rules. Gives the program that rules look at, and the stream's where that is another one.
    """
    transfer = case.transfer
    args = (transfer.source, transfer.dest)
    if not transfer.carried_out:
        from dmaverify.prove.move.alone import judge_move

        judge_move(case)
        return (), ()
    given: tuple[Command, ...] | list[Trouble] = ()
    derived = streamed_program(transfer, case.bits, case.target)
    if transfer.given:
        given = given_program(transfer.given, *args, case.bits, case.target)
    judged, other = _judge_both(case, derived, given)
    case.take(case.rules_on(judged))
    lacking = missing_engine((*judged, *other), case.target)
    if lacking:
        named = next((one.span for one in transfer.given if one.engine is not None), None)
        span = named or (transfer.stream.span if transfer.stream is not None else transfer.span)
        case.ill(lacking, span, "name an engine that exists, or walk the axis in `time`")
    if case.target.copies_of(*(tensor.tier for tensor in args)) is not None:
        from dmaverify.prove.move.copy_ports import left_behind

        case.conditions += left_behind(transfer, judged, case.target, case.spaces[1], case.bits)
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
        open_ones = [name for name in OBLIGATIONS if name not in case.status]
        case.status |= dict.fromkeys(open_ones, "unknown")
        case.by |= dict.fromkeys(open_ones, "no command could be judged")
        return (), ()
    other: Program = ()
    if len(programs) == 2 and same_nests(*programs):
        case.judge(programs[1], "")
        case.programs.append(("the commands that the stream gives", tuple(programs[0])))
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


def _of_any_stream(case: Case, counters: Sequence[int]) -> RuleReport:
    from dmaverify.prove.move.alone import told_of_any_stream

    return told_of_any_stream(case, case.transfer.at_iteration(counters))


def _of_commands(
    case: Case, commands: Sequence[Command], rules: Callable[[Sequence[Command]], RuleReport], counters: Sequence[int]
) -> RuleReport:
    assert case.transfer.views is not None
    return rules(moved_commands(commands, case.transfer.views, counters, case.target))


def _views(case: Case, commands: Sequence[Command], rules: Callable[[Sequence[int]], RuleReport]) -> None:
    """What of the views differs from iteration to iteration: the places, and what rules ask of addresses, in the
    iteration at some counters.
    """
    views = case.transfer.views
    if views is None:
        return
    session = Session(case.options.rlimit)
    undecided: list[str] = []
    found = list(view_findings(views, commands, case.target, case.bits, session, undecided))
    case.asked += session.asked
    if undecided:
        case.status["core/in-bounds"] = "unknown"
        case.assumptions += [f"not decided: {what}" for what in undecided]
    for finding in found:
        case.status[finding.rule] = "refuted"
        case.by[finding.rule] = "the places of the views, for all iterations"
    case.findings += found
    others = telling_iterations(views, case.target, MOST_ITERATIONS)
    for counters in others:
        told = {f.rule for f in case.findings}
        report = rules(counters)
        case.held += report.held
        note = f"found{at_iteration(views.turns, counters)}"
        case.findings += [replace(f, notes=(*f.notes, note)) for f in report.findings if f.rule not in told]
    if len(others) + 1 < iterations(views.turns):
        asked = f"asked at {len(others) + 1} of {views.count:,} iterations"
        case.leave_open(untold(case.held, case.target, case.options.readings), asked)
    case.iterations = views.count
    if views.loops:
        case.assumptions.append(EACH_ITERATION)
    if case.transfer.given:
        case.assumptions.append("printed bases are those of the first iteration; the views move them")


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

    Source: "Sequencer" (Configuration, Configuration Failures), docs/machines/rngd.md 4. Raises Disagreement as
    `check_transfer`.
    """
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
    case = Case(transfer, spaces, target=machine, options=options, axes=axes or {})
    if case.well_formed(access.problems, access):
        _judge_access(case, access, bits)
        ask_from_definitions(case)
    else:
        case.assumptions.append("nothing else was judged: the access has no defined meaning")
    if keep is not None:
        keep += case.asked
    case.status.setdefault("core/well-formed", "proved")
    return case.verdict(path, access.line)


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
    derived: tuple[Command, ...] | Trouble = (found,) if isinstance(found, Command) else found
    given: tuple[Command, ...] | list[Trouble] = ()
    if access.config is not None:
        _packet_fits(case, access, access.config, bits)
        paired = given_access(access, bits)
        given = (paired,) if isinstance(paired, Command) else paired
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
        buffer = access.memory if access.view is None else access.view.buffer
        return ruling.judge(access_instances(access, commands, case.target, limits, buffer))

    case.take(rules(judged))
    _views(case, judged, partial(_of_commands, case, judged, rules))
