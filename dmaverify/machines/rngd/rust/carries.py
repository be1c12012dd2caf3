"""What can hold a tensor: the values and types that a call passes, and what it gives.

Knows: tensors, tuples, lists, structs and the fields that they declare.
Does not know: what functions do, what enums, traits and foreign types hold.
Law: it errs to the side of a tensor: what is not known may hold one.
"""

from __future__ import annotations

from dmaverify.machines.rngd.rust.code import in_build
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.module import Item
from dmaverify.machines.rngd.rust.types import Types
from dmaverify.machines.rngd.rust.values import Dtype, Map, Numbers, Opaque, Record, Sequence, Tuple, Value

_NOTHING = ("()", "bool", "lifetime", "None")


def may_hold(types: Types, value: Value, seen: frozenset[Item] = frozenset()) -> bool:
    """Whether a value, or one of a type, can be a tensor, hold one or refer to one."""
    match value:
        case Dtype() | Numbers() | Map():
            return False
        case Opaque(what):
            return what not in _NOTHING
        case Tuple(parts):
            return any(may_hold(types, part, seen) for part in parts)
        case Sequence(part, _, items):
            return any(may_hold(types, one, seen) for one in (part, *(items or ())))
        case Record(item):
            own = (may_hold(types, part, seen) for part in value.parts.values())
            return any(own) or (item not in seen and _declares(types, value, seen | {item}))
        case _:
            return True


def _declares(types: Types, record: Record, seen: frozenset[Item]) -> bool:
    """Whether a field that a struct declares can hold one."""
    item, inside = record.item, Frame(record.item.scope, record.arguments, own=record)
    body = item.node.child_by_field_name("body")
    for one, _, there in in_build(item.code, body.children if body is not None else (), item.scope.module.features):
        named_field = one.type == "field_declaration"
        declared = one.child_by_field_name("type") if named_field else one if one.is_named else None
        plain = declared is None or declared.type == "visibility_modifier" or there is False
        if not plain and may_hold(types, types.read(item.code, declared, inside), seen):
            return True
    return False
