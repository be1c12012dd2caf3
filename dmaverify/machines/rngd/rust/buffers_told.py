"""What is told of a buffer: uses that nothing wrote before, cells that tiles leave or write twice.

Knows: the judgement of a buffer (`prove.flow.buffers`), where its accesses stand in the text, its mappings.
Does not know: how it was judged.
Law: one finding for each judgement, at the access that shows it; what is open says what would settle it.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmaverify.language.meaning import Index, cell
from dmaverify.machines.rngd.rust.accesses import Effect, Unjudged
from dmaverify.machines.rngd.rust.moves import Site
from dmaverify.machines.rngd.rust.values import PLACES, RustTensor
from dmaverify.machines.rngd.rust.views import plain
from dmaverify.prove.flow.coverage.buffers import (
    COVER,
    DEFINITE,
    ONCE,
    BufferJudge,
    HeldBuffer,
    Judged,
    OpenClaim,
    TurnsAgain,
    UnmetUse,
)
from dmaverify.values import dataclass
from dmaverify.verdict import Finding, Label, Severity

_OVERLAP = "furiosa-opt v0.6.0, tile (starts are not multiplied by the length, and are not checked)"
_FRESH = "furiosa-opt v0.6.0, HbmTensor::new (memory that is not initialized)"
_SETTLES = {
    "takes no turn": "a bound that is a constant here would settle it, or a write before the loop",
    "knows where the tile": "a start made of constants and loop variables would settle it",
    "follow no progression": "a start made of constants and loop variables would settle it",
    "condition of each turn": "a condition that no turn changes would settle it",
    "too many": "tiles of equal steps over fewer cells would settle it",
    "no digits": "tiles within it and mappings whose cuts divide each other would settle it",
}
_WHOLE = "let the tiles cover the tensor, or write it whole first"

Told = tuple[Site | None, "Finding | Unjudged"]


@dataclass(frozen=True)
class ToldBuffer:
    """A buffer; `last` is the site of what belongs to none of its accesses."""

    whole: RustTensor
    held: HeldBuffer
    last: Site | None

    def told(self) -> Iterator[Told]:
        """What is wrong with the accesses of a buffer, or could not be said."""
        yield from map(self._one, BufferJudge(self.held).judge())

    def _one(self, found: Judged) -> Told:
        held, name = self.held, self.held.name
        if isinstance(found, OpenClaim):
            site = found.write.of.site if found.write is not None else self.last
            return site, Unjudged(found.rule, _reason(found), found.unknown)
        if isinstance(found, UnmetUse):
            return self._unmet(found)
        if isinstance(found, TurnsAgain):
            return self._turns(found)
        if found.rule == COVER:
            message = f"{found.count:,} of {found.live:,} elements of `{name}` are never written by its tiles"
            return self.last, self._cells(COVER, message, "first unwritten", found.first, self.last, error=False)
        many = f"{found.count:,} elements of `{name}` are" if found.count else f"an element of `{name}` is"
        message = f"{many} written more than once by its tiles"
        return self.last, self._cells(ONCE, message, "first written twice", found.first, self.last, error=held.alone)

    def _unmet(self, found: UnmetUse) -> Told:
        name, site, whole = self.held.name, found.use.of.site or self.last, self.whole
        what = "read here" if found.use.line else "given away"
        where = f"where {found.way}, " if found.way else ""
        later = any(write.at >= found.use.at for write in self.held.writes)
        if found.count:
            order = f"not written before the tensor is {what}" if later or where else "never written by its tiles"
            message = f"{where}{found.count:,} of {found.live:,} elements of `{name}` are {order}"
            return site, self._cells(COVER, message, "first unwritten", found.first, site, error=True)
        order, labels = "nothing writes it before" if later else "nothing writes it", self._labels
        hint = "write it on every way, or give away another tensor"
        if not self.held.writes:
            order, hint = "nothing ever writes it", "write it first, or give back the tensor that was written"
            made = whole.buffer.span if whole.buffer is not None else None
            labels = (Label(made, "made here"),) if made is not None else ()
        message = f"`{name}` is {what}, and {where}{order}: it holds whatever lay in memory"
        return site, Finding(
            DEFINITE, Severity.ERROR, message, "source" if found.use.line else "destination",
            site.span if site is not None else whole.span, {"tensor": name}, source=_FRESH, hint=hint, labels=labels,
        )  # fmt: skip

    def _turns(self, found: TurnsAgain) -> Told:
        effect: Effect = found.write.of
        said = "a loop around it writes the same window in every turn, and reads nothing of it"
        if found.windows:
            many = f"{found.turns:,} turns of its loops write {found.windows:,} windows of it"
            said = f"{many}: some are written more than once"
        return effect.site, Finding(
            ONCE, Severity.ERROR if self.held.alone and effect.when.always else Severity.WARNING,
            f"`{self.held.name}`: {said}", "destination", effect.site.span,
            {"first": sum(numbers.low for _, numbers in effect.tensor.window.parts)}, source=_OVERLAP,
            hint="let each turn start where no other one does",
        )  # fmt: skip

    @property
    def _labels(self) -> tuple[Label, ...]:
        return tuple(Label(write.of.site.span, "a write") for write in self.held.writes[:3])

    def _cells(self, rule: str, message: str, word: str, position: int, site: Site | None, *, error: bool) -> Finding:
        """A finding on cells, with the coordinates of the first."""
        whole, at = self.whole, position
        coordinates: dict[str, int] = {}
        for place in reversed(PLACES[whole.tier]):
            expr = whole.expr(place)
            found = cell(expr, at % expr.size)
            at //= expr.size
            if isinstance(found, Index):
                coordinates = {**{a.split("~")[0]: v for a, v in found.coords}, **coordinates}
        told = ", ".join(f"{axis} = {value}" for axis, value in coordinates.items())
        places = [plain(whole.expr(place)) for place in PLACES[whole.tier]]
        within = ", ".join(text for text in places if not text.isdigit() and "1 #" not in text)
        hint = _WHOLE if rule == COVER else "starts are positions of the digit that the tile cuts"
        return Finding(
            rule, Severity.ERROR if error else Severity.WARNING, f"{message}; {word}: {told or 'position 0'}",
            "destination", site.span if site is not None else whole.span, {"position": position},
            {"coordinates": coordinates, "within": within}, _OVERLAP, hint=hint, labels=self._labels,
        )  # fmt: skip


def _reason(found: OpenClaim) -> str:
    settles = next(
        (told for sign, told in _SETTLES.items() if sign in found.why), "a write on every way would settle it"
    )
    parts = [found.said, found.why] if found.why else [found.said]
    return ": ".join(parts) + (f"; {settles}" if found.use is not None else "")
