"""What the transfers of one function do to its buffers together: cells that no tile writes, cells written twice, a
tensor in HBM that is overwritten while an earlier transfer may still read it.

Knows: which transfer reads or writes which window of which buffer, on what the written data depends.
Does not know: Rust text, single moves (`legality`), the schedule: the order of the text orders nothing by itself.
Law: only what is certain is said: starts that are all known, buffers that nobody else writes, reads that the written
data does not depend on. What is said here is a warning; it never decides a verdict.

Source: facts/rngd 7.2 (overlapping starts compile and leave the rest unwritten), 7.4, 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from dmaverify.language.meaning import Index, cell
from dmaverify.machines.rngd.rust.moves import SCATTERS, Site
from dmaverify.machines.rngd.rust.values import Map, Numbers, Tensor
from dmaverify.machines.rngd.rust.views import form_of, plain
from dmaverify.verdict import Finding, Label, Severity

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CELLS = 1 << 20
MOST_STARTS = 512
_OVERLAP = "furiosa-opt v0.6.0, tile (starts are not multiplied by the length, and are not checked)"
_ORDER = "furiosa-opt v0.6.0 and published measurements: the scheduler ignores the order of the source"


@dataclass(frozen=True)
class Effect:
    """One access of a transfer: `tensor` is the view it goes through, `depends` what its data comes from."""

    site: Site
    writes: bool
    tensor: Tensor
    depends: frozenset[int] = frozenset()
    branch: bool = False


@dataclass
class Ledger:
    """What one function does: effects in the order of the text, the whole tensors behind buffers, who else writes."""

    effects: list[Effect] = field(default_factory=list)
    whole: dict[int, Tensor] = field(default_factory=dict)
    borrowed: dict[int, int] = field(default_factory=dict)  # mutable views made, less those that transfers wrote
    escaped: set[int] = field(default_factory=set)

    def remarks(self) -> Iterator[tuple[Site, Finding]]:
        """Findings with the site that each belongs to."""
        yield from self._coverage()
        yield from self._hazards()

    def _coverage(self) -> Iterator[tuple[Site, Finding]]:
        for serial in dict.fromkeys(e.tensor.buffer.serial for e in self.effects if e.writes and e.tensor.buffer):
            writes = [e for e in self.effects if e.writes and e.tensor.buffer and e.tensor.buffer.serial == serial]
            whole = self.whole.get(serial)
            if whole is None or serial in self.escaped or self.borrowed.get(serial, 0) > 0:
                continue
            if any(e.site.method in SCATTERS for e in writes) or not all(_certain(e.tensor) for e in writes):
                continue
            if any(e.tensor.window.tiled for e in writes):
                yield from _counted(whole, writes)

    def _hazards(self) -> Iterator[tuple[Site, Finding]]:
        for number, later in enumerate(self.effects):
            for earlier in self.effects[:number]:
                after_read = later.writes and not earlier.writes and earlier.site.number not in later.depends
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


def _certain(tensor: Tensor) -> bool:
    window = tensor.window
    return not window.assumed and all(numbers.exact for numbers in window.at.values())


def _same_hbm(a: Tensor, b: Tensor) -> bool:
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


def _counted(whole: Tensor, writes: Sequence[Effect]) -> Iterator[tuple[Site, Finding]]:
    """Cells of a buffer that its tiles leave unwritten or write twice."""
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
            "let the tiles cover the tensor, or write it whole first",
        )  # fmt: skip
    twice = live[count[live] > 1]
    if twice.size and not any(effect.branch for effect in writes) and not _whole_first(writes):
        yield last, _cell_finding(
            "core/tiles-once", f"{twice.size:,} elements of `{name}` are written more than once by its tiles",
            "first written twice", int(twice[0]), element, writes,
            "starts are positions of the digit that the tile cuts",
        )  # fmt: skip


def _whole_first(writes: Sequence[Effect]) -> bool:
    """A tensor that is written as a whole and then in part: meant as it stands."""
    return any(not effect.tensor.window.tiled for effect in writes)


def _cell_finding(
    rule: str, message: str, word: str, position: int, element: Map, writes: Sequence[Effect], hint: str
) -> Finding:
    at = cell(element.expr, position)
    coordinates = {a.split("~")[0]: v for a, v in at.coords} if isinstance(at, Index) else {}
    told = ", ".join(f"{axis} = {value}" for axis, value in coordinates.items())
    labels = tuple(Label(e.site.span, "a write") for e in writes[:3])
    return Finding(
        rule, Severity.WARNING, f"{message}; {word}: {told or 'position 0'}", "destination", writes[-1].site.span,
        {"position": position}, {"coordinates": coordinates, "within": plain(element.expr)}, _OVERLAP, hint=hint,
        labels=labels,
    )  # fmt: skip


def _positions(tensor: Tensor, most: int) -> NDArray[Any] | None:
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
