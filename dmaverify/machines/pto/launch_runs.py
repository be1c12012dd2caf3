"""Two cores of one launch, run one after the other's text: whether the order of the two shows in global memory.

Knows: accesses that the proof says meet, with values; what a run leaves of where it came from.
Does not know: how anything is proved, which order a machine takes.
Law: found is what two orders decide: a byte that both cores write, where each leaves something else and neither reads
what the other writes; or a byte that one core reads and the other surely changes. Accumulated stores and whatever a run
does not follow (what waits for another core, operations that nobody knows) give nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto.execute_contents import ContentRun
from dmaverify.machines.pto.execute_terms import Terms, told_origin
from dmaverify.machines.pto.ops import KernelFunction
from dmaverify.machines.pto.replay import MOST_BYTES, UNSTATED
from dmaverify.machines.pto.running import place_of
from dmaverify.machines.pto.values import Kernel
from dmaverify.plan.notes import Notes
from dmaverify.prove.flow.order.launch import CoresMeeting
from dmaverify.values import dataclass
from dmaverify.verdict import Finding, Label, Severity

RULE = "core/cores-apart"
MOST_RUN = 8  # meetings of which both cores are run
MOST_ASKED = 1 << 10  # bytes that both touch, of which it is asked whether they are surely others
MOST_STATEMENTS = 1 << 12  # that one of them may have


@dataclass
class _Core:
    """What one core did: of each tensor what it holds then, which bytes it read, wrote, and added to."""

    left: Mapping[str, np.ndarray]
    begun: Mapping[str, np.ndarray]
    reads: Mapping[str, np.ndarray]
    writes: Mapping[str, np.ndarray]
    adds: Mapping[str, np.ndarray]


def torn(function: KernelFunction, kernel: Kernel, notes: Notes, meetings: Sequence[CoresMeeting]) -> list[Finding]:
    """The first byte of which the order of two cores decides, as a finding; none where no run shows one."""
    alone = not (kernel.cube or kernel.dropped or kernel.lost or kernel.fences or notes.core)
    unread = any(r.kind == "unresolved" for r in kernel.remarks)
    shown = [one for one in meetings if one.values is not None][:MOST_RUN]
    for one in shown if alone and not unread else ():
        if (finding := _shown(function, kernel, notes, one)) is not None:
            return [finding]
    return []


def _shown(function: KernelFunction, kernel: Kernel, notes: Notes, meeting: CoresMeeting) -> Finding | None:
    """What the runs of two cores show where the proof says that they meet."""
    both = _numbers(kernel, notes, meeting)
    pointers = {name.lstrip("%"): kind.space for name, kind, _ in function.args if kind.kind == "pointer"}
    terms, tensors = Terms(), list(pointers)
    room = MOST_BYTES // max(1, len(tensors))
    stated = {name: notes.extents.get(name) for name in tensors}
    sizes = {name: min(size if isinstance(size, int) else UNSTATED, room) for name, size in stated.items()}
    cores = [_run(function, sizes, numbers, terms, notes) for numbers in both]
    if cores[0] is None or cores[1] is None:
        return None
    found = _first(cores[0], cores[1], [name for name in tensors if pointers[name] == "gm"], terms)
    if found is None:
        return None
    name, byte, kind = found
    mine = {f"%{n}": v for n, v in both[0].items() if v == both[1][n]}
    numbers = [", ".join(f"%{n} = {v:,}" for n, v in one.items() if both[0][n] != both[1][n]) for one in both]
    where = ", ".join(f"{n} = {v:,}" for n, v in mine.items())
    left = [told_origin(int(core.left[name][byte]), tensors) for core in cores if core is not None]
    said = {
        "waw": f"both write byte {byte:,} of %{name}: the first leaves {left[0]}, the second {left[1]}",
        "raw": f"the second reads byte {byte:,} of %{name}, which the first overwrites",
        "war": f"the first reads byte {byte:,} of %{name}, which the second overwrites",
    }[kind]
    message = f"of two cores, {numbers[0]} and {numbers[1]}, {said}, and nothing orders them"
    message += f", where {where}" if where else ""
    first, second = meeting.spans
    labels = () if first == second else (Label(first, "the first core touches them here"),)
    witness = {**mine, "cores": " and ".join(numbers), "byte": byte}
    hint = "give each core a part of its own, by its number; or let the stores accumulate"
    return Finding(RULE, Severity.ERROR, message, "", second, witness=witness, hint=hint, labels=labels)


def _numbers(kernel: Kernel, notes: Notes, meeting: CoresMeeting) -> list[dict[str, int]]:
    """What both cores are given, by the names of the text."""
    values = meeting.values or {}
    out: list[dict[str, int]] = [{name: low for name, (low, _) in notes.ranges.items()} for _ in range(2)]
    for symbol in list(kernel.world.symbols.values()):
        if symbol.definition or not symbol.shown.startswith("%") or (symbol.side and symbol.name not in kernel.cores):
            continue
        for core, name in enumerate((symbol.name, meeting.theirs.get(symbol.name, symbol.name))):
            least = out[core].get(symbol.shown.lstrip("%"), symbol.low or 0)
            out[core][symbol.shown.lstrip("%")] = values.get(name, least)
    return out


def _run(
    function: KernelFunction, sizes: Mapping[str, int], numbers: Mapping[str, int], terms: Terms, notes: Notes
) -> _Core | None:
    """A run of one core by itself; None where it is not followed, or not right."""
    try:
        run = ContentRun(function, sizes, numbers, {}, 0, ())
        done, left = run.follow(terms, [*sizes], (), MOST_STATEMENTS)
    except Beyond:
        return None
    if done.found or not done.whole:
        return None
    touched = {way: {name: np.zeros(size, bool) for name, size in sizes.items()} for way in ("r", "w", "a")}
    places = {place_of(name): name for name in sizes}
    for event in done.events:
        for one in event.touched:
            if (name := places.get(one.tier)) is not None:
                way = "r" if not one.writes else "w" if event.atomic == ("", "", 0) else "a"
                touched[way][name][one.sure] = True
    begun = {name: run.begun[place_of(name)] for name in sizes}
    return _Core(left, begun, touched["r"], touched["w"], touched["a"])


def _first(one: _Core, two: _Core, tensors: Sequence[str], terms: Terms) -> tuple[str, int, str] | None:
    """The first byte of which the order of two runs decides, in which tensor, and how."""
    crossed = False
    for kind, writer, reader in (("raw", one, two), ("war", two, one)):
        for name in tensors:
            met = np.flatnonzero(writer.writes[name] & reader.reads[name])
            crossed |= bool(len(met)) or bool((writer.adds[name] & reader.reads[name]).any())
            for byte in met[:MOST_ASKED].tolist():
                if terms.apart(int(writer.left[name][byte]), int(writer.begun[name][byte])):
                    return name, byte, kind
    for name in tensors if not crossed else ():
        adds = one.adds[name] | two.adds[name]
        for byte in np.flatnonzero(one.writes[name] & two.writes[name] & ~adds)[:MOST_ASKED].tolist():
            if terms.apart(int(one.left[name][byte]), int(two.left[name][byte])):
                return name, byte, "waw"
    return None
