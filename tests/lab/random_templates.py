"""Random plans with symbols: transposes, tiles, padding and slices of a few axes, right or with one number changed.

Knows: the text of such plans. Does not know: whether one is right.
Law: the same generator state gives the same plan; at most small sizes it can be read.
"""

from __future__ import annotations

import random

from dmaverify.values import dataclass

AXES = "ABCD"


@dataclass(frozen=True, slots=True)
class Drawn:
    """The text of a plan with one transfer `t`, and the names of its symbols."""

    text: str
    symbols: tuple[str, ...]
    changed: str = ""  # the number that was changed, with what stands instead


@dataclass(frozen=True, slots=True)
class SizedTerm:
    """A term of a mapping: its text, how often it is live, how many positions it has on a side that pads it."""

    text: str
    size: str
    slots: str = ""

    @property
    def positions(self) -> str:
        return self.slots or self.size

    @property
    def shown(self) -> str:
        return f"{self.text} # {grouped(self.slots)}" if self.slots else self.text


def grouped(text: str) -> str:
    return text if text.isalnum() else f"({text})"


def product_of(texts: list[str]) -> str:
    return "*".join(grouped(t) for t in texts if t != "1") or "1"


def strides_of(side: list[SizedTerm], width: int = 1) -> dict[str, str]:
    """What one step of each term adds to the address, by its text."""
    out: dict[str, str] = {}
    inside: list[str] = [] if width == 1 else [str(width)]
    for part in reversed(side):
        out[part.text] = product_of(inside)
        inside.insert(0, part.positions)
    return out


def mapping_of(side: list[SizedTerm], pad: str = "") -> str:
    texts = [part.shown for part in side] or ["1"]
    return ", ".join([texts[0] + pad, *texts[1:]])


def random_template(rng: random.Random) -> Drawn:
    """A plan of HBM to HBM, or HBM to DM; with commands printed, a stream, or both."""
    names = AXES[: rng.randint(1, 4)]
    ranges = {name: _range(rng) for name in names}
    parts = [part for name in names for part in _parts(rng, name, ranges)]
    source, dest, order = (rng.sample(parts, len(parts)) for _ in range(3))
    packet = order[-1]
    if rng.random() < 0.7:  # a shared innermost run
        inner = rng.choice(parts)
        source, dest, order = ([p for p in side if p is not inner] + [inner] for side in (source, dest, order))
        packet = inner
    strides = [strides_of(source), strides_of(dest)]
    whole = "*".join(f"({p.size})" for p in parts) or "1"
    tier = "dm" if rng.random() < 0.3 else "hbm"
    base = "0" if tier == "dm" else whole
    lines = [
        "schema = 1", 'target = "rngd"', *_assume(rng, names), "[axes]",
        *(f"{name} = {{ {', '.join(f'{k} = {v}' for k, v in ranges[name].items())} }}" for name in names),
        "[transfer.t]", 'dtype = "i8"',
        f'source = {{ tier = "hbm", element = "{mapping_of(source)}" }}',
        f'dest = {{ tier = "{tier}", base = "{base}", element = "{mapping_of(dest, _pad(rng))}" }}',
    ]  # fmt: skip
    kind = rng.choice(("stream", "printed", "printed", "both"))
    if kind != "printed":
        lines.append(f'stream = {{ time = "{mapping_of(order[:-1])}", packet = "{packet.text}" }}')
    changed = ""
    if kind != "stream":
        texts = []
        for steps, start in zip(strides, ("0", base), strict=True):
            entries = [f"{p.size}:{steps[p.text]}" for p in order[:-1]] + [f"{packet.size}:{steps[packet.text]}"]
            texts.append((entries, start))
        changed = _change(rng, texts, names) if rng.random() < 0.5 else ""
        for side, (entries, start) in zip(("read", "write"), texts, strict=True):
            lines.append(f'{side} = "[{", ".join(entries)}]:{packet.size} @({start})"')
    return Drawn("\n".join(lines) + "\n", tuple(names), changed)


def _range(rng: random.Random) -> dict[str, int]:
    multiple = rng.choice((1, 1, 1, 2, 4, 8))
    return {"min": rng.choice((1, 1, multiple, 2)), "max": 64, **({"multiple_of": multiple} if multiple > 1 else {})}


def _parts(rng: random.Random, name: str, ranges: dict[str, dict[str, int]]) -> list[SizedTerm]:
    multiple = ranges[name].get("multiple_of", 1)
    if multiple > 1 and rng.random() < 0.5:
        cut = rng.choice([k for k in (2, 4, 8) if multiple % k == 0])
        if rng.random() < 0.3:
            return [
                SizedTerm(f"{name} / ({name} / {cut})", str(cut)),
                SizedTerm(f"{name} % ({name} / {cut})", f"{name}/{cut}"),
            ]
        return _halves(name, cut, "/")
    if rng.random() < 0.12:
        cut = rng.choice((2, 3))
        return _halves(name, cut, "//")
    return [SizedTerm(name, name)]


def _halves(name: str, cut: int, sign: str) -> list[SizedTerm]:
    return [SizedTerm(f"{name} / {cut}", f"{name}{sign}{cut}"), SizedTerm(f"{name} % {cut}", str(cut))]


def _pad(rng: random.Random) -> str:
    if rng.random() < 0.85:
        return ""
    return rng.choice((" # 64", " #{0} 64", " #{!} 80", " # 100"))


def _assume(rng: random.Random, names: str) -> list[str]:
    if rng.random() < 0.6:
        return []
    one = rng.choice(names)
    clauses = [f"{one} <= {rng.randint(2, 40)}", f"{one} % 2 == 0"]
    clauses.append(f"{' * '.join(names)} <= {rng.choice((16, 100, 4096))}")
    if len(names) > 1:
        clauses += [f"{names[0]} <= {names[1]}", f"{names[0]} >= 2 * {names[1]}", f"{names[0]} | {names[1]}"]
    return [f'assume = ["{rng.choice(clauses)}"]']


def _change(rng: random.Random, texts: list[tuple[list[str], str]], names: str) -> str:
    """Changes one number of the printed commands."""
    side = rng.randrange(2)
    entries, start = texts[side]
    index = rng.randrange(len(entries) + 1)
    if index == len(entries):
        more = rng.choice(("1", *names, "8"))
        texts[side] = (entries, f"{start} + {more}")
        return f"base + {more}"
    count, _, stride = entries[index].partition(":")
    kind = rng.randrange(4)
    if kind == 0:
        stride = f"{stride}*{rng.choice((*names, '2'))}"
    elif kind == 1:
        stride = f"{stride} + {rng.choice(('1', *names))}"
    elif kind == 2:
        stride = rng.choice((*names, "1", "8"))
    else:
        count = rng.choice((*names, f"{count} - 1", f"{count} + 1"))
    old, entries[index] = entries[index], f"{count}:{stride}"
    return f"{old} -> {entries[index]}"
