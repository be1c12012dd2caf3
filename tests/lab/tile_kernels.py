"""Kernels on tiles made at random, right by construction, and the same with exactly one fault.

Knows: views, parts, tiles with and without addresses, all operations of the target's table, loops, branches, flags.
Does not know: what a fault breaks; proof and run are to tell, each by itself.
Law: the same seed gives the same text; a faulty kernel differs from its kernel in one place, named by `note`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dmaverify.machines.pto.limits import shipped
from dmaverify.machines.pto.signatures import signatures
from dmaverify.machines.pto.tiles import TileWork, tile_work

ROWS, COLUMNS, SIGNALS = 32, 64, 4
"""Of both tensors; parts lie within."""


@dataclass(frozen=True)
class DrawnTile:
    """A tile of a type, at an address or none, with the valid region of its type or one given at run time."""

    name: str
    rows: int
    cols: int
    v_rows: int
    v_cols: int
    address: int | None = None
    standing: bool = False
    given: bool = False
    item: int = 4
    loc: str = "vec"
    whole: bool = False  # of whole numbers
    boxed: bool = False

    @property
    def bytes(self) -> int:
        return -(-self.rows * self.cols * self.item // 32) * 32

    @property
    def kind(self) -> str:
        valid = "v_row=?, v_col=?" if self.given else f"v_row={self.v_rows}, v_col={self.v_cols}"
        layout = ", blayout=col_major" if self.standing or self.boxed else ""
        layout += ", slayout=row_major" if self.boxed else ""
        sizes = f"rows={self.rows}, cols={self.cols}"
        dtype = f"i{8 * self.item}" if self.whole else DTYPES[self.item]
        return f"!pto.tile_buf<loc={self.loc}, dtype={dtype}, {sizes}, {valid}{layout}>"


DTYPES = {1: "i8", 2: "f16", 4: "f32"}


@dataclass(frozen=True)
class Move:
    """A load or a store, or a copy to or from another rank (`put`, `get`) through the tile: the part of the tensor from
    `row`, `col` on, moved by the counter of the loop around.
    """

    kind: str
    tile: str
    row: int
    col: int
    rows: int
    cols: int
    step: int = 0


@dataclass(frozen=True)
class Work:
    """An operation: tiles that it reads, row and column of a window, the tile that it writes."""

    name: str
    ins: tuple[str, ...]
    out: str
    at: tuple[int, ...] | None = None
    scalar: bool = False


@dataclass(frozen=True)
class Flagged:
    """A set or a wait of a flag."""

    action: str
    source: str
    dest: str
    number: int


@dataclass(frozen=True)
class Signalled:
    """A signal set (`tnotify`) or waited for (`twait`), from an element on, or what makes stores seen."""

    name: str
    at: int = 0
    count: int = 1


@dataclass(frozen=True)
class TileKernel:
    """`body` runs `trips` times between `before` and `after`; with `guard` only where `%on` is 1."""

    tiles: Mapping[str, DrawnTile]
    before: tuple[object, ...]
    body: tuple[object, ...] = ()
    after: tuple[object, ...] = ()
    trips: int = 1
    strides: tuple[int, int] = (COLUMNS, 1)
    most: int = 0  # of the row that an argument gives
    guard: int | None = None  # the part of `before` that runs where %on is 1
    inside: bool = False  # tiles are allocated in the loop
    item: int = 4
    note: str = ""
    values: tuple[Mapping[str, int], ...] = field(default=({},))

    @property
    def tensors(self) -> dict[str, int]:
        return dict.fromkeys(("a", "b"), ROWS * COLUMNS * self.item) | ({"s": 4 * SIGNALS} if self._signals else {})

    @property
    def _signals(self) -> bool:
        return any(isinstance(part, Signalled) for part in (*self.before, *self.body, *self.after))

    def text(self) -> str:
        kind = DTYPES[self.item]
        numbers = sorted({*range(ROWS + 1), 0, 1, COLUMNS, *self.strides, *self._numbers()})
        head = [f"// dmaverify: gm %{name} = {size} bytes" for name, size in self.tensors.items()]
        if self.most:
            head.append(f"// dmaverify: assume %n in 0..{self.most}")
        signals = ", %s: !pto.ptr<i32>" if self._signals else ""
        head.append(f"func.func @k(%a: !pto.ptr<{kind}>, %b: !pto.ptr<{kind}>{signals}, %n: index, %on: i1) {{")
        head += [f"  {_c(n)} = arith.constant {n} : index" for n in numbers]
        places = {t.address for t in self.tiles.values() if t.address is not None}
        head += [f"  %at{n} = arith.constant {n} : i64" for n in sorted(places)]
        head.append(f"  %f = arith.constant 0 : {kind}" if kind == "i8" else f"  %f = arith.constant 0.0 : {kind}")
        shape = f"shape = [{_c(ROWS)}, {_c(COLUMNS)}]"
        for name, strides in (("a", (COLUMNS, 1)), ("b", self.strides)):
            given = f"strides = [{_c(strides[0])}, {_c(strides[1])}]"
            head.append(f"  %{name}v = pto.make_tensor_view %{name}, {shape}, {given} : !pto.tensor_view<?x?x{kind}>")
        if self._signals:
            head.append("  %one = arith.constant 1 : i32")
            head.append(
                f"  %sv = pto.make_tensor_view %s, shape = [{_c(SIGNALS)}], strides = [%c1] : !pto.tensor_view<?xi32>"
            )
        made = [self._made(tile) for tile in self.tiles.values()]
        lines: list[str] = [] if self.inside else made
        for index, part in enumerate(self.before):
            guarded = index == self.guard
            lines += [*(["  scf.if %on {"] if guarded else []), *self._part(part), *(["  }"] if guarded else [])]
        if self.body:
            lines.append(f"  scf.for %i = {_c(0)} to {_c(self.trips)} step {_c(1)} {{")
            lines += made if self.inside else []
            lines += [line for part in self.body for line in self._part(part)] + ["  }"]
        lines += [line for part in self.after for line in self._part(part)]
        return "\n".join([*head, *lines, "  return", "}", ""])

    def _numbers(self) -> list[int]:
        out = []
        for part in (*self.before, *self.body, *self.after):
            if isinstance(part, Move):
                out += [part.row, part.col, part.rows, part.cols, part.step]
            elif isinstance(part, Work) and part.at is not None:
                out += part.at
            elif isinstance(part, Signalled):
                out += [part.at, part.count, SIGNALS]
        return [*out, *(n for t in self.tiles.values() for n in (t.v_rows, t.v_cols))]

    def _made(self, tile: DrawnTile) -> str:
        given = [] if tile.address is None else [f"addr = %at{tile.address}"]
        given += [f"valid_row = {_c(tile.v_rows)} valid_col = {_c(tile.v_cols)}"] if tile.given else []
        return f"  %{tile.name} = pto.alloc_tile {' '.join(given)} : {tile.kind}"

    def _part(self, part: object) -> list[str]:
        if isinstance(part, Flagged):
            return [f"  pto.{part.action}_flag[<PIPE_{part.source}>, <PIPE_{part.dest}>, <EVENT_ID{part.number}>]"]
        if isinstance(part, Signalled):
            return self._signalled(part)
        if isinstance(part, Work):
            tiles = [(f"%{name}", self.tiles[name].kind) for name in part.ins]
            more = [("%f", DTYPES[self.item])] if part.scalar else []
            more += [] if part.at is None else [(_c(n), "index") for n in part.at]
            ins = [*tiles, *more]
            how = " {exhausted = false}" if part.name == "pto.tmrgsort" and part.at is None else ""
            given = f"ins({', '.join(n for n, _ in ins)}{how} : {', '.join(k for _, k in ins)}) " if ins else ""
            return [f"  {part.name} {given}outs(%{part.out} : {self.tiles[part.out].kind})"]
        assert isinstance(part, Move)
        if part.kind in ("put", "get"):
            return self._exchanged(part)
        view = "av" if part.kind == "load" else "bv"
        parts = (*self.before, *self.body, *self.after)
        name = f"p{next(i for i, other in enumerate(parts) if other is part)}"
        lines, row = [], _c(part.row)
        if part.step:
            lines += [
                f"  %s{name} = arith.muli %i, {_c(part.step)} : index",
                f"  %r{name} = arith.addi %s{name}, {row} : index",
            ]
            row = f"%r{name}"
        elif self.most and part.kind == "load":
            lines.append(f"  %r{name} = arith.addi %n, {row} : index")
            row = f"%r{name}"
        kinds = "!pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<?x?xf32>"
        offsets, sizes = f"offsets = [{row}, {_c(part.col)}]", f"sizes = [{_c(part.rows)}, {_c(part.cols)}]"
        lines.append(f"  %{name} = pto.partition_view %{view}, {offsets}, {sizes} : {kinds}")
        one, two = f"%{name} : !pto.partition_tensor_view<?x?xf32>", f"%{part.tile} : {self.tiles[part.tile].kind}"
        source, dest = (one, two) if part.kind == "load" else (two, one)
        return [*lines, f"  pto.t{part.kind} ins({source}) outs({dest})"]

    def _signalled(self, part: Signalled) -> list[str]:
        if "." in part.name:
            return [f"  pto.{part.name}"]
        name, kinds = (
            f"{part.name}{part.at}_{part.count}",
            "!pto.tensor_view<?xi32> -> !pto.partition_tensor_view<?xi32>",
        )
        how = "notifyOp = #pto<notify_op set>" if part.name == "tnotify" else "cmp = #pto<wait_cmp ge>"
        return [
            f"  %{name} = pto.partition_view %sv, offsets = [{_c(part.at)}], sizes = [{_c(part.count)}] : {kinds}",
            f"  pto.comm.{part.name}(%{name}, %one : !pto.partition_tensor_view<?xi32>, i32) {{{how}}}",
        ]

    def _exchanged(self, part: Move) -> list[str]:
        offsets, sizes = f"offsets = [{_c(part.row)}, {_c(part.col)}]", f"sizes = [{_c(part.rows)}, {_c(part.cols)}]"
        kind = "!pto.partition_tensor_view<?x?xf32>"
        name, kinds = f"%{part.kind}{part.tile}", f"!pto.tensor_view<?x?xf32> -> {kind}"
        made = [f"  {name}{v} = pto.partition_view %{v}v, {offsets}, {sizes} : {kinds}" for v in "ab"]
        ends = f"{name}b, {name}a, buf(%{part.tile})"
        how = " {atomicType = #pto<atomic_type atomic_none>}" if part.kind == "put" else ""
        kinds = f"{kind}, {kind}, {self.tiles[part.tile].kind}"
        return [*made, f"  pto.comm.t{part.kind}({ends} : {kinds}){how}"]


def _c(number: int) -> str:
    return f"%c{number}" if number >= 0 else f"%m{-number}"


# ---------------------------------------------------------------- right kernels


def tile_kernel_of(rng: random.Random) -> TileKernel:
    """A right kernel: tiles loaded, one to three operations, the results stored."""
    if rng.random() < 0.1:
        return _product(rng)
    item = rng.choice([4, 4, 2, 1])
    rows, cols = rng.choice([4, 8]), 32
    v_rows, v_cols = rng.choice([rows, rows, rows - 1]), rng.choice([cols, cols, 16, 24])
    addressed = rng.random() < 0.5
    flags = rng.random() < (0.5 if addressed else 0.1)
    looped = not flags and rng.random() < 0.4
    drawn = _Drawn(rng, item, (rows, cols), (v_rows, v_cols), addressed)
    first, second = drawn.tile(), drawn.tile()
    trips = rng.choice([2, 3]) if looped else 1
    step = v_rows if looped else 0
    loads = [Move("load", t, rng.randint(0, 4), rng.randint(0, 16), v_rows, v_cols, step) for t in (first, second)]
    works, results = drawn.works(first, second, 1 if flags else rng.randint(1, 3))
    stores = [
        Move("store", t, at * 8 if not looped else 0, 0, drawn.tiles[t].v_rows, drawn.tiles[t].v_cols, 8 * looped)
        for at, t in enumerate(results[:1] if looped else results)
    ]
    if flags:
        parts = (*loads, *_flags("MTE2", "V", 0), *works, *_flags("V", "MTE3", 1), *stores)
        return TileKernel(drawn.tiles, parts, item=item)
    if looped:
        inside = not addressed and rng.random() < 0.5
        return TileKernel(drawn.tiles, (), (*loads, *works, *stores), (), trips, item=item, inside=inside)
    talks = _talks(rng, drawn) if rng.random() < 0.2 else ()
    most = rng.choice([0, 0, ROWS - v_rows - 4])
    ends = tuple({"n": n} for n in (0, most // 2, most)) if most else ({},)
    return TileKernel(drawn.tiles, (*loads, *works, *talks, *stores), most=most, item=item, values=ends)


def _talks(rng: random.Random, drawn: _Drawn) -> tuple[object, ...]:
    """A copy to or from another rank through a tile of its own, what makes it seen, and signals."""
    tile = drawn.tile(straight=True)
    rows = drawn.tiles[tile].v_rows
    rows = rng.choice([rows, 8 if drawn.tiles[tile].given or rows == 4 else rows])
    copy = Move(rng.choice(["put", "get"]), tile, rng.randint(16, 24), 0, rows, drawn.tiles[tile].v_cols)
    seen = (
        Signalled("cmo.cacheinvalid all #pto.address_space<gm>"),
        Signalled("fence.barrier_all #pto.fence_scope<gm>"),
    )
    signals = [Signalled("tnotify", rng.randrange(SIGNALS)), Signalled("twait", 0, rng.randint(1, SIGNALS))]
    return (copy, *rng.sample(seen, rng.randint(0, 2)), *rng.sample(signals, rng.randint(1, 2)))


def _product(rng: random.Random) -> TileKernel:
    """A product of matrices on the cube core, in memories of its own."""
    rows, inner, cols = (rng.choice([8, 16]) for _ in range(3))
    name = rng.choice(sorted(n for n in tile_work(shipped()) if n.startswith(("pto.tmatmul", "pto.tgemv"))))
    rows = 1 if "tgemv" in name else rows
    at = None if rng.random() < 0.5 else 0
    shapes = {"mat": (rows, inner), "mat2": (inner, cols), "left": (rows, inner), "right": (inner, cols)}
    shapes |= {"acc": (rows, cols), "bias": (1, cols), "mat3": (1, cols)}
    tiles = {n: DrawnTile(n, *size, *size, at, loc=n.rstrip("23")) for n, size in shapes.items()}
    if at is not None:
        tiles = {n: replace(t, address={"mat2": 1024, "mat3": 4096}.get(n, 0)) for n, t in tiles.items()}
    parts: list[object] = []
    for source, dest in (("mat", "left"), ("mat2", "right"), *([("mat3", "bias")] if "bias" in name else [])):
        parts += [Move("load", source, rng.randint(0, 8), 0, *shapes[source]), Work("pto.tmov", (source,), dest)]
    ins: tuple[str, ...] = ("left", "right", *(["bias"] if "bias" in name else []))
    if name.endswith(".acc"):
        parts.append(Work(name.removesuffix(".acc"), ins, "acc"))
        ins = ("acc", *ins)
    parts += [Work(name, ins, "acc"), Move("store", "acc", 0, 0, rows, cols)]
    used = {n: t for n, t in tiles.items() if "bias" in name or n not in ("bias", "mat3")}
    return TileKernel(used, tuple(parts))


def _flags(source: str, dest: str, number: int) -> tuple[Flagged, Flagged]:
    return Flagged("set", source, dest, number), Flagged("wait", source, dest, number)


class _Drawn:
    """Tiles and operations drawn one after the other."""

    def __init__(
        self, rng: random.Random, item: int, shape: tuple[int, int], valid: tuple[int, int], addressed: bool
    ) -> None:
        self.rng, self.item, self.shape, self.valid, self.addressed = rng, item, shape, valid, addressed
        self.tiles: dict[str, DrawnTile] = {}
        self.end, self.boxes = 32 * rng.randint(0, 8), rng.random() < 0.5

    def tile(
        self, valid: tuple[int, int] | None = None, *, shape: tuple[int, int] | None = None, straight: bool = False
    ) -> str:
        name = f"t{len(self.tiles)}"
        rows, cols = shape or self.shape
        standing = self.rng.random() < 0.2 and not straight and rows * self.item % 32 == 0
        given = self.rng.random() < 0.3
        boxed = self.rng.random() < 0.15 and self.boxes and not straight
        address = self.end if self.addressed else None
        made = DrawnTile(name, rows, cols, *(valid or self.valid), address, standing, given, self.item, boxed=boxed)
        self.end += made.bytes + 32 * self.rng.choice([0, 0, 3])
        self.tiles[name] = made
        return name

    def works(self, first: str, second: str, count: int) -> tuple[list[Work], list[str]]:
        """Operations on tiles of the valid region, each of which may use the results of those before."""
        whole, results, out = [first, second], [], list[Work]()
        for _ in range(count):
            name = self.rng.choice(
                sorted(n for n, w in tile_work(shipped()).items() if w.writes not in ("move", "indexed"))
            )
            made = self._work(name, self.rng.choice(whole), self.rng.choice(whole), out)
            if made is None:
                return self.works(first, second, count)
            results.append(made)
            if (self.tiles[made].v_rows, self.tiles[made].v_cols) == self.valid:
                whole.append(made)
        return out, list(dict.fromkeys(results[-2:]))

    def _work(self, name: str, one: str, two: str, out: list[Work]) -> str | None:
        """One operation, with what it needs before it; the tile of its result."""
        work, (rows, cols) = tile_work(shipped())[name], self.valid
        known = next(iter(signatures(shipped()).get(name.removeprefix("pto."), ())), None)
        listed = known.of.get("T", ()) if known else ()
        whole = known is not None and "I" in known.makes
        if (listed and DTYPES[self.item] not in listed) or (whole and self.item == 1):
            return None
        if work.writes == "whole" and self.valid != self.shape:  # without a value that pads
            return None
        if name.startswith(("pto.tmatmul", "pto.tgemv")):  # `_product` draws them
            return None
        if "mask" in (*work.reads, work.writes):
            return self._masked(name, work, one, two, out)
        if work.writes in ("pairs", "merged"):
            return self._sorted(name, work.writes, one, two, out)
        made = self.tile({"column": (rows, 1), "row": (1, cols)}.get(work.writes))
        self.tiles[made] = replace(self.tiles[made], whole=whole)
        if not {"column", "row", "window"}.isdisjoint((*work.reads, work.writes)):
            return self._narrow(name, work, one, two, made, out)
        own = work.onto or not work.reads or name == "pto.tpack"
        if own or not {"any", "beside", "turned"}.isdisjoint(work.reads):
            return self._of_its_own(name, work, one, two, made, out)
        scalar = name.endswith("s") and not name.endswith("abs")
        count = 1 if scalar or work.writes == "whole" else self.rng.choice([1, 2])
        if known is not None:
            scalar = any(word in ("s", "s T") for word in known.takes)
            count = sum(word in ("-", "T", "W") for word in known.takes)
        ins = (one, two)[:count]
        if work.scratch is not None:
            ins = (*(one, two)[: work.scratch], self.tile())
        out.append(Work(name, ins, made, None, scalar))
        return made

    def _masked(self, name: str, work: TileWork, one: str, two: str, out: list[Work]) -> str | None:
        """A comparison, or what goes by the bits that one leaves."""
        rows, cols = self.valid
        if self.item != 1 or cols % 8:
            return None
        bits = self.tile((rows, cols // 8))
        compares = name if work.writes == "mask" else "pto.tcmp"
        out.append(Work(compares, (one, two)[: 1 + (compares == "pto.tcmp")], bits, None, compares != "pto.tcmp"))
        if work.writes == "mask":
            return bits
        made, scratch = self.tile(), self.tile()
        out.append(Work(name, (*(bits, one, two)[: len(work.reads)], scratch), made, None, name.endswith("sels")))
        return made

    def _narrow(self, name: str, work: TileWork, one: str, two: str, made: str, out: list[Work]) -> str:
        """What reads or writes one column, one row or a window."""
        rows, cols = self.valid
        if work.writes in ("column", "row"):
            out.append(Work(name, (one, *([two] if self.rng.random() < 0.5 and two != one else [])), made))
            if len(out[-1].ins) == 2:  # scratch
                scratch = self.tile()
                out[-1] = replace(out[-1], ins=(one, scratch))
            return made
        if "column" in work.reads or "row" in work.reads:
            narrow = self.tile((rows, 1) if "column" in work.reads else (1, cols))
            out.append(Work("pto.trowmax" if "column" in work.reads else "pto.tcolmax", (one,), narrow))
            out.append(Work(name, (two, narrow) if work.reads[0] == "each" else (narrow,), made))
            return made
        if work.writes == "window":  # a smaller tile into one that is written
            small = self.tile((1, 8))
            out.append(Work("pto.textract", (one,), small, (0, 0)))
            out.append(Work("pto.tabs", (two,), made))
            out.append(Work(name, (small,), made, (self.rng.randrange(rows), self.rng.randint(0, cols - 8))))
            return made
        made = self.tile((rows - 1, cols - 8))
        out.append(Work(name, (one,), made, (self.rng.randint(0, 1), self.rng.randint(0, 8))))
        return made

    def _of_its_own(self, name: str, work: TileWork, one: str, two: str, made: str, out: list[Work]) -> str | None:
        """What takes elements by their number, packs, adds to what is there, joins, turns, or reads nothing."""
        rows, cols = self.valid
        if "any" in work.reads:  # of a tile in rows
            if self.tiles[one].standing or self.tiles[one].boxed or self.item == 1:
                return None
            index = self.tile()
            self.tiles[index] = replace(self.tiles[index], whole=True)
            out.append(Work("pto.tcvt", (two,), index))
            out.append(Work(name, (one, index, self.tile())[: self.rng.choice([2, 3])], made))
            return made
        if name == "pto.tpack":  # of another type
            if self.item != 2:
                return None
            wide = self.tile()
            self.tiles[wide] = replace(self.tiles[wide], whole=True)
            out += [Work("pto.tcvt", (one,), wide), Work(name, (wide,), made)]
            return made
        if work.onto:  # of what is there
            out.append(Work("pto.tabs", (two,), made))
            out.append(Work(name, (one,), made, None, True))
            return made
        if "beside" in work.reads:
            left, right = self.tile((rows, 8)), self.tile((rows, cols - 8))
            out.append(Work("pto.textract", (one,), left, (0, 0)))
            out.append(Work("pto.textract", (two,), right, (0, 8)))
            out.append(Work(name, (left, right), made))
            return made
        if "turned" in work.reads:  # there and back, of tiles in rows or columns
            if self.boxes or self.shape[0] * self.item % 32:  # its rows are whole blocks
                return None
            turned = self.tile((cols, rows), shape=(self.shape[1], self.shape[0]))
            out.append(Work(name, (one, self.tile()), turned))
            out.append(Work(name, (turned, self.tile()), made))
            return made
        out.append(Work(name, (), made, None, True))
        return made

    def _sorted(self, name: str, how: str, one: str, two: str, out: list[Work]) -> str | None:
        """A sort of the first tile with indices made of the second, or a merge of a row of one value."""
        if how == "merged":
            row, made = self.tile((1, 256), shape=(1, 256), straight=True), self.tile((1, 8))
            merged = self.tile((1, 256), shape=(1, 256), straight=True)
            out.append(Work("pto.texpands", (), row, None, True))
            if self.rng.random() < 0.5:  # of lists, with a tile to merge them in
                lists = (*[row] * self.rng.randint(2, 4), self.tile((1, 1024), shape=(1, 1024), straight=True))
                out.append(Work(name, lists, merged))
            else:
                out.append(Work(name, (row,), merged, (64,)))
            out.append(Work("pto.textract", (merged,), made, (0, 248)))
            return made
        (rows, cols), each = self.valid, 8 // self.item
        if cols * each > COLUMNS or self.tiles[one].standing or self.tiles[one].boxed:
            return None
        index = self.tile(straight=True)
        self.tiles[index] = replace(self.tiles[index], whole=True, item=4)
        self.end += 4 * self.tiles[index].bytes
        scratch, made = (
            self.tile(straight=True),
            self.tile((rows, cols * each), shape=(self.shape[0], 32 * each), straight=True),
        )
        out += [Work("pto.tcvt", (two,), index), Work(name, (one, index, scratch)[: 3 if cols % 32 else 2], made)]
        return made


# ---------------------------------------------------------------- one fault


def faulty_tile_kernel(rng: random.Random, kernel: TileKernel) -> TileKernel:
    """The kernel with one fault; the same kernel where the kind drawn does not apply."""
    name = rng.choice(sorted(FAULTS))
    made = FAULTS[name](rng, kernel)
    return kernel if made is None else replace(made, note=name)


def _places(kernel: TileKernel, kind: type, also: Callable[[object], bool] = bool) -> list[tuple[str, int]]:
    sides = ("before", "body", "after")
    return [(s, i) for s in sides for i, p in enumerate(getattr(kernel, s)) if isinstance(p, kind) and also(p)]


def _put(kernel: TileKernel, place: tuple[str, int], *parts: object) -> TileKernel:
    side, at = place
    old = getattr(kernel, side)
    change: dict[str, object] = {side: (*old[:at], *parts, *old[at + 1 :])}
    return replace(kernel, **change)  # type: ignore[arg-type]


def _at(kernel: TileKernel, place: tuple[str, int]) -> object:
    return getattr(kernel, place[0])[place[1]]


def _missing(rng: random.Random, kernel: TileKernel, kind: type, also: Callable[[object], bool]) -> TileKernel | None:
    found = _places(kernel, kind, also)
    return _put(kernel, rng.choice(found)) if found else None


def _wrong_offset(rng: random.Random, kernel: TileKernel) -> TileKernel:
    place = rng.choice(_places(kernel, Move))
    part = _at(kernel, place)
    assert isinstance(part, Move)
    change = {rng.choice(["row", "col"]): rng.choice([COLUMNS - part.cols, COLUMNS, ROWS - part.rows + 1, ROWS])}
    return _put(kernel, place, replace(part, **change))


def _short(rng: random.Random, kernel: TileKernel) -> TileKernel | None:
    """One tile has other valid rows or columns than the kernel was made for."""
    name = rng.choice(sorted(kernel.tiles))
    tile = kernel.tiles[name]
    rows, cols = tile.v_rows + rng.choice([-1, 0, 1]), tile.v_cols + rng.choice([-8, 0, 8])
    if min(rows, cols) < 1 or (rows, cols) == (tile.v_rows, tile.v_cols):
        return None
    return replace(kernel, tiles={**kernel.tiles, name: replace(tile, v_rows=rows, v_cols=cols)})


def _other_tile(rng: random.Random, kernel: TileKernel) -> TileKernel:
    place = rng.choice(_places(kernel, (Move, Work)))  # type: ignore[arg-type]
    part, other = _at(kernel, place), rng.choice(sorted(kernel.tiles))
    if isinstance(part, Move):
        return _put(kernel, place, replace(part, tile=other))
    assert isinstance(part, Work)
    at = rng.randrange(len(part.ins) + 1)
    ins = tuple(other if i == at else name for i, name in enumerate(part.ins))
    return _put(kernel, place, replace(part, ins=ins, out=other if at == len(part.ins) else part.out))


def _swapped(rng: random.Random, kernel: TileKernel) -> TileKernel | None:
    side = rng.choice([s for s in ("before", "body") if len(getattr(kernel, s)) > 1] or ["before"])
    old = getattr(kernel, side)
    if len(old) < 2:
        return None
    at = rng.randrange(len(old) - 1)
    change: dict[str, object] = {side: (*old[:at], old[at + 1], old[at], *old[at + 2 :])}
    return replace(kernel, **change)  # type: ignore[arg-type]


def _early(rng: random.Random, kernel: TileKernel) -> TileKernel | None:
    """One tile lies where another one does, whole or in part."""
    names = sorted(n for n, t in kernel.tiles.items() if t.address is not None)
    if len(names) < 2:
        return None
    one, two = rng.sample(names, 2)
    at = (kernel.tiles[two].address or 0) + rng.choice([0, 0, 32, -32, 16])
    return replace(kernel, tiles={**kernel.tiles, one: replace(kernel.tiles[one], address=max(0, at))})


def _again(rng: random.Random, kernel: TileKernel) -> TileKernel | None:
    """One part names another tile for one of its own: at its address, of as many elements in another order."""
    name = rng.choice(sorted(kernel.tiles))
    tile = kernel.tiles[name]
    if tile.address is None:
        return None
    made = replace(tile, name="again", standing=not tile.standing)
    if rng.random() < 0.5 and (tile.v_rows, tile.v_cols) == (tile.rows, tile.cols):
        rows, cols = tile.rows // 2, tile.cols * 2
        made = replace(made, rows=rows, cols=cols, v_rows=rows, v_cols=cols)
    if made.standing and made.rows * made.item % 32:
        return None
    place = rng.choice(_places(kernel, (Move, Work)))  # type: ignore[arg-type]
    part, tiles = _at(kernel, place), {**kernel.tiles, made.name: made}
    if isinstance(part, Move):
        part = replace(part, tile=made.name if part.tile == name else part.tile)
    elif isinstance(part, Work):
        ins = tuple(made.name if one == name else one for one in part.ins)
        part = replace(part, ins=ins, out=made.name if part.out == name else part.out)
    return replace(_put(kernel, place, part), tiles=tiles)


def _far(rng: random.Random, kernel: TileKernel) -> TileKernel | None:
    names = sorted(n for n, t in kernel.tiles.items() if t.address is not None)
    if not names:
        return None
    tile = kernel.tiles[rng.choice(names)]
    at = 262144 - tile.bytes + rng.choice([0, 32])
    return replace(kernel, tiles={**kernel.tiles, tile.name: replace(tile, address=at)})


def _guarded(rng: random.Random, kernel: TileKernel) -> TileKernel | None:
    at = [i for i, part in enumerate(kernel.before) if isinstance(part, (Work, Move))]
    values = tuple({**v, "on": on} for v in kernel.values for on in (0, 1))
    return replace(kernel, guard=rng.choice(at), values=values) if at else None


def _other_signal(rng: random.Random, kernel: TileKernel) -> TileKernel | None:
    """A signal beside its tensor, or several set at once."""
    found = _places(kernel, Signalled, lambda p: isinstance(p, Signalled) and "." not in p.name)
    if not found:
        return None
    place = rng.choice(found)
    part = _at(kernel, place)
    assert isinstance(part, Signalled)
    return _put(kernel, place, replace(part, **rng.choice([{"at": SIGNALS}, {"count": SIGNALS}, {"count": 2}])))


def _other_blocks(rng: random.Random, kernel: TileKernel) -> TileKernel | None:
    """Another length of the blocks that are merged, or no scratch for a last block that is sorted."""
    found = _places(kernel, Work, lambda p: isinstance(p, Work) and p.name in ("pto.tsort32", "pto.tmrgsort"))
    if not found:
        return None
    place = rng.choice(found)
    part = _at(kernel, place)
    assert isinstance(part, Work)
    if part.at is not None:
        return _put(kernel, place, replace(part, at=(rng.choice([0, 32, 96, 128]),)))
    return _put(kernel, place, replace(part, ins=part.ins[:2]))


def _width(rng: random.Random, kernel: TileKernel) -> TileKernel:
    tile = kernel.tiles[rng.choice(sorted(kernel.tiles))]
    other = replace(tile, item=rng.choice([n for n in DTYPES if n != tile.item]))
    return replace(kernel, tiles={**kernel.tiles, tile.name: other})


def _window(rng: random.Random, kernel: TileKernel) -> TileKernel | None:
    found = _places(kernel, Work, lambda p: isinstance(p, Work) and p.at is not None and len(p.at) == 2)
    if not found:
        return None
    place = rng.choice(found)
    part = _at(kernel, place)
    assert isinstance(part, Work)
    assert part.at is not None
    return _put(kernel, place, replace(part, at=(part.at[0] + rng.choice([1, 4]), part.at[1] + rng.choice([0, 9]))))


FAULTS: Mapping[str, Callable[[random.Random, TileKernel], TileKernel | None]] = {
    "no load": lambda r, k: _missing(r, k, Move, lambda p: isinstance(p, Move) and p.kind == "load"),
    "no operation": lambda r, k: _missing(r, k, Work, lambda p: True),
    "no flag": lambda r, k: _missing(r, k, Flagged, lambda p: True),
    "another offset": _wrong_offset,
    "another valid region": _short,
    "another tile": _other_tile,
    "another order": _swapped,
    "a tile used too early": _early,
    "a tile under another type": _again,
    "a tile beyond UB": _far,
    "on one path": _guarded,
    "another signal": _other_signal,
    "other blocks": _other_blocks,
    "another width": _width,
    "another window": _window,
    "other strides": lambda r, k: replace(k, strides=r.choice([(32, 1), (16, 1), (1, ROWS), (COLUMNS, 0), (5, 3)])),
    "a greater argument": lambda r, k: replace(k, most=k.most + 9, values=({"n": k.most + 9},)) if k.most else None,
}
