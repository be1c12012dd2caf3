"""Moves through views, for all iterations of their loops at once.

Knows: how a command moves with its views, where windows may look, which iterations show every multiple.
Does not know: the obligations of a single move (`core`), what several iterations make together (`tiles`).
Law: the obligations speak of addresses relative to the places of the two tensors, and both move by the same sums as
the command: what holds of the first iteration holds of all (proofs/view-shift.smt2). What does not move along is judged
here for all of them: that a window stays on its tensor (an interval), that no read leaves the memory behind a shifted
hole (walks apart), that both sides look at the same elements (equal sums), every multiple that a rule asks for, and
every bound of addresses (`targets/telling.py`: first steps and ends of counters tell of all). What else a rule asks is
asked at every iteration, or is open.

Source: furiosa-opt v0.6.0 (views), docs/machines/rngd.md 7.2 and 9.

Relied on (proofs/): view-shift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dmaverify.lower.adapters import STREAM
from dmaverify.lower.programs import space_of
from dmaverify.program.command import Command, Loop
from dmaverify.program.space import unit_bits_of
from dmaverify.program.tensor import PLACES
from dmaverify.program.turns import Affine, Turn, every, iterations, loop_values
from dmaverify.program.views import TileWindow, View, Views, corners
from dmaverify.prove.meet import Walk, found_meeting, shared
from dmaverify.prove.smt import Session
from dmaverify.targets.modules import module_name
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Finding, Severity

MOST_ITERATIONS = 64  # of views, for rules of a machine's own facts


# ---------------------------------------------------------------- commands that move


def shift_units(view: View | None, views: Views, target: Target, unit_bits: int) -> Affine:
    """How far the local addresses of a side move, in units: bytes and slices; chips and clusters never turn."""
    if view is None:
        return Affine(0, (0,) * len(views.turns))
    space = space_of(target, view.base.tier)
    amount = view.shift[3].times(8 // unit_bits)
    if "slice" in space.places:
        amount = amount.plus(view.shift[2].times(space.stride("slice", unit_bits)))
    return Affine(0, amount.steps)


def _shifts(views: Views, target: Target, unit_bits: int) -> tuple[Affine, Affine]:
    return (
        shift_units(views.source, views, target, unit_bits),
        shift_units(views.dest, views, target, unit_bits),
    )


def turns_in_units(views: Views, target: Target, unit_bits: int) -> list[tuple[int, int, int]]:
    """Of each turn: how often, and what it adds to the read and the write address, in units."""
    read, write = _shifts(views, target, unit_bits)
    return [(turn.count, r, w) for turn, r, w in zip(views.turns, read.steps, write.steps, strict=True)]


def moved_commands(
    commands: Sequence[Command], views: Views, counters: Sequence[int], target: Target
) -> tuple[Command, ...]:
    """The commands of the iteration at `counters`."""
    out = []
    for command in commands:
        read, write = (a.at(counters) for a in _shifts(views, target, command.unit_bits))
        out.append(command.moved_to(command.read.base + read, command.write.base + write))
    return tuple(out)


def telling_iterations(views: Views, target: Target, most: int = 0) -> list[tuple[int, ...]]:
    """Iterations besides the first that show what rules ask: every multiple, and the ends of both sides. Where the
    machine computes facts of its own, or asks of others what is neither multiple nor bound, every one of up to `most`.
    """
    if 0 < iterations(views.turns) <= most and (
        module_name(target) is not None or not all(_told(rule, target) for rule in _errors(target))
    ):
        return list(every(views.turns))[1:]
    shifts = _shifts(views, target, 8)
    found = dict.fromkeys(corners(views))
    found |= dict.fromkeys(one.extreme(views.turns, most=end) for one in shifts for end in (False, True))
    return list(found)[1:]


def _told(rule: Rule, target: Target) -> bool:
    from dmaverify.targets.telling import told_by_ends

    return told_by_ends(rule, target)


def _errors(target: Target) -> list[Rule]:
    return [rule for rule in target.rules.values() if rule.severity is Severity.ERROR]


def untold(held: Sequence[tuple[Rule, tuple[int, ...], str]], target: Target, readings: Mapping[str, str]) -> list[str]:
    """Rules that held at some iterations, which do not stand for the others: errors of a scope whose facts are neither
    sums nor divisors of addresses, or that ask neither multiples nor bounds of these.
    """
    rules = {rule.id: rule for rule, _, _ in held if not target.scopes[rule.scope].sums or not _told(rule, target)}
    return [name for name, rule in rules.items() if rule.severity_under(readings) is Severity.ERROR]


def looped(command: Command, views: Views, target: Target) -> Command:
    """The command of all iterations: the turns as its outermost loops."""
    steps = turns_in_units(views, target, command.unit_bits)
    turns = tuple(Loop(*step, str(turn)) for step, turn in zip(steps, views.turns, strict=True))
    return replace(command, loops=(*turns, *command.loops))


def at_iteration(turns: Sequence[Turn], counters: Sequence[int]) -> str:
    """`at t = 3, u = 0`, or nothing where there is no loop."""
    values = loop_values(turns, counters)
    return " at " + ", ".join(f"{name} = {value}" for name, value in values.items()) if values else ""


# ---------------------------------------------------------------- where views look


def view_findings(
    views: Views, commands: Sequence[Command], target: Target, dtype_bits: int, session: Session, undecided: list[str]
) -> Iterator[Finding]:
    """Everything that is wrong with the places of the views, in some iteration; what could not be decided is added."""
    out = list(place_findings(views))
    yield from out
    beyond = any(finding.rule == "core/in-bounds" for finding in out)
    if views.source is not None and views.source.base.tier != STREAM and not beyond:
        yield from _holes(views, views.source, commands, target, dtype_bits, session, undecided)


def place_findings(views: Views) -> Iterator[Finding]:
    """Windows that leave their tensor, sides that look at different elements."""
    sides = [(name, view) for name, view in (("source", views.source), ("dest", views.dest)) if view is not None]
    for name, view in sides:
        for window in view.steps:
            yield from _range(views, name, window)
    if views.source is not None and views.dest is not None:
        yield from _alike(views, views.source, views.dest)


def _finding(
    rule: str, message: str, window: TileWindow, hint: str, views: Views, counters: Sequence[int], shown: dict[str, Any]
) -> Finding:
    values = loop_values(views.turns, counters)
    witness = {"iteration": values, **shown} if values else shown
    return Finding(
        rule, Severity.ERROR, message, "view", window.span, dict(values), witness,
        hint=hint,
    )  # fmt: skip


def _range(views: Views, name: str, window: TileWindow) -> Iterator[Finding]:
    low, high = window.start.least(views.turns), window.start.most(views.turns) + window.length
    whole = low == 0 and high == window.size == window.length  # nothing is cut off
    if low >= 0 and (high <= window.live or whole):
        return
    counters = window.start.extreme(views.turns, most=high > window.live)
    first = window.start.at(counters)
    has = (
        f"{window.live} of {window.size} positions hold elements"
        if window.live < window.size
        else f"it has {window.size}"
    )
    hint = f"start it so that start + {window.length} stays within {window.live}"
    if views.turns and first + window.length > window.live:
        hint += "; starts count positions of the digit, not tiles"
    yield _finding(
        "core/in-bounds",
        f"the {name}'s tile of `{window.label}` covers {first}..{first + window.length - 1}"
        f"{at_iteration(views.turns, counters)}; {has}",
        window, hint, views, counters, {"position": first if first < 0 else max(first, window.live)},
    )  # fmt: skip


def offsets_of(view: View, axis: str, turns: Sequence[Turn]) -> Affine:
    total = Affine(0, (0,) * len(turns))
    for window in view.windows:
        if window.axis == axis:
            total = total.plus(window.start.times(window.weight))
    return total


def _alike(views: Views, source: View, dest: View) -> Iterator[Finding]:
    """Both sides tile one axis: then both must look at the same coordinates of it, in every iteration."""
    shared = {w.axis for w in source.windows} & {w.axis for w in dest.windows} - {None}
    for axis in sorted(str(a) for a in shared):
        have, want = (offsets_of(view, axis, views.turns) for view in (source, dest))
        if have == want:
            continue
        zero = (0,) * len(views.turns)
        counters = zero
        if have.constant == want.constant:
            at = next(i for i, (a, b) in enumerate(zip(have.steps, want.steps, strict=True)) if a != b)
            counters = (*zero[:at], 1, *zero[at + 1 :])
        window = next(w for w in dest.windows if w.axis == axis)
        shown = {"source_cell": {axis: have.at(counters)}, "dest_cell": {axis: want.at(counters)}}
        yield _finding(
            "core/same-element",
            f"the source's tile begins at {axis} = {have.at(counters)}, the destination's at {axis} = "
            f"{want.at(counters)}{at_iteration(views.turns, counters)}",
            window, "start both tiles at the same coordinate", views, counters, shown,
        )  # fmt: skip


def _holes(
    views: Views, view: View, commands: Sequence[Command], target: Target, dtype_bits: int, session: Session,
    undecided: list[str],
) -> Iterator[Finding]:  # fmt: skip
    """A shifted tile declares holes behind the end of its tensor: no read may fall there."""
    unit_bits = unit_bits_of(dtype_bits)
    space = space_of(target, view.base.tier)
    first = view.shift[3].most(views.turns) * 8 // unit_bits
    if first <= 0:
        return
    end = view.buffer.base * 8 // unit_bits + view.buffer.element.size * dtype_bits // unit_bits
    behind = Walk(end, ((first, 1),))
    for place in reversed([p for p in PLACES[:-1] if p in space.places and p not in ("chip", "cluster")]):
        step = space.stride(place, unit_bits)
        size = view.buffer.field(place).size
        behind = Walk(behind.base + getattr(view.buffer, f"at_{place}") * step, ((size, step), *behind.loops))
    for command in commands:
        every = looped(command, views, target)
        read = Walk(every.read.base, (*((x.count, x.read) for x in every.loops), (every.burst, 1)))
        if shared(read, behind, session, "core/in-bounds") == "unsat":
            continue
        met = found_meeting(read, behind, session)
        if met is None:
            undecided.append("whether a hole of the source's tile is read behind the end of the tensor")
            continue
        counters = met.first[: len(views.turns)]
        yield _finding(
            "core/in-bounds",
            f"a hole of the source's tile is read behind the end of the tensor{at_iteration(views.turns, counters)}",
            view.windows[0], "read the tile's own positions only", views, counters, {"read_address": met.address},
        )  # fmt: skip
        return
