"""What the transfers of one function do to its buffers together: cells that no tile writes, cells written twice, a
tensor in HBM that is overwritten while an earlier transfer may still read it.

Knows: which transfer reads or writes which window of which buffer, on what the written data depends.
Does not know: Rust text, single moves (`legality`), the schedule: the order of the text orders nothing by itself.
Law: only what is certain is said: starts that are all known, buffers that nobody else writes, reads that the written
data does not depend on, through whatever chain. Of a tensor that the function makes itself and gives away, cells that
nobody writes and cells in HBM that are written twice are errors; of a tensor that it was given, they are warnings, as
the caller may mean it so. What nothing orders is a warning.

Source: docs/machines/rngd.md 7.2 (overlapping starts compile and leave the rest unwritten), 7.4, 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from dmaverify.machines.rngd.rust.accesses import Effect, HeldNeed, Unjudged
from dmaverify.machines.rngd.rust.buffers_told import ToldBuffer
from dmaverify.machines.rngd.rust.cells import held_buffer
from dmaverify.machines.rngd.rust.moves import SCATTERS, Site
from dmaverify.machines.rngd.rust.order import unordered_effects
from dmaverify.machines.rngd.rust.values import Held, RustTensor, Sequence, Value, forgotten, over_parts, parts_in
from dmaverify.program.ways import OnWay
from dmaverify.prove.flow.coverage.buffers import BufferJudge
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Finding, Label, Severity

MOST_CLOCK = 1 << 60
MOST_MOMENTS, MOST_LINES = 60, 24  # of the picture of lifetimes
_AFTER_READ = (
    "core/hazard-war", "may still read what this overwrites",
    "write to another tensor, or make the written data depend on the read",
)  # fmt: skip
_AFTER_SCATTER = (
    "core/hazard-raw", "scatters into what this reads",
    "read in another kernel: before v0.6.0 the read saw the old contents",
)  # fmt: skip
_HERE = "a swap, a reference, or code of this crate, that is not followed"
_OTHER = "a reference or code that is not followed"
_ORDER = "furiosa-opt v0.6.0 and published measurements: the scheduler ignores the order of the source"


@dataclass
class EffectLedger:
    """What one function does: effects in the order of the text, the whole tensors behind buffers, who else writes."""

    effects: list[Effect] = field(default_factory=list)
    whole: dict[int, RustTensor] = field(default_factory=dict)
    borrowed: dict[int, int] = field(default_factory=dict)  # mutable views made, less those that transfers wrote
    escaped: set[int] = field(default_factory=set)
    changed: set[int] = field(default_factory=set)  # whose numbers may be others than those that made them
    listed: set[int] = field(default_factory=set)  # into which numbers went that the text makes
    unread: set[int] = field(default_factory=set)  # those that went to code of the input, which is not followed
    referred: set[int] = field(default_factory=set)  # that a name stands for which is a reference to be written through
    received: dict[int, RustTensor] = field(default_factory=dict)  # what such code gives: nobody knows who wrote it
    beside: list[Site] = field(default_factory=list)  # transfers that do not run as the constants are
    refused: list[Finding | Unjudged] = field(default_factory=list)  # stages that the library does not take

    # what is made here and how long it is needed
    clock: int = 0
    born: dict[int, tuple[int, RustTensor]] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)
    empty: set[int] = field(default_factory=set)  # made without content
    needs: list[HeldNeed] = field(default_factory=list)  # what is given away, or read by the Tensor Unit

    def make(self, tensor: RustTensor, *, empty: bool = False) -> None:
        """Enters an allocation."""
        if tensor.buffer is None:
            return
        self.clock += 2
        self.born[tensor.buffer.serial] = (self.clock, tensor)
        self.used[tensor.buffer.serial] = self.clock
        if empty:
            self.empty.add(tensor.buffer.serial)

    def hold(self, value: Value | None, *, lent: bool) -> None:
        """Enters tensors of data memory that the caller has made; what is `lent` stays to the end."""
        for tensor in tensors_in(value):
            if tensor.tier == "dm" and tensor.buffer is not None:
                self.born[tensor.buffer.serial] = (0, tensor)
                self.used[tensor.buffer.serial] = MOST_CLOCK if lent else 0

    def use(self, value: Value | None) -> None:
        """Enters that a value is named: what it holds is needed until here."""
        for tensor in tensors_in(value):
            if tensor.buffer is not None and tensor.buffer.serial in self.used:
                self._until_now(tensor.buffer.serial)

    def _until_now(self, serial: int) -> None:
        self.used[serial] = max(self.used[serial], self.clock + 1)

    def repeat(self, start: int) -> None:
        """A loop that began at `start` ends here: what it used of outside is needed in every iteration."""
        for serial, last in self.used.items():
            if last > start >= self.born[serial][0]:
                self._until_now(serial)

    def give(self, value: Value | None, when: OnWay, *, soft: bool = False, leaves: bool = False) -> None:
        """Enters that a value leaves the function, or is read beside the transfers; `soft`: that it may be."""
        for tensor in tensors_in(value):
            if tensor.buffer is not None and tensor.view != "view_mut":
                self.needs.append(HeldNeed(len(self.effects), tensor, when, soft=soft, leaves=leaves))

    def receive(self, tensor: RustTensor, *, here: bool) -> None:
        """Enters a tensor that something gives which is not followed; `here`: something that the input says."""
        if tensor.buffer is not None and tensor.tier != "host":
            self.received[tensor.buffer.serial] = tensor
            self.unread |= {tensor.buffer.serial} if here else set()

    def lose(self, value: Value | None) -> None:
        """Enters that something may be written under a name that is not followed."""
        self.escaped.update(tensor.buffer.serial for tensor in tensors_in(value) if tensor.buffer is not None)

    def leave(self, values: Iterable[Value]) -> None:
        """Enters that tensors go to code of the input that is not followed: what it does could be known."""
        gone = {tensor.buffer.serial for one in values for tensor in tensors_in(one) if tensor.buffer is not None}
        self.unread |= gone & self.escaped

    def renamed(self, escaped: set[int], unread: set[int]) -> None:
        """Enters that what got references since it was as given is another name for their tensors, and is followed."""
        self.referred |= self.escaped - escaped
        self.escaped, self.unread = escaped, unread

    def mix(self, values: Iterable[Value]) -> None:
        """Enters that one name stands for any of several values: through it what references among them name is written,
        and nobody knows which.
        """
        mixed = self.referred & {t.buffer.serial for one in values for t in tensors_in(one) if t.buffer is not None}
        self.escaped |= mixed
        self.unread |= mixed

    def touched(self) -> set[int]:
        """Buffers whose content may be another than the one that they were made with."""
        written = {e.tensor.buffer.serial for e in self.effects if e.writes and e.tensor.buffer is not None}
        lent = {serial for serial, views in self.borrowed.items() if views > 0}
        return written | lent | self.changed | self.escaped

    def as_here(self, values: Iterable[Value]) -> list[Value]:
        """Values with what is known here of the numbers in their tensors."""
        touched, out = self.touched(), []
        for value in values:
            for tensor in tensors_in(value):
                serial = tensor.buffer.serial if tensor.buffer is not None else None
                stale = tensor.holds is not None and (serial is None or serial in touched)
                if stale or serial in self.listed:
                    value = with_numbers_lost(value, serial)
            out.append(value)
        return out

    def any_of(self, value: Sequence, when: OnWay) -> None:
        """Enters that an element of a list is used, and nobody knows which."""
        if value.count != 1:
            self.give(value, when, soft=True)
            self.lose(value)
            self.leave([value])

    def stopped(self, start: int) -> None:
        """The loop whose effects begin at `start` is read once and may stop before its last turn."""
        self.effects[start:] = [
            replace(effect, partial=True) if effect.tensor.window.tiled else effect for effect in self.effects[start:]
        ]

    def crowd(self, bytes_of: Callable[[RustTensor], int | None]) -> tuple[int, list[tuple[RustTensor, int]]]:
        """The most bytes of a slice that tensors of data memory need at once, and which those are."""
        spans = self.lifetimes(bytes_of)
        best: tuple[int, list[tuple[RustTensor, int]]] = (0, [])
        for at, *_ in spans:
            here = [(tensor, size) for start, end, tensor, size in spans if start <= at < end]
            total = sum(size for _, size in here)
            if total > best[0]:
                best = total, here
        return best

    def lifetimes(self, bytes_of: Callable[[RustTensor], int | None]) -> list[tuple[int, int, RustTensor, int]]:
        """(made, last needed, tensor, bytes of a slice) of every tensor of data memory, in the order of the text."""
        spans = []
        for serial, (start, tensor) in self.born.items():
            size = bytes_of(tensor) if tensor.tier == "dm" and tensor.missing is None else None
            if size is not None and self.used[serial] > start:
                spans.append((start, self.used[serial], tensor, size))
        return spans

    def picture(self, bytes_of: Callable[[RustTensor], int | None]) -> list[str]:
        """Who lives when, one line a tensor: a column is a moment at which something is made; `#` where it is needed,
        `!` at the fullest moment.
        """
        spans = self.lifetimes(bytes_of)
        moments = sorted({start for start, *_ in spans})
        load = {at: sum(size for start, end, _, size in spans if start <= at < end) for at in moments}
        fullest = max(load, key=lambda at: (load[at], -at), default=0)
        if len(moments) > MOST_MOMENTS:
            at = max(0, moments.index(fullest) - MOST_MOMENTS // 2)
            moments = moments[at : at + MOST_MOMENTS]
        out = []
        for start, end, tensor, size in spans:
            line = "".join("." if not start <= at < end else "!" if at == fullest else "#" for at in moments)
            if set(line) != {"."}:
                out.append(f"{size:>9,} bytes  {line}  {tensor.buffer.name if tensor.buffer is not None else ''}")
        return out[:MOST_LINES]

    def remarks(self, *, inner: bool = False) -> Iterator[tuple[Site | None, Finding | Unjudged]]:
        """Findings and what was left open, with the site that each belongs to; None where nothing is moved at all.
        `inner`: those that do not hang on what the function gives back.
        """
        yield from self._judged(inner)
        yield from self._hazards()
        yield from ((None, one) for one in self.refused)

    def _others(self, serial: int) -> bool:
        """Whether somebody else may write a buffer."""
        return serial in self.escaped or self.borrowed.get(serial, 0) > 0

    def _needs(self, serial: int, inner: bool) -> list[HeldNeed]:
        """The uses of a buffer in the order of the text."""
        reads = [
            HeldNeed(at, e.tensor, e.when, e.site)
            for at, e in enumerate(self.effects)
            if not e.writes and e.tensor.buffer and e.tensor.buffer.serial == serial
        ]
        given = [
            need
            for need in self.needs
            if need.tensor.buffer and need.tensor.buffer.serial == serial and not (inner and need.leaves)
        ]
        return sorted((*reads, *given), key=lambda need: need.after)

    def _judged(self, inner: bool) -> Iterator[tuple[Site | None, Finding | Unjudged]]:
        """Of every buffer that is written, and of those that nobody is known to have written."""
        written: dict[int, list[tuple[int, Effect]]] = {}
        for at, effect in enumerate(self.effects):
            if effect.writes and effect.tensor.buffer is not None:
                written.setdefault(effect.tensor.buffer.serial, []).append((at, effect))
        last = self.effects[-1].site if self.effects else self.beside[-1] if self.beside else None
        for serial in dict.fromkeys((*written, *sorted(self.empty), *self.received)):
            writes, needs = written.get(serial, []), self._needs(serial, inner)
            if serial in self.received:
                yield from self._of_received(serial, writes, needs, writes[-1][1].site if writes else last)
                continue
            own = serial in self.empty and self.born[serial][1].tier != "host"
            whole = self.born[serial][1] if own else self.whole.get(serial)
            tiled = any(e.tensor.window.tiled or not e.when.always for _, e in writes)
            if whole is None or not (own or tiled) or not (writes or needs):
                continue
            site = writes[-1][1].site if writes else last
            scatters = any(e.site.method in SCATTERS for _, e in writes)
            if scatters or self._others(serial):
                if needs and own:
                    who = "the scatter" if scatters else _HERE if serial in self.unread else _OTHER
                    yield site, _by_others(whole, who)
                continue
            alone = own and whole.tier == "hbm" and not any(need.site is not None for need in needs)
            held = held_buffer(whole, writes, needs, own=own, alone=alone)
            yield from ToldBuffer(whole, held, site).told()

    def _of_received(
        self, serial: int, writes: list[tuple[int, Effect]], needs: list[HeldNeed], site: Site | None
    ) -> Iterator[tuple[Site | None, Finding | Unjudged]]:
        """Of a tensor that comes from what is not followed: it may be one that nobody wrote."""
        whole, here = self.received[serial], serial in self.unread
        held = held_buffer(whole, writes, needs, own=True, alone=False)
        if needs and (self._others(serial) or any(BufferJudge(held).judge())):
            name = whole.buffer.name if whole.buffer is not None and whole.buffer.name else "a tensor"
            said = f"that all of `{name}` is written is not judged: it comes from what is not followed"
            given = "" if here else f"the code that gives `{name}` writes all of it"
            yield site, Unjudged("core/definite", said, here, given, whole.buffer.span if whole.buffer else None)

    def _hazards(self) -> Iterator[tuple[Site, Finding]]:
        for earlier, later in unordered_effects(self.effects):
            yield later.site, _told(*(_AFTER_READ if later.writes else _AFTER_SCATTER), earlier, later)


def tensors_in(value: Value | None) -> Iterator[RustTensor]:
    """The tensors that a value is or holds."""
    if isinstance(value, RustTensor):
        yield value
    for part in parts_in(value):
        yield from tensors_in(part)


def with_numbers_lost(value: Value, serial: int | None) -> Value:
    """A value in which the numbers of one buffer are no longer known, and are not left to a promise."""
    if isinstance(value, RustTensor):
        own = value.buffer.serial if value.buffer is not None else None
        return replace(value, holds=forgotten(value.holds or Held(()))) if own == serial else value
    return over_parts(value, lambda part: with_numbers_lost(part, serial))


def _by_others(tensor: RustTensor, who: str) -> Unjudged:
    """That a tensor which the function makes is written by something whose effect is not read."""
    name = tensor.buffer.name if tensor.buffer is not None and tensor.buffer.name else "the tensor"
    said = f"that all of `{name}` is written is not judged: {who} gets it"
    span = tensor.buffer.span if tensor.buffer is not None else None
    given = f"{who} writes all of `{name}` before it is used"
    return Unjudged("core/definite", said, who == _HERE, "" if who == _HERE else given, span)


def _told(rule: str, what: str, hint: str, earlier: Effect, later: Effect) -> Finding:
    name = later.tensor.buffer.name if later.tensor.buffer is not None else "it"
    return Finding(
        rule, Severity.WARNING, f"`{earlier.site.method}` in line {earlier.site.span.line} {what} (`{name}`): "
        "nothing orders the two", later.site.method, later.site.span, source=_ORDER, basis="measured", hint=hint,
        labels=(Label(earlier.site.span, "the earlier transfer"),),
    )  # fmt: skip
