"""Hazards as findings, and the order that a plan leaves open.

Knows: a hazard, the steps it is between, how places and counters are said.
Does not know: how hazards are found (`hazards`).
Law: every finding names the byte and both accesses; an order that rests on engines which nobody named is said.

Source: "DMA Engine" (Architecture: any engine can do any transfer; Implementation Details), docs/machines/rngd.md 2.2
and 7.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.program.schedule import DMA_CONTEXT, Circle, Order, Program, order_of
from dmaverify.prove.flow.accesses.touches import StepWork, flat_weights, named, where
from dmaverify.prove.flow.order.hazards import Hazard, Hazards, hazards
from dmaverify.targets.target import Target
from dmaverify.values import replace
from dmaverify.verdict import Finding, Label, Severity

_WORDS = {
    "core/hazard-raw": "reads what it writes, and nothing makes it wait",
    "core/hazard-war": "overwrites what it reads, and nothing makes it wait",
    "core/hazard-waw": "writes what it writes, and nothing says who is last",
}
_AGAIN = {
    "core/hazard-raw": "reads what it wrote",
    "core/hazard-war": "overwrites what it reads",
    "core/hazard-waw": "writes what it wrote",
}


SHARED = "share one engine (they name none, and nothing says which it is)"
ONE_ENGINE = "transfers that name no engine share one (which orders them; nothing says that it is so)"
IN_ORDER = "are done in the written order (an engine does things as it is given them; nothing orders its contexts)"
CONTEXTS_IN_ORDER = "engines are given the work of several contexts in the written order (nothing orders contexts)"


def hazard_finding(hazard: Hazard, program: Program, target: Target) -> Finding:
    """The finding of one hazard: who does what to which byte, in which iterations."""
    first, second = (program.steps[t.step] for t in (hazard.first, hazard.second))
    values: dict[str, object] = {"first": first.name, "second": second.name, "memory": hazard.first.memory[0]}
    witness: dict[str, object] | None = None
    place = ""
    if hazard.meeting is not None:
        met = hazard.meeting
        place = where(hazard.first, met.address, hazard.unit_bits, target)
        witness = {"byte": place}
        for name, touch, counters in (
            ("first_at", hazard.first, met.first),
            ("second_at", hazard.second, met.second),
        ):
            step = program.steps[touch.step].name
            witness[name] = {"step": step, "does": _does(touch.writes), "counters": dict(named(touch, counters))}
        values["address"] = met.address * hazard.unit_bits // 8
    same = hazard.first.step == hazard.second.step
    words = f"`{second.name}` {_WORDS[hazard.kind].replace(' it ', f' `{first.name}` ', 1)}"
    if same:
        words = f"the accesses of `{first.name}` run together: {hazard.first.what} and {hazard.second.what} share bytes"
    hint = f'add `after = ["{first.name}"]` to `{second.name}`, or move one of the tensors'
    if hazard.first.step > hazard.second.step:
        from dmaverify.lower.plan_text import toml_key

        far = _iterations_between(hazard)
        words = f"in the next iteration, {words}" if far < 2 else f"{far} iterations later, {words}"
        earlier = f"earlier = {{ {toml_key(first.name)} = {far} }}"
        hint = (
            f"let `{second.name}` wait with `{earlier}`, put both into one context, or let "
            "them use more buffers in turn (a tile that starts at `t % 2`): `after` orders one iteration, no other"
        )
    if same:
        hint = "give the commit memory of its own, or make two steps of them"
    if same and (target.engines.launched or target.engines.swaps):
        words = f"`{first.name}` {_AGAIN[hazard.kind]} in an earlier iteration, and nothing waits for that"
        hint = "make two steps of the loop, the second with `after`, or let it read another buffer"
        if not target.engines.launched:
            hint = "name a `context` for it, which waits for each iteration, or let it use another buffer"
    sides = [
        f"{touch.what} of `{step.name}` {_does(touch.writes)}"
        for touch, step in ((hazard.first, first), (hazard.second, second))
    ]
    return Finding(
        hazard.kind,
        Severity.ERROR,
        words + (f": {place}" if place else ""),
        f"step {second.name}",
        second.span,
        values,
        witness,
        hint=hint,
        notes=(", ".join(sides),),
        labels=(Label(first.span, f"`{first.name}`"),) if first.span and not same else (),
    )


def _iterations_between(hazard: Hazard) -> int:
    """After how many iterations the two meet, where that is known; else 1."""
    if hazard.meeting is None:
        return 1
    numbers = [
        sum(weight * counter for weight, counter in zip(flat_weights(touch.turns), counters, strict=False))
        for touch, counters in ((hazard.first, hazard.meeting.first), (hazard.second, hazard.meeting.second))
    ]
    return max(1, numbers[1] - numbers[0])


def order_rests_on(
    program: Program, works: Sequence[StepWork], result: Hazards, rlimit: int, target: Target
) -> list[str]:
    """Under which conditions steps are in order: that transfers which name no engine share one, that an engine is given
    the work of several contexts in the written order.
    """
    told, out = {*result.pairs}, list[str]()
    for loose, one, every in (
        (engines_apart(program, works), SHARED, ONE_ENGINE),
        (contexts_apart(program, works), IN_ORDER, CONTEXTS_IN_ORDER),
    ):
        if loose is None:
            continue
        found = hazards(program, *loose, rlimit, launched=target.engines.launched, steady=result.steady)
        pairs = found.pairs - told
        once = sorted((p, q) for p, q in pairs if p <= q or (q, p) not in pairs)
        names = [(program.steps[p].name, program.steps[q].name) for p, q in once]
        out += [f"`{first}` and `{second}` {one}" for first, second in dict.fromkeys(names)]
        out += [every] if found.why and not result.why else []
        told |= found.pairs
    return out


def contexts_apart(program: Program, works: Sequence[StepWork]) -> tuple[list[StepWork], Order] | None:
    """As `engines_apart`, and nothing says in which order an engine is given the work of several contexts; None where
    no engine is.
    """
    order = order_of(program, [work.lanes for work in works])
    if isinstance(order, Circle) or not order.supposed:
        return None
    return _in_lanes(program, works, _own_lanes(program, works), supposing=False)


def engines_apart(program: Program, works: Sequence[StepWork]) -> tuple[list[StepWork], Order] | None:
    """The steps, those that name no engine on one of their own each, and their order; None where that is the same."""
    lanes = _own_lanes(program, works)
    free = sum(own != work.lanes for own, work in zip(lanes, works, strict=True))
    return None if free < 2 or program.order != "contexts" else _in_lanes(program, works, lanes)


def _own_lanes(program: Program, works: Sequence[StepWork]) -> list[tuple[str, ...]]:
    return [
        tuple(f"{lane} {i}" if lane == DMA_CONTEXT and step.context is None else lane for lane in work.lanes)
        for i, (step, work) in enumerate(zip(program.steps, works, strict=True))
    ]


def _in_lanes(
    program: Program, works: Sequence[StepWork], lanes: Sequence[tuple[str, ...]], *, supposing: bool = True
) -> tuple[list[StepWork], Order]:
    alone = order_of(program, lanes, supposing=supposing)
    assert isinstance(alone, Order), "less order makes no circle"
    apart = [
        replace(work, lanes=own, touches=tuple(replace(t, lane=own[work.lanes.index(t.lane)]) for t in work.touches))
        for own, work in zip(lanes, works, strict=True)
    ]
    return apart, alone


def _does(writes: bool) -> str:
    return "writes" if writes else "reads"
