"""A kernel's transfers as the text of a plan file.

Knows: the keys of a plan, how names are quoted, how axes of one name and different sizes are kept apart.
Does not know: Rust, how a plan is judged.
Law: the text can be read again and gives the transfers it was made of; what could not be resolved stays in it as a
comment, so that nothing is lost, and so does what one transfer of many turns or rows stands for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from dmaverify.errors import InputError
from dmaverify.language.expr import axes_of
from dmaverify.lower.plan_text import tensor_table, toml_key
from dmaverify.machines.rngd.rust.plans import KernelPlan, SiteTransfers, by_index, renamed
from dmaverify.program.move import Transfer
from dmaverify.program.tensor import Tensor
from dmaverify.values import replace


def extracted(plan: KernelPlan) -> str:
    """The plan file of a kernel. Raises InputError where not a single transfer was resolved."""
    if not plan.transfers:
        count = len(plan.sites)
        what = f"none of its {count} transfers could be resolved" if count else "it has no transfer"
        raise InputError(f"{plan.path}: {what}", None, "`dmaverify check` says why")
    names: dict[tuple[str, int], str] = {}
    tables = [line for one in plan.sites for line in _site(plan, one, names)]
    axes = [f"{toml_key(name)} = {size}" for (_, size), name in names.items()]
    target = next(iter(plan.targets))
    head = [f"# The transfers of {plan.path}, as `dmaverify extract` found them.", "schema = 1", f'target = "{target}"']
    return "\n".join([*head, "", "[axes]", *axes, "", *tables])


def _site(plan: KernelPlan, one: SiteTransfers, names: dict[tuple[str, int], str]) -> Iterator[str]:
    where = f"{plan.path}:{one.site.span.line}"
    if not one.names:
        why = "; ".join([*(r.reason for r in one.site.reasons), *one.missing]) or "nothing leads to it"
        yield f"# {where}: `{one.site.method}` could not be resolved: {' '.join(why.split())}"
        yield ""
    known = {item.name: item for item in plan.transfers}
    for name in one.names:
        item = known[name]
        generics = plan.moves[name].generics
        yield f"# {where}: `{one.site.method}`" + (f" with {generics}" if generics else "")
        yield from (f"# {said}" for said in _stands_for(plan, name))
        for problem in item.problems:
            yield f"# wrong in the kernel: {problem.message}"
        yield f"[transfer.{toml_key(name)}]"
        yield from transfer_lines_of(item.transfer, names)
        yield ""


def _stands_for(plan: KernelPlan, name: str) -> Iterator[str]:
    """What a transfer leaves out of the move that it stands for: the other turns of its loops, the other rows."""
    move, by = plan.moves[name], by_index(plan, name)
    if by:
        yield f"one row of this {by}: a plan's [gather] and [scatter] tables hold all that an index names"
    for side, window in (("source", move.source.window), ("destination", move.dest.window)):
        if window.open:
            yield f"its {side} starts where the running program says: one start stands for all"
            continue
        for place, at in window.at.items():
            if at.single is None:
                starts = f"{place} {at.low:,} to {at.high:,} in steps of {at.step:,}"
                kept = "one start, aligned as the least of them," if place == "element" else "the first"
                yield f"its {side} starts in turn at {starts}: {kept} stands for all"


def transfer_lines_of(move: Transfer, names: dict[tuple[str, int], str]) -> Iterator[str]:
    """The keys of a transfer's table; axes get names that `names` keeps apart by their sizes."""
    own: dict[str, str] = {}
    for tensor in (move.source, move.dest):
        for axis, size in axes_of(tensor.mapping).items():
            own[axis] = _axis(axis, size, names)
    yield f"dtype  = {json.dumps(move.dtype)}"
    yield f"source = {_tensor(move.source, own)}"
    yield f"dest   = {_tensor(move.dest, own)}"


def _axis(axis: str, size: int, names: dict[tuple[str, int], str]) -> str:
    """The axis under a name that no axis of another size has."""
    if (axis, size) not in names:
        name, number = axis, 2
        while name in names.values():
            name, number = f"{axis}_{number}", number + 1
        names[axis, size] = name
    return names[axis, size]


def _tensor(tensor: Tensor, names: dict[str, str]) -> str:
    places = ("element", "chip", "cluster", "slice")
    element, chip, cluster, slice_ = (renamed(tensor.field(place), names) for place in places)
    return tensor_table(replace(tensor, element=element, chip=chip, cluster=cluster, slice=slice_))
