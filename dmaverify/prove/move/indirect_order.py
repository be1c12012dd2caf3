"""Gathers and scatters that share memory with themselves: the table, the other side and the list of rows.

Knows: the commands of row 0, what is added for each key, what a plan promises of rows that are known at run time only.
Does not know: how one row is judged (`overlap`), rules, how a finding is shown beyond its words.
Law: a key after the other, each request read before it is written. A row read after an earlier key has written some of
it is refuted with both keys; for rows promised only, a promised row is that witness. The list of rows is read by the
machine too, and no document says when: a write into it is refuted. What no walk can tell is UNKNOWN.

Source: "Sequencer" (Indirect Access), furiosa-opt v0.6.0 (gather and scatter), the obligation core/overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from dmaverify.lower.programs import space_of
from dmaverify.program.command import Command
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.prove.meet import TooDeep, Walk, apart, difference, shared, side_of, smallest_meeting
from dmaverify.prove.move.full import definitions
from dmaverify.prove.move.in_place import lie_apart, live_walk
from dmaverify.prove.move.indirect_case import IndirectCase
from dmaverify.prove.move.overlap import written_early
from dmaverify.prove.move.questions import address_by_steps
from dmaverify.prove.move.script import Script, ScriptWriter, text_of
from dmaverify.prove.smt import Session
from dmaverify.targets.target import Target
from dmaverify.values import dataclass

MOST_PAIRS = 1 << 16  # of keys, one reading behind the other's writing
MOST_DISTANCES = 64  # between a row and where it goes, each judged by itself

Memory = tuple[str, int, int]
"""A memory by name, chip and cluster (0 where the tier has none)."""

Side = list[tuple[str, Memory, Walk]]
"""Walks over one side: who does it (in words), the memory, the addresses."""


@dataclass(frozen=True, slots=True)
class SharedIndex:
    """A byte (address in units) that `writer` writes though `reader` needs it."""

    writer: str
    reader: str
    address: int


def judge_order(case: IndirectCase, commands: Sequence[Command]) -> None:
    """core/overlap of all rows together; what row 0 alone said of it is replaced."""
    move = case.move
    case.findings = [f for f in case.findings if f.rule != "core/overlap"]
    case.status.pop("core/overlap", None)
    listed, moved = (_one_memory(case, tensor, move.dest) for tensor in (move.index.tensor, move.source))
    if not commands:
        _told_by_regions(case, listed=listed, moved=moved)
        return
    if not listed and not moved:
        return
    case.apart = []
    found = (_list_overwritten(case, commands) if listed else None) or (
        _rows_overwritten(case, commands) if moved else None
    )
    if isinstance(found, SharedIndex):
        case.broken(
            "core/overlap", f"{found.writer} writes {found.reader}, at address {found.address * _width(case) // 8}",
            move.dest.base_span or move.dest.span, "place the destination where neither the source nor the list lies",
            {"address": found.address * _width(case) // 8},
        )  # fmt: skip
    else:
        case.status["core/overlap"] = found or "proved"
        case.by["core/overlap"] = "the order of the keys, one after the other" if found is None else ""


def _one_memory(case: IndirectCase, one: Tensor, other: Tensor) -> bool:
    return case.target.memory_of(one.tier) == case.target.memory_of(other.tier)


def _told_by_regions(case: IndirectCase, *, listed: bool, moved: bool) -> None:
    """Without commands: regions that share no byte, or nothing says in which order they are read and written. Only
    bytes that are surely read and surely written refute.
    """
    move = case.move
    space = space_of(case.target, move.dest.tier)
    asked = [("the list of rows", move.index.tensor, case.target.dtypes[move.index.dtype])] if listed else []
    asked += [("the source", move.source, case.bits)] if moved else []
    for what, tensor, bits in asked:
        why = lie_apart(move.dest, tensor, space, case.bits, bits)
        if not why and not _surely_shared(case, tensor, space, bits):
            case.left_open(
                "core/overlap", f"the destination and {what} share a region of {move.dest.tier}, and perhaps no byte"
            )
            return
        if not why:
            case.broken(
                "core/overlap", f"the destination and {what} share bytes of {move.dest.tier}: without commands nothing "
                "says in which order they are read and written",
                move.dest.base_span or move.dest.span, "place it where neither the source nor the list lies",
            )  # fmt: skip
            return
        case.status["core/overlap"], case.by["core/overlap"] = "proved", why


def _surely_shared(case: IndirectCase, tensor: Tensor, space: Space, bits: int) -> bool:
    """Whether some byte of a tensor is read and written, whatever is done to padding, by a list as the plan has it."""
    session, width = Session(case.options.rlimit), _width(case)
    sides = []
    for one, own in ((case.move.dest, case.bits), (tensor, bits)):
        walk = live_walk(one, space, own).scaled(unit_bits_of(own) // width or 1)
        if one is case.move.table and case.move.rows > 1:
            rows = {case.row_of(v) for v in case.move.index.values or ()}
            more, start = _promised_rows(case) if case.move.index.values is None else ((), 0)
            loops = (*more, *(loop for loop in walk.loops if loop[1] != case.row_units))
            starts = [row * case.row_units for row in rows if row is not None] or [start]
            sides.append([Walk(walk.base + at, loops) for at in starts])
        else:
            sides.append([walk])
    return any(shared(a, b, session, "core/overlap") == "sat" for a, b in product(*sides))


def _width(case: IndirectCase) -> int:
    return unit_bits_of(case.bits)


# ---------------------------------------------------------------- walks


def _walk(case: IndirectCase, command: Command, writes: bool) -> tuple[Memory, Walk]:
    port = command.write if writes else command.read
    return (case.target.memory_of(port.tier), port.chip, port.cluster), side_of(command, writes=writes)


def _declared(tensor: Tensor, bits: int, target: Target, memories: Iterable[Memory]) -> Iterator[tuple[Memory, Walk]]:
    """All that a tensor declares in these memories; it may have copies in many more."""
    space, unit = space_of(target, tensor.tier), unit_bits_of(bits)
    walk = Walk(tensor.base * 8 // unit, ((tensor.element.size * bits // unit, 1),))
    if "slice" in space.places:
        step = space.stride("slice", unit)
        walk = Walk(walk.base + tensor.at_slice * step, ((tensor.slice.size, step), *walk.loops))
    chips = range(tensor.at_chip, tensor.at_chip + tensor.chip.size) if "chip" in space.places else range(1)
    first, count = tensor.at_cluster, tensor.cluster.size
    clusters = range(first, first + count) if "cluster" in space.places else range(1)
    for memory in memories:
        if memory[0] == target.memory_of(tensor.tier) and memory[1] in chips and memory[2] in clusters:
            yield memory, walk


def _moved(case: IndirectCase, commands: Sequence[Command], key: int, *, writes: bool) -> Side:
    """One side of one key, its row known."""
    shifts = case.shifts()
    assert shifts is not None
    by = shifts[int(writes)][key]
    walks = (_walk(case, command, writes) for command in commands)
    return [(f"{case.move.key} = {key}", memory, Walk(w.base + by, w.loops)) for memory, w in walks]


def _every(case: IndirectCase, commands: Sequence[Command], *, writes: bool, keys: range) -> Side:
    """One side of several keys at once, rows as the plan promises them."""
    table = writes == case.move.scatter
    loops, start = _promised_rows(case) if table else _keys(case, keys)
    word = "a row that the list may name" if table else f"{case.move.key} = {keys.start}..{keys.stop - 1}"
    walks = (_walk(case, command, writes) for command in commands)
    return [(word, memory, Walk(w.base + start, (*loops, *w.loops))) for memory, w in walks]


def _promised_rows(case: IndirectCase) -> tuple[tuple[tuple[int, int], ...], int]:
    index = case.move.index
    low, high = index.low or 0, case.move.rows - 1 if index.high is None else index.high
    low, high = max(0, low), min(case.move.rows - 1, high)
    return ((max(1, high - low + 1), case.row_units),), low * case.row_units


def _keys(case: IndirectCase, keys: range) -> tuple[tuple[tuple[int, int], ...], int]:
    """The places of keys as loops: exact for one digit, all keys where there are several."""
    space = space_of(case.target, case.move.payload.tier)
    steps = case.payload.steps(space, case.bits)
    if len(steps) == 1:
        return ((len(keys), steps[0]),), keys.start * steps[0]
    return tuple((d.slots, step) for d, step in zip(case.payload.digits, steps, strict=True)), 0


def _none_common(case: IndirectCase, what: str, one: Side, other: Side) -> None:
    """Keeps what was judged to have no address in common, to be asked of once more."""
    if case.apart is not None:
        case.apart += [(what, a, b) for _, at, a in one for _, place, b in other if at == place]


def apart_script(pairs: Sequence[tuple[str, Walk, Walk]]) -> Script:
    """No address of the one walk is one of the other, whatever the counters."""
    writer = ScriptWriter("what is written and what is read", definitions())
    for number, (what, *walks) in enumerate(pairs):
        ends = []
        for side, walk in zip("ab", walks, strict=True):
            name = f"{side}{number}"
            counters = [writer.counter(f"{name}.c{i}", count) for i, (count, _) in enumerate(walk.loops)]
            ends.append(address_by_steps(writer, f"{name}.at", walk.base, counters, [s for _, s in walk.loops]))
        writer.claim(what, "core/overlap", f"(= {text_of(ends[0])} {text_of(ends[1])})")
    writer.possible("a counter of each", "core/not-vacuous", "true")
    return writer.script()


def _first(one: Side, other: Side) -> tuple[str, str, int] | str | None:
    """The first address that both reach, with who does; None, or "unknown"."""
    open_ = False
    for who, memory, walk in one:
        for whom, place, reached in other:
            if memory != place or apart(difference(walk, reached)):
                continue
            try:
                met = smallest_meeting(walk, reached)
            except TooDeep:
                open_ = True
                continue
            if met is not None:
                return who, whom, met.address
    return "unknown" if open_ else None


# ---------------------------------------------------------------- the list


def _list_overwritten(case: IndirectCase, commands: Sequence[Command]) -> SharedIndex | str | None:
    move = case.move
    bits = case.target.dtypes[move.index.dtype]
    width = _width(case)
    written = dict.fromkeys(_walk(case, command, writes=True)[0] for command in commands)
    listed: Side = [
        (f"the list of rows that the {move.kind} reads", memory, walk.scaled(unit_bits_of(bits) // width))
        for memory, walk in _declared(move.index.tensor, bits, case.target, written)
    ]
    if move.index.values is None:
        sides: Iterator[Side] = iter([_every(case, commands, writes=True, keys=range(move.keys))])
        if (move.scatter and move.index.low is None) or len(case.payload.digits) > 1:
            side = next(sides)
            _none_common(case, "the list of rows", side, listed)
            return "unknown" if _first(side, listed) is not None else None
    else:
        sides = (_moved(case, commands, key, writes=True) for key in range(move.keys))
    open_ = False
    for side in sides:
        _none_common(case, "the list of rows", side, listed)
        met = _first(side, listed)
        if isinstance(met, tuple):
            return SharedIndex(met[0], met[1], met[2])
        open_ = open_ or met == "unknown"
    return "unknown" if open_ else None


# ---------------------------------------------------------------- the rows


def _rows_overwritten(case: IndirectCase, commands: Sequence[Command]) -> SharedIndex | str | None:
    """A row that is read behind a key that has written some of it."""
    move = case.move
    every = range(move.keys)
    if move.index.values is None:
        return _promised(case, commands)
    first = _all_of(case, commands, writes=True), _all_of(case, commands, writes=False)
    if not any(a == b and w.low <= r.high and r.low <= w.high for _, a, w in first[0] for _, b, r in first[1]):
        _none_common(case, "rows", *first)
        return None
    case.apart = None
    if move.keys * move.keys > MOST_PAIRS:
        return "unknown"
    writes = [_moved(case, commands, key, writes=True) for key in every]
    reads = [_moved(case, commands, key, writes=False) for key in every]
    open_ = False
    for later in every:
        for earlier in range(later):
            met = _first(writes[earlier], reads[later])
            if isinstance(met, tuple):
                return SharedIndex(met[0], f"what {met[1]} reads after it", met[2])
            open_ = open_ or met == "unknown"
    within = _within(case, commands)
    return within or ("unknown" if open_ else None)


def _all_of(case: IndirectCase, commands: Sequence[Command], *, writes: bool) -> Side:
    """The hull of one side over all keys."""
    shifts = case.shifts()
    assert shifts is not None
    own = shifts[int(writes)] or [0]
    reach = max(own) - min(own)
    walks = (_walk(case, command, writes) for command in commands)
    return [("", memory, Walk(w.base + min(own), (*w.loops, (reach + 1, 1)))) for memory, w in walks]


def _within(case: IndirectCase, commands: Sequence[Command]) -> SharedIndex | str | None:
    """One key by itself: for every distance between a row and where it goes."""
    shifts = case.shifts()
    assert shifts is not None
    seen: dict[int, int] = {}
    for key, (read, write) in enumerate(zip(*shifts, strict=True)):
        seen.setdefault(write - read, key)
    if len(seen) > MOST_DISTANCES:
        return "unknown"
    session = Session(case.options.rlimit)
    request = case.target.geometry.get("request_bytes", 0) * 8 // _width(case)
    open_ = False
    for key in seen.values():
        read, write = (shift[key] for shift in shifts)
        moved = [c.moved_to(c.read.base + read, c.write.base + write) for c in commands]
        early = written_early(moved, session, request_units=request)
        if early == "unknown":
            open_ = True
        elif early is not None and not isinstance(early, str):
            return SharedIndex(f"{case.move.key} = {key}", "what a later request of it reads", early.address)
    return "unknown" if open_ else None


def _promised(case: IndirectCase, commands: Sequence[Command]) -> SharedIndex | str | None:
    """Rows known at run time only: any promised row for any key."""
    move = case.move
    behind, ahead = range(move.keys - 1), range(1, move.keys)
    sides = [_every(case, commands, writes=w, keys=range(move.keys)) for w in (True, False)]
    if _first(*sides) is None:
        _none_common(case, "rows", *sides)
        return None
    case.apart = None
    if move.index.low is None or move.keys < 2 or len(case.payload.digits) != 1:
        return "unknown"
    writes = _every(case, commands, writes=True, keys=behind)
    reads = _every(case, commands, writes=False, keys=ahead)
    met = _first(writes, reads)
    return SharedIndex(met[0], f"what {met[1]} reads after it", met[2]) if isinstance(met, tuple) else "unknown"
