"""Pairs of Rust kernels that move tensors tile by tile, drawn the same or with one change, and what each leaves.

Knows: ways through memories and the Tensor Unit, what that adds to every element, tiles of two lengths, loops and the
same written out, tensors that are given and given back. Does not know: how a kernel is read or compared.
Law: the same seed gives the same pair; what a kernel leaves is found by moving tiles of lists about, by nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

PARTS = 12
"""The finest tiles of a tensor."""
HEAD = """use furiosa_opt_std::prelude::*;
axes![B = 32, L = 96, F = 8];
type T = HbmTensor<i8, m![1], m![B, L, F]>;
type D = DmTensor<i8, m![1], m![1 # 2], m![B # 256], m![L, F]>;
"""
SHAPES = {
    ("hbm", False): "B, 1 # {count}, L % {long}, F", ("hbm", True): "B, 1 #{{!}} {count}, L % {long}, F",
    ("dm", False): "1 # {count}, L % {long}, F", ("dm", True): "1 #{{!}} {count}, L % {long}, F",
}  # fmt: skip


@dataclass
class Stage:
    """A tensor that is filled from the one before: `tiles` are (from, to) of so many tiles, or the whole at once."""

    tier: str
    count: int = 0
    tiles: list[tuple[int, int]] = field(default_factory=list)
    looped: bool = True
    named: bool = True  # its type is annotated, else named in the call
    unit: bool = False  # from data memory to data memory: through the Tensor Unit
    adds: int = 0  # what that adds to every element


@dataclass
class Chain:
    """A given tensor (`x`, `y`, `out`) through stages; what is left goes into `out`, or is given back."""

    source: str
    stages: list[Stage]
    into_out: bool = False


@dataclass(frozen=True)
class DrawnKernels:
    """Two texts with the kernel `k`, and what each leaves: of `out` and of results, part by part; None where an order
    that is allowed decides.
    """

    texts: tuple[str, str]
    left: tuple[object, object]
    kept: bool


def drawn_kernels(seed: int) -> DrawnKernels:
    rng = random.Random(seed)
    first = _drawn(rng)
    second, kept = deepcopy(first), rng.random() < 0.5
    for _ in range(rng.randint(0, 3)):
        _kept(second, rng)
    if not kept:
        _changed(second, rng)
    texts = tuple("\n".join([HEAD, *_text(chains, rng)]) for chains in (first, second))
    if any("vector_fxp" in text for text in texts):
        texts = tuple(text.replace("i8", "i32").replace("F # 32", "F # 8") for text in texts)  # a flit of 32 bytes
    return DrawnKernels((texts[0], texts[1]), (_left(first), _left(second)), kept)


def _drawn(rng: random.Random) -> list[Chain]:
    chains = []
    for _ in range(rng.randint(1, 2)):
        source = rng.choice(("x", "x", "y", "y", "y", "out") if rng.random() < 0.3 else ("x", "y"))
        stages = [_stage(rng) for _ in range(rng.randint(0, 2))]
        stages += [_stage(rng, "dm"), _stage(rng, "dm")] if rng.random() < 0.3 else []
        chains.append(Chain(source, [*stages, _stage(rng, "hbm")], rng.random() < 0.3))
    if all(one.into_out for one in chains):
        chains[0].into_out = False
    return chains


def _stage(rng: random.Random, tier: str = "") -> Stage:
    count = rng.choice((0, 6, 12))
    order = list(range(count))
    kind = rng.random()
    if kind < 0.3:
        order.reverse()
    elif kind < 0.4 and count:
        order = order[1:] + order[:1]
    tier = tier or rng.choice(("hbm", "dm", "dm"))
    unit = tier == "dm" and rng.random() < 0.6
    looped, named, adds = rng.random() < 0.6, rng.random() < 0.5, rng.choice((0, 0, 1, 2)) if unit else 0
    return Stage(tier, count, list(enumerate(order)), looped, named, unit, adds)


def _kept(chains: list[Chain], rng: random.Random) -> None:
    chain = rng.choice(chains)
    at = rng.randrange(len(chain.stages))
    stage = chain.stages[at]
    kind = rng.randrange(5)
    if kind == 0:
        stage.looped = not stage.looped
    elif kind == 1:
        stage.named, stage.unit = not stage.named, bool(stage.adds) or not stage.unit
    elif kind == 2:
        count = rng.choice((0, 6))
        chain.stages.insert(at, Stage(rng.choice(("hbm", "dm")), count, [(n, n) for n in range(count)]))
    elif kind == 3 and not stage.count:
        stage.count, stage.tiles = 6, [(n, n) for n in range(6)]
    elif kind == 3 and stage.count == 6:
        stage.count, stage.tiles = 12, [(2 * a + n, 2 * b + n) for a, b in stage.tiles for n in range(2)]
    else:
        rng.shuffle(stage.tiles)
        stage.looped = False


def _changed(chains: list[Chain], rng: random.Random) -> None:
    chain = rng.choice(chains)
    stage = rng.choice(chain.stages)
    kind = rng.randrange(5)
    if stage.unit and rng.random() < 0.5:
        stage.adds += 1
    elif kind == 0:
        chain.source = "y" if chain.source == "x" else "x"
    elif kind == 1 and len(chains) > 1:
        chains.reverse()
    elif stage.count and kind == 2:
        del stage.tiles[rng.randrange(len(stage.tiles))]
    elif stage.count:
        at = rng.randrange(len(stage.tiles))
        old = stage.tiles[at]
        stage.tiles[at] = rng.choice(((old[0], (old[1] + 1) % stage.count), ((old[0] + 1) % stage.count, old[1])))
        if rng.random() < 0.5:
            other = rng.randrange(len(stage.tiles))
            (a, b), (c, d) = stage.tiles[at], stage.tiles[other]
            stage.tiles[at], stage.tiles[other] = (a, d), (c, b)
    else:
        stage.count, stage.tiles = 6, [(n, 5 - n) for n in range(6)]


# ---------------------------------------------------------------- as Rust


def _text(chains: list[Chain], rng: random.Random) -> Iterator[str]:
    given = [f"r{at}" for at, one in enumerate(chains) if not one.into_out]
    types = "T" if len(given) == 1 else f"({', '.join('T' for _ in given)})"
    yield "#[device(chip = 1)]"
    yield f"pub fn k(ctx: &mut Context, x: &T, y: &T, out: &mut T) -> {types} {{"
    for number, chain in enumerate(chains):
        now = chain.source
        for at, stage in enumerate(chain.stages):
            last = at == len(chain.stages) - 1
            name = f"r{number}" if last else f"v{number}_{at}"
            whole, source = last and chain.into_out, "hbm" if not at else chain.stages[at - 1].tier
            yield from _moved(now, "out" if whole else name, stage, rng, whole=whole, source=source)
            now = name
    yield f"    {given[0] if len(given) == 1 else f'({chr(44).join(given)})'}"
    yield "}"


def _moved(now: str, name: str, stage: Stage, rng: random.Random, *, whole: bool, source: str) -> Iterator[str]:
    kind = "T" if stage.tier == "hbm" else "D"
    if not stage.count and whole:
        yield f"    {now}.view().to_hbm_view(&mut ctx.tdma, out.view_mut());"
        return
    if not stage.count and stage.unit and stage.tier == source == "dm":
        yield f"    let {name}: D = ctx.main.begin({now}.view()){_stream(stage, 'L')}.commit();"
        return
    if not stage.count:
        generics = "m![B # 256], m![L, F]" if stage.tier == "dm" else "m![B, L, F]"
        generics = f"m![1 # 2], {generics}" if stage.tier == "dm" and source == "hbm" else generics
        call = f"to_{stage.tier}" if stage.named else f"to_{stage.tier}::<{generics}>"
        yield f"    let {name}{f': {kind}' if stage.named else ''} = {now}.{call}(&mut ctx.tdma);"
        return
    if not whole:
        yield f"    let mut {name} = {kind}::new();"
    straight = stage.tiles == [(n, n) for n in range(stage.count)]
    reverse = stage.tiles == [(n, stage.count - 1 - n) for n in range(stage.count)]
    if stage.looped and (straight or reverse):
        yield f"    for i in 0..{stage.count} {{"
        yield f"        {_tile(now, name, stage, source, 'i', 'i' if straight else f'{stage.count - 1} - i')}"
        yield "    }"
        return
    for one, other in stage.tiles:
        to = rng.choice((str(other), f"{other} + 0", f"{other + 2} - 2"))
        yield f"    {_tile(now, name, stage, source, str(one), to)}"


def _tile(now: str, name: str, stage: Stage, source: str, at: str, to: str) -> str:
    long = 96 // stage.count
    shapes = [SHAPES[key].format(count=stage.count, long=long) for key in ((source, False), (stage.tier, True))]
    read = f"{now}.view().tile::<m![L / {long}], 1, m![{shapes[0]}]>({at})"
    write = f"{name}.view_mut().tile::<m![L / {long}], 1, m![{shapes[1]}]>({to})"
    if stage.unit and stage.tier == source == "dm":
        return f"ctx.main.begin({read}){_stream(stage, f'L % {long}')}.commit_view({write});"
    return f"{read}.to_{stage.tier}_view(&mut ctx.tdma, {write});"


def _stream(stage: Stage, rows: str) -> str:
    """What stands between the begin of a pipeline and its end."""
    adds = f".vector_init().vector_fxp(FxpBinaryOp::AddFxp, {stage.adds}).vector_final()" if stage.adds else ""
    return f".fetch::<m![{rows}], m![F]>().collect::<m![{rows}], m![F # 32]>(){adds}.commit_trim::<m![F]>()"


# ---------------------------------------------------------------- what it leaves


def _left(chains: list[Chain]) -> object:
    """What lies in `out` and in the results, by where it lay; None where an order that is allowed leaves something
    else: a copy waits for those that wrote what it reads, and for no others.
    """
    copies = list(_copies(chains))
    behind: list[set[int]] = []
    for number, (source, dest, _) in enumerate(copies):
        feeding = [n for n in range(number) if copies[n][1] & source]
        behind.append(set(feeding).union(*(behind[n] for n in feeding)))
        for n in range(number):
            met = copies[n][1] & dest or copies[n][0] & dest
            if met and n not in behind[number]:
                return None
    held: dict[tuple[str, int], tuple[object, int]] = {}
    for source, dest, adds in copies:
        taken = [held.get(part, (part, 0)) for part in sorted(source)]
        held.update(zip(sorted(dest), ((of, more + adds) for of, more in taken), strict=True))
    names = ["out", *(f"r{at}" for at, chain in enumerate(chains) if not chain.into_out)]
    return [[held.get((name, part), ("out", part) if name == "out" else "nothing") for part in range(PARTS)]
            for name in names]  # fmt: skip


def _copies(chains: list[Chain]) -> Iterator[tuple[frozenset[tuple[str, int]], frozenset[tuple[str, int]], int]]:
    """Each copy in the order of the text: the parts of tensors that it reads, those that it writes, what it adds."""
    for number, chain in enumerate(chains):
        now = chain.source
        for at, stage in enumerate(chain.stages):
            last = stage is chain.stages[-1]
            name = "out" if last and chain.into_out else f"r{number}" if last else f"v{number}_{at}"
            each = PARTS // (stage.count or 1)
            for one, other in stage.tiles if stage.count else [(0, 0)]:
                ends = ((now, one), (name, other))
                source, dest = (frozenset((t, each * n + part) for part in range(each)) for t, n in ends)
                before = chain.stages[at - 1].tier if at else "hbm"
                yield source, dest, stage.adds if before == stage.tier == "dm" else 0
            now = name
