"""Copies that are found for a move, at the command line.

Knows: plans, the text of a kernel that makes a move. Does not know: how the fewest are found.
Law: what is handed out was proved as it is printed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, Source
from dmaverify.inputs.pto_meaning import meaning_of
from dmaverify.inputs.pto_read import read_kernels
from dmaverify.inputs.pto_values import Setting

if TYPE_CHECKING:
    from dmaverify.inputs.plan import Plan
    from dmaverify.synth.copies import CopyPlan
    from dmaverify.transfer.move import Transfer


def synthesize_copies(plan: Plan, name: str) -> dict[str, Any]:
    """The fewest copies of a transfer between gm and ub, proved under every reading of the contested points.

    Keys: kernel (text), plan (a plan file that claims the move), issues, bound, optimal, cycles, readings (each other
    reading with `proved` or the errors), evidence. Raises InputError where no copy can make the move.
    """
    from dmaverify import api
    from dmaverify.machines.pto_moves import KNOBS
    from dmaverify.prove.options import Options
    from dmaverify.synth.copies import plan_copies

    transfer = next(t.transfer for t in plan.transfers if t.name == name)
    target = plan.targets[transfer.target]
    copies = plan_copies(transfer, target.dtypes[transfer.dtype])
    text = _copy_text(transfer, copies)
    claim = _claim_text(plan, transfer, text)
    (verdict,) = api.check(claim)
    if verdict.errors or verdict.status.value == "unknown":
        first = next(iter(verdict.errors or verdict.findings), None)
        said = first.message if first else "it could not be proved"
        raise InputError(
            f"the copy of `{name}` would not be right: {said}", transfer.span, first.hint if first else None
        )
    readings = {}
    for knob, names in KNOBS.items():
        for other in names[1:]:
            (again,) = api.check(claim, options=Options(readings={knob: other}))
            readings[f"{knob}={other}"] = sorted({f.rule for f in again.errors}) or "proved"
    cost = _priced(text)
    evidence = (
        "one instruction: there is nothing below"
        if copies.issues == 1
        else "the largest counts are in the hardware's loops"
    )
    return {
        "name": name,
        "kernel": text,
        "plan": claim,
        "issues": copies.issues,
        "bound": 1,
        "optimal": copies.issues == 1,
        "gap": copies.issues - 1,
        "cycles": cost["cycles"],
        "readings": readings,
        "evidence": evidence,
        "warnings": [f"{f.rule}: {f.message}" for f in verdict.findings],
    }


def synthesized(paths: tuple[str, ...], output: str | None, as_json: bool) -> str | list[dict[str, Any]] | None:
    """What `synth` says of plans for this machine; None for all others. `output` receives the plan of the one move."""
    from dmaverify import api

    found = []
    for path in paths:
        plan = api.load(path)
        if not plan.transfers or any(plan.targets[t.transfer.target].name != "pto" for t in plan.transfers):
            return None
        found += [synthesize_copies(plan, transfer.name) for transfer in plan.transfers]
    if output is not None:
        if len(found) != 1:
            raise InputError(f"{len(found)} transfers, but one plan to write", None, "name one: PATH::NAME")
        Path(output).write_text(found[0]["plan"], encoding="utf-8")
    return found if as_json else "\n\n".join(map(synthesis_text, found))


def _priced(text: str) -> dict[str, Any]:
    from dmaverify.cost.copies import as_data, price
    from dmaverify.machines.target import load_target

    _, (function,) = read_kernels(Source("synthesized", text))
    kernel = meaning_of(function, Setting())
    return as_data(price(kernel.events, kernel.world, load_target("pto").raw["cost"]))


def synthesis_text(found: Mapping[str, Any]) -> str:
    """A synthesis for people."""
    needs = [f"{reading}: {', '.join(said)}" for reading, said in found["readings"].items() if said != "proved"]
    count, others = found["issues"], len(found["readings"])
    lines = [
        f"{found['name']}   {count:,} instruction{'s' if count != 1 else ''} issued, bound 1: {found['evidence']}",
        f"  proved under the default readings and {others - len(needs)} of {others} others",
        *(f"  not under {need}" for need in needs),
        *(f"  note: {warning}" for warning in found["warnings"]),
        f"  cost      {found['cycles']:,.0f} cycles by the model's A2/A3 parameters (not A5 figures)",
        "",
        found["kernel"].rstrip(),
    ]
    return "\n".join(lines)


def _copy_text(transfer: Transfer, copies: CopyPlan) -> str:
    """The kernel that makes the move, with inline loops."""
    kind, load = transfer.dtype, transfer.source.tier == "gm"
    if transfer.source.tier == transfer.dest.tier:
        raise InputError("a copy inside one memory is not synthesized", transfer.span, "gm to ub, or ub to gm")
    numbers: dict[int, None] = {}

    def c(value: int) -> str:
        numbers[value] = None
        return f"%c{value}_i64"

    gm, ub = f"!pto.ptr<{kind}, gm>", f"!pto.ptr<{kind}, ub>"
    item, lines, pad, names = copies.item, [], "  ", ["%src", "%dst"]
    at_gm, at_ub = (copies.read, copies.write) if load else (copies.write, copies.read)
    lines.append(f"  %g = pto.addptr %tensor, {c(at_gm // item)} : {gm} -> {gm}")
    lines.append(f"  %u = pto.castptr {c(at_ub)} : i64 -> {ub}")
    names = ["%g", "%u"]
    for number, level in enumerate(copies.software):
        steps = (level.read, level.write) if load else (level.write, level.read)
        lines.append(f"{pad}scf.for %i{number} = %lo to %n{number} step %one {{")
        pad += "  "
        lines.append(f"{pad}%k{number} = arith.index_cast %i{number} : index to i64")
        for side, (step, mark) in enumerate(zip(steps, (gm, ub), strict=True)):
            lines.append(f"{pad}%o{number}{side} = arith.muli %k{number}, {c(step // item)} : i64")
            lines.append(f"{pad}%p{number}{side} = pto.addptr {names[side]}, %o{number}{side} : {mark} -> {mark}")
            names[side] = f"%p{number}{side}"
    groups = " ".join(
        f"{'nburst' if i == 0 else 'loop'}({c(level.count)}, {c(level.read)}, {c(level.write)})"
        for i, level in enumerate(copies.hardware)
    )
    extra = ", loop i64, i64, i64" * (len(copies.hardware) - 1)
    if load:
        if copies.right is not None:
            groups += f" pad(%zero, {c(0)}, {c(copies.right)})"
            extra += f", pad {kind}, i64, i64"
        lines.append(f"{pad}pto.mte_gm_ub {names[0]}, {names[1]}, {c(0)}, {c(copies.row)} {groups}")
        lines.append(f"{pad}    : {gm}, {ub}, i64, i64, i64, i64, i64{extra}")
    else:
        lines.append(f"{pad}pto.mte_ub_gm {names[1]}, {names[0]}, {c(copies.row)} {groups}")
        lines.append(f"{pad}    : {ub}, {gm}, i64, i64, i64, i64{extra}")
    for _ in copies.software:
        pad = pad[:-2]
        lines.append(f"{pad}}}")
    head = [f"  {c(n)} = arith.constant {n} : i64" for n in sorted(numbers)]
    head += ["  %lo = arith.constant 0 : index", "  %one = arith.constant 1 : index"] if copies.software else []
    head += [f"  %n{i} = arith.constant {level.count} : index" for i, level in enumerate(copies.software)]
    if copies.right is not None:
        head.append(f"  %zero = arith.constant {'0.0' if kind.startswith(('f', 'b')) else '0'} : {kind}")
    name = transfer.name.replace("-", "_")
    notes = [] if load else ["// dmaverify: allow(core/definite) the tile is written elsewhere"]
    return "\n".join([*notes, f"func.func @{name}(%tensor: {gm}) {{", *head, *lines, "  return", "}", ""])


def _claim_text(plan: Plan, transfer: Transfer, text: str) -> str:
    """A plan file that claims the move of the kernel."""
    axes = "\n".join(f"{json.dumps(axis)} = {size}" for axis, size in plan.axes.items())
    sides = []
    for key, tensor in (("source", transfer.source), ("dest", transfer.dest)):
        sides.append(
            f'{key} = {{ tier = "{tensor.tier}", base = {tensor.base}, element = {json.dumps(str(tensor.element))} }}'
        )
    gm = transfer.source if transfer.source.tier == "gm" else transfer.dest
    extent = gm.base + gm.element.size * plan.targets[transfer.target].dtypes[transfer.dtype] // 8
    lines = ["schema = 1", 'target = "pto"', "", "[axes]", axes, "", f"[kernel.{transfer.name}]"]
    lines += [f'gm = {{ tensor = "{extent} bytes" }}', 'expect = "proved"', f"text = '''\n{text}'''", ""]
    lines += [f"[[kernel.{transfer.name}.move]]", "copies = [1]", f'dtype = "{transfer.dtype}"', *sides, ""]
    return "\n".join(lines)
