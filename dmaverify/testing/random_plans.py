"""Random plans: a random move, its stream, and commands as printed text would say them.

Knows: commands of a stream, how they are told in other words, wild ones.
Does not know: how a move is drawn (`random_moves`), faults (`fault_kinds`), what a judge says of a plan, Hypothesis.
Law: a plan drawn with `valid=True` keeps every core obligation but `core/consumes`, and its commands are those of its
stream, perhaps with loops split or reordered, which changes nothing. Nothing else is promised of other plans but that
they can be read.

Source: "DMA Engine", Structural Requirements and Implementation Details; "Sequencer", Configuration; the plan file
format.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from dmaverify.language.expr import Symbol, pair
from dmaverify.lower.derive import derive
from dmaverify.lower.plan_text import given_command
from dmaverify.lower.programs import space_of
from dmaverify.program.command import Command, Engine, Entry, GivenCommand
from dmaverify.program.move import Transfer
from dmaverify.program.space import unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.targets.target import Target
from dmaverify.testing.draw import Draw, Seeded, known, machine_of
from dmaverify.testing.drawn_plan import DrawnPlan
from dmaverify.testing.random_moves import DrawnMove, move, smallest_move
from dmaverify.values import replace
from dmaverify.verdict import Status

ROW_BYTES = 256
MOST_DRAWN = 40
MOST_TRIED = 12  # moves whose stream has no commands

# ---------------------------------------------------------------- plans


def plan(draw: Draw, target: Target, *, valid: bool | None = None, tiers: Sequence[str] = ()) -> DrawnPlan:
    """A plan of one transfer with printed commands, and often a stream.

    `valid=True`: proved, but for the machine's own rules (alignment and the like). `valid=False`: one fault is drawn
    in, which may turn out harmless. None: either.
    """
    if valid is False or (valid is None and draw.chance(60)):
        from dmaverify.testing.fault_kinds import any_fault

        return any_fault(_plan(draw, target, None if draw.chance(30) else True, tiers), draw, target)
    return _plan(draw, target, valid, tiers)


def legal_plan(draw: Draw, target: Target, *, broken: bool = False, tiers: Sequence[str] = ()) -> DrawnPlan:
    """A plan that `check` proves for this target, its own rules included; with `broken` one fault that it refutes.

    Valid plans whose elements became rows of ROW_BYTES, kept where the target's rules hold. Raises LookupError for a
    target under which none of MOST_DRAWN does.
    """
    from dmaverify.testing.fault_kinds import any_fault

    for _ in range(MOST_DRAWN):
        found = _plan(draw, target, True, tiers, rows=True)
        if _status(found, target) is Status.PROVED:
            for _ in range(MOST_DRAWN if broken else 0):
                wrong = any_fault(found, draw, target)
                if wrong.fault and _status(wrong, target) is Status.REFUTED:
                    return wrong
            if not broken:
                return found
    raise LookupError(f"none of {MOST_DRAWN} plans is legal for {target.name}: other tiers?")


def _status(plan: DrawnPlan, target: Target) -> Status:
    from dmaverify.prove.move.check import check_transfer

    return check_transfer(plan.transfer, axes=plan.axes, target=target).status


def _in_rows(found: DrawnMove, target: Target) -> DrawnMove:
    """The move with a row of ROW_BYTES in the place of each element, and the row as its packet."""
    bits = target.dtypes[found.dtype]
    row = Symbol("Row", ROW_BYTES * 8 // bits)

    def side(tensor: Tensor) -> Tensor:
        return replace(tensor, element=pair(tensor.element, row), base=tensor.base * 8 // bits * ROW_BYTES)

    stream = found.stream and replace(found.stream, time=pair(found.stream.time, found.stream.packet), packet=row)
    axes = {**found.axes, row.name: row.size}
    return DrawnMove(axes, found.dtype, side(found.source), side(found.dest), stream)


def _plan(draw: Draw, target: Target, valid: bool | None, tiers: Sequence[str], rows: bool = False) -> DrawnPlan:
    found = valid_move(draw, target, tiers) if valid else move(draw, target, valid=valid, tiers=tiers)
    found = _in_rows(found, target) if rows else found
    commands = derived(found, target)
    given = tuple(given_command(command, target) for command in commands or wild_commands(draw, found, target))
    if commands:
        given = tuple(retold(draw, one) for one in given)
    stream = found.stream if commands and draw.chance(40) else None
    return DrawnPlan(found.axes, Transfer("move", target.name, found.dtype, found.source, found.dest, stream, given))


def seeded_plan(
    seed: int | str, target: Target | str, *, valid: bool | None = None, tiers: Sequence[str] = ()
) -> DrawnPlan:
    """The plan of a seed (see `plan`): the same on every machine. Raises InputError.

    >>> from dmaverify.targets.target import load_target
    >>> from dmaverify.testing import seeded_plan
    >>> rngd = load_target("rngd")
    >>> seeded_plan(7, rngd, valid=True).text(rngd).splitlines()[:2]
    ['schema = 1', 'target = "rngd"']
    """
    machine = machine_of(target)
    known(tiers, machine.tiers, "tier")
    return replace(plan(Seeded(seed), machine, valid=valid, tiers=tiers), seed=str(seed))


def valid_move(draw: Draw, target: Target, tiers: Sequence[str] = ()) -> DrawnMove:
    """A move that the machine has a route for, whose stream has commands that keep the promise."""
    names = list(tiers) or list(target.tiers)
    every = list(product(names, names))
    joined = [pair for pair in every if _is_joined(target, *pair)] or every
    left = MOST_TRIED
    for _ in range(MOST_DRAWN):
        found = move(draw, target, valid=True, tiers=tiers)
        if (found.source.tier, found.dest.tier) in joined:
            if derived(found, target) is not None:
                return found
            left -= 1
        if not left:
            break
    small = smallest_move(draw, target, names)
    source, dest = (small.source.tier, small.dest.tier) if joined == every else draw.choice(joined)
    return replace(small, source=replace(small.source, tier=source), dest=replace(small.dest, tier=dest))


def _is_joined(target: Target, source: str, dest: str) -> bool:
    """Whether a route joins two tiers, that are not two names of one memory: tensors there may share bytes."""
    routed = not target.routes or (source, dest) in target.routes
    return routed and (source == dest or target.memory_of(source) != target.memory_of(dest))


def derived(found: DrawnMove, target: Target) -> tuple[Command, ...] | None:
    """The commands of a move's stream; None where it has none."""
    if found.stream is None:
        return None
    spaces = (space_of(target, found.source.tier), space_of(target, found.dest.tier))
    result = derive(found.source, found.dest, spaces, target.dtypes[found.dtype], found.stream)
    commands: tuple[Command, ...] | None = getattr(result, "commands", None)
    if commands and any(port.chip < 0 or port.cluster < 0 for c in commands for port in (c.read, c.write)):
        return None  # it starts before the tensor: no text says that
    most = target.engines.chips, target.engines.clusters, target.engines.per_cluster
    engines = [(c.engine.chip, c.engine.cluster, c.engine.dmn) for c in commands or () if c.engine is not None]
    if any(at >= many for engine in engines for at, many in zip(engine, most, strict=True)):
        return None  # the machine does not have it
    return commands


def retold(draw: Draw, one: GivenCommand) -> GivenCommand:
    """The same units in other words: loops split or in another order."""
    read, write = list(one.read.entries), list(one.write.entries)
    if [e.count for e in read] != [e.count for e in write]:
        return one
    if len(read) > 2 and draw.chance(25):
        order = [*draw.shuffled(range(len(read) - 1)), len(read) - 1]
        read, write = [read[i] for i in order], [write[i] for i in order]
    if draw.chance(25):
        at = draw.integer(0, len(read) - 1)
        count = read[at].count
        factor = draw.choice([k for k in range(1, count + 1) if count % k == 0])
        if at < len(read) - 1 and 1 < factor < count:
            for entries in (read, write):
                old = entries[at]
                entries[at : at + 1] = [Entry(count // factor, old.stride * factor), Entry(factor, old.stride)]
    return replace(one, read=replace(one.read, entries=tuple(read)), write=replace(one.write, entries=tuple(write)))


def wild_commands(draw: Draw, found: DrawnMove, target: Target) -> list[Command]:
    """Nests that go where they like: any strides, any bases near the tensors."""
    from dmaverify.program.command import Loop, Port

    bits = target.dtypes[found.dtype]
    unit_bits = unit_bits_of(bits)
    width = bits // unit_bits
    slice_units = max((t.slice_stride_bytes for t in target.tiers.values()), default=0) * 8 // unit_bits
    steps = (1, 2, 3, 4, 6, 8, width, 2 * width, -1, -2, 0, slice_units, -slice_units, 12, 16)
    out = []
    for _ in range(draw.integer(1, 2)):
        loops = tuple(
            Loop(draw.integer(1, 4), draw.choice(steps), draw.choice(steps)) for _ in range(draw.integer(0, 3))
        )
        ports = []
        for tensor_ in (found.source, found.dest):
            base = tensor_.base * 8 // unit_bits + draw.choice((0, 0, 0, 1, 2, 4, -1))
            base += tensor_.at_slice * slice_units if target.tiers[tensor_.tier].is_sliced else 0
            ports.append(Port(tensor_.tier, base, tensor_.at_chip, tensor_.at_cluster))
        out.append(Command(ports[0], ports[1], loops, draw.integer(1, 4), 1, Engine(), unit_bits))
    return out
