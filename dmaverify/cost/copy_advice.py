"""What would make the copies of a kernel cheaper, whatever the constants: fewer instructions, longer rows, whole lines.

Knows: copies that one copy can replace, rows that waste blocks or lines.
Does not know: text, why a kernel is written as it is.
Law: an advice names a replacement that was proved to change the same bytes, and what it saves; what was not proved is
a question.

Source: best-practice text of the vendor (counts and strides before software loops, rows of 16 KiB, lines of 512 B).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from dmaverify.cost.amounts import Amount, AmountsAt, Of, number, shown
from dmaverify.cost.copies import KernelCost, price
from dmaverify.cost.copy_figures import CopyFigures
from dmaverify.language.affine import ONE, ZERO, Lin, World
from dmaverify.program.instructions import Branch, Copy, CopyStep, CopyTouch, Event, KernelLoop
from dmaverify.program.rewrite import every
from dmaverify.prove.flow.equality.same_copies import CopyForm, form_of, normal, progression
from dmaverify.prove.flow.equality.same_events import compare_events
from dmaverify.values import dataclass, replace

BLOCK = 32
LEVELS = 3
FIELD, FAR = (1 << 21) - 1, (1 << 40) - 1
Touches = Callable[[Copy], tuple[CopyTouch, ...]]


@dataclass(frozen=True, slots=True)
class Advice:
    """`proved`: the replacement changes the same bytes; else `text` is a question. `saves` is amounts as text."""

    line: int
    text: str
    proved: bool
    saves: Mapping[str, str]


def advice(events: Sequence[Event], world: World, figures: CopyFigures, touches: Touches) -> list[Advice]:
    """Every finding, in the order of the text."""
    out: list[Advice] = []
    for site in _sites(events, world):
        found = _replaced(site, world, figures, touches)
        if found is not None:
            out.append(found)
    for copy in (e for e in every(events) if isinstance(e, Copy)):
        out += _wasted(copy, world, figures.line)
    return sorted(out, key=lambda a: (a.line, not a.proved))


def _sites(events: Sequence[Event], world: World) -> Iterator[tuple[Event, ...]]:
    """What one copy might do instead: copies that follow each other, loops around nothing but a copy."""
    run: list[Event] = []
    for event in (*events, None):
        form = form_of(event, world) if isinstance(event, (Copy, KernelLoop)) else None
        way = form.way if form else None
        if run and (form is None or way != _way(run[0], world)):
            yield from _grouped(run, world)
            run = []
        if form is not None and event is not None:
            run.append(event)
        elif isinstance(event, KernelLoop):
            yield from _sites(event.body, world)
        elif isinstance(event, Branch):
            yield from _sites(event.then, world)
            yield from _sites(event.other, world)


def _way(event: Event, world: World) -> tuple[str, ...] | None:
    form = form_of(event, world)
    return form.way if form else None


def _grouped(run: Sequence[Event], world: World) -> Iterator[tuple[Event, ...]]:
    """A run as a whole where its copies differ by a fixed distance, else one by one."""
    forms = [f for f in (form_of(e, world) for e in run) if f is not None]
    if len(run) > 1 and progression(forms, _equal) is not None:
        yield tuple(run)
    else:
        yield from ((event,) for event in run)


def _equal(one: Lin, other: Lin) -> bool:
    return one == other


# ------------------------------------------------------------------------------------------ one copy instead


def _replaced(site: tuple[Event, ...], world: World, figures: CopyFigures, touches: Touches) -> Advice | None:
    forms = [f for f in (form_of(e, world) for e in site) if f is not None]
    form = forms[0] if len(forms) == 1 else progression(forms, _equal)
    made = _one_copy(form, world, touches) if form is not None else None
    if form is None or made is None:
        return None
    before, after = price(site, world, figures), price((made,), world, figures)
    saves = _saves(before, after)
    if not saves:
        return None
    counts = [said if " instead of " in said else f"{said} less" for said in saves.values()]
    proved = compare_events(site, world, (made,), world).status == "proved" and _fits(made, world)
    what = _what(form.copy, made)
    text = f"{what}: {', '.join(counts)} (proved: the same bytes)" if proved else (
        f"would {what} do? It would save {', '.join(saves.values())}; not proved for all values"
    )  # fmt: skip
    return Advice(form.copy.span.line, text, proved, saves)


def _what(old: Copy, new: Copy) -> str:
    steps = [s for s in new.steps if s.count != ONE]
    levels = f"{len(steps)} level{'s' if len(steps) != 1 else ''}"
    if new.row == old.row:
        return f"one copy with {levels}"
    rows = f"rows of {new.row.shown()} bytes" if new.row.is_const else "its rows joined"
    return f"one copy with {rows}{f' and {levels}' if steps else ''}"


def _saves(before: KernelCost, after: KernelCost) -> dict[str, str]:
    """Amounts that the replacement saves, where they are numbers; as two formulas where they are not."""
    out: dict[str, str] = {}
    for name, unit in (("issue", "issues"), ("buffer", "bytes of blocks"), ("lines", "lines")):
        sides = []
        for cost in (before, after):
            counts = [t.count for c in cost.copies for t in c.terms if t.name == name]
            sides.append((counts, [t.exact for c in cost.copies for t in c.terms if t.name == name]))
        texts = [" + ".join(shown(a, before.world) for a in counts) for counts, _ in sides]
        if not all(sides[0][1]) or not all(sides[1][1]) or texts[0] == texts[1]:
            continue
        if before.symbols() or after.symbols():
            if _may_save(sides[0][0], sides[1][0], before.world):
                out[name] = f"{texts[1]} instead of {texts[0]} {unit}"
            continue
        totals = [sum(AmountsAt(before.world, {}).value(a) for a in counts) for counts, _ in sides]
        gone = totals[0] - totals[1]
        if gone < 0:
            return {}
        if gone:
            out[name] = f"{number(gone)} {unit}"
    return out


def _may_save(before: Sequence[Amount], after: Sequence[Amount], world: World) -> bool:
    """Whether some values of the symbols may leave less than before, as far as plain terms tell."""
    if not all(isinstance(amount, Of) for amount in (*before, *after)):
        return True
    sums = [sum((amount.term for amount in side if isinstance(amount, Of)), ZERO) for side in (before, after)]
    most = world.interval(sums[0] - sums[1])[1]
    return most is None or most > 0


def _one_copy(form: CopyForm, world: World, touches: Touches) -> Copy | None:
    """The copy that makes the normal form of what these make; None where it has too many levels."""
    data = next((a for a in form.areas if a.kind == "data"), None)
    if data is None or form.copy.kind == "local":
        return None
    joined = normal(data, world, _equal)
    old = form.copy
    if len(joined.levels) > LEVELS or (old.fill is not None and joined.length != old.row):
        return None
    left = data.write - old.write.address if old.fill is not None else ZERO
    start = joined.write - (left if left.is_const else ZERO)
    levels = joined.levels or ((ONE, joined.length, joined.length),)
    steps = tuple(CopyStep(c, r, w, "nburst" if i == 0 else f"loop{i}") for i, (c, w, r) in enumerate(levels))
    if old.fill is not None and not (old.touches and data.write == old.write.address):
        return None
    made = replace(
        old,
        read=replace(old.read, address=joined.read),
        write=replace(old.write, address=start),
        row=joined.length,
        steps=steps,
        when=(),
    )
    return replace(made, touches=touches(made))


def _fits(copy: Copy, world: World) -> bool:
    """Whether every operand surely fits its field, which has no count of 0, and UB strides their alignment."""

    def most(term: Lin, limit: int, least: int = 0) -> bool:
        low, high = world.interval(term)
        return low is not None and high is not None and low >= least and high <= limit

    if not most(copy.row, FIELD, 1):
        return False
    for index, step in enumerate(copy.steps):
        gm, ub = (step.read, step.write) if copy.kind == "load" else (step.write, step.read)
        if step.count == ONE:
            continue
        aligned = world.modulo(ub, BLOCK) == ZERO or (index == 0 and ub == copy.row and copy.fill is None)
        if not (most(step.count, FIELD, 1) and most(gm, FAR) and most(ub, FIELD) and aligned):
            return False
    return True


# ------------------------------------------------------------------------------------------ blocks and lines


def _wasted(copy: Copy, world: World, line: int) -> Iterator[Advice]:
    """Rows that fill blocks or lines badly: whether the layout may change is not ours to say."""
    if not copy.row.is_const or copy.kind == "local":
        return
    row, at = copy.row.const, copy.span.line
    extra = [t.length for t in copy.touches if t.kind in ("fill", "unknown", "surplus")]
    wasted = sum(e.const for e in extra if e.is_const)
    if wasted and row % BLOCK:
        said = f"rows of {row:,} bytes are no multiple of 32: could they be? {wasted:,} bytes of each are filled up"
        yield Advice(at, said, False, {"buffer": f"{wasted:,} bytes a row"})
    gm = copy.read if copy.kind == "load" else copy.write
    strides = [(s.read if copy.kind == "load" else s.write) for s in copy.steps if s.count != ONE]
    offsets = [gm.address, *strides]
    if any(s == copy.row for s in strides[:1]):
        return
    if row < line and strides:
        said = f"rows of {row:,} bytes use a line of {line} each: are longer runs possible?"
        yield Advice(at, said, False, {})
    elif any(f % line for o in offsets for f in (o.const, *(f for _, f in o.terms))):
        said = f"rows do not all start on {line} bytes: could the tensor's rows be padded to that?"
        yield Advice(at, said, False, {})
