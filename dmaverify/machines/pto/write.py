"""The kernel that makes copies, in the surface with inline loops: constants, pointers, loops of software around each.

Knows: the text of a kernel, which operand stands where.
Does not know: how copies were found, whether they are right.
Law: a copy of the text has the start, the row and the loops of its plan; what has no place in an instruction is a loop
of software, outermost first.

Source: "DMA Copy" (syntax), PTO v0.6 (mte_*).
"""

from __future__ import annotations

from collections.abc import Sequence

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
    load = kind == "load"
    gm, ub = f"!pto.ptr<{dtype}, gm>", f"!pto.ptr<{dtype}, ub>"
    marks = {"load": (gm, ub), "store": (ub, gm), "local": (ub, ub)}[kind]
    for number, plan in enumerate(plans):
        _one_copy(out, f"_{number}" if number else "", plan, kind, marks, block)
    head = out.head()
    if any(plan.right is not None for plan in plans):
        zero = "0.0" if dtype.startswith(("f", "b")) else "0"
        head.append(f"  %zero = arith.constant {zero} : {dtype}")
    name = name.replace("-", "_")
    notes = [] if load else ["// dmaverify: allow(core/definite) the tile is written elsewhere"]
    argument = "" if kind == "local" else f"%tensor: {gm}"
    return "\n".join([*notes, f"func.func @{name}({argument}) {{", *head, *out.lines, "  return", "}", ""])


def _one_copy(out: _Lines, mark: str, plan: CopyPlan, kind: str, types: tuple[str, str], block: int) -> None:
    """One instruction with the loops of software around it."""
    lines, item, pad, c = out.lines, plan.item, "  ", out.c
    names = []
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
    pair = f"{types[0]}, {types[1]}"
    if kind == "local":
        (level,) = plan.hardware
        gaps = [(step - plan.row) // block if level.count > 1 else 0 for step in (level.read, level.write)]
        group = f"nburst({c(level.count)}, {c(gaps[0])}, {c(gaps[1])})"
        lines.append(f"{pad}pto.mte_ub_ub {names[0]}, {names[1]}, {c(plan.row // block)} {group}")
        lines.append(f"{pad}    : {pair}, i64, i64, i64, i64")
    else:
        groups = " ".join(
            f"{'nburst' if i == 0 else 'loop'}({c(level.count)}, {c(level.read)}, {c(level.write)})"
            for i, level in enumerate(plan.hardware)
        )
        extra = ", loop i64, i64, i64" * (len(plan.hardware) - 1)
        own = "i64, i64, i64, i64"
        if kind == "load":
            own = f"i64, {own}"
            if plan.right is not None:
                groups += f" pad(%zero, {c(0)}, {c(plan.right)})"
                extra += f", pad {types[1].split('<')[1].split(',')[0]}, i64, i64"
            lines.append(f"{pad}pto.mte_gm_ub {names[0]}, {names[1]}, {c(0)}, {c(plan.row)} {groups}")
        else:
            lines.append(f"{pad}pto.mte_ub_gm {names[0]}, {names[1]}, {c(plan.row)} {groups}")
        lines.append(f"{pad}    : {pair}, {own}{extra}")
    for _ in plan.software:
        pad = pad[:-2]
        lines.append(f"{pad}}}")
