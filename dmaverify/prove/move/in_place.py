"""Moves within one memory: whether source and destination share bytes, and whether the order makes that safe.

Knows: a transfer on its way to a verdict, where its tensors lie, which programs move it.
Does not know: how the order is judged (`overlap`), machines beyond the size of their requests.
Law: regions that share no byte are proved apart by intervals; others are proved only by the order of every program,
for all iterations of all loops. An order that the plan does not state is a printed assumption.

Source: "DMA Engine" (DMA Sequencer Internals; Packet size and internal DMA requests), the obligation core/overlap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.language.numbers import below, moves, same
from dmaverify.layout.addresses import Layout
from dmaverify.program.command import Command, Port
from dmaverify.program.space import SPAN, Space, global_address, layout_of, local_address, unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.program.views import Views
from dmaverify.prove.meet import Walk
from dmaverify.prove.move.case import Case
from dmaverify.prove.move.overlap import Early, Streams, relies_on_order, written_early
from dmaverify.prove.move.scene import Side, addresses, full_counters, named_counters
from dmaverify.prove.move.views import looped
from dmaverify.prove.smt import Session
from dmaverify.targets.modules import atom_bytes, burst_windows
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Finding, Label, Severity, Verdict

BETWEEN = "iterations"  # `between` of a finding: each iteration by itself is safe
SWAPPED = "iterations that swap"  # they are safe one after the other, too
NO_ORDER = "without commands nothing says in which order they are read and written"
NO_ROW_ORDER = "the order of rows and copies is not promised"
IN_ANY_ORDER = "the order, whatever it is: every byte is read from where it is written"


def between_iterations(verdict: Verdict) -> set[object]:
    """The `between` of each error, None of one that is not about iterations."""
    return {one.values.get("between") for one in verdict.errors}


def judge_in_place(case: Case, programs: Sequence[Sequence[Command]]) -> None:
    """Source and destination regions that share bytes: an error unless every byte is read before it is written, by the
    printed commands and by those of the stream.
    """
    source, dest = case.transfer.buffers
    views = case.transfer.views
    if views is not None:
        programs = [[looped(command, views, case.target) for command in commands] for commands in programs]
    if len({case.target.memory_of(t.tier) for t in (source, dest)}) > 1:
        return
    why = lie_apart(source, dest, case.spaces[0], case.bits)
    if why:
        case.status["core/overlap"], case.by["core/overlap"] = "proved", why
        return
    if _writes_what_lies_there(case, programs):
        case.status["core/overlap"], case.by["core/overlap"] = "proved", IN_ANY_ORDER
        return
    from dmaverify.prove.move.any_order import OPEN, judge_any_order

    first, second = (t.base * 8 for t in (source, dest))
    ends = (first + source.element.size * case.bits, second + dest.element.size * case.bits)
    low, high = max(first, second) // 8, -(-min(ends) // 8)
    session = Session(case.options.rlimit)
    around = 0 if views is None else len(views.turns)
    if not programs:
        status, why, witness, when = judge_any_order(case, session, swap=_swaps(case))
        case.asked += session.asked
        if status == "refuted":
            between = {"now": "", "before": BETWEEN, "whenever": SWAPPED}[when]
            case.findings.append(_shared(case, (low, high), NO_ORDER, witness, between))
        elif status == "unknown":
            why = f"bytes {low}..{high - 1} of {source.tier} are in both, and {why}"
        case.status["core/overlap"], case.by["core/overlap"] = status, why
        return
    early, commands = _written_early(case, programs, session, around)
    later = isinstance(early, Early) and early.later
    if (early is None or later) and any(relies_on_order(one, session) for one in programs):
        case.conditions.append("its commands share one engine (they name none, and in parallel they would race)")
    case.asked += session.asked
    if early is None:
        case.status["core/overlap"] = "proved"
        how = ", whatever it is" if _unordered(case) and (_swaps(case) or not around) else " of the commands"
        case.by["core/overlap"] = f"the order{how}, though both hold bytes {low}..{high - 1} of {source.tier}"
        return
    if isinstance(early, str) or not _harms(case, commands, early):
        said = (
            OPEN
            if isinstance(early, str)
            else "whether one that is written before it is read changes what arrives was not decided"
        )
        case.status["core/overlap"] = "unknown"
        case.by["core/overlap"] = f"bytes {low}..{high - 1} of {source.tier} are in both, and {said}"
        return
    case.status["core/overlap"] = "refuted"
    risk = NO_ROW_ORDER if _unordered(case) and (early.swapped or not later) else _risk(early)
    between = SWAPPED if early.swapped else BETWEEN if later else ""
    found = _shared(case, (low, high), risk, _early_witness(commands, early, case.spaces[0]), between)
    if len(programs) > 1 and commands is not programs[0]:
        found = replace(found, notes=("found in the commands that the stream gives",))
    case.findings.append(found)


def _shared(case: Case, shared: tuple[int, int], why: str, witness: Mapping[str, Any] | None, between: str) -> Finding:
    """That source and destination share bytes, and why that is an error."""
    (source, dest), (low, high) = case.transfer.buffers, shared
    end = source.base * 8 + source.element.size * case.bits
    return Finding(
        "core/overlap",
        Severity.ERROR,
        f"source and destination share bytes {low}..{high - 1} of {source.tier}: {why}",
        "dest",
        dest.base_span or dest.span,
        {"from": low, "to": high - 1, **({"between": between} if between else {})},
        witness,
        hint=f"place the destination at {-(-end // 8)} or later, or move through another region",
        labels=(Label(source.span, "the source"),) if source.span else (),
    )


def live_walk(tensor: Tensor, space: Space, bits: int) -> Walk:
    """Global addresses, in units, of all cells that hold elements, and perhaps of others."""
    layout, _ = layout_of(tensor, space, bits)
    return Walk(layout.origin, tuple(layout.live_loops))


def _harms(case: Case, commands: Sequence[Command], early: Early) -> bool:
    """Whether the early write puts another element there, by the source's mapping, and what reads it is asked for."""
    source, dest = (Side(t, space, case.bits) for t, space in zip(case.transfer.buffers, case.spaces, strict=True))
    (writer, counters), (reader, later) = early.write, early.read
    came = source.cell_at(global_address(commands[writer].read, addresses(commands[writer], counters)[0]))
    lies = source.cell_at(early.address)
    asked = dest.cell_at(global_address(commands[reader].write, addresses(commands[reader], later)[1]))
    same_units = came.unit == lies.unit or came.index is None
    alike = came.inside == lies.inside and came.kind == lies.kind and came.indices == lies.indices and same_units
    return asked.index is not None and not alike


def _writes_what_lies_there(case: Case, programs: Sequence[Sequence[Command]]) -> bool:
    """Whether each byte is read from where it is written, by all commands; without any, in whatever order."""
    if programs:
        return all(_stays(case.target, command) for commands in programs for command in commands)
    (source, opaque), (dest, other) = (
        layout_of(tensor, space, case.bits)
        for tensor, space in zip((case.transfer.source, case.transfer.dest), case.spaces, strict=True)
    )
    views = case.transfer.views or Views()
    steps = [view and [affine.steps for affine in view.shift] for view in (views.source, views.dest)]
    return not (opaque or other) and steps[0] == steps[1] and _lies_there(source, dest)


def _lies_there(source: Layout, dest: Layout) -> bool:
    """Whether each element that the destination asks for lies in the source at the very address; False if not sure,
    and where padding may be written over another copy of it.
    """
    if (source.repeats_an_axis or source.replicas) and dest.guards:
        return False
    held = {(d.axis, d.weight): d for d in source.digits}
    return same(source.origin, dest.origin) and source.offsets == dest.offsets and all(
        there is not None and same(there.step, asked.step) and not below(there.live, asked.live)
        for asked in dest.digits if moves(asked.live)
        for there in [held.get((asked.axis, asked.weight))]
    )  # fmt: skip


def _stays(target: Target, command: Command) -> bool:
    (read, write), loops = (command.read, command.write), command.loops
    ends = [(target.memory_of(port.tier), port.chip, port.cluster, port.base) for port in (read, write)]
    return ends[0] == ends[1] and all(loop.read == loop.write for loop in loops)


def lie_apart(source: Tensor, dest: Tensor, space: Space, bits: int, dest_bits: int = 0) -> str:
    """Why two tensors of one tier share no byte, by their places or their ranges of bytes alone; empty if they may.
    What begins or runs on behind the end of its place lies in the next one as well: there addresses alone tell.
    """
    begins = [source.base * 8, dest.base * 8]
    ends = [begins[0] + source.element.size * bits, begins[1] + dest.element.size * (dest_bits or bits)]
    for place in PLACES[:-1]:
        if place not in space.places:
            continue
        starts = [getattr(source, f"at_{place}"), getattr(dest, f"at_{place}")]
        counts = [source.field(place).size, dest.field(place).size]
        step = 0 if place in SPAN else space.stride(place, 1)
        if step and any(end > step for end in ends):
            begins = [begin + at * step for begin, at in zip(begins, starts, strict=True)]
            ends = [end + (at + n - 1) * step for end, at, n in zip(ends, starts, counts, strict=True)]
        elif starts[0] + counts[0] <= starts[1] or starts[1] + counts[1] <= starts[0]:
            return f"they lie on different {place}s"
    return "the ends of both regions" if ends[0] <= begins[1] or ends[1] <= begins[0] else ""


def _written_early(
    case: Case, programs: Sequence[Sequence[Command]], session: Session, around: int
) -> tuple[Early | str | None, Sequence[Command]]:
    """As `written_early`, of the first program where it is so: in one iteration before in two, and last where an order
    of iterations mends it.
    """
    request = case.target.geometry.get("request_bytes", 0) * 8 // unit_bits_of(case.bits)
    answers = [
        (written_early(_named(case.target, one), session, () if request else _streams(case, len(one)), request,
                       around, unordered=_unordered(case), swap=_swaps(case)), one)
        for one in programs
    ]  # fmt: skip
    worst = [a for a in answers if isinstance(a[0], Early)] or [a for a in answers if a[0] is not None]
    worst.sort(key=lambda one: one[0].later + one[0].swapped if isinstance(one[0], Early) else 0)
    return worst[0] if worst else (None, ())


def _unordered(case: Case) -> bool:
    """Whether the move is made by copy instructions, which promise no order of their rows."""
    return case.target.copies_of(case.transfer.source.tier, case.transfer.dest.tier) is not None


def _swaps(case: Case) -> bool:
    """Whether iterations of the move may swap."""
    return case.target.swaps(case.transfer.source.tier, case.transfer.dest.tier)


def _streams(case: Case, count: int) -> list[Streams]:
    """How the machine streams so many commands; a text may ask for other bursts in each."""
    unit, atom, transfer = unit_bits_of(case.bits), atom_bytes(case.target, case.transfer), case.transfer
    if atom is None:
        return []
    each = transfer.form.each if transfer.form is not None and len(transfer.form.each) == count else ((),)
    out = []
    for own in each:
        windows = burst_windows(case.target, {**dict(own), **dict(transfer.options)})
        sized = None if windows is None else tuple(window * 8 // unit for window in windows)
        out.append(Streams(atom * 8 // unit, sized))
    return out


def _named(target: Target, commands: Sequence[Command]) -> list[Command]:
    """The commands with memories in place of tiers."""

    def named(port: Port) -> Port:
        return replace(port, tier=target.memory_of(port.tier))

    return [replace(one, read=named(one.read), write=named(one.write)) for one in commands]


def _risk(early: Early) -> str:
    if early.later:
        return "an iteration writes one of them before a later one reads it"
    if early.write[0] == early.read[0] and early.write[1][:-1] == early.read[1][:-1]:
        return "what is moved first lands on what the same run has still to read"
    return "the order of the commands writes one of them before it is read"


def _early_witness(commands: Sequence[Command], early: Early, space: Space) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for word, (number, counters) in (("written_by", early.write), ("read_later_by", early.read)):
        command = commands[number]
        out[word] = {"command": number, "counters": named_counters(command, full_counters(command, counters))}
    return {**out, "address": local_address(space, early.address)}
