"""What must hold of a move before anything is proved of it: its mappings mean something, its places fit the addresses.

Knows: the mappings of transfers, accesses, gathers, scatters and claimed moves, how far the places of a tier lie apart.
Does not know: programs of commands, rules of machines, solvers.
Law: the one pass over these preconditions. Code behind it may rely on it: positive sizes below 2^64 in every mapping,
declared axes, and addresses of one place that never meet those of the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dmaverify.errors import InputError
from dmaverify.language import wellformed
from dmaverify.language.expr import ONE, Expr
from dmaverify.program.access import Access, PlanMove, PlanProblem
from dmaverify.program.command import Command
from dmaverify.program.indirect import Indirect
from dmaverify.program.move import Stream, Transfer
from dmaverify.program.space import SPAN, Space, layout_of, unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.targets.modules import address_space
from dmaverify.targets.target import Target

Work = Transfer | Access | Indirect
Mapped = Work | PlanMove
ADDRESSES = 1 << 64


def tensors_of(work: Mapped) -> tuple[Tensor, ...]:
    if isinstance(work, Access):
        return (work.memory,)
    if isinstance(work, Indirect):
        return work.source, work.dest, work.index.tensor
    return work.source, work.dest


def streams_of(work: Mapped) -> tuple[Stream, ...]:
    if isinstance(work, PlanMove):
        return ()
    many = [each.stream for each in work.streams] if isinstance(work, Transfer) else []
    return tuple(stream for stream in (work.stream, *many) if stream is not None)


def expressions_of(work: Mapped) -> list[Expr]:
    """Every mapping of the work that says more than `1`."""
    found = [tensor.field(place) for tensor in tensors_of(work) for place in PLACES]
    for stream in streams_of(work):
        found += [stream.chip, stream.cluster, stream.slice, stream.time, stream.packet]
    return [expr for expr in found if expr is not ONE]


def unmet(
    work: Mapped, axes: Mapping[str, int], target: Target, stated: Iterable[PlanProblem] = ()
) -> Iterator[PlanProblem]:
    """Every precondition of `work` that does not hold, each once; first what its reader `stated`."""
    fatal = False
    said: set[str] = set()
    for problem in stated:
        said.add(problem.message)
        fatal = fatal or problem.fatal
        yield problem
    seen: set[tuple[str, int]] = set()
    for expr in expressions_of(work):
        for found in wellformed.problems(expr, axes):
            once = found.code in ("size-zero", "unknown-axis")  # of an axis: told where it is first used
            key = (found.message, found.span.start if found.span and not once else -1)
            if key not in seen and found.message not in said:
                seen.add(key)
                fatal = fatal or found.fatal
                yield PlanProblem(found.message, found.span, found.hint, found.fatal, found.warning)
    if not fatal:
        yield from beyond(work, target)
        yield from foreign(work, target)


def beyond(work: Mapped, target: Target) -> Iterator[PlanProblem]:
    """Tensors that lie where their tier has no place, or no address."""
    for tensor in tensors_of(work):
        yield from _without_place(tensor, target)
        index = isinstance(work, Indirect) and tensor is work.index.tensor
        dtype = work.index.dtype if isinstance(work, Indirect) and index else work.dtype
        yield from _too_far(work, tensor, target, target.dtypes[dtype])


def foreign(work: Mapped, target: Target) -> Iterator[PlanProblem]:
    """What the machine has no way for, where no rule of its own speaks of that: a pair of memories, an engine."""
    kind = work.engine if isinstance(work, Access) else work.kind if isinstance(work, Indirect) else ""
    if kind and kind not in target.engines.kinds:
        hint = f"it has {', '.join(target.engines.kinds)}"
        yield PlanProblem(f"{target.name} has no {kind} engine", work.span, hint, fatal=False)
    if isinstance(work, Access):
        return
    ends = work.source.tier, work.dest.tier
    if ends not in target.routes and not any("route" in rule.ports for rule in target.rules.values()):
        ways = ", ".join(f"{source} to {dest}" for source, dest in target.routes)
        said = f"{target.name} has no route from {ends[0]} to {ends[1]}"
        yield PlanProblem(said, work.dest.span or work.span, f"it moves {ways}", fatal=False)


def missing_engine(commands: Iterable[Command], target: Target) -> str:
    """The first engine that commands name and the machine lacks, in words, where no rule of its own speaks of that."""
    have, ports = target.engines, {"engine_chip", "engine_cluster", "engine_dmn"}
    counts = have.chips, have.clusters, have.per_cluster
    for engine in (command.engine for command in commands):
        at = () if engine is None else (engine.chip, engine.cluster, engine.dmn)
        if any(not 0 <= number < count for number, count in zip(at, counts, strict=False)):
            if any(ports <= set(rule.ports) for rule in target.rules.values()):
                return ""
            chips, clusters, engines = counts
            said = f"chips: {chips}, clusters of a chip: {clusters}, engines of a cluster: {engines}"
            return f"{target.name} has no engine {at} (chip, cluster, dmn); {said}"
    return ""


def require(
    work: Work, axes: Mapping[str, int], target: Target, stated: Iterable[PlanProblem] = (), said: str = ""
) -> None:
    """Raises InputError for the first precondition that leaves nothing to be derived, priced or executed."""
    for one in unmet(work, axes, target, stated):
        if one.fatal:
            raise InputError(f"{said}{one.message}", one.span, one.hint)


def meaningless(work: Work, axes: Mapping[str, int], target: Target, stated: Iterable[PlanProblem] = ()) -> bool:
    """Whether nothing can be judged of `work`."""
    return any(problem.fatal for problem in unmet(work, axes, target, stated))


def _without_place(tensor: Tensor, target: Target) -> Iterator[PlanProblem]:
    """A mapping or an offset of a place that the memory does not have, as it is read."""
    tier = target.tiers[tensor.tier]
    for place in PLACES[:-1]:
        expr = tensor.field(place)
        if place not in tier.places and tier.readings and (expr.size > 1 or getattr(tensor, f"at_{place}")):
            said = f"{tensor.tier} has no {place} under this reading of tier/{tensor.tier}"
            hint = f"it has {', '.join((*tier.places, 'element'))}; the default is tier/{tensor.tier}={tier.reading}"
            yield PlanProblem(said, expr.span or tensor.span, hint, True)


def _too_far(work: Mapped, tensor: Tensor, target: Target, dtype_bits: int) -> Iterator[PlanProblem]:
    """A tensor whose addresses, or whose clusters, would reach into the next place chosen by a port, or wrap. Where the
    machine's own rules say so of commands, that is said of a move without any, of its elements.
    """
    from dmaverify.lower.programs import space_of

    space: Space = space_of(target, tensor.tier)
    unit_bits = unit_bits_of(dtype_bits)
    end = tensor.base * 8 // unit_bits + tensor.element.size * dtype_bits // unit_bits
    if not set(SPAN) & set(space.places):  # one place, addressed as it is
        move = work if isinstance(work, Transfer) else None
        room = None if move is None else address_space(target, move, reads=tensor is move.source)
        if move is not None and room is not None and (move.carried_out or not room):
            return
        if room is not None and end > room * 8 // unit_bits:
            layout, opaque = layout_of(tensor, space, dtype_bits)
            end = end if opaque else layout.last_live + 1
        if end > (room or ADDRESSES) * 8 // unit_bits:
            wide = (room or ADDRESSES).bit_length() - 1
            said = f"the {tensor.tier} tensor ends at byte {end * unit_bits // 8:,}; addresses have {wide} bits"
            yield PlanProblem(said, tensor.span, "lower its base, or make an axis smaller", True)
        return
    limit = min(SPAN[place] for place in SPAN if place in space.places)
    if "slice" in space.places:
        step, last = space.stride("slice", unit_bits), tensor.at_slice + tensor.slice.size
        end = max(end + (last - 1) * step, last * step + 1)  # the slice behind the last one has an address too
    if end > limit:
        last = end * unit_bits // 8
        said = f"the {tensor.tier} tensor reaches up to byte {last:,}; no place has more than {limit:,}"
        yield PlanProblem(said, tensor.span, "make an axis smaller, or keep fewer positions of a term", True)
    clusters, most = tensor.at_cluster + tensor.cluster.size, SPAN["chip"] // SPAN["cluster"]
    if "cluster" in space.places and clusters > most:
        said = f"the {tensor.tier} tensor lies in {clusters:,} clusters of a chip, and none has more than {most}"
        yield PlanProblem(said, tensor.cluster.span or tensor.span, "spread it over chips, or over slices", True)
