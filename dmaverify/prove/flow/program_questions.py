"""Hazards of a program from definitions: two accesses that nothing orders touch no byte in common, others are in order.

Knows: which accesses are not ordered, the loops and strides of each; what engines, `after` and the written order say.
Does not know: how order is followed, how scripts are asked.
Law: of two accesses that nothing orders, one of them writing, every counter of one and every counter of the other is
asked at once. Of all others that touch one memory it is asked, from when the pieces of work begin and end, that one
ends before the other begins. Steps within loops, the order of what an engine launches and runs of accesses to a bank
have no question: they are named.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.program.schedule import Order, Program
from dmaverify.prove.flow.hazards import HAZARDS, KINDS, unordered
from dmaverify.prove.flow.tile_questions import TILES, tile_scripts
from dmaverify.prove.flow.touches import StepWork, Touch
from dmaverify.prove.move.full import NOT_ASKED, ask, definitions
from dmaverify.prove.move.questions import address_by_steps
from dmaverify.prove.move.script import Script, ScriptWriter, text_of
from dmaverify.targets.target import Target

MOST_PAIRS = 400


def ask_program(
    program: Program, works: Sequence[StepWork], order: Order, proved: Sequence[str], rlimit: int,
    asked: list[tuple[str, str, str]], *, target: Target,
) -> tuple[set[str], list[str]]:  # fmt: skip
    """What was asked whole and answered as proved; what was not asked, in words. Raises Disagreement."""
    launched = target.engines.launched
    pairs = unordered(program, works, order, launched=launched)
    tiles = list(tile_scripts(program, works, target)) if TILES[0] in proved else []
    missing = {name for name in TILES if any(isinstance(one, str) for one in tiles)}
    known = (*HAZARDS, "core/steps", *(TILES if tiles and not missing else ()))
    left = [f"{name} of the steps together{_why(name)}" for name in proved if name not in known]
    left += [one for one in tiles if isinstance(one, str)]
    names = [step.name for step in program.steps]
    by_times = pairs is not None and not launched and not any(step.loops for step in program.steps)
    if not by_times:
        followed = "launches" if launched else "iterations"
        left.append(f"that engines and `after` order the steps: {followed} are followed one behind the other")
    if pairs is None or len(pairs) > MOST_PAIRS:
        return set(), [NOT_ASKED + what for what in (*left, "hazards: too many accesses, or an order of loops")]
    left += [f"hazards of `{names[a.step]}` and `{names[b.step]}` in loops" for a, b in pairs if a.turns or b.turns]
    scripts = [_apart(names, a, b) for a, b in pairs if not (a.turns or b.turns)]
    scripts += [one for one in tiles if isinstance(one, Script)]
    if by_times:
        scripts.append(_in_order(program, works, order, [(id(a), id(b)) for a, b in pairs]))
    open_ = ask(scripts, rlimit, asked, left)
    missing |= {KINDS[a.writes, b.writes] for a, b in pairs if a.turns or b.turns}
    whole = {name for script in scripts for name in script.obligations} & {*HAZARDS, *TILES} - open_ - missing
    return whole, [NOT_ASKED + what for what in dict.fromkeys(left)]


def _why(name: str) -> str:
    """Why a claim of the steps together has no question."""
    if name.endswith("/bank-starvation"):
        return ": the longest run of an access is asked of the solver by its tables; runs bank by bank are computed"
    return ": by arithmetic on boxes" if name not in TILES else ""


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


def _in_order(program: Program, works: Sequence[StepWork], order: Order, apart: Sequence[tuple[int, int]]) -> Script:
    """Of two touches of one memory in two steps, one ends before the other begins; but for those `apart`."""
    writer = ScriptWriter("the order of the steps", definitions())
    for piece in range(len(order.pieces)):
        writer.lines += [f"(declare-const begin{piece} Int)", f"(declare-const end{piece} Int)"]
        writer.lines.append(f"(assert (< begin{piece} end{piece}))")
    writer.lines += [f"(assert (<= end{p} begin{q}))" for p, q in _stated(program, order)]
    writer.possible("an order of the steps", "core/not-vacuous", "true")
    unordered_ = {*apart, *((b, a) for a, b in apart)}
    touches = [(order.index(t.step, t.lane), t) for work in works for t in work.touches]
    told: set[tuple[int, int, str]] = set()
    for number, (p, one) in enumerate(touches):
        for q, other in touches[number + 1 :]:
            kind = KINDS.get((one.writes, other.writes), "")
            new = one.step != other.step and one.memory == other.memory and kind and (p, q, kind) not in told
            if new and (id(one), id(other)) not in unordered_:
                told.add((p, q, kind))
                named = f"{program.steps[one.step].name} and {program.steps[other.step].name}"
                writer.claim(named, kind, f"(not (or (<= end{p} begin{q}) (<= end{q} begin{p})))")
    return writer.script()


def _stated(program: Program, order: Order) -> list[tuple[int, int]]:
    """Pieces of which the plan says that the first ends before the second begins: `after`, a lane's next piece, or the
    written order.
    """
    index = {step.name: number for number, step in enumerate(program.steps)}
    before = [(index[name], number) for number, step in enumerate(program.steps) for name in step.after]
    before += [(n - 1, n) for n in range(1, len(program.steps)) if program.order == "written"]
    edges = [(p, q) for a, b in before for p in order.of_step[a] for q in order.of_step[b]]
    lanes: dict[str, int] = {}
    for q, piece in enumerate(order.pieces) if program.order == "contexts" else ():
        edges += [(lanes[piece.lane], q)] if piece.lane in lanes else []
        lanes[piece.lane] = q
    return edges
