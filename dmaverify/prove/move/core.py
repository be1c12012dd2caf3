"""The core obligations of a program against a move: which hold, which do not, and the smallest counterexample of
each.

Knows: routes (driven, guarded, enumerated), their order, what a broken claim means for the others.
Does not know: machines' rules, plan files, how anything is printed.
Law: `proved` is said of an obligation only after an `unsat` for all its claims, after normal forms that are equal term
by term (a claim whose violation folds to `false` is not asked), or after an enumeration of every unit, which is exact;
`unknown` of any claim makes its obligation unknown; a `sat` is a violation whose witness was evaluated again by
`meaning`. The label of an obligation names the solver only where one of its own claims was asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.layout.addresses import Layout
from dmaverify.layout.fuse import fuse
from dmaverify.layout.held import tells_held
from dmaverify.layout.refine import Joint, drive
from dmaverify.layout.unread import first_unread
from dmaverify.program.command import Command
from dmaverify.program.space import Space, aliased_place, beyond_every_memory, layout_of, unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.prove.move.carried_cover import CarriedCover
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
)
from dmaverify.prove.move.outcome import OBLIGATIONS, Broken, CoreResult
from dmaverify.prove.move.reach import corner_of, walks_off
from dmaverify.prove.move.translation import copies_bytes
from dmaverify.prove.smt import Session
from dmaverify.values import dataclass, field, replace

ENUMERATE_FIRST = 1 << 16  # a nest without carry-free digits, up to this many units, is enumerated straight away
ENUMERATE_LAST = 1 << 25  # ... and up to this many when the solver gave up
MOST_BESIDE = 1 << 20  # ... where something is refuted already: the rest of a larger plan stays open beside that
NORMAL_FORM = "normal form"
BY_DISTANCE = "one distance for all, and runs that add up to the region"
HARD = 500_000  # resource units after which a plan that can be enumerated is enumerated


@dataclass
class _Judge(CarriedCover):
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
        early = self._without_digits(units)
        if early is not None:
            return early
        source, source_opaque = layout_of(self.source, self.spaces[0], self.dtype_bits)
        dest, dest_opaque = layout_of(self.dest, self.spaces[1], self.dtype_bits)
        missing = self.readings.get("core/same-element") == "broadcast-missing"
        subject = Subject(self.source, self.dest, source_opaque, dest_opaque, missing)
        if self.weight <= ENUMERATE_FIRST and (source_opaque or dest_opaque):
            return self._enumerated(units, ENUMERATE_FIRST, "")
        joint = drive(source, dest, [f.nest for f in families])
        if missing and (source_opaque or dest_opaque or not tells_held(joint.source, joint.dest)):
            return self._enumerated(units, self.most_enumerated, "what the source does not hold is told by no digits")
        if not joint.plain and self.weight <= ENUMERATE_FIRST:
            return self._enumerated(units, ENUMERATE_FIRST, "")
        if not joint.plain and not (source_opaque or dest_opaque):
            fused = self._fused(source, dest, subject, families, units)
            if fused is not None:
                return fused
            if copies_bytes(source, dest, self.commands) == "all":
                return self._result(BY_DISTANCE, None, units, dict.fromkeys(OBLIGATIONS, "proved"))
        try:
            found = self._solved(joint, subject, families, units)
        except WindowRelation:
            return self._enumerated(units, ENUMERATE_LAST, "overlapping windows are a relation")
        if found.broken or "unknown" not in found.status.values() or source_opaque or dest_opaque:
            return found  # of a mapping without digits a layout tells no elements
        moved = copies_bytes(source, dest, self.commands)
        if moved == "all":
            return self._result(BY_DISTANCE, None, units, dict.fromkeys(OBLIGATIONS, "proved"))
        if moved is not None:
            self.broken.append(Broken("core/covers", "", position=moved))
            return self._result(BY_DISTANCE, joint, units, {"core/covers": "refuted"})
        return found

    def _without_digits(self, units: int) -> CoreResult | None:
        """What the places and the addresses decide alone; None where digits are needed."""
        for side, space in zip((self.source, self.dest), self.spaces, strict=True):
            place = aliased_place(side, space, self.dtype_bits)
            if place is not None:
                why = f"{place}s of the tensor overlap: what lies in one is longer than their distance"
                return self._result("nothing", None, units, dict.fromkeys(OBLIGATIONS, "unknown"), why)
            if beyond_every_memory(side, space, self.dtype_bits):
                why = f"the tensor of {space.tier} is longer than addresses reach"
                return self._result("nothing", None, units, dict.fromkeys(OBLIGATIONS, "unknown"), why)
        if has_window(self.source) or has_window(self.dest):
            return self._enumerated(units, 1 << 22, "overlapping windows are a relation")
        for index, command in enumerate(self.commands):
            off = walks_off(command, self.spaces)
            if off:
                self.broken.append(Broken("core/in-bounds", off, index, corner_of(command)))
        if self.broken:
            return self._result("the range of the addresses", None, units, {"core/in-bounds": "refuted"})
        return None

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
            return self._enumerated(units, ENUMERATE_FIRST, "")
        possible = self._possible(claims + (cover or []))
        if possible == "unsat":
            return self._vacuous(joint, units)
        if possible == "unknown":
            return self._open(joint, units, "the solver found no example of the assumptions")
        answer = self._all_at_once(claims + (cover or []))
        if answer.status == "unsat":
            for claim in claims + (cover or []):
                self.status[claim.obligation] = "proved"
        elif not self.whole and joint.plain:
            return self._result("nothing", joint, units, dict.fromkeys(OBLIGATIONS, "unknown"))
        else:
            carrying = self._carrying(claims)
            if carrying:
                return self._again(joint, subject, families, units, carrying)
            if not self.whole and answer.status == "sat":
                return self._result("nothing", joint, units, dict.fromkeys(OBLIGATIONS, "unknown"))
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
            return self._enumerated(units, self.most_enumerated, "")
        self._consumes(joint, subject, families)
        self._live_cells(joint, subject)
        self.carries = not joint.plain
        return self._result(NORMAL_FORM, joint, units, {})

    def _again(
        self, joint: Joint, subject: Subject, families: list[Family], units: int, carrying: frozenset[int]
    ) -> CoreResult:
        """A proposed digit carries after all (a ragged cut): small moves are enumerated, others get free digits."""
        if self.weight <= ENUMERATE_FIRST:
            return self._enumerated(units, ENUMERATE_FIRST, "")
        free = joint.all_carried(carrying)
        if free == joint:
            return self._enumerated(units, self.most_enumerated, "digits carry")
        return self._solved(free, subject, families, units)

    def _vacuous(self, joint: Joint, units: int) -> CoreResult:
        self.broken.append(Broken("core/not-vacuous", ""))
        return self._result(NORMAL_FORM, joint, units, {"core/not-vacuous": "refuted"}, "the assumptions cannot hold")

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

    def _open(self, joint: Joint, units: int, why: str) -> CoreResult:
        """The solver gave up: what is small enough is enumerated, else everything stays unknown."""
        if self.weight <= self.most_enumerated:
            return self._enumerated(units, self.most_enumerated, "")
        return self._result("nothing", joint, units, dict.fromkeys(OBLIGATIONS, "unknown"), why)

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

    # ------------------------------------------------------------ enumerated

    def _enumerated(self, units: int, limit: int, why: str) -> CoreResult:
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
            return self._result("nothing", None, units, status, why or "too large to enumerate")
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
        return self._result(f"enumeration of all {units:,} units", None, units, status)

    def _result(
        self,
        by: str,
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
        return CoreResult(found, broken, by, why, joint, units, decided)

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
