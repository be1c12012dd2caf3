"""One named thing wrong with a plan: the numbers, orders, cuts and paddings that people get wrong.

Knows: which faults a plan can have, how each changes it. Does not know: whether the change does any harm (some do
not).
Law: `with_fault` changes exactly what it names, in one place, and says where; everything else of the plan stays as it
was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dmaverify.language.expr import Drop, Expr, Kind, Modulo, Padding, Pair, Resize, Stride, Window, pair, terms_of
from dmaverify.program.command import Entry, GivenCommand, Sequencer
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.targets.target import Target
from dmaverify.testing.draw import Draw, Seeded
from dmaverify.testing.drawn_plan import DrawnPlan
from dmaverify.testing.random_mappings import KINDS, divisor
from dmaverify.values import replace

Broken = tuple[DrawnPlan, str] | None
_TRIALS = 6  # places tried before a plan counts as one that cannot have the fault


class NotApplicable(ValueError):
    """This plan has nothing that the fault could break."""


def with_fault(plan: DrawnPlan, name: str, *, draw: Draw | None = None, target: Target | None = None) -> DrawnPlan:
    """`plan` with one fault of kind `name` (one of FAULTS); `broke` of the result says what was changed.

    Without `draw` the place is chosen by a fixed seed. Raises NotApplicable where the plan has no such thing,
    KeyError for an unknown name. `target` is only needed for the fault "tier".

    >>> from dmaverify.targets.target import load_target
    >>> from dmaverify.testing import seeded_plan, with_fault
    >>> with_fault(seeded_plan(3, load_target("rngd")), "stride").broke
    'read stride of entry 0 of command 1: -40 instead of 40'
    """
    source = draw or Seeded(0)
    for _ in range(_TRIALS):
        found = _FAULTS[name](plan, source, target)
        if found is not None:
            return replace(found[0], fault=name, broke=found[1])
    raise NotApplicable(f"nothing in the plan can have the fault {name!r}")


def applicable(plan: DrawnPlan, target: Target | None = None) -> tuple[str, ...]:
    """The faults that this plan can have."""
    transfer = plan.transfer
    tensors = (transfer.source, transfer.dest)
    given = transfer.given
    words: dict[str, bool] = {
        "padding-kind": any(_paddings(t.field(place)) for t in tensors for place in PLACES),
        "cut": any(t.mapping.size > 1 for t in tensors),
        "order": any(len(one.read.entries) > 1 or len(one.write.entries) > 1 for one in given),
        "command-dropped": len(given) > 1,
        "entry-dropped": any(len(one.read.entries) > 1 for one in given),
        "tier": target is not None and len(target.tiers) > 1,
    }
    return tuple(name for name in FAULTS if words.get(name, bool(given)))


def any_fault(plan: DrawnPlan, draw: Draw, target: Target) -> DrawnPlan:
    """`plan` with one fault of a kind that it can have; the plan itself where it can have none."""
    for name in draw.shuffled(applicable(plan, target)):
        try:
            return with_fault(plan, name, draw=draw, target=target)
        except NotApplicable:
            continue
    return plan


# ---------------------------------------------------------------- commands


def _with_given(plan: DrawnPlan, given: Sequence[GivenCommand]) -> DrawnPlan:
    return replace(plan, transfer=replace(plan.transfer, given=tuple(given)))


def _pick(plan: DrawnPlan, draw: Draw) -> tuple[int, GivenCommand] | None:
    given = plan.transfer.given
    if not given:
        return None
    at = draw.integer(0, len(given) - 1)
    return at, given[at]


def _of_a_command(
    fault: Callable[[DrawnPlan, Draw, int, GivenCommand], Broken],
) -> Callable[[DrawnPlan, Draw, Target | None], Broken]:
    """A fault of one command, of any that the plan has."""

    def broken(plan: DrawnPlan, draw: Draw, target: Target | None) -> Broken:
        picked = _pick(plan, draw)
        return None if picked is None else fault(plan, draw, *picked)

    return broken


def _swap(plan: DrawnPlan, at: int, one: GivenCommand) -> DrawnPlan:
    given = list(plan.transfer.given)
    given[at] = one
    return _with_given(plan, given)


def _side(one: GivenCommand, side: str) -> Sequencer:
    return one.read if side == "read" else one.write


def _with_side(one: GivenCommand, side: str, text: Sequencer) -> GivenCommand:
    return replace(one, read=text) if side == "read" else replace(one, write=text)


def _with_entry(text: Sequencer, index: int, entry: Entry) -> Sequencer:
    return replace(text, entries=(*text.entries[:index], entry, *text.entries[index + 1 :]))


def _stride(plan: DrawnPlan, draw: Draw, at: int, one: GivenCommand) -> Broken:
    side = draw.choice(("write", "read"))
    text = _side(one, side)
    index = draw.integer(0, len(text.entries) - 1)
    old = text.entries[index]
    others = [e.stride for e in text.entries]
    options = [old.stride + 1, old.stride - 1, 2 * old.stride, 0, -old.stride, old.stride + draw.choice(others)]
    new = draw.choice([s for s in options if s != old.stride] or [old.stride + 1])
    changed = _with_side(one, side, _with_entry(text, index, replace(old, stride=new)))
    return _swap(plan, at, changed), f"{side} stride of entry {index} of command {at}: {new} instead of {old.stride}"


def _size(plan: DrawnPlan, draw: Draw, at: int, one: GivenCommand) -> Broken:
    both = draw.chance(80) and len(one.read.entries) == len(one.write.entries)
    index = draw.integer(0, len(one.write.entries) - 1)
    old = one.write.entries[index].count
    new = draw.choice([n for n in (old + 1, old - 1, 2 * old, old // 2, 1) if n > 0 and n != old])
    changed = _with_side(one, "write", _with_entry(one.write, index, replace(one.write.entries[index], count=new)))
    if both:
        entry = replace(one.read.entries[index], count=new)
        changed = _with_side(changed, "read", _with_entry(one.read, index, entry))
    word = "both sides" if both else "the write side alone"
    return _swap(plan, at, changed), f"count of entry {index} of command {at} on {word}: {new} instead of {old}"


def _base(plan: DrawnPlan, draw: Draw, at: int, one: GivenCommand) -> Broken:
    side = draw.choice(("write", "read"))
    text = _side(one, side)
    strides = [abs(e.stride) for e in text.entries if e.stride]
    delta = draw.choice((1, -1, 4, *strides, *(-s for s in strides)))
    new = (text.base or 0) + delta
    changed = _with_side(one, side, replace(text, base=new))
    return _swap(plan, at, changed), f"{side} base of command {at}: {new} instead of {text.base}"


def _packet(plan: DrawnPlan, draw: Draw, at: int, one: GivenCommand) -> Broken:
    old = one.read.packet
    new = draw.choice([p for p in (2 * old, old // 2, old + 1, 1, 3 * old) if p > 0 and p != old])
    changed = replace(one, read=replace(one.read, packet=new), write=replace(one.write, packet=new))
    if draw.chance(20):
        changed = replace(changed, read=one.read)
    return _swap(plan, at, changed), f"packet of command {at}: {new} instead of {old}"


def _order(plan: DrawnPlan, draw: Draw, at: int, one: GivenCommand) -> Broken:
    """Two entries change places, on one side or on both (which copies the same units in another order)."""
    if len(one.write.entries) < 2:
        return None
    first = draw.integer(0, len(one.write.entries) - 2)
    second = draw.integer(first + 1, len(one.write.entries) - 1)
    sides = draw.choice((("write",), ("read",), ("read", "write")))
    changed = one
    for side in sides:
        entries = list(_side(one, side).entries)
        if second >= len(entries):
            return None
        entries[first], entries[second] = entries[second], entries[first]
        changed = _with_side(changed, side, replace(_side(one, side), entries=tuple(entries)))
    return _swap(plan, at, changed), f"entries {first} and {second} of command {at} swapped in {' and '.join(sides)}"


def _entry_dropped(plan: DrawnPlan, draw: Draw, at: int, one: GivenCommand) -> Broken:
    if min(len(one.read.entries), len(one.write.entries)) < 2:
        return None
    index = draw.integer(0, min(len(one.read.entries), len(one.write.entries)) - 1)
    sides = draw.choice((("read", "write"), ("read", "write"), ("read",), ("write",)))
    changed = one
    for side in sides:
        entries = _side(one, side).entries
        kept = (*entries[:index], *entries[index + 1 :])
        changed = _with_side(changed, side, replace(_side(one, side), entries=kept))
    return _swap(plan, at, changed), f"entry {index} of command {at} left out in {' and '.join(sides)}"


def _duplicate(plan: DrawnPlan, draw: Draw, at: int, one: GivenCommand) -> Broken:
    return _with_given(plan, (*plan.transfer.given, one)), f"command {at} a second time"


def _dropped(plan: DrawnPlan, draw: Draw, target: Target | None) -> Broken:
    given = plan.transfer.given
    if len(given) < 2:
        return None
    at = draw.integer(0, len(given) - 1)
    return _with_given(plan, given[:at] + given[at + 1 :]), f"command {at} left out"


def _tier(plan: DrawnPlan, draw: Draw, target: Target | None) -> Broken:
    """A text names another memory than the tensor's."""
    picked = _pick(plan, draw)
    if picked is None or target is None:
        return None
    at, one = picked
    side = draw.choice(("write", "read"))
    text = _side(one, side)
    named = [
        name for name, tier in target.tiers.items() if name != text.tier and len(tier.base_parts) >= len(text.place)
    ] or [name for name in target.tiers if name != text.tier]
    name = draw.choice(named)
    fits = text.place[: len(target.tiers[name].base_parts)]
    changed = _with_side(one, side, replace(text, tier=name, place=fits))
    return _swap(plan, at, changed), f"{side} of command {at} names {name} instead of {text.tier}"


# ---------------------------------------------------------------- tensors


def _paddings(expr: Expr) -> int:
    from dmaverify.language.expr import walk

    return sum(isinstance(node, Padding) and node.to > node.inner.size for node in walk(expr))


def _rebuilt(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """The tree with every node replaced for which `change` has something else."""
    new = change(expr)
    if new is not None:
        return new
    match expr:
        case Pair(left, right):
            return Pair(_rebuilt(left, change), _rebuilt(right, change))
        case Stride(inner, by):
            return Stride(_rebuilt(inner, change), by)
        case Modulo(inner, by):
            return Modulo(_rebuilt(inner, change), by)
        case Resize(inner, to):
            return Resize(_rebuilt(inner, change), to)
        case Padding(inner, to, kind):
            return Padding(_rebuilt(inner, change), to, kind)
        case Drop(inner, first):
            return Drop(_rebuilt(inner, change), first)
        case Window(terms):
            return Window(tuple((_rebuilt(term, change), weight) for term, weight in terms))
        case _:
            return expr


def _with_field(plan: DrawnPlan, side: str, place: str, expr: Expr) -> DrawnPlan:
    transfer = plan.transfer
    change: dict[str, Any] = {place: expr}
    if side == "source":
        return replace(plan, transfer=replace(transfer, source=replace(transfer.source, **change)))
    return replace(plan, transfer=replace(transfer, dest=replace(transfer.dest, **change)))


def _padding_kind(plan: DrawnPlan, draw: Draw, target: Target | None) -> Broken:
    from dmaverify.language.expr import walk

    options = [
        (side, place, node)
        for side in ("source", "dest")
        for place in PLACES
        for node in walk(getattr(plan.transfer, side).field(place))
        if isinstance(node, Padding) and node.to > node.inner.size
    ]
    if not options:
        return None
    side, place, chosen = draw.choice(options)
    kind: Kind = draw.choice([k for k in KINDS if k is not chosen.kind])
    new = _rebuilt(
        getattr(plan.transfer, side).field(place),
        lambda node: Padding(chosen.inner, chosen.to, kind) if node == chosen else None,
    )
    return _with_field(
        plan, side, place, new
    ), f"`{chosen}` of {side}.{place} is {kind.value} instead of {chosen.kind.value}"


def _cut(plan: DrawnPlan, draw: Draw, target: Target | None) -> Broken:
    """Two neighbouring terms change places, or one divisor becomes another."""
    sides = ["dest", "source"]
    side = draw.choice(sides)
    tensor: Tensor = getattr(plan.transfer, side)
    places = [place for place in PLACES if tensor.field(place).size > 1]
    if not places:
        return None
    place = draw.choice(places)
    expr = tensor.field(place)
    from dmaverify.language.expr import walk

    cuts = [node for node in walk(expr) if isinstance(node, (Stride, Modulo)) and node.inner.size > 1]
    terms = list(terms_of(expr))
    if cuts and (draw.chance(50) or len(terms) < 2):
        old = draw.choice(cuts)
        by = divisor(draw, old.inner.size)
        new = _rebuilt(expr, lambda node: replace(old, by=by) if node == old else None)
        return None if new == expr else (_with_field(plan, side, place, new), f"`{old}` of {side}.{place} cuts at {by}")
    if len(terms) < 2:
        return None
    at = draw.integer(0, len(terms) - 2)
    terms[at], terms[at + 1] = terms[at + 1], terms[at]
    return _with_field(plan, side, place, pair(*terms)), f"terms {at} and {at + 1} of {side}.{place} swapped"


_FAULTS: Mapping[str, Callable[[DrawnPlan, Draw, Target | None], Broken]] = {
    "stride": _of_a_command(_stride),
    "size": _of_a_command(_size),
    "base": _of_a_command(_base),
    "packet": _of_a_command(_packet),
    "order": _of_a_command(_order),
    "cut": _cut,
    "padding-kind": _padding_kind,
    "entry-dropped": _of_a_command(_entry_dropped),
    "duplicate-command": _of_a_command(_duplicate),
    "command-dropped": _dropped,
    "tier": _tier,
}
FAULTS = tuple(_FAULTS)
"""The names of all faults."""
