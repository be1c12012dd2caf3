"""The loop over the keys, as a plan prints it or as its stream walks it, against the index and the payload.

Knows: what the machine adds for each key. Does not know: the row itself, rules, solvers.
Law: a loop without a finding goes, for every key, where the index and the payload's digits say, to each key once, and
to nothing else.

Source: "Sequencer" (Indirect Access), docs/machines/rngd.md 5.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.errors import Span
from dmaverify.language.expr import Symbol, axes_of, pair, terms_of
from dmaverify.language.served import TooManyCells, first_repeated, first_unserved, first_zero
from dmaverify.lower.programs import space_of
from dmaverify.program.command import Command
from dmaverify.program.space import unit_bits_of
from dmaverify.program.tensor import PLACES
from dmaverify.prove.meet import side_of
from dmaverify.prove.move.indirect_case import IndirectCase


def judge_walked(case: IndirectCase) -> None:
    """That the stream walks every key, once, and nothing else: what is left of it is the stream of a row."""
    stream, key = case.move.stream, case.move.key
    if stream is None:
        return
    walked = pair(*(term for term in terms_of(stream.mapping) if key in axes_of(term)))
    try:
        left = first_unserved(walked, Symbol(key, case.move.keys), [key])
        again = first_repeated(walked)
    except TooManyCells:
        case.status["core/covers"] = case.status["core/writes-once"] = "unknown"
        case.assumptions.append(f"whether the stream walks every {key} once: too many to be counted")
        return
    for found, rule, what in (
        (left, "core/covers", "is never moved: the stream does not walk it"),
        (again, "core/writes-once", "is moved twice: the stream walks it again"),
    ):
        if found is not None:
            at = found.get(key, 0)
            case.broken(rule, f"{key} = {at} {what}", stream.span, f"let `time` walk {key} once", {key: at})
    if left is again is None and walked.size > case.move.keys:
        case.broken(
            "core/in-bounds",
            f"the stream walks {walked.size} positions of {key}, and the index has {case.move.keys} numbers: of the "
            "others nothing says which row they are",
            stream.span, f"let `time` walk {key} without padding", {"positions": walked.size},
        )  # fmt: skip


def judge_zeros(case: IndirectCase) -> None:
    """Zero padding of a gather's destination around its keys: no key writes it, and nothing else is written."""
    move, key = case.move, case.move.key
    if move.scatter or (move.stream is None and move.given is None):
        return
    for place in PLACES:
        for term in terms_of(move.dest.field(place)):
            if key not in axes_of(term):
                continue
            try:
                at = first_zero(term)
            except TooManyCells:
                case.left_open("core/padding", f"whether `{term}` has zero padding: too many cells to be looked at")
                continue
            if at is not None:
                case.broken(
                    "core/padding", f"the zero padding of `{term}` at its position {at} belongs to no {key}: nothing "
                    "makes it zero",
                    term.span or move.dest.span, "write zeros by another move, or pad with `#`", {"position": at},
                )  # fmt: skip


def judge_reach(case: IndirectCase, commands: Sequence[Command]) -> None:
    """That what a row reads behind its own cells lies in the source for every key: of row 0, other rows are there."""
    source, unit = case.move.source, unit_bits_of(case.bits)
    space = space_of(case.target, source.tier)
    apart = space.stride("slice", unit) if "slice" in space.places and source.slice.size > 1 else 0
    first = source.base * 8 // unit
    if "slice" in space.places and not apart:
        first += source.at_slice * space.stride("slice", unit)
    whole = range(first, first + -(-source.element.size * case.bits // unit))
    shifts = [_in_slices(shift, apart) for shift in _read_shifts(case)]
    if case.status["core/in-bounds"] != "proved" or case.status.get("core/same-element") == "refuted" or not shifts:
        return
    if apart and whole.stop > apart:
        case.left_open("core/in-bounds", "whether rows are read beyond their slice: it does not hold the tensor")
        return
    for command in commands:
        walk = side_of(command, writes=False)
        reach = [[(count - 1) * step for step in _in_slices(stride, apart)] for count, stride in walk.loops]
        start = divmod(walk.base, apart) if apart else (0, walk.base)
        for part, held in ((0, range(source.at_slice, source.at_slice + source.slice.size)), (1, whole)):
            ends = [
                start[part] + end(shift[part] for shift in shifts) + sum(end(0, one[part]) for one in reach)
                for end in (min, max)
            ]
            out = next((at for at in ends if at not in held), None)
            if out is not None and (part or apart):
                where = f"slice {out}" if not part else f"byte {out * unit // 8}"
                case.broken(
                    "core/in-bounds",
                    f"of the row that lies furthest {where} is read, outside the source: rows end beyond their cells",
                    source.element.span or source.span, "let the row end where its cells do", {"address": out},
                )  # fmt: skip
                return


def _read_shifts(case: IndirectCase) -> list[int]:
    """What the machine may add to the addresses that it reads for row 0, in units."""
    move, index = case.move, case.move.index
    if move.scatter:
        return case.keyed_shifts()
    if (known := case.shifts()) is not None:
        return known[0]
    if move.listed is not None and move.listed.offsets is not None:
        return list(move.listed.offsets)
    last = move.rows - 1 if index.high is None else index.high
    return [row * case.row_units for row in (index.low or 0, last)]


def _in_slices(units: int, apart: int) -> tuple[int, int]:
    """A distance as slices and what is left, the nearest to 0; without slices all of it is left."""
    slices = (units + apart // 2) // apart if apart else 0
    return slices, units - slices * apart


def judge_keyed(case: IndirectCase) -> None:
    """A table that holds the key as well: key k asks for its own part of the row, and the machine adds the row
    alone.
    """
    listed = case.move.listed
    if case.keyed_table is None or (listed is not None and listed.offsets is not None):
        return
    space = space_of(case.target, case.move.table.tier)
    for key in range(1, case.move.keys):
        further = case.keyed_table.units(key, space, case.bits)
        if further:
            case.broken(
                "core/same-element",
                f"the table holds {case.move.key} too: {case.move.key} = {key} asks for what lies {further} "
                f"further in its row, but the machine adds the row alone and goes to {case.move.key} = 0",
                case.move.table.span,
                f"take {case.move.key} out of the table: let the index count (row, {case.move.key}) pairs",
                {case.move.key: key, "further": further},
            )
            return


def judge_printed(case: IndirectCase) -> None:
    """Judges the loop over the keys that a plan prints: its count, its offsets, its stride."""
    listed = case.move.listed
    if listed is None:
        return
    case.status.setdefault("core/same-element", "proved")
    if listed.count != case.move.keys:
        case.broken(
            "core/covers", f"the indirect loop counts {listed.count}, {case.move.key} has {case.move.keys}",
            listed.span, f"{case.move.keys} iterations, one for each key",
        )  # fmt: skip
    _printed_offsets(case, listed.offsets, listed.span)
    _printed_stride(case, listed.stride, listed.stride_span or listed.span)


def _printed_offsets(case: IndirectCase, offsets: tuple[int, ...] | None, span: Span | None) -> None:
    values = case.move.index.values
    if offsets is None:
        return
    space = space_of(case.target, case.move.table.tier)
    keyed, keys = case.keyed_table, range(case.move.keys)
    beside = [0 if keyed is None else keyed.units(k, space, case.bits) for k in keys]
    if values is None:
        _printed_of_any(case, offsets, beside, span)
        return
    wanted = [
        None if (row := case.row_of(v)) is None else row * case.row_units + more
        for v, more in zip(values, beside, strict=True)
    ]
    for at, (have, want) in enumerate(zip(offsets, wanted, strict=False)):
        if want is not None and have != want:
            width = case.bits // unit_bits_of(case.bits)
            by_elements = width > 1 and all(h * width == w for h, w in zip(offsets, wanted, strict=False))
            hint = f"the offsets count elements: multiply them by {width}" if by_elements else f"write {want} there"
            case.broken(
                "core/same-element",
                f"the indirect loop goes to offset {have} at {case.move.key} = {at}, the index to {want}",
                span, hint, {case.move.key: at, "offset": have, "wanted": want},
            )  # fmt: skip
            return


def _printed_of_any(case: IndirectCase, offsets: Sequence[int], beside: Sequence[int], span: Span | None) -> None:
    """Printed offsets of an index that is known at run time only: each is a row that it may name, or wrong whatever it
    names; right they are where it may name no other.
    """
    index, step = case.move.index, case.row_units
    low = max(0, index.low or 0)
    high = case.move.rows - 1 if index.high is None else min(index.high, case.move.rows - 1)
    for at, (have, more) in enumerate(zip(offsets, beside, strict=False)):
        row, rest = divmod(have - more, step or 1)
        if rest or not low <= row <= high:
            case.broken(
                "core/same-element",
                f"the indirect loop goes to offset {have} at {case.move.key} = {at}, where no "
                f"row lies that the index may name ({low}..{high})",
                span, "write `index` there: the numbers are known at run time",
                {case.move.key: at, "offset": have},
            )  # fmt: skip
            return
    if low != high and offsets:
        why = "the printed offsets name rows, and which rows the index names is known at run time only"
        case.left_open("core/same-element", f"core/same-element: {why}: write `index` there")
        case.by["core/same-element"] = ""


def _printed_stride(case: IndirectCase, stride: int, span: Span | None) -> None:
    space = space_of(case.target, case.move.payload.tier)
    for digit, step in sorted(
        zip(case.payload.digits, case.payload.steps(space, case.bits), strict=True), key=lambda one: one[0].weight
    ):
        if step != stride * digit.weight and digit.weight < case.move.keys:
            case.broken(
                "core/same-element",
                f"{case.move.key} = {digit.weight} belongs {step} further, the loop goes {stride * digit.weight}",
                span, f"set the stride to {step // digit.weight}" if step % digit.weight == 0 else
                f"one loop cannot reach all of {case.move.key}: lay it out in one digit",
                {case.move.key: digit.weight, "wanted": step},
            )  # fmt: skip
            return
