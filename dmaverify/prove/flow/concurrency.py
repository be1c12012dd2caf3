"""Bank starvation of a program: what may run beside DMA, how long it can hold a bank, and whether DMA is still served.

Knows: accesses as nests over banks, sets of operations that may run at once, the limit from the target's data, layouts.
Does not know: how runs are computed and proved (transfer.starvation, prove.starvation), slices (prove.slices), how a
finding is shown.
Law: the sum is over everything that may run at once beside one DMA transfer in one slice; it is within the limit only
with every longest run proved. A loop around an access is one more loop of its nest where nothing surely runs between
two iterations; where something does, the longest run of any iteration counts. What slices a step reaches is the union
over its iterations: that errs to the side of not proving, and a sum that rests on it alone is UNKNOWN. A change of
operation within a context is taken to end a run: the documents do not say so, and the verdict does (`chained`).

Source: "Memory Performance" (Bank Starvation; Cumulative Bank Access Constraint), docs/machines/rngd.md 6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from dmaverify.errors import InputError
from dmaverify.language.expr import Padding, terms_of
from dmaverify.lower.adapters import bank_bytes, memory_text
from dmaverify.program.access import Access
from dmaverify.program.command import Command
from dmaverify.program.schedule import Order, Step, antichains
from dmaverify.prove.flow.bank_runs import (
    AccessNest,
    BankRun,
    Banks,
    Proposal,
    Runs,
    bank_runs,
    follow,
    layout_proposals,
    nest_of,
)
from dmaverify.prove.flow.iterations import (
    MOST_OPERATIONS,
    longest_of,
    nests_of_iterations,
    operations,
    turns_by_slice,
    turns_of_access,
    waits_between,
)
from dmaverify.prove.flow.slices import Slices, access_slices, touched_slices
from dmaverify.prove.flow.starvation import prove_run
from dmaverify.prove.flow.starvation_limit import AccessSum, Limit, banks_from, cumulative, limit_from, limits_from
from dmaverify.prove.flow.touches import StepWork
from dmaverify.prove.smt import Session
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

SECTION = "starvation"
READINGS = ("threshold", "dma-request")


@dataclass(frozen=True, slots=True)
class Culprit:
    """An access of a sum: its longest run on the worst bank, and a row that would keep the sum within the limit."""

    step: int
    access: Access
    run: BankRun
    proposal: Proposal | None = None
    row: str = ""


@dataclass(frozen=True, slots=True)
class Starving:
    """Operations that may run at once beside the DMA of step `dma`, with too long a sum on one bank."""

    dma: int
    steps: tuple[int, ...]
    sum: AccessSum
    culprits: tuple[Culprit, ...]


@dataclass(frozen=True)
class Starvation:
    """`worst`: the largest sum beside DMA, 0 where nothing runs beside it. `differs`: readings with another verdict."""

    status: str
    limit: Limit | None
    found: tuple[Starving, ...] = ()
    worst: int = 0
    proved: int = 0
    differs: tuple[str, ...] = ()
    unfit: tuple[str, ...] = ()  # accesses that make no whole accesses
    open_: tuple[str, ...] = ()  # why a sum above the limit is no finding
    bounds: tuple[
        tuple[int, tuple[int, ...]], ...
    ] = ()  # step and runs, bank by bank, of every access if all are proved
    beside: tuple[int, ...] = ()  # steps of DMA
    chained: int = 0  # accesses in a row if a change of operation ended no run, where above the limit; -1: too many


@dataclass(frozen=True, slots=True)
class _AccessPart:
    """One access of an operation: the nests of its iterations (one, where they follow each other), their longest runs
    bank by bank, the slices that it reaches.
    """

    step: int
    access: Access
    nests: tuple[AccessNest, ...]
    runs: Runs
    slices: Slices
    element_bytes: int
    lane: str
    operations: tuple[AccessNest, ...]  # one by one, in order; none where they are too many
    exact: bool  # False: iterations share some of their slices, so that no slice may see all of a run


def starvation(
    steps: Sequence[Step],
    works: Sequence[StepWork],
    order: Order,
    target: Target,
    readings: Mapping[str, str],
    session: Session,
    *,
    every: bool = False,
) -> Starvation | None:
    """None where the target says nothing of starvation, or no access and DMA share memory. With `every` the longest
    runs of all accesses are proved, bank by bank, also of those that nothing runs beside.
    """
    section = target.raw.get(SECTION)
    if section is None:
        return None
    chosen = {name: readings[f"{SECTION}/{name}"] for name in READINGS if f"{SECTION}/{name}" in readings}
    limit, banks = limit_from(section, chosen), banks_from(target.geometry)
    unfit: list[str] = []
    parts = list(_parts(steps, works, order, target, banks, unfit))
    groups = list(_beside_dma(works, order, parts, target))
    if not groups:
        return Starvation("unknown", limit, unfit=tuple(unfit)) if unfit and _dma_slices(works, target) else None
    sums = [(dma, members, cumulative(_named_runs(members), limit.dma)) for dma, members, _ in groups]
    exact = {(dma, tuple(map(id, members))) for dma, members, sure in groups if sure}
    sums.sort(key=lambda one: (-one[2].total, one[0], [p.step for p in one[1]]))
    proofs = _Proofs(banks, session)
    bad = [one for one in sums if not one[2].within(limit)]
    needed = [part for _, members, _ in (bad or sums) for part in members]
    answers = {proofs.status(nest) for part in needed for nest in part.nests}
    found, open_ = [], []
    for dma, members, total in _first_of_each(bad):
        if (dma, tuple(map(id, members))) not in exact:
            names = ", ".join(f"`{part.access.name}`" for part in members)
            open_.append(f"{names} make {total.total} in a row beside `{steps[dma].name}` if iterations share a slice")
            continue
        culprits = tuple(_culprits(members, total, limit, banks, proofs))
        found.append(Starving(dma, tuple(dict.fromkeys(p.step for p in members)), total, culprits))
    status = "refuted" if found else "unknown" if unfit or open_ or answers != {"proved"} else "proved"
    bounds: tuple[tuple[int, tuple[int, ...]], ...] = ()
    if every and status == "proved" and {proofs.status(nest) for part in parts for nest in part.nests} == {"proved"}:
        bounds = tuple((part.step, part.runs.lengths) for part in parts)
    chained = _chained(sums, parts, order, limit, banks) if status == "proved" else 0
    return Starvation(
        status, limit, tuple(found), sums[0][2].total, len(proofs.known), _differs(section, sums, limit), tuple(unfit),
        tuple(open_), bounds, tuple(_dma_slices(works, target)), chained,
    )  # fmt: skip


# ---------------------------------------------------------------- accesses as nests


def _parts(
    steps: Sequence[Step], works: Sequence[StepWork], order: Order, target: Target, banks: Banks, unfit: list[str]
) -> Iterator[_AccessPart]:
    """Accesses to a memory with banks: the tier that has slices."""
    for step, work in enumerate(works):
        for access, command in work.accesses:
            if not target.tiers[access.memory.tier].slice_stride_bytes:
                continue
            bits = target.dtypes[access.dtype]
            nest = access_nest(access, command, bits)
            if nest is None:
                unfit.append(access.name)
                continue
            turns, apart, exact = turns_of_access(steps[step], access)
            if waits_between(order, step):
                apart = len(turns)
            lane, slices = order.pieces[order.of_step[step][0]].lane, access_slices(access, target)
            ways = [(nest, turns, slices)]
            by_slice = [] if exact or nest.base is None else turns_by_slice(access)
            if by_slice:
                ways = [(*one.nest(nest, turns), slices.of(one.slices, moving=not one.always)) for one in by_slice]
            for own, around, reached in ways:
                nests = nests_of_iterations(own, around, banks, apart)
                yield _AccessPart(
                    step, access, nests, longest_of([bank_runs(one, banks) for one in nests]),
                    reached, max(1, bits // 8), lane, operations(own, around), exact or bool(by_slice),
                )  # fmt: skip


def access_nest(access: Access, command: Command, dtype_bits: int) -> AccessNest | None:
    """The accesses to memory, one after the other; None where no size of access fits the packet.

    Addresses in half bytes and packets that end inside a byte have no accesses of whole bytes.
    """
    size = bank_bytes(command, access, dtype_bits)
    if command.unit_bits != 8 or size < 1:
        return None
    port = command.read if access.engine == "fetch" else command.write
    try:
        return nest_of(memory_text(command, access), size, port.base)
    except ValueError:
        return None


def _named_runs(members: Sequence[_AccessPart]) -> dict[str, Runs]:
    return {f"{part.step}:{part.access.name}:{index}": part.runs for index, part in enumerate(members)}


# ---------------------------------------------------------------- what runs beside DMA


def _beside_dma(
    works: Sequence[StepWork], order: Order, parts: Sequence[_AccessPart], target: Target
) -> Iterator[tuple[int, list[_AccessPart], bool]]:
    """(DMA step, accesses that may all run at once beside it in one slice, whether that slice is theirs in every
    iteration), each set of accesses once.
    """
    chosen = dict.fromkeys(part.step for part in parts)
    groups = [_mask(i for i, p in enumerate(parts) if p.step in group) for group in antichains(order, chosen)]
    pieces = [order.of_step[part.step][0] for part in parts]  # an operation works in one lane
    found: dict[int, tuple[int, bool]] = {}
    for dma, reached in _dma_slices(works, target).items():
        columns = _columns(reached, parts)
        for piece in order.of_step[dma]:
            free = _mask(i for i, other in enumerate(pieces) if not order.ordered(piece, other))
            for column, group in product(columns, groups):
                both = free & group & column
                if both:
                    sure = _sure(reached, piece, [part for _, part in _chosen(parts, both)], order)
                    if both not in found or (sure and not found[both][1]):
                        found[both] = (dma, sure)
    for mask, (dma, sure) in found.items():
        yield dma, [part for _, part in _chosen(parts, mask)], sure


def _sure(reached: Slices, piece: int, members: Sequence[_AccessPart], order: Order) -> bool:
    """Whether there are iterations of all of them that share a slice while nothing orders them: one may move, if the
    loop that moves it is not around another of them.
    """
    moving = [order.of_step[p.step][0] for p in members if p.slices.moving] + ([piece] if reached.moving else [])
    every = [piece, *(order.of_step[p.step][0] for p in members)]
    alone = not moving or not any(order.one_body(moving[0], other) for other in every if other != moving[0])
    return len(moving) <= 1 and alone and all(p.exact for p in members)


def _chosen(parts: Sequence[_AccessPart], mask: int) -> list[tuple[int, _AccessPart]]:
    return [(i, part) for i, part in enumerate(parts) if mask >> i & 1]


def _columns(reached: Slices, parts: Sequence[_AccessPart]) -> set[int]:
    """Per slice that DMA reaches, the parts (bit i: part i) that reach it too; each set once."""
    out: dict[tuple[object, int], int] = {}
    for i, part in enumerate(parts):
        for memory, slices in part.slices.reached.items():
            for slice_ in slices & reached.reached.get(memory, frozenset()):
                out[memory, slice_] = out.get((memory, slice_), 0) | 1 << i
    return set(out.values())


def _mask(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


def _dma_slices(works: Sequence[StepWork], target: Target) -> dict[int, Slices]:
    """Per DMA step, the slices of memory with banks that it reaches."""
    out: dict[int, Slices] = {}
    for index, work in enumerate(works):
        touches = [t for t in work.touches if target.tiers[t.memory[0]].slice_stride_bytes]
        if not work.accesses and touches:
            out[index] = touched_slices(touches, target)
    return out


def _first_of_each(
    bad: Sequence[tuple[int, list[_AccessPart], AccessSum]],
) -> Iterator[tuple[int, list[_AccessPart], AccessSum]]:
    """The worst sums; a set that another one holds already says nothing new."""
    shown: list[set[tuple[int, str]]] = []
    for dma, members, total in bad:
        key = {(p.step, p.access.name) for p in members}
        if not any(key <= other for other in shown):
            shown.append(key)
            yield dma, members, total


# ---------------------------------------------------------------- proofs and proposals


class _Proofs:
    """The longest run of every nest on every bank, proved once."""

    def __init__(self, banks: Banks, session: Session) -> None:
        self.banks = banks
        self.session = session
        self.known: dict[AccessNest, str] = {}

    def status(self, nest: AccessNest) -> str:
        """Addresses matter modulo the period of the banks, so nests that agree there share one proof."""
        period = self.banks.period_bytes
        loops = tuple((count, stride % period) for count, stride in nest.loops)
        alike = replace(nest, loops=loops, base=None if nest.base is None else nest.base % period)
        if alike not in self.known:
            bounds = bank_runs(alike, self.banks).lengths
            self.known[alike] = prove_run(alike, self.banks, self.session, bounds=bounds).status
        return self.known[alike]


def _culprits(
    members: Sequence[_AccessPart], total: AccessSum, limit: Limit, banks: Banks, proofs: _Proofs
) -> Iterator[Culprit]:
    """The accesses on the worst bank, the longest run first; the first layout that alone would do, for each."""
    touching = sorted((p for p in members if p.runs.lengths[total.bank]), key=lambda p: -p.runs.lengths[total.bank])
    for part in touching:
        others = [a - b for a, b in zip(total.per_bank, part.runs.lengths, strict=True)]
        run = part.runs.per_bank[total.bank]
        found = _layout(part, others, limit, banks, proofs) if len(part.nests) == 1 else None
        yield Culprit(part.step, part.access, run, *(found or (None, "")))


def _layout(
    part: _AccessPart, others: Sequence[int], limit: Limit, banks: Banks, proofs: _Proofs
) -> tuple[Proposal, str] | None:
    """The smallest padding of a row that brings every bank within the limit, its longest run proved again."""
    rows: dict[int, str] = {}
    size, text = 1, ""
    for term in reversed(terms_of(part.access.memory.element)[1:]):
        size *= term.size
        bare = term.inner if isinstance(term, Padding) and not text else term
        text = f"{term}, {text}" if text else str(term)
        rows.setdefault(size, f"[{text}]" if "," in text else str(bare))
    if not rows:
        return None
    proposals = layout_proposals(part.nests[0], banks, tuple(rows), part.element_bytes, limit.allowed, others)
    for proposal in sorted(proposals, key=lambda p: p.padded_elements / p.row_elements):
        if proofs.status(proposal.nest) == "proved":
            return proposal, f"{rows[proposal.row_elements]} # {proposal.padded_elements}"
    return None


def _chained(
    sums: Sequence[tuple[int, list[_AccessPart], AccessSum]],
    parts: Sequence[_AccessPart],
    order: Order,
    limit: Limit,
    banks: Banks,
) -> int:
    """Accesses in a row to one bank if a change of operation ended no run: the operations of each context one after the
    other, all contexts beside one DMA step. 0 where that is within the limit, or no context changes its operation; -1
    where they are too many to list.
    """
    worst, open_ = 0, 0
    for dma in {dma for dma, _, _ in sums}:
        pieces = order.of_step[dma]
        free = [p for p in parts if any(not order.ordered(q, order.of_step[p.step][0]) for q in pieces)]
        lanes: dict[tuple[str, str], list[AccessNest]] = {}
        for part in sorted(free, key=lambda p: p.step):
            lanes.setdefault((part.lane, part.access.engine), []).extend(part.operations)
        if any(not part.operations for part in free) or sum(map(len, lanes.values())) > MOST_OPERATIONS:
            sides = Counter((part.lane, part.access.engine) for part in free)
            open_ = -1 if max(sides.values()) > 1 else open_
            continue
        per_bank = [sum(column) for column in zip(*(follow(nests, banks) for nests in lanes.values()), strict=True)]
        worst = max([worst, *(total + limit.dma for total in per_bank)])
    return worst if worst > limit.allowed else open_


def _differs(
    section: Mapping[str, Any], sums: Sequence[tuple[int, list[_AccessPart], AccessSum]], limit: Limit
) -> tuple[str, ...]:
    """Other readings under which the program would be judged otherwise."""
    worst = sums[0][2].total - limit.dma
    here = worst + limit.dma <= limit.allowed
    out = [
        f"threshold={other.threshold}, dma-request={other.dma_request}"
        for other in limits_from(section)
        if (worst + other.dma <= other.allowed) != here
    ]
    return tuple(out)


def says(section: Mapping[str, Any], key: str) -> str:
    """A text of the target's section. Raises InputError where it has none."""
    if key not in section:
        raise InputError(f"the target's section [{SECTION}] lacks `{key}`")
    return str(section[key])
