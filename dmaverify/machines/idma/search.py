"""The cheapest descriptors for a move on one engine, of those tried, proved.

Knows: boxes of loops of a move, contiguous runs, dimensions of the mid-end, which loops software must unroll.
Does not know: plan files, forms of front-ends.
Law: a result was proved by `check_transfer`; `optimal` means that its cycles are at most a bound that holds for every
set of 1D transfers that moves each live byte once. The bound counts the runs where every plan has them: no run ends
where another begins on both sides, and no padding between two runs could be moved with them. Where padding could be,
it counts the bus words and windows that hold live bytes; where the source holds bytes at several places, those of the
destination, and on the other side as few as so many bytes need.

Source: iDMA paper, 2.2 and 3.1 (higher-dimensional transfers in software); docs/design.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from math import prod

from dmaverify.cost.model import Cost
from dmaverify.language.expr import axes_of
from dmaverify.layout.addresses import Layout
from dmaverify.lower.programs import given_program, program_of_transfer, space_of
from dmaverify.machines.idma.floors import (
    bridged,
    bytes_floor,
    floor,
    gathered,
    live_runs,
    runs_are_maximal,
    words_floor,
)
from dmaverify.machines.idma.law import Depth
from dmaverify.machines.idma.legalizer import is_coupled
from dmaverify.machines.idma.nests import BoxNest, fewest_unrolled, in_fields, nest_of, trimmed
from dmaverify.machines.idma.price import (
    Requests,
    fetched,
    measured,
    memory_of,
    price_on,
    programming,
    totals_of,
)
from dmaverify.machines.idma.setup import Setup, setup_of, setup_of_commands
from dmaverify.program.command import Command, Entry, GivenCommand, Loop, Sequencer
from dmaverify.program.move import Transfer
from dmaverify.program.space import unit_bits_of
from dmaverify.prove.move.check import Options
from dmaverify.prove.move.in_place import lie_apart
from dmaverify.synth.proved import DEFAULTS, Accept, answered, first_proved
from dmaverify.synth.regions import WALKED, Cover, NoPlan, both_layouts, covers
from dmaverify.synth.result import Before, Synthesis
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

MOST_COMMANDS = 4096
MOST_PROVED = 16
"""Descriptor lists that are asked for a proof, the cheapest first."""
MOST_ORDERS = 120
PRICED_ORDERS = 4096
"""1D transfers up to which every order of the loops is priced by the law."""
NOT_COVERED = (
    "contention with others, a memory that stalls, the time of software between descriptors",
    "moves through another memory; descriptors that move a byte twice",
)
TURNED_RUNS = 256
"""1D transfers up to which regions that lie apart are moved from the last address to the first as well: which burst is
the first and the last one counts in short lists.
"""
RANKED = 1 << 10
"""Beats up to which programs that are not coupled are ranked by the law; above, by its bounds."""
AS_WRITTEN = "as written"
"""How a list is said that is the plan's own: no cover stands behind it, so its runs are no bound."""


def synthesize(
    transfer: Transfer, target: Target, *, axes: Mapping[str, int] | None = None, commands: int | None = None,
    options: Options = DEFAULTS, accept: Accept | None = None,
) -> Synthesis:  # fmt: skip
    """The descriptors of a move with a bound and its evidence.

    `commands` is a hard limit of descriptors. Raises InputError for options that mean no engine.
    """
    setup = setup_of(target, transfer.options)
    named = dict(axes or {}) or {**axes_of(transfer.source.mapping), **axes_of(transfer.dest.mapping)}
    bare = replace(transfer.with_given(), facts=())
    own = () if transfer.facts else transfer.given  # what a form says besides, no list of descriptors has

    def first(longest: int, own: Sequence[GivenCommand]) -> Synthesis:
        every = _found(bare, own, target, setup, commands or MOST_COMMANDS, longest)
        try:
            return first_proved(
                (_proposal(bare, transfer, target, named, setup, one) for one in every), options, accept
            )
        except NoPlan as error:
            tried = every[0].tried
            which = f"of {tried:,} descriptor lists, the {len(every):,} that were tried are not proved"
            said = f"{which}; of the cheapest: {error.message}" if tried > 1 else error.message
            raise replace(error, message=said) from None

    def search() -> Synthesis:
        """In runs as long as the engine takes; where it takes none such, for where they begin, element by element, or
        byte by byte.
        """
        refusals: list[NoPlan] = []
        shorter = dict.fromkeys((max(1, target.dtypes[bare.dtype] // 8), 1))
        for longest, written in ((setup.length_max, own), *((length, ()) for length in shorter)):
            try:
                return first(longest, written)
            except NoPlan as error:
                refusals.append(error)
        raise refusals[0]

    return answered(bare, target, named, "", search)


# ---------------------------------------------------------------- search


@dataclass(frozen=True, slots=True)
class _FoundBox:
    program: tuple[GivenCommand, ...]
    commands: tuple[Command, ...]
    nests: tuple[BoxNest, ...]
    how: str
    live: tuple[BoxNest, ...]  # the runs of live bytes alone
    mixed: bool  # the source holds bytes at several places
    bytes: int  # that every plan moves
    tried: int = 0  # lists in all
    fewest: int = 0  # descriptors of the shortest of them


def _found(
    move: Transfer, own: Sequence[GivenCommand], target: Target, setup: Setup, most: int, longest: int
) -> list[_FoundBox]:  # fmt: skip
    """The descriptor lists that may be proved, the cheapest first; the plan's `own` is one of them. `longest`: bytes of
    a run at most.
    """
    bits = target.dtypes[move.dtype]
    layouts = both_layouts(move, target)
    if unit_bits_of(bits) != 8:
        raise NoPlan("core/well-formed", "the engine moves bytes; a type below a byte does not fill them", "pack it")
    every = covers(*layouts)
    alone = next((cover for cover in every.each if WALKED not in cover.how), None)
    live = tuple(nest_of(box, setup.length_max) for box in alone.boxes) if alone is not None else ()
    memories = {target.memory_of(tensor.tier) for tensor in (move.source, move.dest)}
    apart = len(memories) > 1 or bool(lie_apart(move.source, move.dest, space_of(target, move.source.tier), bits))
    ranked: list[tuple[tuple[float, int, bool, int], _FoundBox]] = []
    tried, fewest = 0, sys.maxsize

    def rank(program: Sequence[GivenCommand], nests: tuple[BoxNest, ...], how: str, *, against: bool) -> None:
        made = given_program(program, move.source, move.dest, bits, target)
        if isinstance(made, tuple):
            place = (price_on(setup, made, most=RANKED).cycles, len(program), against, tried)
            ranked.append((place, _FoundBox(tuple(program), made, nests, how, live, every.mixed, every.live)))

    for cover in every.each:
        for nests in _nests(cover, setup, layouts[1] if WALKED in cover.how else None, longest):
            kept = [fewest_unrolled(nest, setup.outer) for nest in nests]
            count = sum(prod(loop.count for loop in unrolled) for _, unrolled in kept)
            fewest = min(fewest, count)
            programs = _programs(nests, kept, (move.source.tier, move.dest.tier), apart=apart) if count <= most else ()
            for program, falling in programs:
                tried += 1
                against = not apart and falling != (move.dest.base > move.source.base)
                rank(program, nests, cover.how, against=against)
        ranked = sorted(ranked, key=lambda item: item[0])[:MOST_PROVED]
    if 0 < len(own) <= most:
        rank(own, (), AS_WRITTEN, against=False)
        ranked.sort(key=lambda item: item[0])
    if not ranked:
        raise NoPlan(
            "idma/dims-max",
            f"the shortest list of descriptors of {setup.dims} dimensions that was tried has {fewest:,}, and {most:,} "
            "are allowed" if fewest > most else "no descriptor list that was tried can be written",
            "use an engine with more dimensions, or move the tensor in parts",
        )  # fmt: skip
    return [replace(one, tried=tried, fewest=fewest) for _, one in ranked]


def _nests(cover: Cover, setup: Setup, trim: Layout | None, field: int) -> list[tuple[BoxNest, ...]]:
    """The runs of a cover: in equal parts where one is longer than a field, or in whole fields (or words) and a rest.
    With `trim`, the layout of the destination, they end at their last live byte.
    """
    word = setup.backend.word
    found = [tuple(nest_of(box, field) for box in cover.boxes)]
    if any(box.chain[0] > field for box in cover.boxes):
        lengths = dict.fromkeys((field, field - field % word or field))
        found += [tuple(nest for box in cover.boxes for nest in in_fields(box, length)) for length in lengths]
    if trim is not None:
        found = [tuple(trimmed(nest, trim) for nest in nests) for nests in found]
    return list(dict.fromkeys(found))


def _programs(
    nests: Sequence[BoxNest], kept: Sequence[tuple[tuple[Loop, ...], tuple[Loop, ...]]], tiers: tuple[str, str], *,
    apart: bool,
) -> Iterator[tuple[tuple[GivenCommand, ...], bool]]:  # fmt: skip
    """Descriptor lists in several orders of their loops, and whether they go from the last address to the first, which
    they do as well where the regions share bytes.
    """
    runs = sum(prod(loop.count for loop in nest.loops) for nest in nests)
    small = runs <= PRICED_ORDERS
    count = len(kept[0][0]) if len(nests) == 1 else 0
    orders = list(permutations(range(count)))[:MOST_ORDERS] if small and count > 1 else [tuple(range(count))]
    for falling in (False,) if apart and runs > TURNED_RUNS else (False, True):
        for order in orders:
            program: list[GivenCommand] = []
            for nest, (inside, unrolled) in list(zip(nests, kept, strict=True))[:: -1 if falling else 1]:
                loops = [inside[n] for n in order] if len(order) == len(inside) else list(inside)
                whole = (nest, loops, list(unrolled))
                program += _descriptors(*(_from_the_end(*whole) if falling else whole), tiers)
            yield tuple(program), falling


def _from_the_end(
    nest: BoxNest, inside: Sequence[Loop], unrolled: Sequence[Loop]
) -> tuple[BoxNest, list[Loop], list[Loop]]:
    """The same runs, the last one first."""
    loops = (*inside, *unrolled)
    read, write = (sum((loop.count - 1) * getattr(loop, side) for loop in loops) for side in ("read", "write"))
    turned = [replace(loop, read=-loop.read, write=-loop.write) for loop in loops]
    return replace(nest, read=nest.read + read, write=nest.write + write), turned[: len(inside)], turned[len(inside) :]


def _descriptors(
    nest: BoxNest, inside: Sequence[Loop], unrolled: Sequence[Loop], tiers: tuple[str, str]
) -> Iterator[GivenCommand]:
    for steps in product(*(range(loop.count) for loop in unrolled)):
        read = nest.read + sum(s * loop.read for s, loop in zip(steps, unrolled, strict=True))
        write = nest.write + sum(s * loop.write for s, loop in zip(steps, unrolled, strict=True))
        sides = []
        for base, side, tier in ((read, "read", tiers[0]), (write, "write", tiers[1])):
            entries = tuple(Entry(loop.count, getattr(loop, side), loop.label) for loop in inside)
            sides.append(Sequencer((*entries, Entry(nest.length, 1)), nest.length, tier, base))
        yield GivenCommand(None, sides[0], sides[1])


# ---------------------------------------------------------------- price and bound


def _proposal(
    move: Transfer, original: Transfer, target: Target, axes: Mapping[str, int], setup: Setup, found: _FoundBox
) -> Synthesis:
    """A list with its price, and the bound that holds for all of them."""
    commands = found.commands
    cost = price_on(setup, commands)
    live = live_runs(found.live)
    if found.mixed and live is not None:
        live = gathered(live)
    forced = not found.mixed and WALKED not in found.how and runs_are_maximal(found.nests)
    forced = forced and live is not None and not bridged(live)
    words = words_floor(setup, live) if live is not None else bytes_floor(setup, found.bytes)
    first = float(fetched(setup, commands, Depth.of(setup.backend, memory_of(setup)))[0])  # any chain has a first one
    least = floor(setup, totals_of(setup, commands)) if forced else words
    bound = least + first
    lawful = cost.exact or bool(first and is_coupled(setup.request) and measured(setup, commands)[1])
    # of a chain the fetch alone is not the law's
    written = program_of_transfer(original, target.dtypes[move.dtype], target)
    before = None
    if isinstance(written, tuple) and written:
        price = price_on(setup_of_commands(target, original), written)
        before = Before(price.cycles, price, written, max(c.packet * c.unit_bits // 8 for c in written))
    return Synthesis(
        replace(move, given=found.program), target, axes, cost.profile, commands, cost, cost.cycles, bound,
        lawful and cost.cycles <= bound,
        _evidence(setup, found, commands, cost, bound, forced, listed=live is not None),
        before=before, split=found.how, evaluations=found.tried, not_covered=NOT_COVERED,
    )  # fmt: skip


def _evidence(
    setup: Setup, found: _FoundBox, commands: Sequence[Command], cost: Cost, bound: float, forced: bool, *, listed: bool
) -> tuple[str, ...]:
    """What supports the plan and the bound, in sentences."""
    count, runs = len(commands), Requests(setup, commands).count
    shape = f"{count:,} descriptor{'s' if count != 1 else ''} of up to {setup.dims} dimensions, {runs:,} runs"
    fewer = "no list that was tried has fewer" if count <= found.fewest else f"the shortest tried has {found.fewest:,}"
    lines = [
        f"{shape}; {fewer}",
        f"{found.tried} orders and covers priced; programming takes {programming(setup, commands):,} accesses",
    ]
    if not listed:
        lines.append(
            f"the runs were not looked at one by one: every plan moves {found.bytes:,} bytes, {bound:,.0f} cycles"
        )
    elif found.mixed:
        lines.append(
            f"the source holds bytes at several places: every plan writes these words, and reads as many bytes, "
            f"{bound:,.0f} cycles"
        )
    elif not forced:
        lines.append(
            f"padding may be moved or not: every plan touches the words that hold live bytes, {bound:,.0f} cycles"
        )
    else:
        lines.append(
            f"no run ends where another begins on both sides: every plan has these runs, and {bound:,.0f} cycles"
        )
    if not cost.exact:
        why = "the law is exact for AXI and OBI alone, on up to 65,536 bursts or beats"
        why = "the fetch of descriptors is counted, not measured" if setup.front_end == "desc64" else why
        lines.append(f"the cycles are a lower bound: {why}")
    return tuple(lines)
