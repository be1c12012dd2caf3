"""A read and a write sequencer as one command.

Knows: how two lists of counts become common loops, where a printed base lies, which texts make no sense together.
Does not know: mappings, solvers, limits of a machine.
Law: the loops of the command walk, in order, exactly what each sequencer walks by itself; where the counts have no
common refinement, not even after merging neighbours, there is no command, only `Trouble`es that name the entries.

Source: "DMA Engine", Implementation Details (read and write amounts must match) and DMA Command Syntax; "Sequencer",
Merging Entries; the plan file format (Configuration text).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.errors import Span
from dmaverify.language.numbers import gcd, moves, same
from dmaverify.program.command import Command, Engine, Entry, GivenCommand, Loop, Port, Sequencer
from dmaverify.program.tensor import Tensor
from dmaverify.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a stream, or two sequencers, make no command: a finding of core/well-formed. `axis` and `cuts` name the two
    cuts of a stream that do not fit.
    """

    message: str
    span: Span | None = None
    hint: str = ""
    axis: str = ""
    cuts: tuple[int, ...] = ()
    other: Span | None = None
    other_text: str = ""


@dataclass(frozen=True, slots=True)
class PortRule:
    """How a tier's printed base is read: names of the leading parts, and the units that one step of a part adds."""

    parts: tuple[str, ...]
    steps: Mapping[str, int]


def pair(
    given: GivenCommand, source: Tensor, dest: Tensor, rules: tuple[PortRule, PortRule], unit_bits: int
) -> Command | list[Trouble]:
    problems = [*_check(given.read, "read"), *_check(given.write, "write")]
    if problems:
        return problems
    if given.read.packet != given.write.packet:
        problems.append(
            Trouble(
                f"the read packet is {given.read.packet}, the write packet {given.write.packet}; "
                "one packet crosses both",
                given.write.packet_span or given.write.span,
                "write the same packet on both sides",
                other=given.read.packet_span,
                other_text=f"reads {given.read.packet} at once",
            )
        )
    if given.read.amount != given.write.amount:
        problems.append(_amounts(given.read, given.write))
    if problems:
        return problems
    loops = _common_loops(given.read.entries, given.write.entries)
    if isinstance(loops, Trouble):
        merged = _common_loops(_merged(given.read.entries), _merged(given.write.entries))
        if isinstance(merged, Trouble):
            return [loops]
        loops = merged
    ports = tuple(
        _port(seq, tensor, rule, given.engine, unit_bits)
        for seq, tensor, rule in zip((given.read, given.write), (source, dest), rules, strict=True)
    )
    outer, burst = split_burst(loops, given.read.packet)
    read, write = given.read, given.write
    return Command(ports[0], ports[1], outer, burst, read.packet, given.engine, unit_bits, read, write, given.span)


def _check(seq: Sequencer, side: str) -> list[Trouble]:
    out = []
    for index, entry in enumerate(seq.entries):
        if entry.count < 1:
            out.append(
                Trouble(
                    f"{side} entry {index} `{entry}` runs {entry.count} times",
                    entry.count_span or entry.span,
                    "a loop runs at least once",
                )
            )
    return out


def _amounts(read: Sequencer, write: Sequencer) -> Trouble:
    """Names the first entry whose counts differ, when the two nests have the same number of entries."""
    span, other, detail = write.span, read.span, ""
    if len(read.entries) == len(write.entries):
        for index, (a, b) in enumerate(zip(read.entries, write.entries, strict=True)):
            if a.count != b.count:
                span, other = b.count_span or b.span, a.count_span or a.span
                detail = f": entry {index} runs {a.count} times in `{a}` and {b.count} times in `{b}`"
                break
    return Trouble(
        f"the read moves {read.amount} units, the write {write.amount}{detail}",
        span,
        "one loop nest has a read and a write stride per loop: give both sides the same counts",
        other=other,
        other_text="read amount",
    )


def _common_loops(read: Sequence[Entry], write: Sequence[Entry]) -> tuple[Loop, ...] | Trouble:
    """Innermost first, cut the longer of the two entries at the shorter; a cut must divide."""
    loops: list[Loop] = []
    a, b = list(read), list(write)
    while a and b:
        x, y = a.pop(), b.pop()
        count = min(x.count, y.count)
        if not moves(x.count) and moves(y.count):
            b.append(y)
            continue
        if not moves(y.count) and moves(x.count):
            a.append(x)
            continue
        if x.count % count or y.count % count:
            return Trouble(
                f"`{x}` and `{y}` have no common loops: neither {x.count} nor {y.count} divides the other",
                y.span,
                "order and cut the loops alike on both sides",
                other=x.span,
                other_text="read entry",
            )
        label = x.label if x.label == y.label or not y.label else (y.label if not x.label else f"{x.label}|{y.label}")
        loops.append(Loop(count, x.stride, y.stride, label, x.span, y.span))
        for entry, rest in ((x, a), (y, b)):
            if entry.count > count:
                rest.append(replace(entry, count=entry.count // count, stride=entry.stride * count))
    return tuple(loop for loop in reversed(loops) if moves(loop.count))


def _merged(entries: Sequence[Entry]) -> list[Entry]:
    """Neighbours that step as one, as one; the spans are those of the inner entry."""
    out: list[Entry] = []
    for entry in reversed([e for e in entries if moves(e.count)]):
        if out and same(entry.stride, out[-1].count * out[-1].stride):
            label = ", ".join(name for name in (entry.label, out[-1].label) if name)
            out[-1] = replace(out[-1], count=entry.count * out[-1].count, label=label)
        else:
            out.append(entry)
    return out[::-1]


def _port(seq: Sequencer, tensor: Tensor, rule: PortRule, engine: Engine | None, unit_bits: int) -> Port:
    """Leading parts left out of a printed base come from the engine; no base at all is the tensor's own."""
    named: dict[str, int] = {}
    if engine is not None:
        named = {"chip": engine.chip, "cluster": engine.cluster, "dmn": engine.dmn}
    if seq.place:
        named.update(zip(rule.parts[len(rule.parts) - len(seq.place) :], seq.place, strict=True))
    base = seq.base
    if base is None:
        base = tensor.base * 8 // unit_bits
        if engine is None:
            named = {"chip": tensor.at_chip, "cluster": tensor.at_cluster}
        named["slice"] = tensor.at_slice
    chip = named.get("chip", 0) if "chip" in rule.parts else 0
    cluster = named.get("cluster", 0) if "cluster" in rule.parts else 0
    for part, step in rule.steps.items():
        base += named.get(part, 0) * step
    return Port(tensor.tier, base, chip, cluster)


def split_burst(loops: Sequence[Loop], packet: int) -> tuple[tuple[Loop, ...], int]:
    """Takes the innermost run that is contiguous on both sides off the loops; at most a packet of it is the burst."""
    run, inside = 1, len(loops)
    while inside > 0 and same(loops[inside - 1].read, run) and same(loops[inside - 1].write, run):
        run *= loops[inside - 1].count
        inside -= 1
    burst = packet if run % packet == 0 else gcd(run, packet)
    outer = list(loops[:inside])
    if run > burst:
        last = loops[inside]
        outer.append(Loop(run // burst, burst, burst, last.label, last.read_span, last.write_span))
    return tuple(outer), burst
