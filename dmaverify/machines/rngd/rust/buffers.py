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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from dmaverify.language.meaning import Index, cell
from dmaverify.machines.rngd.rust.moves import SCATTERS, Site
from dmaverify.machines.rngd.rust.values import Map, Numbers, Record, RustTensor, Tuple, Value
from dmaverify.machines.rngd.rust.values import Sequence as RustSequence
from dmaverify.machines.rngd.rust.views import form_of, plain
from dmaverify.verdict import Finding, Label, Severity

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CELLS = 1 << 20
MOST_STARTS = 512
MOST_MOMENTS, MOST_LINES = 60, 24  # of the picture of lifetimes
_OVERLAP = "furiosa-opt v0.6.0, tile (starts are not multiplied by the length, and are not checked)"
_ORDER = "furiosa-opt v0.6.0 and published measurements: the scheduler ignores the order of the source"


@dataclass(frozen=True)
class Effect:
    """One access of a transfer: `tensor` is the view it goes through, `depends` what its data comes from."""

    site: Site
    writes: bool
    tensor: RustTensor
    depends: frozenset[int] = frozenset()
    branch: bool = False


@dataclass
class EffectLedger:
    """What one function does: effects in the order of the text, the whole tensors behind buffers, who else writes."""

    effects: list[Effect] = field(default_factory=list)
    whole: dict[int, RustTensor] = field(default_factory=dict)
    borrowed: dict[int, int] = field(default_factory=dict)  # mutable views made, less those that transfers wrote
    escaped: set[int] = field(default_factory=set)

    # what is made here and how long it is needed
    clock: int = 0
    born: dict[int, tuple[int, RustTensor]] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)
    empty: set[int] = field(default_factory=set)  # made without content
    needed: set[int] = field(default_factory=set)  # given away, or read by the Tensor Unit

    def make(self, tensor: RustTensor, *, empty: bool = False) -> None:
        """Enters an allocation."""
        if tensor.buffer is None:
            return
        self.clock += 2
        self.born[tensor.buffer.serial] = (self.clock, tensor)
        self.used[tensor.buffer.serial] = self.clock
        if empty:
            self.empty.add(tensor.buffer.serial)

    def use(self, value: Value | None) -> None:
        """Enters that a value is named: what it holds is needed until here."""
        for tensor in tensors_in(value):
            if tensor.buffer is not None and tensor.buffer.serial in self.used:
                self.used[tensor.buffer.serial] = self.clock + 1

    def repeat(self, start: int) -> None:
        """A loop that began at `start` ends here: what it used of outside is needed in every iteration."""
        for serial, last in self.used.items():
            if last > start >= self.born[serial][0]:
                self.used[serial] = self.clock + 1

    def give(self, value: Value | None) -> None:
        """Enters that a value leaves the function, or is read beside the transfers."""
        self.needed |= {tensor.buffer.serial for tensor in tensors_in(value) if tensor.buffer is not None}

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

    def remarks(self) -> Iterator[tuple[Site, Finding]]:
        """Findings with the site that each belongs to."""
        yield from self._coverage()
        yield from self._unwritten()
        yield from self._hazards()

    def _others(self, serial: int) -> bool:
        """Whether somebody else may write a buffer."""
        return serial in self.escaped or self.borrowed.get(serial, 0) > 0

    def _reads(self, serial: int) -> list[Effect]:
        return [e for e in self.effects if not e.writes and e.tensor.buffer and e.tensor.buffer.serial == serial]

    def _coverage(self) -> Iterator[tuple[Site, Finding]]:
        for serial in dict.fromkeys(e.tensor.buffer.serial for e in self.effects if e.writes and e.tensor.buffer):
            writes = [e for e in self.effects if e.writes and e.tensor.buffer and e.tensor.buffer.serial == serial]
            whole = self.whole.get(serial)
            if whole is None or self._others(serial):
                continue
            if any(e.site.method in SCATTERS for e in writes) or not all(_certain(e.tensor) for e in writes):
                continue
            if any(e.tensor.window.tiled for e in writes):
                own = serial in self.empty
                needed = own and (serial in self.needed or bool(self._reads(serial)))
                yield from _counted(whole, writes, needed, own and whole.tier == "hbm" and not self._reads(serial))

    def _unwritten(self) -> Iterator[tuple[Site, Finding]]:
        """Tensors that were made without content, that nobody writes, and that are read or given away."""
        for serial in sorted(self.empty):
            tensor = self.born[serial][1]
            written = any(e.writes and e.tensor.buffer and e.tensor.buffer.serial == serial for e in self.effects)
            reads = self._reads(serial)
            settled = tensor.tier == "host" or written or self._others(serial)
            if settled or not self.effects or not (reads or serial in self.needed):
                continue
            name = tensor.buffer.name if tensor.buffer is not None else "the tensor"
            at = reads[0].site if reads else self.effects[-1].site
            what = "read here" if reads else "given away"
            labels = (Label(tensor.buffer.span, "made here"),) if tensor.buffer and tensor.buffer.span else ()
            yield at, Finding(
                "core/definite", Severity.ERROR,
                f"`{name}` is {what}, and nothing ever writes it: it holds whatever lay in memory",
                "source" if reads else "destination", at.span, {"tensor": name},
                source="furiosa-opt v0.6.0, HbmTensor::new (memory that is not initialized)",
                hint="write it first, or give back the tensor that was written", labels=labels,
            )  # fmt: skip

    def _before(self) -> list[set[int]]:
        """For each effect the transfers that happen before it: those that its data comes from, what these come from,
        and writes of a tensor that it reads.
        """
        known: dict[int, set[int]] = {}
        out: list[set[int]] = []
        for number, later in enumerate(self.effects):
            roots = set(later.depends)
            if not later.writes:
                for earlier in self.effects[:number]:
                    if earlier.writes and _same_hbm(earlier.tensor, later.tensor):
                        roots.add(earlier.site.number)
            found = set(roots)
            for root in roots:
                found |= known.get(root, set())
            known[later.site.number] = known.get(later.site.number, set()) | found
            out.append(found)
        return out

    def _hazards(self) -> Iterator[tuple[Site, Finding]]:
        before = self._before()
        for number, later in enumerate(self.effects):
            for earlier in self.effects[:number]:
                after_read = later.writes and not earlier.writes and earlier.site.number not in before[number]
                after_scatter = earlier.site.method in SCATTERS and earlier.writes and not later.writes
                if not (after_read or after_scatter) or later.site is earlier.site:
                    continue
                if not _same_hbm(earlier.tensor, later.tensor):
                    continue
                if after_read:
                    yield (
                        later.site,
                        _told(
                            "core/hazard-war",
                            earlier,
                            later,
                            "may still read what this overwrites",
                            "write to another tensor, or make the written data depend on the read",
                        ),
                    )
                else:
                    yield (
                        later.site,
                        _told(
                            "core/hazard-raw",
                            earlier,
                            later,
                            "scatters into what this reads",
                            "read in another kernel: before v0.6.0 the read saw the old contents",
                        ),
                    )


def tensors_in(value: Value | None) -> Iterator[RustTensor]:
    """The tensors that a value is or holds."""
    match value:
        case RustTensor():
            yield value
        case Tuple(parts):
            for part in parts:
                yield from tensors_in(part)
        case RustSequence(part):
            yield from tensors_in(part)
        case Record():
            for part in value.parts.values():
                yield from tensors_in(part)
        case _:
            return


def _certain(tensor: RustTensor) -> bool:
    window = tensor.window
    return not window.assumed and all(numbers.exact for numbers in window.at.values())


def _same_hbm(a: RustTensor, b: RustTensor) -> bool:
    """Whether both look at one buffer in HBM through windows that may meet."""
    if a.tier != "hbm" or a.buffer is None or b.buffer is None or a.buffer.serial != b.buffer.serial:
        return False
    if not (a.window.tiled and b.window.tiled and _certain(a) and _certain(b)):
        return True
    sets = [_positions(one, MOST_CELLS) for one in (a, b)]
    if sets[0] is None or sets[1] is None:
        return True
    import numpy as np

    size = max(int(sets[0].max()), int(sets[1].max())) + 1
    if size > MOST_CELLS:
        return True
    marked = np.zeros(size, dtype=bool)
    marked[sets[0]] = True
    return bool(marked[sets[1]].any())


def _told(rule: str, earlier: Effect, later: Effect, what: str, hint: str) -> Finding:
    name = later.tensor.buffer.name if later.tensor.buffer is not None else "it"
    return Finding(
        rule, Severity.WARNING, f"`{earlier.site.method}` in line {earlier.site.span.line} {what} (`{name}`): "
        "nothing orders the two", later.site.method, later.site.span, source=_ORDER, basis="measured", hint=hint,
        labels=(Label(earlier.site.span, "the earlier transfer"),),
    )  # fmt: skip


# ---------------------------------------------------------------- cells


def _counted(
    whole: RustTensor, writes: Sequence[Effect], needed: bool, alone: bool
) -> Iterator[tuple[Site, Finding]]:
    """Cells of a buffer that its tiles leave unwritten or write twice. `needed`: cells never written are an error;
    `alone`: so are cells written twice.
    """
    import numpy as np

    element = whole.fields["element"]
    if not isinstance(element, Map) or element.expr.size > MOST_CELLS:
        return
    size = element.expr.size
    count = np.zeros(size, dtype=np.int64)
    for effect in writes:
        found = _positions(effect.tensor, 8 * MOST_CELLS)
        if found is None or (found.size and (found.min() < 0 or found.max() >= size)):
            return
        count += np.bincount(found, minlength=size)
    live = _positions(whole, MOST_CELLS)
    if live is None:
        return
    last = writes[-1].site
    name = whole.buffer.name if whole.buffer is not None else "the tensor"
    unwritten = live[count[live] == 0]
    if unwritten.size:
        yield last, _cell_finding(
            "core/tiles-cover",
            f"{unwritten.size:,} of {live.size:,} elements of `{name}` are never written by its tiles",
            "first unwritten", int(unwritten[0]), element, writes,
            "let the tiles cover the tensor, or write it whole first", needed,
        )  # fmt: skip
    twice = live[count[live] > 1]
    if twice.size and not any(effect.branch for effect in writes) and not _whole_first(writes):
        yield last, _cell_finding(
            "core/tiles-once", f"{twice.size:,} elements of `{name}` are written more than once by its tiles",
            "first written twice", int(twice[0]), element, writes,
            "starts are positions of the digit that the tile cuts", alone,
        )  # fmt: skip


def _whole_first(writes: Sequence[Effect]) -> bool:
    """A tensor that is written as a whole and then in part: meant as it stands."""
    return any(not effect.tensor.window.tiled for effect in writes)


def _cell_finding(
    rule: str, message: str, word: str, position: int, element: Map, writes: Sequence[Effect], hint: str, error: bool
) -> Finding:
    at = cell(element.expr, position)
    coordinates = {a.split("~")[0]: v for a, v in at.coords} if isinstance(at, Index) else {}
    told = ", ".join(f"{axis} = {value}" for axis, value in coordinates.items())
    labels = tuple(Label(e.site.span, "a write") for e in writes[:3])
    return Finding(
        rule, Severity.ERROR if error else Severity.WARNING, f"{message}; {word}: {told or 'position 0'}",
        "destination", writes[-1].site.span,
        {"position": position}, {"coordinates": coordinates, "within": plain(element.expr)}, _OVERLAP, hint=hint,
        labels=labels,
    )  # fmt: skip


def _positions(tensor: RustTensor, most: int) -> NDArray[Any] | None:
    """Positions of the live cells of a view in its buffer, for every start of its window; None for too many."""
    import numpy as np

    element = tensor.fields["element"]
    form = form_of(element.expr) if isinstance(element, Map) else None
    if form is None or any(len(guard.terms) > 1 for guard in form.guards):
        return None
    total = 1
    for digit in form.digits:
        total *= digit.live
    starts = _starts(tensor.window.at)
    if starts is None or total * len(starts) > most:
        return None
    out = np.zeros(1, dtype=np.int64)
    for digit in form.digits:
        out = (out[:, None] + np.arange(digit.live, dtype=np.int64) * digit.step).reshape(-1)
    return (out[None, :] + np.asarray(starts, dtype=np.int64)[:, None]).reshape(-1)


def _starts(at: Mapping[str, Numbers]) -> list[int] | None:
    """Every start of the element window, once a value; windows over other places are not counted here."""
    if any(place != "element" for place in at):
        return None
    lists = []
    for numbers in at.values():
        if numbers.step and (numbers.high - numbers.low) // numbers.step >= MOST_STARTS:
            return None
        lists.append(range(numbers.low, numbers.high + 1, numbers.step or 1))
    return [sum(choice) for choice in product(*lists)]
