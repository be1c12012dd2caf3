"""The same requests written in other loops, units and packets, and whether any price notices (`make rewritings`).

Knows: how loops are split, joined and padded without changing a request; half bytes and words; packets of whole
windows; the programs of the campaign.
Does not know: the inside of either evaluator.
Law: `rewritten` and `in_other_units` change the text of a command and no request of it, nor their order; `run` counts
every program whose price differs, in the closed form or in the simulator, and names its seed. `in_other_packets` keeps
the requests of both sides, but a write waits for a whole packet: that is no matter of the closed form alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lab.campaign import KINDS, random_program

from dmaverify.cost.constants import cost_data
from dmaverify.cost.model import cost
from dmaverify.cost.simulate import simulate
from dmaverify.program.command import Command, Engine, Loop

WINDOW = 256
PLAYED = 10
"""One program in so many is played too."""


def rewritten(command: Command, draw: random.Random) -> Command:
    """The same requests in the same order: loops split at a divisor, loops of one turn put in, a run as a loop."""
    loops: list[Loop] = []
    for loop in command.loops:
        cuts = [n for n in range(2, loop.count) if loop.count % n == 0]
        if cuts and draw.random() < 0.7:
            low = draw.choice(cuts)
            loops += [Loop(loop.count // low, loop.read * low, loop.write * low), Loop(low, loop.read, loop.write)]
        else:
            loops.append(loop)
        if draw.random() < 0.3:
            loops.append(Loop(1, draw.choice((0, 8, 4096)), draw.choice((0, 8, 4096))))
    burst, piece = command.burst, command.packet
    turns = [n for n in range(2, burst // piece + 1) if burst // piece % n == 0]
    if turns and draw.random() < 0.5:
        count = draw.choice(turns)
        burst //= count
        loops.append(Loop(count, burst, burst))
    return replace(command, loops=tuple(loops), burst=burst)


def in_other_units(command: Command, bits: int) -> Command:
    """The same bytes counted in units of so many bits; as it is where they do not fit."""
    steps = [step for loop in command.loops for step in (loop.read, loop.write)]
    numbers = [command.read.base, command.write.base, command.burst, command.packet, *steps]
    if any(number * command.unit_bits % bits for number in numbers):
        return command

    def told(number: int) -> int:
        return number * command.unit_bits // bits

    ports = [replace(port, base=told(port.base)) for port in (command.read, command.write)]
    loops = tuple(Loop(loop.count, told(loop.read), told(loop.write)) for loop in command.loops)
    sizes = {"burst": told(command.burst), "packet": told(command.packet), "unit_bits": bits}
    return replace(command, read=ports[0], write=ports[1], loops=loops, **sizes)


def in_other_packets(command: Command, draw: random.Random) -> Command:
    """The same requests in packets of another size, where all are whole windows; as it is elsewhere."""
    steps = [step for loop in command.loops for step in (loop.read, loop.write)]
    numbers = [command.read.base, command.write.base, command.burst, command.packet, *steps]
    if command.unit_bits != 8 or any(number % WINDOW for number in numbers):
        return command
    fits = [n for n in range(WINDOW, command.burst + 1, WINDOW) if command.burst % n == 0]
    return replace(command, packet=draw.choice(fits))


def rewritten_program(commands: Sequence[Command], draw: random.Random) -> list[Command]:
    """Every command rewritten, and engines named in another order; the commands of one engine keep theirs."""
    again = [rewritten(command, draw) for command in commands]
    again = [in_other_units(command, draw.choice((4, 8, 16))) for command in again]
    engines = list(dict.fromkeys(command.engine or Engine() for command in again))
    draw.shuffle(engines)
    return [command for engine in engines for command in again if (command.engine or Engine()) == engine]


def differences(commands: Sequence[Command], draw: random.Random, profiles: Sequence[str], play: bool) -> Iterator[str]:
    """What a rewriting of a program changes, profile by profile; nothing, if the law holds."""
    again = rewritten_program(commands, draw)
    for profile in profiles:
        data = cost_data(profile)
        first, second = cost(commands, data), cost(again, data)
        told = [{(t.name, t.cycles, t.resource) for t in price.terms} for price in (first, second)]
        if (first.cycles, first.exact, first.binding) != (second.cycles, second.exact, second.binding):
            yield f"{profile}: {first.cycles:,.2f} or {second.cycles:,.2f} cycles"
        elif told[0] != told[1]:
            yield f"{profile}: other terms"
        elif play and simulate(commands, data).cycles != simulate(again, data).cycles:
            yield f"{profile}: played otherwise"
        packed = cost([in_other_packets(command, draw) for command in commands], data).cycles
        if packed != first.cycles:
            yield f"{profile}: {first.cycles:,.2f} or, in other packets, {packed:,.2f} cycles"


def run(first: int, count: int, profiles: Sequence[str]) -> list[str]:
    """Seeds `first` to `first + count - 1`, the kinds of the campaign in turns; every difference with its seed."""
    kinds, found = list(KINDS), []
    for seed in range(first, first + count):
        kind = kinds[seed % len(kinds)]
        program = random_program(seed, kind)
        said = differences(program, random.Random(seed), profiles, seed % PLAYED == 0)
        found += [f"{kind} seed {seed}, {one}" for one in said]
    return found
