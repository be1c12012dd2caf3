"""The kernel that makes copies, in the surface with inline loops: constants, pointers, loops of software around each.

Knows: the text of a kernel around its copies. Does not know: the text of a copy (`emit`), how copies were found,
whether they are right.
Law: a copy of the text has the start, the row and the loops of its plan; what has no place in an instruction is a loop
of software, outermost first.

Source: "DMA Copy" (syntax), PTO v0.6 (mte_*).
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.affine import ZERO, Lin
from dmaverify.machines.pto.emit import inline_text, pointers
from dmaverify.program.instructions import Copy, CopyStep, Fill, Place
from dmaverify.prove.flow.accesses.step_events import NOWHERE
from dmaverify.synth.copies import CopyPlan


class _Lines:
    """The lines of a kernel, and the constants that they name."""

    def __init__(self) -> None:
        self.numbers: dict[int, None] = {}
        self.bounds: dict[int, None] = {}
        self.lines: list[str] = []

    def c(self, value: int) -> str:
        self.numbers[value] = None
        return f"%c{value}_i64" if value >= 0 else f"%cm{-value}_i64"

    def n(self, value: int) -> str:
        self.bounds[value] = None
        return f"%n{value}"

    def head(self) -> list[str]:
        out = [f"  {self.c(n)} = arith.constant {n} : i64" for n in sorted(self.numbers)]
        return out + [f"  {self.n(n)} = arith.constant {n} : index" for n in sorted(self.bounds)]


def copy_text(name: str, dtype: str, kind: str, plans: Sequence[CopyPlan], block: int) -> str:
    """The kernel of these copies, one behind the other."""
    out = _Lines()
    for number, plan in enumerate(plans):
        _one_copy(out, f"_{number}" if number else "", plan, _copy_of(plan, kind, dtype, block))
    head = out.head()
    if any(plan.right is not None for plan in plans):
        zero = "0.0" if dtype.startswith(("f", "b")) else "0"
        head.append(f"  %zero = arith.constant {zero} : {dtype}")
    name = name.replace("-", "_")
    notes = [] if kind == "load" else ["// dmaverify: allow(core/definite) the tile is written elsewhere"]
    argument = "" if kind == "local" else f"%tensor: !pto.ptr<{dtype}, gm>"
    return "\n".join([*notes, f"func.func @{name}({argument}) {{", *head, *out.lines, "  return", "}", ""])


def _one_copy(out: _Lines, mark: str, plan: CopyPlan, copy: Copy) -> None:
    """One instruction with the loops of software around it."""
    lines, item, pad, c = out.lines, plan.item, "  ", out.c
    types, names = pointers(copy), []
    for side, (start, own) in enumerate(zip((plan.read, plan.write), types, strict=True)):
        name = f"%{'sd'[side]}{mark}"
        if own.endswith("gm>"):
            lines.append(f"  {name} = pto.addptr %tensor, {c(start // item)} : {own} -> {own}")
        else:
            lines.append(f"  {name} = pto.castptr {c(start)} : i64 -> {own}")
        names.append(name)
    for number, level in enumerate(plan.software):
        loop = f"{mark}_{number}"
        lines.append(f"{pad}scf.for %i{loop} = {out.n(0)} to {out.n(level.count)} step {out.n(1)} {{")
        pad += "  "
        lines.append(f"{pad}%k{loop} = arith.index_cast %i{loop} : index to i64")
        for side, step in enumerate((level.read, level.write)):
            own, new = types[side], f"%p{loop}{'sd'[side]}"
            lines.append(f"{pad}%o{loop}{'sd'[side]} = arith.muli %k{loop}, {c(step // item)} : i64")
            lines.append(f"{pad}{new} = pto.addptr {names[side]}, %o{loop}{'sd'[side]} : {own} -> {own}")
            names[side] = new
    lines += [pad + line for line in inline_text(copy, names[0], names[1], lambda n: c(n.const), "%zero", "")]
    for _ in plan.software:
        pad = pad[:-2]
        lines.append(f"{pad}}}")


def _copy_of(plan: CopyPlan, kind: str, dtype: str, block: int) -> Copy:
    """The instruction of a plan, in bytes."""
    steps = tuple(CopyStep(Lin(level.count), Lin(level.read), Lin(level.write), "") for level in plan.hardware)
    ports = {"cache_ctl": ZERO, "row_units": Lin(plan.row // block)}
    for port, step in (("read_gap", plan.hardware[0].read), ("write_gap", plan.hardware[0].write)):
        ports[port] = Lin((step - plan.row) // block if plan.hardware[0].count > 1 else 0)
    fill = None if plan.right is None else Fill(0, plan.item, ZERO, Lin(plan.right))
    place = Place("", "", ZERO, plan.item, dtype)
    return Copy(0, kind, "", place, place, Lin(plan.row), steps, fill, ports, {}, NOWHERE)
