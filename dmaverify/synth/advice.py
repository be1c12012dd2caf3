"""Why a plan is not faster: the resource that binds, the address bits and sizes behind it, and a layout that would
lift it.

Knows: terms of a floor, which address bits a plan's requests toggle, small changes of layout as mappings.
Does not know: how plans are searched (it asks for one of each changed move), plan files.
Law: a change is named only if a plan of the changed move was found, proved, and is cheaper; the smallest such change
wins: order of
the axes first, then padding. Nothing is said of layouts that were not tried.

Source: "Memory Performance" (Channel interleaving, Misaligned Access), "DMA Engine", Example 5; docs/design.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from dmaverify.cost.constants import CostData
from dmaverify.cost.sides import SideCost
from dmaverify.language.expr import Expr, Modulo, Padding, Stride, Symbol, axes_of, pair, terms_of
from dmaverify.layout.digits import NotDigits, compile_digits
from dmaverify.program.move import Transfer
from dmaverify.program.tensor import Tensor
from dmaverify.synth.result import Change, Synthesis, Why

FAR = 1.25
"""A plan this many times over what the engines alone need is asked why."""
WORTH = 0.95
"""A change is worth naming when its cycles are below this share."""
TRIALS = 5
TRIAL_EVALUATIONS = 120


def why_not_better(result: Synthesis, data: CostData, retry: Callable[..., Synthesis]) -> Why | None:
    """The reason, with a proved change where one was found by `retry`, which synthesizes a changed move; None where the
    engines themselves are the limit.
    """
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
    return Why(top.resource, sentence, bits, values, _change(result, retry))


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
        stuck = _stuck(hbm, data)
        if stuck:
            said = ", ".join(str(bit) for bit in stuck)
            plural = "s" if len(stuck) > 1 else ""
            return f"address bit{plural} {said} {'are' if plural else 'is'} never toggled, in any order: {why}", stuck
        return f"{why}, in any order", ()
    return f"{why}, in any order", ()


def _stuck(sides: Sequence[SideCost], data: CostData) -> tuple[int, ...]:
    """Bits of the channel number's own (lowest) address bits that no request toggles."""
    lowest = [(mask & -mask).bit_length() - 1 for mask in data.hbm.channel_masks]
    toggled = 0
    for side in sides:
        toggled |= side.nest.base ^ sides[0].nest.base
        toggled |= (
            ((side.nest.base % data.hbm.window + side.nest.size - 1) // data.hbm.window * data.hbm.window)
            if side.nest.size > 1
            else 0
        )
        for count, stride in side.nest.loops:
            for bit in range((count - 1).bit_length()):
                toggled |= stride << bit
    wide = max((side.nest.size for side in sides), default=0) > data.hbm.window
    return tuple(sorted(bit for bit in lowest if not toggled >> bit & 1 and not (wide and bit < 9)))


# ---------------------------------------------------------------- changes


def _change(result: Synthesis, retry: Callable[..., Synthesis]) -> Change | None:
    """The first change, smallest first, whose best plan is proved and clearly cheaper."""
    bare = replace(result.transfer, stream=None, streams=(), given=(), expect=None)
    for number, (what, changed, extra) in enumerate(changes(bare, result)):
        if number >= TRIALS:
            return None
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
    for role in ("source", "dest"):
        tensor: Tensor = getattr(move, role)
        other: Tensor = move.dest if role == "source" else move.source
        for how, element in _orders(tensor, other):
            yield (
                f"order the {role} as `{element}` ({how})",
                _with(move, role, element),
                max(0, element.size - tensor.element.size) * bits // 8,
            )
    for role in ("source", "dest"):
        tensor = getattr(move, role)
        for element in _padded(tensor, bits):
            extra = (element.size - tensor.element.size) * bits // 8
            yield f"pad the {role} to `{element}`", _with(move, role, element), extra


def _spread(move: Transfer, result: Synthesis) -> Iterator[tuple[str, Transfer, int]]:
    """The destination's outermost element pieces as slices, as far as a cluster has them."""
    terms, most = terms_of(move.dest.element), result.target.limits.get("slices_max", 1)
    for term in terms:
        if move.dest.tier == "dm" and term.size > 1 and move.dest.slice.size * term.size <= most:
            rest = [t for t in terms if t is not term]
            dest = replace(move.dest, slice=pair(*terms_of(move.dest.slice), term), element=pair(*rest))
            yield f"spread the dest over more slices, `{dest.slice}`", replace(move, dest=dest), 0


def _with(move: Transfer, role: str, element: Expr) -> Transfer:
    if role == "source":
        return replace(move, source=replace(move.source, element=element))
    return replace(move, dest=replace(move.dest, element=element))


def _orders(tensor: Tensor, other: Tensor) -> Iterator[tuple[str, Expr]]:
    """The same pieces in another order: what does not move outermost; as the other side has them."""
    terms = terms_of(tensor.element)
    moved = axes_of(other.mapping)
    split: list[Expr] = []
    still: list[Expr] = []
    for term in terms:
        high, low = _parts(term, other)
        still += [high] if high is not None else []
        split.append(low)
    if still:
        yield "what does not move lies outermost", pair(*still, *split)
    idle = [t for t in terms if not any(axis in moved for axis in axes_of(t))]
    if idle and idle != list(terms[: len(idle)]):
        yield "what does not move lies outermost", pair(*idle, *(t for t in terms if t not in idle))
    place = {axis: i for i, axis in enumerate(axes_of(other.mapping))}
    ranked = sorted(terms, key=lambda t: min((place.get(a, -1) for a in axes_of(t)), default=-1))
    if ranked != list(terms):
        yield "as the other side has it", pair(*ranked)
    for index in range(len(terms) - 1, 0, -1):
        swapped = [*terms[: index - 1], terms[index], terms[index - 1], *terms[index + 1 :]]
        yield "two neighbours swapped", pair(*swapped)


def _parts(term: Expr, other: Tensor) -> tuple[Expr | None, Expr]:
    """(the part of a whole axis that the other side lacks, the rest); (None, term) where it lacks none."""
    if not isinstance(term, Symbol):
        return None, term
    try:
        held = [d for d in compile_digits(other.mapping).digits if d.axis == term.name]
    except NotDigits:
        return None, term
    reach = max((d.weight * d.slots for d in held), default=0)
    if 1 < reach < term.size and term.size % reach == 0:
        return Stride(term, reach), Modulo(term, reach)
    return None, term


def _padded(tensor: Tensor, bits: int) -> Iterator[Expr]:
    """The innermost row up to whole windows, and to an odd number of them."""
    terms = terms_of(tensor.element)
    row = terms[-1].size * bits // 8
    if len(terms) < 2 or not row or tensor.tier != "hbm":
        return
    whole = -(-row // 256) * 256
    for size in dict.fromkeys((whole, whole + 256 * (whole // 256 % 2 == 0))):
        if size != row and size * 8 % bits == 0:
            yield pair(*terms[:-1], Padding(terms[-1], size * 8 // bits))
