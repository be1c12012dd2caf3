"""What a verdict on a kernel takes for granted of tensors, cores of a launch and flags that nobody states.

Knows: the copies and events of a kernel, its notes. Does not know: findings, readings, how a verdict is made.
Law: what is proved is no condition; what neither the text nor a note says is one, and names its lines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from dmaverify.machines.pto.values import Kernel
from dmaverify.plan.notes import Notes
from dmaverify.program.instructions import Release
from dmaverify.program.rewrite import every, touches_in
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.kernels import MOST_LINES
from dmaverify.prove.flow.order.launch import CoresMeeting, meeting_cores
from dmaverify.prove.flow.order.scope_order import unbarred


def separate(kernel: Kernel, extents: Collection[str], *, stated: bool) -> Iterator[str]:
    """What is taken for granted of memories that differ only by the argument that points into them: who states the
    extents of tensors states tensors of their own.
    """
    touches = list(touches_in(kernel.events))
    for space, said in (
        ("gm", "GM tensors behind different arguments do not overlap"),
        ("ub", "a UB buffer behind an argument overlaps no other buffer"),
    ):
        mine = {(touch.place.root, touch.writes) for touch in touches if touch.place.space == space}
        roots = {root for root, _ in mine}
        known = space == "gm" and roots <= set(extents)
        if len(roots) > 1 and any(written for _, written in mine) and known == stated:
            yield said


def meeting(kernel: Kernel, rlimit: int) -> list[CoresMeeting]:
    """Accesses of global memory that are not shown to be apart on two cores of one launch."""
    return meeting_cores(kernel.events, Asker(kernel.world, rlimit // 10), kernel.cores, kernel.same, "gm")


def launched(meetings: Sequence[CoresMeeting]) -> list[str]:
    """What is taken for granted of cores that run the kernel beside each other."""
    pairs = dict.fromkeys(one.lines for one in meetings)
    lines = [f"lines {a} and {b}" if a != b else f"line {a}" for a, b in pairs]
    return [f"no two cores of a launch touch one byte of GM that one of them writes: {_few(lines)}"] if lines else []


def barred(kernel: Kernel, rlimit: int) -> list[str]:
    """What is taken for granted of vector accesses of one scope that share bytes."""
    pairs = unbarred(kernel.scopes, Asker(kernel.world, rlimit // 10))
    if pairs is None:
        return [f"{said}: a scope is too long to say which" for said in _ORDERED.values()]
    lines = {kind: [f"line {b} behind line {a}" for one, a, b in pairs if one == kind] for kind in _ORDERED}
    return [f"{said}: {_few(lines[kind])}" for kind, said in _ORDERED.items() if lines[kind]]


def _few(lines: Sequence[str]) -> str:
    return ", ".join(lines if len(lines) < MOST_LINES else [*lines[:MOST_LINES], "..."])


_ORDERED = {
    "raw": 'vector loads wait for the stores of their scope before them, with no `pto.mem_bar "VST_VLD"` between',
    "war": 'vector stores wait for the loads of their scope before them, with no `pto.mem_bar "VLD_VST"` between',
    "waw": 'vector stores wait for the stores of their scope before them, with no `pto.mem_bar "VST_VST"` between',
}


def unset(kernel: Kernel, notes: Notes) -> Iterator[str]:
    """Flags that the other core is said to wait for, and that nothing here sets: it would never go on."""
    sets = {e.flag for e in every(kernel.events) if isinstance(e, Release)}
    for flag in dict.fromkeys(shared.after for shared in notes.core):
        if flag is not None and not sets & {flag, None}:
            yield f"the other core goes on although nothing here sets flag {flag}"
