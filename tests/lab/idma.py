"""Random iDMA plans in every form, and mutants of them: one number of the text is another.

Knows: moves that iDMA can say in a form, how a word or a line is spoiled, what a text moves byte by byte.
Does not know: verdicts.
Law: a plan is emitted by synthesis, so it was read back and proved; a mutant whose text moves the same bytes with the
same options is equivalent, and is told apart by walking both texts as the hardware does, not by any proof.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from dmaverify.errors import InputError, InputErrors
from dmaverify.machines.idma.emit import emitted
from dmaverify.machines.idma.forms import read_image
from dmaverify.machines.idma.nd import walked
from dmaverify.machines.idma.search import synthesize
from dmaverify.plan.read import read_plan_text
from dmaverify.program.form import Word

FORMS = ("reg32_1d", "reg32_2d", "reg32_3d", "reg64_1d", "reg64_2d", "desc64", "inst64", "job", "nd")
MOST_BYTES = 1 << 16
"""A text that moves more has nothing in common with those that are made here."""
HEAD = """schema = 1
target = "idma"
[axes]
{axes}
[transfer.t]
dtype = "{dtype}"
source = {{ tier = "mem", base = {src}, element = "{source}" }}
dest = {{ tier = "mem", base = {dst}, element = "{dest}" }}
options = {{ address_width = {width}, dims = 3 }}
"""


@dataclass(frozen=True, slots=True)
class ToldPlan:
    """A plan without commands, and its commands in a form."""

    head: str
    form: str
    text: str

    def plan(self, text: str | None = None) -> str:
        return f'{self.head}commands = """\n{self.text if text is None else text}"""\n'


@dataclass(frozen=True, slots=True)
class Mutant:
    """Another text, what was done, and which characters of it are wrong now (None: something is missing)."""

    told: ToldPlan
    text: str
    what: str
    at: tuple[int, int] | None

    @property
    def plan(self) -> str:
        return self.told.plan(self.text)


def random_plan(rng: random.Random, form: str) -> ToldPlan | None:
    """A move that the form can say, with its commands; None where this one cannot be said."""
    names = ["A", "B", "C"][: rng.randrange(1, 4)]
    sizes = [rng.randrange(2, 7) for _ in names]
    sizes[-1] = rng.choice((4, 8, 12, 16, 33))
    order = names[:-1]
    rng.shuffle(order)
    sides = []
    for axes in (names, [*order, names[-1]]):
        pads = [rng.choice(("", "", f" # {size + rng.randrange(1, 9)}")) for size in sizes]
        by_name = dict(zip(names, pads, strict=True))
        sides.append(", ".join(name + by_name[name] for name in axes))
    width = 32 if form.startswith("reg32") else rng.choice((32, 48)) if form != "job" else 32
    head = HEAD.format(
        axes="\n".join(f"{n} = {s}" for n, s in zip(names, sizes, strict=True)), dtype=rng.choice(("i8", "i16", "i32")),
        src=rng.randrange(1 << 12) * 4, dst=(1 << 20) + rng.randrange(1 << 12), source=sides[0], dest=sides[1],
        width=width,
    )  # fmt: skip
    plan = read_plan_text(head)
    transfer = plan.transfers[0].transfer
    target = plan.targets[transfer.target]
    found = synthesize(transfer, target, axes=plan.axes)
    if not found.found or len(found.commands) > 24:
        return None
    try:
        return ToldPlan(head, form, emitted(transfer, target, plan.axes, found.commands, form))
    except InputError:
        return None


def words_of(told: ToldPlan, text: str) -> list[Word]:
    """The words of all commands of the text, each once. Raises InputError, InputErrors."""
    transfer = read_plan_text(told.plan(text)).transfers[0].transfer
    form = transfer.form
    words = {} if form is None else {word.start: word for own in form.commands for word in own}
    return [words[at] for at in sorted(words)]


def moved(text: str) -> tuple[object, ...] | None:
    """Every byte that a text moves, in order, with the options that matter; None where it cannot be read."""
    try:
        image = read_image(text)
    except InputError:
        return None
    bytes_ = []
    if sum(one.descriptor.bytes for one in image.told) > MOST_BYTES:
        return None
    for one in image.told:
        for src, dst in walked(one.descriptor, 64):
            bytes_ += [(src + n, dst + n) for n in range(one.descriptor.request.length)]
    bad = any(f.scope == "word" and f.values["reserved"] for f in image.facts) or bool(image.problems)
    protocols = [(one.descriptor.request.src_protocol, one.descriptor.request.dst_protocol) for one in image.told]
    chain = [sorted(f.values.items()) for f in image.facts if f.scope == "chain"]
    return tuple(bytes_), bad, tuple(protocols), str(chain)


def mutants(rng: random.Random, told: ToldPlan) -> Iterator[Mutant]:
    """Mutants of a plan without end: a word with another value, reserved bits, a line twice or not at all, a word too
    many.
    """
    words = words_of(told, told.text)
    lines = told.text.splitlines(keepends=True)
    while True:
        kind = rng.choice(("bit", "bit", "add", "add", "swap", "reserved", "extra", "drop"))
        if kind in ("bit", "add", "swap", "reserved"):
            made = _other_word(rng, told, words, kind)
            if made is not None:
                yield made
        elif kind == "extra":
            at = rng.randrange(1, len(lines))
            start = sum(map(len, lines[:at])) + len(lines[at].rstrip("\n"))
            body = lines[at].split("#")[0].rstrip()
            start = sum(map(len, lines[:at])) + len(body)
            added = " 00000007"
            yield Mutant(told, told.text[:start] + added + told.text[start:], "extra word", (start + 1, start + 9))
        else:
            at = rng.randrange(1, len(lines))
            yield Mutant(told, "".join([*lines[:at], *lines[at + 1 :]]), f"without `{lines[at].strip()}`", None)


def _other_word(rng: random.Random, told: ToldPlan, words: list[Word], kind: str) -> Mutant | None:
    word = rng.choice(words)
    top = (1 << word.bits) - 1
    if kind == "reserved":
        own = [w for w in words if w.part in ("conf", "flags")]
        if not own:
            return None
        word = rng.choice(own)
        value = word.value | 1 << {"conf": 30 if word.bits == 32 else 0, "flags": 24 + rng.randrange(8)}[word.part]
    elif kind == "bit":
        value = word.value ^ 1 << rng.randrange(min(word.bits, 20))
    elif kind == "add":
        value = (word.value + rng.choice((-64, -16, -8, -4, -1, 1, 4, 8, 16, 64))) & top
    else:
        value = rng.choice(words).value & top
    if value == word.value:
        return None
    text = told.text[word.start : word.end]
    shown = f"{value:08x}" if told.form == "desc64" else f"0x{value:x}" if "x" in text else str(value)
    new = told.text[: word.start] + shown + told.text[word.end :]
    return Mutant(told, new, f"{word.name}: {word.value} -> {value}", (word.start, word.start + len(shown)))


__all__ = ["FORMS", "InputErrors", "Mutant", "ToldPlan", "moved", "mutants", "random_plan", "words_of"]


def driver_with_arguments(rng: random.Random) -> tuple[str, dict[str, range]]:
    """A driver with arguments of few values, and these values; right ones and wrong ones."""
    values = {"n": range(rng.randrange(2), rng.randrange(2, 7)), "d": range(0, 512, 64), "m": range(1, 5)}
    size = rng.choice(("64", "16 * n", "n * m", "64 * (n / 2)", "n - 1", "(n & 3) + 1", "d + 8"))
    step = rng.choice(("64", "d", "16 * m", "64 * m"))

    def launch(row: str) -> str:
        ends = [f"0x{rng.choice((0x1000, 0x1100, 0x2000, 0x2040, 0x9000)):x}u" for _ in range(2)]
        ends = [f"{end}{rng.choice(('', f' + {row}', ' + d', f' + d + {row}'))}" for end in ends]
        if rng.random() < 0.3:
            return f"snrt_dma_start_2d((void *)({ends[0]}), (void *)({ends[1]}), {size}, {step}, {step}, m);"
        return f"snrt_dma_start_1d((void *)({ends[0]}), (void *)({ends[1]}), {size});"

    body = []
    for _ in range(rng.randrange(1, 3)):
        wait = rng.choice(("", "snrt_dma_wait_all();"))
        kind = rng.randrange(4)
        if kind == 0:
            body.append(f"{wait} {launch('0')}")
        elif kind == 1:
            body.append(f"if (n > {rng.randrange(4)}) {{ {launch('0')} }} {wait}")
        else:
            move = rng.choice(("", f"p += {step};"))
            row = rng.choice((f"{step} * i", "p"))
            inside = f"{launch(row)} {wait} {launch(row) if rng.random() < 0.4 else ''} {move}"
            bound = rng.choice(("n", "m", "n * m", "n + 2"))
            loop = f"for (uint32_t i = 0; i < {bound}; i += {rng.choice((1, 1, 2))}) {{ {inside} }}"
            body.append(f"{{ uint32_t p = 0; {loop} }}")
    if rng.random() < 0.4:
        body.append(launch("0"))
    stated = " && ".join(f"{name} >= {own[0]} && {name} <= {own[-1]}" for name, own in values.items() if name != "d")
    head = f"assert({stated} && d < 512 && d % 64 == 0);" if rng.random() < 0.7 else ""
    return f"void f(uint32_t n, uint32_t d, uint32_t m) {{ {head} {' '.join(body)} }}\n", values
