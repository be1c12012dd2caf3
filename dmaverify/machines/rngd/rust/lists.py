"""Lists: what adapters, indices and loops make of arrays, vectors and ranges.

Knows: the elements of a list as far as they are written out or follow one another in equal steps, and their order.
Does not know: Rust text, what runs.
Law: a number of a list is exact only where all that it names occur; one element of many is any of them. Where the order
of the elements is not that of their values, 0 is among the loops of their number.
"""

from __future__ import annotations

from math import gcd

from dmaverify.machines.rngd.rust.integers import called, like, operated
from dmaverify.machines.rngd.rust.values import (
    Numbers,
    Record,
    RustTensor,
    Sequence,
    Tuple,
    Unknown,
    Value,
    forgotten,
    over_parts,
)
from dmaverify.values import replace

MAX_LISTED = 4096  # elements of a list that is written out
MAX_SPREAD = 512  # numbers of a range that are taken one by one
_NO_ORDER = frozenset((0,))
_LACKS = "has no element"
_FOLDS = {"sum": "+", "product": "*", "min": "min", "max": "max"}


def listed(parts: tuple[Value, ...] | list[Value], wanted: Value | None = None) -> Sequence:
    """A list that is written out: numbers as all of them, anything else as what its parts have in common."""
    items = tuple(parts)
    numbers = [part for part in items if isinstance(part, Numbers)]
    singles = [part.low for part in numbers if part.single is not None]
    kept = items if 0 < len(items) <= MAX_LISTED else None
    if not items or len(singles) < len(items):
        return Sequence(joined(items) if items else wanted or Unknown(""), len(items), kept)
    low, high = min(singles), max(singles)
    step = gcd(*(value - low for value in singles))
    every = range(low, high + 1, step or 1)  # never written out: its ends may lie far apart
    exact = high - low < len(singles) * (step or 1) and sorted(singles) == list(every)
    order = frozenset() if exact and singles == list(every) else _NO_ORDER
    return Sequence(like(Numbers(low, high, step, exact, order), numbers), len(items), kept)


def joined(values: tuple[Value, ...]) -> Value:
    """What is certain of each of several values, whichever it is."""
    first = values[0]
    numbers = [value for value in values if isinstance(value, Numbers)]
    tuples = [value.parts for value in values if isinstance(value, Tuple)]
    lists = [value for value in values if isinstance(value, Sequence)]
    tensors = [value for value in values if isinstance(value, RustTensor)]
    records = [value for value in values if isinstance(value, Record)]
    if len(numbers) == len(values):
        return _any_number(numbers)
    if len(tuples) == len(values) and len({len(parts) for parts in tuples}) == 1:
        return Tuple(tuple(joined(parts) for parts in zip(*tuples, strict=True)))
    if len(lists) == len(values):
        counts = {value.count for value in lists}
        return Sequence(joined(tuple(value.part for value in lists)), counts.pop() if len(counts) == 1 else None)
    same = all(value.item is records[0].item and value.parts.keys() == records[0].parts.keys() for value in records)
    if len(records) == len(values) and same:
        parts = {name: joined(tuple(value.parts[name] for value in records)) for name in records[0].parts}
        return replace(records[0], parts=parts)
    if len(tensors) == len(values):
        return _any_tensor(tensors)
    return first if all(value == first for value in values) else Unknown("one of several values")


def _any_number(values: list[Numbers]) -> Numbers:
    first = values[0]
    own = first.single is not None or (len(first.loops) == 1 and 0 not in first.loops)
    if own and all(value == first and value.loops == first.loops for value in values):
        return like(first, values)
    low, high = min(value.low for value in values), max(value.high for value in values)
    step = gcd(*(value.step for value in values), *(value.low - low for value in values))
    return like(Numbers(low, high, step, low == high), values)


def _any_tensor(values: list[RustTensor]) -> RustTensor:
    first = values[0]
    problems = tuple(dict.fromkeys(problem for value in values for problem in value.problems))
    sources = frozenset().union(*(value.sources for value in values))
    window, buffer = first.window, first.buffer
    if any(value.window != window for value in values):
        given = dict.fromkeys(text for value in values for text in value.window.given)
        window = replace(
            window, open=True, given=(*given, "where branches or a list give several views, the first is taken")
        )
    if first.view != "view_mut" and any(value.window != window or value.buffer != buffer for value in values):
        buffer = None  # what it holds is asked of each of them, where they stand
    written = [value.holds for value in values if value.holds is not None]
    holds = first.holds if len(written) == len(values) and written.count(written[0]) == len(values) else None
    holds = forgotten(written[0]) if written and holds is None else holds
    return replace(first, problems=problems, sources=sources, window=window, buffer=buffer, holds=holds)


def element(value: Sequence, at: int | None = None) -> Value:
    """The element of a list at a place, from its end where that is negative; any of them where it is not known."""
    own = elements(value) if at is not None else None
    if own is not None and at is not None:
        return own[at] if -len(own) <= at < len(own) else Unknown(f"a list of {len(own)} {_LACKS} {at}")
    if at is not None and value.count is not None and at >= value.count:
        return Unknown(f"a list of {value.count} {_LACKS} {at}")
    return joined(value.items) if value.items is not None else loose(value).part


def lacking(value: Value) -> str:
    """That a list has no such element, of what stands for it: whoever asks for it stops there."""
    return value.reason if isinstance(value, Unknown) and _LACKS in value.reason else ""


def elements(value: Sequence) -> tuple[Value, ...] | None:
    """The elements in order, or None."""
    if value.items is not None:
        return value.items
    part = value.part
    if isinstance(part, Numbers) and _in_order(value, part) and part.count <= MAX_SPREAD:
        found = range(part.low, part.high + 1, part.step or 1)
        return tuple(like(Numbers.of(one), [part]) for one in (found[::-1] if value.falling else found))
    return None


def _in_order(value: Sequence, part: Numbers) -> bool:
    """Whether the elements are the values of a number, one after the other."""
    return part.exact and not part.loops and value.count == part.count


def range_of(numbers: Numbers, falling: bool = False) -> Sequence:
    """The list of a range."""
    return Sequence(numbers, numbers.count, falling=falling)


def in_loop(value: Value, loop: int) -> Value:
    """An element of a list as a loop over the list takes it: its numbers move with the loop."""
    if isinstance(value, (Tuple, Record)):
        return over_parts(value, lambda part: in_loop(part, loop))
    if not isinstance(value, Numbers):
        return value
    return replace(value, loops=(value.loops | _NO_ORDER | {abs(loop)}) if value.loops else frozenset((loop,)))


def mapped(value: Value, loop: int, count: int | None) -> Sequence:
    """The list of what a closure gives for each element of a list of `count`, which it took as a loop does."""
    if not isinstance(value, Numbers) or not value.loops & {loop, -loop}:
        return Sequence(value, count)
    rest = value.loops - {loop, -loop}
    order = rest | _NO_ORDER if rest else frozenset()
    return Sequence(replace(value, loops=order), count, falling=-loop in value.loops)


def reshaped_list(name: str, value: Sequence, given: list[Value]) -> Value | None:
    """What an adapter makes of a list, or what it asks of the numbers in it; None for one that is not known."""
    number = given[0].single if given and isinstance(given[0], Numbers) else None
    own = elements(value)
    if name in ("len", "count") and value.count is not None and isinstance(value.part, Numbers):
        return replace(Numbers.of(value.count), type="usize")
    if name in _FOLDS and not given and own:
        return _folded(name, own)
    if name == "zip":
        other = given[0] if given else None
        return _pairs(value, other) if isinstance(other, Sequence) else None
    if name == "chain":
        behind = elements(given[0]) if given and isinstance(given[0], Sequence) else None
        both = (*own, *behind) if own is not None and behind is not None else ()
        return listed(both) if both and all(isinstance(one, Numbers) for one in both) else None
    if name == "enumerate":
        count = value.count
        own_places = Numbers(0, count - 1, int(count > 1), type="usize") if count else None
        places = range_of(own_places) if own_places is not None else Sequence(Unknown("its place in a list"))
        return _pairs(places, value)
    if name == "rev":
        kept = value.items[::-1] if value.items is not None else None
        return replace(value, items=kept, falling=not value.falling)
    if name in ("step_by", "skip", "take", "chunks", "chunks_exact", "windows"):
        if own is None or number is None or number < 1:
            return loose(value)
        return _cut(name, own, number)
    return loose(value) if name in ("filter", "take_while", "skip_while", "drain", "peekable") else None


def _folded(name: str, own: tuple[Value, ...]) -> Numbers | None:
    """The sum, the product, the least or the greatest of numbers."""
    made, *others = (one if isinstance(one, Numbers) else None for one in own)
    for other in others:
        if made is None or other is None:
            return None
        made = operated(_FOLDS[name], made, other) if _FOLDS[name] in "+*" else called(_FOLDS[name], [made, other])
    return made


def _pairs(one: Sequence, other: Sequence) -> Sequence:
    """Two lists side by side, as long as both last."""
    known = [value.count for value in (one, other) if value.count is not None]
    count = min(known) if len(known) == 2 else None
    pair = Tuple((_begun(one, count), _begun(other, count)))
    own = [elements(value) for value in (one, other)]
    if own[0] is None or own[1] is None:
        return Sequence(pair, count)
    items = tuple(Tuple(both) for both in zip(own[0], own[1], strict=False))
    return Sequence(pair, len(items), items)


def _begun(value: Sequence, count: int | None) -> Value:
    """Any of the first elements of a list."""
    if value.items is not None and count:
        return listed(value.items[:count]).part
    part = value.part
    if not isinstance(part, Numbers):
        return part
    if not count or not _in_order(value, part):
        return loose(value).part
    far = (count - 1) * part.step
    low = part.high - far if value.falling else part.low
    loops = _NO_ORDER if value.falling else frozenset()
    return like(Numbers(low, low + far, part.step if far else 0, loops=loops), [part])


def _cut(name: str, own: tuple[Value, ...], number: int) -> Sequence:
    if name == "step_by":
        return listed(own[::number])
    if name in ("skip", "take"):
        return listed(own[number:] if name == "skip" else own[:number])
    step = 1 if name == "windows" else number
    parts = [own[at : at + number] for at in range(0, len(own), step)]
    if name != "chunks":
        parts = [part for part in parts if len(part) == number]
    return listed([listed(part) for part in parts])


def loose(value: Sequence) -> Sequence:
    """A list of which some elements may be left out."""
    part = value.part
    if isinstance(part, Numbers):
        part = replace(part, exact=part.single is not None, ends=False)
    return Sequence(part)
