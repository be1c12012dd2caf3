"""Which units two programs copy: the lowest that only one of them copies, or the proof that there is none.

Knows: nests as sums of digits of a layout, how the counters of an address are found by division.
Does not know: mappings, machines; how an answer is worded.
Law: a program is the set of its (read, write) units; the order of loops and commands is no difference. `proved`
follows from equal normal nests (the same loops merged and sorted), from an `unsat` for "a unit of one that is none of
the other" both ways, or from comparing every unit. A difference is given after division has confirmed it.

Relied on (proofs/): euclid-uniqueness, ladder-step, merge-keeps-addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmaverify.errors import Disagreement
from dmaverify.layout.addresses import Layout
from dmaverify.layout.refine import Drive, Driven, Joint, Nest, drive
from dmaverify.lower.programs import COMPARE_UNITS, same_nests
from dmaverify.program.command import Command, coalesce, counters_at
from dmaverify.program.space import global_address
from dmaverify.prove.move.copies import Loops, TooManySteps, UnitCopy, find_copy
from dmaverify.prove.move.fold import Family, fold
from dmaverify.prove.move.obligations import Subject, image_text, nest_claims, piece_name
from dmaverify.prove.smt import Answer, Query, Session, all_of, linear, negation, number
from dmaverify.values import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

Programs = tuple[Sequence[Command], Sequence[Command]]
Variable = tuple[str, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`status` is proved, refuted or unknown; refuted: `copy` is a unit of the program `only_in` (0 or 1) alone."""

    status: str
    by: str
    why: str = ""
    copy: UnitCopy | None = None
    only_in: int = 0


def compare(
    one: Sequence[Command], other: Sequence[Command], subject: Subject, layouts: tuple[Layout, Layout], session: Session
) -> Comparison:
    """Whether both programs copy the same units. Both must count in the unit of `layouts` (source, destination).

    The layouts are a coordinate system: addresses outside of their tensors are compared as well.
    """
    if same_nests(one, other):
        return Comparison("proved", "equal normal nests")
    flats = (_normal(fold(one)), _normal(fold(other)))
    if flats[0] == flats[1]:
        return Comparison("proved", "equal normal nests over all engines")
    programs = (one, other)
    if sum(c.amount for c in (*one, *other)) <= COMPARE_UNITS and all(map(fits, (*one, *other))):
        return _enumerated(programs)
    questions = _on_digits(flats, subject, layouts, session) or _by_division(flats)
    if questions is None:
        return Comparison("unknown", "nothing", "strides interleave, and the units are too many to compare one by one")
    for question in questions:
        answer = session.ask(question.query, question.name)
        if answer.status == "unknown":
            return Comparison("unknown", "nothing", f"z3: {answer.why}")
        if answer.status == "sat":
            return _told(programs, question, session.smallest(question.query, question.order, answer))
    return Comparison("proved", "z3: each unit of one is a unit of the other, both ways")


# ---------------------------------------------------------------- normal nests


@dataclass(frozen=True, slots=True)
class _Flat:
    """A nest with rising addresses: loops sorted by falling stride, merged; steps of 0 on both sides are gone."""

    read: int
    write: int
    loops: Loops

    @property
    def nest(self) -> Nest:
        return Nest.of(self.read, self.write, self.loops)


def _flat(family: Family) -> _Flat:
    nest = family.nest
    read, write, loops = nest.read_base, nest.write_base, []
    for piece in nest.pieces:
        r, w = piece.read, piece.write
        if w < 0 or (w == 0 and r < 0):
            read, write = read + r * (piece.count - 1), write + w * (piece.count - 1)
            r, w = -r, -w
        if r or w:
            loops.append((piece.count, r, w))
    loops.sort(key=lambda loop: (-loop[2], -abs(loop[1])))
    merged = tuple((n, r, w) for n, r, w in coalesce(loops))
    return _Flat(read, write, merged)


def _normal(families: Sequence[Family]) -> list[_Flat]:
    return sorted((_flat(family) for family in families), key=lambda flat: (flat.write, flat.read, flat.loops))


# ---------------------------------------------------------------- enumerated


def _enumerated(programs: Programs) -> Comparison:
    import numpy as np

    reads, writes = zip(*(addresses_of(program) for program in programs), strict=True)
    keys = [np.unique(np.concatenate(column), return_inverse=True)[1] for column in (reads, writes)]
    units = keys[0].astype(np.int64) * (int(keys[1].max()) + 1) + keys[1]
    split = len(reads[0])
    sets = (units[:split], units[split:])
    by = f"comparison of all {len(units):,} units"
    for only_in in (0, 1):
        odd = np.flatnonzero(~np.isin(sets[only_in], sets[1 - only_in]))
        if len(odd):
            at = int(odd[np.lexsort((reads[only_in][odd], writes[only_in][odd]))[0]])
            copy = copy_at(programs[only_in], at, int(reads[only_in][at]), int(writes[only_in][at]))
            return Comparison("refuted", by, f"{len(odd):,} units differ", copy, only_in)
    return Comparison("proved", by)


def fits(command: Command) -> bool:
    """Whether arrays of 64-bit numbers hold its addresses."""
    ends = zip((command.read, command.write), (command.reach(writes=w) for w in (False, True)), strict=True)
    return all(abs(global_address(port, end)) < 1 << 62 for port, reach in ends for end in reach)


def addresses_of(program: Sequence[Command]) -> tuple[Numbers, Numbers]:
    """Global read and write addresses of every unit, in the order of the commands and their counters."""
    import numpy as np

    reads, writes = [], []
    for command in program:
        read = np.array([global_address(command.read, command.read.base)], dtype=np.int64)
        write = np.array([global_address(command.write, command.write.base)], dtype=np.int64)
        for count, r, w in command.nest:
            counter = np.arange(count, dtype=np.int64)
            read, write = (read[:, None] + r * counter).ravel(), (write[:, None] + w * counter).ravel()
        reads.append(read)
        writes.append(write)
    return np.concatenate(reads), np.concatenate(writes)


def copy_at(program: Sequence[Command], position: int, read: int, write: int) -> UnitCopy:
    for index, command in enumerate(program):
        if position < command.amount:
            counters = counters_at([count for count, _, _ in command.nest], position)
            return UnitCopy(index, counters, read, write)
        position -= command.amount
    raise IndexError(position)


# ---------------------------------------------------------------- asked of the solver


@dataclass(frozen=True, slots=True)
class _Question:
    """Is there a unit of one nest of program `only_in` that the other program has not? The answer wanted is `unsat`."""

    only_in: int
    nest: Nest
    prefix: str  # of the variables, one for each piece of the nest
    query: Query
    order: tuple[str, ...]

    @property
    def name(self) -> str:
        words = ("first", "second")
        return f"a unit of the {words[self.only_in]} that the {words[1 - self.only_in]} does not copy"


def _told(programs: Programs, asked: _Question, answer: Answer) -> Comparison:
    """The unit of a model: found by division in its own program, and not found in the other."""
    steps = [(piece, answer.model.get(f"{asked.prefix}{i}", 0)) for i, piece in enumerate(asked.nest.pieces)]
    read = asked.nest.read_base + sum(piece.read * value for piece, value in steps)
    write = asked.nest.write_base + sum(piece.write * value for piece, value in steps)
    try:
        own, again = (find_copy(programs[side], write, read) for side in (asked.only_in, 1 - asked.only_in))
    except TooManySteps:
        return Comparison("unknown", "nothing", "z3 found a difference that division could not confirm")
    if own is None or again is not None:
        raise Disagreement(f"core/same-program: z3 says one program alone copies {read} to {write}, division says no")
    return Comparison("refuted", "z3", "", own, asked.only_in)


# ---------------------------------------------------------------- asked on digits


def _on_digits(
    flats: tuple[list[_Flat], list[_Flat]], subject: Subject, layouts: tuple[Layout, Layout], session: Session
) -> list[_Question] | None:
    """Questions over the digits of both sides, cut for all nests; None where some nest carries, or shares a digit."""
    try:
        joint = drive(*layouts, [flat.nest for flat in (*flats[0], *flats[1])])
    except ValueError:
        return None
    if not joint.plain or not _digits_hold(joint, subject, session):
        return None
    plane = _plane(joint)
    both = [_pairs(driven) for driven in joint.nests]
    split = len(flats[0])
    questions = []
    for index, driven in enumerate(both):
        only_in = int(index >= split)
        terms = _terms(driven, piece_name(index, 0)[:-1])
        others = both[:split] if only_in else both[split:]
        images = [text for other in others if (text := image_text(other, "write", plane, terms)) is not None]
        if len(images) < len(others):
            return None
        domain = nest_claims(joint, subject, index)[0]
        query = domain.query.with_constraints(all_of([negation(image) for image in images]))
        questions.append(_Question(only_in, driven.nest, piece_name(index, 0)[:-1], query, domain.order))
    return questions


def _digits_hold(joint: Joint, subject: Subject, session: Session) -> bool:
    """The sums that `drive` proposes are the digits of the addresses: proved, before anything is asked of them."""
    claims = [claim for index in range(len(joint.nests)) for claim in nest_claims(joint, subject, index)]
    asked = [claim for claim in claims if claim.obligation == "digits" and claim.violation != "false"]
    return all(session.ask(claim.question, "digits").status == "unsat" for claim in asked)


def _plane(joint: Joint) -> Layout:
    """Destination and source digits side by side: a place on it is a pair of addresses."""
    return Layout((*joint.dest.digits, *joint.source.digits), (), (), 0, (), ())


def _pairs(driven: Driven) -> Driven:
    """The nest as a walk on the plane."""
    write, read = driven.write, driven.read
    return Driven(driven.nest, read, Drive((*write.constants, *read.constants), (*write.terms, *read.terms)))


def _terms(driven: Driven, prefix: str) -> list[str]:
    return [
        linear(constant, ((k, f"{prefix}{i}") for i, k in moved))
        for constant, moved in zip(driven.write.constants, driven.write.terms, strict=True)
    ]


# ---------------------------------------------------------------- asked by division


def _by_division(flats: tuple[list[_Flat], list[_Flat]]) -> list[_Question] | None:
    """Questions with the counters of the other program as quotients; None where its strides interleave."""
    questions = []
    for only_in in (0, 1):
        ladders = [ladder for flat in flats[1 - only_in] if (ladder := _ladder(flat)) is not None]
        if len(ladders) < len(flats[1 - only_in]):
            return None
        for flat in flats[only_in]:
            query, order = _divided_question(flat.nest, ladders)
            questions.append(_Question(only_in, flat.nest, "p", query, order))
    return questions


@dataclass(frozen=True, slots=True)
class _Ladder:
    """A nest whose counters are quotients of addresses: `outer` loops of one side, the `rest` of the other."""

    flat: _Flat
    by_write: bool
    outer: Loops
    rest: Loops


def _ladder(flat: _Flat) -> _Ladder | None:
    """Divides the write address first, else the read address; None where strides interleave on both sides."""
    for by_write in (True, False):
        side = 2 if by_write else 1
        turned = flat if by_write else _rising(flat)
        outer = tuple(sorted((x for x in turned.loops if x[side]), key=lambda x: -x[side]))
        rest = tuple(sorted((x for x in turned.loops if not x[side]), key=lambda x: -x[3 - side]))
        if _nests(outer, side) and _nests(rest, 3 - side):
            return _Ladder(turned, by_write, outer, rest)
    return None


def _rising(flat: _Flat) -> _Flat:
    """The same units with read steps that are never negative (write steps where the read stands still)."""
    read, write, loops = flat.read, flat.write, []
    for count, r, w in flat.loops:
        if r < 0:
            read, write, r, w = read + r * (count - 1), write + w * (count - 1), -r, -w
        loops.append((count, r, w))
    return _Flat(read, write, tuple(loops))


def _nests(loops: Loops, side: int) -> bool:
    """Each stride is larger than all that is inside it reaches, and none is negative."""
    reach = 0
    for loop in reversed(loops):
        if loop[side] <= reach:
            return False
        reach += loop[side] * (loop[0] - 1)
    return True


def _divided_question(nest: Nest, ladders: Sequence[_Ladder]) -> tuple[Query, tuple[str, ...]]:
    """A unit of `nest` that no ladder's nest has. Counters of a ladder are quotients: every address has them."""
    order = tuple(f"p{i}" for i, piece in enumerate(nest.pieces) if piece.count > 1)
    variables: list[Variable] = [(f"p{i}", 0, piece.count) for i, piece in enumerate(nest.pieces) if piece.count > 1]
    moved = [(piece, f"p{i}") for i, piece in enumerate(nest.pieces) if piece.count > 1]
    read = [(piece.read, name) for piece, name in moved]
    write = [(piece.write, name) for piece, name in moved]
    constraints: list[str] = []
    violation: list[str] = []
    for index, ladder in enumerate(ladders):
        away = (
            (nest.read_base - ladder.flat.read, read),
            (nest.write_base - ladder.flat.write, write),
        )
        violation.append(negation(_divided(ladder, away, f"q{index}_", variables, constraints)))
    return Query(tuple(variables), (*constraints, *violation)), order


def _divided(
    ladder: _Ladder,
    away: tuple[tuple[int, list[tuple[int, str]]], tuple[int, list[tuple[int, str]]]],
    prefix: str,
    variables: list[Variable],
    constraints: list[str],
) -> str:
    """Adds the quotients of an address pair, `away` from the ladder's bases; the text "it is a unit of this nest"."""
    sides = {1: (away[0][0], list(away[0][1])), 2: (away[1][0], list(away[1][1]))}
    first = 2 if ladder.by_write else 1
    inside: list[str] = []
    for side, loops in ((first, ladder.outer), (3 - first, ladder.rest)):
        for loop in loops:
            name = f"{prefix}{len(variables)}"
            variables.append((name, None, None))
            for key in (1, 2):
                sides[key][1].append((-loop[key], name))
            rest = linear(*sides[side])
            constraints += [f"(<= 0 {rest})", f"(< {rest} {number(loop[side])})"]
            inside += [f"(<= 0 {name})", f"(< {name} {number(loop[0])})"]
    inside += [f"(= {linear(*side)} 0)" for side in sides.values()]
    return all_of(inside)
