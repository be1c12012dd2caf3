"""The launches of a program or a text in the order in which one back-end gets them, and what each of them waits for.

Knows: steps with their queues, loops, `after` and `earlier`; waits between the launches of a text.
Does not know: beats, plan files, which 1D transfers a launch has.
Law: an order is given only where it is the one that the program admits: of any two launches one is behind the other. A
wait is a number of launches, or of 1D transfers, all of which have answered before what waits is shown on the bus: a
channel completes its launches in order. What waits makes all behind it wait, since software launches them later.

Source: iDMA paper, 2.1 (synchronization by the id last completed); docs/machines/idma.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from dmaverify.errors import InputError
from dmaverify.machines.idma.text import Image
from dmaverify.program.schedule import Circle, Program, order_of, runs_again
from dmaverify.values import dataclass

MOST_LAUNCHES = 1 << 16
"""Launches of a program that a trace is held against."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A step of a program in one iteration of its loops, behind the first `behind` launches: these are complete."""

    step: int
    iteration: int = 0
    behind: int = 0


def launches_of(program: Program, lanes: Sequence[str]) -> list[Launch]:
    """The launches of a program whose steps are in the queues `lanes`, in the one order that it admits. Raises
    InputError where it admits several.
    """
    steps = program.steps
    order = order_of(program, [(lane,) for lane in lanes])
    if isinstance(order, Circle):
        said = f"{', '.join(order.steps)} of `{program.name}` wait for each other: there is no trace"
        raise InputError(said, program.span, "let one of them begin")
    for b in range(len(steps)):
        for a in range(b):
            if not order.ordered(a, b):
                queues = " in two queues" if lanes[a] != lanes[b] else ""
                raise InputError(
                    f"nothing orders {steps[a].name} and {steps[b].name} of `{program.name}`{queues}: a port may show "
                    "them in either order",
                    steps[b].span, "hold the port of each queue against its own transfer, PATH::NAME; or write `after`",
                )  # fmt: skip
    ranked = sorted(range(len(steps)), key=lambda step: order.before[step].bit_count())
    index = {step.name: number for number, step in enumerate(steps)}
    out: list[Launch] = []
    last: dict[int, list[int]] = {}  # of each step, how many launches there are up to each of its iterations
    if sum(prod(count for _, count in step.loops) if runs_again(step) else 1 for step in steps) > MOST_LAUNCHES:
        raise InputError(
            f"`{program.name}` has too many launches for a trace", program.span, f"up to {MOST_LAUNCHES:,}"
        )
    while ranked:
        body = order.bodies[ranked[0]]
        size = 1 if body < 0 else order.bodies.count(body)
        block, ranked = ranked[:size], ranked[size:]
        if any(order.bodies[step] != body for step in block):
            said = f"a step stands amid the loop of {steps[block[0]].name} of `{program.name}`"
            raise InputError(said, steps[block[0]].span, "put it before or behind the loop")
        for iteration in range(prod(count for _, count in steps[block[0]].loops) if body >= 0 else 1):
            for number in block:
                waited = [last[index[name]][-1] for name in steps[number].after]
                if body >= 0:
                    waited += [
                        last[index[name]][iteration - far]
                        for name, far in steps[number].earlier if index[name] in block and iteration >= far
                    ]  # fmt: skip
                waited += [len(out)] if program.order == "written" else []
                out.append(Launch(number, iteration, max(waited, default=0)))
                last.setdefault(number, []).append(len(out))
    return out


def text_waits(image: Image) -> tuple[int, ...]:
    """Launches of a text, counting those that move something, in front of which software waits for all before. Raises
    InputError for what has no one order on a port.
    """
    if image.loose or image.partly or image.until:
        raise InputError(
            "when this is launched is not read: it has no one trace", image.told[0].span, "a text of launches"
        )
    if image.periods:
        raise InputError("launches that come again have no one trace", image.told[image.periods[0][0]].span,
                         "hold one of its periods against a text without events")  # fmt: skip
    for one in image.told:
        if one.errors:
            raise InputError(
                "a job that plants errors has no one right trace: responses and what follows them are the engine's",
                one.errors[0].span, "hold the trace against the job without its error lines",
            )  # fmt: skip
        if one.channel != image.told[0].channel:
            raise InputError(
                f"launches on channels {image.told[0].channel} and {one.channel}: nothing says in which order one port "
                "shows them",
                one.span, "hold the port of each channel against its own launches",
            )  # fmt: skip
    return tuple(sum(bool(one.descriptor.bytes) for one in image.told[:number]) for number in image.waits)
