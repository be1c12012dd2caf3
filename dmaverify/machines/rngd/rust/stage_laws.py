"""Laws of the Tensor Unit's stages: what each asks of the streams before and behind it, cell by cell.

Knows: fetch, switch, collect, cast, transpose, trim and commit, halves of flits; sizes from the machine's data.
Does not know: which stage may follow which (`stages`), Rust text, what stages compute.
Law: `Refused` only where the library is known to take no such stage; what is not known to be as it should is `Open`.

Source: furiosa-opt v0.6.0, furiosa-opt-lower/src/verify, and its book on the Fetch, Switch, Collect, Cast, Transpose
and Commit Engine; docs/machines/rngd.md 4.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from dmaverify.language.expr import ONE, Broadcast, Expr, Kind, Padding, Symbol, axes_of, pair, terms_of, walk
from dmaverify.language.meaning import BOTTOM, INDEX, TOP, CellArray
from dmaverify.machines.rngd.rust.tile_shapes import cells_of
from dmaverify.targets.target import load_target
from dmaverify.values import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

_SWITCHES = {
    "Broadcast01": ("s2 s1 s0 t1 t0", "s2 x1 x0", "t1 s1 t0 s0"),
    "Broadcast1": ("s2 s1 s0 t1", "s2 x1 s0", "t1 s1"),
    "Transpose": ("s2 s1 s0 t1", "s2 s0 s1", "t1"),
    "InterTranspose": ("s2 s1 s0 t2 t1 t0", "s2 t1 s0", "t2 t0 s1"),
    "TransposedBroadcast1": ("s2 s1 s0 t1", "s2 x0 s1", "t1 s0"),
}
"""Of each configuration of the switch: slice and time of what comes in, as digits; slice and time of what goes out.
`x1` and `x0` are new, of the sizes of `s1` and `s0`.
"""


@dataclass(frozen=True)
class StageStream:
    """What flows behind a stage. `refused`: why the library takes no such stage; `open`: why it is not known what the
    elements are. `typed`: whether its mappings and bits are those that the text says.
    """

    behind: str
    bits: int
    slices: Expr = ONE
    time: Expr = ONE
    packet: Expr = ONE
    refused: str = ""
    open: str = ""
    typed: bool = True

    @property
    def known(self) -> bool:
        return not (self.refused or self.open)

    @property
    def mappings(self) -> tuple[Expr, ...]:
        return self.slices, self.time, self.packet


class Refused(Exception):
    """That the library does not take a stage."""


class Open(Exception):
    """That nothing is known of it."""


@dataclass(frozen=True)
class StageWords:
    """What the text says of a stage: mappings among its generic arguments (None: not known), the mapping of what a
    commit writes, the type of a cast, the configuration of a switch with its numbers.
    """

    name: str
    given: tuple[Expr | None, ...] = ()
    element: Expr | None = None
    bits: int = 0  # of the type that it gives elements
    config: str = ""
    numbers: tuple[tuple[str, int], ...] = ()


def figure(name: str) -> int:
    machine = load_target("rngd")
    return {**machine.geometry, **machine.limits}[name]


# ---------------------------------------------------------------- cells


def _cells(expr: Expr) -> CellArray:
    found = cells_of(expr, expr.size)
    if found is None:
        raise Open("too many cells to be listed")
    return found


def _keys(cells: CellArray, sizes: Mapping[str, int]) -> Places:
    """The live cells in order, each as one number made of its coordinates on these axes."""
    import numpy as np

    if prod(sizes.values()) >= 1 << 62:
        raise Open("axes too large to be listed")
    key = np.zeros(len(cells.kind), np.int64)
    for axis, size in sizes.items():
        key = key * size + cells.coords.get(axis, 0)
    live: Places = key[cells.kind == INDEX]
    return live


def _same(one: CellArray, other: CellArray, sizes: Mapping[str, int]) -> bool:
    """Whether two lists of cells are the same, padding and all."""
    return len(one.kind) == len(other.kind) and bool(
        (one.kind == other.kind).all() and (_keys(one, sizes) == _keys(other, sizes)).all()
    )


def _at(cells: CellArray, places: Any) -> CellArray:
    return CellArray(cells.kind[places], {axis: values[places] for axis, values in cells.coords.items()})


def _flit(before: StageStream) -> int:
    return figure("flit_bytes") * 8 // before.bits


def _both(*exprs: Expr) -> dict[str, int]:
    return {axis: size for expr in exprs for axis, size in axes_of(expr).items()}


# ---------------------------------------------------------------- stages


def _fetch(before: StageStream, words: StageWords, after: StageStream) -> None:
    """Every element of the tensor is read, in whatever order, and as often as there are new axes."""
    import numpy as np

    sizes = axes_of(before.packet)
    held, read = (_keys(_cells(one), sizes) for one in (before.packet, pair(after.time, after.packet)))
    if not np.isin(held, read).all():
        raise Refused("it does not read all elements of the tensor; take a `tile` of those that it reads")
    if not np.isin(read, held).all():
        raise Open("it names elements that the tensor does not hold")


def kept(before: StageStream, words: StageWords, after: StageStream) -> None:
    """Elements that may be others, where they were."""


def _switch(before: StageStream, words: StageWords, after: StageStream) -> None:
    """Slice and time are what the configuration makes of them."""
    import numpy as np

    slices, time = after.slices, after.time
    if slices.size != before.slices.size:
        raise Refused(f"{slices.size} slices of {before.slices.size}")
    if words.config == "CustomBroadcast":
        _routed(before, words, after)
        return
    if words.config not in _SWITCHES:
        raise Open("its configuration is not followed")
    comes, *goes = _SWITCHES[words.config]
    size = {"x1": "s1", "x0": "s0"}
    parts = {f"{word[0]}{word[-1]}": number for word, number in words.numbers}
    if parts.keys() != {*comes.split()} - {"s2", "t2", "t1"}:
        raise Open("its numbers are not those of its configuration")
    if any(number < 1 or (name[0] == "s" and number & (number - 1)) for name, number in parts.items()):
        raise Refused("slices that are no power of two")
    parts |= {"t1": parts["s1"]} if words.config == "InterTranspose" else {}
    for name, whole in (("s2", before.slices.size), ("t2" if "t2" in comes else "t1", before.time.size)):
        rest = prod(number for one, number in parts.items() if one[0] == name[0])
        if whole % rest:
            raise Refused(f"{rest} does not divide {whole}")
        parts[name] = whole // rest
    order = " ".join(goes).split()
    shape = [parts[size.get(name, name)] for name in order]
    if prod(shape) != slices.size * time.size:
        raise Refused(f"{time.size} steps of time of {prod(shape) // slices.size}")
    read = np.arange(before.slices.size * before.time.size).reshape([parts[name] for name in comes.split()])
    kept = [name for name in order if name not in size]
    moved = read.transpose([comes.split().index(name) for name in kept])
    moved = moved[tuple(None if name in size else slice(None) for name in order)]
    first = np.zeros(shape, np.bool_)
    first[tuple(0 if name in size else slice(None) for name in order)] = True
    was = _at(_cells(pair(before.slices, before.time)), np.broadcast_to(moved, shape).reshape(-1))
    now = _cells(pair(slices, time))
    sizes, one = _both(before.slices, before.time), first.reshape(-1)
    if not _same(_at(was, one), _at(now, one), sizes):
        raise Refused(f"its slices and time are not what `{words.config}` makes of those that come in")
    live = now.kind == INDEX
    if not _same(_at(was, live), _at(now, live), sizes):
        raise Open("what is copied is not told apart from what comes in")


def _routed(before: StageStream, words: StageWords, after: StageStream) -> None:
    """Each slice takes what its ring brings of the slices that it names, in their order, time by time."""
    import numpy as np

    ring, sizes = dict(words.numbers).get("ring_size", 0), _both(before.slices, before.time)
    if ring < 1:
        raise Open("its configuration is not followed")
    if ring & (ring - 1):
        raise Refused(f"a ring of {ring} slices, which is no power of two")
    was, now = (_cells(pair(one.slices, one.time)) for one in (before, after))
    held, keys = _keys(was, sizes), _keys(now, sizes)
    if not np.isin(held, keys).all():
        raise Refused("elements that come in are in no slice that goes out")
    if len(np.unique(held)) < len(held) or not np.isin(keys, held).all() or not _copies(after, sizes):
        raise Open("what is copied is not told apart from what comes in")
    times, left = divmod(after.time.size, before.time.size)
    if left or not np.isin(now.kind, (INDEX, TOP)).all():
        raise Open("how time goes on is not known")
    places = np.flatnonzero(was.kind == INDEX)[np.argsort(held)][np.searchsorted(np.sort(held), keys)]
    source, time = np.divmod(places, before.time.size)
    slices, turn = np.divmod(np.flatnonzero(now.kind == INDEX), after.time.size)
    if (turn // times != time).any():
        raise Refused("the time that comes in is not the outer part of what goes out")
    beside = (np.diff(slices) == 0) & (np.diff(turn // times) == 0)
    if (np.diff(source)[beside] < 0).any():
        raise Refused("what moves from slices into time does not keep its order")
    if (source // ring != slices // ring).any():
        raise Refused(f"a ring of {ring} slices does not reach all that they take")
    if ring > 1 and (source // (ring // 2) == slices // (ring // 2)).all():
        raise Open(f"whether the library takes a ring of {ring} slices where fewer do is not known")


def _copies(after: StageStream, comes: Mapping[str, int]) -> bool:
    """Whether slices are copied by axes of their own alone, each whole and named once."""
    new = [[*axes_of(one).keys() - comes.keys()] for one in terms_of(after.slices)]
    names = [axis for axes in new for axis in axes]
    whole = all(isinstance(one, Symbol) for one, axes in zip(terms_of(after.slices), new, strict=True) if axes)
    bare = any(isinstance(part, Broadcast) and part.size > 1 for one in after.mappings[:2] for part in walk(one))
    return whole and len(set(names)) == len(names) and not bare and axes_of(after.time).keys() <= comes.keys()


def _collect(before: StageStream, words: StageWords, after: StageStream) -> None:
    """Packets are padded to whole flits; each flit is a packet, and their number goes into the time."""
    time, packet = after.time, after.packet
    flit = _flit(before)
    if packet.size != flit:
        raise Refused(f"its packets have {packet.size} elements; a flit of {figure('flit_bytes')} bytes has {flit}")
    whole = -(-before.packet.size // flit) * flit
    padded = Padding(before.packet, whole, Kind.TOP) if whole > before.packet.size else before.packet
    sizes = _both(before.time, before.packet, time, packet)
    if not _same(_cells(pair(before.time, padded)), _cells(pair(time, packet)), sizes):
        raise Refused(
            f"its time and packets are not those that come in, cut into flits of {figure('flit_bytes')} bytes"
        )


def _transpose(before: StageStream, words: StageWords, after: StageStream) -> None:
    """Packets in time become rows: by the engine's tables of rows and columns."""
    import numpy as np

    time, packet = after.time, after.packet
    flit, most = _flit(before), figure("transpose_rows_bytes_max") * 8 // before.bits
    width = figure("transpose_elements") * (2 if before.bits == 4 else 1)
    if before.packet.size != flit or packet.size != flit:
        raise Refused(f"its packets are no flits of {flit} elements")
    was, now = _cells(pair(before.time, before.packet)), _cells(pair(time, packet))
    sizes, every = _both(before.time, before.packet, time, packet), np.arange(now.kind.size)
    for rows, packets in ((rows, packets) for rows in range(1, most + 1) for packets in (1, 2, 4)):
        times, left = divmod(before.time.size, rows * packets)
        columns = packets * width
        if (
            left
            or not times
            or columns > figure("transpose_columns_max")
            or time.size % times
            or time.size // times > columns
        ):
            continue
        step, at = np.divmod(every, flit)
        turn, row = np.divmod(step, time.size // times)
        read = ((turn * rows + at) * packets + row // width) * flit + row % width
        inside = at < rows
        moved = np.where(inside, read, 0)
        alike = _same(_at(was, moved[inside]), _at(now, every[inside]), sizes)
        once = np.bincount(moved[inside], minlength=was.kind.size)[was.kind == INDEX]
        if alike and not (now.kind[~inside] == INDEX).any() and (once == 1).all():
            return
    raise Open("no number of rows and columns is known with which it is that")


def _cast(before: StageStream, words: StageWords, after: StageStream) -> None:
    """A flit of elements is one of smaller elements, padded."""
    flit, now = _flit(before), _flit(after)
    if before.packet.size != flit or after.packet.size != now:
        raise Refused(f"its packets are no flits: {flit} elements that come in, {now} that go out")
    _padded(before, after, now)


def _padded(before: StageStream, after: StageStream, size: int) -> None:
    if before.packet.size > size:
        raise Open("elements become larger")
    padded = Padding(before.packet, size, Kind.TOP) if size > before.packet.size else before.packet
    if not _same(_cells(padded), _cells(after.packet), _both(before.packet, after.packet)):
        raise Refused("its packets are not those that come in, padded")


def _half(before: StageStream, words: StageWords, after: StageStream) -> None:
    """The Vector Engine takes flits or, where it narrows, halves of them."""
    sizes = (_flit(before), _flit(before) // 2) if "narrow" in words.name else (_flit(before) // 2, _flit(before))
    if (before.packet.size, after.packet.size) != sizes:
        raise Refused(
            f"packets of {before.packet.size} and {after.packet.size} elements; it makes {sizes[1]} of {sizes[0]}"
        )
    sides = _both(*before.mappings, *after.mappings)
    if words.name == "vector_widen_pad":
        _padded(before, after, sizes[1])
    elif words.name == "vector_narrow_trim":
        was = _cells(before.packet)
        if (was.kind[sizes[1] :] == INDEX).any() or not _same(
            _at(was, slice(0, sizes[1])), _cells(after.packet), sides
        ):
            raise Refused("its packets are not the first half of those that come in, behind which there is padding")
    elif not _same(_cells(pair(before.time, before.packet)), _cells(pair(after.time, after.packet)), sides):
        raise Refused("its time and packets are not those that come in, cut otherwise")


def _commit_cast(before: StageStream, words: StageWords, after: StageStream) -> None:
    """What is left of a packet is written in whole words."""
    times, left = divmod(before.bits, after.bits)
    unit = figure("commit_multiple") * times
    if left or not times:
        raise Open("elements become larger")
    if before.packet.size * before.bits % (8 * unit):
        raise Refused(f"packets of {before.packet.size * before.bits // 8} bytes come in; it takes multiples of {unit}")


def _trim(before: StageStream, words: StageWords, after: StageStream) -> None:
    """The first elements of a packet, in whole words of 8 bytes."""
    packet = after.packet
    size, word, flit = packet.size * before.bits / 8, figure("commit_multiple"), figure("flit_bytes")
    if size % word or not 0 < size <= flit:
        some = ", ".join(map(str, range(word, flit, word)))
        raise Refused(f"its packets have {size:g} bytes, which is none of {some} and {flit}")
    sizes, first = _both(before.packet, packet), slice(0, packet.size)
    if packet.size > before.packet.size or not _same(_cells(packet), _at(_cells(before.packet), first), sizes):
        raise Refused("its packets are not the first elements of those that come in")


def _commit(before: StageStream, words: StageWords, after: StageStream) -> None:
    """Every element of the destination is written, once; padding of a packet goes where the destination has some."""
    import numpy as np

    into = after.packet
    stream, sizes = pair(before.time, before.packet), _both(before.time, before.packet, into)
    comes, goes = _cells(stream), _cells(into)
    keys, held = _keys(comes, sizes), _keys(goes, sizes)
    if len(np.unique(keys)) < len(keys) or len(np.unique(held)) < len(held):
        raise Refused("an element stands at several places; a commit writes each once")
    if not np.isin(held, keys).all():
        raise Refused("elements of the destination are not in the stream")
    if not np.isin(keys, held).all():
        raise Refused("elements of the stream have no place in the destination")
    if not np.isin(goes.kind, (INDEX, TOP, BOTTOM)).all() or not _padding_fits(before, comes, goes, keys, held):
        raise Open("where the padding of its packets goes is not known")


def _padding_fits(before: StageStream, comes: CellArray, goes: CellArray, keys: Places, held: Places) -> bool:
    """Whether each packet that has padding lies in one piece, padding upon padding that may hold anything."""
    import numpy as np

    packet, live = before.packet.size, comes.kind == INDEX
    places = np.flatnonzero(goes.kind == INDEX)[np.argsort(held)]
    at = np.full(live.size, -1, np.int64)
    at[live] = places[np.searchsorted(np.sort(held), keys)]
    base = np.where(live, at - np.arange(live.size) % packet, -1).reshape(-1, packet)
    mixed = live.reshape(-1, packet).any(1) & ~live.reshape(-1, packet).all(1)
    first = base.max(1)
    if (np.where(live.reshape(-1, packet), base, first[:, None]) != first[:, None])[mixed].any():
        return False
    over = first[mixed][:, None] + np.arange(packet)
    if over.size and (over.min() < 0 or over.max() >= goes.kind.size):
        return False
    return bool((goes.kind[over] == np.where(live.reshape(-1, packet)[mixed], INDEX, TOP)).all())


LAWS: Mapping[str, Callable[[StageStream, StageWords, StageStream], None]] = {
    "fetch": _fetch, "fetch_cast": kept, "fetch_table_lookup": kept, "switch": _switch, "collect": _collect,
    "transpose": _transpose, "commit_trim": _trim, "commit": _commit, "commit_view": _commit, "cast": _cast,
    "commit_cast": _commit_cast, "commit_cast_relu": _commit_cast,
    **dict.fromkeys(("vector_narrow_split", "vector_widen_concat", "vector_narrow_trim", "vector_widen_pad"), _half),
}  # fmt: skip
