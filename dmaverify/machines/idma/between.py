"""Launches that a function of a driver leaves in flight, and what functions that begin behind it do beside them.

Knows: what each function launches and waits for. Does not know: C, rules, verdicts.
Law: another file may call any two functions one behind the other, and one twice. Launches of known addresses are
followed as those of one function are; of others, and of chains (whose descriptors are written before they are
launched), every two are taken to meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dmaverify.machines.idma.order import meets_from
from dmaverify.machines.idma.registers import OTHER_ENGINES
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import Image, ToldDescriptor
from dmaverify.values import dataclass, replace

if TYPE_CHECKING:
    from dmaverify.machines.idma.c.launches import FunctionLaunches

MOST_TOGETHER = 2000
OWN_CHANNELS = 1 << 20  # of the second function, where every launch has a channel of its own
PLAIN_CHANNELS = 8


@dataclass(frozen=True, slots=True)
class CalledFunction:
    """A function that other files may call, by runs that stand for all of its calls; `exact`: by the only one there is.
    Without `known` it may launch and leave anything.
    """

    name: str
    runs: tuple[FunctionLaunches, ...]
    exact: bool = True
    known: bool = True


def in_flight(
    called: Sequence[CalledFunction], setup_for: Callable[[ToldDescriptor], Setup], chained: bool
) -> list[str]:
    """Conditions: which functions are right only where nothing is in flight when they begin."""
    leave = [one for one in called if not one.known or any(left_over(run) for run in one.runs)]
    return [
        f"no launch is in flight when {second.name}() begins"
        for second in called
        if second.name != "main" and any(_meet(first, second, setup_for, chained) for first in leave)
    ]


def left_over(run: FunctionLaunches) -> list[int]:
    """The launches that nobody has waited for where the function ends."""

    behind = {one.channel: max((0, *run.waits)) for one in run.told}  # launches before this one are waited for
    for before, channel in run.partly:
        behind[channel] = max(behind.get(channel, 0), before)
    for _, last in run.until:
        channel = run.told[last].channel
        behind[channel] = max(behind[channel], last + 1)
    return [number for number, one in enumerate(run.told) if number >= behind[one.channel]]


def _meet(
    first: CalledFunction, second: CalledFunction, setup_for: Callable[[ToldDescriptor], Setup], chained: bool
) -> bool:
    if not (first.known and second.known):
        return not second.known or any(run.told for run in second.runs)
    for run in first.runs:
        left = left_over(run)
        channels = {run.told[number].channel for number in left}
        for behind in second.runs if left else ():
            if not chained and all((0, channel) in behind.partly for channel in channels):
                continue
            told = behind.told[: min((*behind.waits, len(behind.told)))]
            if not behind.told or not (told or chained):
                continue
            if chained or not (first.exact and second.exact) or len(left) + len(told) > MOST_TOGETHER:
                return True
            if _met([run.told[number] for number in left], told, behind, setup_for):
                return True
    return False


def _met(
    left: Sequence[ToldDescriptor], told: Sequence[ToldDescriptor], behind: FunctionLaunches,
    setup_for: Callable[[ToldDescriptor], Setup],
) -> bool:  # fmt: skip
    """Whether launches in flight meet those that another function makes before it waits for all."""
    many = len(left)
    own = {
        one.channel: one.channel + OWN_CHANNELS * (PLAIN_CHANNELS <= one.channel < OTHER_ENGINES) for one in behind.told
    }
    image = Image(
        (*left, *(replace(one, channel=own[one.channel]) for one in told)),
        partly=tuple((before + many, own.get(channel, channel)) for before, channel in behind.partly),
        until=tuple((before + many, last + many) for before, last in behind.until if last < len(told)),
    )
    return meets_from(image, [setup_for(one) for one in image.told], many)
