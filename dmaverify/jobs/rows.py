"""Running a gather or scatter, and what came of it, in words and as data.

Knows: how a move of rows is run, what its run counts.
Does not know: how an index is judged, command lines.
Law: nothing is said that was not run: cells that were asked, cells that hold what the index names, the first that does
not.

Source: docs/machines/rngd.md 5 (meaning of gather and scatter).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError
from dmaverify.execute.indirect import RowsRun, run_rows
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.program.indirect import Indirect


@dataclass(frozen=True, slots=True)
class RowsRan:
    """One run. `broken`: some promise was not kept."""

    name: str
    kind: str
    keys: int
    done: RowsRun

    @property
    def broken(self) -> bool:
        return bool(self.done.broken)

    def text(self) -> str:
        done = self.done
        lines = [
            self.name,
            f"  ran       {self.keys:,} rows, {done.moved:,} bytes",
            f"  arrived   {done.right:,} bytes of {done.asked:,} that the index asks for",
        ]
        if done.broken:
            lines.append(
                f"  broken    {', '.join(sorted(done.broken))}" + (f"; {done.first_wrong}" if done.first_wrong else "")
            )
        lines.append(f"\nThe promise of the {self.kind} is {'broken' if done.broken else 'kept'}.")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        done = self.done
        return {
            "name": self.name, "kind": self.kind, "rows": self.keys, "moved": done.moved, "asked": done.asked,
            "right": done.right, "broken": sorted(done.broken), "first_wrong": done.first_wrong,
        }  # fmt: skip


def ran(plan: Plan, move: Indirect) -> RowsRan:
    """Runs every row. Raises InputError where there is nothing to run, TooLarge where there is too much."""
    from dmaverify.prove.move.indirect import row_program

    target = plan.targets[move.target]
    program = row_program(move, target, plan.axes)
    if isinstance(program, str):
        raise InputError(f"`{move.name}` cannot be run: {program}", move.span, "give `values` and a stream")
    done = run_rows(
        move, target.dtypes[move.dtype], program.spaces, program.commands, program.read_shifts, program.write_shifts
    )
    return RowsRan(move.name, move.kind, move.keys, done)
