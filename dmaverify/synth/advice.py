"""Why a plan is not faster: the resource that binds, the address bits and sizes behind it, and a layout that would
lift it.

Knows: terms of a floor, which address bits a plan's requests toggle.
Does not know: how plans are searched (it asks for one of each changed move), plan files.
Law: a change is named only if a plan of the changed move was found, proved, and is cheaper; the smallest such change
wins. Both tensors keep the order of what is moved: a transpose is what the user asked for, not what to remove. Nothing
is said of layouts that were not tried (`layouts`).

Source: "Memory Performance" (Channel interleaving, Misaligned Access), "DMA Engine", Example 5; docs/design.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from dmaverify.cost.constants import CostData
from dmaverify.cost.inside import toggled_by
from dmaverify.cost.sides import SideCost
from dmaverify.language.expr import pair, terms_of
from dmaverify.program.move import Transfer
from dmaverify.program.tensor import Tensor
from dmaverify.synth.layouts import layouts
from dmaverify.synth.members import SearchLimits
from dmaverify.synth.result import Change, Synthesis, Why
from dmaverify.values import replace

FAR = 1.25
"""A plan this many times over what the engines alone need is asked why."""
WORTH = 0.95
"""A change is worth naming when its cycles are below this share."""
TRIALS = 5
TRIAL_EVALUATIONS = 120


def why_not_better(
    result: Synthesis,
    data: CostData,
    retry: Callable[..., Synthesis],
    price: Callable[..., float | None],
    readings: Mapping[str, str],
) -> Why | None:
    """The reason, with a proved change where one was found by `retry`, which synthesizes a changed move that has a
    `price` below the plan's; None where the engines themselves are the limit.
    """
    limits = SearchLimits(TRIAL_EVALUATIONS, ties=0, barren=TRIAL_EVALUATIONS, above=WORTH * result.cycles)

    def cheaper(changed: Transfer) -> bool:
        return price(changed, result.target, data, readings, limits) is not None

    if result.floor is None or result.cost is None:
        return None
    top = result.floor.terms[0]
    issue = next((t.cycles for t in result.floor.terms if t.name == "engine issue"), top.cycles)
    startup = min(t.cycles for t in result.floor.terms)
    sides = [side for pair_ in result.cost.sides for side in pair_]
    moved = sum(c.amount * c.unit_bits // 8 for c in result.commands)
    full = -(-moved // data.hbm.window)
    requests = max(sum(s.requests for s in sides if s.role == role) for role in ("read", "write"))
    lean = requests <= FAR * full
    if lean and (result.cycles - startup <= FAR * max(issue - startup, 1.0) or _all_channels(top.name, sides, data)):
        return None
    sentence, bits = _sentence(top.name, top.why, sides, data)
    if not lean and top.name == "engine issue":
        size = max(c.packet * c.unit_bits // 8 for c in result.commands)
        sentence = (
            f"packets of {size} B: {requests:,} requests where {full:,} full ones would carry the bytes; {sentence}"
        )
    values = {"requests": requests, "full_requests": full, "engine_cycles": issue}
    return Why(top.resource, sentence, bits, values, _change(result, retry, cheaper))


def _all_channels(name: str, sides: Sequence[SideCost], data: CostData) -> bool:
    """Whether HBM is used evenly: no layout makes it faster."""
    loads = [0] * data.hbm_channels
    for side in sides:
        if side.hbm is not None and side.hbm.channels is not None:
            loads = [a + b for a, b in zip(loads, side.hbm.channels, strict=True)]
    return name == "channels" and max(loads) * data.hbm_channels <= FAR * sum(loads)


def _sentence(name: str, why: str, sides: Sequence[SideCost], data: CostData) -> tuple[str, tuple[int, ...]]:
    if name in ("channels", "bank groups"):
        hbm = [side for side in sides if side.hbm is not None]
        stuck = stuck_bits(hbm, data)
        if stuck:
            said = ", ".join(str(bit) for bit in stuck)
            plural = "s" if len(stuck) > 1 else ""
            return f"address bit{plural} {said} {'are' if plural else 'is'} never toggled, in any order: {why}", stuck
        return f"{why}, in any order", ()
    return f"{why}, in any order", ()


def stuck_bits(sides: Sequence[SideCost], data: CostData) -> tuple[int, ...]:
    """Bits of the channel number's own (lowest) address bits that no request toggles."""
    lowest = {(mask & -mask).bit_length() - 1 for mask in data.hbm.channel_masks}
    return tuple(sorted(lowest - toggled_by([side.nest for side in sides])))


# ---------------------------------------------------------------- changes


def _change(result: Synthesis, retry: Callable[..., Synthesis], cheaper: Callable[[Transfer], bool]) -> Change | None:
    """The first change, smallest first, whose best plan is proved and clearly cheaper."""
    bare = result.transfer.with_given()
    for number, (what, changed, extra) in enumerate(changes(bare, result)):
        if number >= TRIALS:
            return None
        if not cheaper(changed):
            continue
        try:
            other = retry(
                changed,
                result.target,
                axes=result.axes,
                profile=result.profile,
                evaluations=TRIAL_EVALUATIONS,
                advise=False,
            )
        except ValueError:
            continue
        if other.found and other.cycles <= WORTH * result.cycles:
            return Change(what, other.transfer, other.cycles, extra, other.verdict is not None)
    return None


def changes(move: Transfer, result: Synthesis) -> Iterator[tuple[str, Transfer, int]]:
    """(what, the changed move, more bytes of memory), the smallest changes first."""
    bits = result.target.dtypes[move.dtype]
    if result.floor is not None and result.floor.terms[0].name == "DMNs":
        yield from _spread(move, result)
        return
    window = result.prices.hbm.window
    for role, other in (("source", move.dest), ("dest", move.source)):
        tensor: Tensor = getattr(move, role)
        for one in layouts(tensor, (other,), result.target, bits, window, free=False):
            extra = max(0, one.tensor.mapping.size - tensor.mapping.size) * bits // 8
            changed = replace(move, source=one.tensor) if role == "source" else replace(move, dest=one.tensor)
            yield f"lay out the {role} as `{one.tensor.element}` ({one.what})", changed, extra


def _spread(move: Transfer, result: Synthesis) -> Iterator[tuple[str, Transfer, int]]:
    """The destination's outermost element pieces as slices, as far as a cluster has them."""
    terms, most = terms_of(move.dest.element), result.target.limits.get("slices_max", 1)
    for term in terms:
        if move.dest.tier == "dm" and term.size > 1 and move.dest.slice.size * term.size <= most:
            rest = [t for t in terms if t is not term]
            dest = replace(move.dest, slice=pair(*terms_of(move.dest.slice), term), element=pair(*rest))
            yield f"spread the dest over more slices, `{dest.slice}`", replace(move, dest=dest), 0
