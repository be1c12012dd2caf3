"""One gather or scatter on its way to a verdict: the row by proof, the list number by number, rules, execution beside.

Knows: what of an indirect move is the same for every row, what the numbers of the index must be.
Does not know: the order of judgement, plan files, what a rule says (data does), how a verdict is shown.
Law: every number of the index names a row of the table, a scatter names none twice, printed offsets are those of the
index; a number that is known at run time only is an assumption if the plan promises it, else it leaves the case open.

Source: "Sequencer" (Indirect Access), furiosa-opt v0.6.0 (gather and scatter), docs/machines/rngd.md 5 and 9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import gcd

from dmaverify.errors import Span
from dmaverify.language.expr import Symbol, axes_of, terms_of
from dmaverify.language.served import TooManyCells
from dmaverify.lower.programs import program_of_transfer, space_of
from dmaverify.program.command import Command, Entry, Loop, Sequencer
from dmaverify.program.indirect import Indirect, RowDigits, rows_of, without_axis
from dmaverify.program.move import Transfer
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.program.tensor import PLACES
from dmaverify.program.views import ViewError
from dmaverify.prove.judgement import Judgement
from dmaverify.prove.meet import Walk
from dmaverify.prove.move.case import MOVE_ALONE
from dmaverify.prove.move.check import check_transfer
from dmaverify.prove.move.copy_ports import left_behind
from dmaverify.prove.move.index_keys import key_fault
from dmaverify.prove.move.index_units import mistaken_unit
from dmaverify.prove.move.ports import bare_numbers, tensor_facts
from dmaverify.prove.move.preconditions import foreign, unmet
from dmaverify.prove.move.static import Instance, Ruling, transfer_instances
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import load_obligations
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Finding, Label, Severity

RUN_TIME = "at run time"  # how assumptions end that a plan promises
SOURCE = "furiosa-opt v0.6.0, dma_gather_scaled, dma_gather_unscaled and dma_scatter; Sequencer, Indirect Access"


@dataclass
class IndirectCase(Judgement):
    """An indirect move on its way to a verdict."""

    move: Indirect
    held: list[tuple[Rule, tuple[int, ...], str]] = field(default_factory=list, init=False)
    apart: list[tuple[str, Walk, Walk]] | None = field(default=None, init=False)
    """What is written and read of one memory without an address in common; None where more than that keeps order."""

    @property
    def bits(self) -> int:
        return self.target.dtypes[self.move.dtype]

    @cached_property
    def table(self) -> RowDigits:
        return rows_of(self.move.table, self.move.axis, self.move.rows, written=self.move.scatter)

    @cached_property
    def keyed_table(self) -> RowDigits | None:
        """The key as the table holds it, if it does: key k then lies there as well, beside the row."""
        if self.move.key not in axes_of(self.move.table.mapping) or self.move.keys < 2:
            return None
        return rows_of(self.table.first, self.move.key, self.move.keys, written=self.move.scatter)

    @cached_property
    def payload(self) -> RowDigits:
        return rows_of(self.move.payload, self.move.key, self.move.keys, written=not self.move.scatter)

    @cached_property
    def row_units(self) -> int:
        """Units from one row of the table to the next."""
        (step,) = self.table.steps(space_of(self.target, self.move.table.tier), self.bits) or [0]
        return step

    @property
    def row_bytes(self) -> int:
        return self.row_units * unit_bits_of(self.bits) // 8

    def broken(self, rule: str, message: str, span: Span | None, hint: str, values: Mapping[str, int] | None = None,
               labels: tuple[Label, ...] = (), basis: str = "documented") -> None:  # fmt: skip
        self.status[rule] = "refuted"
        record = load_obligations().get(rule)
        self.findings.append(
            Finding(
                rule, Severity.ERROR, message, "index", span or self.move.span, dict(values or {}),
                dict(values) if values else None, record.source if record else SOURCE, basis, hint, labels=labels,
            )
        )  # fmt: skip

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
            if len(self.table.digits) > 1 or any(d.place != "element" for d in self.table.digits):
                raise ViewError(
                    f"the index picks {self.move.axis}, which the table holds in several digits or places",
                    self.move.table.span, f"name {self.move.axis} once, in the element mapping of the table",
                )  # fmt: skip
            assert self.payload.digits is not None
            assert self.keyed_table is None or self.keyed_table.digits
        except ViewError as error:
            self.broken("core/well-formed", error.message, error.span, error.hint)
            return False
        index = self.move.index
        if index.values is not None and len(index.values) != self.move.keys:
            self.broken(
                "core/well-formed",
                f"the index has {len(index.values)} numbers, {self.move.key} has {self.move.keys}",
                index.span, "one number for each key",
            )  # fmt: skip
            return False
        return self._keyed()

    def _keyed(self) -> bool:
        """Whether the index has one number for each key, as far as that is known."""
        index, key = self.move.index, self.move.key
        tensor, wanted = index.tensor, Symbol(key, self.move.keys)
        try:
            fault = key_fault([tensor.field(place) for place in PLACES[:-1]], tensor.element, wanted, [key])
        except TooManyCells:
            self.left_open("core/indirect", f"whether the index has one number for each {key}: too many to be counted")
            return True
        if fault is not None:
            self.broken("core/indirect", fault.told, tensor.element.span or index.span, f'element = "{key}"', fault.at)
        return fault is None

    # ------------------------------------------------------------ one row

    def row(self) -> Transfer | None:
        move = self.move
        table = self.table.first if self.keyed_table is None else self.keyed_table.first
        sides = (self.payload.first, table) if move.scatter else (table, self.payload.first)
        stream = None
        if move.stream is not None:
            try:
                stream = without_axis(move.stream, move.key)
            except ViewError as error:
                self.broken("core/well-formed", error.message, error.span, error.hint)
                return None
        return Transfer(
            move.name, move.target, move.dtype, sides[0], sides[1], stream,
            () if move.given is None else (move.given,), move.limits, None, move.span,
        )  # fmt: skip

    def judge_row(self, row: Transfer, path: str, keep: list[tuple[str, str, str]] | None) -> None:
        options = replace(self.options, repair=False)
        verdict = check_transfer(row, axes=self.axes, target=self.target, options=options, path=path, keep=keep)
        for finding in verdict.findings:
            self.findings.append(replace(finding, notes=(*finding.notes, "of every row alike")))
        for one in verdict.obligations:
            self.status[one.id] = one.status
            self.by[one.id] = f"{one.by}, one row for all" if one.by else ""
        self.assumptions += [said for said in verdict.assumptions if not said.startswith("numpy agrees")]
        self.conditions += verdict.conditions

    def claim(self) -> str:
        alone = self.move.stream is None and self.move.given is None
        return MOVE_ALONE if alone else f"{self.move.keys:,} rows of {self.move.rows:,}"

    def commands(self, row: Transfer) -> tuple[Command, ...]:
        found = program_of_transfer(row, self.bits, self.target)
        return found if isinstance(found, tuple) else ()

    # ------------------------------------------------------------ the list

    def judge_index(self) -> None:
        index = self.move.index
        self.status.setdefault("core/in-bounds", "proved")
        if index.values is None:
            self._promised()
            return
        self._bounds(index.values)
        if self.move.scatter:
            self._once(index.values)

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
            unit = f"multiples of {self.row_bytes} bytes" if index.scaled else "row numbers"
            self.assumptions.append(f"the index names rows {index.low}..{index.high}, as {unit}, {RUN_TIME}")
        low, high = index.low or 0, rows - 1 if index.high is None else index.high
        if index.distinct and index.entries > high - low + 1:
            self.broken(
                "core/not-vacuous", f"{index.entries} different rows are promised, and rows {low}..{high} are "
                f"{high - low + 1}: no index is so", index.span, "promise more rows, or name fewer",
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
        if not self.move.index.scaled:
            return value
        return value // self.row_bytes if self.row_bytes and value % self.row_bytes == 0 else None

    def _bounds(self, values: Sequence[int]) -> None:
        end = self.move.rows * (self.row_bytes if self.move.index.scaled else 1)
        found = [(i, v) for i, v in enumerate(values) if not 0 <= v < end]
        if not found:
            return
        (at, value), *others = found
        what = f"{value} at {self.move.key} = {at}"
        row = f"{'byte' if self.move.index.scaled else 'row'} {value} of {end}"
        more = f", and {len(others)} more" if others else ""
        self.broken(
            "core/in-bounds", f"the index holds {what}, {row}: beyond the table{more}", self._value_span(at),
            mistaken_unit(self.move, self.row_bytes, self.bits) or "numbers name rows of the table",
            {self.move.key: at, "value": value},
        )  # fmt: skip

    def _once(self, values: Sequence[int]) -> None:
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

    def ruled(self, commands: Sequence[Command]) -> int:
        move, target = self.move, self.target
        limits = target.limits_with(move.limits)
        told = {f.rule for f in self.findings}
        whole = [self.whole_command(c) for c in commands]
        tiers = move.source.tier, move.dest.tier
        dma = Ruling(target, target.engine_of(*tiers), *tiers, move.dtype, limits, self.options.readings)
        index = move.index
        listed = tensor_facts(index.tensor, target.dtypes[index.dtype])
        moved = transfer_instances(move.source, move.dest, move.stream, move.dtype, target, whole, limits, move.span)
        held = [one for one in moved if one.scope not in ("transfer", "dimension")]
        span = index.tensor.span or index.span
        report = dma.judge([*held, Instance("tensor", listed, "index", span, "read", index.tensor.tier)])
        for found in report.findings:  # a list may fill fewer slices than a tensor of the device
            if found.rule not in told and (found.place != "index" or found.severity is Severity.ERROR):
                self.findings.append(found)
        self.conditions += left_behind(move.whole, whole, target, space_of(target, move.dest.tier), self.bits)
        facts = self.facts()
        ruling = Ruling(target, move.kind, move.source.tier, move.dest.tier, move.dtype, limits, self.options.readings)
        own = ruling.judge([Instance("indirect", facts, "index", move.index.span or move.span)])
        mistake = mistaken_unit(self.move, self.row_bytes, self.bits)
        for finding in own.findings:
            explained = bool(mistake) and "index_remainder" in finding.values
            if "index_remainder" in finding.values:
                at = next(i for i, v in enumerate(move.index.values or ()) if v % self.row_bytes)
                finding = replace(finding, span=self._value_span(at), labels=())
            self.findings.append(
                replace(finding, message=f"{finding.message}; {mistake}", hint=mistake) if explained else finding
            )
        self.held += [*report.held, *own.held]
        return report.evaluated + own.evaluated

    def whole_command(self, row: Command) -> Command:
        """The command of all rows: the loop over the keys around a row's, by the greatest step that all rows share."""
        space = space_of(self.target, self.move.payload.tier)
        keyed = gcd(*self.payload.steps(space, self.bits))
        first, picked = self._picked()
        if self.move.scatter:
            read, write, row = keyed, picked, row.moved_to(row.read.base, row.write.base + first)
        else:
            read, write, row = picked, keyed, row.moved_to(row.read.base + first, row.write.base)
        loop = Loop(self.move.keys, read, write, self.move.key)
        texts = [
            _around(text, self.move.keys, step, self.move.key)
            for text, step in ((row.read_text, read), (row.write_text, write))
        ]
        return replace(row, loops=(loop, *row.loops), read_text=texts[0], write_text=texts[1])

    def _picked(self) -> tuple[int, int]:
        """Where the machine goes first in the table, and what divides the distances from there to all others, in units:
        as printed, as the known numbers say, else to any row.
        """
        listed, values = self.move.listed, self.move.index.values
        if listed is not None and listed.offsets is not None:
            places = list(listed.offsets)
        elif values is None:
            return 0, self.row_units
        else:
            places = [row * self.row_units for v in values if (row := self.row_of(v)) is not None]
        first = min(places, default=0)
        return first, gcd(*(place - first for place in places))

    def facts(self) -> dict[str, int]:
        move, index = self.move, self.move.index
        bits = self.target.dtypes.get(index.dtype, 0)
        step = self.row_bytes
        remainder = max((v % step for v in index.values or ()), default=0) if index.scaled and step else 0
        if index.values is not None:
            most = max(index.values, default=0)
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
            "key_outside": sum(1 for d in self.payload.digits if d.place in ("chip", "cluster")),
            "replicated_axes": self._replicated(),
        }

    def _replicated(self) -> int:
        """Axes (or copies by bare numbers above 1) of the payload's places that neither the key nor the table has."""
        have = {*axes_of(self.move.table.mapping), self.move.key}
        places = [self.move.payload.field(place) for place in PLACES[:-1]]
        named = [axes_of(term) for place in places for term in terms_of(place)]
        lacking = sum(any(axis not in have and size > 1 for axis, size in one.items()) for one in named)
        return lacking + sum(len(bare_numbers(place)) for place in places)

    def spaces(self) -> tuple[Space, Space]:
        return space_of(self.target, self.move.source.tier), space_of(self.target, self.move.dest.tier)

    def shifts(self) -> tuple[list[int], list[int]] | None:
        """What the machine adds to read and write addresses of a row, key by key, in units."""
        values = self.move.index.values
        if values is None:
            return None
        per_byte = 8 // unit_bits_of(self.bits)
        listed = self.move.listed
        picked = [v * per_byte if self.move.index.scaled else v * self.row_units for v in values]
        if listed is not None and listed.offsets is not None:
            picked = list(listed.offsets)
        keyed = self.keyed_shifts()
        return (keyed, picked) if self.move.scatter else (picked, keyed)

    def keyed_shifts(self) -> list[int]:
        """What the machine adds to the addresses of the side that has the key, key by key, in units."""
        listed = self.move.listed
        if listed is not None:
            return [k * listed.stride for k in range(listed.count)]
        space = space_of(self.target, self.move.payload.tier)
        return [self.payload.units(k, space, self.bits) for k in range(self.move.keys)]


def _around(text: Sequencer | None, count: int, stride: int, label: str) -> Sequencer | None:
    if text is None:
        return None
    return replace(text, entries=(Entry(count, stride, label), *text.entries))
