"""Copy instructions, judged one by one: the machine's rules, bounds, rows that overlap; for all values.

Knows: bounds of what a copy touches, when destination rows are disjoint.
Does not know: machines, how a rule is judged (that is `instruction_rules`), order between instructions, text syntax.
Law: a claim is proved for all values of the symbols or reported; of values without a stated range it may be assumed,
and then it is said. Nothing is judged by running.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.affine import ONE, ZERO, Cond, Lin, both, compare
from dmaverify.program.instructions import Copy, CopyTouch, accumulate
from dmaverify.prove.flow.accesses.ask import Reply, term_text
from dmaverify.prove.flow.accesses.units import wrong_reach, wrong_stride
from dmaverify.prove.flow.instruction_rules import RuleJudge
from dmaverify.prove.meet import TooDeep, Walk, collision, smallest_meeting
from dmaverify.values import dataclass, replace
from dmaverify.verdict import Finding, Severity


@dataclass
class CopyJudge(RuleJudge):
    """Judges copies of one kernel."""

    def judge(self, copy: Copy) -> None:
        told = len(self.findings)
        broken = self._rules(copy)
        self.findings[told:] = [
            replace(f, notes=(*f.notes, *wrong_stride(copy))) if f.rule.endswith("row-overlap") else f
            for f in self.findings[told:]
        ]
        for side in ("read", "write"):
            self._bounds(copy, side)
        if any(rule.endswith("row-overlap") for rule in broken):
            self.used.add("core/writes-once")
            self.worse("core/writes-once", "not judged")
        else:
            self._rows(copy)
        if copy.read.memory == copy.write.memory:
            self._apart_inside(copy)

    # ------------------------------------------------------------ bounds

    def _bounds(self, copy: Copy, side: str) -> None:
        place = copy.read if side == "read" else copy.write
        if not place.root:
            return
        ends, when = self.reach(copy, side), self._running(copy)
        found = self.inside(place, ends, when, copy.span, f"{side}s")
        if found is not None:
            extent = self.extents.get(place.root)
            units = () if extent is None else wrong_reach(copy, side, ends, extent, self.asker, when)
            hint = "make rows, lengths and strides fit the tensor; all of them are bytes"
            self.findings[-1] = replace(found, hint=hint, notes=tuple(units))

    # ------------------------------------------------------------ one memory

    def _apart_inside(self, copy: Copy) -> None:
        """A copy inside one memory reads no byte that it writes: the order of its rows is not promised."""
        self.used.add("core/overlap")
        (low, end), (first, last) = self.reach(copy, "read"), self.reach(copy, "write")
        apart = both([compare("le", end - first), compare("le", last - low)], "or")
        if self.asker.holds(apart, self._running(copy)).status == "proved":
            return
        reply: Reply | None = None
        if copy.is_const:
            shared = self._met(copy)
        elif all(
            step.count == ONE or step.read == step.write == copy.row for step in copy.steps
        ):  # one run on each side
            reply = self.contradicted("core/overlap", apart, self._running(copy), self.around.get(copy.span.start, ()))
            shared = None if reply is None else max(self.value(low, reply), self.value(first, reply))
        else:
            shared = None
            self.worse("core/overlap", "unknown")
        if shared is None:
            return
        self.worse("core/overlap", "refuted")
        self.findings.append(
            Finding(
                "core/overlap",
                Severity.ERROR,
                f"reads and writes byte {shared:,} of {copy.read.space.upper()}: the order of its rows is not promised",
                "copy",
                copy.span,
                {"first": shared},
                None if reply is None else self.witness(reply),
                hint="move through another buffer",
            )
        )

    def _met(self, copy: Copy) -> int | None:
        """The first byte that a copy with numbers reads and writes; None where there is none, or that is open."""
        if min(copy.row.const, *(step.count.const for step in copy.steps)) < 1:
            return None  # it moves nothing
        try:
            met = smallest_meeting(_bytes_of(copy, "read"), _bytes_of(copy, "write"))
        except TooDeep:
            self.worse("core/overlap", "unknown")
            return None
        return None if met is None else met.address

    # ------------------------------------------------------------ rows

    def _rows(self, copy: Copy) -> None:
        """No byte of the destination is changed by two rows, rounded tails and padding included."""
        writes = [t for t in copy.touches if t.writes]
        self.used.add("core/writes-once")
        steps = max((t.steps for t in writes), key=len)
        extent_at = self._extents(writes, len(steps))
        live = [(count, stride, extent_at[len(steps) - 1 - i]) for i, (count, stride) in enumerate(reversed(steps))][
            ::-1
        ]
        if self._apart(live, self._running(copy)):
            return
        clash = self._clash(steps, extent_at, copy)
        if clash != "" and accumulate(copy, copy):
            said = f"rows of the atomic store at line {copy.span.line} may overlap: each adds to what is there"
            self.said[said] = None
        elif clash is None:
            self.worse("core/writes-once", "unknown")
        elif clash:
            self.worse("core/writes-once", "refuted")
            data = next(t for t in writes if t.kind == "data")
            whole = extent_at[0]
            rounded = "" if whole == data.length else f", {term_text(whole, self.world)} with its tail and padding"
            self.findings.append(
                Finding(
                    "core/writes-once",
                    Severity.ERROR,
                    f"rows of {term_text(data.length, self.world)} bytes{rounded} overlap in the destination",
                    "destination",
                    copy.steps[0].spans[2] or copy.span,
                    {"loops": [s.label for s in copy.steps]},
                    {"made": clash},
                    hint="make every stride at least what one row, or one round of the inner loops, changes",
                )
            )

    def _extents(self, writes: Sequence[CopyTouch], depth: int) -> list[Lin]:
        """Bytes that one round of the levels below changes, for each level from the innermost on."""
        world = self.world
        out: list[Lin] = []
        extent = ZERO
        for level in range(depth):
            for touch in writes:
                if len(touch.steps) == depth - level:
                    extent = world.least(extent, touch.offset + touch.length, most=True)
            out.append(extent)
            steps = max((t.steps for t in writes), key=len)
            count, stride = steps[level]
            extent = extent + world.times(count - ONE, stride)
        return out

    def _apart(self, live: Sequence[tuple[Lin, Lin, Lin]], when: Sequence[Cond]) -> bool:
        """Every stride is at least what lies below it, in the order of the levels or of the strides."""

        def dominated(order: Sequence[tuple[Lin, Lin, Lin]]) -> bool:
            extent = order[0][2] if order else ZERO
            first = True
            for count, stride, below in order:
                extent = below if first else extent
                first = False
                claim = both([compare("le", count - ONE), compare("le", extent - stride)], "or")
                if self.asker.holds(claim, when).status != "proved":
                    return False
                extent = self.world.least(extent, extent + self.world.times(count - ONE, stride), most=True)
            return True

        moving = [x for x in live if x[0] != ONE]
        if all(x[2] == y for x, y in zip(live, self._nested(live), strict=True)) and dominated(moving):
            return True
        in_order = all(
            self.asker.holds(both([compare("le", c - ONE), compare("le", e - s)], "or"), when).status == "proved"
            for c, s, e in live
        )
        if in_order:
            return True
        if all(x[1].is_const and x[0].is_const for x in moving) and live:
            ordered = sorted(moving, key=lambda x: x[1].const)
            base = max((x[2] for x in live[:1]), key=lambda e: e.const)
            return dominated([(c, s, base) for c, s, _ in ordered])
        return False

    def _nested(self, live: Sequence[tuple[Lin, Lin, Lin]]) -> list[Lin]:
        out, extent = [], live[0][2] if live else ZERO
        for count, stride, _ in live:
            out.append(extent)
            extent = extent + self.world.times(count - ONE, stride)
        return out

    def _clash(self, steps: Sequence[tuple[Lin, Lin]], extent_at: Sequence[Lin], copy: Copy) -> str | None:
        """Two rows that share a byte, in words; empty where there are none, None where that is open."""
        extent = extent_at[0]
        if all(c.is_const and s.is_const for c, s in steps) and extent.is_const:
            try:
                return _meeting([(c.const, s.const) for c, s in steps], extent.const)
            except TooDeep:
                pass
        names, parts, ranges = [], [], []
        for index, (count, _) in enumerate(steps):
            name = f"$d{index}"  # no symbol of a text begins with a dollar sign
            names.append(name)
            ranges.append((name, None, None))
            parts.append(f"(< {name} {self.world.text(count)}) (< (- {name}) {self.world.text(count)})")
        gap = f"(+ {' '.join(f'(* {self.world.text(s)} {n})' for n, (_, s) in zip(names, steps, strict=True))} 0)"
        size = self.world.text(extent)
        texts = [
            f"(and {' '.join(parts)})",
            f"(or {' '.join(f'(not (= {n} 0))' for n in names)})",
            f"(and (< {gap} {size}) (< (- {gap}) {size}))",
        ]
        involved = [name for term in (extent, *(x for step in steps for x in step)) for name, _ in term.terms]
        reply = self.asker.possible(list(self._running(copy)), ranges, texts, involved)
        if reply.status == "unknown":
            return None
        return "" if reply.status == "proved" else "two rows start closer than one is long"


def _bytes_of(copy: Copy, side: str) -> Walk:
    """The bytes of one side of a copy with numbers."""
    place = copy.read if side == "read" else copy.write
    steps = ((step.count.const, getattr(step, side).const) for step in reversed(copy.steps))
    return Walk(place.address.const, (*((count, stride) for count, stride in steps if count > 1), (copy.row.const, 1)))


def _meeting(steps: Sequence[tuple[int, int]], extent: int) -> str:
    """Two rows of levels (inner to outer) that share a byte, in words. Raises TooDeep."""
    levels = [(max(1, count), stride) for count, stride in reversed(steps)]
    pair = collision(levels, extent)
    if pair is None:
        return ""
    rows, starts = [], []
    for counters in pair:
        row = 0
        for (count, _), counter in zip(levels, counters, strict=True):
            row = row * count + counter
        rows.append(row)
        starts.append(sum(stride * counter for (_, stride), counter in zip(levels, counters, strict=True)))
    (first, one), (second, two) = sorted(zip(rows, starts, strict=True))
    return f"row {first} starts at {one:,}, row {second} at {two:,}: closer than {extent:,} bytes"
