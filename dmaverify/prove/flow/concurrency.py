"""Bank starvation of a program: what may run beside DMA, how long it can hold a bank, and whether DMA is still served.

Knows: accesses as nests over banks, sets of operations that may run at once, the limit from the target's data, layouts.
Does not know: how runs are computed and proved (transfer.starvation, prove.starvation), how a finding is shown.
Law: the sum is over everything that may run at once beside one DMA transfer in the same slices; it is within the limit
only with every longest run proved. A change of operation within a context ends a run (an assumption, said so).

Source: "Memory Performance" (Bank Starvation; Cumulative Bank Access Constraint), facts/rngd 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from dmaverify.errors import InputError
from dmaverify.language.expr import Padding, terms_of
from dmaverify.lower.adapters import bank_bytes, memory_text
from dmaverify.program.access import Access
from dmaverify.program.command import Command
from dmaverify.program.schedule import Box, Order, Step, antichains, box_of
from dmaverify.prove.flow.bank_runs import AccessNest, Banks, Proposal, Run, Runs, bank_runs, layout_proposals, nest_of
from dmaverify.prove.flow.starvation import prove_run
from dmaverify.prove.flow.starvation_limit import Limit, Sum, banks_from, cumulative, limit_from, limits_from
from dmaverify.prove.flow.touches import Work
from dmaverify.prove.smt import Session
from dmaverify.targets.target import Target

SECTION = "starvation"
READINGS = ("threshold", "dma-request")


@dataclass(frozen=True, slots=True)
class Culprit:
    """An access of a sum: its longest run on the worst bank, and a row that would keep the sum within the limit."""

    step: int
    access: Access
    run: Run
    proposal: Proposal | None = None
    row: str = ""


@dataclass(frozen=True, slots=True)
class Starving:
    """Operations that may run at once beside the DMA of step `dma`, with too long a sum on one bank."""

    dma: int
    steps: tuple[int, ...]
    sum: Sum
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


@dataclass(frozen=True, slots=True)
class _Part:
    """One access of an operation, as a nest."""

    step: int
    access: Access
    nest: AccessNest
    runs: Runs
    box: Box
    element_bytes: int


def starvation(
    steps: Sequence[Step],
    works: Sequence[Work],
    order: Order,
    target: Target,
    readings: Mapping[str, str],
    session: Session,
) -> Starvation | None:
    """None where the target says nothing of starvation, or no access and DMA share memory."""
    section = target.raw.get(SECTION)
    if section is None:
        return None
    chosen = {name: readings[f"{SECTION}/{name}"] for name in READINGS if f"{SECTION}/{name}" in readings}
    limit, banks = limit_from(section, chosen), banks_from(target.geometry)
    unfit: list[str] = []
    parts = list(_parts(works, target, banks, unfit))
    groups = list(_beside_dma(steps, order, parts, target))
    if not groups:
        return Starvation("unknown", limit, unfit=tuple(unfit)) if unfit else None
    sums = [(dma, members, cumulative(_named_runs(members), limit.dma)) for dma, members in groups]
    sums.sort(key=lambda one: (-one[2].total, one[0], [p.step for p in one[1]]))
    proofs = _Proofs(banks, session)
    bad = [one for one in sums if not one[2].within(limit)]
    needed = [part for _, members, _ in (bad or sums) for part in members]
    answers = {proofs.status(part.nest) for part in needed}
    found = []
    for dma, members, total in _first_of_each(bad):
        culprits = tuple(_culprits(members, total, limit, banks, proofs))
        found.append(Starving(dma, tuple(dict.fromkeys(p.step for p in members)), total, culprits))
    status = "refuted" if found else "unknown" if unfit or answers != {"proved"} else "proved"
    return Starvation(
        status, limit, tuple(found), sums[0][2].total, len(proofs.known), _differs(section, sums, limit), tuple(unfit)
    )


# ---------------------------------------------------------------- accesses as nests


def _parts(works: Sequence[Work], target: Target, banks: Banks, unfit: list[str]) -> Iterator[_Part]:
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
            yield _Part(step, access, nest, bank_runs(nest, banks), box_of(access.memory, bits), max(1, bits // 8))


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


def _named_runs(members: Sequence[_Part]) -> dict[str, Runs]:
    return {f"{part.step}:{part.access.name}:{index}": part.runs for index, part in enumerate(members)}


# ---------------------------------------------------------------- what runs beside DMA


def _beside_dma(
    steps: Sequence[Step], order: Order, parts: Sequence[_Part], target: Target
) -> Iterator[tuple[int, list[_Part]]]:
    """(DMA step, accesses that may all run at once beside it in slices that it reaches), each set of accesses once."""
    chosen = dict.fromkeys(part.step for part in parts)
    groups = [_mask(i for i, p in enumerate(parts) if p.step in group) for group in antichains(order, chosen)]
    seen: set[int] = set()
    for dma, free in _free_beside(order, parts, _dma_boxes(steps, target)).items():
        for mask, group in product(free, groups):
            both = mask & group
            if both and both not in seen:
                seen.add(both)
                yield dma, [part for i, part in enumerate(parts) if both >> i & 1]


def _free_beside(order: Order, parts: Sequence[_Part], boxes: Mapping[int, Sequence[Box]]) -> dict[int, set[int]]:
    """Per DMA step and piece of it, the parts (bit i: part i) in its slices that no order keeps apart from it."""
    out: dict[int, set[int]] = {}
    pieces = [order.of_step[part.step][0] for part in parts]  # an operation works in one lane
    near: dict[tuple[Box, ...], int] = {}
    for dma, reached in boxes.items():
        key = tuple(reached)
        if key not in near:
            near[key] = _mask(i for i, p in enumerate(parts) if any(_same_slices(p.box, box) for box in reached))
        for piece in order.of_step[dma]:
            free = _mask(i for i, other in enumerate(pieces) if near[key] >> i & 1 and not order.ordered(piece, other))
            out.setdefault(dma, set()).add(free)
    return out


def _mask(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


def _dma_boxes(steps: Sequence[Step], target: Target) -> dict[int, list[Box]]:
    """Per DMA step, its tensors in memory with banks."""
    out: dict[int, list[Box]] = {}
    for index, step in enumerate(steps):
        if step.transfer is None:
            continue
        bits = target.dtypes[step.transfer.dtype]
        sides = (step.transfer.source, step.transfer.dest)
        boxes = [box_of(t, bits) for t in sides if target.tiers[t.tier].slice_stride_bytes]
        if boxes:
            out[index] = boxes
    return out


def _same_slices(a: Box, b: Box) -> bool:
    return a.tier == b.tier and all(
        p < s and r < q for p, q, r, s in zip(a.first, a.last, b.first, b.last, strict=True)
    )


def _first_of_each(bad: Sequence[tuple[int, list[_Part], Sum]]) -> Iterator[tuple[int, list[_Part], Sum]]:
    """The worst sums; a set that another one holds already says nothing new."""
    shown: list[set[tuple[int, str]]] = []
    for dma, members, total in bad:
        key = {(p.step, p.access.name) for p in members}
        if not any(key <= other for other in shown):
            shown.append(key)
            yield dma, members, total


# ---------------------------------------------------------------- proofs and proposals


class _Proofs:
    """The longest run of every nest, proved once."""

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
            self.known[alike] = prove_run(alike, self.banks, self.session).status
        return self.known[alike]


def _culprits(members: Sequence[_Part], total: Sum, limit: Limit, banks: Banks, proofs: _Proofs) -> Iterator[Culprit]:
    """The accesses on the worst bank, the longest run first; the first layout that alone would do, for each."""
    touching = sorted((p for p in members if p.runs.lengths[total.bank]), key=lambda p: -p.runs.lengths[total.bank])
    for part in touching:
        others = [a - b for a, b in zip(total.per_bank, part.runs.lengths, strict=True)]
        run = part.runs.per_bank[total.bank]
        found = _layout(part, others, limit, banks, proofs)
        yield Culprit(part.step, part.access, run, *(found or (None, "")))


def _layout(
    part: _Part, others: Sequence[int], limit: Limit, banks: Banks, proofs: _Proofs
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
    proposals = layout_proposals(part.nest, banks, tuple(rows), part.element_bytes, limit.allowed, others)
    for proposal in sorted(proposals, key=lambda p: p.padded_elements / p.row_elements):
        if proofs.status(proposal.nest) == "proved":
            return proposal, f"{rows[proposal.row_elements]} # {proposal.padded_elements}"
    return None


def _differs(section: Mapping[str, Any], sums: Sequence[tuple[int, list[_Part], Sum]], limit: Limit) -> tuple[str, ...]:
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
