"""The obligations of a move as questions whose only good answer is `unsat`.

Knows: layouts, nests and drives; what each obligation of the core says about counters, digits and cells.
Does not know: machines and their rules, plan files, how answers are shown.
Law: a question asks for a violation. Its variables are bounded counters (pieces of loops) or digits of a cell, so
that `unsat` speaks of every unit of the move. Digit sums proposed by `drive` are part of the question (`digits`): if
they were wrong, or carried, the question would be `sat`. Bounds come first; every other claim assumes in-bounds
addresses and says so in its text.

Digits are sums of pieces, with nothing to search, wherever no digit carries. Digits that carry are fresh variables,
tied to the carried part of the address by one equation (total and unique by Euclid); mappings without digits add
their tree's quotients.

Relied on (proofs/): apart-is-disjoint, bound-step, broadcast-write-collides, corner-step, coverage-exact-step,
coverage-step, difference-form, digits-unique-step, euclid-uniqueness, ladder-step, padding-off-boundary, reversal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import gcd

from dmaverify.layout.addresses import Layout
from dmaverify.layout.refine import Drive, Driven, Joint, Nest
from dmaverify.program.tensor import Tensor
from dmaverify.prove.move.cells import CellText, cell_text, void_text
from dmaverify.prove.smt import Query, all_of, any_of, linear, negation, number
from dmaverify.values import dataclass

MOST_PAIRED = 64  # nests of which every two are compared in one question


@dataclass(frozen=True, slots=True)
class Subject:
    """The two tensors of a move with their layouts; `opaque` marks a side whose mapping has no digits."""

    source: Tensor
    dest: Tensor
    source_opaque: bool
    dest_opaque: bool
    broadcast_missing: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """One question about one nest (or several): `violation` is the text whose unsatisfiability is the proof."""

    obligation: str  # "core/in-bounds" ...
    part: str  # "read", "write", ...
    family: int
    query: Query  # domain only
    violation: str
    order: tuple[str, ...]  # variables, most significant first, for the smallest counterexample

    @property
    def question(self) -> Query:
        return self.query.with_constraints(self.violation)


@dataclass(frozen=True, slots=True)
class SideText:
    """One side of a nest as text: digit terms, what is beyond the region, the cell."""

    terms: tuple[str, ...]
    beyond: str  # "some beyond digit is not 0"
    claim: str  # the digit sums are the digits of the address, in range (violation form); "false" on the guarded route
    cell: CellText


def piece_name(family: int, index: int) -> str:
    return f"p{family}_{index}"


# ---------------------------------------------------------------- the driven route


def _domain(nest: Nest, family: int, prefix: str = "p") -> tuple[list[tuple[str, int | None, int | None]], list[str]]:
    names = [f"{prefix}{family}_{i}" for i in range(len(nest.pieces))]
    variables: list[tuple[str, int | None, int | None]] = [
        (names[i], 0, p.count) for i, p in enumerate(nest.pieces) if p.count > 1
    ]
    guards = [
        f"(< {linear(0, ((k, _value(nest, names, i)) for i, k in terms))} {number(bound)})"
        for terms, bound in nest.guards
    ]
    return variables, guards


def _value(nest: Nest, names: Sequence[str], index: int) -> str:
    return names[index] if nest.pieces[index].count > 1 else "0"


def _side(
    driven: Driven, side: str, layout: Layout, tensor: Tensor, opaque: bool, family: int
) -> tuple[SideText, list[tuple[str, int | None, int | None]], list[str]]:
    """Digit terms of one side: sums of pieces, and fresh variables for the digits that carry."""
    drive = driven.read if side == "read" else driven.write
    names = [piece_name(family, i) for i in range(len(driven.nest.pieces))]
    sums = [
        linear(constant, ((k, names[i]) for i, k in parts))
        for constant, parts in zip(drive.constants, drive.terms, strict=True)
    ]
    outside = layout.beyond_index
    fresh = drive.carried
    terms = tuple(f"{side[0]}{family}d{i}" if i < fresh else s for i, s in enumerate(sums))
    variables: list[tuple[str, int | None, int | None]] = [
        (t, None, None) if i in outside else (t, 0, layout.digits[i].slots) for i, t in enumerate(terms[:fresh])
    ]
    constraints = _carry_equation(layout, sums, terms, fresh) if fresh else []
    moving = [bool(parts) or i < fresh for i, parts in enumerate(drive.terms)]
    fixed = {i: "true" if drive.constants[i] else "false" for i in outside if not moving[i]}
    beyond = any_of([fixed.get(i, f"(not (= {terms[i]} 0))") for i in sorted(outside)])
    claim = _digit_claim(driven, side, layout, terms, family)
    cell = cell_text(layout, terms, tensor, opaque, f"{side[0]}{family}")
    return SideText(terms, beyond, claim, cell), variables, constraints


def _carry_equation(layout: Layout, sums: Sequence[str], terms: Sequence[str], fresh: int) -> list[str]:
    """The fresh digits are those of the carried sum, to which the others add nothing that carries (a claim, not said
    here); a room's digits stay below the next outer room's distance.
    """
    steps = [d.step for d in layout.digits]
    scale = gcd(*steps[:fresh])
    left = linear(0, ((steps[i] // scale, sums[i]) for i in range(fresh)))
    right = linear(0, ((steps[i] // scale, terms[i]) for i in range(fresh)))
    out = [f"(= {left} {right})", negation(void_text(layout, [*terms[:fresh], *["0"] * (len(terms) - fresh)]))]
    for (first, _, _), outer in zip(layout.beyond[1:], layout.room_limits, strict=True):
        if first < fresh:
            part = linear(0, ((steps[i], terms[i]) for i in range(first, len(steps))))
            out += [f"(<= 0 {part})", f"(< {part} {number(outer)})"]
    return out


def _digit_claim(driven: Driven, side: str, layout: Layout, terms: Sequence[str], family: int) -> str:
    """Violation of: the digits add up to the address, are in range and stand for a position. On carried digits alone
    all of it is a constraint already.
    """
    nest = driven.nest
    drive = driven.read if side == "read" else driven.write
    fresh = drive.carried
    wrong: list[str] = []
    if not fresh:
        base = nest.read_base if side == "read" else nest.write_base
        names = [piece_name(family, i) for i in range(len(nest.pieces))]
        steps = {i: p.read if side == "read" else p.write for i, p in enumerate(nest.pieces) if p.count > 1}
        if not _adds_up(base, steps, layout, drive):
            digits = linear(layout.origin, ((d.step, t) for d, t in zip(layout.digits, terms, strict=True)))
            wrong.append(f"(not (= {linear(base, ((step, names[i]) for i, step in steps.items()))} {digits}))")
    wrong.append(void_text(layout, terms, fresh))
    outside = layout.beyond_index
    for index, (digit, parts) in enumerate(zip(layout.digits, drive.terms, strict=True)):
        if parts and index >= fresh and index not in outside:
            alone = len(parts) == 1 and parts[0][1] == 1 and drive.constants[index] == 0
            if alone and nest.pieces[parts[0][0]].count <= digit.slots:
                continue  # the digit is the piece itself, whose range the domain states
            wrong += [f"(< {terms[index]} 0)", f"(>= {terms[index]} {number(digit.slots)})"]
    return any_of(wrong)


def _adds_up(base: int, steps: Mapping[int, int], layout: Layout, drive: Drive) -> bool:
    """Whether an address and the sum of its digits are the same sum of pieces, term by term."""
    left: Counter[int] = Counter(steps)
    constant = layout.origin - base
    for digit, add, parts in zip(layout.digits, drive.constants, drive.terms, strict=True):
        constant += digit.step * add
        for i, k in parts:
            left[i] -= digit.step * k
    return constant == 0 and not any(left.values())


def nest_claims(joint: Joint, subject: Subject, family: int) -> list[Claim]:
    """What must hold for every counter of one nest: bounds, same element, reads-live, padding."""
    entry = joint.nests[family]
    read, rv, rc = _side(entry, "read", joint.source, subject.source, subject.source_opaque, family)
    write, wv, wc = _side(entry, "write", joint.dest, subject.dest, subject.dest_opaque, family)
    variables, guards = _domain(entry.nest, family)
    domain = Query(
        (*variables, *rv, *wv, *read.cell.variables, *write.cell.variables),
        tuple(t for t in (*guards, *rc, *wc, *read.cell.constraints, *write.cell.constraints) if t != "true"),
    )
    order = tuple(piece_name(family, i) for i, p in enumerate(entry.nest.pieces) if p.count > 1)
    inside = all_of([negation(read.beyond), negation(write.beyond)])
    source, dest = read.cell, write.cell
    wanted = _held_coordinates(joint, write.terms) if subject.broadcast_missing else dest.coordinates

    def claim(obligation: str, part: str, violation: str) -> Claim:
        return Claim(obligation, part, family, domain, violation, order)

    return [
        claim("digits", "read", read.claim),
        claim("digits", "write", write.claim),
        claim("core/in-bounds", "read", read.beyond),
        claim("core/in-bounds", "write", write.beyond),
        claim("core/reads-live", "", all_of([inside, dest.live, negation(source.live)])),
        claim("core/same-element", "", all_of([inside, dest.live, source.live, _mismatch(source.coordinates, wanted)])),
        claim("core/padding", "write-bottom", all_of([inside, any_of([dest.bottom, dest.outside])])),
        claim("core/padding", "read-bottom", all_of([inside, source.bottom])),
        claim("core/padding", "zero-overwritten", all_of([inside, dest.zero, negation(source.zero)])),
    ]


def _mismatch(have: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    """Some axis that the source names has another coordinate; an axis that a side lacks counts as 0 there."""
    pairs = [(have[axis], wanted.get(axis, "0")) for axis in have]
    return any_of([f"(not (= {a} {b}))" for a, b in pairs if a != b])


def _held_coordinates(joint: Joint, terms: Sequence[str]) -> dict[str, str]:
    """Reading `broadcast-missing`: destination digits whose weight no source digit holds move no coordinate."""
    held = [(d.axis, d.weight, d.weight * d.live) for d in joint.source.digits if d.axis is not None]
    sums: dict[str, list[tuple[int, str]]] = {axis: [] for axis, _ in joint.dest.sizes}
    for digit, term in zip(joint.dest.digits, terms, strict=True):
        if digit.axis is not None and any(a == digit.axis and low <= digit.weight < high for a, low, high in held):
            sums.setdefault(digit.axis, []).append((digit.weight, term))
    constants = dict(joint.dest.offsets)
    return {axis: linear(constants.get(axis, 0), parts) for axis, parts in sums.items()}


# ---------------------------------------------------------------- coverage, on the digits of one side


def _any_cell(
    layout: Layout, tensor: Tensor, opaque: bool, prefix: str
) -> tuple[tuple[str, ...], CellText, Query, tuple[str, ...]]:
    """The digits of any cell as terms, the cell, its domain, and the variables among the digits."""
    outside = layout.beyond_index
    terms = tuple("0" if i in outside or d.slots == 1 else f"{prefix}{i}" for i, d in enumerate(layout.digits))
    variables = [(t, 0, d.slots) for t, d in zip(terms, layout.digits, strict=True) if t != "0"]
    cell = cell_text(layout, terms, tensor, opaque, prefix)
    texts = (negation(void_text(layout, terms)), *cell.constraints)
    domain = Query((*variables, *cell.variables), tuple(t for t in texts if t != "true"))
    return terms, cell, domain, tuple(name for name, _, _ in variables)


def image_text(
    driven: Driven, side: str, layout: Layout, terms: Sequence[str], *, any_replica: bool = False, ranged: bool = False
) -> str | None:
    """The cells that a nest touches, as a condition on their digits; None where sums and intervals do not say it.

    Each piece is solved from a digit that it moves by one step; every other digit that it moves must then agree.
    `any_replica` leaves the digits of broadcasts free: any replica serves. `ranged` says that each term is 0 or a
    variable whose range is that of its digit: what follows from that is not written.
    """
    drive = driven.read if side == "read" else driven.write
    nest = driven.nest
    if drive.carried:
        return None
    free = layout.replicas if any_replica else frozenset()
    solved: dict[int, str] = {}
    for at, moved in enumerate(drive.terms):
        if len(moved) == 1 and at not in free and abs(moved[0][1]) == 1:
            index, k = moved[0]
            solved.setdefault(index, linear(-drive.constants[at] * k, [(k, terms[at])]))
    values = {t: 1 if t == "0" else d.slots for t, d in zip(terms, layout.digits, strict=True)} if ranged else {}
    parts: list[str] = []
    shared: set[int] = set()
    for at, (term, constant, moved) in enumerate(zip(terms, drive.constants, drive.terms, strict=True)):
        if at in free:
            continue
        if not moved:
            parts.append("true" if term == str(constant) else f"(= {term} {number(constant)})")
        elif all(i in solved for i, _ in moved):
            value = linear(constant, ((k, solved[i]) for i, k in moved))
            parts.append("true" if term == value else f"(= {term} {value})")
        elif len(moved) == 1 and at in layout.beyond_index:  # a beyond digit must be 0, which fixes its piece
            index, k = moved[0]
            if constant % k or not 0 <= -constant // k < nest.pieces[index].count:
                return "false"
            solved[index] = str(-constant // k)
        else:
            if any(abs(k) != 1 or i in solved or i in shared for i, k in moved):
                return None
            shared.update(i for i, _ in moved)
            parts += _interval(term, constant, [(k, nest.pieces[i].count) for i, k in moved], values.get(term))
    for index, value in solved.items():
        if values.get(value, nest.pieces[index].count + 1) > nest.pieces[index].count:
            parts += [f"(<= 0 {value})", f"(< {value} {number(nest.pieces[index].count)})"]
    for guard, bound in nest.guards:
        if any(i in shared for i, _ in guard):
            return None
        parts.append(f"(< {linear(0, ((k, solved.get(i, '0')) for i, k in guard))} {number(bound)})")
    return all_of(parts)


def _interval(term: str, constant: int, moved: Sequence[tuple[int, int]], slots: int | None) -> list[str]:
    """That a digit is one of those that pieces reach in steps of one; nothing where its `slots` are all of these."""
    low, high = (constant + sum(end(0, k * (count - 1)) for k, count in moved) for end in (min, max))
    fills = low <= 0 and slots is not None and slots - 1 <= high
    return [] if fills else [f"(<= {number(low)} {term})", f"(<= {term} {number(high)})"]


def cover_claims(joint: Joint, subject: Subject) -> list[Claim] | None:
    """Every live or Zero destination cell is written, and no cell by two nests; None where an image has no text."""
    layout = joint.dest
    terms, cell, domain, order = _any_cell(layout, subject.dest, subject.dest_opaque, "w")
    images: list[str] = []
    for nest in joint.nests:
        text = image_text(nest, "write", layout, terms, ranged=True)
        if text is None:
            return None
        images.append(text)
    written = any_of(images)
    claims = [
        Claim("core/covers", "", -1, domain, all_of([cell.live, negation(written)]), order),
        Claim("core/padding", "zero-unwritten", -1, domain, all_of([cell.zero, negation(written)]), order),
    ]
    if len(images) > 1:
        twice = _more_than_one(images)
        claims.append(Claim("core/writes-once", "commands", -1, domain, twice, order))
    return claims


def _more_than_one(conditions: Sequence[str]) -> str:
    """Two of the conditions hold at once; pair by pair, or counted where the pairs would be too many to write down."""
    if len(conditions) <= MOST_PAIRED:
        return any_of([all_of([a, b]) for i, a in enumerate(conditions) for b in conditions[i + 1 :]])
    return f"(< 1 (+ {' '.join(f'(ite {one} 1 0)' for one in conditions)}))"


def live_cell(joint: Joint, subject: Subject) -> Query:
    """Is any cell of the destination live?"""
    _, cell, domain, _ = _any_cell(joint.dest, subject.dest, subject.dest_opaque, "w")
    return domain if cell.live == "true" else domain.with_constraints(cell.live)


def consume_claim(joint: Joint, subject: Subject) -> Claim | None:
    """A live source cell of which no replica is read; None where cells do not tell which elements are one."""
    layout = joint.source
    if layout.repeats_an_axis or subject.source_opaque:
        return None
    if any(d.axis is None and i not in layout.beyond_index | layout.replicas for i, d in enumerate(layout.digits)):
        return None
    terms, cell, domain, order = _any_cell(layout, subject.source, subject.source_opaque, "s")
    images: list[str] = []
    for nest in joint.nests:
        text = image_text(nest, "read", layout, terms, any_replica=True, ranged=True)
        if text is None:
            return None
        images.append(text)
    return Claim("core/consumes", "", -1, domain, all_of([cell.live, negation(any_of(images))]), order)


# ---------------------------------------------------------------- writes-once


def once_claim(driven: Driven, layout: Layout, family: int) -> Claim:
    """Difference form: equal digits (the carried ones together) leave no difference of counters. Ignores ragged
    guards.
    """
    nest, drive = driven.nest, driven.write
    names = [f"e{family}_{i}" for i in range(len(nest.pieces))]
    variables: list[tuple[str, int | None, int | None]] = [
        (names[i], 1 - p.count, p.count) for i, p in enumerate(nest.pieces) if p.count > 1
    ]
    same = [f"(= {linear(0, ((k, names[i]) for i, k in moved))} 0)" for moved in drive.terms[drive.carried :] if moved]
    if drive.carried:
        steps = [layout.digits[j].step for j in range(drive.carried)]
        scale = gcd(*steps)
        total: dict[int, int] = {}
        for step, moved in zip(steps, drive.terms, strict=False):
            for i, k in moved:
                total[i] = total.get(i, 0) + k * (step // scale)
        same.append(f"(= {linear(0, ((k, names[i]) for i, k in total.items()))} 0)")
    fixed = {names[moved[0][0]] for moved in drive.terms[drive.carried :] if len(moved) == 1 and moved[0][1]}
    moved_at_all = any_of([f"(not (= {name} 0))" for name, _, _ in variables if name not in fixed])
    return Claim("core/writes-once", "", family, Query(tuple(variables)), all_of([*same, moved_at_all]), ())


def two_copies(nests: Sequence[Nest], first: int, second: int) -> Claim:
    """Two counters of one nest, or of two, that write one address. Exact, guards included; the smallest pair first."""
    a, b = nests[first], nests[second]
    va, ga = _domain(a, first, "a")
    vb, gb = _domain(b, second, "b")

    def address(nest: Nest, counters: Sequence[str]) -> str:
        return linear(nest.write_base, ((p.write, _value(nest, counters, j)) for j, p in enumerate(nest.pieces)))

    left = address(a, [f"a{first}_{i}" for i in range(len(a.pieces))])
    right = address(b, [f"b{second}_{i}" for i in range(len(b.pieces))])
    text = [f"(= {left} {right})"]
    if first == second:
        text.append(_before([n for n, _, _ in va], [n for n, _, _ in vb]))
    order = tuple(n for n, _, _ in (*va, *vb))
    return Claim("core/writes-once", "", first, Query((*va, *vb), (*ga, *gb)), all_of(text), order)


def writes_to(nest: Nest, family: int, address: int) -> Query:
    """Does a counter of the nest write this very address?"""
    variables, guards = _domain(nest, family)
    steps = [(p.write, piece_name(family, i)) for i, p in enumerate(nest.pieces) if p.count > 1]
    return Query(tuple(variables), (*guards, f"(= {linear(nest.write_base, steps)} {number(address)})"))


def _before(left: Sequence[str], right: Sequence[str]) -> str:
    """`left` comes before `right` in the order of the nest."""
    text = "false"
    for a, b in reversed(list(zip(left, right, strict=True))):
        text = any_of([f"(< {a} {b})", all_of([f"(= {a} {b})", text])])
    return text
