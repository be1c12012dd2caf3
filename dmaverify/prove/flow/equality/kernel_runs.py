"""Two kernels run beside each other at chosen values, as what each changes between flags: where they part.

Knows: events with numbers put in, in order of issue; bytes that copies between two synchronisations change together.
Does not know: proofs for all values, machines, text syntax.
Law: `refuted` names a byte at which two runs with these values part, or what synchronises otherwise; `proved` that both
were run to their end and every group of copies changed the same bytes in whatever order; all else is `unknown`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from dmaverify.language.affine import Lin, World
from dmaverify.program.instructions import Branch, Copy, Event, KernelLoop, Use
from dmaverify.program.rewrite import put_in
from dmaverify.prove.flow.equality.same_copies import (
    ByteApart,
    CopyForm,
    bytes_of,
    compare_bytes,
    form_of,
    memory_text,
    told,
)
from dmaverify.prove.sameness import Sameness
from dmaverify.values import dataclass

MOST_ATOMS = 3_000
MOST_BYTES = 1 << 16  # of one access, where the bytes of two runs are held against each other
SAMPLES = 24
PATH = "mixed"
"""What a copy does instead of writing where the path to it decides that: never the same as anything."""
VALUES = (1, 2, 3, 4, 5, 7, 8, 16, 33, 64, 65, 100, 128, 200, 1000)
"""What symbols are tried with, within their ranges."""


@dataclass(frozen=True, slots=True)
class ConcreteOp:
    """An operation with numbers, and the iterations of the loops around it."""

    event: Event
    trail: tuple[tuple[int, int], ...]

    @property
    def where(self) -> str:
        parts = [f"iteration {k} of the loop at line {line}" for line, k in self.trail]
        return f" ({', '.join(parts)})" if parts else ""


class Undefined(Exception):
    """Values at which a copy has a count or a length that no copy may have."""


def samples(world: World, names: Sequence[str]) -> Iterator[dict[str, int]]:
    """Values of symbols within their ranges, small ones first."""
    rng = random.Random(7)
    seen = set()
    for number in range(SAMPLES):
        chosen = {}
        for index, name in enumerate(names):
            symbol = world.symbols[name]
            pick = VALUES[(number + index) % len(VALUES)] if number < len(VALUES) else rng.choice(VALUES)
            value = 1 if number == 0 else 2 if number == 1 else pick
            low, high = symbol.low if symbol.low is not None else 0, symbol.high
            value = max(value, low)
            chosen[name] = value if high is None else min(value, high)
        key = tuple(chosen.values())
        if key not in seen:
            seen.add(key)
            yield chosen


def atoms(
    events: Sequence[Event], world: World, values: Mapping[str, Lin], trail: tuple[tuple[int, int], ...] = ()
) -> Iterator[ConcreteOp]:
    """Every operation in order of issue, with its numbers."""
    for event in events:
        if isinstance(event, KernelLoop):
            trip = world.put(event.trip, values)
            if not trip.is_const:
                raise Undefined("an operand has no value")
            for k in range(trip.const):
                yield from atoms(event.body, world, {**values, event.counter: Lin(k)}, (*trail, (event.span.line, k)))
        elif isinstance(event, Branch):
            when = world.put_cond(event.when, values).known
            if when is None:
                raise Undefined("a condition has no value")
            yield from atoms(event.then if when else event.other, world, values, trail)
        else:
            yield ConcreteOp(put_in(event, world, values), trail)


@dataclass(frozen=True)
class Group:
    """Copies that go one way, with nothing between them, or one other operation; `end` is what follows the copies."""

    atoms: tuple[ConcreteOp, ...]
    forms: tuple[CopyForm, ...]
    end: ConcreteOp | None = None


def groups(stream: Iterator[ConcreteOp], world: World) -> Iterator[Group]:
    waiting: list[ConcreteOp] = []
    forms: list[CopyForm] = []
    for atom in stream:
        form = form_of(atom.event, world) if isinstance(atom.event, Copy) else None
        if form is not None and not form.is_const:
            raise Undefined("an operand has no value")
        if form is not None and form.copy.atomic == PATH:
            raise Undefined(f"what the store at line {atom.event.span.line} does depends on the path to it")
        if form is not None and not _defined(form):
            raise Undefined(f"line {atom.event.span.line} has a count or a length below 1, which is not defined")
        if forms and (form is None or form.way != forms[0].way):
            yield Group(tuple(waiting), tuple(forms), atom)
            waiting, forms = [], []
        if form is None:
            yield Group((atom,), ())
        else:
            waiting.append(atom)
            forms.append(form)
    if forms:
        yield Group(tuple(waiting), tuple(forms))


def _defined(form: CopyForm) -> bool:
    copy = form.copy
    return copy.row.const >= 1 and all(s.count.const >= 1 for s in copy.steps)


def parting(left: Sequence[Event], right: Sequence[Event], world: World, values: Mapping[str, int]) -> Sameness:
    """Runs both."""
    put = {name: Lin(value) for name, value in values.items()}
    streams = [groups(islice(atoms(side, world, put), MOST_ATOMS), world) for side in (left, right)]
    open_end = False
    try:
        ends = [sum(1 for _ in islice(atoms(side, world, put), MOST_ATOMS)) for side in (left, right)]
        open_end = max(ends) >= MOST_ATOMS
        sure = True
        while True:
            one, other = next(streams[0], None), next(streams[1], None)
            if one is None and other is None:
                return Sameness("unknown" if open_end or not sure else "proved")
            if one is None or other is None:
                if open_end:
                    return Sameness("unknown")
                longer, word = (one, "first") if one else (other, "second")
                assert longer is not None
                atom = longer.atoms[0]
                if isinstance(atom.event, Use):
                    sides = [list(islice(atoms(side, world, put), MOST_ATOMS)) for side in (left, right)]
                    lone = Sameness("unknown", f"only the {word} has this work{atom.where}", places=(atom.event.span,))
                    return _written_once(sides) or lone
                return Sameness("refuted", f"only the {word} has this{atom.where}", places=(atom.event.span,))
            found = _groups(one, other)
            if found.why and found.status == "unknown":
                sides = [list(islice(atoms(side, world, put), MOST_ATOMS)) for side in (left, right)]
                return found if open_end else _written_once(sides) or found
            if found.status == "refuted":
                last = open_end and (one.forms or other.forms)
                return Sameness("unknown") if last and _at_end(streams) else found
            sure = sure and found.status == "proved"
    except Undefined as reason:
        return Sameness("unknown", str(reason))


def _at_end(streams: Sequence[Iterator[Group]]) -> bool:
    """Whether a group may have been cut off."""
    return any(next(stream, None) is None for stream in streams)


def _groups(one: Group, other: Group) -> Sameness:
    a, b = one.atoms[0], other.atoms[0]
    if any(isinstance(event, Use) for event in (a.event, b.event)):
        if not one.forms and not other.forms and _plain(a.event) == _plain(b.event):
            return Sameness("proved")
        why = f"other work between the copies{a.where}, and no byte shows a difference"
        return Sameness("unknown", why, places=(a.event.span, b.event.span))
    if bool(one.forms) != bool(other.forms):
        return Sameness("refuted", f"one has another operation here{a.where}", places=(a.event.span, b.event.span))
    if not one.forms:
        if _plain(a.event) == _plain(b.event):
            return Sameness("proved")
        return Sameness("refuted", f"they differ{a.where}", places=(a.event.span, b.event.span))
    if one.forms[0].way != other.forms[0].way:
        return Sameness("refuted", f"the copies go different ways{a.where}", places=(a.event.span, b.event.span))
    found: list[tuple[str, ByteApart | None]] = []
    if len(one.forms) == len(other.forms):
        pairs = list(zip(one.forms, other.forms, strict=True))
        if all(x.areas == y.areas for x, y in pairs):
            return Sameness("proved")
        found = [compare_bytes([x], [y]) for x, y in pairs]
        if all(status == "proved" for status, _ in found):
            return Sameness("proved")
    status, apart = compare_bytes(one.forms, other.forms)
    if apart is None:
        return Sameness(status)
    at, said = [_writer(group, apart) for group in (one, other)], _said(apart, one.forms, other.forms)
    alone = next(((i, own) for i, (_, own) in enumerate(found) if own is not None), None)
    if alone is not None:
        index, own = alone
        at, said = [one.atoms[index], other.atoms[index]], _said(own, *([g.forms[index]] for g in (one, other)))
    elif len(one.forms) != len(other.forms):  # later copies may write it: what is compared ends here
        ends = zip((one.end, other.end), ("first", "second"), strict=True)
        until = " and ".join(f"line {end.event.span.line} of the {word}" for end, word in ends if end is not None)
        said = f"up to {until} {said}" if until else said
    return Sameness("refuted", f"{said}{at[0].where}", places=(at[0].event.span, at[1].event.span))


def _writer(group: Group, apart: ByteApart) -> ConcreteOp:
    """The copy of a group that writes the byte; the first where none does."""
    import numpy as np

    for atom, form in zip(group.atoms, group.forms, strict=True):
        made = bytes_of([form], apart.memory, 1)
        if made is not None and bool(np.isin(apart.address, made.at)):
            return atom
    return group.atoms[0]


def _said(apart: ByteApart, one: Sequence[CopyForm], other: Sequence[CopyForm]) -> str:
    place = f"byte {apart.address:,} of {memory_text(apart.memory)}"
    return f"{place} gets {told(apart.first, one)} in the first, {told(apart.second, other)} in the second"


def _written_once(sides: Sequence[Sequence[ConcreteOp]]) -> Sameness | None:
    """A byte that one run surely writes and the other never; None where there is none, or it is not known what all
    write.
    """
    made = [[_writes(op.event) for op in side] for side in sides]
    if any(one is None for side in made for one in side):
        return None
    for index, (mine, theirs) in enumerate((made, made[::-1])):
        others = {at for one in theirs for at, _ in one or ()}
        for op, one in zip(sides[index], mine, strict=True):
            alone = sorted(at for at, surely in one or () if surely and at not in others)
            if alone:
                memory, at = alone[0]
                words = ("first", "second") if index == 0 else ("second", "first")
                said = f"byte {at:,} of {memory_text(memory)} is written in the {words[0]}, never in the {words[1]}"
                return Sameness("refuted", f"{said}{op.where}", places=(op.event.span,))
    return None


def _writes(event: Event) -> list[tuple[tuple[tuple[str, str], int], bool]] | None:
    """Bytes that an event may write, and whether it surely does; None where that is not told by numbers."""
    out: list[tuple[tuple[tuple[str, str], int], bool]] = []
    for touch in event.touches if isinstance(event, (Copy, Use)) else ():
        if not touch.writes:
            continue
        numbers = [touch.place.address + touch.offset, touch.length, *(n for step in touch.steps for n in step)]
        if touch.open or not all(n.is_const for n in numbers):
            return None
        starts = [numbers[0].const]
        for count, stride in touch.steps:
            starts = [start + stride.const * k for start in starts for k in range(count.const)]
            if len(starts) * max(1, touch.length.const) > MOST_BYTES:
                return None
        for start in starts:
            spots = range(start, start + touch.length.const)
            out += [((touch.place.memory, at), touch.kind == "data") for at in spots]
    return out


def _plain(event: Event) -> tuple[object, ...]:
    """An operation that is no copy, as what is compared of it."""
    names = ("action", "source", "dest", "event", "pipe", "token", "mode", "what", "flag", "share", "atomic")
    own = tuple(getattr(event, name, None) for name in names)
    touches = tuple(
        (t.kind, t.place.memory, t.place.address + t.offset, t.length, t.steps, t.pattern, t.open)
        for t in getattr(event, "touches", ())
    )
    return (type(event).__name__, *own, touches)
