"""Definite initialization at one access, on one path: was what is read written before, and what is there if not.

Knows: the states of bytes, rows over symbols, which doubt last fell on a byte.
Does not know: the order of events, loops (that is `definite`), machines.
Law: a refuted read names a byte that no write of its path touches, for values of the symbols that this path allows;
what is neither written nor refuted is named with what made it unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product
from math import prod

from dmaverify.errors import Span
from dmaverify.language.affine import Cond, Lin, both, compare
from dmaverify.program.instructions import Arrival, Copy, CopyTouch, Use
from dmaverify.prove.flow.accesses.covered import Lifted
from dmaverify.prove.flow.accesses.loops import At
from dmaverify.prove.flow.accesses.reached import (
    placed,
    terms_of,  # fmt: skip
)
from dmaverify.prove.flow.initialization.handed_on import HandedOn
from dmaverify.prove.flow.initialization.written import (
    MAYBE,
    NEVER,
    PERHAPS,
    TAIL,
    WRITTEN,
    LoadedBytes,
    Path,
    put_state,
)
from dmaverify.prove.flow.order.other_core import meets_arrival
from dmaverify.values import dataclass
from dmaverify.verdict import Finding, Label, Severity

MOST_TRIES = 64  # values of symbols that are tried one by one
MOST_TURNS = 1024  # iterations in which they are tried, of loops around a read and what was written before


@dataclass
class ReadBytes(HandedOn):
    """Follows accesses through one memory."""

    def _access(self, event: Copy | Use, path: Path, at: At) -> None:
        alone = At(at.counters)
        touches = [(t, self._put(t, at)) for t in event.touches if self._mine(t)]
        sure = True
        spoils = not at.lifted and any(self._spoils(touch, event, path) for _, touch in touches)
        for plain, touch in touches:
            if touch.kind == "read":
                sure = self._read(touch, event, path, (self._put(plain, alone), at.lifted)) and sure
        if isinstance(event, Use) and event.load:
            self._loaded(event, touches, path, at, sure=sure)
        if isinstance(event, Use) and event.sources and self._stores_garbage(event, touches, path, at):
            return
        if not sure and isinstance(event, Copy) and self._copies_garbage(event, touches, path, at):
            return
        own = [touch for _, touch in touches if touch.writes]
        if spoils and isinstance(event, Use):
            self._spoilt(event, own, path)
            return
        for plain, touch in touches:
            if not touch.writes:
                continue
            self._loops[id(touch)] = (touch, at.lifted, self._put(plain, alone))
            if touch.kind == "unknown":
                self._lost.append(touch)
                self._forget(path, touch, own)
            self._write(touch, event, path)

    def _spoils(self, touch: CopyTouch, event: Copy | Use, path: Path) -> bool:
        """Whether nothing wrote a byte of what an operation reads here, and all that it makes depends on that."""
        if not (isinstance(event, Use) and event.needs == "made" and touch.kind == "read") or touch.open:
            return False
        rows = self._rows(touch)
        beyond = any(self._reach(other, touch) for other in (*path.rows, *path.whole, *self._beyond))
        if not rows or beyond:
            return False
        states = [(start, set(path.bytes_[start:end])) for start, end in rows]
        return all(found == {NEVER} or (found == {TAIL} and start in self._made) for start, found in states)

    def _spoilt(self, event: Use, writes: Sequence[CopyTouch], path: Path) -> None:
        """Puts down that what an operation makes is garbage, as what it made it of was."""
        self.doubts += 1
        for touch in writes:
            self._lost.append(touch)
            self._forget(path, touch)
            rows = None if touch.kind == "maybe" else self._rows(touch)
            for first, end in rows or self._possible(touch):
                put_state(path.bytes_, first, end, TAIL if rows else MAYBE)
                self._doubt((first, end), event, "nothing wrote what it makes that of")
                if rows:
                    self._made[first] = (event.span, LoadedBytes(False))

    def _read(self, touch: CopyTouch, event: Copy | Use, path: Path, plain: tuple[CopyTouch, Lifted]) -> bool:
        """Whether all that is read surely was written before; what is not is found, or not judged."""
        if isinstance(event, Use) and event.inferred in ("bytes", "layout"):
            return True
        if touch.open:
            return self._open_read(touch, event, path)
        self.reads += 1
        moves = {root for term in terms_of(plain[0]) for root in self.world.roots(term)} & dict(plain[1]).keys()
        every = all(moves.isdisjoint(self.world.roots(fact)) for fact in (*path.facts, *event.when))
        rows = self._rows(touch)
        if rows is None:
            ends = (self._ends_before(one, path, (*path.facts, *event.when)) for one in (touch, plain[0]))
            held = any(ends) or self._held(touch, plain, event, path)
            return held or self._tried(touch, plain, event, path, every=every)
        for start, end in rows:
            if path.bytes_.count(WRITTEN, start, end) == max(0, end - start):
                continue
            if self._held(touch, plain, event, path):
                return True
            part = path.bytes_[start:end]
            surely = [part.find(state) for state in (NEVER, TAIL) if state in part]
            if surely and every and not path.rows:
                self._found(event, start + min(surely), part[min(surely)], part.count(NEVER) + part.count(TAIL))
                return False
            return self._tried(touch, plain, event, path, every=every)
        return True

    def _ends_before(self, touch: CopyTouch, path: Path, when: Sequence[Cond]) -> bool:
        """Whether all that a touch reaches lies before the next byte that is not surely written."""
        low, high = self._range(touch)
        reached = path.bytes_[low:high]
        written = low + len(reached) - len(reached.lstrip(bytes([WRITTEN])))
        if low >= high or written in (low, high):
            return low < high == written
        end = touch.place.address + touch.offset + touch.length
        for count, stride in touch.steps:
            if not stride.is_const or stride.const < 0:
                return False
            end = end + (count - 1) * stride.const
        none = [compare("le", count) for count, _ in touch.steps]
        return self.asker.surely(both([*none, compare("le", end - written)], "or"), when)

    def _open_read(self, touch: CopyTouch, event: Copy | Use, path: Path) -> bool:
        """Of a read whose extent is not known: whether all of the buffer that it begins in was written."""
        start = touch.place.address
        if start.is_const and 0 <= start.const < self.size:
            end = next((b for b in self._bases if b > start.const), self.size)
            if path.bytes_.count(WRITTEN, start.const, end) == end - start.const:
                return True
        self._unsure(touch, event)
        return False

    def _unsure(self, touch: CopyTouch, event: Copy | Use) -> None:
        """What is read here is not known; where it is handed on that matters where it is stored, and is said there."""
        if not self._hands_on(event) or self._decides(event):
            low, high = self._range(touch)
            because = self._because(low, high) or self._unranged(touch)
            self._unjudged(event, because)

    def _hands_on(self, event: Copy | Use) -> bool:
        """Whether what is read goes to registers, or to other bytes of this memory: what it is, is known there."""
        return all(map(self._mine, event.touches)) if isinstance(event, Copy) else bool(event.load)

    def _decides(self, event: Copy | Use) -> bool:
        """Whether numbers of the kernel depend on what is read here."""
        return isinstance(event, Use) and any(self.world.roots(value) & self.numbers for value in event.gives)

    def _unjudged(self, event: Copy | Use, because: str) -> None:
        line = f"line {event.span.line}"
        if not any(said == line or said.startswith(f"{line} ") for said in self.unjudged):
            self.unjudged[f"{line} ({because})" if because else line] = None

    def _because(self, low: int, high: int) -> str:
        """What last made it unknown whether these bytes were written."""
        return next((why for first, end, why in reversed(self.doubtful) if first < high and low < end), "")

    def _unranged(self, touch: CopyTouch) -> str:
        """Numbers that a touch depends on and whose range nobody states."""
        symbols = [self.world.symbols[n] for term in terms_of(touch) for n in self.world.roots(term)]
        free = {s.shown for s in symbols if not (s.stated or s.definition or s.name in self._counters)}
        told = ", ".join(f"`// dmaverify: assume {name} in 1..64`" for name in sorted(free)[:3] if name[:1] == "%")
        return f"it depends on numbers of which nobody states the range: {told}" if told else ""

    def _tried(
        self, touch: CopyTouch, plain: tuple[CopyTouch, Lifted], event: Copy | Use, path: Path, *, every: bool
    ) -> bool:
        """A read that no rule settles, for all values of symbols that have few, and in each iteration of loops that
        stand around it and what was written: what later ones write is not there yet. Else it is not judged. Where not
        `every` iteration of the loops that move it reads, nothing is found in what all of them would.
        """
        when = (*path.facts, *event.when)
        rows = [row for row in path.rows if self._reach(row, touch)]
        shared = [self._same_turn(row, plain[1]) for row in rows]
        around = tuple(loop for loop in plain[1] if any(loop[0] in names for names in shared))
        if around:
            touch = self._in_turn(*plain, {name for name, _ in around})
            beside = (self._loops[id(row)] for row in rows)
            rows = [self._in_turn(row, loops, own) for (_, loops, row), own in zip(beside, shared, strict=True)]
        terms = [*(term for t in (touch, *rows) for term in terms_of(t)), *(trip for _, trip in around)]
        values = self._values(
            {n for term in terms for n in self.world.roots(term)}, {n for t in terms for n, _ in t.terms}, around
        )
        sure = values is not None
        for chosen in values or ():
            facts = [self.world.put_cond(f, chosen) for f in when]
            if any(self.world.decide(f) is False for f in facts):
                continue
            reads = self._rows(placed(touch, self.world, chosen))
            written = [self._rows(placed(row, self.world, chosen)) for row in rows]
            if reads is None or None in written:
                sure = False
                break
            if any(_around(spans or (), reads) for spans in written):
                continue
            base = min((start for start, _ in reads), default=0)
            memory = path.bytes_[base : max((end for _, end in reads), default=0)]
            for start, end in (span for spans in written for span in spans or ()):
                put_state(memory, max(0, start - base), min(len(memory), end - base), WRITTEN)
            for first, behind in reads:
                start, end = first - base, behind - base
                if end <= start or memory.count(WRITTEN, start, end) == end - start:
                    continue
                exactly = [compare("eq", Lin(-value.const, ((name, 1),))) for name, value in chosen.items()]
                possible = self.asker.possible([*when, *exactly]).status
                if possible == "proved":
                    break
                surely = [at for at in range(start, end) if memory[at] in (NEVER, TAIL)]
                if surely and every and possible == "refuted":
                    self._found(event, base + surely[0], memory[surely[0]], len(surely))
                    return False
                sure = False
                break
        if not sure:
            self._unsure(touch, event)
        return sure

    def _in_turn(self, plain: CopyTouch, loops: Lifted, around: Collection[str]) -> CopyTouch:
        """What is touched in one iteration of the loops around, and in all of the others."""
        return self._put(plain, At({}, (), tuple(loop for loop in loops if loop[0] not in around)))

    def _values(self, roots: set[str], parts: set[str], around: Lifted) -> Iterator[dict[str, Lin]] | None:
        """All values of the symbols that terms depend on, or of their own ones (remainders of those), if they are few
        and no counters but of the loops around, in each iteration of those.
        """
        counters = {name for name, _ in around}
        every = [self.world.symbols[name] for name in roots - counters]
        if any(s.name in self._counters or s.varies or not s.stated or s.low is None or s.high is None for s in every):
            return None
        most = [self.world.interval(trip)[1] for _, trip in around]
        turns = prod(max(0, one) if one is not None else MOST_TURNS + 1 for one in most)
        for names in (roots, parts):
            symbols = [self.world.symbols[name] for name in sorted(names - counters)]
            ranges = [range(s.low, s.high + 1) for s in symbols if s.low is not None and s.high is not None]
            many = prod(map(len, ranges))
            if len(ranges) == len(symbols) and many <= MOST_TRIES and many * turns <= MOST_TURNS:
                values = ({s.name: Lin(v) for s, v in zip(symbols, one, strict=True)} for one in product(*ranges))
                return self._in_turns(values, around)
        return None

    def _in_turns(self, values: Iterator[dict[str, Lin]], around: Lifted) -> Iterator[dict[str, Lin]]:
        """Values of symbols with those of the counters, of each iteration of the loops around."""
        for chosen in values:
            turns = [chosen]
            for name, trip in around:
                counts = [self.world.put(trip, turn) for turn in turns]
                assert all(count.is_const for count in counts), "an inner loop goes by what is chosen before it"
                turns = [
                    {**t, name: Lin(i)} for t, count in zip(turns, counts, strict=True) for i in range(count.const)
                ]
            yield from turns

    def _arrived(self, event: Arrival, path: Path) -> None:
        """Behind a wait for others: what they are said to write is written; where nothing is said, they may have."""
        self.arrivals[f"line {event.span.line}"] = event
        for shared in self.given:
            if shared.way == "w" and (shared.space, shared.root) == (self.space, "") and meets_arrival(shared, event):
                end = self.size if shared.end is None else min(shared.end, self.size)
                if all(self.asker.surely(claim, path.facts) for claim in shared.when):
                    put_state(path.bytes_, shared.start, end, WRITTEN)
                else:
                    path.bytes_[shared.start : end] = path.bytes_[shared.start : end].translate(PERHAPS)
        if not self.given:
            path.bytes_ = path.bytes_.translate(PERHAPS)

    def _found(self, event: Copy | Use, at: int, kind: int, count: int) -> None:
        if isinstance(event, Copy) and self._hands_on(event):
            return
        if isinstance(event, Use) and event.needs in ("computed", "made"):
            because = self._because(at, at + count) or "nothing surely wrote all that it reads"
            self._unjudged(event, f"of {event.what}; {because}")
            return
        if self._decides(event):
            self._unjudged(event, "nothing wrote these bytes, and numbers of the kernel depend on them")
            return
        if any(low < at + count and at < high for low, high in map(self._range, self._beyond)):
            self._unjudged(event, "an earlier iteration may have written them")
            return
        error = isinstance(event, Copy) or event.foreign or event.needs == "stored"
        key = (event.span.start, kind)
        if key in self.findings:
            return
        what = "hold the unknown rest of a block" if kind == TAIL else "nothing wrote"
        labels: tuple[Label, ...] = ()
        tail = max((s for s in (*self._tails, *self._made) if s <= at), default=None)
        if kind == TAIL and tail in self._made:
            what, labels = self._path_of(self._made[tail])
        elif kind == TAIL and tail is not None:
            labels = (Label(self._tails[tail], "leaves the rest of its last block unknown"),)
        pipe = event.pipe
        self.findings[key] = Finding(
            "core/definite",
            Severity.ERROR if error else Severity.WARNING,
            f"{pipe} reads bytes of {self.space.upper()} that {what}, the first at {at:,}"
            + (f" ({count:,} in this row)" if count > 1 else ""),
            "source",
            event.span,
            {"first": at, "count": count},
            None,
            "",
            "documented" if error else "inferred",
            "load the rows whole, pad them, or store fewer bytes"
            if error
            else "mask the lanes behind the data, or pad the rows",
            (),
            labels,
        )

    def _path_of(self, made: tuple[Span, LoadedBytes]) -> tuple[str, tuple[Label, ...]]:
        """From where garbage came: the store of it, the load that took it, the copy that stops before it."""
        span, held = made
        how = "copied" if held.span == span else "computed"
        labels = [Label(span, "stored here" if held.span else "made here")] if held.span != span else []
        first = next((i for i, s in enumerate(held.states or b"") if s in (NEVER, TAIL)), 0)
        at = held.start + first
        if held.span is not None:
            labels.append(Label(held.span, f"{how} from byte {at:,}, which nothing wrote"))
        brought = max(((end, span) for end, span in self._brought.items() if end <= at), default=None)
        if brought is not None and brought[0] > at - self.size:
            labels.append(Label(brought[1], f"this copy writes up to byte {brought[0] - 1:,}"))
        return f"were {how} from bytes that nothing wrote", tuple(labels)


def _around(rows: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]) -> bool:
    """Whether each of the others lies in the row of the same number."""
    return len(rows) == len(others) and all(a <= c and d <= b for (a, b), (c, d) in zip(rows, others, strict=True))
