"""The core obligations of a program against a move: which hold, which do not, and the smallest counterexample of
each.

Knows: routes (driven, guarded, enumerated), their order, what a broken claim means for the others.
Does not know: machines' rules, plan files, how anything is printed.
Law: `proved` is said of an obligation only after an `unsat` for all its claims, after normal forms that are equal term
by term (a claim whose violation folds to `false` is not asked), or after an enumeration of every unit, which is exact;
`unknown` of any claim makes its obligation unknown; a `sat` is a violation whose witness was evaluated again by
`meaning`. The label of an obligation names the solver only where one of its own claims was asked.

Relied on (proofs/): count-covers, pigeonhole-step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.language.expr import Kind
from dmaverify.layout.addresses import Layout
from dmaverify.layout.fuse import fuse
from dmaverify.layout.refine import Joint, drive, missing_cell
from dmaverify.layout.unread import first_unread
from dmaverify.program.command import Command
from dmaverify.program.space import Space, aliased_place, beyond_every_memory, layout_of, unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.prove.move.cells import WindowRelation, has_window
from dmaverify.prove.move.fold import Family, fold
from dmaverify.prove.move.obligations import (
    Claim,
    Subject,
    consume_claim,
    cover_claims,
    live_cell,
    nest_claims,
    once_claim,
    two_copies,
    writes_to,
)
from dmaverify.prove.move.outcome import OBLIGATIONS, Broken, CoreResult
from dmaverify.prove.move.reach import corner_of, walks_off
from dmaverify.prove.move.translation import copies_bytes
from dmaverify.prove.smt import Answer, Query, Session, any_of, apart
from dmaverify.values import dataclass, field, replace

ENUMERATE_FIRST = 1 << 16  # a nest without carry-free digits, up to this many units, is enumerated straight away
ENUMERATE_LAST = 1 << 25  # ... and up to this many when the solver gave up
MOST_BESIDE = 1 << 20  # ... where something is refuted already: the rest of a larger plan stays open beside that
NORMAL_FORM = "normal form"
BY_DISTANCE = "one distance for all, and runs that add up to the region"
HARD = 500_000  # resource units after which a plan that can be enumerated is enumerated


@dataclass
class _Judge:
    source: Tensor
    dest: Tensor
    spaces: tuple[Space, Space]
    dtype_bits: int
    commands: Sequence[Command]
    readings: Mapping[str, str]
    session: Session
    most_enumerated: int = ENUMERATE_LAST
    whole: bool = True
    weight: int = 0  # units that an enumeration walks: the larger of the commands and the two regions
    status: dict[str, str] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)
    carries: bool = False
    asked_of: set[str] = field(default_factory=set)  # obligations of which the solver was asked a claim

    def run(self) -> CoreResult:
        families = fold(self.commands)
        units = sum(c.amount for c in self.commands)
        self.weight = max(units, self._region(self.source), self._region(self.dest))
        hard = min(HARD, self.session.rlimit) if self.weight <= self.most_enumerated else -(-self.session.rlimit // 4)
        self.session.total = self.session.spent + hard
        for side, space in zip((self.source, self.dest), self.spaces, strict=True):
            place = aliased_place(side, space, self.dtype_bits)
            if place is not None:
                why = f"{place}s of the tensor overlap: what lies in one is longer than their distance"
                return self._result("nothing", families, None, units, dict.fromkeys(OBLIGATIONS, "unknown"), why)
            if beyond_every_memory(side, space, self.dtype_bits):
                why = f"the tensor of {space.tier} is longer than addresses reach"
                return self._result("nothing", families, None, units, dict.fromkeys(OBLIGATIONS, "unknown"), why)
        if has_window(self.source) or has_window(self.dest):
            return self._enumerated(families, units, 1 << 22, "overlapping windows are a relation")
        for index, command in enumerate(self.commands):
            off = walks_off(command, self.spaces)
            if off:
                self.broken.append(Broken("core/in-bounds", off, index, corner_of(command)))
        if self.broken:
            return self._result("the range of the addresses", families, None, units, {"core/in-bounds": "refuted"})
        source, source_opaque = layout_of(self.source, self.spaces[0], self.dtype_bits)
        dest, dest_opaque = layout_of(self.dest, self.spaces[1], self.dtype_bits)
        missing = self.readings.get("core/same-element") == "broadcast-missing"
        subject = Subject(self.source, self.dest, source_opaque, dest_opaque, missing)
        if self.weight <= ENUMERATE_FIRST and (source_opaque or dest_opaque):
            return self._enumerated(families, units, ENUMERATE_FIRST, "")
        joint = drive(source, dest, [f.nest for f in families])
        if not joint.plain and self.weight <= ENUMERATE_FIRST:
            return self._enumerated(families, units, ENUMERATE_FIRST, "")
        if not joint.plain and not (source_opaque or dest_opaque):
            fused = self._fused(source, dest, subject, families, units)
            if fused is not None:
                return fused
            if copies_bytes(source, dest, self.commands) == "all":
                return self._result(BY_DISTANCE, families, None, units, dict.fromkeys(OBLIGATIONS, "proved"))
        try:
            found = self._solved(joint, subject, families, units)
            if found.broken or "unknown" not in found.status.values():
                return found
            moved = copies_bytes(source, dest, self.commands)
            if moved == "all":
                return self._result(BY_DISTANCE, families, None, units, dict.fromkeys(OBLIGATIONS, "proved"))
            if moved is not None:
                self.broken.append(Broken("core/covers", "", position=moved))
                return self._result(BY_DISTANCE, families, joint, units, {"core/covers": "refuted"})
            return found
        except WindowRelation:
            return self._enumerated(families, units, ENUMERATE_LAST, "overlapping windows are a relation")

    def _region(self, tensor: Tensor) -> int:
        return tensor.mapping.size * self.dtype_bits // unit_bits_of(self.dtype_bits)

    def _fused(
        self, source: Layout, dest: Layout, subject: Subject, families: list[Family], units: int
    ) -> CoreResult | None:
        """All of it proved with axes joined that lie inside each other on both sides; None where that does not."""
        layouts = None if subject.broadcast_missing else fuse(source, dest)
        joint = drive(*layouts, [f.nest for f in families]) if layouts is not None else None
        if joint is None or not joint.plain:
            return None
        found = self._solved(joint, subject, families, units)
        status = dict(found.status)
        if status.get("core/consumes") == "not judged" and layouts and _one_to_one(*layouts):
            status["core/consumes"] = "proved"
        if not found.broken and all(status.get(name) == "proved" for name in OBLIGATIONS):
            return replace(found, status=status)
        self.status.clear()
        self.broken.clear()
        self.asked_of.clear()
        return None

    # ------------------------------------------------------------ solved

    def _solved(self, joint: Joint, subject: Subject, families: list[Family], units: int) -> CoreResult:
        self.session.private = self.session.private or not joint.plain
        claims: list[Claim] = []
        for index, nest in enumerate(joint.nests):
            claims += [*nest_claims(joint, subject, index), once_claim(nest, joint.dest, index)]
        cover = cover_claims(joint, subject)
        if cover is None and self.weight <= ENUMERATE_FIRST:
            return self._enumerated(families, units, ENUMERATE_FIRST, "")
        possible = self._possible(claims + (cover or []))
        if possible == "unsat":
            return self._vacuous(families, joint, units)
        if possible == "unknown":
            return self._open(families, joint, units, "the solver found no example of the assumptions")
        answer = self._all_at_once(claims + (cover or []))
        if answer.status == "unsat":
            for claim in claims + (cover or []):
                self.status[claim.obligation] = "proved"
        elif not self.whole and joint.plain:
            return self._result("nothing", families, joint, units, dict.fromkeys(OBLIGATIONS, "unknown"))
        else:
            carrying = self._carrying(claims)
            if carrying:
                return self._again(joint, subject, families, units, carrying)
            if not self.whole and answer.status == "sat":
                return self._result("nothing", families, joint, units, dict.fromkeys(OBLIGATIONS, "unknown"))
            for family in range(-1, len(joint.nests)):
                self._one_by_one([c for c in claims + (cover or []) if c.family == family], joint, families)
        if cover is None:
            self._cover_otherwise(joint, subject, families, units)
        elif any(b.obligation == "core/in-bounds" and b.part == "write" for b in self.broken):
            self._pairs(joint, families)  # coverage looks inside the region only; two commands may also meet outside
        most = min(self.most_enumerated, MOST_BESIDE) if self.broken else self.most_enumerated
        if "unknown" in self.status.values() and self.weight <= most:
            self.status.clear()
            self.broken.clear()
            return self._enumerated(families, units, self.most_enumerated, "")
        self._consumes(joint, subject, families)
        self._live_cells(joint, subject)
        self.carries = not joint.plain
        return self._result(NORMAL_FORM, families, joint, units, {})

    def _carrying(self, claims: Sequence[Claim]) -> frozenset[int]:
        """The nests whose proposed digits are not proved to be those of their addresses."""
        digits = [c for c in claims if c.obligation == "digits" and c.violation != "false"]
        if not digits or self._all_at_once(digits).status == "unsat":
            return frozenset()
        found = {c.family for c in digits if self.session.ask(c.question, "digits").status != "unsat"}
        return frozenset(found or {c.family for c in digits})

    def _again(
        self, joint: Joint, subject: Subject, families: list[Family], units: int, carrying: frozenset[int]
    ) -> CoreResult:
        """A proposed digit carries after all (a ragged cut): small moves are enumerated, others get free digits."""
        if self.weight <= ENUMERATE_FIRST:
            return self._enumerated(families, units, ENUMERATE_FIRST, "")
        free = joint.all_carried(carrying)
        if free == joint:
            return self._enumerated(families, units, self.most_enumerated, "digits carry")
        return self._solved(free, subject, families, units)

    def _vacuous(self, families: list[Family], joint: Joint, units: int) -> CoreResult:
        self.broken.append(Broken("core/not-vacuous", ""))
        return self._result(
            NORMAL_FORM, families, joint, units, {"core/not-vacuous": "refuted"}, "the assumptions cannot hold"
        )

    def _live_cells(self, joint: Joint, subject: Subject) -> None:
        """A destination without any live cell promises nothing. Guards only grow, so the cell of all zeros decides."""
        if subject.dest_opaque:
            live = self.session.ask(live_cell(joint, subject), "a live cell").status
            self.asked_of.add("core/not-vacuous")
        else:
            live = "sat" if joint.dest.kind_at((0,) * len(joint.dest.digits)) is None else "unsat"
        if live == "unsat":
            self.status["core/not-vacuous"] = "refuted"
            self.broken.append(Broken("core/not-vacuous", ""))
        elif live == "unknown":
            self.status["core/not-vacuous"] = "unknown"

    def _open(self, families: list[Family], joint: Joint, units: int, why: str) -> CoreResult:
        """The solver gave up: what is small enough is enumerated, else everything stays unknown."""
        if self.weight <= self.most_enumerated:
            return self._enumerated(families, units, self.most_enumerated, "")
        return self._result("nothing", families, joint, units, dict.fromkeys(OBLIGATIONS, "unknown"), why)

    def _one_by_one(self, claims: Sequence[Claim], joint: Joint, families: Sequence[Family]) -> None:
        """The claims about one nest, or about the cells: one question first, since most nests of many keep their
        promise.
        """
        if len(joint.nests) > 1 and joint.plain and claims and self._all_at_once(claims).status == "unsat":
            for claim in claims:
                self.status.setdefault(claim.obligation, "proved")
            return
        for claim in claims:
            self._single(claim, joint, families)

    def _all_at_once(self, claims: Sequence[Claim]) -> Answer:
        """Is any claim violated? One question, `unsat` proves them all. What folds to `false` needs none."""
        claims = [c for c in claims if c.violation != "false"]
        self.asked_of |= {c.obligation for c in claims}
        if not claims:
            return Answer("unsat")
        variables = dict.fromkeys(v for c in claims for v in c.query.variables)
        constraints = dict.fromkeys(t for c in claims for t in c.query.constraints)
        violation = any_of([c.violation for c in claims])
        names = ", ".join(dict.fromkeys(c.obligation for c in claims))
        return self.session.ask(Query(tuple(variables), (*constraints, violation)), f"all obligations: {names}")

    def _possible(self, claims: Sequence[Claim]) -> str:
        """Whether the assumptions of all claims can hold together: sat, unsat or unknown.

        What shares no variable holds together if each holds alone, so each is asked alone, and what differs only in
        names is asked once.
        """
        variables = dict.fromkeys(v for c in claims for v in c.query.variables)
        constraints = dict.fromkeys(t for c in claims for t in c.query.constraints)
        if not all(low is None or high is None or low < high for _, low, high in variables):
            return "unsat"  # a box of counters, every count at least 1
        known: dict[Query, str] = {}
        for part in apart(Query(tuple(variables), tuple(constraints))):
            if part not in known:
                known[part] = self.session.ask(part, "not vacuous").status
        return next((said for said in ("unsat", "unknown") if said in known.values()), "sat")

    def _single(self, claim: Claim, joint: Joint, families: Sequence[Family]) -> None:
        if claim.violation == "false":
            self.status.setdefault(claim.obligation, "proved")
            return
        answer = self.session.ask(claim.question, claim.obligation)
        if answer.status == "sat" and claim.obligation == "core/writes-once" and claim.family >= 0:
            claim = two_copies([n.nest for n in joint.nests], claim.family, claim.family)
            answer = self.session.ask(claim.question, claim.obligation)
        self._record(claim, answer, joint, families)

    def _record(self, claim: Claim, answer: Answer, joint: Joint, families: Sequence[Family]) -> None:
        if answer.status == "unsat":
            self.status.setdefault(claim.obligation, "proved")
        elif answer.status == "unknown":
            if self.status.get(claim.obligation) != "refuted":
                self.status[claim.obligation] = "unknown"
        else:
            self.status[claim.obligation] = "refuted"
            smallest = self.session.smallest(claim.question, claim.order, answer)
            self.broken.append(self._witness(claim, smallest.model, joint, families))

    def _witness(self, claim: Claim, model: Mapping[str, int], joint: Joint, families: Sequence[Family]) -> Broken:
        if claim.family < 0:
            layout = joint.source if claim.obligation == "core/consumes" else joint.dest
            prefix = "s" if claim.obligation == "core/consumes" else "w"
            values = [model.get(f"{prefix}{i}", 0) for i in range(len(layout.digits))]
            address = layout.address_of(values)
            if claim.part == "commands":
                return Broken(claim.obligation, claim.part, position=address, other=None)
            return Broken(claim.obligation, claim.part, position=address)
        command, counters = self._counters(claim.family, model, joint, families, "p")
        if claim.obligation == "core/writes-once":
            command, counters = self._counters(claim.family, model, joint, families, "a")
            other = self._counters(claim.family, model, joint, families, "b")
            return Broken(claim.obligation, claim.part, command, counters, other)
        return Broken(claim.obligation, claim.part, command, counters)

    def _counters(
        self, index: int, model: Mapping[str, int], joint: Joint, families: Sequence[Family], prefix: str
    ) -> tuple[int, tuple[int, ...]]:
        family = families[index]
        nest = joint.nests[index].nest
        values = [model.get(f"{prefix}{index}_{i}", 0) for i in range(len(nest.pieces))]
        counters = nest.counters(values, len(family.lanes) + len(family.loops))
        return family.member_at(counters), family.loop_counters(counters)

    def _consumes(self, joint: Joint, subject: Subject, families: Sequence[Family]) -> None:
        unread = first_unread(joint, opaque=subject.source_opaque)
        if unread is not None:
            self.asked_of.discard("core/consumes")
            self.status["core/consumes"] = "proved" if unread == "none" else "refuted"
            if isinstance(unread, int):
                self.broken.append(Broken("core/consumes", "", position=unread))
            return
        claim = consume_claim(joint, subject)
        if claim is None:
            self._consumes_by_running()
        elif claim.violation == "false":
            self.status["core/consumes"] = "proved"
        else:
            self.asked_of.add(claim.obligation)
            self._record(claim, self.session.ask(claim.question, claim.obligation), joint, families)

    def _consumes_by_running(self) -> None:
        """Padded replicas and shared digits: run it where that is cheap; elsewhere a warning less, and said so."""
        if self.weight > min(ENUMERATE_FIRST, self.most_enumerated):
            self.status["core/consumes"] = "not judged"
            return
        from dmaverify.execute.address import Aliased, TooLarge
        from dmaverify.execute.interpret import execute

        try:
            done = execute(self.source, self.dest, *self.spaces, self.dtype_bits, self.commands, readings=self.readings)
        except (TooLarge, Aliased):
            self.status["core/consumes"] = "not judged"
            return
        found = done.findings.get("consumes")
        self.status["core/consumes"] = "proved" if found is None else "refuted"
        if found is not None:
            self.broken.append(Broken("core/consumes", "", position=found.read_address, count=found.count))

    # ------------------------------------------------------------ coverage where digits carry

    def _cover_otherwise(self, joint: Joint, subject: Subject, families: list[Family], units: int) -> None:
        self._pairs(joint, families)
        missing = self._missing_by_values(joint, subject)
        if missing == "none":
            self.status["core/covers"] = "proved"
        elif isinstance(missing, int):
            self.status["core/covers"] = "refuted"
            self.broken.append(Broken("core/covers", "", position=missing))
        else:
            self._covers_by_counting(joint, units, subject)
        if subject.dest_opaque or any(g.kind is Kind.ZERO for g in joint.dest.guards):
            self.status["core/padding"] = _worst(self.status.get("core/padding"), "unknown")

    def _pairs(self, joint: Joint, families: Sequence[Family]) -> None:
        """Writes-once across nests, on addresses: wherever they lie."""
        nests = [n.nest for n in joint.nests]
        for first in range(len(nests)):
            for second in range(first + 1, len(nests)):
                if self.status.get("core/writes-once") == "refuted":
                    return
                claim = two_copies(nests, first, second)
                self.asked_of.add(claim.obligation)
                self._record_pair(
                    claim, self.session.ask(claim.question, claim.obligation), joint, families, first, second
                )

    def _missing_by_values(self, joint: Joint, subject: Subject) -> int | str | None:
        """One nest without padding: the values that the carried digits take, listed; the others are a product of
        intervals.

        The address of a cell never written, "none", or None where this does not decide (several nests, padding, too
        many).
        """
        if len(joint.nests) != 1 or joint.dest.guards or subject.dest_opaque or joint.nests[0].nest.guards:
            return None
        return missing_cell(joint.nests[0], joint.dest)

    def _record_pair(
        self, claim: Claim, answer: Answer, joint: Joint, families: Sequence[Family], first: int, second: int
    ) -> None:
        if answer.status != "sat":
            if answer.status == "unknown":
                self.status[claim.obligation] = _worst(self.status.get(claim.obligation), "unknown")
            return
        self.status[claim.obligation] = "refuted"
        model = self.session.smallest(claim.question, claim.order, answer).model
        ends = [self._counters(i, model, joint, families, prefix) for i, prefix in ((first, "a"), (second, "b"))]
        self.broken.append(Broken(claim.obligation, "commands", ends[0][0], ends[0][1], ends[1]))

    def _unwritten(self, joint: Joint) -> int | None:
        """An address that no nest writes, looked for where one digit steps once; None if none of those is it."""
        layout = joint.dest
        inner = [d for i, d in enumerate(layout.digits) if i not in layout.beyond_index]
        tries = sorted({layout.origin, *(layout.origin + d.step * k for d in inner for k in (1, d.slots - 1))})
        for address in tries:
            if all(
                self.session.ask(writes_to(n.nest, i, address), "is it written").status == "unsat"
                for i, n in enumerate(joint.nests)
            ):
                return address
        return None

    def _covers_by_counting(self, joint: Joint, units: int, subject: Subject) -> None:
        """As many writes as cells, all to distinct live cells: all are written. One write wasted: some cell is not."""
        layout = joint.dest
        cells = layout.size
        padded = bool(layout.guards) or subject.dest_opaque
        once = self.status.get("core/writes-once") == "proved"
        bounds = not any(b.obligation == "core/in-bounds" and b.part == "write" for b in self.broken)
        wasted = not once or not bounds
        known = "unknown" not in (self.status.get("core/writes-once"), self.status.get("core/in-bounds"))
        if not padded and known and units < cells + (1 if wasted else 0):
            self.status["core/covers"] = "refuted"
            least = cells - units + (1 if wasted else 0)
            self.broken.append(Broken("core/covers", "counted", position=self._unwritten(joint), count=least))
        elif not padded and known and units == cells and not wasted:
            self.status["core/covers"] = "proved"
        else:
            self.status["core/covers"] = "unknown"

    # ------------------------------------------------------------ enumerated

    def _enumerated(self, families: list[Family], units: int, limit: int, why: str) -> CoreResult:
        from dmaverify.execute.address import Aliased, TooLarge
        from dmaverify.execute.interpret import execute

        try:
            done = execute(
                self.source,
                self.dest,
                *self.spaces,
                self.dtype_bits,
                self.commands,
                readings=self.readings,
                limit_units=limit,
            )
        except (TooLarge, Aliased):
            status = dict.fromkeys(OBLIGATIONS, "unknown")
            return self._result("nothing", families, None, units, status, why or "too large to enumerate")
        status = dict.fromkeys(OBLIGATIONS, "proved")
        for key, violation in done.findings.items():
            name, _, part = key.partition(":")
            status[f"core/{name}"] = "refuted"
            position = violation.write_address if name in ("covers", "padding") else violation.read_address
            self.broken.append(
                Broken(
                    f"core/{name}",
                    part,
                    violation.command,
                    violation.counters,
                    violation.other,
                    position if violation.command is None else None,
                    violation.count,
                )
            )
        return self._result(f"enumeration of all {units:,} units", families, None, units, status)

    def _result(
        self,
        by: str,
        families: Sequence[Family],
        joint: Joint | None,
        units: int,
        status: Mapping[str, str],
        why: str = "",
    ) -> CoreResult:
        found = dict.fromkeys(OBLIGATIONS, "not judged")
        found.update({k: v for k, v in self.status.items() if k.startswith("core/")})
        found.update(status)
        if "unknown" not in found.values() and found["core/not-vacuous"] == "not judged":
            found["core/not-vacuous"] = "proved"
        order = {name: i for i, name in enumerate(OBLIGATIONS)}
        broken = tuple(sorted(self.broken, key=lambda b: order.get(b.obligation, 99)))
        decided = {name: said for name, said in self._labels(by).items() if found[name] != "not judged"}
        decided |= {name: "" for name in OBLIGATIONS if found[name] == "not judged"}
        return CoreResult(found, broken, by, why, joint, tuple(families), tuple(self.session.asked), units, decided)

    def _labels(self, by: str) -> dict[str, str]:
        """Who decided each obligation: the solver only where it was asked a claim of this very obligation."""
        if by != NORMAL_FORM:
            return {}
        solver = f"{NORMAL_FORM}, solver on {'carried ' if self.carries else ''}digits"
        return {name: solver if name in self.asked_of else NORMAL_FORM for name in OBLIGATIONS}


def _one_to_one(source: Layout, dest: Layout) -> bool:
    """Whether both sides hold each element of the same axes once and equally many: then a destination that is covered,
    each cell from the cell of its element, has read the whole source.
    """
    plain = [not (x.guards or x.replicas or x.offsets or x.repeats_an_axis) for x in (source, dest)]
    axes = [{digit.axis for digit in x.digits if digit.axis is not None} for x in (source, dest)]
    return all(plain) and source.size == dest.size and axes[0] == axes[1]


def _worst(one: str | None, other: str) -> str:
    order = ("proved", "not judged", "unknown", "refuted")
    return max(one or "proved", other, key=order.index)


def judge_core(
    source: Tensor,
    dest: Tensor,
    spaces: tuple[Space, Space],
    dtype_bits: int,
    commands: Sequence[Command],
    readings: Mapping[str, str],
    session: Session,
    most_enumerated: int = ENUMERATE_LAST,
    *,
    whole: bool = True,
) -> CoreResult:
    """Every core obligation of `commands` against the move. Tensors must be well-formed, counts positive.

    What the solver leaves open is enumerated up to `most_enumerated` units; beyond, it stays unknown. Without `whole`,
    anything broken or open makes the answer `unknown` at once, without saying what: for trials that ask yes or no.
    """
    judge = _Judge(source, dest, spaces, dtype_bits, commands, readings, session, most_enumerated, whole=whole)
    return judge.run()
