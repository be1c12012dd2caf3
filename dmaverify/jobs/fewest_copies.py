"""Copies that are found for a move: the kernel that makes it, and the plan file that claims it.

Knows: plans, the text of a kernel that makes a move, readings of the contested points.
Does not know: how the fewest are found, certificates, the terminal.
Law: what is handed out was proved as it is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, Source
from dmaverify.jobs.plan_copies import kernel_head
from dmaverify.lower.plan_text import plan_head, tensor_table, transfer_lines
from dmaverify.machines.pto.meaning import meaning_of
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.stated import Setting
from dmaverify.machines.pto.write import copy_text
from dmaverify.synth.copies import plan_copies
from dmaverify.synth.result import CopyKernel, Synthesis
from dmaverify.values import replace

if TYPE_CHECKING:
    from dmaverify.program.move import Transfer
    from dmaverify.synth.copies import Fewest
    from dmaverify.synth.nests import RowNest
    from dmaverify.targets.target import Target
    from dmaverify.verdict import Verdict

MOST_CANDIDATES = 24
NOT_COVERED = (
    "covers that are no nests of the two layouts; rows shorter than both sides allow; the same byte moved twice",
    "contention, flags around the copies; figures of A5: none is public",
)
"""What no result claims."""


COPY_LIMITS = {"count_max", "gm_stride_max", "ub_stride_max", "ub_line_bytes", "pad_count_max", "local_max"}
"""Limits of instructions: what a move may state of its own, and what a machine must."""


def is_copied(move: Transfer, target: Target) -> bool:
    """Whether a move is one of copy instructions between gm and ub, on a machine whose data states their limits."""
    return {move.source.tier, move.dest.tier} <= {"gm", "ub"} and target.limits.keys() >= COPY_LIMITS


def fewest_copies(move: Transfer, target: Target, axes: Mapping[str, int]) -> Synthesis:
    """The fewest copies of a move between gm and ub, proved, with what other readings of the contested points say.

    Among the plans with the fewest instructions the cheapest is taken, among those the one that is right under the most
    readings. Raises InputError where no copy can make the move.
    """
    other = [name for name, _ in move.limits if not {name, f"{name}_max"} & COPY_LIMITS]
    if other:  # no field of an instruction has it: this search would not keep it
        hint = f"leave it out, or limit {', '.join(sorted(COPY_LIMITS))}"
        raise InputError(f"the search for copies does not count `{other[0]}`", move.span, hint)
    found = plan_copies(move, target)
    request = "\n".join([*plan_head([move], axes), *transfer_lines(replace(move, stream=None), (), {}, 8), ""])
    ranked = []
    for plans in found.plans[:MOST_CANDIDATES]:
        text = copy_text(move.name, move.dtype, found.kind, plans, found.limits.block)
        claim = _claim_text(move, target, axes, text, len(plans))
        kernel = CopyKernel(text, claim, request, len(plans), found.issues, _space_of(found))
        ranked.append(Synthesis(
            move, target, axes, "book", (), None, _cycles(text, target), found.bound, found.optimal, found.evidence,
            not_covered=NOT_COVERED, copies=kernel,
        ))  # fmt: skip
    refused: list[Verdict] = []
    best: tuple[int, Synthesis] | None = None
    for one in sorted(ranked, key=lambda one: one.cycles):
        if best is not None and (best[0] == 0 or one.cycles > best[1].cycles):
            break
        wrong, made = _judged(one, refused)
        if made is not None and (best is None or wrong < best[0]):
            best = wrong, made
    if best is not None:
        return best[1]
    first = next(iter(refused[0].errors or refused[0].findings), None)
    said, hint = (first.message, first.hint) if first else ("it could not be proved", "")
    raise InputError(f"the copies of `{move.name}` would not be right: {said}", move.span, hint or None)


def _judged(one: Synthesis, refused: list[Verdict]) -> tuple[int, Synthesis | None]:
    """How many other readings refuse a plan, and the plan with what each says; None where it is not proved by
    default.
    """
    from dmaverify.jobs.load import check
    from dmaverify.machines.pto.limits import knobs
    from dmaverify.prove.options import Options

    assert one.copies is not None
    (verdict,) = check(one.plan)
    if _lost(verdict):
        refused.append(verdict)
        return 0, None
    readings: dict[str, Any] = {}
    for knob, names in knobs(one.target).items():
        for other in names[1:]:
            (again,) = check(one.plan, options=Options(readings={knob: other}))
            said = (sorted({f.rule for f in again.errors}) or "unknown") if _lost(again) else "proved"
            readings[f"{knob}={other}"] = said
    warnings = tuple(f"{f.rule}: {f.message}" for f in verdict.findings)
    kernel = replace(one.copies, readings=readings, warnings=warnings)
    return sum(said != "proved" for said in readings.values()), replace(one, copies=kernel, verdict=verdict)


def _lost(verdict: Verdict) -> bool:
    return bool(verdict.errors) or verdict.status.value == "unknown"


def _cycles(text: str, target: Target) -> float:
    from dmaverify.cost.copies import price
    from dmaverify.cost.copy_figures import copy_figures

    _, (function,) = read_kernels(Source("synthesized", text))
    kernel = meaning_of(function, Setting())
    return price(kernel.events, kernel.world, copy_figures(target)).cycles({})


def _space_of(found: Fewest) -> dict[str, Any]:
    """The space that was searched: every nest of every cover with its levels, and whether fields hold each of them."""
    from dmaverify.synth.copy_fields import divided, fits, packed

    limits = found.limits

    def told(given: RowNest) -> dict[str, Any]:
        nest = divided(given, limits)
        levels = [
            {
                "count": v.count,
                "read": v.read,
                "write": v.write,
                "fits": fits(v, nest, found.kind, limits, innermost=False),
                "packed": packed(v, found.kind, limits),
            }
            for v in nest.levels
        ]
        return {"read": nest.read, "write": nest.write, "row": nest.row, "levels": levels}

    every = [[told(nest) for nest in nests] for nests in found.covers]
    return {"kind": found.kind, "levels": limits.levels, "searched": found.searched, "covers": every}


def _claim_text(move: Transfer, target: Target, axes: Mapping[str, int], text: str, copies: int) -> str:
    """A plan file that claims the move of the kernel."""
    lines = [*kernel_head(replace(move, views=None), target, axes)]
    lines += ['expect = "proved"', f"text = '''\n{text}'''", ""]
    numbers = ", ".join(str(n) for n in range(1, copies + 1))
    lines += [f"[[kernel.{move.name}.move]]", f"copies = [{numbers}]", f'dtype = "{move.dtype}"']
    lines += [f"source = {tensor_table(move.source)}", f"dest = {tensor_table(move.dest)}", ""]
    return "\n".join(lines)
