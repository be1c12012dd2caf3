"""Hazards of a program from definitions: two accesses that nothing orders touch no byte in common.

Knows: which accesses are not ordered, the loops and strides of each.
Does not know: how order follows from engines and `after`, how scripts are asked.
Law: of two accesses that nothing orders, one of them writing, every counter of one and every counter of the other is
asked at once. The order itself, steps within loops, tiles over iterations and runs of accesses to a bank have no
question: they are named.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.program.schedule import Order, Program
from dmaverify.prove.flow.hazards import HAZARDS, KINDS, unordered
from dmaverify.prove.flow.touches import StepWork, Touch
from dmaverify.prove.move.full import NOT_ASKED, ask, definitions
from dmaverify.prove.move.questions import address_by_steps
from dmaverify.prove.move.script import Script, ScriptWriter, text_of

MOST_PAIRS = 400


def ask_program(
    program: Program, works: Sequence[StepWork], order: Order, proved: Sequence[str], rlimit: int,
    asked: list[tuple[str, str, str]], *, launched: bool,
) -> tuple[set[str], list[str]]:  # fmt: skip
    """The hazards that were asked whole and answered as proved; what was not asked, in words. Raises Disagreement."""
    pairs = unordered(program, works, order, launched=launched)
    left = [f"{name} of the steps together" for name in proved if name not in (*HAZARDS, "core/steps")]
    left.append("that engines and `after` order the steps")
    names = [step.name for step in program.steps]
    if pairs is None or len(pairs) > MOST_PAIRS:
        return set(), [NOT_ASKED + what for what in (*left, "hazards: too many accesses, or an order of loops")]
    left += [f"hazards of `{names[a.step]}` and `{names[b.step]}` in loops" for a, b in pairs if a.turns or b.turns]
    scripts = [_apart(names, a, b) for a, b in pairs if not (a.turns or b.turns)]
    open_ = ask(scripts, rlimit, asked, left)
    looped = {KINDS[a.writes, b.writes] for a, b in pairs if a.turns or b.turns}
    whole = {name for script in scripts for name in script.obligations} & set(HAZARDS) - open_ - looped
    return whole, [NOT_ASKED + what for what in dict.fromkeys(left)]


def _apart(names: Sequence[str], one: Touch, other: Touch) -> Script:
    """No address of one is an address of the other; both count in the smaller unit."""
    writer = ScriptWriter(f"{names[one.step]} {one.what} and {names[other.step]} {other.what}", definitions())
    ends = []
    for side, touch in (("first", one), ("second", other)):
        counters = [writer.counter(f"{side}.c{i}", count) for i, (count, _) in enumerate(touch.walk.loops)]
        strides = [stride for _, stride in touch.walk.loops]
        ends.append(address_by_steps(writer, f"{side}.address", touch.walk.base, counters, strides))
    kind = KINDS[one.writes, other.writes]
    writer.possible("a counter of each", "core/not-vacuous", "true")
    writer.claim("one byte", kind, f"(= {text_of(ends[0])} {text_of(ends[1])})")
    return writer.script()
