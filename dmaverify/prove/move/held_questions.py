"""Whether a tensor holds every element of another, from definitions: the cell that the element's coordinates name.

Knows: both mappings, the digits that propose where an element lies.
Does not know: commands, which of both is the source, solvers.
Law: for every live cell of the tensor that asks there is a cell of the tensor that holds with the same coordinates and
the same unit of the element. Its position comes from digits and is trusted nowhere: the question states the holding
tensor by its definition at that position. A mapping whose digits propose no such position leaves the question open.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from dmaverify.language.affine import Lin
from dmaverify.layout.digits import Gap, NotDigits, compile_digits
from dmaverify.program.space import Space
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.move.defined import CellNames, NotCovered, Position, cell_at
from dmaverify.prove.move.questions import QuestionSubject, any_position, overlap_script, regions_apart, writer_of
from dmaverify.prove.move.script import Script, ScriptWriter, conjunction, text_of
from dmaverify.values import replace


def alone_scripts(subject: QuestionSubject) -> Iterator[Script]:
    """What a move without commands promises: the source holds what the destination asks for, and where both lie in
    one memory they lie apart. Raises NotCovered.
    """
    if subject.status.get("core/same-element") == "proved":
        source, dest = ((tensor, space) for _, tensor, space in subject.sides)
        yield held_script(writer_of(subject, "cells asked for"), dest, source, subject.dtype_bits, "core/same-element")
    if regions_apart(subject):
        yield overlap_script(subject)


def held_script(
    writer: ScriptWriter, asks: tuple[Tensor, Space], holds: tuple[Tensor, Space], dtype_bits: int, says: str
) -> Script:
    """Every live element of `asks` has a live cell in `holds`, equal on each axis of the source: the destination of
    `core/consumes` holds, else it asks. Raises NotCovered for windows and mappings without digits.
    """
    at = any_position(writer, *asks, dtype_bits, "at")
    asked = cell_at(writer, "asked", asks[0], at)
    places, sure = _places(writer, asked, *holds)
    there = Position(places, at.byte, "true")
    held = cell_at(writer, "held", holds[0], there)
    axes = asked.coordinates if says == "core/consumes" else held.coordinates
    same = [f"(= {asked.coordinates.get(axis, '0')} {held.coordinates.get(axis, '0')})" for axis in axes]
    writer.claim("every live cell is held", says, f"(and {asked.live} (not {conjunction([held.live, *same])}))")
    script = writer.script()
    return replace(script, steps=tuple(replace(step, stronger=not sure) for step in script.steps))


def _places(writer: ScriptWriter, asked: CellNames, tensor: Tensor, space: Space) -> tuple[dict[str, Lin], bool]:
    """The position on each place of a cell with the asked coordinates, by the digits of its mapping; and whether no
    other cell could have them, replicas apart.
    """
    sure = True
    found = dict.fromkeys(space.places, Lin(0))
    digits: dict[str, list[tuple[int, int, str, int]]] = {}
    offsets: dict[str, int] = {}
    for place in PLACES:
        try:
            form = compile_digits(tensor.field(place))
        except NotDigits as why:
            raise NotCovered(f"a mapping without digits: {why.reason}") from why
        sure = sure and not any(guard.kind is Gap.VOID for guard in form.guards)
        for digit in form.digits:
            if digit.axis is not None and place in found:
                digits.setdefault(digit.axis, []).append((digit.weight, digit.step, place, digit.slots))
        for axis, value in form.offsets:
            offsets[axis] = offsets.get(axis, 0) + value
    for axis, own in digits.items():
        name = f"coordinate.{axis}"
        rest = writer.integer(name, asked.coordinates.get(axis, "0"), asked.sums.get(axis, Lin(0)))
        rest = rest + -offsets.get(axis, 0)
        own = sorted(own, reverse=True)
        sure = sure and all(low * slots <= high for (high, *_), (low, *_, slots) in pairwise(own))
        for index, (weight, step, place, _) in enumerate(own):
            at, rest = writer.split(f"held.{axis}.{index}", rest, weight) if weight > 1 else (rest, Lin(0))
            found[place] = found[place] + at * step
    return {place: _named(writer, place, at) for place, at in found.items()}, sure


def _named(writer: ScriptWriter, place: str, at: Lin) -> Lin:
    return writer.integer(f"held.{place}", text_of(at), at)
