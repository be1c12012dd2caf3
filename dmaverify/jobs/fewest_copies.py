"""Copies that are found for a move: the kernel that makes it, and the plan file that claims it.

Knows: plans, the text of a kernel that makes a move.
Does not know: how the fewest are found, certificates, the terminal.
Law: what is handed out was proved as it is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, Source
from dmaverify.jobs.refused_settings import FIXED, refuse_settings
from dmaverify.lower.plan_text import plan_head, tensor_table, transfer_lines
from dmaverify.machines.pto.meaning import meaning_of
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.stated import Setting
from dmaverify.machines.pto.write import copy_text
from dmaverify.values import dataclass, replace

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.program.move import Transfer
    from dmaverify.synth.copies import Fewest
    from dmaverify.synth.nests import RowNest
    from dmaverify.targets.target import Target

MOST_CANDIDATES = 24
NOT_COVERED = (
    "covers that are no nests of the two layouts; rows shorter than both sides allow; the same byte moved twice",
    "contention, flags around the copies; figures of A5: none is public",
)
"""What no result claims."""


COPY_LIMITS = {"count_max", "gm_stride_max", "ub_stride_max", "ub_line_bytes", "pad_count_max", "local_max"}
"""Limits of instructions: what a move may state of its own, and what a machine must."""


@dataclass(frozen=True)
class FewestCopies:
    """The answer of `synthesize_copies` with the names that every synthesis has."""

    data: Mapping[str, Any]

    found = True
    """As `Synthesis.found`: always, because a move that no copy can make is an InputError."""

    @property
    def plan(self) -> str:
        """A plan file that claims the move of the kernel, which stands in it."""
        return str(self.data["plan"])

    @property
    def kernel(self) -> str:
        """The copies, in the surface of PTO text."""
        return str(self.data["kernel"])

    @property
    def cycles(self) -> float:
        return float(self.data["cycles"])

    @property
    def bound(self) -> int:
        """Instructions that no kernel of the space can do without."""
        return int(self.data["bound"])

    @property
    def optimal(self) -> bool:
        return bool(self.data["optimal"])

    @property
    def evidence(self) -> tuple[str, ...]:
        return tuple(self.data["evidence"])

    def as_data(self) -> dict[str, Any]:
        """The JSON of the command line."""
        return dict(self.data)


def is_copied(move: Transfer, target: Target) -> bool:
    """Whether a move is one of copy instructions between gm and ub, on a machine whose data states their limits."""
    return {move.source.tier, move.dest.tier} <= {"gm", "ub"} and target.limits.keys() >= COPY_LIMITS


def copies_of(move: Transfer, target: Target, axes: Mapping[str, int], settings: Mapping[str, Any]) -> FewestCopies:
    """The fewest copies of a move that stands in no file. Raises InputError, also for settings that copies have not."""
    from dmaverify.plan.plan import Plan, PlanTransfer

    refuse_settings(settings, (*FIXED, "profile", "reading"), "copies between gm and ub", move.span)
    item, text = PlanTransfer(move), Source("<move>", "")
    plan = Plan(text.name, text, "", axes, {}, {move.target: target}, (item,), ())
    return FewestCopies(synthesize_copies(plan, move.name))


def synthesize_copies(plan: Plan, name: str) -> dict[str, Any]:
    """The fewest copies of a transfer between gm and ub, proved under every reading of the contested points.

    Keys: kernel (text), plan (a plan file that claims the move), request (one with the move alone), issues, bound,
    optimal, gap, cycles, readings (each other reading with `proved` or the errors), evidence (lines). Among the plans
    with the fewest instructions the cheapest is taken, among those the one that is right under the most readings.
    Raises InputError where no copy can make the move.
    """
    from dmaverify.synth.copies import plan_copies

    transfer = next(t.transfer for t in plan.transfers if t.name == name)
    target = plan.targets[transfer.target]
    _honoured(transfer)
    found = plan_copies(transfer, target)
    texts = [
        (copy_text(name, transfer.dtype, found.kind, plans, found.limits.block), plans)
        for plans in found.plans[:MOST_CANDIDATES]
    ]
    costs = [_priced(text, target)["cycles"] for text, _ in texts]
    least = min(costs)
    chosen: tuple[int, dict[str, Any]] | None = None
    for (text, plans), cycles in zip(texts, costs, strict=True):
        if cycles > least:
            continue
        claim = _claim_text(plan, transfer, text, len(plans))
        judged = _judged(claim, transfer, name, target)
        wrong = sum(said != "proved" for said in judged["readings"].values())
        if chosen is None or wrong < chosen[0]:
            chosen = (wrong, {"kernel": text, "plan": claim, **judged})
        if not wrong:
            break
    assert chosen is not None
    return {
        "name": name,
        "issues": found.issues,
        "copies": len(found.plans[0]),
        "bound": found.bound,
        "optimal": found.optimal,
        "gap": found.issues - found.bound,
        "cycles": least,
        "restricted": [f"the move's own limit {name} = {value:,}" for name, value in transfer.limits],
        "evidence": list(found.evidence),
        "not_covered": list(NOT_COVERED),
        "space": space_of(found),
        "request": _request_text(plan, transfer),
        **chosen[1],
        **({"iterations": transfer.iterations} if transfer.iterations > 1 else {}),
    }


def _honoured(transfer: Transfer) -> None:
    """Raises InputError for limits of the move that no field of an instruction has: this search would not keep them."""
    other = [name for name, _ in transfer.limits if not {name, f"{name}_max"} & COPY_LIMITS]
    if other:
        hint = f"leave it out, or limit {', '.join(sorted(COPY_LIMITS))}"
        raise InputError(f"the search for copies does not count `{other[0]}`", transfer.span, hint)


def _judged(claim: str, transfer: Transfer, name: str, target: Target) -> dict[str, Any]:
    """What `check` says of a plan, by default and under every other reading. Raises InputError if it is not proved."""
    from dmaverify.jobs.load import check
    from dmaverify.machines.pto.limits import knobs
    from dmaverify.prove.options import Options

    (verdict,) = check(claim)
    if verdict.errors or verdict.status.value == "unknown":
        first = next(iter(verdict.errors or verdict.findings), None)
        said = first.message if first else "it could not be proved"
        raise InputError(
            f"the copies of `{name}` would not be right: {said}", transfer.span, first.hint if first else None
        )
    readings: dict[str, Any] = {}
    for knob, names in knobs(target).items():
        for other in names[1:]:
            (again,) = check(claim, options=Options(readings={knob: other}))
            lost = again.errors or again.status.value == "unknown"
            readings[f"{knob}={other}"] = (sorted({f.rule for f in again.errors}) or "unknown") if lost else "proved"
    return {"readings": readings, "warnings": [f"{f.rule}: {f.message}" for f in verdict.findings]}


def _priced(text: str, target: Target) -> dict[str, Any]:
    from dmaverify.cost.copies import as_data, price
    from dmaverify.cost.copy_figures import copy_figures

    _, (function,) = read_kernels(Source("synthesized", text))
    kernel = meaning_of(function, Setting())
    return as_data(price(kernel.events, kernel.world, copy_figures(target)))


def space_of(found: Fewest) -> dict[str, Any]:
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


# ------------------------------------------------------------------------------------------ text


def _claim_text(plan: Plan, transfer: Transfer, text: str, copies: int) -> str:
    """A plan file that claims the move of the kernel."""
    lines = [*plan_head([transfer], plan.axes), "", f"[kernel.{transfer.name}]"]
    for gm in [t for t in (transfer.source, transfer.dest) if t.tier == "gm"]:
        extent = gm.base + gm.element.size * plan.targets[transfer.target].dtypes[transfer.dtype] // 8
        lines.append(f'gm = {{ tensor = "{extent} bytes" }}')
    lines += ['expect = "proved"', f"text = '''\n{text}'''", ""]
    numbers = ", ".join(str(n) for n in range(1, copies + 1))
    lines += [f"[[kernel.{transfer.name}.move]]", f"copies = [{numbers}]", f'dtype = "{transfer.dtype}"']
    lines += [f"source = {tensor_table(transfer.source)}", f"dest = {tensor_table(transfer.dest)}", ""]
    return "\n".join(lines)


def _request_text(plan: Plan, transfer: Transfer) -> str:
    """A plan file with the move alone."""
    return "\n".join(
        [*plan_head([transfer], plan.axes), *transfer_lines(replace(transfer, stream=None), (), {}, 8), ""]
    )
