"""What a copy instruction of Ascend A5 touches, byte by byte, under each reading of the contested points.

Knows: blocks of 32 bytes in UB, padding, tails, compact rows, over-read.
Does not know: text, proofs, whether any of it is allowed.
Law: the touches of a copy name every byte that it reads or changes, each once for each row; what no text states is
`unknown`, never assumed.

Source: "DMA Copy" (burst, stride, pad model; C code), PTO v0.6 and vendor text of 2026-09, AscendC aligned copy; the
readings are those of encodings/pto/target.toml.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.language.affine import ONE, ZERO, Lin, World
from dmaverify.machines.pto.limits import block_bytes
from dmaverify.program.instructions import Copy, CopyTouch
from dmaverify.targets.target import Target

ORDERED_PIPES = ("V", "S")
"""Pipes whose own work is done in order, also on the same bytes."""


def reading_of(readings: Mapping[str, str], name: str, target: Target) -> str:
    return readings.get(name, target.readings[name][0])


def touches_of(copy: Copy, world: World, readings: Mapping[str, str], target: Target) -> tuple[CopyTouch, ...]:
    """Every byte that a copy reads or changes."""
    block = block_bytes(target)
    reads = tuple((step.count, step.read) for step in copy.steps)
    writes = tuple((step.count, step.write) for step in copy.steps)
    if copy.kind == "load":
        chosen = {name: reading_of(readings, name, target) for name in target.knobs}
        return tuple(_load(copy, world, chosen, block, reads, writes))
    out = [CopyTouch("read", copy.read, ZERO, copy.row, reads)]
    if copy.kind == "store":
        surplus = world.round_up(copy.row, block) - copy.row
        out += [CopyTouch("surplus", copy.read, copy.row, surplus, reads)] if surplus != ZERO else []
    return (*out, CopyTouch("data", copy.write, ZERO, copy.row, writes))


def _load(
    copy: Copy,
    world: World,
    readings: Mapping[str, str],
    block: int,
    reads: tuple[tuple[Lin, Lin], ...],
    writes: tuple[tuple[Lin, Lin], ...],
) -> list[CopyTouch]:
    row, fill = copy.row, copy.fill
    out = [CopyTouch("read", copy.read, ZERO, row, reads)]
    if readings["over-read"] == "block":
        beyond = world.round_up(row, block) - row
        out += [CopyTouch("surplus", copy.read, row, beyond, reads)] if beyond != ZERO else []
    if fill is None:
        out.append(CopyTouch("data", copy.write, ZERO, row, writes))
        if readings["tail"] == "written":
            out += _tail(copy, world, block, writes)
        return out
    unit = copy.write.item_bytes if readings["pad-unit"] == "elements" else 1
    left, right = fill.left * unit, fill.right * unit
    start = left if readings["left-pad"] == "shift" else ZERO
    if readings["left-pad"] == "behind":
        right = right + left
    end = world.round_up(start + row + right, block)
    if readings["pad-extent"] == "gap" and copy.steps:
        end = world.least(end, copy.steps[0].write, most=True)
    pattern = pattern_of(fill.value, copy.write.item_bytes, readings)
    out.append(CopyTouch("data", copy.write, start, row, writes))
    if start != ZERO:
        out.append(CopyTouch("fill", copy.write, ZERO, start, writes, pattern))
    behind = end - start - row
    if behind != ZERO:
        out.append(CopyTouch("fill", copy.write, start + row, behind, writes, pattern))
    return out


def pattern_of(value: int | None, item_bytes: int, readings: Mapping[str, str]) -> bytes | None:
    """The bytes that padding repeats from the start of a row, as few as do; None where the value is not known."""
    if value is None:
        return None
    if readings["pad-pattern"] == "byte":
        return bytes([value & 0xFF])
    raw = (value & ((1 << (8 * item_bytes)) - 1)).to_bytes(item_bytes, "little")
    return raw[:1] if len(set(raw)) == 1 else raw


def _tail(copy: Copy, world: World, block: int, writes: tuple[tuple[Lin, Lin], ...]) -> list[CopyTouch]:
    """The rest of the last block of a row without padding; of compact rows only that behind the last one."""
    rest = world.round_up(copy.row, block) - copy.row
    if rest == ZERO:
        return []
    if _is_compact(copy, block):
        count, stride = writes[0]
        last = world.times(count - ONE, stride) + copy.row
        length = world.round_up(last, block) - last
        return [CopyTouch("unknown", copy.write, last, length, writes[1:])] if length != ZERO else []
    return [CopyTouch("unknown", copy.write, copy.row, rest, writes)]


def _is_compact(copy: Copy, block: int) -> bool:
    """Rows packed at a pitch of exactly their length, which is no multiple of a block."""
    if copy.fill is not None or not copy.steps or copy.steps[0].count == ONE:
        return False
    pitch = copy.steps[0].write if copy.kind == "load" else copy.steps[0].read
    return pitch == copy.row and not (pitch.is_const and pitch.const % block == 0)
