"""Kernels on tiles in loops made at random: short and long ones, nested, with conditions on their counters.

Knows: tiles in rows and in boxes, with and without addresses, windows, parts and elements that a counter names, valid
regions that a loop sets. Does not know: which of them are right; proof and run are to tell, each by itself.
Law: the same seed gives the same text.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from math import prod

ROWS, COLS = 320, 16
"""Of both tensors."""

TRIPS = (1, 2, 3, 5, 15, 16, 63, 64, 65, 66, 79, 80, 81, 100)
TALL, WIDE = 80, 8
MOST_ROUNDS = 200
BARRIER = "pto.barrier #pto.pipe<PIPE_ALL>"


@dataclass(frozen=True)
class LoopedTile:
    """A tile of 4-byte elements; `given`: its valid region is set at run time."""

    name: str
    rows: int
    cols: int
    address: int | None = None
    boxed: bool = False
    given: bool = False
    v_rows: int = 0

    @property
    def kind(self) -> str:
        valid = "v_row=?, v_col=?" if self.given else f"v_row={self.v_rows or self.rows}, v_col={self.cols}"
        layout = ", blayout=col_major, slayout=row_major" if self.boxed else ""
        return f"!pto.tile_buf<loc=vec, dtype=f32, rows={self.rows}, cols={self.cols}, {valid}{layout}>"


@dataclass(frozen=True)
class LoopedKernel:
    """A text, bytes of its tensors, and the values of its argument that are tried."""

    text: str
    tensors: dict[str, int]
    values: tuple[dict[str, int], ...]


def looped_kernel_of(rng: random.Random) -> LoopedKernel:
    return _Drawn(rng).kernel()


@dataclass
class _Drawn:
    """Statements drawn one after the other."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)
    counters: list[tuple[str, int]] = field(default_factory=list)
    tiles: list[LoopedTile] = field(default_factory=list)
    made: int = 0
    left: int = 14
    most: int = 0
    barred: float = 0  # how often a barrier stands behind what touches memory; none: the assembler orders the pipes

    def kernel(self) -> LoopedKernel:
        rng = self.rng
        self.most = rng.choice([0, 0, 3, 70, 100])
        self._tiles()
        if all(t.address is not None for t in self.tiles) and rng.random() < 0.4:
            self.barred = rng.choice([1, 1, 0.9, 0.7])
            self._say(*(f"pto.{word}_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]" for word in ("set", "wait")))
        for tile in self.tiles:
            if rng.random() < 0.5:
                self._put("load" if rng.random() < 0.5 else "fill", tile)
                if self.barred:
                    self._say(BARRIER)
        for _ in range(rng.randint(1, 3)):
            self._statement(0)
        if self.barred:
            self._say(BARRIER)
        tall = [t for t in self.tiles if t.rows > 1]
        self._put("store", rng.choice(self.tiles if rng.random() < 0.3 or not tall else tall))
        body = "\n".join(self.lines)
        most, kind = self.most, f"!pto.tensor_view<{ROWS}x{COLS}xf32>"
        head = [f"// dmaverify: gm %{name} = {ROWS}x{COLS}xf32" for name in "ab"]
        low = rng.choice([0, 1, most]) if most else 0
        head += [f"// dmaverify: assume %n in {low}..{most}"] if most else []
        head.append("func.func @k(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %n: index) {")
        numbers = {0, 1, ROWS, COLS, *self.numbers, *(n for t in self.tiles for n in (t.v_rows, t.cols))}
        head += [f"  {_c(n)} = arith.constant {n} : index" for n in sorted(numbers)]
        places = {t.address for t in self.tiles if t.address is not None}
        head += [f"  %at{n} = arith.constant {n} : i64" for n in sorted(places)]
        head.append("  %f = arith.constant 0.0 : f32")
        given = f"shape = [{_c(ROWS)}, {_c(COLS)}], strides = [{_c(COLS)}, {_c(1)}]"
        head += [f"  %{name}v = pto.make_tensor_view %{name}, {given} : {kind}" for name in "ab"]
        head += [self._alloc(t) for t in self.tiles]
        text = "\n".join([*head, body, "  return", "}", ""])
        values = tuple({"n": n} for n in sorted({low, (low + most) // 2, max(low, most - 1), most})) if most else ({},)
        return LoopedKernel(text, dict.fromkeys("ab", ROWS * COLS * 4), values)

    def _tiles(self) -> None:
        rng = self.rng
        addressed, at = rng.random() < 0.6, 0
        for number in range(rng.randint(2, 4)):
            small = number == 1 or rng.random() < 0.3
            rows, cols = (1, WIDE) if small else rng.choice([(TALL, WIDE), (TALL, WIDE), (16, WIDE), (16, 2 * WIDE)])
            boxed = not small and rng.random() < 0.25
            given = rng.random() < 0.2
            v_rows = rng.choice([rows, rows, rows, max(1, rows - 1)])
            size = rows * cols * 4
            begins = at
            if rng.random() < 0.15 and self.tiles:  # on another one
                begins = (self.tiles[-1].address or 0) + rng.choice([0, 0, 32, size])
            self.tiles.append(LoopedTile(f"t{number}", rows, cols, begins if addressed else None, boxed, given, v_rows))
            at = max(at, begins + size)

    def _alloc(self, tile: LoopedTile) -> str:
        given = [] if tile.address is None else [f"addr = %at{tile.address}"]
        given += [f"valid_row = {_c(tile.v_rows)} valid_col = {_c(tile.cols)}"] if tile.given else []
        return f"  %{tile.name} = pto.alloc_tile {' '.join(given)} : {tile.kind}"

    # ------------------------------------------------------------ statements

    def _say(self, *lines: str) -> None:
        self.lines += [f"  {line}" for line in lines]

    def _name(self, word: str) -> str:
        self.made += 1
        return f"%{word}{self.made}"

    def _constant(self, number: int) -> str:
        self.numbers.add(number)
        return _c(number)

    def _statement(self, depth: int) -> None:
        rng, self.left = self.rng, self.left - 1
        kind = rng.random()
        if depth == 0 or (depth < 3 and kind < 0.15 and self.left > 0):
            self._loop(depth)
        elif kind < 0.35 and self.left > 0 and self.counters:
            self._branch(depth)
        else:
            self._plain()
            if rng.random() < self.barred:
                self._say(BARRIER)

    def _loop(self, depth: int) -> None:
        rng, counter = self.rng, self._name("i")
        around = prod(count for _, count in self.counters)
        trips = rng.choice([n for n in TRIPS if n * around <= MOST_ROUNDS] or [1])
        end, step = self._constant(trips), 1
        if depth == 0 and self.most and rng.random() < 0.5:
            end, trips = "%n", self.most
        elif self.counters and rng.random() < 0.2:
            end = self.counters[-1][0]
        elif rng.random() < 0.15:
            step = rng.choice([2, 3])
        low = self._constant(rng.choice([0, 0, 0, 1, 2]))
        begins = f"scf.for {counter} = {low} to {end} step {self._constant(step)}"
        carries = rng.random() < 0.3
        if carries:
            into, inside, result = self._constant(rng.choice([0, 0, 1, 5])), self._name("x"), self._name("z")
            self._say(f"{result} = {begins} iter_args({inside} = {into}) -> (index) {{")
        else:
            self._say(f"{begins} {{")
        self.counters.append((counter, trips))
        self.counters += [(inside, trips)] if carries else []
        for _ in range(rng.randint(1, 4)):
            self._statement(depth + 1)
        if carries:
            self._say(f"scf.yield {self._carried(counter, inside, trips)} : index")
            self.counters.pop()
        self.counters.pop()
        self._say("}")
        self.counters += [(result, trips + 1)] if carries and depth == 0 else []

    def _carried(self, counter: str, inside: str, trips: int) -> str:
        """What a round hands on: the value itself, or what a count, a sum or a remainder makes of it."""
        rng, made, more, kept = self.rng, *(self._name(word) for word in "yud")
        kind = rng.choice(["count", "count", "sum", "turn", "stay"])
        if kind == "stay":
            return inside
        if kind == "count":
            self._say(f"{more} = arith.addi {inside}, {self._constant(1)} : index")
            at = self._constant(rng.choice([1, 2, trips // 2, max(0, trips - 1)]))
            self._say(f"{kept} = arith.cmpi {rng.choice(['ult', 'eq', 'uge'])}, {counter}, {at} : index")
            self._say(f"{made} = arith.select {kept}, {more}, {inside} : index")
        else:
            self._say(f"{more} = arith.addi {inside}, {counter if kind == 'sum' else self._constant(3)} : index")
            self._say(f"{made} = arith.remui {more}, {self._constant(rng.choice([2, 7, 16]))} : index")
        return made

    def _branch(self, depth: int) -> None:
        rng, (counter, trips) = self.rng, self.rng.choice(self.counters)
        test, bound = self._name("q"), rng.choice([0, 1, 2, trips // 2, trips - 1, trips - 2, 64])
        if rng.random() < 0.25:
            rest = self._name("r")
            self._say(f"{rest} = arith.remui {counter}, {self._constant(2)} : index")
            counter, bound = rest, rng.choice([0, 1])
        how = rng.choice(["eq", "ne", "ult", "uge", "eq"])
        self._say(f"{test} = arith.cmpi {how}, {counter}, {self._constant(max(0, bound))} : index", f"scf.if {test} {{")
        for _ in range(rng.randint(1, 2)):
            self._statement(depth + 1)
        if rng.random() < 0.4:
            self._say("} else {")
            self._statement(depth + 1)
        self._say("}")

    def _plain(self) -> None:
        rng = self.rng
        tall, small = [t for t in self.tiles if t.rows > 1], [t for t in self.tiles if t.rows == 1]
        kind = rng.choice(["load", "fill", "one", "two", "extract", "insert", "part", "element", "valid", "store"])
        if kind in ("load", "fill", "store"):
            return self._put(kind, rng.choice(self.tiles))
        if kind == "one":
            return self._of(*rng.choices(self.tiles, k=2))
        if kind == "two":
            one = rng.choice(self.tiles)
            return self._of(one, rng.choice(self.tiles), rng.choice(self.tiles))
        if kind == "valid":
            given = [t for t in self.tiles if t.given]
            if given:
                tile = rng.choice(given)
                rows = self._row(tile.rows + 1, low=1)
                self._say(f"pto.set_validshape %{tile.name}, {rows}, {self._constant(tile.cols)} : {tile.kind}")
            return None
        if kind == "element":
            tile = rng.choice(self.tiles)
            at = self._row(tile.rows * tile.cols)
            if rng.random() < 0.6:
                self._say(f"pto.tsetval ins({at}, %f : index, f32) outs(%{tile.name} : {tile.kind})")
            else:
                self._say(f"{self._name('v')} = pto.tgetval ins(%{tile.name}, {at} : {tile.kind}, index) outs : f32")
            return None
        if not tall or not small:
            return None
        big, little = rng.choice(tall), rng.choice(small)
        row, zero = self._row(big.rows), self._constant(0)
        if kind == "part":
            part = self._name("p")
            of = LoopedTile(part[1:], 1, WIDE)
            self._say(f"{part} = pto.subview %{big.name}[{row}, {zero}] sizes [1, {WIDE}] : {big.kind} -> {of.kind}")
            return self._put("fill", of) if rng.random() < 0.5 else self._of(*rng.sample([of, little], 2))
        one, other = (big, little) if kind == "extract" else (little, big)
        ins = f"%{one.name}, {row}, {zero} : {one.kind}, index, index"
        return self._say(f"pto.t{kind} ins({ins}) outs(%{other.name} : {other.kind})")

    def _row(self, rows: int, low: int = 0) -> str:
        """A number, or one that a counter gives, below so many where it can be told."""
        rng = self.rng
        fitting = [name for name, trips in self.counters if trips <= rows + rng.choice([0, 0, 0, 1])]
        if fitting and rng.random() < 0.8:
            name = rng.choice(fitting)
            if low or rng.random() < 0.15:
                sum_ = self._name("s")
                self._say(f"{sum_} = arith.addi {name}, {self._constant(1)} : index")
                return sum_
            return name
        return self._constant(rng.choice([low, low, rows // 2, rows - 1]))

    def _of(self, *tiles: LoopedTile) -> None:
        *ins, out = tiles
        if len({(t.rows, t.cols) for t in tiles}) > 1 and self.rng.random() < 0.9:
            return
        name = "pto.tabs" if len(ins) == 1 else "pto.tadd"
        given = f"{', '.join(f'%{t.name}' for t in ins)} : {', '.join(t.kind for t in ins)}"
        self._say(f"{name} ins({given}) outs(%{out.name} : {out.kind})")

    def _put(self, kind: str, tile: LoopedTile) -> None:
        """A load, a store, or a fill."""
        if kind == "fill":
            return self._say(f"pto.texpands ins(%f : f32) outs(%{tile.name} : {tile.kind})")
        rows = tile.v_rows or tile.rows
        part, of = self._name("x"), f"!pto.partition_tensor_view<{rows}x{tile.cols}xf32>"
        row = self._row(ROWS - TALL)
        sizes = f"offsets = [{row}, {self._constant(0)}], sizes = [{self._constant(rows)}, {self._constant(tile.cols)}]"
        view = "a" if kind == "load" else "b"
        self._say(f"{part} = pto.partition_view %{view}v, {sizes} : !pto.tensor_view<{ROWS}x{COLS}xf32> -> {of}")
        one, two = f"{part} : {of}", f"%{tile.name} : {tile.kind}"
        source, dest = (one, two) if kind == "load" else (two, one)
        return self._say(f"pto.t{kind} ins({source}) outs({dest})")


def _c(number: int) -> str:
    return f"%c{number}"
