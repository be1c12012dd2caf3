"""Counterexamples a kernel writer can follow: where, which element, what the layout asks, what the plan does instead.

Knows: how each broken obligation is told, from the scene of a move.
Does not know: digits, solvers: it would contradict them if they were wrong.
Law: a violation is reported only after `meaning` has confirmed it at the witness; else `Disagreement` is raised,
which is an internal error of its own (exit code 4), never hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dmaverify.errors import Disagreement, Span
from dmaverify.program.command import Command
from dmaverify.program.space import global_address, local_address, port_at, unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.move.copies import TooManySteps, find_copy
from dmaverify.prove.move.outcome import Broken
from dmaverify.prove.move.scene import (
    Cell,
    Scene,
    Side,
    addresses,
    full_counters,
    label_at,
    named_counters,
    show_cell,
    show_command,
    show_counters,
    show_index,
    where,
)
from dmaverify.values import replace
from dmaverify.verdict import Finding, Severity

# ---------------------------------------------------------------- findings

WRITE_ZEROS = (
    "a copy makes no zeros: pad the source alike and let the packet carry its zeros (`W #{0} 256` in source, "
    "destination and packet), or write them by a transfer of their own from a tensor of zeros; `W # 256` "
    "where nobody reads them"
)
"""How zeros come into padding that must be zero."""


def finding_of(broken: Broken, scene: Scene) -> Finding:
    """The finding for a violated claim, confirmed by `meaning`. Raises Disagreement."""
    if broken.command is not None and broken.counters is not None:
        return _at_counters(broken, scene)
    if broken.position is not None:
        return _at_cell(broken, scene)
    if broken.obligation == "core/not-vacuous":
        return promises_nothing(scene.dest.tensor, ", or the commands move nothing")
    return Finding(
        broken.obligation,
        Severity.ERROR,
        f"fewer distinct live cells are written than the destination has ({broken.count or 'some'} missing at least)",
        "dest",
        scene.dest.tensor.span,
        {"missing": broken.count},
        notes=("counted: every live cell needs a write of its own",),
    )


def promises_nothing(dest: Tensor, otherwise: str = "") -> Finding:
    """That a move has nothing to prove."""
    what = f"nothing is promised: the destination has no live element{otherwise}"
    return Finding("core/not-vacuous", Severity.ERROR, what, "dest", dest.span)


class ConfirmedAt(NamedTuple):
    """A violation at counters of a command: the cells that it reads and writes, and what is said of them so far."""

    broken: Broken
    scene: Scene
    command: Command
    counters: Sequence[int]
    source: Cell
    dest: Cell
    witness: dict[str, Any]


def _at_counters(broken: Broken, scene: Scene) -> Finding:
    assert broken.command is not None
    assert broken.counters is not None
    command = scene.commands[broken.command]
    counters = full_counters(command, broken.counters)
    read, write = addresses(command, counters)
    source = scene.source.cell_at(global_address(command.read, read))
    dest = scene.dest.cell_at(global_address(command.write, write))
    witness: dict[str, Any] = {
        "command": broken.command,
        "counters": named_counters(command, counters),
        "read_address": read,
        "write_address": write,
        "source_cell": dict(source.index) if source.index is not None else show_cell(source),
        "dest_cell": dict(dest.index) if dest.index is not None else show_cell(dest),
    }
    if command.engine is not None:
        witness["engine"] = {"chip": command.engine.chip, "cluster": command.engine.cluster, "dmn": command.engine.dmn}
    if len(scene.commands) > 1:
        witness["by"] = show_command(scene, broken.command)
    if broken.count is not None:
        witness["units"] = broken.count
    teller = _TELLERS[broken.obligation]
    return teller(ConfirmedAt(broken, scene, command, counters, source, dest, witness))


def _confirm(holds: bool, broken: Broken, witness: Mapping[str, Any]) -> None:
    if not holds:
        raise Disagreement(
            f"{broken.obligation} {broken.part}: the solver's witness does not violate it: {dict(witness)}"
        )


def _bounds(at: ConfirmedAt) -> Finding:
    broken, scene, command, counters, source, dest, witness = at
    reading = broken.part == "read"
    side, found = (scene.source, source) if reading else (scene.dest, dest)
    _confirm(not found.inside, broken, witness)
    local = witness["read_address" if reading else "write_address"]
    word = "source" if reading else "destination"
    low, high = command.reach(writes=not reading)
    there, verb = where(side, local, command.read if reading else command.write), "reads" if reading else "writes"
    witness["asked"] = f"{word}: {region_text(side)}"
    witness["made"] = f"{verb} {there}"
    span = _loop_span(command, counters, reading) or side.tensor.span
    return Finding(
        "core/in-bounds",
        Severity.ERROR,
        f"{verb} {there}, outside the {word}: {region_text(side)}",
        f"{broken.part} addresses",
        span,
        {"address": local, "lowest": low, "highest": high},
        witness,
        notes=(f"the nest {verb} local addresses {low} to {high}",),
        labels=label_at(span, f"leaves the {word}"),
    )


def region_text(side: Side) -> str:
    """The declared region in words."""
    unit_bits = unit_bits_of(side.dtype_bits)
    base = side.tensor.base * 8 // unit_bits
    size = side.tensor.element.size * side.dtype_bits // unit_bits
    parts = []
    for place in PLACES[:-1]:
        if place in side.space.places:
            start, count = getattr(side.tensor, f"at_{place}"), side.tensor.field(place).size
            if count > 1 or start or place == "slice":
                parts.append(f"{place} {start}..{start + count - 1}" if count > 1 else f"{place} {start}")
    return ", ".join([*parts, f"{'half bytes' if unit_bits == 4 else 'bytes'} {base}..{base + size - 1}"])


def _same_element(at: ConfirmedAt) -> Finding:
    broken, scene, command, counters, source, dest, witness = at
    _confirm(source.index is not None and dest.index is not None, broken, witness)
    assert source.index is not None
    assert dest.index is not None
    served = [{axis: one.get(axis, 0) for axis in source.index} for one in dest.indices]
    missing = next((one for one in served if one not in source.indices), None)
    different = [] if missing is None else [axis for axis in source.index if source.index[axis] != missing[axis]]
    _confirm(bool(different) or source.unit != dest.unit, broken, witness)
    witness["coordinates"] = dict(source.index)
    asked = _home_of(scene.dest, source.index, dest)
    if asked is not None:
        witness["asked"] = asked
    made = where(scene.dest, witness["write_address"], command.write)
    witness["made"] = f"writes {made}, read from {where(scene.source, witness['read_address'], command.read)}"
    witness["clobbers"] = f"the place of {show_index(dest.index)}"
    message = (
        f"the element {show_index(source.index)} is written where {show_index(dest.index)} belongs"
        if different
        else f"unit {source.unit} of an element is written where its unit {dest.unit} belongs"
    )
    span = _loop_span(command, counters, False) or scene.dest.tensor.span
    asks = label_at(scene.dest.tensor.element.span, f"asks for {asked}") if asked is not None else ()
    if not any(counters) and command.read_text is not None:
        asks += label_at(command.read_text.base_span, "reads from here")
    return Finding(
        "core/same-element",
        Severity.ERROR,
        message,
        "commands",
        span,
        {"axes": different},
        witness,
        labels=(*label_at(span, f"takes it to {made}"), *asks),
    )


def _home_of(side: Side, index: Mapping[str, int], near: Cell) -> str | None:
    """Where the layout asks for `index`; None where its mapping has no digits or no such element."""
    from dmaverify.lower.stream_places import base_at
    from dmaverify.program.space import layout_of

    layout, opaque = layout_of(side.tensor, side.space, side.dtype_bits)
    if opaque:
        return None
    known = {axis for axis, _ in layout.sizes}
    wanted = {**(near.index or {}), **{a: v for a, v in index.items() if a in known}}
    address = base_at(layout, wanted)
    found = side.cell_at(address)
    if not found.inside or found.index is None or any(found.index.get(a, 0) != v for a, v in wanted.items()):
        return None
    return where(side, local_address(side.space, address), port_at(side.tensor.tier, address, side.space))


def _reads_live(at: ConfirmedAt) -> Finding:
    broken, scene, command, counters, source, dest, witness = at
    _confirm(source.inside and source.index is None and dest.index is not None, broken, witness)
    assert dest.index is not None
    witness["coordinates"] = dict(dest.index)
    witness["asked"] = "a live cell of the source"
    witness["made"] = f"reads {source.kind} padding at {where(scene.source, witness['read_address'], command.read)}"
    witness["clobbers"] = where(scene.dest, witness["write_address"], command.write)
    span = _loop_span(command, counters, True) or scene.source.tensor.span
    return Finding(
        "core/reads-live",
        Severity.ERROR,
        f"{source.kind} padding of the source is copied into the live element {show_index(dest.index)}",
        "commands",
        span,
        {},
        witness,
        labels=label_at(span, "takes padding along"),
    )


def _padding(at: ConfirmedAt) -> Finding:
    broken, scene, command, counters, source, dest, witness = at
    at_dest = where(scene.dest, witness["write_address"], command.write)
    at_source = where(scene.source, witness["read_address"], command.read)
    reading = broken.part == "read-bottom"
    if broken.part == "write-bottom":
        _confirm(dest.kind in ("bottom", "out-of-bounds"), broken, witness)
        text = f"writes {at_dest}, which is {dest.kind} padding and must not be touched"
        witness["made"] = f"writes {at_dest}"
    elif reading:
        _confirm(source.kind in ("bottom", "out-of-bounds"), broken, witness)
        text = f"reads {at_source}, which is {source.kind} padding and must not be touched"
        witness["made"] = f"reads {at_source}"
    else:
        _confirm(dest.kind == "zero" and source.kind != "zero", broken, witness)
        text = f"zero padding at {at_dest} is overwritten with {show_cell(source)}"
        witness["asked"], witness["made"] = "zero", f"writes {at_dest}, read from {at_source}"
        witness["clobbers"] = show_cell(dest)
    tensor = scene.source.tensor if reading else scene.dest.tensor
    span = _loop_span(command, counters, reading) or tensor.span
    return Finding(
        "core/padding",
        Severity.ERROR,
        text,
        "commands",
        span,
        {"part": broken.part},
        witness,
        labels=label_at(span, "touches padding"),
    )


def _writes_once(at: ConfirmedAt) -> Finding:
    broken, scene, command, counters, _, dest, witness = at
    if broken.other is not None:
        other = scene.commands[broken.other[0]]
        second = full_counters(other, broken.other[1])
        _confirm(
            global_address(other.write, addresses(other, second)[1])
            == global_address(command.write, witness["write_address"])
            and (broken.other[0] != broken.command or tuple(second) != tuple(counters)),
            broken,
            witness,
        )
        witness["again_by"] = {"command": broken.other[0], "counters": named_counters(other, second)}
        witness["again"] = show_counters(named_counters(other, second))
        if broken.other[0] != broken.command:
            witness["again"] += f"   of command {show_command(scene, broken.other[0])}"
        span = _loop_span(other, second, False)
        before = label_at(_loop_span(command, counters, False), "comes here first")
    else:
        span, before = _loop_span(command, counters, False), ()
    there = where(scene.dest, witness["write_address"], command.write)
    witness["made"] = f"writes {there} both times"
    witness["clobbers"] = show_cell(dest)
    span = span or scene.dest.tensor.span
    text = f"the {scene.unit_word} at {there} ({show_cell(dest)}) is written twice"
    apart = (x for x in before if span is not None and not (x.span.start <= span.start and span.end <= x.span.end))
    labels = (*label_at(span, f"comes to {there} again"), *apart)
    return Finding("core/writes-once", Severity.ERROR, text, "commands", span, {}, witness, labels=labels)


def _loop_span(command: Command, counters: Sequence[int], reading: bool) -> Span | None:
    """The entry that the witness moves: the innermost loop with a counter above 0, else the base, else the text."""
    for loop, value in reversed(list(zip(command.loops, counters, strict=False))):
        if value:
            span = loop.read_span if reading else loop.write_span
            if span is not None:
                return span
    text = command.read_text if reading else command.write_text
    if text is not None and not any(counters) and text.base_span is not None:
        return text.base_span
    return text.span if text is not None else command.span


_TELLERS = {
    "core/in-bounds": _bounds,
    "core/same-element": _same_element,
    "core/reads-live": _reads_live,
    "core/padding": _padding,
    "core/writes-once": _writes_once,
}


def _copy_to(command: Command, address: int) -> tuple[int, ...] | None:
    """Counters with which a command writes a global address, by division; None where it does not, or too many would
    have to be tried."""
    try:
        found = find_copy([command], address)
    except TooManySteps:
        return None
    return None if found is None else found.counters


def _of_two(broken: Broken, scene: Scene) -> Broken | None:
    """The same violation with the two commands that write the cell; None where they are not found."""
    assert broken.position is not None
    writers = ((i, _copy_to(command, broken.position)) for i, command in enumerate(scene.commands))
    found = [(i, counters) for i, counters in writers if counters is not None][:2]
    if len(found) < 2:
        return None
    return replace(broken, command=found[0][0], counters=found[0][1], other=found[1], position=None)


def _at_cell(broken: Broken, scene: Scene) -> Finding:
    assert broken.position is not None
    if broken.obligation == "core/writes-once":
        told = _of_two(broken, scene)
        if told is not None:
            return _at_counters(told, scene)
    reading = broken.obligation == "core/consumes"
    side = scene.source if reading else scene.dest
    found = side.cell_at(broken.position)
    local = local_address(side.space, broken.position)
    witness: dict[str, Any] = {"address": local, "places": dict(found.places)}
    if broken.count is not None:
        witness["units"] = broken.count
    if found.index is not None:
        witness["coordinates"] = dict(found.index)
    there = where(side, local, port_at(side.tensor.tier, broken.position, side.space))
    witness["asked"], witness["made"] = there, "never reads it" if reading else "never writes it"
    tensor = side.tensor
    span = tensor.element.span or tensor.span
    if not reading and broken.obligation != "core/writes-once":
        _confirm(all(_copy_to(command, broken.position) is None for command in scene.commands), broken, witness)
    if broken.obligation == "core/padding":
        _confirm(found.kind == "zero", broken, witness)
        text = f"zero padding at {there} is never written, so nothing makes it zero"
        labels = label_at(span, "its zero padding stays unwritten")
        values = {"part": broken.part}
        return Finding(
            "core/padding", Severity.ERROR, text, "dest", span, values, witness, hint=WRITE_ZEROS, labels=labels
        )
    if broken.obligation == "core/writes-once":
        text = f"the {scene.unit_word} at {there} ({show_cell(found)}) is written by two commands"
        witness["clobbers"], witness["made"] = show_cell(found), "writes it by two commands"
        labels = label_at(tensor.span, "written by two commands")
        return Finding("core/writes-once", Severity.ERROR, text, "commands", tensor.span, {}, witness, labels=labels)
    _confirm(found.index is not None, broken, witness)
    assert found.index is not None
    if reading:
        text = f"the source element {show_index(found.index)} at {there} is never read"
        labels = label_at(span, "not all of it is read")
        return Finding("core/consumes", Severity.WARNING, text, "source", span, {}, witness, labels=labels)
    text = f"the element {show_index(found.index)} at {there} is never written"
    labels = label_at(span, "not all of it is written")
    return Finding("core/covers", Severity.ERROR, text, "dest", span, {}, witness, labels=labels)
