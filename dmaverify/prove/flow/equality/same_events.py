"""Equivalence of two kernels: copy by copy, byte for byte, in the same order and with the same synchronisation.

Knows: both kernels as events over the symbols of one world; loops beside copies with more levels, loops written out;
numbers at which two kernels part.
Does not know: machines, text syntax; both kernels name arguments by their order.
Law: `proved` means that between the same flags, barriers and vector accesses the same bytes get the same values, for
all values of the symbols within their ranges and all iterations (counts of copies are at least 1: what fewer do is not
defined). `refuted` carries values at which a run of both parts, and where. All else is `unknown`.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.affine import ONE, Cond, Lin, World, compare
from dmaverify.program.instructions import (
    Arrival,
    Branch,
    BufferToken,
    Copy,
    CopyTouch,
    Event,
    Fence,
    KernelLoop,
    Release,
    Signal,
    Use,
)
from dmaverify.program.rewrite import Carrier, every, put_in, running, symbols_of, unrolled
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.lifted import rows_apart
from dmaverify.prove.flow.equality.kernel_runs import PATH, parting, samples
from dmaverify.prove.flow.equality.same_copies import (
    Area,
    CopyForm,
    apart,
    compare_bytes,
    form_of,
    normal,
    progression,
    same_areas,
)
from dmaverify.prove.sameness import Sameness
from dmaverify.values import dataclass, field, replace

MOST_WRITTEN_OUT = 2_000
"""Most events of loops with constant counts that are written out."""
MOST_TOGETHER = 8
"""Most iterations of one loop that are held against one of another."""
RLIMIT = 400_000


def compare_events(
    one: Sequence[Event], first: World, other: Sequence[Event], second: World, *, sought: bool = True
) -> Sameness:
    """Compares two programs event by event. In one world, a symbol is the same in both. Without a difference `sought`,
    nothing is refuted.
    """
    if first is second:
        world, loose = first, set[str]()
        left, right = (tuple(running(events)) for events in (one, other))
    else:
        world = World()
        shared, empty = _shared(world, first, second)
        if empty:
            return Sameness("unknown", f"the ranges of {empty} have no value in common")
        carriers = [Carrier(w, world, shared) for w in (first, second)]
        left, right = (tuple(running(c.events(e))) for c, e in zip(carriers, (one, other), strict=True))
        loose = carriers[0].loose | carriers[1].loose
    proof = _Comparison(world, loose)
    found = proof.block(left, right)
    if found.status == "proved" or not sought:
        return found
    right = tuple(put_in(e, world, proof.meant) for e in right)
    return _at_values(world, loose, (left, right), found)


def _at_values(
    world: World, loose: set[str], sides: tuple[Sequence[Event], Sequence[Event]], found: Sameness
) -> Sameness:
    """Values at which the two part; where there are no symbols, the one run decides."""
    names = sorted(symbols_of((*sides[0], *sides[1]), world))
    if loose & set(names):
        lost = ", ".join(sorted(world.symbols[n].shown for n in loose & set(names)))
        return replace(found, status="unknown", why=f"{found.why}; {lost} is a value that nothing here defines")
    said = "no values were found at which they part"
    for values in samples(world, names) if names else [{}]:
        run = parting(sides[0], sides[1], world, values)
        said = run.why or said
        if run.status == "refuted":
            shown = {world.symbols[n].shown: v for n, v in values.items()}
            return replace(run, witness=shown or None, copies=found.copies)
        if run.status == "proved" and not names:
            return replace(run, copies=sum(1 for e in every(sides[0]) if isinstance(e, Copy)))
    return replace(found, status="unknown", why=f"{found.why}; {said}")


def _shared(world: World, first: World, second: World) -> tuple[dict[str, Lin], str]:
    """The symbols that both kernels mean alike (arguments by their order), each with the range that both allow."""
    found: dict[str, tuple[int | None, int | None, bool]] = {}
    for one in (first, second):
        for symbol in one.symbols.values():
            if symbol.definition or symbol.shown.startswith("%"):
                continue
            low, high, stated = found.get(symbol.shown, (None, None, True))
            lows = [x for x in (low, symbol.low) if x is not None]
            highs = [x for x in (high, symbol.high) if x is not None]
            found[symbol.shown] = (max(lows, default=None), min(highs, default=None), stated and symbol.stated)
    out = {}
    for shown, (low, high, stated) in found.items():
        if low is not None and high is not None and low > high:
            return {}, shown
        out[shown] = world.free(shown.replace(".", "_"), low, high, stated=stated, shown=shown)
    return out, ""


@dataclass
class _Comparison:
    """A proof that two lists of events are the same; `when` is what holds here."""

    world: World
    loose: set[str]
    when: list[Cond] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    written_out: int = 0
    counts: list[Lin] = field(default_factory=list)
    meant: dict[str, Lin] = field(default_factory=dict)  # values that the other reads, by what the one reads there

    def __post_init__(self) -> None:
        self.asker = Asker(self.world, RLIMIT)

    # ------------------------------------------------------------ numbers

    def equal(self, one: Lin, other: Lin) -> bool:
        gap = one - other
        if gap.is_const:
            return gap.const == 0
        if self.world.roots(gap) & self.loose:
            return False
        for value in (1, 5):  # values at which they differ settle it without a question
            put = self.world.put(gap, {n: Lin(value + i) for i, n in enumerate(sorted(self.world.roots(gap)))})
            inside = all(
                (s.low is None or value + i >= s.low) and (s.high is None or value + i <= s.high)
                for i, s in enumerate(self.world.symbols[n] for n in sorted(self.world.roots(gap)))
            )
            if inside and put.is_const and put.const:
                return False
        return self.asker.holds(compare("eq", gap), [*self.when, *self.positive(gap)]).status == "proved"

    def at_most(self, one: Lin, other: Lin) -> bool:
        gap = one - other
        if gap.is_const:
            return gap.const <= 0
        return self.asker.holds(compare("le", gap), [*self.when, *self.positive(gap)]).status == "proved"

    def positive(self, gap: Lin) -> list[Cond]:
        """Counts of the copies that are compared are at least 1: those of them that a term has to do with."""
        roots = self.world.roots(gap)
        return [compare("le", ONE - c) for c in self.counts if self.world.roots(c) & roots]

    def same_condition(self, one: Cond, other: Cond) -> bool:
        if one == other:
            return True
        if (self.world.roots(one) | self.world.roots(other)) & self.loose:
            return False
        return all(self.asker.holds(b, [*self.when, a]).status == "proved" for a, b in ((one, other), (other, one)))

    # ------------------------------------------------------------ events

    def block(self, one: Sequence[Event], other: Sequence[Event]) -> Sameness:
        left, right = list(one), list(other)
        failed: Sameness | None = None
        put = 0
        while left and right:
            if put < len(self.meant):
                put, right = len(self.meant), [put_in(e, self.world, self.meant) for e in right]
            found = self.event(left[0], right[0])
            if found.status == "proved":
                del left[0], right[0]
                continue
            taken = self.together(left, right)
            if taken is not None:
                del left[: taken[0]], right[: taken[1]]
                continue
            failed = failed or found
            if not (self.write_out(left) | self.write_out(right)):
                return failed
        if left or right:
            rest, word = (left, "first") if left else (right, "second")
            lone = Sameness("unknown", f"only the {word} has this", places=(rest[0].span,), copies=len(self.seen))
            return failed or lone
        return Sameness("proved", copies=len(self.seen))

    def write_out(self, events: list[Event]) -> bool:
        """Replaces a loop of known count in front by its iterations."""
        loop = events[0]
        if not isinstance(loop, KernelLoop) or not loop.trip.is_const:
            return False
        if any(isinstance(e, Use) and e.gives for e in every(loop.body)):
            return False  # each iteration reads another value, and they have one name
        self.written_out += loop.trip.const * _size(loop.body)
        if self.written_out > MOST_WRITTEN_OUT:
            return False
        events[:1] = unrolled(loop, self.world, range(loop.trip.const))
        return True

    def event(self, a: Event, b: Event) -> Sameness:
        one, other = form_of(a, self.world), form_of(b, self.world)
        if one is not None and other is not None and self.same_form(one, other):
            self.seen.add(one.copy.span.start)
            return Sameness("proved", copies=len(self.seen))
        if isinstance(a, KernelLoop) and isinstance(b, KernelLoop):
            return self.loops(a, b)
        if isinstance(a, Branch) and isinstance(b, Branch):
            return self.branch(a, b)
        if type(a) is not type(b):
            return self.parted(a, b, "one has another operation here")
        if isinstance(a, Copy):
            return self.parted(a, b, "the copies differ")
        if not self.same_order(a, b):
            return self.parted(a, b, "they differ")
        return Sameness("proved", copies=len(self.seen))

    def loops(self, a: KernelLoop, b: KernelLoop) -> Sameness:
        """Iteration against iteration; where one runs so many times as often, so many of it against one."""
        for more in range(1, MOST_TOGETHER + 1):
            for first, second in dict.fromkeys(((more, 1), (1, more))):
                if not self.equal(a.trip * second, b.trip * first):
                    continue
                if more > 1 and not self.repeatable(b if first == 1 else a):
                    break
                counter = Lin(0, (((a if first == 1 else b).counter, 1),))
                return self.block(*(
                    [put_in(e, self.world, {loop.counter: counter * n + k}) for k in range(n) for e in loop.body]
                    for loop, n in ((a, first), (b, second))
                ))  # fmt: skip
        return self.parted(a, b, "the loops run differently often")

    def repeatable(self, loop: KernelLoop) -> bool:
        """Whether all that changes from one iteration to the next is the counter."""
        if any(isinstance(e, Use) and e.gives for e in every(loop.body)):
            return False
        names = symbols_of(loop.body, self.world)
        return not names & self.loose and not any(self.world.symbols[name].varies for name in names)

    def branch(self, a: Branch, b: Branch) -> Sameness:
        if self.same_condition(a.when, b.when):
            arms = ((a.when, a.then, b.then), (a.when.negated(), a.other, b.other))
        elif self.same_condition(a.when, b.when.negated()):
            arms = ((a.when, a.then, b.other), (a.when.negated(), a.other, b.then))
        else:
            return self.parted(a, b, "the conditions differ")
        for condition, one, other in arms:
            self.when.append(condition)
            found = self.block(one, other)
            self.when.pop()
            if found.status != "proved":
                return found
        return Sameness("proved", copies=len(self.seen))

    def parted(self, a: Event, b: Event, why: str) -> Sameness:
        return Sameness("unknown", why, places=(a.span, b.span), copies=len(self.seen))

    def same_order(self, a: Event, b: Event) -> bool:
        """Flags, fences, tokens and vector accesses."""
        if isinstance(a, Signal) and isinstance(b, Signal):
            return (a.action, a.source, a.dest) == (b.action, b.source, b.dest) and self.equal(a.event, b.event)
        if isinstance(a, Fence) and isinstance(b, Fence):
            return a.pipe == b.pipe
        if isinstance(a, (Arrival, Release)) and isinstance(b, (Arrival, Release)):
            return type(a) is type(b) and (a.what, a.pipe, a.flag, a.share) == (b.what, b.pipe, b.flag, b.share)
        if isinstance(a, BufferToken) and isinstance(b, BufferToken):
            alike = (a.action, a.pipe) == (b.action, b.pipe)
            return alike and self.equal(a.token, b.token) and self.equal(a.mode, b.mode)
        if isinstance(a, Use) and isinstance(b, Use):
            alike = (a.pipe, a.what, a.atomic, len(a.touches)) == (b.pipe, b.what, b.atomic, len(b.touches))
            alike = alike and all(self.same_touch(s, t) for s, t in zip(a.touches, b.touches, strict=True))
            if alike and a.gives and len(a.gives) == len(b.gives) and not any(t.open for t in a.touches):
                self.read_alike(a, b)
            return alike
        return False

    def read_alike(self, a: Use, b: Use) -> None:
        """So far both have made the same of memory: what they read at one place is one value."""
        for mine, theirs in zip(a.gives, b.gives, strict=True):
            if len(mine.terms) != 1 or len(theirs.terms) != 1 or mine == theirs:
                continue
            one, other = (self.world.symbols[v.terms[0][0]] for v in (mine, theirs))
            if (one.low, one.high) == (other.low, other.high):
                self.meant[other.name] = mine
                self.loose -= {one.name, other.name}

    def same_touch(self, s: CopyTouch, t: CopyTouch) -> bool:
        mine, theirs = ((x.kind, x.place.memory, x.pattern, x.open, len(x.steps)) for x in (s, t))
        if mine != theirs:
            return False
        pairs = [(s.place.address + s.offset, t.place.address + t.offset), (s.length, t.length)]
        pairs += [p for x, y in zip(s.steps, t.steps, strict=True) for p in zip(x, y, strict=True)]
        return all(self.equal(*pair) for pair in pairs)

    # ------------------------------------------------------------ copies

    def same_form(self, one: CopyForm, other: CopyForm) -> bool:
        if one.way != other.way or PATH in (one.copy.atomic, other.copy.atomic):
            return False
        if one.copy.touches == other.copy.touches and one.areas == other.areas:
            return True
        self.counts = [step.count for form in (one, other) for step in form.copy.steps if not step.count.is_const]
        try:
            return self.by_levels(one, other) or self.by_bytes([one], [other])
        finally:
            self.counts = []

    def by_levels(self, one: CopyForm, other: CopyForm) -> bool:
        """Whether both have one normal form, and in one order unless none matters."""
        forms = [[normal(a, self.world, self.equal) for a in f.areas] for f in (one, other)]
        left = list(forms[1])
        for area in forms[0]:
            at = next((i for i, o in enumerate(left) if same_areas(area, o, self.equal)), None)
            if at is None:
                return False
            del left[at]
        return not left and (self.in_order(one, other) or self.orderless(forms[0]))

    def in_order(self, one: CopyForm, other: CopyForm) -> bool:
        """Whether the levels are the same, one by one, in the same order."""
        for a, b in zip(one.areas, other.areas, strict=False):
            levels = [[level for level in area.levels if level[0] != ONE] for area in (a, b)]
            if len(levels[0]) != len(levels[1]) or not self.equal(a.length, b.length):
                return False
            if not all(self.equal(x, y) for s, t in zip(*levels, strict=True) for x, y in zip(s, t, strict=True)):
                return False
        return len(one.areas) == len(other.areas)

    def orderless(self, areas: Sequence[Area]) -> bool:
        """Whether the order of rows changes nothing: no two write one byte, none reads what another writes."""
        whole = areas[0]
        for area in areas[1:]:
            if [level[:2] for level in area.levels] != [level[:2] for level in whole.levels]:
                return False
            whole = replace(whole, length=whole.length + area.length)
        levels = [(count, step) for count, step, _ in whole.levels]
        return rows_apart(levels, whole.length, self.world, self.at_most) and all(
            apart(a, self.world, self.at_most) for a in areas if a.kind == "data"
        )

    def together(self, left: Sequence[Event], right: Sequence[Event]) -> tuple[int, int] | None:
        """How many copies in front of each side make the same of memory together."""
        runs = [self.run(events) for events in (left, right)]
        if not runs[0] or not runs[1] or runs[0][0].way != runs[1][0].way or runs[0][0].copy.atomic == PATH:
            return None
        if max(map(len, runs)) == 1:
            return None
        one, other = (run[0] if len(run) == 1 else progression(run, self.equal) for run in runs)
        alike = one is not None and other is not None and self.same_form(one, other)
        if not alike and not self.by_bytes(runs[0], runs[1]):
            return None
        self.seen |= {f.copy.span.start for f in runs[0]}
        return len(runs[0]), len(runs[1])

    def run(self, events: Sequence[Event]) -> list[CopyForm]:
        """The forms of all copies in front that go one way."""
        out: list[CopyForm] = []
        for event in events:
            form = form_of(event, self.world)
            if form is None or (out and form.way != out[0].way):
                break
            out.append(form)
        return out

    def by_bytes(self, one: Sequence[CopyForm], other: Sequence[CopyForm]) -> bool:
        return all(f.is_const for f in (*one, *other)) and compare_bytes(one, other)[0] == "proved"


def _size(events: Sequence[Event]) -> int:
    total = 0
    for event in events:
        if isinstance(event, KernelLoop):
            total += 1 + _size(event.body) * (event.trip.const if event.trip.is_const else 1)
        elif isinstance(event, Branch):
            total += 1 + _size(event.then) + _size(event.other)
        else:
            total += 1
    return total
