"""What the steps of a program touch: every command and access as walks over memories, lane by lane.

Knows: commands of transfers (derived or printed), accesses per slice, which memory a walk is in, names of counters.
Does not know: order, whether two walks may meet, rules.
Law: a walk reaches exactly the units that its command moves on that side. Of a transfer without commands all that its
regions declare may be touched, but for Bottom padding that it writes; `sure` is what every legal command does: it
writes live cells and Zero padding, and reads the cells that the destination asks for and that lie nowhere else. What
may be touched is for showing that nothing meets, what is sure for witnesses and for what is surely written. Walks of
one memory count in one unit.

Source: "DMA Engine" (DMA Command Syntax), "Sequencer" (Interface: every slice runs the same program),
docs/machines/rngd.md 4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from math import prod

from dmaverify.errors import Span
from dmaverify.language.numbers import same
from dmaverify.lower.adapters import derived_access, given_access, is_fetch
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.programs import program_of_transfer, space_of
from dmaverify.program.access import Access
from dmaverify.program.command import Command, Loop
from dmaverify.program.indirect import Indirect
from dmaverify.program.move import Transfer
from dmaverify.program.queues import engine_lane, shared_lane
from dmaverify.program.regions import Box, box_of
from dmaverify.program.schedule import DMA_CONTEXT, Step
from dmaverify.program.space import unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.program.turns import Turn
from dmaverify.program.views import View, Views
from dmaverify.prove.flow.accesses.live_cells import live_walk, read_whole, written_whole
from dmaverify.prove.meet import Walk, side_of
from dmaverify.prove.move.views import shift_units
from dmaverify.targets.modules import queue_of, write_port
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field, replace

INDEX = "the index"
"""What a gather or scatter reads besides its rows."""
Memory = tuple[str, int, int]
"""A memory by tier, chip and cluster (0 where the tier has none)."""


def memory_at(target: Target, tier: str, chip: int, cluster: int) -> Memory:
    """The memory of a place. Memories are keys and texts: of a symbolic number, the run holds where it is this one."""
    return target.memory_of(tier), int(chip), int(cluster)


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
    fixed: bool = False  # no view moves it
    port: str = ""  # of a write: two ports may overtake each other
    sure: bool = True  # whatever carries the step out touches all of it, for some list that is admitted; else it may


def flat_weights(turns: Sequence[Turn]) -> tuple[int, ...]:
    """What each counter adds to the number of the iteration of all loops together."""
    inside: dict[str, int] = {}
    total = 1
    for loop, of in reversed(list(dict.fromkeys((turn.loop, turn.of) for turn in turns))):
        inside[loop] = total
        total *= of
    return tuple(inside[turn.loop] * turn.weight for turn in turns)


@dataclass(frozen=True)
class StepWork:
    """One step taken apart. `commands` belong to a transfer, `accesses` to an operation (with the command of each)."""

    lanes: tuple[str, ...]
    touches: tuple[Touch, ...]
    commands: tuple[Command, ...] = ()
    accesses: tuple[tuple[Access, Command], ...] = ()
    troubles: tuple[Trouble, ...] = ()
    whole: bool = False  # nothing says how the transfer is made
    swaps: bool = False  # its lane does not order what touches the same bytes


def work_of(index: int, step: Step, target: Target) -> StepWork:
    work = (
        _access_work(index, step, target)
        if step.transfer is None
        else _transfer_work(index, step, step.transfer, target)
    )
    return _around(work, step, target) if step.loops else work


def _around(work: StepWork, step: Step, target: Target) -> StepWork:
    """The work with the step's loops around every walk: each side moves as its view does."""
    named = {one.name: one.views for one in step.accesses}
    touches = []
    for touch in work.touches:
        views = named.get(touch.what.partition(" ")[2]) if step.transfer is None else step.transfer.views
        assert views is not None  # those of the loops, at least
        view = None if touch.fixed else views.dest if touch.writes else views.source
        steps = shift_units(view, views, target, touch.unit_bits).steps
        walk = Walk(touch.walk.base, (*zip((t.count for t in views.turns), steps, strict=True), *touch.walk.loops))
        names = (*map(str, views.turns), *touch.names)
        touches.append(replace(touch, walk=walk, names=names, turns=views.turns))
    return replace(work, touches=tuple(touches))


# ---------------------------------------------------------------- transfers


def unnamed_lane(index: int, step: Step, transfer: Transfer, target: Target) -> str:
    """The lane of what a step moves without naming an engine: the machine's queue for it, or the step's context."""
    queue = queue_of(target, transfer)
    if queue is None:
        return shared_lane(index)
    if step.context and (target.engines.context_is_engine or queue == ""):
        return step.context
    return queue or DMA_CONTEXT


def _transfer_work(index: int, step: Step, transfer: Transfer, target: Target) -> StepWork:
    bits = target.dtypes[transfer.dtype]
    found = program_of_transfer(transfer, bits, target)
    queue, port = queue_of(target, transfer), write_port(target, transfer)
    if queue is None and step.loops:
        said = "nothing orders the iterations of this step: an arbiter, or several back-ends, carry them out"
        return StepWork(("",), (), troubles=(Trouble(said, step.span, "write it without the loop, with `after`"),))
    base = unnamed_lane(index, step, transfer, target)
    own = target.routes.get((transfer.source.tier, transfer.dest.tier))
    fixed = own is not None and bool(own.queue)  # where the machine says it, no plan names another one
    swaps = target.swaps(transfer.source.tier, transfer.dest.tier)
    fixed = fixed or (step.context is not None and target.engines.context_is_engine)
    if found is None:
        lane = base if fixed or queue is None or transfer.engine is None else engine_lane(transfer.engine)
        touches = [
            *_region(index, lane, transfer.source, bits, target, False, read_whole(transfer, step.indirect, target),
                     view=_view(transfer, "source")),
            *_region(index, lane, transfer.dest, bits, target, True, written_whole(step.indirect),
                     view=_view(transfer, "dest")),
        ]  # fmt: skip
        if step.indirect is not None:
            touches = known_rows(index, lane, step.indirect, target) or touches
            index_bits = target.dtypes[step.indirect.index.dtype]
            touches += _region(index, lane, step.indirect.index.tensor, index_bits, target, False, (), INDEX)
        return StepWork((lane,), tuple(replace(t, port=port) for t in touches), whole=True, swaps=swaps)
    if isinstance(found, list):
        return StepWork((base,), (), troubles=tuple(found))
    lanes = [base if fixed or command.engine is None else lane_of(command) for command in found]
    touches = [
        touch
        for number, (command, lane) in enumerate(zip(found, lanes, strict=True))
        for touch in _command_touches(index, number, command, lane, transfer, target)
    ]
    ported = tuple(replace(t, port=port) for t in touches)
    return StepWork(tuple(dict.fromkeys(lanes)), ported, tuple(found), swaps=swaps)


def known_rows(index: int, lane: str, move: Indirect, target: Target) -> list[Touch]:
    """What a gather or scatter of known or promised rows touches, as runs of rows alike; nothing for others."""
    from dmaverify.prove.move.indirect import row_program

    program = row_program(move, target, {}, promised=True)
    if isinstance(program, str):
        return []
    out = []
    for number, command in enumerate(program.commands):
        for writes, shifts in ((False, program.read_shifts), (True, program.write_shifts)):
            for first, count, step in runs_of(shifts):
                one = replace(command, loops=(Loop(count, step, step, "row"), *command.loops))
                moved = one.moved_to(one.read.base + first, one.write.base + first)
                both = _command_touches(index, number, moved, lane, move.whole, target)
                out += [replace(touch, fixed=True) for touch in both if touch.writes == writes]
    return out


def runs_of(values: Sequence[int]) -> list[tuple[int, int, int]]:
    """Sorted distinct values as runs (first, count, step)."""
    out: list[tuple[int, int, int]] = []
    for value in sorted(set(values)):
        if out:
            first, count, step = out[-1]
            gap = value - (first + (count - 1) * step)
            if count == 1 or gap == step:
                out[-1] = (first, count + 1, gap)
                continue
        out.append((value, 1, 0))
    return out


def lane_of(command: Command) -> str:
    return DMA_CONTEXT if command.engine is None else engine_lane(command.engine)


def _command_touches(
    index: int, number: int, command: Command, lane: str, transfer: Transfer, target: Target
) -> Iterator[Touch]:
    names = (*loop_names(command), "in packet")
    for writes, port, tensor in ((False, command.read, transfer.source), (True, command.write, transfer.dest)):
        walk = side_of(command, writes=writes)
        memory = memory_at(target, port.tier, port.chip, port.cluster)
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
    index: int, lane: str, tensor: Tensor, bits: int, target: Target, writes: bool, sure: Collection[str] | None,
    what: str = "the whole tensor", view: View | None = None,
) -> Iterator[Touch]:  # fmt: skip
    """The bytes of a tensor of which nothing says what is touched: all that a view shows, else all that it declares.
    Its live cells are touched for sure, of the axes in `sure` the first ones alone; nothing where that is None.
    """
    unit = unit_bits_of(bits)
    width = bits // unit
    loops = tuple((count, stride * width) for count, stride in shown_positions(tensor, view, "element"))
    names = tuple(f"in tensor {i}" if len(loops) > 1 else "in tensor" for i in range(len(loops)))
    walk = Walk(tensor.base * 8 // unit, (*loops, (width, 1)))
    live, others = None, True
    if sure is not None:
        live, others = live_walk(tensor if view is None else view.shown, bits, target, writes, sure)
    for memory, moved, where in _in_places(tensor, walk, (*names, "in element"), target, unit, view):
        every = live is not None and same(_counted(live), _counted(moved))
        one = Touch(index, lane, writes, memory, moved, where, what, unit, tensor.span, fixed=view is None, sure=every)
        if every or others:
            yield one
        if live is not None and not every:
            yield replace(one, walk=live, names=tuple(f"in tensor {i}" for i in range(len(live.loops))), sure=True)


def _counted(walk: Walk) -> int:
    return prod(count for count, _ in walk.loops)


def shown_positions(tensor: Tensor, view: View | None, place: str) -> tuple[tuple[int, int], ...]:
    """Positions of a class of place that are touched, as loops from where the tensor begins: of a tile, its own."""
    if view is None or not any(w.place == place for w in view.windows):
        return ((tensor.field(place).size, 1),)
    return view.visible(place)


def _view(work: Transfer | Access, side: str) -> View | None:
    views = work.views
    return None if views is None else views.on(side)


def whole_tensor(work: Transfer | Access, side: str) -> Tensor:
    """The memory of a side (`source` or `dest`; of an access, its own): behind a view, the whole tensor."""
    own = work.memory if isinstance(work, Access) else work.source if side == "source" else work.dest
    view = _view(work, side)
    return own if view is None else view.buffer


def touched_box(tensor: Tensor, views: Views | None, view: View | None, dtype_bits: int) -> Box:
    """The hull of what is touched in all iterations; `tensor` is what the first one shows."""
    box = box_of(tensor, dtype_bits)
    if views is None or view is None:
        return box
    ends = []
    for place, move in zip(PLACES, view.shift, strict=True):
        reach = sum((count - 1) * stride for count, stride in shown_positions(tensor, view, place)) + 1
        if place == "element":
            reach = -(-reach * dtype_bits // 8)
        ends.append((move.least(views.turns) - move.constant, reach + move.most(views.turns) - move.constant))
    first = tuple(at + low for at, (low, _) in zip(box.first, ends, strict=False))
    last = tuple(at + high for at, (_, high) in zip(box.first, ends, strict=False))
    low, high = ends[3]
    return Box(
        box.tier, (first[0], first[1], first[2]), (last[0], last[1], last[2]), box.base + low, box.base + high
    )  # fmt: skip


def _in_places(
    tensor: Tensor, walk: Walk, names: tuple[str, ...], target: Target, unit_bits: int, view: View | None = None
) -> Iterator[tuple[Memory, Walk, tuple[str, ...]]]:
    """The walk of one slice, in every place that the tensor or its view has: slices as the outermost loops, other
    places as memories.
    """
    space = space_of(target, tensor.tier)
    inner = [p for p in PLACES[:-1] if p in space.places and p not in ("chip", "cluster")]
    for place in reversed(inner):
        step = space.stride(place, unit_bits)
        base = walk.base + getattr(tensor, f"at_{place}") * step
        positions = shown_positions(tensor, view, place)
        walk = Walk(base, (*((count, stride * step) for count, stride in positions), *walk.loops))
        names = (*(place if i == 0 else f"{place} {i}" for i in range(len(positions))), *names)
    outer = [outer_places(tensor, view, place, target) for place in ("chip", "cluster")]
    for chip, cluster in product(*outer):
        yield memory_at(target, tensor.tier, chip, cluster), walk, names


def outer_places(tensor: Tensor, view: View | None, place: str, target: Target) -> Sequence[int]:
    """The chips or clusters, number by number; 0 where the tier has none."""
    if place not in space_of(target, tensor.tier).places:
        return (0,)
    loops = shown_positions(tensor, view, place)
    start = getattr(tensor, f"at_{place}")
    moved = product(*(range(count) for count, _ in loops))
    return [start + sum(c * stride for c, (_, stride) in zip(at, loops, strict=True)) for at in moved]


# ---------------------------------------------------------------- accesses


def _access_work(index: int, step: Step, target: Target) -> StepWork:
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
        walk = side_of(command, writes=not fetch)
        names = (*loop_names(command), "in packet")
        view = _view(access, "source" if fetch else "dest")
        for memory, moved, where in _in_places(access.memory, walk, names, target, command.unit_bits, view):
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
    return StepWork((lane,), tuple(touches), (), tuple(made), tuple(troubles))


def access_command(access: Access, bits: int, target: Target) -> Command | list[Trouble]:
    """The printed configuration, else the derived one; addresses are those of one slice."""
    if access.config is not None:
        return given_access(access, bits)
    found = derived_access(access, space_of(target, access.memory.tier), bits)
    return found if isinstance(found, Command) else [found]


# ---------------------------------------------------------------- words


def in_one_unit(touches: Sequence[Touch]) -> dict[int, Walk]:
    """Walks by the index of their touch; all in half bytes where one of them is, else as they are."""
    finest = min((touch.unit_bits for touch in touches), default=8)
    return {i: touch.walk.scaled(touch.unit_bits // finest) for i, touch in enumerate(touches)}


def where(touch: Touch, address: int, unit_bits: int, target: Target) -> str:
    """An address of a touch's memory in words."""
    return place_in(touch.memory, address, unit_bits, target)


def place_in(memory: Memory, address: int, unit_bits: int, target: Target) -> str:
    """An address of a memory in words."""
    tier, chip, cluster = memory
    places = target.tiers[tier].places
    parts = [f"{name} {value}" for name, value in (("chip", chip), ("cluster", cluster)) if name in places and value]
    stride = target.tiers[tier].strides.get("slice")
    if stride:
        slice_, address = divmod(address, stride * 8 // unit_bits)
        parts.append(f"{target.tiers[tier].counts.get('slice', 'slice')} {slice_}")
    byte = address * unit_bits // 8
    half = f" (half {address % 2})" if unit_bits == 4 else ""
    return f"{', '.join([tier, *parts])}, byte {byte}{half}"


def named(touch: Touch, counters: Sequence[int]) -> Mapping[str, int]:
    """Counters that say something: loops of one iteration are left out."""
    loops = touch.walk.loops
    return {name: value for name, value, (count, _) in zip(touch.names, counters, loops, strict=False) if count > 1}
