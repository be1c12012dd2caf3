"""What `derive` shows: the commands of a stream, per engine, and how each entry came about.

Knows: plans, derivation, the document's tables.
Does not know: the terminal, whether the result is right (`check` says).
Law: the printed texts are those a plan file reads again; the same plan gives the same text.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import Any

from dmaverify.errors import InputError, typed
from dmaverify.language.numbers import largest_divisor
from dmaverify.layout.addresses import BYTE
from dmaverify.lower.adapters import derived_access
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.programs import port_rule, space_of, streamed_program
from dmaverify.lower.segments import cases_text, needs_segments, propose_segments
from dmaverify.lower.table_text import aligned, render_merged, render_table, table_json
from dmaverify.lower.tables import fetch_size, merged, table_of
from dmaverify.lower.text import number_text, sequencer_text
from dmaverify.plan.plan import Plan
from dmaverify.program.access import Access
from dmaverify.program.command import Command, Entry, Sequencer, in_step
from dmaverify.program.move import Stream, Transfer
from dmaverify.program.space import unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.move.check import check_transfer
from dmaverify.prove.move.preconditions import require
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Status, Verdict


def commands_of(plan: Plan, name: str) -> tuple[Transfer | Access, tuple[Command, ...], Target]:
    """What the stream of a transfer or access becomes. Raises InputError where there is none."""
    for item in plan.transfers:
        if item.name == name:
            transfer = item.transfer
            target = plan.targets[transfer.target]
            require(transfer, plan.axes, target)
            found = streamed_program(transfer, target.dtypes[transfer.dtype], target)
            if found is None:
                raise InputError(
                    f"`{name}` has no stream to derive from",
                    transfer.span,
                    "add `stream = { time, packet }`; `dmaverify synth` also tries ways through other memories",
                )
            if isinstance(found, Trouble):
                raise InputError(found.message, found.span, found.hint)
            return transfer, found, target
    access = next((a for a in plan.accesses if a.name == name), None)
    if access is None:
        if any(p.name == name for p in plan.programs):
            raise InputError(f"`{name}` is a program: its steps have commands", None, "name a transfer or an access")
        if any(one.name == name for one in plan.kernels):
            raise InputError(f"`{name}` is a kernel: its text has the copies", None, "`dmaverify emit` shows them")
        said = f"`{name}` is a gather or scatter: its list says at run time where each row lies"
        hint = f"`dmaverify cost {typed(f'{plan.path}::{name}')}` prices its rows, `run` shows those of `values`"
        raise InputError(said, None, hint)
    target = plan.targets[access.target]
    require(access, plan.axes, target)
    one = derived_access(access, space_of(target, access.memory.tier), target.dtypes[access.dtype])
    if not isinstance(one, Command):
        raise InputError(one.message, one.span, one.hint)
    return access, (one,), target


def merged_text(text: Sequencer) -> Sequencer:
    """Adjacent entries merged ("Sequencer", Merging Entries); the label of a merged entry is the pair of its parts'."""
    entries = tuple(map(_one_entry, in_step(text.entries, lambda entry: (entry.count, entry.stride))))
    return Sequencer(entries or (Entry(1, 1),), text.packet, text.tier, text.base, text.place)


def _one_entry(group: Sequence[Entry]) -> Entry:
    labels = [e.label for e in group if e.label and e.label != BYTE]
    label = f"[{', '.join(labels)}]" if len(labels) > 1 else "".join(labels)
    return Entry(prod(e.count for e in group), group[-1].stride, label)


def grown_packet(texts: Sequence[Sequencer], packet: int, most: int) -> int:
    """The largest packet that divides the innermost run of every merged side and is at most `most`; `packet` where
    the run of some side does not go on behind it.
    """
    if any(text.entries[-1].stride != 1 or text.entries[-1].count % packet for text in texts):
        return packet
    run = gcd(*(text.entries[-1].count for text in texts))
    return largest_divisor(run, most, packet) or packet


def texts_of(command: Command, target: Target, sides: tuple[str, ...], merge: bool) -> dict[str, str]:
    """Side -> configuration text in bytes, with the place of the base where the command names an engine."""
    out = {}
    made = {side: command.read_text if side == "read" else command.write_text for side in sides}
    texts = {side: merged_text(text) if merge else text for side, text in made.items() if text is not None}
    if merge:
        most = target.limits["packet_max"] if len(sides) == 2 and "packet_max" in target.limits else 32
        packet = grown_packet(list(texts.values()), command.packet, most * 8 // command.unit_bits)
        texts = {side: replace(text, packet=packet) for side, text in texts.items()}
    for side, text in texts.items():
        port = command.read if side == "read" else command.write
        place, base = _place(command, port.tier, port.base, port.chip, port.cluster, target)
        shown = Sequencer(text.entries, text.packet, port.tier, base)
        out[side] = sequencer_text(shown, target.constants, command.unit_bits, place)
    return out


def _place(
    command: Command, tier: str, base: int, chip: int, cluster: int, target: Target
) -> tuple[tuple[int, ...], int]:
    """The leading parts of a printed base; on a tier with dmn parts the base is counted from the engine's own first
    slice.
    """
    if command.engine is None or tier not in target.tiers:
        return (), base
    rule = port_rule(target, tier, command.unit_bits)
    values = {"chip": chip, "cluster": cluster}
    for part, step in rule.steps.items():
        values[part], base = divmod(base, step)
    return tuple(values[part] for part in rule.parts), base


def _sides(item: Transfer | Access) -> tuple[str, ...]:
    if isinstance(item, Access):
        return ("read",) if item.engine == "fetch" else ("write",)
    return ("read", "write")


def _buffers(item: Transfer | Access) -> list[tuple[str, Tensor, Stream]]:
    if isinstance(item, Access):
        return [("memory", item.memory, item.stream)]
    stream = item.stream if item.stream is not None else item.streams[0].stream
    return [("source", item.source, stream), ("dest", item.dest, stream)]


def segments_of(item: Transfer | Access, target: Target) -> tuple[str, Status] | None:
    """For an aggregate that reaches into padding: cases that stop before it, as plan text, and what a check says of
    them.
    """
    if isinstance(item, Access) or item.stream is None or not needs_segments(item.stream):
        return None
    found = propose_segments(item.stream)
    if isinstance(found, Trouble):
        return None
    verdict = check_transfer(replace(item, stream=None, streams=found, given=(), expect=None), target=target)
    return cases_text(found, item.name), verdict.status


def pointed_to_segments(verdict: Verdict, transfer: Transfer, target: Target) -> Verdict:
    """A refuted stream that reaches into padding, with the command that prints the segments which are proved."""
    reaches = {"core/reads-live", "core/in-bounds", "core/writes-once", "core/padding", "core/same-element"}
    first = next((f for f in verdict.errors if f.rule in reaches and not f.hint), None)
    found = segments_of(transfer, target) if first is not None and verdict.path else None
    if first is None or found is None or found[1] is not Status.PROVED:
        return verdict
    entry = typed(f"{verdict.path}::{verdict.name}")
    said = f"`dmaverify derive {entry}` prints streams that stop before the padding (proved)"
    return replace(verdict, findings=tuple(replace(f, hint=said) if f is first else f for f in verdict.findings))


def derivation_text(plan: Plan, name: str, explain: bool, merge: bool) -> str:
    item, commands, target = commands_of(plan, name)
    lines = [_headline(item)]
    if _iterations(item) > 1:
        lines.append(f"  the first of {_iterations(item):,} iterations; the views move the bases")
    for command in commands:
        if command.engine is not None:
            lines.append(f"  engine {command.engine}")
        texts = texts_of(command, target, _sides(item), merge)
        lines += [f"  {side:<5}  {text}" for side, text in texts.items()]
    segments = segments_of(item, target)
    if segments is not None:
        text, status = segments
        lines += ["", f"some engines reach into padding; segmented ({status.value}), in place of the stream:", text]
    if explain:
        for side, tensor, stream in _buffers(item):
            lines += ["", f"{side}: {tensor.tier} {_mappings(tensor)}"]
            if isinstance(item, Transfer) and any(tensor.field(p).size > 1 for p in PLACES[:-1]):
                lines.append(_placed_table(commands[0], "read" if side == "source" else "write", target))
                continue
            table = table_of(tensor.element, stream)
            lines.append(render_table(table))
            if table.problem is None:
                lines += ["", "merged", render_merged(merged(table))]
            if isinstance(item, Access):
                entries = [(row.count, row.stride) for row in table.rows]
                size = fetch_size(entries, stream.packet.size, target.dtypes[item.dtype])
                lines.append(f"largest {item.engine} access: {size} bytes")
    return "\n".join(lines)


def _iterations(item: Transfer | Access) -> int:
    return 1 if item.views is None else item.views.count


def _headline(item: Transfer | Access) -> str:
    if isinstance(item, Access):
        arrow = "->" if item.engine == "fetch" else "<-"
        memory = f"{item.memory.tier} {_mappings(item.memory)}"
        return f"{item.name}   {item.engine} ({item.context})   {memory} {arrow} stream   {item.dtype}"
    source, dest = item.source, item.dest
    return f"{item.name}   {source.tier} {_mappings(source)} -> {dest.tier} {_mappings(dest)}   {item.dtype}"


def _mappings(tensor: Tensor) -> str:
    parts = [f"{p} m![{tensor.field(p)}]" for p in ("chip", "cluster", "slice") if tensor.field(p).size > 1]
    return ", ".join([*parts, f"m![{tensor.element}]" if not parts else f"element m![{tensor.element}]"])


def _placed_table(command: Command, side: str, target: Target) -> str:
    """The entries of a memory with several places, in bytes: what each steps over."""
    text = command.read_text if side == "read" else command.write_text
    assert text is not None
    head, rows = ("Term", "Entry", "Steps over"), []
    tier = target.tiers.get(text.tier or "")
    slices = tier.strides.get("slice", 0) if tier else 0
    for index, entry in enumerate(text.entries):
        stride = number_text(entry.stride, target.constants, command.unit_bits)
        whole = entry.stride * command.unit_bits // 8
        over = "bytes of the packet" if index == len(text.entries) - 1 and entry.stride == 1 else "elements of a slice"
        if slices and whole and whole % slices == 0:
            over = f"slices ({whole // slices} at a time)" if whole > slices else "slices"
        elif not entry.stride:
            over = "nothing (broadcast)"
        rows.append((entry.label, f"{entry.count} : {stride}", over))
    return "\n".join(aligned(head, rows))


def derivation_json(plan: Plan, name: str, merge: bool) -> dict[str, Any]:
    item, commands, target = commands_of(plan, name)
    unit = unit_bits_of(target.dtypes[item.dtype])
    segments = segments_of(item, target)
    return {
        **({} if segments is None else {"segments": {"plan": segments[0], "status": segments[1].value}}),
        "name": name,
        "iterations": _iterations(item),
        "unit_bits": unit,
        "commands": [
            {
                "engine": None if c.engine is None else [c.engine.chip, c.engine.cluster, c.engine.dmn],
                **texts_of(c, target, _sides(item), merge),
                "packet": c.packet,
                "burst": c.burst,
                "loops": [{"label": x.label, "count": x.count, "read": x.read, "write": x.write} for x in c.loops],
                "read_port": {"tier": c.read.tier, "chip": c.read.chip, "cluster": c.read.cluster, "base": c.read.base},
                "write_port": {
                    "tier": c.write.tier,
                    "chip": c.write.chip,
                    "cluster": c.write.cluster,
                    "base": c.write.base,
                },
            }
            for c in commands
        ],
        "tables": {side: table_json(table_of(tensor.element, stream)) for side, tensor, stream in _buffers(item)},
    }
