"""One gather or scatter of a plan on its way to a verdict: the row by proof, rules of its commands, beside its index.

Knows: what of an indirect move is the same for every row, what the machine adds for each key.
Does not know: the order of judgement, plan files, what a rule says (data does), how a verdict is shown.
Law: what is proved of row 0 relative to its places is proved of every row.

Source: "Sequencer" (Indirect Access), furiosa-opt v0.6.0 (gather and scatter), docs/machines/rngd.md 5 and 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import gcd

from dmaverify.language.expr import Kind, axes_of
from dmaverify.language.meaning import Cell, Index, Pad, cell
from dmaverify.lower.programs import program_of_transfer, space_of
from dmaverify.program.command import Command, Entry, Loop, Sequencer
from dmaverify.program.indirect import RowDigits, rows_of, without_axis
from dmaverify.program.move import Transfer
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.program.views import ViewError
from dmaverify.prove.meet import Walk
from dmaverify.prove.move.case import MOVE_ALONE
from dmaverify.prove.move.check import check_transfer
from dmaverify.prove.move.copy_ports import left_behind
from dmaverify.prove.move.index_case import IndexCase
from dmaverify.prove.move.static import Ruling, transfer_instances
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Finding


@dataclass
class IndirectCase(IndexCase):
    """An indirect move on its way to a verdict."""

    apart: list[tuple[str, Walk, Walk]] | None = field(default=None, init=False)
    """What is written and read of one memory without an address in common; None where more than that keeps order."""

    @cached_property
    def keyed_table(self) -> RowDigits | None:
        """The key as the table holds it, if it does: key k then lies there as well, beside the row."""
        if self.move.key not in axes_of(self.move.table.mapping) or self.move.keys < 2:
            return None
        return rows_of(self.table.first, self.move.key, self.move.keys, written=self.move.scatter)

    def rows_needed(self) -> list[RowDigits]:
        return [*super().rows_needed(), self.payload, *filter(None, [self.keyed_table])]

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
        for one in verdict.obligations:
            self.status[one.id] = one.status
            self.by[one.id] = f"{one.by}, one row for all" if one.by else ""
        for finding in verdict.findings:
            beside = self._beside_row(finding)
            if isinstance(beside, Pad) and beside.kind is Kind.TOP:
                self.status["core/padding"] = "unknown"
                self.assumptions.append(
                    "rows write beside their cells, into padding: whether it is that of others is open"
                )
                continue
            if isinstance(beside, Index):
                finding = replace(finding, message=f"{finding.message.partition(',')[0]}, which another row has")
            self.findings.append(replace(finding, notes=(*finding.notes, "of every row alike")))
        self.assumptions += [said for said in verdict.assumptions if not said.startswith("numpy agrees")]
        self.conditions += verdict.conditions

    def _beside_row(self, finding: Finding) -> Cell | None:
        """The cell of the whole destination that a finding of row 0 takes for Bottom padding, as other rows are."""
        at, dest, unit = (finding.witness or {}).get("write_address"), self.move.dest, unit_bits_of(self.bits)
        if finding.rule != "core/padding" or finding.values.get("part") != "write-bottom" or at is None:
            return None
        space = space_of(self.target, dest.tier)
        slice_, rest = divmod(at, space.stride("slice", unit)) if "slice" in space.places else (dest.at_slice, at)
        inside = cell(dest.element, (rest - dest.base * 8 // unit) // (self.bits // unit))
        outside = cell(dest.slice, slice_ - dest.at_slice)
        return inside if isinstance(outside, Index) else outside

    def claim(self) -> str:
        alone = self.move.stream is None and self.move.given is None
        return MOVE_ALONE if alone else f"{self.move.keys:,} rows of {self.move.rows:,}"

    def commands(self, row: Transfer) -> tuple[Command, ...]:
        found = program_of_transfer(row, self.bits, self.target)
        return found if isinstance(found, tuple) else ()

    # ------------------------------------------------------------ rules

    def ruled(self, commands: Sequence[Command]) -> int:
        move, target = self.move, self.target
        limits = target.limits_with(move.limits)
        whole = [self.whole_command(c) for c in commands]
        dma = Ruling.of_move(target, move, self.options.readings)
        moved = transfer_instances(move.source, move.dest, move.stream, move.dtype, target, whole, limits, move.span)
        report = dma.judge([*(m for m in moved if m.scope not in ("transfer", "dimension")), self.listed()])
        self.keep(report.findings)
        self.conditions += left_behind(move.whole, whole, target, space_of(target, move.dest.tier), self.bits)
        self.held += report.held
        return report.evaluated + self.judge_rules()

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
