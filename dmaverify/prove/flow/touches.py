"""What the steps of a program touch: every command and access as walks over memories, lane by lane.

Knows: commands of transfers (derived or printed), accesses per slice, which memory a walk is in, names of counters.
Does not know: order, whether two walks may meet, rules.
Law: a walk reaches exactly the units that its command moves on that side; a transfer without commands touches both of
its declared regions whole, and says so. Walks of one memory count in one unit.

Source: "DMA Engine" (DMA Command Syntax), "Sequencer" (Interface: every slice runs the same program), facts/rngd 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from dmaverify.errors import Span
from dmaverify.lower.adapters import derived_access, given_access, is_fetch
from dmaverify.lower.programs import Trouble, program_of_transfer, space_of
from dmaverify.program.access import Access
from dmaverify.program.command import Command
from dmaverify.program.move import PLACES, Tensor, Transfer
from dmaverify.program.schedule import DMA_CONTEXT, Step
from dmaverify.program.space import unit_bits_of
from dmaverify.program.views import Turn, Views, turns_of
from dmaverify.prove.meet import Walk
from dmaverify.prove.move.views import shift_units
from dmaverify.targets.target import Target

Memory = tuple[str, int, int]
"""A memory by tier, chip and cluster (0 where the tier has none)."""


@dataclass(frozen=True, slots=True)
class Touch:
    """One side of a command or access in one memory. `names` are those of the walk's counters; its first counters are
    those of `turns`, the loops around the step.
    """

    step: int
    lane: str
    writes: bool
    memory: Memory
    walk: Walk
    names: tuple[str, ...]
    what: str  # "command 2", "fetch f0"
    unit_bits: int = 8
    span: Span | None = field(default=None, compare=False, repr=False)
    turns: tuple[Turn, ...] = ()
    whole: bool = False  # a tensor of which nothing says what is touched


def flat_weights(turns: Sequence[Turn]) -> tuple[int, ...]:
    """What each counter adds to the number of the iteration of all loops together."""
    inside: dict[str, int] = {}
    total = 1
    for loop, of in reversed(list(dict.fromkeys((turn.loop, turn.of) for turn in turns))):
        inside[loop] = total
        total *= of
    return tuple(inside[turn.loop] * turn.weight for turn in turns)


@dataclass(frozen=True)
class Work:
    """One step taken apart. `commands` belong to a transfer, `accesses` to an operation (with the command of each)."""

    lanes: tuple[str, ...]
    touches: tuple[Touch, ...]
    commands: tuple[Command, ...] = ()
    accesses: tuple[tuple[Access, Command], ...] = ()
    troubles: tuple[Trouble, ...] = ()
    whole: bool = False  # nothing says how the transfer is made


def work_of(index: int, step: Step, target: Target) -> Work:
    work = (
        _access_work(index, step, target)
        if step.transfer is None
        else _transfer_work(index, step, step.transfer, target)
    )
    return _around(work, step, target) if step.loops else work


def _around(work: Work, step: Step, target: Target) -> Work:
    """The work with the step's loops around every walk: each side moves as its view does."""
    found = [work_views(one) for one in (step.transfer, *step.accesses) if one is not None]
    plain = Views(step.loops, turns_of(step.loops, {}))
    named = {one.name: views for one, views in zip((step.transfer, *step.accesses), found, strict=False) if one}
    touches = []
    for touch in work.touches:
        only = found[0] if step.transfer is not None else named.get(touch.what.partition(" ")[2])
        views = only or plain
        view = None if touch.whole else views.dest if touch.writes else views.source
        steps = shift_units(view, views, target, touch.unit_bits).steps
        walk = Walk(touch.walk.base, (*zip((t.count for t in views.turns), steps, strict=True), *touch.walk.loops))
        names = (*map(str, views.turns), *touch.names)
        touches.append(replace(touch, walk=walk, names=names, turns=views.turns))
    return replace(work, touches=tuple(touches))


def work_views(work: Transfer | Access | None) -> Views | None:
    return None if work is None else work.views


# ---------------------------------------------------------------- transfers


def _transfer_work(index: int, step: Step, transfer: Transfer, target: Target) -> Work:
    bits = target.dtypes[transfer.dtype]
    found = program_of_transfer(transfer, bits, target)
    if found is None:
        lane = step.context or DMA_CONTEXT
        touches = [
            *_region(index, lane, whole_tensor(transfer, "source"), bits, target, False),
            *_region(index, lane, whole_tensor(transfer, "dest"), bits, target, True),
        ]
        if step.indirect is not None:
            index_bits = target.dtypes[step.indirect.index.dtype]
            touches += _region(index, lane, step.indirect.index.tensor, index_bits, target, False, "the index")
        return Work((lane,), tuple(touches), whole=True)
    if isinstance(found, list):
        return Work((step.context or DMA_CONTEXT,), (), troubles=tuple(found))
    lanes = [step.context or lane_of(command) for command in found]
    touches = [
        touch
        for number, (command, lane) in enumerate(zip(found, lanes, strict=True))
        for touch in _command_touches(index, number, command, lane, transfer)
    ]
    return Work(tuple(dict.fromkeys(lanes)), tuple(touches), tuple(found))


def lane_of(command: Command) -> str:
    return DMA_CONTEXT if command.engine is None else f"engine {command.engine}"


def _command_touches(index: int, number: int, command: Command, lane: str, transfer: Transfer) -> Iterator[Touch]:
    names = (*loop_names(command), "in packet")
    for writes, port, tensor in ((False, command.read, transfer.source), (True, command.write, transfer.dest)):
        loops = tuple((x.count, x.write if writes else x.read) for x in command.loops)
        walk = Walk(port.base, (*loops, (command.burst, 1)))
        memory = (port.tier, port.chip, port.cluster)
        what = f"command {number}" if command.engine is None else f"command {number} on engine {command.engine}"
        yield Touch(index, lane, writes, memory, walk, names, what, command.unit_bits, command.span or tensor.span)


def loop_names(command: Command) -> tuple[str, ...]:
    """Labels of the loops, each once; `loop 0`, ... from the outermost for those without."""
    out: list[str] = []
    for index, loop in enumerate(command.loops):
        name = loop.label or f"loop {index}"
        out.append(name if name not in out else f"{name} (loop {index})")
    return tuple(out)


def _region(
    index: int, lane: str, tensor: Tensor, bits: int, target: Target, writes: bool, what: str = "the whole tensor"
) -> Iterator[Touch]:
    unit = unit_bits_of(bits)
    extent = tensor.element.size * bits // unit
    walk = Walk(tensor.base * 8 // unit, ((extent, 1),))
    for memory, moved, names in _in_places(tensor, walk, ("in tensor",), target, unit):
        yield Touch(index, lane, writes, memory, moved, names, what, unit, tensor.span, whole=True)


def whole_tensor(work: Transfer | Access, side: str) -> Tensor:
    """The memory of a side (`source` or `dest`; of an access, its own): behind a view, the whole tensor."""
    own = work.memory if isinstance(work, Access) else work.source if side == "source" else work.dest
    view = None if work.views is None else work.views.source if side == "source" else work.views.dest
    return own if view is None else view.buffer


def _in_places(
    tensor: Tensor, walk: Walk, names: tuple[str, ...], target: Target, unit_bits: int
) -> Iterator[tuple[Memory, Walk, tuple[str, ...]]]:
    """The walk of one slice, in every place of the tensor: slices as its outermost loop, other places as memories."""
    space = space_of(target, tensor.tier)
    inner = [p for p in PLACES[:-1] if p in space.places and p not in ("chip", "cluster")]
    for place in reversed(inner):
        step = space.stride(place, unit_bits)
        base = walk.base + getattr(tensor, f"at_{place}") * step
        walk = Walk(base, ((tensor.field(place).size, step), *walk.loops))
        names = (place, *names)
    outer = [
        range(getattr(tensor, f"at_{p}"), getattr(tensor, f"at_{p}") + tensor.field(p).size)
        if p in space.places
        else (0,)
        for p in ("chip", "cluster")
    ]
    for chip, cluster in product(*outer):
        yield (tensor.tier, chip, cluster), walk, names


# ---------------------------------------------------------------- accesses


def _access_work(index: int, step: Step, target: Target) -> Work:
    touches: list[Touch] = []
    made: list[tuple[Access, Command]] = []
    troubles: list[Trouble] = []
    lane = step.context or step.accesses[0].context
    for access in step.accesses:
        bits = target.dtypes[access.dtype]
        command = access_command(access, bits, target)
        if isinstance(command, list):
            troubles += command
            continue
        made.append((access, command))
        fetch = is_fetch(access)
        port = command.read if fetch else command.write
        loops = tuple((x.count, x.read if fetch else x.write) for x in command.loops)
        walk = Walk(port.base, (*loops, (command.burst, 1)))
        names = (*loop_names(command), "in packet")
        for memory, moved, where in _in_places(access.memory, walk, names, target, command.unit_bits):
            touches.append(
                Touch(
                    index,
                    lane,
                    not fetch,
                    memory,
                    moved,
                    where,
                    f"{access.engine} {access.name}",
                    command.unit_bits,
                    access.memory.span,
                )
            )
    return Work((lane,), tuple(touches), (), tuple(made), tuple(troubles))


def access_command(access: Access, bits: int, target: Target) -> Command | list[Trouble]:
    """The printed configuration, else the derived one; addresses are those of one slice."""
    if access.config is not None:
        paired = given_access(access, bits)
        if isinstance(paired, Command):
            return paired
        return [Trouble(m.message, m.span, m.hint, m.other, m.other_text) for m in paired]
    found = derived_access(access, space_of(target, access.memory.tier), bits)
    return found if isinstance(found, Command) else [Trouble(found.message, found.span, found.hint)]


# ---------------------------------------------------------------- words


def in_one_unit(touches: Sequence[Touch]) -> dict[int, Walk]:
    """Walks by the index of their touch; all in half bytes where one of them is, else as they are."""
    finest = min((touch.unit_bits for touch in touches), default=8)
    return {i: touch.walk.scaled(touch.unit_bits // finest) for i, touch in enumerate(touches)}


def where(touch: Touch, address: int, unit_bits: int, target: Target) -> str:
    """An address of a touch's memory in words."""
    tier, chip, cluster = touch.memory
    places = target.tiers[tier].places
    parts = [f"{name} {value}" for name, value in (("chip", chip), ("cluster", cluster)) if name in places and value]
    stride = target.tiers[tier].strides.get("slice")
    if stride:
        slice_, address = divmod(address, stride * 8 // unit_bits)
        parts.append(f"slice {slice_}")
    byte = address * unit_bits // 8
    half = f" (half {address % 2})" if unit_bits == 4 else ""
    return f"{', '.join([tier, *parts])}, byte {byte}{half}"


def named(touch: Touch, counters: Sequence[int]) -> Mapping[str, int]:
    """Counters that say something: loops of one iteration are left out."""
    loops = touch.walk.loops
    return {name: value for name, value, (count, _) in zip(touch.names, counters, loops, strict=False) if count > 1}
