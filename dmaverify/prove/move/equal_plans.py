"""Equivalence of two plans: the same units, each to the same place, in whatever order (core/same-program).

Knows: programs as sets of unit copies, tiers and machines they speak of, the first copy that one does alone.
Does not know: how plans are written, how sets of copies are compared (`units`).
Law: `proved` is said of programs whose unit copies are the same sets, in an order that decides nothing or is the same,
where all else that decides bytes is the same: an option that nobody thought of is one that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.layout.addresses import Layout
from dmaverify.lower.programs import space_of
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.program.space import SPAN, layout_of, local_address
from dmaverify.prove.limits import RLIMIT
from dmaverify.prove.move.copies import TooManySteps, UnitCopy, find_copy, in_half_bytes
from dmaverify.prove.move.obligations import Subject
from dmaverify.prove.move.own_copies import of_commands, order_decides
from dmaverify.prove.move.scene import Side, named_counters, where
from dmaverify.prove.move.units import Comparison, compare
from dmaverify.prove.sameness import WORDS, Sameness
from dmaverify.prove.smt import Session
from dmaverify.targets.modules import what_decides
from dmaverify.targets.target import Target

Plan = tuple[Transfer, Sequence[Command], Target]


def equivalent_plans(first: Plan, second: Plan, *, rlimit: int = RLIMIT) -> Sameness:
    """Whether two programs copy the same units (core/same-program): (transfer, its commands, its machine) each.

    The order of loops and commands, and which engine does the work, are no difference, but where the order may decide
    what stays the answer is open. The commands are all that either does: of iterations nothing is known here. Raises
    Disagreement as `equivalent_mappings`.
    """
    plans = (first, second)
    notes = _notes(plans)
    tiers = [_tiers(plan) for plan in plans]
    programs = [tuple(plan[1]) for plan in plans]
    empty = [not program for program in programs]
    if any(empty):
        status = "proved" if all(empty) else "refuted"
        why = "no command" if all(empty) else f"no command in the {WORDS[empty.index(True)]}"
        return Sameness(status, why, None, "counting", "plans", notes)
    decided = [what_decides(machine, transfer, commands) for transfer, commands, machine in plans]
    if decided[0] != decided[1]:
        return Sameness("unknown", _options_differ(decided), None, "", "plans", notes)
    if tiers[0] != tiers[1]:
        routes = [f"{read} to {write}" for read, write in tiers]
        return Sameness("refuted", f"{routes[0]} against {routes[1]}", _first_unit(first), "tiers", "plans", notes)
    halves = any(command.unit_bits == 4 for program in programs for command in program)
    if halves:
        programs = [tuple(map(in_half_bytes, program)) for program in programs]
    session = Session(rlimit)
    subject, layouts = _coordinates(first if first[2].dtypes[first[0].dtype] == 4 or not halves else second)
    found = compare(programs[0], programs[1], subject, layouts, session)
    witness, why = None, found.why
    if found.status == "proved":
        units = sum(command.amount for command in programs[0])
        why = f"both copy the same units ({units:,} {'half bytes' if halves else 'bytes'})"
        clash = "" if _is_one_run(first, second) else order_decides(of_commands(programs[0], first[2]))
        if clash:
            return Sameness("unknown", f"{why}, and their order may decide what stays: {clash}", None, "", "plans",
                               notes, tuple(session.asked))  # fmt: skip
    elif found.copy is not None:
        if clash := _stays_open(found.copy, programs, first[2], tiers[0]):
            why = f"they copy other units, and may leave the same ones behind: {clash}"
            witness = _copied(found.copy, plans, programs, found.only_in, halves)
            return Sameness("unknown", why, witness, "", "plans", notes, tuple(session.asked))
        witness = _copied(found.copy, plans, programs, found.only_in, halves)
        why = _why(found, witness)
    return Sameness(found.status, why, witness, found.by, "plans", notes, tuple(session.asked))


def _is_one_run(first: Plan, second: Plan) -> bool:
    """Whether both are the same requests in the same order of one engine, however their loops are written, which does
    them one after the other.
    """
    if first[2].engines.launched or len({command.engine for command in first[1]}) > 1:
        return False
    runs = [
        (transfer.options, transfer.form.each if transfer.form is not None else (), machine.name,
         tuple(command.normal for command in commands))
        for transfer, commands, machine in (first, second)
    ]  # fmt: skip
    return runs[0] == runs[1]


def _options_differ(decided: Sequence[Mapping[str, Any]]) -> str:
    """Which of what decides bytes differs, in words."""
    one, other = decided
    said = []
    for name in {**one, **other}:
        values = [str(found.get(name, "not said")) for found in decided]
        if one.get(name) != other.get(name):
            said.append(f"{name} ({values[0]} against {values[1]})" if max(map(len, values)) < 40 else name)
    return f"what may decide the bytes differs: {', '.join(said)}"


def _stays_open(copy: UnitCopy, programs: Sequence[Sequence[Command]], target: Target, tiers: tuple[str, str]) -> str:
    """Why a copy that one program alone does need leave nothing else behind; empty where it does."""
    if tiers[0] == tiers[1] and copy.read == copy.write:
        return "a unit is copied onto itself"
    return next(filter(None, (order_decides(of_commands(program, target)) for program in programs)), "")


def _tiers(plan: Plan) -> tuple[str, str]:
    """The memories: tiers that share their addresses are one."""
    return plan[2].memory_of(plan[0].source.tier), plan[2].memory_of(plan[0].dest.tier)


def _coordinates(plan: Plan) -> tuple[Subject, tuple[Layout, Layout]]:
    """The digits of one plan's tensors, in which the addresses of both are compared."""
    transfer, _, machine = plan
    bits = machine.dtypes[transfer.dtype]
    source, dest = (layout_of(t, space_of(machine, t.tier), bits) for t in (transfer.source, transfer.dest))
    return Subject(transfer.source, transfer.dest, source[1], dest[1]), (source[0], dest[0])


def _notes(plans: tuple[Plan, Plan]) -> tuple[str, ...]:
    (one, a, machine), (other, b, machine2) = plans
    notes = []
    if one.dtype != other.dtype:
        notes.append(f"the element types differ: {one.dtype} against {other.dtype}; compared is what is copied where")
    if machine.name != machine2.name:
        notes.append(f"the machines differ: {machine.name} against {machine2.name}; addresses are compared as numbers")
    engines = [sorted({str(c.engine) for c in commands if c.engine is not None}) for commands in (a, b)]
    if engines[0] != engines[1]:
        texts = [", ".join(found) or "not said" for found in engines]
        notes.append(f"the engines differ: {texts[0]} against {texts[1]}")
    return tuple(notes)


def _first_unit(plan: Plan) -> dict[str, Any]:
    command = plan[1][0]
    bases = {"read_address": command.read.base, "write_address": command.write.base}
    return {"only_in": WORDS[0], "command": 0, "counters": {}, **bases}


def _copied(
    copy: UnitCopy, plans: tuple[Plan, Plan], programs: Sequence[Sequence[Command]], only_in: int, halves: bool
) -> dict[str, Any]:
    """The unit that one program copies alone, and what the other does at the same destination."""
    transfer, _, machine = plans[only_in]
    command = programs[only_in][copy.command]
    bits = 4 if halves else 8
    sides = [Side(tensor, space_of(machine, tensor.tier), bits) for tensor in (transfer.source, transfer.dest)]
    read, write = local_address(sides[0].space, copy.read), local_address(sides[1].space, copy.write)
    witness: dict[str, Any] = {"only_in": WORDS[only_in], "command": copy.command}
    if command.engine is not None:
        witness["engine"] = {"chip": command.engine.chip, "cluster": command.engine.cluster, "dmn": command.engine.dmn}
    witness["counters"] = named_counters(command, copy.counters)
    witness |= {"read_address": read, "write_address": write}
    witness |= {
        "reads": where(sides[0], read) + _chip(sides[0], copy.read),
        "writes": where(sides[1], write) + _chip(sides[1], copy.write),
    }
    try:
        seen = find_copy(programs[1 - only_in], copy.write)
    except TooManySteps:
        return witness
    other = None if seen is None else seen.read
    witness["other_reads"] = (
        None if other is None else where(sides[0], local_address(sides[0].space, other)) + _chip(sides[0], other)
    )
    return witness


def _chip(side: Side, address: int) -> str:
    placed = "chip" in side.space.places and address >= SPAN["chip"]
    return f" of chip {address // SPAN['chip']}" if placed else ""


def _why(found: Comparison, witness: Mapping[str, Any]) -> str:
    one, other = WORDS[found.only_in], WORDS[1 - found.only_in]
    text = f"the {one} copies {witness['reads']} to {witness['writes']}"
    if "other_reads" in witness:
        reads = witness["other_reads"]
        text += f"; the {other} never writes there" if reads is None else f"; the {other} copies {reads} there"
    return text
