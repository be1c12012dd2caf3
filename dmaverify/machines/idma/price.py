"""What commands cost on an iDMA engine, as named terms.

Knows: the 1D transfers of commands, how many fit a simulation of the law, what programming takes.
Does not know: plan files, text.
Law: up to `EXACT` bursts of coupled AXI whose sides lie alike in their words, and `MOST_BEATS` beats of AXI and OBI,
the cycles are the law's own; everything else is a lower bound, and says so. The work grows with the loops once there
are more.

Source: `law`; iDMA paper, 3.5 (instructions of a launch), 4.3 (latency of mid-ends).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd, prod
from typing import TYPE_CHECKING

from dmaverify.cost.model import Cost, EngineCost, Term
from dmaverify.errors import InputError
from dmaverify.machines.idma.decoupled import MOST_BEATS, cycles_apart, is_measured
from dmaverify.machines.idma.decoupled_bounds import ApartTotals, bounds_apart
from dmaverify.machines.idma.derive import descriptor_of, dims_of, length_of
from dmaverify.machines.idma.engine import Request
from dmaverify.machines.idma.law import (
    MEASURED,
    MEMORIES,
    Beats,
    BurstRun,
    Depth,
    MemorySystem,
    Meter,
    Totals,
    bounds,
    exact,
)
from dmaverify.machines.idma.legalizer import is_coupled, legalize, side_bits, window_bits
from dmaverify.machines.idma.nd import Descriptor, requests
from dmaverify.machines.idma.path import held_bytes, piece_count, pieces
from dmaverify.machines.idma.path import period as period
from dmaverify.machines.idma.setup import Setup, setup_of_commands
from dmaverify.machines.idma.wire import beats_of
from dmaverify.program.command import Command, Engine
from dmaverify.program.move import Transfer
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXACT = 1 << 16
"""Bursts up to which the law is gone through one by one."""
MOST_CYCLES = 1 << 200
PROFILE = "rtl-0.7.0"
LATENCY = "iDMA paper, 4.3: one cycle a mid-end; tensor_ND 0; RTL v0.7.0 shows 0 for mp_split and mp_dist too"
APART = "each has a port and a memory of its own, what back-ends share is not modelled"
LAUNCHES = "iDMA paper, 2.1 (synchronization by the id last completed)"
PROGRAMMING = "counted in accesses of the front-end: iDMA paper, 3.5, and the register maps of v0.7.0"


@dataclass(frozen=True, slots=True)
class Requests:
    """The 1D transfers of some commands, in order, without a list of them."""

    setup: Setup
    commands: Sequence[Command]

    @property
    def count(self) -> int:
        return sum(prod(d.reps for d in dims_of(c)) for c in self.commands)

    def requests(self) -> Iterator[Request]:
        width = self.setup.backend.address_width
        for number, command in enumerate(self.commands):
            yield from requests(descriptor_of(self.setup.own(number), command), width)


def memory_of(setup: Setup) -> MemorySystem:
    """The memory system of the cost model. Raises InputError for an unknown name."""
    found = MEMORIES.get(setup.memory.lower())
    if found is None:
        raise InputError(f"no memory {setup.memory!r}", None, f"known: {', '.join(MEMORIES)}")
    latency = found.latency if setup.memory_latency < 0 else setup.memory_latency
    return replace(found, latency=latency, outstanding=setup.memory_outstanding or found.outstanding)


def first_read(setup: Setup) -> int:
    """Cycles from a request at the first mid-end to the first read request of a port, as the paper counts."""
    return 1 + setup.backend.legalizer + setup.stages


def _lead(setup: Setup, commands: Sequence[Command], depth: Depth) -> Iterator[Term]:
    """What comes before the first data: the latency of the engine, and the fetch of a descriptor."""
    what = "two cycles" if setup.backend.legalizer else "one cycle without legalizer"
    why = f"{what}, one more a mid-end, tensor_ND 0 or, with `nd_latency = 1`, 1"
    yield Term("first read", float(first_read(setup)), "legalizer", why, LATENCY)
    first, more = fetched(setup, commands, depth)
    if first:
        why = "the first descriptor comes before all data; the next is fetched where it is guessed, 32 B on"
        yield Term("descriptor fetch", float(first + more), "front-end", why, PROGRAMMING)


def fetched(setup: Setup, commands: Sequence[Command], depth: Depth) -> tuple[int, int]:
    """Cycles until the first descriptor of a chain is there, and beats of the fetch bus for the others."""
    if setup.front_end != "desc64" or not commands:
        return 0, 0
    beats = max(1, 8 * 32 // setup.fetch_width)
    return depth.memory.latency + 1 + beats, (Requests(setup, commands).count - 1) * beats


def price(transfer: Transfer, target: Target, commands: Sequence[Command]) -> Cost:
    """The cost of commands on the engine that the transfer's options mean. Raises InputError."""
    return price_on(setup_of_commands(target, transfer), commands)


def price_on(setup: Setup, commands: Sequence[Command], most: int = MOST_BEATS) -> Cost:
    """The cost of commands, launched back to back or as the setup says, on one engine; the law of sides that are not
    coupled is gone through up to `most` beats.
    """
    if setup.launched:
        return _in_rounds(setup, commands, most)
    depth = Depth.of(setup.backend, memory_of(setup))
    told = Term("programming", float(programming(setup, commands)), "front-end", _why(setup, commands), PROGRAMMING)
    own = [told, *_lead(setup, commands, depth)]
    if setup.shown_stages:
        why = "one cycle each before the first burst"
        own.append(Term("mid-ends", float(setup.shown_stages), "mid-ends", why, LATENCY))
    if setup.region is None:
        terms, law, known = _alone(setup, commands, depth, most)
        known = known and depth.memory.latency > 0 and all(term.source == MEASURED for term in terms[:1])
    else:
        terms, known = _shared_out(setup, commands, depth), False
        law = max((term.cycles for term in terms), default=0.0)
    if law > MOST_CYCLES:
        raise InputError("the transfer takes more than 2^200 cycles: nothing is priced beyond", None)
    if not setup.backend.legalizer:  # the first read goes out a cycle earlier, and RTL was not measured
        law, known = law - 1, False
    first, more = fetched(setup, commands, depth)
    cycles, known = max(law, more) + first + setup.shown_stages, known and not first
    if told.cycles > cycles:
        cycles, known = told.cycles, False
    every = sorted((*terms, *own), key=lambda term: -term.cycles)
    engine = EngineCost(Engine(), len(commands), cycles)
    return Cost(cycles, tuple(every), known, every[0].name, PROFILE, (engine,))


def _in_rounds(setup: Setup, commands: Sequence[Command], most: int) -> Cost:
    """A lower bound of launches of which software waits for some, or some run side by side: the slowest lane of each
    round, one round behind the other. What software takes, and lanes take from each other, is not counted.
    """
    groups: dict[tuple[int, int], list[int]] = {}
    for number, place in enumerate(setup.launched):
        groups.setdefault(place, []).append(number)
    slowest: dict[int, Cost] = {}
    for (turn, _), numbers in groups.items():
        own = replace(setup, launched=(), each=tuple(setup.each[n] for n in numbers) if setup.each else ())
        lane = price_on(own, [commands[n] for n in numbers], most)
        if turn not in slowest or lane.cycles > slowest[turn].cycles:
            slowest[turn] = lane
    rounds, lanes = len(slowest), len({lane for _, lane in groups})
    cycles = sum(one.cycles for one in slowest.values())
    told = [f"{rounds:,} rounds, each behind the last response of the one before"] if rounds > 1 else []
    told += [f"the slowest of {lanes:,} lanes side by side"] if lanes > 1 else []
    sums: dict[str, Term] = {"launches": Term("launches", cycles, "software", "; ".join(told), LAUNCHES)}
    for term in (term for one in slowest.values() for term in one.terms):
        held = sums.get(term.name)
        why = f"the sum of {rounds:,} rounds" if rounds > 1 else term.why
        sums[term.name] = replace(term, cycles=term.cycles + (held.cycles if held else 0), why=why)
    every = sorted(sums.values(), key=lambda term: -term.cycles)
    return Cost(cycles, tuple(every), False, every[0].name, PROFILE, (EngineCost(Engine(), len(commands), cycles),))


def _alone(setup: Setup, commands: Sequence[Command], depth: Depth, most: int) -> tuple[Sequence[Term], float, bool]:
    """The bounds of one back-end, its cycles, and whether these are the law's own."""
    coupled = [is_coupled(setup.own(number).request) for number in range(len(commands))]
    if len(set(coupled)) > 1:
        terms, law = _mixed(setup, commands, depth, coupled)
        known = False
    elif coupled and coupled[0]:
        totals, runs = measured(setup, commands)
        terms = bounds(totals, depth)
        law = float(exact(runs, depth)) if runs else max((t.cycles for t in terms), default=0.0)
        known = bool(runs) and all(run.plain for run in runs)
    else:
        terms = bounds_of(setup, apart_totals(setup, commands))
        law, known = terms[0].cycles, False
    if known or setup.request.compute or sum(map(sum, (_beat_floor(setup, one) for one in commands))) > most:
        return terms, law, known
    protocols = setup.request.src_protocol, setup.request.dst_protocol
    found = cycles_apart(setup.backend, depth.memory, protocols, Requests(setup, commands).requests())
    return terms, max(law, found or 0), found is not None and is_measured(*protocols)


def _mixed(
    setup: Setup, commands: Sequence[Command], depth: Depth, coupled: Sequence[bool]
) -> tuple[Sequence[Term], float]:
    """The bounds of commands of which some are coupled: those of each kind take their time, and all data goes through
    the same ports, a beat a cycle.
    """
    beats = [_beat_floor(setup, command) for command in commands]
    lead = 2 * depth.memory.latency + 2
    every = [
        Term(f"{side} data", float(total + lead), f"{side} port", f"{total:,} beats, one a cycle", MEASURED)
        for side, total in zip(("read", "write"), map(sum, zip(*beats, strict=True)), strict=True)
    ]
    own: list[Term] = []
    for kind in (True, False):
        numbers = [number for number, one in enumerate(coupled) if one is kind]
        alone = replace(setup, each=tuple(setup.each[number] for number in numbers))
        own += _alone(alone, [commands[number] for number in numbers], depth, 0)[0]
    for term in sorted(own, key=lambda term: -term.cycles):
        if all(term.name != other.name for other in every):
            every.append(term)
    return every, max(term.cycles for term in every)


def bounds_of(setup: Setup, totals: Totals | ApartTotals) -> Sequence[Term]:
    """Cycles that no transfers with these totals can beat on this engine, the largest first."""
    memory = memory_of(setup)
    if isinstance(totals, Totals):
        return bounds(totals, Depth.of(setup.backend, memory))
    terms = bounds_apart(totals, setup.backend, memory, (setup.request.src_protocol, setup.request.dst_protocol))
    # what an accelerator writes has another length
    return [term for term in terms if term.name == "read data" or not setup.request.compute]


def totals_of(setup: Setup, commands: Sequence[Command]) -> Totals | ApartTotals:
    """What a lower bound of commands needs to know."""
    return measured(setup, commands)[0] if is_coupled(setup.request) else apart_totals(setup, commands)


def apart_totals(setup: Setup, commands: Sequence[Command]) -> ApartTotals:
    """Beats and bursts of both sides, without a list of them."""
    beats = [_beat_floor(setup, command) for command in commands]
    bursts = [
        [_burst_floor(setup.own(number), command, (side,)) for side in ("read", "write")]
        for number, command in enumerate(commands)
    ]
    return ApartTotals(*map(sum, zip(*beats, strict=True)), *map(sum, zip(*bursts, strict=True)))


def _shared_out(setup: Setup, commands: Sequence[Command], depth: Depth) -> Sequence[Term]:
    """The cycles of each of several back-ends that work side by side, by the law: the slowest decides."""
    found = Requests(setup, commands)
    if found.count > EXACT:
        raise InputError(f"{found.count:,} transfers through mp_dist", None, f"at most {EXACT:,} are priced")
    if sum(piece_count(setup, request) for request in found.requests()) > EXACT:
        return _by_bytes(setup, found)
    own: dict[int, list[Request]] = {}
    for request in found.requests():
        for number, piece in pieces(setup, request):
            own.setdefault(number, []).append(piece)
    terms = []
    for number, held in sorted(own.items()):
        least = -(-sum(request.length for request in held) // setup.backend.word)
        cycles = of_pieces(setup, held, depth.memory) or least
        why = f"{len(held):,} pieces; {APART}"
        terms.append(Term(f"back-end {number}", float(cycles), f"back-end {number}", why, "iDMA paper, 2.2 and 3.4"))
    return terms


def of_pieces(setup: Setup, held: Sequence[Request], memory: MemorySystem) -> int | None:
    """The cycles of 1D transfers back to back on one back-end; None where the law is not gone through."""
    if all(map(is_coupled, held)):
        meter = Meter(setup.backend)
        run = BurstRun(tuple(burst for request in held for burst in meter.beats(request)))
        if run.plain:
            return exact([run], Depth.of(setup.backend, memory))
    if setup.request.compute:
        return None
    protocols = setup.request.src_protocol, setup.request.dst_protocol
    return cycles_apart(setup.backend, memory, protocols, held)


def _by_bytes(setup: Setup, found: Requests) -> Sequence[Term]:
    """What the bytes of each of several back-ends take, where there are too many pieces to go through."""
    total = [sum(own) for own in zip(*(held_bytes(setup, request) for request in found.requests()), strict=True)]
    why = "its bytes alone: more pieces than are gone through"
    return [
        Term(f"back-end {number}", float(-(-size // setup.backend.word)), f"back-end {number}", why, "iDMA paper, 3.4")
        for number, size in enumerate(total)
    ]


def descriptor_cycles(setup: Setup, descriptor: Descriptor) -> int:
    """Cycles of one descriptor alone, at most: by the law where it was measured, else burst by burst, each alone.

    Raises InputError where it has more transfers than are gone through.
    """
    if descriptor.transfers > EXACT:
        raise InputError(f"a periodic descriptor of {descriptor.transfers:,} transfers", None, f"at most {EXACT:,}")
    backend, memory = setup.backend, memory_of(setup)
    every = list(requests(descriptor, backend.address_width))
    request = descriptor.request
    if is_coupled(setup.request) or is_measured(request.src_protocol, request.dst_protocol):
        cycles = of_pieces(setup, every, memory)
        if cycles is not None:
            return cycles + setup.shown_stages
    legal = (legalize(backend, one) for one in every)
    bursts = (pair for found in legal for side in ("read", "write") for pair in found.pairs(side))
    alone = sum(memory.latency + 2 + beats_of(at, count, backend.word) for at, count in bursts)
    return alone + setup.shown_stages


def programming(setup: Setup, commands: Sequence[Command]) -> int:
    """Accesses that the front-end needs for these commands, at one a cycle: instructions, register writes and the
    launching read, or the words of descriptors that are fetched.
    """
    total = 0
    for command in commands:
        dims = len(dims_of(command))
        if setup.front_end == "inst64":
            total += 3 + (2 if dims else 0)
        elif setup.front_end == "desc64":
            total += max(1, 32 // setup.backend.word) * prod(d.reps for d in dims_of(command))
        elif setup.front_end.startswith("reg64"):
            total += 1 + 6 + 6 * dims + 1
        elif setup.front_end.startswith("reg32"):
            total += 1 + 3 + 3 * dims + 1
        else:
            total += 1
    return total


def _why(setup: Setup, commands: Sequence[Command]) -> str:
    count = len(commands)
    return f"{count} descriptor{'s' if count != 1 else ''} through {setup.front_end}; later ones overlap the transfers"


def measured(setup: Setup, commands: Sequence[Command]) -> tuple[Totals, list[BurstRun]]:
    """The totals of all bursts of a coupled back-end; the bursts themselves where they are few enough."""
    found, own = Requests(setup, commands), setup.each or (setup.request,) * len(commands)
    windows = ((c, min(side_bits(setup.backend, request))) for c, request in zip(commands, own, strict=True))
    least = sum(prod(d.reps for d in dims_of(c)) * -(-length_of(c) >> bits) for c, bits in windows)
    if max(found.count, least) <= EXACT:
        meter = Meter(setup.backend)
        bursts: list[Beats] = []
        for request in found.requests():
            bursts += meter.beats(request)
            if len(bursts) > EXACT:
                break
        if len(bursts) <= EXACT:
            runs = [BurstRun(tuple(bursts))]
            return Totals.of(runs), runs
    sums = [_beat_floor(setup, command) for command in commands]
    at_least = sum(_burst_floor(setup.own(number), command) for number, command in enumerate(commands))
    read, write = sum(r for r, _ in sums), sum(w for _, w in sums)
    return Totals(read, write, max(read, write), at_least), []


def _beat_floor(setup: Setup, command: Command) -> tuple[int, int]:
    """Beats of both sides if no 1D transfer were cut inside a word."""
    import numpy as np

    word, length = setup.backend.word, length_of(command)
    out = []
    for side in ("read", "write"):
        lies = _residues(command, side, word)
        out.append(int((lies * -(-(np.arange(word) + length) // word)).sum()))
    return out[0], out[1]


def _burst_floor(setup: Setup, command: Command, sides: Sequence[str] = ("read", "write")) -> int:
    """Bursts of the side that has more of them."""
    import numpy as np

    r, length, most = setup.request, length_of(command), 0
    for side, protocol, reduced, llen in (
        ("read", r.src_protocol, r.src_reduce_len, r.src_max_llen),
        ("write", r.dst_protocol, r.dst_reduce_len, r.dst_max_llen),
    ):
        if side not in sides:
            continue
        window = 1 << window_bits(setup.backend, protocol, reduced, llen)
        lies = _residues(command, side, window)
        most = max(most, int((lies * -(-(np.arange(window, dtype=lies.dtype) + length) // window)).sum()))
    return most


def _residues(command: Command, side: str, modulus: int) -> NDArray[np.int64]:
    """How many 1D transfers of a command start at each address modulo `modulus`; in Python's numbers where there are
    too many for 63 bits.
    """
    import numpy as np

    port = command.read if side == "read" else command.write
    bytes_ = prod(dim.reps for dim in dims_of(command)) * (length_of(command) + modulus)
    found = np.zeros(modulus, dtype=np.int64 if bytes_ < 1 << 62 else object)
    found[port.base * command.unit_bits // 8 % modulus] = 1
    for dim in dims_of(command):
        stride = (dim.src_stride if side == "read" else dim.dst_stride) % modulus
        period = modulus // gcd(stride, modulus)
        whole, rest = divmod(dim.reps, period)
        walks = (np.arange(modulus // period)[:, None] + stride * np.arange(period)) % modulus
        lies = found[walks]
        sums = np.cumsum(np.concatenate([np.zeros_like(lies[:, :1]), lies, lies], axis=1), axis=1)
        end = period + 1  # where a walk's sum up to its first place stands, one turn before it included
        turns = whole * lies.sum(axis=1, keepdims=True)
        found[walks] = turns + sums[:, end:] - sums[:, end - rest : end + period - rest]
    return found
