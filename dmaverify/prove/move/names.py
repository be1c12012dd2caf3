"""What a plan says beside its numbers: labels of printed entries, and the sizes of the axes that the numbers assume.

Knows: labels that read as mappings, the entries that a stream derives, how a mapping looks with another axis size.
Does not know: machines, how a program is judged (the caller passes that in).
Law: a label is only ever reported, as a warning, since hardware does not see it. Another axis size is proposed only
after the printed commands were proved with it, and never applied.

Source: the plan file format, Configuration text (labels are checked against the stream).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

from dmaverify.errors import InputError, Span
from dmaverify.language import wellformed
from dmaverify.language.expr import Expr, Symbol, axes_of
from dmaverify.language.parse import parse
from dmaverify.layout.digits import DigitForm, NotDigits, coalesce, digits_of
from dmaverify.lower.programs import WrongNumber, other_entries
from dmaverify.program.command import Command, Entry, GivenCommand, Sequencer
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.values import fields, replace

T = TypeVar("T")


# ---------------------------------------------------------------- labels


def misnamed(
    given: Sequence[GivenCommand], derived: Sequence[tuple[Sequencer | None, Sequencer | None]], axes: Mapping[str, int]
) -> Iterator[tuple[str, Span | None, str]]:
    """(message, span, what to write) of each label that is a mapping, but not what its entry walks.

    An entry of a label whose size is not the count; or, where the stream derives entries of the same counts, of a label
    that means another mapping than the stream's.
    """
    for command, (read, write) in zip(given, derived, strict=False):
        for side, printed, wanted in (("read", command.read, read), ("write", command.write, write)):
            names = _names(printed, wanted)
            for number, entry in enumerate(printed.entries):
                said = _wrong(entry, names[number] if names else "", axes)
                if said:
                    hint = f"write `{names[number]}`, or leave the label out" if names else "correct label or count"
                    yield f"the label `{entry.label}` of {side} entry {number} {said}", entry.span, hint


def _names(printed: Sequencer, wanted: Sequencer | None) -> list[str]:
    """The stream's labels, entry by entry, where both walk the same counts."""
    if wanted is None or [e.count for e in printed.entries] != [e.count for e in wanted.entries]:
        return []
    return [entry.label for entry in wanted.entries]


def _wrong(entry: Entry, wanted: str, axes: Mapping[str, int]) -> str:
    """What is wrong with a label; nothing of one that is no mapping of the plan's axes (free text)."""
    label = _mapping(entry.label, axes)
    if label is None:
        return ""
    problem = next((p.message for p in wellformed.problems(label, axes) if p.fatal), "")
    if problem:
        return f"makes no sense: {problem}"
    asked = _mapping(wanted, axes) if wanted else None
    if asked is not None and _form(label) != _form(asked):
        return f"is not what the stream walks there, `{wanted}`"
    return (
        "" if asked is not None or label.size == entry.count else f"has {label.size} values, its count is {entry.count}"
    )


def _mapping(label: str, axes: Mapping[str, int]) -> Expr | None:
    if not label or "|" in label:
        return None
    try:
        return parse(label, axes)
    except InputError:
        return None


def _form(expr: Expr) -> DigitForm | Expr:
    try:
        return coalesce(digits_of(expr))
    except NotDigits:
        return expr


# ---------------------------------------------------------------- axis sizes


def other_size(
    tensors: tuple[Tensor, Tensor],
    units: int,
    whole: int,
    axes: Mapping[str, int],
    holds: Callable[[tuple[Tensor, Tensor]], bool],
) -> tuple[str, int] | None:
    """(axis, size) with which the commands keep the promise; None where no one axis does it.

    `units` are what the commands move, `whole` what the destination has: the size of the axis that is wrong must scale
    by their ratio.
    """
    for axis in axes_of(tensors[1].mapping) | axes_of(tensors[0].mapping):
        size, rest = divmod(axes.get(axis, 0) * units, whole)
        if rest or size in (0, axes.get(axis)):
            continue
        changed = (_resized_tensor(tensors[0], axis, size), _resized_tensor(tensors[1], axis, size))
        sizes = {**axes, axis: size}
        places = [t.field(place) for t in changed for place in PLACES]
        if not any(p.fatal for e in places for p in wellformed.problems(e, sizes)) and holds(changed):
            return axis, size
    return None


def _resized_tensor(tensor: Tensor, axis: str, size: int) -> Tensor:
    changed: dict[str, Any] = {place: _resized(tensor.field(place), axis, size) for place in PLACES}
    return replace(tensor, **changed)


def _resized(value: T, axis: str, size: int) -> T:
    """The same tree with another size of one axis."""
    if isinstance(value, Symbol):
        return replace(value, size=size) if value.name == axis else value
    if isinstance(value, tuple):
        return tuple(_resized(part, axis, size) for part in value)  # type: ignore[return-value]
    if not isinstance(value, get_args(Expr)):
        return value
    node: Any = value
    parts = {f.name: getattr(node, f.name) for f in fields(node) if f.name != "span"}
    return replace(node, **{name: _resized(part, axis, size) for name, part in parts.items()})  # type: ignore[no-any-return]


def wrong_numbers(given: GivenCommand, wanted: Command) -> Iterator[WrongNumber]:
    """Counts, strides and packets of two printed texts that the stream would have otherwise, entry by entry."""
    for side, text, ask in (("read", given.read, wanted.read_text), ("write", given.write, wanted.write_text)):
        if ask is None or len(text.entries) != len(ask.entries):
            continue
        yield from other_entries(side, text, ask)
        if text.packet != ask.packet:
            yield f"the {side} packet", text.packet_span, text.packet, ask.packet
