"""Coverage where digits carry: by the values that they take, or by counting writes that meet nowhere.

Knows: nests with carried digits, cells that nobody writes. Does not know: routes, enumerations.
Law: counting proves coverage only where as many writes as cells all go to distinct live cells; a cell is called
unwritten only after every nest was asked for it.

Relied on (proofs/): count-covers, pigeonhole-step.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.expr import Kind
from dmaverify.layout.refine import Joint, missing_cell
from dmaverify.program.command import Command
from dmaverify.prove.move.asking import ClaimAsking
from dmaverify.prove.move.fold import Family
from dmaverify.prove.move.obligations import Claim, Subject, two_copies, writes_to
from dmaverify.prove.move.outcome import Broken
from dmaverify.prove.move.translation import unwritten
from dmaverify.prove.smt import Answer


class CarriedCover(ClaimAsking):
    """The part of judging a program that knows carried digits."""

    commands: Sequence[Command]

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
            zeros = None if subject.dest_opaque else unwritten(joint.dest, self.commands, Kind.ZERO)
            if isinstance(zeros, int):
                self.status["core/padding"] = "refuted"
                self.broken.append(Broken("core/padding", "zero-unwritten", position=zeros))

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
            missing = None if subject.dest_opaque else unwritten(layout, self.commands)
            self.status["core/covers"] = "proved" if missing == "none" else "unknown"
            if isinstance(missing, int):
                self.status["core/covers"] = "refuted"
                self.broken.append(Broken("core/covers", "", position=missing))


def _worst(one: str | None, other: str) -> str:
    order = ("proved", "not judged", "unknown", "refuted")
    return max(one or "proved", other, key=order.index)
