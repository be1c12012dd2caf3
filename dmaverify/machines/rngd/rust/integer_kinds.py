"""Types of integers while they are sought: expressions that have one type, which one of them gives all.

Knows: types of integers, of the elements of a list, of the parts of a tuple; which methods keep them.
Does not know: syntax (`integer_types`), values.
Law: a type that something unknown may give is open; two types for one expression are none that is known.
"""

from __future__ import annotations

import re

from dmaverify.machines.rngd.rust.integers import ANY

OF_ONE_TYPE = {
    "min", "max", "clamp", "abs", "div_ceil", "next_multiple_of", "rem_euclid", "div_euclid", "clone", "to_owned",
    "pow", "next_power_of_two", "get",
}  # fmt: skip
OTHER_ARGUMENT = {"pow", "shl", "shr"}
_BOTH = "add|sub|mul|div|rem|neg|pow|shl|shr|abs|div_euclid|rem_euclid"
WAYS = re.compile(
    rf"(?:wrapping_(?:{_BOTH})|checked_(?:{_BOTH}|next_multiple_of|next_power_of_two)"
    r"|saturating_(?:add|sub|mul|div|pow|neg|abs))$"
)
"""Those of all operations on integers that give, perhaps as an option, the type of what they are called on."""
SAME_LIST = {
    "rev", "skip", "take", "step_by", "iter", "into_iter", "copied", "cloned", "by_ref", "filter", "take_while",
    "skip_while", "peekable", "collect", "to_vec", "as_slice", "inspect", "clone",
}  # fmt: skip
EACH = {"map", "for_each", "inspect", "filter", "take_while", "skip_while", "flat_map", "all", "any", "position"}


class IntegerKind:
    """The type of an expression: an integer type, of a list that of its elements, of a tuple those of its parts.

    `open` where something that is not followed may say what it is.
    """

    def __init__(self, name: str = "", *, open: bool = False) -> None:
        self.up: IntegerKind | None = None
        self.name, self.open, self.touched = name, open, False
        self.part: IntegerKind | None = None
        self.parts: list[IntegerKind] = []

    @property
    def root(self) -> IntegerKind:
        found = self
        while found.up is not None:
            found = found.up
        return found

    @property
    def told(self) -> str:
        own = self.root
        return own.name or (ANY if own.open else "i32")


def join(first: IntegerKind, *others: IntegerKind) -> IntegerKind:
    """One type for all."""
    for other in others:
        _one(first.root, other.root)
    return first


def _one(a: IntegerKind, b: IntegerKind) -> None:
    if a is b:
        return
    b.up = a
    a.open, a.touched = a.open or b.open, a.touched and b.touched
    a.name = ANY if a.name and b.name and a.name != b.name else a.name or b.name
    lists = [one for one in (a.part, b.part) if one is not None]
    if len(lists) == 2:
        join(*lists)
    elif a.open:
        touch(*lists)
    tuples = [one for one in (a.parts, b.parts) if one]
    if len(tuples) == 2 and len(tuples[0]) == len(tuples[1]):
        for one, other in zip(*tuples, strict=True):
            join(one, other)
    elif a.open or len(tuples) == 2:
        touch(*(one for many in tuples for one in many))
    a.part = next(iter(lists), None)
    a.parts = next(iter(tuples), [])


def touch(*kinds: IntegerKind) -> IntegerKind:
    """Opens types: something that is not followed may say what they are."""
    for kind in kinds:
        own = kind.root
        if not own.touched:
            own.open = own.touched = True
            touch(*own.parts, *([own.part] if own.part is not None else []))
    return IntegerKind(open=True)
