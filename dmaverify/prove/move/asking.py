"""Claims asked of the solver, alone or together: what each answer says of its obligation, and where it is broken.

Knows: claims, their questions and models, counters of nests. Does not know: routes, layouts beyond their digits.
Law: `unsat` of all claims at once proves each; what folds to `false` needs no question and counts as none; an
`unknown` never hides a refutation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.layout.refine import Joint
from dmaverify.prove.move.fold import Family
from dmaverify.prove.move.obligations import Claim, two_copies
from dmaverify.prove.move.outcome import Broken
from dmaverify.prove.smt import Answer, Query, Session, any_of, apart


class ClaimAsking:
    """The part of judging a program that asks."""

    session: Session
    status: dict[str, str]
    broken: list[Broken]
    asked_of: set[str]

    def _carrying(self, claims: Sequence[Claim]) -> frozenset[int]:
        """The nests whose proposed digits are not proved to be those of their addresses."""
        digits = [c for c in claims if c.obligation == "digits" and c.violation != "false"]
        if not digits or self._all_at_once(digits).status == "unsat":
            return frozenset()
        found = {c.family for c in digits if self.session.ask(c.question, "digits").status != "unsat"}
        return frozenset(found or {c.family for c in digits})

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
