"""Commands of a machine that moves by copy instructions, as such instructions: the ports that rules of copies speak of.

Knows: rows and loops of a command, how many loops one instruction has, the blocks in which it counts.
Does not know: rules, kernels (`prove.flow.instruction_rules` has the same ports of copies with terms).
Law: neighbouring loops that go on where the one inside ends are one, the rest is rows from the inside out; what is
beyond the loops of one instruction is issued again, from a base of its own. Such a copy asks for no padding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dmaverify.language.expr import Kind
from dmaverify.language.numbers import least, most, same
from dmaverify.layout.addresses import Layout
from dmaverify.program.command import Command, Loop
from dmaverify.program.move import Transfer
from dmaverify.program.space import Space, layout_of, unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.prove.move.feasible import entangled
from dmaverify.prove.move.views import shift_units
from dmaverify.targets.parts import Route
from dmaverify.targets.target import Target
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class CopyFacts:
    """The ports of one scope: copy, or step or reach of one side."""

    scope: str
    values: dict[str, Any]
    what: str
    side: str = ""
    tier: str = ""


def copy_facts(command: Command, route: Route, item_bytes: int) -> Iterator[CopyFacts]:
    """All that rules of copies look at in a command."""
    row, loops = rows_of(command)
    hardware, software = loops[: route.levels], loops[route.levels :]
    counts = [loop.count for loop in hardware] + [1, 1, 1]
    own = hardware[0] if hardware else Loop(1, row, row)
    values = {
        "rows": counts[0], "row_bytes": row, "inner_count": counts[1], "outer_count": counts[2], "padded": 0,
        "left_count": 0, "right_count": 0, "pad_bytes": item_bytes, "pad_zero": 1, "pad_listed": 1, "cache_ctl": 0,
        "stream_id": 0, "read_item_bytes": item_bytes, "write_item_bytes": item_bytes,
    }  # fmt: skip
    if route.block:
        values["row_units"] = _blocks(row, route.block, 0)
        values |= {f"{side}_gap": _blocks(getattr(own, side) - row, route.block, -1) for side in ("read", "write")}
    yield CopyFacts("copy", values, "copy")
    for side, port in (("read", command.read), ("write", command.write)):
        tier, base = port.tier, port.base * command.unit_bits // 8
        for number, loop in enumerate(hardware):
            step = {"count": loop.count, "stride_bytes": getattr(loop, side), "row_bytes": row, "padded": 0}
            yield CopyFacts("step", step, f"{side} stride of {loop.label or f'loop {number} from inside'}", side, tier)
        far = [getattr(loop, side) * (loop.count - 1) for loop in loops]
        ends = {
            "low_bytes": base + sum(least([0, one]) for one in far),
            "end_bytes": base + row + sum(most([0, one]) for one in far),
        }
        for start in (base, *(base + getattr(loop, side) for loop in software)):
            yield CopyFacts("reach", {"base_bytes": start, **ends}, side, side, tier)


def left_behind(
    transfer: Transfer, commands: Sequence[Command], target: Target, space: Space, dtype_bits: int
) -> list[str]:
    """What nobody may need behind the rows of commands, in words (`left_behind_rows`)."""
    rows = (rows_of(command)[0] for command in commands)
    return left_behind_rows(transfer, rows, target, space, dtype_bits)


def left_behind_rows(
    transfer: Transfer, rows: Iterable[Any], target: Target, space: Space, dtype_bits: int
) -> list[str]:
    """What nobody may need, in words: what lies behind a row that fills no whole number of blocks, up to the next one,
    where that is not padding of the row itself which may hold anything. `rows` in bytes.
    """
    dest = transfer.dest
    route = target.routes.get((transfer.source.tier, dest.tier))
    if route is None or not route.fills:
        return []
    if all(same(row % route.fills, 0) or _padded(row, route.fills, dest, space, dtype_bits) for row in rows):
        return []
    said = f"nobody needs what {dest.tier} holds behind a row, up to the next multiple of {route.fills} bytes"
    return [f"{said}: `{transfer.name}` leaves it unknown"]


def _padded(row: Any, fills: int, dest: Tensor, space: Space, dtype_bits: int) -> bool:
    """Whether the rest of the last block of a row is Top padding of the digit that the row ends in."""
    layout, opaque = layout_of(dest, space, dtype_bits)
    unit = unit_bits_of(dtype_bits)
    for index, digit in enumerate(layout.digits):
        if not opaque and same(digit.step * digit.live * unit // 8, row) and not same(digit.live, digit.slots):
            values = tuple(digit.live if i == index else 0 for i in range(len(layout.digits)))
            room = digit.step * digit.slots * unit // 8
            return layout.kind_at(values) is Kind.TOP and bool(-(-row // fills) * fills <= room)
    return False


def span_facts(layout: Layout, transfer: Transfer, side: str, target: Target) -> CopyFacts:
    """How far any copies of a side reach at least, in all iterations: its live cells; where padding depends on several
    digits, those at which all digits but one are 0.
    """
    bits, views = unit_bits_of(target.dtypes[transfer.dtype]), transfer.views
    low = layout.origin
    ends = [(i, d) for i, d in enumerate(layout.digits) if i not in layout.beyond_index]
    if entangled(layout):
        zero = (0,) * len(layout.digits)
        last = [(d, (*zero[:i], d.live - 1, *zero[i + 1 :])) for i, d in ends]
        high = low + max([(d.live - 1) * d.step for d, values in last if layout.kind_at(values) is None], default=0)
    else:
        high = low + sum((d.live - 1) * d.step for _, d in ends)
    if views is not None:
        moved = shift_units(views.source if side == "read" else views.dest, views, target, bits)
        low, high = low + moved.least(views.turns), high + moved.most(views.turns)
    tier = (transfer.source if side == "read" else transfer.dest).tier
    bounds = {"low_bytes": low * bits // 8, "end_bytes": (high + 1) * bits // 8}
    return CopyFacts("reach", bounds, "any copy", side, tier)


def first_facts(layout: Layout, transfer: Transfer, side: str, target: Target) -> CopyFacts:
    """Where the first live cell of a side lies, with which some row of any copies begins."""
    tensor = transfer.source if side == "read" else transfer.dest
    first = layout.origin * unit_bits_of(target.dtypes[transfer.dtype]) // 8
    return CopyFacts("reach", {"base_bytes": first}, "any copy", side, tensor.tier)


def told_of_first(target: Target, limits: Mapping[str, int]) -> set[str]:
    """The rules that such a first cell decides."""
    own = [rule for rule in target.rules.values() if rule.scope == "reach" and "base_bytes" in rule.ports]
    return {rule.id for rule in own if set(rule.ports) <= {"base_bytes", *limits}}


def told_of_span(target: Target, limits: Mapping[str, int]) -> set[str]:
    """The rules that such a span decides."""
    known = {"low_bytes", "end_bytes", *limits}
    return {rule.id for rule in target.rules.values() if rule.scope == "reach" and set(rule.ports) <= known}


def rows_of(command: Command) -> tuple[Any, list[Loop]]:
    """Bytes of a row, and the loops around it from the inside out, in bytes."""
    one, bits = command.normal, command.unit_bits
    loops = [Loop(x.count, x.read * bits // 8, x.write * bits // 8, x.label) for x in reversed(one.loops)]
    return one.burst * bits // 8, loops


def _blocks(size: Any, block: int, none: int) -> Any:
    """A size in blocks; where it is no whole number of them, one that no field holds."""
    return size // block if same(size % block, 0) else none
