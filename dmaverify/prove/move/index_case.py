"""The index of a gather or scatter: the keys that it has numbers for, the rows that these name, the machine's rules.

Knows: how far the rows of a table lie apart, what is known or promised of the numbers, what rules of an index look at.
Does not know: how one row is moved, where the move was written, what a rule says (data does).
Law: without a finding the index has one number for each key, every number names a row of the table, and a scatter names
none twice. A number that is known at run time only is an assumption if it is promised, else it leaves the case open.

Source: furiosa-opt v0.6.0 (gather and scatter), docs/machines/rngd.md 5 and 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from dmaverify.errors import Span
from dmaverify.language.expr import Expr, axes_of, terms_of
from dmaverify.language.served import TooManyCells
from dmaverify.layout.digits import NotDigits, compile_digits
from dmaverify.lower.programs import space_of
from dmaverify.program.indirect import Indirect, RowDigits, rows_of, rows_of_keys
from dmaverify.program.space import unit_bits_of
from dmaverify.program.tensor import PLACES
from dmaverify.program.views import ViewError
from dmaverify.prove.judgement import Judgement
from dmaverify.prove.move.index_keys import Lack, copied_within, key_fault
from dmaverify.prove.move.index_units import mistaken_unit
from dmaverify.prove.move.ports import bare_numbers, tensor_facts
from dmaverify.prove.move.preconditions import foreign, unmet
from dmaverify.prove.move.static import Instance, Ruling
from dmaverify.targets.rule import Rule
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Finding, Label, Severity

_SHARED = "no source says whether a gather fills the elements that share a number"
RUN_TIME = "at run time"  # how assumptions end that somebody promises


@dataclass
class IndexCase(Judgement):
    """The index of a gather or scatter on its way to a verdict."""

    move: Indirect
    held: list[tuple[Rule, tuple[int, ...], str]] = field(default_factory=list, init=False)

    @property
    def bits(self) -> int:
        return self.target.dtypes[self.move.dtype]

    @cached_property
    def table(self) -> RowDigits:
        return rows_of(self.move.table, self.move.axis, self.move.rows, written=self.move.scatter)

    @cached_property
    def payload(self) -> RowDigits:
        sizes = axes_of(self.move.keyed)
        keys = {axis: sizes[axis] for axis in self.move.key_axes}
        return rows_of_keys(self.move.payload, keys, written=not self.move.scatter)

    @cached_property
    def row_units(self) -> int:
        """Units from one row of the table to the next."""
        (step,) = self.table.steps(space_of(self.target, self.move.table.tier), self.bits) or [0]
        return step

    @property
    def row_bytes(self) -> int:
        return self.row_units * unit_bits_of(self.bits) // 8

    @property
    def counted_otherwise(self) -> bool:
        """Whether a scaled number counts rows by other bytes than lie between them: by their elements alone."""
        return self.move.index.scaled and self.move.row_counts not in (None, self.row_bytes)

    @property
    def row_pitch(self) -> int:
        """What numbers of the index of two neighbouring rows differ by; a table of one row has no distance."""
        return (self.row_bytes if self.move.index.scaled else 0) or 1

    def broken(self, rule: str, message: str, span: Span | None, hint: str, values: Mapping[str, int] | None = None,
               labels: tuple[Label, ...] = (), basis: str = "documented") -> None:  # fmt: skip
        self.status[rule] = "refuted"
        self.findings.append(
            Finding(
                rule, Severity.ERROR, message, "index", span or self.move.span, dict(values or {}),
                dict(values) if values else None, "", basis, hint, labels=labels,
            )
        )  # fmt: skip

    def judge_alone(self) -> None:
        """Judges the index where something else judges the rows."""
        if not self.shaped():
            return
        self.judge_index()
        self.judge_rules()
        dma = Ruling.of_move(self.target, self.move, self.options.readings)
        self.keep(dma.judge([self.listed()]).findings)

    # ------------------------------------------------------------ shape

    def shaped(self) -> bool:
        """Whether rows and keys are what they should be, so that the rest has a meaning."""
        found = list(unmet(self.move, self.axes, self.target, self.move.problems))
        known, lacking = len(self.move.problems), list(foreign(self.move, self.target))
        for problem in found[:known] + [p for p in found[known:] if p.fatal or p in lacking]:
            self.broken("core/well-formed", problem.message, problem.span, problem.hint)
        if any(p.fatal for p in found):
            return False
        try:
            self.rows_needed()
            self._whole_bytes()
        except ViewError as error:
            self.broken("core/well-formed", error.message, error.span, error.hint)
            return False
        index = self.move.index
        count = index.count if index.values is None else len(index.values)
        if count is not None and count != self.move.keys:
            self.broken(
                "core/well-formed",
                f"the index has {count} numbers, {self.move.key} has {self.move.keys}",
                index.span, "one number for each key",
            )  # fmt: skip
            return False
        return self._keyed()

    def rows_needed(self) -> list[RowDigits]:
        """The rows of the table, and those of a scatter by their keys. Raises ViewError for a table without rows that
        one number each could name, and for keys that name none.
        """
        if len(self.table.digits) > 1 or any(d.place != "element" for d in self.table.digits):
            raise ViewError(
                f"the index picks {self.move.axis}, which the table holds in several digits or places",
                self.move.table.span, f"name {self.move.axis} once, in the element mapping of the table",
            )  # fmt: skip
        return [self.table, self.payload] if self.move.scatter else [self.table]

    def _whole_bytes(self) -> None:
        """Numbers of an index are bytes, or are made bytes of. Raises ViewError for rows that lie half bytes apart."""
        bits = self.row_units * unit_bits_of(self.bits)
        if bits % 8:
            raise ViewError(
                f"the rows of {self.move.axis} lie {bits} bits apart: no number of bytes leads from one to the next",
                self.move.table.span, "pad the row to an even number of elements",
            )  # fmt: skip

    def _keyed(self) -> bool:
        """Whether the index has one number for each key, as far as that is known."""
        move, index = self.move, self.move.index
        places = [index.tensor.field(place) for place in PLACES]
        try:
            fault = key_fault(places[:-1], places[-1], move.keyed, move.key_axes)
        except TooManyCells:
            self.left_open("core/indirect", f"whether the index has one number for each {move.key}: too many to count")
            return True
        if fault is None:
            if not move.scatter and (beside := self._beside()):
                self.left_open(
                    "core/indirect", f"neither index nor table has `{beside}` of the destination, and {_SHARED}"
                )
            return True
        carved = fault.lack is Lack.NONE and not move.key_said
        if carved and copied_within(move.payload.element, places, move.key_axes):
            self.left_open("core/indirect", f"{fault.told}, and {_SHARED}")
            return True
        span = index.tensor.element.span or index.span or move.span
        self.broken("core/indirect", fault.told, span, f'element = "{move.key}"', fault.at)
        return False

    def _beside(self) -> str:
        """An axis of the payload's elements that neither the key nor the table has."""
        have = {*axes_of(self.move.table.mapping), *self.move.key_axes}
        axes = axes_of(self.move.payload.element)
        return next((axis for axis, size in axes.items() if size > 1 and axis not in have), "")

    # ------------------------------------------------------------ the list

    def judge_index(self) -> None:
        index = self.move.index
        self.status.setdefault("core/in-bounds", "proved")
        if index.unread:
            self.left_open("core/in-bounds", f"what the index holds is not known: {index.unread}")
            return
        if not index.known and not index.told:
            self._promised()
            return
        if self.counted_otherwise and any(index.numbers):
            self.left_open(
                "core/in-bounds", f"the library counts a row by the {self.move.row_counts} bytes of its elements, and "
                f"rows lie {self.row_bytes} bytes apart: which row a number names is not known",
            )  # fmt: skip
            return
        self._bounds(index.numbers)
        if self.move.scatter:
            self._once(index.numbers)

    def _promised(self) -> None:
        index, rows = self.move.index, self.move.rows
        if index.low is None or index.high is None:
            self.left_open("core/in-bounds", "nothing is known of the index: give its `values`, or promise its `rows`")
        elif index.low < 0 or index.high >= rows:
            self.broken(
                "core/in-bounds", f"the index may name rows {index.low}..{index.high}; the table has {rows}",
                index.span, f"rows go from 0 to {rows - 1}", {"row": index.high},
            )  # fmt: skip
        else:
            counts = f"multiples of {self.move.row_counts or self.row_bytes} bytes"
            apart = f" (the elements of a row; rows lie {self.row_bytes} bytes apart)" if self.counted_otherwise else ""
            unit = counts + apart if index.scaled else "row numbers"
            self.assumptions.append(f"the index names rows {index.low}..{index.high}, as {unit}, {RUN_TIME}")
        low, high = index.low or 0, rows - 1 if index.high is None else index.high
        if index.distinct and index.entries > high - low + 1:
            self.broken(
                "core/not-vacuous", f"{index.entries} keys need different rows, and rows {low}..{high} are "
                f"{high - low + 1}: no index is so", index.span, "more rows, or fewer keys",
                {"rows": high - low + 1},
            )  # fmt: skip
        if self.move.scatter:
            if index.distinct:
                self.assumptions.append(f"no row is named twice by the index {RUN_TIME}")
            else:
                self.left_open(
                    "core/writes-once", "whether a row is written twice is not known: promise `distinct = true`"
                )

    def left_open(self, rule: str, why: str) -> None:
        self.assumptions.append(why)
        if self.status.get(rule) != "refuted":
            self.status[rule] = "unknown"

    def row_of(self, value: int) -> int | None:
        """The row that a number names; None where it falls between rows."""
        return value // self.row_pitch if value % self.row_pitch == 0 else None

    def _bounds(self, values: Sequence[int]) -> None:
        end = self.move.rows * self.row_pitch
        found = [(i, v) for i, v in enumerate(values) if not 0 <= v < end]
        if not found:
            return
        (at, value), *others = found
        what = f"{value}{self._at(at)}"
        row = f"{'byte' if self.move.index.scaled else 'row'} {value} of {end}"
        more = f", and {len(others)} more" if others else ""
        self.broken(
            "core/in-bounds", f"the index holds {what}, {row}: beyond the table{more}", self._value_span(at),
            mistaken_unit(self.move, self.row_bytes, self.bits) or "numbers name rows of the table",
            {self.move.key: at, "value": value} if self.move.index.known else {"value": value},
        )  # fmt: skip

    def _at(self, at: int) -> str:
        return f" at {self.move.key} = {at}" if self.move.index.known else ""

    def _once(self, values: Sequence[int]) -> None:
        if not self.move.index.known:
            if self.move.index.repeats is None:
                self.left_open(
                    "core/writes-once", "how many numbers the index has is not known, nor whether any repeats"
                )
            elif self.move.index.repeats:
                hint = "no source defines which of the rows stays; name each row once"
                self.broken("core/writes-once", "the index names a row more than once", self._value_span(0), hint)
            return
        first: dict[int, int] = {}
        twice = []
        for at, value in enumerate(values):
            if value in first:
                twice.append((first[value], at, value))
            first.setdefault(value, at)
        if not twice:
            kept = self.move.rows - len(first)
            self.assumptions.append(f"{kept:,} of {self.move.rows:,} rows of the table keep what they held")
            return
        one, other, value = twice[0]
        more = f" ({len(twice)} such keys)" if len(twice) > 1 else ""
        spans = self._value_span(one)
        self.broken(
            "core/writes-once",
            f"row {self.row_of(value)} is written by {self.move.key} = {one} and again by "
            f"{self.move.key} = {other}{more}",
            self._value_span(other), "no source defines which of the two stays; name each row once",
            {"first": one, "again": other, "value": value}, (Label(spans, "first here"),) if spans else (),
        )  # fmt: skip

    def _value_span(self, at: int) -> Span | None:
        spans = self.move.index.value_spans
        return spans[at] if at < len(spans) else self.move.index.span

    # ------------------------------------------------------------ rules

    def judge_rules(self) -> int:
        """Asks the machine's rules of gathers and scatters; how many there were."""
        move, target = self.move, self.target
        limits = target.limits_with(move.limits)
        ruling = Ruling(target, move.kind, move.source.tier, move.dest.tier, move.dtype, limits, self.options.readings)
        own = ruling.judge([Instance("indirect", self.facts(), "index", move.index.span or move.span)])
        mistake = mistaken_unit(move, self.row_bytes, self.bits)
        for finding in own.findings:
            if "index_remainder" in finding.values:
                at = next(i for i, v in enumerate(move.index.numbers) if v % self.row_bytes)
                finding = replace(finding, span=self._value_span(at), labels=())
                if mistake:
                    finding = replace(finding, message=f"{finding.message}; {mistake}", hint=mistake)
            self.findings.append(finding)
        self.held += own.held
        return own.evaluated

    def listed(self) -> Instance:
        """The index as a tensor that rules look at."""
        index = self.move.index
        values = tensor_facts(index.tensor, self.target.dtypes[index.dtype])
        return Instance("tensor", values, "index", index.tensor.span or index.span, "read", index.tensor.tier)

    def keep(self, found: Iterable[Finding]) -> None:
        """Adds what rules of tensors find, less advice on the index: a list may fill fewer slices than a tensor."""
        told = {f.rule for f in self.findings}
        new = [f for f in found if f.rule not in told and (f.place != "index" or f.severity is Severity.ERROR)]
        self.findings += new

    def facts(self) -> dict[str, int]:
        move, index = self.move, self.move.index
        bits = self.target.dtypes.get(index.dtype, 0)
        step = self.row_bytes
        exact = index.scaled and step and not self.counted_otherwise
        remainder = max((v % step for v in index.numbers), default=0) if exact else 0
        if index.known or index.told:
            most = max(index.numbers, default=0)
        else:
            most = (index.high if index.high is not None else move.rows - 1) * (step if index.scaled else 1)
        tiers = self.target.tiers
        return {
            "index_bits": bits,
            "index_integer": int(index.dtype.startswith(("i", "u"))),
            "index_entries": index.entries,
            "index_list_bytes": index.entries * bits // 8,
            "index_remainder": remainder,
            "index_most": most,
            "index_with_table": int(index.tensor.tier == move.table.tier),
            "index_with_payload": int(index.tensor.tier == move.payload.tier),
            "row_bytes": step,
            "scaled": int(index.scaled),
            "table_sliced": int(tiers[move.table.tier].is_sliced),
            "payload_sliced": int(tiers[move.payload.tier].is_sliced),
            "key_outside": sum(d.place in ("chip", "cluster") for d in self.payload.digits) if move.scatter else 0,
            "replicated_axes": self._replicated(),
        }

    def _replicated(self) -> int:
        """Axes (or copies by bare numbers above 1) of the payload's places that neither the key nor the table has.
        Chips that both have alike have each their own table.
        """
        table, payload = self.move.table, self.move.payload
        have = {*axes_of(table.mapping), *self.move.key_axes}
        places = [payload.field(p) for p in PLACES[:-1] if p != "chip" or not _equal(payload.chip, table.chip)]
        named = [axes_of(term) for place in places for term in terms_of(place)]
        lacking = sum(any(axis not in have and size > 1 for axis, size in one.items()) for one in named)
        return lacking + sum(len(bare_numbers(place)) for place in places)


def _equal(one: Expr, other: Expr) -> bool:
    """Whether two mappings are the same, however they are written."""
    try:
        return one == other or compile_digits(one) == compile_digits(other)
    except NotDigits:
        return False
