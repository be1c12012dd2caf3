"""Refutations as tests: a pytest file that runs each refuted transfer again, and what its tests call.

Knows: verdicts and witnesses, how a transfer is executed, judged again, or looked at in one unit.
Does not know: pytest, command lines.
Law: same verdicts, same text. A test fails as long as its transfer breaks the promise, with the counterexample as the
message, and passes once it is kept: by running every unit in numpy; where the units are too many, by the meaning of the
units of the witnesses, and then by proof; where a run cannot show it (a rule of the machine, a program, a view that
moves, a gather), by judging it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pprint import pformat
from textwrap import indent
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError
from dmaverify.program.command import Command
from dmaverify.program.space import SPAN, Space, global_address
from dmaverify.prove.move.copies import TooManySteps, find_copy
from dmaverify.prove.move.scene import (
    Cell,
    Scene,
    Side,
    addresses,
    full_counters,
    named_counters,
    show_cell,
    show_index,
    where,
)
from dmaverify.report.order import findings_in_order, in_order
from dmaverify.verdict import Finding, Status, Verdict

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan, PlanTransfer
    from dmaverify.targets.target import Target

RUN_UNITS = 1 << 22  # most units that a replay executes; beyond, the witness alone is evaluated
SHOWN_BY_RUNNING = frozenset(
    f"core/{name}"
    for name in ("in-bounds", "same-element", "covers", "writes-once", "reads-live", "padding", "not-vacuous")
)

_HEAD = '''"""What dmaverify refuted, as tests: each fails as long as its transfer breaks the promise.

Written by `dmaverify check --playback`. Run it with pytest, from the folder in which `dmaverify check` ran.
"""

from dmaverify.testing.playback import replay
'''


def playback_text(verdicts: Iterable[Verdict]) -> str:
    """A pytest file with one test per refuted verdict, in the order of the report; with none, one that says so.

    Raises InputError for a refuted verdict that was not read from a file: nothing could read it again.
    """
    refuted = [verdict for verdict in in_order(verdicts) if verdict.status is Status.REFUTED]
    taken: set[str] = set()
    tests = [_test(verdict, taken) for verdict in refuted]
    if not tests:
        return '"""dmaverify refuted nothing, so there is nothing to replay."""\n'
    return "\n\n".join([_HEAD, *tests])


def _test(verdict: Verdict, taken: set[str]) -> str:
    if not verdict.path or verdict.path.startswith("<"):
        message = f"`{verdict.name}` was not read from a file, so no test can read it again"
        raise InputError(message, None, "write the plan to a file and check that")
    errors = [finding for finding in findings_in_order(verdict) if finding in verdict.errors]
    rules = list(dict.fromkeys(finding.rule for finding in errors))
    arguments = [repr(verdict.path), repr(verdict.name), f"rules={rules!r}"]
    if verdict.readings:
        arguments.append(f"readings={dict(sorted(verdict.readings.items()))!r}")
    if _ships(verdict.target):
        arguments.append(f"target={verdict.target!r}")
    witnesses = [_place(f.rule, f.witness) for f in errors if f.witness and f.rule in SHOWN_BY_RUNNING]
    if witnesses:
        arguments.append(f"witnesses={pformat(witnesses, width=100, sort_dicts=False)}")
    lines = ",\n".join(indent(text, " " * 8) for text in arguments)
    return f"def {_name(verdict, taken)}() -> None:\n{_docstring(errors)}    replay(\n{lines},\n    )\n"


def _docstring(errors: Sequence[Finding]) -> str:
    said = [f"{finding.rule}: {finding.message}" for finding in errors]
    clean = [re.sub(r'[\\"\x00-\x1f\x7f-\x9f\u2028\u2029]', "'", line) for line in said]
    return '    """' + "\n    ".join(clean) + '.\n    """\n'


def _name(verdict: Verdict, taken: set[str]) -> str:
    stem = re.sub(r"\.dma$", "", re.sub(r"\.toml$", "", re.split(r"[/\\]", verdict.path)[-1]))
    name = "test_" + re.sub(r"\W+", "_", f"{stem}_{verdict.name}", flags=re.ASCII).strip("_").lower()
    unused, number = name, 2
    while unused in taken:
        unused, number = f"{name}_{number}", number + 1
    taken.add(unused)
    return unused


def _place(rule: str, witness: Mapping[str, Any]) -> dict[str, Any]:
    """What of a witness finds the unit again."""
    keys = ("command", "counters", "again_by", "address", "places")
    return {"rule": rule, **{key: _plain(witness[key]) for key in keys if key in witness}}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _ships(target: str) -> bool:
    from dmaverify.targets.target import available_targets

    return target in available_targets()


# ---------------------------------------------------------------- what the tests call


class BrokenPromise(AssertionError):
    """The transfer still does what was refuted."""


def replay(
    path: str,
    name: str,
    *,
    rules: Sequence[str] = (),
    witnesses: Sequence[Mapping[str, Any]] = (),
    readings: Mapping[str, str] | None = None,
    target: str | None = None,
    limit_units: int = RUN_UNITS,
) -> None:
    """Runs one transfer of a plan file again. Raises BrokenPromise, with the counterexample, where it breaks `rules`.

    Raises InputErrors or InputError where the file or the transfer cannot be read any more.
    """
    __tracebackhide__ = True
    from dmaverify.plan.plan import select
    from dmaverify.plan.read import read_plan

    plan = select(read_plan(path, target=target), name)
    left = set(rules)
    item = plan.transfers[0] if plan.transfers else None
    runs = item is not None and item.transfer.views is None and not any(p.fatal for p in item.problems)
    if item is not None and runs and left & SHOWN_BY_RUNNING:  # views move: one run shows one iteration only
        said, ran = _run(plan, item, witnesses, readings or {}, limit_units)
        if said:
            raise BrokenPromise(said)
        left -= SHOWN_BY_RUNNING if ran else set()
    if left and (said := _judged_again(plan, left, readings or {})):
        raise BrokenPromise(said)


def _run(
    plan: Plan, item: PlanTransfer, witnesses: Sequence[Mapping[str, Any]], readings: Mapping[str, str], limit: int
) -> tuple[str, bool]:
    """What is wrong with the first program that breaks the promise, and whether all of them could be run."""
    from dmaverify.execute.address import Aliased, TooLarge
    from dmaverify.execute.interpret import execute
    from dmaverify.execute.report import kept, report_text

    transfer = item.transfer
    machine = plan.targets[transfer.target]
    bits = machine.dtypes[transfer.dtype]
    spaces = _spaces(item, machine)
    programs = _programs(item, machine, bits)
    ran = bool(programs)
    for commands in programs:
        try:
            done = execute(
                transfer.source, transfer.dest, *spaces, bits, commands, readings=readings, limit_units=limit
            )
        except (Aliased, TooLarge):
            ran = False
            scene = Scene(Side(transfer.source, spaces[0], bits), Side(transfer.dest, spaces[1], bits), commands)
            said = next((text for witness in witnesses if (text := _evaluated(scene, witness))), "")
            if said:
                return f"{plan.path}::{item.name}: {said}", False
            continue
        if not kept(done):
            return f"{plan.path}::{item.name}\n{report_text(done)}", True
    return "", ran


def _spaces(item: PlanTransfer, machine: Target) -> tuple[Space, Space]:
    from dmaverify.lower.programs import space_of

    return space_of(machine, item.transfer.source.tier), space_of(machine, item.transfer.dest.tier)


def _programs(item: PlanTransfer, machine: Target, bits: int) -> list[tuple[Command, ...]]:
    """The printed commands and those of the stream, as far as there are any."""
    from dmaverify.lower.programs import derived_program, given_program

    transfer = item.transfer
    found: list[object] = []
    if transfer.given:
        found.append(given_program(transfer.given, transfer.source, transfer.dest, bits, machine))
    if transfer.stream is not None:
        derived = derived_program(
            transfer.source, transfer.dest, transfer.stream, bits, machine, transfer.given, transfer.engine
        )
        found.append(derived)
    return [commands for commands in found if isinstance(commands, tuple)]


def _judged_again(plan: Plan, rules: set[str], readings: Mapping[str, str]) -> str:
    """The verdict as text where it is no proof yet, or still one of `rules`; else empty."""
    from dmaverify.jobs.verdicts import verdicts_of
    from dmaverify.prove.options import Options
    from dmaverify.report.text import render_verdict

    for verdict in verdicts_of(plan, Options(readings=readings)):
        if verdict.status is Status.UNKNOWN or rules & {finding.rule for finding in verdict.errors}:
            return render_verdict(verdict)
    return ""


# ---------------------------------------------------------------- one unit alone


def _evaluated(scene: Scene, witness: Mapping[str, Any]) -> str:
    """What the meaning of both mappings says of the unit of the witness; empty where it says nothing against it."""
    if "counters" in witness:
        said = _at_counters(scene, witness)
    elif "places" in witness:
        said = _at_cell(scene, witness)
    else:
        said = ""
    return f"{witness['rule']} at {_worded(witness)}: {said}" if said else ""


def _worded(witness: Mapping[str, Any]) -> str:
    place = witness.get("counters") or witness.get("places") or {}
    return ", ".join(f"{key} = {value}" for key, value in place.items()) or "its first unit"


def _at_counters(scene: Scene, witness: Mapping[str, Any]) -> str:
    """What is wrong with the copy of the witness; empty where nothing is, or where there is no such copy any more."""
    command = _command_at(scene, witness)
    if command is None:
        return ""
    read, write = addresses(*command)
    source = scene.source.cell_at(global_address(command[0].read, read))
    dest = scene.dest.cell_at(global_address(command[0].write, write))
    said = _wrong(source, dest)
    again: Mapping[str, Any] = witness.get("again_by") or {}
    other = _command_at(scene, again) if again and not said else None
    if other is not None:
        there = global_address(other[0].write, addresses(*other)[1])
        if there == global_address(command[0].write, write):
            said = f"written again by command {again['command']} at {_worded(again)}"
    if not said:
        return ""
    return f"{where(scene.source, read)} is copied to {where(scene.dest, write)}: {said}"


def _command_at(scene: Scene, witness: Mapping[str, Any]) -> tuple[Command, tuple[int, ...]] | None:
    """The command and its full counters, if the loops are still those of the witness."""
    index = witness["command"]
    if not 0 <= index < len(scene.commands):
        return None
    command = scene.commands[index]
    values = tuple(witness["counters"].values())
    limits = [loop.count for loop in command.loops] + ([command.burst] if command.burst > 1 else [])
    if len(values) != len(limits) or any(not 0 <= v < n for v, n in zip(values, limits, strict=True)):
        return None
    counters = full_counters(command, values)
    return (command, counters) if named_counters(command, counters) == dict(witness["counters"]) else None


def _wrong(source: Cell, dest: Cell) -> str:
    if not source.inside or not dest.inside:
        return f"outside the {'destination' if source.inside else 'source'}"
    if "bottom" in (source.kind, dest.kind) or "out-of-bounds" in (source.kind, dest.kind):
        return f"{show_cell(source)} to {show_cell(dest)}, which must not be touched"
    if dest.kind == "zero" and source.kind != "zero":
        return f"zero padding gets {show_cell(source)}"
    if dest.index is None:
        return ""
    if source.index is None:
        return f"the element {show_index(dest.index)} gets {source.kind} padding"
    wanted = dest.index
    if source.unit != dest.unit or any(value != wanted.get(axis, 0) for axis, value in source.index.items()):
        return f"the element {show_index(wanted)} gets {show_index(source.index)}"
    return ""


def _at_cell(scene: Scene, witness: Mapping[str, Any]) -> str:
    """Whether anything writes the cell of the witness, by division; empty where that takes too many steps."""
    address = witness["address"] + sum(SPAN[p] * v for p, v in witness["places"].items() if p in SPAN)
    cell = scene.dest.cell_at(address)
    if not cell.inside or (cell.index is None and cell.kind != "zero"):
        return ""
    try:
        if find_copy(scene.commands, address) is not None:
            return ""
    except TooManySteps:
        return ""
    return f"{where(scene.dest, witness['address'])} ({show_cell(cell)}) is never written"
