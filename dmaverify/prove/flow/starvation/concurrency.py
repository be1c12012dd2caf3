"""Bank starvation of a program: how long what may run beside DMA can hold a bank, and whether DMA is still served.

Knows: accesses beside DMA with their longest runs (`beside_dma`), the limit from the target's data, layouts.
Does not know: what may run beside DMA, how runs are computed and proved (`bank_runs`, `starvation`), how a finding is
shown.
Law: a sum is within the limit only with every longest run proved; one above it that no iteration of DMA surely sees is
UNKNOWN. A change of operation within a context is taken to end a run: the documents do not say so, and the verdict
does (`chained`).

Source: "Memory Performance" (Bank Starvation; Cumulative Bank Access Constraint), docs/machines/rngd.md 6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dmaverify.errors import InputError
from dmaverify.language.expr import Padding, terms_of
from dmaverify.program.access import Access
from dmaverify.program.schedule import Order, Step
from dmaverify.prove.flow.accesses.touches import StepWork
from dmaverify.prove.flow.starvation.bank_runs import (
    AccessNest,
    BankRun,
    Banks,
    Proposal,
    bank_runs,
    follow,
    layout_proposals,
)
from dmaverify.prove.flow.starvation.beside_dma import AccessPart, BesideDma, access_parts, beside_dma, dma_touches
from dmaverify.prove.flow.starvation.iterations import (
    MOST_OPERATIONS,
    TurnWindow,
    longest_of,
    operations,
    window_beside,
)
from dmaverify.prove.flow.starvation.starvation import prove_run
from dmaverify.prove.flow.starvation.starvation_limit import AccessSum, Limit, banks_from, limit_from, limits_from
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
    unfit: tuple[str, ...] = ()  # why an access, or where DMA goes, is not followed
    open_: tuple[str, ...] = ()  # why a sum above the limit is no finding
    bounds: tuple[
        tuple[int, tuple[int, ...]], ...
    ] = ()  # step and runs, bank by bank, of every access if all are proved
    beside: tuple[int, ...] = ()  # steps of DMA
    chained: int = 0  # accesses in a row if a change of operation ended no run, where above the limit; -1: too many


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
    parts = list(access_parts(steps, works, order, target, banks, unfit))
    dma = dma_touches(works, order, target)
    sums = beside_dma(dma, order, parts, target, banks, limit, unfit)
    if not sums:
        return Starvation("unknown", limit, unfit=tuple(unfit)) if unfit and dma else None
    sums.sort(key=lambda one: (-one.sum.total, one.dma, [p.step for p in one.members]))
    proofs = _Proofs(banks, session)
    bad = [one for one in sums if not one.sum.within(limit)]
    needed = [part for one in (bad or sums) for part in one.members]
    answers = {proofs.status(nest) for part in needed for nest in part.nests}
    found, open_ = [], []
    for one in _first_of_each([one for one in bad if one.sure]):
        culprits = tuple(_culprits(one.members, one.sum, limit, banks, proofs))
        found.append(Starving(one.dma, tuple(dict.fromkeys(p.step for p in one.members)), one.sum, culprits))
    for one in () if found else _first_of_each(bad):
        names = ", ".join(f"`{part.access.name}`" for part in one.members)
        beside = f"in a row beside `{steps[one.dma].name}`"
        open_.append(f"{names} make {one.sum.total} {beside} if iterations share a slice and a time")
    status = "refuted" if found else "unknown" if unfit or open_ or answers != {"proved"} else "proved"
    bounds: tuple[tuple[int, tuple[int, ...]], ...] = ()
    if every and status == "proved":
        bounds = _bounds(parts, sums, banks, proofs)
    chained = _chained(sums, parts, order, limit, banks) if status == "proved" else 0
    return Starvation(
        status, limit, tuple(found), sums[0].sum.total, len(proofs.known), _differs(section, sums, limit), tuple(unfit),
        tuple(open_), bounds, tuple(dict.fromkeys(order.pieces[piece].step for piece in dma)), chained,
    )  # fmt: skip


def _bounds(
    parts: Sequence[AccessPart], sums: Sequence[BesideDma], banks: Banks, proofs: _Proofs
) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Of every access the longest runs that may be beside DMA, bank by bank, all of them proved; else nothing."""
    out = []
    for part in (one.within(TurnWindow(0, one.count, one.count), banks) for one in parts):
        own = [p for one in sums for p in one.members if p.number == part.number] or [part]
        if {proofs.status(nest) for p in own for nest in p.nests} != {"proved"}:
            return ()
        out.append((part.step, longest_of([p.runs for p in own]).lengths))
    return tuple(out)


def _first_of_each(bad: Sequence[BesideDma]) -> Iterator[BesideDma]:
    """The worst sums; a set that another one holds already says nothing new."""
    shown: list[set[tuple[int, str]]] = []
    for one in bad:
        key = {(p.step, p.access.name) for p in one.members}
        if not any(key <= other for other in shown):
            shown.append(key)
            yield one


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
    members: Sequence[AccessPart], total: AccessSum, limit: Limit, banks: Banks, proofs: _Proofs
) -> Iterator[Culprit]:
    """The accesses on the worst bank, the longest run first; the first layout that alone would do, for each."""
    touching = sorted((p for p in members if p.runs.lengths[total.bank]), key=lambda p: -p.runs.lengths[total.bank])
    for part in touching:
        others = [a - b for a, b in zip(total.per_bank, part.runs.lengths, strict=True)]
        run = part.runs.per_bank[total.bank]
        found = _layout(part, others, limit, banks, proofs) if len(part.nests) == 1 else None
        yield Culprit(part.step, part.access, run, *(found or (None, "")))


def _layout(
    part: AccessPart, others: Sequence[int], limit: Limit, banks: Banks, proofs: _Proofs
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
    sums: Sequence[BesideDma],
    parts: Sequence[AccessPart],
    order: Order,
    limit: Limit,
    banks: Banks,
) -> int:
    """Accesses in a row to one bank if a change of operation ended no run: the operations of each context one after the
    other, all contexts beside one DMA step. 0 where that is within the limit, or no context changes its operation; -1
    where they are too many to list.
    """
    worst, open_ = 0, 0
    for piece in {piece for one in sums for piece in order.of_step[one.dma]}:
        windows = [(part, window_beside(order, piece, part.piece, part.count)) for part in parts]
        free = [(part, operations(part.ways, window, banks)) for part, window in windows if window.most]
        lanes: dict[tuple[str, str], list[AccessNest]] = {}
        for part, done in sorted(free, key=lambda one: one[0].step):
            lanes.setdefault((part.lane, part.access.engine), []).extend(done)
        if any(not done for _, done in free) or sum(map(len, lanes.values())) > MOST_OPERATIONS:
            sides = Counter((part.lane, part.access.engine) for part, _ in free)
            open_ = -1 if max(sides.values()) > 1 else open_
            continue
        per_bank = [sum(column) for column in zip(*(follow(nests, banks) for nests in lanes.values()), strict=True)]
        worst = max([worst, *(total + limit.dma for total in per_bank)])
    return worst if worst > limit.allowed else open_


def _differs(section: Mapping[str, Any], sums: Sequence[BesideDma], limit: Limit) -> tuple[str, ...]:
    """Other readings under which the program would be judged otherwise."""
    worst = sums[0].sum.total - limit.dma
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
