"""What may run beside DMA: the accesses of a program as nests over banks, and sets of them that may run at once.

Knows: accesses, the iterations around them, slices that accesses and DMA reach, what orders them.
Does not know: limits (`starvation_limit` adds up), how a longest run is proved, how a finding is shown.
Law: beside one iteration of one engine's part of a DMA transfer, in one slice that it works in, no set of accesses that
may run at once is left out, each with its longest run among the iterations that nothing orders against that one. What
slices a piece reaches is the union over its iterations, and several accesses may each be longest beside another
iteration of DMA: that errs to the side of not proving, and `sure` says where it does not.

Source: "Memory Performance" (Bank Starvation; Cumulative Bank Access Constraint), docs/machines/rngd.md 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from itertools import count as count_up
from math import prod

from dmaverify.lower.adapters import bank_bytes, memory_text
from dmaverify.program.access import Access
from dmaverify.program.antichains import antichains
from dmaverify.program.command import Command, Sequencer
from dmaverify.program.schedule import Order, Step
from dmaverify.prove.flow.accesses.slices import MOST_SLICES, Slices, TooManySlices, access_slices, touched_slices
from dmaverify.prove.flow.accesses.touches import StepWork, Touch
from dmaverify.prove.flow.starvation.bank_runs import AccessNest, Banks, Runs, bank_runs, nest_of
from dmaverify.prove.flow.starvation.iterations import (
    TurnWindow,
    Way,
    iterations_beside,
    longest_of,
    may_be_at_once,
    nests_of_iterations,
    turns_by_slice,
    turns_of_access,
    waits_between,
    window_beside,
)
from dmaverify.prove.flow.starvation.starvation_limit import AccessSum, Limit, cumulative
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

_MANY = f"it reaches over more than {MOST_SLICES:,} slices, which are not told apart"
MOST_TRIED = 32  # iterations of DMA at each end and in the middle, to see one beside which several accesses are longest


@dataclass(frozen=True)
class AccessPart:
    """One access of an operation: its nests and the loops around them, the slices that it reaches; and, of the
    iterations in a window, the nests (one, where they follow each other) and their longest runs bank by bank.
    """

    number: int
    step: int
    piece: int
    access: Access
    ways: tuple[Way, ...]
    count: int  # iterations of the step
    slices: Slices
    element_bytes: int
    lane: str
    exact: bool  # False: no slice, or no iteration of DMA, may see all of a run
    some: bool  # a slice that sees a part of the iterations only
    nests: tuple[AccessNest, ...] = ()
    runs: Runs = Runs(())

    def within(self, window: TurnWindow, banks: Banks) -> AccessPart:
        """Of the iterations in a window."""
        whole = TurnWindow(0, self.count, self.count)
        each = [nests_of_iterations(way, banks, whole if self.some else window) for way in self.ways]
        nests = tuple(dict.fromkeys(nest for own, _ in each for nest in own))
        exact = all(sure for _, sure in each) and not (self.some and window.most < self.count)
        runs = longest_of([bank_runs(nest, banks) for nest in nests])
        return replace(self, nests=nests, runs=runs, exact=self.exact and exact)


@dataclass(frozen=True)
class BesideDma:
    """Accesses that may all run at once beside a DMA step in one slice. `sure`: one iteration of DMA sees them all."""

    dma: int
    members: tuple[AccessPart, ...]
    sure: bool
    sum: AccessSum


# ---------------------------------------------------------------- accesses as nests


def access_parts(
    steps: Sequence[Step], works: Sequence[StepWork], order: Order, target: Target, banks: Banks, unfit: list[str]
) -> Iterator[AccessPart]:
    """Accesses to a memory with banks: the tier that has slices."""
    numbers = count_up()
    for step, work in enumerate(works):
        for access, command in work.accesses:
            if not target.tiers[access.memory.tier].slice_stride_bytes:
                continue
            bits = target.dtypes[access.dtype]
            nest = access_nest(access, command, bits)
            if nest is None:
                unfit.append(f"`{access.name}`: no size of access fits its packets, so its runs are not known")
                continue
            turns, apart, exact = turns_of_access(access)
            waits = waits_between(order, step)
            piece = order.of_step[step][0]  # an operation works in one lane
            try:
                slices, count = access_slices(access, target), prod(n for _, n in steps[step].loops)
            except TooManySlices:
                unfit.append(f"`{access.name}`: {_MANY}")
                continue
            by_slice = [] if exact or nest.base is None else turns_by_slice(access, banks)
            each: list[tuple[tuple[Way, ...], Slices]] = [
                (tuple(one.ways(nest, turns, waits)), slices.of(one.slices, moving=not one.always)) for one in by_slice
            ]
            for ways, reached in each or [(((nest, turns, len(turns) if waits else apart),), slices)]:
                yield AccessPart(
                    next(numbers), step, piece, access, ways, count, reached, max(1, bits // 8),
                    order.pieces[piece].lane, exact or bool(by_slice), bool(by_slice),
                )  # fmt: skip


def access_nest(access: Access, command: Command, dtype_bits: int) -> AccessNest | None:
    """The accesses to memory, one after the other; None where no size of access fits the packet.

    Addresses and packets that begin or end inside a byte have no accesses of whole bytes.
    """
    size, per_byte = bank_bytes(command, access, dtype_bits), 8 // command.unit_bits
    port = command.read if access.engine == "fetch" else command.write
    text = memory_text(command, access)
    bytes_ = _in_bytes(replace(text, base=port.base if text.base is None else text.base), per_byte)
    if bytes_ is None or size < 1:
        return None
    try:
        return nest_of(bytes_, size)
    except ValueError:
        return None


def _in_bytes(text: Sequencer, per_byte: int) -> Sequencer | None:
    """The same addresses counted in bytes; None where it goes to a part of one."""
    *outer, inner = text.entries
    numbers = (text.base, text.packet, inner.count, *(entry.stride for entry in outer))
    if per_byte == 1:
        return text
    if inner.stride != 1 or any(number is not None and number % per_byte for number in numbers):
        return None
    entries = [replace(entry, stride=entry.stride // per_byte) for entry in outer]
    base = None if text.base is None else text.base // per_byte
    inner = replace(inner, count=inner.count // per_byte)
    return replace(text, entries=(*entries, inner), packet=text.packet // per_byte, base=base)


def _named_runs(members: Sequence[AccessPart]) -> dict[str, Runs]:
    return {f"{part.step}:{part.access.name}:{index}": part.runs for index, part in enumerate(members)}


# ---------------------------------------------------------------- what runs beside DMA


def beside_dma(
    dma: Mapping[int, Sequence[Touch]], order: Order, parts: Sequence[AccessPart], target: Target, banks: Banks,
    limit: Limit, unfit: list[str],
) -> list[BesideDma]:  # fmt: skip
    """Of every piece of DMA the accesses that may all run at once beside it in one slice; each set of accesses, with
    their windows, once.
    """
    chosen = dict.fromkeys(part.step for part in parts)
    groups = [_mask(i for i, p in enumerate(parts) if p.step in group) for group in antichains(order, chosen)]
    known: dict[tuple[int, TurnWindow], AccessPart] = {}
    found: dict[tuple[tuple[int, TurnWindow], ...], BesideDma] = {}
    for piece, touches in dma.items():
        windows = [window_beside(order, piece, part.piece, part.count) for part in parts]
        free = _mask(i for i, window in enumerate(windows) if window.most)
        sure_ones = [touch for touch in touches if touch.sure]
        try:
            reached, certainly = touched_slices(touches, target), touched_slices(sure_ones, target)
        except TooManySlices:
            unfit.append(f"{touches[0].what}: {_MANY}")
            continue
        columns, certain = _columns(reached, parts), _columns(certainly, parts)
        for column, group in product(columns, groups):
            both = free & group & column
            left = [tuple((i, windows[i]) for i in range(len(parts)) if both >> i & 1)]
            for key in left:  # grows: where not all of them surely starve it, some of them may
                if not key or (key in found and found[key].sure):
                    continue
                for i, window in key:
                    if (i, window) not in known:
                        known[i, window] = parts[i].within(window, banks)
                members = tuple(known[one] for one in key)
                total = cumulative(_named_runs(members), limit.dma)
                sure = any(not _mask(i for i, _ in key) & ~mask for mask in certain)
                sure = sure and _sure(reached, piece, members, order)
                sure = sure and _at_one_time(piece, members, [window for _, window in key], order)
                found[key] = BesideDma(order.pieces[piece].step, members, sure, total)
                if not sure and not total.within(limit):
                    left += [one for one in combinations(key, len(key) - 1) if one not in left]
    return list(found.values())


def _at_one_time(piece: int, members: Sequence[AccessPart], windows: Sequence[TurnWindow], order: Order) -> bool:
    """Whether some iteration of DMA has all of them beside it, each as long as it gets, and any two beside each other:
    of many iterations those at both ends and in the middle are tried.
    """
    if len(members) == 1:
        return True
    count = max((part.count for part in members if order.one_body(piece, part.piece)), default=1)
    tried = {at for mid in (0, count // 2, count) for at in range(mid - MOST_TRIED, mid + MOST_TRIED)}
    for at in sorted(at for at in tried if 0 <= at < count):
        turns = [iterations_beside(order, piece, at, part.piece, part.count) for part in members]
        longest = all(
            len(own) == (window.most if len(part.nests) == 1 else window.end - window.first)
            for own, part, window in zip(turns, members, windows, strict=True)
        )
        both = combinations(zip(members, turns, strict=True), 2)
        if longest and all(
            may_be_at_once(order, one.piece, ones, other.piece, others) for (one, ones), (other, others) in both
        ):
            return True
    return False


def _sure(reached: Slices, piece: int, members: Sequence[AccessPart], order: Order) -> bool:
    """Whether there are iterations of all of them that share a slice while nothing orders them: one may move, if the
    loop that moves it is not around another of them.
    """
    moving = [p.piece for p in members if p.slices.moving] + ([piece] if reached.moving else [])
    every = [piece, *(p.piece for p in members)]
    alone = not moving or not any(order.one_body(moving[0], other) for other in every if other != moving[0])
    return len(moving) <= 1 and alone and all(p.exact for p in members)


def _columns(reached: Slices, parts: Sequence[AccessPart]) -> set[int]:
    """Per slice that DMA reaches, the parts (bit i: part i) that reach it too; each set once."""
    out: dict[tuple[object, int], int] = {}
    for i, part in enumerate(parts):
        for memory, slices in part.slices.reached.items():
            for slice_ in slices & reached.reached.get(memory, frozenset()):
                out[memory, slice_] = out.get((memory, slice_), 0) | 1 << i
    return set(out.values())


def _mask(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


def dma_touches(works: Sequence[StepWork], order: Order, target: Target) -> dict[int, list[Touch]]:
    """Per piece of a DMA step (one engine's part of it), what it touches of memory with banks."""
    out: dict[int, list[Touch]] = {}
    for step, work in enumerate(works):
        for touch in () if work.accesses else work.touches:
            if target.tiers[touch.memory[0]].slice_stride_bytes:
                out.setdefault(order.index(step, touch.lane), []).append(touch)
    return out
