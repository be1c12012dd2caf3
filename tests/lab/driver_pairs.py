"""Pairs of functions of a C driver, drawn the same or with one change, and what both let others see of memory.

Knows: launches, waits, calls, loops and conditions over parameters, ways to write the same. Does not know: how a
driver is read or compared.
Law: the same seed gives the same pair; what a function does is found by running what was drawn, once with each launch
done when it is launched and once with each done when somebody waits for it, by nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

HEAD = '#include "snrt.h"\n'
AREAS = tuple(0x1000_0000 + 0x3000_0000 * n + 0x40 * m for n in range(4) for m in range(3))
PARAMETERS = ("a", "b")
VALUES = (0, 1, 2, 3, 5, 8, 40, 63)


@dataclass
class Sum:
    """A constant and how often variables are added to it."""

    constant: int
    of: dict[str, int] = field(default_factory=dict)
    narrow: bool = False  # in 32 bits, which it may leave

    def at(self, values: Mapping[str, int]) -> int:
        found = self.constant + sum(values[name] * times for name, times in self.of.items())
        return found % (1 << 32) if self.narrow and self.of else found

    def more(self, constant: int) -> Sum:
        return Sum(self.constant + constant, dict(self.of), self.narrow)

    def written(self, rng: random.Random, *, wide: bool = False) -> str:
        shown = f"{self.constant:#x}" if self.constant > 4096 else str(self.constant)
        parts = [shown] if self.constant or not self.of else []
        for name, times in self.of.items():
            own = f"(uint64_t){name}" if wide and not self.narrow else name
            parts.append(rng.choice((f"{own} * {times}", f"{times} * {own}") if times != 1 else (own,)))
        rng.shuffle(parts)
        return " + ".join(parts)


@dataclass
class Launched:
    """A copy of rows: `steps` are (reps, destination stride, source stride), or none. `none_at` is a parameter with the
    value at which its length is 0, which no engine takes.
    """

    dst: Sum
    src: Sum
    length: int
    steps: tuple[int, int, int] | None = None
    channel: int = 0
    none_at: tuple[str, int] | None = None

    def length_at(self, values: Mapping[str, int]) -> int:
        return 0 if self.none_at is not None and values[self.none_at[0]] == self.none_at[1] else self.length


@dataclass
class Waited:
    channel: int = 0


@dataclass
class Called:
    given: Sum


@dataclass
class Repeated:
    """A loop of so many rounds, or of as many as a parameter says."""

    name: str
    count: int | str
    body: list[Line]


@dataclass
class Branched:
    """`name < below`, with what runs then and else."""

    name: str
    below: int
    body: list[Line]
    other: list[Line]


Line = Launched | Waited | Called | Repeated | Branched
Event = tuple[object, ...]


@dataclass(frozen=True)
class DrawnPair:
    """Two texts with the function `f`, and what was drawn of each."""

    texts: tuple[str, str]
    lines: tuple[list[Line], list[Line]]
    kept: bool  # whether the second was made to be the same


def drawn_pair(seed: int) -> DrawnPair:
    rng = random.Random(seed)
    first = _drawn(rng, names=PARAMETERS[: rng.choice((0, 1, 1, 2))])
    if not any(isinstance(held[at], Launched) for held, at in _places(first)):
        first.insert(0, _launch(rng, PARAMETERS))
    second, kept = deepcopy(first), rng.random() < 0.5
    for _ in range(rng.randint(0, 2)):
        _kept(second, rng)
    if not kept:
        _changed(second, rng)
    return DrawnPair((_text(first, rng), _text(second, rng)), (first, second), kept)


def _drawn(rng: random.Random, deep: int = 0, names: Sequence[str] = PARAMETERS) -> list[Line]:
    out: list[Line] = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.random()
        if kind < 0.55 or deep > 1:
            out.append(_launch(rng, names))
            if rng.random() < 0.7:
                out.append(Waited(out[-1].channel))  # type: ignore[union-attr]
        elif kind < 0.65:
            out.append(Called(_sum(rng, 7, names)))
        elif kind < 0.85:
            name = f"i{rng.randrange(1000)}"
            count = rng.choice(names[:2]) if not deep and names and rng.random() < 0.4 else rng.randint(1, 3)
            out.append(Repeated(name, count, _drawn(rng, deep + 1, (*names, name))))
        else:
            name = rng.choice(names[:2] or PARAMETERS)
            arms = [_drawn(rng, deep + 1, names) for _ in range(2)]
            out.append(Branched(name, rng.choice(VALUES[1:6]), arms[0], arms[1] if rng.random() < 0.5 else []))
    if not deep and rng.random() < 0.85:
        out += [Waited(0), Waited(1)]
    return out


def _sum(rng: random.Random, constant: int, names: Sequence[str]) -> Sum:
    narrow = rng.random() < 0.15
    of = {name: 1 << 26 if narrow else rng.choice((1, 4, 8, 16, 32)) for name in names if rng.random() < 0.4}
    return Sum(constant, of, narrow)


def _launch(rng: random.Random, names: Sequence[str]) -> Launched:
    sides = [_sum(rng, rng.choice(AREAS) + 16 * rng.randrange(6), names) for _ in range(2)]
    length, steps = rng.choice((4, 8, 16)), None
    if rng.random() < 0.4:
        steps = (rng.randint(1, 3), rng.choice((length, 16, 32, 2)), rng.choice((length, 16, 32, 0)))
    none_at = (rng.choice(PARAMETERS), rng.choice(VALUES)) if rng.random() < 0.05 else None
    return Launched(sides[0], sides[1], length, steps, int(rng.random() < 0.15), none_at)


def _places(lines: list[Line]) -> Iterator[tuple[list[Line], int]]:
    for at, line in enumerate(lines):
        yield lines, at
        if isinstance(line, Repeated | Branched):
            yield from _places(line.body)
        if isinstance(line, Branched):
            yield from _places(line.other)


def _put(lines: list[Line], name: str, value: int) -> list[Line]:
    """Lines with a number for a variable."""
    out = deepcopy(lines)
    for held, at in list(_places(out)):
        line = held[at]
        sums = (line.dst, line.src) if isinstance(line, Launched) else (line.given,) if isinstance(line, Called) else ()
        for one in sums:
            one.constant += one.of.pop(name, 0) * value
    return out


def _kept(lines: list[Line], rng: random.Random) -> None:
    """Writes one line in another way: what it does is the same, if nothing sees how."""
    held, at = rng.choice(list(_places(lines)))
    line = held[at]
    if isinstance(line, Repeated) and isinstance(line.count, int):
        held[at : at + 1] = [one for n in range(line.count) for one in _put(line.body, line.name, n)]
    elif isinstance(line, Waited):
        held.insert(at, deepcopy(line))
    elif isinstance(line, Branched):
        line.body, line.other = [*line.body], [*line.other]
    elif isinstance(line, Launched) and line.steps is not None:
        reps, far, wide = line.steps
        if rng.random() < 0.4:
            turned = (reps, -far, -wide)
            dst, src = line.dst.more(far * (reps - 1)), line.src.more(wide * (reps - 1))
            held[at] = replace(line, dst=dst, src=src, steps=turned)
            return
        ends = ((line.dst.more(far * n), line.src.more(wide * n)) for n in range(reps))
        held[at : at + 1] = [replace(line, dst=dst, src=src, steps=None) for dst, src in ends]
    elif isinstance(line, Launched):
        half = line.length // 2
        held[at : at + 1] = [
            replace(line, length=half),
            replace(line, dst=line.dst.more(half), src=line.src.more(half), length=line.length - half),
        ]
        if rng.random() < 0.3:
            held[at], held[at + 1] = held[at + 1], held[at]


def _changed(lines: list[Line], rng: random.Random) -> None:
    """One change somewhere."""
    held, at = rng.choice(list(_places(lines)))
    line = held[at]
    if rng.random() < 0.1 and len(held) > 1:
        other = rng.randrange(len(held))
        held[at], held[other] = held[other], held[at]
    elif isinstance(line, Launched):
        what = rng.randrange(6)
        side = rng.choice((line.dst, line.src))
        if what == 0:
            side.constant += rng.choice((4, -4, 16, 1))
        elif what == 1:
            name = rng.choice(PARAMETERS)
            side.of[name] = side.of.get(name, 0) + rng.choice((1, 8))
        elif what == 2:
            if rng.random() < 0.6:
                line.length += rng.choice((1, 4))
            else:
                line.none_at = (rng.choice(PARAMETERS), rng.choice(VALUES)) if line.none_at is None else None
        elif what == 3 and line.steps is not None:
            reps, far, wide = line.steps
            others = ((reps + 1, far, wide), (reps, far + 4, wide), (reps, far, wide + 4), (reps, wide, far))
            line.steps = rng.choice(others)
        elif what == 4:
            line.channel ^= 1
        else:
            line.dst, line.src = line.src, line.dst
    elif isinstance(line, Called):
        line.given.constant += 1
    elif isinstance(line, Repeated):
        line.count = line.count + 1 if isinstance(line.count, int) else rng.choice((*PARAMETERS, 3))
    elif isinstance(line, Branched):
        if rng.random() < 0.5:
            line.below += 1
        else:
            line.body, line.other = line.other, line.body
    else:
        held[at] = Waited(1 - line.channel)


# ---------------------------------------------------------------- as C


def _text(lines: list[Line], rng: random.Random) -> str:
    names = [f"{name}{rng.choice(('', '_', 'x'))}" for name in PARAMETERS]
    helpers: list[str] = []
    body = "\n".join(["    assert(a < 64 && b < 64);", *_written(lines, rng, 1, helpers)])
    for name, own in zip(PARAMETERS, names, strict=True):
        if own != name:
            body = f"    const uint32_t {name} = {own};\n{body}"
    given = ", ".join(f"uint32_t {name}" for name in names)
    return f"{HEAD}{''.join(helpers)}void f({given}) {{\n{body}\n}}\n"


def _written(lines: list[Line], rng: random.Random, deep: int, helpers: list[str]) -> Iterator[str]:
    indent = "    " * deep
    for line in lines:
        if isinstance(line, Launched):
            dst, src = (f"{one.written(rng, wide=True)}" for one in (line.dst, line.src))
            if rng.random() < 0.3:
                name = f"p{rng.randrange(10_000)}"
                yield f"{indent}uint64_t {name} = {dst};"
                dst = name
            kind, channel = ("_channel", f", {line.channel}") if line.channel else ("", "")
            size = f"{line.length}" if rng.random() < 0.7 else f"{line.length - 1} + 1"
            if line.none_at is not None:
                name, value = line.none_at
                size = rng.choice((f"({size}) * ({name} != {value})", f"({name} == {value} ? 0 : {size})"))
            if line.steps is None:
                if rng.random() < 0.2 and not channel:
                    helper = f"go{len(helpers)}_{rng.randrange(1000)}"
                    helpers.append(
                        f"static void {helper}(uint64_t to, uint64_t from, uint32_t n) "
                        "{ snrt_dma_start_1d((void *)to, (void *)from, n); }\n"
                    )
                    yield f"{indent}{helper}({dst}, {src}, {size});"
                    continue
                yield f"{indent}snrt_dma_start_1d{kind}((void *)({dst}), (void *)({src}), {size}{channel});"
            else:
                reps, far, wide = line.steps
                strides = f"{far}, {wide}, {reps}"
                yield f"{indent}snrt_dma_start_2d{kind}((void *)({dst}), (void *)({src}), {size}, {strides}{channel});"
        elif isinstance(line, Waited):
            yield f"{indent}snrt_dma_wait_all{f'_channel({line.channel})' if line.channel else '()'};"
        elif isinstance(line, Called):
            yield f"{indent}compute({line.given.written(rng)});"
        elif isinstance(line, Repeated):
            inner = list(_written(line.body, rng, deep + 1, helpers))
            if rng.random() < 0.5 or isinstance(line.count, str):
                test = rng.choice((f"{line.name} < {line.count}", f"{line.name} + 1 <= {line.count}"))
                yield f"{indent}for (uint32_t {line.name} = 0; {test}; ++{line.name}) {{"
                yield from inner
                yield f"{indent}}}"
            else:
                name, count = line.name, line.count
                yield f"{indent}for (uint32_t {name} = {count}, t{name} = 0; t{name} < {count}; t{name}++) {{"
                yield f"{indent}    {name} = t{name};"
                yield from inner
                yield f"{indent}}}"
        else:
            name, below = line.name, line.below
            yield f"{indent}if ({rng.choice((f'{name} < {below}', f'!({name} >= {below})', f'{below} > {name}'))}) {{"
            yield from _written(line.body, rng, deep + 1, helpers)
            yield f"{indent}}} else {{"
            yield from _written(line.other, rng, deep + 1, helpers)
            yield f"{indent}}}"


# ---------------------------------------------------------------- what it does


def events_of(lines: Sequence[Line], values: Mapping[str, int]) -> Iterator[Event]:
    for line in lines:
        if isinstance(line, Launched):
            reps, far, wide = line.steps or (1, 0, 0)
            dst, src = line.dst.at(values), line.src.at(values)
            yield "launch", [(dst + far * n, src + wide * n) for n in range(reps)], line.length_at(values), line.channel
        elif isinstance(line, Waited):
            yield "wait", line.channel
        elif isinstance(line, Called):
            yield "call", line.given.at(values) % (1 << 32)
        elif isinstance(line, Repeated):
            for n in range(line.count if isinstance(line.count, int) else values[line.count]):
                yield from events_of(line.body, {**values, line.name: n})
        else:
            yield from events_of(line.body if values[line.name] < line.below else line.other, values)


def seen_of(lines: Sequence[Line], values: Mapping[str, int], *, late: bool) -> list[object]:
    """What memory holds at each call, and in the end, by where it lay before; launches are done when they are
    launched, or `late`: where something is done next behind a wait for them, for a wait by itself does nothing.
    """
    memory: dict[int, int] = {}
    pending: list[Event] = []
    waited: set[object] = set()
    out: list[object] = []

    def done(launch: Event) -> None:
        _, rows, length, _ = launch
        for dst, src in rows:  # type: ignore[attr-defined]
            taken = [memory.get(src + n, src + n) for n in range(length)]  # type: ignore[call-overload]
            memory.update({dst + n: one for n, one in enumerate(taken)})

    for event in (*events_of(lines, values), ("end",)):
        if event[0] == "wait":
            waited.add(event[1])
            continue
        for one in [p for p in pending if p[3] in waited]:
            done(one)
            pending.remove(one)
        waited.clear()
        if event[0] == "launch" and not late:
            done(event)
        elif event[0] == "launch":
            pending.append(event)
        elif event[0] == "call":
            out.append((event[1], _changed_of(memory)))
    return [*out, _changed_of(memory)]


def _changed_of(memory: Mapping[int, int]) -> frozenset[tuple[int, int]]:
    return frozenset((at, held) for at, held in memory.items() if at != held)
