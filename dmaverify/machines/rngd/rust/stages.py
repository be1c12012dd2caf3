"""Stages of the Tensor Unit that move elements: what each makes of the stream, and which the library refuses.

Knows: which stage may follow which, and the laws of fetch, switch, collect, transpose, trim and commit, cell by cell.
Does not know: Rust text, what stages that compute do, how kernels are compared.
Law: a stage is refused only where the library is known to refuse it. One that is not known to be as it should is
`open`: nothing is said of where its elements go. A compound that is cut inside its parts is never refused, as two
public notions of its cells part there (docs/machines/rngd.md 1.3, item 8).

Source: furiosa-opt v0.6.0, engine/mod.rs (which stage may follow which) and furiosa-opt-lower/src/verify; its book on
the Fetch, Switch, Collect, Transpose and Commit Engine; docs/machines/rngd.md 4.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from dmaverify.language.expr import ONE, Expr, Kind, Modulo, Padding, Pair, Stride, axes_of, pair, walk
from dmaverify.language.meaning import BOTTOM, INDEX, TOP, CellArray
from dmaverify.machines.rngd.rust.tile_shapes import cells_of
from dmaverify.targets.target import load_target
from dmaverify.values import dataclass, field, replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

_STREAMS = ("fetch", "fetch_mask", "fetch_table_lookup", "fetch_cast", "fetch_zero_point_sub")
_MADE = ("collect", "contract_lane", "vector_final")
_FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "fetch": ("begin", "begin_interleaved"),
    "fetch_mask": _STREAMS[:1], "fetch_table_lookup": _STREAMS[:2], "fetch_cast": _STREAMS[:3],
    "fetch_zero_point_sub": _STREAMS[:4], "switch": _STREAMS, "collect": (*_STREAMS, "switch"),
    "to_trf": ("collect",), "to_vrf": ("collect", "vector_final"), "contract_outer": ("collect",),
    "vector_init": _MADE[:2], "cast": _MADE, "transpose": (*_MADE, "cast"),
    "commit_trim": (*_MADE, "cast", "transpose"),
    "commit_cast": ("commit_trim",), "commit_cast_relu": ("commit_trim",), "commit_valid_count_pack": ("commit_trim",),
    **dict.fromkeys(
        ("commit", "commit_view"), ("commit_trim", "commit_cast", "commit_cast_relu", "commit_valid_count_pack")
    ),
}  # fmt: skip
"""What each stage may follow; those of the vector and contraction engines among themselves are not told."""
_WRITTEN = {"fetch": 2, "switch": 2, "collect": 2, "transpose": 2, "commit_trim": 1}
"""Mappings among the generic arguments of each."""
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
    """What flows behind a stage. `refused`: why the library takes no such stage; `open`: why it is not known where the
    elements are, so that its mappings say nothing.
    """

    behind: str
    bits: int
    slices: Expr = ONE
    time: Expr = ONE
    packet: Expr = ONE
    refused: str = ""
    open: str = ""

    @property
    def known(self) -> bool:
        return not (self.refused or self.open)


class _Refused(Exception):
    """That the library does not take a stage."""


class _Open(Exception):
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
    numbers: Mapping[str, int] = field(default_factory=dict)


def stream_of(slices: Expr, element: Expr, bits: int) -> StageStream:
    """What `begin` makes of a tensor."""
    return StageStream("begin", bits, slices, ONE, element)


def behind(before: StageStream, words: StageWords, *, ordered: bool) -> StageStream:
    """What flows behind one more stage. `ordered`: the library refuses what does not follow what it should."""
    after = StageStream(words.name, before.bits, open=before.open)
    allowed = _FOLLOWS.get(words.name, (before.behind,))
    if ordered and before.behind not in allowed and (before.behind in _FOLLOWS or before.behind == "begin"):
        told = ", ".join(f"`{one}`" for one in allowed)
        return replace(after, refused=f"`.{words.name}()` behind `.{before.behind}()`: it follows {told}")
    law = _LAWS.get(words.name)
    if law is None or not before.known:
        return replace(after, open=before.open or before.refused or f"`.{words.name}()` is no stage that is followed")
    given = [one for one in words.given if one is not None]
    if len(given) != _WRITTEN.get(words.name, len(given)):
        return replace(after, open=f"a mapping of `.{words.name}()` is not written")
    try:
        return law(before, words, given)
    except _Refused as why:
        cut = any(map(_cut_inside, (before.time, before.packet, before.slices, *given, words.element or ONE)))
        said = f"`.{words.name}()`: {why}"
        return replace(after, open=said) if cut else replace(after, refused=said)
    except _Open as why:
        return replace(after, open=f"`.{words.name}()`: {why}")


def _cut_inside(expr: Expr) -> bool:
    cuts = (part for part in walk(expr) if isinstance(part, (Stride, Modulo)))
    return any(isinstance(part, Pair) for cut in cuts for part in walk(cut))


# ---------------------------------------------------------------- cells


def _cells(expr: Expr) -> CellArray:
    found = cells_of(expr, expr.size)
    if found is None:
        raise _Open("too many cells to be listed")
    return found


def _keys(cells: CellArray, sizes: Mapping[str, int]) -> Places:
    """The live cells in order, each as one number made of its coordinates on these axes."""
    import numpy as np

    if prod(sizes.values()) >= 1 << 62:
        raise _Open("axes too large to be listed")
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


def _figure(name: str) -> int:
    machine = load_target("rngd")
    return {**machine.geometry, **machine.limits}[name]


def _flit(before: StageStream) -> int:
    return _figure("flit_bytes") * 8 // before.bits


def _both(*exprs: Expr) -> dict[str, int]:
    return {axis: size for expr in exprs for axis, size in axes_of(expr).items()}


# ---------------------------------------------------------------- stages


def _fetch(before: StageStream, words: StageWords, given: Sequence[Expr]) -> StageStream:
    """Every element of the tensor is read, in whatever order, and as often as there are new axes."""
    import numpy as np

    time, packet = given
    sizes = axes_of(before.packet)
    held, read = (_keys(_cells(one), sizes) for one in (before.packet, pair(time, packet)))
    if not np.isin(held, read).all():
        raise _Refused("it does not read all elements of the tensor; take a `tile` of those that it reads")
    if not np.isin(read, held).all():
        raise _Open("it names elements that the tensor does not hold")
    return StageStream("fetch", before.bits, before.slices, time, packet)


def _cast(before: StageStream, words: StageWords, given: Sequence[Expr]) -> StageStream:
    """Elements of another type, where they were."""
    if not words.bits:
        raise _Open("the type that it gives is not known")
    return replace(before, behind=words.name, bits=words.bits)


def _switch(before: StageStream, words: StageWords, given: Sequence[Expr]) -> StageStream:
    """Slice and time are what the configuration makes of them."""
    import numpy as np

    slices, time = given
    if slices.size != before.slices.size:
        raise _Refused(f"{slices.size} slices of {before.slices.size}")
    if words.config not in _SWITCHES:
        raise _Open("its configuration is not followed")
    comes, *goes = _SWITCHES[words.config]
    size = {"x1": "s1", "x0": "s0"}
    parts = {f"{word[0]}{word[-1]}": number for word, number in words.numbers.items()}
    if parts.keys() != {*comes.split()} - {"s2", "t2", "t1"}:
        raise _Open("its numbers are not those of its configuration")
    if any(number < 1 or (name[0] == "s" and number & (number - 1)) for name, number in parts.items()):
        raise _Refused("slices that are no power of two")
    parts |= {"t1": parts["s1"]} if words.config == "InterTranspose" else {}
    for name, whole in (("s2", before.slices.size), ("t2" if "t2" in comes else "t1", before.time.size)):
        rest = prod(number for one, number in parts.items() if one[0] == name[0])
        if whole % rest:
            raise _Refused(f"{rest} does not divide {whole}")
        parts[name] = whole // rest
    order = " ".join(goes).split()
    shape = [parts[size.get(name, name)] for name in order]
    if prod(shape) != slices.size * time.size:
        raise _Refused(f"{time.size} steps of time of {prod(shape) // slices.size}")
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
        raise _Refused(f"its slices and time are not what `{words.config}` makes of those that come in")
    live = now.kind == INDEX
    if not _same(_at(was, live), _at(now, live), sizes):
        raise _Open("what is copied is not told apart from what comes in")
    return StageStream("switch", before.bits, slices, time, before.packet)


def _collect(before: StageStream, words: StageWords, given: Sequence[Expr]) -> StageStream:
    """Packets are padded to whole flits; each flit is a packet, and their number goes into the time."""
    time, packet = given
    flit = _flit(before)
    if packet.size != flit:
        raise _Refused(f"its packets have {packet.size} elements; a flit of {_figure('flit_bytes')} bytes has {flit}")
    whole = -(-before.packet.size // flit) * flit
    padded = Padding(before.packet, whole, Kind.TOP) if whole > before.packet.size else before.packet
    sizes = _both(before.time, before.packet, time, packet)
    if not _same(_cells(pair(before.time, padded)), _cells(pair(time, packet)), sizes):
        raise _Refused(
            f"its time and packets are not those that come in, cut into flits of {_figure('flit_bytes')} bytes"
        )
    return StageStream("collect", before.bits, before.slices, time, packet)


def _transpose(before: StageStream, words: StageWords, given: Sequence[Expr]) -> StageStream:
    """Packets in time become rows: by the engine's tables of rows and columns."""
    import numpy as np

    time, packet = given
    flit, most = _flit(before), _figure("transpose_rows_bytes_max") * 8 // before.bits
    width = _figure("transpose_elements") * (2 if before.bits == 4 else 1)
    if before.packet.size != flit or packet.size != flit:
        raise _Refused(f"its packets are no flits of {flit} elements")
    was, now = _cells(pair(before.time, before.packet)), _cells(pair(time, packet))
    sizes, every = _both(before.time, before.packet, time, packet), np.arange(now.kind.size)
    for rows, packets in ((rows, packets) for rows in range(1, most + 1) for packets in (1, 2, 4)):
        times, left = divmod(before.time.size, rows * packets)
        columns = packets * width
        if (
            left
            or not times
            or columns > _figure("transpose_columns_max")
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
            return StageStream("transpose", before.bits, before.slices, time, packet)
    raise _Open("no number of rows and columns is known with which it is that")


def _trim(before: StageStream, words: StageWords, given: Sequence[Expr]) -> StageStream:
    """The first elements of a packet, in whole words of 8 bytes."""
    (packet,) = given
    size, word, flit = packet.size * before.bits / 8, _figure("commit_multiple"), _figure("flit_bytes")
    if size % word or not 0 < size <= flit:
        some = ", ".join(map(str, range(word, flit, word)))
        raise _Refused(f"its packets have {size:g} bytes, which is none of {some} and {flit}")
    sizes, first = _both(before.packet, packet), slice(0, packet.size)
    if packet.size > before.packet.size or not _same(_cells(packet), _at(_cells(before.packet), first), sizes):
        raise _Refused("its packets are not the first elements of those that come in")
    return StageStream("commit_trim", before.bits, before.slices, before.time, packet)


def _commit(before: StageStream, words: StageWords, given: Sequence[Expr]) -> StageStream:
    """Every element of the destination is written, once; padding of a packet goes where the destination has some."""
    import numpy as np

    into = words.element
    if into is None:
        raise _Open("the type of what it writes is not known")
    stream, sizes = pair(before.time, before.packet), _both(before.time, before.packet, into)
    comes, goes = _cells(stream), _cells(into)
    keys, held = _keys(comes, sizes), _keys(goes, sizes)
    if len(np.unique(keys)) < len(keys) or len(np.unique(held)) < len(held):
        raise _Refused("an element stands at several places; a commit writes each once")
    if not np.isin(held, keys).all():
        raise _Refused("elements of the destination are not in the stream")
    if not np.isin(keys, held).all():
        raise _Refused("elements of the stream have no place in the destination")
    if not np.isin(goes.kind, (INDEX, TOP, BOTTOM)).all() or not _padding_fits(before, comes, goes, keys, held):
        raise _Open("where the padding of its packets goes is not known")
    return StageStream("commit", before.bits, before.slices, ONE, into)


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


_LAWS: Mapping[str, Callable[[StageStream, StageWords, Sequence[Expr]], StageStream]] = {
    "fetch": _fetch, "fetch_cast": _cast, "fetch_table_lookup": _cast, "switch": _switch, "collect": _collect,
    "transpose": _transpose, "commit_trim": _trim, "commit": _commit, "commit_view": _commit,
}  # fmt: skip
MOVING = frozenset(_LAWS) - {"fetch_cast", "fetch_table_lookup"}
"""Stages that leave every element what it is, wherever they put it."""
