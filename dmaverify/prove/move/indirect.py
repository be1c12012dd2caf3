"""One gather or scatter, judged: a row by proof, the list of rows number by number, the machine's rules; one verdict.

Knows: what of an indirect move is the same for every row, what the numbers of the index must be.
Does not know: plan files, what a rule says (data does), how a verdict is shown.
Law: the obligations speak of addresses relative to the places of a row, so the proof for row 0 is one for all. The rest
is arithmetic on the list: every number names a row of the table, a scatter names none twice, printed offsets are those
of the index. A number that is known at run time only is never taken as right: what the plan promises of it is an
assumption of the verdict, what it does not promise leaves it UNKNOWN.

Source: "Sequencer" (Indirect Access), furiosa-opt v0.6.0 (gather and scatter), docs/machines/rngd.md 5 and 9.

Relied on (proofs/): view-shift.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.lower.programs import space_of
from dmaverify.program.command import Command
from dmaverify.program.indirect import Indirect, RowDigits, rows_of
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor
from dmaverify.program.views import ViewError
from dmaverify.prove.move.check import Options
from dmaverify.prove.move.defined import NotCovered
from dmaverify.prove.move.full import FROM_DEFINITIONS, NOT_ASKED, ask, definitions, rules_script
from dmaverify.prove.move.indirect_case import IndirectCase
from dmaverify.prove.move.indirect_order import apart_script, judge_order
from dmaverify.prove.move.indirect_printed import (
    judge_keyed,
    judge_printed,
    judge_reach,
    judge_walked,
    judge_zeros,
)  # fmt: skip
from dmaverify.prove.move.part_questions import index_script, row_scripts
from dmaverify.prove.move.script import Script
from dmaverify.targets.target import Target
from dmaverify.values import dataclass
from dmaverify.verdict import Verdict

ROW_BY_Z3 = f"{FROM_DEFINITIONS}, one row for all"
ORDER = ("core/well-formed", "core/in-bounds", "core/same-element", "core/covers", "core/writes-once")


MOST_APART = 256  # pairs of walks of which it is asked that they have no address in common
MOST_PROMISED = 4096  # rows of an index that is known at run time only, of which each is looked at


@dataclass(frozen=True, slots=True)
class RowProgram:
    """What a machine does for an index with known numbers: the commands of row 0, and what is added to the addresses of
    each key's, in units.
    """

    commands: tuple[Command, ...]
    read_shifts: tuple[int, ...]
    write_shifts: tuple[int, ...]
    spaces: tuple[Space, Space]


def row_program(move: Indirect, target: Target, axes: Mapping[str, int], *, promised: bool = False) -> RowProgram | str:
    """The program of all rows, or why there is none. With `promised` an index that is known at run time only stands for
    every row that the plan promises: the shifts of the table are all that may be, not one a key.
    """
    case = IndirectCase(move, target=target, options=Options(), axes=axes)
    row = case.row() if case.shaped() else None
    if row is None:
        return case.findings[0].message
    commands, shifts = case.commands(row), case.shifts() or (_promised(case) if promised else None)
    if shifts is None:
        return "the numbers of the index are known at run time only"
    if not commands:
        return "neither a stream nor configurations are given"
    return RowProgram(commands, tuple(shifts[0]), tuple(shifts[1]), case.spaces())


def _promised(case: IndirectCase) -> tuple[list[int], list[int]] | None:
    """As `IndirectCase.shifts`, of every row that the plan promises; None where it promises none, or too many."""
    move, index = case.move, case.move.index
    if index.low is None or index.high is None or index.high - index.low >= MOST_PROMISED:
        return None
    if case.keyed_table is not None or move.listed is not None:
        return None
    picked = [row * case.row_units for row in range(index.low, index.high + 1)]
    return (case.keyed_shifts(), picked) if move.scatter else (picked, case.keyed_shifts())


def check_indirect(
    move: Indirect,
    *,
    axes: Mapping[str, int],
    target: Target,
    options: Options,
    path: str = "",
    keep: list[tuple[str, str, str]] | None = None,
) -> Verdict:
    """The verdict on one gather or scatter."""
    case = IndirectCase(move, target=target, options=options, axes=axes)
    row = case.row() if case.shaped() else None
    if row is not None:
        case.judge_row(row, path, keep)
        judge_walked(case)
        judge_zeros(case)
        case.judge_index()
        judge_keyed(case)
        judge_printed(case)
        commands = case.commands(row)
        judge_reach(case, commands)
        judge_order(case, commands)
        case.rules = case.ruled(commands)
        _ask_for_all_rows(case, keep)
    else:
        case.assumptions.append(f"nothing else was judged: the {move.kind} has no defined meaning")
    case.status.setdefault("core/well-formed", "proved")
    names = (*ORDER, *(name for name in case.status if name not in ORDER and name.startswith("core/")))
    return case.concluded(move.name, names, path, move.line, move.expect, case.claim())


def _listed(case: IndirectCase) -> tuple[RowDigits, Tensor, str, Space, bool]:
    """The index as a tensor whose rows are its numbers. Raises ViewError where it has no such rows."""
    tensor, key, keys = case.move.index.tensor, case.move.key, case.move.keys
    return rows_of(tensor, key, keys, written=False), tensor, key, space_of(case.target, tensor.tier), False


def _ask_for_all_rows(case: IndirectCase, keep: list[tuple[str, str, str]] | None) -> None:
    """What carries the proof of row 0 to every number of the index, from definitions. Raises Disagreement."""
    if not case.asks_all:
        return
    move, target, scripts = case.move, case.target, list[Script]()
    table = (case.table, move.table, move.axis, space_of(target, move.table.tier), move.scatter)
    payload = (case.payload, move.payload, move.key, space_of(target, move.payload.tier), not move.scatter)
    left = [] if case.keyed_table is None else [f"a table that holds {move.key}"]
    for made in (
        lambda: row_scripts({"table": table, "payload": payload}, case.bits, definitions()),
        lambda: row_scripts({"index": _listed(case)}, target.dtypes[move.index.dtype], definitions()),
        lambda: [index_script(move.index, move.rows, case.row_pitch, move.scatter, definitions())],
    ):
        try:
            scripts += made()
        except (NotCovered, ViewError) as why:
            left.append(str(why))
    scripts += [rules_script(case.held)] if case.held else []
    ruled = {rule.id for rule, _, _ in case.held}
    open_ = ask(scripts, case.options.rlimit, keep if keep is not None else [], left)
    if ruled and not ruled & open_:
        case.by["rules"] = f"z3, {case.rules} rules"
    if not left:
        case.by.update({name: "z3, for every row" for name, by in case.by.items() if by == ROW_BY_Z3})
    if case.status.get("core/overlap") == "proved" and case.apart and len(case.apart) <= MOST_APART:
        if not ask([apart_script(case.apart)], case.options.rlimit, keep if keep is not None else [], left):
            case.by["core/overlap"] = FROM_DEFINITIONS
    elif case.by.get("core/overlap", "").startswith("the order"):
        left.append(f"core/overlap by {case.by['core/overlap']}")
    case.assumptions += [NOT_ASKED + what for what in left]
