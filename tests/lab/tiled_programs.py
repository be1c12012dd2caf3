"""Programs of tiles drawn at random: loops, buffers in turns, tensors that overlap; and all bytes of all iterations.

Knows: the text of such programs, which bytes each iteration touches, what orders two iterations, by the documents.
Does not know: how a program is judged, walks, events.
Law: what is named as broken follows from the drawn numbers alone, by listing every byte.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from math import prod

from dmaverify import api
from dmaverify.prove.options import Options
from dmaverify.verdict import Status

ROW = 8
ALONE = Options(cross_check=0, repair=False)
Byte = tuple[str, int]
Node = tuple[int, int, dict[str, int]]
"""Step, number of its iteration, values of its loops."""
BASES = {"hbm": (0, 0, 8, 64, 1024), "dm": (0, 0, 8, 16, 512)}


@dataclass(frozen=True)
class TileStart:
    """`first` and, by loop, (factor, "" or "%" or "/", divisor)."""

    first: int = 0
    terms: tuple[tuple[str, int, str, int], ...] = ()

    def at(self, loops: dict[str, int]) -> int:
        moved = {"": lambda n, _: n, "%": lambda n, by: n % by, "/": lambda n, by: n // by}
        return self.first + sum(factor * moved[how](loops[name], by) for name, factor, how, by in self.terms)

    def text(self) -> str:
        parts = [f"{factor} * {f'({name} {how} {by})' if how else name}" for name, factor, how, by in self.terms]
        return " + ".join([*parts, str(self.first)]).replace("+ -", "- ")


@dataclass(frozen=True)
class TiledSide:
    """Rows of 8 bytes, `pitch` apart, of which a tile shows `length`; `buffers`: one of several such blocks."""

    tier: str
    base: int
    pitch: int
    rows: int
    length: int
    start: TileStart
    buffers: str = ""
    partial: bool = False

    @property
    def tiled(self) -> bool:
        return self.rows > self.length

    def bytes(self, loops: dict[str, int]) -> set[Byte]:
        row = self.start.at(loops) * (self.length if self.buffers else 1)
        return {(self.tier, at) for r in range(row, row + self.length) for at in self._row(r)}

    @property
    def elements(self) -> set[Byte]:
        return {(self.tier, at) for r in range(self.rows) for at in self._row(r)}

    def _row(self, row: int) -> range:
        return range(self.base + row * self.pitch, self.base + row * self.pitch + ROW)

    def text(self) -> str:
        blocks, tile = self.rows // self.length, f"A = {self.rows}"
        element, length = f"A = {self.length if self.buffers else self.rows}, C", self.length
        if self.buffers:
            tile, length = f"{self.buffers} = {blocks}", 1
            element = f"{tile}, {element}"
        element += f" # {self.pitch}" if self.pitch > ROW else ""
        part = ", partial = true" if self.partial else ""
        shown = f'view = {{ tile = "{tile}", length = {length}, start = "{self.start.text()}"{part} }}'
        moved = self.buffers or self.tiled or self.start != TileStart()
        slices = ', slice = "1 # 64"' if self.tier == "dm" else ""
        return (
            f'{{ tier = "{self.tier}", base = {self.base}{slices}, element = "{element}"{f", {shown}" * bool(moved)} }}'
        )


@dataclass
class TiledStep:
    """A transfer, or an access that reads (`dest` None) or writes (`source` None)."""

    name: str
    loops: dict[str, int]
    source: TiledSide | None
    dest: TiledSide | None
    context: str = ""
    after: list[str] = field(default_factory=list)
    earlier: dict[str, int] = field(default_factory=dict)

    @property
    def sides(self) -> list[TiledSide]:
        return [side for side in (self.source, self.dest) if side is not None]

    @property
    def queue(self) -> tuple[bool, str]:
        return len(self.sides) == 2, self.context

    def iterations(self) -> Iterator[dict[str, int]]:
        yield from (dict(zip(self.loops, at, strict=True)) for at in product(*map(range, self.loops.values())))

    def lines(self) -> list[str]:
        loops = ", ".join(f"{name} = {count}" for name, count in self.loops.items())
        lines = ['dtype = "i8"', *([f"loop = {{ {loops} }}"] if loops else [])]
        lines.append(f'stream = {{ time = "A = {self.sides[0].length}", packet = "C" }}')
        if len(self.sides) == 2:
            sides = [f"{word} = {side.text()}" for word, side in zip(("source", "dest"), self.sides, strict=True)]
            return [f"[transfer.{self.name}]", *lines, *sides]
        engine = "fetch" if self.source else "commit"
        return [f"[access.{self.name}]", *lines, f'engine = "{engine}"', f"memory = {self.sides[0].text()}"]

    def item(self) -> str:
        two = len(self.sides) == 2
        parts = [f'{"transfer" if two else "access"} = "{self.name}"']
        parts += [f'context = "{self.context}"'] if self.context else []
        parts += [f"after = [{', '.join(map(repr, self.after))}]".replace("'", '"')] if self.after else []
        waits = ", ".join(f"{name} = {far}" for name, far in self.earlier.items())
        return f"{{ {', '.join([*parts, *([f'earlier = {{ {waits} }}'] if waits else [])])} }}"


@dataclass
class TiledProgram:
    """Steps in the written order; nothing is in `empty` memories where it begins."""

    steps: list[TiledStep]
    order: str = "contexts"
    empty: list[str] = field(default_factory=list)

    def text(self) -> str:
        lines = ["schema = 1", 'target = "rngd"', f"axes = {{ A = 64, C = {ROW}, D = 64, E = 64 }}"]
        lines += [line for step in self.steps for line in step.lines()]
        lines += ["[program.p]", f'order = "{self.order}"', f"empty = {self.empty}".replace("'", '"')]
        return "\n".join([*lines, f"step = [{', '.join(step.item() for step in self.steps)}]", ""])

    def bodies(self) -> list[int]:
        out: list[int] = []
        for number, step in enumerate(self.steps):
            follows = number > 0 and step.loops and self.steps[number - 1].loops == step.loops
            out.append(out[-1] if follows else number)
        return out

    def nodes(self) -> list[Node]:
        bodies = self.bodies()
        return [
            (number, turn, at)
            for body in dict.fromkeys(bodies)
            for turn, at in enumerate(self.steps[body].iterations())
            for number in (n for n, own in enumerate(bodies) if own == body)
        ]

    def before(self, nodes: list[Node]) -> list[int]:
        """Bit i of entry j: node i is done before node j begins. No step waits for one that stands behind it."""
        bodies, out = self.bodies(), list[int]()
        for j, (number, turn, _) in enumerate(nodes):
            step, mask = self.steps[number], 0
            for i, (other, when, _) in enumerate(nodes[:j]):
                ahead, inside = self.steps[other], bodies[other] == bodies[number]
                edge = other == number or self.order == "written"
                edge |= self.order == "contexts" and ahead.queue == step.queue
                edge |= ahead.name in step.after and (when == turn or not inside)
                edge |= inside and ahead.name in step.earlier and when == turn - step.earlier[ahead.name]
                mask |= (1 << i | out[i]) if edge else 0
            out.append(mask)
        return out

    def broken(self) -> set[str]:
        """The promises of the program that some iteration breaks."""
        steps = self.steps
        if any(
            not 0 <= side.start.at(at) * (side.length if side.buffers else 1) <= side.rows - side.length
            for step in steps for at in step.iterations() for side in step.sides
        ):  # fmt: skip
            return {"core/in-bounds"}
        nodes = self.nodes()
        before, found = self.before(nodes), set[str]()
        reads, writes = ([side.bytes(at) if side else set() for side, at in (
            (steps[n].dest if w else steps[n].source, at) for n, _, at in nodes)] for w in (False, True))  # fmt: skip
        for j, (number, *_) in enumerate(nodes):
            for i in (i for i in range(j) if nodes[i][0] != number and not before[j] >> i & 1):
                meets = {"waw": writes[i] & writes[j], "rw": writes[i] & reads[j] | reads[i] & writes[j]}
                found |= {f"hazard {kind}" for kind, met in meets.items() if met}
            known = set[Byte]().union(*(writes[i] for i in range(j) if before[j] >> i & 1))
            found |= {"core/definite"} if any(b[0] in self.empty for b in reads[j] - known) else set()
        return found or self._of_tiles(nodes, before, reads, writes)

    def _of_tiles(
        self, nodes: list[Node], before: list[int], reads: list[set[Byte]], writes: list[set[Byte]]
    ) -> set[str]:
        """Elements of outputs in tiles that nobody writes, or that tiles write again unread."""
        found = set[str]()
        outputs: dict[TiledSide, list[int]] = {}
        for number, step in enumerate(self.steps):
            if step.dest is not None and step.dest.tiled:
                whole = replace(
                    step.dest, start=TileStart(), partial=False, length=step.dest.length if step.dest.buffers else 1
                )
                outputs.setdefault(whole, []).append(number)
        for output, tiles in outputs.items():
            gap = output.elements - set[Byte]().union(*writes)
            if gap and not all(side.partial for n in tiles if (side := self.steps[n].dest)):
                found.add("core/tiles-cover")
            for byte in output.elements:
                own = [j for j, (number, *_) in enumerate(nodes) if number in tiles and byte in writes[j]]
                for i, j in pairwise(own):
                    between = [k for k in range(i + 1, j + 1) if before[k] >> i & 1 and (k == j or before[j] >> k & 1)]
                    found |= set() if any(byte in reads[k] for k in between) else {"core/tiles-once"}
        return found


# ---------------------------------------------------------------- drawing


def draw_tiled(rng: random.Random) -> TiledProgram:
    """One to three bodies of loops, their sides often those of other steps, or at their places."""
    steps, sides = list[TiledStep](), list[tuple[TiledSide, dict[str, int]]]()
    for _ in range(rng.choice((1, 1, 2, 3))):
        loops = {"t": rng.choice((1, 2, 3, 4, 6, 8))} if rng.random() < 0.75 else {}
        loops |= {"u": rng.choice((1, 2, 3))} if loops and rng.random() < 0.25 else {}
        fellows = range(len(steps), len(steps) + (rng.choice((1, 2, 2, 3)) if loops else 1))
        for number in fellows:
            tiers = rng.choice((("hbm", "dm"), ("dm", "hbm"), ("hbm", "dm"), ("dm", "hbm"), ("dm", ""), ("", "dm")))
            length = rng.choice((1, 1, 2))
            made = [_side(rng, tier, loops, length, sides) if tier else None for tier in tiers]
            if all(made):
                made = list(_apart(made[0], made[1], loops))  # type: ignore[arg-type]
            sides += [(side, loops) for side in made if side is not None]
            step = TiledStep(f"s{number}", loops, *made, rng.choice(("x", "x", "y")) if all(made) else "")
            step.after = [one.name for one in steps if rng.random() < 0.5 or one.name == f"s{number - 1}"]
            inside = [f"s{n}" for n in fellows if rng.random() < 0.2 and prod(loops.values()) > 1]
            step.earlier = {name: rng.choice((1, 1, 2)) for name in inside}
            steps.append(step)
        if len(fellows) > 1 and prod(loops.values()) > 1 and rng.random() < 0.6:  # the body comes around in order
            steps[fellows[0]].earlier = {f"s{fellows[-1]}": rng.choice((1, 1, 2))}
    order = rng.choice(("contexts", "contexts", "contexts", "written", "none"))
    return TiledProgram(steps, order, ["dm"] if rng.random() < 0.4 else [])


def _side(
    rng: random.Random, tier: str, loops: dict[str, int], length: int, sides: list[tuple[TiledSide, dict[str, int]]]
) -> TiledSide:
    alike = [side for side, own in sides if (side.tier, own, side.length) == (tier, loops, length)]
    if alike and rng.random() < 0.6:
        return rng.choice(alike)
    buffers = rng.choice(("", "D"))
    start = _start(rng, loops, 1 if buffers else length)
    most = max(start.at(at) for at in TiledStep("", loops, None, None).iterations()) + (1 if buffers else length)
    rows = max(1, most + rng.choice((*16 * (0,), 1, 1, -1))) * (length if buffers else 1)
    base, pitch = rng.choice(BASES[tier]), rng.choice((8, 8, 8, 16))
    near = [side for side, _ in sides if side.tier == tier and side.buffers == buffers]
    if near and rng.random() < 0.6:
        like = rng.choice(near)
        base, pitch, rows = like.base, like.pitch, max(rows, like.rows)
        rows -= rows % (length if buffers else 1)
    return TiledSide(tier, base, pitch, max(rows, length), length, start, buffers, rng.random() < 0.3)


def _apart(one: TiledSide, other: TiledSide, loops: dict[str, int]) -> tuple[TiledSide, TiledSide]:
    """Tiles of one axis begin at one place on both sides: where they do not, another axis tells the blocks."""
    if one.start != other.start and one.buffers == other.buffers:
        if other.buffers:
            return one, replace(other, buffers="E")
        most = max(other.start.at(at) for at in TiledStep("", loops, None, None).iterations())
        other = replace(other, buffers="D", rows=(most + 1) * other.length)
    return one, other


def _start(rng: random.Random, loops: dict[str, int], step: int) -> TileStart:
    first = rng.choice((0, 0, 0, 1))
    if not loops or rng.random() < 0.15:
        return TileStart(first)
    inner, count = list(loops)[-1], list(loops.values())[-1]
    kind = rng.choice(("flat", "flat", "turns", "back", "one"))
    if kind == "flat":
        far = {name: step * prod(list(loops.values())[n + 1 :]) for n, name in enumerate(loops)}
        return TileStart(first, tuple((name, factor, "", 0) for name, factor in far.items()))
    cut = 3 if count == 6 else 2
    if kind == "turns" and count % cut == 0 and count > cut:
        more = ((inner, rng.choice((1, cut * step)), "/", cut),) if rng.random() < 0.4 else ()
        return TileStart(first, ((inner, step, "%", cut), *more))
    if kind == "back":
        return TileStart((count - 1) * step, ((inner, -step, "", 0),))
    return TileStart(first, ((rng.choice(list(loops)), rng.choice((1, step, 2)), "", 0),))


# ---------------------------------------------------------------- beside the judge


def tiled_disagreement(seed: int) -> tuple[str, str]:
    """How the proof alone judges the program of that seed, and which promise it breaks; what is wrong with that, or
    "". Of programs that break several promises, none is judged.
    """
    program = draw_tiled(random.Random(seed))
    broken = program.broken()
    if len(broken) > 1:
        return "several promises", ""
    (verdict,) = (one for one in api.check(program.text(), options=ALONE) if one.name == "p")
    said, status = ", ".join(broken), verdict.status
    how = f"{status.value}: {said or 'right'}"
    wrong = (status is Status.PROVED and broken) or (status is Status.REFUTED and not broken)
    return how, f"{status.value}, {said or 'and right'}" if wrong else ""
