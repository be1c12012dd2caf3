"""What later uses say of variables whose type is left open: `let x = load(..).await;` and then `Model { norm: x }`.

Knows: which variables of a function were bound to something open, the first type that a use expected of each, what
its transfer calls were told before the visit.
Does not know: syntax, what types are.
Law: a use tells only what the variable itself left open; a function is read a second time only where that can tell
more, and the second reading replaces the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dmaverify.machines.rngd.rust.module import Item
from dmaverify.machines.rngd.rust.moves import Site
from dmaverify.machines.rngd.rust.values import Opaque, Pending, Record, RustTensor, Sequence, Tuple, Unknown, Value
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from dmaverify.language.trees import Code

Key = tuple[int, int]


def is_open(value: Value | None) -> bool:
    """Whether a later use could say more of a value."""
    match value:
        case None | Unknown() | Pending() | Opaque():
            return True
        case RustTensor():
            return value.missing is not None
        case Tuple(parts):
            return any(is_open(part) for part in parts)
        case Sequence(part):
            return is_open(part)
        case _:
            return False


def tells(value: Value | None) -> bool:
    """Whether an expected type names a tensor in full, alone or in a container."""
    match value:
        case RustTensor():
            return value.missing is None
        case Tuple(parts):
            return any(tells(part) for part in parts)
        case Sequence(part):
            return tells(part)
        case Record():
            return True
        case _:
            return False


@dataclass
class Later:
    """The open variables of one visit of one function."""

    depth: int = 1  # calls that stand around what is read, itself included
    around: Later | None = None
    binders: dict[int, tuple[Key, Value]] = field(default_factory=dict)
    told: dict[Key, Value] = field(default_factory=dict)
    unlearned: bool = False  # whether a call left generic arguments of its function open
    lacking: dict[Any, tuple[Item, dict[str, Value], Value | None, str]] = field(default_factory=dict)
    before: dict[int, tuple[Site, dict[str, Any]]] = field(default_factory=dict)

    def bound(self, code: Code, byte: int, value: Value) -> None:
        """A variable was bound to `value`."""
        if is_open(value):
            self.binders[id(value)] = ((id(code.data), byte), value)

    def used(self, value: Value, expected: Value | None) -> None:
        """A variable is used where `expected` is asked for."""
        found = self.binders.get(id(value))
        if found is not None and tells(expected) and expected is not None:
            self.told.setdefault(found[0], expected)

    def touched(self, site: Site) -> None:
        """A transfer call is about to be told something: what it knew before is kept."""
        if self.around is not None:
            self.around.touched(site)
        if site.number not in self.before:
            kept = {name: type(value)(value) for name, value in vars(site).items() if isinstance(value, (list, set))}
            self.before[site.number] = site, {**kept, "let": site.let}

    @property
    def worth_another(self) -> bool:
        """Whether something stayed open that a second reading could settle."""
        return bool(self.told) and (self.unlearned or any(
            site.pending or len(site.reasons) > len(was["reasons"]) or not site.moves
            for site, was in self.before.values()
        ))  # fmt: skip

    def forget(self) -> None:
        """Takes back what the calls were told in this visit."""
        for site, was in self.before.values():
            for name, value in was.items():
                setattr(site, name, value)
        self.before.clear()
        self.binders.clear()
